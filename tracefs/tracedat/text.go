package tracedat

import (
	"errors"
	"io"
)

// textReader unpacks the chunks of a buffer that was recorded as text.
type textReader struct {
	r    chunkReader
	out  []byte
	held []byte
	err  error
}

func newTextReader(d *CPUData) *textReader {
	t := &textReader{}
	c, p := d.newChunks()
	if p != nil && c == nil {
		t.err = errors.New(p.String())
		return t
	}
	t.r = chunkReader{d: d, c: c, w: &worker{}, page: 1, s: sink{
		feed:    func(b []byte, _ int64, _ bool) bool { t.out = append(t.held[:0], b...); t.held = t.out; return true },
		gap:     func(int64, int64, int64) {},
		problem: func(p Problem) { t.err = errors.Join(t.err, errors.New(p.String())) },
	}}
	t.r.w.up.kind = d.b.f.Compression
	return t
}

func (t *textReader) Read(b []byte) (int, error) {
	for len(t.out) == 0 && t.err == nil {
		c := t.r.c
		if c.next >= c.count || c.pos+chunkHeader > c.end {
			t.err = io.EOF
			if c.next < c.count && c.count != ^uint32(0) {
				t.err = io.ErrUnexpectedEOF
			}
			t.r.w.close()
			break
		}
		t.r.one()
	}
	n := copy(b, t.out)
	t.out = t.out[n:]
	if n > 0 {
		return n, nil
	}
	return 0, t.err
}
