package report

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ringaudit/ringaudit/audit"
)

// glyphs are the characters outside of words.
type glyphs struct {
	atLeast, to, dash, arrow, dot, ellipsis, times string
}

var (
	unicodeGlyphs = glyphs{"≥ ", "–", "–", "→", "·", "…", "×"}
	asciiGlyphs   = glyphs{">= ", "..", "-", "->", "|", "...", "x"}
)

func glyphsFor(o Options) glyphs {
	if o.ASCII {
		return asciiGlyphs
	}
	return unicodeGlyphs
}

// group writes n with a comma before each three digits.
func group(n uint64) string {
	s := strconv.FormatUint(n, 10)
	if len(s) <= 3 {
		return s
	}
	b := make([]byte, 0, len(s)+len(s)/3)
	for i := range len(s) {
		if i > 0 && (len(s)-i)%3 == 0 {
			b = append(b, ',')
		}
		b = append(b, s[i])
	}
	return string(b)
}

// count writes a quantity for a table: 432, ≥ 5, 7–9, and ? where nothing is
// known. A quantity that does not apply is a dash.
func (g glyphs) count(c *audit.Count) string {
	switch {
	case c == nil:
		return g.dash
	case c.IsUnknown():
		return "?"
	case c.Exact():
		return group(c.Lo)
	case c.Open:
		return g.atLeast + group(c.Lo)
	}
	return group(c.Lo) + g.to + group(c.Hi)
}

// events writes a quantity for a sentence: "1 event", "at least 5 events".
func events(c audit.Count) string {
	noun := " events"
	switch {
	case c.IsUnknown():
		return "an unknown number of events"
	case c.Exact():
		if c.Lo == 1 {
			noun = " event"
		}
		return group(c.Lo) + noun
	case c.Open:
		if c.Lo == 1 {
			noun = " event"
		}
		return "at least " + group(c.Lo) + noun
	}
	return group(c.Lo) + " to " + group(c.Hi) + noun
}

// clean makes text from outside harmless for a terminal: whatever does not
// print, and what turns the direction of writing, becomes its escape.
func clean(s string) string {
	plain := true
	for _, r := range s {
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i])|0x100, 16)[1:])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
		i += n
	}
	return b.String()
}

// clip shortens s to n columns.
func clip(s string, n int, ellipsis string) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:max(0, n-utf8.RuneCountInString(ellipsis))]) + ellipsis
}

// allCPUs stands for all CPUs where a CPU's number could stand. It is no number
// of a CPU in a document; lower numbers are CPUs whose number is not known.
const allCPUs = -1

// cpuName is the number of a CPU: "3", or "?1" and so on for those whose number
// the sources do not tell.
func cpuName(n int) string {
	if n < allCPUs {
		return "?" + strconv.Itoa(allCPUs-n)
	}
	return strconv.Itoa(n)
}

// unitWord is a unit of time as it stands after a number.
func unitWord(unit string) string {
	if unit == "unknown" || unit == "" {
		return "of unknown unit"
	}
	return clean(unit)
}

// cpuList writes CPU numbers, which must be in rising order, as the kernel
// does: 0-3,7.
func cpuList(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(cpuName(cpus[i]))
		switch {
		case cpus[i] < allCPUs:
			j = i // one by one
		case j > i:
			b.WriteString("-" + cpuName(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}
