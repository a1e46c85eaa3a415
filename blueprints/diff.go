package blueprints

import (
	"fmt"
	"strings"
)

// maxDetail is how many lines of a difference a fault shows.
const maxDetail = 40

// stale words the fault of a block that does not regenerate to the same bytes.
func (bp *Blueprint) stale(b Block, w want) Fault {
	line, detail := difference(b, w.text, true)
	f := Fault{Pos: bp.at(line), Rule: RuleStale, Detail: detail,
		Message: fmt.Sprintf("the block of section %s does not regenerate to the same text", b.Section),
		Hint:    "ringaudit blueprint generate, and read what changed"}
	fresh := Block{body: strings.Split(w.text, "\n")}
	tmp := &Blueprint{File: bp.File}
	tmp.readSources(&fresh)
	for i, s := range fresh.Sources {
		if i >= len(b.Sources) {
			break
		}
		old := b.Sources[i]
		if s.SHA256 == old.SHA256 && s.Kernel == old.Kernel {
			continue
		}
		switch s.Kind {
		case "btf":
			f.Rule = RuleBTFChanged
			f.Message = fmt.Sprintf("section %s was made from the types of kernel %s, and these are of %s", b.Section, orUnknown(old.Kernel), orUnknown(s.Kernel))
			if old.Kernel == s.Kernel {
				f.Message = fmt.Sprintf("section %s was made from other types of kernel %s than these: sha256 %.12s…, now %.12s…", b.Section, orUnknown(s.Kernel), old.SHA256, s.SHA256)
			}
		case "evidence":
			f.Rule = RuleEvidenceChanged
			f.Message = fmt.Sprintf("the evidence %s is not what section %s was made from: sha256 %.12s…, now %.12s…", s.Path, b.Section, old.SHA256, s.SHA256)
		}
		break
	}
	return f
}

func orUnknown(s string) string {
	if s == "" {
		return "(unknown)"
	}
	return s
}

// difference compares a block with what it should be. It returns the document's
// first line that differs, and the lines that differ: "-" as it stands in the
// document, "+" as it is made now. Where a source changed, its provenance differs
// with it; then the first other line tells more (beyondSource).
func difference(b Block, fresh string, beyondSource bool) (line int, detail []string) {
	old := b.body
	now := strings.Split(strings.TrimSuffix(fresh, "\n"), "\n")
	line = b.Begin
	more := 0
	add := func(format string, args ...any) {
		if len(detail) == maxDetail {
			more++
			return
		}
		detail = append(detail, fmt.Sprintf(format, args...))
	}
	found := false
	for _, e := range pairRows(diffLines(old, now)) {
		at := b.Begin + 1 + e.old
		source := strings.Contains(e.del+e.ins, "ringaudit:source ")
		if line == b.Begin || beyondSource && !source && !found {
			line = min(at, b.End)
			found = !source
		}
		if e.isDel {
			add("%d: - %s", at, e.del)
		} else {
			add("%d: + %s", at, e.ins)
		}
	}
	if more > 0 {
		detail = append(detail, fmt.Sprintf("and %d more lines", more))
	}
	return line, detail
}

// pairRows puts each line of a table that went beside the one that came in its
// place: the row of the same name.
func pairRows(edits []edit) []edit {
	var out []edit
	for len(edits) > 0 {
		del := 0
		for del < len(edits) && edits[del].isDel {
			del++
		}
		ins := del
		for ins < len(edits) && !edits[ins].isDel {
			ins++
		}
		came := append([]edit(nil), edits[del:ins]...)
		for _, d := range edits[:del] {
			out = append(out, d)
			for i, c := range came {
				if k := rowName(d.del); k != "" && !strings.Contains(k, "padding") && k == rowName(c.ins) {
					c.old = d.old
					out = append(out, c)
					came = append(came[:i], came[i+1:]...)
					break
				}
			}
		}
		out = append(out, came...)
		edits = edits[ins:]
	}
	return out
}

// rowName is the first cell of a table's row; "" if the line is none.
func rowName(line string) string {
	cells := strings.SplitN(line, "|", 3)
	if len(cells) < 3 || cells[0] != "" {
		return ""
	}
	return cells[1]
}

// edit is one line that was taken out, or one that was put in before line old.
type edit struct {
	old      int
	isDel    bool
	del, ins string
}

// diffLines is the shortest list of edits from a to b, found through their
// longest common subsequence. Beginning and end that are the same are set aside
// first, so that the table stays small for what blocks are like.
func diffLines(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	var out []edit
	if len(x)*len(y) > 4<<20 {
		for i, s := range x {
			out = append(out, edit{old: head + i, isDel: true, del: s})
		}
		for _, s := range y {
			out = append(out, edit{old: head + len(x), ins: s})
		}
		return out
	}
	// common[i][j] is the length of the longest common subsequence of x[i:], y[j:].
	common := make([][]int, len(x)+1)
	for i := range common {
		common[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			i, j = i+1, j+1
		case i < len(x) && (j == len(y) || common[i+1][j] >= common[i][j+1]):
			out = append(out, edit{old: head + i, isDel: true, del: x[i]})
			i++
		default:
			out = append(out, edit{old: head + i, ins: y[j]})
			j++
		}
	}
	return out
}
