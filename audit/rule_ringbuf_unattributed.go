package audit

import "fmt"

var ruleUnattributed = &Rule{
	ID: "ringbuf-unattributed", Group: GroupEBPF, Severity: SeverityWarning,
	Title:     "Reserve failures that no probe was named for",
	Text:      `The table that attributes reserve failures to probes has a fixed number of places. When it is full, further failures add to "unattributed" and are never put on the wrong probe. While it is above zero, a probe that the table lacks may have failed too: absence proves nothing.`,
	Remedy:    `record fewer probes at once, or give the table more places`,
	Citations: []string{"ebpf-ring-buffer-loss-R41", "ebpf-ring-buffer-loss-R42"},
}

func checkUnattributed(a *Audit, r *Rule) {
	for _, l := range a.logs {
		if u := l.Unattributed; u.OK && u.V > 0 {
			a.emit(r, Finding{Buffer: l.buffer, Message: fmt.Sprintf("%s attributed to no probe", failuresAre(u.V)), Evidence: []Evidence{l.evidence(u.Line, u.Text)}})
		}
		if l.Segment || !l.ReserveFailures.OK {
			continue // a segment's breakdown holds differences of two moments
		}
		over := func(sum uint64, by string) {
			if sum > l.ReserveFailures.V {
				a.emit(ruleEBPFWritten, Finding{Buffer: l.buffer, Evidence: []Evidence{l.evidence(l.ReserveFailures.Line, l.ReserveFailures.Text)},
					Message: fmt.Sprintf("the reserve failures by %s add up to %s, more than their total of %s", by, group(sum), group(l.ReserveFailures.V))})
			}
		}
		over(l.SumByCPU, "CPU")
		sum := l.SumByProbe
		if l.Unattributed.OK {
			sum += l.Unattributed.V
		}
		over(sum, "probe")
	}
}

func failuresAre(n uint64) string {
	if n == 1 {
		return "1 reserve failure is"
	}
	return group(n) + " reserve failures are"
}
