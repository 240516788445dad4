package measure

import (
	"math"
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
)

// Waits limit how long packets wait in the switches of a point.
type Waits struct {
	Ports    [][2]dataplane.Backlog // what can wait at the ends of links, by link and end
	Memory   []unit.Bytes           // with PFC: what a switch can hold, by node; 0: no limit. nil: no switch pauses
	Reorders bool                   // packets may overtake each other, or empty ones those with payload
	Spreads  bool                   // switches send packets or flowlets of one flow over several paths
	Rates    map[int]unit.LinkRate  // the lowest rates of links that change, by link
	Endless  bool                   // hosts stall, so that there is no limit

	// longest is the port between switches with the longest wait, as 2 × link + end; −1: there is no such port.
	longest int
	slowest unit.Rate // of all links; 0: the rate of some link is not in bit/s
	uneven  bool      // links between switches at the same distances from hosts have different rates
}

// nominalFrame is the frame by which ports are compared.
const nominalFrame = 1500

// PrepareWaits finds what all paths have in common. It is called when Waits or its rates have changed.
func (p *Point) PrepareWaits() {
	w := p.Waits
	w.longest, w.slowest = -1, unit.Rate(math.MaxInt64)
	longest := unit.Time(-1)
	for i := range p.Network.Links {
		w.slowest = min(w.slowest, p.rate(i).Bits)
		ends := p.Network.Links[i].Ends
		if !p.Network.Nodes[ends[0]].Switch || !p.Network.Nodes[ends[1]].Switch {
			continue
		}
		for end := range ends {
			if t := sendingTime(p.rate(i), w.Ports[i][end], nominalFrame); t > longest {
				longest, w.longest = t, 2*i+end
			}
		}
	}
	w.uneven = w.Spreads && p.hasUnevenLinks()
	p.pauses = p.findPauses()
}

// hasUnevenLinks reports whether links between switches that may be alternatives of each other have different rates:
// links whose ends are at the same distances from the nearest hosts. So the links of a fat tree's upper tier may all be
// faster than those of the lower.
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
		if rate, has := rates[tiers]; has && rate != p.rate(i) || p.rate(i) != n.Links[i].Rate {
			return true // also if links become equally slow, one after the other
		}
		rates[tiers] = p.rate(i)
	}
	return false
}

// maxWait is above all waits that are useful as a limit. PFC in large networks can pause for longer.
const maxWait = 100 * unit.Second

// Queueing returns how long a packet from one NIC to another and its acknowledgement wait together at most; unit.Never
// if there is no limit. Ports of switches count if queues holds for them; nil: all count. With PFC the ports of a
// switch share its memory, and all count, but pauses of the NICs at both ends only without queues: they take a switch
// with full memory while a NIC waits, and again when its packet arrives.
func (p *Point) Queueing(src, dst int, queues func(topology.PortRef) bool) unit.Time {
	if p.Waits.Endless {
		return unit.Never
	}
	there, back := p.longestWait(src, dst, queues), p.longestWait(dst, src, queues)
	if there == unit.Never || back == unit.Never {
		return unit.Never
	}
	return there + back
}

// largestFrame returns the largest frame of the point's traffic in bytes.
func (p *Point) largestFrame() unit.Bytes {
	frame := int32(0)
	for i := range p.Traffic {
		frame = max(frame, p.Framing.Frame(p.Traffic[i].MostHeaders(), p.Traffic[i].Payload, true))
	}
	return unit.Bytes(frame)
}

// longestWait returns how long a packet waits at most on one way: in the queues of the switches, behind a frame at the
// host, while PFC pauses both, and for the links' jitter. Where switches have a choice of ports the longest of all
// queues between switches counts. Queueing has what queues is.
func (p *Point) longestWait(from, to int, queues func(topology.PortRef) bool) (total unit.Time) {
	n, w, frame := p.Network, p.Waits, p.largestFrame()
	var pathBuffer [16]int // longer paths allocate
	links, _ := p.Routes.AppendPath(pathBuffer[:0], from, to)
	at, chooses := p.Routes.NICs().Node(from), false
	paused := unit.Time(0)
	for _, i := range links {
		l := &n.Links[i]
		end := 0
		if l.Ends[1] == at {
			end = 1
		}
		next := l.Ends[1-end]
		total += l.Jitter
		switch {
		case !n.Nodes[at].Switch:
			total += sendingTime(p.rate(i), dataplane.Backlog{Packets: 1}, frame)
			if w.Memory != nil && queues == nil {
				paused = addWaits(paused, p.pauses.atHost(i, end))
			}
		case w.Memory != nil:
			paused = addWaits(paused, p.pauses.atSwitch(at, p.Routes.Paths(at).To(packet.Addr(to+1))))
		default:
			ports := p.Routes.Ports(at)
			choice := p.Routes.Paths(at).To(packet.Addr(to + 1))
			chooses = chooses || len(choice) > 1
			if queues != nil && !slices.ContainsFunc(choice, func(k packet.PortID) bool { return queues(ports[k]) }) {
				break
			}
			wait := sendingTime(p.rate(i), w.Ports[i][end], frame)
			if chooses && n.Nodes[next].Switch {
				wait = sendingTime(p.rate(w.longest/2), w.Ports[w.longest/2][w.longest%2], frame)
			}
			if wait == unit.Never {
				return unit.Never
			}
			total += wait
		}
		at = next
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

// rate returns the lowest rate that a link has in the run.
func (p *Point) rate(link int) unit.LinkRate {
	if r, changes := p.Waits.Rates[link]; changes {
		return r
	}
	return p.Network.Links[link].Rate
}

// sendingTime returns how long a port needs to send what can wait at it and one frame more; unit.Never if that has no
// limit.
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
