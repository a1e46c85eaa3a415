package audit

import "fmt"

var ruleRebuilt = &Rule{
	ID: "rebuilt-counters", Group: GroupCoverage, Severity: SeverityWarning,
	Title:     "The counters of a boot-mapped buffer are lower bounds",
	Text:      `A buffer in memory that is reserved at boot survives a reboot. The next boot rebuilds its counters from the pages that it finds: overrun, dropped events and read events start at zero again, and the loss history of the boot that recorded is gone. An "oldest event ts" later than "now ts", on a CPU with entries, proves that the events are of an earlier boot, or that the trace clock was changed since; then nothing is known of what was lost either.`,
	Remedy:    `save the counters before a reboot; after one, treat everything before the first event as lost`,
	Citations: []string{"reading-a-trace-R57", "reading-a-trace-A11", "reading-a-trace-A12", "reading-a-trace-R60"},
}

func checkRebuilt(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if !b.LastBoot || !b.HasCounters() {
			continue
		}
		f := Finding{Buffer: b.Name, Message: "this buffer is mapped to memory that survives a reboot (last_boot_info), and nothing proves that it began with this boot: its counters are lower bounds"}
		for _, id := range b.rebuilt {
			st := b.Counters.Stats[id]
			f.CPU = cpuPtr(id)
			f.Message = fmt.Sprintf("the oldest event (%v) is later than now (%v): ", st.Oldest.V, st.Now.V)
			if b.Instance != nil && b.Instance.LastBoot != nil {
				f.Message += "the events are of an earlier boot, the counters were rebuilt and the loss history is gone"
			} else {
				f.Message += "either the events are of an earlier boot, so that the counters were rebuilt and the loss history is gone, or the trace clock was changed; the counters are lower bounds"
			}
			f.Evidence = []Evidence{b.Counters.place(id, st.Oldest.Line, st.Oldest.Text), b.Counters.place(id, st.Now.Line, st.Now.Text)}
			break
		}
		if f.Evidence == nil {
			f.Evidence = []Evidence{{Source: b.Counters.Source.ID, File: "last_boot_info"}}
		}
		a.emit(r, f)
	}
}

// rebuiltWords says of a buffer whose LastBoot is set what is wrong with its
// counters.
func (b *Buffer) rebuiltWords() string {
	if b.Instance != nil && b.Instance.LastBoot != nil || len(b.rebuilt) == 0 {
		return "the counters of this boot-mapped buffer were rebuilt from its pages"
	}
	return "the oldest event is later than the clock: the counters were rebuilt after another boot, or the clock was changed"
}
