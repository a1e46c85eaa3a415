package citations

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Options of [Check]. The zero value is useful.
type Options struct {
	// Locks by the name of their set. A set without one is checked for presence
	// alone.
	Locks map[string]*Lock
	// Locked makes it a failure if a lock is not what a fresh one would be.
	Locked bool
	// Fewer accepts fewer citations than the lock has.
	Fewer bool
	// Pins, if not nil, are the only trees that count.
	Pins *Pins
	// NoSearch leaves out the search of the whole tree for moved anchors.
	NoSearch bool
}

// Result is what one run of the gate found.
type Result struct {
	Sets  []*SetResult
	Trees []*Tree // in the order of their versions, those that cannot be used last
	// Problems of all sets and trees, in a stable order.
	Problems []Problem
	Counts   Counts
}

// Counts says how much was checked, so that silence and success differ.
type Counts struct {
	Checked    int `json:"checked"`    // records × trees in which they were looked up
	Skipped    int `json:"skipped"`    // not in range
	Unparsed   int `json:"unparsed"`   // records and markers that cannot be read
	Unresolved int `json:"unresolved"` // records × trees for which a tree or file is not to be had
	Total      int `json:"total"`      // records × trees, and what is unparsed
}

func (c *Counts) add(d Counts) {
	c.Checked += d.Checked
	c.Skipped += d.Skipped
	c.Unparsed += d.Unparsed
	c.Unresolved += d.Unresolved
	c.Total += d.Total
}

func (c Counts) String() string {
	return fmt.Sprintf("%d checked, %d skipped, %d unparsed, %d unresolved, %d in total", c.Checked, c.Skipped, c.Unparsed, c.Unresolved, c.Total)
}

// SetResult is the result of one set.
type SetResult struct {
	Set     *Set
	Lock    *Lock // the one compared with, nil if none
	Records []*RecordResult
	Counts  Counts
}

// RecordResult is the result of one record: a finding per tree.
type RecordResult struct {
	Record   Record
	Findings []*Finding
}

// In is the finding in the version, nil if there is none.
func (r *RecordResult) In(version string) *Finding {
	for _, f := range r.Findings {
		if f.Tree.Version.String() == version {
			return f
		}
	}
	return nil
}

// Finding is what one record came to in one tree.
type Finding struct {
	Tree  *Tree
	State State
	// Places at which the anchor stands, or which an assertion found.
	Places []Place
	// Message, Proposal and Related say what is wrong; empty if nothing is.
	Message, Proposal string
	Related           []Place
	// Entry is what a lock would have for it.
	Entry LockEntry
	// Locked tells whether there was an entry to compare with.
	Locked bool
}

// Record finds the result for an id.
func (r *Result) Record(id string) *RecordResult {
	for _, s := range r.Sets {
		for _, rec := range s.Records {
			if rec.Record.RecordID() == id {
				return rec
			}
		}
	}
	return nil
}

// Check resolves all records of all sets in all trees. An error means that the
// run itself failed (it was cancelled); whatever is wrong with sets and trees
// is in the result.
func Check(ctx context.Context, sets []*Set, trees []*Tree, opts Options) (*Result, error) {
	st := newStore()
	loadTrees(ctx, sets, trees, st)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	trees = sortTrees(trees)
	for _, t := range trees {
		if t.err == nil && opts.Pins != nil {
			t.err = opts.Pins.verify(t, sets, opts.Locks)
		}
	}
	refuseTwins(trees)
	res := &Result{Trees: trees}
	for _, s := range sets {
		sr := &SetResult{Set: s, Lock: opts.Locks[s.Name]}
		for _, rec := range s.Records() {
			sr.Records = append(sr.Records, &RecordResult{Record: rec, Findings: make([]*Finding, len(trees))})
		}
		res.Sets = append(res.Sets, sr)
	}
	if err := resolveAll(ctx, res, opts); err != nil {
		return nil, err
	}
	res.report(opts)
	return res, nil
}

func sortTrees(trees []*Tree) []*Tree {
	trees = slices.Clone(trees)
	sort.SliceStable(trees, func(i, j int) bool {
		a, b := trees[i], trees[j]
		if (a.err == nil) != (b.err == nil) {
			return a.err == nil
		}
		return a.Version.Compare(b.Version) < 0
	})
	return trees
}

// refuseTwins lets a version count once: two trees of one version with the same
// files would only count everything twice, and with others there is no telling
// which is meant.
func refuseTwins(trees []*Tree) {
	have := make(map[string]*Tree)
	for _, t := range trees {
		if t.err != nil {
			continue
		}
		if first := have[t.Version.String()]; first != nil {
			t.err = unavailable(t.Spec, "give one tree for each version", "it is version %s, as %s is", t.Version, first.Spec)
			continue
		}
		have[t.Version.String()] = t
	}
}

// needOf is the files that the sets look at in any version, or in v if that is
// known.
func needOf(sets []*Set, v Version) *need {
	n := &need{files: make(map[string]bool)}
	folders := make(map[string]bool)
	scope := func(a *Assertion) {
		file, _ := a.scope()
		if strings.HasSuffix(file, "/") {
			folders[file] = true
		} else {
			n.files[file] = true
		}
	}
	for _, s := range sets {
		for _, r := range s.References {
			if v.Known() {
				n.files[r.At(v).Path] = true
				continue
			}
			n.files[r.Path] = true
			for _, in := range r.In {
				if in.Path != "" {
					n.files[in.Path] = true
				}
			}
		}
		for _, a := range s.Assertions {
			if v.Known() {
				scope(a.At(v))
				continue
			}
			scope(a)
			for _, in := range a.In {
				if in.Scope != "" {
					scope(&Assertion{Scope: in.Scope})
				}
			}
		}
	}
	n.folders = sortedKeys(folders)
	return n
}

// loadTrees reads all trees, as many at once as there are CPUs.
func loadTrees(ctx context.Context, sets []*Set, trees []*Tree, st *store) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, t := range trees {
		wg.Add(1)
		go func() {
			defer wg.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			loadTree(ctx, t, sets, st) // the tree keeps its error
		}()
	}
	wg.Wait()
}

func loadTree(ctx context.Context, t *Tree, sets []*Set, st *store) error {
	return t.load(ctx, needOf(sets, t.Version), st)
}

// resolveAll fills in the findings: first those that a tree's own files decide,
// all anchors of a file in one pass; then those for which the rest of the tree
// must be searched.
func resolveAll(ctx context.Context, res *Result, opts Options) error {
	var wg sync.WaitGroup
	errs := make([]error, len(res.Trees))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, t := range res.Trees {
		wg.Add(1)
		go func() {
			defer wg.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = resolveTree(ctx, res, i, t, opts)
		}()
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for _, sr := range res.Sets {
		for _, rec := range sr.Records {
			lastVersion(rec)
			contextDiffs(rec, sr.Lock)
		}
	}
	return nil
}

func resolveTree(ctx context.Context, res *Result, i int, t *Tree, opts Options) error {
	hits := newHits(t)
	if t.err == nil {
		for _, sr := range res.Sets {
			for _, r := range sr.Set.References {
				if w := r.At(t.Version); r.rng.holds(t.Version) || !r.rng.holds(t.Version) && t.files[w.Path] != nil {
					hits.want(w.Path, Fold(w.Anchor))
				}
			}
		}
		hits.find()
	}
	var later []*lookup
	for _, sr := range res.Sets {
		for _, rec := range sr.Records {
			f := &Finding{Tree: t, State: OK}
			rec.Findings[i] = f
			if t.err != nil {
				f.State, f.Message = Unresolved, t.err.Error()
				continue
			}
			switch r := rec.Record.(type) {
			case *Reference:
				lk := &lookup{ref: r, at: r.At(t.Version), tree: t, hits: hits, f: f}
				lk.entry, f.Locked = lockedEntry(sr, r, t)
				if lk.resolve(); lk.text != "" {
					later = append(later, lk)
				}
			case *Assertion:
				e, ok := lockedEntry(sr, r, t)
				f.Locked = ok
				resolveAssertion(r.At(t.Version), t, f, e)
			}
		}
	}
	if len(later) == 0 || opts.NoSearch {
		for _, lk := range later {
			lk.elsewhere(nil)
		}
		return ctx.Err()
	}
	texts := make(map[string]bool)
	for _, lk := range later {
		texts[lk.text] = true
	}
	found, err := t.search(ctx, sortedKeys(texts))
	if err != nil {
		return err
	}
	for _, lk := range later {
		lk.elsewhere(found[lk.text])
	}
	return nil
}

// lockedEntry is the lock's entry for the record in the tree's version, or what
// a record of schema 1 says itself.
func lockedEntry(sr *SetResult, rec Record, t *Tree) (LockEntry, bool) {
	v := t.Version.String()
	if l := sr.Lock; l != nil {
		if lr := l.Records[rec.RecordID()]; lr != nil && lr.Digest == rec.digest() {
			if e, ok := lr.At[v]; ok && !e.Unconfirmed {
				return e, true
			}
		}
	}
	if r, ok := rec.(*Reference); ok && r.Confirmed && r.LockedLine > 0 {
		return LockEntry{Path: r.Path, Lines: []int{r.LockedLine}, Context: r.Context, Imported: true}, true
	}
	return LockEntry{}, false
}

// hits are the lines at which anchors stand, found in one pass per file.
type hits struct {
	tree  *Tree
	texts map[string][]string // by path
	lines map[string]map[string][]int
}

func newHits(t *Tree) *hits {
	return &hits{tree: t, texts: make(map[string][]string), lines: make(map[string]map[string][]int)}
}

func (h *hits) want(path, text string) { h.texts[path] = append(h.texts[path], text) }

func (h *hits) find() {
	for path, texts := range h.texts {
		f := h.tree.files[path]
		if f == nil {
			continue
		}
		slices.Sort(texts)
		h.lines[path] = f.find(slices.Compact(texts))
	}
}

// find is the lines of the file that hold each of the folded texts.
func (f *File) find(texts []string) map[string][]int {
	out := make(map[string][]int, len(texts))
	d := f.fold()
	newMatcher(texts).find(d.text, func(n, at int) {
		t := texts[n]
		line := d.lineAt(at)
		if l := out[t]; len(l) == 0 || l[len(l)-1] != line {
			out[t] = append(l, line)
		}
	})
	return out
}
