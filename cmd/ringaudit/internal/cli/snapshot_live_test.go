//go:build linux

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/report"
)

// recordingInstance is a tracing instance of the test's own that holds the
// markers written to it, and goes on recording. It is removed afterwards.
func recordingInstance(t *testing.T, markers int) (name, dir string) {
	t.Helper()
	const mount = "/sys/kernel/tracing"
	name = fmt.Sprintf("ringaudit-test-snapshot-%d", os.Getpid())
	dir = filepath.Join(mount, "instances", name)
	if err := os.Mkdir(dir, 0o750); err != nil {
		if os.Getenv("RINGAUDIT_LIVE") == "require" {
			t.Fatalf("RINGAUDIT_LIVE=require, and there is no tracefs to use: %v", err)
		}
		t.Skipf("no tracefs to use: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Errorf("the instance stays behind: %v", err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "buffer_size_kb"), []byte("8"), 0); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "trace_marker"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range markers {
		if _, err := fmt.Fprintf(f, "marker %d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	return name, dir
}

// snapshotSettings are what a snapshot must leave as it was: of the instance its
// counters too, of the top level what others do not change all the time.
func snapshotSettings(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	read := func(name string) {
		b, err := os.ReadFile(name)
		if err != nil {
			return
		}
		var lines []string
		for line := range strings.Lines(string(b)) {
			if !strings.HasPrefix(line, "now ts") {
				lines = append(lines, line)
			}
		}
		got[name] = strings.Join(lines, "")
	}
	for _, d := range []string{dir, filepath.Dir(filepath.Dir(dir))} {
		for _, f := range []string{"tracing_on", "buffer_size_kb", "current_tracer", "trace_clock", "trace_options", "tracing_cpumask", "set_event"} {
			read(filepath.Join(d, f))
		}
	}
	stats, err := filepath.Glob(filepath.Join(dir, "per_cpu", "cpu*", "stats"))
	if err != nil || len(stats) == 0 {
		t.Fatalf("no stats: %v", err)
	}
	for _, f := range stats {
		read(f)
	}
	return got
}

// snapshotTotal is what an audit says of the only buffer of a bundle.
func snapshotTotal(t *testing.T, bundle string) report.Tally {
	t.Helper()
	env, out, errs := snapshotEnv()
	code := Main(env, []string{"audit", bundle, "--format", "json"})
	var d report.Document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("exit %d: %v\n%s%s", code, err, out, errs)
	}
	if len(d.Buffers) != 1 {
		t.Fatalf("%d buffers", len(d.Buffers))
	}
	return d.Buffers[0].Total
}

// A snapshot, and the script, of a buffer that is being recorded: what they say
// is what was written, and nothing in the kernel is another than before.
func TestSnapshotLive(t *testing.T) {
	const markers = 1000
	name, dir := recordingInstance(t, markers)
	before := snapshotSettings(t, dir)

	out := filepath.Join(t.TempDir(), "run.tar.zst")
	env, _, errs := snapshotEnv()
	if code := Main(env, []string{"snapshot", "-o", out, "--instance", name}); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if !strings.Contains(errs.String(), "trace_pipe") {
		t.Errorf("what was not opened is not said: %s", errs)
	}
	bundles := []string{out}
	if sh, err := exec.LookPath("sh"); err == nil {
		out := filepath.Join(t.TempDir(), "script.tar")
		cmd := exec.Command(sh, "-s", "--", "-o", out, "-i", name)
		cmd.Stdin = strings.NewReader(snapshotScript)
		var text bytes.Buffer
		cmd.Stdout, cmd.Stderr = &text, &text
		if err := cmd.Run(); err != nil {
			t.Errorf("the script: %v\n%s", err, &text)
		} else {
			bundles = append(bundles, out)
		}
	}
	after := snapshotSettings(t, dir)
	for f, text := range before {
		if after[f] != text {
			t.Errorf("%s was %q and is %q", f, text, after[f])
		}
	}
	for _, b := range bundles {
		tally := snapshotTotal(t, b)
		if tally.Written == nil || !tally.Written.Exact() || tally.Written.Lo != markers {
			t.Errorf("%s: %v written, want %d", filepath.Base(b), tally.Written, markers)
		}
		if tally.Overwritten == nil || tally.Overwritten.Lo == 0 {
			t.Errorf("%s: %v overwritten of %d markers in 8 kB", filepath.Base(b), tally.Overwritten, markers)
		}
	}
}

// A live tracefs that is named by its path is guarded all the same.
func TestSourceOnTheLiveTracefs(t *testing.T) {
	_, dir := recordingInstance(t, 100)
	pause := filepath.Join(dir, "options", "pause-on-trace")
	if err := os.WriteFile(pause, []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	before := snapshotSettings(t, dir)
	cpu := filepath.Join(dir, "per_cpu", "cpu0")
	for _, c := range []struct {
		source string
		code   int
		says   string
	}{
		{filepath.Join(dir, "trace_pipe"), exitUnreadable, "consumes"},
		{filepath.Join(cpu, "trace_pipe_raw"), exitUnreadable, "consumes"},
		{filepath.Join(dir, "free_buffer"), exitUnreadable, "shrinks"},
		{filepath.Join(dir, "trace"), exitUnreadable, "stops the recording"},
		{dir, exitOK, "stops the recording"},
		{filepath.Join(cpu, "stats"), exitOK, ""},
	} {
		env, out, errs := snapshotEnv()
		code := Main(env, []string{"audit", "--all", c.source})
		if text := out.String() + errs.String(); code != c.code || !strings.Contains(strings.Join(strings.Fields(text), " "), c.says) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", c.source, code, c.code, c.says, text)
		}
	}
	after := snapshotSettings(t, dir)
	for f, text := range before {
		if after[f] != text {
			t.Errorf("%s was %q and is %q", f, text, after[f])
		}
	}
}

// What is not ours by its name stays, whoever holds it.
func TestCleanupLeavesOthers(t *testing.T) {
	_, dir := recordingInstance(t, 1)
	env, out, errs := snapshotEnv()
	if code := Main(env, []string{"doctor", "--cleanup"}); code != exitOK {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if _, err := os.Stat(dir); err != nil || strings.Contains(out.String(), filepath.Base(dir)) {
		t.Errorf("the instance of another: %v\n%s", err, out)
	}
}
