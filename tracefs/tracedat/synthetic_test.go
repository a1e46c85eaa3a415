package tracedat

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// checkDemo checks that a buffer holds the trace of writer.demo.
func checkDemo(t *testing.T, f *File, name string) {
	t.Helper()
	b := f.Buffer(name)
	if b == nil {
		t.Fatalf("no buffer %q", name)
	}
	if len(b.CPUs) != 2 {
		t.Fatalf("%d CPUs", len(b.CPUs))
	}
	var sums []*CPUSummary
	for _, d := range b.CPUs {
		s, err := d.Summarize(context.Background(), subbuf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, s)
	}
	wantNoProblems(t, f, sums)
	type numbers struct {
		CPU                                int
		Records, Holes, Unknown, Lost      uint64
		Discarded, Extends, Absolutes      uint64
		First, Last                        uint64
		Pages                              int64
		Damage, TimeBack, Fills, EmptyTail uint64
	}
	got := make([]numbers, 2)
	for i, s := range sums {
		got[i] = numbers{s.Data.CPU, s.Records, s.HolesTotal, s.HolesUnknown, s.Lost, s.Discarded, s.Extends, s.Absolutes, s.First, s.Last, s.Pages,
			s.DamageTotal, s.TimeBackTotal, s.FillsTotal, uint64(s.EmptyTail)}
	}
	const t0 = 1_000_000_000_000
	want := []numbers{
		{CPU: 0, Records: 260, Holes: 5, Unknown: 1, Lost: 7 + 5 + 9 + 11, Discarded: 1, Extends: 1, Absolutes: 1, First: t0, Last: t0 + 50_000_000 + 1 + 19*1000, Pages: 6},
		{CPU: 1, Records: 3, Discarded: 1, Extends: 1, First: t0 + 5_000_000, Last: t0 + 5_000_000 + 1<<28 + 5 + 1 + 7, Pages: 1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, s := range sums {
		for _, id := range s.ByID {
			if n := f.EventName(id.ID); n != "lab:tick" {
				t.Errorf("events of %s", n)
			}
		}
	}
	if f.Uname != "Linux lab 6.0 x" || f.TraceClock != "local" {
		t.Errorf("uname %q, clock %q", f.Uname, f.TraceClock)
	}
}

func checkDemoStats(t *testing.T, b *Buffer) {
	t.Helper()
	if len(b.Stats) != 2 {
		t.Fatalf("counters of %d CPUs", len(b.Stats))
	}
	if s := b.Stats[0]; s.Overrun.V != 38 || s.Read.V != 260 || s.Offset == 0 || s.Now.V != (tracefs.Stamp{Value: 1001e9, Unit: tracefs.Nanoseconds}) {
		t.Errorf("counters of CPU 0: %+v", s.Stats)
	}
	if u, why := b.Unit(); u != tracefs.Nanoseconds || !strings.Contains(why, "now ts") {
		t.Errorf("unit %v because of %q", u, why)
	}
}

func TestEveryMachineAndVersion(t *testing.T) {
	for _, w := range machines(t) {
		t.Run("v6-"+w.String(), func(t *testing.T) {
			f := open(t, w.v6([]testBuffer{{"", w.demo()}}, demoStats(), ""))
			checkDemo(t, f, "")
			checkDemoStats(t, f.Buffer(""))
			if f.Version != 6 || f.CPUCount != 2 || f.LongBytes != w.userLong || f.Layout.LongBytes != w.long || int(f.PageSize) != w.page {
				t.Errorf("%+v", f)
			}
			if f.Date.OK != w.date || w.date && f.Date.V != 16_000 {
				t.Errorf("date %+v", f.Date)
			}
		})
		for _, c := range []string{"none", "zlib", "zstd"} {
			w := *w
			w.compress = c
			t.Run("v7-"+c+"-"+w.String(), func(t *testing.T) {
				f := open(t, w.v7([]testBuffer{{"", w.demo()}}, demoStats(), ""))
				checkDemo(t, f, "")
				checkDemoStats(t, f.Buffer(""))
				if f.Version != 7 || f.Compression != c || f.Buffer("").CPUs[0].Packed != (c != "none") {
					t.Errorf("%+v", f)
				}
			})
		}
	}
}

func TestSyntheticFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/synthetic/*.dat")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f := open(t, b)
			switch {
			case strings.Contains(name, "latency"):
				checkLatency(t, f)
			case strings.Contains(name, "instances"):
				checkDemo(t, f, "foo")
				checkDemo(t, f, "bar")
				checkDemoStats(t, f.Buffer("foo"))
				if f.Buffer("bar").Stats != nil || f.Buffer("").Stats != nil {
					t.Error("counters of foo are given to another buffer")
				}
			default:
				checkDemo(t, f, "")
				checkDemoStats(t, f.Buffer(""))
			}
		})
	}
}

const latencyText = "# tracer: irqsoff\n#\n# irqsoff latency trace v1.1.5 on 6.0\n"

func checkLatency(t *testing.T, f *File) {
	t.Helper()
	b := f.Buffer("")
	if b == nil || !b.HasText() {
		t.Fatal("no text")
	}
	text, err := io.ReadAll(b.Text())
	if string(text) != latencyText || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if len(b.CPUs) != 0 {
		t.Errorf("%d CPUs with pages", len(b.CPUs))
	}
	wantNoProblems(t, f, nil)
}

func TestLatencyText(t *testing.T) {
	w := machines(t)[3]
	checkLatency(t, open(t, w.v6([]testBuffer{{"", make([][][]byte, 2)}}, demoStats(), latencyText)))
	for _, c := range []string{"none", "zlib", "zstd"} {
		w.compress = c
		checkLatency(t, open(t, w.v7(nil, demoStats(), latencyText)))
	}
	// A cut text ends with an error.
	b := w.v7(nil, nil, latencyText)
	f := open(t, b)
	f.Buffer("").text.to -= 5
	if text, err := io.ReadAll(f.Buffer("").Text()); err == nil {
		t.Errorf("cut text: %q without an error", text)
	}
}

func TestInstancesAndSparseCPUs(t *testing.T) {
	for _, w := range machines(t)[:4] {
		demo := w.demo()
		bufs := []testBuffer{{"", [][][]byte{nil, nil}}, {"foo", demo}, {"bar", demo}}
		f := open(t, w.v6(bufs, nil, ""))
		checkDemo(t, f, "foo")
		checkDemo(t, f, "bar")

		sparse := make([][][]byte, 200)
		sparse[3], sparse[199] = demo[0], demo[1]
		f = open(t, w.v7([]testBuffer{{"foo", sparse}}, []string{"\nBuffer: foo\n\n", strings.Replace(demoStats()[1], "CPU: 1", "CPU: 199", 1)}, ""))
		b := f.Buffer("foo")
		if len(b.CPUs) != 2 || b.CPUs[0].CPU != 3 || b.CPUs[1].CPU != 199 || b.Stats[199] == nil || b.Stats[199].Read.V != 3 {
			t.Errorf("%+v", b)
		}
		sums, err := f.Summarize(context.Background(), Options{})
		if err != nil || sums[0].Records != 260 || sums[1].Records != 3 {
			t.Errorf("%v %v", sums, err)
		}
		wantNoProblems(t, f, sums)
	}
}

// An instance may have other sub-buffers than the top buffer. Version 7 says so;
// in version 6 only the data shows it.
func TestInstanceWithOtherSubbufs(t *testing.T) {
	for _, big := range []bool{false, true} {
		w := &writer{t: t, big: big, long: 8, userLong: 8, page: 65536, top: 4096, compress: "zlib"}
		// Full enough not to be taken for smaller ones.
		fill := func(stamp uint64, n int) []byte {
			var events [][]byte
			for i := range n {
				events = append(events, w.tick(10, i))
			}
			return w.subbuf(stamp, 0, events...)
		}
		foo := testBuffer{"foo", [][][]byte{{fill(1000, 3000), fill(1_000_000, 2000)}, {fill(3000, 10)}}}
		for _, b := range [][]byte{w.v7([]testBuffer{foo}, nil, ""), w.v6([]testBuffer{{"", make([][][]byte, 2)}, foo}, nil, "")} {
			f := open(t, b)
			sums, err := f.Summarize(context.Background(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			wantNoProblems(t, f, sums)
			buf := f.Buffer("foo")
			if buf.Layout.SubbufBytes != 65536 || f.Layout.SubbufBytes != 4096 || (buf.LayoutInferred != "") != (f.Version == 6) || (len(f.Notes) == 1) != (f.Version == 6) {
				t.Errorf("version %d: %v, %q, notes %v", f.Version, buf.Layout, buf.LayoutInferred, f.Notes)
			}
			var n uint64
			for _, s := range sums {
				n += s.Records
			}
			if n != 5010 {
				t.Errorf("version %d: %d events", f.Version, n)
			}
		}
	}
}

// The clock in a file is the top buffer's; the counters tell what an instance
// was stamped with.
func TestUnitGoesByCounters(t *testing.T) {
	w := machines(t)[0]
	ticks := strings.NewReplacer("1000.000000", "123456", "1001.000000", "223456")
	f := open(t, w.v7([]testBuffer{{"foo", w.demo()}}, []string{"\nBuffer: foo\n\n", ticks.Replace(demoStats()[0])}, ""))
	b := f.Buffer("foo")
	if u, _ := b.Unit(); u != tracefs.Ticks || !b.ClockConflict() || !contains(f.Notes, "clock of buffer") {
		t.Errorf("unit %v, conflict %v, notes %v", u, b.ClockConflict(), f.Notes)
	}
}

func TestUnknownOption(t *testing.T) {
	w := machines(t)[0]
	b := w.v6([]testBuffer{{"", w.demo()}}, nil, "")
	i := bytes.Index(b, []byte(tagOptions)) + tagBytes
	// The option TRACECLOCK becomes one of an id that does not exist yet.
	copy(b[i:], w.u2(999))
	f := open(t, b)
	if !contains(f.Notes, "option 999") {
		t.Errorf("notes %v", f.Notes)
	}
	if len(f.Problems) != 0 || len(f.Buffer("").CPUs) != 2 {
		t.Errorf("problems %v", f.Problems)
	}
}

func TestPages(t *testing.T) {
	for _, c := range []string{"none", "zstd"} {
		w := machines(t)[0]
		w.compress = c
		f := open(t, w.v7([]testBuffer{{"", w.demo()}}, nil, ""))
		records, pages := 0, 0
		for p, err := range f.Buffer("").CPUs[0].Pages(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			pages++
			for r, err := range p.Records() {
				if err != nil {
					t.Fatal(err)
				}
				if r.Kind == subbuf.Data {
					if seq := int(f.Order.Uint32(r.Payload[8:])); seq != records {
						t.Fatalf("event %d says that it is %d", records, seq)
					}
					records++
				}
			}
		}
		if records != 260 || pages != 6 {
			t.Errorf("%d events in %d pages", records, pages)
		}
		for range f.Buffer("").CPUs[0].Pages(context.Background()) {
			break // an early end is fine
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, err := range f.Buffer("").CPUs[0].Pages(ctx) {
			if err != context.Canceled {
				t.Errorf("after cancel: %v", err)
			}
		}
	}
}
