package cli

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/report"
)

//go:generate sh -c "go run ../.. demo --color always 2>/dev/null | go run ../../../../docs/internal/termsvg -title '$ ringaudit demo' >../../../../docs/img/demo.svg"

// demoCapture is a real capture: the function tracer on Linux 6.1 with a buffer
// of 8 kB a CPU, saved with recording off, and what trace_pipe gave afterwards.
//
//go:embed all:demo/small-overwrite
var demoCapture embed.FS

const demoRoot = "demo/small-overwrite"

// demoOptions is the command line of demo.
type demoOptions struct {
	formats formatFlags
	color   colorFlag
}

func newDemoCmd(env *Env) *cobra.Command {
	var opt demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Audit a real capture that is embedded in this program",
		Long: `Demo runs the main job, audit, on a real capture: the function tracer of a Linux 6.1
kernel in a buffer of 8 kB a CPU. It needs no kernel, no root and no network, and
ends with 0 where audit would end with 1, because the capture is lossy.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), env, opt) },
	}
	opt.color.add(cmd.Flags())
	opt.formats.add(cmd, documentFormats())
	return cmd
}

func runDemo(ctx context.Context, env *Env, opt demoOptions) error {
	outs, err := opt.formats.outputs()
	if err != nil {
		return err
	}
	color, err := opt.color.decide(env)
	if err != nil {
		return err
	}
	fmt.Fprint(env.Stderr, `A real capture: Linux 6.1, the function tracer for 5 seconds, 8 kB asked for each CPU.
Whoever reads its trace file finds 862 events in good order, and no mark that any is gone.
The same question put to ringaudit ("ringaudit audit small-overwrite"):

`)
	capture, err := fs.Sub(demoCapture, demoRoot)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	a, err := audit.Run(ctx, audit.Options{
		Sources: []audit.Input{{Path: "small-overwrite", FS: capture}},
		Tool:    "ringaudit " + Version,
	})
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	d := report.New(a)
	want := d.Exit
	d.Exit = exitOK
	if err := writeDocument(env, d, outs, renderFlags{Color: color}); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, `
audit would have ended with exit code %d. Next:
  ringaudit audit                     the tracefs of this machine, read-only (Linux, root)
  ringaudit audit SOURCE…             a saved tracefs, trace.dat, trace text, raw pages, …
  ringaudit explain overwritten-events   what a finding means, with its kernel sources
`, want)
	return nil
}
