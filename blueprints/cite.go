package blueprints

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/ringaudit/ringaudit/citations"
	"github.com/ringaudit/ringaudit/tracefs"
)

// refsFile is where a blueprint's records stand: NAME.refs.toml beside NAME.md.
func (bp *Blueprint) refsFile() string { return strings.TrimSuffix(bp.File, ".md") + ".refs.toml" }

// loadCitations reads a blueprint's records and lock. The set is nil where
// there is no refs file.
func (bp *Blueprint) loadCitations() (*citations.Set, *citations.Lock, error) {
	set, err := citations.LoadSet(bp.refsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	lock, err := citations.LoadLock(filepath.FromSlash(set.LockPath))
	return set, lock, err
}

// cite checks the citations of all blueprints in one run, so that each tree is
// read once.
func (res *CheckResult) cite(ctx context.Context, bps []*Blueprint, opt Options) error {
	var sets []*citations.Set
	locks := map[string]*citations.Lock{}
	fault := func(file string, line int, sev Severity, format string, args ...any) {
		res.Faults = append(res.Faults, Fault{Pos: tracefs.Pos{File: file, Line: line}, Rule: RuleCitation, Severity: sev, Message: fmt.Sprintf(format, args...)})
	}
	for _, bp := range bps {
		set, lock, err := bp.loadCitations()
		switch {
		case err != nil:
			fault(bp.refsFile(), 0, Error, "%v", err)
			continue
		case set == nil:
			if bp.Front.Status != "stub" {
				fault(bp.File, 1, Error, "there is no %s beside it: nothing says where the kernel says what this document says", filepath.Base(bp.refsFile()))
			}
			continue
		}
		sets = append(sets, set)
		if lock != nil {
			locks[set.Name] = lock
		}
		if !res.Trees {
			res.Locked += lockCovers(set, lock, func(line int, format string, args ...any) {
				fault(set.Path, line, Undecided, format, args...)
			})
		}
	}
	if len(sets) == 0 {
		return nil
	}
	r, err := citations.Check(ctx, sets, opt.Trees, citations.Options{Locks: locks, Pins: opt.Pins})
	if err != nil {
		return err
	}
	res.Citations = r.Counts
	for _, p := range r.Problems {
		if !res.Trees && (p.State == citations.Nothing || p.State == citations.Fewer || p.State == citations.Unresolved) {
			continue // there was nothing to look them up in
		}
		res.Faults = append(res.Faults, citationFault(p))
	}
	return nil
}

// lockCovers holds the records against the lock where there is no tree to hold
// them against, and counts the entries.
func lockCovers(set *citations.Set, lock *citations.Lock, fail func(line int, format string, args ...any)) (entries int) {
	if set.Schema == 1 {
		return 0 // keeps what it found in the records themselves
	}
	if len(set.Records()) == 0 {
		return 0
	}
	if lock == nil {
		fail(1, "there is no lock %s, and no tree was given: nothing shows that these records hold", filepath.Base(set.LockPath))
		return 0
	}
	for _, rec := range set.Records() {
		got := lock.Records[rec.RecordID()]
		if got == nil || len(got.At) == 0 {
			fail(rec.RecordLine(), "%s is not in the lock, and no tree was given to look it up in", rec.RecordID())
			continue
		}
		entries += len(got.At)
	}
	return entries
}

// citationFault is a problem of the gate as a fault of a blueprint.
func citationFault(p citations.Problem) Fault {
	f := Fault{Pos: tracefs.Pos{File: p.At.File, Line: p.At.Line, Col: p.At.Col}, Rule: RuleCitation,
		Message: fmt.Sprintf("%s: %s", p.State, p.Message)}
	if p.ID != "" && !strings.Contains(p.Message, p.ID) {
		f.Message = fmt.Sprintf("%s: %s: %s", p.ID, p.State, p.Message)
	}
	if p.Version != "" && !strings.Contains(p.Message, p.Version) {
		f.Message += " (" + p.Version + ")"
	}
	switch {
	case p.Excused != "":
		f.Severity, f.Hint = Note, "excused: "+p.Excused
	case p.State == citations.Unresolved:
		f.Severity = Undecided
	case p.Severity != citations.Error:
		f.Severity = Note
	}
	if p.Proposal != "" {
		f.Detail = strings.Split(strings.TrimRight(p.Proposal, "\n"), "\n")
	}
	return f
}

// macroHeaders are searched for macros beside the files that a blueprint cites.
var macroHeaders = []string{
	"include/linux/ring_buffer.h", "include/linux/ring_buffer_types.h", "include/linux/trace_events.h", "include/linux/trace.h",
	"include/linux/kprobes.h", "include/linux/rethook.h", "include/linux/bpf.h", "include/uapi/linux/bpf.h",
	"include/linux/ftrace.h", "kernel/trace/trace.h", "kernel/trace/trace_probe.h", "kernel/trace/ring_buffer.c", "kernel/trace/trace.c",
}

// findMacros looks names up in trees: in the files that the blueprint cites and
// in the headers of tracing. versions are those of the trees that could be read.
func findMacros(ctx context.Context, bp *Blueprint, names []string, trees []*citations.Tree) (found map[string][]macro, versions []string, err error) {
	found = map[string][]macro{}
	if len(trees) == 0 {
		return found, nil, nil
	}
	paths := slices.Clone(macroHeaders)
	if set, _, err := bp.loadCitations(); err == nil && set != nil {
		for _, r := range set.References {
			if !slices.Contains(paths, r.Path) {
				paths = append(paths, r.Path)
			}
		}
	}
	type record struct {
		ID     string `toml:"id"`
		Path   string `toml:"path"`
		Anchor string `toml:"anchor"`
		Note   string `toml:"note"`
	}
	var records []record
	of := map[string]string{}
	for _, n := range names {
		for _, p := range paths {
			id := fmt.Sprintf("macro-R%d", len(records)+1)
			of[id] = n
			records = append(records, record{ID: id, Path: p, Anchor: "#define " + n + "(", Note: "looked up"})
		}
	}
	if len(records) == 0 { // the trees still tell their versions
		records = append(records, record{ID: "macro-R1", Path: macroHeaders[0], Anchor: "#define no_such_macro(", Note: "looked up"})
	}
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(map[string]any{"schema": 2, "references": records}); err != nil {
		return nil, nil, err
	}
	set, err := citations.ParseSet("macro", "macro.refs.toml", text.Bytes())
	if err != nil {
		return nil, nil, err
	}
	r, err := citations.Check(ctx, []*citations.Set{set}, trees, citations.Options{NoSearch: true})
	if err != nil {
		return nil, nil, err
	}
	for _, t := range r.Trees {
		if t.Err() == nil {
			versions = append(versions, t.Version.String())
		}
	}
	for _, v := range versions {
		for _, s := range r.Sets {
			for _, rec := range s.Records {
				f := rec.In(v)
				n := of[rec.Record.RecordID()]
				if f == nil || len(f.Places) == 0 || f.State != citations.OK && f.State != citations.Ambiguous {
					continue
				}
				if slices.ContainsFunc(found[n], func(m macro) bool { return m.version == v }) {
					continue // the first file of the list that has it
				}
				found[n] = append(found[n], macro{version: v, path: f.Places[0].File, line: f.Places[0].Line})
			}
		}
	}
	return found, versions, nil
}
