package audit

import (
	"slices"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// BufferKind tells what kind of ring a [Buffer] is.
type BufferKind string

// The kinds of buffers.
const (
	BufferRing     BufferKind = "buffer"      // the ring of the top level or of an instance
	BufferSnapshot BufferKind = "snapshot"    // the spare ring that a snapshot swapped away
	BufferBPF      BufferKind = "bpf-ringbuf" // an eBPF ring buffer
)

// Mode is what a full ring does.
type Mode string

// The modes. The zero Mode is unknown.
const (
	ModeOverwrite   Mode = "overwrite"    // throws the oldest sub-buffer away
	ModeNoOverwrite Mode = "no-overwrite" // refuses the event
)

// Source is one input of an audit, opened.
type Source struct {
	ID       string // s1, s2, … in the order given
	Kind     Kind
	Path     string
	Kernel   string
	Arch     string
	SHA256   string
	Coverage Coverage
	Notes    []string
	// Problems are what could not be read, each naming its file and place.
	Problems []Problem
	Live     bool
	named    bool // given by the user, not found inside another source
}

// Coverage tells how much of a source could be read.
type Coverage string

// The degrees of coverage.
const (
	CoverageWhole   Coverage = "whole"
	CoveragePartial Coverage = "partial"
	CoverageNone    Coverage = "none"
)

// Problem is a part of a source that could not be read or used.
type Problem struct {
	Evidence  Evidence
	Message   string // names file, place, what was found, what was expected, what to do
	Truncated bool   // the input ends too early
	Buffer    string // which buffer lacks it; may be empty
	CPU       int    // or Total
	// Unreadable tells that the file could not be opened or read at all, as
	// against not be understood.
	Unreadable bool
	// Harmless tells that the missing part takes nothing from the answer.
	Harmless bool
}

// Counters are the kernel's counters of one buffer at one moment: per-CPU stats
// files, or the copies of them in a trace.dat.
type Counters struct {
	Source *Source
	Stats  map[int]*tracefs.Stats
	// Evidence of a line of a CPU's stats.
	place func(cpu, line int, text string) Evidence
	// second is the same read again a moment later, on a live buffer; nil if not.
	second map[int]*tracefs.Stats
}

// CPUs are the CPUs that have counters, ascending.
func (c *Counters) CPUs() []int {
	var out []int
	for cpu := range c.Stats {
		out = append(out, cpu)
	}
	slices.Sort(out)
	return out
}

// Buffer is one ring buffer under audit, with all that the sources say of it.
type Buffer struct {
	Name   string
	Kind   BufferKind
	Mode   Mode
	Clock  string
	Tracer string
	Kernel string
	Arch   string

	// Of is the buffer that a snapshot was taken from; nil for others.
	Of *Buffer
	// Sources that spoke of the buffer, in order.
	Sources []*Source
	// Named tells that the user named a source that is this buffer's alone.
	Named bool

	// Instance is the saved or live tracefs folder; nil if there is none.
	Instance *tracefs.Instance
	source   *Source // of Instance

	Geometry       Geometry // zero if not known
	GeometrySource string
	// CPUSizes is what each CPU's size file says; empty without one.
	CPUSizes map[int]CPUSize

	// Counters are the kernel's counters that the ledger is made of; nil if no
	// source has any. Phases are those of other moments.
	Counters *Counters
	Phases   []*Counters
	before   *Counters
	// steps are what lies between before and Counters, by CPU; resetBy what else
	// tells of a reset.
	steps   map[int]step
	resetBy []string
	// thrownAway are the CPUs whose records were thrown away uncounted, all or but
	// for so many; hidden those of which the text leaves so many out; differ those
	// whose lines and entries clash (compareShown).
	thrownAway, hidden map[int]uint64
	rebuilt            []int // CPUs whose oldest event is later than now (findRebuilt)
	unused             []int // CPUs of thrownAway by their own counters (findUnused)
	differ             []unequal
	moreCPUs           bool // there are CPUs of which nothing is here
	compared           bool // lines and entries could be compared
	moved              bool // see movedOn

	// Captures are the texts, page streams and trace.dat areas of the buffer.
	Captures []*Capture
	// ownView is the `trace` of Instance, read as evidence and not as a capture.
	ownViews []*Capture

	// Quiet: recording was off when the counters were read, so that all of one
	// folder is one moment. Unknown counts as not quiet.
	Quiet bool
	// LastBoot: the buffer is mapped to memory that survives a reboot, and
	// nothing proves that it began with this boot; or its own counters prove that
	// they are not of this boot's clock.
	LastBoot bool
	// Owned: the capture that took the evidence also created the buffer.
	Owned bool
	// ProbesKnown: a kprobe_profile was among the sources.
	ProbesKnown bool
	// FlightRecorder: overwriting is intended.
	FlightRecorder bool
	// Reset: counters fell between --before and now.
	Reset bool
	// Stale: records were thrown away that entries still counts.
	Stale bool
	// Torn: the parts of the source were read while the buffer moved.
	Torn bool
	// Attempted comes from outside the kernel's counters.
	Attempted bool

	CPUs   map[int]*CPU
	Ledger *Ledger

	// Apart says why a source that could have belonged to another buffer is
	// reported by itself; empty if it is not.
	Apart string

	Verdict Verdict
	Reason  string

	ring          *ringLog // of an eBPF ring buffer
	witness       *ringlog.Witness
	witnessSource *Source
	witnessFile   string

	base   string // the name as its source tells it
	folder string // path of Instance's folder
}

// CPU is what is known of one CPU's part of a buffer beside its quantities.
type CPU struct {
	ID     int
	State  CPUState
	Window *Window
	Holes  []Hole
	// HolesOmitted is how many holes are left out of Holes; their events count.
	HolesOmitted uint64
	// CountedMarks marks of a stream told CountedLost events by number.
	// UnknownMarks told no number: UnknownLost is their sum by the counters.
	CountedMarks, CountedLost uint64
	UnknownMarks              uint64
	UnknownLost               Count
	Events                    []EventCount
}

// CPUState tells CPUs without data apart.
type CPUState string

// The states of a CPU.
const (
	StateRecorded    CPUState = "recorded"     // has records
	StateIdle        CPUState = "idle"         // proven: nothing was ever asked of it
	StateDrained     CPUState = "drained"      // had records, all read
	StateAllLost     CPUState = "all-lost"     // had records, none is left
	StateOffline     CPUState = "offline"      // not online when the source was taken
	StateNotCaptured CPUState = "not-captured" // the capture leaves it out
	StateUnknown     CPUState = "unknown"
)

// Window is a stretch of a trace clock.
type Window struct {
	Oldest tracefs.Stamp
	// Newest is the last record's stamp, Now the clock when the counters were
	// read; nil where not known.
	Newest *tracefs.Stamp
	Now    *tracefs.Stamp

	evidence []Evidence // where Oldest stands
}

// End is where the window ends: at Now, where the counters tell it, else at the
// last record.
func (w *Window) End() tracefs.Stamp {
	if w.Now != nil {
		return *w.Now
	}
	if w.Newest != nil {
		return *w.Newest
	}
	return w.Oldest
}

// Hole is a stretch of time whose events are gone.
type Hole struct {
	After, Before *tracefs.Stamp // nil: reaches to the begin or the end
	Events        Count
	Kind          HoleKind
	Inferred      bool
	// Counted tells that the source itself told the number.
	Counted bool
	// Suspect says why the kernel cannot have printed this mark here; text can be
	// forged.
	Suspect string
	Evidence
}

// HoleKind tells how the events of a hole went.
type HoleKind string

// The kinds of holes.
const (
	HoleOverwritten HoleKind = "overwritten"
	HoleDropped     HoleKind = "dropped"
	HoleRecorder    HoleKind = "recorder"
	HoleDamaged     HoleKind = "damaged"
)

// EventCount is how many records of one kind a capture holds.
type EventCount struct {
	ID    int
	Name  string
	Count uint64
	Bytes uint64 // in the ring, record headers included; 0 if not known
}

// HasCounters tells whether a kernel counter of the buffer is at hand.
func (b *Buffer) HasCounters() bool { return b.Counters != nil && len(b.Counters.Stats) > 0 }

// IsCapture tells whether records of the buffer are at hand as a source, so that
// there is something delivered.
func (b *Buffer) IsCapture() bool { return len(b.Captures) > 0 }

// CPUSize is a CPU's size as the kernel prints it, and what it amounts to.
type CPUSize struct {
	Printed tracefs.Size
	SizeReading
}

func (b *Buffer) cpu(id int) *CPU {
	if b.CPUs == nil {
		b.CPUs = map[int]*CPU{}
	}
	c := b.CPUs[id]
	if c == nil {
		c = &CPU{ID: id, State: StateUnknown}
		b.CPUs[id] = c
	}
	return c
}

// CPUIDs are the buffer's CPUs, ascending.
func (b *Buffer) CPUIDs() []int {
	ids := make([]int, 0, len(b.CPUs))
	for id := range b.CPUs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (b *Buffer) addSource(s *Source) {
	if s != nil && !slices.Contains(b.Sources, s) {
		b.Sources = append(b.Sources, s)
	}
}
