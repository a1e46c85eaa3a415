package audit

var rulePipeStats = &Rule{
	ID: "pipe-versus-stats", Group: GroupContradiction, Severity: SeverityError,
	Title:     "What a reader took does not fit the counters",
	Text:      `The LOST marks of all that was read from trace_pipe add up to at most the overrun, and the events read to at most entries plus read events. More than that cannot come from this buffer since its last reset.`,
	Remedy:    `find out which of the two is of another run or moment, or was edited; the one that is not used is named`,
	Citations: []string{"reading-a-trace-R22", "trace-ring-buffer-R11", "trace-ring-buffer-R50"},
}
