package ringlog

import (
	"sort"

	"github.com/ringaudit/ringaudit/tracefs"
)

// stream follows the numbers of one CPU's records and finds those that are
// missing.
//
// Numbers come in order but for one case: a program that is interrupted between
// taking its number and reserving its record stands behind the interrupting one
// in the ring. Such a record closes (a part of) a hole that was just opened. It
// is looked for among the last holes; contexts nest four deep, so that lateWindow
// is far more than can happen.
type stream struct {
	CPU
	next  uint64 // the number expected
	last  tracefs.Field[uint64]
	holes []Hole // all kept, the last lateWindow of them open for late records
	max   int
}

const lateWindow = 64

func (s *stream) add(seq, time uint64, line int) {
	s.Records++
	switch {
	case seq == s.next:
		s.next++
	case seq > s.next:
		s.open(Hole{Seq: s.next, Events: seq - s.next, After: s.last, Before: tracefs.Field[uint64]{V: time, OK: true, Line: line}, Line: line})
		s.next = seq + 1
	default:
		s.late(seq)
		return // its time lies before that of the last record
	}
	s.last = tracefs.Field[uint64]{V: time, OK: true, Line: line}
}

func (s *stream) open(h Hole) {
	s.Missing += h.Events
	s.holes = append(s.holes, h)
	// Beyond max, keep the window only; what falls out of it is counted.
	if over := len(s.holes) - s.max - lateWindow; over >= lateWindow {
		s.HolesOmitted += uint64(over)
		s.holes = append(s.holes[:s.max], s.holes[s.max+over:]...)
	}
}

// late takes one number out of the hole that it belongs to.
func (s *stream) late(seq uint64) {
	from := max(0, len(s.holes)-lateWindow)
	recent := s.holes[from:]
	i := from + sort.Search(len(recent), func(i int) bool { return recent[i].Seq > seq }) - 1
	if i < from || seq >= s.holes[i].Seq+s.holes[i].Events {
		s.Duplicates++
		return
	}
	s.Missing--
	h := s.holes[i]
	before, after := h, h
	before.Events = seq - h.Seq
	after.Seq, after.Events = seq+1, h.Events-before.Events-1
	var parts []Hole
	for _, p := range []Hole{before, after} {
		if p.Events > 0 {
			parts = append(parts, p)
		}
	}
	s.holes = append(s.holes[:i], append(parts, s.holes[i+1:]...)...)
}

// finish closes the stream. asked is the number of records asked for, if known.
func (s *stream) finish(asked Number) CPU {
	if asked.OK {
		s.TailKnown = true
		if asked.V > s.next {
			s.open(Hole{Seq: s.next, Events: asked.V - s.next, After: s.last, Line: asked.Line})
		}
	}
	s.Asked = asked
	s.Holes = s.holes
	if len(s.Holes) > s.max {
		s.HolesOmitted += uint64(len(s.Holes) - s.max)
		s.Holes = s.Holes[:s.max]
	}
	return s.CPU
}
