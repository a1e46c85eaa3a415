package audit

import "fmt"

var ruleSequenceHole = &Rule{
	ID: "sequence-hole", Group: GroupEBPF, Severity: SeverityError,
	Title:     "Numbers are missing from a CPU's records",
	Text:      `Each record of a ring log bears a number that grows by one with every hit of its CPU, whether or not the ring had room. A gap is exactly the records that are missing: refused by the ring, or lost by the reader.`,
	Remedy:    "",
	Citations: []string{"ebpf-ring-buffer-loss-R10", "ebpf-ring-buffer-loss-R19"},
}

func checkSequenceHole(a *Audit, r *Rule) {
	for _, l := range a.logs {
		for _, c := range l.CPUs {
			if c.Missing == 0 {
				continue
			}
			f := Finding{Buffer: l.buffer, CPU: cpuPtr(c.CPU), Message: fmt.Sprintf("%s missing from the numbered records of cpu %d", eventsWere(Exactly(c.Missing)), c.CPU)}
			if c.CPU < 0 {
				f.CPU, f.Message = nil, fmt.Sprintf("%s missing from the numbered records", eventsWere(Exactly(c.Missing)))
			}
			if len(c.Holes) > 0 {
				f.Evidence = []Evidence{l.evidence(c.Holes[0].Line, "")}
			}
			if c.ReserveFailures.OK && c.ReserveFailures.V == c.Missing {
				f.Severity = SeverityNote
				f.Message += ", as many as the ring refused there"
			} else if c.ReserveFailures.OK && c.ReserveFailures.V < c.Missing {
				f.Message += fmt.Sprintf("; the ring refused %s of them, the rest was lost after the kernel", group(c.ReserveFailures.V))
			}
			a.emit(r, f)
		}
	}
}
