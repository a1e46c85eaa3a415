package cli

import (
	"os"
	"runtime"
	"strings"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/live"
)

// liveInput is the running kernel's tracefs as a source that nothing can consume
// or change.
func liveInput() (audit.Input, error) {
	if runtime.GOOS != "linux" {
		return audit.Input{}, usagef("audit without a SOURCE reads the running kernel's tracefs, which only Linux has; give a SOURCE")
	}
	m, err := live.Discover()
	if err != nil {
		return audit.Input{}, exitWith(exitUnreadable, err)
	}
	return audit.Input{Path: m.Path, FS: tracefs.Guard(m.FS), Live: true, Machine: runningMachine()}, nil
}

// runningMachine is what the running kernel tells of itself outside tracefs.
func runningMachine() audit.Machine {
	word := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	cpus := func(name string) []int {
		list, err := tracefs.ParseCPUList(word(name))
		if err != nil {
			return nil
		}
		return list
	}
	return audit.Machine{
		Kernel: word("/proc/sys/kernel/osrelease"), Arch: word("/proc/sys/kernel/arch"),
		Online: cpus("/sys/devices/system/cpu/online"), Possible: cpus("/sys/devices/system/cpu/possible"),
	}
}
