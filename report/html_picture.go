package report

import "strconv"

// An htmlPicture is what the page's script draws from: times are counted from
// t0, in units of 2^shift ns or ticks, so that JavaScript's numbers hold them
// exactly; counts are strings, because those do not.
type htmlPicture struct {
	T0    string     `json:"t0"`
	Unit  string     `json:"unit"`
	Shift uint       `json:"shift"`
	Range uint64     `json:"range"`
	Lanes []htmlLane `json:"lanes"`
}

type htmlLane struct {
	Name  string `json:"name"`
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`
	Held  bool   `json:"held"`
	Vague bool   `json:"vague,omitempty"`
	Begin string `json:"begin,omitempty"` // what is lost before it, in words
	End   string `json:"end,omitempty"`
	// Holes: begin, end, lost time, how many, at least, at most ("" if open), 1 if inferred.
	Holes [][7]any `json:"holes"`
}

// maxPageHoles is how many holes, or columns of them, all pictures of a page
// may be drawn from.
const maxPageHoles = 24_000

// newBudget is how many of them each lane may have.
func newBudget(d *Document) int {
	lanes := 0
	for i := range d.Buffers {
		for j := range d.Buffers[i].CPUs {
			if len(d.Buffers[i].CPUs[j].Holes) > 0 {
				lanes++
			}
		}
	}
	return max(maxDrawn, maxPageHoles/max(lanes, 1))
}

func pictureData(b *Buffer, budget int) *htmlPicture {
	t, _ := timelineOf(b)
	lanes, _ := t.pick(true)
	p := &htmlPicture{T0: strconv.FormatUint(t.t0, 10), Unit: unitWord(t.unit)}
	for (t.t1-t.t0)>>p.Shift > 1<<52 {
		p.Shift++
	}
	rel := func(at uint64) uint64 { return (at - t.t0) >> p.Shift }
	p.Range = rel(t.t1)
	for i := range lanes {
		l := &lanes[i]
		h := htmlLane{Name: laneName(l, false), Held: l.held, Vague: l.vague, Holes: [][7]any{}}
		if l.held {
			h.From, h.To = rel(l.from), rel(l.to)
		}
		for _, s := range merge(&t, l, budget) {
			if s.openBegin {
				h.Begin = t.holeTitle(&s.stretch)
				continue
			}
			if s.openEnd {
				h.End = t.holeTitle(&s.stretch)
				continue
			}
			hi, inferred := strconv.FormatUint(s.events.Hi, 10), 0
			if s.events.Open {
				hi = ""
			}
			if s.inferred {
				inferred = 1
			}
			h.Holes = append(h.Holes, [7]any{rel(s.from), rel(s.to), s.lost >> p.Shift, s.n, strconv.FormatUint(s.events.Lo, 10), hi, inferred})
		}
		p.Lanes = append(p.Lanes, h)
	}
	return p
}

// A merged stretch is one hole, or all that begin in one small part of the time.
type merged struct {
	stretch
	n    int
	lost uint64
}

// merge brings a lane to at most n stretches, and leaves them as they are where
// there are no more.
func merge(t *timeline, l *lane, n int) []merged {
	var out []merged
	last := ^uint64(0)
	for i := range l.holes {
		h := l.holes[i]
		part := t.at(h.from, uint64(n))
		if k := len(out) - 1; len(l.holes) > n && k >= 0 && part == last && !h.openBegin && !h.openEnd {
			m := &out[k]
			m.to, m.n, m.lost = max(m.to, h.to), m.n+1, m.lost+(h.to-h.from)
			m.events, m.inferred = m.events.Plus(h.events), m.inferred || h.inferred
			continue
		}
		last = part
		if h.openBegin || h.openEnd {
			last = ^uint64(0)
		}
		out = append(out, merged{stretch: h, n: 1, lost: h.to - h.from})
	}
	return out
}
