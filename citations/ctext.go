package citations

import "bytes"

// stripComments is C source with comments, and the branches of "#if 0", blanked:
// every byte of them but the newlines is a space, so that lines and columns stay.
// Strings and character constants stay as they are.
func stripComments(src []byte) []byte {
	out := bytes.Clone(src)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '/' && i+1 < len(src) && src[i+1] == '*':
			end := bytes.Index(src[i+2:], []byte("*/"))
			to := len(src)
			if end >= 0 {
				to = i + 2 + end + 2
			}
			blank(i, to)
			i = to
		case c == '/' && i+1 < len(src) && src[i+1] == '/':
			to := i
			for to < len(src) && (src[to] != '\n' || src[to-1] == '\\') {
				to++
			}
			blank(i, to)
			i = to
		case c == '"':
			i = skipQuoted(src, i, '"')
		case c == '\'':
			i = skipQuoted(src, i, '\'')
		default:
			i++
		}
	}
	blankDead(out, blank)
	return out
}

// skipQuoted is the index behind the constant that begins at i. A quote that is
// not closed on its line is no constant (an apostrophe in an #error): only the
// quote itself is skipped.
func skipQuoted(src []byte, i int, q byte) int {
	for j := i + 1; j < len(src); j++ {
		switch src[j] {
		case '\\':
			j++
		case '\n':
			return i + 1
		case q:
			return j + 1
		}
	}
	return i + 1
}

// blankDead blanks what stands between "#if 0" and its #else or #endif.
func blankDead(src []byte, blank func(from, to int)) {
	if !bytes.Contains(src, []byte("if")) {
		return
	}
	dead, depth := -1, 0 // where the dead branch began; #ifs inside it
	for at := 0; at < len(src); {
		end := bytes.IndexByte(src[at:], '\n')
		if end < 0 {
			end = len(src)
		} else {
			end += at
		}
		name, rest := directive(src[at:end])
		switch name {
		case "if", "ifdef", "ifndef":
			switch {
			case dead >= 0:
				depth++
			case name == "if" && string(bytes.TrimSpace(rest)) == "0":
				dead = end
			}
		case "else", "elif", "endif":
			if dead >= 0 && depth == 0 {
				blank(dead, at)
				dead = -1
			} else if dead >= 0 && name == "endif" {
				depth--
			}
		}
		at = end + 1
	}
	if dead >= 0 {
		blank(dead, len(src))
	}
}

// directive is the name and the rest of a preprocessor line, "" for any other.
func directive(line []byte) (name string, rest []byte) {
	line = bytes.TrimLeft(line, " \t")
	if len(line) == 0 || line[0] != '#' {
		return "", nil
	}
	line = bytes.TrimLeft(line[1:], " \t")
	n := 0
	for n < len(line) && isIdentByte(line[n]) {
		n++
	}
	return string(line[:n]), line[n:]
}

// token is a word of C: an identifier or number, a string or character constant
// with its quotes, or an operator.
type token struct {
	start, end int32
	line       int32
	macro      bool // inside a preprocessor line
}

// Operators of more than one character that must stay whole, longest first.
var operators = []string{"<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##"}

// tokenize cuts comment-free C source into tokens.
func tokenize(src []byte) []token {
	toks := make([]token, 0, len(src)/5)
	line, macro, lineStart := int32(1), false, true
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			if i == 0 || src[i-1] != '\\' {
				macro = false
			}
			line++
			lineStart = true
			i++
			continue
		case isBlank(c):
			i++
			continue
		case c == '\\':
			i++
			continue
		case c == '#' && lineStart:
			macro = true
		}
		lineStart = false
		j := i + 1
		switch {
		case isIdentByte(c):
			for j < len(src) && (isIdentByte(src[j]) || src[j] == '.' && c >= '0' && c <= '9') {
				j++
			}
		case c == '"' || c == '\'':
			if j = skipQuoted(src, i, c); j == i+1 {
				i++ // a quote alone
				continue
			}
		default:
			for _, op := range operators {
				if bytes.HasPrefix(src[i:], []byte(op)) {
					j = i + len(op)
					break
				}
			}
		}
		toks = append(toks, token{int32(i), int32(j), line, macro})
		line += int32(bytes.Count(src[i:j], []byte("\n"))) // a string continued by a backslash
		i = j
	}
	return toks
}

// tokenText is the tokens of a text as strings.
func tokenText(s string) []string {
	src := stripComments([]byte(s))
	var out []string
	for _, t := range tokenize(src) {
		out = append(out, string(src[t.start:t.end]))
	}
	return out
}
