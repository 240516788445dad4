// Package ecmp is equal-cost multipath: of all shortest paths to a destination a
// packet takes the one that its flow's hash says, so a flow stays on its path.
// Each switch mixes a seed of its own into the hash: with one hash everywhere the
// switches of the next tier would see only flows whose hashes agree, and use one
// path (polarisation).
package ecmp

import (
	"fmt"

	"weir/dataplane"
	"weir/packet"
	"weir/scheme"
)

// Program spreads flows over equal paths.
type Program struct {
	first [2][]uint32 // by IP version and destination: index into ports
	count [2][]uint16 // how many paths; 0: no route
	ports []packet.PortID
	seed  uint32
}

// Scheme is what an experiment names: switch: [ecmp].
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "ecmp", Doc: "equal-cost multipath by the flow's hash; hop limit", Source: "RFC 2992; seed a switch as the HPCC simulator"},
		Build: func(site *dataplane.Site, _ scheme.Values) (dataplane.Program, error) {
			return New(site, uint32(site.Random("ecmp").Uint64()))
		},
	}
}

// New returns the program with the site's routes and a seed.
func New(site *dataplane.Site, seed uint32) (*Program, error) {
	table := dataplane.NewLPM[[]packet.PortID](max(len(site.Routes), 1))
	for _, r := range site.Routes {
		if len(r.Ports) > 1<<15 {
			return nil, fmt.Errorf("ecmp: %d paths to %v; at most %d are possible", len(r.Ports), r.Prefix, 1<<15)
		}
		if err := table.Insert(r.Prefix, r.Ports); err != nil {
			return nil, err
		}
	}
	e := &Program{seed: seed}
	for family := range e.first {
		for a := range site.Book.Len() {
			address := site.Book.V4(packet.Addr(a))
			if family == 1 {
				address = site.Book.V6(packet.Addr(a))
			}
			ports, _ := table.Lookup(address)
			e.first[family] = append(e.first[family], uint32(len(e.ports)))
			e.count[family] = append(e.count[family], uint16(len(ports)))
			e.ports = append(e.ports, ports...)
		}
	}
	return e, nil
}

// Name is "ecmp".
func (e *Program) Name() string { return "ecmp" }

// Ingress decrements the hop limit, drops the packet when that reaches 0, and
// chooses among the destination's paths.
func (e *Program) Ingress(_ *dataplane.Env, p *packet.Packet, m *dataplane.Metadata) dataplane.Verdict {
	if !p.TakeHop() {
		return dataplane.Drop(dataplane.HopLimitExceeded)
	}
	family := 0
	if p.Version == 6 {
		family = 1
	}
	if int(p.Dst) >= len(e.count[family]) {
		return dataplane.Drop(dataplane.NoRoute)
	}
	n := uint64(e.count[family][p.Dst])
	if n == 0 {
		return dataplane.Drop(dataplane.NoRoute)
	}
	first := e.first[family][p.Dst]
	if n > 1 {
		first += uint32(uint64(mix(p.Hash^e.seed)) * n >> 32)
	}
	m.Out = e.ports[first]
	return dataplane.Accept
}

// mix makes every bit of h depend on all of it (the finaliser of MurmurHash3).
func mix(h uint32) uint32 {
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
