package frames

import (
	"encoding/binary"
	"net/netip"

	"weir/core/packet"
	"weir/core/unit"
)

var be = binary.BigEndian

// Ethernet types and what is behind some of them.
const (
	etherVLAN    = 0x8100 // IEEE 802.1Q
	etherService = 0x88a8 // 802.1ad, the outer tag of QinQ
	etherOldQinQ = 0x9100
	etherPPPoE   = 0x8864 // session, RFC 2516
	pppoeHeader  = 6      // and two bytes of PPP's protocol
	pppIPv4      = 0x0021
	pppIPv6      = 0x0057
	tagBytes     = 4
	maxTags      = 2

	typeAt        = 12 // of the Ethernet type in a frame without tags
	shortestFrame = 60 // without FCS

	etherARP = 0x0806

	solicitation, redirect = 133, 137 // of ICMPv6: the types of neighbour discovery (RFC 4861 §4)
	unrouted               = 255      // hop limit of those: no router has passed them on (RFC 4861 §6.1, §7.1)

	// Extension headers of IPv6 (RFC 8200 §4) behind which the transport's header is looked for, and how many
	// of them.
	hopByHop, routing, fragmented, destination = 0, 43, 44, 60
	maxExtensions                              = 8
)

// MaxTagged is the most bytes that tags add to a frame.
const MaxTagged = maxTags * tagBytes

// Codec is the switch's parser and deparser (dataplane.Codec). It reads what programs need of IP frames, below
// VLAN tags and PPPoE, and writes only what they have changed.
//
// Every frame belongs to a user: the packet's Src is the user's number, and Dst the number of the other end, if a
// program asks for it. A user is the source address or, if users are behind a port, the destination of what goes
// there; or the frame's VLANs. What has neither, such as a frame that is not IP, or whose lengths are wrong, is of all
// others at the port where it came in. The only frames without a user are ARP and neighbour discovery that exempt lets
// pass. They are marked as the switch's own are (packet.Internal), which programs neither meter nor drop.
type Codec struct {
	users  *Users
	stacks stacks
}

// NewCodec returns the codec of a switch with these users.
func NewCodec(users *Users) *Codec { return &Codec{users: users} }

// OuterVLAN returns the identifier of a frame's outermost VLAN tag; 0 if it has none.
func OuterVLAN(f []byte) uint16 {
	if kind := be.Uint16(f[typeAt:]); (kind == etherVLAN || kind == etherService || kind == etherOldQinQ) &&
		len(f) >= typeAt+tagBytes {
		return be.Uint16(f[typeAt+2:]) & 0xfff
	}
	return 0
}

// Parse fills p from its frame. What cannot be read is no error: it is carried.
func (c *Codec) Parse(now unit.Time, in packet.PortID, p *packet.Packet) error {
	p.ClearExtensions()
	f := p.Data
	p.Kind, p.Version, p.TOS, p.HopLimit, p.Proto = packet.Data, 0, 0, 0, 0
	p.Src, p.Dst, p.SrcPort, p.DstPort, p.Payload, p.Seq, p.Ack = 0, 0, 0, 0, 0, 0, 0
	p.TCP.MSS, p.TCP.Window, p.TCP.Flags, p.TCP.Has = 0, 0, 0, 0
	p.Meta.Flags &^= packet.Internal | packet.ToUser
	d, ok := dissect(f)
	if c.exempt(now, in, f, &d, ok) {
		p.Meta.Flags |= packet.Internal
	}
	if !ok {
		c.assign(now, in, p, &d, netip.Addr{}, netip.Addr{})
		p.Hash = packet.FlowHash(packet.Addr(be.Uint32(f)^be.Uint32(f[6:])), packet.Addr(be.Uint32(f[8:])), be.Uint16(f[4:]),
			be.Uint16(f[typeAt:]), 0)
		return nil
	}
	ip := f[d.ip:]
	var src, dst netip.Addr
	if p.Version = d.version; d.version == 4 {
		h := packet.IPv4(ip)
		p.TOS, p.HopLimit, src, dst = h.TOS(), h.TTL(), h.Src(), h.Dst()
	} else {
		h := packet.IPv6(ip)
		p.TOS, p.HopLimit, src, dst = h.TOS(), h.HopLimit(), h.Src(), h.Dst()
	}
	p.Proto, p.Payload = d.proto, int32(d.end-d.payload)
	rest := f[d.transport:d.end]
	if d.payload > d.transport { // a header was there
		p.SrcPort, p.DstPort = be.Uint16(rest), be.Uint16(rest[2:])
	}
	readSegment(p, &d)
	readTrace(p, &d)
	if p.StackPlace() == 0 {
		c.readStack(p, &d)
	}
	readMark(p, &d)
	p.Hash = packet.FlowHash(fold(src), fold(dst), p.SrcPort, p.DstPort, p.Proto)
	c.assign(now, in, p, &d, src, dst)
	return nil
}

// readSegment takes over what programs need of a TCP header: numbers, window, flags and options, and whether it is an
// acknowledgement, or another switch's notice. Damaged options are left to the hosts.
func readSegment(p *packet.Packet, d *anatomy) {
	if d.proto != packet.ProtoTCP || d.payload == d.transport {
		return
	}
	if p.ParseSegment(packet.TCP(p.Data[d.transport:d.end]), int(p.Payload)) != nil && p.Payload == 0 {
		p.Kind = packet.Ack
	}
}

// writeSegment writes back what programs may have changed of a TCP header: the window, and the MSS of a SYN.
func writeSegment(p *packet.Packet, d *anatomy) {
	if d.proto != packet.ProtoTCP || d.payload == d.transport {
		return
	}
	t := packet.TCP(p.Data[d.transport:d.end])
	t.SetWindow(p.TCP.Window)
	if p.TCP.MSS > 0 && p.TCP.Flags&packet.SYN != 0 {
		t.SetMSS(p.TCP.MSS)
	}
}

// Opposite returns the hash of the flow the other way. The numbers of users, Src and Dst, are not in it.
func (c *Codec) Opposite(p *packet.Packet) uint32 {
	d, ok := dissect(p.Data)
	if !ok {
		return 0
	}
	var src, dst netip.Addr
	if ip := p.Data[d.ip:]; d.version == 4 {
		src, dst = packet.IPv4(ip).Src(), packet.IPv4(ip).Dst()
	} else {
		src, dst = packet.IPv6(ip).Src(), packet.IPv6(ip).Dst()
	}
	return packet.FlowHash(fold(dst), fold(src), p.DstPort, p.SrcPort, p.Proto)
}

// exempt reports whether a frame belongs to no user: ARP, or neighbour discovery that no router has passed on, up to a
// length and, each of both, up to a rate at a port. Without it hosts would not find each other where others are
// too active; without bounds, no program would meet its sender.
func (c *Codec) exempt(now unit.Time, in packet.PortID, f []byte, d *anatomy, ip bool) bool {
	class := ofARP
	switch {
	case ip && d.discovery:
		class = ofDiscovery
	case ip || d.kind != etherARP:
		return false
	}
	rules := c.users.rules
	return len(f) <= int(rules.ExemptSize) && c.users.exempts[in][class].take(now, 8*int64(len(f)), rules.ExemptRate)
}

// assign finds the user of a packet, and whether it goes to that user (packet.ToUser): what a user receives is
// measured apart from what it sends. src and dst are not valid if the frame has no addresses. What belongs to
// the others at a port has one direction only, lest they have two users' parts.
func (c *Codec) assign(now unit.Time, in packet.PortID, p *packet.Packet, d *anatomy, src, dst netip.Addr) {
	if p.Meta.Flags&packet.Internal != 0 {
		return
	}
	u := c.users
	behind := u.rules.behind()
	receives := behind != packet.NoPort && in != behind
	tagged := packet.Addr(0)
	if u.rules.By == ByAddress {
		tagged = u.customer(now, d.vlans[0], d.vlans[1])
	}
	switch {
	case tagged != 0:
		p.Src = tagged
	case u.rules.By == ByVLAN:
		p.Src = u.vlans(now, in, VLANs(d.vlans[0])<<12)
	case u.rules.By == ByQinQ:
		p.Src = u.vlans(now, in, VLANs(d.vlans[0])<<12|VLANs(d.vlans[1]))
	case !src.IsValid() || d.discovery:
		p.Src = u.others(in)
	case receives:
		p.Src = u.address(now, in, dst)
	default:
		p.Src = u.address(now, in, src)
	}
	if p.Dst = u.peer(dst); receives {
		p.Dst = u.peer(src)
	}
	if receives && int(p.Src) > u.ports {
		p.Meta.Flags |= packet.ToUser
	}
}

// fold makes 32 bits of an address, for a hash.
func fold(a netip.Addr) packet.Addr {
	b := a.As16()
	return packet.Addr((be.Uint32(b[0:])*31+be.Uint32(b[4:]))*31 + be.Uint32(b[8:])*31 + be.Uint32(b[12:]))
}

// anatomy is where in a frame the parts of an IP packet are.
type anatomy struct {
	ip, transport, payload, end int // transport = payload if there is no header that is known
	session                     int // PPPoE header, 0 if there is none
	version, proto              uint8
	discovery                   bool // neighbour discovery with the hop limit that it must have

	vlans [maxTags]uint16 // identifiers of the tags, the outermost one first
	kind  uint16          // Ethernet type behind the tags
}

// dissect finds the IP packet of a frame; false if it cannot read one. It checks what packet's
// parsers check without making errors, because a sender of damaged frames may send many of them.
func dissect(f []byte) (d anatomy, ok bool) {
	at := typeAt
	d.kind = be.Uint16(f[at:])
	for tags := 0; d.kind == etherVLAN || d.kind == etherService || d.kind == etherOldQinQ; tags++ {
		if at += tagBytes; tags == maxTags || len(f) < at+2 {
			return d, false
		}
		d.vlans[tags] = be.Uint16(f[at-2:]) & 0xfff
		d.kind = be.Uint16(f[at:])
	}
	at += 2
	kind := d.kind
	if kind == etherPPPoE {
		if len(f) < at+pppoeHeader+2 {
			return d, false
		}
		d.session = at
		at += pppoeHeader + 2
		switch be.Uint16(f[at-2:]) {
		case pppIPv4:
			kind = packet.EtherIPv4
		case pppIPv6:
			kind = packet.EtherIPv6
		}
	}
	d.ip = at
	whole := true
	switch kind {
	case packet.EtherIPv4:
		h := packet.IPv4(f[at:])
		if len(h) < packet.IPv4Header || h[0]>>4 != 4 {
			return d, false
		}
		header, total := int(h[0]&15)*4, int(be.Uint16(h[2:]))
		if header < packet.IPv4Header || total < header || total > len(h) {
			return d, false
		}
		d.version, d.proto, whole = 4, h.Protocol(), !h.Fragment()
		d.transport, d.end = at+header, at+total
		if d.proto == shim {
			d.behindShim(f)
		}
	case packet.EtherIPv6:
		h := packet.IPv6(f[at:])
		if len(h) < packet.IPv6Header || h[0]>>4 != 6 {
			return d, false
		}
		d.version, d.proto = 6, h.NextHeader()
		d.transport, d.end = at+packet.IPv6Header, at+packet.IPv6Header+int(be.Uint16(h[4:]))
		if d.end > len(f) {
			return d, false
		}
		d.discovery = discovers(h, f[d.transport:d.end])
		whole = d.extensions(f)
	default:
		return d, false
	}
	d.payload = d.transport
	switch rest := f[d.transport:d.end]; {
	case !whole:
	case d.proto == packet.ProtoTCP && len(rest) >= packet.TCPHeader:
		if n := int(rest[12]>>4) * 4; n >= packet.TCPHeader && n <= len(rest) {
			d.payload += n
		}
	case d.proto == packet.ProtoUDP && len(rest) >= packet.UDPHeader:
		d.payload += packet.UDPHeader
	}
	return d, true
}

// discovers reports whether a packet of IPv6 is neighbour discovery as a node must take it: nobody but a
// neighbour can have sent it (RFC 4861 §6.1, §7.1), and it has no fragment header (RFC 6980 §5).
func discovers(h packet.IPv6, rest []byte) bool {
	return h.NextHeader() == packet.ProtoICMPv6 && h.HopLimit() == unrouted && len(rest) > 0 &&
		rest[0] >= solicitation && rest[0] <= redirect
}

// extensions goes behind the extension headers of IPv6, as far as they can be read, to the transport's header.
// It returns false if that is not there: in all fragments but a whole packet, and on the way to another router
// of a routing header, until which checksums are of other addresses.
func (d *anatomy) extensions(f []byte) bool {
	for range maxExtensions {
		rest := f[d.transport:d.end]
		switch d.proto {
		case hopByHop, routing, destination:
			if len(rest) < 8 || len(rest) < 8*(int(rest[1])+1) {
				return false
			}
			if d.proto == routing && rest[3] > 0 {
				return false
			}
			d.proto, d.transport = rest[0], d.transport+8*(int(rest[1])+1)
		case fragmented:
			if len(rest) < 8 {
				return false
			}
			offset := be.Uint16(rest[2:])
			d.proto, d.transport = rest[0], d.transport+8
			if offset&^6 != 0 { // an offset, or more to come
				return false
			}
		default:
			return true
		}
	}
	return false
}

// Deparse writes DSCP, ECN, hop limit, mark, trace, MSS and window back, and cuts the payload off that was trimmed.
func (c *Codec) Deparse(p *packet.Packet) error {
	if p.Version == 0 {
		return nil
	}
	d, ok := dissect(p.Data)
	if !ok {
		return nil
	}
	if d.version == 4 {
		h := packet.IPv4(p.Data[d.ip:])
		h.SetTOS(p.TOS)
		h.SetTTL(p.HopLimit)
	} else {
		h := packet.IPv6(p.Data[d.ip:])
		h.SetTOS(p.TOS)
		h.SetHopLimit(p.HopLimit)
	}
	if p.StackPlace() == 0 && p.Payload >= 0 && int(p.Payload) < d.end-d.payload {
		cut(p, &d)
		d, _ = dissect(p.Data)
	}
	writeSegment(p, &d)
	writeTrace(p, &d)
	if err := c.writeStack(p, &d); err != nil {
		return err
	}
	d, _ = dissect(p.Data)
	writeMark(p, &d)
	return nil
}

// cut shortens p's frame to its Payload, with all lengths and checksums.
func cut(p *packet.Packet, d *anatomy) {
	end := d.payload + int(p.Payload)
	f := p.Data[:end]
	if d.session > 0 {
		be.PutUint16(f[d.session+4:], uint16(end-d.session-pppoeHeader))
	}
	var src, dst netip.Addr
	if ip := f[d.ip:]; d.version == 4 {
		h := packet.IPv4(ip)
		src, dst = h.Src(), h.Dst()
		old := be.Uint16(ip[2:])
		be.PutUint16(ip[2:], uint16(len(ip)))
		be.PutUint16(ip[10:], packet.UpdateChecksum(be.Uint16(ip[10:]), old, uint16(len(ip))))
	} else {
		h := packet.IPv6(ip)
		src, dst = h.Src(), h.Dst()
		be.PutUint16(ip[4:], uint16(len(ip)-packet.IPv6Header))
	}
	switch segment := f[d.transport:]; {
	case d.payload == d.transport:
	case d.proto == packet.ProtoTCP:
		packet.SealTCP(segment, src, dst)
	case d.version == 4 && be.Uint16(segment[6:]) == 0: // sent without a checksum
		be.PutUint16(segment[4:], uint16(len(segment)))
	default:
		packet.SealUDP(segment, src, dst)
	}
	for len(f) < shortestFrame && len(f) < len(p.Data) {
		f = append(f, 0)
	}
	p.Data = f
}
