package agent

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxShown limits the connections in metrics and tables; the busiest are shown.
const maxShown = 256

// newDesc describes a metric without constant labels.
func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	metricInfo        = newDesc("weir_build_info", "Version of the running program.", "version", "goversion")
	metricConnections = newDesc("weir_agent_connections", "Open connections that the agent tracks.")
	metricRTT         = newDesc("weir_agent_rtt_seconds", "Smoothed round-trip time of the kernel.", "local", "remote")
	metricFollowing   = newDesc("weir_agent_following", "1 if the window follows feedback.", "local",
		"remote")
	metricW = newDesc("weir_agent_window_bytes", "HPCC++ window in bytes of frames, as received.", "local",
		"remote", "side")
	metricU   = newDesc("weir_agent_load_ratio", "U, the load of the path's bottleneck.", "local", "remote", "side")
	metricHop = newDesc("weir_agent_bottleneck_hop", "Hop with the largest load, from 1 at the sender.", "local",
		"remote", "side")
	metricHops = newDesc("weir_agent_hops", "Number of hops that wrote records.", "local", "remote", "side")
	metricAge  = newDesc("weir_agent_telemetry_age_seconds", "Time since the last telemetry.", "local", "remote",
		"side")
	metricT = newDesc("weir_agent_t_seconds", "T, the time over which HPCC++ measures, as the receiver has computed it.",
		"local", "remote", "side")
	metricStrays = newDesc("weir_agent_stray_nacks_total", "NACKs that belong to no connection of the agent.")
	metricSupply = newDesc("weir_agent_supply_bits_per_second", "Rate of frames that the last NACK offered.", "local",
		"remote")
	metricBound = newDesc("weir_agent_bound_bytes", "Limit of the payload in flight after NACKs; 0: no limit.", "local",
		"remote")
	nackCounters = []struct {
		*prometheus.Desc
		of func(*Nacks) uint32
	}{
		{newDesc("weir_agent_nacks_taken_total", "Accepted NACKs of switches.", "local", "remote"),
			func(n *Nacks) uint32 { return n.Taken }},
		{newDesc("weir_agent_nacks_repeated_total", "NACKs about a transmission that is not later than that of an "+
			"earlier NACK.", "local",
			"remote"), func(n *Nacks) uint32 { return n.Repeated }},
		{newDesc("weir_agent_nacks_refused_total", "NACKs about data that is not in flight.", "local", "remote"),
			func(n *Nacks) uint32 { return n.Refused }},
		{newDesc("weir_agent_reductions_total", "Number of times that a NACK set or lowered the limit.",
			"local", "remote"),
			func(n *Nacks) uint32 { return n.Reductions }},
		{newDesc("weir_agent_bounds_expired_total", "Number of times that the limit expired without NACKs.",
			"local", "remote"),
			func(n *Nacks) uint32 { return n.Expired }},
		{newDesc("weir_agent_windows_lowered_total", "Received segments with a window that was lowered to the limit.",
			"local",
			"remote"), func(n *Nacks) uint32 { return n.Lowered }},
	}
	counters = []struct {
		*prometheus.Desc
		of func(*Connection) uint32
	}{
		{newDesc("weir_agent_traced_total", "Sent frames with space for records; a large frame of the kernel counts "+
			"once.", "local", "remote"), func(c *Connection) uint32 { return c.Traced }},
		{newDesc("weir_agent_measured_total", "Received measurements with records.", "local", "remote"),
			func(c *Connection) uint32 { return c.Measured }},
		{newDesc("weir_agent_told_total", "Windows that were sent to the sender.", "local", "remote"),
			func(c *Connection) uint32 { return c.FeedbackCount }},
		{newDesc("weir_agent_refused_total", "Options and records with numbers outside the connection's windows.",
			"local", "remote"), func(c *Connection) uint32 { return c.Refused }},
		{newDesc("weir_agent_fallbacks_total", "Number of times that the connection fell back to CUBIC without "+
			"telemetry.", "local",
			"remote"), func(c *Connection) uint32 { return c.Fallbacks }},
	}
)

// collector converts connections to metrics when it is scraped.
type collector struct {
	version string
	read    func() ([]Connection, error)
	strays  func() (uint64, error)
}

// NewHandler returns a handler that serves metrics at /metrics, in OpenMetrics format on request. It calls read and
// strays, such as an Agent's methods, for each scrape, which may be concurrent. strays may be nil if NACKs are not
// followed. An error of read or strays makes the scrape fail.
func NewHandler(version string, read func() ([]Connection, error), strays func() (uint64, error)) (http.Handler,
	error) {
	r := prometheus.NewRegistry()
	if err := r.Register(&collector{version, read, strays}); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{EnableOpenMetrics: true,
		MaxRequestsInFlight: 4}))
	return mux, nil
}

// Describe sends no description, because the metrics depend on the connections.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the current metrics, of up to maxShown connections each for NACKs and HPCC++. It calls read and strays;
// an error of theirs is sent as an invalid metric.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(metricInfo, 1, c.version, runtime.Version())
	all, err := c.read()
	if err != nil {
		to <- prometheus.NewInvalidMetric(metricConnections, err)
		return
	}
	gauge(metricConnections, float64(len(all)))
	if c.strays != nil {
		n, err := c.strays()
		if err != nil {
			to <- prometheus.NewInvalidMetric(metricStrays, err)
		} else {
			to <- prometheus.MustNewConstMetric(metricStrays, prometheus.CounterValue, float64(n))
		}
	}
	for _, x := range sortByNACKs(all) {
		local, remote := x.Local.String(), x.Remote.String()
		if !x.Traces {
			gauge(metricRTT, x.RTT.Seconds(), local, remote)
		}
		gauge(metricSupply, float64(x.Nacks.Supply), local, remote)
		gauge(metricBound, float64(x.Nacks.Bound), local, remote)
		for _, m := range nackCounters {
			to <- prometheus.MustNewConstMetric(m.Desc, prometheus.CounterValue, float64(m.of(x.Nacks)), local, remote)
		}
	}
	for _, x := range sortByFrames(all) {
		local, remote := x.Local.String(), x.Remote.String()
		following := 0.0
		if x.Following {
			following = 1
		}
		gauge(metricFollowing, following, local, remote)
		gauge(metricRTT, x.RTT.Seconds(), local, remote)
		for side, t := range map[string]Feedback{"sender": x.SenderFeedback, "receiver": x.ReceiverFeedback} {
			if t.Window == 0 {
				continue
			}
			gauge(metricW, float64(t.Window), local, remote, side)
			gauge(metricU, t.Load, local, remote, side)
			gauge(metricHop, float64(t.Bottleneck), local, remote, side)
			gauge(metricHops, float64(t.Hops), local, remote, side)
			gauge(metricAge, t.Age.Seconds(), local, remote, side)
			if t.T > 0 {
				gauge(metricT, t.T.Seconds(), local, remote, side)
			}
		}
		for _, m := range counters {
			to <- prometheus.MustNewConstMetric(m.Desc, prometheus.CounterValue, float64(m.of(&x)), local, remote)
		}
	}
}

// sortByNACKs returns up to maxShown connections with NACKs, those with the largest count first. It leaves all
// unchanged.
func sortByNACKs(all []Connection) []Connection {
	all = slices.DeleteFunc(slices.Clone(all), func(c Connection) bool { return c.Nacks == nil })
	slices.SortStableFunc(all, func(a, b Connection) int {
		return int(int64(b.Nacks.Taken) + int64(b.Nacks.Refused) - int64(a.Nacks.Taken) - int64(a.Nacks.Refused))
	})
	return all[:min(len(all), maxShown)]
}

// sortByFrames returns up to maxShown connections that follow HPCC++, those with the largest count of data frames
// first. It leaves all unchanged.
func sortByFrames(all []Connection) []Connection {
	all = slices.DeleteFunc(slices.Clone(all), func(c Connection) bool { return !c.Traces })
	slices.SortStableFunc(all, func(a, b Connection) int {
		return int(int64(b.Traced) + int64(b.Measured) - int64(a.Traced) - int64(a.Measured))
	})
	return all[:min(len(all), maxShown)]
}
