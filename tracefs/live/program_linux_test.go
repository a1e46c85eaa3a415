package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"github.com/ringaudit/ringaudit/internal/fixtures"
	"github.com/ringaudit/ringaudit/tracefs/live/probe"
	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// xdpPass is an XDP program that passes every packet, with the BTF that an entry
// probe needs.
func xdpPass(t *testing.T) (*ebpf.Program, uint32) {
	t.Helper()
	u32 := &btf.Int{Name: "unsigned int", Size: 4}
	fn := &btf.Func{Name: "let_pass", Type: &btf.FuncProto{Return: u32, Params: []btf.FuncParam{{Name: "ctx", Type: &btf.Pointer{Target: &btf.Void{}}}}}, Linkage: btf.GlobalFunc}
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "xdp_pass", Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{
			btf.WithFuncMetadata(asm.Mov.Imm(asm.R0, 2).WithSymbol("let_pass"), fn), // XDP_PASS
			asm.Return(),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	info, err := p.Info()
	if err != nil {
		t.Fatal(err)
	}
	id, ok := info.ID()
	if !ok {
		t.Fatal("the kernel gives programs no id")
	}
	return p, uint32(id)
}

// Every packet that an XDP program sees is a hit of that program, and a record
// that was written or refused: held against the device's own count.
func TestCaptureProgram(t *testing.T) {
	m := liveWitness(t)
	before := globalSettings(t, m)
	for _, tt := range []struct {
		name, mode, filter string
		o                  CaptureOptions
	}{
		{"alone", ringlog.ModeAlone, "", CaptureOptions{}},
		{"counted only", ringlog.ModeAlone, "", CaptureOptions{Witness: WitnessCount}},
		{"beside an event", ringlog.ModeBounds, "", CaptureOptions{Events: []string{"raw_syscalls:sys_enter"}}},
		// The command sends nothing: that must not hide a run.
		{"with a command", ringlog.ModeAlone, "", CaptureOptions{Command: []string{"sleep", "60"}}},
		{"an event of a command", ringlog.ModeBounds, "command", CaptureOptions{Events: []string{"raw_syscalls:sys_enter"}, Command: []string{"sleep", "60"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from, to := fixtures.Veth(t) // each subtest has its own goroutine, and thread
			xdp, id := xdpPass(t)
			l, err := link.AttachXDP(link.XDPOptions{Program: xdp, Interface: to.Index})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			o := tt.o
			o.Programs, o.RingBytes, o.Output = []uint32{id, id}, os.Getpagesize(), filepath.Join(t.TempDir(), "capture")
			const packets = 500
			before := fixtures.Received(t, to)
			r, err := captureWhile(m, o, func() { fixtures.SendFrames(t, from, to, packets) })
			if errors.Is(err, probe.ErrNoEntryProbes) {
				t.Skip(err) // whatever CI promises: the machine forbids it
			}
			if err != nil {
				t.Fatal(err)
			}
			arrived := fixtures.Received(t, to) - before
			w := r.Witness
			if w == nil || len(w.Probes) != len(o.Events)+1 {
				t.Fatalf("count %+v (%s), want one of each event and one of the program named twice", w, r.NoCount)
			}
			p := w.Probes[len(w.Probes)-1]
			if arrived != packets || p.Hits != arrived {
				t.Errorf("%d hits; %d packets were sent, and %d arrived by the device's count", p.Hits, packets, arrived)
			}
			if p.Program == nil || *p.Program != (ringlog.Program{ID: id, Name: "xdp_pass", Type: "XDP"}) || p.Function != "let_pass" || p.Means != ringlog.MeansFentry || p.Recorded {
				t.Errorf("described as %+v, program %+v", p.Probe, p.Program)
			}
			if w.Mode != tt.mode || w.Filter != tt.filter || (len(w.Notes) > 0) != (o.Command != nil) {
				t.Errorf("mode %s, filter %q, notes %q", w.Mode, w.Filter, w.Notes)
			}
			if what, _ := r.Settled(); what != "" {
				t.Error(what)
			}
			checkProgramLog(t, o.Output, w)
		})
	}
	sameSettings(t, before, globalSettings(t, m))
}

// checkProgramLog holds the log against the last probe's counts: a run is a
// record or a refused one.
func checkProgramLog(t *testing.T, dir string, w *ringlog.Witness) {
	t.Helper()
	file := filepath.Join(dir, "ringlog.jsonl")
	last := len(w.Probes) - 1
	p := w.Probes[last]
	if w.Reader == nil {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) || p.ReserveFailures != nil {
			t.Errorf("no records were asked for: log %v, refused %v", err, p.ReserveFailures)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	records := uint64(bytes.Count(text, fmt.Appendf(nil, `"probe":%d,`, last)))
	if p.ReserveFailures == nil || records+*p.ReserveFailures != p.Hits {
		t.Errorf("%d records of the program in the log, %v refused; want %d in all", records, p.ReserveFailures, p.Hits)
	}
	var asked, refused uint64
	for _, c := range w.CPUs {
		asked += *c.Asked
		refused += *c.ReserveFailures
	}
	if asked != w.Reader.Written+refused || refused != *w.ReserveFailures {
		t.Errorf("%d records asked for, %d written and %d refused (%d in all)", asked, w.Reader.Written, refused, *w.ReserveFailures)
	}
}

// captureWhile captures, calls during when recording has begun, and ends the
// capture when that returns.
func captureWhile(m *Mount, o CaptureOptions, during func()) (*CaptureResult, error) {
	type outcome struct {
		r   *CaptureResult
		err error
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	begun, ended := make(chan struct{}, 1), make(chan outcome, 1)
	o.Progress = func(Progress) {
		select {
		case begun <- struct{}{}:
		default:
		}
	}
	go func() {
		r, err := Capture(ctx, m, o)
		ended <- outcome{r, err}
	}()
	select {
	case <-begun:
		during()
		cancel()
	case out := <-ended:
		return out.r, out.err
	}
	out := <-ended
	return out.r, out.err
}
