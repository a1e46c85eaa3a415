package tracefs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

const head61 = `# tracer: nop
#
# entries-in-buffer/entries-written: 4/16   #P:2
#
#                                _-----=> irqs-off/BH-disabled
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
`

const body61 = `          <idle>-0       [001] d.h1.   391.751497: lapic_next_event <-clockevents_program_event
##### CPU 0 buffer started ####
              ls-965     [000] .....   391.751500: sys_newfstatat -> 0x0
     ev-12 [003]-31090   [000] d..1.   391.751501: tracing_mark_write: hello
          <idle>-0       [001] ..s1.   391.751540: call_timer_fn <-__run_timers
`

func summarize(t *testing.T, in string) *TextSummary {
	t.Helper()
	s, err := SummarizeText(strings.NewReader(in), "trace", TextOptions{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s
}

func TestSummarizeTrace(t *testing.T) {
	s := summarize(t, head61+body61)
	if s.Kind != KindTrace || len(s.Sections) != 1 || s.Lines != 12 || s.Bytes != int64(len(head61+body61)) || s.Cut != nil || s.Preamble != 0 {
		t.Fatalf("%+v", s)
	}
	sec := s.Sections[0]
	if h := sec.Header; h == nil || h.InBuffer != 4 || h.Written != 16 || h.Online != 2 || h.Line != 3 {
		t.Errorf("header %+v", h)
	}
	if sec.Tracer != "nop" || sec.Events != 4 || sec.Annotations != 1 || sec.Continuation+sec.Unmatched+sec.Stack != 0 || !sec.LinesAreEvents || sec.RelativeTime {
		t.Errorf("%+v", sec)
	}
	c0, c1 := sec.CPU(0), sec.CPU(1)
	if c0.Events != 2 || c0.Annotated != 9 || c0.First.String() != "391.751500" || c0.Last.String() != "391.751501" || c0.FirstLine != 10 || c0.LastLine != 11 {
		t.Errorf("cpu 0 %+v", c0)
	}
	if c1.Events != 2 || c1.Annotated != 0 || c1.Backwards != 0 || sec.CPU(2) != nil {
		t.Errorf("cpu 1 %+v", c1)
	}
}

func TestSummarizePipe(t *testing.T) {
	s := summarize(t, `CPU:1 [LOST 198858 EVENTS]
              tr-286     [001] d.s4.    55.121248: update_curr <-check_preempt_wakeup
CPU:0 [LOST EVENTS]
CPU:1 [LOST 2 EVENTS]
              tr-286     [001] d.s4.    55.121252: set_next_buddy <-check_preempt_wakeup
              tr-286     [000] d.s4.    55.121250: x
              tr-286     [001] d.s4.    55.121240: y
CPU:1 [LOST 40 EVENTS]
`)
	sec := s.Sections[0]
	if s.Kind != KindPipe || sec.Header != nil || sec.Events != 4 {
		t.Fatalf("%+v %+v", s, sec)
	}
	sum, unknown, atLeast := sec.Lost()
	if sum != 198900 || unknown != 1 || atLeast {
		t.Errorf("lost %d and %d unknown, at least: %v", sum, unknown, atLeast)
	}
	if c := sec.CPU(1); c.Lost != 198900 || c.LostLines != 3 || c.LostUnknown != 0 || c.Backwards != 1 || c.BackwardsLine != 7 {
		t.Errorf("%+v", c)
	}
	if len(sec.Marks) != 4 || sec.MarksOmitted != 0 {
		t.Fatalf("%+v", sec.Marks)
	}
	m := sec.Marks
	if m[0].After.Known() || m[0].Before.String() != "55.121248" || m[0].N != 198858 || m[0].Suspect != "" {
		t.Errorf("first mark %+v", m[0])
	}
	if m[1].Known || m[1].CPU != 0 || m[1].After.Known() || m[1].Before.String() != "55.121250" {
		t.Errorf("second mark %+v", m[1])
	}
	// The event behind the second mark is CPU 1's: the kernel would have printed
	// one of CPU 0.
	if m[1].Suspect == "" || m[2].Suspect != "" || m[2].After.String() != "55.121248" || m[2].Before.String() != "55.121252" {
		t.Errorf("marks %+v %+v", m[1], m[2])
	}
	if m[3].Before.Known() || m[3].After.String() != "55.121240" || m[3].Suspect != "" {
		t.Errorf("last mark %+v", m[3])
	}
}

func TestSummarizeMarksCapped(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "CPU:0 [LOST 3 EVENTS]\n           <...>-1       [000] .....   %5d.000000: x: y\n", i)
	}
	s, err := SummarizeText(strings.NewReader(b.String()), "p", TextOptions{MaxMarks: 10})
	if err != nil {
		t.Fatal(err)
	}
	sec := s.Sections[0]
	if len(sec.Marks) != 10 || sec.MarksOmitted != 990 || sec.CPU(0).Lost != 3000 || sec.CPU(0).LostLines != 1000 {
		t.Errorf("%d marks, %d left out, %+v", len(sec.Marks), sec.MarksOmitted, sec.CPU(0))
	}
}

func TestLostNumbers(t *testing.T) {
	const event = "           <...>-1       [000] .....     1.000000: x: y\n"
	for _, c := range []struct {
		in      string
		lost    uint64
		unknown int64
		atLeast bool
		errs    int
	}{
		{"CPU:0 [LOST 7 EVENTS]\n" + event, 7, 0, false, 0},
		{"CPU:0 [LOST EVENTS]\n" + event, 0, 1, false, 0},
		// 2^31 went through an int: only its low half is the kernel's count.
		{"CPU:0 [LOST 18446744071562067968 EVENTS]\n" + event, 1 << 31, 0, true, 0},
		{"CPU:0 [LOST 4294967295 EVENTS]\n" + event, 1<<32 - 1, 0, false, 0},
		{"CPU:0 [LOST 9223372036854775807 EVENTS]\nCPU:0 [LOST 9223372036854775807 EVENTS]\nCPU:0 [LOST 9 EVENTS]\n" + event, 1<<64 - 1, 0, true, 0},
		{"CPU:0 [LOST 123456789012345678901234567890 EVENTS]\n" + event, 0, 1, false, 1},
	} {
		s := summarize(t, event+c.in)
		sum, unknown, atLeast := s.Sections[0].Lost()
		if sum != c.lost || unknown != c.unknown || atLeast != c.atLeast || len(s.Errors) != c.errs || s.Sections[0].Events != 2 {
			t.Errorf("%q: lost %d, unknown %d, at least %v, errors %v, events %d", c.in, sum, unknown, atLeast, s.Errors, s.Sections[0].Events)
		}
	}
	// Words that look like a mark and are none.
	for _, in := range []string{"CPU:0 [LOST 7 EVENTS] x", "> CPU:0 [LOST 7 EVENTS]", "CPU:0 [LOST -7 EVENTS]", "CPU:0 [LOST 0x7 EVENTS]", " CPU:0 [LOST 7 EVENTS]", "CPU: [LOST 7 EVENTS]",
		"CPU:0 [LOST  EVENTS]", "CPU:0 [7 EVENTS DROPPED]", "CPU:99999999999 [LOST 7 EVENTS]", "CPU:0 [LOST 7"} {
		s := summarize(t, event+in+"\n")
		if sum, unknown, _ := s.Sections[0].Lost(); sum != 0 || unknown != 0 || s.Sections[0].Continuation != 1 {
			t.Errorf("%q counts as %d lost and %d unknown: %+v", in, sum, unknown, s.Sections[0])
		}
	}
}

// TestForgedMark: a mark inside a payload is counted, because text can not be
// told from text; where it stands betrays it.
func TestForgedMark(t *testing.T) {
	s := summarize(t, head61+`              sh-9       [000] .....     1.000000: tracing_mark_write: hello
CPU:1 [LOST 9 EVENTS]
              sh-9       [000] .....     1.000001: tracing_mark_write: next
`)
	sec := s.Sections[0]
	if sum, _, _ := sec.Lost(); sum != 9 || len(sec.Marks) != 1 || !strings.Contains(sec.Marks[0].Suspect, "of CPU 0") {
		t.Errorf("%+v", sec.Marks)
	}
	// A "# tracer:" line in a payload begins no second trace.
	s = summarize(t, head61+body61+"# tracer: forged\n"+body61)
	if len(s.Sections) != 1 || s.Sections[0].Events != 8 || s.Sections[0].Continuation != 1 || s.Sections[0].Tracer != "nop" {
		t.Errorf("%+v", s.Sections[0])
	}
}

func TestSummarizeCut(t *testing.T) {
	const ev = "              ls-965     [000] .....   391.751500: sys_newfstatat -> 0x0\n"
	for _, c := range []struct {
		last    string
		kind    LineKind
		events  int64
		unknown int64
	}{
		{"              ls-965     [000] .....   391.751", LineContinuation, 1, 0},
		{"              ls-965     [000] .....   391.751500", LineContinuation, 1, 0},
		{"              ls-965     [000] .....   391.751500:", LineEvent, 2, 0},
		{"              ls-965     [000] .....   391.751500: sched_mi", LineEvent, 2, 0},
		{"CPU:0 [LOST 12", LineLost, 1, 1},
		{"CPU:0 [LO", LineLost, 1, 1},
		{"CPU:0 [LOST 12 EVENTS", LineLost, 1, 1},
		{"CPU:", LineContinuation, 1, 0},
		{"  ", LineContinuation, 1, 0},
	} {
		s := summarize(t, head61+ev+c.last)
		sec := s.Sections[0]
		sum, unknown, _ := sec.Lost()
		if s.Cut == nil || s.Cut.Kind != c.kind || s.Cut.Text != c.last || s.Cut.Line != 9 || sec.Events != c.events || unknown != c.unknown || sum != 0 {
			t.Errorf("%q: cut %+v, events %d, lost %d and %d", c.last, s.Cut, sec.Events, sum, unknown)
		}
	}
	// A whole mark without a line end still has its number.
	s := summarize(t, ev+"CPU:0 [LOST 12 EVENTS]")
	if sum, unknown, _ := s.Sections[0].Lost(); sum != 12 || unknown != 0 || s.Cut.Kind != LineLost {
		t.Errorf("lost %d and %d, cut %+v", sum, unknown, s.Cut)
	}
	// A header cut inside its second number.
	s = summarize(t, "# tracer: nop\n#\n# entries-in-buffer/entries-written: 862/29237")
	if s.Sections[0].Header != nil || len(s.Errors) != 1 || s.Cut.Kind != LineHeader {
		t.Errorf("header %+v, errors %v", s.Sections[0].Header, s.Errors)
	}
}

func TestSummarizeNoise(t *testing.T) {
	in := "\ufeff* daemon not running; starting now at tcp:5037\nroot@dev:/ # cat trace\n" + head61 + body61 + "root@dev:/ # "
	in = strings.ReplaceAll(in, "\n", "\r\n")
	s := summarize(t, in)
	sec := s.Sections[0]
	if !s.BOM || s.CRLF != 14 || s.Preamble != 2 || len(s.Samples) != 2 || sec.Events != 4 || sec.Header.Written != 16 || sec.Line != 3 {
		t.Errorf("%+v %+v", s, sec)
	}
	if s.Cut == nil || s.Cut.Kind != LineContinuation || sec.Continuation != 1 {
		t.Errorf("cut %+v, continuation %d", s.Cut, sec.Continuation)
	}
	if s.Samples[0] != (Line{1, "* daemon not running; starting now at tcp:5037"}) {
		t.Errorf("%+v", s.Samples)
	}
	// Blanks lost at the beginning of lines: text that went through a mail.
	trimmed := regexp.MustCompile(`(?m)^ +`).ReplaceAllString(body61, "")
	s = summarize(t, head61+trimmed+"CPU:0 [LOST 3 EVENTS]\n"+trimmed)
	if sec := s.Sections[0]; sec.Events != 8 || sec.CPU(0).Lost != 3 || sec.Continuation+sec.Unmatched != 0 {
		t.Errorf("%+v", sec)
	}
	// A text that was moved to the right as a whole, and quoted in a mail.
	for _, prefix := range []string{"    ", "\t", "> "} {
		in := regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(head61+"CPU:1 [LOST 5 EVENTS]\n"+body61+"CPU:0 [LOST 3 EVENTS]  \n", prefix+"$1")
		s = summarize(t, in)
		sec := s.Sections[0]
		if sec.Events != 4 || sec.CPU(0).Lost != 3 || sec.CPU(1).Lost != 5 || sec.Header == nil || sec.Annotations != 1 || sec.Continuation+sec.Unmatched+s.Preamble != 0 {
			t.Errorf("%q: %+v", prefix, sec)
		}
	}
	s = summarize(t, "16:CPU:1 [LOST 5 EVENTS]\n17:"+strings.Split(body61, "\n")[0]+"\n18:CPU:1 [LOST 4 EVENTS]\n")
	if c := s.Sections[0].CPU(1); c.Lost != 9 || c.Events != 1 {
		t.Errorf("%+v", c)
	}
	// grep -n, and no header.
	s = summarize(t, "17:"+strings.Split(body61, "\n")[0]+"\n18:"+strings.Split(body61, "\n")[2]+"\n")
	if sec := s.Sections[0]; sec.Events != 2 {
		t.Errorf("%+v", sec)
	}
}

// Names are bytes: %16s pads by them.
func TestSummarizeNames(t *testing.T) {
	for _, comm := range []string{"           <...>", "  ev-12 [003]-31", "CPU:1 [LOST 3 EV", "        \xc3\xa9t\xc3\xa9-1", "\xff\xfe\x01 : # [000] "} {
		in := head61 + comm + "-31090   [000] d..1.   391.751501: tracing_mark_write: hello\n"
		s := summarize(t, in)
		if sec := s.Sections[0]; sec.Events != 1 || sec.CPU(0) == nil || sec.CPU(0).First.String() != "391.751501" {
			t.Errorf("%q: %+v", comm, sec)
		}
	}
}

func TestSummarizeContinuations(t *testing.T) {
	s := summarize(t, head61+`              sh-9       [000] .....     1.000000: kernel_stack: <stack trace>
 => ftrace_syscall_enter
 => do_syscall_64
              sh-9       [000] .....     1.000001: tracing_mark_write: two
lines

 and more
CPU:0 [LOST 1 EVENTS]
stray
              sh-9       [000] .....     1.000002: x: [LINE TOO BIG]
`)
	sec := s.Sections[0]
	if sec.Events != 3 || sec.Stack != 2 || sec.Continuation != 2 || sec.Unmatched != 1 || sec.Blank != 1 || len(sec.Samples) != 3 {
		t.Errorf("%+v", sec)
	}
}

func TestSummarizeSnapshotHelp(t *testing.T) {
	const help = "#\n# * Snapshot is %s *\n#\n# Snapshot commands:\n# echo 0 > snapshot : Clears and frees snapshot buffer\n"
	for _, state := range []string{"freed", "allocated"} {
		s := summarize(t, "# tracer: nop\n#\n"+fmt.Sprintf(help, state))
		if sec := s.Sections[0]; s.Kind != KindTrace || sec.Snapshot != state || sec.Events != 0 || sec.Header != nil {
			t.Errorf("%v %+v", s.Kind, sec)
		}
	}
}

// Several texts one behind the other: cat per_cpu/*/trace.
func TestSummarizeConcatenated(t *testing.T) {
	empty := strings.Replace(head61, "4/16", "0/12", 1)
	s := summarize(t, empty+head61+body61+strings.Replace(head61, "nop", "function", 1)+body61+body61)
	if len(s.Sections) != 3 {
		t.Fatalf("%d sections", len(s.Sections))
	}
	for i, want := range []int64{0, 4, 8} {
		if sec := s.Sections[i]; sec.Events != want || sec.Header == nil || sec.Continuation != 0 {
			t.Errorf("section %d: %+v", i, sec)
		}
	}
	if s.Sections[2].Tracer != "function" || s.Sections[0].Header.Written != 12 || s.Sections[1].Line != 8 {
		t.Errorf("%+v", s.Sections[2])
	}
	s = summarize(t, strings.Repeat(head61, 1000)+body61)
	if len(s.Sections) != 256 || s.SectionsOmitted != 744 {
		t.Errorf("%d sections, %d left out", len(s.Sections), s.SectionsOmitted)
	}
}

func TestSummarizeOtherTracers(t *testing.T) {
	s := summarize(t, "# tracer: mmiotrace\n#\nVERSION 20070824\nR 4 12.000001 1 0xfeb0 0x1 0x0 0\nMARK 0.000000 Lost 12 events.\nW 4 12.000003 1 0xfeb0 0x1 0x0 0\n")
	sec := s.Sections[0]
	if sum, unknown, _ := sec.Lost(); sum != 12 || unknown != 0 || sec.LinesAreEvents || sec.Unmatched != 3 || sec.CPU(-1).LostLines != 1 {
		t.Errorf("%+v", sec)
	}
	// Behind any other tracer these words are just words.
	s = summarize(t, head61+body61+"MARK 0.000000 Lost 12 events.\n")
	if sum, _, _ := s.Sections[0].Lost(); sum != 0 {
		t.Errorf("%+v", s.Sections[0])
	}
}

func TestSummarizeCorrupted(t *testing.T) {
	s := summarize(t, "# tracer: function\n#\n# WARNING: FUNCTION TRACING IS CORRUPTED\n#          MAY BE MISSING FUNCTION EVENTS\n"+body61)
	if s.Sections[0].Corrupted != 3 || s.Sections[0].Events != 4 {
		t.Errorf("%+v", s.Sections[0])
	}
}

func TestSummarizeRefused(t *testing.T) {
	for _, c := range []struct {
		in   string
		kind Kind
		want string
	}{
		{"", KindEmpty, "the file is empty"},
		{"\n\n", KindEmpty, "the file is empty"},
		{"hello\nworld\n", KindUnknown, `found "hello"`},
		{"\x00\x01\x02\x03\n", KindBinary, "this is binary"},
		{stats61, KindStats, "this is a stats file"},
		{"\xff\xfe#\x00 \x00", KindBinary, "this is UTF-16"},
		{"# tracer: nop\n#\n# entries-in-buffer/entries-written: 1/1   #P:2\n#\n\x15\x00\x00type: 5\n", KindBinary, "option bin off"},
		{"00001535 00000001 000001928f471179 type: 5\n\n", KindHex, "option hex off"},
	} {
		s, err := SummarizeText(strings.NewReader(c.in), "in", TextOptions{})
		var fe *FormatError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), c.want) || s.Kind != c.kind || s.Why == "" {
			t.Errorf("%.20q: kind %v, %v; want %v and an error with %q", c.in, s.Kind, err, c.kind, c.want)
		}
	}
	s, err := SummarizeText(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(head61+body61))), "in", TextOptions{})
	var fe *FileError
	if !errors.As(err, &fe) || s == nil {
		t.Errorf("%v, want a FileError", err)
	}
}

// Lines of any length, with memory that does not grow.
func TestSummarizeLongLines(t *testing.T) {
	const ev = "              sh-9       [000] .....     1.000000: tracing_mark_write: "
	for _, n := range []int{longLine - 100, longLine, longLine + 1, readerSize - len(ev), readerSize, readerSize + 1, 3*readerSize + 17, 20 << 20} {
		in := head61 + ev + strings.Repeat("x", n) + "\nCPU:0 [LOST 3 EVENTS]\n" + ev + "y\n"
		s := summarize(t, in)
		sec := s.Sections[0]
		if sec.Events != 2 || sec.CPU(0).Lost != 3 || s.Bytes != int64(len(in)) || s.Lines != 10 || sec.Continuation != 0 {
			t.Errorf("%d: %+v, %d bytes of %d, %d lines", n, sec, s.Bytes, len(in), s.Lines)
		}
		if long := int64(0); n+len(ev) > longLine {
			if long = 1; s.LongLines != long {
				t.Errorf("%d: %d long lines", n, s.LongLines)
			}
		}
		s = summarize(t, in[:len(head61)+len(ev)+n]) // and cut inside
		if s.Cut == nil || s.Bytes != int64(len(head61)+len(ev)+n) || s.Sections[0].Events != 1 || len(s.Cut.Text) > 210 {
			t.Errorf("%d: cut %v, %d bytes", n, s.Cut != nil, s.Bytes)
		}
	}
}

// The way a reader hands out its bytes makes no difference.
func TestSummarizeReaders(t *testing.T) {
	in := "\ufeffnoise\n" + head61 + strings.Repeat(body61+"CPU:0 [LOST 3 EVENTS]\n", 20) + head61 + body61
	want := fmt.Sprintf("%+v", describe(summarize(t, in)))
	for name, r := range map[string]*iotestReader{"one byte": {iotest.OneByteReader(strings.NewReader(in))}, "half": {iotest.HalfReader(strings.NewReader(in))},
		"data with the error": {iotest.DataErrReader(strings.NewReader(in))}} {
		s, err := SummarizeText(r, "trace", TextOptions{})
		if got := fmt.Sprintf("%+v", describe(s)); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

type iotestReader struct {
	r interface{ Read([]byte) (int, error) }
}

func (r *iotestReader) Read(b []byte) (int, error) { return r.r.Read(b) }

// describe is a summary as plain values.
func describe(s *TextSummary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d bytes %d lines %d crlf %v bom %d preamble cut %v errors %d\n", s.Kind, s.Bytes, s.Lines, s.CRLF, s.BOM, s.Preamble, s.Cut, len(s.Errors))
	for _, sec := range s.Sections {
		fmt.Fprintf(&b, "%q %v line %d header %v events %d cont %d unm %d stack %d\n", sec.Name, sec.Kind, sec.Line, sec.Header != nil, sec.Events, sec.Continuation, sec.Unmatched, sec.Stack)
		for _, c := range sec.CPUs {
			fmt.Fprintf(&b, "  %+v\n", *c)
		}
		for _, m := range sec.Marks {
			fmt.Fprintf(&b, "  %+v\n", m)
		}
	}
	return b.String()
}

func slurp(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSniff(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Kind
	}{
		{"", KindEmpty},
		{stats61, KindStats},
		{stats61[:30], KindStats},
		{head61 + body61, KindTrace},
		{head61[:40], KindTrace},
		{body61, KindPipe},
		{body61[:len(body61)-20], KindPipe},
		{"CPU:0 [LOST 4 EVENTS]\n", KindPipe},
		{"[    0.000000] Linux version 6.1\n[    0.0000", KindDmesg},
		{"cpus=2\n", KindReport},
		{"#!/bin/sh\n", KindUnknown},
		{"{\"a\":1}\n", KindUnknown},
		{"\x17\x08\x44tracing6\x00\x00", KindBinary},
	} {
		if got := Sniff([]byte(c.in), "x"); got != c.want {
			t.Errorf("%.30q is %v, want %v", c.in, got, c.want)
		}
	}
}

// lineCount counts by regular expressions what the summary counts by index: the
// grammar as FORMATS states it, over bytes.
type lineCount struct {
	events, unknown, lostLines, annotations, header int64
	sum                                             uint64
	cpu                                             map[int]int64
}

var (
	reEvent = regexp.MustCompile(`^.{16}-\d+ +(?:\( *(?:\d+|-+)\) )?\[(\d{3,})\] (?:[0-9A-Za-z#.]{4,5} )? *(?:\d+\.\d{6}|\d+):`)
	reLost  = regexp.MustCompile(`^CPU:(\d+) \[LOST (?:(\d+) )?EVENTS\]$`)
	reAnno  = regexp.MustCompile(`^##### CPU (\d+) buffer started ####$`)
)

func countByRegexp(data []byte) lineCount {
	n := lineCount{cpu: map[int]int64{}}
	for _, l := range bytes.Split(data, []byte("\n")) {
		ascii := bytes.Map(func(r rune) rune { return r }, l)
		for i, c := range ascii {
			if c >= 0x80 {
				ascii[i] = '?'
			}
		}
		if m := reLost.FindSubmatch(l); m != nil {
			if len(m[2]) > 0 {
				v, _ := strconv.ParseUint(string(m[2]), 10, 64)
				n.sum += v
				n.lostLines++
			} else {
				n.unknown++
			}
		} else if reAnno.Match(l) {
			n.annotations++
		} else if m := reEvent.FindSubmatch(ascii); m != nil {
			cpu, _ := strconv.Atoi(string(m[1]))
			n.events++
			n.cpu[cpu]++
		} else if bytes.HasPrefix(l, []byte("#")) {
			n.header++
		}
	}
	return n
}

func FuzzSummarizeText(f *testing.F) {
	f.Add([]byte(head61 + body61))
	f.Add([]byte("CPU:1 [LOST 12 EVENTS]\n" + body61))
	f.Add([]byte("[    1.000000] Dumping ftrace buffer:\n[    1.000000] ---------------------------------\n[    1.000000]   <idle>-0         0d.h1.   15us+: x: y\n"))
	f.Add([]byte("cpus=2\nfoo: CPU:1 [2 EVENTS DROPPED]\nfoo:               ls-965   [001] 12.000002: a: 2\n"))
	f.Add([]byte("# tracer: function_graph\n#\n 0)   0.331 us    |    getname();\n"))
	for _, name := range []string{"latency-format.trace", "latverb.pipe", "raw.trace", "nocontext-info.pipe", "hex.pipe", "bin.pipe", "record-tgid.trace"} {
		data := slurp(f, "testdata/variants/"+name)
		f.Add([]byte(data[:min(len(data), 2000)]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := SummarizeText(bytes.NewReader(data), "f", TextOptions{MaxMarks: 50})
		if s == nil || s.Bytes != int64(len(data)) || s.Why == "" {
			t.Fatalf("%+v, %v", s, err)
		}
		var fe *FormatError
		if err != nil && !errors.As(err, &fe) {
			t.Fatalf("%T %v", err, err)
		}
		// Every line is in one place.
		lines := s.Preamble
		kept := 0
		for _, sec := range s.Sections {
			var events, lost int64
			for _, c := range sec.CPUs {
				events += c.Events
				lost += c.LostLines + c.LostUnknown
				if c.Backwards > 0 && c.BackwardsLine == 0 || c.Events > 0 != (c.FirstLine > 0) {
					t.Errorf("%+v", c)
				}
			}
			if events != sec.Events || lost != int64(len(sec.Marks))+sec.MarksOmitted {
				t.Errorf("events %d of %d, marks %d of %d", events, sec.Events, lost, int64(len(sec.Marks))+sec.MarksOmitted)
			}
			kept += len(sec.Marks)
			lines += events + lost + sec.Continuation + sec.Unmatched + sec.Stack + sec.Annotations
		}
		if s.Lines > 0 && lines > 2*s.Lines || kept > 50 {
			t.Errorf("%d lines are more than %d; %d marks kept", lines, s.Lines, kept)
		}
		Sniff(data, "f")
	})
}
