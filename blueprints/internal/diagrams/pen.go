package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// style is shared by all drawings. Colours follow the reader's light or dark
// mode; the ground stays transparent. Class names begin with rb- because a page
// may hold several drawings inline.
//
// kept is what is in a ring, lost what is gone, read what a reader has.
const style = `.rb-t{font:15px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:#1f2328}
.rb-s{font-size:13px}.rb-l{font-size:18px;font-weight:600}.rb-h{font-size:30px;font-weight:700}.rb-b{font-weight:600}
.rb-m{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
.rb-dim{fill:#59636e}.rb-red{fill:#b42318}.rb-blue{fill:#1d4ed8}.rb-green{fill:#15703a}.rb-white{fill:#ffffff}
.rb-e{text-anchor:end}.rb-c{text-anchor:middle}
.rb-line{fill:none;stroke:#8b949e;stroke-width:1.5}.rb-ink{fill:none;stroke:#1f2328;stroke-width:2}
.rb-kept{fill:#dbe8fd;stroke:#1d4ed8;stroke-width:1.5}.rb-lost{fill:#fde3e0;stroke:#b42318;stroke-width:1.5}
.rb-read{fill:#d9f2e2;stroke:#15703a;stroke-width:1.5}.rb-none{fill:#f3f4f6;stroke:#8b949e;stroke-width:1.5}
.rb-pane{fill:#8b949e;fill-opacity:.08;stroke:#8b949e;stroke-width:1.5}
.rb-dash{stroke-dasharray:5 4}.rb-wide{stroke-width:3}.rb-flow{fill:none;stroke:#b42318;stroke-width:9;stroke-linecap:round}
.rb-dry{fill:none;stroke:#8b949e;stroke-width:9;stroke-linecap:round;stroke-opacity:.35}
.rb-redline{fill:none;stroke:#b42318;stroke-width:2}.rb-blueline{fill:none;stroke:#1d4ed8;stroke-width:2}.rb-greenline{fill:none;stroke:#15703a;stroke-width:2}
.rb-fillred{fill:#b42318}.rb-fillblue{fill:#1d4ed8}.rb-fillink{fill:#1f2328}.rb-fillgreen{fill:#15703a}
@media (prefers-color-scheme:dark){.rb-t{fill:#e6edf3}.rb-dim{fill:#9aa4af}.rb-red{fill:#ff8e82}.rb-blue{fill:#7fb0ff}.rb-green{fill:#5fd38d}.rb-white{fill:#0d1117}
.rb-line{stroke:#6e7781}.rb-ink{stroke:#e6edf3}.rb-kept{fill:#16325c;stroke:#7fb0ff}.rb-lost{fill:#4a1f1b;stroke:#ff8e82}.rb-read{fill:#12351f;stroke:#5fd38d}
.rb-none{fill:#1c2128;stroke:#6e7781}.rb-pane{fill:#6e7781;fill-opacity:.14;stroke:#6e7781}.rb-flow{stroke:#ff8e82}.rb-dry{stroke:#6e7781}
.rb-redline{stroke:#ff8e82}.rb-blueline{stroke:#7fb0ff}.rb-greenline{stroke:#5fd38d}.rb-fillred{fill:#ff8e82}.rb-fillblue{fill:#7fb0ff}.rb-fillink{fill:#e6edf3}.rb-fillgreen{fill:#5fd38d}}
`

// pen draws one picture.
type pen struct{ b bytes.Buffer }

// caption is what a picture says to who does not see it, in both variants.
type caption struct {
	id    string // of the elements title and desc, before -t and -d
	title string // read aloud by a screen reader
	desc  string // read after it
}

// newPen begins the wide variant of a picture, h units high.
func newPen(c caption, h float64) *pen { return begin(c, wideWidth, h) }

// newNarrowPen begins the narrow one. Its ids differ, for a page may hold both.
func newNarrowPen(c caption, h float64) *pen {
	c.id += "-narrow"
	return begin(c, narrowWidth, h)
}

func begin(c caption, w, h float64) *pen {
	p := &pen{}
	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d">`+"\n", num(w), num(h), c.id, c.id)
	fmt.Fprintf(&p.b, "<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">%s</desc>\n<style>%s</style>\n", c.id, esc(c.title), c.id, esc(c.desc), style)
	return p
}

func (p *pen) done() []byte {
	p.b.WriteString("</svg>\n")
	return p.b.Bytes()
}

// num writes a coordinate, to a tenth of a unit.
func num(f float64) string {
	f = math.Round(f*10) / 10
	if f == 0 {
		f = 0 // no minus sign
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func esc(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// classes turns "lost dash" into the attribute.
func classes(c string) string {
	f := strings.Fields(c)
	for i := range f {
		f[i] = "rb-" + f[i]
	}
	return strings.Join(f, " ")
}

func (p *pen) rect(c string, x, y, w, h, r float64) {
	fmt.Fprintf(&p.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="%s"/>`+"\n", classes(c), num(x), num(y), num(w), num(h), num(r))
}

func (p *pen) circle(c string, x, y, r float64) {
	fmt.Fprintf(&p.b, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`+"\n", classes(c), num(x), num(y), num(r))
}

func (p *pen) line(c string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&p.b, `<path class="%s" d="M%s %sL%s %s"/>`+"\n", classes(c), num(x1), num(y1), num(x2), num(y2))
}

// path takes a d attribute with %s for each coordinate.
func (p *pen) path(c, d string, at ...float64) {
	s := make([]any, len(at))
	for i, f := range at {
		s[i] = num(f)
	}
	fmt.Fprintf(&p.b, `<path class="%s" d="%s"/>`+"\n", classes(c), fmt.Sprintf(d, s...))
}

// text writes a line; c are classes besides the common one.
func (p *pen) text(c string, x, y float64, s string) {
	fmt.Fprintf(&p.b, `<text class="%s" x="%s" y="%s">%s</text>`+"\n", classes("t "+c), num(x), num(y), esc(s))
}

// lines writes one line below the other, step units apart.
func (p *pen) lines(c string, x, y, step float64, s ...string) {
	for i, l := range s {
		p.text(c, x, y+float64(i)*step, l)
	}
}

// arrow draws a line with a head at its end; fill is the head's class.
func (p *pen) arrow(c, fill string, x1, y1, x2, y2 float64) {
	a := math.Atan2(y2-y1, x2-x1)
	const l, w = 10, 5
	bx, by := x2-l*math.Cos(a), y2-l*math.Sin(a)
	p.line(c, x1, y1, bx, by)
	p.head(fill, x2, y2, a, l, w)
}

func (p *pen) head(fill string, x, y, a, l, w float64) {
	bx, by := x-l*math.Cos(a), y-l*math.Sin(a)
	p.path(fill, "M%s %sL%s %sL%s %sZ", x, y, bx+w*math.Sin(a), by-w*math.Cos(a), bx-w*math.Sin(a), by+w*math.Cos(a))
}

const degree = math.Pi / 180

// polar is a point at a distance from another, at an angle in degrees clockwise
// from the top.
func polar(cx, cy, r, deg float64) (x, y float64) {
	a := (deg - 90) * degree
	return cx + r*math.Cos(a), cy + r*math.Sin(a)
}

// arc is a piece of a circle between two angles, less than half of it.
func (p *pen) arc(c string, cx, cy, r, from, to float64) {
	x1, y1 := polar(cx, cy, r, from)
	x2, y2 := polar(cx, cy, r, to)
	p.path(c, "M%s %sA%s %s 0 0 1 %s %s", x1, y1, r, r, x2, y2)
}

// sector is a piece of a ring between two angles, less than half of it, with a
// margin on both sides.
func (p *pen) sector(c string, cx, cy, r0, r1, from, to, margin float64) {
	x1, y1 := polar(cx, cy, r1, from+margin/r1/degree)
	x2, y2 := polar(cx, cy, r1, to-margin/r1/degree)
	x3, y3 := polar(cx, cy, r0, to-margin/r0/degree)
	x4, y4 := polar(cx, cy, r0, from+margin/r0/degree)
	p.path(c, "M%s %sA%s %s 0 0 1 %s %sL%s %sA%s %s 0 0 0 %s %sZ", x1, y1, r1, r1, x2, y2, x3, y3, r0, r0, x4, y4)
}

// meter is a counter: its name, and its digits in a row of boxes.
func (p *pen) meter(c, textClass string, x, y float64, name, digits string) {
	const w, h = 26, 38
	p.text("m b "+textClass, x, y-10, name)
	for i, d := range digits {
		bx := x + float64(i)*(w+3)
		p.rect(c, bx, y, w, h, 4)
		p.text("m l c "+textClass, bx+w/2, y+25, string(d))
	}
}
