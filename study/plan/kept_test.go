package plan_test

import (
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// TestKept_CountsValuesOfSeries checks that a measure that samples over time keeps the values of its series beyond a
// run. Their number does not depend on the number of flows and ports that are sampled for them.
func TestKept_CountsValuesOfSeries(t *testing.T) {
	const text = "duration: 20ms\nwarmup: 2ms\nswitch: [ecmp]\naddresses: hierarchical\ntopology: {leaf_spine: {leaves: " +
		"5, spines: 5, hosts: 2, rate: 100Mbps, delay: 1us, buffer: 100 packets}}\ngroups: {few: [h0, h1], rest: [h2]}\n" +
		"traffic:\n  - {name: x, from: \"*\", to: random, transport: tcp, cc: cubic, flows: 30, start: 0s..1ms}\n" +
		"  - {name: y, from: h0, to: h9, transport: tcp, cc: cubic, flows: 7, start: 0s..1ms}\nmeasure: [MEASURE]\n"
	for measure, series := range map[string]int{
		"goodput: {every: 1ms}":                                         2,
		"goodput: {every: 1ms, by: all}":                                1,
		"goodput: {every: 1ms, by: group}":                              2,
		"goodput: {every: 1ms, by: to_group}":                           2,
		"jain: {every: 1ms, by: flow}":                                  1,
		"jain: {every: 1ms}":                                            1,
		"time_to_fairness: {every: 1ms, index: 90%, by: flow, hold: 3}": 0,
		"reaction: {goodput: x, after: 5ms, every: 1ms}":                0,
		"cwnd: {every: 1ms}":                                            15,
		"cwnd: {every: 1ms, flows: 5}":                                  10,
		"rtt: {every: 1ms, traffic: x, flows: 20}":                      20,
		"rate: {every: 1ms}":                                            15,
		"in_flight: {every: 1ms}":                                       15,
		"delivery_rate: {every: 1ms}":                                   15,
		"queue: {port: leaf0->h0, every: 1ms}":                          1,
		"queue: {port: leaf0->h0, every: 1ms, until: 10ms}":             1,
		"buffer: {switches: leaf0, every: 1ms}":                         1,
		"buffer: {every: 1ms}":                                          0,
		"balance: {every: 1ms}":                                         25,
		"throughput: {port: leaf0->h0, every: 1ms}":                     1,
		"utilisation: {port: leaf0->h0, every: 1ms}":                    1,
		"packet_rate: {port: leaf0->h0, every: 1ms}":                    1,
	} {
		t.Run(measure, func(t *testing.T) {
			s, err := plan.Load(plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc"), plantest.NewSource("test.yaml",
				strings.Replace(text, "MEASURE", "{"+measure+"}", 1)), experiment.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r := plan.ListRuns(s)[0]
			c, err := r.Config()
			if err != nil {
				t.Fatal(err)
			}
			res, err := sim.Run(c)
			if err != nil {
				t.Fatal(err)
			}
			values, each := 0, r.SpecPoint.Measures().Evaluate(r.SpecPoint.Measured(), &c.Load, res).Series
			for i := range each {
				values += len(each[i].Values)
			}
			if got := int(r.SpecPoint.Kept()); len(each) != series || got < values || got > values+2*len(each) {
				t.Errorf("%d series of %d values are kept, want %d; estimated %d values", len(each), values, series, got)
			}
		})
	}
}
