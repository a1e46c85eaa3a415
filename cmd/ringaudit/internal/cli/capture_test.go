package cli

import (
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/tracefs/live"
	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

func TestCaptureUsage(t *testing.T) {
	for _, tt := range []struct{ args, says string }{
		{"", "nothing to capture"},
		{"-e a:b --witness maybe", "expected records, count or none"},
		{"-e a:b -b x", "--buffer-size"},
		{"-e a:b -b 0", "more than nothing"},
		{"-e a:b --ring-size 5000", "powers of two"},
		{"-e a:b --ring-size 64", "powers of two"},
		{"-e a:b --program 0", "id of a BPF program"},
		{"-e a:b --duration -1s", "not negative"},
		{"-e a:b make", "a command goes behind --"},
		{"-e a:b --max-tasks -1", "--max-tasks"},
		{"-e a:b --format xml", "no such format"},
	} {
		env, _, errs := snapshotEnv()
		code := Main(env, append([]string{"capture"}, strings.Fields(tt.args)...))
		if code != exitUsage || !strings.Contains(errs.String(), tt.says) {
			t.Errorf("capture %s: exit %d, %q; want %d and %q", tt.args, code, errs.String(), exitUsage, tt.says)
		}
	}
}

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		unit uint64
		want uint64 // 0: refused
	}{
		{"8", 1024, 8192}, {"8K", 1, 8192}, {"8k", 1024, 8192}, {"4M", 1, 4 << 20}, {"1G", 1, 1 << 30}, {"4096", 1, 4096},
		{"", 1, 0}, {"K", 1, 0}, {"-1", 1, 0}, {"1.5M", 1, 0}, {"99999999999G", 1, 0}, {"8KB", 1, 0}, {"0x10", 1, 0},
	} {
		got, err := parseSize(tt.text, tt.unit)
		if (err == nil) != (tt.want > 0) || got != tt.want {
			t.Errorf("%q by %d: %d, %v; want %d", tt.text, tt.unit, got, err, tt.want)
		}
	}
}

// The text says what was lost, where it was counted, and how we know.
func TestCaptureText(t *testing.T) {
	n := func(v uint64) *uint64 { return &v }
	result := func(mode string, inner uint64, outer *uint64) *live.CaptureResult {
		return &live.CaptureResult{
			CPUs: []live.CPUStats{{CPU: 0, Overrun: 900, Read: 100, Written: 1000}},
			Witness: &ringlog.Witness{Mode: mode, Why: "the reason", PerCPU: live.PerCPUExact,
				CPUs: []ringlog.CPUCount{{CPU: 0, Bounds: ringlog.Bounds{Inner: inner, Outer: outer}}}, Total: ringlog.Bounds{Inner: inner, Outer: outer},
				Probes: []ringlog.ProbeHit{{Probe: ringlog.Probe{Name: "a:b", Kind: ringlog.KindTracepoint, Means: ringlog.MeansRawTracepoint}, Hits: inner}}},
		}
	}
	for _, tt := range []struct {
		name string
		r    *live.CaptureResult
		says []string
		exit int
	}{
		{"lossy and equal", result(ringlog.ModeEqual, 1000, n(1000)), []string{"LOSSY  900 of 1,000 events lost (90.00 %): overwritten 900", "count  equal: the reason", "raw_tp: 1 probe"}, exitFindings},
		{"uncounted too", result(ringlog.ModeEqual, 1010, n(1010)), []string{"LOSSY  910 of 1,010", "refused and counted nowhere 10"}, exitFindings},
		{"more than happened", result(ringlog.ModeEqual, 990, n(990)), []string{"CONTRADICTION  cpu 0: the buffer was offered 1000 events, and 990 happened"}, exitFindings},
		{"bounds", result(ringlog.ModeBounds, 995, n(1005)), []string{"LOSSY  ≥ 900", "995 – 1,005"}, exitFindings},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := captureText(tt.r)
			for _, s := range tt.says {
				if !strings.Contains(text, s) {
					t.Errorf("%q is not in\n%s", s, text)
				}
			}
			if got := captureExit(tt.r); got != tt.exit {
				t.Errorf("exit %d, want %d", got, tt.exit)
			}
		})
	}
	whole := result(ringlog.ModeEqual, 1000, n(1000))
	whole.CPUs[0].Overrun, whole.CPUs[0].Read = 0, 1000
	if text := captureText(whole); !strings.HasPrefix(text, "CONFIRMED  1,000 events") || captureExit(whole) != exitOK {
		t.Errorf("exit %d\n%s", captureExit(whole), text)
	}
	open := result(ringlog.ModeBounds, 1000, nil)
	open.CPUs[0].Overrun = 0
	if text := captureText(open); !strings.Contains(text, "counted nowhere: an unknown number") || !strings.Contains(text, "≥ 1,000") {
		t.Errorf("\n%s", text)
	}
	none := result(ringlog.ModeEqual, 0, n(0))
	none.Witness, none.NoCount, none.CPUs[0].Overrun = nil, "the reason", 0
	if text := captureText(none); !strings.Contains(text, "no independent count: the reason") || captureExit(none) != exitUndecided {
		t.Errorf("exit %d\n%s", captureExit(none), text)
	}
	// Runs of a BPF program alone: its records can be refused, and that is loss.
	alone := result(ringlog.ModeAlone, 0, nil)
	alone.CPUs[0] = live.CPUStats{}
	program := ringlog.ProbeHit{Probe: ringlog.Probe{Name: "program 7", Kind: ringlog.KindProgram, Function: "entry", Means: ringlog.MeansFentry, Program: &ringlog.Program{ID: 7, Name: "pass", Type: "XDP"}}, Hits: 1500}
	alone.Witness.Probes = []ringlog.ProbeHit{program}
	if text := captureText(alone); !strings.HasPrefix(text, "COUNTED  1,500 hits;") || !strings.Contains(text, "program 7: 1,500 hits of XDP pass, entry entry\n") || captureExit(alone) != exitOK {
		t.Errorf("exit %d\n%s", captureExit(alone), text)
	}
	program.ReserveFailures = n(600)
	alone.Witness.Probes, alone.Witness.ReserveFailures = []ringlog.ProbeHit{program}, n(600)
	if text := captureText(alone); !strings.HasPrefix(text, "LOSSY  600 of 1,500 records refused by the BPF ring buffer (40.00 %)") || !strings.Contains(text, "entry entry; 600 of their records refused") || captureExit(alone) != exitFindings {
		t.Errorf("exit %d\n%s", captureExit(alone), text)
	}
	// Misses of a probe are in no counter of the buffer, and loss all the same.
	missed := result(ringlog.ModeEqual, 1000, n(1000))
	missed.CPUs[0].Overrun = 0
	missed.Witness.Probes = append(missed.Witness.Probes, ringlog.ProbeHit{
		Probe: ringlog.Probe{Name: "f%return", Kind: ringlog.KindKretprobe}, Hits: 8, Profile: &ringlog.Profile{Hits: 8, Missed: 192}})
	if text := captureText(missed); !strings.HasPrefix(text, "LOSSY") || !strings.Contains(text, "8 hits, 192 missed") || captureExit(missed) != exitFindings {
		t.Errorf("exit %d\n%s", captureExit(missed), text)
	}
}
