package report

import (
	"strings"
	"testing"
)

// A window ends when the counters were read, also where the last record is
// known: the stats of captures/…/small-overwrite say 17.163142 and 17.248184,
// and the last record of its trace stands at 17.168743.
func TestWindowEndsNow(t *testing.T) {
	d := smallOverwrite()
	d.Buffers[0].CPUs[0].Window.Newest = "17.168743"
	d.Buffers[0].CPUs[1].Window.Newest = "17.169787"
	for _, format := range []string{"text", "markdown", "html"} {
		got := strings.NewReplacer("\u00a0", " ", "&nbsp;", " ", `\.`, ".").Replace(string(render(t, format, d, Options{})))
		for _, want := range []string{"17.163142 – 17.248184", "oldest – now", "the last 0.085042 s of CPU 0 and 0.162470 s of CPU 1"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q", format, want)
			}
		}
		for _, bad := range []string{"0.005601", "0.001370", "none in common"} {
			if strings.Contains(got, bad) {
				t.Errorf("%s: %q", format, bad)
			}
		}
	}
}

// A ring whose stats end after the overrun lost its oldest; a capture that does
// not say when it lost anything has no place in a picture.
func TestHolesWithoutEnds(t *testing.T) {
	d := smallOverwrite()
	c := &d.Buffers[0].CPUs[0]
	c.Window, c.Holes[0].Before = nil, nil
	got := string(render(t, "text", d, Options{}))
	if strings.Contains(got, "▶") || !strings.Contains(got, "0  ◀ ") {
		t.Errorf("the oldest are not before:\n%s", got)
	}
	c.Delivered = exact(0)
	if got = string(render(t, "text", d, Options{})); strings.Contains(got, "0  ◀ ") || !strings.Contains(got, "1 hole has no place") {
		t.Errorf("a hole of nobody knows when is drawn:\n%s", got)
	}
	for i := range d.Buffers[0].CPUs {
		c := &d.Buffers[0].CPUs[i]
		c.Window, c.Delivered = nil, nil
		c.Holes[0].Before = nil
	}
	if got = string(render(t, "text", d, Options{})); strings.Contains(got, "0.000000") || strings.Contains(got, "◀") {
		t.Errorf("an axis where no time is known:\n%s", got)
	}
}

// What was dropped has no time: the lane says so, and colours that are used
// nowhere are not explained.
func TestDroppedAtTimesNotKnown(t *testing.T) {
	d := knownCountNoOverwrite()
	for i := range d.Buffers[0].CPUs {
		if w := d.Buffers[0].CPUs[i].Window; w != nil {
			w.Newest = w.Now
		}
	}
	if got := string(render(t, "text", d, Options{})); !strings.Contains(got, "2,619 dropped, at times not known") {
		t.Errorf("the lane is silent:\n%s", got)
	}
	svg := string(render(t, "svg", d, Options{}))
	if strings.Contains(svg, ">lost</text>") || !strings.Contains(svg, "2,619 dropped, at times not known") {
		t.Error("the picture explains a colour that it does not use, or is silent about what was dropped")
	}
}

// What a reader took is what was captured, whatever the whole buffer's row says.
func TestCapturedOfOneCPU(t *testing.T) {
	b := smallOverwrite().Buffers[0]
	b.CPUs[0].Delivered = exact(7300)
	b.Total.Kept = exact(0)
	if got := b.left(unicodeGlyphs); !strings.HasPrefix(got, "What was captured: 7,300 events") {
		t.Error(got)
	}
	b.CPUs[1].State = "unknown"
	b.CPUs[1].Tally = Tally{Kept: exact(2), Overwritten: dunno()}
	if got := strings.Join(b.states(), "; "); strings.Contains(got, "without evidence") || !strings.Contains(got, "some counters could not be read") {
		t.Error(got)
	}
}

// Citations are links where the caller knows where they lead.
func TestCitationLinks(t *testing.T) {
	d := smallOverwrite()
	d.Findings[0].Citations = []string{"trace-ring-buffer-R1", "x-R2"}
	o := Options{Link: func(id string) string {
		if id == "x-R2" {
			return "javascript:alert(1)"
		}
		return "https://example.org/" + id
	}}
	if got := string(render(t, "markdown", d, o)); !strings.Contains(got, "[`trace-ring-buffer-R1`](<https://example.org/trace-ring-buffer-R1>), `x-R2`") {
		t.Error("markdown has no link, or a wrong one")
	}
	got := string(render(t, "html", d, o))
	if !strings.Contains(got, `<a href="https://example.org/trace-ring-buffer-R1"><code>trace-ring-buffer-R1</code></a>, <code>x-R2</code>`) {
		t.Error("html has no link, or a wrong one")
	}
	if got := string(render(t, "sarif", d, Options{Link: func(string) string { return "https://example.org/line" }})); !strings.Contains(got, `"helpUri": "https://example.org/line"`) {
		t.Error("sarif leads nowhere")
	}
}

// Notes on the size are in the size line, and a path stays as it was given.
func TestShortOfWhatIsSaid(t *testing.T) {
	d := smallOverwrite()
	d.Findings = append(d.Findings, Finding{Rule: "memory-cost", Severity: "note", Buffer: "top", Message: "takes 32,768 bytes"})
	if got := string(render(t, "text", d, Options{})); strings.Contains(got, "memory-cost") || !strings.Contains(got, "1 note on size and memory left out") {
		t.Error("the note on memory is there, or not counted")
	}
	if got := string(render(t, "text", d, Options{All: true})); !strings.Contains(got, "memory-cost") {
		t.Error("--all has no note on memory")
	}
	d.Sources[0].Path = "../shared/x"
	for _, format := range []string{"github", "junit"} {
		if got := string(render(t, format, d, Options{})); !strings.Contains(got, "../shared/x/per_cpu/cpu0/stats") {
			t.Errorf("%s changes the path", format)
		}
	}
	if w := (&Window{Oldest: "9.0", Newest: "8.0", Unit: "s"}); w.length() != "" {
		t.Error("a window ends before it begins")
	}
}
