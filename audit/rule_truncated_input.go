package audit

var ruleTruncated = &Rule{
	ID: "truncated-input", Group: GroupCoverage, Severity: SeverityWarning,
	Title:     "The input ends too early",
	Text:      `The source is cut off: inside a line, a page or a section, or before its own end. What comes before the cut was used; what came after it is unknown.`,
	Remedy:    `copy the file again; of a trace.dat whose recorder was killed, look for OUT.cpuN files beside it`,
	Citations: []string{"trace-ring-buffer-R25", "trace-ring-buffer-A13"},
}

func checkTruncated(a *Audit, r *Rule) {
	for _, s := range a.Sources {
		for _, p := range s.Problems {
			if p.Truncated && !p.Unreadable {
				f := Finding{Buffer: p.Buffer, CPU: cpuPtr(p.CPU), Message: p.Message, Evidence: []Evidence{p.Evidence}}
				if p.Harmless {
					f.Severity = SeverityNote
				}
				a.emit(r, f)
			}
		}
	}
}
