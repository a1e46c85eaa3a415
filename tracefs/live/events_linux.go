package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs/live/probe"
	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// events finds the events of the instance that a pattern names: GROUP:EVENT with
// wildcards, or GROUP for all of a group. Only events that can be switched on
// count: those of group ftrace cannot.
func (i *Instance) events(pattern string) ([]probe.Target, error) {
	group, event, ok := strings.Cut(pattern, ":")
	if !ok {
		if group, event, ok = strings.Cut(pattern, "/"); !ok {
			event = "*"
		}
	}
	if group == "" || event == "" {
		return nil, fmt.Errorf("event %q: expected GROUP:EVENT, as in sched:sched_switch or raw_syscalls:*", pattern)
	}
	for _, p := range []string{group, event} {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("event %q: the wildcards of %q are not closed", pattern, p)
		}
	}
	groups, err := os.ReadDir(filepath.Join(i.Path, "events"))
	if err != nil {
		return nil, err
	}
	var out []probe.Target
	for _, g := range groups {
		if m, _ := path.Match(group, g.Name()); !m || !g.IsDir() {
			continue
		}
		list, err := os.ReadDir(filepath.Join(i.Path, "events", g.Name()))
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if m, _ := path.Match(event, e.Name()); !m || !e.IsDir() {
				continue
			}
			t, err := i.event(g.Name(), e.Name())
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("event %q: the kernel has no such event%s (available_events lists them)", pattern, i.nearest(group, event))
	}
	return out, nil
}

// nearest names events with the same name in other groups.
func (i *Instance) nearest(group, event string) string {
	found, _ := filepath.Glob(filepath.Join(i.Path, "events", "*", event))
	if len(found) == 0 {
		found, _ = filepath.Glob(filepath.Join(i.Path, "events", group, "*"+event+"*"))
	}
	var names []string
	for _, f := range found {
		names = append(names, filepath.Base(filepath.Dir(f))+":"+filepath.Base(f))
	}
	if len(names) == 0 || len(names) > 5 {
		return ""
	}
	return "; did you mean " + strings.Join(names, ", ") + "?"
}

// event describes one event; the error is fs.ErrNotExist if it has no switch.
func (i *Instance) event(group, name string) (probe.Target, error) {
	dir := filepath.Join(i.Path, "events", group, name)
	if _, err := os.Stat(filepath.Join(dir, "enable")); err != nil {
		return probe.Target{}, err
	}
	b, err := readOnce(filepath.Join(dir, "id"))
	if err != nil {
		return probe.Target{}, err
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return probe.Target{}, fmt.Errorf("%s/id: found %q, expected a number", dir, strings.TrimSpace(string(b)))
	}
	return probe.Target{
		Probe: ringlog.Probe{Name: group + ":" + name, Kind: ringlog.KindTracepoint, Recorded: true},
		Group: group, Event: name, EventID: id,
	}, nil
}

// enable switches an event of the instance on.
func (i *Instance) enable(t *probe.Target) error {
	if err := i.Write(filepath.Join("events", t.Group, t.Event, "enable"), "1"); err != nil {
		return fmt.Errorf("event %s: %w", t.Name, err)
	}
	return nil
}

// uniqueTargets sorts by name and drops repetitions.
func uniqueTargets(ts []probe.Target) []probe.Target {
	slices.SortStableFunc(ts, func(a, b probe.Target) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(ts, func(a, b probe.Target) bool { return a.Name == b.Name })
}
