package audit

import "fmt"

var ruleRecorderLost = &Rule{
	ID: "recorder-lost", Group: GroupCoverage, Severity: SeverityError,
	Title:     "Events left the kernel and are not in the capture",
	Text:      `The kernel counts every event that a consuming reader takes. If entries plus read events is more than the capture holds, the rest was lost after the kernel had given it: by a recorder that was killed, ran out of disk or kept a ring of files, or by a second reader that took events away. No flag in the data shows it.`,
	Remedy:    `let one reader at a time consume the buffer, give the recorder disk space, and end it with SIGINT`,
	Citations: []string{"trace-ring-buffer-R11", "trace-ring-buffer-R13", "trace-ring-buffer-A8"},
}

// brokenCPU tells whether part of the CPU's data is damaged or cut off: then
// that is where records are missing.
func (b *Buffer) brokenCPU(cpu int) bool {
	for _, c := range b.Captures {
		if p := c.PerCPU[cpu]; p != nil && (p.Damaged > 0 || c.Cut) {
			return true
		}
		for _, p := range c.Source.Problems {
			if !p.Harmless && (p.CPU == cpu || p.Truncated && p.CPU == Total) && (p.Buffer == "" || p.Buffer == b.baseName()) {
				return true
			}
		}
	}
	return false
}

func checkRecorderLost(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if !b.HasCounters() || !b.hasConsumer() || b.before != nil || b.LastBoot {
			continue
		}
		for _, id := range b.CPUIDs() {
			d, ok := b.Ledger.Get(id, Delivered)
			gave := b.Ledger.Count(id, Read)
			if b.Counters.Source.Kind == KindTraceDat {
				// What is left when the recorder ends is flushed into the file.
				gave = gave.Plus(b.Ledger.Count(id, Kept))
			}
			if !ok || d.Open || gave.Lo <= d.Hi || b.brokenCPU(id) {
				continue
			}
			lost := Count{Lo: gave.Lo - d.Hi, Hi: gave.Hi - d.Lo, Open: gave.Open}
			what := "the recorder, or another reader, lost them after the kernel gave them up"
			f := Finding{Buffer: b.Name, CPU: cpuPtr(id), Evidence: append(b.Ledger.Evidence(id, Read), b.Ledger.Evidence(id, Delivered)...),
				Message: fmt.Sprintf("readers took %s of %s, the capture holds %s: %s are missing; %s", grouped(gave), cpuName(id), grouped(d), grouped(lost), what)}
			a.emit(r, f)
		}
	}
}
