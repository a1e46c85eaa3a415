//go:build linux && !(mips || mipsle || mips64 || mips64le || ppc64 || ppc64le)

package probe

// ioctlNumbers are PERF_EVENT_IOC_SET_BPF and PERF_EVENT_IOC_ENABLE.
func ioctlNumbers() (setBPF, enable uintptr) { return perfIoctlSetBPF, perfIoctlEnable }
