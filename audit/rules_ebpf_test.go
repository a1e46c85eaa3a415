package audit

import (
	"fmt"
	"strings"
)

// ringLines makes a log of ringaudit's own form: its begin line, the records
// with these numbers on CPU 0, and its end line unless that is empty.
func ringLines(end string, seqs ...int) string {
	var b strings.Builder
	b.WriteString(`{"type":"begin","schema":"ringaudit.ringlog/v1","kernel":"6.1.0","cpus":2,"clock":"monotonic","ring_bytes":4096,"probes":[{"name":"sched:sched_switch","kind":"tracepoint","recorded":false}]}` + "\n")
	for _, n := range seqs {
		fmt.Fprintf(&b, `{"type":"record","seq":%d,"time":%d,"cpu":0,"probe":0,"pid":1,"tgid":1}`+"\n", n, 1000+n)
	}
	if end != "" {
		b.WriteString(end + "\n")
	}
	return b.String()
}

// ringEnd is an end line: of so many records asked for on CPU 0, so many were
// refused, and so many of these attributed to the probe.
func ringEnd(records, asked, refused, attributed int, more string) string {
	return fmt.Sprintf(`{"type":"end","stop":"command","records":%d,"witness":{"mode":"alone","why":"no instance","per_cpu":"exact","cpus":[{"cpu":0,"inner":%[2]d,"outer":%[2]d,"asked":%[2]d,"reserve_failures":%[3]d}],"total":{"inner":%[2]d,"outer":%[2]d},"probes":[{"name":"sched:sched_switch","kind":"tracepoint","recorded":false,"hits":%[2]d,"reserve_failures":%[4]d}],"reserve_failures":%[3]d%[5]s}}`,
		records, asked, refused, attributed, more)
}

const noMisses = `,"unattributed":0,"recursion_misses":0`

// skbx is a log of skbx's form.
func skbxLines(end string, seqs ...int) string {
	var b strings.Builder
	b.WriteString(`{"schema":"traceq/0.1.0","kind":"capture_start","capture_id":"c1","kernel_release":"6.1.0","attachment_backend":"kprobe","probes":["ip_rcv"]}` + "\n")
	for _, n := range seqs {
		fmt.Fprintf(&b, `{"schema":"traceq/0.1.0","kind":"event","seq":%d,"timestamp_ns":%d,"cpu":0,"pid":1,"function":{"address":"0x1","symbol":"ip_rcv"}}`+"\n", n, 1000+n)
	}
	b.WriteString(end + "\n")
	return b.String()
}

func skbxEnd(events, refused int, more string) string {
	return fmt.Sprintf(`{"schema":"traceq/0.1.0","kind":"capture_end","events":%d,"complete":true,"stop_reason":"signal","reliability":{"kernel_reserve_failures":%d,"userspace_decode_failures":0,"output_failures":0%s}}`, events, refused, more)
}

var ebpfTests = []ruleTest{
	{
		rule: "ringbuf-reserve-failed",
		bad:  text("a.jsonl", ringLines(ringEnd(3, 5, 2, 2, noMisses), 0, 1, 4)),
		found: []found{{severity: SeverityError, buffer: "bpf-ringbuf", cpu: Total, says: []string{"2 events were refused by the BPF ring buffer", "cpu 0 2", "sched:sched_switch 2"},
			at: []string{"s1:5 " + ringEnd(3, 5, 2, 2, noMisses)[:160]}}},
		good: text("a.jsonl", ringLines(ringEnd(3, 3, 0, 0, noMisses), 0, 1, 2)),
	},
	{ // of skbx, by CPU and by probe
		rule:  "ringbuf-reserve-failed",
		bad:   text("a.jsonl", skbxLines(skbxEnd(2, 7, `,"kernel_loss_by_cpu":[{"cpu":0,"reserve_failures":4},{"cpu":1,"reserve_failures":3}],"kernel_loss_by_probe":[{"function":{"address":"0x1","symbol":"ip_rcv"},"reserve_failures":7}]`), 0, 1)),
		found: []found{{severity: SeverityError, buffer: "bpf-ringbuf", cpu: Total, says: []string{"7 events were refused", "cpu 0 4", "cpu 1 3", "ip_rcv 7"}}},
		good:  text("a.jsonl", skbxLines(skbxEnd(2, 0, ""), 0, 1)),
	},
	{
		rule:  "ringbuf-unattributed",
		bad:   text("a.jsonl", ringLines(ringEnd(3, 5, 2, 1, `,"unattributed":1,"recursion_misses":0`), 0, 1, 4)),
		found: []found{{severity: SeverityWarning, buffer: "bpf-ringbuf", cpu: Total, says: []string{"1 reserve failure is attributed to no probe"}}},
		good:  text("a.jsonl", ringLines(ringEnd(3, 5, 2, 2, noMisses), 0, 1, 4)),
	},
	{ // the breakdown exceeds its total
		rule: "ebpf-versus-written",
		bad:  text("a.jsonl", skbxLines(skbxEnd(2, 5, `,"kernel_loss_by_cpu":[{"cpu":0,"reserve_failures":4},{"cpu":1,"reserve_failures":3}]`), 0, 1)),
		found: []found{
			{severity: SeverityError, buffer: "bpf-ringbuf", cpu: Total, says: []string{"the reserve failures by CPU add up to 7, more than their total of 5"}},
			{severity: SeverityError, buffer: "bpf-ringbuf", cpu: 1, says: []string{"dropped"}},
		},
		good: text("a.jsonl", skbxLines(skbxEnd(2, 7, `,"kernel_loss_by_cpu":[{"cpu":0,"reserve_failures":4},{"cpu":1,"reserve_failures":3}]`), 0, 1)),
	},
	{
		rule:  "bpf-recursion-missed",
		bad:   text("a.jsonl", ringLines(ringEnd(3, 3, 0, 0, `,"unattributed":0,"recursion_misses":6`), 0, 1, 2)),
		found: []found{{severity: SeverityWarning, buffer: "bpf-ringbuf", cpu: Total, says: []string{"6 events were missed by recursion"}}},
		good:  text("a.jsonl", ringLines(ringEnd(3, 3, 0, 0, noMisses), 0, 1, 2)),
	},
	{ // as many as the ring refused
		rule: "sequence-hole",
		bad:  text("a.jsonl", ringLines(ringEnd(3, 5, 2, 2, noMisses), 0, 1, 4)),
		found: []found{{severity: SeverityNote, buffer: "bpf-ringbuf", cpu: 0, says: []string{"2 events were missing from the numbered records of cpu 0, as many as the ring refused there"},
			at: []string{"s1:4"}}},
		good: text("a.jsonl", ringLines(ringEnd(3, 3, 0, 0, noMisses), 0, 1, 2)),
	},
	{ // more than the ring refused: lost on the way
		rule: "sequence-hole",
		bad:  text("a.jsonl", ringLines(ringEnd(3, 5, 1, 1, noMisses), 0, 1, 4)),
		found: []found{{severity: SeverityError, buffer: "bpf-ringbuf", cpu: 0, says: []string{"2 events were missing", "the ring refused 1 of them, the rest was lost after the kernel"},
			at: []string{"s1:4"}}},
		good: text("a.jsonl", ringLines(ringEnd(3, 3, 0, 0, noMisses), 0, 1, 2)),
	},
	{
		rule:  "ringlog-cut",
		bad:   text("a.jsonl", ringLines("", 0, 1, 2)),
		found: []found{{severity: SeverityWarning, buffer: "bpf-ringbuf", cpu: Total, says: []string{"the ring log has no end line"}}},
		good:  text("a.jsonl", ringLines(ringEnd(3, 3, 0, 0, noMisses), 0, 1, 2)),
	},
}
