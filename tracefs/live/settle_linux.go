package live

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringaudit/ringaudit/tracefs/live/probe"
	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// edgeSlack is how many events per CPU may be counted by the witness and not
// offered to the instance, or the reverse, because they were under way when
// recording began or ended: one in each context that can interrupt another
// (task, softirq, hardirq, NMI).
const edgeSlack = 4

func sortedKeys[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }

// settle detaches the witness and says what it counted.
func (c *capture) settle() error {
	if err := c.set.Detach(); err != nil {
		return err
	}
	if c.log != nil {
		c.log.halt()
	}
	final, err := c.set.Settle(time.Second)
	if err != nil {
		return err
	}
	losses, err := c.set.Losses()
	if err != nil {
		return err
	}
	w := &ringlog.Witness{Buffer: ".", Mode: ringlog.ModeEqual, PerCPU: PerCPUExact, Probes: losses.Probes, Followed: losses.Followed}
	w.Filter = c.filter()
	if c.filtered && len(c.o.Programs) > 0 {
		w.Notes = append(w.Notes, "BPF programs are counted whoever makes them run, and not for the command alone: one that handles packets runs in any task's time")
	}
	if err := c.addProfiles(w); err != nil {
		return err
	}
	misses, counted := c.misses(w)
	if counted {
		w.RecursionMisses = &misses
	}
	c.bounds(w, final, losses, misses, counted)
	if losses.Asked != nil {
		c.addRecords(w, losses)
	}
	c.res.Witness = w
	return nil
}

// filter is [ringlog.Witness] Filter: BPF programs are counted for everybody.
func (c *capture) filter() string {
	others := slices.ContainsFunc(c.targets, func(t probe.Target) bool { return t.Kind != ringlog.KindProgram })
	if c.filtered && others {
		return "command"
	}
	return ""
}

// misses are the hits that the programs missed in probes that the instance
// records; counted is false if the kernel does not count them for one of those.
func (c *capture) misses(w *ringlog.Witness) (sum uint64, counted bool) {
	counted = true
	for i := range w.Probes {
		p := &w.Probes[i]
		if p.RecursionMisses != nil {
			sum += *p.RecursionMisses
		} else if p.Recorded {
			counted = false
		}
	}
	return sum, counted
}

// bounds decides between equality and bounds, and gives each CPU its numbers.
func (c *capture) bounds(w *ringlog.Witness, final probe.Counts, l *probe.Losses, misses uint64, counted bool) {
	why := c.whyBounds
	var recorded, perf int
	for _, p := range w.Probes {
		if p.Recorded {
			recorded++
			if p.Means == ringlog.MeansPerfEvent {
				perf++
			}
		}
	}
	open := false // hits may have been missed that nobody counted
	switch {
	case recorded == 0:
		w.Mode, w.Why = ringlog.ModeAlone, "no tracefs event was asked for: the instance recorded nothing"
	case perf > 0:
		why, open = first(why, fmt.Sprintf("%d of the events have no tracepoint and are counted by way of perf, which skips an event inside another one's perf buffer and counts that nowhere (perf_trace_buf_alloc)", perf)), true
	case !counted:
		why, open = first(why, "this kernel skips a program while another one runs on the same CPU and does not count that for the means at hand (before 6.8)"), true
	case misses > 0:
		why = first(why, fmt.Sprintf("the kernel skipped the programs %d times because one was running already; the upper bounds include them", misses))
	}
	if l.FollowerMisses > 0 {
		why, open = first(why, fmt.Sprintf("the followers of the command's tasks were skipped %d times, so its tasks may have been taken for others", l.FollowerMisses)), true
	}
	if l.UnseenSwitches > 0 {
		what := fmt.Sprintf("the kernel did not run the witness at %d task switches, and counts that nowhere", l.UnseenSwitches)
		if onlySyscalls(w.Probes) {
			w.Notes = append(w.Notes, what+"; system calls are counted by the task that makes them and are not affected")
		} else {
			why, open = first(why, what+", so that events of the command may have been taken for others' and the reverse"), true
		}
	}
	if f := l.Followed; f != nil && f.Lost > 0 {
		why, open = first(why, fmt.Sprintf("%d children of the command had no place in the list of tasks", f.Lost)), true
	}
	if w.Mode == ringlog.ModeEqual {
		if why == "" {
			w.Why = "both sides count the command's tasks only, and all of them had ended before the counts were read"
		} else {
			w.Mode, w.Why = ringlog.ModeBounds, why
		}
	}

	exact := c.filtered && c.whyBounds == "" // the ends are sharp
	slack := uint64(edgeSlack)
	for cpu := range final {
		var b ringlog.Bounds
		var outer uint64
		if exact {
			b.Inner, outer = final[cpu], final[cpu]
		} else {
			b.Inner = c.inner1[cpu] - c.inner0[cpu]
			b.Inner -= min(b.Inner, slack)
			outer = c.outer1[cpu] - c.outer0[cpu] + slack
			if c.outer1[cpu] == c.outer0[cpu] && final[cpu] == 0 {
				outer = 0 // nothing ever happened on this CPU
			}
		}
		outer += misses
		w.Total.Inner += b.Inner
		if !open {
			b.Outer = &outer
		}
		w.CPUs = append(w.CPUs, ringlog.CPUCount{CPU: cpu, Bounds: b})
	}
	if !open {
		var sum uint64
		for _, cc := range w.CPUs {
			sum += *cc.Outer - misses
		}
		sum += misses
		w.Total.Outer = &sum
	}
	if w.Mode == ringlog.ModeAlone {
		w.Total = ringlog.Bounds{}
		for i := range w.CPUs {
			w.CPUs[i].Bounds = ringlog.Bounds{}
		}
	}
	// CPUs on which nothing happened and nothing was asked for say nothing.
	w.CPUs = slices.DeleteFunc(w.CPUs, func(cc ringlog.CPUCount) bool {
		return final[cc.CPU] == 0 && !c.isOnline(cc.CPU) && (l.Asked == nil || l.Asked[cc.CPU] == 0)
	})
}

func (c *capture) isOnline(cpu int) bool { return slices.Contains(onlineOf([]int{cpu}), cpu) }

// onlySyscalls tells whether all events that the instance records are system calls.
func onlySyscalls(probes []ringlog.ProbeHit) bool {
	for _, p := range probes {
		if p.Recorded && !hasGroup(p.Name, "raw_syscalls") && !hasGroup(p.Name, "syscalls") {
			return false
		}
	}
	return true
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// addRecords says what became of the records.
func (c *capture) addRecords(w *ringlog.Witness, l *probe.Losses) {
	var failed, unattributed uint64
	for i := range w.CPUs {
		cc := &w.CPUs[i]
		cc.Asked, cc.ReserveFailures, cc.Unattributed = &l.Asked[cc.CPU], &l.Failed[cc.CPU], &l.Unattributed[cc.CPU]
		failed += l.Failed[cc.CPU]
		unattributed += l.Unattributed[cc.CPU]
	}
	w.ReserveFailures, w.Unattributed = &failed, &unattributed
	if c.log != nil {
		w.Reader = c.log.reader()
	}
}

// addProfiles puts kprobe_profile's two columns, as differences, beside the
// probes that are kprobes.
func (c *capture) addProfiles(w *ringlog.Witness) error {
	now, err := c.m.kprobeProfile()
	if err != nil {
		return err
	}
	for i := range w.Probes {
		t := &c.targets[i]
		p, ok := now[t.Event]
		if !ok || (t.Kind != ringlog.KindKprobe && t.Kind != ringlog.KindKretprobe) {
			continue
		}
		was := c.profile0[t.Event]
		p.Hits -= was.Hits
		p.Missed -= was.Missed
		p.Maxactive = t.Maxactive
		w.Probes[i].Profile = &p
	}
	return nil
}

// explainPerCPU weakens the witness to its total where an event may have been
// counted on another CPU than it was recorded on. Since 6.13 the callbacks of
// system call tracepoints run with preemption on (DECLARE_TRACE_SYSCALL,
// include/linux/tracepoint.h), and a task can be moved between two of them.
func (c *capture) explainPerCPU() {
	w := c.res.Witness
	if w == nil || w.Mode == ringlog.ModeAlone {
		return
	}
	if what, un := c.res.Settled(); what == "" && un.Inner == 0 {
		return
	}
	faultable := false
	for _, p := range w.Probes {
		faultable = faultable || p.Recorded && (hasGroup(p.Name, "raw_syscalls") || hasGroup(p.Name, "syscalls"))
	}
	if !faultable || !kernelAtLeast(6, 13) {
		return
	}
	w.PerCPU = PerCPUTotal
	if what, un := c.res.Settled(); what == "" && un.Inner == 0 {
		w.Notes = append(w.Notes, "a task was moved to another CPU between the recording and the counting of a system call: only the sums can be compared (6.13 and later)")
		return
	}
	w.PerCPU = PerCPUExact
}

func hasGroup(name, group string) bool {
	return len(name) > len(group) && name[:len(group)] == group && name[len(group)] == ':'
}

func kernelAtLeast(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var a, b int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &a, &b); err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

// ringLog takes the records out of the ring buffer and writes them down.
type ringLog struct {
	to      io.WriteCloser // nil: nobody keeps them
	w       *ringlog.Writer
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
	started bool

	received, written, failed atomic.Uint64
	undecodable               uint64
	err                       error
}

func newRingLog(to io.WriteCloser) *ringLog {
	l := &ringLog{to: to, stop: make(chan struct{}), done: make(chan struct{})}
	if to != nil {
		l.w = ringlog.NewWriter(to)
	} else {
		l.w = ringlog.NewWriter(io.Discard)
	}
	return l
}

func (c *capture) openLog() (*ringLog, error) {
	f, err := c.w.Create("ringlog.jsonl")
	if err != nil {
		return nil, err
	}
	return newRingLog(f), nil
}

// start writes the begin line and begins to take records.
func (l *ringLog) start(c *capture) error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err
	}
	b := ringlog.Begin{
		Tool: c.o.Tool, Kernel: unix.ByteSliceToString(u.Release[:]), Arch: unix.ByteSliceToString(u.Machine[:]),
		CPUs: c.set.PossibleCPUs(), Clock: "monotonic", RingBytes: uint64(c.o.RingBytes), Instance: ".", FailSlots: uint64(c.o.FailSlots),
	}
	b.Filter = c.filter()
	for _, t := range c.set.Targets() {
		b.Probes = append(b.Probes, t.Probe)
	}
	if err := l.w.Begin(b); err != nil {
		return err
	}
	l.started = true
	go func() {
		defer close(l.done)
		runtime.LockOSThread() // it has work all the time; no need to move it about
		l.undecodable = c.set.Drain(l.stop, l.take)
	}()
	return nil
}

func (l *ringLog) take(r *ringlog.Record) {
	l.received.Add(1)
	if l.err != nil {
		l.failed.Add(1)
		return
	}
	if err := l.w.Record(r); err != nil {
		l.err = err
		l.failed.Add(1)
		return
	}
	l.written.Add(1)
}

// halt ends the taking when the ring is empty. It may be called again.
func (l *ringLog) halt() {
	l.once.Do(func() {
		close(l.stop)
		if l.started {
			<-l.done
		}
	})
}

func (l *ringLog) reader() *ringlog.Reader {
	r := &ringlog.Reader{Received: l.received.Load(), Written: l.written.Load(), Undecodable: l.undecodable, Failed: l.failed.Load()}
	if l.err != nil {
		r.Error = l.err.Error()
	}
	return r
}

// end writes the end line.
func (l *ringLog) end(stop StopReason, w *ringlog.Witness) error {
	err := l.w.End(ringlog.End{Stop: string(stop), Witness: *w})
	if l.to != nil {
		if e := l.to.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		return fmt.Errorf("the ring log: %w", err)
	}
	return nil
}
