package audit

import "fmt"

var ruleNotVisible = &Rule{
	ID: "probe-not-visible", Group: GroupProbes, Severity: SeverityNote,
	Title:     "What a probe lost cannot be told from here",
	Text:      `kprobe_profile prints no misses for some probes, or on some kernels not all of them: kernels up to 5.8 leave a kretprobe's exhausted instances out, and uprobe_profile has no column for misses. And on kernels 4.4 and 4.9 a maxactive written before the name ("r10:NAME") swallows the name: the event gets a made-up one and the default maxactive.`,
	Remedy:    `on such a kernel compare the hits of an entry probe on the same function; or use an fexit program`,
	Citations: []string{"kretprobe-misses-R31", "kretprobe-misses-R32"},
}

func checkNotVisible(a *Audit, r *Rule) {
	for _, p := range a.Probes {
		if p.MissMeaning != "" {
			a.emit(r, Finding{Probe: p.Name, Evidence: p.Evidence, Message: fmt.Sprintf("%s %s: %s", p.Kind, p.Name, p.MissMeaning)})
		}
	}
}
