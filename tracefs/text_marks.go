package tracefs

import "bytes"

// This file knows the lines that speak of loss.

// loss is a loss mark taken apart.
type loss struct {
	cpu    int
	n      uint64
	known  bool
	report bool // trace-cmd report's words
	rest   []byte
	huge   bool // the number has more digits than 64 bits hold
	whole  bool // the "]" is there
}

// parseLost reads a mark at the beginning of l:
//
//	CPU:1 [LOST 12 EVENTS]      CPU:1 [LOST EVENTS]          the kernel, print_trace_line
//	CPU:1 [12 EVENTS DROPPED]   CPU:1 [EVENTS DROPPED]       trace-cmd report
//
// rest is what stands behind it. A beginning of a mark that ends with the line is
// a mark too, with whole false: only a line that is cut off can be that.
func parseLost(l []byte) (m loss, ok bool) {
	if len(l) < 5 || string(l[:4]) != "CPU:" {
		return m, false
	}
	i := 4
	for i < len(l) && l[i]-'0' <= 9 && i < 10 {
		m.cpu = m.cpu*10 + int(l[i]-'0')
		i++
	}
	if i == 4 || m.cpu >= MaxCPUs || i+1 >= len(l) || l[i] != ' ' || l[i+1] != '[' {
		return m, false
	}
	f := l[i+2:]
	if lost, ok := bytes.CutPrefix(f, []byte("LOST ")); ok {
		return m.words(lost, "EVENTS]")
	}
	if bytes.HasPrefix([]byte("LOST "), f) { // cut off
		return m, true
	}
	m.report = true
	return m.words(f, "EVENTS DROPPED]")
}

// words reads an optional number and then want.
func (m loss) words(f []byte, want string) (loss, bool) {
	j := 0
	for j < len(f) && f[j]-'0' <= 9 {
		d := uint64(f[j] - '0')
		if m.n > (1<<64-1-d)/10 {
			m.huge = true
		}
		m.n = m.n*10 + d
		j++
	}
	if j > 0 {
		if j == len(f) {
			return m, true
		}
		if f[j] != ' ' {
			return m, false
		}
		m.known = true
		j++
	}
	f = f[j:]
	if rest, ok := bytes.CutPrefix(f, []byte(want)); ok {
		m.rest, m.whole = rest, true
		return m, true
	}
	return m, len(f) < len(want) && string(f) == want[:len(f)]
}

// parseAnnotation reads "##### CPU 1 buffer started ####".
func parseAnnotation(l []byte) (cpu int, ok bool) {
	f, ok := bytes.CutPrefix(l, []byte("##### CPU "))
	if !ok {
		return 0, false
	}
	i := 0
	for i < len(f) && f[i]-'0' <= 9 && i < 6 {
		cpu = cpu*10 + int(f[i]-'0')
		i++
	}
	return cpu, i > 0 && cpu < MaxCPUs && string(f[i:]) == " buffer started ####"
}

func (s *TextScanner) classifyLost(l []byte) bool {
	m, ok := parseLost(l)
	// A beginning of a mark is one where the text ends with it.
	if !ok || len(bytes.TrimRight(m.rest, " \t\r")) > 0 || !m.whole && s.line.Terminated {
		return false
	}
	if m.report && s.mode == modeTrace && !s.began {
		s.mode = modeReport // a report whose first line is gone
	}
	if m.report != (s.mode == modeReport) {
		return false
	}
	s.belong()
	s.lost(m)
	return true
}

// classifyMMIO takes mmiotrace's mark, which names no CPU (kernel/trace/
// trace_mmiotrace.c: mmio_read): "MARK 0.000000 Lost 12 events."
func (s *TextScanner) classifyMMIO(l []byte) bool {
	_, f, ok := bytes.Cut(l, []byte(" Lost "))
	if !ok || !bytes.HasPrefix(l, []byte("MARK ")) {
		return false
	}
	d := digits(f, 0)
	if string(f[d:]) != " events." {
		return false
	}
	m, ok := loss{cpu: -1}.words(append(append([]byte(nil), f[:d]...), " EVENTS]"...), "EVENTS]")
	if ok {
		s.lost(m)
	}
	return ok
}

func (s *TextScanner) lost(m loss) {
	s.header = false
	s.is(LineLost)
	s.line.CPU, s.line.Lost, s.line.LostKnown = m.cpu, m.n, m.known && m.whole
	if m.huge {
		s.line.Lost, s.line.LostKnown = 1<<64-1, false
	}
}

// reindented tells whether the text may have blanks or line numbers before its
// lines that the kernel did not print.
func (s *TextScanner) reindented() bool { return s.layout == layoutNone || s.dash < commWidth }

// classifyIndented takes marks, annotations and header lines of such a text. They
// would be lost without a sound.
func (s *TextScanner) classifyIndented(l []byte) bool {
	t := bytes.TrimLeft(l, " \t>")
	if d := digits(t, 0); d > 0 && d < len(t) && (t[d] == ':' || t[d] == '-') { // grep -n
		t = bytes.TrimLeft(t[d+1:], " \t")
	}
	if len(t) == len(l) || len(t) == 0 {
		return false
	}
	if t[0] == '#' {
		if bytes.HasPrefix(t, []byte("##### CPU ")) || bytes.HasPrefix(t, []byte("# tracer: ")) || s.header || isHeaderLine(t) {
			s.line.Text = t
			return s.classifyHash(t)
		}
		return false
	}
	return t[0] == 'C' && s.classifyLost(t)
}
