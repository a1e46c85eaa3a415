package tracefs

import "bytes"

// reportState is what the scanner knows about a trace-cmd report: its instances.
// Each is a section, the first one without a name.
type reportState struct {
	sections map[string]int
	names    []string
	width    int // of the column with the instance's name; 0 until one is seen
}

// maxSections bounds the traces that are told apart in one text.
const maxSections = 256

// classifyReport takes a line of a trace-cmd report. Where instances were
// recorded, a column "NAME: " stands before each line of an instance, and as
// many blanks before those of the top one. The event line behind a mark lacks the
// column (seen in trace-cmd 3.1.6 and 3.3.1).
func (s *TextScanner) classifyReport(l []byte) {
	if len(l) == 0 {
		s.is(LineBlank)
		return
	}
	body, name := l, []byte(nil)
	if i := bytes.Index(l[:min(len(l), 160)], []byte("CPU:")); i >= 2 && (l[i-1] == ' ') {
		if m, ok := parseLost(l[i:]); ok && m.report {
			body, name = l[i:], columnName(l[:i])
		}
	}
	if m, ok := parseLost(body); ok && m.report && len(m.rest) == 0 && (m.whole || !s.line.Terminated) {
		s.use(name)
		s.lost(m)
		return
	}
	if h, name, ok := s.reportEvent(l); ok {
		if !(len(name) == 0 && s.lastReal == LineLost) {
			s.use(name)
		}
		s.line.Section = s.section
		s.event(h)
		return
	}
	switch {
	case s.lastReal == LineHeader && s.layout == layoutNone:
		s.is(LineHeader)
	case isStack(l):
		s.is(LineStack)
	default:
		s.other()
	}
}

// reportEvent reads an event line, with or without the column before it.
func (s *TextScanner) reportEvent(l []byte) (h eventHead, name []byte, ok bool) {
	if s.layout == layoutNone || s.layout == layoutStd {
		if len(l) > commWidth && l[commWidth] == '-' {
			h, ok = parseStd(l, commWidth)
		}
		if d := commWidth + s.report.width; !ok && s.report.width > 0 && len(l) > d && l[d] == '-' {
			if h, ok = parseStd(l, d); ok {
				name = columnName(l[:s.report.width])
			}
		}
		if !ok && s.layout == layoutNone || !ok && s.report.width == 0 {
			h, name, ok = s.learnColumn(l)
		}
		if ok {
			s.layout = layoutStd
			return h, name, true
		}
	}
	if s.layout == layoutNone || s.layout == layoutLatency {
		if len(l) > latCommWidth && l[latCommWidth] == '-' {
			if h, ok = parseLatency(l, latCommWidth); ok {
				s.layout = layoutLatency
				return h, nil, true
			}
		}
	}
	return h, nil, false
}

// learnColumn finds how wide the column with the instance's name is.
func (s *TextScanner) learnColumn(l []byte) (h eventHead, name []byte, ok bool) {
	for i := commWidth + 2; i < min(len(l), 120); i++ {
		if l[i] != '-' {
			continue
		}
		w := i - commWidth
		if l[w-1] != ' ' || l[w-2] != ':' && l[w-2] != ' ' {
			continue
		}
		if h, ok = parseStd(l, i); ok {
			s.report.width = w
			return h, columnName(l[:w]), true
		}
	}
	return h, nil, false
}

// columnName is the instance in "   foo: ". Empty for the top one's blanks.
func columnName(l []byte) []byte {
	l = bytes.TrimSpace(l)
	return bytes.TrimSuffix(l, []byte(":"))
}

// use makes the section of an instance the current one.
func (s *TextScanner) use(name []byte) {
	r := &s.report
	if r.sections == nil {
		r.sections = map[string]int{"": 0}
		r.names = []string{""}
		s.section = 0
	}
	n, ok := r.sections[string(name)]
	if !ok {
		n = len(r.names)
		if n < maxSections {
			r.sections[string(name)] = n
			r.names = append(r.names, string(name))
		} else {
			n = maxSections
		}
	}
	s.section = n
	s.line.Section = n
	s.began = true
}
