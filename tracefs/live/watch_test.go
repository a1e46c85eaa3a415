package live

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

func statsText(entries, overrun, commit, bytes int64, oldest, now string, dropped, read int64) string {
	return fmt.Sprintf("entries: %d\noverrun: %d\ncommit overrun: %d\nbytes: %d\noldest event ts: %s\nnow ts: %s\ndropped events: %d\nread events: %d\n",
		entries, overrun, commit, bytes, oldest, now, dropped, read)
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func sampleTree() fstest.MapFS {
	return fstest.MapFS{
		"tracing_on":                        file("1\n"),
		"per_cpu/cpu0/stats":                file(statsText(100, 20, 3, 4000, "    10.000000", "    12.500000", 7, 30)),
		"per_cpu/cpu1/stats":                file(statsText(0, 0, 0, 0, "     9.000000", "    12.500000", 0, 0)),
		"instances/foo/per_cpu/cpu0/stats":  file(statsText(1, 0, 0, 40, "500", "900", 0, 0)),
		"instances/foo/tracing_on":          file("0\n"),
		"instances/bar/per_cpu/cpu10/stats": file("entries: 5\noverrun: 2\n"),
	}
}

func TestSample(t *testing.T) {
	s := NewSampler(sampleTree(), nil, nil)
	now, err := s.Sample(time.Unix(100, 0))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range now.Buffers {
		names = append(names, b.Name)
	}
	if got := strings.Join(names, " "); got != "top bar foo" {
		t.Errorf("buffers %q, want the top level, then by name", got)
	}
	c := now.Find("top", 0)
	if c.Written.V != 150 || c.Kept.V != 100 || c.Overwritten.V != 20 || c.CommitOverrun.V != 3 || c.Dropped.V != 7 || c.Read.V != 30 {
		t.Errorf("top cpu 0: %+v", c)
	}
	if !c.Window.OK || c.Window.V != 2500*time.Millisecond {
		t.Errorf("window %+v, want 2.5 s", c.Window)
	}
	if w := now.Find("top", 1).Window; w.OK {
		t.Errorf("a CPU that keeps nothing has a window of %v", w.V)
	}
	if w := now.Find("foo", 0).Window; w.OK {
		t.Errorf("a clock of ticks has a window of %v", w.V)
	}
	// An old kernel that prints two lines: the rest is unknown, and so is what
	// would need it.
	old := now.Find("bar", 10)
	if old == nil || !old.Kept.OK || old.Written.OK || old.Dropped.OK || old.Read.OK {
		t.Errorf("bar cpu 10: %+v", old)
	}
	if r := now.Buffers[2].Recording; !r.OK || r.V {
		t.Errorf("foo records: %+v", r)
	}
	if r := now.Buffers[1].Recording; r.OK {
		t.Errorf("bar's tracing_on is not there, and is %v", r.V)
	}
}

func TestSampleChosen(t *testing.T) {
	now, err := NewSampler(sampleTree(), []string{"top"}, []int{1}).Sample(time.Unix(0, 0))
	if err != nil || len(now.Buffers) != 1 || len(now.Buffers[0].CPUs) != 1 || now.Buffers[0].CPUs[0].CPU != 1 {
		t.Errorf("%+v, %v", now, err)
	}
}

// Instances come and go between samples.
func TestSampleInstanceGone(t *testing.T) {
	tree := sampleTree()
	s := NewSampler(tree, nil, nil)
	if _, err := s.Sample(time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(tree, func(name string, _ *fstest.MapFile) bool { return strings.HasPrefix(name, "instances/foo/") })
	tree["instances/new/per_cpu/cpu3/stats"] = file(statsText(1, 1, 1, 1, "1.000000", "2.000000", 1, 1))
	now, err := s.Sample(time.Unix(1, 0))
	if err != nil || now.Find("foo", 0) != nil || now.Find("new", 3) == nil {
		t.Errorf("%+v, %v", now, err)
	}
}

func TestBetween(t *testing.T) {
	s := func(text string) *CPUSample {
		now, err := NewSampler(fstest.MapFS{"per_cpu/cpu0/stats": file(text)}, nil, nil).Sample(time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		return now.Find("top", 0)
	}
	a := s(statsText(10, 100, 0, 0, "1.000000", "2.000000", 5, 7))
	b := s(statsText(20, 300, 4, 0, "1.000000", "2.000000", 5, 7))
	r := Between(a, b, 2*time.Second)
	if r.Written.V != 105 || r.Overwritten.V != 100 || r.CommitOverrun.V != 2 || !r.Dropped.OK || r.Dropped.V != 0 || r.Lost().V != 102 {
		t.Errorf("rates %+v, lost %v", r, r.Lost())
	}
	// A buffer that was reset: nothing is known, and nothing is negative.
	if r := Between(b, a, time.Second); !r.Reset || r.Written.OK || r.Lost().OK {
		t.Errorf("after a reset: %+v", r)
	}
	// Nothing to compare with.
	if r := Between(nil, b, time.Second); r.Written.OK || r.Reset {
		t.Errorf("without a sample before: %+v", r)
	}
	part := s("entries: 5\n")
	if r := Between(part, b, time.Second); r.Written.OK || r.Lost().OK || r.Reset {
		t.Errorf("with counters missing: %+v", r)
	}
}

// A real capture's counters, on every system.
func TestSampleCapture(t *testing.T) {
	dir := filepath.Join(fixtures.Captures(t), "x86_64-6.1.0-57-cloud-amd64", "small-overwrite")
	now, err := NewSampler(os.DirFS(dir), nil, nil).Sample(time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	// grep . per_cpu/cpu0/stats: entries 432, overrun 1329940, commit overrun 5106.
	c := now.Find("top", 0)
	if c == nil || c.Kept.V != 432 || c.Overwritten.V != 1329940 || c.CommitOverrun.V != 5106 || c.Written.V != 1330372 {
		t.Errorf("cpu 0: %+v", c)
	}
}

func BenchmarkSample256(b *testing.B) {
	tree := fstest.MapFS{}
	for i := range 256 {
		tree[fmt.Sprintf("per_cpu/cpu%d/stats", i)] = file(statsText(100, 20, 3, 4000, "    10.000000", "    12.500000", 7, 30))
	}
	s := NewSampler(fs.FS(tree), nil, nil)
	for b.Loop() {
		if _, err := s.Sample(time.Unix(0, 0)); err != nil {
			b.Fatal(err)
		}
	}
}
