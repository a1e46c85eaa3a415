package cli

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ringaudit/ringaudit/audit"
)

// formatChoice is one format that a verb can write.
type formatChoice struct {
	Name string
	Doc  string
}

// output is one NAME[=FILE] of --format.
type output struct {
	Format string
	File   string // empty: standard output
}

// formatFlags is --format NAME[=FILE], repeatable, and -o FILE for the one that
// names no file. The choices feed check, help and completion.
type formatFlags struct {
	choices []formatChoice
	values  []string
	file    string
}

// add defines the flags on a command; the first choice is the default.
func (f *formatFlags) add(cmd *cobra.Command, choices []formatChoice) {
	f.choices = choices
	flags := cmd.Flags()
	flags.StringArrayVar(&f.values, "format", nil, "output as NAME or NAME=FILE, repeatable: "+strings.Join(f.names(), ", ")+" (default "+choices[0].Name+")")
	flags.StringVarP(&f.file, "output", "o", "", "write the format that names no file to this file, not to standard output")
	var complete []string
	for _, c := range choices {
		complete = append(complete, c.Name+"\t"+c.Doc)
	}
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(complete, cobra.ShellCompDirectiveNoFileComp))
}

func (f *formatFlags) names() []string {
	names := make([]string, len(f.choices))
	for i, c := range f.choices {
		names[i] = c.Name
	}
	return names
}

// outputs checks the values. At most one format goes to standard output.
func (f *formatFlags) outputs() ([]output, error) {
	values := f.values
	if len(values) == 0 {
		values = []string{f.choices[0].Name}
	}
	var out []output
	loose := 0
	for _, v := range values {
		name, file, named := strings.Cut(v, "=")
		if !slices.Contains(f.names(), name) {
			return nil, usagef("--format %q: no such format, did you mean %s? There are %s", name, audit.Nearest(name, f.names()), strings.Join(f.names(), ", "))
		}
		if named && file == "" {
			return nil, usagef("--format %q: names no file behind the =", v)
		}
		if !named {
			if loose++; loose > 1 {
				return nil, usagef("--format %s: a second format for standard output; give it a file: %s=FILE", name, name)
			}
			file = f.file
		}
		if file != "" && slices.ContainsFunc(out, func(o output) bool { return o.File == file }) {
			return nil, usagef("--format %s: two formats for the file %s", v, file)
		}
		out = append(out, output{Format: name, File: file})
	}
	if f.file != "" && loose == 0 {
		return nil, usagef("-o %s: every format names a file of its own", f.file)
	}
	return out, nil
}

// write renders all outputs. A file is written whole or not at all.
func (env *Env) write(outs []output, render func(w io.Writer, o output) error) error {
	for _, o := range outs {
		if o.File == "" || o.File == "-" {
			w := bufio.NewWriter(env.Stdout)
			if err := render(w, o); err != nil {
				return exitWith(exitUnreadable, fmt.Errorf("writing %s: %w", o.Format, err))
			}
			if err := w.Flush(); err != nil {
				return exitWith(exitUnreadable, fmt.Errorf("writing %s: %w", o.Format, err))
			}
			continue
		}
		if err := streamWhole(o.File, func(w io.Writer) error { return render(w, o) }); err != nil {
			return exitWith(exitUnreadable, fmt.Errorf("writing %s: %w", o.File, err))
		}
	}
	return nil
}

// streamWhole writes a file whole or not at all, as it is rendered.
func streamWhole(name string, render func(io.Writer) error) error {
	f, err := newWholeFile(name)
	if err != nil {
		return err
	}
	defer f.Abort()
	w := bufio.NewWriter(f)
	if err := render(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Commit()
}

// colorFlag is --color auto|always|never.
type colorFlag struct{ value string }

func (c *colorFlag) add(flags *pflag.FlagSet) {
	flags.StringVar(&c.value, "color", "auto", "colour in text: auto, always or never (NO_COLOR is honoured)")
}

// decide tells whether text on standard output is coloured: the flag first, then
// NO_COLOR, FORCE_COLOR and CLICOLOR_FORCE, then whether it is a terminal.
func (c *colorFlag) decide(env *Env) (bool, error) {
	switch c.value {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
	default:
		return false, usagef("--color %q: expected auto, always or never", c.value)
	}
	switch {
	case env.Getenv("NO_COLOR") != "":
		return false, nil
	case env.Getenv("FORCE_COLOR") != "", env.Getenv("CLICOLOR_FORCE") != "":
		return true, nil
	}
	return env.StdoutIsTerminal && env.Getenv("TERM") != "dumb", nil
}
