package p4abc

import (
	"math"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/scheme"
	"weir/core/unit"
)

// TestRoundTrip checks that round_trip keeps the paper's shares of a link's traffic in a round trip. At the 50 Mb/s and
// 20 ms of P4-ABC §6.1.3 these are its own 6, 20 and 16 packets, ten times that at 1 Gb/s and 10 ms, and never less. It
// compares thresholds in packets, bytes or times, with packets or bytes.
func TestRoundTrip(t *testing.T) {
	for _, x := range []struct {
		name             string
		rate             unit.Rate
		trip             unit.Time
		users            int
		packets          [3]float64
		memory, averages unit.Time
	}{
		{"the paper's", 50 * unit.Mbps, 20 * unit.Millisecond, 2, [3]float64{6, 20, 16}, 3 * unit.Second,
			300 * unit.Millisecond},
		{"1 Gb/s", unit.Gbps, 10 * unit.Millisecond, 2, [3]float64{60, 200, 160}, 3 * unit.Second, 300 * unit.Millisecond},
		{"100 Gb/s", 100 * unit.Gbps, 100 * unit.Millisecond, 2, [3]float64{60000, 200000, 160000}, 3 * unit.Second,
			300 * unit.Millisecond},
		{"a satellite", 10 * unit.Mbps, 500 * unit.Millisecond, 2, [3]float64{30, 100, 80}, 15 * unit.Second,
			1500 * unit.Millisecond},
		{"10 Mb/s", 10 * unit.Mbps, unit.Millisecond, 2, [3]float64{6, 20, 16}, 3 * unit.Second, 300 * unit.Millisecond},
		{"200 users", unit.Gbps, 100 * unit.Millisecond, 200, [3]float64{60, 200, 160}, 3 * unit.Second,
			300 * unit.Millisecond},
		{"none", unit.Gbps, 0, 2, [3]float64{6, 20, 16}, 3 * unit.Second, 300 * unit.Millisecond},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := scheme.Defaults[Config]()
			c.RoundTrip, c.Users = x.trip, x.users
			const frame = 1514
			small := [3]unit.Depth{{Time: unit.Nanosecond}, {Time: unit.Nanosecond}, {Time: unit.Nanosecond}}
			for _, given := range []struct {
				name       string
				thresholds [3]unit.Depth
				perPacket  bool
			}{
				{"packets", [3]unit.Depth{c.QMin, c.QBase, c.Gamma}, true},
				{"packets", [3]unit.Depth{c.QMin, c.QBase, c.Gamma}, false},
				{"bytes", [3]unit.Depth{{Bytes: 6 * frame}, {Bytes: 20 * frame}, {Bytes: 16 * frame}}, true},
				{"times that are too short", small, true},
			} {
				c.QMin, c.QBase, c.Gamma = given.thresholds[0], given.thresholds[1], given.thresholds[2]
				c.PerPacket = given.perPacket
				one := float64(frame)
				if given.name == "packets" {
					one = 1
				}
				if given.thresholds == small && float64(x.trip)*float64(x.rate) < float64(paperTrip)*float64(paperRate) {
					continue // the given packets are larger than the share of the round trip
				}
				got := c.thresholdsAt(x.rate, frame)
				for i, v := range [3]float64{got.qMin, got.qBase, got.gamma} {
					if want := x.packets[i] * one; math.Abs(v-want) > 1e-9*want {
						t.Errorf("%s: threshold %d is %v, want %v", given.name, i, v, want)
					}
				}
			}
			if f := c.withFittedMemories(); f.Memory != x.memory || f.Average != x.averages {
				t.Errorf("memories %v and %v, want %v and %v", f.Memory, f.Average, x.memory, x.averages)
			}
		})
	}
}

// TestConfig_ThresholdsInTimeFollowRate checks that a threshold may be a time: 4.8 ms are 30 kB at 50 Mb/s and 600 kB
// at 1 Gb/s.
func TestConfig_ThresholdsInTimeFollowRate(t *testing.T) {
	c := scheme.Defaults[Config]()
	ms := func(x float64) unit.Depth { return unit.Depth{Time: unit.Time(x * float64(unit.Millisecond))} }
	c.QMin, c.QBase, c.Gamma = ms(1.5), ms(4.8), ms(4)
	if err := scheme.Validate(&c); err != nil {
		t.Fatal(err)
	}
	if got := c.thresholdsAt(50*unit.Mbps, 1514); got != (thresholds{qMin: 9375, qBase: 30000, gamma: 25000}) {
		t.Errorf("%+v", got)
	}
	if got := c.thresholdsAt(unit.Gbps, 1514).qBase; got != 600_000 {
		t.Errorf("%v", got)
	}
	c.Register = true
	if scheme.Validate(&c) == nil {
		t.Error("the prototype's register, which counts packets, with times is taken")
	}
}

// TestConfig_RemarksUnsuitableThresholds checks that thresholds that do not suit rate, round trip or buffer cause a
// warning where the file is read.
func TestConfig_RemarksUnsuitableThresholds(t *testing.T) {
	port := func(rate unit.Rate, buffer unit.Length) dataplane.Peer {
		return dataplane.Peer{To: "server", Rate: unit.LinkRate{Bits: rate}, Buffer: buffer}
	}
	none := func(*Config) {}
	for _, x := range []struct {
		name   string
		port   dataplane.Peer
		trip   unit.Time
		change func(c *Config)
		says   string // part of the warning; "": there is none
	}{
		{"the paper's point", port(50*unit.Mbps, unit.Length{Packets: 24}), 20 * unit.Millisecond, none, ""},
		{"twenty times the rate", port(unit.Gbps, unit.Length{}), 20 * unit.Millisecond, none,
			"242.24us at the port to server with 1Gbps, below 10% of a round trip of 20ms, so flows that lose a packet leave " +
				"the link idle until thresholds have grown; use round_trip: 20ms"},
		{"the paper's average", port(unit.Gbps, unit.Length{}), 20 * unit.Millisecond,
			func(c *Config) { c.PerPacket = true }, "flows that lose a packet leave the link idle; use round_trip: 20ms"},
		{"a buffer in which thresholds grow", port(unit.Gbps, unit.Length{Packets: 400}), 20 * unit.Millisecond, none,
			"leave the link idle until thresholds have grown;"},
		{"a buffer in which they grow too little", port(unit.Gbps, unit.Length{Packets: 200}), 20 * unit.Millisecond, none,
			"flows that lose a packet leave the link idle; use round_trip: 20ms"},
		{"fitted", port(unit.Gbps, unit.Length{}), 20 * unit.Millisecond,
			func(c *Config) { c.RoundTrip = 20 * unit.Millisecond }, ""},
		{"a round trip that is not known", port(unit.Gbps, unit.Length{}), 0, none, ""},
		{"a short buffer", port(50*unit.Mbps, unit.Length{Packets: 20}), 20 * unit.Millisecond, none,
			"but the buffer there is full at 20 packets"},
		{"a buffer that fitted thresholds leave", port(unit.Gbps, unit.Length{Bytes: 100_000}), 20 * unit.Millisecond,
			func(c *Config) { c.RoundTrip = 20 * unit.Millisecond }, "but the buffer there is full at 100kB"},
		{"a rate in packets", dataplane.Peer{To: "server", Rate: unit.LinkRate{Packets: 4170}}, 20 * unit.Millisecond,
			func(c *Config) { c.RoundTrip = 20 * unit.Millisecond }, "has no rate in bit/s"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := scheme.Defaults[Config]()
			x.change(&c)
			all := c.Check(&dataplane.SwitchContext{Switch: "s1", Ports: []dataplane.Peer{x.port}, MaxFrame: 1514,
				MaxRTT: x.trip})
			switch {
			case x.says == "" && len(all) > 0:
				t.Errorf("says %v", all)
			case x.says != "" && (len(all) != 1 || all[0].Param != "q_base" || !strings.Contains(all[0].Text, x.says)):
				t.Errorf("says %v, want %v", all, x.says)
			}
		})
	}
}
