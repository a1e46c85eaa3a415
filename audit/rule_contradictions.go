package audit

import (
	"fmt"
	"slices"

	"github.com/ringaudit/ringaudit/tracefs"
)

// checkContradictions reports what the ledgers could not settle. One rule's
// check reports those that its claims caused.
func checkContradictions(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		for _, c := range b.Ledger.Contradictions() {
			if contradictionRule(c) != r.ID {
				continue
			}
			f := Finding{Buffer: b.Name, Message: c.What, CPU: cpuPtr(c.CPU)}
			for _, side := range [][]Claim{c.HaveSide, c.ClaimSide} {
				for _, cl := range side {
					for _, ev := range cl.Evidence {
						if len(f.Evidence) < 12 && !slices.Contains(f.Evidence, ev) {
							f.Evidence = append(f.Evidence, ev)
						}
					}
				}
			}
			a.emit(r, f)
		}
	}
}

// contradictionRule is the rule that a contradiction belongs to: that of the
// claim which is no plain counter.
func contradictionRule(c Contradiction) string {
	for _, side := range [][]Claim{c.ClaimSide, c.HaveSide} {
		for _, cl := range side {
			if cl.rule != "" {
				return cl.rule
			}
		}
	}
	return ruleHeaderMismatch.ID
}

func cpuPtr(cpu int) *int {
	if cpu == Total {
		return nil
	}
	return &cpu
}

// cpuName names a CPU in a message. Numbers below Total stand for the CPUs of a
// trace.dat whose tables are gone (tracedat.FirstUnknownCPU).
func cpuName(cpu int) string {
	if cpu < Total {
		return "a CPU that the file does not name"
	}
	return fmt.Sprintf("cpu %d", cpu)
}

// cpuNames names several CPUs in a message.
func cpuNames(cpus []int) string {
	var named []int
	for _, cpu := range cpus {
		if cpu >= 0 {
			named = append(named, cpu)
		}
	}
	switch n := len(cpus) - len(named); {
	case n == 0:
		return "cpu " + tracefs.FormatCPUList(named)
	case len(named) == 0 && n == 1:
		return cpuName(Total - 1)
	case len(named) == 0:
		return fmt.Sprintf("%d CPUs that the file does not name", n)
	default:
		return fmt.Sprintf("cpu %s and %d that the file does not name", tracefs.FormatCPUList(named), n)
	}
}
