package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A findingGroup is the findings of one rule, worst first: a machine of 256
// CPUs must not take 256 paragraphs to say one thing.
type findingGroup struct {
	rule, severity string
	findings       []*Finding
}

// maxAlike is how many findings of a group are shown in full.
const maxAlike = 3

// shown is the findings to show, and how many are left.
func (g *findingGroup) shown(all bool) ([]*Finding, int) {
	if n := len(g.findings); !all && n > maxAlike+1 {
		return g.findings[:maxAlike], n - maxAlike
	}
	return g.findings, 0
}

// groupFindings groups the findings that are not suppressed, errors first and
// otherwise in the order of the document, and counts the suppressed.
func groupFindings(d *Document) (groups []*findingGroup, suppressed []*Finding) {
	type key struct{ rule, severity string }
	byKey := make(map[key]*findingGroup)
	for i := range d.Findings {
		f := &d.Findings[i]
		if f.Suppressed != "" {
			suppressed = append(suppressed, f)
			continue
		}
		k := key{f.Rule, f.Severity}
		g := byKey[k]
		if g == nil {
			g = &findingGroup{rule: f.Rule, severity: f.Severity}
			byKey[k] = g
			groups = append(groups, g)
		}
		g.findings = append(g.findings, f)
	}
	rank := func(s string) int { return slices.Index(severities, s) }
	slices.SortStableFunc(groups, func(a, b *findingGroup) int { return cmp.Compare(rank(a.severity), rank(b.severity)) })
	lost := lossByCPU(d)
	for _, g := range groups {
		if len(g.findings) <= maxAlike+1 {
			continue
		}
		slices.SortStableFunc(g.findings, func(a, b *Finding) int {
			return cmp.Compare(lost(b), lost(a))
		})
	}
	return groups, suppressed
}

// lossByCPU tells how much the CPU that a finding is about lost.
func lossByCPU(d *Document) func(*Finding) uint64 {
	type key struct {
		buffer string
		cpu    int
	}
	m := make(map[key]uint64)
	for i := range d.Buffers {
		b := &d.Buffers[i]
		for j := range b.CPUs {
			m[key{b.Name, b.CPUs[j].CPU}] = b.CPUs[j].loss()
		}
	}
	return func(f *Finding) uint64 {
		if f.CPU == nil {
			return 0
		}
		return m[key{f.Buffer, *f.CPU}]
	}
}

// loss ranks CPUs by what they surely lost.
func (t *Tally) loss() uint64 { return max(or(t.Lost).Lo, or(t.Missing).Lo) }

// where names what a finding is about, as far as its message does not: "top",
// "CPU 3", "top, CPU 3", "probe r1".
func (d *Document) where(f *Finding) string {
	var parts []string
	said := func(s string) bool { return strings.Contains(f.Message, s) }
	if f.Buffer != "" && len(d.Buffers) > 1 && !said(f.Buffer) {
		parts = append(parts, clean(f.Buffer))
	}
	if f.CPU != nil && !said("CPU "+cpuName(*f.CPU)) && !said("cpu "+cpuName(*f.CPU)) {
		parts = append(parts, "CPU\u00a0"+cpuName(*f.CPU))
	}
	if f.Probe != "" && !said(f.Probe) {
		parts = append(parts, "probe "+clean(f.Probe))
	}
	return strings.Join(parts, ", ")
}

// place writes where a piece of evidence stands: "per_cpu/cpu0/stats:2". A file
// that is a source itself is named as shortly as the other sources allow.
func (d *Document) place(e *Evidence) string {
	src, s := d.source(e.Source), e.File
	switch {
	case src == nil:
		if s == "" {
			s = e.Source
		}
	case s == "" || s == src.Path:
		s = d.short(src)
	case len(d.Sources) > 1:
		s = d.short(src) + "/" + s
	}
	if e.Line > 0 {
		s += fmt.Sprintf(":%d", e.Line)
	}
	if e.Offset != nil {
		s += fmt.Sprintf(" at byte %d", *e.Offset)
	}
	return s
}

// short is the last part of a source's path, or all of it where another source
// ends alike.
func (d *Document) short(src *Source) string {
	base := path.Base(strings.ReplaceAll(src.Path, `\`, "/"))
	for i := range d.Sources {
		if o := &d.Sources[i]; o.ID != src.ID && path.Base(strings.ReplaceAll(o.Path, `\`, "/")) == base {
			return src.Path
		}
	}
	return base
}

// A quote is a place, or several in one file that say the same, with what
// stands there.
type quote struct{ place, text string }

// quotes is the evidence to show of a finding, and how many pieces are left.
// The same line at several places of one file is quoted once.
func (d *Document) quotes(f *Finding, most int) (out []quote, more int) {
	var last *Evidence
	for i := range f.Evidence {
		e := &f.Evidence[i]
		text := clean(strings.Join(strings.Fields(e.Text), " "))
		if last != nil && e.Source == last.Source && e.File == last.File && e.Text == last.Text &&
			e.Line > 0 && last.Line > 0 && e.Offset == nil && last.Offset == nil {
			if q := &out[len(out)-1]; strings.Count(q.place, ",") < 8 {
				q.place += fmt.Sprintf(", %d", e.Line)
			} else if !strings.HasSuffix(q.place, "…") {
				q.place += ", …"
			}
			last = e
			continue
		}
		if len(out) == most {
			return out, len(f.Evidence) - i
		}
		out = append(out, quote{clean(d.place(e)), text})
		last = e
	}
	return out, 0
}

func (d *Document) source(id string) *Source {
	for i := range d.Sources {
		if d.Sources[i].ID == id {
			return &d.Sources[i]
		}
	}
	return nil
}
