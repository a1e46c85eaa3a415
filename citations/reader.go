package citations

import (
	"fmt"
	"sort"
)

// reader takes typed fields out of a decoded table and collects what is wrong
// with them.
type reader struct {
	m    map[string]any
	kind string
	line int
	errs []string
	used map[string]bool
}

func (r *reader) errorf(format string, args ...any) {
	r.errs = append(r.errs, fmt.Sprintf(format, args...))
}

func (r *reader) get(key string) (any, bool) {
	if r.used == nil {
		r.used = make(map[string]bool)
	}
	r.used[key] = true
	v, ok := r.m[key]
	return v, ok
}

func (r *reader) str(key string) string {
	v, ok := r.get(key)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.errorf("%s: found %v, expected a string", key, v)
	}
	return s
}

func (r *reader) num(key string, absent int) int {
	v, ok := r.get(key)
	if !ok {
		return absent
	}
	n, ok := v.(int64)
	if !ok || n < 0 || n > 1e6 {
		r.errorf("%s: found %v, expected a number from 0 to 1000000", key, v)
		return absent
	}
	return int(n)
}

func (r *reader) boolean(key string) bool {
	v, ok := r.get(key)
	if !ok {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		r.errorf("%s: found %v, expected true or false", key, v)
	}
	return b
}

func (r *reader) strs(key string) []string {
	v, ok := r.get(key)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		r.errorf("%s: found %v, expected a list of strings", key, v)
		return nil
	}
	out := []string{}
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			r.errorf("%s: found %v, expected a string", key, e)
			continue
		}
		out = append(out, s)
	}
	return out
}

func (r *reader) tables(key string) []map[string]any {
	v, ok := r.get(key)
	if !ok {
		return nil
	}
	t, ok := v.([]map[string]any)
	if !ok {
		r.errorf("%s: found %v, expected tables [[%s.%s]]", key, v, r.kind, key)
	}
	return t
}

func (r *reader) version(key string) (string, Version) {
	s := r.str(key)
	if s == "" {
		return "", Version{}
	}
	v, err := ParseVersion(s)
	if err != nil {
		r.errorf("%s: %v", key, err)
	}
	return s, v
}

func (r *reader) versions(key string) Range {
	g, err := ParseRange(r.str(key))
	if err != nil {
		r.errorf("%s: %v", key, err)
	}
	if g.text == "" {
		r.errorf("no versions: expected a range such as \"<6.8\"")
	}
	return g
}

// done refuses keys that nobody asked for: a misspelt key must not be silently
// nothing.
func (r *reader) done(what string) {
	var left []string
	for k := range r.m {
		if !r.used[k] {
			left = append(left, k)
		}
	}
	sort.Strings(left)
	for _, k := range left {
		r.errorf("unknown key %q%s", k, what)
	}
}
