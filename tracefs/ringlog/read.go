package ringlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
)

// maxLine bounds a line, in bytes. A longer one is no line of such a log.
const maxLine = 16 << 20

// maxCPU and maxProbes bound what numbers a record may carry, so that a damaged
// one does not cost memory.
const (
	maxCPU    = 1 << 16
	maxProbes = 1 << 20
)

// ErrNotRingLog says that an input is no log of a form that is known.
var ErrNotRingLog = errors.New("no ring log (first line is neither a begin line of " + Schema + " nor a capture_start of " + SkbxSchema + ")")

// Sniff tells whether an input that begins with head is a ring log.
func Sniff(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) &&
		(bytes.Contains(line, []byte(`"`+Schema+`"`)) || bytes.Contains(line, []byte(`"`+SkbxSchema+`"`)))
}

// Read reads a log to its end; name is for messages. A line that cannot be read
// takes away that line only, and is in [Summary.Problems]; an error is returned
// for input that is no ring log, and for an error of the reader itself (with
// the summary of what was read before it).
func Read(r io.Reader, name string, o Options) (*Summary, error) {
	if o.MaxHoles == 0 {
		o.MaxHoles = 1000
	}
	p := &parser{
		o: o, s: &Summary{Name: name}, in: bufio.NewReaderSize(r, 1<<17),
		streams: map[int]*stream{}, probes: map[string]int{},
	}
	err := p.run()
	p.finish()
	if p.s.Schema == "" {
		if err == nil {
			err = fmt.Errorf("%s: %w", name, ErrNotRingLog)
			if p.s.Lines == 0 {
				err = fmt.Errorf("%s: empty: %w", name, ErrNotRingLog)
			}
		}
		return nil, err
	}
	return p.s, err
}

type parser struct {
	o       Options
	s       *Summary
	in      *bufio.Reader
	long    []byte
	streams map[int]*stream
	probes  map[string]int // name → place in s.Probes
	text    string         // of the end line, shortened: the evidence
	unended bool           // the last line had no line end
}

func (p *parser) run() error {
	for {
		line, err := p.line()
		if len(line) > 0 || err == nil {
			p.s.Lines++
			if e := p.take(line); e != nil {
				return e
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("%s:%d: %w", p.s.Name, p.s.Lines+1, err)
		}
	}
}

// line is the next line without its end, valid until the next call.
func (p *parser) line() ([]byte, error) {
	b, err := p.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		p.long = append(p.long[:0], b...)
		for err == bufio.ErrBufferFull {
			b, err = p.in.ReadSlice('\n')
			if len(p.long) <= maxLine {
				p.long = append(p.long, b...)
			}
		}
		b = p.long
	}
	p.unended = err == io.EOF && len(b) > 0
	return bytes.TrimRight(b, "\r\n"), err
}

// take reads one line.
func (p *parser) take(line []byte) error {
	if p.s.Lines == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) > maxLine {
		p.problem(string(line[:80]), fmt.Sprintf("a line of at most %d bytes", maxLine), "")
		return nil
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	if p.s.Schema == Schema && p.s.EndLine == 0 {
		if r, ok := fastRecord(line); ok {
			return p.record(&r)
		}
	}
	var head struct {
		Type   string `json:"type"`
		Kind   string `json:"kind"`
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		if p.unended {
			p.problem(string(line), "a whole line", "the log is cut inside this line")
			return nil
		}
		p.problem(string(line), "a JSON object ("+jsonError(line, err).Error()+")", "")
		return nil
	}
	switch {
	case p.s.Schema == "" && head.Type == "begin" && head.Schema == Schema:
		return p.begin(line)
	case p.s.Schema == "" && head.Kind == "capture_start" && head.Schema == SkbxSchema:
		return p.skbxStart(line)
	case p.s.Schema == "":
		if head.Schema != "" {
			return fmt.Errorf("%s:%d: schema is %q: %w", p.s.Name, p.s.Lines, short(head.Schema), ErrNotRingLog)
		}
		return fmt.Errorf("%s:%d: found %q: %w", p.s.Name, p.s.Lines, short(string(line)), ErrNotRingLog)
	case p.s.EndLine > 0:
		p.problem(string(line), "nothing behind the end line", "two logs in one file are read apart: cut the file at this line")
		return nil
	case p.s.Schema == SkbxSchema:
		return p.skbxLine(head.Kind, line)
	case head.Type == "record":
		var r slowRecord
		if err := r.decode(line); err != nil {
			p.problem(string(line), "a record line ("+err.Error()+")", "")
			return nil
		}
		return p.record(&r.Record)
	case head.Type == "end":
		return p.end(line)
	case head.Type == "begin":
		p.problem(string(line), "a record or the end line", "a second begin line: two logs in one file are read apart")
	default:
		p.problem(string(line), `a line of type "record" or "end"`, "a line of a later version is skipped")
	}
	return nil
}

func (p *parser) problem(found, expected, hint string) {
	if len(p.s.Problems) == MaxProblems {
		p.s.ProblemsOmitted++
		return
	}
	p.s.Problems = append(p.s.Problems, &tracefs.SyntaxError{
		Pos: tracefs.Pos{File: p.s.Name, Line: p.s.Lines}, Found: found[:min(len(found), 200)], Expected: expected, Hint: hint,
	})
}

func (p *parser) begin(line []byte) error {
	var b Begin
	if err := json.Unmarshal(line, &b); err != nil {
		return fmt.Errorf("%s:%d: begin line: %w", p.s.Name, p.s.Lines, jsonError(line, err))
	}
	p.s.Schema, p.s.Begin = Schema, &b
	for i := range b.Probes {
		p.s.Probes = append(p.s.Probes, ProbeRecord{Name: b.Probes[i].Name, Probe: &b.Probes[i]})
	}
	return nil
}

func (p *parser) record(r *Record) error {
	switch {
	case r.Seq == ^uint64(0):
		p.problem(fmt.Sprint(r.Seq), "a number that a record can have", "")
		return nil
	case r.CPU < 0 || r.CPU >= maxCPU:
		p.problem(fmt.Sprint(r.CPU), "a CPU number", "")
		return nil
	case r.Probe < 0 || r.Probe >= max(len(p.s.Begin.Probes), 1):
		p.problem(fmt.Sprint(r.Probe), fmt.Sprintf("the number of one of the %d probes of the begin line", len(p.s.Begin.Probes)), "")
		return nil
	}
	if r.Probe < len(p.s.Probes) {
		p.s.Probes[r.Probe].Records++
	}
	p.count(r.CPU, r.Seq, r.Time)
	if p.o.Each != nil {
		return p.o.Each(r)
	}
	return nil
}

func (p *parser) count(cpu int, seq, time uint64) {
	if p.s.Records == 0 {
		p.s.First, p.s.Last = time, time
	}
	p.s.First, p.s.Last = min(p.s.First, time), max(p.s.Last, time)
	p.s.Records++
	p.stream(cpu).add(seq, time, p.s.Lines)
}

func (p *parser) stream(cpu int) *stream {
	s := p.streams[cpu]
	if s == nil {
		s = &stream{CPU: CPU{CPU: cpu}, max: p.o.MaxHoles}
		p.streams[cpu] = s
	}
	return s
}

func (p *parser) end(line []byte) error {
	var e End
	if err := json.Unmarshal(line, &e); err != nil {
		p.problem(string(line), "an end line ("+jsonError(line, err).Error()+")", "")
		return nil
	}
	if err := e.Witness.check(); err != nil {
		p.problem(string(line), "an end line ("+err.Error()+")", "")
		return nil
	}
	p.ended(line)
	s := p.s
	s.End, s.Witness, s.Stop = &e, &e.Witness, e.Stop
	s.Stated = p.number(&e.Records)
	w := &e.Witness
	s.ReserveFailures, s.Unattributed = p.number(w.ReserveFailures), p.number(w.Unattributed)
	s.RecursionMisses = p.number(w.RecursionMisses)
	if w.Reader != nil {
		s.Undecodable, s.NotWritten = p.number(&w.Reader.Undecodable), p.number(&w.Reader.Failed)
	}
	for i := range w.CPUs {
		c := &w.CPUs[i]
		if c.CPU >= maxCPU {
			p.problem(fmt.Sprint(c.CPU), "a CPU number", "")
			continue
		}
		st := p.stream(c.CPU)
		st.Asked, st.ReserveFailures = p.number(c.Asked), p.number(c.ReserveFailures)
		if c.ReserveFailures != nil {
			s.ByCPU = true
			s.SumByCPU = sum(s.SumByCPU, *c.ReserveFailures)
		}
	}
	for i := range w.Probes {
		h := &w.Probes[i]
		if i >= len(s.Probes) {
			p.problem(h.Name, fmt.Sprintf("one of the %d probes of the begin line", len(s.Probes)), "")
			break
		}
		pr := &s.Probes[i]
		pr.Hits, pr.RecursionMisses = p.number(&h.Hits), p.number(h.RecursionMisses)
		pr.ReserveFailures = p.number(h.ReserveFailures)
		if h.ReserveFailures != nil {
			s.ByProbe = true
			s.SumByProbe = sum(s.SumByProbe, *h.ReserveFailures)
		}
	}
	return nil
}

// ended notes the end line as the evidence of what it says.
func (p *parser) ended(line []byte) {
	p.s.EndLine, p.text = p.s.Lines, string(line[:min(len(line), 160)])
}

// number is a value of the end line; absent if n is nil.
func (p *parser) number(n *uint64) Number {
	if n == nil {
		return Number{}
	}
	return Number{V: *n, OK: true, Line: p.s.EndLine, Text: p.text}
}

func (p *parser) finish() {
	s := p.s
	if s.Schema != "" && s.EndLine == 0 {
		s.Cut, s.CutWhy = true, "the log has no end line: its recorder, or the file, was cut off"
	}
	for _, st := range p.streams {
		s.CPUs = append(s.CPUs, st.finish(st.Asked))
	}
	slices.SortFunc(s.CPUs, func(a, b CPU) int { return a.CPU - b.CPU })
}

// sum adds without wrapping: a damaged log may hold any number.
func sum(a, b uint64) uint64 {
	if c := a + b; c >= a {
		return c
	}
	return ^uint64(0)
}

// jsonError is err without Go's type names, with the place in the line.
func jsonError(line []byte, err error) error {
	var syn *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syn):
		return fmt.Errorf("column %d: %s", syn.Offset, strings.TrimPrefix(syn.Error(), "json: "))
	case errors.As(err, &typ):
		return fmt.Errorf("column %d: field %q holds a %s", typ.Offset, typ.Field, typ.Value)
	}
	return err
}

func short(s string) string { return tracefs.Shorten(s, 80) }
