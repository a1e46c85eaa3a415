package subbuf

import (
	"encoding/binary"
)

// layouts are the four kinds of machine.
var layouts = []Layout{
	NewLayout(binary.LittleEndian, 8, 4096),
	NewLayout(binary.LittleEndian, 4, 4096),
	NewLayout(binary.BigEndian, 8, 4096),
	NewLayout(binary.BigEndian, 4, 4096),
}

// builder writes sub-buffers as a kernel does, for tests.
type builder struct {
	l Layout
	b []byte
}

func (w *builder) word(typ, delta uint32) {
	v := delta<<5 | typ
	if w.l.Order == binary.ByteOrder(binary.BigEndian) {
		v = typ<<27 | delta
	}
	w.u32(v)
}

func (w *builder) u32(v uint32) {
	var a [4]byte
	w.l.Order.PutUint32(a[:], v)
	w.b = append(w.b, a[:]...)
}

func (w *builder) u16(v uint16) {
	var a [2]byte
	w.l.Order.PutUint16(a[:], v)
	w.b = append(w.b, a[:]...)
}

// event appends an event of id with 4*words bytes of payload.
func (w *builder) event(delta uint32, id uint16, words uint32) *builder {
	w.word(words, delta)
	w.u16(id)
	w.b = append(w.b, make([]byte, 4*words-2)...)
	return w
}

// long appends an event whose length stands in a word of its own.
func (w *builder) long(delta uint32, id uint16, payload int) *builder {
	w.word(0, delta)
	w.u32(uint32(payload + 4))
	w.u16(id)
	w.b = append(w.b, make([]byte, (payload+3)&^3-2)...)
	return w
}

func (w *builder) extend(delta uint64) *builder {
	w.word(30, uint32(delta&(1<<27-1)))
	w.u32(uint32(delta >> 27))
	return w
}

func (w *builder) absolute(ts uint64) *builder {
	w.word(31, uint32(ts&(1<<27-1)))
	w.u32(uint32(ts >> 27))
	return w
}

// discarded appends a discarded record of n bytes in all.
func (w *builder) discarded(delta uint32, n int) *builder {
	w.word(29, delta)
	w.u32(uint32(n - 4))
	w.b = append(w.b, make([]byte, n-8)...)
	return w
}

// Flags for page.
const (
	missed = 1 << 31
	stored = 1 << 30
)

// page ends a sub-buffer: stamp, flags, and the count if it is stored. high is
// what stands in the high half of a commit of 8 bytes.
func (w *builder) page(stamp uint64, flags uint32, count uint64, high uint32) []byte {
	out := make([]byte, w.l.SubbufBytes)
	w.l.Order.PutUint64(out, stamp)
	commit := uint32(len(w.b)) | flags
	if w.l.LongBytes == 8 {
		w.l.Order.PutUint64(out[8:], uint64(high)<<32|uint64(commit))
	} else {
		w.l.Order.PutUint32(out[8:], commit)
	}
	n := copy(out[w.l.HeaderBytes:], w.b)
	if flags&stored != 0 {
		if at := out[w.l.HeaderBytes+n:]; w.l.LongBytes == 8 && len(at) >= 8 {
			w.l.Order.PutUint64(at, count)
		} else if len(at) >= 4 {
			w.l.Order.PutUint32(at, uint32(count))
		}
	}
	w.b = nil
	return out
}
