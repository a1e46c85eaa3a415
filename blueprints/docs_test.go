package blueprints

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// TestDocsIndex holds that docs/README.md leads to every page and every
// blueprint, and that no link between the pages leads nowhere.
func TestDocsIndex(t *testing.T) {
	docs := filepath.Join(fixtures.Root(t), "docs")
	index, err := os.ReadFile(filepath.Join(docs, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for dir, prefix := range map[string]string{docs: "", filepath.Join(docs, "..", "blueprints"): "../blueprints/"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.md"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no pages in %s: %v", dir, err)
		}
		for _, f := range files {
			name := prefix + filepath.Base(f)
			if filepath.Base(f) != "README.md" && !strings.Contains(string(index), "]("+name) {
				t.Errorf("docs/README.md does not link %s", name)
			}
			if dir == docs {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				bp := &Blueprint{File: f}
				bp.split(string(text))
				c := &checker{bp: bp, res: &Checked{}}
				c.files()
				for _, x := range c.res.Faults {
					t.Error(x.Error())
				}
			}
		}
	}
}
