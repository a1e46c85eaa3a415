package subbuf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func summarize(t testing.TB, l Layout, stream []byte) *Summary {
	t.Helper()
	z, err := NewSummarizer(l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	z.Feed(stream, 0)
	return z.Finish()
}

// Each machine writes the same two sub-buffers; the numbers follow from what the
// builder was asked for.
func TestSummaryOfEveryMachine(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.String(), func(t *testing.T) {
			w := &builder{l: l}
			w.event(0, 7, 3).event(100, 9, 28).extend(1<<40+5).event(2, 7, 1).discarded(30, 24).long(1, 500, 201)
			stream := w.page(1000, 0, 0, 0)
			w.event(0, 9, 2)
			stream = append(stream, w.page(1<<41, missed|stored, 7, 0xffffffff)...)
			stream = append(stream, make([]byte, l.SubbufBytes)...) // a recorder's padding

			s := summarize(t, l, stream)
			// 4+12, 4+112, 4+4, 8+204 and 4+8 bytes.
			want := []IDCount{{7, 2, 16 + 8}, {9, 2, 116 + 12}, {500, 1, 212}}
			if d := cmp.Diff(want, s.ByID); d != "" {
				t.Error("by id (-want +got):\n" + d)
			}
			if s.Records != 5 || s.Bytes != 16+8+116+12+212 {
				t.Errorf("%d records of %d bytes", s.Records, s.Bytes)
			}
			if s.First != 1000 || s.Last != 1<<41 {
				t.Errorf("from %d to %d", s.First, s.Last)
			}
			if s.Discarded != 1 || s.DiscardedBytes != 24 || s.Extends != 1 || s.Absolutes != 0 {
				t.Errorf("discarded %d (%d bytes), extends %d, absolute %d", s.Discarded, s.DiscardedBytes, s.Extends, s.Absolutes)
			}
			if s.Pages != 3 || s.EmptyPages != 1 || s.EmptyTail != 1 || s.EmptyInside != 0 {
				t.Errorf("pages %d, empty %d, tail %d, inside %d", s.Pages, s.EmptyPages, s.EmptyTail, s.EmptyInside)
			}
			// The last event before the hole: 1000+0+100+(1<<40+5)+2, then a
			// discarded record that took 30, then 1.
			holes := []Hole{{After: 1000 + 100 + 1<<40 + 5 + 2 + 30 + 1, HasAfter: true, Before: 1 << 41, Count: 7, Known: true,
				Page: 1, Offset: int64(l.SubbufBytes), Holes: 1}}
			if d := cmp.Diff(holes, s.Holes); d != "" {
				t.Error("holes (-want +got):\n" + d)
			}
			if s.Lost != 7 || s.HolesTotal != 1 || s.HolesUnknown != 0 {
				t.Errorf("lost %d in %d holes, %d unknown", s.Lost, s.HolesTotal, s.HolesUnknown)
			}
			if s.DamageTotal != 0 || s.TimeBackTotal != 0 {
				t.Errorf("damage %v, time back %v", s.Damage, s.TimeBack)
			}
		})
	}
}

// A count is decoded whatever the first record is (libtraceevent hides it behind
// a time stamp, a time extend and a discarded record).
func TestCountBehindAnyFirstRecord(t *testing.T) {
	for _, l := range layouts {
		for name, first := range map[string]func(*builder) *builder{
			"event":       func(w *builder) *builder { return w },
			"time stamp":  func(w *builder) *builder { return w.absolute(5000) },
			"time extend": func(w *builder) *builder { return w.extend(0) },
			"discarded":   func(w *builder) *builder { return w.discarded(1, 16) },
		} {
			w := &builder{l: l}
			first(w).event(3, 1, 2)
			s := summarize(t, l, w.page(5000, missed|stored, 1<<30+1, 0xffffffff))
			if s.Lost != 1<<30+1 || s.HolesUnknown != 0 || s.Records != 1 {
				t.Errorf("%v, %s first: lost %d, unknown %d, records %d", l, name, s.Lost, s.HolesUnknown, s.Records)
			}
			if h := s.Holes[0]; h.HasAfter || h.Before < 5003 || h.Before > 5004 {
				t.Errorf("%v, %s first: hole %+v, want it to end at the first event", l, name, h)
			}
		}
	}
}

func TestHoleWithoutCount(t *testing.T) {
	for _, l := range layouts {
		full := func(flags uint32, count uint64) *Summary {
			w := &builder{l: l}
			for l.Capacity()-len(w.b) >= 80 {
				w.event(1, 3, 9)
			}
			w.event(1, 3, uint32(l.Capacity()-len(w.b)-4)/4) // to the last byte
			return summarize(t, l, w.page(10, flags, count, 0xffffffff))
		}
		s := full(missed, 0)
		if s.HolesTotal != 1 || s.HolesUnknown != 1 || s.Lost != 0 || s.Holes[0].Known || s.Holes[0].Count != 1 {
			t.Errorf("%v: flag alone on a full sub-buffer: %+v", l, s.Holes)
		}
		if s.DamageTotal != 0 {
			t.Errorf("%v: %v", l, s.Damage)
		}
		// No kernel says that a count is stored where there is no room for it.
		s = full(missed|stored, 5)
		if s.HolesUnknown != 1 || s.DamageTotal != 1 || s.Damage[0].Kind != CountMisplaced || s.Records == 0 || s.DamagedPages != 0 {
			t.Errorf("%v: count without room: holes %+v, damage %v, %d records", l, s.Holes, s.Damage, s.Records)
		}
		for _, count := range []uint64{0, ^uint64(0), 1 << 63} {
			w := &builder{l: l}
			if l.LongBytes == 4 {
				count = uint64(uint32(count >> 32))
			}
			w.event(1, 3, 9)
			s = summarize(t, l, w.page(10, missed|stored, count, 0))
			if s.HolesUnknown != 1 || s.Lost != 0 {
				t.Errorf("%v: count %#x is no number of events: %+v", l, count, s.Holes)
			}
		}
	}
}

// trace-cmd split writes 8 bytes for the count of a 4-byte long.
func TestCountOfSplitFile(t *testing.T) {
	l := layouts[3]
	w := &builder{l: l}
	w.event(0, 1, 1)
	p := w.page(10, missed|stored, 0, 0)
	l.Order.PutUint64(p[l.HeaderBytes+8:], 4711)
	if s := summarize(t, l, p); s.Lost != 4711 || s.HolesUnknown != 0 {
		t.Errorf("lost %d, %d unknown", s.Lost, s.HolesUnknown)
	}
}

func TestDamage(t *testing.T) {
	for _, l := range layouts {
		good := func() *builder { return (&builder{l: l}).event(0, 1, 2).event(5, 1, 2) }
		next := (&builder{l: l}).event(0, 2, 2).page(90, 0, 0, 0)
		for _, c := range []struct {
			name    string
			page    []byte
			kind    DamageKind
			records int // read before the damage
			bytes   int64
		}{
			{"commit beyond the end", func() []byte {
				p := good().page(10, 0, 0, 0)
				at := p[8:]
				if l.LongBytes == 8 && l.Order == binary.ByteOrder(binary.BigEndian) {
					at = p[12:]
				}
				l.Order.PutUint32(at, 1<<29|16)
				return p
			}(), CommitTooLong, 0, 4096},
			{"record beyond commit", func() []byte {
				w := good()
				w.word(20, 1)
				w.u32(3)
				return w.page(10, 0, 0, 0)
			}(), RecordPastEnd, 2, 8},
			{"half a word", func() []byte {
				w := good()
				w.b = append(w.b, 1, 2)
				return w.page(10, 0, 0, 0)
			}(), RecordPastEnd, 2, 2},
			{"long record without length", func() []byte {
				w := good()
				w.word(0, 1)
				return w.page(10, 0, 0, 0)
			}(), RecordPastEnd, 2, 4},
			{"long record of no length", func() []byte {
				w := good()
				w.word(0, 1)
				w.u32(5)
				w.u32(0)
				return w.page(10, 0, 0, 0)
			}(), RecordTooShort, 2, 12},
			{"long record of huge length", func() []byte {
				w := good()
				w.word(0, 1)
				w.u32(0xfffffffe)
				w.u32(0)
				return w.page(10, 0, 0, 0)
			}(), RecordPastEnd, 2, 12},
			{"discarded of no length", func() []byte {
				w := good()
				w.word(29, 1)
				w.u32(0)
				return w.page(10, 0, 0, 0)
			}(), RecordTooShort, 2, 8},
			{"discarded of odd length", func() []byte {
				w := good()
				w.word(29, 1)
				w.u32(7)
				w.u32(0)
				return w.page(10, 0, 0, 0)
			}(), RecordMisaligned, 2, 12},
			{"padding before the end", func() []byte {
				w := good()
				w.word(29, 0)
				w.u32(0)
				return w.page(10, 0, 0, 0)
			}(), NullPadding, 2, 8},
		} {
			s := summarize(t, l, append(bytes.Clone(c.page), next...))
			if s.DamageTotal != 1 || len(s.Damage) != 1 {
				t.Errorf("%v, %s: damage %v", l, c.name, s.Damage)
				continue
			}
			d := s.Damage[0]
			if d.Kind != c.kind || d.Records != c.records || d.Bytes != c.bytes || d.Pages != 1 {
				t.Errorf("%v, %s: %+v", l, c.name, d)
			}
			if int(s.Records) != c.records+1 || s.Pages != 2 || s.DamagedPages != 1 || s.DamagedBytes != c.bytes {
				t.Errorf("%v, %s: %d records, %d pages, %d damaged, %d bytes", l, c.name, s.Records, s.Pages, s.DamagedPages, s.DamagedBytes)
			}
			if !d.HasBefore || d.Before != 90 || d.HasAfter != (c.records > 0) || d.HasAfter && d.After != 15 {
				t.Errorf("%v, %s: damage between %d and %d", l, c.name, d.After, d.Before)
			}
			if !strings.Contains(d.Error(), "offset 0") {
				t.Errorf("%v, %s: %q does not tell the place", l, c.name, d.Error())
			}
		}
	}
}

func TestCutStream(t *testing.T) {
	l := layouts[0]
	var stream []byte
	for i := range 3 {
		w := &builder{l: l}
		for range 10 {
			w.event(1, 4, 4)
		}
		stream = append(stream, w.page(uint64(100*i), missed|stored, 2, 0)...)
	}
	for cut := range len(stream) + 1 {
		s := summarize(t, l, stream[:cut])
		pages, rest := cut/4096, cut%4096
		want := uint64(10*pages + min(10, max(0, rest-16)/20))
		if s.Records != want || s.StreamBytes != int64(cut) {
			t.Fatalf("cut at %d: %d records, want %d", cut, s.Records, want)
		}
		// The count stands behind the records: until it is there the hole has none.
		holes, known := uint64(pages), uint64(2*pages)
		if rest >= 16 {
			holes++
		}
		if rest >= 16+200+8 {
			known += 2
		}
		if s.HolesTotal != holes || s.Lost != known {
			t.Fatalf("cut at %d: %d holes, %d lost; want %d, %d", cut, s.HolesTotal, s.Lost, holes, known)
		}
		if damaged := rest > 0 && rest < 16+200; (s.DamageTotal == 1) != damaged || damaged && s.Damage[0].Kind != PageCut {
			t.Fatalf("cut at %d: damage %v", cut, s.Damage)
		}
	}
}

func TestTimeGoingBack(t *testing.T) {
	l := layouts[0]
	a := (&builder{l: l}).event(0, 1, 2).event(100, 1, 2).page(1000, 0, 0, 0)
	b := (&builder{l: l}).event(0, 1, 2).page(1099, 0, 0, 0)
	c := (&builder{l: l}).event(0, 1, 2).absolute(500).event(0, 1, 2).page(2000, 0, 0, 0)
	s := summarize(t, l, slicesConcat(a, b, c))
	want := []TimeBack{{Page: 1, Offset: 4096, From: 1100, To: 1099}, {Page: 2, Offset: 8192, From: 2000, To: 500}}
	if d := cmp.Diff(want, s.TimeBack); d != "" || s.TimeBackTotal != 2 {
		t.Errorf("%d times (-want +got):\n%s", s.TimeBackTotal, d)
	}
}

// An absolute stamp has 59 bits; those above come from the running time.
func TestHighBitsOfAbsoluteStamp(t *testing.T) {
	const high = uint64(5) << 59
	l := layouts[1]
	for _, c := range []struct{ page, stamp, want uint64 }{
		{high | 1000, high | 2000, high | 2000},
		{high + (1<<59 - 10), high + (1<<59 + 10), high + (1<<59 + 10)}, // the 59 bits overflow
		{1000, 2000, 2000},
	} {
		s := summarize(t, l, (&builder{l: l}).absolute(c.stamp&(1<<59-1)).event(0, 1, 2).page(c.page, 0, 0, 0))
		if s.First != c.want || s.TimeBackTotal != 0 {
			t.Errorf("%#x on a page of %#x: %#x, want %#x", c.stamp, c.page, s.First, c.want)
		}
	}
}

func TestFills(t *testing.T) {
	l := layouts[0]
	fill := func(stamp uint64, delta uint32) []byte {
		w := &builder{l: l}
		for len(w.b)+20+8 <= l.Capacity() {
			w.event(1, 3, 4)
		}
		w.discarded(delta, l.Capacity()-len(w.b))
		return w.page(stamp, 0, 0, 0)
	}
	short := func(stamp uint64) []byte { return (&builder{l: l}).event(0, 1, 2).page(stamp, 0, 0, 0) }
	const events = (4080 - 8) / 20
	s := summarize(t, l, slicesConcat(fill(0, 1), short(1_000_000), fill(2_000_000, 1), short(2_000_300), fill(3_000_000, 55), short(3_000_400), fill(4_000_000, 1)))
	want := []Fill{
		{Page: 0, Offset: 0, After: events, Before: 1_000_000, HasBefore: true, Gap: 1_000_000 - events},
		{Page: 2, Offset: 2 * 4096, After: 2_000_000 + events, Before: 2_000_300, HasBefore: true, Gap: 300 - events},
		{Page: 6, Offset: 6 * 4096, After: 4_000_000 + events},
	}
	if d := cmp.Diff(want, s.Fills); d != "" || s.FillsTotal != 3 {
		t.Errorf("%d fills (-want +got):\n%s", s.FillsTotal, d)
	}
	// Gaps: 999797, 1000000, 97, 999700, 197, 999600; the lower median is 999600,
	// of which four significant bits are 15<<16.
	if s.Gaps != 6 || s.MedianGap != 15<<16 {
		t.Errorf("median %d of %d gaps", s.MedianGap, s.Gaps)
	}
}

// With more holes than are kept the list still covers the stream, and the totals
// stay exact.
func TestManyHoles(t *testing.T) {
	l := layouts[0]
	const n = 100_000
	z, err := NewSummarizer(l, Options{MaxHoles: 64})
	if err != nil {
		t.Fatal(err)
	}
	lost, unknown := uint64(0), uint64(0)
	for i := range n {
		w := (&builder{l: l}).event(0, 1, 2)
		flags := uint32(missed | stored)
		if i%10 == 3 {
			flags = missed
			unknown++
		} else {
			lost += uint64(i)%7 + 1
		}
		z.Feed(w.page(uint64(i)*100, flags, uint64(i)%7+1, 0), int64(i)*4096)
	}
	s := z.Finish()
	if s.HolesTotal != n || s.HolesUnknown != unknown || s.Lost != lost {
		t.Errorf("%d holes, %d unknown, %d lost; want %d, %d, %d", s.HolesTotal, s.HolesUnknown, s.Lost, n, unknown, lost)
	}
	var holes, none, count uint64
	for i, h := range s.Holes {
		holes += h.Holes
		none += h.Unknown
		count += h.Count
		if i > 0 && (h.After < s.Holes[i-1].Before || !h.HasAfter) || h.Before < h.After {
			t.Fatalf("entry %d: %+v after %+v", i, h, s.Holes[i-1])
		}
		if i < len(s.Holes)-1 && h.Holes != s.HolesPerEntry {
			t.Errorf("entry %d stands for %d holes, the others for %d", i, h.Holes, s.HolesPerEntry)
		}
	}
	if holes != n || none != unknown || count != lost+unknown || len(s.Holes) > 64 || len(s.Holes) < 32 {
		t.Errorf("%d entries: %d holes, %d unknown, %d events; want %d, %d, %d", len(s.Holes), holes, none, count, n, unknown, lost+unknown)
	}
	if s.Holes[0].HasAfter || s.Holes[len(s.Holes)-1].Before != (n-1)*100 {
		t.Error("the list does not cover the stream")
	}
}

func TestGap(t *testing.T) {
	l := layouts[0]
	z, err := NewSummarizer(l, Options{})
	if err != nil {
		t.Fatal(err)
	}
	z.FeedPacked((&builder{l: l}).event(0, 1, 2).page(100, 0, 0, 0), 5000)
	z.Gap(10, 6000, 777)
	z.FeedPacked((&builder{l: l}).event(0, 1, 2).page(900, missed|stored, 3, 0), 7000)
	s := z.Finish()
	want := []Damage{{Kind: Unreadable, Page: 1, Offset: 6000, Bytes: 777, Pages: 10, After: 100, HasAfter: true, Before: 900, HasBefore: true}}
	if d := cmp.Diff(want, s.Damage); d != "" {
		t.Error("(-want +got):\n" + d)
	}
	if s.Pages != 12 || s.DamagedPages != 10 || s.Holes[0].Page != 11 || s.Holes[0].Offset != 7000 || s.Gaps != 0 {
		t.Errorf("%d pages, %d damaged, hole %+v, %d gaps", s.Pages, s.DamagedPages, s.Holes[0], s.Gaps)
	}
}

func TestReaderError(t *testing.T) {
	l := layouts[0]
	p := (&builder{l: l}).event(0, 1, 2).page(100, 0, 0, 0)
	broken := errors.New("the disk is gone")
	s, err := SummarizeStream(io.MultiReader(bytes.NewReader(p), iotest.ErrReader(broken)), l, Options{})
	if !errors.Is(err, broken) || s == nil || s.Records != 1 {
		t.Errorf("%v, %+v", err, s)
	}
	s, err = SummarizeAt(bytes.NewReader(p), 8192, l, Options{})
	if err == nil || s.Records != 1 {
		t.Errorf("a file that got shorter: %v, %+v", err, s)
	}
}

func TestBadLayouts(t *testing.T) {
	for _, l := range []Layout{
		{}, NewLayout(nil, 8, 4096), NewLayout(binary.LittleEndian, 5, 4096), NewLayout(binary.LittleEndian, 8, 0),
		NewLayout(binary.LittleEndian, 8, 4095), NewLayout(binary.LittleEndian, 8, 1<<30),
		{Order: binary.LittleEndian, LongBytes: 8, HeaderBytes: 8, SubbufBytes: 4096},
		{Order: binary.LittleEndian, LongBytes: 8, HeaderBytes: 16, SubbufBytes: 4096, IDOffset: -1},
	} {
		if _, err := SummarizeStream(strings.NewReader("x"), l, Options{}); err == nil {
			t.Errorf("%+v is taken", l)
		}
		if _, err := l.Page(nil); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
}

func slicesConcat(b ...[]byte) []byte { return bytes.Join(b, nil) }

// walkPages makes of a stream what Summarize does, by way of Page and Records.
func walkPages(l Layout, stream []byte) (by map[uint16]IDCount, other [4]uint64, damaged int) {
	by = map[uint16]IDCount{}
	for ; len(stream) > 0; stream = stream[min(len(stream), l.SubbufBytes):] {
		p, err := l.Page(stream[:min(len(stream), l.SubbufBytes)])
		if err != nil {
			damaged++
		}
		for r, err := range p.Records() {
			if err != nil {
				damaged++
				break
			}
			other[r.Kind]++
			if r.Kind == Data {
				c := by[r.ID]
				by[r.ID] = IDCount{r.ID, c.Records + 1, c.Bytes + uint64((r.Length+3)&^3)}
			}
		}
	}
	return by, other, damaged
}

// sameAsWalk holds the fast walk against the one that shows each record.
func sameAsWalk(l Layout, stream []byte, s *Summary) error {
	by, other, damaged := walkPages(l, stream)
	var records uint64
	for _, c := range s.ByID {
		if by[c.ID] != c {
			return fmt.Errorf("id %d: %+v, walked %+v", c.ID, c, by[c.ID])
		}
		records += c.Records
	}
	switch {
	case len(by) != len(s.ByID) || records != s.Records || other[Data] != s.Records:
		return fmt.Errorf("%d records of %d ids, walked %d of %d", s.Records, len(s.ByID), other[Data], len(by))
	case other[Discarded] != s.Discarded || other[Extend] != s.Extends || other[Absolute] != s.Absolutes:
		return fmt.Errorf("discarded %d, extends %d, absolute %d; walked %v", s.Discarded, s.Extends, s.Absolutes, other)
	case uint64(damaged) != s.DamageTotal:
		return fmt.Errorf("%d damages, walked %d", s.DamageTotal, damaged)
	}
	return nil
}
