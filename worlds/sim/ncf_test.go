package sim

import (
	"bytes"
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
	"weir/papers/ncf"
)

// feedback puts NCF into every switch of a config, with so little memory that NACKs of
// all causes go.
func feedback(t testing.TB, c *Config, given ...string) {
	for i := range c.Wiring.Network.Links {
		c.Wiring.Network.Links[i].Buffer = unit.Length{Bytes: 20_000}
	}
	for i := range c.Wiring.Switches {
		others := c.Wiring.Switches[i].Programs
		c.Wiring.Switches[i].Queues = 3
		c.Wiring.Switches[i].Scheduler = func(queues int, rate unit.LinkRate) (tm.Scheduler, error) {
			return tm.NewNCF(queues, tm.NCF{Control: 0.05, Mice: 0.1, Elephants: 0.1}, rate.Bits, 1514, 3028)
		}
		c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			p, err := others(site)
			if err != nil {
				return nil, err
			}
			g, err := dataplanetest.BuildProgram(ncf.Scheme(), site, append([]string{"duration", "200us", "least", "6kB",
				"threshold",
				"10%"}, given...)...)
			return append(p, g), err
		}
	}
}

// TestSameResultNCF checks that with NCF packets as fields and as bytes, any window, and one group give the same result
// and the same trace, over RDMA and UDP, IPv4 and IPv6, with NACKs of every cause.
func TestSameResultNCF(t *testing.T) {
	sameWithNCF(t, 300*unit.Microsecond, map[string]func(t testing.TB, c *Config){"udp": func(testing.TB, *Config) {},
		"rdma": queuePairs})
}

// sameWithNCF compares forms of runs with NCF and the given transports, and checks that NACKs have every cause.
func sameWithNCF(t *testing.T, duration unit.Time, transports map[string]func(t testing.TB, c *Config)) {
	t.Helper()
	causes := map[packet.Cause]int{}
	for name, transport := range transports {
		for seed, given := range [][]string{{}, {"coalesce", "20us", "change", "flowlet"}, {"early", "20%", "udp", "true",
			"pool", "switch", "memory", "25kB"}} {
			what := fmt.Sprintf("%s, seed %d", name, seed)
			hosts, notified := config(t, 0, nil).Wiring.Hosts, 0
			sameInEveryForm(t, what, mainForms, withNCF(t, uint64(seed), duration, transport, given),
				func(x *trace.Record, text []byte) {
					var p packet.Packet
					var n packet.Notification
					if len(x.Frame) > 0 && p.Parse(hosts, x.Frame) == nil && p.Notification(&n) {
						causes[n.Cause]++
					}
					if bytes.Contains(text, []byte("notified")) {
						notified++
					}
				})
			if notified == 0 {
				t.Errorf("%s: no drop became a NACK", what)
			}
		}
	}
	for _, c := range []packet.Cause{packet.CauseTrimmed, packet.CauseReclaimed, packet.CauseElephant} {
		if causes[c] == 0 {
			t.Errorf("no NACK says %v", c)
		}
	}
}

// withNCF returns a function that builds a run with NCF in its switches.
func withNCF(t testing.TB, seed uint64, duration unit.Time, transport func(testing.TB, *Config),
	given []string) func(func(*Config)) *Config {
	return func(change func(*Config)) *Config {
		c := config(t, seed, change)
		c.Duration = duration
		c.Wiring.MaxFrame = 1200
		transport(t, c)
		feedback(t, c, given...)
		return c
	}
}

// TestSameResultNCFTCP checks the same over TCP, with senders that accept NACKs.
func TestSameResultNCFTCP(t *testing.T) {
	sameWithNCF(t, 300*unit.Microsecond, map[string]func(t testing.TB, c *Config){"tcp": connections})
}

// TestSameResultEchoes checks the same with copies of ACKs with ECE, which are packets of the flow's other end that a
// switch makes.
func TestSameResultEchoes(t *testing.T) { sameResultEchoes(t, 300*unit.Microsecond) }

// sameResultEchoes compares forms of runs with copies of ACKs, and checks that drops are notified.
func sameResultEchoes(t *testing.T, duration unit.Time) {
	t.Helper()
	for seed, given := range [][]string{{"form", "ece", "memory", "13kB"}, {"form", "ece", "early", "20%", "acks",
		"mice"}} {
		what := fmt.Sprint("seed ", seed)
		notified := 0
		sameInEveryForm(t, what, mainForms, withNCF(t, uint64(seed), duration, connections, given),
			func(_ *trace.Record, text []byte) {
				if bytes.Contains(text, []byte("notified")) {
					notified++
				}
			})
		if notified == 0 {
			t.Errorf("%s: no sender was told of a drop", what)
		}
	}
}
