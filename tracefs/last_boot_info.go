package tracefs

import (
	"io"
	"strconv"
	"strings"
)

// LastBoot is last_boot_info, which an instance has whose buffer lies in memory
// that survives a reboot (v6.12 and later). The events in such a buffer may come
// from the boot before, and their loss history is not kept with them.
//
// The text has changed between versions; what is common to them is kept:
//
//	text delta:	0		v6.12: the move of the kernel's text since the last boot
//	data delta:	0
//	Offset: 1a000000		v6.14: KASLR offset
//	ffffffff81000000	[kernel]	later: addresses of the last boot, modules below
//	# Current		later: the buffer holds this boot's events
type LastBoot struct {
	// Current is true where the file says "# Current", and false where it gives
	// an address of the last boot. Absent where the version's text does not tell:
	// the deltas of v6.12 are printed in a fresh boot too.
	Current Field[bool]

	TextDelta Field[int64] // v6.12
	DataDelta Field[int64] // v6.12
	Kernel    Field[uint64]
	Modules   []Line // the modules' lines, "ADDRESS NAME"
	Unknown   []Line
	Errors    []*SyntaxError
}

// ParseLastBoot reads last_boot_info. Errors as [ParseStats]; an empty file is a
// [FormatError].
func ParseLastBoot(r io.Reader, name string) (*LastBoot, error) {
	const expected = `"text delta:", "ADDRESS [kernel]" or "# Current"`
	b := &LastBoot{}
	data, err := readSmall(r, name, expected)
	if err != nil {
		return b, err
	}
	any := false
	for _, l := range splitLines(data) {
		if strings.TrimSpace(l.text) != "" {
			any = true
			b.line(name, l)
		}
	}
	if !any {
		return b, &FormatError{File: name, Expected: expected}
	}
	return b, nil
}

func (b *LastBoot) line(name string, l srcLine) {
	text := strings.TrimSpace(l.text)
	at := Pos{File: name, Line: l.n}
	number := func(f *Field[int64], s string) {
		s = strings.TrimSpace(s)
		v, serr := parseInt64(at, s, "a decimal number")
		if serr == nil && l.cut {
			serr = errCutNumber(at, s, "a decimal number")
		}
		if serr != nil {
			b.Errors = append(b.Errors, serr)
			return
		}
		*f = fieldOf(name, l, v)
	}
	if text == "# Current" {
		b.Current = fieldOf(name, l, true)
		return
	}
	if v, ok := strings.CutPrefix(text, "text delta:"); ok {
		number(&b.TextDelta, v)
		return
	}
	if v, ok := strings.CutPrefix(text, "data delta:"); ok {
		number(&b.DataDelta, v)
		return
	}
	addr, what, two := strings.Cut(text, "\t")
	if v, ok := strings.CutPrefix(text, "Offset:"); ok {
		addr, what, two = strings.TrimSpace(v), "[kernel]", true
	}
	v, err := strconv.ParseUint(addr, 16, 64)
	switch {
	case !two || err != nil || l.cut:
		b.Unknown = append(b.Unknown, keepLine(l))
	case what == "[kernel]":
		b.Kernel = fieldOf(name, l, v)
		b.Current = fieldOf(name, l, false)
	default:
		b.Modules = append(b.Modules, keepLine(l))
	}
}
