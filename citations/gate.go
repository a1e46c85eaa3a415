package citations

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"
)

// report turns findings and documents into problems and counts.
func (r *Result) report(opts Options) {
	ids := make(map[string]*Set)
	for _, sr := range r.Sets {
		for id := range sr.Set.ids {
			if ids[id] == nil {
				ids[id] = sr.Set
			}
		}
	}
	for _, t := range r.Trees {
		if t.err != nil {
			p := Problem{State: Unresolved, Severity: Error, At: Place{File: t.Spec}, Message: treeMessage(t.err)}
			p.Fingerprint = fingerprint(string(Unresolved), "tree", t.Spec)
			var te *TreeError
			if errors.As(t.err, &te) {
				p.Proposal = te.Hint
			}
			r.Problems = append(r.Problems, p)
		}
	}
	for _, sr := range r.Sets {
		r.reportSet(sr, ids, opts)
		r.Counts.add(sr.Counts)
	}
	if r.Counts.Checked == 0 {
		file := "(no document)"
		if len(r.Sets) > 0 {
			file = r.Sets[0].Set.Path
		}
		p := Problem{State: Nothing, At: Place{File: file}, Message: "not one citation was checked: " + r.Counts.String(), Proposal: Nothing.Doc().Do}
		if len(r.Trees) == 0 {
			p.Proposal = "no tree was given: --tree TREE, or [[citations.trees]] in ringaudit.toml"
		}
		r.add(p, "nothing")
	}
	r.sort()
}

func treeMessage(err error) string {
	var te *TreeError
	if errors.As(err, &te) {
		return te.Err.Error()
	}
	return err.Error()
}

func (r *Result) add(p Problem, key ...string) {
	if p.Severity == "" {
		p.Severity = p.State.Severity()
	}
	if p.Fingerprint == "" {
		p.Fingerprint = fingerprint(append([]string{string(p.State)}, key...)...)
	}
	r.Problems = append(r.Problems, p)
}

func (r *Result) reportSet(sr *SetResult, ids map[string]*Set, opts Options) {
	s := sr.Set
	sr.Counts.Unparsed += len(s.Problems)
	sr.Counts.Total += len(s.Problems)
	r.Problems = append(r.Problems, s.Problems...)
	at := r.reportProse(sr, ids)
	checked := make(map[string]int)
	for _, rec := range sr.Records {
		id := rec.Record.RecordID()
		if ref, ok := rec.Record.(*Reference); ok && len([]rune(Fold(ref.Anchor))) > LongAnchorLen {
			r.add(Problem{State: LongAnchor, ID: id, At: Place{File: s.Path, Line: ref.Line},
				Message: fmt.Sprintf("the anchor has %d characters; the shortest text that identifies the place drifts least", len([]rune(Fold(ref.Anchor))))}, s.Name, id)
		}
		for _, f := range rec.Findings {
			sr.Counts.Total++
			v := f.Tree.Version.String()
			switch f.State {
			case Unresolved:
				sr.Counts.Unresolved++
			case NotInRange:
				sr.Counts.Skipped++
			default:
				sr.Counts.Checked++
				checked[v]++
			}
			p := Problem{State: f.State, ID: id, At: at(id), Message: f.Message, Proposal: f.Proposal, Related: f.Related, Version: v}
			switch {
			case f.State == OK && opts.Locked && !f.Locked:
				p.State, p.Message = NotLocked, fmt.Sprintf("%s has nothing for it in %s", lockName(s), v)
				p.Proposal = NotLocked.Doc().Do
			case f.State == Moved && opts.Locked:
				p.Severity = Error
			case f.State == Unresolved && f.Tree.err != nil:
				continue // said once, for the tree
			case f.State == OK || f.State == NotInRange:
				continue
			}
			if v != "" {
				p.Message = v + ": " + p.Message
			}
			r.add(p, s.Name, id, v, rec.Record.digest())
		}
	}
	r.reportLock(sr, checked, opts)
}

func lockName(s *Set) string {
	if s.LockPath == "" {
		return "the lock"
	}
	return s.LockPath
}

// reportProse checks both directions between document and records, and returns
// where a record is pointed at.
func (r *Result) reportProse(sr *SetResult, ids map[string]*Set) func(id string) Place {
	s := sr.Set
	if s.Document == "" {
		return func(id string) Place {
			if rec := s.ids[id]; rec != nil {
				return Place{File: s.Path, Line: rec.RecordLine()}
			}
			return Place{File: s.Path}
		}
	}
	p := ParseProse(s.Name, s.text)
	first := make(map[string]Marker)
	for _, m := range p.Markers {
		if _, ok := first[m.ID]; !ok {
			first[m.ID] = m
		}
		if ids[m.ID] == nil && !unparsedRecord(s, m.ID) {
			r.add(Problem{State: NoRecord, ID: m.ID, At: docPlace(s, m), Message: fmt.Sprintf("[%s] has no record in %s", m.ID, s.Path),
				Proposal: NoRecord.Doc().Do}, s.Name, m.ID)
		}
	}
	for _, m := range p.Unparsed {
		sr.Counts.Unparsed++
		sr.Counts.Total++
		r.add(Problem{State: Unparsed, At: docPlace(s, m), Message: fmt.Sprintf("%s looks like a citation and is none", m.ID),
			Proposal: fmt.Sprintf("expected [%s-R1] for a reference, [%s-A1] for an assertion", s.Name, s.Name)}, s.Name, m.ID)
	}
	for _, m := range p.LineCited {
		r.add(Problem{State: LineCited, At: docPlace(s, m), Message: m.ID + " in prose: nothing checks it, and lines move", Proposal: LineCited.Doc().Do}, s.Name, m.ID)
	}
	for _, rec := range sr.Records {
		id := rec.Record.RecordID()
		if _, ok := first[id]; !ok {
			r.add(Problem{State: Unused, ID: id, At: Place{File: s.Path, Line: rec.Record.RecordLine()},
				Message: fmt.Sprintf("no marker [%s] in %s points at it", id, s.Document), Proposal: Unused.Doc().Do}, s.Name, id)
		}
	}
	for _, sen := range p.Sentences {
		r.reportSentence(s, sen)
	}
	return func(id string) Place {
		if m, ok := first[id]; ok {
			return docPlace(s, m)
		}
		if rec := s.ids[id]; rec != nil {
			return Place{File: s.Path, Line: rec.RecordLine()}
		}
		return Place{File: s.Path}
	}
}

func docPlace(s *Set, m Marker) Place { return Place{File: s.Document, Line: m.Line, Col: m.Col} }

func unparsedRecord(s *Set, id string) bool {
	for _, p := range s.Problems {
		if p.ID == id {
			return true
		}
	}
	return false
}

func (r *Result) reportSentence(s *Set, sen Sentence) {
	backed := false
	for _, id := range sen.Markers {
		m := idRE.FindStringSubmatch(id)
		backed = backed || m != nil && m[1] == "A"
	}
	if len(sen.Universal) > 0 && !backed && sen.Excused == "" {
		w := sen.Universal[0]
		r.add(Problem{State: Universal, At: docPlace(s, w),
			Message:  fmt.Sprintf("%q claims something of all cases, and no assertion backs it: %s", w.ID, short(sen.Text)),
			Proposal: fmt.Sprintf("write an assertion and put [%s-A…] here, weaken the sentence, or say behind it why it is no claim about Linux: <!-- ringaudit:not-a-claim REASON -->", s.Name)},
			s.Name, sen.Text)
		return
	}
	if sen.Code && len(sen.Markers) == 0 && sen.Excused == "" {
		r.add(Problem{State: Unmarked, At: Place{File: s.Document, Line: sen.Line, Col: sen.Col},
			Message: "names kernel code and has no marker: " + short(sen.Text), Proposal: Unmarked.Doc().Do}, s.Name, sen.Text)
	}
}

// reportLock holds the numbers against those of the lock, and with Locked the
// lock against a fresh one.
func (r *Result) reportLock(sr *SetResult, checked map[string]int, opts Options) {
	s, l := sr.Set, sr.Lock
	if l == nil {
		if opts.Locked {
			r.add(Problem{State: NotLocked, At: Place{File: s.Path}, Message: lockName(s) + " is not there", Proposal: "cite check --fix"}, s.Name)
		}
		return
	}
	fell := func(what string, now, was int) {
		if now < was && !opts.Fewer {
			r.add(Problem{State: Fewer, At: Place{File: s.Path}, Message: fmt.Sprintf("%s %s, the lock has %d", plural(now, what), "checked", was), Proposal: Fewer.Doc().Do}, s.Name, what)
		}
	}
	fell("reference", len(s.References), l.References)
	fell("assertion", len(s.Assertions), l.Assertions)
	for _, t := range r.Trees {
		if lt := l.Trees[t.Version.String()]; t.err == nil && lt != nil {
			fell("citation in "+t.Version.String(), checked[t.Version.String()], lt.Checked)
		}
	}
	if !opts.Locked {
		return
	}
	if fresh := sr.Update(UpdateOptions{Fewer: opts.Fewer}); !bytes.Equal(fresh.Encode(), l.Encode()) {
		for _, p := range r.Problems {
			if p.State == NotLocked || p.State == Moved {
				return // said already
			}
		}
		r.add(Problem{State: Stale, At: Place{File: s.LockPath}, Message: "the lock is not what a fresh one would be: " + lockDifference(l, fresh), Proposal: "cite check --fix"}, s.Name)
	}
}

// lockDifference names the first lines that differ.
func lockDifference(a, b *Lock) string {
	x, y := strings.Split(string(a.Encode()), "\n"), strings.Split(string(b.Encode()), "\n")
	for i := 0; i < len(x) && i < len(y); i++ {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d is %q, expected %q", i+1, short(x[i]), short(y[i]))
		}
	}
	return fmt.Sprintf("%d lines, expected %d", len(x), len(y))
}

// sort orders problems by document, place, id and version.
func (r *Result) sort() {
	sort.SliceStable(r.Problems, func(i, j int) bool {
		a, b := r.Problems[i], r.Problems[j]
		switch {
		case a.At.File != b.At.File:
			return a.At.File < b.At.File
		case a.At.Line != b.At.Line:
			return a.At.Line < b.At.Line
		case a.At.Col != b.At.Col:
			return a.At.Col < b.At.Col
		case a.ID != b.ID:
			return idLess(a.ID, b.ID)
		case a.Version != b.Version:
			va, _ := ParseVersion(a.Version)
			vb, _ := ParseVersion(b.Version)
			return va.Compare(vb) < 0
		case a.State != b.State:
			return a.State < b.State
		}
		return a.Message < b.Message
	})
}

// Outcome is what a run comes to; the command line makes it an exit code.
type Outcome int

const (
	Passed     Outcome = iota // every citation ok
	Broken                    // a citation is broken
	Undecided                 // not broken, but something could not be told
	Unreadable                // not one tree could be read
)

// Outcome sums up the problems that the baseline does not excuse.
func (r *Result) Outcome() Outcome {
	unreadable, usable := 0, 0
	for _, t := range r.Trees {
		var te *TreeError
		switch {
		case t.err == nil:
			usable++
		case errors.As(t.err, &te) && te.Unreadable:
			unreadable++
		}
	}
	if usable == 0 && unreadable > 0 {
		return Unreadable
	}
	undecided := false
	for _, p := range r.Problems {
		if p.Severity != Error || p.Excused != "" {
			continue
		}
		switch p.State {
		case Unresolved, Nothing, Fewer:
			undecided = true
		default:
			return Broken
		}
	}
	if undecided {
		return Undecided
	}
	return Passed
}
