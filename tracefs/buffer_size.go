package tracefs

import (
	"io"
	"strings"
)

// Size is buffer_size_kb, per_cpu/cpuN/buffer_size_kb or buffer_total_size_kb:
// how large the kernel says a ring buffer is, in kB, rounded down.
//
// What stands behind the number differs by kernel (update_buffer_entries in
// kernel/trace/trace.c): the size that was asked for up to v5.8 and in v5.15, the
// size that was granted in later 5.10 and 6.1 kernels and from v6.6 on.
type Size struct {
	KB Field[int64] // "11"; absent where Mixed is set

	// ExpandedKB is the M of "N (expanded: M)": nobody has used the buffer yet,
	// it has its minimal size N and will get M at first use.
	ExpandedKB Field[int64]

	// Mixed: the file says "X", the CPUs have unlike sizes. Only buffer_size_kb
	// of a whole buffer says so.
	Mixed bool

	// Remote is "loaded" or "unloaded" in "N (loaded)": the buffer belongs to a
	// remote (a hypervisor; v7.1 and later). Empty otherwise.
	Remote string

	Line Line // the line as it stands
}

const sizeExpected = `a size in kB: "11", "7 (expanded: 1408)" or "X"`

// ParseSize reads a buffer_size_kb or buffer_total_size_kb file. The error is a
// [FileError], a [FormatError] or a [SyntaxError].
func ParseSize(r io.Reader, name string) (Size, error) {
	var s Size
	l, err := oneLine(r, name, sizeExpected)
	if err != nil {
		return s, err
	}
	s.Line = keepLine(l)
	text := strings.TrimSpace(l.text)
	at := Pos{File: name, Line: l.n, Col: 1}
	if text == "X" {
		s.Mixed = true
		return s, nil
	}
	num, rest, more := strings.Cut(text, " ")
	v, serr := parseSize(at, num)
	if serr != nil {
		return s, serr
	}
	if !more {
		if l.cut {
			return s, errCutNumber(at, text, sizeExpected)
		}
		s.KB = fieldOf(name, l, v)
		return s, nil
	}
	inner, ok := strings.CutPrefix(strings.TrimSpace(rest), "(")
	inner, ok2 := strings.CutSuffix(inner, ")")
	if !ok || !ok2 {
		return s, &SyntaxError{Pos: at, Found: l.text, Expected: sizeExpected}
	}
	if m, ok := strings.CutPrefix(inner, "expanded:"); ok {
		x, serr := parseSize(at, strings.TrimSpace(m))
		if serr != nil {
			return s, serr
		}
		s.ExpandedKB = fieldOf(name, l, x)
	} else if inner == "loaded" || inner == "unloaded" {
		s.Remote = inner
	} else {
		return s, &SyntaxError{Pos: at, Found: l.text, Expected: sizeExpected}
	}
	s.KB = fieldOf(name, l, v)
	return s, nil
}

func parseSize(at Pos, s string) (int64, *SyntaxError) {
	v, serr := parseInt64(at, s, sizeExpected)
	if serr == nil && v < 0 {
		serr = &SyntaxError{Pos: at, Found: s, Expected: sizeExpected}
	}
	return v, serr
}

// ParseNumber reads a file that holds one decimal number that is not negative:
// buffer_subbuf_size_kb (kB; v6.8 and later), buffer_percent (0…100; 4.20 and
// later), saved_cmdlines_size (entries), pagesize and nproc of a saved copy. A
// number on a line without an end is refused: digits may be missing. expected
// says in words what the number is.
func ParseNumber(r io.Reader, name, expected string) (Field[int64], error) {
	l, err := oneLine(r, name, expected)
	if err != nil {
		return Field[int64]{}, err
	}
	at := Pos{File: name, Line: l.n, Col: 1}
	text := strings.TrimSpace(l.text)
	v, serr := parseInt64(at, text, expected)
	switch {
	case serr != nil:
		return Field[int64]{}, serr
	case v < 0:
		return Field[int64]{}, &SyntaxError{Pos: at, Found: text, Expected: expected}
	case l.cut:
		return Field[int64]{}, errCutNumber(at, text, expected)
	}
	return fieldOf(name, l, v), nil
}

// ParseBool reads a file that holds "0" or "1": tracing_on, options/NAME.
func ParseBool(r io.Reader, name string) (Field[bool], error) {
	const expected = `"0" or "1"`
	l, err := oneLine(r, name, expected)
	if err != nil {
		return Field[bool]{}, err
	}
	switch strings.TrimSpace(l.text) {
	case "0":
		return fieldOf(name, l, false), nil
	case "1":
		return fieldOf(name, l, true), nil
	}
	return Field[bool]{}, &SyntaxError{Pos: Pos{File: name, Line: l.n, Col: 1}, Found: l.text, Expected: expected}
}

// ParseWord reads a file that holds one line of free text, without the blanks
// around it: current_tracer ("nop", "function", …), proc-cmdline.
func ParseWord(r io.Reader, name, expected string) (Field[string], error) {
	l, err := oneLine(r, name, expected)
	if err != nil {
		return Field[string]{}, err
	}
	return fieldOf(name, l, strings.TrimSpace(l.text)), nil
}
