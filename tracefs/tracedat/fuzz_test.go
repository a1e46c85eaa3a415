package tracedat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// small makes files that are short enough for a fuzzer to get somewhere.
func small(w *writer) [][][]byte {
	return [][][]byte{{w.subbuf(1000, 3, w.tick(0, 1), w.tick(9, 2)), w.subbuf(2000, -1, w.absolute(2000), w.tick(0, 3))}, {w.subbuf(1500, 0, w.longTick(0, 4, 30))}}
}

// use does with a file what readers do, and checks what holds for any file.
func use(t *testing.T, b []byte) {
	f, err := Open(bytes.NewReader(b), int64(len(b)), "x.dat")
	if err != nil {
		if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrVersion) {
			t.Fatalf("%v", err)
		}
		return
	}
	sums, err := f.Summarize(context.Background(), Options{Parallel: 1, Summary: subbuf.Options{MaxHoles: 8, MaxFills: 4, MaxDamage: 8}})
	if err != nil {
		t.Fatal(err)
	}
	records := uint64(0)
	for _, s := range sums {
		records += s.Records
		if s.Data.Present > f.Size || s.Data.Present < 0 || s.Data.Present > s.Data.Size {
			t.Fatalf("CPU %d: %d of %d bytes in a file of %d", s.Data.CPU, s.Data.Present, s.Data.Size, f.Size)
		}
		if !s.Data.Packed && s.Bytes > uint64(s.Data.Present) {
			t.Fatalf("CPU %d: %d bytes of records in %d", s.Data.CPU, s.Bytes, s.Data.Present)
		}
		for _, p := range s.Problems {
			_ = p.String()
		}
	}
	for _, b := range f.Buffers {
		b.Unit()
		if r := b.Text(); r != nil {
			io.Copy(io.Discard, io.LimitReader(r, 1<<20))
		}
	}
	for _, p := range append(f.Problems, f.Notes...) {
		_ = p.String()
	}
	var m memory
	if _, err := f.Salvage(context.Background(), &m); err != nil {
		t.Fatal(err)
	}
	clean, err := Open(bytes.NewReader(m.b), int64(len(m.b)), "clean.dat")
	if err != nil {
		t.Fatalf("what salvage wrote: %v", err)
	}
	sums, err = clean.Summarize(context.Background(), Options{Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	again := uint64(0)
	for _, s := range sums {
		again += s.Records
		if s.DamageTotal != 0 {
			t.Fatalf("what salvage wrote is damaged: %v", s.Problems)
		}
	}
	if again != records {
		t.Fatalf("salvage wrote %d of %d events", again, records)
	}
}

func seed(f *testing.F, version byte) {
	files, err := filepath.Glob("testdata/*/*.dat")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) > 10 && b[10] == version && len(b) < 10_000 {
			f.Add(b)
		}
	}
}

func FuzzV6(f *testing.F) {
	seed(f, '6')
	for _, w := range machines(f)[:4] {
		f.Add(w.v6([]testBuffer{{"", small(w)}, {"foo", small(w)}}, demoStats(), ""))
		f.Add(w.v6([]testBuffer{{"", make([][][]byte, 2)}}, demoStats(), latencyText))
	}
	f.Fuzz(func(t *testing.T, b []byte) { use(t, b) })
}

func FuzzV7(f *testing.F) {
	seed(f, '7')
	for _, w := range machines(f)[:4] {
		for _, c := range []string{"none", "zlib", "zstd"} {
			w.compress = c
			f.Add(w.v7([]testBuffer{{"", small(w)}, {"foo", small(w)}}, demoStats(), ""))
			f.Add(w.v7(nil, demoStats(), latencyText))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { use(t, b) })
}

// FuzzChunks reads b as the compressed data of one CPU.
func FuzzChunks(f *testing.F) {
	for _, w := range machines(f)[:4] {
		for i, c := range []string{"zlib", "zstd"} {
			w.compress = c
			pages := small(w)[0]
			f.Add(join(w.u4(2), w.chunk(join(pages...)), w.chunk(pages[0])), i == 1, w.big)
			f.Add(join(w.u4(2), w.chunk(join(pages...)), w.chunk(pages[0][:1000])), i == 1, w.big)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, isZstd, big bool) {
		w := &writer{t: t, big: big}
		file := &File{r: bytes.NewReader(b), Size: int64(len(b)), Order: w.order(), Compression: "zlib"}
		if isZstd {
			file.Compression = "zstd"
		}
		buf := &Buffer{f: file, Layout: subbuf.NewLayout(w.order(), 8, 4096)}
		d := &CPUData{b: buf, Size: int64(len(b)), Present: int64(len(b)), Packed: true, limit: int64(len(b))}
		s, err := d.Summarize(context.Background(), subbuf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.StreamBytes > 0 && s.Pages == 0 || s.Bytes > uint64(s.StreamBytes) {
			t.Fatalf("%d pages of %d bytes, records of %d", s.Pages, s.StreamBytes, s.Bytes)
		}
	})
}
