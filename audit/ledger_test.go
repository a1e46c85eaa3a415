package audit

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func claim(cpu int, q Quantity, c Count) Claim {
	return Claim{CPU: cpu, Quantity: q, Count: c, Evidence: []Evidence{{Source: "s1", Text: q.String()}}}
}

func TestCountArithmetic(t *testing.T) {
	const huge = ^uint64(0)
	if got := Exactly(huge).Plus(Exactly(1)); !got.Open || got.Lo != huge {
		t.Errorf("2^64-1 + 1 = %v, want a lower bound of 2^64-1 and no wrap", got)
	}
	if _, ok := Exactly(3).Minus(Exactly(4)); ok {
		t.Error("3 - 4 is possible, want impossible")
	}
	if got, _ := Between(3, 9).Minus(Between(1, 4)); got != Between(0, 8) {
		t.Errorf("[3,9] - [1,4] = %v, want 0 to 8", got)
	}
	if got, _ := AtLeast(10).Minus(Exactly(4)); got != AtLeast(6) {
		t.Errorf("[10,∞) - 4 = %v", got)
	}
	if _, ok := Between(1, 2).Intersect(AtLeast(3)); ok {
		t.Error("[1,2] and [3,∞) intersect")
	}
	if got := AtLeast(7).Hull(Exactly(3)); got != AtLeast(3) {
		t.Errorf("hull = %v", got)
	}
	for _, c := range []Count{Exactly(0), Unknown(), AtLeast(4), Between(2, 5), Exactly(huge)} {
		b, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var back Count
		if err := back.UnmarshalJSON(b); err != nil || back != c {
			t.Errorf("%s: read back as %v, %v", b, back, err)
		}
	}
	var c Count
	if err := c.UnmarshalJSON([]byte(`{"lo":5,"hi":4}`)); err == nil {
		t.Error(`{"lo":5,"hi":4} was accepted`)
	}
}

// The stats of known-count-overwrite: 3000 writes on CPU 0, 500 on CPU 1.
func knownCount() *Ledger {
	l := NewLedger([]int{0, 1})
	l.CPUsWhole = true
	for cpu, s := range map[int][5]uint64{0: {333, 2667, 0, 0, 0}, 1: {373, 127, 0, 0, 0}} {
		for i, q := range []Quantity{Kept, Overwritten, CommitOverrun, Dropped, Read} {
			l.Claim(claim(cpu, q, Exactly(s[i])))
		}
	}
	return l
}

func TestIdentities(t *testing.T) {
	l := knownCount()
	l.Claim(claim(Total, Attempted, Exactly(3501)))
	l.Solve()
	if n := len(l.Contradictions()); n != 0 {
		t.Fatalf("%d contradictions: %+v", n, l.Contradictions())
	}
	want := []struct {
		cpu int
		q   Quantity
		c   Count
	}{
		{0, Written, Exactly(3000)},
		{1, Written, Exactly(500)},
		{Total, Written, Exactly(3500)},
		{Total, Uncounted, Exactly(1)},
		{0, Uncounted, Between(0, 1)},
		{Total, Lost, Exactly(2795)},
		{0, Attempted, Between(3000, 3001)},
	}
	for _, w := range want {
		if got := l.Count(w.cpu, w.q); got != w.c {
			t.Errorf("cpu %d %v = %v, want %v", w.cpu, w.q, got, w.c)
		}
	}
	if _, ok := l.Get(Total, Delivered); ok {
		t.Error("delivered applies without a capture")
	}
}

func TestLedgerContradiction(t *testing.T) {
	l := knownCount()
	l.Claim(claim(Total, Attempted, Exactly(3499)))
	l.Solve()
	if len(l.Contradictions()) != 1 {
		t.Fatalf("got %d contradictions, want 1: %+v", len(l.Contradictions()), l.Contradictions())
	}
	c := l.Contradictions()[0]
	if c.Quantity != Attempted || c.CPU != Total || !strings.Contains(c.What, "3,499") || !strings.Contains(c.What, "3,500") {
		t.Errorf("contradiction %q of %v does not name both sides", c.What, c.Quantity)
	}
	if len(c.HaveSide) == 0 || len(c.ClaimSide) == 0 {
		t.Error("a side has no evidence")
	}
	if got := l.Count(Total, Written); got != Exactly(3500) {
		t.Errorf("written = %v after the contradiction, want the counters' 3500", got)
	}
	l = knownCount()
	l.Claim(claim(0, Overwritten, AtLeast(2668)))
	if len(l.Contradictions()) != 1 {
		t.Errorf("a lower bound of 2668 beside exactly 2667 gave %d contradictions", len(l.Contradictions()))
	}
}

func TestCarried(t *testing.T) {
	// 100 kept before; 30 were written meanwhile, and the ring overwrote 60.
	l := NewLedger([]int{0})
	l.CPUsWhole = true
	l.Carried[0] = Exactly(100)
	l.Claim(claim(0, Kept, Exactly(70)))
	l.Claim(claim(0, Overwritten, Exactly(60)))
	l.Claim(claim(0, Read, Exactly(0)))
	l.Solve()
	if got := l.Count(0, Written); got != Exactly(30) {
		t.Errorf("written = %v, want 30", got)
	}
	if len(l.Contradictions()) != 0 {
		t.Errorf("contradictions %+v", l.Contradictions())
	}
}

// Whatever true statements a ledger is given, it finds no contradiction and
// never excludes the truth.
func TestLedgerIsSound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	loosen := func(n uint64) Count {
		switch r.IntN(5) {
		case 0:
			return Unknown()
		case 1:
			return AtLeast(n - uint64(r.Int64N(int64(n)+1)))
		case 2:
			return Between(n-uint64(r.Int64N(int64(n)+1)), n+uint64(r.IntN(9)))
		}
		return Exactly(n)
	}
	for range 3000 {
		cpus := 1 + r.IntN(3)
		taken := r.IntN(2) == 0
		truth := map[int]*[numQuantities]uint64{Total: {}}
		var ids []int
		for cpu := range cpus {
			v := new([numQuantities]uint64)
			for _, q := range []Quantity{Kept, Overwritten, Read, Dropped, CommitOverrun, Uncounted} {
				v[q] = uint64(r.IntN(12))
			}
			v[Written] = v[Kept] + v[Overwritten] + v[Read]
			v[Lost] = v[Overwritten] + v[Dropped] + v[CommitOverrun] + v[Uncounted]
			v[Attempted] = v[Written] + v[Dropped] + v[CommitOverrun] + v[Uncounted]
			v[Delivered] = uint64(r.Int64N(int64(v[Written]) + 1))
			if taken {
				v[Delivered] = uint64(r.Int64N(int64(v[Kept]+v[Read]) + 1))
			}
			v[Missing] = v[Attempted] - v[Delivered]
			truth[cpu] = v
			ids = append(ids, cpu)
			for q := range v {
				truth[Total][q] += v[q]
			}
		}
		l := NewLedger(ids)
		l.CPUsWhole, l.Taken = r.IntN(2) == 0, taken
		for range r.IntN(14) {
			cpu := r.IntN(cpus+1) - 1
			q := Quantity(r.IntN(int(numQuantities)))
			l.Claim(claim(cpu, q, loosen(truth[cpu][q])))
			if r.IntN(4) == 0 {
				l.Solve()
			}
		}
		l.Solve()
		if len(l.Contradictions()) > 0 {
			t.Fatalf("true statements contradict: %+v", l.Contradictions()[0])
		}
		for cpu, v := range truth {
			for q, n := range v {
				if got := l.Count(cpu, Quantity(q)); !got.Contains(n) {
					t.Fatalf("cpu %d %v = %v excludes the truth, %d", cpu, Quantity(q), got, n)
				}
			}
		}
	}
}
