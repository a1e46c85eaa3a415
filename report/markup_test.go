package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// toHTML reads Markdown as GitHub does before it strips what it does not allow.
func toHTML(t *testing.T, md []byte) string {
	t.Helper()
	var b bytes.Buffer
	g := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe(), html.WithXHTML()))
	if err := g.Convert(md, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	tag       = regexp.MustCompile(`</?([a-zA-Z0-9]+)[^>]*>`)
	mdAllowed = []string{"h2", "h3", "p", "blockquote", "strong", "em", "code", "pre", "ul", "ol", "li", "br", "sub", "b", "details", "summary",
		"table", "thead", "tbody", "tr", "th", "td", "img"}
)

// Nothing in a trace becomes markup: only the tags of the format itself are
// there, and each table has in every row the cells of its head.
func TestMarkdownIsSafe(t *testing.T) {
	for _, d := range testDocs() {
		got := toHTML(t, render(t, "markdown", d.doc, Options{}))
		for _, m := range tag.FindAllStringSubmatch(got, -1) {
			if !slices.Contains(mdAllowed, strings.ToLower(m[1])) {
				t.Errorf("%s: tag %s", d.name, m[0])
			}
		}
		for _, table := range strings.Split(got, "<table>")[1:] {
			table, _, _ = strings.Cut(table, "</table>")
			want := strings.Count(table, "<th") - strings.Count(table, "<thead") - 0
			for i, row := range strings.Split(table, "<tr>")[2:] {
				if n := strings.Count(row, "<td"); n != want {
					t.Errorf("%s: row %d has %d cells under %d heads:\n%s", d.name, i+1, n, want, row)
				}
			}
		}
	}
}

func TestMarkdownText(t *testing.T) {
	for in, want := range map[string]string{
		"trace_pipe":            "trace_pipe",
		"_x_ *y*":               "_x_ *y*",
		"a|b":                   "a|b",
		"<b>":                   "&lt;b&gt;",
		"@someone":              "@<!-- -->someone",
		"- not a list":          "- not a list",
		"1. not a list":         "1. not a list",
		"# not a heading":       "# not a heading",
		"https://example.com/x": "https:<!-- -->//example.com/x",
		"~~kept~~":              "~~kept~~",
		"[a](b)":                "[a](b)",
		`c:\dir`:                `c:\dir`,
	} {
		if got := strings.TrimSpace(toHTML(t, []byte(mdText(in)))); got != "<p>"+want+"</p>" {
			t.Errorf("%q reads %q", in, got)
		}
	}
	for _, in := range []string{"a", "`", "``", "a`b", "`a`", "a|b`c", " x ", "# x", "<b>", "&amp;"} {
		got := strings.TrimSpace(toHTML(t, []byte("| h |\n|---|\n| "+mdCode(in)+" |\n")))
		want := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(in)
		if !strings.Contains(got, "<code>"+want+"</code>") && !strings.Contains(got, "<code>"+strings.TrimSpace(want)+"</code>") {
			t.Errorf("code of %q reads %q", in, got)
		}
	}
}

func TestMarkdownGolden(t *testing.T) {
	for _, d := range testDocs() {
		if d.name != "holes-100k" {
			golden(t, "markdown/"+d.name+".md", render(t, "markdown", d.doc, Options{}))
		}
	}
	got := string(render(t, "markdown", traceDat(), Options{Picture: "loss over time.svg"}))
	if !strings.Contains(got, "](<loss over time.svg>)") || strings.Contains(got, "```text") {
		t.Error("the picture is not linked in place of the lane")
	}
	if html := toHTML(t, []byte(got)); !strings.Contains(html, `<img src="loss%20over%20time.svg" alt="Loss over time.`) {
		t.Error("the link is no picture")
	}
}

// element is one start tag of a picture.
type element struct {
	name string
	attr map[string]string
	path []string // classes of what it stands in
}

// parseSVG reads a picture strictly and fails on what XML does not allow.
func parseSVG(t *testing.T, b []byte) []element {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(b))
	dec.Strict = true
	var out []element
	var path []string
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
		switch x := tok.(type) {
		case xml.StartElement:
			e := element{x.Name.Local, map[string]string{}, slices.Clone(path)}
			for _, a := range x.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			out = append(out, e)
			path = append(path, e.attr["class"])
		case xml.EndElement:
			path = path[:len(path)-1]
		}
	}
}

func TestSVG(t *testing.T) {
	for _, d := range testDocs() {
		t.Run(d.name, func(t *testing.T) {
			got := render(t, "svg", d.doc, Options{})
			if d.name != "cpus-256" && d.name != "holes-100k" {
				golden(t, "svg/"+d.name+".svg", got)
			}
			if n := len(got); n > 400<<10 {
				t.Errorf("%d KiB", n>>10)
			}
			es := parseSVG(t, got)
			if es[0].name != "svg" || es[0].attr["role"] != "img" || es[1].name != "title" || es[2].name != "desc" {
				t.Error("no picture with a title and a description first")
			}
			ids := map[string]bool{}
			for _, e := range es {
				if id := e.attr["id"]; id != "" {
					if ids[id] {
						t.Errorf("id %s twice", id)
					}
					ids[id] = true
				}
				for k := range e.attr {
					if strings.HasPrefix(k, "on") || k == "href" {
						t.Errorf("attribute %s", k)
					}
				}
				if e.name == "script" || e.name == "image" || e.name == "foreignObject" {
					t.Errorf("element %s", e.name)
				}
			}
			for _, id := range strings.Fields(es[0].attr["aria-labelledby"]) {
				if !ids[id] {
					t.Errorf("labelled by %s, which is not there", id)
				}
			}
		})
	}
}

// Holes and records stand where their stamps say, to a fiftieth of a pixel:
// the places are computed here anew, in floating point.
func TestSVGIsToScale(t *testing.T) {
	es := parseSVG(t, render(t, "svg", traceDat(), Options{}))
	var x0, x1 float64
	for _, e := range es { // the thin line of a lane spans the time to scale
		if e.attr["class"] == "ra-base" {
			var y float64
			if _, err := fmt.Sscanf(e.attr["d"], "M%f %fH%f", &x0, &y, &x1); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	at := func(stamp float64) float64 { return x0 + (stamp-30.1)/(30.9-30.1)*(x1-x0) }
	want := map[string][][2]float64{
		"ra-kept": {{30.1, 30.9}, {30.15, 30.7}},
		"ra-lost": {{30.25, 30.3}, {30.48, 30.56}, {30.7, 30.702}, {30.4, 30.44}},
	}
	have := map[string]int{}
	for _, e := range es {
		c := e.attr["class"]
		if e.name != "rect" || want[c] == nil || len(e.path) < 3 || e.path[len(e.path)-1] == "" && e.path[len(e.path)-2] != "ra-data" {
			continue
		}
		if !slices.Contains(e.path, "ra-data") {
			continue // the key below the picture
		}
		x, _ := strconv.ParseFloat(e.attr["x"], 64)
		w, _ := strconv.ParseFloat(e.attr["width"], 64)
		s := want[c][have[c]]
		have[c]++
		width := math.Max(at(s[1])-at(s[0]), 1.5)
		if math.Abs(x-at(s[0])) > 0.02 || math.Abs(w-width) > 0.03 {
			t.Errorf("%s %v: at %v, %v wide; want %v and %v", c, s, x, w, at(s[0]), width)
		}
	}
	if have["ra-kept"] != 2 || have["ra-lost"] != 4 {
		t.Errorf("drawn: %v", have)
	}
}

// Of a hundred thousand holes the picture keeps the share of lost time in each
// stretch: the area of what is drawn as lost is that share of the lane.
func TestSVGColumns(t *testing.T) {
	const n = 100_000
	es := parseSVG(t, render(t, "svg", manyHoles(n), Options{}))
	var x0, x1, area float64
	box := regexp.MustCompile(`M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)H`)
	for _, e := range es {
		switch {
		case e.attr["class"] == "ra-base":
			var y float64
			if _, err := fmt.Sscanf(e.attr["d"], "M%f %fH%f", &x0, &y, &x1); err != nil {
				t.Fatal(err)
			}
		case e.attr["class"] == "ra-area":
			for _, m := range box.FindAllStringSubmatch(e.attr["d"], -1) {
				var v [4]float64
				for i := range v {
					v[i], _ = strconv.ParseFloat(m[i+1], 64)
				}
				area += (v[2] - v[0]) * (v[3] - v[1])
			}
		}
	}
	var lost float64 // in ns of 1e9, by the construction of manyHoles
	for i := range n {
		lost += float64(1000 + i*6000/n)
	}
	got, want := area/((x1-x0)*20), lost/1e9
	if math.Abs(got-want) > 0.01 {
		t.Errorf("%.4f of the lane is drawn as lost; %.4f is", got, want)
	}
}

func TestTimelineStamps(t *testing.T) {
	for _, c := range []struct {
		in, unit string
		want     uint64
		ok       bool
	}{
		{"17.163142", "s", 17163142000, true}, {"0.000000001", "s", 1, true}, {"5", "s", 5e9, true},
		{"18446744073.709551615", "s", 1<<64 - 1, true}, {"18446744073.709551616", "s", 0, false}, {"99999999999.0", "s", 0, false},
		{"1.0000000001", "s", 0, false}, {"1.", "s", 0, false}, {"-1.0", "s", 0, false}, {"", "s", 0, false}, {"1.x", "s", 0, false},
		{"18446744073709551615", "ticks", 1<<64 - 1, true}, {"1.5", "ticks", 0, false}, {"+5", "ticks", 0, false},
	} {
		got, ok := parseStamp(c.in, c.unit)
		if ok != c.ok || (ok && got != c.want) {
			t.Errorf("parseStamp(%q, %s) = %d, %v", c.in, c.unit, got, ok)
		}
	}
	tl := timeline{unit: "s", t0: 0, t1: 1<<64 - 1}
	if got := tl.at(1<<63, 1000); got != 500 {
		t.Errorf("the middle of all time is at %d of 1000", got)
	}
	for _, r := range [][2]uint64{{0, 0}, {0, 1<<64 - 1}, {1<<64 - 2, 1<<64 - 1}, {17163142000, 17330887000}} {
		tl.t0, tl.t1 = r[0], r[1]
		ticks, _ := tl.ticks(5)
		if len(ticks) > 7 || !slices.IsSorted(ticks) {
			t.Errorf("ticks of %v: %v", r, ticks)
		}
		for _, at := range ticks {
			if at < r[0] || at > r[1] {
				t.Errorf("tick %d outside of %v", at, r)
			}
		}
	}
}
