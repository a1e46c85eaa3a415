package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"
)

// textTime and textBytes bound the copy of a text while recording is on: the
// kernel goes on printing what is being recorded, and may never end.
const (
	textTime  = 5 * time.Second
	textBytes = 256 << 20
)

// text copies trace or snapshot. While recording is on it ends at a line's end
// after a time or a number of bytes, and says so.
func (s *snapshotter) text(p place, name string, recording bool) {
	from := path.Join(p.from, name)
	f, err := s.tr.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return
	} else if err != nil {
		s.fail(from, err)
		return
	}
	defer f.Close()
	out, err := s.w.Create(path.Join(p.to, name))
	if err != nil {
		s.fail(from, err)
		return
	}
	c := textCopy{limit: recording, until: s.now().Add(textTime), now: s.now}
	err = c.copy(out, f)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		s.failed++
		s.w.NotOpened(from, fmt.Sprintf("read in part (%d bytes): %s", c.n, reasonText(err)))
		return
	}
	if c.cut {
		s.w.Manifest.Notes = append(s.w.Manifest.Notes, fmt.Sprintf("%s: recording is on, and the text did not end; the copy ends after %d bytes", from, c.n))
	}
}

// textCopy copies whole lines, up to a limit.
type textCopy struct {
	limit bool
	until time.Time
	now   func() time.Time
	n     int64
	cut   bool
}

func (c *textCopy) copy(to io.Writer, from io.Reader) error {
	buf := make([]byte, 64<<10)
	var rest []byte // the line that is not complete yet
	put := func(b []byte) error {
		n, err := to.Write(b)
		c.n += int64(n)
		return err
	}
	for {
		n, err := from.Read(buf)
		rest = append(rest, buf[:n]...)
		if i := bytes.LastIndexByte(rest, '\n'); i >= 0 || len(rest) > 1<<20 {
			if i < 0 {
				i = len(rest) - 1 // no text at all: keep it as it is, in bounded memory
			}
			if err := put(rest[:i+1]); err != nil {
				return err
			}
			rest = append(rest[:0], rest[i+1:]...)
		}
		if err != nil {
			if perr := put(rest); perr != nil {
				return perr
			}
			if err == io.EOF {
				return nil
			}
			return err
		}
		if c.limit && (c.n > textBytes || c.now().After(c.until)) {
			c.cut = true
			return nil
		}
	}
}
