package hpcc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// halved runs a permutation between two leaves with 8 spines. Its senders choose among the given number of paths. The
// uplink of leaf 0 to spine 3 has half a rate.
func halved(t *testing.T, paths int, cc string, change func(c *sim.Config)) (out *outcome.Result, uplinks []float64) {
	t.Helper()
	return halvedFor(t, 300*us, 400*us, paths, cc, change)
}

// halvedFor is halved with a duration after a warm-up.
func halvedFor(t *testing.T, duration, warmup unit.Time, paths int, cc string,
	change func(c *sim.Config)) (out *outcome.Result, uplinks []float64) {
	t.Helper()
	c := plantest.Configure(t, registry(), fmt.Sprintf(`
duration: %v
warmup: %v
topology: {leaf_spine: {leaves: 2, spines: 8, hosts: 8, rate: 100Gbps, delay: 1us, buffer: 1MB}}
mtu: 1000 B payload
switch: [ecmp, telemetry]
measure: [goodput]
events: [{at: 0s, link: [leaf0, spine3], rate: 50Gbps}]
traffic: [{name: x, from: "h[0-9]*", to: {stride: 8}, transport: {rdma: {recovery: selective_repeat, paths: %d}},
  cc: %s, start: 0s}]
`, duration, warmup, paths, cc))
	if change != nil {
		change(c)
	}
	out = plantest.Simulate(t, c)
	for spine := range 8 {
		for l := range c.Wiring.Network.Links {
			for e := range 2 {
				if c.Wiring.Network.PortName(l, e) == fmt.Sprintf("leaf0->spine%d", spine) {
					uplinks = append(uplinks, float64(out.Ports[2*l+e].TxBytes)*8/out.Measured.Seconds()/1e9)
				}
			}
		}
	}
	return out, uplinks
}

// TestChosenPaths checks that senders that choose paths, with a window on each, find the link with half a rate. It
// carries half of the others' load, no packet is lost or resent, and all are as full as the law specifies.
func TestChosenPaths(t *testing.T) { chosenPaths(t, 300*us, 400*us) }

// chosenPaths measures for a duration after a warm-up.
func chosenPaths(t *testing.T, duration, warmup unit.Time) {
	t.Helper()
	for _, cc := range []string{"hpcc", "powertcp", "{hpcc: {mode: per_hop}}", "rx_hpcc",
		"{rx_hpcc: {census: off, max_stage: 5}}"} {
		t.Run(cc, func(t *testing.T) {
			r, uplinks := halvedFor(t, duration, warmup, 16, cc, nil)
			others := 0.0
			for k, rate := range uplinks {
				if k != 3 {
					others += rate / 7
				}
			}
			if len(uplinks) != 8 || uplinks[3] < 44 || uplinks[3] > 50 || uplinks[3] < 0.45*others || uplinks[3] > 0.6*others ||
				others < 85 {
				t.Errorf("uplinks carry %.1f Gb/s; the others %.1f on average", uplinks, others)
			}
			again := int64(0)
			for i := range r.Flows {
				again += r.Flows[i].Sender.Retransmitted
			}
			if lost := r.Drops; again > 0 || strings.Trim(fmt.Sprint(lost[1:]), "[0 ]") != "" {
				t.Errorf("%d sent again, drops %v", again, lost)
			}
		})
	}
}

// TestChosenPathsForms checks that frames in wire form, and windows of another length, give the same run bit by bit.
func TestChosenPathsForms(t *testing.T) {
	for _, cc := range []string{"hpcc", "rx_hpcc"} {
		t.Run(cc, func(t *testing.T) { chosenPathsForms(t, cc) })
	}
}

func chosenPathsForms(t *testing.T, cc string) {
	t.Helper()
	var want string
	for name, change := range map[string]func(c *sim.Config){
		"as it is": func(*sim.Config) {}, "wire": func(c *sim.Config) { c.Wire = true },
		"window": func(c *sim.Config) { c.Window = 300 * ns },
	} {
		r, _ := halved(t, 4, cc, func(c *sim.Config) {
			change(c)
			c.Duration, c.Warmup = 100*us, 0
		})
		got, err := json.Marshal(r.Flows)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(got)
		}
		if string(got) != want {
			t.Errorf("%s: another result", name)
		}
	}
}

// TestChosenPathsNeedControllers checks that a controller that is not made for paths is refused where the file names
// it.
func TestChosenPathsNeedControllers(t *testing.T) {
	for cc, want := range map[string]string{"reno": "test.yaml:4:113: paths: 4 needs one controller for each " +
		"path, which reno does not support",
		"{reno: {}}": "does not support; allowed: hpcc, hpcc_pint, powertcp, rx_hpcc, or paths: 1",
		"{rx_hpcc: {preset: agent}}": "test.yaml:4:113: paths: 4 needs one controller for each path, which preset: " +
			"agent of rx_hpcc does not support; allowed: another preset, or paths: 1",
		"{rx_hpcc: {preset: agent, min_rate: 1Gbps}}": "which preset: agent of rx_hpcc does not support"} {
		t.Run(cc, func(t *testing.T) {
			_, err := plan.Load(registry(), &experiment.Source{Name: "test", File: "test.yaml", Data: []byte(`duration: 1ms
topology: {star: {hosts: 2, rate: 100Gbps, delay: 1us}}
switch: [ecmp, telemetry]
traffic: [{name: x, from: h0, to: h1, transport: {rdma: {recovery: selective_repeat, paths: 4}}, start: 0s, cc: ` + cc +
				`}]
`)}, experiment.Options{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	_, err := plan.Load(registry(), &experiment.Source{Name: "test", File: "test.yaml", Data: []byte(`duration: 1ms
topology: {star: {hosts: 2, rate: 100Gbps, delay: 1us}}
switch: [ecmp, telemetry]
traffic: [{name: x, from: h0, to: h1, transport: {rdma: {paths: 4}}, start: 0s, cc: hpcc}]
`)}, experiment.Options{})
	if err == nil || !strings.Contains(err.Error(), "4 paths need recovery: selective_repeat") {
		t.Errorf("%v", err)
	}
}
