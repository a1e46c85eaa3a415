package audit

import "fmt"

var ruleUncountedLoss = &Rule{
	ID: "uncounted-loss", Group: GroupLoss, Severity: SeverityError,
	Title:     "More was attempted than the kernel accounts for",
	Text:      `An independent count knows of more events than the ring wrote and refused together. The rest was refused where the kernel counts nothing: recording off, an excluded CPU, an event longer than a sub-buffer, a recursion, a filter.`,
	Remedy:    `look at tracing_on, tracing_cpumask, filters and triggers during the run; the blind spots list the ways ('ringaudit explain blind-spots')`,
	Citations: []string{"trace-ring-buffer-R60", "trace-ring-buffer-R61", "trace-ring-buffer-R62", "trace-ring-buffer-A23"},
}

func checkUncounted(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if n := b.Ledger.Count(Total, Uncounted); n.Lo > 0 {
			ev := b.Ledger.Evidence(Total, Attempted)
			a.emit(r, Finding{Buffer: b.Name, Evidence: ev,
				Message: fmt.Sprintf("%s attempted, %s accounted for: %s refused and counted nowhere", grouped(b.Ledger.Count(Total, Attempted)), grouped(b.countedAttemptsWithoutRest()), eventsWere(n))})
		}
	}
}

// countedAttemptsWithoutRest is what the kernel's counters account for.
func (b *Buffer) countedAttemptsWithoutRest() Count {
	l := b.Ledger
	return l.Count(Total, Written).Plus(l.Count(Total, Dropped)).Plus(l.Count(Total, CommitOverrun))
}
