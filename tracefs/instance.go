package tracefs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Instance is what the small files of one tracefs instance say: of the top one,
// of one under instances/, or of a saved copy of either.
//
// A file that is not there leaves its field absent and its name in Missing. A
// file that is there and could not be read, or not understood, leaves it absent
// too, and an error in Problems that names it.
type Instance struct {
	Dir  string // its folder in the fs.FS, "." for the root
	Name string // the folder's last element; empty for "."

	CPUs []CPU // of per_cpu, sorted by ID

	Size          Size         // buffer_size_kb
	TotalSize     Size         // buffer_total_size_kb
	SubbufKB      Field[int64] // buffer_subbuf_size_kb; absent before v6.8: one page
	BufferPercent Field[int64] // how full, in percent of sub-buffers, a blocked raw reader is woken

	HeaderPage  *HeaderPage  // events/header_page; nil if absent
	HeaderEvent *HeaderEvent // events/header_event; nil if absent

	Options Options       // trace_options, and options/NAME where the list lacks a name
	Clock   Clock         // trace_clock
	Tracing Field[bool]   // tracing_on
	Tracer  Field[string] // current_tracer
	// TimestampMode is timestamp_mode: "delta" or "absolute", the bracketed one.
	TimestampMode Field[string]

	LastBoot *LastBoot // last_boot_info: the buffer survives reboots; nil if absent

	CPUMask           Field[[]int]  // tracing_cpumask
	SavedCmdlinesSize Field[int64]  // saved_cmdlines_size
	EventPID          Field[string] // set_event_pid: first line; present and not empty means that other tasks are refused, uncounted
	EventNotracePID   Field[string] // set_event_notrace_pid, the reverse
	FtracePID         Field[string] // set_ftrace_pid

	Kprobes       Probes // kprobe_events
	Uprobes       Probes // uprobe_events
	DynamicEvents Probes // dynamic_events: all kinds
	KprobeProfile Profile
	UprobeProfile Profile
	ErrorLog      []TracingError

	// What a saved copy may hold beside the tracefs files.
	Online      Field[[]int] // cpu-online
	Possible    Field[[]int] // cpu-possible
	PageSize    Field[int64] // pagesize, bytes
	Uname       Kernel       // uname-a
	ProcVersion Kernel       // proc-version
	ProcCmdline Field[string]

	// Text and raw files that are there. None of them was opened: opening trace
	// stops recording up to v5.4, and reading the others takes events away.
	Files Files

	Instances []string // the folders under instances/, sorted
	Phases    []string // folders named stats.*: counters of other moments, not read

	Missing  []string // files that every instance has and this folder lacks
	Problems []error  // [FileError], [FormatError] and [SyntaxError], in reading order
}

// CPU is one per_cpu/cpuN folder.
type CPU struct {
	ID    int
	Dir   string // its folder in the fs.FS
	Stats *Stats // per_cpu/cpuN/stats; nil if there is none or it could not be read
	Size  Size   // per_cpu/cpuN/buffer_size_kb; also printed for CPUs that own no memory
	Files Files
}

// Files tells which text and raw files a folder has. The names are paths in the
// fs.FS; empty means absent.
type Files struct {
	Trace       string // trace
	Snapshot    string // snapshot
	SnapshotRaw string // per CPU: snapshot_raw
	PipeRaw     string // per CPU: trace_pipe_raw
	BufferMeta  string // per CPU: buffer_meta, only where the buffer is mapped at boot

	// Texts are further files of a saved copy that by their names may hold trace
	// text: trace_pipe.txt, trace.after-…, snapshot.initial, dmesg.txt. The live
	// trace_pipe is not among them.
	Texts []string
}

// ReadOptions chooses what [ReadInstance] reads. The zero value reads all.
type ReadOptions struct {
	// StatsOnly reads per_cpu/*/stats and nothing else: the second sample of a
	// live buffer.
	StatsOnly bool
}

// ReadInstance reads the small files of the instance whose folder is dir.
//
// It opens nothing that consumes events or changes the state of a live tracefs:
// not trace, trace_pipe, snapshot, their per-CPU and raw forms, free_buffer, nor
// any file for writing. Each stats file is read with one read call at offset 0,
// because the kernel generates its text anew for every call and a second one
// would mix two moments (kernel/trace/trace.c: tracing_stats_read).
//
// The error is a [FileError] if dir is not there or cannot be listed, or a
// [FormatError] if it has neither per_cpu nor any other file of a tracefs
// instance. Everything smaller is in Instance.Problems.
func ReadInstance(fsys fs.FS, dir string, opt ReadOptions) (*Instance, error) {
	in := &Instance{Dir: dir}
	if dir != "." {
		in.Name = path.Base(dir)
	}
	root, err := openFolder(fsys, dir)
	if err != nil {
		return in, err
	}
	rd := &reader{fsys: fsys, in: in}
	if !opt.StatsOnly {
		rd.state(root)
		in.Files = root.files()
		in.listFolders(fsys, root)
	}
	rd.cpus(root, opt)
	if len(in.CPUs) == 0 && len(root.entries) > 0 && rd.opened == 0 {
		return in, &FormatError{File: dir, Found: root.names(5), Expected: "a tracefs instance: per_cpu/cpuN/stats, buffer_size_kb, trace_clock, …"}
	}
	if len(root.entries) == 0 {
		return in, &FormatError{File: dir, Found: "an empty folder", Expected: "a tracefs instance",
			Hint: "an empty tracefs means that it is not mounted there, or that kernel lockdown hides it"}
	}
	return in, nil
}

// folder is a listed directory.
type folder struct {
	fsys    fs.FS
	dir     string
	entries map[string]fs.DirEntry
}

func openFolder(fsys fs.FS, dir string) (folder, error) {
	f := folder{fsys: fsys, dir: dir, entries: map[string]fs.DirEntry{}}
	list, err := fs.ReadDir(fsys, dir)
	if err != nil && len(list) == 0 {
		return f, &FileError{File: dir, Err: err, Hint: hintFor(err)}
	}
	for _, e := range list {
		f.entries[e.Name()] = e
	}
	return f, nil
}

func (f folder) has(name string) bool { _, ok := f.entries[name]; return ok }

func (f folder) path(name string) string { return path.Join(f.dir, name) }

func (f folder) names(n int) string {
	var out []string
	for name := range f.entries {
		out = append(out, name)
	}
	slices.Sort(out)
	if len(out) > n {
		out = append(out[:n], "…")
	}
	return strings.Join(out, " ")
}

// files finds the text and raw files by name. The live trace_pipe is left out.
func (f folder) files() Files {
	var fl Files
	at := func(name string) string {
		if f.has(name) {
			return f.path(name)
		}
		return ""
	}
	fl.Trace, fl.Snapshot = at("trace"), at("snapshot")
	fl.SnapshotRaw, fl.PipeRaw, fl.BufferMeta = at("snapshot_raw"), at("trace_pipe_raw"), at("buffer_meta")
	for name := range f.entries {
		if looksLikeText(name) {
			fl.Texts = append(fl.Texts, f.path(name))
		}
	}
	slices.Sort(fl.Texts)
	return fl
}

func looksLikeText(name string) bool {
	for _, p := range []string{"trace.", "trace_pipe.", "snapshot.", "dmesg"} {
		if strings.HasPrefix(name, p) && name != "trace.dat" {
			return true
		}
	}
	return false
}

func (in *Instance) listFolders(fsys fs.FS, root folder) {
	for name, e := range root.entries {
		if strings.HasPrefix(name, "stats.") && isFolder(fsys, root.path(name), e) {
			in.Phases = append(in.Phases, name)
		}
	}
	slices.Sort(in.Phases)
	if !root.has("instances") {
		return
	}
	sub, err := openFolder(fsys, root.path("instances"))
	if err != nil {
		in.Problems = append(in.Problems, err)
		return
	}
	for name, e := range sub.entries {
		if isFolder(fsys, sub.path(name), e) {
			in.Instances = append(in.Instances, name)
		}
	}
	slices.Sort(in.Instances)
}

// isFolder follows a symbolic link, which a saved copy may be made of.
func isFolder(fsys fs.FS, name string, e fs.DirEntry) bool {
	if e.IsDir() {
		return true
	}
	if e.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := fs.Stat(fsys, name)
	return err == nil && info.IsDir()
}

// reader reads the files of one instance.
type reader struct {
	fsys   fs.FS
	in     *Instance
	opened int // files that could be opened
}

// file parses one small file. It reports whether it is there.
func (rd *reader) file(f folder, name string, parse func(r io.Reader, name string) error) bool {
	e, ok := f.entries[name]
	if !ok {
		return false
	}
	full := f.path(name)
	fl, err := rd.fsys.Open(full)
	if err != nil {
		rd.problem(openError(full, e, err))
		return true
	}
	defer fl.Close()
	rd.opened++
	if info, err := fl.Stat(); err == nil && info.IsDir() {
		rd.problem(&FileError{File: full, Err: errors.New("is a folder"), Hint: "a tracefs file of this name is a plain file"})
		return true
	}
	if err := parse(fl, full); err != nil {
		rd.problem(err)
	}
	return true
}

func (rd *reader) problem(err error) { rd.in.Problems = append(rd.in.Problems, err) }

func (rd *reader) syntax(errs []*SyntaxError) {
	for _, e := range errs {
		rd.problem(e)
	}
}

func openError(full string, e fs.DirEntry, err error) error {
	if errors.Is(err, fs.ErrNotExist) && e.Type()&fs.ModeSymlink != 0 {
		return &FileError{File: full, Err: err,
			Hint: "it is a symbolic link to something that is not here; copy the files it points to (cp -L)"}
	}
	return &FileError{File: full, Err: err, Hint: hintFor(err)}
}

func hintFor(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "tracefs and its copies are root's by default: run as root, or chmod the copy"
	case errors.Is(err, fs.ErrNotExist):
		return "is tracefs mounted? mount -t tracefs tracefs /sys/kernel/tracing"
	}
	return ""
}

// cpus reads per_cpu.
func (rd *reader) cpus(root folder, opt ReadOptions) {
	if !root.has("per_cpu") {
		rd.in.Missing = append(rd.in.Missing, "per_cpu")
		return
	}
	per, err := openFolder(rd.fsys, root.path("per_cpu"))
	if err != nil {
		rd.problem(err)
		return
	}
	var ids []int
	for name := range per.entries {
		if id, ok := cpuFolder(name); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		sub, err := openFolder(rd.fsys, per.path("cpu"+strconv.Itoa(id)))
		if err != nil {
			rd.problem(err)
			continue
		}
		c := CPU{ID: id, Dir: sub.dir}
		rd.cpu(&c, sub, opt)
		rd.in.CPUs = append(rd.in.CPUs, c)
	}
	if len(rd.in.CPUs) == 0 {
		rd.in.Missing = append(rd.in.Missing, "per_cpu/cpuN")
	}
}

// cpuFolder is the N of a folder named cpuN.
func cpuFolder(name string) (int, bool) {
	n, ok := strings.CutPrefix(name, "cpu")
	if !ok || n == "" || !allDigits(n) || (len(n) > 1 && n[0] == '0') {
		return 0, false
	}
	id, err := strconv.Atoi(n)
	return id, err == nil && id < MaxCPUs
}

func (rd *reader) cpu(c *CPU, f folder, opt ReadOptions) {
	c.Files = f.files()
	found := rd.file(f, "stats", func(r io.Reader, name string) error {
		data, err := readStats(r)
		if err != nil {
			return &FileError{File: name, Err: err, Hint: hintFor(err)}
		}
		st := &Stats{File: name}
		if err := st.parse(data); err != nil {
			return err
		}
		c.Stats = st
		rd.syntax(st.Errors)
		return nil
	})
	if !found {
		rd.in.Missing = append(rd.in.Missing, fmt.Sprintf("per_cpu/cpu%d/stats", c.ID))
	}
	if opt.StatsOnly {
		return
	}
	rd.file(f, "buffer_size_kb", func(r io.Reader, name string) (err error) {
		c.Size, err = ParseSize(r, name)
		return err
	})
}

// statsRead is the size of the one read call that a stats file gets. The longest
// text that the kernel makes of eight 20-digit numbers is below 400 bytes.
const statsRead = 4096

// readStats takes the whole of a stats file in one read call. A file with a size
// is a saved copy, which does not change between calls: it is read to its end
// even if a call returns less.
func readStats(r io.Reader) ([]byte, error) {
	buf := make([]byte, statsRead)
	n, err := r.Read(buf)
	if err != nil && err != io.EOF {
		return nil, err
	}
	data := buf[:n]
	if err == io.EOF {
		return data, nil
	}
	if f, ok := r.(fs.File); ok {
		if info, err := f.Stat(); err == nil && info.Size() <= int64(n) {
			return data, nil
		}
	}
	rest, err := io.ReadAll(io.LimitReader(r, maxSmall))
	return append(data, rest...), err
}
