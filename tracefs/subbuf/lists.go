package subbuf

import (
	"cmp"
	"math/bits"
	"slices"
)

// holeList keeps at most max holes. When more come, neighbours are joined, so
// that the list covers the whole stream evenly at any length.
type holeList struct {
	max  int
	unit uint64 // holes per entry
	list []Hole
}

func (h *holeList) add(x Hole) {
	if n := len(h.list); n > 0 && h.list[n-1].Holes < h.unit {
		h.list[n-1].join(x)
		return
	}
	if len(h.list) == h.max {
		for i := 0; i < h.max/2; i++ {
			e := h.list[2*i]
			e.join(h.list[2*i+1])
			h.list[i] = e
		}
		h.list = h.list[:h.max/2]
		h.unit *= 2
	}
	h.list = append(h.list, x)
}

// fillList keeps the max fills that have the longest gaps.
type fillList struct {
	max   int
	total uint64
	list  []Fill
}

func (f *fillList) add(x Fill) {
	f.total++
	if len(f.list) == 2*f.max {
		f.shorten()
	}
	f.list = append(f.list, x)
}

// shorten drops the shortest gaps. A fill at the end of a stream has no gap and
// comes last of all, when nothing is added any more; it is kept.
func (f *fillList) shorten() {
	slices.SortStableFunc(f.list, func(a, b Fill) int {
		if a.HasBefore != b.HasBefore {
			if b.HasBefore {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Gap, a.Gap)
	})
	f.list = f.list[:f.max]
}

func (f *fillList) finish() ([]Fill, uint64) {
	if len(f.list) > f.max {
		f.shorten()
	}
	slices.SortFunc(f.list, func(a, b Fill) int { return cmp.Compare(a.Page, b.Page) })
	return f.list, f.total
}

// gapHistogram counts lengths of time in classes of four significant bits.
type gapHistogram struct {
	n [64 * 8]uint64
}

func (g *gapHistogram) add(v uint64) { g.n[gapClass(v)]++ }

// gapClass numbers the classes in the order of their values: the position of the
// highest bit and the three bits below it.
func gapClass(v uint64) int {
	if v < 16 {
		return int(v)
	}
	shift := bits.Len64(v) - 4
	return shift*8 + int(v>>shift)
}

// gapFloor is the least value of a class.
func gapFloor(class int) uint64 {
	if class < 16 {
		return uint64(class)
	}
	return uint64(class&7|8) << (class/8 - 1)
}

// median is the class that holds the lower median, and how many values there
// are.
func (g *gapHistogram) median() (value, total uint64) {
	for _, n := range g.n {
		total += n
	}
	if total == 0 {
		return 0, 0
	}
	left := (total + 1) / 2
	for class, n := range g.n {
		if n >= left {
			return gapFloor(class), total
		}
		left -= n
	}
	return 0, total
}
