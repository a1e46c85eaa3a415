package tracefs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrRefused is wrapped by the error of a [GuardedFS] for a file that it does
// not open: reading it would consume events or change what the kernel does.
var ErrRefused = errors.New("not opened")

// Refusal is a file that was there and was not opened, and why.
type Refusal struct {
	Path string // relative to the tracefs
	Why  string
}

// harmless are the files of an instance that can be opened for reading and read
// without any effect that lasts, by kernel trees 4.4 to 7.3. What is not here,
// below options/ or trace_stat/, or an event's own file, is not opened.
//
// (Even here reading is not quite nothing: stats and trace sample the clock, and
// the clock named "counter" counts its samples.)
var harmless = map[string]bool{
	"README": true, "available_events": true, "available_tracers": true,
	"buffer_percent": true, "buffer_size_kb": true, "buffer_subbuf_size_kb": true,
	"buffer_total_size_kb": true, "current_tracer": true, "dynamic_events": true,
	"dyn_ftrace_total_info": true, "enabled_functions": true, "error_log": true,
	"events/enable": true, "events/header_event": true, "events/header_page": true,
	"kprobe_events": true, "kprobe_profile": true, "kprobes/enabled": true,
	"last_boot_info": true, "max_graph_depth": true, "printk_formats": true,
	"recursed_functions": true, "saved_cmdlines": true, "saved_cmdlines_size": true,
	"saved_tgids": true, "set_event": true, "set_event_notrace_pid": true,
	"set_event_pid": true, "set_ftrace_filter": true, "set_ftrace_notrace": true,
	"set_ftrace_notrace_pid": true, "set_ftrace_pid": true, "set_graph_function": true,
	"set_graph_notrace": true, "synthetic_events": true, "timestamp_mode": true,
	"trace_clock": true, "trace_options": true, "tracing_cpumask": true,
	"tracing_max_latency": true, "tracing_on": true, "tracing_thresh": true,
	"uprobe_events": true, "uprobe_profile": true,
}

// consuming are the files whose reading takes events away from everybody else.
var consuming = map[string]bool{"trace_pipe": true, "trace_pipe_raw": true, "snapshot_raw": true}

// MayRead tells whether opening and reading a file of an instance leaves the
// kernel as it was; if not, why says so in half a sentence. inst is rooted at
// the instance's folder (or the tracefs itself), and file is relative to it.
//
// It refuses what consumes (trace_pipe, trace_pipe_raw, snapshot_raw), what
// resizes (free_buffer), and every file that it does not know. The texts trace
// and snapshot, of all CPUs or of one, it allows only where opening them stops
// no recording: up to the 5.4 tree the open always stopped it, since the 5.8
// tree only the option pause-on-trace does (kernel/trace/trace.c, tracing_open);
// so the option must exist and be 0, or tracing_on be 0. A boot-mapped buffer
// that is empty is left alone: since the 7.2 tree reading it throws away what
// it held of the last boot.
func MayRead(inst fs.FS, file string) (ok bool, why string) {
	name := path.Base(file)
	cpu, perCPU := strings.CutPrefix(path.Dir(file), "per_cpu/cpu")
	perCPU = perCPU && cpu != "" && !strings.Contains(cpu, "/")
	switch {
	case consuming[name]:
		return false, "reading it consumes events"
	case file == "free_buffer":
		return false, "closing it shrinks the buffer"
	case harmless[file]:
		return true, ""
	case perCPU && (name == "stats" || name == "buffer_size_kb" || name == "buffer_meta"):
		return true, ""
	case (file == name || perCPU) && (name == "trace" || name == "snapshot"):
		return mayReadText(inst)
	case path.Dir(file) == "options", path.Dir(file) == "trace_stat":
		return true, ""
	case strings.HasPrefix(file, "events/") && slices.Contains([]string{"enable", "filter", "format", "hist", "id", "trigger"}, name):
		return true, ""
	}
	return false, "not known to be free of effects"
}

// mayReadText decides on trace and snapshot.
func mayReadText(inst fs.FS) (ok bool, why string) {
	if _, exists := word(inst, "last_boot_info"); exists && !holdsEvents(inst) {
		return false, "the buffer is boot-mapped and empty, or its counters cannot be read; some kernels reset it when it is read"
	}
	if v, _ := word(inst, "tracing_on"); v == "0" {
		return true, ""
	}
	switch v, exists := word(inst, "options/pause-on-trace"); {
	case v == "0":
		return true, ""
	case !exists:
		return false, "recording is on and there is no options/pause-on-trace: opening it may stop the recording (kernels before 5.8); set tracing_on to 0 first"
	default:
		return false, "recording is on and options/pause-on-trace is not 0: opening it stops the recording; set one of them to 0 first"
	}
}

// word is the first word of a small file, and whether the file is there.
func word(fsys fs.FS, name string) (string, bool) {
	b, err := readOnce(fsys, name)
	if err != nil {
		return "", !errors.Is(err, fs.ErrNotExist)
	}
	if f := bytes.Fields(b); len(f) > 0 {
		return string(f[0]), true
	}
	return "", true
}

// holdsEvents tells whether the counters of some CPU say that there are events.
func holdsEvents(inst fs.FS) bool {
	cpus, err := fs.ReadDir(inst, "per_cpu")
	if err != nil {
		return false
	}
	for _, c := range cpus {
		b, err := readOnce(inst, "per_cpu/"+c.Name()+"/stats")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			n, ok := strings.CutPrefix(line, "entries:")
			if n = strings.TrimSpace(n); ok && n != "" && n != "0" {
				return true
			}
		}
	}
	return false
}

// readOnce reads a small file with one read(2) at offset 0. The kernel makes
// the text of stats anew for every read, so that a second one could append the
// end of another generation (FACTS: trace.c, tracing_stats_read).
func readOnce(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 4096)
	n, err := f.Read(b)
	if err == io.EOF {
		err = nil
	}
	return b[:n], err
}

// GuardedFS is a live tracefs that can be read without effect: it opens what
// [MayRead] allows and refuses everything else, whoever asks. The stats files
// come from a single read each.
type GuardedFS struct {
	fsys    fs.FS
	mu      sync.Mutex
	refused map[string]string
}

// Guard wraps a live tracefs, rooted at its mount point (or at an instance).
func Guard(fsys fs.FS) *GuardedFS {
	return &GuardedFS{fsys: fsys, refused: make(map[string]string)}
}

// Open opens a file or folder. The error for a refused file wraps [ErrRefused].
func (g *GuardedFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	info, err := g.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return g.fsys.Open(name)
	}
	inst, file, err := g.instance(name)
	if err != nil {
		return nil, err
	}
	if ok, why := MayRead(inst, file); !ok {
		g.mu.Lock()
		g.refused[name] = why
		g.mu.Unlock()
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: %s", ErrRefused, why)}
	}
	if path.Base(file) == "stats" {
		b, err := readOnce(g.fsys, name)
		if err != nil {
			return nil, err
		}
		return &readFile{info: info, Reader: bytes.NewReader(b)}, nil
	}
	return g.fsys.Open(name)
}

// instance splits the path of a file into the instance's tree and the rest.
func (g *GuardedFS) instance(name string) (fs.FS, string, error) {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) < 3 || parts[0] != "instances" {
		return g.fsys, name, nil
	}
	inst, err := fs.Sub(g.fsys, path.Join(parts[0], parts[1]))
	return inst, parts[2], err
}

// Stat describes a file without opening it.
func (g *GuardedFS) Stat(name string) (fs.FileInfo, error) {
	if s, ok := g.fsys.(fs.StatFS); ok {
		return s.Stat(name)
	}
	if name == "." {
		return fs.Stat(g.fsys, name)
	}
	list, err := fs.ReadDir(g.fsys, path.Dir(name))
	if err != nil {
		return nil, err
	}
	for _, d := range list {
		if d.Name() == path.Base(name) {
			return d.Info()
		}
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// Refused is what was asked for and not opened so far, by path.
func (g *GuardedFS) Refused() []Refusal {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]Refusal, 0, len(g.refused))
	for p, why := range g.refused {
		list = append(list, Refusal{Path: p, Why: why})
	}
	slices.SortFunc(list, func(a, b Refusal) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// readFile is a file that was read already.
type readFile struct {
	info fs.FileInfo
	*bytes.Reader
}

func (f *readFile) Stat() (fs.FileInfo, error) { return sizedInfo{f.info, f.Reader.Size()}, nil }
func (f *readFile) Close() error               { return nil }

// sizedInfo is a FileInfo with the size that was read; tracefs states 0.
type sizedInfo struct {
	fs.FileInfo
	size int64
}

func (i sizedInfo) Size() int64        { return i.size }
func (i sizedInfo) ModTime() time.Time { return time.Time{} }
