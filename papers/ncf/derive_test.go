package ncf

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/scheme"
	"weir/core/unit"
)

// TestDerivedDuration calculates n·d, four loaded round trips, by hand. At 10 Gb/s the 97 kB of ncf/incast drain in
// 77.6 us, so with 22 us a window is 99.6 us, and with 1514 kB 1.2332 ms. 256 frames of 1514 B take 310.0672 us there;
// 1000 take 1.2112 ms. The longer time counts, and n windows have it together.
func TestDerivedDuration(t *testing.T) {
	const us = unit.Microsecond
	for _, x := range []struct {
		trip    unit.Time
		senders int
		rate    unit.Rate
		limit   tm.Limit
		windows string
		memory  string
		want    unit.Time
	}{
		{22 * us, 0, 10 * unit.Gbps, tm.Limit{Bytes: 97_000}, "4", "0 B", 99_600_000},
		{22 * us, 0, 10 * unit.Gbps, tm.Limit{Bytes: 1_514_000}, "4", "0 B", 1_233_200_000},
		{22 * us, 0, 10 * unit.Gbps, tm.Limit{Packets: 1000}, "4", "0 B", 1_233_200_000},
		{22 * us, 0, 10 * unit.Gbps, tm.Limit{Bytes: 1_514_000}, "4", "30kB", 46 * us},
		{22 * us, 256, 10 * unit.Gbps, tm.Limit{Bytes: 97_000}, "4", "0 B", 310_067_200},
		{22 * us, 64, 10 * unit.Gbps, tm.Limit{Bytes: 97_000}, "4", "0 B", 99_600_000},
		{0, 1000, 10 * unit.Gbps, tm.Limit{Bytes: 97_000}, "4", "0 B", 1_211_200_000},
		{22 * us, 0, 10 * unit.Gbps, tm.Limit{Bytes: 97_000}, "8", "0 B", 49_800_000},
		{22 * us, 0, 10 * unit.Gbps, tm.Limit{Bytes: 97_000}, "1", "0 B", 398_400_000},
		{200 * ms, 0, 200 * unit.Mbps, tm.Limit{Bytes: 1_500_000}, "4", "0 B", 260 * ms},
		{8 * us, 0, 400 * unit.Gbps, tm.Limit{Bytes: 1_000_000}, "4", "0 B", 28 * us},
		{0, 1, 400 * unit.Gbps, tm.Limit{Bytes: 1_000_000}, "4", "0 B", us}, // 30 ns
	} {
		t.Run(fmt.Sprintf("%v, %d senders, %v, %+v, n %s, memory %s", x.trip, x.senders, x.rate, x.limit, x.windows,
			x.memory), func(t *testing.T) {
			r := newRig(t, setup{ports: 2, queues: 3, limit: x.limit, rate: x.rate, given: []string{"round_trip",
				x.trip.String(), "senders", fmt.Sprint(x.senders), "windows", x.windows, "memory", x.memory, "least", "15kB"}})
			if d := r.g.config.Sketch.Duration; d != x.want {
				t.Errorf("d is %v, want %v", d, x.want)
			}
		})
	}
}

// TestDerivedByPort calculates each port's d from its own rate and buffer by hand: 100 kB drain in 0.8 ms at 1 Gb/s, in
// 8 ms at 100 Mb/s, and 1 ms is the path. A slow port elsewhere does not change a fast one's notices. A sketch for the
// switch has one d, the longest.
func TestDerivedByPort(t *testing.T) {
	for scope, want := range map[string][]unit.Time{PerPort: {1800 * unit.Microsecond, 9 * ms, 9 * ms},
		PerSwitch: {9 * ms, 9 * ms, 9 * ms}} {
		r := newRig(t, setup{ports: 2, queues: 3, limit: tm.Limit{Bytes: 100_000}, rate: unit.Gbps,
			rates: map[int]unit.Rate{1: 100 * unit.Mbps}, given: []string{"round_trip", "1ms", "sketch", scope}})
		for i := range r.g.ports {
			x := &r.g.ports[i]
			if x.sketch.Duration() != want[i] || x.mice.duration != want[i] || x.history() != 4*want[i] ||
				r.g.noticeInterval(x) != want[i] || x.memory != nil && x.memory.budget.duration != want[i] {
				t.Errorf("sketch: %s, port %d: d is %v, of mice %v, want %v", scope, i, x.sketch.Duration(), x.mice.duration,
					want[i])
			}
		}
	}
}

// TestDerivedOrGiven checks that without round_trip and senders d is 10 ms. Both ways together are refused, and so is a
// port without a known rate.
func TestDerivedOrGiven(t *testing.T) {
	r := newRig(t, setup{ports: 2, queues: 3, limit: tm.Limit{Bytes: 97_000}})
	if d := r.g.config.Sketch.Duration; d != 10*ms {
		t.Errorf("d is %v", d)
	}
	for given, want := range map[string]string{
		"round_trip 20ms": "duration: 5ms, and d follows from round_trip and senders, too",
		"senders 20":      "duration: 5ms, and d follows from round_trip and senders, too",
		"duration 10ns":   "duration: 10ns; allowed: 0s, or 1us to 60s",
	} {
		o := scheme.Defaults[Options]()
		o.Sketch.Duration = 5 * ms
		switch key, value, _ := strings.Cut(given, " "); key {
		case "round_trip":
			o.RoundTrip = 20 * ms
		case "senders":
			o.Senders = 20
		default:
			o.Sketch.Duration, _ = unit.ParseTime(value)
		}
		if err := scheme.Validate(&o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// TestOptions_RemarkUnsuitableWindows checks the warnings about windows that are too short, and about options without
// effect at the switch's place, and cases without a warning.
func TestOptions_RemarkUnsuitableWindows(t *testing.T) {
	const byTurns = "so flows alternate between elephants and mice, and supply covers only some; "
	gigabit := unit.LinkRate{Bits: unit.Gbps}
	ten := unit.LinkRate{Bits: 10 * unit.Gbps}
	for _, x := range []struct {
		name   string
		given  []string
		port   dataplane.Peer
		trip   unit.Time
		queues int
		want   string // "": nothing
	}{
		{"incast", []string{"duration", "50us"}, dataplane.Peer{Rate: ten, Buffer: unit.Length{Bytes: 97_000}, Senders: 60},
			22 * unit.Microsecond, 3, ""},
		{"incast with a deep buffer", []string{"duration", "50us"}, dataplane.Peer{Rate: ten,
			Buffer: unit.Length{Bytes: 1_514_000}}, 22 * unit.Microsecond, 3,
			"duration: n·d is 200us, 0.16 of 1.234ms, a round trip of 22us when the buffer of the port to h is full, " +
				byTurns + "round_trip: 22us in place of duration fits it"},
		{"many senders", []string{"duration", "50us"}, dataplane.Peer{Rate: ten, Buffer: unit.Length{Bytes: 97_000},
			Senders: 256}, 22 * unit.Microsecond, 3,
			"duration: n·d is 200us, 0.65 of 311us, in which each of the 256 flows to h sends one packet, " + byTurns +
				"senders: 256 in place of duration fits it"},
		{"derived", []string{"round_trip", "22us", "senders", "256"}, dataplane.Peer{Rate: ten,
			Buffer: unit.Length{Bytes: 1_514_000}, Senders: 256}, 22 * unit.Microsecond, 3, ""},
		{"derived of too short a round trip", []string{"round_trip", "1ms"}, dataplane.Peer{Rate: gigabit,
			Buffer: unit.Length{Bytes: 125_000}}, 20 * ms, 3,
			"round_trip: n·d is 8ms, 0.38 of 21ms, a round trip of 20ms when the buffer of the port to h is full, " + byTurns +
				"round_trip: 20ms fits it"},
		{"default", nil, dataplane.Peer{Rate: gigabit, Buffer: unit.Length{Bytes: 300_000}}, 10 * ms, 3, ""},
		{"no flows known", nil, dataplane.Peer{Rate: gigabit, Buffer: unit.Length{Bytes: 300_000}}, 0, 3, ""},
		{"tilt without queues", []string{"tilt", "100%"}, dataplane.Peer{Rate: gigabit,
			Buffer: unit.Length{Bytes: 300_000}},
			10 * ms, 2, "tilt: it has no effect, since with 2 queues mice and elephants share one; use queues: 3"},
		{"tilt with all reserved", []string{"tilt", "100%", "reserve", "45%", "mice", "50%"}, dataplane.Peer{Rate: gigabit,
			Buffer: unit.Length{Bytes: 300_000}}, 10 * ms, 3,
			"tilt: it has no effect, since mice and elephants have reserved the whole limit, 95%"},
		{"spike beyond tilt", []string{"tilt", "100%", "spike", "50%"}, dataplane.Peer{Rate: gigabit,
			Buffer: unit.Length{Bytes: 300_000}}, 10 * ms, 3,
			"spike: it has no effect, since with tilt: 100% mice may always use all memory except the elephants' reservation"},
		{"a reservation of a BDP", []string{"spike", "0%"}, dataplane.Peer{Rate: gigabit,
			Buffer: unit.Length{Bytes: 300_000}}, 200 * unit.Microsecond, 3, "spike: it has almost no effect at the port to " +
			"h: the elephants' reservation of 30 kB holds the 25 kB that the port sends in their round trip of 200us, so " +
			"they fill the port"},
		{"early after congestion", []string{"early", "95%"}, dataplane.Peer{Rate: gigabit,
			Buffer: unit.Length{Bytes: 300_000}}, 10 * ms, 3,
			"early: 95% of the memory is not before congestion, which begins " +
				"at 95%"},
		{"spike beside the point", []string{"spike", "0%"}, dataplane.Peer{Rate: gigabit,
			Buffer: unit.Length{Bytes: 300_000}}, 4 * ms, 3, ""},
		{"early", []string{"early", "30%"}, dataplane.Peer{Rate: gigabit, Buffer: unit.Length{Bytes: 300_000}}, 4 * ms, 3,
			""},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, err := Scheme().Configure(x.given...)
			if err != nil {
				t.Fatal(err)
			}
			x.port.To = "h"
			said := ""
			for _, r := range dataplane.Check(c, &dataplane.SwitchContext{Switch: "s", Ports: []dataplane.Peer{x.port},
				MaxRTT:   x.trip,
				MaxFrame: 1514, Queues: x.queues}) {
				said += r.Param + ": " + r.Text
			}
			if said != x.want {
				t.Errorf("it says\n%s\nwant\n%s", said, x.want)
			}
		})
	}
}

// TestSuitsPorts checks the warnings about a port's buffer that is full before the memory, and about a table of the
// heaviest flows without room for all elephants.
func TestSuitsPorts(t *testing.T) {
	port := func(bytes unit.Bytes) dataplane.Peer {
		return dataplane.Peer{To: "h", Rate: unit.LinkRate{Bits: unit.Gbps}, Buffer: unit.Length{Bytes: bytes}}
	}
	packets := dataplane.Peer{To: "p", Rate: unit.LinkRate{Bits: unit.Gbps}, Buffer: unit.Length{Packets: 100}}
	to := func(senders int) dataplane.Peer {
		x := port(500_000)
		x.Senders = senders
		return x
	}
	for _, x := range []struct {
		name  string
		given []string
		ports []dataplane.Peer
		want  string // "": nothing
	}{
		{"a pool of two buffers", []string{"pool", "switch"}, []dataplane.Peer{port(500_000), port(300_000)},
			""},
		{"a pool of one buffer", []string{"pool", "switch"}, []dataplane.Peer{port(500_000)}, ""},
		{"a pool with memory", []string{"pool", "switch", "memory", "300kB"},
			[]dataplane.Peer{port(500_000), port(300_000)}, ""},
		{"a pool with more", []string{"pool", "switch", "memory", "301kB"}, []dataplane.Peer{port(500_000), port(300_000)},
			""},
		{"ports with more memory than buffer", []string{"memory", "1MB"}, []dataplane.Peer{port(500_000), packets},
			"memory: the buffer of the port to p holds 151 kB, which limits the memory there instead of 1000 kB"},
		{"ports with less", []string{"memory", "100kB"}, []dataplane.Peer{port(500_000), packets}, ""},
		{"ports by their buffers", nil, []dataplane.Peer{port(500_000), packets}, ""},
		{"ports without a limit", []string{"memory", "1MB"}, []dataplane.Peer{port(0)}, ""},
		{"50 elephants", []string{"threshold", "1%"}, []dataplane.Peer{to(50)},
			"top: an equal share of the 50 flows to h is above the threshold of 1%, so all may be elephants, but the table " +
				"has room for 20: each is offered 2.5 times its share"},
		{"50 elephants in 50 places", []string{"threshold", "1%", "top", "50"}, []dataplane.Peer{to(50)}, ""},
		{"50 elephants, top 0", []string{"threshold", "1%", "top", "0"}, []dataplane.Peer{to(50)},
			"top: an equal share of the 50 flows to h is above the threshold of 1%, so all may be elephants, but the table " +
				"has room for 20: each is offered 2.5 times its share"},
		{"50 whom nobody tells", []string{"threshold", "1%", "nack", "none"}, []dataplane.Peer{to(50)}, ""},
		{"200 mice", []string{"threshold", "1%"}, []dataplane.Peer{to(200)}, ""},
		{"one window", []string{"windows", "1"}, []dataplane.Peer{port(500_000)}, "windows: deaf: first has no effect: " +
			"detecting whether an elephant continues needs a whole window between two notices, within " +
			"n windows, but n is 1"},
		{"one window, and all alike", []string{"windows", "1", "deaf", "alike"}, []dataplane.Peer{port(500_000)}, ""},
		{"one window, and nobody told", []string{"windows", "1", "top", "0"}, []dataplane.Peer{port(500_000)}, ""},
		{"packets", []string{"count", "packets"}, []dataplane.Peer{port(500_000)},
			"count: deaf: first has no effect: the bytes of elephants are unknown"},
		{"told seldom", []string{"every", "41ms"}, []dataplane.Peer{port(500_000)},
			"every: deaf: first has no effect: an " +
				"elephant is notified every 41ms, but a notice is forgotten after n·d, 40ms"},
		{"told in time", []string{"every", "40ms"}, []dataplane.Peer{port(500_000)}, ""},
		{"50 mice", nil, []dataplane.Peer{to(50)}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, err := Scheme().Configure(append([]string{"least", "15kB"}, x.given...)...)
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, r := range dataplane.Check(c, &dataplane.SwitchContext{Switch: "s", Ports: x.ports, MaxRTT: ms,
				MaxFrame: 1514, Queues: 3}) {
				said += r.Param + ": " + r.Text
			}
			if said != x.want {
				t.Errorf("it says\n%s\nwant\n%s", said, x.want)
			}
		})
	}
}

// TestDerivedDurationOfSlowPorts checks that a memory that takes months to drain gets the longest windows, and not, by
// an overflow, the shortest.
func TestDerivedDurationOfSlowPorts(t *testing.T) {
	for _, rate := range []unit.Rate{1, 8, unit.Kbps} {
		t.Run(rate.String(), func(t *testing.T) {
			if got := newLoadedRTT(10*unit.Second, 1, rate, 1e9, 1514).fitDuration(4); got != maxDuration {
				t.Errorf("d is %v, want %v", got, maxDuration)
			}
		})
	}
}
