package audit

import (
	"fmt"
	"math/big"
	"time"

	"github.com/ringaudit/ringaudit/tracefs"
)

// SizingOptions says what a buffer's size is asked for.
type SizingOptions struct {
	// Hold is how long a history the buffer should hold; 0: not asked.
	Hold time.Duration
	// NoLoss asks for the size that would have lost nothing.
	NoLoss bool
	// Geometry and RequestKB stand in where the sources do not tell the size of
	// the buffer; zero: nothing stands in.
	Geometry  Geometry
	RequestKB uint64
}

// Confidence says how far a [Need] can be trusted.
type Confidence string

const (
	// Measured: it follows from numbers that the sources state, for the run that
	// they are of.
	Measured Confidence = "measured"
	// Estimated: it follows from such numbers and from an assumption that the
	// Need names.
	Estimated Confidence = "estimated"
	// AtLeastOnly: the sources bound it from below only.
	AtLeastOnly Confidence = "lower bound"
	// NoEvidence: the sources say nothing of it.
	NoEvidence Confidence = "none"
)

// Need is how large one CPU's buffer has to be for a purpose.
type Need struct {
	Subbufs     Count // the reader page is not counted
	MemoryBytes Count // with the reader page
	// RequestKB is what to write to buffer_size_kb: it grants Subbufs.Hi. 0 where
	// there is no upper bound, so that no size can be promised.
	RequestKB  uint64
	Confidence Confidence
	// Why says what the need rests on, or why there is none, a sentence each.
	Why []string
}

// Stall is the worst stretch in which a reader did not come, by the events that
// were lost in it.
type Stall struct {
	Events Count
	// Lasted is the time from the last record before the gap to the first behind
	// it, in nanoseconds; absent where the marks are not in seconds.
	Lasted tracefs.Field[uint64]
}

// CPUSizing is what the evidence says of one CPU's needs.
type CPUSizing struct {
	CPU     int
	Subbufs Count // as it was
	// PerSubbuf is how many events a sub-buffer held, on average.
	PerSubbuf Count
	// EventBytes is what an event took of a sub-buffer, on average, with what was
	// left empty at the end of sub-buffers.
	EventBytes Count
	// PerSecond is the rate of events in the window, rounded outwards.
	PerSecond Count
	// WindowNS is the time that the buffer held; absent where it is not known or
	// not in seconds.
	WindowNS tracefs.Field[uint64]
	Stall    *Stall // nil where no capture marks one
	Hold     *Need  // nil where not asked for
	NoLoss   *Need  // nil where not asked for
}

// BufferSizing is what the evidence says of a buffer's needs.
type BufferSizing struct {
	Buffer   *Buffer
	Geometry Geometry
	CPUs     []CPUSizing
	// Hold and NoLoss are for buffer_size_kb, which gives all CPUs the same: the
	// largest need of a CPU, and the memory of all CPUs together. nil where not
	// asked for.
	Hold, NoLoss *Need
}

// Sizing works out, for each CPU that has counters, which size would have held
// opt.Hold, and which would have lost nothing. It states what follows from the
// evidence and no more: see [Confidence].
func (b *Buffer) Sizing(opt SizingOptions) BufferSizing {
	s := BufferSizing{Buffer: b, Geometry: b.Geometry}
	if !s.Geometry.valid() {
		s.Geometry = opt.Geometry
	}
	for _, id := range b.CPUIDs() {
		c := sizer{b: b, g: s.Geometry, opt: opt, cpu: id, out: CPUSizing{CPU: id, PerSubbuf: Unknown(), EventBytes: Unknown(), PerSecond: Unknown()}}
		s.CPUs = append(s.CPUs, c.run())
	}
	if opt.Hold > 0 {
		s.Hold = s.whole(func(c CPUSizing) *Need { return c.Hold })
	}
	if opt.NoLoss {
		s.NoLoss = s.whole(func(c CPUSizing) *Need { return c.NoLoss })
	}
	return s
}

// whole is the need of all CPUs under one buffer_size_kb.
func (s *BufferSizing) whole(of func(CPUSizing) *Need) *Need {
	all := &Need{Subbufs: Exactly(minSubbufs), Confidence: Measured}
	rank := map[Confidence]int{Measured: 0, Estimated: 1, AtLeastOnly: 2, NoEvidence: 3}
	known := 0
	for _, c := range s.CPUs {
		n := of(c)
		if n.Confidence == NoEvidence {
			all.Why = append(all.Why, fmt.Sprintf("cpu %d is not in it: %s", c.CPU, n.Why[0]))
			continue
		}
		known++
		all.Subbufs = Count{Lo: max(all.Subbufs.Lo, n.Subbufs.Lo), Hi: max(all.Subbufs.Hi, n.Subbufs.Hi), Open: all.Subbufs.Open || n.Subbufs.Open}
		if rank[n.Confidence] > rank[all.Confidence] {
			all.Confidence = n.Confidence
		}
	}
	if known == 0 {
		if len(s.CPUs) == 0 {
			all.Why = []string{"no source has counters of this buffer"}
		}
		all.Subbufs, all.MemoryBytes, all.Confidence = Unknown(), Unknown(), NoEvidence
		return all
	}
	all.MemoryBytes = Exactly(0)
	for range s.CPUs {
		all.MemoryBytes = all.MemoryBytes.Plus(s.Geometry.Memory(all.Subbufs))
	}
	all.request(s.Geometry)
	return all
}

// request fills in what to write for the need.
func (n *Need) request(g Geometry) {
	if n.Subbufs.Open {
		return
	}
	if grant, ok := g.RequestFor(n.Subbufs.Hi); ok {
		n.RequestKB = grant.RequestKB
	}
}

// sizer works on one CPU.
type sizer struct {
	b   *Buffer
	g   Geometry
	opt SizingOptions
	cpu int
	out CPUSizing

	// perLo and perHi bound the average number of events in a sub-buffer.
	perLo, perHi *big.Rat
	// rateLo and rateHi bound the events per second; rateHi nil: no bound.
	rateLo, rateHi *big.Rat
	rateWhy        []string
	missing        string // why nothing can be said; empty if something can
	events         string // what the size of an event is taken from
}

func (s *sizer) run() CPUSizing {
	s.density()
	if s.missing == "" {
		s.rate()
		s.stall()
	}
	if s.opt.Hold > 0 {
		s.out.Hold = s.hold()
	}
	if s.opt.NoLoss {
		s.out.NoLoss = s.noLoss()
	}
	return s.out
}

func (s *sizer) count(q Quantity) Count { return s.b.Ledger.Count(s.cpu, q) }

// subbufs is how many sub-buffers the CPU had, from its size file or from what
// stands in for it.
func (s *sizer) subbufs() Count {
	if size, ok := s.b.CPUSizes[s.cpu]; ok && !size.Subbufs.IsUnknown() {
		return size.Subbufs
	}
	if s.opt.RequestKB > 0 {
		if grant, err := s.g.Grant(s.opt.RequestKB); err == nil {
			return Exactly(grant.Subbufs)
		}
	}
	return Unknown()
}
