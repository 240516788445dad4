package sim

import (
	"strings"
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
	for i := range c.Network.Links {
		c.Network.Links[i].Buffer = unit.Length{Bytes: 20_000}
	}
	for i := range c.Switches {
		others := c.Switches[i].Programs
		c.Switches[i].Queues = 3
		c.Switches[i].Scheduler = func(queues int, rate unit.LinkRate) (tm.Scheduler, error) {
			return tm.NewNCF(queues, tm.NCF{Control: 0.05, Mice: 0.1, Elephants: 0.1}, rate.Bits, 1514, 3028)
		}
		c.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			p, err := others(site)
			if err != nil {
				return nil, err
			}
			g, err := dataplanetest.Make(ncf.Scheme(), site, append([]string{"duration", "200us", "least", "6kB", "threshold",
				"10%"}, given...)...)
			return append(p, g), err
		}
	}
}

// With NCF, too, packets as fields and as bytes, any window, and one group give the same result
// and the same trace, over RDMA and UDP, IPv4 and IPv6, with NACKs of every cause.
func TestSameResultNCF(t *testing.T) {
	sameWithNCF(t, map[string]func(t testing.TB, c *Config){"udp": func(testing.TB, *Config) {}, "rdma": queuePairs})
}

func sameWithNCF(t *testing.T, forms map[string]func(t testing.TB, c *Config)) {
	causes := map[packet.Cause]int{}
	for name, transports := range forms {
		for seed, given := range [][]string{{}, {"coalesce", "20us", "change", "flowlet"}, {"early", "20%", "udp", "true",
			"pool", "switch", "memory", "25kB"}} {
			with := func(change func(*Config)) (result, text string, records []trace.Record) {
				build := func() *Config {
					c := config(t, uint64(seed), change)
					c.Duration = unit.Millisecond
					c.MaxFrame = 1200
					transports(t, c)
					feedback(t, c, given...)
					return c
				}
				_, text, records = traced(t, build(), "*")
				return outcome(t, build()), text, records
			}
			want, wantText, records := with(nil)
			if !strings.Contains(wantText, "notified") {
				t.Errorf("%s, seed %d: no drop became a NACK", name, seed)
			}
			for i := range records {
				var p packet.Packet
				var n packet.Notification
				if len(records[i].Frame) > 0 && p.Parse(config(t, 0, nil).Hosts, records[i].Frame) == nil && p.Notification(&n) {
					causes[n.Cause]++
				}
			}
			for form, change := range map[string]func(*Config){
				"small window":  func(c *Config) { c.Window = 300 * unit.Nanosecond },
				"three threads": func(c *Config) { c.Threads = 3 },
				"one group":     func(c *Config) { c.Window = unit.Second },
				"wire":          func(c *Config) { c.Wire = true },
			} {
				got, text, _ := with(change)
				if got != want || text != wantText {
					t.Errorf("%s, seed %d, %s: another result\n%s\n%s\n%s", name, seed, form, got, want, difference(text, wantText))
				}
			}
		}
	}
	for _, c := range []packet.Cause{packet.CauseTrimmed, packet.CauseReclaimed, packet.CauseElephant} {
		if causes[c] == 0 {
			t.Errorf("no NACK says %v", c)
		}
	}
	t.Log(causes)
}

// And over TCP, whose senders take the NACKs.
func TestSameResultNCFTCP(t *testing.T) {
	sameWithNCF(t, map[string]func(t testing.TB, c *Config){"tcp": connections})
}

// So do copies of ACKs with ECE, which are packets of the flow's other end that a switch makes.
func TestSameResultEchoes(t *testing.T) {
	for seed, given := range [][]string{{"form", "ece"}, {"form", "ece", "early", "20%", "acks", "mice"}} {
		with := func(change func(*Config)) (result, text string) {
			build := func() *Config {
				c := config(t, uint64(seed), change)
				c.Duration = unit.Millisecond
				c.MaxFrame = 1200
				connections(t, c)
				feedback(t, c, given...)
				return c
			}
			_, text, _ = traced(t, build(), "*")
			return outcome(t, build()), text
		}
		want, wantText := with(nil)
		if !strings.Contains(wantText, "notified") {
			t.Errorf("seed %d: no sender was told of a drop", seed)
		}
		for form, change := range map[string]func(*Config){
			"small window":  func(c *Config) { c.Window = 300 * unit.Nanosecond },
			"three threads": func(c *Config) { c.Threads = 3 },
			"one group":     func(c *Config) { c.Window = unit.Second },
			"wire":          func(c *Config) { c.Wire = true },
		} {
			if got, text := with(change); got != want || text != wantText {
				t.Errorf("seed %d, %s: another result\n%s\n%s\n%s", seed, form, got, want, difference(text, wantText))
			}
		}
	}
}
