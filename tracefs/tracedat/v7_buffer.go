package tracedat

import "fmt"

// takeBuffer reads an option BUFFER or BUFFER_TEXT, and gives the offset of the
// section that it points to.
//
//	u8 offset, name, clock, and for BUFFER: u4 sub-buffer size, u4 CPUs,
//	and per CPU u4 number, u8 offset, u8 size
func (f *File) takeBuffer(o Option) (int64, error) {
	off, known := f.optionOffset(o)
	if len(o.Data) < 8 {
		return 0, nil
	}
	rest := o.Data[8:]
	name := cstring(rest)
	rest = rest[min(len(rest), len(name)+1):]
	clock := cstring(rest)
	rest = rest[min(len(rest), len(clock)+1):]
	b := f.addBuffer(name)
	if b == nil {
		return off, nil
	}
	b.Clock, b.Offset = clock, off

	var s section
	var err error
	if known {
		if s, err = f.sectionAt(off); err != nil {
			if err := f.damagedBlock(err, ""); err != nil {
				return off, err
			}
		}
		want := uint16(secBuffer)
		if o.ID == OptBufferText {
			want = uint16(OptBufferText)
		}
		if s.id != want {
			f.problem(Problem{Kind: Damaged, Offset: off, Section: "section of buffer " + fmt.Sprintf("%q", name), Found: fmt.Sprintf("kind %d", s.id), Expected: fmt.Sprint(want),
				Hint: "the CPU table of the option is used all the same"})
			s.packed = f.Compression != "none"
			s.size = uint64(f.Size - off)
		}
	} else {
		s.packed, s.size = f.Compression != "none", uint64(f.Size)
	}
	if o.ID == OptBufferText {
		b.text = &area{from: s.from, to: s.from + int64(s.size), packed: s.packed}
		return off, nil
	}
	if len(rest) < 8 {
		f.problem(Problem{Kind: Truncated, Offset: o.Offset, Section: "option BUFFER", Found: fmt.Sprintf("%d bytes behind the clock", len(rest)), Expected: "8 at least", Lost: "the CPU table of buffer " + fmt.Sprintf("%q", name)})
		return off, nil
	}
	b.pageBytes = f.Order.Uint32(rest)
	if !plausiblePage(b.pageBytes) {
		f.problem(Problem{Kind: Damaged, Offset: o.Offset, Section: "sub-buffer size of buffer " + fmt.Sprintf("%q", name), Found: fmt.Sprint(b.pageBytes),
			Expected: "a power of two, 4096 at least", Hint: "header_page tells the size that is used"})
	} else if name == "" && f.HeaderPageText != "" && int(b.pageBytes) != f.Layout.SubbufBytes {
		f.problem(Problem{Kind: Damaged, Offset: o.Offset, Section: "sub-buffer size of the top buffer", Found: fmt.Sprint(b.pageBytes),
			Expected: fmt.Sprintf("%d as header_page says", f.Layout.SubbufBytes), Hint: "the buffer's own is used"})
	}
	n := f.Order.Uint32(rest[4:])
	rest = rest[8:]
	const row = 20
	if have := uint32(len(rest) / row); n > have {
		f.problem(Problem{Kind: Truncated, Offset: o.Offset, Section: "option BUFFER", Found: fmt.Sprintf("%d CPUs of buffer %q", have, name), Expected: fmt.Sprint(n), Lost: "the other CPUs"})
		n = have
	}
	for ; n > 0; n, rest = n-1, rest[row:] {
		cpu := f.Order.Uint32(rest)
		if cpu >= 1<<20 {
			f.problem(Problem{Kind: Damaged, Offset: o.Offset, Section: "option BUFFER", Found: fmt.Sprintf("CPU %d", cpu), Expected: "a CPU's number", Lost: "its data"})
			continue
		}
		if !b.addCPU(int(cpu), int64(f.Order.Uint64(rest[4:])), int64(f.Order.Uint64(rest[12:])), s.packed, o.Offset) {
			break
		}
	}
	for _, d := range b.CPUs {
		d.limit = s.from + int64(s.size)
	}
	return off, nil
}
