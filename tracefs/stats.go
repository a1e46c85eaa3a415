package tracefs

import (
	"io"
	"strings"
)

// Stats is per_cpu/cpuN/stats: the counters of one CPU's ring buffer. All of
// them count from that buffer's last reset.
//
// The kernel prints them with %ld although it keeps them as unsigned long
// (kernel/trace/trace.c: tracing_stats_read, the same from v4.4 to v7.3), so a
// counter above the largest long, and a counter that was sampled between two
// updates, is printed negative. The numbers here are as printed; [Unwrap] and
// [SumCounters] undo a wrap.
type Stats struct {
	File string

	Entries       Field[int64] // events in the buffer now
	Overrun       Field[int64] // events overwritten before anybody read them (overwrite mode; also a shrink)
	CommitOverrun Field[int64] // events refused because nested writers lapped an open commit
	Bytes         Field[int64] // bytes in the buffer; drifts, report it and derive nothing from it
	Dropped       Field[int64] // "dropped events": refused because the buffer was full (overwrite off). Absent before v3.5
	Read          Field[int64] // "read events": taken by consuming readers. Absent before v3.5
	NMIDropped    Field[int64] // "nmi dropped": kernels of 2009 only
	Oldest        Field[Stamp] // "oldest event ts": stale where Entries is 0. Absent before v3.2
	Now           Field[Stamp] // "now ts": the clock when the file was read. Absent before v3.2

	Unknown []Line         // lines that no kernel known to this package prints
	Errors  []*SyntaxError // lines whose value was not taken
	Cut     bool           // the last line has no end: the file is cut off or was edited
}

// Counter is one integer line of a [Stats]: its words and its field.
type Counter struct {
	Name  string // the kernel's words, "commit overrun"
	Field Field[int64]
}

// Counters lists the integer lines that are there, in the kernel's order.
func (s *Stats) Counters() []Counter {
	var out []Counter
	for _, c := range s.counters() {
		if c.field.OK {
			out = append(out, Counter{c.name, *c.field})
		}
	}
	return out
}

type counterRef struct {
	name  string
	field *Field[int64]
}

func (s *Stats) counters() [7]counterRef {
	return [7]counterRef{
		{"entries", &s.Entries},
		{"overrun", &s.Overrun},
		{"commit overrun", &s.CommitOverrun},
		{"bytes", &s.Bytes},
		{"dropped events", &s.Dropped},
		{"read events", &s.Read},
		{"nmi dropped", &s.NMIDropped},
	}
}

// ParseStats reads a stats file of any kernel age. name stands in the positions.
//
// A line that is wrong costs its own value and becomes one of Stats.Errors. The
// error is a [FileError] if r fails (what was read until then is returned with
// it) and a [FormatError] if no line of the file is a line of a stats file.
func ParseStats(r io.Reader, name string) (*Stats, error) {
	s := &Stats{File: name}
	data, err := readSmall(r, name, statsExpected)
	if err != nil {
		return s, err
	}
	return s, s.parse(data)
}

const statsExpected = `the lines of per_cpu/cpuN/stats, "entries: N" first`

func (s *Stats) parse(data []byte) error {
	p := statsParser{Stats: s, seen: map[string]srcLine{}}
	lines := splitLines(data)
	for _, l := range lines {
		p.line(l)
	}
	if len(p.seen) > 0 {
		return nil
	}
	e := &FormatError{File: s.File, Expected: statsExpected}
	for _, l := range lines {
		if strings.TrimSpace(l.text) != "" {
			e.Found = l.text
			break
		}
	}
	if e.Found == "" {
		e.Hint = "tracefs files have no size: copy them with cat or cp --sparse=never, not with a tool that trusts the size"
	}
	return e
}

type statsParser struct {
	*Stats
	seen map[string]srcLine // key → the line that said it first
}

func (p *statsParser) line(l srcLine) {
	if l.cut {
		p.Cut = true
	}
	if strings.TrimSpace(l.text) == "" {
		return
	}
	key, val, ok := strings.Cut(l.text, ":")
	key = strings.TrimSpace(key)
	col := len(l.text) - len(strings.TrimLeft(val, " \t")) + 1
	val = strings.TrimSpace(val)
	at := Pos{File: p.File, Line: l.n, Col: col}
	if !ok {
		if l.cut && isStatsPrefix(key) {
			p.Errors = append(p.Errors, errCutNumber(Pos{File: p.File, Line: l.n}, l.text, "a counter's name and value"))
			return
		}
		p.Unknown = append(p.Unknown, keepLine(l))
		return
	}
	if f := p.stamp(key); f != nil {
		p.setStamp(f, key, val, l, at)
		return
	}
	for _, c := range p.counters() {
		if c.name == key {
			p.setCounter(c.field, key, val, l, at)
			return
		}
	}
	p.Unknown = append(p.Unknown, keepLine(l))
}

// isStatsPrefix tells whether a line that ends before its colon can be the
// beginning of a line of a stats file.
func isStatsPrefix(s string) bool {
	var st Stats
	for _, c := range st.counters() {
		if strings.HasPrefix(c.name, s) {
			return true
		}
	}
	return strings.HasPrefix("oldest event ts", s) || strings.HasPrefix("now ts", s)
}

func (p *statsParser) stamp(key string) *Field[Stamp] {
	switch key {
	case "oldest event ts":
		return &p.Oldest
	case "now ts":
		return &p.Now
	}
	return nil
}

func (p *statsParser) setCounter(f *Field[int64], key, val string, l srcLine, at Pos) {
	again := p.again(key, l)
	v, serr := parseInt64(at, val, "a decimal number")
	if serr == nil && l.cut {
		serr = errCutNumber(at, val, "a decimal number")
	}
	if serr != nil {
		p.Errors = append(p.Errors, serr)
		return
	}
	if again {
		p.duplicate(key, l, f.OK && f.V == v)
		if f.OK && f.V != v {
			*f = Field[int64]{}
		}
		return
	}
	*f = fieldOf(p.File, l, v)
}

func (p *statsParser) setStamp(f *Field[Stamp], key, val string, l srcLine, at Pos) {
	again := p.again(key, l)
	v, serr := parseStamp(at, val)
	// Six decimals are a whole time even where the line has no end.
	if serr == nil && l.cut && v.Unit == Ticks {
		serr = errCutNumber(at, val, "a time")
	}
	if serr != nil {
		p.Errors = append(p.Errors, serr)
		return
	}
	if again {
		p.duplicate(key, l, f.OK && f.V == v)
		if f.OK && f.V != v {
			*f = Field[Stamp]{}
		}
		return
	}
	*f = fieldOf(p.File, l, v)
}

func (p *statsParser) again(key string, l srcLine) bool {
	_, again := p.seen[key]
	if !again {
		p.seen[key] = l
	}
	return again
}

func (p *statsParser) duplicate(key string, l srcLine, same bool) {
	hint := "the values differ, so neither is used; several files in one? Give the folder, or one file per CPU"
	if same {
		hint = "the value is the same, so it is used"
	}
	p.Errors = append(p.Errors, &SyntaxError{
		Pos: Pos{File: p.File, Line: l.n}, Found: l.text,
		Expected: "each line once", Hint: hint,
	})
}

// Unwrap turns a counter as printed with %ld into the unsigned number that the
// kernel holds, given the size of a long in bytes on the machine that printed it
// (4 or 8: [HeaderPage].LongSize). On a 32-bit kernel the counter is still only
// known modulo 2^32. ok is false where v cannot come from a long of that size,
// and for a negative number on a 64-bit kernel: no counter reaches 2^63, so that
// is a sample torn between two updates.
func Unwrap(v int64, longSize int) (n uint64, ok bool) {
	switch {
	case longSize == 4 && v >= -1<<31 && v < 1<<31:
		return uint64(uint32(int32(v))), true
	case longSize == 8 && v >= 0:
		return uint64(v), true
	}
	return 0, false
}

// SumCounters adds counters as the kernel's own arithmetic does: modulo the size
// of a long. entries + overrun + read of a CPU is the number of events written
// since its reset, modulo 2^32 on a 32-bit kernel, also after one of the three
// has wrapped.
func SumCounters(longSize int, vs ...int64) uint64 {
	var sum uint64
	for _, v := range vs {
		sum += uint64(v)
	}
	if longSize == 4 {
		sum = uint64(uint32(sum))
	}
	return sum
}
