package citations

import "bytes"

// Symbol is a named stretch of a C file: a function, a structure, union or
// enum, a macro, a variable with an initialiser, or what a macro defines
// (SYSCALL_DEFINE2(name, …), TRACE_EVENT(name, …)).
type Symbol struct {
	Name  string
	Alias []string // other names: "SYSCALL_DEFINE2(name)", "sys_name"
	Kind  string   // function, struct, macro, variable, typedef, generated
	// First and Last are its lines, the return type included.
	First, Last int
}

func (s *Symbol) is(name string) bool {
	if s.Name == name {
		return true
	}
	for _, a := range s.Alias {
		if a == name {
			return true
		}
	}
	return false
}

// bracket is an open bracket; sym is the symbol that a brace at the top level
// belongs to, -1 for none.
type bracket struct {
	ch  byte
	sym int
}

// symbolizer walks the tokens of a file and keeps the brackets.
type symbolizer struct {
	src   []byte
	toks  []token
	stack []bracket
	decl  []int // tokens of the declaration at the top level so far
	syms  []Symbol
	conds []cond
	// extend is the symbol that a top-level brace just ended and that reaches to
	// the semicolon, -1 for none.
	extend int
}

// cond is what held before an #if, to begin its other branches from there.
type cond struct {
	stack   []bracket
	decl    []int
	end     []bracket // at the end of the first branch
	endDecl []int
	first   bool
}

// symbols finds the symbols of comment-free C source. Where the preprocessor
// makes braces appear twice (a function with two heads), the first branch
// counts; a closing brace in the first column ends whatever is open, as kernel
// style has it.
func symbols(src []byte, toks []token) []Symbol {
	z := &symbolizer{src: src, toks: toks, extend: -1}
	for i := 0; i < len(toks); i++ {
		if toks[i].macro {
			i = z.preprocessor(i)
			continue
		}
		z.token(i)
	}
	last := 1
	if len(toks) > 0 {
		last = int(toks[len(toks)-1].line)
	}
	for i := range z.syms {
		if z.syms[i].Last == 0 {
			z.syms[i].Last = last
		}
	}
	return z.syms
}

func (z *symbolizer) text(i int) string { return string(z.src[z.toks[i].start:z.toks[i].end]) }
func (z *symbolizer) ch(i int) byte     { return z.src[z.toks[i].start] }
func (z *symbolizer) line(i int) int    { return int(z.toks[i].line) }

func (z *symbolizer) firstColumn(i int) bool {
	at := z.toks[i].start
	return at == 0 || z.src[at-1] == '\n'
}

// preprocessor handles the directive that begins at token i and returns its
// last token.
func (z *symbolizer) preprocessor(i int) int {
	end := i
	for end+1 < len(z.toks) && z.toks[end+1].macro && !(z.ch(end+1) == '#' && z.toks[end+1].line > z.toks[end].line && !z.continued(end)) {
		end++
	}
	if end == i {
		return end
	}
	switch z.text(i + 1) {
	case "define":
		if i+2 <= end {
			z.syms = append(z.syms, Symbol{Name: z.text(i + 2), Kind: "macro", First: z.line(i), Last: z.line(end)})
		}
	case "if", "ifdef", "ifndef":
		if len(z.conds) > maxStack {
			z.conds = z.conds[:0]
		}
		z.conds = append(z.conds, cond{stack: clone(z.stack), decl: clone(z.decl), first: true})
	case "else", "elif":
		if n := len(z.conds); n > 0 {
			c := &z.conds[n-1]
			if c.first {
				c.first, c.end, c.endDecl = false, clone(z.stack), clone(z.decl)
			}
			z.closeMissing(c.stack, z.line(i))
			z.stack, z.decl = clone(c.stack), clone(c.decl)
		}
	case "endif":
		if n := len(z.conds); n > 0 {
			c := z.conds[n-1]
			z.conds = z.conds[:n-1]
			if !c.first {
				z.closeMissing(c.end, z.line(i))
				z.stack, z.decl = c.end, c.endDecl
				// A function with two heads was ended at the #else: it is open again.
				for _, b := range z.stack {
					if b.sym >= 0 {
						z.syms[b.sym].Last = 0
					}
				}
			}
		}
	}
	return end
}

func clone[T any](s []T) []T { return append([]T(nil), s...) }

// continued tells whether the line of token i ends in a backslash.
func (z *symbolizer) continued(i int) bool {
	at := int(z.toks[i].end)
	nl := bytes.IndexByte(z.src[at:], '\n')
	return nl > 0 && z.src[at+nl-1] == '\\'
}

// closeMissing ends the symbols that are open now and will not be in next.
func (z *symbolizer) closeMissing(next []bracket, line int) {
	for n, b := range z.stack {
		if b.sym >= 0 && z.syms[b.sym].Last == 0 && (n >= len(next) || next[n].sym != b.sym) {
			z.syms[b.sym].Last = line
		}
	}
}

// More tokens than a declaration, and more open brackets than code has: what
// goes on longer is not C, and must not take time that grows with its square.
const (
	maxDecl  = 2000
	maxStack = 500
)

func (z *symbolizer) token(i int) {
	c := z.ch(i)
	if len(z.decl) > maxDecl {
		z.decl = z.decl[:0]
	}
	if len(z.stack) > maxStack {
		z.stack = z.stack[:0]
	}
	if len(z.stack) == 0 && z.firstColumn(i) && isIdentByte(c) && z.isInvocation() {
		z.endDecl(i - 1) // MACRO(…) without a semicolon
	}
	switch c {
	case '{':
		if len(z.stack) > 0 && z.stack[0].ch == '(' && z.firstColumn(i) {
			z.stack = z.stack[:0] // a parenthesis that a macro left open
		}
		b := bracket{ch: c, sym: -1}
		if len(z.stack) == 0 {
			if z.isExternC() {
				z.decl = z.decl[:0]
				return
			}
			b.sym = z.open(i)
		}
		z.stack = append(z.stack, b)
	case '(', '[':
		if len(z.stack) == 0 {
			z.decl = append(z.decl, i)
		}
		z.stack = append(z.stack, bracket{ch: c, sym: -1})
	case ')', ']':
		z.pop(c)
		if len(z.stack) == 0 {
			z.decl = append(z.decl, i)
		}
	case '}':
		if z.firstColumn(i) && len(z.stack) > 1 && z.stack[0].ch == '{' {
			z.stack = z.stack[:1]
		}
		if n := len(z.stack); n > 0 && z.stack[n-1].ch == '{' {
			b := z.stack[n-1]
			z.stack = z.stack[:n-1]
			if len(z.stack) == 0 {
				z.close(b, i)
			}
		} else if n > 0 && z.pop('}') && len(z.stack) == 0 {
			z.decl = z.decl[:0]
		}
	case ';':
		if len(z.stack) == 0 {
			z.endDecl(i)
		}
	default:
		if len(z.stack) == 0 {
			z.decl = append(z.decl, i)
		}
	}
}

// pop closes the innermost bracket of the kind, and what is open inside it.
func (z *symbolizer) pop(c byte) bool {
	open := map[byte]byte{')': '(', ']': '[', '}': '{'}[c]
	for n := len(z.stack) - 1; n >= 0; n-- {
		if z.stack[n].ch == open {
			z.stack = z.stack[:n]
			return true
		}
		if z.stack[n].ch == '{' {
			return false // a stray parenthesis does not end a block
		}
	}
	return false
}

func (z *symbolizer) isExternC() bool {
	return len(z.decl) == 2 && z.text(z.decl[0]) == "extern" && z.ch(z.decl[1]) == '"'
}

// open names what the top-level brace at token i begins, and returns its index.
func (z *symbolizer) open(i int) int {
	name, kind, alias := z.classify()
	first := z.line(i)
	if len(z.decl) > 0 {
		first = z.line(z.decl[0])
	}
	if z.extend >= 0 && kind != "function" {
		// struct a { … } b = { … }: one declaration, one more symbol.
		first = z.line(i)
	}
	z.syms = append(z.syms, Symbol{Name: name, Alias: alias, Kind: kind, First: first})
	return len(z.syms) - 1
}

func (z *symbolizer) close(b bracket, i int) {
	if b.sym < 0 {
		return
	}
	s := &z.syms[b.sym]
	s.Last = z.line(i)
	if s.Kind == "function" || s.Kind == "generated" {
		z.decl, z.extend = z.decl[:0], -1
		return
	}
	z.extend = b.sym
	z.decl = append(z.decl, i)
}

// endDecl ends the declaration at token i, its semicolon.
func (z *symbolizer) endDecl(i int) {
	if z.isKRHead() {
		return
	}
	defer func() { z.decl, z.extend = z.decl[:0], -1 }()
	if len(z.decl) == 0 {
		return
	}
	if z.extend >= 0 {
		s := &z.syms[z.extend]
		s.Last = z.line(i)
		if s.Name == "" && z.text(z.decl[0]) == "typedef" {
			if last := z.decl[len(z.decl)-1]; isIdent(z.text(last)) {
				s.Name, s.Kind = z.text(last), "typedef"
			}
		}
		return
	}
	if z.isInvocation() {
		if name, alias, ok := z.generated(); ok {
			z.syms = append(z.syms, Symbol{Name: name, Alias: alias, Kind: "generated", First: z.line(z.decl[0]), Last: z.line(i)})
		}
		return
	}
	if name := z.assigned(); name != "" {
		z.syms = append(z.syms, Symbol{Name: name, Kind: "variable", First: z.line(z.decl[0]), Last: z.line(i)})
	}
}
