package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// renderMarkdown writes Markdown as GitHub shows it: in a file, an issue or the
// summary of a workflow step. GitHub drops SVG that stands in Markdown, so the
// picture of loss over time is a lane of text, or a link to the svg format of
// the same document where Options.Picture says where that is.
//
// Nothing from outside becomes markup: what a trace says stands in code spans
// or is escaped.
func renderMarkdown(w io.Writer, d *Document, o Options) error {
	m := &markdown{d: d, o: o, glyphs: glyphsFor(o)}
	m.verdict()
	for i := range d.Buffers {
		m.buffer(&d.Buffers[i])
	}
	m.probes()
	m.findings()
	m.blindSpots()
	m.sources()
	m.pf("\n<sub>%s · %s</sub>\n", mdText(d.Tool), mdText(d.Schema))
	_, err := io.WriteString(w, m.b.String())
	return err
}

type markdown struct {
	glyphs
	b strings.Builder
	d *Document
	o Options
}

func (m *markdown) pf(format string, args ...any) { fmt.Fprintf(&m.b, format, args...) }

// alerts are GitHub's boxes; elsewhere they are quotations.
var alerts = map[string]string{"lossy": "CAUTION", "undetermined": "WARNING", "complete": "NOTE", "confirmed": "TIP"}

func (m *markdown) verdict() {
	d := m.d
	head := d.headline(m.glyphs)
	m.pf("## Trace audit: %s\n\n> [!%s]\n> **%s** — %s\n", d.Verdict, alerts[d.Verdict], strings.ToUpper(d.Verdict), mdText(head))
	if r := d.reason(head); r != "" {
		m.pf(">\n> %s\n", mdText(r))
	}
	if len(d.Buffers) == 1 {
		if s := d.Buffers[0].left(m.glyphs); s != "" {
			m.pf(">\n> %s\n", mdText(s))
		}
	}
}

func (m *markdown) buffer(b *Buffer) {
	m.pf("\n### Buffer %s\n\n", mdCode(b.Name))
	m.pf("%s\n", mdText(b.facts(" · ")))
	if len(m.d.Buffers) > 1 {
		head := b.headline(m.glyphs)
		m.pf("\n**%s** — %s\n", strings.ToUpper(b.Verdict), mdText(head))
		if r := b.reason(head); r != "" {
			m.pf("\n%s\n", mdText(r))
		}
		if s := b.left(m.glyphs); s != "" {
			m.pf("\n%s\n", mdText(s))
		}
	}
	m.tally(b)
	for i, l := range b.figureLines(m.glyphs) {
		if i == 0 {
			m.pf("\n")
		}
		if l[0] == "" {
			m.pf("  <br>%s\n", mdText(l[1]))
			continue
		}
		m.pf("- **%s:** %s\n", l[0], mdText(l[1]))
	}
	m.lanes(b)
}

func (m *markdown) tally(b *Buffer) {
	tab := newTally(b, m.o.All)
	if len(tab.columns) == 0 {
		for _, s := range b.states() {
			m.pf("\n%s\n", mdText(s))
		}
		return
	}
	head := []string{"CPU"}
	for _, c := range tab.columns {
		head = append(head, strings.ReplaceAll(c.head, "\n", " "))
	}
	if tab.windows {
		head = append(head, mdText(tab.windowHead(m.dash)+", "+tab.unitHead()))
	}
	m.pf("\n| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---:|", len(head)))
	t := textReport{page: page{glyphs: m.glyphs}}
	for _, r := range tab.rows {
		cells := []string{r.label}
		for _, c := range tab.columns {
			s := t.quantity(c, r.tally)
			if q := *c.of(r.tally); c.loss && q != nil && q.Lo > 0 {
				s = "**" + s + "**"
			}
			cells = append(cells, s)
		}
		if tab.windows {
			cells = append(cells, mdText(r.ends(m.dash)))
		}
		if r.total {
			cells[0] = "**" + cells[0] + "**"
		}
		m.pf("| %s |\n", strings.Join(cells, " | "))
	}
	var notes []string
	if tab.hidden != "" {
		notes = append(notes, tab.hidden)
	}
	notes = append(notes, b.states()...)
	if tab.unknown {
		notes = append(notes, "? not known: no source given says it. It is not zero.")
	}
	if tab.open {
		notes = append(notes, strings.TrimSpace(m.atLeast)+" at least: what no source given can count may come on top.")
	}
	for _, n := range notes {
		m.pf("\n<sub>%s</sub>\n", mdText(n))
	}
}

func (m *markdown) lanes(b *Buffer) {
	tl, ok := timelineOf(b)
	if !ok || !tl.worthDrawing() {
		return
	}
	if m.o.Picture != "" {
		if m.firstPicture(b) {
			m.pf("\n![Loss over time. %s](<%s>)\n", mdText(tl.describe(b, tl.lanes)), mdLink(m.o.Picture))
		}
		return
	}
	m.pf("\n```text\n")
	for _, line := range drawLanes(&tl, b, 96, m.o) {
		var s strings.Builder
		for _, r := range line {
			s.WriteString(r.text)
		}
		m.pf("%s\n", strings.ReplaceAll(strings.TrimRight(s.String(), " "), "`", "'"))
	}
	m.pf("```\n")
}

// firstPicture: one svg holds all buffers, so it is shown once.
func (m *markdown) firstPicture(b *Buffer) bool {
	for i := range m.d.Buffers {
		if tl, ok := timelineOf(&m.d.Buffers[i]); ok && tl.worthDrawing() {
			return b == &m.d.Buffers[i]
		}
	}
	return false
}

func (m *markdown) probes() {
	if len(m.d.Probes) == 0 {
		return
	}
	m.pf("\n### Probes\n\n| probe | kind | target | maxactive | hits | missed | missed %% |\n|---|---|---|---:|---:|---:|---:|\n")
	probes, hidden := worstProbes(m.d.Probes, m.o.All)
	for i := range probes {
		p := &probes[i]
		missed := m.count(p.Missed)
		if p.Missed != nil && p.Missed.Lo > 0 {
			missed = "**" + missed + "**"
		}
		m.pf("| %s | %s | %s | %s | %s | %s | %s |\n", mdCode(p.Name), mdText(p.Kind), mdCode(p.Target),
			orDash(plain(p.Maxactive), m.dash), m.count(p.Hits), missed, orDash(m.bounds(p.missedPercent()), m.dash))
	}
	if hidden > 0 {
		m.pf("\n<sub>and %d more probes that missed no more than these</sub>\n", hidden)
	}
}

func (m *markdown) findings() {
	groups, suppressed := groupFindings(m.d)
	if len(groups) == 0 && len(suppressed) == 0 {
		return
	}
	m.pf("\n### Findings\n\n")
	for _, g := range groups {
		show, more := g.shown(m.o.All)
		for i, f := range show {
			text := mdProse(f.Message)
			if w := m.d.where(f); w != "" {
				text = mdText(w) + ": " + text
			}
			m.pf("- **%s** %s — %s\n", g.severity, mdCode(g.rule), text)
			last := i == len(show)-1
			if f.Action != "" && (last || show[i+1].Action != f.Action) {
				m.pf("  <br>%s %s\n", m.arrow, mdProse(f.Action))
			}
			m.evidence(f)
			if len(f.Citations) > 0 {
				cites := make([]string, len(f.Citations))
				for k, c := range f.Citations {
					cites[k] = mdCode(c)
					if u := m.o.link(c); u != "" {
						cites[k] = "[" + cites[k] + "](<" + mdLink(u) + ">)"
					}
				}
				m.pf("  <br><sub>kernel sources: %s</sub>\n", strings.Join(cites, ", "))
			}
			if last && more > 0 {
				m.pf("- **%s** %s — %s and %d more of this kind, %s\n", g.severity, mdCode(g.rule), m.ellipsis, more, mdText(othersOf(g, show)))
			}
		}
	}
	if len(suppressed) > 0 {
		m.pf("\n<details><summary>%d suppressed by the configuration</summary>\n\n", len(suppressed))
		for _, f := range suppressed {
			text := mdProse(f.Message)
			if w := m.d.where(f); w != "" {
				text = mdText(w) + ": " + text
			}
			m.pf("- %s — %s (%s)\n", mdCode(f.Rule), text, mdText(f.Suppressed))
		}
		m.pf("\n</details>\n")
	}
}

func (m *markdown) evidence(f *Finding) {
	most := maxEvidence + 1
	if m.o.All {
		most = len(f.Evidence)
	}
	quotes, more := m.d.quotes(f, most)
	if len(quotes) == 0 {
		return
	}
	var parts []string
	for _, q := range quotes {
		s := mdCode(q.place)
		if q.text != "" {
			s += " " + mdCode(clip(q.text, 2*maxQuote, m.ellipsis))
		}
		parts = append(parts, s)
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	m.pf("  <br><sub>%s</sub>\n", strings.Join(parts, " · "))
}

func (m *markdown) blindSpots() {
	n := len(m.d.BlindSpots)
	if n == 0 {
		return
	}
	kinds := "kinds"
	if n == 1 {
		kinds = "kind"
	}
	m.pf("\n<details><summary><b>Blind spots:</b> %d %s of loss that no source given could have shown</summary>\n\n", n, kinds)
	for i := range m.d.BlindSpots {
		s := &m.d.BlindSpots[i]
		m.pf("- %s — %s\n", mdCode(s.ID), mdProse(s.Why))
	}
	for _, c := range m.d.closers() {
		m.pf("\n%s %s\n", m.arrow, mdProse(c))
	}
	m.pf("\n</details>\n")
}

func (m *markdown) sources() {
	if len(m.d.Sources) == 0 {
		return
	}
	open := slices.ContainsFunc(m.d.Sources, func(s Source) bool { return s.Coverage != "whole" })
	attr := ""
	if open {
		attr = " open"
	}
	m.pf("\n<details%s><summary><b>Sources</b></summary>\n\n| id | kind | path | kernel | coverage | SHA-256 |\n|---|---|---|---|---|---|\n", attr)
	for i := range m.d.Sources {
		s := &m.d.Sources[i]
		m.pf("| %s | %s | %s | %s | %s | %s |\n", mdText(s.ID), mdText(s.Kind), mdCode(s.Path), mdText(strings.TrimSpace(s.Kernel+" "+s.Arch)), mdText(s.Coverage), mdCode(s.SHA256))
	}
	for i := range m.d.Sources {
		s := &m.d.Sources[i]
		for _, n := range s.Notes {
			m.pf("\n- %s: %s", mdText(s.ID), mdProse(n))
		}
	}
	m.pf("\n\n</details>\n")
}

// mdEscaper escapes whatever CommonMark or GitHub reads as markup. The comment
// after @ keeps GitHub from mailing whoever bears that name; it is invisible.
var mdEscaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;",
	"#", `\#`, "|", `\|`, "~", `\~`, "&", "&amp;", "$", `\$`, "@", "@<!-- -->", "://", ":<!-- -->//", "www.", "www<!-- -->.",
)

// mdText writes plain text.
func mdText(s string) string {
	s = strings.ReplaceAll(mdEscaper.Replace(mdUnderscores(cleanKeep(s))), "\u00a0", "&nbsp;")
	s = strings.ReplaceAll(s, "\x00", `\_`)
	if s != "" && strings.ContainsRune("-+=", rune(s[0])) { // would begin a list or underline a heading
		return `\` + s
	}
	if n := len(s) - len(strings.TrimLeft(s, "0123456789")); n > 0 && n < len(s) && (s[n] == '.' || s[n] == ')') {
		return s[:n] + `\` + s[n:]
	}
	return s
}

// mdUnderscores marks the underscores that could begin or end emphasis. Those
// inside a word cannot, and trace_pipe reads better than trace\_pipe.
func mdUnderscores(s string) string {
	b := []byte(s)
	word := func(i int) bool {
		return i >= 0 && i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z' || s[i] >= '0' && s[i] <= '9')
	}
	for i := range b {
		if b[i] == '_' && !(word(i-1) && word(i+1)) {
			b[i] = 0
		}
	}
	return string(b)
}

// cleanKeep is clean that leaves the no-break spaces of our own sentences.
func cleanKeep(s string) string {
	parts := strings.Split(s, "\u00a0")
	for i := range parts {
		parts[i] = clean(parts[i])
	}
	return strings.Join(parts, "\u00a0")
}

// mdProse writes a message, with what it quotes in backticks as code.
func mdProse(s string) string {
	var b strings.Builder
	for _, seg := range segments(s) {
		if seg.Code {
			b.WriteString(mdCode(seg.Text))
		} else {
			b.WriteString(mdText(seg.Text))
		}
	}
	return b.String()
}

// mdCode writes a code span that nothing inside can end. A bar is escaped
// because it would end a cell of a table even there.
func mdCode(s string) string {
	if s = clean(s); strings.TrimSpace(s) == "" {
		return ""
	}
	run, longest := 0, 0
	for _, r := range s {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	if strings.ContainsRune(s, '|') {
		// Only in tables does \| stand for a bar in a code span: use HTML, where
		// an entity does everywhere.
		return "<code>" + strings.ReplaceAll(mdEscaper.Replace(s), `\|`, "&#124;") + "</code>"
	}
	fence := strings.Repeat("`", longest+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// mdLink writes the destination of a link between < and >.
func mdLink(s string) string {
	return strings.NewReplacer("<", "%3C", ">", "%3E", `\`, `\\`, "\n", "%0A", "\r", "%0D").Replace(s)
}
