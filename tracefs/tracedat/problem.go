package tracedat

import (
	"fmt"
	"strings"
)

// ProblemKind tells what is wrong.
type ProblemKind uint8

const (
	// Truncated: the file ends before something that it announces, or was
	// never finished.
	Truncated ProblemKind = iota + 1
	// Damaged: bytes are there and cannot be what trace-cmd wrote.
	Damaged
	// Note: nothing is missing; the reader did something that its user should
	// know of.
	Note
)

func (k ProblemKind) String() string {
	switch k {
	case Truncated:
		return "truncated"
	case Damaged:
		return "damaged"
	case Note:
		return "note"
	}
	return "unknown"
}

// Problem is a place in a file that is not as it should be.
type Problem struct {
	Kind ProblemKind
	// Offset is the place in the file: of the number that is wrong, or of the
	// thing that is cut.
	Offset int64
	// Section is the part of the file, in words.
	Section string
	// Found and Expected say what stands there and what should.
	Found, Expected string
	// Lost says what cannot be known because of it; empty if nothing.
	Lost string
	// Hint says what to do about it; may be empty.
	Hint string

	// Buffer, CPU and Page say whose data is concerned: HasCPU is false where
	// it is not that of one CPU, and Page is the number of the sub-buffer
	// within that CPU's data, -1 where it is not one.
	Buffer string
	CPU    int
	HasCPU bool
	Page   int64
}

// String says it in a line, without the name of the file.
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at offset %d", p.Section, p.Offset)
	if p.HasCPU {
		b.WriteString(", ")
		if p.Buffer != "" {
			fmt.Fprintf(&b, "buffer %q, ", p.Buffer)
		}
		b.WriteString(cpuWords(p.CPU))
		if p.Page >= 0 {
			fmt.Fprintf(&b, ", sub-buffer %d", p.Page)
		}
	}
	fmt.Fprintf(&b, ": %s: %s", p.Kind, p.Found)
	if p.Expected != "" {
		b.WriteString(", expected " + p.Expected)
	}
	if p.Lost != "" {
		b.WriteString("; " + p.Lost)
	}
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// problem adds a Problem that is no one CPU's.
func (f *File) problem(p Problem) {
	p.Page = -1
	if p.Kind == Note {
		f.Notes = append(f.Notes, p)
		return
	}
	// A file made to have problems shall not fill the memory with them.
	if len(f.Problems) < maxProblems {
		f.Problems = append(f.Problems, p)
	}
}

// maxProblems is how many problems are kept of each part of a file.
const maxProblems = 1000

func (d *CPUData) problem(p Problem) { d.problems = append(d.problems, d.of(p)) }

// of makes p a problem of this CPU.
func (d *CPUData) of(p Problem) Problem {
	p.Buffer, p.CPU, p.HasCPU = d.b.Name, d.CPU, true
	if p.Section == "" {
		p.Section = "trace data"
	}
	return p
}
