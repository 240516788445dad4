package p4te

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/unit"
)

// TestClockOffset checks P4TE §6.1.2: clocks need not be synchronised. With every mapping, at ports in bit/s and in
// packets/s, a run with offset clocks of the spines equals the run with exact clocks: the same groups at the same
// times, events, and bytes received.
func TestClockOffset(t *testing.T) {
	const text = `
duration: %s
addresses: hierarchical
topology: {leaf_spine: {leaves: 2, spines: 3, hosts: 3, %s}}
switch: [{p4te: {control_latency: 10us, table_write: 1us, rate: off, %s}}]
switches: {"spine*": {clock: {offset: %s}}}
traffic:
  - {name: all, from: [h0, h1, h2], to: [h3, h4, h5], transport: tcp, cc: cubic, tos: 0x10, start: 0s, flows: 4}
  - {name: back, from: [h3, h4, h5], to: [h0, h1, h2], transport: tcp, cc: cubic, tos: 0x08, start: 0s}
`
	const mbps, packets = "rate: 1Gbps, uplink: 500Mbps, delay: 10us, buffer: 40 packets",
		"rate: 200pps, uplink: 100pps, delay: 1ms, buffer: 40 packets, spaced: true"
	for _, x := range []struct{ duration, links, mapping string }{
		{"12ms", mbps, "mapping: fit"}, {"12ms", mbps, "mapping: step"}, {"12ms", mbps, "mapping: range, delay_groups: 5"},
		{"6s", packets, "mapping: fit"}, {"6s", packets, "mapping: range"},
	} {
		t.Run(x.mapping+" "+x.links[6:12], func(t *testing.T) {
			run := func(offset string) string {
				n := build(t, fmt.Sprintf(text, x.duration, x.links, x.mapping, offset))
				r := n.runNetwork()
				var b strings.Builder
				for i, p := range n.programs {
					if p != nil {
						fmt.Fprintln(&b, n.Wiring.Network.Nodes[i].Name, p.Counts(), p.Steering(n.Duration))
					}
				}
				for i := range r.Flows {
					fmt.Fprintln(&b, r.Flows[i].Receiver.ReceivedBytes)
				}
				if k := n.counts(); k.ToNeighbour < 20 {
					t.Fatalf("only %d events of the delay", k.ToNeighbour)
				}
				return b.String()
			}
			exact := run("0s")
			for _, offset := range []string{"1us", "-1us", "37us", "1ms", "-10ms", "10ms", "-1h"} {
				if got := run(offset); got != exact {
					t.Errorf("with an offset of %s:\n%swith exact clocks:\n%s", offset, got, exact)
				}
			}
		})
	}
}

// randomDelays is a walk of queueing delays up to most, which returns to 0 often.
func randomDelays(n int, most unit.Time) []unit.Time {
	r := rand.New(rand.NewPCG(7, 7))
	delays, delay := make([]unit.Time, n), unit.Time(0)
	for i := range delays {
		delay = min(max(delay+unit.Time(r.Int64N(7)-3)*most/100, 0), most)
		delays[i] = delay
	}
	return delays
}

// TestLinkDelayOffset checks that the queueing delay does not depend on the offset, also where the stamps of 48 bits
// wrap, or differ by 39 hours.
func TestLinkDelayOffset(t *testing.T) {
	delays := randomDelays(5000, 100*unit.Microsecond)
	measure := func(offset unit.Time) (measured []unit.Time) {
		l, clock := NewLinkDelay(3), telemetry.Clock{Offset: offset}
		for i, d := range delays {
			sent := 5*unit.Second + unit.Time(i)*unit.Microsecond
			arrival := sent + unit.Microsecond + d
			measured = append(measured, l.Measure(arrival, 1, stampOf(sent), stampOf(clock.Read(arrival))))
		}
		return measured
	}
	want := measure(0)
	for i := range want { // once the walk has been at 0
		if i > 1000 && (want[i] > delays[i] || want[i] < delays[i]-unit.Microsecond) {
			t.Fatalf("packet %d with %v is measured to have %v", i, delays[i], want[i])
		}
	}
	for _, offset := range []unit.Time{unit.Second, -unit.Second, 3 * unit.Microsecond, -70 * unit.Millisecond,
		-5 * unit.Second, 39 * 3600 * unit.Second, 40 * 3600 * unit.Second, -40 * 3600 * unit.Second,
		(1<<47 - 50_000) * unit.Nanosecond} {
		t.Run(fmt.Sprint("offset ", offset), func(t *testing.T) {
			if got := measure(offset); !slices.Equal(got, want) {
				t.Errorf("the delays differ from an exact clock's")
			}
		})
	}
}

// TestClockDrift checks that clocks that drift apart by up to 200 ppm change a queueing delay by the drift, and 244
// ppm, since the last packet without queueing: here 5 % of Δ. The minimum of the delays therefore stays near 0 for a
// minute, and no port changes its group for it.
func TestClockDrift(t *testing.T) {
	const delta = 13 * unit.Microsecond
	for _, drift := range []float64{-200, -100, -20, 0, 20, 100, 200} {
		for _, offset := range []unit.Time{0, -10 * unit.Millisecond} {
			t.Run(fmt.Sprintf("%g ppm, %v", drift, offset), func(t *testing.T) {
				l, clock := NewLinkDelay(1), telemetry.Clock{Offset: offset, Drift: drift}
				g := NewGradient([]int64{int64(delta)})
				worst, events := unit.Time(0), 0
				delays := randomDelays(100_000, delta*9/10)
				for i, d := range delays {
					sent := unit.Time(i) * 600 * unit.Microsecond // 0.6 ms: a walk takes 60 ms and more
					d = d * unit.Time(i%3) / 2                    // each third packet does not queue
					arrival := sent + unit.Microsecond + d
					got := l.Measure(arrival, 0, stampOf(sent), stampOf(clock.Read(arrival)))
					worst = max(worst, got-d, d-got)
					if g.Observe(0, int64(got)) != Unchanged {
						events++
					}
				}
				if worst > delta/15 || events > 0 {
					t.Errorf("off by %v at most, %d events", worst, events)
				}
			})
		}
	}
}

// TestLinkDelayAges checks that a standing queue is seen for a long time: after 10 ms a delay of 30 us has lost 2.4 us
// of itself. A lower minimum, as of a shorter path after a repair, applies at once, and a higher one later. A queue
// that stands for seconds is lost after d/244 ppm, 0.5 s for 122 us, and is then the minimum of further queueing.
func TestLinkDelayAges(t *testing.T) {
	const us = unit.Microsecond
	l := NewLinkDelay(1)
	measure := func(now, delay unit.Time) unit.Time { return l.Measure(now, 0, stampOf(now-delay), stampOf(now)) }
	for _, x := range []struct{ now, delay, want unit.Time }{
		{1000 * us, 5 * us, 0}, {1001 * us, 35 * us, 30 * us}, {11_000 * us, 35 * us, 27_559 * unit.Nanosecond},
		{11_001 * us, 2 * us, 0}, {11_002 * us, 5 * us, 3 * us}, {51_000 * us, 9 * us, 0}, {51_001 * us, 10 * us, us},
	} {
		if got := measure(x.now, x.delay); got < x.want-2*unit.Nanosecond || got > x.want+2*unit.Nanosecond {
			t.Errorf("at %v, %v is measured as %v, want %v", x.now, x.delay, got, x.want)
		}
	}
	const d, lifetime = 122 * us, 122 * us << driftShift
	l = NewLinkDelay(1)
	measure(0, 5*us)
	forgotten := unit.Time(0)
	for now := unit.Millisecond; now < 5*unit.Second; now += unit.Millisecond {
		switch got := measure(now, 5*us+d); {
		case forgotten == 0 && got == 0:
			forgotten = now
		case forgotten > 0 && got != 0:
			t.Fatalf("at %v the queue that stands is measured as %v", now, got)
		}
	}
	if forgotten < lifetime-unit.Millisecond || forgotten > lifetime+unit.Millisecond {
		t.Errorf("a queue of %v is 0 after %v, want %v", d, forgotten, lifetime)
	}
	if got := measure(5*unit.Second, 5*us+d+30*us); got < 29*us || got > 30*us {
		t.Errorf("30 us more are measured as %v", got)
	}
	if got := measure(5*unit.Second+us, 5*us); got != 0 {
		t.Errorf("without a queue the delay is %v", got)
	}
	if got := measure(5*unit.Second+2*us, 5*us+d); got < d-2*unit.Nanosecond || got > d {
		t.Errorf("after a packet without a queue %v is measured as %v", d, got)
	}
	var other packet.PortID = 1 // of each port its own
	l = NewLinkDelay(2)
	measure(0, 50*us)
	if got := l.Measure(us, other, 0, 9000); got != 0 || l.ports[0].difference == l.ports[1].difference {
		t.Errorf("another port's first packet has %v", got)
	}
}
