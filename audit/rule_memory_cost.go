package audit

import "fmt"

var ruleMemoryCost = &Rule{
	ID: "memory-cost", Group: GroupGeometry, Severity: SeverityNote,
	Title:     "The buffer costs more memory than its printed size",
	Text:      `Each CPU that was ever online has its sub-buffers and one reader page. An allocated snapshot costs the same again; without one, kernels with snapshots still keep two sub-buffers and a reader page for each CPU.`,
	Remedy:    "",
	Citations: []string{"buffer-size-R27", "buffer-size-R28", "buffer-size-R30"},
}

func checkMemoryCost(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if b.Instance == nil || b.Kind != BufferRing || !b.Instance.TotalSize.KB.OK {
			continue
		}
		memory := Exactly(0)
		for _, s := range b.CPUSizes {
			memory = memory.Plus(s.MemoryBytes)
		}
		printed := b.Instance.TotalSize.KB
		if len(b.CPUSizes) == 0 || printed.V <= 0 || memory.Open || memory.Lo/1024*4 < uint64(printed.V)*5 {
			continue
		}
		a.emit(r, Finding{Buffer: b.Name, Evidence: []Evidence{{Source: b.source.ID, File: printed.File, Line: printed.Line, Text: printed.Text}},
			Message: fmt.Sprintf("buffer_total_size_kb prints %d; the rings of %d CPUs take %s bytes", printed.V, len(b.CPUSizes), grouped(memory))})
	}
}
