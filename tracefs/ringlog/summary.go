package ringlog

import "github.com/ringaudit/ringaudit/tracefs"

// Number is a count that a log may or may not state.
type Number = tracefs.Field[uint64]

// Summary is what a log says, its records counted and its numbers with their
// lines. See [Read].
type Summary struct {
	Schema string // Schema or SkbxSchema
	Name   string // as given to Read
	Lines  int    // read in all

	// Begin and End are the first and the last line of a ringaudit log; nil of
	// an skbx log (Skbx then), and End is nil if the log is cut.
	Begin   *Begin
	End     *End
	EndLine int // 0 if there is none
	Skbx    *Skbx

	// Cut tells that the log has no end line: the recorder was killed, or the
	// file was. Nothing is known then of failures, and of what came later.
	Cut    bool
	CutWhy string

	// Records are the record lines that could be read. Stated is the number
	// that the end line says there are.
	Records uint64
	Stated  Number
	// First and Last are the least and the greatest time in the records, ns;
	// valid if Records > 0.
	First, Last uint64

	CPUs   []CPU         // by number; CPUs that a record or the end line speaks of
	Probes []ProbeRecord // in the order of Begin.Probes, or by first appearance

	// The kernel side's losses. Absent if the log is cut, or older than the field.
	ReserveFailures Number
	Unattributed    Number
	RecursionMisses Number
	// ReadFailures are records whose content the program could not read in full
	// (skbx kernel_read_failures). The record is there.
	ReadFailures Number
	// Losses in user space: records that were taken from the ring buffer and are
	// not in the log, or not whole.
	Undecodable  Number
	NotWritten   Number
	EnrichFailed Number // skbx: records without their enrichment

	// ByCPU and ByProbe tell whether the log breaks its failures down so. An
	// older log does not, and then absence of a CPU or probe proves nothing.
	ByCPU, ByProbe bool
	// SumByCPU and SumByProbe are the sums of the breakdowns: the first is equal
	// to ReserveFailures, the second with Unattributed at most that much.
	SumByCPU, SumByProbe uint64
	// Segment tells that the log is one of a rotated series: its end line holds
	// differences between two moments, and its breakdown by probe may then
	// exceed its total.
	Segment bool
	// Complete is what the log says of itself; absent if it says nothing.
	Complete tracefs.Field[bool]
	// Stop is why the recording ended, as the log puts it.
	Stop string

	// Witness is the end line's count of events; nil if there is none.
	Witness *Witness

	// Problems are lines that could not be read, at most MaxProblems of them.
	Problems []error
	// ProblemsOmitted counts those beyond.
	ProblemsOmitted int
}

// MaxProblems bounds [Summary.Problems].
const MaxProblems = 100

// CPU is what a log says of one CPU. Stream -1 is that of a log that numbers
// its records over all CPUs (skbx).
type CPU struct {
	CPU     int
	Records uint64
	// Missing is how many numbers below the last one seen, or below what the end
	// line says was asked for, are in no record: exact.
	Missing uint64
	// TailKnown tells whether Missing reaches to the end of the recording; else
	// whatever was refused behind the last record is not in it.
	TailKnown bool
	// Duplicates are records whose number was there already. Any is a defect of
	// the log.
	Duplicates uint64
	// Holes are runs of missing numbers in order, at most Options.MaxHoles;
	// HolesOmitted counts those beyond. Their events are in Missing.
	Holes        []Hole
	HolesOmitted uint64
	// ReserveFailures and Asked are the end line's; absent if it has none.
	ReserveFailures Number
	Asked           Number
}

// Hole is a run of missing records of one CPU.
type Hole struct {
	Seq    uint64 // number of the first missing record
	Events uint64
	// After and Before are the times of the records around it, ns; OK is false
	// at the begin and the end of the log.
	After, Before tracefs.Field[uint64]
	Line          int // of the record behind it; of the end line for a hole at the end
}

// ProbeRecord is what a log says of one probe.
type ProbeRecord struct {
	Name            string
	Probe           *Probe // nil if the log does not describe it
	Records         uint64
	ReserveFailures Number // absent: the breakdown does not name this probe
	Hits            Number
	RecursionMisses Number
}

// Skbx is what the first and last lines of an skbx log say of the capture.
type Skbx struct {
	CaptureID string
	Kernel    string
	Backend   string // "kprobe", "kprobe-multi"
	Probes    []string
	Events    Number // the end line's own number
	FirstSeq  uint64 // of a segment
	Segment   int
}

// Options of [Read]. The zero Options is good.
type Options struct {
	// MaxHoles bounds the holes kept for each CPU; 0: 1000.
	MaxHoles int
	// Each is called for each record in the order of the file, if not nil.
	Each func(*Record) error
}
