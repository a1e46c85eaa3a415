package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ringaudit/ringaudit/tracefs/live"
)

// captureSchema names the form of capture --format json. Within v1 changes only add.
const captureSchema = "ringaudit.capture/v1"

// captureOptions is the command line of capture.
type captureOptions struct {
	Events      []string
	Symbols     []string
	Maxactive   int
	Programs    []uint
	BufferSize  string
	NoOverwrite bool
	Clock       string
	NoDrain     bool
	Witness     string
	RingSize    string
	MaxTasks    int
	RunStats    bool
	Duration    time.Duration
	Linger      time.Duration
	Output      string
	From        string
	Command     []string
	formats     formatFlags
}

var captureFormats = []formatChoice{
	{"text", "what was captured and lost, for people"},
	{"json", "one object on one line"},
}

func newCaptureCmd(env *Env) *cobra.Command {
	var opt captureOptions
	cmd := &cobra.Command{
		Use:   "capture [-e EVENT…] [-k SYMBOL…] [-o BUNDLE] [--duration TIME | -- COMMAND…]",
		Short: "Take a capture in an instance of its own, with an independent eBPF count beside it",
		Long: `Records events in a tracefs instance of its own, which it makes, configures and
removes; nothing else of the tracefs is touched. eBPF programs at the same events
count them independently: what the kernel refused and counted nowhere shows there
and nowhere else.

With a COMMAND, it is held until everything is attached; its tasks and their
children alone are recorded and counted, and the two counts must be equal. (A --program is
counted whoever makes it run.)
Otherwise everything on the machine is captured until --duration is over or Ctrl-C
is pressed, and the count gives bounds. Which it is, and why, is said.

EVENT is GROUP:EVENT with wildcards (raw_syscalls:*), or GROUP. SYMBOL is a kernel
function: SYM for its entry, SYM%return for its return.

With -o, BUNDLE holds the pages as the kernel wrote them, the counters before and
after, the settings, the count (witness.json) and a log of every hit
(ringlog.jsonl): ringaudit audit BUNDLE settles them, anywhere.

Exit codes: 0 nothing was lost; 1 something was, or the counts contradict each
other; 2 usage; 3 nothing was lost by the counters, and there is no count to prove
it; 4 the capture could not be taken. The command's own exit code is in the output.`,
		Example: `  ringaudit capture -e raw_syscalls:sys_enter -o run.tar.zst -- make
  ringaudit capture -e sched:sched_switch -b 8M --duration 10s -o run.tar.zst
  ringaudit capture -k do_nanosleep -k do_nanosleep%return --maxactive 64 -- ./job`,
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); len(args) > 0 && at != 0 {
				return usagef("capture takes no argument %q: a command goes behind --", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.Command = args
			return runCapture(cmd.Context(), env, opt)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&opt.Events, "event", "e", nil, "event to record, GROUP:EVENT with wildcards; may be repeated")
	f.StringArrayVarP(&opt.Symbols, "symbol", "k", nil, "kernel function to probe, SYM or SYM%return; may be repeated")
	f.IntVar(&opt.Maxactive, "maxactive", 0, "how many returns of a SYM%return can be pending at a time, 1 to 4096 (default: the kernel's)")
	f.UintSliceVar(&opt.Programs, "program", nil, "id of a running BPF program to count at its entry; may be repeated")
	f.StringVarP(&opt.BufferSize, "buffer-size", "b", "4M", "size of the instance's buffer for each CPU, in kB or with K, M, G")
	f.BoolVar(&opt.NoOverwrite, "no-overwrite", false, "refuse new events when the buffer is full, instead of throwing the oldest away")
	f.StringVar(&opt.Clock, "clock", "", "trace clock (mono matches the ring log's times; default: the kernel's)")
	f.BoolVar(&opt.NoDrain, "no-drain", false, "leave the buffer alone while recording and read it at the end (a flight recorder)")
	f.StringVar(&opt.Witness, "witness", "", "the eBPF count: records (with a log of every hit), count (numbers only) or none (default: records where the kernel can)")
	f.StringVar(&opt.RingSize, "ring-size", "8M", "size of the BPF ring buffer in bytes or with K, M, G: a power of two, a page at least")
	f.IntVar(&opt.MaxTasks, "max-tasks", 0, "how many tasks of the command can be followed at a time (default 448)")
	f.BoolVar(&opt.RunStats, "run-stats", false, "measure the time that the eBPF programs take (costs a little on every BPF program of the machine)")
	f.DurationVar(&opt.Duration, "duration", 0, "end after this time (10s, 2m)")
	f.DurationVar(&opt.Linger, "linger", 0, "how long to wait for children that outlive the command (default 1s)")
	f.StringVarP(&opt.Output, "output", "o", "", "bundle to write: a folder, or a file NAME.tar or NAME.tar.zst")
	f.StringVar(&opt.From, "from", "", "the tracefs, where it is mounted elsewhere than usual")
	opt.formats.addWithoutFile(cmd, captureFormats)
	var modes []string
	for _, m := range live.WitnessModes {
		modes = append(modes, string(m))
	}
	_ = cmd.RegisterFlagCompletionFunc("witness", cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// addWithoutFile defines --format for a verb whose -o is something else.
func (f *formatFlags) addWithoutFile(cmd *cobra.Command, choices []formatChoice) {
	f.choices = choices
	cmd.Flags().StringArrayVar(&f.values, "format", nil, "output as NAME or NAME=FILE, repeatable: "+strings.Join(f.names(), ", ")+" (default "+choices[0].Name+")")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(f.names(), cobra.ShellCompDirectiveNoFileComp))
}

// options checks the flags.
func (opt *captureOptions) options(env *Env) (live.CaptureOptions, error) {
	o := live.CaptureOptions{
		Tool: "ringaudit " + Version, Events: opt.Events, Symbols: opt.Symbols, Maxactive: opt.Maxactive,
		NoOverwrite: opt.NoOverwrite, Clock: opt.Clock, NoDrain: opt.NoDrain, MaxTasks: opt.MaxTasks, RunStats: opt.RunStats,
		Duration: opt.Duration, Linger: opt.Linger, Output: opt.Output, Command: opt.Command,
		Stdio: live.Stdio{In: env.Stdin, Out: env.Stdout, Err: env.Stderr},
	}
	if opt.Witness != "" && !slices.Contains(live.WitnessModes, live.WitnessMode(opt.Witness)) {
		return o, usagef("--witness %q: expected records, count or none", opt.Witness)
	}
	o.Witness = live.WitnessMode(opt.Witness)
	kb, err := parseSize(opt.BufferSize, 1024)
	if err != nil {
		return o, usagef("--buffer-size %q: %v", opt.BufferSize, err)
	}
	if o.BufferKB = int((kb + 1023) / 1024); o.BufferKB == 0 {
		return o, usagef("--buffer-size %q: expected more than nothing", opt.BufferSize)
	}
	ring, err := parseSize(opt.RingSize, 1)
	if err != nil {
		return o, usagef("--ring-size %q: %v", opt.RingSize, err)
	}
	if ring < 4096 || ring&(ring-1) != 0 {
		return o, usagef("--ring-size %q: the kernel takes powers of two, from a page on (4096, 64K, 8M)", opt.RingSize)
	}
	o.RingBytes = int(ring)
	for _, id := range opt.Programs {
		if id == 0 || uint64(id) > math.MaxUint32 {
			return o, usagef("--program %d: expected the id of a BPF program (bpftool prog lists them)", id)
		}
		o.Programs = append(o.Programs, uint32(id))
	}
	switch {
	case len(opt.Events)+len(opt.Symbols)+len(opt.Programs) == 0:
		return o, usagef("nothing to capture: give -e EVENT, -k SYMBOL or --program ID")
	case opt.Duration < 0 || opt.Linger < 0:
		return o, usagef("--duration and --linger: expected a time that is not negative")
	case opt.MaxTasks < 0:
		return o, usagef("--max-tasks %d: expected a positive number", opt.MaxTasks)
	}
	return o, nil
}

// parseSize reads a number with K, M or G behind it; without one it counts unit.
func parseSize(s string, unit uint64) (uint64, error) {
	const expected = "expected a size as 8K, 4M or a number"
	if s == "" {
		return 0, errors.New(expected)
	}
	switch s[len(s)-1] {
	case 'k', 'K':
		unit, s = 1<<10, s[:len(s)-1]
	case 'm', 'M':
		unit, s = 1<<20, s[:len(s)-1]
	case 'g', 'G':
		unit, s = 1<<30, s[:len(s)-1]
	}
	n, err := strconv.ParseUint(s, 10, 40)
	if err != nil || n > math.MaxInt32*1024/unit*1024 {
		return 0, errors.New(expected + ", below 2 TiB")
	}
	return n * unit, nil
}

func runCapture(ctx context.Context, env *Env, opt captureOptions) error {
	outs, err := opt.formats.outputs()
	if err != nil {
		return err
	}
	o, err := opt.options(env)
	if err != nil {
		return err
	}
	m, err := tracefsMount(opt.From)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	done := func() {}
	if len(opt.Command) == 0 {
		o.Progress, done = captureProgress(env)
		if opt.Duration == 0 {
			fmt.Fprintln(env.Stderr, "recording; Ctrl-C ends it and keeps everything")
		}
	}
	res, err := live.Capture(ctx, m, o)
	done()
	if res == nil {
		if errors.Is(err, fs.ErrExist) {
			return usagef("%v", err)
		}
		return exitWith(exitUnreadable, err)
	}
	werr := env.write(outs, func(w io.Writer, out output) error {
		if out.Format == "json" {
			return writeJSONLine(w, struct {
				Schema string `json:"schema"`
				*live.CaptureResult
			}{captureSchema, res})
		}
		_, err := io.WriteString(w, captureText(res))
		return err
	})
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	if werr != nil {
		return werr
	}
	return exitWith(captureExit(res), nil)
}

// captureProgress is a line on the terminal that is written over and over; nil
// if standard error is none.
func captureProgress(env *Env) (func(live.Progress), func()) {
	f, ok := env.Stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, func() {}
	}
	return func(p live.Progress) {
			fmt.Fprintf(f, "\r\x1b[K%6.1f s  %s events  %s of pages  %s records logged",
				p.Elapsed.Seconds(), group(p.Hits), bytesText(p.Pages), group(p.Records))
		}, func() {
			fmt.Fprint(f, "\r\x1b[K")
		}
}

func bytesText(n uint64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%s MiB", group(n>>20))
	case n >= 10<<10:
		return fmt.Sprintf("%s KiB", group(n>>10))
	}
	return fmt.Sprintf("%s B", group(n))
}
