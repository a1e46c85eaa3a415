package audit

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
)

// assemble gathers the parts of all sources into buffers.
//
// Folders and trace.dat files name their buffers. What names none (a text, raw
// pages, a stats file) belongs to the buffer that the user tied it to, else to
// the one whose folder it lies in, else to the only one that it fits. What fits
// none is a buffer of its own, reported apart and never settled with others.
func (a *Audit) assemble(parts, before []*part) error {
	if err := renameTied(parts); err != nil {
		return err
	}
	var anonymous []*part
	for _, p := range parts {
		switch {
		case p.tie == "" && p.buffer != "":
			a.addNamed(p)
		default:
			anonymous = append(anonymous, p)
		}
	}
	folders := slices.Clone(a.Buffers)
	for _, p := range anonymous {
		if err := a.addAnonymous(p, folders); err != nil {
			return err
		}
	}
	for _, b := range a.Buffers {
		if b.Kind == BufferSnapshot {
			b.Of = a.find(strings.TrimSuffix(strings.TrimSuffix(b.Name, "snapshot"), "/"), b.Sources[0])
		}
	}
	if err := a.selectInstances(); err != nil {
		return err
	}
	if err := a.tieBefore(before); err != nil {
		return err
	}
	for _, p := range parts {
		if p.ring != nil {
			a.logs = append(a.logs, p.ring)
		}
	}
	a.gatherProbes(parts)
	a.subtractProbes(before)
	known := slices.ContainsFunc(parts, func(p *part) bool { return p.hasProbe }) && !slices.ContainsFunc(a.Probes, func(p *Probe) bool {
		return p.Kind != "uprobe" && !p.Missed.Exact() // its column leaves misses out
	})
	for _, b := range a.Buffers {
		b.ProbesKnown = known
		b.FlightRecorder = a.Options.FlightRecorder || slices.Contains(a.Options.Policy.FlightRecorder, b.Name) || slices.Contains(a.Options.Policy.FlightRecorder, "*")
	}
	return a.tieAttempted()
}

// renameTied gives a folder or a trace.dat that the user tied to a buffer that
// buffer's name.
func renameTied(parts []*part) error {
	buffers := map[*Source]int{}
	for _, p := range parts {
		if !p.snapshot {
			buffers[p.src]++
		}
	}
	for _, p := range parts {
		if p.tie == "" || p.inst == nil && !p.snapshot && p.src.Kind != KindTraceDat {
			continue
		}
		if buffers[p.src] > 1 {
			return usagef("%s=%s: it has %d buffers of its own, which a name cannot be given to", p.tie, p.path, buffers[p.src])
		}
		p.buffer, p.tie = p.tie, ""
		if p.snapshot {
			p.buffer = snapshotName(p.buffer)
		}
	}
	return nil
}

// find is the buffer of a name that a source speaks of ("" is "top").
func (a *Audit) find(name string, src *Source) *Buffer {
	if name == "" {
		name = "top"
	}
	for _, b := range a.Buffers {
		if b.Name == name && slices.Contains(b.Sources, src) {
			return b
		}
	}
	return nil
}

// addNamed adds a part that knows its buffer's name: to the buffer of that name,
// if it can be the same run, else as a further buffer that bears the source's
// path in its name.
func (a *Audit) addNamed(p *part) {
	why := ""
	for _, b := range a.Buffers {
		if b.baseName() != p.buffer || b.Kind != p.kind() {
			continue
		}
		w := b.fits(p)
		if b.ring != nil {
			w = "each log is of its own recording"
		}
		if w == "" {
			b.take(p)
			return
		}
		if p.kind() != BufferSnapshot {
			why = fmt.Sprintf("it cannot be of the same run as %s of %s: %s", b.Name, b.Sources[0].Path, w)
		}
	}
	name := p.buffer
	if a.hasName(name) {
		name = p.buffer + "@" + filepath.Base(filepath.ToSlash(p.src.Path))
	}
	if a.hasName(name) {
		name = p.buffer + "@" + p.src.Path
	}
	a.newBuffer(name, p).Apart = why
}

func (a *Audit) hasName(name string) bool {
	return slices.ContainsFunc(a.Buffers, func(b *Buffer) bool { return b.Name == name })
}

func (a *Audit) newBuffer(name string, p *part) *Buffer {
	b := &Buffer{Name: name, Kind: p.kind(), base: p.buffer}
	a.Buffers = append(a.Buffers, b)
	b.take(p)
	return b
}

func (p *part) kind() BufferKind {
	switch {
	case p.snapshot:
		return BufferSnapshot
	case p.ring != nil:
		return BufferBPF
	}
	return BufferRing
}

// snapshotName is how the snapshot of a buffer is called.
func snapshotName(of string) string {
	if of == "top" {
		return "snapshot"
	}
	return of + "/snapshot"
}

// addSnapshot adds the file of a snapshot: to the snapshot of the folder that it
// lies in, else as a buffer of its own.
func (a *Audit) addSnapshot(p *part) {
	name := filepath.Base(filepath.ToSlash(p.path))
	if inside := insideOf(p, a.Buffers); inside != nil {
		name = snapshotName(inside.Name)
	}
	for _, b := range a.Buffers {
		if b.Name == name && b.Kind == BufferSnapshot {
			b.take(p)
			return
		}
	}
	if a.hasName(name) {
		name = p.path
	}
	a.newBuffer(name, p)
}

// addAnonymous adds a part that does not know its buffer.
func (a *Audit) addAnonymous(p *part, folders []*Buffer) error {
	if p.snapshot && p.tie == "" {
		a.addSnapshot(p)
		return nil
	}
	if p.tie != "" {
		for _, b := range a.Buffers {
			if b.Name == p.tie || b.baseName() == p.tie {
				b.take(p)
				return nil
			}
		}
		if len(folders) > 0 {
			return usagef("%s=%s: no buffer of that name among the sources; there are %s", p.tie, p.path, strings.Join(a.names(), ", "))
		}
		p.buffer = p.tie
		a.newBuffer(p.tie, p)
		return nil
	}
	candidates := a.Buffers
	if inside := insideOf(p, a.Buffers); inside != nil {
		candidates = []*Buffer{inside}
	}
	var fit []*Buffer
	var why string
	for _, b := range candidates {
		if b.Kind != BufferRing {
			continue
		}
		if w := b.fits(p); w != "" {
			why = fmt.Sprintf("it cannot be of buffer %s: %s", b.Name, w)
			continue
		}
		fit = append(fit, b)
	}
	switch {
	case len(fit) == 1:
		fit[0].take(p)
		return nil
	case len(fit) > 1:
		var names []string
		for _, b := range fit {
			names = append(names, b.Name)
		}
		why = fmt.Sprintf("it may be of any of the buffers %s: tie it to one as %s=%s", strings.Join(names, ", "), names[0], p.path)
	}
	name := filepath.Base(filepath.ToSlash(p.path))
	if a.hasName(name) {
		name = p.path
	}
	b := a.newBuffer(name, p)
	b.Named = true
	if why != "" {
		b.Apart = why
	}
	return nil
}

// insideOf is the buffer whose folder the part's path lies in, the deepest.
func insideOf(p *part, buffers []*Buffer) *Buffer {
	var found *Buffer
	var depth int
	for _, b := range buffers {
		dir := b.folder
		if dir == "" || b.Kind != BufferRing {
			continue
		}
		rel, err := filepath.Rel(dir, p.path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		if found == nil || len(dir) > depth {
			found, depth = b, len(dir)
		}
	}
	return found
}

func (a *Audit) names() []string {
	var names []string
	for _, b := range a.Buffers {
		names = append(names, b.Name)
	}
	return names
}

// baseName is the buffer's name without the path that tells it from another.
func (b *Buffer) baseName() string {
	if b.base != "" {
		return b.base
	}
	return b.Name
}

// take adds what a part says to the buffer.
func (b *Buffer) take(p *part) {
	p.owner = b
	b.addSource(p.src)
	if len(p.captures) > 0 {
		b.Named = true
	}
	if p.counters != nil {
		b.addCounters(p.counters)
	}
	// The settings go with the counters that the ledger is made of.
	if p.inst != nil && (b.Instance == nil || p.counters != nil && b.Counters == p.counters) {
		b.Instance, b.source = p.inst, p.src
		b.folder = filepath.Join(p.path, filepath.FromSlash(p.inst.Dir))
	}
	b.ownViews = append(b.ownViews, p.views...)
	for _, c := range p.captures {
		if same := b.sameCapture(c); same != nil {
			c.Source.Notes = append(c.Source.Notes, fmt.Sprintf("the same bytes as %s, which were used: counted once", same.Source.ID))
			continue
		}
		b.Captures = append(b.Captures, c)
	}
	if b.Geometry == (Geometry{}) {
		b.Geometry, b.GeometrySource = p.geometry, p.geomFrom
	}
	b.Clock = first(b.Clock, p.clock)
	b.Tracer = first(b.Tracer, p.tracer)
	b.Kernel = first(b.Kernel, p.src.Kernel)
	b.Arch = first(b.Arch, p.src.Arch)
	b.LastBoot = b.LastBoot || p.lastBoot
	b.Owned = b.Owned || p.owned
	if p.witness != nil {
		b.witness, b.witnessSource, b.witnessFile = p.witness, p.src, p.witnessFile
	}
	if p.ring != nil {
		b.ring = p.ring
		p.ring.buffer = b.Name
	}
	if len(b.Captures) > 0 && b.Tracer == "" {
		b.Tracer = b.Captures[0].Tracer()
	}
}

// sameCapture is a capture of another source with the very bytes of c; nil if
// there is none.
func (b *Buffer) sameCapture(c *Capture) *Capture {
	for _, other := range b.Captures {
		if c.Source != other.Source && c.Source.SHA256 != "" && c.Source.SHA256 == other.Source.SHA256 && c.Kind == other.Kind && c.CPU == other.CPU &&
			(c.Section == nil) == (other.Section == nil) && (c.Section == nil || c.Section.Line == other.Section.Line) {
			return other
		}
	}
	return nil
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// addCounters takes counters of a moment. Of several, the latest make the
// ledger, and the others are phases.
func (b *Buffer) addCounters(c *Counters) {
	if b.Counters == nil {
		b.Counters = c
		return
	}
	// Stats files of single CPUs are parts of one moment.
	if c.Source.Kind == KindStats && b.Counters.Source.Kind == KindStats && disjoint(c, b.Counters) {
		for cpu, st := range c.Stats {
			b.Counters.join(cpu, st, c)
		}
		return
	}
	if later(c, b.Counters) {
		b.Phases = append(b.Phases, b.Counters)
		b.Counters = c
		return
	}
	b.Phases = append(b.Phases, c)
}

func disjoint(a, b *Counters) bool {
	for cpu := range a.Stats {
		if b.Stats[cpu] != nil {
			return false
		}
	}
	return true
}

// join adds a CPU of other counters, with its own evidence.
func (c *Counters) join(cpu int, st *tracefs.Stats, from *Counters) {
	c.Stats[cpu] = st
	own := c.place
	c.place = func(n, line int, text string) Evidence {
		if n == cpu {
			return from.place(n, line, text)
		}
		return own(n, line, text)
	}
}

// later tells whether counters a were read after b, by the clock in them.
func later(a, b *Counters) bool {
	for cpu, sa := range a.Stats {
		sb := b.Stats[cpu]
		if sb == nil || !sa.Now.OK || !sb.Now.OK || sa.Now.V.Unit != sb.Now.V.Unit {
			continue
		}
		return sa.Now.V.Value > sb.Now.V.Value
	}
	return false
}
