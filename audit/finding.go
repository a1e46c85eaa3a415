package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Finding is one thing that an audit has to say.
type Finding struct {
	Rule     string
	Severity Severity
	Buffer   string // empty: not of one buffer
	CPU      *int   // nil: not of one CPU
	Probe    string
	Message  string
	Action   string // what to do about it; may be empty
	Evidence []Evidence
	// Citations are references of the blueprints (NAME-R1) that hold what the
	// message says of the kernel.
	Citations []string
	// Suppressed is the reason where the policy suppresses the finding.
	Suppressed string
	// Loss tells that the finding is loss of events, so that budgets apply.
	Loss bool

	settled bool // there is nothing to do about it
	beyond  bool // loss that the kernel's counters do not have: no budget applies
}

// Fingerprint is the same in every run over the same input, and does not change
// when unrelated findings come or go: it is made of what the finding is about,
// never of its counts.
func (f Finding) Fingerprint() string {
	cpu := ""
	if f.CPU != nil {
		cpu = fmt.Sprint(*f.CPU)
	}
	h := sha256.Sum256([]byte(strings.Join([]string{f.Rule, f.Buffer, cpu, f.Probe}, "\x00")))
	return hex.EncodeToString(h[:8])
}

// sortFindings orders findings: worst first, then by buffer, in the order of
// Rules, by CPU, by probe. It drops exact repetitions.
func sortFindings(fs []Finding) []Finding {
	order := map[string]int{}
	for i, r := range Rules() {
		order[r.ID] = i
	}
	cpu := func(f Finding) int {
		if f.CPU == nil {
			return Total
		}
		return *f.CPU
	}
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Severity.rank(), b.Severity.rank()),
			cmp.Compare(a.Buffer, b.Buffer),
			cmp.Compare(order[a.Rule], order[b.Rule]),
			cmp.Compare(cpu(a), cpu(b)),
			cmp.Compare(a.Probe, b.Probe),
		)
	})
	return slices.CompactFunc(fs, func(a, b Finding) bool {
		return a.Rule == b.Rule && a.Buffer == b.Buffer && cpu(a) == cpu(b) && a.Probe == b.Probe && a.Message == b.Message
	})
}
