package e2e

import (
	"fmt"
	"testing"

	"weir/app"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestEndsWantOnlyTheirStart checks that endpoints can be made when their flow begins (sim.EndpointFactory). Before
// that, a new sender of any transport and controller waits for its start only, and a new receiver has no timer and
// has counted no packet.
func TestEndsWantOnlyTheirStart(t *testing.T) {
	const start = 3 * unit.Millisecond
	tried := 0
	for _, r := range append(reactions(), reaction{transport: "ndp"}, reaction{transport: "udp: {rate: 1Gbps}"},
		reaction{transport: "udp: {rate: 1Gbps, pattern: poisson}"}, reaction{transport: "tcp: {begins: connected}"}) {
		if r.balancer != "ecmp" && r.balancer != "" || r.format != "hpcc" && r.format != "relative" && r.format != "" {
			continue
		}
		t.Run(r.String(), func(t *testing.T) {
			own := fmt.Sprintf("duration: 3ms\nswitch: [ecmp]\ntopology: {star: {hosts: 12, rate: 25Gbps, delay: 1us}}\n"+
				"traffic: [{name: x, from: h1, to: h0, transport: {%s}, start: 0s, size: 1MB}]\n", block(r.transport))
			if r.controller != "" {
				own = r.spec()
			}
			s, err := plan.Load(app.Registry(), plantest.NewSource("test.yaml", own), experiment.Options{})
			if err != nil {
				return // no such experiment: there are no ends to look at
			}
			tried++
			c, err := plan.ListRuns(s)[0].Config()
			if err != nil {
				t.Fatal(err)
			}
			sender, err := c.EndpointFactory.Sender(0, start)
			if err != nil {
				t.Fatal(err)
			}
			receiver, err := c.EndpointFactory.Receiver(0)
			if err != nil {
				t.Fatal(err)
			}
			if send, timer := sender.NextSend(), sender.NextTimer(); send != start || timer != unit.Never {
				t.Errorf("the sender wants to send at %v and has a timer at %v", send, timer)
			}
			if send, timer := receiver.NextSend(), receiver.NextTimer(); send != unit.Never || timer != unit.Never {
				t.Errorf("the receiver wants to send at %v and has a timer at %v", send, timer)
			}
			if n := receiver.Counters(); n.DelayMin != unit.Never || n.DelayMax != 0 || n.ReceivedPackets != 0 {
				t.Errorf("the receiver has counted %+v", n)
			}
		})
	}
	if tried < 60 {
		t.Errorf("only %d were tried", tried)
	}
}
