package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// renderSVG writes the picture of loss over time as a file of its own: one
// lane per CPU, records and holes to scale, in light or dark by what the
// viewer prefers.
func renderSVG(w io.Writer, d *Document, o Options) error {
	s := &svg{standalone: true, id: "ra", wide: svgWidth}
	var parts []*picture
	height := px(0)
	for i := range d.Buffers {
		p := s.picture(&d.Buffers[i], len(d.Buffers) > 1)
		if p != nil {
			parts = append(parts, p)
			height += p.height
		}
	}
	title := "Loss over time: " + d.headline(unicodeGlyphs)
	desc := make([]string, 0, len(parts))
	if len(parts) == 0 {
		height = 4000
		desc = append(desc, "No record and no hole of this document has a place in time.")
	}
	for _, p := range parts {
		desc = append(desc, p.desc)
	}
	s.open("ra", s.wide, height, title, strings.Join(desc, " "), "")
	if len(parts) == 0 {
		s.text(s.wide/2, 2400, "ra-text", "middle", desc[0])
	}
	y := px(0)
	for _, p := range parts {
		s.b.WriteString(`<g transform="translate(0 ` + y.String() + `)">` + "\n" + p.body + "</g>\n")
		y += p.height
	}
	s.b.WriteString("</svg>\n")
	_, err := io.WriteString(w, s.b.String())
	return err
}

// embed draws b as an element of a page, whose style brings the colours. The
// attributes tell a script where the time to scale begins and ends.
func embed(b *Buffer, id, class string, wide px) string {
	s := &svg{id: id, wide: wide}
	p := s.picture(b, false)
	if p == nil {
		return ""
	}
	s.open(id, wide, p.height, "Loss over time", p.desc, fmt.Sprintf(` data-id="%s" data-x0="%s" data-x1="%s"`, id, p.x0, p.x1))
	s.b.WriteString(p.body + "</svg>\n")
	return strings.Replace(s.b.String(), `class="ra-svg"`, `class="ra-svg `+class+`"`, 1)
}

// px is a length in hundredths of a pixel: pictures are drawn in whole numbers,
// so that every machine draws the same bytes.
type px int64

func (p px) String() string {
	s := ""
	if p < 0 {
		s, p = "-", -p
	}
	s += strconv.FormatInt(int64(p/100), 10)
	if r := p % 100; r != 0 {
		s += "." + strings.TrimRight(strconv.FormatInt(int64(100+r), 10)[1:], "0")
	}
	return s
}

// Widths of a picture: on a page, and on a phone.
const (
	svgWidth       px = 96000
	svgNarrowWidth px = 32800
	charWidth      px = 640 // of the 11 px labels, on the wide side
)

// svg writes one picture.
type svg struct {
	b          strings.Builder
	standalone bool // brings its own colours
	id         string
	wide       px
}

// A picture is the drawing of one buffer.
type picture struct {
	body   string
	height px
	desc   string
	// What a script needs to draw another stretch of time in the same frame.
	x0, x1 px
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(clean(s)))
	return b.String()
}

// open starts the picture; extra is further attributes.
func (s *svg) open(id string, w, h px, title, desc, extra string) {
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" class="ra-svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-labelledby="%s-t %s-d"%s>`+"\n", w, h, w, h, id, id, extra)
	fmt.Fprintf(&s.b, "<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">%s</desc>\n", id, escape(title), id, escape(desc))
	if s.standalone {
		s.b.WriteString("<style>" + svgTheme + svgStyle + "</style>\n")
	}
	s.defs(id)
}

// svgTheme is the colours of a picture that stands alone. A page that embeds
// it defines the same variables.
const svgTheme = `
:root{--ra-fg:#1f2328;--ra-dim:#59636e;--ra-line:#d1d9e0;--ra-kept:#2f6fae;--ra-lost:#fbdccb;--ra-edge:#b83c0b;--ra-on-lost:#6b2204}
@media (prefers-color-scheme:dark){:root{--ra-fg:#e6edf3;--ra-dim:#9da7b1;--ra-line:#3d444d;--ra-kept:#5d9fdc;--ra-lost:#54210d;--ra-edge:#ff8f5f;--ra-on-lost:#ffd9c7}}
`

// svgStyle uses those colours. It is also part of the HTML page.
const svgStyle = `
.ra-svg{font:11px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums}
.ra-text{fill:var(--ra-fg)}.ra-name{fill:var(--ra-fg);font-weight:600}.ra-dim{fill:var(--ra-dim)}
.ra-axis{stroke:var(--ra-line);fill:none}.ra-base{fill:var(--ra-line)}
.ra-kept{fill:var(--ra-kept)}.ra-lost{fill:var(--ra-lost);stroke:var(--ra-edge);stroke-width:1}
.ra-area{fill:var(--ra-lost)}.ra-area-edge{fill:none;stroke:var(--ra-edge);stroke-width:1}.ra-needle{fill:var(--ra-edge)}
.ra-count{fill:var(--ra-on-lost)}.ra-hatch{stroke:var(--ra-edge);stroke-width:1.5}
.ra-stop-kept{stop-color:var(--ra-kept)}.ra-stop-lost{stop-color:var(--ra-lost)}
`

// defs holds the fades of what has no end and the hatching of what is inferred.
func (s *svg) defs(id string) {
	grad := func(name, class string, from, to int) {
		fmt.Fprintf(&s.b, `<linearGradient id="%s-%s"><stop class="%s" offset="0" stop-opacity="%d"/><stop class="%s" offset="1" stop-opacity="%d"/></linearGradient>`, id, name, class, from, class, to)
	}
	s.b.WriteString("<defs>")
	grad("begin", "ra-stop-lost", 0, 1)
	grad("end", "ra-stop-lost", 1, 0)
	grad("vague", "ra-stop-kept", 1, 0)
	fmt.Fprintf(&s.b, `<pattern id="%s-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="ra-hatch" d="M0 0V6"/></pattern>`, id)
	s.b.WriteString("</defs>\n")
}

func (s *svg) text(x, y px, class, anchor, text string) {
	a := ""
	if anchor != "" {
		a = ` text-anchor="` + anchor + `"`
	}
	fmt.Fprintf(&s.b, `<text class="%s" x="%s" y="%s"%s>%s</text>`+"\n", class, x, y, a, escape(text))
}

// laneSpace is how a lane is laid out, by how many there are.
type laneSpace struct {
	needles, bar, gap px
	labelEach         int  // every how many lanes one is named
	counts            bool // the count of holes beside each
	above             bool // name and count stand above the lane
}

func spaceFor(lanes int, narrow bool) laneSpace {
	switch {
	case lanes <= 16 && narrow:
		return laneSpace{needles: 1200, bar: 1800, gap: 2400, labelEach: 1, counts: true, above: true}
	case lanes <= 16:
		return laneSpace{needles: 1400, bar: 2000, gap: 1000, labelEach: 1, counts: true}
	case lanes <= 64:
		return laneSpace{bar: 1000, gap: 500, labelEach: 1, counts: !narrow}
	}
	if lanes <= 128 {
		return laneSpace{bar: 600, gap: 200, labelEach: 4}
	}
	return laneSpace{bar: 300, gap: 100, labelEach: 8}
}

// maxDrawn is how many holes of a lane are drawn one by one, each with its
// count; more become columns.
const maxDrawn = 64

// picture draws b, or nothing where nothing has a place in time. named puts
// the buffer's name above it.
func (s *svg) picture(b *Buffer, named bool) *picture {
	t, ok := timelineOf(b)
	if !ok {
		return nil
	}
	lanes, _ := t.pick(true)
	if len(lanes) == 0 {
		return nil
	}
	narrow := s.wide < 50000
	f := frame{svg: s, t: &t, space: spaceFor(len(lanes), narrow), narrow: narrow}
	f.layOut(lanes)
	saved := s.b
	s.b = strings.Builder{}

	y := px(400)
	if named {
		s.text(f.left, y+1000, "ra-name", "", "buffer "+b.Name)
		y += 1800
	}
	top := y
	for i := range lanes {
		y += f.lane(&lanes[i], y, i)
	}
	y = f.axis(top, y)
	y = f.key(lanes, y)
	for _, line := range f.captions(lanes) {
		for _, l := range wrap(line, int((s.wide-f.left)/charWidth)) {
			s.text(f.left, y+1000, "ra-dim", "", l)
			y += 1500
		}
	}
	p := &picture{body: s.b.String(), height: y + 600, desc: t.describe(b, lanes), x0: f.x0, x1: f.x1}
	s.b = saved
	return p
}
