package audit

import (
	"fmt"
	"slices"
	"strings"
)

// Evidence is a place in a source and what stands there.
type Evidence struct {
	Source string // id of the source, "s1"
	File   string // within the source; empty if the source is one file
	Line   int    // 1-based, 0 if the place is not a line
	Offset int64  // in bytes; meaningful if Binary
	Binary bool
	Text   string // as it stands there
}

// Claim is one statement about one quantity: that it lies within Count.
type Claim struct {
	CPU      int // a CPU number, or Total
	Quantity Quantity
	Count    Count
	Evidence []Evidence
	// Why says how the evidence gives the count, where that is not plain from
	// its text.
	Why string

	rule string // that reports a contradiction with this claim; empty: a plain counter
}

// Contradiction is two statements that cannot both be true.
type Contradiction struct {
	CPU      int
	Quantity Quantity
	// What says which identity or which two statements clash, in words.
	What        string
	Have, Claim Count
	HaveSide    []Claim
	ClaimSide   []Claim
}

// Ledger settles what is claimed of one buffer. Each quantity of each CPU, and
// of the buffer as a whole, begins as unknown; claims narrow it, and the
// identities (below) carry what is known of some quantities to the others.
//
//	written   = kept + overwritten + read   (− what was kept before the audit began)
//	attempted = written + dropped + commit_overrun + uncounted
//	lost      = overwritten + dropped + commit_overrun + uncounted
//	attempted = delivered + missing, and delivered (+ overwritten) ≤ written
//	total     = the sum over CPUs
//
// The first holds by construction on a quiet buffer: the kernel derives
// "entries" from it (rb_num_of_entries in kernel/trace/ring_buffer.c, 4.4 to
// 7.3). Its exceptions are for those who make the claims to know: a number that
// an exception touches must not be claimed as exact.
type Ledger struct {
	cpus []int // sorted
	// CPUsWhole tells that no CPU outside the ledger has records, so that a
	// total is the sum over its CPUs. Else a total is at least the sum.
	CPUsWhole bool
	// Taken tells that what was delivered was not also overwritten: it left the
	// ring, or the ring was not looked at again.
	Taken bool
	// Carried is what each CPU kept when the audited stretch began: records of
	// before that may be overwritten or read in it. A CPU that is not in it
	// carried nothing.
	Carried map[int]Count

	// facts are the rows whose Delivered is what was counted in a capture although
	// the counters cannot have it so: it takes part in no identity.
	facts          map[int]bool
	cells          map[int]*[numQuantities]cell
	contradictions []Contradiction
	// pending are the claims since the last Solve, settled is what the ledger held
	// then, and found how many contradictions: claims that turn out to clash are
	// entered again one by one from there.
	pending []Claim
	settled map[int]*[numQuantities]cell
	found   int
	clash   *Contradiction // that the propagation in progress came upon
}

type cell struct {
	Count
	claims  []Claim
	applies bool
}

// NewLedger makes a ledger of the given CPUs, all quantities unknown.
func NewLedger(cpus []int) *Ledger {
	l := &Ledger{cells: map[int]*[numQuantities]cell{}, Carried: map[int]Count{}}
	l.addRow(Total)
	for _, c := range cpus {
		l.AddCPU(c)
	}
	return l
}

// AddCPU adds a CPU, all its quantities unknown; one that is there stays.
func (l *Ledger) AddCPU(cpu int) {
	if _, ok := l.cells[cpu]; ok {
		return
	}
	l.addRow(cpu)
	i, _ := slices.BinarySearch(l.cpus, cpu)
	l.cpus = slices.Insert(l.cpus, i, cpu)
}

func (l *Ledger) addRow(row int) {
	cells := new([numQuantities]cell)
	for q := range cells {
		cells[q].Count = Unknown()
		cells[q].applies = Quantity(q) != Delivered && Quantity(q) != Missing
	}
	l.cells[row] = cells
}

// CPUs are the ledger's CPU numbers, ascending.
func (l *Ledger) CPUs() []int { return l.cpus }

// Get is what is known of a quantity of a CPU, or of the buffer ([Total]).
// ok is false where the quantity does not apply: Delivered and Missing of a
// buffer of which no capture is at hand, or a CPU that the ledger lacks.
func (l *Ledger) Get(cpu int, q Quantity) (_ Count, ok bool) {
	row := l.cells[cpu]
	if row == nil || !row[q].applies {
		return Unknown(), false
	}
	return row[q].Count, true
}

// Count is Get for those who take "does not apply" as unknown.
func (l *Ledger) Count(cpu int, q Quantity) Count {
	c, _ := l.Get(cpu, q)
	return c
}

// Claims are the statements that were made of a quantity directly.
func (l *Ledger) Claims(cpu int, q Quantity) []Claim {
	if row := l.cells[cpu]; row != nil {
		return row[q].claims
	}
	return nil
}

// Evidence is the evidence of all claims about a quantity: of the CPU, or where
// cpu is Total, of all CPUs and then of the whole.
func (l *Ledger) Evidence(cpu int, q Quantity) []Evidence {
	var ev []Evidence
	if cpu == Total {
		for _, c := range l.cpus {
			ev = append(ev, l.Evidence(c, q)...)
		}
	}
	for _, c := range l.Claims(cpu, q) {
		for _, e := range c.Evidence {
			if !slices.Contains(ev, e) {
				ev = append(ev, e)
			}
		}
	}
	return ev
}

// Contradictions are the statements that could not be settled.
func (l *Ledger) Contradictions() []Contradiction { return l.contradictions }

// Claim enters a statement. A statement that cannot be true together with those
// entered before is recorded as a contradiction and not used, here or in the next
// Solve: enter the sources that count (stats) before those that show (texts).
func (l *Ledger) Claim(c Claim) {
	if c.CPU != Total {
		l.AddCPU(c.CPU)
	}
	if l.settled == nil {
		l.settled, l.found = l.copyCells(), len(l.contradictions)
	}
	l.pending = append(l.pending, c)
	if clash := l.enter(c); clash != nil {
		l.contradictions = append(l.contradictions, *clash)
	}
}

// Facts enters counts of the records that are at hand. They are as certain as the
// capture is there: where one cannot be true together with the counters, that is a
// contradiction, and it stays; what the capture lacks is unknown then.
func (l *Ledger) Facts(claims ...Claim) {
	known := len(l.contradictions)
	for _, c := range claims {
		l.Claim(c)
	}
	l.Solve()
	for _, c := range claims {
		if slices.ContainsFunc(l.Claims(c.CPU, c.Quantity), c.same) {
			continue
		}
		said := slices.ContainsFunc(l.contradictions[:known], func(o Contradiction) bool { return o.CPU == c.CPU || c.CPU == Total })
		l.contradictions = slices.DeleteFunc(l.contradictions, func(o Contradiction) bool {
			return said && slices.ContainsFunc(o.ClaimSide, c.same)
		})
		if l.facts == nil {
			l.facts = map[int]bool{}
		}
		l.facts[c.CPU] = true
		l.cells[c.CPU][c.Quantity] = cell{Count: c.Count, claims: []Claim{c}, applies: true}
	}
	for i := known; i < len(l.contradictions); i++ {
		l.contradictions[i].What = strings.Replace(l.contradictions[i].What, "is not used", "stays, as it was counted", 1)
	}
}

// enter narrows the claim's cell; it returns what is there instead if the two
// cannot both be.
func (l *Ledger) enter(c Claim) *Contradiction {
	if c.CPU != Total {
		l.AddCPU(c.CPU)
	}
	t := term{c.CPU, c.Quantity}
	cell := l.at(t)
	both, ok := cell.Intersect(c.Count)
	if !ok {
		return &Contradiction{
			CPU: c.CPU, Quantity: c.Quantity,
			What: fmt.Sprintf("%s is %s by one source and %s by another; the latter%s is not used", c.Quantity, grouped(cell.Count), grouped(c.Count), c.place()),
			Have: cell.Count, Claim: c.Count,
			HaveSide: l.grounds(t), ClaimSide: []Claim{c},
		}
	}
	cell.applies = true
	cell.Count = both
	cell.claims = append(cell.claims, c)
	return nil
}

// place names where the claim stands, in brackets; empty if nowhere.
func (c Claim) place() string {
	if len(c.Evidence) == 0 {
		return ""
	}
	ev := c.Evidence[0]
	at := ev.File
	if ev.Line > 0 {
		at += fmt.Sprintf(":%d", ev.Line)
	}
	return " (" + strings.TrimSpace(ev.Source+" "+at) + ")"
}

func (l *Ledger) copyCells() map[int]*[numQuantities]cell {
	out := make(map[int]*[numQuantities]cell, len(l.cells))
	for row, cells := range l.cells {
		c := *cells
		for q := range c {
			c[q].claims = slices.Clip(c[q].claims) // appending to one must not show in the other
		}
		out[row] = &c
	}
	return out
}

// sumFacts makes the records at hand of all CPUs a fact as well, where those of
// one are.
func (l *Ledger) sumFacts() {
	sum := Exactly(0)
	for _, cpu := range l.cpus {
		c := l.at(term{cpu, Delivered})
		if !c.applies {
			return
		}
		sum = sum.Plus(c.Count)
	}
	l.facts[Total] = true
	l.cells[Total][Delivered] = cell{Count: sum, applies: true}
}
