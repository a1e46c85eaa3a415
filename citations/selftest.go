package citations

import (
	"bytes"
	"context"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// SelfTest is what became of edits that must not pass.
type SelfTest struct {
	Mutations []Mutation
	// Untested are the records that are not ok to begin with, "id in version".
	Untested []string
}

// Mutation is one edit of one file of one tree, in memory, and what the gate
// said of it.
type Mutation struct {
	ID, Version, Edit string
	Want              []State
	Got               State
	// Skipped says why the edit cannot be made here; then it counts as nothing.
	Skipped string
	Message string
}

// Caught tells whether the gate said what it had to.
func (m Mutation) Caught() bool { return slices.Contains(m.Want, m.Got) }

// Totals counts the mutations that were tried, caught and skipped.
func (s *SelfTest) Totals() (tried, caught, skipped int) {
	for _, m := range s.Mutations {
		switch {
		case m.Skipped != "":
			skipped++
		case m.Caught():
			caught++
			tried++
		default:
			tried++
		}
	}
	return tried, caught, skipped
}

// RunSelfTest proves that the gate sees what it is there to see: for each
// record that is ok it edits a copy of the tree, in memory, in every way that
// must not pass, and asks for the right state.
func RunSelfTest(ctx context.Context, sets []*Set, trees []*Tree, opts Options) (*SelfTest, *Result, error) {
	opts.Locks, opts.Locked = nil, false
	res, err := Check(ctx, sets, trees, opts)
	if err != nil {
		return nil, nil, err
	}
	st := &SelfTest{}
	type job struct {
		set  *Set
		lock *Lock
		rec  Record
		f    *Finding
	}
	var jobs []job
	for _, sr := range res.Sets {
		lock := sr.Update(UpdateOptions{})
		for _, rec := range sr.Records {
			for _, f := range rec.Findings {
				switch {
				case f.State == OK:
					jobs = append(jobs, job{sr.Set, lock, rec.Record, f})
				case f.State != NotInRange:
					st.Untested = append(st.Untested, rec.Record.RecordID()+" in "+f.Tree.Name())
				}
			}
		}
	}
	results := make([][]Mutation, len(jobs))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				j := jobs[i]
				results[i] = mutate(ctx, j.set, j.lock, j.rec, j.f)
			}
		}()
	}
	for i := range jobs {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	for _, r := range results {
		st.Mutations = append(st.Mutations, r...)
	}
	return st, res, ctx.Err()
}

// mutant is a tree with one file edited.
type mutant struct {
	ctx  context.Context
	set  *Set
	lock *Lock
	rec  Record
	f    *Finding
	out  []Mutation
}

func mutate(ctx context.Context, set *Set, lock *Lock, rec Record, f *Finding) []Mutation {
	m := &mutant{ctx: ctx, set: set, lock: lock, rec: rec, f: f}
	switch r := rec.(type) {
	case *Reference:
		m.reference(r)
	case *Assertion:
		m.assertion(r.At(f.Tree.Version))
	}
	return m.out
}

func (m *mutant) skip(edit, why string) {
	m.out = append(m.out, Mutation{ID: m.rec.RecordID(), Version: m.f.Tree.Version.String(), Edit: edit, Skipped: why})
}

// try checks the record alone in a copy of the tree in which file from is data
// under the name to; an empty to removes it.
func (m *mutant) try(edit, from, to string, data []byte, want ...State) {
	t := m.f.Tree
	files := make(map[string]*File, len(t.files))
	for name, f := range t.files {
		if name != from {
			files[name] = f
		}
	}
	if to != "" {
		files[to] = newFile(to, data)
	}
	copyOf := &Tree{Spec: t.Spec, Kind: "memory", Version: t.Version, files: files, dirs: t.dirs, whole: true, src: loadedSource(files)}
	sr := &SetResult{Set: m.set, Lock: m.lock, Records: []*RecordResult{{Record: m.rec, Findings: make([]*Finding, 1)}}}
	res := &Result{Trees: []*Tree{copyOf}, Sets: []*SetResult{sr}}
	x := Mutation{ID: m.rec.RecordID(), Version: t.Version.String(), Edit: edit, Want: want}
	if err := resolveTree(m.ctx, res, 0, copyOf, Options{}); err != nil {
		x.Message = err.Error()
	} else {
		x.Got, x.Message = sr.Records[0].Findings[0].State, sr.Records[0].Findings[0].Message
	}
	m.out = append(m.out, x)
}

// loadedSource searches the files that are loaded already.
type loadedSource map[string]*File

func (l loadedSource) read(context.Context, *need, *found) error { return nil }

func (l loadedSource) scan(_ context.Context, visit func(string, []byte)) error {
	for _, name := range sortedKeys(l) {
		visit(name, l[name].data)
	}
	return nil
}

// editor changes a file by lines, counted from 1.
type editor struct {
	lines [][]byte
}

func edit(data []byte) *editor { return &editor{bytes.SplitAfter(data, []byte("\n"))} }

func (e *editor) bytes() []byte { return bytes.Join(e.lines, nil) }

func (e *editor) line(n int) string { return strings.TrimRight(string(e.lines[n-1]), "\r\n") }

func (e *editor) set(n int, text string) { e.lines[n-1] = []byte(text + "\n") }

func (e *editor) remove(ns []int) {
	for _, n := range ns {
		e.lines[n-1] = nil
	}
}

func (e *editor) insertAfter(n int, text string) {
	e.lines[n-1] = append(bytes.Clone(e.lines[n-1]), text+"\n"...)
}

func (m *mutant) reference(r *Reference) {
	at := r.At(m.f.Tree.Version)
	f := m.f.Tree.files[at.Path]
	lines := m.f.Entry.Lines
	anchor := Fold(at.Anchor)
	elsewhere := false
	for name, g := range m.f.Tree.files {
		elsewhere = elsewhere || name != at.Path && len(g.find([]string{anchor})[anchor]) > 0
	}

	e := edit(f.data)
	e.remove(lines)
	want := []State{Changed, Gone}
	if elsewhere {
		want = append(want, MovedFile)
	}
	m.try("delete the anchor", at.Path, at.Path, e.bytes(), want...)

	e = edit(f.data)
	e.insertAfter(lines[0], e.line(lines[0]))
	m.try("double the anchor", at.Path, at.Path, e.bytes(), Ambiguous)

	m.move(at, f, lines)

	dir, base := path.Split(at.Path)
	m.try("rename the file", at.Path, dir+"renamed-"+base, f.data, MovedFile)
	m.try("remove the file", at.Path, "", nil, removedStates(elsewhere)...)

	m.context(at, f, lines)
	m.commentOut(at, f, lines, anchor)
}

func removedStates(elsewhere bool) []State {
	if elsewhere {
		return []State{MovedFile, Gone}
	}
	return []State{Gone}
}

// move takes the anchor's lines out and puts them into another function.
func (m *mutant) move(at Alternative, f *File, lines []int) {
	const what = "move the anchor to another function"
	open := f.otherBody(func(s *Symbol) bool {
		if at.Symbol != "" && s.is(at.Symbol) || s.Name == m.f.Entry.Symbol {
			return false
		}
		for _, n := range lines {
			if n >= s.First && n <= s.Last {
				return false
			}
		}
		return true
	})
	if open == 0 {
		m.skip(what, "the file has no other function")
		return
	}
	e := edit(f.data)
	var text []string
	for _, n := range lines {
		text = append(text, strings.TrimSuffix(e.line(n), `\`))
	}
	e.insertAfter(open, strings.Join(text, "\n"))
	e.remove(lines)
	want := []State{MovedSymbol}
	if s := f.parse().enclosing(lines[0]); s != nil && s.Kind == "macro" && lines[0] == s.First {
		want = append(want, Context) // a #define is its own symbol wherever it stands
	}
	m.try(what, at.Path, at.Path, e.bytes(), want...)
}

// otherBody is the line of the opening brace of a function that ok accepts, 0 if
// there is none. The brace must end its line.
func (f *File) otherBody(ok func(*Symbol) bool) int {
	c := f.parse()
	for i := range c.syms {
		s := &c.syms[i]
		if s.Kind != "function" && s.Kind != "generated" || s.Last-s.First < 2 || !ok(s) {
			continue
		}
		if n := c.bodyLine(s); n > 0 && c.symbolAt(n) == s.Name && c.symbolAt(n+1) == s.Name {
			return n
		}
	}
	return 0
}

// bodyLine is the line of the opening brace of a symbol, 0 if it does not end
// its line.
func (c *code) bodyLine(s *Symbol) int {
	for n := s.First; n < s.Last; n++ {
		if l := c.folded.line(n); len(l) > 0 && l[len(l)-1] == '{' {
			return n
		} else if bytes.IndexByte(l, '{') >= 0 {
			return 0
		}
	}
	return 0
}

// context edits a line beside the anchor.
func (m *mutant) context(at Alternative, f *File, lines []int) {
	d := f.fold()
	e := edit(f.data)
	best := 0
	for dist := 1; dist <= ContextRadius; dist++ {
		for _, n := range []int{lines[0] - dist, lines[0] + dist} {
			if n < 1 || n > d.lines() || slices.Contains(lines, n) {
				continue
			}
			raw := e.line(n)
			calm := raw != "" && !strings.HasSuffix(raw, `\`) && !strings.ContainsAny(raw[:1], "{}#") && !strings.Contains(raw, "*/") && !strings.Contains(raw, "//")
			if best == 0 || calm {
				best = n
			}
			if calm {
				dist = ContextRadius
				break
			}
		}
	}
	if best == 0 {
		m.skip("edit the context", "the anchor is all of the file")
		return
	}
	raw := e.line(best)
	switch {
	case strings.HasSuffix(raw, `\`):
		e.set(best, strings.TrimSuffix(raw, `\`)+` /* ringaudit */ \`)
	case f.isC && !f.commentAt(best):
		e.set(best, raw+" /* ringaudit */")
	case strings.Contains(raw, "*/"):
		e.set(best, strings.Replace(raw, "*/", "ringaudit */", 1))
	default:
		e.set(best, raw+" ringaudit")
	}
	m.try("edit the context", at.Path, at.Path, e.bytes(), Context)
}

// commentAt tells whether the line holds a comment's text.
func (f *File) commentAt(n int) bool {
	return f.isC && !bytes.Equal(f.fold().line(n), f.parse().folded.line(n))
}

// commentOut makes a comment of lines that are code.
func (m *mutant) commentOut(at Alternative, f *File, lines []int, anchor string) {
	const what = "comment the line out"
	if m.f.Entry.Comment || !f.isC {
		m.skip(what, "it is no code")
		return
	}
	e := edit(f.data)
	for _, n := range lines {
		if !f.inCode(n, anchor) {
			continue
		}
		raw := e.line(n)
		switch {
		case strings.HasSuffix(raw, `\`):
			e.set(n, "/* "+strings.ReplaceAll(strings.TrimSuffix(raw, `\`), "*/", "")+` */ \`)
		case strings.Contains(raw, "/*"):
			// The comment that begins here may go on: keep it one.
			i := strings.Index(raw, "/*")
			e.set(n, "/* "+raw[:i]+"*/ "+raw[i:])
		default:
			e.set(n, "/* "+raw+" */")
		}
	}
	m.try(what, at.Path, at.Path, e.bytes(), Changed)

	e = edit(f.data)
	for _, n := range lines {
		if strings.HasSuffix(e.line(n), `\`) || n > 1 && strings.HasSuffix(e.line(n-1), `\`) {
			m.skip("switch the line off with #if 0", "it is part of a macro")
			return
		}
		if f.commentAt(n) {
			m.skip("switch the line off with #if 0", "a comment stands on it")
			return
		}
		e.set(n, "#if 0\n"+e.line(n)+"\n#endif")
	}
	m.try("switch the line off with #if 0", at.Path, at.Path, e.bytes(), Changed)
}
