package audit

import (
	"fmt"
	"slices"

	"github.com/ringaudit/ringaudit/tracefs"
)

// This file compares the counters of two moments of one CPU.

// step is what two samples of a CPU's counters tell of the time between them.
type step struct {
	// reset: the counters began anew. A total that fell, a counter that only
	// grows and fell, a clock that went back (another boot) proves it.
	reset bool
	// doubt: something says that they do not go on, and does not prove a reset of
	// this CPU.
	doubt bool
	// goesOn: proven not to have been reset: a record that was there is still in
	// the ring.
	goesOn bool
	// wrapped: a 32-bit counter is smaller than before, which a wrap at 2^32
	// explains.
	wrapped bool
	// swapped: another ring is in its place, as a snapshot brings it
	// (kernel/trace/trace.c: update_max_tr swaps the two).
	swapped bool
	why     string
	// Where it stands in the later stats file, and in the earlier.
	line, wasLine int
	text, wasText string
}

// compareStats tells what lies between two samples of a CPU, of a kernel whose
// long has that many bytes.
func compareStats(was, now *tracefs.Stats, long int) step {
	var s step
	if was.Now.OK && now.Now.OK {
		switch w, n := was.Now.V, now.Now.V; {
		case w.Unit != n.Unit:
			s.doubt = true
			because(&s, was.Now, now.Now, fmt.Sprintf("its clock counts %s, and counted %s before: a change of the clock resets the buffer", unitWord(n.Unit), unitWord(w.Unit)))
		case n.Value < w.Value:
			s.reset = true
			because(&s, was.Now, now.Now, fmt.Sprintf("its clock says %v, and said %v before: another boot, or the samples are in the wrong order", n, w))
		case now.Entries.OK && now.Entries.V > 0 && oldestValid(now) && now.Oldest.OK && now.Oldest.V.Value <= w.Value:
			s.goesOn = true
		}
	}
	for _, k := range counterOf {
		x, y, ok := bothCounters(k.field(was), k.field(now), long)
		if !k.grows || !ok || y >= x {
			continue
		}
		f, before := k.field(now), k.field(was)
		switch {
		case long == 4 && uint32(y-x) < 1<<31:
			s.wrapped = true
			because(&s, before, f, fmt.Sprintf("%v fell from %d to %d: it wrapped at 2^32, or the buffer was reset", k.q, x, y))
		case k.q == Read:
			// A shrink on kernels before 5.10 zeroes it and nothing else.
			s.doubt = true
			because(&s, before, f, fmt.Sprintf("%v fell from %d to %d", k.q, x, y))
		default:
			s.reset = true
			because(&s, before, f, fmt.Sprintf("%v fell from %d to %d", k.q, x, y))
		}
	}
	s.compareTotals(was, now, long)
	s.compareOldest(was, now)
	if s.goesOn {
		s.wrapped = false
	}
	if s.reset || s.swapped {
		s.goesOn, s.wrapped = false, false
	}
	return s
}

// apart is how long before the earlier sample's clock a record must be, so that
// it cannot have come while that sample was read.
const apart = 1e9 // ns, or ticks

// compareOldest looks for records that are older than what the earlier sample
// had: the counters are those of another ring then, with another past.
func (s *step) compareOldest(was, now *tracefs.Stats) {
	if !was.Now.OK || !now.Oldest.OK || !now.Entries.OK || now.Entries.V <= 0 || !oldestValid(now) || s.reset {
		return
	}
	// 0 is what a ring without any record says, whatever entries says.
	oldest, none := now.Oldest.V, was.Entries.V == 0 && was.Overrun.V == 0 && was.Read.V == 0
	switch {
	case oldest.Value == 0 || oldest.Unit != was.Now.V.Unit:
	case none && was.Entries.OK && was.Overrun.OK && was.Read.OK && oldest.Value+apart < was.Now.V.Value:
		s.swapped = true
		because(s, was.Now, now.Oldest, fmt.Sprintf("the oldest event is of %v, and at %v nothing had been recorded: a snapshot swapped its ring for another", oldest, was.Now.V))
	case was.Entries.OK && was.Entries.V > 0 && was.Oldest.OK && oldestValid(was) && oldest.Value < was.Oldest.V.Value:
		s.swapped = true
		because(s, was.Oldest, now.Oldest, fmt.Sprintf("the oldest event is of %v, and was of %v before: a snapshot swapped its ring for another", oldest, was.Oldest.V))
	}
}

// compareTotals looks at what was written in all, and at what became of the
// records that were there.
func (s *step) compareTotals(was, now *tracefs.Stats, long int) {
	var x, y [3]uint64
	for i, k := range []func(*tracefs.Stats) tracefs.Field[int64]{
		func(s *tracefs.Stats) tracefs.Field[int64] { return s.Entries },
		func(s *tracefs.Stats) tracefs.Field[int64] { return s.Overrun },
		func(s *tracefs.Stats) tracefs.Field[int64] { return s.Read },
	} {
		var ok bool
		if x[i], y[i], ok = bothCounters(k(was), k(now), long); !ok {
			return
		}
	}
	before, after := x[0]+x[1]+x[2], y[0]+y[1]+y[2]
	if long == 8 && after < before || long == 4 && uint32(after-before) >= 1<<31 {
		s.reset = true
		because(s, was.Entries, now.Entries, fmt.Sprintf("entries, overrun and read events add up to %d, and did to %d before", after, before))
		return
	}
	// Nothing was read, and the oldest record is younger than the earlier sample:
	// what was there then must have been overwritten.
	grown := y[1] - x[1]
	if long == 4 {
		grown = uint64(uint32(grown))
	}
	if !unused(was) && x[2] == 0 && y[2] == 0 && y[0] > 0 && y[1] >= x[1] && grown < x[0] && was.Now.OK && now.Oldest.OK && oldestValid(now) &&
		now.Oldest.V.Unit == was.Now.V.Unit && now.Oldest.V.Value > was.Now.V.Value {
		s.doubt = true
		because(s, was.Now, now.Oldest, fmt.Sprintf("the oldest event is of %v, after the earlier sample; %d events were there then and only %d overwritten since", now.Oldest.V, x[0], grown))
	}
}

// because keeps the first reason.
func because[T any](s *step, was, now tracefs.Field[T], why string) {
	if s.why == "" {
		s.why, s.line, s.text, s.wasLine, s.wasText = why, now.Line, now.Text, was.Line, was.Text
	}
}

// bothCounters are a counter at two moments; ok is false where one is not known.
func bothCounters(was, now tracefs.Field[int64], long int) (x, y uint64, ok bool) {
	if !was.OK || !now.OK {
		return 0, 0, false
	}
	x, okX := tracefs.Unwrap(was.V, long)
	y, okY := tracefs.Unwrap(now.V, long)
	return x, y, okX && okY
}

// wasReset tells whether the counters cannot be taken to go on between two
// samples, on any CPU.
func wasReset(was, now *Counters, long int) bool {
	for cpu, n := range now.Stats {
		if w := was.Stats[cpu]; w != nil {
			if s := compareStats(w, n, long); s.reset || s.doubt || s.wrapped || s.swapped {
				return true
			}
		}
	}
	return false
}

// setBefore ties an earlier sample to the buffer.
func (b *Buffer) setBefore(p *part) {
	b.before = p.counters
	b.addSource(p.src)
	b.steps = map[int]step{}
	for cpu, n := range b.Counters.Stats {
		if w := p.counters.Stats[cpu]; w != nil {
			s := compareStats(w, n, b.longBytes())
			b.steps[cpu] = s
			b.Reset = b.Reset || s.reset || s.doubt || s.wrapped || s.swapped
		}
	}
	if p.inst == nil || b.Instance == nil {
		return
	}
	// Both are reset when another clock or tracer is chosen, offline CPUs not
	// (kernel/trace/trace.c: tracing_set_clock, tracer_init).
	for _, f := range []struct {
		what     string
		was, now tracefs.Field[string]
	}{{"clock", p.inst.Clock.Current, b.Instance.Clock.Current}, {"tracer", p.inst.Tracer, b.Instance.Tracer}} {
		if f.was.OK && f.now.OK && f.was.V != f.now.V {
			b.Reset = true
			b.resetBy = append(b.resetBy, fmt.Sprintf("the %s was %s and is %s: choosing another resets the buffer", f.what, f.was.V, f.now.V))
		}
	}
}

// growth is how far a counter grew since the earlier sample, given what it is
// now.
func (b *Buffer) growth(cpu int, field func(*tracefs.Stats) tracefs.Field[int64], now Count) (c Count, why string, ev []Evidence) {
	was := b.before.Stats[cpu]
	if was == nil {
		return Count{Hi: now.Hi, Open: now.Open}, "the earlier source does not have this CPU", nil
	}
	w := field(was)
	m, ok := tracefs.Unwrap(w.V, b.longBytes())
	if !w.OK || !ok {
		return Count{Hi: now.Hi, Open: now.Open}, "the earlier sample does not have it", nil
	}
	ev = []Evidence{b.before.place(cpu, w.Line, w.Text)}
	s := b.steps[cpu]
	switch {
	case s.swapped:
		return Unknown(), "the ring is another one than at the earlier sample", ev
	case s.reset:
		return AtLeast(now.Lo), "the counter was reset between the two samples: what it counted before is gone", ev
	case now.Hi < m && b.longBytes() == 4 && s.goesOn:
		return Between(uint64(uint32(now.Lo)-uint32(m)), uint64(uint32(now.Hi)-uint32(m))), "the counter wrapped at 2^32", ev
	case now.Lo < m:
		return AtLeast(now.Lo), "the counter fell between the two samples", ev
	case b.Reset && !s.goesOn:
		return AtLeast(now.Lo - m), "the buffer was reset between the two samples, perhaps on this CPU too", ev
	}
	c, _ = now.Minus(Exactly(m))
	return c, "", ev
}

// carriedOver is what a CPU kept at the earlier sample, and can lose after it.
func (b *Buffer) carriedOver(cpu int) Count {
	was := b.before.Stats[cpu]
	if was == nil || !was.Entries.OK {
		return Unknown()
	}
	n, ok := tracefs.Unwrap(was.Entries.V, b.longBytes())
	switch s := b.steps[cpu]; {
	case !ok || s.swapped:
		return Unknown()
	case s.reset:
		return Exactly(0)
	case b.Reset && !s.goesOn:
		return Between(0, n)
	}
	gone := b.goneBefore(cpu)
	return Between(n-gone.Hi, n-gone.Lo)
}

// stepCPUs are the CPUs whose step has the property, ascending.
func (b *Buffer) stepCPUs(has func(step) bool) []int {
	var out []int
	for cpu, s := range b.steps {
		if has(s) {
			out = append(out, cpu)
		}
	}
	slices.Sort(out)
	return out
}
