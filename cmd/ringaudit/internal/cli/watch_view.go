package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/live"
)

// watchView draws samples: in place on a terminal, one table after the other
// elsewhere.
type watchView struct {
	w      io.Writer
	path   string
	size   func() (width, height int, ok bool) // asked anew for every picture
	screen bool                                // the terminal's other screen is shown
}

func newWatchView(env *Env, path string) *watchView {
	return &watchView{w: env.Stdout, path: path, size: func() (int, int, bool) { return terminalSize(env.Stdout) }}
}

func (v *watchView) begin() {
	if _, _, ok := v.size(); ok {
		v.screen = true
		io.WriteString(v.w, "\x1b[?1049h\x1b[?25l")
	}
}

func (v *watchView) end() {
	if v.screen {
		io.WriteString(v.w, "\x1b[?25h\x1b[?1049l")
	}
}

func (v *watchView) show(before, now *live.Sample) error {
	width, height, ok := v.size()
	if !ok {
		width, height = 200, 1<<30
	}
	lines := watchLines(v.path, before, now, width, height)
	var b strings.Builder
	if v.screen {
		b.WriteString("\x1b[H")
		for i, l := range lines {
			b.WriteString(l + "\x1b[K")
			if i < len(lines)-1 {
				b.WriteString("\r\n")
			}
		}
		b.WriteString("\x1b[J")
	} else {
		for _, l := range lines {
			b.WriteString(l + "\n")
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(v.w, b.String())
	return err
}

// watchRow is one CPU of a picture, or the sum of several.
type watchRow struct {
	name  string
	cpu   live.CPUSample
	rates live.Rates
}

// watchColumns are the columns of the table in the order of their worth: a
// narrow terminal loses the last ones first.
var watchColumns = []struct {
	head string
	cell func(watchRow) string
}{
	{"cpu", func(r watchRow) string { return r.name }},
	{"written/s", func(r watchRow) string { return rateText(r.rates.Written, r.rates.Reset) }},
	{"overwritten/s", func(r watchRow) string { return rateText(r.rates.Overwritten, r.rates.Reset) }},
	{"dropped/s", func(r watchRow) string { return rateText(r.rates.Dropped, r.rates.Reset) }},
	{"kept", func(r watchRow) string { return numberText(r.cpu.Kept) }},
	{"window", func(r watchRow) string { return windowText(r.cpu.Window) }},
	{"read/s", func(r watchRow) string { return rateText(r.rates.Read, r.rates.Reset) }},
	{"commit overrun/s", func(r watchRow) string { return rateText(r.rates.CommitOverrun, r.rates.Reset) }},
	{"lost in all", func(r watchRow) string { return numberText(lostInAll(r.cpu)) }},
	{"bytes", func(r watchRow) string { return numberText(r.cpu.Bytes) }},
}

func lostInAll(c live.CPUSample) tracefs.Field[uint64] {
	if !c.Overwritten.OK || !c.Dropped.OK || !c.CommitOverrun.OK {
		return tracefs.Field[uint64]{}
	}
	return tracefs.Field[uint64]{V: c.Overwritten.V + c.Dropped.V + c.CommitOverrun.V, OK: true}
}

func rateText(f tracefs.Field[float64], reset bool) string {
	switch {
	case reset:
		return "reset"
	case !f.OK:
		return "–"
	case f.V > 0 && f.V < 10:
		return fmt.Sprintf("%.1f", f.V)
	}
	return group(uint64(f.V + 0.5))
}

func numberText(f tracefs.Field[uint64]) string {
	if !f.OK {
		return "–"
	}
	return group(f.V)
}

func windowText(f tracefs.Field[time.Duration]) string {
	if !f.OK {
		return "–"
	}
	switch d := f.V; {
	case d < time.Second:
		return fmt.Sprintf("%.3f s", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

// watchLines makes the picture of a sample that fits width × height. Every
// buffer has its sum; the CPUs share what room is left, the losing ones first,
// and a line says how many are not shown.
func watchLines(path string, before, now *live.Sample, width, height int) []string {
	title := fmt.Sprintf("ringaudit watch  %s  %s", path, now.Time.Format("15:04:05"))
	if before != nil {
		title += fmt.Sprintf("  (over %.1f s)", now.Time.Sub(before.Time).Seconds())
	}
	type block struct {
		head string
		rows []watchRow
		sum  watchRow
	}
	blocks := make([]block, 0, len(now.Buffers))
	for i := range now.Buffers {
		b := &now.Buffers[i]
		bl := block{head: b.Name}
		switch {
		case !b.Recording.OK:
		case b.Recording.V:
			bl.head += "  recording"
		default:
			bl.head += "  off"
		}
		if b.Problem != "" {
			bl.head += "  " + b.Problem
		}
		for j := range b.CPUs {
			c := b.CPUs[j]
			r := watchRow{name: fmt.Sprint(c.CPU), cpu: c}
			if was := before.Find(b.Name, c.CPU); was != nil {
				r.rates = live.Between(was, &c, now.Time.Sub(before.Time))
			}
			bl.rows = append(bl.rows, r)
		}
		bl.sum = sumRows("all", bl.rows)
		sortedByLoss(bl.rows)
		blocks = append(blocks, bl)
	}
	// Fixed: the title, and of each buffer its name, the heads, the sum.
	room := max(0, height-1-3*len(blocks))
	var lines []string
	add := func(l string) { lines = append(lines, cutTo(l, width)) }
	add(title)
	for i, bl := range blocks {
		left := len(blocks) - i
		give := min(len(bl.rows), room/left)
		if len(bl.rows) == 1 {
			give = 0 // the sum says the same
		}
		rows := bl.rows[:give]
		if 0 < give && give < len(bl.rows) {
			// The last line given is for those that are not shown.
			rest := bl.rows[give-1:]
			rows = append(append([]watchRow{}, bl.rows[:give-1]...), sumRows(fmt.Sprintf("%d more", len(rest)), rest))
		}
		room -= give
		table := [][]string{{}}
		for _, r := range append(append([]watchRow{}, rows...), bl.sum) {
			var cells []string
			for _, c := range watchColumns {
				cells = append(cells, c.cell(r))
			}
			table = append(table, cells)
		}
		for _, c := range watchColumns {
			table[0] = append(table[0], c.head)
		}
		add(bl.head)
		for _, l := range fitTable(table, width) {
			add(l)
		}
	}
	if len(lines) > height {
		more := len(lines) - height + 1
		lines = append(lines[:max(0, height-1)], cutTo(fmt.Sprintf("… %d lines more: make the terminal taller, or choose with --instance", more), width))
	}
	return lines
}

// sumRows adds CPUs up. A sum of which a part is unknown is unknown.
func sumRows(name string, rows []watchRow) watchRow {
	out := watchRow{name: name}
	if len(rows) == 0 {
		return out
	}
	out.cpu, out.rates = rows[0].cpu, rows[0].rates
	for _, r := range rows[1:] {
		addTo(&out.cpu.Kept, r.cpu.Kept)
		addTo(&out.cpu.Overwritten, r.cpu.Overwritten)
		addTo(&out.cpu.Dropped, r.cpu.Dropped)
		addTo(&out.cpu.CommitOverrun, r.cpu.CommitOverrun)
		addTo(&out.cpu.Bytes, r.cpu.Bytes)
		addTo(&out.rates.Written, r.rates.Written)
		addTo(&out.rates.Overwritten, r.rates.Overwritten)
		addTo(&out.rates.Dropped, r.rates.Dropped)
		addTo(&out.rates.CommitOverrun, r.rates.CommitOverrun)
		addTo(&out.rates.Read, r.rates.Read)
		out.rates.Reset = out.rates.Reset || r.rates.Reset
		// The window that all CPUs have in common is that of the shortest.
		if r.cpu.Window.OK && (!out.cpu.Window.OK || r.cpu.Window.V < out.cpu.Window.V) {
			out.cpu.Window = r.cpu.Window
		}
	}
	return out
}

func addTo[T uint64 | float64](sum *tracefs.Field[T], f tracefs.Field[T]) {
	if !sum.OK || !f.OK {
		*sum = tracefs.Field[T]{}
		return
	}
	*sum = tracefs.Field[T]{V: sum.V + f.V, OK: true}
}

// fitTable aligns the cells and leaves columns out from the right until it fits.
func fitTable(rows [][]string, width int) []string {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], len([]rune(c)))
		}
	}
	columns, used := 0, 0
	for _, w := range widths {
		if columns > 0 && used+w+2 > width {
			break
		}
		used += w + 2
		columns++
	}
	out := make([]string, len(rows))
	for k, r := range rows {
		var b strings.Builder
		for i := range columns {
			b.WriteString(strings.Repeat(" ", widths[i]-len([]rune(r[i]))+2) + r[i])
		}
		out[k] = b.String()
	}
	return out
}

func cutTo(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return string(r[:max(0, width)])
}
