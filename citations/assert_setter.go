package citations

import (
	"regexp"
	"strings"
)

// isLvalue tells whether a text can name what is assigned to: identifiers,
// members, indexes, dereferences. It may begin with -> or . to mean that member
// of anything.
func isLvalue(s string) bool {
	words := tokenText(s)
	if len(words) == 0 {
		return false
	}
	ident := false
	for _, w := range words {
		switch {
		case isIdent(w):
			ident = true
		case w == "->" || w == "." || w == "[" || w == "]" || w == "*" || w == "(" || w == ")" || w[0] >= '0' && w[0] <= '9':
		default:
			return false
		}
	}
	return ident
}

// Functions and macros that take an address and do not write through it.
var readerRE = regexp.MustCompile(`(^|_)(read|load|READ_ONCE|load_acquire|sizeof|offsetof|typeof|likely|unlikely|container_of|to_user|put_user|is_locked|locked|lock|unlock|lockdep|assert|held|empty|first|next|entry|prefetch|printf|printk|puts|WARN_ON|BUG_ON|trylock|irqsave|irqrestore|irq|ACCESS_PRIVATE|list_head|cmp|memcmp|test_bit|hash|cpumask_test_cpu|to_work|init_name)(_|$|[0-9])|^(READ_ONCE|smp_load_acquire|rcu_dereference.*|rcu_access_pointer|trace_seq_.*)$`)

// Functions that may match readerRE by one of their words and do write.
var writerRE = regexp.MustCompile(`(^|_)(set|inc|dec|add|sub|xchg|cmpxchg|try_cmpxchg|write|store|clear|init|INIT|copy|memset|memcpy|memmove|scanf|assign|swap|fetch|from_user|get_user|WRITE|or|and|xor|andnot|change_bit|del|splice|move|reset|put|insert|append|push|pop)(_|$|[0-9])`)

// Macros and functions that write to their first argument as it stands, without
// an address being taken. swap writes to both.
var argumentWriters = map[string]int{"WRITE_ONCE": 1, "rcu_assign_pointer": 1, "RCU_INIT_POINTER": 1, "smp_store_mb": 1, "smp_store_release": 1,
	"swap": 2, "get_user": 1, "__get_user": 1, "memset": 1, "memcpy": 1, "memmove": 1, "strcpy": 1, "strscpy": 1, "strlcpy": 1, "this_cpu_write": 1,
	"this_cpu_add": 1, "this_cpu_inc": 1, "this_cpu_dec": 1, "__this_cpu_write": 1, "__this_cpu_inc": 1, "__this_cpu_dec": 1, "__this_cpu_add": 1,
	"raw_cpu_write": 1, "get_user_nofault": 1, "list_replace_init": 1}

var assignments = map[string]bool{"=": true, "+=": true, "-=": true, "*=": true, "/=": true, "%=": true, "&=": true, "|=": true, "^=": true,
	"<<=": true, ">>=": true, "++": true, "--": true}

// onlySetter finds every place that sets the subject.
func (e *evaluation) onlySetter() {
	subject := tokenText(e.a.Subject)
	e.each(func(name string, f *File, c *code, in func(int) bool) {
		word := func(i int) string {
			if i < 0 || i >= len(c.toks) {
				return ""
			}
			return string(c.src[c.toks[i].start:c.toks[i].end])
		}
		for i := range c.toks {
			if !in(int(c.toks[i].line)) || !matchTokens(word, i, subject) {
				continue
			}
			if c.isSet(word, i, i+len(subject), subject) {
				line := int(c.toks[i].line)
				if n := len(e.sites); n > 0 && e.sites[n-1].line == line && e.sites[n-1].path == name {
					continue
				}
				e.add(name, f, line)
			}
		}
	})
	e.compareSymbols("sets")
}

func matchTokens(word func(int) string, i int, want []string) bool {
	for n, w := range want {
		have := word(i + n)
		if n == 0 && (w == "->" || w == ".") && (have == "->" || have == ".") {
			continue // a member of anything, also of a value
		}
		if have != w {
			return false
		}
	}
	return true
}

// isSet tells whether the subject in tokens from to end is written to.
func (c *code) isSet(word func(int) string, from, end int, subject []string) bool {
	// What stands behind: an index is still the subject; a member is not.
	for word(end) == "[" {
		depth := 0
		for ; end < len(c.toks); end++ {
			switch word(end) {
			case "[":
				depth++
			case "]":
				depth--
			}
			if depth == 0 {
				end++
				break
			}
		}
	}
	switch word(end) {
	case "->", ".", "(":
		return false
	}
	// A closing parenthesis around the subject alone: (x)++ and (*p) = 1.
	after := end
	start := c.expressionStart(word, from, subject)
	for word(after) == ")" && word(start-1) == "(" && !isIdent(word(start-2)) {
		after, start = after+1, start-1
	}
	if assignments[word(after)] {
		// "= …" behind a member with a leading dot is an initialiser: it sets too.
		return true
	}
	if p := word(start - 1); p == "++" || p == "--" {
		return true
	}
	fn, arg := c.callAround(word, start)
	if word(start-1) == "&" && (!isOperand(word(start-2)) || c.isCast(word, start-2)) {
		// Its address is taken: by a function that is known to read, by one that
		// is known to write, or by something that may do either.
		fn, _ = c.callAround(word, start-1)
		return fn == "" || writerRE.MatchString(fn) || !readerRE.MatchString(fn)
	}
	return arg > 0 && arg <= argumentWriters[fn]
}

// isOperand tells whether a binary operator may follow the word.
func isOperand(w string) bool {
	if w == "" {
		return false
	}
	switch w {
	case "return", "case", "else", "do", "sizeof":
		return false
	}
	return w == ")" || w == "]" || isIdentByte(w[0])
}

// isCast tells whether the parenthesis that closes at token i is around a type.
func (c *code) isCast(word func(int) string, i int) bool {
	if word(i) != ")" {
		return false
	}
	depth, open := 0, i
	for ; open >= 0; open-- {
		if word(open) == ")" {
			depth++
		} else if word(open) == "(" {
			if depth--; depth == 0 {
				break
			}
		}
	}
	if open < 0 || i-open < 2 || isIdent(word(open-1)) && !isKeyword(word(open-1)) {
		return false
	}
	first, last := word(open+1), word(i-1)
	return last == "*" || strings.HasSuffix(last, "_t") ||
		strings.Contains(" struct union enum const void unsigned signed char short int long u8 u16 u32 u64 s8 s16 s32 s64 ", " "+first+" ")
}

// expressionStart goes back over the base of a member expression: for a subject
// "->missed" in a->b->missed it is the token of a.
func (c *code) expressionStart(word func(int) string, from int, subject []string) int {
	i := from
	need := subject[0] == "->" || subject[0] == "."
	for {
		if p := word(i - 1); p == "->" || p == "." {
			need, i = true, i-1
		}
		if !need {
			return i
		}
		need = false
		switch p := word(i - 1); {
		case isIdent(p) && !assignments[p]:
			i--
		case p == "]" || p == ")":
			open := map[string]string{"]": "[", ")": "("}[p]
			depth := 0
			for i--; i >= 0; i-- {
				if word(i) == p {
					depth++
				} else if word(i) == open {
					if depth--; depth == 0 {
						break
					}
				}
			}
			if isIdent(word(i - 1)) {
				i--
			}
			if p == "]" {
				need = false
			}
		default:
			return i
		}
	}
}

// callAround is the function whose argument begins at token i, and the number
// of the argument from 1; "" if token i does not begin an argument.
func (c *code) callAround(word func(int) string, i int) (fn string, arg int) {
	switch word(i - 1) {
	case "(", ",":
	case ")": // a cast: (type *)&x
		depth := 0
		j := i - 1
		for ; j >= 0; j-- {
			if word(j) == ")" {
				depth++
			} else if word(j) == "(" {
				if depth--; depth == 0 {
					break
				}
			}
		}
		if j > 0 && !isIdent(word(j-1)) {
			return c.callAround(word, j)
		}
		return "", 0
	default:
		return "", 0
	}
	arg = 1
	depth := 0
	for j := i - 1; j >= 0; j-- {
		switch word(j) {
		case ")", "]", "}":
			depth++
		case "[", "{":
			if depth--; depth < 0 {
				return "", 0
			}
		case "(":
			if depth--; depth < 0 {
				if w := word(j - 1); isIdent(w) && !isKeyword(w) {
					return w, arg
				}
				if j > 0 {
					// Parentheses inside an argument: look further out.
					return c.callAround(word, j)
				}
				return "", 0
			}
		case ",":
			if depth == 0 {
				arg++
			}
		case ";":
			if depth == 0 {
				return "", 0
			}
		}
	}
	return "", 0
}

func isKeyword(w string) bool {
	return strings.Contains(" if while for switch return do else case sizeof typeof ", " "+w+" ")
}
