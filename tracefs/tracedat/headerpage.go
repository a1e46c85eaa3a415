package tracedat

import (
	"fmt"
	"strings"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// blockName is a part of the file that other parts do not depend on the inside
// of.
type blockName uint8

const (
	blockHeaders blockName = iota
	blockFtrace
	blockEvents
	blockKallsyms
	blockPrintk
	blockCmdlines
)

var blockWords = [...]string{"header_page and header_event", "formats of ftrace's own events", "event formats", "kallsyms", "printk formats", "command lines"}

func (b blockName) String() string { return blockWords[b] }

// block is where such a part is. A whole one can be copied.
type block struct {
	from, to int64
	packed   bool // section of version 7, at from, that has to be unpacked
	whole    bool
}

// readHeaders reads header_page and header_event.
func (f *File) readHeaders(c *cursor) error {
	for _, want := range []string{"header_page", "header_event"} {
		at := c.at()
		tag, err := c.bytes(uint64(len(want)+1), want)
		if err != nil {
			return err
		}
		if string(tag) != want+"\x00" {
			return &valueError{want, at, fmt.Sprintf("%q", tag), fmt.Sprintf("%q", want+"\x00")}
		}
		at = c.at()
		size, err := c.u64("size of " + want)
		if err != nil {
			return err
		}
		if size > maxHeaderText && size <= c.left() {
			return &valueError{"size of " + want, at, fmt.Sprintf("%d bytes", size), fmt.Sprintf("at most %d", maxHeaderText)}
		}
		if want == "header_page" && size > c.left() {
			end, err := f.headerPageEnd(c)
			if err != nil {
				return err
			}
			if end > 0 {
				f.problem(Problem{Kind: Truncated, Offset: at, Section: "size of header_page", Found: fmt.Sprintf("%d bytes, and %d are left in the file", size, c.left()),
					Expected: fmt.Sprint(end), Hint: "it is read up to header_event"})
				size, f.headersRepaired = end, true
			}
		}
		text, err := c.bytes(size, want)
		if err != nil {
			return err
		}
		if want == "header_page" {
			f.takeHeaderPage(string(text), at+8)
		}
	}
	return nil
}

// takeHeaderPage takes the layout of the sub-buffers from the text of
// events/header_page.
func (f *File) takeHeaderPage(text string, at int64) {
	h, err := tracefs.ParseHeaderPage(strings.NewReader(text), "header_page")
	l := subbuf.Layout{Order: f.Order, LongBytes: h.LongSize(), HeaderBytes: int(h.DataOffset.V), SubbufBytes: int(h.SubbufSize())}
	if err == nil {
		err = l.Check()
	}
	if err == nil && h.CommitOffset.V != 8 {
		err = fmt.Errorf("commit at offset %d, expected 8", h.CommitOffset.V)
	}
	if err != nil {
		if len(h.Errors) > 0 {
			err = h.Errors[0]
		}
		f.problem(Problem{Kind: Damaged, Offset: at, Section: "header_page", Found: err.Error(),
			Expected: "the fields timestamp, commit and data", Hint: "older kernels than 2.6.31 have none; the layout is looked for in the data"})
		return
	}
	f.HeaderPageText, f.Layout = text, l
}

// settleLayouts gives each buffer its layout: that of header_page with the size
// that the buffer's own entry has, or what the data shows.
func (f *File) settleLayouts() error {
	for _, b := range f.Buffers {
		if len(b.CPUs) == 0 {
			continue
		}
		if err := f.settleLayout(b); err != nil {
			return err
		}
	}
	if f.HeaderPageText == "" {
		for _, b := range f.Buffers {
			if b.LayoutInferred != "" {
				f.Layout, f.LayoutInferred = b.Layout, b.LayoutInferred
				break
			}
		}
	} else if f.Version == 6 && plausiblePage(f.PageSize) && int(f.PageSize) != f.Layout.SubbufBytes {
		f.problem(Problem{Kind: Damaged, Offset: int64(len(magic)) + 4, Section: "page size", Found: fmt.Sprintf("%d bytes", f.PageSize),
			Expected: fmt.Sprintf("%d as header_page says", f.Layout.SubbufBytes), Hint: "header_page is used"})
	}
	return nil
}

// settleLayout checks the buffer's layout against its first sub-buffers. An
// instance in a version 6 file may have another sub-buffer size than the file
// can say.
func (f *File) settleLayout(b *Buffer) error {
	known := b.Layout.Check() == nil
	for _, d := range b.CPUs {
		if d.Present == 0 {
			continue
		}
		head, err := d.prefix()
		if err != nil {
			return err
		}
		if known {
			got := subbuf.Fit(head, b.Layout)
			if got.Pages == 0 {
				continue
			}
			if got.Valid > 0 {
				return nil
			}
		}
		l, how, err := subbuf.InferLayout(head)
		if err != nil || l.Order != f.Order {
			continue
		}
		was := "no layout"
		if known {
			was = b.Layout.String()
			if !how.Certain() || how.Records < 4 {
				continue
			}
		}
		if l.IDOffset = b.Layout.IDOffset; l == b.Layout {
			continue
		}
		b.Layout, b.LayoutInferred = l, how.String()
		f.problem(Problem{Kind: Note, Offset: d.Offset, Section: "sub-buffers of buffer " + fmt.Sprintf("%q", b.Name), Found: was,
			Hint: "taken as " + l.String() + "; " + how.String()})
		return nil
	}
	return nil
}

// headerPageEnd is the length of header_page by where header_event begins, 0 if
// that is not near.
func (f *File) headerPageEnd(c *cursor) (uint64, error) {
	if c.src == nil {
		return 0, nil
	}
	at, err := f.find(c.pos, min(c.end, c.pos+64<<10), []string{"header_event\x00"})
	if err != nil || at < 0 {
		return 0, err
	}
	return uint64(at - c.pos), nil
}
