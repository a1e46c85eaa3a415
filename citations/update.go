package citations

import (
	"fmt"
	"slices"
	"strings"
)

// UpdateOptions of [SetResult.Update].
type UpdateOptions struct {
	// Fewer lets the numbers of the lock fall.
	Fewer bool
	// Bump adds the version to a lock that has others already. The contexts
	// that a person has confirmed for From are kept for it, so that what changed
	// since then is asked about.
	Bump, From string
}

// Update is the lock as it is after this run: what passes is written anew, what
// fails keeps its old entry, versions that were not looked at stay. A lock that
// has versions gets a further one by Bump alone.
func (sr *SetResult) Update(o UpdateOptions) *Lock {
	s, old := sr.Set, sr.Lock
	l := NewLock(s.Name)
	if old == nil {
		old = NewLock(s.Name)
	}
	l.References, l.Assertions = len(s.References), len(s.Assertions)
	if !o.Fewer {
		l.References, l.Assertions = max(l.References, old.References), max(l.Assertions, old.Assertions)
	}
	l.Confirmations = slices.DeleteFunc(slices.Clone(old.Confirmations), func(c Confirmation) bool { return s.ids[c.ID] == nil })
	looked := make(map[string]bool)
	for _, rec := range sr.Records {
		id, digest := rec.Record.RecordID(), rec.Record.digest()
		lr := &LockRecord{Digest: digest, At: make(map[string]LockEntry)}
		was := old.Records[id]
		if was != nil && was.Digest == digest {
			for v, e := range was.At {
				lr.At[v] = e
			}
		}
		for _, f := range rec.Findings {
			v := f.Tree.Version.String()
			if f.Tree.err != nil || len(old.Trees) > 0 && old.Trees[v] == nil && v != o.Bump {
				continue
			}
			looked[v] = true
			switch f.State {
			case OK, Moved:
				lr.At[v] = f.Entry
				if v == o.Bump {
					lr.At[v] = bumped(f.Entry, was, o.From)
				}
			case NotInRange:
				delete(lr.At, v)
			}
		}
		if len(lr.At) > 0 {
			l.Records[id] = lr
		}
	}
	for v, t := range old.Trees {
		if !looked[v] {
			l.Trees[v] = t
		}
	}
	for _, rec := range sr.Records {
		for _, f := range rec.Findings {
			v := f.Tree.Version.String()
			if !looked[v] || f.Tree.err != nil {
				continue
			}
			if l.Trees[v] == nil {
				l.Trees[v] = &LockTree{Files: make(map[string]string)}
			}
			if f.State != NotInRange && f.State != Unresolved {
				l.Trees[v].Checked++
			}
			l.Trees[v].note(f, rec.Record)
		}
	}
	// A file with something broken in it keeps the blob for which all held.
	for _, rec := range sr.Records {
		for _, f := range rec.Findings {
			v := f.Tree.Version.String()
			if l.Trees[v] == nil || f.State == OK || f.State == Moved || f.State == NotInRange || old.Trees[v] == nil {
				continue
			}
			if file := fileOf(rec.Record, f.Tree.Version); old.Trees[v].Files[file] != "" {
				l.Trees[v].Files[file] = old.Trees[v].Files[file]
			}
		}
	}
	if !o.Fewer {
		for v, t := range old.Trees {
			if l.Trees[v] != nil && l.Trees[v].Checked < t.Checked {
				l.Trees[v].Checked = t.Checked
			}
		}
	}
	return l
}

// note keeps the blob ids of the files that a finding rests on. Folders are
// left out: what stands in them is the assertion's to count.
func (t *LockTree) note(f *Finding, rec Record) {
	file := fileOf(rec, f.Tree.Version)
	if x := f.Tree.files[file]; x != nil && f.State != NotInRange {
		t.Files[file] = x.Blob
	}
}

// fileOf is the file or folder that a record looks at.
func fileOf(rec Record, v Version) (file string) {
	switch r := rec.(type) {
	case *Reference:
		file = r.At(v).Path
	case *Assertion:
		file, _ = r.At(v).scope()
	}
	return file
}

// bumped is the entry for a new version: with the context that a person last
// read, if that was another one.
func bumped(e LockEntry, was *LockRecord, from string) LockEntry {
	if was == nil {
		return e
	}
	if old, ok := was.At[from]; ok && old.Context != "" && !old.Unconfirmed {
		e.Context = old.Context
	}
	return e
}

// Confirm writes to the lock that a person read the place of id in the given
// findings and that the sentence still holds. Only a changed context can be
// confirmed: what moved elsewhere or is gone needs a corrected record.
func (sr *SetResult) Confirm(id, reason string) (*Lock, []string, error) {
	if strings.TrimSpace(reason) == "" {
		return nil, nil, fmt.Errorf("no reason: say what was read and why the sentence still holds")
	}
	var rec *RecordResult
	for _, r := range sr.Records {
		if r.Record.RecordID() == id {
			rec = r
		}
	}
	if rec == nil {
		return nil, nil, fmt.Errorf("%s has no record %s", sr.Set.Path, id)
	}
	if sr.Lock == nil {
		return nil, nil, fmt.Errorf("%s is not there: cite check --fix writes it", lockName(sr.Set))
	}
	l := sr.Update(UpdateOptions{})
	var done []string
	for _, f := range rec.Findings {
		v := f.Tree.Version.String()
		switch f.State {
		case Context:
			old, _ := sr.Lock.Entry(id, v)
			if l.Records[id] == nil {
				l.Records[id] = &LockRecord{Digest: rec.Record.digest(), At: make(map[string]LockEntry)}
			}
			l.Records[id].At[v] = f.Entry
			l.Confirmations = append(l.Confirmations, Confirmation{ID: id, Version: v, From: old.Context, To: f.Entry.Context, Reason: strings.TrimSpace(reason)})
			done = append(done, fmt.Sprintf("%s in %s: line %d of %s, context %s", id, v, f.Entry.Line(), f.Entry.Path, f.Entry.Context))
		case OK, Moved, NotInRange:
		default:
			return nil, nil, fmt.Errorf("%s in %s is %s, which no confirmation mends: %s", id, v, f.State, f.Message)
		}
	}
	if len(done) == 0 {
		return nil, nil, fmt.Errorf("%s: nothing to confirm, its context is as in the lock in every tree given", id)
	}
	return l, done, nil
}

// BumpGroup is the records of one state at the new version.
type BumpGroup struct {
	State    State
	Findings []BumpFinding
}

// BumpFinding is one record at the new version.
type BumpFinding struct {
	ID, Message, Proposal string
	Read                  bool // a person must read it
}

// Bump compares the findings at version to with the lock's entries for version
// from, and groups them by state: ok, moved and context compare with what was
// confirmed for from.
func (sr *SetResult) Bump(from, to string) []BumpGroup {
	by := make(map[State][]BumpFinding)
	for _, rec := range sr.Records {
		f := rec.In(to)
		if f == nil {
			continue
		}
		id := rec.Record.RecordID()
		b := BumpFinding{ID: id, Message: f.Message, Proposal: f.Proposal}
		state := f.State
		if state == OK || state == Moved || state == Context {
			state, b = bumpState(rec, f, sr.Lock, from, b)
		}
		switch state {
		case OK, Moved, NotInRange:
		default:
			b.Read = true
		}
		by[state] = append(by[state], b)
	}
	var out []BumpGroup
	for _, d := range StateDocs {
		if fs := by[d.State]; len(fs) > 0 {
			out = append(out, BumpGroup{State: d.State, Findings: fs})
		}
	}
	return out
}

func bumpState(rec *RecordResult, f *Finding, lock *Lock, from string, b BumpFinding) (State, BumpFinding) {
	old, ok := lock.Entry(rec.Record.RecordID(), from)
	if _, isA := rec.Record.(*Assertion); isA {
		b.Message = fmt.Sprintf("holds, %s found", plural(len(f.Entry.Found), "place"))
		return OK, b
	}
	now := f.Entry
	switch {
	case !ok || old.Unconfirmed:
		b.Message = fmt.Sprintf("line %d of %s; %s has nothing to compare with", now.Line(), now.Path, from)
		b.Read = true
		return Context, b
	case old.Context != now.Context:
		b.Message = fmt.Sprintf("line %d of %s, was %d; lines around it changed (context %s, was %s)", now.Line(), now.Path, old.Line(), now.Context, old.Context)
		b.Proposal = ""
		for _, g := range rec.Findings {
			if g.Tree.Version.String() == from && g.Tree.err == nil && g.Entry.Context == old.Context {
				_, a := g.Tree.files[g.Entry.Path].contextLines(g.Entry.Line())
				_, c := f.Tree.files[now.Path].contextLines(now.Line())
				b.Proposal = strings.Join(diffLines(a, c), "\n")
			}
		}
		return Context, b
	case old.Path != now.Path:
		b.Message = fmt.Sprintf("line %d of %s, was line %d of %s", now.Line(), now.Path, old.Line(), old.Path)
		return Moved, b
	case !slices.Equal(old.Lines, now.Lines):
		b.Message = fmt.Sprintf("line %d of %s, was %d", now.Line(), now.Path, old.Line())
		return Moved, b
	}
	b.Message = fmt.Sprintf("line %d of %s", now.Line(), now.Path)
	return OK, b
}
