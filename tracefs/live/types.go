package live

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// ErrNotLinux is what the package's functions return on other systems.
var ErrNotLinux = errors.New("needs a Linux kernel: a tracefs exists only there (every offline verb works here)")

// MountReason is why no tracefs can be used.
type MountReason string

const (
	NotMounted   MountReason = "not mounted"
	NotBuiltIn   MountReason = "not in this kernel"
	NoPermission MountReason = "no permission"
	Lockdown     MountReason = "lockdown"
	Empty        MountReason = "mounted but empty"
	NotATracefs  MountReason = "not a tracefs"
)

// MountError says why no tracefs can be used, and what to do.
type MountError struct {
	Reason MountReason
	Path   string // of the mount, if there is one
	Detail string // what was found
	Hint   string // what to do
	Err    error  // the system's word; may be nil
}

func (e *MountError) Error() string {
	s := "tracefs " + string(e.Reason)
	if e.Path != "" {
		s = fmt.Sprintf("tracefs at %s: %s", e.Path, e.Reason)
	}
	s += ": " + e.Detail
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *MountError) Unwrap() error { return e.Err }

// Mount is a tracefs that can be read.
type Mount struct {
	Path string
	FS   fs.FS // rooted at Path
}

// Leftover is something of ours in a tracefs that no running process holds.
type Leftover struct {
	Name    string // of the instance, or GROUP/EVENT of a kprobe event
	Kind    string // "instance", "kprobe"
	Removed bool
	Why     string // why it could not be removed
}

// Ability is one thing that a machine can or cannot do for us.
type Ability struct {
	Name string // "tracefs-read", "instance", "bpf", …
	What string // what it is good for
	OK   bool
	Why  string // what was found; if not OK, what is missing and what to do
}

// WitnessMode says what the eBPF programs beside a capture do.
type WitnessMode string

const (
	WitnessRecords WitnessMode = "records" // count, and send a record of each hit
	WitnessCount   WitnessMode = "count"   // count only
	WitnessNone    WitnessMode = "none"    // no programs at all
)

// WitnessModes are all of them, the default first.
var WitnessModes = []WitnessMode{WitnessRecords, WitnessCount, WitnessNone}

// CaptureOptions says what to capture. The zero value captures nothing: at least
// one of Events, Symbols and Programs must be given.
type CaptureOptions struct {
	Tool string // names the writer in the bundle: "ringaudit 0.1.0"
	// Events are GROUP:EVENT, each part with the wildcards of path.Match.
	Events []string
	// Symbols are kernel functions to probe: SYM (entry) or SYM%return.
	Symbols []string
	// Maxactive is how many returns of a symbol can be pending at a time
	// (1…4096); 0: the kernel's default. It goes for the SYM%return only.
	Maxactive int
	// Programs are ids of running BPF programs, counted at their entry, whoever
	// makes them run: with a Command too.
	Programs []uint32
	// BufferKB is the size of the instance's buffer per CPU in kB; 0: 4096.
	BufferKB int
	// NoOverwrite refuses new events when the buffer is full instead of
	// throwing the oldest away.
	NoOverwrite bool
	// Clock is the trace clock; empty: the kernel's default (local).
	Clock string
	// NoDrain leaves the buffer alone while recording and reads it at the end:
	// a flight recorder. Otherwise its pages are taken as they fill.
	NoDrain bool
	// Witness is what the eBPF programs do; empty: WitnessRecords.
	Witness WitnessMode
	// RingBytes is the size of the BPF ring buffer; 0: 8 MiB.
	RingBytes int
	// FailSlots is how many probes reserve failures can be attributed to; 0: all.
	FailSlots int
	// MaxTasks bounds how many tasks of the command can be followed at a time;
	// 0: 448.
	MaxTasks int
	// RunStats measures the programs' own time.
	RunStats bool
	// Duration ends the capture; 0: the command's end, or the context's.
	Duration time.Duration
	// Command is run and its tasks alone are captured; empty: everything is.
	Command []string
	// Linger is how long to wait for children that outlive the command; 0: 1 s.
	Linger time.Duration
	// Output is the bundle's path; empty: nothing is written.
	Output string
	// Progress is called some times a second, if not nil.
	Progress func(Progress)
	// Stdin, Stdout, Stderr are the command's; see os/exec.
	Stdio Stdio
}

// Progress is how far a capture has got.
type Progress struct {
	Elapsed time.Duration
	Hits    uint64 // counted by the witness, 0 without one
	Pages   uint64 // bytes of pages taken
	Records uint64 // ring-log records written
}

// StopReason is why a capture ended.
type StopReason string

const (
	StopCommand   StopReason = "command"   // the command ended
	StopDuration  StopReason = "duration"  // its time was over
	StopInterrupt StopReason = "interrupt" // the context was cancelled (Ctrl-C)
)

// CPUStats is what the stats file of one CPU said, and what was taken from it.
type CPUStats struct {
	CPU           int    `json:"cpu"`
	Entries       uint64 `json:"entries"` // left in the buffer when everything had been taken
	Overrun       uint64 `json:"overrun"`
	CommitOverrun uint64 `json:"commit_overrun"`
	Dropped       uint64 `json:"dropped"`
	Read          uint64 `json:"read"`
	// Written is entries + overrun + read at the end, less that at the begin.
	Written uint64 `json:"written"`
	// PageBytes is how many bytes of pages were taken.
	PageBytes uint64 `json:"page_bytes"`
}

// Attempted is every event that was offered to the buffer and is counted.
func (c CPUStats) Attempted() uint64 { return c.Written + c.Dropped + c.CommitOverrun }

// Lost is what of them is gone: thrown away or refused.
func (c CPUStats) Lost() uint64 { return c.Overrun + c.Dropped + c.CommitOverrun }

// CaptureResult is what a capture found. The bundle says it all again; this is
// for the person who waits.
type CaptureResult struct {
	Stop    StopReason       `json:"stop"`
	Elapsed time.Duration    `json:"elapsed_ns"` // while recording
	Events  []string         `json:"events"`     // GROUP:EVENT, or the symbol, that the instance recorded
	CPUs    []CPUStats       `json:"cpus"`
	Witness *ringlog.Witness `json:"witness,omitempty"`  // nil without one
	NoCount string           `json:"no_count,omitempty"` // why there is no witness
	Notes   []string         `json:"notes,omitempty"`
	// ExitCode is the command's, 128+n if signal n ended it; nil without one.
	ExitCode *int   `json:"exit_code,omitempty"`
	Output   string `json:"output,omitempty"`
	// SizeKB is the buffer size that was granted, per CPU.
	SizeKB int64 `json:"size_kb"`
}

// Settled tells whether the witness and the instance agree: contradiction is
// empty if no CPU, and not the whole, was offered more events than can have
// happened. uncounted is what happened and was offered to no counter: refused by
// the kernel and counted nowhere but here (FACTS: same-context recursion, events
// too long, …). Its upper end is nil where the witness knows none.
func (r *CaptureResult) Settled() (contradiction string, uncounted ringlog.Bounds) {
	w := r.Witness
	if w == nil || w.Mode == ringlog.ModeAlone {
		return "", ringlog.Bounds{}
	}
	by := map[int]ringlog.Bounds{}
	for _, c := range w.CPUs {
		by[c.CPU] = c.Bounds
	}
	var sum uint64
	for _, c := range r.CPUs {
		n := c.Attempted()
		sum += n
		b := by[c.CPU]
		if w.PerCPU == PerCPUExact && b.Outer != nil && n > *b.Outer && contradiction == "" {
			contradiction = fmt.Sprintf("cpu %d: the buffer was offered %d events, and %s happened", c.CPU, n, boundsText(b))
		}
		if w.PerCPU == PerCPUExact && n < b.Inner {
			uncounted.Inner += b.Inner - n
		}
	}
	if w.Total.Outer != nil && sum > *w.Total.Outer && contradiction == "" {
		contradiction = fmt.Sprintf("the buffer was offered %d events, and %s happened", sum, boundsText(w.Total))
	}
	if sum < w.Total.Inner {
		uncounted.Inner = max(uncounted.Inner, w.Total.Inner-sum)
	}
	if w.Total.Outer != nil {
		most := max(*w.Total.Outer-min(*w.Total.Outer, sum), uncounted.Inner)
		uncounted.Outer = &most
	}
	return contradiction, uncounted
}

// Confirmed tells that every event which happened was offered to the buffer: the
// counts are equal.
func (r *CaptureResult) Confirmed() bool {
	what, un := r.Settled()
	return r.Witness != nil && r.Witness.Mode != ringlog.ModeAlone && what == "" && un.Outer != nil && *un.Outer == 0
}

// Values of [ringlog.Witness] PerCPU.
const (
	PerCPUExact = "exact"
	PerCPUTotal = "total"
)

func boundsText(b ringlog.Bounds) string {
	switch {
	case b.Outer == nil:
		return fmt.Sprintf("at least %d", b.Inner)
	case *b.Outer == b.Inner:
		return fmt.Sprint(b.Inner)
	}
	return fmt.Sprintf("%d to %d", b.Inner, *b.Outer)
}
