package tracedat

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// area is a stretch of the file with trace data.
type area struct {
	from, to int64
	packed   bool
}

// bound finds out what of each CPU's data is in the file: where it begins, that
// it is in the file at all, and that no two CPUs claim the same bytes.
func (f *File) bound() {
	var all []*CPUData
	for _, b := range f.Buffers {
		for _, d := range b.CPUs {
			f.place(d)
			if d.Size != 0 {
				all = append(all, d)
			}
		}
	}
	// In the order of the file; of two that begin at the same place the one that
	// the tables have first keeps it.
	slices.SortStableFunc(all, func(a, b *CPUData) int { return cmp.Compare(a.Offset, b.Offset) })
	var end int64
	var owner *CPUData
	next, after := make([]int64, len(all)), f.Size
	for i := len(all) - 1; i >= 0; i-- {
		if i+1 < len(all) && all[i+1].Offset > all[i].Offset {
			after = all[i+1].Offset
		}
		next[i] = after
	}
	for i, d := range all {
		if d.limit == 0 || d.limit > f.Size {
			d.limit = f.Size
		}
		d.limit = max(d.Offset, min(d.limit, next[i]))
		d.Present = max(0, min(d.Size, f.Size-d.Offset))
		if owner != nil && d.Present > 0 && d.Offset < end {
			f.overlap(d, owner, end)
			continue
		}
		if d.Present > 0 {
			owner, end = d, d.Offset+d.Present
		}
		f.short(d)
	}
}

// place makes sense of an entry's offset and size.
func (f *File) place(d *CPUData) {
	if d.Size == 0 {
		return // an empty CPU; its offset means nothing
	}
	bad := Problem{Kind: Damaged, Section: "CPU table", Offset: d.b.Offset, Page: -1}
	off, size := swap64(d.Offset), swap64(d.Size)
	if d.Offset <= 0 || d.Size < 0 || d.Offset >= f.Size {
		if off > 0 && off < f.Size && off%subbuf.MinBytes == 0 && size > 0 && size <= f.Size-off+subbuf.MaxBytes {
			d.Offset, d.Size = off, size
			f.Notes = append(f.Notes, d.of(Problem{Kind: Note, Section: "CPU table", Offset: d.b.Offset, Page: -1,
				Found: fmt.Sprintf("%d bytes at offset %d in the other byte order", size, off),
				Hint:  "trace-cmd listen writes it so for a machine of the other byte order"}))
		}
	}
	switch {
	case d.Offset <= 0 || d.Size < 0:
		bad.Found, bad.Expected = fmt.Sprintf("%d bytes at offset %d", uint64(d.Size), uint64(d.Offset)), fmt.Sprintf("a place within the file of %d bytes", f.Size)
		bad.Lost = "all data of this CPU"
		d.problem(bad)
		d.Offset, d.Size = 0, 0
	case d.Offset%subbuf.MinBytes != 0 && d.Offset < f.Size:
		f.align(d, bad)
	}
}

// maxLooks is how many CPUs of a file are looked for: a table that has more in
// the wrong place is no table.
const maxLooks = 64

// align looks whether the data of a CPU begins at the page boundary before its
// offset, as it has to begin at one.
func (f *File) align(d *CPUData, bad Problem) {
	bad.Found, bad.Expected = fmt.Sprintf("offset %d", d.Offset), "a multiple of the page size"
	if f.misplaced++; f.misplaced > maxLooks {
		d.problem(bad)
		return
	}
	was := d.Offset
	for _, off := range []int64{was, was &^ (subbuf.MinBytes - 1), (was + subbuf.MinBytes - 1) &^ (subbuf.MinBytes - 1)} {
		if off <= 0 || off >= f.Size {
			continue
		}
		d.Offset = off
		d.Present, d.limit = min(d.Size, f.Size-off), f.Size
		if head, err := d.prefix(); err == nil {
			if got := subbuf.Fit(head, d.b.Layout); got.Valid > 0 && got.Valid*2 >= got.Pages {
				bad.Hint = fmt.Sprintf("the data looks as if it begins at %d, and is read from there", off)
				d.limit = 0
				d.problem(bad)
				return
			}
		}
	}
	d.Offset, d.limit = was, 0
	d.problem(bad)
}

// overlap takes from d what owner has already.
func (f *File) overlap(d, owner *CPUData, end int64) {
	d.Present = 0
	if f.overlaps++; f.overlaps > maxProblems {
		d.problem(Problem{Kind: Damaged, Section: "CPU table", Offset: d.b.Offset, Page: -1, Found: "bytes that another CPU has", Expected: "bytes of its own", Lost: "the data of this CPU"})
		return
	}
	whose := fmt.Sprintf("CPU %d", owner.CPU)
	if owner.b != d.b {
		whose += fmt.Sprintf(" of buffer %q", owner.b.Name)
	}
	d.problem(Problem{Kind: Damaged, Section: "CPU table", Offset: d.b.Offset, Page: -1,
		Found:    fmt.Sprintf("%d bytes at offset %d, which %s has up to %d", d.Size, d.Offset, whose, end),
		Expected: "bytes of its own", Lost: fmt.Sprintf("the data of this CPU; what it shares is counted for %s only", whose)})
}

// short says how much of a CPU's data is missing at the end of the file.
func (f *File) short(d *CPUData) {
	if d.Present == d.Size || d.Size == 0 {
		return
	}
	p := Problem{Kind: Truncated, Offset: d.Offset, Page: -1}
	if size := int64(d.b.Layout.SubbufBytes); !d.Packed && size > 0 {
		have, want := d.Present/size, (d.Size+size-1)/size
		p.Page = have
		p.Found, p.Expected = fmt.Sprintf("%d sub-buffers of it are in the file", have), fmt.Sprint(want)
	} else {
		p.Found, p.Expected = fmt.Sprintf("%d bytes of it are in the file", d.Present), fmt.Sprint(d.Size)
	}
	p.Lost = "the newest events of this CPU are missing, how many is not known"
	d.problem(p)
}

// sink takes the stretches of a CPU's data in order.
type sink struct {
	// feed takes bytes of the stream of sub-buffers: any number of whole ones,
	// and at the very end of the stream part of one. They stand at offset off
	// of the file, or come out of a compressed chunk there. It returns false to
	// end the reading.
	feed func(b []byte, off int64, packed bool) bool
	// gap takes what cannot be had.
	gap func(pages, off, bytes int64)
	// problem takes what is wrong.
	problem func(Problem)
}

// blockBytes is how much of a file is read at once. It stays within a CPU's
// cache, so that the bytes are still there when their records are walked.
const blockBytes = 256 << 10

// read hands the CPU's data to s. buf may be a buffer to use.
func (d *CPUData) read(s sink, w *worker) {
	if d.Present == 0 {
		return
	}
	if d.Packed {
		d.readChunks(s, w)
		return
	}
	size := d.b.Layout.SubbufBytes
	n := int64(max(blockBytes/size, 1) * size)
	if int64(cap(w.buf)) < n {
		w.buf = make([]byte, n)
	}
	end := d.Offset + d.Present
	for off := d.Offset; off < end; {
		b := w.buf[:min(n, end-off)]
		got, err := d.b.f.r.ReadAt(b, off)
		if got < len(b) {
			if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				s.problem(d.of(Problem{Kind: Truncated, Offset: off + int64(got), Page: -1, Found: "the file ends here", Expected: fmt.Sprintf("%d bytes more", end-off-int64(got)),
					Lost: "the newest events of this CPU", Hint: "it was longer when reading began: is somebody writing it?"}))
				s.feed(b[:got], off, false)
				return
			}
			// A bad spot of the disk takes one block; the rest may be readable.
			s.problem(d.of(Problem{Kind: Damaged, Offset: off, Page: (off - d.Offset) / int64(size), Found: err.Error(), Expected: "readable bytes"}))
			s.gap((int64(len(b))+int64(size)-1)/int64(size), off, int64(len(b)))
		} else if !s.feed(b, off, false) {
			return
		}
		off += int64(len(b))
	}
}

// prefix is the start of the CPU's data, unpacked: enough to find its layout.
func (d *CPUData) prefix() ([]byte, error) {
	most := 64 * subbuf.MinBytes
	if d.b.Layout.Check() == nil {
		most = 16 * d.b.Layout.SubbufBytes
	}
	most = min(max(most, 64*subbuf.MinBytes), subbuf.InferPrefix)
	if !d.Packed {
		b := make([]byte, min(int64(most), d.Present))
		n, err := d.b.f.r.ReadAt(b, d.Offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return b[:n], nil
	}
	var out []byte
	w := &worker{}
	defer w.close()
	d.readChunks(sink{
		feed: func(b []byte, _ int64, _ bool) bool {
			out = append(out, b[:min(len(b), most-len(out))]...)
			return len(out) < most
		},
		gap:     func(int64, int64, int64) {},
		problem: func(Problem) {},
	}, w)
	return out, nil
}
