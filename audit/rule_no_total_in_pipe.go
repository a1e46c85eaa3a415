package audit

var ruleNoTotalInPipe = &Rule{
	ID: "no-total-in-pipe", Group: GroupSilence, Severity: SeverityNote,
	Title:     "A trace_pipe text has no total to check it by",
	Text:      `trace_pipe prints no header. Its LOST marks say what was overwritten before each sub-buffer that was read; what was overwritten after the last one, and everything that was refused, is not in it, and neither is a sum to compare with.`,
	Remedy:    `save per_cpu/cpuN/stats after the reading and give both to the audit`,
	Citations: []string{"reading-a-trace-R22", "trace-ring-buffer-R82", "trace-ring-buffer-A11"},
}

func checkNoTotal(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if b.HasCounters() {
			continue
		}
		for _, c := range b.Captures {
			if c.Kind == KindTracePipe {
				a.emit(r, Finding{Buffer: b.Name, Evidence: []Evidence{c.evidence(0, "")},
					Message: c.title() + " has no total: loss after its last event, and refused events, leave nothing in it"})
			}
		}
	}
}
