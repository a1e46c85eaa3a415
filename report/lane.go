package report

import (
	"fmt"
	"strings"

	"github.com/ringaudit/ringaudit/audit"
)

// laneGlyphs draw a lane of text: records, records until nobody knows when, mostly records, mostly loss, loss,
// inferred loss, and a hole that is open to the left or the right.
type laneGlyphs struct{ kept, vague, some, most, lost, inferred, begin, end rune }

var (
	unicodeLane = laneGlyphs{'█', '▚', '▓', '▒', '░', '╱', '◀', '▶'}
	asciiLane   = laneGlyphs{'#', '=', '+', '-', '.', '/', '<', '>'}
)

// A laneCell is one column of a lane: how much of it, in thousandths of a
// column, was recorded and how much is a hole.
type laneCell struct {
	kept, lost        uint64
	touched, inferred bool
	vague             bool
}

const cellUnits = 1000

// cells cuts a lane into n columns.
func (t *timeline) cells(l *lane, n int) []laneCell {
	cells := make([]laneCell, n)
	if !l.held {
		return cells
	}
	scale := uint64(n) * cellUnits
	fill := func(from, to uint64, f func(c *laneCell, units uint64)) {
		a, b := t.at(from, scale), t.at(to, scale)
		for i := min(a/cellUnits, uint64(n-1)); i < uint64(n); i++ {
			lo, hi := max(a, i*cellUnits), min(b, (i+1)*cellUnits)
			if lo > hi || (lo == hi && i > a/cellUnits) {
				break
			}
			f(&cells[i], hi-lo)
		}
	}
	fill(l.from, l.to, func(c *laneCell, u uint64) { c.kept, c.vague = c.kept+max(u, 1), l.vague })
	for i := range l.holes {
		h := &l.holes[i]
		if h.openBegin || h.openEnd {
			continue
		}
		fill(h.from, h.to, func(c *laneCell, u uint64) {
			c.touched = true
			c.inferred = c.inferred || h.inferred
			c.lost += u
		})
	}
	return cells
}

func (c laneCell) glyph(g laneGlyphs) (rune, role) {
	switch {
	case c.kept == 0 && !c.touched:
		return ' ', plainRole
	case !c.touched && c.vague:
		return g.vague, dimRole
	case !c.touched:
		return g.kept, goodRole
	case c.lost >= c.kept:
		if c.inferred {
			return g.inferred, badRole
		}
		return g.lost, badRole
	case 2*c.lost >= c.kept:
		return g.most, badRole
	}
	return g.some, badRole
}

// lanes draws loss over time where there is something to see: a hole with a
// place, or windows that differ.
func (t *textReport) lanes(b *Buffer) {
	tl, ok := timelineOf(b)
	if !ok || !tl.worthDrawing() {
		return
	}
	t.line()
	for _, l := range drawLanes(&tl, b, t.width, t.o) {
		var s strings.Builder
		for _, run := range l {
			s.WriteString(t.paint(run.role, run.text))
		}
		t.line(s.String())
	}
}

// worthDrawing: lanes without a hole that all reach about as far would say
// nothing.
func (t *timeline) worthDrawing() bool {
	const n = 10
	for i := range t.lanes {
		l := &t.lanes[i]
		if len(l.holes) > 0 || l.vague || (l.held && t.t0 != t.t1 && (t.at(l.from, n) >= 1 || t.at(l.to, n) < n-1)) {
			return true
		}
	}
	return false
}

// A run is a piece of a line in one role.
type run struct {
	text string
	role role
}

// drawLanes draws t in the given width: a head, a lane for each CPU with its
// count of holes, and a legend of the glyphs that occur.
func drawLanes(t *timeline, b *Buffer, width int, o Options) [][]run {
	g, lg := glyphsFor(o), unicodeLane
	if o.ASCII {
		lg = asciiLane
	}
	lanes, hidden := t.pick(o.All)
	notes := make([]string, len(lanes))
	undated := audit.Exactly(0) // said in the legend where the lanes have no room
	labelw, notew := len("cpu"), 0
	for i, l := range lanes {
		notes[i] = l.note(g)
		labelw = max(labelw, len(l.label()))
		notew = max(notew, len([]rune(notes[i])))
		undated = undated.Plus(audit.Count{Lo: l.undated.Lo, Hi: l.undated.Lo})
	}
	gutters := 2 // an open end takes one column on each side
	n := width - 1 - labelw - 2 - gutters - 2 - notew
	if n < 16 { // the counts go
		n, notes = width-1-labelw-2-gutters, nil
	} else {
		undated = audit.Exactly(0)
	}
	n = max(n, 8)
	left, right := t.stamp(t.t0), t.stamp(t.t1)
	axis := left
	room := min(n, width-1-labelw-3-1-len(unitWord(t.unit))) // the unit stands after it
	if pad := room - len(left) - len(right); pad >= 1 && t.t0 != t.t1 {
		axis = left + strings.Repeat(" ", pad) + right
	}
	out := [][]run{{{" " + padLeft("cpu", labelw) + "   " + axis + " " + unitWord(t.unit), dimRole}}}
	used := make(map[rune]bool)
	for i, l := range lanes {
		line := []run{{" " + padLeft(l.label(), labelw) + "  ", plainRole}}
		begin, end := " ", " "
		for _, h := range l.holes {
			if h.openBegin {
				begin = string(lg.begin)
				used[lg.begin] = true
			}
			if h.openEnd {
				end = string(lg.end)
				used[lg.end] = true
			}
		}
		line = append(line, run{begin, badRole})
		for _, c := range t.cells(&l, n) {
			r, ro := c.glyph(lg)
			used[r] = true
			if k := len(line) - 1; k > 1 && line[k].role == ro {
				line[k].text += string(r)
			} else {
				line = append(line, run{string(r), ro})
			}
		}
		line = append(line, run{end, badRole})
		if notes != nil {
			line = append(line, run{"  " + notes[i], dimRole})
		}
		out = append(out, line)
	}
	if hidden > 0 {
		out = append(out, []run{{fmt.Sprintf(" %s and %d more lanes that lost no more than these (--all)", g.ellipsis, hidden), dimRole}})
	}
	for _, s := range wrap(t.legend(lg, used, g.dot, undated), width-1) {
		out = append(out, []run{{" " + s, dimRole}})
	}
	return out
}

func (t *timeline) legend(g laneGlyphs, used map[rune]bool, dot string, undated audit.Count) string {
	var parts []string
	for _, e := range []struct {
		r   rune
		say string
	}{
		{g.kept, "recorded"}, {g.vague, "recorded until the buffer was full, nobody knows when"},
		{g.some, "less than half lost"}, {g.most, "half or more lost"}, {g.lost, "lost"},
		{g.inferred, "lost, place inferred"}, {g.begin, "lost before, nobody knows since when"}, {g.end, "lost after, nobody knows until when"},
	} {
		if used[e.r] {
			parts = append(parts, string(e.r)+"\u00a0"+strings.ReplaceAll(e.say, " ", "\u00a0"))
		}
	}
	return strings.Join(append(parts, t.undrawn(undated)...), " "+dot+" ")
}

// undrawn is what the picture does not show, because nothing dates it.
func (t *timeline) undrawn(dropped audit.Count) []string {
	var out []string
	if dropped.Lo > 0 {
		out = append(out, group(dropped.Lo)+" dropped at times not known")
	}
	if t.refused.Lo > 0 {
		out = append(out, "not drawn: "+group(t.refused.Lo)+" refused by commit overrun, at times not known")
	}
	switch t.unplaced {
	case 0:
	case 1:
		out = append(out, "1 hole has no place in time and is not drawn")
	default:
		out = append(out, group(uint64(t.unplaced))+" holes have no place in time and are not drawn")
	}
	return out
}

func (l *lane) label() string {
	if l.cpu == allCPUs {
		return "all"
	}
	return cpuName(l.cpu)
}

// note is "7,683 in 6 holes", and how many were dropped nobody knows when.
func (l *lane) note(g glyphs) string {
	s := l.inHoles(g)
	if l.undated.Lo == 0 {
		return s
	}
	if s != "" {
		s += ", "
	}
	return s + g.count(&l.undated) + " dropped, at times not known"
}

func (l *lane) inHoles(g glyphs) string {
	n := uint64(len(l.holes)) + l.omitted
	switch n {
	case 0:
		return ""
	case 1:
		return g.count(&l.events) + " in 1 hole"
	}
	return g.count(&l.events) + " in " + group(n) + " holes"
}

// pick is the lanes to draw: all, or those of the CPUs that lost most.
func (t *timeline) pick(all bool) ([]lane, int) {
	var lanes []lane
	for _, l := range t.lanes {
		if l.held || len(l.holes) > 0 {
			lanes = append(lanes, l)
		}
	}
	if all || len(lanes) <= maxRows {
		return lanes, 0
	}
	return worstLanes(lanes, worstRows), len(lanes) - worstRows
}
