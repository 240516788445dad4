package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// reaction is a combination of the choices that decide whether senders react to a congested link.
type reaction struct{ controller, transport, format, balancer string }

func (r reaction) String() string {
	return fmt.Sprintf("%s over %s, %s, %s", r.controller, r.transport, r.format, r.balancer)
}

// The choices of a reaction and a crossing. They include every scheme of the registry (TestReactionsComplete).
var (
	lawChoices = []string{"hpcc", "hpcc: {mode: per_hop}", "hpcc: {mode: rx_rate}", "hpcc: {census: on}",
		"hpcc: {delay: sojourn}", "rx_hpcc", "rx_hpcc: {census: off}", "rx_hpcc: {preset: agent}", "hpcc_pint", "powertcp",
		"dcqcn", "swift", "timely", "dctcp", "bbr", "cubic", "reno", "bolt", "hpcc: {max_stage: 0}"}
	transportChoices = []string{"rdma: {recovery: selective_repeat, reordering: adaptive}", "rdma",
		"tcp: {rto_min: 1ms}", "udp_controlled"}
	formatChoices = []string{"hpcc", "int-md", "int-md, sojourn: on", "ioam", "ioam-gafni", "ifa", "ifa-ext",
		"relative", "none"}
	balancerChoices = []string{"ecmp", "wecmp", "spray", "drill", "letflow", "conga", "hula", "p4te"}
)

// reactions returns all combinations of controllers, transports, formats of telemetry and load balancers.
func reactions() (all []reaction) {
	for _, c := range lawChoices {
		for _, t := range transportChoices {
			for _, f := range formatChoices {
				for _, b := range balancerChoices {
					all = append(all, reaction{c, t, f, b})
				}
			}
		}
	}
	return all
}

// law returns a controller with its parameters: thresholds of delay suit a round trip and the rate of its links.
func (r reaction) law(trip unit.Time, rate unit.Rate) string {
	trips := func(n float64) unit.Time { return unit.Time(n*float64(trip)) / 1000 * 1000 }
	switch r.controller {
	case "powertcp": // its paper's 150 Mb/s are for links of 100 Gb/s
		return fmt.Sprintf("powertcp: {beta: %v}", rate*3/2000)
	case "swift":
		return fmt.Sprintf("swift: {base_target: %v, hop_delay: %v, fs_range: %v}", trips(1.2), trips(0.1), trips(1))
	case "timely":
		return fmt.Sprintf("timely: {t_low: %v, t_high: %v, min_rtt: %v, segment: %d B, delta: %v, min_rate: %v}",
			trips(1.2), trips(3), trips(0.9), rate.BytesIn(trip)/4, rate/250, rate/50)
	}
	return block(r.controller)
}

// congested is an incast of eight hosts at two leaves. Port 1 of its first leaf leads to the receiver, and its
// buffer holds four bandwidth-delay products: first windows fill it twice.
const congested = `%sduration: 3ms
warmup: %s
topology: {leaf_spine: {leaves: 3, spines: 4, hosts: 4, rate: 25Gbps, uplink: 25Gbps, delay: 1us, buffer: 120kB}}
switch: [%s, {ecn: {kmin: 15kB, kmax: 45kB, pmax: 20%%}}%s]
traffic:
  - {name: x, from: [h4, h5, h6, h7, h8, h9, h10, h11], to: h0, transport: {%s}, cc: {%s}, start: 0s}
measure: [goodput]
`

func (r reaction) spec() string {
	warmup := "3ms"
	if r.controller == "bbr" { // its model takes its time
		warmup = "20ms"
	}
	return fmt.Sprintf(congested, r.addresses(), warmup, r.balancer, r.telemetry(9*unit.Microsecond),
		block(r.transport), r.law(10*unit.Microsecond, 25*unit.Gbps))
}

// addresses returns the line of a file that gives hosts the addresses that the load balancer needs.
func (r reaction) addresses() string {
	if r.balancer == "p4te" {
		return "addresses: hierarchical\n"
	}
	return ""
}

// telemetry returns the programs that switches run for the controller, as items of a list, with loads averaged over
// t.
func (r reaction) telemetry(t unit.Time) (items string) {
	if r.format != "none" {
		items = fmt.Sprintf(", {telemetry: {format: %s, t: %v}}", r.format, t)
	}
	if r.controller == "bolt" { // its switches tell it
		items += ", bolt"
	}
	return items
}

// block makes name: {} of a name.
func block(s string) string {
	if !strings.Contains(s, ":") {
		return s + ": {}"
	}
	return s
}

// check loads and runs the combination. It passes if loading reports a mismatch, or if the bounds of the law hold
// at the congested port, except for effects that a warning excuses.
func (r reaction) check(t *testing.T) {
	o, warned, loads := r.measure(t)
	if !loads {
		return
	}
	t.Logf("%v, warned %q", o, testkit.FormatAll(warned))
	if missed := r.bounds().missed(o) &^ r.excusedBy(warned); missed != 0 {
		t.Errorf("the flows do not react, and no warning names it:%v; %v", missed, o)
	}
}

// tryLoad loads a file. It reports false if the loader refuses the combination of its parts, which must name a place in
// the file.
func tryLoad(t *testing.T, text string) (s *experiment.Spec, loads bool) {
	t.Helper()
	s, err := plan.Load(app.Registry(), plantest.NewSource("test.yaml", text), experiment.Options{})
	if err == nil {
		return s, true
	}
	if !strings.Contains(err.Error(), "test.yaml:") {
		t.Errorf("refused without a place: %v", err)
	}
	t.Log("refused: ", strings.SplitN(err.Error(), "\n", 2)[0])
	return nil, false
}

// measure runs the combination, if it loads.
func (r reaction) measure(t *testing.T) (o figures, warned []document.Warning, loads bool) {
	s, loads := tryLoad(t, r.spec())
	if !loads {
		return o, nil, false
	}
	c, err := plan.ListRuns(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	c.Watches = append(c.Watches, outcome.Watch{What: outcome.QueueBytes, Index: 1, Every: 1_000_000})
	out := plantest.Simulate(t, c)
	queue := slices.Clone(out.Watched[0])
	slices.Sort(queue)
	o.queue = float64(queue[len(queue)*95/100]) / 30_000
	bytes := unit.Bytes(0)
	for i := range out.Flows {
		bytes += out.Flows[i].Receiver.ReceivedBytes
	}
	o.used = float64(bytes) / float64((25 * unit.Gbps).BytesIn(out.Measured))
	return o.packets(out, out.Flows), s.Warnings(), true
}
