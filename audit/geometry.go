package audit

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/ringaudit/ringaudit/tracefs"
)

// Geometry is how a ring buffer cuts its memory: into sub-buffers of SubbufBytes,
// each with a header and the rest for records. The kernel prints it in
// events/header_page (ring_buffer_print_page_header, kernel/trace/ring_buffer.c);
// where that is not at hand, [NewGeometry] computes it. All sizes are bytes, and
// 0 means not known.
type Geometry struct {
	PageBytes   uint64 // of the machine: 4096, 16384, 65536
	HeaderBytes uint64 // 16, or 12 on a 32-bit kernel (offsetof(struct buffer_data_page, data))
	SubbufBytes uint64 // a page, or 2^order pages since the 6.8 tree
	UsableBytes uint64 // SubbufBytes − HeaderBytes
	LongBytes   uint64 // the kernel's long: 8 or 4
}

// The most sub-buffers that are computed with; 2^44 of the smallest are more
// than a 64-bit machine can address.
const maxSubbufs = 1 << 44

// minSubbufs is what the kernel gives at least, the reader page not counted
// (ring_buffer_resize and ring_buffer_alloc, kernel/trace/ring_buffer.c).
const minSubbufs = 2

// maxSubbufBytes is the largest sub-buffer: no more than the write counter
// holds (RB_WRITE_MASK in ring_buffer_subbuf_order_set, since the 6.8 tree).
const maxSubbufBytes = 1 << 20

// maxSubbufOrder is the largest order that buffer_subbuf_size_kb takes
// (buffer_subbuf_size_write, kernel/trace/trace.c, since the 6.8 tree).
const maxSubbufOrder = 7

// NewGeometry is the geometry of a kernel with pages of pageBytes and a
// sub-buffer header of headerBytes (16, or 12 on a 32-bit kernel), after
// subbufKB was written to buffer_subbuf_size_kb; 0 for one that was left alone.
// As the kernel does, it rounds that up to pages times a power of two, and
// refuses more than 128 pages and more than 1 MiB.
func NewGeometry(pageBytes, headerBytes, subbufKB uint64) (Geometry, error) {
	g := Geometry{PageBytes: pageBytes, HeaderBytes: headerBytes, SubbufBytes: pageBytes}
	switch headerBytes {
	case 16:
		g.LongBytes = 8
	case 12:
		g.LongBytes = 4
	default:
		return Geometry{}, fmt.Errorf("a sub-buffer header has 16 bytes, or 12 on a 32-bit kernel, not %d", headerBytes)
	}
	if pageBytes < 4096 || pageBytes > 256<<10 || bits.OnesCount64(pageBytes) != 1 {
		return Geometry{}, fmt.Errorf("a page has 4096 to 262144 bytes, a power of two, not %d", pageBytes)
	}
	if subbufKB > 0 {
		if subbufKB > maxSubbufBytes>>10 {
			return Geometry{}, fmt.Errorf("a sub-buffer of %d kB: the kernel refuses more than %d kB", subbufKB, maxSubbufBytes>>10)
		}
		order := bits.Len64((subbufKB<<10+pageBytes-1)/pageBytes - 1)
		g.SubbufBytes = pageBytes << order
		if order > maxSubbufOrder || g.SubbufBytes > maxSubbufBytes {
			return Geometry{}, fmt.Errorf("a sub-buffer of %d kB: the kernel refuses more than %d kB with pages of %d bytes",
				subbufKB, min(pageBytes<<maxSubbufOrder, maxSubbufBytes)>>10, pageBytes)
		}
	}
	g.UsableBytes = g.SubbufBytes - headerBytes
	return g, nil
}

// GeometryOf is the geometry that events/header_page states; ok is false where
// it does not state all of it. pageBytes is the machine's page size, 0 if not
// known.
func GeometryOf(h *tracefs.HeaderPage, pageBytes uint64) (_ Geometry, ok bool) {
	if h == nil || h.SubbufSize() <= 0 {
		return Geometry{}, false
	}
	g := Geometry{
		PageBytes:   pageBytes,
		HeaderBytes: uint64(h.DataOffset.V),
		UsableBytes: uint64(h.DataSize.V),
		SubbufBytes: uint64(h.SubbufSize()),
		LongBytes:   uint64(h.LongSize()),
	}
	return g, g.valid()
}

// valid tells whether page arithmetic means anything: a sub-buffer holds more
// than 1024 bytes on every machine that Linux runs on, and what is printed in kB
// leads back to sub-buffers only because of it.
func (g Geometry) valid() bool {
	return g.UsableBytes > 1024 && g.UsableBytes <= 64<<20 && g.HeaderBytes > 0 && g.SubbufBytes == g.UsableBytes+g.HeaderBytes
}

// Grant is what one CPU gets for a request.
type Grant struct {
	RequestKB   uint64
	Subbufs     uint64 // for records; the reader page comes on top
	SizeKB      uint64 // what buffer_size_kb prints then: usable bytes in kB, rounded down
	UsableBytes uint64 // for records with their headers, of all Subbufs together
	// MemoryBytes is Subbufs and the reader page. What a kernel spends beyond it
	// on each CPU is not in: a struct buffer_page for every sub-buffer (64 bytes
	// on x86_64), struct ring_buffer_per_cpu, and at most one spare sub-buffer
	// once trace_pipe_raw was read. A snapshot costs the same again.
	MemoryBytes uint64
}

// Grant is what a CPU gets for requestKB written to buffer_size_kb: as many
// sub-buffers as hold the bytes, and two at least (ring_buffer_resize, the same
// in all trees from 4.4 to 7.3). SizeKB is what kernels print that store the
// size granted; older ones print the request (FACTS: update_buffer_entries).
// The kernel refuses 0, and so does Grant; it also refuses what no long of the
// kernel holds.
func (g Geometry) Grant(requestKB uint64) (Grant, error) {
	if !g.valid() {
		return Grant{}, fmt.Errorf("the geometry of the sub-buffers is not known")
	}
	if requestKB == 0 {
		return Grant{}, fmt.Errorf("the kernel refuses a request of 0 kB")
	}
	limit := uint64(math.MaxUint64) >> 10
	if g.LongBytes == 4 {
		limit = math.MaxUint32 >> 10
	}
	n := g.subbufsFor(min(requestKB, limit) << 10)
	if requestKB > limit || n > maxSubbufs {
		return Grant{}, fmt.Errorf("a request of %d kB for each CPU is more than a kernel can address", requestKB)
	}
	return g.grantOf(requestKB, n), nil
}

// grantOf is the Grant of n sub-buffers.
func (g Geometry) grantOf(requestKB, n uint64) Grant {
	return Grant{
		RequestKB: requestKB, Subbufs: n,
		UsableBytes: n * g.UsableBytes,
		SizeKB:      n * g.UsableBytes >> 10,
		MemoryBytes: (n + 1) * g.SubbufBytes,
	}
}

// subbufsFor is how many sub-buffers hold that many bytes, two at least.
func (g Geometry) subbufsFor(n uint64) uint64 {
	q := n / g.UsableBytes
	if n%g.UsableBytes != 0 {
		q++
	}
	return max(q, minSubbufs)
}

// RequestFor is the request, in kB, that is granted exactly n sub-buffers (two
// at least). It is also what buffer_size_kb prints then. ok is false if n is out
// of reach.
func (g Geometry) RequestFor(n uint64) (_ Grant, ok bool) {
	n = max(n, minSubbufs)
	if !g.valid() || n > maxSubbufs {
		return Grant{}, false
	}
	// n·usable/1024 rounded down asks for more than n−1 sub-buffers hold,
	// because one holds more than 1024 bytes.
	kb := n * g.UsableBytes >> 10
	if g.LongBytes == 4 && kb > math.MaxUint32>>10 {
		return Grant{}, false
	}
	return g.grantOf(kb, n), true
}

// Granted tells whether printedKB is a size that a kernel prints which stores
// the size granted. Where it is not, the kernel prints what was requested, or
// the sub-buffer size was changed since.
func (g Geometry) Granted(printedKB uint64) bool {
	if !g.valid() || printedKB > math.MaxUint64>>10 {
		return false
	}
	n := g.subbufsFor(printedKB << 10)
	return n <= maxSubbufs && n*g.UsableBytes>>10 == printedKB
}

// Subbufs is how many sub-buffers one CPU has whose buffer_size_kb prints
// printedKB, on a kernel that prints what was requested as well as on one that
// prints what was granted. [Geometry.ReadSize] knows the exceptions.
func (g Geometry) Subbufs(printedKB uint64) Count {
	if !g.valid() || printedKB > math.MaxUint64>>10 {
		return Unknown()
	}
	n := g.subbufsFor(printedKB << 10)
	if n > maxSubbufs {
		return Unknown()
	}
	return Exactly(n)
}

// Usable is the bytes for records of that many sub-buffers, reader page not counted.
func (g Geometry) Usable(subbufs Count) Count { return g.times(subbufs, g.UsableBytes) }

// Memory is what one CPU costs that has that many sub-buffers: they and the
// reader page, in bytes. See [Grant].MemoryBytes for what is not in it.
func (g Geometry) Memory(subbufs Count) Count {
	return g.times(subbufs.Plus(Exactly(1)), g.SubbufBytes)
}

// times multiplies; a product that does not fit loses its bound, never wraps.
func (g Geometry) times(c Count, by uint64) Count {
	if !g.valid() {
		return Unknown()
	}
	over, lo := bits.Mul64(c.Lo, by)
	if over != 0 {
		return AtLeast(math.MaxUint64)
	}
	over, hi := bits.Mul64(c.Hi, by)
	if c.Open || over != 0 {
		return AtLeast(lo)
	}
	return Between(lo, hi)
}

// EventsPerSubbuf is how many records of recordBytes (with their 4-byte header,
// as the kernel rounds it) fit into one sub-buffer, at most: a record that comes
// more than 2^27 ns after the one before it takes 8 bytes more.
func (g Geometry) EventsPerSubbuf(recordBytes uint64) uint64 {
	if !g.valid() || recordBytes == 0 {
		return 0
	}
	return g.UsableBytes / recordBytes
}

// Capacity is how many records of recordBytes a CPU of that many sub-buffers
// holds: before the first one is lost, and once the ring has wrapped. Then the
// oldest sub-buffer is thrown away as a whole, so that between one record more
// than all but one sub-buffer hold, and what all hold, is left.
func (g Geometry) Capacity(subbufs Count, recordBytes uint64) (before, wrapped Count) {
	per := g.EventsPerSubbuf(recordBytes)
	if per == 0 || subbufs.Lo == 0 {
		return Unknown(), Unknown()
	}
	before = g.times(subbufs, per)
	wrapped = g.times(Exactly(subbufs.Lo-1), per).Plus(Exactly(1))
	wrapped.Hi, wrapped.Open = before.Hi, before.Open
	return before, wrapped
}
