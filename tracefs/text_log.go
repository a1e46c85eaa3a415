package tracefs

import "bytes"

// dumpState is where in a kernel log's ftrace dump the scanner is.
type dumpState struct {
	in     bool // between "Dumping ftrace buffer:" and the second fence
	fenced bool // the first fence was seen
	begun  bool
	ended  bool
	empty  bool
	name   string // the instance
}

// fence is the line before the first and behind the last event of a dump. The
// line that function_graph draws around a task switch is longer.
var fence = bytes.Repeat([]byte("-"), 33)

// beginsLog tells whether the text is a kernel log, at a line that is no line of
// a trace.
func (s *TextScanner) beginsLog(l []byte) bool {
	if s.header || s.section >= 0 {
		return false
	}
	_, stamped := stripPrintk(l)
	if _, ok := dumpBegins(l); !ok && !stamped {
		return false
	}
	s.mode = modeDmesg
	s.classifyLog(l)
	return true
}

// dumpBegins reads the line that begins a dump (kernel/trace/trace.c:
// ftrace_dump_one):
//
//	Dumping ftrace buffer:
//	Dumping ftrace instance foo buffer:
func dumpBegins(l []byte) (instance []byte, ok bool) {
	i := bytes.Index(l, []byte("Dumping ftrace "))
	if i < 0 {
		return nil, false
	}
	f := l[i+len("Dumping ftrace "):]
	if bytes.HasPrefix(f, []byte("buffer:")) {
		return nil, true
	}
	f, ok = bytes.CutPrefix(f, []byte("instance "))
	if !ok {
		return nil, false
	}
	name, _, ok := bytes.Cut(f, []byte(" buffer:"))
	return name, ok && len(name) < 256
}

// classifyLog takes a line of a kernel log.
func (s *TextScanner) classifyLog(l []byte) {
	if len(l) == 0 {
		s.is(LineBlank)
		return
	}
	if name, ok := dumpBegins(l); ok {
		s.begin()
		s.dump = dumpState{in: true, begun: true, name: string(name)}
		s.is(LineDump)
		return
	}
	rest, stamped := stripPrintk(l)
	s.line.Text = rest
	switch {
	case s.dump.in:
		s.classifyDump(rest)
	case s.section < 0 && s.logEvent(rest):
		// The log begins in the midst of a dump.
	case !stamped && bytes.HasPrefix(l, []byte("# tracer: ")) && s.hashFollows():
		s.mode, s.dump = modeTrace, dumpState{}
		s.classifyTrace(s.line.Text)
	default:
		s.is(LinePreamble)
	}
}

// logEvent takes an event or a mark outside a dump, and begins one whose
// beginning is lost.
func (s *TextScanner) logEvent(l []byte) bool {
	h, isEvent := s.logHead(l)
	m, isLost := parseLost(l)
	isLost = isLost && m.whole && !m.report
	if !isEvent && !isLost {
		return false
	}
	keep := s.layout
	s.begin()
	s.layout = keep
	s.dump = dumpState{in: true, fenced: true}
	if isEvent {
		s.event(h)
	} else {
		s.logLost(m)
	}
	return true
}

func (s *TextScanner) classifyDump(l []byte) {
	switch {
	case bytes.Equal(bytes.TrimSpace(l), fence):
		if s.dump.fenced {
			s.dump.in, s.dump.ended = false, true
		}
		s.dump.fenced = true
		s.is(LineDump)
		return
	case bytes.Equal(bytes.TrimSpace(l), []byte("(ftrace buffer empty)")):
		s.dump.in, s.dump.ended, s.dump.empty = false, true, true
		s.is(LineDump)
		return
	case bytes.HasPrefix(l, []byte("# ")):
		s.is(LineHeader)
		return
	}
	if m, ok := parseLost(l); ok && m.whole && !m.report {
		s.logLost(m)
		return
	}
	if cpu, ok := parseAnnotation(l); ok {
		s.is(LineAnnotate)
		s.line.CPU = cpu
		return
	}
	if h, ok := s.logHead(l); ok {
		s.event(h)
		return
	}
	if s.layout == layoutGraph && s.classifySwitch(l) {
		return
	}
	if isStack(l) {
		s.is(LineStack)
		return
	}
	s.other()
}

// logLost takes a mark. The kernel hands it to printk together with the event
// behind it, and a log daemon may have written the line end between them as an
// escape.
func (s *TextScanner) logLost(m loss) {
	s.lost(m)
	for _, esc := range []string{`\x0a`, "#012", `\n`} {
		if rest, ok := bytes.CutPrefix(m.rest, []byte(esc)); ok {
			s.rest = rest
		}
	}
}

// logHead reads an event's head in a log, where blanks at the beginning of a line
// may be lost.
func (s *TextScanner) logHead(l []byte) (h eventHead, ok bool) {
	if s.layout == layoutNone || s.layout == layoutLatency {
		for i := 0; i < min(len(l), 40); i++ {
			if l[i] == '-' {
				if h, ok = parseLatency(l, i); ok {
					s.layout = layoutLatency
					return h, true
				}
			}
		}
	}
	if s.layout == layoutLatency {
		return h, false
	}
	if s.layout == layoutNone {
		if h, ok = parseVerbose(l); ok {
			s.layout = layoutVerbose
			return h, true
		}
		if h, ok = parseGraph(l); ok && graphBody(l) {
			s.layout = layoutGraph
			return h, true
		}
		if h, ok = parseStdAnywhere(l); ok {
			s.layout, s.dash = layoutStd, 0
			return h, true
		}
		return h, false
	}
	return s.head(l)
}

// stripPrintk takes off what the kernel, dmesg, syslog or the journal put before
// a line of the kernel log, and tells whether there was anything. One blank
// behind it goes too; further ones belong to the line.
//
//	[   12.345678] …          [   12.345678][  T123] …      <4>[   12.345678] …
//	Nov 30 09:09:00 host kernel: [   12.345678] …            4,1234,12345678,-;…
//	kern  :emerg : [   12.345678] …                          [Mon Nov 30 09:09:00 2026] …
func stripPrintk(l []byte) (rest []byte, ok bool) {
	rest = l
	if len(rest) > 2 && rest[0] == '<' && rest[1]-'0' <= 9 {
		if j := digits(rest, 1); j < len(rest) && j <= 4 && rest[j] == '>' {
			rest, ok = rest[j+1:], true
		}
	}
	if j := digits(rest, 0); j > 0 && j <= 4 && j < len(rest) && rest[j] == ',' {
		if k := bytes.IndexByte(rest[:min(len(rest), 120)], ';'); k > 0 {
			return rest[k+1:], true
		}
	}
	if k := bytes.Index(rest[:min(len(rest), 28)], []byte(": [")); k > 0 && bytes.Contains(rest[:k], []byte(" :")) {
		rest = rest[k+2:]
	}
	for range 2 {
		if r, found := brackets(rest); found {
			rest, ok = r, true
		}
		k := bytes.Index(rest[:min(len(rest), 120)], []byte(" kernel: "))
		if k < 0 || bytes.IndexByte(rest[:k], '[') >= 0 {
			break
		}
		rest, ok = rest[k+len(" kernel: "):], true
	}
	return rest, ok
}

// brackets takes off "[   12.345678]" or a date in brackets, and "[ T123]" behind
// it.
func brackets(l []byte) (rest []byte, ok bool) {
	for len(l) > 2 && l[0] == '[' {
		k := bytes.IndexByte(l[:min(len(l), 40)], ']')
		if k < 0 {
			break
		}
		in := bytes.TrimSpace(l[1:k])
		if !ok && !isLogTime(in) || ok && !isCaller(in) {
			break
		}
		l, ok = l[k+1:], true
	}
	if ok {
		l = bytes.TrimPrefix(l, []byte(" "))
	}
	return l, ok
}

func isLogTime(in []byte) bool {
	j := digits(in, 0)
	if j > 0 && j < len(in) && in[j] == '.' {
		return digits(in, j+1) == len(in) && len(in)-j >= 4
	}
	return bytes.Count(in, []byte(":")) == 2 && len(in) > 20
}

// isCaller knows the T (task) or C (CPU) number of option CONFIG_PRINTK_CALLER.
func isCaller(in []byte) bool {
	return len(in) > 1 && (in[0] == 'T' || in[0] == 'C') && digits(in, 1) == len(in)
}
