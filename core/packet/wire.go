package packet

import (
	"fmt"
	"net/netip"

	"weir/core/unit"
)

const (
	protoShim     uint8 = 253 // RFC 3692: extensions over IPv4
	protoHopByHop uint8 = 0   // RFC 8200 §4.3
	shimHeader          = 16  // of the transports that have no header of their own
	shimSequence        = 1<<40 - 1
)

// FlowHash is the hash of a flow that ECMP uses: two rounds of a multiply-xorshift
// mix over the 5-tuple, with every input bit reaching every output bit.
func FlowHash(src, dst Addr, srcPort, dstPort uint16, proto uint8) uint32 {
	h := uint64(src)<<32 | uint64(dst)
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	h ^= uint64(srcPort)<<24 | uint64(dstPort)<<8 | uint64(proto)
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>32) * 0x94d049bb133111eb
	return uint32(h >> 32)
}

// MAC is the address of a's interface: locally administered, made of the number.
func MAC(a Addr) [6]byte {
	return [6]byte{0x02, 0x57, uint8(a >> 24), uint8(a >> 16), uint8(a >> 8), uint8(a)}
}

// Emit appends p's wire form to b: Ethernet without FCS, IPv4 or IPv6 with p's
// extensions, then UDP, TCP, or for other protocols a header of 16 bytes: ports
// (2 each), kind (1), low 40 bits of sequence and of acknowledgement (5 each),
// TCP.Flags, of which they use FIN, ECE, Trimmable and Returned (1). The payload is zero, but for
// UDP: its first 16 bytes carry Seq and Sent as far as there is room for them (8 for Seq alone), as
// the lab's sender does. Pause and Resume are PFC frames (IEEE 802.1Qbb) of 60 bytes, which are 64
// with FCS; a Pause that lasts until Resume has 65535 quanta.
func (p *Packet) Emit(book *Book, b []byte) ([]byte, error) {
	start := len(b)
	if p.Kind == Pause || p.Kind == Resume {
		if p.Meta.Class > 7 {
			return nil, fmt.Errorf("PFC frame: class %d; 0 to 7 are possible", p.Meta.Class)
		}
		b = AppendEthernet(b, [6]byte{0x01, 0x80, 0xc2, 0, 0, 1}, MAC(p.Src), EtherControl)
		b = be.AppendUint16(b, 0x0101) // opcode of PFC
		b = be.AppendUint16(b, 1<<p.Meta.Class)
		for class := range uint8(8) {
			quanta := uint16(0)
			if p.Kind == Pause && class == p.Meta.Class {
				if quanta = 0xffff; p.Seq > 0 && p.Seq < 0xffff {
					quanta = uint16(p.Seq)
				}
			}
			b = be.AppendUint16(b, quanta)
		}
		return append(b, make([]byte, 60-(len(b)-start))...), nil
	}
	if int(p.Src) >= book.Len() || int(p.Dst) >= book.Len() {
		return nil, fmt.Errorf("packet of flow %d: addresses %d and %d, the book has %d", p.Flow, p.Src, p.Dst, book.Len())
	}
	switch {
	case p.Payload < 0:
		return nil, fmt.Errorf("packet of flow %d: payload of %d bytes", p.Flow, p.Payload)
	case p.Version != 4 && p.Version != 6:
		return nil, fmt.Errorf("packet of flow %d: IP version %d; 4 and 6 are possible", p.Flow, p.Version)
	case p.Version == 4 && p.Proto == protoShim, p.Version == 6 && p.Proto == protoHopByHop:
		return nil, fmt.Errorf("packet of flow %d: protocol %d is that of the extensions over IPv%d", p.Flow,
			p.Proto, p.Version)
	case p.Proto == ProtoICMP || p.Proto == ProtoICMPv6:
		return nil, fmt.Errorf("packet of flow %d: ICMP is carried, not made", p.Flow)
	}
	transport := shimHeader
	var room [80]byte
	options := room[:0]
	switch p.Proto {
	case ProtoUDP:
		transport = UDPHeader
	case ProtoTCP:
		if p.TCP.Blocks > 4 {
			return nil, fmt.Errorf("packet of flow %d: %d blocks of SACK; at most 4 are possible", p.Flow, p.TCP.Blocks)
		}
		options = p.TCP.options().Append(options)
		if len(options) > 40 {
			return nil, fmt.Errorf("packet of flow %d: %d bytes of TCP options; at most 40 are possible", p.Flow, len(options))
		}
		transport = TCPHeader + len(options)
	}
	ext := int(p.ExtensionBytes())
	size := ext + transport + int(p.Payload)
	proto, etherType := p.Proto, EtherIPv4
	var err error
	src, dst := book.V4(p.Src), book.V4(p.Dst)
	if p.Version == 6 {
		src, dst = book.V6(p.Src), book.V6(p.Dst)
		etherType = EtherIPv6
	}
	b = AppendEthernet(b, MAC(p.Dst), MAC(p.Src), etherType)
	if p.Version == 6 {
		if ext > 0 {
			proto = protoHopByHop
		}
		b, err = AppendIPv6(b, src, dst, proto, p.TOS, p.HopLimit, size)
	} else {
		if ext > 0 {
			proto = protoShim
		}
		b, err = AppendIPv4(b, src, dst, proto, p.TOS, p.HopLimit, size)
	}
	if err != nil {
		return nil, err
	}
	if ext > 0 {
		b = p.appendExtensions(b, p.Proto)
	}
	segment := len(b)
	switch p.Proto {
	case ProtoUDP:
		b = be.AppendUint16(be.AppendUint16(b, p.SrcPort), p.DstPort)
		b = append(b, make([]byte, 4+int(p.Payload))...)
		data := b[segment+UDPHeader:]
		if len(data) >= 8 {
			be.PutUint64(data, uint64(p.Seq))
		}
		if len(data) >= 16 {
			be.PutUint64(data[8:], uint64(p.Sent))
		}
		SealUDP(b[segment:], src, dst)
	case ProtoTCP:
		b, _ = AppendTCP(b, SegmentHeader{SrcPort: p.SrcPort, DstPort: p.DstPort, Seq: uint32(p.Seq), Ack: uint32(p.Ack),
			Flags: p.TCP.Flags, Window: p.TCP.Window, Options: options})
		b = append(b, make([]byte, p.Payload)...)
		SealTCP(b[segment:], src, dst)
	default:
		b = be.AppendUint16(be.AppendUint16(b, p.SrcPort), p.DstPort)
		b = be.AppendUint64(b, uint64(p.Kind)<<56|uint64(p.Seq)&shimSequence<<16|uint64(p.Ack)&shimSequence>>24)
		b = be.AppendUint32(b, uint32(p.Ack)<<8|uint32(p.TCP.Flags))
		b = append(b, make([]byte, p.Payload)...)
	}
	return b, nil
}

// Parse fills p from a frame as a switch's parser does: all that Emit writes, and
// the flow's hash. Size, Flow and Meta are not the frame's to tell (but a PFC
// frame's class), nor is Sent, but of UDP. Sequence numbers come as their low 32
// bits for TCP, 40 bits for other protocols than UDP; what the frame has no room
// for is 0. Of ICMP, which hosts of the lab send, all is payload. An address that the book does not
// have is 0. It fails on frames that are neither IP nor PFC, or damaged, and then leaves p in an
// undefined state.
func (p *Packet) Parse(book *Book, frame []byte) error {
	e, err := ParseEthernet(frame)
	if err != nil {
		return err
	}
	var rest []byte
	p.ClearExtensions()
	switch e.Type() {
	case EtherControl:
		return p.parsePFC(e.Payload())
	case EtherIPv4:
		h, err := ParseIPv4(e.Payload())
		if err != nil {
			return err
		}
		if !h.ChecksumOK() {
			return fmt.Errorf("IPv4 header: checksum is wrong")
		}
		if h.Fragment() {
			return fmt.Errorf("IPv4 header: fragments are not supported")
		}
		p.Version, p.TOS, p.HopLimit, p.Proto = 4, h.TOS(), h.TTL(), h.Protocol()
		p.Src, p.Dst = book.Lookup(h.Src()), book.Lookup(h.Dst())
		rest = h.Payload()
	case EtherIPv6:
		h, err := ParseIPv6(e.Payload())
		if err != nil {
			return err
		}
		p.Version, p.TOS, p.HopLimit, p.Proto = 6, h.TOS(), h.HopLimit(), h.NextHeader()
		p.Src, p.Dst = book.Lookup(h.Src()), book.Lookup(h.Dst())
		rest = h.Payload()
	default:
		return fmt.Errorf("Ethernet type %#04x is neither IPv4, IPv6 nor PFC", e.Type())
	}
	if p.Version == 4 && p.Proto == protoShim || p.Version == 6 && p.Proto == protoHopByHop {
		if p.Proto, rest, err = p.parseExtensions(rest); err != nil {
			return err
		}
	}
	switch p.Proto {
	case ProtoUDP:
		u, err := ParseUDP(rest)
		if err != nil {
			return err
		}
		p.Kind, p.SrcPort, p.DstPort = Data, u.SrcPort(), u.DstPort()
		p.Seq, p.Sent, p.Ack = 0, 0, 0
		data := u.Payload()
		p.Payload = int32(len(data))
		if len(data) >= 8 {
			p.Seq = int64(be.Uint64(data))
		}
		if len(data) >= 16 {
			p.Sent = unit.Time(be.Uint64(data[8:]))
		}
	case ProtoTCP:
		t, err := ParseTCP(rest)
		if err != nil {
			return err
		}
		p.SrcPort, p.DstPort = t.SrcPort(), t.DstPort()
		p.Seq, p.Ack, p.Payload = int64(t.Seq()), int64(t.Ack()), int32(len(t.Payload()))
		p.TCP.Flags, p.TCP.Window = t.Flags(), t.Window()
		o, err := ParseTCPOptions(t.Options())
		if err != nil {
			return err
		}
		p.TCP.setOptions(&o)
		switch p.Kind = Ack; {
		case p.Notifies():
			p.Kind = Nack
		case p.Payload > 0:
			p.Kind = Data
		}
	case ProtoICMP, ProtoICMPv6: // all of it is payload
		p.Kind, p.SrcPort, p.DstPort = Data, 0, 0
		p.Seq, p.Ack, p.Payload = 0, 0, int32(len(rest))
	default:
		if len(rest) < shimHeader {
			return short("transport header", shimHeader, len(rest))
		}
		if Kind(rest[4]) > Probe {
			return fmt.Errorf("transport header: kind %d is not known", rest[4])
		}
		p.SrcPort, p.DstPort, p.Kind = be.Uint16(rest), be.Uint16(rest[2:]), Kind(rest[4])
		p.Seq = int64(be.Uint64(rest[4:]) >> 16 & shimSequence)
		p.Ack = int64(be.Uint64(rest[8:]) >> 8 & shimSequence)
		p.TCP.Flags = rest[15]
		p.Payload = int32(len(rest) - shimHeader)
	}
	p.Hash = FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
	return nil
}

func (p *Packet) parsePFC(b []byte) error {
	if len(b) < 20 {
		return short("PFC frame", 20, len(b))
	}
	if op := be.Uint16(b); op != 0x0101 {
		return fmt.Errorf("MAC control frame: opcode %#04x is not PFC's 0x0101", op)
	}
	classes := be.Uint16(b[2:])
	for class := range uint8(8) {
		if classes == 1<<class {
			p.Meta.Class = class
			quanta := be.Uint16(b[4+2*int(class):])
			if p.Kind, p.Seq = Resume, 0; quanta > 0 {
				p.Kind = Pause
				if quanta < 0xffff {
					p.Seq = int64(quanta)
				}
			}
			return nil
		}
	}
	return fmt.Errorf("PFC frame: class vector %#04x; exactly one class is supported", classes)
}

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
	return p.rewrite(book)
}

// refresh is Deparse for TCP and UDP without extensions, of which nothing has changed that
// needs more than another value in its place: what nearly all frames are. It returns false,
// and has done nothing, if the frame is not such.
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
		return nil // nothing in it is a program's to change
	}
	if p.Src != old.Src || p.Dst != old.Dst || p.SrcPort != old.SrcPort || p.DstPort != old.DstPort ||
		p.Proto != old.Proto || p.Version != old.Version || p.Kind != old.Kind && p.Proto != ProtoTCP {
		data, err := p.Emit(book, nil)
		if err == nil {
			p.Data = data
		}
		return err
	}
	ip := p.Data[EthernetHeader:]
	var head, rest []byte // IP header; what is behind it
	var src, dst netip.Addr
	if old.Version == 4 {
		h, err := ParseIPv4(ip)
		if err != nil {
			return err
		}
		h.SetTOS(p.TOS)
		h.SetTTL(p.HopLimit)
		head, rest, src, dst = h[:h.header()], h.Payload(), h.Src(), h.Dst()
	} else {
		h, err := ParseIPv6(ip)
		if err != nil {
			return err
		}
		h.SetTOS(p.TOS)
		h.SetHopLimit(p.HopLimit)
		head, rest, src, dst = h[:IPv6Header], h.Payload(), h.Src(), h.Dst()
	}
	next, extended := 9, protoShim // where the header names what follows it
	if old.Version == 6 {
		next, extended = 6, protoHopByHop
	}
	if head[next] == extended {
		rest = rest[8*(int(rest[1])+1):]
	}
	if old.Proto == ProtoTCP {
		t, err := ParseTCP(rest)
		if err != nil {
			return err
		}
		t.SetSeq(uint32(p.Seq))
		t.SetAck(uint32(p.Ack))
		t.SetFlags(p.TCP.Flags)
		t.SetWindow(p.TCP.Window)
	}
	if old.Payload == p.Payload && string(old.ext[:old.extLen]) == string(p.ext[:p.extLen]) {
		return nil
	}
	if p.Payload < 0 || p.Payload > old.Payload {
		return fmt.Errorf("packet of flow %d: payload of %d bytes; the frame has %d", p.Flow, p.Payload, old.Payload)
	}
	cut := int(old.Payload - p.Payload)
	if cut > 0 {
		if old.Proto == ProtoUDP { // there may be bytes behind the datagram
			rest = rest[:be.Uint16(rest[4:])]
		}
		rest = rest[:len(rest)-cut]
	}

	ext, start := int(p.ExtensionBytes()), EthernetHeader+len(head)
	size := len(head) + ext + len(rest)
	if most := 0xffff + IPv6Header*int(old.Version/6); size > most {
		return fmt.Errorf("packet of flow %d: %d bytes of IPv%d; at most %d are possible", p.Flow, size, old.Version, most)
	}
	data := append(make([]byte, 0, EthernetHeader+size), p.Data[:start]...)
	proto := old.Proto
	if ext > 0 {
		proto, data = extended, p.appendExtensions(data, old.Proto)
	}
	data = append(data, rest...)
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
			SealTCP(segment, src, dst)
		case old.Proto == ProtoUDP && old.Version == 4 && be.Uint16(segment[6:]) == 0: // sent without a checksum
			be.PutUint16(segment[4:], uint16(len(segment)))
		case old.Proto == ProtoUDP:
			SealUDP(segment, src, dst)
		}
	}
	p.Data = data
	return nil
}
