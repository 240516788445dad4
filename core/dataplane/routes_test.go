package dataplane

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"weir/core/packet"
)

// addresses is a book of n addresses of either family; a fifth has only one of the two.
func addresses(n int) *packet.Book {
	b := packet.NewBook()
	for i := range n {
		v4, v6 := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), netip.AddrFrom16([16]byte{0: 0xfd, 14: byte(i >> 8),
			15: byte(i)})
		switch i % 10 {
		case 3:
			v4 = netip.Addr{}
		case 7:
			v6 = netip.Addr{}
		}
		b.Add(v4, v6)
	}
	return b
}

// TestRoutesAreThoseOfTheTable compares Routes with a table of the same rules: the longest prefix wins, and of equal
// ones the last.
func TestRoutesAreThoseOfTheTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	book := addresses(300)
	for range 100 {
		var rules []Route
		table := NewLPM[[]packet.PortID](1000)
		for range r.IntN(40) {
			a := packet.Addr(1 + r.IntN(300))
			x, bits := book.V4(a), 16+r.IntN(17)
			if !x.IsValid() || r.IntN(2) == 0 && book.V6(a).IsValid() {
				x, bits = book.V6(a), 112+r.IntN(17)
			}
			rule := Route{Prefix: netip.PrefixFrom(x, bits)}
			for p := range packet.PortID(r.IntN(4)) {
				rule.Ports = append(rule.Ports, p*packet.PortID(1+r.IntN(9)))
			}
			rules = append(rules, rule)
			if err := table.Insert(rule.Prefix, rule.Ports); err != nil {
				t.Fatal(err)
			}
		}
		routes, err := NewRoutes(book, rules)
		if err != nil {
			t.Fatal(err)
		}
		if got := routes.Rules(); len(got)+len(rules) > 0 && !reflect.DeepEqual(got, rules) {
			t.Fatalf("the rules are %v, want %v", got, rules)
		}
		for a := range packet.Addr(book.Len() + 2) {
			var want [2][]packet.PortID
			if int(a) < book.Len() {
				want[0], _ = table.Lookup(book.V4(a))
				want[1], _ = table.Lookup(book.V6(a))
			}
			if v4, v6 := routes.Paths(4).PortsTo(a), routes.Paths(6).PortsTo(a); !slices.Equal(v4, want[0]) || !slices.Equal(v6,
				want[1]) {
				t.Fatalf("to address %d by %v and %v, want %v, rules %v", a, v4, v6, want, rules)
			}
		}
	}
}

// TestHostRoutes checks that the rules of routes to hosts make the same routes.
func TestHostRoutes(t *testing.T) {
	book := addresses(4) // the fourth over IPv6 only
	paths := &packet.Paths{Class: []uint32{0, 1, 1, 2, 2}, Via: []uint32{0, 1, 0}, Sets: [][]packet.PortID{nil, {4, 5}},
		OwnClass: 2,
		Port:     []packet.PortID{0, 0, 0, 8, 9}}
	routes := HostRoutes(book, paths)
	rules := routes.Rules()
	want := "[{10.0.0.0/32 [4 5]} {10.0.0.1/32 [4 5]} {10.0.0.2/32 [8]} {fd00::/128 [4 5]} {fd00::1/128 [4 5]} " +
		"{fd00::2/128 [8]} {fd00::3/128 [9]}]"
	if got := fmt.Sprint(rules); got != want {
		t.Errorf("rules\n%s, want\n%s", got, want)
	}
	again, err := NewRoutes(book, rules)
	if err != nil {
		t.Fatal(err)
	}
	for a := range packet.Addr(book.Len()) {
		if !slices.Equal(again.Paths(6).PortsTo(a), routes.Paths(6).PortsTo(a)) {
			t.Errorf("to address %d by %v, want %v", a, again.Paths(6).PortsTo(a), routes.Paths(6).PortsTo(a))
		}
	}
}

func TestNoRoutes(t *testing.T) {
	var none *Routes
	if len(none.Rules()) > 0 || len(none.Paths(4).PortsTo(1)) > 0 || len(none.Paths(6).PortsTo(0)) > 0 {
		t.Error("a switch without routes has some")
	}
	if _, err := NewRoutes(addresses(1), []Route{{}}); err == nil {
		t.Error("an invalid prefix is taken")
	}
}
