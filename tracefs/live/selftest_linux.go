package live

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// Selftest proves this kernel's accounting with a known number of events: it
// writes numbered lines to trace_marker of instances of its own, from one CPU,
// with overwriting on and off, reads them back as text and as raw pages, and
// compares every place that counts them.
func Selftest(m *Mount, o SelftestOptions) (*SelftestResult, error) {
	if o.Events == 0 {
		o.Events = 20000
	}
	if o.BufferKB == 0 {
		o.BufferKB = 8
	}
	began := time.Now()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	r := &SelftestResult{Kernel: unix.ByteSliceToString(u.Release[:]), Arch: unix.ByteSliceToString(u.Machine[:])}

	// All writes from one CPU: then one ring has them all, in order.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, err
	}
	for !before.IsSet(r.CPU) {
		if r.CPU++; r.CPU > 1<<13 {
			return nil, errors.New("this thread may run on no CPU")
		}
	}
	one.Set(r.CPU)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return nil, err
	}
	defer unix.SchedSetaffinity(0, &before)

	for _, c := range []struct {
		name             string
		overwrite, pages bool
	}{
		{"overwrite, text", true, false},
		{"overwrite, pages", true, true},
		{"no overwrite, text", false, false},
		{"no overwrite, pages", false, true},
	} {
		sc := SelftestCase{Name: c.name, Writes: o.Events, Wrong: []string{}}
		if err := selftestCase(m, r, &sc, o.BufferKB, c.overwrite, c.pages); err != nil {
			return r, fmt.Errorf("selftest, %s: %w", c.name, err)
		}
		r.Cases = append(r.Cases, sc)
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

func selftestCase(m *Mount, r *SelftestResult, c *SelftestCase, kb int, overwrite, pages bool) (err error) {
	i, err := m.NewInstance()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	for _, s := range [][2]string{
		{"buffer_size_kb", strconv.Itoa(kb)},
		{"options/overwrite", map[bool]string{true: "1", false: "0"}[overwrite]},
	} {
		if err := i.Write(s[0], s[1]); err != nil {
			return err
		}
	}
	if text, err := i.Read("buffer_size_kb"); err == nil {
		if size, err := tracefs.ParseSize(strings.NewReader(text), "buffer_size_kb"); err == nil {
			r.SizeKB = size.KB.V
		}
	}
	if r.Subbuf, err = i.subbufBytes(); err != nil {
		return err
	}
	if err := i.writeNumbers(c); err != nil {
		return err
	}
	if err := i.Write("tracing_on", "0"); err != nil {
		return err
	}
	st, err := i.cpuStats(r.CPU)
	if err != nil {
		return err
	}
	c.Kept, c.Overwritten = uint64(st.Entries.V), uint64(st.Overrun.V)
	c.Dropped, c.CommitOverrun = uint64(st.Dropped.V), uint64(st.CommitOverrun.V)
	if err := i.readHeader(c); err != nil {
		return err
	}
	if pages {
		err = i.readPages(r, c)
	} else {
		err = i.readLines(c)
	}
	if err != nil {
		return err
	}
	if st, err = i.cpuStats(r.CPU); err != nil {
		return err
	}
	c.Read = uint64(st.Read.V)
	c.compare(overwrite, pages, uint64(st.Entries.V))
	return nil
}

const numberedPrefix = "ringaudit selftest "

// writeNumbers writes the events. A refused one is answered with EBADF
// (tracing_mark_write in kernel/trace/trace.c).
func (i *Instance) writeNumbers(c *SelftestCase) error {
	fd, err := unix.Open(filepath.Join(i.Path, "trace_marker"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "trace_marker", Err: err}
	}
	defer unix.Close(fd)
	buf := make([]byte, 0, 64)
	for n := 1; n <= c.Writes; n++ {
		buf = fmt.Appendf(buf[:0], "%s%08d\n", numberedPrefix, n)
		switch _, err := unix.Write(fd, buf); {
		case errors.Is(err, unix.EBADF):
			c.Refused++
		case errors.Is(err, unix.EINTR):
			n--
		case err != nil:
			return fmt.Errorf("writing event %d: %w", n, err)
		}
	}
	return nil
}

func (i *Instance) cpuStats(cpu int) (*tracefs.Stats, error) {
	name := fmt.Sprintf("per_cpu/cpu%d/stats", cpu)
	text, err := i.Read(name)
	if err != nil {
		return nil, err
	}
	st, err := tracefs.ParseStats(strings.NewReader(text), name)
	if err != nil {
		return nil, err
	}
	if !st.Entries.OK || !st.Overrun.OK || !st.Dropped.OK || !st.CommitOverrun.OK || !st.Read.OK {
		return nil, fmt.Errorf("%s: a counter is missing in %q", name, text)
	}
	return st, nil
}

// "# entries-in-buffer/entries-written: 286/20000   #P:2"
var headerNumbers = regexp.MustCompile(`entries-in-buffer/entries-written: ([0-9]+)/([0-9]+)`)

func (i *Instance) readHeader(c *SelftestCase) error {
	// Recording is off already, so that opening trace stops nothing.
	text, err := i.Read("trace")
	if err != nil {
		return err
	}
	h := headerNumbers.FindStringSubmatch(text)
	if h == nil {
		return fmt.Errorf("trace has no header with entries-written in its first %d bytes", len(text))
	}
	if c.HeaderKept, err = strconv.ParseUint(h[1], 10, 64); err != nil {
		return err
	}
	c.HeaderWritten, err = strconv.ParseUint(h[2], 10, 64)
	return err
}

var (
	lostLine     = regexp.MustCompile(`^CPU:[0-9]+ \[LOST (?:([0-9]+) )?EVENTS\]`)
	numberedLine = regexp.MustCompile(regexp.QuoteMeta(numberedPrefix) + `([0-9]{8})$`)
)

// readLines drains trace_pipe.
func (i *Instance) readLines(c *SelftestCase) error {
	fd, err := unix.Open(filepath.Join(i.Path, "trace_pipe"), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "trace_pipe", Err: err}
	}
	defer unix.Close(fd)
	var all bytes.Buffer
	buf := make([]byte, 1<<16)
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.EAGAIN) || (err == nil && n == 0) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading trace_pipe: %w", err)
		}
		all.Write(buf[:n])
	}
	for line := range strings.Lines(all.String()) {
		line = strings.TrimRight(line, "\n")
		if m := lostLine.FindStringSubmatch(line); m != nil {
			c.Marks++
			if m[1] == "" {
				c.Unnumbered++
				continue
			}
			n, err := strconv.ParseUint(m[1], 10, 64)
			if err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
			c.Lost += n
			continue
		}
		if m := numberedLine.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			c.take(n)
		}
	}
	return nil
}

// take counts one event that came back.
func (c *SelftestCase) take(n int) {
	if c.Got == 0 {
		c.First = n
	} else if n != c.Last+1 {
		c.wrong("event %d came after event %d", n, c.Last)
	}
	c.Last = n
	c.Got++
}

func (c *SelftestCase) wrong(format string, args ...any) {
	if len(c.Wrong) < 10 {
		c.Wrong = append(c.Wrong, fmt.Sprintf(format, args...))
	}
}

// readPages drains trace_pipe_raw.
func (i *Instance) readPages(r *SelftestResult, c *SelftestCase) error {
	name := filepath.Join(i.Path, "per_cpu", fmt.Sprintf("cpu%d", r.CPU), "trace_pipe_raw")
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	layout := subbuf.NewLayout(nativeOrder(), strconv.IntSize/8, r.Subbuf)
	r.Capacity = layout.Capacity()
	buf := make([]byte, r.Subbuf)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN) || (err == nil && n == 0):
			return nil
		case err != nil:
			return fmt.Errorf("reading trace_pipe_raw: %w", err)
		}
		c.Pages++
		page, err := layout.Page(buf[:n])
		if err != nil {
			return err
		}
		if page.Missed {
			c.Marks++
			if page.Known {
				c.Lost += page.Lost
			} else {
				c.Unnumbered++
			}
		}
		for rec, err := range page.Records() {
			if err != nil {
				return err
			}
			if rec.Kind != subbuf.Data {
				continue
			}
			at := bytes.Index(rec.Payload, []byte(numberedPrefix))
			if at < 0 || at+len(numberedPrefix)+8 > len(rec.Payload) {
				c.wrong("page %d holds a record that is none of ours", c.Pages)
				continue
			}
			num, err := strconv.Atoi(string(rec.Payload[at+len(numberedPrefix) : at+len(numberedPrefix)+8]))
			if err != nil {
				c.wrong("page %d: %v", c.Pages, err)
				continue
			}
			c.take(num)
		}
	}
}

func nativeOrder() binary.ByteOrder {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

// compare holds everything against everything.
func (c *SelftestCase) compare(overwrite, pages bool, leftover uint64) {
	writes, refused := uint64(c.Writes), uint64(c.Refused)
	equal := func(what string, a, b uint64) {
		if a != b {
			c.wrong("%s: %d and %d", what, a, b)
		}
	}
	equal("kept + overwritten + dropped + commit overrun = writes", c.Kept+c.Overwritten+c.Dropped+c.CommitOverrun, writes)
	equal("dropped + commit overrun = writes refused with EBADF", c.Dropped+c.CommitOverrun, refused)
	equal("kept = the header's entries-in-buffer", c.Kept, c.HeaderKept)
	equal("kept + overwritten = the header's entries-written", c.Kept+c.Overwritten, c.HeaderWritten)
	equal("events got = kept", c.Got, c.Kept)
	equal("read events = events got", c.Read, c.Got)
	equal("nothing left after reading", leftover, 0)
	if overwrite {
		equal("dropped with overwriting on", c.Dropped, 0)
		equal("the last event got = the last written", uint64(c.Last), writes)
		if pages && c.Unnumbered > 0 {
			// A page without room for a number has the mark alone.
			equal("marks of loss, as something was overwritten", uint64(min(c.Marks, 1)), min(c.Overwritten, 1))
		} else {
			equal("sum of the marks of loss = overwritten", c.Lost, c.Overwritten)
			equal("marks of loss without a number", uint64(c.Unnumbered), 0)
		}
		return
	}
	equal("overwritten with overwriting off", c.Overwritten, 0)
	equal("marks of loss with overwriting off", uint64(c.Marks), 0)
	equal("the first event got = the first written", uint64(c.First), 1)
}
