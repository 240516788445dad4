package softswitch

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
	mostTags     = 2

	typeAt        = 12 // of the Ethernet type in a frame without tags
	shortestFrame = 60 // without FCS

	solicitation, redirect = 133, 137 // of ICMPv6: the types of neighbour discovery (RFC 4861 §4)
)

// MostTagged is how many bytes tags add to a frame at most.
const MostTagged = mostTags * tagBytes

// codec is the switch's parser and deparser. It reads what programs need of IP frames, below
// VLAN tags and PPPoE, and writes only what they have changed. A frame that is not IP, and
// neighbour discovery of IPv6, belong to no user: they are marked as the switch's own
// (packet.Internal), which ABC neither meters nor drops.
//
// A packet's Src is the number of its user's address. That is the source, or, if users are
// behind a port, the destination of what goes there; Dst stays 0.
type codec struct {
	users  *users
	behind packet.PortID // NoPort: users are sources
}

// Parse fills p from its frame. What cannot be read is no error: it is carried.
func (c *codec) Parse(now unit.Time, in packet.PortID, p *packet.Packet) error {
	p.ClearExtensions()
	f := p.Data
	p.Kind, p.Version, p.TOS, p.HopLimit, p.Proto = packet.Data, 0, 0, 0, 0
	p.Src, p.Dst, p.SrcPort, p.DstPort, p.Payload, p.Seq, p.Ack = 0, 0, 0, 0, 0, 0, 0
	d, ok := dissect(f)
	if !ok {
		p.Meta.Flags |= packet.Internal
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
	switch {
	case d.proto == packet.ProtoICMPv6 && d.version == 6 && len(rest) > 0 && rest[0] >= solicitation &&
		rest[0] <= redirect:
		p.Meta.Flags |= packet.Internal
	case d.payload > d.transport: // a header was there
		p.SrcPort, p.DstPort = be.Uint16(rest), be.Uint16(rest[2:])
		if d.proto == packet.ProtoTCP && p.Payload == 0 {
			p.Kind = packet.Ack
		}
	}
	p.Hash = packet.FlowHash(fold(src), fold(dst), p.SrcPort, p.DstPort, p.Proto)
	if p.Meta.Flags&packet.Internal == 0 {
		user := src
		if c.behind != packet.NoPort && in != c.behind {
			user = dst
		}
		p.Src = c.users.number(now, user)
	}
	return nil
}

// fold makes 32 bits of an address, for a hash.
func fold(a netip.Addr) packet.Addr {
	b := a.As16()
	return packet.Addr((be.Uint32(b[0:])*31+be.Uint32(b[4:]))*31 + be.Uint32(b[8:])*31 + be.Uint32(b[12:]))
}

// anatomy says where in a frame the parts of an IP packet are.
type anatomy struct {
	ip, transport, payload, end int // transport = payload if there is no header that is known
	session                     int // PPPoE header, 0 if there is none
	version, proto              uint8
}

// dissect finds the IP packet of a frame; false if there is none that it can read. It checks what packet's
// parsers check without making errors, because a sender of damaged frames may send many of them.
func dissect(f []byte) (d anatomy, ok bool) {
	at := typeAt
	kind := be.Uint16(f[at:])
	for tags := 0; kind == etherVLAN || kind == etherService || kind == etherOldQinQ; tags++ {
		if at += tagBytes; tags == mostTags || len(f) < at+2 {
			return d, false
		}
		kind = be.Uint16(f[at:])
	}
	at += 2
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

// Deparse writes DSCP, ECN and hop limit back, and cuts the payload off that was trimmed.
func (c *codec) Deparse(p *packet.Packet) error {
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
	if p.Payload >= 0 && int(p.Payload) < d.end-d.payload {
		cut(p, &d)
	}
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
