package report

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ringaudit/ringaudit/citations"
)

// testdata/sarif-schema-2.1.0.json is the schema of SARIF 2.1.0 as Microsoft's
// SARIF SDK 5.7.0 (MIT licence) distributes it.
func sarifSchemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file := filepath.Join("testdata", "sarif-schema-2.1.0.json")
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validSARIF(t *testing.T, data []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := sarifSchemaOf(t).Validate(doc); err != nil {
		t.Errorf("%v\n%s", err, data)
	}
}

var nasty = "a, b: 100 %\r\n\x00 é <&> \"quoted\" \x1b[31m"

func someProblems() *Problems {
	return &Problems{Version: "0.1.0", Verb: "audit", Exit: 1, Complete: true,
		Rules: []ProblemRule{{ID: "overwritten-events", Title: "The oldest events are gone", Help: "What it means.", Severity: "error", URL: homeURL}},
		List: []Problem{
			{Rule: "overwritten-events", Severity: "error", Message: "2,922,910 events were thrown away", Action: "make it larger", Path: "per_cpu/cpu0/stats", Line: 2, Col: 1,
				Fingerprint: "abc", Suite: "top", Case: "overwritten-events", Related: []ProblemPlace{{Base: "linux-7.2.13", Path: "kernel/trace/ring_buffer.c", Line: 9, Message: "x", URL: "https://example.org/a#n9"}, {Path: "trace", Line: 3}}},
			{Rule: "not-documented", Severity: "warning", Message: nasty, Path: "/abs/../odd dir/ä,b:c.md", Line: 7, Fingerprint: "d"},
			{Rule: "no-place", Severity: "note", Message: "nowhere"},
			{Rule: "overwritten-events", Severity: "error", Message: "known", Path: `C:\x\y.md`, Suppressed: "until spring", Suite: "top", Case: "other"},
			{Rule: "no-place", Severity: "strange", Message: "no level", Path: "../up.md"},
		},
		Cases: []ProblemCase{{Suite: "top", Name: "overwritten-events"}, {Suite: "top", Name: "dropped-events"}, {Suite: "top", Name: "probes", Skipped: "no probes"}},
	}
}

func TestSARIF(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSARIF(&b, someProblems()); err != nil {
		t.Fatal(err)
	}
	validSARIF(t, b.Bytes())
	var log sarifLog
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) != 5 || run.Invocations[0].ExitCode != 1 {
		t.Errorf("%d results, exit %d", len(run.Results), run.Invocations[0].ExitCode)
	}
	var uris []string
	for _, r := range run.Results {
		if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("%s has the index of %s", r.RuleID, run.Tool.Driver.Rules[r.RuleIndex].ID)
		}
		for _, l := range append(r.Locations, r.Related...) {
			uris = append(uris, l.Physical.Artifact.URI)
		}
	}
	want := "per_cpu/cpu0/stats kernel/trace/ring_buffer.c trace odd%20dir/%C3%A4,b:c.md x/y.md up.md"
	if got := strings.Join(uris, " "); got != want {
		t.Errorf("URIs %s\nwant %s", got, want)
	}
	if s := run.Results[3].Suppressions; len(s) != 1 || s[0].Justification != "until spring" {
		t.Errorf("suppressions %v", s)
	}
	if _, ok := run.BaseIDs["linux-7.2.13"]; !ok {
		t.Errorf("bases %v", run.BaseIDs)
	}
}

func TestSARIFEmpty(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSARIF(&b, &Problems{}); err != nil {
		t.Fatal(err)
	}
	validSARIF(t, b.Bytes())
	if !strings.Contains(b.String(), `"results": []`) || !strings.Contains(b.String(), `"rules": []`) {
		t.Errorf("%s", b.String())
	}
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJUnit(&b, someProblems()); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	// Cases: three looked at, the suppressed one, and three of problems of their own.
	if got.Tests != 7 || got.Failures != 1 || got.Skipped != 1 || got.Name != "ringaudit audit" {
		t.Errorf("%d tests, %d failures, %d skipped\n%s", got.Tests, got.Failures, got.Skipped, b.String())
	}
	n := 0
	for _, s := range got.Suites {
		n += len(s.Cases)
		if s.Name == "top" && (s.Failures != 1 || s.Cases[0].Line != 2 || s.Cases[0].File != "per_cpu/cpu0/stats") {
			t.Errorf("%+v", s)
		}
	}
	if n != got.Tests {
		t.Errorf("%d cases, %d are counted", n, got.Tests)
	}
}

func TestGitHub(t *testing.T) {
	var b bytes.Buffer
	if err := WriteGitHub(&b, someProblems()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	want := []string{
		"::error file=per_cpu/cpu0/stats,line=2,col=1,title=ringaudit overwritten-events::2,922,910 events were thrown away%0Amake it larger%0Alinux-7.2.13/kernel/trace/ring_buffer.c:9 https://example.org/a#n9%0Atrace:3",
		"::warning file=/abs/../odd dir/ä%2Cb%3Ac.md,line=7,title=ringaudit not-documented::a, b: 100 %25%0D%0A\x00 é <&> \"quoted\" \x1b[31m",
		"::notice title=ringaudit no-place::nowhere",
		"::notice file=../up.md,title=ringaudit no-place::no level",
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// citeDocument is a run of the gate with something of everything in it.
func citeDocument(t *testing.T) *CiteDocument {
	t.Helper()
	set, err := citations.ParseSet("ring", "docs/ring.refs.toml", []byte(`schema = 2
[[references]]
id = "ring-R1"
path = "kernel/ring.c"
anchor = "count_lost(&ring->lost, 1)"
[[references]]
id = "ring-R2"
path = "kernel/ring.c"
anchor = "there is no such line"
[[references]]
id = "ring-R3"
path = "kernel/ring.c"
anchor = "there was such a line"
until = "5.0"
[[references]]
id = "ring-R4"
path = "kernel/ring.c"
[[assertions]]
id = "ring-A1"
kind = "absent"
scope = "kernel/ring.c"
subject = "count_lost("
`))
	if err != nil {
		t.Fatal(err)
	}
	set.SetDocument("docs/ring.md", []byte("It counts [ring-R1], it is so [ring-R2], it was so [ring-R3].\nIt never counts [ring-A1].\nIt only counts.\nÜber `ring_lost()`: [ring-R9] 100 % | x.\n"))
	tree := citations.MemoryTree("linux", citations.Version{}, map[string][]byte{
		"Makefile": []byte("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 7\n"), "MAINTAINERS": nil, "init/main.c": nil,
		"kernel/ring.c": []byte("void f(void)\n{\n\tcount_lost(&ring->lost, 1); /* | <b> ` */\n}\n")})
	gone := citations.OpenTree(context.Background(), "no/such/tree", citations.TreeOptions{})
	r, err := citations.Check(context.Background(), []*citations.Set{set}, []*citations.Tree{tree, gone}, citations.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return NewCite("0.1.0", r, nil, 1)
}

func TestCiteFormats(t *testing.T) {
	d := citeDocument(t)
	for _, f := range CiteFormats() {
		var a, b bytes.Buffer
		if err := f.Render(&a, d, Options{All: true}); err != nil {
			t.Fatal(err)
		}
		if err := f.Render(&b, citeDocument(t), Options{All: true}); err != nil {
			t.Fatal(err)
		}
		if a.String() != b.String() {
			t.Errorf("%s: two runs differ", f.Name)
		}
		for _, want := range []string{"ring-R2", "ring-R9", "ring-R4", "ring-A1", "no/such/tree", "only"} {
			if !strings.Contains(a.String(), want) {
				t.Errorf("%s says nothing of %s:\n%s", f.Name, want, a.String())
			}
		}
		switch f.Name {
		case "sarif":
			validSARIF(t, a.Bytes())
		case "json":
			var back CiteDocument
			dec := json.NewDecoder(&a)
			dec.DisallowUnknownFields()
			if err := dec.Decode(&back); err != nil || back.Schema != CiteSchema || back.Counts != d.Counts {
				t.Errorf("json: %v", err)
			}
		case "junit":
			var back junitSuites
			if err := xml.Unmarshal(a.Bytes(), &back); err != nil || back.Skipped != 1 {
				t.Errorf("junit: %v, %d skipped", err, back.Skipped)
			}
		}
	}
}

// The form that editors and grep know: the place first, then the state.
func TestCiteText(t *testing.T) {
	var b bytes.Buffer
	if err := renderCiteText(&b, citeDocument(t), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"docs/ring.md:1:31: gone: ring-R2: 6.12.7: kernel/ring.c holds nothing like the anchor\n",
		"docs/ring.md:2:17: refuted: ring-A1: 6.12.7: \"count_lost(\" stands in kernel/ring.c once, first on line 3 of kernel/ring.c\n",
		"docs/ring.md:3:4: universal: \"only\" claims something of all cases",
		"docs/ring.md:4:21: no-record: ring-R9: ",
		"docs/ring.refs.toml:15: unparsed: ring-R4: no anchor",
		"no/such/tree: unresolved: there is no such file or folder\n",
		"      6.12.7 kernel/ring.c:3 f  count_lost(&ring->lost, 1); /* | <b> ` */\n",
		"docs/ring.md: 3 checked, 1 skipped, 1 unparsed, 4 unresolved, 9 in total\n",
		"broken: 6 errors",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("colour where nobody asked for it")
	}
	b.Reset()
	renderCiteText(&b, citeDocument(t), Options{Color: true})
	if !strings.Contains(b.String(), ": \x1b[31mgone\x1b[0m: ") {
		t.Error("no colour where somebody asked for it")
	}
}

type shortWriter struct{}

func (shortWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestProblemWriteErrors(t *testing.T) {
	for _, f := range CiteFormats() {
		if err := f.Render(shortWriter{}, citeDocument(t), Options{}); err == nil {
			t.Errorf("%s: no error from a writer that fails", f.Name)
		}
	}
}
