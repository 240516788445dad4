// Package forward is plain IP forwarding: longest prefix match on the
// destination, hop limit (P4-ABC §4.2). Of several shortest paths it takes the
// one by the lowest port; package ecmp spreads.
package forward

import (
	"weir/dataplane"
	"weir/packet"
	"weir/scheme"
)

// Program forwards.
type Program struct {
	routes  *dataplane.LPM[packet.PortID]
	book    *packet.Book
	version uint32
	cache   [2][]packet.PortID // by IP version and destination; unknown where not looked up yet
}

// unknown marks destinations that the cache does not have.
const unknown = packet.NoPort - 1

// Scheme is what an experiment names: switch: [forward].
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "forward", Doc: "IP forwarding by longest prefix; hop limit; the lowest port of equal paths", Source: "RFC 1812 §5.2, P4-ABC §4.2"},
		Build: func(site *dataplane.Site, _ scheme.Values) (dataplane.Program, error) {
			return New(site)
		},
	}
}

// New returns the program with the site's routes.
func New(site *dataplane.Site) (*Program, error) {
	f := &Program{routes: dataplane.NewLPM[packet.PortID](max(len(site.Routes), 1024)), book: site.Book}
	for i := range f.cache {
		f.cache[i] = make([]packet.PortID, site.Book.Len())
	}
	for _, r := range site.Routes {
		if len(r.Ports) > 0 {
			if err := f.routes.Insert(r.Prefix, r.Ports[0]); err != nil {
				return nil, err
			}
		}
	}
	f.forget()
	return f, nil
}

// Name is "forward".
func (f *Program) Name() string { return "forward" }

// Routes is the table, to be changed by a control plane.
func (f *Program) Routes() *dataplane.LPM[packet.PortID] { return f.routes }

func (f *Program) forget() {
	for i := range f.cache {
		for a := range f.cache[i] {
			f.cache[i][a] = unknown
		}
	}
	f.version = f.routes.Version()
}

// Ingress decrements the hop limit, drops the packet when that reaches 0, and
// looks the destination up.
func (f *Program) Ingress(_ *dataplane.Env, p *packet.Packet, m *dataplane.Metadata) dataplane.Verdict {
	if !p.TakeHop() {
		return dataplane.Drop(dataplane.HopLimitExceeded)
	}
	if f.version != f.routes.Version() {
		f.forget()
	}
	family := 0
	if p.Version == 6 {
		family = 1
	}
	cache := f.cache[family]
	if int(p.Dst) >= len(cache) {
		return dataplane.Drop(dataplane.NoRoute)
	}
	out := cache[p.Dst]
	if out == unknown {
		out = f.look(family, p.Dst)
	}
	if m.Out = out; out == packet.NoPort {
		return dataplane.Drop(dataplane.NoRoute)
	}
	return dataplane.Accept
}

// look fills the cache.
func (f *Program) look(family int, dst packet.Addr) packet.PortID {
	a := f.book.V4(dst)
	if family == 1 {
		a = f.book.V6(dst)
	}
	out, ok := f.routes.Lookup(a)
	if !ok {
		out = packet.NoPort
	}
	f.cache[family][dst] = out
	return out
}
