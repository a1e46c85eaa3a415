package audit

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/internal/fixtures"
)

// run audits paths with no other option.
func run(t testing.TB, paths ...string) *Audit {
	t.Helper()
	var opt Options
	for _, p := range paths {
		opt.Sources = append(opt.Sources, Input{Path: p})
	}
	return runWith(t, opt)
}

func runWith(t testing.TB, opt Options) *Audit {
	t.Helper()
	a, err := Run(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// buffer finds a buffer by name.
func buffer(t testing.TB, a *Audit, name string) *Buffer {
	t.Helper()
	for _, b := range a.Buffers {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("no buffer %q among %v", name, a.names())
	return nil
}

func findings(a *Audit, rule string) []Finding {
	var out []Finding
	for _, f := range a.Findings {
		if f.Rule == rule {
			out = append(out, f)
		}
	}
	return out
}

// statsLines reads a stats file in the plainest way there is, apart from the
// package under test.
func statsLines(t testing.TB, name string) map[string]int64 {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]int64{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		k, v, _ := strings.Cut(sc.Text(), ": ")
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
			out[k] = n
		}
	}
	return out
}

// tracefsFolders are all folders with per_cpu in the captures, without the
// phases.
func tracefsFolders(t testing.TB) []string {
	var out []string
	err := filepath.WalkDir(fixtures.Captures(t), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && !strings.Contains(p, "stats.") {
			if _, err := os.Stat(filepath.Join(p, "per_cpu")); err == nil {
				out = append(out, p)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("only %d tracefs folders found", len(out))
	}
	return out
}

// Each number of every stats file is in the ledger exactly; of a boot-mapped
// buffer at least. Nothing without loss is lossy, and no folder contradicts
// itself.
func TestEveryFolder(t *testing.T) {
	for _, dir := range tracefsFolders(t) {
		t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir), func(t *testing.T) {
			a := run(t, dir)
			b := buffer(t, a, "top")
			_, err := os.Stat(filepath.Join(dir, "last_boot_info"))
			atLeast := err == nil
			var lost int64
			files, _ := filepath.Glob(filepath.Join(dir, "per_cpu/cpu*/stats"))
			for _, name := range files {
				cpu, _ := cpuOfPath(name)
				st := statsLines(t, name)
				lost += st["overrun"] + st["dropped events"] + st["commit overrun"]
				for q, v := range map[Quantity]int64{
					Kept: st["entries"], Overwritten: st["overrun"], CommitOverrun: st["commit overrun"], Dropped: st["dropped events"], Read: st["read events"],
					Written: st["entries"] + st["overrun"] + st["read events"],
				} {
					want := Exactly(uint64(v))
					if atLeast {
						want = AtLeast(uint64(v))
					}
					if got := b.Ledger.Count(cpu, q); got != want {
						t.Errorf("cpu %d: %v is %v, the stats file says %v", cpu, q, got, want)
					}
				}
			}
			switch {
			case lost > 0 && b.Verdict != Lossy:
				t.Errorf("verdict %s (%s), and %d events were lost", b.Verdict, b.Reason, lost)
			case lost == 0 && b.Verdict == Lossy:
				t.Errorf("lossy (%s), and no counter of loss is above zero", b.Reason)
			case lost == 0 && atLeast && b.Verdict != Undetermined:
				t.Errorf("verdict %s of a boot-mapped buffer without a counter of loss, want undetermined", b.Verdict)
			case lost == 0 && !atLeast && b.Verdict != Complete:
				t.Errorf("verdict %s (%s), want complete", b.Verdict, b.Reason)
			}
			for _, f := range a.Findings {
				if RuleByID(f.Rule).Group == GroupContradiction && f.Severity == SeverityError {
					t.Errorf("%s: %s", f.Rule, f.Message)
				}
			}
		})
	}
}

var (
	lostLine  = regexp.MustCompile(`^CPU:(\d+) \[LOST (\d+) EVENTS\]$`)
	entryLine = regexp.MustCompile(`^# entries-in-buffer/entries-written: (\d+)/(\d+) `)
)

// Every text: what its header and marks prove is in the ledger, and never more.
func TestEveryText(t *testing.T) {
	n := 0
	err := filepath.WalkDir(fixtures.Captures(t), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		base := filepath.Base(p)
		if base != "trace" && !strings.HasPrefix(base, "trace.live") && !strings.HasPrefix(base, "trace.after") && base != "trace_pipe.txt" && base != "snapshot" {
			return nil
		}
		var over, marks uint64
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			if m := lostLine.FindStringSubmatch(sc.Text()); m != nil {
				k, _ := strconv.ParseUint(m[2], 10, 64)
				marks += k
			}
			if m := entryLine.FindStringSubmatch(sc.Text()); m != nil {
				in, _ := strconv.ParseUint(m[1], 10, 64)
				written, _ := strconv.ParseUint(m[2], 10, 64)
				over = written - in
			}
		}
		n++
		a := run(t, p)
		b := a.Buffers[0]
		want := AtLeast(max(over, marks))
		if got := b.Ledger.Count(Total, Overwritten); got != want {
			t.Errorf("%s: overwritten %v, header and marks prove %v", p, got, want)
		}
		if got := b.Ledger.Count(Total, Dropped); !got.IsUnknown() {
			t.Errorf("%s: dropped is %v, no text tells it", p, got)
		}
		if a.Verdict == Complete || a.Verdict == Confirmed {
			t.Errorf("%s: %s by a text alone", p, a.Verdict)
		}
		if want.Lo == 0 && a.Exit != 3 {
			t.Errorf("%s: exit %d, want 3", p, a.Exit)
		}
		if want.Lo > 0 && (a.Exit != 1 || a.Verdict != Lossy) {
			t.Errorf("%s: %s, exit %d, want lossy and 1", p, a.Verdict, a.Exit)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 60 {
		t.Errorf("only %d texts", n)
	}
}

// A folder and what its readers saved are one ledger: no contradiction, nothing
// counted twice, and all that was delivered is there.
func TestFolderWithItsTexts(t *testing.T) {
	for _, dir := range tracefsFolders(t) {
		pipe := filepath.Join(dir, "trace_pipe.txt")
		if _, err := os.Stat(pipe); err != nil || strings.Contains(dir, "persistent") {
			continue
		}
		sources := []string{dir, pipe}
		if _, err := os.Stat(filepath.Join(dir, "trace")); err == nil {
			sources = append(sources, filepath.Join(dir, "trace"))
		}
		t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir), func(t *testing.T) {
			alone, a := run(t, dir), run(t, sources...)
			if len(a.Buffers) != len(alone.Buffers) {
				t.Fatalf("buffers %v, the folder has %v", a.names(), alone.names())
			}
			b := buffer(t, a, "top")
			for _, q := range []Quantity{Kept, Overwritten, Read, Dropped, CommitOverrun, Written, Lost} {
				if got, want := b.Ledger.Count(Total, q), buffer(t, alone, "top").Ledger.Count(Total, q); got != want {
					t.Errorf("%v is %v with the texts and %v without", q, got, want)
				}
			}
			for _, f := range a.Findings {
				if RuleByID(f.Rule).Group == GroupContradiction && f.Severity == SeverityError {
					t.Errorf("%s: %s", f.Rule, f.Message)
				}
			}
			kept, read := b.Ledger.Count(Total, Kept), b.Ledger.Count(Total, Read)
			if got := b.Ledger.Count(Total, Delivered); got != kept.Plus(read) && b.Tracer != "function_graph" {
				t.Errorf("delivered %v, entries and read events are %v", got, kept.Plus(read))
			}
		})
	}
}

type row map[Quantity]Count

// The numbers of the project's first real captures, from their stats files.
func TestNumbers(t *testing.T) {
	k := filepath.Join(fixtures.Captures(t), "x86_64-6.1.0-57-cloud-amd64")
	at := func(names ...string) []string {
		var out []string
		for _, n := range names {
			out = append(out, filepath.Join(k, filepath.FromSlash(n)))
		}
		return out
	}
	cases := []struct {
		sources []string
		opt     Options
		verdict Verdict
		exit    int
		buffer  string
		rows    map[int]row
		rules   []string // that fire
		quiet   []string // that do not
	}{
		{sources: at("small-overwrite"), verdict: Lossy, exit: 1, buffer: "top", rows: map[int]row{
			0:     {Kept: Exactly(432), Overwritten: Exactly(1329940), CommitOverrun: Exactly(5106), Written: Exactly(1330372), Lost: AtLeast(1335046), Attempted: AtLeast(1335478)},
			Total: {Kept: Exactly(862), Written: Exactly(2923772), Overwritten: Exactly(2922910), CommitOverrun: Exactly(10748)},
		}, rules: []string{"overwritten-events", "commit-overrun", "trace-body-silent", "zero-counter-misread", "impossible-counter"}, quiet: []string{"header-total-mismatch"}},
		{sources: at("no-overwrite-events"), verdict: Lossy, exit: 1, buffer: "top", rules: []string{"dropped-events"}, quiet: []string{"overwritten-events"}},
		{sources: at("no-overwrite-events/trace"), verdict: Undetermined, exit: 3, buffer: "trace"},
		{sources: at("small-overwrite/trace"), verdict: Lossy, exit: 1, buffer: "trace", rows: map[int]row{
			0: {Overwritten: Unknown()}, Total: {Overwritten: AtLeast(2922910), Lost: AtLeast(2922910)},
		}, rules: []string{"trace-body-silent"}},
		{sources: at("small-overwrite/per_cpu/cpu0/trace"), verdict: Lossy, exit: 1, buffer: "trace", rows: map[int]row{0: {Delivered: Exactly(432)}}},
		{sources: at("small-overwrite/trace_pipe.txt"), verdict: Lossy, exit: 1, buffer: "trace_pipe.txt", rows: map[int]row{
			0: {Overwritten: AtLeast(1329940)}, 1: {Overwritten: AtLeast(1592970)}, Total: {Overwritten: AtLeast(2922910), Delivered: Exactly(862)}}},
		{sources: at("small-overwrite", "small-overwrite/trace", "small-overwrite/trace_pipe.txt"), verdict: Lossy, exit: 1, buffer: "top", rows: map[int]row{
			Total: {Overwritten: Exactly(2922910), Delivered: Exactly(862), Missing: AtLeast(2933658)}}},
		{sources: at("no-loss"), verdict: Complete, exit: 0, buffer: "top"},
		{sources: at("known-count-overwrite"), opt: Options{Attempted: map[int]uint64{Total: 3500}}, verdict: Lossy, exit: 1, buffer: "top", rows: map[int]row{
			0: {Written: Exactly(3000)}, 1: {Written: Exactly(500)}, Total: {Uncounted: Exactly(0)}}, quiet: []string{"uncounted-loss"}},
		{sources: at("known-count-overwrite"), opt: Options{Attempted: map[int]uint64{Total: 3501}}, verdict: Lossy, exit: 1, buffer: "top", rows: map[int]row{
			Total: {Uncounted: Exactly(1)}}, rules: []string{"uncounted-loss"}},
		{sources: at("known-count-overwrite"), opt: Options{Attempted: map[int]uint64{Total: 3499}}, verdict: Lossy, exit: 1, buffer: "top", rules: []string{"attempted-versus-written"}},
		{sources: at("clocks/local"), opt: Options{Attempted: map[int]uint64{Total: 1}}, verdict: Confirmed, exit: 0, buffer: "top"},
		{sources: at("clocks/local"), opt: Options{Attempted: map[int]uint64{Total: 2}}, verdict: Lossy, exit: 1, buffer: "top", rules: []string{"uncounted-loss"}},
		{sources: at("clocks/local"), opt: Options{RequireConfirmed: true}, verdict: Complete, exit: 3, buffer: "top"},
		{sources: at("live-trace-read/trace.live-1"), verdict: Lossy, exit: 1, buffer: "trace.live-1", rows: map[int]row{
			Total: {Delivered: Exactly(11889), Overwritten: AtLeast(113), Missing: AtLeast(133)}}, rules: []string{"loss-of-unknown-size", "truncated-input"}},
		{sources: at("instance"), verdict: Lossy, exit: 1, buffer: "foo", rows: map[int]row{Total: {Overwritten: Exactly(12170)}}},
		{sources: at("snapshot"), verdict: Lossy, exit: 1, buffer: "snapshot", rows: map[int]row{Total: {Overwritten: AtLeast(726450)}}},
		{sources: at("kretprobe"), verdict: Lossy, exit: 1, buffer: "top", rows: map[int]row{Total: {Lost: Unknown(), Kept: Exactly(291)}}, rules: []string{"kretprobe-missed", "probe-pair-gap"}},
		{sources: at("per-cpu-size"), verdict: Complete, exit: 0, buffer: "top", rules: []string{"mixed-cpu-sizes"}},
		{sources: at("tracedat/default.dat"), verdict: Lossy, exit: 1, buffer: "top", rows: map[int]row{
			0: {Delivered: Exactly(26214), Overwritten: Exactly(7683)}, 1: {Delivered: Exactly(17204), Overwritten: Exactly(7112)}}},
		{sources: at("tracedat/extract.dat"), verdict: Lossy, exit: 1, buffer: "top", rows: map[int]row{0: {Overwritten: Exactly(38474)}, 1: {Overwritten: Exactly(17531)}}},
		{sources: at("tracedat/instance.dat"), verdict: Lossy, exit: 1, buffer: "foo", rows: map[int]row{0: {Overwritten: Exactly(4633)}, 1: {Overwritten: Exactly(4178)}}},
		{sources: at("tracedat/nolost.dat"), verdict: Complete, exit: 0, buffer: "top"},
		{sources: at("tracedat/v6.dat"), verdict: Lossy, exit: 1, buffer: "top", rows: map[int]row{
			0: {Delivered: Exactly(27629), Overwritten: Exactly(3943)}, 1: {Delivered: Exactly(24222), Overwritten: Exactly(2937)}}},
		{sources: at("tracedat/v7-zstd.dat"), verdict: Lossy, exit: 1, buffer: "top", rows: map[int]row{
			0: {Delivered: Exactly(7677), Overwritten: Exactly(0)}, 1: {Delivered: Exactly(24323), Overwritten: Exactly(24832)}}},
		{sources: at("../x86_64-6.12.117+deb12-cloud-amd64/persistent-second-boot"), verdict: Undetermined, exit: 3, buffer: "top", rules: []string{"rebuilt-counters"}},
		{sources: at("../x86_64-6.12.117+deb12-cloud-amd64/persistent-first-boot"), verdict: Lossy, exit: 1, buffer: "top", rows: map[int]row{Total: {Overwritten: AtLeast(12192)}}},
	}
	for _, c := range cases {
		t.Run(strings.Join(c.sources, " ")[len(k):], func(t *testing.T) {
			opt := c.opt
			for _, s := range c.sources {
				opt.Sources = append(opt.Sources, Input{Path: s})
			}
			a := runWith(t, opt)
			if a.Verdict != c.verdict || a.Exit != c.exit {
				t.Errorf("%s, exit %d (%s), want %s and %d", a.Verdict, a.Exit, a.Reason, c.verdict, c.exit)
			}
			b := buffer(t, a, c.buffer)
			for cpu, want := range c.rows {
				for q, n := range want {
					if got := b.Ledger.Count(cpu, q); got != n {
						t.Errorf("cpu %d: %v is %v, want %v", cpu, q, got, n)
					}
				}
			}
			for _, r := range c.rules {
				if len(findings(a, r)) == 0 {
					t.Errorf("no finding %s", r)
				}
			}
			for _, r := range c.quiet {
				if f := findings(a, r); len(f) > 0 {
					t.Errorf("%s: %s", r, f[0].Message)
				}
			}
			if len(a.BlindSpots) == 0 && a.Verdict != Confirmed {
				t.Error("no blind spot")
			}
			for _, f := range a.Findings {
				if len(f.Evidence) == 0 {
					t.Errorf("%s has no evidence: %s", f.Rule, f.Message)
				}
			}
		})
	}
}

// Of CPU 0 of default.dat, 3845 lie in counted holes and 3838 in 6 without.
func TestHolesWithoutCount(t *testing.T) {
	a := run(t, filepath.Join(fixtures.Captures(t), "x86_64-6.1.0-57-cloud-amd64/tracedat/default.dat"))
	c := buffer(t, a, "top").CPUs[0]
	if c.CountedLost != 3845 || c.UnknownMarks != 6 || c.UnknownLost != Exactly(3838) {
		t.Errorf("counted %d, %d marks without a number, theirs %v; want 3845, 6, 3838", c.CountedLost, c.UnknownMarks, c.UnknownLost)
	}
	for _, h := range c.Holes {
		if !h.Counted && h.Events != Between(1, 3833) {
			t.Errorf("a hole without a number holds %v, want 1 to 3833", h.Events)
		}
	}
}

func TestSyntheticDat(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(fixtures.Captures(t), "tracedat-synthetic/*.dat"))
	pages := 0
	for _, f := range files {
		a := run(t, f)
		for _, b := range a.Buffers {
			if len(b.Captures) == 0 || b.Captures[0].Section != nil || b.Ledger.Count(Total, Delivered).None() {
				continue // a latency file holds text
			}
			pages++
			t.Run(fmt.Sprint(filepath.Base(f), " ", b.Name), func(t *testing.T) {
				c := b.CPUs[0]
				want, hole := Exactly(38), Exactly(6)
				if !b.HasCounters() {
					want, hole = AtLeast(33), AtLeast(1)
				}
				if got := b.Ledger.Count(0, Overwritten); got != want {
					t.Errorf("cpu 0 overwritten %v, want %v", got, want)
				}
				if got := b.Ledger.Count(0, Delivered); got != Exactly(260) {
					t.Errorf("cpu 0 delivered %v, want 260", got)
				}
				if got := b.Ledger.Count(1, Delivered); got != Exactly(3) {
					t.Errorf("cpu 1 delivered %v, want 3", got)
				}
				if c.CountedMarks != 4 || c.CountedLost != 32 || c.UnknownMarks != 1 {
					t.Errorf("%d marks with %d events, %d without; want 4 with 32, 1", c.CountedMarks, c.CountedLost, c.UnknownMarks)
				}
				for _, h := range c.Holes {
					if !h.Counted && h.Events != hole {
						t.Errorf("the hole without a number holds %v, want %v", h.Events, hole)
					}
				}
			})
		}
	}
	if pages < 9 {
		t.Errorf("only %d buffers with pages", pages)
	}
}

// Raw pages beside their folder: kept and lost equal the stats of their CPU.
func TestRawPages(t *testing.T) {
	c := fixtures.Captures(t)
	for _, dir := range []string{
		"x86_64-6.1.0-57-cloud-amd64/known-count-raw", "x86_64-6.1.0-57-cloud-amd64/raw", "x86_64-6.1.0-57-cloud-amd64/raw-slow-reader-stored",
		"s390x-6.1.0-50-s390x/known-count-raw", "s390x-6.1.0-50-s390x/raw-slow-reader-stored", "i386-6.1.0-50-686/raw",
	} {
		t.Run(dir, func(t *testing.T) {
			root := filepath.Join(c, filepath.FromSlash(dir))
			raws, _ := filepath.Glob(filepath.Join(root, "per_cpu/cpu*/trace_pipe_raw"))
			if len(raws) == 0 {
				t.Fatal("no raw pages")
			}
			for _, raw := range raws {
				cpu, _ := cpuOfPath(raw)
				st := statsLines(t, filepath.Join(root, fmt.Sprintf("per_cpu/cpu%d/stats", cpu)))
				a := run(t, raw)
				b := a.Buffers[0]
				if got, want := b.Ledger.Count(cpu, Delivered), Exactly(uint64(st["entries"]+st["read events"])); got != want {
					t.Errorf("cpu %d: %v records, entries and read events are %v", cpu, got, want)
				}
				if got := b.Ledger.Count(cpu, Overwritten); got.Lo > uint64(st["overrun"]) || got.Lo == 0 && st["overrun"] > 0 {
					t.Errorf("cpu %d: overwritten %v, overrun is %d", cpu, got, st["overrun"])
				}
			}
			a := run(t, append([]string{root}, raws...)...)
			b := buffer(t, a, "top")
			for _, raw := range raws {
				cpu, _ := cpuOfPath(raw)
				if missing, over := b.Ledger.Count(cpu, Missing), b.Ledger.Count(cpu, Overwritten).Plus(b.Ledger.Count(cpu, CommitOverrun)); missing.Lo != over.Lo {
					t.Errorf("cpu %d: missing %v, lost %v", cpu, missing, over)
				}
			}
			for _, f := range a.Findings {
				if RuleByID(f.Rule).Group == GroupContradiction && f.Severity == SeverityError {
					t.Errorf("%s: %s", f.Rule, f.Message)
				}
			}
		})
	}
}
