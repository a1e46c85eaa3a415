package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringaudit/ringaudit/audit"
)

// A column is one quantity of a table of CPUs.
type column struct {
	head string // for text; "\n" breaks it
	of   func(*Tally) **audit.Count
	loss bool // more is worse
	sum  bool // made of other columns
}

// columns stand in the order in which an event meets them: asked for, written,
// still there, and then each way to be lost.
var columns = []column{
	{head: "attempted", of: func(t *Tally) **audit.Count { return &t.Attempted }},
	{head: "written", of: func(t *Tally) **audit.Count { return &t.Written }},
	{head: "kept", of: func(t *Tally) **audit.Count { return &t.Kept }},
	{head: "read", of: func(t *Tally) **audit.Count { return &t.Read }},
	{head: "overwritten", of: func(t *Tally) **audit.Count { return &t.Overwritten }, loss: true},
	{head: "dropped", of: func(t *Tally) **audit.Count { return &t.Dropped }, loss: true},
	{head: "commit\noverrun", of: func(t *Tally) **audit.Count { return &t.CommitOverrun }, loss: true},
	{head: "uncounted", of: func(t *Tally) **audit.Count { return &t.Uncounted }, loss: true},
	{head: "lost", of: func(t *Tally) **audit.Count { return &t.Lost }, loss: true, sum: true},
	{head: "delivered", of: func(t *Tally) **audit.Count { return &t.Delivered }},
	{head: "missing", of: func(t *Tally) **audit.Count { return &t.Missing }, loss: true, sum: true},
}

// counted tells whether all three counters of loss are known.
func (t *Tally) counted() bool {
	for _, c := range []*audit.Count{t.Overwritten, t.Dropped, t.CommitOverrun} {
		if c == nil || c.Open {
			return false
		}
	}
	return true
}

// A tallyTable is what every table of a buffer shows.
type tallyTable struct {
	columns []column
	rows    []tallyRow
	windows bool
	// now and newest: some window ends at the reading, at the last record.
	now, newest bool
	unit        string
	// hidden says which CPUs have no row of their own.
	hidden string
	// unknown and open: some cell reads "?" or is a lower bound only.
	unknown, open bool
}

type tallyRow struct {
	label  string
	tally  *Tally
	window *Window
	total  bool
	apart  bool // the CPUs' windows have no moment in common
}

// ends is the row's window, for a cell.
func (r *tallyRow) ends(dash string) string {
	switch {
	case r.window != nil:
		return r.window.ends(dash)
	case r.apart:
		return noneInCommon
	}
	return ""
}

// Machines of more than maxRows CPUs are shown by the worstRows that lost most
// and one row for all others.
const (
	maxRows   = 16
	worstRows = 8
)

func newTally(b *Buffer, all bool) *tallyTable {
	t := &tallyTable{unit: unitOf(b)}
	cpus := make([]*CPU, len(b.CPUs))
	for i := range b.CPUs {
		cpus[i] = &b.CPUs[i]
	}
	show := cpus
	var rest *Tally
	if !all && len(cpus) > maxRows {
		worst := slices.Clone(cpus)
		slices.SortStableFunc(worst, func(x, y *CPU) int { return cmp.Compare(y.loss(), x.loss()) })
		show = worst[:worstRows]
		slices.SortFunc(show, func(x, y *CPU) int { return cmp.Compare(x.CPU, y.CPU) })
		rest = sum(worst[worstRows:])
		t.hidden = fmt.Sprintf("of %d CPUs, the %d that lost most", len(cpus), worstRows)
	}
	for _, c := range show {
		if sameTally(&c.Tally, new(Tally)) { // nothing applies; states() names it
			continue
		}
		t.rows = append(t.rows, tallyRow{label: cpuName(c.CPU), tally: &c.Tally, window: c.Window})
		if c.Window != nil {
			t.windows = true
			t.now, t.newest = t.now || c.Window.Now != "", t.newest || c.Window.Now == ""
		}
	}
	if rest != nil {
		t.rows = append(t.rows, tallyRow{label: fmt.Sprintf("%d more", len(cpus)-worstRows), tally: rest})
	}
	if len(cpus) != 1 || !sameTally(&cpus[0].Tally, &b.Total) {
		t.rows = append(t.rows, tallyRow{label: "all", tally: &b.Total, window: b.CommonWindow, total: true, apart: b.apart()})
	}
	for _, c := range columns {
		if t.worth(c) {
			t.columns = append(t.columns, c)
		}
	}
	for _, c := range t.columns {
		for _, r := range t.rows {
			switch q := *c.of(r.tally); {
			case q == nil:
			case q.IsUnknown() && !(c.sum && r.tally.counted()):
				t.unknown = true
			case q.Open:
				t.open = true
			}
		}
	}
	return t
}

// windowHead names the column of windows for what it is: the counters tell the
// oldest record and the time of their reading ("now ts"), a capture its newest
// record.
func (t *tallyTable) windowHead(dash string) string {
	switch {
	case !t.newest:
		return "oldest " + dash + " now"
	case !t.now:
		return "oldest " + dash + " newest"
	}
	return "oldest " + dash + " now or newest"
}

// unitHead is the unit in a heading.
func (t *tallyTable) unitHead() string {
	if t.unit == "unknown" {
		return "unit ?"
	}
	return clean(t.unit)
}

// withoutConstant is the columns that are neither zero nor unknown throughout,
// and the names of the others.
func (t *tallyTable) withoutConstant() (cols []column, none, unknown []string) {
	for _, c := range t.columns {
		zero, dark := true, true
		for _, r := range t.rows {
			q := *c.of(r.tally)
			zero = zero && q != nil && q.None()
			dark = dark && q != nil && q.IsUnknown() && !(c.sum && r.tally.counted())
		}
		name := strings.ReplaceAll(c.head, "\n", " ")
		switch {
		case zero:
			none = append(none, name)
		case dark:
			unknown = append(unknown, name)
		default:
			cols = append(cols, c)
		}
	}
	return cols, none, unknown
}

// worth tells whether a column says anything. What no independent count
// bounds (attempted, uncounted) repeats other columns, and so does a loss of
// "at least 0"; the blind spots speak of those.
func (t *tallyTable) worth(c column) bool {
	applies := false
	for _, r := range t.rows {
		q := *c.of(r.tally)
		if q == nil {
			continue
		}
		switch c.head {
		case "attempted", "uncounted":
			applies = applies || !q.Open || (c.loss && q.Lo > 0)
		case "lost", "missing":
			applies = applies || !(q.IsUnknown() && r.tally.counted())
		default:
			applies = true
		}
	}
	return applies
}

// sum adds the quantities of CPUs; one that does not apply to any stays nil.
func sum(cpus []*CPU) *Tally {
	out := new(Tally)
	for _, col := range columns {
		dst := col.of(out)
		for _, c := range cpus {
			q := *col.of(&c.Tally)
			switch {
			case q == nil:
			case *dst == nil:
				n := *q
				*dst = &n
			default:
				**dst = (*dst).Plus(*q)
			}
		}
	}
	return out
}

func sameTally(a, b *Tally) bool {
	for _, c := range columns {
		if !same(*c.of(a), *c.of(b)) {
			return false
		}
	}
	return true
}

// figureLines is the derived figures of a buffer, each with its name; lines
// without one belong to the name above.
func (b *Buffer) figureLines(g glyphs) [][2]string {
	var out [][2]string
	f := b.Figures()
	if or(b.Total.Overwritten).Lo > 0 && f.ThrownAway != "" {
		s := g.bounds(f.ThrownAway) + "\u00a0% of what was written"
		// Where readers took records out, what is still kept says little.
		if f.DiscardedPerKept != "" && or(b.Total.Read).None() {
			s += "; " + g.bounds(f.DiscardedPerKept) + " discarded per one kept"
		}
		out = append(out, [2]string{"thrown away", s})
	}
	w, of := b.CommonWindow, " that all CPUs have in common"
	var own []*CPU
	for i := range b.CPUs {
		if b.CPUs[i].Window != nil {
			own = append(own, &b.CPUs[i])
		}
	}
	if len(own) == 1 {
		w, of = own[0].Window, ""
		if len(b.CPUs) > 1 {
			of = " on CPU\u00a0" + cpuName(own[0].CPU)
		}
	}
	if b.apart() {
		out = append(out, [2]string{"window", "no moment that all CPUs have records of"})
	} else if w != nil && w.length() != "" {
		s := w.length() + "\u00a0" + unitWord(w.Unit) + " of history" + of
		if w.Now != "" {
			s += ", up to the reading of the counters"
		}
		out = append(out, [2]string{"window", s})
	}
	for _, s := range b.readings(g) {
		out = append(out, [2]string{"reading", s})
	}
	for _, s := range b.busiest() {
		out = append(out, [2]string{"busiest", s})
	}
	if s := b.sizeLine(g); s != "" {
		out = append(out, [2]string{"size", s})
	}
	for i := len(out) - 1; i > 0; i-- { // a name stands once
		if out[i][0] == out[i-1][0] {
			out[i][0] = ""
		}
	}
	return out
}

// readings is what each way of reading the buffer admitted of its loss: first
// those of all CPUs, and no more than a screen takes.
func (b *Buffer) readings(g glyphs) []string {
	const most = 4
	views := slices.Clone(b.Views)
	slices.SortStableFunc(views, func(x, y View) int {
		return cmp.Compare(bool01(x.CPU != nil), bool01(y.CPU != nil))
	})
	more := 0
	if len(views) > most {
		views, more = views[:most-1], len(views)-most+1
	}
	var out []string
	for i := range views {
		v := &views[i]
		name := v.File
		if name == "" {
			name = v.Kind
		}
		s := clean(name) + ": " + plural(v.Records, "record")
		if v.Uncountable != "" {
			s = clean(name) + ": " + clean(v.Uncountable)
		}
		if v.HeaderEntries != nil && v.HeaderWritten != nil {
			s += fmt.Sprintf(" under a header that says %d/%d", *v.HeaderEntries, *v.HeaderWritten)
		}
		switch {
		case v.Marks == 0:
			s += ", no mark of loss"
		case v.MarksUnknown == v.Marks:
			s += ", " + plural(v.Marks, "mark") + " of loss without a number"
		case v.MarksUnknown > 0:
			s += fmt.Sprintf(", %s of loss, %s without a number, the others %s", plural(v.Marks, "mark"), group(v.MarksUnknown), plural(v.MarksLost, "event"))
		default:
			s += ", " + plural(v.Marks, "mark") + " of loss: " + plural(v.MarksLost, "event")
		}
		out = append(out, s)
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%s and %s more", g.ellipsis, plural(uint64(more), "view")))
	}
	return out
}

func plural(n uint64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return group(n) + "\u00a0" + noun
}

// busiest names the events that filled the buffers of the CPUs that lost most.
func (b *Buffer) busiest() []string {
	const cpus, rows = 3, 3
	var lossy []*CPU
	for i := range b.CPUs {
		if c := &b.CPUs[i]; len(c.Events) > 0 && c.loss() > 0 {
			lossy = append(lossy, c)
		}
	}
	slices.SortStableFunc(lossy, func(x, y *CPU) int { return cmp.Compare(y.loss(), x.loss()) })
	lossy = lossy[:min(cpus, len(lossy))]
	slices.SortFunc(lossy, func(x, y *CPU) int { return cmp.Compare(x.CPU, y.CPU) })
	var out []string
	for _, c := range lossy {
		var parts []string
		for i := range c.Events[:min(rows, len(c.Events))] {
			parts = append(parts, clean(c.Events[i].Name)+"\u00a0"+group(c.Events[i].Count))
		}
		out = append(out, "CPU\u00a0"+cpuName(c.CPU)+": "+strings.Join(parts, ", "))
	}
	return out
}

// missedPercent is the share of a probe's hits and misses that it missed.
func (p *Probe) missedPercent() string {
	if p.Missed == nil {
		return ""
	}
	return share(*p.Missed, or(p.Hits))
}

// worstProbes is the probes to show, those that missed most first if there are
// more than a screen takes.
func worstProbes(ps []Probe, all bool) ([]Probe, int) {
	if all || len(ps) <= maxRows {
		return ps, 0
	}
	worst := slices.Clone(ps)
	slices.SortStableFunc(worst, func(a, b Probe) int { return cmp.Compare(or(b.Missed).Lo, or(a.Missed).Lo) })
	return worst[:worstRows], len(ps) - worstRows
}

// blindIDs is the names of the blind spots, each once.
func (d *Document) blindIDs() []string {
	var ids []string
	for i := range d.BlindSpots {
		if id := clean(d.BlindSpots[i].ID); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// closers is what would show the blind spots, each once.
func (d *Document) closers() []string {
	var out []string
	for i := range d.BlindSpots {
		if c := clean(d.BlindSpots[i].Closes); c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
