package citations

import (
	"bytes"
	"slices"
	"strings"
)

// assertion breaks what an assertion says, in the way that its kind is there to
// notice.
func (m *mutant) assertion(a *Assertion) {
	file, sym := a.scope()
	if strings.HasSuffix(file, "/") {
		file = m.folderFile(a)
	}
	f := m.f.Tree.files[file]
	// A line of the scope behind which a statement may be put.
	open := m.openLine(a, f, sym)
	insert := func(what, stmt string) {
		if open == 0 {
			m.skip(what, "the scope has no function to put it into")
			return
		}
		e := edit(f.data)
		e.insertAfter(open, stmt)
		m.try(what, file, file, e.bytes(), Refuted)
	}
	switch a.Kind {
	case OnlySetter:
		insert("add a second setter", "\t"+lvalue(a.Subject)+" = 0;")
		insert("add a setter that takes the address", "\tringaudit_touch(&"+lvalue(a.Subject)+");")
	case Counted:
		insert("add one more", "\t"+a.Subject)
	case Absent:
		insert("add what is to be absent", "\t"+a.Subject)
	case Order:
		e := edit(f.data)
		last := m.f.Places[len(m.f.Places)-1].Line
		e.insertAfter(last, "\t"+a.Expect[0])
		m.try("repeat the first behind the last", file, file, e.bytes(), Refuted)
		m.without("remove one of them", a, file, f, a.Expect[len(a.Expect)-1])
	case Calls:
		m.calls(a, file, f, insert)
	case GuardedBy:
		insert("use it without the guard", "\t"+strings.TrimSuffix(a.Subject, ";")+";")
	case Format:
		fn := a.Subject
		if fn == "" {
			fn = "seq_printf"
		}
		insert("print one more line", "\t"+fn+`(m, "ringaudit: %d\n", 1);`)
	}
	if sym != "" {
		m.without("rename the symbol of the scope", a, file, f, sym)
	}
	if scope, _ := a.scope(); !strings.HasSuffix(scope, "/") {
		m.try("remove the file", file, "", nil, Gone)
	}
}

// lvalue is a subject that can stand alone.
func lvalue(s string) string {
	if strings.HasPrefix(s, "->") || strings.HasPrefix(s, ".") {
		return "ringaudit" + s
	}
	return s
}

// folderFile is a file of a folder to edit: one with functions, and the first
// that the assertion found if there is one.
func (m *mutant) folderFile(a *Assertion) string {
	for _, p := range m.f.Places {
		return p.File
	}
	dir, _ := a.scope()
	names := m.f.Tree.folder(dir)
	for _, n := range names {
		if strings.HasSuffix(n, ".c") {
			return n
		}
	}
	return names[0]
}

// openLine is the opening line of a function in which the assertion expects
// nothing, inside its scope; 0 if there is none.
func (m *mutant) openLine(a *Assertion, f *File, sym string) int {
	c := f.parse()
	if sym != "" {
		for i := range c.syms {
			if c.syms[i].is(sym) && c.syms[i].Last > c.syms[i].First {
				return c.bodyLine(&c.syms[i])
			}
		}
		return 0
	}
	return f.otherBody(func(s *Symbol) bool {
		return !slices.ContainsFunc(a.Expect, s.is) && s.Name != a.Subject
	})
}

// without breaks every use of a word or text in the scope's file.
func (m *mutant) without(what string, a *Assertion, file string, f *File, text string) {
	var data []byte
	if isIdent(text) {
		data = replaceWord(f.data, text, text+"_ringaudit")
	} else {
		lines := f.find([]string{Fold(text)})[Fold(text)]
		e := edit(f.data)
		e.remove(lines)
		data = e.bytes()
	}
	m.try(what, file, file, data, Refuted, Gone)
}

func replaceWord(data []byte, old, with string) []byte {
	var out []byte
	for {
		i := bytes.Index(data, []byte(old))
		if i < 0 {
			return append(out, data...)
		}
		end := i + len(old)
		out = append(out, data[:i]...)
		if (i == 0 || !isIdentByte(data[i-1])) && (end == len(data) || !isIdentByte(data[end])) {
			out = append(out, with...)
		} else {
			out = append(out, old...)
		}
		data = data[end:]
	}
}

func (m *mutant) calls(a *Assertion, file string, f *File, insert func(what, stmt string)) {
	if a.Subject == "" {
		m.without("remove a call", a, file, f, a.Expect[0])
		return
	}
	if _, sym := a.scope(); sym == "" {
		insert("add a caller", "\t"+a.Subject+"();")
	}
	m.without("remove the calls", a, file, f, a.Subject)
}
