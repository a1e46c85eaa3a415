package tracefs

import (
	"io"
	"strconv"
	"strings"
)

// Probe is one line of kprobe_events, uprobe_events or dynamic_events: an event
// that somebody defined.
//
//	p:kp/p1 do_nanosleep
//	r10:kp/rdef do_nanosleep arg1=$retval
//	f1:fp/f1 do_nanosleep%return ret=$retval
//	p:up/u1 /bin/sh:0x0000000000012340
//	e:ep/e1 sched.sched_switch
//	s:synthetic/wake	u64 lat; pid_t pid
//
// (trace_kprobe_show, trace_uprobe_show, trace_fprobe_show, eprobe_dyn_event_show
// and synth_event_show in kernel/trace, v6.12.)
type Probe struct {
	Kind   ProbeKind
	Return bool // fires when the function returns

	// MaxActive is the number of instances of a return probe that can be in
	// flight at once; one more is a miss. Absent where the line gives none: not a
	// return probe, or a kernel that does not print it.
	MaxActive Field[int64]

	Group  string // the event's system: "kp"
	Event  string // the event's name: "rdef"
	Target string // "do_nanosleep", "/bin/sh:0x…", "sched.sched_switch"; the fields of a synthetic event
	Args   string // the fetch arguments, as they stand

	File string
	Line int
	Text string
}

// ProbeKind is the kind of a [Probe].
type ProbeKind string

// The kinds of probes. A uprobe is told from a kprobe by its target.
const (
	Kprobe      ProbeKind = "kprobe"
	Kretprobe   ProbeKind = "kretprobe"
	Uprobe      ProbeKind = "uprobe"
	Uretprobe   ProbeKind = "uretprobe"
	Fprobe      ProbeKind = "fprobe"
	Fretprobe   ProbeKind = "fretprobe"
	Tprobe      ProbeKind = "tprobe" // a tracepoint without an event of its own
	EventProbe  ProbeKind = "eprobe"
	Synthetic   ProbeKind = "synthetic"
	UserEvent   ProbeKind = "user_event"
	UnknownKind ProbeKind = "unknown"
)

// AutoNamed reports whether the event bears the name that the kernel makes up
// for a probe without one: "p_SYMBOL_OFFSET", "r_SYMBOL_OFFSET" or
// "SYMBOL__entry" and "SYMBOL__exit".
//
// On v4.4 and v4.9 this is what became of "r10:NAME": the parser looked for the
// colon in the second place only, so the digits swallowed the name together with
// the maxactive that was asked for, and said nothing.
func (p Probe) AutoNamed() bool {
	sym, _, _ := strings.Cut(p.Target, "+")
	sym, _ = strings.CutSuffix(sym, "%return")
	if strings.HasPrefix(p.Event, "p_") || strings.HasPrefix(p.Event, "r_") {
		rest := p.Event[2:]
		i := strings.LastIndexByte(rest, '_')
		return i > 0 && i < len(rest)-1 && (allDigits(rest[i+1:]) || strings.HasPrefix(rest[i+1:], "0x"))
	}
	return sym != "" && (p.Event == sym+"__entry" || p.Event == sym+"__exit")
}

// Probes is a parsed kprobe_events, uprobe_events or dynamic_events file.
type Probes struct {
	List   []Probe
	Errors []*SyntaxError
}

// ParseProbes reads kprobe_events, uprobe_events or dynamic_events. An empty
// file is a list of none. The error is a [FileError].
func ParseProbes(r io.Reader, name string) (Probes, error) {
	var ps Probes
	data, err := readSmall(r, name, "one probe a line")
	if err != nil {
		return ps, err
	}
	for _, l := range splitLines(data) {
		text := strings.TrimSpace(l.text)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		p, serr := parseProbe(name, l)
		if serr != nil {
			ps.Errors = append(ps.Errors, serr)
			continue
		}
		ps.List = append(ps.List, p)
	}
	return ps, nil
}

func parseProbe(name string, l srcLine) (Probe, *SyntaxError) {
	const expected = `a probe such as "p:GROUP/EVENT TARGET" or "r10:GROUP/EVENT TARGET"`
	text := strings.TrimSpace(l.text)
	p := Probe{File: name, Line: l.n, Text: l.text}
	bad := func(hint string) (Probe, *SyntaxError) {
		return Probe{}, &SyntaxError{Pos: Pos{File: name, Line: l.n, Col: 1}, Found: l.text, Expected: expected, Hint: hint}
	}
	if l.cut {
		return bad("the file is cut off inside this line")
	}
	head, rest, ok := strings.Cut(text, ":")
	if !ok || head == "" {
		return bad("")
	}
	digits := head[1:]
	if head[0] == 'u' && strings.TrimLeft(digits, "_") == "" { // user_events: "u:name fields"
		digits = ""
	}
	def, target, _ := strings.Cut(rest, " ")
	if i := strings.IndexByte(def, '\t'); i >= 0 { // a synthetic event has a tab behind its name
		target, def = rest[i+1:], def[:i]
	}
	if p.Group, p.Event, ok = strings.Cut(def, "/"); !ok {
		p.Group, p.Event = "", def
	}
	if p.Event == "" {
		return bad("")
	}
	if digits != "" {
		v, serr := parseInt64(Pos{File: name, Line: l.n, Col: 2}, digits, "maxactive, a number")
		if serr != nil {
			return Probe{}, serr
		}
		p.MaxActive = fieldOf(name, l, v)
	}
	p.Target, p.Args = cutTarget(strings.TrimSpace(target))
	p.setKind(head[0])
	if p.Kind == Synthetic || p.Kind == UserEvent {
		p.Target, p.Args = strings.TrimSpace(target), ""
	}
	return p, nil
}

// cutTarget tells a probe's target from its arguments. The name of a file may
// hold blanks; a uprobe's ends in ":0x" and the offset.
func cutTarget(s string) (target, args string) {
	end := 0
	if strings.HasPrefix(s, "/") {
		end = max(0, strings.Index(s, ":0x"))
	}
	if i := strings.IndexByte(s[end:], ' '); i >= 0 {
		return s[:end+i], s[end+i+1:]
	}
	return s, ""
}

func (p *Probe) setKind(c byte) {
	user := strings.HasPrefix(p.Target, "/")
	switch {
	case c == 'p' && user:
		p.Kind = Uprobe
	case c == 'p':
		p.Kind = Kprobe
	case c == 'r' && user:
		p.Kind, p.Return = Uretprobe, true
	case c == 'r':
		p.Kind, p.Return = Kretprobe, true
	case c == 'f' && strings.HasSuffix(p.Target, "%return"):
		p.Kind, p.Return = Fretprobe, true
	case c == 'f':
		p.Kind = Fprobe
	case c == 't':
		p.Kind = Tprobe
	case c == 'e':
		p.Kind = EventProbe
	case c == 's':
		p.Kind = Synthetic
	case c == 'u':
		p.Kind = UserEvent
	default:
		p.Kind = UnknownKind
	}
}

// ProbeHits is a line of kprobe_profile or uprobe_profile.
//
// A hit is a dispatch of the probe, also where a filter refused the event,
// recording was off, or only perf or BPF listened. A miss of a kretprobe counts
// exhausted instances only from v5.10 (stable) on; up to v5.8 it stays 0 whatever
// was missed (trace_kprobe.c: probes_profile_seq_show).
type ProbeHits struct {
	Event  string
	Binary string        // uprobe_profile only: the file that the probe sits in
	Hits   Field[uint64] // since the probe was defined
	Misses Field[uint64] // absent in uprobe_profile, which has no such column
}

// Profile is a parsed kprobe_profile or uprobe_profile file.
type Profile struct {
	// Present: the file is there, also where it lists no probe.
	Present bool
	List    []ProbeHits
	Errors  []*SyntaxError
}

// ParseKprobeProfile reads kprobe_profile: name, hits, misses. An empty file is a
// list of none. The error is a [FileError].
func ParseKprobeProfile(r io.Reader, name string) (Profile, error) {
	return parseProfile(r, name, true)
}

// ParseUprobeProfile reads uprobe_profile: file, name, hits. Up to v6.8 the hits
// are counted without a lock by all CPUs and so may be too few.
func ParseUprobeProfile(r io.Reader, name string) (Profile, error) {
	return parseProfile(r, name, false)
}

func parseProfile(r io.Reader, name string, kernel bool) (Profile, error) {
	var p Profile
	expected := "a probe's file, name and hits"
	if kernel {
		expected = "a probe's name, hits and misses"
	}
	data, err := readSmall(r, name, expected)
	if err != nil {
		return p, err
	}
	p.Present = true
	for _, l := range splitLines(data) {
		if strings.TrimSpace(l.text) == "" {
			continue
		}
		h, serr := parseHits(name, l, kernel, expected)
		if serr != nil {
			p.Errors = append(p.Errors, serr)
			continue
		}
		p.List = append(p.List, h)
	}
	return p, nil
}

func parseHits(name string, l srcLine, kernel bool, expected string) (ProbeHits, *SyntaxError) {
	at := Pos{File: name, Line: l.n}
	words := strings.Fields(l.text)
	if len(words) < 3 || (kernel && len(words) != 3) {
		return ProbeHits{}, &SyntaxError{Pos: at, Found: l.text, Expected: expected}
	}
	last := words[len(words)-1]
	if l.cut {
		return ProbeHits{}, errCutNumber(at, last, expected)
	}
	n, serr := parseUint64(at, last, expected)
	if serr != nil {
		return ProbeHits{}, serr
	}
	if !kernel {
		// The file's name may hold blanks, the event's name and the hits do not.
		text := strings.TrimSpace(l.text)
		event := words[len(words)-2]
		text = strings.TrimSpace(strings.TrimSuffix(text, last))
		text = strings.TrimSpace(strings.TrimSuffix(text, event))
		return ProbeHits{Event: event, Binary: text, Hits: fieldOf(name, l, n)}, nil
	}
	hits, serr := parseUint64(at, words[1], expected)
	if serr != nil {
		return ProbeHits{}, serr
	}
	return ProbeHits{Event: words[0], Hits: fieldOf(name, l, hits), Misses: fieldOf(name, l, n)}, nil
}

// TracingError is an entry of error_log (v5.4 and later): a command that the
// tracing system refused. The kernel keeps the last eight.
type TracingError struct {
	At      Stamp  // on the local clock
	Where   string // "trace_kprobe", "hist:sched:sched_switch"
	Message string // "Maxactive is too big"
	Command string // what was written
	Line    int
	Text    string
}

// ParseErrorLog reads error_log. An empty file is a list of none. Lines that
// belong to no entry are left out. The error is a [FileError].
//
//	[  276.173678] trace_kprobe: error: Maxactive is not for kprobe
//	  Command: p10:kp/pmax do_nanosleep
//	            ^
func ParseErrorLog(r io.Reader, name string) ([]TracingError, error) {
	data, err := readSmall(r, name, "the entries of error_log")
	if err != nil {
		return nil, err
	}
	var out []TracingError
	for _, l := range splitLines(data) {
		if cmd, ok := strings.CutPrefix(l.text, "  Command: "); ok && len(out) > 0 {
			out[len(out)-1].Command = cmd
			continue
		}
		rest, ok := strings.CutPrefix(l.text, "[")
		if !ok {
			continue
		}
		ts, msg, ok := strings.Cut(rest, "] ")
		if !ok {
			continue
		}
		at, serr := parseStamp(Pos{File: name, Line: l.n}, strings.TrimSpace(ts))
		where, what, ok := strings.Cut(msg, ": error: ")
		if serr != nil || !ok {
			continue
		}
		out = append(out, TracingError{At: at, Where: where, Message: strings.TrimSpace(what), Line: l.n, Text: l.text})
	}
	return out, nil
}

// String is the probe as one writes it, without its arguments.
func (p Probe) String() string {
	s := string(p.Kind) + " "
	if p.Group != "" {
		s += p.Group + "/"
	}
	s += p.Event
	if p.MaxActive.OK {
		s += " maxactive=" + strconv.FormatInt(p.MaxActive.V, 10)
	}
	return s + " " + p.Target
}
