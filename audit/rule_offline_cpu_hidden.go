package audit

import (
	"fmt"
	"slices"
)

var ruleOfflineHidden = &Rule{
	ID: "offline-cpu-hidden", Group: GroupCoverage, Severity: SeverityNote,
	Title:     "An offline CPU has events that trace may leave out",
	Text:      `A CPU that goes offline keeps its ring and its counters, but a reset of the whole buffer skips it. Its events are then older than the reset, and trace leaves them out, in its body and in its header, while stats shows them.`,
	Remedy:    `judge by per_cpu/cpuN/stats`,
	Citations: []string{"trace-ring-buffer-R31", "trace-ring-buffer-R39", "trace-ring-buffer-R41"},
}

func checkOfflineHidden(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if b.Kind != BufferRing || b.Instance == nil || !b.HasCounters() {
			continue
		}
		online := b.Instance.Online
		for _, id := range b.CPUIDs() {
			kept := b.Ledger.Count(id, Kept)
			n, hidden := b.hidden[id]
			f := Finding{Buffer: b.Name, CPU: cpuPtr(id), Evidence: b.Ledger.Evidence(id, Kept)}
			switch off := online.OK && !slices.Contains(online.V, id); {
			case hidden && off:
				f.Message = fmt.Sprintf("cpu %d is offline and holds %s; trace leaves out %s of them", id, events(kept), group(n))
			case hidden:
				f.Severity = SeverityWarning
				f.Message = fmt.Sprintf("cpu %d holds %s, and trace leaves out %s of them, in its header too: so it does if the CPU was offline at the last reset, or the text was shortened", id, events(kept), group(n))
			case off && kept.Lo > 0:
				f.Message = fmt.Sprintf("cpu %d is offline and still holds %s; the header of trace may leave them out", id, events(kept))
			default:
				continue
			}
			a.emit(r, f)
		}
	}
}
