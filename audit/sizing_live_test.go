//go:build linux

package audit

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"github.com/ringaudit/ringaudit/tracefs"
)

// The size that is said to lose nothing loses nothing, and one sub-buffer less
// than the least that is said to be needed does: the same run again, at both.
func TestNoLossRunAgainLive(t *testing.T) {
	dir := liveInstance(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	// One CPU, so that the run is the same every time.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var was, one cpuSet
	affinity(t, syscall.SYS_SCHED_GETAFFINITY, &was)
	cpu := was.first()
	one[cpu/64] = 1 << (cpu % 64)
	affinity(t, syscall.SYS_SCHED_SETAFFINITY, &one)
	defer affinity(t, syscall.SYS_SCHED_SETAFFINITY, &was)

	const markers = 5000
	run := func(kb uint64) *Buffer {
		t.Helper()
		write("tracing_on", "0")
		write("buffer_size_kb", strconv.FormatUint(kb, 10))
		write("trace", "\n") // clears
		write("tracing_on", "1")
		marker, err := os.OpenFile(filepath.Join(dir, "trace_marker"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range markers {
			if _, err := fmt.Fprintf(marker, "marker %05d\n", i); err != nil {
				t.Fatal(err)
			}
		}
		marker.Close()
		write("tracing_on", "0")
		return audited(t, Input{Path: dir, FS: tracefs.Guard(os.DirFS(dir)), Live: true}, "top")
	}
	b := run(8)
	over := b.Ledger.Count(cpu, Overwritten)
	if !over.Exact() || over.Lo == 0 || b.Ledger.Count(cpu, Written) != Exactly(markers) {
		t.Fatalf("%v overwritten of %v written", over, b.Ledger.Count(cpu, Written))
	}
	var need *Need
	for _, c := range b.Sizing(SizingOptions{NoLoss: true}).CPUs {
		if c.CPU == cpu {
			need = c.NoLoss
		}
	}
	if need == nil || need.RequestKB == 0 {
		t.Fatalf("need: %+v", need)
	}
	if got := run(need.RequestKB).Ledger.Count(cpu, Overwritten); !got.None() {
		t.Errorf("at %d kB, said to lose nothing, %v are overwritten", need.RequestKB, got)
	}
	less, ok := b.Geometry.RequestFor(need.Subbufs.Lo - 1)
	if !ok {
		t.Fatal("no request for less")
	}
	if got := run(less.RequestKB).Ledger.Count(cpu, Overwritten); got.Lo == 0 {
		t.Errorf("%v sub-buffers are said to be the least, and with one less nothing is overwritten", need.Subbufs)
	}
	t.Logf("%d markers need %v sub-buffers", markers, need.Subbufs)
}

// cpuSet is a set of CPUs as sched_setaffinity(2) takes it.
type cpuSet [16]uint64

func (s *cpuSet) first() int {
	for i, w := range s {
		if w != 0 {
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	return 0
}

// affinity reads or sets the CPUs that the calling thread may run on.
func affinity(t *testing.T, call uintptr, set *cpuSet) {
	t.Helper()
	if _, _, errno := syscall.RawSyscall(call, 0, unsafe.Sizeof(*set), uintptr(unsafe.Pointer(set))); errno != 0 {
		t.Fatal(errno)
	}
}
