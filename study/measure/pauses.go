package measure

import (
	"slices"

	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
)

// pauses has limits for how long PFC can stop the ports of a network, indexed by 2 × link + end. A pause spreads from
// any port that the packets behind it use, so each port takes the longest chain over the routes between all hosts.
//
// A switch's memory drains no faster than the slowest link carries it. A paused neighbour gets one turn for each of
// the switch's other ports, so turns multiply along a chain, from its last switch to the first.
type pauses struct {
	point *Point
	limit unit.Bytes // what the slowest link sends in maxWait; longer chains and cycles are cut there
	dests []int      // one NIC for each switch with hosts: routes to its other hosts differ only in the last port
	ports []portPause

	memory []unit.Bytes // the switches' memory for which the pauses were computed
	routes *topology.Routes
}

// portPause is how long a port waits, in bytes that the slowest link sends meanwhile.
type portPause struct {
	state pauseState
	turns unit.Bytes // the wait for each byte that the port sends
	pause unit.Bytes // the wait before the port sends a frame
}

type pauseState uint8

const (
	pauseUnknown pauseState = iota
	pauseOpen               // its chain is being followed: reaching the port again closes a cycle
	pauseKnown
)

// findPauses returns how long each port can be paused. It returns nil without PFC, and if a link's rate is not in
// bit/s. The pauses that p has are returned again if memory and routes are the same. Waits and the slowest rate must be
// set.
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
				x.dests = append(x.dests, nics.NumberOf(node, k))
			}
		}
	}
	for i := range x.ports {
		x.findPortPause(i)
	}
	return x
}

// findPortPause returns how long a port can be paused, by following the chains that begin at it. It stores the result.
func (x *pauses) findPortPause(port int) portPause {
	switch x.ports[port].state {
	case pauseKnown:
		return x.ports[port]
	case pauseOpen:
		return portPause{turns: x.limit, pause: x.limit}
	}
	n, routes := x.point.Network, x.point.Routes
	ends := n.Links[port/2].Ends
	node, next := ends[port%2], ends[1-port%2]
	if !n.Nodes[next].Switch {
		x.ports[port] = portPause{state: pauseKnown, turns: 1}
		return x.ports[port]
	}
	x.ports[port].state = pauseOpen
	k := packet.PortID(slices.Index(routes.Ports(node), topology.PortRef{Link: port / 2, End: port % 2}))
	result := portPause{state: pauseKnown, turns: 1}
	var before, after []packet.PortID // the last choices: switches share one slice for many hosts
	uses := !n.Nodes[node].Switch
	for _, to := range x.dests {
		if n.Nodes[node].Switch {
			if choice := routes.PathsFrom(node).PortsTo(packet.Addr(to + 1)); !isSameSlice(choice, before) {
				before, after = choice, nil
				uses = slices.Contains(choice, k)
			}
		}
		if !uses {
			continue
		}
		choice := routes.PathsFrom(next).PortsTo(packet.Addr(to + 1))
		if isSameSlice(choice, after) {
			continue
		}
		after = choice
		for _, i := range choice {
			f := routes.Ports(next)[i]
			y := x.findPortPause(2*f.Link + f.End)
			result.turns = max(result.turns, y.turns)
			result.pause = max(result.pause, x.addBytes(x.multiplyBytes(y.turns, x.memory[next]), y.pause))
		}
	}
	if x.memory[next] == 0 {
		result.pause = x.limit
	}
	result.turns = x.multiplyBytes(result.turns, unit.Bytes(max(len(routes.Ports(next))-1, 1)))
	x.ports[port] = result
	return result
}

// isSameSlice reports whether two choices of ports are one slice in memory; false for empty ones.
func isSameSlice(a, b []packet.PortID) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// addBytes returns a + b, at most the limit.
func (x *pauses) addBytes(a, b unit.Bytes) unit.Bytes {
	if a >= x.limit-b {
		return x.limit
	}
	return a + b
}

// multiplyBytes returns a × b, at most the limit.
func (x *pauses) multiplyBytes(a, b unit.Bytes) unit.Bytes {
	if a > 0 && b >= x.limit/a {
		return x.limit
	}
	return a * b
}

// maxSwitchWait returns the longest wait of a packet in a switch with full memory, at any port of choice, the indices
// of its ports; unit.Never if it has no limit.
func (x *pauses) maxSwitchWait(node int, choice []packet.PortID) unit.Time {
	if x == nil || x.memory[node] == 0 {
		return unit.Never
	}
	longest := unit.Bytes(0)
	for _, i := range choice {
		port := x.routes.Ports(node)[i]
		y := &x.ports[2*port.Link+port.End]
		longest = max(longest, x.addBytes(x.multiplyBytes(y.turns, x.memory[node]), y.pause))
	}
	return x.sendTime(longest)
}

// maxHostWait returns the longest wait of a packet at a host's NIC that the switch pauses. end is the host's end of the
// link. It has one pause before the frame ahead of it, and one more before its own frame.
func (x *pauses) maxHostWait(link, end int) unit.Time {
	if x == nil {
		return unit.Never
	}
	y := &x.ports[2*link+end]
	return x.sendTime(x.addBytes(y.pause, y.pause))
}

// sendTime returns how long the slowest link sends b bytes; unit.Never from the limit on.
func (x *pauses) sendTime(b unit.Bytes) unit.Time {
	if b >= x.limit {
		return unit.Never
	}
	return unit.TransmitTime(b, x.point.Waits.slowest)
}
