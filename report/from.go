package report

import (
	"slices"

	"github.com/ringaudit/ringaudit/audit"
	"github.com/ringaudit/ringaudit/tracefs"
)

// New makes the document of an audit.
func New(a *audit.Audit) *Document {
	d := &Document{
		Schema: Schema, Tool: a.Options.Tool, Verdict: string(a.Verdict), Reason: a.Reason, Exit: a.Exit,
		Sources: []Source{}, Buffers: []Buffer{}, Probes: []Probe{}, Findings: []Finding{}, BlindSpots: []BlindSpot{},
	}
	for _, s := range a.Sources {
		src := Source{ID: s.ID, Kind: string(s.Kind), Path: s.Path, Kernel: s.Kernel, Arch: s.Arch, SHA256: s.SHA256, Coverage: string(s.Coverage), Notes: s.Notes}
		if src.Kind == "" {
			src.Kind = "unknown"
		}
		d.Sources = append(d.Sources, src)
	}
	for _, b := range a.Buffers {
		d.Buffers = append(d.Buffers, newBuffer(a, b))
	}
	for _, p := range a.Probes {
		d.Probes = append(d.Probes, Probe{Name: p.Name, Kind: p.Kind, Target: p.Target, Maxactive: p.Maxactive, Hits: &p.Hits, Missed: &p.Missed, Source: p.Source.ID})
	}
	for _, f := range a.Findings {
		d.Findings = append(d.Findings, newFinding(f))
	}
	for _, s := range a.BlindSpots {
		d.BlindSpots = append(d.BlindSpots, BlindSpot{ID: s.ID, Why: s.Why, Closes: s.Closes})
	}
	return d
}

func newFinding(f audit.Finding) Finding {
	out := Finding{
		Rule: f.Rule, Severity: string(f.Severity), Buffer: f.Buffer, CPU: f.CPU, Probe: f.Probe, Message: f.Message, Action: f.Action,
		Evidence: []Evidence{}, Citations: append([]string{}, f.Citations...), Suppressed: f.Suppressed, Fingerprint: f.Fingerprint(),
	}
	for _, ev := range f.Evidence {
		out.Evidence = append(out.Evidence, newEvidence(ev))
	}
	return out
}

func newEvidence(ev audit.Evidence) Evidence {
	out := Evidence{Source: ev.Source, File: ev.File, Line: ev.Line, Text: ev.Text}
	if ev.Binary {
		out.Offset = &ev.Offset
	}
	return out
}

func newBuffer(a *audit.Audit, b *audit.Buffer) Buffer {
	out := Buffer{
		Name: b.Name, Kind: string(b.Kind), Mode: string(b.Mode), Clock: b.Clock, Tracer: b.Tracer, Kernel: b.Kernel,
		Verdict: string(b.Verdict), Reason: b.Reason, Sources: []string{}, CPUs: []CPU{}, Views: []View{},
	}
	for _, s := range b.Sources {
		out.Sources = append(out.Sources, s.ID)
	}
	if g := b.Geometry; g.UsableBytes > 0 {
		out.Geometry = &Geometry{PageBytes: g.PageBytes, HeaderBytes: g.HeaderBytes, SubbufBytes: g.SubbufBytes, UsableBytes: g.UsableBytes, LongBytes: g.LongBytes, Source: b.GeometrySource}
	}
	out.Total = tally(b, audit.Total)
	out.Size = wholeSize(b)
	out.CommonWindow = commonWindow(b)
	for _, id := range b.Ledger.CPUs() {
		if len(a.Options.CPUs) > 0 && !slices.Contains(a.Options.CPUs, id) {
			continue
		}
		out.CPUs = append(out.CPUs, newCPU(a, b, id))
	}
	for _, v := range b.Views() {
		out.Views = append(out.Views, newView(v))
	}
	return out
}

func newView(v *audit.Capture) View {
	lost, known, unknown := v.Marks()
	out := View{Source: v.Source.ID, File: v.File, Kind: string(v.Kind), Consuming: v.Consuming, Records: v.Records(),
		Marks: known + unknown, MarksUnknown: unknown, MarksLost: lost}
	if v.Uncountable != "" {
		out.Uncountable = v.Uncountable
	}
	if v.CPU != audit.Total {
		out.CPU = &v.CPU
	}
	if h := v.Header; h != nil {
		out.HeaderEntries, out.HeaderWritten = &h.Entries, &h.Written
	}
	return out
}

func newCPU(a *audit.Audit, b *audit.Buffer, id int) CPU {
	c := b.CPUs[id]
	out := CPU{CPU: id, State: string(c.State), Tally: tally(b, id), Window: newWindow(c.Window), HolesOmitted: c.HolesOmitted}
	if c.CountedMarks+c.UnknownMarks > 0 {
		out.Marks = &MarkTally{Counted: c.CountedMarks, CountedLost: c.CountedLost, Unknown: c.UnknownMarks, UnknownLost: c.UnknownLost}
	}
	if s, ok := b.CPUSizes[id]; ok {
		out.Size = newSize(s)
	}
	lost, of := b.CountedLoss(id), b.CountedAttempts(id)
	if lost.Exact() && of.Exact() && of.Lo > 0 {
		out.LostPercent = Percent(lost.Lo, of.Lo)
	}
	holes := c.Holes
	if n := a.Options.MaxHoles; len(holes) > n {
		out.HolesOmitted += uint64(len(holes) - n)
		holes = holes[:n]
	}
	for _, h := range holes {
		out.Holes = append(out.Holes, newHole(h))
	}
	for _, e := range c.Events {
		out.Events = append(out.Events, EventRow{Name: e.Name, ID: e.ID, Count: e.Count, Bytes: e.Bytes})
	}
	return out
}

func newHole(h audit.Hole) Hole {
	out := Hole{Events: h.Events, Inferred: h.Inferred, Kind: string(h.Kind), Source: h.Source, Line: h.Line}
	if h.After != nil {
		s := h.After.String()
		out.After = &s
	}
	if h.Before != nil {
		s := h.Before.String()
		out.Before = &s
	}
	if h.Binary {
		out.Offset = &h.Offset
	}
	return out
}

func newWindow(w *audit.Window) *Window {
	if w == nil {
		return nil
	}
	out := &Window{Oldest: w.Oldest.String(), Unit: w.Oldest.Unit.String()}
	if w.Newest != nil {
		out.Newest = w.Newest.String()
	}
	if w.Now != nil {
		out.Now = w.Now.String()
	}
	if end := w.End(); end.Value >= w.Oldest.Value {
		out.Span = tracefs.Stamp{Value: end.Value - w.Oldest.Value, Unit: w.Oldest.Unit}.String()
	}
	return out
}

// commonWindow is from the latest begin of any CPU's window to the earliest end;
// nil where no CPU has one, or no moment is in all of them. It has one end only:
// the time of reading where that is what ends it, else the last record.
func commonWindow(b *audit.Buffer) *Window {
	var w *audit.Window
	for _, id := range b.CPUIDs() {
		c := b.CPUs[id].Window
		if c == nil {
			continue
		}
		one := &audit.Window{Oldest: c.Oldest, Now: c.Now}
		if c.Now == nil {
			one.Newest = c.Newest
		}
		switch {
		case w == nil:
			w = one
			continue
		case one.Oldest.Unit != w.Oldest.Unit:
			return nil
		}
		if one.Oldest.Value > w.Oldest.Value {
			w.Oldest = one.Oldest
		}
		if one.End().Value < w.End().Value {
			w.Now, w.Newest = one.Now, one.Newest
		}
	}
	if w == nil || w.End().Value < w.Oldest.Value {
		return nil
	}
	return newWindow(w)
}

// tally takes a row of the ledger.
func tally(b *audit.Buffer, cpu int) Tally {
	get := func(q audit.Quantity) *audit.Count {
		c, ok := b.Ledger.Get(cpu, q)
		if !ok {
			return nil
		}
		return &c
	}
	return Tally{
		Attempted: get(audit.Attempted), Written: get(audit.Written), Kept: get(audit.Kept), Overwritten: get(audit.Overwritten),
		Read: get(audit.Read), Dropped: get(audit.Dropped), CommitOverrun: get(audit.CommitOverrun), Uncounted: get(audit.Uncounted),
		Lost: get(audit.Lost), Delivered: get(audit.Delivered), Missing: get(audit.Missing),
	}
}

func newSize(s audit.CPUSize) *Size {
	out := &Size{Subbufs: &s.Subbufs, UsableBytes: &s.UsableBytes, MemoryBytes: &s.MemoryBytes, Why: s.Why}
	if f := s.Printed.KB; f.OK && f.V >= 0 {
		kb := uint64(f.V)
		out.KB = &kb
	}
	if f := s.Printed.ExpandedKB; f.OK && f.V >= 0 {
		kb := uint64(f.V)
		out.ExpandedKB = &kb
	}
	return out
}

// wholeSize adds up the CPUs.
func wholeSize(b *audit.Buffer) *Size {
	if len(b.CPUSizes) == 0 {
		return nil
	}
	sub, usable, memory := audit.Exactly(0), audit.Exactly(0), audit.Exactly(0)
	for _, s := range b.CPUSizes {
		sub, usable, memory = sub.Plus(s.Subbufs), usable.Plus(s.UsableBytes), memory.Plus(s.MemoryBytes)
	}
	out := &Size{Subbufs: &sub, UsableBytes: &usable, MemoryBytes: &memory}
	if b.Instance != nil {
		out.Mixed = b.Instance.Size.Mixed
		if f := b.Instance.TotalSize.KB; f.OK && f.V >= 0 {
			kb := uint64(f.V)
			out.KB = &kb
		}
	}
	return out
}
