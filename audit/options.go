package audit

import (
	"io"
	"io/fs"
	"time"

	"github.com/ringaudit/ringaudit/tracefs"
)

// Options says what to audit and how to judge it. The zero Options audits
// nothing.
type Options struct {
	// Sources are the inputs, in the order given.
	Sources []Input
	// Before is the same buffers earlier: then only the difference counts.
	Before *Input
	// Attempted is the known workload: events attempted, by CPU or in all
	// (key [Total]). Empty: not known.
	Attempted map[int]uint64
	// FlightRecorder declares that overwriting is intended: the question is then
	// whether the window that is held is whole.
	FlightRecorder bool
	// Instances restricts the audit to buffers of these names; empty: all.
	Instances []string
	// CPUs are the CPUs that the document shows; nil: all. Totals and verdicts are
	// of all of them whatever it is.
	CPUs []int
	// Policy holds budgets, severities and suppressions; nil: none.
	Policy *Policy
	// RequireConfirmed makes "complete" not enough: without an independent count
	// the audit could not tell (exit code 3).
	RequireConfirmed bool
	// FailOn is the least severity that makes the exit code 1.
	FailOn FailOn
	// Tool is how the document names the tool and its version.
	Tool string
	// Today decides whether a suppression has expired; the zero time: none has.
	Today time.Time
	// MaxHoles bounds the holes listed per CPU; 0: DefaultMaxHoles. Sums stay
	// exact whatever it is.
	MaxHoles int
}

// DefaultMaxHoles is how many holes of a CPU a document lists.
const DefaultMaxHoles = 1000

// Input is one SOURCE.
type Input struct {
	// Path is the source as the user gave it. It names the source in the
	// document and is where Open reads.
	Path string
	// Buffer ties the source to a buffer by name; empty: found out.
	Buffer string
	// Type forces the kind of source; empty: found by content.
	Type Kind
	// FS and Root replace the file system at Path, for a source that is not a
	// path (the live tracefs, a bundle, an embedded capture). nil: the path.
	FS   fs.FS
	Root string
	// Live tells that FS is a running kernel's tracefs, where opening some files
	// consumes or changes what is audited.
	Live bool
	// Machine is what a live tracefs does not tell of the machine that it is on.
	Machine Machine
	// Reader replaces the content of the file at Path (standard input); nil: the
	// path. Only texts and ring logs can be audited from a Reader; other kinds
	// need a file.
	Reader io.Reader

	page  *tracefs.HeaderPage // of the buffer that raw pages are of; nil: look for one
	names eventNames          // of the events in raw pages
}

// Machine is the machine that a live tracefs is on. The zero Machine is unknown.
type Machine struct {
	Kernel string // uname -r
	Arch   string // uname -m
	// Online and Possible are its CPUs; nil if not known.
	Online, Possible []int
}

// Kind is the kind of a source.
type Kind string

// The kinds of sources. The --type flag, its help and its completion are made
// from [Kinds].
const (
	KindAuto      Kind = ""
	KindTracefs   Kind = "tracefs"
	KindBundle    Kind = "bundle"
	KindStats     Kind = "stats"
	KindTrace     Kind = "trace"
	KindTracePipe Kind = "trace_pipe"
	KindDmesg     Kind = "dmesg"
	KindPages     Kind = "pages"
	KindTraceDat  Kind = "tracedat"
	KindRinglog   Kind = "ringlog"
)

// Kinds lists the kinds of sources with one line of help each.
func Kinds() []struct {
	Kind Kind
	Doc  string
} {
	return []struct {
		Kind Kind
		Doc  string
	}{
		{KindTracefs, "a tracefs folder, live or saved"},
		{KindBundle, "evidence saved by 'snapshot' or 'capture': folder, .tar or .tar.zst"},
		{KindStats, "one per_cpu/cpuN/stats file"},
		{KindTrace, "text of trace or per_cpu/cpuN/trace"},
		{KindTracePipe, "text read from trace_pipe"},
		{KindDmesg, "kernel log with an ftrace dump"},
		{KindPages, "raw sub-buffers: trace_pipe_raw, snapshot_raw, a killed recorder's OUT.cpuN"},
		{KindTraceDat, "trace-cmd's trace.dat, version 6 or 7"},
		{KindRinglog, "JSONL of an eBPF ring-buffer capture"},
	}
}

// FailOn is the --fail-on flag: from which findings on the exit code is 1.
type FailOn string

// The values of FailOn.
const (
	FailOnLoss    FailOn = "loss"    // loss or contradiction: findings of severity error (the default)
	FailOnWarning FailOn = "warning" // findings of severity warning or error
	FailOnNote    FailOn = "note"    // any finding
	FailOnNever   FailOn = "never"   // no finding
)
