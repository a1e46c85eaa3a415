package audit

var ruleHeaderMismatch = &Rule{
	ID: "header-total-mismatch", Group: GroupContradiction, Severity: SeverityError,
	Title:     "The header of trace and the counters disagree",
	Text:      `The header of trace, entries-in-buffer/entries-written, is the sum over all CPUs of entries, and of entries plus overrun. On a stopped buffer it must agree with per_cpu/cpuN/stats, but for CPUs that were offline at the last reset, a latency tracer's own ring, and counters made stale by a change of the sub-buffer size.`,
	Remedy:    `find out which of the two is of another run or moment, or was edited; the one that is not used is named`,
	Citations: []string{"trace-ring-buffer-R38", "trace-ring-buffer-R40", "trace-ring-buffer-R41", "buffer-size-A3"},
}
