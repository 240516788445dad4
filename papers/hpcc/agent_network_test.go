package hpcc_test

import (
	"fmt"
	"testing"

	"weir/core/unit"
	"weir/study/plan"
	"weir/study/spec"
	"weir/worlds/sim"
)

// The increases of preset Agent's flows are for its T, which is a hundred times the round trip of this path of 400 Mb/s
// and .1 ms: with n: 8 a warning is due from where a queue of more than five packets stands, and n as large as the
// count of flows keeps it short, without one.
func TestAgentIncreases(t *testing.T) {
	for _, c := range []struct {
		flows, n int
		warned   bool
	}{{8, 8, false}, {16, 8, true}, {32, 8, true}, {32, 32, false}} {
		t.Run(fmt.Sprint(c.flows, " flows, n: ", c.n), func(t *testing.T) {
			text := fmt.Sprintf(`
duration: 1s
warmup: 1s
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 1Gbps, delay: 25us}
    - {ends: [s, b], rate: 400Mbps, delay: 25us, buffer: 1000 packets}
switch: [ecmp, {telemetry: {format: ioam}}]
traffic:
  - {name: one, from: a, to: b, flows: %d, transport: tcp, ip: 6, start: 0s..10ms,
     cc: {rx_hpcc: {preset: agent, n: %d}}}
measure: [goodput]`, c.flows, c.n)
			s, err := plan.Load(registry(), &spec.Source{Name: "test", File: "test.yaml", Data: []byte(text)}, spec.Options{})
			if err != nil {
				t.Fatal(err)
			}
			warned := false
			for _, w := range s.Warnings() {
				warned = warned || w.Kind.ID == "hpcc-increases"
			}
			if warned != c.warned {
				t.Errorf("warned: %v, want %v: %v", warned, c.warned, s.Warnings())
			}
			config, err := plan.Runs(s)[0].Config()
			if err != nil {
				t.Fatal(err)
			}
			const toB = 2 // the port of s to b
			config.Watches = append(config.Watches, sim.Watch{What: sim.QueuePackets, Index: toB, Every: unit.Millisecond})
			r, err := sim.Run(config)
			if err != nil {
				t.Fatal(err)
			}
			if q := percentile(r.Watched[0], 50); (q > 5) != c.warned {
				t.Errorf("half of the time %d packets wait or more", q)
			}
		})
	}
}
