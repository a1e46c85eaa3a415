package audit

var ruleApart = &Rule{
	ID: "sources-apart", Group: GroupCoverage, Severity: SeverityWarning,
	Title:     "A source was not settled with the others",
	Text:      `Sources are settled against each other only if they can be of one run: the same kernel, CPUs that the machine has, stamps of the same clock and time. This one is reported by itself.`,
	Remedy:    `give sources of one run; tie a text to its buffer with BUFFER=PATH`,
	Citations: []string{"trace-ring-buffer-R23", "trace-ring-buffer-R33"},
}

func checkApart(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if b.Apart != "" {
			a.emit(r, Finding{Buffer: b.Name, Message: "reported apart: " + b.Apart, Evidence: []Evidence{{Source: b.Sources[0].ID}}})
		}
	}
}
