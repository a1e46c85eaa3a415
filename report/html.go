package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/ringaudit/ringaudit/audit"
)

var (
	//go:embed web/base.css
	baseCSS string
	//go:embed web/report.css
	reportCSS string
	//go:embed web/report.js
	reportJS string
	//go:embed web/report.gohtml
	reportHTML string
)

// BaseCSS is the colours and the type of ringaudit's pages, for other pages
// that should look the same. It follows the reader's choice of light or dark.
func BaseCSS() string { return baseCSS }

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"segments": segments,
	"clean":    cleanKeep,
}).Parse(reportHTML))

// renderHTML writes one page that holds everything it needs: it asks for
// nothing over the network, and its policy forbids it. Without scripts it shows
// the same, whole.
func renderHTML(w io.Writer, d *Document, o Options) error {
	v := &htmlPage{
		D: d, Title: "Trace audit: " + d.Verdict, Headline: d.headline(unicodeGlyphs), Several: len(d.Buffers) > 1,
		CSS: template.CSS(baseCSS + reportCSS + svgStyle), JS: template.JS(reportJS), Sources: d.Sources, Closers: d.closers(),
	}
	v.Reason = d.reason(v.Headline)
	if len(d.Buffers) == 1 {
		v.Left = d.Buffers[0].left(unicodeGlyphs)
		v.Title += ", " + clean(d.Buffers[0].Name)
	}
	if n := len(d.BlindSpots); n == 1 {
		v.BlindIntro = "1 kind of loss that no source given could have shown. That the counters are silent about it says nothing."
	} else {
		v.BlindIntro = fmt.Sprintf("%d kinds of loss that no source given could have shown. That the counters are silent about them says nothing.", n)
	}
	budget := newBudget(d)
	for i := range d.Buffers {
		b := v.buffer(&d.Buffers[i], i, o)
		if b.Wide != "" {
			v.Data = append(v.Data, pictureData(&d.Buffers[i], budget))
		} else {
			v.Data = append(v.Data, nil)
		}
		v.Buffers = append(v.Buffers, b)
	}
	if !slices.ContainsFunc(v.Buffers, func(b htmlBuffer) bool { return b.Wide != "" }) {
		v.Data = nil
	}
	v.probes()
	v.findings(o)
	return reportTemplate.Execute(w, v)
}

type htmlPage struct {
	D                             *Document
	Title, Headline, Reason, Left string
	CSS                           template.CSS
	JS                            template.JS
	Several                       bool
	Buffers                       []htmlBuffer
	Probes                        []htmlProbe
	Findings                      []htmlFinding
	Suppressed                    []htmlFinding
	BlindIntro                    string
	Closers                       []string
	Sources                       []Source
	Data                          []*htmlPicture
}

type htmlBuffer struct {
	N                                            int
	Name, Verdict, Facts, Headline, Reason, Left string
	Columns, Notes                               []string
	Rows                                         []htmlRow
	Figures                                      [][2]string
	Wide, Narrow                                 template.HTML // our own SVG, escaped where it was written
	Closed                                       bool          // there are holes to step to
	Holes                                        *htmlHoles
	Writers                                      []htmlWriter
}

type htmlRow struct {
	Label string
	Total bool
	Cells []htmlCell
}

type htmlCell struct{ Text, Class string }

type htmlHoles struct {
	Summary, Unit string
	Rows          []htmlHole
}

type htmlHole struct{ CPU, Events, After, Before, Kind, Place string }

type htmlWriter struct{ CPU, Name, Count, Bytes string }

type htmlProbe struct {
	Name, Kind, Target, Maxactive, Hits, Missed, Percent string
	Bad                                                  bool
}

type htmlFinding struct {
	Severity, Rule, Where string
	Message, Action       []segment
	Title, Text           string // the rule's own documentation
	Evidence              []htmlEvidence
	Citations             []htmlCitation
	Suppressed            string
	More                  []htmlFinding
	MoreSummary           string
}

type htmlEvidence struct{ Place, Text string }

type htmlCitation struct{ ID, URL string }

func (v *htmlPage) buffer(b *Buffer, n int, o Options) htmlBuffer {
	g := unicodeGlyphs
	h := htmlBuffer{
		N: n, Name: clean(b.Name), Verdict: b.Verdict, Headline: b.headline(g), Left: b.left(g),
		Facts: b.facts(" · "), Figures: b.figureLines(g),
	}
	if t, ok := timelineOf(b); ok && t.worthDrawing() {
		h.Wide = template.HTML(embed(b, fmt.Sprintf("ra-%d", n), "wide", svgWidth))
		h.Narrow = template.HTML(embed(b, fmt.Sprintf("ra-%d-narrow", n), "narrow", svgNarrowWidth))
		for _, l := range t.lanes {
			h.Closed = h.Closed || slices.ContainsFunc(l.holes, func(s stretch) bool { return !s.openBegin && !s.openEnd })
		}
	}
	h.Reason = b.reason(h.Headline)
	h.tally(b, o)
	h.holes(v.D, b)
	h.writers(b)
	return h
}

func (h *htmlBuffer) tally(b *Buffer, o Options) {
	tab := newTally(b, o.All)
	for _, c := range tab.columns {
		h.Columns = append(h.Columns, strings.ReplaceAll(c.head, "\n", " "))
	}
	if tab.windows {
		h.Columns = append(h.Columns, tab.windowHead("–")+", "+tab.unitHead())
	}
	q := textReport{page: page{glyphs: unicodeGlyphs}}
	for _, r := range tab.rows {
		row := htmlRow{Label: r.label, Total: r.total}
		for _, c := range tab.columns {
			n := *c.of(r.tally)
			cell := htmlCell{Text: q.quantity(c, r.tally)}
			switch {
			case cell.Text == "?":
				cell.Class = "unknown"
			case c.loss && n != nil && n.Lo > 0:
				cell.Class = "loss"
			case n == nil || n.None():
				cell.Class = "none"
			}
			row.Cells = append(row.Cells, cell)
		}
		if tab.windows {
			row.Cells = append(row.Cells, htmlCell{Text: r.ends("–")})
		}
		h.Rows = append(h.Rows, row)
	}
	if tab.hidden != "" {
		h.Notes = append(h.Notes, "Shown "+tab.hidden+".")
	}
	h.Notes = append(h.Notes, b.states()...)
	if tab.unknown {
		h.Notes = append(h.Notes, "? not known: no source given says it. It is not zero.")
	}
	if tab.open {
		h.Notes = append(h.Notes, "≥ at least: what no source given can count may come on top.")
	}
}

// maxHoleRows is how many holes the table names; the picture has all.
const maxHoleRows = 50

func (h *htmlBuffer) holes(d *Document, b *Buffer) {
	type placed struct {
		cpu string
		*Hole
	}
	var all []placed
	for i := range b.CPUs {
		for j := range b.CPUs[i].Holes {
			all = append(all, placed{cpuName(b.CPUs[i].CPU), &b.CPUs[i].Holes[j]})
		}
	}
	for j := range b.Holes {
		all = append(all, placed{"all", &b.Holes[j]})
	}
	if len(all) == 0 {
		return
	}
	t := &htmlHoles{Unit: clean(unitOf(b)), Summary: "The holes as a table"}
	if n := len(all); n > maxHoleRows {
		slices.SortStableFunc(all, func(x, y placed) int { return cmp.Compare(y.Events.Lo, x.Events.Lo) })
		all = all[:maxHoleRows]
		t.Summary = fmt.Sprintf("The %d largest of %s holes as a table", maxHoleRows, group(uint64(n)))
	}
	stamp := func(s *string, open string) string {
		if s == nil {
			return open
		}
		return clean(*s)
	}
	for _, p := range all {
		kind := clean(p.Kind)
		if p.Inferred {
			kind += ", place inferred"
		}
		t.Rows = append(t.Rows, htmlHole{
			CPU: p.cpu, Events: unicodeGlyphs.count(&p.Events), Kind: kind,
			After: stamp(p.After, "the begin"), Before: stamp(p.Before, "the end"),
			Place: clean(d.place(&Evidence{Source: p.Source, Line: p.Line, Offset: p.Offset})),
		})
	}
	h.Holes = t
}

func (h *htmlBuffer) writers(b *Buffer) {
	const cpus, rows = 8, 8
	var with []*CPU
	for i := range b.CPUs {
		if len(b.CPUs[i].Events) > 0 {
			with = append(with, &b.CPUs[i])
		}
	}
	slices.SortStableFunc(with, func(x, y *CPU) int { return cmp.Compare(y.loss(), x.loss()) })
	with = with[:min(cpus, len(with))]
	slices.SortFunc(with, func(x, y *CPU) int { return cmp.Compare(x.CPU, y.CPU) })
	for _, c := range with {
		for _, e := range c.Events[:min(rows, len(c.Events))] {
			w := htmlWriter{CPU: cpuName(c.CPU), Name: clean(e.Name), Count: group(e.Count)}
			if e.Bytes > 0 {
				w.Bytes = group(e.Bytes)
			}
			h.Writers = append(h.Writers, w)
		}
	}
}

func (v *htmlPage) probes() {
	for i := range v.D.Probes {
		p := &v.D.Probes[i]
		v.Probes = append(v.Probes, htmlProbe{
			Name: clean(p.Name), Kind: clean(p.Kind), Target: clean(p.Target), Maxactive: orDash(plain(p.Maxactive), "–"),
			Hits: unicodeGlyphs.count(p.Hits), Missed: unicodeGlyphs.count(p.Missed), Percent: orDash(p.missedPercent(), "–"),
			Bad: p.Missed != nil && p.Missed.Lo > 0,
		})
	}
}

func (v *htmlPage) findings(o Options) {
	groups, suppressed := groupFindings(v.D)
	for _, g := range groups {
		show, more := g.shown(o.All)
		for i, f := range show {
			h := v.finding(f, o)
			if i+1 < len(show) && show[i+1].Action == f.Action {
				h.Action = nil // said once, after the last
			}
			if i == len(show)-1 && more > 0 {
				h.MoreSummary = fmt.Sprintf("%d more of this kind, %s", more, othersOf(g, show))
				for _, f := range g.findings[len(show):] {
					m := v.finding(f, o)
					if f.Action == show[i].Action {
						m.Action = nil
					}
					h.More = append(h.More, m)
				}
			}
			v.Findings = append(v.Findings, h)
		}
	}
	for _, f := range suppressed {
		v.Suppressed = append(v.Suppressed, v.finding(f, o))
	}
}

func (v *htmlPage) finding(f *Finding, o Options) htmlFinding {
	h := htmlFinding{
		Severity: f.Severity, Rule: clean(f.Rule), Where: v.D.where(f), Message: segments(f.Message), Action: segments(f.Action),
		Suppressed: clean(f.Suppressed),
	}
	for _, c := range f.Citations {
		h.Citations = append(h.Citations, htmlCitation{clean(c), o.link(c)})
	}
	quotes, more := v.D.quotes(f, 16)
	for _, q := range quotes {
		h.Evidence = append(h.Evidence, htmlEvidence{q.place, clip(q.text, 200, "…")})
	}
	if more > 0 {
		h.Evidence = append(h.Evidence, htmlEvidence{Place: fmt.Sprintf("and %d more", more)})
	}
	if r := audit.RuleByID(f.Rule); r != nil {
		h.Title, h.Text = r.Title, r.Text
	}
	return h
}
