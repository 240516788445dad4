package run

import (
	"strings"
	"testing"

	"weir/core/outcome"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
)

// TestStraysAreNamed checks that packets that arrive where no endpoint expects them are listed by flow, NIC and
// host, and that such a run is stuck.
func TestStraysAreNamed(t *testing.T) {
	s := plantest.LoadSource(t, room(), file("t.yaml", `duration: 1ms
topology:
  hosts: [a, b]
  switches: [x]
  links:
    - {ends: [a, b], rate: 100Gbps, delay: 1us}
    - {ends: [x, b], rate: 100Gbps, delay: 1us}
switch: [forward]
traffic:
  - {name: j, from: a, to: b, transport: tcp, size: 10kB}
  - {name: train, hosts: [a, b], transport: tcp, job: {all_to_all: {size: 10kB}}}
measure: [drops]
`), experiment.Options{})
	p := plan.ListRuns(s)[0].SpecPoint
	second := p.Routes().NICs().NumberOf(1, 1)
	res := &outcome.Result{End: outcome.Misdelivered, Strays: []outcome.Stray{{Flow: 0, Src: 0, Dst: second, NIC: 1,
		Packets: 40},
		{Group: 1, Flow: -1, From: 0, To: 1, Src: 0, Dst: 1, NIC: second, Packets: 1}}}
	const want = "flow 0 of traffic j, a → b: 40 packets arrived at NIC 0 of b (b->a), where no endpoint expects them, " +
		"and its receiver at NIC 1 of b (b->x) got none; a message of job train from rank 0 to rank 1, a → b: 1 packet " +
		"arrived at NIC 1 of b (b->x), where no endpoint expects them, and its receiver at NIC 0 of b (b->a) got none"
	if got := describeViolation(p, res); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for range 6 {
		res.Strays = append(res.Strays, res.Strays[0])
	}
	if got := describeViolation(p, res); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "; and 3 more") {
		t.Error(got)
	}
	if got := describeViolation(p, &outcome.Result{Violation: "host a"}); got != "host a" {
		t.Error(got)
	}
	if end := (&results.End{Reason: string(outcome.Misdelivered)}); !end.Stuck() {
		t.Error("a run whose packets are misdelivered came to its end")
	}
}
