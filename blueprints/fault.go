package blueprints

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
)

// Severity tells whether a [Fault] fails a check.
type Severity uint8

const (
	// Error fails the check: the document is wrong or cannot be trusted.
	Error Severity = iota
	// Note is worth knowing and fails nothing.
	Note
	// Undecided says that something could not be looked at (a tree or a kernel
	// that is not here). It never passes as "fine": it ends in exit code 3.
	Undecided
)

func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Note:
		return "note"
	}
	return "undecided"
}

// The rules that a [Fault] can name.
const (
	RuleFrontMatter      = "front-matter"      // header absent, unreadable, or short of a key
	RuleSection          = "section"           // a section absent, doubled, misnamed or out of order
	RuleMarker           = "marker"            // a generated block's marker that cannot be read or does not pair
	RuleSeal             = "seal"              // the block is not what was sealed
	RuleProvenance       = "provenance"        // the block does not say where it came from
	RuleStale            = "stale"             // the block does not regenerate to the same bytes
	RuleStatus           = "status"            // the status claims more than the blocks prove
	RuleUnknownStructure = "unknown-structure" // no type of that name in any of the BTF files
	RuleEvidenceMissing  = "evidence-missing"  // a path in the header that leads nowhere
	RuleEvidenceChanged  = "evidence-changed"  // the evidence is not what the block was made from
	RuleBTFMissing       = "btf-missing"       // the recorded BTF is not there
	RuleBTFChanged       = "btf-changed"       // another kernel's types than the recorded ones
	RuleCitation         = "citation"          // a reference, an assertion or a marker of one
	RuleImage            = "image"             // a picture that is not there or has no alternative text
	RuleLink             = "link"              // a link into the same folder that leads nowhere
)

// Fault is one thing wrong with a blueprint, at a place in it.
type Fault struct {
	tracefs.Pos
	Rule     string
	Severity Severity
	Message  string // what was found and what was expected
	Hint     string // what to do about it; may be empty
	// Detail holds further lines, such as what differs; may be empty.
	Detail []string
}

// Error is the fault in one line, "file:line: rule: message (hint)".
func (f Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %s", f.Pos, f.Rule, f.Message)
	if f.Hint != "" {
		fmt.Fprintf(&b, " (%s)", f.Hint)
	}
	return b.String()
}

// sortFaults brings faults into the order in which they are printed: by file,
// line, rule and message, each once.
func sortFaults(fs []Fault) []Fault {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.CompactFunc(fs, func(a, b Fault) bool {
		return a.Pos == b.Pos && a.Rule == b.Rule && a.Message == b.Message
	})
}

// HasErrors tells whether any of the faults fails a check.
func HasErrors(fs []Fault) bool {
	return slices.ContainsFunc(fs, func(f Fault) bool { return f.Severity == Error })
}
