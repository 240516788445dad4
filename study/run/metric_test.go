package run

import (
	"math"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
)

// counting is a user's own program that counts packets, and has the length of the last one as a gauge.
type counting struct{ packets, last float64 }

func (*counting) Name() string { return "counting" }
func (c *counting) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	c.packets++
	c.last = float64(p.Size)
	return dataplane.Accept
}
func (*counting) Metrics() []dataplane.Metric {
	return []dataplane.Metric{{Name: "mine_packets_total", Help: "Packets.", Label: "half", Counter: true},
		{Name: "mine_last_bytes", Help: "The last one."}}
}
func (c *counting) Sample(_ unit.Time, to []dataplane.Sample) int {
	return copy(to, []dataplane.Sample{{Value: c.packets / 2, Word: "a"}, {Value: c.packets / 2, Word: "b"},
		{Metric: 1, Value: c.last}})
}

// TestMetric_MeasuresProgramCounters checks that counters of a user's own program are available in claims and over
// time, without a special measure.
func TestMetric_MeasuresProgramCounters(t *testing.T) {
	r := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
	r.Programs = append(r.Programs, dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "counting", Doc: "counts", Source: "tests"},
		Build:  func(*dataplane.Site, scheme.Config) (dataplane.Program, error) { return &counting{}, nil }})
	const text = small + `switch: [forward, counting]
traffic: [{name: x, from: a, to: c, transport: udp, rate: 1Mbps, payload: 1000 B, start: 0s}]
measure: [{metric: {name: mine_packets_total, every: 10ms}}, {metric: {name: mine_last_bytes}}]
expect: [{id: some, says: packets are counted, that: metric_mine_packets.s > 20}]
`
	s := plantest.Load(t, r, text, experiment.Options{})
	o, err := Execute(t.Context(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := o.Runs[0]
	packets, last := run.FindMeasure("metric_mine_packets").Groups, run.FindMeasure("metric_mine_last_bytes").Groups
	if len(packets) != 1 || packets[0].Group != "s" || math.Abs(packets[0].Value-25) > 1 { // 200 ms of 125 a second
		t.Errorf("packets: %v", packets)
	}
	if len(last) != 1 || last[0].Value != 1042 {
		t.Errorf("the last packet: %v", last)
	}
	if len(run.Series) != 1 || run.Series[0].Name != "metric_mine_packets_rate" || run.Series[0].Unit != "1/s" ||
		len(run.Series[0].Values) != 20 {
		t.Fatalf("series: %+v", run.Series)
	}
	sum := 0.0
	for _, v := range run.Series[0].Values {
		sum += float64(v) * 0.01
	}
	if math.Abs(sum-packets[0].Value) > 1e-6 {
		t.Errorf("growth adds up to %v, not %v", sum, packets[0].Value)
	}
	if c := o.Claims[0]; c.Verdict != "holds" {
		t.Errorf("%+v", c)
	}
	_, err = plan.Load(r, plantest.NewSource("test.yaml", strings.Replace(text, "mine_last_bytes", "mine_first_bytes", 1)),
		experiment.Options{})
	if err == nil || !strings.Contains(err.Error(), "has the metric mine_first_bytes; available: mine_packets_total, "+
		"mine_last_bytes") {
		t.Errorf("an unknown name: %v", err)
	}
}
