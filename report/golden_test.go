package report

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file of testdata, byte for byte.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./report -update writes it)", err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs (-want +got):\n%s", name, cmp.Diff(string(want), string(got)))
	}
}

func render(t *testing.T, format string, d *Document, o Options) []byte {
	t.Helper()
	f, err := Lookup(format)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Render(&b, d, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestText(t *testing.T) {
	for _, d := range testDocs() {
		t.Run(d.name, func(t *testing.T) {
			golden(t, "text/"+d.name+".txt", render(t, "text", d.doc, Options{}))
		})
	}
	golden(t, "text/small-overwrite.80.txt", render(t, "text", smallOverwrite(), Options{Width: 80}))
	golden(t, "text/small-overwrite.120.txt", render(t, "text", smallOverwrite(), Options{Width: 120}))
	golden(t, "text/trace-dat.ascii.txt", render(t, "text", traceDat(), Options{Width: 80, ASCII: true}))
	golden(t, "text/trace-dat.color.txt", render(t, "text", traceDat(), Options{Color: true}))
}

// The formats for programs. Those of documents with thousands of holes are
// looked at by the tests of each format.
func TestGolden(t *testing.T) {
	for _, d := range testDocs() {
		switch d.name {
		case "small-overwrite", "known-count-no-overwrite", "kretprobe", "text-alone", "trace-dat", "two-buffers":
		default:
			continue
		}
		for _, format := range []string{"json", "jsonl", "prometheus", "sarif", "junit", "github"} {
			f, err := Lookup(format)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, format+"/"+d.name+f.Ext, render(t, format, d.doc, Options{}))
		}
	}
}

var escapeCode = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Without colour there is no control character but the newline, and colour
// changes nothing else.
func TestTextColor(t *testing.T) {
	for _, d := range testDocs() {
		for _, o := range []Options{{}, {Width: 80}, {Width: 40}, {ASCII: true}, {All: true}} {
			plain := string(render(t, "text", d.doc, o))
			if i := strings.IndexFunc(plain, func(r rune) bool { return r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0) }); i >= 0 {
				t.Errorf("%s: control character %q", d.name, plain[i])
			}
			o.Color = true
			colored := string(render(t, "text", d.doc, o))
			if colored == plain {
				t.Errorf("%s: no colour", d.name)
			}
			if got := escapeCode.ReplaceAllString(colored, ""); trimLines(got) != trimLines(plain) {
				t.Errorf("%s: colour changes the text:\n%s", d.name, cmp.Diff(plain, got))
			}
		}
	}
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// Text keeps to its width, but for what must not be cut: a long path or quote.
func TestTextWidth(t *testing.T) {
	for _, d := range testDocs() {
		if d.name == "hostile" {
			continue
		}
		for _, w := range []int{80, 100, 120, 200} {
			for i, line := range strings.Split(string(render(t, "text", d.doc, Options{Width: w})), "\n") {
				if n := utf8.RuneCountInString(line); n > w {
					t.Errorf("%s at %d: line %d has %d columns: %s", d.name, w, i+1, n, line)
				}
			}
		}
	}
}

func TestASCII(t *testing.T) {
	for _, d := range testDocs() {
		if d.name == "hostile" {
			continue
		}
		got := string(render(t, "text", d.doc, Options{ASCII: true}))
		if i := strings.IndexFunc(got, func(r rune) bool { return r > 0x7f }); i >= 0 && !strings.Contains(got[max(0, i-40):i], "r64") {
			t.Errorf("%s: %q", d.name, got[max(0, i-30):i+4])
		}
	}
}

// Everything that is on the one screen of 256 CPUs, and everything with --all.
func TestManyCPUsFitAScreen(t *testing.T) {
	d := manyCPUs()
	short := strings.Count(string(render(t, "text", d, Options{})), "\n")
	if short > 50 {
		t.Errorf("%d lines", short)
	}
	long := string(render(t, "text", d, Options{All: true}))
	for n := range 240 {
		if !strings.Contains(long, fmt.Sprintf("\n%4d  ", n)) {
			t.Errorf("--all has no row for CPU %d", n)
		}
	}
}
