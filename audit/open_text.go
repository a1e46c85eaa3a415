package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/ringaudit/ringaudit/tracefs"
)

// openText opens a trace text that is a source of its own: each trace in it is
// a capture.
func openText(src *Source, in Input, r io.Reader) []*part {
	sum, err := tracefs.SummarizeText(r, in.Path, tracefs.TextOptions{})
	if err != nil {
		var form *tracefs.FormatError
		src.failf(Evidence{}, sum != nil && !errors.As(err, &form), "%s", err)
		if sum == nil {
			return nil
		}
	}
	captures := textCaptures(src, "", sum)
	if len(captures) == 0 {
		src.failf(textSample(sum), false, "%s: no trace text in it: %s; expected events, loss marks or the header that begins with \"# tracer:\"", in.Path, sum.Why)
		return nil
	}
	src.Kind = captures[0].Kind
	cpu, told := cpuOfPath(in.Path)
	var parts []*part
	for _, c := range captures {
		if told && c.onlyCPU(cpu) {
			c.CPU = cpu
		}
		p := &part{src: src, captures: []*Capture{c}, buffer: c.name, tracer: c.Tracer()}
		parts = append(parts, p)
	}
	textProblems(src, in.Path, "", sum, captures)
	return parts
}

// onlyCPU tells whether the capture has nothing of any other CPU.
func (c *Capture) onlyCPU(cpu int) bool {
	for id, p := range c.PerCPU {
		if id != cpu && p.Records+p.KnownMarks+p.UnknownMarks > 0 {
			return false
		}
	}
	return c.NoCPU == 0
}

func textSample(sum *tracefs.TextSummary) Evidence {
	if len(sum.Samples) == 0 {
		return Evidence{}
	}
	return Evidence{Line: sum.Samples[0].Line, Text: sum.Samples[0].Text}
}

// readTextFile reads a trace text inside a folder; nil if it holds no trace.
func readTextFile(src *Source, fsys fs.FS, name string) (*Capture, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be opened: %w", name, unwrapPath(err))
	}
	defer f.Close()
	sum, err := tracefs.SummarizeText(f, name, tracefs.TextOptions{})
	if err != nil {
		return nil, err
	}
	captures := textCaptures(src, name, sum)
	if len(captures) == 0 {
		return nil, nil
	}
	return captures[0], nil
}

func unwrapPath(err error) error {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Err
	}
	return err
}

// textCaptures makes a capture of each trace in a text.
func textCaptures(src *Source, file string, sum *tracefs.TextSummary) []*Capture {
	var out []*Capture
	for i, s := range sum.Sections {
		c := &Capture{Source: src, File: file, Text: sum, Section: s, CPU: Total, PerCPU: map[int]*CaptureCPU{}, name: s.Name}
		switch s.Kind {
		case tracefs.KindTrace:
			c.Kind = KindTrace
		case tracefs.KindDmesg:
			c.Kind, c.Consuming = KindDmesg, true
		case tracefs.KindLatency, tracefs.KindGraph, tracefs.KindRaw, tracefs.KindBare, tracefs.KindHex:
			c.Kind = KindTrace
			if s.Header == nil && s.Tracer == "" {
				c.Kind, c.Consuming = KindTracePipe, true
			}
		default:
			c.Kind, c.Consuming = KindTracePipe, true
		}
		if s.Dump != nil {
			c.Kind, c.Consuming = KindDmesg, true
		}
		if !s.LinesAreEvents {
			c.Uncountable = fmt.Sprintf("the lines of this text (%s) are not one for each event", s.Kind)
		}
		c.Unmatched = uint64(s.Unmatched + s.Continuation)
		c.findUnread()
		if h := s.Header; h != nil {
			c.Header = &Header{Entries: h.InBuffer, Written: h.Written, Line: h.Line, Text: h.Text, Online: h.Online}
		}
		for _, t := range s.CPUs {
			c.addTextCPU(t)
		}
		for _, m := range s.Marks {
			c.addMark(m)
		}
		for _, p := range c.PerCPU {
			if n := p.KnownMarks + p.UnknownMarks; n > uint64(len(p.Holes)) {
				p.HolesOmitted = n - uint64(len(p.Holes)) // beyond the marks that are kept
			}
		}
		// What ends the text is the last trace's.
		if sum.Cut != nil && i == len(sum.Sections)-1 {
			c.Cut = true
			c.CutAt = Evidence{Source: src.ID, File: file, Line: sum.Cut.Line, Text: sum.Cut.Text}
		}
		if s.Dump != nil && !s.Dump.Ended {
			c.Cut = true
			c.CutAt = Evidence{Source: src.ID, File: file, Line: s.Line, Text: "the dump that begins here has no end"}
		}
		out = append(out, c)
	}
	return out
}

func (c *Capture) addTextCPU(t *tracefs.TextCPU) {
	if t.ID < 0 {
		c.NoCPU += uint64(t.Events)
		c.NoCPULost += t.Lost + uint64(t.LostUnknown) // mmiotrace's marks name no CPU
		return
	}
	p := &CaptureCPU{
		Records: uint64(t.Events), KnownLost: t.Lost, KnownMarks: uint64(t.LostLines), UnknownMarks: uint64(t.LostUnknown),
		LostAtLeast: t.LostAtLeast, TimeBack: uint64(t.Backwards), Whole: true, Annotated: t.Annotated,
	}
	// Stamps that count from the buffer's start cannot be set beside others.
	if !c.Section.RelativeTime && t.First.Known() && t.Last.Known() {
		first, last := c.stamp(t.First), c.stamp(t.Last)
		p.First, p.Last = &first, &last
	}
	p.FirstAt = c.evidence(t.FirstLine, "")
	if t.Backwards > 0 {
		p.TimeBackAt = c.evidence(t.BackwardsLine, "")
	}
	c.PerCPU[t.ID] = p
}

func (c *Capture) addMark(m tracefs.Mark) {
	p := c.PerCPU[m.CPU]
	if p == nil {
		return
	}
	text := fmt.Sprintf("CPU:%d [LOST EVENTS]", m.CPU)
	if m.Known {
		text = fmt.Sprintf("CPU:%d [LOST %d EVENTS]", m.CPU, m.N)
	}
	h := Hole{Kind: HoleOverwritten, Events: AtLeast(1), Evidence: c.evidence(m.Line, text), Suspect: m.Suspect}
	if h.Suspect == "" && m.Known && m.N > 1 && c.Kind == KindTrace && c.Header != nil {
		// Only the trace of a remote prints a number, and that is always 1.
		h.Suspect = "the text of trace never has a number in its marks"
	}
	if h.Suspect != "" {
		p.discount(m)
		c.Suspects = append(c.Suspects, h)
		return
	}
	if m.Known {
		h.Events, h.Counted = Exactly(m.N), true
		if m.N > math.MaxInt32 {
			// The number passes through the kernel's int on its way.
			h.Events = AtLeast(1)
		}
	}
	if m.After.Known() && !c.Section.RelativeTime {
		after := c.stamp(m.After)
		h.After = &after
	}
	if m.Before.Known() && !c.Section.RelativeTime {
		before := c.stamp(m.Before)
		h.Before = &before
	}
	p.Holes = append(p.Holes, h)
}

// stamp is a text's stamp, its unit left open where the text does not tell it.
func (c *Capture) stamp(s tracefs.Stamp) tracefs.Stamp {
	if c.rawStamps() {
		s.Unit = tracefs.UnitUnknown
	}
	return s
}

// discount takes a mark that the kernel cannot have printed out of the sums:
// what may be forged proves nothing.
func (p *CaptureCPU) discount(m tracefs.Mark) {
	if !m.Known {
		p.UnknownMarks--
		return
	}
	n := m.N
	if n >= 1<<63 {
		n &= 1<<32 - 1 // as it was added: sign-extended on its way through the kernel's int
	}
	p.KnownMarks--
	p.KnownLost -= min(n, p.KnownLost)
}

// textProblems takes over what is wrong with a text.
func textProblems(src *Source, name, file string, sum *tracefs.TextSummary, captures []*Capture) {
	for _, e := range sum.Errors {
		src.fail(Problem{Evidence: Evidence{File: file, Line: e.Line, Text: e.Found}, CPU: Total, Message: e.Error()})
	}
	if sum.Cut != nil && sum.Cut.Kind != tracefs.LineBlank {
		src.fail(Problem{Evidence: Evidence{File: file, Line: sum.Cut.Line, Text: tracefs.Shorten(sum.Cut.Text, 120)}, CPU: Total, Truncated: true,
			Message: fmt.Sprintf("%s:%d: the last line is cut off (%s): what came after it is not in this text", name, sum.Cut.Line, sum.Cut.Kind)})
	}
	for _, s := range sum.Sections {
		cut := func(what string) {
			src.fail(Problem{Evidence: Evidence{File: file, Line: s.Line}, Buffer: s.Name, CPU: Total, Truncated: true, Message: fmt.Sprintf("%s:%d: %s", name, s.Line, what)})
		}
		switch {
		case s.Dump == nil:
		case !s.Dump.Begun:
			cut("the text begins inside an ftrace dump: what the dump printed before is not in it; take the log from an earlier line on")
		case !s.Dump.Ended:
			cut("the ftrace dump that begins here has no end: the rest of it is not in this text; take the log again when the dump is over, and look for a gap in it")
		}
	}
	if sum.SectionsOmitted > 0 {
		src.fail(Problem{CPU: Total, Message: fmt.Sprintf("%s: %d further traces in this text were not read: split it", name, sum.SectionsOmitted)})
	}
	if sum.BOM || sum.CRLF > 0 || sum.Preamble > 0 {
		src.Notes = append(src.Notes, fmt.Sprintf("%d lines before the trace, %d lines end in CR LF, byte order mark: %v", sum.Preamble, sum.CRLF, sum.BOM))
	}
	if sum.NULs > 0 {
		src.Notes = append(src.Notes, fmt.Sprintf("%d NUL bytes in the text", sum.NULs))
	}
	for _, c := range captures {
		if c.Unread > 0 {
			src.Notes = append(src.Notes, fmt.Sprintf("not read as events: %s, the first is line %d", counted(c.Unread, "line"), c.FirstUnread.Line))
		}
	}
	if sum.LongLines > 0 {
		src.Notes = append(src.Notes, fmt.Sprintf("%s longer than 64 kB, of which the rest was not read", counted(uint64(sum.LongLines), "line")))
	}
}

// Tracer is the tracer that a text names; empty if it names none.
func (c *Capture) Tracer() string {
	if c.Section == nil {
		return ""
	}
	return c.Section.Tracer
}
