package tracefs

import (
	"bytes"
	"io"
)

const (
	readerSize = 256 << 10 // of the buffer; one file fits the second-level cache
	longLine   = 64 << 10  // bytes of a line that are looked at
)

// lineReader cuts a stream into lines without allocating: the lines are slices
// of its one buffer. Of a line longer than longLine it keeps the beginning and
// passes over the rest.
type lineReader struct {
	r          io.Reader
	buf        []byte
	start, end int // the bytes of buf that are read and not yet given out
	err        error

	bytes int64 // given out, line ends included
	nuls  int64
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: r, buf: make([]byte, readerSize)}
}

// next gives out the next line without its "\n". ended is false for a last line
// without one, long is true if line is only the beginning of it. ok is false at
// the end of the stream or at an error, which is in err then.
func (l *lineReader) next() (line []byte, ended, long, ok bool) {
	searched := 0
	for {
		if i := bytes.IndexByte(l.buf[l.start+searched:l.end], '\n'); i >= 0 {
			n := searched + i
			line = l.buf[l.start : l.start+n]
			l.start += n + 1
			l.bytes += int64(n + 1)
			if n > longLine {
				return line[:longLine], true, true, true
			}
			return line, true, false, true
		}
		searched = l.end - l.start
		if searched > longLine {
			return l.passOver()
		}
		if !l.fill() {
			break
		}
	}
	if l.end == l.start {
		return nil, false, false, false
	}
	line = l.buf[l.start:l.end]
	l.bytes += int64(len(line))
	l.start = l.end
	if len(line) > longLine {
		return line[:longLine], false, true, true
	}
	return line, false, false, true
}

// peek gives up to n bytes of what comes next, without giving them out. It may
// move the buffer, so the line that is still in use is copied then.
func (l *lineReader) peek(n int, line *[]byte) []byte {
	for l.end-l.start < n && l.err == nil {
		*line = bytes.Clone(*line)
		if !l.fill() {
			break
		}
	}
	return l.buf[l.start:min(l.end, l.start+n)]
}

// passOver skips to the end of a line of which more than longLine bytes are in
// the buffer without an end in sight.
func (l *lineReader) passOver() (line []byte, ended, long, ok bool) {
	copy(l.buf, l.buf[l.start:l.start+longLine])
	l.bytes += int64(l.end - l.start)
	l.start, l.end = longLine, longLine
	for l.fill() {
		tail := l.buf[l.start:l.end]
		i := bytes.IndexByte(tail, '\n')
		if i >= 0 {
			l.start += i + 1
			l.bytes += int64(i + 1)
			return l.buf[:longLine], true, true, true
		}
		l.bytes += int64(len(tail))
		l.start, l.end = longLine, longLine
	}
	return l.buf[:longLine], false, true, true
}

// fill reads more behind end, moving what is left to the front if that makes
// room. In passOver start is longLine and what is before it stays.
func (l *lineReader) fill() bool {
	if l.err != nil {
		return false
	}
	if l.start == l.end && l.start != longLine {
		l.start, l.end = 0, 0
	} else if l.end == len(l.buf) {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.start = 0
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		if n > 0 {
			l.nuls += int64(bytes.Count(l.buf[l.end:l.end+n], []byte{0}))
			l.end += n
		}
		if err != nil {
			l.err = err
			return n > 0
		}
		if n > 0 {
			return true
		}
	}
	l.err = io.ErrNoProgress
	return false
}
