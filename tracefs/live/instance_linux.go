package live

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// prefix begins the name of everything that we make in a tracefs: instances, and
// (with _ for -) groups of kprobe events. The rest is the maker's process id and
// its start, in clock ticks since the boot, and a number.
const prefix = "ringaudit-"

// Instance is a tracefs instance of our own. Its folder is locked (flock) as
// long as it lives, so that another process can tell it from one whose maker was
// killed.
type Instance struct {
	Mount *Mount
	Name  string
	Path  string
	FS    fs.FS // rooted at Path
	lock  *os.File
	group string // of its kprobe events, once there are any
}

var instances atomic.Int64

// NewInstance makes an instance. The error says what to do where the kernel or
// the machine's rights forbid it.
func (m *Mount) NewInstance() (*Instance, error) {
	start, err := startTime("/proc", os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("our own start time: %w", err)
	}
	for range 5 {
		name := fmt.Sprintf("%s%d-%d-%d", prefix, os.Getpid(), start, instances.Add(1))
		path := filepath.Join(m.Path, "instances", name)
		switch err := os.Mkdir(path, 0o700); {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return nil, cannotCreate(m.Path, err)
		}
		lock, err := lockDir(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EWOULDBLOCK) {
			continue // a Cleanup of another process came between the two
		}
		if err != nil {
			_ = os.Remove(path)
			return nil, err
		}
		i := &Instance{Mount: m, Name: name, Path: path, FS: os.DirFS(path), lock: lock}
		if err := i.expandFirst(); err != nil {
			return nil, errors.Join(err, i.Close())
		}
		return i, nil
	}
	return nil, errors.New("no instance could be made: another process removes them at once")
}

// expandFirst gives the top level's buffer its full size, where the kernel ties
// that to the first use of any instance.
//
// Up to 6.6 the kernel keeps one flag for all buffers that says whether they have
// their full size (ring_buffer_expanded in kernel/trace/trace.c). A size written
// to an instance sets it without resizing the top level, which would then stay
// at its boot minimum of two pages for whoever uses it next. Switching events
// (off, here: there are none on) resizes it before, as any first use does.
func (i *Instance) expandFirst() error {
	b, err := readOnce(filepath.Join(i.Mount.Path, "buffer_size_kb"))
	if err != nil || !strings.Contains(string(b), "expanded:") {
		return nil // in use already, or not ours to know
	}
	return i.Write("events/enable", "0")
}

func cannotCreate(mount string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the kernel has no instances (%s/instances is missing): %w", mount, err)
	case errors.Is(err, unix.EROFS):
		return fmt.Errorf("%s is mounted read-only, so no instance can be made; as root: mount -o remount,rw %s: %w", mount, mount, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no instance may be made in %s: run as root (a capture needs an instance of its own; audit and watch do not): %w", mount, err)
	case errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("the kernel has no memory for an instance: %w", err)
	}
	return err
}

// lockDir opens a folder and locks it; the error is EWOULDBLOCK if another
// process has it.
func lockDir(path string) (*os.File, error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		d.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return d, nil
}

// Write writes a file of the instance. The error holds what was written and,
// where the kernel logged one, its reason.
func (i *Instance) Write(file, value string) error {
	return writeFile(filepath.Join(i.Path, file), value)
}

func writeFile(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", value, err)
	}
	return nil
}

// appendFile adds to a file of the tracefs: without O_TRUNC, which empties
// kprobe_events and the like.
func appendFile(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// Read reads a file of the instance, with one read call: the kernel makes the
// text of some anew for each.
func (i *Instance) Read(file string) (string, error) {
	b, err := readOnce(filepath.Join(i.Path, file))
	return string(b), err
}

func readOnce(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, 1<<16)
	n, err := f.Read(buf)
	if n == 0 && err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return buf[:n], nil
}

// Has tells whether the instance has a file.
func (i *Instance) Has(file string) bool {
	_, err := os.Stat(filepath.Join(i.Path, file))
	return err == nil
}

// Close removes the instance and its kprobe events. It may be called again.
func (i *Instance) Close() error {
	if i.lock == nil {
		return nil
	}
	err := removeInstance(i.Path)
	// An event cannot be removed while an instance has it enabled.
	err = errors.Join(err, i.removeKprobes())
	if err == nil {
		i.lock.Close()
		i.lock = nil
	}
	return err
}

// removeInstance removes the folder. A reader that is just going away keeps it
// busy for a moment.
func removeInstance(path string) error {
	var err error
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		err = unix.Rmdir(path)
		if !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(wait)
	}
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("removing %s: %w: somebody has one of its files open", path, err)
	case err != nil:
		return fmt.Errorf("removing %s: %w", path, err)
	}
	return nil
}

// startTime is when a process started, in clock ticks since the boot (field 22
// of /proc/PID/stat, proc(5)).
func startTime(proc string, pid int) (uint64, error) {
	b, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	// The second field is the name in parentheses, which may hold anything.
	_, rest, ok := cutLast(string(b), ")")
	f := strings.Fields(rest)
	if !ok || len(f) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat has an unknown form", pid)
	}
	return strconv.ParseUint(f[19], 10, 64)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
