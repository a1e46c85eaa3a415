package tracefs

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		in           string
		kb, expanded int64
		mixed        bool
		remote       string
		bad          string
	}{
		{in: "11\n", kb: 11, expanded: -1},
		{in: "7 (expanded: 1408)\n", kb: 7, expanded: 1408},
		{in: "7 (expanded: 1408)", kb: 7, expanded: 1408}, // the parenthesis proves that it is whole
		{in: "X\n", kb: -1, expanded: -1, mixed: true},
		{in: "28 (loaded)\n", kb: 28, expanded: -1, remote: "loaded"},
		{in: "7 (unloaded)\n", kb: 7, expanded: -1, remote: "unloaded"},
		{in: "11\r\n", kb: 11, expanded: -1},
		{in: "14", bad: "cut off inside this line"},
		{in: "7 (expanded: 14", bad: "found"},
		{in: "7 (shrunk: 14)\n", bad: "found"},
		{in: "-7\n", bad: "found"},
		{in: "eleven\n", bad: `f:1:1: found "eleven"`},
		{in: "123456789012345678901234567890\n", bad: "30 digits"},
		{in: "", bad: "the file is empty"},
	} {
		s, err := ParseSize(strings.NewReader(c.in), "f")
		if c.bad != "" {
			if err == nil || !strings.Contains(err.Error(), c.bad) || s.KB.OK {
				t.Errorf("%q: %v, %+v; want an error with %q and no value", c.in, err, s, c.bad)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
		}
		if s.KB.OK != (c.kb >= 0) || s.KB.OK && s.KB.V != c.kb || s.ExpandedKB.OK != (c.expanded >= 0) ||
			s.ExpandedKB.OK && s.ExpandedKB.V != c.expanded || s.Mixed != c.mixed || s.Remote != c.remote {
			t.Errorf("%q: %+v", c.in, s)
		}
	}
}

func TestParseNumber(t *testing.T) {
	for in, want := range map[string]int64{"50\n": 50, "0\r\n": 0, "\n 4 \n": 4} {
		if f, err := ParseNumber(strings.NewReader(in), "f", "a number"); err != nil || !f.OK || f.V != want {
			t.Errorf("%q: %+v, %v", in, f, err)
		}
	}
	for in, want := range map[string]string{"-1\n": `found "-1"`, "5": "cut off inside", "x\n": `f:1:1: found "x"`, "": "empty", "99999999999999999999\n": "20 digits"} {
		if f, err := ParseNumber(strings.NewReader(in), "f", "a number"); err == nil || f.OK || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", in, f, err, want)
		}
	}
	for in, want := range map[string]bool{"0\n": false, "1\n": true, "1": true} {
		if f, err := ParseBool(strings.NewReader(in), "f"); err != nil || !f.OK || f.V != want {
			t.Errorf("%q: %+v, %v", in, f, err)
		}
	}
}

func TestParseHeaderPage(t *testing.T) {
	const i386 = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n" +
		"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n"
	h, err := ParseHeaderPage(strings.NewReader(i386), "header_page")
	if err != nil || len(h.Errors)+len(h.Unknown) > 0 {
		t.Fatal(err, h.Errors, h.Unknown)
	}
	if h.LongSize() != 4 || h.DataOffset.V != 12 || h.DataSize.V != 4084 || h.SubbufSize() != 4096 || h.TimestampSize.V != 8 || h.CommitOffset.V != 8 {
		t.Errorf("%+v", h)
	}
	// From v7.1 on: "char overwrite", another sign. 64K pages.
	newer := strings.NewReplacer("int overwrite", "char overwrite", "signed:1", "signed:0", "size:4;", "size:8;", "offset:12;\tsize:4084", "offset:16;\tsize:65520").Replace(i386)
	h, err = ParseHeaderPage(strings.NewReader(newer), "header_page")
	if err != nil || len(h.Errors)+len(h.Unknown) > 0 || h.LongSize() != 8 || h.SubbufSize() != 65536 || h.String() != "16+65520" {
		t.Errorf("%v %+v", err, h)
	}

	for _, c := range []struct{ in, want string }{
		{strings.Replace(i386, "size:4084", "size:0", 1), "a sub-buffer between"},
		{strings.Replace(i386, "size:4084", "size:99999999999", 1), "a sub-buffer between"},
		{strings.Replace(i386, "size:4084", "size:-1", 1), "field: TYPE NAME"},
		{strings.Replace(i386, "size:4084", "size:4084x", 1), "field: TYPE NAME"},
		{i386[:strings.Index(i386, "4084")+2], "field: TYPE NAME"},
	} {
		h, err := ParseHeaderPage(strings.NewReader(c.in), "header_page")
		if err != nil || len(h.Errors) != 1 || !strings.Contains(h.Errors[0].Error(), c.want) || h.SubbufSize() != 0 {
			t.Errorf("%v, errors %v, sub-buffer %d; want one with %q and none", err, h.Errors, h.SubbufSize(), c.want)
		}
	}
	var none *HeaderPage
	if none.LongSize() != 0 || none.SubbufSize() != 0 {
		t.Error("an absent header_page has sizes")
	}
	var fe *FormatError
	if _, err := ParseHeaderPage(strings.NewReader("moin\n"), "f"); !errors.As(err, &fe) {
		t.Errorf("%v, want a FormatError", err)
	}
}

func TestParseHeaderEvent(t *testing.T) {
	const v61 = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n" +
		"\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n"
	h, err := ParseHeaderEvent(strings.NewReader(v61), "header_event")
	if err != nil || len(h.Errors)+len(h.Unknown) > 0 || !h.Standard() || !h.TimeStamp.OK || h.DataMaxType.V != 28 {
		t.Errorf("%v %+v", err, h)
	}
	h, err = ParseHeaderEvent(strings.NewReader(strings.Replace(v61, "\ttime_stamp : type == 31\n", "", 1)), "header_event")
	if err != nil || !h.Standard() || h.TimeStamp.OK { // 4.4
		t.Errorf("%v %+v", err, h)
	}
	h, _ = ParseHeaderEvent(strings.NewReader(strings.Replace(v61, "== 29", "== 28", 1)), "header_event")
	if h.Standard() {
		t.Error("padding 28 is no standard header")
	}
}

func TestParseOptions(t *testing.T) {
	o, err := ParseOptions(strings.NewReader("print-parent\nnosym-offset\nnooverwrite\nannotate\nrecord-cm"), "trace_options")
	if err != nil {
		t.Fatal(err)
	}
	if f := o.Get("overwrite"); !f.OK || f.V || f.Line != 3 || f.Text != "nooverwrite" {
		t.Errorf("overwrite %+v", f)
	}
	if !o.Get("annotate").V || o.Get("pause-on-trace").OK || o.Get("record-cm").OK {
		t.Errorf("options %v", o.Names())
	}
	if want := []string{"annotate", "overwrite", "print-parent", "sym-offset"}; !slices.Equal(o.Names(), want) {
		t.Errorf("options %v, want %v", o.Names(), want)
	}
	var fe *FormatError
	if _, err := ParseOptions(strings.NewReader("a b c\n"), "f"); !errors.As(err, &fe) {
		t.Errorf("%v, want a FormatError", err)
	}
}

func TestParseClock(t *testing.T) {
	for in, unit := range map[string]Unit{
		"[local] global counter uptime perf mono mono_raw boot x86-tsc\n": Nanoseconds,
		"local [counter] uptime\n":                                        Ticks,
		"local global [x86-tsc]\n":                                        Ticks,
		"local global [ppc-tb]\n":                                         Ticks,
		"local [tai]\n":                                                   Nanoseconds,
		"local [quartz]\n":                                                UnitUnknown,
		"mono\n":                                                          Nanoseconds,
	} {
		c, err := ParseClock(strings.NewReader(in), "trace_clock")
		if err != nil || c.Unit() != unit || !c.Current.OK {
			t.Errorf("%q: %v %+v, want unit %v", in, err, c, unit)
		}
	}
	for _, in := range []string{"local global\n", "[local] [global]\n", "[local global\n", "[]\n", ""} {
		if c, err := ParseClock(strings.NewReader(in), "trace_clock"); err == nil || c.Current.OK {
			t.Errorf("%q: no error, %+v", in, c)
		}
	}
}

func TestParseLastBoot(t *testing.T) {
	for _, c := range []struct {
		in          string
		currentOK   bool
		current     bool
		text, data  bool
		kernel      uint64
		modules     int
		unknown     int
		syntaxError bool
	}{
		{in: "text delta:\t0\ndata delta:\t-4096\n", text: true, data: true},
		{in: "# Current\n", currentOK: true, current: true},
		{in: "ffffffff81000000\t[kernel]\nffffffffc0000000\tbtrfs\n", currentOK: true, kernel: 0xffffffff81000000, modules: 1},
		{in: "Offset: 1a000000\n", currentOK: true, kernel: 0x1a000000},
		{in: "something new\n", unknown: 1},
		{in: "text delta:\t12345678901234567890123\n", syntaxError: true},
	} {
		b, err := ParseLastBoot(strings.NewReader(c.in), "last_boot_info")
		if err != nil || b.Current.OK != c.currentOK || b.Current.V != c.current || b.TextDelta.OK != c.text || b.DataDelta.OK != c.data ||
			b.Kernel.V != c.kernel || len(b.Modules) != c.modules || len(b.Unknown) != c.unknown || (len(b.Errors) > 0) != c.syntaxError {
			t.Errorf("%q: %v %+v", c.in, err, b)
		}
	}
}

func TestParseProbes(t *testing.T) {
	const in = `r1:kp/r1 do_nanosleep arg1=$retval
r10:kp/rdef do_nanosleep arg1=$retval
r:kp/r_do_nanosleep_0 do_nanosleep
p:kp/p1 do_nanosleep+4 a=%di b=+0($stack):u32
p:up/u1 /bin/a file:0x0000000000012340
f1:fp/f1 do_nanosleep%return ret=$retval
t:tp/t1 sched_switch
e:ep/e1 sched.sched_switch pid=$next_pid
s:synthetic/wake	u64 lat; pid_t pid
p:fp/vfs_read__entry vfs_read
r10swallowed
r4097x:kp/bad do_nanosleep
p:kp/cut do_nan`
	ps, err := ParseProbes(strings.NewReader(in), "dynamic_events")
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		kind       ProbeKind
		event      string
		target     string
		max        int64
		autonamed  bool
		returns    bool
		group, arg string
	}
	want := []row{
		{Kretprobe, "r1", "do_nanosleep", 1, false, true, "kp", "arg1=$retval"},
		{Kretprobe, "rdef", "do_nanosleep", 10, false, true, "kp", "arg1=$retval"},
		{Kretprobe, "r_do_nanosleep_0", "do_nanosleep", -1, true, true, "kp", ""},
		{Kprobe, "p1", "do_nanosleep+4", -1, false, false, "kp", "a=%di b=+0($stack):u32"},
		{Uprobe, "u1", "/bin/a file:0x0000000000012340", -1, false, false, "up", ""},
		{Fretprobe, "f1", "do_nanosleep%return", 1, false, true, "fp", "ret=$retval"},
		{Tprobe, "t1", "sched_switch", -1, false, false, "tp", ""},
		{EventProbe, "e1", "sched.sched_switch", -1, false, false, "ep", "pid=$next_pid"},
		{Synthetic, "wake", "u64 lat; pid_t pid", -1, false, false, "synthetic", ""},
		{Kprobe, "vfs_read__entry", "vfs_read", -1, true, false, "fp", ""},
	}
	if len(ps.List) != len(want) || len(ps.Errors) != 3 {
		t.Fatalf("%d probes, errors %v", len(ps.List), ps.Errors)
	}
	for i, w := range want {
		p := ps.List[i]
		max := int64(-1)
		if p.MaxActive.OK {
			max = p.MaxActive.V
		}
		if got := (row{p.Kind, p.Event, p.Target, max, p.AutoNamed(), p.Return, p.Group, p.Args}); got != w {
			t.Errorf("line %d: %+v, want %+v", p.Line, got, w)
		}
	}
}

func TestParseProfiles(t *testing.T) {
	p, err := ParseKprobeProfile(strings.NewReader("  r1                                                         8             192\n  p1   200   0\nbroken\n  p2 1 2"), "kprobe_profile")
	if err != nil || len(p.List) != 2 || len(p.Errors) != 2 {
		t.Fatalf("%v %+v", err, p)
	}
	if r := p.List[0]; r.Event != "r1" || r.Hits.V != 8 || !r.Misses.OK || r.Misses.V != 192 {
		t.Errorf("%+v", r)
	}
	u, err := ParseUprobeProfile(strings.NewReader("  /opt/my app/bin p_bin_0x4b0                                     17\n"), "uprobe_profile")
	if err != nil || len(u.List) != 1 {
		t.Fatalf("%v %+v", err, u)
	}
	if r := u.List[0]; r.Binary != "/opt/my app/bin" || r.Event != "p_bin_0x4b0" || r.Hits.V != 17 || r.Misses.OK {
		t.Errorf("%+v", r)
	}
}

func TestParseErrorLog(t *testing.T) {
	const in = "[  276.173678] trace_kprobe: error: Maxactive is not for kprobe\n  Command: p10:kp/pmax do_nanosleep\n            ^\n" +
		"[  276.571992] hist:sched:sched_switch: error: Couldn't find field\n  Command: keys=x\n"
	log, err := ParseErrorLog(strings.NewReader(in), "error_log")
	if err != nil || len(log) != 2 {
		t.Fatal(err, log)
	}
	if e := log[0]; e.Where != "trace_kprobe" || e.Message != "Maxactive is not for kprobe" || e.Command != "p10:kp/pmax do_nanosleep" || e.At.String() != "276.173678" || e.Line != 1 {
		t.Errorf("%+v", e)
	}
	if e := log[1]; e.Where != "hist:sched:sched_switch" || e.Line != 4 {
		t.Errorf("%+v", e)
	}
}

func TestParseCPUList(t *testing.T) {
	for in, want := range map[string][]int{
		"0-3,8\n":    {0, 1, 2, 3, 8},
		"0":          {0},
		"":           nil,
		"3,1,2,2":    {1, 2, 3},
		"0-7:2/4":    {0, 1, 4, 5},
		"1-10:1/3":   {1, 4, 7, 10},
		"0-3, 5":     {0, 1, 2, 3, 5},
		"0-6:3/5":    {0, 1, 2, 5, 6},
		"65535":      {65535},
		" 1 - 2 x\n": nil,
	} {
		got, err := ParseCPUList(in)
		if strings.Contains(in, "x") {
			if err == nil {
				t.Errorf("%q: %v and no error", in, got)
			}
			continue
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q = %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"3-1", "a", "1-", "-1", "0-999999999999", "65536", "0-7:0/4", "0-7:5/4", "1:1/2", "0-3:1", strings.Repeat("0-65535,", 100)} {
		if got, err := ParseCPUList(in); err == nil {
			t.Errorf("%.20q: %d CPUs and no error", in, len(got))
		}
	}
	for _, c := range []struct {
		cpus []int
		want string
	}{{nil, ""}, {[]int{0}, "0"}, {[]int{0, 1, 2, 3, 8}, "0-3,8"}, {[]int{0, 2, 3}, "0,2-3"}} {
		if got := FormatCPUList(c.cpus); got != c.want {
			t.Errorf("FormatCPUList(%v) = %q, want %q", c.cpus, got, c.want)
		}
	}
}

func TestParseCPUMask(t *testing.T) {
	for in, want := range map[string][]int{
		"3\n": {0, 1}, "f\n": {0, 1, 2, 3}, "1,00000002\n": {1, 32}, "00000000\n": nil, "80000000\n": {31},
	} {
		f, err := ParseCPUMask(strings.NewReader(in), "tracing_cpumask")
		if err != nil || !f.OK || !slices.Equal(f.V, want) {
			t.Errorf("%q = %v, %v, want %v", in, f.V, err, want)
		}
	}
	for _, in := range []string{"3", "x\n", "1,2\n", "123456789\n", strings.Repeat("00000000,", 5000) + "00000000\n"} {
		if f, err := ParseCPUMask(strings.NewReader(in), "tracing_cpumask"); err == nil || f.OK {
			t.Errorf("%.20q: %v and no error", in, f.V)
		}
	}
}

func TestParseUname(t *testing.T) {
	for _, c := range []struct {
		in, release, version, machine string
		long                          int
		numbers                       [3]int
	}{
		{"Linux (none) 6.1.0-57-cloud-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26) x86_64 GNU/Linux\n", "6.1.0-57-cloud-amd64", "6.1.192-3", "x86_64", 8, [3]int{6, 1, 192}},
		{"Linux h 6.1.0-50-686 #1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-01-01) i686 GNU/Linux\n", "6.1.0-50-686", "6.1.176-1", "i686", 4, [3]int{6, 1, 176}},
		{"Linux h 6.1.0-50-s390x #1 SMP Debian 6.1.176-1 (2026-01-01) s390x GNU/Linux\n", "6.1.0-50-s390x", "6.1.176-1", "s390x", 8, [3]int{6, 1, 176}},
		{"Linux h 5.4.0 #1 SMP Mon Jan 1 00:00:00 UTC 2024 armv7l GNU/Linux\n", "5.4.0", "", "armv7l", 4, [3]int{5, 4, 0}},
		{"Linux h 4.14.67-rc1+ #1 SMP x86_64 x86_64 x86_64 GNU/Linux\n", "4.14.67-rc1+", "", "x86_64", 8, [3]int{4, 14, 67}},
		{"Linux h 6.1.0-50-powerpc64le #1 SMP Debian 6.1.176-1 (2026-01-01) ppc64le GNU/Linux\n", "6.1.0-50-powerpc64le", "6.1.176-1", "ppc64le", 8, [3]int{6, 1, 176}},
	} {
		k, err := ParseUname(strings.NewReader(c.in), "uname-a")
		major, minor, patch, ok := k.Numbers()
		if err != nil || k.Release.V != c.release || k.Version.V != c.version || k.Machine.V != c.machine ||
			k.LongSize() != c.long || !ok || [3]int{major, minor, patch} != c.numbers {
			t.Errorf("%q: %v %+v %v long %d", c.in, err, k, [3]int{major, minor, patch}, k.LongSize())
		}
	}
	k, err := ParseProcVersion(strings.NewReader("Linux version 6.12.117+deb12-cloud-amd64 (a@b) (gcc-12 (Debian 12.2.0-14) 12.2.0) #1 SMP PREEMPT_DYNAMIC Debian 6.12.117-1~deb12u1 (2026-11-01)\n"), "proc-version")
	if err != nil || k.Release.V != "6.12.117+deb12-cloud-amd64" || k.Version.V != "6.12.117-1~deb12u1" {
		t.Errorf("%v %+v", err, k)
	}
	for _, in := range []string{"", "Darwin h 23.0\n", "Linux\n", "Linux h x y\n"} {
		if k, err := ParseUname(strings.NewReader(in), "uname-a"); err == nil || k.Release.OK {
			t.Errorf("%q: %+v and no error", in, k)
		}
	}
	if _, _, _, ok := (Kernel{}).Numbers(); ok {
		t.Error("an unknown kernel has a version")
	}
}

func TestStampString(t *testing.T) {
	for s, want := range map[Stamp]string{
		{17163142000, Nanoseconds}: "17.163142", {17163142999, Nanoseconds}: "17.163142", {5, Ticks}: "5", {0, Nanoseconds}: "0.000000",
	} {
		if s.String() != want {
			t.Errorf("%+v prints %s, want %s", s, s, want)
		}
	}
}

// FuzzSmallFiles drives every parser of a small file with the same bytes: none
// may panic, and none may give a value together with an error that takes it away.
func FuzzSmallFiles(f *testing.F) {
	for _, s := range []string{"7 (expanded: 1408)\n", "X\n", "[local] global\n", "text delta:\t0\n", "ffffffff81000000\t[kernel]\n",
		"r10:kp/rdef do_nanosleep arg1=$retval\n", "  r1   8   192\n", "  /bin/a b 4\n", "0-31:2/8,40\n", "ff,ffffffff\n", "nooverwrite\n",
		"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n", "\tpadding     : type == 29\n",
		"[  276.173678] trace_kprobe: error: no\n  Command: p\n", "Linux h 6.1.0 #1 SMP Debian 6.1.192-3 (x) x86_64 GNU/Linux\n", "Linux version 6.1.0 (a) #1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r := func() *strings.Reader { return strings.NewReader(in) }
		if s, err := ParseSize(r(), "f"); err != nil && (s.KB.OK || s.Mixed) || err == nil && !s.KB.OK && !s.Mixed {
			t.Errorf("size %+v, %v", s, err)
		}
		if n, err := ParseNumber(r(), "f", "n"); (err == nil) != n.OK || n.V < 0 {
			t.Errorf("number %+v, %v", n, err)
		}
		if b, err := ParseBool(r(), "f"); (err == nil) != b.OK {
			t.Errorf("bool %+v, %v", b, err)
		}
		if m, err := ParseCPUMask(r(), "f"); (err == nil) != m.OK || !slices.IsSorted(m.V) {
			t.Errorf("mask %+v, %v", m, err)
		}
		if l, err := ParseCPUListFile(r(), "f"); (err == nil) != l.OK || !slices.IsSorted(l.V) {
			t.Errorf("list %+v, %v", l, err)
		} else if l.OK {
			if back, err := ParseCPUList(FormatCPUList(l.V)); err != nil || !slices.Equal(back, l.V) {
				t.Errorf("%v does not come back: %v, %v", l.V, back, err)
			}
		}
		h, err := ParseHeaderPage(r(), "f")
		if h.DataSize.OK && (err != nil || h.DataSize.V < 512) {
			t.Errorf("header %+v, %v", h, err)
		}
		if e, _ := ParseHeaderEvent(r(), "f"); e == nil {
			t.Error("nil")
		}
		for _, p := range []func() error{
			func() error { _, err := ParseWord(r(), "f", "w"); return err },
			func() error { _, err := ParseClock(r(), "f"); return err },
			func() error { _, err := ParseOptions(r(), "f"); return err },
			func() error { _, err := ParseLastBoot(r(), "f"); return err },
			func() error { _, err := ParseKprobeProfile(r(), "f"); return err },
			func() error { _, err := ParseUprobeProfile(r(), "f"); return err },
			func() error { _, err := ParseErrorLog(r(), "f"); return err },
			func() error { k, err := ParseUname(r(), "f"); k.Numbers(); k.LongSize(); return err },
			func() error { k, err := ParseProcVersion(r(), "f"); k.Numbers(); return err },
			func() error {
				ps, err := ParseProbes(r(), "f")
				for _, p := range ps.List {
					_, _ = p.AutoNamed(), p.String()
				}
				return err
			},
		} {
			if err := p(); err != nil && !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%T %v does not name the file", err, err)
			}
		}
	})
}

// TestFieldZero: the zero Field is an absent one.
func TestFieldZero(t *testing.T) {
	if !reflect.ValueOf(Field[int64]{}).IsZero() || (Field[int64]{}).OK || (Field[int64]{}).Pos() != (Pos{}) {
		t.Error("the zero Field is not an absent one")
	}
}
