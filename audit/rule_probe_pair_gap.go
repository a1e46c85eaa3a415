package audit

import "fmt"

var rulePairGap = &Rule{
	ID: "probe-pair-gap", Group: GroupProbes, Severity: SeverityNote,
	Title:     "Entry and return of a function were not recorded equally often",
	Text:      `A kprobe on a function's entry and a kretprobe on its return see the same calls, but for calls that were under way when one of them was switched on or off, and for misses. More entries than returns and return misses together mean calls that had not returned yet, or that never return.`,
	Remedy:    `do not pair entries with returns across a gap: compare the hits and misses first`,
	Citations: []string{"kretprobe-misses-R10", "kretprobe-misses-R35", "kretprobe-misses-R43"},
}

func checkPairGap(a *Audit, r *Rule) {
	for _, ret := range a.Probes {
		if ret.Kind != "kretprobe" || ret.Target == "" {
			continue
		}
		for _, entry := range a.Probes {
			if entry.Kind != "kprobe" || entry.Target != ret.Target || entry.Source != ret.Source || !entry.Hits.Exact() || !ret.Hits.Exact() {
				continue
			}
			if entry.Hits.Lo == ret.Hits.Lo {
				continue
			}
			f := Finding{Probe: ret.Name, Evidence: append(append([]Evidence(nil), entry.Evidence...), ret.Evidence...)}
			f.Message = fmt.Sprintf("%s: %s entries (%s) and %s returns (%s)", ret.Target, grouped(entry.Hits), entry.Name, grouped(ret.Hits), ret.Name)
			if ret.Missed.Exact() && entry.Hits.Lo == ret.Hits.Lo+ret.Missed.Lo {
				f.Message += fmt.Sprintf("; the %s return misses are exactly the difference", grouped(ret.Missed))
			} else {
				f.Message += fmt.Sprintf("; return misses are %s", grouped(ret.Missed))
			}
			a.emit(r, f)
		}
	}
}
