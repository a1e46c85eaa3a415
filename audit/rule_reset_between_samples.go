package audit

import "fmt"

var ruleReset = &Rule{
	ID: "reset-between-samples", Group: GroupCoverage, Severity: SeverityWarning,
	Title:     "The counters were reset between the two samples",
	Text:      `The counters do not go on from --before: one that only grows fell, the clock went back, or the events that were there are gone and not counted as overwritten. Something reset the buffer (a write to trace, another tracer or clock, a removed dynamic event), or the machine was restarted. A snapshot puts another ring in its place, with counters and events from before. The counters now tell what happened since that reset; what happened between the earlier sample and the reset is gone. On a 32-bit kernel a counter that fell may also have wrapped at 2^32.`,
	Remedy:    `take the earlier sample again, and let nothing reset the buffer in between`,
	Citations: []string{"trace-ring-buffer-R29", "trace-ring-buffer-R32", "trace-ring-buffer-R34", "trace-ring-buffer-R36"},
}

func checkReset(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if !b.Reset {
			continue
		}
		for _, why := range b.resetBy {
			a.emit(r, Finding{Buffer: b.Name, Message: why + "; its numbers are lower bounds", Evidence: []Evidence{{Source: b.source.ID}}})
		}
		for _, cpu := range b.stepCPUs(func(s step) bool { return s.reset || s.doubt || s.wrapped || s.swapped }) {
			s := b.steps[cpu]
			ev := []Evidence{b.Counters.place(cpu, s.line, s.text)}
			if s.wasLine > 0 {
				ev = append(ev, b.before.place(cpu, s.wasLine, s.wasText))
			}
			a.emit(r, Finding{Buffer: b.Name, CPU: cpuPtr(cpu), Evidence: ev,
				Message: fmt.Sprintf("cpu %d: %s: its counters do not go on from the earlier sample, and its numbers are lower bounds", cpu, s.why)})
		}
	}
}
