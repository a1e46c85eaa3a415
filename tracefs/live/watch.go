package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringaudit/ringaudit/tracefs"
)

// Sampler reads the counters of a tracefs again and again. It opens the stats
// files and tracing_on and nothing else, and keeps none of them open: an open
// file would keep its instance from being removed by its owner.
type Sampler struct {
	fsys      fs.FS
	instances map[string]bool // nil: all
	cpus      map[int]bool    // nil: all
	longSize  int
	folders   map[string][]int // CPU numbers by buffer folder
	buf       []byte
}

// TopName is how the top-level buffer is named beside its instances.
const TopName = "top"

// NewSampler makes a Sampler of the tracefs rooted at fsys. instances and cpus
// choose what is read; nil means all.
func NewSampler(fsys fs.FS, instances []string, cpus []int) *Sampler {
	s := &Sampler{fsys: fsys, folders: map[string][]int{}, buf: make([]byte, 4096)}
	if instances != nil {
		s.instances = map[string]bool{}
		for _, n := range instances {
			s.instances[n] = true
		}
	}
	if cpus != nil {
		s.cpus = map[int]bool{}
		for _, c := range cpus {
			s.cpus[c] = true
		}
	}
	if b, err := fs.ReadFile(fsys, "events/header_page"); err == nil {
		if h, err := tracefs.ParseHeaderPage(bytes.NewReader(b), "events/header_page"); err == nil {
			s.longSize = h.LongSize()
		}
	}
	return s
}

// Sample is all counters at one moment, each read once. The CPUs are read one
// after the other.
type Sample struct {
	Time    time.Time
	Buffers []BufferSample // the top level first, then the instances by name
}

// BufferSample is one buffer.
type BufferSample struct {
	Name string
	// Recording is tracing_on; absent if it could not be read.
	Recording tracefs.Field[bool]
	CPUs      []CPUSample
	// Problem says what could not be read; empty if all was.
	Problem string
}

// CPUSample is one CPU's counters. A counter that the kernel did not print, or
// that cannot be right, is absent.
type CPUSample struct {
	CPU int
	// Written is entries + overrun + read: the events since the last reset.
	Written, Kept, Overwritten, Dropped, CommitOverrun, Read tracefs.Field[uint64]
	// Bytes is the kernel's "bytes", which drifts: a hint only.
	Bytes tracefs.Field[uint64]
	// Window is how far back the oldest kept event lies, where the clock counts
	// time and events are kept.
	Window tracefs.Field[time.Duration]
}

// Sample reads the counters now. Buffers that come and go are no error; the
// error is for a tracefs that cannot be read at all.
func (s *Sampler) Sample(now time.Time) (*Sample, error) {
	out := &Sample{Time: now}
	read := func(name, dir string) error {
		if s.instances != nil && !s.instances[name] {
			return nil
		}
		b, err := s.buffer(name, dir)
		if err != nil {
			return err
		}
		out.Buffers = append(out.Buffers, b)
		return nil
	}
	if err := read(TopName, "."); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(s.fsys, "instances")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if err := read(e.Name(), path.Join("instances", e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for dir := range s.folders { // forget those that are gone
		if dir != "." && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return path.Join("instances", e.Name()) == dir }) {
			delete(s.folders, dir)
		}
	}
	return out, nil
}

func (s *Sampler) buffer(name, dir string) (BufferSample, error) {
	b := BufferSample{Name: name}
	cpus, ok := s.folders[dir]
	if !ok {
		var err error
		if cpus, err = s.cpuFolders(dir); err != nil {
			return b, err
		}
		s.folders[dir] = cpus
	}
	if text, err := s.read(path.Join(dir, "tracing_on")); err == nil {
		if f, err := tracefs.ParseBool(bytes.NewReader(text), "tracing_on"); err == nil {
			b.Recording = f
		}
	}
	b.CPUs = make([]CPUSample, 0, len(cpus))
	for _, cpu := range cpus {
		file := path.Join(dir, "per_cpu", "cpu"+strconv.Itoa(cpu), "stats")
		text, err := s.read(file)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				delete(s.folders, dir) // the instance goes, or was made anew
				return b, err
			}
			b.Problem = err.Error()
			continue
		}
		st, err := tracefs.ParseStats(bytes.NewReader(text), file)
		if err != nil {
			b.Problem = err.Error()
			continue
		}
		b.CPUs = append(b.CPUs, s.cpu(cpu, st))
	}
	return b, nil
}

func (s *Sampler) cpuFolders(dir string) ([]int, error) {
	entries, err := fs.ReadDir(s.fsys, path.Join(dir, "per_cpu"))
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), "cpu")
		n, err := strconv.Atoi(rest)
		if !ok || err != nil || n < 0 || n > tracefs.MaxCPUs || (s.cpus != nil && !s.cpus[n]) {
			continue
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return out, nil
}

// read reads a file with one read call.
func (s *Sampler) read(name string) ([]byte, error) {
	f, err := s.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := f.Read(s.buf)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return s.buf[:n], nil
}

func (s *Sampler) cpu(cpu int, st *tracefs.Stats) CPUSample {
	long := s.longSize
	if long == 0 {
		long = 8
	}
	n := func(f tracefs.Field[int64]) (out tracefs.Field[uint64]) {
		if !f.OK {
			return out
		}
		v, ok := tracefs.Unwrap(f.V, long)
		return tracefs.Field[uint64]{V: v, OK: ok, Line: f.Line, Text: f.Text}
	}
	c := CPUSample{
		CPU: cpu, Kept: n(st.Entries), Overwritten: n(st.Overrun), Dropped: n(st.Dropped),
		CommitOverrun: n(st.CommitOverrun), Read: n(st.Read), Bytes: n(st.Bytes),
	}
	if st.Entries.OK && st.Overrun.OK && st.Read.OK {
		c.Written = tracefs.Field[uint64]{V: tracefs.SumCounters(long, st.Entries.V, st.Overrun.V, st.Read.V), OK: true}
	}
	if c.Kept.OK && c.Kept.V > 0 && st.Oldest.OK && st.Now.OK &&
		st.Oldest.V.Unit == tracefs.Nanoseconds && st.Now.V.Unit == tracefs.Nanoseconds && st.Now.V.Value >= st.Oldest.V.Value {
		c.Window = tracefs.Field[time.Duration]{V: time.Duration(st.Now.V.Value - st.Oldest.V.Value), OK: true}
	}
	return c
}

// Rates are how fast the counters of a CPU went between two samples, in events
// per second. A rate is absent where a counter is, or where the counters were
// reset in between.
type Rates struct {
	Written, Overwritten, Dropped, CommitOverrun, Read tracefs.Field[float64]
	// Reset tells that a counter went back: the buffer was reset between the
	// two samples, and nothing can be said of the time between.
	Reset bool
}

// Lost is what was thrown away or refused, per second; absent if any part is.
func (r Rates) Lost() tracefs.Field[float64] {
	if !r.Overwritten.OK || !r.Dropped.OK || !r.CommitOverrun.OK {
		return tracefs.Field[float64]{}
	}
	return tracefs.Field[float64]{V: r.Overwritten.V + r.Dropped.V + r.CommitOverrun.V, OK: true}
}

// Between gives the rates of a CPU from before to now, which lie apart by d.
// Counters never go back but at a reset, and then all of the CPU's may.
func Between(before, now *CPUSample, d time.Duration) (r Rates) {
	if before == nil || d <= 0 {
		return r
	}
	pairs := []struct {
		a, b tracefs.Field[uint64]
		to   *tracefs.Field[float64]
	}{
		{before.Written, now.Written, &r.Written}, {before.Overwritten, now.Overwritten, &r.Overwritten},
		{before.Dropped, now.Dropped, &r.Dropped}, {before.CommitOverrun, now.CommitOverrun, &r.CommitOverrun},
		{before.Read, now.Read, &r.Read},
	}
	for _, p := range pairs {
		if p.a.OK && p.b.OK && p.b.V < p.a.V {
			return Rates{Reset: true}
		}
	}
	for _, p := range pairs {
		if p.a.OK && p.b.OK {
			*p.to = tracefs.Field[float64]{V: float64(p.b.V-p.a.V) / d.Seconds(), OK: true}
		}
	}
	return r
}

// Find gives the sample of a CPU of a buffer; nil if there is none.
func (s *Sample) Find(buffer string, cpu int) *CPUSample {
	if s == nil {
		return nil
	}
	for i := range s.Buffers {
		if s.Buffers[i].Name != buffer {
			continue
		}
		b := &s.Buffers[i]
		at, ok := slices.BinarySearchFunc(b.CPUs, cpu, func(c CPUSample, n int) int { return c.CPU - n })
		if !ok {
			return nil
		}
		return &b.CPUs[at]
	}
	return nil
}

// String names the buffer and what is wrong with it, for messages.
func (b *BufferSample) String() string {
	if b.Problem != "" {
		return fmt.Sprintf("%s (%s)", b.Name, b.Problem)
	}
	return b.Name
}
