package report_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/internal/fixtures"
	"github.com/ringaudit/ringaudit/report"
)

// Every real capture renders in every format; its JSON is valid by the schema
// and comes back whole.
func TestCaptures(t *testing.T) {
	root := fixtures.Captures(t)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(report.JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range captures(t, root) {
		name, _ := filepath.Rel(root, dir)
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			a, err := audit.Run(context.Background(), audit.Options{Sources: []audit.Input{{Path: dir}}, Tool: "ringaudit test"})
			if err != nil {
				t.Fatal(err)
			}
			d := report.New(a)
			var first []byte
			for _, f := range report.Formats() {
				var b bytes.Buffer
				if err := f.Render(&b, d, report.Options{}); err != nil {
					t.Errorf("%s: %v", f.Name, err)
				}
				if f.Name == "json" {
					first = b.Bytes()
				}
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(first))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Error(err)
			}
			back, err := report.Read(bytes.NewReader(first))
			if err != nil {
				t.Fatal(err)
			}
			again := *d
			if !reflect.DeepEqual(&again, back) && len(d.Buffers) > 0 {
				var b bytes.Buffer
				f, err := report.Lookup("json")
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Render(&b, back, report.Options{}); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(first), b.String()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// captures is the tracefs folders, and the small trace.dat files, below root.
func captures(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			if _, err := os.Stat(filepath.Join(path, "per_cpu")); err == nil {
				out = append(out, path)
				return filepath.SkipDir
			}
		case strings.HasSuffix(path, ".dat"):
			if st, err := e.Info(); err == nil && st.Size() < 1<<20 {
				out = append(out, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Errorf("only %d captures below %s", len(out), root)
	}
	return out
}
