//go:build linux

package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/tracefs"
)

// liveInstance makes a tracing instance for the test and removes it afterwards.
// Without tracefs or the right to it, the test is skipped; RINGAUDIT_LIVE=require
// says that there must be one.
func liveInstance(t *testing.T) string {
	t.Helper()
	const mount = "/sys/kernel/tracing"
	missing := func(err error) {
		if os.Getenv("RINGAUDIT_LIVE") == "require" {
			t.Fatalf("RINGAUDIT_LIVE=require, and there is no tracefs to use: %v", err)
		}
		t.Skipf("no tracefs to use: %v", err)
	}
	if _, err := os.Stat(filepath.Join(mount, "instances")); err != nil {
		missing(err)
	}
	dir := filepath.Join(mount, "instances", fmt.Sprintf("ringaudit-test-geometry-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o750); err != nil {
		missing(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Errorf("the instance stays behind: %v", err)
		}
	})
	return dir
}

func readKB(t *testing.T, name string) uint64 {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	kb, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return kb
}

func liveGeometry(t *testing.T, dir string) Geometry {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "events", "header_page"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := tracefs.ParseHeaderPage(f, "header_page")
	if err != nil {
		t.Fatal(err)
	}
	g, ok := GeometryOf(h, uint64(os.Getpagesize()))
	if !ok {
		t.Fatalf("no geometry in %+v", h)
	}
	return g
}

// Sizes on both sides of every boundary between two numbers of sub-buffers, at
// every sub-buffer size that this kernel takes: up to 4096 kB where
// RINGAUDIT_LIVE=require asks for the whole of it (a resize takes some 10 ms),
// else up to 256 kB.
func TestGrantLive(t *testing.T) {
	dir := liveInstance(t)
	size := filepath.Join(dir, "buffer_size_kb")
	order := filepath.Join(dir, "buffer_subbuf_size_kb")
	write := func(name string, kb uint64) error {
		return os.WriteFile(name, []byte(strconv.FormatUint(kb, 10)), 0)
	}

	subbufs := []uint64{0} // kB; 0 leaves it alone
	if _, err := os.Stat(order); err == nil {
		subbufs = nil
		for kb := uint64(os.Getpagesize()) >> 10; kb <= 2048; kb *= 2 {
			subbufs = append(subbufs, kb)
		}
	}
	most := uint64(256)
	if os.Getenv("RINGAUDIT_LIVE") == "require" {
		most = 4096
	}
	tried := 0
	for _, kb := range subbufs {
		// Small first: the change of the sub-buffer size needs memory for all of it.
		if err := write(size, 1); err != nil {
			t.Fatal(err)
		}
		want, predict := NewGeometry(uint64(os.Getpagesize()), liveGeometry(t, dir).HeaderBytes, kb)
		if kb > 0 {
			if err := write(order, kb); (err == nil) != (predict == nil) {
				t.Fatalf("sub-buffers of %d kB: the kernel says %v, predicted %v", kb, err, predict)
			}
		}
		if predict != nil {
			continue
		}
		// The header_page of an instance follows its sub-buffer size on some
		// kernels only; the arithmetic must hold with the computed one.
		if got := liveGeometry(t, dir); kb == 0 && got != want {
			t.Fatalf("geometry is %+v, computed %+v", got, want)
		}
		if kb > 0 {
			if got := readKB(t, order); got<<10 != want.SubbufBytes {
				t.Fatalf("sub-buffers of %d kB: prints %d, computed %d bytes", kb, got, want.SubbufBytes)
			}
		}
		// What this kernel prints: the granted size or the requested one.
		if err := write(size, 8); err != nil {
			t.Fatal(err)
		}
		asGranted := readKB(t, size) != 8

		var requests []uint64
		for n := uint64(1); n*want.UsableBytes <= most<<10; n++ {
			edge := n * want.UsableBytes >> 10 // the largest request for n
			requests = append(requests, edge, edge+1)
		}
		requests = append(requests, 1, 2, most-1, most)
		slices.Sort(requests)
		for _, r := range slices.Compact(requests) {
			if r == 0 || r > most {
				continue
			}
			grant, err := want.Grant(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := write(size, r); err != nil {
				t.Fatalf("sub-buffers of %d kB, request %d: %v", kb, r, err)
			}
			tried++
			predicted := grant.SizeKB
			if !asGranted {
				predicted = r
			}
			if got := readKB(t, size); got != predicted {
				t.Errorf("sub-buffers of %d kB, request %d: prints %d, predicted %d", kb, r, got, predicted)
			}
		}
	}
	t.Logf("%d requests at sub-buffer sizes %v kB", tried, subbufs)
}

// A change of the sub-buffer size leaves the printed size as it was, and
// ReadSize says so.
func TestReadSizeAfterOrderChangeLive(t *testing.T) {
	dir := liveInstance(t)
	if _, err := os.Stat(filepath.Join(dir, "buffer_subbuf_size_kb")); err != nil {
		t.Skip("this kernel has no buffer_subbuf_size_kb")
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	write("buffer_size_kb", "64")
	write("buffer_subbuf_size_kb", strconv.Itoa(os.Getpagesize()*4>>10))
	b, err := os.ReadFile(filepath.Join(dir, "buffer_size_kb"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewGeometry(uint64(os.Getpagesize()), liveGeometry(t, dir).HeaderBytes, uint64(os.Getpagesize())*4>>10)
	if err != nil {
		t.Fatal(err)
	}
	r := g.ReadSize(sizeOf(t, string(b)), SizeContext{OrderFile: true})
	if g.Granted(readKB(t, filepath.Join(dir, "buffer_size_kb"))) {
		t.Skip("this kernel prints the size anew")
	}
	if r.Subbufs.Exact() || !strings.Contains(strings.Join(r.Why, " "), "sub-buffer size was changed") {
		t.Errorf("%q after the change: %+v", b, r)
	}
}
