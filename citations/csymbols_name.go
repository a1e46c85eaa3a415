package citations

import "strings"

// assigned is the name left of the first "=" of the declaration.
func (z *symbolizer) assigned() string {
	for n, i := range z.decl {
		if z.text(i) != "=" {
			continue
		}
		if n > 0 && z.text(z.decl[n-1]) == ")" {
			if g := z.groups(); len(g) > 0 && g[0][2] == n-1 { // DEFINE_PER_CPU(type, name) = …
				name, _, _ := z.generated()
				return name
			}
		}
		for n--; n >= 0; n-- {
			switch t := z.text(z.decl[n]); {
			case t == "]" || t == "[":
			case isIdent(t):
				return t
			}
		}
	}
	return ""
}

// groups are the (…) of the declaration: index in decl of the identifier before
// each, and of its parentheses.
func (z *symbolizer) groups() (out [][3]int) {
	for n := 1; n < len(z.decl); n++ {
		if z.ch(z.decl[n]) != '(' || !isIdent(z.text(z.decl[n-1])) {
			continue
		}
		end := n + 1
		for end < len(z.decl) && z.ch(z.decl[end]) != ')' {
			end++
		}
		out = append(out, [3]int{n - 1, n, end})
	}
	return out
}

// Macros that stand before or behind a function's head and look like calls.
var attributeMacros = map[string]bool{"__attribute__": true, "__attribute": true, "__printf": true, "__scanf": true, "__acquires": true,
	"__releases": true, "__must_hold": true, "__aligned": true, "__section": true, "__alloc_size": true, "__cond_acquires": true,
	"__acquires_shared": true, "__releases_shared": true, "__must_hold_shared": true, "__no_context_analysis": true, "__guarded_by": true,
	"__assume_aligned": true, "__nonnull": true, "__malloc": true, "__realloc_size": true, "__asm__": true, "asm": true, "typeof": true,
	"__typeof__": true, "__deprecated_msg": true, "__diagnose_as": true, "__alias": true, "__noscs": true, "__counted_by": true,
	"__context__": true, "__latent_entropy": true, "_Static_assert": true, "static_assert": true, "__declspec": true, "sizeof": true}

// classify names the declaration that a top-level brace follows.
func (z *symbolizer) classify() (name, kind string, alias []string) {
	if name := z.assigned(); name != "" {
		return name, "variable", nil
	}
	if z.isInvocation() {
		if name, alias, ok := z.generated(); ok {
			return name, "generated", alias
		}
	}
	for _, g := range z.groups() {
		if id := z.text(z.decl[g[0]]); !attributeMacros[id] {
			return id, "function", nil
		}
	}
	for n, i := range z.decl {
		switch z.text(i) {
		case "struct", "union", "enum":
			if n+1 < len(z.decl) {
				// The tag is the last identifier: attributes may stand before it.
				if tag := z.text(z.decl[len(z.decl)-1]); isIdent(tag) {
					return z.tag(n), "struct", nil
				}
			}
			return z.tag(n), "struct", nil
		}
	}
	return "", "block", nil
}

// tag is the first identifier behind struct, union or enum that is not an
// attribute.
func (z *symbolizer) tag(n int) string {
	for _, i := range z.decl[n+1:] {
		t := z.text(i)
		if isIdent(t) && !attributeMacros[t] && t != "__packed" {
			return t
		}
	}
	return ""
}

// isInvocation tells whether the declaration is MACRO(…) and nothing else but
// storage words before it.
func (z *symbolizer) isInvocation() bool {
	if len(z.decl) < 3 || len(z.decl) > 12 {
		return false
	}
	g := z.groups()
	if len(g) == 0 || g[0][2] != len(z.decl)-1 {
		return false
	}
	id := z.text(z.decl[g[0][0]])
	if strings.ToUpper(id) != id || strings.Trim(id, "_0123456789") == "" || attributeMacros[id] {
		return false
	}
	for _, i := range z.decl[:g[0][0]] {
		switch t := z.text(i); {
		case t == "static" || t == "extern" || t == "inline" || t == "notrace" || t == "asmlinkage" || t == "const" || strings.HasPrefix(t, "__"):
		default:
			return false
		}
	}
	return true
}

// Macros whose second argument is the name that they define.
var secondArgument = []string{"DEFINE_EVENT", "DEFINE_PER_CPU", "DECLARE_PER_CPU", "DEFINE_STATIC_CALL", "DEFINE_IDR_CLASS", "DEFINE_KFIFO"}

// generated is what the invocation that is the declaration defines.
func (z *symbolizer) generated() (name string, alias []string, ok bool) {
	g := z.groups()[0]
	macro := z.text(z.decl[g[0]])
	if strings.HasPrefix(macro, "EXPORT_") || strings.HasPrefix(macro, "MODULE_") || strings.HasPrefix(macro, "ALLOW_ERROR_INJECTION") {
		return "", nil, false
	}
	args := z.arguments(z.decl[g[1]])
	if len(args) == 0 {
		return "", nil, false
	}
	name = args[0]
	for _, m := range secondArgument {
		if strings.HasPrefix(macro, m) && len(args) > 1 {
			name = args[1]
		}
	}
	if !isIdent(name) {
		return "", nil, false
	}
	alias = []string{macro + "(" + name + ")"}
	switch {
	case strings.HasPrefix(macro, "SYSCALL_DEFINE"):
		alias = append(alias, "sys_"+name, "__do_sys_"+name)
	case strings.HasPrefix(macro, "COMPAT_SYSCALL_DEFINE"):
		alias = append(alias, "compat_sys_"+name)
	case strings.HasPrefix(macro, "TRACE_EVENT"), strings.HasPrefix(macro, "DEFINE_EVENT"):
		alias = append(alias, "trace_"+name)
	}
	return name, alias, true
}

// arguments are the first two arguments of the call whose parenthesis is token
// open, where they are single words.
func (z *symbolizer) arguments(open int) (args []string) {
	depth, n, word := 0, 0, ""
	for i := open; i < len(z.toks) && len(args) < 2; i++ {
		if z.toks[i].macro {
			continue
		}
		switch c := z.ch(i); c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
			if depth == 0 {
				return append(args, word)
			}
		case ',':
			if depth == 1 {
				args = append(args, word)
				word, n = "", 0
			}
		default:
			if n++; n == 1 {
				word = z.text(i)
			} else {
				word = "" // more than a word
			}
		}
	}
	return args
}

// isKRHead tells whether the declaration so far is the head of a function in
// the old style, name(a, b) int a; char *b; with its body still to come: what
// is declared last is one of the names in the parentheses.
func (z *symbolizer) isKRHead() bool {
	if len(z.decl) < 6 {
		return false
	}
	g := z.groups()
	if len(g) == 0 || len(z.decl) < g[0][2]+3 {
		return false
	}
	behind := z.decl[g[0][2]+1:]
	last := z.text(behind[len(behind)-1])
	if !isIdent(last) || !isIdent(z.text(behind[0])) {
		return false
	}
	for i := z.decl[g[0][1]] + 1; i < z.decl[g[0][2]]; i++ {
		t := z.text(i)
		if t != "," && !isIdent(t) {
			return false
		}
		if t == last {
			return true
		}
	}
	return false
}
