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

// Domain is what a switch is of an ABC domain (figure 1). Ingress, core and egress are no kinds of switches
// but of ports: a switch can have hosts at some and other switches of its domain at others.
type Domain string

// Domains.
const (
	WholeDomain  Domain = "alone" // the switch is the whole domain, as in the prototype (§5.1): packets carry nothing
	DomainMember Domain = "part"  // of a domain: packets carry their activity between its switches
)

// Side is the side of the domain that a port is on.
type Side uint8

// Sides. What comes in from outside is metered and marked, whatever mark it has; of what comes in from inside
// the mark is read. To the outside, nothing leaves with a mark.
const (
	Outside Side = iota
	Inside
)

// sides are their names.
var sides = []string{"outside", "inside"}

// markBytes is the most that a mark adds to a packet: an option of 6 bytes in a header of its own.
const markBytes = 8

// sidesOf are the sides of a switch's ports. A switch on its own, which does not know who its neighbours are,
// must be told.
func sidesOf(site *dataplane.Site, c *Config) ([]Side, error) {
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
		return nil, errors.New("domain: part, and no port is inside; ports: {NAME: inside} says which are")
	}
	return all, nil
}

// suitsDomain says what of a domain cannot be in a setting: ports to nobody, and packets that become too long.
func (c *Config) suitsDomain(s *dataplane.SwitchContext) (all []scheme.Remark) {
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
			all = append(all, scheme.Refuse("ports", "%s", text))
		}
	}
	if c.MTU > 0 && inside && s.Rigid+markBytes > int32(c.MTU) {
		all = append(all, warnMTURigid.Remark("mtu",
			"%d B: IP packets of %d bytes have no room for a mark of %d, and are dropped "+
				"where they go inside", int64(c.MTU), s.Rigid, markBytes))
	}
	if c.MTU > 0 && inside && c.MTU < leastMTU+markBytes {
		all = append(all, warnMTUIPv6.Remark("mtu", "%d B: packets of IPv6 of %d bytes, of which no sender makes shorter "+
			"ones, have no room for a mark of %d", int64(c.MTU), leastMTU, markBytes))
	}
	return all
}

// honest is what edges write: activities in a range, and with some configurations delay classes.
type honest struct{ classed bool }

// The range is part of the format of marks, so that all switches of a domain have the same, whatever their links
// and reference rates are: one that took its own from them would raise the low marks of an edge with faster links.
// The least is below the activity of a user of whom a meter remembers one short frame, 160 bit/s with the memory of
// §6.1.3, with a reference rate of 400 Gb/s; the most is above that of one who fills such a link, with one of 1
// bit/s. An edge writes nothing else, and what else comes in was not written by one.
const (
	leastHonest = -32
	mostHonest  = 40

	leastBits = 0x42000000 // of 32, as a float32
	mostBits  = 0x42200000 // of 40
)

// clamp is the activity in the range that is next.
func clamp(activity float64) float64 { return min(max(activity, leastHonest), mostHonest) }

// ofEdge reports whether an edge can have written a mark, whatever its last bits, which may be a class. Bits of
// float32s are in the order of their sizes, those that are no finite numbers behind all others.
func ofEdge(mark uint32) bool {
	size := mark &^ (1<<31 | classes - 1)
	if mark>>31 != 0 {
		return size <= leastBits
	}
	return size <= mostBits
}

// written is what switches read of an activity that is written into a mark.
func (h *honest) written(activity float64) float64 {
	x := math.Float32bits(float32(clamp(activity)))
	if h.classed {
		x, _ = classOf(x)
	}
	return float64(math.Float32frombits(x))
}

// mark writes an activity into a packet, as the bits of a float32. It reports whether there was room.
func mark(p *packet.Packet, activity uint32) bool {
	var m [4]byte
	binary.BigEndian.PutUint32(m[:], activity)
	before := p.ExtensionBytes()
	if !p.SetExtension(packet.ExtActivity, m[:]) {
		return false
	}
	p.Size += p.ExtensionBytes() - before
	return true
}

// marked returns a packet's mark. It is none if it is missing, has another length, or is out of the range of edges.
func marked(p *packet.Packet) (activity uint32, ok bool) {
	m, ok := p.Extension(packet.ExtActivity)
	if !ok || len(m) != 4 {
		return 0, false
	}
	activity = binary.BigEndian.Uint32(m)
	return activity, ofEdge(activity)
}

// unmark removes a packet's mark.
func unmark(p *packet.Packet) {
	if p.Asks(packet.ExtActivity) {
		before := p.ExtensionBytes()
		p.RemoveExtension(packet.ExtActivity)
		p.Size -= before - p.ExtensionBytes()
	}
}

// enter is the activity of a packet that a switch did not make. What comes in from outside is metered by its
// aggregate. From inside it has a mark; what has none, because a frame has no room for it or a switch there
// does not know of ABC, belongs to one aggregate of the port it came in at: unmarked frames get no more than
// a user.
func (a *Program) enter(now unit.Time, p *packet.Packet) float64 {
	if in := int(p.Meta.In); in < len(a.sides) && a.sides[in] == Inside {
		if x, ok := a.read(p); ok {
			return float64(math.Float32frombits(x))
		}
		m := &a.unmarked[in]
		a.current = m
		activity := m.measure(now, float64(a.counts(p, m))*8, a.config.Memory)
		return a.honest.written(min(activity, a.maxMarkFrom(p.Meta.In).exact))
	}
	m := a.find(p)
	a.current = m
	bits := float64(a.counts(p, m)) * 8
	activity := m.measure(now, bits, a.config.Memory)
	if m.flows != nil {
		activity += m.flows.count(now, p, bits, a.config.Memory)
	}
	if a.spread != nil {
		activity += a.spread.draw()
	}
	if a.config.Domain == DomainMember {
		activity = a.honest.written(min(activity, a.maxMarkFrom(p.Meta.In).exact)) // what the next switch will see
	}
	return activity
}

// leave gives a packet that is to enter the queue of a port what it has to carry there. It is dropped if the
// mark makes it too long for the link.
func (a *Program) leave(p *packet.Packet) dataplane.Verdict {
	if a.sides[p.Meta.Out] == Outside {
		unmark(p)
		return dataplane.Accept
	}
	if a.config.Domain == WholeDomain || a.outside(&p.Meta) || p.Version == 0 { // what is not IP has no room for a mark
		return dataplane.Accept
	}
	if mtu := a.mtus[p.Meta.Out]; mtu > 0 {
		n, front := length(p)
		mtu -= front
		if !fits(p, n-front, mtu) {
			p.Meta.User = uint32(mtu - markBytes)
			return dataplane.Drop(dataplane.TooLong)
		}
		limitSegments(p, mtu)
	}
	x := math.Float32bits(float32(a.activity))
	if a.whole != nil {
		x = a.whole.activity.float32()
	}
	if a.classed {
		x = withClass(x, p.Meta.Class)
	}
	mark(p, x)
	return dataplane.Accept
}

// PPPoE's session header, and two bytes of PPP's protocol (RFC 2516 §4, §7).
const (
	etherPPPoE = 0x8864
	pppoeBytes = 8
)

// length is that of a packet's part that the MTU bounds: all behind the Ethernet header, and behind tags. front is
// what of it stands in front of the IP packet. Hosts do not count that: they are told, and announce, lengths of IP.
func length(p *packet.Packet) (n, front int32) {
	if p.Data == nil {
		return p.Headers() + p.ExtensionBytes() + p.Payload - packet.EthernetHeader, 0
	}
	n = int32(len(p.Data)) - packet.EthernetHeader
	for at := 12; n >= 4; at += 4 {
		switch binary.BigEndian.Uint16(p.Data[at:]) {
		case 0x8100, 0x88a8, 0x9100: // tags are no part of what the MTU counts
			n -= 4
			continue
		case etherPPPoE:
			front = pppoeBytes
		}
		break
	}
	return n, front
}

// fits reports whether an IP packet of n bytes, with a mark, is not too long for links inside.
func fits(p *packet.Packet, n, mtu int32) bool {
	if !p.Asks(packet.ExtActivity) {
		n += markBytes
	}
	return n <= mtu
}

// limitSegments lowers the largest segment that a SYN announces, so that segments have room for the mark
// (RFC 9293 §3.7.1: the MSS excludes the fixed headers of IP and TCP).
func limitSegments(p *packet.Packet, mtu int32) {
	if p.Proto != packet.ProtoTCP || p.TCP.MSS == 0 {
		return
	}
	headers := int32(packet.IPv4Header + packet.TCPHeader)
	if p.Version == 6 {
		headers += packet.IPv6Header - packet.IPv4Header
	}
	p.TCP.MSS = uint16(min(int32(p.TCP.MSS), mtu-markBytes-headers))
}

// outside reports whether the packet is outside the domain: it passes the AQM and does not enter A_avg.
func (a *Program) outside(m *packet.Metadata) bool {
	return m.Flags&packet.Internal != 0 || math.IsNaN(a.activity)
}
