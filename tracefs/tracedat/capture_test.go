package tracedat

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// openFile opens a file of the captures and reads its data.
func openFile(t testing.TB, name string) (*File, []*CPUSummary) {
	t.Helper()
	h, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	info, err := h.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(h, info.Size(), filepath.Base(name))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := f.Summarize(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f, sums
}

// The numbers stand in the files themselves (CPUSTAT: read events + entries,
// overrun) and in the reports that trace-cmd made of them (the events, and the
// counts that it shows); both were read there by hand.
func TestCaptures(t *testing.T) {
	dir := filepath.Join(fixtures.Captures(t), "x86_64-6.1.0-57-cloud-amd64", "tracedat")
	type cpu struct {
		buffer                      string
		cpu                         int
		events                      uint64
		lost, unknown, holes        uint64
		overrun, entries, readCount int64
	}
	for _, c := range []struct {
		file, clock string
		cpus        []cpu
	}{
		{"default.dat", "global", []cpu{{"", 0, 26214, 3845, 6, 9, 7683, 50, 26164}, {"", 1, 17204, 3277, 4, 7, 7112, 0, 17204}}},
		{"extract.dat", "local", []cpu{{"", 0, 571, 0, 1, 1, 38474, 0, 571}, {"", 1, 569, 0, 1, 1, 17531, 0, 569}}},
		{"instance.dat", "global", []cpu{{"", 0, 1066, 0, 0, 0, 0, 209, 857}, {"", 1, 1252, 0, 0, 0, 0, 57, 1195},
			{"foo", 0, 22834, 1808, 7, 13, 4633, 0, 22834}, {"foo", 1, 22848, 2257, 4, 9, 4178, 0, 22848}}},
		{"nolost.dat", "global", []cpu{{"", 0, 61, 0, 0, 0, 0, 0, 61}, {"", 1, 37, 0, 0, 0, 0, 0, 37}}},
		{"v6.dat", "global", []cpu{{"", 0, 27629, 1462, 3, 8, 3943, 0, 27629}, {"", 1, 24222, 1695, 2, 3, 2937, 0, 24222}}},
		{"v7-zstd.dat", "global", []cpu{{"", 0, 7677, 0, 0, 0, 0, 152, 7525}, {"", 1, 24323, 10832, 16, 36, 24832, 161, 24162}}},
	} {
		t.Run(c.file, func(t *testing.T) {
			f, sums := openFile(t, filepath.Join(dir, c.file))
			wantNoProblems(t, f, sums)
			if f.TraceClock != c.clock || f.Uname != "Linux (none) 6.1.0-57-cloud-amd64 x86_64" || !strings.HasPrefix(f.Recorder, "3.1.6") || f.CPUCount != 2 {
				t.Errorf("clock %q, uname %q, recorder %q, %d CPUs", f.TraceClock, f.Uname, f.Recorder, f.CPUCount)
			}
			var got []cpu
			for _, s := range sums {
				st := s.Buffer().Stats[s.Data.CPU]
				got = append(got, cpu{s.Buffer().Name, s.Data.CPU, s.Records, s.Lost, s.HolesUnknown, s.HolesTotal, st.Overrun.V, st.Entries.V, st.Read.V})
				// Where nothing was lost on the way, what is in the file is what
				// the kernel gave up.
				if int64(s.Records) != st.Entries.V+st.Read.V {
					t.Errorf("%d events, the kernel counts %d", s.Records, st.Entries.V+st.Read.V)
				}
				if s.First > st.Now.V.Value || s.Last > st.Now.V.Value {
					t.Errorf("events up to %d, counters read at %d", s.Last, st.Now.V.Value)
				}
				if s.TimeBackTotal != 0 || s.DamageTotal != 0 || s.TailBytes != 0 {
					t.Errorf("%+v", s.Summary)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.cpus) {
				t.Errorf("\n got %v\nwant %v", got, c.cpus)
			}
		})
	}
}

// reportLine is a line of trace-cmd report: the instance, the CPU and the event.
var reportLine = regexp.MustCompile(`^ *(?:(\S+): +)? *.{0,16}-\d+ +\[(\d+)\] +(?:\S{4,5} +)?\d+(?:\.\d+)?: +([^:]+):`)

var droppedLine = regexp.MustCompile(`^ *(?:(\S+): +)?CPU:(\d+) \[(?:(\d+) )?EVENTS DROPPED\]$`)

// Per CPU and event this package counts as many records as trace-cmd report
// prints. Where that one says less is known: it shows no loss in front of a
// sub-buffer that begins with a time stamp, a time extend or a discarded record.
func TestAgainstTraceCmd(t *testing.T) {
	tool, err := exec.LookPath("trace-cmd")
	if err != nil {
		t.Skip("trace-cmd is not installed (Debian package trace-cmd): nothing to compare with")
	}
	dir := fixtures.Captures(t)
	var files []string
	for _, glob := range []string{"*/tracedat*/*.dat", "tracedat-synthetic/*.dat"} {
		m, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(glob)))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, m...)
	}
	if len(files) < 10 {
		t.Fatalf("only %d files", len(files))
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			cmd := exec.Command(tool, "report", name)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Skipf("trace-cmd cannot read it: %v %s", err, stderr.String())
			}
			f, sums := openFile(t, name)
			for _, b := range f.Buffers {
				if b.HasText() {
					t.Skip("text, no pages")
				}
			}
			theirs, marks := reportCounts(t, string(out))
			ours := map[string]uint64{}
			var lost, unknown uint64
			for _, s := range sums {
				for _, id := range s.ByID {
					ours[fmt.Sprintf("%d %s", s.Data.CPU, f.Events[id.ID].Name)] += id.Records
				}
				lost += s.Lost
				unknown += s.HolesUnknown
			}
			for k, n := range ours {
				if theirs[k] != n {
					t.Errorf("CPU and event %s: %d, trace-cmd %d", k, n, theirs[k])
				}
			}
			for k, n := range theirs {
				if ours[k] == 0 {
					t.Errorf("CPU and event %s: none, trace-cmd %d", k, n)
				}
			}
			hidden := uint64(0)
			if strings.HasPrefix(filepath.Base(name), "syn_") {
				// 5, 9 and 11 events, in each buffer with data.
				hidden = 25 * uint64(max(1, strings.Count(name, "instances")*2))
			}
			if marks[0]+hidden != lost || marks[1] != unknown {
				t.Errorf("lost %d and %d unknown; trace-cmd %d (and %d that it hides), %d", lost, unknown, marks[0], hidden, marks[1])
			}
		})
	}
}

// reportCounts counts the events of a report by CPU and name, and adds up what
// it says was dropped: the counts, and the marks without one. Instances are not
// told apart: trace-cmd forgets to name them on lines behind a mark.
func reportCounts(t *testing.T, out string) (counts map[string]uint64, marks [2]uint64) {
	counts = map[string]uint64{}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if m := droppedLine.FindStringSubmatch(line); m != nil {
			if m[3] == "" {
				marks[1]++
				continue
			}
			n, err := strconv.ParseUint(m[3], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			marks[0] += n
			continue
		}
		m := reportLine.FindStringSubmatch(line)
		if m == nil {
			if !strings.HasPrefix(line, "cpus=") && !strings.HasPrefix(line, "CPU ") && line != "" {
				t.Fatalf("a line that is not understood: %q", line)
			}
			continue
		}
		cpu, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		counts[fmt.Sprintf("%d %s", cpu, strings.TrimSpace(m[3]))]++
	}
	return counts, marks
}
