package hpcc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// suitsCase is a number of flows from as many hosts to one, at 100 Gb/s with a base round trip of 4.2 us.
type suitsCase struct {
	hosts, flows       int // flows of each host
	program, asks, law string
	joins              bool   // as many flows join after 400 us, and the time from the start on counts
	kind               string // of the warning; "": it works
}

// warned returns the kinds of warnings about the case, and runs it.
func (x *suitsCase) warned(t *testing.T) (kinds []string, r *outcome.Result) {
	t.Helper()
	warmup, join := 1500*us, ""
	if x.joins {
		warmup, join = 0, fmt.Sprintf(`
  - {name: joins, from: ["h1?"], to: h0, transport: rdma, cc: %s, start: 400us..410us}`, x.law)
	}
	text := fmt.Sprintf(`
duration: 1ms
warmup: %v
mtu: 1000 B payload
topology: {star: {hosts: %d, rate: 100Gbps, delay: 1us, buffer: 64MB}}
switch: [ecmp, {telemetry: {%s}}]
traffic:
  - {name: x, from: %q, to: h0, flows: %d, transport: {rdma: {%s}}, cc: %s, start: 0s..10us}%s
measure: [goodput]`, warmup, map[bool]int{false: x.hosts + 1, true: 20}[x.joins], x.program,
		map[bool]string{false: "h[1-9]*", true: "h?"}[x.joins], x.flows, x.asks, x.law, join)
	s := plantest.Load(t, registry(), text, experiment.Options{})
	for _, w := range s.Warnings() {
		if !strings.HasPrefix(w.Kind.ID, "hpcc-census") {
			kinds = append(kinds, w.Kind.ID)
		}
	}
	c, err := plan.ListRuns(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	c.Watches = append(c.Watches, outcome.Watch{What: outcome.QueueBytes, Index: 1, Every: us})
	if r, err = sim.Run(c); err != nil {
		t.Fatal(err)
	}
	return slices.Compact(kinds), r
}

// TestSuitsNetwork checks that parameters of program telemetry and increases with a warning do harm, and that those
// next to them, without a warning, fill the link with a short queue and equal shares.
func TestSuitsNetwork(t *testing.T) {
	const congestion = "telemetry: congestion"
	const short, long, load, sum = "hpcc-load-short", "hpcc-load-long", "hpcc-congested-load", "hpcc-increases"
	for _, x := range []suitsCase{
		{8, 1, "format: relative, t: 2.2us", "", "{hpcc: {max_stage: 0}}", false, short},
		{8, 1, "format: relative, t: 3.1us", "", "{hpcc: {max_stage: 0}}", false, ""},
		{8, 1, "format: relative, t: 660ns", "", "{hpcc: {max_stage: 5}}", false, short},
		{8, 1, "format: relative, t: 2us", "", "{hpcc: {max_stage: 5}}", false, ""},
		{64, 1, "format: relative, t: 2us", "", "{hpcc: {max_stage: 5}}", false, ""},
		{8, 1, "format: relative, t: 2us", "", "{rx_hpcc: {max_stage: 5}}", false, ""},
		{8, 1, "t: 2.2us", "", "{hpcc_pint: {max_stage: 0}}", false, short},
		{8, 1, "t: 3.1us", "", "{hpcc_pint: {max_stage: 0}}", false, ""},
		{8, 1, "t: 660ns", "", "{hpcc_pint: {max_stage: 5}}", false, short},
		{8, 1, "t: 2us", "", "{hpcc_pint: {max_stage: 5}}", false, ""},
		{1, 1, "t: 1.1us", congestion, "{hpcc: {max_stage: 5}}", false, short},
		{1, 1, "t: 1.55us", congestion, "{hpcc: {max_stage: 5}}", false, ""},
		{8, 1, "t: 500us", congestion, "{hpcc: {max_stage: 5}}", false, ""},
		{8, 1, "t: 1s", congestion, "powertcp", false, long},
		{9, 1, "format: relative, t: 18us", "", "hpcc", true, ""},
		{9, 1, "format: relative, t: 60us", "", "hpcc", true, long},
		{9, 1, "t: 18us", "", "hpcc_pint", true, ""},
		{9, 1, "t: 60us", "", "hpcc_pint", true, long},
		{1, 1, "t: 5us, congested_load: 96%", congestion, "hpcc", false, load},
		{1, 1, "t: 5us, congested_load: 95%", congestion, "hpcc", false, ""},
		{8, 1, "t: 5us, congested_load: 97%", congestion, "hpcc", false, load},
		{8, 1, "t: 5us, congested_load: 96%", congestion, "hpcc", false, ""},
		{1, 1, "t: 5us, congested_load: 97%", congestion, "{powertcp: {eta: 95%}}", false, load},
		{1, 1, "t: 5us, congested_load: 97%", congestion, "powertcp", false, ""},
		{64, 1, "", "", "hpcc", false, ""},
		{64, 2, "", "", "hpcc", false, sum},
		{64, 2, "", "", "{hpcc: {w_ai: 20 B}}", false, ""},
		{64, 4, "", "", "{hpcc: {n: 50}}", false, sum},
		{64, 16, "", "", "hpcc", false, sum},
	} {
		t.Run(fmt.Sprintf("%d·%d %s %s %s", x.hosts, x.flows, x.program, x.asks, x.law), func(t *testing.T) {
			kinds, r := x.warned(t)
			if x.kind == "" && len(kinds) > 0 || x.kind != "" && (len(kinds) != 1 || kinds[0] != x.kind) {
				t.Errorf("warned of %q, want %q", kinds, x.kind)
			}
			used := float64(r.Ports[1].TxBytes) * 8 / r.Measured.Seconds() / float64(100*unit.Gbps)
			share := 95
			if x.joins { // what all first windows leave takes 100 us, twice
				share = 85
			}
			q, sum, squares := percentile(r.Watched[0], share), 0., 0.
			for i := range r.Flows {
				got := float64(r.Flows[i].Receiver.ReceivedBytes)
				sum, squares = sum+got, squares+float64(got*got)
			}
			jain := sum * sum / squares / float64(len(r.Flows))
			works := used > 0.9 && q < 20_000 && (jain > 0.9 || x.joins)
			if works != (x.kind == "") {
				t.Errorf("works: %v; the link is %.3f full, p%d of the queue %d B, Jain's index %.3f", works, used, share, q, jain)
			}
		})
	}
}
