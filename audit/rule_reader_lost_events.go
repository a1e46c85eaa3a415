package audit

import (
	"fmt"
	"path/filepath"
)

var ruleReaderLost = &Rule{
	ID: "reader-lost-events", Group: GroupLoss, Severity: SeverityWarning,
	Title:     "A reader was told how many events it had lost",
	Text:      `A consuming reader (trace_pipe, raw pages) that comes to a new sub-buffer learns how many events were overwritten since the last one, and prints CPU:n [LOST k EVENTS] before the next event. The numbers count overwritten events alone, never refused ones, and what is lost after the last sub-buffer that was read has no mark.`,
	Remedy:    `add per_cpu/cpuN/stats of the same run to learn the total`,
	Citations: []string{"reading-a-trace-R5", "reading-a-trace-R22", "trace-ring-buffer-R50", "trace-ring-buffer-R82"},
}

func checkReaderLost(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		for _, c := range b.Captures {
			lost, known, _ := c.marks()
			if known == 0 || !c.Consuming {
				continue
			}
			f := Finding{Buffer: b.Name, Evidence: c.markEvidence(4),
				Message: fmt.Sprintf("%s announces %s lost in %s with a number", c.title(), events(Exactly(lost)), counted(known, "mark"))}
			if over := b.Ledger.Count(Total, Overwritten); over.Exact() {
				f.Severity, f.settled = SeverityNote, true
				f.Message += fmt.Sprintf(", of %s overwritten", group(over.Lo))
			}
			a.emit(r, f)
		}
	}
}

// markEvidence is the evidence of the first n marks.
func (c *Capture) markEvidence(n int) []Evidence {
	var ev []Evidence
	for _, id := range c.CPUIDs() {
		for _, h := range c.PerCPU[id].Holes {
			if len(ev) < n {
				ev = append(ev, h.Evidence)
			}
		}
	}
	if len(ev) == 0 {
		ev = []Evidence{{Source: c.Source.ID, File: c.File}}
	}
	return ev
}

// title names the capture in a sentence.
func (c *Capture) title() string {
	if c.File != "" {
		return c.File
	}
	return filepath.Base(filepath.ToSlash(c.Source.Path))
}
