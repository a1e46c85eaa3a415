package live

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// childEnv makes the test binary a process that captures until it is killed.
const childEnv = "RINGAUDIT_TEST_CAPTURE"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		os.Exit(captureForever(what))
	}
	os.Exit(m.Run())
}

func captureForever(what string) int {
	mount, err := Discover()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	o := CaptureOptions{Events: []string{"raw_syscalls:*"}, BufferKB: 64, Duration: time.Minute}
	if rest, ok := strings.CutPrefix(what, "symbol:"); ok {
		o = CaptureOptions{Symbols: []string{rest}, BufferKB: 64, Duration: time.Minute}
	}
	if _, err := Capture(context.Background(), mount, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// unable skips a test with the reason, or fails it where CI promises that it
// can run (RINGAUDIT_LIVE=require).
func unable(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("RINGAUDIT_LIVE") == "require" {
		t.Fatalf("RINGAUDIT_LIVE=require, but: %s", why)
	}
	t.Skip(why)
}

// liveMount is the machine's tracefs, if instances can be made in it.
func liveMount(t testing.TB) *Mount {
	t.Helper()
	m, err := Discover()
	if err != nil {
		unable(t, err.Error())
	}
	if err := tryInstance(m); err != nil {
		unable(t, err.Error())
	}
	return m
}

// liveWitness is liveMount where eBPF works too.
func liveWitness(t testing.TB) *Mount {
	t.Helper()
	m := liveMount(t)
	for _, a := range Abilities(m) {
		if !a.OK {
			unable(t, a.Name+": "+a.Why)
		}
	}
	return m
}

// withKprobes skips where the kernel has no kprobes: no promise can change that.
func withKprobes(t testing.TB, m *Mount) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(m.Path, "kprobe_events")); err != nil {
		t.Skip("this kernel has no kprobe events (the test runs in a virtual machine: RINGAUDIT_VM=1)")
	}
}

// losesCallbacks tells whether the machine is known to run only a part of a
// tracepoint's callbacks at times: seen on a nested host with kvm_pvm, where
// tracefs alone, without any program of ours, misses events of the idle task.
// Such a loss is real and the witness shows it, so that tests cannot ask for
// none.
func losesCallbacks() bool {
	_, err := os.Stat("/sys/module/kvm_pvm")
	return err == nil
}

// globalSettings is what the top level says of itself, and what of ours is in
// it. Nothing of it may change by what we do.
func globalSettings(t testing.TB, m *Mount) map[string]string {
	t.Helper()
	out := map[string]string{}
	files := []string{
		"tracing_on", "current_tracer", "trace_clock", "buffer_size_kb", "buffer_subbuf_size_kb", "set_event", "set_event_pid",
		"set_event_notrace_pid", "tracing_cpumask", "trace_options", "events/enable", "kprobe_events", "uprobe_events", "dynamic_events", "error_log",
		"saved_cmdlines_size", "buffer_percent", "tracing_thresh",
	}
	opts, err := filepath.Glob(filepath.Join(m.Path, "options", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range opts {
		files = append(files, "options/"+filepath.Base(o))
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(m.Path, f))
		if err != nil {
			out[f] = "absent"
			continue
		}
		out[f] = string(b)
		if f == "buffer_size_kb" {
			out[f] = fullSize(out[f])
		}
	}
	entries, err := os.ReadDir(filepath.Join(m.Path, "instances"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			out["instances"] += e.Name() + "\n"
		}
	}
	return out
}

// fullSize is the size that the buffer has, or is given at its first use: before
// that the kernel prints "7 (expanded: 1408)", and up to 6.6 the first use of an
// instance is one of the top level too. 1408 asked for is granted as 1408, 1410
// or 1411, whichever way the kernel prints it.
func fullSize(text string) string {
	if _, size, ok := strings.Cut(text, "(expanded: "); ok {
		text = size
	}
	n, err := strconv.Atoi(strings.Trim(text, ")\n "))
	if err != nil {
		return text
	}
	return fmt.Sprint(n / 4)
}

func sameSettings(t testing.TB, before, after map[string]string) {
	t.Helper()
	for f, was := range before {
		if f != "instances" && after[f] != was {
			t.Errorf("%s was %q and is %q", f, was, after[f])
		}
	}
}
