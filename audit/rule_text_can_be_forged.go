package audit

import "fmt"

var ruleForged = &Rule{
	ID: "text-can-be-forged", Group: GroupCoverage, Severity: SeverityWarning,
	Title:     "A loss mark stands where the kernel prints none",
	Text:      `A trace text is not tamper-proof: whoever may write to trace_marker can put line ends into the payload, and a line of it that reads like a mark or an event cannot be told from a true one. The kernel prints a mark right before an event of the same CPU; this one stands elsewhere, so it proves nothing and is counted as nothing. A forged line in the right place cannot be told from a true one.`,
	Remedy:    `check the sum against per_cpu/cpuN/stats, which nobody can write to`,
	Citations: []string{"trace-ring-buffer-R42", "reading-a-trace-R24", "trace-ring-buffer-R83"},
}

func checkForged(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		for _, c := range b.texts() {
			for i, h := range c.Suspects {
				if i == 5 {
					a.emit(r, Finding{Buffer: b.Name, Evidence: []Evidence{h.Evidence}, Message: fmt.Sprintf("and %d more such lines", len(c.Suspects)-i)})
					break
				}
				a.emit(r, Finding{Buffer: b.Name, Evidence: []Evidence{h.Evidence},
					Message: fmt.Sprintf("line %d is not the kernel's: %s; a text can be forged by whoever writes markers, and this line is counted as nothing", h.Line, h.Suspect)})
			}
		}
	}
}
