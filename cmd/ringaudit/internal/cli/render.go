package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/report"
)

// renderOptions is the command line of render.
type renderOptions struct {
	File    string
	Width   int
	All     bool
	ASCII   bool
	formats formatFlags
	color   colorFlag
}

func newRenderCmd(env *Env) *cobra.Command {
	var opt renderOptions
	cmd := &cobra.Command{
		Use:   "render FILE.json",
		Short: "Show a saved audit in any format",
		Long: `Render reads the JSON of an audit (ringaudit audit --format json) and writes it in
any other format. It needs no kernel and none of the sources of the audit. FILE is
- for standard input.

The exit code is that of the audit, in every format: 0 complete or confirmed, 1
loss or a contradiction, 3 could not tell. It is 4 where FILE cannot be read or is
no such document.`,
		Example: `  ringaudit audit saved-tracefs --format json=audit.json
  ringaudit render audit.json
  ringaudit render audit.json --format html=audit.html --format markdown=audit.md --format svg=loss.svg
  ringaudit render - --format prometheus < audit.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("render takes one FILE.json, or - for standard input; got %d arguments", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			opt.File = args[0]
			return runRender(env, opt)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opt.All, "all", false, allUsage)
	f.BoolVar(&opt.ASCII, "ascii", false, "text: keep to 7-bit characters")
	f.IntVar(&opt.Width, "width", 0, widthUsage)
	opt.color.add(f)
	opt.formats.add(cmd, documentFormats())
	return cmd
}

func runRender(env *Env, opt renderOptions) error {
	outs, err := opt.formats.outputs()
	if err != nil {
		return err
	}
	color, err := opt.color.decide(env)
	if err != nil {
		return err
	}
	if env, err = withWidth(env, opt.Width); err != nil {
		return err
	}
	d, err := readDocument(env, opt.File)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	return writeDocument(env, d, outs, renderFlags{Color: color, All: opt.All, ASCII: opt.ASCII})
}

// readDocument reads a saved document from a file, or from standard input if
// its name is -.
func readDocument(env *Env, name string) (*report.Document, error) {
	r, shown := env.Stdin, "standard input"
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, withoutOp(err)
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return nil, fmt.Errorf("%s: is a folder; expected the JSON of 'ringaudit audit --format json' (to audit the folder: ringaudit audit %s)", name, name)
		}
		r, shown = f, name
	}
	d, err := report.Read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, withoutOp(err))
	}
	return d, nil
}

// withoutOp says of a file error which file and why, and not which system call.
func withoutOp(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}
