package audit

import "fmt"

var ruleConsumed = &Rule{
	ID: "consumed-before-audit", Group: GroupCoverage, Severity: SeverityNote,
	Title:     "A reader took events before this audit",
	Text:      `"read events" counts what consuming readers took: trace_pipe, raw pages, a mapped reader page, a dump on an oops. Those events were written and are not lost by the kernel; whether their reader kept them is not for these counters to say. The header of trace leaves them out of entries-written.`,
	Remedy:    `give what the reader saved as a source beside the counters`,
	Citations: []string{"trace-ring-buffer-R11", "trace-ring-buffer-R13", "trace-ring-buffer-R38", "reading-a-trace-R33"},
}

func checkConsumed(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		n := b.Ledger.Count(Total, Read)
		f := Finding{Buffer: b.Name, Evidence: b.Ledger.Evidence(Total, Read)}
		switch carried := b.carriedRead(); {
		case n.Lo == 0:
			continue
		case carried > 0:
			was := "was"
			if carried > 1 {
				was = "were"
			}
			f.Message = fmt.Sprintf("%s taken by a reader since the earlier sample; %s of what was read %s in the ring before it", eventsWere(n), group(carried), was)
		case b.hasConsumer():
			continue
		case b.before != nil:
			f.Message = fmt.Sprintf("%s taken by a reader since the earlier sample", eventsWere(n))
		default:
			f.Message = fmt.Sprintf("%s taken by a reader before this audit", eventsWere(n))
		}
		a.emit(r, f)
	}
}

// carriedRead is how many of the records that were read since the earlier sample
// were written before it, at least: more were read of a CPU than it wrote since.
func (b *Buffer) carriedRead() uint64 {
	if b.before == nil {
		return 0
	}
	var sum uint64
	for _, cpu := range b.Ledger.CPUs() {
		read, written := b.Ledger.Count(cpu, Read), b.Ledger.Count(cpu, Written)
		if !written.Open && read.Lo > written.Hi {
			sum += read.Lo - written.Hi
		}
	}
	return sum
}
