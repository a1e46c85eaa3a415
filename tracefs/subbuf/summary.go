package subbuf

import (
	"fmt"
	"math"
)

// Summary is what a stream of sub-buffers of one CPU holds, and what it says
// about records that it does not hold. Stamps are raw: nanoseconds or ticks of
// the buffer's trace clock.
type Summary struct {
	Layout Layout

	// Records is the number of events (records of kind [Data]), Bytes what they
	// take with their headers.
	Records, Bytes uint64
	// ByID has them by event id, in the order of the ids.
	ByID []IDCount
	// First and Last are the stamps of the first and the last event in the
	// order of the stream; meaningless where Records is 0.
	First, Last uint64

	// Discarded is the number of records of that kind, fillers included.
	Discarded, DiscardedBytes uint64
	// Extends and Absolutes are the numbers of records of these kinds.
	Extends, Absolutes uint64

	// Pages is the number of sub-buffers in the stream, unreadable ones and one
	// that is cut short included.
	Pages int64
	// EmptyPages of them hold no record and no mark. EmptyInside of these have
	// a sub-buffer with records both before and behind them, and EmptyTail
	// stand at the end of the stream, where a recorder pads.
	EmptyPages, EmptyInside, EmptyTail int64
	// StreamBytes is the length of the stream, TailBytes what of it is an
	// incomplete sub-buffer at its end.
	StreamBytes int64
	TailBytes   int

	// Holes are the places where the kernel overwrote records that this reader
	// did not get. There are HolesTotal, of which HolesUnknown have no count;
	// Lost is the sum of the counts of the others, or the largest number there
	// is if that does not fit.
	//
	// The list is never longer than Options.MaxHoles: where there are more, each
	// entry stands for HolesPerEntry neighbours (the last for fewer). The
	// totals are exact in any case.
	Holes         []Hole
	HolesTotal    uint64
	HolesUnknown  uint64
	HolesPerEntry uint64
	Lost          uint64

	// Fills are the places where the writer may have refused records; there are
	// FillsTotal, and where these are more than Options.MaxFills the list has
	// those with the longest gaps. See [Fill] for what to make of them.
	Fills      []Fill
	FillsTotal uint64
	// MedianGap is the median over the stream of the time from the last event
	// of a sub-buffer to the stamp of the next one, rounded down to four
	// significant bits; Gaps is how many there were.
	MedianGap uint64
	Gaps      uint64

	// TimeBack are places where a stamp is older than the one before it:
	// the clock was changed or is not monotonic, or the stream is put together
	// from several. There are TimeBackTotal; the list has the first
	// Options.MaxDamage.
	TimeBack      []TimeBack
	TimeBackTotal uint64

	// Damage are the places that could not be read. There are DamageTotal, in
	// DamagedPages sub-buffers, and DamagedBytes could not be read; the list
	// has the first Options.MaxDamage.
	Damage       []Damage
	DamageTotal  uint64
	DamagedPages int64
	DamagedBytes int64
}

// IDCount is the events of one id.
type IDCount struct {
	ID      uint16
	Records uint64
	Bytes   uint64
}

// Hole is a place in a stream where records are missing that the kernel had
// written and then overwrote: between the last record of one sub-buffer and the
// first of the next one that the same reader took.
type Hole struct {
	// After is the stamp of the last event before the hole. HasAfter is false
	// for a hole at the beginning of the stream: the missing records may be as
	// old as the last reset of the buffer.
	After    uint64
	HasAfter bool
	// Before is the stamp of the first event behind the hole (of the sub-buffer
	// itself, if it has none).
	Before uint64
	// Count is how many records are missing, if Known; otherwise how many at
	// least: the sum of the counts that there are plus one for each hole that
	// has none.
	Count uint64
	Known bool
	// Page is the number of the sub-buffer behind the hole, from 0, and Offset
	// the place in the file of it (or of the compressed block that holds it).
	Page   int64
	Offset int64
	// Holes is how many neighbouring holes this entry stands for; Unknown of
	// them have no count. 1 and 0 or 1 unless a stream has more holes than are
	// kept. Of a joined entry Page and Offset are those of the first hole, and
	// records stand between After and Before.
	Holes, Unknown uint64
}

// join makes of h and the hole o behind it one entry.
func (h *Hole) join(o Hole) {
	h.Before = o.Before
	h.Count = addSaturated(h.Count, o.Count)
	h.Known = h.Known && o.Known
	h.Holes += o.Holes
	h.Unknown += o.Unknown
}

// addSaturated adds without wrapping.
func addSaturated(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// Fill is a sub-buffer that is filled to its last byte and closed by a filler:
// a record did not fit and the writer went to take the next sub-buffer. When
// the reader gets it in this form, in a buffer that does not overwrite, the
// next one was not free at that moment, and the records that were refused then
// would stand between After and Before. ("dropped events" in stats has their
// number; no sub-buffer has.)
//
// It is an inference, not a mark. An interrupt at the crossing leaves the same
// form, with a gap like any other's: believe it where dropped events were
// counted on that CPU and Gap is far above Summary.MedianGap. And records can
// be refused without a trace: one alone, or behind a sub-buffer that the last
// record filled exactly.
type Fill struct {
	Page   int64 // the filled sub-buffer
	Offset int64
	After  uint64 // stamp of its last event
	// Before is the stamp of the next sub-buffer; HasBefore is false if there
	// is none, or it cannot be read.
	Before    uint64
	HasBefore bool
	// Gap is Before less After, 0 if there is no Before or it is older.
	Gap uint64
}

// TimeBack is a place where a stamp is older than the one before it.
type TimeBack struct {
	Page   int64
	Offset int64
	From   uint64 // the stamp before
	To     uint64 // the older one
}

func (t TimeBack) String() string {
	return fmt.Sprintf("time goes back from %d to %d at sub-buffer %d (offset %d)", t.From, t.To, t.Page, t.Offset)
}

// Options bound what a [Summarizer] keeps of a stream; totals are exact
// whatever they are. The zero value takes the defaults.
type Options struct {
	MaxHoles  int // 4096, an even number, 2 at least
	MaxFills  int // 1024
	MaxDamage int // 256, of damage and of time going back each
}

func (o Options) withDefaults() Options {
	def := func(v *int, n int) {
		if *v <= 0 {
			*v = n
		}
	}
	def(&o.MaxHoles, 4096)
	def(&o.MaxFills, 1024)
	def(&o.MaxDamage, 256)
	o.MaxHoles = max(2, o.MaxHoles&^1)
	return o
}
