package blueprints

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringaudit/ringaudit/audit"
)

// writeSizes says what was asked for, what the kernel prints of it, and what it
// costs, for each CPU.
func (o *observation) writeSizes(b *strings.Builder) {
	if o.buf.Kind != audit.BufferRing || o.geometry.UsableBytes == 0 {
		return
	}
	type size struct {
		printed, subbufs, memory uint64
		first                    audit.Grant // at first use; zero where it has been used
	}
	var sizes []size
	for _, cpu := range o.cpus {
		s, ok := o.buf.CPUSizes[cpu]
		if !ok || !s.Printed.KB.OK || !s.Subbufs.Exact() || !s.MemoryBytes.Exact() {
			continue
		}
		z := size{printed: uint64(s.Printed.KB.V), subbufs: s.Subbufs.Lo, memory: s.MemoryBytes.Lo}
		if s.AtFirstUse != nil {
			z.first = *s.AtFirstUse
		}
		sizes = append(sizes, z)
	}
	grant, err := o.geometry.Grant(o.request)
	if len(sizes) == 0 && o.request > 0 && err == nil {
		sizes = []size{{printed: grant.SizeKB, subbufs: grant.Subbufs, memory: grant.MemoryBytes}}
	}
	if len(sizes) == 0 {
		return
	}
	s := sizes[0]
	if slices.ContainsFunc(sizes, func(t size) bool { return t != s }) {
		b.WriteString("\nThe CPUs have rings of unlike size:")
		for i, t := range sizes {
			fmt.Fprintf(b, " CPU %d prints %d kB and takes %s KiB;", o.cpus[i], t.printed, kib(t.memory))
		}
		b.WriteString(" each holds a reader page more than its sub-buffers.\n")
		return
	}
	asked := o.request > 0 && err == nil && grant.Subbufs == s.subbufs
	b.WriteString("\n")
	if asked {
		fmt.Fprintf(b, "%d → %d → %s: %d kB were asked for on each CPU, `buffer_size_kb` prints %d, and %s KiB of memory are taken",
			o.request, s.printed, kib(s.memory), o.request, s.printed, kib(s.memory))
	} else {
		fmt.Fprintf(b, "`buffer_size_kb` prints %d for each CPU, and %s KiB of memory are taken", s.printed, kib(s.memory))
	}
	fmt.Fprintf(b, ": %d sub-buffers of %d usable bytes (%d less a header of %d), and the reader page.\n",
		s.subbufs, o.geometry.UsableBytes, o.geometry.SubbufBytes, o.geometry.HeaderBytes)
	if first := s.first; first != (audit.Grant{}) {
		fmt.Fprintf(b, "\nThe ring has not been used. With the first use it grows to %d sub-buffers: %d kB asked for, %d printed, %s KiB taken on each CPU.\n",
			first.Subbufs, first.RequestKB, first.SizeKB, kib(first.MemoryBytes))
	}
}

// kib writes bytes in KiB.
func kib(n uint64) string {
	if n%1024 == 0 {
		return fmt.Sprint(n / 1024)
	}
	return fmt.Sprintf("%.1f", float64(n)/1024)
}

// writeMisleading names the counters that read like an answer here and are
// none.
func (o *observation) writeMisleading(b *strings.Builder) {
	if o.buf.Kind == audit.BufferBPF {
		return // these counters are the program's own
	}
	var out []string
	over, drop := o.count(o.whole, audit.Overwritten), o.count(o.whole, audit.Dropped)
	switch {
	case o.mode == audit.ModeOverwrite && drop.None() && over.Lo > 0:
		out = append(out, fmt.Sprintf("`dropped events: 0` does not say that nothing was lost. It counts events that were refused while overwrite is off; here overwrite is on, and what was lost stands under `overrun`: %s.", count(over)))
	case o.mode == audit.ModeOverwrite && drop.None() && !o.untouched():
		out = append(out, "`dropped events: 0` says nothing here, whatever was lost: overwrite is on, and the line that would tell is `overrun`.")
	case o.mode == audit.ModeNoOverwrite && over.None() && drop.Lo > 0:
		out = append(out, fmt.Sprintf("`overrun: 0` does not say that nothing was lost. Overwrite is off, so that nothing written is thrown away; what was refused stands under `dropped events`: %s.", count(drop)))
	}
	if s := o.rebuiltLine(); s != "" {
		out = append(out, s)
	}
	if s := o.bytesLine(); s != "" {
		out = append(out, s)
	}
	if len(out) == 0 {
		return
	}
	b.WriteString("\nCounters that mislead here:\n\n")
	for _, s := range out {
		b.WriteString("- " + s + "\n")
	}
}

// rebuiltLine says why the counters of a boot-mapped buffer are lower bounds,
// with the numbers that they print.
func (o *observation) rebuiltLine() string {
	if !o.buf.LastBoot || !o.buf.HasCounters() {
		return ""
	}
	var printed []string
	for _, cpu := range o.buf.Counters.CPUs() {
		s := o.buf.Counters.Stats[cpu]
		if s.Entries.OK && s.Overrun.OK {
			printed = append(printed, fmt.Sprintf("CPU %d `entries: %d`, `overrun: %d`", cpu, s.Entries.V, s.Overrun.V))
		}
	}
	if len(printed) == 0 || len(printed) > maxColumns {
		return ""
	}
	return fmt.Sprintf("What is printed (%s) are lower bounds. This buffer lies in memory that survives a reboot, and a boot rebuilds its counters from the pages that it finds: what an earlier boot overwrote is in none of them, and an `overrun: 0` is no proof.", strings.Join(printed, "; "))
}

// bytesLine says what the bytes line of stats is not.
func (o *observation) bytesLine() string {
	if !o.buf.HasCounters() {
		return ""
	}
	var odd, seen []string
	used := false
	for _, cpu := range o.buf.Counters.CPUs() {
		s := o.buf.Counters.Stats[cpu]
		if !s.Bytes.OK {
			continue
		}
		seen = append(seen, fmt.Sprintf("%d", s.Bytes.V))
		used = used || s.Bytes.V != 0
		where := fmt.Sprintf("on CPU %d", cpu)
		size := o.buf.CPUSizes[cpu]
		switch {
		case s.Bytes.V < 0:
			odd = append(odd, fmt.Sprintf("%s it is %d", where, s.Bytes.V))
		case s.Entries.OK && s.Entries.V == 0 && s.Bytes.V > 0:
			odd = append(odd, fmt.Sprintf("%s it says %d with no event left", where, s.Bytes.V))
		case size.UsableBytes.Exact() && size.UsableBytes.Lo > 0 && uint64(s.Bytes.V) > size.UsableBytes.Lo:
			odd = append(odd, fmt.Sprintf("%s it says %d, in a ring that has %d usable bytes", where, s.Bytes.V, size.UsableBytes.Lo))
		}
	}
	switch {
	case len(odd) > 0:
		return fmt.Sprintf("`bytes` is no measure of anything here: %s.", strings.Join(odd, "; "))
	case !used:
		return ""
	case len(seen) > maxColumns:
		return "`bytes` is neither what was recorded nor what was lost: at best it is what the events that are left take, with their headers."
	}
	return fmt.Sprintf("`bytes` (%s) is neither what was recorded nor what was lost: at best it is what the events that are left take, with their headers.", strings.Join(seen, ", "))
}

// writeViews is the table of what each way of reading the buffer admits.
func (o *observation) writeViews(b *strings.Builder) {
	if o.buf.Kind == audit.BufferBPF {
		return
	}
	var rows []string
	add := func(how, number, place string) {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", how, number, place))
	}
	if o.buf.HasCounters() {
		var parts []string
		for _, q := range []struct {
			name string
			q    audit.Quantity
		}{{"overrun", audit.Overwritten}, {"dropped events", audit.Dropped}, {"commit overrun", audit.CommitOverrun}} {
			parts = append(parts, fmt.Sprintf("`%s` %s", q.name, count(o.count(o.whole, q.q))))
		}
		add("`stats`", strings.Join(parts, ", "), "no")
	}
	for _, v := range o.views {
		o.addView(v, add)
	}
	if len(rows) < 2 {
		return
	}
	b.WriteString("\nWhat each way of reading admits:\n\n| read from | what it says is missing | place shown? |\n|---|---|---|\n")
	for _, r := range rows {
		b.WriteString(r + "\n")
	}
}

func (o *observation) addView(v view, add func(how, number, place string)) {
	name := "`" + cell(v.name) + "`"
	var lost, known, unknown uint64
	for _, id := range v.CPUIDs() {
		p := v.PerCPU[id]
		lost, known, unknown = lost+p.KnownLost, known+p.KnownMarks, unknown+p.UnknownMarks
	}
	if v.Header != nil {
		h := v.Header
		said := fmt.Sprintf("`%d/%d`: claims that nothing was overwritten", h.Entries, h.Written)
		if h.Written > h.Entries {
			said = fmt.Sprintf("`%d/%d`: %d", h.Entries, h.Written, h.Written-h.Entries)
		}
		add(name+", header"+o.otherMoment(h), said, "no")
	}
	pages := v.Kind == audit.KindPages || v.Kind == audit.KindTraceDat
	how, mark := name, "`LOST` line"
	switch {
	case v.Header != nil:
		how += ", body"
	case pages:
		mark = "flagged sub-buffer"
	}
	how += fmt.Sprintf(" (%s)", plural(v.Records(), "event"))
	switch {
	case known+unknown == 0:
		add(how, "does not say", fmt.Sprintf("no %s", mark))
	case unknown == 0:
		add(how, fmt.Sprintf("%d in all; no total is printed", lost), fmt.Sprintf("yes: %s", plural(known, mark)))
	case known == 0:
		add(how, "no number", fmt.Sprintf("yes: %s without a number", plural(unknown, mark)))
	default:
		add(how, fmt.Sprintf("≥ %d: %s with a number, %d without", lost+unknown, plural(known, mark), unknown), fmt.Sprintf("yes: %s", plural(known+unknown, mark)))
	}
}

// otherMoment says that a header is not of the moment of the counters that stand
// in the same table: empty if it may be, or there are none.
func (o *observation) otherMoment(h *audit.Header) string {
	kept, over := o.count(audit.Total, audit.Kept), o.count(audit.Total, audit.Overwritten)
	if !o.buf.HasCounters() || h.Written < h.Entries || kept.Contains(h.Entries) && over.Contains(h.Written-h.Entries) {
		return ""
	}
	return " (read at another moment)"
}

func plural(n uint64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	if strings.HasPrefix(word, "`LOST`") {
		return fmt.Sprintf("%d `LOST` lines", n)
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// writeProbes is the table of probes that have a loss of their own.
func writeProbes(b *strings.Builder, probes []*audit.Probe) {
	if len(probes) == 0 {
		return
	}
	b.WriteString("\nProbes, whose misses no counter of the ring shows:\n\n| probe | kind | target | maxactive | hits | misses |\n|---|---|---|---:|---:|---:|\n")
	for _, p := range probes {
		active := absentCell
		if p.Maxactive != nil {
			active = fmt.Sprint(*p.Maxactive)
		}
		fmt.Fprintf(b, "| `%s` | %s | `%s` | %s | %s | %s |\n", cell(p.Name), p.Kind, cell(or(p.Target, "?")), active, count(p.Hits), count(p.Missed))
	}
}

// bpfRules are the rules that say by CPU and by probe where an eBPF ring buffer
// lost, which no table of quantities does.
var bpfRules = []string{"ringbuf-reserve-failed", "ringbuf-unattributed", "bpf-recursion-missed", "sequence-hole", "ringlog-cut"}

func writeFindings(b *strings.Builder, findings []audit.Finding) {
	head := false
	for _, f := range findings {
		if !slices.Contains(bpfRules, f.Rule) {
			continue
		}
		if !head {
			b.WriteString("\nWhat the audit finds:\n\n")
			head = true
		}
		fmt.Fprintf(b, "- `%s`: %s\n", f.Rule, prose(oneLine(f.Message)))
	}
}
