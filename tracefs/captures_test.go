package tracefs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// TestCapturedStats reads every stats file of the captures and compares each
// number with what a plain search for its words finds.
func TestCapturedStats(t *testing.T) {
	root := fixtures.Captures(t)
	line := regexp.MustCompile(`(?m)^([a-z ]+): +(-?\d+)(?:\.(\d{6}))?$`)
	n := 0
	walk(t, root, func(file string, data []byte) {
		if path.Base(file) != "stats" {
			return
		}
		n++
		s, err := ParseStats(strings.NewReader(string(data)), file)
		if err != nil || len(s.Errors)+len(s.Unknown) > 0 || s.Cut {
			t.Errorf("%s: %v, errors %v, unknown %v", file, err, s.Errors, s.Unknown)
			return
		}
		got := map[string]string{"oldest event ts": s.Oldest.V.String(), "now ts": s.Now.V.String()}
		for _, c := range s.Counters() {
			got[c.Name] = strconv.FormatInt(c.Field.V, 10)
		}
		found := line.FindAllStringSubmatch(string(data), -1)
		if len(found) != 8 || len(got) != 8 {
			t.Errorf("%s: %d lines, %d values", file, len(found), len(got))
		}
		for _, m := range found {
			want := m[2]
			if m[3] != "" {
				want += "." + m[3]
			}
			if got[m[1]] != want {
				t.Errorf("%s: %s is %s, want %s", file, m[1], got[m[1]], want)
			}
		}
	})
	if n < 200 {
		t.Errorf("only %d stats files: are the captures whole?", n)
	}
}

// TestCapturedInstances reads every saved tracefs of the captures: nothing of it
// may be a problem.
func TestCapturedInstances(t *testing.T) {
	root := fixtures.Captures(t)
	dirs := map[string]bool{}
	walk(t, root, func(file string, _ []byte) {
		if dir, _, ok := strings.Cut(file, "/per_cpu/"); ok {
			dirs[dir] = true
		}
	})
	fsys := os.DirFS(root)
	whole := 0
	for dir := range dirs {
		in, err := ReadInstance(fsys, dir, ReadOptions{})
		if err != nil || len(in.Problems) > 0 || len(in.CPUs) == 0 {
			t.Errorf("%s: %v, problems %v, %d CPUs", dir, err, in.Problems, len(in.CPUs))
			continue
		}
		for _, c := range in.CPUs {
			if c.Stats == nil {
				t.Errorf("%s: no stats of cpu %d", dir, c.ID)
			}
		}
		if strings.HasPrefix(path.Base(dir), "stats.") || strings.Contains(dir, "/clocks/") {
			continue
		}
		whole++
		arch, _, _ := strings.Cut(dir, "-")
		long, header := 8, int64(16)
		if arch == "i386" {
			long, header, arch = 4, 12, "i686"
		}
		if in.LongSize() != long || in.HeaderPage != nil && in.HeaderPage.DataOffset.V != header || in.Kernel().Machine.V != arch ||
			in.HeaderEvent != nil && !in.HeaderEvent.Standard() {
			t.Errorf("%s: long %d, header %v, machine %q", dir, in.LongSize(), in.HeaderPage, in.Kernel().Machine.V)
		}
		if len(in.Missing) > 0 || len(in.Online.V) != len(in.CPUs) || !in.Options.Get("overwrite").OK || in.Clock.Unit() != Nanoseconds {
			t.Errorf("%s: missing %v, online %v, clock %+v", dir, in.Missing, in.Online.V, in.Clock)
		}
	}
	if whole < 25 {
		t.Errorf("only %d saved tracefs folders", whole)
	}

	sizes := map[string]Size{}
	for _, dir := range []string{"per-cpu-size", "boot"} {
		in, err := ReadInstance(fsys, "x86_64-6.1.0-57-cloud-amd64/"+dir, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sizes[dir] = in.Size
		if dir == "per-cpu-size" && in.CPUs[0].Size.KB.V == in.CPUs[1].Size.KB.V {
			t.Errorf("per-cpu-size: both CPUs have %d kB", in.CPUs[0].Size.KB.V)
		}
	}
	if s := sizes["per-cpu-size"]; !s.Mixed || s.KB.OK {
		t.Errorf("per-cpu-size: %+v", s)
	}
	if s := sizes["boot"]; s.KB.V != 7 || s.ExpandedKB.V != 1408 {
		t.Errorf("boot: %+v", s)
	}
	for _, dir := range []string{"local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai", "x86-tsc"} {
		in, err := ReadInstance(fsys, "x86_64-6.1.0-57-cloud-amd64/clocks/"+dir, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// The name must say what the dot in the stats says.
		if got := in.CPUs[0].Stats.Now.V.Unit; in.Clock.Current.V != dir || in.Clock.Unit() != got {
			t.Errorf("clock %s (%s) has unit %v, stats print %v", dir, in.Clock.Current.V, in.Clock.Unit(), got)
		}
	}
}

// TestCapturedProbes: the numbers of the kretprobe captures.
func TestCapturedProbes(t *testing.T) {
	fsys := os.DirFS(fixtures.Captures(t))
	for dir, want := range map[string]map[string][2]uint64{
		"x86_64-6.1.0-57-cloud-amd64/kretprobe":       {"r1": {8, 192}, "rdef": {75, 125}, "rh1": {8, 192}, "p1": {200, 0}},
		"x86_64-6.12.117+deb12-cloud-amd64/kretprobe": {"r1": {10, 190}, "rdef": {97, 103}, "rh1": {10, 190}, "p1": {200, 0}},
		"i386-6.1.0-50-686/kretprobe":                 {"r1": {8, 192}, "rdef": {80, 120}, "rh1": {8, 192}, "p1": {200, 0}},
	} {
		in, err := ReadInstance(fsys, dir, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][2]uint64{}
		for _, h := range in.KprobeProfile.List {
			got[h.Event] = [2]uint64{h.Hits.V, h.Misses.V}
		}
		for name, w := range want {
			if got[name] != w {
				t.Errorf("%s: %s %v, want %v", dir, name, got[name], w)
			}
		}
		max := map[string]int64{}
		for _, p := range in.Kprobes.List {
			max[p.Event] = p.MaxActive.V
		}
		if max["r1"] != 1 || max["rdef"] != 10 || max["rh1"] != 1 || max["p1"] != 0 || len(in.Kprobes.List) != 4 || len(in.DynamicEvents.List) != 6 {
			t.Errorf("%s: maxactive %v", dir, max)
		}
	}
}

// TestCapturedTexts summarizes every text of the captures, and counts the same by
// regular expressions.
func TestCapturedTexts(t *testing.T) {
	root := fixtures.Captures(t)
	texts := 0
	walk(t, root, func(file string, data []byte) {
		base := path.Base(file)
		if !(base == "trace" || base == "snapshot" || looksLikeText(base) && !strings.HasPrefix(base, "dmesg") || base == "show.stdout") ||
			strings.HasSuffix(base, ".xz") {
			return
		}
		texts++
		s, err := SummarizeText(strings.NewReader(string(data)), file, TextOptions{})
		if err != nil || len(s.Sections) != 1 {
			t.Errorf("%s: %v, %d sections", file, err, len(s.Sections))
			return
		}
		sec := s.Sections[0]
		want := countByRegexp(data)
		sum, unknown, atLeast := sec.Lost()
		if sec.Events != want.events || sum != want.sum || unknown != want.unknown || sec.Annotations != want.annotations || atLeast {
			t.Errorf("%s: %d events, %d lost, %d unknown, %d annotations; want %+v", file, sec.Events, sum, unknown, sec.Annotations, want)
		}
		for cpu, n := range want.cpu {
			if c := sec.CPU(cpu); c == nil || c.Events != n {
				t.Errorf("%s: cpu %d: %+v, want %d events", file, cpu, c, n)
			}
		}
		if lines := want.events + want.lostLines + want.unknown + want.annotations + want.header; s.Lines != lines ||
			sec.Continuation+sec.Unmatched+sec.Blank+sec.Stack+s.Preamble != 0 {
			t.Errorf("%s: %d lines, of which %d are understood: %+v", file, s.Lines, lines, sec.Samples)
		}
		for _, m := range sec.Marks {
			if m.Suspect != "" {
				t.Errorf("%s:%d: a true mark is suspected: %s", file, m.Line, m.Suspect)
			}
		}
		if kind := (map[bool]Kind{true: KindPipe, false: KindTrace})[strings.HasPrefix(base, "trace_pipe")]; s.Kind != kind || Sniff(data[:min(len(data), 4096)], file) != kind {
			t.Errorf("%s: kind %v", file, s.Kind)
		}
		if strings.HasPrefix(base, "trace_pipe") && sec.Header != nil || base == "trace" && sec.Header == nil {
			t.Errorf("%s: header %+v", file, sec.Header)
		}
		// The kernel's own count: a quiet trace of all CPUs prints its entries.
		if h := sec.Header; h != nil && base == "trace" && !strings.Contains(file, "/per_cpu/") && uint64(sec.Events) != h.InBuffer {
			t.Errorf("%s: %d events under %q", file, sec.Events, h.Text)
		}
		if cut := data[len(data)-1] != '\n'; cut != (s.Cut != nil) {
			t.Errorf("%s: cut %+v", file, s.Cut)
		}
	})
	if texts < 80 {
		t.Errorf("only %d texts", texts)
	}
}

// TestCapturedLiveRead: the numbers that a search of the file gives.
func TestCapturedLiveRead(t *testing.T) {
	file := filepath.Join(fixtures.Captures(t), "x86_64-6.1.0-57-cloud-amd64", "live-trace-read", "trace.live-1")
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := SummarizeText(f, "trace.live-1", TextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sec := s.Sections[0]
	sum, unknown, _ := sec.Lost()
	if sum != 0 || unknown != 20 || len(sec.Marks) != 20 || sec.Header.InBuffer != 505 || sec.Header.Written != 618 {
		t.Errorf("lost %d and %d, header %+v", sum, unknown, sec.Header)
	}
	if sec.Events != 11889 || s.Cut == nil || s.Cut.Kind != LineEvent {
		t.Errorf("%d events, cut %+v", sec.Events, s.Cut)
	}
}

// TestCapturedKernelLogs: logs without a dump are logs.
func TestCapturedKernelLogs(t *testing.T) {
	n := 0
	walk(t, fixtures.Captures(t), func(file string, data []byte) {
		if path.Base(file) != "dmesg.txt" {
			return
		}
		n++
		s, err := SummarizeText(strings.NewReader(string(data)), file, TextOptions{})
		if err != nil || s.Kind != KindDmesg || len(s.Sections) != 0 {
			t.Errorf("%s: %v, kind %v, %d sections", file, err, s.Kind, len(s.Sections))
		}
	})
	if n < 8 {
		t.Errorf("only %d logs", n)
	}
}

// walk calls f for each file of up to 2 MB below root, with its path from there.
func walk(t *testing.T, root string, f func(file string, data []byte)) {
	t.Helper()
	fsys := os.DirFS(root)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() > 2<<20 || !info.Mode().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if err == nil {
			f(name, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
