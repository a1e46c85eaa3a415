package audit

import (
	"fmt"
	"strings"
)

var ruleMixedSizes = &Rule{
	ID: "mixed-cpu-sizes", Group: GroupGeometry, Severity: SeverityNote,
	Title:     "The CPUs have rings of different sizes",
	Text:      `buffer_size_kb prints X where the CPUs differ. A CPU that comes online while they differ gets two sub-buffers, whatever its own file prints.`,
	Remedy:    `write buffer_size_kb once to make them equal`,
	Citations: []string{"buffer-size-R19", "buffer-size-R29"},
}

func checkMixedSizes(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if b.Instance == nil || b.Kind != BufferRing || !b.Instance.Size.Mixed {
			continue
		}
		var sizes []string
		var ev []Evidence
		for _, c := range b.Instance.CPUs {
			if c.Size.KB.OK && len(sizes) < 8 {
				sizes = append(sizes, fmt.Sprintf("cpu %d %d kB", c.ID, c.Size.KB.V))
				ev = append(ev, Evidence{Source: b.source.ID, File: c.Size.KB.File, Line: c.Size.KB.Line, Text: c.Size.KB.Text})
			}
		}
		a.emit(r, Finding{Buffer: b.Name, Evidence: ev, Message: "buffer_size_kb prints X: " + strings.Join(sizes, ", ")})
	}
}
