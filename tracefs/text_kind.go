package tracefs

import (
	"bytes"
	"fmt"
)

// The kind of a section follows from how its lines begin and from its header.
func sectionKind(s *TextSection, lay layout, mode textMode) Kind {
	switch {
	case mode == modeDmesg:
		return KindDmesg
	case mode == modeReport:
		return KindReport
	}
	switch lay {
	case layoutLatency, layoutVerbose:
		return KindLatency
	case layoutGraph:
		return KindGraph
	case layoutRaw:
		return KindRaw
	case layoutBare:
		return KindBare
	case layoutHex:
		return KindHex
	}
	switch {
	case s.Tracer == "function_graph":
		return KindGraph
	case s.Header != nil || s.Tracer != "" || s.Snapshot != "":
		return KindTrace
	}
	return KindPipe
}

var kindWhy = map[Kind]string{
	KindTrace:   "it has the header that trace and snapshot print",
	KindPipe:    "events without the header that trace prints: trace_pipe, or a trace whose header was taken off",
	KindLatency: "event lines in latency format: their times count from the buffer's start",
	KindGraph:   "indented calls of function_graph: its lines are not events, only its marks and CPUs count",
	KindRaw:     "numbers only, as option raw prints them: the unit of the time is not told",
	KindBare:    "events without task, CPU and time, as option nocontext-info prints them: only their number counts, and lines of one event look like several",
	KindReport:  "the form of trace-cmd report",
	KindHex:     "words of hexadecimal digits, as option hex prints them",
}

// kind is the kind of the whole text, and why.
func (a *aggregator) kind() (Kind, string) {
	s := a.sum
	if len(s.Sections) > 0 {
		k := s.Sections[0].Kind
		why := kindWhy[k]
		if k == KindDmesg {
			why = fmt.Sprintf("a kernel log with %d ftrace dump(s) in it", len(s.Sections))
		} else if len(s.Sections) > 1 && k != KindReport {
			why += fmt.Sprintf("; %d such texts one behind the other, which may overlap", len(s.Sections))
		}
		return k, why
	}
	switch {
	case s.Bytes == 0 || a.first == nil:
		return KindEmpty, "there is no line in it"
	case a.scn.mode == modeDmesg:
		return KindDmesg, "a kernel log without an ftrace dump"
	case s.NULs > 0:
		return KindBinary, fmt.Sprintf("%d NUL bytes and no line of a trace", s.NULs)
	case isStatsLine(a.first):
		return KindStats, "the lines of per_cpu/cpuN/stats"
	}
	return KindUnknown, "no line of it is one that a trace prints"
}

func isStatsLine(l []byte) bool {
	for _, p := range []string{"entries: ", "overrun: ", "commit overrun: ", "bytes: ", "oldest event ts: ", "now ts: ", "dropped events: ", "read events: "} {
		if bytes.HasPrefix(bytes.TrimPrefix(l, []byte("\xef\xbb\xbf")), []byte(p)) {
			return true
		}
	}
	return false
}

// refuse is the error for a text that is no trace.
func (a *aggregator) refuse() error {
	s := a.sum
	e := &FormatError{File: s.File, Found: string(a.first),
		Expected: "the text of trace, trace_pipe or snapshot, a kernel log with an ftrace dump, or a trace-cmd report"}
	switch {
	case s.Kind == KindEmpty:
		e.Found = ""
		e.Hint = "tracefs files have no size: copy them with cat, not with a tool that trusts the size"
		return e
	case bytes.HasPrefix(a.first, []byte("\xff\xfe")) || bytes.HasPrefix(a.first, []byte("\xfe\xff")):
		e.Hint = "this is UTF-16, as some shells write it: convert it to UTF-8"
		return e
	case s.Kind == KindBinary:
		e.Hint = "this is binary: give raw pages or a trace.dat as such, and turn option bin off before reading trace"
		return e
	case s.Kind == KindHex:
		e.Hint = "turn option hex off before reading trace"
		return e
	case s.Kind == KindStats:
		e.Hint = "this is a stats file: read it as one"
		return e
	case s.Kind == KindUnknown:
		return e
	case s.NULs > 0 && a.events() == 0 && a.unmatched() > 0:
		s.Kind, s.Why = KindBinary, "a header of trace, and binary data below it"
		e.Hint = "turn option bin off before reading trace"
		return e
	}
	return nil
}

func (a *aggregator) events() (n int64) {
	for _, s := range a.sum.Sections {
		n += s.Events
	}
	return n
}

func (a *aggregator) unmatched() (n int64) {
	for _, s := range a.sum.Sections {
		n += s.Unmatched + s.Continuation
	}
	return n
}

// Sniff tells the kind of a text by its beginning: a few kB are enough, more do
// not harm. name only stands in messages and decides nothing. For a kernel log it
// answers [KindDmesg] whether or not head reaches to a dump.
func Sniff(head []byte, name string) Kind {
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1] // the last line may be cut off
	}
	sum, _ := SummarizeText(bytes.NewReader(head), name, TextOptions{MaxMarks: 1, MaxSamples: 1})
	return sum.Kind
}
