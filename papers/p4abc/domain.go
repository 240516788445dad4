package p4abc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Domain is a switch's role in an ABC domain (P4-ABC figure 1). Ingress, core and egress are roles of ports, not of
// switches: a switch can have hosts at some ports and other switches of its domain at others.
type Domain string

// Domains.
const (
	WholeDomain  Domain = "alone" // the switch is the whole domain, as in the prototype (§5.1): packets carry no mark
	DomainMember Domain = "part"  // packets carry their activity between the domain's switches
)

// Side is the side of the domain at which a port is.
type Side uint8

// Sides. Packets that arrive from outside are metered and marked, and an existing mark is replaced. From inside, marks
// are read. Packets to the outside depart without a mark.
const (
	Outside Side = iota
	Inside
)

// sideNames are the names of the sides in specs.
var sideNames = []string{"outside", "inside"}

// markBytes is the maximum that a mark adds to a packet: an option of 6 bytes in a header of its own.
const markBytes = 8

// assignSides returns the side of each port of a site: all are outside if the switch is the whole domain. Otherwise a
// port is inside if it leads to a switch, unless Ports has another side for it. A standalone switch does not know its
// neighbours, so Ports must name its inside ports. assignSides fails if no port is inside and no neighbour is a switch.
func assignSides(site *dataplane.Site, c *Config) ([]Side, error) {
	all := make([]Side, site.Ports)
	if c.Domain == WholeDomain {
		return all, nil
	}
	for i := range min(len(all), len(site.Lines)) {
		line := &site.Lines[i]
		if line.Switch {
			all[i] = Inside
		}
		if k := slices.IndexFunc(c.Ports, func(p PortSide) bool { return p.Key == line.To }); k >= 0 {
			all[i] = c.Ports[k].Value
		}
	}
	if len(site.Lines) > 0 && !slices.Contains(all, Inside) &&
		!slices.ContainsFunc(site.Lines, func(l dataplane.Line) bool { return l.Switch }) {
		return nil, errors.New("domain: part, and no port is inside; set ports: {NAME: inside}")
	}
	return all, nil
}

// checkDomain refuses ports that name no neighbour, and warns of packets too long for a mark.
func (c *Config) checkDomain(s *dataplane.SwitchContext) (all []scheme.Remark) {
	if c.Domain == WholeDomain {
		return nil
	}
	inside := false
	for _, p := range s.Ports {
		inside = inside || !p.Host
	}
	for _, p := range c.Ports {
		at := slices.IndexFunc(s.Ports, func(f dataplane.Peer) bool { return f.To == p.Key })
		switch {
		case at >= 0:
			inside = inside || p.Value == Inside
		case !slices.Contains(s.Nodes, p.Key):
			text := "nothing at the end of a link is called " + string(p.Key)
			if s.Nodes == nil { // a switch on its own
				var ports []string
				for _, f := range s.Ports {
					ports = append(ports, f.To)
				}
				text = fmt.Sprintf("no port is called %s; allowed: %s", p.Key, strings.Join(ports, ", "))
			}
			all = append(all, scheme.NewRefusal("ports", "%s", text))
		}
	}
	if c.MTU > 0 && inside && s.MaxRigidPacket+markBytes > int32(c.MTU) {
		all = append(all, warnMTURigid.NewRemark("mtu",
			"%d B: IP packets of %d bytes leave no room for a mark of %d bytes and are dropped where they enter the domain",
			int64(c.MTU), s.MaxRigidPacket, markBytes))
	}
	if c.MTU > 0 && inside && c.MTU < minMTU+markBytes {
		all = append(all, warnMTUIPv6.NewRemark("mtu", "%d B: IPv6 packets of %d bytes, the minimum MTU, leave no room for "+
			"a mark of %d bytes", int64(c.MTU), minMTU, markBytes))
	}
	return all
}

// markRange is the range of what edges write: activities within limits, and with some configurations delay classes.
type markRange struct{ classed bool }

// The range is part of the mark format, so all switches of a domain share it, for any links and reference rates.
// A switch with limits of its own would raise the low marks of an edge with faster links. The minimum is below a user
// with one short frame in the meter, 160 bit/s with the memory of P4-ABC §6.1.3, at a reference rate of 400 Gb/s.
// The maximum is above a user who fills such a link, at a reference rate of 1 bit/s. Edges write only this range, so
// a mark outside it was not written by an edge.
const (
	minHonest = -32
	maxHonest = 40

	minHonestBits = 0x42000000 // bits of float32(32)
	maxHonestBits = 0x42200000 // bits of float32(40)
)

// clampActivity returns the activity limited to the range of marks.
func clampActivity(activity float64) float64 { return min(max(activity, minHonest), maxHonest) }

// isFromEdge reports whether a mark is in the range of edges, ignoring the last bits, which may hold a class. The bits
// of float32s are ordered by magnitude, with infinities and NaNs last.
func isFromEdge(mark uint32) bool {
	size := mark &^ (1<<31 | classCount - 1)
	if mark>>31 != 0 {
		return size <= minHonestBits
	}
	return size <= maxHonestBits
}

// quantize returns the activity that switches read after this one is written into a mark: limited to the range of
// marks, rounded to a float32 and, if marks have a class, without the bits of the class.
func (h *markRange) quantize(activity float64) float64 {
	x := math.Float32bits(float32(clampActivity(activity)))
	if h.classed {
		x, _ = splitClass(x)
	}
	return float64(math.Float32frombits(x))
}

// writeMark writes an activity, as the bits of a float32, into a packet's extension, and adds what the extension grows
// by to p.Size. Without room it returns false and leaves the packet as it is.
func writeMark(p *packet.Packet, activity uint32) bool {
	var m [4]byte
	binary.BigEndian.PutUint32(m[:], activity)
	before := p.ExtensionBytes()
	if !p.SetExtension(packet.ExtActivity, m[:]) {
		return false
	}
	p.Size += p.ExtensionBytes() - before
	return true
}

// parseMark returns the activity in a packet's mark, as the bits of a float32 with a class in its last bits, if there
// is one. ok is false if the mark is missing, has another length, or is out of the range of edges.
func parseMark(p *packet.Packet) (activity uint32, ok bool) {
	m, ok := p.Extension(packet.ExtActivity)
	if !ok || len(m) != 4 {
		return 0, false
	}
	activity = binary.BigEndian.Uint32(m)
	return activity, isFromEdge(activity)
}

// removeMark removes a packet's mark, if it has one, and subtracts what the extension shrinks by from p.Size.
func removeMark(p *packet.Packet) {
	if p.HasHotExtension(packet.ExtActivity) {
		before := p.ExtensionBytes()
		p.RemoveExtension(packet.ExtActivity)
		p.Size -= before - p.ExtensionBytes()
	}
}

// measureArrival returns the activity of a packet that a switch did not make. From inside it is the one in the mark.
// Packets from outside are metered by their aggregate. Packets from inside without a mark count in one aggregate of
// their ingress port: unmarked frames together get no more than a user. For a metered packet it also sets Meta.Class,
// if its aggregate has a class, and a.current. It may add an aggregate.
func (a *Program) measureArrival(now unit.Time, p *packet.Packet) float64 {
	if in := int(p.Meta.In); in < len(a.sides) && a.sides[in] == Inside {
		if x, ok := a.readMark(p); ok {
			return float64(math.Float32frombits(x))
		}
		m := &a.unmarked[in]
		a.current = m
		activity := m.measureExact(now, float64(a.assignClass(p, m))*8, a.config.Memory)
		return a.markRange.quantize(min(activity, a.maxMarkFrom(p.Meta.In).exact))
	}
	m := a.findMeter(p)
	a.current = m
	bits := float64(a.assignClass(p, m)) * 8
	activity := m.measureExact(now, bits, a.config.Memory)
	if m.flows != nil {
		activity += m.flows.countPacket(now, p, bits, a.config.Memory)
	}
	if a.spread != nil {
		activity += a.spread.draw()
	}
	if a.config.Domain == DomainMember {
		activity = a.markRange.quantize(min(activity, a.maxMarkFrom(p.Meta.In).exact)) // what the next switch will read
	}
	return activity
}

// prepareDeparture prepares a packet for the queue of port Meta.Out. Towards the outside it removes the mark. Towards
// the inside it writes the mark into IP packets of the domain, and lowers the MSS of SYNs. It drops a packet that the
// mark makes too long for the link; Meta.User is then the length in bytes that fits.
func (a *Program) prepareDeparture(p *packet.Packet) dataplane.Verdict {
	if a.sides[p.Meta.Out] == Outside {
		removeMark(p)
		return dataplane.Accept
	}
	if a.config.Domain == WholeDomain || a.bypassesAQM(&p.Meta) || p.Version == 0 { // only IP packets have room for a mark
		return dataplane.Accept
	}
	if mtu := a.mtus[p.Meta.Out]; mtu > 0 {
		n, front := mtuLength(p)
		mtu -= front
		if !fitsMTU(p, n-front, mtu) {
			p.Meta.User = uint32(mtu - markBytes)
			return dataplane.Drop(dataplane.TooLong)
		}
		limitSegments(p, mtu)
	}
	x := math.Float32bits(float32(a.activity))
	if a.integers != nil {
		x = a.integers.activity.floatBits()
	}
	if a.classed {
		x = withClass(x, p.Meta.Class)
	}
	writeMark(p, x)
	return dataplane.Accept
}

// PPPoE's session header, and two bytes of PPP's protocol (RFC 2516 §4, §7).
const (
	etherPPPoE = 0x8864
	pppoeBytes = 8
)

// mtuLength returns the length in bytes that the MTU bounds: the packet after the Ethernet header and tags. front is
// its part before the IP packet, which hosts do not count: they announce, and are sent, lengths of IP packets.
func mtuLength(p *packet.Packet) (n, front int32) {
	if p.Data == nil {
		return p.Headers() + p.ExtensionBytes() + p.Payload - packet.EthernetHeader, 0
	}
	n = int32(len(p.Data)) - packet.EthernetHeader
	for at := 12; n >= 4; at += 4 {
		switch binary.BigEndian.Uint16(p.Data[at:]) {
		case 0x8100, 0x88a8, 0x9100: // the MTU does not count tags
			n -= 4
			continue
		case etherPPPoE:
			front = pppoeBytes
		}
		break
	}
	return n, front
}

// fitsMTU reports whether an IP packet fits the MTU of links inside with a mark. n is its length in bytes, which
// includes the mark only if p has one.
func fitsMTU(p *packet.Packet, n, mtu int32) bool {
	if !p.HasHotExtension(packet.ExtActivity) {
		n += markBytes
	}
	return n <= mtu
}

// limitSegments lowers the MSS of a SYN, so that segments within mtu, in bytes, have room for the mark. Packets without
// an MSS stay as they are (RFC 9293 §3.7.1: the MSS excludes the fixed headers of IP and TCP).
func limitSegments(p *packet.Packet, mtu int32) {
	if p.Proto != packet.ProtoTCP || p.TCP.MSS == 0 {
		return
	}
	headers := int32(packet.IPv4Header + packet.TCPHeader)
	if p.Version == 6 {
		headers += packet.IPv6Header - packet.IPv4Header
	}
	p.TCP.MSS = uint16(min(int32(p.TCP.MSS), max(mtu-markBytes-headers, 1)))
}

// bypassesAQM reports whether the packet is outside the domain: it passes the AQM and does not enter A_avg.
func (a *Program) bypassesAQM(m *packet.Metadata) bool {
	return m.Flags&packet.Internal != 0 || math.IsNaN(a.activity)
}
