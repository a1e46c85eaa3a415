package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringaudit/ringaudit/tracefs/live/probe"
	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// maxMaxactive is KRETPROBE_MAXACTIVE_MAX (kernel/trace/trace_probe.h, 4.14 and
// later).
const maxMaxactive = 4096

// checkSymbols refuses what the kernel would refuse, with its reason, before
// anything is made: a refused line stays in the kernel's error_log.
func checkSymbols(symbols []string, maxactive int) error {
	returns := 0
	for _, s := range symbols {
		sym, isReturn, err := splitSymbol(s)
		if err != nil {
			return err
		}
		if sym == "" {
			return fmt.Errorf("symbol %q: expected a kernel function, SYM or SYM%%return", s)
		}
		if isReturn {
			returns++
		}
	}
	switch {
	case maxactive == 0:
		return nil
	case maxactive < 0:
		return fmt.Errorf("maxactive %d: expected 1 to %d", maxactive, maxMaxactive)
	case maxactive > maxMaxactive:
		return fmt.Errorf(`maxactive %d: the kernel refuses it, "Maxactive is too big": at most %d (KRETPROBE_MAXACTIVE_MAX, kernel/trace/trace_probe.h)`, maxactive, maxMaxactive)
	case returns == 0:
		return errors.New(`maxactive without a SYM%return: the kernel refuses it on an entry probe, "Maxactive is not for kprobe" (from 6.6 on "Maxactive is only for function exit"): an entry holds nothing while the function runs`)
	}
	return nil
}

// splitSymbol takes SYM or SYM%return apart.
func splitSymbol(s string) (sym string, isReturn bool, err error) {
	sym, suffix, ok := strings.Cut(s, "%")
	if ok && suffix != "return" {
		return "", false, fmt.Errorf("symbol %q: found %q behind the %%, expected return", s, suffix)
	}
	for _, c := range sym {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("_.$:+", c) {
			return "", false, fmt.Errorf("symbol %q: %q cannot be in a kernel symbol", s, c)
		}
	}
	return sym, ok, nil
}

// kprobe makes a kprobe event for a symbol and describes it.
func (i *Instance) kprobe(symbol string, maxactive int) (probe.Target, error) {
	var none probe.Target
	sym, isReturn, err := splitSymbol(symbol)
	if err != nil {
		return none, err
	}
	list := filepath.Join(i.Mount.Path, "kprobe_events")
	if _, err := os.Stat(list); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return none, fmt.Errorf("symbol %q: this kernel has no kprobe events (CONFIG_KPROBE_EVENTS is off): trace an event instead (-e)", symbol)
		}
		return none, err
	}
	i.group = strings.ReplaceAll(i.Name, "-", "_")
	head, kind, suffix := "p", ringlog.KindKprobe, "entry"
	if isReturn {
		head, kind, suffix = "r", ringlog.KindKretprobe, "return"
		if maxactive > 0 {
			head += strconv.Itoa(maxactive)
		}
	}
	// kprobe_profile lists events without their group, so the name is unique by itself.
	event := fmt.Sprintf("%s_%s_%s", cleanName(sym), suffix, strings.TrimPrefix(i.group, "ringaudit_"))
	if len(event) > 63 { // MAX_EVENT_NAME_LEN, kernel/trace/trace_probe.h
		event = event[len(event)-63:]
		if event[0] >= '0' && event[0] <= '9' {
			event = "_" + event[1:]
		}
	}
	line := fmt.Sprintf("%s:%s/%s %s", head, i.group, event, sym)
	before, err := i.Mount.kprobeEvents()
	if err != nil {
		return none, err
	}
	if err := appendFile(list, line+"\n"); err != nil {
		return none, fmt.Errorf("symbol %q: the kernel refuses the probe: %w%s", symbol, err, i.Mount.kernelReason(line))
	}
	if err := i.tookMaxactive(before, event, symbol, maxactive); err != nil {
		return none, err
	}
	t, err := i.event(i.group, event)
	if err != nil {
		return none, fmt.Errorf("symbol %q: the probe was made and its event is missing: %w", symbol, err)
	}
	t.Name, t.Kind, t.Function = symbol, kind, sym
	if isReturn && maxactive > 0 {
		n := uint64(maxactive)
		t.Maxactive = &n
	}
	return t, nil
}

// tookMaxactive finds out whether the kernel knew what digits behind r mean.
// Kernels before 4.14 swallow them together with the event's name
// (create_trace_kprobe in kernel/trace/trace_kprobe.c looks for the colon in the
// second place only) and give the probe a name of their own.
func (i *Instance) tookMaxactive(before []string, event, symbol string, maxactive int) error {
	now, err := i.Mount.kprobeEvents()
	if err != nil {
		return err
	}
	had := map[string]bool{}
	for _, e := range before {
		had[e] = true
	}
	for _, e := range now {
		if e == i.group+"/"+event {
			return nil
		}
	}
	for _, e := range now {
		if !had[e] && strings.HasPrefix(e, "kprobes/") {
			_ = i.Mount.removeKprobe(e)
			return fmt.Errorf("symbol %q: this kernel does not know maxactive: it took %d and the event's name for nothing and called the probe %s (4.14 and later know it); leave --maxactive out", symbol, maxactive, e)
		}
	}
	return fmt.Errorf("symbol %q: the probe was taken and is not listed", symbol)
}

// cleanName makes a symbol fit for an event's name.
func cleanName(sym string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, sym)
}

// kernelReason is what the kernel logged about a line that it refused (error_log,
// 5.4 and later), in front of which goes " (" and behind ")"; else "".
//
//	[   57.500000] trace_kprobe: error: Maxactive is too big
//	  Command: r4097:x/y do_nanosleep
//	            ^
func (m *Mount) kernelReason(command string) string {
	b, err := readOnce(filepath.Join(m.Path, "error_log"))
	if err != nil {
		return ""
	}
	lines := strings.Split(string(b), "\n")
	for i := len(lines) - 1; i > 0; i-- {
		if strings.TrimSpace(lines[i]) == "Command: "+command {
			if _, why, ok := strings.Cut(lines[i-1], "error: "); ok {
				return fmt.Sprintf(" (%q)", strings.TrimSpace(why))
			}
		}
	}
	return ""
}

// kprobeEvents are the kprobe events of the kernel, as GROUP/EVENT; none if the
// kernel has no kprobes.
func (m *Mount) kprobeEvents() ([]string, error) {
	b, err := os.ReadFile(filepath.Join(m.Path, "kprobe_events"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		// r5:group/event do_nanosleep arg1=…
		_, rest, ok := strings.Cut(line, ":")
		if f := strings.Fields(rest); ok && len(f) > 0 {
			out = append(out, f[0])
		}
	}
	return out, nil
}

func (m *Mount) removeKprobe(groupEvent string) error {
	var err error
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		err = appendFile(filepath.Join(m.Path, "kprobe_events"), "-:"+groupEvent+"\n")
		if !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(wait)
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("removing the kprobe event %s: %w", groupEvent, err)
	}
	return nil
}

// removeKprobes removes the kprobe events that were made for the instance.
func (i *Instance) removeKprobes() error {
	if i.group == "" {
		return nil
	}
	events, err := i.Mount.kprobeEvents()
	if err != nil {
		return err
	}
	for _, e := range events {
		if strings.HasPrefix(e, i.group+"/") {
			err = errors.Join(err, i.Mount.removeKprobe(e))
		}
	}
	return err
}

// kprobeProfile reads hits and misses of kprobe events by name.
//
//	do_nanosleep_return_1_2_3                            8             192
func (m *Mount) kprobeProfile() (map[string]ringlog.Profile, error) {
	b, err := os.ReadFile(filepath.Join(m.Path, "kprobe_profile"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]ringlog.Profile{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		hits, err1 := strconv.ParseUint(f[1], 10, 64)
		missed, err2 := strconv.ParseUint(f[2], 10, 64)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("kprobe_profile: found %q, expected a name and two numbers", strings.TrimSpace(line))
		}
		out[f[0]] = ringlog.Profile{Event: f[0], Hits: hits, Missed: missed}
	}
	return out, nil
}
