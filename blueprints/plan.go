package blueprints

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringaudit/ringaudit/citations"
)

// nothingYet is the text of a block that has no source.
var nothingYet = Source{Kind: "none"}.marker() + "\n\nNothing is generated here yet.\n"

// want is a block as it should be.
type want struct {
	section string
	// path ties a block of section 5 to its evidence; empty where the section
	// has one block.
	path string
	text string
}

// plan makes the blocks of one blueprint anew.
type plan struct {
	ctx    context.Context
	bp     *Blueprint
	opt    Options
	check  bool // for comparing, not for writing
	faults []Fault
	kept   []string // sections whose sources are not at hand
	why    map[string]string
	opened map[string]openedBTF
}

func newPlan(ctx context.Context, bp *Blueprint, opt Options, check bool) *plan {
	return &plan{ctx: ctx, bp: bp, opt: opt, check: check, why: map[string]string{}, opened: map[string]openedBTF{}}
}

func (p *plan) fail(line int, rule, hint, format string, args ...any) {
	p.faults = append(p.faults, Fault{Pos: p.bp.at(line), Rule: rule, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// all makes every block whose sources are at hand.
func (p *plan) all() []want {
	var out []want
	for _, section := range []string{"2", "7"} {
		kernels, ok := p.kernels(section)
		switch {
		case !ok:
			p.kept = append(p.kept, section)
		case len(kernels) == 0:
			out = append(out, want{section: section, text: nothingYet})
		default:
			if text, ok := p.fromTypes(section, kernels); ok {
				out = append(out, want{section: section, text: text})
			}
		}
	}
	return append(out, p.evidence()...)
}

// fromTypes makes section 2 or 7.
func (p *plan) fromTypes(section string, kernels []*BTF) (text string, ok bool) {
	if section == "7" {
		return p.functions(kernels)
	}
	text, problems := structsText(p.bp.Front.Structures, kernels, p.knownType)
	p.problems("structures", p.bp.Front.Structures, problems)
	return text, true
}

// knownType tells whether a kernel whose blob lies beside the blueprint, in
// btf/, has a type of a name.
func (p *plan) knownType(name string) bool {
	blobs, err := filepath.Glob(filepath.Join(p.bp.Dir(), "btf", "*.btf"))
	if err != nil {
		return false
	}
	for _, blob := range blobs {
		if b, err := OpenBTF(blob); err == nil {
			if _, err := b.Layout(name); err == nil {
				return true
			}
		}
	}
	return false
}

// functions makes section 7. ok is false where trees cannot be searched.
func (p *plan) functions(kernels []*BTF) (_ string, ok bool) {
	names := p.bp.Front.Functions
	var missing []string
	for _, n := range names {
		for _, k := range kernels {
			if _, err := k.Signature(n); errors.Is(err, errNoType) && !k.notCut(n) {
				missing = append(missing, n)
				break
			}
		}
	}
	macros, versions, err := findMacros(p.ctx, p.bp, missing, p.opt.Trees)
	if err != nil {
		p.fail(p.bp.Front.Line("functions", ""), RuleProvenance, "", "%v", err)
		return "", false
	}
	versions = p.recordedMacros(macros, versions)
	text, problems := funcsText(names, kernels, macros, versions)
	p.problems("functions", names, problems)
	return text, true
}

var (
	macroLine  = regexp.MustCompile("^- `([^`]+)`: no symbol in .*; a macro of this name: (.*)$")
	macroPlace = regexp.MustCompile("`([^`]+):([0-9]+)` in ([0-9A-Za-z.+-]+)")
)

// recordedMacros adds what the block as it is says of trees that were not given
// now: a pinned tree does not change. A block that was edited by hand is trusted
// in a comparison, where its seal decides, and not for writing a new one.
func (p *plan) recordedMacros(macros map[string][]macro, versions []string) []string {
	given := slices.Clone(versions)
	for _, b := range p.bp.Blocks {
		if b.Section != "7" || !p.check && Seal(b.Text()) != b.Seal {
			continue
		}
		for _, line := range b.body {
			m := macroLine.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			for _, at := range macroPlace.FindAllStringSubmatch(m[2], -1) {
				n, err := strconv.Atoi(at[2])
				if err != nil || slices.Contains(given, at[3]) {
					continue
				}
				macros[m[1]] = append(macros[m[1]], macro{version: at[3], path: at[1], line: n})
				if !slices.Contains(versions, at[3]) {
					versions = append(versions, at[3])
				}
			}
		}
	}
	older := func(a, b string) int {
		va, errA := citations.ParseVersion(a)
		vb, errB := citations.ParseVersion(b)
		if errA != nil || errB != nil {
			return strings.Compare(a, b)
		}
		return va.Compare(vb)
	}
	slices.SortStableFunc(versions, older)
	for _, list := range macros {
		slices.SortStableFunc(list, func(a, b macro) int { return older(a.version, b.version) })
	}
	return versions
}

// problems turns what is wrong with names into faults at the names.
func (p *plan) problems(key string, names []string, problems map[string]string) {
	for _, name := range names {
		if msg := problems[name]; msg != "" {
			hint := ""
			if strings.Contains(msg, "was cut without") {
				hint = "ringaudit blueprint cut writes the blob again"
			}
			p.fail(p.bp.Front.Line(key, name), RuleUnknownStructure, hint, "%s", msg)
		}
	}
}

// evidence makes the blocks of section 5.
func (p *plan) evidence() []want {
	paths := p.bp.Front.Evidence
	given := map[string]string{}
	if len(paths) == 0 {
		for _, root := range p.opt.Evidence {
			path := p.bp.recordPath(root)
			paths, given[path] = append(paths, path), root
		}
	}
	if len(paths) == 0 {
		for _, b := range p.bp.Blocks {
			for _, s := range b.Sources {
				if s.Kind == "evidence" && b.Section == "5" {
					paths = append(paths, s.Path)
				}
			}
		}
	}
	if len(paths) == 0 {
		return []want{{section: "5", text: nothingYet}}
	}
	var out []want
	for _, path := range paths {
		file, err := p.bp.findEvidence(path, p.opt.Evidence)
		if f, ok := given[path]; ok {
			file, err = f, nil
		}
		line := p.bp.Front.Line("evidence", path)
		if err != nil {
			p.fail(line, RuleEvidenceMissing, "correct the header's path, or give its folder with --evidence", "evidence %q is not there: %v", path, reason(err))
			continue
		}
		text, err := evidenceText(p.ctx, file, path)
		if err != nil {
			p.fail(line, RuleEvidenceMissing, "", "evidence %q: %v", path, err)
			continue
		}
		out = append(out, want{section: "5", path: path, text: text})
	}
	return out
}

// reason is an error without the path that the message names already.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
