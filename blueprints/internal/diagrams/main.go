// Command diagrams draws the pictures of the blueprints, the same bytes on
// every run and every machine. Each comes as two SVG files with the same
// content: NAME.svg, 640 units wide, and NAME.narrow.svg, 340 units wide and
// upright, for a page as narrow as a phone.
//
//	go run . -o ../../img
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

//go:generate go run . -o ../../img

// The widths of the two variants, in units of their view boxes. A unit is meant
// to be about a pixel, so the smallest text (13 units) stays legible.
const (
	wideWidth   = 640
	narrowWidth = 340
)

// drawing is one picture in its two variants.
type drawing struct{ wide, narrow func() []byte }

// drawings are the pictures by blueprint.
var drawings = map[string]drawing{
	"trace-ring-buffer":     {twoMeters, twoMetersNarrow},
	"reading-a-trace":       {sixWindows, sixWindowsNarrow},
	"buffer-size":           {fourNumbers, fourNumbersNarrow},
	"kretprobe-misses":      {sameCount, sameCountNarrow},
	"ebpf-ring-buffer-loss": {noFarSide, noFarSideNarrow},
}

func names() []string {
	var out []string
	for n := range drawings {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// files are the pictures of a blueprint by the name of their file.
func (d drawing) files(name string) map[string][]byte {
	return map[string][]byte{name + ".svg": d.wide(), name + ".narrow.svg": d.narrow()}
}

func main() {
	out := flag.String("o", ".", "folder to write the SVG files to")
	flag.Parse()
	for _, n := range names() {
		for file, svg := range drawings[n].files(n) {
			if err := os.WriteFile(filepath.Join(*out, file), svg, 0o644); err != nil {
				fmt.Fprintln(os.Stderr, "diagrams:", err)
				os.Exit(1)
			}
		}
	}
}
