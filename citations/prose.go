package citations

import (
	"regexp"
	"strings"
)

// Marker is a citation in a document's prose.
type Marker struct {
	ID        string
	Line, Col int // from 1; columns in characters
}

// Prose is what the gate reads in a document.
type Prose struct {
	Markers []Marker
	// Sentences are the prose in sentences, code, generated blocks and headings
	// left out.
	Sentences []Sentence
	// Unparsed look like markers and are none.
	Unparsed []Marker
	// LineCited are paths with a line number.
	LineCited []Marker
}

// Sentence is one sentence, one table row or one list item of prose.
type Sentence struct {
	Text      string // white space folded, code spans kept
	Line, Col int
	Markers   []string // ids
	// Universal are the words that claim something of all cases.
	Universal []Marker
	// Excused is the reason of a "not-a-claim" comment.
	Excused string
	// Code tells whether it names kernel code.
	Code bool
}

var (
	markerRE    = regexp.MustCompile(`\[([a-z0-9][a-z0-9-]*-[RA][0-9]+)\]`)
	bracketRE   = regexp.MustCompile(`\[([^\[\]\n]{1,80})\](\(|\[|:)?`)
	lineCiteRE  = regexp.MustCompile(`\b([A-Za-z_][\w-]*(?:/[\w.-]+)+\.(?:c|h|S|rst|rs)):[0-9]+\b`)
	excuseRE    = regexp.MustCompile(`<!--\s*ringaudit:not-a-claim\b\s*(.*?)\s*-->`)
	generatedRE = regexp.MustCompile(`<!--\s*(ringaudit:begin|ringaudit:end|bpc:generated|bpc:end|/bpc:generated)\b`)
	codeSpanRE  = regexp.MustCompile("`[^`\n]+`")
	kernelRE    = regexp.MustCompile(`[a-z0-9]+_[a-z0-9_]+|\w\(\)|->|\.[chS]\b|/`)
	universalRE = regexp.MustCompile(`(?i)\b(only|solely|never|always|every|everywhere|everything|nothing|nowhere|none|no other|without exception|in all cases|under no circumstances|exactly (?:one|once|two|twice|three|four|five|six|seven|eight|nine|ten|[0-9]+))\b`)
)

// mask replaces the byte range by spaces; newlines stay.
func mask(b []byte, from, to int) {
	for i := from; i < to; i++ {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
}

// ParseProse reads Markdown. name is the document's, for telling a marker that
// is misspelt from other brackets.
func ParseProse(name string, text []byte) *Prose {
	p := &Prose{}
	prose := proseOnly(text)
	noCode := []byte(codeSpanRE.ReplaceAllStringFunc(string(prose), func(s string) string { return strings.Repeat(" ", len(s)) }))
	at := newLineIndex(text)
	for _, m := range markerRE.FindAllSubmatchIndex(noCode, -1) {
		p.Markers = append(p.Markers, at.marker(string(noCode[m[2]:m[3]]), m[0]))
	}
	for _, m := range bracketRE.FindAllSubmatchIndex(noCode, -1) {
		inner := string(noCode[m[2]:m[3]])
		if markerRE.MatchString("[" + inner + "]") {
			continue
		}
		if m[4] >= 0 && noCode[m[4]] != ':' {
			continue // a link
		}
		if looksLikeMarker(name, inner) {
			p.Unparsed = append(p.Unparsed, at.marker("["+inner+"]", m[0]))
		}
	}
	for _, m := range lineCiteRE.FindAllIndex(prose, -1) {
		p.LineCited = append(p.LineCited, at.marker(string(prose[m[0]:m[1]]), m[0]))
	}
	p.sentences(prose, noCode, at)
	return p
}

var almostRE = regexp.MustCompile(`(?i)^[a-z0-9-]+[-_ ][ra][-_ ]?[0-9]+$`)

// looksLikeMarker tells a marker that is misspelt: the document's name and
// something, or a name, a letter and a number in another form.
func looksLikeMarker(name, inner string) bool {
	l, n := strings.ToLower(inner), strings.ToLower(name)
	if rest, ok := strings.CutPrefix(l, n); ok && n != "" && rest != "" && len(rest) < 16 && strings.ContainsAny(rest[:1], "-_ ") {
		return true
	}
	return almostRE.MatchString(inner) && strings.ContainsAny(inner, "-_") && strings.Count(inner, "-")+strings.Count(inner, "_") >= 2
}

// proseOnly blanks front matter, fenced and indented code, generated blocks,
// comments and headings.
func proseOnly(text []byte) []byte {
	out := append([]byte(nil), text...)
	var fence string
	generated, front := false, false
	prevBlank, inList := true, false
	off := 0
	for n, line := range strings.SplitAfter(string(text), "\n") {
		from, to := off, off+len(line)
		off = to
		trim := strings.TrimSpace(line)
		blank := func() { mask(out, from, to) }
		switch {
		case n == 0 && (trim == "---" || trim == "+++"):
			front = true
			blank()
		case front:
			blank()
			front = trim != "---" && trim != "+++"
		case fence != "":
			blank()
			if strings.HasPrefix(trim, fence) && strings.Trim(trim, fence[:1]) == "" {
				fence = ""
			}
		case strings.HasPrefix(trim, "```") || strings.HasPrefix(trim, "~~~"):
			fence = trim[:3]
			for len(fence) < len(trim) && trim[len(fence)] == fence[0] {
				fence += fence[:1]
			}
			blank()
		case generatedRE.MatchString(line):
			m := generatedRE.FindStringSubmatch(line)[1]
			generated = m == "ringaudit:begin" || m == "bpc:generated"
			blank()
		case generated, strings.HasPrefix(trim, "#") && strings.HasPrefix(strings.TrimLeft(trim, "#"), " "):
			blank()
		case (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")) && prevBlank && !inList && trim != "":
			blank()
			continue // prevBlank stays: the block goes on
		}
		if trim != "" {
			item := strings.HasPrefix(trim, "- ") || strings.HasPrefix(trim, "* ") || listItemRE.MatchString(trim)
			inList = item || inList && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"))
		}
		prevBlank = trim == ""
	}
	// Comments go, but those that excuse a sentence are read from the text
	// itself, so their place matters and not what is left here.
	s := string(out)
	for at := 0; ; {
		i := strings.Index(s[at:], "<!--")
		if i < 0 {
			break
		}
		end := strings.Index(s[at+i:], "-->")
		to := len(s)
		if end >= 0 {
			to = at + i + end + 3
		}
		if !excuseRE.MatchString(s[at+i : to]) {
			mask(out, at+i, to)
		}
		at = to
	}
	return out
}

var listItemRE = regexp.MustCompile(`^[0-9]{1,3}[.)] `)

// lineIndex turns offsets into lines and columns.
type lineIndex struct {
	text   []byte
	starts []int
}

func newLineIndex(text []byte) *lineIndex {
	x := &lineIndex{text: text, starts: []int{0}}
	for i, c := range text {
		if c == '\n' {
			x.starts = append(x.starts, i+1)
		}
	}
	return x
}

func (x *lineIndex) at(off int) (line, col int) {
	lo, hi := 0, len(x.starts)
	for lo+1 < hi {
		if mid := (lo + hi) / 2; x.starts[mid] <= off {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + 1, len([]rune(string(x.text[x.starts[lo]:off]))) + 1
}

func (x *lineIndex) marker(id string, off int) Marker {
	line, col := x.at(off)
	return Marker{ID: id, Line: line, Col: col}
}

// sentences cuts the prose. A paragraph ends at a blank line, a list item or a
// table row; a sentence at a full stop, question or exclamation mark before
// white space. Markers right behind it belong to it.
func (p *Prose) sentences(prose, noCode []byte, at *lineIndex) {
	start := -1
	flush := func(end int) {
		if start >= 0 && end > start {
			p.paragraph(prose, noCode, start, end, at)
		}
		start = -1
	}
	off := 0
	for _, line := range strings.SplitAfter(string(prose), "\n") {
		trim := strings.TrimSpace(line)
		lead := len(line) - len(strings.TrimLeft(line, " \t>"))
		switch {
		case trim == "":
			flush(off)
		case strings.HasPrefix(trim, "|"):
			flush(off)
			p.paragraph(prose, noCode, off, off+len(line), at)
		case strings.HasPrefix(trim, "- ") || strings.HasPrefix(trim, "* ") || listItemRE.MatchString(trim):
			flush(off)
			start = off + lead
		case start < 0:
			start = off + lead
		}
		off += len(line)
	}
	flush(off)
}

func (p *Prose) paragraph(prose, noCode []byte, from, to int, at *lineIndex) {
	row := strings.HasPrefix(strings.TrimSpace(string(prose[from:to])), "|")
	for i := from; i < to; i++ {
		end := sentenceEnd(noCode, i, to)
		if row {
			end = to
		}
		// Markers and excuses behind the full stop.
		for {
			rest := string(prose[end:to])
			trimmed := strings.TrimLeft(rest, " \n\t")
			gap := len(rest) - len(trimmed)
			if m := markerRE.FindStringIndex(trimmed); m != nil && m[0] == 0 {
				end += gap + m[1]
				for end < to && strings.ContainsRune(".,;:", rune(prose[end])) {
					end++
				}
				continue
			}
			if m := excuseRE.FindStringIndex(trimmed); m != nil && m[0] == 0 {
				end += gap + m[1]
				continue
			}
			break
		}
		p.sentence(prose, noCode, i, end, at)
		i = end - 1
	}
}

// sentenceEnd is the offset behind the sentence that begins at i.
func sentenceEnd(b []byte, i, to int) int {
	for ; i < to; i++ {
		switch b[i] {
		case '.', '!', '?':
			j := i + 1
			for j < to && strings.IndexByte(`)"'*_`, b[j]) >= 0 {
				j++
			}
			if j >= to {
				return to
			}
			if b[j] != ' ' && b[j] != '\n' && b[j] != '\t' {
				continue
			}
			if abbreviated(b, i) {
				continue
			}
			return j
		}
	}
	return to
}

// abbreviated tells whether the full stop at i ends e.g., i.e., vs., cf. or a
// single letter.
func abbreviated(b []byte, i int) bool {
	j := i
	for j > 0 && (isIdentByte(b[j-1]) || b[j-1] == '.') {
		j--
	}
	switch strings.ToLower(string(b[j:i])) {
	case "e.g", "i.e", "vs", "cf", "etc", "approx", "no", "fig", "sec":
		return true
	}
	return i-j == 1 && b[j] >= 'a' && b[j] <= 'z'
}

func (p *Prose) sentence(prose, noCode []byte, from, to int, at *lineIndex) {
	raw := string(prose[from:to])
	s := Sentence{}
	if m := excuseRE.FindStringSubmatch(raw); m != nil {
		if s.Excused = m[1]; s.Excused == "" {
			p.Unparsed = append(p.Unparsed, at.marker("<!-- ringaudit:not-a-claim --> without a reason", from))
		}
	}
	s.Text = Fold(excuseRE.ReplaceAllString(raw, ""))
	if strings.Trim(s.Text, "|-: *") == "" {
		return
	}
	s.Line, s.Col = at.at(from + len(raw) - len(strings.TrimLeft(raw, " \n\t")))
	bare := noCode[from:to]
	for _, m := range markerRE.FindAllSubmatch(bare, -1) {
		s.Markers = append(s.Markers, string(m[1]))
	}
	text := excuseRE.ReplaceAllStringFunc(string(bare), func(x string) string { return strings.Repeat(" ", len(x)) })
	for _, m := range universalRE.FindAllStringIndex(text, -1) {
		s.Universal = append(s.Universal, at.marker(text[m[0]:m[1]], from+m[0]))
	}
	for _, span := range codeSpanRE.FindAllString(raw, -1) {
		s.Code = s.Code || kernelRE.MatchString(span)
	}
	p.Sentences = append(p.Sentences, s)
}
