package tracedat

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// realPages are the sub-buffers of both CPUs of a real recording of sched, irq
// and syscall events.
func realPages(tb testing.TB) [][][]byte {
	f, _ := openFile(tb, filepath.Join(fixtures.Captures(tb), "x86_64-6.1.0-57-cloud-amd64", "tracedat", "v6.dat"))
	var out [][][]byte
	for _, d := range f.Buffer("").CPUs {
		b := make([]byte, d.Present)
		if _, err := f.r.ReadAt(b, d.Offset); err != nil {
			tb.Fatal(err)
		}
		var pages [][]byte
		for ; len(b) > 0; b = b[4096:] {
			pages = append(pages, b[:4096])
		}
		out = append(out, pages)
	}
	return out
}

// bigFile writes a file of at least size bytes of trace data, unpacked, by
// repeating real sub-buffers: uncompressed with all of the metadata that
// trace-cmd report needs, compressed with none.
func bigFile(tb testing.TB, name, compress string, size int) {
	pages := realPages(tb)
	times := size/((len(pages[0])+len(pages[1]))*4096) + 1
	cpus := make([][][]byte, len(pages))
	for cpu, p := range pages {
		first, last := le.Uint64(p[0]), le.Uint64(p[len(p)-1])
		for i := range times {
			for _, page := range p {
				page = bytes.Clone(page)
				le.PutUint64(page, le.Uint64(page)+uint64(i)*(last-first+10_000_000))
				cpus[cpu] = append(cpus[cpu], page)
			}
		}
	}
	var b []byte
	if compress == "none" {
		b = realV6(tb, cpus)
	} else {
		w := &writer{t: tb, long: 8, userLong: 8, page: 4096, compress: compress}
		b = w.v7([]testBuffer{{"", cpus}}, nil, "")
	}
	if err := os.WriteFile(name, b, 0o666); err != nil {
		tb.Fatal(err)
	}
}

// realV6 is the real version 6 file with other data.
func realV6(tb testing.TB, cpus [][][]byte) []byte {
	b, err := os.ReadFile(filepath.Join(fixtures.Captures(tb), "x86_64-6.1.0-57-cloud-amd64", "tracedat", "v6.dat"))
	if err != nil {
		tb.Fatal(err)
	}
	table := bytes.Index(b, []byte(tagFlyrecord)) + tagBytes
	out := bytes.Clone(b[:le.Uint64(b[table:])])
	for cpu, pages := range cpus {
		le.PutUint64(out[table+16*cpu:], uint64(len(out)))
		le.PutUint64(out[table+16*cpu+8:], uint64(len(pages)*4096))
		out = append(out, bytes.Join(pages, nil)...)
	}
	return out
}

// BenchmarkBigFile compares reading a file as cat does with summarizing it.
func BenchmarkBigFile(b *testing.B) {
	for _, c := range []struct {
		compress string
		size     int
	}{{"none", 400 << 20}, {"zstd", 100 << 20}, {"zlib", 100 << 20}} {
		name := filepath.Join(b.TempDir(), c.compress+".dat")
		bigFile(b, name, c.compress, c.size)
		b.Run(c.compress+"/read", func(b *testing.B) {
			b.SetBytes(int64(c.size))
			for b.Loop() {
				f, err := os.Open(name)
				if err != nil {
					b.Fatal(err)
				}
				buf := make([]byte, 128<<10)
				for {
					if _, err := f.Read(buf); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
				f.Close()
			}
		})
		if c.compress != "none" {
			b.Run(c.compress+"/unpack", func(b *testing.B) {
				f, _ := openFile(b, name)
				b.SetBytes(int64(c.size))
				for b.Loop() {
					for _, d := range f.Buffer("").CPUs {
						w := &worker{}
						d.read(sink{feed: func([]byte, int64, bool) bool { return true }, gap: func(int64, int64, int64) {}, problem: func(Problem) {}}, w)
						w.close()
					}
				}
			})
		}
		b.Run(c.compress+"/summarize", func(b *testing.B) {
			f, _ := openFile(b, name)
			b.SetBytes(int64(c.size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Summarize(context.Background(), Options{Parallel: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen is the metadata of a file with 742 event formats.
func BenchmarkOpen(b *testing.B) {
	raw, err := os.ReadFile(filepath.Join(fixtures.Captures(b), "x86_64-6.1.0-57-cloud-amd64", "tracedat", "default.dat"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(bytes.NewReader(raw), int64(len(raw)), "x"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWalk is the summary of sub-buffers in memory.
func BenchmarkWalk(b *testing.B) {
	pages := bytes.Join(realPages(b)[0], nil)
	l := machines(b)[0]
	b.SetBytes(int64(len(pages)))
	for b.Loop() {
		z, err := subbuf.NewSummarizer(subbuf.NewLayout(l.order(), 8, 4096), subbuf.Options{})
		if err != nil {
			b.Fatal(err)
		}
		z.Feed(pages, 0)
		z.Finish()
	}
}
