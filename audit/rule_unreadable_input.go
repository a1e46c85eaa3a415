package audit

var ruleUnreadable = &Rule{
	ID: "unreadable-input", Group: GroupCoverage, Severity: SeverityWarning,
	Title:  "An input is not there, or may not be read",
	Text:   `A path that was given, or a file that a source needs, could not be opened or read at all: it does not exist, or the permission is missing. Nothing of it was used.`,
	Remedy: `check the path; where the permission is missing, run as root (tracefs, and copies of it, are root's by default) or chmod the copy`,
}

func checkUnreadable(a *Audit, r *Rule) {
	for _, s := range a.Sources {
		for _, p := range s.Problems {
			if !p.Unreadable {
				continue
			}
			f := Finding{Buffer: p.Buffer, CPU: cpuPtr(p.CPU), Message: p.Message, Evidence: []Evidence{p.Evidence}}
			if p.Harmless {
				f.Severity = SeverityNote
			}
			a.emit(r, f)
		}
	}
}
