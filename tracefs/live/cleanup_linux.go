package live

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

var (
	ourInstance = regexp.MustCompile(`^ringaudit-[0-9]+-[0-9]+-[0-9]+$`)
	ourGroup    = regexp.MustCompile(`^ringaudit_[0-9]+_[0-9]+_[0-9]+$`)
)

// Cleanup finds what killed processes of ours have left behind, and removes it.
//
// An instance is ours by its name, and left behind if nobody holds the lock on
// its folder: the kernel gives the lock back when its holder dies, however it
// dies, and it holds over PID namespaces. A kprobe event is ours by its group,
// and left behind if there is no instance of the same name that is held.
// Everything else is left alone.
func (m *Mount) Cleanup() ([]Leftover, error) {
	return m.leftovers(true)
}

// Leftovers finds the same and removes nothing.
func (m *Mount) Leftovers() ([]Leftover, error) { return m.leftovers(false) }

func (m *Mount) leftovers(remove bool) ([]Leftover, error) {
	entries, err := os.ReadDir(filepath.Join(m.Path, "instances"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []Leftover
	held := map[string]bool{}
	var locks []*os.File
	defer func() {
		for _, l := range locks {
			l.Close()
		}
	}()
	var dead []string
	for _, e := range entries {
		if !ourInstance.MatchString(e.Name()) {
			continue
		}
		lock, err := lockDir(filepath.Join(m.Path, "instances", e.Name()))
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			held[e.Name()] = true
			continue
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			out = append(out, Leftover{Name: e.Name(), Kind: "instance", Why: err.Error()})
			continue
		}
		locks = append(locks, lock)
		dead = append(dead, e.Name())
	}
	// An event that an instance has enabled cannot be removed: switch off first.
	for _, name := range dead {
		if remove {
			_ = writeFile(filepath.Join(m.Path, "instances", name, "events/enable"), "0")
		}
	}
	events, err := m.kprobeEvents()
	if err != nil {
		return out, err
	}
	for _, e := range events {
		group, _, _ := strings.Cut(e, "/")
		if !ourGroup.MatchString(group) || held[strings.ReplaceAll(group, "_", "-")] {
			continue
		}
		l := Leftover{Name: e, Kind: "kprobe"}
		if remove {
			if err := m.removeKprobe(e); err != nil {
				l.Why = err.Error()
			} else {
				l.Removed = true
			}
		}
		out = append(out, l)
	}
	for _, name := range dead {
		l := Leftover{Name: name, Kind: "instance"}
		if remove {
			if err := removeInstance(filepath.Join(m.Path, "instances", name)); err != nil {
				l.Why = err.Error()
			} else {
				l.Removed = true
			}
		}
		out = append(out, l)
	}
	return out, nil
}
