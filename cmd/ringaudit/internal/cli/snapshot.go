package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/bundle"
)

// snapshotScript does in sh what snapshot does.
//
//go:embed snapshot.sh
var snapshotScript string

// snapshotOptions is the command line of snapshot.
type snapshotOptions struct {
	Output      string
	From        string
	Instances   []string
	PrintScript bool
}

func newSnapshotCmd(env *Env) *cobra.Command {
	var opt snapshotOptions
	cmd := &cobra.Command{
		Use:   "snapshot {-o OUT | --print-script}",
		Short: "Save the evidence of a live tracefs, read-only, for an audit elsewhere",
		Long: `Copies what an audit needs of a live tracefs into OUT: counters, sizes, settings,
probes, and the texts of trace and snapshot. OUT is a folder, or one file if its
name ends in .tar or .tar.zst; it is written whole or not at all.

Nothing is consumed and nothing is changed: files whose reading takes events away
or stops the recording stay closed. Which, and why, is in the manifest of OUT and
on standard error.`,
		Example: `  ringaudit snapshot -o run.tar.zst && ringaudit audit run.tar.zst
  ringaudit snapshot --print-script | ssh HOST 'sh -s -- -o run.tar'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runSnapshot(env, opt) },
	}
	f := cmd.Flags()
	f.StringVarP(&opt.Output, "output", "o", "", "where to write: a folder, or a file NAME.tar or NAME.tar.zst")
	f.StringVar(&opt.From, "from", "", "the tracefs, where it is mounted elsewhere than usual")
	f.StringArrayVar(&opt.Instances, "instance", nil, "only this instance (top: the top level); may be repeated")
	f.BoolVar(&opt.PrintScript, "print-script", false, "print a POSIX sh script that does the same on a machine without ringaudit")
	return cmd
}

func runSnapshot(env *Env, opt snapshotOptions) error {
	if opt.PrintScript {
		if opt.Output != "" || opt.From != "" || len(opt.Instances) > 0 {
			return usagef("--print-script stands alone: the script takes -o, -d and -i itself")
		}
		_, err := io.WriteString(env.Stdout, snapshotScript)
		return err
	}
	if opt.Output == "" {
		return usagef("give -o OUT, a folder or a file NAME.tar or NAME.tar.zst")
	}
	mount, err := tracefsMount(opt.From)
	if err != nil {
		return exitWith(exitUnreadable, err)
	}
	w, err := bundle.Create(opt.Output)
	switch {
	case errors.Is(err, fs.ErrExist):
		return usagef("%v", err)
	case err != nil:
		return exitWith(exitUnreadable, err)
	}
	defer w.Abort()
	s := snapshotter{w: w, tr: tracefs.Guard(mount.FS), sys: os.DirFS("/"), now: env.Now, instances: opt.Instances}
	if err := s.run(); err != nil {
		return err
	}
	if err := w.Commit(); err != nil {
		return exitWith(exitUnreadable, err)
	}
	for _, n := range w.Manifest.NotOpened {
		fmt.Fprintf(env.Stderr, "not opened: %s: %s\n", n.Path, n.Why)
	}
	for _, n := range w.Manifest.Notes {
		fmt.Fprintf(env.Stderr, "note: %s\n", n)
	}
	if _, err := fmt.Fprintf(env.Stdout, "%s: %d files of %s\n", opt.Output, len(w.Manifest.Files), strings.Join(s.names, ", ")); err != nil {
		return err
	}
	if s.failed > 0 {
		return exitWith(exitUndecided, fmt.Errorf("%d files could not be read; the manifest says which", s.failed))
	}
	return nil
}

// snapshotFiles are the files that are copied of each instance, where it has them.
var snapshotFiles = []string{
	"buffer_percent", "buffer_size_kb", "buffer_subbuf_size_kb", "buffer_total_size_kb", "current_tracer",
	"dynamic_events", "error_log", "events/header_event", "events/header_page", "kprobe_events", "kprobe_profile",
	"last_boot_info", "saved_cmdlines_size", "set_event", "set_event_notrace_pid", "set_event_pid",
	"set_ftrace_filter", "set_ftrace_notrace", "set_ftrace_notrace_pid", "set_ftrace_pid", "synthetic_events",
	"timestamp_mode", "trace_clock", "trace_options", "tracing_cpumask", "tracing_max_latency", "tracing_on",
	"tracing_thresh", "uprobe_events", "uprobe_profile",
}

// closedFiles are named in the manifest where they exist: whoever reads it shall
// not wonder.
var closedFiles = []string{"trace_pipe", "free_buffer", "per_cpu/cpu*/trace_pipe", "per_cpu/cpu*/trace_pipe_raw", "per_cpu/cpu*/snapshot_raw"}

// smallFile bounds what is read of a file that holds settings, in bytes; the
// longest, set_ftrace_filter, lists 50,000 functions.
const smallFile = 16 << 20

// snapshotter copies one tracefs into one bundle.
type snapshotter struct {
	w         *bundle.Writer
	tr        *tracefs.GuardedFS
	sys       fs.FS // the machine's root, for /proc and /sys
	now       func() time.Time
	instances []string

	names  []string
	failed int
}

// place is an instance: where it is in the tracefs, and where it goes.
type place struct{ name, from, to string }

func (s *snapshotter) run() error {
	places, err := s.places()
	if err != nil {
		return err
	}
	s.w.Manifest.Tool = "ringaudit " + Version
	s.w.Manifest.Phases = []bundle.Phase{{Name: "snapshot", Path: "."}, {Name: "again", Path: "again", Repeats: "snapshot"}}
	// The counters first, and all of them twice at once: what moves between the
	// two is being recorded.
	for _, p := range places {
		s.names = append(s.names, p.name)
		s.stats(p, p.to)
	}
	for _, p := range places {
		s.stats(p, path.Join("again", p.to))
	}
	for _, p := range places {
		s.settings(p)
	}
	s.machine()
	for _, p := range places {
		recording := s.word(path.Join(p.from, "tracing_on")) != "0"
		for _, name := range []string{"trace", "snapshot"} {
			s.text(p, name, recording)
		}
	}
	return s.closed(places)
}

// places are the instances to copy. The top level, if it is among them, is the
// root of the bundle as it is of the tracefs; else each is a folder of its name.
func (s *snapshotter) places() ([]place, error) {
	var all []place
	if _, err := fs.ReadDir(s.tr, "per_cpu"); err != nil {
		return nil, exitWith(exitUnreadable, fmt.Errorf("no per_cpu folder: %w; this is no tracefs", err))
	}
	all = append(all, place{"top", ".", "."})
	list, err := fs.ReadDir(s.tr, "instances")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.fail("instances", err)
	}
	for _, d := range list {
		if d.IsDir() {
			all = append(all, place{d.Name(), path.Join("instances", d.Name()), path.Join("instances", d.Name())})
		}
	}
	if len(s.instances) == 0 {
		return all, nil
	}
	var some []place
	for _, name := range s.instances {
		i := slices.IndexFunc(all, func(p place) bool { return p.name == name })
		if i < 0 {
			var have []string
			for _, p := range all {
				have = append(have, p.name)
			}
			return nil, usagef("--instance %s: there is none of that name; there are %s", name, strings.Join(have, ", "))
		}
		if !slices.Contains(some, all[i]) {
			some = append(some, all[i])
		}
	}
	if !slices.Contains(some, all[0]) {
		for i := range some {
			some[i].to = some[i].name
		}
	}
	return some, nil
}

// stats copies the counters of an instance, each from one read.
func (s *snapshotter) stats(p place, to string) {
	for _, dir := range s.glob(p.from, "per_cpu/cpu*") {
		s.small(path.Join(p.from, dir, "stats"), path.Join(to, dir, "stats"))
	}
}

func (s *snapshotter) settings(p place) {
	files := slices.Clone(snapshotFiles)
	files = append(files, s.glob(p.from, "options/*")...)
	for _, dir := range s.glob(p.from, "per_cpu/cpu*") {
		files = append(files, path.Join(dir, "buffer_size_kb"))
	}
	for _, name := range files {
		s.small(path.Join(p.from, name), path.Join(p.to, name))
	}
	// Instances of older kernels have no header_page of their own: the sub-buffers
	// are as at the top level.
	if p.from != "." {
		for _, name := range []string{"events/header_page", "events/header_event"} {
			if _, err := fs.Stat(s.tr, path.Join(p.from, name)); errors.Is(err, fs.ErrNotExist) {
				s.small(name, path.Join(p.to, name))
			}
		}
	}
	if s.word(path.Join(p.from, "trace_clock")) != "" && strings.Contains(s.whole(path.Join(p.from, "trace_clock")), "[counter]") {
		s.w.Manifest.Notes = append(s.w.Manifest.Notes, p.name+": the trace clock is counter, and reading stats and trace has advanced it")
	}
}

// glob lists the names in a folder that match, sorted.
func (s *snapshotter) glob(dir, pattern string) []string {
	list, err := fs.ReadDir(s.tr, path.Join(dir, path.Dir(pattern)))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.fail(path.Join(dir, path.Dir(pattern)), err)
		}
		return nil
	}
	var names []string
	for _, d := range list {
		if ok, _ := path.Match(path.Base(pattern), d.Name()); ok {
			names = append(names, path.Join(path.Dir(pattern), d.Name()))
		}
	}
	slices.Sort(names)
	return names
}

// small copies a small file, if it is there.
func (s *snapshotter) small(from, to string) {
	f, err := s.tr.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var b []byte
	if err == nil {
		b, err = io.ReadAll(io.LimitReader(f, smallFile+1))
		f.Close()
		if err == nil && len(b) > smallFile {
			err = fmt.Errorf("more than %d bytes", smallFile)
		}
	}
	if err == nil {
		err = s.w.WriteFile(to, b)
	}
	if err != nil {
		s.fail(from, err)
	}
}

// fail notes that a file is not in the bundle. A refusal is no failure, and
// neither is a file that no count depends on: some kernels answer ENODEV for
// set_ftrace_filter and its like.
func (s *snapshotter) fail(name string, err error) {
	if errors.Is(err, tracefs.ErrRefused) {
		return // closed tells of them
	}
	if essential(name) {
		s.failed++
	}
	s.w.NotOpened(name, "could not be read: "+reasonText(err))
}

// essential tells whether an audit lacks something without the file.
func essential(name string) bool {
	if strings.Contains("/"+name, "/per_cpu") || path.Base(name) == "instances" {
		return true
	}
	switch path.Base(name) {
	case "buffer_size_kb", "buffer_subbuf_size_kb", "header_page", "kprobe_events", "kprobe_profile", "overwrite",
		"trace", "trace_clock", "trace_options", "snapshot", "tracing_on":
		return true
	}
	return false
}

// reasonText is an error without the path that stands beside it.
func reasonText(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func (s *snapshotter) whole(name string) string {
	b, err := fs.ReadFile(s.tr, name)
	if err != nil {
		return ""
	}
	return string(b)
}

func (s *snapshotter) word(name string) string {
	if f := strings.Fields(s.whole(name)); len(f) > 0 {
		return f[0]
	}
	return ""
}

// machine writes what the counters are read with: kernel, pages, CPUs. The
// machine's name stays out.
func (s *snapshotter) machine() {
	read := func(name string) string {
		b, err := fs.ReadFile(s.sys, name)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	release, arch := read("proc/sys/kernel/osrelease"), read("proc/sys/kernel/arch") // arch: since 6.1
	if arch == "" {
		arch = map[string]string{"amd64": "x86_64", "386": "i686", "arm64": "aarch64", "arm": "armv7l"}[runtime.GOARCH]
		if arch == "" {
			arch = runtime.GOARCH
		}
	}
	s.w.Manifest.Kernel, s.w.Manifest.Arch, s.w.Manifest.PageBytes = release, arch, uint64(os.Getpagesize())
	files := map[string]string{
		"pagesize":     fmt.Sprint(os.Getpagesize()),
		"proc-version": read("proc/version"),
		"cpu-online":   read("sys/devices/system/cpu/online"),
		"cpu-possible": read("sys/devices/system/cpu/possible"),
	}
	if release != "" {
		files["uname-a"] = strings.Join([]string{"Linux", "localhost", release, read("proc/sys/kernel/version"), arch, "GNU/Linux"}, " ")
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] == "" {
			continue
		}
		if err := s.w.WriteFile(name, []byte(files[name]+"\n")); err != nil {
			s.fail(name, err)
		}
	}
}

// closed lists in the manifest what was left alone: what the guard refused, and
// what was never asked for.
func (s *snapshotter) closed(places []place) error {
	for _, p := range places {
		inst, err := fs.Sub(s.tr, p.from)
		if err != nil {
			return err
		}
		for _, pattern := range closedFiles {
			for _, name := range s.closedIn(p.from, pattern) {
				if _, err := fs.Stat(s.tr, path.Join(p.from, name)); err != nil {
					continue
				}
				if ok, why := tracefs.MayRead(inst, name); !ok {
					s.w.NotOpened(path.Join(p.from, pattern), why)
				}
				break // one of a kind speaks for all CPUs
			}
		}
	}
	for _, r := range s.tr.Refused() {
		s.w.NotOpened(r.Path, r.Why)
	}
	return nil
}

// closedIn expands a pattern of closedFiles, whose star is in the folder.
func (s *snapshotter) closedIn(dir, pattern string) []string {
	if !strings.Contains(pattern, "*") {
		return []string{pattern}
	}
	var names []string
	for _, cpu := range s.glob(dir, path.Dir(pattern)) {
		names = append(names, path.Join(cpu, path.Base(pattern)))
	}
	return names
}
