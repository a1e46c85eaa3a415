package audit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDumpCut(t *testing.T) {
	log, err := os.ReadFile(filepath.Join(guests(t), "6.12", "dump", "dmesg.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(log)))
	begin := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "Dumping ftrace buffer:") })
	for _, c := range []struct {
		name  string
		text  string
		at    int // line of the finding
		holds uint64
	}{
		// 280 events stand in the dump; behind them a line of dashes ends it.
		{"at its end", strings.Join(lines[:len(lines)-11], ""), begin + 1, 270},
		// Before the first event stand the dashes and a mark of loss.
		{"at its beginning", strings.Join(lines[begin+3+100:], ""), 1, 180},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := run(t, textFile(t, "dmesg.txt", c.text))
			cut := findings(a, "truncated-input")
			if len(cut) != 1 || cut[0].Evidence[0].Line != c.at {
				t.Errorf("findings %+v, want one at line %d", cut, c.at)
			}
			if got := a.Buffers[0].Ledger.Count(Total, Delivered); got != Exactly(c.holds) {
				t.Errorf("delivered is %v, want %d", got, c.holds)
			}
			if a.Verdict != Lossy && a.Exit != 3 {
				t.Errorf("%s, exit %d", a.Verdict, a.Exit)
			}
		})
	}
}

func TestCPUOfPath(t *testing.T) {
	for name, want := range map[string]int{
		"per_cpu/cpu3/trace":          3,
		"saved/per_cpu/cpu12/stats":   12,
		"cpu1.raw":                    1,
		"run-7/trace.cpu2.txt":        2,
		"stats-cpu0":                  0,
		"per_cpu/cpu3/cpu1.txt":       3,
		"trace.txt":                   -1,
		"cpu0-and-cpu1.txt":           -1, // two
		"mycpu1.txt":                  -1,
		"cpu1x.txt":                   -1,
		"cpu99999999999999999999.raw": -1,
		"cpu0-run/trace.txt":          -1, // a folder's name is no CPU's unless it is all of it
	} {
		cpu, ok := cpuOfPath(name)
		if !ok {
			cpu = -1
		}
		if cpu != want {
			t.Errorf("%s: cpu %d, want %d", name, cpu, want)
		}
	}
}

// What the saved files show of themselves: that recording went on between them.
func TestSavedWhileMoving(t *testing.T) {
	late := func(s string) string { return traceHeader(50, 150, 1) + events1(0, 50, 21e6) + s }
	runScenarios(t, []scenario{
		{
			// tracing_on said 0 at its moment; the text has events of after the counters.
			name:    "recording was on again when trace was read",
			audit:   only(ring(cpuStats{entries: 60, overrun: 40}).with("trace", late(""))),
			verdict: Lossy, exit: 1,
			rows:  map[int]row{0: {Overwritten: AtLeast(100)}}, // the one CPU has all
			quiet: []string{"header-total-mismatch", "lines-versus-entries"},
		},
		{
			// The same numbers in a text of before: one of the two is of another run.
			name:    "recording was off",
			audit:   only(ring(cpuStats{entries: 60, overrun: 40}).with("trace", traceHeader(50, 150, 1)+events1(0, 50, 11e6))),
			verdict: Lossy, exit: 1,
			rules: []string{"header-total-mismatch"},
		},
		{
			// 3 sub-buffers of 4080 bytes hold 1530 records of 8 bytes at most.
			name:    "more entries than fit, where the sub-buffer size can be changed",
			audit:   only(ring(cpuStats{entries: 4000, overrun: 5}).with("buffer_subbuf_size_kb", "4\n")),
			verdict: Lossy, exit: 1,
			rows:  map[int]row{0: {Kept: Between(1, 1530), Overwritten: Between(5+4000-1530, 5+3999), Written: Exactly(4005)}},
			rules: []string{"known-counter-bug"},
		},
		{
			name:    "more entries than fit, where it cannot",
			audit:   only(ring(cpuStats{entries: 4000, overrun: 5})),
			verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Kept: Between(0, 1530), Overwritten: Exactly(5), Written: Exactly(4005)}},
		},
	})
}
