package tracefs

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

// touchy is a tracefs that fails the test when something is opened whose opening
// or reading has an effect, by rules of its own. stops says of which instances
// opening trace or snapshot would stop the recording or lose what they hold.
type touchy struct {
	fstest.MapFS
	t     *testing.T
	stops map[string]bool
	reads map[string]int // calls of Read by path
}

func (f *touchy) Open(name string) (fs.File, error) {
	inst, base := ".", path.Base(name)
	if p := strings.Split(name, "/"); len(p) > 2 && p[0] == "instances" {
		inst = p[1]
	}
	switch base {
	case "trace_pipe", "trace_pipe_raw", "snapshot_raw":
		f.t.Errorf("%s was opened: that consumes", name)
	case "free_buffer", "trace_marker", "trace_marker_raw":
		f.t.Errorf("%s was opened: that changes", name)
	case "trace", "snapshot":
		if f.stops[inst] {
			f.t.Errorf("%s was opened: that stops the recording or resets", name)
		}
	}
	file, err := f.MapFS.Open(name)
	if err != nil || base != "stats" {
		return file, err
	}
	return &countedFile{File: file, f: f, name: name}, nil
}

type countedFile struct {
	fs.File
	f    *touchy
	name string
}

func (c *countedFile) Read(p []byte) (int, error) {
	if len(p) < 512 {
		c.f.t.Errorf("%s is read with %d bytes: the kernel makes the text anew for the rest", c.name, len(p))
	}
	c.f.reads[c.name]++
	return c.File.Read(p)
}

// instance adds an instance's files under dir.
func instance(m fstest.MapFS, dir string, files map[string]string) {
	base := map[string]string{
		"trace": "# tracer: nop\n", "snapshot": "#\n", "trace_pipe": "x\n", "tracing_on": "1\n", "free_buffer": "", "trace_marker": "",
		"per_cpu/cpu0/stats": "entries: 0\noverrun: 0\n", "per_cpu/cpu0/trace": "x", "per_cpu/cpu0/trace_pipe": "x",
		"per_cpu/cpu0/trace_pipe_raw": "x", "per_cpu/cpu0/snapshot": "x", "per_cpu/cpu0/snapshot_raw": "x",
		"per_cpu/cpu0/buffer_size_kb": "7\n", "options/overwrite": "1\n", "events/header_page": "x", "future_file": "x",
		"events/sched/sched_switch/format": "x", "events/sched/sched_switch/inject": "x", "trace_clock": "[local]\n",
	}
	for name, text := range files {
		base[name] = text
	}
	for name, text := range base {
		if text != "absent" {
			m[path.Join(dir, name)] = &fstest.MapFile{Data: []byte(text)}
		}
	}
}

func TestGuard(t *testing.T) {
	m := fstest.MapFS{}
	instance(m, ".", map[string]string{"options/pause-on-trace": "0\n"})
	stops := map[string]bool{}
	for name, c := range map[string]struct {
		files map[string]string
		stops bool
	}{
		"modern":       {map[string]string{"options/pause-on-trace": "0\n"}, false},
		"pauses":       {map[string]string{"options/pause-on-trace": "1\n"}, true},
		"old":          {nil, true},
		"old-stopped":  {map[string]string{"tracing_on": "0\n"}, false},
		"unreadable":   {map[string]string{"options/pause-on-trace": ""}, true},
		"boot-empty":   {map[string]string{"options/pause-on-trace": "0\n", "last_boot_info": "# Current\n"}, true},
		"boot-stopped": {map[string]string{"tracing_on": "0\n", "last_boot_info": "text delta:\t0\n"}, true},
		"boot-full":    {map[string]string{"options/pause-on-trace": "0\n", "last_boot_info": "text delta:\t0\n", "per_cpu/cpu0/stats": "entries: 7808\n"}, false},
		"boot-no-cpus": {map[string]string{"options/pause-on-trace": "0\n", "last_boot_info": "", "per_cpu/cpu0/stats": "absent"}, true},
	} {
		instance(m, "instances/"+name, c.files)
		stops[name] = c.stops
	}
	f := &touchy{MapFS: m, t: t, stops: stops, reads: map[string]int{}}
	g := Guard(f)

	allowed := map[string]bool{
		"tracing_on": true, "per_cpu/cpu0/stats": true, "per_cpu/cpu0/buffer_size_kb": true, "options/overwrite": true,
		"events/header_page": true, "events/sched/sched_switch/format": true, "options/pause-on-trace": true,
		"last_boot_info": true, "trace_clock": true,
	}
	refused := 0
	err := fs.WalkDir(g, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		inst, file := ".", name
		if p := strings.SplitN(name, "/", 3); p[0] == "instances" {
			inst, file = p[1], p[2]
		}
		base := path.Base(file)
		want := allowed[file] || (base == "trace" || base == "snapshot") && !stops[inst]
		opened, err := g.Open(name)
		switch {
		case want && err != nil:
			t.Errorf("%s: %v", name, err)
		case !want && !errors.Is(err, ErrRefused):
			t.Errorf("%s: %v, want it refused", name, err)
		case !want:
			refused++
			if why := err.Error(); !strings.Contains(why, name) || len(why) < len(name)+30 {
				t.Errorf("%s: the reason is %q", name, why)
			}
		}
		if opened != nil {
			opened.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Refused(); len(got) != refused || refused < 50 {
		t.Errorf("%d files are listed as refused, %d were", len(got), refused)
	}

	clear(f.reads)
	const stats = "instances/boot-full/per_cpu/cpu0/stats"
	b, err := fs.ReadFile(g, stats)
	if err != nil || string(b) != "entries: 7808\n" || f.reads[stats] != 1 {
		t.Errorf("%s: %q, %v, by %d reads", stats, b, err, f.reads[stats])
	}
	if info, err := fs.Stat(g, stats); err != nil || info.IsDir() {
		t.Errorf("Stat: %v", err)
	}
	if _, err := g.Open("../x"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a path that leaves the tracefs: %v", err)
	}
	if _, err := g.Open("no"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}

	// ReadInstance through the guard, on the same touchy tracefs.
	in, err := ReadInstance(g, "instances/old", ReadOptions{})
	if err != nil || len(in.CPUs) != 1 || in.CPUs[0].Stats == nil {
		t.Errorf("ReadInstance: %+v, %v", in, err)
	}
}
