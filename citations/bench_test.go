package citations

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// thousand is 1,000 references to lines that all four real trees have once in
// one file, and the trees unpacked into a folder each.
func thousand(b *testing.B) (s *Set, dirs []string) {
	b.Helper()
	ctx := context.Background()
	var trees []map[string][]byte
	for _, v := range realVersions {
		files := make(map[string][]byte)
		a := &archiveFiles{files: files}
		src := OpenTree(ctx, filepath.Join(fixtures.Trees(b), "linux-"+v+"-tracing.tar.zst"), TreeOptions{}).src
		if err := src.read(ctx, &need{all: true}, &found{file: a.add, dir: func(string) {}, mark: func(string) {}}); err != nil {
			b.Fatal(err)
		}
		dir := filepath.Join(b.TempDir(), v)
		for name, data := range files {
			f := filepath.Join(dir, filepath.FromSlash(name))
			os.MkdirAll(filepath.Dir(f), 0o755)
			if err := os.WriteFile(f, data, 0o644); err != nil {
				b.Fatal(err)
			}
		}
		trees, dirs = append(trees, files), append(dirs, dir)
	}
	var text strings.Builder
	text.WriteString("schema = 2\n")
	n := 0
	for _, name := range sortedKeys(trees[0]) {
		seen := make(map[string]bool)
		for line := range strings.Lines(string(trees[0][name])) {
			a := strings.TrimSpace(line)
			if n == 1000 || len(a) < 20 || len(a) > 100 || seen[a] || a != Fold(a) || strings.Contains(a, "  ") {
				continue
			}
			seen[a] = true
			once := true
			for _, t := range trees {
				once = once && strings.Count(string(t[name]), a) == 1
			}
			if once {
				n++
				fmt.Fprintf(&text, "[[references]]\nid = \"many-R%d\"\npath = %s\nanchor = %s\n", n, quote(name), quote(a))
			}
		}
	}
	s, err := ParseSet("many", "many.refs.toml", []byte(text.String()))
	if err != nil || len(s.References) != 1000 {
		b.Fatalf("%v, %d references", err, n)
	}
	return s, dirs
}

func checkAll(b *testing.B, s *Set, specs []string) {
	b.Helper()
	ctx := context.Background()
	var trees []*Tree
	for _, spec := range specs {
		trees = append(trees, OpenTree(ctx, spec, TreeOptions{}))
	}
	r, err := Check(ctx, []*Set{s}, trees, Options{})
	if err != nil || r.Outcome() != Passed || r.Counts.Checked != 1000*len(specs) {
		b.Fatalf("%v %s %+v", err, r.Counts, r.Problems[:min(len(r.Problems), 3)])
	}
}

// BenchmarkCheck is the gate on 1,000 references in four trees.
//
//	go test -run '^$' -bench 'Check|Grep' -benchtime 3x ./citations
func BenchmarkCheck(b *testing.B) {
	s, dirs := thousand(b)
	b.Run("folders", func(b *testing.B) {
		for b.Loop() {
			checkAll(b, s, dirs)
		}
	})
	var archives []string
	for _, v := range realVersions {
		archives = append(archives, filepath.Join(fixtures.Trees(b), "linux-"+v+"-tracing.tar.zst"))
	}
	b.Run("archives", func(b *testing.B) {
		for b.Loop() {
			checkAll(b, s, archives)
		}
	})
}

// BenchmarkGrep is what a script does: one grep for each reference and tree.
func BenchmarkGrep(b *testing.B) {
	grep, err := exec.LookPath("grep")
	if err != nil {
		b.Skip("needs grep")
	}
	s, dirs := thousand(b)
	for b.Loop() {
		for _, dir := range dirs {
			for _, r := range s.References {
				out, err := exec.Command(grep, "-nF", "-e", r.Anchor, filepath.Join(dir, filepath.FromSlash(r.Path))).Output()
				if err != nil || len(out) == 0 {
					b.Fatalf("%s: %v", r.ID, err)
				}
			}
		}
	}
}

// BenchmarkParse is the parsing of a large file: comments, tokens, symbols.
func BenchmarkParse(b *testing.B) {
	ctx := context.Background()
	t := OpenTree(ctx, filepath.Join(fixtures.Trees(b), "linux-7.2.13-tracing.tar.zst"), TreeOptions{})
	if err := t.load(ctx, &need{files: map[string]bool{"kernel/trace/ring_buffer.c": true}}, newStore()); err != nil {
		b.Fatal(err)
	}
	data := t.files["kernel/trace/ring_buffer.c"].data
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		newFile("ring_buffer.c", data).parse()
	}
}

// BenchmarkSelfTest is the cost of proving the gate.
func BenchmarkSelfTest(b *testing.B) {
	s, err := LoadSet(filepath.Join("testdata", "ring-buffer.refs.toml"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := RunSelfTest(context.Background(), []*Set{s}, realTrees(b, "7.2.13"), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
