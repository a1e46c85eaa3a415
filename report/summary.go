package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringaudit/ringaudit/audit"
)

// Headline is the answer about one buffer in a line, without the verdict:
// "≥ 2,933,658 events lost (≥ 99.97 %): 2,922,910 overwritten, 10,748 commit
// overrun". It falls back on the buffer's reason where no number can be given.
func (b *Buffer) Headline() string { return b.headline(unicodeGlyphs) }

func (b *Buffer) headline(g glyphs) string {
	t, f := &b.Total, b.Figures()
	switch {
	case t.Lost != nil && t.Lost.Lo > 0:
		s := g.lost(*t.Lost, t.Attempted, "lost", f.Lost)
		if parts := g.parts(t); parts != "" {
			s += ": " + parts
		}
		if t.Missing != nil && t.Missing.Lo > t.Lost.Lo {
			s += "; the capture lacks " + events(*t.Missing)
		}
		return s
	case t.Missing != nil && t.Missing.Lo > 0:
		return g.lost(*t.Missing, t.Attempted, "missing from the capture", f.Missing)
	case b.Verdict == "confirmed" && t.Attempted != nil && t.Attempted.Exact():
		return fmt.Sprintf("nothing lost: %s attempted by an independent count, none refused", events(*t.Attempted))
	case b.Verdict == "complete" && t.Written != nil && !t.Written.IsUnknown():
		return fmt.Sprintf("%s written, no loss in any counter given", events(*t.Written))
	}
	return clean(b.Reason)
}

// lost is "≥ 5 events lost (≥ 12.5 %)", and "7 of 56 events lost (12.5 %)"
// where both are known exactly.
func (g glyphs) lost(n audit.Count, of *audit.Count, how, percent string) string {
	noun := "events"
	s := g.count(&n)
	if n.Exact() && of != nil && of.Exact() {
		s += " of " + group(of.Lo)
		if of.Lo == 1 {
			noun = "event"
		}
	} else if n.Lo == 1 && (n.Open || n.Hi == 1) {
		noun = "event"
	}
	s += " " + noun + " " + how
	if percent != "" {
		s += " (" + g.bounds(percent) + "\u00a0%)"
	}
	return s
}

// bounds puts the signs of a figure into the glyphs of the page.
func (g glyphs) bounds(s string) string {
	if g.atLeast == unicodeGlyphs.atLeast {
		return s
	}
	return strings.NewReplacer("≥", ">=", "≤", "<=", "–", "..").Replace(s)
}

// parts is what the loss is made of, greatest first.
func (g glyphs) parts(t *Tally) string {
	type part struct {
		n    *audit.Count
		what string
	}
	ps := []part{
		{t.Overwritten, "overwritten"},
		{t.Dropped, "dropped"},
		{t.CommitOverrun, "refused by commit overrun"},
		{t.Uncounted, "refused uncounted"},
	}
	slices.SortStableFunc(ps, func(a, b part) int { return cmp.Compare(or(b.n).Lo, or(a.n).Lo) })
	var out []string
	for _, p := range ps {
		if p.n != nil && p.n.Lo > 0 {
			out = append(out, g.count(p.n)+" "+p.what)
		}
	}
	return strings.Join(out, ", ")
}

// left says what there still is of a buffer that lost: what the captures hold
// where there are any, else what the ring kept.
func (b *Buffer) left(g glyphs) string {
	t := &b.Total
	if or(t.Lost).Lo == 0 && or(t.Missing).Lo == 0 {
		return ""
	}
	what, n := "What is left: ", t.Kept
	captured := b.captured()
	if captured != nil {
		what, n = "What was captured: ", captured
	}
	if !known(n) {
		return ""
	}
	if captured == nil && b.Mode == "no-overwrite" {
		if or(t.Read).None() {
			return what + events(*n) + ", the first that came."
		}
		return what + events(*n) + "."
	}
	var last, over []string
	for i := range b.CPUs {
		c := &b.CPUs[i]
		w := c.Window
		if w == nil || w.length() == "" || (captured != nil && t.Delivered == nil && c.Delivered == nil) {
			continue
		}
		if s := w.length() + "\u00a0" + unitWord(w.Unit); w.Now != "" && captured == nil {
			last = append(last, s+" of CPU\u00a0"+cpuName(c.CPU))
		} else {
			over = append(over, s+" on CPU\u00a0"+cpuName(c.CPU))
		}
	}
	switch w := b.CommonWindow; {
	case len(last)+len(over) == 0 || or(n).None():
	case len(last)+len(over) <= 4:
		what += events(*n)
		if len(last) > 0 {
			what += ", the last " + list(last)
		}
		if len(over) > 0 {
			if len(last) > 0 {
				what += " and"
			} else {
				what += ","
			}
			what += " over " + list(over)
		}
		return what + "."
	case w != nil && w.length() != "" && w.Now != "" && captured == nil:
		return what + events(*n) + ", the last " + w.length() + "\u00a0" + unitWord(w.Unit) + " of every CPU."
	case w != nil && w.length() != "":
		return what + events(*n) + ", over " + w.length() + "\u00a0" + unitWord(w.Unit) + " on every CPU."
	}
	return what + events(*n) + "."
}

// captured is what the captures hold: of all CPUs, or of those that they speak
// of; nil where no capture is at hand.
func (b *Buffer) captured() *audit.Count {
	if b.Total.Delivered != nil {
		return b.Total.Delivered
	}
	var out *audit.Count
	for i := range b.CPUs {
		if d := b.CPUs[i].Delivered; d != nil {
			n := *d
			if out != nil {
				n = n.Plus(*out)
			}
			out = &n
		}
	}
	return out
}

// reason is the document's reason, unless the headline says it already: what
// was lost is said by its numbers, and more exactly.
func (d *Document) reason(head string) string {
	r := clean(d.Reason)
	said := len(d.Buffers) == 1 && d.Verdict == "lossy" && d.Buffers[0].Verdict == "lossy" && d.missed().None()
	if r == head || (said && d.Buffers[0].reason(head) == "") {
		return ""
	}
	return r
}

// reason is the buffer's reason, unless the headline says it already.
func (b *Buffer) reason(head string) string {
	r := clean(b.Reason)
	if r == head || (b.Verdict == "lossy" && (or(b.Total.Lost).Lo > 0 || or(b.Total.Missing).Lo > 0)) {
		return ""
	}
	return r
}

// list joins "a", "a and b", "a, b and c".
func list(s []string) string {
	if len(s) < 2 {
		return strings.Join(s, "")
	}
	return strings.Join(s[:len(s)-1], ", ") + " and " + s[len(s)-1]
}

// headline is the answer about the whole document.
func (d *Document) headline(g glyphs) string {
	if len(d.Buffers) == 1 && d.Buffers[0].Verdict == d.Verdict {
		if s := d.Buffers[0].headline(g); s != clean(d.Buffers[0].Reason) {
			return s
		}
		return clean(d.Reason)
	}
	lossy := 0
	for i := range d.Buffers {
		if d.Buffers[i].Verdict == "lossy" {
			lossy++
		}
	}
	if lossy > 0 {
		return fmt.Sprintf("%d of %d buffers lost events", lossy, len(d.Buffers))
	}
	if missed := d.missed(); missed.Lo > 0 {
		noun := "hits"
		if missed.Lo == 1 && (missed.Open || missed.Hi == 1) {
			noun = "hit"
		}
		return fmt.Sprintf("%s %s missed by probes, which no counter of the ring shows", g.count(&missed), noun)
	}
	return clean(d.Reason)
}

func (d *Document) missed() audit.Count {
	sum := audit.Exactly(0)
	for i := range d.Probes {
		if m := d.Probes[i].Missed; m != nil {
			sum = sum.Plus(*m)
		}
	}
	return sum
}

// sizeLine is "8 kB asked, 11 kB printed, 16 KiB of memory a CPU".
func (b *Buffer) sizeLine(g glyphs) string {
	per := b.perCPUSize()
	if per == nil {
		if b.Size == nil {
			return ""
		}
		f := figures(&Tally{}, nil, b.Size)
		s := sizeParts(g, f)
		if b.Size.Mixed || s != "" {
			s = strings.TrimPrefix(s+" in all, sizes differ by CPU", " in all, ")
		}
		return s
	}
	s := sizeParts(g, figures(&Tally{}, nil, per))
	if s == "" {
		return ""
	}
	if len(b.CPUs) > 1 {
		s += " a CPU"
		if b.Size != nil && b.Size.MemoryBytes != nil {
			if all := kib(*b.Size.MemoryBytes); all != "" {
				s += ", " + g.bounds(all) + "\u00a0KiB in all"
			}
		}
	}
	return s
}

func sizeParts(g glyphs, f Figures) string {
	var parts []string
	if f.RequestKB != "" {
		parts = append(parts, f.RequestKB+"\u00a0kB asked")
	}
	if f.PrintedKB != "" {
		s := f.PrintedKB + "\u00a0kB printed"
		if f.ExpandedKB != "" {
			s += " until it is used, then " + f.ExpandedKB + "\u00a0kB"
		}
		parts = append(parts, s)
	}
	if f.MemoryKiB != "" {
		parts = append(parts, g.bounds(f.MemoryKiB)+"\u00a0KiB of memory")
	}
	return strings.Join(parts, " "+g.arrow+" ")
}

// perCPUSize is the size that all CPUs share, nil if they differ or none is known.
func (b *Buffer) perCPUSize() *Size {
	var s *Size
	for i := range b.CPUs {
		c := b.CPUs[i].Size
		if c == nil {
			continue
		}
		if s != nil && !sameSize(s, c) {
			return nil
		}
		s = c
	}
	return s
}

func sameSize(a, b *Size) bool {
	return same(a.RequestKB, b.RequestKB) && same(a.KB, b.KB) && same(a.ExpandedKB, b.ExpandedKB) &&
		same(a.Subbufs, b.Subbufs) && same(a.UsableBytes, b.UsableBytes) && same(a.MemoryBytes, b.MemoryBytes)
}

func same[T comparable](a, b *T) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

// states lists, by what became of them, the CPUs that did not record.
func (b *Buffer) states() []string {
	words := []struct{ state, say string }{
		{"idle", "idle, nothing recorded"},
		{"offline", "offline"},
		{"not-captured", "not in the capture"},
		{"all-lost", "all lost"},
		{"unknown", "without evidence of what happened"},
		{"in part", "what happened is not known in full: some counters could not be read"},
	}
	var out []string
	for _, w := range words {
		var cpus []int
		for i := range b.CPUs {
			state := b.CPUs[i].State
			if state == "unknown" && b.CPUs[i].anything() {
				state = "in part"
			}
			if state == w.state {
				cpus = append(cpus, b.CPUs[i].CPU)
			}
		}
		if len(cpus) > 0 {
			slices.Sort(cpus)
			noun := "CPU "
			if len(cpus) > 1 {
				noun = "CPUs "
			}
			out = append(out, noun+cpuList(cpus)+": "+w.say)
		}
	}
	return out
}

// anything tells whether any quantity is more than unknown.
func (t *Tally) anything() bool {
	for _, c := range columns {
		if q := *c.of(t); q != nil && !q.IsUnknown() {
			return true
		}
	}
	return false
}

// facts is what the buffer is: "Linux 6.1.0 · overwrite · clock local".
func (b *Buffer) facts(sep string) string {
	var out []string
	if b.Kind != "" && b.Kind != "buffer" && !strings.Contains(b.Name, b.Kind) {
		out = append(out, clean(b.Kind))
	}
	if b.Kernel != "" {
		out = append(out, "Linux "+clean(b.Kernel))
	}
	switch b.Mode {
	case "":
		out = append(out, "mode not known")
	case "no-overwrite":
		out = append(out, "no overwrite")
	default:
		out = append(out, clean(b.Mode))
	}
	if b.Clock != "" {
		out = append(out, "clock "+clean(b.Clock))
	}
	if b.Tracer != "" && b.Tracer != "nop" {
		out = append(out, "tracer "+clean(b.Tracer))
	}
	return strings.Join(out, sep)
}
