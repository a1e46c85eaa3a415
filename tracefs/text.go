package tracefs

// This file holds the types of the text reader. text_scan.go reads lines and
// says what each is, text_events.go takes event lines apart, text_summary.go
// adds them up.

// Kind is the kind of a text, by its content.
type Kind string

// The kinds of text that [Sniff] and [SummarizeText] tell apart.
const (
	KindUnknown Kind = "unknown"
	KindEmpty   Kind = "empty"
	KindBinary  Kind = "binary"           // NUL bytes and no trace text: raw pages, or trace with option bin
	KindStats   Kind = "stats"            // per_cpu/cpuN/stats
	KindTrace   Kind = "trace"            // the header of trace or snapshot, and events below it
	KindPipe    Kind = "trace_pipe"       // events without a header: trace_pipe, or a trace whose header was taken off
	KindLatency Kind = "latency"          // option latency-format, or a latency tracer
	KindGraph   Kind = "function_graph"   // indented calls: lines are not events
	KindRaw     Kind = "raw"              // option raw: numbers only
	KindBare    Kind = "nocontext"        // option nocontext-info: events without CPU and time
	KindHex     Kind = "hex"              // option hex: refused
	KindDmesg   Kind = "dmesg"            // kernel log, with or without an ftrace dump in it
	KindReport  Kind = "trace-cmd report" // what trace-cmd report prints
)

// LineKind says what a line of a trace text is.
type LineKind uint8

// The kinds of lines.
const (
	// LinePreamble is a line before the first one that belongs to a trace: a
	// shell prompt, adb's chatter, the kernel log around a dump.
	LinePreamble LineKind = iota
	// LineHeader is a line of the header: all of them begin with '#'.
	LineHeader
	// LineEvent is the first line of an event (function_graph: any line of a CPU).
	LineEvent
	// LineLost is a loss mark: "CPU:1 [LOST 12 EVENTS]", "CPU:1 [LOST EVENTS]",
	// "CPU:1 [12 EVENTS DROPPED]", "CPU:1 [EVENTS DROPPED]".
	LineLost
	// LineAnnotate is "##### CPU 1 buffer started ####".
	LineAnnotate
	// LineStack is a line of a stack trace: " => symbol".
	LineStack
	// LineContinuation is a line that is none of the others and follows an event:
	// a further line of an event that prints several, or of a payload with line
	// ends in it.
	LineContinuation
	// LineUnmatched is a line that is none of the others and follows no event.
	LineUnmatched
	// LineBlank is an empty line.
	LineBlank
	// LineSwitch is one of the lines that function_graph prints around a task
	// switch.
	LineSwitch
	// LineDump is a line that begins or ends an ftrace dump in a kernel log.
	LineDump
)

var lineKindNames = [...]string{"preamble", "header", "event", "loss mark", "annotation", "stack",
	"continuation", "unmatched", "blank", "task switch", "dump"}

func (k LineKind) String() string {
	if int(k) < len(lineKindNames) {
		return lineKindNames[k]
	}
	return "unknown"
}

// TextLine is one line of a trace text. Text is only valid until the next call
// of [TextScanner.Scan].
type TextLine struct {
	N      int   // 1-based
	Offset int64 // of its first byte in the file
	Kind   LineKind

	// Section counts the traces in the text from 0: a text may hold several, one
	// behind the other or, in a trace-cmd report, line by line.
	Section int

	CPU   int   // of events, marks and annotations; -1 if the line does not tell
	Stamp Stamp // of events; Unit is UnitUnknown if the line does not tell

	// Lost is the number of a mark, as printed. LostKnown is false where it has
	// none.
	Lost      uint64
	LostKnown bool

	Text       []byte // without its end; of a line beyond 64 kB, the first 64 kB
	Terminated bool   // it ends in a line end
	Long       bool   // Text is not all of it
}

// TextOptions are the limits of [SummarizeText]. The zero value is the default.
type TextOptions struct {
	MaxMarks   int // loss marks kept per text; 65536 if 0. All are counted
	MaxSamples int // lines kept of those that were not understood; 5 if 0
}

// TextSummary is what a trace text says about loss. It is made in one pass, in
// memory that does not grow with the text.
//
// A trace text is not tamper-proof. A user who may write to trace_marker can put
// line ends into the payload, and a line of it that reads like an event or like
// a loss mark can not be told from a true one; [Mark.Suspect] names those that
// stand where the kernel prints none.
type TextSummary struct {
	File string
	Kind Kind
	Why  string // what made it this kind, and what is uncertain about it

	Bytes     int64 // of the whole text
	Lines     int64
	CRLF      int64 // lines that end in "\r\n"
	NULs      int64 // NUL bytes
	LongLines int64 // lines beyond 64 kB
	BOM       bool  // it begins with a UTF-8 byte order mark

	Preamble int64  // lines before the first one that belongs to a trace, and between dumps
	Samples  []Line // the first few of them

	// Sections are the traces in the text, in their order. An ordinary trace or
	// trace_pipe text has one; none means that there is no trace text at all.
	// Sections of one text may overlap (two copies of one trace) or not (dumps of
	// one kernel log): they are not added up here.
	Sections        []*TextSection
	SectionsOmitted int // traces beyond the 256th; their lines are in none of the sections

	// Cut is the last line if it has no line end: the text is cut off inside it
	// or was edited. nil otherwise.
	Cut *CutLine

	Errors []*SyntaxError // header or mark lines with impossible numbers; the first 20
}

// CutLine is a last line without a line end.
type CutLine struct {
	Line int
	// Kind is what the line is as far as it goes. An event line whose CPU and
	// time are whole is LineEvent and is counted as an event. A LineLost is
	// counted as a mark, without a number unless its "]" is there.
	Kind LineKind
	Text string // its first 200 bytes
}

// TextSection is one trace in a text: what one read of one trace file printed,
// or one ftrace dump, or one instance of a trace-cmd report.
type TextSection struct {
	Name   string // the instance, where a dump or a report names it
	Kind   Kind
	Line   int    // the first line
	Tracer string // of "# tracer: X"; empty if there is no such line

	Header *EntriesHeader // the line that counts the entries; nil if there is none

	// Snapshot is "allocated" or "freed" where the text is the help that the
	// snapshot file prints as long as it holds nothing.
	Snapshot string
	// Corrupted is the line "# WARNING: FUNCTION TRACING IS CORRUPTED": function
	// events may be missing without any mark.
	Corrupted int

	CPUs []*TextCPU // sorted by ID. ID -1 takes the lines that name no CPU

	Events       int64 // event lines, of all CPUs
	Annotations  int64
	Stack        int64
	Continuation int64
	Unmatched    int64
	Blank        int64
	Samples      []Line // the first few lines of Continuation and Unmatched

	// LinesAreEvents is true where each event line is one event of the ring
	// buffer. function_graph draws an event over several lines or none, without
	// context lines cannot be told from continuations, and blk and mmiotrace have
	// lines of their own that are not taken apart.
	LinesAreEvents bool
	// RelativeTime: the stamps count from the buffer's start, not from the
	// clock's (latency format).
	RelativeTime bool

	// Marks are the loss marks in the text's order, up to TextOptions.MaxMarks
	// for the whole text. The counts in CPUs are of all of them.
	Marks        []Mark
	MarksOmitted int64

	Dump *Dump // for a dump in a kernel log; nil otherwise
}

// EntriesHeader is the line
//
//	# entries-in-buffer/entries-written: 862/2923772   #P:2
//
// or, in latency format,
//
//	# latency: 0 us, #862/2923772, CPU#0 | (M:server VP:0, KP:0, SP:0 HP:0 #P:2)
//
// (kernel/trace/trace.c: print_event_info, print_trace_header). Both numbers
// cover all CPUs of the buffer, also in per_cpu/cpuN/trace. InBuffer is the sum
// of entries; Written is that plus overrun, so it leaves out what was read,
// dropped or lost to a commit overrun, and where a CPU holds events older than
// the last reset, its overrun as well.
type EntriesHeader struct {
	Line     int
	Text     string
	InBuffer uint64
	Written  uint64
	Online   int // #P: CPUs online; 0 if not printed
}

// Dump is the frame of an ftrace dump in a kernel log (ftrace_dump in
// kernel/trace/trace.c). A dump consumes the events that it prints.
type Dump struct {
	Begun bool // "Dumping ftrace buffer:" is there
	Ended bool // the line of dashes behind the last event is there
	Empty bool // "(ftrace buffer empty)"
}

// TextCPU adds up the lines of one CPU.
type TextCPU struct {
	ID     int // -1: the lines do not tell
	Events int64

	First, Last         Stamp // of the first and last event line; Unit is UnitUnknown if none has a time
	FirstLine, LastLine int

	// Lost is the sum of the numbered marks, LostLines how many there are.
	Lost      uint64
	LostLines int64
	// LostUnknown counts the marks without a number: each is at least one event.
	LostUnknown int64
	// LostAtLeast: Lost is a lower bound, because a number passed the kernel's
	// int and lost its high bits (a count of 2^31 and more), or the sum
	// overflowed.
	LostAtLeast bool

	Annotated int // the line of "##### CPU n buffer started ####"; 0 if none

	// Backwards counts event lines with an earlier time than the event line of
	// this CPU before it; BackwardsLine is the first.
	Backwards     int64
	BackwardsLine int
}

// Mark is one loss mark.
type Mark struct {
	Line  int
	CPU   int
	N     uint64 // as printed
	Known bool   // it has a number

	// After and Before are the times of the CPU's events around the mark: the
	// hole lies between them. UnitUnknown where there is none, or it has no time.
	After, Before Stamp

	// Suspect says why the kernel cannot have printed the mark here; empty
	// otherwise. The kernel prints a mark right before an event of the same CPU.
	Suspect string
}

// Lost is the sum of all numbered marks of the section and the number of marks
// without one. atLeast as [TextCPU.LostAtLeast].
func (s *TextSection) Lost() (sum uint64, unknown int64, atLeast bool) {
	for _, c := range s.CPUs {
		t := sum + c.Lost
		if t < sum {
			t, atLeast = 1<<64-1, true
		}
		sum = t
		unknown += c.LostUnknown
		atLeast = atLeast || c.LostAtLeast
	}
	return sum, unknown, atLeast
}

// CPU is the section's record of a CPU, or nil if no line names it.
func (s *TextSection) CPU(id int) *TextCPU {
	for _, c := range s.CPUs {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// Known reports whether there is a stamp at all.
func (s Stamp) Known() bool { return s.Unit != UnitUnknown }
