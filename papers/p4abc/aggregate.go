package p4abc

import (
	"fmt"
	"net/netip"
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Aggregate is a group of users metered together: a prefix of source addresses, and its reference rate
// R_r.
type Aggregate = scheme.Pair[netip.Prefix, unit.Rate]

// prefixOf parses an address or a prefix.
func prefixOf(s string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(s); err == nil {
		return prefix, nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("aggregate %q is neither an address nor a prefix", s)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// aggregates are the activity meters, and what finds that of a packet.
type aggregates struct {
	book     *packet.Book
	of       [2][]int32 // by family (IPv4, IPv6) and source address: its meter; −1: not looked up yet
	own      []int32    // by source address: the meter of a source that is in no prefix; −1: none yet
	prefixes *dataplane.LPM[int32]
	common   int32 // the meter of all sources without one of their own, −1: each gets its own
	meters   []activityMeter

	reference unit.Rate // of sources without an aggregate
	places    int       // for the flows of each
}

// activityMeter is the state of one aggregate, and what it is measured by.
type activityMeter struct {
	Meter
	reference unit.Rate
	flows     *flowShares // nil: all flows are one
}

// newAggregates makes the meters of a configuration.
func newAggregates(book *packet.Book, c *Config) (aggregates, error) {
	g := aggregates{book: book, common: -1, prefixes: dataplane.NewLPM[int32](len(c.Aggregates) + 1),
		own: make([]int32, book.Len()), reference: c.Reference, places: c.Flows}
	for i := range g.own {
		g.own[i] = -1
	}
	g.of = [2][]int32{slices.Clone(g.own), slices.Clone(g.own)}
	for _, x := range c.Aggregates {
		if err := g.prefixes.Insert(x.Key, g.add(x.Value)); err != nil {
			return g, err
		}
	}
	if c.Shared {
		g.common = g.add(c.Reference)
	}
	return g, nil
}

// add makes a meter.
func (g *aggregates) add(reference unit.Rate) int32 {
	g.meters = append(g.meters, activityMeter{NewMeter(0), reference, newFlowShares(g.places)})
	return int32(len(g.meters) - 1)
}

// find returns the meter of a packet's source: that of the longest prefix with its address; otherwise the
// common one or, over both families, the source's own.
func (g *aggregates) find(p *packet.Packet) *activityMeter {
	family, address := 0, netip.Addr{}
	if p.Version == 6 {
		family = 1
	}
	x := &g.of[family][p.Src]
	if *x >= 0 {
		return &g.meters[*x]
	}
	if family == 1 {
		address = g.book.V6(p.Src)
	} else {
		address = g.book.V4(p.Src)
	}
	found, ok := g.prefixes.Lookup(address)
	switch {
	case ok:
		*x = found
	case g.common >= 0:
		*x = g.common
	default:
		if g.own[p.Src] < 0 { // a user of its own (§5.2: exact match on the source address)
			g.own[p.Src] = g.add(g.reference)
		}
		*x = g.own[p.Src]
	}
	return &g.meters[*x]
}

// Names returns the prefixes of the aggregates.
func (c *Config) Names() (all []netip.Prefix) {
	for _, g := range c.Aggregates {
		all = append(all, g.Key)
	}
	return all
}
