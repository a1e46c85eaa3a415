package report

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/ringaudit/ringaudit/audit"
)

// renderJSON writes the canonical form: keys in the order of the types, two
// spaces of indent, what fits on one line on one line, and a final newline.
func renderJSON(w io.Writer, d *Document, _ Options) error {
	flat, err := marshal(whole(d))
	if err != nil {
		return err
	}
	_, err = w.Write(layOut(flat, jsonWidth))
	return err
}

// jsonWidth is how long a line of canonical JSON may be before it is broken.
const jsonWidth = 132

// marshal is json.Marshal that leaves <, > and & as they are: what stands in a
// trace should be found by grep.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return plainReplacement(bytes.TrimRight(b.Bytes(), "\n")), nil
}

// plainReplacement writes the character that stands for bytes which are no UTF-8
// as itself: encoding/json escapes it where it makes one and not where the text
// has one, and then a document that was read would not have the bytes of the one
// that was written.
func plainReplacement(b []byte) []byte {
	escaped := []byte(`\ufffd`)
	if !bytes.Contains(b, escaped) {
		return b
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\\')
		if i < 0 || i+1 == len(b) {
			return append(out, b...)
		}
		out = append(out, b[:i]...)
		if b = b[i:]; bytes.HasPrefix(b, escaped) {
			out = append(out, "\uFFFD"...)
			b = b[len(escaped):]
			continue
		}
		out = append(out, b[:2]...) // another escape, of a backslash perhaps
		b = b[2:]
	}
	return out
}

// whole is d with an empty list where a list is nil, so that JSON says [] and
// never null. d itself is left as it is.
func whole(d *Document) *Document {
	c := *d
	c.Sources = orEmpty(c.Sources)
	c.Buffers = append([]Buffer{}, c.Buffers...)
	for i := range c.Buffers {
		b := &c.Buffers[i]
		b.Sources = orEmpty(b.Sources)
		b.CPUs = orEmpty(b.CPUs)
		b.Views = orEmpty(b.Views)
	}
	c.Probes = orEmpty(c.Probes)
	c.Findings = append([]Finding{}, c.Findings...)
	for i := range c.Findings {
		f := &c.Findings[i]
		f.Evidence = orEmpty(f.Evidence)
		f.Citations = orEmpty(f.Citations)
	}
	c.BlindSpots = orEmpty(c.BlindSpots)
	return &c
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// layOut breaks compact JSON into lines: an object or list that fits into
// width columns, key included, and holds at most one level of others stays on
// its line.
func layOut(flat []byte, width int) []byte {
	l := layouter{in: flat, width: width, out: make([]byte, 0, len(flat)*3/2)}
	l.measure()
	l.value(0, 0)
	return append(l.out, '\n')
}

type layouter struct {
	in    []byte
	pos   int
	out   []byte
	width int
	// spans holds, in the order of their first bytes, how long each object or
	// list is and how deep it nests.
	spans []span
	next  int
}

type span struct{ cols, depth int }

// measure fills spans in one pass.
func (l *layouter) measure() {
	type frame struct{ span, cols, depth int }
	var open []frame
	cols, quoted := 0, false
	for i := 0; i < len(l.in); i++ {
		c := l.in[i]
		if quoted {
			switch {
			case c == '\\':
				i++
				cols += 2
			case c == '"':
				quoted = false
				cols++
			case utf8.RuneStart(c):
				cols++
			}
			continue
		}
		switch c {
		case '"':
			quoted = true
			cols++
		case ',', ':':
			cols += 2 // and the space after it
		case '{', '[':
			open = append(open, frame{span: len(l.spans), cols: cols, depth: 0})
			l.spans = append(l.spans, span{})
			cols++
		case '}', ']':
			cols++
			f := open[len(open)-1]
			open = open[:len(open)-1]
			l.spans[f.span] = span{cols: cols - f.cols, depth: f.depth + 1}
			if n := len(open); n > 0 {
				open[n-1].depth = max(open[n-1].depth, f.depth+1)
			}
		default:
			cols++
		}
	}
}

// value writes the next value; col is the column it starts in.
func (l *layouter) value(indent, col int) {
	c := l.in[l.pos]
	if c != '{' && c != '[' {
		l.scalar()
		return
	}
	s := l.spans[l.next]
	l.next++
	if s.depth <= 2 && col+s.cols < l.width {
		l.oneLine()
		return
	}
	l.out = append(l.out, c)
	l.pos++
	closing := c + 2 // { and }, [ and ] stand two apart
	if l.in[l.pos] == closing {
		l.out = append(l.out, closing)
		l.pos++
		return
	}
	for {
		l.newline(indent + 1)
		col := 2 * (indent + 1)
		if c == '{' {
			start := len(l.out)
			l.scalar()
			l.pos++ // the colon
			l.out = append(l.out, ':', ' ')
			col += utf8.RuneCount(l.out[start:])
		}
		l.value(indent+1, col)
		sep := l.in[l.pos]
		l.pos++
		if sep == closing {
			l.newline(indent)
			l.out = append(l.out, closing)
			return
		}
		l.out = append(l.out, sep)
	}
}

// oneLine copies one object or list with a space after each comma and colon.
func (l *layouter) oneLine() {
	depth := 0
	for {
		c := l.in[l.pos]
		switch c {
		case '{', '[':
			if depth > 0 {
				l.next++
			}
			depth++
		case '}', ']':
			depth--
		case '"':
			l.scalar()
			continue
		}
		l.out = append(l.out, c)
		l.pos++
		if c == ',' || c == ':' {
			l.out = append(l.out, ' ')
		}
		if depth == 0 {
			return
		}
	}
}

// scalar copies a string, number, true, false or null.
func (l *layouter) scalar() {
	start := l.pos
	if l.in[l.pos] == '"' {
		for l.pos++; l.in[l.pos] != '"'; l.pos++ {
			if l.in[l.pos] == '\\' {
				l.pos++
			}
		}
		l.pos++
	} else {
		for l.pos < len(l.in) && !bytes.ContainsRune([]byte(",:]}"), rune(l.in[l.pos])) {
			l.pos++
		}
	}
	l.out = append(l.out, l.in[start:l.pos]...)
}

func (l *layouter) newline(indent int) {
	l.out = append(l.out, '\n')
	for range indent {
		l.out = append(l.out, ' ', ' ')
	}
}

// known tells whether c says anything.
func known(c *audit.Count) bool { return c != nil && !c.IsUnknown() }
