package report_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/report"
)

// compileSchema is the schema of documents.
func compileSchema(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(report.JSONSchema()))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		tb.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

// FuzzAudited writes the document of whatever bytes say in every format: it is
// valid, and what was written as JSON reads as the same document.
func FuzzAudited(f *testing.F) {
	schema := compileSchema(f)
	for i, s := range []string{
		"entries: 3\noverrun: 40\ncommit overrun: 0\nbytes: 1\noldest event ts:     1.000000\nnow ts:     2.000000\ndropped events: 0\nread events: 0\n",
		"# tracer: nop\n#\n# entries-in-buffer/entries-written: 1/9   #P:1\n#\n            prog-1234    [000] .....    10.000000: x: y\n",
		"CPU:0 [LOST 7 EVENTS]\n            prog-1234    [000] .....    10.000000: x: <b>&\x01\xff\n",
		`{"type":"begin","schema":"ringaudit.ringlog/v1","cpus":1,"clock":"monotonic","ring_bytes":4096,"probes":[]}` + "\n",
		"\x00\x01",
	} {
		f.Add([]byte(s), uint8(i))
	}
	names := []string{"per_cpu/cpu0/stats", "trace", "trace_pipe.txt", "a.jsonl", "trace_pipe_raw"}
	f.Fuzz(func(t *testing.T, data []byte, name uint8) {
		file := filepath.Join(t.TempDir(), filepath.FromSlash(names[int(name)%len(names)]))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := audit.Run(context.Background(), audit.Options{Sources: []audit.Input{{Path: file}}, Tool: "ringaudit test"})
		if err != nil {
			t.Fatal(err)
		}
		d := report.New(a)
		var first []byte
		for _, fm := range report.Formats() {
			var b bytes.Buffer
			if err := fm.Render(&b, d, report.Options{}); err != nil {
				t.Fatalf("%s: %v", fm.Name, err)
			}
			if fm.Name == "json" {
				first = b.Bytes()
			}
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(first))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Fatal(err)
		}
		again, err := report.Read(bytes.NewReader(first))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		var second bytes.Buffer
		f, err := report.Lookup("json")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Render(io.Writer(&second), again, report.Options{}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second.Bytes()) {
			t.Errorf("what was written reads as another document:\n%s\n%s", first, second.Bytes())
		}
	})
}

// --cpu shows some CPUs; totals and verdict are of all.
func TestCPUs(t *testing.T) {
	tree := fstest.MapFS{}
	for cpu, overrun := range []string{"0", "9"} {
		tree["per_cpu/cpu"+string(rune('0'+cpu))+"/stats"] = &fstest.MapFile{Data: []byte("entries: 3\noverrun: " + overrun +
			"\ncommit overrun: 0\nbytes: 1\noldest event ts:     1.000000\nnow ts:     2.000000\ndropped events: 0\nread events: 0\n")}
	}
	a, err := audit.Run(t.Context(), audit.Options{Sources: []audit.Input{{Path: "saved", FS: tree}}, CPUs: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	d := report.New(a)
	b := d.Buffers[0]
	if len(b.CPUs) != 1 || b.CPUs[0].CPU != 0 || d.Verdict != "lossy" || *b.Total.Overwritten != audit.Exactly(9) {
		t.Errorf("%d CPUs, %s, overwritten %v; want cpu 0 alone, and the loss of cpu 1 in verdict and total", len(b.CPUs), d.Verdict, b.Total.Overwritten)
	}
}
