package tracefs

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// MaxCPUs is the largest number of CPUs that this package believes: eight times
// what a kernel can be configured for (CONFIG_NR_CPUS ≤ 8192 on x86_64). It
// bounds the memory that a hostile list can ask for.
const MaxCPUs = 65536

// ParseCPUList reads a list of CPUs in the kernel's syntax (lib/bitmap.c:
// bitmap_parselist): comma-separated numbers and ranges, a range with an optional
// group and stride: "0-3,8", "0-31:2/8" (two of each eight). The list is
// sorted, without repetitions. An empty text is a list of none.
func ParseCPUList(s string) ([]int, error) {
	var out []int
	s = strings.TrimSpace(s)
	if s == "" || s == "(null)" {
		return nil, nil
	}
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		cpus, err := parseCPURange(part)
		if err != nil {
			return nil, err
		}
		if len(out)+len(cpus) > 4*MaxCPUs {
			return nil, fmt.Errorf("cpu list %q names more than %d CPUs", Shorten(s, 40), 4*MaxCPUs)
		}
		out = append(out, cpus...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func parseCPURange(part string) ([]int, error) {
	bad := func(why string) ([]int, error) {
		return nil, fmt.Errorf("cpu list: %q %s, expected CPU, FIRST-LAST or FIRST-LAST:USED/GROUP", Shorten(part, 40), why)
	}
	number := func(s string) (int, bool) {
		if s == "" || !allDigits(s) {
			return 0, false
		}
		v, err := strconv.Atoi(s)
		return v, err == nil && v < MaxCPUs
	}
	span, stride, strided := strings.Cut(part, ":")
	lo, hi, ranged := strings.Cut(span, "-")
	first, ok := number(lo)
	if !ok {
		return bad("is no CPU number below " + strconv.Itoa(MaxCPUs))
	}
	last := first
	if ranged {
		if last, ok = number(hi); !ok {
			return bad("ends in no CPU number below " + strconv.Itoa(MaxCPUs))
		}
	}
	if last < first {
		return bad("runs backwards")
	}
	used, group := 1, 1
	if strided {
		u, g, two := strings.Cut(stride, "/")
		var ok1, ok2 bool
		used, ok1 = number(u)
		group, ok2 = number(g)
		if !ranged || !two || !ok1 || !ok2 || used == 0 || used > group {
			return bad("has a wrong stride")
		}
	}
	var out []int
	for base := first; base <= last; base += group {
		for i := base; i < base+used && i <= last; i++ {
			out = append(out, i)
		}
	}
	return out, nil
}

// FormatCPUList is the shortest list in the kernel's syntax, as
// /sys/devices/system/cpu/online prints it: "0-3,8". cpus must be sorted.
func FormatCPUList(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}

// ParseCPUListFile reads a file that holds a list of CPUs: cpu-online and
// cpu-possible of a saved copy, /sys/devices/system/cpu/online. Errors as
// [ParseSize].
func ParseCPUListFile(r io.Reader, name string) (Field[[]int], error) {
	const expected = `a list of CPUs such as "0-3,8"`
	l, err := oneLine(r, name, expected)
	if err != nil {
		return Field[[]int]{}, err
	}
	at := Pos{File: name, Line: l.n, Col: 1}
	if l.cut {
		return Field[[]int]{}, errCutNumber(at, l.text, expected)
	}
	cpus, err := ParseCPUList(l.text)
	if err != nil {
		return Field[[]int]{}, &SyntaxError{Pos: at, Found: l.text, Expected: expected, Hint: err.Error()}
	}
	return fieldOf(name, l, cpus), nil
}

// ParseCPUMask reads tracing_cpumask: the CPUs that may record, as hexadecimal
// words of 32 bits, the highest first ("3", "ff,ffffffff"). Errors as
// [ParseSize].
func ParseCPUMask(r io.Reader, name string) (Field[[]int], error) {
	const expected = `a CPU mask such as "f" or "ff,ffffffff"`
	l, err := oneLine(r, name, expected)
	if err != nil {
		return Field[[]int]{}, err
	}
	at := Pos{File: name, Line: l.n, Col: 1}
	text := strings.TrimSpace(l.text)
	bad := &SyntaxError{Pos: at, Found: text, Expected: expected}
	if l.cut {
		return Field[[]int]{}, errCutNumber(at, text, expected)
	}
	words := strings.Split(text, ",")
	if len(words) > MaxCPUs/32 {
		return Field[[]int]{}, bad
	}
	var cpus []int
	for i, w := range words {
		if w == "" || len(w) > 8 || (i > 0 && len(w) != 8) {
			return Field[[]int]{}, bad
		}
		v, err := strconv.ParseUint(w, 16, 32)
		if err != nil {
			return Field[[]int]{}, bad
		}
		base := 32 * (len(words) - 1 - i)
		for bit := range 32 {
			if v&(1<<bit) != 0 {
				cpus = append(cpus, base+bit)
			}
		}
	}
	slices.Sort(cpus)
	return fieldOf(name, l, cpus), nil
}
