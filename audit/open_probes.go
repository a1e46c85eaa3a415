package audit

import (
	"slices"

	"github.com/ringaudit/ringaudit/tracefs"
)

// openProbes takes the kprobes of an instance folder: kprobe_profile for hits
// and misses, kprobe_events for what they are.
func openProbes(src *Source, p *part, inst *tracefs.Instance) {
	p.hasProbe = inst.KprobeProfile.Present
	defined := map[string]tracefs.Probe{}
	for _, list := range [][]tracefs.Probe{inst.Kprobes.List, inst.DynamicEvents.List} {
		for _, d := range list {
			if _, ok := defined[d.Event]; !ok {
				defined[d.Event] = d
			}
		}
	}
	for _, h := range inst.KprobeProfile.List {
		pr := &Probe{Name: h.Event, Kind: "kprobe", Source: src, Hits: Unknown(), Missed: Unknown()}
		for _, f := range []struct {
			from tracefs.Field[uint64]
			to   *Count
		}{{h.Hits, &pr.Hits}, {h.Misses, &pr.Missed}} {
			if f.from.OK {
				*f.to = Exactly(f.from.V)
			}
		}
		if h.Hits.OK {
			pr.Evidence = append(pr.Evidence, Evidence{Source: src.ID, File: h.Hits.File, Line: h.Hits.Line, Text: h.Hits.Text})
		}
		if d, ok := defined[h.Event]; ok {
			pr.describe(d, src)
		}
		if pr.Kind == "kretprobe" {
			pr.judgeMisses(inst.Kernel())
		}
		p.probes = append(p.probes, pr)
	}
	for _, h := range inst.UprobeProfile.List {
		pr := &Probe{Name: h.Event, Kind: "uprobe", Target: h.Binary, Source: src, Hits: Unknown(), Missed: Unknown(),
			MissMeaning: "uprobe_profile has no column for misses"}
		if h.Hits.OK {
			// Up to the 6.8 tree the counter is shared and not atomic: a floor.
			pr.Hits = AtLeast(h.Hits.V)
			pr.Evidence = append(pr.Evidence, Evidence{Source: src.ID, File: h.Hits.File, Line: h.Hits.Line, Text: h.Hits.Text})
		}
		p.probes = append(p.probes, pr)
	}
}

// describe takes what the definition of a probe tells.
func (p *Probe) describe(d tracefs.Probe, src *Source) {
	p.Kind = string(d.Kind)
	p.Target = d.Target
	if d.MaxActive.OK && d.MaxActive.V >= 0 {
		n := uint64(d.MaxActive.V)
		p.Maxactive = &n
	}
	p.Evidence = append(p.Evidence, Evidence{Source: src.ID, File: d.File, Line: d.Line, Text: d.Text})
	if d.AutoNamed() && d.Kind == tracefs.Kretprobe {
		p.MissMeaning = "its name is made up by the kernel: on 4.4 and 4.9 a maxactive before the name swallows both, and the probe has the default"
	}
}

// judgeMisses says what the miss column of a kretprobe means on this kernel: up
// to the 5.8 tree it leaves exhausted instances out (kernel/trace/trace_kprobe.c:
// probes_profile_seq_show), from 5.10.262 on it has them.
func (p *Probe) judgeMisses(k tracefs.Kernel) {
	major, minor, _, ok := k.Numbers()
	switch {
	case !ok:
		p.Missed = AtLeast(p.Missed.Lo)
		p.MissMeaning = "the kernel is not known: up to 5.8 the miss column leaves out returns that found no free instance"
	case major < 5 || major == 5 && minor < 10:
		p.Missed = AtLeast(p.Missed.Lo)
		p.MissMeaning = "on this kernel the miss column leaves out returns that found no free instance (maxactive)"
	}
}

// gatherProbes takes the probes of all parts. Of one probe in two moments of the
// same buffer the later counts: its columns only grow.
func (a *Audit) gatherProbes(parts []*part) {
	owners := map[*Probe]*Buffer{}
	for _, p := range parts {
		for _, pr := range p.probes {
			i := slices.IndexFunc(a.Probes, func(have *Probe) bool {
				return have.same(pr) && have.Source != pr.Source && owners[have] == p.owner
			})
			owners[pr] = p.owner
			switch {
			case i < 0:
				a.Probes = append(a.Probes, pr)
			case pr.Hits.Lo+pr.Missed.Lo > a.Probes[i].Hits.Lo+a.Probes[i].Missed.Lo:
				a.Probes[i] = pr
			}
		}
	}
}

// same tells whether two probes bear the same name on the same place.
func (p *Probe) same(q *Probe) bool {
	return p.Name == q.Name && p.Kind == q.Kind && p.Target == q.Target
}

// subtractProbes leaves of hits and misses what came after the earlier sample.
func (a *Audit) subtractProbes(before []*part) {
	if a.Options.Before == nil {
		return
	}
	known := slices.ContainsFunc(before, func(p *part) bool { return p.hasProbe })
	for _, p := range a.Probes {
		var was *Probe
		for _, part := range before {
			for _, q := range part.probes {
				if q.same(p) {
					was = q
				}
			}
		}
		switch {
		case was == nil && known:
			// Defined since: all of it is new.
		case was == nil:
			p.Hits, p.Missed = Count{Hi: p.Hits.Hi, Open: p.Hits.Open}, Count{Hi: p.Missed.Hi, Open: p.Missed.Open}
		case p.Hits.Lo >= was.Hits.Lo && p.Missed.Lo >= was.Missed.Lo:
			p.Hits, p.Missed = grownFrom(was.Hits, p.Hits), grownFrom(was.Missed, p.Missed)
			p.Evidence = append(p.Evidence, was.Evidence[:min(1, len(was.Evidence))]...)
		}
		// Else it was removed and defined again: all of it is new.
	}
}

// grownFrom is how far a column grew. Where a column leaves something out, what it
// leaves out has not shrunk.
func grownFrom(was, now Count) Count {
	c := Count{Lo: now.Lo - min(was.Lo, now.Lo), Open: now.Open || was.Open}
	if !c.Open {
		c.Hi = now.Hi - min(was.Lo, now.Hi)
	}
	return c
}
