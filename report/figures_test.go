package report

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/audit"
)

// The published example: a 32-bit kernel, request 8 kB, stats of 273 entries
// and 44002 overrun, oldest 2.109723, now 2.116975.
func TestPublishedExample(t *testing.T) {
	c := CPU{
		Tally:  Tally{Kept: exact(273), Overwritten: exact(44002), Read: exact(0), Dropped: exact(0), CommitOverrun: exact(0)},
		Window: &Window{Oldest: "2.109723", Now: "2.116975", Unit: "s", Span: "0.007252"},
		Size:   &Size{RequestKB: ptr(uint64(8)), KB: ptr(uint64(11)), MemoryBytes: exact(16384)},
	}
	f := c.Figures()
	want := Figures{
		Written: audit.Exactly(44275), ThrownAway: "99.4", DiscardedPerKept: "161",
		Window: "0.007252", WindowUnit: "s", RequestKB: "8", PrintedKB: "11", MemoryKiB: "16",
	}
	if f != want {
		t.Errorf("got  %+v\nwant %+v", f, want)
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		part, whole uint64
		want        string
	}{
		{0, 0, ""}, {1, 0, ""}, {2, 1, ""},
		{0, 7, "0"}, {7, 7, "100"}, {1, 2, "50.0"}, {1, 3, "33.3"}, {2, 3, "66.7"},
		{2933658, 2934520, "99.97"}, // 99.9706…
		{44002, 44275, "99.4"},      // 99.3834…
		{1, 2000, "0.1"},            // 0.05, half up
		{1, 2001, "0.05"},           // below half of the first decimal: would read 0.0
		{1999, 2000, "99.95"},       // 99.95 would read 100.0
		{999_999_999, 1_000_000_000, "99.9999999"},
		{1, 1_000_000_000, "0.0000001"},
		{18446744073709551614, 18446744073709551615, "99.99999999999999999"}, // 100 − 5.4e-18,
		{1, 18446744073709551615, "0.00000000000000001"},                     // 5.4e-18,
	} {
		if got := Percent(c.part, c.whole); got != c.want {
			t.Errorf("Percent(%d, %d) = %q, want %q", c.part, c.whole, got, c.want)
		}
	}
}

// Whatever is not all never reads 100, whatever is not none never reads 0, and
// what is read is within half of its last digit of the truth.
func TestPercentHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		whole := r.Uint64()>>r.IntN(64) | 1
		part := r.Uint64() % whole
		if r.IntN(3) == 0 {
			part = whole - 1 - part%min(whole, 3)%whole
		}
		s := Percent(part, whole)
		got, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("Percent(%d, %d) = %q: no number", part, whole, s)
		}
		if (got.Sign() == 0) != (part == 0) || (got.Cmp(big.NewRat(100, 1)) == 0) != (part == whole) {
			t.Fatalf("Percent(%d, %d) = %q", part, whole, s)
		}
		truth := new(big.Rat).SetFrac(new(big.Int).Mul(new(big.Int).SetUint64(part), big.NewInt(100)), new(big.Int).SetUint64(whole))
		decimals := 0
		if i := strings.IndexByte(s, '.'); i >= 0 {
			decimals = len(s) - i - 1
		}
		half := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Mul(big.NewInt(2), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)))
		if d := new(big.Rat).Sub(got, truth); d.Abs(d).Cmp(half) > 0 {
			t.Fatalf("Percent(%d, %d) = %q, off by more than half a digit", part, whole, s)
		}
	}
}

// The bounds of a share must hold for every pair of values that the intervals
// allow.
func TestShareBounds(t *testing.T) {
	counts := []audit.Count{
		audit.Exactly(0), audit.Exactly(1), audit.Exactly(862), audit.AtLeast(1), audit.AtLeast(2933658), audit.Unknown(),
		audit.Between(0, 5), audit.Between(7677, 7700), audit.Exactly(^uint64(0)),
	}
	for _, part := range counts {
		for _, rest := range counts {
			s := share(part, rest)
			if s == "" {
				continue
			}
			lo, hi := bounds(t, s)
			for _, p := range samples(part) {
				for _, r := range samples(rest) {
					v := shareOf(p, r)
					if v == nil {
						continue
					}
					v.Mul(v, big.NewRat(100, 1))
					exactBoth := part.Exact() && rest.Exact()
					if !exactBoth && (v.Cmp(lo) < 0 || v.Cmp(hi) > 0) {
						t.Errorf("share(%v, %v) = %q, but %d of %d+%d is %s %%", part, rest, s, p, p, r, v.FloatString(8))
					}
				}
			}
		}
	}
}

// A bound is true, and has a decimal more than the exact share of the same two
// numbers, so that the two read as one number: those of the published example, and
// of three more.
func TestOneShareReadsOneWay(t *testing.T) {
	for _, c := range []struct {
		lost, kept  uint64
		want, bound string
	}{
		{44002, 273, "99.4", "99.38"},           // 99.3834
		{2794, 706, "79.8", "79.82"},            // 79.8286
		{2933658, 862, "99.97", "99.97"},        // 99.9706
		{1_615_500, 8_384_500, "16.2", "16.15"}, // 16.155: half up
	} {
		exactly := share(audit.Exactly(c.lost), audit.Exactly(c.kept))
		bound := share(audit.AtLeast(c.lost), audit.Exactly(c.kept))
		if exactly != c.want || bound != "≥ "+c.bound {
			t.Errorf("%d of %d: %q and %q, want %q", c.lost, c.lost+c.kept, exactly, bound, c.want+" and ≥ "+c.bound)
		}
	}
}

func bounds(t *testing.T, s string) (lo, hi *big.Rat) {
	t.Helper()
	num := func(s string) *big.Rat {
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("%q is no number", s)
		}
		return r
	}
	lo, hi = new(big.Rat), big.NewRat(100, 1)
	switch {
	case strings.HasPrefix(s, "≥ "):
		lo = num(s[len("≥ "):])
	case strings.HasPrefix(s, "≤ "):
		hi = num(s[len("≤ "):])
	case strings.Contains(s, "–"):
		a, b, _ := strings.Cut(s, "–")
		lo, hi = num(a), num(b)
	default:
		lo, hi = num(s), num(s)
	}
	return lo, hi
}

func samples(c audit.Count) []uint64 {
	out := []uint64{c.Lo}
	if c.Open {
		return append(out, c.Lo+1, c.Lo+1000, 1<<62)
	}
	return append(out, c.Hi, c.Lo+(c.Hi-c.Lo)/2)
}

func TestDiscardedPerKept(t *testing.T) {
	for _, c := range []struct {
		over, kept audit.Count
		want       string
	}{
		{audit.Exactly(44002), audit.Exactly(273), "161"},        // 161.18
		{audit.Exactly(2922910), audit.Exactly(862), "3,391"},    // 3390.84
		{audit.Exactly(5), audit.Exactly(2), "2.5"},              //
		{audit.Exactly(1), audit.Exactly(3000), "0.0003"},        // never 0
		{audit.Exactly(0), audit.Exactly(5), "0"},                //
		{audit.Exactly(5), audit.Exactly(0), ""},                 // no such number
		{audit.AtLeast(44002), audit.Exactly(273), "≥ 161"},      //
		{audit.Unknown(), audit.Exactly(273), ""},                //
		{audit.Between(7677, 7700), audit.Exactly(323), "24"},    // 23.77, 23.84
		{audit.Between(7677, 8700), audit.Exactly(323), "24–27"}, // 23.77, 26.93
	} {
		if got := perOne(c.over, c.kept); got != c.want {
			t.Errorf("perOne(%v, %v) = %q, want %q", c.over, c.kept, got, c.want)
		}
	}
}

func TestCounts(t *testing.T) {
	for _, c := range []struct {
		n           *audit.Count
		want, ascii string
	}{
		{nil, "–", "-"}, {dunno(), "?", "?"}, {exact(0), "0", "0"}, {exact(432), "432", "432"}, {least(1335046), "≥ 1,335,046", ">= 1,335,046"},
		{ptr(audit.Between(7677, 7700)), "7,677–7,700", "7,677..7,700"}, {ptr(audit.Between(0, 1)), "0–1", "0..1"},
		{exact(^uint64(0)), "18,446,744,073,709,551,615", "18,446,744,073,709,551,615"},
	} {
		if got := unicodeGlyphs.count(c.n); got != c.want {
			t.Errorf("%v: %q, want %q", c.n, got, c.want)
		}
		if got := asciiGlyphs.count(c.n); got != c.ascii {
			t.Errorf("%v: %q, want %q", c.n, got, c.ascii)
		}
	}
	for _, n := range []uint64{0, 1, 12, 123, 1234, 12345, 123456, 1234567, ^uint64(0)} {
		s := group(n)
		if strings.ReplaceAll(s, ",", "") != strconv.FormatUint(n, 10) {
			t.Errorf("group(%d) = %q", n, s)
		}
		for i, part := range strings.Split(s, ",") {
			if len(part) != 3 && i > 0 {
				t.Errorf("group(%d) = %q", n, s)
			}
		}
	}
}

func TestCPUList(t *testing.T) {
	for want, in := range map[string][]int{"": nil, "0": {0}, "0-3": {0, 1, 2, 3}, "0-1,3,5-7": {0, 1, 3, 5, 6, 7}, "?2,?1,0-1": {-3, -2, 0, 1}} {
		if got := cpuList(in); got != want {
			t.Errorf("cpuList(%v) = %q, want %q", in, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"overrun: 1329940": "overrun: 1329940",
		"\x1b[2J":          `\x1b[2J`,
		"a\tb\n":           `a\tb\n`,
		"\u202eevil":       `\u202eevil`,
		"\xff\xfe":         `\xff\xfe`,
		"\x05":             `\x05`,
		"µs → 3":           "µs → 3",
		"\ufffd":           "\ufffd",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}
