package subbuf

import (
	"encoding/binary"
	"sync"
)

// Summarizer makes the [Summary] of one stream of sub-buffers, fed in order.
// It holds no more than a stated amount of memory however long the stream is.
// It is not for concurrent use.
type Summarizer struct {
	l   Layout
	opt Options
	be  bool
	s   Summary

	ids   *idTable
	maxID int

	last    uint64 // stamp of the last event
	hasLast bool
	gapFrom bool // last is of the sub-buffer right before, so that a gap can be measured
	fill    Fill // the sub-buffer right before is one
	hasFill bool

	emptyRun      int64 // empty sub-buffers since the last one with records
	firstUndated  int   // Damage from this index on has no Before yet
	holes         holeList
	fills         fillList
	gaps          gapHistogram
	summaryClosed bool
}

// idTable counts by event id. A table is 1 MiB, so they are handed on.
type idTable [1 << 16]struct{ records, bytes uint64 }

var idTables = sync.Pool{New: func() any { return new(idTable) }}

// NewSummarizer is a Summarizer for sub-buffers of layout l. Its memory is given
// back by [Summarizer.Finish].
func NewSummarizer(l Layout, opt Options) (*Summarizer, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	return &Summarizer{
		l: l, opt: opt, be: l.Order == binary.ByteOrder(binary.BigEndian),
		ids:   idTables.Get().(*idTable),
		maxID: -1,
		holes: holeList{max: opt.MaxHoles, unit: 1},
		fills: fillList{max: opt.MaxFills},
	}, nil
}

// Feed takes the next bytes of the stream: whole sub-buffers, of which the first
// stands at offset off of the file. Where b ends within a sub-buffer the rest of
// it is taken as missing, so that only the last Feed of a stream may do so.
func (z *Summarizer) Feed(b []byte, off int64) { z.feed(b, off, 1) }

// FeedPacked is Feed for sub-buffers that come out of one compressed block, at
// offset off of the file.
func (z *Summarizer) FeedPacked(b []byte, off int64) { z.feed(b, off, 0) }

func (z *Summarizer) feed(b []byte, off, step int64) {
	size := z.l.SubbufBytes
	z.s.StreamBytes += int64(len(b))
	for ; len(b) >= size; b = b[size:] {
		z.page(b[:size], off)
		off += step * int64(size)
	}
	if len(b) > 0 {
		z.s.TailBytes = len(b)
		z.page(b, off)
	}
}

// Gap says that at this place of the stream pages sub-buffers cannot be had,
// which take bytes bytes of the file at offset off.
func (z *Summarizer) Gap(pages, off, bytes int64) {
	z.damage(Damage{Kind: Unreadable, Page: z.s.Pages, Offset: off, Bytes: bytes, Pages: pages})
	z.s.Pages += pages
	z.broken()
}

// broken ends what is measured from one sub-buffer to the next.
func (z *Summarizer) broken() {
	if z.hasFill {
		z.fills.add(z.fill)
	}
	z.gapFrom, z.hasFill = false, false
	if z.hasLast {
		z.s.EmptyInside += z.emptyRun
	}
	z.emptyRun = 0
}

// Finish ends the stream. The Summarizer cannot be used afterwards.
func (z *Summarizer) Finish() *Summary {
	if z.summaryClosed {
		return &z.s
	}
	z.summaryClosed = true
	if z.hasFill {
		z.fills.add(z.fill)
	}
	s := &z.s
	s.Layout = z.l
	s.EmptyTail = z.emptyRun
	s.Last = z.last
	n := 0
	for i := range z.ids[:z.maxID+1] {
		if z.ids[i].records != 0 {
			n++
		}
	}
	s.ByID = make([]IDCount, 0, n)
	for i := range z.ids[:z.maxID+1] {
		if c := &z.ids[i]; c.records != 0 {
			s.ByID = append(s.ByID, IDCount{ID: uint16(i), Records: c.records, Bytes: c.bytes})
			s.Records += c.records
			s.Bytes += c.bytes
			c.records, c.bytes = 0, 0
		}
	}
	idTables.Put(z.ids)
	z.ids = nil
	s.Holes, s.HolesPerEntry = z.holes.list, z.holes.unit
	s.Fills, s.FillsTotal = z.fills.finish()
	s.MedianGap, s.Gaps = z.gaps.median()
	return s
}

// page takes the next sub-buffer, at offset off of the file.
func (z *Summarizer) page(b []byte, off int64) {
	l := &z.l
	h, d := l.head(b)
	if d.Kind != 0 {
		z.damageAt(d, off)
		if d.Kind != CountMisplaced {
			z.s.Pages++
			z.broken()
			return
		}
	}
	if h.Length == 0 && !h.Missed {
		z.s.EmptyPages++
		z.emptyRun++
		z.s.Pages++
		return
	}
	z.notEmpty(h.Stamp, off)

	before, hadLast := z.last, z.hasLast
	data := b[l.HeaderBytes:min(len(b), l.HeaderBytes+h.Length)]
	w := walk{ts: h.Stamp}
	z.walk(data, &w)
	z.s.Discarded += w.discarded
	z.s.DiscardedBytes += w.discardedBytes
	z.s.Extends += w.extends
	z.s.Absolutes += w.absolutes
	if w.wentBack {
		z.timeBack(w.backFrom, w.backTo, off)
	}
	if w.records > 0 {
		if z.maxID < int(w.maxID) {
			z.maxID = int(w.maxID)
		}
		if !z.hasLast {
			z.hasLast, z.s.First = true, w.first
		}
		for ; z.firstUndated < len(z.s.Damage); z.firstUndated++ {
			z.s.Damage[z.firstUndated].Before, z.s.Damage[z.firstUndated].HasBefore = w.first, true
		}
		z.last = w.last
	}
	z.gapFrom = w.records > 0

	if h.Missed {
		z.hole(h, off, before, hadLast, &w)
	}
	cut := len(data) < h.Length
	switch {
	case w.kind != 0 && cut && w.kind == RecordPastEnd:
		z.cut(b, h, off, &w)
	case w.kind != 0:
		z.damageAt(Damage{Kind: w.kind, At: l.HeaderBytes + w.pos, Found: w.found, Limit: w.limit,
			Records: w.records, Bytes: int64(h.Length - w.pos)}, off)
	case cut:
		z.cut(b, h, off, &w)
	case w.filler && h.Length == l.Capacity() && z.hasLast:
		z.fill, z.hasFill = Fill{Page: z.s.Pages, Offset: off, After: z.last}, true
	}
	z.s.Pages++
}

// notEmpty relates a sub-buffer with records to the one before it.
func (z *Summarizer) notEmpty(stamp uint64, off int64) {
	if z.hasLast {
		z.s.EmptyInside += z.emptyRun
		if stamp < z.last {
			z.timeBack(z.last, stamp, off)
		} else if z.gapFrom {
			z.gaps.add(stamp - z.last)
		}
	}
	z.emptyRun = 0
	if z.hasFill {
		z.hasFill = false
		z.fill.Before, z.fill.HasBefore = stamp, true
		if stamp > z.fill.After {
			z.fill.Gap = stamp - z.fill.After
		}
		z.fills.add(z.fill)
	}
}

func (z *Summarizer) hole(h Head, off int64, after uint64, hasAfter bool, w *walk) {
	x := Hole{After: after, HasAfter: hasAfter, Before: h.Stamp, Count: h.Lost, Known: h.Known, Page: z.s.Pages, Offset: off, Holes: 1}
	if w.records > 0 {
		x.Before = w.first
	}
	z.s.HolesTotal++
	if x.Known {
		z.s.Lost = addSaturated(z.s.Lost, x.Count)
	} else {
		x.Count, x.Unknown = 1, 1
		z.s.HolesUnknown++
	}
	z.holes.add(x)
}

func (z *Summarizer) cut(b []byte, h Head, off int64, w *walk) {
	d := Damage{At: z.l.HeaderBytes + w.pos, Records: w.records, Bytes: int64(h.Length - w.pos)}
	d.cutAt(len(b), z.l.SubbufBytes)
	z.damageAt(d, off)
}

func (z *Summarizer) damageAt(d Damage, off int64) {
	d.Page, d.Offset = z.s.Pages, off
	if d.Kind != CountMisplaced {
		d.Pages = 1
	}
	z.damage(d)
}

func (z *Summarizer) damage(d Damage) {
	z.s.DamageTotal++
	z.s.DamagedPages += d.Pages
	z.s.DamagedBytes += d.Bytes
	if len(z.s.Damage) == z.opt.MaxDamage {
		return
	}
	d.After, d.HasAfter = z.last, z.hasLast
	z.s.Damage = append(z.s.Damage, d)
}

func (z *Summarizer) timeBack(from, to uint64, off int64) {
	z.s.TimeBackTotal++
	if len(z.s.TimeBack) < z.opt.MaxDamage {
		z.s.TimeBack = append(z.s.TimeBack, TimeBack{Page: z.s.Pages, Offset: off, From: from, To: to})
	}
}
