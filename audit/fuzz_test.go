package audit

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fuzzNames are names under which bytes are audited: by content, and as far as a
// name decides, by name.
var fuzzNames = []string{
	"per_cpu/cpu0/stats", "trace", "trace_pipe.txt", "dmesg.txt", "per_cpu/cpu1/trace_pipe_raw", "trace.dat", "trace.dat.cpu0", "log.jsonl", "bundle.tar", "-",
}

// fuzzKinds are forced kinds; the first is none.
var fuzzKinds = []Kind{KindAuto, KindStats, KindTrace, KindTracePipe, KindDmesg, KindPages, KindTraceDat, KindRinglog, KindBundle, KindTracefs}

// FuzzAudit audits any bytes as each kind of file.
func FuzzAudit(f *testing.F) {
	seeds := []string{
		"", "\n", "entries: 1\n", cpuStats{entries: 273, overrun: 44002}.String(), cpuStats{entries: -1, overrun: -6}.String(),
		strings.Repeat(cpuStats{entries: 1}.String(), 2),
		traceHeader(3, 43, 1) + events1(0, 3, 10e6), traceHeader(9, 5, 1), "# tracer: nop\n#\n",
		lostMark(0, 714) + events1(0, 3, 10e6), "CPU:0 [LOST EVENTS]\n" + events1(0, 1, 10e6), "CPU:3 [LOST 18446744071562067968 EVENTS]\n" + events1(3, 1, 10e6),
		lostMark(0, 5) + events1(1, 1, 10e6), events1(0, 2, 10e6) + events1(0, 2, 9e6),
		"[    1.000000] Dumping ftrace buffer:\n[    1.000000] ---------------------------------\n[    1.000000] CPU:0 [LOST 714 EVENTS]\n[    1.000000]    <...>-238       0d.h1.   12us : tracing_mark_write: seq=1\n",
		rawPage(10e9, 20, pageMissed|pageStored, 8), rawPage(10e9, 250, pageMissed, 0)[:4000],
		ringLines(ringEnd(3, 5, 2, 2, noMisses), 0, 1, 4), ringLines("", 0, 9), skbxLines(skbxEnd(2, 7, ""), 0, 3), `{"type":"begin","schema":"ringaudit.ringlog/v1"}`,
		"\x17\x08\x44tracing6\x00\x00\x08\x00\x10\x00\x00", "\x17\x08\x44tracing7\x00\x00\x08\x00\x10\x00\x00",
		"\x28\xb5\x2f\xfd\x04\x00\x01\x00\x00\x99\xe9\xd8\x51",
	}
	for i, s := range seeds {
		f.Add([]byte(s), uint8(i), uint8(0), uint8(i))
		f.Add([]byte(s), uint8(1), uint8(i), uint8(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, name, kind, beside uint8) {
		opt := Options{}
		in := Input{Path: fuzzNames[int(name)%len(fuzzNames)], Type: fuzzKinds[int(kind)%len(fuzzKinds)]}
		if in.Path == "-" {
			in.Reader = io.Reader(strings.NewReader(string(data)))
		} else {
			in.Path = filepath.Join(t.TempDir(), filepath.FromSlash(in.Path))
			if err := os.MkdirAll(filepath.Dir(in.Path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(in.Path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		opt.Sources = []Input{in}
		alone := fuzzRun(t, opt)
		if len(alone.Buffers) > 0 && (alone.Verdict == Complete || alone.Verdict == Confirmed) {
			for _, b := range alone.Buffers {
				if !b.HasCounters() && b.ring == nil && b.Kind == BufferRing {
					t.Errorf("%s without a counter of refused events: %s", alone.Verdict, alone.Reason)
				}
			}
		}
		switch beside % 4 {
		case 0:
			opt.Sources = append(opt.Sources, ring(cpuStats{entries: 3, overrun: 40, read: 2}).input())
		case 1:
			opt.Sources = append(opt.Sources, ring(cpuStats{entries: 3}).on().input())
			opt.FlightRecorder = true
		case 2:
			before := ring(cpuStats{entries: 3, now: before15}).input()
			opt.Before = &before
			opt.Sources = append(opt.Sources, ring(cpuStats{entries: 9}).input())
		case 3:
			opt.Attempted = map[int]uint64{Total: 7}
		}
		if in.Path == "-" {
			opt.Sources[0].Reader = strings.NewReader(string(data))
		}
		fuzzRun(t, opt)
	})
}

// fuzzRun audits, and holds what is true of any result.
func fuzzRun(t *testing.T, opt Options) *Audit {
	t.Helper()
	a, err := Run(context.Background(), opt)
	if (err == nil) == (a == nil) {
		t.Fatalf("a result and an error, or neither: %v", err)
	}
	if err != nil {
		return &Audit{}
	}
	switch a.Verdict {
	case Lossy, Complete, Confirmed, Undetermined:
	default:
		t.Errorf("verdict %q", a.Verdict)
	}
	if a.Exit != 0 && a.Exit != 1 && a.Exit != 3 && a.Exit != 4 {
		t.Errorf("exit %d", a.Exit)
	}
	if a.Verdict == Lossy && a.Exit != 1 {
		t.Errorf("lossy (%s), and exit %d", a.Reason, a.Exit)
	}
	if a.Verdict == Undetermined && a.Exit == 0 {
		t.Errorf("undetermined (%s), and exit 0", a.Reason)
	}
	for _, b := range a.Buffers {
		for _, cpu := range append([]int{Total}, b.Ledger.CPUs()...) {
			for q := range numQuantities {
				if c := b.Ledger.Count(cpu, q); !c.Open && c.Lo > c.Hi {
					t.Errorf("%s cpu %d: %v is %d to %d", b.Name, cpu, q, c.Lo, c.Hi)
				}
			}
			if c := b.CPUs[cpu]; cpu != Total && (c == nil || c.State == "") {
				t.Errorf("%s: no state of cpu %d", b.Name, cpu)
			} else if cpu != Total && c.Window != nil && c.Window.End().Unit == c.Window.Oldest.Unit && c.Window.End().Value < c.Window.Oldest.Value {
				t.Errorf("%s cpu %d: a window that ends before it begins", b.Name, cpu)
			}
		}
		if b.Reason == "" {
			t.Errorf("%s is %s without a reason", b.Name, b.Verdict)
		}
	}
	for _, f := range a.Findings {
		if RuleByID(f.Rule) == nil || f.Message == "" || len(f.Evidence) == 0 || f.Severity == "" {
			t.Errorf("finding %+v", f)
		}
	}
	return a
}

// FuzzFolder audits folders of any numbers, and texts beside them.
func FuzzFolder(f *testing.F) {
	f.Add(int64(273), int64(44002), int64(0), int64(0), int64(0), uint16(273), uint16(3), int64(0), uint8(0))
	f.Add(int64(-1), int64(-6), int64(1), int64(0), int64(0), uint16(0), uint16(0), int64(0), uint8(1))
	f.Add(int64(300), int64(0), int64(0), int64(0), int64(0), uint16(300), uint16(0), int64(0), uint8(2))
	f.Add(int64(400), int64(0), int64(0), int64(0), int64(0), uint16(400), uint16(100), int64(0), uint8(2))
	f.Add(int64(120), int64(0), int64(0), int64(0), int64(5), uint16(120), uint16(120), int64(100), uint8(4))
	f.Fuzz(func(t *testing.T, entries, overrun, commit, dropped, read int64, inHeader, lines uint16, before int64, how uint8) {
		s := cpuStats{entries: entries, overrun: overrun, commit: commit, dropped: dropped, read: read}
		tr := ring(s, cpuStats{entries: 1}).with("trace", traceHeader(int(inHeader), int(inHeader)+int(lines%7), 2)+events1(0, int(lines%64), 10e6)+events1(1, 1, 11e6))
		if how&1 > 0 {
			tr = tr.with("events/header_page", headerPage32)
		}
		if how&2 > 0 {
			tr = tr.with("buffer_subbuf_size_kb", "8\n")
		}
		if how&8 > 0 {
			tr = tr.on()
		}
		if how&16 > 0 {
			tr = tr.without("trace")
		}
		opt := Options{Sources: []Input{tr.input()}, FlightRecorder: how&32 > 0}
		if how&4 > 0 {
			in := ring(cpuStats{entries: before, overrun: before / 2, now: before15}, cpuStats{entries: 1, now: before15}).input()
			opt.Before = &in
		}
		a := fuzzRun(t, opt)
		// Without a text or an earlier sample the answer is in the five numbers.
		plain := how&(1|4|16|32) == 16 && min(entries, overrun, commit, dropped, read) >= 0 && entries <= 1530 && entries < 1<<60 && max(overrun, commit, dropped, read) < 1<<60
		if !plain {
			return
		}
		b := buffer(t, a, "top")
		lost := uint64(overrun) + uint64(commit) + uint64(dropped)
		if (a.Verdict == Lossy) != (lost > 0) || a.Verdict == Undetermined || a.Verdict == Confirmed {
			t.Errorf("%s (%s), and %d were lost", a.Verdict, a.Reason, lost)
		}
		if got := b.Ledger.Count(0, Written); got != Exactly(uint64(entries)+uint64(overrun)+uint64(read)) {
			t.Errorf("written %v", got)
		}
		if got := b.Ledger.Count(Total, Lost); got != AtLeast(lost) {
			t.Errorf("lost %v, want at least %d", got, lost)
		}
	})
}
