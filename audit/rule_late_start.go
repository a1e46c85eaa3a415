package audit

import "fmt"

var ruleLateStart = &Rule{
	ID: "late-start", Group: GroupCoverage, Severity: SeverityNote,
	Title:     "The CPUs do not cover the same time",
	Text:      `Each CPU has its own ring, and a busy one overwrites sooner. Before the latest of their first events, the trace shows some CPUs and not others: what looks like a quiet CPU there is one whose events are gone.`,
	Remedy:    `compare CPUs only within the window that all of them cover`,
	Citations: []string{"trace-ring-buffer-R27", "trace-ring-buffer-R52", "reading-a-trace-R18"},
}

func checkLateStart(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if b.Ledger.Count(Total, Overwritten).Lo == 0 {
			continue
		}
		latest, cpus := -1, 0
		for _, id := range b.CPUIDs() {
			w := b.CPUs[id].Window
			if w == nil {
				continue
			}
			cpus++
			if latest < 0 || w.Oldest.Value > b.CPUs[latest].Window.Oldest.Value {
				latest = id
			}
		}
		if cpus < 2 {
			continue
		}
		f := Finding{Buffer: b.Name, CPU: cpuPtr(latest)}
		if common := b.CommonWindow(); common != nil {
			f.Message = fmt.Sprintf("all CPUs with events are covered from %v on, where %s begins, to %v", common.Oldest, cpuName(latest), common.End())
		} else {
			f.Message = "no stretch of time is covered by all CPUs with events"
		}
		f.Evidence = b.CPUs[latest].Window.evidence
		a.emit(r, f)
	}
}
