package audit

import "fmt"

var ruleCPUWithoutData = &Rule{
	ID: "cpu-without-data", Group: GroupCoverage, Severity: SeverityNote,
	Title:     "CPUs without events in the capture or buffer",
	Text:      `A CPU without events can be idle (its counters prove that nothing was ever written), offline, left out of the capture, drained by a reader, or have lost everything. The five look alike in a trace.`,
	Remedy:    "",
	Citations: []string{"trace-ring-buffer-R31", "trace-ring-buffer-R9"},
}

func checkCPUWithoutData(a *Audit, r *Rule) {
	words := []struct {
		state CPUState
		what  string
	}{
		{StateIdle, "idle: its counters prove that nothing was written"},
		{StateOffline, "offline when the source was taken"},
		{StateNotCaptured, "not in the capture, though its counters say that it had events"},
		{StateDrained, "empty because a reader took all its events"},
		{StateAllLost, "empty because all its events were lost"},
		{StateUnknown, "without events here, and no counter tells why"},
	}
	for _, b := range a.Buffers {
		if b.Kind != BufferRing || b.Ledger.Count(Total, Written).None() {
			continue
		}
		for _, w := range words {
			var cpus []int
			for _, id := range b.CPUIDs() {
				if b.CPUs[id].State == w.state {
					cpus = append(cpus, id)
				}
			}
			if len(cpus) == 0 || w.state == StateUnknown && !b.IsCapture() {
				continue
			}
			f := Finding{Buffer: b.Name, Message: fmt.Sprintf("%s: %s", cpuNames(cpus), w.what), Evidence: b.Ledger.Evidence(cpus[0], Written)}
			if len(f.Evidence) == 0 {
				f.Evidence = b.Ledger.Evidence(cpus[0], Kept)
			}
			if w.state == StateNotCaptured || w.state == StateAllLost {
				f.Severity = SeverityWarning
			}
			a.emit(r, f)
		}
	}
}
