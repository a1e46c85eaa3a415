package audit

import (
	"fmt"
	"slices"
	"strings"
)

// This file carries what is known through the identities.

// term is one quantity of one row in an identity.
type term struct {
	cpu int
	q   Quantity
}

// Solve carries what is known through the identities until nothing narrows any
// more. It may be called again after further claims. A claim that clashes with
// those before it by way of an identity is a contradiction and is not used.
func (l *Ledger) Solve() {
	l.propagate()
	if l.clash != nil || l.settled != nil && len(l.contradictions) > l.found {
		l.solveOneByOne()
	}
	l.pending, l.settled = nil, nil
}

// solveOneByOne goes back to the last settled state and enters the claims since
// then one by one, leaving out those that clash. Claims that clashed at once are
// heard again too: what they clashed with may be out.
func (l *Ledger) solveOneByOne() {
	claims := l.pending
	if l.settled == nil { // no claim since: an identity that was added is broken
		l.contradictions, l.clash = append(l.contradictions, *l.clash), nil
		return
	}
	l.cells, l.contradictions = l.settled, l.contradictions[:l.found]
	for _, cpu := range l.cpus {
		if l.cells[cpu] == nil {
			l.addRow(cpu)
		}
	}
	for _, c := range claims {
		before := l.copyCells()
		clash := l.enter(c)
		if clash == nil {
			l.propagate()
			if clash = l.clash; clash != nil {
				clash.What += fmt.Sprintf("; %s %s%s is not used", c.Quantity, grouped(c.Count), c.place())
			}
		}
		if clash == nil {
			continue
		}
		if !slices.ContainsFunc(slices.Concat(clash.ClaimSide, clash.HaveSide), c.same) {
			clash.ClaimSide = append(clash.ClaimSide, c)
		}
		l.contradictions = append(l.contradictions, *clash)
		l.cells = before
	}
	l.clash = nil
}

// same tells whether two claims are one.
func (c Claim) same(d Claim) bool {
	return c.CPU == d.CPU && c.Quantity == d.Quantity && c.Count == d.Count && c.rule == d.rule && slices.Equal(c.Evidence, d.Evidence)
}

// propagate applies the identities until nothing narrows, or one is found broken:
// that is in l.clash then.
func (l *Ledger) propagate() {
	l.clash = nil
	// Each round carries every number through every identity; the identities
	// chain over at most a few quantities, and intervals only narrow. The bound
	// is for intervals that creep by one (never seen).
	for range 64 {
		changed := false
		for q := range numQuantities {
			changed = l.sumOverCPUs(q) || changed
		}
		for _, r := range slices.Concat(l.cpus, []int{Total}) {
			changed = l.identity("written", term{r, Written}, l.carried(r), term{r, Kept}, term{r, Overwritten}, term{r, Read}) || changed
			changed = l.identity("attempted", term{r, Attempted}, Exactly(0), term{r, Written}, term{r, Dropped}, term{r, CommitOverrun}, term{r, Uncounted}) || changed
			changed = l.identity("lost", term{r, Lost}, Exactly(0), term{r, Overwritten}, term{r, Dropped}, term{r, CommitOverrun}, term{r, Uncounted}) || changed
			if l.cells[r][Delivered].applies && !l.facts[r] {
				l.cells[r][Missing].applies = true
				// What was delivered was written.
				parts := []term{{r, Delivered}}
				if l.Taken {
					parts = append(parts, term{r, Overwritten})
				}
				changed = l.apply("delivered", term{r, Written}, Exactly(0), parts, false) || changed
				changed = l.identity("missing", term{r, Attempted}, Exactly(0), term{r, Delivered}, term{r, Missing}) || changed
			}
		}
		if !changed || l.clash != nil {
			return
		}
	}
}

func (l *Ledger) carried(row int) Count {
	if row != Total {
		return l.Carried[row]
	}
	sum := Exactly(0)
	for _, c := range l.cpus {
		sum = sum.Plus(l.Carried[c])
	}
	if !l.CPUsWhole && len(l.Carried) > 0 {
		sum.Open = true // a CPU outside the ledger may have carried records too
	}
	return sum
}

// identity applies sum + carried = Σ parts.
func (l *Ledger) identity(name string, sum term, carried Count, parts ...term) bool {
	return l.apply(name, sum, carried, parts, true)
}

// sumOverCPUs applies total = Σ CPUs, or total ≥ Σ CPUs if CPUs may be missing.
func (l *Ledger) sumOverCPUs(q Quantity) bool {
	if len(l.cpus) == 0 {
		return false
	}
	parts := make([]term, 0, len(l.cpus))
	for _, c := range l.cpus {
		if !l.cells[c][q].applies {
			return false // a capture of some CPUs says nothing of the whole
		}
		parts = append(parts, term{c, q})
	}
	if q == Delivered && l.facts[Total] || q == Missing && len(l.facts) > 0 {
		return false
	}
	if q == Delivered || q == Missing {
		l.cells[Total][q].applies = true
	}
	return l.apply("total", term{Total, q}, Exactly(0), parts, l.CPUsWhole)
}

func (l *Ledger) at(t term) *cell { return &l.cells[t.cpu][t.q] }

// apply carries known bounds through sum + carried = Σ parts (or ≥ Σ parts if
// not equal) in both directions. It reports whether anything narrowed.
func (l *Ledger) apply(name string, sum term, carried Count, parts []term, equal bool) bool {
	if l.clash != nil {
		return false
	}
	all := Exactly(0)
	open := 0
	for _, p := range parts {
		all = all.Plus(Count{Lo: l.at(p).Lo, Hi: l.at(p).Hi})
		if l.at(p).Open {
			open++
		}
	}
	whole := Count{Lo: all.Lo, Hi: all.Hi, Open: open > 0 || all.Open}
	if !equal {
		whole.Open = true
	}
	have := l.at(sum).Plus(carried)
	both, ok := have.Intersect(whole)
	if !ok {
		l.contradict(name, sum, carried, parts, have, whole)
		return false
	}
	narrowed, ok := both.Minus(carried)
	if !ok {
		return false
	}
	changed := l.narrow(sum, narrowed)

	// Each part is what the sum leaves beside the others.
	for _, p := range parts {
		c := *l.at(p)
		part := Unknown()
		if !both.Open { // part.Hi = sum.Hi − Σ other.Lo
			others := all.Lo - c.Lo
			if others > both.Hi {
				continue
			}
			part.Open, part.Hi = false, both.Hi-others
		}
		if equal && !all.Open && open-b2i(c.Open) == 0 { // part.Lo = sum.Lo − Σ other.Hi
			others := all.Hi - c.Hi
			if both.Lo > others {
				part.Lo = both.Lo - others
			}
		}
		changed = l.narrow(p, part) || changed
	}
	return changed
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// narrow intersects a cell with what an identity says of it. It cannot be
// empty: apply has found the whole identity consistent, so each part's bound
// lies within what the others leave.
func (l *Ledger) narrow(t term, to Count) bool {
	c := l.at(t)
	both, ok := c.Intersect(to)
	if !ok || both == c.Count {
		return false
	}
	c.Count = both
	return true
}

func (l *Ledger) contradict(name string, sum term, carried Count, parts []term, have, whole Count) {
	words := make([]string, len(parts))
	var side []Claim
	for i, p := range parts {
		words[i] = fmt.Sprintf("%s %s", p.q, grouped(l.at(p).Count))
		if name == "total" {
			words[i] = fmt.Sprintf("%s %s", cpuName(p.cpu), grouped(l.at(p).Count))
		}
		side = append(side, l.grounds(p)...)
	}
	what := fmt.Sprintf("%s %s is not the sum of %s", sum.q, grouped(have), strings.Join(words, " + "))
	switch name {
	case "delivered":
		what = fmt.Sprintf("%s is more than was %s, %s", strings.Join(words, " + "), sum.q, grouped(have))
	case "total":
		what = fmt.Sprintf("%s is %s for the whole buffer, but the sum over its CPUs (%s) is %s", sum.q, grouped(have), strings.Join(words, ", "), grouped(whole))
	}
	if !carried.None() {
		what += fmt.Sprintf(" (with %s kept from before)", grouped(carried))
	}
	l.clash = &Contradiction{
		CPU: sum.cpu, Quantity: sum.q, What: what, Have: have, Claim: whole,
		HaveSide: l.grounds(sum), ClaimSide: side,
	}
}

// grounds are the claims that a number rests on: its own, and where it was
// narrowed beyond them, those of the numbers that it is made of.
func (l *Ledger) grounds(t term) []Claim {
	out := slices.Clone(l.at(t).claims)
	claimed := Unknown()
	for _, c := range out {
		claimed, _ = claimed.Intersect(c.Count)
	}
	if len(out) > 0 && claimed == l.at(t).Count {
		return out
	}
	if t.cpu == Total {
		n := len(out)
		for _, cpu := range l.cpus {
			out = append(out, l.grounds(term{cpu, t.q})...)
		}
		if len(out) > n {
			return out
		}
	}
	switch t.q {
	case Written:
		for _, q := range []Quantity{Kept, Overwritten, Read} {
			out = append(out, l.at(term{t.cpu, q}).claims...)
		}
	case Attempted:
		for _, q := range []Quantity{Written, Dropped, CommitOverrun, Uncounted} {
			out = append(out, l.grounds(term{t.cpu, q})...)
		}
	case Lost:
		for _, q := range []Quantity{Overwritten, Dropped, CommitOverrun, Uncounted} {
			out = append(out, l.at(term{t.cpu, q}).claims...)
		}
	}
	return out
}
