package audit

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// both audits several inputs.
func several(inputs ...func(testing.TB) Input) func(testing.TB) *Audit {
	return func(tb testing.TB) *Audit {
		var opt Options
		for _, in := range inputs {
			opt.Sources = append(opt.Sources, in(tb))
		}
		return runWith(tb, opt)
	}
}

func saved(t tree) func(testing.TB) Input { return func(testing.TB) Input { return t.input() } }

func file(name, text string) func(testing.TB) Input {
	return func(tb testing.TB) Input { return Input{Path: textFile(tb, name, text)} }
}

func tied(buffer string, in func(testing.TB) Input) func(testing.TB) Input {
	return func(tb testing.TB) Input {
		i := in(tb)
		i.Buffer = buffer
		return i
	}
}

func TestSourcesTogether(t *testing.T) {
	drained := ring(cpuStats{overrun: 9, read: 5})
	pipe := lostMark(0, 9) + events1(0, 5, 10e6)
	two := ring(cpuStats{read: 5}).among("instances/foo", ring(cpuStats{read: 5}))
	runScenarios(t, []scenario{
		{
			name: "a folder and its pipe are one ledger", audit: several(saved(drained), file("trace_pipe.txt", pipe)), verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Overwritten: Exactly(9), Delivered: Exactly(5), Written: Exactly(14), Missing: AtLeast(9)}},
		},
		{
			name: "the same text twice counts once", audit: several(saved(drained), file("a.txt", pipe), file("b.txt", pipe)), verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Overwritten: Exactly(9), Delivered: Exactly(5)}}, quiet: []string{"pipe-versus-stats", "uncounted-loss"},
		},
		{
			name: "the same folder twice is one moment", audit: several(saved(wrapped), saved(wrapped)), verdict: Lossy, exit: 1,
			rows: map[int]row{Total: {Overwritten: Exactly(2922910), Kept: Exactly(862)}},
		},
		{
			// What one reader was told, no other was.
			name: "two readings of a pipe add up", audit: several(file("1.txt", lostMark(0, 9)+events1(0, 5, 10e6)), file("2.txt", lostMark(0, 4)+events1(0, 6, 12e6))), verdict: Lossy, exit: 1,
			buffer: "1.txt", rows: map[int]row{0: {Overwritten: AtLeast(13), Delivered: Exactly(11), Written: AtLeast(24)}},
		},
		{
			name: "views are not added", audit: several(saved(ring(cpuStats{entries: 5})), file("trace.1", traceHeader(5, 5, 1)+events1(0, 5, 10e6)), file("trace.2", traceHeader(5, 5, 1)+events1(0, 5, 10e6)+"\n")), verdict: Complete, exit: 0,
			rows: map[int]row{0: {Delivered: Exactly(5), Kept: Exactly(5)}},
		},
		{
			// 8 records or 13: what is in the second may be in the first.
			name: "unlike views are an interval", audit: several(file("trace.1", traceHeader(5, 5, 1)+events1(0, 5, 10e6)), file("trace.2", traceHeader(8, 8, 1)+events1(0, 8, 11e6))), verdict: Undetermined, exit: 3,
			buffer: "trace.1", rows: map[int]row{0: {Delivered: Between(8, 13)}},
		},
		{
			name: "a text that two buffers could have printed", audit: several(saved(two), file("trace_pipe.txt", events1(0, 5, 10e6))), verdict: Undetermined, exit: 3,
			buffer: "trace_pipe.txt", rows: map[int]row{0: {Delivered: Exactly(5)}}, rules: []string{"sources-apart"},
		},
		{
			name: "and is tied to one", audit: several(saved(two), tied("foo", file("trace_pipe.txt", events1(0, 5, 10e6)))), verdict: Complete, exit: 0,
			buffer: "foo", rows: map[int]row{0: {Delivered: Exactly(5), Read: Exactly(5)}}, quiet: []string{"sources-apart"},
		},
		{
			name: "a folder gets another name", audit: several(tied("prod", saved(whole))), verdict: Complete, exit: 0,
			buffer: "prod", rows: map[int]row{Total: {Kept: Exactly(862)}},
		},
		{
			name: "stats files of two CPUs are one buffer", audit: several(file("per_cpu/cpu0/stats", cpuStats{entries: 3}.String()), file("per_cpu/cpu1/stats", cpuStats{entries: 4, overrun: 7}.String())), verdict: Lossy, exit: 1,
			buffer: "stats", rows: map[int]row{0: {Kept: Exactly(3)}, 1: {Overwritten: Exactly(7)}, Total: {Kept: Exactly(7), Overwritten: Exactly(7)}},
		},
		{
			// Two moments of one run: the later counts, and proves what the earlier did.
			name: "two phases", audit: several(saved(ring(cpuStats{entries: 10, overrun: 5, now: before15})), saved(ring(cpuStats{entries: 12, overrun: 9}))), verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Kept: Exactly(12), Overwritten: Exactly(9)}}, quiet: []string{"sources-apart"},
		},
		{
			name: "two phases in the other order", audit: several(saved(ring(cpuStats{entries: 12, overrun: 9})), saved(ring(cpuStats{entries: 10, overrun: 5, now: before15}))), verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Kept: Exactly(12), Overwritten: Exactly(9)}}, quiet: []string{"sources-apart"},
		},
		{
			// The loss of the first run must not vanish behind the second.
			name: "a reset between two folders makes two buffers", audit: several(saved(ring(cpuStats{entries: 10, overrun: 5, now: before15})), saved(ring(cpuStats{entries: 12}))), verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Overwritten: Exactly(5)}}, rules: []string{"sources-apart"},
		},
		{
			// It is of another ring than the counters.
			name: "a folder and its own snapshot", audit: func(tb testing.TB) *Audit {
				return inFolder(whole.with("snapshot", traceHeader(3, 50, 2)+events1(0, 3, 9e6)), "snapshot")(tb)
			}, verdict: Lossy, exit: 1,
			rows: map[int]row{Total: {Overwritten: Exactly(0), Kept: Exactly(862)}}, quiet: []string{"header-total-mismatch", "sources-apart"}, says: "snapshot: ",
		},
		{
			name: "misses of a probe in two phases count once", audit: several(
				saved(probed("p:kp/p1 f\n", "  p1    200    4\n").with(statsOf(0), cpuStats{entries: 3, now: before15}.String())), saved(probed("p:kp/p1 f\n", "  p1    300    6\n"))), verdict: Lossy, exit: 1,
			says: "1 probe missed 6 hits",
		},
		{
			name: "a text beside counters that were read while it went on", audit: several(saved(ring(cpuStats{entries: 5, overrun: 3}).on()), file("trace_pipe.txt", lostMark(0, 40)+events1(0, 900, 10e6))), verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Overwritten: AtLeast(40), Kept: Unknown(), Written: AtLeast(940), Delivered: Exactly(900)}}, quiet: []string{"pipe-versus-stats"},
		},
		{
			name: "a log of a BPF ring beside a folder", audit: several(saved(whole), file("a.jsonl", ringLines(ringEnd(3, 5, 2, 2, noMisses), 0, 1, 4))), verdict: Lossy, exit: 1,
			buffer: "bpf-ringbuf", rows: map[int]row{0: {Dropped: Exactly(2), Delivered: Exactly(3), Attempted: Exactly(5), Missing: Exactly(2)}}, says: "bpf-ringbuf: 2 events",
		},
		{
			// The second must not hide what the first lost.
			name: "two logs are two buffers", audit: several(file("a.jsonl", ringLines(ringEnd(3, 5, 2, 2, noMisses), 0, 1, 4)), file("b.jsonl", ringLines(ringEnd(3, 3, 0, 0, noMisses), 0, 1, 2))), verdict: Lossy, exit: 1,
			buffer: "bpf-ringbuf", rows: map[int]row{0: {Dropped: Exactly(2), Delivered: Exactly(3)}}, rules: []string{"sources-apart"},
		},
		{
			name: "and one without loss", audit: several(saved(whole), file("a.jsonl", ringLines(ringEnd(3, 3, 0, 0, noMisses), 0, 1, 2))), verdict: Complete, exit: 0,
			buffer: "bpf-ringbuf", rows: map[int]row{0: {Dropped: Exactly(0), Missing: Exactly(0)}},
		},
	})
}

func TestOneSource(t *testing.T) {
	runScenarios(t, []scenario{
		{
			name: "a BPF ring's log that is whole", audit: text("a.jsonl", ringLines(ringEnd(3, 3, 0, 0, noMisses), 0, 1, 2)), verdict: Confirmed, exit: 0,
			buffer: "bpf-ringbuf", rows: map[int]row{0: {Attempted: Exactly(3), Delivered: Exactly(3), Dropped: Exactly(0)}, Total: {Dropped: Exactly(0)}},
		},
		{
			name: "a BPF ring's log that is cut", audit: text("a.jsonl", ringLines("", 0, 1, 2)), verdict: Undetermined, exit: 3,
			buffer: "bpf-ringbuf", rows: map[int]row{Total: {Dropped: Unknown()}}, rules: []string{"ringlog-cut"},
		},
		{
			// Its reader lost two: the kernel counted no failure.
			name: "a BPF ring's log with a hole that the ring did not make", audit: text("a.jsonl", ringLines(ringEnd(3, 5, 0, 0, noMisses), 0, 1, 4)), verdict: Lossy, exit: 1,
			buffer: "bpf-ringbuf", rows: map[int]row{0: {Dropped: Exactly(0), Missing: Exactly(2)}}, rules: []string{"sequence-hole"},
		},
		{
			name: "skbx", audit: text("a.jsonl", skbxLines(skbxEnd(2, 7, `,"kernel_loss_by_cpu":[{"cpu":0,"reserve_failures":4},{"cpu":1,"reserve_failures":3}]`), 0, 1)), verdict: Lossy, exit: 1,
			buffer: "bpf-ringbuf", rows: map[int]row{0: {Dropped: Exactly(4)}, 1: {Dropped: Exactly(3)}, Total: {Dropped: Exactly(7)}},
		},
		{
			name: "skbx without loss", audit: text("a.jsonl", skbxLines(skbxEnd(2, 0, ""), 0, 1)), verdict: Complete, exit: 0, buffer: "bpf-ringbuf",
		},
		{
			// A line that is gone from the file, of those that its end line counts.
			name: "skbx with a hole", audit: text("a.jsonl", skbxLines(skbxEnd(3, 0, ""), 0, 2)), verdict: Lossy, exit: 1, buffer: "bpf-ringbuf", rules: []string{"sequence-hole"},
		},
		{
			name: "a kernel log with a dump", audit: text("dmesg.txt", "[    1.000000] Dumping ftrace buffer:\n[    1.000000] ---------------------------------\n"+
				"[    1.000000] CPU:0 [LOST 714 EVENTS]\n[    1.000000]    <...>-238       0d.h1.   12us : tracing_mark_write: seq=1\n[    1.000000]    <...>-238       0d.h1.   13us : tracing_mark_write: seq=2\n"+
				"[    1.000000] ---------------------------------\n[    1.000000] reboot: machine restart\n"), verdict: Lossy, exit: 1,
			buffer: "dmesg.txt", rows: map[int]row{0: {Overwritten: AtLeast(714), Delivered: Exactly(2), Written: AtLeast(716)}}, rules: []string{"reader-lost-events"},
		},
		{
			name: "a kernel log without one", audit: text("dmesg.txt", "[    1.000000] Linux version 6.1.0\n[    1.000000] reboot: machine restart\n"), verdict: Undetermined, exit: 4,
		},
		{
			name: "an offline CPU is in the counters", audit: only(ring(cpuStats{entries: 2}, cpuStats{entries: 7, overrun: 3}).with("cpu-online", "0\n", "trace", traceHeader(2, 2, 1)+events1(0, 2, 10e6))), verdict: Lossy, exit: 1,
			rows: map[int]row{1: {Kept: Exactly(7), Overwritten: Exactly(3)}, Total: {Kept: Exactly(9), Overwritten: Exactly(3)}}, quiet: []string{"header-total-mismatch", "lines-versus-entries"},
		},
		{
			name: "a change of the sub-buffer size", audit: only(ring(cpuStats{entries: 300}).with("buffer_subbuf_size_kb", "8\n", "trace", traceHeader(300, 300, 1))), verdict: Lossy, exit: 1,
			rows:  map[int]row{0: {Kept: Exactly(0), Overwritten: Exactly(300), Written: Exactly(300)}},
			rules: []string{"known-counter-bug"}, quiet: []string{"header-total-mismatch", "lines-versus-entries"},
		},
		{
			name: "a change of the sub-buffer size, and more events", audit: only(ring(cpuStats{entries: 400}).with("buffer_subbuf_size_kb", "8\n", "trace", traceHeader(400, 400, 1)+events1(0, 100, 10e6))), verdict: Undetermined, exit: 3,
			rows: map[int]row{0: {Kept: Between(100, 400), Overwritten: Between(0, 300), Written: Exactly(400)}}, rules: []string{"known-counter-bug"},
		},
		{
			// Old kernels put events that were read back into entries when the ring shrinks.
			name: "a shrink", audit: only(ring(cpuStats{entries: 5000, overrun: 40})), verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Kept: Between(0, 1530), Read: Between(3470, 5000), Written: Exactly(5040), Overwritten: Exactly(40)}}, rules: []string{"known-counter-bug"},
		},
		{
			name: "negative counters of a 64-bit kernel", audit: only(ring(cpuStats{entries: 3, overrun: -6})), verdict: Undetermined, exit: 3,
			rows: map[int]row{0: {Overwritten: Unknown(), Kept: Exactly(3)}}, rules: []string{"impossible-counter"},
		},
		{
			name: "negative counters of a 32-bit kernel", audit: only(ring(cpuStats{entries: 3, overrun: -6}).with("events/header_page", headerPage32)), verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Overwritten: Exactly(4294967290), Written: Exactly(4294967293)}},
		},
		{
			name: "a snapshot is a buffer of its own", audit: only(whole.with("snapshot", traceHeader(3, 50, 2)+events1(0, 3, 9e6))), verdict: Lossy, exit: 1,
			buffer: "snapshot", rows: map[int]row{Total: {Overwritten: AtLeast(47)}},
		},
		{
			name: "a snapshot does not lower its buffer", audit: only(whole.with("snapshot", traceHeader(3, 3, 2)+events1(0, 3, 9e6))), verdict: Complete, exit: 0,
			rows: map[int]row{Total: {Kept: Exactly(862), Overwritten: Exactly(0)}},
		},
		{
			name: "the counter clock", audit: only(ring(cpuStats{entries: 3, oldest: "17", now: "99"}).with("trace_clock", "local [counter]\n")), verdict: Complete, exit: 0,
			rows: map[int]row{0: {Kept: Exactly(3)}},
		},
		{
			name: "a last boot's buffer", audit: only(ring(cpuStats{entries: 7808, oldest: "    6.826482", now: "    6.312121"}).with("last_boot_info", "text delta:\t0\ndata delta:\t0\n")), verdict: Undetermined, exit: 3,
			rows: map[int]row{0: {Kept: AtLeast(7808), Overwritten: Unknown()}}, says: "loss history is gone",
		},
		{
			name: "a last boot's buffer that lost", audit: only(ring(cpuStats{entries: 7808, overrun: 5}).with("last_boot_info", "text delta:\t0\ndata delta:\t0\n")), verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Overwritten: AtLeast(5)}},
		},
		{
			name: "the published example", audit: only(ring(cpuStats{entries: 273, overrun: 44002, oldest: "    2.109723", now: "    2.116975"}).with("events/header_page", headerPage32)), verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Written: Exactly(44275), Kept: Exactly(273), Overwritten: Exactly(44002), Dropped: Exactly(0), CommitOverrun: Exactly(0)}},
		},
	})
}

// The arithmetic of the published example: 161 thrown away for one that was
// kept, 99.4 % of all, in a window of 0.007252 s; 8 kB prints 11 and costs 16384.
func TestPublishedExample(t *testing.T) {
	a := ring(cpuStats{entries: 273, overrun: 44002, oldest: "    2.109723", now: "    2.116975"}).with("events/header_page", headerPage32).audit(t)
	b := buffer(t, a, "top")
	w := b.CPUs[0].Window
	if w == nil || w.Oldest.String() != "2.109723" || w.End().String() != "2.116975" || w.End().Value-w.Oldest.Value != 7_252_000 {
		t.Errorf("window %+v, want 2.109723 to 2.116975, 7.252 ms", w)
	}
	s := b.CPUSizes[0]
	if s.Subbufs != Exactly(3) || s.UsableBytes != Exactly(12252) || s.MemoryBytes != Exactly(16384) || b.Geometry.LongBytes != 4 {
		t.Errorf("size %+v, geometry %+v; want 3 sub-buffers of 4084 bytes and 16384 bytes of memory", s, b.Geometry)
	}
	g, err := b.Geometry.Grant(8)
	if err != nil || g.SizeKB != 11 || g.MemoryBytes != 16384 {
		t.Errorf("a request of 8 kB is granted %+v, %v", g, err)
	}
	if lost, of := b.CountedLoss(0), b.CountedAttempts(0); lost != Exactly(44002) || of != Exactly(44275) || lost.Lo/273 != 161 || lost.Lo*1000/of.Lo != 993 {
		t.Errorf("lost %v of %v", lost, of)
	}
}

// An independent count in a bundle.
func TestWitness(t *testing.T) {
	owned := map[string]string{"instance": "ringaudit"}
	with := func(t tree, w string) func(testing.TB) *Audit {
		return bundled(t.with("witness.json", w), owned, Options{})
	}
	runScenarios(t, []scenario{
		{name: "equal", audit: with(ring(cpuStats{entries: 100}), witnessJSON("equal", 100, 100)), verdict: Confirmed, exit: 0, rows: map[int]row{0: {Uncounted: Exactly(0)}}},
		{name: "more than the ring accounts for", audit: with(ring(cpuStats{entries: 100}), witnessJSON("equal", 103, 103)), verdict: Lossy, exit: 1, rows: map[int]row{0: {Uncounted: Exactly(3)}}, rules: []string{"uncounted-loss"}},
		{name: "bounds that hold", audit: with(ring(cpuStats{entries: 100}), witnessJSON("bounds", 98, 105)), verdict: Complete, exit: 0, rows: map[int]row{0: {Uncounted: Between(0, 5), Attempted: Between(100, 105)}}},
		{name: "bounds that prove loss", audit: with(ring(cpuStats{entries: 100}), witnessJSON("bounds", 102, 105)), verdict: Lossy, exit: 1, rows: map[int]row{0: {Uncounted: Between(2, 5)}}, rules: []string{"uncounted-loss"}},
		{name: "a contradiction", audit: with(ring(cpuStats{entries: 100}), witnessJSON("equal", 90, 90)), verdict: Undetermined, exit: 1, rows: map[int]row{0: {Written: Exactly(100)}}, rules: []string{"ebpf-versus-written"}},
		{name: "of another buffer's events", audit: with(ring(cpuStats{entries: 100}), witnessJSON("alone", 5, 5)), verdict: Complete, exit: 0, quiet: []string{"ebpf-versus-written"}},
		{name: "not of its form", audit: with(ring(cpuStats{entries: 100}), `{"schema":"other"}`), verdict: Undetermined, exit: 3, rules: []string{"damaged-input"}},
		{name: "with an empty interval", audit: with(ring(cpuStats{entries: 100}), witnessJSON("bounds", 9, 5)), verdict: Undetermined, exit: 3, rules: []string{"damaged-input"}},
		{name: "of a CPU that has no counters", audit: with(ring(cpuStats{entries: 100}), strings.NewReplacer(`"cpus":[`, `"cpus":[{"cpu":3,"inner":40,"outer":40},`, `"total":{"inner":100,"outer":100}`, `"total":{"inner":140,"outer":140}`).Replace(witnessJSON("equal", 100, 100))), verdict: Undetermined, exit: 3, rows: map[int]row{0: {Kept: Exactly(100)}}},
	})
	a := with(ring(cpuStats{entries: 100}), witnessJSON("equal", 100, 100))(t)
	for _, s := range a.BlindSpots {
		if s.ID != "kprobe-misses" {
			t.Errorf("blind spot %s of a confirmed bundle", s.ID)
		}
	}
}

// Raw pages in a bundle are what the capture delivered, an empty file as well.
func TestBundledPages(t *testing.T) {
	empty := ring(cpuStats{read: 20}, cpuStats{read: 7}).with("per_cpu/cpu0/trace_pipe_raw", rawPage(10e9, 20, 0, 0), "per_cpu/cpu1/trace_pipe_raw", "")
	runScenarios(t, []scenario{
		{
			name: "all of them", audit: bundled(ring(cpuStats{read: 20}, cpuStats{}).with("per_cpu/cpu0/trace_pipe_raw", rawPage(10e9, 20, 0, 0), "per_cpu/cpu1/trace_pipe_raw", ""), nil, Options{}), verdict: Complete, exit: 0,
			rows: map[int]row{0: {Delivered: Exactly(20)}, 1: {Delivered: Exactly(0)}, Total: {Delivered: Exactly(20)}},
		},
		{name: "a CPU's are not in it", audit: bundled(empty, nil, Options{}), verdict: Lossy, exit: 1, rows: map[int]row{1: {Missing: AtLeast(7)}}, rules: []string{"recorder-lost"}},
		{
			// The pages of CPU 0 alone: what they lack counts, though the total does not apply.
			name: "a CPU's alone", audit: inFolder(ring(cpuStats{read: 25}, cpuStats{read: 7}).with("per_cpu/cpu0/trace_pipe_raw", rawPage(10e9, 20, 0, 0)), "per_cpu/cpu0/trace_pipe_raw"), verdict: Lossy, exit: 1,
			rows: map[int]row{0: {Missing: AtLeast(5)}}, says: "the capture lacks at least 5 events",
		},
	})
}

// Bad input ends with its own message, never with a panic or a clean verdict.
func TestBadInput(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name, file, text string
		exit             int
		says             string
	}{
		{"empty", "trace", "", 4, "the file is empty"},
		{"blank", "trace", "\n\n", 4, "expected"},
		{"a long line", "notes.txt", long, 4, "unknown format"},
		{"binary", "x.bin", strings.Repeat("\x00\x01\x02\xff", 5000), 4, "expected"},
		{"JSON that is no log", "a.json", "{\"a\":1}\n", 4, "no ring log"},
		{"a cut stats file", "stats", "entries: 5\nover", 3, "cut off"},
		{"a text of a folder's name", "per_cpu/cpu0/stats", "what is this\n", 4, "expected"},
	} {
		a := run(t, textFile(t, c.file, c.text))
		if a.Exit != c.exit || a.Verdict == Complete || a.Verdict == Confirmed {
			t.Errorf("%s: %s, exit %d, want %d", c.name, a.Verdict, a.Exit, c.exit)
		}
		said := ""
		for _, f := range a.Findings {
			said += f.Message + "\n"
		}
		if !strings.Contains(said, c.says) {
			t.Errorf("%s: findings %q say nothing of %q", c.name, said, c.says)
		}
	}
	for _, p := range []string{filepath.Join(t.TempDir(), "nothing"), t.TempDir()} {
		if a := run(t, p); a.Exit != 4 || len(a.Findings) == 0 {
			t.Errorf("%s: exit %d with %d findings, want 4 and a finding", p, a.Exit, len(a.Findings))
		}
	}
}

// Standard input is a text like any other.
func TestReader(t *testing.T) {
	for _, c := range []struct {
		text    string
		verdict Verdict
		exit    int
	}{
		{lostMark(0, 3) + events1(0, 2, 10e6), Lossy, 1},
		{cpuStats{entries: 3}.String(), Complete, 0},
		{"", Undetermined, 4},
		{"\x17\x08\x44tracing6\x00", Undetermined, 4},
	} {
		a := runWith(t, Options{Sources: []Input{{Path: "-", Reader: io.Reader(strings.NewReader(c.text))}}})
		if a.Verdict != c.verdict || a.Exit != c.exit {
			t.Errorf("%q: %s, exit %d (%s), want %s and %d", c.text[:min(len(c.text), 20)], a.Verdict, a.Exit, a.Reason, c.verdict, c.exit)
		}
	}
}

// A text whose path says a CPU is that CPU's alone only if it shows no other.
func TestPathOfText(t *testing.T) {
	a := run(t, textFile(t, "cpu1/trace_pipe.txt", events1(0, 2, 10e6)+events1(1, 2, 11e6)))
	b := a.Buffers[0]
	if b.Captures[0].CPU != Total || b.Ledger.Count(Total, Delivered) != Exactly(4) {
		t.Errorf("a text of two CPUs in a folder cpu1: of cpu %d, delivered %v", b.Captures[0].CPU, b.Ledger.Count(Total, Delivered))
	}
	a = run(t, textFile(t, "per_cpu/cpu1/trace_pipe", events1(1, 2, 11e6)))
	if b := a.Buffers[0]; b.Captures[0].CPU != 1 {
		t.Errorf("per_cpu/cpu1/trace_pipe: of cpu %d", b.Captures[0].CPU)
	}
}

// More marks than are listed: the sums are exact, and a hole that is not listed
// is not taken for none.
func TestManyMarks(t *testing.T) {
	var text strings.Builder
	const n = 1<<16 + 10
	for i := range n {
		us := 10_000_000 + i*10
		fmt.Fprintf(&text, "CPU:0 [LOST 2 EVENTS]\n            prog-1234    [000] .....  %4d.%06d: x: y\n", us/1e6, us%1e6)
	}
	a := run(t, textFile(t, "trace_pipe.txt", text.String()))
	b := a.Buffers[0]
	if got := b.Ledger.Count(0, Overwritten); got != AtLeast(2*n) {
		t.Errorf("overwritten %v, want at least %d", got, 2*n)
	}
	if c := b.CPUs[0]; uint64(len(c.Holes))+c.HolesOmitted != n {
		t.Errorf("%d holes and %d omitted, want %d", len(c.Holes), c.HolesOmitted, n)
	}
}

// A capture of BPF programs alone asked nothing of its buffer: that it recorded
// nothing is no finding, and that of any other empty buffer is.
func TestNothingAskedOfTheBuffer(t *testing.T) {
	for mode, want := range map[string]int{"alone": 0, "equal": 1} {
		a := bundled(ring(cpuStats{}).with("witness.json", witnessJSON(mode, 0, 0)), nil, Options{})(t)
		if got := findings(a, "nothing-recorded"); len(got) != want {
			t.Errorf("witness %s: %d findings nothing-recorded, want %d: %v", mode, len(got), want, got)
		}
	}
}
