package live

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringaudit/ringaudit/tracefs/bundle"
	"github.com/ringaudit/ringaudit/tracefs/live/probe"
)

// settingsFiles are the small files of an instance that a bundle keeps. None of
// them consumes anything.
var settingsFiles = []string{
	"buffer_percent", "buffer_size_kb", "buffer_subbuf_size_kb", "buffer_total_size_kb",
	"current_tracer", "set_event", "set_event_pid", "timestamp_mode", "trace_clock",
	"trace_options", "tracing_cpumask", "tracing_on",
}

// saveSettings writes the instance's settings under dir of the bundle: its small
// files, its options, the sizes by CPU, how a sub-buffer looks, and the formats
// of the events that it recorded.
func (i *Instance) saveSettings(w *bundle.Writer, targets []probe.Target) error {
	files := append([]string{}, settingsFiles...)
	opts, err := fs.Glob(i.FS, "options/*")
	if err != nil {
		return err
	}
	sizes, err := fs.Glob(i.FS, "per_cpu/cpu*/buffer_size_kb")
	if err != nil {
		return err
	}
	files = append(files, opts...)
	files = append(files, sizes...)
	for _, t := range targets {
		if t.Recorded {
			dir := path.Join("events", t.Group, t.Event)
			files = append(files, path.Join(dir, "format"), path.Join(dir, "id"), path.Join(dir, "enable"))
		}
	}
	for _, f := range files {
		b, err := readOnce(filepath.Join(i.Path, f))
		if errors.Is(err, fs.ErrNotExist) {
			continue // not on this kernel
		}
		if err != nil {
			w.NotOpened(f, err.Error())
			continue
		}
		if err := w.WriteFile(f, b); err != nil {
			return err
		}
	}
	for _, f := range []string{"events/header_page", "events/header_event"} {
		// An instance of a kernel before 6.8 lacks them; the top level's are the same there.
		b, err := readOnce(filepath.Join(i.Path, f))
		if err != nil {
			b, err = readOnce(filepath.Join(i.Mount.Path, f))
		}
		if err != nil {
			w.NotOpened(f, err.Error())
			continue
		}
		if err := w.WriteFile(f, b); err != nil {
			return err
		}
	}
	return nil
}

// saveMachine writes what a bundle tells of the machine: the kernel, and its CPUs.
func saveMachine(w *bundle.Writer) error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err
	}
	str := unix.ByteSliceToString
	w.Manifest.Kernel, w.Manifest.Arch = str(u.Release[:]), str(u.Machine[:])
	w.Manifest.PageBytes = uint64(os.Getpagesize())
	// As uname -a without the machine's name.
	line := strings.Join([]string{str(u.Sysname[:]), "localhost", str(u.Release[:]), str(u.Version[:]), str(u.Machine[:]), "GNU/Linux"}, " ")
	if err := w.WriteFile("uname-a", []byte(line+"\n")); err != nil {
		return err
	}
	for name, from := range map[string]string{"cpu-online": "/sys/devices/system/cpu/online", "cpu-possible": "/sys/devices/system/cpu/possible"} {
		b, err := readOnce(from)
		if err != nil {
			w.NotOpened(from, err.Error())
			continue
		}
		if err := w.WriteFile(name, b); err != nil {
			return err
		}
	}
	return w.WriteFile("pagesize", fmt.Appendf(nil, "%d\n", os.Getpagesize()))
}

// saveStats writes the stats of a moment under dir of the bundle.
func saveStats(w *bundle.Writer, dir string, texts map[int][]byte) error {
	for cpu, text := range texts {
		if err := w.WriteFile(path.Join(dir, "per_cpu", fmt.Sprintf("cpu%d", cpu), "stats"), text); err != nil {
			return err
		}
	}
	return nil
}

// statsTexts reads the stats of all CPUs.
func (i *Instance) statsTexts() (map[int][]byte, error) {
	cpus, err := i.cpus()
	if err != nil {
		return nil, err
	}
	out := make(map[int][]byte, len(cpus))
	for _, cpu := range cpus {
		b, err := readOnce(filepath.Join(i.Path, "per_cpu", fmt.Sprintf("cpu%d", cpu), "stats"))
		if err != nil {
			return nil, err
		}
		out[cpu] = b
	}
	return out, nil
}

// cpus are the numbers of the per_cpu folders.
func (i *Instance) cpus() ([]int, error) { return cpuFolders(i.Path) }

func cpuFolders(instance string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(instance, "per_cpu"))
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "cpu%d", &n); err == nil && e.Name() == fmt.Sprintf("cpu%d", n) {
			out = append(out, n)
		}
	}
	sort.Ints(out)
	return out, nil
}

// savePages writes the pages of each CPU.
func savePages(w *bundle.Writer, d *drain) error {
	for _, c := range d.cpus {
		name := path.Join("per_cpu", fmt.Sprintf("cpu%d", c.cpu), "trace_pipe_raw")
		if c.err != nil {
			w.NotOpened(name, fmt.Sprintf("taken in part (%d bytes): %v", c.bytes.Load(), c.err))
		}
		// An empty file says that the CPU was looked at and had nothing.
		if _, err := c.spool.Seek(0, io.SeekStart); err != nil {
			return err
		}
		to, err := w.Create(name)
		if err != nil {
			return err
		}
		_, err = io.CopyBuffer(to, struct{ io.Reader }{c.spool}, make([]byte, 1<<20))
		if err := errors.Join(err, to.Close()); err != nil {
			return err
		}
	}
	return nil
}
