package citations

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestVersions(t *testing.T) {
	order := []string{"5.10.262", "6.1", "6.12-rc3", "6.12", "6.12.7", "7.2.13"}
	for i, a := range order {
		for j, b := range order {
			x, err1 := ParseVersion(a)
			y, err2 := ParseVersion("v" + b)
			if err1 != nil || err2 != nil || x.String() != a {
				t.Fatal(a, b, err1, err2, x)
			}
			if c := x.Compare(y); (c < 0) != (i < j) || (c == 0) != (i == j) {
				t.Errorf("%s and %s compare as %d", a, b, c)
			}
		}
	}
	for _, s := range []string{"", "six", "6.", "6.1.2.3", "6.1 ", "-6", "6.1;rm"} {
		if v, err := ParseVersion(s); err == nil && s != "6.1 " {
			t.Errorf("%q is %s", s, v)
		}
	}
	if v, _ := ParseVersion("6.12.0"); v.String() != "6.12" {
		t.Errorf("6.12.0 is tagged %s", v)
	}
}

func TestRanges(t *testing.T) {
	for _, tt := range []struct {
		rng, version string
		holds        bool
	}{
		{"", "1.0", true}, {"<6.8", "6.7.12", true}, {"<6.8", "6.8", false}, {"<6.8", "6.8.1", false}, {"<=6.8", "6.8.1", true},
		{">6.8", "6.8.1", false}, {">6.8", "6.9", true}, {">=6.8", "6.8", true}, {"6.12", "6.12.117", true}, {"=6.12", "6.1", false},
		{">=5.10 <6.8", "6.1.192", true}, {">=5.10, <6.8", "6.12", false}, {"<6 || 7.2", "7.2.13", true}, {"<6||7.2", "6.12", false},
		{">= 6.8", "6.8.2", true}, {"6.12.117", "6.12.117", true}, {"6.12.117", "6.12.116", false}, {"<6.12", "6.12-rc3", false},
	} {
		r, err := ParseRange(tt.rng)
		v, verr := ParseVersion(tt.version)
		if err != nil || verr != nil || r.Holds(v) != tt.holds {
			t.Errorf("%q holds %s: %v, want %v (%v)", tt.rng, tt.version, r.Holds(v), tt.holds, err)
		}
	}
	for _, s := range []string{"~6", "<", "6.1 ||", "=>6", "before 6"} {
		if _, err := ParseRange(s); err == nil {
			t.Errorf("%q is read", s)
		}
	}
}

func TestMakefileVersion(t *testing.T) {
	v, err := makefileVersion([]byte("# x\nVERSION = 6\nPATCHLEVEL = 13\nSUBLEVEL = 0\nEXTRAVERSION = -rc2\n"))
	if err != nil || v.String() != "6.13-rc2" {
		t.Errorf("%s, %v", v, err)
	}
	for _, s := range []string{"", "VERSION = 6\n", "VERSION = x\nPATCHLEVEL = 1\nSUBLEVEL = 1\n", strings.Repeat("\n", 41) + "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 1\n"} {
		if v, err := makefileVersion([]byte(s)); err == nil {
			t.Errorf("%q is %s", s, v)
		}
	}
}

func TestLockRoundTrip(t *testing.T) {
	s := smallSet(t)
	r := runCheck(t, s, nil, MemoryTree("m", Version{}, small(t)))
	l := r.Sets[0].Update(UpdateOptions{})
	l.Confirmations = []Confirmation{{ID: "ring-R1", Version: "6.12.7", From: "a", To: "b", Reason: "it says \"so\"\nstill"}}
	e := l.Records["ring-R1"].At["6.12.7"]
	e.Lines, e.Others, e.Comment = []int{3, 9}, 2, true
	l.Records["ring-R1"].At["6.12.7"] = e
	l.Records["ring-A1"].At["7.0"] = LockEntry{Found: []string{}}
	l.Records["ring-R2"].At["7.0"] = LockEntry{Path: "x", Unconfirmed: true, Imported: true}
	got, err := ParseLock("x.lock.toml", l.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, l) || !bytes.Equal(got.Encode(), l.Encode()) {
		t.Errorf("got\n%s\nwant\n%s", got.Encode(), l.Encode())
	}
	for _, bad := range []string{"", "schema = 1", "schema = 2\nradius = 3\nother = 1", "schema = 2\nradius = 3\n[records.a]\n\"6.1\" = 3",
		"schema = 2\nradius = 3\n[records.a]\n\"6.1\" = { line = -1 }", "schema = 2\nradius = 3\nreferences = -1"} {
		if _, err := ParseLock("x", []byte(bad)); err == nil {
			t.Errorf("%q is read as a lock", bad)
		}
	}
}

// The lock of a tree passes --locked; every change of it does not.
func TestLocked(t *testing.T) {
	s, tree := smallSet(t), func() *Tree { return MemoryTree("m", Version{}, small(t)) }
	lock := runCheck(t, s, nil, tree()).Sets[0].Update(UpdateOptions{})
	check := func(l *Lock) []Problem {
		r, err := Check(context.Background(), []*Set{s}, []*Tree{tree()}, Options{Locked: true, Locks: map[string]*Lock{"ring": l}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Problems
	}
	if p := check(lock); len(p) != 0 {
		t.Errorf("a fresh lock: %+v", p)
	}
	for name, edit := range map[string]func(*Lock){
		"line": func(l *Lock) {
			e := l.Records["ring-R1"].At["6.12.7"]
			e.Lines = []int{3}
			l.Records["ring-R1"].At["6.12.7"] = e
		},
		"no entry": func(l *Lock) { delete(l.Records, "ring-R2") },
		"blob":     func(l *Lock) { l.Trees["6.12.7"].Files["kernel/ring.c"] = "x" },
		"found": func(l *Lock) {
			e := l.Records["ring-A1"].At["6.12.7"]
			e.Found = []string{}
			l.Records["ring-A1"].At["6.12.7"] = e
		},
		"numbers":  func(l *Lock) { l.References = 1 },
		"a record": func(l *Lock) { l.Records["ring-R1"].Digest = "00000000" },
		"a further": func(l *Lock) {
			l.Records["ring-R9"] = &LockRecord{Digest: "1", At: map[string]LockEntry{"6.12.7": {Path: "x"}}}
		},
	} {
		l, err := ParseLock("x", lock.Encode())
		if err != nil {
			t.Fatal(err)
		}
		edit(l)
		if p := check(l); len(p) == 0 || p[0].Severity != Error {
			t.Errorf("%s changed, and --locked passes: %+v", name, p)
		}
	}
	if p := check(nil); len(p) == 0 {
		t.Error("no lock, and --locked passes")
	}
}

// A version is added by a bump alone, which keeps what a person has read.
func TestBumpAndConfirm(t *testing.T) {
	s := smallSet(t)
	old := small(t)
	now := replace(t, replace(t, old, "kernel/ring.c", "The oldest go first", "The newest go first"), "Makefile", "SUBLEVEL = 7", "SUBLEVEL = 9")
	now = replace(t, now, "Documentation/ring.rst", "The ring\n", "\nThe ring\n")
	lock := runCheck(t, s, nil, MemoryTree("old", Version{}, old)).Sets[0].Update(UpdateOptions{})
	trees := func() []*Tree { return []*Tree{MemoryTree("old", Version{}, old), MemoryTree("new", Version{}, now)} }

	r := runCheck(t, s, lock, trees()...)
	if l := r.Sets[0].Update(UpdateOptions{}); !bytes.Equal(l.Encode(), lock.Encode()) {
		t.Errorf("an update alone added a version:\n%s", l.Encode())
	}
	groups := r.Sets[0].Bump("6.12.7", "6.12.9")
	var got []string
	for _, g := range groups {
		for _, f := range g.Findings {
			got = append(got, string(g.State)+" "+f.ID)
		}
	}
	if want := []string{"ok ring-A1", "moved ring-R2", "context ring-R1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
	for _, g := range groups {
		if g.State == Context && !strings.Contains(g.Findings[0].Proposal, "+     /* The newest go first. */") {
			t.Errorf("no difference: %q", g.Findings[0].Proposal)
		}
	}
	bumped := r.Sets[0].Update(UpdateOptions{Bump: "6.12.9", From: "6.12.7"})
	r = runCheck(t, s, bumped, trees()...)
	if f := r.Record("ring-R1").In("6.12.9"); f.State != Context {
		t.Errorf("after the bump: %s", f.State)
	}
	if _, _, err := r.Sets[0].Confirm("ring-R1", " "); err == nil {
		t.Error("confirmed without a reason")
	}
	if _, _, err := r.Sets[0].Confirm("ring-R2", "read"); err == nil {
		t.Error("confirmed what had not changed")
	}
	confirmed, done, err := r.Sets[0].Confirm("ring-R1", "the comment alone changed")
	if err != nil || len(done) != 1 {
		t.Fatal(err, done)
	}
	r = runCheck(t, s, confirmed, trees()...)
	if r.Outcome() != Passed || confirmed.Confirmations[0].Reason != "the comment alone changed" {
		t.Errorf("after the confirmation: %+v", r.Problems)
	}
	broken := replace(t, now, "kernel/ring.c", "ring->thrown_away++;", "ring->thrown_away--;")
	r = runCheck(t, s, confirmed, MemoryTree("new", Version{}, broken))
	if _, _, err := r.Sets[0].Confirm("ring-R1", "read"); err == nil || !strings.Contains(err.Error(), "which no confirmation mends") {
		t.Errorf("confirmed what is changed: %v", err)
	}
}

func TestPins(t *testing.T) {
	ctx := context.Background()
	s := smallSet(t)
	file := save(t, "t.tar.zst", compress(t, "zst", tarOf(t, smallEntries(t, "linux/"))))
	tree := OpenTree(ctx, file, TreeOptions{})
	lock := runCheck(t, s, nil, tree).Sets[0].Update(UpdateOptions{})
	repo := gitRepo(t, small(t))
	commit := git(t, repo, "rev-parse", "HEAD")
	conf := func(hash, commit string) *Pins {
		p, err := ParsePins("ringaudit.toml", []byte("[citations]\n[[citations.trees]]\nversion = \"6.12.7\"\nsha256 = \""+hash+"\"\ncommit = \""+commit+"\"\n"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var extract bytes.Buffer
	if _, err := Extract(ctx, &extract, OpenTree(ctx, file, TreeOptions{}), []*Set{s}); err != nil {
		t.Fatal(err)
	}
	ext := save(t, "e.tar.zst", extract.Bytes())
	zero, other := strings.Repeat("0", 64), strings.Repeat("0", 40)
	dir := filepath.Join("testdata", "small")
	changed := t.TempDir()
	for name, data := range replace(t, small(t), "kernel/ring.c", "The oldest go first", "The newest go first") {
		f := filepath.Join(changed, filepath.FromSlash(name))
		os.MkdirAll(filepath.Dir(f), 0o755)
		os.WriteFile(f, data, 0o644)
	}
	for _, tt := range []struct {
		name, spec string
		pins       *Pins
		lock       *Lock
		want       string // part of the error; empty: accepted
	}{
		{"archive", file, conf(tree.SHA256, commit), lock, ""},
		{"another archive", file, conf(zero, commit), lock, "pins 000000000000"},
		{"extract of it", ext, conf(tree.SHA256, commit), lock, ""},
		{"extract of another", ext, conf(zero, commit), lock, "an extract of something else"},
		{"commit", repo + "@v6.12", conf(zero, commit), lock, ""},
		{"another commit", repo + "@v6.12", conf(zero, other), lock, "pins 000000000000"},
		{"folder, by the files of the lock", dir, conf(zero, commit), lock, ""},
		{"folder without a lock", dir, conf(zero, commit), nil, "has no hash to compare"},
		{"folder with another file", changed, conf(zero, commit), lock, "its kernel/ring.c is not that of the pinned 6.12.7"},
	} {
		x := OpenTree(ctx, tt.spec, TreeOptions{})
		locks := map[string]*Lock{}
		if tt.lock != nil {
			locks["ring"] = tt.lock
		}
		r, err := Check(ctx, []*Set{s}, []*Tree{x}, Options{Pins: tt.pins, Locks: locks})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case tt.want == "" && (x.Err() != nil || r.Outcome() != Passed):
			t.Errorf("%s: %v %+v", tt.name, x.Err(), r.Problems)
		case tt.want != "" && (x.Err() == nil || !strings.Contains(x.Err().Error(), tt.want) || r.Outcome() != Undecided):
			t.Errorf("%s: error %v, outcome %d, want %q", tt.name, x.Err(), r.Outcome(), tt.want)
		}
	}
	p := conf(zero, commit)
	p.Trees[0].Version = "6.1.2"
	x := OpenTree(ctx, file, TreeOptions{})
	if r, _ := Check(ctx, []*Set{s}, []*Tree{x}, Options{Pins: p}); x.Err() == nil || r.Outcome() != Undecided {
		t.Errorf("a version that is not pinned: %v", x.Err())
	}
	for _, bad := range []string{"[citations]\nunknown = 1", "[citations]\npermalink = \"ftp://x/{path}\"", "[[citations.trees]]\nversion = \"6.1\"",
		"[[citations.trees]]\nversion = \"6.1\"\nsha256 = \"abc\"", "[[citations.trees]]\nsha256 = \"" + zero + "\"", "[citations"} {
		if _, err := ParsePins("x", []byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	if p, err := ParsePins("x", []byte("[audit]\nx = 1")); p != nil || err != nil {
		t.Error("a configuration without [citations] has pins", p, err)
	}
}

func TestBaseline(t *testing.T) {
	files := small(t)
	s := oneSet(t, ref(1, "path = \"kernel/ring.c\"\nanchor = \"there is no such line\"")+ref(2, "path = \"kernel/ring.c\"\nanchor = \"ring->thrown_away++;\""))
	today := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	fresh := func() *Result { return runCheck(t, s, nil, MemoryTree("m", Version{}, files)) }
	b := NewBaseline("b.toml", fresh(), "to be written anew", today.AddDate(0, 1, 0))
	b, err := ParseBaseline("b.toml", b.Encode())
	if err != nil || len(b.Entries) != 1 || b.Entries[0].ID != "ring-R1" || b.Entries[0].Document != "ring" {
		t.Fatalf("%v %s", err, b.Encode())
	}
	r := fresh()
	if b.Apply(r, today); r.Outcome() != Passed || r.Problems[0].Excused != "to be written anew" {
		t.Errorf("excused: %+v", r.Problems)
	}
	r = fresh()
	if b.Apply(r, today.AddDate(0, 1, 0)); r.Outcome() != Passed {
		t.Errorf("on its last day: %+v", r.Problems)
	}
	r = fresh()
	if b.Apply(r, today.AddDate(0, 1, 1)); r.Outcome() != Broken || !has(r, Expired) {
		t.Errorf("past its date: %+v", r.Problems)
	}
	b.Entries[0].Count = 2
	r = fresh()
	if b.Apply(r, today); r.Outcome() != Broken || !has(r, StaleEntry) {
		t.Errorf("counts too many: %+v", r.Problems)
	}
	if sh := b.Shrunk(r); sh.Entries[0].Count != 1 {
		t.Errorf("shrunk: %s", sh.Encode())
	}
	// The excuse is for what the record says now, in this version.
	other := oneSet(t, ref(1, "path = \"kernel/ring.c\"\nanchor = \"there is no other line\"")+ref(2, "path = \"kernel/ring.c\"\nanchor = \"ring->thrown_away++;\""))
	b.Entries[0].Count = 1
	r = runCheck(t, other, nil, MemoryTree("m", Version{}, files))
	if b.Apply(r, today); r.Outcome() != Broken || !has(r, StaleEntry) {
		t.Errorf("another record: %+v", r.Problems)
	}
	// An entry about a tree that is not in this run is left alone.
	b.Entries[0].Version = "6.1"
	r = runCheck(t, other, nil, MemoryTree("m", Version{}, files))
	if b.Apply(r, today); has(r, StaleEntry) {
		t.Errorf("an entry about another tree is stale: %+v", r.Problems)
	}
	key := strings.Repeat("a", 16)
	for _, bad := range []string{"", "schema = 1\n[[baseline]]\nkey = \"" + key + "\"\nreason = \"\"\nexpires = \"2027-01-01\"", "schema = 1\n[[baseline]]\nkey = \"" + key + "\"\nreason = \"x\"",
		"schema = 1\n[[baseline]]\nkey = \"" + key + "\"\nreason = \"x\"\nexpires = \"soon\"", "schema = 1\n[[baseline]]\nkey = \"x\"\nreason = \"x\"\nexpires = \"2027-01-01\"",
		"schema = 1\n[[baseline]]\nkey = \"" + key + "\"\nreason = \"x\"\nexpires = \"2027-01-01\"\ncount = 0"} {
		if _, err := ParseBaseline("x", []byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func has(r *Result, s State) bool {
	for _, p := range r.Problems {
		if p.State == s {
			return true
		}
	}
	return false
}

// What the other files of a document may hold: an error or a value, and what is
// written is read back the same.
func FuzzFiles(f *testing.F) {
	f.Add([]byte("schema = 2\nradius = 3\nreferences = 1\n[trees.\"6.1\"]\nchecked = 1\n[records.ring-R1]\nrecord = \"1\"\n\"6.1\" = { path = \"a\", lines = [1, 2], found = [] }\n"))
	f.Add([]byte("schema = 2\nradius = 3\n[records.\"a b\"]\nrecord = \"1\"\n\"6.1\" = { line = 1 }\n"))
	f.Add([]byte("schema = 1\n[[baseline]]\nkey = \"aaaaaaaaaaaaaaaa\"\nreason = \"x\"\nexpires = \"2027-01-01\"\n"))
	f.Add([]byte("[citations]\ndocuments = [\"a\"]\n[[citations.trees]]\nversion = \"6.1\"\ncommit = \"" + strings.Repeat("0", 40) + "\"\n"))
	f.Add([]byte("schema = 1\n[[references]]\nid = \"ring-R1\"\npath = \"a\"\nanchor = \"ring->thrown_away++;\"\nkernel = \"6.1\"\nconfirmed = true\nline = 3\ncontext = \"0123456789ab\"\n"))
	f.Add([]byte("schema = \"ringaudit.extract/v1\"\nversion = \"6.1\"\n[files]\n\"a\" = \"b\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := ParseLock("x", data); err == nil {
			again, err := ParseLock("x", l.Encode())
			if err != nil || !bytes.Equal(again.Encode(), l.Encode()) {
				t.Fatalf("%v\n%s", err, l.Encode())
			}
		}
		if b, err := ParseBaseline("x", data); err == nil {
			if again, err := ParseBaseline("x", b.Encode()); err != nil || len(again.Entries) != len(b.Entries) {
				t.Fatalf("%v\n%s", err, b.Encode())
			}
		}
		ParsePins("x", data)
		makefileVersion(data)
		readManifest(bytes.NewReader(data), int64(len(data)))
		if refs, lock, err := Import("ring", "x", data); err == nil {
			if s, err := ParseSet("ring", "x", refs); err != nil || len(s.References) != lock.References {
				t.Fatalf("%v\n%s", err, refs)
			}
		}
	})
}
