package citations

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// site is a place that an assertion found.
type site struct {
	path   string
	file   *File
	line   int
	symbol string
	text   string
}

// evaluation is one assertion at work in one tree.
type evaluation struct {
	a     *Assertion
	tree  *Tree
	f     *Finding
	names []string // files of the scope, sorted
	sym   string   // symbol of the scope
	sites []site
}

// resolveAssertion evaluates a in the tree.
func resolveAssertion(a *Assertion, t *Tree, f *Finding, locked LockEntry) {
	if !a.rng.holds(t.Version) {
		f.State = NotInRange
		return
	}
	e := &evaluation{a: a, tree: t, f: f}
	if !e.open() {
		return
	}
	switch a.Kind {
	case OnlySetter:
		e.onlySetter()
	case Counted, Absent:
		e.counted()
	case Order:
		e.order()
	case Calls:
		e.calls()
	case GuardedBy:
		e.guardedBy()
	case Format:
		e.format()
	}
	e.finish()
}

// open finds the files of the scope. A scope that is not there proves nothing,
// least of all that something is absent from it.
func (e *evaluation) open() bool {
	file, sym := e.a.scope()
	e.sym = sym
	if strings.HasSuffix(file, "/") {
		e.names = e.tree.folder(file)
		if len(e.names) == 0 {
			e.f.State, e.f.Message = e.tree.lacks(file)
			return false
		}
		return true
	}
	f := e.tree.files[file]
	if f == nil {
		e.f.State, e.f.Message = e.tree.lacks(file)
		return false
	}
	e.names = []string{file}
	if sym != "" && len(f.parse().ranges(sym)) == 0 {
		e.f.State, e.f.Message = Gone, fmt.Sprintf("%s has no %s", file, sym)
		return false
	}
	return true
}

// each calls visit for every file of the scope with the lines that count: nil
// for all.
func (e *evaluation) each(visit func(name string, f *File, c *code, in func(line int) bool)) {
	for _, name := range e.names {
		f := e.tree.files[name]
		c := f.parse()
		in := func(int) bool { return true }
		if e.sym != "" {
			r := c.ranges(e.sym)
			in = func(l int) bool { return inRanges(l, r) }
		}
		visit(name, f, c, in)
	}
}

func (e *evaluation) add(name string, f *File, line int) {
	c := f.parse()
	e.sites = append(e.sites, site{path: name, file: f, line: line, symbol: c.symbolAt(line), text: string(c.folded.line(line))})
}

// finish turns what was found into the finding's places and lock entry.
func (e *evaluation) finish() {
	f := e.f
	for _, s := range e.sites {
		if len(f.Places) < 200 {
			f.Places = append(f.Places, s.place(e.tree.Version.String()))
		}
		sym := s.symbol
		if sym == "" {
			sym = "-"
		}
		f.Entry.Found = append(f.Entry.Found, fmt.Sprintf("%s %s:%d", sym, s.path, s.line))
	}
	if f.Entry.Found == nil {
		f.Entry.Found = []string{}
	}
	if len(f.Entry.Found) > 60 {
		f.Entry.Found = append(f.Entry.Found[:60], fmt.Sprintf("and %d more", len(e.sites)-60))
	}
}

func (s site) place(version string) Place {
	p := s.file.place(s.path, version, s.line, "")
	return p
}

func (e *evaluation) refute(related []site, format string, args ...any) {
	e.f.State = Refuted
	e.f.Message = fmt.Sprintf(format, args...)
	for _, s := range related {
		if len(e.f.Related) < 20 {
			e.f.Related = append(e.f.Related, s.place(e.tree.Version.String()))
		}
	}
}

// compareSymbols refutes the assertion unless the symbols of the sites are
// exactly those expected.
func (e *evaluation) compareSymbols(verb string) {
	have := make(map[string][]site)
	for _, s := range e.sites {
		have[s.symbol] = append(have[s.symbol], s)
	}
	var extra []string
	var extraSites []site
	for _, name := range sortedKeys(have) {
		if slices.Contains(e.a.Expect, name) || e.aliasExpected(have[name]) {
			continue
		}
		s := have[name][0]
		what := name
		if name == "" {
			what = "code outside any symbol"
		}
		extra = append(extra, fmt.Sprintf("%s (line %d of %s: %s)", what, s.line, s.path, short(s.text)))
		extraSites = append(extraSites, have[name]...)
	}
	var lacking []string
	for _, want := range e.a.Expect {
		if have[want] == nil && !e.aliasFound(want) {
			lacking = append(lacking, want)
		}
	}
	if len(extra) == 0 && len(lacking) == 0 {
		return
	}
	var msg []string
	if len(extra) > 0 {
		msg = append(msg, fmt.Sprintf("also %s %s: %s", verb, e.a.Subject, strings.Join(extra, "; ")))
	}
	if len(lacking) > 0 {
		msg = append(msg, fmt.Sprintf("expected and not found: %s", strings.Join(lacking, ", ")))
	}
	e.refute(extraSites, "%s", strings.Join(msg, "; "))
	var all []string
	for _, name := range sortedKeys(have) {
		if name != "" {
			all = append(all, quote(name))
		}
	}
	e.f.Proposal = "correct the sentence; what " + e.tree.Version.String() + " has is expect = [" + strings.Join(all, ", ") + "]"
}

// aliasExpected tells whether the symbol around the sites has another name that
// is expected ("SYSCALL_DEFINE1(name)").
func (e *evaluation) aliasExpected(sites []site) bool {
	for _, want := range e.a.Expect {
		if inRanges(sites[0].line, sites[0].file.parse().ranges(want)) {
			return true
		}
	}
	return false
}

func (e *evaluation) aliasFound(want string) bool {
	for _, s := range e.sites {
		if inRanges(s.line, s.file.parse().ranges(want)) {
			return true
		}
	}
	return false
}

// counted evaluates count and absent.
func (e *evaluation) counted() {
	text := Fold(e.a.Subject)
	n := 0
	e.each(func(name string, f *File, c *code, in func(int) bool) {
		d := &c.folded
		if e.a.Comments {
			d = f.fold()
		}
		newMatcher([]string{text}).find(d.text, func(_, at int) {
			if line := d.lineAt(at); in(line) {
				n++
				e.add(name, f, line)
			}
		})
	})
	want := e.a.Count
	if e.a.Kind == Absent {
		want = 0
	}
	if n == want {
		return
	}
	if want == 0 {
		e.refute(e.sites, "%s stands in %s %s, first on line %d of %s", quote(e.a.Subject), e.a.Scope, times(n), e.sites[0].line, e.sites[0].path)
		return
	}
	e.refute(e.sites, "%s stands %s in %s, expected %s", quote(e.a.Subject), times(n), e.a.Scope, times(want))
}

// order evaluates that the texts follow each other.
func (e *evaluation) order() {
	type span struct{ first, last, n int }
	e.each(func(name string, f *File, c *code, in func(int) bool) {
		d := &c.folded
		if e.a.Comments {
			d = f.fold()
		}
		texts := make([]string, len(e.a.Expect))
		spans := make([]span, len(texts))
		for i, s := range e.a.Expect {
			texts[i] = Fold(s)
		}
		newMatcher(texts).find(d.text, func(i, at int) {
			if !in(d.lineAt(at)) {
				return
			}
			if spans[i].n == 0 {
				spans[i].first = at
			}
			spans[i].last = at
			spans[i].n++
		})
		for i, s := range spans {
			if s.n == 0 {
				e.refute(nil, "%s is not in %s", quote(e.a.Expect[i]), e.a.Scope)
				return
			}
			e.add(name, f, d.lineAt(s.first))
		}
		for i := 1; i < len(spans); i++ {
			if spans[i-1].last >= spans[i].first {
				a, b := d.lineAt(spans[i-1].last), d.lineAt(spans[i].first)
				e.refute([]site{{path: name, file: f, line: b}, {path: name, file: f, line: a}},
					"%s stands on line %d, not before %s on line %d", quote(e.a.Expect[i-1]), a, quote(e.a.Expect[i]), b)
				return
			}
		}
	})
}

// calls evaluates who uses a function, or what a symbol calls.
func (e *evaluation) calls() {
	if e.a.Subject == "" {
		e.callees()
		return
	}
	want := []byte(e.a.Subject)
	e.each(func(name string, f *File, c *code, in func(int) bool) {
		for i, t := range c.toks {
			if !bytes.Equal(c.src[t.start:t.end], want) || !in(int(t.line)) {
				continue
			}
			sym := c.symbolAt(int(t.line))
			if sym == "" || sym == e.a.Subject && !c.insideBody(i) {
				continue // a declaration, an export, or the definition itself
			}
			e.add(name, f, int(t.line))
		}
	})
	if len(e.a.Expect) == 0 {
		if len(e.sites) == 0 {
			e.refute(nil, "%s does not call %s", e.a.Scope, e.a.Subject)
		}
		return
	}
	e.compareSymbols("calls or hands on")
}

// insideBody tells whether token i stands behind the opening brace of the
// symbol around it.
func (c *code) insideBody(i int) bool {
	at := c.at[c.toks[i].line-1]
	if at < 0 {
		return false
	}
	first := c.syms[at].First
	for j := i - 1; j >= 0 && int(c.toks[j].line) >= first; j-- {
		if c.src[c.toks[j].start] == '{' || c.syms[at].Kind == "macro" && j > 2 {
			return true
		}
	}
	return false
}

func (e *evaluation) callees() {
	e.each(func(name string, f *File, c *code, in func(int) bool) {
		seen := make(map[string]bool)
		for i, t := range c.toks {
			if i+1 < len(c.toks) && in(int(t.line)) && c.src[c.toks[i+1].start] == '(' && c.insideBody(i) {
				w := string(c.src[t.start:t.end])
				if slices.Contains(e.a.Expect, w) && !seen[w] {
					seen[w] = true
					e.add(name, f, int(t.line))
				}
			}
		}
		var lacking []string
		for _, w := range e.a.Expect {
			if !seen[w] {
				lacking = append(lacking, w)
			}
		}
		if len(lacking) > 0 {
			e.refute(nil, "%s does not call %s", e.a.Scope, strings.Join(lacking, ", "))
		}
	})
}
