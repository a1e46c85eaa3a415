package ringlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

func ptr(n uint64) *uint64 { return &n }

// logOf is a log of two probes on two CPUs whose records are given as cpu:seq.
func logOf(t testing.TB, end *ringlog.End, records ...string) string {
	t.Helper()
	var buf bytes.Buffer
	w := ringlog.NewWriter(&buf)
	err := w.Begin(ringlog.Begin{
		Tool: "ringaudit test", Kernel: "6.1.0", CPUs: 2, Clock: "monotonic", RingBytes: 4096,
		Probes: []ringlog.Probe{{Name: "a:b", Kind: ringlog.KindTracepoint}, {Name: "c:d", Kind: ringlog.KindTracepoint}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		var cpu int
		var seq uint64
		if _, err := fmt.Sscanf(r, "%d:%d", &cpu, &seq); err != nil {
			t.Fatal(err)
		}
		if err := w.Record(&ringlog.Record{Seq: seq, Time: 1000 + uint64(i)*10, CPU: cpu, Probe: i % 2, PID: 7, TGID: 7}); err != nil {
			t.Fatal(err)
		}
	}
	if end != nil {
		if err := w.End(*end); err != nil {
			t.Fatal(err)
		}
	} else if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func endOf(asked0, failed0, asked1, failed1 uint64) *ringlog.End {
	total := failed0 + failed1
	return &ringlog.End{Stop: "duration", Witness: ringlog.Witness{
		Mode: ringlog.ModeBounds, PerCPU: "exact",
		CPUs: []ringlog.CPUCount{
			{CPU: 0, Bounds: ringlog.Bounds{Inner: asked0, Outer: &asked0}, Asked: &asked0, ReserveFailures: &failed0, Unattributed: ptr(0)},
			{CPU: 1, Bounds: ringlog.Bounds{Inner: asked1, Outer: &asked1}, Asked: &asked1, ReserveFailures: &failed1, Unattributed: ptr(0)},
		},
		Probes:          []ringlog.ProbeHit{{Probe: ringlog.Probe{Name: "a:b"}, Hits: 3, ReserveFailures: ptr(total)}, {Probe: ringlog.Probe{Name: "c:d"}, Hits: 2, ReserveFailures: ptr(0)}},
		ReserveFailures: &total, Unattributed: ptr(0), RecursionMisses: ptr(0),
		Reader: &ringlog.Reader{},
	}}
}

func read(t testing.TB, text string, o ringlog.Options) *ringlog.Summary {
	t.Helper()
	s, err := ringlog.Read(strings.NewReader(text), "log", o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHoles(t *testing.T) {
	tests := []struct {
		name    string
		records []string
		asked   uint64 // of CPU 0
		missing uint64
		holes   []string // seq+events
		dup     uint64
	}{
		{"none", []string{"0:0", "0:1", "0:2"}, 3, 0, nil, 0},
		{"one in the middle", []string{"0:0", "0:4"}, 5, 3, []string{"1+3"}, 0},
		{"at the begin", []string{"0:2", "0:3"}, 4, 2, []string{"0+2"}, 0},
		{"at the end, known from what was asked for", []string{"0:0", "0:1"}, 10, 8, []string{"2+8"}, 0},
		{"all", nil, 5, 5, []string{"0+5"}, 0},
		{"interrupted: the later number comes first", []string{"0:0", "0:2", "0:1", "0:3"}, 4, 0, nil, 0},
		{"a late one splits a hole", []string{"0:0", "0:6", "0:3"}, 7, 4, []string{"1+2", "4+2"}, 0},
		{"a late one at a hole's begin", []string{"0:0", "0:4", "0:1"}, 5, 2, []string{"2+2"}, 0},
		{"a late one at a hole's end", []string{"0:0", "0:4", "0:3"}, 5, 2, []string{"1+2"}, 0},
		{"twice the same", []string{"0:0", "0:1", "0:1"}, 2, 0, nil, 1},
		{"two holes", []string{"0:1", "0:3"}, 4, 2, []string{"0+1", "2+1"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := read(t, logOf(t, endOf(tt.asked, tt.missing, 0, 0), tt.records...), ringlog.Options{})
			c := s.CPUs[0]
			var holes []string
			for _, h := range c.Holes {
				holes = append(holes, fmt.Sprintf("%d+%d", h.Seq, h.Events))
			}
			if c.Missing != tt.missing || c.Duplicates != tt.dup || !c.TailKnown {
				t.Errorf("missing %d, duplicates %d, tail known %v; want %d, %d, true", c.Missing, c.Duplicates, c.TailKnown, tt.missing, tt.dup)
			}
			if d := cmp.Diff(tt.holes, holes); d != "" {
				t.Errorf("holes (-want +got):\n%s", d)
			}
			if c.Records != uint64(len(tt.records)) || s.Stated.V != uint64(len(tt.records)) {
				t.Errorf("records %d, stated %d, want %d", c.Records, s.Stated.V, len(tt.records))
			}
		})
	}
}

// A hole lies between the records around it, in time too.
func TestHoleTimes(t *testing.T) {
	s := read(t, logOf(t, endOf(9, 6, 1, 0), "0:0", "1:0", "0:5", "0:6"), ringlog.Options{})
	h := s.CPUs[0].Holes
	if len(h) != 2 {
		t.Fatalf("%d holes, want 2: %+v", len(h), h)
	}
	// Record i of logOf has the time 1000+10i, on line 2+i.
	if h[0].After.V != 1000 || h[0].Before.V != 1020 || h[0].Line != 4 {
		t.Errorf("first hole %+v, want after 1000, before 1020, line 4", h[0])
	}
	if h[1].After.V != 1030 || h[1].Before.OK || h[1].Line != 6 {
		t.Errorf("last hole %+v, want after 1030, no before, line 6", h[1])
	}
	if s.First != 1000 || s.Last != 1030 {
		t.Errorf("times %d to %d, want 1000 to 1030", s.First, s.Last)
	}
}

// More holes than are kept: the sum stays exact.
func TestManyHoles(t *testing.T) {
	var records []string
	const n = 5000
	for i := range n {
		records = append(records, fmt.Sprintf("0:%d", 2*i+1)) // every other one is gone
	}
	s := read(t, logOf(t, endOf(2*n, n, 0, 0), records...), ringlog.Options{MaxHoles: 10})
	c := s.CPUs[0]
	if c.Missing != n || len(c.Holes) != 10 || c.HolesOmitted != n-10 {
		t.Errorf("missing %d, %d holes and %d omitted; want %d, 10, %d", c.Missing, len(c.Holes), c.HolesOmitted, n, n-10)
	}
}

func TestEndLine(t *testing.T) {
	s := read(t, logOf(t, endOf(4, 1, 2, 0), "0:0", "1:0", "0:1", "1:1", "0:3"), ringlog.Options{})
	if s.Cut || s.EndLine != 7 || s.Stop != "duration" {
		t.Errorf("cut %v, end line %d, stop %q", s.Cut, s.EndLine, s.Stop)
	}
	if !s.ReserveFailures.OK || s.ReserveFailures.V != 1 || s.ReserveFailures.Line != 7 {
		t.Errorf("reserve failures %+v, want 1 on line 7", s.ReserveFailures)
	}
	if s.SumByCPU != 1 || s.SumByProbe != 1 || !s.ByCPU || !s.ByProbe {
		t.Errorf("sums %d and %d", s.SumByCPU, s.SumByProbe)
	}
	if s.Probes[0].Records != 3 || s.Probes[1].Records != 2 || s.Probes[0].Hits.V != 3 {
		t.Errorf("probes %+v", s.Probes)
	}
	if s.Witness == nil || s.Witness.Mode != ringlog.ModeBounds {
		t.Errorf("witness %+v", s.Witness)
	}
	if len(s.Problems) != 0 {
		t.Errorf("problems: %v", s.Problems)
	}
}

// Counts only: what was not counted is absent, not zero.
func TestAbsentIsNotZero(t *testing.T) {
	e := &ringlog.End{Witness: ringlog.Witness{Mode: ringlog.ModeAlone, CPUs: []ringlog.CPUCount{{CPU: 0}}}}
	s := read(t, logOf(t, e), ringlog.Options{})
	for name, f := range map[string]ringlog.Number{
		"reserve failures": s.ReserveFailures, "unattributed": s.Unattributed, "recursion misses": s.RecursionMisses,
		"undecodable": s.Undecodable, "not written": s.NotWritten, "asked": s.CPUs[0].Asked,
	} {
		if f.OK {
			t.Errorf("%s is %d, want absent", name, f.V)
		}
	}
	if s.ByCPU || s.ByProbe || s.CPUs[0].TailKnown {
		t.Error("a breakdown that is not there counts as there")
	}
}

func TestCut(t *testing.T) {
	whole := logOf(t, endOf(3, 0, 0, 0), "0:0", "0:1", "0:2")
	for cut := range len(whole) {
		s, err := ringlog.Read(strings.NewReader(whole[:cut]), "log", ringlog.Options{})
		if err != nil {
			if s != nil || !errors.Is(err, ringlog.ErrNotRingLog) && !strings.Contains(err.Error(), "begin line") {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			continue
		}
		if !s.Cut && cut < len(whole)-1 { // without its newline the last line is whole
			t.Fatalf("cut at %d of %d: not seen as cut", cut, len(whole))
		}
		if s.Records > 3 {
			t.Fatalf("cut at %d: %d records", cut, s.Records)
		}
	}
}

func TestBadLines(t *testing.T) {
	whole := logOf(t, endOf(2, 0, 0, 0), "0:0", "0:1")
	lines := strings.SplitAfter(whole, "\n")
	with := func(line string) string { return lines[0] + lines[1] + line + "\n" + strings.Join(lines[2:], "") }
	tests := []struct{ name, text, expected string }{
		{"not JSON", with("hello"), `log:3: found "hello", expected a JSON object`},
		{"no number", with(`{"type":"record","seq":1}`), "seq, time, cpu or probe is missing"},
		{"a CPU of 70000", with(`{"type":"record","seq":0,"time":1,"cpu":70000,"probe":0,"pid":1,"tgid":1}`), "a CPU number"},
		{"a probe that is not there", with(`{"type":"record","seq":0,"time":1,"cpu":0,"probe":9,"pid":1,"tgid":1}`), "one of the 2 probes"},
		{"a number of 30 digits", with(`{"type":"record","seq":123456789012345678901234567890,"time":1,"cpu":0,"probe":0,"pid":1,"tgid":1}`), "record line"},
		{"a negative number", with(`{"type":"record","seq":-1,"time":1,"cpu":0,"probe":0,"pid":1,"tgid":1}`), "record line"},
		{"a second begin", with(strings.TrimSpace(lines[0])), "second begin line"},
		{"of a later version", with(`{"type":"mark","at":1}`), "later version"},
		{"behind the end", whole + "{}\n", "nothing behind the end line"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := read(t, tt.text, ringlog.Options{})
			if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Error(), tt.expected) {
				t.Errorf("problems %v, want one with %q", s.Problems, tt.expected)
			}
			if s.Records != 2 || s.Cut {
				t.Errorf("%d records, cut %v: the rest of the log was not read", s.Records, s.Cut)
			}
		})
	}
}

// Any spelling of a record is read.
func TestOtherSpelling(t *testing.T) {
	whole := logOf(t, endOf(1, 0, 0, 0), "0:0")
	plain := strings.SplitAfter(whole, "\n")[1]
	for _, line := range []string{
		`{"seq":0,"time":1000,"cpu":0,"probe":0,"pid":7,"tgid":7,"type":"record"}`,
		`  { "type" : "record", "seq": 0, "time": 1000, "cpu": 0, "probe": 0, "pid": 7, "tgid": 7, "extra": [1] } `,
		strings.TrimSpace(plain) + "\r",
	} {
		s := read(t, strings.Replace(whole, strings.TrimSpace(plain), line, 1), ringlog.Options{})
		if s.Records != 1 || len(s.Problems) != 0 {
			t.Errorf("%q: %d records, problems %v", line, s.Records, s.Problems)
		}
	}
}

func TestNoRingLog(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# tracer: nop\n", "{}\n", `{"type":"begin","schema":"ringaudit.ringlog/v2"}` + "\n", "\x00\x01\x02"} {
		if s, err := ringlog.Read(strings.NewReader(text), "x", ringlog.Options{}); !errors.Is(err, ringlog.ErrNotRingLog) && !strings.Contains(fmt.Sprint(err), "ring log") || s != nil {
			t.Errorf("%q: %v, %v; want ErrNotRingLog", text, s, err)
		}
		if ringlog.Sniff([]byte(text)) {
			t.Errorf("%q sniffed as a ring log", text)
		}
	}
	if !ringlog.Sniff([]byte(logOf(t, nil))) {
		t.Error("a log is not sniffed as one")
	}
}

// A line without an end in sight costs no memory and one problem.
func TestLongLine(t *testing.T) {
	whole := logOf(t, endOf(1, 0, 0, 0), "0:0")
	first, rest, _ := strings.Cut(whole, "\n")
	r := io.MultiReader(strings.NewReader(first+"\n"), io.LimitReader(zeros{}, 40<<20), strings.NewReader("\n"+rest))
	s, err := ringlog.Read(r, "log", ringlog.Options{})
	if err != nil || s.Records != 1 || len(s.Problems) != 1 {
		t.Errorf("%v, %d records, problems %v", err, s.Records, s.Problems)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestWriterOrder(t *testing.T) {
	w := ringlog.NewWriter(io.Discard)
	if w.Record(&ringlog.Record{}) == nil || w.End(ringlog.End{}) == nil {
		t.Error("a record or an end before the begin is taken")
	}
	if err := w.Begin(ringlog.Begin{}); err != nil {
		t.Fatal(err)
	}
	if w.Begin(ringlog.Begin{}) == nil {
		t.Error("a second begin is taken")
	}
	if err := w.End(ringlog.End{}); err != nil {
		t.Fatal(err)
	}
	if w.Record(&ringlog.Record{}) == nil || w.End(ringlog.End{}) == nil {
		t.Error("something behind the end is taken")
	}
}

func TestWitnessFile(t *testing.T) {
	w := endOf(4, 1, 2, 0).Witness
	var buf bytes.Buffer
	if err := w.Encode(&buf); err != nil {
		t.Fatal(err)
	}
	got, err := ringlog.DecodeWitness(bytes.NewReader(buf.Bytes()), "witness.json")
	if err != nil {
		t.Fatal(err)
	}
	w.Schema = ringlog.WitnessSchema
	if d := cmp.Diff(&w, got); d != "" {
		t.Errorf("round trip (-want +got):\n%s", d)
	}
	for _, bad := range []struct{ from, to, says string }{
		{`"mode": "bounds"`, `"mode": "guess"`, `mode is "guess"`},
		{`"schema": "ringaudit.witness/v1"`, `"schema": "x"`, `schema is "x"`},
		{`"cpu": 1,`, `"cpu": 0,`, "cpu 0 is there twice"},
		{`"cpu": 1,`, `"cpu": -1,`, "expected a CPU number"},
		{`"inner": 4,`, `"inner": 40,`, "outer 4 is less than inner 40"},
		{`"inner": 4,`, `"inner": "four",`, "column"},
	} {
		text := strings.Replace(buf.String(), bad.from, bad.to, 1)
		if text == buf.String() {
			t.Fatalf("%q is not in the file:\n%s", bad.from, text)
		}
		_, err := ringlog.DecodeWitness(strings.NewReader(text), "witness.json")
		if err == nil || !strings.Contains(err.Error(), bad.says) || !strings.HasPrefix(err.Error(), "witness.json: ") {
			t.Errorf("%s: %v, want %q", bad.to, err, bad.says)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	var records []string
	for i := range 100000 {
		records = append(records, fmt.Sprintf("0:%d", i))
	}
	text := logOf(b, nil, records...)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if s, err := ringlog.Read(strings.NewReader(text), "log", ringlog.Options{}); err != nil || s.Records != 100000 {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteRecord(b *testing.B) {
	w := ringlog.NewWriter(io.Discard)
	if err := w.Begin(ringlog.Begin{}); err != nil {
		b.Fatal(err)
	}
	r := ringlog.Record{Seq: 123456789, Time: 1234567890123, CPU: 13, PID: 12345, TGID: 12345}
	for b.Loop() {
		if err := w.Record(&r); err != nil {
			b.Fatal(err)
		}
	}
}
