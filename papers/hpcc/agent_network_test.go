package hpcc_test

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// agentSuits returns the kinds of warnings about connections of preset Agent over 400 Mb/s, and what runs them.
func agentSuits(t *testing.T, flows int, delay, parameters string) (kinds []string, c *sim.Config) {
	t.Helper()
	text := fmt.Sprintf(`
duration: 1s
warmup: 1s
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 1Gbps, delay: %[2]s}
    - {ends: [s, b], rate: 400Mbps, delay: %[2]s, buffer: 1000 packets}
switch: [ecmp, {telemetry: {format: ioam}}]
traffic:
  - {name: one, from: a, to: b, flows: %[1]d, transport: tcp, ip: 6, start: 0s..10ms,
     cc: {rx_hpcc: {preset: agent, %[3]s}}}
measure: [goodput]`, flows, delay, parameters)
	s := plantest.Load(t, registry(), text, experiment.Options{})
	for _, w := range s.Warnings() {
		kinds = append(kinds, w.Kind.ID)
	}
	c, err := plan.ListRuns(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	return kinds, c
}

// TestAgentShortT checks that a t of preset Agent is short where T is, which has room for bursts. On a round trip of 10
// ms a t of 5 ms gives a T of 15 ms, and on 100 ms too.
func TestAgentShortT(t *testing.T) {
	for delay, want := range map[string]bool{"2500us": false, "25ms": true} {
		if kinds, _ := agentSuits(t, 1, delay, "t: 5ms"); slices.Contains(kinds, "hpcc-t-short") != want {
			t.Errorf("links of %s: warned of %q, want hpcc-t-short: %v", delay, kinds, want)
		}
	}
}

// TestAgentIncreases checks that the increases of preset Agent's flows match its T, which is a hundred times the round
// trip of this path of 400 Mb/s and .1 ms. With n: 8 a warning is due from a standing queue of more than five packets
// on. An n as large as the count of flows keeps the queue short, without a warning.
func TestAgentIncreases(t *testing.T) {
	for _, c := range []struct {
		flows, n int
		warned   bool
	}{{8, 8, false}, {16, 8, true}, {32, 8, true}, {32, 32, false}} {
		t.Run(fmt.Sprint(c.flows, " flows, n: ", c.n), func(t *testing.T) {
			kinds, config := agentSuits(t, c.flows, "25us", fmt.Sprint("n: ", c.n))
			if warned := slices.Contains(kinds, "hpcc-increases"); warned != c.warned {
				t.Errorf("warned: %v, want %v: %q", warned, c.warned, kinds)
			}
			const toB = 2 // the port of s to b
			config.Watches = append(config.Watches, outcome.Watch{What: outcome.QueuePackets, Index: toB,
				Every: unit.Millisecond})
			r := plantest.Simulate(t, config)
			if q := percentile(r.Watched[0], 50); (q > 5) != c.warned {
				t.Errorf("half of the time %d packets wait or more", q)
			}
		})
	}
}
