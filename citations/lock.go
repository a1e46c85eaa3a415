package citations

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Lock is what was found, per record and tree version: NAME.lock.toml. It is
// written by the tool and never by hand.
type Lock struct {
	Document               string
	References, Assertions int // how many records there were
	Trees                  map[string]*LockTree
	Records                map[string]*LockRecord
	Confirmations          []Confirmation
}

// LockTree is what the lock knows of one tree version.
type LockTree struct {
	Checked int               // records that were looked up in it
	Files   map[string]string // path → git blob id
}

// LockRecord is one reference or assertion.
type LockRecord struct {
	// Digest is of what the record says; entries of another digest are of
	// another record.
	Digest string
	At     map[string]LockEntry // by version
}

// LockEntry is where a record was found in one version.
type LockEntry struct {
	Path string
	// Lines hold the anchor; as many as the record's count.
	Lines   []int
	Context string // hash of the lines around them
	Symbol  string // around the first line
	Comment bool   // the anchor stands in a comment
	// Others is how many more lines of the file hold the anchor outside the
	// record's symbol.
	Others int
	// Found is what an assertion found: "symbol path:line".
	Found []string
	// Imported is set by the import of schema 1, which knows of an entry no more
	// than line and context; Unconfirmed if nobody had resolved it at all.
	Imported, Unconfirmed bool
}

// Line is the first line, 0 if none.
func (e LockEntry) Line() int {
	if len(e.Lines) == 0 {
		return 0
	}
	return e.Lines[0]
}

// Confirmation says that a person read a place whose context had changed, and
// that the sentence still holds.
type Confirmation struct {
	ID, Version, From, To, Reason string
}

// NewLock is an empty lock for a document.
func NewLock(document string) *Lock {
	return &Lock{Document: document, Trees: make(map[string]*LockTree), Records: make(map[string]*LockRecord)}
}

// Entry is what the lock has for a record in a version.
func (l *Lock) Entry(id, version string) (LockEntry, bool) {
	if l == nil || l.Records[id] == nil {
		return LockEntry{}, false
	}
	e, ok := l.Records[id].At[version]
	return e, ok
}

// Versions lists the versions of the lock's trees, oldest first.
func (l *Lock) Versions() []string {
	if l == nil {
		return nil
	}
	return sortVersions(sortedKeys(l.Trees))
}

func sortVersions(vs []string) []string {
	sort.SliceStable(vs, func(i, j int) bool {
		a, aerr := ParseVersion(vs[i])
		b, berr := ParseVersion(vs[j])
		if aerr != nil || berr != nil {
			return vs[i] < vs[j]
		}
		return a.Compare(b) < 0
	})
	return vs
}

// Newest is the entry of the newest version that has the record.
func (l *Lock) Newest(id string) (version string, e LockEntry, ok bool) {
	if l == nil || l.Records[id] == nil {
		return "", LockEntry{}, false
	}
	vs := sortVersions(sortedKeys(l.Records[id].At))
	for i := len(vs) - 1; i >= 0; i-- {
		if e := l.Records[id].At[vs[i]]; !e.Unconfirmed {
			return vs[i], e, true
		}
	}
	return "", LockEntry{}, false
}

// LoadLock reads a lock file. A file that is not there is a nil Lock without an
// error.
func LoadLock(file string) (*Lock, error) {
	data, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseLock(file, data)
}

// ParseLock reads the text of a lock file.
func ParseLock(file string, data []byte) (*Lock, error) {
	var raw struct {
		Schema     int64
		Document   string
		Radius     int64
		References int64
		Assertions int64
		Trees      map[string]struct {
			Checked int64
			Files   map[string]string
		}
		Records   map[string]map[string]any
		Confirmed []struct{ ID, Version, From, To, Reason string }
	}
	md, err := toml.Decode(string(data), &raw)
	if err != nil {
		return nil, tomlError(file, err)
	}
	if raw.Schema != 2 || raw.Radius != ContextRadius {
		return nil, fmt.Errorf("%s: found schema %d and radius %d, expected 2 and %d; write it again with cite check --fix", file, raw.Schema, raw.Radius, ContextRadius)
	}
	for _, k := range md.Undecoded() {
		if k[0] != "records" { // these are read below
			return nil, fmt.Errorf("%s: found key %q, which no lock has; write it again with cite check --fix", file, k)
		}
	}
	if raw.References < 0 || raw.Assertions < 0 {
		return nil, fmt.Errorf("%s: found a negative number of records", file)
	}
	l := NewLock(raw.Document)
	l.References, l.Assertions = int(raw.References), int(raw.Assertions)
	for v, t := range raw.Trees {
		if t.Files == nil {
			t.Files = make(map[string]string)
		}
		l.Trees[v] = &LockTree{Checked: int(t.Checked), Files: t.Files}
	}
	for _, c := range raw.Confirmed {
		l.Confirmations = append(l.Confirmations, Confirmation(c))
	}
	for id, m := range raw.Records {
		rec := &LockRecord{At: make(map[string]LockEntry)}
		for key, v := range m {
			if key == "record" {
				rec.Digest, _ = v.(string)
				continue
			}
			t, ok := v.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s: records.%s: found %q = %v, expected a version and what was found in it", file, id, key, v)
			}
			e, err := lockEntry(t)
			if err != nil {
				return nil, fmt.Errorf("%s: records.%s, %s: %w", file, id, key, err)
			}
			rec.At[key] = e
		}
		l.Records[id] = rec
	}
	return l, nil
}

func lockEntry(m map[string]any) (LockEntry, error) {
	r := reader{m: m}
	e := LockEntry{Path: r.str("path"), Context: r.str("context"), Symbol: r.str("symbol"), Comment: r.boolean("comment"),
		Others: r.num("others", 0), Found: r.strs("found"), Imported: r.boolean("imported"), Unconfirmed: r.boolean("unconfirmed")}
	if n := r.num("line", 0); n > 0 {
		e.Lines = []int{n}
	}
	if v, ok := r.get("lines"); ok {
		list, _ := v.([]any)
		for _, x := range list {
			n, ok := x.(int64)
			if !ok || n < 1 || n > 1<<30 {
				r.errorf("lines: found %v, expected line numbers", x)
			}
			e.Lines = append(e.Lines, int(n))
		}
	}
	r.done("")
	if len(r.errs) > 0 {
		return e, fmt.Errorf("%s", strings.Join(r.errs, "; "))
	}
	return e, nil
}

// Encode is the lock as TOML: the same bytes for the same content.
func (l *Lock) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by \"ringaudit cite\". Do not edit: the records are in the refs file beside it.\n")
	fmt.Fprintf(&b, "schema = 2\ndocument = %s\nradius = %d\nreferences = %d\nassertions = %d\n", quote(l.Document), ContextRadius, l.References, l.Assertions)
	for _, v := range l.Versions() {
		t := l.Trees[v]
		fmt.Fprintf(&b, "\n[trees.%s]\nchecked = %d\n", quote(v), t.Checked)
		if len(t.Files) > 0 {
			fmt.Fprintf(&b, "[trees.%s.files]\n", quote(v))
		}
		for _, f := range sortedKeys(t.Files) {
			fmt.Fprintf(&b, "%s = %s\n", quote(f), quote(t.Files[f]))
		}
	}
	ids := sortedKeys(l.Records)
	sort.SliceStable(ids, func(i, j int) bool { return idLess(ids[i], ids[j]) })
	for _, id := range ids {
		r := l.Records[id]
		key := id
		if !idRE.MatchString(id) { // of a lock that a person edited
			key = quote(id)
		}
		fmt.Fprintf(&b, "\n[records.%s]\nrecord = %s\n", key, quote(r.Digest))
		for _, v := range sortVersions(sortedKeys(r.At)) {
			fmt.Fprintf(&b, "%s = { %s }\n", quote(v), r.At[v].fields())
		}
	}
	conf := append([]Confirmation(nil), l.Confirmations...)
	sort.SliceStable(conf, func(i, j int) bool {
		if conf[i].ID != conf[j].ID {
			return idLess(conf[i].ID, conf[j].ID)
		}
		return conf[i].Version < conf[j].Version
	})
	for _, c := range conf {
		fmt.Fprintf(&b, "\n[[confirmed]]\nid = %s\nversion = %s\nfrom = %s\nto = %s\nreason = %s\n",
			quote(c.ID), quote(c.Version), quote(c.From), quote(c.To), quote(c.Reason))
	}
	return b.Bytes()
}

func (e LockEntry) fields() string {
	var f []string
	add := func(key, val string) { f = append(f, key+" = "+val) }
	if e.Imported {
		add("imported", "true")
	}
	if e.Unconfirmed {
		add("unconfirmed", "true")
	}
	if e.Path != "" {
		add("path", quote(e.Path))
	}
	switch {
	case len(e.Lines) == 1:
		add("line", strconv.Itoa(e.Lines[0]))
	case len(e.Lines) > 1:
		var n []string
		for _, l := range e.Lines {
			n = append(n, strconv.Itoa(l))
		}
		add("lines", "["+strings.Join(n, ", ")+"]")
	}
	if e.Context != "" {
		add("context", quote(e.Context))
	}
	if e.Symbol != "" {
		add("symbol", quote(e.Symbol))
	}
	if e.Comment {
		add("comment", "true")
	}
	if e.Others > 0 {
		add("others", strconv.Itoa(e.Others))
	}
	if e.Found != nil {
		var q []string
		for _, s := range e.Found {
			q = append(q, quote(s))
		}
		add("found", "["+strings.Join(q, ", ")+"]")
	}
	return strings.Join(f, ", ")
}

// idLess orders ids by name, references before assertions, then by number.
func idLess(a, b string) bool {
	an, ak, ai := splitID(a)
	bn, bk, bi := splitID(b)
	switch {
	case an != bn:
		return an < bn
	case ak != bk:
		return ak > bk // R before A
	case ai != bi:
		return ai < bi
	}
	return a < b
}

func splitID(id string) (name, kind string, n int) {
	i := strings.LastIndexByte(id, '-')
	if i < 0 || i+2 > len(id) {
		return id, "", 0
	}
	n, _ = strconv.Atoi(id[i+2:])
	return id[:i], id[i+1 : i+2], n
}
