package tracefs

import (
	"io"
	"slices"
	"strings"
)

// Options is what trace_options and the options folder say. An option that
// neither names is absent: the kernel does not have it, or it was not saved.
type Options struct {
	m map[string]Field[bool]
}

// Get is the state of an option, by its name without "no": "overwrite",
// "pause-on-trace", "annotate".
func (o Options) Get(name string) Field[bool] { return o.m[name] }

// Names lists the options that are known, sorted.
func (o Options) Names() []string {
	names := make([]string, 0, len(o.m))
	for n := range o.m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Set adds an option, or replaces it.
func (o *Options) Set(name string, f Field[bool]) {
	if o.m == nil {
		o.m = map[string]Field[bool]{}
	}
	o.m[name] = f
}

// ParseOptions reads trace_options: one option a line, "overwrite" where it is
// set and "nooverwrite" where it is not (kernel/trace/trace.c:
// tracing_trace_options_show). The error is a [FileError] or a [FormatError].
func ParseOptions(r io.Reader, name string) (Options, error) {
	const expected = `one trace option a line, "overwrite" or "nooverwrite" among them`
	var o Options
	data, err := readSmall(r, name, expected)
	if err != nil {
		return o, err
	}
	lines := splitLines(data)
	for _, l := range lines {
		w := strings.TrimSpace(l.text)
		if w == "" || l.cut || !isOptionName(w) {
			continue // a cut name could be any option's beginning
		}
		on := true
		if n, ok := strings.CutPrefix(w, "no"); ok && n != "" {
			w, on = n, false
		}
		o.Set(w, fieldOf(name, l, on))
	}
	if len(o.m) == 0 {
		e := &FormatError{File: name, Expected: expected}
		if len(lines) > 0 {
			e.Found = lines[0].text
		}
		return o, e
	}
	return o, nil
}

func isOptionName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return s != ""
}
