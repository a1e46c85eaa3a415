package ringlog

import (
	"encoding/json"
	"fmt"

	"github.com/ringaudit/ringaudit/tracefs"
)

// The lines of an skbx log that matter for loss, after its schema traceq/0.1.0
// (github.com/copyleftdev/skbx, crates/skbx-contract and docs/architecture.md).
// The breakdowns of the reliability object came later than the schema's number
// says: a log without them is an older one, and says nothing by their absence.

type skbxStart struct {
	CaptureID string   `json:"capture_id"`
	Kernel    string   `json:"kernel_release"`
	Backend   string   `json:"attachment_backend"`
	Probes    []string `json:"probes"`
	Segment   *struct {
		Index    int    `json:"index"`
		FirstSeq uint64 `json:"first_seq"`
	} `json:"segment"`
}

type skbxEvent struct {
	Seq      *uint64       `json:"seq"`
	Time     *uint64       `json:"timestamp_ns"`
	CPU      *uint32       `json:"cpu"`
	PID      uint32        `json:"pid"`
	Function *skbxFunction `json:"function"`
	Program  *skbxProgram  `json:"bpf_program"`
}

// skbxFunction is {"address":…,"symbol":…}, or the symbol alone.
type skbxFunction struct{ Address, Symbol string }

func (f *skbxFunction) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &f.Symbol)
	}
	var j struct {
		Address string  `json:"address"`
		Symbol  *string `json:"symbol"`
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	f.Address = j.Address
	if j.Symbol != nil {
		f.Symbol = *j.Symbol
	}
	return nil
}

func (f *skbxFunction) name() string {
	if f.Symbol != "" {
		return f.Symbol
	}
	return f.Address
}

type skbxProgram struct {
	ID   uint32 `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"` // tc, xdp
}

func (p *skbxProgram) name() string { return fmt.Sprintf("program %d", p.ID) }

type skbxEnd struct {
	Events      *uint64          `json:"events"`
	Reliability *skbxReliability `json:"reliability"`
	Complete    *bool            `json:"complete"`
	Stop        string           `json:"stop_reason"`
	Segment     *struct {
		Index int `json:"index"`
	} `json:"segment"`
}

type skbxReliability struct {
	Reserve      *uint64 `json:"kernel_reserve_failures"`
	Read         *uint64 `json:"kernel_read_failures"`
	Recursion    *uint64 `json:"kernel_recursion_misses"`
	Unattributed *uint64 `json:"kernel_unattributed_reserve_failures"`
	Decode       *uint64 `json:"userspace_decode_failures"`
	Enrich       *uint64 `json:"userspace_enrichment_failures"`
	Output       *uint64 `json:"output_failures"`
	ByCPU        []struct {
		CPU     uint32 `json:"cpu"`
		Reserve uint64 `json:"reserve_failures"`
	} `json:"kernel_loss_by_cpu"`
	ByProbe []struct {
		Function  *skbxFunction `json:"function"`
		Program   *skbxProgram  `json:"bpf_program"`
		ProgramID *uint32       `json:"program_id"`
		Reserve   uint64        `json:"reserve_failures"`
	} `json:"kernel_loss_by_probe"`
}

// skbxStream is the stream of an skbx log's own numbers, which count over all
// CPUs and in user space: a gap there is a line that is gone from the file.
const skbxStream = -1

func (p *parser) skbxStart(line []byte) error {
	var b skbxStart
	if err := json.Unmarshal(line, &b); err != nil {
		return fmt.Errorf("%s:%d: capture_start: %w", p.s.Name, p.s.Lines, jsonError(line, err))
	}
	p.s.Schema = SkbxSchema
	p.s.Skbx = &Skbx{CaptureID: b.CaptureID, Kernel: b.Kernel, Backend: b.Backend, Probes: b.Probes}
	if b.Segment != nil {
		p.s.Segment, p.s.Skbx.Segment, p.s.Skbx.FirstSeq = true, b.Segment.Index, b.Segment.FirstSeq
		p.stream(skbxStream).next = b.Segment.FirstSeq
	}
	return nil
}

func (p *parser) skbxLine(kind string, line []byte) error {
	switch kind {
	case "event":
		return p.skbxEvent(line)
	case "capture_end":
		return p.skbxEnd(line)
	case "capture_start":
		p.problem(string(line), "an event or capture_end", "a second capture_start: two logs in one file are read apart")
	default:
		p.problem(string(line), `a line of kind "event" or "capture_end"`, "a line of a later version is skipped")
	}
	return nil
}

func (p *parser) skbxEvent(line []byte) error {
	var e skbxEvent
	if err := json.Unmarshal(line, &e); err != nil {
		p.problem(string(line), "an event ("+jsonError(line, err).Error()+")", "")
		return nil
	}
	if e.Seq == nil || *e.Seq == ^uint64(0) || e.Time == nil || e.CPU == nil || *e.CPU >= maxCPU {
		p.problem(string(line), "an event with seq, timestamp_ns and cpu", "")
		return nil
	}
	at := -1
	switch {
	case e.Program != nil:
		at = p.probe(e.Program.name(), e.Program)
	case e.Function != nil:
		at = p.probe(e.Function.name(), nil)
	}
	if at >= 0 {
		p.s.Probes[at].Records++
	}
	p.count(skbxStream, *e.Seq, *e.Time)
	if p.o.Each != nil {
		return p.o.Each(&Record{Seq: *e.Seq, Time: *e.Time, CPU: int(*e.CPU), Probe: at, PID: e.PID, TGID: e.PID})
	}
	return nil
}

// probe is the place of a probe in the summary, which is made if it is new; -1
// if there are too many.
func (p *parser) probe(name string, prog *skbxProgram) int {
	if i, ok := p.probes[name]; ok {
		return i
	}
	if len(p.s.Probes) == maxProbes {
		return -1
	}
	pr := ProbeRecord{Name: name}
	if prog != nil {
		pr.Probe = &Probe{Name: name, Kind: KindProgram, Program: &Program{ID: prog.ID, Name: prog.Name, Type: prog.Kind}}
	} else {
		pr.Probe = &Probe{Name: name, Kind: KindKprobe, Function: name}
	}
	p.s.Probes = append(p.s.Probes, pr)
	p.probes[name] = len(p.s.Probes) - 1
	return len(p.s.Probes) - 1
}

func (p *parser) skbxEnd(line []byte) error {
	var e skbxEnd
	if err := json.Unmarshal(line, &e); err != nil {
		p.problem(string(line), "a capture_end ("+jsonError(line, err).Error()+")", "")
		return nil
	}
	p.ended(line)
	s := p.s
	s.Stop = e.Stop
	s.Segment = s.Segment || e.Segment != nil || e.Stop == "rotation"
	s.Stated = p.number(e.Events)
	s.Skbx.Events = s.Stated
	if e.Complete != nil {
		s.Complete = tracefs.Field[bool]{V: *e.Complete, OK: true, Line: s.EndLine, Text: p.text}
	}
	if st := p.streams[skbxStream]; st != nil && e.Events != nil {
		// The numbers go on over segments; the events of this one end here.
		last := sum(s.Skbx.FirstSeq, *e.Events)
		st.Asked = p.number(&last)
	}
	r := e.Reliability
	if r == nil {
		p.problem(string(line), "a capture_end with reliability", "nothing is known of losses")
		return nil
	}
	s.ReserveFailures, s.ReadFailures = p.number(r.Reserve), p.number(r.Read)
	s.RecursionMisses, s.Unattributed = p.number(r.Recursion), p.number(r.Unattributed)
	s.Undecodable, s.NotWritten, s.EnrichFailed = p.number(r.Decode), p.number(r.Output), p.number(r.Enrich)
	s.ByCPU, s.ByProbe = r.ByCPU != nil, r.ByProbe != nil
	for i := range r.ByCPU {
		c := &r.ByCPU[i]
		s.SumByCPU = sum(s.SumByCPU, c.Reserve)
		if c.CPU >= maxCPU {
			p.problem(fmt.Sprint(c.CPU), "a CPU number", "")
			continue
		}
		n := sum(p.stream(int(c.CPU)).ReserveFailures.V, c.Reserve)
		p.stream(int(c.CPU)).ReserveFailures = p.number(&n)
	}
	for i := range r.ByProbe {
		l := &r.ByProbe[i]
		s.SumByProbe = sum(s.SumByProbe, l.Reserve)
		name, prog := "", l.Program
		switch {
		case prog != nil:
			name = prog.name()
		case l.ProgramID != nil && *l.ProgramID != 0:
			prog = &skbxProgram{ID: *l.ProgramID}
			name = prog.name()
		case l.Function != nil:
			name = l.Function.name()
		}
		if name == "" {
			p.problem(string(line), "a function or a program in each entry of kernel_loss_by_probe", "the entry counts in the sum only")
			continue
		}
		if at := p.probe(name, prog); at >= 0 {
			n := sum(s.Probes[at].ReserveFailures.V, l.Reserve)
			s.Probes[at].ReserveFailures = p.number(&n)
		}
	}
	return nil
}
