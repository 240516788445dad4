package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/unit"
)

// TestOutagePrecedesFlows checks that a link that goes down at a time is down for flows and jobs that begin at that
// time, also at 0. They take other NICs and lose no packet, over every transport.
func TestOutagePrecedesFlows(t *testing.T) {
	const outage = "events: [{at: %[1]s, link: [a, b], down: true}, {at: %[1]s, link: [a, b~2], down: true, from: a}, " +
		"{at: %[1]s, link: [a, b~3], down: true, from: b}]\n"
	workloads := []string{
		"from: a, to: b, size: 100kB, flows: 20, start: %s",
		"from: b, to: a, size: 100kB, flows: 20, start: %s",
		"hosts: [a, b], job: {all_reduce: {size: 1MB}}, start: %s",
		"hosts: [a, b], job: {all_to_all: {size: 1MB, iterations: 2, align: 100us}}, start: %s",
	}
	for _, keys := range transports {
		t.Run(keys, func(t *testing.T) {
			for _, at := range []string{"0s", "50us"} {
				for _, workload := range workloads {
					text := bundled + fmt.Sprintf(outage, at) + "traffic: [{name: j, " + keys + ", " + fmt.Sprintf(workload, at) +
						"}]\n"
					r := ran(t, configuredBy(t, text))
					if r.End != outcome.AllDone {
						t.Fatalf("%s in\n%s", r.End, text)
					}
					for why, n := range r.Drops {
						if n > 0 {
							t.Errorf("%d packets dropped: %v in\n%s", n, dataplane.Reason(why), text)
						}
					}
				}
			}
		})
	}
}

// TestOutageForEver checks that a flow, or a message of a job, does not end if its only link stays down. Its wait names
// the directions that have lost its packets: both where data was in flight before.
func TestOutageForEver(t *testing.T) {
	const network = "duration: 5ms\ntopology: {star: {hosts: 3, rate: 100Gbps, delay: 1us}}\n" + trims +
		"measure: [drops]\n"
	for _, keys := range transports {
		t.Run(keys, func(t *testing.T) {
			for at, want := range map[string]string{"0s": "h0->s", "20us": "h0->s s->h0"} {
				for _, workload := range []string{"from: h0, to: h1, size: 10MB",
					"hosts: [h0, h1, h2], job: {all_reduce: {size: 10MB}}"} {
					c := configuredBy(t, network+"events: [{at: "+at+", link: [h0, s], down: true}]\ntraffic: [{name: j, "+
						keys+", "+workload+", start: 0s}]\n")
					r := ran(t, c)
					waits := r.Waits
					for _, list := range r.JobWaits {
						for i := range list {
							if m := &list[i]; m.From == 0 { // others only lack what has not come
								waits = append(waits, m.Wait)
							}
						}
					}
					if r.End == outcome.AllDone || len(waits) == 0 {
						t.Fatalf("%s: %s, %d waits", workload, r.End, len(waits))
					}
					var names []string
					for _, i := range waits[0].Down {
						names = append(names, c.Wiring.Network.PortName(i/2, i%2))
					}
					if got := strings.Join(names, " "); got != want && got != "h0->s" {
						t.Errorf("%s, down at %s: packets were lost on %q, not on %q", workload, at, got, want)
					}
				}
			}
		})
	}
}

// TestOutageThatEnds checks that a link that is up again is no reason any more, and its flows end.
func TestOutageThatEnds(t *testing.T) {
	c := configuredBy(t, "duration: 50ms\ntopology: {star: {hosts: 2, rate: 100Gbps, delay: 1us}}\n"+trims+
		"measure: [drops]\nevents: [{at: 0s, link: [h0, s], down: true}, {at: 2ms, link: [h0, s], down: false}]\n"+
		"traffic: [{name: j, from: h0, to: h1, size: 1MB, transport: rdma, cc: none, start: 0s}]\n")
	if r := ran(t, c); r.End != outcome.AllDone || r.Flows[0].FCT < 2*unit.Millisecond {
		t.Errorf("%s, fct %v", r.End, r.Flows[0].FCT)
	}
}
