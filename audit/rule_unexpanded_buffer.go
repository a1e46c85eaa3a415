package audit

import "fmt"

var ruleUnexpanded = &Rule{
	ID: "unexpanded-buffer", Group: GroupGeometry, Severity: SeverityNote,
	Title:     "The buffer has its smallest size until it is first used",
	Text:      `Until anything is traced the kernel keeps a ring of two sub-buffers a CPU and prints "7 (expanded: 1408)". The first event that is enabled, and the first tracer, grow it. Markers written before that go into the small ring.`,
	Remedy:    `write buffer_size_kb, or enable an event, before the first marker`,
	Citations: []string{"buffer-size-R20", "buffer-size-R23", "buffer-size-R24"},
}

func checkUnexpanded(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if b.Instance == nil || b.Kind != BufferRing {
			continue
		}
		if f := b.Instance.Size.ExpandedKB; f.OK {
			a.emit(r, Finding{Buffer: b.Name, Evidence: []Evidence{{Source: b.source.ID, File: f.File, Line: f.Line, Text: f.Text}},
				Message: fmt.Sprintf("the buffer has %d kB a CPU until it is first used, %d kB then", b.Instance.Size.KB.V, f.V)})
		}
	}
}
