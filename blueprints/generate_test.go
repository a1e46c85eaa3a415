package blueprints

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// eightLines is the published example: what one CPU's stats said.
const eightLines = `entries: 273
overrun: 44002
commit overrun: 0
bytes: 8264
oldest event ts:     2.109723
now ts:     2.116975
dropped events: 0
read events: 0
`

// folder is a blueprint with evidence and kernel types, in a folder of its own.
type folder struct {
	t    *testing.T
	dir  string
	file string
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	f := &folder{t: t, dir: t.TempDir()}
	f.file = filepath.Join(f.dir, "a-test.md")
	f.write("evidence/stats", eightLines)
	f.write("evidence/stats.toml", "arch = \"i386\"\npage_size = 4096\nrequest_kb = 8\nkernel = \"7.2.2\"\n")
	for _, v := range []string{"6.1.192", "6.12.117"} {
		for _, ext := range []string{".btf", ".btf.toml"} {
			data, err := os.ReadFile(filepath.Join("btf", v+ext))
			if err != nil {
				t.Fatal(err)
			}
			f.write("btf/"+v+ext, string(data))
		}
	}
	f.write("a-test.md", document(testHeader+`evidence = ["evidence/stats"]
btf = ["btf/6.1.192.btf"]
structures = ["buffer_page"]
functions = ["tracing_stats_read"]
`, ""))
	f.write("a-test.refs.toml", "schema = 2\n")
	return f
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

func (f *folder) write(name, text string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(f.path(name), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) text() string {
	f.t.Helper()
	data, err := os.ReadFile(f.file)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(data)
}

// edit replaces one text of the document and returns the line where it stood.
func (f *folder) edit(old, new string) (line int) {
	f.t.Helper()
	text := f.text()
	at := strings.Index(text, old)
	if at < 0 || strings.Count(text, old) != 1 {
		f.t.Fatalf("%q stands %d times in\n%s", old, strings.Count(text, old), text)
	}
	f.write("a-test.md", strings.Replace(text, old, new, 1))
	return 1 + strings.Count(text[:at], "\n")
}

func (f *folder) generate(opt Options) *Generated {
	f.t.Helper()
	g, err := Generate(context.Background(), f.file, opt)
	if err != nil {
		f.t.Fatal(err)
	}
	return g
}

func (f *folder) check(opt Options) []Fault {
	f.t.Helper()
	res, err := Check(context.Background(), []string{f.file}, opt)
	if err != nil {
		f.t.Fatal(err)
	}
	var out []Fault
	for _, x := range res.Faults {
		if x.Severity == Error {
			out = append(out, x)
		}
	}
	return out
}

// one asks for exactly one fault, of a rule, at a line, with some words.
func one(t *testing.T, faults []Fault, rule string, line int, words ...string) {
	t.Helper()
	if len(faults) != 1 {
		t.Fatalf("%d faults, want one of %s: %v", len(faults), rule, faults)
	}
	f := faults[0]
	all := f.Error() + "\n" + strings.Join(f.Detail, "\n")
	if f.Rule != rule || line > 0 && f.Line != line {
		t.Errorf("fault %s in line %d, want %s in line %d: %s", f.Rule, f.Line, rule, line, all)
	}
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Errorf("no %q in\n%s", w, all)
		}
	}
}

func TestGenerateTwice(t *testing.T) {
	f := newFolder(t)
	if g := f.generate(Options{}); !g.Changed || len(g.Faults) > 0 {
		t.Fatalf("%+v", g)
	}
	first := f.text()
	if g := f.generate(Options{}); g.Changed || f.text() != first {
		t.Errorf("the second run changed something: %+v", g)
	}
	if faults := f.check(Options{}); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
	for _, want := range []string{
		"| `entries` | 32 | 8 | `local_t` |", "`ssize_t tracing_stats_read(",
		"path=btf/6.1.192.btf", "path=evidence/stats", "kernel=7.2.2 arch=i386 evidence=true",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in\n%s", want, first)
		}
	}
	if strings.Contains(first, filepath.ToSlash(f.dir)) {
		t.Error("the document names a folder of this machine")
	}
}

// TestGeneratePlaces holds that blocks stay where their author put them, with
// the text around them untouched, and that CR LF files stay so.
func TestGeneratePlaces(t *testing.T) {
	f := newFolder(t)
	f.edit("## 5. Observable behaviour\n\nText.\n", "## 5. Observable behaviour\n\nBefore.\n\n<!-- ringaudit:begin section=5 -->\n<!-- ringaudit:end section=5 -->\n\nAfter.\n")
	f.write("a-test.md", strings.ReplaceAll(f.text(), "\n", "\r\n"))
	f.generate(Options{})
	text := f.text()
	if strings.Count(text, "\n") != strings.Count(text, "\r\n") {
		t.Error("line ends were mixed")
	}
	before, begin := strings.Index(text, "Before."), strings.Index(text, "begin section=5")
	if after := strings.Index(text, "After."); before > begin || begin > after {
		t.Errorf("at %d, %d, %d", before, begin, after)
	}
	if faults := f.check(Options{}); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
}

// TestPublishedExample makes the published example's figures again from its
// eight lines: 44275 written, 161 discarded for each one kept, 99.4 %, a window
// of 0.007252 s, and 8 kB asked for, 11 printed, 16 KiB paid.
func TestPublishedExample(t *testing.T) {
	f := newFolder(t)
	f.generate(Options{})
	text := f.text()
	for _, want := range []string{
		"44275 events were written into this buffer. 273 are still in it, 44002 were thrown away to make room, and 0 were read out.",
		"161 discarded for each one kept, and 99.4 % of all that was written",
		"reaches back 0.007252 s, from 2.109723 to 2.116975",
		"8 → 11 → 16: 8 kB were asked for on each CPU, `buffer_size_kb` prints 11, and 16 KiB of memory are taken: 3 sub-buffers of 4084 usable bytes (4096 less a header of 12), and the reader page.",
		"`dropped events: 0` does not say that nothing was lost.",
		"`bytes` (8264) is neither what was recorded nor what was lost",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestGenerateFaults(t *testing.T) {
	t.Run("unknown structure", func(t *testing.T) {
		f := newFolder(t)
		line := f.edit(`"buffer_page"`, `"no_such_thing"`)
		before := f.text()
		one(t, f.generate(Options{}).Faults, RuleUnknownStructure, line, "no_such_thing", "btf/6.1.192.btf")
		if f.text() != before {
			t.Error("a file with faults was written")
		}
	})
	t.Run("moved evidence", func(t *testing.T) {
		f := newFolder(t)
		line := f.edit(`"evidence/stats"`, `"evidence/moved"`)
		one(t, f.generate(Options{}).Faults, RuleEvidenceMissing, line, "evidence/moved", "--evidence")
	})
	t.Run("not evidence", func(t *testing.T) {
		f := newFolder(t)
		f.write("evidence/stats", "nothing of the kind\n")
		if faults := f.generate(Options{}).Faults; !HasErrors(faults) || faults[0].Rule != RuleEvidenceMissing {
			t.Errorf("%v", faults)
		}
	})
	t.Run("no kernel types", func(t *testing.T) {
		f := newFolder(t)
		line := f.edit("btf/6.1.192.btf", "btf/none.btf")
		one(t, f.generate(Options{}).Faults, RuleBTFMissing, line, "btf/none.btf")
	})
	t.Run("other dialect", func(t *testing.T) {
		g, err := Generate(context.Background(), filepath.Join("testdata", "bpc", "small-ring.md"), Options{})
		if err != nil || !HasErrors(g.Faults) || g.Changed {
			t.Errorf("%+v, %v", g, err)
		}
	})
	t.Run("section missing", func(t *testing.T) {
		f := newFolder(t)
		f.edit("## 7. Interfaces\n", "")
		one(t, f.generate(Options{}).Faults, RuleSection, 1, "7. Interfaces")
	})
	t.Run("evidence no longer listed", func(t *testing.T) {
		f := newFolder(t)
		f.generate(Options{})
		f.write("evidence/other", eightLines)
		f.edit(`evidence = ["evidence/stats"]`, `evidence = ["evidence/other"]`)
		g := f.generate(Options{})
		if len(g.Faults) != 1 || g.Faults[0].Rule != RuleProvenance {
			t.Errorf("%v", g.Faults)
		}
	})
}

// TestEvidenceRoot takes evidence from another folder under the path that the
// header names.
func TestEvidenceRoot(t *testing.T) {
	f := newFolder(t)
	f.generate(Options{})
	want := f.text()
	elsewhere := filepath.Join(t.TempDir(), "evidence")
	if err := os.Rename(f.path("evidence"), elsewhere); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{elsewhere, filepath.Dir(elsewhere)} {
		if g := f.generate(Options{Evidence: []string{root}}); g.Changed || HasErrors(g.Faults) || f.text() != want {
			t.Errorf("%s: %+v", root, g)
		}
	}
	if faults := f.check(Options{}); len(faults) == 0 {
		t.Error("moved evidence went unseen")
	}
}
