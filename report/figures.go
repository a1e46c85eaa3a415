package report

import (
	"math/big"
	"strings"

	"github.com/ringaudit/ringaudit/audit"
)

// Figures are the numbers that a reader of counters has to work out and
// usually does not. A field is empty where the document does not hold what it
// takes; a bound is written "≥ 99.9" or "≤ 0.2". All are computed in whole
// numbers and rounded half up, bounds too: one share never reads as two.
type Figures struct {
	// Written is kept + overwritten + read, in events.
	Written audit.Count
	// ThrownAway is the share of what was written that was thrown away to make
	// room, in percent: "99.4".
	ThrownAway string
	// Lost is the share of all attempts that was lost, in percent. Attempts
	// that no counter sees can only make it larger.
	Lost string
	// Missing is the share of all attempts that the capture lacks, in percent.
	Missing string
	// DiscardedPerKept is how many events were overwritten for each one that
	// is still there: "161".
	DiscardedPerKept string
	// Window is how much time the records cover, in WindowUnit ("s", "ticks").
	Window, WindowUnit string
	// RequestKB was asked for, PrintedKB is what the kernel says of it, and
	// MemoryKiB is what it takes, reader page included: "8", "11", "16".
	// ExpandedKB is what the kernel promises at the first use, where it does.
	RequestKB, PrintedKB, ExpandedKB, MemoryKiB string
}

// Figures are those of one CPU.
func (c *CPU) Figures() Figures { return figures(&c.Tally, c.Window, c.Size) }

// Figures are those of the whole buffer. The window is the one that all CPUs
// have in common; the sizes are those of all CPUs together.
func (b *Buffer) Figures() Figures { return figures(&b.Total, b.CommonWindow, b.Size) }

func figures(t *Tally, w *Window, s *Size) Figures {
	f := Figures{Written: audit.Unknown()}
	kept, over, read := or(t.Kept), or(t.Overwritten), or(t.Read)
	if t.Written != nil {
		f.Written = *t.Written
	} else if t.Kept != nil && t.Overwritten != nil && t.Read != nil {
		f.Written = kept.Plus(over).Plus(read)
	}
	if t.Overwritten != nil {
		f.ThrownAway = share(over, kept.Plus(read))
		f.DiscardedPerKept = perOne(over, kept)
	}
	if t.Lost != nil {
		f.Lost = share(*t.Lost, kept.Plus(read))
	}
	if t.Missing != nil {
		f.Missing = share(*t.Missing, or(t.Delivered))
	}
	if w != nil {
		f.Window, f.WindowUnit = w.Span, w.Unit
	}
	if s != nil {
		f.RequestKB, f.PrintedKB, f.ExpandedKB = plain(s.RequestKB), plain(s.KB), plain(s.ExpandedKB)
		if s.MemoryBytes != nil {
			f.MemoryKiB = kib(*s.MemoryBytes)
		}
	}
	return f
}

func or(c *audit.Count) audit.Count {
	if c == nil {
		return audit.Unknown()
	}
	return *c
}

func plain(n *uint64) string {
	if n == nil {
		return ""
	}
	return group(*n)
}

// kib writes bytes in KiB, with two decimals where they are not whole.
func kib(c audit.Count) string {
	one := func(n uint64) string {
		if n%1024 == 0 {
			return group(n / 1024)
		}
		r := new(big.Rat).SetFrac(new(big.Int).SetUint64(n), big.NewInt(1024))
		return r.FloatString(2)
	}
	switch {
	case c.IsUnknown():
		return ""
	case c.Exact():
		return one(c.Lo)
	case c.Open:
		return "≥ " + one(c.Lo)
	}
	return one(c.Lo) + "–" + one(c.Hi)
}

// Percent is part of whole in percent, rounded half up to one decimal. It gets
// as many more decimals as it takes to keep a part that is not all from
// reading 100 and one that is not none from reading 0. It is empty if whole is
// 0 or less than part.
func Percent(part, whole uint64) string {
	if whole == 0 || part > whole {
		return ""
	}
	return percent(ratio(part, whole))
}

// maxDecimals tells every two different shares of 64-bit numbers apart from 0
// and from 1.
const maxDecimals = 20

// percent writes r, from 0 to 1, rounded half up, with as many decimals as keep
// it apart from 0 and 100.
func percent(r *big.Rat) string {
	hundred := new(big.Rat).Mul(r, big.NewRat(100, 1))
	if r.Sign() == 0 {
		return "0"
	}
	if r.Cmp(big.NewRat(1, 1)) == 0 {
		return "100"
	}
	for n := 1; ; n++ {
		s := decimal(hundred, n)
		if n < maxDecimals && (strings.Trim(s, "0.") == "" || strings.TrimRight(s, "0") == "100.") {
			continue
		}
		return s
	}
}

// bound is a share that is known as a bound: with one decimal more than the share
// itself would have, and rounded away from what it claims, so that the statement
// is true and the two read as one number.
func bound(r *big.Rat, upper bool) string {
	if r.Sign() == 0 || r.Cmp(big.NewRat(1, 1)) == 0 {
		return percent(r)
	}
	_, decimals, _ := strings.Cut(percent(r), ".")
	n := len(decimals) + 1
	unit := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
	hundred := new(big.Rat).Mul(r, big.NewRat(100, 1))
	s := decimal(hundred, n)
	v, ok := new(big.Rat).SetString(s)
	switch {
	case !ok:
		return s
	case upper && v.Cmp(hundred) < 0:
		s = decimal(v.Add(v, unit), n)
	case !upper && v.Cmp(hundred) > 0:
		s = decimal(v.Sub(v, unit), n)
	}
	return strings.TrimSuffix(s, "0") // where the further decimal says nothing
}

// decimal writes r, which is not negative, with n decimals, rounded half up.
func decimal(r *big.Rat, n int) string {
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
	num := new(big.Int).Mul(r.Num(), ten)
	q, rem := new(big.Int).QuoRem(num, r.Denom(), new(big.Int))
	if rem.Lsh(rem, 1).Cmp(r.Denom()) >= 0 {
		q.Add(q, big.NewInt(1))
	}
	s := q.String()
	if n == 0 {
		return s
	}
	if len(s) <= n {
		s = strings.Repeat("0", n+1-len(s)) + s
	}
	return s[:len(s)-n] + "." + s[len(s)-n:]
}

func ratio(a, b uint64) *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
}

// share is part of part+rest in percent. It rises with part and falls with
// rest, so its bounds are at opposite ends of the two.
func share(part, rest audit.Count) string {
	if part.Exact() && rest.Exact() {
		if r := shareOf(part.Lo, rest.Lo); r != nil {
			return percent(r)
		}
		return ""
	}
	var lo, hi *big.Rat
	if !rest.Open {
		lo = shareOf(part.Lo, rest.Hi)
	}
	if !part.Open {
		hi = shareOf(part.Hi, rest.Lo)
	}
	hasLo := lo != nil && lo.Sign() > 0
	hasHi := hi != nil && hi.Cmp(big.NewRat(1, 1)) < 0
	switch {
	case hasLo && hasHi:
		a, b := bound(lo, false), bound(hi, true)
		if a == b {
			return a
		}
		return a + "–" + b
	case hasLo && lo.Cmp(big.NewRat(1, 1)) == 0:
		return "100"
	case hasLo:
		return "≥ " + bound(lo, false)
	case hi != nil && hi.Sign() == 0:
		return "0"
	case hasHi:
		return "≤ " + bound(hi, true)
	}
	return ""
}

// shareOf is a/(a+b), nil if both are 0.
func shareOf(a, b uint64) *big.Rat {
	x, y := new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)
	sum := new(big.Int).Add(x, y)
	if sum.Sign() == 0 {
		return nil
	}
	return new(big.Rat).SetFrac(x, sum)
}

// perOne is a for each one of b: whole from 10 on, with one decimal below, and
// with as many as it takes where that would read 0.
func perOne(a, b audit.Count) string {
	quotient := func(n, d uint64) string {
		r := ratio(n, d)
		if r.Sign() == 0 {
			return "0"
		}
		if r.Cmp(big.NewRat(10, 1)) >= 0 {
			return groupDigits(decimal(r, 0))
		}
		for k := 1; ; k++ {
			if s := decimal(r, k); strings.Trim(s, "0.") != "" || k == maxDecimals {
				return strings.TrimSuffix(s, ".0")
			}
		}
	}
	switch {
	case a.Exact() && b.Exact():
		if b.Lo == 0 {
			return ""
		}
		return quotient(a.Lo, b.Lo)
	case a.Lo > 0 && !b.Open && b.Hi > 0:
		if !a.Open && b.Lo > 0 {
			lo, hi := quotient(a.Lo, b.Hi), quotient(a.Hi, b.Lo)
			if lo == hi {
				return lo
			}
			return lo + "–" + hi
		}
		return "≥ " + quotient(a.Lo, b.Hi)
	}
	return ""
}

// groupDigits puts a comma before each three digits of a whole number.
func groupDigits(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
