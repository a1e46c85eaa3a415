package audit

import "fmt"

var ruleKnownBug = &Rule{
	ID: "known-counter-bug", Group: GroupContradiction, Severity: SeverityWarning,
	Title:     "A known fault of the kernel's counters shows here",
	Text:      `Some kernels let the counters go wrong: a change of buffer_subbuf_size_kb (6.8 and later) frees all events and leaves every counter as it was; a shrink on kernels before 5.10 lets entries jump up by what was read; a swap with the snapshot gives the buffer the old counters of the spare one. A version number does not decide it, because distributions backport the repairs: the evidence does.`,
	Remedy:    `reset the buffer (echo > trace) after such a change, and take the counters anew`,
	Citations: []string{"buffer-size-R40", "buffer-size-A3", "reading-a-trace-R53"},
}

func checkKnownBug(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if !b.Stale {
			continue
		}
		emit, shown := func(f Finding) { a.emit(r, f) }, false
		if b.before != nil && b.Ledger.Count(Total, Overwritten).None() {
			emit = func(f Finding) { // no loss of the audited stretch
				f.Severity, f.Message = SeverityNote, f.Message+"; that was before the earlier sample"
				a.emit(r, f)
			}
		}
		for _, v := range b.ownViews {
			if v.Header == nil || v.Header.Entries == v.Records() {
				continue
			}
			shown = true
			f := Finding{Buffer: b.Name, Evidence: []Evidence{v.evidence(v.Header.Line, v.Header.Text)}}
			if v.Records() == 0 {
				f.Severity = SeverityError
				f.Message = fmt.Sprintf("the header claims %d entries and the body has none: a change of the sub-buffer size threw them away and left the counters as they were", v.Header.Entries)
			} else {
				f.Message = fmt.Sprintf("the header claims %d entries and the body shows %d: a change of the sub-buffer size throws events away and leaves the counters as they were, or the text was shortened", v.Header.Entries, v.Records())
				for _, cpu := range b.Counters.CPUs() {
					if _, gone := b.thrownAway[cpu]; gone {
						f.Evidence = append(f.Evidence, b.Ledger.Evidence(cpu, Kept)...)
					}
				}
			}
			emit(f)
			break
		}
		for _, cpu := range b.unused {
			if shown {
				break // the text says the same of all CPUs
			}
			st := b.Counters.Stats[cpu]
			emit(Finding{Buffer: b.Name, CPU: cpuPtr(cpu), Severity: SeverityError,
				Evidence: []Evidence{b.Counters.place(cpu, st.Entries.Line, st.Entries.Text), b.Counters.place(cpu, st.Oldest.Line, st.Oldest.Text)},
				Message:  fmt.Sprintf("cpu %d claims %d entries, and nothing was ever written to the sub-buffers that it has: a change of the sub-buffer size threw the entries away and left the counters as they were", cpu, b.entries(cpu))})
		}
	}
}
