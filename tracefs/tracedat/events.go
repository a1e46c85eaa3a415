package tracedat

import (
	"bytes"
	"fmt"
	"strconv"
)

// formatFunc is called with each format of a part of the file, and the offset
// to speak of.
type formatFunc func(system string, text []byte, at int64)

// readFtraceFormats reads the formats of ftrace's own events (function, print,
// …).
func (f *File) readFtraceFormats(c *cursor) error { return eachFtraceFormat(c, f.takeFormat) }

// readEventFormats reads the formats of the event systems.
func (f *File) readEventFormats(c *cursor) error { return eachEventFormat(c, f.takeFormat) }

func eachFtraceFormat(c *cursor, take formatFunc) error {
	n, err := c.u32("number of ftrace formats")
	if err != nil {
		return err
	}
	return eachFormat(c, "ftrace", n, take)
}

func eachEventFormat(c *cursor, take formatFunc) error {
	systems, err := c.u32("number of event systems")
	if err != nil {
		return err
	}
	for range systems {
		system, err := c.cstr("name of an event system")
		if err != nil {
			return err
		}
		n, err := c.u32("number of events of " + system)
		if err != nil {
			return err
		}
		if err := eachFormat(c, system, n, take); err != nil {
			return err
		}
	}
	return nil
}

func eachFormat(c *cursor, system string, n uint32, take formatFunc) error {
	for range n {
		at := c.at()
		size, err := c.u64("size of a format of " + system)
		if err != nil {
			return err
		}
		if size > maxFormat {
			if err := c.need(size, "format of an event of "+system); err != nil {
				return err
			}
			return &valueError{"size of a format of " + system, at, fmt.Sprintf("%d bytes", size), fmt.Sprintf("at most %d", maxFormat)}
		}
		text, err := c.bytes(size, "format of an event of "+system)
		if err != nil {
			return err
		}
		take(system, text, at)
	}
	return nil
}

// takeFormat takes the lines "name: NAME", "ID: N" and the place of common_type
// out of events/SYSTEM/NAME/format.
func (f *File) takeFormat(system string, text []byte, at int64) {
	var name, id []byte
	for rest := text; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if v, ok := bytes.CutPrefix(line, []byte("name:")); ok && name == nil {
			name = bytes.TrimSpace(v)
		} else if v, ok := bytes.CutPrefix(line, []byte("ID:")); ok && id == nil {
			id = bytes.TrimSpace(v)
		} else if bytes.Contains(line, []byte(" common_type;")) {
			f.takeCommonType(line, at)
			break // the fields behind it are of no interest
		}
	}
	n, err := strconv.ParseUint(string(id), 10, 16)
	if err != nil || len(name) == 0 {
		f.problem(Problem{Kind: Damaged, Offset: at, Section: "format of an event of " + system,
			Found: fmt.Sprintf("name %q, ID %q", name, id), Expected: "a name and a number up to 65535", Lost: "its records are counted under their id"})
		return
	}
	e := Event{System: system, Name: string(name), ID: uint16(n)}
	if was, ok := f.Events[e.ID]; ok {
		if was != e {
			f.problem(Problem{Kind: Damaged, Offset: at, Section: "format of " + e.String(),
				Found: fmt.Sprintf("ID %d again", n), Expected: fmt.Sprintf("an id that %s does not have", was), Hint: "records of that id are counted as " + was.String()})
		}
		return
	}
	f.Events[e.ID] = e
}

// takeCommonType takes where in an event its id stands.
//
//	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
func (f *File) takeCommonType(line []byte, at int64) {
	value := func(key string) int {
		_, v, _ := bytes.Cut(line, []byte(key))
		v, _, _ = bytes.Cut(v, []byte(";"))
		n, err := strconv.Atoi(string(v))
		if err != nil {
			return -1
		}
		return n
	}
	off, size := value("offset:"), value("size:")
	if size != 2 || off < 0 || off > 64 {
		f.problem(Problem{Kind: Damaged, Offset: at, Section: "format of an event", Found: fmt.Sprintf("common_type of %d bytes at %d", size, off), Expected: "2 bytes at 0"})
		return
	}
	if off != f.Layout.IDOffset {
		f.Layout.IDOffset = off
	}
}

func idName(id uint16) string { return "id:" + strconv.Itoa(int(id)) }
