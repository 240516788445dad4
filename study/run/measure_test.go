package run

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"weir/core/transport/rdma"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/results"
)

// rounding is the tolerance of values that are exact except for rounding.
var rounding = testkit.Tolerance{Relative: 1e-9}

// line has two senders and a receiver. The switch's link to the receiver has 10 Mb/s.
const line = `title: t
duration: 2s
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms}
    - {ends: [b, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, c], rate: 10Mbps, delay: 1ms, buffer: 10 packets}
switch: [forward]
`

// first runs the first run of a spec.
func first(t *testing.T, text string) *results.Run {
	t.Helper()
	o := execute(t, text, Options{})
	if len(o.Runs) == 0 {
		t.Fatalf("no run: %v", o.Failed)
	}
	return o.Runs[0]
}

func valueOf(r *results.Run, t *testing.T, name, group string) float64 {
	t.Helper()
	for _, m := range r.Measures {
		if m.Name != name {
			continue
		}
		if m.Groups == nil {
			return m.Value
		}
		for _, g := range m.Groups {
			if g.Group == group {
				return g.Value
			}
		}
	}
	t.Fatalf("there is no %s of %q", name, group)
	return 0
}

func overOf(r *results.Run, t *testing.T, name, group string) *measure.Series {
	t.Helper()
	for i := range r.Series {
		if s := &r.Series[i]; s.Name == name && s.Group == group {
			return s
		}
	}
	t.Fatalf("there is no series %s of %q", name, group)
	return nil
}

func floats(s *measure.Series) []float64 {
	var out []float64
	for _, v := range s.Values {
		out = append(out, float64(v))
	}
	return out
}

// TestConstantRate checks measures of a constant rate. A datagram of 1000 bytes is a frame of 1042, 83.36 µs at 100
// and 833.6 µs at 10 Mb/s. 6 Mb/s are 750 of them a second, each on two links.
func TestConstantRate(t *testing.T) {
	r := first(t, line+`
warmup: 1s
traffic: [{name: a, from: a, to: c, transport: udp, rate: 6Mbps, gap_jitter: 0, payload: 1000 B, start: 0s}]
measure: [{goodput: {every: 100ms}}, {throughput: {port: s->c, every: 50ms}}, {utilisation: {port: s->c, every: 1s}},
  {delay: {percentiles: [1, 50, 99]}}, {packet_rate: {port: s->c, every: 50ms}},
  overhead, {queue: {port: s->c, every: 1ms, unit: bytes, percentiles: [50, 99.9]}}]
`)
	testkit.CheckNear(t, "goodput", valueOf(r, t, "goodput", "a"), 6e6, testkit.Tolerance{Relative: 1e-3})
	s := overOf(r, t, "goodput", "a")
	if len(s.Values) != 20 || s.StartS != 1 || s.StepS != 0.1 {
		t.Errorf("goodput over time: %+v", s)
	}
	testkit.CheckNear(t, "mean of goodput over time", mean(floats(s)), valueOf(r, t, "goodput", "a"), rounding)
	testkit.CheckNear(t, "throughput", valueOf(r, t, "throughput", "s->c"), 6e6*1.042, testkit.Tolerance{Relative: 1e-3})
	testkit.CheckNear(t, "mean of throughput over time", mean(floats(overOf(r, t, "throughput", "s->c"))), valueOf(r, t,
		"throughput",
		"s->c"), rounding)
	testkit.CheckNear(t, "packets", valueOf(r, t, "packet_rate", "s->c"), 750, testkit.Tolerance{Relative: 1e-3})
	testkit.CheckNear(t, "mean of packets over time", mean(floats(overOf(r, t, "packet_rate", "s->c"))), valueOf(r, t,
		"packet_rate",
		"s->c"), rounding)
	testkit.CheckNear(t, "utilisation", valueOf(r, t, "utilisation", "s->c"), 0.6*1.042, testkit.Tolerance{Relative: 1e-3})
	testkit.CheckNear(t, "utilisation in an interval", float64(overOf(r, t, "utilisation", "s->c").Values[1]), 0.6*1.042,
		testkit.Tolerance{Relative: 2e-3})
	for _, q := range []string{"delay_p1", "delay_p50", "delay_p99"} { // classes are 1/64 wide at most
		testkit.CheckNear(t, q, valueOf(r, t, q, "a"), 2e-3+83.36e-6+833.6e-6, testkit.Tolerance{Relative: 1. / 128})
	}
	testkit.CheckNear(t, "payload on links", valueOf(r, t, "overhead", "payload"), 2*2*750*1000,
		testkit.Tolerance{Relative: 2e-3})
	testkit.CheckNear(t, "headers on links", valueOf(r, t, "overhead", "headers"), 2*2*750*42,
		testkit.Tolerance{Relative: 2e-3})
	for _, kind := range []string{"extensions", "ack", "nack", "notice", "probe", "pfc"} {
		if v := valueOf(r, t, "overhead", kind); v != 0 {
			t.Errorf("%g bytes of %s", v, kind)
		}
	}
	if valueOf(r, t, "queue", "p50") != 0 || valueOf(r, t, "queue", "max") > 1042 ||
		!math.IsNaN(valueOf(r, t, "queue", "p99_9")) {
		t.Errorf("queue %+v", r.Measures)
	}
}

// TestRateChange checks measures of a link whose rate halves at 1 s. The link is full before and after, and
// utilisation takes the rate of the time. Throughput reacts within the first interval, and the goodput of the
// sender a little later.
func TestRateChange(t *testing.T) {
	text := line + `
traffic: [{name: a, from: a, to: c, transport: udp, rate: 20Mbps, gap_jitter: 0, payload: 1000 B, start: 0s}]
events: [{at: 1s, link: [s, c], rate: 5Mbps}]
measure: [{utilisation: {port: s->c, every: 500ms}}, {throughput: {port: s->c, every: 250ms}},
  {goodput: {every: 100ms}},
  {reaction: {after: 1s, throughput: s->c, to: 5Mbps, every: 10ms}},
  {reaction: {after: 1s, goodput: a, every: 10ms, within: 20%}},
  {reaction: {after: 500ms, until: 1s, queue: s->c, every: 5ms, to: 100 packets}}]
`
	r := first(t, text)
	testkit.CheckNear(t, "utilisation", valueOf(r, t, "utilisation", "s->c"), 1, testkit.Tolerance{Relative: 2e-3})
	for i, v := range overOf(r, t, "utilisation", "s->c").Values {
		testkit.CheckNear(t, fmt.Sprint("utilisation in half second ", i), float64(v), 1, testkit.Tolerance{Relative: 5e-3})
	}
	for i, v := range overOf(r, t, "throughput", "s->c").Values {
		want := 10e6
		if i >= 4 {
			want = 5e6
		}
		testkit.CheckNear(t, fmt.Sprint("throughput in quarter ", i), float64(v), want, testkit.Tolerance{Relative: 1e-2})
	}
	if v := valueOf(r, t, "reaction", "s->c"); v != 0.01 {
		t.Errorf("throughput reacts after %g s", v)
	}
	if v := valueOf(r, t, "reaction", "a"); v != 0.02 && v != 0.01 { // what is on the wire arrives a millisecond later
		t.Errorf("goodput reacts after %g s", v)
	}
	if v := valueOf(r, t, "reaction", "queue s->c"); !math.IsNaN(v) {
		t.Errorf("a queue of 10 packets reaches 100 after %g s", v)
	}
}

// TestJain_CountsFlowsOfFullIntervals checks Jain's index: 3 and 1 Mb/s have 16/20. The flow that begins at 0.5 s
// counts from the first interval that it covers completely.
func TestJain_CountsFlowsOfFullIntervals(t *testing.T) {
	text := line + `
traffic:
  - {name: a, from: a, to: c, transport: udp, rate: 3Mbps, gap_jitter: 0, payload: 1000 B, start: 0s}
  - {name: b, from: b, to: c, transport: udp, rate: RATE, gap_jitter: 0, payload: 1000 B, start: 500ms, stop: 1500ms}
measure: [{jain: {by: BY, every: 100ms}}, {time_to_fairness: {by: BY, every: 100ms, hold: 3, after: 100ms}}]
`
	r := first(t, strings.NewReplacer("RATE", "1Mbps", "BY", "flow").Replace(text))
	s := floats(overOf(r, t, "jain", ""))
	if len(s) != 20 || s[0] != 1 || s[4] != 1 || s[15] != 1 {
		t.Errorf("index over time %v", s)
	}
	for _, v := range s[6:14] {
		testkit.CheckNear(t, "index of 3 and 1", v, 0.8, testkit.Tolerance{Relative: 0.02})
	}
	if v := valueOf(r, t, "time_to_fairness", ""); v != 0.1 { // alone it is fair from the start
		t.Errorf("fair after %g s", v)
	}
	r = first(t, strings.NewReplacer("RATE", "3Mbps", "BY", "traffic").Replace(text))
	testkit.CheckNear(t, "index of one of two", floats(overOf(r, t, "jain", ""))[2], 0.5, rounding)
	testkit.CheckNear(t, "time to fairness", valueOf(r, t, "time_to_fairness", ""), 0.5, rounding)
	r = first(t, strings.NewReplacer("RATE", "1Mbps", "BY", "traffic").Replace(text))
	if v := valueOf(r, t, "time_to_fairness", ""); !math.IsNaN(v) {
		t.Errorf("3 and 1 are fair after %g s", v)
	}
}

// TestFairnessWithoutEnded checks that a flow that ended in the warm-up does not count as a flow without goodput.
func TestFairnessWithoutEnded(t *testing.T) {
	r := first(t, strings.Replace(line, "duration: 2s", "duration: 2s\nwarmup: 1s", 1)+`
traffic:
  - {name: a, from: a, to: c, transport: udp, rate: 3Mbps, gap_jitter: 0, payload: 1000 B, start: 0s}
  - {name: b, from: b, to: c, transport: udp, rate: 3Mbps, gap_jitter: 0, payload: 1000 B, start: 100us}
  - {name: early, from: b, to: c, transport: tcp, size: 1kB, start: 0s}
  - {name: stopped, from: b, to: c, transport: udp, rate: 1Mbps, start: 0s, stop: 500ms}
measure: [{jain: {by: flow}}, {fct: {}}]
`)
	testkit.CheckNear(t, "Jain's index", valueOf(r, t, "jain", ""), 1, testkit.Tolerance{Relative: 1e-6})
	if valueOf(r, t, "fct_finished", "early") != 1 {
		t.Error("the early flow has not ended")
	}
}

// TestFCT_WrittenNeedsSendBuffer checks that only a transport with a send buffer has the time at which the last
// write returns.
func TestFCT_WrittenNeedsSendBuffer(t *testing.T) {
	for transport, want := range map[string]bool{"tcp": true, "rdma": false, "window, window: 4 packets": false} {
		t.Run(transport, func(t *testing.T) {
			registry := room()
			registry.Transports = append(registry.Transports, rdma.Scheme())
			s := plantest.LoadSource(t, registry, file("t.yaml",
				line+"traffic: [{name: a, from: a, to: c, transport: "+transport+
					", size: 10kB, start: 0s}]\nmeasure: [fct]\n"), experiment.Options{})
			if got := slices.ContainsFunc(s.Measures(), func(m measure.Measured) bool {
				return m.Name == "fct_written"
			}); got != want {
				t.Errorf("fct_written is there: %v", got)
			}
		})
	}
}

// TestDeviations_MatchFlowTable checks the last write of a flow: it returns when the rest fits into the send
// buffer, so that at most the size of the buffer is unacknowledged then. Deviations are computed from the flows'
// values, which the table has one by one.
func TestDeviations_MatchFlowTable(t *testing.T) {
	r := first(t, line+`
traffic:
  - {name: x, from: [a, b], to: c, flows: 2, start: 0s..300ms, size: 100kB, transport: {tcp: {send_buffer: 20000 B}}}
measure: [{fct: {deviation: true}}, {retransmissions: {by: flow}}, unacked]
`)
	var fct, again []float64
	for i, v := range r.Flows.FCTS {
		fct, again = append(fct, float64(v)), append(again, float64(r.Flows.RetransmittedPackets[i]))
	}
	two := func(x []float64) (mean, sd float64) {
		for _, v := range x {
			mean += v / 4
		}
		for _, v := range x {
			sd += (v - mean) * (v - mean) / 3
		}
		return mean, math.Sqrt(sd)
	}
	m, sd := two(fct)
	testkit.CheckNear(t, "mean FCT", valueOf(r, t, "fct", "x"), m, rounding)
	testkit.CheckNear(t, "its deviation", valueOf(r, t, "fct_sd", "x"), sd, rounding)
	m, sd = two(again)
	testkit.CheckNear(t, "mean of retransmissions", valueOf(r, t, "retransmissions_mean", "x"), m, rounding)
	testkit.CheckNear(t, "their deviation", valueOf(r, t, "retransmissions_sd", "x"), sd, rounding)
	testkit.CheckNear(t, "their sum", valueOf(r, t, "retransmissions", "x"), 4*m, rounding)
	written := r.FindDistribution("fct_written", "x")
	if written.Count() != 4 || r.FindDistribution("retransmissions", "x").Count() != 4 {
		t.Errorf("distributions of %d and %d flows", written.Count(), r.FindDistribution("retransmissions", "x").Count())
	}
	if w := valueOf(r, t, "fct_written", "x"); !(w < valueOf(r, t, "fct", "x")) ||
		!(valueOf(r, t, "fct_written_sd", "x") > 0) {
		t.Errorf("the last write returns after %g s", w)
	}
	if u, most := valueOf(r, t, "unacked", "x"), valueOf(r, t, "unacked_max", "x"); u <= 5000 || u > most || most > 20000 {
		t.Errorf("%g bytes, %g at most, are not acknowledged with a buffer of 20000", u, most)
	}
}

// TestGauges_CoverLifetimeOfFlows checks that gauges have values only between the start and the end of a flow. The
// window of transport window never changes, and UDP has no window.
func TestGauges_CoverLifetimeOfFlows(t *testing.T) {
	text := line + `
traffic:
  - {name: w, from: a, to: c, transport: window, window: 3 packets, timeout: 100ms, payload: 1000 B, size: 500kB,
      start: 100ms, flows: 3}
  - {name: u, from: b, to: c, transport: udp, rate: 1Mbps, start: 0s}
measure: [{cwnd: {every: 10ms, flows: 2}}, {in_flight: {every: 10ms}}, {rate: {every: 500ms}}, fct]
`
	r := first(t, text)
	if n := len(r.Series); n != 2+3+3 {
		t.Errorf("%d series", n)
	}
	s := floats(overOf(r, t, "cwnd", "w.1"))
	if !math.IsNaN(s[9]) || s[11] != 3000 || !math.IsNaN(s[len(s)-1]) || valueOf(r, t, "cwnd", "w") != 3000 {
		t.Errorf("window over time %v", s)
	}
	end := int(math.Ceil((0.1 + valueOf(r, t, "fct_max", "w")) / 0.01))
	if math.IsNaN(s[end-2]) || !math.IsNaN(s[end+1]) {
		t.Errorf("the window is shown until %v, the last flow ended in sample %d", s, end)
	}
	for _, v := range floats(overOf(r, t, "in_flight", "w.0")) {
		if v > 3000 {
			t.Errorf("%g bytes in flight", v)
		}
	}
	if valueOf(r, t, "rate", "w") != 0 {
		t.Error("it is paced")
	}
}

// TestBins_FollowSizeQuantiles checks that bins are the quantiles of the size distribution, because sizes are drawn
// from it, and that they are the same for all seeds. The test computes the values of a bin from the flows.
func TestBins_FollowSizeQuantiles(t *testing.T) {
	text := `title: t
duration: 400ms
repeat: 2
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 4, rate: 1Gbps, delay: 1us, buffer: 64 packets}}
switch: [ecmp]
traffic:
  - {name: web, from: "*", to: random, transport: tcp, sizes: hadoop, load: 30%}
  - {name: bulk, from: h0, to: h5, transport: tcp, start: 0s}
measure: [{slowdown: {bins: 4, percentiles: [50, 90]}}, {fct: {bins: 2}},
  {queue: {switches: "leaf*", every: 100us, until: 200ms, percentiles: [50, 99]}}]
expect:
  - {id: short, says: names of bins are known,
      that: "slowdown_bins.web[0].to == 450B and slowdown_bins.web[0].n > 30 and fct_bins.web[1].to == 10MB"}
plot: [{x: flow_size, y: slowdown_p50}, {x: queue, y: cdf}, {x: fct, y: cdf, log: x, where: {}}]
`
	text = strings.Replace(text, ", where: {}", "", 1)
	o := execute(t, text, Options{})
	if o.Claims[0].Verdict != claim.Holds {
		t.Errorf("%+v", o.Claims[0])
	}
	var edges [][]int64
	for _, r := range o.Runs {
		if len(r.Bins) != 2 || r.Bins[0].Name != "slowdown" || r.Bins[0].Traffic != "web" {
			t.Fatalf("bins %+v", r.Bins)
		}
		var here []int64
		total := 0
		for _, b := range r.Bins[0].Bins {
			here = append(here, b.ToBytes)
			var in []float64
			for i, size := range r.Flows.SizeBytes {
				if fct := float64(r.Flows.FCTS[i]); size > b.FromBytes && size <= b.ToBytes && !math.IsNaN(fct) {
					in = append(in, fct/float64(r.Flows.IdealS[i]))
				}
			}
			sort.Float64s(in)
			total += len(in)
			if b.N != len(in) || len(in) < 100 {
				t.Errorf("%d flows up to %d bytes, want %d", b.N, b.ToBytes, len(in))
			}
			testkit.CheckNear(t, "mean", float64(b.Mean), mean(in), rounding)
			testkit.CheckNear(t, "p90", float64(b.Percentiles[1]), in[(90*len(in)+99)/100-1], rounding)
			if in[0] < 1 {
				t.Errorf("a slowdown of %g", in[0])
			}
		}
		edges = append(edges, here)
		if d := r.FindDistribution("slowdown", "web"); int(d.Count()) != total {
			t.Errorf("%d slowdowns, bins have %d", d.Count(), total)
		}
		q := r.FindDistribution("queue", "leaf*")
		if q.Count() != 2000*(2*4+2*2) {
			t.Errorf("%d samples of leaf queues", q.Count())
		}
	}
	// Hadoop's quarters: 25 % between 400 (20 %) and 500 (30 %), 50 % at 700, 75 % at
	// 30000 + 3/10·20000, linear between the points
	if !reflect.DeepEqual(edges[0], []int64{450, 700, 36000, 10000000}) || !reflect.DeepEqual(edges[0], edges[1]) {
		t.Errorf("edges %v", edges)
	}
}

// TestRunFile checks that a run is the same after writing and reading, including undefined values.
func TestRunFile(t *testing.T) {
	dir := t.TempDir()
	o := execute(t, line+`
traffic: [{name: w, from: a, to: c, transport: tcp, size: 100kB, start: 500ms},
  {name: e, from: b, to: c, transport: tcp, start: 0s}]
measure: [goodput, {cwnd: {every: 100ms}}, {slowdown: {bins: 1}}, {queue: {port: s->c, every: 50ms}},
  {delay: {percentiles: [99]}}, {jain: {every: 500ms}}]
`, Options{Dir: dir})
	run := o.Runs[0]
	data, err := os.ReadFile(filepath.Join(o.Dir, "runs", run.ID+".json"))
	if err != nil {
		t.Fatal(err)
	}
	back, err := results.ReadRun(data)
	if err != nil {
		t.Fatal(err)
	}
	if again := back.EncodeJSON(true); !bytes.Equal(again, data) {
		t.Errorf("written again it is\n%.300s\nwas\n%.300s", again, data)
	}
	if lines := bytes.Count(data, []byte("\n")); lines > 30 {
		t.Errorf("the file has %d lines", lines)
	}
	if len(back.Series) != len(run.Series) || len(back.Bins) != 1 || len(back.Distributions) != len(run.Distributions) ||
		len(back.Flows.StartS) != 2 {
		t.Errorf("it lost something: %+v", back)
	}
}

// TestParquet_MatchesRuns checks that Parquet files have the values of the runs, with the sweep's keys, and nulls
// for undefined values.
func TestParquet_MatchesRuns(t *testing.T) {
	dir := t.TempDir()
	o := execute(t, line+`
repeat: 2
sweep: {rate: [1Mbps, 4Mbps], flow: {x: {mtu: 1500 B}}}
traffic: [{name: w, from: a, to: c, transport: tcp, size: 50kB, start: 200ms},
  {name: u, from: b, to: c, transport: udp, rate: $rate, start: 0s}]
measure: [{cwnd: {every: 100ms}}, {goodput: {every: 1s}}]
`, Options{Dir: dir})
	type flow struct {
		Run       string   `parquet:"run"`
		Seed      uint64   `parquet:"seed"`
		Rate      string   `parquet:"rate"`
		RateValue float64  `parquet:"rate_value"`
		SweepFlow string   `parquet:"sweep_flow"`
		Flow      int32    `parquet:"flow"`
		Traffic   string   `parquet:"traffic"`
		Src       string   `parquet:"src"`
		Size      *int64   `parquet:"size_bytes,optional"`
		Start     float64  `parquet:"start_s"`
		FCT       *float64 `parquet:"fct_s,optional"`
		Ideal     *float64 `parquet:"ideal_fct_s,optional"`
		Slowdown  *float64 `parquet:"slowdown,optional"`
		Received  int64    `parquet:"received_bytes"`
	}
	flows, err := parquet.ReadFile[flow](filepath.Join(o.Dir, results.FlowsFile))
	if err != nil || len(flows) != 8 {
		t.Fatalf("%d flows, error %v", len(flows), err)
	}
	for i, f := range flows {
		r := o.Runs[i/2]
		if f.Run != r.ID || f.Seed != r.Seed || f.Rate != r.Point[0].Text || f.RateValue != r.Point[0].Value ||
			f.SweepFlow != "x" || int(f.Flow) != i%2 {
			t.Errorf("row %d: %+v", i, f)
		}
		if w := i%2 == 0; w && (f.Traffic != "w" || f.Src != "a" || *f.Size != 50000 || f.Start != 0.2 ||
			*f.Slowdown != *f.FCT / *f.Ideal || f.Received != 50000) ||
			!w && (f.Size != nil || f.FCT != nil || f.Ideal != nil || f.Slowdown != nil) {
			t.Errorf("row %d: %+v", i, f)
		}
	}
	type value struct {
		Run     string   `parquet:"run"`
		Measure string   `parquet:"measure"`
		Group   string   `parquet:"group"`
		Unit    string   `parquet:"unit"`
		Time    float64  `parquet:"time_s"`
		Value   *float64 `parquet:"value,optional"`
	}
	values, err := parquet.ReadFile[value](filepath.Join(o.Dir, results.SeriesFile))
	if err != nil || len(values) != 4*(20+2+2) {
		t.Fatalf("%d values, error %v", len(values), err)
	}
	if v := values[0]; v.Measure != "cwnd" || v.Group != "w.0" || v.Unit != "bytes" || v.Time != 0 || v.Value != nil ||
		values[2].Value == nil {
		t.Errorf("first values %+v, %+v", v, values[2])
	}
}

// TestEveryMeasure checks that every measure of `weir list measures` can be requested, and has values.
func TestEveryMeasure(t *testing.T) {
	options := map[string]string{"queue": "port: s->c", "throughput": "port: s->c", "utilisation": "port: s->c",
		"packet_rate": "port: s->c", "reaction": "after: 1s, goodput: w"}
	var entries, names []string
	for _, m := range measure.Definitions() {
		if m.Name == "metric" { // of programs that have some: TestMetric_MeasuresProgramCounters
			continue
		}
		entries = append(entries, fmt.Sprintf("{%s: {%s}}", m.Name, options[m.Name]))
		names = append(names, m.Name)
	}
	if !slices.IsSorted(names) {
		t.Error("measures are not in order")
	}
	network := strings.NewReplacer("switches: [s]", "switches: [s, up]", "  links:\n",
		"  links:\n    - {ends: [s, up], rate: 1Gbps, delay: 1ms}\n").Replace(line)
	r := first(t, network+`
traffic: [{name: w, from: a, to: c, transport: tcp, size: 1MB, start: 0s},
  {name: ring, job: {all_reduce_flows: {algorithm: ring, size: 1MB}}, hosts: "*", transport: tcp},
  {name: gather, job: {all_gather: {size: 1MB}}, hosts: [a, c], transport: tcp}]
measure: [`+strings.Join(entries, ", ")+"]\n")
	for _, name := range names {
		if !slices.ContainsFunc(r.Measures, func(m measure.Measured) bool { return m.Name == name }) {
			t.Errorf("%s gives nothing", name)
		}
	}
}

// TestReactionUntilTheEnd checks that until may be the end of the run, which is also its default.
func TestReactionUntilTheEnd(t *testing.T) {
	r := first(t, line+`
traffic: [{name: a, from: a, to: c, transport: udp, rate: 4Mbps, start: 0s}]
measure: [{reaction: {after: 500ms, goodput: a, until: 2s, every: 100ms, hold: 15}}]
`)
	if v := valueOf(r, t, "reaction", "a"); v != 0.1 {
		t.Errorf("a constant rate reacts after %g s", v)
	}
}

// TestOverhead_AddsUpToSentBytes checks that the parts of frames add up to the bytes that all ports have sent, with
// acknowledgements and telemetry. The headers agree with the packets: 66 bytes of headers and options per TCP
// segment, and 58 per packet of rdma over IPv4, with 16 more for the first one.
func TestOverhead_AddsUpToSentBytes(t *testing.T) {
	for transport, payloadHeader := range map[string]float64{"transport: tcp": 66. / 1000,
		"transport: rdma, cc: none": 58.016 / 1000, "transport: rdma, cc: dctcp": 58.016 / 1000} {
		t.Run(transport, func(t *testing.T) {
			r := first(t, `title: t
duration: 100ms
topology: {star: {hosts: 2, rate: 1Gbps, delay: 1us}}
switch: [forward]
traffic: [{name: a, from: h0, to: h1, `+transport+`, payload: 1000 B, size: 1MB, start: 0s}]
measure: [overhead, {throughput: {port: h0->s}}, {throughput: {port: s->h0}}, {throughput: {port: h1->s}},
  {throughput: {port: s->h1}}, fct]
`)
			sum, sent := 0.0, 0.0
			for _, m := range r.Measures {
				for _, g := range m.Groups {
					switch m.Name {
					case "overhead":
						sum += g.Value
					case "throughput":
						sent += g.Value / 8 * r.End.TimeS
					}
				}
			}
			testkit.CheckNear(t, "all parts", sum, sent, rounding)
			testkit.CheckNear(t, "headers", valueOf(r, t, "overhead", "headers"), payloadHeader*valueOf(r, t, "overhead",
				"payload"), testkit.Tolerance{Relative: 2e-3})
			testkit.CheckNear(t, "payload", valueOf(r, t, "overhead", "payload"), 2e6, rounding)
			if valueOf(r, t, "overhead", "ack") < 2*2*50*100 {
				t.Errorf("%g bytes of ACKs", valueOf(r, t, "overhead", "ack"))
			}
		})
	}
}

func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}
