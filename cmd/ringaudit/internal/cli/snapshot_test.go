package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/bundle"
)

// statsOf makes a stats file as the kernel prints it.
func statsOf(entries, overrun int) string {
	return fmt.Sprintf("entries: %d\noverrun: %d\ncommit overrun: 0\nbytes: 40\noldest event ts:    17.163142\nnow ts:    17.248184\ndropped events: 0\nread events: 0\n", entries, overrun)
}

// tracefsFiles is a small tracefs: the top level and three instances, of which
// old-running must not have its texts opened.
func tracefsFiles() map[string]string {
	files := map[string]string{"instances/old-running/x": "x"}
	add := func(dir string, more map[string]string) {
		base := map[string]string{
			"per_cpu/cpu0/stats": statsOf(3, 100), "per_cpu/cpu1/stats": statsOf(0, 0),
			"per_cpu/cpu0/buffer_size_kb": "11\n", "per_cpu/cpu1/buffer_size_kb": "11\n",
			"per_cpu/cpu0/trace_pipe": "", "per_cpu/cpu0/trace_pipe_raw": "", "per_cpu/cpu0/snapshot_raw": "", "per_cpu/cpu0/trace": "x\n",
			"trace_pipe": "", "free_buffer": "", "trace_marker": "", "buffer_size_kb": "11\n", "tracing_on": "0\n",
			"trace_clock": "[local] global counter\n", "options/overwrite": "1\n", "trace_options": "overwrite\n", "current_tracer": "nop\n",
			"trace": "# tracer: nop\n#\n# entries-in-buffer/entries-written: 3/103   #P:2\n#\n" +
				"            sh-1       [000] .....    17.163142: tracing_mark_write: a\n            sh-1       [000] .....    17.163143: tracing_mark_write: b\n            sh-1       [000] .....    17.163144: tracing_mark_write: c\n",
			"events/header_page": "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" +
				"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n",
		}
		maps.Copy(base, more)
		for name, text := range base {
			if text != "absent" {
				files[path.Join(dir, name)] = text
			}
		}
	}
	add(".", nil)
	add("instances/stopped", map[string]string{"events/header_page": "absent"})
	add("instances/old-running", map[string]string{"tracing_on": "1\n"})
	add("instances/modern running", map[string]string{"tracing_on": "1\n", "options/pause-on-trace": "0\n", "trace_clock": "local [counter]\n"})
	add("instances/boot", map[string]string{"last_boot_info": "text delta:\t0\n", "per_cpu/cpu0/stats": statsOf(0, 0)})
	return files
}

// mustNotOpen tells whether opening a file of that tracefs has an effect.
func mustNotOpen(name string) bool {
	switch path.Base(name) {
	case "trace_pipe", "trace_pipe_raw", "snapshot_raw", "free_buffer", "trace_marker":
		return true
	case "trace":
		return strings.HasPrefix(name, "instances/old-running/") || strings.HasPrefix(name, "instances/boot/")
	}
	return false
}

// watchedFS fails the test when something is opened that must not be, and counts.
type watchedFS struct {
	fstest.MapFS
	t      *testing.T
	opened map[string]int
}

func (w *watchedFS) Open(name string) (fs.File, error) {
	if mustNotOpen(name) {
		w.t.Errorf("%s was opened", name)
	}
	w.opened[name]++
	return w.MapFS.Open(name)
}

func watched(t *testing.T) *watchedFS {
	m := fstest.MapFS{}
	for name, text := range tracefsFiles() {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return &watchedFS{MapFS: m, t: t, opened: map[string]int{}}
}

// machineFS is /proc and /sys of a machine.
var machineFS = fstest.MapFS{
	"proc/version":                   {Data: []byte("Linux version 6.1.0 (x@y) #1 SMP\n")},
	"proc/sys/kernel/osrelease":      {Data: []byte("6.1.0\n")},
	"proc/sys/kernel/version":        {Data: []byte("#1 SMP\n")},
	"proc/sys/kernel/arch":           {Data: []byte("s390x\n")},
	"proc/sys/kernel/hostname":       {Data: []byte("secret-host\n")},
	"sys/devices/system/cpu/online":  {Data: []byte("0-1\n")},
	"sys/devices/system/cpu/unknown": {Data: []byte("x\n")},
}

func take(t *testing.T, fsys fs.FS, out string, instances ...string) (*bundle.Reader, *snapshotter, error) {
	t.Helper()
	w, err := bundle.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	s := &snapshotter{w: w, tr: tracefs.Guard(fsys), sys: machineFS, now: time.Now, instances: instances}
	if err := s.run(); err != nil {
		return nil, s, err
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	r, err := bundle.Open(out, bundle.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if len(r.Problems) > 0 {
		t.Errorf("problems: %v", r.Problems)
	}
	return r, s, nil
}

func TestSnapshotTakesWhatHasNoEffect(t *testing.T) {
	w := watched(t)
	r, s, err := take(t, w, filepath.Join(t.TempDir(), "out.tar"))
	if err != nil || s.failed != 0 {
		t.Fatalf("%v, %d failed: %v", err, s.failed, r.Manifest.NotOpened)
	}
	files := tracefsFiles()
	for _, name := range []string{
		"per_cpu/cpu0/stats", "per_cpu/cpu1/stats", "per_cpu/cpu0/buffer_size_kb", "trace", "tracing_on", "options/overwrite", "events/header_page",
		"instances/stopped/trace", "instances/stopped/per_cpu/cpu0/stats", "instances/old-running/per_cpu/cpu0/stats",
		"instances/modern running/trace", "instances/boot/last_boot_info",
	} {
		got, err := fs.ReadFile(r.FS(), name)
		if err != nil || string(got) != files[name] {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if strings.HasSuffix(name, "stats") {
			if got, err := fs.ReadFile(r.FS(), "again/"+name); err != nil || string(got) != files[name] {
				t.Errorf("again/%s: %q, %v", name, got, err)
			}
		}
	}
	// Instances without a header_page of their own get that of the top level.
	if got, err := fs.ReadFile(r.FS(), "instances/stopped/events/header_page"); err != nil || string(got) != files["events/header_page"] {
		t.Errorf("header_page of an instance: %q, %v", got, err)
	}
	for _, name := range []string{"instances/old-running/trace", "instances/boot/trace", "trace_pipe", "per_cpu/cpu0/trace_pipe_raw"} {
		if _, err := fs.Stat(r.FS(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is in the bundle: %v", name, err)
		}
	}
	why := map[string]string{}
	for _, n := range r.Manifest.NotOpened {
		why[n.Path] = n.Why
	}
	for name, want := range map[string]string{
		"trace_pipe": "consumes", "per_cpu/cpu*/trace_pipe_raw": "consumes", "free_buffer": "shrinks", "instances/old-running/trace": "pause-on-trace",
		"instances/boot/trace": "boot-mapped", "instances/stopped/trace_pipe": "consumes",
	} {
		if !strings.Contains(why[name], want) {
			t.Errorf("%s: the reason is %q, want %q in it", name, why[name], want)
		}
	}
	if len(r.Manifest.Notes) != 1 || !strings.Contains(r.Manifest.Notes[0], "counter") {
		t.Errorf("notes: %q", r.Manifest.Notes)
	}
	if m := r.Manifest; m.Kernel != "6.1.0" || m.Arch != "s390x" || m.PageBytes == 0 || len(m.Phases) != 2 || m.Phases[1].Repeats != "snapshot" {
		t.Errorf("manifest: %+v", m)
	}
	uname, err := fs.ReadFile(r.FS(), "uname-a")
	if err != nil || string(uname) != "Linux localhost 6.1.0 #1 SMP s390x GNU/Linux\n" {
		t.Errorf("uname-a: %q, %v", uname, err)
	}
}

func TestSnapshotInstances(t *testing.T) {
	r, s, err := take(t, watched(t), filepath.Join(t.TempDir(), "out"), "stopped")
	if err != nil || !slices.Equal(s.names, []string{"stopped"}) {
		t.Fatalf("%v: %v", s.names, err)
	}
	for _, name := range []string{"stopped/per_cpu/cpu0/stats", "again/stopped/per_cpu/cpu0/stats", "stopped/trace"} {
		if _, err := fs.Stat(r.FS(), name); err != nil {
			t.Error(err)
		}
	}
	if _, err := fs.Stat(r.FS(), "per_cpu"); err == nil {
		t.Error("the top level is in it")
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, _, err := take(t, watched(t), out, "no"); codeOf(err) != exitUsage || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("an instance that is not there: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, _, err := take(t, fstest.MapFS{"README": {}}, filepath.Join(t.TempDir(), "out")); codeOf(err) != exitUnreadable {
		t.Errorf("no tracefs: %v", err)
	}
}

// brokenFS cannot read one file.
type brokenFS struct {
	fs.FS
	name string
}

func (b brokenFS) Open(name string) (fs.File, error) {
	if name == b.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return b.FS.Open(name)
}

func (b brokenFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(b.FS, name) }

func TestSnapshotPartial(t *testing.T) {
	for name, failed := range map[string]int{"per_cpu/cpu1/stats": 2, "current_tracer": 0} {
		r, s, err := take(t, brokenFS{watched(t).MapFS, name}, filepath.Join(t.TempDir(), "out"), "top")
		if err != nil || s.failed != failed {
			t.Errorf("%s: %v, %d failed, want %d", name, err, s.failed, failed)
		}
		if !slices.ContainsFunc(r.Manifest.NotOpened, func(n bundle.NotOpened) bool {
			return n.Path == name && strings.Contains(n.Why, "permission denied")
		}) {
			t.Errorf("%s: not opened: %v", name, r.Manifest.NotOpened)
		}
	}
}

// endless is the text of a buffer that is being recorded.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	e.n++
	return copy(p, "a line that is longer than its read\n"[:20+e.n%17]), nil
}

func TestTextOfARecordingEnds(t *testing.T) {
	clock := time.Unix(0, 0)
	var out bytes.Buffer
	c := textCopy{limit: true, until: clock.Add(textTime), now: func() time.Time { clock = clock.Add(time.Millisecond); return clock }}
	if err := c.copy(&out, &endless{}); err != nil || !c.cut {
		t.Fatalf("%v, cut %v", err, c.cut)
	}
	if b := out.Bytes(); len(b) == 0 || b[len(b)-1] != '\n' || int64(len(b)) != c.n {
		t.Errorf("ends with %q after %d bytes, %d counted", b[max(0, len(b)-5):], len(b), c.n)
	}
	out.Reset()
	c = textCopy{}
	if err := c.copy(&out, strings.NewReader("a\nb without end")); err != nil || out.String() != "a\nb without end" || c.cut {
		t.Errorf("a whole text: %q, %v", out.String(), err)
	}
}

// shells are the shells here that the script must run in.
func shells(t *testing.T) map[string][]string {
	found := map[string][]string{}
	for name, args := range map[string][]string{"dash": {"dash"}, "busybox": {"busybox", "sh"}} {
		if p, err := exec.LookPath(args[0]); err == nil {
			found[name] = append([]string{p}, args[1:]...)
		}
	}
	if p, err := exec.LookPath("bash"); err == nil && len(found) == 0 {
		found["bash"] = []string{p, "--posix"}
	}
	if len(found) == 0 {
		t.Skip("no POSIX shell here")
	}
	return found
}

// The script makes what snapshot makes. What it must not open is a pipe without
// a writer: opening one would not return.
func TestSnapshotScript(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "tracing")
			for file, text := range tracefsFiles() {
				file = filepath.Join(dir, filepath.FromSlash(file))
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				rel, _ := filepath.Rel(dir, file)
				if mustNotOpen(filepath.ToSlash(rel)) {
					if err := makePipe(file); err != nil {
						t.Skip(err)
					}
					continue
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			work := t.TempDir()
			env := os.Environ()
			if name == "busybox" { // with its own tools too, and no others
				tools := t.TempDir()
				if out, err := exec.Command(shell[0], "--install", "-s", tools).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				env = append(env, "PATH="+tools)
			}
			run := func(args ...string) (string, int) {
				t.Helper()
				cmd := exec.Command(shell[0], append(append(shell[1:], "-s", "--"), args...)...)
				cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = work, env, strings.NewReader(snapshotScript), time.Second
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
				defer timer.Stop()
				err := cmd.Wait()
				var exit *exec.ExitError
				if err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				return out.String(), cmd.ProcessState.ExitCode()
			}
			for _, form := range []string{"out", "out.tar"} {
				text, code := run("-d", dir, "-o", form)
				if code != 0 {
					t.Fatalf("exit %d:\n%s", code, text)
				}
				r, err := bundle.Open(filepath.Join(work, form), bundle.Limits{})
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				defer r.Close()
				if r.Kind != bundle.KindBundle || len(r.Problems) > 0 {
					t.Fatalf("%v, %v\n%s", r.Kind, r.Problems, text)
				}
				compareSnapshots(t, r)
			}
			if text, code := run("-d", dir, "-o", "out"); code != exitUsage || !strings.Contains(text, "exists") {
				t.Errorf("OUT that exists: exit %d, %s", code, text)
			}
			if text, code := run("-d", dir, "-o", "one", "-i", "modern running"); code != 0 {
				t.Errorf("exit %d: %s", code, text)
			} else if b, err := os.ReadFile(filepath.Join(work, "one", "modern running", "per_cpu", "cpu0", "stats")); err != nil || string(b) != statsOf(3, 100) {
				t.Errorf("one instance: %q, %v", b, err)
			}
			for _, bad := range [][]string{{"-i", "no", "-d", dir, "-o", "x"}, {"--what"}, {"-o"}} {
				if text, code := run(bad...); code != exitUsage {
					t.Errorf("%q: exit %d: %s", bad, code, text)
				}
			}
			if text, code := run("-d", work, "-o", "x"); code != exitUnreadable || !strings.Contains(text, "per_cpu") {
				t.Errorf("no tracefs: exit %d: %s", code, text)
			}
			if left, err := filepath.Glob(filepath.Join(work, "*partial*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// compareSnapshots compares the script's bundle with that of snapshot: the same
// files with the same content, but for what tells of the machine.
func compareSnapshots(t *testing.T, script *bundle.Reader) {
	t.Helper()
	own, _, err := take(t, watched(t), filepath.Join(t.TempDir(), "own"))
	if err != nil {
		t.Fatal(err)
	}
	machine := map[string]bool{"uname-a": true, "proc-version": true, "cpu-online": true, "cpu-possible": true, "pagesize": true}
	index := func(m *bundle.Manifest) map[string]string {
		files := map[string]string{}
		for _, f := range m.Files {
			if !machine[f.Path] {
				files[f.Path] = f.SHA256
			}
		}
		return files
	}
	a, b := index(own.Manifest), index(script.Manifest)
	for name := range a {
		if a[name] != b[name] {
			t.Errorf("%s: the script has %q, snapshot %q", name, b[name], a[name])
		}
	}
	for name := range b {
		if a[name] == "" {
			t.Errorf("%s: only the script has it", name)
		}
	}
	reasons := func(m *bundle.Manifest) []string {
		var s []string
		for _, n := range m.NotOpened {
			s = append(s, n.Path+": "+n.Why)
		}
		slices.Sort(s)
		return s
	}
	if x, y := reasons(own.Manifest), reasons(script.Manifest); !slices.Equal(x, y) {
		t.Errorf("not opened by snapshot:\n%s\nby the script:\n%s", strings.Join(x, "\n"), strings.Join(y, "\n"))
	}
	if !slices.Equal(own.Manifest.Phases, script.Manifest.Phases) {
		t.Errorf("phases %v and %v", own.Manifest.Phases, script.Manifest.Phases)
	}
}

// snapshotEnv is an Env with buffers.
func snapshotEnv() (*Env, *bytes.Buffer, *bytes.Buffer) {
	var out, errs bytes.Buffer
	return &Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Now: time.Now}, &out, &errs
}

func TestSnapshotCommandLine(t *testing.T) {
	env, out, _ := snapshotEnv()
	if code := Main(env, []string{"snapshot", "--print-script"}); code != 0 || out.String() != snapshotScript {
		t.Errorf("--print-script: exit %d, %d bytes", code, out.Len())
	}
	for _, args := range [][]string{{"snapshot"}, {"snapshot", "--print-script", "-o", "x"}, {"snapshot", "x"}} {
		env, _, errs := snapshotEnv()
		if code := Main(env, args); code != exitUsage || errs.Len() == 0 {
			t.Errorf("%q: exit %d, %s", args, code, errs)
		}
	}
	env, _, errs := snapshotEnv()
	if code := Main(env, []string{"snapshot", "-o", filepath.Join(t.TempDir(), "x"), "--from", t.TempDir()}); code != exitUnreadable || errs.Len() == 0 {
		t.Errorf("an empty folder: exit %d, %s", code, errs)
	}
}
