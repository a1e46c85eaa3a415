package tracedat

import (
	"errors"
	"fmt"
	"io"
)

// Section ids of version 7 that are no options of the same number.
const (
	secOptions = 0
	secBuffer  = 3
	lastKnown  = 25
)

const sectionHeader = 16

// section is a part of a version 7 file.
type section struct {
	id     uint16
	packed bool
	from   int64 // of its content
	size   uint64
}

// readV7 reads the body of a version 7 file: sections that options point to, and
// options that are sections themselves, in a chain.
func (f *File) readV7(c *cursor) error {
	var err error
	for _, s := range []*string{&f.Compression, &f.CompressionVersion} {
		if *s, err = c.cstr("compression"); err != nil {
			return f.damagedBlock(err, "all that follows")
		}
	}
	at := c.pos
	first, err := c.u64("offset of the options")
	if err != nil {
		return f.damagedBlock(err, "all that follows")
	}
	switch f.Compression {
	case "none", "zlib", "zstd":
	default:
		f.problem(Problem{Kind: Damaged, Offset: int64(len(magic)) + 8, Section: "compression", Found: fmt.Sprintf("%q", f.Compression),
			Expected: `"none", "zlib" or "zstd"`, Lost: "what is compressed"})
	}
	r := v7Reader{f: f, body: c.pos, seen: map[int64]bool{}, sections: map[int64]section{}}
	whole, err := r.readChain(int64(first), at)
	if err != nil {
		return err
	}
	if !whole {
		if err := r.walk(); err != nil {
			return err
		}
	}
	return r.take(whole)
}

type v7Reader struct {
	f        *File
	body     int64 // where the first section begins
	seen     map[int64]bool
	sections map[int64]section // those that walk found, by offset
	order    []int64           // of these
	options  int
}

// readChain reads the sections of options from the one at offset off on. It is
// not whole if one could not be reached or read. at is where the offset stands.
func (r *v7Reader) readChain(off, at int64) (whole bool, err error) {
	f := r.f
	for off != 0 {
		if r.seen[off] {
			f.problem(Problem{Kind: Damaged, Offset: at, Section: "options", Found: fmt.Sprintf("offset %d of the next options again", off),
				Expected: "0 or a section not read yet", Hint: "option sections form a loop; each was read once"})
			return false, nil
		}
		r.seen[off] = true
		if off < r.body || off >= f.Size {
			if s := swap64(off); s >= r.body && s < f.Size {
				f.problem(Problem{Kind: Note, Offset: at, Section: "options", Found: fmt.Sprintf("offset %d in the other byte order", s)})
				off = s
				continue
			}
			which := "next"
			if len(r.seen) == 1 {
				which = "first"
			}
			f.problem(Problem{Kind: Truncated, Offset: at, Section: "options", Found: fmt.Sprintf("offset %d of the %s options", uint64(off), which),
				Expected: fmt.Sprintf("an offset within the file of %d bytes", f.Size), Hint: "the end of the file is missing, where its tables are"})
			return false, nil
		}
		s, err := f.sectionAt(off)
		if err == nil && s.id != secOptions {
			err = &valueError{"options", off, fmt.Sprintf("section of kind %d", s.id), "kind 0"}
		}
		if err != nil {
			return false, f.damagedBlock(err, "the options there and those behind them")
		}
		if off, at, err = r.readOptions(s); err != nil {
			return false, f.damagedBlock(err, "the options behind it")
		}
	}
	if len(r.seen) == 0 {
		f.problem(Problem{Kind: Truncated, Offset: at, Section: "options", Found: "offset 0", Expected: "the offset of the first options",
			Hint: "the recording was not finished: trace-cmd writes it last; look for files named *.cpu0, *.cpu1, … beside this one"})
		return false, nil
	}
	return true, nil
}

// readOptions reads a section of options. It gives the offset of the next one,
// 0 if this is the last, and where that offset stands.
func (r *v7Reader) readOptions(s section) (next, at int64, err error) {
	f := r.f
	c, err := f.open(s)
	if err != nil {
		return 0, 0, err
	}
	defer c.close()
	for {
		at = c.at()
		id, err := c.u16("option")
		if err != nil {
			return 0, at, err
		}
		if r.options++; r.options > maxOptions {
			return 0, at, &valueError{"options", at, fmt.Sprintf("more than %d options", maxOptions), "an end"}
		}
		if id == uint16(OptDone) {
			if _, err := c.u32("size of DONE"); err != nil {
				return 0, at, err
			}
			v, err := c.u64("offset of the next options")
			return int64(v), at, err
		}
		if _, err := f.readOption(c, OptionID(id), at); err != nil {
			return 0, at, err
		}
	}
}

// sectionAt reads the header of the section at off. A section that is longer
// than the file is an error and comes with what there is of it.
func (f *File) sectionAt(off int64) (section, error) {
	var s section
	var b [sectionHeader]byte
	if have := uint64(max(0, f.Size-off)); have < sectionHeader {
		return s, &shortError{"section", off, sectionHeader, have}
	}
	if n, err := f.r.ReadAt(b[:], off); n < sectionHeader {
		if errors.Is(err, io.EOF) {
			return s, &shortError{"section", off, sectionHeader, uint64(n)}
		}
		return s, fmt.Errorf("section at offset %d: %w", off, err)
	}
	// u2 id, u2 flags, u4 description for people, u8 size
	s.id, s.packed = f.Order.Uint16(b[:]), f.Order.Uint16(b[2:])&1 != 0
	s.size, s.from = f.Order.Uint64(b[8:]), off+sectionHeader
	var err error
	if have := uint64(f.Size - s.from); s.size > have {
		err = &shortError{sectionWords(s.id), off, s.size, have}
		s.size = have
	}
	return s, err
}

func sectionWords(id uint16) string {
	switch {
	case id == secOptions:
		return "section of options"
	case id == secBuffer:
		return "section of trace data"
	case id <= lastKnown:
		return "section " + OptionID(id).String()
	}
	return fmt.Sprintf("section of kind %d", id)
}

// open is a cursor over the content of a section.
func (f *File) open(s section) (*cursor, error) {
	c := f.cursor(s.from, s.from+int64(s.size))
	if !s.packed {
		return c, nil
	}
	packed, err := c.u32("compressed section")
	if err != nil {
		return nil, err
	}
	raw, err := c.u32("compressed section")
	if err != nil {
		return nil, err
	}
	if raw > maxRawSection {
		return nil, &valueError{"unpacked size of " + sectionWords(s.id), s.from + 4, fmt.Sprintf("%d bytes", raw), fmt.Sprintf("at most %d", maxRawSection)}
	}
	if err := c.need(uint64(packed), "compressed section"); err != nil {
		return nil, err
	}
	return f.unpacked(io.NewSectionReader(f.r, c.pos, int64(packed)), s.from, int64(raw))
}

// walk goes through the sections in the order of the file, which needs no
// options: for a file whose options are gone.
func (r *v7Reader) walk() error {
	f := r.f
	for off := r.body; off+sectionHeader <= f.Size && len(r.sections) < maxOptions; {
		s, err := f.sectionAt(off)
		var short *shortError
		if err != nil && !errors.As(err, &short) {
			return err
		}
		if s.id > lastKnown {
			f.problem(Problem{Kind: Damaged, Offset: off, Section: "section", Found: fmt.Sprintf("kind %d", s.id), Expected: fmt.Sprintf("0 to %d", lastKnown),
				Lost: "what stands behind it"})
			break
		}
		if s.id == secBuffer && s.size == 0 && err == nil {
			// Its size is written when the section is complete.
			s.size = uint64(f.Size - s.from)
		}
		r.sections[off], r.order = s, append(r.order, off)
		if err != nil {
			break
		}
		off = s.from + int64(s.size)
	}
	for _, off := range r.order {
		if s := r.sections[off]; s.id == secOptions && !r.seen[off] {
			r.seen[off] = true
			if _, _, err := r.readOptions(s); err != nil {
				if err := f.damagedBlock(err, "the options behind it"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// take makes use of the options that were read. Where the chain of options was
// not whole, sections that no option points to are made use of too.
func (r *v7Reader) take(whole bool) error {
	f := r.f
	used := map[int64]bool{}
	var buffers []Option
	for _, o := range f.Options {
		switch o.ID {
		case OptHeaderSection, OptFtraceSection, OptEventsSection, OptKallsymsSection, OptPrintkSection, OptCmdlinesSection:
			off, ok := f.optionOffset(o)
			if !ok || used[off] {
				break
			}
			used[off] = true
			if err := r.takeBlock(uint16(o.ID), off); err != nil {
				return err
			}
		case OptBuffer, OptBufferText:
			buffers = append(buffers, o)
		default:
			f.takeOption(o)
		}
	}
	if !whole {
		for _, off := range r.order {
			s := r.sections[off]
			if used[off] || s.id < uint16(OptHeaderSection) || s.id > uint16(OptCmdlinesSection) {
				continue
			}
			if _, ok := f.blocks[blockOf(s.id)]; ok {
				continue
			}
			if err := r.takeBlock(s.id, off); err != nil {
				return err
			}
		}
	}
	for _, o := range buffers {
		at, err := f.takeBuffer(o)
		if err != nil {
			return err
		}
		used[at] = true
	}
	if whole {
		if len(buffers) == 0 {
			f.problem(Problem{Kind: Damaged, Offset: r.body, Section: "options", Found: "no option BUFFER", Expected: "at least one", Lost: "all trace data"})
		}
		return nil
	}
	for _, off := range r.order {
		if s := r.sections[off]; s.id == secBuffer && !used[off] {
			if err := f.recover(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// optionOffset is the offset of a section that an option holds.
func (f *File) optionOffset(o Option) (int64, bool) {
	if len(o.Data) < 8 {
		f.problem(Problem{Kind: Damaged, Offset: o.Offset, Section: "option " + o.ID.String(), Found: fmt.Sprintf("%d bytes", o.Size), Expected: "8, the offset of a section"})
		return 0, false
	}
	off := int64(f.Order.Uint64(o.Data))
	if off > 0 && off < f.Size {
		return off, true
	}
	if s := swap64(off); s > 0 && s < f.Size {
		f.problem(Problem{Kind: Note, Offset: o.Offset, Section: "option " + o.ID.String(), Found: fmt.Sprintf("offset %d in the other byte order", s),
			Hint: "trace-cmd listen writes it so for a machine of the other byte order"})
		return s, true
	}
	f.problem(Problem{Kind: Truncated, Offset: o.Offset, Section: "option " + o.ID.String(), Found: fmt.Sprintf("offset %d", uint64(off)),
		Expected: fmt.Sprintf("an offset within the file of %d bytes", f.Size), Lost: "the section that it points to"})
	return 0, false
}

func blockOf(id uint16) blockName { return blockHeaders + blockName(id-uint16(OptHeaderSection)) }

// takeBlock reads one of the sections 16 to 21, of which 19 to 21 only have to
// be known.
func (r *v7Reader) takeBlock(id uint16, off int64) error {
	f := r.f
	s, err := f.sectionAt(off)
	if err == nil && s.id != id {
		err = &valueError{"section", off, fmt.Sprintf("kind %d", s.id), fmt.Sprint(id)}
	}
	name := blockOf(id)
	if err == nil && name <= blockEvents {
		err = f.readBlock(name, s)
	}
	f.blocks[name] = block{from: s.from, to: s.from + int64(s.size), packed: s.packed, whole: err == nil}
	if err == nil {
		return nil
	}
	return f.damagedBlock(err, "the rest of "+name.String())
}

func (f *File) readBlock(name blockName, s section) error {
	c, err := f.open(s)
	if err != nil {
		return err
	}
	defer c.close()
	switch name {
	case blockHeaders:
		return f.readHeaders(c)
	case blockFtrace:
		return f.readFtraceFormats(c)
	}
	return f.readEventFormats(c)
}
