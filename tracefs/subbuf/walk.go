package subbuf

import (
	"encoding/binary"
	"math/bits"
)

// walk is the state of one pass over the records of a sub-buffer.
type walk struct {
	ts          uint64
	first, last uint64 // of events; meaningless if records is 0
	records     int
	maxID       uint32

	discarded, discardedBytes uint64
	extends, absolutes        uint64

	// filler says that the last record is one that closes a full sub-buffer: a
	// padding record of time delta 1 (ring_buffer.c, rb_reset_tail).
	filler           bool
	wentBack         bool
	backFrom, backTo uint64 // the first time it did
	pos              int    // where the walk ended
	kind             DamageKind
	found, limit     uint64
}

// walk counts the records in data. It is Page.Records without the records: the
// one loop of this project that has to run at the speed of memory. A test holds
// the two against each other.
func (z *Summarizer) walk(data []byte, w *walk) {
	var (
		ids   = z.ids
		be    = z.be
		idOff = z.l.IDOffset
		ts    = w.ts
		pos   = 0
		maxID = uint32(0)
		n     = 0
	)
	for pos < len(data) {
		if len(data)-pos < 4 {
			w.kind, w.found, w.limit = RecordPastEnd, 4, uint64(len(data)-pos)
			break
		}
		word := binary.LittleEndian.Uint32(data[pos:])
		typ, delta := word&31, word>>5
		if be {
			word = bits.ReverseBytes32(word)
			typ, delta = word>>27, word&(1<<27-1)
		}
		at, size := pos+4+idOff, int(typ)*4+4
		if typ-1 >= 28 {
			if typ != 0 {
				if ts = z.other(data[pos:], typ, delta, ts, w); w.kind != 0 {
					break
				}
				pos += w.pos
				continue
			}
			if size, w.kind = z.long(data[pos:], w); w.kind != 0 {
				break
			}
			at += 4
		}
		next := pos + size
		if next > len(data) {
			w.kind, w.found, w.limit = RecordPastEnd, uint64(size), uint64(len(data)-pos)
			break
		}
		if idOff != 0 && at+2 > next {
			w.kind, w.found, w.limit = RecordTooShort, uint64(size), uint64(at+2-pos)
			break
		}
		ts += uint64(delta)
		id := binary.LittleEndian.Uint16(data[at:])
		if be {
			id = bits.ReverseBytes16(id)
		}
		c := &ids[id]
		c.records++
		c.bytes += uint64(size)
		maxID = max(maxID, uint32(id))
		if n == 0 {
			w.first = ts
		}
		n++
		w.last = ts
		w.filler = false
		pos = next
	}
	w.ts, w.pos, w.records, w.maxID = ts, pos, n, maxID
}

// long is the length of a data record whose type has no room for it.
func (z *Summarizer) long(b []byte, w *walk) (int, DamageKind) {
	if len(b) < 8 {
		w.found, w.limit = 8, uint64(len(b))
		return 0, RecordPastEnd
	}
	word := uint64(z.l.Order.Uint32(b[4:]))
	if least := uint64(6 + z.l.IDOffset); word < least {
		w.found, w.limit = word, least
		return 0, RecordTooShort
	}
	size := 4 + (word+3)&^3
	if size > uint64(len(b)) {
		w.found, w.limit = size, uint64(len(b))
		return 0, RecordPastEnd
	}
	return int(size), 0
}

// other takes a record that is no event. It leaves the record's length in w.pos.
func (z *Summarizer) other(b []byte, typ, delta uint32, ts uint64, w *walk) uint64 {
	if typ == typePadding && delta == 0 {
		w.kind, w.found = NullPadding, uint64(len(b))
		return ts
	}
	if len(b) < 8 {
		w.kind, w.found, w.limit = RecordPastEnd, 8, uint64(len(b))
		return ts
	}
	word := uint64(z.l.Order.Uint32(b[4:]))
	w.pos = 8
	now := ts + uint64(delta)
	switch typ {
	case typePadding:
		size := 4 + word
		switch {
		case word < 4:
			w.kind, w.found, w.limit = RecordTooShort, word, 4
			return ts
		case word&3 != 0:
			w.kind, w.found = RecordMisaligned, word
			return ts
		case size > uint64(len(b)):
			w.kind, w.found, w.limit = RecordPastEnd, size, uint64(len(b))
			return ts
		}
		w.discarded++
		w.discardedBytes += size
		w.filler = delta == 1
		w.pos = int(size)
		return now
	case typeExtend:
		w.extends++
		now += word << 27
	default:
		w.absolutes++
		now = absolute(ts, word<<27|uint64(delta))
	}
	w.filler = false
	if now < ts && !w.wentBack {
		w.wentBack, w.backFrom, w.backTo = true, ts, now
	}
	return now
}
