package tracedat

import (
	"errors"
	"fmt"
	"io"
)

// headerEvent is what trace-cmd needs to find of events/header_event. Its
// content is the same in all kernels (rb_print_entry_header), and readers know
// it by heart.
const headerEvent = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n" +
	"\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n"

// block writes a part that nothing depends on the inside of: as it is if it is
// whole, else what can be said of it.
func (s *salvager) block(name blockName) error {
	b, ok := s.f.blocks[name]
	if ok && b.whole && (name != blockHeaders || !s.f.headersRepaired) {
		err := s.whole(b)
		if !errors.Is(err, errUnpack) {
			return err
		}
		s.result.LeftOut = append(s.result.LeftOut, Problem{Kind: Damaged, Offset: b.from, Section: name.String(), Found: err.Error(), Lost: "this part", Page: -1})
		ok = false
	}
	switch name {
	case blockHeaders:
		l := s.layout
		text := s.f.HeaderPageText
		if text == "" {
			text = fmt.Sprintf("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:%d;\tsigned:1;\n"+
				"\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:1;\n", l.LongBytes, l.HeaderBytes, l.Capacity())
		}
		s.cstr("header_page")
		s.u64(uint64(len(text)))
		s.out.write([]byte(text)...)
		s.cstr("header_event")
		s.u64(uint64(len(headerEvent)))
		s.out.write([]byte(headerEvent)...)
	case blockCmdlines:
		s.u64(0)
	case blockFtrace, blockEvents:
		if ok {
			return s.formats(name, b)
		}
		fallthrough
	default:
		s.u32(0)
	}
	return s.out.err
}

// whole writes a part as it is. If it cannot be unpacked nothing is written.
func (s *salvager) whole(b block) error {
	part := section{packed: b.packed, from: b.from, size: uint64(b.to - b.from)}
	if b.packed {
		c, err := s.f.open(part)
		if err != nil {
			return s.unpackFailed(err)
		}
		_, err = io.Copy(io.Discard, c.r)
		c.close()
		if err != nil {
			return s.unpackFailed(err)
		}
	}
	c, err := s.f.open(part)
	if err != nil {
		return err
	}
	defer c.close()
	return s.copy(c.r)
}

// unpackFailed makes an error about impossible sizes one of data that cannot
// be unpacked.
func (s *salvager) unpackFailed(err error) error {
	var short *shortError
	var value *valueError
	if errors.As(err, &short) || errors.As(err, &value) {
		return fmt.Errorf("%w: %w", errUnpack, err)
	}
	return err
}

func (s *salvager) copy(r io.Reader) error {
	var b [32 << 10]byte
	for {
		n, err := r.Read(b[:])
		s.out.write(b[:n]...)
		switch {
		case s.out.err != nil:
			return s.out.err
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// formats writes the formats before the place where a part is damaged.
func (s *salvager) formats(name blockName, b block) error {
	var systems []string
	texts := map[string][][]byte{}
	take := func(system string, text []byte, _ int64) {
		if _, ok := texts[system]; !ok {
			systems = append(systems, system)
		}
		texts[system] = append(texts[system], text)
	}
	c, err := s.f.open(section{packed: b.packed, from: b.from, size: uint64(b.to - b.from)})
	if err == nil {
		defer c.close()
		if name == blockFtrace {
			eachFtraceFormat(c, take)
		} else {
			eachEventFormat(c, take)
		}
	}
	if name == blockFtrace {
		s.u32(uint32(len(texts["ftrace"])))
	} else {
		s.u32(uint32(len(systems)))
	}
	for _, system := range systems {
		if name == blockEvents {
			s.cstr(system)
			s.u32(uint32(len(texts[system])))
		}
		for _, t := range texts[system] {
			s.u64(uint64(len(t)))
			s.out.write(t...)
		}
	}
	return s.out.err
}
