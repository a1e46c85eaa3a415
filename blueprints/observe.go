package blueprints

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/report"
	"github.com/ringaudit/ringaudit/tracefs"
)

// maxColumns is for how many CPUs the table has a column each; beyond it has a
// row each.
const maxColumns = 4

// observation is what one buffer of the evidence shows.
type observation struct {
	buf   *audit.Buffer
	meta  evidenceMeta
	src   Source
	cpus  []int
	views []view

	geometry audit.Geometry
	request  uint64 // kB for each CPU; 0: not known
	mode     audit.Mode
	modeFrom string // how it is known, where the kernel did not say
	// whole is what sentences are about: the buffer, or, where the evidence is
	// one CPU's and does not say whether there are others, that CPU.
	whole int
}

func newObservation(buf *audit.Buffer, meta evidenceMeta, src Source) *observation {
	o := &observation{buf: buf, meta: meta, src: src, cpus: buf.CPUIDs(), geometry: buf.Geometry, mode: buf.Mode}
	o.whole = audit.Total
	if len(o.cpus) == 1 && !o.count(audit.Total, audit.Written).Exact() {
		o.whole = o.cpus[0]
	}
	if o.geometry == (audit.Geometry{}) {
		if g, err := geometryOf(meta); err == nil {
			o.geometry = g
		}
	}
	o.request = uint64(meta.RequestKB)
	if o.request == 0 {
		o.request = requestOf(meta.Commands)
	}
	if o.mode == "" && meta.Mode != "" {
		o.mode = audit.Mode(meta.Mode)
	}
	if o.mode == "" {
		over, drop := o.count(o.whole, audit.Overwritten), o.count(o.whole, audit.Dropped)
		switch {
		case over.Lo > 0 && drop.None():
			o.mode, o.modeFrom = audit.ModeOverwrite, "as `overrun` shows"
		case drop.Lo > 0 && over.None():
			o.mode, o.modeFrom = audit.ModeNoOverwrite, "as `dropped events` shows"
		}
	}
	return o
}

// "echo 8 > buffer_size_kb", as a capture's description lists its commands.
var sizeCommand = regexp.MustCompile(`(?m)^\s*echo\s+(\d{1,12})\s*>\s*(?:\S*/)?buffer_size_kb\s*$`)

// requestOf is the last size that a list of commands wrote to buffer_size_kb of
// the whole buffer; 0 if there is none, or if CPUs were sized one by one.
func requestOf(commands string) uint64 {
	if strings.Contains(commands, "per_cpu/") && regexp.MustCompile(`>\s*\S*per_cpu/cpu\d+/buffer_size_kb`).MatchString(commands) {
		return 0
	}
	all := sizeCommand.FindAllStringSubmatch(commands, -1)
	if len(all) == 0 {
		return 0
	}
	n, err := strconv.ParseUint(all[len(all)-1][1], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (o *observation) count(cpu int, q audit.Quantity) audit.Count {
	return o.buf.Ledger.Count(cpu, q)
}

// figures are the derived numbers of a CPU, or of the buffer (audit.Total).
func (o *observation) figures(cpu int) report.Figures {
	get := func(q audit.Quantity) *audit.Count {
		c, ok := o.buf.Ledger.Get(cpu, q)
		if !ok {
			return nil
		}
		return &c
	}
	c := report.CPU{Tally: report.Tally{
		Attempted: get(audit.Attempted), Written: get(audit.Written), Kept: get(audit.Kept),
		Overwritten: get(audit.Overwritten), Read: get(audit.Read), Dropped: get(audit.Dropped),
		CommitOverrun: get(audit.CommitOverrun), Uncounted: get(audit.Uncounted), Lost: get(audit.Lost),
		Delivered: get(audit.Delivered), Missing: get(audit.Missing),
	}}
	return c.Figures()
}

// write adds the observation to the block. named says that the evidence has
// several buffers, so that each needs its name.
func (o *observation) write(b *strings.Builder, named bool) {
	if named {
		fmt.Fprintf(b, "\n##### Buffer `%s`\n", cell(o.buf.Name))
	}
	fmt.Fprintf(b, "\n%s.", machine(o.src))
	if o.buf.Kind == audit.BufferBPF {
		b.WriteString(" An eBPF ring buffer.")
	} else {
		fmt.Fprintf(b, " Buffer `%s`", cell(o.buf.Name))
		switch o.mode {
		case audit.ModeOverwrite:
			b.WriteString(", overwrite on")
		case audit.ModeNoOverwrite:
			b.WriteString(", overwrite off")
		default:
			b.WriteString(", overwrite not known")
		}
		if o.modeFrom != "" {
			b.WriteString(" (" + o.modeFrom + ")")
		}
		if clock := or(o.buf.Clock, o.meta.Clock); clock != "" {
			fmt.Fprintf(b, ", clock `%s`", cell(clock))
		}
		b.WriteString(".")
	}
	if !named {
		b.WriteString(o.meta.sentence())
	}
	b.WriteString("\n")
	o.writeTable(b)
	o.writeSentence(b)
	o.writeSizes(b)
	o.writeMisleading(b)
	o.writeViews(b)
}

// sentence is how the evidence describes itself, with a blank before it; empty
// if it does not.
func (m evidenceMeta) sentence() string {
	d := or(oneLine(m.Describes), oneLine(m.Note))
	if d == "" {
		return ""
	}
	return " Its own note: " + strings.TrimRight(prose(d), ".") + "."
}

// keptAll tells whether what is left of the buffer is in it: what was read out is
// left too, and how much of it somebody kept is not the buffer's to say.
func (o *observation) keptAll() bool { return o.count(o.whole, audit.Read).None() }

// untouched tells whether nothing was ever asked of the buffer.
func (o *observation) untouched() bool {
	return o.count(o.whole, audit.Written).None() && o.count(o.whole, audit.Dropped).None() && o.count(o.whole, audit.CommitOverrun).None()
}

// prose makes foreign text fit for a paragraph: what Markdown or the citation
// gate would read as its own is taken out of it.
func prose(s string) string {
	return strings.NewReplacer("<", "&lt;", "[", "(", "]", ")", "`", "'", "*", "\\*", "_", "\\_", "|", "\\|").Replace(s)
}

// tableRow is one quantity over the CPUs.
type tableRow struct {
	name  string
	value func(cpu int) string
}

func (o *observation) writeTable(b *strings.Builder) {
	q := func(q audit.Quantity) func(int) string {
		return func(cpu int) string { return count(o.count(cpu, q)) }
	}
	fig := func(f func(report.Figures) string, unit string) func(int) string {
		return func(cpu int) string {
			s := strings.ReplaceAll(f(o.figures(cpu)), ",", "")
			if s == "" {
				return absentCell
			}
			return s + unit
		}
	}
	rows := []tableRow{
		{"written", q(audit.Written)},
		{"still there: `entries`", q(audit.Kept)},
		{"thrown away to make room: `overrun`", q(audit.Overwritten)},
		{"read out: `read events`", q(audit.Read)},
		{"refused, ring full: `dropped events`", q(audit.Dropped)},
		{"refused, writers nested: `commit overrun`", q(audit.CommitOverrun)},
	}
	if o.buf.Kind == audit.BufferBPF {
		rows = []tableRow{
			{"asked for a record", q(audit.Attempted)},
			{"written", q(audit.Written)},
			{"refused: reserve failed", q(audit.Dropped)},
			{"refused, counted nowhere", q(audit.Uncounted)},
		}
	}
	if _, ok := o.buf.Ledger.Get(audit.Total, audit.Delivered); ok {
		rows = append(rows, tableRow{"in this capture", q(audit.Delivered)}, tableRow{"missing from it", q(audit.Missing)})
	}
	if o.count(audit.Total, audit.Overwritten).Lo > 0 {
		rows = append(rows,
			tableRow{"thrown away, share of what was written", fig(func(f report.Figures) string { return f.ThrownAway }, " %")})
		if o.keptAll() {
			rows = append(rows, tableRow{"thrown away for each event kept", fig(func(f report.Figures) string { return f.DiscardedPerKept }, "")})
		}
	}
	if refused := o.count(audit.Total, audit.Dropped).Lo + o.count(audit.Total, audit.CommitOverrun).Lo; refused > 0 {
		rows = append(rows, tableRow{"lost, share of all attempts that are known", fig(func(f report.Figures) string { return f.Lost }, " %")})
	}
	if o.hasWindow() {
		rows = append(rows, tableRow{"history that is left", func(cpu int) string { return o.window(cpu) }})
	}

	cols := slices.Clone(o.cpus)
	if len(cols) != 1 {
		cols = append(cols, audit.Total)
	}
	rows = slices.DeleteFunc(rows, func(r tableRow) bool {
		return !slices.ContainsFunc(cols, func(c int) bool { v := r.value(c); return v != absentCell && v != unknownCell })
	})
	if o.untouched() || len(rows) == 0 {
		return
	}
	b.WriteString("\n")
	head := func(cpu int) string {
		switch {
		case cpu == audit.Total:
			return "all"
		case cpu < 0:
			return "CPU not told"
		}
		return fmt.Sprintf("CPU %d", cpu)
	}
	if slices.ContainsFunc(rows, func(r tableRow) bool {
		return slices.ContainsFunc(cols, func(c int) bool { return strings.Contains(r.value(c), "≥") })
	}) {
		defer b.WriteString("\n≥ stands for \"at least\": what no counter here counts may come on top.\n")
	}
	if len(o.cpus) <= maxColumns {
		b.WriteString("| events |")
		for _, c := range cols {
			b.WriteString(" " + head(c) + " |")
		}
		b.WriteString("\n|---|" + strings.Repeat("---:|", len(cols)) + "\n")
		for _, r := range rows {
			fmt.Fprintf(b, "| %s |", r.name)
			for _, c := range cols {
				b.WriteString(" " + r.value(c) + " |")
			}
			b.WriteString("\n")
		}
		return
	}
	b.WriteString("| |")
	for _, r := range rows {
		b.WriteString(" " + r.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(rows)) + "\n")
	for _, c := range cols {
		b.WriteString("| " + head(c) + " |")
		for _, r := range rows {
			b.WriteString(" " + r.value(c) + " |")
		}
		b.WriteString("\n")
	}
}

// unknownCell stands where a quantity applies and nothing is known of it.
const unknownCell = "not known"

// count writes a quantity in plain digits, as the kernel's files do, so that it
// can be compared with them.
func count(c audit.Count) string {
	switch {
	case c.IsUnknown():
		return unknownCell
	case c.Exact():
		return strconv.FormatUint(c.Lo, 10)
	case c.Open:
		return fmt.Sprintf("≥ %d", c.Lo)
	}
	return fmt.Sprintf("%d–%d", c.Lo, c.Hi)
}

func (o *observation) hasWindow() bool {
	return slices.ContainsFunc(o.cpus, func(c int) bool { return o.window(c) != absentCell })
}

// window is the stretch of time that a CPU's records cover.
func (o *observation) window(cpu int) string {
	c := o.buf.CPUs[cpu]
	if c == nil || c.Window == nil {
		return absentCell
	}
	w := c.Window
	end := w.End()
	if w.Oldest.Unit != end.Unit || end.Unit == tracefs.UnitUnknown || end.Value < w.Oldest.Value {
		return absentCell
	}
	return tracefs.Stamp{Value: end.Value - w.Oldest.Value, Unit: end.Unit}.String() + " " + end.Unit.String()
}

// writeSentence says in words what the table holds.
func (o *observation) writeSentence(b *strings.Builder) {
	written, kept := o.count(o.whole, audit.Written), o.count(o.whole, audit.Kept)
	over, read := o.count(o.whole, audit.Overwritten), o.count(o.whole, audit.Read)
	if o.buf.Kind == audit.BufferBPF || written.IsUnknown() {
		return
	}
	if o.untouched() {
		b.WriteString("\nNothing was written into this buffer, and nothing was refused.\n")
		return
	}
	where := "into this buffer"
	if o.whole != audit.Total {
		where += fmt.Sprintf(" by CPU %d", o.whole)
	}
	fmt.Fprintf(b, "\n%s written %s. ", were(written, true), where)
	fmt.Fprintf(b, "%s still in it, %s thrown away to make room, and %s read out.", are(kept), wereOf(over), wereOf(read))
	f := o.figures(o.whole)
	if over.Lo > 0 {
		if f.DiscardedPerKept != "" && o.keptAll() {
			fmt.Fprintf(b, " That is %s discarded for each one kept", strings.ReplaceAll(f.DiscardedPerKept, ",", ""))
			if f.ThrownAway != "" {
				fmt.Fprintf(b, ", and %s %% of all that was written", f.ThrownAway)
			}
			b.WriteString(".")
		} else if f.ThrownAway != "" {
			fmt.Fprintf(b, " What was thrown away is %s %% of all that was written.", f.ThrownAway)
		}
	}
	var refused []string
	for _, r := range []struct {
		q    audit.Quantity
		name string
	}{{audit.Dropped, "`dropped events`"}, {audit.CommitOverrun, "`commit overrun`"}} {
		if c := o.count(o.whole, r.q); c.Lo > 0 {
			refused = append(refused, fmt.Sprintf("%s by `%s`", count(c), strings.Trim(r.name, "`")))
		}
	}
	if len(refused) > 0 {
		fmt.Fprintf(b, " Refused, and so not written: %s.", strings.Join(refused, ", "))
	}
	if len(o.cpus) == 1 {
		c := o.buf.CPUs[o.cpus[0]]
		if span := o.window(o.cpus[0]); span != absentCell {
			fmt.Fprintf(b, " What is left reaches back %s, from %s to %s.", span, c.Window.Oldest, c.Window.End())
		}
	}
	b.WriteString("\n")
}

func were(c audit.Count, start bool) string {
	if c.Exact() && c.Lo == 1 {
		return "1 event was"
	}
	s := count(c)
	if !c.Exact() && start && c.Open {
		return fmt.Sprintf("At least %d events were", c.Lo)
	}
	return s + " events were"
}

func are(c audit.Count) string {
	switch {
	case c.IsUnknown():
		return "It is not known how many are"
	case c.Exact() && c.Lo == 1:
		return "1 is"
	case c.Open:
		return fmt.Sprintf("At least %d are", c.Lo)
	}
	return count(c) + " are"
}

func wereOf(c audit.Count) string {
	switch {
	case c.IsUnknown():
		return "an unknown number were"
	case c.Exact() && c.Lo == 1:
		return "1 was"
	case c.Open:
		return fmt.Sprintf("at least %d were", c.Lo)
	}
	return count(c) + " were"
}
