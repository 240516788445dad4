package pcapng

import (
	"encoding/binary"
	"net/netip"

	"github.com/gopacket/gopacket/layers"

	"weir/core/packet"
	"weir/core/trace"
	"weir/internal/pcapng/pcapflows"
)

// be is the byte order of network headers.
var be = binary.BigEndian

// dissectFrame fills in a record's addresses, ports and sequence numbers from a frame, which may be truncated. The
// argument link is the frame's link layer. Fields that cannot be read stay empty: other tools' files contain frames of
// any kind.
func dissectFrame(r *trace.Record, b []byte, link layers.LinkType) {
	var etherType uint16
	switch link {
	case layers.LinkTypeEthernet:
		if len(b) < packet.EthernetHeader {
			return
		}
		etherType, b = be.Uint16(b[12:]), b[packet.EthernetHeader:]
		for (etherType == 0x8100 || etherType == 0x88a8) && len(b) >= 4 { // IEEE 802.1Q
			etherType, b = be.Uint16(b[2:]), b[4:]
		}
	case layers.LinkTypeLinuxSLL:
		if len(b) < 16 {
			return
		}
		etherType, b = be.Uint16(b[14:]), b[16:]
	case layers.LinkTypeNull, layers.LinkTypeLoop:
		if len(b) < 5 {
			return
		}
		b = b[4:]
		etherType = pcapflows.EtherTypeOf(b)
	default: // IP without a link layer, or an unknown link layer
		if link == layers.LinkTypeRaw || link == layers.LinkTypeIPv4 || link == layers.LinkTypeIPv6 {
			etherType = pcapflows.EtherTypeOf(b)
		}
	}
	switch etherType {
	case packet.EtherIPv4:
		dissectIPv4(r, b)
	case packet.EtherIPv6:
		dissectIPv6(r, b)
	case packet.EtherControl:
		dissectPFC(r, b)
	}
}

// dissectPFC reads a priority pause (IEEE 802.1Qbb) from b: opcode 0101, classes, a pause time for each class. It sets
// r.Packet to packet.Pause if a time is above 0, else to packet.Resume. It ignores other control frames.
func dissectPFC(r *trace.Record, b []byte) {
	if len(b) < 20 || be.Uint16(b) != 0x0101 {
		return
	}
	r.Packet = packet.Resume
	for _, x := range b[4:20] {
		if x != 0 {
			r.Packet = packet.Pause
		}
	}
}

// dissectIPv4 reads an IPv4 header and what follows it.
func dissectIPv4(r *trace.Record, b []byte) {
	if len(b) < packet.IPv4Header || b[0]>>4 != 4 {
		return
	}
	head := int(b[0]&15) * 4
	length := int(be.Uint16(b[2:]))
	if head < packet.IPv4Header || length < head || len(b) < head {
		return
	}
	r.TOS, r.Proto = b[1], b[9]
	r.Src, r.Dst = trace.FormatAddress(netip.AddrFrom4([4]byte(b[12:16]))),
		trace.FormatAddress(netip.AddrFrom4([4]byte(b[16:20])))
	if be.Uint16(b[6:])&0x1fff != 0 { // later fragments have no ports
		r.Payload = int64(length - head)
		return
	}
	const shim = 253 // packet.Emit's extensions (RFC 3692)
	rest, payload := b[head:], length-head
	if r.Proto == shim && len(rest) >= 8 && 8*(int(rest[1])+1) <= min(len(rest), payload) {
		n := 8 * (int(rest[1]) + 1)
		r.Proto, rest, payload = rest[0], rest[n:], payload-n
	}
	dissectTransport(r, rest, payload)
}

// dissectIPv6 reads an IPv6 header, its extensions and what follows them.
func dissectIPv6(r *trace.Record, b []byte) {
	if len(b) < packet.IPv6Header || b[0]>>4 != 6 {
		return
	}
	r.TOS, r.Proto = b[0]<<4|b[1]>>4, b[6]
	r.Src, r.Dst = trace.FormatAddress(netip.AddrFrom16([16]byte(b[8:24]))),
		trace.FormatAddress(netip.AddrFrom16([16]byte(b[24:40])))
	rest, payload := b[packet.IPv6Header:], int(be.Uint16(b[4:]))
	for r.Proto == 0 || r.Proto == 43 || r.Proto == 60 { // RFC 8200 §4: hop-by-hop, routing, destination options
		if len(rest) < 8 || 8*(int(rest[1])+1) > min(len(rest), payload) {
			return
		}
		n := 8 * (int(rest[1]) + 1)
		r.Proto, rest, payload = rest[0], rest[n:], payload-n
	}
	dissectTransport(r, rest, payload)
}

// dissectTransport reads the transport header in b. payload is the length that the IP header gives for what
// follows it. Telemetry between transport header and payload does not count as payload.
func dissectTransport(r *trace.Record, b []byte, payload int) {
	r.Proto, r.TOS, b, payload = packet.Unstack(r.Proto, r.TOS, b, payload)
	r.Payload = int64(payload)
	switch r.Proto {
	case packet.ProtoTCP:
		if len(b) < packet.TCPHeader {
			return
		}
		head := int(b[12]>>4) * 4
		if head < packet.TCPHeader || head > payload {
			return
		}
		r.Seq, r.Ack, r.TCPFlags = int64(be.Uint32(b[4:])), int64(be.Uint32(b[8:])), b[13]
		r.Payload = int64(payload - head)
	case packet.ProtoUDP:
		if len(b) < packet.UDPHeader || payload < packet.UDPHeader {
			return
		}
		r.Payload = int64(payload - packet.UDPHeader)
		if p := (packet.Packet{}); p.ParseRDMA(b, payload) {
			r.Proto, r.Packet, r.Seq, r.Ack, r.Payload = packet.ProtoRDMA, p.Kind, p.Seq, p.Ack, int64(p.Payload)
			r.SrcPort, r.DstPort = p.SrcPort, p.DstPort
			return
		}
	case packet.ProtoOwn: // packet.Emit's header of 16 bytes
		const header = 16
		if len(b) < header || payload < header {
			return
		}
		r.Packet = packet.Kind(b[4])
		r.Seq, r.Ack = int64(be.Uint64(b[4:])>>16&(1<<40-1)), int64(be.Uint64(b[8:])>>8&(1<<40-1))
		r.Payload = int64(payload - header)
		if trace.PacketName(r.Packet) == "unknown" {
			r.Packet = packet.Data
		}
	default:
		return
	}
	r.SrcPort, r.DstPort = be.Uint16(b), be.Uint16(b[2:])
	if r.Proto != packet.ProtoOwn {
		r.Packet = inferKind(r)
	}
}
