package forward

import (
	"fmt"
	"net/netip"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
)

func site() *dataplane.Site {
	b := packet.NewBook()
	for i := range 4 {
		b.Add(netip.AddrFrom4([4]byte{10, 0, byte(i), 1}), netip.MustParseAddr(fmt.Sprintf("fd00:%d::1", i)))
	}
	routes, err := dataplane.NewRoutes(b, []dataplane.Route{
		{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Ports: []packet.PortID{3, 2}},
		{Prefix: netip.MustParsePrefix("10.0.1.0/24"), Ports: []packet.PortID{1}},
		{Prefix: netip.MustParsePrefix("fd00:2::/32"), Ports: []packet.PortID{2}},
	})
	if err != nil {
		panic(err)
	}
	return &dataplane.Site{Switch: "s", Ports: 4, Book: b, Routes: routes}
}

// TestProgram_RoutesByLongestPrefix checks that the longest prefix wins, with the first port of several, separately for
// IPv4 and IPv6. A packet without a route is dropped; RFC 1812 §5.3.1: hop limit.
func TestProgram_RoutesByLongestPrefix(t *testing.T) {
	p, err := Scheme().Build(site(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := p.(*Program)
	one := func(dst packet.Addr, version, hops uint8) (dataplane.Verdict, packet.PortID, uint8) {
		p := &packet.Packet{Dst: dst, Version: version, HopLimit: hops}
		v := f.Ingress(nil, p)
		return v, p.Meta.Out, p.HopLimit
	}
	noRoute, exceeded := dataplane.Drop(dataplane.NoRoute), dataplane.Drop(dataplane.HopLimitExceeded)
	for i, stage := range []string{"without a table", "with one", "from its cache"} {
		if i == 1 {
			f.changeableRoutes()
		}
		for _, c := range []struct {
			dst           packet.Addr
			version, hops uint8
			verdict       dataplane.Verdict
			out           packet.PortID
			left          uint8
		}{
			{1, 4, 64, dataplane.Accept, 3, 63}, {2, 4, 2, dataplane.Accept, 1, 1}, {3, 6, 64, dataplane.Accept, 2, 63},
			{1, 6, 64, noRoute, packet.NoPort, 63}, {0, 4, 64, noRoute, packet.NoPort, 63}, {99, 4, 64, noRoute, 0, 63},
			{1, 4, 1, exceeded, 0, 0}, {1, 4, 0, exceeded, 0, 0},
		} {
			t.Run(fmt.Sprintf("%s, to %d over IPv%d with hop limit %d", stage, c.dst, c.version, c.hops), func(t *testing.T) {
				v, out, left := one(c.dst, c.version, c.hops)
				if v != c.verdict || v != noRoute && out != c.out || left != c.left {
					t.Errorf("%v, port %d, %d left", v, out, left)
				}
			})
		}
	}
	// a control plane changes the table: caches forget
	if err := f.changeableRoutes().Insert(netip.MustParsePrefix("10.0.0.1/32"), 0); err != nil {
		t.Fatal(err)
	}
	if _, out, _ := one(1, 4, 9); out != 0 {
		t.Errorf("after a change of the table the packet leaves by port %d", out)
	}
	f.changeableRoutes().Delete(netip.MustParsePrefix("10.0.0.0/8"))
	if v, _, _ := one(4, 4, 9); v != noRoute {
		t.Error("a deleted route is used")
	}
	pkt := &packet.Packet{Dst: 2, Version: 4}
	if n := testing.AllocsPerRun(100, func() { pkt.HopLimit = 9; f.Ingress(nil, pkt) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkForward(b *testing.B) {
	f := New(site())
	p := &packet.Packet{Dst: 2, Version: 4}
	for b.Loop() {
		p.HopLimit = 9
		f.Ingress(nil, p)
	}
}

func ExampleNew() {
	f := New(site())
	p := &packet.Packet{Dst: 2, Version: 4, HopLimit: 64}
	f.Ingress(nil, p)
	fmt.Println("port", p.Meta.Out, "hop limit", p.HopLimit)
	// Output: port 1 hop limit 63
}
