package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MaxDocumentBytes is the size up to which [Read] reads a document. A hundred
// thousand holes take about 15 MiB.
const MaxDocumentBytes = 256 << 20

// Read reads a saved document in JSON and checks that it is one: the schema,
// the words that are limited to a few, and that no buffer has a CPU twice.
// Keys that this version does not know are skipped, because v1 may grow.
//
// The error names the place, what was found and what was expected; the caller
// adds the name of the file.
func Read(r io.Reader) (*Document, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxDocumentBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxDocumentBytes {
		return nil, fmt.Errorf("larger than %d MiB, the most that is read of a document", MaxDocumentBytes>>20)
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, fmt.Errorf("empty; expected a document with \"schema\": %q, as 'ringaudit audit --format json' writes it", Schema)
	}
	// The schema first: of another kind of document nothing else can be judged.
	var head struct {
		Schema *string `json:"schema"`
		Type   *string `json:"type"`
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&head); err != nil {
		return nil, place(b, err)
	}
	switch {
	case head.Schema == nil:
		return nil, fmt.Errorf("no \"schema\"; expected %q: is this the JSON of 'ringaudit audit --format json'?", Schema)
	case *head.Schema != Schema:
		return nil, fmt.Errorf("schema %q; this version reads %q", *head.Schema, Schema)
	case head.Type != nil:
		return nil, errors.New("this is the jsonl format; only json can be rendered again")
	}
	if rest := bytes.TrimSpace(b[dec.InputOffset():]); len(rest) > 0 {
		line, col := lineCol(b, dec.InputOffset())
		return nil, fmt.Errorf("line %d, column %d: more after the end of the document", line, col)
	}
	d := new(Document)
	if err := json.Unmarshal(b, d); err != nil {
		return nil, place(b, err)
	}
	if err := check(d); err != nil {
		return nil, err
	}
	return whole(d), nil
}

// place adds line and column to an error of encoding/json and says it in the
// words of the format instead of those of Go.
func place(b []byte, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		line, col := lineCol(b, int64(len(b)))
		return fmt.Errorf("line %d, column %d: the document ends in the middle; is the file cut?", line, col)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line, col := lineCol(b, syntax.Offset)
		return fmt.Errorf("line %d, column %d: not JSON: %v", line, col, syntax)
	}
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		line, col := lineCol(b, typ.Offset)
		if typ.Field == "" {
			return fmt.Errorf("line %d, column %d: found %s; expected a document, which is an object", line, col, typ.Value)
		}
		return fmt.Errorf("line %d, column %d: %s: found %s, which does not fit there", line, col, typ.Field, typ.Value)
	}
	return err
}

// lineCol is the place of the byte before offset, both counted from 1.
func lineCol(b []byte, offset int64) (line, col int) {
	b = b[:min(max(offset, 0), int64(len(b)))]
	line = 1 + bytes.Count(b, []byte{'\n'})
	col = max(1, len(b)-(bytes.LastIndexByte(b, '\n')+1))
	return line, col
}

var (
	verdicts   = []string{"lossy", "complete", "confirmed", "undetermined"}
	severities = []string{"error", "warning", "note"}
)

// check holds what every renderer relies on.
func check(d *Document) error {
	if err := oneOf("verdict", d.Verdict, verdicts); err != nil {
		return err
	}
	if d.Exit < 0 || d.Exit > 4 {
		return fmt.Errorf("exit: %d is no exit code of ringaudit (0 to 4)", d.Exit)
	}
	for i := range d.Buffers {
		b := &d.Buffers[i]
		at := fmt.Sprintf("buffers[%d]", i)
		if err := oneOf(at+".verdict", b.Verdict, verdicts); err != nil {
			return err
		}
		seen := make(map[int]bool, len(b.CPUs))
		for j := range b.CPUs {
			switch n := b.CPUs[j].CPU; {
			case n == allCPUs:
				return fmt.Errorf("%s.cpus[%d].cpu: %d is no CPU", at, j, n)
			case seen[n]:
				return fmt.Errorf("%s.cpus[%d].cpu: CPU %d stands here twice", at, j, n)
			default:
				seen[n] = true
			}
		}
	}
	for i := range d.Findings {
		f := &d.Findings[i]
		if err := oneOf(fmt.Sprintf("findings[%d].severity", i), f.Severity, severities); err != nil {
			return err
		}
		if f.CPU != nil && *f.CPU == allCPUs {
			return fmt.Errorf("findings[%d].cpu: %d is no CPU", i, *f.CPU)
		}
	}
	return nil
}

func oneOf(at, got string, words []string) error {
	if slices.Contains(words, got) {
		return nil
	}
	return fmt.Errorf("%s: %q; expected one of %s", at, got, strings.Join(words, ", "))
}
