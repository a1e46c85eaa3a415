package report

import (
	"strings"
	"unicode/utf8"
)

// A role says what a piece of text means; only here does it become a colour.
type role int

const (
	plainRole role = iota
	badRole        // loss, errors
	warnRole       // warnings, what cannot be told
	goodRole       // nothing lost
	dimRole        // where it comes from
	boldRole       // headings
)

var sgr = [...]string{plainRole: "", badRole: "1;31", warnRole: "33", goodRole: "32", dimRole: "2", boldRole: "1"}

func roleOfVerdict(v string) role {
	switch v {
	case "lossy":
		return badRole
	case "complete", "confirmed":
		return goodRole
	}
	return warnRole
}

func roleOfSeverity(s string) role {
	switch s {
	case "error":
		return badRole
	case "warning":
		return warnRole
	}
	return dimRole
}

// page collects lines of text.
type page struct {
	b     strings.Builder
	color bool
	width int
	glyphs
}

func (p *page) paint(r role, s string) string {
	if !p.color || sgr[r] == "" || s == "" {
		return s
	}
	return "\x1b[" + sgr[r] + "m" + s + "\x1b[0m"
}

func (p *page) line(parts ...string) {
	s := strings.Join(parts, "")
	p.b.WriteString(strings.TrimRight(s, " "))
	p.b.WriteByte('\n')
}

// para writes text after a head of indent columns, broken at spaces, further
// lines indented as far. The head may hold colour codes and must have been
// padded.
func (p *page) para(head string, indent int, r role, text string) {
	for i, line := range wrap(text, p.width-indent) {
		if i > 0 {
			head = strings.Repeat(" ", indent)
		}
		p.line(head, p.paint(r, line))
	}
}

// wrap breaks text at spaces into lines of at most width columns. A word that
// is longer gets a line of its own and is never cut: it may be a number or a
// path. A no-break space holds a number and its unit together.
func wrap(text string, width int) []string {
	width = max(width, 20)
	var lines []string
	var line strings.Builder
	col := 0
	for _, word := range strings.Fields(strings.ReplaceAll(text, "\u00a0", "\x00")) {
		word = strings.ReplaceAll(word, "\x00", "\u00a0")
		n := utf8.RuneCountInString(word)
		if col > 0 && col+1+n > width {
			lines = append(lines, line.String())
			line.Reset()
			col = 0
		}
		if col > 0 {
			line.WriteByte(' ')
			col++
		}
		line.WriteString(word)
		col += n
	}
	if col > 0 || len(lines) == 0 {
		lines = append(lines, line.String())
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "\u00a0", " ")
	}
	return lines
}

func padLeft(s string, n int) string {
	return strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s))) + s
}

func padRight(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}
