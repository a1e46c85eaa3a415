package citations

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Version is the version of a kernel tree as its Makefile states it. The zero
// Version is an unknown one.
type Version struct {
	Major, Minor, Patch int
	Extra               string // EXTRAVERSION, "-rc3"
	parts               int    // how many numbers were written: 1 to 3
}

var versionRE = regexp.MustCompile(`^v?(\d{1,4})(?:\.(\d{1,5}))?(?:\.(\d{1,6}))?(-[A-Za-z0-9.~+_-]*)?$`)

// ParseVersion reads "6.12.117", "v6.12", "6.12-rc3".
func ParseVersion(s string) (Version, error) {
	m := versionRE.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return Version{}, fmt.Errorf("%q is not a kernel version such as 6.12.117", s)
	}
	v := Version{Extra: m[4]}
	for i, p := range []*int{&v.Major, &v.Minor, &v.Patch} {
		if m[i+1] != "" {
			*p, _ = strconv.Atoi(m[i+1]) // at most six digits
			v.parts = i + 1
		}
	}
	return v, nil
}

// Known tells whether v was read from anywhere.
func (v Version) Known() bool { return v.parts > 0 }

// String is the version as kernel release tags have it, without the "v":
// "6.12" for the first release of a series, "6.12.117" for a stable one.
func (v Version) String() string {
	if !v.Known() {
		return ""
	}
	s := fmt.Sprintf("%d.%d", v.Major, v.Minor)
	if v.Patch != 0 {
		s += fmt.Sprintf(".%d", v.Patch)
	}
	return s + v.Extra
}

// Compare orders versions; a release candidate comes before its release.
func (v Version) Compare(w Version) int {
	c := cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
	if c != 0 || v.Extra == w.Extra {
		return c
	}
	vrc, wrc := strings.HasPrefix(v.Extra, "-rc"), strings.HasPrefix(w.Extra, "-rc")
	switch {
	case vrc && !wrc:
		return -1
	case wrc && !vrc:
		return 1
	}
	return cmp.Or(cmp.Compare(len(v.Extra), len(w.Extra)), strings.Compare(v.Extra, w.Extra))
}

// at compares v with bound to the precision in which bound was written, so that
// 6.12.117 equals the bound 6.12.
func (v Version) at(bound Version) int {
	a, b := []int{v.Major, v.Minor, v.Patch}, []int{bound.Major, bound.Minor, bound.Patch}
	for i := range bound.parts {
		if c := cmp.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// makefileVersion reads the version from the top Makefile of a kernel tree
// (VERSION, PATCHLEVEL, SUBLEVEL, EXTRAVERSION in its first lines).
func makefileVersion(data []byte) (Version, error) {
	var v Version
	var have int
	for n, line := range bytes.SplitN(data, []byte("\n"), 41) {
		if n == 40 {
			break
		}
		key, val, ok := bytes.Cut(line, []byte("="))
		if !ok {
			continue
		}
		k, s := string(bytes.TrimSpace(key)), string(bytes.TrimSpace(val))
		var dst *int
		switch k {
		case "VERSION":
			dst = &v.Major
		case "PATCHLEVEL":
			dst = &v.Minor
		case "SUBLEVEL":
			dst = &v.Patch
		case "EXTRAVERSION":
			if strings.HasPrefix(s, "-rc") {
				v.Extra = s
			}
			continue
		default:
			continue
		}
		num, err := strconv.ParseUint(s, 10, 24)
		if err != nil {
			return Version{}, fmt.Errorf("line %d of its Makefile: found %q, expected a number for %s", n+1, s, k)
		}
		*dst = int(num)
		have++
	}
	if have != 3 {
		return Version{}, fmt.Errorf("its Makefile has no VERSION, PATCHLEVEL and SUBLEVEL in its first 40 lines")
	}
	v.parts = 3
	return v, nil
}

// Range is a set of versions: alternatives separated by "||", each a list of
// comparisons ("<6.8", ">=5.10", "6.12") that must all hold. A bound is
// compared to the precision in which it is written: 6.12.117 is in "<=6.12" and
// in "6.12", and not in ">6.12". The zero Range holds every version.
type Range struct {
	text string
	alts [][]comparison
}

type comparison struct {
	op string
	v  Version
}

// ParseRange reads a range such as ">=5.10 <6.8 || 7.2".
func ParseRange(s string) (Range, error) {
	r := Range{text: strings.TrimSpace(s)}
	if r.text == "" {
		return r, nil
	}
	for alt := range strings.SplitSeq(r.text, "||") {
		alt = regexp.MustCompile(`([<>=]+)\s+`).ReplaceAllString(alt, "$1")
		var cs []comparison
		for _, f := range strings.FieldsFunc(alt, func(c rune) bool { return c == ' ' || c == ',' || c == '\t' }) {
			num := strings.TrimLeft(f, "<>=")
			op := f[:len(f)-len(num)]
			switch op {
			case "", "=", "==":
				op = "="
			case "<", "<=", ">", ">=":
			default:
				return Range{}, fmt.Errorf("range %q: %q is none of < <= > >= =", s, op)
			}
			v, err := ParseVersion(num)
			if err != nil {
				return Range{}, fmt.Errorf("range %q: %w", s, err)
			}
			cs = append(cs, comparison{op, v})
		}
		if len(cs) == 0 {
			return Range{}, fmt.Errorf("range %q: an alternative is empty", s)
		}
		r.alts = append(r.alts, cs)
	}
	return r, nil
}

func (r Range) String() string { return r.text }

// Holds tells whether v is in the range.
func (r Range) Holds(v Version) bool {
	if len(r.alts) == 0 {
		return true
	}
	for _, alt := range r.alts {
		all := true
		for _, c := range alt {
			all = all && c.holds(v)
		}
		if all {
			return true
		}
	}
	return false
}

func (c comparison) holds(v Version) bool {
	d := v.at(c.v)
	switch c.op {
	case "<":
		return d < 0
	case "<=":
		return d <= 0
	case ">":
		return d > 0
	case ">=":
		return d >= 0
	}
	return d == 0
}
