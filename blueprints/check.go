package blueprints

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/ringaudit/ringaudit/citations"
)

// Checked is what [Check] found of one blueprint, its citations apart.
type Checked struct {
	File   string
	Name   string
	Status string
	Faults []Fault
	// Blocks are generated blocks, Sealed those whose seal holds, Compared those
	// that were made again from their sources.
	Blocks, Sealed, Compared int
}

// CheckResult is what [Check] found.
type CheckResult struct {
	Blueprints []*Checked
	// Faults are those of all blueprints and of their citations, in order.
	Faults []Fault
	// Citations says how much was looked up in trees.
	Citations citations.Counts
	// Trees says whether citations were looked up in trees; else they were held
	// against the locks, Locked records in all.
	Trees  bool
	Locked int
}

// Check holds blueprints against their form, their seals, their sources and
// their citations. The error is that of reading a file.
func Check(ctx context.Context, files []string, opt Options) (*CheckResult, error) {
	res := &CheckResult{Trees: len(opt.Trees) > 0}
	var bps []*Blueprint
	for _, file := range files {
		bp, c, err := checkOne(ctx, file, opt)
		if err != nil {
			return nil, err
		}
		bps = append(bps, bp)
		res.Blueprints = append(res.Blueprints, c)
		res.Faults = append(res.Faults, c.Faults...)
	}
	if err := res.cite(ctx, bps, opt); err != nil {
		return nil, err
	}
	res.Faults = sortFaults(res.Faults)
	return res, nil
}

func checkOne(ctx context.Context, file string, opt Options) (*Blueprint, *Checked, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	bp, faults := Parse(file, text)
	c := &checker{bp: bp, opt: opt, res: &Checked{File: file, Name: bp.Front.Name, Status: bp.Front.Status, Blocks: len(bp.Blocks)}}
	c.res.Faults = faults
	c.front()
	c.sections()
	c.blocks()
	c.status()
	if err := c.regenerate(ctx); err != nil {
		return nil, nil, err
	}
	c.files()
	c.res.Faults = sortFaults(c.res.Faults)
	return bp, c.res, nil
}

type checker struct {
	bp  *Blueprint
	opt Options
	res *Checked
}

func (c *checker) fail(line int, rule, hint, format string, args ...any) {
	c.res.Faults = append(c.res.Faults, Fault{Pos: c.bp.at(line), Rule: rule, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (c *checker) note(line int, rule, format string, args ...any) {
	c.res.Faults = append(c.res.Faults, Fault{Pos: c.bp.at(line), Rule: rule, Severity: Note, Message: fmt.Sprintf(format, args...)})
}

var versionText = regexp.MustCompile(`^v?\d+\.\d+(\.\d+)?(-rc\d+)?$`)

// front checks the header.
func (c *checker) front() {
	f := c.bp.Front
	if len(f.lines) == 0 {
		return // there is none, which Parse has said
	}
	name := "name"
	need := [][2]string{{"title", f.Title}, {"name", f.Name}, {"status", f.Status}}
	if c.bp.Dialect == DialectBPC {
		name = "blueprint"
		need = [][2]string{{"title", f.Title}, {"blueprint", f.Name}, {"status", f.Status}, {"pin", f.Pin}, {"arch", f.Arch}}
	} else if f.Status != "stub" {
		need = append(need, [2]string{"summary", f.Summary})
		if len(f.Versions) == 0 {
			c.fail(f.Line("versions", ""), RuleFrontMatter, "", "the header names no kernel versions that the text speaks of")
		}
	}
	for _, k := range need {
		if strings.TrimSpace(k[1]) == "" {
			c.fail(f.Line(k[0], ""), RuleFrontMatter, "", "the header has no %s", k[0])
		}
	}
	stem := strings.TrimSuffix(filepath.Base(c.bp.File), ".md")
	if f.Name != "" && f.Name != stem {
		c.fail(f.Line(name, ""), RuleFrontMatter, "", "the header calls this %q, the file is %q", f.Name, stem)
	}
	if f.Status != "" && !slices.Contains(statuses, f.Status) {
		c.fail(f.Line("status", ""), RuleStatus, "", "status %q is none of %s", f.Status, strings.Join(statuses, ", "))
	}
	for _, v := range f.Versions {
		if !versionText.MatchString(v) {
			c.fail(f.Line("versions", v), RuleFrontMatter, "", "version %q is not a kernel version such as 6.12.117", v)
		}
	}
	for _, key := range []struct {
		key   string
		names []string
	}{{"structures", f.Structures}, {"functions", f.Functions}, {"evidence", f.Evidence}, {"btf", f.BTF}} {
		seen := map[string]bool{}
		for _, n := range key.names {
			if seen[n] {
				c.fail(f.Line(key.key, n), RuleFrontMatter, "", "%s lists %q twice", key.key, n)
			}
			seen[n] = true
		}
	}
}

// sections checks that the nine sections and the three parts of the fourth are
// there, once, in order, under their names.
func (c *checker) sections() {
	at := map[string]int{}
	last, lastID := 0, ""
	for i, s := range c.bp.Sections {
		order := slices.IndexFunc(titles, func(t struct{ id, title, bpc string }) bool { return t.id == s.ID })
		if order < 0 {
			c.fail(s.Line, RuleSection, "", "there is no section %s in a blueprint", s.ID)
			continue
		}
		if line, twice := at[s.ID]; twice {
			c.fail(s.Line, RuleSection, "", "section %s stands in line %d already", s.ID, line)
			continue
		}
		at[s.ID] = s.Line
		t := titles[order]
		want := t.title
		if c.bp.Dialect == DialectBPC && t.bpc != "" {
			want = t.bpc
		}
		if s.Title != want {
			c.fail(s.Line, RuleSection, "", "section %s is called %q, found %q", s.ID, want, s.Title)
		}
		if order < last {
			c.fail(s.Line, RuleSection, "", "section %s stands behind section %s", s.ID, lastID)
		}
		last, lastID = max(last, order), s.ID
		if len(s.ID) == 1 && s.ID != "4" && c.empty(c.bp.Sections[i]) && c.bp.Front.Status != "stub" {
			if c.bp.Front.Status == "complete" {
				c.fail(s.Line, RuleSection, "", "section %s is empty", s.ID)
			} else {
				c.note(s.Line, RuleSection, "section %s is empty", s.ID)
			}
		}
	}
	for _, t := range titles {
		if at[t.id] == 0 {
			c.fail(1, RuleSection, "", "there is no section %s, %s", t.id, t.title)
		}
	}
}

// empty tells whether a section has no text at all.
func (c *checker) empty(s Section) bool {
	for n := s.Line + 1; n <= s.End; n++ {
		if strings.TrimSpace(c.bp.Line(n)) != "" {
			return false
		}
	}
	return true
}

// blocks checks the seals, the provenance, and that each block is in its
// section.
func (c *checker) blocks() {
	for _, b := range c.bp.Blocks {
		if s, ok := c.bp.Section(b.Section); ok && (b.Begin < s.Line || b.End > s.End) {
			c.fail(b.Begin, RuleMarker, "", "a block of section %s stands outside that section", b.Section)
		}
		switch {
		case b.Unsealed:
			c.fail(b.Begin, RuleSeal, "ringaudit blueprint generate fills and seals it", "the block of section %s was never generated", b.Section)
			continue
		case c.sealHolds(b):
			c.res.Sealed++
		}
		if len(b.Sources) == 0 {
			c.fail(b.Begin, RuleProvenance, "ringaudit blueprint generate", "the block of section %s does not say in its first line where it came from", b.Section)
		}
	}
}

func (c *checker) sealHolds(b Block) bool {
	if c.bp.Dialect == DialectBPC {
		return sealBPC(b.Text()) == b.Seal
	}
	return Seal(b.Text()) == b.Seal
}

// status checks that a complete blueprint rests on evidence everywhere and on a
// person who read it.
func (c *checker) status() {
	f := c.bp.Front
	if f.Status != "complete" {
		return
	}
	if !isName(f.Reviewer) {
		c.fail(f.Line("status", ""), RuleStatus, "name who read it, or say partial", "status complete needs a named reviewer, found %q", f.Reviewer)
	}
	have := map[string]bool{}
	for _, b := range c.bp.Blocks {
		have[b.Section] = true
		for _, s := range b.Sources {
			if !s.Evidence {
				c.fail(s.Line, RuleStatus, "", "status complete, and the block of section %s comes from %s, which is no evidence", b.Section, sourceName(s))
			}
		}
	}
	for _, id := range []string{"2", "5", "7"} {
		if !have[id] {
			c.fail(f.Line("status", ""), RuleStatus, "", "status complete, and section %s has no generated block", id)
		}
	}
}

func sourceName(s Source) string {
	if s.Kind == "none" {
		return "nothing"
	}
	return s.Path
}

// isName tells whether a reviewer is named: a word that is no placeholder.
func isName(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	if slices.Contains([]string{"none", "nobody", "n/a", "na", "tbd", "todo", "unknown", "pending", "anonymous", "someone"}, s) {
		return false
	}
	return strings.ContainsFunc(s, unicode.IsLetter)
}

// regenerate makes every block anew whose sources are at hand, and compares.
func (c *checker) regenerate(ctx context.Context) error {
	if c.bp.Dialect != DialectRingaudit {
		c.sealFaults(nil)
		return nil
	}
	p := newPlan(ctx, c.bp, c.opt, true)
	wants := p.all()
	if err := ctx.Err(); err != nil {
		return err
	}
	c.res.Faults = append(c.res.Faults, p.faults...)
	for _, id := range p.kept {
		if p.why[id] == "" {
			continue // said as a fault
		}
		for _, b := range c.bp.Blocks {
			if b.Section == id {
				c.note(b.Begin, RuleStale, "section %s was not compared: %s", id, p.why[id])
			}
		}
	}
	if named := c.bp.Front.BTF; len(named) > 0 && len(c.opt.BTF) == 0 {
		for _, id := range []string{"2", "7"} {
			var from []string
			for _, s := range c.bp.recordedBTF(id) {
				from = append(from, s.Path)
			}
			if len(from) > 0 && !slices.Equal(from, named) {
				c.note(c.bp.Front.Line("btf", ""), RuleStale, "section %s was generated from %s, the header names %s", id, strings.Join(from, ", "), strings.Join(named, ", "))
			}
		}
	}
	pairs, left, faults := c.bp.match(wants)
	c.res.Faults = append(c.res.Faults, faults...)
	if c.bp.Front.Status != "stub" {
		for _, w := range left {
			what := "block"
			if w.path != "" {
				what = fmt.Sprintf("block for the evidence %q", w.path)
			}
			line := c.bp.Front.Line("evidence", w.path)
			if s, ok := c.bp.Section(w.section); ok && w.path == "" {
				line = s.Line
			}
			c.fail(line, RuleStale, "ringaudit blueprint generate", "section %s has no generated %s", w.section, what)
		}
	}
	c.sealFaults(pairs)
	for i, w := range pairs {
		b := c.bp.Blocks[i]
		if b.Unsealed {
			continue
		}
		c.res.Compared++
		if w.text == b.Text() || !c.sealHolds(b) {
			continue // the same, or a hand edit, which sealFaults has told
		}
		f := c.bp.stale(b, w)
		if f.Rule == RuleBTFChanged {
			if old, now, from, to, ok := p.sideBySide(b.Section); ok {
				_, f.Detail = difference(Block{body: strings.Split(strings.TrimSuffix(old, "\n"), "\n")}, now, true)
				f.Detail = append([]string{fmt.Sprintf("%s (-) against %s (+), line by line of the block:", from.Label(), to.Label())}, f.Detail...)
			}
		}
		c.res.Faults = append(c.res.Faults, f)
	}
	return nil
}

// sealFaults tells of each block whose seal is broken, and of the line where a
// hand has been, if the block can be made anew.
func (c *checker) sealFaults(pairs map[int]want) {
	for i, b := range c.bp.Blocks {
		if b.Unsealed || c.sealHolds(b) {
			continue
		}
		w, ok := pairs[i]
		if ok && Seal(w.text) == b.Seal {
			line, detail := difference(b, w.text, false)
			c.res.Faults = append(c.res.Faults, Fault{Pos: c.bp.at(line), Rule: RuleSeal,
				Message: fmt.Sprintf("the generated block of section %s was edited by hand", b.Section),
				Hint:    "ringaudit blueprint generate makes it again; what a person has to say belongs outside the markers",
				Detail:  detail})
			continue
		}
		c.fail(b.Begin, RuleSeal, "ringaudit blueprint generate",
			"the generated block of section %s, lines %d to %d, was edited by hand: its seal is %s, its text gives %s",
			b.Section, b.Begin+1, b.End-1, b.Seal, c.sealOf(b))
	}
}

func (c *checker) sealOf(b Block) string {
	if c.bp.Dialect == DialectBPC {
		return sealBPC(b.Text())
	}
	return Seal(b.Text())
}
