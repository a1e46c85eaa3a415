package citations

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"sort"
	"strings"
	"sync"
)

// File is the text of one file of a tree, parsed once however many trees hold
// the same bytes.
type File struct {
	// Blob is the object id that git gives to these bytes.
	Blob string
	data []byte

	foldOnce sync.Once
	folded   folded

	codeOnce sync.Once
	code     *code
	isC      bool
	kconfig  bool
}

// code is a C file without its comments.
type code struct {
	src    []byte
	folded folded
	toks   []token
	syms   []Symbol
	at     []int32 // innermost symbol of each line (index 0 is line 1), -1 for none
}

func newFile(name string, data []byte) *File {
	base := path.Base(name)
	f := &File{data: data, Blob: blobID(data), kconfig: strings.HasPrefix(base, "Kconfig")}
	switch path.Ext(name) {
	case ".c", ".h", ".S", ".cc", ".cpp", ".hpp":
		f.isC = true
	}
	return f
}

// blobID is git's id of a blob.
func blobID(data []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

func (f *File) fold() *folded {
	f.foldOnce.Do(func() { f.folded = fold(f.data) })
	return &f.folded
}

// parse is the file as code; for a file that is not C, comments are not known
// and there are no symbols but the entries of a Kconfig.
func (f *File) parse() *code {
	f.codeOnce.Do(func() {
		c := &code{src: f.data}
		if f.isC {
			c.src = stripComments(f.data)
			c.toks = tokenize(c.src)
			c.syms = symbols(c.src, c.toks)
			c.folded = fold(c.src)
		} else {
			c.folded = *f.fold()
			if f.kconfig {
				c.syms = kconfigSymbols(&c.folded)
			}
		}
		c.paint()
		f.code = c
	})
	return f.code
}

// paint notes the innermost symbol of every line.
func (c *code) paint() {
	c.at = make([]int32, c.folded.lines())
	for i := range c.at {
		c.at[i] = -1
	}
	order := make([]int, len(c.syms))
	for i := range order {
		order[i] = i
	}
	size := func(i int) int { return c.syms[i].Last - c.syms[i].First }
	sort.SliceStable(order, func(a, b int) bool { return size(order[a]) > size(order[b]) })
	for _, i := range order {
		if c.syms[i].Name == "" {
			continue
		}
		for l := max(c.syms[i].First, 1); l <= c.syms[i].Last && l <= len(c.at); l++ {
			c.at[l-1] = int32(i)
		}
	}
}

// enclosing is the innermost symbol around a line, nil if none.
func (c *code) enclosing(line int) *Symbol {
	if line < 1 || line > len(c.at) || c.at[line-1] < 0 {
		return nil
	}
	return &c.syms[c.at[line-1]]
}

// symbolAt is the name of the innermost symbol around a line, empty if none.
func (c *code) symbolAt(line int) string {
	if s := c.enclosing(line); s != nil {
		return s.Name
	}
	return ""
}

// ranges are the stretches of the symbol: more than one where the preprocessor
// chooses between definitions.
func (c *code) ranges(symbol string) (out [][2]int) {
	for i := range c.syms {
		if c.syms[i].is(symbol) {
			out = append(out, [2]int{c.syms[i].First, c.syms[i].Last})
		}
	}
	return out
}

func inRanges(line int, r [][2]int) bool {
	for _, x := range r {
		if line >= x[0] && line <= x[1] {
			return true
		}
	}
	return false
}

// kconfigSymbols finds the config and menuconfig entries of a Kconfig file.
func kconfigSymbols(f *folded) (out []Symbol) {
	for n := 1; n <= f.lines(); n++ {
		raw := f.line(n)
		word, name, _ := bytes.Cut(raw, []byte(" "))
		switch string(word) {
		case "config", "menuconfig", "choice", "menu", "endmenu", "if", "endif", "source", "comment", "endchoice":
		default:
			continue
		}
		if len(out) > 0 && out[len(out)-1].Last == 0 {
			out[len(out)-1].Last = n - 1
		}
		if w := string(word); w == "config" || w == "menuconfig" {
			out = append(out, Symbol{Name: string(name), Alias: []string{"CONFIG_" + string(name)}, Kind: "config", First: n})
		}
	}
	if len(out) > 0 && out[len(out)-1].Last == 0 {
		out[len(out)-1].Last = f.lines()
	}
	return out
}

// inCode tells whether the text stands on the line outside comments.
func (f *File) inCode(line int, text string) bool {
	if !f.isC {
		return true
	}
	return bytes.Contains(f.parse().folded.line(line), []byte(text))
}

// place describes the line at which text stands.
func (f *File) place(name, version string, line int, text string) Place {
	p := Place{File: name, Line: line, Version: version, Symbol: f.parse().symbolAt(line), Text: string(f.fold().line(line))}
	if i := strings.Index(p.Text, text); i >= 0 && text != "" {
		raw := f.rawLine(line)
		p.Col = len([]rune(string(raw[:column(raw, i)]))) + 1
	}
	if len(p.Text) > 200 {
		p.Text = p.Text[:200] + "…"
	}
	return p
}

func (f *File) rawLine(n int) []byte {
	data := f.data
	for ; n > 1; n-- {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			return nil
		}
		data = data[i+1:]
	}
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		data = data[:i]
	}
	return data
}

// ContextRadius is how many lines on either side of an anchor its context hash
// covers.
const ContextRadius = 3

// contextHash is the hash of the lines around each of lines, white space
// folded and clipped at the ends of the file: the first 12 hexadecimal digits
// of SHA-256, as schema 1 has it.
func (f *File) contextHash(lines []int) string {
	d := f.fold()
	h := sha256.New()
	for n, l := range lines {
		if n > 0 {
			h.Write([]byte("\n\n"))
		}
		from, to := max(1, l-ContextRadius), min(d.lines(), l+ContextRadius)
		for i := from; i <= to; i++ {
			if i > from {
				h.Write([]byte("\n"))
			}
			h.Write(d.line(i))
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// contextLines is what contextHash covers, for a person to read.
func (f *File) contextLines(line int) (from int, lines []string) {
	d := f.fold()
	from = max(1, line-ContextRadius)
	for i := from; i <= min(d.lines(), line+ContextRadius); i++ {
		lines = append(lines, strings.ReplaceAll(string(bytes.TrimRight(f.rawLine(i), " \t\r")), "\t", "    "))
	}
	return from, lines
}
