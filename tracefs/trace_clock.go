package tracefs

import (
	"io"
	"strings"
)

// Clock is trace_clock: the clock that stamps the events, and the others that
// the kernel offers.
//
//	local [global] counter uptime perf mono mono_raw boot tai x86-tsc
type Clock struct {
	Current   Field[string]
	Available []string // in the kernel's order, the current one among them
}

// Unit is the unit that stamps of the current clock are printed in, as far as
// its name tells: see [ClockUnit].
func (c Clock) Unit() Unit {
	if !c.Current.OK {
		return UnitUnknown
	}
	return ClockUnit(c.Current.V)
}

// ClockUnit is the unit of a trace clock by its name (trace_clocks in
// kernel/trace/trace.c, and the architectures' own): [Nanoseconds] for a clock
// that counts time, [Ticks] for one that counts something else, [UnitUnknown]
// for a name that this package does not know. The dot in a printed stamp is
// better evidence where there is one.
func ClockUnit(name string) Unit {
	switch name {
	case "local", "global", "perf", "mono", "mono_raw", "boot", "tai":
		return Nanoseconds
	case "counter", "uptime", "x86-tsc", "ppc-tb", "tsc":
		return Ticks
	}
	return UnitUnknown
}

// ParseClock reads trace_clock. A file with a name and no bracket, as a person
// writes one down, is taken as the current clock. Errors as [ParseSize].
func ParseClock(r io.Reader, name string) (Clock, error) {
	const expected = `the clocks, the current one in brackets: "[local] global counter"`
	var c Clock
	l, err := oneLine(r, name, expected)
	if err != nil {
		return c, err
	}
	words := strings.Fields(l.text)
	for _, w := range words {
		if in, ok := strings.CutPrefix(w, "["); ok {
			in, ok = strings.CutSuffix(in, "]")
			if !ok || in == "" || c.Current.OK {
				return Clock{}, &SyntaxError{Pos: Pos{File: name, Line: l.n, Col: 1 + strings.Index(l.text, w)},
					Found: l.text, Expected: expected}
			}
			c.Current = fieldOf(name, l, in)
			w = in
		}
		c.Available = append(c.Available, w)
	}
	if !c.Current.OK && len(words) == 1 && !l.cut {
		c.Current = fieldOf(name, l, words[0])
	}
	if !c.Current.OK {
		return c, &SyntaxError{Pos: Pos{File: name, Line: l.n, Col: 1}, Found: l.text, Expected: expected}
	}
	return c, nil
}
