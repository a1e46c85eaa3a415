package audit

import (
	"fmt"
	"slices"

	"github.com/ringaudit/ringaudit/tracefs"
)

// counterOf ties the lines of a stats file to quantities.
var counterOf = []struct {
	q     Quantity
	field func(*tracefs.Stats) tracefs.Field[int64]
	// grows: the counter never falls between resets.
	grows bool
}{
	{Kept, func(s *tracefs.Stats) tracefs.Field[int64] { return s.Entries }, false},
	{Overwritten, func(s *tracefs.Stats) tracefs.Field[int64] { return s.Overrun }, true},
	{CommitOverrun, func(s *tracefs.Stats) tracefs.Field[int64] { return s.CommitOverrun }, true},
	{Dropped, func(s *tracefs.Stats) tracefs.Field[int64] { return s.Dropped }, true},
	{Read, func(s *tracefs.Stats) tracefs.Field[int64] { return s.Read }, true},
}

// longBytes is the size of the kernel's long, 8 where header_page does not tell:
// then a negative counter is not used.
func (b *Buffer) longBytes() int {
	if b.Geometry.LongBytes == 4 {
		return 4
	}
	return 8
}

// settle fills the buffer's ledger from all that was said of it.
func (a *Audit) settle(b *Buffer) {
	b.Ledger = NewLedger(nil)
	for _, id := range b.CPUIDs() {
		b.Ledger.AddCPU(id)
	}
	// A folder or a trace.dat with counters lists every CPU that has records; a
	// text lists those that it happens to show.
	b.Ledger.CPUsWhole = b.HasCounters() && !b.partialCounters() || b.ring != nil && !b.ring.Cut && b.allAsked()
	b.claimCounters()
	// What counts is settled before what shows: a text that does not fit is left
	// out then, not a counter.
	b.Ledger.Solve()
	for _, c := range b.ownViews {
		b.claimHeader(c)
		if b.Kind == BufferSnapshot {
			b.claimShown(c)
		}
	}
	for _, c := range b.Captures {
		b.claimHeader(c)
		b.claimShown(c)
		if b.before == nil {
			b.claimNoCPU(c)
		}
	}
	b.claimStreams()
	if b.ring != nil {
		b.claimRinglog()
	}
	b.Ledger.Solve()
	b.claimDelivered()
	b.claimWitness()
	a.claimAttempted(b)
	b.Ledger.Solve()
	b.resolveHoles()
	b.windows()
	b.states()
}

// partialCounters tells whether the counters leave out a CPU that another part
// of the sources speaks of: its stats file is missing or could not be read.
func (b *Buffer) partialCounters() bool {
	if b.moreCPUs {
		return true
	}
	for id := range b.CPUs {
		if b.Counters.Stats[id] == nil {
			return true
		}
	}
	return false
}

// claimShown enters what the records and marks of a capture prove of the ring
// itself.
func (b *Buffer) claimShown(c *Capture) {
	if b.before != nil {
		return // its records may be of before the audited stretch
	}
	for _, cpu := range c.CPUIDs() {
		p := c.PerCPU[cpu]
		marks := p.KnownLost + p.UnknownMarks
		ev := firstEvidence(p.Holes)
		if len(ev) == 0 {
			ev = []Evidence{{Source: c.Source.ID, File: c.File}}
		}
		if (c.Consuming || c.Section == nil) && marks > 0 {
			why := "sum of the marks"
			if p.UnknownMarks > 0 {
				why = "sum of the marks; each of those without a number stands for at least one event"
			}
			b.Ledger.Claim(Claim{CPU: cpu, Quantity: Overwritten, Count: AtLeast(marks), Evidence: ev, Why: why, rule: c.rule()})
		}
		switch {
		case c.Uncountable != "":
			// Its lines are no records; its marks count events all the same.
		case c.Consuming || c.Section == nil:
			b.Ledger.Claim(Claim{CPU: cpu, Quantity: Written, Count: AtLeast(p.Records + marks), Evidence: ev, Why: "records and marks of the stream", rule: c.rule()})
		case p.TimeBack == 0:
			// A view that goes back in time may have shown records twice: its
			// iterator starts again when a consumer works beside it.
			b.Ledger.Claim(Claim{CPU: cpu, Quantity: Written, Count: AtLeast(p.Records), Evidence: ev, Why: "records shown", rule: ruleLinesEntries.ID})
			if !b.HasCounters() && c.Header != nil && !b.headerMoved(c) {
				b.Ledger.Claim(Claim{CPU: cpu, Quantity: Kept, Count: AtLeast(p.Records), Evidence: ev, Why: "records shown", rule: ruleLinesEntries.ID})
			}
		}
	}
}

// claimNoCPU enters what marks prove that name no CPU.
func (b *Buffer) claimNoCPU(c *Capture) {
	if c.NoCPULost == 0 || !c.Consuming {
		return
	}
	var per uint64
	for _, p := range c.PerCPU {
		per += p.KnownLost + p.UnknownMarks
	}
	b.Ledger.Claim(Claim{CPU: Total, Quantity: Overwritten, Count: AtLeast(per + c.NoCPULost), Evidence: []Evidence{{Source: c.Source.ID, File: c.File}}, Why: "sum of the marks", rule: c.rule()})
}

// claimStreams enters what several consuming captures prove together: what one
// took or was told was lost, no other was.
func (b *Buffer) claimStreams() {
	if b.before != nil {
		return
	}
	for _, cpu := range b.Ledger.CPUs() {
		var records, marks uint64
		var ev []Evidence
		n := 0
		rule := ""
		for _, c := range b.Captures {
			p := c.PerCPU[cpu]
			if !c.Consuming || p == nil || c.Uncountable != "" || b.rendered(c) || c.Kind == KindRinglog {
				continue
			}
			n++
			records, marks = records+p.Records, marks+p.KnownLost+p.UnknownMarks
			if len(p.Holes) > 0 {
				ev = append(ev, p.Holes[0].Evidence)
			} else {
				ev = append(ev, Evidence{Source: c.Source.ID, File: c.File})
			}
			rule = c.rule()
		}
		if n < 2 {
			continue
		}
		if marks > 0 {
			b.Ledger.Claim(Claim{CPU: cpu, Quantity: Overwritten, Count: AtLeast(marks), Evidence: ev, Why: "sum of the marks of all streams", rule: rule})
		}
		b.Ledger.Claim(Claim{CPU: cpu, Quantity: Written, Count: AtLeast(records + marks), Evidence: ev, Why: "records and marks of all streams", rule: rule})
	}
}

// rule reports contradictions between the capture and the counters.
func (c *Capture) rule() string {
	switch {
	case c.Kind == KindRinglog:
		return ruleEBPFWritten.ID
	case c.Section == nil:
		return ruleCPUStatPages.ID
	case !c.Consuming:
		return ruleLinesEntries.ID
	}
	return rulePipeStats.ID
}

// firstEvidence is the evidence of the first few holes: they stand for all.
func firstEvidence(holes []Hole) []Evidence {
	var ev []Evidence
	for _, h := range holes {
		if len(ev) == 4 {
			break
		}
		ev = append(ev, h.Evidence)
	}
	return ev
}

// claimHeader enters the two numbers of a text's header. They are the counters'
// own sums, but for the events that the kernel leaves out of them (FACTS 2).
func (b *Buffer) claimHeader(c *Capture) {
	if c.Header == nil || b.before != nil {
		return
	}
	h := c.Header
	if h.Written < h.Entries {
		return // damaged-input says so
	}
	ev := []Evidence{c.evidence(h.Line, h.Text)}
	claim := func(q Quantity, n Count, why string) {
		b.Ledger.Claim(Claim{CPU: Total, Quantity: q, Count: n, Evidence: ev, Why: why, rule: ruleHeaderMismatch.ID})
	}
	const keptWhy, overWhy = "header: entries-in-buffer", "header: entries-written − entries-in-buffer"
	kept, over := h.Entries, h.Written-h.Entries
	switch {
	case b.Stale:
		// entries-in-buffer comes from the counters that are wrong.
		claim(Overwritten, AtLeast(over), overWhy)
	case b.oneMoment(c) && b.Ledger.CPUsWhole && !b.headerSkips(c):
		claim(Kept, Exactly(kept), keptWhy)
		claim(Overwritten, Exactly(over), overWhy)
	case b.oneMoment(c), !b.HasCounters():
		claim(Kept, AtLeast(kept), keptWhy+"; a CPU with events older than the last reset is left out of it")
		claim(Overwritten, AtLeast(over), overWhy+"; a CPU with events older than the last reset is left out of it")
	default:
		// A view of another moment proves what had been overwritten by then, and
		// what is in the ring now is for the counters to say.
		claim(Overwritten, AtLeast(over), overWhy)
	}
}

// oneMoment tells whether a text and the counters are of one moment: both are of
// one folder, recording was off, and the text is that of the ring itself.
func (b *Buffer) oneMoment(c *Capture) bool {
	return b.HasCounters() && c.Source == b.Counters.Source && b.Quiet && !b.LastBoot &&
		c.Kind == KindTrace && (c.Section == nil || c.Section.Kind == tracefs.KindTrace) && !b.headerMoved(c)
}

// headerMoved tells whether the text is a reading of a buffer that moved under
// it: it shows more records than its header claims, or marks.
func (b *Buffer) headerMoved(c *Capture) bool {
	_, known, unknown := c.marks()
	return known+unknown > 0 || c.Records() > c.Header.Entries
}

// offlineWithRecords tells whether a CPU that is offline has records: the header
// of `trace` may leave them out (events older than time_start).
func (b *Buffer) offlineWithRecords() bool {
	if b.Instance == nil || !b.HasCounters() {
		return false
	}
	online := b.Instance.Online
	if !online.OK {
		return false
	}
	for cpu, st := range b.Counters.Stats {
		if !slices.Contains(online.V, cpu) && st.Entries.OK && st.Entries.V != 0 {
			return true
		}
	}
	return false
}

// claimAttempted enters the known workload.
func (a *Audit) claimAttempted(b *Buffer) {
	if !b.Attempted {
		return
	}
	for cpu, n := range a.Options.Attempted {
		b.Ledger.Claim(Claim{CPU: cpu, Quantity: Attempted, Count: Exactly(n), Why: "given with --attempted", rule: ruleAttemptedWritten.ID,
			Evidence: []Evidence{{Source: "option", Text: attemptedText(cpu, n)}}})
	}
}

func attemptedText(cpu int, n uint64) string {
	if cpu == Total {
		return fmt.Sprintf("--attempted %d", n)
	}
	return fmt.Sprintf("--attempted %d=%d", cpu, n)
}
