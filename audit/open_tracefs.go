package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
)

// openFolder opens a tracefs folder, live or saved, or a bundle that is one.
func openFolder(ctx context.Context, src *Source, in Input, fsys fs.FS, root string) []*part {
	if in.Type == KindBundle || in.Type == KindAuto && isBundleFolder(fsys, root) {
		return openBundleFolder(ctx, src, in, fsys, root)
	}
	src.Kind = KindTracefs
	return openTracefs(ctx, src, in, fsys, root)
}

// openTracefs opens all buffers of a tracefs folder.
func openTracefs(ctx context.Context, src *Source, in Input, fsys fs.FS, root string) []*part {
	h := newHashingFS(fsys)
	if !in.Live {
		fsys = h
	}
	buffers, err := tracefs.FindBuffers(fsys, root)
	if err != nil {
		src.fail(Problem{CPU: Total, Unreadable: notOpened(err), Message: withPath(in.Path, err)})
		return nil
	}
	var parts []*part
	for _, bf := range buffers {
		if ctx.Err() != nil {
			return parts
		}
		p := openInstance(src, in, fsys, bf)
		if p == nil {
			continue
		}
		parts = append(parts, p)
		if s := openSnapshot(src, in, fsys, p); s != nil {
			parts = append(parts, s)
		}
	}
	if !in.Live {
		src.SHA256 = h.sum()
	}
	return parts
}

// withPath puts the source's path before an error that knows its name within
// the source.
func withPath(name string, err error) string {
	msg := err.Error()
	for _, known := range []string{"./", ".: "} {
		msg = strings.TrimPrefix(msg, known)
	}
	if msg == err.Error() && strings.HasPrefix(msg, name) {
		return msg
	}
	return name + ": " + msg
}

// openInstance reads one instance folder.
func openInstance(src *Source, in Input, fsys fs.FS, bf tracefs.Buffer) *part {
	inst, err := tracefs.ReadInstance(fsys, bf.Dir, tracefs.ReadOptions{})
	if err != nil {
		src.fail(Problem{CPU: Total, Unreadable: notOpened(err), Message: withPath(in.Path, err)})
		return nil
	}
	name := bf.Name
	if name == "" {
		name = "top"
	}
	if m := in.Machine; in.Live {
		src.Kernel, src.Arch = first(src.Kernel, m.Kernel), first(src.Arch, m.Arch)
		if m.Online != nil && !inst.Online.OK {
			inst.Online = tracefs.Field[[]int]{V: m.Online, OK: true}
		}
		if m.Possible != nil && !inst.Possible.OK {
			inst.Possible = tracefs.Field[[]int]{V: m.Possible, OK: true}
		}
	}
	p := &part{src: src, buffer: name, inst: inst, clock: inst.Clock.Current.V, tracer: inst.Tracer.V}
	if k := inst.Kernel(); k.Release.OK && src.Kernel == "" {
		src.Kernel = k.Release.V
		src.Arch = k.Machine.V
	}
	p.counters = instanceCounters(src, inst)
	if in.Live && p.counters != nil {
		// A live buffer is read twice: what differs was moving.
		if again, err := tracefs.ReadInstance(fsys, bf.Dir, tracefs.ReadOptions{StatsOnly: true}); err == nil {
			if c := instanceCounters(src, again); c != nil {
				p.counters.second = c.Stats
			}
		}
	}
	instanceProblems(src, name, inst)
	if inst.HeaderPage != nil {
		var page uint64
		if inst.PageSize.OK && inst.PageSize.V > 0 {
			page = uint64(inst.PageSize.V)
		}
		if g, ok := GeometryOf(inst.HeaderPage, page); ok {
			p.geometry, p.geomFrom = g, "events/header_page"
		}
	}
	p.lastBoot = inst.LastBoot != nil && !(inst.LastBoot.Current.OK && inst.LastBoot.Current.V)
	openProbes(src, p, inst)
	openOwnViews(src, in, fsys, p, inst)
	missingCPUs(src, p)
	return p
}

// missingCPUs reports the CPUs that were online, or that the text shows, and of
// which the folder has no counters.
func missingCPUs(src *Source, p *part) {
	if len(p.inst.CPUs) == 0 {
		return
	}
	missing := map[int]string{}
	if p.inst.Online.OK {
		for _, cpu := range p.inst.Online.V {
			missing[cpu] = "it was online"
		}
	}
	for _, v := range p.views {
		for cpu, c := range v.PerCPU {
			if c.Records > 0 {
				missing[cpu] = v.File + " shows events of it"
			}
		}
	}
	for _, c := range p.inst.CPUs {
		delete(missing, c.ID)
	}
	for _, cpu := range slices.Sorted(maps.Keys(missing)) {
		name := path.Join(p.inst.Dir, "per_cpu", fmt.Sprintf("cpu%d", cpu), "stats")
		src.fail(Problem{Evidence: Evidence{File: name}, Buffer: p.buffer, CPU: cpu, Message: fmt.Sprintf("%s: not there, and %s: its counters are missing; copy the whole per_cpu folder", name, missing[cpu])})
	}
	for _, v := range p.views {
		if h := v.Header; h != nil && h.Online > len(p.inst.CPUs) && len(missing) == 0 {
			src.fail(Problem{Evidence: v.evidence(h.Line, h.Text), Buffer: p.buffer, CPU: Total,
				Message: fmt.Sprintf("%s: %d CPUs were online, and per_cpu has %d: the counters of the others are missing; copy the whole per_cpu folder", v.File, h.Online, len(p.inst.CPUs))})
		}
	}
}

// instanceCounters are the stats files of an instance; nil if it has none.
func instanceCounters(src *Source, inst *tracefs.Instance) *Counters {
	c := &Counters{Source: src, Stats: map[int]*tracefs.Stats{}}
	for _, cpu := range inst.CPUs {
		if cpu.Stats != nil {
			c.Stats[cpu.ID] = cpu.Stats
		}
	}
	if len(c.Stats) == 0 {
		return nil
	}
	c.place = func(cpu, line int, text string) Evidence {
		ev := Evidence{Source: src.ID, Line: line, Text: text}
		if st := c.Stats[cpu]; st != nil {
			ev.File = st.File
		}
		return ev
	}
	return c
}

// essential tells whether a file of an instance can change the answer.
func essential(file string) bool {
	base := path.Base(file)
	switch base {
	case "stats", "per_cpu", "header_page", "trace", "kprobe_profile", "overwrite", "trace_options", "instances":
		return true
	}
	return strings.HasPrefix(base, "cpu") && path.Base(path.Dir(file)) == "per_cpu"
}

// instanceProblems takes over what could not be read of an instance.
func instanceProblems(src *Source, buffer string, inst *tracefs.Instance) {
	for _, err := range inst.Problems {
		p := Problem{Message: err.Error(), Buffer: buffer, CPU: Total}
		var se *tracefs.SyntaxError
		var fe *tracefs.FileError
		var ff *tracefs.FormatError
		file := ""
		switch {
		case errors.As(err, &se):
			file = se.File
			p.Evidence = Evidence{File: se.File, Line: se.Line, Text: se.Found}
		case errors.As(err, &fe):
			file = fe.File
			p.Evidence, p.Unreadable = Evidence{File: fe.File}, notOpened(err)
			if errors.Is(err, tracefs.ErrRefused) || !essential(file) {
				src.Notes = append(src.Notes, fmt.Sprintf("not read: %s: %s", fe.File, reasonOf(fe.Err)))
				continue
			}
		case errors.As(err, &ff):
			file = ff.File
			p.Evidence = Evidence{File: ff.File, Text: ff.Found}
			p.Truncated = ff.Found == ""
		}
		p.Harmless = !essential(file)
		if cpu, ok := cpuOfPath(file); ok {
			p.CPU = cpu
		}
		src.fail(p)
	}
	for _, cpu := range inst.CPUs {
		if cpu.Stats != nil {
			if lacks := lackingLines(cpu.Stats); lacks != "" {
				src.fail(Problem{Evidence: Evidence{File: cpu.Stats.File}, Buffer: buffer, CPU: cpu.ID, Truncated: true, Message: cpu.Stats.File + ": " + lacks})
			}
			if cpu.Stats.Cut {
				src.fail(Problem{Evidence: Evidence{File: cpu.Stats.File}, Buffer: buffer, CPU: cpu.ID, Truncated: true, Harmless: len(cpu.Stats.Errors) == 0,
					Message: fmt.Sprintf("%s: the last line has no end: the file is cut off", cpu.Stats.File)})
			}
			continue
		}
		if !reported(src, path.Join(cpu.Dir, "stats")) {
			src.fail(Problem{Evidence: Evidence{File: path.Join(cpu.Dir, "stats")}, Buffer: buffer, CPU: cpu.ID,
				Message: fmt.Sprintf("%s: not there: the counters of cpu %d are missing; copy it as well", path.Join(cpu.Dir, "stats"), cpu.ID)})
		}
	}
}

// lackingLines says which counters a stats file does not have at all; empty if it
// has all. A line that is there and wrong is an error of its own.
func lackingLines(st *tracefs.Stats) string {
	if len(st.Errors) > 0 {
		return ""
	}
	var lacks []string
	for _, c := range []struct {
		name string
		f    tracefs.Field[int64]
	}{{"entries", st.Entries}, {"overrun", st.Overrun}, {"commit overrun", st.CommitOverrun}, {"dropped events", st.Dropped}, {"read events", st.Read}} {
		if !c.f.OK {
			lacks = append(lacks, fmt.Sprintf("%q", c.name))
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return fmt.Sprintf("no line %s: the file ends too early, or is of a kernel before 3.5; copy it again with cat", strings.Join(lacks, ", "))
}

func reported(src *Source, file string) bool {
	for _, p := range src.Problems {
		if p.Evidence.File == file {
			return true
		}
	}
	return false
}

// statsProblems takes over what is wrong with a stats file that is a source of
// its own.
func statsProblems(src *Source, st *tracefs.Stats, cpu int) {
	for _, e := range st.Errors {
		src.fail(Problem{Evidence: Evidence{Line: e.Line, Text: e.Found}, CPU: cpu, Truncated: st.Cut, Message: e.Error()})
	}
	if lacks := lackingLines(st); lacks != "" {
		src.fail(Problem{CPU: cpu, Truncated: true, Message: st.File + ": " + lacks})
	}
	if st.Cut && len(st.Errors) == 0 {
		src.fail(Problem{CPU: cpu, Truncated: true, Harmless: true, Message: st.File + ": the last line has no end: the file may be cut off"})
	}
}

// openOwnViews reads the `trace` of a folder as evidence about its buffer: its
// header, and how many records it shows.
func openOwnViews(src *Source, in Input, fsys fs.FS, p *part, inst *tracefs.Instance) {
	if inst.Files.Trace == "" {
		return
	}
	c, err := readTextFile(src, fsys, inst.Files.Trace)
	switch {
	case errors.Is(err, tracefs.ErrRefused):
		src.Notes = append(src.Notes, err.Error())
	case err != nil:
		src.fail(Problem{Evidence: Evidence{File: inst.Files.Trace}, Buffer: p.buffer, CPU: Total, Unreadable: notOpened(err), Message: err.Error()})
	case c != nil:
		p.views = append(p.views, c)
	}
}

// openSnapshot makes a buffer of the snapshot of an instance, if it holds one.
func openSnapshot(src *Source, in Input, fsys fs.FS, of *part) *part {
	if of.inst == nil || of.inst.Files.Snapshot == "" {
		return nil
	}
	c, err := readTextFile(src, fsys, of.inst.Files.Snapshot)
	switch {
	case errors.Is(err, tracefs.ErrRefused):
		src.Notes = append(src.Notes, err.Error())
		return nil
	case err != nil:
		src.fail(Problem{Evidence: Evidence{File: of.inst.Files.Snapshot}, Buffer: of.buffer, CPU: Total, Unreadable: notOpened(err), Harmless: true, Message: err.Error()})
		return nil
	case c == nil || c.Section.Snapshot != "" || c.Header == nil:
		return nil
	}
	name := "snapshot"
	if of.buffer != "top" {
		name = of.buffer + "/snapshot"
	}
	return &part{src: src, buffer: name, snapshot: true, views: []*Capture{c}, clock: of.clock, tracer: c.Tracer(),
		geometry: of.geometry, geomFrom: of.geomFrom}
}
