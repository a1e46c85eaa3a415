package audit

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// This file audits what real kernels printed after known numbers of writes to
// trace_marker: what was done is the truth, and no interval may leave it out.

// guests unpacks testdata/guests.tgz, whose README says what it is.
func guests(t *testing.T) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "guests.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		p := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(p, 0o755)
		} else {
			data, rerr := io.ReadAll(r)
			err = errors.Join(rerr, os.WriteFile(p, data, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// done is what really happened to a CPU's events.
type done map[Quantity]uint64

func TestGuests(t *testing.T) {
	dir := guests(t)
	for _, c := range []struct {
		name      string // what was done
		sources   []string
		before    string
		attempted map[int]uint64
		verdict   Verdict
		exit      int
		truth     map[int]done // must lie in what the ledger says
		exact     []Quantity   // of these the ledger must say nothing else
		rules     []string
		quiet     []string
	}{
		{
			name:    "cpu 1 went offline, trace was cleared, 20 more on cpu 0",
			sources: []string{"6.12/offline/f"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 20, Lost: 0}, 1: {Written: 400, Kept: 230, Overwritten: 170}},
			exact: []Quantity{Written, Kept, Overwritten}, rules: []string{"offline-cpu-hidden"},
		},
		{
			name:    "the same, cpu 1 online again",
			sources: []string{"6.12/offline/g", "6.12/offline/g/trace", "6.12/offline/pipe.txt"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 20, Lost: 0, Delivered: 20}, 1: {Written: 400, Overwritten: 170, Delivered: 230, Missing: 170}},
			exact: []Quantity{Written, Overwritten, Delivered}, rules: []string{"offline-cpu-hidden"},
		},
		{
			name:    "the same on 6.1",
			sources: []string{"6.1/offline/g"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 20, Lost: 0}, 1: {Written: 400}}, exact: []Quantity{Written},
		},
		{
			name:    "just cpu 0 was cleared",
			sources: []string{"6.1/clearone/f"}, verdict: Complete,
			truth: map[int]done{0: {Written: 30, Lost: 0}, 1: {Written: 50, Lost: 0}}, exact: []Quantity{Written, Kept},
		},
		{
			name:    "300 and 100, then another buffer_subbuf_size_kb",
			sources: []string{"6.12/subbuf/f1"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 300, Kept: 0, Lost: 300}, 1: {Written: 100, Kept: 0, Lost: 100}},
			exact: []Quantity{Written, Kept}, rules: []string{"known-counter-bug"},
		},
		{
			name:    "50 more on cpu 0",
			sources: []string{"6.12/subbuf/f2", "6.12/subbuf/pipe2.txt"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 350, Kept: 50, Lost: 300, Delivered: 50}, 1: {Written: 100, Kept: 0, Lost: 100, Delivered: 0}},
			exact: []Quantity{Written, Delivered}, rules: []string{"known-counter-bug"},
		},
		{
			name:    "those read",
			sources: []string{"6.12/subbuf/f3"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 350, Kept: 0, Read: 50, Lost: 300}, 1: {Written: 100, Kept: 0, Lost: 100}},
			exact: []Quantity{Written, Kept, Read},
		},
		{
			name:    "the 50 alone, read, by the counters",
			sources: []string{"6.12/subbuf/f3"}, before: "6.12/subbuf/f1", verdict: Complete,
			truth: map[int]done{0: {Written: 50, Kept: 0, Read: 50, Lost: 0}, 1: {Written: 0, Lost: 0}},
			exact: []Quantity{Written, Kept, Read},
		},
		{
			// No text stands in these folders: only "oldest event ts" of 0 shows that
			// the sub-buffers are new ones.
			name:    "700 and 20, another sub-buffer size, no text taken",
			sources: []string{"6.12/order/f"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 700, Kept: 0, Lost: 700}, 1: {Written: 20, Kept: 0, Lost: 20}},
			exact: []Quantity{Written, Kept}, rules: []string{"known-counter-bug"},
		},
		{
			name:    "5000 more on cpu 0",
			sources: []string{"6.12/order/g"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 5700, Kept: 1590, Lost: 4110}, 1: {Written: 20, Kept: 0, Lost: 20}},
			exact: []Quantity{Written}, rules: []string{"known-counter-bug"},
		},
		{
			name:    "the 5000 alone: what was thrown away before them is no loss of theirs",
			sources: []string{"6.12/order/g"}, before: "6.12/order/f", attempted: map[int]uint64{0: 5000, 1: 0}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 5000, Kept: 1590, Overwritten: 3410, Uncounted: 0}, 1: {Written: 0, Kept: 0, Lost: 0}},
			exact: []Quantity{Written, Kept, Overwritten, Uncounted, Lost}, rules: []string{"known-counter-bug"}, quiet: []string{"reset-between-samples", "attempted-versus-written"},
		},
		{
			name:    "the 50 alone, read",
			sources: []string{"6.12/subbuf/f3", "6.12/subbuf/pipe2.txt"}, before: "6.12/subbuf/f1", verdict: Undetermined, exit: 3, // the pipe may hold records of before
			truth: map[int]done{0: {Written: 50, Kept: 0, Read: 50, Lost: 0}, 1: {Written: 0, Lost: 0}},
			exact: []Quantity{Written, Kept, Read},
		},
		{
			name:    "the 50 alone, not yet read",
			sources: []string{"6.12/subbuf/f2"}, before: "6.12/subbuf/f1", verdict: Complete,
			truth: map[int]done{0: {Written: 50, Kept: 50, Lost: 0}, 1: {Written: 0, Lost: 0}},
			exact: []Quantity{Written, Kept}, quiet: []string{"reset-between-samples"},
		},
		{
			name:    "a snapshot of 500 and 40, 25 more, and a second snapshot: the first ring is back",
			sources: []string{"6.12/snap/f3"}, before: "6.12/snap/f1", verdict: Undetermined, exit: 3,
			truth: map[int]done{0: {Written: 0, Overwritten: 0}, 1: {Written: 0, Overwritten: 0}},
			rules: []string{"reset-between-samples"}, quiet: []string{"overwritten-events"},
		},
		{
			name:    "the same since the 25",
			sources: []string{"6.12/snap/f3"}, before: "6.12/snap/f2", verdict: Undetermined, exit: 3,
			truth: map[int]done{0: {Written: 0, Overwritten: 0}},
			rules: []string{"reset-between-samples"}, quiet: []string{"overwritten-events"},
		},
		{
			name:    "1000 with overwrite on, 500 with it off",
			sources: []string{"6.12/flip/f1"}, attempted: map[int]uint64{0: 1500, 1: 20}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 1019, Overwritten: 765, Dropped: 481, Uncounted: 0}, 1: {Written: 20, Lost: 0}},
			exact: []Quantity{Written, Overwritten, Dropped, Uncounted},
		},
		{
			name:    "500 with overwrite off, 1000 with it on",
			sources: []string{"6.12/flip2/f1"}, attempted: map[int]uint64{0: 1500, 1: 20}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 1255, Dropped: 245, Uncounted: 0}, 1: {Written: 20, Lost: 0}},
			exact: []Quantity{Written, Dropped, Uncounted},
		},
		{
			name:    "overwrite off; 11 refused while recording was off as well",
			sources: []string{"6.12/dropoff/g", "6.12/dropoff/pipe.txt"}, attempted: map[int]uint64{0: 1021, 1: 600}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 255, Dropped: 755, Uncounted: 11, Delivered: 255, Missing: 766}, 1: {Written: 255, Dropped: 345, Uncounted: 0, Missing: 345}},
			exact: []Quantity{Written, Dropped, Uncounted, Delivered, Missing},
		},
		{
			name:    "a pipe alone with overwrite off",
			sources: []string{"6.12/dropoff/pipe.txt"}, verdict: Undetermined, exit: 3,
			truth: map[int]done{0: {Written: 255, Dropped: 755, Delivered: 255}, 1: {Written: 255, Dropped: 345, Delivered: 255}}, exact: []Quantity{Delivered},
		},
		{
			name:    "a removed kprobe reset the buffer between 30 and 7",
			sources: []string{"6.12/kdel/s1"}, before: "6.12/kdel/s0", verdict: Undetermined, exit: 3,
			truth: map[int]done{0: {Written: 7, Kept: 7}}, rules: []string{"reset-between-samples"},
		},
		{
			name:    "1000 and 40 before, 300 and 10 since",
			sources: []string{"6.12/before/s1"}, before: "6.12/before/s0", attempted: map[int]uint64{0: 300, 1: 10}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 300, Uncounted: 0}, 1: {Written: 10, Lost: 0}}, exact: []Quantity{Written, Uncounted},
		},
		{
			name:    "33 on cpu 1 while tracing_cpumask had cpu 0 only",
			sources: []string{"6.12/mask/f"}, attempted: map[int]uint64{0: 107, 1: 43}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 107, Uncounted: 0}, 1: {Written: 10, Uncounted: 33}}, exact: []Quantity{Written, Uncounted, Lost}, rules: []string{"uncounted-loss"},
		},
		{
			name:    "the same without the count",
			sources: []string{"6.12/mask/f"}, verdict: Complete,
			truth: map[int]done{0: {Written: 107, Uncounted: 0}, 1: {Written: 10, Uncounted: 33}}, exact: []Quantity{Written},
		},
		{
			name:    "37 and 5 while tracing_on was 0",
			sources: []string{"6.12/offon/f"}, attempted: map[int]uint64{0: 187, 1: 15}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 150, Uncounted: 37}, 1: {Written: 10, Uncounted: 5}}, exact: []Quantity{Written, Uncounted, Lost},
		},
		{
			name:    "a pipe alone that has all that was written and not all that was tried",
			sources: []string{"6.12/offon/pipe.txt"}, attempted: map[int]uint64{Total: 202}, verdict: Lossy, exit: 1,
			truth: map[int]done{Total: {Delivered: 160, Missing: 42, Lost: 42}}, exact: []Quantity{Delivered, Missing},
		},
		{
			name:    "a pipe alone that has all",
			sources: []string{"6.12/offon/pipe.txt"}, attempted: map[int]uint64{Total: 160}, verdict: Confirmed,
			truth: map[int]done{Total: {Delivered: 160, Missing: 0, Written: 160, Overwritten: 0, Dropped: 0, Lost: 0}}, exact: []Quantity{Delivered, Missing, Written, Lost},
		},
		{
			// What the view shows as kept, the pipe took later: one event, once.
			name:    "trace and then trace_pipe, without counters",
			sources: []string{"6.12/offline/g/trace", "6.12/offline/pipe.txt"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 20, Lost: 0, Delivered: 20}, 1: {Written: 400, Overwritten: 170, Delivered: 230}}, exact: []Quantity{Delivered},
		},
		{
			name:    "100 refused while trace was open with pause-on-trace",
			sources: []string{"6.12/liveread/p"}, attempted: map[int]uint64{0: 110, 1: 0}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 10, Uncounted: 100}}, exact: []Quantity{Written, Uncounted},
		},
		{
			name:    "12 refused by option nomarkers",
			sources: []string{"6.12/nomark/f"}, attempted: map[int]uint64{0: 17, 1: 0}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 5, Uncounted: 12}}, exact: []Quantity{Written, Uncounted},
		},
		{
			name:    "a shrink with overwrite off: 2000 tried, 555 of them refused",
			sources: []string{"6.12/shrinkdrop/f1"}, attempted: map[int]uint64{0: 2000, 1: 0}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 1445, Kept: 255, Overwritten: 1190, Dropped: 555, Uncounted: 0}}, exact: []Quantity{Written, Kept, Overwritten, Dropped, Uncounted},
		},
		{
			name:    "the text of 500 and 100, read with option raw",
			sources: []string{"6.12/opts/f", "6.12/opts/ow-raw.txt"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 500, Overwritten: 255, Delivered: 245, Missing: 255}, 1: {Written: 100, Lost: 0, Delivered: 100, Missing: 0}},
			exact: []Quantity{Written, Delivered}, quiet: []string{"sources-apart"},
		},
		{
			name:    "3000 and 50 calls under function_graph, two records each, drained",
			sources: []string{"6.12/func/i", "6.12/func/hpipe.txt"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 6000, Overwritten: 4417, Read: 1583}, 1: {Written: 100, Lost: 0, Read: 100}}, exact: []Quantity{Written, Overwritten, Read},
		},
		{
			name:    "the graph text alone: its lines are no records, its mark counts",
			sources: []string{"6.12/func/hpipe.txt"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 6000, Overwritten: 4417}, 1: {Written: 100, Lost: 0}},
		},
		{
			name:    "740 and 50, dumped to the kernel log",
			sources: []string{"6.12/dump/f1", "6.12/dump/dmesg.txt"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 740, Overwritten: 510, Delivered: 230, Missing: 510}, 1: {Written: 50, Delivered: 50, Missing: 0}},
			exact: []Quantity{Written, Overwritten, Delivered}, quiet: []string{"truncated-input"},
		},
		{
			// Two reads ended inside a line: those events were read, and are in no text.
			name:    "1000, read in part, read in part, 800 more, drained",
			sources: []string{"6.12/partial/f4", "6.12/partial/part1.txt", "6.12/partial/part2.txt", "6.12/partial/part3.txt"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 1800, Overwritten: 1528, Read: 272}, 1: {Written: 50, Read: 50, Lost: 0}},
			exact: []Quantity{Written, Overwritten, Read}, rules: []string{"truncated-input"}, quiet: []string{"pipe-versus-stats"},
		},
		{
			name:    "six times 400, a raw sub-buffer read after each",
			sources: []string{"6.12/rawinter/f1", "6.12/rawinter/cpu0.raw"}, attempted: map[int]uint64{0: 2400, 1: 0}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 2400, Overwritten: 1895, Read: 505, Delivered: 505, Missing: 1895, Uncounted: 0}}, exact: []Quantity{Written, Overwritten, Read, Delivered, Missing, Uncounted},
		},
		{
			name:    "saved while two writers of 60000 went on",
			sources: []string{"6.1/moving/f0"}, verdict: Lossy, exit: 1,
			truth: map[int]done{0: {Written: 60000}, 1: {Written: 60000}},
			quiet: []string{"header-total-mismatch", "lines-versus-entries", "pipe-versus-stats"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := Options{Attempted: c.attempted}
			for _, s := range c.sources {
				opt.Sources = append(opt.Sources, Input{Path: filepath.Join(dir, filepath.FromSlash(s))})
			}
			if c.before != "" {
				opt.Before = &Input{Path: filepath.Join(dir, filepath.FromSlash(c.before))}
			}
			a := runWith(t, opt)
			b := a.Buffers[0]
			if b.Verdict != c.verdict || a.Exit != c.exit {
				t.Errorf("%s, exit %d (%s), want %s and %d", b.Verdict, a.Exit, b.Reason, c.verdict, c.exit)
			}
			for _, con := range b.Ledger.Contradictions() {
				t.Errorf("contradiction: %s", con.What)
			}
			for cpu, truth := range c.truth {
				for q, n := range truth {
					if got := b.Ledger.Count(cpu, q); got.Lo > n || !got.Open && got.Hi < n {
						t.Errorf("cpu %d: %v is %v, and in truth %d", cpu, q, got, n)
					}
				}
				for _, q := range c.exact {
					n, known := truth[q]
					if got := b.Ledger.Count(cpu, q); known && got != Exactly(n) {
						t.Errorf("cpu %d: %v is %v, want %d", cpu, q, got, n)
					}
				}
			}
			for _, r := range c.rules {
				if len(findings(a, r)) == 0 {
					t.Errorf("no finding %s", r)
				}
			}
			for _, r := range c.quiet {
				for _, f := range findings(a, r) {
					t.Errorf("%s: %s", r, f.Message)
				}
			}
		})
	}
}
