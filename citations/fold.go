package citations

import (
	"bytes"
	"encoding/binary"
	"sort"
	"strings"
)

// Fold is s as matching sees it: white space at both ends removed, every run of
// white space inside one space.
func Fold(s string) string { return strings.Join(strings.Fields(s), " ") }

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' }

// folded is a text line by line as matching sees it.
type folded struct {
	text   []byte  // the folded lines, each ended by a newline
	starts []int32 // where each line begins in text, and one entry for the end
}

func fold(data []byte) folded {
	f := folded{text: make([]byte, 0, len(data)+1), starts: make([]int32, 1, len(data)/24+2)}
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		line := data
		if end >= 0 {
			line, data = data[:end], data[end+1:]
		} else {
			data = nil
		}
		gap, first := false, true
		for _, c := range line {
			if isBlank(c) {
				gap = true
				continue
			}
			if gap && !first {
				f.text = append(f.text, ' ')
			}
			gap, first = false, false
			f.text = append(f.text, c)
		}
		f.text = append(f.text, '\n')
		f.starts = append(f.starts, int32(len(f.text)))
	}
	return f
}

// lines is the number of lines.
func (f *folded) lines() int { return len(f.starts) - 1 }

// line is line n, counted from 1, empty outside the text.
func (f *folded) line(n int) []byte {
	if n < 1 || n > f.lines() {
		return nil
	}
	return f.text[f.starts[n-1] : f.starts[n]-1]
}

// lineAt is the line that holds offset at of text.
func (f *folded) lineAt(at int) int {
	return sort.Search(f.lines(), func(i int) bool { return int(f.starts[i+1]) > at }) + 1
}

// column is where, in the unfolded line, the byte at index at of its folded
// form stands; both count from 0.
func column(line []byte, at int) int {
	n, gap, first := 0, false, true
	for i, c := range line {
		if isBlank(c) {
			gap = true
			continue
		}
		if gap && !first {
			n++
		}
		gap, first = false, false
		if n >= at {
			return i
		}
		n++
	}
	return len(line)
}

// matcher finds any number of texts in one pass over a file: it looks at every
// eight bytes once, and compares only where some text begins with them.
type matcher struct {
	filter [1 << 10]uint64
	begins map[uint64][]int
	single []int // searched one by one: fewer than eight bytes, or few texts in all
	texts  [][]byte
}

const gram = 8

func newMatcher(texts []string) *matcher {
	m := &matcher{begins: make(map[uint64][]int), texts: make([][]byte, len(texts))}
	for i, t := range texts {
		m.texts[i] = []byte(t)
		if len(t) < gram || len(texts) <= 2 {
			m.single = append(m.single, i)
			continue
		}
		k := binary.LittleEndian.Uint64(m.texts[i])
		m.begins[k] = append(m.begins[k], i)
		h := hashGram(k)
		m.filter[h>>6] |= 1 << (h & 63)
	}
	return m
}

func hashGram(k uint64) uint64 { return k * 0x9e3779b97f4a7c15 >> 48 }

// find calls hit with the number of each text and the offset of each place at
// which it stands; the places of one text in their order.
func (m *matcher) find(text []byte, hit func(n, at int)) {
	for i := 0; i+gram <= len(text) && len(m.begins) > 0; i++ {
		k := binary.LittleEndian.Uint64(text[i:])
		h := hashGram(k)
		if m.filter[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for _, n := range m.begins[k] {
			if bytes.HasPrefix(text[i:], m.texts[n]) {
				hit(n, i)
			}
		}
	}
	for _, n := range m.single {
		t := m.texts[n]
		if len(t) == 0 {
			continue
		}
		for at := 0; ; {
			i := bytes.Index(text[at:], t)
			if i < 0 {
				break
			}
			hit(n, at+i)
			at += i + 1
		}
	}
}
