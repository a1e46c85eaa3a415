package audit

import "fmt"

var ruleBodySilent = &Rule{
	ID: "trace-body-silent", Group: GroupSilence, Severity: SeverityNote,
	Title:     "The text shows no mark of the loss",
	Text:      `The trace file of a stopped buffer prints the events that are left, oldest first, and no mark for those that are gone: its reader sees a complete trace of a shorter time. Only the two numbers in its header tell, and only of overwriting: entries-written minus entries-in-buffer is the overrun. Events that were refused (dropped events, commit overrun) are in neither number.`,
	Remedy:    `judge by per_cpu/cpuN/stats, not by the text`,
	Citations: []string{"reading-a-trace-A7", "trace-ring-buffer-R38", "trace-ring-buffer-A9", "trace-ring-buffer-A10"},
}

func checkBodySilent(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		l := b.Ledger
		over, refused := l.Count(Total, Overwritten).Lo, l.Count(Total, Dropped).Lo+l.Count(Total, CommitOverrun).Lo
		if over+refused == 0 {
			continue
		}
		for _, c := range b.texts() {
			_, known, unknown := c.marks()
			if known+unknown > 0 || c.Records() == 0 {
				continue
			}
			f := Finding{Buffer: b.Name, Evidence: []Evidence{c.evidence(0, "")}}
			switch h := c.Header; {
			case h != nil && h.Written > h.Entries:
				f.Evidence = []Evidence{c.evidence(h.Line, h.Text)}
				f.Message = fmt.Sprintf("%s reads like a complete trace of a shorter time; only its header, %d/%d, tells of overwriting", c.title(), h.Entries, h.Written)
			case h != nil:
				f.Evidence = []Evidence{c.evidence(h.Line, h.Text)}
				f.Message = fmt.Sprintf("%s shows nothing of the loss, and its header, %d/%d, claims that everything is there", c.title(), h.Entries, h.Written)
			case over == 0:
				f.Message = fmt.Sprintf("%s has no mark: events that were refused leave none", c.title())
			default:
				f.Message = fmt.Sprintf("%s has no mark of the loss", c.title())
			}
			a.emit(r, f)
			break // one text of a buffer says it for all
		}
	}
}

// texts are the texts of a buffer, given and found.
func (b *Buffer) texts() []*Capture {
	var out []*Capture
	for _, c := range b.Views() {
		if c.Section != nil {
			out = append(out, c)
		}
	}
	return out
}
