package supervisor

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir/core/dataplane"
	softswitch "weir/worlds/switch"
	"weir/worlds/switch/control"
)

// collector converts counters to metrics when it is scraped.
type collector struct {
	version string
	config  func() *softswitch.Config
	read    func() (control.Counters, bool) // false: the data plane does not answer
	refused func() uint64                   // count of refused reloads
}

// newDesc describes a metric without constant labels.
func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	metricInfo    = newDesc(softswitch.MetricBuildInfo, "Version of the running program.", "version", "goversion")
	metricUp      = newDesc("weir_switch_up", "1 if the data plane responds.")
	metricRunning = newDesc("weir_switch_running_seconds", "Time since the start of the data plane.")
	metricReloads = newDesc("weir_switch_reloads_total", "Number of times that the configuration was read again.",
		"result")
	metricReceived  = newDesc("weir_switch_received_frames_total", "Received frames.", "port")
	metricReceivedB = newDesc("weir_switch_received_bytes_total", "Bytes of received frames, as the framing counts.",
		"port")
	metricSent  = newDesc("weir_switch_sent_frames_total", "Frames sent from their queue to the interface.", "port")
	metricSentB = newDesc("weir_switch_sent_bytes_total", "Bytes of sent frames, as the framing counts.",
		"port")
	metricDropped = newDesc("weir_switch_dropped_frames_total",
		"Frames that the switch dropped on their way to a port.", "port", "reason")
	metricUndirected = newDesc("weir_switch_undirected_frames_total",
		"Frames that the switch dropped before it chose a port.", "reason")
	metricQueue    = newDesc("weir_switch_queue_frames", "Frames in the queue.", "port")
	metricQueueB   = newDesc("weir_switch_queue_bytes", "Bytes in the queue.", "port")
	metricRingLost = newDesc("weir_switch_ring_lost_frames_total",
		"Frames that did not fit into the ring between kernel and switch.", "port")
	metricTooLong = newDesc("weir_switch_too_long_frames_total",
		"Frames that exceed the interface's MTU, dropped.", "port")
	metricPartial = newDesc("weir_switch_without_checksum_frames_total",
		"Frames without a checksum, which hardware should have added, dropped.", "port")
	metricUnsent   = newDesc("weir_switch_unsent_frames_total", "Frames that interfaces did not accept.")
	metricRunts    = newDesc("weir_switch_runt_frames_total", "Frames without a complete Ethernet header, dropped.")
	metricLateness = newDesc("weir_switch_lateness_seconds", "Delay of frames after their computed time of departure.")
	metricStall    = newDesc("weir_switch_longest_stall_seconds",
		"Longest time during which a due action was delayed.")
	metricCPU       = newDesc("weir_switch_cpu_seconds_total", "CPU time of the data plane's thread.")
	metricKnown     = newDesc("weir_switch_users", "Known addresses of users.")
	metricForgotten = newDesc("weir_switch_forgotten_users_total", "Addresses of users that were replaced by others.")
)

// Describe sends no description, because the metrics depend on the configuration.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the build's version, whether the data plane responds (weir_switch_up) and, if it does, its current
// counters. It requests them from the data plane, and waits (read).
func (c *collector) Collect(to chan<- prometheus.Metric) {
	value := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		value(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) { value(d, prometheus.GaugeValue, v, labels...) }
	gauge(metricInfo, 1, c.version, runtime.Version())
	n, ok := c.read()
	if !ok {
		gauge(metricUp, 0)
		return
	}
	gauge(metricUp, 1)
	gauge(metricRunning, n.At.Seconds())
	count(metricReloads, n.Reloads, "done")
	count(metricReloads, c.refused(), "refused")
	for i, port := range c.config().Ports {
		p := &n.Ports[i]
		count(metricReceived, p.In, port.Name)
		count(metricReceivedB, p.InBytes, port.Name)
		count(metricSent, p.Out, port.Name)
		count(metricSentB, p.OutBytes, port.Name)
		for why := dataplane.NotDropped + 1; why < dataplane.Reasons; why++ {
			if p.Drops[why] > 0 {
				count(metricDropped, p.Drops[why], port.Name, why.OneWord())
			}
			n.Drops[why] -= p.Drops[why]
		}
		gauge(metricQueue, float64(p.Queue), port.Name)
		gauge(metricQueueB, float64(p.QueueBytes), port.Name)
		count(metricRingLost, p.RingLost, port.Name)
		count(metricTooLong, p.TooLong, port.Name)
		count(metricPartial, p.Partial, port.Name)
	}
	for why := dataplane.NotDropped + 1; why < dataplane.Reasons; why++ {
		if n.Drops[why] > 0 {
			count(metricUndirected, n.Drops[why], why.OneWord())
		}
	}
	count(metricUnsent, n.Unsent)
	count(metricRunts, n.Runts)
	gauge(metricStall, n.Stall.Seconds())
	value(metricCPU, prometheus.CounterValue, n.CPU.Seconds())
	gauge(metricKnown, float64(n.Known))
	count(metricForgotten, n.Forgotten)
	buckets := map[float64]uint64{}
	for i, limit := range control.LatenessBounds {
		buckets[limit.Seconds()] = n.LateTo[i]
	}
	to <- prometheus.MustNewConstHistogram(metricLateness, n.Late, n.LateSum, buckets)
	c.collectSamples(&n, to)
}

// collectSamples sends the metrics of programs. It omits metrics that the file does not name at present: during a
// reload, data plane and supervisor change one after the other.
func (c *collector) collectSamples(n *control.Counters, to chan<- prometheus.Metric) {
	config := c.config()
	known := map[string]dataplane.Metric{}
	descriptions := map[string]*prometheus.Desc{}
	for _, m := range config.ProgramMetrics() {
		known[m.Name] = m
		var labels []string
		if m.Label != "" {
			labels = []string{m.Label}
		}
		descriptions[m.Name] = newDesc(m.Name, m.Help, labels...)
	}
	type series struct{ name, label string }
	sent := map[series]bool{}
	for i := range n.Sample[:min(n.Samples, control.MaxSamples)] {
		s := &n.Sample[i]
		m, ok := known[s.Name.String()]
		label := strings.ToValidUTF8(s.Label.String(), "?")
		if m.ByPort {
			if ok = ok && int(s.Port) < len(config.Ports); ok {
				label = config.Ports[s.Port].Name
			}
		}
		var labels []string
		if m.Label != "" {
			labels = []string{label}
		} else {
			label = ""
		}
		if key := (series{m.Name, label}); ok && !sent[key] {
			sent[key] = true
			kind := prometheus.GaugeValue
			if m.Counter {
				kind = prometheus.CounterValue
			}
			to <- prometheus.MustNewConstMetric(descriptions[m.Name], kind, s.Value, labels...)
		}
	}
}

// newHandler returns a handler that serves metrics at /metrics, in OpenMetrics format on request.
func (c *collector) newHandler() (http.Handler, error) {
	r := prometheus.NewRegistry()
	if err := r.Register(c); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{EnableOpenMetrics: true,
		MaxRequestsInFlight: 4}))
	return mux, nil
}
