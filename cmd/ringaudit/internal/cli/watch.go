package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/live"
)

// watchSchema names the form of watch --format jsonl. Within v1 changes only add.
const watchSchema = "ringaudit.watch/v1"

// watchOptions is the command line of watch.
type watchOptions struct {
	Interval  time.Duration
	Count     int
	Instances []string
	CPUs      string
	Format    string
	Listen    string
	From      string
}

func newWatchCmd(env *Env) *cobra.Command {
	var opt watchOptions
	cmd := &cobra.Command{
		Use:   "watch [--interval TIME] [--format text|jsonl | --listen ADDR]",
		Short: "Show the counters of all ring buffers live, per CPU and second, or serve them to Prometheus",
		Long: `Reads the counters of every buffer (the top level and all instances) again and
again, read-only, and shows what was written, kept, overwritten, refused and read
per second, and how far back the kept history reaches. A counter that the kernel
does not print is shown as –, and is no series in the metrics; never as 0.

On a terminal the view is redrawn in place and fits its size; Ctrl-C ends it. With
--format jsonl each sample is a line. With --listen the counters are served to
Prometheus under /metrics, read anew for every scrape; docs/grafana and
docs/alerts have a dashboard and alert rules for them.`,
		Example: `  ringaudit watch
  ringaudit watch --instance foo --format jsonl --count 60 > minute.jsonl
  ringaudit watch --listen 127.0.0.1:9769`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runWatch(cmd.Context(), env, opt) },
	}
	f := cmd.Flags()
	f.DurationVar(&opt.Interval, "interval", time.Second, "time between two samples, 100ms at least")
	f.IntVar(&opt.Count, "count", 0, "end after this many samples; 0: never")
	f.StringArrayVar(&opt.Instances, "instance", nil, "only this buffer (top: the top level); may be repeated")
	f.StringVar(&opt.CPUs, "cpu", "", "only these CPUs, as 0-3,8")
	f.StringVar(&opt.Format, "format", "text", "text or jsonl")
	f.StringVar(&opt.Listen, "listen", "", "serve Prometheus metrics at this address, HOST:PORT")
	f.StringVar(&opt.From, "from", "", "the tracefs, where it is mounted elsewhere than usual")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text\ta table", "jsonl\tone line a sample"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runWatch(ctx context.Context, env *Env, opt watchOptions) error {
	switch {
	case opt.Interval < 100*time.Millisecond:
		return usagef("--interval %v: expected 100ms at least", opt.Interval)
	case opt.Format != "text" && opt.Format != "jsonl":
		return usagef("--format %q: expected text or jsonl", opt.Format)
	case opt.Count < 0:
		return usagef("--count %d: expected a number that is not negative", opt.Count)
	case opt.Listen != "" && opt.Format == "jsonl":
		return usagef("--listen serves metrics and writes nothing: leave --format out")
	}
	var cpus []int
	if opt.CPUs != "" {
		var err error
		if cpus, err = tracefs.ParseCPUList(opt.CPUs); err != nil {
			return usagef("--cpu %q: %v", opt.CPUs, err)
		}
	}
	m, err := tracefsMount(opt.From)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	s := live.NewSampler(m.FS, opt.Instances, cpus)
	first, err := s.Sample(env.Now())
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	if len(first.Buffers) == 0 {
		return exitWith(exitUnreadable, fmt.Errorf("no buffer of the name %v (%s and the folders under %s/instances are there)", opt.Instances, live.TopName, m.Path))
	}
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if opt.Listen != "" {
		l, err := net.Listen("tcp", opt.Listen)
		if err != nil {
			return exitWith(exitUnreadable, err)
		}
		fmt.Fprintf(env.Stderr, "metrics at http://%s/metrics\n", l.Addr())
		return serveMetrics(ctx, l, s)
	}
	var show func(before, now *live.Sample) error
	switch {
	case opt.Format == "jsonl":
		show = func(before, now *live.Sample) error { return writeWatchLine(env.Stdout, before, now) }
	default:
		v := newWatchView(env, m.Path)
		v.begin()
		defer v.end()
		show = v.show
	}
	return watchLoop(ctx, env, opt, s, first, show)
}

// watchLoop samples until it is told to stop.
func watchLoop(ctx context.Context, env *Env, opt watchOptions, s *live.Sampler, before *live.Sample, show func(before, now *live.Sample) error) error {
	if err := show(nil, before); err != nil {
		return err
	}
	tick := time.NewTicker(opt.Interval)
	defer tick.Stop()
	resized := make(chan os.Signal, 1)
	notifyResize(resized)
	defer signal.Stop(resized)
	previous := (*live.Sample)(nil)
	for n := 1; opt.Count == 0 || n < opt.Count; {
		select {
		case <-ctx.Done():
			return nil
		case <-resized:
			if opt.Format == "text" {
				if err := show(previous, before); err != nil {
					return err
				}
			}
			continue
		case <-tick.C:
		}
		now, err := s.Sample(env.Now())
		if err != nil {
			return exitWith(exitUnreadable, err)
		}
		if err := show(before, now); err != nil {
			if errors.Is(err, syscall.EPIPE) {
				return nil // whoever read has gone
			}
			return err
		}
		previous, before = before, now
		n++
	}
	return nil
}

// watchLine is one line of --format jsonl.
type watchLine struct {
	Schema  string        `json:"schema"`
	Time    string        `json:"time"`
	Seconds *float64      `json:"seconds,omitempty"` // since the sample before
	Buffers []watchBuffer `json:"buffers"`
}

type watchBuffer struct {
	Name      string     `json:"name"`
	Recording *bool      `json:"recording,omitempty"`
	CPUs      []watchCPU `json:"cpus"`
	Problem   string     `json:"problem,omitempty"`
}

// watchCPU is one CPU's counters; absent is unknown.
type watchCPU struct {
	CPU           int      `json:"cpu"`
	Written       *uint64  `json:"written,omitempty"`
	Kept          *uint64  `json:"kept,omitempty"`
	Overwritten   *uint64  `json:"overwritten,omitempty"`
	Dropped       *uint64  `json:"dropped,omitempty"`
	CommitOverrun *uint64  `json:"commit_overrun,omitempty"`
	Read          *uint64  `json:"read,omitempty"`
	Bytes         *uint64  `json:"bytes,omitempty"`
	WindowSeconds *float64 `json:"window_seconds,omitempty"`
	// Rates, per second; absent at the first sample and after a reset.
	PerSecond *watchRates `json:"per_second,omitempty"`
	Reset     bool        `json:"reset,omitempty"`
}

type watchRates struct {
	Written       *float64 `json:"written,omitempty"`
	Overwritten   *float64 `json:"overwritten,omitempty"`
	Dropped       *float64 `json:"dropped,omitempty"`
	CommitOverrun *float64 `json:"commit_overrun,omitempty"`
	Read          *float64 `json:"read,omitempty"`
}

func present[T any](f tracefs.Field[T]) *T {
	if !f.OK {
		return nil
	}
	return &f.V
}

func writeWatchLine(w io.Writer, before, now *live.Sample) error {
	line := watchLine{Schema: watchSchema, Time: now.Time.UTC().Format(time.RFC3339Nano), Buffers: []watchBuffer{}}
	var apart time.Duration
	if before != nil {
		apart = now.Time.Sub(before.Time)
		sec := apart.Seconds()
		line.Seconds = &sec
	}
	for i := range now.Buffers {
		b := &now.Buffers[i]
		out := watchBuffer{Name: b.Name, Recording: present(b.Recording), CPUs: []watchCPU{}, Problem: b.Problem}
		for j := range b.CPUs {
			c := &b.CPUs[j]
			o := watchCPU{
				CPU: c.CPU, Written: present(c.Written), Kept: present(c.Kept), Overwritten: present(c.Overwritten),
				Dropped: present(c.Dropped), CommitOverrun: present(c.CommitOverrun), Read: present(c.Read), Bytes: present(c.Bytes),
			}
			if c.Window.OK {
				sec := c.Window.V.Seconds()
				o.WindowSeconds = &sec
			}
			if was := before.Find(b.Name, c.CPU); was != nil {
				r := live.Between(was, c, apart)
				o.Reset = r.Reset
				if !r.Reset {
					o.PerSecond = &watchRates{
						Written: present(r.Written), Overwritten: present(r.Overwritten), Dropped: present(r.Dropped),
						CommitOverrun: present(r.CommitOverrun), Read: present(r.Read),
					}
				}
			}
			out.CPUs = append(out.CPUs, o)
		}
		line.Buffers = append(line.Buffers, out)
	}
	b, err := json.Marshal(&line)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// terminalSize is the size of the terminal behind w; ok is false if it is none.
func terminalSize(w io.Writer) (width, height int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return width, height, err == nil && width > 0 && height > 0
}

// sortedByLoss orders the CPUs of a buffer: those that lose first, then those
// that write most, then by number.
func sortedByLoss(rows []watchRow) {
	key := func(r watchRow) (float64, float64) { return r.rates.Lost().V, r.rates.Written.V }
	slices.SortStableFunc(rows, func(a, b watchRow) int {
		la, wa := key(a)
		lb, wb := key(b)
		switch {
		case la != lb:
			return order(lb, la)
		case wa != wb:
			return order(wb, wa)
		}
		return a.cpu.CPU - b.cpu.CPU
	})
}

func order(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
