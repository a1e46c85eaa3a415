package audit

import (
	"path/filepath"
	"strings"
	"testing"
)

// since audits a tree with an earlier one.
func since(before, now tree, opt Options) func(testing.TB) *Audit {
	return func(tb testing.TB) *Audit {
		opt := opt
		in := before.input()
		opt.Before, opt.Sources = &in, []Input{now.input()}
		return runWith(tb, opt)
	}
}

// unreadTrace is a trace of three events; of one the stamp is damaged, and a line
// that is nothing stands beside it.
var unreadTrace = traceHeader(3, 3, 1) + events1(0, 2, 10e6) + "rubbish rubbish\n" +
	"            prog-1234    [000] .....    10.00020: tracing_mark_write: event 2\n"

var coverageTests = []ruleTest{
	{
		rule: "nothing-recorded",
		bad:  only(ring(cpuStats{}, cpuStats{})),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: Total, says: []string{"every counter is zero"},
			at: []string{"s1 per_cpu/cpu0/stats:1 entries: 0", "s1 per_cpu/cpu1/stats:1 entries: 0"}}},
		good: only(ring(cpuStats{}, cpuStats{read: 1})),
	},
	{
		rule:  "unreadable-input",
		bad:   func(tb testing.TB) *Audit { return run(tb, filepath.Join(tb.TempDir(), "nothing")) },
		found: []found{{severity: SeverityWarning, cpu: Total, says: []string{"nothing: cannot be opened: no such file or folder"}, at: []string{"s1"}}},
		// What is there and is not understood is damaged.
		good: text("stats", "what is this\n"),
	},
	{ // what may be an event and cannot be read is said
		rule: "damaged-input",
		bad:  text("trace", unreadTrace),
		found: []found{{severity: SeverityWarning, buffer: "trace", cpu: Total, says: []string{"2 lines of trace are no event, mark or header", "the first is line 15", "events that were damaged"},
			at: []string{"s1:15 rubbish rubbish"}}},
		good: text("trace", traceHeader(2, 2, 1)+events1(0, 2, 10e6)),
	},
	{ // a marker with a line end in it
		rule: "damaged-input",
		bad:  given(ring(cpuStats{read: 2}), Options{}, "trace_pipe.txt", events1(0, 1, 10e6)+"second line\n"+events1(0, 1, 11e6)),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"1 line of trace_pipe.txt is no event, mark or header, the first is line 2: it may be further lines of an event"},
			at: []string{"s2:2 second line"}}},
		good: given(ring(cpuStats{read: 2}), Options{}, "trace_pipe.txt", events1(0, 2, 10e6)),
	},
	{ // a line that is too long to be the kernel's
		rule: "damaged-input",
		bad:  text("trace_pipe.txt", events1(0, 1, 10e6)+strings.Repeat("x", 70_000)+"\n"+events1(0, 1, 11e6)),
		found: []found{
			{severity: SeverityNote, buffer: "trace_pipe.txt", cpu: Total, says: []string{"the first is line 2"}},
			{severity: SeverityNote, buffer: "trace_pipe.txt", cpu: Total, says: []string{"1 line of trace_pipe.txt is longer than 64 kB"}, at: []string{"s1"}},
		},
		good: text("trace_pipe.txt", events1(0, 2, 10e6)),
	},
	{
		rule: "damaged-input",
		bad:  only(ring(cpuStats{entries: 3}).with(statsOf(0), strings.Replace(cpuStats{entries: 3}.String(), "overrun: 0", "overrun: many", 1))),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 0, says: []string{"per_cpu/cpu0/stats:2:10", `found "many"`, "a decimal number"},
			at: []string{"s1 per_cpu/cpu0/stats:2 many"}}},
		good: only(ring(cpuStats{entries: 3})),
	},
	{ // 30 digits
		rule: "damaged-input",
		bad:  only(ring(cpuStats{entries: 3}).with(statsOf(0), strings.Replace(cpuStats{entries: 3}.String(), "entries: 3", "entries: "+strings.Repeat("9", 30), 1))),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 0, says: []string{"per_cpu/cpu0/stats:1:10", "30 digits"},
			at: []string{"s1 per_cpu/cpu0/stats:1 " + strings.Repeat("9", 30)}}},
		good: only(ring(cpuStats{entries: 9223372036854775807})),
	},
	{ // a header that cannot be
		rule: "damaged-input",
		bad:  text("trace", traceHeader(9, 5, 1)+events1(0, 5, 10e6)),
		found: []found{{severity: SeverityWarning, buffer: "trace", cpu: Total, says: []string{"more entries in the buffer than were written: not used"},
			at: []string{"s1:3 # entries-in-buffer/entries-written: 9/5   #P:1"}}},
		good: text("trace", traceHeader(5, 9, 1)+events1(0, 5, 10e6)),
	},
	{ // the kernel says so itself
		rule: "damaged-input",
		bad:  only(ring(cpuStats{entries: 3}).with("trace", strings.Replace(traceHeader(3, 3, 1), "#\n# entries", "#\n# WARNING: FUNCTION TRACING IS CORRUPTED\n#          MAY BE MISSING FUNCTION EVENTS\n# entries", 1)+events1(0, 3, 10e6))),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: Total, says: []string{"function events may be missing"},
			at: []string{"s1 trace:3 # WARNING: FUNCTION TRACING IS CORRUPTED"}}},
		good: only(ring(cpuStats{entries: 3}).with("trace", traceHeader(3, 3, 1)+events1(0, 3, 10e6))),
	},
	{ // counters of a CPU are not there
		rule: "damaged-input",
		bad:  only(ring(cpuStats{entries: 3}, cpuStats{}).without(statsOf(1))),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 1, says: []string{"per_cpu/cpu1/stats: not there"},
			at: []string{"s1 per_cpu/cpu1/stats"}}},
		good: only(ring(cpuStats{entries: 3}, cpuStats{})),
	},
	{ // a whole CPU is not there: it was online, and has events in the text
		rule: "damaged-input",
		bad: only(ring(cpuStats{entries: 3}).with("cpu-online", "0-1\n", "cpu-possible", "0-3\n").
			with("trace", traceHeader(5, 5, 2)+events1(0, 3, 10e6)+events1(1, 2, 11e6))),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 1, says: []string{"per_cpu/cpu1/stats: not there, and trace shows events of it"},
			at: []string{"s1 per_cpu/cpu1/stats"}}},
		// A CPU that was never online has no counters to miss.
		good: only(ring(cpuStats{entries: 3}).with("cpu-possible", "0-3\n")),
	},
	{ // the header alone tells of more CPUs
		rule: "damaged-input",
		bad:  only(ring(cpuStats{entries: 3}).without("cpu-online", "cpu-possible").with("trace", traceHeader(3, 3, 4)+events1(0, 3, 10e6))),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: Total, says: []string{"4 CPUs were online, and per_cpu has 1"},
			at: []string{"s1 trace:3 # entries-in-buffer/entries-written: 3/3   #P:4"}}},
		good: only(ring(cpuStats{entries: 3}).without("cpu-online", "cpu-possible").with("trace", traceHeader(3, 3, 1)+events1(0, 3, 10e6))),
	},
	{ // inside a number
		rule: "truncated-input",
		bad:  only(ring(cpuStats{entries: 3}).with(statsOf(0), "entries: 3\noverrun: 1")),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 0, says: []string{"per_cpu/cpu0/stats"},
			at: []string{"s1 per_cpu/cpu0/stats"}}},
		good: only(ring(cpuStats{entries: 3})),
	},
	{ // at the end of a line
		rule: "truncated-input",
		bad:  only(ring(cpuStats{entries: 3}).with(statsOf(0), "entries: 3\noverrun: 0\ncommit overrun: 0\n")),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 0, says: []string{`no line "dropped events", "read events"`},
			at: []string{"s1 per_cpu/cpu0/stats"}}},
		good: only(ring(cpuStats{entries: 3})),
	},
	{ // a text that ends in an event
		rule: "truncated-input",
		bad:  text("trace_pipe.txt", strings.TrimSuffix(events1(0, 3, 10e6), ": event 2\n")),
		found: []found{{severity: SeverityWarning, cpu: Total, says: []string{"trace_pipe.txt:3", "the last line is cut off"},
			at: []string{"s1:3             prog-1234    [000] .....    10.000200: tracing_mark_write"}}},
		good: text("trace_pipe.txt", events1(0, 3, 10e6)),
	},
	{
		rule: "recorder-lost",
		bad:  given(ring(cpuStats{read: 9}), Options{}, "trace_pipe.txt", events1(0, 5, 10e6)),
		found: []found{{severity: SeverityError, buffer: "top", cpu: 0, says: []string{"readers took 9 of cpu 0, the capture holds 5: 4 are missing"},
			at: []string{"s1 per_cpu/cpu0/stats:8 read events: 9"}}},
		good: given(ring(cpuStats{entries: 4, read: 5}), Options{}, "trace_pipe.txt", events1(0, 5, 10e6)),
	},
	{
		rule: "capture-incomplete",
		bad:  given(ring(cpuStats{entries: 4, read: 5}), Options{}, "trace_pipe.txt", events1(0, 5, 10e6)),
		found: []found{{severity: SeverityError, buffer: "top", cpu: Total, says: []string{"holds 5 events, and lacks at least 4 events"},
			at: []string{"s1 per_cpu/cpu0/stats:8 read events: 5"}}},
		good: given(ring(cpuStats{read: 5}), Options{}, "trace_pipe.txt", events1(0, 5, 10e6)),
	},
	{ // a flight recorder's window has a hole
		rule: "capture-incomplete",
		bad:  given(ring(cpuStats{overrun: 9, read: 5}), Options{FlightRecorder: true}, "trace_pipe.txt", events1(0, 3, 10e6)+lostMark(0, 9)+events1(0, 2, 11e6)),
		found: []found{{severity: SeverityError, buffer: "top", cpu: 0, says: []string{"9 events are missing from the window that cpu 0 holds"},
			at: []string{"s2:4 CPU:0 [LOST 9 EVENTS]"}}},
		good: given(ring(cpuStats{overrun: 9, read: 5}), Options{FlightRecorder: true}, "trace_pipe.txt", lostMark(0, 9)+events1(0, 5, 10e6)),
	},
	{
		rule: "cpu-without-data",
		bad:  only(ring(cpuStats{entries: 3}, cpuStats{}, cpuStats{read: 2}, cpuStats{dropped: 4}, cpuStats{}).with("cpu-online", "0-3\n")),
		found: []found{
			{severity: SeverityWarning, buffer: "top", cpu: Total, says: []string{"cpu 3: empty because all its events were lost"}, at: []string{"s1 per_cpu/cpu3/stats:1 entries: 0"}},
			{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"cpu 1: idle"}, at: []string{"s1 per_cpu/cpu1/stats:1 entries: 0"}},
			{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"cpu 4: offline"}, at: []string{"s1 per_cpu/cpu4/stats:1 entries: 0"}},
			{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"cpu 2: empty because a reader took all its events"}, at: []string{"s1 per_cpu/cpu2/stats:1 entries: 0"}},
		},
		good: only(ring(cpuStats{entries: 3}, cpuStats{entries: 1})),
	},
	{ // not in the capture, told apart from one that had nothing
		rule: "cpu-without-data",
		bad:  given(ring(cpuStats{read: 3}, cpuStats{read: 2}, cpuStats{}), Options{}, "trace_pipe.txt", events1(0, 3, 10e6)),
		found: []found{
			{severity: SeverityWarning, buffer: "top", cpu: Total, says: []string{"cpu 1: not in the capture, though its counters say that it had events"}, at: []string{"s1 per_cpu/cpu1/stats:1 entries: 0"}},
			{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"cpu 2: idle"}, at: []string{"s1 per_cpu/cpu2/stats:1 entries: 0"}},
		},
		good: given(ring(cpuStats{read: 3}), Options{}, "trace_pipe.txt", events1(0, 3, 10e6)),
	},
	{
		rule: "late-start",
		bad:  only(ring(cpuStats{entries: 3, overrun: 1, oldest: "   12.500000"}, cpuStats{entries: 3, oldest: "   11.000000"})),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: 0, says: []string{"covered from 12.500000 on, where cpu 0 begins, to 20.000000"},
			at: []string{"s1 per_cpu/cpu0/stats:5 oldest event ts:    12.500000"}}},
		good: only(ring(cpuStats{entries: 3, oldest: "   12.500000"}, cpuStats{entries: 3, oldest: "   11.000000"})),
	},
	{ // cpu 1 ends where the clock ends, not at its last record
		rule: "late-start",
		bad: only(ring(cpuStats{entries: 2, overrun: 1, oldest: "   12.500000", now: "   12.600000"}, cpuStats{entries: 3, oldest: "   11.000000", now: "   12.700000"}).
			with("trace", traceHeader(5, 6, 2)+events1(0, 2, 12_500_000)+events1(1, 3, 11_000_000))),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: 0, says: []string{"covered from 12.500000 on, where cpu 0 begins, to 12.600000"},
			at: []string{"s1 per_cpu/cpu0/stats:5 oldest event ts:    12.500000"}}},
		good: only(ring(cpuStats{entries: 2, oldest: "   12.500000", now: "   12.600000"}, cpuStats{entries: 3, oldest: "   11.000000", now: "   12.700000"})),
	},
	{ // one CPU ended before another began
		rule: "late-start",
		bad:  only(ring(cpuStats{entries: 2, overrun: 1, oldest: "   12.500000", now: "   12.600000"}, cpuStats{entries: 3, oldest: "   11.000000", now: "   12.000000"})),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: 0, says: []string{"no stretch of time is covered by all CPUs"},
			at: []string{"s1 per_cpu/cpu0/stats:5 oldest event ts:    12.500000"}}},
		good: only(ring(cpuStats{entries: 2, overrun: 1, oldest: "   12.500000"})),
	},
	{ // the window is the capture's: its first record is the evidence
		rule: "late-start",
		bad:  given(ring(cpuStats{entries: 0, overrun: 9, read: 2}, cpuStats{read: 3}), Options{}, "trace_pipe.txt", events1(1, 3, 11e6)+lostMark(0, 9)+events1(0, 2, 11_000_100)),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: 0, says: []string{"covered from 11.000100 on, where cpu 0 begins, to 11.000200"},
			at: []string{"s2:5"}}},
		good: given(ring(cpuStats{read: 2}, cpuStats{read: 3}), Options{}, "trace_pipe.txt", events1(1, 3, 11e6)+events1(0, 2, 11_000_100)),
	},
	{ // what was read had been written before the stretch that is audited
		rule: "consumed-before-audit",
		bad:  since(ring(cpuStats{entries: 432, now: "   15.000000"}), ring(cpuStats{read: 432}), Options{}),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"432 events were taken by a reader since the earlier sample; 432 of what was read were in the ring before it"},
			at: []string{"s1 per_cpu/cpu0/stats:8 read events: 432", "s2 per_cpu/cpu0/stats:8 read events: 0"}}},
		good: since(ring(cpuStats{entries: 432, now: "   15.000000"}), ring(cpuStats{entries: 432}), Options{}),
	},
	{
		rule: "consumed-before-audit",
		bad:  only(ring(cpuStats{entries: 3, read: 7})),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"7 events were taken by a reader"},
			at: []string{"s1 per_cpu/cpu0/stats:8 read events: 7"}}},
		good: given(ring(cpuStats{read: 7}), Options{}, "trace_pipe.txt", events1(0, 7, 10e6)),
	},
	{
		rule: "time-goes-backwards",
		bad:  text("trace_pipe.txt", events1(0, 3, 10e6)+events1(0, 2, 9e6)),
		found: []found{{severity: SeverityWarning, buffer: "trace_pipe.txt", cpu: 0, says: []string{"1 event of cpu 0 is earlier than the one before"},
			at: []string{"s1:4"}}},
		// Another CPU may be earlier.
		good: text("trace_pipe.txt", events1(0, 3, 10e6)+events1(1, 2, 9e6)),
	},
	{
		rule: "offline-cpu-hidden",
		bad:  only(ring(cpuStats{entries: 2}, cpuStats{entries: 7}).with("cpu-online", "0\n", "trace", traceHeader(2, 2, 1)+events1(0, 2, 10e6))),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: 1, says: []string{"cpu 1 is offline and holds 7 events; trace leaves out 7 of them"},
			at: []string{"s1 per_cpu/cpu1/stats:1 entries: 7"}}},
		good: only(ring(cpuStats{entries: 2}, cpuStats{entries: 7}).with("trace", traceHeader(9, 9, 2)+events1(0, 2, 10e6)+events1(1, 7, 11e6))),
	},
	{ // it came back: nothing but the missing lines tells
		rule: "offline-cpu-hidden",
		bad:  only(ring(cpuStats{entries: 2}, cpuStats{entries: 7}).with("trace", traceHeader(4, 4, 2)+events1(0, 2, 10e6)+events1(1, 2, 11e6))),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 1, says: []string{"cpu 1 holds 7 events, and trace leaves out 5 of them"},
			at: []string{"s1 per_cpu/cpu1/stats:1 entries: 7"}}},
		good: only(ring(cpuStats{entries: 2}, cpuStats{}).with("cpu-online", "0\n", "trace", traceHeader(2, 2, 1)+events1(0, 2, 10e6))),
	},
}
