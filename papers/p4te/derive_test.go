package p4te

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/testkit"
)

// TestOptions_DeriveFromRoundTripAndRates checks that times and lengths follow from the network's longest round trip
// and the ports' rates, also at ten times the rate and at a tenth and fifty times the round trip. Given values stay,
// and at ports in packets/s they are the paper's.
func TestOptions_DeriveFromRoundTripAndRates(t *testing.T) {
	const us = unit.Microsecond
	for _, x := range []struct {
		name, rate, delay string
		trip              unit.Time
		depth             int64
		bytes             unit.Bytes
	}{
		// 8 links there and back, 4 frames of 1606 bytes (with all headers), 4 of 74
		{name: "10 Gb/s", rate: "10Gbps", delay: "1us", trip: 13_388 * unit.Nanosecond, depth: 10, bytes: 16_735},
		{name: "100 Gb/s", rate: "100Gbps", delay: "1us", trip: 8539 * unit.Nanosecond, depth: 66, bytes: 106_736},
		{name: "a tenth of the trip", rate: "100Gbps", delay: "100ns", trip: 1339 * unit.Nanosecond, depth: 10,
			bytes: 16_736},
		{name: "fifty times the trip", rate: "10Gbps", delay: "80us", trip: 645 * us, depth: 501, bytes: 806_735},
		{name: "1 Mb/s", rate: "1Mbps", delay: "1us", trip: 53_896 * us, depth: 4, bytes: 6737},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := derived(t, x.rate, x.delay, "")
			c := &p.config
			checkNear := func(what string, got, want int64) {
				t.Helper()
				testkit.CheckNear(t, what, got, float64(want), testkit.Tolerance{Relative: 0.05, Absolute: 1})
			}
			checkNear("delay_delta", int64(c.DelayDelta), int64(x.trip))
			checkNear("burst", int64(c.Burst), int64(x.trip))
			checkNear("gap", int64(c.FlowletGap), 5*int64(x.trip))
			checkNear("depth_delta", c.DepthDelta[p.place.Up[0]], x.depth)
			checkNear("bytes", int64(c.Rate.Bytes), int64(x.bytes))
			checkNear("depth_range", c.Control.Range[QueueDepth][p.place.Up[0]], 3*c.DepthDelta[p.place.Up[0]])
			checkNear("delay_range", c.Control.Range[Delay][p.place.Up[0]], 3*int64(c.DelayDelta))
			if c.Control.Mapping != ByRange {
				t.Error("groups are not sub-ranges")
			}
		})
	}
	t.Run("given", func(t *testing.T) {
		c := &derived(t, "10Gbps", "1us", "depth_delta: 7 packets, delay_delta: 20us, burst: 1ms, gap: 1us, bytes: 3 B, "+
			"mapping: step, depth_range: 90 packets, delay_range: 1s").config
		if c.DepthDelta[5] != 7 || c.DelayDelta != 20*us || c.Burst != 1000*us || c.FlowletGap != us || c.Rate.Bytes != 3 ||
			c.Control.Mapping != ByStep || c.Control.Range[QueueDepth][5] != 90 || c.Control.Range[Delay][5] != 1e12 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("round trip given", func(t *testing.T) {
		c := &derived(t, "10Gbps", "1us", "round_trip: 100us").config
		if c.DelayDelta != 100*us || c.FlowletGap != 500*us || c.Rate.Bytes != 125_000 || c.DepthDelta[5] != 77 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("packets/s", func(t *testing.T) {
		c := &derived(t, "20pps", "1us", "").config
		if c.DelayDelta != paperDelay || c.FlowletGap != paperGap || c.Burst != paperBurst || c.Rate.Bytes != paperBytes ||
			c.DepthDelta[5] != 2 || c.Control.Mapping != ByStep || c.Control.Range[QueueDepth][5] != 10 {
			t.Errorf("%+v", c)
		}
	})
}

// derived is P4TE at a leaf of two spines and two hosts.
func derived(t *testing.T, rate, delay, given string) *Program {
	t.Helper()
	n := build(t, fmt.Sprintf(`
duration: 1ms
addresses: hierarchical
topology: {leaf_spine: {leaves: 4, spines: 4, hosts: 2, rate: %s, delay: %s, buffer: 100 packets}}
switch: [{p4te: {%s}}]
traffic:
  - {name: web, from: h0, to: h4, transport: tcp, cc: cubic, start: 0s, size: 1KB}
`, rate, delay, given))
	n.runNetwork()
	return n.programs[n.node("leaf0")]
}

// TestOptions_RemarkUnsuitableValues checks that a value far from the derived one gives a warning at its parameter, and
// one near it gives none.
func TestOptions_RemarkUnsuitableValues(t *testing.T) {
	for _, x := range []struct {
		name  string
		given []string
		rate  unit.LinkRate
		trip  unit.Time
		told  string // parameters
	}{
		{"derived", nil, unit.LinkRate{Bits: 10 * unit.Gbps}, 13 * unit.Microsecond, ""},
		{"experiments", []string{"depth_delta", "10 packets", "delay_delta", "12us", "burst", "12us", "gap", "100us", "bytes",
			"5000 B"}, unit.LinkRate{Bits: 10 * unit.Gbps}, 13 * unit.Microsecond, ""},
		{"the paper's at 10 Gb/s", []string{"delay_delta", "15ms", "burst", "100ms", "gap", "40ms"},
			unit.LinkRate{Bits: 10 * unit.Gbps}, 13 * unit.Microsecond, "delay_delta burst gap"},
		{"too short", []string{"delay_delta", "1us", "burst", "1us", "gap", "1us", "round_trip", "1us"},
			unit.LinkRate{Bits: 10 * unit.Gbps}, 13 * unit.Microsecond, "round_trip delay_delta burst gap"},
		{"B at 100 Gb/s", []string{"bytes", "5000 B"}, unit.LinkRate{Bits: 100 * unit.Gbps}, 9 * unit.Microsecond, "bytes"},
		{"B without rates", []string{"bytes", "5000 B", "rate", "off"}, unit.LinkRate{Bits: 100 * unit.Gbps},
			9 * unit.Microsecond, ""},
		{"B over a long way", []string{"bytes", "5000 B"}, unit.LinkRate{Bits: unit.Gbps}, 10 * unit.Millisecond, "bytes"},
		{"packets/s", []string{"gap", "4s"}, unit.LinkRate{Packets: 20}, unit.Second, ""},
		{"no flows", []string{"gap", "4s"}, unit.LinkRate{Bits: unit.Gbps}, 0, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, err := Scheme().Configure(x.given...)
			if err != nil {
				t.Fatal(err)
			}
			var told []string
			for _, r := range dataplane.Check(c, &dataplane.SwitchContext{MaxRTT: x.trip,
				Ports: []dataplane.Peer{{To: "h", Host: true,
					Rate: x.rate}, {To: "s", Rate: x.rate}}}) {
				told = append(told, r.Param)
				if _, ok := c.(*Options); !ok || r.Refused || scheme.Validate(c.(*Options)) != nil {
					t.Errorf("%+v", r)
				}
			}
			if got := strings.Join(told, " "); got != x.told {
				t.Errorf("told of %q, want %q", got, x.told)
			}
		})
	}
}
