package audit

var ruleEBPFWritten = &Rule{
	ID: "ebpf-versus-written", Group: GroupContradiction, Severity: SeverityError,
	Title:     "The eBPF count and the ring disagree",
	Text:      `An eBPF program on the same events counted less than the ring wrote and refused, or its bounds exclude what the ring wrote. With the same processes selected on both sides the two are equal, unless one of the exceptions holds that the capture names.`,
	Remedy:    `find out which of the two is of another run or moment, or was edited; the one that is not used is named`,
	Citations: []string{"ebpf-ring-buffer-loss-R28", "ebpf-ring-buffer-loss-R31", "ebpf-ring-buffer-loss-R39", "ebpf-ring-buffer-loss-R40"},
}
