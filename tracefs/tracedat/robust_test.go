package tracedat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// most is the most that reading any damaged file may allocate in all.
const most = 256 << 20

// readAll does with a file all that a reader can, and returns the events read.
func readAll(t testing.TB, b []byte) (events uint64, problems int) {
	t.Helper()
	f, err := Open(bytes.NewReader(b), int64(len(b)), "x.dat")
	if err != nil {
		if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrVersion) {
			t.Fatalf("an error of the reader below, that had none: %v", err)
		}
		return 0, 1
	}
	sums, err := f.Summarize(context.Background(), Options{Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	problems = len(f.Problems)
	for _, s := range sums {
		if s.Summary == nil {
			t.Fatal("no summary")
		}
		events += s.Records
		problems += len(s.Problems)
	}
	for _, b := range f.Buffers {
		b.Unit()
		if r := b.Text(); r != nil {
			io.Copy(io.Discard, r)
		}
	}
	return events, problems
}

// realFiles are files that trace-cmd wrote.
func realFiles(t testing.TB) map[string][]byte {
	dir := filepath.Join(fixtures.Captures(t), "x86_64-6.1.0-57-cloud-amd64", "tracedat")
	out := map[string][]byte{}
	for _, n := range []string{"v7-zstd.dat", "instance.dat", "v6.dat"} {
		b, err := os.ReadFile(filepath.Join(dir, n))
		if err != nil {
			t.Fatal(err)
		}
		out[n] = b
	}
	return out
}

func TestCutFiles(t *testing.T) {
	for name, b := range realFiles(t) {
		whole, problems := readAll(t, b)
		if problems != 0 {
			t.Fatalf("%s: %d problems", name, problems)
		}
		var last uint64
		step := 1000
		if testing.Short() {
			step = 50_000
		}
		for cut := 0; cut < len(b); cut += step {
			var events uint64
			if got := allocated(func() { events, problems = readAll(t, b[:cut]) }); got > most {
				t.Fatalf("%s cut at %d: %d bytes allocated", name, cut, got)
			}
			if problems == 0 && cut < len(b)-200 {
				t.Fatalf("%s cut at %d of %d: no problem", name, cut, len(b))
			}
			// A longer piece of a file never has fewer events.
			if events < last || events > whole {
				t.Fatalf("%s cut at %d: %d events, %d in a shorter piece, %d in all", name, cut, events, last, whole)
			}
			last = events
		}
	}
}

func TestFlippedBytes(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 200
	}
	files := realFiles(t)
	names := []string{"v7-zstd.dat", "instance.dat", "v6.dat"}
	r := rand.New(rand.NewPCG(3, 141592))
	for i := range n {
		b := files[names[i%len(names)]]
		at, bit := r.IntN(len(b)), byte(1+r.IntN(255))
		b[at] ^= bit
		if got := allocated(func() { readAll(t, b) }); got > most {
			t.Fatalf("%s, byte %d changed by %#x: %d bytes allocated", names[i%len(names)], at, bit, got)
		}
		b[at] ^= bit
	}
}

func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, b := range realFiles(t) {
		readAll(t, b)
		readAll(t, b[:len(b)*9/10])
		f, err := Open(bytes.NewReader(b), int64(len(b)), "x.dat")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := f.Summarize(ctx, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("after cancel: %v", err)
		}
		for range f.Buffers[0].CPUs[0].Pages(context.Background()) {
			break
		}
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}
