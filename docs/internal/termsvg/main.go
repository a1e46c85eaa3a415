// Command termsvg draws what a program printed to a terminal as an SVG: the
// README's picture is made of the real output of demo.
//
//	ringaudit demo --color always | termsvg -title '$ ringaudit demo' > demo.svg
package main

import (
	"bufio"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	cell   = 7.8 // width of a character, px
	line   = 17  // height of a line
	margin = 16
	font   = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
)

// colours by SGR code, legible on the picture's dark ground.
var colours = map[string]string{
	"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea", "2": "#8b949e", "90": "#8b949e",
}

func main() {
	log.SetFlags(0)
	title := flag.String("title", "", "shown above the output, and the picture's accessible name")
	flag.Parse()
	if err := draw(os.Stdin, os.Stdout, *title); err != nil {
		log.Fatal("termsvg: ", err)
	}
}

func draw(r io.Reader, w io.Writer, title string) error {
	var lines []string
	cols := utf8.RuneCountInString(title)
	for sc := bufio.NewScanner(r); ; {
		if !sc.Scan() {
			if err := sc.Err(); err != nil {
				return err
			}
			break
		}
		lines = append(lines, sc.Text())
		cols = max(cols, utf8.RuneCountInString(plain(sc.Text())))
	}
	width, height := float64(cols)*cell+2*margin, float64(len(lines)+2)*line+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n", escape(title), escape(plain(strings.Join(lines, "\n"))))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n")
	fmt.Fprintf(&b, `<g font-family="%s" font-size="13" fill="#e6edf3" xml:space="preserve">`+"\n", escape(font))
	y := margin + line
	text := func(s string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" xml:space="preserve">%s</text>`+"\n", margin, y, s)
		y += line
	}
	text(`<tspan fill="#8b949e">` + escape(title) + `</tspan>`)
	y += line / 2
	for _, l := range lines {
		text(spans(l))
	}
	b.WriteString("</g>\n</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// plain takes the colour codes out.
func plain(s string) string {
	var b strings.Builder
	for s != "" {
		before, rest, ok := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !ok {
			break
		}
		_, s, _ = strings.Cut(rest, "m")
	}
	return b.String()
}

// spans turns colour codes into tspans. Each stretch is placed at its column, so
// that a font without a character cannot shift what follows.
func spans(s string) string {
	var b strings.Builder
	style, col := "", 0
	for s != "" {
		before, rest, ok := strings.Cut(s, "\x1b[")
		if before != "" {
			fmt.Fprintf(&b, `<tspan x="%.1f"%s>%s</tspan>`, margin+float64(col)*cell, style, escape(before))
			col += utf8.RuneCountInString(before)
		}
		if !ok {
			break
		}
		var code string
		code, s, _ = strings.Cut(rest, "m")
		style = ""
		for c := range strings.SplitSeq(code, ";") {
			if c == "1" {
				style += ` font-weight="bold"`
			}
			if f := colours[c]; f != "" {
				style += ` fill="` + f + `"`
			}
		}
	}
	return b.String()
}

func escape(s string) string {
	var b strings.Builder
	// EscapeText fails only where the writer does.
	_ = xml.EscapeText(&b, []byte(s))
	return strings.NewReplacer("&#xA;", "\n", "&#x9;", "\t").Replace(b.String())
}
