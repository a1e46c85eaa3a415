package report

import (
	"strings"
	"unicode/utf8"
)

// A grid is a table of text. Cells are padded before they are coloured.
type grid struct {
	head []string // "\n" breaks a heading
	left []bool   // columns that stand left; numbers stand right
	rows [][]cell
}

type cell struct {
	text string
	role role
}

const gutter = 2 // columns between columns

func (g *grid) widths() []int {
	w := make([]int, len(g.head))
	for i, h := range g.head {
		for _, line := range strings.Split(h, "\n") {
			w[i] = max(w[i], utf8.RuneCountInString(line))
		}
	}
	for _, r := range g.rows {
		for i := range r {
			w[i] = max(w[i], utf8.RuneCountInString(r[i].text))
		}
	}
	return w
}

// cols is how wide g is in all.
func (g *grid) cols() int {
	sum := 0
	for _, w := range g.widths() {
		sum += w + gutter
	}
	return sum - gutter
}

// print writes g at the given indent. What does not fit the page's width is
// continued below under the first column again: a number is never cut.
func (g *grid) print(p *page, indent int) {
	w := g.widths()
	for from := 1; from < len(w); {
		used, to := indent+w[0], from
		for to < len(w) && (to == from || used+gutter+w[to] <= p.width) {
			used += gutter + w[to]
			to++
		}
		if from > 1 {
			p.line()
		}
		g.block(p, indent, w, from, to)
		from = to
	}
}

func (g *grid) block(p *page, indent int, w []int, from, to int) {
	pick := []int{0}
	for i := from; i < to; i++ {
		pick = append(pick, i)
	}
	height := 1
	for _, i := range pick {
		height = max(height, 1+strings.Count(g.head[i], "\n"))
	}
	row := func(text func(i int) (string, role)) {
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", indent))
		for k, i := range pick {
			if k > 0 {
				b.WriteString(strings.Repeat(" ", gutter))
			}
			s, r := text(i)
			switch {
			case !g.left[i]:
				b.WriteString(padLeft("", w[i]-utf8.RuneCountInString(s)) + p.paint(r, s))
			case k == len(pick)-1:
				b.WriteString(p.paint(r, s))
			default:
				b.WriteString(p.paint(r, s) + padLeft("", w[i]-utf8.RuneCountInString(s)))
			}
		}
		p.line(b.String())
	}
	for h := range height {
		row(func(i int) (string, role) {
			lines := strings.Split(g.head[i], "\n")
			if at := h - (height - len(lines)); at >= 0 { // headings stand on the line below
				return lines[at], dimRole
			}
			return "", plainRole
		})
	}
	for _, r := range g.rows {
		row(func(i int) (string, role) {
			if i < len(r) {
				return r[i].text, r[i].role
			}
			return "", plainRole
		})
	}
}
