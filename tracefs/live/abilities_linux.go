package live

import (
	"errors"
	"os"

	"github.com/ringaudit/ringaudit/tracefs/live/probe"
)

// Abilities tries what a capture needs, one thing after the other, and says of
// each whether it works here and what to do if not. m may be nil. What it makes
// it removes.
func Abilities(m *Mount) []Ability {
	var out []Ability
	add := func(name, what string, err error, ok string) {
		a := Ability{Name: name, What: what, OK: err == nil, Why: ok}
		if err != nil {
			a.Why = err.Error()
		}
		out = append(out, a)
	}
	add("instance", "capture, doctor --selftest: a buffer of our own", tryInstance(m), "made and removed one")
	bpf := probe.Available()
	add("ebpf", "the independent count of capture", bpf, "programs can be loaded")
	if bpf == nil {
		add("ebpf-ring", "records of each hit (capture --witness records)", probe.HaveRingBuffer(), "the kernel has BPF ring buffers")
		add("ebpf-follow", "equal counts for capture -- COMMAND", followable(), "tasks can be followed")
	}
	add("ptrace", "holding the command of capture until everything is attached", tryHold(), "held a command and let it go")
	return out
}

func tryInstance(m *Mount) error {
	if m == nil {
		return errors.New("no tracefs to make one in")
	}
	i, err := m.NewInstance()
	if err != nil {
		return err
	}
	return i.Close()
}

func followable() error {
	if err := probe.HaveBTF(); err != nil {
		return err
	}
	if !initialPIDNamespace() {
		return errors.New("this process has a PID namespace of its own, and set_event_pid takes the kernel's own PIDs: run it outside of the container, or with its host's PID namespace")
	}
	return nil
}

func tryHold() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	h, err := hold([]string{self, "version"}, Stdio{})
	if err != nil {
		return err
	}
	h.abandon()
	return nil
}
