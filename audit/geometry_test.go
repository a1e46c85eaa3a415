package audit

import (
	"bufio"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
	"github.com/ringaudit/ringaudit/tracefs"
)

func geometry(t testing.TB, page, header, subbufKB uint64) Geometry {
	t.Helper()
	g, err := NewGeometry(page, header, subbufKB)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The table of FACTS section 4.4, which was computed and in part observed
// without this code.
func TestGrantWorkedExamples(t *testing.T) {
	for _, c := range []struct {
		name              string
		page, header      uint64
		request           uint64
		subbufs, usable   uint64
		printsNew, memory uint64
	}{
		{"x86_64", 4096, 16, 1, 2, 8160, 7, 12288},
		{"x86_64", 4096, 16, 4, 2, 8160, 7, 12288},
		{"x86_64", 4096, 16, 8, 3, 12240, 11, 16384},
		{"x86_64", 4096, 16, 64, 17, 69360, 67, 73728},
		{"x86_64", 4096, 16, 1408, 354, 1444320, 1410, 1454080},
		{"i386", 4096, 12, 8, 3, 12252, 11, 16384},
		{"i386", 4096, 12, 1408, 354, 1445736, 1411, 1454080},
		{"16K pages", 16384, 16, 1408, 89, 1456752, 1422, 1474560},
		{"64K pages", 65536, 16, 8, 2, 131040, 127, 196608},
		{"64K pages", 65536, 16, 1408, 23, 1506960, 1471, 1572864},
	} {
		g := geometry(t, c.page, c.header, 0)
		got, err := g.Grant(c.request)
		want := Grant{RequestKB: c.request, Subbufs: c.subbufs, UsableBytes: c.usable, SizeKB: c.printsNew, MemoryBytes: c.memory}
		if err != nil || got != want {
			t.Errorf("%s, %d kB: got %+v, %v, want %+v", c.name, c.request, got, err, want)
		}
		for _, printed := range []uint64{c.printsNew, c.request} {
			if got := g.Subbufs(printed); got != Exactly(c.subbufs) {
				t.Errorf("%s: %d kB printed is %v sub-buffers, want %d", c.name, printed, got, c.subbufs)
			}
		}
		if got := g.Memory(Exactly(c.subbufs)); got != Exactly(c.memory) {
			t.Errorf("%s: %d sub-buffers cost %v, want %d", c.name, c.subbufs, got, c.memory)
		}
	}
}

var readbackLine = regexp.MustCompile(`^wrote (\d+): buffer_size_kb='(\d+)' total='(\d+)' cpu0='(\d+)'$`)

// Every line of every capture in which sizes were written and read back.
func TestGrantPredictsReadback(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Captures(t), "*", "resize", "readback.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no readback.txt: %v", err)
	}
	lines := 0
	for _, name := range files {
		kernel := filepath.Base(filepath.Dir(filepath.Dir(name)))
		g := geometry(t, 4096, 16, 0)
		switch arch, _, _ := strings.Cut(kernel, "-"); arch {
		case "i386":
			g = geometry(t, 4096, 12, 0)
		case "ppc64le":
			g = geometry(t, 65536, 16, 0)
		case "x86_64", "s390x", "aarch64":
		default:
			t.Fatalf("%s: what pages has %s?", name, arch)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		sc := bufio.NewScanner(f)
		for sc.Scan() {
			m := readbackLine.FindStringSubmatch(sc.Text())
			if m == nil {
				if strings.HasPrefix(sc.Text(), "wrote") {
					t.Errorf("%s: line %q is not understood", kernel, sc.Text())
				}
				continue
			}
			lines++
			request, _ := strconv.ParseUint(m[1], 10, 64)
			printed, _ := strconv.ParseUint(m[2], 10, 64)
			total, _ := strconv.ParseUint(m[3], 10, 64)
			got, err := g.Grant(request)
			if err != nil || got.SizeKB != printed {
				t.Errorf("%s: %d kB prints %d, predicted %d (%v)", kernel, request, printed, got.SizeKB, err)
			}
			if total%printed != 0 || m[4] != m[2] {
				t.Errorf("%s: %q: total and cpu0 do not fit", kernel, sc.Text())
			}
			if back := g.Subbufs(printed); back != Exactly(got.Subbufs) {
				t.Errorf("%s: %d kB printed leads back to %v sub-buffers, want %d", kernel, printed, back, got.Subbufs)
			}
		}
		if err := sc.Err(); err != nil {
			t.Error(err)
		}
	}
	if lines < 69 {
		t.Errorf("%d lines of readback, expected 23 for each of three kernels at least", lines)
	}
}

// From sub-buffers to what is printed and back, for both behaviours of the
// kernel, by counting sub-buffers and bytes one by one.
func TestSubbufsBothBehaviours(t *testing.T) {
	for _, g := range []Geometry{
		geometry(t, 4096, 16, 0), geometry(t, 4096, 12, 0), geometry(t, 4096, 16, 8), geometry(t, 4096, 16, 512),
		geometry(t, 16384, 16, 0), geometry(t, 65536, 16, 0), geometry(t, 65536, 16, 1024),
	} {
		for n := uint64(2); n <= 5000; n++ {
			granted := n * g.UsableBytes / 1024
			if got := g.Subbufs(granted); got != Exactly(n) {
				t.Fatalf("%+v: %d sub-buffers print %d kB, which leads back to %v", g, n, granted, got)
			}
			if back, ok := g.RequestFor(n); !ok || back.Subbufs != n || back.SizeKB != granted {
				t.Fatalf("%+v: the request for %d sub-buffers is %+v, %v", g, n, back, ok)
			} else if again, err := g.Grant(back.RequestKB); err != nil || again != back {
				t.Fatalf("%+v: the request for %d sub-buffers is granted %+v, %v", g, n, again, err)
			}
		}
		subbufs := uint64(2)
		for kb := uint64(1); kb <= 9000; kb++ {
			for subbufs*g.UsableBytes < kb*1024 {
				subbufs++
			}
			got, err := g.Grant(kb)
			if err != nil || got.Subbufs != subbufs {
				t.Fatalf("%+v: %d kB is granted %d sub-buffers, want %d (%v)", g, kb, got.Subbufs, subbufs, err)
			}
			if c := g.Subbufs(kb); !c.Contains(subbufs) || c.Hi > subbufs+1 {
				t.Fatalf("%+v: %d kB as printed by an old kernel is %v sub-buffers, and they are %d", g, kb, c, subbufs)
			}
		}
	}
}

func TestNewGeometry(t *testing.T) {
	for _, c := range []struct{ page, header, kb, subbuf uint64 }{
		{4096, 16, 0, 4096}, {4096, 16, 1, 4096}, {4096, 16, 4, 4096}, {4096, 16, 5, 8192}, {4096, 16, 9, 16384},
		{4096, 16, 16, 16384}, {4096, 16, 512, 524288}, {4096, 12, 8, 8192},
		{65536, 16, 1, 65536}, {65536, 16, 65, 131072}, {65536, 16, 1024, 1048576},
	} {
		g, err := NewGeometry(c.page, c.header, c.kb)
		if err != nil || g.SubbufBytes != c.subbuf || g.UsableBytes != c.subbuf-c.header {
			t.Errorf("page %d, header %d, %d kB: %+v, %v; want a sub-buffer of %d", c.page, c.header, c.kb, g, err, c.subbuf)
		}
	}
	for _, c := range []struct{ page, header, kb uint64 }{
		{4096, 16, 513}, // order 8
		{65536, 16, 1025}, {4096, 16, math.MaxUint64}, {0, 16, 0}, {5000, 16, 0}, {2048, 16, 0}, {1 << 40, 16, 0},
		{4096, 0, 0}, {4096, 8, 0}, {4096, 4096, 0}, {4096, math.MaxUint64, 0},
	} {
		if g, err := NewGeometry(c.page, c.header, c.kb); err == nil {
			t.Errorf("page %d, header %d, %d kB: accepted as %+v", c.page, c.header, c.kb, g)
		}
	}
}

func TestGeometryAbsurd(t *testing.T) {
	g := geometry(t, 4096, 16, 0)
	for _, kb := range []uint64{0, math.MaxUint64, math.MaxUint64 >> 10, 1 << 54} {
		if got, err := g.Grant(kb); err == nil {
			t.Errorf("request of %d kB: granted %+v", kb, got)
		}
	}
	if got := g.Subbufs(math.MaxUint64); !got.IsUnknown() {
		t.Errorf("absurd size printed: %v", got)
	}
	small := geometry(t, 4096, 12, 0)
	if _, err := small.Grant(1 << 22); err == nil {
		t.Error("a 32-bit kernel was granted 4 GiB")
	}
	if got, err := small.Grant(1<<22 - 1); err != nil || got.Subbufs != (4294966272+4083)/4084 {
		t.Errorf("the most that a 32-bit kernel can be asked for: %+v, %v", got, err)
	}
	if got := g.Memory(AtLeast(math.MaxUint64 - 1)); !got.Open {
		t.Errorf("memory of an absurd number of sub-buffers: %v", got)
	}
	if got := (Geometry{}).Subbufs(8); !got.IsUnknown() {
		t.Errorf("unknown geometry: %v", got)
	}
	if _, err := (Geometry{}).Grant(8); err == nil {
		t.Error("unknown geometry was granted something")
	}
	if got := (Geometry{}).Memory(Exactly(3)); !got.IsUnknown() {
		t.Errorf("memory by an unknown geometry: %v", got)
	}
	wrap := Geometry{HeaderBytes: 16, SubbufBytes: 15, UsableBytes: math.MaxUint64}
	if got := wrap.Subbufs(8); !got.IsUnknown() {
		t.Errorf("wrapped geometry: %v", got)
	}
}

// FACTS 4.4: markers of 40 bytes, 102 to a sub-buffer; 3 sub-buffers kept 306
// with overwrite off, and 286 (102+102+82) of 1000 after wrapping.
func TestCapacity(t *testing.T) {
	g := geometry(t, 4096, 16, 0)
	if per := g.EventsPerSubbuf(40); per != 102 {
		t.Errorf("%d records of 40 bytes fit, want 102", per)
	}
	before, wrapped := g.Capacity(Exactly(3), 40)
	if before != Exactly(306) || wrapped != Between(205, 306) {
		t.Errorf("capacity %v before, %v wrapped; want 306, 205 to 306", before, wrapped)
	}
	if !wrapped.Contains(286) {
		t.Error("what was kept in a real buffer is not in the interval")
	}
	if before, wrapped := g.Capacity(Exactly(3), 0); !before.IsUnknown() || !wrapped.IsUnknown() {
		t.Error("records of no bytes have a capacity")
	}
}

func sizeOf(t *testing.T, text string) tracefs.Size {
	t.Helper()
	s, err := tracefs.ParseSize(strings.NewReader(strings.TrimSpace(text)+"\n"), "buffer_size_kb")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReadSize(t *testing.T) {
	g := geometry(t, 4096, 16, 0)
	yes, no := true, false
	for _, c := range []struct {
		name    string
		g       Geometry
		text    string
		ctx     SizeContext
		subbufs Count
		memory  Count
		why     string // in the reasons
	}{
		{"granted", g, "11", SizeContext{}, Exactly(3), Exactly(16384), ""},
		{"requested", g, "8", SizeContext{}, Exactly(3), Exactly(16384), ""},
		// 13 sub-buffers hold 53040 bytes, 51.8 kB; trace_buf_size=53041 takes 14 and prints 51 too.
		{"odd size at boot", g, "51", SizeContext{PrintsRequests: true}, Between(13, 14), Between(14*4096, 15*4096), "trace_buf_size"},
		{"even size at boot", g, "1408", SizeContext{PrintsRequests: true}, Exactly(354), Exactly(1454080), ""},
		{"unexpanded", g, "7 (expanded: 1408)", SizeContext{}, Exactly(2), Exactly(12288), ""},
		{"mixed", g, "X", SizeContext{}, Unknown(), Unknown(), "per_cpu"},
		{"remote", g, "8 (loaded)", SizeContext{}, Unknown(), Unknown(), "remote"},
		{"no geometry", Geometry{}, "11", SizeContext{}, Unknown(), Unknown(), "header_page"},
		{"boot-mapped", g, "247", SizeContext{OrderFile: true, BootMapped: true}, Exactly(62), Exactly(63 * 4096), "reserved at boot"},
		// FACTS 4.2 and T8: 64 kB are 17 sub-buffers of 4 kB and print 67. With
		// sub-buffers of 16 kB, 67 stays, and 17·4080 bytes take 5 of 16368.
		{"order changed", geometry(t, 4096, 16, 16), "67", SizeContext{OrderFile: true}, AtLeast(5), AtLeast(6 * 16384), "5 now"},
		{"order written again", geometry(t, 4096, 16, 16), "79", SizeContext{OrderFile: true}, Exactly(5), Exactly(6 * 16384), ""},
		{"snapshot unknown", g, "11", SizeContext{Snapshot: true}, Between(2, 3), Between(12288, 16384), "no size"},
		{"snapshot allocated", g, "11", SizeContext{Snapshot: true, SnapshotAllocated: &yes}, Exactly(3), Exactly(16384), ""},
		{"snapshot not allocated", g, "11", SizeContext{Snapshot: true, SnapshotAllocated: &no}, Exactly(2), Exactly(12288), "not allocated"},
	} {
		r := c.g.ReadSize(sizeOf(t, c.text), c.ctx)
		if r.Subbufs != c.subbufs || r.MemoryBytes != c.memory {
			t.Errorf("%s: %v sub-buffers, %v bytes; want %v, %v", c.name, r.Subbufs, r.MemoryBytes, c.subbufs, c.memory)
		}
		if why := strings.Join(r.Why, "; "); (c.why == "") != (why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: the reasons are %q, want %q among them", c.name, why, c.why)
		}
	}
	r := g.ReadSize(sizeOf(t, "7 (expanded: 1408)"), SizeContext{})
	if r.AtFirstUse == nil || r.AtFirstUse.Subbufs != 354 || r.AtFirstUse.MemoryBytes != 1454080 {
		t.Errorf("at first use: %+v", r.AtFirstUse)
	}
}

// Sizes and header pages of every capture: what per-CPU files print must lead
// to sub-buffers whose bytes fit what was printed.
func TestReadSizeCaptures(t *testing.T) {
	root := fixtures.Captures(t)
	files := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "buffer_size_kb" {
			return err
		}
		dir := filepath.Dir(name)
		if filepath.Base(filepath.Dir(dir)) == "per_cpu" {
			dir = filepath.Dir(filepath.Dir(dir))
		}
		h, err := os.Open(filepath.Join(dir, "events", "header_page"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		defer h.Close()
		page, err := tracefs.ParseHeaderPage(h, "header_page")
		if err != nil {
			return err
		}
		g, ok := GeometryOf(page, 0)
		if !ok {
			t.Errorf("%s: no geometry", dir)
			return nil
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		s, err := tracefs.ParseSize(f, "buffer_size_kb")
		if err != nil {
			return err
		}
		files++
		if s.Mixed {
			return nil
		}
		r := g.ReadSize(s, SizeContext{})
		if kb := uint64(s.KB.V); !r.Subbufs.Exact() || r.Subbufs.Lo*g.UsableBytes/1024 != kb {
			t.Errorf("%s prints %d kB: %v sub-buffers of %d", name, kb, r.Subbufs, g.UsableBytes)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 30 {
		t.Errorf("only %d sizes found", files)
	}
}
