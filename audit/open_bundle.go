package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/bundle"
	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

func isBundleFolder(fsys fs.FS, root string) bool {
	sub, err := fs.Sub(fsys, root)
	return err == nil && bundle.IsFolder(sub)
}

// openArchive opens a bundle or archive file.
func openArchive(ctx context.Context, src *Source, in Input, head []byte) []*part {
	r, err := bundle.Open(in.Path, bundle.Limits{})
	if err != nil {
		msg := withPath(in.Path, err)
		if how := compressed(head); how != "" && errors.Is(err, bundle.ErrNotBundle) {
			msg = fmt.Sprintf("%s: %s; there is no tar archive in it", in.Path, how)
		}
		src.failf(Evidence{}, errors.Is(err, io.ErrUnexpectedEOF), "%s", msg)
		return nil
	}
	defer r.Close()
	return openBundle(ctx, src, in, r)
}

// openBundleFolder opens a bundle that is a folder.
func openBundleFolder(ctx context.Context, src *Source, in Input, fsys fs.FS, root string) []*part {
	if in.FS != nil {
		return openBundleFS(ctx, src, in, fsys, nil)
	}
	r, err := bundle.Open(in.Path, bundle.Limits{})
	if err != nil {
		src.failf(Evidence{}, false, "%s", withPath(in.Path, err))
		return nil
	}
	defer r.Close()
	return openBundle(ctx, src, in, r)
}

func openBundle(ctx context.Context, src *Source, in Input, r *bundle.Reader) []*part {
	for _, p := range r.Problems {
		src.fail(Problem{Evidence: Evidence{File: p.Path}, CPU: Total, Truncated: p.Kind == bundle.Missing || p.Kind == bundle.Cut,
			Message: in.Path + ": " + p.String()})
	}
	return openBundleFS(ctx, src, in, r.FS(), r.Manifest)
}

// openBundleFS opens what a bundle holds: the counters of its phases, and the
// texts, pages and ring logs beside them.
func openBundleFS(ctx context.Context, src *Source, in Input, fsys fs.FS, m *bundle.Manifest) []*part {
	src.Kind = KindBundle
	if m == nil {
		return openTracefs(ctx, src, in, fsys, ".")
	}
	src.Kernel, src.Arch = m.Kernel, m.Arch
	for _, n := range m.NotOpened {
		src.Notes = append(src.Notes, fmt.Sprintf("not opened: %s: %s", n.Path, n.Why))
	}
	src.Notes = append(src.Notes, m.Notes...)
	var out []*part
	byName := map[string]*part{}
	for i, ph := range m.Phases {
		if ph.Repeats != "" {
			continue
		}
		last := true
		for _, other := range m.Phases[i+1:] {
			last = last && other.Repeats != ""
		}
		for _, p := range openTracefs(ctx, src, in, fsys, ph.Path) {
			if !last {
				continue // an earlier moment of a buffer that the last phase has
			}
			byName[p.buffer] = p
			out = append(out, p)
			for _, again := range m.Phases {
				if again.Repeats == ph.Name {
					p.second(src, fsys, again.Path)
				}
			}
		}
	}
	return append(out, openBundled(src, in, fsys, m, byName)...)
}

// second reads the counters of a buffer that a phase read again at once.
func (p *part) second(src *Source, fsys fs.FS, dir string) {
	if p.counters == nil || p.inst == nil {
		return
	}
	buffers, err := tracefs.FindBuffers(fsys, dir)
	if err != nil {
		return
	}
	for _, bf := range buffers {
		if name := first(bf.Name, "top"); name != p.buffer {
			continue
		}
		inst, err := tracefs.ReadInstance(fsys, bf.Dir, tracefs.ReadOptions{StatsOnly: true})
		if err != nil {
			return
		}
		if c := instanceCounters(src, inst); c != nil {
			p.counters.second = c.Stats
		}
	}
}

// openBundled opens the captures in a bundle: raw pages, texts and ring logs
// that lie beside the phases.
func openBundled(src *Source, in Input, fsys fs.FS, m *bundle.Manifest, byName map[string]*part) []*part {
	owner := byName["top"]
	if len(byName) == 1 {
		for _, p := range byName {
			owner = p
		}
	}
	var out []*part
	for _, f := range m.Files {
		base := path.Base(f.Path)
		switch {
		case base == "trace_pipe_raw" || isCPUFile(f.Path):
			if p := bundledPages(src, fsys, f.Path, owner); p != nil {
				out = append(out, p)
			}
		case base == "trace_pipe.txt":
			if c, err := readTextFile(src, fsys, f.Path); err == nil && c != nil {
				out = append(out, attach(&part{src: src, captures: []*Capture{c}}, owner))
			}
		case strings.HasSuffix(base, ".jsonl"):
			if p := bundledLog(src, fsys, f.Path); p != nil {
				out = append(out, p)
			}
		case base == "witness.json" && owner != nil:
			owner.openWitness(src, fsys, f.Path)
		}
	}
	return out
}

// attach names the buffer that a capture in a bundle is of.
func attach(p, owner *part) *part {
	if owner != nil {
		p.buffer = owner.buffer
	}
	return p
}

func bundledPages(src *Source, fsys fs.FS, name string, owner *part) *part {
	f, err := fsys.Open(name)
	if err != nil {
		src.fail(Problem{Evidence: Evidence{File: name}, CPU: Total, Unreadable: true, Message: name + ": cannot be opened: " + reasonOf(err)})
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	r, ok := f.(io.ReaderAt)
	if err != nil || !ok {
		src.fail(Problem{Evidence: Evidence{File: name}, CPU: Total, Message: name + ": cannot be read at an offset"})
		return nil
	}
	cpu, told := cpuFileNumber(name)
	if !told {
		cpu, _ = cpuOfPath(name)
	}
	if info.Size() == 0 {
		// No page is what a CPU without events leaves.
		c := &Capture{Source: src, File: name, Kind: KindPages, Consuming: true, CPU: cpu, PerCPU: map[int]*CaptureCPU{cpu: {Whole: true}}}
		return attach(&part{src: src, captures: []*Capture{c}}, owner)
	}
	pin := Input{Path: name}
	if owner != nil && owner.inst != nil {
		pin.page, pin.names = owner.inst.HeaderPage, readEventNames(fsys, owner.inst.Dir)
	}
	layout, how, err := pagesLayout(pin, r, info.Size())
	if err != nil {
		src.fail(Problem{Evidence: Evidence{File: name, Binary: true}, CPU: cpu, Message: name + ": " + err.Error()})
		return nil
	}
	c, err := readPages(src, name, name, r, info.Size(), layout, cpu, pin)
	if err != nil {
		src.fail(Problem{Evidence: Evidence{File: name}, CPU: cpu, Truncated: true, Message: name + ": " + err.Error()})
	}
	if c == nil {
		return nil
	}
	if owner != nil {
		c.setUnit(tracefs.ClockUnit(owner.clock))
	}
	return attach(&part{src: src, captures: []*Capture{c}, geometry: layoutGeometry(layout), geomFrom: how}, owner)
}

func bundledLog(src *Source, fsys fs.FS, name string) *part {
	f, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	sum, err := ringlog.Read(f, name, ringlog.Options{})
	if err != nil {
		src.fail(Problem{Evidence: Evidence{File: name}, CPU: Total, Message: name + ": " + err.Error()})
	}
	if sum == nil {
		return nil
	}
	return ringlogPart(src, name, sum)
}

// openWitness reads the independent count that a capture took beside the ring.
func (p *part) openWitness(src *Source, fsys fs.FS, name string) {
	f, err := fsys.Open(name)
	if err != nil {
		src.fail(Problem{Evidence: Evidence{File: name}, CPU: Total, Unreadable: true, Message: name + ": cannot be read: " + reasonOf(err)})
		return
	}
	defer f.Close()
	w, err := ringlog.DecodeWitness(f, name)
	if err != nil {
		src.fail(Problem{Evidence: Evidence{File: name}, CPU: Total, Message: err.Error()})
		return
	}
	p.witness, p.witnessFile = w, name
	// Only a capture has a witness, and a capture makes its buffer itself; what
	// its own kprobes missed is in the witness.
	p.owned, p.hasProbe = true, true
	for _, h := range w.Probes {
		if h.Profile != nil && slices.ContainsFunc(p.probes, func(have *Probe) bool { return have.Name == h.Profile.Event }) {
			continue // kprobe_profile of the same folder has it
		}
		if pr := witnessProbe(src, name, h); pr != nil {
			p.probes = append(p.probes, pr)
		}
	}
}
