package audit

// BlindSpot is a kind of loss that none of an audit's sources could have shown.
type BlindSpot struct {
	ID     string
	Why    string
	Closes string // which further evidence would show it
}

// blindSpot says when a kind of loss stays unseen.
type blindSpot struct {
	BlindSpot
	// open tells whether the buffer's evidence leaves the spot unseen.
	open func(*Buffer) bool
}

// ofSnapshots are the spots that a snapshot leaves unseen wherever it was found:
// its own ring refused events too, and the kernel prints no counters of it.
func (s *blindSpot) ofSnapshots() bool { return s.ID == "dropped-events" || s.ID == "commit-overrun" }

// statsAlone tells whether the buffer's counters came without its settings: a
// stats file, or a folder of nothing else. Then a file that is not there, as
// last_boot_info or buffer_subbuf_size_kb, need not be missing in its tracefs.
func (b *Buffer) statsAlone() bool {
	if !b.HasCounters() || b.Counters.Source.Kind == KindTraceDat {
		return false
	}
	in := b.Instance
	return in == nil || !in.Size.KB.OK && !in.Size.Mixed || !in.Clock.Current.OK
}

const independentCount = "an independent count of the attempts: 'ringaudit capture' takes one with eBPF; a workload of known size serves with --attempted"

// uncountedOpen holds for losses that the kernel counts nowhere: they stay
// unseen unless an independent count proves that nothing was uncounted.
func uncountedOpen(b *Buffer) bool {
	return !b.Ledger.Count(Total, Uncounted).Exact()
}

// blindSpots are the kinds of loss that counters and texts do not show
// (kernel/trace/ring_buffer.c and trace.c, 5.10 to 7.3), and those that only
// some sources show.
var blindSpots = []blindSpot{
	{BlindSpot{"recording-off", "while tracing_on is 0, while the buffer is being resized, after a traceoff trigger, and on kernels before 5.8 while `trace` is open, events are refused and counted nowhere", independentCount}, uncountedOpen},
	{BlindSpot{"cpu-mask", "events on CPUs that tracing_cpumask excludes are refused and counted nowhere", independentCount}, uncountedOpen},
	{BlindSpot{"too-long", "an event that is longer than a sub-buffer allows is refused and counted nowhere", independentCount}, uncountedOpen},
	{BlindSpot{"recursion-guard", "an event that fires while the same context is already writing one is refused and counted nowhere", independentCount}, uncountedOpen},
	{BlindSpot{"nmi-and-races", "refusals in NMI context on some architectures, during a swap with the snapshot, and after 1000 retries are counted nowhere", independentCount}, uncountedOpen},
	{BlindSpot{"filtered", "events that a filter, a trigger, a pid list, a soft-disabled event or function-tracer recursion keeps out are not counted; it cannot be told whether that was intended", independentCount}, uncountedOpen},
	{BlindSpot{"dropped-events", "with overwrite off a full buffer refuses events; no text and no mark in the data shows it, `dropped events` in per_cpu/cpuN/stats does", "per_cpu/cpuN/stats of the same buffer"}, func(b *Buffer) bool {
		return b.Ledger.Count(Total, Dropped).Open
	}},
	{BlindSpot{"commit-overrun", "refusals by commit overrun are in no header, mark or page flag, just in per_cpu/cpuN/stats", "per_cpu/cpuN/stats of the same buffer"}, func(b *Buffer) bool {
		return b.Ledger.Count(Total, CommitOverrun).Open
	}},
	{BlindSpot{"other-cpus", "a stats file is one CPU's; what the others lost is in theirs", "the per_cpu folder, or the stats files of all CPUs"}, func(b *Buffer) bool {
		return b.HasCounters() && b.Counters.Source.Kind == KindStats
	}},
	{BlindSpot{"after-the-last-record", "what was overwritten or refused after the last record that was read leaves no mark in the data", "per_cpu/cpuN/stats, taken after the recording"}, func(b *Buffer) bool {
		return b.Kind == BufferRing && !b.HasCounters() && b.Ledger.Count(Total, Overwritten).Open
	}},
	{BlindSpot{"earlier-resets", "counters start at the last reset (a write to `trace`, a change of tracer or clock, a removed dynamic event, a snapshot, which swaps rings and counters); what was lost before it is gone from them", "'ringaudit capture', which owns the buffer from its first event; or --before"}, func(b *Buffer) bool {
		return b.HasCounters() && !b.Owned
	}},
	{BlindSpot{"counter-wrap", "the counters of a 32-bit kernel wrap at 2^32: one that wrapped says that many less", "two samples with less than 2^32 events between them: --before"}, func(b *Buffer) bool {
		return b.HasCounters() && b.longBytes() == 4 && b.before == nil
	}},
	{BlindSpot{"sub-buffer-size", "a change of buffer_subbuf_size_kb (6.8 and later) throws all events away and leaves every counter as it was; the text of trace shows it", "the trace file of the same folder, taken with recording off"}, func(b *Buffer) bool {
		ordered := b.statsAlone() || b.Instance != nil && b.Instance.SubbufKB.OK
		return b.HasCounters() && ordered && b.Ledger.Count(Total, Kept).Lo > 0 && !b.compared
	}},
	{BlindSpot{"earlier-boot", "the counters of a boot-mapped buffer are rebuilt from its pages at every boot: what an earlier boot lost is not in them; last_boot_info tells such a buffer", "the counters of the boot that recorded, beside last_boot_info"}, func(b *Buffer) bool {
		return b.LastBoot || b.statsAlone()
	}},
	{BlindSpot{"kprobe-misses", "a kprobe or kretprobe that was missed never asked for a record; just kprobe_profile counts it", "kprobe_profile (top level of tracefs)"}, func(b *Buffer) bool {
		return !b.ProbesKnown
	}},
}

// BlindSpotByID finds the documentation of a blind spot.
func BlindSpotByID(id string) (BlindSpot, bool) {
	for _, s := range blindSpots {
		if s.ID == id {
			return s.BlindSpot, true
		}
	}
	return BlindSpot{}, false
}

// BlindSpots lists all kinds of loss that some evidence cannot show.
func BlindSpots() []BlindSpot {
	out := make([]BlindSpot, len(blindSpots))
	for i, s := range blindSpots {
		out[i] = s.BlindSpot
	}
	return out
}
