package tracefs

import (
	"bytes"
	"io"
)

// TextScanner reads a trace text line by line and says what each line is. It
// reads what trace, per_cpu/cpuN/trace, snapshot and trace_pipe print under any
// set of trace options but hex and bin, kernel logs with ftrace dumps in them,
// and what trace-cmd report prints. Its memory does not grow with the text.
//
// Text that was sent around is read as well: a byte order mark, "\r\n", lines of
// a shell or of adb before the trace, blanks lost at the beginning of lines.
type TextScanner struct {
	lr   *lineReader
	line TextLine
	err  error

	layout   layout
	mode     textMode
	header   bool // within the header of a section
	began    bool // something of a trace was seen
	section  int
	lastReal LineKind // of the last line that was not blank
	crlf     int64
	long     int64
	bom      bool

	named bool // the section's "# tracer:" line was seen
	graph bool // a tracer that draws calls
	// Between the lines of dashes of a task switch that function_graph draws.
	switching bool
	foreign   bool // a tracer that may print lines of its own
	mmio      bool // the tracer mmiotrace, whose loss marks are its own
	entries   bool // the header counted the entries
	dash      int  // where the dash stands behind a task's name

	dump   dumpState
	report reportState
	rest   []byte // of the physical line, where a kernel log has two lines in one
}

type textMode uint8

const (
	modeTrace textMode = iota
	modeDmesg
	modeReport
)

// NewTextScanner returns a scanner that reads from r.
func NewTextScanner(r io.Reader) *TextScanner {
	return &TextScanner{lr: newLineReader(r), section: -1, dash: commWidth}
}

// Line is the line that the last Scan read.
func (s *TextScanner) Line() *TextLine { return &s.line }

// Err is the error of the reader, nil at the end of the text.
func (s *TextScanner) Err() error { return s.err }

// Scan reads the next line. It returns false at the end of the text, or if the
// reader fails.
func (s *TextScanner) Scan() bool {
	if s.rest != nil {
		s.line.Text, s.rest = s.rest, nil
		s.classify(s.line.Text)
		return true
	}
	offset := s.lr.bytes
	l, ended, long, ok := s.lr.next()
	if !ok {
		if s.lr.err != nil && s.lr.err != io.EOF {
			s.err = s.lr.err
		}
		return false
	}
	n := s.line.N + 1
	if n == 1 && bytes.HasPrefix(l, []byte("\xef\xbb\xbf")) {
		s.bom, l = true, l[3:]
	}
	if ended && len(l) > 0 && l[len(l)-1] == '\r' && !long {
		s.crlf++
		l = l[:len(l)-1]
	}
	if long {
		s.long++
	}
	s.line = TextLine{N: n, Offset: offset, Section: s.section, CPU: -1, Text: l, Terminated: ended, Long: long}
	if s.layout == layoutStd && s.mode == modeTrace && len(l) > commWidth && l[commWidth] == '-' {
		if h, ok := parseStd(l, commWidth); ok {
			s.event(h)
			return true
		}
	}
	s.classify(l)
	return true
}

func (s *TextScanner) event(h eventHead) {
	s.line.Kind = LineEvent
	s.line.CPU = h.cpu
	s.line.Stamp = Stamp{Value: h.stamp, Unit: h.unit}
	s.lastReal = LineEvent
	s.header, s.began = false, true
}

// is notes what the current line is.
func (s *TextScanner) is(k LineKind) {
	s.line.Kind = k
	if k != LineBlank {
		s.lastReal = k
	}
}

// begin starts a further section with the current line.
func (s *TextScanner) begin() {
	s.section++
	s.line.Section = s.section
	s.layout, s.header, s.named, s.graph, s.foreign, s.entries = layoutNone, false, false, false, false, false
	s.switching, s.mmio = false, false
	s.began = true
}

// belong makes sure that there is a section for the current line.
func (s *TextScanner) belong() {
	if s.section < 0 {
		found := s.layout // with this very line
		s.begin()
		s.layout = found
	}
	s.began = true
}

func (s *TextScanner) classify(l []byte) {
	switch s.mode {
	case modeDmesg:
		s.classifyLog(l)
	case modeReport:
		s.classifyReport(l)
	default:
		s.classifyTrace(l)
	}
}

func (s *TextScanner) classifyTrace(l []byte) {
	if len(l) == 0 {
		s.is(LineBlank)
		return
	}
	if s.layout == layoutLatency { // a task's name begins the line there, and may begin with anything
		if h, ok := s.head(l); ok {
			s.event(h)
			return
		}
	}
	switch {
	case l[0] == '#' && s.classifyHash(l):
		return
	case l[0] == 'C' && s.classifyLost(l):
		return
	case !s.began && l[0] == 'c' && bytes.HasPrefix(l, []byte("cpus=")) && allDigits(string(l[5:])):
		s.mode = modeReport
		s.belong()
		s.is(LineHeader)
		return
	case s.mmio && s.classifyMMIO(l):
		return
	case s.layout == layoutNone && s.beginsLog(l):
		return
	case s.reindented() && s.classifyIndented(l):
		return
	}
	s.classifyBody(l)
}

// classifyBody takes what is below a header.
func (s *TextScanner) classifyBody(l []byte) {
	if h, ok := s.head(l); ok {
		s.belong()
		s.event(h)
		return
	}
	if s.layout == layoutGraph && s.classifySwitch(l) {
		return
	}
	if isStack(l) && s.began {
		s.is(LineStack)
		return
	}
	if s.layout == layoutNone && (s.header || s.lastReal == LineLost || isHex(l)) {
		s.belong()
		s.firstBody(l)
		return
	}
	if s.layout == layoutBare {
		if isBare(l) {
			s.is(LineEvent)
			return
		}
	}
	s.other()
}

// other is a line that is nothing else.
func (s *TextScanner) other() {
	switch {
	case !s.began:
		s.is(LinePreamble)
	case s.lastReal == LineEvent, s.lastReal == LineContinuation, s.lastReal == LineStack:
		s.is(LineContinuation)
	default:
		s.is(LineUnmatched)
	}
}

// firstBody decides about a text whose first line below the header is no event
// with CPU and time.
func (s *TextScanner) firstBody(l []byte) {
	switch {
	case isHex(l):
		s.layout = layoutHex
		s.is(LineUnmatched)
	case !s.entries && !s.foreign && isBare(l):
		s.layout, s.header = layoutBare, false
		s.is(LineEvent)
	case s.graph && s.classifySwitch(l):
		s.layout = layoutGraph
	default:
		s.is(LineUnmatched)
	}
}

func isStack(l []byte) bool {
	return bytes.HasPrefix(l, []byte(" => ")) || bytes.HasPrefix(l, []byte("=> ")) ||
		string(l) == "<stack trace>" || string(l) == "<user stack trace>"
}

// classifySwitch takes the block that function_graph prints at a task switch:
//
//	------------------------------------------
//	0)    <idle>-0    =>    ls-965
//	------------------------------------------
func (s *TextScanner) classifySwitch(l []byte) bool {
	switch {
	case bytes.HasPrefix(l, []byte(" ----------")):
		s.switching = !s.switching
	case !s.switching || !bytes.Contains(l, []byte(" => ")):
		return false
	}
	s.is(LineSwitch)
	return true
}

// head reads an event's head under the layout of the text, and finds the layout
// with the first event.
func (s *TextScanner) head(l []byte) (eventHead, bool) {
	switch s.layout {
	case layoutStd:
		return s.std(l)
	case layoutLatency:
		if len(l) > latCommWidth && l[latCommWidth] == '-' {
			return parseLatency(l, latCommWidth)
		}
		return eventHead{}, false
	case layoutVerbose:
		return parseVerbose(l)
	case layoutRaw:
		return parseRaw(l)
	case layoutGraph:
		if s.switching && bytes.Contains(l, []byte(" => ")) {
			return eventHead{}, false
		}
		return parseGraph(l)
	case layoutBare, layoutHex:
		return eventHead{}, false
	}
	return s.find(l)
}

func (s *TextScanner) std(l []byte) (eventHead, bool) {
	if len(l) > s.dash && l[s.dash] == '-' {
		if h, ok := parseStd(l, s.dash); ok {
			return h, true
		}
	}
	if s.dash < commWidth { // the blanks at the beginning of lines are lost
		return parseStdAnywhere(l[:min(len(l), commWidth+64)])
	}
	return eventHead{}, false
}

// find tries the layouts, the most telling one first.
func (s *TextScanner) find(l []byte) (h eventHead, ok bool) {
	set := func(to layout) (eventHead, bool) {
		s.layout = to
		return h, true
	}
	if len(l) > commWidth && l[commWidth] == '-' {
		if h, ok = parseStd(l, commWidth); ok {
			return set(layoutStd)
		}
	}
	if len(l) > latCommWidth && l[latCommWidth] == '-' {
		if h, ok = parseLatency(l, latCommWidth); ok {
			return set(layoutLatency)
		}
	}
	if h, ok = parseVerbose(l); ok {
		return set(layoutVerbose)
	}
	if h, ok = parseGraph(l); ok && (s.graph || graphBody(l)) {
		return set(layoutGraph)
	}
	if h, ok = parseRaw(l); ok && (s.header || h.stamp >= 1e6) {
		return set(layoutRaw)
	}
	if h, ok = parseStdAnywhere(l[:min(len(l), commWidth+64)]); ok {
		s.dash = bytes.IndexByte(l, '-')
		if s.dash >= commWidth {
			s.dash = commWidth - 1
		}
		return set(layoutStd)
	}
	return eventHead{}, false
}

// graphBody asks for a sign of function_graph in a text without its header.
func graphBody(l []byte) bool {
	return bytes.Contains(l, []byte("() {")) || bytes.Contains(l, []byte("();")) || bytes.HasSuffix(l, []byte("}")) ||
		bytes.Contains(l, []byte(" us ")) || bytes.Contains(l, []byte("/*"))
}
