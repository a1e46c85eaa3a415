package ringlog

// Schema names the log's form. Within v1 changes only add.
const Schema = "ringaudit.ringlog/v1"

// SkbxSchema is the form of skbx's logs that is read.
const SkbxSchema = "traceq/0.1.0"

// Kinds of a [Probe].
const (
	KindTracepoint = "tracepoint" // an event of the kernel
	KindKprobe     = "kprobe"     // the entry of a kernel function
	KindKretprobe  = "kretprobe"  // its return
	KindProgram    = "program"    // the entry of a running BPF program
)

// Means by which a probe's program is attached, best first.
const (
	MeansRawTracepoint = "raw_tp"          // BPF_RAW_TRACEPOINT_OPEN
	MeansFentry        = "fentry"          // a trampoline at a function or BPF program
	MeansPerfEvent     = "perf_tracepoint" // BPF on a perf event of a tracefs event
	MeansPerfKprobe    = "perf_kprobe"     // BPF on a perf event of a tracefs kprobe
)

// Begin is the first line of a log.
type Begin struct {
	Schema    string  `json:"schema"`
	Tool      string  `json:"tool,omitempty"`       // "ringaudit 0.1.0"
	Kernel    string  `json:"kernel,omitempty"`     // uname -r
	Arch      string  `json:"arch,omitempty"`       // uname -m
	CPUs      int     `json:"cpus"`                 // possible CPUs
	Clock     string  `json:"clock"`                // of Record.Time: "monotonic", in ns
	RingBytes uint64  `json:"ring_bytes"`           // size of the BPF ring buffer
	Probes    []Probe `json:"probes"`               // Record.Probe is a place in this list
	Filter    string  `json:"filter,omitempty"`     // whose events count: "command" (its processes and their children; at BPF programs all do); empty: all
	Instance  string  `json:"instance,omitempty"`   // the tracefs instance that records the same events
	FailSlots uint64  `json:"fail_slots,omitempty"` // probes that failures can be attributed to
}

// Probe is one place at which a program runs.
type Probe struct {
	Name string `json:"name"` // "raw_syscalls:sys_enter", "do_nanosleep%return", "program 42"
	Kind string `json:"kind"`
	// Function is the kernel function or the BPF program's entry function.
	Function string `json:"function,omitempty"`
	// Program is the BPF program that the probe sits on; only of KindProgram.
	Program *Program `json:"program,omitempty"`
	Means   string   `json:"means,omitempty"`
	// WhyMeans says why no better means was taken; empty if it is the best.
	WhyMeans string `json:"why_means,omitempty"`
	// Recorded tells that the tracefs instance beside the log records this probe too.
	Recorded bool `json:"recorded"`
	// Recursion says what the kernel does with a hit inside a running program
	// of the same kind: "counted" (skipped and counted), "uncounted" (skipped
	// and counted nowhere), "none" (not skipped), "" (not known).
	Recursion string `json:"recursion,omitempty"`
}

// Program is a BPF program of the running kernel.
type Program struct {
	ID   uint32 `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"` // XDP, SchedCLS, …
}

// Record is one hit that came out of the ring buffer.
type Record struct {
	Seq   uint64 // number of the hit on its CPU, from 0, without gaps as sent
	Time  uint64 // ns of Begin.Clock
	CPU   int
	Probe int
	PID   uint32 // the kernel's thread id
	TGID  uint32 // the kernel's process id
}

// End is the last line of a whole log.
type End struct {
	Stop string `json:"stop"` // "command", "duration", "interrupt", "error"
	// Records is how many record lines were written.
	Records uint64 `json:"records"`
	// Witness is what the kernel side counted.
	Witness Witness `json:"witness"`
}

// WitnessSchema names the form of [Witness] in a file of its own.
const WitnessSchema = "ringaudit.witness/v1"

// Modes of a [Witness].
const (
	// ModeEqual: every event that the programs counted was offered to the
	// instance and no other, so attempted is equal to the count.
	ModeEqual = "equal"
	// ModeBounds: the two sides could not be read at one moment, or the
	// programs may have missed hits: attempted lies between inner and outer.
	ModeBounds = "bounds"
	// ModeAlone: no tracefs instance recorded these events.
	ModeAlone = "alone"
)

// Witness is the independent count of a capture: how often the events happened
// that the instance Buffer was asked to record, per CPU. It is written to
// witness.json of a bundle, and into the end line of a ring log.
//
// What it is for: per CPU, and in total, the ledger's attempted lies in
// [Inner, Outer]. Inner and Outer have the programs' own misses worked in
// already. PerCPU says whether the CPUs hold one by one or only their sum.
type Witness struct {
	Schema string `json:"schema"`
	// Buffer is the folder of the instance in the bundle: "." for its root.
	Buffer string `json:"buffer"`
	Mode   string `json:"mode"`
	// Why says why the counts are equal, or why they can only be bounds.
	Why string `json:"why"`
	// Filter is whose events count: "command" (at probes of KindProgram all do), or
	// empty for all.
	Filter string `json:"filter,omitempty"`
	// PerCPU: "exact" if each CPU's bounds hold for itself; "total" if an event
	// may have been counted on one CPU and recorded on another (its task was
	// moved between the two), so that only the sums are comparable.
	PerCPU string     `json:"per_cpu"`
	CPUs   []CPUCount `json:"cpus"`
	Total  Bounds     `json:"total"`
	Probes []ProbeHit `json:"probes"`
	// ReserveFailures are records that the BPF ring buffer had no room for;
	// nil if no records were asked for (counts only).
	ReserveFailures *uint64 `json:"reserve_failures,omitempty"`
	// Unattributed are those of them that the table by probe had no place for.
	Unattributed *uint64 `json:"unattributed,omitempty"`
	// RecursionMisses are hits at which the kernel skipped a program because one
	// was running already; nil if the kernel does not count them.
	RecursionMisses *uint64 `json:"recursion_misses,omitempty"`
	// Reader is what became of the records in user space; nil if none were asked for.
	Reader *Reader `json:"reader,omitempty"`
	// Followed is what the filter on a command's tasks saw; nil without one.
	Followed *Followed `json:"followed,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
}

// Bounds are the least and the greatest possible number of events.
type Bounds struct {
	Inner uint64  `json:"inner"`
	Outer *uint64 `json:"outer,omitempty"` // nil: no upper bound is known
}

// CPUCount is what was counted on one CPU.
type CPUCount struct {
	CPU int `json:"cpu"`
	Bounds
	// Asked is how many records the ring buffer was asked for: the number of
	// the next record. Nil without records.
	Asked           *uint64 `json:"asked,omitempty"`
	ReserveFailures *uint64 `json:"reserve_failures,omitempty"`
	Unattributed    *uint64 `json:"unattributed,omitempty"`
}

// ProbeHit is what was counted of one probe over all CPUs, from its attachment
// to the end.
type ProbeHit struct {
	Probe
	Hits            uint64  `json:"hits"`
	ReserveFailures *uint64 `json:"reserve_failures,omitempty"`
	// RecursionMisses of the probe's program; nil if the kernel does not count them.
	RecursionMisses *uint64 `json:"recursion_misses,omitempty"`
	// LinkMissed is what the kernel says of the BPF link (bpf_link_info missed,
	// kprobes from 6.6); nil where it says nothing.
	LinkMissed *uint64 `json:"link_missed,omitempty"`
	// Profile is the kprobe's line of kprobe_profile as a delta; nil if the probe
	// is no kprobe.
	Profile *Profile `json:"profile,omitempty"`
	// RunNS and RunCount are the program's run statistics: time spent in it and
	// how often it ran. Nil where they were not asked for.
	RunNS    *uint64 `json:"run_ns,omitempty"`
	RunCount *uint64 `json:"run_count,omitempty"`
}

// Profile is how far the two columns of kprobe_profile went during a capture.
type Profile struct {
	Event     string  `json:"event"` // as kprobe_profile names it
	Hits      uint64  `json:"hits"`
	Missed    uint64  `json:"missed"`
	Maxactive *uint64 `json:"maxactive,omitempty"` // as asked for; nil: the kernel's default
}

// Reader is what became of the records in user space.
type Reader struct {
	Received uint64 `json:"received"` // taken from the ring buffer
	Written  uint64 `json:"written"`  // of these, written to the log
	// Undecodable are records of a size that no program of ours sends.
	Undecodable uint64 `json:"undecodable"`
	// Failed are records that could not be written: Error says why.
	Failed uint64 `json:"failed"`
	Error  string `json:"error,omitempty"`
}

// Followed is the task list of a filter on a command.
type Followed struct {
	Added   uint64 `json:"added"`   // children taken in at their fork
	Removed uint64 `json:"removed"` // tasks that were freed
	Lost    uint64 `json:"lost"`    // children for which the list had no room
	// Left is how many tasks were still listed at the end.
	Left uint64 `json:"left"`
}
