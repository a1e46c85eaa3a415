package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// Target is one place to count at.
type Target struct {
	// Probe describes it. Name and Kind are the caller's; Means, WhyMeans,
	// Recursion, Function and Program are filled in by [Load].
	ringlog.Probe
	Group, Event string // the tracefs event; empty of KindProgram
	EventID      uint64 // events/GROUP/EVENT/id
	ProgramID    uint32 // of KindProgram
	// Maxactive of a kretprobe, for the report only.
	Maxactive *uint64

	linkMissed *uint64 // asked for when the link goes
}

// Options says what to count.
type Options struct {
	Targets []Target
	// Records sends a record of each hit through a ring buffer of RingBytes
	// (a power of two, at least one page), beside counting it.
	Records   bool
	RingBytes int
	// FailSlots is how many probes reserve failures can be attributed to; 0: all.
	FailSlots int
	// Filtered counts only the tasks that are given to [Set.Follow], and their
	// children. It needs the kernel's BTF. Targets of KindProgram are counted
	// whoever runs: a program that handles packets runs in any task's time, and a
	// part of its runs would be the luck of the scheduler.
	Filtered bool
	// MaxTasks bounds how many tasks can be followed at a time; 0: DefaultMaxTasks.
	MaxTasks int
	// RunStats asks the kernel to measure the programs' own time. It slows every
	// BPF program of the machine down a little while it is on.
	RunStats bool
}

// DefaultMaxTasks is how many tasks of a command can be followed at a time. The
// list fits an ordinary allocation of the kernel then.
const DefaultMaxTasks = 448

// placeholder is what witness.c has in place of the probe's number.
const placeholder = 0x72696e6761756469

// Set is a loaded set of programs. Load, [Set.Attach], [Set.Counts], [Set.Detach]
// and [Set.Close] are called in this order by one goroutine; [Set.Drain] runs in
// another.
type Set struct {
	opts    Options
	targets []Target
	maps    map[string]*ebpf.Map
	progs   []*ebpf.Program // by target
	twins   []twin
	links   []attached // by target
	closers []func() error
	cpus    int
	stride  int // between two CPUs' parts of hits
	spec    *ebpf.CollectionSpec
	cache   *btf.Cache
	closed  bool
	noBatch bool     // the kernel cannot read a table in one call
	misses0 []uint64 // recursion misses at load, by program
	ring    *ring
}

// twin is a program that keeps the list of followed tasks.
type twin struct {
	tracepoint string
	prog       *ebpf.Program
	link       link.Link
}

type attached struct {
	link link.Link
	perf *perfEvent
}

// Available tells why no program can be loaded here; nil if they can.
func Available() error {
	_ = rlimit.RemoveMemlock() // kernels before 5.11 count BPF memory against it
	if err := features.HaveProgramType(ebpf.RawTracepoint); err != nil {
		switch {
		case errors.Is(err, ebpf.ErrNotSupported):
			return fmt.Errorf("the kernel has no raw tracepoint programs (4.17 and later have, if built with CONFIG_BPF_EVENTS): %w", err)
		case errors.Is(err, os.ErrPermission):
			return fmt.Errorf("loading a BPF program is refused: it needs root, or CAP_BPF and CAP_PERFMON (in a container: granted to it), and lockdown below confidentiality: %w", err)
		}
		return err
	}
	if err := features.HaveV3ISA(); err != nil {
		return fmt.Errorf("the kernel lacks atomic operations that return the old value, which number the records (5.12 and later have them): %w", err)
	}
	return nil
}

// HaveRingBuffer tells why records cannot be sent; nil if they can.
func HaveRingBuffer() error {
	err := features.HaveMapType(ebpf.RingBuf)
	if errors.Is(err, ebpf.ErrNotSupported) {
		return fmt.Errorf("the kernel has no BPF ring buffer (5.8 and later have): %w", err)
	}
	return err
}

// HaveBTF tells why tasks cannot be followed; nil if they can.
func HaveBTF() error {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		return fmt.Errorf("the kernel describes no types of its own (CONFIG_DEBUG_INFO_BTF): %w", err)
	}
	return nil
}

// Load loads one program for each target into the kernel. Nothing runs before
// [Set.Attach].
func Load(o Options) (_ *Set, err error) {
	if len(o.Targets) == 0 {
		return nil, errors.New("no probe to count at")
	}
	if o.FailSlots == 0 {
		o.FailSlots = len(o.Targets)
	}
	if o.MaxTasks == 0 {
		o.MaxTasks = DefaultMaxTasks
	}
	if o.Records && (o.RingBytes < os.Getpagesize() || o.RingBytes&(o.RingBytes-1) != 0) {
		return nil, fmt.Errorf("ring size %d: the kernel takes powers of two from one page (%d) on", o.RingBytes, os.Getpagesize())
	}
	if err := Available(); err != nil {
		return nil, err
	}
	if o.Filtered {
		if err := HaveBTF(); err != nil {
			return nil, err
		}
	}
	if o.Records {
		if err := HaveRingBuffer(); err != nil {
			return nil, err
		}
	}
	s := &Set{opts: o, targets: slices.Clone(o.Targets), maps: map[string]*ebpf.Map{}, cache: btf.NewCache()}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.cpus, err = ebpf.PossibleCPU(); err != nil {
		return nil, err
	}
	if o.RunStats {
		c, err := ebpf.EnableStats(0) // BPF_STATS_RUN_TIME
		if err != nil {
			return nil, fmt.Errorf("run statistics: %w", err)
		}
		s.closers = append(s.closers, c.Close)
	}
	if s.spec, err = loadWitness(); err != nil {
		return nil, err
	}
	if err := s.createMaps(); err != nil {
		return nil, err
	}
	if err := s.loadPrograms(); err != nil {
		return nil, err
	}
	if o.Records {
		if s.ring, err = openRing(s.maps[witnessMapRing], o.RingBytes); err != nil {
			return nil, err
		}
		s.closers = append(s.closers, s.ring.close)
	}
	return s, nil
}

func (s *Set) createMaps() error {
	m := s.spec.Maps
	s.stride = len(s.targets) + 8
	m[witnessMapHits].MaxEntries = uint32(s.cpus * s.stride)
	m[witnessMapState].MaxEntries = uint32(s.cpus)
	if err := s.spec.Variables[witnessVarStride].Set(uint32(s.stride)); err != nil {
		return err
	}
	m[witnessMapFailedByProbe].MaxEntries = uint32(s.opts.FailSlots)
	if guarded() {
		if err := s.spec.Variables[witnessVarGuarded].Set(uint32(1)); err != nil {
			return err
		}
	}
	if s.opts.Records {
		m[witnessMapRing].MaxEntries = uint32(s.opts.RingBytes)
	} else {
		delete(m, witnessMapRing)
		delete(m, witnessMapFailedByProbe)
	}
	if s.opts.Filtered {
		m[witnessMapPids].MaxEntries = uint32(s.opts.MaxTasks)
	} else {
		delete(m, witnessMapPids)
		delete(m, witnessMapFollow)
	}
	for name, spec := range m {
		if name == ".rodata" {
			continue
		}
		created, err := ebpf.NewMap(spec)
		if err != nil {
			return fmt.Errorf("BPF map %s (%d entries): %w", name, spec.MaxEntries, err)
		}
		s.maps[name] = created
		s.closers = append(s.closers, created.Close)
	}
	return nil
}

// guarded tells whether the kernel never runs a program inside itself on the same
// CPU: for raw tracepoints since 6.2 (__bpf_trace_run in kernel/trace/bpf_trace.c;
// older ones have it as a backport, which does not matter here), for the other
// means since before that. On arm64 from 7.1 on an interrupt may.
func guarded() bool { return kernelAtLeast(6, 2) && runtime.GOARCH != "arm64" }

// wakeups are the tracepoints for which tracefs looks at the woken task too.
var wakeups = []string{"sched_waking", "sched_wakeup", "sched_wakeup_new"}

// base is the program of witness.c for a target.
func (s *Set) base(t *Target) string {
	special := s.opts.Filtered && t.Means == ringlog.MeansRawTracepoint
	switch {
	case s.opts.Filtered && (t.Group == "raw_syscalls" || t.Group == "syscalls"):
		return pick(s.opts.Records, witnessProgRecordSyscall, witnessProgCountSyscall)
	case special && t.Event == "sched_switch":
		return pick(s.opts.Records, witnessProgRecordSwitch, witnessProgCountSwitch)
	case special && slices.Contains(wakeups, t.Event):
		return pick(s.opts.Records, witnessProgRecordWakeup, witnessProgCountWakeup)
	}
	return pick(s.opts.Records, witnessProgRecordHit, witnessProgCountHit)
}

func pick(records bool, yes, no string) string {
	if records {
		return yes
	}
	return no
}

// Targets are the set's targets with all that was found out about them.
func (s *Set) Targets() []Target { return s.targets }

// PossibleCPUs is the number of CPUs that counts are kept for.
func (s *Set) PossibleCPUs() int { return s.cpus }

// Close detaches and unloads everything. A closed Set may be closed again.
func (s *Set) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.Detach()
	for _, c := range slices.Backward(s.closers) {
		err = errors.Join(err, c())
	}
	return err
}
