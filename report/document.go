// Package report holds the document that an audit ends in, and the formats it
// is shown in. JSON is the canonical form: every other format is made from it,
// and a saved document can be rendered without a kernel.
package report

import "github.com/ringaudit/ringaudit/audit"

// Schema names the form of [Document]. Within v1 changes only add.
const Schema = "ringaudit.audit/v1"

// Document is the result of one audit. It holds no clock reading and no
// absolute path: the same input gives the same bytes.
type Document struct {
	Schema  string `json:"schema"`
	Tool    string `json:"tool"` // "ringaudit 0.1.0"
	Verdict string `json:"verdict" jsonschema:"enum=lossy,enum=complete,enum=confirmed,enum=undetermined"`
	// Reason is the verdict in one sentence: what was proven, or what kept it
	// from being proven and what to give instead.
	Reason string `json:"reason"`
	// Exit is the exit code of the audit, the same in every format.
	Exit       int         `json:"exit" jsonschema:"minimum=0,maximum=4"`
	Sources    []Source    `json:"sources"`
	Buffers    []Buffer    `json:"buffers"`
	Probes     []Probe     `json:"probes"`
	Findings   []Finding   `json:"findings"`
	BlindSpots []BlindSpot `json:"blind_spots"`
}

// Source is one input of the audit.
type Source struct {
	ID     string `json:"id"`   // "s1", in the order given
	Kind   string `json:"kind"` // tracefs, stats, trace, trace_pipe, dmesg, pages, tracedat, bundle, ringlog, …
	Path   string `json:"path"` // as given, never made absolute
	Kernel string `json:"kernel,omitempty"`
	Arch   string `json:"arch,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Coverage: "whole", "partial" (damaged, truncated or unreadable in part), "none".
	Coverage string   `json:"coverage"`
	Notes    []string `json:"notes,omitempty"` // what was not opened or not read, and why
}

// Buffer is one ring buffer: the top level ("top"), an instance, a snapshot, or
// what one capture file says of a buffer that nothing else names.
type Buffer struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`           // buffer, snapshot, bpf-ringbuf
	Mode    string `json:"mode,omitempty"` // overwrite, no-overwrite; empty: not known
	Clock   string `json:"clock,omitempty"`
	Tracer  string `json:"tracer,omitempty"`
	Kernel  string `json:"kernel,omitempty"`
	Verdict string `json:"verdict" jsonschema:"enum=lossy,enum=complete,enum=confirmed,enum=undetermined"`
	Reason  string `json:"reason"`
	// Sources are the ids of the sources that spoke of this buffer.
	Sources  []string  `json:"sources"`
	Geometry *Geometry `json:"geometry,omitempty"`
	// CPUs are in rising order, each at most once.
	CPUs []CPU `json:"cpus"`
	// Total is the quantities of the whole buffer. It can say more than the sum
	// of CPUs: some sources speak of all CPUs at once.
	Total Tally `json:"total"`
	// Size of the whole buffer.
	Size *Size `json:"size,omitempty"`
	// Window that all CPUs with records have in common (latest begin, earliest end).
	CommonWindow *Window `json:"common_window,omitempty"`
	// Views are the texts and page streams of the buffer that were read, and what
	// each of them admits of loss.
	Views []View `json:"views"`
	Holes []Hole `json:"holes,omitempty"` // of the whole buffer, where no CPU can be named
}

// View is one way in which the buffer was read, and what it admits of loss.
type View struct {
	Source string `json:"source"`
	File   string `json:"file,omitempty"`
	Kind   string `json:"kind"`
	// Consuming: its records were taken out of the ring, and add up with those of
	// other such views. Others overlap.
	Consuming bool `json:"consuming"`
	CPU       *int `json:"cpu,omitempty"` // if it is one CPU's alone
	// HeaderEntries and HeaderWritten are the two numbers of a text's header.
	HeaderEntries *uint64 `json:"header_entries,omitempty"`
	HeaderWritten *uint64 `json:"header_written,omitempty"`
	Records       uint64  `json:"records"`
	// Uncountable says why its lines are not one for each record.
	Uncountable  string `json:"uncountable,omitempty"`
	Marks        uint64 `json:"marks"`         // of loss
	MarksUnknown uint64 `json:"marks_unknown"` // of them without a number
	MarksLost    uint64 `json:"marks_lost"`    // sum of the others' numbers
}

// Geometry is how the buffer cuts its memory (events/header_page).
type Geometry struct {
	PageBytes   uint64 `json:"page_bytes,omitempty"` // the machine's page; absent if not known
	HeaderBytes uint64 `json:"header_bytes"`         // of a sub-buffer
	SubbufBytes uint64 `json:"subbuf_bytes"`         // header and usable together
	UsableBytes uint64 `json:"usable_bytes"`         // for records, of each sub-buffer
	LongBytes   uint64 `json:"long_bytes,omitempty"` // size of the commit word: 4 or 8
	Source      string `json:"source,omitempty"`     // "events/header_page", or "inferred from the pages"
}

// Size is what a buffer takes, per CPU or in all.
type Size struct {
	RequestKB   *uint64      `json:"request_kb,omitempty"` // only where known
	KB          *uint64      `json:"size_kb,omitempty"`    // as the kernel prints it
	ExpandedKB  *uint64      `json:"expanded_kb,omitempty"`
	Mixed       bool         `json:"mixed,omitempty"`        // the kernel printed X
	Subbufs     *audit.Count `json:"subbufs,omitempty"`      // without the reader page
	UsableBytes *audit.Count `json:"usable_bytes,omitempty"` // subbufs × usable
	MemoryBytes *audit.Count `json:"memory_bytes,omitempty"` // sub-buffers and reader page
	// Why says what keeps an interval from being a number.
	Why []string `json:"why,omitempty"`
}

// Tally is the quantities of one CPU or of a whole buffer, in events. A nil
// quantity does not apply here; an unknown one is {"lo":0}.
type Tally struct {
	Attempted     *audit.Count `json:"attempted,omitempty"`
	Written       *audit.Count `json:"written,omitempty"`
	Kept          *audit.Count `json:"kept,omitempty"`
	Overwritten   *audit.Count `json:"overwritten,omitempty"`
	Read          *audit.Count `json:"read,omitempty"`
	Dropped       *audit.Count `json:"dropped,omitempty"`
	CommitOverrun *audit.Count `json:"commit_overrun,omitempty"`
	Uncounted     *audit.Count `json:"uncounted,omitempty"`
	Lost          *audit.Count `json:"lost,omitempty"`
	Delivered     *audit.Count `json:"delivered,omitempty"` // only where a SOURCE is a capture
	Missing       *audit.Count `json:"missing,omitempty"`   // only where a SOURCE is a capture
}

// CPU is what is known of one CPU's part of a buffer.
type CPU struct {
	// CPU is its number. Numbers below -1 stand for CPUs whose number the sources
	// do not tell, such as data found in a trace.dat without its tables.
	CPU   int    `json:"cpu"`
	State string `json:"state"` // recorded, idle, offline, not-captured, all-lost, unknown
	Size  *Size  `json:"size,omitempty"`
	Tally
	// Share of what was written or refused that was lost, in percent, where exact: "99.97".
	LostPercent string  `json:"lost_percent,omitempty"`
	Window      *Window `json:"window,omitempty"`
	Holes       []Hole  `json:"holes,omitempty"`
	// HolesOmitted counts holes that were left out of Holes for their number;
	// their events are in the tally.
	HolesOmitted uint64     `json:"holes_omitted,omitempty"`
	Marks        *MarkTally `json:"marks,omitempty"`  // of a stream
	Events       []EventRow `json:"events,omitempty"` // delivered, by event, most first
}

// MarkTally is what the loss marks of a CPU's stream tell.
type MarkTally struct {
	Counted     uint64 `json:"counted"`      // marks with a number
	CountedLost uint64 `json:"counted_lost"` // the sum of the numbers, in events
	Unknown     uint64 `json:"unknown"`      // marks without a number
	// UnknownLost is the sum of the events behind those, by the counters.
	UnknownLost audit.Count `json:"unknown_lost"`
}

// EventRow is how many records of one kind of event were delivered.
type EventRow struct {
	Name  string `json:"name"`
	ID    int    `json:"id,omitempty"`
	Count uint64 `json:"count"`
	Bytes uint64 `json:"bytes,omitempty"` // in the ring, record headers included
}

// Window is the stretch of time that the records at hand cover. Stamps are as
// the kernel printed them.
type Window struct {
	Oldest string `json:"oldest"`
	// Newest is the last record's stamp where records were read; Now is the
	// clock when the counters were read. One of them may be absent.
	Newest string `json:"newest,omitempty"`
	Now    string `json:"now,omitempty"`
	Unit   string `json:"unit"` // s, ticks
	Span   string `json:"span"` // Now (or Newest) − Oldest, in Unit
}

// Hole is a stretch of time whose events are gone: after the record at After,
// before the record at Before. A nil end means that the hole reaches to the
// begin or the end of the recording.
type Hole struct {
	After  *string     `json:"after" jsonschema:"nullable"`
	Before *string     `json:"before" jsonschema:"nullable"`
	Events audit.Count `json:"events"`
	// Inferred: the kernel set no mark here; the place follows from other signs.
	Inferred bool   `json:"inferred,omitempty"`
	Kind     string `json:"kind"` // overwritten, dropped, recorder, damaged, unread
	Source   string `json:"source"`
	Line     int    `json:"line,omitempty"`   // of a text
	Offset   *int64 `json:"offset,omitempty"` // of a binary file, bytes
}

// Probe is a kprobe, kretprobe or eBPF probe with its own loss.
type Probe struct {
	Name      string       `json:"name"`
	Kind      string       `json:"kind"` // kprobe, kretprobe, uprobe, bpf
	Target    string       `json:"target,omitempty"`
	Maxactive *uint64      `json:"maxactive,omitempty"`
	Hits      *audit.Count `json:"hits,omitempty"`
	Missed    *audit.Count `json:"missed,omitempty"`
	Source    string       `json:"source"`
}

// Finding is one thing that the audit has to say, by a rule of package audit.
type Finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity" jsonschema:"enum=error,enum=warning,enum=note"`
	Buffer   string `json:"buffer,omitempty"`
	CPU      *int   `json:"cpu,omitempty"`
	Probe    string `json:"probe,omitempty"`
	Message  string `json:"message"`
	// Action is what to do about it; empty if nothing.
	Action    string     `json:"action,omitempty"`
	Evidence  []Evidence `json:"evidence"`
	Citations []string   `json:"citations"`
	// Suppressed holds the reason where the configuration suppresses this finding.
	Suppressed string `json:"suppressed,omitempty"`
	// Fingerprint is stable over runs on the same input and over unrelated findings.
	Fingerprint string `json:"fingerprint"`
}

// Evidence is a place in a source and what stands there.
type Evidence struct {
	Source string `json:"source"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Offset *int64 `json:"offset,omitempty"`
	Text   string `json:"text,omitempty"`
}

// BlindSpot is a kind of loss that none of the given sources could have shown.
type BlindSpot struct {
	ID  string `json:"id"`
	Why string `json:"why"`
	// Closes says which further evidence would show it.
	Closes string `json:"closes,omitempty"`
}
