package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ringaudit/ringaudit/audit"
)

// Every object of the document is a line, in the documented order, and the last
// line counts the others.
func TestJSONL(t *testing.T) {
	for _, d := range testDocs() {
		t.Run(d.name, func(t *testing.T) {
			got := render(t, "jsonl", d.doc, Options{})
			want := map[string]int{"document": 1, "source": len(d.doc.Sources), "buffer": len(d.doc.Buffers), "cpu": 0, "hole": 0,
				"probe": len(d.doc.Probes), "finding": len(d.doc.Findings), "blind_spot": len(d.doc.BlindSpots), "end": 1}
			for i := range d.doc.Buffers {
				b := &d.doc.Buffers[i]
				want["cpu"] += len(b.CPUs)
				want["hole"] += len(b.Holes)
				for j := range b.CPUs {
					want["hole"] += len(b.CPUs[j].Holes)
				}
			}
			order := []string{"document", "source", "buffer", "probe", "finding", "blind_spot", "end"}
			have, at, n := map[string]int{}, 0, 0
			s := bufio.NewScanner(bytes.NewReader(got))
			s.Buffer(nil, 1<<20)
			for s.Scan() {
				var line struct {
					Type   string
					Lines  *int
					CPUs   json.RawMessage `json:"cpus"`
					Holes  json.RawMessage `json:"holes"`
					Buffer *string         `json:"buffer"`
					Index  *int            `json:"buffer_index"`
					Lost   *audit.Count
					Total  *Tally
				}
				if err := json.Unmarshal(s.Bytes(), &line); err != nil {
					t.Fatalf("line %d: %v", n+1, err)
				}
				if line.CPUs != nil || line.Holes != nil {
					t.Errorf("line %d (%s): holds a list that has lines of its own", n+1, line.Type)
				}
				kind := line.Type
				if kind == "cpu" || kind == "hole" {
					kind = "buffer"
					if line.Index == nil || line.Buffer == nil || *line.Buffer != strings.ToValidUTF8(d.doc.Buffers[*line.Index].Name, "\ufffd") {
						t.Errorf("line %d: does not say of which buffer it is", n+1)
					}
				}
				if line.Type == "buffer" && line.Total == nil {
					t.Errorf("line %d: a buffer without its total", n+1)
				}
				k := slices.Index(order, kind)
				if k < at {
					t.Errorf("line %d: %s after %s", n+1, line.Type, order[at])
				}
				at = k
				have[line.Type]++
				if line.Type == "end" && (line.Lines == nil || *line.Lines != n) {
					t.Errorf("the end counts %v lines of %d", line.Lines, n)
				}
				n++
			}
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
			for k, v := range want {
				if have[k] != v {
					t.Errorf("%d %s lines; want %d", have[k], k, v)
				}
			}
		})
	}
}

func families(t *testing.T, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	f, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

// What Prometheus's own parser reads is what the document says: both bounds of
// what is known, and no series for what is not.
func TestPrometheus(t *testing.T) {
	for _, d := range testDocs() {
		t.Run(d.name, func(t *testing.T) {
			got := families(t, render(t, "prometheus", d.doc, Options{}))
			seen := map[string]bool{}
			for name, f := range got {
				for _, m := range f.Metric {
					key := name
					for _, l := range m.Label {
						key += "," + l.GetName() + "=" + strconv.Quote(l.GetValue())
					}
					if seen[key] {
						t.Errorf("twice: %s", key)
					}
					seen[key] = true
				}
				if counter := f.GetType() == dto.MetricType_COUNTER; counter != strings.HasSuffix(name, "_total") {
					t.Errorf("%s is a %v", name, f.GetType())
				}
			}
			series := map[string]int{}
			for i := range d.doc.Buffers {
				b := &d.doc.Buffers[i]
				for j := range b.CPUs {
					c := &b.CPUs[j]
					check := func(name string, q *audit.Count) {
						least, hasLeast := sample(got[name+"_at_least_total"], map[string]string{"buffer": b.Name, "cpu": strconv.Itoa(c.CPU)})
						most, hasMost := sample(got[name+"_at_most_total"], map[string]string{"buffer": b.Name, "cpu": strconv.Itoa(c.CPU)})
						known := q != nil && !q.IsUnknown()
						if hasLeast != known || hasMost != (known && !q.Open) {
							t.Errorf("%s of CPU %d: series %v and %v for %v", name, c.CPU, hasLeast, hasMost, q)
						}
						if hasLeast && least != float64(q.Lo) || hasMost && most != float64(q.Hi) {
							t.Errorf("%s of CPU %d: %v and %v for %v", name, c.CPU, least, most, q)
						}
						series[name]++
					}
					if d.name == "hostile" {
						continue
					}
					check("ringaudit_cpu_overwritten_events", c.Overwritten)
					check("ringaudit_cpu_lost_events", c.Lost)
					check("ringaudit_cpu_attempted_events", c.Attempted)
				}
			}
			if v, ok := sample(got["ringaudit_verdict"], map[string]string{"verdict": d.doc.Verdict}); !ok || v != 1 {
				t.Errorf("verdict %s is %v, %v", d.doc.Verdict, v, ok)
			}
		})
	}
}

func sample(f *dto.MetricFamily, labels map[string]string) (float64, bool) {
	for _, m := range f.GetMetric() {
		match := 0
		for _, l := range m.Label {
			if want, ok := labels[l.GetName()]; ok && want == l.GetValue() {
				match++
			}
		}
		if match == len(labels) {
			if m.Counter != nil {
				return m.Counter.GetValue(), true
			}
			return m.Gauge.GetValue(), true
		}
	}
	return math.NaN(), false
}

// Buffers of one name, as of two machines, stay apart.
func TestPrometheusAlike(t *testing.T) {
	d := smallOverwrite()
	d.Buffers = append(d.Buffers, d.Buffers[0], d.Buffers[0])
	d.Buffers[1].Sources = []string{"s2"}
	d.Buffers[2].Sources = []string{"s2"}
	f := families(t, render(t, "prometheus", d, Options{}))["ringaudit_buffer_lost_events_at_least_total"]
	if n := len(f.GetMetric()); n != 3 {
		t.Errorf("%d series for 3 buffers", n)
	}
}

// In JUnit, nothing that could not be looked at passes: of a text alone, only
// the overwriting that its header rules out does.
func TestJUnitSkipsWhatNobodyCounts(t *testing.T) {
	type result struct {
		Suites []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string    `xml:"name,attr"`
				Skipped *struct{} `xml:"skipped"`
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	for _, c := range []struct {
		name   string
		doc    *Document
		passed []string
	}{
		{"text alone", textAlone(), []string{"overwritten-events", "truncated-input"}}, // the latter a warning
		{"complete", complete(), []string{"overwritten-events", "dropped-events", "commit-overrun", "verdict"}},
		{"confirmed", confirmed(), []string{"overwritten-events", "dropped-events", "commit-overrun", "uncounted-loss", "verdict"}},
		{"known count", knownCountNoOverwrite(), []string{"overwritten-events", "commit-overrun", "uncounted-loss"}},
	} {
		var r result
		if err := xml.Unmarshal(render(t, "junit", c.doc, Options{}), &r); err != nil {
			t.Fatal(err)
		}
		var passed []string
		for _, s := range r.Suites {
			for _, x := range s.Cases {
				if x.Skipped == nil && x.Failure == nil && s.Name != "ringaudit" {
					passed = append(passed, x.Name)
				}
			}
		}
		if !slices.Equal(passed, c.passed) {
			t.Errorf("%s: passed %v; want %v", c.name, passed, c.passed)
		}
	}
}

// No verdict is news in every format for programs.
func TestUndeterminedIsSaid(t *testing.T) {
	d := textAlone()
	d.Findings = nil
	for _, format := range []string{"sarif", "junit", "github"} {
		if got := string(render(t, format, d, Options{})); !strings.Contains(got, "A trace text does not tell whether overwrite was on") {
			t.Errorf("%s is silent:\n%s", format, got)
		}
	}
}
