package audit

import (
	"slices"

	"github.com/ringaudit/ringaudit/tracefs"
)

// This file compares the text of a folder with its counters, line by line: each
// record of a stopped ring prints one line, but for the reasons that are here.

// unequal is a CPU of which a text shows another number of records than its
// counter says.
type unequal struct {
	cpu            int
	lines, entries uint64
	view           *Capture
}

// compareShown sets what is known of the CPUs whose lines are not as many as
// their entries.
func (b *Buffer) compareShown() {
	b.thrownAway, b.hidden = map[int]uint64{}, map[int]uint64{}
	for _, v := range b.ownViews {
		if b.HasCounters() && b.Kind == BufferRing && b.stopped() && v.Source == b.Counters.Source && v.Kind == KindTrace && v.Header != nil {
			b.compareView(v)
		}
	}
	b.findUnused()
	b.Stale = len(b.thrownAway) > 0
}

// findUnused looks for rings whose counters say that they hold records, and whose
// oldest record is of time 0: that is what a sub-buffer says into which nothing
// was ever written (kernel/trace/ring_buffer.c: ring_buffer_oldest_event_ts), so
// the records went with the sub-buffers that it replaced.
func (b *Buffer) findUnused() {
	if !b.HasCounters() || b.Kind != BufferRing || b.LastBoot || b.Counters.Source.Kind == KindTraceDat {
		return
	}
	for _, cpu := range b.Counters.CPUs() {
		_, known := b.thrownAway[cpu]
		switch n := b.entries(cpu); {
		case n == 0:
		case unused(b.Counters.Stats[cpu]):
			b.thrownAway[cpu] = 0
			b.unused = append(b.unused, cpu)
		case !known && b.before != nil && unused(b.before.Stats[cpu]) && !b.steps[cpu].reset && !b.steps[cpu].swapped:
			// What was gone then is in entries still.
			b.thrownAway[cpu] = n - min(n, b.goneBefore(cpu).Lo)
		case !known && b.orderChanges() && b.Counters.Stats[cpu].Entries.V > 0:
			// More than fits: kernels that have that file move what a shrink removes
			// to overrun, and nothing else leaves entries behind.
			if _, over := b.overfull(cpu); over {
				b.thrownAway[cpu] = 1
			}
		}
	}
	if len(b.unused) == 0 || b.compared {
		return
	}
	// The change was one of all CPUs: what the others hold came after it, or is as
	// gone, and nothing tells which. One record is there.
	for _, cpu := range b.Counters.CPUs() {
		if _, known := b.thrownAway[cpu]; !known && b.entries(cpu) > 0 {
			b.thrownAway[cpu] = 1
		}
	}
}

// unused tells whether a CPU's counters speak of a ring with records, to which
// nothing was ever written.
func unused(st *tracefs.Stats) bool {
	return st != nil && st.Oldest.OK && st.Oldest.V.Value == 0 && st.Entries.OK && st.Entries.V > 0
}

// goneBefore is how many of the entries of the earlier sample had been thrown away
// by then.
func (b *Buffer) goneBefore(cpu int) Count {
	if b.before == nil || b.before.Stats[cpu] == nil {
		return Exactly(0)
	}
	st := b.before.Stats[cpu]
	n, ok := tracefs.Unwrap(st.Entries.V, b.longBytes())
	switch {
	case !st.Entries.OK || !ok || n == 0:
		return Exactly(0)
	case unused(st):
		return Exactly(n)
	}
	for _, other := range b.before.Stats {
		if unused(other) {
			return Between(0, n-1) // the change was one of all CPUs; one record is there
		}
	}
	return Exactly(0)
}

// orderChanges tells whether the kernel lets the size of a sub-buffer be changed
// (buffer_subbuf_size_kb, since the 6.8 tree).
func (b *Buffer) orderChanges() bool { return b.Instance != nil && b.Instance.SubbufKB.OK }

func (b *Buffer) compareView(v *Capture) {
	ordered := b.orderChanges()
	if ordered && v.Header.Entries > 0 && v.Records() == 0 && v.Unmatched == 0 && v.Uncountable == "" && !v.Cut {
		// A change of the sub-buffer size frees the old sub-buffers with all that is
		// in them and counts that nowhere (kernel/trace/ring_buffer.c:
		// ring_buffer_subbuf_order_set, since the 6.8 tree).
		for _, cpu := range b.Counters.CPUs() {
			if b.entries(cpu) > 0 {
				b.thrownAway[cpu] = 0
			}
		}
		return
	}
	if !b.linesAreEntries(v) {
		return
	}
	b.compared = true
	var differ []unequal
	same := false
	for _, cpu := range b.Counters.CPUs() {
		u := unequal{cpu: cpu, entries: b.entries(cpu), view: v}
		if p := v.PerCPU[cpu]; p != nil {
			u.lines = p.Records
		}
		if u.lines == u.entries {
			same = true
			continue
		}
		differ = append(differ, u)
	}
	less := !slices.ContainsFunc(differ, func(u unequal) bool { return u.lines > u.entries })
	sum, known := b.entriesOfAll()
	switch {
	case less && known && v.Header.Entries == sum && ordered:
		// Some more events came after such a change.
		for _, u := range differ {
			b.thrownAway[u.cpu] = u.lines
		}
	case less && same && known && v.Header.Entries < sum && v.Header.Entries == v.Records():
		// The header leaves out what the body leaves out: events older than the last
		// reset, of a CPU that was offline then (tracing_iter_reset, print_event_info).
		// The CPUs that were reset show all that they have.
		for _, u := range differ {
			b.hidden[u.cpu] = u.entries - u.lines
		}
	default:
		b.differ = append(b.differ, differ...)
	}
}

// linesAreEntries tells whether the lines of a text are as many as the entries
// of a stopped ring.
func (b *Buffer) linesAreEntries(v *Capture) bool {
	return v.Uncountable == "" && v.Unmatched == 0 && v.NoCPU == 0 && !v.Cut && !b.LastBoot && !b.extraEntries() && !b.headerMoved(v) &&
		(v.Section == nil || v.Section.Kind == tracefs.KindTrace)
}

// entriesOfAll is the sum of entries over all CPUs; known is false where one of
// them is not.
func (b *Buffer) entriesOfAll() (sum uint64, known bool) {
	if !b.HasCounters() || b.partialCounters() {
		return 0, false
	}
	for _, cpu := range b.Counters.CPUs() {
		f := b.Counters.Stats[cpu].Entries
		n, ok := tracefs.Unwrap(f.V, b.longBytes())
		if !f.OK || !ok {
			return 0, false
		}
		sum += n
	}
	return sum, true
}

// headerSkips tells whether the header may leave out events for a reason that
// the kernel has: a CPU that was offline at the last reset.
func (b *Buffer) headerSkips(c *Capture) bool {
	sum, known := b.entriesOfAll()
	if !known || c.Header.Entries >= sum {
		return false
	}
	return len(b.hidden) > 0 || b.offlineWithRecords() || !b.linesAreEntries(c) && b.Instance != nil && !b.Instance.Online.OK
}
