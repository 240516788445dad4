package plan_test

import (
	"fmt"
	"net/netip"

	"weir/core/dataplane"
	"weir/core/dataplane/plan"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Example plans a switch of two ports with a user who has bought 10 Mb/s for both of its addresses together.
func Example() {
	book := packet.NewBook()
	book.Add(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1"))
	c := scheme.Defaults[plan.Config]()
	c.Rates = append(c.Rates, users.Aggregate{Key: "10.0.0.1 | fd00::1", Value: 10 * unit.Mbps})
	p, err := plan.New(&dataplane.Site{Ports: 2, Book: book, MaxFrame: 1514}, c)
	fmt.Println(p.Name(), err)
	// Output: plan <nil>
}
