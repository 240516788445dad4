// Package forward is plain IP forwarding: longest prefix match on the destination, hop limit (P4-ABC §4.2). Of
// several shortest paths it takes the one through the lowest port; package ecmp spreads.
package forward

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
)

// Program forwards.
type Program struct {
	routes *dataplane.Routes
	paths  [2]*packet.Paths // by IP version
	book   *packet.Book

	table   *dataplane.LPM[packet.PortID] // replaces paths once a control plane has requested it
	version uint32
	cache   [2][]packet.PortID // by IP version and destination; unknown where not looked up yet
}

// unknown marks destinations that are not in the cache.
const unknown = packet.NoPort - 1

// Scheme returns the scheme of switch: [forward].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "forward", Doc: "IP forwarding by longest prefix; uses the lowest " +
		"port of equal-cost paths; decrements the hop limit", Source: "RFC 1812 §5.2, P4-ABC §4.2"},
		func(site *dataplane.Site, _ config) (*Program, error) { return New(site), nil })
}

// config is the configuration, without parameters.
type config struct{ scheme.None }

// Traits returns that the program chooses the egress port.
func (*config) Traits() dataplane.Traits { return dataplane.Traits{Forwards: true} }

// New returns the program with the site's routes.
func New(site *dataplane.Site) *Program {
	return &Program{routes: site.Routes, book: site.Book, paths: [2]*packet.Paths{site.Routes.Paths(4),
		site.Routes.Paths(6)}}
}

// Name returns "forward".
func (f *Program) Name() string { return "forward" }

// changeableRoutes returns the table for changes by a control plane. The first call creates it; until then all switches
// of a network share one lookup table. It holds the site's routes, each with its first port, and at least 1024 routes
// fit.
func (f *Program) changeableRoutes() *dataplane.LPM[packet.PortID] {
	if f.table != nil {
		return f.table
	}
	rules := f.routes.Rules()
	f.table = dataplane.NewLPM[packet.PortID](max(len(rules), 1024))
	for _, r := range rules {
		out := packet.NoPort
		if len(r.Ports) > 0 {
			out = r.Ports[0]
		}
		_ = f.table.Insert(r.Prefix, out) // a site's prefixes are valid, and they fit
	}
	for i := range f.cache {
		f.cache[i] = make([]packet.PortID, f.book.Len())
	}
	f.clearCache()
	return f.table
}

// clearCache empties the cache, and records the table's version for which it is valid. The table must exist.
func (f *Program) clearCache() {
	for i := range f.cache {
		for a := range f.cache[i] {
			f.cache[i][a] = unknown
		}
	}
	f.version = f.table.Version()
}

// Ingress decrements the hop limit, drops the packet when that reaches 0, and sets Meta.Out to the first port of the
// destination's route. Without a route it drops the packet as NoRoute.
func (f *Program) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if !p.DecrementHopLimit() {
		return dataplane.Drop(dataplane.HopLimitExceeded)
	}
	family := 0
	if p.Version == 6 {
		family = 1
	}
	if f.table != nil {
		m.Out = f.lookUpPort(family, p.Dst)
	} else if ports := f.paths[family].PortsTo(p.Dst); len(ports) > 0 {
		m.Out = ports[0]
	} else {
		m.Out = packet.NoPort
	}
	if m.Out == packet.NoPort {
		return dataplane.Drop(dataplane.NoRoute)
	}
	return dataplane.Accept
}

// lookUpPort returns the port of a destination from the table, which must exist, through the cache; packet.NoPort: no
// route. family is 0 for IPv4, 1 for IPv6. An address that the book got after the table was created has no route.
func (f *Program) lookUpPort(family int, dst packet.Addr) packet.PortID {
	if f.version != f.table.Version() {
		f.clearCache()
	}
	if int(dst) >= len(f.cache[family]) {
		return packet.NoPort
	}
	out := f.cache[family][dst]
	if out != unknown {
		return out
	}
	a := f.book.V4(dst)
	if family == 1 {
		a = f.book.V6(dst)
	}
	out, ok := f.table.Lookup(a)
	if !ok {
		out = packet.NoPort
	}
	f.cache[family][dst] = out
	return out
}
