package audit

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// BenchmarkText audits 64 MiB of trace_pipe text with a loss mark in every 100
// lines.
func BenchmarkText(b *testing.B) {
	const size = 64 << 20
	block := lostMark(0, 7) + events1(0, 99, 10e6) + lostMark(1, 5) + events1(1, 99, 10e6)
	name := filepath.Join(b.TempDir(), "trace_pipe.txt")
	text := bytes.Repeat([]byte(block), size/len(block))
	if err := os.WriteFile(name, text, 0o644); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		benchAudit(b, Input{Path: name})
	}
}

// BenchmarkFolder audits a real capture of two CPUs with its trace.
func BenchmarkFolder(b *testing.B) {
	dir := filepath.Join(fixtures.Captures(b), filepath.FromSlash("x86_64-6.1.0-57-cloud-amd64/small-overwrite"))
	b.ReportAllocs()
	for b.Loop() {
		benchAudit(b, Input{Path: dir})
	}
}

// BenchmarkManyCPUs audits a folder of 512 CPUs.
func BenchmarkManyCPUs(b *testing.B) {
	var stats []cpuStats
	for i := range 512 {
		stats = append(stats, cpuStats{entries: int64(i), overrun: int64(i * 1000)})
	}
	in := ring(stats...).input()
	b.ReportAllocs()
	for b.Loop() {
		benchAudit(b, in)
	}
}

// BenchmarkContradictions audits 256 CPUs whose text clashes with every counter:
// each claim is settled by itself then.
func BenchmarkContradictions(b *testing.B) {
	var stats []cpuStats
	var text strings.Builder
	for i := range 256 {
		stats = append(stats, cpuStats{overrun: 1, read: 1})
		text.WriteString(lostMark(i, 2) + events1(i, 3, 10e6))
	}
	in := ring(stats...).input()
	pipe := textFile(b, "trace_pipe.txt", text.String())
	b.ReportAllocs()
	for b.Loop() {
		benchAudit(b, in, Input{Path: pipe})
	}
}

func benchAudit(b *testing.B, in ...Input) {
	b.Helper()
	a, err := Run(context.Background(), Options{Sources: in})
	if err != nil {
		b.Fatal(err)
	}
	if a.Verdict != Lossy {
		b.Fatalf("%s: %s", a.Verdict, a.Reason)
	}
}
