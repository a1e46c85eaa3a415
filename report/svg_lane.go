package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ringaudit/ringaudit/audit"
)

// A frame is where things stand in one picture.
type frame struct {
	*svg
	t      *timeline
	space  laneSpace
	narrow bool
	left   px // of names
	x0, x1 px // of the stretch of time that is to scale
	begin  px // where an open begin fades out
	end    px // where an open end fades out
	right  px // of counts
}

func (f *frame) layOut(lanes []lane) {
	f.left = 400
	label, counts := px(0), px(0)
	for i := range lanes {
		label = max(label, px(utf8.RuneCountInString(laneName(&lanes[i], f.narrow)))*charWidth)
		if f.space.counts {
			counts = max(counts, px(utf8.RuneCountInString(lanes[i].note(unicodeGlyphs)))*charWidth)
		}
	}
	if f.space.above {
		label, counts = 0, 0
	}
	f.begin = f.left + label + 800
	f.end = f.wide - 400 - counts
	if counts > 0 {
		f.end -= 800
	}
	f.right = f.wide - 400
	fade := px(8400)
	if f.narrow {
		fade = 3200
	}
	f.x0, f.x1 = f.begin, f.end
	if f.t.openBegin {
		f.x0 += fade
	}
	if f.t.openEnd {
		f.x1 -= fade
	}
}

func laneName(l *lane, short bool) string {
	switch {
	case l.cpu == allCPUs:
		return "all CPUs"
	case short:
		return cpuName(l.cpu)
	}
	return "CPU " + cpuName(l.cpu)
}

// at is where a stamp stands.
func (f *frame) at(stamp uint64) px { return f.x0 + px(f.t.at(stamp, uint64(f.x1-f.x0))) }

// lane draws one lane at y and returns the height it takes.
func (f *frame) lane(l *lane, y px, i int) px {
	sp := f.space
	dense := len(l.holes) > maxDrawn
	needles := sp.needles
	if !dense && !sp.above {
		needles = min(needles, 200)
	}
	head := px(0)
	if sp.above {
		head = 1500
		needles = 0
		if dense {
			needles = sp.needles
		}
		f.text(f.left, y+1100, "ra-text", "", laneName(l, false))
		note := l.note(unicodeGlyphs)
		if f.left+px(utf8.RuneCountInString(laneName(l, false)+note)+2)*charWidth > f.right { // the captions have the rest
			note = l.inHoles(unicodeGlyphs)
		}
		f.text(f.right, y+1100, "ra-dim", "end", note)
	}
	bar := y + head + needles
	mid := bar + sp.bar/2 + 400
	if !sp.above {
		if sp.labelEach == 1 || i%sp.labelEach == 0 {
			f.text(f.begin-800, mid, "ra-text", "end", laneName(l, f.narrow))
		}
		if sp.counts {
			f.text(f.right, mid, "ra-dim", "end", l.note(unicodeGlyphs))
		}
	}
	fmt.Fprintf(&f.b, `<g class="ra-lane" data-lane="%d" data-y="%s" data-h="%s"><title>%s</title>`+"\n", i, bar, sp.bar, escape(f.t.laneTitle(l)))
	fmt.Fprintf(&f.b, `<path class="ra-base" d="M%s %sH%sV%sH%sZ"/>`+"\n", f.x0, bar+sp.bar/2-50, f.x1, bar+sp.bar/2+50, f.x0)
	f.b.WriteString(`<g class="ra-data">` + "\n")
	if l.held {
		a, b := f.at(l.from), f.at(l.to)
		if b-a < 100 {
			b = a + 100
		}
		fill := ""
		if l.vague {
			fill = ` style="fill:url(#` + f.id + `-vague)"`
		}
		fmt.Fprintf(&f.b, `<rect class="ra-kept"%s x="%s" y="%s" width="%s" height="%s"/>`+"\n", fill, a, bar, b-a, sp.bar)
	}
	if dense {
		f.columns(l, bar, needles)
	} else {
		for k := range l.holes {
			if h := &l.holes[k]; !h.openBegin && !h.openEnd {
				f.hole(h, bar)
			}
		}
	}
	f.b.WriteString("</g>\n")
	f.open2(l, bar)
	f.b.WriteString("</g>\n")
	return head + needles + sp.bar + sp.gap
}

// hole draws a hole with both ends, at least wide enough to be seen.
func (f *frame) hole(h *stretch, y px) {
	a, b := f.at(h.from), f.at(h.to)
	if b-a < 150 {
		b = a + 150
	}
	box := fmt.Sprintf(`x="%s" y="%s" width="%s" height="%s"`, a, y, b-a, f.space.bar)
	f.b.WriteString(`<g><title>` + escape(f.t.holeTitle(h)) + `</title><rect class="ra-lost" ` + box + `/>`)
	if h.inferred {
		f.b.WriteString(`<rect style="fill:url(#` + f.id + `-hatch)" ` + box + `/>`)
	}
	label := unicodeGlyphs.count(&h.events)
	if !h.inferred && f.space.bar >= 1400 && px(utf8.RuneCountInString(label)+1)*charWidth <= b-a {
		fmt.Fprintf(&f.b, `<text class="ra-count" x="%s" y="%s" text-anchor="middle">%s</text>`, (a+b)/2, y+f.space.bar/2+400, escape(label))
	}
	f.b.WriteString("</g>\n")
}

// open2 draws what reaches past the ends: fading, with a torn edge, and not to
// scale, because nobody knows how far it goes.
func (f *frame) open2(l *lane, y px) {
	for _, begin := range []bool{true, false} {
		var all stretch
		n := 0
		for k := range l.holes {
			h := &l.holes[k]
			if (begin && !h.openBegin) || (!begin && (!h.openEnd || h.openBegin)) {
				continue
			}
			if n == 0 {
				all = *h
			} else {
				all.events = all.events.Plus(h.events)
			}
			n++
		}
		if n == 0 {
			continue
		}
		a, b, name := f.begin, f.x0, "begin"
		if begin && l.held && !all.openEnd {
			b = f.at(all.to) // up to its first record
		}
		if !begin {
			a, b, name = f.x1, f.end, "end"
			if l.held {
				a = f.at(all.from)
			}
		}
		if all.openBegin && all.openEnd {
			b = f.end
		}
		h := f.space.bar
		f.b.WriteString(`<g class="ra-open"><title>` + escape(f.t.holeTitle(&all)) + `</title>`)
		// The part that is to scale is solid, the part beyond it fades.
		solid0, solid1, fade0, fade1 := f.x0, b, f.begin, f.x0
		if !begin {
			solid0, solid1, fade0, fade1 = a, f.x1, f.x1, f.end
		}
		if solid1 > solid0 {
			fmt.Fprintf(&f.b, `<path class="ra-area" d="M%s %sH%sV%sH%sZ"/>`, solid0, y, solid1, y+h, solid0)
		}
		fmt.Fprintf(&f.b, `<path style="fill:url(#%s-%s)" d="M%s %sH%sV%sH%sZ"/>`, f.id, name, fade0, y, fade1, y+h, fade0)
		edge := b
		if !begin {
			edge = a
		}
		fmt.Fprintf(&f.b, `<path class="ra-area-edge" d="M%s %sV%s"/>`, edge, y, y+h)
		if all.inferred {
			fmt.Fprintf(&f.b, `<path style="fill:url(#%s-hatch)" d="M%s %sH%sV%sH%sZ"/>`, f.id, a, y, b, y+h, a)
		}
		label := unicodeGlyphs.count(&all.events)
		if h >= 1400 && px(utf8.RuneCountInString(label)+3)*charWidth <= b-a {
			arrow := "‹ " + label
			x := a + 600
			anchor := ""
			if !begin {
				arrow, x, anchor = label+" ›", b-600, ` text-anchor="end"`
			}
			fmt.Fprintf(&f.b, `<text class="ra-count" x="%s" y="%s"%s>%s</text>`, x, y+h/2+400, anchor, escape(arrow))
		}
		f.b.WriteString("</g>\n")
	}
}

// columns draws a lane of many holes: what share of each column's time is
// lost, from the top, and above it how many events.
func (f *frame) columns(l *lane, y, needles px) {
	n := int((f.x1 - f.x0) / 200)
	cells := f.t.cells(l, n)
	x := func(i int) px { return f.x0 + px(int64(f.x1-f.x0)*int64(i)/int64(n)) }
	var area, hatch, edge strings.Builder
	for i := 0; i < n; {
		c := cells[i]
		if !c.touched {
			i++
			continue
		}
		h := f.share(c)
		j := i + 1
		for j < n && cells[j].touched && f.share(cells[j]) == h && cells[j].inferred == c.inferred {
			j++
		}
		box := fmt.Sprintf("M%s %sH%sV%sH%sZ", x(i), y, x(j), y+h, x(i))
		area.WriteString(box)
		if c.inferred {
			hatch.WriteString(box)
		}
		fmt.Fprintf(&edge, "M%s %sH%s", x(i), y+h, x(j))
		i = j
	}
	if area.Len() > 0 {
		fmt.Fprintf(&f.b, `<path class="ra-area" d="%s"/>`+"\n", area.String())
		fmt.Fprintf(&f.b, `<path class="ra-area-edge" d="%s"/>`+"\n", edge.String())
	}
	if hatch.Len() > 0 {
		fmt.Fprintf(&f.b, `<path style="fill:url(#%s-hatch)" d="%s"/>`+"\n", f.id, hatch.String())
	}
	if needles <= 200 {
		return
	}
	sums, most := f.t.columnSums(l, n)
	if most == 0 {
		return
	}
	var d strings.Builder
	for i, v := range sums {
		if v > 0 {
			h := max(px(mulDiv(uint64(needles-200), v, most)), 100)
			fmt.Fprintf(&d, "M%s %sH%sV%sH%sZ", x(i), y-100-h, x(i+1), y-100, x(i))
		}
	}
	fmt.Fprintf(&f.b, `<path class="ra-needle" d="%s"><title>%s</title></path>`+"\n", d.String(),
		escape(fmt.Sprintf("events lost, by the place of the mark; the tallest is %s", group(most))))
}

// share is the height of the lost part of a column.
func (f *frame) share(c laneCell) px {
	if c.lost >= c.kept {
		return f.space.bar
	}
	h := px(mulDiv(uint64(f.space.bar), c.lost, c.kept))
	return min(max(h, 100), f.space.bar)
}

// axis draws the scale of time below the lanes and returns the new y.
func (f *frame) axis(top, y px) px {
	target := int((f.x1-f.x0)/15000) + 1
	if f.narrow {
		target = int((f.x1-f.x0)/7000) + 1
	}
	fmt.Fprintf(&f.b, `<g class="ra-ticks" data-y="%s" data-top="%s">`+"\n", y, top)
	fmt.Fprintf(&f.b, `<path class="ra-axis" d="M%s %sH%s"/>`+"\n", f.x0, y, f.x1)
	ticks, decimals := f.t.ticks(target)
	for _, at := range ticks {
		x := f.at(at)
		fmt.Fprintf(&f.b, `<g class="ra-tick"><path class="ra-axis" d="M%s %sV%s"/>`, x, y, y+400)
		anchor := "middle"
		switch {
		case x-f.x0 < 3000:
			anchor = "start"
		case f.x1-x < 3000:
			anchor = "end"
		}
		f.text(x, y+1500, "ra-dim", anchor, f.t.tick(at, decimals))
		f.b.WriteString("</g>\n")
	}
	f.b.WriteString("</g>\n")
	return y + 1900
}

// key names the colours that there are.
func (f *frame) key(lanes []lane, y px) px {
	x := f.left
	kept, lost := false, false
	for i := range lanes {
		kept, lost = kept || lanes[i].held, lost || len(lanes[i].holes) > 0
	}
	for _, e := range []struct {
		class, say string
		used       bool
	}{{"ra-kept", "recorded", kept}, {"ra-lost", "lost", lost}} {
		if !e.used {
			continue
		}
		fmt.Fprintf(&f.b, `<rect class="%s" x="%s" y="%s" width="14" height="9"/>`+"\n", e.class, x+50, y+250)
		f.text(x+2000, y+1050, "ra-dim", "", e.say)
		x += 2000 + px(len(e.say)+2)*charWidth
	}
	return y + 1600
}

func (f *frame) captions(lanes []lane) []string {
	t := f.t
	unit := "time in seconds"
	if t.unit != "s" && t.unit != "ticks" {
		unit = "time, in an unknown unit"
	} else if t.unit != "s" {
		unit = "time in ticks of the trace clock"
	}
	out := []string{unit + ", from " + t.stamp(t.t0) + " to " + t.stamp(t.t1) + " (" + t.span(t.t1-t.t0) + ")"}
	dense, inferred, vague := false, false, false
	undated := audit.Exactly(0)
	for i := range lanes {
		undated = undated.Plus(audit.Count{Lo: lanes[i].undated.Lo, Hi: lanes[i].undated.Lo})
		dense = dense || len(lanes[i].holes) > maxDrawn
		vague = vague || lanes[i].vague
		for k := range lanes[i].holes {
			inferred = inferred || lanes[i].holes[k].inferred
		}
	}
	if dense {
		s := "lanes with more than " + strconv.Itoa(maxDrawn) + " holes: how far a column is filled from the top is the share of its time that is lost"
		if f.space.needles > 0 {
			s += "; above it, events lost, by the place of the mark"
		}
		out = append(out, s)
	}
	if t.openBegin || t.openEnd {
		out = append(out, "fading: lost, and nobody knows how far back or on; not to scale")
	}
	if inferred {
		out = append(out, "hatched: the kernel set no mark here; the place follows from other signs")
	}
	if vague {
		out = append(out, "records that fade out: recorded until the buffer was full; the counters do not say when")
	}
	return append(out, t.undrawn(undated)...)
}
