package citations

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// Baseline is problems that a project knows and does not mend yet, each with a
// reason and a date. It is keyed by content, not by line, counts, and may only
// shrink.
type Baseline struct {
	File    string
	Entries []*BaselineEntry
}

// BaselineEntry excuses problems of one fingerprint.
type BaselineEntry struct {
	Key      string // fingerprint
	State    State
	ID       string
	Document string // name of the set
	Version  string // of the tree; empty: of the document itself
	Count    int
	Reason   string
	Expires  string // 2027-01-31; the last day on which it excuses
	Line     int

	used int
}

// Problems that no baseline excuses: they mean that the gate did not look.
var inexcusable = map[State]bool{Unresolved: true, Nothing: true, Fewer: true, Expired: true, StaleEntry: true}

// ParseBaseline reads a baseline file.
func ParseBaseline(file string, data []byte) (*Baseline, error) {
	var raw struct {
		Schema   int64
		Baseline []map[string]any
	}
	if _, err := toml.Decode(string(data), &raw); err != nil {
		return nil, tomlError(file, err)
	}
	if raw.Schema != 1 {
		return nil, fmt.Errorf("%s: found schema %d, expected schema = 1", file, raw.Schema)
	}
	var lines []int
	for n, l := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "[[baseline]]") {
			lines = append(lines, n+1)
		}
	}
	b := &Baseline{File: file}
	for i, m := range raw.Baseline {
		r := reader{m: m, line: 1}
		if i < len(lines) {
			r.line = lines[i]
		}
		e := &BaselineEntry{Key: r.str("key"), State: State(r.str("state")), ID: r.str("id"), Document: r.str("document"), Version: r.str("version"),
			Count: r.num("count", 1), Reason: strings.TrimSpace(r.str("reason")), Expires: r.str("expires"), Line: r.line}
		if !isHex(e.Key, 16) {
			r.errorf("key: found %q, expected the fingerprint of a problem", e.Key)
		}
		if e.Reason == "" {
			r.errorf("no reason")
		}
		if _, err := time.Parse(time.DateOnly, e.Expires); err != nil {
			r.errorf("expires: found %q, expected a date such as \"2027-01-31\" in quotes", e.Expires)
		}
		if e.Count < 1 {
			r.errorf("count: found %d, expected at least 1", e.Count)
		}
		r.done(" in [[baseline]]")
		if len(r.errs) > 0 {
			return nil, fmt.Errorf("%s:%d: %s", file, r.line, strings.Join(r.errs, "; "))
		}
		b.Entries = append(b.Entries, e)
	}
	return b, nil
}

// Apply excuses the problems that the baseline knows, and adds those of the
// baseline itself: entries past their date excuse nothing, entries that nothing
// needs are stale. Entries about documents or trees that are not in this run
// are left alone.
func (b *Baseline) Apply(r *Result, today time.Time) {
	day := today.Format(time.DateOnly)
	by := make(map[string][]*BaselineEntry)
	for _, e := range b.Entries {
		e.used = 0
		if e.Expires >= day {
			by[e.Key] = append(by[e.Key], e)
		}
	}
	for i := range r.Problems {
		p := &r.Problems[i]
		if p.Severity != Error || inexcusable[p.State] {
			continue
		}
		for _, e := range by[p.Fingerprint] {
			if e.used < e.Count {
				e.used++
				p.Excused = e.Reason
				break
			}
		}
	}
	for _, e := range b.Entries {
		at := Place{File: b.File, Line: e.Line}
		what := strings.TrimSpace(fmt.Sprintf("%s %s %s", e.State, e.ID, e.Version))
		switch {
		case e.Expires < day:
			r.add(Problem{State: Expired, ID: e.ID, At: at, Message: fmt.Sprintf("%s: expired on %s", what, e.Expires), Proposal: Expired.Doc().Do}, e.Key, fmt.Sprint(e.Line))
		case e.used < e.Count && b.inRun(e, r):
			do := fmt.Sprintf("count = %d", e.used)
			if e.used == 0 {
				do = "remove it (cite check --fix does)"
			}
			r.add(Problem{State: StaleEntry, ID: e.ID, At: at, Message: fmt.Sprintf("%s: excuses %d, there are %d", what, e.Count, e.used), Proposal: do}, e.Key, fmt.Sprint(e.Line))
		}
	}
	r.sort()
}

func (b *Baseline) inRun(e *BaselineEntry, r *Result) bool {
	doc := false
	for _, s := range r.Sets {
		doc = doc || s.Set.Name == e.Document
	}
	if !doc || e.Version == "" {
		return doc
	}
	for _, t := range r.Trees {
		if t.err == nil && t.Version.String() == e.Version {
			return true
		}
	}
	return false
}

// Shrunk is the baseline after Apply without what nothing needs: entries lose
// what they excuse too much, never gain.
func (b *Baseline) Shrunk(r *Result) *Baseline {
	out := &Baseline{File: b.File}
	for _, e := range b.Entries {
		c := *e
		if b.inRun(e, r) && e.used < e.Count {
			c.Count = e.used
		}
		if c.Count > 0 {
			out.Entries = append(out.Entries, &c)
		}
	}
	return out
}

// NewBaseline excuses all errors of a result. It is for adopting the gate in a
// project that has errors; from then on it may only shrink.
func NewBaseline(file string, r *Result, reason string, expires time.Time) *Baseline {
	b := &Baseline{File: file}
	by := make(map[string]*BaselineEntry)
	for _, p := range r.Problems {
		if p.Severity != Error || inexcusable[p.State] || p.Excused != "" {
			continue
		}
		e := by[p.Fingerprint]
		if e == nil {
			e = &BaselineEntry{Key: p.Fingerprint, State: p.State, ID: p.ID, Document: r.documentOf(p), Version: p.Version,
				Reason: reason, Expires: expires.Format(time.DateOnly)}
			by[p.Fingerprint] = e
			b.Entries = append(b.Entries, e)
		}
		e.Count++
	}
	return b
}

// documentOf is the name of the set that a problem is about.
func (r *Result) documentOf(p Problem) string {
	for _, s := range r.Sets {
		if p.At.File == s.Set.Path || p.At.File == s.Set.Document || p.At.File == s.Set.LockPath {
			return s.Set.Name
		}
	}
	return ""
}

// Encode is the baseline as TOML.
func (b *Baseline) Encode() []byte {
	var out bytes.Buffer
	out.WriteString("# Known problems of citations. This file may only shrink.\nschema = 1\n")
	es := append([]*BaselineEntry(nil), b.Entries...)
	sort.SliceStable(es, func(i, j int) bool {
		a, c := es[i], es[j]
		switch {
		case a.Document != c.Document:
			return a.Document < c.Document
		case a.ID != c.ID:
			return idLess(a.ID, c.ID)
		case a.Version != c.Version:
			return a.Version < c.Version
		}
		return a.Key < c.Key
	})
	for _, e := range es {
		fmt.Fprintf(&out, "\n[[baseline]]\nkey = %s\nstate = %s\n", quote(e.Key), quote(string(e.State)))
		for _, f := range [][2]string{{"id", e.ID}, {"document", e.Document}, {"version", e.Version}} {
			if f[1] != "" {
				fmt.Fprintf(&out, "%s = %s\n", f[0], quote(f[1]))
			}
		}
		fmt.Fprintf(&out, "count = %d\nreason = %s\nexpires = %s\n", e.Count, quote(e.Reason), quote(e.Expires))
	}
	return out.Bytes()
}
