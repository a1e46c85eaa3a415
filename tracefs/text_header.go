package tracefs

import "bytes"

// This file knows the lines that are no events of a trace: headers and
// annotations.

// classifyHash takes the lines of a header, and the annotation.
func (s *TextScanner) classifyHash(l []byte) bool {
	if cpu, ok := parseAnnotation(l); ok {
		s.belong()
		s.header = false
		s.is(LineAnnotate)
		s.line.CPU = cpu
		return true
	}
	if name, ok := bytes.CutPrefix(l, []byte("# tracer: ")); ok {
		// Behind events this is a payload's line, or the beginning of another
		// trace: that has "#" on its next line.
		if s.section >= 0 && !s.header && !s.hashFollows() {
			return false
		}
		if s.section < 0 || !s.header || s.named {
			s.begin()
		}
		s.header, s.named = true, true
		s.tracer(name)
		s.is(LineHeader)
		return true
	}
	if s.header {
		if bytes.HasPrefix(l, []byte("# entries-in-buffer/")) {
			s.entries = true
		}
		s.is(LineHeader)
		return true
	}
	if s.layout == layoutNone && s.lastReal != LineEvent && isHeaderLine(l) {
		s.belong()
		s.header = true
		s.entries = true
		s.is(LineHeader)
		return true
	}
	return false
}

// hashFollows tells whether the next line is "#".
func (s *TextScanner) hashFollows() bool {
	next := s.lr.peek(3, &s.line.Text)
	return bytes.HasPrefix(next, []byte("#\n")) || bytes.HasPrefix(next, []byte("#\r\n"))
}

// tracer notes what the tracer's name says about the lines to come.
func (s *TextScanner) tracer(name []byte) {
	switch string(name) {
	case "function_graph":
		s.graph = true
	case "blk":
		s.foreign = true
	case "mmiotrace":
		s.foreign, s.mmio = true, true
	}
}

// isHeaderLine knows the lines of a header whose beginning is lost.
func isHeaderLine(l []byte) bool {
	for _, p := range []string{"# entries-in-buffer/entries-written: ", "# latency: ", "# * Snapshot is ", "# Snapshot commands:",
		"# WARNING: FUNCTION TRACING IS CORRUPTED", "#           TASK-PID"} {
		if bytes.HasPrefix(l, []byte(p)) {
			return true
		}
	}
	return bytes.Contains(l, []byte(" latency trace v1.1.5 on "))
}
