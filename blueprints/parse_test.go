package blueprints

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// document is a whole blueprint for tests, with what is given put into it.
func document(header, section5 string) string {
	var b strings.Builder
	b.WriteString("+++\n" + header + "+++\n\n# A test\n")
	for _, t := range titles {
		b.WriteString("\n" + heading(t.id) + "\n\n")
		if t.id == "5" && section5 != "" {
			b.WriteString(section5)
			continue
		}
		b.WriteString("Text.\n")
	}
	return b.String()
}

const testHeader = `title = "A test"
name = "a-test"
status = "partial"
versions = ["6.12.117"]
summary = "For tests."
`

func block(section, text string) string {
	return fmt.Sprintf("<!-- ringaudit:begin section=%s seal=%s -->\n%s<!-- ringaudit:end section=%s -->\n", section, Seal(text), text, section)
}

func TestParse(t *testing.T) {
	text := Source{Kind: "evidence", Path: "a b/stats", SHA256: "12", Kernel: "6.1.0", Arch: "x86_64", Evidence: true}.marker() + "\n\nSeen.\n"
	doc := document(testHeader+"evidence = [\n  \"x\",\n  \"a b/stats\",\n]\n", "Before.\n\n"+block("5", text)+"\nAfter.\n")
	for _, eol := range []string{"\n", "\r\n"} {
		bp, faults := Parse("a-test.md", []byte(strings.ReplaceAll(doc, "\n", eol)))
		if len(faults) > 0 {
			t.Fatalf("faults: %v", faults)
		}
		if bp.Front.Title != "A test" || bp.Front.Name != "a-test" || len(bp.Front.Evidence) != 2 {
			t.Errorf("header %+v", bp.Front)
		}
		if n := bp.Front.Line("evidence", "a b/stats"); bp.Line(n) != `  "a b/stats",` {
			t.Errorf("line %d of the item: %q", n, bp.Line(n))
		}
		if len(bp.Sections) != 12 || bp.Sections[3].ID != "4" || bp.Sections[4].ID != "4a" {
			t.Errorf("sections %+v", bp.Sections)
		}
		if len(bp.Blocks) != 1 {
			t.Fatalf("%d blocks", len(bp.Blocks))
		}
		b := bp.Blocks[0]
		if b.Text() != text || Seal(b.Text()) != b.Seal {
			t.Errorf("text %q, seal %s", b.Text(), b.Seal)
		}
		want := Source{Kind: "evidence", Path: "a b/stats", SHA256: "12", Kernel: "6.1.0", Arch: "x86_64", Evidence: true, Line: b.Begin + 1}
		if len(b.Sources) != 1 || b.Sources[0] != want {
			t.Errorf("sources %+v", b.Sources)
		}
		if s, _ := bp.Section("5"); b.Begin < s.Line || b.End > s.End {
			t.Errorf("block %d-%d outside section %+v", b.Begin, b.End, s)
		}
	}
}

// TestParseFaults holds each way of writing a document wrongly against the line
// and the words that it is told by.
func TestParseFaults(t *testing.T) {
	ok := block("5", Source{Kind: "none"}.marker()+"\n")
	for _, tt := range []struct {
		name, doc string
		at        string // text of the faulty line
		message   string
	}{
		{"no header", "# Title\n", "# Title", "expected a header between +++ lines"},
		{"open header", "+++\ntitle = \"x\"\n", "+++", "no closing +++"},
		{"not toml", document("title = \n", ""), "title = ", ""},
		{"unknown key", document(testHeader+"sttaus = \"x\"\n", ""), `sttaus = "x"`, `unknown key "sttaus"`},
		{"wrong case", document(testHeader+"Reviewer = \"x\"\n", ""), `Reviewer = "x"`, "lower case"},
		{"wrong type", document("title = 3\n", ""), "", "string"},
		{"no end", document(testHeader, "<!-- ringaudit:begin section=5 -->\n"), "<!-- ringaudit:begin section=5 -->", "no end marker"},
		{"no begin", document(testHeader, "<!-- ringaudit:end section=5 -->\n"), "<!-- ringaudit:end section=5 -->", "did not begin"},
		{"inside", document(testHeader, "<!-- ringaudit:begin section=5 -->\n"+ok+"<!-- ringaudit:end section=5 -->\n"), ok[:strings.Index(ok, "\n")], "begins inside the block"},
		{"other section", document(testHeader, "<!-- ringaudit:begin section=5 -->\n<!-- ringaudit:end section=2 -->\n"), "<!-- ringaudit:end section=2 -->", `ends as section "2"`},
		{"section 3", document(testHeader, "<!-- ringaudit:begin section=3 -->\n"), "<!-- ringaudit:begin section=3 -->", "sections 2, 5 and 7"},
		{"short seal", document(testHeader, "<!-- ringaudit:begin section=5 seal=12 -->\n"), "<!-- ringaudit:begin section=5 seal=12 -->", "16 hexadecimal digits"},
		{"typo in verb", document(testHeader, "<!-- ringaudit:begn section=5 -->\n"), "<!-- ringaudit:begn section=5 -->", "none of begin, source, end"},
		{"typo in attribute", document(testHeader, "<!-- ringaudit:begin section=5 sael=0123456789abcdef -->\n"), "<!-- ringaudit:begin section=5 sael=0123456789abcdef -->", "not sael"},
		{"twice", document(testHeader, "<!-- ringaudit:begin section=5 section=5 -->\n"), "<!-- ringaudit:begin section=5 section=5 -->", "says section twice"},
		{"not closed", document(testHeader, "<!-- ringaudit:begin section=5\n"), "<!-- ringaudit:begin section=5", "must end in -->"},
		{"other dialect", document(testHeader, "<!-- bpc:generated section=5 hash=unsealed -->\n"), "<!-- bpc:generated section=5 hash=unsealed -->", "dialect"},
		{"source outside", document(testHeader, Source{Kind: "none"}.marker()+"\n"), Source{Kind: "none"}.marker(), "outside a generated block"},
		{"kind", document(testHeader, block("5", "<!-- ringaudit:source kind=guess evidence=true -->\n")), "<!-- ringaudit:source kind=guess evidence=true -->", `kind="guess"`},
		{"evidence", document(testHeader, block("5", "<!-- ringaudit:source kind=none evidence=yes -->\n")), "<!-- ringaudit:source kind=none evidence=yes -->", `evidence="yes"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bp, faults := Parse("a-test.md", []byte(tt.doc))
			for _, f := range faults {
				if strings.Contains(f.Message, tt.message) && (tt.at == "" || bp.Line(f.Line) == tt.at) {
					if !strings.HasPrefix(f.Error(), fmt.Sprintf("a-test.md:%d: ", f.Line)) {
						t.Errorf("message %q", f.Error())
					}
					return
				}
			}
			t.Errorf("no fault %q at %q, got %v", tt.message, tt.at, faults)
		})
	}
}

// TestParseCode holds that markers and headings in listings are text.
func TestParseCode(t *testing.T) {
	code := "```markdown\n## 5. Observable behaviour\n<!-- ringaudit:begin section=5 -->\n```\n\n~~~\n<!-- ringaudit:end section=5 -->\n```\n~~~\n"
	bp, faults := Parse("a-test.md", []byte(document(testHeader, code)))
	if len(faults) > 0 || len(bp.Blocks) > 0 || len(bp.Sections) != 12 {
		t.Errorf("faults %v, %d blocks, %d sections", faults, len(bp.Blocks), len(bp.Sections))
	}
	// What the citation gate reads is none of ours.
	bp, faults = Parse("a-test.md", []byte(document(testHeader, "None.\n<!-- ringaudit:not-a-claim about the text -->\n")))
	if len(faults) > 0 || len(bp.Blocks) > 0 {
		t.Errorf("faults %v", faults)
	}
	// A listing that an edit left open inside a block must not hide the block's end.
	bp, faults = Parse("a-test.md", []byte(document(testHeader, block("5", "```\n")+block("5", "x\n"))))
	if len(faults) > 0 || len(bp.Blocks) != 2 {
		t.Errorf("faults %v, %d blocks", faults, len(bp.Blocks))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(document(testHeader, block("5", Source{Kind: "none"}.marker()+"\n"))))
	f.Add([]byte("---\nblueprint: x\nstructures: [a, b]\nartefacts:\n  - y\n---\n## §5 Observable behaviour\n<!-- bpc:generated section=5 hash=unsealed -->\n<!-- bpc:end section=5 -->\n"))
	f.Add([]byte("+++\n+++\n<!-- ringaudit:begin section=2 seal=0123456789abcdef -->\r\n```\r\n<!-- ringaudit:end section=2 -->"))
	if doc, err := os.ReadFile(filepath.Join("testdata", "bpc", "small-ring.md")); err == nil {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		bp, faults := Parse("f.md", text)
		for _, x := range faults {
			if x.Message == "" || x.Line < 0 || x.Line > len(bp.lines)+1 {
				t.Errorf("fault %+v in %d lines", x, len(bp.lines))
			}
		}
		last := 0
		for _, b := range bp.Blocks {
			if b.Begin <= last || b.End <= b.Begin || b.End > len(bp.lines) || len(b.body) != b.End-b.Begin-1 {
				t.Errorf("block %+v after line %d", b, last)
			}
			last = b.End
		}
		c := &checker{bp: bp, res: &Checked{}}
		c.front()
		c.sections()
		c.blocks()
		c.status()
		c.sealFaults(nil)
		if len(faults) > 0 || bp.Dialect != DialectRingaudit {
			return
		}
		// What was filled once reads back sealed, and filling it again changes nothing.
		wants := []want{{section: "2", text: nothingYet}, {section: "7", text: nothingYet}}
		once, faults := bp.fill(wants)
		if len(faults) > 0 {
			return
		}
		again, faults := Parse("f.md", []byte(once))
		if len(faults) > 0 {
			t.Fatalf("filled: %v\n%q", faults, once)
		}
		if twice, _ := again.fill(wants); twice != once {
			t.Errorf("filled twice:\n%q\n%q", once, twice)
		}
	})
}
