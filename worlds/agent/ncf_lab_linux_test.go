//go:build lab

package agent_test

import (
	"testing"
	"time"

	"weir/core/unit"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
	"weir/worlds/agent"
	"weir/worlds/lab"
)

// TestAgent_BoundsFlightByNACKs checks that NACKs of the lab's switch are genuine to the agents of stock senders, of
// IPv4 and of IPv6: each is about a transmission that the kernel has in flight, and bounds the flight for a time.
func TestAgent_BoundsFlightByNACKs(t *testing.T) {
	for _, nacks := range []string{agent.NacksLoss, agent.NacksSupply} {
		t.Run(nacks, func(t *testing.T) {
			r := shallow().startLab(t)
			var agents []*agent.Agent
			for i := range 2 {
				agents = append(agents, r.agent(i, followNCF(nacks)))
				r.open(i, "cubic", 4+2*i).send()
			}
			for i, a := range agents {
				await.AwaitCondition(t, "a bound", func() bool {
					for _, c := range connections(t, a) {
						if n := c.Nacks; n != nil && n.Reductions > 2 && n.Expired > 1 && n.Lowered > 10 && n.Supply > 10*unit.Mbps {
							t.Logf("%d: %+v", i, *n)
							// A NACK that the machine delays is about a segment that was retransmitted meanwhile.
							return n.Refused <= n.Taken/50 && c.Controller == "cubic"
						}
					}
					return false
				})
				if n, err := a.CountStrays(); err != nil || n > 0 {
					t.Errorf("%d strays, %v", n, err)
				}
			}
		})
	}
}

// TestNCFKeepsTheLinkBusy checks that two responsive flows fill at least nine tenths of the link, although its buffer
// is shallow.
func TestNCFKeepsTheLinkBusy(t *testing.T) {
	for _, nacks := range []string{agent.NacksLoss, agent.NacksSupply} {
		t.Run(nacks, func(t *testing.T) {
			shallow().judge(t, func(r *running) (figures, *lab.Report) {
				for i := range 2 {
					r.agent(i, followNCF(nacks))
					r.open(i, "cubic", 4)
				}
				return r.measure(time.Second, 2*time.Second)
			}, func(try *realtime.Try, o figures) {
				if sum := o.total(); sum < 0.9*95.6 {
					try.Errorf("the flows have %.1f of 95.6 Mb/s", sum)
				}
			})
		})
	}
}

// TestNacks_DoNotHarmHostsWithoutAgent checks that senders without an agent have the same results with a switch that
// sends NACKs as with one that sends none: they discard them.
func TestNacks_DoNotHarmHostsWithoutAgent(t *testing.T) {
	had := map[string]float64{}
	for _, nack := range []string{"none", "all"} {
		s := shallow()
		s.NCF = []string{"nack", nack}
		old := 0
		s.judge(t, func(r *running) (figures, *lab.Report) {
			for i := range 2 {
				r.open(i, "cubic", 4+2*i)
			}
			o, report := r.measure(time.Second, 3*time.Second)
			old = 0
			for i := range 2 {
				r.in(i, func() error { old += counters(r.t)["PAWSOldAck"]; return nil })
			}
			return o, report
		}, func(try *realtime.Try, o figures) {
			switch had[nack] = o.total(); {
			case had[nack] < 0.85*95.6:
				try.Errorf("nack: %s leaves them %.1f of 95.6 Mb/s", nack, had[nack])
			case had[nack] < 0.93*had["none"]:
				try.Errorf("with NACKs %.1f Mb/s, without %.1f", had[nack], had["none"])
			}
			if (old > 0) != (nack == "all") {
				try.Errorf("nack: %s: the kernels have discarded %d old acknowledgements", nack, old)
			}
			try.Logf("nack: %s: %.1f Mb/s, %d NACKs discarded", nack, had[nack], old)
		})
	}
}
