package packet

import (
	"bytes"
	"fmt"
	"net/netip"
)

// Deparse writes the fields that a switch's programs may have changed back into p.Data, which must be the frame that p
// was parsed from. These are TOS, hop limit, extensions, a cut payload, and TCP's sequence, acknowledgement, flags,
// window and MSS. The rest of the frame, such as IP and TCP options and payload, stays unchanged.
//
// Checksums are updated incrementally (RFC 1624), but a segment that was cut gets a new one. With other extensions
// p.Data becomes a new slice if it has no room for them. A packet with other addresses, ports, protocol or kind, which
// a program has turned round, is written by Emit instead. It is an error if the frame cannot be parsed or p cannot be
// emitted.
func (p *Packet) Deparse(book *Book) error {
	if p.updateInPlace(book) {
		return nil
	}
	p.parsed = false // the frame may differ from the fields that programs have left
	return p.rewriteFrame(book)
}

// updateInPlace is the fast path of Deparse, which nearly all frames take: TCP or UDP without extensions, where values
// change but no lengths. It writes them into p.Data. In all other cases it returns false and leaves the frame
// unchanged.
func (p *Packet) updateInPlace(book *Book) bool {
	if p.extLen > 0 || len(p.Data) < EthernetHeader+IPv4Header || int(max(p.Src, p.Dst)) >= book.Len() {
		return false
	}
	ip := p.Data[EthernetHeader:]
	var rest []byte
	switch kind := be.Uint16(p.Data[12:]); {
	case kind == EtherIPv4 && p.Version == 4:
		h := IPv4(ip)
		n, total := h.headerLength(), int(be.Uint16(h[2:]))
		if n < IPv4Header || n > total || total > len(h) || h.Protocol() != p.Proto || h.Src() != book.v4[p.Src] ||
			h.Dst() != book.v4[p.Dst] {
			return false
		}
		rest = h[n:total]
	case kind == EtherIPv6 && p.Version == 6 && len(ip) >= IPv6Header:
		h := IPv6(ip)
		total := IPv6Header + int(be.Uint16(h[4:]))
		if total > len(h) || h.NextHeader() != p.Proto || h.Src() != book.v6[p.Src] || h.Dst() != book.v6[p.Dst] {
			return false
		}
		rest = h[IPv6Header:total]
	default:
		return false
	}
	if len(rest) < UDPHeader || be.Uint16(rest) != p.SrcPort || be.Uint16(rest[2:]) != p.DstPort {
		return false
	}
	switch p.Proto {
	case ProtoTCP:
		if len(rest) < TCPHeader || int(p.Payload) != len(rest)-int(rest[12]>>4)*4 {
			return false
		}
		t := TCP(rest)
		t.SetSeq(uint32(p.Seq))
		t.SetAck(uint32(p.Ack))
		t.SetFlags(p.TCP.Flags)
		t.SetWindow(p.TCP.Window)
		if p.TCP.Flags&SYN != 0 {
			t.SetMSS(p.TCP.MSS)
		}
	case ProtoUDP:
		if p.Kind != Data || int(p.Payload) != int(be.Uint16(rest[4:]))-UDPHeader {
			return false
		}
	default:
		return false
	}
	if p.Version == 4 {
		h := IPv4(ip)
		h.SetTOS(p.TOS)
		h.SetTTL(p.HopLimit)
	} else {
		h := IPv6(ip)
		h.SetTOS(p.TOS)
		h.SetHopLimit(p.HopLimit)
	}
	return true
}

// rewriteFrame is Deparse for all frames. It parses p.Data again, changes what differs from p, and may replace p.Data.
func (p *Packet) rewriteFrame(book *Book) error {
	var old Packet
	if err := old.Parse(book, p.Data); err != nil {
		return err
	}
	if old.Kind == Pause || old.Kind == Resume {
		return nil // a program cannot change its payload
	}
	if p.TCP.Present&HasNotice != old.TCP.Present&HasNotice || p.Src != old.Src || p.Dst != old.Dst ||
		p.SrcPort != old.SrcPort ||
		p.DstPort != old.DstPort ||
		p.Proto != old.Proto || p.Version != old.Version || p.Kind != old.Kind && p.Proto != ProtoTCP {
		data, err := p.Emit(book, nil)
		if err == nil {
			p.Data = data
		}
		return err
	}
	f, err := p.rewriteHeaders(&old)
	if err != nil {
		return err
	}
	if old.Payload == p.Payload && p.storedExtensions() == old.storedExtensions() && bytes.Equal(old.Stack(), p.Stack()) &&
		(p.TOS == old.TOS || p.StackPlace() != BehindTransport) {
		return nil
	}
	if p.Payload < 0 || p.Payload > old.Payload {
		return fmt.Errorf("packet of flow %d: payload of %d bytes; the frame has %d", p.Flow, p.Payload, old.Payload)
	}
	return p.rebuildFrame(&old, f)
}

// storedExtensions returns the extensions in their stored form.
func (p *Packet) storedExtensions() string { return string(p.ext[:p.extLen]) }

// frameParts is a parsed frame: its IP header, the segment behind the extensions, and its addresses.
type frameParts struct {
	head     []byte
	segment  segment
	src, dst netip.Addr
}

// rewriteHeaders updates the fields of the IP and TCP headers in place and returns the frame's parts. old is the
// packet as parsed from the frame.
func (p *Packet) rewriteHeaders(old *Packet) (f frameParts, err error) {
	ip := p.Data[EthernetHeader:]
	var rest []byte
	if old.Version == 4 {
		h, err := ParseIPv4(ip)
		if err != nil {
			return f, err
		}
		h.SetTOS(p.wireTOS())
		h.SetTTL(p.HopLimit)
		f.head, rest, f.src, f.dst = h[:h.headerLength()], h.Payload(), h.Src(), h.Dst()
	} else {
		h, err := ParseIPv6(ip)
		if err != nil {
			return f, err
		}
		h.SetTOS(p.wireTOS())
		h.SetHopLimit(p.HopLimit)
		f.head, rest, f.src, f.dst = h[:IPv6Header], h.Payload(), h.Src(), h.Dst()
	}
	next, extended := nextHeader(old.Version)
	proto := f.head[next]
	if proto == extended {
		proto, rest = rest[0], rest[8*(int(rest[1])+1):]
	}
	if f.segment, _, err = splitSegment(proto, old.wireTOS(), old.StackPlace() == HopByHop, rest); err != nil {
		return f, err
	}
	switch old.Proto {
	case ProtoTCP:
		p.rewriteTCP(&f)
	case ProtoOwn:
		f.segment.header[ownHeader-1] = p.TCP.Flags
	}
	return f, nil
}

// rewriteTCP updates the fields of the TCP header and its checksum in place.
func (p *Packet) rewriteTCP(f *frameParts) {
	t := TCP(f.segment.header)
	t.SetSeq(uint32(p.Seq))
	t.SetAck(uint32(p.Ack))
	t.SetFlags(p.TCP.Flags)
	t.SetWindow(p.TCP.Window)
	if p.TCP.Flags&SYN != 0 {
		t.SetMSS(p.TCP.MSS)
	}
}

// nextHeader returns the offset of an IP header's protocol field, and the protocol number of a header of extensions.
func nextHeader(version uint8) (at int, extended uint8) {
	if version == 6 {
		return 6, protoHopByHop
	}
	return 9, protoShim
}

// rebuildFrame replaces p.Data by a copy with p's extensions and stack, and with the payload cut to p.Payload. old is
// the packet as parsed from the frame, f its parts. It fails, without a change, if the packet would exceed what IP can
// carry.
func (p *Packet) rebuildFrame(old *Packet, f frameParts) error {
	x := &f.segment
	sound := old.isChecksumRight(&f) // a damaged segment must not get a checksum that hides the damage
	if old.Payload != p.Payload {
		old.cutPayload(&f, p.Payload)
	}
	ext, start := int(p.ExtensionBytes()), EthernetHeader+len(f.head)
	size := len(f.head) + ext + len(x.header) + len(x.payload)
	if most := 0xffff + IPv6Header*int(old.Version/6); size > most {
		return fmt.Errorf("packet of flow %d: %d bytes of IPv%d; allowed: at most %d", p.Flow, size, old.Version, most)
	}
	var room [rebuiltRoom]byte // the bytes to copy may overlap the frame's own
	data := room[:0]
	if EthernetHeader+size > len(room) {
		data = make([]byte, 0, EthernetHeader+size)
	}
	data = append(data, p.Data[:start]...)
	next, extended := nextHeader(old.Version)
	front := p.wireProto(wireProtocol(old.Proto))
	proto := front
	if p.optionBytes() > 0 {
		proto, data = extended, p.appendExtensions(data, front)
	}
	data = p.appendFront(data, wireProtocol(old.Proto))
	header := len(data)
	data = append(data, x.header...)
	if wireProtocol(p.Proto) == ProtoUDP {
		be.PutUint16(data[header+2:], p.udpPort())
	} else if p.Proto != ProtoTCP && len(x.header) == ownHeader {
		data[header+4] &^= intBehind
	}
	data = append(p.appendBack(data, header), x.payload...)
	if old.Version == 4 {
		h := IPv4(data[EthernetHeader:])
		h.setWord(8, uint16(h[8])<<8|uint16(proto))
		h.setWord(2, uint16(size))
	} else {
		h := IPv6(data[EthernetHeader:])
		h[next] = proto
		be.PutUint16(h[4:], uint16(size-IPv6Header))
	}
	if old.Payload != p.Payload || old.StackPlace() == BehindTransport || p.StackPlace() == BehindTransport {
		p.completeSegment(data, header, &f, sound)
	}
	p.Data = append(p.Data[:0], data...)
	return nil
}

// rebuiltRoom is the maximum length in bytes of frames that are rebuilt without allocating, if p.Data has room.
const rebuiltRoom = 2048

// cutPayload shortens the payload of f, which p was parsed from, to payload bytes. RDMA's datagrams are copied and get
// a new ICRC; other segments keep their checksum.
func (p *Packet) cutPayload(f *frameParts, payload int32) {
	x := &f.segment
	if p.Proto != ProtoRDMA {
		x.payload = x.payload[:len(x.payload)-int(p.Payload-payload)]
		return
	}
	datagram := append(append(make([]byte, 0, len(x.header)+len(x.payload)), x.header...), x.payload...)
	be.PutUint16(datagram[2:], PortRoCE)
	datagram = cutRDMA(datagram, p.Payload, payload)
	sealRDMA(f.head, datagram)
	x.header, x.payload = datagram[:UDPHeader], datagram[UDPHeader:]
}

// isChecksumRight reports whether the checksum of a frame's segment is right; true for protocols other than TCP and
// UDP.
func (p *Packet) isChecksumRight(f *frameParts) bool {
	x := &f.segment
	proto := wireProtocol(p.Proto)
	sum := pseudoSum(f.src, f.dst, proto, len(x.header)+len(x.payload))
	if len(x.ifa) == 0 && len(x.stack) > 0 {
		sum = Sum(sum+uint32(len(x.stack)), x.stack)
	}
	switch proto {
	case ProtoTCP, ProtoUDP:
		return Checksum(Sum(Sum(sum, x.header), x.payload)) == 0
	}
	return true
}

// completeSegment completes the segment of a rebuilt frame, which begins at header: it writes length and checksum. A
// datagram without a checksum stays without one (RFC 768). If sound is false, the segment was damaged and gets a wrong
// checksum again.
func (p *Packet) completeSegment(data []byte, header int, f *frameParts, sound bool) {
	at := 0
	switch wireProtocol(p.Proto) {
	case ProtoTCP:
		at = header + 16
	case ProtoUDP:
		at = header + 6
	default:
		return
	}
	none := p.Proto != ProtoTCP && be.Uint16(data[at:]) == 0
	p.sealSegment(data, header, f.src, f.dst)
	switch {
	case none:
		be.PutUint16(data[at:], 0)
	case !sound:
		be.PutUint16(data[at:], max(be.Uint16(data[at:])^1, 1)) // 0 would mean that there is no checksum
	}
}
