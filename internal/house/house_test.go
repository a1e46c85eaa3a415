// Package house holds the tests that keep the project's own rules: who may
// import whom, and what no file may hold.
package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

const module = "github.com/ringaudit/ringaudit/"

// rule is what a package may import outside the standard library.
type rule struct {
	ours   []string // packages of ours, "x/…" for x and all below
	others []string // modules, by prefix
}

// table is docs/architecture.md's table of imports.
var table = map[string]rule{
	"citations":                    {others: []string{"github.com/BurntSushi/toml", "github.com/klauspost/compress", "github.com/ulikunitz/xz"}},
	"tracefs":                      {},
	"tracefs/subbuf":               {ours: []string{"tracefs"}},
	"tracefs/ringlog":              {ours: []string{"tracefs"}},
	"tracefs/tracedat":             {ours: []string{"tracefs", "tracefs/subbuf"}, others: []string{"github.com/klauspost/compress"}},
	"tracefs/bundle":               {ours: []string{"tracefs"}, others: []string{"github.com/klauspost/compress"}},
	"tracefs/live/probe":           {ours: []string{"tracefs", "tracefs/ringlog"}, others: []string{"github.com/cilium/ebpf"}},
	"tracefs/live":                 {ours: []string{"tracefs/…"}, others: []string{"golang.org/x/sys/unix"}},
	"audit":                        {ours: []string{"tracefs", "tracefs/subbuf", "tracefs/tracedat", "tracefs/bundle", "tracefs/ringlog", "citations"}},
	"report":                       {ours: []string{"audit", "citations", "tracefs"}, others: []string{"github.com/yuin/goldmark", "github.com/prometheus/", "github.com/owenrumney/go-sarif"}},
	"report/internal/genschema":    {ours: []string{"report", "audit"}, others: []string{"github.com/invopop/jsonschema"}},
	"blueprints":                   {ours: []string{"audit", "report", "citations", "tracefs/…"}, others: []string{"github.com/BurntSushi/toml", "github.com/yuin/goldmark", "github.com/cilium/ebpf/btf"}},
	"blueprints/internal/diagrams": {},
	"cmd/ringaudit":                {ours: []string{"cmd/ringaudit/internal/cli"}},
	"cmd/ringaudit/internal/cli":   {ours: []string{"…"}, others: []string{"…"}},
	"internal/fixtures":            {},
	"docs/internal/termsvg":        {},
}

func TestImports(t *testing.T) {
	root := fixtures.Root(t)
	seen := map[string]bool{}
	walkGo(t, root, func(name string) {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") {
			return
		}
		pkg := path.Dir(name)
		seen[pkg] = true
		r, ok := table[pkg]
		if !ok {
			t.Errorf("%s: package %s is not in the table of imports: add it there and to docs/architecture.md", name, pkg)
			return
		}
		for _, imp := range imports(t, filepath.Join(root, filepath.FromSlash(name))) {
			if local, ok := strings.CutPrefix(imp, module); ok {
				if local == "internal/fixtures" {
					t.Errorf("%s: only tests may import internal/fixtures", name)
				}
				if local != pkg && !allows(r.ours, local) {
					t.Errorf("%s: %s may not import %s", name, pkg, local)
				}
				continue
			}
			if first, _, _ := strings.Cut(imp, "/"); strings.Contains(first, ".") && !allowsModule(r.others, imp) {
				t.Errorf("%s: %s may not import %s", name, pkg, imp)
			}
		}
	})
	for pkg := range table {
		if !seen[pkg] {
			t.Errorf("the table of imports names %s, which there is not", pkg)
		}
	}
}

// Cobra belongs to the command line.
func TestOnlyTheCommandLineKnowsCobra(t *testing.T) {
	root := fixtures.Root(t)
	walkGo(t, root, func(name string) {
		if strings.HasPrefix(name, "cmd/ringaudit/internal/cli/") {
			return
		}
		if slices.Contains(imports(t, filepath.Join(root, filepath.FromSlash(name))), "github.com/spf13/cobra") {
			t.Errorf("%s imports cobra", name)
		}
	})
}

// No file is so long that it cannot be read in one sitting.
func TestFilesAreReadable(t *testing.T) {
	root := fixtures.Root(t)
	walkGo(t, root, func(name string) {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "// Code generated") {
			return
		}
		if n := strings.Count(string(b), "\n"); n > 700 {
			t.Errorf("%s has %d lines: split it", name, n)
		}
	})
}

func allows(list []string, pkg string) bool {
	for _, l := range list {
		switch {
		case l == "…", l == pkg:
			return true
		case strings.HasSuffix(l, "/…"):
			base := strings.TrimSuffix(l, "/…")
			if pkg == base || strings.HasPrefix(pkg, base+"/") {
				return true
			}
		}
	}
	return false
}

func allowsModule(list []string, imp string) bool {
	return slices.ContainsFunc(list, func(l string) bool { return l == "…" || strings.HasPrefix(imp, l) })
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// walkGo calls f with the slash path of every Go file.
func walkGo(t *testing.T, root string, f func(name string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(root, p)
		if err == nil && strings.HasSuffix(p, ".go") {
			f(filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
