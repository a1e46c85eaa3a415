package tracefs

import (
	"fmt"
	"strings"
	"testing"
)

func TestSummarizeGraph(t *testing.T) {
	const graph = `# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0)               |  do_sys_open() {
 0)   0.331 us    |    getname();
 ------------------------------------------
 0)    <idle>-0    =>    ls-965
 ------------------------------------------

CPU:1 [LOST 12 EVENTS]
 1)               |  /* sched_switch: prev=3 */
 1) + 10.331 us   |  } /* do_sys_open */
`
	s := summarize(t, graph)
	sec := s.Sections[0]
	if s.Kind != KindGraph || sec.LinesAreEvents || sec.Tracer != "function_graph" || sec.CPU(0).Events != 2 || sec.CPU(1).Events != 2 ||
		sec.CPU(1).Lost != 12 || sec.Continuation+sec.Unmatched != 0 || sec.Marks[0].Suspect != "" || sec.CPU(0).First.Known() {
		t.Errorf("%v %+v", s.Kind, sec)
	}
	// Options funcgraph-abstime and latency-format.
	s = summarize(t, strings.ReplaceAll(strings.ReplaceAll(graph, " 0)  ", "  230.817024 |   0)  "), " 1)  ", "  230.817030 |       12 us |   1)  "))
	if sec := s.Sections[0]; sec.CPU(0).First.String() != "230.817024" || sec.CPU(1).First.String() != "230.817030" {
		t.Errorf("%+v %+v", sec.CPU(0), sec.CPU(1))
	}
	// From trace_pipe, without the header.
	_, body, _ := strings.Cut(graph, "|   |   |   |\n")
	if s = summarize(t, body); s.Kind != KindGraph || s.Sections[0].Events != 4 || s.Sections[0].CPU(1).Lost != 12 {
		t.Errorf("%v %+v", s.Kind, s.Sections[0])
	}
}

// An ftrace dump in a kernel log, in the forms that it comes in.
func TestSummarizeDmesg(t *testing.T) {
	const dash = "---------------------------------"
	dump := []string{"Dumping ftrace buffer:", dash,
		"CPU:1 [LOST 714 EVENTS]", "   <...>-238       1d.h1.   12us : tracing_mark_write: seq=1",
		"  <idle>-0         0d.h1.   15us+: softirq_raise: vec=9",
		"##### CPU 2 buffer started ####",
		"CPU:2 [LOST EVENTS]", " kthread-12345     2.....  100us!: a: b", dash}
	console := func(i int, l string) string { return fmt.Sprintf("[   12.3456%02d] %s", i, l) }
	for _, c := range []struct {
		name string
		line func(i int, l string) string
	}{
		{"console", console},
		{"no prefix", func(_ int, l string) string { return l }},
		{"caller", func(i int, l string) string { return fmt.Sprintf("[   12.3456%02d][ T1234] %s", i, l) }},
		{"caller padded", func(i int, l string) string { return fmt.Sprintf("[   12.3456%02d][    C1] %s", i, l) }},
		{"level", func(i int, l string) string { return "<0>" + console(i, l) }},
		{"syslog", func(i int, l string) string { return "Nov 30 09:09:00 host kernel: " + console(i, l) }},
		{"journal", func(i int, l string) string { return "Nov 30 09:09:00 host kernel: " + l }},
		{"short-monotonic", func(i int, l string) string { return fmt.Sprintf("[   12.3456%02d] host kernel: %s", i, l) }},
		{"dmesg -T", func(_ int, l string) string { return "[Mon Nov 30 09:09:00 2026] " + l }},
		{"dmesg -x", func(i int, l string) string { return "kern  :emerg : " + console(i, l) }},
		{"kmsg", func(i int, l string) string { return fmt.Sprintf("4,%d,12345678,-;%s", i, l) }},
		{"blanks lost", func(i int, l string) string { return fmt.Sprintf("[   12.3456%02d] %s", i, strings.TrimSpace(l)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString(c.line(1, "Kernel panic - not syncing: sysrq") + "\n")
			for i, l := range dump {
				b.WriteString(c.line(i, l) + "\n")
			}
			b.WriteString(c.line(20, "Rebooting in 5 seconds..") + "\n")
			s := summarize(t, b.String())
			if s.Kind != KindDmesg || len(s.Sections) != 1 || s.Preamble != 2 {
				t.Fatalf("%+v", s)
			}
			sec := s.Sections[0]
			if *sec.Dump != (Dump{Begun: true, Ended: true}) || sec.Events != 3 || sec.Continuation+sec.Unmatched != 0 || !sec.RelativeTime {
				t.Errorf("%+v %+v %v", sec.Dump, sec, sec.Samples)
			}
			if c := sec.CPU(1); c == nil || c.Events != 1 || c.Lost != 714 || c.First.String() != "0.000012" {
				t.Errorf("cpu 1 %+v", c)
			}
			if c := sec.CPU(2); c == nil || c.Events != 1 || c.LostUnknown != 1 || c.Annotated == 0 {
				t.Errorf("cpu 2 %+v", c)
			}
			for _, m := range sec.Marks {
				if m.Suspect != "" {
					t.Errorf("%+v", m)
				}
			}
		})
	}
}

func TestSummarizeDmesgDumps(t *testing.T) {
	const dash = "[    1.000000] ---------------------------------\n"
	const ev = "[    1.000000]   <idle>-0         0d.h1.   15us+: softirq_raise: vec=9\n"
	two := "[    1.000000] Dumping ftrace buffer:\n" + dash + ev + dash + "[    1.000000] x\n" +
		"[    1.000000] Dumping ftrace instance foo buffer:\n" + dash + "[    1.000000] CPU:0 [LOST 5 EVENTS]\n" + ev + ev + "[    1.000000] random: crng init done\n" + dash +
		"[    1.000000] Dumping ftrace buffer:\n[    1.000000]    (ftrace buffer empty)\n"
	s := summarize(t, two)
	if len(s.Sections) != 3 || s.Preamble != 1 {
		t.Fatalf("%+v", s)
	}
	a, b, c := s.Sections[0], s.Sections[1], s.Sections[2]
	if a.Name != "" || a.Events != 1 || *a.Dump != (Dump{Begun: true, Ended: true}) {
		t.Errorf("%+v %+v", a, a.Dump)
	}
	if b.Name != "foo" || b.Events != 2 || b.CPU(0).Lost != 5 || b.Continuation != 1 {
		t.Errorf("%+v", b)
	}
	if c.Events != 0 || *c.Dump != (Dump{Begun: true, Ended: true, Empty: true}) {
		t.Errorf("%+v %+v", c, c.Dump)
	}

	// The log ends within the dump; and begins within it.
	s = summarize(t, "[    1.000000] Dumping ftrace buffer:\n"+dash+ev+ev)
	if d := s.Sections[0].Dump; !d.Begun || d.Ended || s.Sections[0].Events != 2 {
		t.Errorf("%+v", d)
	}
	s = summarize(t, "[    1.000000] CPU:0 [LOST 5 EVENTS]\n"+ev+ev+dash+"[    1.000000] x\n")
	if d := s.Sections[0].Dump; d.Begun || !d.Ended || s.Sections[0].Events != 2 || s.Sections[0].CPU(0).Lost != 5 {
		t.Errorf("%+v %+v", d, s.Sections[0])
	}
	// A mark and its event in one line of syslog.
	for _, esc := range []string{`\x0a`, "#012"} {
		s = summarize(t, "[    1.000000] Dumping ftrace buffer:\n"+dash+"[    1.000000] CPU:0 [LOST 5 EVENTS]"+esc+"  <idle>-0         0d.h1.   15us+: x: y\n"+dash)
		if sec := s.Sections[0]; sec.Events != 1 || sec.CPU(0).Lost != 5 || s.Lines != 4 {
			t.Errorf("%q: %+v", esc, sec)
		}
	}
	// A log without a dump is a log, and no error.
	s = summarize(t, "[    0.000000] Linux version 6.1\n[    0.000000] Command line: x\n")
	if s.Kind != KindDmesg || len(s.Sections) != 0 || s.Preamble != 2 {
		t.Errorf("%+v", s)
	}
}

func TestSummarizeReport(t *testing.T) {
	s := summarize(t, `cpus=2
CPU:0 [7 EVENTS DROPPED]
              ls-965   [000] 12.000001: sched_switch: a
CPU:0 [EVENTS DROPPED]
              ls-965   [000] d..1. 12.000002: sched_switch: b
              ls-965   [001] 12.000003: kernel_stack:  <stack trace >
=> do_syscall_64 (ffffffff81000000)
`)
	sec := s.Sections[0]
	if s.Kind != KindReport || sec.Events != 3 || sec.CPU(0).Lost != 7 || sec.CPU(0).LostUnknown != 1 || sec.Stack != 1 {
		t.Errorf("%v %+v", s.Kind, sec)
	}
	// With instances: the column before the line, which the event behind a mark
	// lacks; blanks for the top instance.
	s = summarize(t, `cpus=2
foo: CPU:1 [226 EVENTS DROPPED]
              ls-965   [001] 12.000001: a: 1
foo:               ls-965   [001] 12.000002: a: 2
bar: CPU:0 [EVENTS DROPPED]
              ls-965   [000] 12.000003: a: 3
                   ls-965   [000] 12.000004: a: 4
foo:               ls-965   [000] 12.000005: a: 5
bar:               ls-965   [000] 12.000006: a: 6
`)
	got := map[string]string{}
	for _, sec := range s.Sections {
		sum, unknown, _ := sec.Lost()
		got[sec.Name] = fmt.Sprint(sec.Events, sum, unknown)
		for _, m := range sec.Marks {
			if m.Suspect != "" {
				t.Errorf("%s: %+v", sec.Name, m)
			}
		}
	}
	if got["foo"] != "3 226 0" || got["bar"] != "2 0 1" || got[""] != "1 0 0" {
		t.Errorf("%v", got)
	}
	// A report whose beginning is gone.
	s = summarize(t, "CPU:0 [7 EVENTS DROPPED]\n              ls-965   [000] 12.000001: sched_switch: a\n")
	if s.Kind != KindReport || s.Sections[0].CPU(0).Lost != 7 || s.Sections[0].Events != 1 {
		t.Errorf("%v %+v", s.Kind, s.Sections[0])
	}
}

// TestVariants: real text of every trace option. The kernel's own header and
// stats are the truth: entries of all CPUs is 4 + 2 free writes and what CPU 1
// keeps.
func TestVariants(t *testing.T) {
	for _, name := range []string{"std", "record-tgid", "noirq-info", "verbose", "latency-format", "latverb", "raw"} {
		t.Run(name, func(t *testing.T) {
			s := summarize(t, slurp(t, "testdata/variants/"+name+".trace"))
			st, err := ParseStats(strings.NewReader(slurp(t, "testdata/variants/"+name+".stats")), "stats")
			if err != nil {
				t.Fatal(err)
			}
			sec := s.Sections[0]
			// 406 writes; what CPU 1 did not overwrite stands in the trace.
			if want := 406 - st.Overrun.V; sec.Events != want || sec.Continuation+sec.Unmatched != 0 || s.Preamble != 0 {
				t.Errorf("%d events, want %d; %d + %d lines not understood, %d before", sec.Events, want, sec.Continuation, sec.Unmatched, s.Preamble)
			}
			if c := sec.CPU(1); c.Events != st.Read.V { // read by the later full read of trace_pipe
				t.Errorf("cpu 1 has %d events, stats say %d", c.Events, st.Read.V)
			}
			if h := sec.Header; name == "verbose" != (h == nil) || h != nil && (h.Written != 406 || int64(h.InBuffer) != sec.Events) {
				t.Errorf("header %+v", h)
			}
			want := map[string]Kind{"latency-format": KindLatency, "latverb": KindLatency, "raw": KindRaw}[name]
			if want == "" {
				want = KindTrace
			}
			if s.Kind != want || !sec.LinesAreEvents {
				t.Errorf("kind %v, want %v", s.Kind, want)
			}
		})
	}
	for _, name := range []string{"std", "latency-format", "latverb", "nocontext-info"} {
		t.Run(name+" pipe", func(t *testing.T) {
			s := summarize(t, slurp(t, "testdata/variants/"+name+".pipe"))
			st, _ := ParseStats(strings.NewReader(slurp(t, "testdata/variants/"+name+".stats")), "stats")
			sec := s.Sections[0]
			sum, unknown, _ := sec.Lost()
			if int64(sum) != st.Overrun.V || unknown != 0 || len(sec.Marks) != 1 || sec.Marks[0].Suspect != "" {
				t.Errorf("lost %d and %d, marks %+v, overrun %d", sum, unknown, sec.Marks, st.Overrun.V)
			}
			if got := sec.Events + s.Preamble; got != 406-st.Overrun.V {
				t.Errorf("%d events, want %d", got, 406-st.Overrun.V)
			}
		})
	}
	s := summarize(t, slurp(t, "testdata/variants/nocontext-info.trace"))
	if s.Kind != KindBare || s.Sections[0].Events != 278 || s.Sections[0].LinesAreEvents || s.Sections[0].CPU(-1).Events != 278 {
		t.Errorf("%v %+v", s.Kind, s.Sections[0])
	}
	for name, kind := range map[string]Kind{"hex.pipe": KindHex, "bin.pipe": KindBinary} {
		s, err := SummarizeText(strings.NewReader(slurp(t, "testdata/variants/"+name)), name, TextOptions{})
		if err == nil || s.Kind != kind {
			t.Errorf("%s: %v, kind %v", name, err, s.Kind)
		}
	}
}

// TestVariantClocks: clocks that count no time print bare integers in every form.
func TestVariantClocks(t *testing.T) {
	for name, first := range map[string]uint64{"counter": 2, "counter-latverb": 2, "counter-lat": 1, "uptime": 173689, "uptime-latverb": 173689,
		"x86-tsc": 4510206860264, "x86-tsc-latverb": 4510206860264, "x86-tsc-lat": 47248864} {
		s := summarize(t, slurp(t, "testdata/variants/clock-"+name+".trace"))
		c := s.Sections[0].CPU(0)
		if c.First != (Stamp{first, Ticks}) || c.Events != 3 || s.Sections[0].RelativeTime != strings.HasSuffix(name, "-lat") {
			t.Errorf("%s: %+v, relative %v", name, c, s.Sections[0].RelativeTime)
		}
	}
}
