package dataplane

import (
	"fmt"
	"net/netip"

	"weir/core/packet"
)

// A Route lists the ports that lead to a prefix on shortest paths.
type Route struct {
	Prefix netip.Prefix
	Ports  []packet.PortID // ascending; empty: no port leads there
}

// Routes are the switch's initial routes, looked up for every address of the book. They never change, and switches
// and runs share them. A program with a table that a control plane may write fills its own table (Rules).
type Routes struct {
	book  *packet.Book
	paths [2]*packet.Paths
	rules []Route // nil: one for each address of paths
}

// HostRoutes returns the routes to single addresses, the same over IPv4 and IPv6.
func HostRoutes(book *packet.Book, p *packet.Paths) *Routes {
	return &Routes{book: book, paths: [2]*packet.Paths{p, p}}
}

// NewRoutes returns the routes of a list of rules. The longest prefix wins, of equal prefixes the last one. It fails if
// a prefix is invalid. Addresses that the book gets later have no route. The list is copied, the ports of a rule are
// shared.
func NewRoutes(book *packet.Book, rules []Route) (*Routes, error) {
	r := &Routes{book: book, rules: append(make([]Route, 0, len(rules)), rules...)}
	table := NewLPM[uint32](len(rules))
	sets, via := [][]packet.PortID{nil}, []uint32{0}
	for i := range rules {
		if err := table.Insert(rules[i].Prefix, uint32(i+1)); err != nil {
			return nil, fmt.Errorf("route %d: %w", i, err)
		}
		sets, via = append(sets, rules[i].Ports), append(via, uint32(i+1))
	}
	for i, address := range []func(packet.Addr) netip.Addr{book.V4, book.V6} {
		class := make([]uint32, book.Len())
		for a := range class {
			class[a], _ = table.Lookup(address(packet.Addr(a)))
		}
		r.paths[i] = &packet.Paths{Class: class, Via: via, Sets: sets}
	}
	return r, nil
}

// Paths returns the paths to the addresses of an IP version. The caller keeps them and looks them up per packet. Any
// version other than 6 is IPv4. A nil Routes has no paths.
func (r *Routes) Paths(version uint8) *packet.Paths {
	switch {
	case r == nil:
		return &packet.Paths{}
	case version == 6:
		return r.paths[1]
	}
	return r.paths[0]
}

// Rules returns a new copy of the routes as a list, to fill a table with. Destinations without ports are missing if the
// routes were not made from rules. Ports are shared. A nil Routes returns nil.
func (r *Routes) Rules() []Route {
	switch {
	case r == nil:
		return nil
	case r.rules != nil:
		return append([]Route(nil), r.rules...)
	}
	var rules []Route
	for i, address := range []func(packet.Addr) netip.Addr{r.book.V4, r.book.V6} {
		for a := range packet.Addr(r.book.Len()) {
			x := address(a)
			if ports := r.paths[i].PortsTo(a); len(ports) > 0 && x.IsValid() {
				rules = append(rules, Route{netip.PrefixFrom(x, x.BitLen()), ports})
			}
		}
	}
	return rules
}
