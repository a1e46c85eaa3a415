package citations

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// lookup resolves one reference in one tree.
type lookup struct {
	ref    *Reference
	at     Alternative // what it says of this version
	tree   *Tree
	hits   *hits
	f      *Finding
	entry  LockEntry // what the lock has, if f.Locked
	anchor string    // folded

	// text is set by resolve if the rest of the tree must be searched for it
	// before the state is known; why is what to say if it is not found.
	text  string
	state State
	why   string
}

func (l *lookup) version() string { return l.tree.Version.String() }

// resolve decides the state from the file that the reference names.
func (l *lookup) resolve() {
	l.anchor = Fold(l.at.Anchor)
	file := l.tree.files[l.at.Path]
	lines := l.hits.lines[l.at.Path][l.anchor]
	if !l.ref.rng.holds(l.tree.Version) {
		l.outOfRange(file, lines)
		return
	}
	if file == nil {
		state, why := l.tree.lacks(l.at.Path)
		if state == Unresolved {
			l.f.State, l.f.Message = state, why
			return
		}
		l.search(Gone, why)
		return
	}
	in, out := lines, []int(nil)
	if l.at.Symbol != "" {
		r := file.parse().ranges(l.at.Symbol)
		in = nil
		for _, n := range lines {
			if inRanges(n, r) {
				in = append(in, n)
			} else {
				out = append(out, n)
			}
		}
		if len(r) == 0 {
			if l.commentedOut(file, lines) {
				return
			}
			if len(lines) > 0 {
				l.movedSymbol(file, lines, fmt.Sprintf("%s has no %s, and the anchor stands in %s", l.at.Path, l.at.Symbol, symbolsAt(file, lines)))
				return
			}
			l.search(Gone, fmt.Sprintf("%s has no %s", l.at.Path, l.at.Symbol))
			return
		}
	}
	switch n := len(in); {
	case l.commentedOut(file, in):
	case n > l.at.Count:
		l.ambiguous(file, in)
	case n == l.at.Count:
		l.present(file, in, len(out))
	case n == 0 && len(out) > 0 && (!l.f.Locked || len(out) > l.entry.Others):
		l.movedSymbol(file, out, fmt.Sprintf("the anchor is not in %s but in %s", l.at.Symbol, symbolsAt(file, out)))
	case n == 0:
		l.missing(file)
	default:
		l.f.State = Changed
		l.f.Message = fmt.Sprintf("the anchor stands %s in %s, expected %s", times(n), l.where(), times(l.at.Count))
		l.f.Related = l.places(file, in)
		l.f.Proposal = fmt.Sprintf("read %s; if that is right: count = %d", plural(n, "place"), n)
	}
}

// commentedOut decides for an anchor that was code and stands in comments only.
func (l *lookup) commentedOut(file *File, lines []int) bool {
	if len(lines) == 0 || !l.f.Locked || l.entry.Imported || l.entry.Comment {
		return false
	}
	if slices.ContainsFunc(lines, func(n int) bool { return file.inCode(n, l.anchor) }) {
		return false
	}
	l.f.State = Changed
	l.f.Message = fmt.Sprintf("line %d of %s holds the anchor in a comment or behind #if 0; it was code", lines[0], l.at.Path)
	l.f.Related = l.places(file, lines)
	l.f.Proposal = "read the place: the code is switched off"
	return true
}

func (l *lookup) where() string {
	if l.at.Symbol != "" {
		return l.at.Path + "#" + l.at.Symbol
	}
	return l.at.Path
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func symbolsAt(f *File, lines []int) string {
	var out []string
	for _, n := range lines {
		s := f.parse().symbolAt(n)
		if s == "" {
			s = fmt.Sprintf("line %d outside any symbol", n)
		} else {
			s = fmt.Sprintf("%s (line %d)", s, n)
		}
		if out = append(out, s); len(out) == 5 && len(lines) > 5 {
			out = append(out, fmt.Sprintf("%d more", len(lines)-5))
			break
		}
	}
	return strings.Join(out, ", ")
}

func (l *lookup) places(f *File, lines []int) (out []Place) {
	for _, n := range lines {
		if out = append(out, f.place(l.at.Path, l.version(), n, l.anchor)); len(out) == 20 {
			break
		}
	}
	return out
}

// outOfRange tells whether the tree contradicts since and until.
func (l *lookup) outOfRange(file *File, lines []int) {
	l.f.State = NotInRange
	if file == nil || len(lines) == 0 {
		return
	}
	if l.at.Symbol != "" {
		r := file.parse().ranges(l.at.Symbol)
		lines = slices.DeleteFunc(slices.Clone(lines), func(n int) bool { return !inRanges(n, r) })
		if len(lines) == 0 {
			return
		}
	}
	l.f.State = OutOfRange
	l.f.Message = fmt.Sprintf("declared %s, but %s has it too, on line %d of %s", l.ref.rng, l.version(), lines[0], l.at.Path)
	l.f.Related = l.places(file, lines)
	l.f.Proposal = "correct since or until, or choose an anchor that tells the versions apart"
}

// present handles an anchor that is where and as often as expected.
func (l *lookup) present(file *File, lines []int, others int) {
	f := l.f
	f.Places = l.places(file, lines)
	c := file.parse()
	f.Entry = LockEntry{Path: l.at.Path, Lines: lines, Context: file.contextHash(lines), Symbol: c.symbolAt(lines[0]), Others: others,
		Comment: !slices.ContainsFunc(lines, func(n int) bool { return file.inCode(n, l.anchor) })}
	if !f.Locked {
		return
	}
	old := l.entry
	switch {
	case l.at.Symbol == "" && old.Symbol != f.Entry.Symbol && !old.Imported && !slices.Equal(old.Lines, lines):
		l.movedSymbol(file, lines, fmt.Sprintf("it was in %s and is in %s now", orNone(old.Symbol), symbolsAt(file, lines)))
	case old.Context != "" && old.Context != f.Entry.Context:
		f.State = Context
		f.Message = fmt.Sprintf("the anchor is on line %d of %s, but lines around it changed (context %s, the lock has %s)", lines[0], l.at.Path, f.Entry.Context, old.Context)
		f.Related = f.Places
	case !slices.Equal(old.Lines, lines) && len(old.Lines) > 0:
		f.State = Moved
		f.Message = fmt.Sprintf("line %d of %s, the lock has line %d", lines[0], l.at.Path, old.Line())
		f.Related = f.Places
		f.Proposal = "cite check --fix"
	}
}

func orNone(s string) string {
	if s == "" {
		return "no symbol"
	}
	return s
}

func (l *lookup) movedSymbol(file *File, lines []int, msg string) {
	l.f.State, l.f.Message = MovedSymbol, msg
	l.f.Related = l.places(file, lines)
	var names []string
	for _, n := range lines {
		if s := file.parse().symbolAt(n); s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	if len(names) > 0 {
		l.f.Proposal = "read it there; if the sentence holds: symbol = " + quote(names[0])
		if len(names) > 1 {
			l.f.Proposal += " (or " + strings.Join(names[1:min(len(names), 5)], ", ") + ")"
		}
	} else {
		l.f.Proposal = "read it there; if the sentence holds, remove symbol from the record"
	}
}

func (l *lookup) ambiguous(file *File, lines []int) {
	l.f.State = Ambiguous
	l.f.Message = fmt.Sprintf("the anchor stands %s in %s, expected %s: line %s", times(len(lines)), l.where(), times(l.at.Count), joinLines(lines))
	l.f.Related = l.places(file, lines)
	// The place that the lock knows comes first, so that its proposal does.
	order := slices.Clone(lines)
	if l.f.Locked && l.entry.Line() > 0 {
		want := l.entry.Line()
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(abs(a-want), abs(b-want)) })
	}
	var out []string
	for _, n := range order {
		if p := l.disambiguate(file, n); p != "" {
			out = append(out, fmt.Sprintf("line %d: %s", n, p))
		}
		if len(out) == 4 {
			break
		}
	}
	if l.at.Count > 1 || len(out) == 0 {
		out = append(out, fmt.Sprintf("if all are meant: count = %d", len(lines)))
	}
	l.f.Proposal = strings.Join(out, "\n")
}

func joinLines(lines []int) string {
	var s []string
	for i, n := range lines {
		if i == 8 {
			s = append(s, fmt.Sprintf("and %d more", len(lines)-i))
			break
		}
		s = append(s, fmt.Sprint(n))
	}
	return strings.Join(s, ", ")
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// missing handles a file that is there and lacks the anchor where it is
// expected: the nearest line of the symbol by edit distance, if it is near.
func (l *lookup) missing(file *File) {
	sym := l.at.Symbol
	if sym == "" && l.f.Locked {
		sym = l.entry.Symbol
	}
	var r [][2]int
	if sym != "" {
		if r = file.parse().ranges(sym); len(r) == 0 {
			l.search(Gone, fmt.Sprintf("neither the anchor nor %s, in which it was, is in %s", sym, l.at.Path))
			return
		}
	}
	line, near := file.nearest(l.anchor, r, l.entry.Line())
	if line == 0 || !near && sym == "" {
		l.search(Gone, fmt.Sprintf("%s holds nothing like the anchor", l.at.Path))
		return
	}
	where := l.at.Path
	if sym != "" {
		where += "#" + sym
	}
	if !near {
		l.search(Changed, fmt.Sprintf("the anchor is not in %s any more, nor a line like it", where))
		return
	}
	p := file.place(l.at.Path, l.version(), line, "")
	l.f.Related = []Place{p}
	l.f.Proposal = "- " + l.anchor + "\n+ " + p.Text
	l.search(Changed, fmt.Sprintf("the anchor is not in %s; nearest is line %d", where, line))
}

func (l *lookup) search(state State, why string) {
	l.text, l.state, l.why = l.anchor, state, why
}

// elsewhere decides after the search of the tree.
func (l *lookup) elsewhere(found []Place) {
	var other []Place
	for _, p := range found {
		if p.File != l.at.Path {
			other = append(other, p)
		}
	}
	l.rank(other)
	// An anchor that was in other files all along has not moved there: with
	// many hits, the text is not telling enough to say so.
	if len(other) > 0 && (l.state == Gone || len(other) == 1) {
		l.f.State = MovedFile
		l.f.Message = fmt.Sprintf("%s; it stands in %s", l.why, other[0])
		if other[0].Symbol != "" {
			l.f.Message += " (" + other[0].Symbol + ")"
		}
		if len(other) > 1 {
			l.f.Message += fmt.Sprintf(" and %s", plural(len(other)-1, "other place"))
		}
		l.f.Related = append(other[:min(len(other), 10)], l.f.Related...)
		l.f.Proposal = fmt.Sprintf("read it there; if the sentence holds: path = %s, or for this version alone\n[[references.in]]\nversions = %s\npath = %s",
			quote(other[0].File), quote(l.version()), quote(other[0].File))
		return
	}
	l.f.State, l.f.Message = l.state, l.why
}

// rank puts the likeliest new home first: the same symbol, then the same file
// name, then the longest common folder.
func (l *lookup) rank(ps []Place) {
	sym := cmp.Or(l.at.Symbol, l.entry.Symbol)
	score := func(p Place) int {
		n := 0
		if sym != "" && p.Symbol == sym {
			n += 1000
		}
		if path.Base(p.File) == path.Base(l.at.Path) {
			n += 100
		}
		a, b := strings.Split(p.File, "/"), strings.Split(l.at.Path, "/")
		for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
			n += 10
		}
		return n
	}
	slices.SortStableFunc(ps, func(a, b Place) int { return score(b) - score(a) })
}

// lastVersion adds to what is gone the newest other tree that has it.
func lastVersion(rec *RecordResult) {
	for _, f := range rec.Findings {
		if f.State != Gone || f.Tree.err != nil {
			continue
		}
		var best *Finding
		for _, g := range rec.Findings {
			if g == f || g.Tree.err != nil || len(g.Places) == 0 {
				continue
			}
			if best == nil || closer(g.Tree.Version, best.Tree.Version, f.Tree.Version) {
				best = g
			}
		}
		if best == nil {
			continue
		}
		v := best.Tree.Version
		bound := fmt.Sprintf("until = \"%d.%d\"", v.Major, v.Minor)
		if v.Compare(f.Tree.Version) > 0 {
			bound = fmt.Sprintf("since = \"%d.%d\"", v.Major, v.Minor)
		}
		f.Message += fmt.Sprintf("; %s has it, on line %d of %s", v, best.Places[0].Line, best.Places[0].File)
		f.Proposal = strings.TrimPrefix(f.Proposal+"\nif the sentence does not hold here: "+bound, "\n")
		f.Related = append(f.Related, best.Places[0])
	}
}

// closer tells whether a is nearer to v than b is: versions below v are nearer
// than those above, and among each side the adjacent one.
func closer(a, b, v Version) bool {
	al, bl := a.Compare(v) < 0, b.Compare(v) < 0
	if al != bl {
		return al
	}
	if al {
		return a.Compare(b) > 0
	}
	return a.Compare(b) < 0
}
