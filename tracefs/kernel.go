package tracefs

import (
	"io"
	"strconv"
	"strings"
)

// Kernel is what uname -a or /proc/version says about the machine. Neither is a
// tracefs file: they are read where somebody saved them beside the tracefs
// files, as uname-a and proc-version.
type Kernel struct {
	Release Field[string] // "6.1.0-57-cloud-amd64": the name of the build
	Version Field[string] // "6.1.192-3": the distribution's version in the build line, which a backport hides behind Release
	Machine Field[string] // "x86_64"; /proc/version does not tell
	Node    Field[string] // the host's name; /proc/version does not tell
}

// ParseUname reads the output of uname -a. The error is a [FileError], a
// [FormatError] or a [SyntaxError].
//
//	Linux (none) 6.1.0-57-cloud-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3 (2026-11-26) x86_64 GNU/Linux
func ParseUname(r io.Reader, name string) (Kernel, error) {
	const expected = `the output of uname -a, "Linux HOST RELEASE #1 SMP … MACHINE GNU/Linux"`
	var k Kernel
	l, err := oneLine(r, name, expected)
	if err != nil {
		return k, err
	}
	w := strings.Fields(l.text)
	if len(w) < 4 || w[0] != "Linux" || !strings.Contains(w[2], ".") {
		return k, &SyntaxError{Pos: Pos{File: name, Line: l.n, Col: 1}, Found: l.text, Expected: expected}
	}
	k.Node = fieldOf(name, l, w[1])
	k.Release = fieldOf(name, l, w[2])
	k.Version = distroVersion(name, l)
	// The machine is the last word, or stands before "GNU/Linux"; GNU uname may
	// print processor and platform behind it, both the same or "unknown".
	for i := len(w) - 1; i > 3; i-- {
		if isMachine(w[i]) {
			k.Machine = fieldOf(name, l, w[i])
			break
		}
	}
	return k, nil
}

// ParseProcVersion reads /proc/version. Errors as [ParseUname].
//
//	Linux version 6.1.0-57-cloud-amd64 (debian-kernel@…) (gcc-12 …) #1 SMP … Debian 6.1.192-3 (2026-11-26)
func ParseProcVersion(r io.Reader, name string) (Kernel, error) {
	const expected = `/proc/version, "Linux version RELEASE (…) …"`
	var k Kernel
	l, err := oneLine(r, name, expected)
	if err != nil {
		return k, err
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(l.text), "Linux version ")
	w := strings.Fields(rest)
	if !ok || len(w) == 0 || !strings.Contains(w[0], ".") {
		return k, &SyntaxError{Pos: Pos{File: name, Line: l.n, Col: 1}, Found: l.text, Expected: expected}
	}
	k.Release = fieldOf(name, l, w[0])
	k.Version = distroVersion(name, l)
	return k, nil
}

// distroVersion finds "Debian 6.1.192-3" or "Ubuntu 6.8.0-31.31" behind the
// build number: the one place where a distribution prints the true version.
func distroVersion(name string, l srcLine) Field[string] {
	_, build, ok := strings.Cut(l.text, " #")
	if !ok {
		return Field[string]{}
	}
	w := strings.Fields(build)
	for i := 0; i+1 < len(w); i++ {
		if (w[i] == "Debian" || w[i] == "Ubuntu") && w[i+1][0] >= '0' && w[i+1][0] <= '9' {
			return fieldOf(name, l, w[i+1])
		}
	}
	return Field[string]{}
}

func isMachine(w string) bool {
	switch w {
	case "x86_64", "i386", "i486", "i586", "i686", "aarch64", "arm64", "ppc", "ppc64", "ppc64le",
		"s390", "s390x", "riscv32", "riscv64", "mips", "mips64", "loongarch64", "sparc", "sparc64",
		"parisc", "parisc64", "alpha", "ia64", "m68k", "sh4", "arc", "xtensa", "openrisc", "csky":
		return true
	}
	return strings.HasPrefix(w, "armv")
}

// Numbers is the leading major.minor.patch of the kernel's true version: of
// Version where there is one, else of Release. A missing patch is 0. ok is false
// where there is neither. A version is a hint for reading a report; no behaviour
// is decided by it, because distributions carry later changes.
func (k Kernel) Numbers() (major, minor, patch int, ok bool) {
	s := k.Release.V
	if k.Version.OK {
		s = k.Version.V
	} else if !k.Release.OK {
		return 0, 0, 0, false
	}
	var n [3]int
	parts := strings.SplitN(s, ".", 3)
	if len(parts) < 2 {
		return 0, 0, 0, false
	}
	for i, p := range parts {
		end := 0
		for end < len(p) && p[end] >= '0' && p[end] <= '9' {
			end++
		}
		v, err := strconv.Atoi(p[:end])
		if err != nil {
			if i < 2 {
				return 0, 0, 0, false
			}
			v = 0
		}
		n[i] = v
		if end < len(p) {
			break
		}
	}
	return n[0], n[1], n[2], true
}

// LongSize is the size of a long in bytes on the kernel's machine, 4 or 8, or 0
// where the name does not tell. A 32-bit user space may see "i686" on a 64-bit
// kernel: header_page is better evidence.
func (k Kernel) LongSize() int {
	m := k.Machine.V
	switch {
	case m == "x86_64" || m == "aarch64" || m == "s390x" || m == "alpha" || m == "ia64" || strings.Contains(m, "64"):
		return 8
	case m == "":
		return 0
	}
	return 4
}
