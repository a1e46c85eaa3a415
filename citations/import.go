package citations

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// Schema 1 keeps these in the record, schema 2 in the lock.
var (
	lockKeyRE   = regexp.MustCompile(`^\s*(kernel|confirmed|line|context)\s*=\s*([^#]*?)\s*(#.*)?$`)
	schemaRE    = regexp.MustCompile(`^(\s*schema\s*=\s*)1\b`)
	tableHeadRE = regexp.MustCompile(`^\s*\[`)
)

// Import turns a refs file of schema 1 into one of schema 2 and the lock that
// holds what it no longer does: kernel, confirmed, line and context. Comments
// and the order of records stay as they are. The two say all that the one did:
// Import reads its own result back and compares.
func Import(name, file string, data []byte) (refs []byte, lock *Lock, err error) {
	old, err := ParseSet(name, file, data)
	if err != nil {
		return nil, nil, err
	}
	if old.Schema != 1 {
		return nil, nil, fmt.Errorf("%s: found schema %d, expected schema 1", file, old.Schema)
	}
	if len(old.Problems) > 0 {
		p := old.Problems[0]
		return nil, nil, fmt.Errorf("%s:%d: %s: %s; correct it first, so that nothing is lost", file, p.At.Line, p.ID, p.Message)
	}
	var out bytes.Buffer
	inRecord, multi := false, ""
	for line := range strings.SplitAfterSeq(string(data), "\n") {
		text := strings.TrimRight(line, "\r\n")
		end := line[len(text):]
		if multi != "" { // inside a string of several lines
			if strings.Contains(text, multi) {
				multi = ""
			}
			out.WriteString(line)
			continue
		}
		for _, q := range []string{`"""`, "'''"} {
			if strings.Count(text, q)%2 == 1 && !strings.HasPrefix(strings.TrimSpace(text), "#") {
				multi = q
			}
		}
		switch m := lockKeyRE.FindStringSubmatch(text); {
		case headRE.MatchString(text):
			inRecord = true
		case tableHeadRE.MatchString(text) && !strings.Contains(text, "="):
			inRecord = false
		case inRecord && m != nil && multi == "":
			if m[3] != "" {
				out.WriteString(m[3] + end)
			}
			continue
		case !inRecord && schemaRE.MatchString(text):
			text = schemaRE.ReplaceAllString(text, "${1}2")
		}
		out.WriteString(text + end)
	}
	refs = out.Bytes()
	lock = importLock(old)
	return refs, lock, sameRecords(name, file, old, refs, lock)
}

func importLock(old *Set) *Lock {
	l := NewLock(old.Name)
	l.References = len(old.References)
	for _, r := range old.References {
		if r.Kernel == "" {
			continue
		}
		v, _ := ParseVersion(r.Kernel)
		e := LockEntry{Path: r.Path, Context: r.Context, Imported: true, Unconfirmed: !r.Confirmed}
		if r.LockedLine > 0 {
			e.Lines = []int{r.LockedLine}
		}
		l.Records[r.ID] = &LockRecord{At: map[string]LockEntry{v.String(): e}}
		t := l.Trees[v.String()]
		if t == nil {
			t = &LockTree{Files: make(map[string]string)}
			l.Trees[v.String()] = t
		}
		if r.Confirmed {
			t.Checked++
		}
	}
	return l
}

// sameRecords proves that nothing was lost.
func sameRecords(name, file string, old *Set, refs []byte, lock *Lock) error {
	now, err := ParseSet(name, file, refs)
	if err != nil {
		return fmt.Errorf("%s: its form is not one that can be imported line by line: %w", file, err)
	}
	if len(now.Problems) > 0 || len(now.References) != len(old.References) {
		return fmt.Errorf("%s: its form is not one that can be imported line by line (%d of %d records came through)", file, len(now.References), len(old.References))
	}
	for i, a := range old.References {
		b := now.References[i]
		if a.ID != b.ID || a.Path != b.Path || a.Anchor != b.Anchor || a.Note != b.Note {
			return fmt.Errorf("%s: %s would not come through unchanged", file, a.ID)
		}
		if rec := lock.Records[b.ID]; rec != nil {
			rec.Digest = b.digest()
		}
	}
	return nil
}
