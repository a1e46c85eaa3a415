package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/tracefs/tracedat"
)

// salvageOptions is the command line of salvage.
type salvageOptions struct {
	Input  string
	Output string
}

func newSalvageCmd(env *Env) *cobra.Command {
	var opt salvageOptions
	cmd := &cobra.Command{
		Use:   "salvage FILE.dat -o OUT.dat",
		Short: "Make a clean trace.dat of what can be read of a damaged one",
		Long: `Writes OUT.dat, a trace.dat file of the same version with everything of FILE.dat
that can be read and nothing that cannot: trace-cmd and KernelShark open it. It is
not compressed, and it is written whole or not at all.

What was left out is said on standard error, with its place in FILE.dat. In
OUT.dat the sub-buffer behind such a place is marked as having lost events before
it, as the kernel does it, so that no viewer shows the gap as quiet.

Exit codes: 0 nothing had to be left out; 3 something was; 4 nothing could be read,
and no OUT.dat was written.`,
		Example: `  ringaudit salvage cut.dat -o clean.dat && trace-cmd report clean.dat`,
		Args:    salvageArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			opt.Input = args[0]
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			return runSalvage(ctx, env, opt)
		},
	}
	cmd.Flags().StringVarP(&opt.Output, "output", "o", "", "the file to write")
	return cmd
}

func salvageArgs(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("salvage takes one trace.dat file, found %d arguments", len(args))
	}
	return nil
}

func runSalvage(ctx context.Context, env *Env, opt salvageOptions) error {
	if opt.Output == "" {
		return usagef("give -o OUT.dat, the file to write")
	}
	in, err := os.Open(opt.Input)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	defer in.Close()
	info, err := in.Stat()
	switch {
	case err != nil:
		return exitWith(exitUnreadable, err)
	case info.IsDir():
		return exitWith(exitUnreadable, fmt.Errorf("%s: a folder, expected a trace.dat file", opt.Input))
	}
	if out, err := os.Stat(opt.Output); err == nil {
		switch {
		case os.SameFile(info, out):
			return usagef("%s: -o names the file that is to be read; name another", opt.Output)
		case out.IsDir():
			return usagef("%s: -o names a folder, expected a file", opt.Output)
		}
	}
	f, err := tracedat.Open(in, info.Size(), opt.Input)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	out, err := newWholeFile(opt.Output)
	if err != nil {
		return exitWith(exitUnreadable, notWritten(opt.Output, err))
	}
	defer out.Abort()
	got, err := f.Salvage(ctx, out)
	if err != nil {
		return exitWith(exitUnreadable, notWritten(opt.Output, err))
	}
	for _, p := range got.LeftOut {
		fmt.Fprintf(env.Stderr, "%s: %s\n", opt.Input, p)
	}
	t := totalOf(got)
	if len(got.LeftOut) > 0 && t.pages == 0 && got.TextBytes == 0 {
		return exitWith(exitUnreadable, fmt.Errorf("%s: no trace data can be read; %s was not written", opt.Input, opt.Output))
	}
	if err := out.Commit(); err != nil {
		return exitWith(exitUnreadable, notWritten(opt.Output, err))
	}
	if err := t.print(env.Stdout, opt.Output, got); err != nil {
		return err
	}
	if len(got.LeftOut) > 0 {
		return exitWith(exitUndecided, errors.New(t.leftOut(opt.Input, len(got.LeftOut))))
	}
	return nil
}

// notWritten names the file that was to be written, and not the one beside it
// that it was to be renamed from.
func notWritten(name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: cannot be written: %w", name, err)
}

type salvageTotal struct {
	cpus                      int
	pages, shortened, dropped int64
	records                   uint64
}

func totalOf(got *tracedat.Salvaged) salvageTotal {
	var t salvageTotal
	for _, c := range got.CPUs {
		if c.Pages > 0 {
			t.cpus++
		}
		t.pages += c.Pages
		t.shortened += c.Shortened
		t.dropped += c.Dropped
		t.records += c.Records
	}
	return t
}

func (t salvageTotal) print(w io.Writer, name string, got *tracedat.Salvaged) error {
	if got.TextBytes > 0 {
		if _, err := fmt.Fprintf(w, "%s: %d bytes of text\n", name, got.TextBytes); err != nil {
			return err
		}
	}
	if t.pages == 0 && got.TextBytes > 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s: %s in %s of %s\n", name, plural(int(t.records), "event"), plural(int(t.pages), "sub-buffer"), plural(t.cpus, "CPU stream"))
	return err
}

func (t salvageTotal) leftOut(name string, problems int) string {
	s := fmt.Sprintf("%s: not all of it could be read: %s", name, plural(problems, "problem"))
	if t.dropped > 0 {
		s += fmt.Sprintf(", %s left out", plural(int(t.dropped), "sub-buffer"))
	}
	if t.shortened > 0 {
		s += fmt.Sprintf(", %s shortened", plural(int(t.shortened), "sub-buffer"))
	}
	return s
}
