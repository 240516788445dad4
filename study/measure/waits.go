package measure

import (
	"math"
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
)

// Waits has what limits the time that packets wait in the switches of a point.
type Waits struct {
	Ports    [][2]dataplane.Backlog // what can wait at the ends of links, by link and end
	Memory   []unit.Bytes           // with PFC: each switch's memory, by node; 0: no limit. nil: no switch pauses
	Reorders bool                   // packets may overtake each other, or packets without payload those with payload
	Spreads  bool                   // switches send packets or flowlets of one flow over several paths
	Rates    map[int]unit.LinkRate  // the lowest rates of links that change, by link
	Endless  bool                   // hosts stall, so there is no limit

	// longest is the port between switches with the longest wait, as 2 × link + end; −1: there is no such port.
	longest int
	slowest unit.Rate // of all links; 0: a link's rate is not in bit/s
	uneven  bool      // links between switches at the same distances from hosts have different rates
}

// nominalFrame is the frame size in bytes for comparing ports.
const nominalFrame = 1500

// PrepareWaits computes what all paths have in common, and PFC's pauses. The caller must call it again after a change
// of Waits or its rates. Waits must not be nil.
func (p *Point) PrepareWaits() {
	w := p.Waits
	w.longest, w.slowest = -1, unit.Rate(math.MaxInt64)
	longest := unit.Time(-1)
	for i := range p.Network.Links {
		w.slowest = min(w.slowest, p.lowestRate(i).Bits)
		ends := p.Network.Links[i].Ends
		if !p.Network.Nodes[ends[0]].Switch || !p.Network.Nodes[ends[1]].Switch {
			continue
		}
		for end := range ends {
			if t := sendingTime(p.lowestRate(i), w.Ports[i][end], nominalFrame); t > longest {
				longest, w.longest = t, 2*i+end
			}
		}
	}
	w.uneven = w.Spreads && p.hasUnevenLinks()
	p.pauses = p.findPauses()
}

// hasUnevenLinks reports whether alternative links between switches have different rates. Links are alternatives if
// their ends are at the same distances from the nearest hosts. So all links of a fat tree's upper tier may be faster
// than the links of the lower tier.
func (p *Point) hasUnevenLinks() bool {
	n := p.Network
	distance := make([]int, len(n.Nodes)) // in links to the nearest host
	for node := range distance {
		distance[node] = len(n.Nodes)
		if !n.Nodes[node].Switch {
			distance[node] = 0
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range n.Links {
			a, b := n.Links[i].Ends[0], n.Links[i].Ends[1]
			if distance[a] > distance[b] {
				a, b = b, a
			}
			if distance[a]+1 < distance[b] {
				distance[b], changed = distance[a]+1, true
			}
		}
	}
	rates := map[[2]int]unit.LinkRate{}
	for i := range n.Links {
		a, b := n.Links[i].Ends[0], n.Links[i].Ends[1]
		if !n.Nodes[a].Switch || !n.Nodes[b].Switch {
			continue
		}
		tiers := [2]int{min(distance[a], distance[b]), max(distance[a], distance[b])}
		if rate, has := rates[tiers]; has && rate != p.lowestRate(i) || p.lowestRate(i) != n.Links[i].Rate {
			return true // also if links become equally slow, one after the other
		}
		rates[tiers] = p.lowestRate(i)
	}
	return false
}

// maxWait limits sums of waiting times; longer sums count as unlimited. PFC in large networks can pause for longer.
const maxWait = 100 * unit.Second

// MaxQueueing returns the longest time that a packet from NIC src to NIC dst and its acknowledgement wait together;
// unit.Never if there is no limit. PrepareWaits must have been called, and a path must exist. It includes jitter of
// links and a frame ahead at each host's NIC. The queues of switches count at ports for which queues returns true; nil:
// at all ports. With PFC all ports count, since they share the switch's memory. Pauses of the NICs at both ends count
// only if queues is nil: they require that a switch's memory is full while a NIC waits, and again when its packet
// arrives.
func (p *Point) MaxQueueing(src, dst int, queues func(topology.PortRef) bool) unit.Time {
	if p.Waits.Endless {
		return unit.Never
	}
	there, back := p.longestWait(src, dst, queues), p.longestWait(dst, src, queues)
	if there == unit.Never || back == unit.Never {
		return unit.Never
	}
	return there + back
}

// largestFrame returns the largest frame of the point's traffic in bytes, without telemetry; 0 without traffic.
func (p *Point) largestFrame() unit.Bytes {
	frame := int32(0)
	for i := range p.Traffic {
		frame = max(frame, p.Framing.FrameBytes(p.Traffic[i].MaxHeaders(), p.Traffic[i].Payload, true))
	}
	return unit.Bytes(frame)
}

// longestWait returns the longest time that a packet waits in one direction, from one NIC to another. It waits in the
// queues of the switches, behind a frame at the host, while PFC pauses both, and for the links' jitter. Once a switch
// has a choice of ports, the longest queue between switches counts for each later hop. queues selects ports as in
// MaxQueueing.
func (p *Point) longestWait(from, to int, queues func(topology.PortRef) bool) (total unit.Time) {
	n, w, frame := p.Network, p.Waits, p.largestFrame()
	var pathBuffer [16]int // longer paths allocate
	links, _ := p.Routes.AppendPath(pathBuffer[:0], from, to)
	node, chooses := p.Routes.NICs().HostOf(from), false
	paused := unit.Time(0)
	for _, i := range links {
		l := &n.Links[i]
		end := 0
		if l.Ends[1] == node {
			end = 1
		}
		next := l.Ends[1-end]
		total += l.Jitter
		switch {
		case !n.Nodes[node].Switch:
			total += sendingTime(p.lowestRate(i), dataplane.Backlog{Packets: 1}, frame)
			if w.Memory != nil && queues == nil {
				paused = addWaits(paused, p.pauses.maxHostWait(i, end))
			}
		case w.Memory != nil:
			paused = addWaits(paused, p.pauses.maxSwitchWait(node, p.Routes.PathsFrom(node).PortsTo(packet.Addr(to+1))))
		default:
			ports := p.Routes.Ports(node)
			choice := p.Routes.PathsFrom(node).PortsTo(packet.Addr(to + 1))
			chooses = chooses || len(choice) > 1
			if queues != nil && !slices.ContainsFunc(choice, func(k packet.PortID) bool { return queues(ports[k]) }) {
				break
			}
			wait := sendingTime(p.lowestRate(i), w.Ports[i][end], frame)
			if chooses && n.Nodes[next].Switch {
				wait = sendingTime(p.lowestRate(w.longest/2), w.Ports[w.longest/2][w.longest%2], frame)
			}
			if wait == unit.Never {
				return unit.Never
			}
			total += wait
		}
		node = next
	}
	return addWaits(total, paused)
}

// addWaits returns the sum of two times; unit.Never above maxWait.
func addWaits(a, b unit.Time) unit.Time {
	if a > maxWait || b > maxWait-a {
		return unit.Never
	}
	return a + b
}

// lowestRate returns the lowest rate that a link has in the run. Waits must not be nil.
func (p *Point) lowestRate(link int) unit.LinkRate {
	if r, changes := p.Waits.Rates[link]; changes {
		return r
	}
	return p.Network.Links[link].Rate
}

// sendingTime returns how long a port needs to send its largest backlog and one more frame; unit.Never if the backlog
// has no limit. Of several limits the shortest time counts. At a rate in packets/s, a limit in bytes holds frames of 64
// B.
func sendingTime(rate unit.LinkRate, b dataplane.Backlog, frame unit.Bytes) unit.Time {
	t := unit.Never
	if rate.Bits > 0 {
		if b.Bytes > 0 {
			t = min(t, unit.TransmitTime(b.Bytes+frame, rate.Bits))
		}
		if b.Packets > 0 {
			t = min(t, unit.TransmitTime(unit.Bytes(b.Packets+1)*frame, rate.Bits))
		}
		if b.Wait > 0 {
			t = min(t, b.Wait+unit.TransmitTime(frame, rate.Bits))
		}
		return t
	}
	packets := b.Packets
	if b.Bytes > 0 && packets == 0 {
		packets = int64(b.Bytes / 64) // the smallest frame
	}
	if packets > 0 && rate.Packets > 0 {
		t = unit.Time(float64(packets+1) / float64(rate.Packets) * float64(unit.Second))
	}
	return t
}
