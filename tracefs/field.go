// Package tracefs reads the text that the Linux kernel's tracing system prints
// about its ring buffers: the small files of a tracefs instance (live, or a
// saved copy of one), and the texts of trace and trace_pipe.
//
// Everything is read over an [io/fs.FS], so that a live machine, a saved folder
// and a test fixture are one code path. Nothing here writes, and nothing here
// judges: what a number means for the question "what was lost" is package
// audit's to say.
//
// Two habits run through the package. A number that the kernel did not print is
// absent, never zero ([Field].OK). And every number keeps the line it came from
// ([Field].Line, [Field].Text), because that line is the evidence.
package tracefs

import (
	"fmt"
	"strings"
)

// Pos is a place in an input file. Line and Col count from 1; 0 means unknown.
type Pos struct {
	File string
	Line int
	Col  int
}

func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// SyntaxError says that a line of an input is not what its file's format asks
// for. Reading goes on behind it: a SyntaxError takes away one value, never the
// file.
type SyntaxError struct {
	Pos
	Found    string // what stands there, shortened to 80 bytes, quoted when printed
	Expected string // what should stand there
	Hint     string // what to do about it; may be empty
}

func (e *SyntaxError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: found %q, expected %s", e.Pos, Shorten(e.Found, 80), e.Expected)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

// Shorten cuts s to at most n bytes for a message, marking the cut.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

// Field is a value that a file may or may not hold. The zero Field is an absent
// one: OK is false and V means nothing.
type Field[T any] struct {
	V    T
	OK   bool
	File string // the file it stands in, as a path in the fs.FS or the name given to the parser
	Line int    // 1-based line in the file, 0 if absent
	Text string // that line as printed, without its end
}

// Pos is the place of the field's line. The zero Pos if the field is absent.
func (f Field[T]) Pos() Pos { return Pos{File: f.File, Line: f.Line} }

// Unit is the unit of a [Stamp].
type Unit uint8

const (
	// UnitUnknown is the unit of the zero Stamp.
	UnitUnknown Unit = iota
	// Nanoseconds: the trace clock counts time and the kernel printed seconds
	// and microseconds ("17.163142"). Stamp.Value is in nanoseconds.
	Nanoseconds
	// Ticks: the trace clock counts something else (counter, uptime, x86-tsc,
	// ppc-tb, …) and the kernel printed a bare integer. Stamp.Value is that
	// integer.
	Ticks
)

func (u Unit) String() string {
	switch u {
	case Nanoseconds:
		return "s"
	case Ticks:
		return "ticks"
	}
	return "unknown"
}

// Stamp is a point on a trace clock: a number with its unit. Stamps of unlike
// units are never compared or subtracted.
type Stamp struct {
	Value uint64 // nanoseconds or ticks, as Unit says
	Unit  Unit
}

// String prints the stamp as the kernel does, without its padding:
// seconds.microseconds for [Nanoseconds], the bare integer for [Ticks].
func (s Stamp) String() string {
	if s.Unit == Nanoseconds {
		return fmt.Sprintf("%d.%06d", s.Value/1e9, s.Value%1e9/1e3)
	}
	return fmt.Sprint(s.Value)
}
