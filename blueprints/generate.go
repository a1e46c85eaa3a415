package blueprints

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Generated is what [Generate] did with one blueprint.
type Generated struct {
	File    string
	Changed bool
	// Kept are the sections whose sources are not at hand, so that their blocks
	// stayed as they were.
	Kept   []string
	Faults []Fault
}

// Generate fills the generated blocks of the blueprint in file, seals them, and
// writes the file if that changes it: whole, or, if anything is wrong, not at
// all. A second run with the same sources changes nothing. What is wrong is in
// Faults; the error is that of reading or writing.
func Generate(ctx context.Context, file string, opt Options) (*Generated, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	bp, faults := Parse(file, text)
	g := &Generated{File: file, Faults: faults}
	if bp.Dialect != DialectRingaudit {
		g.Faults = append(g.Faults, Fault{Pos: bp.at(1), Rule: RuleFrontMatter,
			Message: "this blueprint is in the dialect of another project; it is checked here, never written"})
	}
	if HasErrors(g.Faults) {
		return g, nil
	}
	p := newPlan(ctx, bp, opt, false)
	wants := p.all()
	g.Faults = sortFaults(append(g.Faults, p.faults...))
	g.Kept = p.kept
	if HasErrors(g.Faults) {
		return g, nil
	}
	out, faults := bp.fill(wants)
	g.Faults = sortFaults(append(g.Faults, faults...))
	if HasErrors(g.Faults) {
		return g, nil
	}
	if out == string(text) {
		return g, nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	g.Changed = true
	return g, writeWhole(file, []byte(out), info.Mode().Perm())
}

// match pairs blocks with what they should be. Blocks of section 5 belong to
// the evidence that their provenance names; blocks that were never generated
// take what is left, in order. left are wants without a block.
func (bp *Blueprint) match(wants []want) (pairs map[int]want, left []want, faults []Fault) {
	pairs = map[int]want{}
	for _, w := range wants {
		at := -1
		for i, b := range bp.Blocks {
			if _, taken := pairs[i]; taken || b.Section != w.section {
				continue
			}
			if w.path == "" || len(b.Sources) > 0 && b.Sources[0].Path == w.path {
				at = i
				break
			}
		}
		if at < 0 {
			left = append(left, w)
			continue
		}
		pairs[at] = w
	}
	var still []want
	for _, w := range left {
		at := -1
		for i, b := range bp.Blocks {
			_, taken := pairs[i]
			if !taken && b.Section == w.section && (len(b.Sources) == 0 || b.Sources[0].Kind == "none") {
				at = i
				break
			}
		}
		if at < 0 {
			still = append(still, w)
			continue
		}
		pairs[at] = w
	}
	made := map[string]bool{}
	for _, w := range wants {
		made[w.section] = true
	}
	for i, b := range bp.Blocks {
		if _, ok := pairs[i]; ok || !made[b.Section] {
			continue
		}
		from := "nothing in particular"
		if len(b.Sources) > 0 {
			from = fmt.Sprintf("%q", b.Sources[0].Path)
		}
		faults = append(faults, Fault{Pos: bp.at(b.Begin), Rule: RuleProvenance,
			Message: fmt.Sprintf("this block of section %s is from %s, which the header does not name", b.Section, from),
			Hint:    "name it in the header, or delete the block"})
	}
	return pairs, still, faults
}

// fill writes wants into the document's text.
func (bp *Blueprint) fill(wants []want) (text string, faults []Fault) {
	pairs, left, faults := bp.match(wants)
	insert := map[int][]want{} // by the line after which they go
	for _, w := range left {
		s, ok := bp.Section(w.section)
		if !ok {
			faults = append(faults, Fault{Pos: bp.at(1), Rule: RuleSection,
				Message: fmt.Sprintf("there is no section %s to put the generated block into", w.section),
				Hint:    fmt.Sprintf("add the heading %q", heading(w.section))})
			continue
		}
		at := s.Line
		for _, b := range bp.Blocks {
			if b.Section == w.section && b.End > at && b.End <= s.End {
				at = b.End
			}
		}
		insert[at] = append(insert[at], w)
	}
	var out []string
	block := func(w want) {
		out = append(out, fmt.Sprintf("<!-- ringaudit:begin section=%s seal=%s -->", w.section, Seal(w.text)))
		out = append(out, strings.Split(strings.TrimSuffix(w.text, "\n"), "\n")...)
		out = append(out, fmt.Sprintf("<!-- ringaudit:end section=%s -->", w.section))
	}
	next := 0
	for n := 1; n <= len(bp.lines); n++ {
		if next < len(bp.Blocks) && bp.Blocks[next].Begin == n {
			b := bp.Blocks[next]
			if w, ok := pairs[next]; ok {
				block(w)
			} else {
				out = append(out, bp.lines[b.Begin-1:b.End]...)
			}
			n = b.End
			next++
		} else {
			out = append(out, bp.lines[n-1])
		}
		for _, w := range insert[n] {
			out = append(out, "")
			block(w)
		}
		if len(insert[n]) > 0 && n < len(bp.lines) && bp.lines[n] != "" {
			out = append(out, "")
		}
	}
	end := "\n"
	if bp.crlf {
		end = "\r\n"
	}
	text = strings.Join(out, end)
	if bp.final {
		text += end
	}
	return text, faults
}

// heading is the heading of a section as it must be written.
func heading(id string) string {
	for _, t := range titles {
		if t.id == id {
			hashes := "##"
			if len(id) > 1 {
				hashes = "###"
			}
			return fmt.Sprintf("%s %s. %s", hashes, t.id, t.title)
		}
	}
	return id
}
