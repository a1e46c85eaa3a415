package audit

import (
	"fmt"
	"strings"
)

// Verdict answers the question "did this trace lose anything?".
type Verdict string

// The verdicts.
const (
	// Lossy: loss is proven, of the ring or of the capture at hand.
	Lossy Verdict = "lossy"
	// Complete: every loss that the given sources can count is proven zero.
	Complete Verdict = "complete"
	// Confirmed: complete, and an independent count proves that nothing was
	// refused uncounted either.
	Confirmed Verdict = "confirmed"
	// Undetermined: neither loss nor its absence is proven.
	Undetermined Verdict = "undetermined"
)

// lossOf are the quantities that a verdict looks at: with overwriting intended,
// what was overwritten is none of them.
func (b *Buffer) lossOf() []Quantity {
	if b.FlightRecorder {
		return []Quantity{Dropped, CommitOverrun}
	}
	return []Quantity{Overwritten, Dropped, CommitOverrun}
}

// judge sets the verdict of a settled buffer.
func (b *Buffer) judge() {
	b.Verdict, b.Reason = b.verdict()
}

func (b *Buffer) verdict() (Verdict, string) {
	l := b.Ledger
	lost := Exactly(0)
	var unknown []string
	for _, q := range b.lossOf() {
		c := l.Count(Total, q)
		lost = lost.Plus(c)
		if c.Open || c.Hi > 0 && c.Lo == 0 {
			unknown = append(unknown, strings.ReplaceAll(q.String(), "_", " "))
		}
	}
	uncounted := l.Count(Total, Uncounted)
	if lost.Lo+uncounted.Lo > 0 {
		if b.FlightRecorder {
			return Lossy, fmt.Sprintf("%s refused: the window that is held is not whole", eventsWere(lost.Plus(Exactly(uncounted.Lo))))
		}
		return Lossy, fmt.Sprintf("%s thrown away or refused by the kernel", eventsWere(lost.Plus(Exactly(uncounted.Lo))))
	}
	missing, captured := b.lacks()
	if captured && !b.FlightRecorder && missing.Lo > 0 {
		return Lossy, fmt.Sprintf("the capture lacks %s", events(missing))
	}
	inside, perhaps := b.capturedLack()
	if captured && b.FlightRecorder && inside {
		return Lossy, "the capture lacks records inside the window that it holds"
	}
	if len(unknown) > 0 {
		return Undetermined, b.whyUndetermined(unknown)
	}
	if b.LastBoot {
		return Undetermined, b.rebuiltWords() + "; what was lost before is not in them"
	}
	if b.Reset {
		return Undetermined, "the counters were reset between the two samples: what they counted before that is gone"
	}
	if b.unsettled() {
		return Undetermined, "two sources contradict each other about this buffer: see the findings"
	}
	if b.damaged() {
		return Undetermined, "a part of the source could not be read: see the findings"
	}
	if captured && b.FlightRecorder && perhaps {
		return Undetermined, "it cannot be told whether records inside the window that the capture holds are missing"
	}
	if captured && !b.FlightRecorder && (missing.Open || missing.Hi > 0) && !b.uncountedIsTheRest() {
		return Undetermined, "it cannot be told whether the capture holds every record that was written"
	}
	return b.noLoss()
}

// noLoss is the verdict where every counter of loss is zero.
func (b *Buffer) noLoss() (Verdict, string) {
	over := b.Ledger.Count(Total, Overwritten)
	confirmed := b.Ledger.Count(Total, Uncounted).None()
	switch {
	case b.FlightRecorder && !over.None() && confirmed:
		return Confirmed, "overwriting is intended, and the window that is held is whole" + b.windowWords() + ": nothing was refused, and an independent count proves it"
	case b.FlightRecorder && !over.None():
		return Complete, "overwriting is intended, and the window that is held is whole" + b.windowWords() + ": nothing that these sources can count was refused"
	case confirmed:
		return Confirmed, "every counter of loss is zero, and an independent count proves that nothing was refused uncounted"
	}
	return Complete, "every loss that these sources can count is zero"
}

// windowWords names the window that all CPUs with records have in common.
func (b *Buffer) windowWords() string {
	w := b.CommonWindow()
	if w == nil {
		return ""
	}
	return fmt.Sprintf(", %v to %v", w.Oldest, w.End())
}

// lacks is what the captures lack of all that was attempted, over the CPUs that
// they speak of; ok is false where no capture is at hand.
func (b *Buffer) lacks() (_ Count, ok bool) {
	if c, ok := b.Ledger.Get(Total, Missing); ok {
		return c, true
	}
	sum := Exactly(0)
	for _, id := range b.Ledger.CPUs() {
		if c, applies := b.Ledger.Get(id, Missing); applies {
			sum, ok = sum.Plus(c), true
		}
	}
	return sum, ok
}

// uncountedIsTheRest tells whether all that the captures may lack is what nobody
// could count: every record that was written is in them.
func (b *Buffer) uncountedIsTheRest() bool {
	whole := func(row int) bool {
		written, delivered := b.Ledger.Count(row, Written), b.Ledger.Count(row, Delivered)
		return written.Exact() && delivered.Exact() && written.Lo == delivered.Lo
	}
	if _, ok := b.Ledger.Get(Total, Delivered); ok {
		return whole(Total)
	}
	for _, id := range b.Ledger.CPUs() {
		if _, ok := b.Ledger.Get(id, Delivered); ok && !whole(id) {
			return false
		}
	}
	return true
}

// insideWindow tells whether a hole lies between two records that the capture
// holds.
func (h *Hole) insideWindow() bool { return h.After != nil && h.Before != nil }

// capturedLack tells whether a capture of a flight recorder has holes between its
// records, or lacks records that the ring had kept; or whether it may have.
func (b *Buffer) capturedLack() (inside, perhaps bool) {
	for _, id := range b.CPUIDs() {
		c := b.CPUs[id]
		for i := range c.Holes {
			switch h := &c.Holes[i]; {
			case h.insideWindow() && h.Events.Lo > 0:
				inside = true
			case h.After != nil && !h.Events.None():
				perhaps = true // where exactly, the counters do not tell
			}
		}
		perhaps = perhaps || c.HolesOmitted > 0
		gave := b.Ledger.Count(id, Kept).Plus(b.Ledger.Count(id, Read))
		d, ok := b.Ledger.Get(id, Delivered)
		if ok && !d.Open && gave.Lo > d.Hi {
			inside = true
		}
	}
	return inside, perhaps
}

// unsettled tells whether two sources contradict each other.
func (b *Buffer) unsettled() bool { return len(b.Ledger.Contradictions())+len(b.differ) > 0 }

// damaged tells whether part of what the verdict rests on could not be read.
func (b *Buffer) damaged() bool {
	for _, c := range b.texts() {
		if c.Section.Corrupted > 0 {
			return true // the kernel itself says that events may be missing
		}
	}
	for _, c := range b.Captures {
		if c.Cut {
			return true
		}
		for _, p := range c.PerCPU {
			if p.Damaged > 0 {
				return true
			}
		}
	}
	for _, s := range b.Sources {
		for _, p := range s.Problems {
			if !p.Harmless && (p.Buffer == b.Name || p.Buffer == b.baseName() || p.Buffer == "") {
				return true
			}
		}
	}
	return false
}

// whyUndetermined says what kept the verdict open and what would settle it.
func (b *Buffer) whyUndetermined(unknown []string) string {
	what := strings.Join(unknown, ", ")
	if b.Kind == BufferSnapshot {
		return "the kernel has no counters of a snapshot buffer, and its text does not tell " + what
	}
	if !b.HasCounters() && !b.IsCapture() {
		return "nothing here counts what this buffer lost: give its per_cpu/cpuN/stats"
	}
	if !b.HasCounters() {
		kind := "the capture"
		if len(b.Captures) > 0 && b.Captures[0].Text != nil {
			kind = "a text"
		}
		return fmt.Sprintf("%s does not tell %s: it does not reveal whether overwrite was on, and with overwrite off nothing in it shows loss, whatever happened; give per_cpu/cpuN/stats of the same run as well", kind, what)
	}
	if b.Reset {
		return "the counters were reset between the two samples: what they counted before that is gone"
	}
	if b.LastBoot {
		return b.rebuiltWords() + "; the loss history is gone, and the counters are lower bounds"
	}
	return fmt.Sprintf("not known: %s (see the findings for what is missing)", what)
}

// events prints a count with its noun: "1 event", "at least 5 events".
func events(c Count) string {
	switch {
	case c.Exact() && c.Lo == 1:
		return "1 event"
	case c.Open && c.Lo == 1:
		return "at least 1 event"
	}
	return grouped(c) + " events"
}

func eventsWere(c Count) string {
	if c.Lo == 1 && (c.Open || c.Exact()) {
		return events(c) + " was"
	}
	return events(c) + " were"
}

// grouped prints a count with thousands separators.
func grouped(c Count) string {
	switch {
	case c.Exact():
		return group(c.Lo)
	case c.IsUnknown():
		return "an unknown number of"
	case c.Open:
		return "at least " + group(c.Lo)
	}
	return group(c.Lo) + " to " + group(c.Hi)
}

func group(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// verdict of the whole document: lossy if any buffer or probe is; else
// undetermined if any is that is no snapshot, or that was named as a source;
//
//	else complete, or confirmed if all are.
func (a *Audit) verdict() (Verdict, string) {
	for _, b := range a.Buffers {
		if b.Verdict == Lossy {
			return Lossy, a.lossyReason()
		}
	}
	for _, p := range a.Probes {
		if p.Missed.Lo > 0 {
			return Lossy, a.lossyReason()
		}
	}
	confirmed, judged := true, 0
	for _, b := range a.Buffers {
		if b.Kind == BufferSnapshot && !b.Named {
			continue // it cannot lower the verdict of the buffer it was taken from
		}
		judged++
		if b.Verdict == Undetermined {
			return Undetermined, a.named(b, b.Reason)
		}
		confirmed = confirmed && b.Verdict == Confirmed
	}
	if judged == 0 {
		for _, p := range a.Probes {
			if p.Missed.None() {
				return Undetermined, "probes missed nothing, but no ring buffer is among the sources"
			}
		}
		return Undetermined, "no source says anything about a ring buffer's loss"
	}
	return a.noLoss(confirmed)
}

// noLoss is the verdict where none of the buffers lost anything that counts.
func (a *Audit) noLoss(confirmed bool) (Verdict, string) {
	for _, b := range a.Buffers {
		if b.FlightRecorder && !b.Ledger.Count(Total, Overwritten).None() && b.Kind != BufferSnapshot {
			v := Complete
			if confirmed {
				v = Confirmed
			}
			return v, a.named(b, b.Reason)
		}
	}
	if confirmed {
		return Confirmed, "every counter of loss is zero, and an independent count proves that nothing was refused uncounted"
	}
	return Complete, "every loss that these sources can count is zero"
}

// lossyReason gathers what was lost over buffers and probes.
func (a *Audit) lossyReason() string {
	var parts []string
	for _, b := range a.Buffers {
		if b.Verdict == Lossy {
			parts = append(parts, a.named(b, b.Reason))
		}
	}
	missed, n := Exactly(0), uint64(0)
	for _, p := range a.Probes {
		if p.Missed.Lo > 0 {
			missed = missed.Plus(p.Missed)
			n++
		}
	}
	if n > 0 {
		parts = append(parts, fmt.Sprintf("%s missed %s, which no ring counter shows", counted(n, "probe"), strings.TrimSuffix(events(missed), "events")+"hits"))
	}
	return strings.Join(parts, "; ")
}

func (a *Audit) named(b *Buffer, s string) string {
	if len(a.Buffers) == 1 {
		return s
	}
	return b.Name + ": " + s
}
