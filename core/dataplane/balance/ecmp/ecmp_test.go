package ecmp

import (
	"fmt"
	"net/netip"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
)

func site(paths int) *dataplane.Site {
	b := packet.NewBook()
	b.Add(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1"))
	b.Add(netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("fd00::2"))
	var ports []packet.PortID
	for i := range paths {
		ports = append(ports, packet.PortID(10+i))
	}
	routes, err := dataplane.NewRoutes(b, []dataplane.Route{
		{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Ports: []packet.PortID{7}},
		{Prefix: netip.MustParsePrefix("10.0.0.2/32"), Ports: ports},
		{Prefix: netip.MustParsePrefix("fd00::2/128"), Ports: ports},
	})
	if err != nil {
		panic(err)
	}
	return &dataplane.Site{Switch: "s", Book: b, Routes: routes}
}

func out(e *Program, flow int, version uint8) packet.PortID {
	p := &packet.Packet{Src: 1, Dst: 2, HopLimit: 5, Version: version, Hash: packet.FlowHash(1, 2, uint16(flow), 80,
		packet.ProtoTCP)}
	e.Ingress(nil, p)
	return p.Meta.Out
}

// TestProgram_SpreadsFlowsEvenly checks that flows spread evenly over the paths: χ² of 20,000 flows is below its 99.9 %
// quantile. Each flow keeps its path.
func TestProgram_SpreadsFlowsEvenly(t *testing.T) {
	quantile := map[int]float64{2: 10.83, 3: 13.82, 4: 16.27, 7: 22.46, 16: 37.70}
	for paths, limit := range quantile {
		t.Run(fmt.Sprint(paths, " paths"), func(t *testing.T) {
			for seed := range uint32(4) {
				e := New(site(paths), seed*0x9e3779b9+1)
				count := make([]float64, paths)
				const n = 20000
				for flow := range n {
					port := out(e, flow, 4)
					if port != out(e, flow, 4) || port != out(e, flow, 6) {
						t.Fatal("a flow changes its path")
					}
					count[port-10]++
				}
				chi := 0.0
				for _, c := range count {
					d := c - n/float64(paths)
					chi += d * d / (n / float64(paths))
				}
				if chi > limit {
					t.Errorf("%d paths, seed %d: χ² %.1f > %.1f, %v", paths, seed, chi, limit, count)
				}
			}
		})
	}
}

// TestNoPolarisation checks that there is no polarisation: the flows that one switch sends by one port spread over all
// ports of the next switch, which has another seed.
func TestNoPolarisation(t *testing.T) {
	first, second := New(site(4), 1), New(site(4), 2)
	count := [4]int{}
	n := 0
	for flow := range 60000 {
		if out(first, flow, 4) == 10 {
			count[out(second, flow, 4)-10]++
			n++
		}
	}
	for port, c := range count {
		if share := float64(c) / float64(n); share < 0.23 || share > 0.27 {
			t.Errorf("port %d of the second tier gets %.3f of the flows of one port of the first", port, share)
		}
	}
}

func TestHopLimitAndRoutes(t *testing.T) {
	e := New(site(4), 1)
	for _, c := range []struct {
		p    packet.Packet
		want dataplane.Verdict
	}{
		{packet.Packet{Dst: 1, Version: 4, HopLimit: 2}, dataplane.Accept},
		{packet.Packet{Dst: 1, Version: 4, HopLimit: 1}, dataplane.Drop(dataplane.HopLimitExceeded)},
		{packet.Packet{Dst: 1, Version: 6, HopLimit: 9}, dataplane.Drop(dataplane.NoRoute)},
		{packet.Packet{Dst: 0, Version: 4, HopLimit: 9}, dataplane.Drop(dataplane.NoRoute)},
		{packet.Packet{Dst: 77, Version: 4, HopLimit: 9}, dataplane.Drop(dataplane.NoRoute)},
	} {
		t.Run(fmt.Sprintf("to %d over IPv%d, hop limit %d", c.p.Dst, c.p.Version, c.p.HopLimit), func(t *testing.T) {
			if got := e.Ingress(nil, &c.p); got != c.want {
				t.Errorf("%+v: %v, want %v", c.p, got, c.want)
			}
		})
	}
	p := packet.Packet{Dst: 1, Version: 4, HopLimit: 2}
	if e.Ingress(nil, &p); p.Meta.Out != 7 || p.HopLimit != 1 {
		t.Errorf("port %d, hop limit %d", p.Meta.Out, p.HopLimit)
	}
}

func BenchmarkECMP(b *testing.B) {
	e := New(site(4), 1)
	p := &packet.Packet{Dst: 2, Version: 4}
	b.ReportAllocs()
	for b.Loop() {
		p.HopLimit = 9
		p.Hash++
		e.Ingress(nil, p)
	}
}

func ExampleNew() {
	e := New(site(4), 1)
	p := &packet.Packet{Dst: 1, Version: 4, HopLimit: 64}
	e.Ingress(nil, p)
	fmt.Println("port", p.Meta.Out)
	// Output: port 7
}
