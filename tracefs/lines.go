package tracefs

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// maxSmall is the most that is read of a file that the kernel prints small. The
// largest of them by far is a kprobe_events with thousands of probes.
const maxSmall = 8 << 20

// Line is a line of a file that was kept as it stands.
type Line struct {
	Line int    // 1-based
	Text string // without its end, shortened to 200 bytes
}

// srcLine is a line of a small file while it is being parsed.
type srcLine struct {
	n    int
	text string
	cut  bool // the last line, and it has no end: its value may be cut off
}

// readSmall reads a whole small file. A file beyond maxSmall bytes is not one.
func readSmall(r io.Reader, name, expected string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSmall+1))
	if err != nil {
		return nil, &FileError{File: name, Err: err}
	}
	if len(data) > maxSmall {
		return nil, &FormatError{File: name, Found: string(data[:64]), Expected: expected,
			Hint: "it is larger than " + strconv.Itoa(maxSmall>>20) + " MiB, which such a file never is"}
	}
	return data, nil
}

// splitLines cuts data into lines, without their ends: "\n" or "\r\n". A UTF-8
// byte order mark before the first line and NUL bytes behind the last one (a
// stats text inside a trace.dat ends in one) are no part of any line.
func splitLines(data []byte) []srcLine {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if t := bytes.TrimRight(data, "\x00"); len(t) < len(data) && bytes.HasSuffix(t, []byte("\n")) {
		data = t
	}
	var out []srcLine
	for n := 1; len(data) > 0; n++ {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		out = append(out, srcLine{n: n, text: string(line), cut: !ended})
		data = rest
	}
	return out
}

func keepLine(l srcLine) Line { return Line{Line: l.n, Text: Shorten(l.text, 200)} }

func fieldOf[T any](file string, l srcLine, v T) Field[T] {
	return Field[T]{V: v, OK: true, File: file, Line: l.n, Text: l.text}
}

// oneLine parses a file that holds one value on its first line that is not
// blank. An end of line is not asked for: the kernel always prints one, but
// nothing tells a value that an editor stripped of it from a cut one, except for
// numbers, where a cut would change the value in silence. There cutOK is false.
func oneLine(r io.Reader, name, expected string) (srcLine, error) {
	data, err := readSmall(r, name, expected)
	if err != nil {
		return srcLine{}, err
	}
	for _, l := range splitLines(data) {
		if strings.TrimSpace(l.text) != "" {
			return l, nil
		}
	}
	return srcLine{}, &FormatError{File: name, Expected: expected,
		Hint: "an empty copy of a tracefs file usually means that it was copied by a tool that trusts the file size; use cat"}
}

// parseInt64 reads a decimal number with an optional minus sign, as %ld prints
// it. Nothing else: no plus sign, no underscore, no other base.
func parseInt64(p Pos, s, expected string) (int64, *SyntaxError) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || !allDigits(digits) {
		return 0, &SyntaxError{Pos: p, Found: s, Expected: expected}
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, &SyntaxError{Pos: p, Found: s, Expected: expected, Hint: rangeHint(s)}
	}
	return v, nil
}

func parseUint64(p Pos, s, expected string) (uint64, *SyntaxError) {
	if s == "" || !allDigits(s) {
		return 0, &SyntaxError{Pos: p, Found: s, Expected: expected}
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, &SyntaxError{Pos: p, Found: s, Expected: expected, Hint: rangeHint(s)}
	}
	return v, nil
}

func rangeHint(s string) string {
	return "a number of " + strconv.Itoa(len(strings.TrimPrefix(s, "-"))) +
		" digits does not fit the kernel's 64-bit counters: the file is damaged or was edited"
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// parseStamp reads a time as the kernel prints it: seconds with six decimals
// where the trace clock counts nanoseconds, a bare integer where it does not.
func parseStamp(p Pos, s string) (Stamp, *SyntaxError) {
	const expected = `a time such as "17.163142", or an integer where the clock counts no time`
	sec, frac, dotted := strings.Cut(s, ".")
	if !dotted {
		v, err := parseUint64(p, s, expected)
		return Stamp{Value: v, Unit: Ticks}, err
	}
	if len(frac) != 6 || !allDigits(frac) || sec == "" || !allDigits(sec) {
		return Stamp{}, &SyntaxError{Pos: p, Found: s, Expected: expected}
	}
	v, err := parseUint64(p, sec, expected)
	if err != nil {
		return Stamp{}, err
	}
	us, _ := strconv.ParseUint(frac, 10, 64)
	if v >= 18446744073 { // 2^64 ns
		return Stamp{}, &SyntaxError{Pos: p, Found: s, Expected: expected,
			Hint: "more seconds than a 64-bit count of nanoseconds can hold"}
	}
	return Stamp{Value: v*1e9 + us*1e3, Unit: Nanoseconds}, nil
}

// errCutNumber is the SyntaxError for a number on a last line without an end.
func errCutNumber(p Pos, s, expected string) *SyntaxError {
	return &SyntaxError{Pos: p, Found: s, Expected: expected + ` and an end of line`,
		Hint: "the file is cut off inside this line: digits may be missing, so the value is not used"}
}
