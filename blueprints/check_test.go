package blueprints

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/citations"
	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// TestHandEdit changes one byte in each kind of block and asks for the line.
func TestHandEdit(t *testing.T) {
	for _, tt := range []struct{ section, old, new string }{
		{"2", "| `entries` | 32 | 8 | `local_t` |", "| `entries` | 33 | 8 | `local_t` |"},
		{"5", "| written | 44275 |", "| written | 44276 |"},
		{"5", "kernel=7.2.2", "kernel=7.2.3"},
		{"7", "`ssize_t tracing_stats_read(", "`size_t tracing_stats_read("},
	} {
		f := newFolder(t)
		f.generate(Options{})
		line := f.edit(tt.old, tt.new)
		one(t, f.check(Options{}), RuleSeal, line, "section "+tt.section+" was edited by hand", tt.new)
		if g := f.generate(Options{}); !g.Changed || HasErrors(g.Faults) {
			t.Errorf("generate does not mend it: %+v", g)
		}
		if faults := f.check(Options{}); len(faults) > 0 {
			t.Errorf("%v", faults)
		}
	}
}

// TestHandEditNoSource is a hand edit where the block cannot be made again: the
// seal alone tells, and the place is the block.
func TestHandEditNoSource(t *testing.T) {
	f := newFolder(t)
	b, err := OpenBTF(f.path("btf/6.1.192.btf"))
	if err != nil {
		t.Fatal(err)
	}
	f.edit("btf = [\"btf/6.1.192.btf\"]\n", "")
	b.Path = RunningBTF // as if generated on another machine's kernel
	f.generate(Options{BTF: []*BTF{b}})
	if faults := f.check(Options{}); len(faults) > 0 {
		t.Fatalf("types of a kernel that is not here are no fault: %v", faults)
	}
	line := f.edit("| `entries` | 32 | 8 | `local_t` |", "| `entries` | 33 | 8 | `local_t` |")
	faults := f.check(Options{})
	one(t, faults, RuleSeal, 0, "edited by hand", "its seal is")
	if bp, _ := Parse(f.file, []byte(f.text())); faults[0].Line != bp.Blocks[0].Begin || line > bp.Blocks[0].End {
		t.Errorf("line %d, block %d-%d", faults[0].Line, bp.Blocks[0].Begin, bp.Blocks[0].End)
	}
}

func TestChangedSources(t *testing.T) {
	t.Run("another kernel's types", func(t *testing.T) {
		f := newFolder(t)
		f.edit(`structures = ["buffer_page"]`, `structures = ["trace_buffer"]`)
		f.generate(Options{})
		other, err := OpenBTF(f.path("btf/6.12.117.btf"))
		if err != nil {
			t.Fatal(err)
		}
		faults := f.check(Options{BTF: []*BTF{other}})
		if len(faults) != 2 || faults[0].Rule != RuleBTFChanged || faults[1].Rule != RuleBTFChanged {
			t.Fatalf("%v", faults) // sections 2 and 7
		}
		one(t, faults[:1], RuleBTFChanged, 0, "6.1.0-57-cloud-amd64", "6.12.117+deb12-cloud-amd64",
			"- | `cpus` | 4 | 4 | `int` |", "+ | `range_addr_start` | 192 | 8 | `unsigned long` |")
	})
	t.Run("two kernels recorded, another given", func(t *testing.T) {
		f := newFolder(t)
		f.edit(`btf = ["btf/6.1.192.btf"]`, `btf = ["btf/6.1.192.btf", "btf/6.12.117.btf"]`)
		f.edit(`functions = ["tracing_stats_read"]`, `functions = ["rb_commit"]`)
		f.generate(Options{})
		old, err := OpenBTF(f.path("btf/6.1.192.btf"))
		if err != nil {
			t.Fatal(err)
		}
		if faults := f.check(Options{BTF: []*BTF{old}}); len(faults) > 0 {
			t.Errorf("one of the recorded kernels is no other kernel: %v", faults)
		}
		// The whole from which the blob was cut is the same kernel too.
		whole := *old
		whole.SHA256, whole.Path = old.origin, "vmlinux"
		if faults := f.check(Options{BTF: []*BTF{&whole}}); len(faults) > 0 {
			t.Errorf("the kernel that the blob was cut from is no other kernel: %v", faults)
		}
		other := *old
		other.SHA256, other.Kernel, other.Version, other.origin = strings.Repeat("0", 64), "6.1.0-58", "6.1.193", ""
		faults := f.check(Options{BTF: []*BTF{&other}})
		if len(faults) != 2 {
			t.Fatalf("%v", faults)
		}
		one(t, faults[:1], RuleBTFChanged, 0, "6.12.117 (-) against 6.1.193 (+)")
	})
	t.Run("given once, then recorded", func(t *testing.T) {
		f := newFolder(t)
		other, err := OpenBTF(f.path("btf/6.12.117.btf"))
		if err != nil {
			t.Fatal(err)
		}
		opt := Options{BTF: []*BTF{other}}
		f.generate(opt)
		if g := f.generate(opt); g.Changed {
			t.Error("the second run changed something")
		}
		if faults := f.check(Options{}); len(faults) > 0 {
			t.Errorf("what --btf gave is recorded, whatever the header names: %v", faults)
		}
	})
	t.Run("evidence", func(t *testing.T) {
		f := newFolder(t)
		f.generate(Options{})
		f.write("evidence/stats", strings.Replace(eightLines, "44002", "44003", 1))
		one(t, f.check(Options{}), RuleEvidenceChanged, 0, "evidence/stats", "- | written | 44275 |", "+ | written | 44276 |")
	})
	t.Run("description of evidence", func(t *testing.T) {
		f := newFolder(t)
		f.generate(Options{})
		f.write("evidence/stats.toml", "arch = \"i386\"\npage_size = 4096\nrequest_kb = 9\nkernel = \"7.2.2\"\n")
		one(t, f.check(Options{}), RuleEvidenceChanged, 0, "+ 9 → 11 → 16")
	})
	t.Run("header", func(t *testing.T) {
		f := newFolder(t)
		f.generate(Options{})
		f.edit(`structures = ["buffer_page"]`, `structures = ["buffer_page", "buffer_data_page"]`)
		one(t, f.check(Options{}), RuleStale, 0, "+ ### `struct buffer_data_page`")
	})
	t.Run("evidence moved", func(t *testing.T) {
		f := newFolder(t)
		f.generate(Options{})
		if err := os.Rename(f.path("evidence/stats"), f.path("evidence/stats2")); err != nil {
			t.Fatal(err)
		}
		var missing bool
		for _, x := range f.check(Options{}) {
			missing = missing || x.Rule == RuleEvidenceMissing && x.Line == 7
		}
		if !missing {
			t.Errorf("%v", f.check(Options{}))
		}
	})
	t.Run("sealed again by hand", func(t *testing.T) {
		f := newFolder(t)
		f.generate(Options{})
		line := f.edit("| written | 44275 |", "| written | 44276 |")
		bp, _ := Parse(f.file, []byte(f.text()))
		for _, b := range bp.Blocks {
			if b.Section == "5" {
				f.edit(b.Seal, Seal(b.Text()))
			}
		}
		one(t, f.check(Options{}), RuleStale, line, "- | written | 44276 |", "+ | written | 44275 |")
	})
}

// TestForm takes a sound document apart, one fault at a time.
func TestForm(t *testing.T) {
	for _, tt := range []struct {
		name, old, new, rule, at, words string
	}{
		{"name", `name = "a-test"`, `name = "b-test"`, RuleFrontMatter, `name = "b-test"`, `calls this "b-test"`},
		{"no title", `title = "A test"`, `title = ""`, RuleFrontMatter, `title = ""`, "no title"},
		{"version", `versions = ["6.12.117"]`, `versions = ["six"]`, RuleFrontMatter, `versions = ["six"]`, `"six"`},
		{"status", `status = "partial"`, `status = "done"`, RuleStatus, `status = "done"`, "none of stub, partial, complete"},
		{"no reviewer", `status = "partial"`, `status = "complete"`, RuleStatus, `status = "complete"`, "named reviewer"},
		{"placeholder reviewer", `status = "partial"`, "status = \"complete\"\nreviewer = \"TBD\"", RuleStatus, `status = "complete"`, `"TBD"`},
		{"twice listed", `structures = ["buffer_page"]`, `structures = ["buffer_page", "buffer_page"]`, RuleFrontMatter, "", "twice"},
		{"section lost", "## 3. Algorithms\n", "", RuleSection, "+++", "no section 3"},
		{"section renamed", "## 3. Algorithms", "## 3. Code", RuleSection, "## 3. Code", `called "Algorithms"`},
		{"section twice", "## 3. Algorithms\n", "## 3. Algorithms\n\nText.\n\n## 3. Algorithms\n", RuleSection, "## 3. Algorithms", "already"},
		{"part lost", "### 4b. Locking\n", "", RuleSection, "+++", "no section 4b"},
		{"order", "## 8. Configuration and architecture dependence", "## 1. Purpose and boundary", RuleSection, "", ""},
		{"picture", "## 3. Algorithms\n", "## 3. Algorithms\n\n![](none.svg)\n", RuleImage, "![](none.svg)", ""},
		{"link", "## 3. Algorithms\n", "## 3. Algorithms\n\nSee [it](none.md#x).\n", RuleLink, "See [it](none.md#x).", "leads nowhere"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFolder(t)
			f.generate(Options{})
			f.edit(tt.old, tt.new)
			bp, _ := Parse(f.file, []byte(f.text()))
			faults := f.check(Options{})
			for _, x := range faults {
				if x.Rule == tt.rule && strings.Contains(x.Message, tt.words) && (tt.at == "" || bp.Line(x.Line) == tt.at) {
					return
				}
			}
			t.Errorf("no %s %q, got %v", tt.rule, tt.words, faults)
		})
	}
	t.Run("complete", func(t *testing.T) {
		f := newFolder(t)
		f.edit(`status = "partial"`, "status = \"complete\"\nreviewer = \"Grace Hopper\"")
		f.generate(Options{})
		if faults := f.check(Options{}); len(faults) > 0 {
			t.Errorf("%v", faults)
		}
		f.write("evidence/stats.toml", "arch = \"i386\"\nevidence = false\n")
		f.generate(Options{})
		one(t, f.check(Options{}), RuleStatus, 0, "evidence/stats", "no evidence")
	})
	t.Run("block elsewhere", func(t *testing.T) {
		f := newFolder(t)
		f.edit("## 6. Edge cases and failure modes\n\nText.\n", "## 6. Edge cases and failure modes\n\n"+block("5", nothingYet))
		var found bool
		for _, x := range f.check(Options{}) {
			found = found || x.Rule == RuleMarker && strings.Contains(x.Message, "outside that section")
		}
		if !found {
			t.Error("a block outside its section went unseen")
		}
	})
	t.Run("never generated", func(t *testing.T) {
		f := newFolder(t)
		f.edit("## 5. Observable behaviour\n", "## 5. Observable behaviour\n\n<!-- ringaudit:begin section=5 -->\n<!-- ringaudit:end section=5 -->\n")
		var found bool
		for _, x := range f.check(Options{}) {
			found = found || x.Rule == RuleSeal && strings.Contains(x.Message, "never generated")
		}
		if !found {
			t.Error("an empty block went unseen")
		}
	})
}

// TestBPC reads a document of the other dialect, whole and with each kind of
// fault.
func TestBPC(t *testing.T) {
	dir := t.TempDir()
	copyFile := func(name string) string {
		data, err := os.ReadFile(filepath.Join("testdata", "bpc", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	text := copyFile("small-ring.md")
	copyFile("small-ring.refs.toml")
	file := filepath.Join(dir, "small-ring.md")
	check := func(t *testing.T, doc string) []Fault {
		t.Helper()
		if err := os.WriteFile(file, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
		res, err := Check(context.Background(), []string{file}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return res.Faults
	}
	if faults := check(t, text); len(faults) > 0 {
		t.Fatalf("%v", faults)
	}
	bp, _ := Parse(file, []byte(text))
	if bp.Dialect != DialectBPC || bp.Front.Name != "small-ring" || len(bp.Front.Evidence) != 1 || bp.Front.Evidence[0] != "proc/tier0/small-ring" ||
		len(bp.Blocks) != 3 || bp.Blocks[1].Sources[0].Kind != "corpus" || bp.Blocks[1].Sources[0].Kernel != "v7.2.13" {
		t.Errorf("read as %+v", bp.Front)
	}
	for _, tt := range []struct{ name, old, new, rule, words string }{
		{"hand edit", "| `overrun` | 35 |", "| `overrun` | 36 |", RuleSeal, "edited by hand"},
		{"unsealed", "hash=44192b67bc618e43", "hash=unsealed", RuleSeal, "never generated"},
		{"no provenance", "<!-- bpc:source kind=corpus path=corpora evidence=true pin=v7.2.13 arch=x86_64 -->\n", "", RuleProvenance, "where it came from"},
		{"marker", "bpc:end section=5", "bpc:end section=7", RuleMarker, "ends as section"},
		{"section", "## §9 Reimplementation notes", "## §9 Notes", RuleSection, "Reimplementation notes"},
		{"part", "### §4b Locking discipline", "### §4b Locking", RuleSection, "Locking discipline"},
		{"complete", "status: partial", "status: complete", RuleStatus, "named reviewer"},
		{"name", "blueprint: small-ring", "blueprint: large-ring", RuleFrontMatter, "large-ring"},
		{"key", "pin: v7.2.13\n", "", RuleFrontMatter, "no pin"},
		{"no record", "adds its records to a counter [small-ring-R1]", "adds its records to a counter [small-ring-R7]", RuleCitation, "small-ring-R7"},
		{"universal", "Writers take no lock.", "The writer never takes a lock.", RuleCitation, "never"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(text, tt.old) {
				t.Fatalf("no %q", tt.old)
			}
			faults := check(t, strings.Replace(text, tt.old, tt.new, 1))
			for _, f := range faults {
				if f.Rule == tt.rule && strings.Contains(f.Message, tt.words) && f.Line > 0 {
					return
				}
			}
			t.Errorf("no %s %q, got %v", tt.rule, tt.words, faults)
		})
	}
	t.Run("against the tree", func(t *testing.T) {
		tree := filepath.Join(fixtures.Trees(t), "linux-7.2.13-tracing.tar.zst")
		opt := Options{Trees: []*citations.Tree{citations.OpenTree(context.Background(), tree, citations.TreeOptions{})}}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		res, err := Check(context.Background(), []string{file}, opt)
		if err != nil || HasErrors(res.Faults) || res.Citations.Checked != 2 {
			t.Errorf("%v, %v, %v", res.Faults, res.Citations, err)
		}
	})
}

// TestMacros finds a macro in a tree, and keeps what it found where the tree is
// not given the next time.
func TestMacros(t *testing.T) {
	f := newFolder(t)
	f.edit(`functions = ["tracing_stats_read"]`, `functions = ["tracing_stats_read", "rb_commit"]`)
	v, err := citations.ParseVersion("6.1.192")
	if err != nil {
		t.Fatal(err)
	}
	tree := func() []*citations.Tree {
		return []*citations.Tree{citations.MemoryTree("test", v, map[string][]byte{
			"Makefile":                    []byte("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 192\nEXTRAVERSION =\n"),
			"include/linux/ring_buffer.h": []byte("\n#define rb_commit(buffer) do { } while (0)\n"),
		})}
	}
	f.generate(Options{Trees: tree()})
	text := f.text()
	if !strings.Contains(text, "- `rb_commit`: no symbol in this build; a macro of this name: `include/linux/ring_buffer.h:2` in 6.1.192\n") ||
		!strings.Contains(text, "kind=tree kernel=6.1.192 evidence=true") {
		t.Fatalf("no macro in\n%s", text)
	}
	if g := f.generate(Options{}); g.Changed || len(g.Kept) > 0 {
		t.Errorf("without the tree: %+v\n%s", g, f.text())
	}
	withTree := func() []Fault { // that there is nothing cited is not the matter here
		return slices.DeleteFunc(f.check(Options{Trees: tree()}), func(x Fault) bool { return x.Rule == RuleCitation })
	}
	if faults := append(f.check(Options{}), withTree()...); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
	line := f.edit("ring_buffer.h:2", "ring_buffer.h:3")
	faults := f.check(Options{})
	one(t, faults, RuleSeal, 0, "edited by hand")
	one(t, withTree(), RuleSeal, line, "ring_buffer.h:2")
}

func TestNew(t *testing.T) {
	dir := t.TempDir()
	file, err := New(dir, "a-thing", "A thing")
	if err != nil {
		t.Fatal(err)
	}
	res, err := Check(context.Background(), []string{file}, Options{})
	if err != nil || HasErrors(res.Faults) {
		t.Errorf("%v, %v", res.Faults, err)
	}
	if _, err := New(dir, "a-thing", "A thing"); err == nil {
		t.Error("a file was replaced")
	}
	for _, name := range []string{"", "A", "../x", "a b", "a--b"} {
		if _, err := New(dir, name, "x"); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
}

// TestOwn holds the project's own blueprints against everything but the trees,
// and generates them again on a copy: nothing may change.
func TestOwn(t *testing.T) {
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return f == "README.md" })
	if len(files) < 5 {
		t.Fatalf("%d blueprints, expected five", len(files))
	}
	res, err := Check(context.Background(), files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.Faults {
		if f.Severity == Error {
			t.Errorf("%v\n%s", f.Error(), strings.Join(f.Detail, "\n"))
		}
	}
	for _, bp := range res.Blueprints {
		if bp.Blocks < 3 || bp.Sealed != bp.Blocks {
			t.Errorf("%s: %d of %d blocks sealed", bp.File, bp.Sealed, bp.Blocks)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		g, err := Generate(context.Background(), filepath.Join(dir, file), Options{})
		if err != nil || g.Changed || HasErrors(g.Faults) {
			t.Errorf("%+v, %v", g, err)
		}
	}
}
