package probe_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"github.com/ringaudit/ringaudit/internal/fixtures"
	"github.com/ringaudit/ringaudit/tracefs/live/probe"
	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

func unable(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("RINGAUDIT_LIVE") == "require" {
		t.Fatalf("RINGAUDIT_LIVE=require, but: %s", why)
	}
	t.Skip(why)
}

// xdpCounter is an XDP program that passes every packet and counts it.
func xdpCounter(t *testing.T) (*ebpf.Program, *ebpf.Map) {
	t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		unable(t, err.Error())
	}
	t.Cleanup(func() { m.Close() })
	u32 := &btf.Int{Name: "unsigned int", Size: 4}
	fn := &btf.Func{Name: "pass_and_count", Type: &btf.FuncProto{Return: u32, Params: []btf.FuncParam{{Name: "ctx", Type: &btf.Pointer{Target: &btf.Void{}}}}}, Linkage: btf.GlobalFunc}
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "xdp_test", Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{
			btf.WithFuncMetadata(asm.StoreImm(asm.RFP, -4, 0, asm.Word).WithSymbol("pass_and_count"), fn),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.LoadMapPtr(asm.R1, m.FD()),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "out"),
			asm.Mov.Imm(asm.R1, 1),
			asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
			asm.Mov.Imm(asm.R0, 2).WithSymbol("out"), // XDP_PASS
			asm.Return(),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, m
}

// The loss and the hits of a program on a network device are named after the
// program: a veth pair in a network namespace of the test's own.
func TestXDPProgram(t *testing.T) {
	if err := probe.Available(); err != nil {
		unable(t, err.Error())
	}
	from, to := fixtures.Veth(t)
	xdp, counter := xdpCounter(t)
	l, err := link.AttachXDP(link.XDPOptions{Program: xdp, Interface: to.Index})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	info, err := xdp.Info()
	if err != nil {
		t.Fatal(err)
	}
	id, ok := info.ID()
	if !ok {
		t.Fatal("the kernel gives programs no id")
	}

	set, err := probe.Load(probe.Options{
		Targets: []probe.Target{{Probe: ringlog.Probe{Name: "program", Kind: ringlog.KindProgram}, ProgramID: uint32(id)}},
		Records: true, RingBytes: os.Getpagesize(),
	})
	if errors.Is(err, probe.ErrNoEntryProbes) {
		t.Skip(err) // whatever CI promises: the machine forbids it
	}
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if err := set.Attach(); err != nil {
		t.Fatal(err)
	}
	count := func() (n uint64) {
		if err := counter.Lookup(uint32(0), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	const packets = 500
	fixtures.SendFrames(t, from, to, packets)
	if err := set.Detach(); err != nil {
		t.Fatal(err)
	}
	ran := count()
	losses, err := set.Losses()
	if err != nil {
		t.Fatal(err)
	}
	p := losses.Probes[0]
	if p.Hits != packets || ran-before != packets {
		t.Errorf("%d hits; the program counted %d before and %d after, %d were sent", p.Hits, before, ran, packets)
	}
	if p.Program == nil || p.Program.ID != uint32(id) || p.Program.Name != "xdp_test" || p.Program.Type != "XDP" || p.Function != "pass_and_count" || p.Means != ringlog.MeansFentry {
		t.Errorf("described as %+v, program %+v", p.Probe, p.Program)
	}
	// 32 bytes and 8 of head each: a page holds about a hundred.
	if p.ReserveFailures == nil || *p.ReserveFailures == 0 || *p.ReserveFailures > p.Hits {
		t.Errorf("reserve failures of the program %v, in a ring of one page", p.ReserveFailures)
	}
	var failed, asked uint64
	for cpu := range losses.Failed {
		failed += losses.Failed[cpu]
		asked += losses.Asked[cpu]
	}
	if failed != *p.ReserveFailures || asked != p.Hits {
		t.Errorf("by cpu %d failures of %d, by program %d of %d", failed, asked, *p.ReserveFailures, p.Hits)
	}
	received := uint64(0)
	stop := make(chan struct{})
	close(stop)
	if bad := set.Drain(stop, func(r *ringlog.Record) { received++ }); bad != 0 || received+failed != asked {
		t.Errorf("%d records taken and %d refused of %d, %d of another form", received, failed, asked, bad)
	}
}

// The same without a device: the kernel runs the program for the test.
func TestProgramTestRun(t *testing.T) {
	if err := probe.Available(); err != nil {
		unable(t, err.Error())
	}
	xdp, counter := xdpCounter(t)
	info, err := xdp.Info()
	if err != nil {
		t.Fatal(err)
	}
	id, _ := info.ID()
	set, err := probe.Load(probe.Options{Targets: []probe.Target{{Probe: ringlog.Probe{Name: "program", Kind: ringlog.KindProgram}, ProgramID: uint32(id)}}})
	if errors.Is(err, probe.ErrNoEntryProbes) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if err := set.Attach(); err != nil {
		t.Fatal(err)
	}
	const runs = 300
	for range runs {
		if _, err := xdp.Run(&ebpf.RunOptions{Data: make([]byte, 64)}); err != nil {
			t.Skipf("the kernel runs no XDP program for a test: %v", err)
		}
	}
	if err := set.Detach(); err != nil {
		t.Fatal(err)
	}
	l, err := set.Losses()
	if err != nil {
		t.Fatal(err)
	}
	var ran uint64
	if err := counter.Lookup(uint32(0), &ran); err != nil {
		t.Fatal(err)
	}
	if ran != runs || l.Probes[0].Hits != runs || l.Probes[0].Function != "pass_and_count" {
		t.Errorf("%d hits at %s, the program counted %d, it was run %d times", l.Probes[0].Hits, l.Probes[0].Function, ran, runs)
	}
}

func TestLoadRefuses(t *testing.T) {
	if err := probe.Available(); err != nil {
		unable(t, err.Error())
	}
	one := []probe.Target{{Probe: ringlog.Probe{Name: "x:y", Kind: ringlog.KindTracepoint}, Group: "x", Event: "y"}}
	for _, tt := range []struct {
		o    probe.Options
		says string
	}{
		{probe.Options{}, "no probe"},
		{probe.Options{Targets: one, Records: true, RingBytes: 5000}, "powers of two"},
		{probe.Options{Targets: one, Records: true, RingBytes: 64}, "powers of two"},
		{probe.Options{Targets: []probe.Target{{Probe: ringlog.Probe{Kind: ringlog.KindProgram}, ProgramID: 1 << 30}}}, "no BPF program of that id"},
	} {
		if s, err := probe.Load(tt.o); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v, want %q", tt.o, err, tt.says)
			if s != nil {
				s.Close()
			}
		}
	}
}

// An event that has no tracepoint of its name is attached by its number, and the
// output says so.
func TestMeans(t *testing.T) {
	if err := probe.Available(); err != nil {
		unable(t, err.Error())
	}
	id, err := os.ReadFile("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id")
	if err != nil {
		t.Skip(err)
	}
	var n uint64
	for _, c := range strings.TrimSpace(string(id)) {
		n = n*10 + uint64(c-'0')
	}
	raw := probe.Target{Probe: ringlog.Probe{Name: "raw_syscalls:sys_enter", Kind: ringlog.KindTracepoint, Recorded: true}, Group: "raw_syscalls", Event: "sys_enter"}
	named := probe.Target{Probe: ringlog.Probe{Name: "syscalls:sys_enter_getppid", Kind: ringlog.KindTracepoint, Recorded: true}, Group: "syscalls", Event: "sys_enter_getppid", EventID: n}
	other := named // as if it were of a group that has tracepoints
	other.Group = "elsewhere"
	set, err := probe.Load(probe.Options{Targets: []probe.Target{raw, named, other}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if err := set.Attach(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		syscall.Getppid()
	}
	if err := set.Detach(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{ringlog.MeansRawTracepoint, ringlog.MeansPerfEvent, ringlog.MeansPerfEvent} {
		if got := set.Targets()[i]; got.Means != want || (want == ringlog.MeansPerfEvent) != (got.WhyMeans != "") {
			t.Errorf("%s by %s (%s), want %s", got.Name, got.Means, got.WhyMeans, want)
		}
	}
	l, err := set.Losses()
	if err != nil {
		t.Fatal(err)
	}
	if l.Probes[1].Hits < 100 || l.Probes[2].Hits < 100 || l.Probes[0].Hits < l.Probes[1].Hits {
		t.Errorf("hits %d, %d, %d of 100 calls", l.Probes[0].Hits, l.Probes[1].Hits, l.Probes[2].Hits)
	}
}
