package tracedat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// memory is a file in memory.
type memory struct{ b []byte }

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if n := int(off) + len(p); n > len(m.b) {
		m.b = append(m.b, make([]byte, n-len(m.b))...)
	}
	return copy(m.b[off:], p), nil
}

func salvage(t testing.TB, f *File) ([]byte, *Salvaged) {
	t.Helper()
	var m memory
	s, err := f.Salvage(context.Background(), &m)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(m.b)) != s.Bytes {
		t.Errorf("%d bytes written, said %d", len(m.b), s.Bytes)
	}
	return m.b, s
}

// stream is what of a summary does not depend on where its bytes stand.
type stream struct {
	Buffer string
	CPU    int
	ByID   []subbuf.IDCount
	First  uint64
	Last   uint64
	Holes  []subbuf.Hole
}

func streams(sums []*CPUSummary) []stream {
	var out []stream
	for _, s := range sums {
		if s.Records == 0 && s.HolesTotal == 0 {
			continue
		}
		x := stream{s.Buffer().Name, s.Data.CPU, s.ByID, s.First, s.Last, append([]subbuf.Hole(nil), s.Holes...)}
		for i := range x.Holes {
			x.Holes[i].Offset, x.Holes[i].Page = 0, 0
		}
		out = append(out, x)
	}
	return out
}

// traceCmdCounts is what trace-cmd reads of a file, nil where it is not
// installed.
func traceCmdCounts(t *testing.T, b []byte) map[string]uint64 {
	tool, err := exec.LookPath("trace-cmd")
	if err != nil {
		return nil
	}
	name := filepath.Join(t.TempDir(), "salvaged.dat")
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(tool, "report", name)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || strings.Contains(stderr.String(), "rror") {
		t.Errorf("trace-cmd does not open it: %v %s", err, stderr.String())
	}
	if strings.Contains(string(out), "UNKNOWN") {
		t.Error("trace-cmd finds unknown events")
	}
	counts, _ := reportCounts(t, string(out))
	return counts
}

func total(counts map[string]uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// Of a sound file everything is in the new one.
func TestSalvageOfSoundFiles(t *testing.T) {
	files := map[string][]byte{}
	for name, b := range realFiles(t) {
		files[name] = b
	}
	for _, w := range machines(t) {
		files["v6-"+w.String()] = w.v6([]testBuffer{{"", w.demo()}, {"foo", w.demo()}}, demoStats(), "")
		for _, c := range []string{"none", "zlib", "zstd"} {
			w := *w
			w.compress = c
			files["v7-"+c+"-"+w.String()] = w.v7([]testBuffer{{"", w.demo()}, {"foo", w.demo()}}, demoStats(), "")
		}
	}
	for name, b := range files {
		t.Run(name, func(t *testing.T) {
			was := open(t, b)
			wasSums, err := was.Summarize(context.Background(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			clean, s := salvage(t, was)
			if len(s.LeftOut) != 0 {
				t.Errorf("left out: %v", s.LeftOut)
			}
			f := open(t, clean)
			sums, err := f.Summarize(context.Background(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			wantNoProblems(t, f, sums)
			if d := cmp.Diff(streams(wasSums), streams(sums)); d != "" {
				t.Errorf("the data (-original +salvaged):\n%s", d)
			}
			if d := cmp.Diff(was.Events, f.Events); d != "" {
				t.Errorf("the events (-original +salvaged):\n%s", d)
			}
			if f.Version != was.Version || f.Uname != was.Uname || f.TraceClock != was.TraceClock || !f.Salvaged() || was.Salvaged() {
				t.Errorf("%+v\n%+v", was, f)
			}
			for _, b := range was.Buffers {
				for cpu, st := range b.Stats {
					if got := f.Buffer(b.Name).Stats[cpu]; got == nil || got.Text != st.Text {
						t.Errorf("counters of CPU %d of %q: %+v", cpu, b.Name, got)
					}
				}
			}
			again, _ := salvage(t, f)
			if !bytes.Equal(again, clean) {
				t.Error("a salvaged file is not salvaged to itself")
			}
			if n := traceCmdCounts(t, clean); n != nil {
				var want uint64
				for _, s := range sums {
					want += s.Records
				}
				if total(n) != want {
					t.Errorf("trace-cmd reads %d events, want %d", total(n), want)
				}
			}
		})
	}
}

// Of a damaged file all that was read before is in the new one, which is sound.
func TestSalvageOfCorruptFiles(t *testing.T) {
	names, err := filepath.Glob("testdata/corrupt/*.dat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			was, err := Open(bytes.NewReader(b), int64(len(b)), "x.dat")
			if err != nil {
				t.Skip("not a file of this kind")
			}
			sums, err := was.Summarize(context.Background(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			want, problems := uint64(0), len(was.Problems)
			for _, s := range sums {
				want += s.Records
				problems += len(s.Problems)
			}
			clean, s := salvage(t, was)
			if (len(s.LeftOut) > 0) != (problems > 0) {
				t.Errorf("%d problems, %d of them said by salvage", problems, len(s.LeftOut))
			}
			f := open(t, clean)
			if sums, err = f.Summarize(context.Background(), Options{}); err != nil {
				t.Fatal(err)
			}
			wantNoProblems(t, f, sums)
			got := uint64(0)
			for _, s := range sums {
				got += s.Records
			}
			if got != want {
				t.Errorf("%d events, %d could be read", got, want)
			}
			if n := traceCmdCounts(t, clean); n != nil && total(n) != want {
				t.Errorf("trace-cmd reads %d events, want %d", total(n), want)
			}
		})
	}
}

// What is left out of the middle is marked, as the kernel marks what it lost.
func TestSalvageMarksWhatItLeavesOut(t *testing.T) {
	for _, w := range machines(t) {
		page := func(stamp uint64, lost int) []byte { return w.subbuf(stamp, lost, w.tick(0, 1), w.tick(5, 2)) }
		bad := w.subbuf(200, 0, w.tick(0, 1), w.tick(5, 2), w.word(0, 0), w.u4(1)) // its third record is no record
		gone := page(400, 0)
		copy(gone[8:], bytes.Repeat([]byte{0x11}, 8))
		b := w.v6([]testBuffer{{"", [][][]byte{{page(100, 3), bad, page(300, 0), gone, page(500, 7), page(600, 9)}}}}, nil, "")
		clean, s := salvage(t, open(t, b))
		want := SalvagedCPU{From: s.CPUs[0].From, Pages: 5, Shortened: 1, Dropped: 1, Records: 10}
		if s.CPUs[0] != want || len(s.LeftOut) != 2 {
			t.Errorf("%v: %+v, left out %v", w, s.CPUs[0], s.LeftOut)
		}
		_, err := Open(bytes.NewReader(clean), int64(len(clean)), "x")
		if err != nil {
			t.Fatal(err)
		}
		sum, err := open(t, clean).Buffer("").CPUs[0].Summarize(context.Background(), subbuf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, h := range sum.Holes {
			n := uint64(0)
			if h.Known {
				n = h.Count
			}
			got = append(got, h.Before, n)
		}
		// The 7 that the kernel counted before 500 are part of what is missing
		// there, which is more now.
		if d := cmp.Diff([]uint64{100, 3, 300, 0, 500, 0, 600, 9}, got); d != "" || sum.DamageTotal != 0 {
			t.Errorf("%v: %s %v", w, d, sum.Damage)
		}
	}
}

func TestSalvageOfText(t *testing.T) {
	w := machines(t)[0]
	for _, b := range [][]byte{
		w.v6([]testBuffer{{"", make([][][]byte, 2)}}, demoStats(), latencyText),
		w.v7(nil, demoStats(), latencyText),
	} {
		clean, s := salvage(t, open(t, b))
		checkLatency(t, open(t, clean))
		if s.TextBytes != int64(len(latencyText)) || len(s.LeftOut) != 0 {
			t.Errorf("%+v", s)
		}
	}
}

type fullDisk struct{ left int }

var errFull = errors.New("no space left")

func (d *fullDisk) WriteAt(p []byte, _ int64) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestSalvageToFullDisk(t *testing.T) {
	w := machines(t)[0]
	for _, b := range [][]byte{w.v6([]testBuffer{{"", w.demo()}}, nil, ""), w.v7([]testBuffer{{"", w.demo()}}, nil, ""), w.v7(nil, nil, latencyText)} {
		for left := 0; left < 500; left += 100 {
			if _, err := open(t, b).Salvage(context.Background(), &fullDisk{left}); !errors.Is(err, errFull) {
				t.Errorf("room for %d bytes: %v", left, err)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if f := open(t, b); len(f.Buffer("").CPUs) > 0 {
			if _, err := f.Salvage(ctx, &memory{}); !errors.Is(err, context.Canceled) {
				t.Errorf("after cancel: %v", err)
			}
		}
	}
}

var _ io.WriterAt = (*memory)(nil)
