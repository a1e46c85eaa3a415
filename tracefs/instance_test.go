package tracefs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// liveTree is a tracefs as a 6.18 kernel shows it: the small files hold text, the
// others are there and must not be opened.
func liveTree() fstest.MapFS {
	m := fstest.MapFS{}
	put := func(name, text string) { m[name] = &fstest.MapFile{Data: []byte(text)} }
	for _, dir := range []string{"", "instances/foo/"} {
		put(dir+"buffer_size_kb", "11\n")
		put(dir+"buffer_total_size_kb", "22\n")
		put(dir+"buffer_subbuf_size_kb", "4\n")
		put(dir+"buffer_percent", "50\n")
		put(dir+"trace_clock", "[local] global counter\n")
		put(dir+"tracing_on", "1\n")
		put(dir+"trace_options", "overwrite\nannotate\n")
		put(dir+"options/pause-on-trace", "0\n")
		put(dir+"current_tracer", "nop\n")
		put(dir+"tracing_cpumask", "3\n")
		put(dir+"timestamp_mode", "[delta] absolute\n")
		put(dir+"set_event_pid", "12\n13\n")
		put(dir+"set_ftrace_pid", "no pid\n")
		put(dir+"error_log", "")
		put(dir+"events/header_page", "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n")
		for _, name := range []string{"trace", "trace_pipe", "snapshot", "trace_marker", "trace_marker_raw", "free_buffer", "set_event", "events/enable"} {
			put(dir+name, "")
		}
		for _, cpu := range []string{"cpu10", "cpu0", "cpu1"} {
			put(dir+"per_cpu/"+cpu+"/stats", stats61)
			put(dir+"per_cpu/"+cpu+"/buffer_size_kb", "11\n")
			for _, name := range []string{"trace", "trace_pipe", "trace_pipe_raw", "snapshot", "snapshot_raw", "buffer_meta"} {
				put(dir+"per_cpu/"+cpu+"/"+name, "")
			}
		}
	}
	put("kprobe_events", "r10:kp/rdef do_nanosleep\n")
	put("kprobe_profile", "  rdef   8   192\n")
	put("saved_cmdlines_size", "128\n")
	return m
}

// readOnlyOf are the only files that reading an instance may open. Everything
// else in a tracefs consumes events, changes state, or is not needed.
var readOnlyOf = []string{"buffer_size_kb", "buffer_total_size_kb", "buffer_subbuf_size_kb", "buffer_percent", "trace_clock", "tracing_on",
	"trace_options", "current_tracer", "tracing_cpumask", "timestamp_mode", "set_event_pid", "set_event_notrace_pid", "set_ftrace_pid",
	"error_log", "header_page", "header_event", "stats", "kprobe_events", "kprobe_profile", "uprobe_events", "uprobe_profile",
	"dynamic_events", "saved_cmdlines_size", "last_boot_info"}

// guardFS fails the test on the open of a file that must not be opened, and
// counts the read calls of each file.
type guardFS struct {
	fs.FS
	t     *testing.T
	reads map[string]int
}

func (g *guardFS) Open(name string) (fs.File, error) {
	f, err := g.FS.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() && !slices.Contains(readOnlyOf, path.Base(name)) && path.Base(path.Dir(name)) != "options" {
		g.t.Errorf("%s was opened", name)
	}
	return &guardFile{File: f, g: g, name: name}, nil
}

// guardFile behaves as a file of a live tracefs: it has no size.
type guardFile struct {
	fs.File
	g    *guardFS
	name string
}

func (f *guardFile) Read(b []byte) (int, error) {
	f.g.reads[f.name]++
	if path.Base(f.name) == "stats" && len(b) < 512 {
		f.g.t.Errorf("%s is read with a buffer of %d bytes", f.name, len(b))
	}
	return f.File.Read(b)
}

func (f *guardFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return sizeless{info}, err
}

func (f *guardFile) ReadDir(n int) ([]fs.DirEntry, error) {
	return f.File.(fs.ReadDirFile).ReadDir(n)
}

type sizeless struct{ fs.FileInfo }

func (sizeless) Size() int64 { return 0 }

func TestReadInstanceOpensNothingThatConsumes(t *testing.T) {
	g := &guardFS{FS: liveTree(), t: t, reads: map[string]int{}}
	buffers, err := FindBuffers(g, ".")
	if err != nil {
		t.Fatal(err)
	}
	if want := []Buffer{{"", "."}, {"foo", "instances/foo"}}; !slices.Equal(buffers, want) {
		t.Fatalf("buffers %v, want %v", buffers, want)
	}
	for _, b := range buffers {
		in, err := ReadInstance(g, b.Dir, ReadOptions{})
		if err != nil || len(in.Problems) > 0 || len(in.Missing) > 0 {
			t.Fatalf("%v: %v, problems %v, missing %v", b, err, in.Problems, in.Missing)
		}
		if len(in.CPUs) != 3 || in.CPUs[0].ID != 0 || in.CPUs[1].ID != 1 || in.CPUs[2].ID != 10 {
			t.Errorf("CPUs %+v", in.CPUs)
		}
		if c := in.CPUs[2]; c.Stats.Overrun.V != 1329940 || c.Size.KB.V != 11 || c.Stats.Overrun.File != path.Join(b.Dir, "per_cpu/cpu10/stats") {
			t.Errorf("cpu 10: %+v", c.Stats.Overrun)
		}
		if c := in.CPUs[0]; c.Files.PipeRaw == "" || c.Files.SnapshotRaw == "" || c.Files.BufferMeta == "" || in.Files.Trace == "" || in.Files.Snapshot == "" {
			t.Errorf("files %+v %+v", in.Files, c.Files)
		}
		if in.Size.KB.V != 11 || in.TotalSize.KB.V != 22 || in.SubbufKB.V != 4 || in.BufferPercent.V != 50 || in.Clock.Unit() != Nanoseconds ||
			!in.Tracing.V || in.Tracer.V != "nop" || !in.Options.Get("overwrite").V || in.HeaderPage.SubbufSize() != 4096 || in.LongSize() != 8 ||
			in.TimestampMode.V != "delta" || !slices.Equal(in.CPUMask.V, []int{0, 1}) || in.EventPID.V != "12" || in.FtracePID.OK {
			t.Errorf("%+v", in)
		}
		if f := in.Options.Get("pause-on-trace"); !f.OK || f.V || f.File != path.Join(b.Dir, "options/pause-on-trace") {
			t.Errorf("pause-on-trace %+v", f)
		}
		if in.LastBoot != nil || in.Online.OK || in.HeaderEvent != nil {
			t.Errorf("something that is not there: %+v", in)
		}
	}
	stats := 0
	for name, n := range g.reads {
		if path.Base(name) == "stats" {
			stats++
			if n != 1 {
				t.Errorf("%s was read with %d calls; each generates its text anew", name, n)
			}
		}
	}
	if stats != 6 {
		t.Errorf("%d stats files were read, want 6", stats)
	}

	g.reads = map[string]int{}
	in, err := ReadInstance(g, ".", ReadOptions{StatsOnly: true})
	if err != nil || len(g.reads) != 3 || len(in.CPUs) != 3 {
		t.Errorf("StatsOnly: %v, read %v", err, g.reads)
	}
	if in, _ := ReadInstance(g, ".", ReadOptions{}); !slices.Equal(in.Instances, []string{"foo"}) ||
		in.Kprobes.List[0].MaxActive.V != 10 || in.KprobeProfile.List[0].Misses.V != 192 {
		t.Errorf("%+v", in)
	}
}

// faultFS makes some files fail.
type faultFS struct {
	fstest.MapFS
	fail map[string]error
}

func (f faultFS) Open(name string) (fs.File, error) {
	if err := f.fail[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f.MapFS.Open(name)
}

func TestReadInstanceFaults(t *testing.T) {
	tree := liveTree()
	tree["per_cpu/cpu1/stats"] = &fstest.MapFile{Data: nil}                // an empty copy
	tree["buffer_size_kb"] = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777} // a broken link
	tree["trace_clock/file"] = &fstest.MapFile{Data: []byte("x")}          // a folder in a file's place
	delete(tree, "trace_clock")
	delete(tree, "tracing_on")
	delete(tree, "per_cpu/cpu10/stats")
	tree["buffer_percent"] = &fstest.MapFile{Data: []byte("fifty\n")}
	fsys := faultFS{tree, map[string]error{
		"per_cpu/cpu0/stats": fs.ErrPermission,
		"buffer_size_kb":     fs.ErrNotExist,
	}}
	in, err := ReadInstance(fsys, ".", ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"tracing_on", "per_cpu/cpu10/stats"}; !slices.Equal(in.Missing, want) {
		t.Errorf("missing %v, want %v", in.Missing, want)
	}
	want := []string{
		"buffer_size_kb: file does not exist (it is a symbolic link to something that is not here",
		`buffer_percent:1:1: found "fifty", expected a percentage`,
		"trace_clock: is a folder",
		"per_cpu/cpu0/stats: permission denied (tracefs and its copies are root's",
		"per_cpu/cpu1/stats: the file is empty",
	}
	if len(in.Problems) != len(want) {
		t.Fatalf("problems %q", in.Problems)
	}
	for i, w := range want {
		if !strings.HasPrefix(in.Problems[i].Error(), w) {
			t.Errorf("problem %d is %q, want %q…", i, in.Problems[i], w)
		}
	}
	if !errors.Is(in.Problems[3], fs.ErrPermission) {
		t.Error("the reason is not wrapped")
	}
	if len(in.CPUs) != 3 || in.CPUs[0].Stats != nil || in.CPUs[1].Stats != nil || in.CPUs[2].Stats != nil || in.Size.KB.OK {
		t.Errorf("values out of nothing: %+v", in.CPUs)
	}
}

func TestReadInstanceNone(t *testing.T) {
	for _, c := range []struct {
		fsys fs.FS
		dir  string
		want string
	}{
		{fstest.MapFS{"empty": &fstest.MapFile{Mode: fs.ModeDir}}, "empty", `found "an empty folder", expected a tracefs instance (an empty tracefs means`},
		{fstest.MapFS{}, "nowhere", "nowhere: file does not exist (is tracefs mounted?"},
		{fstest.MapFS{"a.txt": &fstest.MapFile{}, "b.txt": &fstest.MapFile{}}, ".", `found "a.txt b.txt", expected a tracefs instance`},
	} {
		in, err := ReadInstance(c.fsys, c.dir, ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || in == nil {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// Copies made of symbolic links: a whole one is followed, a broken one is named.
func TestReadInstanceLinks(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real", "per_cpu", "cpu0")
	if err := os.MkdirAll(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(real, "stats"), []byte(stats61), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"linked": "real", "real/tracing_on": "nowhere", "real/per_cpu/cpu0/buffer_size_kb": "gone"} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Skipf("symbolic links: %v", err)
		}
	}
	fsys := os.DirFS(dir)
	buffers, err := FindBuffers(fsys, ".")
	if want := []Buffer{{"linked", "linked"}, {"real", "real"}}; err != nil || !slices.Equal(buffers, want) {
		t.Errorf("%v, %v, want %v", buffers, err, want)
	}
	in, err := ReadInstance(fsys, "linked", ReadOptions{})
	if err != nil || len(in.CPUs) != 1 || in.CPUs[0].Stats.Overrun.V != 1329940 {
		t.Fatalf("%v %+v", err, in)
	}
	if len(in.Problems) != 2 || !strings.HasPrefix(in.Problems[0].Error(), "linked/tracing_on: ") || !strings.Contains(in.Problems[1].Error(), "cp -L") ||
		!errors.Is(in.Problems[0], fs.ErrNotExist) {
		t.Errorf("problems %q", in.Problems)
	}
}

// A phase holds per_cpu/cpuN/stats and nothing else.
func TestReadInstancePhase(t *testing.T) {
	m := fstest.MapFS{"cap/stats.2-after/per_cpu/cpu0/stats": &fstest.MapFile{Data: []byte(stats61)}, "cap/trace": &fstest.MapFile{}}
	in, err := ReadInstance(m, "cap/stats.2-after", ReadOptions{})
	if err != nil || len(in.Problems) > 0 || in.CPUs[0].Stats.Entries.V != 432 || in.Name != "stats.2-after" {
		t.Errorf("%v %+v", err, in)
	}
	_, err = FindBuffers(m, "cap")
	var fe *FormatError
	if !errors.As(err, &fe) || !strings.Contains(err.Error(), "give one of stats.2-after") {
		t.Errorf("%v; a phase must not be read unless named", err)
	}
	in, err = ReadInstance(m, "cap", ReadOptions{})
	if err == nil || len(in.CPUs) > 0 {
		t.Errorf("%v %+v", err, in)
	}
}

func TestFindBuffers(t *testing.T) {
	file := &fstest.MapFile{Data: []byte(stats61)}
	for _, c := range []struct {
		name string
		fsys fstest.MapFS
		want []Buffer
	}{
		{"two below", fstest.MapFS{"top/per_cpu/cpu0/stats": file, "foo/per_cpu/cpu0/stats": file, "doc/x": file, "stats.1/per_cpu/cpu0/stats": file},
			[]Buffer{{"foo", "foo"}, {"top", "top"}}},
		{"root and an instance", fstest.MapFS{"per_cpu/cpu0/stats": file, "instances/a/per_cpu/cpu0/stats": file, "foo/per_cpu/cpu0/stats": file},
			[]Buffer{{"", "."}, {"a", "instances/a"}}},
		{"per_cpu is a file", fstest.MapFS{"per_cpu": file, "x/per_cpu/cpu0/stats": file}, []Buffer{{"x", "x"}}},
		{"nothing", fstest.MapFS{"a/b/per_cpu/cpu0/stats": file}, nil},
	} {
		got, err := FindBuffers(c.fsys, ".")
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

// A saved file is read whole even where a read call returns less.
func TestReadStatsShortReads(t *testing.T) {
	data, err := readStats(&smallReads{strings.NewReader(stats61)})
	if err != nil || string(data) != stats61 {
		t.Errorf("%v, %q", err, data)
	}
}

type smallReads struct{ *strings.Reader }

func (s *smallReads) Read(b []byte) (int, error) { return s.Reader.Read(b[:min(len(b), 7)]) }

var _ io.Reader = (*smallReads)(nil)
