package tracedat

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
)

// OptionID is the kind of an [Option].
type OptionID uint16

// The options that trace-cmd 3.3 writes. Those whose name ends in Section are of
// version 7 and hold the offset of a section.
const (
	OptDone            OptionID = 0
	OptDate            OptionID = 1
	OptCPUStat         OptionID = 2
	OptBuffer          OptionID = 3
	OptTraceClock      OptionID = 4
	OptUname           OptionID = 5
	OptHook            OptionID = 6
	OptOffset          OptionID = 7
	OptCPUCount        OptionID = 8
	OptVersion         OptionID = 9
	OptProcMaps        OptionID = 10
	OptTraceID         OptionID = 11
	OptTimeShift       OptionID = 12
	OptGuest           OptionID = 13
	OptTSC2NSEC        OptionID = 14
	OptStringsSection  OptionID = 15
	OptHeaderSection   OptionID = 16
	OptFtraceSection   OptionID = 17
	OptEventsSection   OptionID = 18
	OptKallsymsSection OptionID = 19
	OptPrintkSection   OptionID = 20
	OptCmdlinesSection OptionID = 21
	OptBufferText      OptionID = 22
	OptBTFSection      OptionID = 23
	OptLastBootInfo    OptionID = 24
	OptModulesSection  OptionID = 25
	lastKnownOption             = OptModulesSection
)

var optionNames = [...]string{"DONE", "DATE", "CPUSTAT", "BUFFER", "TRACECLOCK", "UNAME", "HOOK", "OFFSET", "CPUCOUNT", "VERSION",
	"PROCMAPS", "TRACEID", "TIME_SHIFT", "GUEST", "TSC2NSEC", "STRINGS", "HEADER_INFO", "FTRACE_EVENTS", "EVENT_FORMATS", "KALLSYMS",
	"PRINTK", "CMDLINES", "BUFFER_TEXT", "BTF_FILE", "LAST_BOOT_INFO", "MODULES_FILE"}

func (id OptionID) String() string {
	if int(id) < len(optionNames) {
		return optionNames[id]
	}
	return "option " + strconv.Itoa(int(id))
}

// readOption reads size and payload of an option whose id was just read, and
// adds it to File.Options.
func (f *File) readOption(c *cursor, id OptionID, at int64) (Option, error) {
	o := Option{ID: id, Offset: at}
	size, err := c.u32("size of " + id.String())
	if err != nil {
		return o, err
	}
	o.Size = size
	if err := c.need(uint64(size), "option "+id.String()); err != nil {
		return o, err
	}
	if size > maxOptionKept || f.kept+uint64(size) > maxOptionsKept {
		f.problem(Problem{Kind: Damaged, Offset: at, Section: "option " + id.String(), Found: fmt.Sprintf("%d bytes", size),
			Expected: fmt.Sprintf("at most %d, and %d of all options", maxOptionKept, maxOptionsKept), Lost: "this option"})
		err = c.skip(uint64(size), "option "+id.String())
	} else {
		f.kept += uint64(size)
		o.Data, err = c.bytes(uint64(size), "option "+id.String())
	}
	if err != nil {
		return o, err
	}
	f.Options = append(f.Options, o)
	return o, nil
}

// takeOption takes what an option says about the file as a whole.
func (f *File) takeOption(o Option) {
	text := cstring(o.Data)
	bad := func(expected string) {
		f.problem(Problem{Kind: Damaged, Offset: o.Offset, Section: "option " + o.ID.String(), Found: fmt.Sprintf("%q", tracefs.Shorten(string(o.Data), 40)), Expected: expected})
	}
	switch o.ID {
	case OptUname:
		f.Uname = text
	case OptVersion:
		f.Recorder = text
	case OptTraceClock:
		f.TraceClock = selected(text)
	case OptDate, OptOffset:
		// DATE counts microseconds, OFFSET nanoseconds.
		n, err := strconv.ParseInt(strings.TrimSpace(text), 0, 64)
		if err != nil {
			bad("an integer")
			return
		}
		if o.ID == OptOffset {
			f.Offset = tracefs.Field[int64]{V: n, OK: true, Text: text}
		} else if us := n * 1000; us/1000 == n {
			f.Date = tracefs.Field[int64]{V: us, OK: true, Text: text}
		} else {
			bad("microseconds that fit 64 bits as nanoseconds")
		}
	case OptCPUCount:
		if len(o.Data) < 4 {
			bad("4 bytes")
			return
		}
		n := f.Order.Uint32(o.Data)
		if n == 0 || n > maxCPUs {
			bad(fmt.Sprintf("a number of CPUs from 1 to %d", maxCPUs))
			return
		}
		f.CPUCount = int(n)
	case OptTraceID:
		if len(o.Data) < 8 {
			bad("8 bytes")
			return
		}
		f.TraceID = f.Order.Uint64(o.Data)
	case OptTSC2NSEC:
		if len(o.Data) < 16 {
			bad("16 bytes")
			return
		}
		f.TSC2NSEC = tracefs.Field[TSC2NSEC]{OK: true, V: TSC2NSEC{f.Order.Uint32(o.Data), f.Order.Uint32(o.Data[4:]), f.Order.Uint64(o.Data[8:])}}
	case OptTimeShift:
		f.TimeShifted = true
	case OptGuest:
		f.Guests = append(f.Guests, text)
	case OptLastBootInfo:
		name, info, ok := strings.Cut(text, ":")
		if !ok {
			name, info = "", text
		}
		if b := f.addBuffer(name); b != nil {
			b.LastBoot = info
		}
	default:
		if o.ID > lastKnownOption {
			f.problem(Problem{Kind: Note, Offset: o.Offset, Section: o.ID.String(), Found: fmt.Sprintf("%d bytes of unknown meaning", o.Size), Hint: "left out"})
		}
	}
}

// cstring is b up to its first NUL.
func cstring(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

// selected is the word in brackets of a trace_clock file, or the only word.
func selected(text string) string {
	text = strings.TrimRight(text, "\x00\n ")
	if c, err := tracefs.ParseClock(strings.NewReader(text+"\n"), "TRACECLOCK"); err == nil {
		return c.Current.V
	}
	return ""
}

// attachStats hands the options CPUSTAT out to the buffers, in the order of the
// file: one option per CPU, "CPU: N" and then the text of per_cpu/cpuN/stats;
// before those of an instance one with "Buffer: NAME".
func (f *File) attachStats() {
	name := ""
	for _, o := range f.Options {
		if o.ID != OptCPUStat || o.Data == nil {
			continue
		}
		text := cstring(o.Data)
		if v, ok := strings.CutPrefix(strings.TrimSpace(text), "Buffer: "); ok {
			name = strings.TrimSpace(v)
			continue
		}
		head, stats, _ := strings.Cut(text, "\n")
		num, ok := strings.CutPrefix(head, "CPU: ")
		cpu, err := strconv.Atoi(strings.TrimSpace(num))
		if !ok || err != nil || cpu < 0 || cpu >= 1<<20 {
			f.problem(Problem{Kind: Damaged, Offset: o.Offset, Section: "option CPUSTAT", Found: fmt.Sprintf("%q", tracefs.Shorten(head, 40)), Expected: `"CPU: N" or "Buffer: NAME"`})
			continue
		}
		b := f.addBuffer(name)
		if b == nil {
			continue
		}
		if b.Stats == nil {
			b.Stats = map[int]*CPUStat{}
		}
		if was, ok := b.Stats[cpu]; ok {
			f.problem(Problem{Kind: Damaged, Offset: o.Offset, Section: "option CPUSTAT", Found: fmt.Sprintf("CPU %d of buffer %q again", cpu, name),
				Expected: "each once", Hint: fmt.Sprintf("the first, at offset %d, is used", was.Offset)})
			continue
		}
		where := fmt.Sprintf("%s: CPUSTAT of CPU %d at offset %d", f.Name, cpu, o.Offset)
		s, err := tracefs.ParseStats(strings.NewReader(stats), where)
		if err != nil {
			f.problem(Problem{Kind: Damaged, Offset: o.Offset, Section: "option CPUSTAT", Found: err.Error()})
			continue
		}
		b.Stats[cpu] = &CPUStat{CPU: cpu, Offset: o.Offset, Text: stats, Stats: s}
		for _, e := range s.Errors {
			f.problem(Problem{Kind: Damaged, Offset: o.Offset, Section: "option CPUSTAT", Found: e.Error()})
		}
	}
}
