package live

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/bundle"
	"github.com/ringaudit/ringaudit/tracefs/live/probe"
	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// Defaults of [CaptureOptions].
const (
	defaultBufferKB  = 4096
	defaultRingBytes = 8 << 20
	defaultLinger    = time.Second
)

// capture is one capture under way.
type capture struct {
	o       CaptureOptions
	m       *Mount
	inst    *Instance
	targets []probe.Target
	set     *probe.Set // nil without a witness
	held    *heldCommand
	w       *bundle.Writer // nil without output
	drain   *drain
	log     *ringLog
	res     *CaptureResult

	filtered  bool   // both sides count the command's tasks only
	whyBounds string // why the counts cannot be equal; empty: they must be
	stats0    map[int][]byte
	profile0  map[string]ringlog.Profile
	kprobes   map[string]string // kprobe_events and kprobe_profile at the end

	outer0, inner0, inner1, outer1 probe.Counts
	command                        <-chan error // the command's end; nil without one
	commandEnded                   bool
}

// Capture takes a capture in an instance of its own, with an independent eBPF
// count beside it. When ctx ends, the capture ends cleanly and keeps everything.
//
// A failure after recording has begun still writes the bundle, if it can; the
// error is returned with the result then.
func Capture(ctx context.Context, m *Mount, o CaptureOptions) (_ *CaptureResult, err error) {
	if err := checkCapture(&o); err != nil {
		return nil, err
	}
	c := &capture{o: o, m: m, res: &CaptureResult{Output: o.Output}}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.prepare(); err != nil {
		return nil, err
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	if err := c.record(ctx); err != nil {
		return nil, err
	}
	return c.res, c.finish()
}

func checkCapture(o *CaptureOptions) error {
	if len(o.Events)+len(o.Symbols)+len(o.Programs) == 0 {
		return errors.New("nothing to capture: name an event (-e), a kernel function (-k) or a BPF program (--program)")
	}
	if err := checkSymbols(o.Symbols, o.Maxactive); err != nil {
		return err
	}
	if len(o.Events)+len(o.Symbols) == 0 && o.Witness == WitnessNone {
		return errors.New("a BPF program is counted by the witness alone: leave --witness none out")
	}
	if o.BufferKB < 0 {
		return fmt.Errorf("buffer size %d kB: expected a positive number", o.BufferKB)
	}
	if o.BufferKB == 0 {
		o.BufferKB = defaultBufferKB
	}
	if o.RingBytes == 0 {
		o.RingBytes = defaultRingBytes
	}
	if o.Linger == 0 {
		o.Linger = defaultLinger
	}
	return nil
}

// prepare makes the instance, finds the events, starts the command (held) and
// loads the witness. Nothing is recorded yet.
func (c *capture) prepare() (err error) {
	if left, err := c.m.Cleanup(); err == nil {
		for _, l := range left {
			c.note("left behind by a killed run: %s %s%s", l.Kind, l.Name, map[bool]string{true: ", removed", false: ", not removed: " + l.Why}[l.Removed])
		}
	}
	if c.o.Output != "" {
		if c.w, err = bundle.Create(c.o.Output); err != nil {
			return err
		}
	}
	if c.inst, err = c.m.NewInstance(); err != nil {
		return err
	}
	if err := c.configure(); err != nil {
		return err
	}
	if err := c.findTargets(); err != nil {
		return err
	}
	if len(c.o.Command) > 0 {
		if c.held, err = hold(c.o.Command, c.o.Stdio); err != nil {
			return err
		}
	}
	return c.loadWitness()
}

func (c *capture) note(format string, args ...any) {
	c.res.Notes = append(c.res.Notes, fmt.Sprintf(format, args...))
}

func (c *capture) configure() error {
	set := []struct{ file, value string }{
		{"tracing_on", "0"},
		{"buffer_size_kb", strconv.Itoa(c.o.BufferKB)},
		{"options/overwrite", map[bool]string{true: "0", false: "1"}[c.o.NoOverwrite]},
	}
	if c.o.Clock != "" {
		set = append(set, struct{ file, value string }{"trace_clock", c.o.Clock})
	}
	for _, s := range set {
		if err := c.inst.Write(s.file, s.value); err != nil {
			switch {
			case s.file == "trace_clock" && errors.Is(err, unix.EINVAL):
				have, _ := c.inst.Read("trace_clock")
				return fmt.Errorf("clock %q: the kernel has %s", c.o.Clock, strings.TrimSpace(have))
			case s.file == "buffer_size_kb" && errors.Is(err, unix.ENOMEM):
				return fmt.Errorf("the kernel has no memory for %d kB per CPU: %w", c.o.BufferKB, err)
			}
			return err
		}
	}
	text, err := c.inst.Read("buffer_size_kb")
	if err != nil {
		return err
	}
	size, err := tracefs.ParseSize(strings.NewReader(text), "buffer_size_kb")
	if err == nil && size.KB.OK {
		c.res.SizeKB = size.KB.V
	}
	return nil
}

func (c *capture) findTargets() error {
	var ts []probe.Target
	for _, e := range c.o.Events {
		found, err := c.inst.events(e)
		if err != nil {
			return err
		}
		ts = append(ts, found...)
	}
	ts = uniqueTargets(ts)
	seen := map[string]bool{}
	for _, s := range c.o.Symbols {
		if seen[s] {
			continue
		}
		seen[s] = true
		t, err := c.inst.kprobe(s, c.o.Maxactive)
		if err != nil {
			return err
		}
		ts = append(ts, t)
	}
	for _, t := range ts {
		c.res.Events = append(c.res.Events, t.Name)
	}
	for i, id := range c.o.Programs {
		if slices.Contains(c.o.Programs[:i], id) {
			continue
		}
		ts = append(ts, probe.Target{
			Probe:     ringlog.Probe{Name: fmt.Sprintf("program %d", id), Kind: ringlog.KindProgram},
			ProgramID: id,
		})
	}
	c.targets = ts
	return nil
}

// loadWitness loads the programs and decides whose events count.
func (c *capture) loadWitness() error {
	wantFilter := c.held != nil
	whyNot := ""
	if wantFilter && !initialPIDNamespace() {
		wantFilter, whyNot = false, "ringaudit runs in a PID namespace of its own, and set_event_pid takes the kernel's own PIDs"
	}
	if wantFilter && !c.inst.Has("options/event-fork") {
		wantFilter, whyNot = false, "this kernel cannot follow the command's children (no option event-fork)"
	}
	mode := c.o.Witness
	explicit := mode != ""
	var none error // why there can be no witness
	if !explicit {
		mode = WitnessRecords
		if none = probe.Available(); none != nil {
			mode = WitnessNone
		} else if err := probe.HaveRingBuffer(); err != nil {
			mode = WitnessCount
			c.note("no records are sent: %v", err)
		}
	}
	if none != nil && len(c.o.Programs) > 0 {
		return fmt.Errorf("the witness: %w", none)
	}
	if wantFilter && mode != WitnessNone {
		if err := probe.HaveBTF(); err != nil {
			wantFilter, whyNot = false, "the witness cannot follow the command's children: "+err.Error()
		}
	}
	c.filtered = wantFilter
	if whyNot != "" {
		c.note("everything is captured and not the command alone: %s", whyNot)
	}
	switch {
	case c.held == nil:
		c.whyBounds = "system-wide: the two counts cannot be read at one moment while events go on"
	case !c.filtered:
		c.whyBounds = "not filtered to the command: " + whyNot
	}
	if mode == WitnessNone {
		c.res.NoCount = "not asked for"
		if none != nil {
			c.res.NoCount = none.Error()
		}
		return nil
	}
	set, err := probe.Load(probe.Options{
		Targets: c.targets, Records: mode == WitnessRecords, RingBytes: c.o.RingBytes,
		FailSlots: c.o.FailSlots, MaxTasks: c.o.MaxTasks, Filtered: c.filtered, RunStats: c.o.RunStats,
	})
	if err != nil {
		if explicit || len(c.o.Programs) > 0 {
			return fmt.Errorf("the witness: %w", err)
		}
		c.res.NoCount = err.Error()
		return nil
	}
	c.set = set
	if mode == WitnessRecords && c.w != nil {
		c.log, err = c.openLog()
	} else if mode == WitnessRecords {
		c.log = newRingLog(nil)
	}
	return err
}

// start switches everything on, in the order that the bounds rest on: the
// events of the instance (which does not record yet), then the witness.
func (c *capture) start() (err error) {
	if c.filtered {
		if err := c.inst.Write("options/event-fork", "1"); err != nil {
			return err
		}
		if err := c.inst.Write("set_event_pid", strconv.Itoa(c.held.pid())); err != nil {
			return err
		}
	}
	for i := range c.targets {
		if t := &c.targets[i]; t.Recorded {
			if err := c.inst.enable(t); err != nil {
				return err
			}
		}
	}
	if c.set != nil {
		if err := c.set.Attach(); err != nil {
			return fmt.Errorf("the witness: %w", err)
		}
		if c.filtered {
			if err := c.set.Follow(uint32(c.held.pid())); err != nil {
				return err
			}
		}
		if c.log != nil {
			if err := c.log.start(c); err != nil {
				return err
			}
		}
	}
	if c.profile0, err = c.m.kprobeProfile(); err != nil {
		return err
	}
	if c.stats0, err = c.inst.statsTexts(); err != nil {
		return err
	}
	if c.w != nil && !c.o.NoDrain {
		cpus, err := c.inst.cpus()
		if err != nil {
			return err
		}
		if c.drain, err = c.inst.startDrain(onlineOf(cpus), c.res.SizeKB, filepath.Dir(c.o.Output)); err != nil {
			return err
		}
	}
	return nil
}

// onlineOf are those of cpus that are online; all of them if that is not known.
// A CPU that comes online later is read at the end.
func onlineOf(cpus []int) []int {
	b, err := readOnce("/sys/devices/system/cpu/online")
	if err != nil {
		return cpus
	}
	online, err := tracefs.ParseCPUList(strings.TrimSpace(string(b)))
	if err != nil {
		return cpus
	}
	is := map[int]bool{}
	for _, c := range online {
		is[c] = true
	}
	var out []int
	for _, c := range cpus {
		if is[c] {
			out = append(out, c)
		}
	}
	return out
}

// close puts everything back, whatever happened before.
func (c *capture) close() error {
	var errs []error
	if c.held != nil {
		c.held.abandon()
	}
	if c.log != nil {
		c.log.halt()
	}
	if c.set != nil {
		errs = append(errs, c.set.Close())
	}
	c.drain.close()
	if c.inst != nil {
		errs = append(errs, c.inst.Close())
	}
	if c.w != nil {
		errs = append(errs, c.w.Abort())
	}
	return errors.Join(errs...)
}
