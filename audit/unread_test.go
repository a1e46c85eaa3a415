package audit

import (
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
	"github.com/ringaudit/ringaudit/tracefs"
)

// Lines that cannot be read prove no loss: each may be an event.
func TestUnread(t *testing.T) {
	runScenarios(t, []scenario{
		{
			name: "a text alone", audit: text("trace", unreadTrace), verdict: Undetermined, exit: 3, buffer: "trace",
			rows:  map[int]row{0: {Delivered: Between(2, 4)}, Total: {Delivered: Between(2, 4), Written: AtLeast(3), Missing: Unknown()}},
			rules: []string{"damaged-input"}, quiet: []string{"capture-incomplete"},
		},
		{
			// The counters tell that both lines are no events.
			name: "a whole capture with a line end in a marker", audit: given(ring(cpuStats{read: 2}), Options{}, "trace_pipe.txt", events1(0, 1, 10e6)+"second line\n"+events1(0, 1, 11e6)),
			verdict: Complete, exit: 0, rows: map[int]row{0: {Delivered: Exactly(2)}, Total: {Delivered: Exactly(2)}},
		},
		{
			// 5 were read, 2 and perhaps a third are in the text: 2 are missing in any case.
			name: "what no unread line explains is missing", audit: given(ring(cpuStats{read: 5}), Options{}, "trace_pipe.txt", events1(0, 2, 10e6)+"one line\n"),
			verdict: Lossy, exit: 1, rows: map[int]row{0: {Delivered: Between(2, 3), Missing: AtLeast(2)}}, rules: []string{"recorder-lost"},
		},
		{
			name: "stack lines are known", audit: text("trace_pipe.txt", events1(0, 1, 10e6)+" => do_syscall_64\n => entry\n"+events1(0, 1, 11e6)),
			verdict: Undetermined, exit: 3, buffer: "trace_pipe.txt", rows: map[int]row{0: {Delivered: Exactly(2)}}, quiet: []string{"damaged-input"},
		},
	})
	a := text("trace", unreadTrace)(t)
	if notes := strings.Join(a.Sources[0].Notes, "\n"); !strings.Contains(notes, "not read as events: 2 lines, the first is line 15") {
		t.Errorf("the source's notes are %q", notes)
	}
}

// What was counted in a capture stays, whatever the counters say.
func TestDeliveredIsAFact(t *testing.T) {
	runScenarios(t, []scenario{
		{
			name: "more than was read", audit: given(ring(cpuStats{overrun: 10, read: 3}, cpuStats{read: 2}), Options{}, "trace_pipe.txt", lostMark(0, 5)+events1(0, 4, 10e6)+events1(1, 2, 11e6)),
			verdict: Lossy, exit: 1, rows: map[int]row{0: {Delivered: Exactly(4), Written: Exactly(13), Missing: Unknown()}, 1: {Delivered: Exactly(2)}, Total: {Delivered: Exactly(6), Written: Exactly(15), Missing: Unknown()}},
			rules: []string{"pipe-versus-stats"},
		},
		{
			name: "pages of more than was read", audit: inFolder(ring(cpuStats{read: 10}).with("per_cpu/cpu0/trace_pipe_raw", rawPage(10e9, 20, 0, 0)), "per_cpu/cpu0/trace_pipe_raw"),
			verdict: Undetermined, exit: 1, rows: map[int]row{0: {Delivered: Exactly(20), Written: Exactly(10), Missing: Unknown()}}, rules: []string{"cpustat-versus-pages"},
		},
		{
			// What it has shows that it was asked for more.
			name: "a BPF ring that was asked for less than its log has", audit: text("a.jsonl", ringLines(ringEnd(3, 2, 0, 0, noMisses), 0, 1, 2)), verdict: Undetermined, exit: 1,
			buffer: "bpf-ringbuf", rows: map[int]row{0: {Delivered: Exactly(3), Attempted: AtLeast(3)}, Total: {Delivered: Exactly(3)}}, rules: []string{"ebpf-versus-written"},
		},
	})
	b := buffer(t, given(ring(cpuStats{overrun: 10, read: 3}), Options{}, "trace_pipe.txt", lostMark(0, 11)+events1(0, 20, 10e6))(t), "top")
	if n := len(b.Ledger.Contradictions()); n < 1 || n > 2 {
		t.Errorf("%d contradictions of one CPU, want 1 or 2: %v", n, b.Ledger.Contradictions())
	}
	if c := b.CPUs[0]; c.State != StateRecorded || b.Ledger.Count(0, Delivered) != Exactly(20) {
		t.Errorf("cpu 0 is %s, delivered %v; want recorded and 20", c.State, b.Ledger.Count(0, Delivered))
	}
}

// A CPU whose stats file is cut has its window from the text beside it.
func TestWindowFromText(t *testing.T) {
	saved := ring(cpuStats{entries: 2}, cpuStats{entries: 3, oldest: "   10.000050", now: "   20.000000"}).with("trace", traceHeader(5, 5, 2)+events1(0, 2, 10e6)+events1(1, 3, 10_000_050))
	b := buffer(t, saved.with(statsOf(0), "entries: 2\noverrun: 0\ncommit over").audit(t), "top")
	w := b.CPUs[0].Window
	if w == nil || w.Oldest.String() != "10.000000" || w.Now != nil || w.End().String() != "10.000100" {
		t.Fatalf("window of cpu 0 %+v, want 10.000000 to 10.000100", w)
	}
	if c := b.CommonWindow(); c == nil || c.Oldest.String() != "10.000050" || c.End().String() != "10.000100" {
		t.Errorf("common window %+v, want 10.000050 to 10.000100", c)
	}
	if w := buffer(t, saved.audit(t), "top").CPUs[0].Window; w == nil || w.End().String() != "20.000000" {
		t.Errorf("window of cpu 0 with its counters %+v, want up to 20.000000", w)
	}
}

// After a drain that wrote nothing the CPU is drained, not idle.
func TestDrainedSince(t *testing.T) {
	b := buffer(t, since(ring(cpuStats{entries: 432, now: "   15.000000"}, cpuStats{now: "   15.000000"}), ring(cpuStats{read: 432}, cpuStats{}), Options{})(t), "top")
	if b.CPUs[0].State != StateDrained || b.CPUs[1].State != StateIdle {
		t.Errorf("cpu 0 %s, cpu 1 %s; want drained and idle", b.CPUs[0].State, b.CPUs[1].State)
	}
}

func spots(a *Audit) []string {
	var out []string
	for _, s := range a.BlindSpots {
		out = append(out, s.ID)
	}
	return out
}

// What was not given cannot be excluded; what a whole tracefs lacks can.
func TestBlindSpotsOfParts(t *testing.T) {
	stats := tree{statsOf(0): cpuStats{entries: 3}.String()}
	snapped := ring(cpuStats{entries: 3}).with("snapshot", traceHeader(3, 3, 1)+events1(0, 3, 9e6))
	for _, c := range []struct {
		name     string
		audit    *Audit
		has, not []string
	}{
		{"a stats file", text("stats", cpuStats{entries: 3}.String())(t), []string{"earlier-boot", "sub-buffer-size"}, nil},
		{"a folder of stats files", stats.audit(t), []string{"earlier-boot", "sub-buffer-size"}, nil},
		{"a tracefs", ring(cpuStats{entries: 3}).audit(t), nil, []string{"earlier-boot", "sub-buffer-size", "dropped-events", "commit-overrun"}},
		{"a tracefs with a snapshot", snapped.audit(t), []string{"dropped-events", "commit-overrun"}, []string{"earlier-boot"}},
	} {
		have := spots(c.audit)
		for _, id := range c.has {
			if !slices.Contains(have, id) {
				t.Errorf("%s: blind spots %v lack %s", c.name, have, id)
			}
		}
		for _, id := range c.not {
			if slices.Contains(have, id) {
				t.Errorf("%s: blind spots %v have %s", c.name, have, id)
			}
		}
	}
}

// Raw pages take the unit of the clock of the folder that they lie in.
func TestClockOfPages(t *testing.T) {
	dir := ring().with("trace_clock", "local [counter]\n", "per_cpu/cpu0/trace_pipe_raw", rawPage(7, 3, 0, 0)).write(t)
	b := run(t, filepath.Join(dir, "per_cpu", "cpu0", "trace_pipe_raw")).Buffers[0]
	if w := b.CPUs[0].Window; b.Clock != "counter" || w == nil || w.Oldest != (tracefs.Stamp{Value: 7, Unit: tracefs.Ticks}) {
		t.Errorf("clock %q, window %+v; want counter, from tick 7", b.Clock, w)
	}
}

// A compressed trace is named as one.
func TestCompressed(t *testing.T) {
	dir := t.TempDir()
	zipped := filepath.Join(dir, "trace.gz")
	f, err := os.Create(zipped)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if _, err := z.Write([]byte(traceHeader(3, 3, 1) + events1(0, 3, 10e6))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		zipped: "compressed with gzip: unpack it first (gzip -d)",
		textFile(t, "trace.xz", "\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00"): "compressed with xz: unpack it first (xz -d)",
	} {
		a := run(t, name)
		if a.Exit != 4 || len(findings(a, "damaged-input")) != 1 || !strings.Contains(findings(a, "damaged-input")[0].Message, says) {
			t.Errorf("%s: exit %d, %+v; want 4 and %q", name, a.Exit, a.Findings, says)
		}
	}
}

// closedFS refuses one file.
type closedFS struct {
	fs.FS
	file string
}

func (c closedFS) Open(name string) (fs.File, error) {
	if name == c.file {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.FS.Open(name)
}

// A file that may not be read is not a damaged one.
func TestPermission(t *testing.T) {
	a := runWith(t, Options{Sources: []Input{{Path: "saved", FS: closedFS{ring(cpuStats{entries: 3}, cpuStats{entries: 1}).fs(), statsOf(1)}}}})
	f := findings(a, "unreadable-input")
	if len(f) != 1 || f[0].CPU == nil || *f[0].CPU != 1 || !strings.Contains(f[0].Message, statsOf(1)+": permission denied") || !strings.Contains(f[0].Action, "run as root") {
		t.Errorf("%+v", a.Findings)
	}
	if n := len(findings(a, "damaged-input")); n != 0 || a.Verdict != Undetermined || a.Exit != 3 {
		t.Errorf("%d findings of damage, %s, exit %d; want none, undetermined and 3", n, a.Verdict, a.Exit)
	}
}

// Numbers of one and names of CPUs in messages.
func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		events(AtLeast(1)): "at least 1 event", events(AtLeast(2)): "at least 2 events", events(Between(0, 1)): "0 to 1 events",
		eventsWere(AtLeast(1)): "at least 1 event was", eventsWere(Exactly(2)): "2 events were",
		cpuName(3): "cpu 3", cpuName(-2): "a CPU that the file does not name",
		cpuNames([]int{-3, -2}): "2 CPUs that the file does not name", cpuNames([]int{-2, 0, 1}): "cpu 0-1 and 1 that the file does not name",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	a := ring(cpuStats{entries: 3, overrun: 1}).audit(t)
	if f := findings(a, "overwritten-events"); len(f) != 1 || f[0].Message != "the oldest event was thrown away to make room" {
		t.Errorf("%+v", f)
	}
}

// The captures of real rings that these cases were found in.
func TestFoundInCaptures(t *testing.T) {
	c := fixtures.Captures(t)
	k := filepath.Join(c, "x86_64-6.1.0-57-cloud-amd64")
	for _, sub := range []string{"boot", "counter", "global", "local", "mono", "mono_raw", "perf", "tai", "uptime", "x86-tsc"} {
		if a := run(t, filepath.Join(k, "clocks", sub)); a.Verdict != Complete {
			t.Errorf("clocks/%s: %s (%s), want complete", sub, a.Verdict, a.Reason)
		}
	}
	boot := filepath.Join(c, "x86_64-6.12.117+deb12-cloud-amd64", "persistent-second-boot")
	if a := run(t, filepath.Join(boot, "per_cpu", "cpu0", "stats")); a.Verdict != Undetermined || len(findings(a, "rebuilt-counters")) != 1 {
		t.Errorf("the second boot's stats alone: %s (%s)", a.Verdict, a.Reason)
	}
	// A second later the clock was past the oldest event again: nothing in this
	// file tells of an earlier boot, and that is said.
	if a := run(t, filepath.Join(boot, "stats.1-after-trace-read")); !slices.Contains(spots(a), "earlier-boot") {
		t.Errorf("blind spots %v lack earlier-boot", spots(a))
	}
	late := findings(run(t, filepath.Join(k, "known-count-overwrite")), "late-start")
	if len(late) != 1 || !strings.Contains(late[0].Message, "from 163.686429 on, where cpu 1 begins, to 163.783743") {
		t.Errorf("known-count-overwrite: %+v", late)
	}
	late = findings(run(t, filepath.Join(k, "tracedat", "default.dat")), "late-start")
	if len(late) != 1 || !strings.Contains(late[0].Message, "from 54.025851") || !late[0].Evidence[0].Binary || late[0].Evidence[0].Text != "first record: 54.025851" {
		t.Errorf("default.dat: %+v", late)
	}
	if a := run(t, filepath.Join(c, "tracedat-synthetic", "syn_v6_latency.dat")); !strings.Contains(strings.Join(a.Sources[0].Notes, "\n"), "recorded as text") {
		t.Errorf("syn_v6_latency.dat: notes %q", a.Sources[0].Notes)
	}
}
