package plan_test

import (
	"fmt"
	"net/netip"

	"weir/core/dataplane"
	"weir/core/dataplane/plan"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// A switch of two ports, whose user 10.0.0.1 has bought 10 Mb/s.
func Example() {
	book := packet.NewBook()
	book.Add(netip.MustParseAddr("10.0.0.1"), netip.Addr{})
	c := scheme.Defaults[plan.Config]()
	c.Rates = append(c.Rates, scheme.Pair[netip.Prefix, unit.Rate]{Key: netip.MustParsePrefix("10.0.0.1/32"),
		Value: 10 * unit.Mbps})
	p, err := plan.New(&dataplane.Site{Ports: 2, Book: book, MaxFrame: 1514}, c)
	fmt.Println(p.Name(), err)
	// Output: plan <nil>
}
