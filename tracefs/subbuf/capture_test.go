package subbuf

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// rawPages reads a file of raw pages of a capture, also one that is kept
// compressed.
func rawPages(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		return b
	}
	f, err := os.Open(name + ".xz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := xz.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return b
}

var statLine = regexp.MustCompile(`(?m)^([a-z ]+): +(-?[0-9]+)(?:\.([0-9]{6}))?$`)

// stat reads a line of a stats file.
func stat(t *testing.T, file, name string) uint64 {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range statLine.FindAllStringSubmatch(string(b), -1) {
		if m[1] == name {
			n, err := strconv.ParseUint(m[2]+m[3], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("%s has no line %q", file, name)
	return 0
}

// What the pages hold and what they say is lost must be what the kernel counted:
// entries and overrun before the pages were read, read events and overrun after.
func TestRawPagesOfCaptures(t *testing.T) {
	dir := fixtures.Captures(t)
	for _, c := range []struct {
		file   string // below the captures
		layout Layout
		count  string // the counter that the records are
		noMark bool   // nothing was overwritten
	}{
		{"x86_64-6.1.0-57-cloud-amd64/known-count-raw/per_cpu/cpu0/trace_pipe_raw", layouts[0], "entries", false},
		{"x86_64-6.1.0-57-cloud-amd64/raw/per_cpu/cpu0/trace_pipe_raw", layouts[0], "entries", false},
		{"x86_64-6.1.0-57-cloud-amd64/raw/per_cpu/cpu1/trace_pipe_raw", layouts[0], "entries", false},
		{"x86_64-6.1.0-57-cloud-amd64/raw-slow-reader-stored/per_cpu/cpu0/trace_pipe_raw", layouts[0], "read events", false},
		{"x86_64-6.1.0-57-cloud-amd64/raw-reader-behind/per_cpu/cpu0/trace_pipe_raw", layouts[0], "read events", true},
		{"x86_64-6.1.0-57-cloud-amd64/raw-reader-behind/per_cpu/cpu1/trace_pipe_raw", layouts[0], "read events", true},
		{"x86_64-6.1.0-57-cloud-amd64/snapshot/per_cpu/cpu0/snapshot_raw", layouts[0], "entries", false},
		{"x86_64-6.1.0-57-cloud-amd64/snapshot/per_cpu/cpu1/snapshot_raw", layouts[0], "entries", false},
		{"s390x-6.1.0-50-s390x/known-count-raw/per_cpu/cpu0/trace_pipe_raw", layouts[2], "entries", false},
		{"s390x-6.1.0-50-s390x/raw-slow-reader-stored/per_cpu/cpu0/trace_pipe_raw", layouts[2], "read events", false},
		{"i386-6.1.0-50-686/raw/per_cpu/cpu0/trace_pipe_raw", layouts[1], "entries", false},
		{"i386-6.1.0-50-686/raw/per_cpu/cpu1/trace_pipe_raw", layouts[1], "entries", false},
	} {
		t.Run(c.file, func(t *testing.T) {
			name := filepath.Join(dir, filepath.FromSlash(c.file))
			b := rawPages(t, name)
			l, inf, err := InferLayout(b)
			if err != nil {
				t.Fatal(err)
			}
			if l != c.layout || !inf.Certain() {
				t.Errorf("inferred %v (%v), certain %v; want %v", l, inf, inf.Certain(), c.layout)
			}
			s, err := SummarizeStream(bytes.NewReader(b), l, Options{})
			if err != nil {
				t.Fatal(err)
			}
			stats := filepath.Join(filepath.Dir(name), "stats")
			if want := stat(t, stats, c.count); s.Records != want {
				t.Errorf("%d records, stats says %s: %d", s.Records, c.count, want)
			}
			if want := stat(t, stats, "overrun"); s.Lost != want || s.HolesUnknown != 0 {
				t.Errorf("%d lost and %d holes of unknown size, stats says overrun: %d", s.Lost, s.HolesUnknown, want)
			}
			if (s.HolesTotal == 0) != c.noMark {
				t.Errorf("%d holes", s.HolesTotal)
			}
			if s.DamageTotal != 0 || s.TimeBackTotal != 0 || s.TailBytes != 0 {
				t.Errorf("damage %v, time back %v, tail %d", s.Damage, s.TimeBack, s.TailBytes)
			}
			// The kernel prints the oldest event's time in microseconds, rounded.
			// After the drain of a stream the line is stale.
			if oldest := stat(t, stats, "oldest event ts"); c.count == "entries" && (s.First+500)/1000 != oldest {
				t.Errorf("first event at %d ns, stats says %d us", s.First, oldest)
			}
			if err := sameAsWalk(l, b, s); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEmptyRawPages(t *testing.T) {
	name := filepath.Join(fixtures.Captures(t), "x86_64-6.1.0-57-cloud-amd64/known-count-raw/per_cpu/cpu1/trace_pipe_raw")
	if _, _, err := InferLayout(rawPages(t, name)); err != ErrNoRecords {
		t.Errorf("a stream without a byte: %v", err)
	}
}

func TestInferLayout(t *testing.T) {
	for _, l := range layouts {
		for _, size := range []int{4096, 16384, 65536, 1 << 20} {
			l.SubbufBytes = size
			var b []byte
			for i := range 3 {
				w := &builder{l: l}
				for len(w.b)+24 <= l.Capacity() {
					w.event(3, 11, 5)
				}
				b = append(b, w.page(uint64(i)<<30, 0, 0, 0)...)
			}
			got, inf, err := InferLayout(b)
			if err != nil || got != l || !inf.Certain() {
				t.Errorf("%v: %v, %v, %v", l, got, inf, err)
			}
			// One damaged sub-buffer does not hide the layout of the others.
			if size == 4096 {
				copy(b[4096+8:], bytes.Repeat([]byte{0x55}, 8))
				got, inf, err = InferLayout(b)
				if err != nil || got != l || inf.Certain() {
					t.Errorf("%v, damaged: %v, %v, %v", l, got, inf, err)
				}
			}
		}
	}
	for name, b := range map[string][]byte{
		"text":  []byte(strings.Repeat("# tracer: nop\n#\n# entries-in-buffer/entries-written: 10/10   #P:2\n", 200)),
		"ones":  bytes.Repeat([]byte{0xff}, 1<<16),
		"short": {1, 2, 3},
		"count": binary.LittleEndian.AppendUint64(nil, 1),
	} {
		if l, inf, err := InferLayout(b); err != ErrNoLayout {
			t.Errorf("%s: %v, %v, %v", name, l, inf, err)
		}
	}
	if _, _, err := InferLayout(make([]byte, 8192)); err != ErrNoRecords {
		t.Errorf("zeros: %v", err)
	}
}
