package probe

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"

	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// Counts are the hits so far, by CPU (place in the slice).
type Counts []uint64

// Sub is how far c went since before.
func (c Counts) Sub(before Counts) Counts {
	d := make(Counts, len(c))
	for i := range c {
		d[i] = c[i] - before[i]
	}
	return d
}

// Counts reads the hits of the probes that the instance records too, summed by
// CPU. Each CPU's number is exact for the moment at which it was read; the CPUs
// are read one after the other.
func (s *Set) Counts() (Counts, error) {
	hits, err := s.hits()
	if err != nil {
		return nil, err
	}
	sum := make(Counts, s.cpus)
	for cpu := range sum {
		for i := range s.targets {
			if s.targets[i].Recorded {
				sum[cpu] += hits[cpu*s.stride+i]
			}
		}
	}
	return sum, nil
}

// hits reads the whole table of hits: in one call where the kernel can (5.6 and
// later), so that the bounds of a short capture are not stretched by reading.
func (s *Set) hits() ([]uint64, error) {
	m := s.maps[witnessMapHits]
	out := make([]uint64, s.cpus*s.stride)
	if !s.noBatch {
		keys := make([]uint32, len(out))
		var at ebpf.MapBatchCursor
		n, err := m.BatchLookup(&at, keys, out, nil)
		if err == nil || errors.Is(err, ebpf.ErrKeyNotExist) {
			if n == len(out) {
				return out, nil
			}
		}
		s.noBatch = true
	}
	for i := range out {
		if err := m.Lookup(uint32(i), &out[i]); err != nil {
			return nil, fmt.Errorf("reading the hits: %w", err)
		}
	}
	return out, nil
}

// misses are the recursion misses of all programs so far: the targets' first,
// then the followers'.
func (s *Set) misses() []uint64 {
	var out []uint64
	of := func(p *ebpf.Program) {
		st, err := p.Stats()
		if err != nil {
			out = append(out, 0)
			return
		}
		out = append(out, st.RecursionMisses)
	}
	for _, p := range s.progs {
		of(p)
	}
	for _, t := range s.twins {
		of(t.prog)
	}
	return out
}

// Tasks are the followed tasks that are still there, by the kernel's PID. whole
// is false if the list changed while it was read: tasks come and go.
func (s *Set) Tasks() (pids []uint32, whole bool, err error) {
	var pid uint32
	var one uint8
	it := s.maps[witnessMapPids].Iterate()
	for it.Next(&pid, &one) {
		pids = append(pids, pid)
	}
	err = it.Err()
	if errors.Is(err, ebpf.ErrIterationAborted) {
		return pids, false, nil
	}
	return pids, err == nil, err
}

// Losses are what the kernel side says at the end.
type Losses struct {
	Asked, Failed, Unattributed []uint64 // by CPU; nil without records
	Probes                      []ringlog.ProbeHit
	FollowerMisses              uint64 // hits that the followers of tasks missed
	UnseenSwitches              uint64 // task switches that the kernel did not report to them
	Followed                    *ringlog.Followed
}

// Losses reads what was refused, attribution first and totals last: the opposite
// of the order in which the programs add. It waits until nothing moves any more,
// which after [Set.Detach] is at once.
func (s *Set) Losses() (*Losses, error) {
	l := &Losses{}
	now := s.misses()
	for i := range s.targets {
		t := &s.targets[i]
		h := ringlog.ProbeHit{Probe: t.Probe}
		st, err := s.progs[i].Stats()
		if err != nil {
			return nil, err
		}
		if t.Recursion != "uncounted" {
			m := now[i] - s.misses0[i]
			h.RecursionMisses = &m
		}
		if s.opts.RunStats {
			ns, n := uint64(st.Runtime), st.RunCount
			h.RunNS, h.RunCount = &ns, &n
		}
		h.LinkMissed = t.linkMissed
		if s.opts.Records {
			n, err := s.failedByProbe(i)
			if err != nil {
				return nil, err
			}
			h.ReserveFailures = &n
		}
		l.Probes = append(l.Probes, h)
	}
	hits, err := s.hits()
	if err != nil {
		return nil, err
	}
	for i := range s.targets {
		for cpu := range s.cpus {
			l.Probes[i].Hits += hits[cpu*s.stride+i]
		}
	}
	for i := range s.twins {
		l.FollowerMisses += now[len(s.progs)+i] - s.misses0[len(s.progs)+i]
	}
	for cpu := range s.cpus {
		var st witnessCpuState
		if err := s.maps[witnessMapState].Lookup(uint32(cpu), &st); err != nil {
			return nil, fmt.Errorf("reading the state of CPU %d: %w", cpu, err)
		}
		l.UnseenSwitches += st.Unseen
		if s.opts.Records {
			l.Asked = append(l.Asked, st.Seq)
			l.Failed = append(l.Failed, st.Failed)
			l.Unattributed = append(l.Unattributed, st.Unattributed)
		}
	}
	if s.opts.Filtered {
		var n [3]uint64
		for i := range n {
			if err := s.maps[witnessMapFollow].Lookup(uint32(i), &n[i]); err != nil {
				return nil, err
			}
		}
		left, _, err := s.Tasks()
		if err != nil {
			return nil, err
		}
		l.Followed = &ringlog.Followed{Added: n[0], Removed: n[1], Lost: n[2], Left: uint64(len(left))}
	}
	return l, nil
}

func (s *Set) failedByProbe(i int) (sum uint64, err error) {
	var by []uint64
	err = s.maps[witnessMapFailedByProbe].Lookup(uint32(i), &by)
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return 0, nil
	}
	for _, n := range by {
		sum += n
	}
	return sum, err
}

// Settle waits until the counts stand still, at most for limit: programs that
// were running when the links went may count for a moment more.
func (s *Set) Settle(limit time.Duration) (Counts, error) {
	last, err := s.Counts()
	for end := time.Now().Add(limit); err == nil; {
		time.Sleep(2 * time.Millisecond)
		var next Counts
		if next, err = s.Counts(); err != nil {
			break
		}
		still := true
		for i := range next {
			still = still && next[i] == last[i]
		}
		last = next
		if still || time.Now().After(end) {
			break
		}
	}
	return last, err
}
