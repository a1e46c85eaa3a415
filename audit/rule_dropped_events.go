package audit

import "fmt"

var ruleDroppedEvents = &Rule{
	ID: "dropped-events", Group: GroupLoss, Severity: SeverityError,
	Title:     "Events were refused because the ring was full",
	Text:      `With overwrite off, a full ring refuses every new event until a reader makes room, and adds one to "dropped events" for each. Nothing else tells: the header of trace does not have them, trace_pipe prints no LOST line for them, and raw pages carry no flag. The writer of a trace_marker sees EBADF.`,
	Remedy:    `read while it runs, give the buffer more room, or turn overwrite on if the latest events matter more than the first`,
	Citations: []string{"trace-ring-buffer-R4", "trace-ring-buffer-A4", "trace-ring-buffer-A9", "trace-ring-buffer-R83"},
}

func checkDropped(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if b.Kind == BufferBPF {
			continue // ringbuf-reserve-failed says it
		}
		if n := b.Ledger.Count(Total, Dropped); n.Lo > 0 {
			a.emit(r, Finding{Buffer: b.Name, Evidence: b.Ledger.Evidence(Total, Dropped),
				Message: fmt.Sprintf("%s refused because the ring was full; no header, mark or page flag shows these", eventsWere(n))})
		}
	}
}
