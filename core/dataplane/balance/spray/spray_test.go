package spray

import (
	"fmt"
	"net/netip"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// site has one path to address 1, and the given number to addresses 2 and 3.
func site(paths int) *dataplane.Site {
	b := packet.NewBook()
	for i := range 3 {
		b.Add(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1)))
	}
	var ports []packet.PortID
	for i := range paths {
		ports = append(ports, packet.PortID(10+i))
	}
	routes, err := dataplane.NewRoutes(b, []dataplane.Route{
		{Prefix: netip.MustParsePrefix("10.0.0.1/32"), Ports: []packet.PortID{7}},
		{Prefix: netip.MustParsePrefix("10.0.0.2/31"), Ports: ports},
		{Prefix: netip.MustParsePrefix("fd00::2/127"), Ports: ports},
	})
	if err != nil {
		panic(err)
	}
	return &dataplane.Site{Switch: "s", Book: b, Routes: routes, Random: func(entity string) unit.Random {
		return unit.NewRandom(1, entity)
	}}
}

func out(s *Program, dst packet.Addr, version uint8) packet.PortID {
	p := &packet.Packet{Src: 1, Dst: dst, HopLimit: 5, Version: version, Hash: 77}
	s.Ingress(nil, p)
	return p.Meta.Out
}

// TestProgram_SpreadsPacketsEvenly checks NDP §3.1.1: each of n paths carries every n-th packet, for any order of flows
// and destinations. Permutations differ, round robin does not. Random is even in the long run: χ² of 20,000 packets is
// below its 99.9 % quantile.
func TestProgram_SpreadsPacketsEvenly(t *testing.T) {
	quantile := map[int]float64{2: 10.83, 3: 13.82, 4: 16.27, 16: 37.70}
	for paths, limit := range quantile {
		t.Run(fmt.Sprint(paths, " paths"), func(t *testing.T) {
			for _, order := range []string{Permutation, RoundRobin, Random} {
				s := New(site(paths), order)
				total := make([]float64, paths)
				orders := map[string]bool{}
				const rounds = 1000
				for range rounds {
					seen, round := make([]bool, paths), ""
					for i := range paths {
						port := out(s, packet.Addr(2+i%2), 4)
						if order != Random && seen[port-10] {
							t.Fatalf("%s of %d: port %d twice in a round", order, paths, port)
						}
						seen[port-10] = true
						total[port-10]++
						round += fmt.Sprint(port, " ")
					}
					orders[round] = true
				}
				chi := 0.0
				for _, n := range total {
					chi += (n - rounds) * (n - rounds) / rounds
				}
				if chi > limit || order != Random && chi > 0 {
					t.Errorf("%s of %d paths: χ² %.1f, %v", order, paths, chi, total)
				}
				if n := len(orders); order == RoundRobin && n != 1 || order == Permutation &&
					(paths < 5 && n != []int{0, 1, 2, 6, 24}[paths] || paths > 5 && n < 990) {
					t.Errorf("%s of %d paths: %d different rounds", order, paths, n)
				}
			}
		})
	}
}

// TestHopLimitAndRoutes checks that IP versions have separate turns. Hop limit and routes are as with ecmp.
func TestHopLimitAndRoutes(t *testing.T) {
	s := New(site(3), RoundRobin)
	first := out(s, 2, 4)
	out(s, 2, 6)
	if next := out(s, 3, 4); next != (first-10+1)%3+10 {
		t.Errorf("after port %d comes %d", first, next)
	}
	for _, c := range []struct {
		p    packet.Packet
		want dataplane.Verdict
	}{
		{packet.Packet{Dst: 1, Version: 4, HopLimit: 2}, dataplane.Accept},
		{packet.Packet{Dst: 2, Version: 6, HopLimit: 2}, dataplane.Accept},
		{packet.Packet{Dst: 1, Version: 4, HopLimit: 1}, dataplane.Drop(dataplane.HopLimitExceeded)},
		{packet.Packet{Dst: 1, Version: 6, HopLimit: 9}, dataplane.Drop(dataplane.NoRoute)},
		{packet.Packet{Dst: 77, Version: 4, HopLimit: 9}, dataplane.Drop(dataplane.NoRoute)},
	} {
		t.Run(fmt.Sprintf("to %d over IPv%d, hop limit %d", c.p.Dst, c.p.Version, c.p.HopLimit), func(t *testing.T) {
			if got := s.Ingress(nil, &c.p); got != c.want {
				t.Errorf("%+v: %v, want %v", c.p, got, c.want)
			}
		})
	}
}

func TestScheme_DefaultsToPermutation(t *testing.T) {
	if scheme.Validate(&config{Order: "lowest"}) == nil {
		t.Error("an unknown order is taken")
	}
	p, err := dataplanetest.BuildProgram(Scheme(), site(2))
	if err != nil || p.(*Program).order != Permutation {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestNoAllocation(t *testing.T) {
	for _, order := range []string{Permutation, RoundRobin, Random} {
		t.Run(order, func(t *testing.T) {
			s := New(site(4), order)
			p := &packet.Packet{Dst: 2, Version: 4}
			if a := testing.AllocsPerRun(1000, func() {
				p.HopLimit = 9
				s.Ingress(nil, p)
			}); a != 0 {
				t.Errorf("%s: %g allocations", order, a)
			}
		})
	}
}

func ExampleNew() {
	s := New(site(3), RoundRobin)
	a, b, c, d := out(s, 2, 4), out(s, 2, 4), out(s, 3, 4), out(s, 2, 4)
	fmt.Println(a != b && b != c && a != c && a == d)
	// Output: true
}
