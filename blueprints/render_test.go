package blueprints

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func render(t *testing.T, doc string, opt RenderOptions, files map[string]string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bp, _ := Parse(filepath.Join(dir, "a-test.md"), []byte(doc))
	page, err := Render(bp, opt)
	return string(page), err
}

func TestRender(t *testing.T) {
	doc := document(testHeader, block("5", Source{Kind: "evidence", Path: "evidence/x", SHA256: "0123456789abcdef0123", Kernel: "6.1.0", Arch: "x86_64", Evidence: true}.marker()+"\n\n#### `evidence/x`\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n"))
	doc = strings.Replace(doc, "## 3. Algorithms\n\nText.", "## 3. Algorithms\n\nIt counts [a-test-R1]. Again [a-test-R1], and [a-test-A2], and [a-test-R9].\n\nSee [there](b-test.md#section-2), [a file](evidence/x) and [the web](https://example.org/).", 1)
	cited := &Cited{Versions: []string{"6.1.192", "7.2.13"}, Records: []CitedRecord{
		{ID: "a-test-R1", Short: "R1", Kind: "reference", Scope: "kernel/a.c#f", Text: "a < b", Note: "It <counts>.", Varies: true, At: []CitedAt{
			{Version: "6.1.192", Path: "kernel/a.c", Line: 10, URL: "https://example.org/a.c?h=v6.1.192#n10", State: "holds"},
			{Version: "7.2.13", Path: "kernel/b.c", Line: 20, URL: "https://example.org/b.c?h=v7.2.13#n20", State: "holds"}}},
		{ID: "a-test-A2", Short: "A2", Kind: "only-setter", Scope: "kernel/a.c", Text: "x is set in f and nowhere else", At: []CitedAt{
			{Version: "6.1.192", Path: "kernel/a.c", Line: 11, URL: "https://example.org/a.c#n11", State: "holds"}, {Version: "7.2.13", State: "not in range"}}},
	}}
	page, err := render(t, doc, RenderOptions{Cited: map[string]*Cited{"a-test": cited}, Pages: []string{"a-test", "b-test"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		// The newest version's line, and the way back from the list.
		`<a class="cite" id="c-R1-1" href="https://example.org/b.c?h=v7.2.13#n20" title="kernel/b.c:20 in 7.2.13: a &lt; b" rel="noopener noreferrer"><span class="vh">Reference </span>R1</a>`,
		`id="c-R1-2"`, `<a href="#c-R1-1" aria-label="Back to citation 1 in section 3">`, `<a href="#c-R1-2" aria-label="Back to citation 2 in section 3">`,
		// An assertion is about all of a scope: the marker leads to its entry.
		`<a class="cite" id="c-A2-1" href="#A2"`, `<li id="A2">`,
		// A marker without a record stays readable.
		`<span class="cite" id="c-R9-1">R9</span>`,
		`<p>It &lt;counts&gt;.</p>`, `<code class="text">a &lt; b</code>`,
		`<h2 id="section-3">3. Algorithms</h2>`, `<a href="#section-3">`,
		`<section class="generated" aria-label="Generated block of section 5">`, "from evidence · <code>evidence/x</code> · Linux 6.1.0 · x86_64",
		`href="b-test.html#section-2"`, `<span class="file">a file</span>`, `<a href="https://example.org/" rel="noopener noreferrer">`,
		`<h2 id="versions">`, `not in range`,
		`Content-Security-Policy`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(page, "ringaudit:begin") || strings.Contains(page, "raw HTML omitted") {
		t.Error("a marker shows")
	}
	if again, _ := render(t, doc, RenderOptions{Cited: map[string]*Cited{"a-test": cited}, Pages: []string{"a-test", "b-test"}}, nil); again != page {
		t.Error("the same document gives other bytes")
	}
}

// TestRenderHostile holds that nothing of a document's text becomes markup.
func TestRenderHostile(t *testing.T) {
	doc := document(strings.Replace(testHeader, "A test", "A <script>alert(1)</script> test", 1), "")
	doc = strings.Replace(doc, "## 3. Algorithms\n\nText.", "## 3. Algorithms\n\n<script>alert(2)</script>\n\n<img src=x onerror=alert(3)> [x](javascript:alert(4)) [y](data:text/html,x) `<b>`\n\n| <i>a |\n|---|\n| <b onclick=x>c |\n\n<!-- ringaudit:begin section=5 --> <script>", 1)
	page, err := render(t, doc, RenderOptions{SourceURL: "https://example.org/x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<img src=x", "javascript:", "data:text/html", "<b onclick", "<i>a"} {
		if strings.Contains(page, bad) {
			t.Errorf("%q got through", bad)
		}
	}
	for _, bad := range []string{
		"![x](../secret.svg)", "![x](/etc/secret.svg)", "![x](http://example.org/x.svg)", "![x](a.html)", "![x](none.svg)", "![x](bad.svg)",
	} {
		doc := document(testHeader, bad+"\n")
		if _, err := render(t, doc, RenderOptions{}, map[string]string{"bad.svg": `<svg xmlns="http://www.w3.org/2000/svg"><title>x</title><script>alert(1)</script></svg>`}); err == nil {
			t.Errorf("%s was put into a page", bad)
		}
	}
}

func TestCheckSVG(t *testing.T) {
	svg := func(inner string) string {
		return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9"><title>t</title>` + inner + `</svg>`
	}
	for _, good := range []string{"<rect width='1' style='fill:url(#a)'/>", "<style>@media (prefers-color-scheme:dark){rect{fill:url( '#b')}}</style>", "<use href='#c' xlink:href='#c'/>"} {
		if err := checkSVG([]byte(svg(good))); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"<script/>", "<foreignObject/>", "<a href='https://example.org'/>", "<use xlink:href='x.svg#a'/>", "<rect onload='x'/>", "<rect ONCLICK='x'/>",
		"<style>@import 'x.css';</style>", "<style>rect{fill:url(http://example.org/x)}</style>", "<rect style='fill:url(\"x.png\")'/>", "<image href='data:image/png;base64,x'/>", "<rect>",
	} {
		if err := checkSVG([]byte(svg(bad))); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	for _, bad := range []string{"", "<html/>", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "<!DOCTYPE svg [<!ENTITY x 'y'>]>" + svg("")} {
		if err := checkSVG([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// own renders the project's own blueprints into a folder.
func own(t *testing.T) (dir string, pages []string) {
	t.Helper()
	files, err := filepath.Glob("*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no blueprint in this folder: %v", err)
	}
	opt := RenderOptions{Cited: map[string]*Cited{}, SourceURL: "https://example.org/blueprints"}
	var bps []*Blueprint
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "+++") {
			continue
		}
		bp, faults := Parse(file, text)
		if len(faults) > 0 {
			t.Fatalf("%v", faults)
		}
		cited, err := LoadCited(bp, nil)
		if err != nil {
			t.Fatal(err)
		}
		opt.Cited[bp.Front.Name] = cited
		opt.Pages = append(opt.Pages, bp.Front.Name)
		bps = append(bps, bp)
	}
	dir = t.TempDir()
	write := func(name string, data []byte, err error) {
		t.Helper()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, bp := range bps {
		data, err := Render(bp, opt)
		write(bp.Front.Name+".html", data, err)
		pages = append(pages, bp.Front.Name+".html")
	}
	data, err := RenderIndex(bps, opt)
	write("index.html", data, err)
	return dir, append(pages, "index.html")
}

// TestPages looks at the rendered pages of the project's own blueprints in a
// browser: on a phone and on a desk, in light and in dark.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes its time; run without -short")
	}
	ctx := browser(t)
	dir, pages := own(t)
	for i, p := range pages {
		windows := []window{{360, false}, {1280, true}}
		if i == 0 {
			windows = append(windows, window{360, true}, window{1280, false})
		}
		checkPage(t, ctx, filepath.Join(dir, p), windows...)
	}
}

// FuzzRender holds that no text of a document becomes a script, a handler or a
// fetch of its page.
func FuzzRender(f *testing.F) {
	f.Add("Text [f-R1] and <script>alert(1)</script>.\n\n| a | b |\n|---|---|\n| <img src=x onerror=y> | `c` |\n")
	f.Add("<!-- ringaudit:begin section=5 -->\n<!-- ringaudit:source kind=btf path=\"<b>\" evidence=true -->\n# <i>x\n<!-- ringaudit:end section=5 -->\n[x](javascript:y) <https://example.org/\"onclick=x>")
	f.Add("```<script>\n</code><script>\n```\n[x]: data:text/html,y\n[a][x] ![b][x]\n")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && (r < ' ' || r >= 0xd7ff) }) {
			return // what the reader of the page below does not take
		}
		bp, _ := Parse("f.md", []byte("+++\ntitle = \"T\"\nname = \"f\"\n+++\n"+text))
		cited := &Cited{Versions: []string{"6.1"}, Records: []CitedRecord{{ID: "f-R1", Short: "R1", Kind: "reference", Scope: "a.c", Text: text, Note: text}}}
		page, err := Render(bp, RenderOptions{Cited: map[string]*Cited{"f": cited}, SourceURL: "https://example.org/x"})
		if err != nil {
			return // a picture that is not there
		}
		d := xml.NewDecoder(bytes.NewReader(page))
		d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
		for {
			tok, err := d.Token()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatalf("the page cannot be read: %v\n%q", err, text)
			}
			el, ok := tok.(xml.StartElement)
			if !ok {
				continue
			}
			name := strings.ToLower(el.Name.Local)
			if slices.Contains([]string{"script", "iframe", "object", "embed", "form", "base"}, name) {
				t.Errorf("element %s of %q", name, text)
			}
			for _, a := range el.Attr {
				key, v := strings.ToLower(a.Name.Local), strings.ToLower(strings.TrimSpace(a.Value))
				if strings.HasPrefix(key, "on") || strings.HasPrefix(v, "javascript:") || key == "src" && !strings.HasPrefix(v, "data:image/") {
					t.Errorf("attribute %s=%q of %s, from %q", key, v, name, text)
				}
			}
		}
	})
}
