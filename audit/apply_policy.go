package audit

import "fmt"

// applyPolicy sets severities, budgets and suppressions.
func (a *Audit) applyPolicy() {
	p := a.Options.Policy
	used := make([]bool, len(p.Suppressions))
	for i := range a.Findings {
		f := &a.Findings[i]
		if s, ok := p.Severities[f.Rule]; ok {
			f.Severity = s
		}
		if b, ok := a.budgetFor(*f); ok {
			f.Severity = SeverityNote
			f.Message += fmt.Sprintf(" (within the budget: %v)", b)
		}
		for j, s := range p.Suppressions {
			if s.covers(*f) && !s.expired(a.Options.Today) {
				used[j] = true
				f.Suppressed = s.Reason
			}
		}
	}
	for j, s := range p.Suppressions {
		f := Finding{Evidence: []Evidence{{Source: "config", Line: s.Line}}}
		switch {
		case s.expired(a.Options.Today):
			f.Severity = SeverityWarning
			f.Message = fmt.Sprintf("the suppression of %s expired on %s and has no effect", s.Rule, s.Expires.Format("2006-01-02"))
		case !used[j]:
			f.Message = fmt.Sprintf("the suppression of %s covers no finding", s.Rule)
		default:
			continue
		}
		if sev, ok := p.Severities[ruleSuppression.ID]; ok {
			f.Severity = sev
		}
		a.emit(ruleSuppression, f)
	}
}

// budgetFor is the budget that accepts a finding of loss.
func (a *Audit) budgetFor(f Finding) (Budget, bool) {
	if !f.Loss || f.Severity != SeverityError {
		return Budget{}, false
	}
	for _, b := range a.Buffers {
		if b.Name != f.Buffer {
			continue
		}
		for _, bud := range a.Options.Policy.Budgets {
			if bud.Buffer != "" && bud.Buffer != b.Name && bud.Buffer != b.baseName() {
				continue
			}
			if b.accepts(bud, f) {
				return bud, true
			}
		}
	}
	return Budget{}, false
}

// accepts tells whether a budget covers a finding. A budget of one CPU covers a
// finding about the whole buffer only if no other CPU lost anything.
func (b *Buffer) accepts(bud Budget, f Finding) bool {
	row := Total
	if bud.CPU != nil {
		if row = *bud.CPU; f.CPU != nil && *f.CPU != row {
			return false
		}
		if _, ok := b.CPUs[row]; !ok || f.CPU == nil && !b.lostOnlyOn(row) {
			return false
		}
	}
	return bud.within(b.countedLoss(row), b.countedAttempts(row))
}

// lostOnlyOn tells whether all that the buffer lost was lost on that CPU.
func (b *Buffer) lostOnlyOn(cpu int) bool {
	if !b.Ledger.CPUsWhole {
		return false
	}
	for _, id := range b.Ledger.CPUs() {
		if id != cpu && !b.countedLoss(id).None() {
			return false
		}
	}
	return true
}

// CountedLoss is what the kernel's counters, and an independent count, say was
// lost at least: Overwritten + Dropped + CommitOverrun, and the lower bound of
// Uncounted.
func (b *Buffer) CountedLoss(cpu int) Count { return b.countedLoss(cpu) }

// CountedAttempts is the denominator for CountedLoss: what was written and
// refused.
func (b *Buffer) CountedAttempts(cpu int) Count { return b.countedAttempts(cpu) }

// countedLoss is what the counters, and an independent count, can say of loss.
func (b *Buffer) countedLoss(cpu int) Count {
	l := b.Ledger
	return l.Count(cpu, Overwritten).Plus(l.Count(cpu, Dropped)).Plus(l.Count(cpu, CommitOverrun)).Plus(b.uncounted(cpu))
}

// uncounted is what an independent count says was refused uncounted; without one
// nothing, since nobody can count it.
func (b *Buffer) uncounted(cpu int) Count {
	u := b.Ledger.Count(cpu, Uncounted)
	if u.Open {
		return Exactly(u.Lo)
	}
	return u
}

// countedAttempts is what the counters can say of the attempts.
func (b *Buffer) countedAttempts(cpu int) Count {
	l := b.Ledger
	return l.Count(cpu, Written).Plus(l.Count(cpu, Dropped)).Plus(l.Count(cpu, CommitOverrun)).Plus(b.uncounted(cpu))
}
