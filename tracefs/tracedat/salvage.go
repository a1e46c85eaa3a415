package tracedat

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// Salvaged tells what [File.Salvage] wrote, and what it could not.
type Salvaged struct {
	CPUs []SalvagedCPU
	// TextBytes is the length of the text of buffers that were recorded as text.
	TextBytes int64
	// Bytes is the size of the new file.
	Bytes int64
	// LeftOut is all that is wrong with the original, its trace data included.
	LeftOut []Problem
}

// SalvagedCPU is what was written of one CPU.
type SalvagedCPU struct {
	From *CPUData
	// CPU is its number in the new file: that of the original, or a free one
	// where the original does not tell.
	CPU int
	// Pages is the number of sub-buffers written. Shortened of them lack the
	// records behind a damaged place.
	Pages, Shortened int64
	// Dropped is the number of sub-buffers that nothing could be read of.
	// Empty ones were left out too, and are not counted.
	Dropped int64
	// Records is the number of events written.
	Records uint64
}

// salvageMark begins the recorder's version in a file that Salvage wrote.
const salvageMark = "ringaudit salvage of "

// Salvaged tells whether the file was written by [File.Salvage]. In such a file
// a sub-buffer that is marked as having lost events before it may be marked for
// what Salvage left out: then the kernel's counters know nothing of it.
func (f *File) Salvaged() bool { return strings.HasPrefix(f.Recorder, salvageMark) }

// Salvage writes a file of the same version with everything of f that can be
// read, and nothing that cannot: whole sub-buffers, tables that fit them, no
// compression. trace-cmd opens it whatever the original is like.
//
// A sub-buffer that is damaged keeps the records before the damage. The one
// behind a place where something was left out is marked as having lost events
// before it, of unknown number, the way the kernel marks it.
//
// The error is that of w, of reading what is not trace data, or ctx's.
func (f *File) Salvage(ctx context.Context, w io.WriterAt) (*Salvaged, error) {
	s := &salvager{f: f, out: output{w: w}, e: f.Order.(byteOrder), result: &Salvaged{LeftOut: append([]Problem(nil), f.Problems...)}}
	s.prepare()
	var err error
	if f.Version == 6 {
		err = s.v6(ctx)
	} else {
		err = s.v7(ctx)
	}
	if err == nil {
		err = s.out.flush()
	}
	s.result.Bytes = s.out.pos
	return s.result, err
}

// output writes from front to back, with a look back to fill in what was not
// known yet.
type output struct {
	w   io.WriterAt
	pos int64 // where the next byte goes
	buf []byte
	err error
}

func (o *output) write(b ...byte) {
	o.buf = append(o.buf, b...)
	o.pos += int64(len(b))
	if len(o.buf) >= blockBytes {
		o.flush()
	}
}

func (o *output) flush() error {
	if o.err == nil && len(o.buf) > 0 {
		_, o.err = o.w.WriteAt(o.buf, o.pos-int64(len(o.buf)))
	}
	o.buf = o.buf[:0]
	return o.err
}

// patch writes over what was written at off.
func (o *output) patch(off int64, b []byte) {
	if o.flush() == nil {
		_, o.err = o.w.WriteAt(b, off)
	}
}

// align fills up with zeros.
func (o *output) align(to int64) {
	if n := alignUp(o.pos, to) - o.pos; n > 0 {
		o.write(make([]byte, n)...)
	}
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

type salvager struct {
	f      *File
	out    output
	e      byteOrder
	layout subbuf.Layout
	align  int64
	cpus   int // rows of a table
	ids    map[*CPUData]int
	result *Salvaged
}

// prepare decides on the CPUs' numbers and the alignment.
func (s *salvager) prepare() {
	f := s.f
	s.layout = f.Layout
	if s.layout.Check() != nil {
		s.layout = subbuf.NewLayout(f.Order, 8, subbuf.MinBytes)
	}
	s.align = int64(s.layout.SubbufBytes)
	s.cpus = f.CPUCount
	s.ids = map[*CPUData]int{}
	for _, b := range f.Buffers {
		if b.Layout.Check() == nil {
			s.align = max(s.align, int64(b.Layout.SubbufBytes))
		}
		for _, d := range b.CPUs {
			id := d.CPU
			if id < 0 {
				id = FirstUnknownCPU - id
				for b.cpuEntries[id] {
					id += len(b.CPUs)
				}
			}
			s.ids[d] = id
			s.cpus = max(s.cpus, id+1)
		}
	}
	s.cpus = max(1, s.cpus)
}

func (s *salvager) u16(v uint16) { s.out.write(s.e.AppendUint16(nil, v)...) }
func (s *salvager) u32(v uint32) { s.out.write(s.e.AppendUint32(nil, v)...) }
func (s *salvager) u64(v uint64) { s.out.write(s.e.AppendUint64(nil, v)...) }
func (s *salvager) cstr(v string) {
	s.out.write([]byte(v)...)
	s.out.write(0)
}

// head writes the initial bytes.
func (s *salvager) head() {
	s.out.write(magic...)
	s.cstr(fmt.Sprint(s.f.Version))
	order := byte(0)
	if s.e == binary.ByteOrder(binary.BigEndian) {
		order = 1
	}
	long := s.f.LongBytes
	if long != 4 && long != 8 {
		long = s.layout.LongBytes
	}
	s.out.write(order, byte(long))
	s.u32(uint32(s.layout.SubbufBytes))
}

// options are those that hold no place in the file, as they were; the
// recorder's version says what became of its file.
func (s *salvager) options() []Option {
	var out []Option
	version := salvageMark + "a trace.dat"
	if s.f.Recorder != "" {
		version = salvageMark + "trace-cmd " + s.f.Recorder
	}
	if s.f.Salvaged() {
		version = s.f.Recorder
	}
	out = append(out, Option{ID: OptVersion, Data: append([]byte(version), 0)})
	for _, o := range s.f.Options {
		switch o.ID {
		case OptDate, OptCPUStat, OptTraceClock, OptUname, OptHook, OptOffset, OptProcMaps, OptTraceID, OptTimeShift, OptGuest, OptTSC2NSEC, OptLastBootInfo:
			if o.Data != nil {
				out = append(out, o)
			}
		}
	}
	return out
}

// data writes the readable sub-buffers of a CPU and returns where they are.
func (s *salvager) data(ctx context.Context, d *CPUData) (off, size int64, err error) {
	s.out.align(s.align)
	off = s.out.pos
	c := SalvagedCPU{From: d, CPU: s.ids[d]}
	problems := append([]Problem(nil), d.problems...)
	l := d.b.Layout
	cl := cleaner{l: l}
	if l.Check() == nil {
		w := &worker{}
		defer w.close()
		z, _ := subbuf.NewSummarizer(l, subbuf.Options{MaxHoles: 2, MaxFills: 1})
		d.read(sink{
			feed: func(b []byte, at int64, packed bool) bool {
				if packed {
					z.FeedPacked(b, at)
				} else {
					z.Feed(b, at)
				}
				for ; len(b) > 0; b = b[min(len(b), l.SubbufBytes):] {
					if page := cl.clean(b[:min(len(b), l.SubbufBytes)]); page != nil {
						s.out.write(page...)
					}
				}
				return ctx.Err() == nil && s.out.err == nil
			},
			gap: func(pages, off, bytes int64) {
				z.Gap(pages, off, bytes)
				cl.dropped += pages
				cl.broken = true
			},
			problem: func(p Problem) {
				if len(problems) < maxProblems {
					problems = append(problems, p)
				}
			},
		}, w)
		problems = append(problems, d.damage(z.Finish())...)
	} else if d.Present > 0 {
		problems = append(problems, d.of(Problem{Kind: Damaged, Offset: d.Offset, Page: -1, Found: "no layout of the sub-buffers", Lost: "all data of this CPU"}))
	}
	c.Pages, c.Shortened, c.Dropped, c.Records = cl.pages, cl.shortened, cl.dropped, cl.records
	s.result.CPUs = append(s.result.CPUs, c)
	s.result.LeftOut = append(s.result.LeftOut, problems...)
	if err = ctx.Err(); err == nil {
		err = s.out.err
	}
	return off, s.out.pos - off, err
}

// text writes the text of a buffer that was recorded as text.
func (s *salvager) text(b *Buffer) error {
	from := s.out.pos
	err := s.copy(b.Text())
	s.result.TextBytes += s.out.pos - from
	if err != nil && s.out.err == nil {
		s.result.LeftOut = append(s.result.LeftOut, Problem{Kind: Damaged, Offset: b.text.from, Section: "text of buffer " + fmt.Sprintf("%q", b.Name), Found: err.Error(), Lost: "the rest of it", Page: -1})
		return nil
	}
	return err
}
