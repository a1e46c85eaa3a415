package blueprints

import (
	"fmt"
	"slices"
	"strings"
)

// openedBTF is a file of types that was opened, or could not be.
type openedBTF struct {
	*BTF
	err error
}

// open reads the types at a recorded path, each once.
func (p *plan) open(path string) (*BTF, error) {
	o, ok := p.opened[path]
	if !ok {
		o.BTF, o.err = OpenBTF(p.bp.local(path))
		if o.err == nil {
			o.Path = path
		}
		p.opened[path] = o
	}
	return o.BTF, o.err
}

// kernels opens the types that a section comes from. For writing it is what was
// given, else what the header names, else what the block was made from. For
// comparing, what was given, else what the block was made from. ok is false
// where that is not at hand.
func (p *plan) kernels(section string) (_ []*BTF, ok bool) {
	recorded := p.bp.recordedBTF(section)
	if len(p.opt.BTF) > 0 {
		return p.givenKernels(recorded), true
	}
	var out []*BTF
	if p.check && len(recorded) > 0 || len(p.bp.Front.BTF) == 0 {
		for _, s := range recorded {
			b, err := p.open(s.Path)
			// Another machine's kernel is no fault of the document.
			outside := s.Path == RunningBTF || !strings.Contains(s.Path, "/")
			switch {
			case outside && (err != nil || b.Kernel != s.Kernel && b.SHA256 != s.SHA256):
				p.why[section] = fmt.Sprintf("%s of %s is not here", s.Path, orUnknown(s.Kernel))
				return nil, false
			case err != nil:
				p.fail(s.Line, RuleBTFMissing, "", "the types of a kernel, %s, cannot be read: %v", s.Path, reason(err))
				return nil, false
			}
			out = append(out, b)
		}
		return out, true
	}
	ok = true
	for _, path := range p.bp.Front.BTF {
		b, err := p.open(path)
		if err != nil {
			p.fail(p.bp.Front.Line("btf", path), RuleBTFMissing, "", "the types of a kernel, %s, cannot be read: %v", path, reason(err))
			ok = false
			continue
		}
		out = append(out, b)
	}
	return out, ok
}

// givenKernels are the types that were given, under the names that the document
// has for them already. One that a recorded blob was cut from is that blob. In a
// comparison, a part of what was recorded stands for all of it.
func (p *plan) givenKernels(recorded []Source) []*BTF {
	var out []*BTF
	same := 0
	for _, b := range p.opt.BTF {
		c := *b
		c.Path = p.bp.recordPath(b.Path)
		for _, s := range recorded {
			if s.SHA256 == b.SHA256 {
				c.Path = s.Path
				same++
				break
			}
			if r, err := p.open(s.Path); err == nil && r.SHA256 == s.SHA256 && r.origin == b.SHA256 {
				c = *r
				same++
				break
			}
		}
		out = append(out, &c)
	}
	if !p.check || same < len(out) || same == len(recorded) {
		return out
	}
	var all []*BTF
	for _, s := range recorded {
		b, err := p.open(s.Path)
		if err != nil {
			return out
		}
		all = append(all, b)
	}
	return all
}

// recordedBTF are the types that a section's blocks say they were made from.
func (bp *Blueprint) recordedBTF(section string) []Source {
	var out []Source
	for _, b := range bp.Blocks {
		for _, s := range b.Sources {
			if b.Section == section && s.Kind == "btf" && !slices.ContainsFunc(out, func(o Source) bool { return o.Path == s.Path }) {
				out = append(out, s)
			}
		}
	}
	return out
}

// sideBySide makes a section from one recorded kernel and from one given one, so
// that a difference between the two is not hidden by their number of columns.
// ok is false where nothing recorded is at hand.
func (p *plan) sideBySide(section string) (old, now string, from, to *BTF, ok bool) {
	recorded := p.bp.recordedBTF(section)
	if len(p.opt.BTF) == 0 || len(recorded) == len(p.opt.BTF) {
		return "", "", nil, nil, false
	}
	for i := len(recorded) - 1; i >= 0; i-- {
		from, err := p.open(recorded[i].Path)
		if err != nil || from.SHA256 != recorded[i].SHA256 {
			continue
		}
		to := p.givenKernels(recorded)[0]
		quiet := *p
		quiet.faults = nil
		old, ok1 := quiet.fromTypes(section, []*BTF{from})
		now, ok2 := quiet.fromTypes(section, []*BTF{to})
		return old, now, from, to, ok1 && ok2
	}
	return "", "", nil, nil, false
}
