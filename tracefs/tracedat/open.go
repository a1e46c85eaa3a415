package tracedat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

var magic = []byte("\x17\x08\x44tracing")

// headerLeast is the size of the shortest initial bytes: magic, "6" with its
// NUL, byte order, long size, page size, and the tag that follows.
const headerLeast = 24

// Detect tells whether a file that begins with b may be a trace.dat.
func Detect(b []byte) bool { return bytes.HasPrefix(b, magic) }

// Open reads the metadata of the trace.dat file r of size bytes. name is for
// messages.
//
// The error wraps [ErrFormat] or [ErrVersion] for a file of another kind, and
// otherwise what r failed with; in the last case the File is what was read until
// then. A file that is cut or damaged is no error: see File.Problems. r must
// stay usable until the File is not used any more, also by several goroutines at
// once.
func Open(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{Name: name, Size: size, r: r, Events: map[uint16]Event{}, blocks: map[blockName]block{}, byName: map[string]*Buffer{}}
	c, err := f.readHeader()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if f.Version == 6 {
		err = f.readV6(c)
	} else {
		err = f.readV7(c)
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w", name, err)
	}
	if err := f.settle(); err != nil {
		return f, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// readHeader reads the initial bytes, and leaves the cursor behind them.
func (f *File) readHeader() (*cursor, error) {
	first := make([]byte, min(f.Size, 64))
	n, err := f.r.ReadAt(first, 0)
	if first = first[:n]; err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.HasPrefix(first, magic[:min(len(first), len(magic))]) || len(first) == 0 && f.Size > 0 {
		hint := ""
		if b := make([]byte, min(f.Size, subbuf.InferPrefix)); f.looksLikePages(b) {
			hint = "; it looks like raw ring-buffer pages: read it as those"
		}
		return nil, fmt.Errorf("%w: it begins with %q, expected %q%s", ErrFormat, first[:min(len(first), len(magic))], magic, hint)
	}
	if f.Size < headerLeast {
		return nil, fmt.Errorf("%w: %d bytes, its header takes at least %d", ErrFormat, f.Size, headerLeast)
	}
	f.Order = binary.LittleEndian
	c := f.cursor(int64(len(magic)), f.Size)
	version, err := c.cstr("version")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if version != "6" && version != "7" {
		return nil, fmt.Errorf("%w: found %q at offset %d, expected 6 or 7", ErrVersion, version, len(magic))
	}
	f.Version, _ = strconv.Atoi(version)
	at := c.pos
	b, err := c.bytes(6, "initial bytes")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	f.readOrder(b, at)
	c.order = f.Order
	f.LongBytes = int(b[1])
	if f.LongBytes != 4 && f.LongBytes != 8 {
		f.problem(Problem{Kind: Damaged, Offset: at + 1, Section: "size of a long", Found: fmt.Sprint(b[1]), Expected: "4 or 8"})
	}
	f.PageSize = f.Order.Uint32(b[2:])
	if !plausiblePage(f.PageSize) {
		f.problem(Problem{Kind: Damaged, Offset: at + 2, Section: "page size", Found: fmt.Sprintf("%d bytes", f.PageSize),
			Expected: fmt.Sprintf("a power of two from %d to %d", subbuf.MinBytes, subbuf.MaxBytes), Hint: "header_page tells the size that is used"})
	}
	return c, nil
}

// readOrder takes the byte order from the byte that tells it, or else from the
// page size that follows.
func (f *File) readOrder(b []byte, at int64) {
	switch b[0] {
	case 0:
	case 1:
		f.Order = binary.BigEndian
	default:
		if !plausiblePage(binary.LittleEndian.Uint32(b[2:])) && plausiblePage(binary.BigEndian.Uint32(b[2:])) {
			f.Order = binary.BigEndian
		}
		f.problem(Problem{Kind: Damaged, Offset: at, Section: "byte order", Found: fmt.Sprint(b[0]), Expected: "0 or 1",
			Hint: "taken as " + orderName(f.Order) + " endian, as the page size behind it is"})
	}
}

func orderName(o binary.ByteOrder) string {
	if o == binary.ByteOrder(binary.BigEndian) {
		return "big"
	}
	return "little"
}

func plausiblePage(n uint32) bool {
	return n >= subbuf.MinBytes && n <= subbuf.MaxBytes && n&(n-1) == 0
}

// looksLikePages reads the start of the file into b and tells whether a kernel
// wrote it as sub-buffers.
func (f *File) looksLikePages(b []byte) bool {
	n, _ := f.r.ReadAt(b, 0)
	_, _, err := subbuf.InferLayout(b[:n])
	return err == nil
}

// settle does what has to wait until all of the metadata is read: layouts,
// counters, and what of each CPU's data is there.
func (f *File) settle() error {
	f.attachStats()
	for _, b := range f.Buffers {
		b.Layout = f.Layout
		if plausiblePage(b.pageBytes) {
			b.Layout.SubbufBytes = int(b.pageBytes)
		}
	}
	f.bound()
	if err := f.settleLayouts(); err != nil {
		return err
	}
	for _, b := range f.Buffers {
		if b.ClockConflict() {
			u, why := b.Unit()
			f.problem(Problem{Kind: Note, Offset: b.Offset, Section: "clock of buffer " + strconv.Quote(b.Name), Found: b.Clock,
				Expected: "a clock that counts " + unitWord(u), Hint: "the kernel printed " + strconv.Quote(why) + "; trace-cmd 3.1 writes the top buffer's clock for every instance"})
		}
	}
	return nil
}

// addBuffer adds an empty buffer of that name, or gives the one that there is.
// It is nil where there are too many.
func (f *File) addBuffer(name string) *Buffer {
	if b := f.byName[name]; b != nil {
		return b
	}
	if len(f.Buffers) == maxBuffers {
		f.problem(Problem{Kind: Damaged, Section: "buffers", Found: fmt.Sprintf("more than %d", maxBuffers), Expected: "fewer",
			Lost: fmt.Sprintf("buffer %q", name)})
		return nil
	}
	b := &Buffer{Name: name, f: f, cpuEntries: map[int]bool{}}
	f.Buffers = append(f.Buffers, b)
	f.byName[name] = b
	return b
}

// addCPU adds a CPU's entry to a buffer. A second entry for the same CPU is
// damage: the first one stands. It tells whether more entries may come.
func (b *Buffer) addCPU(cpu int, off, size int64, packed bool, at int64) bool {
	d := &CPUData{CPU: cpu, Offset: off, Size: size, Packed: packed, b: b}
	bad := Problem{Kind: Damaged, Offset: at, Section: "CPU table", Page: -1}
	switch {
	case len(b.f.Problems) >= maxProblems && (b.cpuEntries[cpu] || b.f.entries == maxEntries):
	case b.cpuEntries[cpu]:
		bad.Found = fmt.Sprintf("a second entry for this CPU, %d bytes at offset %d", size, off)
		bad.Expected, bad.Lost = "one", "the second is left out"
	case b.f.entries == maxEntries:
		bad.Found, bad.Expected = fmt.Sprintf("more than %d entries", maxEntries), "fewer"
		bad.Lost = "this CPU and those behind it"
	default:
		b.f.entries++
		b.cpuEntries[cpu] = true
		b.CPUs = append(b.CPUs, d)
		return true
	}
	if len(b.f.Problems) < maxProblems {
		b.f.Problems = append(b.f.Problems, d.of(bad))
	}
	return b.f.entries < maxEntries
}
