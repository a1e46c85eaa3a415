package audit

import "fmt"

var ruleTimeBack = &Rule{
	ID: "time-goes-backwards", Group: GroupCoverage, Severity: SeverityWarning,
	Title:     "Events of one CPU go back in time",
	Text:      `Within one CPU the ring is in order of time. A step back means that the clock was changed, that several traces stand in one file, or that a reading started again because another reader consumed beside it, and shows events twice.`,
	Remedy:    `audit each trace by itself; let one reader at a time consume the buffer`,
	Citations: []string{"reading-a-trace-R10", "trace-ring-buffer-R84", "trace-ring-buffer-R33"},
}

func checkTimeBack(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		for _, c := range b.Views() {
			for _, id := range c.CPUIDs() {
				if p := c.PerCPU[id]; p.TimeBack > 0 {
					verb := "are"
					if p.TimeBack == 1 {
						verb = "is"
					}
					a.emit(r, Finding{Buffer: b.Name, CPU: cpuPtr(id), Evidence: []Evidence{p.TimeBackAt},
						Message: fmt.Sprintf("%s of %s %s earlier than the one before", counted(p.TimeBack, "event"), cpuName(id), verb)})
				}
			}
		}
	}
}
