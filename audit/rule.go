package audit

import (
	"cmp"
	"slices"
)

// Group gathers rules by what they are about.
type Group string

// The groups of rules.
const (
	GroupLoss          Group = "loss"
	GroupSilence       Group = "silence"
	GroupContradiction Group = "contradiction"
	GroupGeometry      Group = "geometry"
	GroupCoverage      Group = "coverage"
	GroupProbes        Group = "probes"
	GroupEBPF          Group = "ebpf"
	GroupPolicy        Group = "policy"
)

// Rule is one kind of finding, with its own documentation: explain, the
// reports and the docs print these values.
type Rule struct {
	ID       string
	Group    Group
	Title    string   // one line, no full stop
	Severity Severity // unless the policy or the case says otherwise
	// Text says what the finding means and how it comes about in the kernel.
	Text string
	// Remedy says what to do about it.
	Remedy string
	// Citations are references of the blueprints that hold Text's statements
	// about the kernel.
	Citations []string
}

// Rules are all rules, in the order in which reports list their findings.
func Rules() []*Rule { return rules }

// RuleByID finds a rule; nil if there is none of that ID.
func RuleByID(id string) *Rule {
	for _, r := range rules {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// NearestRule is the rule ID that is most like id, for messages about typing
// errors.
func NearestRule(id string) string {
	ids := make([]string, len(rules))
	for i, r := range rules {
		ids[i] = r.ID
	}
	return Nearest(id, ids)
}

// Nearest is the candidate with the least edit distance to s; ties go to the
// first.
func Nearest(s string, candidates []string) string {
	if len(candidates) == 0 {
		return ""
	}
	return slices.MinFunc(candidates, func(a, b string) int {
		return cmp.Compare(editDistance(s, a), editDistance(s, b))
	})
}

// editDistance is the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
