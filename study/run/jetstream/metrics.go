package jetstream

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics of a sweep.
var (
	metricQueued  = describeMetric("weir_sweep_queued", "Runs that workers are executing.")
	metricRuns    = describeMetric("weir_sweep_runs_total", "Runs that workers returned, by outcome.", "result")
	metricChecked = describeMetric("weir_sweep_checked_total", "Runs that were repeated on another worker and compared.")
	metricTwice   = describeMetric("weir_sweep_twice_total", "Results that arrived more than once.")
	metricLost    = describeMetric("weir_sweep_losses_total", "Runs that were lost with a worker.")
	metricAside   = describeMetric("weir_sweep_set_aside_total", "Workers that were excluded for wrong results.")
	metricWaits   = describeMetric("weir_sweep_waits", "1 while all runs wait for the server.")
	metricWorker  = describeMetric("weir_sweep_worker_jobs", "Max concurrent runs of a connected worker.", "worker")
	metricMade    = describeMetric("weir_sweep_worker_runs_total", "Runs that a worker has finished.", "worker")
)

// describeMetric returns the description of a metric with the given labels.
func describeMetric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// collector turns a sweep's status into metrics when it is scraped.
type collector func() Status

// Describe sends the descriptions of all metrics (prometheus.Collector).
func (collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{metricQueued, metricRuns, metricChecked, metricTwice, metricLost, metricAside,
		metricWaits, metricWorker, metricMade} {
		to <- d
	}
}

// Collect sends the values of all metrics (prometheus.Collector).
func (c collector) Collect(to chan<- prometheus.Metric) {
	s := c()
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	count := func(d *prometheus.Desc, v int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge(metricQueued, s.Queued)
	count(metricRuns, s.Done, "done")
	count(metricRuns, s.Failed, "failed")
	count(metricChecked, s.Checked)
	count(metricTwice, s.Duplicates)
	count(metricLost, s.Lost)
	count(metricAside, s.Quarantined)
	waits := 0
	if s.Waiting != "" {
		waits = 1
	}
	gauge(metricWaits, waits)
	jobs, made := map[string]int{}, map[string]int{} // several workers may have the same name
	for _, w := range s.Workers {
		made[w.Name] += w.Done
		if !w.Gone && w.Bad == "" {
			jobs[w.Name] += w.Jobs
		}
	}
	for name, n := range jobs {
		gauge(metricWorker, n, name)
	}
	for name, n := range made {
		count(metricMade, n, name)
	}
}

// NewMetricsHandler returns a handler that serves a sweep's metrics at /metrics, in OpenMetrics format if the client
// accepts it. It calls status at each request.
func NewMetricsHandler(status func() Status) (http.Handler, error) {
	r := prometheus.NewRegistry()
	if err := r.Register(collector(status)); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	return mux, nil
}
