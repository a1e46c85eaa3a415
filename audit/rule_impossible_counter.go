package audit

import "fmt"

var ruleImpossible = &Rule{
	ID: "impossible-counter", Group: GroupContradiction, Severity: SeverityNote,
	Title:     "A counter that cannot be true, and is used for nothing",
	Text:      `The kernel prints unsigned counters with a signed format, so a value beyond the largest long, or one sampled between two updates, is negative. "bytes" drifts: it can exceed the ring, and stay above zero on an empty one. The audit uses "bytes" for nothing, and a negative counter only where the kernel is known to be a 32-bit one, whose counters wrap at 2^32.`,
	Remedy:    "",
	Citations: []string{"trace-ring-buffer-R18", "trace-ring-buffer-R14", "trace-ring-buffer-R17", "trace-ring-buffer-R72"},
}

func checkImpossible(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if !b.HasCounters() {
			continue
		}
		for _, id := range b.Counters.CPUs() {
			st := b.Counters.Stats[id]
			for _, c := range st.Counters() {
				if c.Field.V >= 0 {
					continue
				}
				f := Finding{Buffer: b.Name, CPU: cpuPtr(id), Severity: SeverityWarning, Evidence: []Evidence{b.Counters.place(id, c.Field.Line, c.Field.Text)}}
				if b.Geometry.LongBytes == 4 && c.Name != "bytes" {
					f.Severity = SeverityNote
					f.Message = fmt.Sprintf("%q is printed negative: a 32-bit counter above 2^31, read as %d; it wraps at 2^32", c.Name, uint32(int32(c.Field.V)))
				} else {
					f.Message = fmt.Sprintf("%q is printed negative: not used", c.Name)
				}
				a.emit(r, f)
			}
			b.checkBytes(a, r, id)
			b.checkFit(a, id)
		}
	}
}

// checkBytes reports "bytes" above what the ring can hold: its sub-buffers, and
// once events were read also the reader page.
func (b *Buffer) checkBytes(a *Audit, r *Rule, cpu int) {
	st := b.Counters.Stats[cpu]
	capacity, ok := b.capacity(cpu)
	if !ok || !st.Bytes.OK || st.Bytes.V < 0 || uint64(st.Bytes.V) <= capacity {
		return
	}
	a.emit(r, Finding{Buffer: b.Name, CPU: cpuPtr(cpu), Evidence: []Evidence{b.Counters.place(cpu, st.Bytes.Line, st.Bytes.Text)},
		Message: fmt.Sprintf("cpu %d prints %d bytes in a ring of %d: not used", cpu, st.Bytes.V, capacity)})
}

// capacity is the most bytes of records that the CPU's ring can hold.
func (b *Buffer) capacity(cpu int) (uint64, bool) {
	size, ok := b.CPUSizes[cpu]
	if !ok || size.UsableBytes.Open {
		return 0, false
	}
	capacity := size.UsableBytes.Hi
	if st := b.Counters.Stats[cpu]; st == nil || !st.Read.OK || st.Read.V != 0 {
		capacity += b.Geometry.UsableBytes
	}
	return capacity, true
}

// checkFit reports more entries than fit: no record is shorter than 8 bytes.
func (b *Buffer) checkFit(a *Audit, cpu int) {
	st := b.Counters.Stats[cpu]
	capacity, ok := b.capacity(cpu)
	if !ok || !st.Entries.OK || st.Entries.V < 0 || uint64(st.Entries.V) <= capacity/8 {
		return
	}
	why := "a shrink on a kernel before 5.10 puts events that were read back into entries"
	if b.orderChanges() {
		why = "a change of the sub-buffer size throws events away and leaves entries as it was"
	}
	a.emit(ruleKnownBug, Finding{Buffer: b.Name, CPU: cpuPtr(cpu), Evidence: []Evidence{b.Counters.place(cpu, st.Entries.Line, st.Entries.Text)},
		Message: fmt.Sprintf("entries says %d, and a ring of %d bytes holds at most %d: %s", st.Entries.V, capacity, capacity/8, why)})
}
