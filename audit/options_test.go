package audit

import (
	"context"
	"errors"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pipeOf is what a reader of trace_pipe saved.
func pipeOf(tb testing.TB, text string) Input {
	return Input{Path: textFile(tb, "trace_pipe.txt", text)}
}

func TestAttempted(t *testing.T) {
	runScenarios(t, []scenario{
		{
			name: "confirmed", audit: given(whole, Options{Attempted: map[int]uint64{Total: 862}, RequireConfirmed: true}),
			verdict: Confirmed, exit: 0, rows: map[int]row{Total: {Uncounted: Exactly(0), Lost: Exactly(0), Attempted: Exactly(862)}},
		},
		{
			name: "by CPU, confirmed", audit: given(whole, Options{Attempted: map[int]uint64{0: 432, 1: 430}}),
			verdict: Confirmed, exit: 0, rows: map[int]row{0: {Uncounted: Exactly(0)}, Total: {Attempted: Exactly(862)}},
		},
		{
			// Of CPU 1 nothing is known beyond its counters.
			name: "of one CPU", audit: given(whole, Options{Attempted: map[int]uint64{0: 432}}),
			verdict: Complete, exit: 0, rows: map[int]row{0: {Uncounted: Exactly(0)}, 1: {Uncounted: Unknown()}, Total: {Attempted: AtLeast(862)}},
		},
		{
			name: "more on one CPU and less on the other", audit: given(refused, Options{Attempted: map[int]uint64{0: 3010, 1: 490}}),
			verdict: Lossy, exit: 1, rows: map[int]row{0: {Uncounted: Exactly(10)}, 1: {Attempted: AtLeast(500)}},
			rules: []string{"uncounted-loss", "attempted-versus-written"},
		},
		{
			name: "none", audit: given(ring(cpuStats{}), Options{Attempted: map[int]uint64{Total: 0}}),
			verdict: Confirmed, exit: 0,
		},
		{
			name: "to a text alone", audit: func(tb testing.TB) *Audit {
				return runWith(tb, Options{Sources: []Input{pipeOf(tb, events1(0, 5, 10e6))}, Attempted: map[int]uint64{Total: 5}})
			},
			verdict: Confirmed, exit: 0, buffer: "trace_pipe.txt", rows: map[int]row{Total: {Delivered: Exactly(5), Missing: Exactly(0), Lost: Exactly(0)}},
		},
		{
			name: "more than a text has", audit: func(tb testing.TB) *Audit {
				return runWith(tb, Options{Sources: []Input{pipeOf(tb, events1(0, 5, 10e6))}, Attempted: map[int]uint64{Total: 7}})
			},
			verdict: Lossy, exit: 1, buffer: "trace_pipe.txt", rows: map[int]row{Total: {Delivered: Exactly(5), Missing: Exactly(2)}},
		},
	})
}

func TestFlightRecorder(t *testing.T) {
	on := Options{FlightRecorder: true}
	runScenarios(t, []scenario{
		{
			name: "a whole window", audit: given(wrapped, on), verdict: Complete, exit: 0,
			says: "the window that is held is whole, 10.000000 to 20.000000", rules: []string{"flight-recorder"}, quiet: []string{"overwritten-events"},
			rows: map[int]row{Total: {Overwritten: Exactly(2922910)}},
		},
		{
			name: "refused inside it", audit: given(ring(cpuStats{entries: 432, overrun: 9, commit: 2}), on), verdict: Lossy, exit: 1,
			says: "2 events were refused: the window that is held is not whole", rules: []string{"commit-overrun"},
		},
		{
			name: "counted independently", audit: given(wrapped, Options{FlightRecorder: true, Attempted: map[int]uint64{Total: 2923772}}), verdict: Confirmed, exit: 0,
			says: "the window that is held is whole",
		},
		{
			name: "refused uncounted", audit: given(wrapped, Options{FlightRecorder: true, Attempted: map[int]uint64{Total: 2923773}}), verdict: Lossy, exit: 1,
			rules: []string{"uncounted-loss"},
		},
		{
			name: "a capture with a hole before it", audit: given(ring(cpuStats{overrun: 9, read: 5}), on, "trace_pipe.txt", lostMark(0, 9)+events1(0, 5, 10e6)), verdict: Complete, exit: 0,
			says: "10.000000 to 10.000400",
		},
		{
			name: "a capture with a hole in it", audit: given(ring(cpuStats{overrun: 9, read: 5}), on, "trace_pipe.txt", events1(0, 2, 10e6)+lostMark(0, 9)+events1(0, 3, 11e6)), verdict: Lossy, exit: 1,
			says: "inside the window", rules: []string{"capture-incomplete"},
		},
		{
			// 4 of the 9 have no mark: another reader may have been told of them, anywhere.
			name: "a hole that may be anywhere", audit: given(ring(cpuStats{overrun: 9, read: 5}), on, "trace_pipe.txt", lostMark(0, 5)+events1(0, 5, 10e6)), verdict: Undetermined, exit: 3,
			says: "cannot be told whether records inside the window",
		},
		{
			name: "records that the ring had", audit: given(ring(cpuStats{overrun: 9, read: 8}), on, "trace_pipe.txt", lostMark(0, 9)+events1(0, 5, 10e6)), verdict: Lossy, exit: 1,
			rules: []string{"recorder-lost"},
		},
		{
			name: "declared by the configuration", audit: given(wrapped, Options{Policy: &Policy{FlightRecorder: []string{"top"}}}), verdict: Complete, exit: 0,
		},
		{
			name: "declared for another buffer", audit: given(wrapped, Options{Policy: &Policy{FlightRecorder: []string{"foo"}}}), verdict: Lossy, exit: 1,
		},
	})
}

func TestInstances(t *testing.T) {
	both := wrapped.among("instances/foo", whole)
	runScenarios(t, []scenario{
		{name: "all", audit: given(both, Options{}), verdict: Lossy, exit: 1, says: "top: 2,922,910 events"},
		{name: "one", audit: given(both, Options{Instances: []string{"foo"}}), verdict: Complete, exit: 0, buffer: "foo", rows: map[int]row{Total: {Kept: Exactly(862)}}},
		{name: "an instance without counters", audit: only(whole.among("instances/foo", ring(cpuStats{}).without(statsOf(0)))), verdict: Undetermined, exit: 3, says: "foo: nothing here counts"},
		{name: "buffers one folder below", audit: only(tree{}.among("a", whole).among("b", wrapped)), verdict: Lossy, exit: 1, buffer: "a", rows: map[int]row{Total: {Overwritten: Exactly(0)}}},
	})
	_, err := Run(t.Context(), Options{Sources: []Input{both.input()}, Instances: []string{"fo"}})
	var usage *UsageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "there are top, foo") {
		t.Errorf("%v, want the names that there are", err)
	}
}

func TestUsage(t *testing.T) {
	two := whole.among("instances/foo", whole)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		opt  Options
		want string
	}{
		{"no source", Options{}, "no source"},
		{"--fail-on", Options{Sources: []Input{whole.input()}, FailOn: "sometimes"}, `--fail-on "sometimes": expected loss, warning, note or never`},
		{"--attempted of two buffers", Options{Sources: []Input{two.input()}, Attempted: map[int]uint64{Total: 5}}, "there are 2 (top, foo): choose one with --instance"},
		{"--attempted of a CPU that is not there", Options{Sources: []Input{whole.input()}, Attempted: map[int]uint64{7: 5}}, "no counters of cpu 7, just of 0-1"},
		{"a tie to nothing", Options{Sources: []Input{whole.input(), {Path: textFile(t, "trace", traceHeader(0, 0, 1)), Buffer: "fo"}}}, "no buffer of that name among the sources; there are top"},
		{"a tie of two buffers", Options{Sources: []Input{{Path: "saved", FS: two.fs(), Buffer: "bar"}}}, "it has 2 buffers of its own"},
	} {
		_, err := Run(t.Context(), c.opt)
		var usage *UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a usage error that says %q", c.name, err, c.want)
		}
	}
	if _, err := Run(cancelled, Options{Sources: []Input{whole.input()}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestPolicy(t *testing.T) {
	share := func(n, of int64) *big.Rat { return big.NewRat(n, of) }
	policy := func(p Policy) Options { return Options{Policy: &p} }
	zero, one := 0, 1
	lost9 := ring(cpuStats{entries: 91, overrun: 9}, cpuStats{entries: 100}) // 9 of 100, or of 200
	runScenarios(t, []scenario{
		{name: "within a budget", audit: given(lost9, policy(Policy{Budgets: []Budget{{MaxLostShare: share(1, 10)}}})), verdict: Lossy, exit: 0},
		{name: "exactly a budget", audit: given(lost9, policy(Policy{Budgets: []Budget{{MaxLostShare: share(9, 200)}}})), verdict: Lossy, exit: 0},
		{name: "above a budget", audit: given(lost9, policy(Policy{Budgets: []Budget{{MaxLostShare: share(899, 20000)}}})), verdict: Lossy, exit: 1},
		{name: "a budget of another buffer", audit: given(lost9, policy(Policy{Budgets: []Budget{{Buffer: "foo", MaxLostShare: share(1, 1)}}})), verdict: Lossy, exit: 1},
		{name: "exactly a CPU's budget", audit: given(lost9, policy(Policy{Budgets: []Budget{{CPU: &zero, MaxLostShare: share(9, 100)}}})), verdict: Lossy, exit: 0},
		{name: "above a CPU's budget", audit: given(lost9, policy(Policy{Budgets: []Budget{{CPU: &zero, MaxLostShare: share(8, 100)}}})), verdict: Lossy, exit: 1},
		{name: "a CPU's budget is not another's", audit: given(lost9, policy(Policy{Budgets: []Budget{{CPU: &one, MaxLostShare: share(1, 1)}}})), verdict: Lossy, exit: 1},
		{name: "a budget without a share", audit: given(lost9, policy(Policy{Budgets: []Budget{{}}})), verdict: Lossy, exit: 1},
		{ // 5 lost after the kernel are not the kernel's
			name: "no budget for what a recorder lost", audit: given(ring(cpuStats{read: 10}), policy(Policy{Budgets: []Budget{{MaxLostShare: share(99, 100)}}}), "trace_pipe.txt", events1(0, 5, 10e6)),
			verdict: Lossy, exit: 1, rules: []string{"recorder-lost"},
		},
		{name: "no budget for unknown loss", audit: func(tb testing.TB) *Audit {
			opt := policy(Policy{Budgets: []Budget{{MaxLostShare: share(99, 100)}}})
			opt.Sources = []Input{pipeOf(tb, lostMark(0, 1)+events1(0, 500, 10e6))}
			return runWith(tb, opt)
		}, verdict: Lossy, exit: 1},
		{name: "a severity", audit: given(wrapped, policy(Policy{Severities: map[string]Severity{"overwritten-events": SeverityNote}})), verdict: Lossy, exit: 0},
		{name: "a severity raised", audit: given(ring(cpuStats{}), policy(Policy{Severities: map[string]Severity{"nothing-recorded": SeverityError}})), verdict: Complete, exit: 1},
		{name: "suppressed", audit: given(wrapped, policy(Policy{Suppressions: []Suppression{{Rule: "overwritten-events", Buffer: "top", Reason: "known"}}})), verdict: Lossy, exit: 0},
		{name: "suppressed elsewhere", audit: given(wrapped, policy(Policy{Suppressions: []Suppression{{Rule: "overwritten-events", Buffer: "foo", Reason: "known"}}})), verdict: Lossy, exit: 1, rules: []string{"suppression"}},
		{name: "suppressed on a CPU", audit: given(ring(cpuStats{entries: 1}, cpuStats{entries: 2, overrun: -1}), policy(Policy{Suppressions: []Suppression{{Rule: "impossible-counter", CPU: &one, Reason: "known"}}})), verdict: Undetermined, exit: 3, quiet: []string{"suppression"}},
		{name: "a suppression that has expired", audit: given(wrapped, Options{Today: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Policy: &Policy{Suppressions: []Suppression{
			{Rule: "overwritten-events", Reason: "known", Expires: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}}}), verdict: Lossy, exit: 1, rules: []string{"suppression"}},
		{name: "the severity of suppressions", audit: given(whole, Options{Policy: &Policy{Severities: map[string]Severity{"suppression": SeverityError}, Suppressions: []Suppression{{Rule: "late-start", Reason: "known"}}}}), verdict: Complete, exit: 1},
	})
	a := given(wrapped, policy(Policy{Suppressions: []Suppression{{Rule: "overwritten-events", Reason: "a soak test"}}}))(t)
	if f := findings(a, "overwritten-events"); len(f) != 1 || f[0].Suppressed != "a soak test" {
		t.Errorf("suppressed finding %+v, want it kept, with its reason", f)
	}
}

// The exit codes of DESIGN.md 3 and their order.
func TestExit(t *testing.T) {
	missing := Input{Path: filepath.Join(t.TempDir(), "missing")}
	warns, notes := ring(cpuStats{}), ring(cpuStats{entries: 3, read: 1}).without("events/header_page")
	quiet := ring(cpuStats{entries: 3}).without("events/header_page")
	for _, c := range []struct {
		name string
		opt  Options
		exit int
	}{
		{"loss", Options{Sources: []Input{wrapped.input()}}, 1},
		{"loss, never", Options{Sources: []Input{wrapped.input()}, FailOn: FailOnNever}, 0},
		{"a warning, loss", Options{Sources: []Input{warns.input()}}, 0},
		{"a warning, warning", Options{Sources: []Input{warns.input()}, FailOn: FailOnWarning}, 1},
		{"a note, warning", Options{Sources: []Input{notes.input()}, FailOn: FailOnWarning}, 0},
		{"a note, note", Options{Sources: []Input{notes.input()}, FailOn: FailOnNote}, 1},
		{"nothing, note", Options{Sources: []Input{quiet.input()}, FailOn: FailOnNote}, 0},
		{"a contradiction", Options{Sources: []Input{ring(cpuStats{entries: 3}).with("trace", traceHeader(3, 4, 1)+events1(0, 3, 10e6)).input()}}, 1},
		{"undetermined", Options{Sources: []Input{{Path: textFile(t, "trace", traceHeader(3, 3, 1)+events1(0, 3, 10e6))}}}, 3},
		{"nothing read", Options{Sources: []Input{missing}}, 4},
		{"nothing read, never", Options{Sources: []Input{missing}, FailOn: FailOnNever}, 4},
		{"one of two read", Options{Sources: []Input{missing, whole.input()}}, 3},
		{"one of two read, and it is lossy", Options{Sources: []Input{missing, wrapped.input()}}, 1},
		{"complete, confirmed required", Options{Sources: []Input{whole.input()}, RequireConfirmed: true}, 3},
		{"confirmed, confirmed required", Options{Sources: []Input{whole.input()}, RequireConfirmed: true, Attempted: map[int]uint64{Total: 862}}, 0},
		{"lossy, confirmed required", Options{Sources: []Input{wrapped.input()}, RequireConfirmed: true}, 1},
		{"accepted loss, confirmed required", Options{Sources: []Input{wrapped.input()}, RequireConfirmed: true, FailOn: FailOnNever}, 3},
		{"accepted loss, counted independently", Options{Sources: []Input{wrapped.input()}, RequireConfirmed: true, FailOn: FailOnNever, Attempted: map[int]uint64{Total: 2923772}}, 0},
	} {
		if a := runWith(t, c.opt); a.Exit != c.exit {
			t.Errorf("%s: exit %d (%s: %s), want %d", c.name, a.Exit, a.Verdict, a.Reason, c.exit)
		}
	}
}
