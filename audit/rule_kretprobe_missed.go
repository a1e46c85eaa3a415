package audit

import "fmt"

var ruleKretprobeMissed = &Rule{
	ID: "kretprobe-missed", Group: GroupProbes, Severity: SeverityError,
	Title:     "A kretprobe missed returns",
	Text:      `A kretprobe needs an instance for every call that has entered and not yet returned. It has maxactive of them, allotted when it is defined (by default the larger of 10 and twice the number of possible CPUs); a call that finds none is not followed, and its return is a miss. Functions that sleep exhaust a small maxactive at once. Kernels up to 5.8 leave these misses out of kprobe_profile, which then prints 0.`,
	Remedy:    `define the probe with a larger maxactive (rN:GROUP/NAME SYMBOL, at most 4096); that misses stay at 0 then proves that none was missed in that run, and nothing about this one`,
	Citations: []string{"kretprobe-misses-R3", "kretprobe-misses-R4", "kretprobe-misses-R8", "kretprobe-misses-R32"},
}

func checkKretprobeMissed(a *Audit, r *Rule) {
	for _, p := range a.Probes {
		if p.Kind != "kretprobe" || p.Missed.Lo == 0 {
			continue
		}
		f := Finding{Probe: p.Name, Evidence: p.Evidence,
			Message: fmt.Sprintf("kretprobe %s was hit %s times and missed %s times, which no ring counter shows", p.Name, grouped(p.Hits), grouped(p.Missed))}
		if p.Maxactive != nil {
			f.Message += fmt.Sprintf("; maxactive is %d", *p.Maxactive)
			if *p.Maxactive >= 4096 {
				f.Action = "maxactive is at the kernel's limit of 4096: probe a function that returns sooner, or entry and return apart"
			}
		}
		a.emit(r, f)
	}
}
