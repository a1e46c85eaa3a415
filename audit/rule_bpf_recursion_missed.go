package audit

import "fmt"

var ruleRecursionMissed = &Rule{
	ID: "bpf-recursion-missed", Group: GroupEBPF, Severity: SeverityWarning,
	Title:     "A BPF program was skipped because one was running",
	Text:      `The kernel does not run a BPF program inside itself: a hit while it is active on the same CPU is skipped and, for most ways of attaching on current kernels, counted as a recursion miss. The trace ring may have recorded that hit, so the independent count is short by it.`,
	Remedy:    "",
	Citations: []string{"ebpf-ring-buffer-loss-R28", "ebpf-ring-buffer-loss-R30", "ebpf-ring-buffer-loss-R31", "ebpf-ring-buffer-loss-R32"},
}

func checkRecursionMissed(a *Audit, r *Rule) {
	for _, l := range a.logs {
		if m := l.RecursionMisses; m.OK && m.V > 0 {
			a.emit(r, Finding{Buffer: l.buffer, Message: fmt.Sprintf("%s missed by recursion: the count is short by them", eventsWere(Exactly(m.V))), Evidence: []Evidence{l.evidence(m.Line, m.Text)}})
		}
	}
}
