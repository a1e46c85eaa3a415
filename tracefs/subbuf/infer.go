package subbuf

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Inference tells how well a layout that was guessed from bytes fits them.
type Inference struct {
	// Pages is how many sub-buffers were tried, Valid how many of them are what
	// a kernel writes: records that end exactly where the header says, and
	// stamps that do not go back. Those without an event are not counted in
	// either.
	Pages, Valid int
	// Records is the number of events in the valid ones.
	Records int
	// RunnerUp is the next best layout, and RunnerUpValid how many sub-buffers
	// fit it.
	RunnerUp      Layout
	RunnerUpValid int
}

// Certain tells whether everything that was tried fits, and nothing fits any
// other byte order or long size.
func (i Inference) Certain() bool {
	return i.Valid == i.Pages && i.Valid > 0 && i.RunnerUpValid == 0
}

func (i Inference) String() string {
	return fmt.Sprintf("inferred: %d of the first %d sub-buffers with records fit, %d the next best layout", i.Valid, i.Pages, i.RunnerUpValid)
}

// ErrNoLayout means that bytes are not sub-buffers of any known layout.
var ErrNoLayout = errors.New("not ring-buffer pages of any known layout (little or big endian, 4- or 8-byte long, 4 KiB to 1 MiB)")

// ErrNoRecords means that all sub-buffers are empty: any layout fits, and there
// is nothing to count.
var ErrNoRecords = errors.New("ring-buffer pages without a single record: their layout cannot be told")

// InferPrefix is how many bytes of a stream are worth giving to [InferLayout].
const InferPrefix = 4 << 20

// inferPages is how many sub-buffers are tried for a layout.
const inferPages = 64

// InferLayout finds the layout of a stream of sub-buffers from its first bytes,
// of which it looks at [InferPrefix] at most: for the case that no header_page
// is at hand. The error is [ErrNoLayout] or [ErrNoRecords].
//
// The smallest sub-buffer that fits is taken: one of several times its size
// fits as well, and misses the others.
func InferLayout(b []byte) (Layout, Inference, error) {
	b = b[:min(len(b), InferPrefix)]
	if allZero(b) {
		return Layout{}, Inference{}, ErrNoRecords
	}
	var best, second Inference
	var layout, runnerUp Layout
	for _, c := range []struct {
		order binary.ByteOrder
		long  int
	}{
		{binary.LittleEndian, 8}, {binary.LittleEndian, 4}, {binary.BigEndian, 8}, {binary.BigEndian, 4},
	} {
		l, got := bestSize(b, c.order, c.long)
		switch {
		case got.better(best):
			layout, runnerUp = l, layout
			best, second = got, best
		case got.better(second):
			runnerUp, second = l, got
		}
	}
	best.RunnerUp, best.RunnerUpValid = runnerUp, second.Valid
	// Bytes that are no pages fit here and there by chance, and an empty one of
	// any order fits every time. Half of what is tried has to fit.
	if best.Records == 0 || best.Valid*2 < best.Pages {
		return Layout{}, best, ErrNoLayout
	}
	return layout, best, nil
}

// better orders inferences by the share that fits, then by what is in it.
func (i Inference) better(o Inference) bool {
	a, b := i.Valid*max(1, o.Pages), o.Valid*max(1, i.Pages)
	if a != b {
		return a > b
	}
	return i.Records > o.Records
}

// bestSize finds the size of the sub-buffers, given the rest.
func bestSize(b []byte, order binary.ByteOrder, long int) (Layout, Inference) {
	var layout Layout
	var best Inference
	for size := MinBytes; size <= 1<<20; size *= 2 {
		if size > MinBytes && len(b) < size {
			break
		}
		l := NewLayout(order, long, size)
		got := fit(b, l, true)
		// Several sub-buffers taken for one fit as well as they do alone, so that
		// a larger size has to find more.
		if size == MinBytes || got.Records > best.Records && got.Valid*max(1, best.Pages) > best.Valid*max(1, got.Pages) {
			layout, best = l, got
		}
		if best.Valid == best.Pages && best.Valid > 0 {
			break
		}
	}
	return layout, best
}

// fit tries a layout. strict asks for the high half of an 8-byte commit to be what
// kernels leave there: nothing, or a copied sign.
func fit(b []byte, l Layout, strict bool) Inference {
	var i Inference
	var last uint64
	for n := 0; len(b) > l.HeaderBytes && n < inferPages; n++ {
		pg := b[:min(len(b), l.SubbufBytes)]
		b = b[len(pg):]
		p, err := l.Page(pg)
		if err == nil && p.Length == 0 && !p.Missed {
			// No kernel leaves bytes in an empty sub-buffer that nobody wrote.
			if allZero(pg[8:min(len(pg), l.HeaderBytes+64)]) {
				continue
			}
			err = errors.New("bytes in an empty sub-buffer")
		}
		i.Pages++
		if err != nil || p.Stamp < last || strict && !l.highHalf(pg) {
			continue
		}
		ts, records, ok := p.Stamp, 0, true
		for r, err := range p.Records() {
			if err != nil {
				ok = err.(*Damage).Kind == PageCut && records > 0
				break
			}
			if r.Kind == Data {
				// A filler's delta is no time: the next sub-buffer may begin before it.
				ts = r.Stamp
				records++
			}
		}
		switch {
		case !ok:
			continue
		case records == 0: // discarded ones only: no better evidence than an empty one
			i.Pages--
			continue
		}
		last = ts
		i.Valid++
		i.Records += records
	}
	return i
}

// highHalf tells whether bits 32 to 63 of the commit word are all alike.
func (l Layout) highHalf(b []byte) bool {
	if l.LongBytes != 8 {
		return true
	}
	v := uint32(l.Order.Uint64(b[8:]) >> 32)
	return v == 0 || v == ^uint32(0)
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// Fit tells how well the start of a stream of sub-buffers, b, fits the layout.
func Fit(b []byte, l Layout) Inference {
	if l.Check() != nil {
		return Inference{}
	}
	return fit(b, l, false)
}
