package audit

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ringaudit/ringaudit/tracefs"
)

// liveFS prints at the n-th reading of CPU 0's stats the n-th of its texts; the
// last one stays.
type liveFS struct {
	fs.FS
	texts []string
	reads int
}

func (l *liveFS) Open(name string) (fs.File, error) {
	if name != statsOf(0) {
		return l.FS.Open(name)
	}
	text := l.texts[min(l.reads, len(l.texts)-1)]
	l.reads++
	return fstest.MapFS{name: {Data: []byte(text)}}.Open(name)
}

// live audits a running kernel's tracefs whose CPU 0 prints these stats in turn.
func live(t tree, stats ...cpuStats) func(testing.TB) *Audit {
	return func(tb testing.TB) *Audit {
		var texts []string
		for _, s := range stats {
			texts = append(texts, s.String())
		}
		return runWith(tb, Options{Sources: []Input{{Path: "/sys/kernel/tracing", FS: tracefs.Guard(&liveFS{FS: t.fs(), texts: texts}), Live: true}}})
	}
}

var shown3 = traceHeader(3, 43, 1) + events1(0, 3, 10e6)

var contradictionTests = []ruleTest{
	{
		rule: "header-total-mismatch",
		bad:  only(ring(cpuStats{entries: 3, overrun: 40}).with("trace", strings.Replace(shown3, "3/43", "3/44", 1))),
		found: []found{{severity: SeverityError, buffer: "top", cpu: Total, says: []string{"overwritten is 40 by one source and 41 by another", "trace:3", "is not used"},
			at: []string{"s1 per_cpu/cpu0/stats:2 overrun: 40", "s1 trace:3 # entries-in-buffer/entries-written: 3/44   #P:1"}}},
		good: only(ring(cpuStats{entries: 3, overrun: 40}).with("trace", shown3)),
	},
	{ // more in the buffer than there is
		rule: "header-total-mismatch",
		bad:  only(ring(cpuStats{entries: 3, overrun: 40}).with("trace", strings.Replace(shown3, "3/43", "4/44", 1))),
		found: []found{{severity: SeverityError, buffer: "top", cpu: Total, says: []string{"kept is 3 by one source and 4 by another"},
			at: []string{"s1 per_cpu/cpu0/stats:1 entries: 3", "s1 trace:3 # entries-in-buffer/entries-written: 4/44   #P:1"}}},
		// Recording: the text is of a later moment.
		good: only(ring(cpuStats{entries: 3, overrun: 40}).on().with("trace", strings.Replace(shown3, "3/43", "4/44", 1))),
	},
	{ // while recording, what was overwritten when the text was read proves no contradiction
		rule: "torn-read",
		bad:  only(ring(cpuStats{entries: 3, overrun: 40}).on().with("trace", strings.Replace(shown3, "3/43", "3/99", 1))),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"moved"},
			at: []string{"s1 per_cpu/cpu0/stats:2 overrun: 40"}}},
		good: only(ring(cpuStats{entries: 3, overrun: 40}).with("trace", strings.Replace(shown3, "3/43", "3/99", 1))),
	},
	{
		rule: "lines-versus-entries",
		bad:  only(ring(cpuStats{entries: 5, overrun: 40}).with("trace", traceHeader(5, 45, 1)+events1(0, 3, 10e6))),
		found: []found{{severity: SeverityError, buffer: "top", cpu: 0, says: []string{"trace shows 3 events of cpu 0, entries says 5"},
			at: []string{"s1 per_cpu/cpu0/stats:1 entries: 5", "s1 trace"}}},
		good: only(ring(cpuStats{entries: 5, overrun: 40}).with("trace", traceHeader(5, 45, 1)+events1(0, 5, 10e6))),
	},
	{ // an event on another CPU than its counter
		rule: "lines-versus-entries",
		bad:  only(ring(cpuStats{entries: 2}, cpuStats{entries: 2}).with("trace", traceHeader(4, 4, 2)+events1(0, 3, 10e6)+events1(1, 1, 11e6))),
		found: []found{
			{severity: SeverityError, buffer: "top", cpu: 0, says: []string{"shows 3 events of cpu 0, entries says 2"}, at: []string{"s1 per_cpu/cpu0/stats:1 entries: 2"}},
			{severity: SeverityError, buffer: "top", cpu: 1, says: []string{"shows 1 event of cpu 1, entries says 2"}, at: []string{"s1 per_cpu/cpu1/stats:1 entries: 2"}},
		},
		// With the stacktrace option an event is two entries.
		good: only(ring(cpuStats{entries: 4}).with("options/stacktrace", "1\n", "trace", traceHeader(4, 4, 1)+events1(0, 2, 10e6))),
	},
	{
		rule: "pipe-versus-stats",
		bad:  given(ring(cpuStats{overrun: 10, read: 3}), Options{}, "trace_pipe.txt", lostMark(0, 11)+events1(0, 3, 10e6)),
		found: []found{
			{severity: SeverityError, buffer: "top", cpu: 0, says: []string{"overwritten is 10 by one source and at least 11 by another"},
				at: []string{"s1 per_cpu/cpu0/stats:2 overrun: 10", "s2:1 CPU:0 [LOST 11 EVENTS]"}},
			{severity: SeverityError, buffer: "top", cpu: 0, says: []string{"written is 13 by one source and at least 14 by another"},
				at: []string{"s2:1 CPU:0 [LOST 11 EVENTS]"}},
		},
		good: given(ring(cpuStats{overrun: 10, read: 3}), Options{}, "trace_pipe.txt", lostMark(0, 10)+events1(0, 3, 10e6)),
	},
	{ // more events than were ever read
		rule: "pipe-versus-stats",
		bad:  given(ring(cpuStats{overrun: 10, read: 3}), Options{}, "trace_pipe.txt", lostMark(0, 5)+events1(0, 4, 10e6)),
		found: []found{{severity: SeverityError, buffer: "top", cpu: 0, says: []string{"delivered 4 + overwritten 10 is more than was written, 13", "(s2) stays, as it was counted"},
			at: []string{"s2", "s1 per_cpu/cpu0/stats:2 overrun: 10", "s1 per_cpu/cpu0/stats:8 read events: 3"}}},
		// What is still in the ring may have been read as well.
		good: given(ring(cpuStats{entries: 1, overrun: 10, read: 3}), Options{}, "trace_pipe.txt", lostMark(0, 5)+events1(0, 4, 10e6)),
	},
	{
		rule: "cpustat-versus-pages",
		bad:  inFolder(ring(cpuStats{overrun: 7, read: 20}).with("per_cpu/cpu0/trace_pipe_raw", rawPage(10e9, 20, pageMissed|pageStored, 8)), "per_cpu/cpu0/trace_pipe_raw"),
		found: []found{
			{severity: SeverityError, buffer: "top", cpu: 0, says: []string{"overwritten is 7 by one source and at least 8 by another"}, at: []string{"s1 per_cpu/cpu0/stats:2 overrun: 7", "s2@0 sub-buffer 0: events lost before it: 8"}},
			{severity: SeverityError, buffer: "top", cpu: 0, says: []string{"written is 27 by one source and at least 28 by another"}, at: []string{"s2@0 sub-buffer 0: events lost before it: 8"}},
		},
		good: inFolder(ring(cpuStats{overrun: 8, read: 20}).with("per_cpu/cpu0/trace_pipe_raw", rawPage(10e9, 20, pageMissed|pageStored, 8)), "per_cpu/cpu0/trace_pipe_raw"),
	},
	{
		rule: "attempted-versus-written",
		bad:  given(refused, Options{Attempted: map[int]uint64{Total: 3499}}),
		found: []found{{severity: SeverityError, buffer: "top", cpu: Total, says: []string{"attempted is at least 3,500 by one source and 3,499 by another"},
			at: []string{"option --attempted 3499", "s1 per_cpu/cpu0/stats:1 entries: 389", "s1 per_cpu/cpu0/stats:7 dropped events: 2611"}}},
		good: given(refused, Options{Attempted: map[int]uint64{Total: 3500}}),
	},
	{
		rule: "attempted-versus-written",
		bad:  given(refused, Options{Attempted: map[int]uint64{1: 499}}),
		found: []found{{severity: SeverityError, buffer: "top", cpu: 1, says: []string{"attempted is at least 500 by one source and 499 by another"},
			at: []string{"option --attempted 1=499", "s1 per_cpu/cpu1/stats:7 dropped events: 127"}}},
		good: given(refused, Options{Attempted: map[int]uint64{1: 500}}),
	},
	{
		rule: "ebpf-versus-written",
		bad:  bundled(ring(cpuStats{entries: 100}).with("witness.json", witnessJSON("equal", 99, 99)), nil, Options{}),
		found: []found{
			{severity: SeverityError, buffer: "top", cpu: Total, says: []string{"at least 100 by one source and 99 by another"}, at: []string{"s1 witness.json all CPUs: 99 hits", "s1 per_cpu/cpu0/stats:1 entries: 100"}},
			{severity: SeverityError, buffer: "top", cpu: 0, says: []string{"at least 100 by one source and 99 by another"}, at: []string{"s1 witness.json cpu 0: 99 hits", "s1 per_cpu/cpu0/stats:1 entries: 100"}},
		},
		good: bundled(ring(cpuStats{entries: 100}).with("witness.json", witnessJSON("equal", 100, 100)), nil, Options{}),
	},
	{ // bounds that leave the counters out
		rule: "ebpf-versus-written",
		bad:  bundled(ring(cpuStats{entries: 100}).with("witness.json", witnessJSON("bounds", 90, 95)), nil, Options{}),
		found: []found{
			{severity: SeverityError, buffer: "top", cpu: Total, says: []string{"at least 100 by one source and 90 to 95 by another"}, at: []string{"s1 witness.json all CPUs: 90 to 95 hits"}},
			{severity: SeverityError, buffer: "top", cpu: 0, says: []string{"at least 100 by one source and 90 to 95 by another"}, at: []string{"s1 witness.json cpu 0: 90 to 95 hits"}},
		},
		good: bundled(ring(cpuStats{entries: 100}).with("witness.json", witnessJSON("bounds", 95, 105)), nil, Options{}),
	},
	{
		rule: "impossible-counter",
		bad:  only(ring(cpuStats{entries: 3, overrun: -6})),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 0, says: []string{`"overrun" is printed negative: not used`},
			at: []string{"s1 per_cpu/cpu0/stats:2 overrun: -6"}}},
		good: only(ring(cpuStats{entries: 3, overrun: 6})),
	},
	{ // on a 32-bit kernel it is a number
		rule: "impossible-counter",
		bad:  only(ring(cpuStats{entries: 3, overrun: -6}).with("events/header_page", headerPage32)),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: 0, says: []string{"read as 4294967290", "wraps at 2^32"},
			at: []string{"s1 per_cpu/cpu0/stats:2 overrun: -6"}}},
		good: only(ring(cpuStats{entries: 3, overrun: 6}).with("events/header_page", headerPage32)),
	},
	{
		rule: "impossible-counter",
		bad:  only(ring(cpuStats{entries: 3, bytes: 12241})),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: 0, says: []string{"12241 bytes in a ring of 12240: not used"},
			at: []string{"s1 per_cpu/cpu0/stats:4 bytes: 12241"}}},
		good: only(ring(cpuStats{entries: 3, bytes: 12240})),
	},
	{ // once something was read, the reader page holds events as well
		rule: "impossible-counter",
		bad:  only(ring(cpuStats{entries: 3, read: 1, bytes: 16321})),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: 0, says: []string{"16321 bytes in a ring of 16320: not used"},
			at: []string{"s1 per_cpu/cpu0/stats:4 bytes: 16321"}}},
		good: only(ring(cpuStats{entries: 3, read: 1, bytes: 16320})),
	},
	{
		rule:  "torn-read",
		bad:   live(ring(cpuStats{}).on(), cpuStats{entries: 3, overrun: 40}, cpuStats{entries: 3, overrun: 55}),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"the numbers that differed are intervals"}, at: []string{"s1 per_cpu/cpu0/stats:2 overrun: 40"}}},
		good:  live(ring(cpuStats{}).on(), cpuStats{entries: 3, overrun: 40}, cpuStats{entries: 3, overrun: 40}),
	},
	{
		rule: "known-counter-bug",
		bad:  only(ring(cpuStats{entries: 300}).with("buffer_subbuf_size_kb", "8\n", "trace", traceHeader(300, 300, 1))),
		found: []found{{severity: SeverityError, buffer: "top", cpu: Total, says: []string{"the header claims 300 entries and the body has none"},
			at: []string{"s1 trace:3 # entries-in-buffer/entries-written: 300/300   #P:1"}}},
		good: only(ring(cpuStats{entries: 3}).with("buffer_subbuf_size_kb", "4\n", "trace", traceHeader(3, 3, 1)+events1(0, 3, 10e6))),
	},
	{ // some events came after the change
		rule: "known-counter-bug",
		bad:  only(ring(cpuStats{entries: 30}, cpuStats{entries: 2}).with("buffer_subbuf_size_kb", "8\n", "trace", traceHeader(32, 32, 2)+events1(0, 4, 10e6)+events1(1, 2, 11e6))),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: Total, says: []string{"the header claims 32 entries and the body shows 6"},
			at: []string{"s1 trace:3 # entries-in-buffer/entries-written: 32/32   #P:2", "s1 per_cpu/cpu0/stats:1 entries: 30"}}},
		good: only(ring(cpuStats{entries: 4}, cpuStats{entries: 2}).with("buffer_subbuf_size_kb", "8\n", "trace", traceHeader(6, 6, 2)+events1(0, 4, 10e6)+events1(1, 2, 11e6))),
	},
	{ // more entries than 8-byte records fit into three sub-buffers
		rule: "known-counter-bug",
		bad:  only(ring(cpuStats{entries: 1531})),
		found: []found{{severity: SeverityWarning, buffer: "top", cpu: 0, says: []string{"entries says 1531", "a ring of 12240 bytes holds at most 1530"},
			at: []string{"s1 per_cpu/cpu0/stats:1 entries: 1531"}}},
		good: only(ring(cpuStats{entries: 1530})),
	},
}

var geometryTests = []ruleTest{
	{
		rule: "size-request-versus-granted",
		bad:  only(whole),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"prints 11 kB a CPU: 3 sub-buffers of 4080 usable bytes and the reader page, 16384 bytes of memory"},
			at: []string{"s1 per_cpu/cpu0/buffer_size_kb:1 11"}}},
		good: only(whole.without("events/header_page")),
	},
	{ // a kernel that prints the request
		rule: "size-request-versus-granted",
		bad:  only(ring(cpuStats{entries: 5}).sized("8", 1)),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"prints 8 kB a CPU: 3 sub-buffers", "16384 bytes of memory", "it prints the request, not what was granted"},
			at: []string{"s1 per_cpu/cpu0/buffer_size_kb:1 8"}}},
		good: only(ring(cpuStats{entries: 5}).with("buffer_size_kb", "\n", "per_cpu/cpu0/buffer_size_kb", "\n")),
	},
	{ // the CPUs differ: each size is one CPU's, those of equal size are said once
		rule: "size-request-versus-granted",
		bad: only(ring(cpuStats{entries: 5}, cpuStats{entries: 5}, cpuStats{entries: 5}).with("buffer_size_kb", "X\n",
			"per_cpu/cpu0/buffer_size_kb", "19\n", "per_cpu/cpu1/buffer_size_kb", "11\n", "per_cpu/cpu2/buffer_size_kb", "11\n")),
		found: []found{
			{severity: SeverityNote, buffer: "top", cpu: 0, says: []string{"cpu 0 prints 19 kB: 5 sub-buffers", "24576 bytes"}, at: []string{"s1 per_cpu/cpu0/buffer_size_kb:1 19"}},
			{severity: SeverityNote, buffer: "top", cpu: 1, says: []string{"cpu 1 prints 11 kB: 3 sub-buffers", "16384 bytes"}, at: []string{"s1 per_cpu/cpu1/buffer_size_kb:1 11"}},
		},
		good: only(whole.without("events/header_page")),
	},
	{
		rule: "unexpanded-buffer",
		bad:  only(ring(cpuStats{}).with("buffer_size_kb", "7 (expanded: 1408)\n", "per_cpu/cpu0/buffer_size_kb", "7\n")),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"7 kB a CPU until it is first used, 1408 kB then"},
			at: []string{"s1 buffer_size_kb:1 7 (expanded: 1408)"}}},
		good: only(ring(cpuStats{}).sized("7", 1)),
	},
	{
		rule: "mixed-cpu-sizes",
		bad:  only(whole.with("buffer_size_kb", "X\n", "per_cpu/cpu1/buffer_size_kb", "67\n")),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"cpu 0 11 kB, cpu 1 67 kB"},
			at: []string{"s1 per_cpu/cpu0/buffer_size_kb:1 11", "s1 per_cpu/cpu1/buffer_size_kb:1 67"}}},
		good: only(whole),
	},
	{
		rule: "memory-cost",
		bad:  only(whole.with("buffer_total_size_kb", "22\n")),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"prints 22; the rings of 2 CPUs take 32,768 bytes"},
			at: []string{"s1 buffer_total_size_kb:1 22"}}},
		good: only(ring(cpuStats{}).sized("1410", 1).with("buffer_total_size_kb", "1410\n")),
	},
}
