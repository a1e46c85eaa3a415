package ringlog_test

import (
	"strings"
	"testing"

	"github.com/ringaudit/ringaudit/tracefs/ringlog"
)

// The lines are made after the field names of skbx's schema traceq/0.1.0.

const skbxHead = `{"kind":"capture_start","schema":"traceq/0.1.0","capture_id":"c1","started_unix_ns":1,"kernel_release":"6.8.0","probes":["ip_rcv","kfree_skb_reason"],"attachment_backend":"kprobe-multi","limits":{"duration_seconds":1,"max_events":9,"route_cache_entries":16}}
`

func skbxEvent(seq, time, cpu, function string) string {
	return `{"kind":"event","schema":"traceq/0.1.0","capture_id":"c1","seq":` + seq + `,"handle":"event:0","timestamp_ns":` + time + `,"cpu":` + cpu + `,"pid":7,"command":"x","skb":"0x1",` + function + `,"packet":{"len":64}}
`
}

const (
	ipRcv    = `"function":{"address":"0x10","symbol":"ip_rcv"}`
	unknown  = `"function":{"address":"0x20","symbol":null}`
	tcProg   = `"function":{"address":"0x30","symbol":null},"bpf_program":{"id":42,"name":"cls","entry":"classify","kind":"tc"}`
	oldSum   = `"kernel_reserve_failures":5,"kernel_read_failures":1,"userspace_decode_failures":0,"output_failures":0`
	newParts = `,"kernel_recursion_misses":3,"userspace_enrichment_failures":2,"kernel_unattributed_reserve_failures":1,"kernel_loss_by_cpu":[{"cpu":0,"reserve_failures":4,"read_failures":1},{"cpu":3,"reserve_failures":1,"read_failures":0}],"kernel_loss_by_probe":[{"function":{"address":"0x10","symbol":"ip_rcv"},"reserve_failures":3},{"bpf_program":{"id":42,"name":"cls","entry":"classify","kind":"tc"},"reserve_failures":1}]`
)

func skbxTail(events, reliability, rest string) string {
	return `{"kind":"capture_end","schema":"traceq/0.1.0","capture_id":"c1","events":` + events + `,"reliability":{` + reliability + `},"complete":false,"stop_reason":"duration"` + rest + "}\n"
}

func TestSkbxOld(t *testing.T) {
	s := read(t, skbxHead+skbxEvent("0", "100", "0", ipRcv)+skbxEvent("1", "200", "1", unknown)+skbxTail("2", oldSum, ""), ringlog.Options{})
	if s.Schema != ringlog.SkbxSchema || s.Skbx == nil || s.Skbx.Kernel != "6.8.0" || s.Skbx.Backend != "kprobe-multi" {
		t.Errorf("head: %+v", s.Skbx)
	}
	if s.Records != 2 || s.Cut || s.First != 100 || s.Last != 200 {
		t.Errorf("%d records, cut %v, %d to %d", s.Records, s.Cut, s.First, s.Last)
	}
	if s.ReserveFailures.V != 5 || s.ReserveFailures.Line != 4 || s.ReadFailures.V != 1 {
		t.Errorf("failures %+v", s.ReserveFailures)
	}
	// Fields that came later are absent here, not zero.
	if s.RecursionMisses.OK || s.Unattributed.OK || s.EnrichFailed.OK || s.ByCPU || s.ByProbe {
		t.Error("a field that the log does not have counts as there")
	}
	if !s.Complete.OK || s.Complete.V {
		t.Errorf("complete %+v, want false", s.Complete)
	}
}

func TestSkbxNew(t *testing.T) {
	s := read(t, skbxHead+skbxEvent("0", "100", "0", ipRcv)+skbxEvent("1", "200", "0", tcProg)+skbxTail("2", oldSum+newParts, ""), ringlog.Options{})
	if len(s.Problems) > 0 {
		t.Fatal(s.Problems)
	}
	if s.RecursionMisses.V != 3 || s.Unattributed.V != 1 || s.EnrichFailed.V != 2 {
		t.Errorf("recursion %v, unattributed %v, enrichment %v", s.RecursionMisses, s.Unattributed, s.EnrichFailed)
	}
	if !s.ByCPU || s.SumByCPU != 5 || !s.ByProbe || s.SumByProbe != 4 {
		t.Errorf("sum by cpu %d, by probe %d; want 5 and 4", s.SumByCPU, s.SumByProbe)
	}
	byCPU := map[int]uint64{}
	for _, c := range s.CPUs {
		if c.ReserveFailures.OK {
			byCPU[c.CPU] = c.ReserveFailures.V
		}
	}
	if len(byCPU) != 2 || byCPU[0] != 4 || byCPU[3] != 1 {
		t.Errorf("by cpu %v, want 0:4 3:1", byCPU)
	}
	byProbe := map[string]uint64{}
	for _, p := range s.Probes {
		byProbe[p.Name] = p.ReserveFailures.V
		if p.Name == "program 42" && (p.Probe == nil || p.Probe.Program == nil || p.Probe.Program.Name != "cls") {
			t.Errorf("program 42: %+v", p.Probe)
		}
	}
	if byProbe["ip_rcv"] != 3 || byProbe["program 42"] != 1 {
		t.Errorf("by probe %v", byProbe)
	}
}

func TestSkbxHoleAndSegment(t *testing.T) {
	// A gap in skbx's own numbers is a line that is gone from the file.
	s := read(t, skbxHead+skbxEvent("0", "1", "0", ipRcv)+skbxEvent("3", "2", "1", ipRcv)+skbxTail("4", oldSum, ""), ringlog.Options{})
	if c := s.CPUs[0]; c.CPU != -1 || c.Missing != 2 || c.Duplicates != 0 {
		t.Errorf("stream %+v, want 2 missing", c)
	}
	head := strings.Replace(skbxHead, `"limits"`, `"segment":{"index":2,"first_seq":100},"limits"`, 1)
	s = read(t, head+skbxEvent("100", "1", "0", ipRcv)+skbxEvent("101", "2", "0", ipRcv)+
		skbxTail("2", oldSum, `,"segment":{"index":2,"first_seq":100,"next_seq":102}`), ringlog.Options{})
	if !s.Segment || s.Skbx.FirstSeq != 100 || s.CPUs[0].Missing != 0 || len(s.Problems) > 0 {
		t.Errorf("segment %v, first %d, missing %d, problems %v", s.Segment, s.Skbx.FirstSeq, s.CPUs[0].Missing, s.Problems)
	}
}

func TestSkbxCutAndBad(t *testing.T) {
	s := read(t, skbxHead+skbxEvent("0", "1", "0", ipRcv), ringlog.Options{})
	if !s.Cut || s.ReserveFailures.OK {
		t.Errorf("cut %v, reserve failures %+v", s.Cut, s.ReserveFailures)
	}
	for _, bad := range []struct{ line, says string }{
		{`{"kind":"event","seq":1}`, "seq, timestamp_ns and cpu"},
		{`{"kind":"event","seq":"one"}`, "event"},
		{`{"kind":"note"}`, "later version"},
		{`{"kind":"capture_end","events":1}`, "reliability"},
	} {
		s := read(t, skbxHead+bad.line+"\n", ringlog.Options{})
		if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Error(), bad.says) {
			t.Errorf("%s: problems %v, want %q", bad.line, s.Problems, bad.says)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(logOf(f, endOf(4, 1, 2, 0), "0:0", "1:0", "0:1", "0:3")))
	f.Add([]byte(logOf(f, nil, "0:5", "0:1", "0:1")))
	f.Add([]byte(skbxHead + skbxEvent("0", "1", "0", ipRcv) + skbxEvent("7", "1", "0", tcProg) + skbxTail("2", oldSum+newParts, "")))
	f.Fuzz(func(t *testing.T, b []byte) {
		var each uint64
		s, err := ringlog.Read(strings.NewReader(string(b)), "x", ringlog.Options{MaxHoles: 20, Each: func(*ringlog.Record) error { each++; return nil }})
		if (s == nil) == (err == nil) {
			t.Fatalf("summary %v, error %v: exactly one of them expected", s, err)
		}
		if s == nil {
			return
		}
		if each != s.Records {
			t.Fatalf("%d records handed out, %d counted", each, s.Records)
		}
		var sum uint64
		for _, c := range s.CPUs {
			sum += c.Records
			if len(c.Holes) > 20 {
				t.Fatalf("%d holes kept", len(c.Holes))
			}
			var inHoles uint64
			for _, h := range c.Holes {
				if h.Events == 0 {
					t.Fatal("a hole of nothing")
				}
				inHoles += h.Events
			}
			if c.HolesOmitted == 0 && inHoles != c.Missing {
				t.Fatalf("holes hold %d, missing %d", inHoles, c.Missing)
			}
		}
		if sum != s.Records {
			t.Fatalf("%d records by CPU, %d in all", sum, s.Records)
		}
	})
}

func FuzzDecodeWitness(f *testing.F) {
	w := endOf(4, 1, 2, 0).Witness
	var b strings.Builder
	if err := w.Encode(&b); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(b.String()))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := ringlog.DecodeWitness(strings.NewReader(string(b)), "x")
		if (w == nil) == (err == nil) {
			t.Fatalf("witness %v, error %v", w, err)
		}
	})
}
