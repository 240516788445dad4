//go:build !race

// Left out of race: long simulations that start no goroutines of their own.

package cli

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestFailover_MovesFlowsToOtherSpines checks that flows continue on other spines after the time of failover, for
// each load balancer. A leaf's link to one of four spines loses all packets from 1 ms until 40 ms. Without
// failover, flows wait for the link.
func TestFailover_MovesFlowsToOtherSpines(t *testing.T) {
	simulate := func(program, traffic string) *outcome.Result {
		t.Helper()
		s := plantest.Load(t, Registry(), fmt.Sprintf(`
duration: 100ms
topology: {leaf_spine: {leaves: 2, spines: 4, hosts: 8, rate: 10Gbps, delay: 1us}}
switch: [%s]
traffic: [{name: x, from: leaf0/*, to: h8, size: 600kB, flows: 4, start: 0s..1ms, %s}]
events:
  - {at: 1ms, link: [leaf0, spine1], from: leaf0, down: true}
  - {at: 40ms, link: [leaf0, spine1], from: leaf0, down: false}
measure: [fct, drops]
`, program, traffic), experiment.Options{})
		c, err := plan.Config(s.Points()[0], 1)
		if err != nil {
			t.Fatal(err)
		}
		return plantest.Simulate(t, c)
	}
	last := func(r *outcome.Result) (end unit.Time) {
		for i := range r.Flows {
			end = max(end, r.Flows[i].FCT)
		}
		return end
	}
	const rdma = "transport: {rdma: {recovery: selective_repeat, reordering: adaptive, bound: bdp, " +
		"rto_max: 1ms}}, cc: dcqcn"
	for name, x := range map[string]struct{ program, traffic string }{
		"ecmp":    {"{ecmp: {failover: %s}}", rdma},
		"wecmp":   {"{wecmp: {failover: %s}}", rdma},
		"letflow": {"{letflow: {gap: 50us, failover: %s}}", rdma},
		"spray":   {"{spray: {failover: %s}}", rdma},
		"drill":   {"{drill: {failover: %s}}", rdma},
		"tcp":     {"{ecmp: {failover: %s}}", "transport: {tcp: {rto_min: 1ms}}, cc: cubic"},
	} {
		t.Run(name, func(t *testing.T) {
			with := simulate(fmt.Sprintf(x.program, "3ms"), x.traffic)
			without := simulate(fmt.Sprintf(x.program, "0s"), x.traffic)
			if with.End != outcome.AllDone || last(with) > 35*unit.Millisecond {
				t.Errorf("with failover: %v, last at %v", with.End, last(with))
			}
			if name != "spray" && name != "drill" && name != "letflow" && last(without) < 40*unit.Millisecond {
				t.Errorf("without: last at %v", last(without))
			}
			if a, b := with.Drops[dataplane.LinkDown], without.Drops[dataplane.LinkDown]; a == 0 || a >= b {
				t.Errorf("%d packets lost with failover, %d without", a, b)
			}
		})
	}
}
