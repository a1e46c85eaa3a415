package subbuf

import (
	"errors"
	"fmt"
	"io"
)

// blockBytes is how much of a stream is read at once.
const blockBytes = 256 << 10

// SummarizeStream reads sub-buffers of one CPU to the end of r and makes their
// [Summary]: of a trace_pipe_raw or snapshot_raw that was saved, or of a page
// file that a killed trace-cmd left behind.
//
// Damage is in the Summary. An error of r ends the reading; it comes with the
// Summary of what was read before.
func SummarizeStream(r io.Reader, l Layout, opt Options) (*Summary, error) {
	z, err := NewSummarizer(l, opt)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, max(blockBytes, l.SubbufBytes))
	var off int64
	for {
		n, err := io.ReadFull(r, buf)
		z.Feed(buf[:n], off)
		off += int64(n)
		switch {
		case err == nil:
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return z.Finish(), nil
		default:
			return z.Finish(), fmt.Errorf("reading sub-buffers at offset %d: %w", off, err)
		}
	}
}

// SummarizeAt is [SummarizeStream] over the first size bytes of r. A stream that
// turns out to be shorter is an error: it was cut while it was read.
func SummarizeAt(r io.ReaderAt, size int64, l Layout, opt Options) (*Summary, error) {
	s, err := SummarizeStream(io.NewSectionReader(r, 0, size), l, opt)
	if err == nil && s.StreamBytes < size {
		err = fmt.Errorf("reading sub-buffers at offset %d: the file ends there, it had %d bytes: was it cut meanwhile?", s.StreamBytes, size)
	}
	return s, err
}
