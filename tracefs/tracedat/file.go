// Package tracedat reads trace.dat files, version 6 and 7: what trace-cmd record
// and trace-cmd extract write, and what trace-cmd report, KernelShark and perf
// script's friends read.
//
// [Open] takes in everything but the trace itself: which buffers and CPUs the
// file has data of, the loss counters that the recorder copied out of the kernel
// (CPUSTAT), the names of the events, the clock. [File.Summarize] then reads the
// trace, each CPU as a stream of sub-buffers (package subbuf), in bounded memory
// whatever the size of the file.
//
// A damaged or cut file is read as far as it goes. What is missing is a
// [Problem], with the place in the file and, where it concerns the trace, the
// buffer, the CPU and the sub-buffer. Only bytes that are no trace.dat at all,
// or of another version, and a failing reader are errors.
//
// The format is described by trace-cmd's Documentation (trace-cmd.dat.v6 and
// .v7, of trace-cmd 3.3); where that is silent or wrong, the files themselves
// were the authority. Offsets are bytes from the start of the file.
package tracedat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// ErrFormat is wrapped by the error of [Open] for a file that is no trace.dat.
var ErrFormat = errors.New("not a trace.dat file")

// ErrVersion is wrapped by the error of [Open] for a trace.dat of a version
// other than 6 and 7.
var ErrVersion = errors.New("unsupported trace.dat version")

// File is a trace.dat file.
type File struct {
	Name string // as given to Open; for messages
	Size int64

	Version int // 6 or 7
	// Order is the byte order of the traced machine, in which the file's own
	// numbers are too.
	Order binary.ByteOrder
	// LongBytes is the size of a long of the program that recorded. It is not
	// the kernel's: that is in Layout.
	LongBytes int
	// PageSize is what the initial bytes say: the sub-buffer size of the top
	// buffer, or in files of old versions the recorder's memory page.
	PageSize uint32
	// Compression is "none", "zlib" or "zstd", CompressionVersion that of the
	// library. Version 7 only.
	Compression, CompressionVersion string

	// HeaderPageText is events/header_page of the traced kernel, empty if the
	// file has none that can be read.
	HeaderPageText string
	// Layout is what it tells, or what the data itself shows where it is
	// missing: then LayoutInferred says how certain that is.
	Layout         subbuf.Layout
	LayoutInferred string

	Uname    string // uname of the traced machine without the host's name ("Linux host release machine" as recorded)
	Recorder string // trace-cmd's version
	// TraceClock is the clock that the file says the top buffer was stamped
	// with, empty if it does not.
	TraceClock string
	// CPUCount is the number of CPUs of the traced machine as recorded, 0 if it
	// is not known.
	CPUCount int
	// TraceID pairs the files of a host and its guests; 0 is none.
	TraceID uint64
	// Date is option DATE: the wall time in nanoseconds that stamp 0 is, to be
	// added to every stamp. Offset is option OFFSET, nanoseconds to be added
	// too. Stamps as this package gives them have neither.
	Date, Offset tracefs.Field[int64]
	// TSC2NSEC is how to make nanoseconds of the stamps of clock x86-tsc.
	TSC2NSEC tracefs.Field[TSC2NSEC]
	// TimeShifted says that the file is a guest's whose stamps need a
	// correction to be compared with the host's (option TIME_SHIFT).
	TimeShifted bool
	// Guests are the virtual machines that were traced along with the host.
	Guests []string

	// Events are the events whose format the file has, by id.
	Events map[uint16]Event

	// Buffers are the top buffer (Name "") and the instances, in the order of
	// the file.
	Buffers []*Buffer

	// Options are all options of the file, in order.
	Options []Option

	// Problems are what is truncated or damaged outside of the trace data, or
	// of the tables that lead to it. Notes are worth knowing and take nothing
	// away.
	Problems []Problem
	Notes    []Problem

	r       io.ReaderAt
	blocks  map[blockName]block
	byName  map[string]*Buffer
	entries int    // CPUData in all buffers
	kept    uint64 // bytes in Options
	// overlaps is how many CPUs claim bytes that others have.
	overlaps int
	// misplaced is how many CPUs begin in the middle of a page.
	misplaced int
	// headersRepaired says that the part with header_page is wrong as it stands.
	headersRepaired bool
}

// TSC2NSEC is how trace-cmd turns stamps of clock x86-tsc into nanoseconds:
// (stamp × Mult) >> Shift. The file has an Offset too, which trace-cmd ignores.
type TSC2NSEC struct {
	Mult, Shift uint32
	Offset      uint64
}

// Event is the name of an event.
type Event struct {
	System, Name string
	ID           uint16
}

func (e Event) String() string { return e.System + ":" + e.Name }

// Buffer is one ring buffer that was recorded: the top one or an instance.
type Buffer struct {
	Name string // "" for the top buffer
	// Clock is the clock's name as the file has it for this buffer, empty if it
	// has none. trace-cmd 3.1 writes the top buffer's for every instance: see
	// [Buffer.Unit].
	Clock string
	// Layout is the geometry of this buffer's sub-buffers. LayoutInferred is
	// empty unless it was found from the data itself.
	Layout         subbuf.Layout
	LayoutInferred string
	// Stats are the counters of CPUSTAT by CPU, nil if the file has none: then
	// losses can only be seen in the data, and those of a buffer that does not
	// overwrite not at all.
	Stats map[int]*CPUStat
	// CPUs are the CPUs that the file has an entry for, in the file's order;
	// such an entry may be empty. A version 7 file has no entry for a CPU
	// without data.
	CPUs []*CPUData
	// LastBoot is the text of last_boot_info, where the buffer lies in memory
	// that survives a reboot (option LAST_BOOT_INFO); empty if not.
	LastBoot string
	// Offset is the place of the buffer's section (version 7) or CPU table.
	Offset int64

	f          *File
	text       *area
	pageBytes  uint32       // the size that the buffer's own entry has, 0 if none
	cpuEntries map[int]bool // the keys of CPUs
}

// CPUStat is the content of per_cpu/cpuN/stats as the recorder found it when it
// had stopped tracing.
type CPUStat struct {
	CPU    int
	Offset int64  // of the option that holds it
	Text   string // without the recorder's line "CPU: N"
	*tracefs.Stats
}

// CPUData is the trace of one CPU of one buffer.
type CPUData struct {
	// CPU is its number. A negative one means that the file does not tell
	// which CPU this is, because its tables are gone: the first of such is
	// [FirstUnknownCPU], the next one less.
	CPU int
	// Offset and Size are where the data is: Size as the file has it, in bytes
	// of the file, thus after compression.
	Offset, Size int64
	// Present is how many of these bytes the file has and no other CPU claims.
	Present int64
	// Packed says that the data is compressed.
	Packed bool

	b        *Buffer
	limit    int64 // where the next thing begins: no chunk reaches beyond
	problems []Problem
}

// FirstUnknownCPU is the number of the first CPUData whose CPU is not known. It
// leaves -1 alone, which means all CPUs in many places.
const FirstUnknownCPU = -2

// Buffer is the buffer that d is a part of.
func (d *CPUData) Buffer() *Buffer { return d.b }

// String is "CPU 3", or "stream 1 of a CPU not known".
func (d *CPUData) String() string { return cpuWords(d.CPU) }

func cpuWords(cpu int) string {
	if cpu < 0 {
		return fmt.Sprintf("stream %d of a CPU not known", FirstUnknownCPU-cpu+1)
	}
	return fmt.Sprintf("CPU %d", cpu)
}

// Recovered says that the file's tables do not have this data: it was found by
// looking for it.
func (d *CPUData) Recovered() bool { return d.CPU < 0 }

// Option is one of the file's options, as it stands.
type Option struct {
	ID     OptionID
	Offset int64 // of the option, or of the compressed section that holds it
	Size   uint32
	Data   []byte // nil if it was too large to keep
}

// Buffer is the buffer of that name, "" for the top one, or nil.
func (f *File) Buffer(name string) *Buffer {
	return f.byName[name]
}

// EventName is the name of the event with the given id as "system:name", or
// "id:N" where the file has no format of that id, as it is for events that were
// made while the trace ran.
func (f *File) EventName(id uint16) string {
	if e, ok := f.Events[id]; ok {
		return e.String()
	}
	return idName(id)
}

// Unit is the unit of the stamps in this buffer's data. why is the evidence.
//
// It goes by how the kernel printed "now ts" in CPUSTAT (with a dot if and only
// if the clock counts nanoseconds) and only without that by the clock's name,
// which trace-cmd 3.1 takes from the wrong buffer.
func (b *Buffer) Unit() (u tracefs.Unit, why string) {
	for _, c := range sortedKeys(b.Stats) {
		s := b.Stats[c]
		for _, at := range []tracefs.Field[tracefs.Stamp]{s.Now, s.Oldest} {
			if at.OK {
				return at.V.Unit, at.Text
			}
		}
	}
	if b.Clock != "" {
		return tracefs.ClockUnit(b.Clock), "clock " + b.Clock
	}
	return tracefs.UnitUnknown, "neither CPUSTAT nor a clock's name in the file"
}

// ClockConflict tells whether the clock that the file names for this buffer
// cannot be the one that its stamps are of.
func (b *Buffer) ClockConflict() bool {
	named := tracefs.ClockUnit(b.Clock)
	u, _ := b.Unit()
	return named != tracefs.UnitUnknown && u != tracefs.UnitUnknown && u != named
}

// HasText tells whether the buffer was recorded as text (a latency tracer's
// report): then it has no CPUs, and [Buffer.Text] is all there is.
func (b *Buffer) HasText() bool { return b.text != nil }
