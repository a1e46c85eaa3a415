package subbuf

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// Kind is what a record in a sub-buffer is.
type Kind uint8

// The kinds of record. Only [Data] is an event; the kernel counts none of the
// others in "entries", "overrun" or "read events".
const (
	// Data is an event that was committed.
	Data Kind = iota
	// Discarded is a record that was written and then thrown away by an event
	// filter, or the filler at the end of a sub-buffer. Its stamp is the
	// running time with its delta added.
	Discarded
	// Extend carries the high bits of a delta that does not fit 27 bits.
	Extend
	// Absolute carries a whole stamp.
	Absolute
)

func (k Kind) String() string {
	switch k {
	case Data:
		return "data"
	case Discarded:
		return "discarded"
	case Extend:
		return "time extend"
	case Absolute:
		return "time stamp"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Record is one record of a sub-buffer.
type Record struct {
	Kind Kind
	// Stamp is the running time after this record: of a Data record its time.
	Stamp uint64
	// ID is the event's id, as events/SYSTEM/EVENT/id of the traced kernel
	// gives it. Meaningful for Data.
	ID uint16
	// Offset is where the record begins within its sub-buffer.
	Offset int
	// Length is the record's bytes, header included.
	Length int
	// Payload is what the event wrote, the id included, up to the record's end;
	// it shares memory with the sub-buffer. Nil unless Data.
	Payload []byte
}

// Page is one sub-buffer.
type Page struct {
	Head
	layout Layout
	b      []byte
}

// Page takes b as one sub-buffer, which may be cut short. The error is a
// [*Damage] where the header is impossible; the records of a Page with an
// error of kind [CountMisplaced] can be read, those of any other cannot.
func (l Layout) Page(b []byte) (Page, error) {
	if err := l.Check(); err != nil {
		return Page{}, err
	}
	if len(b) > l.SubbufBytes {
		b = b[:l.SubbufBytes]
	}
	h, d := l.head(b)
	p := Page{Head: h, layout: l, b: b}
	if d.Kind == 0 {
		return p, nil
	}
	if d.Kind != CountMisplaced {
		p.b = nil
	}
	return p, &d
}

// Records is the sub-buffer's records in order. The last pair may carry a
// [*Damage] and no record: what follows it cannot be read.
func (p Page) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if p.b == nil {
			return
		}
		hdr := p.layout.HeaderBytes
		data := p.b[hdr:min(len(p.b), hdr+p.Length)]
		cut := len(data) < p.Length
		ts, pos, n := p.Stamp, 0, 0
		for pos < len(data) {
			r, size, kind, limit := p.layout.record(data[pos:], ts)
			if kind != 0 {
				d := Damage{Kind: kind, At: hdr + pos, Found: size, Limit: limit, Records: n, Bytes: int64(p.Length - pos)}
				if cut && kind == RecordPastEnd {
					d.cutAt(len(p.b), p.layout.SubbufBytes)
				}
				yield(Record{}, &d)
				return
			}
			r.Offset = hdr + pos
			if !yield(r, nil) {
				return
			}
			if r.Kind == Data {
				n++
			}
			ts, pos = r.Stamp, pos+r.Length
		}
		if cut {
			d := Damage{At: hdr + pos, Records: n, Bytes: int64(p.Length - pos)}
			d.cutAt(len(p.b), p.layout.SubbufBytes)
			yield(Record{}, &d)
		}
	}
}

// cutAt makes of d a sub-buffer that ends after have of want bytes.
func (d *Damage) cutAt(have, want int) {
	d.Kind, d.Found, d.Limit = PageCut, uint64(have), uint64(want)
}

// Types of a record (include/linux/ring_buffer.h, enum ring_buffer_type). Types
// 1 to 28 are data whose length is 4 times the type; 0 is data with its length
// in the word that follows.
const (
	typePadding  = 29
	typeExtend   = 30
	typeAbsolute = 31
)

// absoluteBits is how much of a stamp an [Absolute] record holds.
const absoluteBits = 1<<59 - 1

// absolute is the stamp that an [Absolute] record means at running time ts: the
// bits that it has no room for are those of the running time, one more where
// that makes it older (ring_buffer.c, rb_fix_abs_ts, Linux 5.17 on).
func absolute(ts, stamp uint64) uint64 {
	high := ts &^ absoluteBits
	stamp |= high
	if high != 0 && stamp < ts {
		stamp += absoluteBits + 1
	}
	return stamp
}

// record decodes the record at the start of b, at running time ts. A damage kind
// other than 0 comes with the length found and the limit that it breaks.
func (l *Layout) record(b []byte, ts uint64) (r Record, found uint64, kind DamageKind, limit uint64) {
	left := uint64(len(b))
	if left < 4 {
		return r, 4, RecordPastEnd, left
	}
	w := l.Order.Uint32(b)
	typ, delta := w&31, uint64(w>>5)
	if l.Order == binary.ByteOrder(binary.BigEndian) {
		typ, delta = w>>27, uint64(w&(1<<27-1))
	}
	size, head := 4+4*uint64(typ), 4
	var word uint64
	if typ == 0 || typ > 28 {
		if typ == typePadding && delta == 0 {
			return r, left, NullPadding, 0
		}
		if left < 8 {
			return r, 8, RecordPastEnd, left
		}
		word = uint64(l.Order.Uint32(b[4:]))
	}
	switch typ {
	case 0:
		// array[0] is the payload's length and its own.
		least := uint64(6 + l.IDOffset)
		if word < least {
			return r, word, RecordTooShort, least
		}
		size, head = 4+(word+3)&^3, 8
		r.Kind = Data
	case typePadding:
		if word < 4 {
			return r, word, RecordTooShort, 4
		}
		if word&3 != 0 {
			return r, word, RecordMisaligned, 0
		}
		size = 4 + word
		r.Kind = Discarded
	case typeExtend:
		delta += word << 27
		size = 8
		r.Kind = Extend
	case typeAbsolute:
		size = 8
		r.Kind = Absolute
	}
	if size > left {
		return r, size, RecordPastEnd, left
	}
	r.Length = int(size)
	r.Stamp = ts + delta
	switch r.Kind {
	case Absolute:
		r.Stamp = absolute(ts, word<<27|delta)
	case Data:
		if typ == 0 {
			size = 4 + word
		}
		r.Payload = b[head:size]
		if len(r.Payload) < l.IDOffset+2 {
			return r, size, RecordTooShort, uint64(head + l.IDOffset + 2)
		}
		r.ID = l.Order.Uint16(r.Payload[l.IDOffset:])
	}
	return r, 0, 0, 0
}
