package tracefs

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
)

// SummarizeText reads a whole trace text and adds up what it says about loss.
// name stands in the positions.
//
// The summary is never nil and holds what was read until an error. The error is
// a [FileError] if r fails, and a [FormatError] if the text holds no trace at
// all: nothing, binary data, the words of option hex, or other text. A kernel log
// without an ftrace dump is no error: its Kind is [KindDmesg] and it has no
// Sections.
func SummarizeText(r io.Reader, name string, opt TextOptions) (*TextSummary, error) {
	if opt.MaxMarks <= 0 {
		opt.MaxMarks = 1 << 16
	}
	if opt.MaxSamples <= 0 {
		opt.MaxSamples = 5
	}
	a := &aggregator{
		sum: &TextSummary{File: name},
		opt: opt,
		scn: NewTextScanner(r),
	}
	for a.scn.Scan() {
		a.line(a.scn.Line())
	}
	return a.finish()
}

type aggregator struct {
	sum   *TextSummary
	opt   TextOptions
	scn   *TextScanner
	cur   *sectionState // of the last line
	secs  []*sectionState
	marks int
	first []byte // the first line that is not blank
}

// sectionState is a section while it is being added up.
type sectionState struct {
	TextSection
	index int
	lay   layout
	mode  textMode
	cpus  []*cpuState // by CPU
	noCPU *cpuState
	fresh []int // marks since the last event, by index, to be checked at the next one
}

type cpuState struct {
	TextCPU
	last    Stamp
	waiting []int // marks whose Before is not known yet, by index
}

func (a *aggregator) line(l *TextLine) {
	switch l.Kind {
	case LineEvent:
		if s := a.section(l); s != nil {
			s.lay = a.scn.layout
			s.event(l)
		}
	case LinePreamble:
		a.sum.Preamble++
		a.sample(&a.sum.Samples, l)
	case LineBlank:
		if s := a.section(l); s != nil {
			s.Blank++
		}
	default:
		a.other(l)
	}
	if !l.Terminated {
		a.sum.Cut = &CutLine{Line: l.N, Kind: l.Kind, Text: Shorten(string(l.Text[:min(len(l.Text), 300)]), 200)}
	}
	if a.first == nil && l.Kind != LineBlank {
		a.first = bytes.Clone(l.Text[:min(len(l.Text), 100)])
	}
}

func (a *aggregator) other(l *TextLine) {
	s := a.section(l)
	if s == nil {
		return
	}
	switch l.Kind {
	case LineHeader:
		a.header(s, l)
	case LineLost:
		a.mark(s, l)
	case LineAnnotate:
		s.Annotations++
		c := s.cpu(l.CPU)
		if c.Annotated == 0 {
			c.Annotated = l.N
		}
	case LineStack:
		s.Stack++
	case LineContinuation:
		s.Continuation++
		a.sample(&s.Samples, l)
	case LineUnmatched:
		s.Unmatched++
		s.lay = max(s.lay, a.scn.layout)
		a.sample(&s.Samples, l)
	}
	if a.scn.mode == modeDmesg {
		d := a.scn.dump
		s.Dump = &Dump{Begun: d.begun, Ended: d.ended, Empty: d.empty}
		s.Name = d.name
	}
}

func (a *aggregator) sample(to *[]Line, l *TextLine) {
	if len(*to) < a.opt.MaxSamples {
		*to = append(*to, Line{Line: l.N, Text: Shorten(string(l.Text[:min(len(l.Text), 300)]), 200)})
	}
}

// section is the section of a line, or nil if it has none.
func (a *aggregator) section(l *TextLine) *sectionState {
	if a.cur != nil && a.cur.index == l.Section {
		return a.cur
	}
	if l.Section < 0 {
		return nil
	}
	if l.Section >= maxSections {
		a.sum.SectionsOmitted = max(a.sum.SectionsOmitted, l.Section-maxSections+1)
		return nil
	}
	for len(a.secs) <= l.Section {
		a.secs = append(a.secs, nil)
	}
	s := a.secs[l.Section]
	if s == nil {
		s = &sectionState{index: l.Section, mode: a.scn.mode}
		s.Line = l.N
		a.secs[l.Section] = s
		switch a.scn.mode {
		case modeReport:
			if l.Section < len(a.scn.report.names) {
				s.Name = a.scn.report.names[l.Section]
			}
		case modeDmesg:
			d := a.scn.dump
			s.Dump, s.Name = &Dump{Begun: d.begun, Ended: d.ended, Empty: d.empty}, d.name
		}
	}
	a.cur = s
	return s
}

func (s *sectionState) cpu(id int) *cpuState {
	if id >= 0 && id < len(s.cpus) && s.cpus[id] != nil {
		return s.cpus[id]
	}
	if id < 0 {
		if s.noCPU == nil {
			s.noCPU = &cpuState{TextCPU: TextCPU{ID: -1}}
		}
		return s.noCPU
	}
	for len(s.cpus) <= id {
		s.cpus = append(s.cpus, nil)
	}
	c := &cpuState{TextCPU: TextCPU{ID: id}}
	s.cpus[id] = c
	return c
}

func (s *sectionState) event(l *TextLine) {
	c := s.cpu(l.CPU)
	s.Events++
	c.Events++
	if c.FirstLine == 0 {
		c.FirstLine = l.N
	}
	c.LastLine = l.N
	if l.Stamp.Unit != UnitUnknown {
		if c.last.Unit == l.Stamp.Unit && l.Stamp.Value < c.last.Value {
			c.Backwards++
			if c.BackwardsLine == 0 {
				c.BackwardsLine = l.N
			}
		}
		if c.First.Unit == UnitUnknown {
			c.First = l.Stamp
		}
		c.last = l.Stamp
	}
	if len(s.fresh) > 0 || len(c.waiting) > 0 {
		s.settle(c, l)
	}
}

// settle completes the marks that an event follows.
func (s *sectionState) settle(c *cpuState, l *TextLine) {
	for _, i := range s.fresh {
		if m := &s.Marks[i]; m.CPU != l.CPU && l.CPU >= 0 {
			m.Suspect = fmt.Sprintf("the next event, on line %d, is of CPU %d: the kernel prints a mark right before an event of the mark's own CPU", l.N, l.CPU)
		}
	}
	s.fresh = s.fresh[:0]
	for _, i := range c.waiting {
		s.Marks[i].Before = l.Stamp
	}
	c.waiting = c.waiting[:0]
}

func (a *aggregator) mark(s *sectionState, l *TextLine) {
	c := s.cpu(l.CPU)
	if l.LostKnown {
		n := l.Lost
		c.LostLines++
		if n >= 1<<63 {
			// A count of 2^31 or more, sign-extended on its way through an int: only
			// its low 32 bits are what the kernel counted.
			n &= 1<<32 - 1
			c.LostAtLeast = true
		}
		if c.Lost+n < c.Lost {
			c.Lost, c.LostAtLeast = 1<<64-1, true
		} else {
			c.Lost += n
		}
	} else {
		c.LostUnknown++
		if l.Lost != 0 && l.Terminated {
			a.error(&SyntaxError{Pos: Pos{File: a.sum.File, Line: l.N}, Found: string(l.Text[:min(len(l.Text), 100)]),
				Expected: "a count that fits 64 bits", Hint: "the mark is taken as one without a number"})
		}
	}
	if a.marks >= a.opt.MaxMarks {
		s.MarksOmitted++
		return
	}
	a.marks++
	i := len(s.Marks)
	s.Marks = append(s.Marks, Mark{Line: l.N, CPU: l.CPU, N: l.Lost, Known: l.LostKnown, After: c.last})
	if !l.LostKnown {
		s.Marks[i].N = 0
	}
	s.fresh = append(s.fresh, i)
	c.waiting = append(c.waiting, i)
}

func (a *aggregator) error(e *SyntaxError) {
	if len(a.sum.Errors) < 20 {
		a.sum.Errors = append(a.sum.Errors, e)
	}
}

// header takes a line of a section's header.
func (a *aggregator) header(s *sectionState, l *TextLine) {
	t := l.Text
	switch {
	case bytes.HasPrefix(t, []byte("# tracer: ")):
		s.Tracer = Shorten(string(bytes.TrimSpace(t[len("# tracer: "):])), 64)
	case bytes.HasPrefix(t, []byte("# entries-in-buffer/entries-written: ")):
		a.entries(s, l, t[len("# entries-in-buffer/entries-written: "):])
	case bytes.HasPrefix(t, []byte("# latency: ")):
		if _, f, ok := bytes.Cut(t, []byte(" us, #")); ok {
			a.entries(s, l, f)
		}
	case bytes.HasPrefix(t, []byte("# * Snapshot is allocated *")):
		s.Snapshot = "allocated"
	case bytes.HasPrefix(t, []byte("# * Snapshot is freed *")):
		s.Snapshot = "freed"
	case bytes.HasPrefix(t, []byte("# WARNING: FUNCTION TRACING IS CORRUPTED")):
		s.Corrupted = l.N
	}
}

// entries reads "862/2923772   #P:2" or "862/2923772, CPU#0 | (… #P:2)".
func (a *aggregator) entries(s *sectionState, l *TextLine, f []byte) {
	const expected = `"entries-in-buffer/entries-written: N/N   #P:N"`
	at := Pos{File: a.sum.File, Line: l.N}
	in, f, ok := bytes.Cut(f, []byte("/"))
	j := digits(f, 0)
	if !ok || j == len(f) && !l.Terminated { // the last digits may be missing
		a.error(&SyntaxError{Pos: at, Found: string(l.Text[:min(len(l.Text), 100)]), Expected: expected})
		return
	}
	inBuffer, e1 := parseUint64(at, string(in), expected)
	written, e2 := parseUint64(at, string(f[:j]), expected)
	if e := cmp.Or(e1, e2); e != nil {
		a.error(e)
		return
	}
	h := &EntriesHeader{Line: l.N, Text: Shorten(string(l.Text), 200), InBuffer: inBuffer, Written: written}
	if _, p, ok := bytes.Cut(f, []byte("#P:")); ok {
		if n, e := parseInt64(at, string(p[:digits(p, 0)]), expected); e == nil && n <= MaxCPUs {
			h.Online = int(n)
		}
	}
	if s.Header == nil {
		s.Header = h
	}
}

func (a *aggregator) finish() (*TextSummary, error) {
	s := a.sum
	s.Bytes, s.NULs = a.scn.lr.bytes, a.scn.lr.nuls
	s.Lines = int64(a.scn.line.N)
	s.CRLF, s.LongLines, s.BOM = a.scn.crlf, a.scn.long, a.scn.bom
	for _, sec := range a.secs {
		if sec == nil {
			continue
		}
		sec.finish()
		s.Sections = append(s.Sections, &sec.TextSection)
	}
	s.Kind, s.Why = a.kind()
	if err := a.scn.Err(); err != nil {
		return s, &FileError{File: s.File, Err: err, Hint: hintFor(err)}
	}
	return s, a.refuse()
}

func (s *sectionState) finish() {
	s.Kind = sectionKind(&s.TextSection, s.lay, s.mode)
	s.LinesAreEvents = s.Kind != KindGraph && s.Kind != KindBare && s.Kind != KindHex &&
		(s.Events > 0 || s.Tracer != "blk" && s.Tracer != "mmiotrace")
	s.RelativeTime = s.lay == layoutLatency
	if s.noCPU != nil {
		s.CPUs = append(s.CPUs, &s.noCPU.TextCPU)
	}
	for _, c := range s.cpus {
		if c != nil {
			c.Last = c.last
			s.CPUs = append(s.CPUs, &c.TextCPU)
		}
	}
	slices.SortFunc(s.CPUs, func(a, b *TextCPU) int { return cmp.Compare(a.ID, b.ID) })
}
