package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ringaudit/ringaudit/internal/fixtures"
	"github.com/ringaudit/ringaudit/tracefs/live"
)

func watchStats(entries, overrun, dropped, read int) *fstest.MapFile {
	return &fstest.MapFile{Data: fmt.Appendf(nil, "entries: %d\noverrun: %d\ncommit overrun: 0\nbytes: 40\noldest event ts:     1.000000\nnow ts:     3.500000\ndropped events: %d\nread events: %d\n", entries, overrun, dropped, read)}
}

// manyCPUs is a tracefs of n CPUs; CPU lossy overwrites 1000 events a step.
func manyCPUs(n, lossy, step int) fstest.MapFS {
	tree := fstest.MapFS{"tracing_on": {Data: []byte("1\n")}}
	for i := range n {
		over := 0
		if i == lossy {
			over = 1000 * step
		}
		tree[fmt.Sprintf("per_cpu/cpu%d/stats", i)] = watchStats(10, over, 0, 100*step)
	}
	return tree
}

func twoSamples(t *testing.T, n, lossy int) (before, now *live.Sample) {
	t.Helper()
	for step := range 2 {
		s, err := live.NewSampler(manyCPUs(n, lossy, step), nil, nil).Sample(time.Unix(int64(1000+2*step), 0))
		if err != nil {
			t.Fatal(err)
		}
		before, now = now, s
	}
	return before, now
}

// 256 CPUs fit any terminal: the one that loses is shown, the rest is summed up,
// and no line is wider or the picture taller than the terminal.
func TestWatchFits(t *testing.T) {
	before, now := twoSamples(t, 256, 200)
	for _, size := range [][2]int{{200, 50}, {80, 24}, {40, 10}, {20, 6}, {10, 3}, {3, 1}} {
		lines := watchLines("/t", before, now, size[0], size[1])
		if len(lines) > size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, l := range lines {
			if len([]rune(l)) > size[0] {
				t.Errorf("%v: line of %d: %q", size, len([]rune(l)), l)
			}
		}
	}
	text := strings.Join(watchLines("/t", before, now, 120, 24), "\n")
	rows := regexp.MustCompile(`(?m)^ +(\d+) `).FindAllStringSubmatch(text, -1)
	if len(rows) == 0 || rows[0][1] != "200" {
		t.Errorf("the losing CPU is not the first row:\n%s", text)
	}
	// 24 lines: title, name, heads and sum leave 20, one of them for the rest.
	if !strings.Contains(text, "237 more") {
		t.Errorf("19 CPUs shown of 256, so 237 more:\n%s", text)
	}
	// Overwritten 1000 in 2 s; read 100 on each of 256 CPUs in 2 s.
	if all := lastLine(text); !strings.Contains(all, " 500 ") || !strings.Contains(all, "12,800") {
		t.Errorf("the sum: %q", all)
	}
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

// Unknown is a dash, not a zero; a reset is no rate.
func TestWatchUnknown(t *testing.T) {
	tree := fstest.MapFS{"per_cpu/cpu0/stats": {Data: []byte("entries: 5\noverrun: 100\n")}}
	s, err := live.NewSampler(tree, nil, nil).Sample(time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(watchLines("/t", nil, s, 200, 50), "\n")
	if strings.Contains(text, " 0 ") || strings.Count(text, "–") < 5 {
		t.Errorf("unknown counters:\n%s", text)
	}
	tree["per_cpu/cpu0/stats"] = &fstest.MapFile{Data: []byte("entries: 5\noverrun: 3\n")}
	now, err := live.NewSampler(tree, nil, nil).Sample(time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(watchLines("/t", s, now, 200, 50), "\n"); !strings.Contains(text, "reset") {
		t.Errorf("a reset is not shown:\n%s", text)
	}
	var b strings.Builder
	if err := writeWatchLine(&b, s, now); err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{`"written"`, "dropped", "per_second", "window"} {
		if strings.Contains(b.String(), no) {
			t.Errorf("%s is unknown and is in %s", no, b.String())
		}
	}
	if !strings.Contains(b.String(), `"reset":true`) {
		t.Errorf("no reset in %s", b.String())
	}
}

func TestWatchLine(t *testing.T) {
	before, now := twoSamples(t, 2, 1)
	var b strings.Builder
	if err := writeWatchLine(&b, before, now); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "\n") != 1 {
		t.Errorf("not one line: %q", b.String())
	}
	var line struct {
		Schema  string
		Seconds float64
		Buffers []struct {
			Name string
			CPUs []struct {
				CPU         int
				Written     uint64
				Overwritten uint64
				Window      float64            `json:"window_seconds"`
				PerSecond   map[string]float64 `json:"per_second"`
			}
		}
	}
	if err := json.Unmarshal([]byte(b.String()), &line); err != nil {
		t.Fatal(err)
	}
	c := line.Buffers[0].CPUs[1]
	// entries 10 + overrun 1000 + read 100; 1000 more in 2 s.
	if line.Schema != watchSchema || line.Seconds != 2 || c.Written != 1110 || c.PerSecond["overwritten"] != 500 || c.Window != 2.5 {
		t.Errorf("%+v", line)
	}
}

func TestWatchUsage(t *testing.T) {
	for _, tt := range []struct{ args, says string }{
		{"--interval 1ms", "100ms at least"},
		{"--format xml", "expected text or jsonl"},
		{"--cpu 3-1", "--cpu"},
		{"--listen :0 --format jsonl", "leave --format out"},
		{"--count -1", "not negative"},
		{"more", "unknown command"},
	} {
		env, _, errs := snapshotEnv()
		code := Main(env, append([]string{"watch"}, strings.Fields(tt.args)...))
		if code != exitUsage || !strings.Contains(errs.String(), tt.says) {
			t.Errorf("watch %s: exit %d, %q; want %d and %q", tt.args, code, errs.String(), exitUsage, tt.says)
		}
	}
}

// What is served is what Prometheus takes, and a counter that is unknown has no
// series.
func TestWatchMetrics(t *testing.T) {
	tree := manyCPUs(2, 1, 3)
	tree["instances/old/per_cpu/cpu0/stats"] = &fstest.MapFile{Data: []byte("entries: 5\n")}
	srv := httptest.NewServer(metricsHandler(live.NewSampler(tree, nil, nil)))
	defer srv.Close()
	text := get(t, srv.URL+"/metrics")
	for _, want := range []string{
		`ringaudit_overwritten_events_total{cpu="1",instance="top"} 3000`,
		`ringaudit_written_events_total{cpu="1",instance="top"} 3310`,
		`ringaudit_dropped_events_total{cpu="0",instance="top"} 0`,
		`ringaudit_window_seconds{cpu="0",instance="top"} 2.5`,
		`ringaudit_recording{instance="top"} 1`,
		`ringaudit_kept_events{cpu="0",instance="old"} 5`,
		"# TYPE ringaudit_written_events_total counter",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not there: %s", want)
		}
	}
	for _, no := range []string{`ringaudit_dropped_events_total{cpu="0",instance="old"}`, `ringaudit_written_events_total{cpu="0",instance="old"}`, `ringaudit_recording{instance="old"}`} {
		if strings.Contains(text, no) {
			t.Errorf("unknown, and there: %s", no)
		}
	}
	promtool(t, text, "check", "metrics")
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v\n%s", url, res.Status, err, b)
	}
	return string(b)
}

func promtool(t *testing.T, in string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool (Debian's prometheus) checks the rest: ", err)
	}
	cmd := exec.Command("promtool", args...)
	cmd.Stdin = strings.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

func TestAlertRules(t *testing.T) {
	dir := filepath.Join(fixtures.Root(t), "docs", "alerts")
	promtool(t, "", "check", "rules", filepath.Join(dir, "ringaudit.rules.yml"))
	promtool(t, "", "test", "rules", filepath.Join(dir, "ringaudit.rules.test.yml"))
}

// Every expression of the dashboard and of the alerts is answered by a real
// Prometheus that has scraped a real watch; those without a condition, with
// series.
func TestPrometheusScrape(t *testing.T) {
	prom, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip(err)
	}
	// Two CPUs that write, lose and are read, a step each scrape.
	step := 0
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		step++
		metricsHandler(live.NewSampler(manyCPUs(2, 1, step), nil, nil)).ServeHTTP(w, r)
	}))
	defer metrics.Close()
	dir := t.TempDir()
	target := strings.TrimPrefix(metrics.URL, "http://")
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: ringaudit\n    static_configs: [{targets: ['%s']}]\n", target)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, prom, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr)
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	query := func(expr string) (series int, err error) {
		res, err := http.Get("http://" + addr + "/api/v1/query?query=" + url.QueryEscape(expr))
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		var out struct {
			Status, Error string
			Data          struct{ Result []any }
		}
		if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
			return 0, err
		}
		if out.Status != "success" {
			return 0, fmt.Errorf("%s", out.Error)
		}
		return len(out.Data.Result), nil
	}
	// A rate needs two scrapes.
	deadline := time.Now().Add(30 * time.Second)
	for {
		if n, err := query(`rate(ringaudit_read_events_total{exported_instance="top"}[1m])`); err == nil && n == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Skipf("prometheus does not get going here:\n%s", log.String())
		}
		time.Sleep(200 * time.Millisecond)
	}

	root := fixtures.Root(t)
	board, err := os.ReadFile(filepath.Join(root, "docs", "grafana", "ringaudit.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(board, &dashboard); err != nil {
		t.Fatal(err)
	}
	if len(dashboard.Panels) < 8 {
		t.Errorf("%d panels", len(dashboard.Panels))
	}
	fill := strings.NewReplacer("$__rate_interval", "1m", "$host", ".*", "$tracefs_instance", ".*")
	for _, p := range dashboard.Panels {
		for _, q := range p.Targets {
			if n, err := query(fill.Replace(q.Expr)); err != nil || n == 0 {
				t.Errorf("panel %q: %d series, %v: %s", p.Title, n, err, q.Expr)
			}
		}
	}
	rules, err := os.ReadFile(filepath.Join(root, "docs", "alerts", "ringaudit.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	// Every metric that the rules name is one that is served.
	for _, name := range regexp.MustCompile(`ringaudit_[a-z_]+`).FindAllString(string(rules), -1) {
		if n, err := query(name); err != nil || n == 0 {
			t.Errorf("the alert rules use %s: %d series, %v", name, n, err)
		}
	}
	// CPU 1 overwrites and is read: the alert's condition holds, for it alone.
	if n, err := query(`sum by (instance, exported_instance, cpu) (rate(ringaudit_overwritten_events_total[1m])) > 0 and on (instance, exported_instance, cpu) sum by (instance, exported_instance, cpu) (rate(ringaudit_read_events_total[1m])) > 0`); err != nil || n != 1 {
		t.Errorf("a reader that is behind: %d series, %v; want 1", n, err)
	}
}
