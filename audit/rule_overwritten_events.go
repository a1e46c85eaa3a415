package audit

import "fmt"

var ruleOverwrittenEvents = &Rule{
	ID: "overwritten-events", Group: GroupLoss, Severity: SeverityError,
	Title:     "Events were thrown away to make room",
	Text:      `In overwrite mode, the default, a full ring throws its oldest sub-buffer away with all events in it, and carries on. The kernel adds their number to overrun when the writer moves on. The trace file of a stopped buffer shows no mark of it: what is left looks like a complete trace of a shorter time.`,
	Remedy:    `give the buffer the size that would have held the run ('ringaudit size --from SOURCE' computes it), or read trace_pipe or its raw form while it runs; if only the last moments matter, say so with --flight-recorder`,
	Citations: []string{"trace-ring-buffer-R1", "trace-ring-buffer-A14", "reading-a-trace-A7"},
}

func checkOverwritten(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		over := b.Ledger.Count(Total, Overwritten)
		if over.Lo == 0 || b.FlightRecorder {
			continue
		}
		what := "the oldest " + eventsWere(over) + " thrown away to make room"
		if over.Exact() && over.Lo == 1 {
			what = "the oldest event was thrown away to make room"
		}
		switch {
		case b.Ledger.Count(Total, Read).Lo > 0 || b.hasConsumer():
			what = eventsWere(over) + " thrown away to make room before a reader came to them"
		case !over.Exact():
			was := "were"
			if over.Lo == 1 && over.Open {
				was = "was"
			}
			what = fmt.Sprintf("%s, the oldest, %s thrown away to make room", events(over), was)
		}
		a.emit(r, Finding{Buffer: b.Name, Message: what, Evidence: b.Ledger.Evidence(Total, Overwritten)})
	}
}

// hasConsumer tells whether a capture took its records out of the ring.
func (b *Buffer) hasConsumer() bool {
	for _, c := range b.Captures {
		if c.Consuming {
			return true
		}
	}
	return false
}
