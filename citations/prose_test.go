package citations

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestProseMarkers(t *testing.T) {
	text := "---\ntitle: [ring-R99]\n---\n" + `# A heading with [ring-R98]

The ring keeps the newest [ring-R1], and so on.
It says [ring-R2][ring-A3]. A link [ring-R97](x.html) is a marker too, by its form.

` + "Code is none: `[ring-R96]`.\n\n```c\n[ring-R95]\n```\n\n    [ring-R94]\n\n<!-- [ring-R93] -->\n" +
		"<!-- ringaudit:begin section=5 seal=x -->\nalways generated [ring-R92]\n<!-- ringaudit:end section=5 -->\n" +
		"<!-- bpc:generated x -->\nnever [ring-R91]\n<!-- /bpc:generated -->\nÜber [ring-R4]\n"
	p := ParseProse("ring", []byte(text))
	var got []string
	for _, m := range p.Markers {
		got = append(got, fmt.Sprintf("%s %d:%d", m.ID, m.Line, m.Col))
	}
	want := []string{"ring-R1 6:27", "ring-R2 7:9", "ring-A3 7:18", "ring-R97 7:36", "ring-R4 24:6"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("markers %q, want %q", got, want)
	}
	if len(p.Unparsed) != 0 {
		t.Errorf("unparsed: %v", p.Unparsed)
	}
}

func TestProseUnparsed(t *testing.T) {
	for _, s := range []string{"[ring-R]", "[ring-Rx]", "[ring-r1]", "[ring R1]", "[ring_R1]", "[ring-X1]", "[ring-R1, ring-R2]", "[ring-R 1]", "[Ring-R1]", "[page-fault-r7]"} {
		if p := ParseProse("ring", []byte("It is so "+s+".\n")); len(p.Unparsed) != 1 {
			t.Errorf("%s: %v", s, p.Unparsed)
		}
	}
	for _, s := range []string{"[a link](x)", "[ref][1]", "[ring-shaped thing](x)", "[1]", "[x]", "[ring]", "[see also]", "[LOST EVENTS]"} {
		if p := ParseProse("ring", []byte("It is so "+s+".\n")); len(p.Unparsed) != 0 {
			t.Errorf("%s: %v", s, p.Unparsed)
		}
	}
}

func TestProseSentences(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string // sentences: text | universal words | A: backed | X: excused
	}{
		{"It only grows. It may shrink.\n", []string{"It only grows.|only|", "It may shrink.||"}},
		{"It only\ngrows [ring-A1].\n", []string{"It only grows [ring-A1].|only|A"}},
		{"It only grows. [ring-A1] Next one.\n", []string{"It only grows. [ring-A1]|only|A", "Next one.||"}},
		{"It only grows [ring-R1].\n", []string{"It only grows [ring-R1].|only|"}},
		{"- It never waits\n- It always runs [ring-A2]\n", []string{"- It never waits|never|", "- It always runs [ring-A2]|always|A"}},
		{"| a | never |\n|---|---|\n| b | c |\n", []string{"| a | never ||never|", "| b | c |||"}},
		{"Exactly one writer; every reader.\n", []string{"Exactly one writer; every reader.|Exactly one,every|"}},
		{"This page covers only rings. <!-- ringaudit:not-a-claim about the page --> More.\n", []string{"This page covers only rings.|only|X", "More.||"}},
		{"Use `only` in code, e.g. here. Everyone knows.\n", []string{"Use `only` in code, e.g. here.||", "Everyone knows.||"}},
		{"Version 6.12 is fine. See ring.c for it.\n", []string{"Version 6.12 is fine.||", "See ring.c for it.||"}},
		{"> It never blocks.\n", []string{"> It never blocks.|never|"}},
	} {
		var got []string
		for _, s := range ParseProse("ring", []byte(tt.text)).Sentences {
			var words []string
			for _, w := range s.Universal {
				words = append(words, w.ID)
			}
			flag := ""
			for _, id := range s.Markers {
				if strings.Contains(id, "-A") {
					flag = "A"
				}
			}
			if s.Excused != "" {
				flag = "X"
			}
			got = append(got, strings.TrimPrefix(s.Text, "> ")+"|"+strings.Join(words, ",")+"|"+flag)
		}
		for i := range tt.want {
			tt.want[i] = strings.TrimPrefix(tt.want[i], "> ")
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q:\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}

// Both directions between document and records.
func TestDocument(t *testing.T) {
	s := oneSet(t, ref(1, "path = \"kernel/ring.c\"\nanchor = \"ring->thrown_away++;\"")+ref(2, "path = \"kernel/ring.c\"\nanchor = \"return ring->written > 100;\"")+
		assertion("kind = \"absent\"\nscope = \"kernel/ring.c\"\nsubject = \"kmalloc(\""))
	s.SetDocument("ring.md", []byte("# Ring\n\nIt counts what it throws away [ring-R1].\nIt never allocates [ring-A1].\nIt always counts [ring-R1].\n"+
		"It calls `ring_full()` first.\nSee kernel/ring.c:27 and [ring-R7] and [ring-Rx].\n"))
	r := runCheck(t, s, nil, MemoryTree("m", Version{}, small(t)))
	var got []string
	for _, p := range r.Problems {
		got = append(got, fmt.Sprintf("%s %s %s", p.At, p.State, p.Severity))
	}
	want := []string{"ring.md:5:4 universal error", "ring.md:6:1 unmarked note", "ring.md:7:5 line-cited note", "ring.md:7:26 no-record error",
		"ring.md:7:40 unparsed error", "ring.refs.toml:6 unused error"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if c := r.Counts; c != (Counts{Checked: 3, Unparsed: 1, Total: 4}) {
		t.Errorf("counts: %s", c)
	}
}

func TestProblemsStandAtTheMarker(t *testing.T) {
	s := oneSet(t, ref(1, "path = \"kernel/ring.c\"\nanchor = \"there is no such line\""))
	s.SetDocument("ring.md", []byte("# Ring\n\nIt counts  [ring-R1].\n"))
	r := runCheck(t, s, nil, MemoryTree("m", Version{}, small(t)))
	if p := r.Problems[0]; p.At.String() != "ring.md:3:12" || p.State != Gone {
		t.Errorf("%s %s", p.At, p.State)
	}
	before := r.Problems[0].Fingerprint
	s.SetDocument("ring.md", []byte("# Ring\n\nMore.\n\nIt counts  [ring-R1].\n"))
	r = runCheck(t, s, nil, MemoryTree("m", Version{}, small(t)))
	if r.Problems[0].Fingerprint != before {
		t.Error("the fingerprint moved with the line")
	}
}

func TestParseSetProblems(t *testing.T) {
	for _, tt := range []struct{ record, want string }{
		{"[[references]]\npath = \"a/b.c\"\nanchor = \"a long enough anchor\"", "no id"},
		{"[[references]]\nid = \"ring-R1\"\nanchor = \"a long enough anchor\"", "no path"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"", "no anchor"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = \"short\"", "has 5 characters, expected at least 12"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = \"two\\nlines of an anchor\"", "a line break"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"/a/b.c\"\nanchor = \"a long enough anchor\"", "relative to the top"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"../b.c\"\nanchor = \"a long enough anchor\"", "relative to the top"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c:12\"\nanchor = \"a long enough anchor\"", "a line number is not an anchor"},
		{"[[references]]\nid = \"ring-A1\"\npath = \"a/b.c\"\nanchor = \"a long enough anchor\"", "expected NAME-R and a number"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = \"a long enough anchor\"\nsinse = \"6.1\"", "unknown key \"sinse\""},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = \"a long enough anchor\"\nsince = \"soon\"", "not a kernel version"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = \"a long enough anchor\"\nsince = \"6.2\"\nuntil = \"6.1\"", "since 6.2 is after until 6.1"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = \"a long enough anchor\"\ncount = -1", "expected a number from 0"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = \"a long enough anchor\"\ncount = 0", "assertion of kind"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = 3", "expected a string"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = \"a long enough anchor\"\n[[references.in]]\npath = \"c.c\"", "no versions"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = \"a long enough anchor\"\n[[references.in]]\nversions = \"<6\"", "changes nothing"},
		{"[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = \"a long enough anchor\"\n[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = \"a long enough anchor\"", "is on line 2 already"},
		{"[[assertions]]\nid = \"ring-A1\"\nkind = \"always\"", "expected one of only-setter"},
		{"[[assertions]]\nid = \"ring-A1\"\nkind = \"only-setter\"\nscope = \"a.c\"\nsubject = \"x\"", "no expect"},
		{"[[assertions]]\nid = \"ring-A1\"\nkind = \"only-setter\"\nscope = \"a.c\"\nsubject = \"x + 1\"\nexpect = [\"f\"]", "expected a variable or a member"},
		{"[[assertions]]\nid = \"ring-A1\"\nkind = \"count\"\nscope = \"a.c\"\nsubject = \"x\"", "no count"},
		{"[[assertions]]\nid = \"ring-A1\"\nkind = \"absent\"\nscope = \"a.c\"", "no subject"},
		{"[[assertions]]\nid = \"ring-A1\"\nkind = \"absent\"\nscope = \"a/#f\"\nsubject = \"x\"", "no symbol for a folder"},
		{"[[assertions]]\nid = \"ring-A1\"\nkind = \"order\"\nscope = \"a.c\"\nexpect = [\"x\"]", "at least two"},
		{"[[assertions]]\nid = \"ring-A1\"\nkind = \"absent\"\nscope = \"a.c\"\nsubject = \"x\"\ncount = 3", "count is for kind"},
		{"[[assertions]]\nid = \"ring-A1\"\nkind = \"guarded-by\"\nscope = \"a.c\"\nsubject = \"x\"", "expected the guard"},
	} {
		s, err := ParseSet("ring", "ring.refs.toml", []byte("schema = 2\n"+tt.record))
		if err != nil || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Message, tt.want) {
			t.Errorf("%s\n%v %+v, want %q", tt.record, err, s.Problems, tt.want)
			continue
		}
		if s.Problems[0].At.Line < 2 {
			t.Errorf("%s: no line", tt.record)
		}
	}
	for _, tt := range []struct{ text, want string }{
		{"schema = 3", "expected schema = 1 or schema = 2"},
		{"", "expected schema = 1 or schema = 2"},
		{"schema = 2\nreferences = 3", "ring.refs.toml"},
		{"schema = 2\n[[reference]]\nid = \"x\"", `found key "reference"`},
		{"schema = 2\n[[references]\n", "ring.refs.toml:3"},
		{"schema = 1\n[[assertions]]\nid = \"x\"", "expected none in schema 1"},
	} {
		if _, err := ParseSet("ring", "ring.refs.toml", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add("schema = 2\n[[references]]\nid = \"ring-R1\"\npath = \"kernel/ring.c\"\nanchor = \"ring->thrown_away++;\"\n[[references.in]]\nversions = \"<6\"\ncount = 2\n")
	f.Add("schema = 2\n[[assertions]]\nid = \"ring-A1\"\nkind = \"guarded-by\"\nscope = \"kernel/\"\nsubject = \"written\"\nexpect = [\"lock\", \"unlock\"]\n")
	f.Add("schema = 2\n[[assertions]]\nid = \"ring-A1\"\nkind = \"only-setter\"\nscope = \"kernel/ring.c\"\nsubject = \".a[1]->b\"\nexpect = [\"f\"]\n")
	f.Add("schema = 1\n[[references]]\nid = \"ring-R1\"\npath = \"a\"\nanchor = \"ring->thrown_away++;\"\nkernel = \"6.1\"\nline = 3\ncontext = \"0123456789ab\"\n")
	files := small(f)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSet("ring", "ring.refs.toml", []byte(text))
		if (s == nil) == (err == nil) {
			t.Fatal("error and value, or neither")
		}
		if err != nil {
			return
		}
		r := runCheck(t, s, nil, MemoryTree("m", Version{}, files))
		if r.Counts.Checked+r.Counts.Skipped+r.Counts.Unparsed+r.Counts.Unresolved != r.Counts.Total {
			t.Fatalf("%s", r.Counts)
		}
		l := r.Sets[0].Update(UpdateOptions{})
		again, err := ParseLock("x", l.Encode())
		if err != nil || string(again.Encode()) != string(l.Encode()) {
			t.Fatalf("%v\n%s", err, l.Encode())
		}
	})
}

func FuzzProse(f *testing.F) {
	f.Add([]byte("# x\n\nIt only [ring-A1]. `code` [ring-R\n- a\n| b |\n```\n<!-- ringaudit:not-a-claim"))
	f.Add([]byte("---\n~~~~\n\t\xff. \n<!-- ringaudit:begin\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := ParseProse("ring", text)
		lines := strings.Count(string(text), "\n") + 1
		for _, s := range p.Sentences {
			if s.Line < 1 || s.Line > lines || s.Col < 1 {
				t.Fatalf("%q at %d:%d of %d lines", s.Text, s.Line, s.Col, lines)
			}
		}
		for _, m := range append(p.Markers, p.Unparsed...) {
			if m.Line < 1 || m.Line > lines || m.Col < 1 {
				t.Fatalf("%v of %d lines", m, lines)
			}
		}
	})
}
