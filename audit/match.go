package audit

import (
	"fmt"
	"slices"

	"github.com/ringaudit/ringaudit/tracefs"
)

// fits tells whether a part can be of this buffer's run; if not, why not.
// Nothing that could be of one run is refused: what fits may still contradict.
func (b *Buffer) fits(p *part) string {
	if b.Kernel != "" && p.src.Kernel != "" && b.Kernel != p.src.Kernel {
		return fmt.Sprintf("its kernel is %s, not %s", p.src.Kernel, b.Kernel)
	}
	if why := b.fitsCPUs(p); why != "" {
		return why
	}
	if why := b.fitsCounters(p); why != "" {
		return why
	}
	return b.fitsTime(p)
}

// fitsCounters refuses a part with counters of another recording. Two sets of
// counters can be two moments of one run; a trace.dat's are of its own run,
// because trace-cmd resets the buffer when it begins.
func (b *Buffer) fitsCounters(p *part) string {
	if p.counters == nil || b.Counters == nil {
		return ""
	}
	if p.src.Kind == KindTraceDat && b.Counters.Source.Kind == KindTraceDat {
		return "each trace.dat has the counters of its own recording"
	}
	if p.inst != nil && b.Instance != nil {
		if why := sameSettings(b.Instance, p.inst); why != "" {
			return why
		}
	}
	was, now := b.Counters, p.counters
	if later(was, now) {
		was, now = now, was
	}
	if disjoint(was, now) || !wasReset(was, now, b.longBytes()) {
		return ""
	}
	return "its counters do not go on from the others: the buffer was reset between the two"
}

// sameSettings tells in what two saved instances differ so that they cannot be
// two moments of one run; empty if in nothing.
func sameSettings(a, b *tracefs.Instance) string {
	for _, f := range []struct {
		what string
		x, y tracefs.Field[string]
	}{
		{"clock", a.Clock.Current, b.Clock.Current},
		{"tracer", a.Tracer, b.Tracer},
	} {
		if f.x.OK && f.y.OK && f.x.V != f.y.V {
			return fmt.Sprintf("its %s is %s, not %s", f.what, f.y.V, f.x.V)
		}
	}
	if a.Size.KB.OK && b.Size.KB.OK && a.Size.KB.V != b.Size.KB.V {
		return fmt.Sprintf("its buffer has %d kB a CPU, not %d", b.Size.KB.V, a.Size.KB.V)
	}
	x, y := a.Options.Get("overwrite"), b.Options.Get("overwrite")
	if x.OK && y.OK && x.V != y.V {
		return "overwrite is switched otherwise"
	}
	return ""
}

// fitsCPUs refuses a part with CPUs that the machine does not have.
func (b *Buffer) fitsCPUs(p *part) string {
	if b.Instance == nil {
		return ""
	}
	var have []int
	if b.Instance.Possible.OK {
		have = b.Instance.Possible.V
	} else {
		for _, c := range b.Instance.CPUs {
			have = append(have, c.ID)
		}
	}
	for _, cpu := range p.cpus() {
		if cpu >= 0 && !slices.Contains(have, cpu) { // below 0 the file does not tell it
			return fmt.Sprintf("it has cpu %d, and that machine has only %s", cpu, tracefs.FormatCPUList(have))
		}
	}
	return ""
}

func (p *part) cpus() []int {
	var out []int
	for _, c := range p.captures {
		for _, id := range c.CPUIDs() {
			if c.PerCPU[id].Records > 0 {
				out = append(out, id)
			}
		}
	}
	if p.counters != nil {
		out = append(out, p.counters.CPUs()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fitsTime refuses a part whose stamps are of another unit, or that lies wholly
// outside the time in which the buffer can have recorded.
func (b *Buffer) fitsTime(p *part) string {
	oldest, now := b.countersSpan()
	for _, c := range p.captures {
		first, last := c.span()
		if first == nil || last == nil || first.Unit == tracefs.UnitUnknown {
			continue // raw stamps take the unit of the buffer's clock
		}
		for _, other := range b.Captures {
			of, _ := other.span()
			if of != nil && of.Unit != tracefs.UnitUnknown && of.Unit != first.Unit {
				return fmt.Sprintf("its stamps are %v, and the other source's are %v", unitWord(first.Unit), unitWord(of.Unit))
			}
		}
		if now == nil {
			continue
		}
		if now.Unit != first.Unit {
			return fmt.Sprintf("its stamps are %v, and the buffer's are %v", unitWord(first.Unit), unitWord(now.Unit))
		}
		if b.stopped() && first.Value > now.Value {
			return fmt.Sprintf("it begins at %v, after the counters were read at %v with recording off", first, now)
		}
		// A view shows what is in the ring: a stopped ring holds nothing older
		// than its oldest record.
		if b.stopped() && !c.Consuming && oldest != nil && last.Value+1000 < oldest.Value {
			return fmt.Sprintf("it ends at %v, before the oldest record in the buffer at %v", last, oldest)
		}
	}
	return ""
}

func unitWord(u tracefs.Unit) string {
	if u == tracefs.Ticks {
		return "ticks"
	}
	return "seconds"
}

// stopped tells whether recording was off when the instance was saved, for as long
// as that took.
func (b *Buffer) stopped() bool {
	return b.Instance != nil && b.Instance.Tracing.OK && !b.Instance.Tracing.V && !b.wentOn()
}

// wentOn tells whether the saved instance itself shows that recording went on
// while it was read, whatever tracing_on said at its moment: two readings of a
// counter differ, or its text has records of after its counters.
func (b *Buffer) wentOn() bool {
	if !b.HasCounters() || b.Counters.Source != b.source || b.Kind != BufferRing {
		return false
	}
	for cpu, st := range b.Counters.Stats {
		if again := b.Counters.second[cpu]; again != nil {
			for _, k := range counterOf {
				if x, y := k.field(st), k.field(again); x.OK && y.OK && x.V != y.V {
					return true
				}
			}
		}
		for _, v := range b.ownViews {
			if p := v.PerCPU[cpu]; p != nil && p.Last != nil && st.Now.OK && p.Last.Unit == st.Now.V.Unit && p.Last.Value > st.Now.V.Value+skew(st.Now.V.Unit) {
				return true
			}
		}
	}
	return false
}

// skew is how far the clocks of two CPUs may be apart: "now ts" is read on the CPU
// that reads the file (ring_buffer_time_stamp, kernel/trace/ring_buffer.c).
func skew(u tracefs.Unit) uint64 {
	if u == tracefs.Nanoseconds {
		return 10e6
	}
	return 0
}

// countersSpan is the oldest record over all CPUs and the latest "now" of the
// counters; nil where not known.
func (b *Buffer) countersSpan() (oldest, now *tracefs.Stamp) {
	if !b.HasCounters() {
		return nil, nil
	}
	for _, cpu := range b.Counters.CPUs() {
		st := b.Counters.Stats[cpu]
		if st.Entries.OK && st.Entries.V > 0 && oldestValid(st) {
			if s := st.Oldest.V; oldest == nil || s.Value < oldest.Value {
				oldest = &s
			}
		}
		if st.Now.OK {
			if s := st.Now.V; now == nil || s.Value > now.Value {
				now = &s
			}
		}
	}
	return oldest, now
}

// prepare works out what the ledger needs to know of a buffer beforehand.
func (b *Buffer) prepare() {
	for _, c := range b.Captures {
		c.setUnit(b.unitOfClock())
	}
	b.Quiet = b.stopped() || b.HasCounters() && b.Counters.Source.Kind == KindTraceDat
	if b.Instance != nil {
		if f := b.Instance.Options.Get("overwrite"); f.OK {
			b.Mode = ModeNoOverwrite
			if f.V {
				b.Mode = ModeOverwrite
			}
		}
		b.sizes()
		for _, c := range b.Instance.CPUs {
			b.cpu(c.ID)
		}
	}
	if b.HasCounters() {
		for _, id := range b.Counters.CPUs() {
			b.cpu(id)
		}
	}
	for _, c := range b.Captures {
		for _, id := range c.CPUIDs() {
			b.cpu(id).addEvents(c.PerCPU[id].Events)
		}
	}
	if b.Kind == BufferSnapshot {
		for _, c := range b.ownViews {
			for _, id := range c.CPUIDs() {
				b.cpu(id)
			}
		}
	}
	if b.witness != nil {
		for _, c := range b.witness.CPUs {
			if c.Inner > 0 {
				b.cpu(c.CPU)
			}
		}
	}
	b.otherCPUs()
	if b.ring != nil {
		b.Mode = ModeNoOverwrite
	}
	b.findRebuilt()
	b.compareShown()
	b.findMoved()
}

// rounding is what the microseconds of a stats file leave off a stamp.
const rounding = 1000 // ns

// findRebuilt looks for CPUs whose oldest record is later than the clock: their
// counters are not of what the clock that runs now has counted. An empty ring is
// none of them: what it prints as its oldest event is stale.
func (b *Buffer) findRebuilt() {
	if !b.HasCounters() || b.Kind != BufferRing {
		return
	}
	for _, cpu := range b.Counters.CPUs() {
		st := b.Counters.Stats[cpu]
		if !st.Oldest.OK || !st.Now.OK || b.entries(cpu) == 0 {
			continue
		}
		oldest, now := st.Oldest.V, st.Now.V
		later := oldest.Value > now.Value
		if later && oldest.Unit == tracefs.Nanoseconds {
			later = oldest.Value-now.Value > rounding
		}
		if later && oldest.Unit == now.Unit {
			b.rebuilt, b.LastBoot = append(b.rebuilt, cpu), true
		}
	}
}

// otherCPUs enters the CPUs that something speaks of and no counter does.
func (b *Buffer) otherCPUs() {
	if b.Instance == nil || b.Kind != BufferRing || !b.HasCounters() {
		return
	}
	if b.Instance.Online.OK {
		for _, id := range b.Instance.Online.V {
			b.cpu(id)
		}
	}
	for _, v := range b.ownViews {
		for _, id := range v.CPUIDs() {
			if v.PerCPU[id].Records > 0 {
				b.cpu(id)
			}
		}
		if v.Header != nil && v.Header.Online > len(b.Instance.CPUs) {
			b.moreCPUs = true
		}
	}
}

// unitOfClock is the unit of the buffer's stamps: as its counters print them,
// else as its clock's name tells.
func (b *Buffer) unitOfClock() tracefs.Unit {
	if _, now := b.countersSpan(); now != nil {
		return now.Unit
	}
	return tracefs.ClockUnit(b.Clock)
}

func (c *CPU) addEvents(events []EventCount) {
	for _, e := range events {
		i := slices.IndexFunc(c.Events, func(have EventCount) bool { return have.ID == e.ID && have.Name == e.Name })
		if i < 0 {
			c.Events = append(c.Events, e)
			continue
		}
		c.Events[i].Count += e.Count
		c.Events[i].Bytes += e.Bytes
	}
	slices.SortFunc(c.Events, func(x, y EventCount) int {
		switch {
		case x.Count != y.Count && x.Count > y.Count:
			return -1
		case x.Count != y.Count:
			return 1
		}
		return x.ID - y.ID
	})
}

// sizes reads what the size files mean.
func (b *Buffer) sizes() {
	if b.Geometry == (Geometry{}) {
		return
	}
	ctx := SizeContext{
		OrderFile:  b.Instance.SubbufKB.OK,
		BootMapped: b.Instance.LastBoot != nil,
		Snapshot:   b.Kind == BufferSnapshot,
	}
	for _, c := range b.Instance.CPUs {
		// A size that no grant has is a request: then so are all others.
		if kb := c.Size.KB; kb.OK && kb.V >= 0 && !b.Geometry.Granted(uint64(kb.V)) && !ctx.OrderFile {
			ctx.PrintsRequests = true
		}
	}
	b.CPUSizes = map[int]CPUSize{}
	for _, c := range b.Instance.CPUs {
		size := c.Size
		if !size.KB.OK && !b.Instance.Size.Mixed {
			size = b.Instance.Size
		}
		if b.Instance.Size.ExpandedKB.OK && !size.ExpandedKB.OK {
			size.ExpandedKB = b.Instance.Size.ExpandedKB
		}
		if size.KB.OK {
			b.CPUSizes[c.ID] = CPUSize{Printed: size, SizeReading: b.Geometry.ReadSize(size, ctx)}
		}
	}
}
