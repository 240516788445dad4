// Package spray sends each packet on another one of the equal-cost paths to its destination, so that the paths fill
// evenly with any flows (Dixit et al., "On the Impact of Packet Spraying in Data Center Networks", INFOCOM 2013). It
// reorders packets of one flow; the transport must tolerate that. NDP's senders spread their packets in this way
// (NDP, SIGCOMM 2017, §3.1.1: each path once, in a random order, then in another one). Here every switch does.
package spray

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Choices of a packet's port: values of config.Order.
const (
	Permutation = "permutation" // each port once in a random order, then in another one
	RoundRobin  = "round_robin" // in one order, from a random port on
	Random      = "random"      // another random port for each packet
)

// config selects the order of the ports.
type config struct {
	Order    string
	Failover unit.Time
}

// Params binds the options of spray to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	p.Text(&c.Order, "order", Permutation,
		"order of the ports; permutation: each port once in a random order, then a new random order; round_robin: in "+
			"turn; random: drawn for each packet", "NDP §3.1.1: permutations").Words(Permutation, RoundRobin, Random)
	dataplane.BindFailover(p, &c.Failover)
}

// Program spreads packets over equal paths.
type Program struct {
	routes *dataplane.Routes
	paths  [2]*packet.Paths // by IP version
	turns  [2][]*turn       // by IP version and set of paths; nil for a single path
	order  string
	random unit.Random
	*dataplane.Failover
}

// turn is a switch's position in the round of one set of ports.
type turn struct {
	ports []packet.PortID
	next  int
}

// Traits returns that the program selects a path for each packet. It cannot run standalone, because a bridge has one
// path.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: dataplane.ChoosesPaths, SelectsPath: true, Spreads: dataplane.EachPacket}
}

// Scheme returns the scheme of switch: [spray].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "spray", Doc: "equal-cost multipath packet by packet; decrements the " +
		"hop limit",
		Source: "Packet spraying (Dixit et al., INFOCOM 2013); NDP (SIGCOMM 2017) §3.1.1"},
		func(site *dataplane.Site, c config) (*Program, error) {
			s := New(site, c.Order)
			s.Failover = dataplane.NewFailover(site, c.Failover)
			return s, nil
		})
}

// New returns the program with the site's routes, for one of the orders (RoundRobin, Permutation, Random), and draws
// the first rounds. It has no failover.
func New(site *dataplane.Site, order string) *Program {
	s := &Program{routes: site.Routes, order: order, random: site.Random("spray")}
	for i, version := range []uint8{4, 6} {
		s.paths[i] = site.Routes.Paths(version)
	}
	s.Redraw()
	return s
}

// Redraw draws the orders, or the first ports of rounds (dataplane.Redrawer). All rounds restart.
func (s *Program) Redraw() {
	for i, paths := range s.paths {
		s.turns[i] = make([]*turn, len(paths.Sets))
		for _, set := range paths.Via {
			if ports := paths.Sets[set]; len(ports) > 1 && s.turns[i][set] == nil {
				t := &turn{ports: append([]packet.PortID(nil), ports...)}
				if s.turns[i][set] = t; s.order == RoundRobin {
					t.next = s.random.IntN(len(ports))
				} else {
					s.shuffleTurn(t)
				}
			}
		}
	}
}

// Name returns "spray".
func (s *Program) Name() string { return "spray" }

// Ingress decrements the hop limit, drops the packet when that reaches 0, and chooses the next one of the destination's
// paths. Without a path it drops the packet as NoRoute. Excluded ports lose their turns.
func (s *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if !p.DecrementHopLimit() {
		return dataplane.Drop(dataplane.HopLimitExceeded)
	}
	i := 0
	if p.Version == 6 {
		i = 1
	}
	ports := s.paths[i].PortsTo(p.Dst)
	switch len(ports) {
	case 0:
		return dataplane.Drop(dataplane.NoRoute)
	case 1:
		m.Out = ports[0]
		return dataplane.Accept
	}
	t := s.turns[i][s.paths[i].Via[s.paths[i].Class[p.Dst]]]
	if s.order == Random {
		live := t.ports
		if s.Failover != nil {
			live = s.LivePorts(env, t.ports)
		}
		m.Out = live[s.random.IntN(len(live))]
		return dataplane.Accept
	}
	m.Out = s.takePort(t)
	if s.Failover != nil { // excluded ports lose their turns, of this round and the next; unless all are excluded
		for n := 2 * len(t.ports); n > 0 && s.IsExcluded(env, m.Out); n-- {
			m.Out = s.takePort(t)
		}
	}
	return dataplane.Accept
}

// takePort returns the port of this turn and moves to the next one. Under Permutation the end of a round draws the next
// order.
func (s *Program) takePort(t *turn) packet.PortID {
	port := t.ports[t.next]
	if t.next++; t.next == len(t.ports) {
		if t.next = 0; s.order == Permutation {
			s.shuffleTurn(t)
		}
	}
	return port
}

// shuffleTurn draws a new order of the turn's ports, in place (Fisher, Yates).
func (s *Program) shuffleTurn(t *turn) {
	for i := len(t.ports) - 1; i > 0; i-- {
		j := s.random.IntN(i + 1)
		t.ports[i], t.ports[j] = t.ports[j], t.ports[i]
	}
}
