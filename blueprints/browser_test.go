package blueprints

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser starts a headless Chromium, or skips the test where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("needs a Chromium in PATH (Debian: chromium) to look at rendered pages")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Skipf("the Chromium at %s does not start: %v", path, err)
	}
	return ctx
}

// looked is what a page did.
type looked struct {
	mu       sync.Mutex
	console  []string // errors, warnings and violations of the page's own policy
	requests []string // to anything but the page itself
}

func (l *looked) add(list *[]string, s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*list = append(*list, s)
}

// look loads a file in a window of a width, in light or dark, and runs the
// scripts on it; each returns a list of faults. What it looked like goes into
// the test's artifacts (go test -artifacts).
func look(t *testing.T, ctx context.Context, file string, width int64, dark bool, scripts map[string]string) map[string][]string {
	t.Helper()
	ctx, cancel := chromedp.NewContext(ctx)
	defer cancel()
	var l looked
	url := "file://" + filepath.ToSlash(file)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			if ev.Type == "error" || ev.Type == "warning" {
				l.add(&l.console, fmt.Sprintf("console.%s", ev.Type))
			}
		case *runtime.EventExceptionThrown:
			l.add(&l.console, fmt.Sprintf("exception: %+v", ev.ExceptionDetails))
		case *log.EventEntryAdded:
			l.add(&l.console, fmt.Sprintf("%s: %s", ev.Entry.Level, ev.Entry.Text))
		case *network.EventRequestWillBeSent:
			if u := ev.Request.URL; !strings.HasPrefix(u, "data:") && u != url {
				l.add(&l.requests, u)
			}
		}
	}))
	tctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(tctx, network.Enable, network.EnableParams{})
	must(err)
	_, err = chromedp.Call(tctx, log.Enable, struct{}{})
	must(err)
	_, err = chromedp.Call(tctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	must(err)
	must(chromedp.Do(tctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(url)))
	found := map[string][]string{}
	for name, script := range scripts {
		found[name], err = chromedp.Run(tctx, chromedp.Evaluate[[]string](script))
		must(err)
	}
	if f := flag.Lookup("test.artifacts"); f == nil || f.Value.String() != "true" {
		l.mu.Lock()
		defer l.mu.Unlock()
		found["console"], found["network request"] = l.console, l.requests
		return found
	}
	beyond := true
	shot, err := chromedp.Call(tctx, cdpage.CaptureScreenshot, cdpage.CaptureScreenshotParams{CaptureBeyondViewport: &beyond})
	must(err)
	name := fmt.Sprintf("%s-%d-%s.png", strings.TrimSuffix(filepath.Base(file), ".html"), width, scheme)
	must(os.WriteFile(filepath.Join(t.ArtifactDir(), name), shot.Data, 0o644))
	l.mu.Lock()
	defer l.mu.Unlock()
	found["console"], found["network request"] = l.console, l.requests
	return found
}

// contrastScript lists text whose colour is too near to what is behind it:
// below 4.5:1, or 3:1 for large text (WCAG 2.2, success criterion 1.4.3).
const contrastScript = `(() => {
  const rgb = s => { const m = s.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m };
  const over = (a, b) => [0,1,2].map(i => a[i]*a[3] + b[i]*(1-a[3])).concat(1);
  const lum = c => { const f = c.slice(0,3).map(v => { v /= 255; return v <= .04045 ? v/12.92 : ((v+.055)/1.055)**2.4 }); return .2126*f[0] + .7152*f[1] + .0722*f[2] };
  const canvas = matchMedia('(prefers-color-scheme: dark)').matches ? [18,18,18,1] : [255,255,255,1];
  const behind = el => { const stack = []; for (let e = el; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 0) stack.push(c); if (c[3] === 1) break }
    return stack.reverse().reduce((acc, c) => over(c, acc), canvas) };
  const bad = [];
  for (const el of document.querySelectorAll('body *')) {
    if (![...el.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    if (!el.getClientRects().length || el.closest('.vh,.skip,style')) continue;
    const st = getComputedStyle(el), bg = behind(el), fg = over(rgb(st.color), bg);
    const [a, b] = [lum(fg), lum(bg)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    const px = parseFloat(st.fontSize), large = px >= 24 || px >= 18.66 && +st.fontWeight >= 700;
    if (ratio < (large ? 3 : 4.5)) bad.push(el.tagName + '.' + el.className + ' ' + ratio.toFixed(2) + ' ' + el.textContent.trim().slice(0, 40));
  }
  return bad.slice(0, 10);
})()`

// brokenLinksScript lists links within the page that lead nowhere, and ids that
// stand twice.
const brokenLinksScript = `(() => {
  const out = [...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute('href').slice(1)).filter(id => !document.getElementById(id)).map(id => 'no #' + id);
  const seen = new Set();
  for (const e of document.querySelectorAll('[id]')) { if (seen.has(e.id)) out.push('twice #' + e.id); seen.add(e.id) }
  return out;
})()`

// wideScript lists what is wider than the window though nothing around it
// scrolls.
const wideScript = `(() => {
  const w = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= w) return [];
  const out = ['page ' + document.documentElement.scrollWidth + ' in ' + w];
  for (const e of document.querySelectorAll('body *')) { const r = e.getBoundingClientRect(); if (r.right > w + 1 && !e.closest('.scroll,.figure,pre')) out.push(e.tagName + '.' + e.className + ' ' + Math.round(r.right) + ' ' + e.textContent.trim().slice(0, 40)) }
  return out.slice(0, 10);
})()`

// namelessScript lists what a screen reader could not name: pictures without a
// text, links without a word, headings that skip a level, a page without a
// language or a main part.
const namelessScript = `(() => {
  const out = [];
  for (const i of document.querySelectorAll('img')) if (!i.alt.trim()) out.push('img without alt');
  for (const a of document.querySelectorAll('a')) if (!a.textContent.trim() && !a.getAttribute('aria-label')) out.push('empty link ' + a.href);
  if (!document.documentElement.lang) out.push('no lang');
  if (document.querySelectorAll('main').length !== 1) out.push('not one main');
  if (document.querySelectorAll('h1').length !== 1) out.push('not one h1');
  for (const s of document.querySelectorAll('.scroll,.figure,pre')) if (s.tabIndex !== 0 || !s.getAttribute('aria-label')) out.push('scroll area out of reach of the keyboard');
  let last = 0;
  for (const h of document.querySelectorAll('main h2, main h3, main h4, main h5')) { const l = +h.tagName[1]; if (last && l > last + 1) out.push('h' + last + ' then h' + l + ' ' + h.textContent); last = l }
  return out.slice(0, 10);
})()`

// window is how a page is looked at.
type window struct {
	width int64
	dark  bool
}

// checkPage holds a rendered page against what every page has to be.
func checkPage(t *testing.T, ctx context.Context, file string, windows ...window) {
	t.Helper()
	scripts := map[string]string{"too little contrast": contrastScript, "broken link": brokenLinksScript,
		"wider than the window": wideScript, "not accessible": namelessScript}
	for _, v := range windows {
		for what, list := range look(t, ctx, file, v.width, v.dark, scripts) {
			for _, s := range list {
				t.Errorf("%s at %d px, dark %t: %s: %s", filepath.Base(file), v.width, v.dark, what, s)
			}
		}
	}
}
