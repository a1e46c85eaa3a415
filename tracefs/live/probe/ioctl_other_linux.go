//go:build linux && (mips || mipsle || mips64 || mips64le || ppc64 || ppc64le)

package probe

// ioctlNumbers are PERF_EVENT_IOC_SET_BPF and PERF_EVENT_IOC_ENABLE, whose
// direction bits stand elsewhere on these machines.
func ioctlNumbers() (setBPF, enable uintptr) { return perfIoctlSetBPFMIPS, perfIoctlEnableMIPS }
