package audit

import "fmt"

var ruleReserveFailed = &Rule{
	ID: "ringbuf-reserve-failed", Group: GroupEBPF, Severity: SeverityError,
	Title:     "A BPF ring buffer had no room for records",
	Text:      `bpf_ringbuf_reserve returns NULL when the ring is full, and the kernel counts that nowhere: the program has to. Unlike the trace ring, it refuses the new record and keeps the old ones. The count by CPU adds up to the total; the count by probe may fall short of it, and never exceeds it, because the total is raised first.`,
	Remedy:    `give the ring more room (--ring-size), read it faster, or record less in each hit`,
	Citations: []string{"ebpf-ring-buffer-loss-R7", "ebpf-ring-buffer-loss-R11", "ebpf-ring-buffer-loss-A1", "ebpf-ring-buffer-loss-A4"},
}

func checkReserveFailed(a *Audit, r *Rule) {
	for _, l := range a.logs {
		f, n := l.ReserveFailures, Exactly(l.ReserveFailures.V)
		if !f.OK && !l.Segment {
			n = AtLeast(l.SumByCPU) // the log has the breakdown and not its total
		}
		if n.Lo == 0 {
			continue
		}
		msg := fmt.Sprintf("%s refused by the BPF ring buffer", eventsWere(n))
		for _, c := range l.CPUs {
			if c.ReserveFailures.OK && c.ReserveFailures.V > 0 {
				if !f.OK {
					f = c.ReserveFailures
				}
				msg += fmt.Sprintf(", cpu %d %s", c.CPU, group(c.ReserveFailures.V))
			}
		}
		for _, p := range l.Probes {
			if p.ReserveFailures.OK && p.ReserveFailures.V > 0 {
				msg += fmt.Sprintf(", %s %s", p.Name, group(p.ReserveFailures.V))
			}
		}
		a.emit(r, Finding{Buffer: l.buffer, Message: msg, Evidence: []Evidence{l.evidence(f.Line, f.Text)}, Loss: true})
	}
}
