package audit

import "fmt"

var ruleIncomplete = &Rule{
	ID: "capture-incomplete", Group: GroupCoverage, Severity: SeverityError,
	Title:     "The capture lacks events that were recorded",
	Text:      `The counters, or the capture's own marks, say that more was recorded than the capture holds. Nothing of it need be lost by the kernel: events may still have been in the ring when the reading ended, a reader beside this one may have taken them, or part of the file is damaged or cut off.`,
	Remedy:    `read the buffer to its end with recording off, with one reader, and keep the file whole`,
	Citations: []string{"trace-ring-buffer-R9", "reading-a-trace-R31", "reading-a-trace-R42"},
}

func checkIncomplete(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if b.FlightRecorder {
			a.checkWindow(b, r)
			continue
		}
		missing, ok := b.Ledger.Get(Total, Missing)
		lost := b.countedLoss(Total)
		if !ok || missing.Lo <= lost.Lo {
			continue // the findings of loss say it
		}
		if lost.Open && b.hasUnknownMarks() {
			continue // loss-of-unknown-size says it
		}
		delivered := b.Ledger.Count(Total, Delivered)
		a.emit(r, Finding{Buffer: b.Name, Evidence: append(b.Ledger.Evidence(Total, Delivered), b.Ledger.Evidence(Total, Read)...),
			Message: fmt.Sprintf("the capture holds %s, and lacks %s", events(delivered), events(missing))})
	}
}

// checkWindow reports what is missing inside the window of a flight recorder.
func (a *Audit) checkWindow(b *Buffer, r *Rule) {
	if !b.IsCapture() {
		return
	}
	for _, id := range b.CPUIDs() {
		inside, unknown := Exactly(0), Exactly(0)
		n, marks := 0, uint64(0)
		var ev []Evidence
		for _, h := range b.CPUs[id].Holes {
			if h.insideWindow() && h.Events.Lo > 0 {
				if n++; h.Counted || h.Inferred {
					inside = inside.Plus(h.Events)
				} else {
					unknown = unknown.Plus(h.Events)
					marks++
				}
				ev = append(ev, h.Evidence)
			}
		}
		if c := b.CPUs[id]; marks == c.UnknownMarks && marks > 0 {
			unknown = c.UnknownLost // their sum is known better than each of them
		}
		inside = inside.Plus(unknown)
		if n > 0 {
			a.emit(r, Finding{Buffer: b.Name, CPU: cpuPtr(id), Evidence: ev[:min(len(ev), 4)],
				Message: fmt.Sprintf("%s are missing from the window that %s holds, in %s", events(inside), cpuName(id), marksNoun(uint64(n)))})
			continue
		}
		gave := b.Ledger.Count(id, Kept).Plus(b.Ledger.Count(id, Read))
		if d, ok := b.Ledger.Get(id, Delivered); ok && !d.Open && gave.Lo > d.Hi {
			a.emit(r, Finding{Buffer: b.Name, CPU: cpuPtr(id), Evidence: append(b.Ledger.Evidence(id, Kept), b.Ledger.Evidence(id, Read)...),
				Message: fmt.Sprintf("the ring gave or kept %s of %s, and the capture holds %s", events(gave), cpuName(id), grouped(d))})
		}
	}
}

func (b *Buffer) hasUnknownMarks() bool {
	for _, c := range b.Captures {
		if _, _, unknown := c.marks(); unknown > 0 {
			return true
		}
	}
	return false
}
