package subbuf

import (
	"bytes"
	"testing"
)

// Whatever the bytes are, the two ways to read a sub-buffer agree, and what they
// count fits what there is.
func FuzzPage(f *testing.F) {
	for i, l := range layouts {
		w := &builder{l: l}
		w.event(0, 7, 3).extend(1<<40).event(100, 9, 28).absolute(1<<41).discarded(30, 24).long(1, 500, 201)
		f.Add(w.page(1000, missed|stored, 7, 0xffffffff), uint8(i))
		w.event(0, 1, 1)
		w.word(29, 0)
		w.u32(0)
		f.Add(w.page(1000, missed, 0, 0), uint8(i))
		f.Add(w.page(1, 4000, 0, 0)[:100], uint8(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, which uint8) {
		l := layouts[which%4]
		if which&4 != 0 {
			l.IDOffset = 4
		}
		z, err := NewSummarizer(l, Options{MaxHoles: 4, MaxFills: 2, MaxDamage: 4})
		if err != nil {
			t.Fatal(err)
		}
		z.Feed(b, 0)
		s := z.Finish()
		if err := sameAsWalk(l, b, s); err != nil {
			t.Fatal(err)
		}
		if s.Bytes > uint64(len(b)) || s.DamagedBytes > s.Pages*int64(l.SubbufBytes) || len(s.Holes) > 4 || len(s.Damage) > 4 {
			t.Fatalf("%d bytes of records, %d damaged, in %d bytes; %d holes, %d damages", s.Bytes, s.DamagedBytes, len(b), len(s.Holes), len(s.Damage))
		}
		if s.Pages != int64(len(b)+l.SubbufBytes-1)/int64(l.SubbufBytes) {
			t.Fatalf("%d pages in %d bytes", s.Pages, len(b))
		}
	})
}

func FuzzInferLayout(f *testing.F) {
	for _, l := range layouts {
		w := &builder{l: l}
		f.Add(append(w.event(0, 7, 3).page(1000, 0, 0, 0), w.event(0, 7, 3).page(2000, 0, 0, 0)...))
	}
	f.Add(make([]byte, 4096))
	f.Add(bytes.Repeat([]byte{0xff}, 9000))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, inf, err := InferLayout(b)
		if err != nil {
			return
		}
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		if s, err := SummarizeStream(bytes.NewReader(b), l, Options{}); err != nil || s.Records < uint64(inf.Records) {
			t.Fatalf("%v: %d records, inferred from %d", err, s.Records, inf.Records)
		}
	})
}
