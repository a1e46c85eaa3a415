package audit

import "fmt"

var ruleCommitOverrun = &Rule{
	ID: "commit-overrun", Group: GroupLoss, Severity: SeverityError,
	Title:     "Events were refused because writers lapped an open commit",
	Text:      `An interrupt can write while the event that it interrupted is not yet committed. If such nested writers fill the whole ring, the next one would have to overwrite the open event; the kernel refuses it instead, and adds one to "commit overrun". It happens with the function tracer in small rings. No reader, header, mark or page flag shows these events.`,
	Remedy:    `give the buffer more sub-buffers: a ring of two or three is lapped within one interrupt`,
	Citations: []string{"trace-ring-buffer-R5", "trace-ring-buffer-R6", "trace-ring-buffer-A10", "trace-ring-buffer-A12"},
}

func checkCommitOverrun(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if n := b.Ledger.Count(Total, CommitOverrun); n.Lo > 0 {
			a.emit(r, Finding{Buffer: b.Name, Evidence: b.Ledger.Evidence(Total, CommitOverrun),
				Message: fmt.Sprintf("%s refused by commit overrun; no reader, header or mark ever shows these", eventsWere(n))})
		}
	}
}
