package sim

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/conga"
	"weir/core/dataplane/balance/hula"
	"weir/core/dataplane/balance/letflow"
	"weir/core/dataplane/dataplanetest"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/topology"
	"weir/core/unit"
)

// publishedTimes are the times of CONGA (§3.3, §3.6), HULA (§3.4) and LetFlow (§5) at a round trip of 100 us.
var publishedTimes = []struct {
	scheme dataplane.Scheme
	times  map[string]unit.Time
}{
	{letflow.Scheme(), map[string]unit.Time{"gap": 500 * unit.Microsecond}},
	{conga.Scheme(), map[string]unit.Time{"gap": 500 * unit.Microsecond, "tau": 160 * unit.Microsecond,
		"period": 16 * unit.Microsecond, "age": 10 * unit.Millisecond}},
	{hula.Scheme(), map[string]unit.Time{"probe": 200 * unit.Microsecond, "gap": 100 * unit.Microsecond}},
}

// TestDerivedTimes checks that runs without times equal those with the published times over 100 us of the tree's round
// trip, from 1 to 100 Gb/s, at a tenth and fifty times the delay. Other stated times change them.
func TestDerivedTimes(t *testing.T) {
	for _, x := range publishedTimes {
		moved := 0
		for _, net := range []map[string]string{{}, {"rate": "1Gbps"}, {"rate": "100Gbps"}, {"delay": "100ns"},
			{"delay": "50us"}} {
			for name, value := range map[string]string{"leaves": "3", "spines": "2", "hosts": "2"} {
				net[name] = value
			}
			n := networkOf(t, "leaf_spine", net)
			trip := tripOf(t, n)
			if trip == 0 {
				t.Fatalf("%v has no round trip", net)
			}
			var scaled, published []string
			for name, at := range x.times {
				scaled = append(scaled, name, unit.Time(float64(at)*trip.Seconds()/100e-6+0.5).String())
				published = append(published, name, at.String())
			}
			derived, again := packetsOf(t, n, x.scheme), packetsOf(t, n, x.scheme)
			if stated := packetsOf(t, n, x.scheme, scaled...); !slices.Equal(derived, stated) || !slices.Equal(derived, again) {
				t.Errorf("%s, %v: ports send %v, with %v %v, again %v", x.scheme.Name, net, derived, scaled, stated,
					again)
			}
			if !slices.Equal(derived, packetsOf(t, n, x.scheme, published...)) {
				moved++
			}
		}
		if moved == 0 {
			t.Errorf("%s: the published times change no run", x.scheme.Name)
		}
	}
}

// TestDerivedProbesLeaveRoom checks that a derived period of HULA's probes leaves 95 % of the slowest link to other
// packets, for any number of leaves that probe.
func TestDerivedProbesLeaveRoom(t *testing.T) {
	for _, leaves := range []int{8, 100} {
		n := networkOf(t, "leaf_spine", map[string]string{"leaves": fmt.Sprint(leaves), "spines": "2", "hosts": "1",
			"delay": "100ns", "rate": "1Gbps"})
		c := &Config{Wiring: wiring.Config{Seed: 1, Network: n}, Selection: outcome.Selection{Tally: true},
			Duration: 2 * unit.Millisecond}
		forwarding(c)
		(&balancer{Scheme: hula.Scheme()}).runs(c)
		r := runConfig(t, c)
		sent := unit.Bytes(0)
		for _, p := range r.Ports {
			sent = max(sent, unit.Bytes(p.TxBytes))
		}
		if most := (unit.Gbps / 20).BytesIn(c.Duration) * 5 / 4; sent > most || sent == 0 {
			t.Errorf("%d leaves: probes take %v of a link, at most %v", leaves, sent, most)
		}
	}
}

// tripOf returns the round trip that programs of a network's switches find.
func tripOf(t *testing.T, n *topology.Network) (trip unit.Time) {
	c, _ := across(t, 1, n, &balancer{Scheme: letflow.Scheme()}, 1000, func(c *Config) {
		for i := range c.Wiring.Switches {
			c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
				trip = site.MaxTrip()
				p, err := dataplanetest.BuildProgram(letflow.Scheme(), site)
				return []dataplane.Program{p}, err
			}
		}
	})
	runConfig(t, c)
	return trip
}

// packetsOf returns the packets that each port sends under a balancer with parameters, while hosts send bursts of
// datagrams.
func packetsOf(t *testing.T, n *topology.Network, s dataplane.Scheme, given ...string) (all []uint64) {
	c, _ := across(t, 1, n, &balancer{Scheme: s, given: given}, 0, func(c *Config) { c.Duration = 3 * unit.Millisecond })
	r := runConfig(t, c)
	for i := range r.Ports {
		all = append(all, r.Ports[i].TxPackets)
	}
	return all
}
