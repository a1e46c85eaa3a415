package probe

import (
	"errors"
	"fmt"
	"maps"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

func (s *Set) loadPrograms() error {
	specs := map[string]*ebpf.ProgramSpec{}
	all := map[string]*ebpf.ProgramSpec{} // at BPF programs
	for i := range s.targets {
		ps, err := s.programSpec(i)
		if err != nil {
			return err
		}
		if s.targets[i].Kind == ringlog.KindProgram {
			all[programName(i)] = ps
		} else {
			specs[programName(i)] = ps
		}
	}
	if s.opts.Filtered {
		for _, t := range followers {
			specs[t.program] = s.spec.Programs[t.program]
		}
	}
	loaded, err := s.load(specs, s.opts.Filtered)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		unfiltered, err := s.load(all, false)
		if errors.Is(err, os.ErrPermission) {
			return fmt.Errorf("%w: %w", ErrNoEntryProbes, err)
		}
		if err != nil {
			return err
		}
		maps.Copy(loaded, unfiltered)
	}
	s.progs = make([]*ebpf.Program, len(s.targets))
	for i := range s.targets {
		s.progs[i] = loaded[programName(i)]
	}
	if s.opts.Filtered {
		for _, f := range followers {
			for _, tp := range f.tracepoints {
				s.twins = append(s.twins, twin{tracepoint: tp, prog: loaded[f.program]})
			}
		}
	}
	s.links = make([]attached, len(s.targets))
	return nil
}

func programName(i int) string { return fmt.Sprintf("probe_%d", i) }

// followers are the programs that keep the task list, and where they sit.
var followers = []struct {
	program     string
	tracepoints []string
}{
	{witnessProgFollowSwitch, []string{"sched_switch"}},
	{witnessProgFollowWakeup, wakeups},
	{witnessProgFollowFork, []string{"sched_process_fork"}},
	{witnessProgFollowFree, []string{"sched_process_free"}},
}

// load loads programs that share the set's maps; filtered ones count the followed
// tasks only.
func (s *Set) load(programs map[string]*ebpf.ProgramSpec, filtered bool) (map[string]*ebpf.Program, error) {
	only := uint32(0)
	if filtered {
		only = 1
	}
	if err := s.spec.Variables[witnessVarFiltered].Set(only); err != nil {
		return nil, err
	}
	spec := &ebpf.CollectionSpec{
		Maps: s.spec.Maps, Programs: programs, Variables: s.spec.Variables,
		Types: s.spec.Types, ByteOrder: s.spec.ByteOrder,
	}
	coll, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: s.maps, Cache: s.cache})
	if err != nil {
		return nil, err
	}
	// The programs outlive the collection; its maps are clones.
	out := make(map[string]*ebpf.Program, len(programs))
	for name := range programs {
		out[name] = coll.DetachProgram(name)
		s.closers = append(s.closers, out[name].Close)
	}
	coll.Close()
	return out, nil
}

// ErrNoEntryProbes says that the kernel, or a policy on it, refuses programs at
// the entry of BPF programs, though others can be loaded.
var ErrNoEntryProbes = errors.New("this machine refuses probes at the entry of BPF programs (program type tracing, fentry), which --program needs")

// programSpec is the program of target i, ready to load.
func (s *Set) programSpec(i int) (*ebpf.ProgramSpec, error) {
	t := &s.targets[i]
	if t.Means == "" {
		t.Means = firstMeans(t)
	}
	ps := s.spec.Programs[s.base(t)].Copy()
	if n := writeNumber(ps.Instructions, int64(i)); n == 0 {
		return nil, fmt.Errorf("program %s has no place for the probe's number", s.base(t))
	}
	ps.Name = "ringaudit"
	switch t.Means {
	case ringlog.MeansPerfEvent:
		ps.Type = ebpf.TracePoint
	case ringlog.MeansPerfKprobe:
		ps.Type = ebpf.Kprobe
	case ringlog.MeansFentry:
		return ps, s.aim(ps, t)
	}
	return ps, nil
}

// firstMeans is the best way to attach to a target.
func firstMeans(t *Target) string {
	switch t.Kind {
	case ringlog.KindKprobe, ringlog.KindKretprobe:
		return ringlog.MeansPerfKprobe
	case ringlog.KindProgram:
		return ringlog.MeansFentry
	}
	if t.Group == "syscalls" {
		t.WhyMeans = "events of syscalls: are made from raw_syscalls: and have no tracepoint of their own"
		return ringlog.MeansPerfEvent
	}
	return ringlog.MeansRawTracepoint
}

func writeNumber(ins asm.Instructions, n int64) (written int) {
	for i := range ins {
		if ins[i].OpCode.IsDWordLoad() && ins[i].Constant == placeholder {
			ins[i].Constant = n
			written++
		}
	}
	return written
}

// aim points a program at the entry of a running BPF program.
func (s *Set) aim(ps *ebpf.ProgramSpec, t *Target) error {
	prog, err := ebpf.NewProgramFromID(ebpf.ProgramID(t.ProgramID))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("program %d: no BPF program of that id is loaded", t.ProgramID)
		}
		return fmt.Errorf("program %d: %w", t.ProgramID, err)
	}
	s.closers = append(s.closers, prog.Close)
	info, err := prog.Info()
	if err != nil {
		return fmt.Errorf("program %d: %w", t.ProgramID, err)
	}
	entry, err := entryOf(info)
	if err != nil {
		return fmt.Errorf("program %d (%s): %w", t.ProgramID, info.Name, err)
	}
	if info.Type == ebpf.Tracing {
		return fmt.Errorf("program %d (%s) is a tracing program itself, and the kernel lets none run at the entry of another", t.ProgramID, info.Name)
	}
	t.Function = entry
	t.Program = &ringlog.Program{ID: t.ProgramID, Name: info.Name, Type: info.Type.String()}
	ps.Type, ps.AttachType = ebpf.Tracing, ebpf.AttachTraceFEntry
	ps.AttachTarget, ps.AttachTo = prog, entry
	return nil
}

// entryOf is the name of a program's entry function.
func entryOf(info *ebpf.ProgramInfo) (string, error) {
	funcs, err := info.FuncInfos()
	if err != nil {
		return "", fmt.Errorf("it carries no BTF, which an entry probe needs: %w", err)
	}
	for _, f := range funcs {
		if f.Offset == 0 {
			return f.Func.Name, nil
		}
	}
	return "", errors.New("its BTF names no entry function")
}
