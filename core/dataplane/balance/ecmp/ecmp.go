// Package ecmp is equal-cost multipath. The hash of a flow selects one of all shortest paths to a destination, so
// that a flow stays on its path. Each switch mixes its own seed into the hash. With equal hashes everywhere, the
// switches of the next tier would receive only flows with similar hashes, and use one path (polarisation).
//
// With hash: crc16 it is a P4 action selector of BMv2: the CRC-16 of some fields, the same at every switch, modulo the
// number of ports. Such a hash is linear. Flows with addresses and ports that count up together may all take few of
// the ports.
package ecmp

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Program spreads flows over equal paths.
type Program struct {
	routes *dataplane.Routes
	paths  [2]*packet.Paths // by IP version
	seed   uint32
	crc    *selector // nil: the flow's hash, mixed with the seed
	*dataplane.Failover
}

// config selects the hash and its fields.
type config struct {
	CRC16  bool
	Fields string // fields of the CRC-16, in order

	Failover unit.Time
}

// Params binds the options of ecmp to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	p.BoolWords(&c.CRC16, [2]string{"mixed", "crc16"}, "hash", "mixed",
		"hash function; mixed: every bit of the 5-tuple affects every bit of the hash, with a seed per switch; crc16: "+
			"CRC-16 of the fields modulo the number of ports, the same at every switch",
		"Weir; BMv2: action_selector(HashAlgorithm.crc16, …)")
	p.Text(&c.Fields, "fields", "dst src proto sport dport", "fields that crc16 hashes, in this order",
		"P4TE code: upstream_routing.p4")
	dataplane.BindFailover(p, &c.Failover)
	p.AddRule("fields", func() error {
		_, err := c.parseFields()
		return err
	})
}

// Traits returns that the program selects a path for each flow. It cannot run standalone, because a bridge has one
// path.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: dataplane.ChoosesPaths, SelectsPath: true}
}

// Scheme returns the scheme of switch: [ecmp].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "ecmp", Doc: "equal-cost multipath by a hash of the flow; decrements " +
		"the hop limit",
		Source: "RFC 2992; HPCC simulator: a seed per switch"},
		func(site *dataplane.Site, c config) (*Program, error) {
			e := New(site, uint32(site.Random("ecmp").Uint64()))
			e.Failover = dataplane.NewFailover(site, c.Failover)
			if !c.CRC16 {
				return e, nil
			}
			fields, err := c.parseFields()
			if err == nil {
				e.crc, err = newSelector(site, fields)
			}
			return e, err
		})
}

// New returns the program with the site's routes and a seed for the mixed hash. It excludes no ports.
func New(site *dataplane.Site, seed uint32) *Program {
	return &Program{routes: site.Routes, paths: [2]*packet.Paths{site.Routes.Paths(4), site.Routes.Paths(6)}, seed: seed}
}

// Name returns "ecmp".
func (e *Program) Name() string { return "ecmp" }

// Ingress decrements the hop limit, drops the packet when that reaches 0, and chooses among the destination's paths by
// the hash. Without a path it drops the packet as NoRoute.
func (e *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if !p.DecrementHopLimit() {
		return dataplane.Drop(dataplane.HopLimitExceeded)
	}
	paths := e.paths[0]
	if p.Version == 6 {
		paths = e.paths[1]
	}
	ports := paths.PortsTo(p.Dst)
	switch n := uint64(len(ports)); n {
	case 0:
		return dataplane.Drop(dataplane.NoRoute)
	case 1:
		p.Meta.Out = ports[0]
	default:
		if e.crc != nil {
			p.Meta.Out = ports[uint64(e.crc.hashPacket(p))%n]
		} else {
			p.Meta.Out = ports[uint64(dataplane.MixHash(p.Hash^e.seed))*n>>32]
		}
		if e.Failover != nil && e.IsExcluded(env, p.Meta.Out) {
			e.moveFlow(env, p, ports)
		}
	}
	return dataplane.Accept
}

// moveFlow sets Meta.Out of a packet with an excluded port to one of the live ports, so that the excluded port's flows
// spread evenly over them. It uses the part of the CRC-16 that was not used yet, or another mix of the hash.
func (e *Program) moveFlow(env *dataplane.Env, p *packet.Packet, ports []packet.PortID) {
	live := e.LivePorts(env, ports)
	n := uint64(len(live))
	if e.crc != nil {
		p.Meta.Out = live[uint64(e.crc.hashPacket(p))/uint64(len(ports))%n]
		return
	}
	p.Meta.Out = live[uint64(dataplane.MixHash(dataplane.MixHash(p.Hash^e.seed)+1))*n>>32]
}
