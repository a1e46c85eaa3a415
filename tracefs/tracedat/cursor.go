package tracedat

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits on what a file may make a reader hold. They are far above anything
// that trace-cmd writes.
const (
	maxCPUs        = 1 << 16
	maxOptions     = 1 << 18
	maxBuffers     = 1 << 12
	maxEntries     = 1 << 16  // CPUs of all buffers together
	maxOptionKept  = 4 << 20  // one option's payload
	maxOptionsKept = 32 << 20 // all of them
	maxFormat      = 1 << 20  // one event's format
	maxHeaderText  = 1 << 20  // header_page and header_event
	maxName        = 4096     // a name that ends in a NUL
	maxRawSection  = 64 << 20 // a compressed section, unpacked
	maxRawChunk    = 16 << 20 // a chunk of compressed trace data, unless its sub-buffers are larger
)

// shortError says that a part of the file ends before something in it does.
type shortError struct {
	what       string
	off        int64
	need, have uint64
}

func (e *shortError) Error() string {
	return fmt.Sprintf("%s at offset %d: needs %d bytes, %d are left", e.what, e.off, e.need, e.have)
}

// valueError says that a number is impossible.
type valueError struct {
	what            string
	off             int64
	found, expected string
}

func (e *valueError) Error() string {
	return fmt.Sprintf("%s at offset %d: found %s, expected %s", e.what, e.off, e.found, e.expected)
}

// cursor reads a part of the file from front to back: a stretch of it, or a
// compressed section while it is unpacked.
type cursor struct {
	r     *bufio.Reader
	src   io.ReaderAt // nil if unpacked
	order binary.ByteOrder
	pos   int64 // offset in the file, or in the unpacked section
	end   int64
	base  int64 // offset in the file that messages speak of, if unpacked
	close func()
}

func (f *File) cursor(from, to int64) *cursor {
	return &cursor{
		r:   bufio.NewReaderSize(io.NewSectionReader(f.r, from, to-from), 8<<10),
		src: f.r, order: f.Order, pos: from, end: to, close: func() {},
	}
}

// at is the offset in the file to speak of.
func (c *cursor) at() int64 {
	if c.src == nil {
		return c.base
	}
	return c.pos
}

func (c *cursor) left() uint64 { return uint64(max(0, c.end-c.pos)) }

// need checks that n more bytes can be there.
func (c *cursor) need(n uint64, what string) error {
	if n > c.left() {
		return &shortError{what, c.at(), n, c.left()}
	}
	return nil
}

// bytes are the next n bytes.
func (c *cursor) bytes(n uint64, what string) ([]byte, error) {
	if err := c.need(n, what); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	got, err := io.ReadFull(c.r, b)
	c.pos += int64(got)
	if err != nil {
		return nil, c.failed(err, what, n, got)
	}
	return b, nil
}

// failed is the error for a read that fell short: an end of what should be
// longer is a cut; anything else goes to the caller as it is.
func (c *cursor) failed(err error, what string, n uint64, got int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &shortError{what, c.at(), n, uint64(got)}
	}
	return fmt.Errorf("%s at offset %d: %w", what, c.at(), err)
}

func (c *cursor) uint(n int, what string) (uint64, error) {
	var a [8]byte
	if err := c.need(uint64(n), what); err != nil {
		return 0, err
	}
	got, err := io.ReadFull(c.r, a[:n])
	c.pos += int64(got)
	if err != nil {
		return 0, c.failed(err, what, uint64(n), got)
	}
	switch n {
	case 2:
		return uint64(c.order.Uint16(a[:])), nil
	case 4:
		return uint64(c.order.Uint32(a[:])), nil
	}
	return c.order.Uint64(a[:]), nil
}

func (c *cursor) u16(what string) (uint16, error) { v, err := c.uint(2, what); return uint16(v), err }
func (c *cursor) u32(what string) (uint32, error) { v, err := c.uint(4, what); return uint32(v), err }
func (c *cursor) u64(what string) (uint64, error) { return c.uint(8, what) }

// cstr is the bytes up to a NUL, which is taken and not returned.
func (c *cursor) cstr(what string) (string, error) {
	var b []byte
	at := c.at()
	for {
		if err := c.need(1, what); err != nil {
			return "", err
		}
		ch, err := c.r.ReadByte()
		if err != nil {
			return "", c.failed(err, what, 1, 0)
		}
		c.pos++
		if ch == 0 {
			return string(b), nil
		}
		if b = append(b, ch); len(b) > maxName {
			return "", &valueError{what, at, fmt.Sprintf("no end of the name within %d bytes", maxName), "a NUL"}
		}
	}
}

// skip leaves out n bytes.
func (c *cursor) skip(n uint64, what string) error {
	if err := c.need(n, what); err != nil {
		return err
	}
	if c.src != nil && n > uint64(c.r.Buffered()) {
		c.pos += int64(n)
		c.r.Reset(io.NewSectionReader(c.src, c.pos, c.end-c.pos))
		return nil
	}
	for n > 0 {
		got, err := c.r.Discard(int(min(n, 1<<30)))
		c.pos += int64(got)
		n -= uint64(got)
		if err != nil {
			return c.failed(err, what, n, got)
		}
	}
	return nil
}
