package tracedat

import (
	"context"
	"fmt"
	"io"
	"iter"
	"runtime"
	"sync"

	"github.com/ringaudit/ringaudit/tracefs/subbuf"
)

// Options are how to read the trace data of a file. The zero value is good.
type Options struct {
	// Parallel is how many CPUs are read at the same time: as many as the
	// machine runs goroutines, and not more than 4, if 0.
	Parallel int
	// Summary bounds what is kept of each CPU.
	Summary subbuf.Options
}

// CPUSummary is what the data of one CPU holds.
type CPUSummary struct {
	Data *CPUData
	*subbuf.Summary
	// Problems are what of the data is missing or damaged: the CPU's entry in
	// the file's tables, compressed chunks, and all of Summary.Damage.
	Problems []Problem
}

// Buffer is the buffer that the data is of.
func (s *CPUSummary) Buffer() *Buffer { return s.Data.b }

// Summarize reads all trace data of the file: one CPUSummary for each CPUData,
// buffer by buffer in the order of File.Buffers. It takes a few MiB per CPU that
// is read at the same time.
//
// The error is ctx's. What cannot be read is in the Problems of its CPU.
func (f *File) Summarize(ctx context.Context, opt Options) ([]*CPUSummary, error) {
	var out []*CPUSummary
	for _, b := range f.Buffers {
		for _, d := range b.CPUs {
			out = append(out, &CPUSummary{Data: d})
		}
	}
	n := opt.Parallel
	if n <= 0 {
		n = min(4, runtime.GOMAXPROCS(0))
	}
	var wg sync.WaitGroup
	var next struct {
		sync.Mutex
		i int
	}
	for range min(n, len(out)) {
		wg.Go(func() {
			w := &worker{}
			defer w.close()
			for {
				next.Lock()
				i := next.i
				next.i++
				next.Unlock()
				if i >= len(out) || ctx.Err() != nil {
					return
				}
				out[i].Summary, out[i].Problems = out[i].Data.summarize(ctx, opt.Summary, w)
			}
		})
	}
	wg.Wait()
	return out, ctx.Err()
}

// Summarize reads the data of one CPU. The error is ctx's.
func (d *CPUData) Summarize(ctx context.Context, opt subbuf.Options) (*CPUSummary, error) {
	w := &worker{}
	defer w.close()
	s := &CPUSummary{Data: d}
	s.Summary, s.Problems = d.summarize(ctx, opt, w)
	return s, ctx.Err()
}

func (d *CPUData) summarize(ctx context.Context, opt subbuf.Options, w *worker) (*subbuf.Summary, []Problem) {
	problems := append([]Problem(nil), d.problems...)
	if d.Present == 0 {
		return &subbuf.Summary{Layout: d.b.Layout, HolesPerEntry: 1}, problems
	}
	z, err := subbuf.NewSummarizer(d.b.Layout, opt)
	if err != nil {
		problems = append(problems, d.of(Problem{Kind: Damaged, Offset: d.Offset, Page: -1, Section: "header_page",
			Found: err.Error(), Expected: "the layout of the sub-buffers", Lost: "all data of this CPU"}))
		return &subbuf.Summary{Layout: d.b.Layout, HolesPerEntry: 1}, problems
	}
	var more int
	d.read(sink{
		feed: func(b []byte, off int64, packed bool) bool {
			if packed {
				z.FeedPacked(b, off)
			} else {
				z.Feed(b, off)
			}
			return ctx.Err() == nil
		},
		gap: z.Gap,
		problem: func(p Problem) {
			if len(problems) < maxProblems {
				problems = append(problems, p)
			} else {
				more++
			}
		},
	}, w)
	s := z.Finish()
	problems = append(problems, d.damage(s)...)
	if p := d.tail(s); p != nil {
		problems = append(problems, *p)
	}
	if more > 0 {
		problems = append(problems, d.of(Problem{Kind: Damaged, Offset: d.Offset, Page: -1, Found: fmt.Sprintf("%d more problems than are listed", more)}))
	}
	return s, problems
}

// damage says the damaged sub-buffers of a summary as problems. Those that come
// from chunks that could not be had were said when it happened.
func (d *CPUData) damage(s *subbuf.Summary) []Problem {
	var out []Problem
	for i := range s.Damage {
		x := &s.Damage[i]
		if x.Kind == subbuf.Unreadable {
			continue
		}
		p := d.of(Problem{Kind: Damaged, Offset: x.Offset, Page: x.Page, Section: "sub-buffer", Found: x.What()})
		if x.Kind == subbuf.PageCut {
			p.Kind = Truncated
		}
		out = append(out, p)
	}
	return out
}

// tail says that the data ends within a sub-buffer, all records of which are
// there nevertheless, where that has not been said otherwise.
func (d *CPUData) tail(s *subbuf.Summary) *Problem {
	if s.TailBytes == 0 || d.Present < d.Size {
		return nil
	}
	for i := range s.Damage {
		if s.Damage[i].Kind == subbuf.PageCut {
			return nil
		}
	}
	p := d.of(Problem{Kind: Truncated, Offset: d.Offset + d.Present - int64(s.TailBytes), Page: s.Pages - 1, Section: "sub-buffer",
		Found: fmt.Sprintf("%d bytes", s.TailBytes), Expected: fmt.Sprintf("%d", d.b.Layout.SubbufBytes), Hint: "all records that its header announces are there"})
	if d.Packed {
		p.Offset = d.Offset
	}
	return &p
}

// Pages is the sub-buffers of one CPU in order, for a look at each record. A
// pair with an error has no Page: a [*subbuf.Damage] for one that cannot be
// read, or ctx's error, which ends it. A Page is valid until the next one.
func (d *CPUData) Pages(ctx context.Context) iter.Seq2[subbuf.Page, error] {
	return func(yield func(subbuf.Page, error) bool) {
		l := d.b.Layout
		if l.Check() != nil {
			return
		}
		w := &worker{}
		defer w.close()
		var n int64
		more := true
		d.read(sink{
			feed: func(b []byte, off int64, packed bool) bool {
				for ; len(b) > 0; n++ {
					if ctx.Err() != nil {
						more = false
						yield(subbuf.Page{}, ctx.Err())
						return false
					}
					one := b[:min(len(b), l.SubbufBytes)]
					p, err := l.Page(one)
					if x, ok := err.(*subbuf.Damage); ok {
						x.Page, x.Offset = n, off
					}
					if more = yield(p, err); !more {
						return false
					}
					b = b[len(one):]
					if !packed {
						off += int64(len(one))
					}
				}
				return true
			},
			gap: func(pages, off, bytes int64) {
				if more {
					more = yield(subbuf.Page{}, &subbuf.Damage{Kind: subbuf.Unreadable, Page: n, Offset: off, Pages: pages, Bytes: bytes})
					n += pages
				}
			},
			problem: func(Problem) {},
		}, w)
	}
}

// Text is the text of a buffer that was recorded as text, nil if it was not. It
// ends with an error where the file does not have all of it.
func (b *Buffer) Text() io.Reader {
	if b.text == nil {
		return nil
	}
	a := b.text
	if !a.packed {
		return io.NewSectionReader(b.f.r, a.from, a.to-a.from)
	}
	d := &CPUData{b: b, Offset: a.from, Size: a.to - a.from, Present: a.to - a.from, Packed: true, limit: a.to}
	return newTextReader(d)
}
