package audit

import "fmt"

var ruleKprobeMissed = &Rule{
	ID: "kprobe-missed", Group: GroupProbes, Severity: SeverityError,
	Title:     "A kprobe missed hits",
	Text:      `A kprobe is missed when it is hit while the same CPU is already handling a probe: the kernel skips it and counts the miss in kprobe_profile. The probe never asked the ring buffer for a record, so no ring counter, header or mark shows it.`,
	Remedy:    `move the probe out of functions that other probes' handlers call; a miss count is a number of events that certainly happened and were not recorded`,
	Citations: []string{"kretprobe-misses-R13", "kretprobe-misses-R17", "kretprobe-misses-R15", "kretprobe-misses-A6"},
}

func checkKprobeMissed(a *Audit, r *Rule) {
	for _, p := range a.Probes {
		if p.Kind == "kprobe" && p.Missed.Lo > 0 {
			a.emit(r, Finding{Probe: p.Name, Evidence: p.Evidence,
				Message: fmt.Sprintf("kprobe %s was hit %s times and missed %s times, which no ring counter shows", p.Name, grouped(p.Hits), grouped(p.Missed))})
		}
	}
}
