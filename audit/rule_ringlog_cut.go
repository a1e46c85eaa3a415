package audit

var ruleLogCut = &Rule{
	ID: "ringlog-cut", Group: GroupEBPF, Severity: SeverityWarning,
	Title:     "A ring log has no end",
	Text:      `The last line of a ring log holds the totals. Without it, nothing is known of reserve failures, and of what came after the last record: the recorder was killed, or the file was cut.`,
	Remedy:    `end the recorder with SIGINT, and copy the file whole`,
	Citations: []string{"ebpf-ring-buffer-loss-A1", "ebpf-ring-buffer-loss-A4"},
}

func checkLogCut(a *Audit, r *Rule) {
	for _, l := range a.logs {
		if l.Cut {
			a.emit(r, Finding{Buffer: l.buffer, Message: "the ring log has no end line: " + l.CutWhy, Evidence: []Evidence{l.evidence(l.Lines, "")}})
		}
	}
}
