package report

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/ringaudit/ringaudit/audit"
)

// A timeline is one buffer's loss over time, the model of every picture of it:
// the lane in text, the SVG, and what the HTML page zooms into.
type timeline struct {
	unit string // "s" or "ticks"
	// t0 and t1 are the first and the last stamp of any lane, in ns or ticks.
	t0, t1 uint64
	lanes  []lane
	// openBegin and openEnd: some lane has a hole that reaches past t0 or t1.
	openBegin, openEnd bool
	// unplaced counts holes whose stamps cannot be placed: not a number, or
	// after and before in the wrong order.
	unplaced int
	// refused is the events that commit overruns refused, which nothing dates.
	refused audit.Count
}

// A lane is the records and holes of one CPU, or of the whole buffer (allCPUs).
type lane struct {
	cpu int
	// from and to bound what is known of this lane; held is false where no
	// record and no hole has a place in time.
	from, to uint64
	held     bool
	// vague: the counters say when the first record was written and not when
	// the last was, because the buffer kept the first and refused the rest.
	vague   bool
	holes   []stretch   // by their begin
	omitted uint64      // holes that the document left out
	undated audit.Count // dropped at times that are not known
	events  audit.Count
	// marked is the sum of the events that the marks stand for, and marks how
	// many there are, where the counters of the CPU tell.
	marked *audit.Count
	marks  uint64
}

// A stretch is a hole with its place. An open side reaches to the begin or the
// end of the recording, which nothing dates.
type stretch struct {
	from, to           uint64
	openBegin, openEnd bool
	events             audit.Count
	inferred           bool
	// oldest: before whatever is left, though nothing tells when that begins.
	oldest bool
	kind   string
}

// timelineOf places the holes and windows of b. ok is false where nothing has
// a time: a picture without an axis would say nothing.
func timelineOf(b *Buffer) (_ timeline, ok bool) {
	t := timeline{unit: unitOf(b), refused: audit.Exactly(0)}
	for i := range b.CPUs {
		c := &b.CPUs[i]
		t.add(c.CPU, c, c.Window, c.Holes, c.HolesOmitted)
		l := &t.lanes[len(t.lanes)-1]
		l.undated = undated(c)
		if w := c.Window; w != nil && w.Newest == "" && b.Mode == "no-overwrite" {
			l.vague = or(c.Dropped).Lo > 0
		}
		t.refused = t.refused.Plus(audit.Count{Lo: or(c.CommitOverrun).Lo, Hi: or(c.CommitOverrun).Lo})
	}
	if len(b.Holes) > 0 {
		t.add(allCPUs, nil, nil, b.Holes, 0)
	}
	first := true
	for i := range t.lanes {
		l := &t.lanes[i]
		if !l.held {
			continue
		}
		if first {
			t.t0, t.t1, first = l.from, l.to, false
		}
		t.t0, t.t1 = min(t.t0, l.from), max(t.t1, l.to)
	}
	for _, l := range t.lanes {
		for _, h := range l.holes {
			t.openBegin = t.openBegin || h.openBegin
			t.openEnd = t.openEnd || h.openEnd
		}
	}
	return t, !first
}

// undated is how many events of c were dropped at times that nobody knows: the
// counter has no clock, and only few holes of that kind can be placed.
func undated(c *CPU) audit.Count {
	n := or(c.Dropped)
	placed := uint64(0)
	for i := range c.Holes {
		if h := &c.Holes[i]; h.Kind == "dropped" && (h.After != nil || h.Before != nil) {
			placed += h.Events.Lo
		}
	}
	switch {
	case placed == 0:
		return n
	case placed >= n.Lo:
		return audit.Exactly(0)
	}
	return audit.AtLeast(n.Lo - placed)
}

// unitOf is the unit of b's stamps: what a window says, else what their form
// says, since the kernel prints a dot exactly where it prints seconds.
func unitOf(b *Buffer) string {
	for i := range b.CPUs {
		if w := b.CPUs[i].Window; w != nil && w.Unit != "" {
			return w.Unit
		}
	}
	if b.CommonWindow != nil && b.CommonWindow.Unit != "" {
		return b.CommonWindow.Unit
	}
	if u := unitOfHoles(b.Holes); u != "" {
		return u
	}
	for i := range b.CPUs {
		if u := unitOfHoles(b.CPUs[i].Holes); u != "" {
			return u
		}
	}
	return "s"
}

func unitOfHoles(holes []Hole) string {
	for i := range holes {
		for _, s := range []*string{holes[i].After, holes[i].Before} {
			switch {
			case s == nil:
			case strings.Contains(*s, "."):
				return "s"
			default:
				return "ticks"
			}
		}
	}
	return ""
}

func (t *timeline) add(cpu int, c *CPU, w *Window, holes []Hole, omitted uint64) {
	l := lane{cpu: cpu, omitted: omitted, events: audit.Exactly(0)}
	if c != nil && c.Marks != nil { // the counters say more than the holes one by one
		sum := audit.Exactly(c.Marks.CountedLost).Plus(c.Marks.UnknownLost)
		l.marked = &sum
		l.marks = c.Marks.Counted + c.Marks.Unknown
	}
	grow := func(at uint64) {
		if !l.held {
			l.from, l.to, l.held = at, at, true
		}
		l.from, l.to = min(l.from, at), max(l.to, at)
	}
	if w != nil {
		from, ok1 := parseStamp(w.Oldest, t.unit)
		to, ok2 := parseStamp(w.last(), t.unit)
		if ok1 && ok2 && from <= to {
			grow(from)
			grow(to)
		}
	}
	for i := range holes {
		h := &holes[i]
		s := stretch{openBegin: h.After == nil, openEnd: h.Before == nil, events: h.Events, inferred: h.Inferred, kind: h.Kind}
		ok1, ok2 := true, true
		if h.After != nil {
			s.from, ok1 = parseStamp(*h.After, t.unit)
		}
		if h.Before != nil {
			s.to, ok2 = parseStamp(*h.Before, t.unit)
		}
		l.events = l.events.Plus(h.Events)
		if !ok1 || !ok2 || (!s.openBegin && !s.openEnd && s.to < s.from) {
			t.unplaced++
			continue
		}
		if s.openBegin && s.openEnd {
			// What a ring overwrote is older than all that it holds. Of any other
			// hole without ends nothing is known.
			if h.Kind != "overwritten" || c == nil || c.Delivered != nil {
				t.unplaced++
				continue
			}
			s.openEnd, s.oldest = false, true
			if l.held {
				s.from, s.to = l.from, l.from
			}
			l.holes = append(l.holes, s)
			continue
		}
		switch {
		case s.openBegin:
			s.from = s.to
			grow(s.to)
		case s.openEnd:
			s.to = s.from
			grow(s.from)
		default:
			grow(s.from)
			grow(s.to)
		}
		l.holes = append(l.holes, s)
	}
	if omitted > 0 { // their events are in the tally, not here
		l.events.Open = true
	}
	if l.marked != nil && l.marks == uint64(len(holes))+omitted {
		if both, ok := l.events.Intersect(*l.marked); ok {
			l.events = both
		}
	}
	slices.SortStableFunc(l.holes, func(a, b stretch) int {
		switch {
		case a.from != b.from:
			return cmpUint(a.from, b.from)
		default:
			return cmpUint(a.to, b.to)
		}
	})
	t.lanes = append(t.lanes, l)
}

func cmpUint(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// parseStamp reads a stamp as the kernel prints it: seconds become ns, exactly,
// and ticks stay. A stamp that does not fit 64 bits that way is refused.
func parseStamp(s, unit string) (uint64, bool) {
	whole, frac, dot := strings.Cut(s, ".")
	if unit != "s" {
		if dot {
			return 0, false
		}
		n, err := strconv.ParseUint(whole, 10, 64)
		return n, err == nil
	}
	sec, err := strconv.ParseUint(whole, 10, 64)
	if err != nil || len(frac) > 9 || (dot && frac == "") {
		return 0, false
	}
	var ns uint64
	if dot {
		if ns, err = strconv.ParseUint(frac+strings.Repeat("0", 9-len(frac)), 10, 64); err != nil {
			return 0, false
		}
	}
	hi, lo := bits.Mul64(sec, 1e9)
	sum, carry := bits.Add64(lo, ns, 0)
	return sum, hi == 0 && carry == 0
}

// stamp writes what parseStamp read, with at least 6 decimals of seconds.
func (t *timeline) stamp(at uint64) string {
	if t.unit != "s" {
		return strconv.FormatUint(at, 10)
	}
	frac := strconv.FormatUint(1e9+at%1e9, 10)[1:]
	frac = frac[:6] + strings.TrimRight(frac[6:], "0")
	return strconv.FormatUint(at/1e9, 10) + "." + frac
}

// span writes a length of time with its unit.
func (t *timeline) span(d uint64) string { return t.stamp(d) + " " + unitWord(t.unit) }

// at is the place of a stamp on a scale of n steps from t0 to t1, 0 … n. A
// recording of one instant stands in the middle.
func (t *timeline) at(stamp uint64, n uint64) uint64 {
	if t.t1 == t.t0 {
		return n / 2
	}
	stamp = min(max(stamp, t.t0), t.t1)
	hi, lo := bits.Mul64(stamp-t.t0, n)
	q, _ := bits.Div64(hi, lo, t.t1-t.t0)
	return q
}

// worstLanes is the n lanes that lost most, in the order of their CPUs.
func worstLanes(lanes []lane, n int) []lane {
	worst := slices.Clone(lanes)
	slices.SortStableFunc(worst, func(a, b lane) int { return cmpUint(b.events.Lo, a.events.Lo) })
	worst = worst[:min(n, len(worst))]
	slices.SortStableFunc(worst, func(a, b lane) int { return a.cpu - b.cpu })
	return worst
}

// mulDiv is a·b/c without overflow, for b ≤ c.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, min(b, c))
	q, _ := bits.Div64(hi, lo, c)
	return q
}

// columnSums adds what each of n columns lost, at the end of each hole, where
// the kernel sets its mark. Lower bounds count as such.
func (t *timeline) columnSums(l *lane, n int) (sums []uint64, most uint64) {
	sums = make([]uint64, n)
	for i := range l.holes {
		h := &l.holes[i]
		if h.openBegin || h.openEnd {
			continue
		}
		k := min(t.at(h.to, uint64(n)), uint64(n-1))
		sum, carry := bits.Add64(sums[k], h.events.Lo, 0)
		if carry != 0 {
			sum = ^uint64(0)
		}
		sums[k] = sum
		most = max(most, sum)
	}
	return sums, most
}

// ticks is about n round stamps between t0 and t1, and how many decimals tell
// them apart.
func (t *timeline) ticks(n int) (at []uint64, decimals int) {
	step := uint64(1)
	for i := 0; (t.t1-t.t0)/step > uint64(n); i++ {
		next := step * 2
		if i%3 == 1 {
			next = step / 2 * 5
		}
		if next < step {
			break
		}
		step = next
	}
	first := t.t0 / step * step
	if first < t.t0 {
		if first > ^uint64(0)-step {
			return nil, 0
		}
		first += step
	}
	for a := first; a <= t.t1; a += step {
		at = append(at, a)
		if a > ^uint64(0)-step {
			break
		}
	}
	for decimals = 9; decimals > 0 && step%10 == 0; decimals-- {
		step /= 10
	}
	return at, decimals
}

func (t *timeline) tick(at uint64, decimals int) string {
	if t.unit != "s" {
		return group(at)
	}
	s := strconv.FormatUint(at/1e9, 10)
	if decimals == 0 {
		return s
	}
	return s + "." + strconv.FormatUint(1e9+at%1e9, 10)[1:1+decimals]
}
