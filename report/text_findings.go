package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

func (t *textReport) findings() {
	groups, suppressed := groupFindings(t.d)
	if len(groups) == 0 && len(suppressed) == 0 {
		return
	}
	geometry := 0
	if !t.o.All {
		groups, geometry = t.withoutGeometry(groups)
	}
	t.line()
	rulew := 0
	for _, g := range groups {
		rulew = max(rulew, utf8.RuneCountInString(clean(g.rule)))
	}
	rulew = min(rulew, 24)
	indent := len("warning") + 2 + rulew + 2
	if t.width-indent < 36 { // a narrow page: the message goes below
		indent = len("warning") + 2
	}
	pad := strings.Repeat(" ", indent)
	low := len("warning") + 2 // of what to do, which may be long
	lowPad := strings.Repeat(" ", low)
	for _, g := range groups {
		head := t.paint(roleOfSeverity(g.severity), padRight(g.severity, len("warning"))) + "  " + t.paint(boldRole, clean(g.rule))
		at := len("warning") + 2 + utf8.RuneCountInString(clean(g.rule))
		if at+2 > indent {
			t.line(head)
			head = pad
		} else {
			head += strings.Repeat(" ", indent-at)
		}
		show, more := g.shown(t.o.All)
		action := ""
		for i, f := range show {
			if action != "" && f.Action != action {
				t.action(lowPad, low, g.severity, action)
			}
			text := clean(f.Message)
			if w := t.d.where(f); w != "" {
				text = w + ": " + text
			}
			if mark := t.note(f); mark != "" {
				text += "\u00a0" + mark
			}
			t.para(head, indent, plainRole, text)
			head, action = pad, f.Action
			if i == len(show)-1 && more > 0 {
				t.para(pad, indent, dimRole, fmt.Sprintf("%s and %d more of this kind, %s (--all)", t.ellipsis, more, othersOf(g, show)))
			}
		}
		t.action(lowPad, low, g.severity, action)
	}
	if geometry > 0 {
		t.para(lowPad, low, dimRole, plural(uint64(geometry), "note")+" on size and memory left out, see size above (--all)")
	}
	if n := len(suppressed); n > 0 {
		t.suppressed(suppressed)
	}
}

// withoutGeometry leaves out the notes that the size line of their buffer sums
// up, and says how many.
func (t *textReport) withoutGeometry(groups []*findingGroup) (out []*findingGroup, n int) {
	sized := func(f *Finding) bool {
		for i := range t.d.Buffers {
			if b := &t.d.Buffers[i]; b.Name == f.Buffer || f.Buffer == "" {
				return b.sizeLine(t.glyphs) != ""
			}
		}
		return false
	}
	for _, g := range groups {
		if g.severity == "note" && slices.Contains(geometryRules, g.rule) && !slices.ContainsFunc(g.findings, func(f *Finding) bool { return !sized(f) }) {
			n += len(g.findings)
			continue
		}
		out = append(out, g)
	}
	return out, n
}

// geometryRules are the rules whose notes are about the size of a buffer.
var geometryRules = []string{"size-request-versus-granted", "memory-cost", "unexpanded-buffer"}

// action prints what to do about a finding. A note can do without, to keep the
// report on a screen.
func (t *textReport) action(pad string, indent int, severity, action string) {
	if action == "" || (severity == "note" && !t.o.All) {
		return
	}
	n := utf8.RuneCountInString(t.arrow) + 1
	t.para(pad+t.paint(goodRole, t.arrow)+" ", indent+n, plainRole, clean(action))
}

// othersOf names the CPUs of the findings that are not shown.
func othersOf(g *findingGroup, show []*Finding) string {
	var cpus []int
	for _, f := range g.findings[len(show):] {
		if f.CPU == nil {
			return "each no worse"
		}
		cpus = append(cpus, *f.CPU)
	}
	slices.Sort(cpus)
	return "CPUs\u00a0" + cpuList(slices.Compact(cpus))
}

func (t *textReport) suppressed(fs []*Finding) {
	noun := "findings"
	if len(fs) == 1 {
		noun = "finding"
	}
	t.para("", 0, dimRole, fmt.Sprintf("%d %s suppressed by the configuration:", len(fs), noun))
	show := fs
	if !t.o.All && len(fs) > maxAlike+1 {
		show = fs[:maxAlike]
	}
	for _, f := range show {
		text := clean(f.Rule)
		if w := t.d.where(f); w != "" {
			text += ", " + w
		}
		t.para("  ", 2, dimRole, text+": "+clean(f.Suppressed))
	}
	if n := len(fs) - len(show); n > 0 {
		t.para("  ", 2, dimRole, fmt.Sprintf("%s and %d more (--all)", t.ellipsis, n))
	}
}

// blindSpots are two paragraphs: their names, and what would show them.
func (t *textReport) blindSpots() {
	n := len(t.d.BlindSpots)
	if n == 0 {
		return
	}
	t.line()
	t.para(t.paint(warnRole, "blind")+"  ", 7, plainRole,
		fmt.Sprintf("to %s of loss: %s ('ringaudit explain blind-spots')", plural(uint64(n), "kind"), strings.Join(t.d.blindIDs(), ", ")))
	closers := t.d.closers()
	if !t.o.All { // the gist, on one line
		for i, c := range closers {
			if at := strings.IndexAny(c, ":;"); at > 0 {
				closers[i] = c[:at]
			}
		}
		if len(closers) > 0 {
			closers = []string{strings.Join(closers, " "+t.dot+" ")}
		}
	}
	for _, c := range closers {
		t.para(strings.Repeat(" ", 7)+t.paint(goodRole, t.arrow)+" ", 8+utf8.RuneCountInString(t.arrow), plainRole, c)
	}
	if t.o.All {
		for i := range t.d.BlindSpots {
			s := &t.d.BlindSpots[i]
			t.para(strings.Repeat(" ", 7)+t.paint(boldRole, clean(s.ID))+"  ", 9, plainRole, clean(s.Why))
		}
	}
}

// maxEvidence is how many places a footnote names, maxQuote how much of each
// line it quotes.
const (
	maxEvidence = 3
	maxQuote    = 72
)

// note makes the footnote of a finding and returns its mark. Two findings on
// the same evidence share it.
func (t *textReport) note(f *Finding) string {
	if len(f.Evidence) == 0 {
		return ""
	}
	most := maxEvidence
	if t.o.All {
		most = len(f.Evidence)
	}
	quotes, more := t.d.quotes(f, most)
	var lines []string
	for _, q := range quotes {
		lines = append(lines, t.quote(q))
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("%s and %d more", t.ellipsis, more))
	}
	at := slices.IndexFunc(t.notes, func(n []string) bool { return slices.Equal(n, lines) })
	if at < 0 {
		at = len(t.notes)
		t.notes = append(t.notes, lines)
	}
	return fmt.Sprintf("[%d]", at+1)
}

// quote is a place and what stands there, held together as far as the page is
// wide enough.
func (t *textReport) quote(q quote) string {
	hold := func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }
	room := t.width - len("[1] ") - len(" .")
	place := hold(q.place)
	if q.text == "" {
		return place
	}
	text := `"` + clip(q.text, maxQuote, t.ellipsis) + `"`
	switch n := utf8.RuneCountInString(text); {
	case n+1+utf8.RuneCountInString(place) <= room:
		return place + "\u00a0" + hold(text)
	case n <= room:
		return place + " " + hold(text)
	}
	return place + " " + text
}

func (t *textReport) footnotes() {
	if len(t.notes) == 0 {
		return
	}
	t.line()
	w := len(fmt.Sprintf("[%d]", len(t.notes))) + 1
	for i, lines := range t.notes {
		mark := padRight(fmt.Sprintf("[%d]", i+1), w)
		t.para(t.paint(dimRole, mark), w, dimRole, strings.Join(lines, "\u00a0"+t.dot+" "))
	}
}
