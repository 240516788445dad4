package p4te

import (
	"fmt"
	"math"
	"testing"

	"weir/core/dataplane"
	"weir/core/unit"
)

// TestControlPlane_StepMappingDriftsRangeDoesNot checks that algorithm 4 to the letter drifts: an event is one group,
// for any change of the value, and the way back may have fewer events than the way there. A link that goes green,
// yellow, red and at once green is in group 1. A queue that jumps from 0 to 30 and falls to 27 is in the best group.
// Sub-ranges (P4TE §6.2.1.2) follow the value.
func TestControlPlane_StepMappingDriftsRangeDoesNot(t *testing.T) {
	for _, x := range []struct {
		mapping        Mapping
		green, at27    int
		after, deepest string
	}{{ByStep, 1, 0, "drifted", "forgotten"}, {ByRange, 0, 2, "back", "known"}} {
		t.Run(fmt.Sprint(x.after, " and ", x.deepest), func(t *testing.T) {
			k := plane(t, 3, ControlConfig{Mapping: x.mapping, Range: [MetricCount][]int64{QueueDepth: {0, 0, 0, 30},
				Utilisation: {0, 0, 0, 3}}}, 3)
			last := dataplane.Green
			for _, c := range []dataplane.Colour{dataplane.Yellow, dataplane.Red, dataplane.Green} {
				change := Increase
				if c < last {
					change = Decrease
				}
				k.Reconfigure(0, Event{Utilisation, change, 3, int64(c)})
				last = c
			}
			if got := k.Group(Utilisation, 3); got != x.green {
				t.Errorf("a green port is in group %d, want %d", got, x.green)
			}
			g := NewGradient([]int64{1, 1, 1, 2})
			for _, depth := range []int64{0, 30, 27} {
				if change := g.Observe(3, depth); change != Unchanged {
					k.Reconfigure(0, Event{QueueDepth, change, 3, depth})
				}
			}
			if got := k.Group(QueueDepth, 3); got != x.at27 {
				t.Errorf("a port with 27 packets is in group %d, want %d", got, x.at27)
			}
		})
	}
}

// TestProgram_AgeReturnsIdlePort checks that a port in a late group after its last packet gets no packets that would
// report otherwise. With age it returns after that long without departures; a port with departures does not.
func TestProgram_AgeReturnsIdlePort(t *testing.T) {
	for _, age := range []string{"0s", "1ms"} {
		t.Run(age, func(t *testing.T) {
			n := build(t, `
duration: 20ms
addresses: hierarchical
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 1, rate: 1Gbps, delay: 1us, buffer: 100 packets}}
switch: [{p4te: {age: `+age+`, control_latency: 1us, table_write: 1us, mapping: step, gap: 10ms}}]
traffic:
  - {name: one, from: h0, to: h1, transport: {udp: {rate: 200Mbps}}, start: 0s, tos: 0x10}
`)
			leaf := n.node("leaf0")
			h := n.hooks[leaf]
			h.at, h.tick = 10*ms, func() {
				x := n.programs[leaf]
				for m := range MetricCount {
					for _, p := range x.place.Up {
						for range 2 {
							x.writes = append(x.writes, x.control.Reconfigure(10*ms, Event{m, Increase, p, 1 << 40})...)
						}
					}
				}
				for _, p := range x.place.Up {
					if x.depth.old[p] = 50; x.departures[p] == 0 {
						x.colours.old[p], x.utilisation[p] = dataplane.Red, dataplane.Red
					}
				}
			}
			n.runNetwork()
			x := n.programs[leaf]
			idle, busy := x.place.Up[0], x.place.Up[1]
			if x.departures[idle] > x.departures[busy] {
				idle, busy = busy, idle
			}
			want := 2
			if age != "0s" {
				want = 0
			}
			if got := x.control.Group(Utilisation, idle); got != want {
				t.Errorf("the idle port is in group %d, want %d", got, want)
			}
			if depth, colour, used := x.depth.old[idle], x.colours.Colour(idle), x.utilisation[idle]; age != "0s" &&
				(depth != 0 || colour != dataplane.Green || used != dataplane.Green) ||
				age == "0s" && (depth != 50 || colour != dataplane.Red || used != dataplane.Red) {
				t.Errorf("the idle port had %d packets last and is %v, at ingress %v", depth, colour, used)
			}
			if got := x.control.Group(Utilisation, busy); got != 2 || x.departures[busy] < 19*ms || x.departures[idle] > ms {
				t.Errorf("the port that packets leave by is in group %d; last packets at %v and %v", got, x.departures[busy],
					x.departures[idle])
			}
			if got := len(x.upward[Utilisation].Group(2)); got != 2-(2-want)/2 {
				t.Errorf("the table has %d ports in the last group", got)
			}
		})
	}
}

// TestProgram_SteeringReportsWorkAndShares checks a control plane's work and the time that ports are in each group: of
// 4 ports, one is in group 1 of the delay for a quarter of the time.
func TestProgram_SteeringReportsWorkAndShares(t *testing.T) {
	p, _ := paperSwitch(t, 8, 1, "mapping", "step")
	port := p.place.Up[0]
	p.control.config.WriteTime = 10 * unit.Microsecond
	p.control.Reconfigure(2*ms, Event{Delay, Increase, port, 0})
	p.control.Reconfigure(4*ms, Event{Delay, Decrease, port, 0})
	p.counts.ToControl = 2
	s := p.Steering(8 * ms)
	if s.Events != 2 || s.Writes != 4 || s.Busy != 40*unit.Microsecond || s.Lost != 0 || len(s.Groups) != 9 {
		t.Fatalf("%+v", s)
	}
	want := map[string]float64{"delay_0": 15. / 16, "delay_1": 1. / 16, "depth_0": 1, "utilisation_0": 1}
	for _, g := range s.Groups {
		if math.Abs(g.Share-want[g.Group]) > 1e-9 {
			t.Errorf("%s: %v, want %v", g.Group, g.Share, want[g.Group])
		}
	}
}
