package blueprints

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ringaudit/ringaudit/citations"
)

// Cited is what is known of the citations of one blueprint when it is rendered:
// where each stands in each pinned version. It is made of the records and the
// lock by [LoadCited].
type Cited struct {
	Versions []string // pinned, oldest first
	Records  []CitedRecord
}

// CitedRecord is a reference or an assertion.
type CitedRecord struct {
	ID     string // "trace-ring-buffer-R12"
	Short  string // "R12"
	Kind   string // "reference", or the kind of the assertion
	Scope  string // path, and "#symbol" where there is one
	Text   string // the anchor, or what is asserted of what
	Note   string
	Range  string // "since 5.8"; empty: all versions
	At     []CitedAt
	Varies bool // the versions do not all say the same at the same place
}

// CitedAt is where one version has it.
type CitedAt struct {
	Version string
	Path    string
	Line    int    // 0: not a line, or not there
	URL     string // permalink to the line; empty if Line is 0
	Text    string // the anchor, where this version says it otherwise
	State   string // "ok", "not in range", …
	More    int    // further places
	// Elsewhere says that it stands in another file than the record names first.
	Elsewhere bool
}

// Record finds a record by its id; nil if there is none.
func (c *Cited) Record(id string) *CitedRecord {
	if c == nil {
		return nil
	}
	for i := range c.Records {
		if c.Records[i].ID == id {
			return &c.Records[i]
		}
	}
	return nil
}

// Best is the place that a marker links to: that of the newest version that has
// one; nil if none has.
func (r *CitedRecord) Best() *CitedAt {
	for i := len(r.At) - 1; i >= 0; i-- {
		if r.At[i].URL != "" {
			return &r.At[i]
		}
	}
	return nil
}

// LoadCited reads the records and the lock of a blueprint. It is nil where the
// blueprint has no refs file.
func LoadCited(bp *Blueprint, pins *citations.Pins) (*Cited, error) {
	set, lock, err := bp.loadCitations()
	if err != nil || set == nil {
		return nil, err
	}
	c := &Cited{Versions: lock.Versions()}
	for _, rec := range set.Records() {
		r := CitedRecord{ID: rec.RecordID(), Note: rec.RecordNote(), Short: rec.RecordID()[strings.LastIndexByte(rec.RecordID(), '-')+1:]}
		switch rec := rec.(type) {
		case *citations.Reference:
			r.Kind, r.Text, r.Range = "reference", rec.Anchor, between(rec.Since, rec.Until)
			r.Scope = rec.Path
			if rec.Symbol != "" {
				r.Scope += "#" + rec.Symbol
			}
		case *citations.Assertion:
			r.Kind, r.Scope, r.Range = rec.Kind, rec.Scope, between(rec.Since, rec.Until)
			r.Text = assertionText(rec)
		}
		for _, version := range c.Versions {
			r.At = append(r.At, citedAt(rec, &r, lock, version, pins))
		}
		if path, _, _ := strings.Cut(r.Scope, "#"); r.Kind == "reference" {
			for i := range r.At {
				r.At[i].Elsewhere = r.At[i].Line > 0 && r.At[i].Path != path
			}
		}
		r.Varies = varies(r.At, r.Kind)
		c.Records = append(c.Records, r)
	}
	return c, nil
}

func between(since, until string) string {
	var parts []string
	if since != "" {
		parts = append(parts, "from "+since+" on")
	}
	if until != "" {
		parts = append(parts, "up to "+until)
	}
	return strings.Join(parts, " ")
}

// assertionText words what an assertion states.
func assertionText(a *citations.Assertion) string {
	list := strings.Join(a.Expect, ", ")
	switch a.Kind {
	case citations.OnlySetter:
		return a.Subject + " is set in " + list + " and nowhere else"
	case citations.Counted:
		return fmt.Sprintf("%s stands there %d times", a.Subject, a.Count)
	case citations.Absent:
		return a.Subject + " stands nowhere in it"
	case citations.Order:
		return strings.Join(append(nonEmpty(a.Subject), a.Expect...), " … then … ")
	case citations.Calls:
		if a.Subject == "" {
			return "calls " + list
		}
		return a.Subject + " is called by " + list + " and nothing else"
	case citations.GuardedBy:
		return a.Subject + " is guarded by " + list
	case citations.Format:
		return "prints " + list
	}
	return strings.TrimSpace(a.Subject + " " + list)
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// "rb_iter_head_event kernel/trace/ring_buffer.c:3573"
var foundPlace = regexp.MustCompile(`(\S+):(\d+)$`)

// citedAt is where the lock has a record in a version.
func citedAt(rec citations.Record, r *CitedRecord, lock *citations.Lock, version string, pins *citations.Pins) CitedAt {
	at := CitedAt{Version: version, State: "not in range"}
	e, ok := lock.Entry(r.ID, version)
	if !ok {
		return at
	}
	at.State, at.Path, at.Line = "holds", e.Path, e.Line()
	at.More = max(0, max(len(e.Lines), len(e.Found))-1)
	if m := foundPlace.FindStringSubmatch(strings.Join(e.Found[:min(1, len(e.Found))], "")); m != nil && at.Line == 0 {
		at.Path = m[1]
		at.Line, _ = strconv.Atoi(m[2])
	}
	if ref, ok := rec.(*citations.Reference); ok {
		if v, err := citations.ParseVersion(version); err == nil {
			where := ref.At(v)
			at.Path = or(at.Path, where.Path)
			if where.Anchor != r.Text {
				at.Text = where.Anchor
			}
		}
	}
	if at.Line > 0 {
		at.URL = lock.Link(r.ID, version, pins)
	}
	return at
}

// varies tells whether versions say it elsewhere than in other lines of the same
// place: in another file, in other words, or not at all. Of an assertion it
// tells whether they found unlike numbers of places.
func varies(at []CitedAt, kind string) bool {
	for _, a := range at[min(1, len(at)):] {
		b := at[0]
		if a.State != b.State || a.Path != b.Path || a.Text != b.Text || kind != "reference" && a.More != b.More {
			return true
		}
	}
	return false
}
