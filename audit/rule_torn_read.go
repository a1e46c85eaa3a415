package audit

var ruleTornRead = &Rule{
	ID: "torn-read", Group: GroupContradiction, Severity: SeverityNote,
	Title:     "The buffer moved while it was read",
	Text:      `The lines of a stats file are read one after the other without a lock, and the files of several CPUs one after the other: on a live buffer they are not one moment. Where two reads differ, the numbers are intervals.`,
	Remedy:    `stop recording for the reading (echo 0 > tracing_on) if exact numbers are needed`,
	Citations: []string{"trace-ring-buffer-R77", "trace-ring-buffer-A13"},
}

func checkTorn(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if !b.Torn {
			continue
		}
		f := Finding{Buffer: b.Name, Evidence: b.tornEvidence(), Message: "the buffer moved between two reads of its counters: the numbers that differed are intervals"}
		if b.headerIsLater() {
			f.Message = "the buffer moved while it was read: its trace says that more was overwritten than its counters, which are lower bounds then"
			for _, v := range b.ownViews {
				if v.Header != nil {
					f.Evidence = append(f.Evidence, v.evidence(v.Header.Line, v.Header.Text))
				}
			}
		}
		a.emit(r, f)
	}
}

func (b *Buffer) tornEvidence() []Evidence {
	for _, q := range []Quantity{Overwritten, Kept, Read} {
		for _, id := range b.CPUIDs() {
			if c := b.Ledger.Count(id, q); !c.Exact() && len(b.Ledger.Evidence(id, q)) > 0 {
				return b.Ledger.Evidence(id, q)
			}
		}
	}
	return []Evidence{{Source: b.Counters.Source.ID}}
}
