package report

import (
	"fmt"

	"github.com/ringaudit/ringaudit/audit"
)

// The documents that all formats are tested with. Their numbers are those of
// real captures, read off the files by hand, or true by construction.

func ptr[T any](v T) *T { return &v }

func exact(n uint64) *audit.Count { return ptr(audit.Exactly(n)) }
func least(n uint64) *audit.Count { return ptr(audit.AtLeast(n)) }
func dunno() *audit.Count         { return ptr(audit.Unknown()) }

type namedDoc struct {
	name string
	doc  *Document
}

func testDocs() []namedDoc {
	return []namedDoc{
		{"small-overwrite", smallOverwrite()},
		{"known-count-no-overwrite", knownCountNoOverwrite()},
		{"kretprobe", kretprobe()},
		{"text-alone", textAlone()},
		{"complete", complete()},
		{"confirmed", confirmed()},
		{"two-buffers", twoBuffers()},
		{"cpus-256", manyCPUs()},
		{"holes-100k", manyHoles(100_000)},
		{"trace-dat", traceDat()},
		{"hostile", hostile()},
		{"empty", &Document{Schema: Schema, Tool: tool, Verdict: "undetermined", Reason: "no source could be read", Exit: 3}},
	}
}

const tool = "ringaudit 0.1.0"

func geometry4K() *Geometry {
	return &Geometry{PageBytes: 4096, HeaderBytes: 16, SubbufBytes: 4096, UsableBytes: 4080, LongBytes: 8, Source: "events/header_page"}
}

func size8K() *Size {
	return &Size{RequestKB: ptr(uint64(8)), KB: ptr(uint64(11)), Subbufs: exact(3), UsableBytes: exact(12240), MemoryBytes: exact(16384)}
}

func blindSpots() []BlindSpot {
	const closes = "an independent eBPF count of the same events (ringaudit capture)"
	return []BlindSpot{
		{ID: "recursion-guard", Why: "an event inside the handling of another of the same context is refused and counted nowhere", Closes: closes},
		{ID: "oversize-event", Why: "an event longer than a sub-buffer takes is refused and counted nowhere", Closes: closes},
		{ID: "recording-off", Why: "while tracing_on is 0 nothing is recorded and nothing is counted", Closes: closes},
		{ID: "nmi-refused", Why: "on machines without an NMI-safe compare and exchange, events in an NMI are refused", Closes: closes},
		{ID: "retry-limit", Why: "a reserve that was interrupted 1000 times gives up", Closes: closes},
		{ID: "filtered-discard", Why: "an event that its filter discards may still have pushed others out", Closes: closes},
	}
}

// smallOverwrite is captures/x86_64-6.1.0-57-cloud-amd64/small-overwrite.
func smallOverwrite() *Document {
	cpu := func(n int, kept, over, commit uint64, oldest, now, span string) CPU {
		return CPU{
			CPU: n, State: "recorded", Size: size8K(),
			Tally: Tally{
				Attempted: least(kept + over + commit), Written: exact(kept + over), Kept: exact(kept), Overwritten: exact(over), Read: exact(0),
				Dropped: exact(0), CommitOverrun: exact(commit), Uncounted: dunno(), Lost: least(over + commit),
			},
			Window: &Window{Oldest: oldest, Now: now, Unit: "s", Span: span},
			Holes:  []Hole{{Before: ptr(oldest), Events: audit.Exactly(over), Kind: "overwritten", Source: "s1"}},
		}
	}
	size := size8K()
	size.KB, size.RequestKB = ptr(uint64(23)), nil
	size.Subbufs, size.UsableBytes, size.MemoryBytes = exact(6), exact(24480), exact(32768)
	ev := func(file string, line int, text string) Evidence {
		return Evidence{Source: "s1", File: file, Line: line, Text: text}
	}
	return &Document{
		Schema: Schema, Tool: tool, Verdict: "lossy", Exit: 1,
		Reason:  "The counters prove that events were overwritten and refused.",
		Sources: []Source{{ID: "s1", Kind: "tracefs", Path: "small-overwrite", Kernel: "6.1.0-57-cloud-amd64", Arch: "x86_64", Coverage: "whole"}},
		Buffers: []Buffer{{
			Name: "top", Kind: "buffer", Mode: "overwrite", Clock: "local", Tracer: "function", Kernel: "6.1.0-57-cloud-amd64",
			Verdict: "lossy", Reason: "The counters prove that events were overwritten and refused.",
			Sources: []string{"s1"}, Geometry: geometry4K(),
			CPUs: []CPU{
				cpu(0, 432, 1329940, 5106, "17.163142", "17.248184", "0.085042"),
				cpu(1, 430, 1592970, 5642, "17.168417", "17.330887", "0.162470"),
			},
			Total: Tally{
				Attempted: least(2934520), Written: exact(2923772), Kept: exact(862), Overwritten: exact(2922910), Read: exact(0),
				Dropped: exact(0), CommitOverrun: exact(10748), Uncounted: dunno(), Lost: least(2933658),
			},
			Size: size,
			Views: []View{
				{Source: "s1", File: "trace", Kind: "trace", HeaderEntries: ptr(uint64(862)), HeaderWritten: ptr(uint64(2923772)), Records: 862},
				{Source: "s1", File: "trace_pipe.txt", Kind: "trace_pipe", Consuming: true, Records: 862, Marks: 2, MarksLost: 2922910},
			},
			CommonWindow: &Window{Oldest: "17.168417", Now: "17.248184", Unit: "s", Span: "0.079767"},
		}},
		Findings: []Finding{
			{Rule: "overwritten-events", Severity: "error", Buffer: "top", Message: "the oldest 2,922,910 events were thrown away to make room",
				Action:   "to keep a run like this whole, ask for the size that 'ringaudit size --from small-overwrite' names, or read trace_pipe while it runs",
				Evidence: []Evidence{ev("per_cpu/cpu0/stats", 2, "overrun: 1329940"), ev("per_cpu/cpu1/stats", 2, "overrun: 1592970")}, Fingerprint: "a1"},
			{Rule: "commit-overrun", Severity: "error", Buffer: "top", Message: "10,748 events were refused; no reader, header or mark ever shows these",
				Action:   "a larger buffer: a nested writer came all the way round to a record that was still being written",
				Evidence: []Evidence{ev("per_cpu/cpu0/stats", 3, "commit overrun: 5106"), ev("per_cpu/cpu1/stats", 3, "commit overrun: 5642")}, Fingerprint: "a2"},
			{Rule: "trace-body-silent", Severity: "note", Buffer: "top", Message: "`trace` reads like a complete trace of a shorter time; only its header says 862 of 2923772",
				Evidence: []Evidence{ev("trace", 3, "# entries-in-buffer/entries-written: 862/2923772   #P:2")}, Fingerprint: "a3"},
			{Rule: "zero-counter-misread", Severity: "note", Buffer: "top", Message: "`dropped events: 0` says nothing here: it counts only with overwrite off",
				Evidence: []Evidence{ev("per_cpu/cpu0/stats", 7, "dropped events: 0"), ev("per_cpu/cpu1/stats", 7, "dropped events: 0")}, Fingerprint: "a4"},
			{Rule: "impossible-counter", Severity: "note", Buffer: "top", CPU: ptr(1), Message: "CPU 1 prints 16160 bytes in a ring of 12240: not used",
				Evidence: []Evidence{ev("per_cpu/cpu1/stats", 4, "bytes: 16160")}, Fingerprint: "a5"},
		},
		BlindSpots: blindSpots(),
	}
}

// knownCountNoOverwrite is the capture of that name, audited with --attempted
// 3500: every number is exact.
func knownCountNoOverwrite() *Document {
	cpu := func(n int, kept, dropped uint64, oldest, now, span string) CPU {
		return CPU{
			CPU: n, State: "recorded", Size: size8K(),
			Tally: Tally{
				Attempted: exact(kept + dropped), Written: exact(kept), Kept: exact(kept), Overwritten: exact(0), Read: exact(0),
				Dropped: exact(dropped), CommitOverrun: exact(0), Uncounted: exact(0), Lost: exact(dropped),
			},
			LostPercent: Percent(dropped, kept+dropped),
			Window:      &Window{Oldest: oldest, Now: now, Unit: "s", Span: span},
		}
	}
	return &Document{
		Schema: Schema, Tool: tool, Verdict: "lossy", Exit: 1,
		Reason:  "The buffer was full and overwriting was off.",
		Sources: []Source{{ID: "s1", Kind: "tracefs", Path: "known-count-no-overwrite", Kernel: "6.1.0-57-cloud-amd64", Coverage: "whole"}},
		Buffers: []Buffer{{
			Name: "top", Kind: "buffer", Mode: "no-overwrite", Clock: "local", Tracer: "nop", Kernel: "6.1.0-57-cloud-amd64",
			Verdict: "lossy", Reason: "The buffer was full and overwriting was off.", Sources: []string{"s1"}, Geometry: geometry4K(),
			CPUs: []CPU{
				cpu(0, 381, 2619, "165.989324", "167.351760", "1.362436"),
				cpu(1, 381, 119, "167.016700", "167.450687", "0.433987"),
			},
			Total: Tally{
				Attempted: exact(3500), Written: exact(762), Kept: exact(762), Overwritten: exact(0), Read: exact(0),
				Dropped: exact(2738), CommitOverrun: exact(0), Uncounted: exact(0), Lost: exact(2738),
			},
			CommonWindow: &Window{Oldest: "167.016700", Now: "167.351760", Unit: "s", Span: "0.335060"},
		}},
		Findings: []Finding{{Rule: "dropped-events", Severity: "error", Buffer: "top",
			Message: "2,738 events were refused because the buffer was full and overwrite was off; `trace` and `trace_pipe` show no mark of it",
			Action:  "set options/overwrite to 1 if the newest events matter, or ask for a larger buffer",
			Evidence: []Evidence{
				{Source: "s1", File: "per_cpu/cpu0/stats", Line: 7, Text: "dropped events: 2619"},
				{Source: "s1", File: "per_cpu/cpu1/stats", Line: 7, Text: "dropped events: 119"}},
			Citations: []string{"trace-ring-buffer-R12"}, Fingerprint: "b1"}},
		BlindSpots: blindSpots()[2:3],
	}
}

// kretprobe is the capture of that name: the ring lost nothing, the probes did.
func kretprobe() *Document {
	cpu := func(n int, kept uint64, oldest, now, span string) CPU {
		return CPU{
			CPU: n, State: "recorded",
			Tally: Tally{
				Attempted: least(kept), Written: exact(kept), Kept: exact(kept), Overwritten: exact(0), Read: exact(0),
				Dropped: exact(0), CommitOverrun: exact(0), Uncounted: dunno(), Lost: dunno(),
			},
			Window: &Window{Oldest: oldest, Now: now, Unit: "s", Span: span},
		}
	}
	return &Document{
		Schema: Schema, Tool: tool, Verdict: "lossy", Exit: 1,
		Reason:  "Return probes had no free instance; the ring buffer itself is complete.",
		Sources: []Source{{ID: "s1", Kind: "tracefs", Path: "kretprobe", Kernel: "6.1.0-57-cloud-amd64", Coverage: "whole"}},
		Buffers: []Buffer{{
			Name: "top", Kind: "buffer", Mode: "overwrite", Clock: "local", Kernel: "6.1.0-57-cloud-amd64",
			Verdict: "complete", Reason: "Every loss that the counters can count is zero.", Sources: []string{"s1"},
			CPUs: []CPU{cpu(0, 191, "258.696772", "267.684350", "8.987578"), cpu(1, 100, "258.573124", "268.132853", "9.559729")},
			Total: Tally{
				Attempted: least(291), Written: exact(291), Kept: exact(291), Overwritten: exact(0), Read: exact(0),
				Dropped: exact(0), CommitOverrun: exact(0), Uncounted: dunno(), Lost: dunno(),
			},
			CommonWindow: &Window{Oldest: "258.696772", Now: "267.684350", Unit: "s", Span: "8.987578"},
		}},
		Probes: []Probe{
			{Name: "r1", Kind: "kretprobe", Target: "hrtimer_nanosleep", Maxactive: ptr(uint64(1)), Hits: exact(8), Missed: exact(192), Source: "s1"},
			{Name: "rdef", Kind: "kretprobe", Target: "hrtimer_nanosleep", Hits: exact(75), Missed: exact(125), Source: "s1"},
			{Name: "p1", Kind: "kprobe", Target: "hrtimer_nanosleep", Hits: exact(200), Missed: exact(0), Source: "s1"},
		},
		Findings: []Finding{
			{Rule: "kretprobe-missed", Severity: "error", Probe: "r1", Message: "probe r1 missed 192 of 200 returns: maxactive is 1",
				Action:   "give maxactive in the definition, r64:r1 …, as many as calls can be under way at once",
				Evidence: []Evidence{{Source: "s1", File: "kprobe_profile", Line: 1, Text: "  r1                                                         8             192"}}, Fingerprint: "c1"},
			{Rule: "kretprobe-missed", Severity: "error", Probe: "rdef", Message: "probe rdef missed 125 of 200 returns: maxactive is the default",
				Action:   "give maxactive in the definition, r64:r1 …, as many as calls can be under way at once",
				Evidence: []Evidence{{Source: "s1", File: "kprobe_profile", Line: 2, Text: "  rdef                                                      75             125"}}, Fingerprint: "c2"},
		},
		BlindSpots: blindSpots(),
	}
}

// textAlone is no-overwrite-events/trace with nothing beside it: a text does
// not reveal its mode, and what it does not say stays unknown.
func textAlone() *Document {
	tally := func(kept uint64) Tally {
		return Tally{
			Attempted: least(kept), Written: least(kept), Kept: exact(kept), Overwritten: exact(0), Read: dunno(),
			Dropped: dunno(), CommitOverrun: dunno(), Uncounted: dunno(), Lost: dunno(), Delivered: exact(kept), Missing: dunno(),
		}
	}
	cpu := func(n int, kept uint64, oldest, newest, span string) CPU {
		return CPU{CPU: n, State: "recorded", Tally: tally(kept), Window: &Window{Oldest: oldest, Newest: newest, Unit: "s", Span: span}}
	}
	return &Document{
		Schema: Schema, Tool: tool, Verdict: "undetermined", Exit: 3,
		Reason: "A trace text does not tell whether overwrite was on, and with overwrite off it looks the same whatever was lost. " +
			"Give the folder that holds per_cpu/*/stats.",
		Sources: []Source{{ID: "s1", Kind: "trace", Path: "no-overwrite-events/trace", Coverage: "partial", Notes: []string{"the last line is cut off: 41 bytes after the last newline"}}},
		Buffers: []Buffer{{
			Name: "top", Kind: "buffer", Verdict: "undetermined",
			Reason:  "A trace text does not tell whether overwrite was on.",
			Sources: []string{"s1"},
			CPUs:    []CPU{cpu(0, 203, "11.004211", "11.017899", "0.013688"), cpu(1, 198, "11.004301", "11.019004", "0.014703")},
			Total:   tally(401),
		}},
		Findings: []Finding{{Rule: "truncated-input", Severity: "warning", Buffer: "top", Message: "the text ends in the middle of a line",
			Action: "save the file again, whole", Evidence: []Evidence{{Source: "s1", Line: 413, Text: "   ls-203     [001] d..2    11.0190"}}, Fingerprint: "d1"}},
		BlindSpots: append([]BlindSpot{{ID: "dropped-in-text", Why: "no text view shows events that were dropped with overwrite off", Closes: "per_cpu/*/stats of the same moment"}}, blindSpots()...),
	}
}

// complete is captures/x86_64-6.1.0-57-cloud-amd64/no-loss.
func complete() *Document {
	cpu := func(n int, kept uint64, oldest, now, span string) CPU {
		return CPU{
			CPU: n, State: "recorded",
			Size: &Size{KB: ptr(uint64(4099)), Subbufs: exact(1029), MemoryBytes: exact(1030 * 4096)},
			Tally: Tally{
				Attempted: least(kept), Written: exact(kept), Kept: exact(kept), Overwritten: exact(0), Read: exact(0),
				Dropped: exact(0), CommitOverrun: exact(0), Uncounted: dunno(), Lost: dunno(),
			},
			Window: &Window{Oldest: oldest, Now: now, Unit: "s", Span: span},
		}
	}
	return &Document{
		Schema: Schema, Tool: tool, Verdict: "complete", Exit: 0,
		Reason:  "Every loss that the counters can count is proven zero.",
		Sources: []Source{{ID: "s1", Kind: "tracefs", Path: "no-loss", Kernel: "6.1.0-57-cloud-amd64", Coverage: "whole"}},
		Buffers: []Buffer{{
			Name: "top", Kind: "buffer", Mode: "overwrite", Clock: "local", Kernel: "6.1.0-57-cloud-amd64",
			Verdict: "complete", Reason: "Every loss that the counters can count is proven zero.", Sources: []string{"s1"},
			CPUs: []CPU{cpu(0, 153, "10.229283", "10.353387", "0.124104"), cpu(1, 1737, "10.229326", "10.381193", "0.151867")},
			Total: Tally{
				Attempted: least(1890), Written: exact(1890), Kept: exact(1890), Overwritten: exact(0), Read: exact(0),
				Dropped: exact(0), CommitOverrun: exact(0), Uncounted: dunno(), Lost: dunno(),
			},
			CommonWindow: &Window{Oldest: "10.229326", Now: "10.353387", Unit: "s", Span: "0.124061"},
		}},
		BlindSpots: blindSpots(),
	}
}

// confirmed is a clock of ticks with one event and an independent count of 1.
func confirmed() *Document {
	tally := Tally{
		Attempted: exact(1), Written: exact(1), Kept: exact(1), Overwritten: exact(0), Read: exact(0),
		Dropped: exact(0), CommitOverrun: exact(0), Uncounted: exact(0), Lost: exact(0),
	}
	return &Document{
		Schema: Schema, Tool: tool, Verdict: "confirmed", Exit: 0,
		Reason:  "An independent count of the attempts equals what was written.",
		Sources: []Source{{ID: "s1", Kind: "tracefs", Path: "clocks/counter", Kernel: "6.1.0-57-cloud-amd64", Coverage: "whole"}},
		Buffers: []Buffer{{
			Name: "top", Kind: "buffer", Mode: "overwrite", Clock: "counter", Verdict: "confirmed",
			Reason: "An independent count of the attempts equals what was written.", Sources: []string{"s1"},
			CPUs:  []CPU{{CPU: 0, State: "recorded", Tally: tally, Window: &Window{Oldest: "18", Now: "31", Unit: "ticks", Span: "13"}}},
			Total: tally,
		}},
	}
}

// twoBuffers is an instance that lost beside a top level that did not, and a
// bound on both sides: 7,677 to 7,700.
func twoBuffers() *Document {
	d := complete()
	d.Verdict, d.Exit, d.Reason = "lossy", 1, "Buffer foo lost events; top did not."
	between := audit.Between(7677, 7700)
	tally := Tally{
		Attempted: dunno(), Written: ptr(audit.Between(8000, 8023)), Kept: exact(323), Overwritten: &between, Read: exact(0),
		Dropped: exact(0), CommitOverrun: exact(0), Uncounted: dunno(), Lost: least(7677),
	}
	d.Sources = append(d.Sources, Source{ID: "s2", Kind: "trace_pipe", Path: "foo.pipe", Coverage: "whole"})
	d.Buffers = append(d.Buffers, Buffer{
		Name: "foo", Kind: "buffer", Mode: "overwrite", Clock: "mono", Kernel: "6.1.0-57-cloud-amd64", Verdict: "lossy",
		Reason: "Its counters changed while they were read twice: the loss is an interval.", Sources: []string{"s1", "s2"},
		CPUs: []CPU{
			{CPU: 0, State: "recorded", Tally: tally, Window: &Window{Oldest: "20.000100", Now: "20.001000", Unit: "s", Span: "0.000900"}},
			{CPU: 1, State: "idle", Tally: Tally{Written: exact(0), Kept: exact(0), Overwritten: exact(0), Read: exact(0), Dropped: exact(0), CommitOverrun: exact(0), Lost: dunno()}},
			{CPU: 2, State: "offline"}, {CPU: 3, State: "offline"},
		},
		Total: tally,
	})
	d.Findings = []Finding{
		{Rule: "overwritten-events", Severity: "error", Buffer: "foo", CPU: ptr(0), Message: "7,677 to 7,700 events were thrown away to make room",
			Action: "a larger buffer", Evidence: []Evidence{
				{Source: "s1", File: "instances/foo/per_cpu/cpu0/stats", Line: 2, Text: "overrun: 7677"},
				{Source: "s2", Line: 1, Text: "CPU:0 [LOST 7700 EVENTS]"}}, Fingerprint: "e1"},
		{Rule: "torn-read", Severity: "warning", Buffer: "foo", Message: "the counters moved between two reads", Fingerprint: "e2"},
		{Rule: "memory-cost", Severity: "note", Buffer: "top", Message: "8 MiB for 1,890 events", Suppressed: "known, ticket 17", Fingerprint: "e3"},
	}
	return d
}

// manyCPUs is a machine of 256, each of which lost another number.
func manyCPUs() *Document {
	d := &Document{
		Schema: Schema, Tool: tool, Verdict: "lossy", Exit: 1, Reason: "The counters prove that events were overwritten.",
		Sources: []Source{{ID: "s1", Kind: "tracefs", Path: "big", Kernel: "6.12.0", Coverage: "whole"}},
	}
	b := Buffer{Name: "top", Kind: "buffer", Mode: "overwrite", Clock: "global", Kernel: "6.12.0", Verdict: "lossy", Reason: d.Reason, Sources: []string{"s1"}}
	var sumOver, sumKept uint64
	for n := range 256 {
		kept, over := uint64(400+n%7), uint64(n)*uint64(n)*37%90_001
		if n >= 240 {
			b.CPUs = append(b.CPUs, CPU{CPU: n, State: "offline"})
			continue
		}
		oldest := fmt.Sprintf("100.%06d", 1000+n*1700)
		c := CPU{CPU: n, State: "recorded",
			Tally: Tally{
				Written: exact(kept + over), Kept: exact(kept), Overwritten: exact(over), Read: exact(0),
				Dropped: exact(0), CommitOverrun: exact(0), Lost: least(over),
			},
			Window: &Window{Oldest: oldest, Now: "100.500000", Unit: "s", Span: fmt.Sprintf("0.%06d", 499000-n*1700)},
		}
		if over > 0 {
			c.Holes = []Hole{{Before: &oldest, Events: audit.Exactly(over), Kind: "overwritten", Source: "s1"}}
			d.Findings = append(d.Findings, Finding{Rule: "overwritten-events", Severity: "error", Buffer: "top", CPU: ptr(n),
				Message: fmt.Sprintf("%s events were thrown away to make room", group(over)), Action: "a larger buffer",
				Evidence:    []Evidence{{Source: "s1", File: fmt.Sprintf("per_cpu/cpu%d/stats", n), Line: 2, Text: fmt.Sprintf("overrun: %d", over)}},
				Fingerprint: fmt.Sprintf("f%d", n)})
		}
		b.CPUs = append(b.CPUs, c)
		sumOver, sumKept = sumOver+over, sumKept+kept
	}
	b.Total = Tally{Written: exact(sumOver + sumKept), Kept: exact(sumKept), Overwritten: exact(sumOver), Read: exact(0),
		Dropped: exact(0), CommitOverrun: exact(0), Lost: least(sumOver)}
	b.CommonWindow = &Window{Oldest: "100.407300", Now: "100.500000", Unit: "s", Span: "0.092700"}
	d.Buffers = []Buffer{b}
	return d
}

// manyHoles is a slow reader that lost n times, ever longer.
func manyHoles(n int) *Document {
	var holes []Hole
	var lost uint64
	for i := range n {
		at := uint64(i)*10_000 + uint64(i%97)*31 // ns
		wide := uint64(1000 + i*6000/n)
		events := uint64(1 + i%50 + 400*(i%1000/990))
		after, before := fmt.Sprintf("50.%09d", at), fmt.Sprintf("50.%09d", at+wide)
		lost += events
		holes = append(holes, Hole{After: &after, Before: &before, Events: audit.Exactly(events), Kind: "overwritten", Source: "s1", Offset: ptr(int64(i) * 4096)})
	}
	delivered := uint64(3_000_000)
	tally := Tally{Overwritten: exact(lost), Lost: least(lost), Read: exact(delivered), Written: exact(delivered + lost), Kept: exact(0),
		Delivered: exact(delivered), Missing: least(lost), Dropped: exact(0), CommitOverrun: exact(0)}
	return &Document{
		Schema: Schema, Tool: tool, Verdict: "lossy", Exit: 1, Reason: "The pages carry the kernel's marks of lost events.",
		Sources: []Source{{ID: "s1", Kind: "pages", Path: "trace_pipe_raw", Coverage: "whole"}},
		Buffers: []Buffer{{Name: "top", Kind: "buffer", Mode: "overwrite", Verdict: "lossy", Reason: "The pages carry the kernel's marks of lost events.",
			Sources: []string{"s1"}, Total: tally,
			CPUs: []CPU{{CPU: 0, State: "recorded", Tally: tally, Holes: holes, Window: &Window{Oldest: "50.000000000", Newest: "51.000000000", Unit: "s", Span: "1.000000000"}}}}},
		Findings: []Finding{{Rule: "reader-lost-events", Severity: "error", Buffer: "top", CPU: ptr(0),
			Message: fmt.Sprintf("%s events were overwritten before the reader came, in %s holes", group(lost), group(uint64(n))),
			Action:  "read faster, or ask for a larger buffer", Evidence: []Evidence{{Source: "s1", Offset: ptr(int64(0)), Text: "missed events: 1"}}, Fingerprint: "g1"}},
		BlindSpots: blindSpots()[:1],
	}
}

// traceDat has every kind of hole: counted, uncounted, inferred, open at both
// ends, one without a place, and a recorder's.
func traceDat() *Document {
	hole := func(after, before string, events audit.Count, kind string, inferred bool) Hole {
		h := Hole{Events: events, Kind: kind, Inferred: inferred, Source: "s1"}
		if after != "" {
			h.After = &after
		}
		if before != "" {
			h.Before = &before
		}
		return h
	}
	cpu := func(n int, delivered, lost uint64, w *Window, holes ...Hole) CPU {
		return CPU{CPU: n, State: "recorded", Window: w, Holes: holes,
			Tally: Tally{Overwritten: exact(lost), Read: exact(delivered), Kept: exact(0), Written: exact(delivered + lost), Dropped: exact(0), CommitOverrun: exact(0),
				Lost: least(lost), Delivered: exact(delivered), Missing: least(lost)},
			Events: []EventRow{{Name: "sched_switch", ID: 316, Count: delivered - delivered/3, Bytes: 40 * delivered}, {Name: "sched_waking", ID: 318, Count: delivered / 3, Bytes: 12 * delivered}}}
	}
	return &Document{
		Schema: Schema, Tool: tool, Verdict: "lossy", Exit: 1, Reason: "The pages and CPUSTAT agree: events were overwritten before the recorder came.",
		Sources: []Source{{ID: "s1", Kind: "tracedat", Path: "default.dat", Kernel: "6.1.0-57-cloud-amd64", Arch: "x86_64", Coverage: "whole"}},
		Buffers: []Buffer{{Name: "top", Kind: "buffer", Mode: "overwrite", Clock: "local", Kernel: "6.1.0-57-cloud-amd64", Verdict: "lossy",
			Reason: "The pages and CPUSTAT agree: events were overwritten before the recorder came.", Sources: []string{"s1"},
			CPUs: []CPU{
				cpu(0, 26214, 7683, &Window{Oldest: "30.100000", Newest: "30.900000", Unit: "s", Span: "0.800000"},
					hole("30.250000", "30.300000", audit.Exactly(3845), "overwritten", false),
					hole("30.480000", "30.560000", audit.Between(1, 3838), "overwritten", false),
					hole("30.700000", "30.702000", audit.AtLeast(1), "overwritten", false)),
				cpu(1, 17204, 7112, &Window{Oldest: "30.150000", Newest: "30.700000", Unit: "s", Span: "0.550000"},
					hole("", "30.150000", audit.Exactly(5000), "overwritten", false),
					hole("30.400000", "30.440000", audit.Exactly(112), "dropped", true),
					hole("30.700000", "", audit.AtLeast(2000), "recorder", false),
					hole("30.650000", "30.600000", audit.Unknown(), "damaged", false)),
			},
			Total: Tally{Overwritten: exact(14795), Read: exact(43418), Kept: exact(0), Written: exact(58213), Dropped: exact(0), CommitOverrun: exact(0),
				Lost: least(14795), Delivered: exact(43418), Missing: least(14795)},
			CommonWindow: &Window{Oldest: "30.150000", Newest: "30.700000", Unit: "s", Span: "0.550000"},
		}},
		BlindSpots: blindSpots(),
	}
}

// hostile holds what a forged trace or an odd file name could try.
func hostile() *Document {
	evil := "\x1b[31mred\x1b[0m <script>alert(1)</script> | `tick` \u202egnp.exe \xff \r\n# heading"
	d := textAlone()
	d.Reason, d.Tool = evil, evil
	d.Sources = []Source{{ID: "s1", Kind: "trace", Path: "../a b/" + evil, Coverage: "partial", Notes: []string{evil}}}
	b := &d.Buffers[0]
	b.Name, b.Reason, b.Mode, b.Clock, b.Tracer, b.Kernel = evil, evil, evil, evil, evil, evil
	b.CPUs[0].Window = &Window{Oldest: evil, Newest: evil, Now: "18446744073709551615.999999", Unit: evil, Span: evil}
	b.CPUs[0].Holes = []Hole{{After: &evil, Before: &evil, Events: audit.Exactly(^uint64(0)), Kind: evil, Source: evil}}
	b.CPUs[0].Events = []EventRow{{Name: evil, Count: ^uint64(0)}}
	b.Total.Overwritten, b.Total.Kept = exact(^uint64(0)), exact(^uint64(0))
	d.Probes = []Probe{{Name: evil, Kind: evil, Target: evil, Missed: exact(^uint64(0)), Hits: exact(^uint64(0)), Source: evil}}
	d.Findings = []Finding{{Rule: evil, Severity: "note", Buffer: evil, CPU: ptr(0), Probe: evil, Message: evil, Action: evil,
		Evidence: []Evidence{{Source: "nowhere", File: evil, Line: 3, Text: evil}}, Citations: []string{evil}}}
	d.BlindSpots = []BlindSpot{{ID: evil, Why: evil, Closes: evil}}
	return d
}
