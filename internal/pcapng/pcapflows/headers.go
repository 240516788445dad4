package pcapflows

import (
	"encoding/binary"
	"net/netip"

	"weir/core/packet"
)

// be is the byte order of network headers.
var be = binary.BigEndian

// header is the content of a captured frame's IP header.
type header struct {
	src, dst netip.Addr
	length   int    // of the IP packet, also if less was captured
	proto    uint8  // protocol behind the IP headers
	rest     []byte // captured bytes of that protocol
	payload  int    // length of that protocol's data in bytes
	tos      uint8
	// Fields of a fragment.
	id             uint32
	fragmentOffset int // offset in the original packet in bytes
	fragment       bool
}

// Types of link layers (LINKTYPE_…).
const (
	linkNull     = 0
	linkEthernet = 1
	linkRaw      = 101
	linkLoop     = 108
	linkSLL      = 113
	linkIPv4     = 228
	linkIPv6     = 229
	linkSLL2     = 276
)

// parseHeader reads the headers of a frame. The result reason is why the frame is left out if they cannot be read, else
// empty.
func (f *Frame) parseHeader() (h header, reason string) {
	b := f.Data
	etherType, link := uint16(0), 0 // bytes before IP
	switch f.Interface.Link {
	case linkEthernet:
		link = packet.EthernetHeader
		for ; len(b) >= link && (typeBefore(b, link) == 0x8100 || typeBefore(b, link) == 0x88a8 ||
			typeBefore(b, link) == 0x9100); link += 4 { // IEEE 802.1Q, 802.1ad
		}
		if len(b) < link {
			return h, cut
		}
		etherType = typeBefore(b, link)
	case linkSLL:
		if link = 16; len(b) < link {
			return h, cut
		}
		etherType = typeBefore(b, link)
	case linkSLL2:
		if link = 20; len(b) < link {
			return h, cut
		}
		etherType = be.Uint16(b)
	case linkNull, linkLoop:
		link = 4
	case linkRaw, linkIPv4, linkIPv6, 12, 14: // 12 and 14 are values of DLT_RAW in files
	default:
		return h, unknownLink
	}
	if len(b) < link+1 {
		return h, cut
	}
	b = b[link:]
	if etherType == 0 {
		etherType = EtherTypeOf(b)
	}
	switch etherType {
	case packet.EtherIPv4:
		return h, h.parseIPv4(b, f.Length-link)
	case packet.EtherIPv6:
		return h, h.parseIPv6(b, f.Length-link)
	}
	return h, notIP
}

// typeBefore returns the Ethernet type in the last two bytes of a link header of link bytes.
func typeBefore(b []byte, link int) uint16 { return be.Uint16(b[link-2:]) }

// parseIPv4 reads an IPv4 packet into h; whole is its length on the wire, with padding. The result reason is why the
// frame is left out; empty if it can be read.
func (h *header) parseIPv4(b []byte, whole int) (reason string) {
	if len(b) < packet.IPv4Header {
		return cut
	}
	head := int(b[0]&15) * 4
	if h.length = int(be.Uint16(b[2:])); h.length == 0 {
		h.length = whole // a segment that the network card would split
	}
	switch {
	case b[0]>>4 != 4 || head < packet.IPv4Header || h.length < head:
		return damaged
	case len(b) < head:
		return cut
	}
	h.proto, h.tos = b[9], b[1]
	h.src, h.dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	flags := be.Uint16(b[6:])
	h.fragment, h.fragmentOffset, h.id = flags&0x3fff != 0, 8*int(flags&0x1fff), uint32(be.Uint16(b[4:]))
	h.rest, h.payload = b[head:min(len(b), h.length)], h.length-head
	if h.fragment && h.fragmentOffset > 0 {
		return ""
	}
	return h.skipExtensions()
}

// parseIPv6 reads an IPv6 packet with its extensions, like parseIPv4.
func (h *header) parseIPv6(b []byte, whole int) (reason string) {
	if len(b) < packet.IPv6Header {
		return cut
	}
	if h.length = packet.IPv6Header + int(be.Uint16(b[4:])); h.length == packet.IPv6Header && b[6] != 59 {
		h.length = whole // as in parseIPv4, or a jumbogram
	}
	if b[0]>>4 != 6 || h.length < packet.IPv6Header {
		return damaged
	}
	h.proto, h.tos = b[6], b[0]<<4|b[1]>>4
	h.src, h.dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	h.rest, h.payload = b[packet.IPv6Header:max(packet.IPv6Header, min(len(b), h.length))], h.length-packet.IPv6Header
	return h.skipExtensions()
}

// skipExtensions moves rest to the transport's header, behind IPv6 extensions (RFC 8200 §4) and Weir's own. The result
// reason is why the frame is left out; empty if it can be read.
func (h *header) skipExtensions() (reason string) {
	const shim = 253 // packet.Emit's extensions (RFC 3692)
	for {
		n := 0
		switch h.proto {
		case 0, 43, 60, shim:
			if len(h.rest) < 8 {
				return cut
			}
			n = 8 * (int(h.rest[1]) + 1)
		case 44: // fragment
			if len(h.rest) < 8 {
				return cut
			}
			n = 8
			h.fragment, h.fragmentOffset, h.id = true, int(be.Uint16(h.rest[2:])&^7), be.Uint32(h.rest[4:])
		default:
			h.proto, h.tos, h.rest, h.payload = packet.Unstack(h.proto, h.tos, h.rest, h.payload)
			return ""
		}
		if n > h.payload {
			return damaged
		}
		if n > len(h.rest) {
			return cut
		}
		later := h.proto == 44 && h.fragmentOffset > 0
		h.proto, h.rest, h.payload = h.rest[0], h.rest[n:], h.payload-n
		if later {
			return ""
		}
	}
}

// segment is the content of a TCP header.
type segment struct {
	from, to uint16
	seq      uint32
	flags    uint8
	head     int // length of the header in bytes
	payload  int
}

// Flags of TCP.
const (
	fin = 1
	syn = 2
	rst = 4
	ack = 16
)

// parseSegment reads the TCP header at h.rest. The result reason is why the frame is left out; empty if it can be read.
func (h *header) parseSegment() (s segment, reason string) {
	b := h.rest
	if len(b) < 14 { // only these bytes are used
		return s, cut
	}
	s = segment{from: be.Uint16(b), to: be.Uint16(b[2:]), seq: be.Uint32(b[4:]), flags: b[13], head: int(b[12]>>4) * 4}
	if s.payload = h.payload - s.head; s.head < packet.TCPHeader || s.payload < 0 {
		return s, damaged
	}
	return s, ""
}

// EtherTypeOf returns the Ethernet type for the version of an IP packet, 0 if b is no IP packet.
func EtherTypeOf(b []byte) uint16 {
	if len(b) > 0 && b[0]>>4 == 4 {
		return packet.EtherIPv4
	}
	if len(b) > 0 && b[0]>>4 == 6 {
		return packet.EtherIPv6
	}
	return 0
}
