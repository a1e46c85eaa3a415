package audit

import "fmt"

var ruleDamaged = &Rule{
	ID: "damaged-input", Group: GroupCoverage, Severity: SeverityWarning,
	Title:     "Part of the input cannot be read",
	Text:      `Something in the source is not what its format asks for. What could be read was used; the message names the place, what was found and what was expected.`,
	Remedy:    `take the input again, or give the part that is missing from another source`,
	Citations: []string{"trace-ring-buffer-A13"},
}

func checkDamaged(a *Audit, r *Rule) {
	for _, s := range a.Sources {
		for _, p := range s.Problems {
			if p.Truncated || p.Unreadable {
				continue
			}
			f := Finding{Buffer: p.Buffer, CPU: cpuPtr(p.CPU), Message: p.Message, Evidence: []Evidence{p.Evidence}}
			if p.Harmless {
				f.Severity = SeverityNote
			}
			a.emit(r, f)
		}
	}
	for _, b := range a.Buffers {
		for _, c := range b.Captures {
			for _, id := range c.CPUIDs() {
				if p := c.PerCPU[id]; c.Section == nil && p.TimeBack > 0 {
					a.emit(r, Finding{Buffer: b.Name, CPU: cpuPtr(id), Evidence: []Evidence{p.TimeBackAt},
						Message: fmt.Sprintf("%s: %s: %s, expected stamps in order: pages of several recordings in one file, or a clock that was changed", c.title(), cpuName(id), p.TimeBackAt.Text)})
				}
			}
		}
		a.checkUnread(b, r)
		for _, c := range b.texts() {
			if n := c.Section.Corrupted; n > 0 {
				a.emit(r, Finding{Buffer: b.Name, Evidence: []Evidence{c.evidence(n, "# WARNING: FUNCTION TRACING IS CORRUPTED")},
					Message: "the kernel warns that function tracing went wrong: function events may be missing, without any mark or count"})
			}
			if h := c.Header; h != nil && h.Written < h.Entries {
				a.emit(r, Finding{Buffer: b.Name, Evidence: []Evidence{c.evidence(h.Line, h.Text)},
					Message: "the header claims more entries in the buffer than were written: not used"})
			}
		}
	}
}
