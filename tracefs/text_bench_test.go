//go:build unix

package tracefs

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// writeBigTrace makes a trace text of about size bytes out of a real one: its
// header, then its event lines over and over.
func writeBigTrace(tb testing.TB, file string, size int) {
	tb.Helper()
	text := []byte(slurp(tb, "testdata/variants/std.trace"))
	i := bytes.LastIndex(text, []byte("\n#")) + 1
	i += bytes.IndexByte(text[i:], '\n') + 1
	f, err := os.Create(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	for n := 0; n < size; n += len(text) {
		if n > 0 {
			text = text[i:]
			i = 0
		}
		w.Write(text)
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkSummarizeText reads a large trace from a file and reports how much CPU
// it took as a multiple of what wc -l takes for the same file in the same run
// (x-wc), and the memory that the process has from the system. The size is 256
// MiB, or RINGAUDIT_BENCH_MIB.
//
//	RINGAUDIT_BENCH_MIB=1024 go test -run - -bench SummarizeText ./tracefs
func BenchmarkSummarizeText(b *testing.B) {
	mib := 256
	if n, err := strconv.Atoi(os.Getenv("RINGAUDIT_BENCH_MIB")); err == nil && n > 0 {
		mib = n
	}
	file := filepath.Join(b.TempDir(), "trace")
	writeBigTrace(b, file, mib<<20)
	info, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	var wc, own time.Duration
	for b.Loop() {
		b.StopTimer()
		cmd := exec.Command("wc", "-l", file)
		if err := cmd.Run(); err == nil {
			wc += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		before := cpuTime(b)
		b.StartTimer()
		f, err := os.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		s, err := SummarizeText(f, file, TextOptions{})
		f.Close()
		if err != nil || s.Sections[0].Continuation != 0 {
			b.Fatal(err, s)
		}
		own += cpuTime(b) - before
	}
	if wc > 0 {
		b.ReportMetric(float64(own)/float64(wc), "x-wc")
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
}

func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSummarizeVariants reads each form of the text from memory.
func BenchmarkSummarizeVariants(b *testing.B) {
	for _, name := range []string{"std.trace", "record-tgid.trace", "latency-format.trace", "latverb.trace", "raw.trace", "nocontext-info.trace"} {
		text := bytes.Repeat([]byte(slurp(b, "testdata/variants/"+name)), 100)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := SummarizeText(bytes.NewReader(text), name, TextOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadInstance reads the small files of one instance.
func BenchmarkReadInstance(b *testing.B) {
	fsys := liveTree()
	for b.Loop() {
		if _, err := ReadInstance(fsys, ".", ReadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
