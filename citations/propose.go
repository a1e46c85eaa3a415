package citations

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
)

// disambiguate proposes how to name line n alone: the shortest longer anchor
// that stands on no other line of the file (or of the symbol), or the symbol.
func (l *lookup) disambiguate(f *File, n int) string {
	d := f.fold()
	line := string(d.line(n))
	scope := func(int) bool { return true }
	if l.at.Symbol != "" {
		r := f.parse().ranges(l.at.Symbol)
		scope = func(m int) bool { return inRanges(m, r) }
	}
	if a := uniqueAnchor(d, line, l.anchor, n, scope); a != "" {
		return "anchor = " + quote(a)
	}
	sym := f.parse().symbolAt(n)
	if sym == "" || sym == l.at.Symbol {
		return ""
	}
	r := f.parse().ranges(sym)
	if count := len(slices.DeleteFunc(slices.Clone(f.find([]string{l.anchor})[l.anchor]), func(m int) bool { return !inRanges(m, r) })); count == 1 {
		return "symbol = " + quote(sym)
	}
	return ""
}

// uniqueAnchor is the shortest part of line n that holds the anchor and that no
// other line in scope holds; empty if the whole line is not unique. Parts begin
// and end at words.
func uniqueAnchor(d *folded, line, anchor string, n int, scope func(int) bool) string {
	unique := func(text string) bool {
		ok := true
		newMatcher([]string{text}).find(d.text, func(_, at int) {
			if m := d.lineAt(at); m != n && scope(m) {
				ok = false
			}
		})
		return ok
	}
	if !unique(line) {
		return ""
	}
	at := strings.Index(line, anchor)
	if at < 0 {
		return ""
	}
	var starts, ends []int
	for i := 0; i <= at; i++ {
		if i == at || wordBoundary(line, i) && (i == 0 || isIdentByte(line[i])) {
			starts = append(starts, i)
		}
	}
	for i := at + len(anchor); i <= len(line); i++ {
		if i == at+len(anchor) || wordBoundary(line, i) && line[i-1] != ' ' {
			ends = append(ends, i)
		}
	}
	best := line
	for _, s := range starts {
		// Longer is unique if shorter is: the first end that is unique is the
		// shortest for this start.
		lo, hi := 0, len(ends)
		for lo < hi {
			mid := (lo + hi) / 2
			if unique(line[s:ends[mid]]) {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		if lo < len(ends) {
			if c := line[s:ends[lo]]; len(c) < len(best) && len([]rune(c)) >= MinAnchor {
				best = c
			}
		}
	}
	return best
}

func wordBoundary(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return true
	}
	return !isIdentByte(s[i-1]) || !isIdentByte(s[i])
}

// nearest is the line within the ranges (anywhere if there are none) that is
// most like the text by edit distance; near tells whether it is so like it that
// it may be the same line edited. Of equals, the one nearest to line hint.
func (f *File) nearest(text string, r [][2]int, hint int) (line int, near bool) {
	d := f.fold()
	best := 1 << 30
	// A line cannot be nearer than the difference of lengths, or than the
	// letters that only one of them has.
	want := letters([]byte(text))
	for n := 1; n <= d.lines(); n++ {
		if len(r) > 0 && !inRanges(n, r) {
			continue
		}
		l := d.line(n)
		if len(l) < 4 || len(l) > 400 {
			continue
		}
		bound := max(abs(len(l)-len(text)), letterBound(want, letters(l)))
		if bound > best || bound > len(text) {
			continue
		}
		dist := distance([]byte(text), l, best)
		if dist < best || dist == best && hint > 0 && abs(n-hint) < abs(line-hint) {
			best, line = dist, n
		}
	}
	return line, line > 0 && best*5 <= max(len(text), 20)*2
}

func letters(s []byte) (n [64]int16) {
	for _, c := range s {
		n[c&63]++
	}
	return n
}

func letterBound(a, b [64]int16) int {
	more, less := 0, 0
	for i := range a {
		if d := int(a[i]) - int(b[i]); d > 0 {
			more += d
		} else {
			less -= d
		}
	}
	return max(more, less)
}

// distance is the Levenshtein distance in bytes, or something above limit as
// soon as it must be above it.
func distance(a, b []byte, limit int) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag, least := row[0], i
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diag
			if a[i-1] != b[j-1] {
				cost++
			}
			diag = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}

// contextDiffs adds to findings of changed context what changed, where another
// tree of the run still has the context that the lock knows.
func contextDiffs(rec *RecordResult, lock *Lock) {
	for _, f := range rec.Findings {
		if f.State != Context {
			continue
		}
		id := rec.Record.RecordID()
		file := f.Tree.files[f.Entry.Path]
		from, now := file.contextLines(f.Entry.Line())
		e, _ := lock.Entry(id, f.Tree.Version.String())
		want := e.Context
		if r, ok := rec.Record.(*Reference); ok && want == "" {
			want = r.Context
		}
		f.Proposal = ""
		for _, g := range rec.Findings {
			if g == f || g.Entry.Context != want || want == "" || g.Tree.err != nil {
				continue
			}
			_, old := g.Tree.files[g.Entry.Path].contextLines(g.Entry.Line())
			f.Proposal = fmt.Sprintf("from %s to %s:\n%s", g.Tree.Version, f.Tree.Version, strings.Join(diffLines(old, now), "\n"))
			break
		}
		if f.Proposal == "" {
			var b strings.Builder
			b.WriteString("it reads now (the earlier text is in none of the trees given):")
			for i, l := range now {
				fmt.Fprintf(&b, "\n%6d  %s", from+i, l)
			}
			f.Proposal = b.String()
		}
		f.Proposal += fmt.Sprintf("\nif the sentence still holds: cite confirm %s --reason …", id)
	}
}

// diffLines is the difference of two short texts, line by line.
func diffLines(a, b []string) (out []string) {
	// Longest common subsequence; the texts have a few lines.
	lcs := make([][]int, len(a)+1)
	for i := range lcs {
		lcs[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if Fold(a[i]) == Fold(b[j]) {
				lcs[i][j] = lcs[i+1][j+1] + 1
			} else {
				lcs[i][j] = max(lcs[i+1][j], lcs[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && Fold(a[i]) == Fold(b[j]):
			out = append(out, "  "+b[j])
			i++
			j++
		case i < len(a) && (j == len(b) || lcs[i+1][j] >= lcs[i][j+1]):
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}

// search looks for folded texts in every source file of the tree.
func (t *Tree) search(ctx context.Context, texts []string) (map[string][]Place, error) {
	out := make(map[string][]Place)
	if len(texts) == 0 {
		return out, nil
	}
	// Folding a whole kernel takes long: a file is folded only if it holds the
	// longest word of some text.
	words := make([]string, len(texts))
	for i, s := range texts {
		for _, w := range strings.Fields(s) {
			if len(w) > len(words[i]) {
				words[i] = w
			}
		}
	}
	pre := newMatcher(words)
	full := newMatcher(texts)
	visit := func(name string, data []byte) {
		hit := false
		pre.find(data, func(int, int) { hit = true })
		if !hit {
			return
		}
		d := fold(data)
		var file *File
		full.find(d.text, func(n, at int) {
			s := texts[n]
			if len(out[s]) >= 50 {
				return
			}
			if file == nil {
				file = newFile(name, bytes.Clone(data))
			}
			out[s] = append(out[s], file.place(name, t.Version.String(), d.lineAt(at), s))
		})
	}
	if a, ok := t.src.(*archive); ok {
		return out, a.searchCached(ctx, t.Version.String(), texts, out, visit)
	}
	if err := t.src.scan(ctx, visit); err != nil {
		return nil, fmt.Errorf("tree %s: %w", t.Spec, err)
	}
	return out, nil
}
