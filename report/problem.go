package report

import (
	"path"
	"sort"
	"strings"
)

// Problem is one thing that a verb found, in the form that the formats for
// other programs share: sarif, junit and github know problems, not documents.
type Problem struct {
	// Rule is the id of what was found: a rule of the audit, a state of a
	// citation.
	Rule     string
	Severity string // error, warning, note
	Message  string
	// Action is what to do about it, empty if nothing.
	Action string
	// Path is where it is, with slashes; Line and Col count from 1, columns in
	// characters, 0 if not known. An empty Path is no place at all.
	Path      string
	Line, Col int
	// Related are further places, best first.
	Related []ProblemPlace
	// Fingerprint is the same in every run as long as the problem is the same,
	// wherever its line is.
	Fingerprint string
	// Suppressed is the reason why it does not count, empty if it does.
	Suppressed string
	// Suite and Case name the test in JUnit.
	Suite, Case string
}

// ProblemPlace is a place that helps to understand a problem.
type ProblemPlace struct {
	// Base names what Path is relative to where that is not the working folder:
	// "linux-7.2.13". Empty otherwise.
	Base      string
	Path      string
	Line, Col int
	Message   string
	URL       string // permalink, empty if none
}

// ProblemRule documents a rule.
type ProblemRule struct {
	ID       string
	Title    string // one line
	Help     string // what it means and what to do
	Severity string // usual one
	URL      string
}

// ProblemCase is something that was looked at, for JUnit, which counts what
// passed too.
type ProblemCase struct {
	Suite, Name string
	Skipped     string // why it was not looked at, empty if it was
}

// Problems is the result of one run of a verb in the form that sarif, junit and
// github are made of.
type Problems struct {
	Version string // of ringaudit
	Verb    string // "audit", "cite check"
	Rules   []ProblemRule
	List    []Problem
	Cases   []ProblemCase
	// Exit is the exit code of the run; Complete tells whether it came to a
	// result at all.
	Exit     int
	Complete bool
}

// rule is the documentation of a rule, also of one that nobody documented.
func (p *Problems) rule(id string) ProblemRule {
	for _, r := range p.Rules {
		if r.ID == id {
			return r
		}
	}
	return ProblemRule{ID: id, Title: id}
}

// used lists the rules of the problems at hand, sorted, and the index of each.
func (p *Problems) used() (rules []ProblemRule, index map[string]int) {
	index = make(map[string]int)
	for _, x := range p.List {
		index[x.Rule] = 0
	}
	for id := range index {
		rules = append(rules, p.rule(id))
	}
	sort.Slice(rules, func(i, j int) bool { return rules[i].ID < rules[j].ID })
	for i, r := range rules {
		index[r.ID] = i
	}
	return rules, index
}

// relativePath is p as a path below some root: what leads out of the working
// folder, or is absolute, would be a different place on every machine.
func relativePath(p string) string {
	p = strings.ReplaceAll(p, "\\", "/")
	if len(p) > 1 && p[1] == ':' { // a Windows drive
		p = p[2:]
	}
	p = path.Clean("/" + p)
	return strings.TrimPrefix(p, "/")
}
