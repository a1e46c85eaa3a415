package tracedat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// worker is what one goroutine reads CPUs with.
type worker struct {
	buf []byte // of the file
	in  []byte // a chunk, still packed
	up  unpacker
}

func (w *worker) close() { w.up.close() }

// chunkHeader is the two sizes before each chunk: packed and unpacked.
const chunkHeader = 8

// saneChunk is the most that trace-cmd packs into a chunk: 10 sub-buffers.
func (d *CPUData) saneChunk() int { return max(10*d.pageBytes(), 1<<20) }

// maxChunk is the most that a chunk may take, packed or not.
func (d *CPUData) maxChunk() int { return max(d.saneChunk(), maxRawChunk) }

// pageBytes is the size of the sub-buffers, or what is usual if it is not known
// yet.
func (d *CPUData) pageBytes() int {
	if n := d.b.Layout.SubbufBytes; n > 0 {
		return n
	}
	return subbuf.MinBytes
}

// chunks goes through the compressed data of one CPU: u4 number of chunks, then
// each with its two sizes. The area's own size is no help where it is wrong by
// the 4 bytes that trace-cmd 3.1.6 leaves out; what follows in the file is.
type chunks struct {
	f     *File
	order binary.ByteOrder
	pos   int64
	end   int64 // of the area as its entry says
	limit int64 // where something else begins
	count uint32
	next  uint32 // number of the next chunk
}

func (d *CPUData) newChunks() (*chunks, *Problem) {
	f := d.b.f
	c := &chunks{f: f, order: f.Order, pos: d.Offset, end: min(d.limit, d.Offset+d.Present+4), limit: d.limit}
	var b [4]byte
	if _, err := f.r.ReadAt(b[:], d.Offset); err != nil {
		p := d.of(Problem{Kind: Truncated, Offset: d.Offset, Page: -1, Found: "no number of chunks: " + err.Error(), Expected: "4 bytes", Lost: "all data of this CPU"})
		return nil, &p
	}
	c.count = c.order.Uint32(b[:])
	c.pos += 4
	most := uint32(min((max(0, c.end-c.pos))/(chunkHeader+1), 1<<31))
	if c.count > most {
		p := d.of(Problem{Kind: Damaged, Offset: d.Offset, Page: -1, Found: fmt.Sprintf("%d chunks", c.count), Expected: fmt.Sprintf("at most %d in the %d bytes there are", most, c.end-c.pos),
			Hint: "chunks are read up to the end of the data"})
		c.count = ^uint32(0)
		return c, &p
	}
	return c, nil
}

// readChunks unpacks the CPU's chunks and hands them to s.
func (d *CPUData) readChunks(s sink, w *worker) {
	c, p := d.newChunks()
	if p != nil {
		s.problem(*p)
	}
	if c == nil {
		return
	}
	w.up.kind = d.b.f.Compression
	r := chunkReader{d: d, c: c, s: s, w: w, page: d.pageBytes()}
	counted := c.count != ^uint32(0)
	for c.next < c.count && c.pos+chunkHeader <= c.end {
		if !r.one() {
			return
		}
	}
	switch {
	case counted && c.next < c.count:
		s.problem(d.of(Problem{Kind: Truncated, Offset: c.pos, Page: r.pages, Found: fmt.Sprintf("%d of %d chunks", c.next, c.count), Expected: "all",
			Lost: "the newest events of this CPU are missing, how many is not known"}))
		s.gap(0, c.pos, max(0, c.end-c.pos))
	case len(r.rest) > 0:
		s.feed(r.rest, r.restOff, true)
	}
}

type chunkReader struct {
	d     *CPUData
	c     *chunks
	s     sink
	w     *worker
	page  int
	pages int64 // sub-buffers handed on so far
	// rest is a part of a sub-buffer at the end of a chunk. trace-cmd never
	// splits one; it is only taken where the data ends with it.
	rest    []byte
	restOff int64
}

// one unpacks the next chunk. It is false if the reading is to end.
func (r *chunkReader) one() bool {
	c, d, f := r.c, r.d, r.d.b.f
	at := c.pos
	var head [chunkHeader]byte
	if _, err := f.r.ReadAt(head[:], at); err != nil {
		return r.ended(at, err)
	}
	packed, raw := c.order.Uint32(head[:]), c.order.Uint32(head[4:])
	from, size := at+chunkHeader, int64(packed)
	bad := Problem{Kind: Damaged, Offset: at, Page: r.pages}
	switch {
	case size > c.end-from || size == 0:
		bad.Found, bad.Expected = fmt.Sprintf("chunk %d of %d packed bytes", c.next, packed), fmt.Sprintf("1 to %d", c.end-from)
		if c.end-from < size && c.end == f.Size && raw <= uint32(d.saneChunk()) && raw > 0 && size <= int64(raw) {
			bad.Kind = Truncated
		}
		size = r.resync(from) - from
	case int64(raw) > int64(d.maxChunk()) || raw == 0 || int(raw) > d.saneChunk() && raw%uint32(r.page) != 0:
		bad.Found, bad.Expected = fmt.Sprintf("chunk %d of %d bytes when unpacked", c.next, raw), fmt.Sprintf("1 to %d", d.saneChunk())
	}
	c.pos, c.next = from+size, c.next+1
	want := int(raw)
	if bad.Found != "" {
		want = d.saneChunk()
	}
	if size > int64(d.maxChunk()) {
		bad.Found, bad.Expected = fmt.Sprintf("chunk %d of %d packed bytes", c.next-1, size), fmt.Sprintf("at most %d", d.maxChunk())
		return r.unreadable(bad, at, from+size-at, 0)
	}
	if int64(cap(r.w.in)) < size {
		r.w.in = make([]byte, size)
	}
	in := r.w.in[:size]
	if _, err := f.r.ReadAt(in, from); err != nil {
		return r.ended(at, err)
	}
	unpack := r.w.up.unpack
	if bad.Found != "" {
		unpack = r.w.up.first // where it ends is not known
	}
	out, err := unpack(in, want)
	switch {
	case err != nil:
		if bad.Found == "" {
			bad.Found, bad.Expected = fmt.Sprintf("chunk %d: %v", c.next-1, err), fmt.Sprintf("%d bytes of %s data", want, f.Compression)
		}
		return r.unreadable(bad, at, from+size-at, int(raw))
	case bad.Found == "" && len(out) != want:
		bad.Found, bad.Expected = fmt.Sprintf("chunk %d of %d bytes when unpacked", c.next-1, len(out)), fmt.Sprint(want)
		r.s.problem(d.of(bad))
	case bad.Found != "" && (len(out) == 0 || len(out)%r.page != 0):
		return r.unreadable(bad, at, from+size-at, 0)
	case bad.Found != "":
		bad.Hint = fmt.Sprintf("it unpacks to %d whole sub-buffers, which are used", len(out)/r.page)
		r.s.problem(d.of(bad))
	}
	return r.hand(out, at)
}

// hand gives whole sub-buffers on and keeps the rest.
func (r *chunkReader) hand(out []byte, at int64) bool {
	if len(r.rest) > 0 {
		r.s.problem(r.d.of(Problem{Kind: Damaged, Offset: r.restOff, Page: r.pages, Found: fmt.Sprintf("a chunk that ends %d bytes into a sub-buffer", len(r.rest)),
			Expected: "whole sub-buffers"}))
		r.s.gap(1, r.restOff, 0)
		r.pages++
		r.rest = r.rest[:0]
	}
	whole := len(out) / r.page * r.page
	r.pages += int64(whole / r.page)
	if whole > 0 && !r.s.feed(out[:whole], at, true) {
		return false
	}
	r.rest, r.restOff = append(r.rest, out[whole:]...), at
	return true
}

// unreadable says that a chunk is lost. How many sub-buffers were in it is what
// its header says, or the usual number where that cannot be.
func (r *chunkReader) unreadable(p Problem, at, bytes int64, raw int) bool {
	pages := int64(raw+r.page-1) / int64(r.page)
	if raw <= 0 || raw > r.d.saneChunk() {
		pages = 10
		p.Lost = "probably 10 sub-buffers"
	} else {
		p.Lost = fmt.Sprintf("%d sub-buffers", pages)
	}
	p.Lost += " of data, between the events before and behind it"
	r.s.problem(r.d.of(p))
	if len(r.rest) > 0 {
		pages++
		r.rest = r.rest[:0]
	}
	r.s.gap(pages, at, bytes)
	r.pages += pages
	return true
}

// ended says that the file ends, or cannot be read, within a chunk.
func (r *chunkReader) ended(at int64, err error) bool {
	kind, hint := Damaged, ""
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		kind, hint = Truncated, "it was longer when reading began: is somebody writing it?"
	}
	r.s.problem(r.d.of(Problem{Kind: kind, Offset: at, Page: r.pages, Found: fmt.Sprintf("chunk %d: %v", r.c.next, err), Expected: "the whole chunk",
		Lost: "the newest events of this CPU are missing, how many is not known", Hint: hint}))
	r.s.gap(0, at, max(0, r.c.end-at))
	return false
}

// resync looks behind a chunk whose size is impossible for the next one: two
// sizes that can be, and the first bytes of a zstd frame or a zlib stream. It
// gives the offset of its sizes, or the end of the data.
func (r *chunkReader) resync(from int64) int64 {
	c := r.c
	const window = 256 << 10
	buf := make([]byte, window)
	for at := from; at+chunkHeader+4 <= c.end; at += window - chunkHeader - 4 {
		n, _ := c.f.r.ReadAt(buf[:min(window, c.end-at)], at)
		b := buf[:n]
		for i := 0; i+chunkHeader+4 <= len(b); i++ {
			if !startsPacked(c.f.Compression, b[i+chunkHeader:]) {
				continue
			}
			packed, raw := c.order.Uint32(b[i:]), c.order.Uint32(b[i+4:])
			if packed > 0 && int64(packed) <= c.end-(at+int64(i)+chunkHeader) && raw > 0 && int(raw) <= r.d.saneChunk() && int(raw)%r.page == 0 {
				return at + int64(i)
			}
		}
		if n < window {
			break
		}
	}
	return c.end
}

// startsPacked tells whether b begins as compressed data does: with the magic
// number of a zstd frame (RFC 8878) or the header of a zlib stream (RFC 1950).
func startsPacked(kind string, b []byte) bool {
	switch kind {
	case "zstd":
		return b[0] == 0x28 && b[1] == 0xb5 && b[2] == 0x2f && b[3] == 0xfd
	case "zlib":
		return b[0] == 0x78 && (uint(b[0])<<8|uint(b[1]))%31 == 0 && b[1]&0x20 == 0
	}
	return false
}
