package tracefs

import (
	"io"
	"strconv"
	"strings"
)

// HeaderPage is events/header_page: how a sub-buffer begins on the kernel that
// printed it (kernel/trace/ring_buffer.c: ring_buffer_print_page_header). All
// sizes and offsets are bytes.
//
// On x86_64:
//
//	field: u64 timestamp;	offset:0;	size:8;	signed:0;
//	field: local_t commit;	offset:8;	size:8;	signed:1;
//	field: int overwrite;	offset:8;	size:1;	signed:1;
//	field: char data;	offset:16;	size:4080;	signed:1;
//
// From v7.1 on the third line says "char overwrite", and the sign of "char data"
// is the compiler's choice: neither is looked at.
type HeaderPage struct {
	TimestampSize Field[int64] // 8
	CommitOffset  Field[int64] // 8
	CommitSize    Field[int64] // the size of a long: 8, or 4 on a 32-bit kernel
	DataOffset    Field[int64] // header bytes: 16, or 12 on a 32-bit kernel
	DataSize      Field[int64] // usable bytes of a sub-buffer: 4080, 65520, …

	Unknown []Line
	Errors  []*SyntaxError
}

// LongSize is the size of the kernel's long in bytes, 4 or 8, or 0 if the file
// does not tell.
func (h *HeaderPage) LongSize() int {
	if h != nil && h.CommitSize.OK {
		return int(h.CommitSize.V)
	}
	return 0
}

// SubbufSize is the whole of a sub-buffer in bytes, header included, or 0 if the
// file does not tell.
func (h *HeaderPage) SubbufSize() int64 {
	if h != nil && h.DataOffset.OK && h.DataSize.OK {
		return h.DataOffset.V + h.DataSize.V
	}
	return 0
}

const headerPageExpected = `the lines of events/header_page, "field: u64 timestamp; offset:0; size:8; …" first`

// ParseHeaderPage reads events/header_page. Errors as [ParseStats].
func ParseHeaderPage(r io.Reader, name string) (*HeaderPage, error) {
	h := &HeaderPage{}
	data, err := readSmall(r, name, headerPageExpected)
	if err != nil {
		return h, err
	}
	lines, fields := splitLines(data), 0
	for _, l := range lines {
		if strings.TrimSpace(l.text) == "" {
			continue
		}
		decl, offset, size, serr := parseFormatField(name, l)
		if serr != nil {
			h.Errors = append(h.Errors, serr)
			continue
		}
		if decl == "" {
			h.Unknown = append(h.Unknown, keepLine(l))
			continue
		}
		fields++
		h.take(name, l, decl, offset, size)
	}
	if fields == 0 {
		e := &FormatError{File: name, Expected: headerPageExpected}
		if len(lines) > 0 {
			e.Found = lines[0].text
		}
		return h, e
	}
	h.check(name)
	return h, nil
}

func (h *HeaderPage) take(name string, l srcLine, decl string, offset, size int64) {
	words := strings.Fields(decl)
	switch words[len(words)-1] {
	case "timestamp":
		h.TimestampSize = fieldOf(name, l, size)
	case "commit":
		h.CommitOffset, h.CommitSize = fieldOf(name, l, offset), fieldOf(name, l, size)
	case "data":
		h.DataOffset, h.DataSize = fieldOf(name, l, offset), fieldOf(name, l, size)
	case "overwrite":
	default:
		h.Unknown = append(h.Unknown, keepLine(l))
	}
}

// check throws out numbers that no kernel prints, because page arithmetic that
// starts from them would be wrong everywhere.
func (h *HeaderPage) check(name string) {
	bad := func(f *Field[int64], expected string) {
		h.Errors = append(h.Errors, &SyntaxError{Pos: Pos{File: name, Line: f.Line}, Found: f.Text, Expected: expected})
		*f = Field[int64]{}
	}
	if f := &h.CommitSize; f.OK && f.V != 4 && f.V != 8 {
		bad(f, "a commit word of 4 or 8 bytes")
	}
	if f := &h.DataOffset; f.OK && (f.V < 12 || f.V > 64) {
		bad(f, "data behind a header of 12 or 16 bytes")
	}
	if f := &h.DataSize; f.OK && (f.V < 512 || f.V > 64<<20) {
		bad(f, "a sub-buffer between 512 bytes and 64 MiB")
	}
}

// parseFormatField reads a line "field: TYPE NAME; offset:N; size:N; signed:N;".
// decl is empty for a line that is no field.
func parseFormatField(name string, l srcLine) (decl string, offset, size int64, serr *SyntaxError) {
	const expected = `"field: TYPE NAME; offset:N; size:N; signed:N;"`
	rest, ok := strings.CutPrefix(strings.TrimSpace(l.text), "field:")
	if !ok {
		return "", 0, 0, nil
	}
	var haveOffset, haveSize bool
	for i, part := range strings.Split(rest, ";") {
		part = strings.TrimSpace(part)
		if i == 0 {
			decl = part
			continue
		}
		key, val, _ := strings.Cut(part, ":")
		at := Pos{File: name, Line: l.n}
		switch key {
		case "offset":
			offset, serr = parseInt64(at, val, expected)
			haveOffset = true
		case "size":
			size, serr = parseInt64(at, val, expected)
			haveSize = true
		}
		if serr != nil {
			return "", 0, 0, serr
		}
	}
	if decl == "" || !haveOffset || !haveSize || offset < 0 || size < 0 ||
		(l.cut && strings.Count(rest, ";") < 3) {
		return "", 0, 0, &SyntaxError{Pos: Pos{File: name, Line: l.n}, Found: l.text, Expected: expected}
	}
	return decl, offset, size, nil
}

// HeaderEvent is events/header_event: how a record begins
// (ring_buffer_print_entry_header). A field is absent where the kernel does not
// print its line: 4.4 has no time_stamp.
type HeaderEvent struct {
	TypeLenBits   Field[int64] // 5
	TimeDeltaBits Field[int64] // 27
	ArrayBits     Field[int64] // 32
	Padding       Field[int64] // type 29
	TimeExtend    Field[int64] // type 30
	TimeStamp     Field[int64] // type 31
	DataMaxType   Field[int64] // 28

	Unknown []Line
	Errors  []*SyntaxError
}

const headerEventExpected = `the lines of events/header_event, "# compressed entry header" first`

// ParseHeaderEvent reads events/header_event. Errors as [ParseStats].
func ParseHeaderEvent(r io.Reader, name string) (*HeaderEvent, error) {
	h := &HeaderEvent{}
	data, err := readSmall(r, name, headerEventExpected)
	if err != nil {
		return h, err
	}
	lines, known := splitLines(data), 0
	for _, l := range lines {
		text := strings.TrimSpace(l.text)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		f, num := h.field(text)
		if f == nil {
			h.Unknown = append(h.Unknown, keepLine(l))
			continue
		}
		known++
		v, serr := parseInt64(Pos{File: name, Line: l.n}, num, "a number")
		if serr == nil && l.cut && !strings.HasSuffix(text, "bits") {
			serr = errCutNumber(Pos{File: name, Line: l.n}, num, "a number")
		}
		if serr != nil {
			h.Errors = append(h.Errors, serr)
			continue
		}
		*f = fieldOf(name, l, v)
	}
	if known == 0 {
		e := &FormatError{File: name, Expected: headerEventExpected}
		if len(lines) > 0 {
			e.Found = lines[0].text
		}
		return h, e
	}
	return h, nil
}

func (h *HeaderEvent) field(text string) (f *Field[int64], num string) {
	if key, num, ok := strings.Cut(text, "=="); ok {
		num = strings.TrimSpace(num)
		key = strings.Join(strings.Fields(key), " ")
		switch key {
		case "padding : type":
			return &h.Padding, num
		case "time_extend : type":
			return &h.TimeExtend, num
		case "time_stamp : type":
			return &h.TimeStamp, num
		case "data max type_len":
			return &h.DataMaxType, num
		}
		return nil, ""
	}
	key, num, ok := strings.Cut(text, ":")
	if !ok {
		return nil, ""
	}
	num, ok = strings.CutSuffix(strings.TrimSpace(num), " bits")
	if !ok {
		return nil, ""
	}
	switch strings.TrimSpace(key) {
	case "type_len":
		return &h.TypeLenBits, num
	case "time_delta":
		return &h.TimeDeltaBits, num
	case "array":
		return &h.ArrayBits, num
	}
	return nil, ""
}

// Standard reports whether every number that the file gives is the one that this
// project's readers of raw sub-buffers are built on. It is false for a file that
// gives none.
func (h *HeaderEvent) Standard() bool {
	want := []struct {
		f Field[int64]
		v int64
	}{
		{h.TypeLenBits, 5}, {h.TimeDeltaBits, 27}, {h.ArrayBits, 32},
		{h.Padding, 29}, {h.TimeExtend, 30}, {h.TimeStamp, 31}, {h.DataMaxType, 28},
	}
	given := 0
	for _, w := range want {
		if w.f.OK {
			given++
			if w.f.V != w.v {
				return false
			}
		}
	}
	return given > 0
}

// String is the header as the arithmetic uses it: "16+4080".
func (h *HeaderPage) String() string {
	if h.SubbufSize() == 0 {
		return "unknown"
	}
	return strconv.FormatInt(h.DataOffset.V, 10) + "+" + strconv.FormatInt(h.DataSize.V, 10)
}
