package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What is written as JSON is read back whole: the same document, and the same
// bytes in every format.
func TestRoundTrip(t *testing.T) {
	for _, d := range testDocs() {
		if d.name == "holes-100k" {
			d.doc = manyHoles(2_000) // as many as it takes
		}
		t.Run(d.name, func(t *testing.T) {
			first := render(t, "json", d.doc, Options{})
			back, err := Read(bytes.NewReader(first))
			if err != nil {
				t.Fatal(err)
			}
			if d.name != "hostile" { // bytes that are not UTF-8 cannot come back
				if want := whole(d.doc); !reflect.DeepEqual(want, back) {
					diff := cmp.Diff(want, back)
					t.Error(diff)
				}
			}
			for _, f := range Formats() {
				var a, b bytes.Buffer
				if err := f.Render(&a, back, Options{}); err != nil {
					t.Fatal(err)
				}
				again, err := Read(bytes.NewReader(first))
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Render(&b, again, Options{}); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(a.Bytes(), b.Bytes()) {
					t.Errorf("%s: the same document, other bytes", f.Name)
				}
				if d.name != "hostile" {
					if got := render(t, f.Name, d.doc, Options{}); !bytes.Equal(got, a.Bytes()) {
						t.Errorf("%s from saved JSON differs:\n%s", f.Name, cmp.Diff(string(got), a.String()))
					}
				}
			}
		})
	}
}

// The layout changes nothing but white space, and leaves no null where a list
// belongs.
func TestJSONLayout(t *testing.T) {
	for _, d := range testDocs() {
		got := render(t, "json", d.doc, Options{})
		want, err := marshal(whole(d.doc))
		if err != nil {
			t.Fatal(err)
		}
		var flat bytes.Buffer
		if err := json.Compact(&flat, got); err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		if !bytes.Equal(flat.Bytes(), want) {
			t.Errorf("%s: the layout changed the JSON", d.name)
		}
		for _, list := range []string{"sources", "buffers", "probes", "findings", "blind_spots", "cpus", "views", "evidence", "citations"} {
			if strings.Contains(string(got), `"`+list+`": null`) {
				t.Errorf("%s: %s is null", d.name, list)
			}
		}
	}
}

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchema(t *testing.T) {
	s := schema(t)
	valid := func(b []byte) error {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			return err
		}
		return s.Validate(v)
	}
	for _, d := range testDocs() {
		if err := valid(render(t, "json", d.doc, Options{})); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
	}
	// And the schema does refuse.
	good := string(render(t, "json", smallOverwrite(), Options{}))
	for _, c := range [][2]string{
		{`"verdict": "lossy"`, `"verdict": "fine"`},
		{`"schema": "ringaudit.audit/v1"`, `"schema": "ringaudit.audit/v2"`},
		{`{"lo": 432, "hi": 432}`, `{"hi": 432}`},
		{`{"lo": 432, "hi": 432}`, `{"lo": -1}`},
		{`{"lo": 432, "hi": 432}`, `432`},
		{`"severity": "error"`, `"severity": "fatal"`},
		{`"probes": []`, `"probes": null`},
		{`"exit": 1`, `"exit": 9`},
		{`"after": null, `, ``},
	} {
		bad := strings.Replace(good, c[0], c[1], 1)
		if bad == good {
			t.Errorf("%q is not in the document", c[0])
		} else if valid([]byte(bad)) == nil {
			t.Errorf("valid with %s", c[1])
		}
	}
}

func TestReadErrors(t *testing.T) {
	good := string(render(t, "json", smallOverwrite(), Options{}))
	change := func(from, to string) string {
		s := strings.Replace(good, from, to, 1)
		if s == good {
			t.Fatalf("%q is not in the document", from)
		}
		return s
	}
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "empty; expected a document"},
		{"white", " \n\t", "empty; expected a document"},
		{"not JSON", "LOSSY  everything\n", "line 1, column 1: not JSON"},
		{"list", "[]", "line 1, column 1: found array; expected a document"},
		{"no schema", `{"verdict":"lossy"}`, `no "schema"; expected "ringaudit.audit/v1"`},
		{"other schema", change(Schema, "ringaudit.audit/v2"), `schema "ringaudit.audit/v2"; this version reads "ringaudit.audit/v1"`},
		{"cut", good[:len(good)/2], "ends in the middle"},
		{"trailing", good + "{}", "more after the end"},
		{"jsonl", string(render(t, "jsonl", smallOverwrite(), Options{})), "jsonl"},
		{"verdict", change(`"verdict": "lossy"`, `"verdict": "fine"`), `verdict: "fine"; expected one of lossy, complete, confirmed, undetermined`},
		{"exit", change(`"exit": 1`, `"exit": 7`), "exit: 7"},
		{"type", change(`"exit": 1`, `"exit": "one"`), "exit: found string"},
		{"interval", change(`{"lo": 432, "hi": 432}`, `{"lo": 432, "hi": 43}`), "ends at 43, before it begins at 432"},
		{"negative", change(`{"lo": 432, "hi": 432}`, `{"lo": -1}`), "number -1"},
		{"huge", change(`{"lo": 432, "hi": 432}`, `{"lo": 18446744073709551616}`), "18446744073709551616"},
		{"twice", change(`"cpu": 1,`, `"cpu": 0,`), "buffers[0].cpus[1].cpu: CPU 0 stands here twice"},
		{"cpu", change(`"cpu": 1,`, `"cpu": -1,`), "-1 is no CPU"},
		{"severity", change(`"severity": "error"`, `"severity": "fatal"`), `findings[0].severity: "fatal"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Read(strings.NewReader(c.in))
			if err == nil || d != nil {
				t.Fatalf("no error; want %q", c.want)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q; want %q", err, c.want)
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestReadIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 256 MiB")
	}
	if _, err := Read(endless{}); err == nil || !strings.Contains(err.Error(), "larger than 256 MiB") {
		t.Errorf("error %v", err)
	}
	broken := errors.New("broken")
	if _, err := Read(io.MultiReader(strings.NewReader("{"), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A newer v1 may have keys that this version does not know.
func TestReadSkipsUnknownKeys(t *testing.T) {
	in := strings.Replace(string(render(t, "json", confirmed(), Options{})), `"exit": 0,`, `"exit": 0, "weather": {"rain": true},`, 1)
	d, err := Read(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole(confirmed()), d); diff != "" {
		t.Error(diff)
	}
}

func FuzzRead(f *testing.F) {
	for _, d := range []*Document{confirmed(), traceDat(), kretprobe(), hostile()} {
		b, err := marshal(whole(d))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"schema":"ringaudit.audit/v1","verdict":"complete","buffers":[{"verdict":"lossy","cpus":[{"cpu":3,"holes":[{"after":"5","before":"4","events":{"lo":1}}]}]}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		d, err := Read(bytes.NewReader(in))
		if (err == nil) == (d == nil) {
			t.Fatal("neither error nor document, or both")
		}
		if err != nil {
			return
		}
		var first []byte
		for _, fm := range Formats() {
			var b bytes.Buffer
			if err := fm.Render(&b, d, Options{Width: 80}); err != nil {
				t.Fatalf("%s: %v", fm.Name, err)
			}
			if fm.Name == "json" {
				first = b.Bytes()
			}
		}
		again, err := Read(bytes.NewReader(first))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(d, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
