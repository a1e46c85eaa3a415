package audit

import (
	"slices"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// Capture is records of a buffer that are at hand: a text, a stream of raw
// sub-buffers, the data of a trace.dat.
type Capture struct {
	Source *Source
	File   string // within Source; empty if Source is one file
	Kind   Kind
	// Consuming: the records were taken out of the ring (trace_pipe, raw pages,
	// trace.dat), so that two such captures never hold the same record. Else it
	// is a view (trace, snapshot): views overlap, and are never added.
	Consuming bool
	// CPU that the capture is restricted to, or Total.
	CPU int
	// Header is "entries-in-buffer/entries-written"; nil if the text has none.
	Header *Header
	// PerCPU is what it holds, by CPU.
	PerCPU map[int]*CaptureCPU
	// NoCPU counts records whose CPU the text does not tell (nocontext-info).
	NoCPU uint64
	// NoCPULost is what marks that name no CPU say was lost, at least.
	NoCPULost uint64
	// Text is the summary of the text, and Section the trace in it that this is;
	// nil for binary captures.
	Text    *tracefs.TextSummary
	Section *tracefs.TextSection
	// Uncountable: the lines of this text are not records (function_graph, or
	// an option that hides them), so that nothing is delivered by count.
	Uncountable string
	// Cut: the capture ends inside a record or before its own end.
	Cut   bool
	CutAt Evidence
	// Unmatched counts lines that are no record, mark or header: they may belong
	// to records of several lines.
	Unmatched uint64
	// Unread is how many of them may be records as well; FirstUnread is the first
	// of these, and LikeRecords tells that one looks like a record.
	Unread      uint64
	FirstUnread Evidence
	LikeRecords bool

	// Suspects are marks that stand where the kernel prints none; they are in no
	// sum.
	Suspects []Hole

	name string // of the buffer, where the capture tells it
}

// Header is the two numbers in the header of `trace`: A events in the buffer,
// and B = A + overrun, of all CPUs together, also in per_cpu/cpuN/trace
// (kernel/trace/trace.c: print_event_info, 4.4 to 7.3).
type Header struct {
	Entries, Written uint64
	Line             int
	Text             string
	Online           int // "#P:n", the CPUs that were online; 0 if not printed
}

// CaptureCPU is what a capture holds of one CPU.
type CaptureCPU struct {
	Records     uint64
	First, Last *tracefs.Stamp
	FirstAt     Evidence // where the first record stands
	Holes       []Hole
	// HolesOmitted is how many holes are not in Holes; the sums below have them.
	HolesOmitted uint64
	KnownLost    uint64 // sum of the counts that marks told
	KnownMarks   uint64
	UnknownMarks uint64 // marks without a count
	TimeBack     uint64 // records earlier than the one before them
	TimeBackAt   Evidence
	Events       []EventCount
	Damaged      uint64 // places where data could not be read
	Whole        bool   // nothing of this CPU's data is damaged or cut off
	// Fingerprints are places where records may have been dropped unmarked.
	Fingerprints []Hole
	Bytes        uint64
	// LostAtLeast: KnownLost is a lower bound, a number lost its high bits.
	LostAtLeast bool
	Annotated   int // line of "##### CPU n buffer started ####", 0 if none
	// HolesJoined: there were so many holes that entries stand for several.
	HolesJoined bool

	unit      tracefs.Unit // of raw stamps; unknown until the buffer's clock is
	file      string
	fills     []subbuf.Fill
	gapMedian uint64
}

// setUnit gives raw stamps their unit, once the buffer's clock is known.
func (c *Capture) setUnit(u tracefs.Unit) {
	for _, p := range c.PerCPU {
		if p.unit != tracefs.UnitUnknown || c.Section != nil && !c.rawStamps() {
			continue
		}
		p.unit = u
		for _, s := range []*tracefs.Stamp{p.First, p.Last} {
			if s != nil {
				s.Unit = u
			}
		}
		for i := range p.Holes {
			for _, s := range []*tracefs.Stamp{p.Holes[i].After, p.Holes[i].Before} {
				if s != nil {
					s.Unit = u
				}
			}
		}
	}
}

// rawStamps tells whether the text was printed with option raw: its stamps are the
// ring's own numbers then, of whatever unit the clock has (print_raw_fmt,
// kernel/trace/trace.c).
func (c *Capture) rawStamps() bool { return c.Section != nil && c.Section.Kind == tracefs.KindRaw }

// CPUIDs are the CPUs that the capture has something of, ascending.
func (c *Capture) CPUIDs() []int {
	ids := make([]int, 0, len(c.PerCPU))
	for id := range c.PerCPU {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Records are all records that the capture holds.
func (c *Capture) Records() uint64 {
	n := c.NoCPU
	for _, p := range c.PerCPU {
		n += p.Records
	}
	return n
}

// Marks sums over CPUs: lost events told by number, and marks with and without
// one.
func (c *Capture) Marks() (lost, known, unknown uint64) { return c.marks() }

// Views are all texts and page streams of the buffer that were read: the
// captures, and the folder's own.
func (b *Buffer) Views() []*Capture {
	return append(append([]*Capture(nil), b.Captures...), b.ownViews...)
}

// marks sums over CPUs: lost events told by number, marks with and without one.
func (c *Capture) marks() (lost, known, unknown uint64) {
	for _, p := range c.PerCPU {
		lost += p.KnownLost
		known += p.KnownMarks
		unknown += p.UnknownMarks
	}
	return lost, known, unknown
}

// span is the first and last stamp over all CPUs; nil where there is none.
func (c *Capture) span() (first, last *tracefs.Stamp) {
	for _, id := range c.CPUIDs() {
		p := c.PerCPU[id]
		if p.First != nil && (first == nil || p.First.Unit == first.Unit && p.First.Value < first.Value) {
			first = p.First
		}
		if p.Last != nil && (last == nil || p.Last.Unit == last.Unit && p.Last.Value > last.Value) {
			last = p.Last
		}
	}
	return first, last
}

func (c *Capture) evidence(line int, text string) Evidence {
	return Evidence{Source: c.Source.ID, File: c.File, Line: line, Text: text}
}
