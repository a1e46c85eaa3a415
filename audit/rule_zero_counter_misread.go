package audit

import (
	"fmt"

	"github.com/ringaudit/ringaudit/tracefs"
)

var ruleZeroMisread = &Rule{
	ID: "zero-counter-misread", Group: GroupSilence, Severity: SeverityNote,
	Title:     "A zero counter that proves nothing here",
	Text:      `"dropped events" counts only while overwrite is off, and "overrun" only while it is on, but for a shrink of the buffer: each ring loses in one of the two ways and prints a zero for the other. A reader who takes "dropped events: 0" for "nothing was lost" beside a large overrun is wrong.`,
	Remedy:    "",
	Citations: []string{"trace-ring-buffer-A4", "trace-ring-buffer-A5"},
}

func checkZeroMisread(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		if !b.HasCounters() {
			continue
		}
		l := b.Ledger
		over, dropped := l.Count(Total, Overwritten), l.Count(Total, Dropped)
		switch {
		case over.Lo > 0 && dropped.None():
			a.emit(r, Finding{Buffer: b.Name, Evidence: b.zeroLine(Dropped),
				Message: "`dropped events: 0` says nothing here: it counts only with overwrite off"})
		case dropped.Lo > 0 && over.None():
			a.emit(r, Finding{Buffer: b.Name, Evidence: b.zeroLine(Overwritten),
				Message: "`overrun: 0` says nothing here: it counts only with overwrite on"})
		case over.Lo > 0 && dropped.Lo > 0:
			a.emit(r, Finding{Buffer: b.Name, Evidence: append(b.zeroLine(Overwritten), b.zeroLine(Dropped)...),
				Message: fmt.Sprintf("overrun and dropped events are both above zero: overwrite was switched while it ran (now %s)", modeWord(b.Mode))})
		}
	}
}

func modeWord(m Mode) string {
	if m == "" {
		return "not known"
	}
	return string(m)
}

// zeroLine is the first CPU's line of a counter.
func (b *Buffer) zeroLine(q Quantity) []Evidence {
	for _, cpu := range b.Counters.CPUs() {
		st := b.Counters.Stats[cpu]
		var f tracefs.Field[int64]
		for _, k := range counterOf {
			if k.q == q {
				f = k.field(st)
			}
		}
		if f.OK {
			return []Evidence{b.Counters.place(cpu, f.Line, f.Text)}
		}
	}
	return nil
}
