package audit

import (
	"slices"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
)

// This file applies the options that choose buffers or speak of one.

// selectInstances applies --instance.
func (a *Audit) selectInstances() error {
	want := a.Options.Instances
	if len(want) == 0 {
		return nil
	}
	for _, name := range want {
		if !slices.ContainsFunc(a.Buffers, func(b *Buffer) bool { return b.baseName() == name || b.Name == name }) {
			return usagef("--instance %s: no buffer of that name; there are %s", name, strings.Join(a.names(), ", "))
		}
	}
	a.Buffers = slices.DeleteFunc(a.Buffers, func(b *Buffer) bool {
		return !slices.Contains(want, b.baseName()) && !slices.Contains(want, b.Name)
	})
	return nil
}

// tieBefore ties --before to the buffers of the same names.
func (a *Audit) tieBefore(before []*part) error {
	if a.Options.Before == nil {
		return nil
	}
	found := false
	for _, p := range before {
		if p.counters == nil {
			continue
		}
		for _, b := range a.Buffers {
			same := b.baseName() == p.buffer || p.buffer == "" && len(a.Buffers) == 1
			if b.Kind != BufferRing || !same || !b.HasCounters() || p.snapshot {
				continue
			}
			if b.Kernel != "" && p.src.Kernel != "" && b.Kernel != p.src.Kernel {
				return usagef("--before %s: is of kernel %s, and buffer %s of %s: their counters cannot be compared", a.Options.Before.Path, p.src.Kernel, b.Name, b.Kernel)
			}
			b.setBefore(p)
			found = true
		}
	}
	if found || len(a.Buffers) == 0 {
		return nil
	}
	src := a.Sources[len(a.Sources)-1]
	if len(src.Problems) > 0 {
		return usagef("--before %s", src.Problems[0].Message)
	}
	return usagef("--before %s: has no counters of any of the buffers %s", a.Options.Before.Path, strings.Join(a.names(), ", "))
}

// tieAttempted applies --attempted, which speaks of one buffer.
func (a *Audit) tieAttempted() error {
	if len(a.Options.Attempted) == 0 {
		return nil
	}
	var rings []*Buffer
	for _, b := range a.Buffers {
		if b.Kind == BufferRing {
			rings = append(rings, b)
		}
	}
	if len(rings) != 1 {
		return usagef("--attempted speaks of one buffer, and there are %d (%s): choose one with --instance", len(rings), strings.Join(a.names(), ", "))
	}
	b := rings[0]
	for cpu := range a.Options.Attempted {
		if cpu != Total && b.HasCounters() && b.Counters.Stats[cpu] == nil {
			return usagef("--attempted %d=%d: buffer %s has no counters of cpu %d, just of %s", cpu, a.Options.Attempted[cpu], b.Name, cpu, tracefs.FormatCPUList(b.Counters.CPUs()))
		}
	}
	b.Attempted = true
	return nil
}
