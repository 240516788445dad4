package packet

import (
	"fmt"
	"net/netip"
)

// Deparse writes what a switch's programs may have changed (TOS, hop limit,
// extensions, payload cut off; TCP's sequence, acknowledgement, flags, window) back into p.Data,
// which must be the frame that p was parsed from. All else of the frame stays as it is: IP and TCP
// options, payload. Checksums are updated incrementally (RFC 1624), but a segment that was cut gets
// a new one. With other extensions or payload p.Data is a new slice. A packet with other addresses,
// ports, protocol or kind, which a program has turned round, is emitted anew.
func (p *Packet) Deparse(book *Book) error {
	if p.refresh(book) {
		return nil
	}
	p.parsed = false // the frame may say other things than the fields that programs have left
	return p.rewrite(book)
}

// refresh is the fast path of Deparse, which nearly all frames take: TCP or UDP without
// extensions, where values change but no lengths do. It returns false, and leaves the frame
// alone, if that does not hold.
func (p *Packet) refresh(book *Book) bool {
	if p.extLen > 0 || len(p.Data) < EthernetHeader+IPv4Header || int(max(p.Src, p.Dst)) >= book.Len() {
		return false
	}
	ip := p.Data[EthernetHeader:]
	var rest []byte
	switch kind := be.Uint16(p.Data[12:]); {
	case kind == EtherIPv4 && p.Version == 4:
		h := IPv4(ip)
		n, total := h.header(), int(be.Uint16(h[2:]))
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

// rewrite is Deparse for all frames.
func (p *Packet) rewrite(book *Book) error {
	var old Packet
	if err := old.Parse(book, p.Data); err != nil {
		return err
	}
	if old.Kind == Pause || old.Kind == Resume {
		return nil // a program cannot change anything in it
	}
	if p.Src != old.Src || p.Dst != old.Dst || p.SrcPort != old.SrcPort || p.DstPort != old.DstPort ||
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
	if old.Payload == p.Payload && string(old.ext[:old.extLen]) == string(p.ext[:p.extLen]) {
		return nil
	}
	if p.Payload < 0 || p.Payload > old.Payload {
		return fmt.Errorf("packet of flow %d: payload of %d bytes; the frame has %d", p.Flow, p.Payload, old.Payload)
	}
	return p.rebuild(&old, f)
}

// parts is a frame taken apart: its IP header, what follows its extensions, and its addresses.
type parts struct {
	head, rest []byte
	src, dst   netip.Addr
}

// rewriteHeaders updates the fields of the IP and TCP headers in place.
func (p *Packet) rewriteHeaders(old *Packet) (f parts, err error) {
	ip := p.Data[EthernetHeader:]
	if old.Version == 4 {
		h, err := ParseIPv4(ip)
		if err != nil {
			return f, err
		}
		h.SetTOS(p.TOS)
		h.SetTTL(p.HopLimit)
		f = parts{h[:h.header()], h.Payload(), h.Src(), h.Dst()}
	} else {
		h, err := ParseIPv6(ip)
		if err != nil {
			return f, err
		}
		h.SetTOS(p.TOS)
		h.SetHopLimit(p.HopLimit)
		f = parts{h[:IPv6Header], h.Payload(), h.Src(), h.Dst()}
	}
	if next, extended := nextHeader(old.Version); f.head[next] == extended {
		f.rest = f.rest[8*(int(f.rest[1])+1):]
	}
	if old.Proto == ProtoTCP {
		t, err := ParseTCP(f.rest)
		if err != nil {
			return f, err
		}
		t.SetSeq(uint32(p.Seq))
		t.SetAck(uint32(p.Ack))
		t.SetFlags(p.TCP.Flags)
		t.SetWindow(p.TCP.Window)
	}
	return f, nil
}

// nextHeader is the offset of an IP header's protocol field, and its value where extensions
// follow.
func nextHeader(version uint8) (at int, extended uint8) {
	if version == 6 {
		return 6, protoHopByHop
	}
	return 9, protoShim
}

// rebuild copies the frame, with p's extensions and without the payload that was cut off.
func (p *Packet) rebuild(old *Packet, f parts) error {
	cut := int(old.Payload - p.Payload)
	if cut > 0 {
		if wireProtocol(old.Proto) == ProtoUDP { // there may be bytes behind the datagram
			f.rest = f.rest[:be.Uint16(f.rest[4:])]
		}
		if old.Proto == ProtoRDMA {
			f.rest = cutRDMA(f.rest, old.Payload, p.Payload)
		} else {
			f.rest = f.rest[:len(f.rest)-cut]
		}
	}
	ext, start := int(p.ExtensionBytes()), EthernetHeader+len(f.head)
	size := len(f.head) + ext + len(f.rest)
	if most := 0xffff + IPv6Header*int(old.Version/6); size > most {
		return fmt.Errorf("packet of flow %d: %d bytes of IPv%d; at most %d are possible", p.Flow, size, old.Version, most)
	}
	data := append(make([]byte, 0, EthernetHeader+size), p.Data[:start]...)
	next, extended := nextHeader(old.Version)
	proto := wireProtocol(old.Proto)
	if ext > 0 {
		data = p.appendExtensions(data, proto)
		proto = extended
	}
	data = append(data, f.rest...)
	if old.Version == 4 {
		h := IPv4(data[EthernetHeader:])
		h.setWord(8, uint16(h[8])<<8|uint16(proto))
		h.setWord(2, uint16(size))
	} else {
		h := IPv6(data[EthernetHeader:])
		h[next] = proto
		be.PutUint16(h[4:], uint16(size-IPv6Header))
	}
	if segment := data[start+ext:]; cut > 0 {
		switch {
		case old.Proto == ProtoTCP:
			SealTCP(segment, f.src, f.dst)
		case old.Proto == ProtoRDMA:
			sealRDMA(data[EthernetHeader:], segment)
		case old.Proto == ProtoUDP && old.Version == 4 && be.Uint16(segment[6:]) == 0: // sent without a checksum
			be.PutUint16(segment[4:], uint16(len(segment)))
		case old.Proto == ProtoUDP:
			SealUDP(segment, f.src, f.dst)
		}
	}
	p.Data = data
	return nil
}
