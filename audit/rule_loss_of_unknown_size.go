package audit

import "fmt"

var ruleUnknownSize = &Rule{
	ID: "loss-of-unknown-size", Group: GroupLoss, Severity: SeverityError,
	Title:     "A reader lost events and was not told how many",
	Text:      `A mark without a number, CPU:n [LOST EVENTS], or a raw page whose flag says "events lost" without a count: at least one event is gone. In raw pages the count is missing where the page has no room left for it. In the text of trace it means that a running writer overtook the reading: the reading lost events, on top of what the ring had lost before.`,
	Remedy:    `for the ring: the overrun lines of per_cpu/cpuN/stats give the total; for a reading of trace: stop recording first (echo 0 > tracing_on), or read trace_pipe`,
	Citations: []string{"reading-a-trace-R4", "reading-a-trace-R6", "trace-ring-buffer-R56", "trace-ring-buffer-R58"},
}

func checkUnknownSize(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		for _, c := range b.Captures {
			_, _, unknown := c.marks()
			if unknown == 0 {
				continue
			}
			f := Finding{Buffer: b.Name, Evidence: c.unknownEvidence(4)}
			if !c.Consuming {
				f.beyond = true
				f.Message = fmt.Sprintf("the reading itself lost events: %s without a number, each at least one event, where the writer overtook it", counted(unknown, "mark"))
				a.emit(r, f)
				continue
			}
			f.Message = fmt.Sprintf("%s has %s without a number, each at least one event", c.title(), marksNoun(unknown))
			if b.resolved(c) {
				f.Severity, f.settled = SeverityNote, true
				for _, id := range c.CPUIDs() {
					if cpu := b.CPUs[id]; cpu != nil && cpu.UnknownMarks > 0 {
						f.Message += fmt.Sprintf("; %s: %s of %s overwritten lie in the %s without a number",
							cpuName(id), grouped(cpu.UnknownLost), grouped(b.Ledger.Count(id, Overwritten)), marksNoun(cpu.UnknownMarks))
						if cpu.CountedMarks > 0 {
							f.Message += fmt.Sprintf(", %s in %s with one", group(cpu.CountedLost), marksNoun(cpu.CountedMarks))
						}
					}
				}
			}
			a.emit(r, f)
		}
	}
}

func marksNoun(n uint64) string { return counted(n, "hole") }

// counted is a number with its noun: "1 hole", "2 holes".
func counted(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return group(n) + " " + noun + "s"
}

// unknownEvidence is the evidence of the first n marks without a number.
func (c *Capture) unknownEvidence(n int) []Evidence {
	var ev []Evidence
	for _, id := range c.CPUIDs() {
		for _, h := range c.PerCPU[id].Holes {
			if !h.Counted && len(ev) < n {
				ev = append(ev, h.Evidence)
			}
		}
	}
	return ev
}

// resolved tells whether the counters give the sum of all holes of the capture.
func (b *Buffer) resolved(c *Capture) bool {
	for _, id := range c.CPUIDs() {
		if c.PerCPU[id].UnknownMarks > 0 && !b.Ledger.Count(id, Overwritten).Exact() {
			return false
		}
	}
	return true
}
