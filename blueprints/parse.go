package blueprints

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
)

// maxSize bounds the blueprint that [Parse] reads, in bytes.
const maxSize = 8 << 20

// Dialect is the form in which a blueprint is written.
type Dialect uint8

const (
	// DialectRingaudit is ringaudit's own form: TOML front matter between "+++",
	// ringaudit: markers, "## 1. Purpose and boundary".
	DialectRingaudit Dialect = iota
	// DialectBPC is the form of tamnd/linux-kernel-internals: key: value front
	// matter between "---", bpc: markers, "## §1 Purpose and boundary". It is
	// checked, never written.
	DialectBPC
)

func (d Dialect) String() string {
	if d == DialectBPC {
		return "bpc"
	}
	return "ringaudit"
}

// Blueprint is a parsed document. Its text is kept as it was, so that writing
// it back changes only what was generated.
type Blueprint struct {
	File     string // as given to Parse
	Dialect  Dialect
	Front    FrontMatter
	Sections []Section
	Blocks   []Block

	lines []string // without line ends; index 0 is line 1
	crlf  bool     // the file ends its lines in CR LF
	final bool     // the last line has a line end
}

// Section is one of the nine sections, or one of the three parts of the fourth.
type Section struct {
	ID    string // "1" … "9", "4a", "4b", "4c"
	Title string // as written
	Line  int    // of its heading
	End   int    // last line that belongs to it
}

// Block is a generated block: what stands between two markers.
type Block struct {
	Section string // "2", "5" or "7" as the begin marker says
	Seal    string // as written; empty before the first generate
	Begin   int    // line of the begin marker
	End     int    // line of the end marker
	Sources []Source
	// Unsealed says that the block was never generated.
	Unsealed bool

	body []string // the lines between the markers
}

// Text is what stands between the markers, lines ended by LF. It is what the
// seal is a hash of.
func (b Block) Text() string {
	if len(b.body) == 0 {
		return ""
	}
	return strings.Join(b.body, "\n") + "\n"
}

// Line is the text of line n, counted from 1, or "" outside the document.
func (bp *Blueprint) Line(n int) string {
	if n < 1 || n > len(bp.lines) {
		return ""
	}
	return bp.lines[n-1]
}

// Section finds a section by its id ("5", "4b"); ok is false if there is none.
func (bp *Blueprint) Section(id string) (_ Section, ok bool) {
	for _, s := range bp.Sections {
		if s.ID == id {
			return s, true
		}
	}
	return Section{}, false
}

func (bp *Blueprint) at(line int) tracefs.Pos { return tracefs.Pos{File: bp.File, Line: line} }

// titles are the nine sections in their order, the parts of section 4 among
// them.
var titles = []struct{ id, title, bpc string }{
	{"1", "Purpose and boundary", ""},
	{"2", "Data structures", ""},
	{"3", "Algorithms", ""},
	{"4", "Invariants, locking and context", ""},
	{"4a", "Invariants", ""},
	{"4b", "Locking", "Locking discipline"},
	{"4c", "Context", "Execution context"},
	{"5", "Observable behaviour", ""},
	{"6", "Edge cases and failure modes", ""},
	{"7", "Interfaces", ""},
	{"8", "Configuration and architecture dependence", ""},
	{"9", "Reimplementation notes", ""},
}

// generated are the sections that hold generated blocks.
var generated = map[string]bool{"2": true, "5": true, "7": true}

var (
	// "## 4. Invariants, locking and context", "### 4a. Invariants"
	ownHeading = regexp.MustCompile(`^(#{2,3})[ \t]+([1-9][abc]?)\.[ \t]+(.*?)[ \t]*#*[ \t]*$`)
	// "## §4 Invariants, locking and context", "### §4a Invariants"
	bpcHeading = regexp.MustCompile(`^(#{2,3})[ \t]+§([1-9][abc]?)[ \t]+(.*?)[ \t]*#*[ \t]*$`)
	// A code fence: up to three blanks, then at least three of ` or ~.
	fenceLine = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})(.*)$")
)

// Parse reads a blueprint's text; file is its name for messages. Whatever is
// wrong with the text is a [Fault]: the blueprint that comes with it holds what
// could be read, and is never nil.
func Parse(file string, text []byte) (*Blueprint, []Fault) {
	bp := &Blueprint{File: file}
	if len(text) > maxSize {
		return bp, []Fault{{Pos: bp.at(1), Rule: RuleFrontMatter,
			Message: fmt.Sprintf("the file has %d bytes, more than the %d that a blueprint may have", len(text), maxSize)}}
	}
	bp.split(string(text))
	faults, body := bp.parseFront()
	return bp, append(faults, bp.parseBody(body)...)
}

// split cuts the text into lines and remembers how they ended.
func (bp *Blueprint) split(text string) {
	text = strings.TrimPrefix(text, "\ufeff")
	if i := strings.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		bp.crlf = true
	}
	bp.final = strings.HasSuffix(text, "\n")
	bp.lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range bp.lines {
		bp.lines[i] = strings.TrimSuffix(l, "\r")
	}
}

// fence follows code fences, in which neither headings nor markers count.
type fence struct {
	char byte
	size int
}

// step takes one line and tells whether it is code.
func (f *fence) step(line string) bool {
	m := fenceLine.FindStringSubmatch(line)
	if f.size > 0 {
		if m != nil && m[1][0] == f.char && len(m[1]) >= f.size && strings.TrimSpace(m[2]) == "" {
			f.size = 0
		}
		return true
	}
	if m == nil || m[1][0] == '`' && strings.Contains(m[2], "`") {
		return false
	}
	f.char, f.size = m[1][0], len(m[1])
	return true
}

// parseBody finds sections and blocks from line first on.
func (bp *Blueprint) parseBody(first int) (faults []Fault) {
	heading := ownHeading
	if bp.Dialect == DialectBPC {
		heading = bpcHeading
	}
	fail := func(line int, format string, args ...any) {
		faults = append(faults, Fault{Pos: bp.at(line), Rule: RuleMarker, Message: fmt.Sprintf(format, args...)})
	}
	var (
		code fence
		open *Block
	)
	for n := first; n <= len(bp.lines); n++ {
		line := bp.lines[n-1]
		mark, isMark, err := parseMarker(line)
		if open != nil {
			// Inside a block the end marker counts even where an edit opened a
			// code fence: a seal must not be lost to its own damage.
			switch {
			case isMark && err == nil && mark.verb == verbEnd:
				if s := mark.attr["section"]; s != open.Section {
					fail(n, "the block of section %s that begins in line %d ends as section %q", open.Section, open.Begin, s)
				}
				open.End = n
				open.body = bp.lines[open.Begin : n-1]
				faults = append(faults, bp.readSources(open)...)
				bp.Blocks = append(bp.Blocks, *open)
				open, code = nil, fence{}
			case isMark && err == nil && mark.verb == verbBegin:
				fail(n, "a block begins inside the block that begins in line %d", open.Begin)
			}
			continue
		}
		if code.step(line) {
			continue
		}
		switch {
		case isMark && err != nil:
			fail(n, "%v", err)
		case isMark && mark.dialect != bp.Dialect:
			fail(n, "a marker of the dialect %q in a document of the dialect %q", mark.dialect, bp.Dialect)
		case isMark && mark.verb == verbBegin:
			b, err := beginBlock(mark, n)
			if err != nil {
				fail(n, "%v", err)
				continue
			}
			open = b
		case isMark && mark.verb == verbEnd:
			fail(n, "a block ends that did not begin")
		case isMark:
			fail(n, "a %s line outside a generated block says nothing of any block", mark.verb)
		default:
			if m := heading.FindStringSubmatch(line); m != nil {
				bp.Sections = append(bp.Sections, Section{ID: m[2], Title: m[3], Line: n})
			}
		}
	}
	if open != nil {
		fail(open.Begin, "the generated block of section %s has no end marker", open.Section)
	}
	for i := range bp.Sections {
		bp.Sections[i].End = len(bp.lines)
		if i+1 < len(bp.Sections) {
			bp.Sections[i].End = bp.Sections[i+1].Line - 1
		}
	}
	return faults
}
