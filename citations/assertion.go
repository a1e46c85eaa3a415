package citations

import (
	"fmt"
	"slices"
	"strings"
)

// The kinds of assertions.
const (
	// OnlySetter: the symbols in Scope that set Subject are exactly Expect.
	// Setting is an assignment, ++ or --, and handing its address to anything
	// that is not known to only read.
	OnlySetter = "only-setter"
	// Counted: Subject stands exactly Count times in the code of Scope.
	Counted = "count"
	// Absent: Subject stands nowhere in the code of Scope.
	Absent = "absent"
	// Order: the texts of Expect all stand in Scope, the last of each before
	// the first of the next.
	Order = "order"
	// Calls: the symbols in Scope that use the function Subject are exactly
	// Expect. Without Subject: the symbol of Scope calls all of Expect.
	Calls = "calls"
	// GuardedBy: wherever Subject stands in Scope, Expect[0] guards it: as the
	// condition around it, or earlier in a block around it without Expect[1]
	// (the release) in between.
	GuardedBy = "guarded-by"
	// Format: the format strings that Scope hands to printing functions (or to
	// the function Subject) are exactly Expect, in that order.
	Format = "format"
)

// Kinds lists the kinds of assertions.
var Kinds = []string{OnlySetter, Counted, Absent, Order, Calls, GuardedBy, Format}

// Assertion is a statement about all the text in a scope.
type Assertion struct {
	ID   string
	Kind string
	// Scope is a file, file#symbol, or folder/ (its .c, .h and .S files).
	Scope   string
	Subject string
	Expect  []string
	Count   int
	// Comments makes count, absent and order look at comments too.
	Comments     bool
	Since, Until string
	Note         string
	In           []AssertionAlternative
	Line         int // of the record in the refs file

	rng span
}

// AssertionAlternative says what some versions have otherwise. Empty fields are
// as in the assertion.
type AssertionAlternative struct {
	Versions Range
	Scope    string
	Subject  string
	Expect   []string
	Count    int
	hasCount bool
	hasExp   bool
}

// RecordID is the id, "trace-ring-buffer-A3".
func (a *Assertion) RecordID() string { return a.ID }

// RecordNote is the note.
func (a *Assertion) RecordNote() string { return a.Note }

// RecordLine is the record's line in the refs file.
func (a *Assertion) RecordLine() int { return a.Line }

func (a *Assertion) span() span { return a.rng }

// At is the assertion as it stands for version v.
func (a *Assertion) At(v Version) *Assertion {
	for _, in := range a.In {
		if !in.Versions.Holds(v) {
			continue
		}
		b := *a
		if in.Scope != "" {
			b.Scope = in.Scope
		}
		if in.Subject != "" {
			b.Subject = in.Subject
		}
		if in.hasExp {
			b.Expect = in.Expect
		}
		if in.hasCount {
			b.Count = in.Count
		}
		return &b
	}
	return a
}

// scope splits Scope. A folder's path ends in a slash.
func (a *Assertion) scope() (file, symbol string) {
	file, symbol, _ = strings.Cut(a.Scope, "#")
	return file, symbol
}

func (a *Assertion) digest() string {
	p := []string{a.Kind, a.Scope, a.Subject, fmt.Sprint(a.Count), fmt.Sprint(a.Comments)}
	p = append(p, a.Expect...)
	for _, in := range a.In {
		p = append(p, "in", in.Versions.text, in.Scope, in.Subject, fmt.Sprint(in.Count))
		p = append(p, in.Expect...)
	}
	return fingerprint(p...)[:8]
}

func (s *Set) addAssertion(r reader) {
	a := &Assertion{Line: r.line, ID: r.str("id"), Kind: r.str("kind"), Scope: r.str("scope"), Subject: r.str("subject"),
		Expect: r.strs("expect"), Note: r.str("note"), Comments: r.boolean("comments"), Count: r.num("count", -1)}
	a.Since, a.rng.since = r.version("since")
	a.Until, a.rng.until = r.version("until")
	s.checkID(&r, a.ID, "A")
	a.check(&r)
	for _, m := range r.tables("in") {
		in := reader{m: m, kind: r.kind}
		alt := AssertionAlternative{Versions: in.versions("versions"), Scope: in.str("scope"), Subject: in.str("subject"),
			Expect: in.strs("expect"), Count: in.num("count", 0)}
		_, alt.hasCount = m["count"]
		_, alt.hasExp = m["expect"]
		in.str("note")
		in.done(" in [[assertions.in]]")
		b := *a
		b.In = []AssertionAlternative{alt}
		b.In[0].Versions = Range{}
		b.At(Version{parts: 1}).check(&in)
		r.errs = append(r.errs, in.errs...)
		a.In = append(a.In, alt)
	}
	r.done(" (an assertion has id kind scope subject expect count comments since until note and [[assertions.in]])")
	if len(r.errs) > 0 {
		s.unparsed(&r, a.ID)
		return
	}
	s.Assertions = append(s.Assertions, a)
	s.ids[a.ID] = a
}

// check refuses assertions that do not say anything that can be false.
func (a *Assertion) check(r *reader) {
	if !slices.Contains(Kinds, a.Kind) {
		r.errorf("kind: found %q, expected one of %s", a.Kind, strings.Join(Kinds, ", "))
		return
	}
	file, symbol := a.scope()
	r.checkPath("scope", file)
	if strings.Contains(a.Scope, "#") && symbol == "" {
		r.errorf("scope: found %q, expected a symbol behind #", a.Scope)
	}
	if strings.HasSuffix(file, "/") && symbol != "" {
		r.errorf("scope: found %q, expected no symbol for a folder", a.Scope)
	}
	if a.Count >= 0 && a.Kind != Counted {
		r.errorf("count is for kind \"count\", not for %q", a.Kind)
	}
	if a.Subject == "" && a.Kind != Order && a.Kind != Calls && a.Kind != Format {
		r.errorf("no subject: expected the text that %s is about", a.Kind)
	}
	if strings.ContainsAny(a.Subject, "\n\r") {
		r.errorf("subject: found a line break, expected one line")
	}
	switch a.Kind {
	case OnlySetter:
		if len(a.Expect) == 0 {
			r.errorf("no expect: expected the symbols that may set %s (none at all is kind \"absent\")", a.Subject)
		}
		if len(tokenText(a.Subject)) == 0 || !isLvalue(a.Subject) {
			r.errorf("subject: found %q, expected a variable or a member such as iter->missed_events or ->missed_events", a.Subject)
		}
	case Counted:
		if a.Count < 0 {
			r.errorf("no count: expected how often the subject stands in the scope")
		}
	case Absent:
		if len(a.Expect) > 0 {
			r.errorf("expect is not for kind \"absent\"")
		}
	case Order:
		if len(a.Expect) < 2 {
			r.errorf("expect: found %d texts, expected at least two that follow each other", len(a.Expect))
		}
	case Calls:
		if a.Subject == "" && (len(a.Expect) == 0 || symbol == "") {
			r.errorf("expected a subject (who calls it is expect), or a scope file#symbol and in expect what it calls")
		}
		if a.Subject != "" && len(a.Expect) == 0 && symbol == "" {
			r.errorf("no expect: expected the symbols that call %s", a.Subject)
		}
		if a.Subject != "" && !isIdent(a.Subject) {
			r.errorf("subject: found %q, expected the name of a function or macro", a.Subject)
		}
	case GuardedBy:
		if len(a.Expect) < 1 || len(a.Expect) > 2 {
			r.errorf("expect: found %d texts, expected the guard and, if there is one, its release", len(a.Expect))
		}
	case Format:
		if len(a.Expect) == 0 {
			r.errorf("no expect: expected the format strings in their order")
		}
	}
}

func isIdent(s string) bool {
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if !isIdentByte(s[i]) {
			return false
		}
	}
	return true
}

func isIdentByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
