package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/report"
)

// saved is a small document, written as JSON into a file.
func saved(t *testing.T, verdict string, exit int) string {
	t.Helper()
	n := audit.Exactly(3)
	d := &report.Document{
		Schema: report.Schema, Tool: "ringaudit test", Verdict: verdict, Reason: "because", Exit: exit,
		Buffers: []report.Buffer{{Name: "top", Kind: "buffer", Verdict: verdict, Reason: "because", CPUs: []report.CPU{{CPU: 0, State: "recorded", Tally: report.Tally{Kept: &n}}}, Total: report.Tally{Kept: &n}}},
	}
	var b bytes.Buffer
	f, err := report.Lookup("json")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Render(&b, d, report.Options{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "audit.json")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// run runs a command line as a shell would.
func runRenderLine(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	env := &Env{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" }, Now: func() time.Time { return time.Unix(0, 0) },
	}
	code = Main(env, append([]string{"render"}, args...))
	return code, out.String(), errs.String()
}

// The exit code is the document's, in every format.
func TestRenderExit(t *testing.T) {
	for verdict, exit := range map[string]int{"lossy": 1, "undetermined": 3, "complete": 0, "confirmed": 0} {
		file := saved(t, verdict, exit)
		for _, f := range report.Formats() {
			code, out, errs := runRenderLine("", file, "--format", f.Name)
			if code != exit || errs != "" {
				t.Errorf("%s as %s: exit %d, want %d; stderr %q", verdict, f.Name, code, exit, errs)
			}
			if f.Name == "text" && !strings.HasPrefix(out, strings.ToUpper(verdict)) {
				t.Errorf("%s as text: %q", verdict, out)
			}
		}
	}
}

func TestRenderFromStdinToFiles(t *testing.T) {
	in, err := os.ReadFile(saved(t, "lossy", 1))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	page, again := filepath.Join(dir, "a.html"), filepath.Join(dir, "a.json")
	code, out, errs := runRenderLine(string(in), "-", "--format", "html="+page, "--format", "json="+again, "--format", "text", "--color", "always")
	if code != 1 || errs != "" || !strings.Contains(out, "\x1b[1;31mLOSSY\x1b[0m") {
		t.Errorf("exit %d, stderr %q, stdout %q", code, errs, out)
	}
	if got, err := os.ReadFile(again); err != nil || !bytes.Equal(got, in) {
		t.Errorf("JSON of JSON differs (%v)", err)
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.HasPrefix(got, []byte("<!DOCTYPE html>")) {
		t.Errorf("no page (%v)", err)
	}
}

func TestRenderErrors(t *testing.T) {
	file := saved(t, "lossy", 1)
	cut := filepath.Join(t.TempDir(), "cut.json")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, b[:len(b)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing.json")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 2, "render takes one FILE.json"},
		{[]string{file, file}, 2, "got 2 arguments"},
		{[]string{file, "--format", "jsn"}, 2, "did you mean json"},
		{[]string{file, "--color", "maybe"}, 2, "expected auto, always or never"},
		{[]string{file, "--width", "-3"}, 2, "--width -3"},
		{[]string{missing}, 4, missing + ": "},
		{[]string{filepath.Dir(file)}, 4, "is a folder"},
		{[]string{cut}, 4, cut + ": line "},
		{[]string{"-"}, 4, "standard input: empty"},
	} {
		code, out, errs := runRenderLine("", c.args...)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d, want %d; stdout %q; stderr %q, want %q", c.args, code, c.code, out, errs, c.want)
		}
	}
}
