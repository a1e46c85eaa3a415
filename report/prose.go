package report

import "strings"

// A word run of a message: prose, or what stands between backticks.
type segment struct {
	Code bool
	Text string
}

// segments splits a message at its backticks. What is quoted that way is code:
// the name of a file, an option, a line of a trace. A backtick without a
// partner is prose.
func segments(s string) []segment {
	s = clean(s)
	var out []segment
	for s != "" {
		open := strings.IndexByte(s, '`')
		if open < 0 {
			break
		}
		n := strings.IndexByte(s[open+1:], '`')
		if n < 1 {
			break
		}
		if open > 0 {
			out = append(out, segment{Text: s[:open]})
		}
		out = append(out, segment{Code: true, Text: s[open+1 : open+1+n]})
		s = s[open+2+n:]
	}
	if s != "" {
		out = append(out, segment{Text: s})
	}
	return out
}
