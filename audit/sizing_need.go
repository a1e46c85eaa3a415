package audit

import (
	"fmt"
	"math"
	"math/big"
)

func none(why string) *Need {
	return &Need{Subbufs: Unknown(), MemoryBytes: Unknown(), Confidence: NoEvidence, Why: []string{why}}
}

// hold is the size that holds opt.Hold at the rate of the window.
func (s *sizer) hold() *Need {
	switch {
	case s.missing == idle && s.g.valid():
		return s.finish(&Need{Subbufs: Exactly(minSubbufs), Confidence: Estimated, Why: []string{idle + ", and it is taken to stay idle"}})
	case s.missing != "":
		return none(s.missing)
	case s.rateLo == nil:
		return none(s.rateWhy[0])
	}
	span := new(big.Rat).SetFrac64(int64(s.opt.Hold), 1e9)
	n := &Need{Confidence: Estimated, Why: s.rateWhy}
	lo := ceil(new(big.Rat).Quo(new(big.Rat).Mul(s.rateLo, span), s.perHi))
	n.Subbufs = AtLeast(max(lo, minSubbufs))
	if s.rateHi == nil {
		n.Confidence = AtLeastOnly
	} else {
		// One more than holds it: a ring that wraps throws a whole sub-buffer away.
		hi := ceil(new(big.Rat).Quo(new(big.Rat).Mul(s.rateHi, span), s.perLo))
		n.Subbufs = bounded(n.Subbufs.Lo, hi, 1)
	}
	return s.finish(n)
}

// noLoss is the size in which the same run would have lost nothing.
func (s *sizer) noLoss() *Need {
	if s.missing != "" {
		if s.missing == idle && s.g.valid() {
			return s.finish(&Need{Subbufs: Exactly(minSubbufs), Confidence: Measured, Why: []string{idle}})
		}
		return none(s.missing)
	}
	over, dropped := s.count(Overwritten), s.count(Dropped)
	lost := over.Plus(dropped)
	n := &Need{Confidence: Measured}
	read := s.count(Read)
	switch {
	case lost.None():
		n.Subbufs = s.out.Subbufs
		n.Why = append(n.Why, "nothing was overwritten or dropped: the size at hand was enough; whether less would have been, the counters do not tell")
	case read.None():
		// Nobody read: all that came has to fit.
		all := s.count(Kept).Plus(lost)
		n.Subbufs = s.room(all, 0)
		n.Why = append(n.Why, "nobody read the buffer while it recorded, so that everything has to fit", s.events)
	default:
		n.Subbufs = s.room(lost, s.out.Subbufs.Hi)
		least := uint64(1)
		if st := s.out.Stall; st != nil {
			least = max(least, ceil(new(big.Rat).Quo(new(big.Rat).SetInt(new(big.Int).SetUint64(st.Events.Lo)), s.perHi)))
			n.Why = append(n.Why, fmt.Sprintf("the reader's worst stall cost %v events; a buffer with room for that is the least, one with room for all that was lost the most that is needed", st.Events))
			if !st.Events.Exact() && st.Lasted.OK && s.rateHi != nil {
				in := func(rate *big.Rat) *big.Rat { return new(big.Rat).Mul(rate, ratio(st.Lasted.V, 1e9)) }
				n.Why = append(n.Why, fmt.Sprintf("it lasted %s s, in which the average rate makes %d to %d events", seconds(st.Lasted.V), floor(in(s.rateLo)), ceil(in(s.rateHi))))
			}
		} else {
			n.Why = append(n.Why, "a reader took events while it recorded; when it stalled is not known, so that room for all that was lost is the most that is needed")
		}
		n.Subbufs.Lo = s.out.Subbufs.Lo + least
		if !n.Subbufs.Open {
			n.Subbufs.Hi = max(n.Subbufs.Hi, n.Subbufs.Lo)
		}
		n.Confidence = Estimated
		n.Why = append(n.Why, "the reader is taken to be as fast as it was and its stalls as long, which another run need not keep; one that is slower than the events on average needs a larger buffer for every second more", s.events)
	}
	if n.Subbufs.Open {
		n.Confidence = AtLeastOnly
	}
	if c := s.count(CommitOverrun); c.Lo > 0 {
		n.Why = append(n.Why, fmt.Sprintf("commit overrun (%v events) is not in it: a larger buffer makes it rarer, and no size excludes it", c))
	}
	return s.finish(n)
}

// room is how many sub-buffers hold that many events beside the given ones.
func (s *sizer) room(events Count, beside uint64) Count {
	div := func(n uint64, per *big.Rat) uint64 {
		return ceil(new(big.Rat).Quo(new(big.Rat).SetInt(new(big.Int).SetUint64(n)), per))
	}
	lo := div(events.Lo, s.perHi)
	if events.Open {
		return AtLeast(max(lo, minSubbufs))
	}
	return bounded(max(lo, minSubbufs), div(events.Hi, s.perLo), beside)
}

// bounded is [lo, hi+more], open where that does not fit.
func bounded(lo, hi, more uint64) Count {
	if hi > maxSubbufs-min(more, maxSubbufs) {
		return AtLeast(lo)
	}
	return Between(lo, max(lo, hi+more, minSubbufs))
}

func (s *sizer) finish(n *Need) *Need {
	n.MemoryBytes = s.g.Memory(n.Subbufs)
	n.request(s.g)
	if !n.Subbufs.Open && n.RequestKB == 0 {
		n.Why = append(n.Why, "no kernel can be asked for that much")
	}
	return n
}

// floor and ceil round; what does not fit saturates.
func floor(r *big.Rat) uint64 {
	q := new(big.Int).Div(r.Num(), r.Denom())
	if !q.IsUint64() {
		return math.MaxUint64
	}
	return q.Uint64()
}

func ceil(r *big.Rat) uint64 {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsUint64() {
		return math.MaxUint64
	}
	return q.Uint64()
}

// seconds prints nanoseconds as seconds with microseconds, as the kernel does.
func seconds(ns uint64) string { return fmt.Sprintf("%d.%06d", ns/1e9, ns%1e9/1e3) }
