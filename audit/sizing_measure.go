package audit

import (
	"fmt"
	"math/big"

	"github.com/ringaudit/ringaudit/tracefs"
)

const idle = "no event was recorded on this CPU"

// density bounds how many events a sub-buffer holds: from the records of raw
// sub-buffers, if they are at hand, else from how many events the ring kept in
// how many sub-buffers.
func (s *sizer) density() {
	n, kept := s.subbufs(), s.count(Kept)
	s.out.Subbufs = n
	b := s.b
	switch {
	case b.LastBoot, b.Stale, b.Reset:
		s.missing = "the counters do not speak of what is in the buffer (another boot, a changed sub-buffer size, or a reset)"
	case s.count(Written).None() && s.count(Dropped).None():
		s.missing = idle
	case !s.g.valid():
		s.missing = "the geometry of the sub-buffers is not known (events/header_page is not there; give --page-size and --header)"
	case n.Open || n.Lo < minSubbufs:
		s.missing = "the size of the buffer is not known (buffer_size_kb is not there or does not say; give --request)"
	case s.densityOfPages():
	case kept.Open:
		s.missing = "the number of events in the buffer is not known (there is no stats file)"
	case kept.Lo == 0:
		s.missing = "no event is left in the buffer and no raw sub-buffers are at hand, so that the size of an event is not known"
	default:
		s.densityOfRing(n, kept)
	}
	if s.missing != "" {
		return
	}
	s.out.PerSubbuf = Between(floor(s.perLo), ceil(s.perHi))
	usable := new(big.Rat).SetInt(new(big.Int).SetUint64(s.g.UsableBytes))
	s.out.EventBytes = Between(floor(new(big.Rat).Quo(usable, s.perHi)), ceil(new(big.Rat).Quo(usable, s.perLo)))
}

func ratio(a, b uint64) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
}

// densityOfPages takes the sizes of the records that a capture of raw
// sub-buffers holds. A sub-buffer holds as many as fit; what stays empty at its
// end is less than the largest kind of event takes.
func (s *sizer) densityOfPages() bool {
	var records, size, largest uint64
	for _, c := range s.b.Captures {
		p := c.PerCPU[s.cpu]
		if p == nil || !c.Consuming || p.Bytes == 0 || p.Records == 0 {
			continue
		}
		records, size = records+p.Records, size+p.Bytes
		largest = max(largest, (p.Bytes+p.Records-1)/p.Records)
		for _, e := range p.Events {
			if e.Count > 0 {
				largest = max(largest, (e.Bytes+e.Count-1)/e.Count)
			}
		}
	}
	if records == 0 || size < 8*records || largest >= s.g.UsableBytes {
		return false
	}
	average := ratio(size, records)
	whole := func(n uint64) *big.Rat {
		return new(big.Rat).Quo(new(big.Rat).SetInt(new(big.Int).SetUint64(n)), average)
	}
	s.perHi, s.perLo = whole(s.g.UsableBytes), whole(s.g.UsableBytes-largest)
	s.events = fmt.Sprintf("events are taken to be as large, on average, as the %d that the capture holds", records)
	return true
}

// densityOfRing takes what the ring kept. A ring that has wrapped holds all but
// its oldest sub-buffer whole, and some of the one being written; one that
// refused events is full to the last. What was read may stand in the reader page
// as well.
func (s *sizer) densityOfRing(n, kept Count) {
	over, dropped, read := s.count(Overwritten), s.count(Dropped), s.count(Read)
	extra := uint64(0) // the reader page
	if read.Open || read.Hi > 0 {
		extra = 1
	}
	s.perLo = ratio(kept.Lo, n.Hi+extra)
	// A record has 8 bytes at least (RB_EVNT_MIN_SIZE).
	s.perHi = ratio(s.g.UsableBytes, 8)
	in := uint64(1)
	switch {
	case over.Lo > 0:
		in = n.Lo - 1
	case dropped.Lo > 0:
		in = n.Lo
	}
	if hi := ratio(kept.Hi, in); hi.Cmp(s.perHi) < 0 {
		s.perHi = hi
	}
	s.events = "events are taken to be as large, on average, as those that are left"
}

// rate bounds the events per second: from the records of a capture that took
// what came, or from the window that the kept events span.
func (s *sizer) rate() {
	if s.rateOfStream() {
		return
	}
	w := s.b.counterWindow(s.cpu)
	if w == nil {
		s.rateWhy = []string{"the counters give no window of time (oldest event ts and now ts)"}
		return
	}
	if w.Oldest.Unit != tracefs.Nanoseconds {
		s.rateWhy = []string{"the trace clock does not count seconds, so that there is no rate"}
		return
	}
	end, known := w.End(), false
	if c := s.b.CPUs[s.cpu]; c.Window != nil && c.Window.Newest != nil && c.Window.Newest.Unit == w.Oldest.Unit && !s.b.IsCapture() {
		if n := *c.Window.Newest; n.Value >= w.Oldest.Value && n.Value <= end.Value {
			end, known = n, true
		}
	}
	tracing := s.b.Instance != nil && s.b.Instance.Tracing.OK && s.b.Instance.Tracing.V
	span := end.Value - w.Oldest.Value
	if span == 0 {
		s.rateWhy = []string{"oldest and newest event have the same time, so that there is no rate"}
		return
	}
	s.out.WindowNS = tracefs.Field[uint64]{V: span, OK: true}
	kept := s.count(Kept)
	s.rateLo = perSecond(kept.Lo, span)
	switch {
	case known:
		s.rateHi = perSecond(kept.Hi, span)
		s.rateWhy = []string{fmt.Sprintf("the rate is that of the %s s from the oldest event in the buffer to the newest in trace, and is taken to go on", seconds(span))}
	case tracing:
		s.rateHi = perSecond(kept.Hi, span)
		s.rateWhy = []string{fmt.Sprintf("the rate is that of the %s s before the counters were read, while recording was on, and is taken to go on", seconds(span))}
	default:
		s.rateWhy = []string{fmt.Sprintf("recording was not on when the counters were read, or it is not known, and no trace tells the newest event: the window is at most %s s, the rate at least this", seconds(span))}
	}
	s.ratesOut()
}

// rateOfStream bounds the rate by the records of a consuming capture: between
// its first and its last record came at least its records, and at most they and
// all that was overwritten.
func (s *sizer) rateOfStream() bool {
	c := s.b.stream(s.cpu)
	if c == nil || c.First == nil || c.Last == nil || c.First.Unit != tracefs.Nanoseconds || c.Last.Unit != c.First.Unit || c.Last.Value <= c.First.Value {
		return false
	}
	span := c.Last.Value - c.First.Value
	s.rateLo = perSecond(c.Records, span)
	if over := s.count(Overwritten); !over.Open {
		s.rateHi = perSecond(Exactly(c.Records).Plus(over).Hi, span)
	}
	s.rateWhy = []string{fmt.Sprintf("the rate is that of the %s s from the first record of the capture to the last, with what was lost between them, and is taken to go on", seconds(span))}
	s.ratesOut()
	return true
}

func (s *sizer) ratesOut() {
	s.out.PerSecond = AtLeast(floor(s.rateLo))
	if s.rateHi != nil {
		s.out.PerSecond = Between(floor(s.rateLo), ceil(s.rateHi))
	}
}

// perSecond is n events in ns nanoseconds.
func perSecond(n, ns uint64) *big.Rat {
	r := ratio(n, ns)
	return r.Mul(r, new(big.Rat).SetInt64(1e9))
}

// stall is the gap with the most events lost, where a consuming capture marks
// gaps: a reader did not come for so long that the ring went round. Before the
// first record it had not come at all.
func (s *sizer) stall() {
	c := s.b.CPUs[s.cpu]
	if s.b.stream(s.cpu) == nil {
		return
	}
	for _, h := range c.Holes {
		if h.Kind != HoleOverwritten {
			continue
		}
		st := &Stall{Events: h.Events}
		if a, z := h.After, h.Before; a != nil && z != nil && a.Unit == tracefs.Nanoseconds && z.Unit == a.Unit && z.Value >= a.Value {
			st.Lasted = tracefs.Field[uint64]{V: z.Value - a.Value, OK: true}
		}
		// Marks without a number all say one at least: of these the longest.
		if w := s.out.Stall; w == nil || st.Events.Lo > w.Events.Lo || st.Events.Lo == w.Events.Lo && st.Lasted.V > w.Lasted.V {
			s.out.Stall = st
		}
	}
}
