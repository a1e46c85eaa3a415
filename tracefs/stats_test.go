package tracefs

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

const stats61 = `entries: 432
overrun: 1329940
commit overrun: 5106
bytes: 12192
oldest event ts:    17.163142
now ts:    17.500001
dropped events: 0
read events: 7
`

func TestParseStats(t *testing.T) {
	s, err := ParseStats(strings.NewReader(stats61), "per_cpu/cpu0/stats")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"entries": 432, "overrun": 1329940, "commit overrun": 5106, "bytes": 12192, "dropped events": 0, "read events": 7}
	got := map[string]int64{}
	for _, c := range s.Counters() {
		got[c.Name] = c.Field.V
	}
	for name, v := range want {
		if g, ok := got[name]; !ok || g != v {
			t.Errorf("%s = %d (there: %v), want %d", name, g, ok, v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("counters %v, want %v", got, want)
	}
	if s.NMIDropped.OK {
		t.Error("nmi dropped is there, and the kernel did not print it")
	}
	if s.Oldest.V != (Stamp{17163142000, Nanoseconds}) || s.Now.V != (Stamp{17500001000, Nanoseconds}) {
		t.Errorf("oldest %+v, now %+v", s.Oldest.V, s.Now.V)
	}
	if p := s.CommitOverrun.Pos().String(); p != "per_cpu/cpu0/stats:3" || s.CommitOverrun.Text != "commit overrun: 5106" {
		t.Errorf("evidence is %s %q", p, s.CommitOverrun.Text)
	}
	if len(s.Errors)+len(s.Unknown) != 0 || s.Cut {
		t.Errorf("errors %v, unknown %v, cut %v", s.Errors, s.Unknown, s.Cut)
	}
}

// TestParseStatsAges: every kernel age prints a part of the lines, and what it
// does not print is absent.
func TestParseStatsAges(t *testing.T) {
	for _, c := range []struct {
		name, in string
		absent   []string
		unit     Unit
	}{
		{"2009", "entries: 5\noverrun: 1\nnmi dropped: 3\n", []string{"commit overrun", "bytes", "dropped events", "read events"}, UnitUnknown},
		{"3.0", "entries: 5\noverrun: 1\ncommit overrun: 0\n", []string{"bytes", "dropped events", "read events", "nmi dropped"}, UnitUnknown},
		{"3.4", "entries: 5\noverrun: 1\ncommit overrun: 0\nbytes: 9\noldest event ts:     1.000001\nnow ts:     2.000000\n", []string{"dropped events", "read events"}, Nanoseconds},
		{"counter clock", "entries: 5\noverrun: 1\ncommit overrun: 0\nbytes: 9\noldest event ts: 2\nnow ts: 14\ndropped events: 0\nread events: 0\n", []string{"nmi dropped"}, Ticks},
		{"windows line ends, byte order mark", "\ufeffentries: 5\r\noverrun: 1\r\n", []string{"bytes"}, UnitUnknown},
		{"inside a trace.dat", "entries: 5\noverrun: 1\n\x00", []string{"bytes"}, UnitUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := ParseStats(strings.NewReader(c.in), "stats")
			if err != nil || len(s.Errors) > 0 || len(s.Unknown) > 0 || s.Cut {
				t.Fatalf("%v, errors %v, unknown %v, cut %v", err, s.Errors, s.Unknown, s.Cut)
			}
			if s.Entries.V != 5 || s.Overrun.V != 1 {
				t.Errorf("entries %d, overrun %d", s.Entries.V, s.Overrun.V)
			}
			for _, name := range c.absent {
				for _, k := range s.Counters() {
					if k.Name == name {
						t.Errorf("%s is there: %+v", name, k.Field)
					}
				}
			}
			if s.Now.V.Unit != c.unit {
				t.Errorf("unit of now is %v, want %v", s.Now.V.Unit, c.unit)
			}
		})
	}
}

func TestParseStatsBad(t *testing.T) {
	for _, c := range []struct {
		name, in string
		entries  bool   // still taken
		want     string // in the one SyntaxError
	}{
		{"30 digits", "overrun: 123456789012345678901234567890\nentries: 1\n", true, "a number of 30 digits does not fit the kernel's 64-bit counters"},
		{"30 digits with a dot", "oldest event ts: 123456789012345678901234567890.123456\nentries: 1\n", true, "30 digits"},
		{"hexadecimal", "overrun: 0x10\nentries: 1\n", true, `stats:1:10: found "0x10", expected a decimal number`},
		{"a word", "overrun: many\nentries: 1\n", true, `found "many"`},
		{"nothing", "overrun:\nentries: 1\n", true, `found ""`},
		{"plus", "overrun: +1\nentries: 1\n", true, `found "+1"`},
		{"five decimals", "now ts: 1.00001\nentries: 1\n", true, `found "1.00001"`},
		{"negative time", "now ts: -1.000010\nentries: 1\n", true, `found "-1.000010"`},
		{"cut in a number", "entries: 1\noverrun: 12", true, "cut off inside this line"},
		{"cut in a word", "entries: 1\noverr", true, "cut off inside this line"},
		{"cut in a time", "entries: 1\nnow ts:    12.1234", true, `found "12.1234"`},
		{"cut in ticks", "entries: 1\nnow ts: 1234", true, "cut off inside this line"},
		{"twice the same", "entries: 1\nentries: 1\n", true, "the value is the same, so it is used"},
		{"twice", "entries: 1\nentries: 2\n", false, "neither is used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := ParseStats(strings.NewReader(c.in), "stats")
			if err != nil {
				t.Fatal(err)
			}
			if s.Entries.OK != c.entries || c.entries && s.Entries.V != 1 {
				t.Errorf("entries %+v", s.Entries)
			}
			if s.Overrun.OK || s.Now.OK || s.Oldest.OK {
				t.Errorf("a value was taken: overrun %+v, now %+v, oldest %+v", s.Overrun, s.Now, s.Oldest)
			}
			if len(s.Errors) != 1 || !strings.Contains(s.Errors[0].Error(), c.want) {
				t.Errorf("errors %v, want one with %q", s.Errors, c.want)
			}
		})
	}
}

// TestParseStatsCut: every cut of a real file is either said or harmless.
func TestParseStatsCut(t *testing.T) {
	whole, _ := ParseStats(strings.NewReader(stats61), "stats")
	for n := 1; n < len(stats61); n++ {
		s, err := ParseStats(strings.NewReader(stats61[:n]), "stats")
		if err != nil {
			continue // nothing in it yet
		}
		if cut := stats61[n-1] != '\n'; s.Cut != cut {
			t.Errorf("cut at %d: Cut is %v", n, s.Cut)
		}
		if s.Now.OK && s.Now.V != whole.Now.V || s.Oldest.OK && s.Oldest.V != whole.Oldest.V {
			t.Errorf("cut at %d: a wrong time: %v %v", n, s.Oldest, s.Now)
		}
		for i, c := range s.counters() {
			if want := whole.counters()[i].field; c.field.OK && c.field.V != want.V {
				t.Errorf("cut at %d: %s is %d, want %d or absent", n, c.name, c.field.V, want.V)
			}
		}
	}
	// Six decimals are a whole time.
	s, _ := ParseStats(strings.NewReader("entries: 1\nnow ts:     2.109723"), "stats")
	if !s.Cut || s.Now.V.String() != "2.109723" {
		t.Errorf("cut %v, now %+v", s.Cut, s.Now)
	}
}

func TestParseStatsUnknownLines(t *testing.T) {
	s, err := ParseStats(strings.NewReader("entries: 1\nmoon phase: 4\nno colon\n"), "stats")
	if err != nil || len(s.Errors) != 0 {
		t.Fatal(err, s.Errors)
	}
	if len(s.Unknown) != 2 || s.Unknown[0] != (Line{2, "moon phase: 4"}) || s.Unknown[1] != (Line{3, "no colon"}) {
		t.Errorf("unknown %v", s.Unknown)
	}
}

func TestParseStatsNotStats(t *testing.T) {
	for _, in := range []string{"", "\n\n", "\x00\x01\x02", "# tracer: nop\n", "total 12\n"} {
		_, err := ParseStats(strings.NewReader(in), "some/stats")
		var fe *FormatError
		if !errors.As(err, &fe) || !strings.HasPrefix(err.Error(), "some/stats: ") {
			t.Errorf("%q: %v, want a FormatError that names the file", in, err)
		}
	}
	s, err := ParseStats(iotest.ErrReader(errors.New("disk on fire")), "some/stats")
	var fe *FileError
	if !errors.As(err, &fe) || s == nil || err.Error() != "some/stats: disk on fire" {
		t.Errorf("%v, want a FileError", err)
	}
	if _, err := ParseStats(strings.NewReader(strings.Repeat("x", 200<<20)), "s"); err == nil {
		t.Error("200 MB without an end were taken for a stats file")
	}
}

func TestUnwrap(t *testing.T) {
	for _, c := range []struct {
		v    int64
		long int
		want uint64
		ok   bool
	}{
		{0, 4, 0, true},
		{-1, 4, 1<<32 - 1, true},
		{-1 << 31, 4, 1 << 31, true},
		{1<<31 - 1, 4, 1<<31 - 1, true},
		{1 << 31, 4, 0, false},
		{44002, 8, 44002, true},
		{-1, 8, 0, false},
		{5, 0, 0, false},
	} {
		if got, ok := Unwrap(c.v, c.long); got != c.want || ok != c.ok {
			t.Errorf("Unwrap(%d, %d) = %d, %v, want %d, %v", c.v, c.long, got, ok, c.want, c.ok)
		}
	}
	// 2^32 − 1000 + 1500 events were written: overrun has wrapped, the sum too.
	if got := SumCounters(4, 300, 200, -1000+0); got != 1<<32-500 {
		t.Errorf("32-bit sum is %d", got)
	}
	if got := SumCounters(4, 1<<31-1, 1<<31-1, 2+1); got != 1 {
		t.Errorf("32-bit sum past the wrap is %d, want 1", got)
	}
	if got := SumCounters(8, 432, 1329940, 7); got != 1330379 {
		t.Errorf("64-bit sum is %d", got)
	}
}

func FuzzParseStats(f *testing.F) {
	f.Add([]byte(stats61))
	f.Add([]byte("entries: -5\nnow ts: 14\nread events: 0\n"))
	f.Add([]byte("entries: 5\nentries: 6\nnmi dropped: 3"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseStats(strings.NewReader(string(data)), "f")
		if s == nil {
			t.Fatal("nil")
		}
		n := 0
		for _, c := range s.Counters() {
			n++
			if c.Field.Line < 1 || !strings.Contains(string(data), c.Field.Text) {
				t.Errorf("%s has no evidence: %+v", c.Name, c.Field)
			}
		}
		if err != nil && n > 0 {
			t.Errorf("%d values and the error %v", n, err)
		}
		for _, e := range s.Errors {
			_ = e.Error()
		}
	})
}
