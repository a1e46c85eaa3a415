package tracedat

import (
	"errors"
	"fmt"
	"io"
)

// recover finds the data of the CPUs in a section of trace data that no option
// points to, because the options are gone: the file was cut, or never finished.
// It can tell where each CPU's data is and not which CPU's it is.
func (f *File) recover(s section) error {
	l := f.Layout
	if l.Check() != nil {
		f.problem(Problem{Kind: Damaged, Offset: s.from, Section: "section of trace data", Found: "neither a CPU table nor header_page", Lost: "the data in it"})
		return nil
	}
	b := f.addBuffer("")
	if b == nil {
		return nil
	}
	b.Offset = s.from - sectionHeader
	end := min(f.Size, s.from+int64(s.size))
	align := int64(l.SubbufBytes)
	if plausiblePage(f.PageSize) {
		align = int64(f.PageSize)
	}
	var err error
	before := len(b.CPUs)
	if s.packed {
		err = f.recoverPacked(b, s, align, end)
	} else {
		err = f.recoverPages(b, s, align, end)
	}
	f.problem(Problem{Kind: Truncated, Offset: b.Offset, Section: "section of trace data",
		Found: "no option that says whose data this is", Expected: "a CPU table",
		Lost: "which CPU is which, and of which buffer",
		Hint: fmt.Sprintf("%d streams of sub-buffers were found by looking for them; they are numbered from %d down", len(b.CPUs)-before, FirstUnknownCPU)})
	return err
}

func alignUp(off, to int64) int64 { return (off + to - 1) / to * to }

func (f *File) addRecovered(b *Buffer, from, to int64, packed bool) bool {
	ok := b.addCPU(FirstUnknownCPU-len(b.CPUs), from, to-from, packed, b.Offset)
	b.CPUs[len(b.CPUs)-1].limit = to
	return ok
}

// recoverPages splits a stretch of sub-buffers where the stamps go back: there
// another CPU's data begins.
func (f *File) recoverPages(b *Buffer, s section, align, end int64) error {
	l := f.Layout
	size := int64(l.SubbufBytes)
	start := alignUp(s.from, align)
	begin, last := start, uint64(0)
	head := make([]byte, l.HeaderBytes)
	for off := start; off+int64(l.HeaderBytes) <= end; off += size {
		if _, err := f.r.ReadAt(head, off); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return err
		}
		h, err := l.Head(head)
		if err != nil || h.Length == 0 {
			continue
		}
		if h.Stamp < last && off > begin {
			if !f.addRecovered(b, begin, off, false) {
				return nil
			}
			begin = off
		}
		last = h.Stamp
	}
	if begin < end {
		f.addRecovered(b, begin, end, false)
	}
	return nil
}

// recoverPacked follows the chunks: each CPU's data begins at a page boundary
// with their number, and ends with the last of them.
func (f *File) recoverPacked(b *Buffer, s section, align, end int64) error {
	var head [chunkHeader]byte
	for off := alignUp(s.from, align); off+4+chunkHeader <= end; {
		if _, err := f.r.ReadAt(head[:4], off); err != nil {
			return err
		}
		n := f.Order.Uint32(head[:])
		pos := off + 4
		for range n {
			if pos+chunkHeader > end {
				break
			}
			if _, err := f.r.ReadAt(head[:], pos); err != nil {
				return err
			}
			pos += chunkHeader + int64(f.Order.Uint32(head[:]))
		}
		if n == 0 || pos == off+4 {
			break
		}
		if !f.addRecovered(b, off, min(pos, end), true) || pos >= end {
			break
		}
		off = alignUp(pos, align)
	}
	return nil
}
