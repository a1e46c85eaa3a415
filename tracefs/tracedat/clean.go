package tracedat

import (
	"encoding/binary"

	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// cleaner makes of a stream of sub-buffers, some of them damaged, one of whole
// ones.
type cleaner struct {
	l   subbuf.Layout
	buf []byte
	// broken says that something was left out since the last sub-buffer that
	// was kept.
	broken                    bool
	pages, shortened, dropped int64
	records                   uint64
}

// Flags of the commit word; see package subbuf.
const (
	commitMissed = 1 << 31
	commitStored = 1 << 30
)

// clean gives what to write for sub-buffer b, nil for nothing: b itself, or a
// repaired copy that is valid until the next call.
func (c *cleaner) clean(b []byte) []byte {
	p, err := c.l.Page(b)
	if err != nil && err.(*subbuf.Damage).Kind != subbuf.CountMisplaced {
		c.dropped++
		c.broken = true
		return nil
	}
	if p.Length == 0 && !p.Missed {
		return nil
	}
	end, records := c.l.HeaderBytes, uint64(0)
	var bad error
	for r, err := range p.Records() {
		if err != nil {
			bad = err
			break
		}
		end = r.Offset + r.Length
		if r.Kind == subbuf.Data {
			records++
		}
	}
	if bad != nil && records == 0 {
		c.dropped++
		c.broken = true
		return nil
	}
	c.pages++
	c.records += records
	was := c.broken
	c.broken = bad != nil
	if bad != nil {
		c.shortened++
	}
	if bad == nil && err == nil && !was && len(b) == c.l.SubbufBytes {
		return b
	}
	return c.repair(b, end, p, was)
}

// repair is a copy of b with records up to end.
func (c *cleaner) repair(b []byte, end int, p subbuf.Page, broken bool) []byte {
	if c.buf == nil {
		c.buf = make([]byte, c.l.SubbufBytes)
	}
	clear(c.buf)
	copy(c.buf, b[:end])
	commit := uint32(end - c.l.HeaderBytes)
	switch long := c.l.LongBytes; {
	case broken || p.Missed && !p.Known:
		// A count that is stored here is of the records that the kernel
		// overwrote; of those that are left out with them nothing tells.
		commit |= commitMissed
	case p.Missed && end+long <= len(c.buf):
		commit |= commitMissed | commitStored
		if long == 8 {
			c.l.Order.PutUint64(c.buf[end:], p.Lost)
		} else {
			c.l.Order.PutUint32(c.buf[end:], uint32(p.Lost))
		}
	}
	word := c.buf[8 : 8+c.l.LongBytes]
	clear(word)
	if c.l.LongBytes == 8 && c.l.Order == binary.ByteOrder(binary.BigEndian) {
		word = word[4:]
	}
	c.l.Order.PutUint32(word, commit)
	return c.buf
}
