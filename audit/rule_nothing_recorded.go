package audit

import "github.com/ringaudit/ringaudit/tracefs/ringlog"

var ruleNothingRecorded = &Rule{
	ID: "nothing-recorded", Group: GroupCoverage, Severity: SeverityWarning,
	Title:     "Nothing was recorded at all",
	Text:      `All counters are zero: nothing was lost because nothing was ever asked for, or because recording was off the whole time, which no counter tells.`,
	Remedy:    `check tracing_on, the enabled events and current_tracer, and whether the buffer was reset at the end`,
	Citations: []string{"trace-ring-buffer-R60", "trace-ring-buffer-R32"},
}

func checkNothing(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if b.witness != nil && b.witness.Mode == ringlog.ModeAlone {
			continue // nothing was asked of the buffer: the capture was of BPF programs
		}
		if b.Kind == BufferRing && b.HasCounters() && b.before == nil && b.Ledger.Count(Total, Written).None() &&
			b.Ledger.Count(Total, Dropped).None() && b.Ledger.Count(Total, CommitOverrun).None() {
			a.emit(r, Finding{Buffer: b.Name, Message: "every counter is zero: nothing was recorded", Evidence: b.Ledger.Evidence(Total, Kept)})
		}
	}
}
