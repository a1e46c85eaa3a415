package audit

import "github.com/ringaudit/ringaudit/tracefs"

// claimDelivered enters how many records are at hand, and what the captures
// themselves admit to lack.
//
// Consuming captures add up, because a record is taken once. Views (trace,
// snapshot) overlap with each other and with what was consumed later, so
// together they hold at least as many records as the largest of them and at most
// the sum.
func (b *Buffer) claimDelivered() {
	if !b.IsCapture() {
		return
	}
	for _, c := range b.Captures {
		if c.Uncountable != "" {
			b.Ledger.Claim(Claim{CPU: Total, Quantity: Delivered, Count: Unknown(), Why: c.Uncountable})
			return
		}
	}
	whole := true
	for _, c := range b.Captures {
		whole = whole && c.CPU == Total
	}
	b.Ledger.Taken = b.before == nil && (b.allConsuming() || !b.HasCounters() && len(b.Captures) == 1)
	var counted []Claim
	for _, cpu := range b.Ledger.CPUs() {
		if whole || b.captured(cpu) {
			counted = append(counted, b.deliveredClaim(cpu))
		}
	}
	b.Ledger.Facts(counted...)
	switch {
	case whole && len(b.Ledger.facts) == 0:
		b.Ledger.Facts(b.deliveredClaim(Total))
	case whole:
		b.Ledger.sumFacts()
	}
	if len(b.Captures) == 1 && !b.unsettled() {
		b.claimAdmitted(b.Captures[0])
	}
}

func (b *Buffer) deliveredClaim(cpu int) Claim {
	n, ev := b.delivered(cpu)
	claim := Claim{CPU: cpu, Quantity: Delivered, Count: n, Evidence: ev, Why: "records counted in the capture", rule: b.Captures[0].rule()}
	if b.before != nil {
		// Some of the records may be older than the earlier sample.
		claim.Count = Count{Hi: n.Hi, Open: n.Open}
	}
	return claim
}

func (b *Buffer) allConsuming() bool {
	for _, c := range b.Captures {
		if !c.Consuming {
			return false
		}
	}
	return true
}

// captured tells whether a capture speaks of the CPU.
func (b *Buffer) captured(cpu int) bool {
	for _, c := range b.Captures {
		if c.CPU == Total || c.CPU == cpu {
			return true
		}
	}
	return false
}

// delivered is how many records of a CPU (or of all) the captures hold.
func (b *Buffer) delivered(cpu int) (Count, []Evidence) {
	consumed, viewSum, viewMost := Exactly(0), Exactly(0), Exactly(0)
	views := 0
	var ev []Evidence
	for _, c := range b.Captures {
		ev = append(ev, Evidence{Source: c.Source.ID, File: c.File})
		n := b.held(c, cpu)
		if c.Consuming {
			if !b.rendered(c) {
				consumed = consumed.Plus(n)
			}
			continue
		}
		if cpu != Total && b.containedInStream(c, cpu) {
			continue
		}
		if cpu == Total && b.allContained(c) {
			continue
		}
		views++
		viewSum = viewSum.Plus(n)
		viewMost.Lo, viewMost.Hi = max(viewMost.Lo, n.Lo), max(viewMost.Hi, n.Hi)
	}
	switch {
	case views == 0:
		return consumed, ev
	case views == 1 && consumed.None():
		return viewMost, ev
	}
	return Between(max(consumed.Lo, viewMost.Lo), consumed.Plus(viewSum).Hi), ev
}

// held is how many records of a CPU (or of all) the capture holds. A view whose
// iterator started again, because a consumer worked beside it, shows records
// twice. It goes back in time then, and within one ascending run there are none;
// it is only believed to have done so if it shows more than was written.
func (b *Buffer) held(c *Capture, cpu int) Count {
	if cpu == Total {
		sum := Exactly(c.NoCPU)
		for id := range c.PerCPU {
			sum = sum.Plus(b.read(c, id))
		}
		return sum.Plus(Between(0, c.Unread))
	}
	// A line that could not be read may be a record of any CPU.
	return b.read(c, cpu).Plus(Between(0, c.Unread))
}

// read is how many records of a CPU the capture holds by the lines that could be
// read.
func (b *Buffer) read(c *Capture, cpu int) Count {
	p := c.PerCPU[cpu]
	if p == nil {
		return Exactly(0)
	}
	written := b.Ledger.Count(cpu, Written)
	if c.Consuming || c.Section == nil || p.TimeBack == 0 || written.Open || p.Records <= written.Hi {
		return Exactly(p.Records)
	}
	runs := p.TimeBack + 1
	return Between((p.Records+runs-1)/runs, p.Records)
}

// rendered tells whether the capture is a text made of a trace.dat that is among
// the captures as well.
func (b *Buffer) rendered(c *Capture) bool {
	if c.Section == nil || c.Section.Kind != tracefs.KindReport {
		return false
	}
	for _, other := range b.Captures {
		if other.Kind == KindTraceDat {
			return true
		}
	}
	return false
}

func (b *Buffer) allContained(view *Capture) bool {
	for _, cpu := range view.CPUIDs() {
		if view.PerCPU[cpu].Records > 0 && !b.containedInStream(view, cpu) {
			return false
		}
	}
	return len(view.PerCPU) > 0 && view.NoCPU == 0
}

// containedInStream tells whether all records that a view shows of a CPU are
// surely among those of a consuming capture: that one has records without a gap
// from the view's first to its last.
func (b *Buffer) containedInStream(view *Capture, cpu int) bool {
	v := view.PerCPU[cpu]
	if view.Unread > 0 {
		return false // a line that could not be read may stand for a record of any time
	}
	if v == nil || v.Records == 0 {
		return v != nil
	}
	if v.First == nil || v.Last == nil {
		return false
	}
	for _, c := range b.Captures {
		s := c.PerCPU[cpu]
		if !c.Consuming || s == nil || s.First == nil || s.Last == nil || s.Damaged > 0 || s.HolesOmitted > 0 {
			continue
		}
		if s.First.Unit != v.First.Unit || s.First.Value > v.First.Value || s.Last.Value < v.Last.Value {
			continue
		}
		if !holeWithin(s.Holes, v.First, v.Last) {
			return true
		}
	}
	return false
}

// holeWithin tells whether a hole may lie between two records.
func holeWithin(holes []Hole, first, last *tracefs.Stamp) bool {
	for _, h := range holes {
		beforeFirst := h.Before != nil && h.Before.Value <= first.Value
		afterLast := h.After != nil && h.After.Value >= last.Value
		if !beforeFirst && !afterLast {
			return true
		}
	}
	return false
}

// claimAdmitted enters what the one capture of a buffer says that it lacks: what
// had been overwritten when it was opened, and its marks. With several captures
// one may hold what another lacks.
func (b *Buffer) claimAdmitted(c *Capture) {
	if b.before != nil {
		return
	}
	var marks uint64
	var ev []Evidence
	for _, cpu := range c.CPUIDs() {
		p := c.PerCPU[cpu]
		n := p.KnownLost + p.UnknownMarks
		marks += n
		if n > 0 {
			b.Ledger.Claim(Claim{CPU: cpu, Quantity: Missing, Count: AtLeast(n), Evidence: firstEvidence(p.Holes), Why: "marks of the capture"})
			ev = append(ev, firstEvidence(p.Holes)...)
		}
	}
	if h := c.Header; h != nil && h.Written >= h.Entries && c.CPU == Total {
		marks += h.Written - h.Entries
		ev = append([]Evidence{c.evidence(h.Line, h.Text)}, ev...)
	}
	if marks > 0 && c.CPU == Total {
		b.Ledger.Claim(Claim{CPU: Total, Quantity: Missing, Count: AtLeast(marks), Evidence: ev, Why: "what its header and its marks say"})
	}
}
