package report

import (
	"bufio"
	"io"
)

// The jsonl format is the document cut into lines, for programs that read line
// by line: log shippers, jq -c, databases. Each line is an object with a
// "type", in this order:
//
//	document    schema, tool, verdict, reason, exit
//	source      one for each source
//	buffer      one for each buffer, without its CPUs and holes; followed by its
//	  cpu       one for each CPU of it, without its holes
//	  hole      one for each hole, with "cpu" unless it is of the whole buffer
//	probe       one for each probe
//	finding     one for each finding
//	blind_spot  one for each blind spot
//	end         how many lines came before it
//
// Beyond "type" the fields are those of the types of the document. Lines of a
// buffer also say "buffer", its name, as findings do, and "buffer_index", its
// place among the buffers from 0, because buffers of two machines may bear one
// name. A file without the end line is cut.
func renderJSONL(w io.Writer, d *Document, _ Options) error {
	l := &lineWriter{w: bufio.NewWriter(w)}
	d = whole(d)
	l.put(struct {
		Type    string `json:"type"`
		Schema  string `json:"schema"`
		Tool    string `json:"tool"`
		Verdict string `json:"verdict"`
		Reason  string `json:"reason"`
		Exit    int    `json:"exit"`
	}{"document", d.Schema, d.Tool, d.Verdict, d.Reason, d.Exit})
	for i := range d.Sources {
		l.put(struct {
			Type string `json:"type"`
			*Source
		}{"source", &d.Sources[i]})
	}
	for i := range d.Buffers {
		l.buffer(i, d.Buffers[i])
	}
	for i := range d.Probes {
		l.put(struct {
			Type string `json:"type"`
			*Probe
		}{"probe", &d.Probes[i]})
	}
	for i := range d.Findings {
		l.put(struct {
			Type string `json:"type"`
			*Finding
		}{"finding", &d.Findings[i]})
	}
	for i := range d.BlindSpots {
		l.put(struct {
			Type string `json:"type"`
			*BlindSpot
		}{"blind_spot", &d.BlindSpots[i]})
	}
	l.put(struct {
		Type  string `json:"type"`
		Lines int    `json:"lines"`
	}{"end", l.lines})
	if l.err != nil {
		return l.err
	}
	return l.w.Flush()
}

// A lineWriter keeps the first error.
type lineWriter struct {
	w     *bufio.Writer
	lines int
	err   error
}

func (l *lineWriter) put(v any) {
	if l.err != nil {
		return
	}
	b, err := marshal(v)
	if err == nil {
		_, err = l.w.Write(append(b, '\n'))
	}
	l.err = err
	l.lines++
}

func (l *lineWriter) buffer(n int, b Buffer) {
	cpus, holes, of := b.CPUs, b.Holes, lineOf{b.Name, n}
	b.CPUs, b.Holes = nil, nil
	l.put(struct {
		Type string `json:"type"`
		lineOf
		bufferLine
		NoCPUs any `json:"cpus,omitempty"` // hides the list
		NoName any `json:"name,omitempty"` // "buffer" says it
	}{Type: "buffer", lineOf: of, bufferLine: bufferLine{&b}})
	for i := range cpus {
		c := cpus[i]
		mine := c.Holes
		c.Holes = nil
		l.put(struct {
			Type string `json:"type"`
			lineOf
			*CPU
		}{"cpu", of, &c})
		for j := range mine {
			l.put(struct {
				Type string `json:"type"`
				lineOf
				CPU int `json:"cpu"`
				*Hole
			}{"hole", of, c.CPU, &mine[j]})
		}
	}
	for j := range holes {
		l.put(struct {
			Type string `json:"type"`
			lineOf
			*Hole
		}{"hole", of, &holes[j]})
	}
}

// lineOf says which buffer a line is of.
type lineOf struct {
	Buffer string `json:"buffer"`
	Index  int    `json:"buffer_index"`
}

// bufferLine embeds a Buffer one level deeper, so that the line's own fields
// win over the buffer's.
type bufferLine struct{ *Buffer }
