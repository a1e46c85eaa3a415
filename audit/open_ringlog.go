package audit

import (
	"errors"
	"fmt"
	"io"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// ringLog is the log of an eBPF ring buffer.
type ringLog struct {
	*ringlog.Summary
	src    *Source
	file   string
	buffer string // the name of its buffer in the audit
}

func (l *ringLog) evidence(line int, text string) Evidence {
	return Evidence{Source: l.src.ID, File: l.file, Line: line, Text: tracefs.Shorten(text, 160)}
}

// openRinglog opens the JSONL of an eBPF ring-buffer capture.
func openRinglog(src *Source, in Input, r io.Reader) []*part {
	sum, err := ringlog.Read(r, in.Path, ringlog.Options{})
	if err != nil {
		src.failf(Evidence{}, sum != nil && !errors.Is(err, ringlog.ErrNotRingLog), "%s", withPath(in.Path, err))
		if sum == nil || errors.Is(err, ringlog.ErrNotRingLog) {
			return nil
		}
	}
	return []*part{ringlogPart(src, "", sum)}
}

// ringlogPart makes a buffer of the BPF ring that a log is of.
func ringlogPart(src *Source, file string, sum *ringlog.Summary) *part {
	src.Kernel = first(src.Kernel, ringlogKernel(sum))
	for _, err := range sum.Problems {
		src.fail(Problem{Evidence: Evidence{File: file}, CPU: Total, Message: err.Error()})
	}
	if sum.Cut {
		src.fail(Problem{Evidence: Evidence{File: file, Line: sum.Lines}, CPU: Total, Truncated: true,
			Message: fmt.Sprintf("%s: the log has no end line: %s", sum.Name, sum.CutWhy)})
	}
	l := &ringLog{Summary: sum, src: src, file: file, buffer: "bpf-ringbuf"}
	c := &Capture{Source: src, File: file, Kind: KindRinglog, Consuming: true, CPU: Total, PerCPU: map[int]*CaptureCPU{}, Cut: sum.Cut}
	for _, cpu := range sum.CPUs {
		if cpu.CPU < 0 {
			c.NoCPU += cpu.Records
			continue
		}
		p := &CaptureCPU{Records: cpu.Records, Whole: !sum.Cut, unit: tracefs.Nanoseconds}
		for _, h := range cpu.Holes {
			hole := Hole{Kind: HoleDropped, Events: Exactly(h.Events), Counted: true, Evidence: l.evidence(h.Line, "")}
			if h.After.OK {
				hole.After = &tracefs.Stamp{Value: h.After.V, Unit: tracefs.Nanoseconds}
			}
			if h.Before.OK {
				hole.Before = &tracefs.Stamp{Value: h.Before.V, Unit: tracefs.Nanoseconds}
			}
			p.Holes = append(p.Holes, hole)
		}
		p.HolesOmitted = cpu.HolesOmitted
		c.PerCPU[cpu.CPU] = p
	}
	return &part{src: src, buffer: "bpf-ringbuf", ring: l, captures: []*Capture{c}}
}

func ringlogKernel(s *ringlog.Summary) string {
	switch {
	case s.Begin != nil:
		return s.Begin.Kernel
	case s.Skbx != nil:
		return s.Skbx.Kernel
	}
	return ""
}

// claimRinglog enters what a log's end line says of a BPF ring: it refuses what
// does not fit, and never overwrites (kernel/bpf/ringbuf.c: bpf_ringbuf_reserve;
// BPF_F_RB_OVERWRITE of 7.1 is not used by the programs whose logs are read).
func (b *Buffer) claimRinglog() {
	l := b.ring
	claim := func(cpu int, q Quantity, c Count, f tracefs.Field[uint64]) {
		b.Ledger.Claim(Claim{CPU: cpu, Quantity: q, Count: c, Evidence: []Evidence{l.evidence(f.Line, f.Text)}, rule: ruleEBPFWritten.ID})
	}
	claim(Total, Overwritten, Exactly(0), tracefs.Field[uint64]{})
	claim(Total, CommitOverrun, Exactly(0), tracefs.Field[uint64]{})
	if f := l.ReserveFailures; f.OK {
		claim(Total, Dropped, Exactly(f.V), f)
	}
	for _, c := range l.CPUs {
		if c.CPU < 0 {
			b.claimNumbered(c, claim)
			continue
		}
		// A segment's breakdown holds differences of two moments.
		if c.ReserveFailures.OK && !l.Segment {
			claim(c.CPU, Dropped, Exactly(c.ReserveFailures.V), c.ReserveFailures)
		}
		if c.Asked.OK {
			claim(c.CPU, Attempted, Exactly(c.Asked.V), c.Asked)
			claim(c.CPU, Uncounted, Exactly(0), c.Asked)
		}
		claim(c.CPU, Overwritten, Exactly(0), tracefs.Field[uint64]{})
		claim(c.CPU, CommitOverrun, Exactly(0), tracefs.Field[uint64]{})
	}
	if m := l.RecursionMisses; m.OK && m.V == 0 && b.allAsked() {
		claim(Total, Uncounted, Exactly(0), m)
	}
	if l.Begin != nil && l.End != nil {
		// The recorder empties the ring before it writes the end line: what was
		// written was read.
		claim(Total, Kept, Exactly(0), tracefs.Field[uint64]{})
	}
}

// claimNumbered enters what the numbers of skbx prove, which its user side gives
// to all records that it took: a number that is missing is a record that is.
func (b *Buffer) claimNumbered(c ringlog.CPU, claim func(int, Quantity, Count, tracefs.Field[uint64])) {
	l := b.ring
	if c.Missing > 0 {
		claim(Total, Missing, AtLeast(c.Missing), c.Asked)
	}
	if c.TailKnown && c.Duplicates == 0 && l.Undecodable.OK && l.Undecodable.V == 0 && l.NotWritten.OK && l.NotWritten.V == 0 {
		claim(Total, Written, Exactly(c.Records+c.Missing), c.Asked)
	}
}

// witnessProbe is the probe of a witness that has a miss count of its own: a
// kprobe or kretprobe; nil for others.
func witnessProbe(src *Source, file string, h ringlog.ProbeHit) *Probe {
	if h.Profile == nil {
		return nil
	}
	p := &Probe{Name: h.Name, Kind: h.Kind, Target: h.Function, Maxactive: h.Profile.Maxactive, Hits: Exactly(h.Profile.Hits), Missed: Exactly(h.Profile.Missed), Source: src,
		Evidence: []Evidence{{Source: src.ID, File: file, Text: fmt.Sprintf("%s: %d hits, %d misses in kprobe_profile", h.Profile.Event, h.Profile.Hits, h.Profile.Missed)}}}
	if h.LinkMissed != nil {
		p.Evidence = append(p.Evidence, Evidence{Source: src.ID, File: file, Text: fmt.Sprintf("%d misses of the BPF link", *h.LinkMissed)})
	}
	return p
}

func (b *Buffer) allAsked() bool {
	for _, c := range b.ring.CPUs {
		if c.CPU < 0 || !c.Asked.OK {
			return false
		}
	}
	return len(b.ring.CPUs) > 0
}

// claimWitness enters the independent count of a capture: attempts, per CPU or
// in all.
func (b *Buffer) claimWitness() {
	w := b.witness
	if w == nil || w.Mode == ringlog.ModeAlone {
		return
	}
	claim := func(cpu int, n ringlog.Bounds) {
		c := AtLeast(n.Inner)
		if n.Outer != nil && *n.Outer >= n.Inner {
			c = Between(n.Inner, *n.Outer)
		}
		b.Ledger.Claim(Claim{CPU: cpu, Quantity: Attempted, Count: c, Why: w.Why, rule: ruleEBPFWritten.ID,
			Evidence: []Evidence{{Source: b.witnessSource.ID, File: b.witnessFile, Text: boundsText(cpu, n)}}})
	}
	if w.PerCPU == "exact" {
		for _, c := range w.CPUs {
			claim(c.CPU, c.Bounds)
		}
	}
	claim(Total, w.Total)
}

func boundsText(cpu int, n ringlog.Bounds) string {
	who := "all CPUs"
	if cpu != Total {
		who = fmt.Sprintf("cpu %d", cpu)
	}
	switch {
	case n.Outer == nil:
		return fmt.Sprintf("%s: at least %d hits", who, n.Inner)
	case *n.Outer == n.Inner:
		return fmt.Sprintf("%s: %d hits", who, n.Inner)
	}
	return fmt.Sprintf("%s: %d to %d hits", who, n.Inner, *n.Outer)
}
