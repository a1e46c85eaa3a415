package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ringaudit/ringaudit/tracefs"
)

// resolveHoles gives each CPU its holes: those that the captures mark, with the
// overwritten events that no mark counted assigned to the holes without a
// number; or, where no capture is at hand, the one before the oldest record.
func (b *Buffer) resolveHoles() {
	for _, id := range b.Ledger.CPUs() {
		c := b.cpu(id)
		c.Holes, c.HolesOmitted = nil, 0
		if s := b.stream(id); s != nil {
			b.streamHoles(id, c, s)
			b.inferredHoles(id, c, s)
			continue
		}
		if v := b.view(id); v != nil {
			c.Holes = append(c.Holes, v.Holes...)
			c.HolesOmitted = v.HolesOmitted
		}
		b.counterHole(id, c)
	}
}

// stream is the consuming capture of a CPU, if there is exactly one with data or
// marks: two would need their records merged to place a hole.
func (b *Buffer) stream(cpu int) *CaptureCPU {
	var found *CaptureCPU
	for _, c := range b.Captures {
		if p := c.PerCPU[cpu]; c.Consuming && p != nil {
			if found != nil {
				return nil
			}
			found = p
		}
	}
	return found
}

// view is the only non-consuming capture of a CPU.
func (b *Buffer) view(cpu int) *CaptureCPU {
	var found *CaptureCPU
	for _, c := range b.Captures {
		if p := c.PerCPU[cpu]; !c.Consuming && p != nil {
			if found != nil {
				return nil
			}
			found = p
		}
	}
	return found
}

// streamHoles takes the holes of a stream, and assigns what is overwritten and
// not counted by any mark.
//
// The kernel attaches the difference of overrun between two reads to the page
// that comes next (rb_get_reader_page), and stores its number where the page has
// room. So what the marks did not count lies in the holes without a number; if
// there is none, after the last record. Where the stream was not drained, a part
// may also lie behind its end.
func (b *Buffer) streamHoles(cpu int, c *CPU, s *CaptureCPU) {
	c.Holes = append(c.Holes, s.Holes...)
	c.HolesOmitted = s.HolesOmitted
	c.CountedMarks, c.CountedLost, c.UnknownMarks = s.KnownMarks, s.KnownLost, s.UnknownMarks
	c.UnknownLost = AtLeast(s.UnknownMarks)
	if s.UnknownMarks == 0 {
		c.UnknownLost = Exactly(0)
	}
	over := b.Ledger.Count(cpu, Overwritten)
	if over.Open || b.before != nil || over.Hi < s.KnownLost {
		return
	}
	rest := Between(0, over.Hi-s.KnownLost)
	if over.Lo > s.KnownLost {
		rest.Lo = over.Lo - s.KnownLost
	}
	if rest.Hi == 0 {
		return
	}
	n := s.UnknownMarks
	if n == 0 {
		h := Hole{After: s.Last, Events: rest, Kind: HoleOverwritten, Evidence: b.overrunEvidence(cpu)}
		c.Holes = append(c.Holes, h)
		return
	}
	if rest.Hi < n {
		return // the marks claim more than overrun allows: a contradiction, reported as such
	}
	drained := b.drained(cpu, s)
	c.UnknownLost = Between(n, rest.Hi)
	if drained {
		c.UnknownLost = rest
	}
	for i := range c.Holes {
		h := &c.Holes[i]
		if h.Counted || h.Kind != HoleOverwritten {
			continue
		}
		h.Events = Between(1, rest.Hi-(n-1))
		if n == 1 && drained {
			h.Events = rest
		}
	}
	if !drained {
		c.Holes = append(c.Holes, Hole{After: s.Last, Events: Between(0, rest.Hi-n), Kind: HoleOverwritten, Evidence: b.overrunEvidence(cpu)})
	}
}

// inferGap is how far above the stream's usual gap between two sub-buffers a gap
// must be to be taken for refused records. In real captures with overwrite off
// the gaps of refusals were 1.6 to 390 ms, and those of the like-looking places
// where an interrupt crossed a sub-buffer's end 0.7 and 2 µs, no more than usual.
const inferGap = 16

// inferredHoles places refused records: with overwrite off the kernel sets no
// mark, but a sub-buffer that was filled to its last byte and closed by a filler,
// followed by a long gap, is where the writer found the ring full. It is believed
// only where the CPU's counter proves that records were refused at all, and the
// numbers of single places are not known.
func (b *Buffer) inferredHoles(cpu int, c *CPU, s *CaptureCPU) {
	dropped := b.Ledger.Count(cpu, Dropped)
	if dropped.Lo == 0 || b.before != nil {
		return
	}
	for _, f := range s.fills {
		if !f.HasBefore || f.Gap == 0 || f.Gap/inferGap < max(s.gapMedian, 1) {
			continue
		}
		c.Holes = append(c.Holes, Hole{
			After: &tracefs.Stamp{Value: f.After, Unit: s.unit}, Before: &tracefs.Stamp{Value: f.Before, Unit: s.unit},
			Events: Count{Hi: dropped.Hi, Open: dropped.Open}, Kind: HoleDropped, Inferred: true,
			Evidence: Evidence{Source: b.sourceOf(cpu).ID, File: s.file, Offset: f.Offset, Binary: true,
				Text: fmt.Sprintf("sub-buffer %d is full and closed by a filler; the next begins %v later", f.Page, tracefs.Stamp{Value: f.Gap, Unit: s.unit})},
		})
	}
	slices.SortStableFunc(c.Holes, func(x, y Hole) int { return cmp.Compare(holeOrder(x), holeOrder(y)) })
}

// holeOrder sorts holes by where they end.
func holeOrder(h Hole) uint64 {
	if h.Before == nil {
		return ^uint64(0)
	}
	return h.Before.Value
}

// sourceOf is the source of the stream of a CPU.
func (b *Buffer) sourceOf(cpu int) *Source {
	for _, c := range b.Captures {
		if c.Consuming && c.PerCPU[cpu] != nil {
			return c.Source
		}
	}
	return b.Sources[0]
}

// drained tells whether the stream took everything that the ring had to give.
func (b *Buffer) drained(cpu int, s *CaptureCPU) bool {
	kept, read := b.Ledger.Count(cpu, Kept), b.Ledger.Count(cpu, Read)
	have := kept.Plus(read)
	return have.Exact() && have.Lo == s.Records
}

// counterHole is the hole that overrun tells of: overwritten records are older
// than every record that was left, since the ring throws its oldest sub-buffer
// away.
func (b *Buffer) counterHole(cpu int, c *CPU) {
	over := b.Ledger.Count(cpu, Overwritten)
	if over.Lo == 0 || !b.HasCounters() {
		return
	}
	var before *tracefs.Stamp
	if st := b.Counters.Stats[cpu]; st != nil && st.Entries.OK && st.Entries.V > 0 && st.Oldest.OK && oldestValid(st) && !b.Stale {
		before = &st.Oldest.V
	}
	c.Holes = append([]Hole{{Before: before, Events: over, Kind: HoleOverwritten, Counted: true, Evidence: b.overrunEvidence(cpu)}}, c.Holes...)
}

func (b *Buffer) overrunEvidence(cpu int) Evidence {
	if b.Counters == nil || b.Counters.Stats[cpu] == nil {
		return Evidence{}
	}
	f := b.Counters.Stats[cpu].Overrun
	return b.Counters.place(cpu, f.Line, f.Text)
}

// oldestValid tells whether "oldest event ts" can be believed: it is stale on an
// empty CPU, and later than "now ts" after a change of clock or a reboot.
func oldestValid(st *tracefs.Stats) bool {
	if !st.Oldest.OK || !st.Now.OK {
		return st.Oldest.OK
	}
	return st.Oldest.V.Unit == st.Now.V.Unit && st.Oldest.V.Value <= st.Now.V.Value
}

// windows sets the stretch of time that each CPU's records cover.
func (b *Buffer) windows() {
	for _, id := range b.Ledger.CPUs() {
		c := b.cpu(id)
		c.Window = b.counterWindow(id)
		var newest, oldest *tracefs.Stamp
		var at []Evidence
		for _, cap := range b.Views() {
			p := cap.PerCPU[id]
			if p == nil || p.First == nil || p.Last == nil {
				continue
			}
			if oldest == nil || p.First.Unit == oldest.Unit && p.First.Value < oldest.Value {
				oldest, at = p.First, []Evidence{p.FirstAt}
			}
			if newest == nil || p.Last.Unit == newest.Unit && p.Last.Value > newest.Value {
				newest = p.Last
			}
		}
		switch {
		case c.Window != nil:
			if newest != nil && newest.Unit == c.Window.Oldest.Unit && !b.IsCapture() {
				c.Window.Newest = newest
			}
			if b.IsCapture() && oldest != nil && newest.Value >= oldest.Value {
				// What is at hand is what the captures hold.
				c.Window = &Window{Oldest: *oldest, Newest: newest, evidence: at}
			}
		case (b.IsCapture() || b.lacksTimes(id)) && oldest != nil && newest.Value >= oldest.Value:
			c.Window = &Window{Oldest: *oldest, Newest: newest, evidence: at}
		}
	}
}

// lacksTimes tells whether the times of a CPU are not in its counters because the
// file, or a part of it, is not there: then the folder's own text tells them.
func (b *Buffer) lacksTimes(cpu int) bool {
	if b.Stale || b.LastBoot {
		return false
	}
	if !b.HasCounters() {
		return true
	}
	st := b.Counters.Stats[cpu]
	return st == nil || !st.Oldest.OK || !st.Now.OK
}

// counterWindow is oldest to now, of a CPU that has records.
func (b *Buffer) counterWindow(cpu int) *Window {
	if !b.HasCounters() || b.Stale {
		return nil
	}
	st := b.Counters.Stats[cpu]
	if st == nil || !st.Oldest.OK || !st.Now.OK || !st.Entries.OK || st.Entries.V <= 0 || !oldestValid(st) {
		return nil
	}
	now := st.Now.V
	return &Window{Oldest: st.Oldest.V, Now: &now, evidence: []Evidence{b.Counters.place(cpu, st.Oldest.Line, st.Oldest.Text)}}
}

// CommonWindow is the stretch that all CPUs with records have in common; nil if
// there is none.
func (b *Buffer) CommonWindow() *Window {
	var w *Window
	var end tracefs.Stamp
	for _, id := range b.CPUIDs() {
		c := b.CPUs[id]
		if c.Window == nil {
			continue
		}
		if w == nil {
			cp := *c.Window
			w, end = &cp, cp.End()
			continue
		}
		if c.Window.Oldest.Unit != w.Oldest.Unit {
			return nil
		}
		if c.Window.Oldest.Value > w.Oldest.Value {
			w.Oldest, w.evidence = c.Window.Oldest, c.Window.evidence
		}
		w.Now = earlier(w.Now, c.Window.Now)
		w.Newest = earlier(w.Newest, c.Window.Newest)
		end = *earlier(&end, ptrTo(c.Window.End()))
	}
	if w == nil || end.Value < w.Oldest.Value {
		return nil
	}
	if w.Now == nil {
		// Of some CPUs just the records tell, of others the counters: the earliest
		// end is the common one.
		w.Newest = &end
	} else if w.Newest != nil && w.Newest.Value < w.Oldest.Value {
		w.Newest = nil // no record of every CPU lies in it
	}
	return w
}

func ptrTo[T any](v T) *T { return &v }

func earlier(a, b *tracefs.Stamp) *tracefs.Stamp {
	if a == nil || b == nil {
		return nil
	}
	if b.Value < a.Value {
		return b
	}
	return a
}

// states tells CPUs without records apart.
func (b *Buffer) states() {
	for _, id := range b.Ledger.CPUs() {
		b.cpu(id).State = b.state(id)
	}
}

func (b *Buffer) state(cpu int) CPUState {
	l := b.Ledger
	kept, read, written := l.Count(cpu, Kept), l.Count(cpu, Read), l.Count(cpu, Written)
	refused := l.Count(cpu, Dropped).Plus(l.Count(cpu, CommitOverrun))
	shown := false
	for _, c := range b.Captures {
		p := c.PerCPU[cpu]
		shown = shown || p != nil && p.Records > 0
	}
	switch {
	case shown, !b.IsCapture() && kept.Lo > 0:
		return StateRecorded
	case b.IsCapture() && !b.captured(cpu) && !written.None(), b.captured(cpu) && kept.Plus(read).Lo > 0:
		return StateNotCaptured
	case b.offline(cpu) && written.None():
		return StateOffline
	case kept.None() && read.Lo > 0:
		return StateDrained
	case written.None() && refused.None() && read.None():
		return StateIdle
	case kept.None() && read.None() && written.Plus(refused).Lo > 0:
		return StateAllLost
	}
	return StateUnknown
}

// offline tells whether the CPU was not online when the folder was saved.
func (b *Buffer) offline(cpu int) bool {
	return b.Instance != nil && b.Instance.Online.OK && !slices.Contains(b.Instance.Online.V, cpu)
}
