package citations

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// Set is the records of one document: one NAME.refs.toml.
type Set struct {
	Name string // of the document, "trace-ring-buffer"
	// Path is the refs file, Document the Markdown beside it, Lock the lock
	// beside it; slashes, as given. Document is empty if there is none.
	Path, Document, LockPath string
	Schema                   int
	References               []*Reference
	Assertions               []*Assertion
	// Problems are the records that cannot be read.
	Problems []Problem

	text []byte // of the document
	ids  map[string]Record
}

// Record is a [Reference] or an [Assertion].
type Record interface {
	RecordID() string
	RecordNote() string
	// RecordLine is its line in the refs file.
	RecordLine() int
	digest() string
	span() span
}

// span is the versions in which a sentence is meant to hold.
type span struct {
	since, until Version // unknown: no bound
}

func (s span) holds(v Version) bool {
	return (!s.since.Known() || v.at(s.since) >= 0) && (!s.until.Known() || v.at(s.until) <= 0)
}

func (s span) String() string {
	var b []string
	if s.since.Known() {
		b = append(b, "since "+s.since.String())
	}
	if s.until.Known() {
		b = append(b, "until "+s.until.String())
	}
	return strings.Join(b, " ")
}

// Reference is a piece of text in a named file. It proves that the text exists.
type Reference struct {
	ID     string
	Path   string // in the tree, slashes
	Symbol string // enclosing function, structure or macro; empty: anywhere in the file
	Anchor string // one line, at least 12 characters; white space is folded when matching
	// Since and Until are the range in which the sentence is meant to hold, to
	// the precision written, both inclusive; empty: no bound.
	Since, Until string
	Count        int // lines that hold the anchor, in Symbol or the file
	Note         string
	In           []Alternative
	Line         int // of the record in the refs file

	// Kernel, Confirmed, LockedLine and Context are of schema 1, which keeps in
	// the record what schema 2 keeps in the lock.
	Kernel     string
	Confirmed  bool
	LockedLine int
	Context    string

	rng span
}

// Alternative says where some versions have it elsewhere or otherwise. Empty
// fields are as in the reference.
type Alternative struct {
	Versions Range
	Path     string
	Symbol   string
	Anchor   string
	Count    int
	noSymbol bool // symbol = "" was written: anywhere in the file
}

// RecordID is the id, "trace-ring-buffer-R12".
func (r *Reference) RecordID() string { return r.ID }

// RecordNote is the note.
func (r *Reference) RecordNote() string { return r.Note }

// RecordLine is the record's line in the refs file.
func (r *Reference) RecordLine() int { return r.Line }

func (r *Reference) span() span { return r.rng }

// At is what the reference says of version v: its own fields, or those of the
// first alternative whose range holds v.
func (r *Reference) At(v Version) (where Alternative) {
	where = Alternative{Path: r.Path, Symbol: r.Symbol, Anchor: r.Anchor, Count: r.Count}
	for _, in := range r.In {
		if !in.Versions.Holds(v) {
			continue
		}
		where.Versions = in.Versions
		if in.Path != "" {
			where.Path = in.Path
		}
		if in.Symbol != "" || in.noSymbol {
			where.Symbol = in.Symbol
		}
		if in.Anchor != "" {
			where.Anchor = in.Anchor
		}
		if in.Count != 0 {
			where.Count = in.Count
		}
		break
	}
	return where
}

// digest changes when the record says something else of the tree.
func (r *Reference) digest() string {
	p := []string{r.Path, r.Symbol, Fold(r.Anchor), fmt.Sprint(r.Count)}
	for _, in := range r.In {
		p = append(p, in.Versions.text, in.Path, in.Symbol, Fold(in.Anchor), fmt.Sprint(in.Count))
	}
	return fingerprint(p...)[:8]
}

// Record is the record with the id, nil if there is none.
func (s *Set) Record(id string) Record { return s.ids[id] }

// Records is all records in the order of the file, references first.
func (s *Set) Records() []Record {
	var out []Record
	for _, r := range s.References {
		out = append(out, r)
	}
	for _, a := range s.Assertions {
		out = append(out, a)
	}
	return out
}

// SetName is the name of the document that a refs file belongs to: NAME of
// NAME.refs.toml, and the folder's name for a bare refs.toml.
func SetName(file string) string {
	base := path.Base(filepath.ToSlash(file))
	if base == "refs.toml" {
		abs, err := filepath.Abs(file)
		if err != nil {
			return "refs"
		}
		return filepath.Base(filepath.Dir(abs))
	}
	return strings.TrimSuffix(strings.TrimSuffix(base, ".toml"), ".refs")
}

// LoadSet reads a refs file and, if it is there, the document beside it.
func LoadSet(file string) (*Set, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	name := SetName(file)
	s, err := ParseSet(name, filepath.ToSlash(file), data)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(file)
	doc, lock := filepath.Join(dir, name+".md"), filepath.Join(dir, name+".lock.toml")
	if filepath.Base(file) == "refs.toml" {
		doc, lock = filepath.Join(dir, "lesson.md"), filepath.Join(dir, "refs.lock.toml")
	}
	s.LockPath = filepath.ToSlash(lock)
	text, err := os.ReadFile(doc)
	switch {
	case err == nil:
		s.Document, s.text = filepath.ToSlash(doc), text
	case !os.IsNotExist(err):
		return nil, err
	}
	return s, nil
}

// SetDocument gives the set the text of its document.
func (s *Set) SetDocument(file string, text []byte) { s.Document, s.text = file, text }

var (
	idRE      = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*-([RA])[0-9]+$`)
	headRE    = regexp.MustCompile(`^\s*\[\[\s*(references|assertions)\s*\]\]`)
	contextRE = regexp.MustCompile(`^[0-9a-f]{12}$`)
)

// ParseSet reads the text of a refs file, schema 1 or 2. A record that cannot
// be read becomes a problem of the set; an error means that the whole file
// cannot be read, and names the line.
func ParseSet(name, file string, data []byte) (*Set, error) {
	s := &Set{Name: name, Path: file, ids: make(map[string]Record)}
	var raw struct {
		Schema     any
		References []map[string]any
		Assertions []map[string]any
	}
	md, err := toml.Decode(string(data), &raw)
	if err != nil {
		return nil, tomlError(file, err)
	}
	for _, k := range md.Undecoded() {
		if len(k) == 1 {
			return nil, fmt.Errorf("%s: found key %q, expected schema, [[references]] and [[assertions]]", file, k)
		}
	}
	schema, _ := raw.Schema.(int64)
	if schema != 1 && schema != 2 {
		return nil, fmt.Errorf("%s: found schema %v, expected schema = 1 or schema = 2 at the top", file, raw.Schema)
	}
	s.Schema = int(schema)
	lines := headLines(data)
	for i, m := range raw.References {
		s.addReference(reader{m: m, kind: "references", line: lines.at("references", i)})
	}
	for i, m := range raw.Assertions {
		if s.Schema == 1 {
			return nil, fmt.Errorf("%s: found [[assertions]], expected none in schema 1 (cite import makes it schema 2)", file)
		}
		s.addAssertion(reader{m: m, kind: "assertions", line: lines.at("assertions", i)})
	}
	return s, nil
}

func tomlError(file string, err error) error {
	if pe, ok := err.(toml.ParseError); ok {
		return fmt.Errorf("%s:%d: %s", file, pe.Position.Line, strings.TrimSpace(pe.Message))
	}
	return fmt.Errorf("%s: %w", file, err)
}

type heads map[string][]int

// headLines finds the lines of the table headers, because the TOML library does
// not tell them.
func headLines(data []byte) heads {
	h := make(heads)
	for n, line := range strings.Split(string(data), "\n") {
		if m := headRE.FindStringSubmatch(line); m != nil {
			h[m[1]] = append(h[m[1]], n+1)
		}
	}
	return h
}

func (h heads) at(kind string, i int) int {
	if i < len(h[kind]) {
		return h[kind][i]
	}
	return 1
}

func (s *Set) unparsed(r *reader, id string) {
	if id == "" {
		id = "(no id)"
	}
	p := Problem{State: Unparsed, Severity: Error, ID: id, At: Place{File: s.Path, Line: r.line},
		Message: strings.Join(r.errs, "; ")}
	p.Fingerprint = fingerprint(string(Unparsed), s.Name, id, p.Message)
	s.Problems = append(s.Problems, p)
}

// checkID refuses ids that no marker could point at, and second ones.
func (s *Set) checkID(r *reader, id, letter string) {
	m := idRE.FindStringSubmatch(id)
	switch {
	case id == "":
		r.errorf("no id: expected id = \"%s-%s1\"", s.Name, letter)
	case m == nil || m[1] != letter:
		r.errorf("id: found %q, expected NAME-%s and a number, such as %s-%s1", id, letter, s.Name, letter)
	case s.ids[id] != nil:
		r.errorf("id: %s is on line %d already", id, s.ids[id].RecordLine())
	}
}

// checkPath refuses what is not a path inside a tree.
func (r *reader) checkPath(key, p string) {
	switch {
	case p == "":
		r.errorf("no %s: expected a file of the tree, such as kernel/trace/ring_buffer.c", key)
	case strings.ContainsAny(p, "\\\n\x00") || path.IsAbs(p) || path.Clean(p) != strings.TrimSuffix(p, "/") || p == "." || p == ".." || strings.HasPrefix(p, "../"):
		r.errorf("%s: found %q, expected a path relative to the top of the tree", key, p)
	case strings.Contains(p, ":"):
		r.errorf("%s: found %q; a line number is not an anchor", key, p)
	}
}

// MinAnchor is the least length of an anchor in characters.
const MinAnchor = 12

// LongAnchorLen is the length above which an anchor is noted as long.
const LongAnchorLen = 110

func (r *reader) checkAnchor(a string) {
	f := Fold(a)
	switch {
	case a == "":
		r.errorf("no anchor: expected a line's text of at least %d characters", MinAnchor)
	case strings.ContainsAny(a, "\n\r"):
		r.errorf("anchor: found a line break, expected one line")
	case len([]rune(f)) < MinAnchor:
		r.errorf("anchor: %q has %d characters, expected at least %d, because it would match anywhere", a, len([]rune(f)), MinAnchor)
	case strings.Trim(f, "0123456789 ") == "":
		r.errorf("anchor: %q is a number, expected text", a)
	}
}

func (s *Set) addReference(r reader) {
	ref := &Reference{Line: r.line, ID: r.str("id"), Path: r.str("path"), Anchor: r.str("anchor"), Note: r.str("note")}
	s.checkID(&r, ref.ID, "R")
	r.checkPath("path", ref.Path)
	r.checkAnchor(ref.Anchor)
	ref.Count = 1
	if s.Schema == 1 {
		ref.Kernel, _ = r.version("kernel")
		ref.Confirmed = r.boolean("confirmed")
		ref.LockedLine = r.num("line", 0)
		if ref.Context = r.str("context"); ref.Context != "" && !contextRE.MatchString(ref.Context) {
			r.errorf("context: found %q, expected 12 hexadecimal digits", ref.Context)
		}
		r.done(" (schema 1 knows id path anchor kernel confirmed line context note)")
	} else {
		ref.Symbol = r.str("symbol")
		ref.Since, ref.rng.since = r.version("since")
		ref.Until, ref.rng.until = r.version("until")
		if ref.rng.since.Known() && ref.rng.until.Known() && ref.rng.until.at(ref.rng.since) < 0 && ref.rng.since.at(ref.rng.until) > 0 {
			r.errorf("since %s is after until %s", ref.Since, ref.Until)
		}
		if ref.Count = r.num("count", 1); ref.Count == 0 {
			r.errorf("count: found 0; that a text is absent is an assertion of kind \"absent\"")
		}
		for _, m := range r.tables("in") {
			in := reader{m: m, kind: r.kind}
			a := Alternative{Versions: in.versions("versions"), Path: in.str("path"), Symbol: in.str("symbol"), Anchor: in.str("anchor"), Count: in.num("count", 0)}
			if v, ok := m["symbol"]; ok && v == "" {
				a.noSymbol = true
			}
			if a.Path != "" {
				in.checkPath("path", a.Path)
			}
			if a.Anchor != "" {
				in.checkAnchor(a.Anchor)
			}
			in.str("note")
			in.done(" in [[references.in]]")
			if a.Path == "" && a.Anchor == "" && a.Count == 0 && a.Symbol == "" && !a.noSymbol {
				in.errorf("[[references.in]] changes nothing: expected path, symbol, anchor or count")
			}
			r.errs = append(r.errs, in.errs...)
			ref.In = append(ref.In, a)
		}
		r.done(" (schema 2 knows id path symbol anchor since until count note and [[references.in]]; line and context are the lock's)")
	}
	if len(r.errs) > 0 {
		s.unparsed(&r, ref.ID)
		return
	}
	s.References = append(s.References, ref)
	s.ids[ref.ID] = ref
}
