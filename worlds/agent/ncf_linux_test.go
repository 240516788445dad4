package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/core/unit"
	"weir/worlds/agent"
	"weir/worlds/lab"
)

// shallow is a star in which two CUBIC flows lose packets all the time.
func shallow() star {
	return star{Hosts: 3, Rate: 100 * unit.Mbps, RTT: 10 * unit.Millisecond, Buffer: unit.Length{Bytes: 125000},
		NCF: []string{}}
}

// NACKs of the lab's switch are genuine to the agents of stock senders, of IPv4 and of IPv6: each one is about a
// transmission that the kernel has out, and bounds what it has in flight, for a while.
func TestNCF(t *testing.T) {
	for _, nacks := range []string{agent.NacksLoss, agent.NacksSupply} {
		t.Run(nacks, func(t *testing.T) {
			r := shallow().run(t)
			var agents []*agent.Agent
			for i := range 2 {
				agents = append(agents, r.agent(i, followNCF(nacks)))
				r.open(i, "cubic", 4+2*i).send()
			}
			for i, a := range agents {
				until(t, "a bound", func() bool {
					for _, c := range connections(t, a) {
						if n := c.Nacks; n != nil && n.Reductions > 2 && n.Expired > 1 && n.Lowered > 10 && n.Supply > 10*unit.Mbps {
							t.Logf("%d: %+v", i, *n)
							// One that a machine keeps is about what was sent again meanwhile.
							return n.Refused <= n.Taken/50 && c.Controller == "cubic"
						}
					}
					return false
				})
				if n, err := a.Strays(); err != nil || n > 0 {
					t.Errorf("%d strays, %v", n, err)
				}
			}
		})
	}
}

// attempts is how often something is measured that the machine disturbs.
const attempts = 4

// undisturbed measures until what was measured is as it should be, and fails if it is not though nothing disturbed it.
func undisturbed(t *testing.T, s star, measure func(t *testing.T, r *running) (o outcome, report *lab.Report),
	wrong func(o outcome, report *lab.Report) string) {
	t.Helper()
	for i := range attempts {
		again := false
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			o, report := measure(t, s.run(t))
			t.Logf("%+v", o)
			said := wrong(o, report)
			if said == "" {
				return
			}
			why := report.Disturbed(nil, s.RTT)
			if len(why) == 0 {
				t.Fatal(said)
			}
			if i == attempts-1 {
				t.Skipf("disturbed: %s, but %s", said, strings.Join(why, ", "))
			}
			t.Logf("%s, but disturbed: %s", said, strings.Join(why, ", "))
			again = true
		})
		if !again {
			return
		}
	}
}

// Two flows that obey have nine tenths of the link at the least, shallow as its buffer is.
func TestNCFKeepsTheLinkBusy(t *testing.T) {
	for _, nacks := range []string{agent.NacksLoss, agent.NacksSupply} {
		t.Run(nacks, func(t *testing.T) {
			undisturbed(t, shallow(), func(t *testing.T, r *running) (outcome, *lab.Report) {
				for i := range 2 {
					r.agent(i, followNCF(nacks))
					r.open(i, "cubic", 4)
				}
				return r.measure(time.Second, 4*time.Second)
			}, func(o outcome, _ *lab.Report) string {
				if sum := o.total(); sum < 0.9*95.6 {
					return fmt.Sprintf("the flows have %.1f of 95.6 Mb/s", sum)
				}
				return ""
			})
		})
	}
}

// Senders without an agent have from a switch that sends NACKs what they have from one that sends none: they discard
// them.
func TestNacksHarmNobody(t *testing.T) {
	had := map[string]float64{}
	for _, nack := range []string{"none", "all"} {
		s := shallow()
		s.NCF = []string{"nack", nack}
		old := 0
		undisturbed(t, s, func(t *testing.T, r *running) (outcome, *lab.Report) {
			for i := range 2 {
				r.open(i, "cubic", 4+2*i)
			}
			o, report := r.measure(time.Second, 4*time.Second)
			old = 0
			for i := range 2 {
				r.in(i, func() error { old += counters(t)["PAWSOldAck"]; return nil })
			}
			return o, report
		}, func(o outcome, _ *lab.Report) string {
			had[nack] = o.total()
			switch {
			case had[nack] < 0.85*95.6:
				return fmt.Sprintf("nack: %s leaves them %.1f of 95.6 Mb/s", nack, had[nack])
			case had[nack] < 0.93*had["none"]:
				return fmt.Sprintf("with NACKs %.1f Mb/s, without %.1f", had[nack], had["none"])
			}
			return ""
		})
		if (old > 0) != (nack == "all") {
			t.Errorf("nack: %s: the kernels have discarded %d old acknowledgements", nack, old)
		}
		t.Logf("nack: %s: %.1f Mb/s, %d NACKs discarded", nack, had[nack], old)
	}
}
