package plan_test

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// ExampleListRuns lists a run for each point of the sweep and each seed; seeds vary fastest.
func ExampleListRuns() {
	registry := &experiment.Registry{Programs: []dataplane.Scheme{forward.Scheme()},
		Transports: []transport.Scheme{udp.Scheme()}, Measures: measure.Definitions()}
	s, err := plan.Load(registry, &experiment.Source{Name: "x", File: "x.yaml", Data: []byte(`duration: 1s
repeat: 2
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 1Gbps, delay: 1us}, {ends: [s, b], rate: 1Gbps, delay: 1us}]
switch: [forward]
traffic: [{name: x, from: a, to: b, transport: udp, rate: $rate, start: 0s}]
sweep: {rate: [1Mbps, 2Mbps]}
`)}, experiment.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range plan.ListRuns(s) {
		fmt.Println(measure.PointName(r.Point), "seed", r.Seed)
	}
	// Output:
	// rate=1Mbps seed 1
	// rate=1Mbps seed 2
	// rate=2Mbps seed 1
	// rate=2Mbps seed 2
}
