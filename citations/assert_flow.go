package citations

import (
	"fmt"
	"strings"
)

// guardedBy finds every place of the subject and asks whether the guard holds
// there: as a condition around it, or as a statement before it in a block
// around it that its release does not end.
func (e *evaluation) guardedBy() {
	subject, guard := tokenText(e.a.Subject), tokenText(e.a.Expect[0])
	var release []string
	if len(e.a.Expect) == 2 {
		release = tokenText(e.a.Expect[1])
	}
	var bad []site
	e.each(func(name string, f *File, c *code, in func(int) bool) {
		word := func(i int) string {
			if i < 0 || i >= len(c.toks) {
				return ""
			}
			return string(c.src[c.toks[i].start:c.toks[i].end])
		}
		for i := range c.toks {
			line := int(c.toks[i].line)
			if c.toks[i].macro || !in(line) || !matchTokens(word, i, subject) || !c.insideBody(i) {
				continue
			}
			e.add(name, f, line)
			if !c.guarded(word, i, guard, release) {
				bad = append(bad, e.sites[len(e.sites)-1])
			}
		}
	})
	switch {
	case len(e.sites) == 0:
		e.refute(nil, "%s is not in the code of %s, so nothing guards it", quote(e.a.Subject), e.a.Scope)
	case len(bad) > 0:
		var where []string
		for _, s := range bad[:min(len(bad), 5)] {
			where = append(where, fmt.Sprintf("%s (line %d of %s)", orNone(s.symbol), s.line, s.path))
		}
		e.refute(bad, "%s does not guard %s in %s", quote(e.a.Expect[0]), quote(e.a.Subject), strings.Join(where, ", "))
	}
}

// stmt is a statement of a function's body.
type stmt struct {
	from, to   int    // tokens
	kind       string // block, if, else, loop, simple
	cond       [2]int // tokens of the condition, of if and loop
	body, alt  *stmt  // of if and loop; alt is the else branch
	list       []*stmt
	terminates bool // control does not go on behind it
}

// guarded tells whether the guard holds at token i.
func (c *code) guarded(word func(int) string, i int, guard, release []string) bool {
	at := c.at[c.toks[i].line-1]
	if at < 0 {
		return false
	}
	open, end := -1, len(c.toks)
	for j := range c.toks {
		l := int(c.toks[j].line)
		if l > c.syms[at].Last {
			end = j
			break
		}
		if open < 0 && l >= c.syms[at].First && !c.toks[j].macro && word(j) == "{" {
			open = j
		}
	}
	if open < 0 || open > i {
		return false
	}
	p := &stmtParser{c: c, word: word, end: end}
	body, _ := p.parse(open)
	has := func(from, to int, what []string) int {
		for j := to - len(what); len(what) > 0 && j >= from; j-- {
			if matchTokens(word, j, what) {
				return j
			}
		}
		return -1
	}
	held := false
	var walk func(s *stmt)
	// linear looks through a statement that lies wholly before i.
	linear := func(s *stmt) {
		g, r := has(s.from, s.to, guard), has(s.from, s.to, release)
		switch {
		case s.kind == "if" && g >= s.cond[0] && g < s.cond[1]:
			// if (guard) return: from here on the test is behind us.
			if s.body.terminates || s.alt != nil && s.alt.terminates {
				held = true
			}
			return
		case s.kind == "if" || s.kind == "loop":
			// A lock taken in one branch only is not held behind it; a release in
			// a branch that leaves does not count here.
			if r >= 0 && !s.body.terminates {
				held = false
			}
			return
		case s.kind == "block":
			for _, x := range s.list {
				walk(x)
			}
			return
		}
		if g > r {
			held = true
		} else if r >= 0 {
			held = false
		}
	}
	walk = func(s *stmt) {
		switch {
		case s == nil || s.from > i:
		case s.to <= i:
			linear(s)
		case s.kind == "block":
			for _, x := range s.list {
				walk(x)
			}
		case s.kind == "if" || s.kind == "loop":
			if i < s.cond[1] {
				if g := has(s.cond[0], i, guard); g >= 0 { // a && guarded(a)
					held = true
				}
				return
			}
			inBody := s.body != nil && i >= s.body.from && i < s.body.to
			if g := has(s.cond[0], s.cond[1], guard); g >= 0 && inBody {
				held = true
			}
			if inBody {
				walk(s.body)
			} else {
				walk(s.alt)
			}
		default:
			g, r := has(s.from, i, guard), has(s.from, i, release)
			if g > r {
				held = true
			} else if r >= 0 {
				held = false
			}
		}
	}
	walk(body)
	return held
}

// stmtParser cuts a function's body into statements. It needs no grammar of
// expressions: brackets and semicolons are enough.
type stmtParser struct {
	c     *code
	word  func(int) string
	end   int
	depth int
}

// next skips preprocessor lines.
func (p *stmtParser) next(i int) int {
	for i < p.end && p.c.toks[i].macro {
		i++
	}
	return i
}

// closing is the token behind the bracket that closes the one at i.
func (p *stmtParser) closing(i int) int {
	depth := 0
	for ; i < p.end; i++ {
		if p.c.toks[i].macro {
			continue
		}
		switch p.word(i) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return p.end
}

// parse is the statement that begins at token i, and the token behind it.
func (p *stmtParser) parse(i int) (*stmt, int) {
	i = p.next(i)
	s := &stmt{from: i, kind: "simple"}
	p.depth++
	defer func() { p.depth-- }()
	if i >= p.end || p.depth > 200 {
		s.to = p.end
		return s, p.end
	}
	w := p.word(i)
	switch {
	case w == "{":
		return p.block(s, i)
	case w == "if" || w == "while" || w == "for" || w == "switch" || p.isLoopMacro(i):
		s.kind = "loop"
		if w == "if" {
			s.kind = "if"
		}
		open := p.next(i + 1)
		if p.word(open) != "(" {
			open = p.next(open + 1)
		}
		j := p.closing(open)
		s.cond = [2]int{open, j}
		s.body, j = p.parse(j)
		if k := p.next(j); w == "if" && p.word(k) == "else" && k < p.end {
			s.alt, j = p.parse(k + 1)
			s.terminates = s.body.terminates && s.alt.terminates
		}
		s.to = j
		return s, j
	case w == "do":
		s.kind = "block"
		body, j := p.parse(i + 1)
		s.list = []*stmt{body}
		for j < p.end && p.word(j) != ";" {
			j++
		}
		s.to = min(j+1, p.end)
		return s, s.to
	case w == "case" || w == "default" || isIdent(w) && p.word(p.next(i+1)) == ":" && p.word(p.next(i+2)) != ":":
		for j := i; j < p.end; j++ {
			if p.word(j) == ":" {
				s.to = j + 1
				return s, j + 1
			}
			if x := p.word(j); x == ";" || x == "}" {
				break
			}
		}
	}
	for j := i; j < p.end; {
		switch x := p.word(j); {
		case p.c.toks[j].macro:
			j++
		case x == "(" || x == "[" || x == "{":
			j = p.closing(j)
		case x == "}":
			s.to = j // a statement without a semicolon: a macro
			return s, j
		case x == ";":
			s.to = j + 1
			s.terminates = w == "return" || w == "goto" || w == "break" || w == "continue"
			return s, j + 1
		default:
			j++
		}
	}
	s.to = p.end
	return s, p.end
}

func (p *stmtParser) block(s *stmt, i int) (*stmt, int) {
	s.kind = "block"
	j := p.next(i + 1)
	for j < p.end && p.word(j) != "}" {
		x, k := p.parse(j)
		if k <= j {
			k = j + 1
		}
		s.list = append(s.list, x)
		s.terminates = x.terminates
		j = p.next(k)
	}
	s.to = min(j+1, p.end)
	return s, s.to
}

// isLoopMacro tells for_each_…(…) { or …; from a call: a call ends in a
// semicolon or an operator.
func (p *stmtParser) isLoopMacro(i int) bool {
	if !isIdent(p.word(i)) || isKeyword(p.word(i)) || p.word(p.next(i+1)) != "(" {
		return false
	}
	j := p.next(p.closing(p.next(i + 1)))
	return j < p.end && (p.word(j) == "{" || strings.HasPrefix(p.word(i), "for_each_") || strings.HasPrefix(p.word(i), "list_for_each"))
}

// format compares the format strings of the scope with those expected.
func (e *evaluation) format() {
	var have []string
	e.each(func(name string, f *File, c *code, in func(int) bool) {
		word := func(i int) string {
			if i < 0 || i >= len(c.toks) {
				return ""
			}
			return string(c.src[c.toks[i].start:c.toks[i].end])
		}
		for i := 0; i < len(c.toks); i++ {
			if w := word(i); !in(int(c.toks[i].line)) || word(i+1) != "(" || !isIdent(w) || !e.prints(w) {
				continue
			}
			depth := 0
			for j := i + 1; j < len(c.toks); j++ {
				w := word(j)
				if w == "(" {
					depth++
				} else if w == ")" {
					if depth--; depth == 0 {
						break
					}
				}
				if w[0] != '"' {
					continue
				}
				var s strings.Builder
				line := int(c.toks[j].line)
				for ; word(j) != "" && word(j)[0] == '"'; j++ {
					s.WriteString(unquoteC(word(j)))
				}
				have = append(have, s.String())
				e.add(name, f, line)
				break // the first string is the format
			}
		}
	})
	n := 0
	for n < len(have) && n < len(e.a.Expect) && have[n] == unquoteC(`"`+e.a.Expect[n]+`"`) {
		n++
	}
	if n == len(have) && n == len(e.a.Expect) {
		return
	}
	var related []site
	if n < len(e.sites) {
		related = e.sites[n : n+1]
	}
	switch {
	case n == len(have):
		e.refute(related, "%s prints %s, expected %d; the next would be %s", e.a.Scope, plural(len(have), "format"), len(e.a.Expect), quote(e.a.Expect[n]))
	case n == len(e.a.Expect):
		e.refute(related, "%s prints %s more than expected: %s on line %d", e.a.Scope, plural(len(have)-n, "format"), quote(have[n]), e.sites[n].line)
	default:
		e.refute(related, "format %d of %s is %s on line %d, expected %s", n+1, e.a.Scope, quote(have[n]), e.sites[n].line, quote(e.a.Expect[n]))
	}
	var all []string
	for _, s := range have {
		all = append(all, "  "+quote(s)+",")
	}
	e.f.Proposal = "correct the sentence; what " + e.tree.Version.String() + " has is expect = [\n" + strings.Join(all, "\n") + "\n]"
}

// prints tells whether a call is one whose format counts.
func (e *evaluation) prints(fn string) bool {
	if e.a.Subject != "" {
		return fn == e.a.Subject
	}
	return strings.HasSuffix(fn, "printf") || strings.HasSuffix(fn, "puts") || strings.HasSuffix(fn, "printk") || strings.HasPrefix(fn, "pr_")
}

// unquoteC is the text of a C string constant with the common escapes resolved.
func unquoteC(s string) string {
	s = strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`)
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '\n':
		case '"', '\\', '\'':
			b.WriteByte(s[i])
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
