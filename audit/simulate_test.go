package audit

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
)

// This file models a ring buffer as kernel/trace/ring_buffer.c works: sub-buffers
// that hold so many events each, a reader page apart from them, counters that
// grow where the kernel's grow. What it prints is audited, and the audit's
// intervals are held against what really happened.

type simEvent struct{ us int }

type simPage struct {
	events []simEvent
	taken  int // events that a consumer has read off this page
}

type simCPU struct {
	id       int
	ring     []*simPage // oldest first; its last page is the tail unless the reader page is
	reader   *simPage
	onReader bool // the writer is on the reader page
	pages    int  // in the ring
	room     int  // events a page holds

	committed, overrun, read, dropped, told int
	uncounted                               int
}

func newSimCPU(id, pages, room int) *simCPU {
	return &simCPU{id: id, pages: pages, room: room, ring: []*simPage{{}}, reader: &simPage{}}
}

func (c *simCPU) tail() *simPage {
	if c.onReader {
		return c.reader
	}
	return c.ring[len(c.ring)-1]
}

// write is one event that is asked for.
func (c *simCPU) write(us int, overwrite bool) {
	if len(c.tail().events) == c.room {
		switch {
		case c.onReader:
			c.onReader = false
			c.ring = append(c.ring, &simPage{})
		case len(c.ring) < c.pages:
			c.ring = append(c.ring, &simPage{})
		case !overwrite:
			c.dropped++
			return
		default:
			c.overrun += len(c.ring[0].events)
			c.ring = append(c.ring[1:], &simPage{})
		}
	}
	t := c.tail()
	t.events = append(t.events, simEvent{us})
	c.committed++
}

// consume takes up to n events as trace_pipe does, and prints them.
func (c *simCPU) consume(n int) []string {
	var out []string
	mark := ""
	for n > 0 {
		if c.reader.taken == len(c.reader.events) {
			if c.onReader || len(c.ring) == 0 || len(c.ring[0].events) == 0 {
				break // an empty ring: the reader page is not exchanged
			}
			c.reader, c.ring = c.ring[0], c.ring[1:]
			c.onReader = len(c.ring) == 0
			if lost := c.overrun - c.told; lost > 0 {
				mark = lostMark(c.id, lost)
			}
			c.told = c.overrun
			continue
		}
		e := c.reader.events[c.reader.taken]
		c.reader.taken++
		c.read++
		n--
		out = append(out, mark+simLine(c.id, e))
		mark = ""
	}
	return out
}

func simLine(cpu int, e simEvent) string {
	return fmt.Sprintf("            prog-1234    [%03d] .....  %4d.%06d: tracing_mark_write: x\n", cpu, e.us/1e6, e.us%1e6)
}

// kept are the events still in the ring, oldest first.
func (c *simCPU) kept() []simEvent {
	out := append([]simEvent(nil), c.reader.events[c.reader.taken:]...)
	for _, p := range c.ring {
		out = append(out, p.events...)
	}
	return out
}

func (c *simCPU) entries() int { return c.committed - c.overrun - c.read }

func (c *simCPU) stats(now int) cpuStats {
	oldest := 0
	page := c.reader
	if !c.onReader && len(c.ring) > 0 {
		page = c.ring[0]
	}
	if len(page.events) > 0 {
		oldest = page.events[0].us
	}
	stamp := func(us int) string { return fmt.Sprintf("%5d.%06d", us/1e6, us%1e6) }
	return cpuStats{entries: int64(c.entries()), overrun: int64(c.overrun), dropped: int64(c.dropped), read: int64(c.read), oldest: stamp(oldest), now: stamp(now)}
}

// truth is what happened on the CPU since its last reset.
func (c *simCPU) truth() [numQuantities]int {
	var v [numQuantities]int
	v[Kept], v[Overwritten], v[Read], v[Dropped], v[Uncounted] = c.entries(), c.overrun, c.read, c.dropped, c.uncounted
	v[Written] = c.committed
	v[Attempted] = v[Written] + v[Dropped] + v[Uncounted]
	v[Lost] = v[Overwritten] + v[Dropped] + v[Uncounted]
	return v
}

type simulation struct {
	r         *rand.Rand
	cpus      []*simCPU
	us        int
	overwrite bool
	on        bool
	pipe      []string // what a reader of trace_pipe has saved
	piped     map[int]int
}

func newSimulation(seed uint64) *simulation {
	s := &simulation{r: rand.New(rand.NewPCG(seed, 7)), us: 10e6, overwrite: true, on: true, piped: map[int]int{}}
	s.overwrite = s.r.IntN(3) > 0
	pages, room := 2+s.r.IntN(3), 1+s.r.IntN(5)
	for i := range 1 + s.r.IntN(3) {
		s.cpus = append(s.cpus, newSimCPU(i, pages, room))
	}
	return s
}

// work lets a few things happen.
func (s *simulation) work(resets bool) {
	for range s.r.IntN(12) {
		c := s.cpus[s.r.IntN(len(s.cpus))]
		switch s.r.IntN(12) {
		case 0:
			s.consume(c, s.r.IntN(12))
		case 1:
			s.consume(c, 1000)
		case 2:
			s.overwrite = s.overwrite != (s.r.IntN(4) == 0)
		case 3:
			s.on = s.r.IntN(3) > 0
		case 4:
			if resets && s.r.IntN(3) == 0 {
				s.reset()
			}
		default:
			for range s.r.IntN(30) {
				s.us += 1 + s.r.IntN(50)
				if !s.on {
					c.uncounted++
					continue
				}
				c.write(s.us, s.overwrite)
			}
		}
	}
}

func (s *simulation) consume(c *simCPU, n int) {
	s.us++
	lines := c.consume(n)
	s.pipe = append(s.pipe, lines...)
	s.piped[c.id] += len(lines)
}

func (s *simulation) reset() {
	s.us++
	for i, c := range s.cpus {
		s.cpus[i] = newSimCPU(c.id, c.pages, c.room)
	}
	s.pipe, s.piped = nil, map[int]int{}
}

// folder is what tracefs prints now.
func (s *simulation) folder(on bool) tree {
	s.us++
	var stats []cpuStats
	for _, c := range s.cpus {
		stats = append(stats, c.stats(s.us))
	}
	t := ring(stats...)
	if on {
		t = t.on()
	}
	return t
}

// trace is the text of trace now.
func (s *simulation) trace() string {
	entries, written := 0, 0
	type line struct {
		us   int
		text string
	}
	var lines []line
	for _, c := range s.cpus {
		entries += c.entries()
		written += c.entries() + c.overrun
		for _, e := range c.kept() {
			lines = append(lines, line{e.us, simLine(c.id, e)})
		}
	}
	sort.SliceStable(lines, func(i, j int) bool { return lines[i].us < lines[j].us })
	var b strings.Builder
	b.WriteString(traceHeader(entries, written, len(s.cpus)))
	for _, l := range lines {
		b.WriteString(l.text)
	}
	return b.String()
}

func (s *simulation) truth() map[int][numQuantities]int {
	out := map[int][numQuantities]int{}
	var total [numQuantities]int
	for _, c := range s.cpus {
		v := c.truth()
		v[Delivered] = s.piped[c.id]
		v[Missing] = v[Attempted] - v[Delivered]
		out[c.id] = v
		for q := range v {
			total[q] += v[q]
		}
	}
	out[Total] = total
	return out
}

// hold checks an audit against the truth. captured tells that Delivered is what
// the pipe has; else it is not looked at.
func hold(t *testing.T, what string, a *Audit, truth map[int][numQuantities]int, captured bool) {
	t.Helper()
	bad := false
	fail := func(format string, args ...any) {
		bad = true
		t.Errorf(what+": "+format, args...)
	}
	for _, b := range a.Buffers {
		for cpu, v := range truth {
			for q, n := range v {
				if q := Quantity(q); q == Delivered || q == Missing {
					if !captured {
						continue
					}
				}
				if c, ok := b.Ledger.Get(cpu, Quantity(q)); ok && !c.Contains(uint64(n)) {
					fail("cpu %d: %v is %v, and in truth %d", cpu, Quantity(q), c, n)
				}
			}
		}
	}
	for _, f := range a.Findings {
		if RuleByID(f.Rule).Group == GroupContradiction && f.Severity == SeverityError {
			fail("%s: %s", f.Rule, f.Message)
		}
	}
	if truth == nil {
		return // of two moments there is not one truth
	}
	total := truth[Total]
	counted := total[Overwritten] + total[Dropped]
	switch a.Verdict {
	case Confirmed:
		if total[Lost] > 0 {
			fail("confirmed, and %d were lost", total[Lost])
		}
		fallthrough
	case Complete:
		if counted > 0 || captured && total[Missing] > total[Uncounted] {
			fail("%s, and %d were lost, %d are missing", a.Verdict, counted, total[Missing])
		}
	case Lossy:
		if total[Lost] == 0 && (!captured || total[Missing] == 0) {
			fail("lossy (%s), and nothing was lost", a.Reason)
		}
	}
	if bad {
		for _, in := range a.Options.Sources {
			t.Logf("source %q", in.Path)
		}
		for _, b := range a.Buffers {
			for _, cpu := range append(b.Ledger.CPUs(), Total) {
				line := fmt.Sprintf("cpu %d:", cpu)
				for q := range numQuantities {
					if n, ok := b.Ledger.Get(cpu, q); ok {
						line += fmt.Sprintf(" %v=%v(%d)", q, n, truth[cpu][q])
					}
				}
				t.Log(line)
			}
		}
	}
}

func TestAuditIsSound(t *testing.T) {
	n := 150
	if testing.Short() {
		n = 60
	}
	verdicts := map[Verdict]int{}
	for seed := range uint64(n) {
		if t.Failed() {
			break
		}
		s := newSimulation(seed)
		s.work(true)
		early := s.folder(true)
		earlyTrace := early.with("trace", s.trace())
		atEarly := s.truth()
		s.work(false)
		lateTrace := early.with("trace", s.trace())
		later := s.truth()
		s.work(false)
		s.on = false
		last := s.folder(false)
		truth := s.truth()
		attempted := Options{Attempted: map[int]uint64{Total: uint64(truth[Total][Attempted])}}
		audit := func(what string, opt Options, truth map[int][numQuantities]int, captured bool, sources ...Input) *Audit {
			opt.Sources = sources
			a := runWith(t, opt)
			verdicts[a.Verdict]++
			hold(t, fmt.Sprintf("seed %d, %s", seed, what), a, truth, captured)
			return a
		}
		pipe := func() Input { return pipeOf(t, strings.Join(s.pipe, "")) }
		audit("the folder", Options{}, truth, false, last.input())
		audit("the folder with its trace", Options{}, truth, false, last.with("trace", s.trace()).input())
		audit("the folder and the workload", attempted, truth, false, last.input())
		audit("the folder while it went on", Options{}, atEarly, false, earlyTrace.input())
		if a := audit("a trace read later than its folder", Options{}, nil, false, lateTrace.input()); buffer(t, a, "top").Torn {
			hold(t, fmt.Sprintf("seed %d, torn", seed), a, later, false)
		}
		if len(s.pipe) > 0 {
			audit("the pipe", Options{}, truth, true, pipe())
			audit("the pipe and the workload", attempted, truth, true, pipe())
			audit("the folder and the pipe", Options{}, truth, true, last.input(), pipe())
			audit("the folder, the pipe and the workload", attempted, truth, true, last.with("trace", s.trace()).input(), pipe())
			audit("counters of the midst and the pipe", Options{}, truth, true, early.input(), pipe())
		}
		in := early.input()
		since := difference(atEarly, truth)
		audit("since the midst", Options{Before: &in}, since, false, last.input())
		audit("since the midst, with the workload", Options{Before: &in, Attempted: map[int]uint64{Total: uint64(since[Total][Attempted])}}, since, false, last.with("trace", s.trace()).input())
		audit("two moments", Options{}, truth, false, early.input(), last.input())
	}
	for _, v := range []Verdict{Lossy, Complete, Confirmed, Undetermined} {
		if !t.Failed() && verdicts[v] == 0 {
			t.Errorf("no %s among %v", v, verdicts)
		}
	}
}

// difference is what happened between two moments; what is kept is what is kept.
func difference(was, now map[int][numQuantities]int) map[int][numQuantities]int {
	out := map[int][numQuantities]int{}
	for cpu, n := range now {
		for q := range n {
			if Quantity(q) != Kept {
				n[q] -= was[cpu][q]
			}
		}
		out[cpu] = n
	}
	return out
}

// A reset between the two samples is found, or does not make the numbers wrong.
func TestBeforeIsSound(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 100
	}
	found, silent := 0, 0
	for seed := range uint64(n) {
		s := newSimulation(seed)
		s.work(true)
		in := s.folder(true).input()
		was := s.truth()
		s.work(false)
		gone := s.truth()
		s.reset()
		s.us += 10
		s.work(false)
		// In truth: what happened until the reset, and what happened since.
		truth := difference(was, gone)
		for cpu, v := range s.truth() {
			d := truth[cpu]
			for q := range d {
				d[q] += v[q]
			}
			d[Kept] = v[Kept]
			truth[cpu] = d
		}
		a := runWith(t, Options{Before: &in, Sources: []Input{s.folder(false).input()}})
		b := buffer(t, a, "top")
		if b.Reset {
			found++
			hold(t, fmt.Sprintf("seed %d", seed), a, truth, false)
		} else if was[Total][Written] > 0 {
			silent++
		}
		if t.Failed() {
			return
		}
	}
	// A reset behind which every counter grew past what it was cannot be told.
	if found < 4*silent {
		t.Errorf("%d resets were found and %d were not", found, silent)
	}
}
