package p4te

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// TestGradient_MatchesFigure5 checks figure 5, a to d, with Δ = 10. At port 3 P1 finds 39 packets and P2 40, and the
// port's last event was at 30 (the minimum for which P2 is one and P1 is not); only P2 is an increase. At port 4 P3
// finds 30 and is a decline: by line 6 (<) the last event was above 40 there.
func TestGradient_MatchesFigure5(t *testing.T) {
	g := NewGradient([]int64{10, 10, 10, 10, 10})
	for v := int64(10); v <= 30; v += 10 {
		g.Observe(3, v)
	}
	for v := int64(10); v <= 40; v += 10 {
		g.Observe(4, v)
	}
	g.Observe(4, 41)
	for _, s := range []struct {
		port  packet.PortID
		depth int64
		want  Change
		old   int64
	}{
		{3, 39, Unchanged, 30}, {3, 40, Increase, 40},
		{4, 30, Unchanged, 40}, // 30 < 40 − 10 does not hold
		{4, 29, Decrease, 29}, {4, 20, Unchanged, 29}, {4, 39, Increase, 39},
	} {
		if got := g.Observe(s.port, s.depth); got != s.want || g.old[s.port] != s.old {
			t.Errorf("port %d sees %d: %v, old value %d; want %v, %d", s.port, s.depth, got, g.old[s.port], s.want, s.old)
		}
	}
}

// TestOneEventForDelta checks P4TE §6.1.1, "at most one feedback packet is generated for Δ packets", for a queue that
// grows or shrinks by one packet at a time.
func TestOneEventForDelta(t *testing.T) {
	for delta := int64(1); delta <= 20; delta++ {
		g := NewGradient([]int64{delta})
		r := rand.New(rand.NewPCG(1, uint64(delta)))
		depth, packets, last := int64(0), int64(0), int64(-1)
		for range 20000 {
			if depth += 2*r.Int64N(2) - 1; depth < 0 {
				depth = 0
			}
			packets++
			if g.Observe(0, depth) != Unchanged {
				if last >= 0 && packets-last < delta {
					t.Fatalf("delta %d: two events within %d packets", delta, packets-last)
				}
				last = packets
			}
		}
	}
}

// TestFirstEventOfOffset checks that from the paper's initial 0 an offset costs at most one event: the first.
func TestFirstEventOfOffset(t *testing.T) {
	g := NewGradient([]int64{1000})
	for i, want := range []Change{Increase, Unchanged, Unchanged, Increase, Decrease} {
		if got := g.Observe(0, []int64{50_000, 50_500, 49_500, 51_000, 49_999}[i]); got != want {
			t.Errorf("observation %d: %v, want %v", i, got, want)
		}
	}
}

// TestColours_ReportChangesOnce checks algorithm 1, lines 11 to 18, with 70 % and 90 % of P4TE §7.1: the colours of a
// constant load, and one event at a change, for any number of packets.
func TestColours_ReportChangesOnce(t *testing.T) {
	lines := []dataplane.Line{{Rate: unit.LinkRate{Bits: 100 * unit.Mbps}}}
	for _, x := range []struct {
		load  float64
		worst dataplane.Colour
	}{{0.60, dataplane.Green}, {0.69, dataplane.Green}, {0.80, dataplane.Yellow}, {0.89, dataplane.Yellow},
		{1, dataplane.Red}} {
		t.Run(fmt.Sprint("load ", x.load), func(t *testing.T) {
			c := NewColours(lines, 0.7, 0.9, 10*unit.Millisecond, 1514)
			worst := dataplane.Green
			gap := unit.TransmitTime(unit.Bytes(1514), unit.Rate(x.load*float64(100*unit.Mbps)))
			for now := unit.Time(0); now < 2*unit.Second; now += gap {
				colour, _ := c.Observe(now, 0, 1514)
				worst = max(worst, colour)
			}
			if worst != x.worst {
				t.Errorf("a load of %g: the worst colour is %v, want %v", x.load, worst, x.worst)
			}
		})
	}
	// By §6.1.3 burst sizes trigger one event for a burst. This holds as long as there are tokens of the burst: 87.5 kB at
	// 70 Mb/s, which a line at 100 Mb/s drains by 30 Mb/s, in 23 ms or 193 packets. A load that stays above a rate
	// differs: when tokens for a packet are back, the colour is, too. That is an event, and the next packet causes
	// another.
	c := NewColours(lines, 0.7, 0.9, 10*unit.Millisecond, 1514)
	first, events := 0, 0
	for i := range 2000 { // line rate
		if _, change := c.Observe(unit.Time(i)*121120*unit.Nanosecond, 0, 1514); change != Unchanged {
			if events++; events == 1 {
				first = i
			}
		}
	}
	if first < 188 || first > 198 || events < 400 {
		t.Errorf("the first event is packet %d, want about 193; %d events of 2000 packets at line rate, want hundreds",
			first, events)
	}
	t.Logf("%d events for 2000 packets at line rate", events)
}

// TestFeedbackIsNotMetered checks that feedback packets are not metered (P4TE §6.1.3 meters traffic). After a thousand
// at one instant a port is green, after data it is red.
func TestFeedbackIsNotMetered(t *testing.T) {
	for name, kind := range map[string]packet.Kind{"feedback": packet.Probe, "data": packet.Data} {
		t.Run(name, func(t *testing.T) {
			p, site := paperSwitch(t, 8, 1, "burst", "1us")
			var ports []*tm.Port
			for _, l := range site.Lines {
				ports = append(ports, tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(), l.Rate))
			}
			var pool packet.Pool
			sw, err := dataplane.New(dataplane.Config{Name: "s", Ports: ports, Programs: []dataplane.Program{p}, Pool: &pool,
				Book: site.Book, Random: unit.NewRandom(1, "s")})
			if err != nil {
				t.Fatal(err)
			}
			sent := 0
			for i := range 1000 {
				x := pool.Get()
				x.Kind, x.Version, x.Proto, x.HopLimit, x.Size, x.Payload = kind, 6, packet.ProtoTCP, 64, 1514, 1440
				x.Src, x.Dst, x.SrcPort, x.DstPort, x.TOS = 1, 8, 1, uint16(i), 0x10
				x.Hash = packet.FlowHash(x.Src, x.Dst, x.SrcPort, x.DstPort, x.Proto)
				sw.Receive(0, 0, x)
				for _, up := range p.place.Up {
					if gone, _ := sw.Dequeue(0, up); gone != nil {
						sent++
						pool.Put(gone)
					}
				}
			}
			worst := dataplane.Green
			for _, up := range p.place.Up {
				worst = max(worst, p.colours.Colour(up))
			}
			if red := worst == dataplane.Red; sent < 1000 || red != (kind == packet.Data) {
				t.Errorf("%d packets have left upward, the worst colour is %v", sent, worst)
			}
		})
	}
}

// TestPacketRates checks rates in packets/s, as for the paper's links: 20 packets/s, 14 of them green.
func TestPacketRates(t *testing.T) {
	c := NewColours([]dataplane.Line{{Rate: unit.LinkRate{Packets: 20}}}, 0.7, 0.9, 100*unit.Millisecond, 1514)
	green := 0
	for i := range 2000 {
		if colour, _ := c.Observe(unit.Time(i)*50*unit.Millisecond, 0, 1000); colour == dataplane.Green {
			green++
		}
	}
	if green < 1350 || green > 1450 {
		t.Errorf("%d of 2000 packets at 20/s are green, want about 1400", green)
	}
}

// TestSafeRates checks P4TE §6.1.4 and §7.1: 65 % of a port for short flows, 35 % for large ones. Each class has a
// separate meter at each port.
func TestSafeRates(t *testing.T) {
	lines := []dataplane.Line{{Rate: unit.LinkRate{Bits: 100 * unit.Mbps}}, {Rate: unit.LinkRate{Bits: 100 * unit.Mbps}}}
	for _, x := range []struct {
		class  Class
		load   float64
		yellow bool
	}{{LowDelay, .6, false}, {LowDelay, .7, true}, {HighThroughput, .3, false}, {HighThroughput, .4, true},
		{Other, 1, false}} {
		t.Run(fmt.Sprintf("%v at %g", x.class, x.load), func(t *testing.T) {
			s := NewSafeRates(lines, [ClassCount]float64{LowDelay: .65, HighThroughput: .35}, 0, 10*unit.Millisecond,
				1514)
			yellow := 0
			gap := unit.TransmitTime(unit.Bytes(1514), unit.Rate(x.load*float64(100*unit.Mbps)))
			for now := unit.Time(0); now < unit.Second; now += gap {
				if s.Observe(now, packet.PortID(len(lines)-1), x.class, 1514) == dataplane.Yellow {
					yellow++
				}
			}
			if (yellow > 0) != x.yellow {
				t.Errorf("%d packets are yellow", yellow)
			}
		})
	}
}
