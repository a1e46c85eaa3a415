package audit

import "fmt"

var ruleLinesEntries = &Rule{
	ID: "lines-versus-entries", Group: GroupContradiction, Severity: SeverityError,
	Title:     "The text shows another number of events than entries",
	Text:      `On a stopped buffer with an ordinary tracer each entry prints one line. Another number means that text and counters are of different moments, that the text was edited, or that an event printed nothing.`,
	Remedy:    `take both again with recording off`,
	Citations: []string{"trace-ring-buffer-R9", "trace-ring-buffer-R75", "reading-a-trace-R10"},
}

func checkLines(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		for _, u := range b.differ {
			a.emit(r, Finding{Buffer: b.Name, CPU: cpuPtr(u.cpu), Evidence: append(b.Ledger.Evidence(u.cpu, Kept), u.view.evidence(0, "")),
				Message: fmt.Sprintf("%s shows %s of cpu %d, entries says %s", u.view.title(), events(Exactly(u.lines)), u.cpu, group(u.entries))})
		}
	}
}

// extraEntries tells whether entries and lines need not agree: an option makes
// entries without a line of their own, or a tracer prints in its own way.
func (b *Buffer) extraEntries() bool {
	for _, name := range []string{"stacktrace", "userstacktrace", "func_stack_trace", "latency-format", "display-graph"} {
		if b.Instance.Options.Get(name).V {
			return true
		}
	}
	return b.Tracer != "" && b.Tracer != "nop" && b.Tracer != "function"
}
