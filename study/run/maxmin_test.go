//go:build !race

// Left out of race: long simulations that start no goroutines of their own.

package run

import (
	"math"
	"strings"
	"testing"

	"weir/internal/testkit"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestMaxMin checks that max_min shares links among the flows that exist at the end, in payload; framing l2 carries
// 1000 of 1042 B. Host b has a narrow NIC, so that a gets the rest. The third flow has ended before.
func TestMaxMin(t *testing.T) {
	text := strings.Replace(line, "{ends: [b, s], rate: 100Mbps", "{ends: [b, s], rate: 2Mbps", 1) + `
traffic:
  - {name: x, from: a, to: c, transport: udp, rate: 20Mbps, payload: 1000 B, start: 0s}
  - {name: y, from: b, to: c, transport: udp, rate: 1Mbps, payload: 1000 B, start: 0s}
  - {name: z, from: b, to: c, transport: udp, rate: 1Mbps, payload: 1000 B, start: 0s, stop: 100ms}
measure: [goodput, max_min]
`
	r := first(t, text)
	const share = 1000. / 1042
	for name, want := range map[string]float64{"x": 8e6 * share, "y": 2e6 * share} {
		testkit.CheckNear(t, "max_min of "+name, valueOf(r, t, "max_min", name), want, rounding)
		testkit.CheckNear(t, "ratio of "+name, valueOf(r, t, "max_min_ratio", name), valueOf(r, t, "goodput", name)/want,
			rounding)
	}
	if v := valueOf(r, t, "max_min", "z"); v == v {
		t.Errorf("a flow that has stopped has %v", v)
	}
}

// TestMaxMinAmongSenders checks that the flows of a host share one part, and that a host that sends less than its
// part leaves the rest to others. It also checks the largest distance of the goodput from its share.
func TestMaxMinAmongSenders(t *testing.T) {
	text := line + `
traffic:
  - {name: x, from: a, to: c, transport: udp, rate: 3Mbps, payload: 1000 B, start: 0s, flows: 4}
  - {name: y, from: b, to: c, transport: udp, rate: 8Mbps, payload: 1000 B, start: 0s}
  - {name: z, from: d, to: c, transport: udp, rate: 1Mbps, payload: 1000 B, start: 0s}
measure: [goodput, {max_min: {among: sender}}]
`
	text = strings.NewReplacer("[a, b, c]", "[a, b, c, d]", "{ends: [s, c]",
		"{ends: [d, s], rate: 100Mbps, delay: 1us}\n    - {ends: [s, c]").Replace(text)
	r := first(t, text)
	rest := 10e6*1000./1042 - 1e6
	apart := 0.
	for name, want := range map[string]float64{"x": rest / 2, "y": rest / 2, "z": 1e6} {
		testkit.CheckNear(t, "max_min of "+name, valueOf(r, t, "max_min", name), want, testkit.Tolerance{Relative: 5e-3})
		apart = max(apart, math.Abs(valueOf(r, t, "goodput", name)-valueOf(r, t, "max_min", name)))
	}
	testkit.CheckNear(t, "apart", valueOf(r, t, "max_min_apart", ""), apart, rounding)
}

// TestMaxMinRefused checks that max_min is refused, with its place, if the links of a flow are unknown or limited
// in packets.
func TestMaxMinRefused(t *testing.T) {
	for name, x := range map[string]struct{ old, new, want string }{
		"several paths": {line[strings.Index(line, "topology"):strings.Index(line, "switch: ")],
			"topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 2, rate: 10Mbps, delay: 1us}}\n", "several shortest paths"},
		"packets": {"rate: 10Mbps", "rate: 1000pps", "is in packets"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(line, x.old, x.new, 1) +
				"traffic: [{name: x, from: a, to: c, transport: udp, rate: 1Mbps}]\nmeasure: [max_min]\n"
			if name == "several paths" {
				text = strings.Replace(text, "from: a, to: c", "from: h0, to: h3", 1)
			}
			_, err := plan.Load(room(), file("t.yaml", text), experiment.Options{})
			if err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), "t.yaml:") {
				t.Errorf("%v", err)
			}
		})
	}
}
