package citations

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// Real trees, one for each version: Debian's sources, the tracing-related part.
var realVersions = []string{"5.10.262", "6.1.192", "6.12.117", "7.2.13"}

func realTrees(t testing.TB, versions ...string) (out []*Tree) {
	t.Helper()
	dir := fixtures.Trees(t)
	for _, v := range versions {
		out = append(out, OpenTree(context.Background(), filepath.Join(dir, "linux-"+v+"-tracing.tar.zst"), TreeOptions{}))
	}
	return out
}

// The claim of the best-known document of this kind: "has exactly one source".
// Every line that it quotes exists; the claim is false.
func TestFalseClaim(t *testing.T) {
	s := oneSet(t, ref(1, "path = \"kernel/trace/ring_buffer.c\"\nsymbol = \"rb_inc_iter\"\nanchor = \"iter->missed_events = -1;\"\nsince = \"7.2\"")+
		assertion("kind = \"only-setter\"\nscope = \"kernel/trace/ring_buffer.c\"\nsubject = \"iter->missed_events\"\nexpect = [\"rb_inc_iter\"]\nsince = \"7.2\"")+
		"[[assertions]]\nid = \"ring-A2\"\nkind = \"absent\"\nscope = \"kernel/trace/trace.c\"\nsubject = \"[LOST EVENTS]\"\n")
	r := runCheck(t, s, nil, realTrees(t, realVersions...)...)
	if f := r.Record("ring-R1").In("7.2.13"); f.State != OK {
		t.Errorf("the quoted line: %s %s", f.State, f.Message)
	}
	f := r.Record("ring-A1").In("7.2.13")
	if f.State != Refuted || !strings.Contains(f.Message, "rb_iter_head_event (line 3573 of kernel/trace/ring_buffer.c") {
		t.Errorf("only-setter: %s %s", f.State, f.Message)
	}
	if f.Related[0].Line != 3573 || f.Related[0].Symbol != "rb_iter_head_event" {
		t.Errorf("related: %+v", f.Related[0])
	}
	for _, v := range realVersions {
		if f := r.Record("ring-A2").In(v); f.State != Refuted {
			t.Errorf("absent in %s: %s", v, f.State)
		}
	}
	if r.Outcome() != Broken {
		t.Errorf("outcome %d", r.Outcome())
	}
}

func TestRangeContradicted(t *testing.T) {
	s := oneSet(t, ref(1, "path = \"kernel/trace/ring_buffer.c\"\nsymbol = \"rb_inc_iter\"\nanchor = \"iter->missed_events = -1;\"\nsince = \"6.12\"")+
		ref(2, "path = \"kernel/trace/ring_buffer.c\"\nsymbol = \"rb_iter_head_event\"\nanchor = \"iter->missed_events = 1;\"\nsince = \"6.1\""))
	r := runCheck(t, s, nil, realTrees(t, realVersions...)...)
	if f := r.Record("ring-R1").In("6.12.117"); f.State == OK || f.State == NotInRange {
		t.Errorf("6.12.117 is in the range and has no such line: %s", f.State)
	}
	if f := r.Record("ring-R2").In("5.10.262"); f.State != OutOfRange || !strings.Contains(f.Message, "declared since 6.1, but 5.10.262 has it too, on line 2348") {
		t.Errorf("%s %s", f.State, f.Message)
	}
}

// A file of schema 1 is checked as it is, and imported without loss.
func TestSchema1(t *testing.T) {
	file := filepath.Join("testdata", "schema1.refs.toml")
	s, err := LoadSet(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.References) != 20 || len(s.Problems) != 0 {
		t.Fatalf("%d references, %v", len(s.References), s.Problems)
	}
	data, _ := os.ReadFile(file)
	refs, lock, err := Import(s.Name, "new.refs.toml", data)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(refs), "\nline = ") || strings.Contains(string(refs), "context = ") || strings.Contains(string(refs), "confirmed = ") ||
		!strings.Contains(string(refs), "# as the published example has it") || !strings.HasPrefix(string(refs), "schema = 2\n") {
		t.Errorf("imported:\n%s", refs)
	}
	now, err := ParseSet(s.Name, "new.refs.toml", refs)
	if err != nil || len(now.Problems) != 0 {
		t.Fatal(err, now.Problems)
	}
	for i, a := range s.References {
		b := now.References[i]
		e, ok := lock.Entry(b.ID, "7.2.13")
		if a.ID != b.ID || a.Path != b.Path || a.Anchor != b.Anchor || a.Note != b.Note || !ok || e.Line() != a.LockedLine || e.Context != a.Context {
			t.Errorf("%+v became %+v and %+v", a, b, e)
		}
	}
	again, err := ParseLock("x", lock.Encode())
	if err != nil || !bytes.Equal(again.Encode(), lock.Encode()) {
		t.Errorf("lock: %v", err)
	}

	// Lines and contexts of the file were found with another program.
	tree := realTrees(t, "7.2.13")
	if r := runCheck(t, s, nil, tree...); r.Outcome() != Passed || r.Counts.Checked != 20 {
		t.Errorf("as it is: %s %+v", r.Counts, r.Problems)
	}
	r := runCheck(t, now, lock, realTrees(t, "7.2.13")...)
	if r.Outcome() != Passed || r.Counts.Checked != 20 {
		t.Errorf("imported: %s %+v", r.Counts, r.Problems)
	}
	for _, rec := range r.Sets[0].Records {
		if !rec.Findings[0].Locked || rec.Findings[0].State != OK {
			t.Errorf("%s: %s, locked %v", rec.Record.RecordID(), rec.Findings[0].State, rec.Findings[0].Locked)
		}
	}
	full := r.Sets[0].Update(UpdateOptions{})
	r, err = Check(context.Background(), []*Set{now}, realTrees(t, "7.2.13"), Options{Locked: true, Locks: map[string]*Lock{now.Name: full}})
	if err != nil || r.Outcome() != Passed {
		t.Errorf("after --fix: %v %+v", err, r.Problems)
	}
	// Another version has moved and changed lines, and says so.
	r = runCheck(t, s, nil, realTrees(t, "6.12.117")...)
	if !has(r, Moved) || r.Outcome() != Broken {
		t.Errorf("in 6.12.117: %+v", r.Problems)
	}
	for _, bad := range []string{"schema = 2\n", "schema = 1\nreferences = [{ id = \"ring-R1\", path = \"a\", anchor = \"long enough to be\", kernel = \"6.1\", confirmed = true, line = 3 }]\n",
		"schema = 1\n[[references]]\nid = \"x\"\n"} {
		if _, _, err := Import("ring", "x", []byte(bad)); err == nil {
			t.Errorf("%q is imported", bad)
		}
	}
}

// What the import keeps of records that nobody resolved, and of strings that
// look like keys.
func TestImportOddities(t *testing.T) {
	text := "schema = 1\n# about\n[[references]]\nid = \"ring-R1\"\npath = \"a/b.c\"\nanchor = \"a long enough anchor\"\nkernel = \"6.1.2\"\nconfirmed = false\nnote = \"\"\"\nline = 3\nkernel = \"x\"\n\"\"\"\n"
	refs, lock, err := Import("ring", "ring.refs.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(refs), "\"\"\"\nline = 3\nkernel = \"x\"\n\"\"\"") || strings.Contains(string(refs), "6.1.2") {
		t.Errorf("imported:\n%s", refs)
	}
	if e := lock.Records["ring-R1"].At["6.1.2"]; !e.Unconfirmed || len(e.Lines) != 0 {
		t.Errorf("lock: %s", lock.Encode())
	}
	if _, ok := lock.Entry("ring-R1", "6.1.2"); !ok {
		t.Error("the kernel was lost")
	}
}

// The small set that comes with the tests, in every form of every real tree.
func TestRealTreeForms(t *testing.T) {
	if testing.Short() {
		t.Skip("unpacks four trees")
	}
	ctx := context.Background()
	dir := fixtures.Trees(t)
	s, err := LoadSet(filepath.Join("testdata", "ring-buffer.refs.toml"))
	if err != nil {
		t.Fatal(err)
	}
	v := "6.12.117"
	want := lockText(t, s, realTrees(t, v)...)
	out := t.TempDir()
	archive := filepath.Join(dir, "linux-"+v+"-tracing.tar.zst")
	zst, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer zst.Close()
	files := make(map[string][]byte)
	a := &archiveFiles{files: files}
	src := OpenTree(ctx, archive, TreeOptions{}).src
	if err := src.read(ctx, &need{all: true}, &found{file: a.add, dir: func(string) {}, mark: func(string) {}}); err != nil {
		t.Fatal(err)
	}
	var entries []entry
	for _, name := range sortedKeys(files) {
		entries = append(entries, entry{name: "linux-" + v + "/" + name, body: string(files[name])})
	}
	plain := tarOf(t, entries)
	specs := map[string]string{
		"git":       gitRepo(t, files) + "@v6.12",
		"tar":       save(t, "t.tar", plain),
		"gz":        save(t, "t.tar.gz", compress(t, "gz", plain)),
		"directory": out,
	}
	if _, err := exec.LookPath("xz"); err == nil {
		cmd := exec.Command("xz", "-1", "--stdout", specs["tar"])
		data, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		specs["xz"] = save(t, "t.tar.xz", data)
	}
	for name, data := range files {
		f := filepath.Join(out, filepath.FromSlash(name))
		os.MkdirAll(filepath.Dir(f), 0o755)
		os.WriteFile(f, data, 0o644)
	}
	for name, spec := range specs {
		if got := lockText(t, s, OpenTree(ctx, spec, TreeOptions{})); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

type archiveFiles struct{ files map[string][]byte }

func (a *archiveFiles) add(name string, data []byte) error {
	a.files[name] = data
	return nil
}

// Lines are those that grep finds.
func TestAgainstGrep(t *testing.T) {
	grep, err := exec.LookPath("grep")
	if err != nil {
		t.Skip("needs grep")
	}
	s, err := LoadSet(filepath.Join("testdata", "ring-buffer.refs.toml"))
	if err != nil {
		t.Fatal(err)
	}
	trees := realTrees(t, realVersions...)
	r := runCheck(t, s, nil, trees...)
	n := 0
	for _, rec := range r.Sets[0].Records {
		x, ok := rec.Record.(*Reference)
		if !ok {
			continue
		}
		for _, f := range rec.Findings {
			if f.State != OK {
				continue
			}
			at := x.At(f.Tree.Version)
			cmd := exec.Command(grep, "-nF", "-e", at.Anchor)
			cmd.Stdin = bytes.NewReader(f.Tree.File(at.Path).data)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s in %s: %v", x.ID, f.Tree.Version, err)
			}
			var lines []int
			for l := range strings.Lines(string(out)) {
				num, _, _ := strings.Cut(l, ":")
				k, _ := strconv.Atoi(num)
				lines = append(lines, k)
			}
			if !slices.Contains(lines, f.Places[0].Line) || at.Symbol == "" && len(lines) != 1 {
				t.Errorf("%s in %s: line %d, grep has %v", x.ID, f.Tree.Version, f.Places[0].Line, lines)
			}
			n++
		}
	}
	if n < 40 {
		t.Errorf("%d were compared", n)
	}
}

// Every edit of every record is caught, in a real tree.
func TestSelfTestReal(t *testing.T) {
	s, err := LoadSet(filepath.Join("testdata", "ring-buffer.refs.toml"))
	if err != nil {
		t.Fatal(err)
	}
	st, r, err := RunSelfTest(context.Background(), []*Set{s}, realTrees(t, "5.10.262", "7.2.13"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome() != Passed || len(st.Untested) > 0 {
		t.Errorf("%v %+v", st.Untested, r.Problems)
	}
	for _, m := range st.Mutations {
		if m.Skipped == "" && !m.Caught() {
			t.Errorf("%s in %s: %s: got %s, want %v: %s", m.ID, m.Version, m.Edit, m.Got, m.Want, m.Message)
		}
	}
	if tried, _, _ := st.Totals(); tried < 150 {
		t.Errorf("%d edits were tried", tried)
	}
}

// The same on the small tree, which every machine has.
func TestSelfTestSmall(t *testing.T) {
	st, _, err := RunSelfTest(context.Background(), []*Set{smallSet(t)}, []*Tree{MemoryTree("m", Version{}, small(t))}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	edits := make(map[string]bool)
	for _, m := range st.Mutations {
		edits[m.Edit] = true
		if m.Skipped == "" && !m.Caught() {
			t.Errorf("%s: %s: got %s, want %v: %s", m.ID, m.Edit, m.Got, m.Want, m.Message)
		}
	}
	for _, e := range []string{"delete the anchor", "double the anchor", "move the anchor to another function", "rename the file", "edit the context", "comment the line out", "add a second setter"} {
		if !edits[e] {
			t.Errorf("no edit %q", e)
		}
	}
}

func TestBlame(t *testing.T) {
	files := small(t)
	repo := gitRepo(t, files)
	f := filepath.Join(repo, "kernel", "ring.c")
	os.WriteFile(f, bytes.Replace(files["kernel/ring.c"], []byte("ring->thrown_away++;"), []byte("ring->lost++;"), 1), 0o644)
	git(t, repo, "commit", "-q", "-a", "-m", "count as lost")
	s := smallSet(t)
	commits, err := Blame(context.Background(), OpenTree(context.Background(), repo+"@HEAD", TreeOptions{}), s.Record("ring-R1"), 5)
	if err != nil || len(commits) != 2 || commits[0].Subject != "count as lost" || commits[1].Subject != "tree" || !strings.HasPrefix(commits[1].Release, "v6.12") {
		t.Errorf("%v %+v", err, commits)
	}
	if _, err := Blame(context.Background(), MemoryTree("m", Version{}, files), s.Record("ring-R1"), 5); err == nil {
		t.Error("a tree without commits was blamed")
	}
}

func TestPermalink(t *testing.T) {
	v := "6.12.7"
	for _, tt := range []struct{ tmpl, want string }{
		{"", "https://git.kernel.org/pub/scm/linux/kernel/git/stable/linux.git/tree/kernel/trace/ring_buffer.c?h=v6.12.7#n12"},
		{"https://example.org/{version}/{path}#L{line}", "https://example.org/6.12.7/kernel/trace/ring_buffer.c#L12"},
	} {
		if got := Permalink(tt.tmpl, v, "kernel/trace/ring_buffer.c", 12); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
	if got := Permalink("", v, "a b/c#d.c", 0); got != "https://git.kernel.org/pub/scm/linux/kernel/git/stable/linux.git/tree/a%20b/c%23d.c?h=v6.12.7" {
		t.Error(got)
	}
	s := smallSet(t)
	l := runCheck(t, s, nil, MemoryTree("m", Version{}, small(t))).Sets[0].Update(UpdateOptions{})
	pins := &Pins{Trees: []Pin{{Version: v, Permalink: "https://example.org/{path}:{line}"}}}
	if got := l.Link("ring-R1", v, pins); got != "https://example.org/kernel/ring.c:27" {
		t.Error(got)
	}
	if got := l.Links("ring-A1", pins)[v]; got != "https://example.org/kernel/ring.c:28" {
		t.Error(got)
	}
	if got := l.Link("ring-R1", "5.4", pins); got != "" {
		t.Error(got)
	}
}
