package audit

var ruleAttemptedWritten = &Rule{
	ID: "attempted-versus-written", Group: GroupContradiction, Severity: SeverityError,
	Title:     "More was written than attempted",
	Text:      `The workload that was given with --attempted is smaller than what the kernel's counters say was written and refused.`,
	Remedy:    `check the number, or what else wrote to this buffer: other events, markers, the stacktrace option (one more record for each event)`,
	Citations: []string{"trace-ring-buffer-R9", "trace-ring-buffer-A23"},
}
