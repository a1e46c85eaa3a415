package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ringaudit/ringaudit/tracefs"
	"github.com/ringaudit/ringaudit/tracefs/live"
)

// metric is one series by buffer and CPU, and where its value is in a sample.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*live.CPUSample) (float64, bool)
}

func counterOf(f func(*live.CPUSample) tracefs.Field[uint64]) func(*live.CPUSample) (float64, bool) {
	return func(c *live.CPUSample) (float64, bool) {
		n := f(c)
		return float64(n.V), n.OK
	}
}

func newMetric(name, help string, kind prometheus.ValueType, value func(*live.CPUSample) (float64, bool)) metric {
	return metric{prometheus.NewDesc("ringaudit_"+name, help, []string{"instance", "cpu"}, nil), kind, value}
}

// watchMetrics are the metrics by buffer and CPU (docs/alerts, docs/grafana).
var watchMetrics = []metric{
	newMetric("written_events_total", "Events committed to the buffer since its last reset.", prometheus.CounterValue,
		counterOf(func(c *live.CPUSample) tracefs.Field[uint64] { return c.Written })),
	newMetric("overwritten_events_total", "Events thrown away to make room (overrun).", prometheus.CounterValue,
		counterOf(func(c *live.CPUSample) tracefs.Field[uint64] { return c.Overwritten })),
	newMetric("dropped_events_total", "Events refused because the buffer was full and overwriting is off (dropped events).", prometheus.CounterValue,
		counterOf(func(c *live.CPUSample) tracefs.Field[uint64] { return c.Dropped })),
	newMetric("commit_overrun_events_total", "Events refused because nested writers lapped an open commit (commit overrun).", prometheus.CounterValue,
		counterOf(func(c *live.CPUSample) tracefs.Field[uint64] { return c.CommitOverrun })),
	newMetric("read_events_total", "Events taken by consuming readers (read events).", prometheus.CounterValue,
		counterOf(func(c *live.CPUSample) tracefs.Field[uint64] { return c.Read })),
	newMetric("kept_events", "Events in the buffer now (entries).", prometheus.GaugeValue,
		counterOf(func(c *live.CPUSample) tracefs.Field[uint64] { return c.Kept })),
	newMetric("buffer_bytes", "Bytes in the buffer as the kernel counts them, which drifts: a hint only.", prometheus.GaugeValue,
		counterOf(func(c *live.CPUSample) tracefs.Field[uint64] { return c.Bytes })),
	newMetric("window_seconds", "How far back the oldest event in the buffer lies. No series where nothing is kept or the clock counts no time.", prometheus.GaugeValue,
		func(c *live.CPUSample) (float64, bool) { return c.Window.V.Seconds(), c.Window.OK }),
}

var (
	recordingDesc = prometheus.NewDesc("ringaudit_recording", "1 if the buffer records (tracing_on).", []string{"instance"}, nil)
	problemDesc   = prometheus.NewDesc("ringaudit_buffer_unreadable", "1 if some counters of the buffer could not be read at this scrape.", []string{"instance"}, nil)
)

// watchCollector reads the counters anew for every scrape.
type watchCollector struct {
	mu      sync.Mutex // a Sampler serves one at a time
	sampler *live.Sampler
}

// Describe implements prometheus.Collector.
func (c *watchCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range watchMetrics {
		ch <- m.desc
	}
	ch <- recordingDesc
	ch <- problemDesc
}

// Collect implements prometheus.Collector.
func (c *watchCollector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.sampler.Sample(time.Now())
	if err != nil {
		ch <- prometheus.NewInvalidMetric(problemDesc, err)
		return
	}
	for i := range s.Buffers {
		b := &s.Buffers[i]
		if b.Recording.OK {
			ch <- prometheus.MustNewConstMetric(recordingDesc, prometheus.GaugeValue, float64(btoi(b.Recording.V)), b.Name)
		}
		ch <- prometheus.MustNewConstMetric(problemDesc, prometheus.GaugeValue, float64(btoi(b.Problem != "")), b.Name)
		for j := range b.CPUs {
			cpu := strconv.Itoa(b.CPUs[j].CPU)
			for _, m := range watchMetrics {
				if v, ok := m.value(&b.CPUs[j]); ok {
					ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v, b.Name, cpu)
				}
			}
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// metricsHandler serves a sampler's metrics.
func metricsHandler(s *live.Sampler) http.Handler {
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(&watchCollector{sampler: s})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<title>ringaudit</title><p><a href=\"metrics\">metrics</a>\n"))
	})
	return mux
}

// serveMetrics serves until the context ends.
func serveMetrics(ctx context.Context, l net.Listener, s *live.Sampler) error {
	srv := &http.Server{Handler: metricsHandler(s), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return exitWith(exitUnreadable, err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := srv.Shutdown(end); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return exitWith(exitUnreadable, err)
	}
	return nil
}
