package tracedat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Tags of version 6, each 10 bytes with its NUL.
const (
	tagOptions   = "options  \x00"
	tagLatency   = "latency  \x00"
	tagFlyrecord = "flyrecord\x00"
	tagBytes     = 10
)

// readV6 reads the body of a version 6 file: blocks one behind the other, then
// options, then the table of the CPUs. c stands behind the initial bytes.
//
// Where a block is damaged its end is not known, and everything behind it would
// be lost. The tags are looked for then.
func (f *File) readV6(c *cursor) error {
	top := f.addBuffer("") // there always is one, if only an empty one
	err := f.readV6Blocks(c)
	if err != nil {
		if err = f.damagedBlock(err, "the rest of the metadata"); err != nil {
			return err
		}
		if c, err = f.resyncV6(c, tagOptions, tagFlyrecord, tagLatency); c == nil {
			return err
		}
	}
	r := v6Reader{f: f}
	return r.readTagged(c, top, true)
}

// damagedBlock turns an error in the metadata into a Problem; an error of the
// reader below comes back.
func (f *File) damagedBlock(err error, lost string) error {
	var short *shortError
	var value *valueError
	switch {
	case errors.As(err, &short):
		f.problem(Problem{Kind: Truncated, Offset: short.off, Section: short.what,
			Found: fmt.Sprintf("%d bytes are left", short.have), Expected: fmt.Sprint(short.need), Lost: lostWords(lost)})
	case errors.As(err, &value):
		f.problem(Problem{Kind: Damaged, Offset: value.off, Section: value.what, Found: value.found, Expected: value.expected, Lost: lostWords(lost)})
	case errors.Is(err, errUnpack):
		f.problem(Problem{Kind: Damaged, Section: "compressed section", Found: err.Error(), Lost: lostWords(lost)})
	default:
		return err
	}
	return nil
}

func lostWords(what string) string {
	if what == "" {
		return ""
	}
	return what + " cannot be read in order"
}

func (f *File) readV6Blocks(c *cursor) error {
	step := func(name blockName, read func() error) error {
		at := c.pos
		err := read()
		f.blocks[name] = block{from: at, to: c.pos, whole: err == nil}
		return err
	}
	sized := func(name blockName, sizeBytes int) error {
		return step(name, func() error {
			n, err := c.uint(sizeBytes, "size of "+name.String())
			if err != nil {
				return err
			}
			return c.skip(n, name.String())
		})
	}
	if err := step(blockHeaders, func() error { return f.readHeaders(c) }); err != nil {
		return err
	}
	if err := step(blockFtrace, func() error { return f.readFtraceFormats(c) }); err != nil {
		return err
	}
	if err := step(blockEvents, func() error { return f.readEventFormats(c) }); err != nil {
		return err
	}
	if err := sized(blockKallsyms, 4); err != nil {
		return err
	}
	if err := sized(blockPrintk, 4); err != nil {
		return err
	}
	if err := sized(blockCmdlines, 8); err != nil {
		return err
	}
	at := c.pos
	n, err := c.u32("number of CPUs")
	if err != nil {
		return err
	}
	if n == 0 || n > maxCPUs {
		return &valueError{"number of CPUs", at, fmt.Sprint(n), fmt.Sprintf("1 to %d", maxCPUs)}
	}
	f.CPUCount = int(n)
	return nil
}

// resyncV6 looks for one of the tags from the cursor on, and gives a cursor
// before the first of them, or nil if there is none.
func (f *File) resyncV6(c *cursor, tags ...string) (*cursor, error) {
	const most = 256 << 20
	from := c.pos
	at, err := f.find(from, min(f.Size, from+most), tags)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		f.problem(Problem{Kind: Truncated, Offset: from, Section: "CPU table", Found: "none behind it", Expected: "the tag \"flyrecord\"",
			Lost: f.allCPUs(), Hint: "if files named *.cpu0, *.cpu1, … stand beside this one, audit those"})
		return nil, nil
	}
	f.problem(Problem{Kind: Note, Offset: at, Section: "metadata", Found: fmt.Sprintf("the next tag is %d bytes behind the damage", at-from),
		Hint: "reading goes on there"})
	c = f.cursor(at, f.Size)
	if f.CPUCount == 0 && at >= from+4 {
		b := make([]byte, 4)
		if _, err := f.r.ReadAt(b, at-4); err != nil {
			return nil, err
		}
		if n := f.Order.Uint32(b); n > 0 && n <= maxCPUs {
			f.CPUCount = int(n)
		}
	}
	return c, nil
}

// allCPUs says that no data can be found.
func (f *File) allCPUs() string {
	if f.CPUCount > 0 {
		return fmt.Sprintf("where the data of the %d CPUs stands is not known", f.CPUCount)
	}
	return "where each CPU's data stands is not known"
}

// find is the offset of the first of the given byte strings between from and to,
// -1 if there is none.
func (f *File) find(from, to int64, what []string) (int64, error) {
	const block = 256 << 10
	overlap := 0
	for _, w := range what {
		overlap = max(overlap, len(w)-1)
	}
	buf := make([]byte, block+overlap)
	for at := from; at < to; at += block {
		n, err := f.r.ReadAt(buf[:min(int64(len(buf)), to-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return -1, err
		}
		best := -1
		for _, w := range what {
			if i := bytes.Index(buf[:n], []byte(w)); i >= 0 && (best < 0 || i < best) {
				best = i
			}
		}
		if best >= 0 {
			return at + int64(best), nil
		}
		if n < len(buf) {
			break
		}
	}
	return -1, nil
}

// v6Reader reads what begins with a tag: the top buffer, then the instances that
// its options name.
type v6Reader struct {
	f *File
	// cpus is the number of rows of a table, as the last option CPUCOUNT says.
	instances []v6Instance
	clock     bool // option TRACECLOCK was seen: tables are followed by a clock
}

type v6Instance struct {
	name   string
	offset int64
	cpus   int // of an option CPUCOUNT right behind it, else 0
	at     int64
}

// readTagged reads options, if they come first, and then the CPU table or the
// text of buffer b.
func (r *v6Reader) readTagged(c *cursor, b *Buffer, top bool) error {
	f := r.f
	at := c.pos
	tag, err := c.bytes(tagBytes, "tag")
	if err != nil {
		return f.damagedBlock(err, "the CPU table")
	}
	if string(tag) == tagOptions {
		err := r.readOptions(c)
		if err == nil {
			at = c.pos
			tag, err = c.bytes(tagBytes, "tag behind the options")
		}
		if err != nil {
			if err = f.damagedBlock(err, "what follows in the file"); err != nil {
				return err
			}
			if c, err = f.resyncV6(c, tagFlyrecord, tagLatency); c == nil {
				return err
			}
			at = c.pos
			if tag, err = c.bytes(tagBytes, "tag"); err != nil {
				return f.damagedBlock(err, "the CPU table")
			}
		}
	}
	b.Offset = at
	switch string(tag) {
	case tagLatency:
		b.text = &area{from: c.pos, to: f.Size}
		return nil
	case tagFlyrecord:
	default:
		f.problem(Problem{Kind: Damaged, Offset: at, Section: "tag", Found: fmt.Sprintf("%q", tag), Expected: `"options", "latency" or "flyrecord"`,
			Lost: "where the data of buffer " + fmt.Sprintf("%q", b.Name) + " stands is not known"})
		return nil
	}
	cpus := f.CPUCount
	if !top {
		for _, i := range r.instances {
			if i.name == b.Name && i.cpus > 0 {
				cpus = i.cpus
			}
		}
	}
	if err := r.readTable(c, b, cpus); err != nil {
		return err
	}
	if r.clock {
		r.readClock(c, b)
	}
	if !top {
		return nil
	}
	for _, i := range r.instances {
		if err := r.readInstance(i); err != nil {
			return err
		}
	}
	return nil
}

func (r *v6Reader) readInstance(i v6Instance) error {
	f := r.f
	if i.offset <= 0 || i.offset >= f.Size {
		if s := swap64(i.offset); s > 0 && s < f.Size {
			f.problem(Problem{Kind: Note, Offset: i.at, Section: "option BUFFER", Found: fmt.Sprintf("offset %d in the other byte order", s),
				Hint: "trace-cmd listen writes it so for a machine of the other byte order"})
			i.offset = s
		} else {
			f.problem(Problem{Kind: Truncated, Offset: i.at, Section: "option BUFFER", Found: fmt.Sprintf("instance %q at offset %d", i.name, uint64(i.offset)),
				Expected: fmt.Sprintf("an offset within the file of %d bytes", f.Size), Lost: "all data of this instance"})
			f.addBuffer(i.name)
			return nil
		}
	}
	b := f.addBuffer(i.name)
	if b == nil {
		return nil
	}
	inner := v6Reader{f: f, clock: r.clock, instances: []v6Instance{i}}
	return inner.readTagged(f.cursor(i.offset, f.Size), b, false)
}

// readOptions reads options up to the one that ends them.
func (r *v6Reader) readOptions(c *cursor) error {
	f := r.f
	for n := 0; ; n++ {
		at := c.pos
		id, err := c.u16("option")
		if err != nil {
			return err
		}
		if id == uint16(OptDone) {
			return nil
		}
		o, err := f.readOption(c, OptionID(id), at)
		if err != nil {
			return err
		}
		if n >= maxOptions {
			return &valueError{"options", at, fmt.Sprintf("more than %d options", maxOptions), "an end"}
		}
		switch o.ID {
		case OptTraceClock:
			r.clock = true
		case OptCPUCount:
			if len(o.Data) < 4 {
				break
			}
			n := f.Order.Uint32(o.Data)
			if n == 0 || n > maxCPUs {
				break // said by takeOption
			}
			// Behind a BUFFER it is that instance's.
			if k := len(r.instances); k > 0 {
				r.instances[k-1].cpus = int(n)
			} else {
				f.CPUCount = int(n)
			}
			continue
		case OptBuffer:
			if len(o.Data) >= 8 {
				name, _, _ := bytes.Cut(o.Data[8:], []byte{0})
				r.instances = append(r.instances, v6Instance{name: string(name), offset: int64(f.Order.Uint64(o.Data)), at: at})
			}
			continue
		}
		f.takeOption(o)
	}
}

// readTable reads the table of a buffer: offset and size of each CPU's data.
func (r *v6Reader) readTable(c *cursor, b *Buffer, cpus int) error {
	for cpu := range cpus {
		at := c.pos
		off, err := c.u64("CPU table")
		var size uint64
		if err == nil {
			size, err = c.u64("CPU table")
		}
		if err != nil {
			return r.f.damagedBlock(err, fmt.Sprintf("data of CPU %d and up of buffer %q", cpu, b.Name))
		}
		if !b.addCPU(cpu, int64(off), int64(size), false, at) {
			break
		}
	}
	return nil
}

// readClock reads the clock behind a table: a length and "[local]". A file
// without it is as good.
func (r *v6Reader) readClock(c *cursor, b *Buffer) {
	n, err := c.u64("clock")
	if err != nil || n > maxName {
		return
	}
	text, err := c.bytes(n, "clock")
	if err != nil {
		return
	}
	if clock := selected(string(text)); clock != "" {
		b.Clock = clock
	}
}
