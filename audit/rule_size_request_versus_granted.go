package audit

import "fmt"

var ruleSizeGranted = &Rule{
	ID: "size-request-versus-granted", Group: GroupGeometry, Severity: SeverityNote,
	Title:     "The size that is printed is not what was asked for, nor what it costs",
	Text:      `A request is rounded up to whole sub-buffers, each of which loses its header to the events; there are at least two, and one more, the reader page, is not counted. Current kernels print what was granted (8 becomes 11): 5.10.262 and 6.1 on do; 4.4 to 5.8 and 5.15.135 print the request. Neither is the memory that is used.`,
	Remedy:    "",
	Citations: []string{"buffer-size-R4", "buffer-size-R5", "buffer-size-R17", "buffer-size-R27"},
}

func checkSizeGranted(a *Audit, r *Rule) {
	for _, b := range a.Buffers {
		differ, seen := b.sizesDiffer(), map[int64]bool{}
		for _, id := range b.CPUIDs() {
			s, ok := b.CPUSizes[id]
			if !ok || s.Printed.KB.V < 0 {
				continue
			}
			if !s.MemoryBytes.Exact() || s.MemoryBytes.Lo/1024 == uint64(s.Printed.KB.V) || seen[s.Printed.KB.V] {
				continue
			}
			seen[s.Printed.KB.V] = true
			f := Finding{Buffer: b.Name, Evidence: []Evidence{{Source: b.source.ID, File: s.Printed.KB.File, Line: s.Printed.KB.Line, Text: s.Printed.KB.Text}}}
			who := fmt.Sprintf("prints %d kB a CPU", s.Printed.KB.V)
			if differ {
				f.CPU = cpuPtr(id)
				who = fmt.Sprintf("cpu %d prints %d kB", id, s.Printed.KB.V)
			}
			f.Message = fmt.Sprintf("%s: %s sub-buffers of %d usable bytes and the reader page, %d bytes of memory",
				who, grouped(s.Subbufs), b.Geometry.UsableBytes, s.MemoryBytes.Lo)
			if !b.Geometry.Granted(uint64(s.Printed.KB.V)) {
				f.Message += "; it prints the request, not what was granted"
			}
			a.emit(r, f) // once for each size
		}
	}
}

// sizesDiffer tells whether the CPUs print different sizes.
func (b *Buffer) sizesDiffer() bool {
	first := int64(-1)
	for _, s := range b.CPUSizes {
		switch kb := s.Printed.KB.V; {
		case first < 0:
			first = kb
		case kb != first:
			return true
		}
	}
	return false
}
