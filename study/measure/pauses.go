package measure

import (
	"slices"

	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
)

// pauses limit how long PFC can stop the ports of a network, by 2 × link + end. A pause spreads from any port that the
// packets behind it use, so each port takes the longest chain over the routes between all hosts.
//
// What a switch holds drains no faster than the slowest link carries it, and a neighbour that is paused gets one turn
// in as many as the switch has other ports. So the turns multiply along a chain, from its last switch to the first.
type pauses struct {
	point *Point
	limit unit.Bytes // what the slowest link sends in maxWait; longer chains, and those that close a cycle, reach it
	dests []int      // one NIC per switch with hosts: the routes to its other hosts differ in the last port only
	ports []portPause

	memory []unit.Bytes // from which the pauses were found
	routes *topology.Routes
}

// portPause is what a port waits for, in bytes that the slowest link sends meanwhile.
type portPause struct {
	state pauseState
	turns unit.Bytes // for one byte that the port sends
	pause unit.Bytes // before the port sends a frame
}

type pauseState uint8

const (
	pauseUnknown pauseState = iota
	pauseOpen               // its chain is being followed: a port that meets it closes a cycle
	pauseKnown
)

// findPauses finds how long each port can be paused. Without PFC, and where some link has no rate in bit/s, it returns
// nil.
func (p *Point) findPauses() *pauses {
	w := p.Waits
	if w.Memory == nil || w.slowest == 0 || p.Routes == nil {
		return nil
	}
	x := &pauses{point: p, limit: unit.Bytes(float64(w.slowest) / 8 * maxWait.Seconds()), memory: w.Memory,
		routes: p.Routes}
	if old := p.pauses; old != nil && old.routes == x.routes && old.limit == x.limit &&
		slices.Equal(old.memory, x.memory) {
		return old
	}
	x.ports = make([]portPause, 2*len(p.Network.Links))
	found, nics := make([]bool, len(p.Network.Nodes)), p.Routes.NICs()
	for node := range p.Network.Nodes {
		if p.Network.Nodes[node].Switch {
			continue
		}
		for k, port := range p.Routes.Ports(node) {
			if next := p.Network.Links[port.Link].Ends[1-port.End]; !found[next] {
				found[next] = p.Network.Nodes[next].Switch
				x.dests = append(x.dests, nics.Number(node, k))
			}
		}
	}
	for i := range x.ports {
		x.find(i)
	}
	return x
}

// find follows the chains that begin at a port.
func (x *pauses) find(port int) portPause {
	switch x.ports[port].state {
	case pauseKnown:
		return x.ports[port]
	case pauseOpen:
		return portPause{turns: x.limit, pause: x.limit}
	}
	n, routes := x.point.Network, x.point.Routes
	ends := n.Links[port/2].Ends
	at, next := ends[port%2], ends[1-port%2]
	if !n.Nodes[next].Switch {
		x.ports[port] = portPause{state: pauseKnown, turns: 1}
		return x.ports[port]
	}
	x.ports[port].state = pauseOpen
	k := packet.PortID(slices.Index(routes.Ports(at), topology.PortRef{Link: port / 2, End: port % 2}))
	result := portPause{state: pauseKnown, turns: 1}
	var before, after []packet.PortID // the last choices; switches share one slice for many hosts
	uses := !n.Nodes[at].Switch
	for _, to := range x.dests {
		if n.Nodes[at].Switch {
			if choice := routes.Paths(at).To(packet.Addr(to + 1)); !same(choice, before) {
				before, after = choice, nil
				uses = slices.Contains(choice, k)
			}
		}
		if !uses {
			continue
		}
		choice := routes.Paths(next).To(packet.Addr(to + 1))
		if same(choice, after) {
			continue
		}
		after = choice
		for _, i := range choice {
			f := routes.Ports(next)[i]
			y := x.find(2*f.Link + f.End)
			result.turns = max(result.turns, y.turns)
			result.pause = max(result.pause, x.add(x.times(y.turns, x.memory[next]), y.pause))
		}
	}
	if x.memory[next] == 0 {
		result.pause = x.limit
	}
	result.turns = x.times(result.turns, unit.Bytes(max(len(routes.Ports(next))-1, 1)))
	x.ports[port] = result
	return result
}

// same reports whether two choices of ports are one slice.
func same(a, b []packet.PortID) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// add returns a + b, or the limit.
func (x *pauses) add(a, b unit.Bytes) unit.Bytes {
	if a >= x.limit-b {
		return x.limit
	}
	return a + b
}

// times returns a × b, or the limit.
func (x *pauses) times(a, b unit.Bytes) unit.Bytes {
	if a > 0 && b >= x.limit/a {
		return x.limit
	}
	return a * b
}

// atSwitch returns how long a packet waits at most in a switch that holds what its memory allows, at any of some of
// its ports.
func (x *pauses) atSwitch(node int, choice []packet.PortID) unit.Time {
	if x == nil || x.memory[node] == 0 {
		return unit.Never
	}
	longest := unit.Bytes(0)
	for _, i := range choice {
		port := x.routes.Ports(node)[i]
		y := &x.ports[2*port.Link+port.End]
		longest = max(longest, x.add(x.times(y.turns, x.memory[node]), y.pause))
	}
	return x.time(longest)
}

// atHost returns how long a packet waits at most at a host's NIC, while the switch pauses it: for one pause before the
// frame ahead of it, and for one more before its own.
func (x *pauses) atHost(link, end int) unit.Time {
	if x == nil {
		return unit.Never
	}
	y := &x.ports[2*link+end]
	return x.time(x.add(y.pause, y.pause))
}

// time returns how long the slowest link sends so many bytes.
func (x *pauses) time(b unit.Bytes) unit.Time {
	if b >= x.limit {
		return unit.Never
	}
	return unit.TransmitTime(b, x.point.Waits.slowest)
}
