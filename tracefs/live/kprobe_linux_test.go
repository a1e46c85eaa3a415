package live

import (
	"context"
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// 200 sleeps at once, as children of one shell.
const sleeps = `i=0; while [ $i -lt 200 ]; do sleep 2 & i=$((i+1)); done; wait`

// A return probe that can hold one return at a time misses the others, and no
// counter of the ring buffer shows it.
func TestKretprobeMisses(t *testing.T) {
	m := liveWitness(t)
	withKprobes(t, m)
	before := globalSettings(t, m)
	r := capture1(t, m, CaptureOptions{
		Symbols: []string{"do_nanosleep", "do_nanosleep%return"}, Maxactive: 1, BufferKB: 256,
		Command: []string{"sh", "-c", sleeps},
	})
	sameSettings(t, before, globalSettings(t, m))
	if r.Witness == nil {
		t.Fatal(r.NoCount)
	}
	probes := map[string]ringlog.ProbeHit{}
	for _, p := range r.Witness.Probes {
		probes[p.Name] = p
	}
	entry, ret := probes["do_nanosleep"], probes["do_nanosleep%return"]
	if entry.Profile == nil || ret.Profile == nil {
		t.Fatalf("no kprobe_profile: %+v", r.Witness.Probes)
	}
	// The filter on the command: its sleeps and nothing else. kprobe_profile counts
	// the whole machine (the Go runtime sleeps too).
	if entry.Hits != 200 || entry.Profile.Hits < 200 || entry.Profile.Missed != 0 {
		t.Errorf("%d entries of the command, %+v of all; want 200", entry.Hits, entry.Profile)
	}
	if ret.Profile.Missed < 100 || ret.Profile.Hits == 0 {
		t.Errorf("returns: %+v, want most of them missed", ret.Profile)
	}
	// Sleeps that began before the probes, or end behind them, make the difference.
	if sum := ret.Profile.Hits + ret.Profile.Missed; sum > entry.Profile.Hits+30 || sum+30 < entry.Profile.Hits {
		t.Errorf("%d returns hit or missed, %d entries", sum, entry.Profile.Hits)
	}
	if ret.Profile.Maxactive == nil || *ret.Profile.Maxactive != 1 || entry.Profile.Maxactive != nil {
		t.Errorf("maxactive %v and %v, want 1 and none", ret.Profile.Maxactive, entry.Profile.Maxactive)
	}
	if entry.Means != ringlog.MeansPerfKprobe || ret.Kind != ringlog.KindKretprobe || entry.Function != "do_nanosleep" {
		t.Errorf("described as %+v and %+v", entry.Probe, ret.Probe)
	}
	var offered, lost uint64
	for _, c := range r.CPUs {
		offered += c.Attempted()
		lost += c.Lost()
	}
	if lost != 0 || offered != entry.Hits+ret.Hits {
		t.Errorf("the buffer was offered %d events and lost %d; the witness counted %d and %d", offered, lost, entry.Hits, ret.Hits)
	}
	if offered >= 2*entry.Hits {
		t.Errorf("%d events of %d entries: the missed returns are recorded", offered, entry.Hits)
	}
	what, un := r.Settled()
	if what != "" || un.Inner > 0 {
		t.Errorf("%s, uncounted %s (%s: %s)", what, boundsText(un), r.Witness.Mode, r.Witness.Why)
	}
	if kernelAtLeast(6, 8) && r.Witness.Mode != ringlog.ModeEqual {
		t.Errorf("mode %s: %s", r.Witness.Mode, r.Witness.Why)
	}
	if !kernelAtLeast(6, 8) && (r.Witness.Mode != ringlog.ModeBounds || !strings.Contains(r.Witness.Why, "before 6.8")) {
		t.Errorf("mode %s: %s", r.Witness.Mode, r.Witness.Why)
	}
	// The link is asked a moment before kprobe_profile, and counts from the probe's
	// making on.
	if kernelAtLeast(6, 6) && (ret.LinkMissed == nil || *ret.LinkMissed < 100) {
		t.Errorf("the link of the return probe says nothing of its misses: %+v", ret)
	}
}

// With room enough no return is missed, and every entry has one.
func TestKretprobeWhole(t *testing.T) {
	m := liveWitness(t)
	withKprobes(t, m)
	r := capture1(t, m, CaptureOptions{
		Symbols: []string{"do_nanosleep", "do_nanosleep%return"}, Maxactive: 512, BufferKB: 256, Witness: WitnessCount,
		Command: []string{"sh", "-c", sleeps},
	})
	hits := map[string]uint64{}
	for _, p := range r.Witness.Probes {
		hits[p.Name] = p.Hits
		if p.Profile == nil || p.Profile.Missed != 0 {
			t.Errorf("%s: %+v", p.Name, p.Profile)
		}
	}
	if hits["do_nanosleep"] != 200 || hits["do_nanosleep%return"] != 200 {
		t.Errorf("hits %v, want 200 each", hits)
	}
}

// What the kernel refuses is refused with its own words, and nothing stays.
func TestKprobeRefused(t *testing.T) {
	m := liveWitness(t)
	withKprobes(t, m)
	for _, tt := range []struct {
		symbol string
		says   string
	}{
		{"no_such_function_at_all", "the kernel refuses the probe"},
		{"no_such_function_at_all%return", "the kernel refuses the probe"},
	} {
		_, err := Capture(context.Background(), m, CaptureOptions{Symbols: []string{tt.symbol}, Duration: 1})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.symbol, err, tt.says)
		}
	}
	if left, err := m.Leftovers(); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	events, err := m.kprobeEvents()
	if err != nil || len(events) > 0 {
		t.Errorf("kprobe events: %v %v", events, err)
	}
}
