package audit

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

const k61 = "x86_64-6.1.0-57-cloud-amd64"

// audited is the named buffer of a folder.
func audited(t *testing.T, in Input, name string) *Buffer {
	t.Helper()
	a, err := Run(context.Background(), Options{Sources: []Input{in}})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range a.Buffers {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("%s: no buffer %s", in.Path, name)
	return nil
}

func captured(t *testing.T, scenario string) *Buffer {
	t.Helper()
	return audited(t, Input{Path: filepath.Join(fixtures.Captures(t), k61, scenario)}, "top")
}

// Markers of known number in 3 sub-buffers of 4080 bytes, overwrite on: 3000 on
// CPU 0 and 500 on CPU 1 (meta.toml of the capture). The raw pages of the same
// workload (known-count-raw) hold records of 32 bytes, some 36 where a time
// extend is before them: 127 to a sub-buffer at most, 113 at least. So 3000
// fit into 24 to 27 sub-buffers, 500 into 4 or 5.
func TestNoLossKnownCount(t *testing.T) {
	for _, scenario := range []string{"known-count-overwrite", "known-count-no-overwrite"} {
		s := captured(t, scenario).Sizing(SizingOptions{NoLoss: true})
		if len(s.CPUs) != 2 {
			t.Fatalf("%d CPUs", len(s.CPUs))
		}
		for i, want := range []Count{Between(24, 27), Between(4, 5)} {
			got := s.CPUs[i].NoLoss
			if both, ok := got.Subbufs.Intersect(want); !ok || both.IsUnknown() {
				t.Errorf("%s, cpu %d: %v sub-buffers, and %v are known to be needed", scenario, i, got.Subbufs, want)
			}
			if got.Subbufs.Open || got.Subbufs.Hi < want.Lo || got.Subbufs.Hi > 2*want.Hi || got.Confidence != Measured {
				t.Errorf("%s, cpu %d: %+v", scenario, i, got)
			}
			grant, err := s.Geometry.Grant(got.RequestKB)
			if err != nil || grant.Subbufs != got.Subbufs.Hi || got.MemoryBytes.Hi != grant.MemoryBytes {
				t.Errorf("%s, cpu %d: a request of %d kB is granted %+v, not %d sub-buffers", scenario, i, got.RequestKB, grant, got.Subbufs.Hi)
			}
		}
		if s.NoLoss.Subbufs.Hi != s.CPUs[0].NoLoss.Subbufs.Hi || s.NoLoss.MemoryBytes.Hi != 2*4096*(s.NoLoss.Subbufs.Hi+1) {
			t.Errorf("%s: for all CPUs %+v", scenario, s.NoLoss)
		}
	}
}

// What the ring has held, it holds: asked for the very window of a capture, the
// answer must allow for the sub-buffers that there were.
func TestHoldTheWindow(t *testing.T) {
	root := fixtures.Captures(t)
	folders, err := filepath.Glob(filepath.Join(root, "*", "*", "per_cpu"))
	if err != nil {
		t.Fatal(err)
	}
	windows := 0
	for _, f := range folders {
		dir := filepath.Dir(f)
		b := audited(t, Input{Path: dir}, "top")
		for _, c := range b.Sizing(SizingOptions{Hold: time.Second, NoLoss: true}).CPUs {
			if !c.WindowNS.OK {
				if n := c.Hold; c.Stall == nil && b.stream(c.CPU) == nil && n.Confidence != NoEvidence && n.Why[0] != idle+", and it is taken to stay idle" {
					t.Errorf("%s, cpu %d: no window, and %+v", dir, c.CPU, n)
				}
				continue
			}
			windows++
			again := b.Sizing(SizingOptions{Hold: time.Duration(c.WindowNS.V)})
			for _, got := range again.CPUs {
				if got.CPU == c.CPU && (got.Hold.Subbufs.Lo > c.Subbufs.Hi || !got.Hold.Subbufs.Open && got.Hold.Subbufs.Hi < c.Subbufs.Lo) {
					t.Errorf("%s, cpu %d: %v sub-buffers held %s s, and %v are said to be needed for it", dir, c.CPU, c.Subbufs, seconds(c.WindowNS.V), got.Hold.Subbufs)
				}
			}
			lost := b.Ledger.Count(c.CPU, Overwritten).Plus(b.Ledger.Count(c.CPU, Dropped))
			if lost.None() != (c.NoLoss.Subbufs == c.Subbufs) && c.NoLoss.Confidence != NoEvidence {
				t.Errorf("%s, cpu %d: %v lost in %v sub-buffers, and %v would have lost nothing", dir, c.CPU, lost, c.Subbufs, c.NoLoss.Subbufs)
			}
		}
	}
	if windows < 20 {
		t.Errorf("only %d windows", windows)
	}
}

// stats makes a stats file.
func statsText(entries, overrun, dropped, read int64, oldest, now string) string {
	return fmt.Sprintf("entries: %d\noverrun: %d\ncommit overrun: 0\nbytes: 1\noldest event ts: %s\nnow ts: %s\ndropped events: %d\nread events: %d\n",
		entries, overrun, oldest, now, dropped, read)
}

func folder(stats string, more map[string]string) fs.FS {
	m := fstest.MapFS{
		"per_cpu/cpu0/stats":          {Data: []byte(stats)},
		"per_cpu/cpu0/buffer_size_kb": {Data: []byte("11\n")},
		"buffer_size_kb":              {Data: []byte("11\n")},
		"tracing_on":                  {Data: []byte("1\n")},
		"trace_clock":                 {Data: []byte("[local] global\n")},
		"options/overwrite":           {Data: []byte("1\n")},
		"events/header_page": {Data: []byte("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n" +
			"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n" +
			"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n")},
	}
	for name, text := range more {
		if text == "absent" {
			delete(m, name)
			continue
		}
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func TestSizingBounds(t *testing.T) {
	const oldest, now = "   10.000000", "   10.500000"
	for _, c := range []struct {
		name         string
		stats        string
		more         map[string]string
		hold, noLoss Count // of sub-buffers, for 5 s
		holdHow      Confidence
		noLossHow    Confidence
		why          string
	}{
		// 200 events in 3 sub-buffers: 66.6 to 100 to a sub-buffer. 2000 in 5 s take
		// 20 to 30, and one for the one that is thrown away. 1000 in all: 10 to 15.
		{"wrapped", statsText(200, 800, 0, 0, oldest, now), nil, Between(20, 31), Between(10, 15), Estimated, Measured, "rate"},
		// 300 in 3 full ones: 100 each. 3000 in 5 s: 30. 1000 in all: 10.
		{"refused", statsText(300, 0, 700, 0, oldest, now), map[string]string{"options/overwrite": "0\n"}, Between(30, 31), Exactly(10), Estimated, Measured, "rate"},
		// Nothing lost: at least a third of 300 to a sub-buffer; 3 were enough.
		{"whole", statsText(300, 0, 0, 0, oldest, now), nil, Between(10, 31), Exactly(3), Estimated, Measured, "was enough"},
		// A reader: 200 in up to 4 sub-buffers; the 800 lost need 8 to 16 more.
		{"read", statsText(200, 800, 0, 500, oldest, now), nil, Between(20, 41), Between(4, 19), Estimated, Estimated, "reader"},
		{"not recording", statsText(200, 800, 0, 0, oldest, now), map[string]string{"tracing_on": "0\n"}, AtLeast(20), Between(10, 15), AtLeastOnly, Measured, "at most 0.5"},
		{"empty", statsText(0, 0, 0, 0, "0.000000", now), nil, Exactly(2), Exactly(2), Estimated, Measured, "no event was recorded"},
		{"drained", statsText(0, 800, 0, 200, oldest, now), nil, Unknown(), Unknown(), NoEvidence, NoEvidence, "no event is left"},
		{"ticks", statsText(200, 800, 0, 0, "10", "500"), map[string]string{"trace_clock": "[counter]\n"}, Unknown(), Between(10, 15), NoEvidence, Measured, "does not count seconds"},
		{"no time", statsText(200, 800, 0, 0, now, now), nil, Unknown(), Between(10, 15), NoEvidence, Measured, "same time"},
		{"no size", statsText(200, 800, 0, 0, oldest, now), map[string]string{"per_cpu/cpu0/buffer_size_kb": "absent", "buffer_size_kb": "absent"}, Unknown(), Unknown(), NoEvidence, NoEvidence, "--request"},
		{"no geometry", statsText(200, 800, 0, 0, oldest, now), map[string]string{"events/header_page": "absent"}, Unknown(), Unknown(), NoEvidence, NoEvidence, "--page-size"},
		{"astronomic", statsText(1, 9223372036854775000, 0, 0, oldest, now), nil, Between(20, 31), AtLeast(18084115401519), Estimated, AtLeastOnly, "rate"},
	} {
		b := audited(t, Input{Path: c.name, FS: folder(c.stats, c.more)}, "top")
		s := b.Sizing(SizingOptions{Hold: 5 * time.Second, NoLoss: true})
		if len(s.CPUs) != 1 {
			t.Errorf("%s: %d CPUs", c.name, len(s.CPUs))
			continue
		}
		hold, noLoss := s.CPUs[0].Hold, s.CPUs[0].NoLoss
		if hold.Subbufs != c.hold || hold.Confidence != c.holdHow {
			t.Errorf("%s: to hold 5 s %v sub-buffers (%s), want %v (%s)", c.name, hold.Subbufs, hold.Confidence, c.hold, c.holdHow)
		}
		if noLoss.Subbufs != c.noLoss && c.name != "astronomic" || noLoss.Confidence != c.noLossHow {
			t.Errorf("%s: to lose nothing %v sub-buffers (%s), want %v (%s)", c.name, noLoss.Subbufs, noLoss.Confidence, c.noLoss, c.noLossHow)
		}
		if why := strings.Join(append(append([]string(nil), hold.Why...), noLoss.Why...), "; "); !strings.Contains(why, c.why) {
			t.Errorf("%s: the reasons are %q, want %q among them", c.name, why, c.why)
		}
		for _, n := range []*Need{hold, noLoss, s.Hold, s.NoLoss} {
			if (n.RequestKB > 0) == n.Subbufs.Open || n.Confidence == "" || n.Subbufs.Open && n.Confidence != AtLeastOnly && n.Confidence != NoEvidence {
				t.Errorf("%s: %+v", c.name, n)
			}
		}
	}
}

// What the sources lack may be given; what they say wins.
func TestSizingGiven(t *testing.T) {
	g := geometry(t, 4096, 16, 0)
	text := statsText(200, 800, 0, 0, "   10.000000", "   10.500000")
	bare := folder(text, map[string]string{"per_cpu/cpu0/buffer_size_kb": "absent", "buffer_size_kb": "absent", "events/header_page": "absent"})
	opt := SizingOptions{NoLoss: true, Geometry: g, RequestKB: 8}
	if got := audited(t, Input{Path: "bare", FS: bare}, "top").Sizing(opt); got.NoLoss.Subbufs != Between(10, 15) {
		t.Errorf("given 8 kB: %+v", got.NoLoss)
	}
	opt.Geometry, opt.RequestKB = geometry(t, 65536, 16, 0), 1<<20
	if got := audited(t, Input{Path: "whole", FS: folder(text, nil)}, "top").Sizing(opt); got.NoLoss.Subbufs != Between(10, 15) {
		t.Errorf("given what the source says otherwise: %+v", got.NoLoss)
	}
}

// A trace.dat holds the records themselves: 36-byte records on average, and the
// gaps in which the recorder did not come.
func TestSizingTraceDat(t *testing.T) {
	name := filepath.Join(fixtures.Captures(t), k61, "tracedat", "default.dat")
	if _, err := os.Stat(name); err != nil {
		t.Skip(err)
	}
	b := audited(t, Input{Path: name}, "top")
	s := b.Sizing(SizingOptions{NoLoss: true, Hold: time.Second, RequestKB: 1408})
	for _, c := range s.CPUs {
		if c.EventBytes.Open || c.EventBytes.Lo < 8 || c.EventBytes.Hi > 200 {
			t.Errorf("cpu %d: %v bytes an event", c.CPU, c.EventBytes)
		}
		// The worst of the marks in trace-cmd's own report of this file.
		if c.CPU == 0 && (c.Stall == nil || c.Stall.Events != Exactly(1588)) {
			t.Errorf("cpu 0: the longest stall is %+v", c.Stall)
		}
		if c.NoLoss.Confidence != Estimated || c.NoLoss.Subbufs.Lo <= 354 || c.NoLoss.Subbufs.Open {
			t.Errorf("cpu %d: %+v", c.CPU, c.NoLoss)
		}
		if c.Hold.Confidence != Estimated {
			t.Errorf("cpu %d: %+v", c.CPU, c.Hold)
		}
	}
}
