package ringlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Writer writes a log. It is not safe for concurrent use.
type Writer struct {
	w       *bufio.Writer
	line    []byte
	began   bool
	ended   bool
	records uint64
}

// NewWriter makes a Writer on w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 1<<18)}
}

// tagged is a JSON object with its type in front.
func tagged(kind string, body any) ([]byte, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"type":"`+kind+`"`), ',')
	out = append(out, b[1:]...)
	return append(out, '\n'), nil
}

// Begin writes the first line.
func (w *Writer) Begin(b Begin) error {
	if w.began {
		return errors.New("ringlog: a second begin line")
	}
	b.Schema = Schema
	if b.Probes == nil {
		b.Probes = []Probe{}
	}
	line, err := tagged("begin", b)
	if err != nil {
		return err
	}
	w.began = true
	_, err = w.w.Write(line)
	return err
}

// Record writes one record.
func (w *Writer) Record(r *Record) error {
	if !w.began || w.ended {
		return errors.New("ringlog: a record outside begin and end")
	}
	w.line = appendRecord(w.line[:0], r)
	if _, err := w.w.Write(w.line); err != nil {
		return err
	}
	w.records++
	return nil
}

// Records is how many records were written.
func (w *Writer) Records() uint64 { return w.records }

func appendRecord(b []byte, r *Record) []byte {
	b = append(b, `{"type":"record","seq":`...)
	b = strconv.AppendUint(b, r.Seq, 10)
	b = append(b, `,"time":`...)
	b = strconv.AppendUint(b, r.Time, 10)
	b = append(b, `,"cpu":`...)
	b = strconv.AppendInt(b, int64(r.CPU), 10)
	b = append(b, `,"probe":`...)
	b = strconv.AppendInt(b, int64(r.Probe), 10)
	b = append(b, `,"pid":`...)
	b = strconv.AppendUint(b, uint64(r.PID), 10)
	b = append(b, `,"tgid":`...)
	b = strconv.AppendUint(b, uint64(r.TGID), 10)
	return append(b, "}\n"...)
}

// End writes the last line and flushes. Its Records is set to what was written.
func (w *Writer) End(e End) error {
	if !w.began || w.ended {
		return errors.New("ringlog: an end line without a begin line, or a second one")
	}
	e.Records = w.records
	e.Witness.Schema = WitnessSchema
	line, err := tagged("end", e)
	if err != nil {
		return err
	}
	w.ended = true
	if _, err := w.w.Write(line); err != nil {
		return err
	}
	return w.w.Flush()
}

// Flush writes out what is buffered.
func (w *Writer) Flush() error { return w.w.Flush() }

// Encode writes the witness as a file of its own.
func (wi *Witness) Encode(to io.Writer) error {
	c := *wi
	c.Schema = WitnessSchema
	b, err := json.MarshalIndent(&c, "", "  ")
	if err != nil {
		return err
	}
	_, err = to.Write(append(b, '\n'))
	return err
}

// maxWitness bounds a witness file, in bytes: some 100,000 probes.
const maxWitness = 64 << 20

// DecodeWitness reads a witness file; name is for messages.
func DecodeWitness(r io.Reader, name string) (*Witness, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxWitness+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(b) > maxWitness {
		return nil, fmt.Errorf("%s: more than %d bytes; no witness file is that long", name, maxWitness)
	}
	var w Witness
	if err := json.Unmarshal(b, &w); err != nil {
		return nil, fmt.Errorf("%s: %w", name, jsonError(b, err))
	}
	if w.Schema != WitnessSchema {
		return nil, fmt.Errorf("%s: schema is %q, expected %q", name, short(w.Schema), WitnessSchema)
	}
	if err := w.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &w, nil
}

// check refuses what no writer of ours makes and what would mislead a reader.
func (wi *Witness) check() error {
	switch wi.Mode {
	case ModeEqual, ModeBounds, ModeAlone:
	default:
		return fmt.Errorf("mode is %q, expected %q, %q or %q", short(wi.Mode), ModeEqual, ModeBounds, ModeAlone)
	}
	seen := map[int]bool{}
	for i, c := range wi.CPUs {
		switch {
		case c.CPU < 0:
			return fmt.Errorf("cpus[%d]: cpu is %d, expected a CPU number", i, c.CPU)
		case seen[c.CPU]:
			return fmt.Errorf("cpus[%d]: cpu %d is there twice", i, c.CPU)
		case c.Outer != nil && *c.Outer < c.Inner:
			return fmt.Errorf("cpus[%d]: outer %d is less than inner %d", i, *c.Outer, c.Inner)
		}
		seen[c.CPU] = true
	}
	if wi.Total.Outer != nil && *wi.Total.Outer < wi.Total.Inner {
		return fmt.Errorf("total: outer %d is less than inner %d", *wi.Total.Outer, wi.Total.Inner)
	}
	return nil
}
