package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
	"github.com/ringaudit/ringaudit/tracefs/tracedat"
)

func runSalvageLine(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	env := &Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code = Main(env, append([]string{"salvage"}, args...))
	return code, out.String(), errs.String()
}

func TestSalvage(t *testing.T) {
	data := filepath.Join(fixtures.Root(t), "tracefs", "tracedat", "testdata")
	for _, c := range []struct {
		file   string
		code   int
		stdout string // behind the name of the file; empty if none is written
		stderr []string
	}{
		{"synthetic/syn_v6_le64.dat", 0, "263 events in 7 sub-buffers of 2 CPU streams", nil},
		{"synthetic/syn_v7_zlib_le64.dat", 0, "263 events in 7 sub-buffers of 2 CPU streams", nil},
		{"synthetic/syn_v6_latency.dat", 0, "58 bytes of text", nil},
		{"corrupt/14_commit_gt_page.dat", 3, "163 events in 6 sub-buffers of 2 CPU streams",
			[]string{"offset 4096, CPU 0, sub-buffer 0: damaged", "1 problem, 1 sub-buffer left out"}},
		{"corrupt/12_v7_cut_before_options.dat", 3, "263 events in 7 sub-buffers of 2 CPU streams", []string{"offset 24: truncated", "which CPU is which"}},
		{"corrupt/06_v6_cut_in_options.dat", 4, "", []string{"offset 968: truncated", "no trace data can be read"}},
		{"corrupt/02_badmagic.dat", 4, "", []string{"not a trace.dat file"}},
		{"corrupt/04_ver5.dat", 4, "", []string{`unsupported trace.dat version: found "5" at offset 10`}},
		{"corrupt/missing.dat", 4, "", []string{"missing.dat"}},
		{"corrupt", 4, "", []string{"a folder, expected a trace.dat file"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			dir := t.TempDir()
			in, out := filepath.Join(data, filepath.FromSlash(c.file)), filepath.Join(dir, "out.dat")
			code, stdout, stderr := runSalvageLine(in, "-o", out)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, stderr)
			}
			for _, s := range c.stderr {
				if !strings.Contains(stderr, s) {
					t.Errorf("standard error lacks %q:\n%s", s, stderr)
				}
			}
			if len(c.stderr) == 0 && stderr != "" {
				t.Errorf("standard error: %s", stderr)
			}
			left, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if c.stdout == "" {
				if stdout != "" || len(left) != 0 {
					t.Errorf("standard output %q, files %v; want neither", stdout, left)
				}
				return
			}
			if stdout != out+": "+c.stdout+"\n" {
				t.Errorf("standard output %q", stdout)
			}
			if len(left) != 1 {
				t.Errorf("files %v", left)
			}
			f, err := os.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			clean, err := tracedat.Open(f, info.Size(), out)
			if err != nil || len(clean.Problems) != 0 {
				t.Errorf("%v %v", err, clean)
			}
		})
	}
}

func TestSalvageUsage(t *testing.T) {
	file := filepath.Join(fixtures.Root(t), "tracefs", "tracedat", "testdata", "corrupt", "00_ok_v6.dat")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 2, "one trace.dat file, found 0"},
		{[]string{file, file, "-o", "x"}, 2, "found 2"},
		{[]string{file}, 2, "give -o OUT.dat"},
		{[]string{file, "-o", file}, 2, "the file that is to be read"},
		{[]string{file, "-o", t.TempDir()}, 2, "a folder"},
		{[]string{file, "-o", filepath.Join(t.TempDir(), "none", "x.dat")}, 4, "x.dat: cannot be written"},
		{[]string{file, "--nothing"}, 2, "unknown flag"},
	} {
		code, stdout, stderr := runSalvageLine(c.args...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, %q, %q; want exit %d and %q", c.args, code, stdout, stderr, c.code, c.want)
		}
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Error("the file that was read is changed")
	}
}

// What is there under the name is replaced by the whole new file.
func TestSalvageReplaces(t *testing.T) {
	file := filepath.Join(fixtures.Root(t), "tracefs", "tracedat", "testdata", "corrupt", "00_ok_v6.dat")
	out := filepath.Join(t.TempDir(), "out.dat")
	if err := os.WriteFile(out, bytes.Repeat([]byte("x"), 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runSalvageLine(file, "-o", out); code != 0 {
		t.Fatal(stderr)
	}
	if b, err := os.ReadFile(out); err != nil || !tracedat.Detect(b) || len(b) >= 1<<20 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
