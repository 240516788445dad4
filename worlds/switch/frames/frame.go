package frames

import (
	"encoding/binary"
	"net/netip"

	"weir/core/packet"
	"weir/core/unit"
)

// be is the byte order of network headers.
var be = binary.BigEndian

// Ethernet types, and numbers of the headers behind them.
const (
	etherVLAN    = 0x8100 // IEEE 802.1Q
	etherService = 0x88a8 // 802.1ad, the outer tag of QinQ
	etherOldQinQ = 0x9100
	etherPPPoE   = 0x8864 // session, RFC 2516
	pppoeHeader  = 6      // followed by two bytes of PPP's protocol
	pppIPv4      = 0x0021
	pppIPv6      = 0x0057
	tagBytes     = 4
	maxTags      = 2

	typeOffset    = 12 // offset of the Ethernet type in a frame without tags
	shortestFrame = 60 // without FCS

	etherARP = 0x0806

	solicitation, redirect = 133, 137 // ICMPv6 types of neighbour discovery (RFC 4861 §4)
	// Required hop limit of neighbour discovery: no router has forwarded it (RFC 4861 §6.1, §7.1).
	unrouted = 255

	// Extension headers of IPv6 (RFC 8200 §4) that precede the transport's header, and their maximum number.
	hopByHop, routing, fragmented, destination = 0, 43, 44, 60
	maxExtensions                              = 8
)

// MaxTagged is the maximum number of bytes that tags add to a frame.
const MaxTagged = maxTags * tagBytes

// Codec is the switch's parser and deparser (dataplane.Codec). It reads the fields of IP frames that programs
// need, also below VLAN tags and PPPoE, and writes back changed fields only.
//
// Every frame belongs to a user: the packet's Src is the user's number, and Dst the number of the other end, if a
// program asks for it. A user is the source address or, for frames to users behind a port, the destination; or the
// frame's VLANs. Other frames, such as non-IP frames and those with wrong lengths, belong to the others at the
// port of arrival. Only ARP and neighbour discovery exempted by isExempt have no user. They are marked like the
// switch's own frames (packet.Internal), which programs neither meter nor drop.
type Codec struct {
	users  *Users
	stacks stacks
}

// NewCodec returns the codec of a switch with these users.
func NewCodec(users *Users) *Codec { return &Codec{users: users} }

// OuterVLAN returns the identifier of a frame's outermost VLAN tag, 0 without a tag. f has at least an Ethernet
// header of 14 bytes.
func OuterVLAN(f []byte) uint16 {
	if kind := be.Uint16(f[typeOffset:]); (kind == etherVLAN || kind == etherService || kind == etherOldQinQ) &&
		len(f) >= typeOffset+tagBytes {
		return be.Uint16(f[typeOffset+2:]) & 0xfff
	}
	return 0
}

// Parse sets p's fields from its frame p.Data, which must have at least an Ethernet header of 14 bytes. in is the port
// of arrival. It also assigns the frame's user, which may give a new user a number, and counts exempt frames.
// Unreadable frames are forwarded, so the error is always nil; their Version is 0.
func (c *Codec) Parse(now unit.Time, in packet.PortID, p *packet.Packet) error {
	p.ClearExtensions()
	f := p.Data
	p.Kind, p.Version, p.TOS, p.HopLimit, p.Proto = packet.Data, 0, 0, 0, 0
	p.Src, p.Dst, p.SrcPort, p.DstPort, p.Payload, p.Seq, p.Ack = 0, 0, 0, 0, 0, 0, 0
	p.TCP.MSS, p.TCP.Window, p.TCP.Flags, p.TCP.Present = 0, 0, 0, 0
	p.Meta.Flags &^= packet.Internal | packet.ToUser
	d, ok := parseLayout(f)
	if c.isExempt(now, in, f, &d, ok) {
		p.Meta.Flags |= packet.Internal
	}
	if !ok {
		c.assignUser(now, in, p, &d, netip.Addr{}, netip.Addr{})
		p.Hash = packet.FlowHash(packet.Addr(be.Uint32(f)^be.Uint32(f[6:])), packet.Addr(be.Uint32(f[8:])), be.Uint16(f[4:]),
			be.Uint16(f[typeOffset:]), 0)
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
	if d.payload > d.transport { // a complete transport header exists
		p.SrcPort, p.DstPort = be.Uint16(rest), be.Uint16(rest[2:])
	}
	readSegment(p, &d)
	readTrace(p, &d)
	if p.StackPlace() == 0 {
		c.readStack(p, &d)
	}
	readMark(p, &d)
	p.Hash = packet.FlowHash(foldAddress(src), foldAddress(dst), p.SrcPort, p.DstPort, p.Proto)
	c.assignUser(now, in, p, &d, src, dst)
	return nil
}

// readSegment reads the fields of a TCP header that programs need: numbers, window, flags and options. It also marks
// acknowledgements and other switches' notices (Kind). Damaged options are left to the hosts. Other packets stay as
// they are.
func readSegment(p *packet.Packet, d *frameLayout) {
	if d.proto != packet.ProtoTCP || d.payload == d.transport {
		return
	}
	if p.ParseSegment(packet.TCP(p.Data[d.transport:d.end]), int(p.Payload)) != nil && p.Payload == 0 {
		p.Kind = packet.Ack
	}
}

// writeSegment writes fields of a TCP header that programs may change back to the frame: the window, and the MSS of a
// SYN. It updates the checksum.
func writeSegment(p *packet.Packet, d *frameLayout) {
	if d.proto != packet.ProtoTCP || d.payload == d.transport {
		return
	}
	t := packet.TCP(p.Data[d.transport:d.end])
	t.SetWindow(p.TCP.Window)
	if p.TCP.MSS > 0 && p.TCP.Flags&packet.SYN != 0 {
		t.SetMSS(p.TCP.MSS)
	}
}

// Opposite returns the flow hash of the other direction, 0 if the frame is not IP. It does not include Src and Dst,
// the numbers of users.
func (c *Codec) Opposite(p *packet.Packet) uint32 {
	d, ok := parseLayout(p.Data)
	if !ok {
		return 0
	}
	var src, dst netip.Addr
	if ip := p.Data[d.ip:]; d.version == 4 {
		src, dst = packet.IPv4(ip).Src(), packet.IPv4(ip).Dst()
	} else {
		src, dst = packet.IPv6(ip).Src(), packet.IPv6(ip).Dst()
	}
	return packet.FlowHash(foldAddress(dst), foldAddress(src), p.DstPort, p.SrcPort, p.Proto)
}

// isExempt reports whether a frame f with layout d belongs to no user: ARP, or neighbour discovery that no router has
// forwarded, up to a size and, for each class, up to a rate at port in. It counts an exempt frame in that rate. Without
// exemption hosts could not resolve addresses while others are too active. Without limits, no program would restrict
// such a sender. ip: d is an IP packet's.
func (c *Codec) isExempt(now unit.Time, in packet.PortID, f []byte, d *frameLayout, ip bool) bool {
	class := classARP
	switch {
	case ip && d.discovery:
		class = classDiscovery
	case ip || d.kind != etherARP:
		return false
	}
	rules := c.users.rules
	return len(f) <= int(rules.ExemptSize) && c.users.exempts[in][class].allow(now, 8*int64(len(f)), rules.ExemptRate)
}

// assignUser sets the user of a packet (Src), the number of the other end (Dst), and whether the packet goes to the
// user (packet.ToUser), because received and sent traffic of a user is metered separately. src and dst are invalid if
// the frame has no addresses. The others at a port have one direction only, so that they do not get two users' shares.
// Packets without a user (packet.Internal) stay as they are.
func (c *Codec) assignUser(now unit.Time, in packet.PortID, p *packet.Packet, d *frameLayout, src, dst netip.Addr) {
	if p.Meta.Flags&packet.Internal != 0 {
		return
	}
	u := c.users
	behind := u.rules.behindPort()
	receives := behind != packet.NoPort && in != behind
	tagged := packet.Addr(0)
	if u.rules.By == ByAddress {
		tagged = u.numberOfCustomer(now, d.vlans[0], d.vlans[1])
	}
	switch {
	case tagged != 0:
		p.Src = tagged
	case u.rules.By == ByVLAN:
		p.Src = u.numberOfVLANs(now, in, VLANs(d.vlans[0])<<12)
	case u.rules.By == ByQinQ:
		p.Src = u.numberOfVLANs(now, in, VLANs(d.vlans[0])<<12|VLANs(d.vlans[1]))
	case !src.IsValid() || d.discovery:
		p.Src = u.othersNumber(in)
	case receives:
		p.Src = u.numberOfAddress(now, in, dst)
	default:
		p.Src = u.numberOfAddress(now, in, src)
	}
	if p.Dst = u.peerNumber(dst); receives {
		p.Dst = u.peerNumber(src)
	}
	if receives && int(p.Src) > u.ports {
		p.Meta.Flags |= packet.ToUser
	}
}

// foldAddress returns 32 bits of an address for a hash.
func foldAddress(a netip.Addr) packet.Addr {
	b := a.As16()
	return packet.Addr((be.Uint32(b[0:])*31+be.Uint32(b[4:]))*31 + be.Uint32(b[8:])*31 + be.Uint32(b[12:]))
}

// frameLayout locates the parts of an IP packet in a frame.
type frameLayout struct {
	ip, transport, payload, end int // offsets; transport = payload without a known header
	session                     int // offset of the PPPoE header, 0 without one
	version, proto              uint8
	discovery                   bool // neighbour discovery with the required hop limit

	vlans [maxTags]uint16 // identifiers of the tags, outermost first
	kind  uint16          // Ethernet type behind the tags
}

// parseLayout locates the IP packet of a frame, which must have at least an Ethernet header of 14 bytes. It returns
// false if the frame cannot be read; d may then have the tags and the type. It makes the checks of package packet's
// parsers without allocating errors, because a sender may send many damaged frames.
func parseLayout(f []byte) (d frameLayout, ok bool) {
	at := typeOffset
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
			d.skipShim(f)
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
		d.discovery = isDiscovery(h, f[d.transport:d.end])
		whole = d.skipExtensions(f)
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

// isDiscovery reports whether an IPv6 packet is neighbour discovery that a node must accept: only a neighbour can
// have sent it (RFC 4861 §6.1, §7.1), and it has no fragment header (RFC 6980 §5).
func isDiscovery(h packet.IPv6, rest []byte) bool {
	return h.NextHeader() == packet.ProtoICMPv6 && h.HopLimit() == unrouted && len(rest) > 0 &&
		rest[0] >= solicitation && rest[0] <= redirect
}

// skipExtensions moves transport behind the IPv6 extension headers and sets proto. It returns false if the transport's
// header cannot be used: in fragments, damaged headers or more than maxExtensions. It also returns false on the way to
// another router of a routing header, until which checksums cover other addresses. f is the frame.
func (d *frameLayout) skipExtensions(f []byte) bool {
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
			if offset&^6 != 0 { // an offset, or further fragments
				return false
			}
		default:
			return true
		}
	}
	return false
}

// Deparse writes DSCP, ECN, hop limit, mark, trace, telemetry, MSS and window back into p.Data, and removes trimmed
// payload. It updates lengths and checksums. Frames that are not IP remain unchanged. It may replace p.Data.
func (c *Codec) Deparse(p *packet.Packet) error {
	if p.Version == 0 {
		return nil
	}
	d, ok := parseLayout(p.Data)
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
		cutPayload(p, &d)
		d, _ = parseLayout(p.Data)
	}
	writeSegment(p, &d)
	writeTrace(p, &d)
	if err := c.writeStack(p, &d); err != nil {
		return err
	}
	d, _ = parseLayout(p.Data)
	writeMark(p, &d)
	return nil
}

// cutPayload shortens p's frame with layout d to its Payload and updates lengths and checksums. It pads the frame to
// shortestFrame, unless it was shorter. d no longer fits the frame afterwards.
func cutPayload(p *packet.Packet, d *frameLayout) {
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
