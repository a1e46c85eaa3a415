package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// renderText writes the report for a person at a terminal: the verdict first,
// a row per CPU, what was found with what to do about it, what nobody could
// have seen, and last the places where it all stands.
func renderText(w io.Writer, d *Document, o Options) error {
	t := &textReport{
		page: page{color: o.Color, width: o.width(), glyphs: glyphsFor(o)},
		d:    d, o: o,
	}
	t.verdict()
	t.sources()
	for i := range d.Buffers {
		t.buffer(&d.Buffers[i])
	}
	t.probes()
	t.findings()
	t.blindSpots()
	t.footnotes()
	_, err := io.WriteString(w, t.b.String())
	return err
}

type textReport struct {
	page
	d     *Document
	o     Options
	notes [][]string // evidence by footnote
}

func (t *textReport) verdict() {
	v := strings.ToUpper(t.d.Verdict)
	indent := len(v) + 2
	head := t.d.headline(t.glyphs)
	t.para(t.paint(roleOfVerdict(t.d.Verdict), v)+"  ", indent, boldRole, head)
	pad := strings.Repeat(" ", indent)
	if reason := t.d.reason(head); reason != "" {
		t.para(pad, indent, plainRole, reason)
	}
	if len(t.d.Buffers) == 1 {
		if s := t.d.Buffers[0].left(t.glyphs); s != "" {
			t.para(pad, indent, plainRole, s)
		}
	}
}

// sources are listed where there is more to say than the buffers say.
func (t *textReport) sources() {
	more := len(t.d.Sources) > 1
	for i := range t.d.Sources {
		s := &t.d.Sources[i]
		more = more || s.Coverage != "whole" || len(s.Notes) > 0
	}
	if !more {
		return
	}
	t.line()
	idw, kindw := 0, 0
	for i := range t.d.Sources {
		idw = max(idw, utf8.RuneCountInString(clean(t.d.Sources[i].ID)))
		kindw = max(kindw, utf8.RuneCountInString(clean(t.d.Sources[i].Kind)))
	}
	for i := range t.d.Sources {
		s := &t.d.Sources[i]
		head := padRight(clean(s.ID), idw) + "  " + padRight(clean(s.Kind), kindw) + "  "
		indent := utf8.RuneCountInString(head)
		text := clean(s.Path)
		for _, extra := range []string{s.Kernel, s.Arch} {
			if extra != "" && len(t.d.Sources) > 1 {
				text += " " + t.dot + " " + clean(extra)
			}
		}
		switch s.Coverage {
		case "partial":
			text += " " + t.dot + " read in part"
		case "none":
			text += " " + t.dot + " could not be read"
		}
		r := plainRole
		if s.Coverage != "whole" {
			r = warnRole
		}
		t.para(t.paint(dimRole, head), indent, r, text)
		notes, cut := s.Notes, 0
		if !t.o.All && len(notes) > 4 {
			notes, cut = notes[:3], len(notes)-3
		}
		for _, n := range notes {
			t.para(strings.Repeat(" ", indent), indent, dimRole, clean(n))
		}
		if cut > 0 {
			t.para(strings.Repeat(" ", indent), indent, dimRole, fmt.Sprintf("%s and %d more notes (--all)", t.ellipsis, cut))
		}
	}
}

func (t *textReport) buffer(b *Buffer) {
	t.line()
	t.para("", 0, boldRole, clean(b.Name)+" "+t.dot+" "+b.facts(" "+t.dot+" "))
	if len(t.d.Buffers) > 1 {
		v := strings.ToUpper(b.Verdict)
		head := b.headline(t.glyphs)
		t.para(" "+t.paint(roleOfVerdict(b.Verdict), v)+"  ", len(v)+3, plainRole, head)
		if reason := b.reason(head); reason != "" {
			t.para(strings.Repeat(" ", len(v)+3), len(v)+3, plainRole, reason)
		}
		if s := b.left(t.glyphs); s != "" {
			t.para(strings.Repeat(" ", len(v)+3), len(v)+3, plainRole, s)
		}
	}
	t.tally(b)
	t.figures(b)
	t.lanes(b)
}

// tally is the table of quantities, one row per CPU and one for all.
func (t *textReport) tally(b *Buffer) {
	tab := newTally(b, t.o.All)
	if len(tab.columns) == 0 {
		return
	}
	build := func(cols []column, full bool) *grid {
		g := &grid{head: []string{" cpu"}, left: []bool{false}}
		for _, c := range cols {
			g.head = append(g.head, c.head)
			g.left = append(g.left, false)
		}
		if tab.windows {
			if full {
				g.head = append(g.head, tab.windowHead(t.dash)+", "+tab.unitHead())
				g.left = append(g.left, true)
			} else {
				g.head = append(g.head, "span,\n"+tab.unitHead())
				g.left = append(g.left, false)
			}
		}
		for _, r := range tab.rows {
			row := []cell{{text: r.label, role: plainRole}}
			if r.total {
				row[0].role = boldRole
			}
			for _, c := range cols {
				q := *c.of(r.tally)
				text := t.quantity(c, r.tally)
				role := plainRole
				switch {
				case text == "?":
					role = warnRole
				case c.loss && q != nil && q.Lo > 0:
					role = badRole
				case q == nil || q.None():
					role = dimRole
				}
				row = append(row, cell{text, role})
			}
			if tab.windows {
				text := r.ends(t.dash)
				if w := r.window; !full && w != nil {
					text = w.length()
				} else if !full {
					text = ""
				}
				row = append(row, cell{text: text})
			}
			g.rows = append(g.rows, row)
		}
		return g
	}
	var none, unknown []string
	g := build(tab.columns, true)
	if g.cols() > t.width {
		g = build(tab.columns, false)
	}
	if g.cols() > t.width { // columns that say one thing throughout become a sentence
		var cols []column
		if cols, none, unknown = tab.withoutConstant(); len(none)+len(unknown) > 0 {
			g = build(cols, false)
		}
	}
	g.print(&t.page, 0)
	if len(none) > 0 {
		t.para(" ", 1, dimRole, strings.Join(none, ", ")+": 0 on every CPU")
	}
	if len(unknown) > 0 {
		t.para(" ", 1, warnRole, strings.Join(unknown, ", ")+": ? on every CPU")
	}
	if tab.hidden != "" {
		t.para(" ", 1, dimRole, tab.hidden+" (--all shows every CPU)")
	}
	for _, s := range b.states() {
		t.para(" ", 1, dimRole, s)
	}
	if tab.unknown {
		t.para(" ", 1, warnRole, "? not known: no source given says it. It is not zero.")
	}
	if tab.open {
		t.para(" ", 1, dimRole, strings.TrimSpace(t.atLeast)+" at least: what no source given can count may come on top.")
	}
}

// quantity writes one cell. A loss with no upper bound whose counters are all
// known reads "≥ 0": that is all that counters can say of it.
func (t *textReport) quantity(c column, tally *Tally) string {
	q := *c.of(tally)
	if c.sum && q != nil && q.IsUnknown() && tally.counted() {
		return t.atLeast + "0"
	}
	return t.count(q)
}

// figures is the arithmetic that a reader of counters does not do.
func (t *textReport) figures(b *Buffer) {
	lines := b.figureLines(t.glyphs)
	if len(lines) == 0 {
		return
	}
	t.line()
	w := 0
	for _, l := range lines {
		w = max(w, len(l[0]))
	}
	for _, l := range lines {
		t.para(" "+t.paint(dimRole, padRight(l[0], w))+"  ", w+3, plainRole, l[1])
	}
}

func (t *textReport) probes() {
	if len(t.d.Probes) == 0 {
		return
	}
	t.line()
	t.line(t.paint(boldRole, "probes"))
	g := &grid{
		head: []string{" probe", "kind", "target", "maxactive", "hits", "missed", "missed %"},
		left: []bool{true, true, true, false, false, false, false},
	}
	probes, hidden := worstProbes(t.d.Probes, t.o.All)
	for _, p := range probes {
		row := []cell{
			{text: " " + clean(p.Name)}, {text: clean(p.Kind)}, {text: clean(p.Target)},
			{text: orDash(plain(p.Maxactive), t.dash)},
			{text: t.count(p.Hits)}, {text: t.count(p.Missed)}, {text: orDash(t.bounds(p.missedPercent()), t.dash)},
		}
		if m := p.Missed; m != nil && m.Lo > 0 {
			row[5].role, row[6].role = badRole, badRole
		}
		g.rows = append(g.rows, row)
	}
	g.print(&t.page, 0)
	if hidden > 0 {
		t.para(" ", 1, dimRole, fmt.Sprintf("%s and %d more probes that missed no more than these (--all)", t.ellipsis, hidden))
	}
}

func orDash(s, dash string) string {
	if s == "" {
		return dash
	}
	return s
}
