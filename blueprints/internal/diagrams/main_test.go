package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The committed pictures are what the program draws, byte for byte, and none is
// left of a drawing that is gone.
func TestCommitted(t *testing.T) {
	drawn := map[string]bool{}
	for _, n := range names() {
		for name, svg := range drawings[n].files(n) {
			drawn[name] = true
			file := filepath.Join("..", "..", "img", name)
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// Git may have checked the file out with CR LF.
			if want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")); !bytes.Equal(svg, want) {
				t.Errorf("%s is not what the program draws; run go generate in blueprints/internal/diagrams", file)
			}
		}
	}
	found, err := filepath.Glob(filepath.Join("..", "..", "img", "*.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if !drawn[filepath.Base(f)] {
			t.Errorf("%s is drawn by nothing here", f)
		}
	}
}

// page is what a picture says.
type page struct {
	viewBox, title, desc string
	text                 []string // of its text elements
	elements             map[string]int
}

func readPage(t *testing.T, name string, svg []byte) page {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	p := page{elements: map[string]int{}}
	in := ""
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return p
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			in = e.Name.Local
			p.elements[in]++
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "%!") {
					t.Errorf("%s: %s=%q", name, a.Name.Local, a.Value)
				}
				if a.Name.Local == "viewBox" {
					p.viewBox = a.Value
				}
			}
		case xml.EndElement:
			in = ""
		case xml.CharData:
			switch in {
			case "title":
				p.title = string(e)
			case "desc":
				p.desc = string(e)
			case "text":
				p.text = append(p.text, string(e))
			}
		}
	}
}

// words are all words of the picture's text, each once, in order.
func (p page) words() []string {
	w := strings.Fields(strings.Join(p.text, " "))
	slices.Sort(w)
	return slices.Compact(w)
}

// The two variants of a picture say the same in the same words, and the narrow
// one is upright.
func TestVariants(t *testing.T) {
	for _, n := range names() {
		wide, narrow := readPage(t, n, drawings[n].wide()), readPage(t, n+".narrow", drawings[n].narrow())
		if wide.title != narrow.title || wide.desc != narrow.desc {
			t.Errorf("%s: the variants have different titles or descriptions", n)
		}
		if a, b := wide.words(), narrow.words(); !slices.Equal(a, b) {
			t.Errorf("%s: the variants use different words:\nwide   %q\nnarrow %q", n, a, b)
		}
		var w, h float64
		if _, err := fmt.Sscanf(wide.viewBox, "0 0 %g %g", &w, &h); err != nil || w != 640 {
			t.Errorf("%s: viewBox %q, want one 640 wide", n, wide.viewBox)
		}
		if _, err := fmt.Sscanf(narrow.viewBox, "0 0 %g %g", &w, &h); err != nil || w != 340 || h <= w {
			t.Errorf("%s: narrow viewBox %q, want one 340 wide and higher than that", n, narrow.viewBox)
		}
	}
}

// No text is smaller than 11 units, which is what the narrow variant has to
// keep to be legible at the width of a phone.
func TestFontSizes(t *testing.T) {
	sizes := regexp.MustCompile(`font(?:-size)?:\s*([0-9.]+)px`).FindAllStringSubmatch(style, -1)
	if len(sizes) < 2 {
		t.Fatalf("found %d font sizes in the style, want several", len(sizes))
	}
	for _, s := range sizes {
		if px, err := strconv.ParseFloat(s[1], 64); err != nil || px < 11 {
			t.Errorf("%s: smaller than 11 units", s[0])
		}
	}
}

// Each picture is well-formed, says what it shows, asks for nothing from
// outside, and belongs to a blueprint that shows it.
func TestDrawings(t *testing.T) {
	for _, n := range names() {
		for file, svg := range drawings[n].files(n) {
			seen := readPage(t, file, svg).elements
			for _, e := range []string{"title", "desc", "style"} {
				if seen[e] != 1 {
					t.Errorf("%s: %d elements %s, want one", file, seen[e], e)
				}
			}
			if seen["image"]+seen["use"]+seen["script"] > 0 {
				t.Errorf("%s: elements that load something: %v", file, seen)
			}
			if !bytes.Contains(svg, []byte("prefers-color-scheme:dark")) {
				t.Errorf("%s: no colours for dark mode", file)
			}
		}
		text, err := os.ReadFile(filepath.Join("..", "..", n+".md"))
		if err != nil {
			t.Fatal(err)
		}
		_, after, ok := strings.Cut(string(text), "![")
		alt, _, _ := strings.Cut(after, "]")
		if !ok || !strings.Contains(string(text), "](img/"+n+".svg)") {
			t.Errorf("%s.md does not show img/%s.svg", n, n)
		}
		if len(alt) < 40 {
			t.Errorf("%s.md: alternative text %q says too little", n, alt)
		}
	}
}
