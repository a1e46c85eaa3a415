package audit

import "fmt"

var ruleFlightRecorder = &Rule{
	ID: "flight-recorder", Group: GroupLoss, Severity: SeverityNote,
	Title:     "Overwriting was declared intended",
	Text:      `The audit was told that this buffer is a flight recorder: that old events make room for new ones is its purpose. The question is then whether the window that it holds is whole: nothing refused, and nothing missing between its first event and its last.`,
	Remedy:    "",
	Citations: []string{"trace-ring-buffer-R68", "trace-ring-buffer-R73"},
}

func checkFlightRecorder(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		over := b.Ledger.Count(Total, Overwritten)
		if !b.FlightRecorder || over.Lo == 0 {
			continue
		}
		msg := fmt.Sprintf("%s were overwritten, as intended", events(over))
		if w := b.CommonWindow(); w != nil {
			msg += fmt.Sprintf("; all CPUs with events cover %v to %v", w.Oldest, w.End())
		}
		a.emit(r, Finding{Buffer: b.Name, Message: msg, Evidence: b.Ledger.Evidence(Total, Overwritten)})
	}
}
