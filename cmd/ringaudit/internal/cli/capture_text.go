package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs/live"
	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// captureTotals are the sums over CPUs.
type captureTotals struct {
	offered, written, lost, overrun, dropped, commit, read uint64
}

func totalsOf(r *live.CaptureResult) (t captureTotals) {
	for _, c := range r.CPUs {
		t.offered += c.Attempted()
		t.written += c.Written
		t.lost += c.Lost()
		t.overrun += c.Overrun
		t.dropped += c.Dropped
		t.commit += c.CommitOverrun
		t.read += c.Read
	}
	return t
}

func captureExit(r *live.CaptureResult) int {
	contradiction, uncounted := r.Settled()
	t := totalsOf(r)
	missed := missedHits(r) > 0 || r.Witness != nil && r.Witness.ReserveFailures != nil && *r.Witness.ReserveFailures > 0
	switch {
	case t.lost > 0 || uncounted.Inner > 0 || contradiction != "" || missed:
		return exitFindings
	case r.Witness == nil:
		return exitUndecided
	}
	return exitOK
}

// missedHits are the hits that kprobes missed: in no counter of any buffer.
func missedHits(r *live.CaptureResult) (n uint64) {
	if r.Witness == nil {
		return 0
	}
	for _, p := range r.Witness.Probes {
		if p.Profile != nil {
			n += p.Profile.Missed
		}
	}
	return n
}

// captureText is the result for people.
func captureText(r *live.CaptureResult) string {
	var b strings.Builder
	t := totalsOf(r)
	contradiction, uncounted := r.Settled()
	alone := r.Witness != nil && r.Witness.Mode == ringlog.ModeAlone
	happened := t.offered + uncounted.Inner
	switch {
	case contradiction != "":
		fmt.Fprintf(&b, "CONTRADICTION  %s\n", contradiction)
	case t.lost+uncounted.Inner > 0:
		least := ""
		if uncounted.Outer == nil || *uncounted.Outer > uncounted.Inner {
			least = "≥ " // more may have been refused and counted nowhere
		}
		fmt.Fprintf(&b, "LOSSY  %s%s of %s%s events lost (%s%s %%)%s\n", least, group(t.lost+uncounted.Inner), least, group(happened),
			least, percent(t.lost+uncounted.Inner, happened), lossParts(t, uncounted.Inner))
	case missedHits(r) > 0:
		fmt.Fprintf(&b, "LOSSY  %s events recorded, and %s hits of probes missed before the buffer was asked\n", group(t.offered), group(missedHits(r)))
	case r.Confirmed():
		fmt.Fprintf(&b, "CONFIRMED  %s events happened, and every one is recorded\n", group(t.offered))
	case alone:
		captureAlone(&b, r.Witness)
	case r.Witness == nil:
		fmt.Fprintf(&b, "COMPLETE  %s events, none lost by the counters; no independent count: %s\n", group(t.offered), r.NoCount)
	default:
		most := "an unknown number"
		if uncounted.Outer != nil {
			most = "at most " + group(*uncounted.Outer)
		}
		fmt.Fprintf(&b, "COMPLETE  %s events, none lost by the counters; refused and counted nowhere: %s\n", group(t.offered), most)
	}
	if !alone {
		captureTable(&b, r, t)
	}
	captureWitness(&b, r)
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note   %s\n", n)
	}
	if r.ExitCode != nil && *r.ExitCode != 0 {
		fmt.Fprintf(&b, "note   the command ended with exit code %d\n", *r.ExitCode)
	}
	if r.Output != "" {
		fmt.Fprintf(&b, "bundle %s (ringaudit audit %s)\n", r.Output, r.Output)
	}
	return b.String()
}

// captureAlone is the first line of a capture of BPF programs only.
func captureAlone(b *strings.Builder, w *ringlog.Witness) {
	var hits uint64
	for _, p := range w.Probes {
		hits += p.Hits
	}
	if n := w.ReserveFailures; n != nil && *n > 0 {
		fmt.Fprintf(b, "LOSSY  %s of %s records refused by the BPF ring buffer (%s %%); no tracefs event was asked for\n", group(*n), group(hits), percent(*n, hits))
		return
	}
	fmt.Fprintf(b, "COUNTED  %s hits; no tracefs event was asked for\n", group(hits))
}

func percent(part, whole uint64) string {
	if whole == 0 {
		return "0"
	}
	return strconv.FormatFloat(float64(part)/float64(whole)*100, 'f', 2, 64)
}

func lossParts(t captureTotals, uncounted uint64) string {
	var parts []string
	for _, p := range []struct {
		n    uint64
		what string
	}{{t.overrun, "overwritten"}, {t.dropped, "dropped"}, {t.commit, "commit overrun"}, {uncounted, "refused and counted nowhere"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", p.what, group(p.n)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func captureTable(b *strings.Builder, r *live.CaptureResult, t captureTotals) {
	rows := [][]string{{"cpu", "offered", "taken", "overwritten", "dropped", "commit overrun", "left", "eBPF count"}}
	count := func(n ringlog.Bounds) string {
		switch {
		case n.Outer == nil:
			return "≥ " + group(n.Inner)
		case *n.Outer == n.Inner:
			return group(n.Inner)
		}
		return group(n.Inner) + " – " + group(*n.Outer)
	}
	by := map[int]ringlog.Bounds{}
	if r.Witness != nil {
		for _, c := range r.Witness.CPUs {
			by[c.CPU] = c.Bounds
		}
	}
	var left uint64
	for _, c := range r.CPUs {
		left += c.Entries
		if c.Attempted() == 0 && by[c.CPU].Inner == 0 {
			continue
		}
		row := []string{strconv.Itoa(c.CPU), group(c.Attempted()), group(c.Read), group(c.Overrun), group(c.Dropped), group(c.CommitOverrun), group(c.Entries), "–"}
		if n, ok := by[c.CPU]; ok {
			row[7] = count(n)
		}
		rows = append(rows, row)
	}
	all := []string{"all", group(t.offered), group(t.read), group(t.overrun), group(t.dropped), group(t.commit), group(left), "–"}
	if r.Witness != nil {
		all[7] = count(r.Witness.Total)
	}
	writeRightAligned(b, append(rows, all))
}

// writeRightAligned writes a table of right-aligned columns.
func writeRightAligned(b *strings.Builder, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], len([]rune(c)))
		}
	}
	for _, r := range rows {
		for i, c := range r {
			fmt.Fprintf(b, "%s%s", strings.Repeat(" ", width[i]-len([]rune(c))+2), c)
		}
		b.WriteByte('\n')
	}
}

// captureWitness says what the count rests on.
func captureWitness(b *strings.Builder, r *live.CaptureResult) {
	w := r.Witness
	if w == nil {
		return
	}
	fmt.Fprintf(b, "count  %s: %s\n", w.Mode, w.Why)
	for _, n := range w.Notes {
		fmt.Fprintf(b, "       %s\n", n)
	}
	means := map[string]int{}
	for _, p := range w.Probes {
		means[p.Means]++
	}
	for _, m := range []string{ringlog.MeansRawTracepoint, ringlog.MeansFentry, ringlog.MeansPerfKprobe, ringlog.MeansPerfEvent} {
		if means[m] > 0 {
			fmt.Fprintf(b, "means  %s: %s\n", m, plural(means[m], "probe"))
		}
	}
	for _, p := range w.Probes {
		if p.Kind == ringlog.KindTracepoint {
			continue
		}
		fmt.Fprintf(b, "probe  %s: %s hits", p.Name, group(p.Hits))
		if p.Program != nil {
			fmt.Fprintf(b, " of %s %s, entry %s", p.Program.Type, p.Program.Name, p.Function)
		}
		if p.ReserveFailures != nil && *p.ReserveFailures > 0 {
			fmt.Fprintf(b, "; %s of their records refused by the ring buffer", group(*p.ReserveFailures))
		}
		if p.Profile != nil {
			fmt.Fprintf(b, "; kprobe_profile: %s hits, %s missed", group(p.Profile.Hits), group(p.Profile.Missed))
			if p.Profile.Missed > 0 {
				b.WriteString(" — in no counter of the buffer")
			}
		}
		b.WriteByte('\n')
	}
	if w.Reader != nil {
		fmt.Fprintf(b, "log    %s records", group(w.Reader.Written))
		if w.ReserveFailures != nil && *w.ReserveFailures > 0 {
			fmt.Fprintf(b, ", %s refused by the ring buffer", group(*w.ReserveFailures))
			if w.Unattributed != nil && *w.Unattributed > 0 {
				fmt.Fprintf(b, " (%s of them of unknown probes)", group(*w.Unattributed))
			}
		}
		if w.Reader.Failed > 0 {
			fmt.Fprintf(b, ", %s not written: %s", group(w.Reader.Failed), w.Reader.Error)
		}
		b.WriteByte('\n')
	}
	for _, p := range w.Probes {
		if p.RunNS != nil && p.RunCount != nil && *p.RunCount > 0 {
			fmt.Fprintf(b, "cost   %s: %.0f ns a hit (%s runs)\n", p.Name, float64(*p.RunNS)/float64(*p.RunCount), group(*p.RunCount))
		}
	}
}
