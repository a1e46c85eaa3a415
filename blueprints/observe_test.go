package blueprints

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

func evidence(t *testing.T, file string) string {
	t.Helper()
	text, err := evidenceText(context.Background(), file, "x")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestObservedTruth holds blocks against captures whose truth is known by
// construction or stands in their files.
func TestObservedTruth(t *testing.T) {
	for name, wants := range map[string][]string{
		// 3000 numbered markers were written on CPU 0 and 500 on CPU 1.
		"trace-ring-buffer/known-count-overwrite": {
			"| written | 3000 | 500 | 3500 |", "3500 events were written into this buffer.", "overwrite on",
			"| `trace`, body (706 events) | does not say | no `LOST` line |",
		},
		"trace-ring-buffer/known-count-no-overwrite": {
			"| refused, ring full: `dropped events` | 2619 | 119 | 2738 |", "overwrite off", "`overrun: 0` does not say that nothing was lost.",
			"| `trace`, header | `762/762`: claims that nothing was overwritten | no |",
		},
		// The stats of both CPUs: 1329940 and 1592970 overrun, 432 and 430 left.
		"trace-ring-buffer/small-overwrite": {
			"| written | 1330372 | 1593400 | 2923772 |", "| refused, writers nested: `commit overrun` | 5106 | 5642 | 10748 |",
			"| thrown away, share of what was written | 99.97 % |", "8 → 11 → 16: ", "on CPU 1 it says 16160, in a ring that has 12240 usable bytes",
			"| `trace`, header | `862/2923772`: 2922910 | no |",
		},
		"trace-ring-buffer/published-example": {
			"44275 events were written into this buffer. 273 are still in it", "8 → 11 → 16: ", "161 discarded for each one kept, and 99.4 % of", "0.007252 s",
		},
		// 3000 markers, then trace_pipe_raw drained: the first page carries the count.
		"reading-a-trace/known-count-raw":         {"| `per_cpu/cpu0/trace_pipe_raw` (333 events) | 2667 in all; no total is printed | yes: 1 flagged sub-buffer |"},
		"buffer-size/boot":                        {"Nothing was written into this buffer", "7 for each CPU", "354 sub-buffers: 1408 kB asked for, 1410 printed"},
		"buffer-size/resize-x86_64-6.1.0":         {"| 8 | 11 | 3 | 12240 | 16384 |", "All 23 printed sizes are what the arithmetic gives"},
		"kretprobe-misses/kretprobe-x86_64-6.1.0": {"| `r1` | kretprobe | `do_nanosleep` | 1 | 8 | 192 |", "| `p1` | kprobe | `do_nanosleep` | – | 200 | 0 |"},
	} {
		text := evidence(t, filepath.Join("evidence", filepath.FromSlash(name)))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
	}
}

var statsLine = regexp.MustCompile(`(?m)^(entries|overrun|read events): (-?\d+)$`)

// TestObservedCaptures makes a block of each saved tracefs of the shared
// captures, and holds its first row against the stats files, added up here.
func TestObservedCaptures(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Captures(t), "*", "*", "per_cpu", "cpu0", "stats"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, f := range files {
		dir := filepath.Dir(filepath.Dir(filepath.Dir(f)))
		name := filepath.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir))
		text := evidence(t, dir)
		if again := evidence(t, dir); again != text {
			t.Errorf("%s: another text the second time", name)
		}
		if _, err := os.Stat(filepath.Join(dir, "last_boot_info")); err == nil {
			continue // counters that were rebuilt are lower bounds
		}
		cpus, _ := filepath.Glob(filepath.Join(dir, "per_cpu", "cpu*", "stats"))
		sort.Strings(cpus)
		var cells []string
		var total int
		for _, c := range cpus {
			data, err := os.ReadFile(c)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0
			for _, m := range statsLine.FindAllStringSubmatch(string(data), -1) {
				n, err := strconv.Atoi(m[2])
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
			cells = append(cells, strconv.Itoa(sum))
			total += sum
		}
		row := fmt.Sprintf("| written | %s | %d |", strings.Join(cells, " | "), total)
		if total == 0 {
			row = "Nothing was written into this buffer"
		}
		if !strings.Contains(text, row) && !strings.Contains(text, "refused") {
			t.Errorf("%s: no %q in\n%s", name, row, text)
		}
	}
}

func TestRequestOf(t *testing.T) {
	for commands, want := range map[string]uint64{
		"echo 8 > buffer_size_kb": 8,
		"echo 0 > tracing_on\necho 8 > buffer_size_kb\necho 64 > buffer_size_kb\n": 64,
		"echo 8 > instances/foo/buffer_size_kb":                                    8,
		"echo 8 > per_cpu/cpu0/buffer_size_kb":                                     0,
		"# echo 8 > buffer_size_kb":                                                0,
		"cat buffer_size_kb":                                                       0,
		"echo 99999999999999999999 > buffer_size_kb":                               0,
	} {
		if got := requestOf(commands); got != want {
			t.Errorf("%q: %d, want %d", commands, got, want)
		}
	}
}

func TestGeometryOf(t *testing.T) {
	for _, tt := range []struct {
		meta   evidenceMeta
		usable uint64
	}{
		{evidenceMeta{Arch: "x86_64"}, 4080},
		{evidenceMeta{Arch: "i386"}, 4084},
		{evidenceMeta{Arch: "i686"}, 4084},
		{evidenceMeta{Arch: "ppc64le", PageSize: 65536}, 65520},
		{evidenceMeta{Arch: "aarch64", PageSize: 16384}, 16368},
		{evidenceMeta{Arch: "aarch64"}, 0}, // 4, 16 or 64 KiB: not to be guessed
		{evidenceMeta{}, 0},
	} {
		g, err := geometryOf(tt.meta)
		if g.UsableBytes != tt.usable || (err == nil) != (tt.usable > 0) {
			t.Errorf("%+v: %d usable, %v", tt.meta, g.UsableBytes, err)
		}
	}
}

// TestHashEvidence computes the hash of a folder as sha256sum would.
func TestHashEvidence(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b": "two\n", "a/x": "one\n"} {
		f := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// (printf 'one\n' | sha256sum | sed 's|-|a/x|'; printf 'two\n' | sha256sum | sed 's|-|b|') | sha256sum
	const want = "dbd137dd049cd26bb23cdcb9a7aae56085169685b64e803177ba7dd5044f2652"
	if got, err := HashEvidence(dir); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	// printf 'two\n' | sha256sum
	const one = "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a"
	if got, err := HashEvidence(filepath.Join(dir, "b")); err != nil || got != one {
		t.Errorf("%s, %v", got, err)
	}
}
