package live

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A capture that is killed at any moment leaves nothing that the next run does
// not find and remove, and changes nothing of the top level.
func TestKilled(t *testing.T) {
	m := liveWitness(t)
	killed(t, m, "events")
}

func TestKilledWithProbe(t *testing.T) {
	m := liveWitness(t)
	withKprobes(t, m)
	killed(t, m, "symbol:do_nanosleep%return")
}

func killed(t *testing.T, m *Mount, what string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Cleanup(); err != nil {
		t.Fatal(err)
	}
	before := globalSettings(t, m)
	// As often as the test asks for, and until a kill has come at a moment that
	// leaves something: on a slow machine that takes longer.
	found := 0
	for run := 0; run < times(20) || found == 0 && run < 30; run++ {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childEnv+"="+what)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(400*(1+run/4))) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		left, err := m.Cleanup()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range left {
			found++
			if !l.Removed {
				t.Errorf("%s %s is not removed: %s", l.Kind, l.Name, l.Why)
			}
		}
		if left, err := m.Leftovers(); err != nil || len(left) > 0 {
			t.Fatalf("after the cleanup: %v %v", left, err)
		}
		sameSettings(t, before, globalSettings(t, m))
	}
	if found == 0 {
		t.Error("no kill left anything behind: the test has shown nothing")
	}
}

// Only what is ours and held by nobody is removed.
func TestCleanupLeavesOthers(t *testing.T) {
	m := liveMount(t)
	if _, err := m.Cleanup(); err != nil {
		t.Fatal(err)
	}
	held, err := m.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for _, name := range []string{"ringaudit", "ringaudit-mine", "ringaudit-1-2", "ringaudit-1-2-3x", "not-ringaudit-1-2-3"} {
		path := filepath.Join(m.Path, "instances", name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		defer unix.Rmdir(path)
	}
	dead := filepath.Join(m.Path, "instances", "ringaudit-999999-1-1")
	if err := os.Mkdir(dead, 0o700); err != nil {
		t.Fatal(err)
	}
	left, err := m.Cleanup()
	if err != nil || len(left) != 1 || left[0].Name != "ringaudit-999999-1-1" || !left[0].Removed {
		t.Errorf("cleaned up %+v, %v; want the dead one alone", left, err)
	}
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead one: %v", err)
	}
	if _, err := os.Stat(held.Path); err != nil {
		t.Errorf("the one that is held: %v", err)
	}
}

// Two runs at once do not get in each other's way.
func TestTwoInstances(t *testing.T) {
	m := liveMount(t)
	a, err := m.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := m.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	if a.Name == b.Name {
		t.Errorf("both are %s", a.Name)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := os.Stat(a.Path); err != nil {
		t.Error(err)
	}
}

// An instance of which somebody has a file open cannot be removed; the error
// says so.
func TestBusyInstance(t *testing.T) {
	m := liveMount(t)
	i, err := m.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(i.Path, "trace_pipe"))
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Close(); err == nil || !strings.Contains(err.Error(), "has one of its files open") {
		t.Errorf("closing a busy instance: %v", err)
	}
	f.Close()
	if err := i.Close(); err != nil {
		t.Error(err)
	}
}

func TestStartTime(t *testing.T) {
	dir := t.TempDir()
	write := func(pid, text string) {
		if err := os.MkdirAll(filepath.Join(dir, pid), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, pid, "stat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A name may hold blanks and parentheses.
	write("7", "7 (a) b (c)) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 100 200")
	if n, err := startTime(dir, 7); err != nil || n != 4711 {
		t.Errorf("start time %d, %v; want 4711", n, err)
	}
	write("8", "8 (short) S 1")
	if _, err := startTime(dir, 8); err == nil {
		t.Error("a short line is taken")
	}
}
