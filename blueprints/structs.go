package blueprints

import (
	"errors"
	"fmt"
	"strings"
)

// none of the kernels has it
const absentCell = "–"

// structsText is the text of section 2: each structure as a table, one column
// for each kernel. A structure that none of them has is a problem of its name,
// unless known says that another kernel has it.
func structsText(names []string, kernels []*BTF, known func(name string) bool) (text string, problems map[string]string) {
	problems = map[string]string{}
	var b strings.Builder
	writeSources(&b, kernels)
	if len(names) == 0 {
		b.WriteString("\nThe header of this blueprint names no structures.\n")
		return b.String(), problems
	}
	b.WriteString("\nFor each kernel the offset of a field, then its size, in bytes, from the types that the kernel carries of itself (BTF).\n")
	b.WriteString("*Padding* is what the compiler put there and no field uses; " + absentCell + " means that the build has no such field.\n")
	for _, name := range names {
		var layouts []*Layout
		found := false
		for _, k := range kernels {
			l, err := k.Layout(name)
			switch {
			case err == nil:
				found = true
			case k.notCut(bareName(name)):
				problems[name] = fmt.Sprintf("%s was cut without %s, so that it says nothing of it", k.Path, name)
			case !errors.Is(err, errNoType):
				problems[name] = fmt.Sprintf("%s: %v", k.Path, err)
			}
			layouts = append(layouts, l)
		}
		if !found && problems[name] == "" && !known(name) {
			problems[name] = fmt.Sprintf("no type %s in %s", name, labels(kernels))
		}
		switch {
		case problems[name] != "":
			continue
		case !found:
			fmt.Fprintf(&b, "\n### `%s`\n\nNot in the build of %s.\n", name, labels(kernels))
			continue
		}
		writeLayout(&b, name, layouts, kernels)
	}
	return b.String(), problems
}

// bareName is a type's name without the word for its kind.
func bareName(name string) string {
	if _, bare, ok := strings.Cut(name, " "); ok {
		return bare
	}
	return name
}

func writeSources(b *strings.Builder, kernels []*BTF) {
	for _, k := range kernels {
		b.WriteString(k.Source().marker() + "\n")
	}
}

func labels(kernels []*BTF) string {
	var out []string
	for _, k := range kernels {
		out = append(out, k.Label())
	}
	return strings.Join(out, ", ")
}

// layoutRow is a line of a structure's table: a field, or padding, and its place
// in each kernel.
type layoutRow struct {
	key   string // what makes rows of two kernels the same
	name  string // as printed
	typ   string
	cells []string
}

func writeLayout(b *strings.Builder, name string, layouts []*Layout, kernels []*BTF) {
	kind := ""
	rows := []layoutRow{}
	for i, l := range layouts {
		if l == nil {
			continue
		}
		if kind == "" {
			kind = l.Kind
		}
		rows = mergeRows(rows, layoutRows(l, i, len(kernels)))
	}
	head := name
	if head == bareName(name) && !strings.HasSuffix(name, "_t") {
		head = kind + " " + name
	}
	fmt.Fprintf(b, "\n### `%s`\n\n", head)
	if kind == "enum" {
		b.WriteString("| Name |")
	} else {
		b.WriteString("| Field |")
	}
	for _, k := range kernels {
		if kind == "enum" {
			fmt.Fprintf(b, " %s |", cell(k.Label()))
		} else {
			fmt.Fprintf(b, " %s | size |", cell(k.Label()))
		}
	}
	if kind != "enum" {
		b.WriteString(" Type |")
	}
	b.WriteString("\n|---|")
	for range kernels {
		b.WriteString("---:|")
		if kind != "enum" {
			b.WriteString("---:|")
		}
	}
	if kind != "enum" {
		b.WriteString("---|")
	}
	b.WriteString("\n")
	for _, r := range rows {
		writeRow(b, r, kind == "enum")
	}
	last := layoutRow{name: "**whole size**", cells: make([]string, len(kernels))}
	for i, l := range layouts {
		switch {
		case l == nil:
			last.cells[i] = "not in this build"
		case kind == "enum":
			last.cells[i] = fmt.Sprintf("%d bytes", l.Size)
		default:
			last.cells[i] = fmt.Sprintf(" | **%d**", l.Size)
		}
	}
	writeRow(b, last, kind == "enum")
}

func writeRow(b *strings.Builder, r layoutRow, enum bool) {
	fmt.Fprintf(b, "| %s |", r.name)
	for _, c := range r.cells {
		switch {
		case c == "" && enum:
			c = absentCell
		case c == "":
			c = absentCell + " | " + absentCell
		case !enum && !strings.Contains(c, " | "):
			c += " | "
		}
		fmt.Fprintf(b, " %s |", c)
	}
	if !enum {
		fmt.Fprintf(b, " %s |", r.typ)
	}
	b.WriteString("\n")
}

// layoutRows are the rows of one kernel's layout, column i of n.
func layoutRows(l *Layout, i, n int) []layoutRow {
	var rows []layoutRow
	add := func(key, name, typ, place string) {
		r := layoutRow{key: key, name: name, typ: typ, cells: make([]string, n)}
		r.cells[i] = place
		rows = append(rows, r)
	}
	for _, v := range l.Values {
		add(v.Name, "`"+v.Name+"`", "", v.Value)
	}
	pad := func(h Hole) {
		name := "*padding*"
		if h.Tail {
			name = "*padding at the end*"
		}
		add("\x00"+h.After+"\x00"+name, name, "", offset(h.Offset)+" | "+bits(h.Size))
	}
	holes := l.Padding
	for len(holes) > 0 && holes[0].After == "" {
		pad(holes[0])
		holes = holes[1:]
	}
	for _, f := range l.Fields {
		size := bits(f.Size)
		if f.Bits {
			size = fmt.Sprintf("%d bit", f.Size)
		}
		add(f.Name+"\x00"+f.Type, "`"+cell(f.Name)+"`", "`"+cell(f.Type)+"`", offset(f.Offset)+" | "+size)
		for len(holes) > 0 && holes[0].After == f.Name {
			pad(holes[0])
			holes = holes[1:]
		}
	}
	for _, h := range holes { // behind a field that is not the last in order
		pad(h)
	}
	return rows
}

// offset writes a bit offset in bytes, with the bit where it is not whole.
func offset(bit uint64) string {
	if bit%8 == 0 {
		return fmt.Sprint(bit / 8)
	}
	return fmt.Sprintf("%d:%d", bit/8, bit%8)
}

// bits writes a size in bytes, or in bits where it is not whole bytes.
func bits(n uint64) string {
	if n%8 == 0 {
		return fmt.Sprint(n / 8)
	}
	return fmt.Sprintf("%d bit", n)
}

// mergeRows puts the rows of one more kernel among those that are there, each
// at the place where its neighbours are.
func mergeRows(have, more []layoutRow) []layoutRow {
	at := 0
	for _, m := range more {
		found := -1
		for i, h := range have {
			if h.key == m.key {
				found = i
				break
			}
		}
		if found >= 0 {
			for i, c := range m.cells {
				if c != "" {
					have[found].cells[i] = c
				}
			}
			at = max(at, found+1)
			continue
		}
		if at < len(have) && have[at].name == m.name {
			at++ // the same field with another type stands below the old one
		}
		have = append(have[:at], append([]layoutRow{m}, have[at:]...)...)
		at++
	}
	return have
}

// cell makes text fit for a cell of a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "`", "'").Replace(s)
}
