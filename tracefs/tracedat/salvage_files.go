package tracedat

import (
	"bytes"
	"context"
)

// v6 writes a version 6 file.
func (s *salvager) v6(ctx context.Context) error {
	s.head()
	for name := blockHeaders; name <= blockCmdlines; name++ {
		if err := s.block(name); err != nil {
			return err
		}
	}
	s.u32(uint32(s.cpus))
	s.cstr("options  ")
	clock := false
	for _, o := range s.options() {
		s.u16(uint16(o.ID))
		s.u32(uint32(len(o.Data)))
		s.out.write(o.Data...)
		clock = clock || o.ID == OptTraceClock
	}
	var at []int64
	for _, b := range s.f.Buffers[1:] {
		s.u16(uint16(OptBuffer))
		s.u32(uint32(8 + len(b.Name) + 1))
		at = append(at, s.out.pos)
		s.u64(0)
		s.cstr(b.Name)
	}
	s.u16(uint16(OptDone))
	for i, b := range s.f.Buffers {
		if i > 0 {
			s.out.patch(at[i-1], s.e.AppendUint64(nil, uint64(s.out.pos)))
		}
		if b.HasText() {
			s.cstr("latency  ")
			return s.text(b)
		}
		if err := s.v6Buffer(ctx, b, clock); err != nil {
			return err
		}
	}
	return nil
}

func (s *salvager) v6Buffer(ctx context.Context, b *Buffer, clock bool) error {
	s.cstr("flyrecord")
	table := s.out.pos
	s.out.write(make([]byte, 16*s.cpus)...)
	if clock {
		name := b.Clock
		if name == "" {
			name = s.f.TraceClock
		}
		name = "[" + name + "]"
		s.u64(uint64(len(name)))
		s.out.write([]byte(name)...)
	}
	rows := make([]byte, 16*s.cpus)
	for _, d := range b.CPUs {
		off, size, err := s.data(ctx, d)
		if err != nil {
			return err
		}
		row := rows[16*s.ids[d]:]
		s.e.PutUint64(row, uint64(off))
		s.e.PutUint64(row[8:], uint64(size))
	}
	s.out.patch(table, rows)
	return s.out.err
}

// v7 writes a version 7 file: sections, then all options in one.
func (s *salvager) v7(ctx context.Context) error {
	s.head()
	s.cstr("none")
	s.cstr("")
	first := s.out.pos
	s.u64(0)
	var names bytes.Buffer // the content of section STRINGS
	begin := func(id uint16, what string) int64 {
		at := s.out.pos
		s.u16(id)
		s.u16(0)
		s.u32(uint32(names.Len()))
		names.WriteString(what + "\x00")
		s.u64(0)
		return at
	}
	end := func(at int64) {
		s.out.patch(at+8, s.e.AppendUint64(nil, uint64(s.out.pos-at-sectionHeader)))
	}
	opts := []Option{}
	for name := blockHeaders; name <= blockCmdlines; name++ {
		id := OptHeaderSection + OptionID(name)
		at := begin(uint16(id), name.String())
		if err := s.block(name); err != nil {
			return err
		}
		end(at)
		opts = append(opts, Option{ID: id, Data: s.e.AppendUint64(nil, uint64(at))})
	}
	opts = append(opts, s.options()...)
	opts = append(opts, Option{ID: OptCPUCount, Data: s.e.AppendUint32(nil, uint32(s.cpus))})
	for _, b := range s.f.Buffers {
		id, opt := uint16(secBuffer), OptBuffer
		if b.HasText() {
			id, opt = uint16(OptBufferText), OptBufferText
		}
		at := begin(id, "buffer "+b.Name)
		data := s.e.AppendUint64(nil, uint64(at))
		data = append(data, b.Name+"\x00"+b.Clock+"\x00"...)
		var err error
		if b.HasText() {
			err = s.text(b)
		} else {
			data, err = s.v7CPUs(ctx, b, data)
		}
		if err != nil {
			return err
		}
		end(at)
		opts = append(opts, Option{ID: opt, Data: data})
	}
	s.out.patch(first, s.e.AppendUint64(nil, uint64(s.out.pos)))
	at := begin(secOptions, "options")
	for _, o := range append(opts, Option{ID: OptDone, Data: make([]byte, 8)}) {
		s.u16(uint16(o.ID))
		s.u32(uint32(len(o.Data)))
		s.out.write(o.Data...)
	}
	end(at)
	at = begin(uint16(OptStringsSection), "strings")
	s.out.write(names.Bytes()...)
	end(at)
	return s.out.err
}

// v7CPUs writes the data of a buffer and appends the table of its CPUs to data.
func (s *salvager) v7CPUs(ctx context.Context, b *Buffer, data []byte) ([]byte, error) {
	bytes := b.Layout.SubbufBytes
	if bytes == 0 {
		bytes = s.layout.SubbufBytes
	}
	data = s.e.AppendUint32(data, uint32(bytes))
	count := len(data)
	data = s.e.AppendUint32(data, 0)
	n := uint32(0)
	for _, d := range b.CPUs {
		off, size, err := s.data(ctx, d)
		if err != nil {
			return nil, err
		}
		if size == 0 {
			continue
		}
		data = s.e.AppendUint32(data, uint32(s.ids[d]))
		data = s.e.AppendUint64(data, uint64(off))
		data = s.e.AppendUint64(data, uint64(size))
		n++
	}
	s.e.PutUint32(data[count:], n)
	return data, nil
}
