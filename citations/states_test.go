package citations

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
)

// oneSet is a set of the given records, without a document.
func oneSet(t testing.TB, toml string) *Set {
	t.Helper()
	s, err := ParseSet("ring", "ring.refs.toml", []byte("schema = 2\n"+toml))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Problems {
		t.Fatalf("%s: %s", p.ID, p.Message)
	}
	return s
}

func ref(id int, fields string) string {
	return fmt.Sprintf("[[references]]\nid = \"ring-R%d\"\n%s\n", id, fields)
}

func runCheck(t testing.TB, s *Set, lock *Lock, trees ...*Tree) *Result {
	t.Helper()
	opts := Options{Locks: map[string]*Lock{}}
	if lock != nil {
		opts.Locks[s.Name] = lock
	}
	r, err := Check(context.Background(), []*Set{s}, trees, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func replace(t testing.TB, files map[string][]byte, name, old, with string) map[string][]byte {
	t.Helper()
	out := make(map[string][]byte)
	for k, v := range files {
		out[k] = v
	}
	if !bytes.Contains(out[name], []byte(old)) {
		t.Fatalf("%s does not hold %q", name, old)
	}
	out[name] = bytes.Replace(out[name], []byte(old), []byte(with), 1)
	return out
}

// Each state of the specification, from a lock of the small tree and an edit.
func TestStates(t *testing.T) {
	files := small(t)
	write := `path = "kernel/ring.c"
symbol = "ring_throw_away"
anchor = "ring->thrown_away++;"`
	loose := `path = "kernel/ring.c"
anchor = "return ring->written > 100;"`
	for _, tt := range []struct {
		name, record string
		edit         func(map[string][]byte) map[string][]byte
		state        State
		message      string // part of it
		proposal     string // part of it
	}{
		{"ok", write, nil, OK, "", ""},
		{"white space folded", write, func(f map[string][]byte) map[string][]byte {
			return replace(t, f, "kernel/ring.c", "\tring->thrown_away++;", "  ring->thrown_away++; ")
		}, OK, "", ""},
		{"moved", write, func(f map[string][]byte) map[string][]byte {
			return replace(t, f, "kernel/ring.c", "static int ring_full", "\n\nstatic int ring_full")
		}, Moved, "line 29 of kernel/ring.c, the lock has line 27", "cite check --fix"},
		{"moved to another function", write, func(f map[string][]byte) map[string][]byte {
			f = replace(t, f, "kernel/ring.c", "\tring->thrown_away++;\n", "")
			return replace(t, f, "kernel/ring.c", "\tspin_lock(&ring->lock);\n", "\tspin_lock(&ring->lock);\n\tring->thrown_away++;\n")
		}, MovedSymbol, "not in ring_throw_away but in ring_write (line 33)", `symbol = "ring_write"`},
		{"function renamed", write, func(f map[string][]byte) map[string][]byte {
			f = replace(t, f, "kernel/ring.c", "ring_throw_away(struct ring *ring, int fast)", "ring_drop(struct ring *ring, int fast)")
			return replace(t, f, "kernel/ring.c", "ring_throw_away(struct ring *ring)\n#endif", "ring_drop(struct ring *ring)\n#endif")
		}, MovedSymbol, "has no ring_throw_away", `symbol = "ring_drop"`},
		{"moved without a declared symbol", loose, func(f map[string][]byte) map[string][]byte {
			f = replace(t, f, "kernel/ring.c", "\treturn ring->written > 100;\n", "\treturn 0;\n")
			return replace(t, f, "kernel/ring.c", "\t*value = 1;\n", "\t*value = 1;\n\treturn ring->written > 100;\n")
		}, MovedSymbol, "it was in ring_full and is in ring_read", `symbol = "ring_read"`},
		{"moved to another file", write, func(f map[string][]byte) map[string][]byte {
			f = replace(t, f, "kernel/other.c", "ring_write(ring, 4)", "ring->thrown_away++")
			f["lib/ring.c"] = f["kernel/ring.c"]
			delete(f, "kernel/ring.c")
			return f
		}, MovedFile, "it stands in lib/ring.c:27", `path = "lib/ring.c"`},
		{"context", write, func(f map[string][]byte) map[string][]byte {
			return replace(t, f, "kernel/ring.c", "The oldest go first", "The newest go first")
		}, Context, "lines around it changed", "cite confirm ring-R1"},
		{"changed", write, func(f map[string][]byte) map[string][]byte {
			return replace(t, f, "kernel/ring.c", "ring->thrown_away++;", "ring->thrown_away += 1;")
		}, Changed, "nearest is line 27", "+ ring->thrown_away += 1;"},
		{"commented out", write, func(f map[string][]byte) map[string][]byte {
			return replace(t, f, "kernel/ring.c", "ring->thrown_away++;", "/* ring->thrown_away++; */")
		}, Changed, "in a comment or behind #if 0", "switched off"},
		{"ambiguous", write, func(f map[string][]byte) map[string][]byte {
			return replace(t, f, "kernel/ring.c", "\tring->thrown_away++;", "\tif (fast) ring->thrown_away++;\n\tring->thrown_away++;")
		}, Ambiguous, "stands twice in kernel/ring.c#ring_throw_away, expected once: line 27, 28", `anchor = "fast) ring->thrown_away++;"`},
		{"fewer than counted", "path = \"kernel/ring.c\"\nanchor = \"if (ring_full(ring)) {\"\ncount = 2", nil, Changed, "stands once in kernel/ring.c, expected twice", "count = 1"},
		{"gone: path", write, func(f map[string][]byte) map[string][]byte {
			f = replace(t, f, "kernel/ring.c", "ring", "ring") // a copy
			delete(f, "kernel/ring.c")
			return f
		}, Gone, "kernel/ring.c is not in 6.12.7", ""},
		{"gone: symbol", write, func(f map[string][]byte) map[string][]byte {
			return replace(t, f, "kernel/ring.c", string(f["kernel/ring.c"]), "int x;\n")
		}, Gone, "has no ring_throw_away", ""},
		{"gone: nothing like it", loose, func(f map[string][]byte) map[string][]byte {
			return replace(t, f, "kernel/ring.c", string(f["kernel/ring.c"]), "int x;\n")
		}, Gone, "neither the anchor nor ring_full", ""},
		{"not in range", write + "\nsince = \"6.13\"\npath2 = 0", nil, NotInRange, "", ""},
		{"range contradicted", write + "\nsince = \"6.13\"", nil, OutOfRange, "declared since 6.13, but 6.12.7 has it too, on line 27", "since or until"},
		{"until contradicted", write + "\nuntil = \"6.11\"", nil, OutOfRange, "declared until 6.11", ""},
		{"in range to the precision written", write + "\nsince = \"6.12\"\nuntil = \"6.12\"", nil, OK, "", ""},
		{"elsewhere in this version", write + "\n[[references.in]]\nversions = \">=6.12\"\npath = \"Documentation/ring.rst\"\nsymbol = \"\"\nanchor = \"throws the oldest away\"", nil, OK, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			record := strings.Replace(tt.record, "\npath2 = 0", "", 1)
			base := files
			if tt.name == "not in range" {
				base = replace(t, files, "kernel/ring.c", "ring->thrown_away++;", "x();")
			}
			s := oneSet(t, ref(1, record))
			lock := runCheck(t, s, nil, MemoryTree("small", Version{}, base)).Sets[0].Update(UpdateOptions{})
			edited := base
			if tt.edit != nil {
				edited = tt.edit(base)
			}
			r := runCheck(t, s, lock, MemoryTree("small", Version{}, edited))
			f := r.Record("ring-R1").Findings[0]
			if f.State != tt.state || !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Proposal, tt.proposal) {
				t.Errorf("state %s: %q, proposal %q\nwant %s: %q, proposal %q", f.State, f.Message, f.Proposal, tt.state, tt.message, tt.proposal)
			}
			want := Passed
			switch {
			case tt.state == NotInRange:
				want = Undecided // nothing was checked
			case tt.state.Severity() == Error:
				want = Broken
			}
			if r.Outcome() != want {
				t.Errorf("outcome %d, want %d", r.Outcome(), want)
			}
		})
	}
}

// What cannot be looked up is neither gone nor ok.
func TestUnresolved(t *testing.T) {
	files := small(t)
	s := oneSet(t, ref(1, "path = \"mm/slub.c\"\nanchor = \"nobody knows this\""))
	if f := runCheck(t, s, nil, MemoryTree("whole", Version{}, files)).Record("ring-R1").Findings[0]; f.State != Gone {
		t.Errorf("in a whole tree: %s, want gone", f.State)
	}
	delete(files, "MAINTAINERS")
	r := runCheck(t, s, nil, MemoryTree("part", Version{}, files))
	if f := r.Record("ring-R1").Findings[0]; f.State != Unresolved || !strings.Contains(f.Message, "no folder mm") {
		t.Errorf("in a part of a tree: %s %q, want unresolved", f.State, f.Message)
	}
	if r.Outcome() != Undecided {
		t.Errorf("outcome %d, want undecided", r.Outcome())
	}
	delete(files, "Makefile")
	r = runCheck(t, s, nil, MemoryTree("none", Version{}, files))
	if r.Outcome() != Undecided || r.Counts.Checked != 0 || r.Counts.Unresolved != 1 {
		t.Errorf("without a Makefile: outcome %d, %s", r.Outcome(), r.Counts)
	}
}

// The proposal for an ambiguous anchor is unique in fact, whatever the file.
func TestAmbiguousProposalIsUnique(t *testing.T) {
	src := "void f(void)\n{\n\tcount_them(&a->first, 1);\n\tcount_them(&a->first, 2);\n\tif (x) count_them(&a->first, 2);\n}\n"
	files := map[string][]byte{"Makefile": small(t)["Makefile"], "x.c": []byte(src)}
	s := oneSet(t, ref(1, "path = \"x.c\"\nanchor = \"count_them(&a->first\""))
	f := runCheck(t, s, nil, MemoryTree("small", Version{}, files)).Record("ring-R1").Findings[0]
	if f.State != Ambiguous {
		t.Fatal(f.State)
	}
	n := 0
	for line := range strings.Lines(f.Proposal) {
		_, q, ok := strings.Cut(strings.TrimSpace(line), `anchor = "`)
		if !ok {
			continue
		}
		n++
		if a := strings.TrimSuffix(q, `"`); strings.Count(src, a) != 1 {
			t.Errorf("%q stands %d times", a, strings.Count(src, a))
		}
	}
	if n != 2 { // line 4 has no unique part
		t.Errorf("%d anchors are proposed, want 2: %s", n, f.Proposal)
	}
	if !strings.Contains(f.Proposal, `"count_them(&a->first, 1"`) {
		t.Errorf("not the shortest: %s", f.Proposal)
	}
}

func TestGoneNamesLastVersion(t *testing.T) {
	files := small(t)
	old := replace(t, files, "Makefile", "SUBLEVEL = 7", "SUBLEVEL = 3")
	now := replace(t, files, "kernel/ring.c", string(files["kernel/ring.c"]), "int x;\n")
	s := oneSet(t, ref(1, "path = \"kernel/ring.c\"\nsymbol = \"ring_full\"\nanchor = \"return ring->written > 100;\""))
	r := runCheck(t, s, nil, MemoryTree("now", Version{}, now), MemoryTree("old", Version{}, old))
	f := r.Record("ring-R1").In("6.12.7")
	if f.State != Gone || !strings.Contains(f.Message, "6.12.3 has it, on line 15 of kernel/ring.c") {
		t.Errorf("%s: %s", f.State, f.Message)
	}
}

func TestContextDifference(t *testing.T) {
	files := small(t)
	s := oneSet(t, ref(1, "path = \"kernel/ring.c\"\nsymbol = \"ring_full\"\nanchor = \"return ring->written > 100;\""))
	lock := runCheck(t, s, nil, MemoryTree("x", Version{}, files)).Sets[0].Update(UpdateOptions{})
	edited := replace(t, files, "kernel/ring.c", "static int ring_full", "static bool ring_full")
	other := replace(t, files, "Makefile", "SUBLEVEL = 7", "SUBLEVEL = 3")
	r := runCheck(t, s, lock, MemoryTree("x", Version{}, edited), MemoryTree("y", Version{}, other))
	f := r.Record("ring-R1").In("6.12.7")
	if f.State != Context || !strings.Contains(f.Proposal, "- static int ring_full(struct ring *ring)\n+ static bool ring_full(struct ring *ring)") {
		t.Errorf("%s: %s", f.State, f.Proposal)
	}
}

func TestFewerAndNothing(t *testing.T) {
	files := small(t)
	two := oneSet(t, ref(1, "path = \"kernel/ring.c\"\nanchor = \"return ring->written > 100;\"")+ref(2, "path = \"kernel/ring.c\"\nanchor = \"ring->thrown_away++;\""))
	lock := runCheck(t, two, nil, MemoryTree("x", Version{}, files)).Sets[0].Update(UpdateOptions{})
	one := oneSet(t, ref(1, "path = \"kernel/ring.c\"\nanchor = \"return ring->written > 100;\""))
	r := runCheck(t, one, lock, MemoryTree("x", Version{}, files))
	n := 0
	for _, p := range r.Problems {
		if p.State == Fewer {
			n++
		}
	}
	if n != 2 || r.Outcome() != Undecided { // of all, and in the version
		t.Errorf("%d problems, outcome %d: %+v", n, r.Outcome(), r.Problems)
	}
	if l := r.Sets[0].Update(UpdateOptions{}); l.References != 2 || l.Trees["6.12.7"].Checked != 2 {
		t.Errorf("an update alone lowered the numbers: %s", l.Encode())
	}
	if l := r.Sets[0].Update(UpdateOptions{Fewer: true}); l.References != 1 || l.Trees["6.12.7"].Checked != 1 {
		t.Errorf("the numbers were to fall: %s", l.Encode())
	}
	none := oneSet(t, "")
	if r := runCheck(t, none, nil, MemoryTree("x", Version{}, files)); r.Outcome() != Undecided || r.Problems[0].State != Nothing {
		t.Errorf("no citation: outcome %d, %+v", r.Outcome(), r.Problems)
	}
}
