package report

import (
	"context"
	"flag"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var shots = flag.String("shots", "", "a folder for screenshots of the HTML report")

// browser starts a headless Chromium, or skips the test where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium, chromium-browser, google-chrome or chrome on the PATH")
	}
	opts := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-extensions", true), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(2 * time.Minute),
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Skipf("chromium does not start here: %v", err)
	}
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// A watched page records what must not happen: errors and requests.
type watched struct {
	mu     sync.Mutex
	faults []string
}

func (w *watched) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// openPage renders d and opens it in a tab of its own.
func openPage(t *testing.T, ctx context.Context, d *Document) (context.Context, *watched) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, render(t, "html", d, Options{}), 0o644); err != nil {
		t.Fatal(err)
	}
	w := new(watched)
	page := (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String()
	tab, cancel := chromedp.NewContext(ctx, chromedp.WithListener(func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			w.fault("exception: %s", e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			w.fault("console.%s", e.Type)
		case *log.EventEntryAdded:
			w.fault("log: %s: %s", e.Entry.Level, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if e.Request.URL != page && !strings.HasPrefix(e.Request.URL, "data:") {
				w.fault("request: %s", e.Request.URL)
			}
		}
	}))
	t.Cleanup(cancel)
	if _, err := chromedp.Call(tab, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(tab, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(tab, chromedp.Navigate(page), chromedp.WaitReady(chromedp.CSS("main"))); err != nil {
		t.Fatal(err)
	}
	return tab, w
}

// look sets the size of the window and the colours that the reader prefers.
func look(width int64, scheme string) step {
	return chromedp.Steps(chromedp.EmulateViewport(width, 900), media(emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}

type step = chromedp.Action[chromedp.Void]

func media(p emulation.SetEmulatedMediaParams) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, p)
		return err
	})
}

// eval runs JavaScript in the page.
func eval[T any](t *testing.T, tab context.Context, js string) T {
	t.Helper()
	v, err := chromedp.Run(tab, chromedp.Evaluate[T](js))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func do(t *testing.T, tab context.Context, steps ...step) {
	t.Helper()
	if err := chromedp.Do(tab, steps...); err != nil {
		t.Fatal(err)
	}
}

// contrastJS lists texts, and marks of the picture, that do not stand out from
// their ground: 4.5 to 1 for text, 3 to 1 for large text and for what is drawn.
const contrastJS = `(() => {
  const rgb = (s) => { const m = s.match(/[\d.]+/g); return m ? m.map(Number) : [0, 0, 0, 0]; };
  const lum = (c) => { const f = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const ratio = (a, b) => { const x = lum(a), y = lum(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const bad = [];
  const seen = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let n = 0;
  while (walk.nextNode()) {
    const node = walk.currentNode, e = node.parentElement;
    if (!node.data.trim() || !e.getClientRects().length || e.closest("script,style,title,desc")) continue;
    const s = getComputedStyle(e), svg = e.closest("svg");
    let back = ground(e);
    if (svg && e.classList.contains("ra-count")) back = rgb(getComputedStyle(document.documentElement).getPropertyValue("--ra-lost").trim().replace(/^#(..)(..)(..)$/, (_, r, g, b) => [r, g, b].map((h) => parseInt(h, 16)).join(",")));
    const r = ratio(rgb(svg ? s.fill : s.color), back);
    const px = parseFloat(s.fontSize), large = px >= 24 || (px >= 18.66 && +s.fontWeight >= 700);
    n++;
    const key = e.tagName + "." + (e.getAttribute("class") || "") + " " + r.toFixed(2);
    if (r < (large ? 3 : 4.5) && !seen.has(key)) { seen.add(key); bad.push(key + ": " + node.data.trim().slice(0, 40)); }
  }
  const svg = document.querySelector("svg.ra-svg");
  if (svg) {
    const page = ground(svg.parentElement);
    const kept = svg.querySelector("rect.ra-kept"), lost = svg.querySelector("rect.ra-lost");
    if (kept && ratio(rgb(getComputedStyle(kept).fill), page) < 3) bad.push("records on the page");
    if (lost && ratio(rgb(getComputedStyle(lost).stroke), page) < 3) bad.push("edge of holes on the page");
    if (kept && lost && ratio(rgb(getComputedStyle(kept).fill), rgb(getComputedStyle(lost).fill)) < 3) bad.push("holes on records");
  }
  if (n < 5) bad.push("only " + n + " texts looked at");
  return bad;
})()`

// structureJS lists what a screen reader would stumble over.
const structureJS = `(() => {
  const bad = [], ids = new Set();
  for (const e of document.querySelectorAll("[id]")) { if (ids.has(e.id)) bad.push("id twice: " + e.id); ids.add(e.id); }
  for (const e of document.querySelectorAll("[aria-labelledby]")) for (const id of e.getAttribute("aria-labelledby").split(" ")) if (!ids.has(id)) bad.push("labelled by nothing: " + id);
  for (const a of document.querySelectorAll("a[href^='#']")) if (!ids.has(a.getAttribute("href").slice(1))) bad.push("link to nowhere: " + a.getAttribute("href"));
  if (!document.documentElement.lang) bad.push("no language");
  if (!document.title) bad.push("no title");
  if (document.querySelectorAll("h1").length !== 1) bad.push("not one h1");
  let level = 1;
  for (const h of document.querySelectorAll("h1,h2,h3,h4")) { const l = +h.tagName[1]; if (l > level + 1) bad.push("heading skips: " + h.textContent); level = l; }
  for (const t of document.querySelectorAll("table")) {
    for (const th of t.querySelectorAll("th")) if (!th.scope) bad.push("th without scope");
    const n = t.querySelectorAll("thead th").length;
    for (const r of t.querySelectorAll("tbody tr")) if (r.children.length !== n) bad.push("row of " + r.children.length + " cells under " + n);
  }
  for (const s of document.querySelectorAll(".scroll")) if (s.tabIndex !== 0 || !s.getAttribute("aria-label")) bad.push("scrolls, but not by keyboard");
  for (const b of document.querySelectorAll("button")) if (!b.textContent.trim()) bad.push("button without a name");
  for (const s of document.querySelectorAll("svg.ra-svg")) if (s.getAttribute("role") !== "img" || !s.querySelector("title") || !s.querySelector("desc").textContent) bad.push("picture without words");
  return bad;
})()`

func TestHTMLInBrowser(t *testing.T) {
	ctx := browser(t)
	for _, d := range testDocs() {
		t.Run(d.name, func(t *testing.T) {
			tab, w := openPage(t, ctx, d.doc)
			for _, b := range eval[[]string](t, tab, structureJS) {
				t.Error(b)
			}
			for _, width := range []int64{360, 700, 1100} {
				for _, scheme := range []string{"light", "dark"} {
					at := fmt.Sprintf("%d px, %s", width, scheme)
					do(t, tab, look(width, scheme))
					over := eval[struct{ Scroll, Width int }](t, tab, `({Scroll: document.documentElement.scrollWidth, Width: innerWidth})`)
					weak := eval[[]string](t, tab, contrastJS)
					back := eval[string](t, tab, `getComputedStyle(document.body).backgroundColor`)
					if over.Scroll > over.Width {
						t.Errorf("%s: the page is %d px wide", at, over.Scroll)
					}
					for _, s := range weak {
						t.Errorf("%s: too little contrast: %s", at, s)
					}
					if dark := back != "rgb(255, 255, 255)"; dark != (scheme == "dark") {
						t.Errorf("%s: background %s", at, back)
					}
					if *shots != "" {
						png, err := chromedp.Run(tab, chromedp.FullScreenshot(100))
						if err != nil {
							t.Fatal(err)
						}
						if err := os.WriteFile(filepath.Join(*shots, fmt.Sprintf("%s-%d-%s.png", d.name, width, scheme)), png, 0o644); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, f := range w.faults {
				t.Error(f)
			}
		})
	}
}

// state is what a reader sees of the picture.
type state struct {
	Said   string
	Zoomed int // lanes drawn anew
	Shown  int // lanes as the page came
	Ticks  int
}

const stateJS = `({
  Said: document.querySelector(".readout").textContent,
  Zoomed: document.querySelectorAll("svg.wide .ra-lane .ra-z").length,
  Shown: [...document.querySelectorAll("svg.wide .ra-data")].filter((e) => e.getClientRects().length).length,
  Ticks: [...document.querySelectorAll("svg.wide .ra-ticks text")].filter((e) => e.getClientRects().length).length,
})`

// The picture zooms, moves and tells what is under the pointer, by mouse and by
// keyboard, and finds its way back.
func TestHTMLPicture(t *testing.T) {
	ctx := browser(t)
	tab, w := openPage(t, ctx, traceDat())
	see := func(steps ...step) state {
		t.Helper()
		do(t, tab, steps...)
		return eval[state](t, tab, stateJS)
	}
	expect := func(what string, s state, zoomed bool, said string) {
		t.Helper()
		if (s.Zoomed == 2) != zoomed || (s.Shown == 2) == zoomed {
			t.Errorf("%s: %d lanes drawn anew and %d as they came", what, s.Zoomed, s.Shown)
		}
		if !strings.Contains(s.Said, said) {
			t.Errorf("%s: says %q, want %q", what, s.Said, said)
		}
		if s.Ticks == 0 {
			t.Errorf("%s: no tick on the scale", what)
		}
	}
	press := func(key string) step { return chromedp.SendKeys(chromedp.CSS(".stage"), key) }
	click := func(what string) step { return chromedp.Click(chromedp.CSS(`button[data-do="` + what + `"]`)) }

	expect("as it comes", see(look(1100, "light")), false, "Point at a lane")
	expect("zoom in", see(click("in")), true, "Shown: 30.300000 to 30.700000 s")
	expect("later", see(click("later")), true, "Shown: 30.460000 to 30.860000 s")
	expect("whole", see(click("whole")), false, "Shown: 30.100000 to 30.900000 s, the whole")
	expect("next hole", see(click("next")), true, "CPU 0 · 3,845 events lost between 30.250000 and 30.300000 s")
	// It is drawn to the new scale: 30.25 to 30.30 of the 0.4 s from 30.1 on that
	// are shown, for the recording begins there.
	got := eval[struct{ X, W, X0, X1 float64 }](t, tab, `(() => {
		const s = document.querySelector("svg.wide"), r = s.querySelector(".ra-z rect.ra-lost");
		return {X: +r.getAttribute("x"), W: +r.getAttribute("width"), X0: +s.dataset.x0, X1: +s.dataset.x1};
	})()`)
	if px := (got.X1 - got.X0) / 0.4; math.Abs(got.X-got.X0-0.15*px) > 0.1 || math.Abs(got.W-0.05*px) > 0.1 {
		t.Errorf("the hole is drawn at %v, %v wide, on a scale from %v to %v", got.X, got.W, got.X0, got.X1)
	}
	expect("n", see(press("n")), true, "CPU 1 · 112 events lost between 30.400000 and 30.440000 s (place inferred)")
	expect("n", see(press("n")), true, "CPU 0 · 1 to 3,838 events lost between 30.480000 and 30.560000 s")
	expect("n", see(press("n")), true, "CPU 0 · at least 1 event lost between 30.700000 and 30.702000 s")
	expect("n at the end", see(press("n")), true, "No later hole")
	expect("p", see(press("p")), true, "CPU 0 · 1 to 3,838 events lost")
	expect("0", see(press("0")), false, "the whole recording")
	expect("+", see(press("+")), true, "Shown: 30.300000 to 30.700000 s")
	expect("-", see(press("-")), false, "the whole recording")
	expect("ArrowLeft", see(press(kb.ArrowLeft)), false, "the whole recording")

	// The middle of the first hole, by its place on the page.
	type spot struct{ X, Y float64 }
	eval[any](t, tab, `document.querySelector("svg.wide").scrollIntoView({block: "center"}), 1`)
	at := eval[spot](t, tab, `(() => { const r = document.querySelector("svg.wide .ra-data rect.ra-lost").getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`)
	open := eval[spot](t, tab, `(() => { const r = document.querySelector("svg.wide .ra-open text").getBoundingClientRect(); return {X: r.x + 4, Y: r.y + r.height / 2}; })()`)
	move := func(x, y float64) step { return chromedp.MouseEvent("mouseMoved", x, y) }
	expect("over a hole", see(move(at.X, at.Y)), false, "s · 3,845 events lost between 30.250000 and 30.300000 s")
	expect("over records", see(move(at.X-60, at.Y)), false, "s · recorded")
	expect("over an open begin", see(move(open.X, open.Y)), false, "CPU 1 · 5,000 events lost (overwritten) before 30.150000 s")
	expect("double click", see(chromedp.MouseClickXY(at.X, at.Y, chromedp.ClickCount(2))), true, "Shown: ")

	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.faults {
		t.Error(f)
	}
}

// On paper there are no buttons; without scripts there is the same picture.
func TestHTMLPrintAndNoScript(t *testing.T) {
	ctx := browser(t)
	tab, _ := openPage(t, ctx, smallOverwrite())
	shown := func(sel string) int {
		t.Helper()
		return eval[int](t, tab, fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((e) => e.getClientRects().length).length`, sel))
	}
	do(t, tab, media(emulation.SetEmulatedMediaParams{Media: "print"}))
	if tools, pictures := shown(".tools button"), shown("svg.ra-svg"); tools != 0 || pictures != 1 {
		t.Errorf("on paper: %d buttons, %d pictures", tools, pictures)
	}
	do(t, tab, media(emulation.SetEmulatedMediaParams{Media: "screen"}))
	if n := shown(".tools button"); n != 5 {
		t.Errorf("on the screen: %d buttons", n)
	}
	if _, err := chromedp.Call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	do(t, tab, chromedp.Reload(), chromedp.WaitReady(chromedp.CSS("main")))
	if tools, pictures := shown(".tools button"), shown("svg.ra-svg"); tools != 0 || pictures != 1 {
		t.Errorf("without scripts: %d buttons, %d pictures", tools, pictures)
	}
}

// What can be told without a browser: nothing is loaded from elsewhere, and
// what a trace says is text.
func TestHTML(t *testing.T) {
	for _, d := range testDocs() {
		got := string(render(t, "html", d.doc, Options{}))
		for _, no := range []string{"<script>alert", "http://", "https://", "@import", "url(http", "<link rel=\"stylesheet", "ZgotmplZ"} {
			if i := strings.Index(strings.ReplaceAll(got, "http://www.w3.org/2000/svg", ""), no); i >= 0 {
				t.Errorf("%s: has %s", d.name, no)
			}
		}
		if !strings.Contains(got, "default-src 'none'") {
			t.Errorf("%s: no policy", d.name)
		}
		if n := len(got); n > 4<<20 {
			t.Errorf("%s: %d KiB", d.name, n>>10)
		}
	}
	golden(t, "html/small-overwrite.html", render(t, "html", smallOverwrite(), Options{}))
	golden(t, "html/hostile.html", render(t, "html", hostile(), Options{}))
}
