package audit

import (
	"errors"
	"strings"
	"testing"
)

// scenario is an audit of made inputs and what must come of it.
type scenario struct {
	name    string
	audit   func(testing.TB) *Audit
	verdict Verdict
	exit    int
	buffer  string // whose rows; empty: top
	rows    map[int]row
	rules   []string // that fire
	quiet   []string // that do not
	says    string   // part of the reason
}

func runScenarios(t *testing.T, cases []scenario) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := c.audit(t)
			checkFindings(t, a)
			if a.Verdict != c.verdict || a.Exit != c.exit {
				t.Errorf("%s, exit %d (%s), want %s and %d", a.Verdict, a.Exit, a.Reason, c.verdict, c.exit)
			}
			if !strings.Contains(a.Reason, c.says) {
				t.Errorf("reason %q does not say %q", a.Reason, c.says)
			}
			name := c.buffer
			if name == "" && len(c.rows) > 0 {
				name = "top"
			}
			for cpu, want := range c.rows {
				b := buffer(t, a, name)
				for q, n := range want {
					if got := b.Ledger.Count(cpu, q); got != n {
						t.Errorf("cpu %d: %v is %v, want %v", cpu, q, got, n)
					}
				}
			}
			for _, r := range c.rules {
				if len(findings(a, r)) == 0 {
					t.Errorf("no finding %s", r)
				}
			}
			for _, r := range c.quiet {
				for _, f := range findings(a, r) {
					t.Errorf("%s: %s", r, f.Message)
				}
			}
			if t.Failed() {
				for _, f := range a.Findings {
					t.Logf("%s %s %s: %s %v", f.Severity, f.Rule, f.Buffer, f.Message, places(f))
				}
			}
		})
	}
}

const before15 = "   15.000000" // a clock before that of now

func TestBefore(t *testing.T) {
	at15 := func(s cpuStats) cpuStats { s.now = before15; return s }
	runScenarios(t, []scenario{
		{
			name:    "only the difference counts",
			audit:   since(ring(at15(cpuStats{entries: 400, overrun: 900, commit: 3, read: 10})), ring(cpuStats{entries: 430, overrun: 900, commit: 3, read: 10}), Options{}),
			verdict: Complete, exit: 0,
			rows:  map[int]row{0: {Written: Exactly(30), Kept: Exactly(430), Overwritten: Exactly(0), CommitOverrun: Exactly(0), Read: Exactly(0)}},
			quiet: []string{"overwritten-events", "commit-overrun", "consumed-before-audit"},
		},
		{
			// 400 were there; 60 of them or of the 100 that came were overwritten.
			name:    "lost since",
			audit:   since(ring(at15(cpuStats{entries: 400, overrun: 900})), ring(cpuStats{entries: 440, overrun: 960}), Options{Attempted: map[int]uint64{Total: 100}}),
			verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Written: Exactly(100), Overwritten: Exactly(60), Uncounted: Exactly(0), Lost: Exactly(60)}},
		},
		{
			name:    "a reset in between",
			audit:   since(ring(at15(cpuStats{entries: 400, overrun: 900})), ring(cpuStats{entries: 440, overrun: 6}), Options{}),
			verdict: Lossy, exit: 1,
			rows:  map[int]row{0: {Overwritten: AtLeast(6), Written: AtLeast(446), Kept: Exactly(440)}},
			rules: []string{"reset-between-samples"},
		},
		{
			name:    "a reset in between hides what was lost before it",
			audit:   since(ring(at15(cpuStats{entries: 400, overrun: 900})), ring(cpuStats{entries: 440}), Options{}),
			verdict: Undetermined, exit: 3, says: "reset between the two samples",
			rows: map[int]row{0: {Overwritten: Unknown(), Written: AtLeast(440)}},
		},
		{
			// CPU 0 was reset and CPU 1 was not: its records of before are still there.
			name: "a reset of one CPU",
			audit: since(ring(at15(cpuStats{entries: 40, overrun: 900}), at15(cpuStats{entries: 40, overrun: 100})),
				ring(cpuStats{entries: 44, overrun: 6, oldest: "   16.000000"}, cpuStats{entries: 44, overrun: 103}), Options{}),
			verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Overwritten: AtLeast(6), Written: AtLeast(50)}, 1: {Overwritten: Exactly(3), Written: Exactly(7)}},
		},
		{
			// Nothing proves that CPU 1 was left alone: its counters may be of after the reset.
			name: "a reset of one CPU and perhaps of the other",
			audit: since(ring(at15(cpuStats{entries: 40, overrun: 900}), at15(cpuStats{entries: 40, overrun: 100})),
				ring(cpuStats{entries: 44, overrun: 6, oldest: "   16.000000"}, cpuStats{entries: 44, overrun: 203, oldest: "   16.000000"}), Options{}),
			verdict: Lossy, exit: 1,
			rows: map[int]row{1: {Overwritten: AtLeast(103), Written: AtLeast(107)}},
		},
		{
			name:    "a CPU that the earlier sample lacks",
			audit:   since(ring(at15(cpuStats{entries: 100})), ring(cpuStats{entries: 120}, cpuStats{entries: 50, overrun: 10}), Options{}),
			verdict: Undetermined, exit: 3,
			rows: map[int]row{0: {Written: Exactly(20)}, 1: {Overwritten: Between(0, 10), Written: Between(0, 60), Kept: Exactly(50)}},
		},
		{
			name:    "a line that the earlier sample lacks",
			audit:   since(ring(cpuStats{}).with(statsOf(0), "entries: 100\nnow ts:    15.000000\n"), ring(cpuStats{entries: 120, overrun: 5}), Options{}),
			verdict: Undetermined, exit: 3,
			rows: map[int]row{0: {Overwritten: Between(0, 5), Dropped: Exactly(0)}},
		},
		{
			// 4294967290 and then 20: 26 more, because a record of before is still there.
			name: "a 32-bit wrap",
			audit: since(ring(at15(cpuStats{entries: 432, overrun: -6})).with("events/header_page", headerPage32),
				ring(cpuStats{entries: 430, overrun: 20}).with("events/header_page", headerPage32), Options{}),
			verdict: Lossy, exit: 1,
			rows:  map[int]row{0: {Overwritten: Exactly(26), Written: Exactly(24)}},
			quiet: []string{"reset-between-samples"},
		},
		{
			// The same, and nothing of before is left: a reset explains it as well.
			name: "a 32-bit wrap or a reset",
			audit: since(ring(at15(cpuStats{entries: 432, overrun: -6})).with("events/header_page", headerPage32),
				ring(cpuStats{entries: 430, overrun: 20, oldest: "   16.000000"}).with("events/header_page", headerPage32), Options{}),
			verdict: Lossy, exit: 1,
			rows:  map[int]row{0: {Overwritten: AtLeast(20)}},
			rules: []string{"reset-between-samples"},
		},
		{
			// Through 2^31, where the printed number turns negative.
			name: "a 32-bit counter above 2^31",
			audit: since(ring(at15(cpuStats{entries: 432, overrun: 2147483647})).with("events/header_page", headerPage32),
				ring(cpuStats{entries: 432, overrun: -2147483646}).with("events/header_page", headerPage32), Options{}),
			verdict: Lossy, exit: 1,
			rows:  map[int]row{0: {Overwritten: Exactly(3), Written: Exactly(3)}},
			quiet: []string{"reset-between-samples"},
		},
		{
			name: "records of before in a capture are no loss",
			audit: func(tb testing.TB) *Audit {
				in := ring(at15(cpuStats{entries: 100})).input()
				return runWith(tb, Options{Before: &in, Sources: []Input{ring(cpuStats{read: 120}).input(), {Path: textFile(tb, "trace_pipe.txt", events1(0, 120, 10e6))}}})
			},
			verdict: Undetermined, exit: 3, says: "cannot be told whether the capture holds every record",
			rows:  map[int]row{0: {Written: Exactly(20), Delivered: Between(0, 20)}},
			quiet: []string{"uncounted-loss", "pipe-versus-stats"},
		},
		{
			name: "a stats file against a stats file",
			audit: func(tb testing.TB) *Audit {
				before := Input{Path: textFile(tb, "per_cpu/cpu0/stats", at15(cpuStats{entries: 100, dropped: 5}).String())}
				return runWith(tb, Options{Before: &before, Sources: []Input{{Path: textFile(tb, "per_cpu/cpu0/stats", cpuStats{entries: 100, dropped: 12}.String())}}})
			},
			verdict: Lossy, exit: 1, buffer: "stats",
			rows: map[int]row{0: {Dropped: Exactly(7), Written: Exactly(0)}},
		},
		{
			name: "misses of probes since",
			audit: since(probed("p:kp/p1 f\np:kp/p2 g\n", "  p1    200    4\n  p2    5    5\n").with(statsOf(0), at15(cpuStats{entries: 3}).String()),
				probed("p:kp/p1 f\np:kp/p2 g\n", "  p1    300    4\n  p2    7    8\n"), Options{}),
			verdict: Lossy, exit: 1, says: "1 probe missed 3 hits",
		},
		{
			name: "no miss of a probe since",
			audit: since(probed("p:kp/p1 f\n", "  p1    200    4\n").with(statsOf(0), at15(cpuStats{entries: 3}).String()),
				probed("p:kp/p1 f\n", "  p1    300    4\n"), Options{}),
			verdict: Complete, exit: 0, quiet: []string{"kprobe-missed"},
		},
	})
}

func TestBeforeIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		before Input
		want   string
	}{
		{"another kernel", whole.with("uname-a", "Linux host 6.12.0 #1 SMP x86_64 GNU/Linux\n").input(), "is of kernel 6.12.0, and buffer top of 6.1.0"},
		{"a folder with no buffer of that name", tree{}.among("foo", whole).input(), "has no counters of any of the buffers top"},
		{"a text", Input{Path: textFile(t, "trace_pipe.txt", events1(0, 2, 10e6))}, "has no counters"},
		{"nothing", Input{Path: "no/such/folder"}, "no/such/folder: cannot be opened: no such file"},
	} {
		_, err := Run(t.Context(), Options{Sources: []Input{whole.input()}, Before: &c.before})
		var usage *UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a usage error that says %q", c.name, err, c.want)
		}
	}
}
