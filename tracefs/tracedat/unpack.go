package tracedat

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// errUnpack is wrapped by errors of compressed data that cannot be unpacked.
var errUnpack = errors.New("cannot be unpacked")

// zstdWindow is the most memory that a frame may ask for. trace-cmd compresses
// at the default level, whose window is 2 MiB.
const zstdWindow = 16 << 20

// unpacker unpacks the chunks of compressed trace data, one at a time.
type unpacker struct {
	kind string
	zstd *zstd.Decoder
	zlib io.ReadCloser
	src  bytes.Reader
	out  []byte
}

func (u *unpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

// unpack unpacks b to at most most bytes. What it returns is valid until it is
// called again. More than most bytes are an error.
func (u *unpacker) unpack(b []byte, most int) ([]byte, error) {
	if cap(u.out) < most+1 {
		// The decoder's fast path wants room for a zstd block behind the data.
		u.out = make([]byte, 0, most+128<<10+64)
	}
	switch u.kind {
	case "zstd":
		if u.zstd == nil {
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20),
				zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxWindow(zstdWindow))
			if err != nil {
				return nil, err
			}
			u.zstd = d
		}
		out, err := u.zstd.DecodeAll(b, u.out[:0])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUnpack, err)
		}
		return checkLen(out, most)
	case "zlib":
		u.src.Reset(b)
		var err error
		if u.zlib == nil {
			u.zlib, err = zlib.NewReader(&u.src)
		} else {
			err = u.zlib.(zlib.Resetter).Reset(&u.src, nil)
		}
		if err != nil {
			u.zlib = nil
			return nil, fmt.Errorf("%w: %w", errUnpack, err)
		}
		n, err := io.ReadFull(u.zlib, u.out[:most+1])
		if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%w: %w", errUnpack, err)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			// Either the unpacked data is shorter than most, as it may be, or
			// the packed data ends too early: only a further read tells.
			if _, err := u.zlib.Read(make([]byte, 1)); err != io.EOF {
				return nil, fmt.Errorf("%w: it ends too early", errUnpack)
			}
		}
		return checkLen(u.out[:n], most)
	}
	return nil, fmt.Errorf("%w: compression %q", errUnpack, u.kind)
}

// first unpacks the frame that b begins with to at most most bytes, whatever
// stands behind it in b.
func (u *unpacker) first(b []byte, most int) ([]byte, error) {
	var r io.Reader
	switch u.kind {
	case "zstd":
		d, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		r = d
	case "zlib":
		z, err := zlib.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUnpack, err)
		}
		r = z
	default:
		return nil, fmt.Errorf("%w: compression %q", errUnpack, u.kind)
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	// What follows a zstd frame is taken for another one.
	if err != nil && !errors.Is(err, zstd.ErrMagicMismatch) && !(errors.Is(err, io.ErrUnexpectedEOF) && u.kind == "zstd") {
		return nil, fmt.Errorf("%w: %w", errUnpack, err)
	}
	return checkLen(out, most)
}

func checkLen(out []byte, most int) ([]byte, error) {
	if len(out) > most {
		return nil, fmt.Errorf("%w: more than %d bytes come out", errUnpack, most)
	}
	return out, nil
}

// unpacked is a cursor over a compressed section, at offset base of the file,
// of raw bytes when unpacked.
func (f *File) unpacked(r io.Reader, base, raw int64) (*cursor, error) {
	c := &cursor{order: f.Order, base: base, end: raw, close: func() {}}
	switch f.Compression {
	case "zstd":
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("section at offset %d %w: %w", base, errUnpack, err)
		}
		c.r, c.close = bufio.NewReader(unpackErrors{d, base}), d.Close
	case "zlib":
		z, err := zlib.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("section at offset %d %w: %w", base, errUnpack, err)
		}
		c.r = bufio.NewReader(unpackErrors{z, base})
	default:
		return nil, fmt.Errorf("section at offset %d %w: compression %q", base, errUnpack, f.Compression)
	}
	return c, nil
}

// unpackErrors marks the errors of a decompressor, so that they can be told from
// those of the file.
type unpackErrors struct {
	r    io.Reader
	base int64
}

func (u unpackErrors) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("section at offset %d %w: %w", u.base, errUnpack, err)
	}
	return n, err
}
