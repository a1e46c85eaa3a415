package audit

import (
	"testing"
	"time"
)

var readingTests = []ruleTest{
	{
		rule: "reset-between-samples",
		bad:  since(ring(cpuStats{entries: 100, overrun: 50, now: "   15.000000"}), ring(cpuStats{entries: 100, overrun: 7}), Options{}),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 0, says: []string{"overwritten fell from 50 to 7", "lower bounds"},
			at: []string{"s1 per_cpu/cpu0/stats:2 overrun: 7", "s2 per_cpu/cpu0/stats:2 overrun: 50"}}},
		good: since(ring(cpuStats{entries: 100, overrun: 50, now: "   15.000000"}), ring(cpuStats{entries: 100, overrun: 57}), Options{}),
	},
	{ // nothing was overwritten, and what was there is gone
		rule: "reset-between-samples",
		bad:  since(ring(cpuStats{entries: 100, now: "   15.000000"}), ring(cpuStats{entries: 120, oldest: "   16.000000"}), Options{}),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 0, says: []string{"the oldest event is of 16.000000, after the earlier sample", "100 events were there then and only 0 overwritten"},
			at: []string{"s1 per_cpu/cpu0/stats:5 oldest event ts:    16.000000"}}},
		good: since(ring(cpuStats{entries: 100, now: "   15.000000"}), ring(cpuStats{entries: 120, oldest: "   10.000000"}), Options{}),
	},
	{ // every counter grew, but the machine was restarted
		rule: "reset-between-samples",
		bad:  since(ring(cpuStats{entries: 100, overrun: 5, now: "  915.000000"}), ring(cpuStats{entries: 100, overrun: 50}), Options{}),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 0, says: []string{"its clock says 20.000000, and said 915.000000 before"},
			at: []string{"s1 per_cpu/cpu0/stats:6 now ts:    20.000000", "s2 per_cpu/cpu0/stats:6 now ts:   915.000000"}}},
		good: since(ring(cpuStats{entries: 100, overrun: 5, now: "   15.000000"}), ring(cpuStats{entries: 100, overrun: 50}), Options{}),
	},
	{ // choosing another tracer resets
		rule:  "reset-between-samples",
		bad:   since(ring(cpuStats{entries: 1, now: "   15.000000"}), ring(cpuStats{entries: 9}).with("current_tracer", "function\n"), Options{}),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: Total, says: []string{"the tracer was nop and is function"}, at: []string{"s1"}}},
		good:  since(ring(cpuStats{entries: 1, now: "   15.000000"}), ring(cpuStats{entries: 9}), Options{}),
	},
	{
		rule: "rebuilt-counters",
		bad:  only(ring(cpuStats{entries: 7808, oldest: "    6.826482", now: "    6.312121"}).with("last_boot_info", "text delta:\t0\ndata delta:\t0\n")),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 0, says: []string{"the oldest event (6.826482) is later than now (6.312121)"},
			at: []string{"s1 per_cpu/cpu0/stats:5 oldest event ts:     6.826482", "s1 per_cpu/cpu0/stats:6 now ts:     6.312121"}}},
		good: only(ring(cpuStats{entries: 7808}).with("last_boot_info", "# Current\n")),
	},
	{ // the counters alone prove it, or another clock; an empty ring's oldest event is stale
		rule: "rebuilt-counters",
		bad:  only(ring(cpuStats{entries: 7808, oldest: "    6.826482", now: "    6.312121"})),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 0, says: []string{"the oldest event (6.826482) is later than now (6.312121)", "an earlier boot", "the trace clock was changed", "lower bounds"},
			at: []string{"s1 per_cpu/cpu0/stats:5 oldest event ts:     6.826482", "s1 per_cpu/cpu0/stats:6 now ts:     6.312121"}}},
		good: only(ring(cpuStats{oldest: "    6.826482", now: "    6.312121"})),
	},
	{ // not by the rounding of the two stamps
		rule: "rebuilt-counters",
		bad:  only(ring(cpuStats{entries: 1, oldest: "    6.000002", now: "    6.000000"})),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 0, says: []string{"the oldest event (6.000002) is later than now (6.000000)"},
			at: []string{"s1 per_cpu/cpu0/stats:5 oldest event ts:     6.000002"}}},
		good: only(ring(cpuStats{entries: 1, oldest: "    6.000001", now: "    6.000000"})),
	},
	{ // nothing proves that the buffer began with this boot
		rule:  "rebuilt-counters",
		bad:   only(ring(cpuStats{entries: 7808}).with("last_boot_info", "text delta:\t0\ndata delta:\t0\n")),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: Total, says: []string{"lower bounds"}, at: []string{"s1 last_boot_info"}}},
		good:  only(ring(cpuStats{entries: 7808})),
	},
	{ // a text of another clock
		rule:  "sources-apart",
		bad:   given(ring(cpuStats{read: 2, oldest: "100", now: "2000"}).with("trace_clock", "local [counter]\n"), Options{}, "trace_pipe.txt", events1(0, 2, 10e6)),
		found: []found{{severity: SeverityWarning, buffer: "trace_pipe.txt", cpu: Total, says: []string{"reported apart", "its stamps are seconds, and the buffer's are ticks"}, at: []string{"s2"}}},
		good:  given(ring(cpuStats{read: 2}), Options{}, "trace_pipe.txt", events1(0, 2, 10e6)),
	},
	{ // a CPU that the machine does not have
		rule:  "sources-apart",
		bad:   given(ring(cpuStats{read: 2}), Options{}, "trace_pipe.txt", events1(5, 2, 10e6)),
		found: []found{{severity: SeverityWarning, buffer: "trace_pipe.txt", cpu: Total, says: []string{"it has cpu 5, and that machine has only 0"}, at: []string{"s2"}}},
		good:  given(ring(cpuStats{read: 2}), Options{}, "trace_pipe.txt", events1(0, 2, 10e6)),
	},
	{ // after the end of the recording
		rule:  "sources-apart",
		bad:   given(ring(cpuStats{read: 2}), Options{}, "trace_pipe.txt", events1(0, 2, 30e6)),
		found: []found{{severity: SeverityWarning, buffer: "trace_pipe.txt", cpu: Total, says: []string{"it begins at 30.000000, after the counters were read at 20.000000"}, at: []string{"s2"}}},
		good:  given(ring(cpuStats{entries: 2}).on(), Options{}, "trace_pipe.txt", events1(0, 2, 30e6)),
	},
	{ // another kernel
		rule: "sources-apart",
		bad: func(tb testing.TB) *Audit {
			return runWith(tb, Options{Sources: []Input{whole.input(), whole.with("uname-a", "Linux host 6.12.0 #1 SMP x86_64 GNU/Linux\n").input()}})
		},
		found: []found{{severity: SeverityWarning, buffer: "top@saved", cpu: Total, says: []string{"its kernel is 6.12.0, not 6.1.0"}, at: []string{"s2"}}},
		good: func(tb testing.TB) *Audit {
			return runWith(tb, Options{Sources: []Input{whole.input(), whole.input()}})
		},
	},
	{
		rule: "text-can-be-forged",
		bad:  text("trace_pipe.txt", events1(0, 1, 10e6)+lostMark(0, 999)+events1(1, 1, 11e6)),
		found: []found{{severity: SeverityWarning, buffer: "trace_pipe.txt", cpu: Total, says: []string{"line 2 is not the kernel's", "the next event, on line 3, is of CPU 1", "counted as nothing"},
			at: []string{"s1:2 CPU:0 [LOST 999 EVENTS]"}}},
		good: text("trace_pipe.txt", events1(0, 1, 10e6)+lostMark(1, 999)+events1(1, 1, 11e6)),
	},
	{ // trace never prints a number
		rule: "text-can-be-forged",
		bad:  text("trace", traceHeader(2, 2, 1)+events1(0, 1, 10e6)+lostMark(0, 999)+events1(0, 1, 11e6)),
		found: []found{{severity: SeverityWarning, buffer: "trace", cpu: Total, says: []string{"line 14 is not the kernel's", "never has a number"},
			at: []string{"s1:14 CPU:0 [LOST 999 EVENTS]"}}},
		good: text("trace", traceHeader(2, 2, 1)+events1(0, 1, 10e6)+"CPU:0 [LOST EVENTS]\n"+events1(0, 1, 11e6)),
	},
}

// probed is a ring with probes.
func probed(events, profile string) tree {
	return ring(cpuStats{entries: 3}).with("kprobe_events", events, "kprobe_profile", profile)
}

var probeTests = []ruleTest{
	{
		rule: "kprobe-missed",
		bad:  only(probed("p:kp/p1 do_nanosleep\n", "  p1                                                       200               4\n")),
		found: []found{{severity: SeverityError, cpu: Total, probe: "p1", says: []string{"kprobe p1 was hit 200 times and missed 4 times"},
			at: []string{"s1 kprobe_profile:1   p1                                                       200               4", "s1 kprobe_events:1 p:kp/p1 do_nanosleep"}}},
		good: only(probed("p:kp/p1 do_nanosleep\n", "  p1                                                       200               0\n")),
	},
	{
		rule: "kretprobe-missed",
		bad:  only(probed("r1:kp/r1 do_nanosleep arg1=$retval\n", "  r1                                                         8             192\n")),
		found: []found{{severity: SeverityError, cpu: Total, probe: "r1", says: []string{"kretprobe r1 was hit 8 times and missed 192 times", "maxactive is 1"},
			at: []string{"s1 kprobe_profile:1   r1                                                         8             192", "s1 kprobe_events:1 r1:kp/r1 do_nanosleep arg1=$retval"}}},
		good: only(probed("r4096:kp/r1 do_nanosleep arg1=$retval\n", "  r1                                                       200               0\n")),
	},
	{
		rule: "probe-pair-gap",
		bad: only(probed("r1:kp/r1 do_nanosleep arg1=$retval\np:kp/p1 do_nanosleep\n",
			"  r1                                                         8             192\n  p1                                                       200               0\n")),
		found: []found{{severity: SeverityNote, cpu: Total, probe: "r1", says: []string{"do_nanosleep: 200 entries (p1) and 8 returns (r1)", "the 192 return misses are exactly the difference"},
			at: []string{"s1 kprobe_profile:2   p1                                                       200               0"}}},
		good: only(probed("r1:kp/r1 do_nanosleep arg1=$retval\np:kp/p1 do_nanosleep\n",
			"  r1                                                       200               0\n  p1                                                       200               0\n")),
	},
	{ // up to 5.8 exhausted instances are not in the column
		rule: "probe-not-visible",
		bad: only(probed("r1:kp/r1 do_nanosleep arg1=$retval\n", "  r1                                                         8               0\n").
			with("uname-a", "Linux host 5.4.0 #1 SMP x86_64 GNU/Linux\n")),
		found: []found{{severity: SeverityNote, cpu: Total, probe: "r1", says: []string{"kretprobe r1", "leaves out returns that found no free instance"},
			at: []string{"s1 kprobe_events:1 r1:kp/r1 do_nanosleep arg1=$retval"}}},
		good: only(probed("r1:kp/r1 do_nanosleep arg1=$retval\n", "  r1                                                         8               0\n")),
	},
}

// policyTests are of what the policy says of findings.
var policyTests = []ruleTest{
	{ // it covers nothing
		rule:  "suppression",
		bad:   given(whole, Options{Policy: &Policy{Suppressions: []Suppression{{Rule: "overwritten-events", Reason: "known", Line: 12}}}}),
		found: []found{{severity: SeverityNote, cpu: Total, says: []string{"the suppression of overwritten-events covers no finding"}, at: []string{"config:12"}}},
		good:  given(wrapped, Options{Policy: &Policy{Suppressions: []Suppression{{Rule: "overwritten-events", Reason: "known", Line: 12}}}}),
	},
	{ // it has expired; the day itself is its last
		rule: "suppression",
		bad: given(wrapped, Options{Today: time.Date(2026, 3, 2, 0, 30, 0, 0, time.UTC), Policy: &Policy{Suppressions: []Suppression{
			{Rule: "overwritten-events", Reason: "known", Line: 3, Expires: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}}}}),
		found: []found{{severity: SeverityWarning, cpu: Total, says: []string{"overwritten-events expired on 2026-03-01"}, at: []string{"config:3"}}},
		good: given(wrapped, Options{Today: time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC), Policy: &Policy{Suppressions: []Suppression{
			{Rule: "overwritten-events", Reason: "known", Line: 3, Expires: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}}}}),
	},
}
