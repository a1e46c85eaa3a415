package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ringaudit/ringaudit/audit"
)

// renderPrometheus writes the text format of Prometheus, version 0.0.4, which
// the textfile collector of node_exporter reads.
//
// A quantity is an interval, so it is two series: …_at_least_total and
// …_at_most_total. They are equal where the number is exact. A bound that is
// not known has no series: absent is never zero. What is proven none is 0 in
// both. Samples are 64-bit floating point numbers; a count above 2^53 is the
// nearest of those.
//
// The writer is this package's own: the format is a dozen lines, and the
// library's encoder would make every user of package report depend on protocol
// buffers. The tests read the output back with the library's parser.
func renderPrometheus(w io.Writer, d *Document, _ Options) error {
	p := new(promWriter)
	p.family("ringaudit_document_info", "gauge", "The audit that these series come from; always 1.")
	p.sample(1, "tool", d.Tool, "schema", d.Schema)
	p.family("ringaudit_verdict", "gauge", "Verdict of the whole document: 1 for the one that holds.")
	for _, v := range verdicts {
		p.sample(bool01(v == d.Verdict), "verdict", v)
	}
	p.family("ringaudit_exit_code", "gauge", "Exit code of the audit.")
	p.sample(uint64(d.Exit))

	names := bufferLabels(d)
	p.family("ringaudit_buffer_verdict", "gauge", "Verdict of a buffer: 1 for the one that holds.")
	for i := range d.Buffers {
		for _, v := range verdicts {
			p.sample(bool01(v == d.Buffers[i].Verdict), append(names[i], "verdict", v)...)
		}
	}
	for _, m := range promTallies {
		p.tally(d, names, m)
	}
	p.sizes(d, names)
	p.windows(d, names)
	p.probes(d)
	p.family("ringaudit_findings", "gauge", "Findings that are not suppressed, by severity.")
	for _, s := range severities {
		n := uint64(0)
		for i := range d.Findings {
			if f := &d.Findings[i]; f.Severity == s && f.Suppressed == "" {
				n++
			}
		}
		p.sample(n, "severity", s)
	}
	p.family("ringaudit_blind_spots", "gauge", "Kinds of loss that no source given could have shown.")
	p.sample(uint64(len(d.blindIDs())))
	_, err := w.Write(p.b.Bytes())
	return err
}

func bool01(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

type promTally struct {
	name, help string
	counter    bool
	of         func(*Tally) **audit.Count
}

var promTallies = []promTally{
	{"attempted_events", "Calls that asked for a record", true, func(t *Tally) **audit.Count { return &t.Attempted }},
	{"written_events", "Records committed to the ring buffer", true, func(t *Tally) **audit.Count { return &t.Written }},
	{"kept_events", "Records still in the ring buffer", false, func(t *Tally) **audit.Count { return &t.Kept }},
	{"overwritten_events", "Records thrown away to make room (overrun)", true, func(t *Tally) **audit.Count { return &t.Overwritten }},
	{"read_events", "Records consumed by readers", true, func(t *Tally) **audit.Count { return &t.Read }},
	{"dropped_events", "Records refused because the buffer was full and overwrite off", true, func(t *Tally) **audit.Count { return &t.Dropped }},
	{"commit_overrun_events", "Records refused because nested writers lapped an open commit", true, func(t *Tally) **audit.Count { return &t.CommitOverrun }},
	{"uncounted_events", "Records refused that no counter counts", true, func(t *Tally) **audit.Count { return &t.Uncounted }},
	{"lost_events", "Records thrown away or refused by the kernel", true, func(t *Tally) **audit.Count { return &t.Lost }},
	{"delivered_events", "Records that are in the capture at hand", true, func(t *Tally) **audit.Count { return &t.Delivered }},
	{"missing_events", "Records that the capture at hand lacks", true, func(t *Tally) **audit.Count { return &t.Missing }},
}

// tally writes one quantity, of each CPU (cpu="0") and of the whole buffer.
// The whole is a family of its own: to add it to the CPUs would count twice.
func (p *promWriter) tally(d *Document, names [][]string, m promTally) {
	for _, whole := range []bool{false, true} {
		scope, of := "ringaudit_cpu_", ", by CPU"
		if whole {
			scope, of = "ringaudit_buffer_", ", of the whole buffer"
		}
		for _, least := range []bool{true, false} {
			name, kind, bound := scope+m.name+"_at_most", "gauge", "at most"
			if least {
				name, bound = scope+m.name+"_at_least", "at least"
			}
			if m.counter {
				name, kind = name+"_total", "counter"
			}
			p.family(name, kind, m.help+of+": "+bound+" so many. No series: not known.")
			for i := range d.Buffers {
				b := &d.Buffers[i]
				if whole {
					p.bound(*m.of(&b.Total), least, names[i]...)
					continue
				}
				for j := range b.CPUs {
					p.bound(*m.of(&b.CPUs[j].Tally), least, append(names[i], "cpu", cpuName(b.CPUs[j].CPU))...)
				}
			}
		}
	}
}

// bound writes one end of an interval, if it is known.
func (p *promWriter) bound(c *audit.Count, least bool, labels ...string) {
	switch {
	case c == nil || c.IsUnknown():
	case least:
		p.sample(c.Lo, labels...)
	case !c.Open:
		p.sample(c.Hi, labels...)
	}
}

func (p *promWriter) sizes(d *Document, names [][]string) {
	p.family("ringaudit_cpu_buffer_printed_bytes", "gauge", "Size of a CPU's buffer as the kernel prints it.")
	for i := range d.Buffers {
		for j := range d.Buffers[i].CPUs {
			c := &d.Buffers[i].CPUs[j]
			if c.Size != nil && c.Size.KB != nil && *c.Size.KB <= ^uint64(0)/1024 {
				p.sample(*c.Size.KB*1024, append(names[i], "cpu", cpuName(c.CPU))...)
			}
		}
	}
	for _, least := range []bool{true, false} {
		name, bound := "ringaudit_cpu_buffer_memory_bytes_at_most", "at most"
		if least {
			name, bound = "ringaudit_cpu_buffer_memory_bytes_at_least", "at least"
		}
		p.family(name, "gauge", "Memory of a CPU's buffer, reader page included: "+bound+" so many bytes.")
		for i := range d.Buffers {
			for j := range d.Buffers[i].CPUs {
				if c := &d.Buffers[i].CPUs[j]; c.Size != nil {
					p.bound(c.Size.MemoryBytes, least, append(names[i], "cpu", cpuName(c.CPU))...)
				}
			}
		}
	}
}

// windows writes spans of seconds only: a tick has no length in seconds.
func (p *promWriter) windows(d *Document, names [][]string) {
	p.family("ringaudit_cpu_window_seconds", "gauge", "From the oldest record that is held to the newest, or to the reading of the counters.")
	for i := range d.Buffers {
		for j := range d.Buffers[i].CPUs {
			c := &d.Buffers[i].CPUs[j]
			if c.Window == nil || c.Window.Unit != "s" {
				continue
			}
			if _, ok := parseStamp(c.Window.Span, "s"); ok {
				p.raw(c.Window.Span, append(names[i], "cpu", cpuName(c.CPU))...)
			}
		}
	}
}

func (p *promWriter) probes(d *Document) {
	labels := probeLabels(d)
	for _, m := range []struct {
		name, help string
		of         func(*Probe) *audit.Count
	}{
		{"ringaudit_probe_hits", "Hits of a probe", func(p *Probe) *audit.Count { return p.Hits }},
		{"ringaudit_probe_missed", "Hits that a probe missed", func(p *Probe) *audit.Count { return p.Missed }},
	} {
		for _, least := range []bool{true, false} {
			name, bound := m.name+"_at_most_total", "at most"
			if least {
				name, bound = m.name+"_at_least_total", "at least"
			}
			p.family(name, "counter", m.help+": "+bound+" so many. No series: not known.")
			for i := range d.Probes {
				p.bound(m.of(&d.Probes[i]), least, labels[i]...)
			}
		}
	}
	p.family("ringaudit_probe_maxactive", "gauge", "Instances of a return probe that can be under way at once, as defined.")
	for i := range d.Probes {
		if n := d.Probes[i].Maxactive; n != nil {
			p.sample(*n, labels[i]...)
		}
	}
}

// bufferLabels names each buffer so that no two are alike: by name and kind,
// by their sources where that is not enough, and in the end by their place.
func bufferLabels(d *Document) [][]string {
	out := make([][]string, len(d.Buffers))
	for i := range d.Buffers {
		b := &d.Buffers[i]
		out[i] = []string{"buffer", b.Name, "kind", b.Kind}
	}
	return distinct(out, func(i int) string { return strings.Join(d.Buffers[i].Sources, ",") })
}

func probeLabels(d *Document) [][]string {
	out := make([][]string, len(d.Probes))
	for i := range d.Probes {
		p := &d.Probes[i]
		out[i] = []string{"probe", p.Name, "kind", p.Kind, "target", p.Target}
	}
	return distinct(out, func(i int) string { return d.Probes[i].Source })
}

// distinct adds a label to all where two are alike, and clips each so that an
// append copies.
func distinct(labels [][]string, source func(int) string) [][]string {
	alike := func() bool {
		seen := make(map[string]bool)
		for _, l := range labels {
			k := fmt.Sprintf("%q", l)
			if seen[k] {
				return true
			}
			seen[k] = true
		}
		return false
	}
	if alike() {
		for i := range labels {
			labels[i] = append(labels[i], "source", source(i))
		}
	}
	if alike() {
		for i := range labels {
			labels[i] = append(labels[i], "place", strconv.Itoa(i))
		}
	}
	for i := range labels {
		labels[i] = slices.Clip(labels[i])
	}
	return labels
}

// A promWriter writes families; one without a sample leaves no trace.
type promWriter struct {
	b    bytes.Buffer
	head string // of a family that has no sample yet
	name string
}

func (p *promWriter) family(name, kind, help string) {
	p.name = name
	p.head = "# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n"
}

func (p *promWriter) sample(v uint64, labels ...string) {
	p.raw(strconv.FormatUint(v, 10), labels...)
}

func (p *promWriter) raw(v string, labels ...string) {
	p.b.WriteString(p.head)
	p.head = ""
	p.b.WriteString(p.name)
	for i := 0; i < len(labels); i += 2 {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		p.b.WriteByte(sep)
		p.b.WriteString(labels[i] + `="` + promEscaper.Replace(strings.ToValidUTF8(labels[i+1], "\ufffd")) + `"`)
	}
	if len(labels) > 0 {
		p.b.WriteByte('}')
	}
	p.b.WriteString(" " + v + "\n")
}

var promEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
