package probe

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"

	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// Attach starts the counting. The events must be enabled in the instance before:
// of two callbacks at one tracepoint the one that was registered first runs
// first (tracepoint_add_func in kernel/tracepoint.c), and the bounds of
// [ringlog.Witness] rest on tracefs running before the witness.
func (s *Set) Attach() error {
	for i := range s.targets {
		if err := s.attach(i); err != nil {
			return fmt.Errorf("%s: %w", s.targets[i].Name, err)
		}
	}
	// Behind the counting programs, as the kernel's own followers run behind its
	// events.
	for i := range s.twins {
		t := &s.twins[i]
		l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: t.tracepoint, Program: t.prog})
		if err != nil {
			return fmt.Errorf("following tasks at %s: %w", t.tracepoint, err)
		}
		t.link = l
	}
	s.misses0 = make([]uint64, len(s.progs)+len(s.twins))
	for i, m := range s.misses() {
		s.misses0[i] = m
	}
	return nil
}

func (s *Set) attach(i int) error {
	t := &s.targets[i]
	switch t.Means {
	case ringlog.MeansRawTracepoint:
		l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: t.Event, Program: s.progs[i]})
		if err == nil {
			s.links[i].link = l
			t.Recursion = rawTracepointRecursion()
			return nil
		}
		// No tracepoint of the event's name: by way of the event's number then.
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrInvalid) {
			return err
		}
		t.Means, t.WhyMeans = ringlog.MeansPerfEvent, "no tracepoint of this name: "+err.Error()
		ps, err := s.programSpec(i)
		if err != nil {
			return err
		}
		loaded, err := s.load(map[string]*ebpf.ProgramSpec{programName(i): ps}, s.opts.Filtered)
		if err != nil {
			return err
		}
		s.progs[i] = loaded[programName(i)]
		return s.attachPerf(i)
	case ringlog.MeansFentry:
		l, err := link.AttachTracing(link.TracingOptions{Program: s.progs[i], AttachType: ebpf.AttachTraceFEntry})
		if err != nil {
			return err
		}
		s.links[i].link, t.Recursion = l, "counted"
		return nil
	}
	return s.attachPerf(i)
}

func (s *Set) attachPerf(i int) error {
	t := &s.targets[i]
	pe, err := openPerfEvent(t.EventID)
	if err != nil {
		return fmt.Errorf("perf event of tracefs event %d: %w", t.EventID, err)
	}
	t.Recursion = perfRecursion()
	raw, err := link.AttachRawLink(link.RawLinkOptions{Target: pe.fd, Program: s.progs[i], Attach: ebpf.AttachPerfEvent})
	if err == nil {
		s.links[i] = attached{link: raw, perf: pe}
		return nil
	}
	if err := pe.setBPF(s.progs[i].FD()); err != nil { // kernels before 5.15 have no such link
		pe.close()
		return err
	}
	s.links[i] = attached{perf: pe}
	return nil
}

// rawTracepointRecursion: __bpf_trace_run skips and counts since 6.1.192 and
// 6.6; before it does not skip (kernel/trace/bpf_trace.c).
func rawTracepointRecursion() string {
	if kernelAtLeast(6, 1) {
		return "counted"
	}
	return "none"
}

// perfRecursion: trace_call_bpf skips while any such program runs on the CPU,
// and counts it since 6.8 (kernel/trace/bpf_trace.c).
func perfRecursion() string {
	if kernelAtLeast(6, 8) {
		return "counted"
	}
	return "uncounted"
}

func kernelAtLeast(major, minor uint32) bool {
	v, err := features.LinuxVersionCode()
	return err == nil && v >= major<<16|minor<<8
}

// perfEvent is a perf event of one tracefs event. A BPF program on it runs at
// every hit on every CPU, whatever CPU it was opened for: the kernel keeps the
// programs with the event (perf_event_attach_bpf_prog in kernel/trace/bpf_trace.c).
type perfEvent struct{ fd int }

// perfAttr is the head of struct perf_event_attr (PERF_ATTR_SIZE_VER0,
// include/uapi/linux/perf_event.h).
type perfAttr struct {
	kind, size       uint32
	config           uint64
	samplePeriod     uint64
	sampleType       uint64
	readFormat       uint64
	bits             uint64
	wakeupEvents     uint32
	breakpointType   uint32
	breakpointConfig uint64
}

const (
	perfTypeTracepoint   = 2
	perfFlagCloseOnExec  = 8
	perfIoctlEnable      = 0x2400
	perfIoctlSetBPF      = 0x40042408
	perfIoctlEnableMIPS  = 0x20002400
	perfIoctlSetBPFMIPS  = 0x80042408
	noGroup, allTasks    = -1, -1
	perfAttrBytes        = 64
	firstSampleNeverSent = 1 << 62
)

func openPerfEvent(event uint64) (*perfEvent, error) {
	cpu, err := firstOnlineCPU()
	if err != nil {
		return nil, err
	}
	attr := perfAttr{kind: perfTypeTracepoint, size: perfAttrBytes, config: event, samplePeriod: firstSampleNeverSent}
	all, none := allTasks, noGroup
	fd, _, errno := syscall.Syscall6(syscall.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attr)), uintptr(all), uintptr(cpu), uintptr(none), perfFlagCloseOnExec, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("perf_event_open", errno)
	}
	return &perfEvent{int(fd)}, nil
}

func (p *perfEvent) setBPF(prog int) error {
	set, enable := ioctlNumbers()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(p.fd), set, uintptr(prog)); errno != 0 {
		return os.NewSyscallError("PERF_EVENT_IOC_SET_BPF", errno)
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(p.fd), enable, 0); errno != 0 {
		return os.NewSyscallError("PERF_EVENT_IOC_ENABLE", errno)
	}
	return nil
}

func (p *perfEvent) close() error { return os.NewSyscallError("close", syscall.Close(p.fd)) }

func firstOnlineCPU() (int, error) {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(b)), ",")
	first, _, _ = strings.Cut(first, "-")
	return strconv.Atoi(first)
}

// Detach ends the counting. Counts stay readable.
//
// The links are closed side by side: each close waits for the kernel's readers,
// and many can wait for the same.
func (s *Set) Detach() error {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
		room = make(chan struct{}, 64)
	)
	drop := func(closers ...func() error) {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			for _, c := range closers {
				if err := c(); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for i := range s.links {
		a := s.links[i]
		s.links[i] = attached{}
		if missed, ok := linkMissed(a.link); ok {
			s.targets[i].linkMissed = &missed
		}
		var closers []func() error
		if a.link != nil {
			closers = append(closers, a.link.Close)
		}
		if a.perf != nil {
			closers = append(closers, a.perf.close)
		}
		if closers != nil {
			drop(closers...)
		}
	}
	for i := range s.twins {
		if l := s.twins[i].link; l != nil {
			s.twins[i].link = nil
			drop(l.Close)
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Follow adds a task to those that count.
func (s *Set) Follow(pid uint32) error {
	return s.maps[witnessMapPids].Put(pid, uint8(1))
}

// linkMissed is what the kernel says of a kprobe's link (bpf_link_info missed,
// 6.6 and later); ok is false where it says nothing.
func linkMissed(l link.Link) (missed uint64, ok bool) {
	if l == nil || !kernelAtLeast(6, 6) {
		return 0, false
	}
	raw, isRaw := l.(*link.RawLink)
	if !isRaw {
		return 0, false
	}
	info, err := raw.Info()
	if err != nil {
		return 0, false
	}
	full, err := link.NewFromID(info.ID)
	if err != nil {
		return 0, false
	}
	defer full.Close()
	fi, err := full.Info()
	if err != nil {
		return 0, false
	}
	pe := fi.PerfEvent()
	if pe == nil {
		return 0, false
	}
	k := pe.Kprobe()
	if k == nil {
		return 0, false
	}
	return k.Missed, true
}
