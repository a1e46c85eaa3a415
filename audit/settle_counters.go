package audit

import (
	"github.com/ringaudit/ringaudit/tracefs"
)

// claimCounters enters the kernel's counters.
func (b *Buffer) claimCounters() {
	if !b.HasCounters() {
		return
	}
	for _, cpu := range b.Counters.CPUs() {
		if b.before != nil {
			b.Ledger.Carried[cpu] = b.carriedOver(cpu)
		}
		for _, k := range counterOf {
			if c, ok := b.counterClaim(cpu, k.q, k.grows, k.field); ok {
				b.Ledger.Claim(c)
			}
		}
		if w, ok := b.writtenClaim(cpu); ok {
			b.Ledger.Claim(w)
		}
	}
}

// counterClaim is what one line of a CPU's stats proves. The line itself says a
// number; what is known to make that number lie (FACTS 1.4) makes it a bound.
func (b *Buffer) counterClaim(cpu int, q Quantity, grows bool, field func(*tracefs.Stats) tracefs.Field[int64]) (Claim, bool) {
	st := b.Counters.Stats[cpu]
	f := field(st)
	if !f.OK {
		return Claim{}, false
	}
	n, ok := tracefs.Unwrap(f.V, b.longBytes())
	if !ok {
		return Claim{}, false // impossible-counter says so
	}
	claim := Claim{CPU: cpu, Quantity: q, Count: Exactly(n), Evidence: []Evidence{b.Counters.place(cpu, f.Line, f.Text)}}
	if second := b.Counters.second[cpu]; second != nil {
		g := field(second)
		if m, ok := tracefs.Unwrap(g.V, b.longBytes()); ok && g.OK && m != n {
			claim.Count, claim.Why = Between(min(n, m), max(n, m)), "the buffer moved between two reads of the file"
			claim.Evidence = append(claim.Evidence, b.Counters.place(cpu, g.Line, g.Text))
			b.Torn = true
		}
	}
	if b.before != nil && grows {
		c, why, ev := b.growth(cpu, field, claim.Count)
		claim.Count, claim.Evidence = c, append(claim.Evidence, ev...)
		if why != "" {
			claim.Why = why
		}
	}
	b.doubt(cpu, &claim, grows)
	return claim, true
}

// doubt widens what a counter proves by what is known to make it lie.
func (b *Buffer) doubt(cpu int, claim *Claim, grows bool) {
	c, entries := &claim.Count, b.entries(cpu)
	shown, gone := b.thrownAway[cpu]
	fits, over := b.overfull(cpu)
	switch q := claim.Quantity; {
	case b.LastBoot:
		*c, claim.Why = AtLeast(c.Lo), b.rebuiltWords()+"; they are lower bounds"
	case b.movedOn() && grows:
		// The counters are of an earlier moment than another source.
		*c, claim.Why = AtLeast(c.Lo), "recording went on after the counters were read"
	case b.movedOn():
		*c, claim.Why = Unknown(), "recording went on after the counters were read"
	case gone && q == Kept:
		claim.Why = "the text shows fewer events than entries says: the others were thrown away by a change of the sub-buffer size, which counts them nowhere"
		*c = b.keptOf(cpu, shown)
	case gone && q == Overwritten && !c.Open:
		claim.Why = "overrun, and the entries that a change of the sub-buffer size threw away without counting them"
		// What was gone at the earlier sample did not go since.
		kept, was := b.keptOf(cpu, shown), b.goneBefore(cpu)
		went := Between(entries-min(entries, kept.Hi), entries-min(entries, kept.Lo))
		*c = Between(c.Lo+went.Lo-min(went.Lo, was.Hi), c.Hi+went.Hi-min(went.Hi, was.Lo))
	case over && q == Kept:
		*c, claim.Why = Between(0, fits), "entries says more than the ring can hold: events that were read are among them"
	case over && q == Read:
		*c, claim.Why = AtLeast(c.Lo), "a shrink put events that were read back into entries"
	case b.steps[cpu].doubt && q == Kept && c.Exact():
		*c, claim.Why = Between(0, c.Hi), "read events fell, and may have gone back into entries"
	}
}

// keptOf is how many records a CPU holds of which some were thrown away: those
// that a text shows, at least, or one where none does.
func (b *Buffer) keptOf(cpu int, shown uint64) Count {
	if shown == 0 {
		return Exactly(0)
	}
	most := b.entries(cpu) - min(b.entries(cpu), b.goneBefore(cpu).Lo)
	if fits, over := b.overfull(cpu); over {
		most = min(most, fits)
	}
	return Between(shown, max(shown, most))
}

// writtenClaim is the sum of entries, overrun and read events where the three by
// themselves are no longer exact, and their sum is: what one of them lacks another
// has.
func (b *Buffer) writtenClaim(cpu int) (Claim, bool) {
	_, gone := b.thrownAway[cpu]
	_, over := b.overfull(cpu)
	if !gone && !over || b.before != nil || b.LastBoot || b.movedOn() || b.Torn {
		return Claim{}, false
	}
	st := b.Counters.Stats[cpu]
	claim := Claim{CPU: cpu, Quantity: Written, Why: "entries + overrun + read events"}
	var sum uint64
	for _, f := range []tracefs.Field[int64]{st.Entries, st.Overrun, st.Read} {
		n, ok := tracefs.Unwrap(f.V, b.longBytes())
		if !ok || !f.OK {
			return Claim{}, false
		}
		sum += n
		claim.Evidence = append(claim.Evidence, b.Counters.place(cpu, f.Line, f.Text))
	}
	claim.Count = Exactly(sum)
	return claim, true
}

// entries is what the CPU's counter of that name says; 0 where it says nothing.
func (b *Buffer) entries(cpu int) uint64 {
	if !b.HasCounters() || b.Counters.Stats[cpu] == nil {
		return 0
	}
	f := b.Counters.Stats[cpu].Entries
	n, ok := tracefs.Unwrap(f.V, b.longBytes())
	if !f.OK || !ok {
		return 0
	}
	return n
}

// minRecord is the least size of a record in the ring: its 4-byte header and one
// word (rb_calculate_event_length, kernel/trace/ring_buffer.c).
const minRecord = 8

// overfull tells whether entries says more than the CPU's ring can hold, and how
// many that is at most. It happens after a shrink on kernels before 5.10:
// rb_update_pages there zeroes read and leaves the count that it is taken from.
func (b *Buffer) overfull(cpu int) (fits uint64, over bool) {
	capacity, ok := b.capacity(cpu)
	if !ok {
		return 0, false
	}
	fits = capacity / minRecord
	return fits, b.entries(cpu) > fits
}

// movedOn tells whether another source is of a later moment than the counters,
// which were read while recording was on.
func (b *Buffer) movedOn() bool { return b.moved }

// findMoved sets what movedOn tells.
func (b *Buffer) findMoved() {
	if b.Quiet || b.Counters == nil || b.Counters.Source.Kind == KindTraceDat {
		return
	}
	for _, c := range b.Captures {
		if c.Source != b.Counters.Source {
			b.moved = true
		}
	}
	if b.headerIsLater() {
		b.moved, b.Torn = true, true
	}
}

// headerIsLater tells whether the folder's own text, read after its counters,
// shows that more was overwritten meanwhile.
func (b *Buffer) headerIsLater() bool {
	if b.before != nil {
		return false // the header counts from the last reset, not from the sample
	}
	var over uint64
	for _, cpu := range b.Counters.CPUs() {
		n, ok := b.overrunAtMost(cpu)
		if !ok {
			return false
		}
		over += n
	}
	for _, v := range b.ownViews {
		if v.Header != nil && v.Source == b.Counters.Source && v.Header.Written >= v.Header.Entries && v.Header.Written-v.Header.Entries > over {
			return true
		}
	}
	return false
}

// overrunAtMost is the overrun of the later of the readings of a CPU's counters.
func (b *Buffer) overrunAtMost(cpu int) (most uint64, ok bool) {
	for _, st := range []*tracefs.Stats{b.Counters.Stats[cpu], b.Counters.second[cpu]} {
		if st == nil {
			continue
		}
		n, fits := tracefs.Unwrap(st.Overrun.V, b.longBytes())
		if !st.Overrun.OK || !fits {
			return 0, false
		}
		most, ok = max(most, n), true
	}
	return most, ok
}
