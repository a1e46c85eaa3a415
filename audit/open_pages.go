package audit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/subbuf"
	"github.com/ringaudit/ringaudit/tracefs/tracedat"
)

func parseCPU(s string) (int, error) {
	cpu, err := strconv.Atoi(s)
	if err == nil && (cpu < 0 || cpu >= tracefs.MaxCPUs) {
		err = fmt.Errorf("%s is no CPU", s)
	}
	return cpu, err
}

// cpuFileNumber is the N of a killed recorder's page file, OUT.cpuN or
// OUT.INSTANCE.cpuN.
func cpuFileNumber(name string) (int, bool) {
	base := filepath.Base(filepath.ToSlash(name))
	i := strings.LastIndex(base, ".cpu")
	if i < 0 {
		return 0, false
	}
	cpu, err := parseCPU(base[i+len(".cpu"):])
	return cpu, err == nil
}

// openPages opens a file of raw sub-buffers of one CPU.
func openPages(src *Source, in Input, r io.ReaderAt, size int64) []*part {
	cpu, told := cpuFileNumber(in.Path)
	if !told {
		cpu, told = cpuOfPath(in.Path)
	}
	if !told {
		src.Notes = append(src.Notes, "the path does not tell the CPU of these pages; they are shown as cpu 0")
	}
	layout, how, err := pagesLayout(in, r, size)
	if err != nil {
		src.failf(Evidence{Binary: true}, false, "%s: %s; expected %s", in.Path, err, expectedKinds)
		return nil
	}
	c, err := readPages(src, "", in.Path, r, size, layout, cpu, in)
	if err != nil {
		src.failf(Evidence{}, true, "%s: %s", in.Path, err)
	}
	if c == nil {
		return nil
	}
	src.Notes = append(src.Notes, "layout: "+layout.String()+", "+how)
	return []*part{{src: src, captures: []*Capture{c}, geometry: layoutGeometry(layout), geomFrom: how, clock: clockNear(in.Path)}}
}

// clockNear is the trace clock of the tracefs folder that a file lies in; empty
// where no such file is near.
func clockNear(name string) string {
	dir := filepath.Dir(name)
	for range 3 {
		if f, err := os.Open(filepath.Join(dir, "trace_clock")); err == nil {
			clock, err := tracefs.ParseClock(f, "trace_clock")
			f.Close()
			if err != nil {
				return ""
			}
			return clock.Current.V
		}
		dir = filepath.Join(dir, "..")
	}
	return ""
}

// pagesLayout is the layout of raw pages: that of the header_page of the folder
// that they lie in, else what the pages themselves show.
func pagesLayout(in Input, r io.ReaderAt, size int64) (subbuf.Layout, string, error) {
	head := make([]byte, min(size, subbuf.InferPrefix))
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return subbuf.Layout{}, "", err
	}
	layout, inf, err := subbuf.InferLayout(head[:n])
	if given, from, ok := headerPageNear(in); ok {
		// header_page does not tell the byte order; the pages do.
		l := subbuf.NewLayout(binary.LittleEndian, given.LongSize(), int(given.SubbufSize()))
		if err == nil {
			l.Order = layout.Order
		}
		if fit := subbuf.Fit(head[:n], l); fit.Valid > 0 || errors.Is(err, subbuf.ErrNoRecords) {
			return l, "from " + from, nil
		}
	}
	if err != nil {
		return subbuf.Layout{}, "", err
	}
	return layout, inf.String(), nil
}

// layoutGeometry is what a layout tells of the geometry.
func layoutGeometry(l subbuf.Layout) Geometry {
	return Geometry{HeaderBytes: uint64(l.HeaderBytes), SubbufBytes: uint64(l.SubbufBytes), UsableBytes: uint64(l.Capacity()), LongBytes: uint64(l.LongBytes)}
}

// readPages summarizes a stream of raw sub-buffers.
func readPages(src *Source, file, name string, r io.ReaderAt, size int64, l subbuf.Layout, cpu int, in Input) (*Capture, error) {
	sum, err := subbuf.SummarizeAt(r, size, l, subbuf.Options{})
	if sum == nil {
		return nil, err
	}
	c := &Capture{Source: src, File: file, Kind: KindPages, Consuming: !strings.Contains(filepath.Base(name), "snapshot"), CPU: cpu, PerCPU: map[int]*CaptureCPU{}}
	p := pagesCPU(src, file, sum, tracefs.UnitUnknown)
	p.named(sum, in.names.name)
	c.PerCPU[cpu] = p
	for i := range sum.Damage {
		d := &sum.Damage[i]
		src.fail(Problem{Evidence: Evidence{File: file, Offset: d.Offset + int64(d.At), Binary: true}, CPU: cpu, Truncated: d.Kind == subbuf.PageCut,
			Message: fmt.Sprintf("%s: cpu %d: %s", name, cpu, d.Error())})
	}
	c.Cut = sum.TailBytes > 0
	return c, err
}

// pagesCPU takes over the summary of a stream of sub-buffers.
func pagesCPU(src *Source, file string, sum *subbuf.Summary, unit tracefs.Unit) *CaptureCPU {
	p := &CaptureCPU{
		Records: sum.Records, Bytes: sum.Bytes, KnownLost: sum.Lost, KnownMarks: sum.HolesTotal - sum.HolesUnknown, UnknownMarks: sum.HolesUnknown,
		TimeBack: sum.TimeBackTotal, Damaged: sum.DamageTotal, Whole: sum.DamageTotal == 0, unit: unit,
		gapMedian: sum.MedianGap,
	}
	stamp := func(v uint64) *tracefs.Stamp { return &tracefs.Stamp{Value: v, Unit: unit} }
	if sum.Records > 0 {
		p.First, p.Last = stamp(sum.First), stamp(sum.Last)
		p.FirstAt = Evidence{Source: src.ID, File: file, Binary: true, Text: fmt.Sprintf("first record: %v", p.First)}
	}
	if len(sum.TimeBack) > 0 {
		t := sum.TimeBack[0]
		p.TimeBackAt = Evidence{Source: src.ID, File: file, Offset: t.Offset, Binary: true, Text: t.String()}
	}
	var listed uint64
	for _, h := range sum.Holes {
		hole := Hole{Kind: HoleOverwritten, Events: AtLeast(max(h.Count, 1)), Counted: h.Known,
			Evidence: Evidence{Source: src.ID, File: file, Offset: h.Offset, Binary: true, Text: fmt.Sprintf("sub-buffer %d: %s", h.Page, markWords(h))}}
		if h.Known {
			hole.Events = Exactly(h.Count)
		}
		if h.HasAfter {
			hole.After = stamp(h.After)
		}
		hole.Before = stamp(h.Before)
		p.Holes = append(p.Holes, hole)
		listed += h.Holes
	}
	p.HolesJoined = sum.HolesPerEntry > 1
	p.fills = sum.Fills
	p.file = file
	return p
}

func markWords(h subbuf.Hole) string {
	switch {
	case h.Holes > 1:
		return fmt.Sprintf("%d holes, at least %d events", h.Holes, h.Count)
	case h.Known:
		return fmt.Sprintf("events lost before it: %d", h.Count)
	}
	return "events lost before it, number not stored"
}

// named counts the records by event.
func (p *CaptureCPU) named(sum *subbuf.Summary, name func(uint16) string) {
	for _, id := range sum.ByID {
		p.Events = append(p.Events, EventCount{ID: int(id.ID), Name: name(id.ID), Count: id.Records, Bytes: id.Bytes})
	}
}

// openTraceDat opens a trace.dat file.
func openTraceDat(ctx context.Context, src *Source, in Input, r io.ReaderAt, size int64) []*part {
	f, err := tracedat.Open(r, size, in.Path)
	if err != nil {
		src.failf(Evidence{Binary: true}, size < 64, "%s", withPath(in.Path, err))
		return nil
	}
	if w := strings.Fields(f.Uname); len(w) >= 3 {
		src.Kernel = w[2]
		src.Arch = w[len(w)-1]
	}
	src.Notes = append(src.Notes, fmt.Sprintf("trace.dat version %d, %s", f.Version, datWriter(f)))
	for _, n := range f.Notes {
		src.Notes = append(src.Notes, n.String())
	}
	for _, p := range f.Problems {
		datProblem(src, in.Path, p)
	}
	sums, err := f.Summarize(ctx, tracedat.Options{})
	if err != nil {
		return nil
	}
	parts := map[*tracedat.Buffer]*part{}
	var out []*part
	for _, b := range f.Buffers {
		p := datBuffer(src, in, f, b)
		parts[b] = p
		out = append(out, p)
	}
	for _, s := range sums {
		p := parts[s.Buffer()]
		c := p.captures[0]
		unit, _ := s.Buffer().Unit()
		if s.Summary != nil {
			cpu := pagesCPU(src, "", s.Summary, unit)
			cpu.FirstAt.Offset = s.Data.Offset
			cpu.named(s.Summary, f.EventName)
			if have := c.PerCPU[s.Data.CPU]; have != nil {
				continue // a CPU twice in the table is a problem that is reported
			}
			c.PerCPU[s.Data.CPU] = cpu
		}
		for _, pr := range s.Problems {
			datProblem(src, in.Path, pr)
			if cpu := c.PerCPU[s.Data.CPU]; cpu != nil {
				cpu.Damaged++
				cpu.Whole = false
			}
		}
	}
	return dropUnusedTop(out)
}

func datWriter(f *tracedat.File) string {
	w := "written by trace-cmd"
	if f.Recorder != "" {
		w += " " + f.Recorder
	}
	if f.Compression != "" && f.Compression != "none" {
		w += ", compressed with " + f.Compression
	}
	return w
}

func datProblem(src *Source, name string, p tracedat.Problem) {
	cpu := Total
	if p.HasCPU {
		cpu = p.CPU
	}
	src.fail(Problem{Evidence: Evidence{Offset: p.Offset, Binary: true, Text: p.Section}, Buffer: datName(p.Buffer), CPU: cpu,
		Truncated: p.Kind == tracedat.Truncated, Message: name + ": " + p.String()})
}

func datName(name string) string {
	if name == "" {
		return "top"
	}
	return name
}

// datBuffer makes a part of one buffer of a trace.dat.
func datBuffer(src *Source, in Input, f *tracedat.File, b *tracedat.Buffer) *part {
	p := &part{src: src, buffer: datName(b.Name), geometry: layoutGeometry(b.Layout), geomFrom: "the header_page in the file", clock: b.Clock}
	if b.LayoutInferred != "" {
		p.geomFrom = b.LayoutInferred
	}
	if b.ClockConflict() {
		src.Notes = append(src.Notes, fmt.Sprintf("buffer %s: the file names the clock %s, but its stamps are not of that clock", p.buffer, b.Clock))
		p.clock = ""
	}
	p.lastBoot = b.LastBoot != ""
	if b.HasText() {
		src.Notes = append(src.Notes, fmt.Sprintf("buffer %s was recorded as text (a latency tracer's), not as pages", p.buffer))
		sum, err := tracefs.SummarizeText(b.Text(), in.Path, tracefs.TextOptions{})
		if err != nil {
			src.failf(Evidence{Offset: b.Offset, Binary: true}, true, "%s: %s", in.Path, err)
		}
		if sum != nil {
			p.captures = textCaptures(src, "", sum)
		}
	}
	if len(p.captures) == 0 {
		p.captures = []*Capture{{Source: src, Kind: KindTraceDat, Consuming: true, CPU: Total, PerCPU: map[int]*CaptureCPU{}}}
	}
	if len(b.Stats) > 0 {
		p.counters = &Counters{Source: src, Stats: map[int]*tracefs.Stats{}}
		for cpu, st := range b.Stats {
			p.counters.Stats[cpu] = st.Stats
			if c := p.captures[0]; c.Section == nil && c.PerCPU[cpu] == nil && cpu >= 0 {
				c.PerCPU[cpu] = nil
			}
		}
		clearNil(p.captures[0].PerCPU)
		p.counters.place = func(cpu, line int, text string) Evidence {
			ev := Evidence{Source: src.ID, Line: line, Text: text, File: fmt.Sprintf("CPUSTAT of cpu %d", cpu)}
			if st := b.Stats[cpu]; st != nil {
				ev.Offset, ev.Binary = st.Offset, true
			}
			return ev
		}
	}
	return p
}

func clearNil(m map[int]*CaptureCPU) {
	for k, v := range m {
		if v == nil {
			delete(m, k)
		}
	}
}

// dropUnusedTop leaves the top buffer out where only instances were recorded:
// the file then has it with no data and no counters.
func dropUnusedTop(parts []*part) []*part {
	if len(parts) < 2 {
		return parts
	}
	var out []*part
	for _, p := range parts {
		if p.buffer == "top" && p.counters == nil && p.captures[0].Records() == 0 && p.captures[0].empty() {
			continue
		}
		out = append(out, p)
	}
	return out
}

// empty tells whether the capture has no record, mark or damage.
func (c *Capture) empty() bool {
	for _, p := range c.PerCPU {
		if p.Records+p.KnownLost+p.UnknownMarks+p.Damaged > 0 {
			return false
		}
	}
	return c.NoCPU == 0
}

// headerPageNear finds the header_page for raw pages: the one given, or that of
// the tracefs folder that the file lies in.
func headerPageNear(in Input) (*tracefs.HeaderPage, string, bool) {
	if in.page != nil {
		return in.page, "events/header_page", in.page.SubbufSize() > 0
	}
	dir := filepath.Dir(in.Path)
	for range 3 {
		name := filepath.Join(dir, "events", "header_page")
		if f, err := os.Open(name); err == nil {
			h, err := tracefs.ParseHeaderPage(f, name)
			f.Close()
			return h, "events/header_page of its folder", err == nil && h.SubbufSize() > 0
		}
		dir = filepath.Join(dir, "..")
	}
	return nil, "", false
}
