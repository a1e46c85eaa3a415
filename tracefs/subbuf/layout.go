// Package subbuf reads the sub-buffers ("pages") of the Linux kernel's tracing
// ring buffer: the bytes that per_cpu/cpuN/trace_pipe_raw and snapshot_raw hand
// out, that trace-cmd keeps in a trace.dat file, and that it leaves behind as
// OUT.cpuN when it is killed.
//
// A stream of sub-buffers of one CPU says more than its records. It says where
// the kernel threw records away before the reader came by (a [Hole], with the
// number of them or without), and by what it leaves unsaid where records may
// have been refused (a [Fill]). [Summarize] counts a whole stream at the speed
// of memory; [Layout.Page] and [Page.Records] take one sub-buffer apart.
//
// There is no I/O here but what an io.Reader does, and no judgement: whether a
// hole matters is package audit's to say.
//
// The format is not documented by the kernel as an interface. What is written
// here about it was read from kernel/trace/ring_buffer.c (rb_update_event,
// rb_handle_timestamp, ring_buffer_read_page) of Linux 4.4 to 7.3 and measured
// on captures of x86_64, i386, s390x, aarch64 and ppc64le kernels.
package subbuf

import (
	"encoding/binary"
	"fmt"
)

// Limits of a [Layout]. A sub-buffer is a power of two of memory pages: 4 KiB at
// least, and 256 pages of 64 KiB (order 8, buffer_subbuf_size_kb) at most.
const (
	MinBytes = 4096
	MaxBytes = 16 << 20
)

// Layout is the geometry of a stream of sub-buffers. events/header_page of the
// tracefs that the stream comes from tells it, and trace.dat files hold a copy
// of that text; [InferLayout] finds it from the bytes where neither is at hand.
type Layout struct {
	// Order is the byte order of the traced machine. The order of the bit
	// fields within a record's header follows it.
	Order binary.ByteOrder
	// LongBytes is the size of the kernel's long: the "commit" field and the
	// count of lost events are one. 4 or 8.
	LongBytes int
	// HeaderBytes is where records begin: the offset of the field "data",
	// 8 + LongBytes in every kernel known.
	HeaderBytes int
	// SubbufBytes is the size of the whole sub-buffer, header included: offset
	// plus size of the field "data".
	SubbufBytes int
	// IDOffset is where in a record's payload the event's id stands: the offset
	// of "common_type" in events/*/*/format, 0 in every kernel known.
	IDOffset int
}

// NewLayout is the Layout of a kernel of the given byte order and long size
// whose sub-buffers take subbufBytes. It is checked by [Layout.Check] only when
// used.
func NewLayout(order binary.ByteOrder, longBytes, subbufBytes int) Layout {
	return Layout{Order: order, LongBytes: longBytes, HeaderBytes: 8 + longBytes, SubbufBytes: subbufBytes}
}

// Capacity is how many bytes of records fit a sub-buffer.
func (l Layout) Capacity() int { return l.SubbufBytes - l.HeaderBytes }

// Check tells what is impossible about the layout, nil if nothing is.
func (l Layout) Check() error {
	switch {
	case l.Order != binary.ByteOrder(binary.LittleEndian) && l.Order != binary.ByteOrder(binary.BigEndian):
		return fmt.Errorf("sub-buffer layout: byte order is not set, expected little or big endian")
	case l.LongBytes != 4 && l.LongBytes != 8:
		return fmt.Errorf("sub-buffer layout: kernel long of %d bytes, expected 4 or 8", l.LongBytes)
	case l.SubbufBytes < MinBytes || l.SubbufBytes > MaxBytes || l.SubbufBytes&(l.SubbufBytes-1) != 0:
		return fmt.Errorf("sub-buffer layout: sub-buffer of %d bytes, expected a power of two from %d to %d", l.SubbufBytes, MinBytes, MaxBytes)
	case l.HeaderBytes < 8+l.LongBytes || l.HeaderBytes > 64 || l.HeaderBytes%4 != 0:
		return fmt.Errorf("sub-buffer layout: records begin at offset %d, expected %d", l.HeaderBytes, 8+l.LongBytes)
	case l.IDOffset < 0 || l.IDOffset > 64:
		return fmt.Errorf("sub-buffer layout: event id at offset %d of the payload, expected 0", l.IDOffset)
	}
	return nil
}

// String says the layout in words: "little endian, 8-byte long, sub-buffers of
// 4096 bytes".
func (l Layout) String() string {
	order := "unknown byte order"
	switch l.Order {
	case binary.LittleEndian:
		order = "little endian"
	case binary.BigEndian:
		order = "big endian"
	}
	return fmt.Sprintf("%s, %d-byte long, sub-buffers of %d bytes", order, l.LongBytes, l.SubbufBytes)
}

// Bits of the commit word. Only its low 32 bits mean anything: most kernels
// sign-extend when they set the flags, so that bits 32 to 63 are all ones.
// (ring_buffer.c, RB_MISSED_EVENTS and RB_MISSED_STORED, Linux 3.0 to 7.3)
const (
	commitMissed = 1 << 31 // records were overwritten before this sub-buffer
	commitStored = 1 << 30 // and their number stands behind the data
	commitLength = commitStored - 1
)

// Head is the header of a sub-buffer.
type Head struct {
	// Stamp is the time of the sub-buffer's first record, on the buffer's trace
	// clock: nanoseconds or ticks, which only the clock's name tells.
	Stamp uint64
	// Length is the number of bytes of records that follow the header.
	Length int
	// Missed says that the kernel overwrote records between the last
	// sub-buffer that this reader took and this one.
	Missed bool
	// Known says that the kernel wrote how many they were: Lost. Where no long
	// fits behind the data it does not (ring_buffer_read_page), and from Linux
	// 7.2 on not for a buffer that survived a reboot either.
	Known bool
	Lost  uint64
}

// Head decodes the header of the sub-buffer in b, and the count of lost records
// behind the data. b may be cut short. The error is a [*Damage] if the header
// cannot be what the kernel wrote; Stamp and the flags are not to be believed
// then.
func (l Layout) Head(b []byte) (Head, error) {
	if err := l.Check(); err != nil {
		return Head{}, err
	}
	h, d := l.head(b)
	if d.Kind != 0 {
		return h, &d
	}
	return h, nil
}

// head is Head without the check of the layout. A Damage of kind 0 is none.
func (l *Layout) head(b []byte) (Head, Damage) {
	if len(b) < l.HeaderBytes {
		return Head{}, Damage{Kind: PageCut, Found: uint64(len(b)), Limit: uint64(l.SubbufBytes), Bytes: int64(len(b))}
	}
	be := l.Order == binary.ByteOrder(binary.BigEndian)
	var h Head
	var commit uint32
	switch {
	case !be:
		h.Stamp = binary.LittleEndian.Uint64(b)
		commit = binary.LittleEndian.Uint32(b[8:])
	case l.LongBytes == 8:
		h.Stamp = binary.BigEndian.Uint64(b)
		commit = binary.BigEndian.Uint32(b[12:])
	default:
		h.Stamp = binary.BigEndian.Uint64(b)
		commit = binary.BigEndian.Uint32(b[8:])
	}
	h.Length = int(commit & commitLength)
	if h.Length > l.Capacity() {
		return h, Damage{Kind: CommitTooLong, Found: uint64(h.Length), Limit: uint64(l.Capacity()), Bytes: int64(len(b))}
	}
	h.Missed = commit&commitMissed != 0
	if commit&commitStored == 0 {
		return h, Damage{}
	}
	end := l.HeaderBytes + h.Length
	if !h.Missed || end+l.LongBytes > l.SubbufBytes {
		// The kernel sets the two bits together, and the second one only where
		// there is room. A loss is said either way; its number is not.
		h.Missed = true
		return h, Damage{Kind: CountMisplaced, Found: uint64(h.Length), Limit: uint64(l.Capacity() - l.LongBytes)}
	}
	if end+l.LongBytes > len(b) {
		return h, Damage{} // cut before the count; that it is cut is said by the walk
	}
	h.Lost, h.Known = l.count(b[end:], be)
	return h, Damage{}
}

// count decodes the number of lost records at the start of b. All ones is the
// kernel's -1, "unknown"; none at all cannot be what a set flag means.
func (l *Layout) count(b []byte, be bool) (n uint64, known bool) {
	switch {
	case l.LongBytes == 8:
		n = l.Order.Uint64(b)
		known = int64(n) > 0
	default:
		n = uint64(l.Order.Uint32(b))
		if n == 0 && be && len(b) >= 8 {
			// trace-cmd split writes the count as 8 bytes whatever the long is
			// (trace-split.c), so that a big-endian one stands in the second word.
			n = uint64(l.Order.Uint32(b[4:]))
		}
		known = int32(n) > 0
	}
	if !known {
		n = 0
	}
	return n, known
}
