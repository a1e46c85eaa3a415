package audit

var ruleCPUStatPages = &Rule{
	ID: "cpustat-versus-pages", Group: GroupContradiction, Severity: SeverityError,
	Title:     "Pages and counters disagree",
	Text:      `The counts stored in raw pages add up to at most the overrun of their CPU, and the records in them to at most entries plus read events. More than that means that counters and pages are of different runs, or that events were written after the counters were read.`,
	Remedy:    `find out which of the two is of another run or moment, or was edited; the one that is not used is named`,
	Citations: []string{"reading-a-trace-R34", "reading-a-trace-R40", "trace-ring-buffer-R58"},
}
