package audit

var wrapped = ring(cpuStats{entries: 432, overrun: 1329940}, cpuStats{entries: 430, overrun: 1592970})

var whole = ring(cpuStats{entries: 432}, cpuStats{entries: 430})

// The counters of a ring with overwrite off: 3500 writes, of which 762 fit.
var refused = ring(cpuStats{entries: 389, dropped: 2611}, cpuStats{entries: 373, dropped: 127}).with("options/overwrite", "0\n")

var lossTests = []ruleTest{
	{
		rule: "overwritten-events",
		bad:  only(wrapped),
		found: []found{{severity: SeverityError, buffer: "top", cpu: Total,
			says: []string{"the oldest 2,922,910 events were thrown away"},
			at:   []string{"s1 per_cpu/cpu0/stats:2 overrun: 1329940", "s1 per_cpu/cpu1/stats:2 overrun: 1592970"}}},
		good: only(whole),
	},
	{ // a reader took some: then the lost ones need not be the oldest
		rule:  "overwritten-events",
		bad:   only(ring(cpuStats{entries: 10, overrun: 1, read: 5})),
		found: []found{{severity: SeverityError, buffer: "top", cpu: Total, says: []string{"1 event was thrown away", "before a reader came"}, at: []string{"s1 per_cpu/cpu0/stats:2 overrun: 1"}}},
		good:  only(ring(cpuStats{entries: 10, read: 5})),
	},
	{ // the header of a text proves it as well, in all and at least
		rule: "overwritten-events",
		bad:  text("trace", traceHeader(2, 7, 1)+events1(0, 2, 10e6)),
		found: []found{{severity: SeverityError, buffer: "trace", cpu: Total, says: []string{"at least 5 events"},
			at: []string{"s1:3 # entries-in-buffer/entries-written: 2/7   #P:1"}}},
		good: text("trace", traceHeader(2, 2, 1)+events1(0, 2, 10e6)),
	},
	{
		rule: "dropped-events",
		bad:  only(refused),
		found: []found{{severity: SeverityError, buffer: "top", cpu: Total, says: []string{"2,738 events were refused because the ring was full"},
			at: []string{"s1 per_cpu/cpu0/stats:7 dropped events: 2611", "s1 per_cpu/cpu1/stats:7 dropped events: 127"}}},
		good: only(whole.with("options/overwrite", "0\n")),
	},
	{
		rule: "commit-overrun",
		bad:  only(ring(cpuStats{entries: 432, commit: 5106}, cpuStats{entries: 430, commit: 5642})),
		found: []found{{severity: SeverityError, buffer: "top", cpu: Total, says: []string{"10,748 events were refused by commit overrun"},
			at: []string{"s1 per_cpu/cpu0/stats:3 commit overrun: 5106", "s1 per_cpu/cpu1/stats:3 commit overrun: 5642"}}},
		good: only(whole),
	},
	{
		rule: "uncounted-loss",
		bad:  given(refused, Options{Attempted: map[int]uint64{Total: 3501}}),
		found: []found{{severity: SeverityError, buffer: "top", cpu: Total, says: []string{"3,501 attempted, 3,500 accounted for", "1 event was refused and counted nowhere"},
			at: []string{"option --attempted 3501"}}},
		good: given(refused, Options{Attempted: map[int]uint64{Total: 3500}}),
	},
	{ // by CPU
		rule: "uncounted-loss",
		bad:  given(refused, Options{Attempted: map[int]uint64{0: 3000, 1: 510}}),
		found: []found{{severity: SeverityError, buffer: "top", cpu: Total, says: []string{"3,510 attempted, 3,500 accounted for", "10 events were"},
			at: []string{"option --attempted 0=3000", "option --attempted 1=510"}}},
		good: given(refused, Options{Attempted: map[int]uint64{0: 3000, 1: 500}}),
	},
	{
		rule: "reader-lost-events",
		bad:  text("trace_pipe.txt", lostMark(0, 714)+events1(0, 3, 10e6)+lostMark(1, 20)+events1(1, 2, 11e6)),
		found: []found{{severity: SeverityWarning, buffer: "trace_pipe.txt", cpu: Total, says: []string{"announces 734 events lost in 2 marks with a number"},
			at: []string{"s1:1 CPU:0 [LOST 714 EVENTS]", "s1:5 CPU:1 [LOST 20 EVENTS]"}}},
		good: text("trace_pipe.txt", events1(0, 3, 10e6)),
	},
	{ // with the counters beside it, it is a note of how the total came about
		rule: "reader-lost-events",
		bad:  given(ring(cpuStats{overrun: 714, read: 3}), Options{}, "trace_pipe.txt", lostMark(0, 700)+events1(0, 3, 10e6)),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"700 events lost in 1 mark with a number, of 714 overwritten"},
			at: []string{"s2:1 CPU:0 [LOST 700 EVENTS]"}}},
		good: given(ring(cpuStats{read: 3}), Options{}, "trace_pipe.txt", events1(0, 3, 10e6)),
	},
	{
		rule: "loss-of-unknown-size",
		bad:  text("trace_pipe.txt", "CPU:0 [LOST EVENTS]\n"+events1(0, 3, 10e6)),
		found: []found{{severity: SeverityError, buffer: "trace_pipe.txt", cpu: Total, says: []string{"1 hole without a number"},
			at: []string{"s1:1 CPU:0 [LOST EVENTS]"}}},
		good: text("trace_pipe.txt", lostMark(0, 1)+events1(0, 3, 10e6)),
	},
	{ // in a view it is the reading that lost them
		rule: "loss-of-unknown-size",
		bad:  text("trace.live", traceHeader(2, 2, 1)+events1(0, 2, 10e6)+"CPU:0 [LOST EVENTS]\n"+events1(0, 2, 11e6)),
		found: []found{{severity: SeverityError, buffer: "trace.live", cpu: Total, says: []string{"the reading itself lost events: 1 mark without a number"},
			at: []string{"s1:15 CPU:0 [LOST EVENTS]"}}},
		good: text("trace.live", traceHeader(2, 2, 1)+events1(0, 2, 10e6)),
	},
	{ // the counters say how many
		rule: "loss-of-unknown-size",
		bad:  given(ring(cpuStats{overrun: 90, read: 5}), Options{}, "trace_pipe.txt", lostMark(0, 50)+events1(0, 3, 10e6)+"CPU:0 [LOST EVENTS]\n"+events1(0, 2, 11e6)),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"1 hole without a number", "40 of 90 overwritten lie in the 1 hole", "50 in 1 hole with one"},
			at: []string{"s2:5 CPU:0 [LOST EVENTS]"}}},
		good: given(ring(cpuStats{overrun: 90, read: 5}), Options{}, "trace_pipe.txt", lostMark(0, 90)+events1(0, 5, 10e6)),
	},
	{
		rule: "flight-recorder",
		bad:  given(wrapped, Options{FlightRecorder: true}),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"2,922,910 events were overwritten, as intended", "cover 10.000000 to 20.000000"},
			at: []string{"s1 per_cpu/cpu0/stats:2 overrun: 1329940"}}},
		good: only(wrapped),
	},
}

var silenceTests = []ruleTest{
	{
		rule: "trace-body-silent",
		bad:  only(ring(cpuStats{entries: 3, overrun: 40}).with("trace", traceHeader(3, 43, 1)+events1(0, 3, 10e6))),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"only its header, 3/43, tells"},
			at: []string{"s1 trace:3 # entries-in-buffer/entries-written: 3/43   #P:1"}}},
		good: only(ring(cpuStats{entries: 3}).with("trace", traceHeader(3, 3, 1)+events1(0, 3, 10e6))),
	},
	{ // refused events are not even in the header
		rule: "trace-body-silent",
		bad:  only(ring(cpuStats{entries: 3, dropped: 40}).with("trace", traceHeader(3, 3, 1)+events1(0, 3, 10e6), "options/overwrite", "0\n")),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"its header, 3/3, claims that everything is there"},
			at: []string{"s1 trace:3 # entries-in-buffer/entries-written: 3/3   #P:1"}}},
		good: given(ring(cpuStats{read: 3, overrun: 9}), Options{}, "trace_pipe.txt", lostMark(0, 9)+events1(0, 3, 10e6)),
	},
	{
		rule: "zero-counter-misread",
		bad:  only(wrapped),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"`dropped events: 0` says nothing here"},
			at: []string{"s1 per_cpu/cpu0/stats:7 dropped events: 0"}}},
		good: only(whole),
	},
	{
		rule: "zero-counter-misread",
		bad:  only(refused),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"`overrun: 0` says nothing here"},
			at: []string{"s1 per_cpu/cpu0/stats:2 overrun: 0"}}},
		good: only(whole.with("options/overwrite", "0\n")),
	},
	{
		rule: "zero-counter-misread",
		bad:  only(ring(cpuStats{entries: 3, overrun: 4, dropped: 5})),
		found: []found{{severity: SeverityNote, buffer: "top", cpu: Total, says: []string{"both above zero", "now overwrite"},
			at: []string{"s1 per_cpu/cpu0/stats:2 overrun: 4", "s1 per_cpu/cpu0/stats:7 dropped events: 5"}}},
		good: only(ring(cpuStats{entries: 3, commit: 5})),
	},
	{
		rule:  "no-total-in-pipe",
		bad:   text("trace_pipe.txt", events1(0, 3, 10e6)),
		found: []found{{severity: SeverityNote, buffer: "trace_pipe.txt", cpu: Total, says: []string{"trace_pipe.txt has no total"}, at: []string{"s1"}}},
		good:  given(ring(cpuStats{read: 3}), Options{}, "trace_pipe.txt", events1(0, 3, 10e6)),
	},
}
