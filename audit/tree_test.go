package audit

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// This file makes inputs from numbers: tracefs folders and trace texts.

// cpuStats are the numbers of one CPU's stats file. A zero Oldest or Now is
// "10.000000" and "20.000000".
type cpuStats struct {
	entries, overrun, commit, bytes, dropped, read int64
	oldest, now                                    string
}

// String is the file as tracing_stats_read prints it.
func (s cpuStats) String() string {
	stamp := func(v, or string) string {
		if v == "" {
			v = or
		}
		return v
	}
	return fmt.Sprintf("entries: %d\noverrun: %d\ncommit overrun: %d\nbytes: %d\noldest event ts: %s\nnow ts: %s\ndropped events: %d\nread events: %d\n",
		s.entries, s.overrun, s.commit, s.bytes, stamp(s.oldest, "   10.000000"), stamp(s.now, "   20.000000"), s.dropped, s.read)
}

// tree is a folder: the text of each file by its name.
type tree map[string]string

const headerPage64 = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n" +
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" +
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n" +
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"

const headerPage32 = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n" +
	"\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n" +
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n" +
	"\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n"

// ring is a saved tracefs of a 64-bit 6.1 kernel, its CPUs numbered from 0,
// overwrite on and recording off, 8 kB asked for on each CPU.
func ring(cpus ...cpuStats) tree {
	t := tree{
		"events/header_page": headerPage64,
		"trace_clock":        "[local] global counter\n",
		"tracing_on":         "0\n",
		"current_tracer":     "nop\n",
		"options/overwrite":  "1\n",
		"uname-a":            "Linux host 6.1.0 #1 SMP x86_64 GNU/Linux\n",
		"cpu-online":         fmt.Sprintf("0-%d\n", len(cpus)-1),
		"cpu-possible":       fmt.Sprintf("0-%d\n", len(cpus)-1),
		"pagesize":           "4096\n",
	}
	for i, s := range cpus {
		t[statsOf(i)] = s.String()
	}
	return t.sized("11", len(cpus))
}

func statsOf(cpu int) string { return fmt.Sprintf("per_cpu/cpu%d/stats", cpu) }

// sized sets what the size files print.
func (t tree) sized(kb string, cpus int) tree {
	t["buffer_size_kb"] = kb + "\n"
	for i := range cpus {
		t[fmt.Sprintf("per_cpu/cpu%d/buffer_size_kb", i)] = kb + "\n"
	}
	return t
}

// with is the tree with further or other files; without, with fewer.
func (t tree) with(files ...string) tree {
	t = maps.Clone(t)
	for i := 0; i < len(files); i += 2 {
		t[files[i]] = files[i+1]
	}
	return t
}

func (t tree) without(files ...string) tree {
	t = maps.Clone(t)
	for _, f := range files {
		delete(t, f)
	}
	return t
}

// on is the tree while recording goes on.
func (t tree) on() tree { return t.with("tracing_on", "1\n") }

// among is the tree with another one under dir.
func (t tree) among(dir string, other tree) tree {
	t = maps.Clone(t)
	for name, text := range other {
		t[path.Join(dir, name)] = text
	}
	return t
}

// fs is the tree as a file system.
func (t tree) fs() fs.FS {
	m := fstest.MapFS{}
	for name, text := range t {
		m[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return m
}

// write puts the tree into a folder on disk and returns its path.
func (t tree) write(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range t {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// input is the tree as a SOURCE.
func (t tree) input() Input { return Input{Path: "saved", FS: t.fs()} }

// of audits the tree alone.
func (t tree) audit(tb testing.TB) *Audit {
	tb.Helper()
	return runWith(tb, Options{Sources: []Input{t.input()}})
}

// traceHeader is the header of a `trace` with the two numbers, of so many CPUs.
func traceHeader(entries, written, cpus int) string {
	return fmt.Sprintf("# tracer: nop\n#\n# entries-in-buffer/entries-written: %d/%d   #P:%d\n#\n", entries, written, cpus) +
		"#                                _-----=> irqs-off/BH-disabled\n#                               / _----=> need-resched\n" +
		"#                              | / _---=> hardirq/softirq\n#                              || / _--=> preempt-depth\n" +
		"#                              ||| / _-=> migrate-disable\n#                              |||| /     delay\n" +
		"#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n#              | |         |   |||||     |         |\n"
}

// events1 are n event lines of a CPU, 100 µs apart, from so many µs on.
func events1(cpu, n, from int) string {
	var b strings.Builder
	for i := range n {
		us := from + i*100
		fmt.Fprintf(&b, "            prog-1234    [%03d] .....  %4d.%06d: tracing_mark_write: event %d\n", cpu, us/1e6, us%1e6, i)
	}
	return b.String()
}

// lostMark is the mark of a consuming reader.
func lostMark(cpu, n int) string { return fmt.Sprintf("CPU:%d [LOST %d EVENTS]\n", cpu, n) }

// textFile writes a text to a file of its own.
func textFile(tb testing.TB, name, text string) string {
	tb.Helper()
	p := filepath.Join(tb.TempDir(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
	return p
}
