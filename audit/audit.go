package audit

import (
	"context"
	"errors"
	"fmt"
)

// Audit is the result of a run: what the sources say, settled and judged.
type Audit struct {
	Options  Options
	Sources  []*Source
	Buffers  []*Buffer
	Probes   []*Probe
	Findings []Finding
	// BlindSpots are the kinds of loss that none of the sources could have shown.
	BlindSpots []BlindSpot
	Verdict    Verdict
	Reason     string
	// Exit is the exit code that the result asks for: 0, 1, 3 or 4.
	Exit int

	logs []*ringLog
}

// Probe is a kprobe, kretprobe, uprobe or eBPF probe, with a loss of its own: a
// probe that is missed never asks the ring buffer for a record.
type Probe struct {
	Name      string
	Kind      string // kprobe, kretprobe, uprobe, bpf
	Target    string
	Maxactive *uint64 // as the kernel lists it; nil: not listed
	Hits      Count
	Missed    Count
	Source    *Source
	Evidence  []Evidence
	// MissMeaning says what a miss of this probe on this kernel can be.
	MissMeaning string
	Default     bool // maxactive is the kernel's default
}

// UsageError is a mistake in what was asked for, as against in what was found.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

func usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// ErrNothingRead is returned, beside a document that says why, where none of the
// sources could be read.
var ErrNothingRead = errors.New("none of the sources could be read")

// Run audits. The error is a [UsageError], or ctx's; what is wrong with the
// sources is in the result.
func Run(ctx context.Context, opt Options) (*Audit, error) {
	a := &Audit{Options: opt}
	if err := a.checkOptions(); err != nil {
		return nil, err
	}
	var parts []*part
	for i, in := range opt.Sources {
		src := &Source{ID: fmt.Sprintf("s%d", i+1), Path: in.Path, Coverage: CoverageWhole, Live: in.Live, named: true}
		a.Sources = append(a.Sources, src)
		parts = append(parts, open(ctx, src, in)...)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	var before []*part
	if opt.Before != nil {
		src := &Source{ID: fmt.Sprintf("s%d", len(opt.Sources)+1), Path: opt.Before.Path, Coverage: CoverageWhole, named: true}
		a.Sources = append(a.Sources, src)
		before = open(ctx, src, *opt.Before)
	}
	if err := a.assemble(parts, before); err != nil {
		return nil, err
	}
	for _, b := range a.Buffers {
		b.prepare()
		a.settle(b)
		b.judge()
	}
	look := checks()
	for _, r := range Rules() {
		if check := look[r]; check != nil {
			check(a, r)
		}
	}
	a.Verdict, a.Reason = a.verdict()
	if a.nothingRead() {
		a.Reason = "none of the sources could be read"
	}
	a.gatherBlindSpots()
	a.applyPolicy()
	a.Findings = sortFindings(a.Findings)
	a.Exit = a.exitCode()
	return a, nil
}

func (a *Audit) checkOptions() error {
	if len(a.Options.Sources) == 0 {
		return usagef("no source to audit")
	}
	switch a.Options.FailOn {
	case "":
		a.Options.FailOn = FailOnLoss
	case FailOnLoss, FailOnWarning, FailOnNote, FailOnNever:
	default:
		return usagef("--fail-on %q: expected loss, warning, note or never", a.Options.FailOn)
	}
	if a.Options.MaxHoles == 0 {
		a.Options.MaxHoles = DefaultMaxHoles
	}
	if a.Options.Policy == nil {
		a.Options.Policy = &Policy{}
	}
	return nil
}

// nothingRead tells whether no source to be audited gave anything.
func (a *Audit) nothingRead() bool {
	for _, s := range a.Sources[:len(a.Options.Sources)] {
		if s.Coverage != CoverageNone {
			return false
		}
	}
	return true
}

// emit adds a finding of a rule; its severity is the rule's unless f has one.
func (a *Audit) emit(r *Rule, f Finding) {
	f.Rule = r.ID
	if f.Severity == "" {
		f.Severity = r.Severity
	}
	if f.Action == "" && !f.settled {
		f.Action = r.Remedy
	}
	if len(f.Evidence) == 0 {
		// What was derived from several numbers still rests on its sources.
		for _, b := range a.Buffers {
			if b.Name == f.Buffer {
				for _, s := range b.Sources {
					f.Evidence = append(f.Evidence, Evidence{Source: s.ID})
				}
			}
		}
	}
	f.Citations = r.Citations
	if len(f.Evidence) == 0 {
		// Where no line says it, the source as a whole does.
		for _, b := range a.Buffers {
			if b.Name == f.Buffer {
				f.Evidence = []Evidence{{Source: b.Sources[0].ID}}
				break
			}
		}
	}
	if (r.Group == GroupLoss || r.Group == GroupProbes) && !f.beyond {
		f.Loss = true
	}
	a.Findings = append(a.Findings, f)
}

func (a *Audit) gatherBlindSpots() {
	for _, s := range blindSpots {
		for _, b := range a.Buffers {
			if (b.Kind == BufferRing || b.Kind == BufferSnapshot && (b.Named || s.ofSnapshots())) && s.open(b) {
				a.BlindSpots = append(a.BlindSpots, s.BlindSpot)
				break
			}
		}
	}
}

// exitCode is the code of DESIGN.md 3: 4 if nothing could be read; then 1 if
// findings reach --fail-on, however partial the input; then 3; then 0.
func (a *Audit) exitCode() int {
	if a.nothingRead() {
		return 4
	}
	partial := false
	for _, s := range a.Sources {
		partial = partial || s.Coverage != CoverageWhole
	}
	limit := map[FailOn]int{FailOnLoss: 0, FailOnWarning: 1, FailOnNote: 2, FailOnNever: -1}[a.Options.FailOn]
	for _, f := range a.Findings {
		if f.Suppressed == "" && f.Severity.rank() <= limit {
			return 1
		}
	}
	if a.Verdict == Undetermined || partial {
		return 3
	}
	if a.Options.RequireConfirmed && !a.countedIndependently() {
		return 3
	}
	return 0
}

// countedIndependently tells whether the verdict rests on an independent count:
// it is confirmed, or it is loss that was accepted and there is no other.
func (a *Audit) countedIndependently() bool {
	for _, b := range a.Buffers {
		if b.Kind != BufferSnapshot && !b.Ledger.Count(Total, Uncounted).Exact() {
			return false
		}
	}
	return a.Verdict == Confirmed || a.Verdict == Lossy
}
