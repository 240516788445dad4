package packet

import (
	"fmt"
	"net/netip"

	"weir/core/unit"
)

const (
	protoShim     uint8 = 253 // RFC 3692: extensions over IPv4
	protoHopByHop uint8 = 0   // RFC 8200 §4.3
	ownHeader           = 16  // of ProtoOwn
	ownSequence         = 1<<40 - 1
)

// FlowHash returns the hash of a flow that ECMP uses: two rounds of a multiply-xorshift mix over the 5-tuple, in which
// every input bit reaches every output bit. ProtoOwn and ProtoRDMA hash alike, so that a transport's header does not
// choose its path.
func FlowHash(src, dst Addr, srcPort, dstPort uint16, proto uint8) uint32 {
	if proto == ProtoOwn {
		proto = ProtoRDMA
	}
	h := uint64(src)<<32 | uint64(dst)
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	h ^= uint64(srcPort)<<24 | uint64(dstPort)<<8 | uint64(proto)
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>32) * 0x94d049bb133111eb
	return uint32(h >> 32)
}

// MAC returns the address of a's interface: locally administered, derived from the number.
func MAC(a Addr) [6]byte {
	return [6]byte{0x02, 0x57, uint8(a >> 24), uint8(a >> 16), uint8(a >> 8), uint8(a)}
}

// Emit appends p's wire form to b: Ethernet without FCS, IPv4 or IPv6 with p's extensions, then UDP, TCP, RoCEv2 or,
// for other protocols, a header of 16 bytes. That header has ports (2 each), kind (1), low 40 bits of sequence and of
// acknowledgement (5 each) and TCP.Flags (1), which are FIN, ECE, Trimmable, Returned, LastHop and transport uet's.
//
// The payload is zero except for UDP. There its first 16 bytes carry Seq and Sent as far as there is room (8 for Seq
// alone), as in the lab's sender. Pause and Resume are PFC frames (IEEE 802.1Qbb) of 60 bytes, which are 64 with FCS;
// a Pause that lasts until Resume has 65535 quanta. It is an error if a value of p does not fit a frame.
func (p *Packet) Emit(book *Book, b []byte) ([]byte, error) {
	if p.Kind == Pause || p.Kind == Resume {
		return p.emitPFC(b)
	}
	if err := p.checkEmittable(book); err != nil {
		return nil, err
	}
	var room [80]byte
	options := room[:0]
	if p.Proto == ProtoTCP {
		if options = p.TCP.tcpOptions().Append(options); len(options) > 40 {
			return nil, fmt.Errorf("packet of flow %d: %d bytes of TCP options; allowed: at most 40", p.Flow, len(options))
		}
	}
	src, dst := book.V4(p.Src), book.V4(p.Dst)
	if p.Version == 6 {
		src, dst = book.V6(p.Src), book.V6(p.Dst)
	}
	start := len(b)
	b, err := p.emitIP(b, src, dst, int(p.transportHeader(int32(len(options)))+p.Payload))
	if err != nil {
		return nil, err
	}
	segment := len(b)
	switch p.Proto {
	case ProtoRDMA:
		b = p.emitRDMA(b)
		sealRDMA(b[start+EthernetHeader:], b[segment:])
		return p.insertStack(b, segment, src, dst), nil
	case ProtoUDP:
		b = p.emitUDP(b)
	case ProtoTCP:
		b, _ = AppendTCP(b, p.segmentHeader(options))
		b = append(p.appendBack(b, segment), make([]byte, p.Payload)...)
	default:
		b = p.emitOwn(b)
	}
	p.sealSegment(b, segment, src, dst)
	return b, nil
}

// checkEmittable returns an error if p has values that no frame can carry.
func (p *Packet) checkEmittable(book *Book) error {
	switch {
	case int(p.Src) >= book.Len() || int(p.Dst) >= book.Len():
		return fmt.Errorf("packet of flow %d: addresses %d and %d, the book has %d", p.Flow, p.Src, p.Dst, book.Len())
	case p.Payload < 0:
		return fmt.Errorf("packet of flow %d: payload of %d bytes", p.Flow, p.Payload)
	case p.Version != 4 && p.Version != 6:
		return fmt.Errorf("packet of flow %d: IP version %d; allowed: 4 or 6", p.Flow, p.Version)
	case p.Version == 4 && p.Proto == protoShim, p.Version == 6 && p.Proto == protoHopByHop:
		return fmt.Errorf("packet of flow %d: protocol %d belongs to the extensions over IPv%d", p.Flow,
			p.Proto, p.Version)
	case p.Proto == ProtoIFA:
		return fmt.Errorf("packet of flow %d: protocol %d is IFA's", p.Flow, p.Proto)
	case p.StackPlace() == HopByHop && p.stackLen() > 255:
		return fmt.Errorf("packet of flow %d: %d bytes of IOAM; an option has 255 at most", p.Flow, p.stackLen())
	case p.Proto == ProtoICMP || p.Proto == ProtoICMPv6:
		return fmt.Errorf("packet of flow %d: ICMP is carried, not made", p.Flow)
	case p.Proto == ProtoTCP && p.TCP.Blocks > 4:
		return fmt.Errorf("packet of flow %d: %d blocks of SACK; allowed: at most 4", p.Flow, p.TCP.Blocks)
	case p.Proto == ProtoRDMA:
		return p.checkEmittableRDMA()
	}
	return nil
}

// Headers returns the length of p's headers without extensions: Ethernet, IP, and the transport's part.
func (p *Packet) Headers() int32 {
	n := EthernetHeader + IPv4Header + p.transportHeader(p.TCP.OptionBytes())
	if p.Version == 6 {
		n += IPv6Header - IPv4Header
	}
	return n
}

// transportHeader returns the length that the transport adds to the payload, with this many bytes of TCP options.
func (p *Packet) transportHeader(options int32) int32 {
	switch p.Proto {
	case ProtoUDP:
		return UDPHeader
	case ProtoTCP:
		return TCPHeader + options
	case ProtoRDMA:
		return p.RDMAHeader()
	}
	return ownHeader
}

// wireProtocol returns the IP protocol of a packet.
func wireProtocol(proto uint8) uint8 {
	if proto == ProtoRDMA {
		return ProtoUDP
	}
	return proto
}

// emitIP appends the Ethernet and the IP header of a segment of this length in bytes, with p's extensions.
func (p *Packet) emitIP(b []byte, src, dst netip.Addr, segment int) ([]byte, error) {
	ext, options := int(p.ExtensionBytes()), p.optionBytes()
	front := p.wireProto(wireProtocol(p.Proto))
	proto, etherType, extended := front, EtherIPv4, protoShim
	if p.Version == 6 {
		etherType, extended = EtherIPv6, protoHopByHop
	}
	if options > 0 {
		proto = extended
	}
	b = AppendEthernet(b, MAC(p.Dst), MAC(p.Src), etherType)
	var err error
	if p.Version == 6 {
		b, err = AppendIPv6(b, src, dst, proto, p.wireTOS(), p.HopLimit, ext+segment)
	} else {
		b, err = AppendIPv4(b, src, dst, proto, p.wireTOS(), p.HopLimit, ext+segment)
	}
	if err != nil {
		return b, err
	}
	if options > 0 {
		b = p.appendExtensions(b, front)
	}
	return p.appendFront(b, wireProtocol(p.Proto)), nil
}

// emitUDP appends a datagram without length and checksum.
func (p *Packet) emitUDP(b []byte) []byte {
	header := len(b)
	b = be.AppendUint16(be.AppendUint16(b, p.SrcPort), p.DstPort)
	b = p.appendBack(append(b, 0, 0, 0, 0), header)
	start := len(b)
	b = append(b, make([]byte, int(p.Payload))...)
	data := b[start:]
	if len(data) >= 8 {
		be.PutUint64(data, uint64(p.Seq))
	}
	if len(data) >= 16 {
		be.PutUint64(data[8:], uint64(p.Sent))
	}
	return b
}

// emitOwn appends a segment of ProtoOwn, with Weir's header.
func (p *Packet) emitOwn(b []byte) []byte {
	header := len(b)
	b = be.AppendUint16(be.AppendUint16(b, p.SrcPort), p.DstPort)
	b = be.AppendUint64(b, uint64(p.Kind)<<56|uint64(p.Seq)&ownSequence<<16|uint64(p.Ack)&ownSequence>>24)
	b = be.AppendUint32(b, uint32(p.Ack)<<8|uint32(p.TCP.Flags))
	return append(p.appendBack(b, header), make([]byte, p.Payload)...)
}

// Parse fills p from a frame as a switch's parser does: all fields that Emit writes, and the flow's hash. A frame does
// not carry Size, Flow and Meta (except the class of PFC), and carries Sent with UDP only. Sequence numbers have their
// low 32 bits for TCP, 24 for RDMA and 40 for ProtoOwn. Fields that the frame has no room for are 0, and so is an
// address that is not in the book.
//
// UDP to port 4791 that Weir's transports cannot have written is parsed as plain UDP. ICMP, which hosts of the lab
// send, is parsed as payload. Parse returns an error for damaged frames and frames that are neither IP nor PFC; p is
// then undefined.
func (p *Packet) Parse(book *Book, frame []byte) error {
	err := p.parseFrame(book, frame)
	p.parsed = err == nil
	return err
}

// parseFrame is Parse without setting p.parsed. It removes p's extensions first.
func (p *Packet) parseFrame(book *Book, frame []byte) error {
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
		rest, err = p.parseIPv4(book, e.Payload())
	case EtherIPv6:
		rest, err = p.parseIPv6(book, e.Payload())
	default:
		return fmt.Errorf("Ethernet type %#04x is neither IPv4, IPv6 nor PFC", e.Type())
	}
	if err != nil {
		return err
	}
	if p.Version == 4 && p.Proto == protoShim || p.Version == 6 && p.Proto == protoHopByHop {
		if p.Proto, rest, err = p.parseExtensions(rest); err != nil {
			return err
		}
	}
	x, proto, err := splitSegment(p.Proto, p.TOS, p.hasStack(), rest)
	if err != nil {
		return err
	}
	p.Proto = proto
	switch p.Proto {
	case ProtoUDP:
		p.parseUDP(&x)
	case ProtoTCP:
		err = p.parseTCP(x.header, len(x.payload))
	case ProtoICMP, ProtoICMPv6: // all of it is payload
		p.Kind, p.SrcPort, p.DstPort = Data, 0, 0
		p.Seq, p.Ack, p.Payload = 0, 0, int32(len(x.payload))
	case ProtoRDMA: // the number is Weir's, and on no wire
		err = fmt.Errorf("IP protocol %d is not known", p.Proto)
	default:
		err = p.parseOwn(&x)
	}
	if err == nil {
		err = p.takeStack(&x)
	}
	if err != nil {
		return err
	}
	p.Hash = FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
	return nil
}

// parseIPv4 parses the header into p and returns the bytes behind it.
func (p *Packet) parseIPv4(book *Book, b []byte) ([]byte, error) {
	h, err := ParseIPv4(b)
	if err != nil {
		return nil, err
	}
	if !h.ChecksumOK() {
		return nil, fmt.Errorf("IPv4 header: checksum is wrong")
	}
	if h.Fragment() {
		return nil, fmt.Errorf("IPv4 header: fragments are not supported")
	}
	p.Version, p.TOS, p.HopLimit, p.Proto = 4, h.TOS(), h.TTL(), h.Protocol()
	p.Src, p.Dst = book.Lookup(h.Src()), book.Lookup(h.Dst())
	return h.Payload(), nil
}

// parseIPv6 parses the fixed header into p and returns the bytes behind it.
func (p *Packet) parseIPv6(book *Book, b []byte) ([]byte, error) {
	h, err := ParseIPv6(b)
	if err != nil {
		return nil, err
	}
	p.Version, p.TOS, p.HopLimit, p.Proto = 6, h.TOS(), h.HopLimit(), h.NextHeader()
	p.Src, p.Dst = book.Lookup(h.Src()), book.Lookup(h.Dst())
	return h.Payload(), nil
}

// parseUDP parses a datagram of UDP, or of RoCEv2 if Emit could have written it, into p: kind, ports, numbers, payload
// and, for RoCEv2, p.Proto.
func (p *Packet) parseUDP(x *segment) {
	data := x.payload
	p.Kind, p.SrcPort, p.DstPort = Data, UDP(x.header).SrcPort(), x.udpPort()
	if p.DstPort == PortRoCE && p.parseRDMA(data, len(data)) {
		return
	}
	p.Seq, p.Sent, p.Ack = 0, 0, 0
	p.Payload = int32(len(data))
	if len(data) >= 8 {
		p.Seq = int64(be.Uint64(data))
	}
	if len(data) >= 16 {
		p.Sent = unit.Time(be.Uint64(data[8:]))
	}
}

// segmentHeader returns p's TCP header with these options.
func (p *Packet) segmentHeader(options []byte) SegmentHeader {
	return SegmentHeader{SrcPort: p.SrcPort, DstPort: p.DstPort, Seq: uint32(p.Seq), Ack: uint32(p.Ack),
		Flags: p.TCP.Flags, Window: p.TCP.Window, Options: options}
}

// AppendSegment appends p's TCP header with its options, as Emit writes it, without a checksum.
func (p *Packet) AppendSegment(b []byte) ([]byte, error) {
	var room [80]byte
	return AppendTCP(b, p.segmentHeader(p.TCP.tcpOptions().Append(room[:0])))
}

// ParseSegment sets p's fields from a TCP segment as Parse does, without the flow's hash. payload is the number of
// bytes behind the header. On an error p has all fields except the options.
func (p *Packet) ParseSegment(t TCP, payload int) error { return p.parseTCP(t, payload) }

// parseTCP parses a TCP segment into p, with p.Kind; payload is the number of bytes behind the header. On an error p
// has all fields except the options and the kind.
func (p *Packet) parseTCP(t TCP, payload int) error {
	p.SrcPort, p.DstPort = t.SrcPort(), t.DstPort()
	p.Seq, p.Ack, p.Payload = int64(t.Seq()), int64(t.Ack()), int32(payload)
	p.TCP.Flags, p.TCP.Window = t.Flags(), t.Window()
	o, err := parseTCPOptions(t.Options())
	if err != nil {
		return err
	}
	p.TCP.setTCPOptions(&o)
	if t[12]&1 != 0 {
		p.TCP.Present |= HasAE
	}
	if o.unknownLen > 0 && payload == 0 && o.SACKBlocks == 0 && p.TCP.Flags == ACK && o.Timestamps {
		p.TCP.takeNotice(o.Unknown())
	}
	switch p.Kind = Ack; {
	case p.IsNotification():
		p.Kind = Nack
	case p.Payload > 0:
		p.Kind = Data
	}
	return nil
}

// parseOwn parses a segment with Weir's own header into p. It returns an error for an unknown kind.
func (p *Packet) parseOwn(x *segment) error {
	b, kind := x.header, x.header[4]
	if len(x.ifa) == 0 && len(x.stack) > 0 {
		kind &^= intBehind
	}
	if Kind(kind) > Probe {
		return fmt.Errorf("transport header: kind %d is not known", kind)
	}
	p.SrcPort, p.DstPort, p.Kind = be.Uint16(b), be.Uint16(b[2:]), Kind(kind)
	p.Seq = int64(be.Uint64(b[4:]) >> 16 & ownSequence)
	p.Ack = int64(be.Uint64(b[8:]) >> 8 & ownSequence)
	p.TCP.Flags = b[15]
	p.Payload = int32(len(x.payload))
	return nil
}
