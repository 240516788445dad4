package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Ethernet types (IANA).
const (
	EtherIPv4    uint16 = 0x0800
	EtherIPv6    uint16 = 0x86dd
	EtherControl uint16 = 0x8808 // MAC control: PFC
)

var be = binary.BigEndian

// shortError returns the error for a header of need bytes where only have are present.
func shortError(what string, need, have int) error {
	return fmt.Errorf("%s: %d bytes needed, %d are there", what, need, have)
}

// Ethernet is a view over an Ethernet II frame without FCS.
type Ethernet []byte

// ParseEthernet checks that a header is there.
func ParseEthernet(b []byte) (Ethernet, error) {
	if len(b) < EthernetHeader {
		return nil, shortError("Ethernet header", EthernetHeader, len(b))
	}
	return Ethernet(b), nil
}

// Dst returns the destination MAC address.
func (e Ethernet) Dst() [6]byte { return [6]byte(e[0:6]) }

// Src returns the source MAC address.
func (e Ethernet) Src() [6]byte { return [6]byte(e[6:12]) }

// Type returns the Ethernet type.
func (e Ethernet) Type() uint16 { return be.Uint16(e[12:]) }

// Payload returns the bytes behind the header.
func (e Ethernet) Payload() []byte { return e[EthernetHeader:] }

// AppendEthernet appends a header to b.
func AppendEthernet(b []byte, dst, src [6]byte, ethertype uint16) []byte {
	b = append(b, dst[:]...)
	b = append(b, src[:]...)
	return be.AppendUint16(b, ethertype)
}

// Sum adds bytes to a partial Internet checksum (RFC 1071 §4.1); odd lengths are
// padded with a zero byte, so only the last part may be odd.
func Sum(sum uint32, b []byte) uint32 {
	s := uint64(sum)
	for len(b) >= 4 {
		s += uint64(be.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		s += uint64(be.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		s += uint64(b[0]) << 8
	}
	s = s>>32 + s&0xffffffff
	s = s>>32 + s&0xffffffff
	s = s>>16 + s&0xffff
	return uint32(s>>16 + s&0xffff)
}

// Checksum returns the Internet checksum of a partial sum: its ones' complement.
func Checksum(sum uint32) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// UpdateChecksum returns the checksum of a header after its 16-bit word old became new: HC' = ~(~HC + ~m + m') (RFC
// 1624 equation 3).
func UpdateChecksum(sum, old, new uint16) uint16 {
	return Checksum(uint32(^sum) + uint32(^old) + uint32(new))
}

// IPv4 is a view over an IPv4 packet (RFC 791): header with options, payload.
type IPv4 []byte

// ParseIPv4 checks version, header length and total length. Bytes behind the
// total length (Ethernet's padding) are cut off.
func ParseIPv4(b []byte) (IPv4, error) {
	if len(b) < IPv4Header {
		return nil, shortError("IPv4 header", IPv4Header, len(b))
	}
	header, total := int(b[0]&15)*4, int(be.Uint16(b[2:]))
	switch {
	case b[0]>>4 != 4:
		return nil, fmt.Errorf("IPv4 header: version is %d", b[0]>>4)
	case header < IPv4Header || header > len(b):
		return nil, fmt.Errorf("IPv4 header: length %d; allowed: 20 to %d", header, len(b))
	case total < header || total > len(b):
		return nil, fmt.Errorf("IPv4 header: total length %d; allowed: %d to %d", total, header, len(b))
	}
	return IPv4(b[:total]), nil
}

// headerLength returns the length of the header in bytes, with options.
func (h IPv4) headerLength() int { return int(h[0]&15) * 4 }

// TOS returns DSCP and ECN.
func (h IPv4) TOS() uint8 { return h[1] }

// TTL returns the time to live.
func (h IPv4) TTL() uint8 { return h[8] }

// Protocol returns the protocol of the payload.
func (h IPv4) Protocol() uint8 { return h[9] }

// Src returns the source address.
func (h IPv4) Src() netip.Addr { return netip.AddrFrom4([4]byte(h[12:16])) }

// Dst returns the destination address.
func (h IPv4) Dst() netip.Addr { return netip.AddrFrom4([4]byte(h[16:20])) }

// Options returns the options.
func (h IPv4) Options() []byte { return h[IPv4Header:h.headerLength()] }

// Payload returns the bytes behind the header.
func (h IPv4) Payload() []byte { return h[h.headerLength():] }

// Fragment reports whether this is a fragment and not a whole packet.
func (h IPv4) Fragment() bool { return be.Uint16(h[6:])&0x3fff != 0 }

// ChecksumOK verifies the header's checksum.
func (h IPv4) ChecksumOK() bool { return Checksum(Sum(0, h[:h.headerLength()])) == 0 }

// SetTTL changes the time to live and the checksum with it (RFC 1624).
func (h IPv4) SetTTL(ttl uint8) { h.setWord(8, uint16(ttl)<<8|uint16(h[9])) }

// SetTOS changes DSCP and ECN and the checksum with them.
func (h IPv4) SetTOS(tos uint8) { h.setWord(0, uint16(h[0])<<8|uint16(tos)) }

// setWord sets the 16-bit word at an offset and updates the header's checksum (RFC 1624).
func (h IPv4) setWord(offset int, v uint16) {
	old := be.Uint16(h[offset:])
	if old == v {
		return
	}
	be.PutUint16(h[offset:], v)
	be.PutUint16(h[10:], UpdateChecksum(be.Uint16(h[10:]), old, v))
}

// ID returns the identification, which all fragments of a packet share.
func (h IPv4) ID() uint16 { return be.Uint16(h[4:]) }

// Header returns the header's fields; Options is a view.
func (h IPv4) Header() DatagramHeader {
	return DatagramHeader{TOS: h.TOS(), ID: h.ID(), Fragment: be.Uint16(h[6:]), TTL: h.TTL(), Protocol: h.Protocol(),
		Src: h.Src(), Dst: h.Dst(), Options: h.Options()}
}

// DatagramHeader is an IPv4 header (RFC 791 §3.1) without the fields that follow from the rest: version, lengths,
// checksum.
type DatagramHeader struct {
	TOS           uint8
	ID            uint16
	Fragment      uint16 // flags in the upper three bits, offset in units of 8 bytes in the others
	TTL, Protocol uint8
	Src, Dst      netip.Addr
	Options       []byte // wire form; padded with zeros to four bytes; at most 40
}

// DontFragment is the flag in DatagramHeader.Fragment.
const DontFragment uint16 = 0x4000

// Append appends the header, with a correct checksum, for a payload of this length in bytes. It is an error if the
// addresses are not IPv4 or a length is too large.
func (h DatagramHeader) Append(b []byte, payload int) ([]byte, error) {
	options := (len(h.Options) + 3) &^ 3
	switch header := IPv4Header + options; {
	case !h.Src.Is4() || !h.Dst.Is4():
		return nil, fmt.Errorf("IPv4 header: addresses %v and %v are not both IPv4", h.Src, h.Dst)
	case options > 40:
		return nil, fmt.Errorf("IPv4 header: %d bytes of options; allowed: at most 40", len(h.Options))
	case payload < 0 || header+payload > 0xffff:
		return nil, fmt.Errorf("IPv4 header: payload of %d bytes; allowed: 0 to %d", payload, 0xffff-header)
	}
	at := len(b)
	b = append(b, uint8(0x45+options/4), h.TOS)
	b = be.AppendUint16(b, uint16(IPv4Header+options+payload))
	b = be.AppendUint16(be.AppendUint16(b, h.ID), h.Fragment)
	b = append(b, h.TTL, h.Protocol, 0, 0)
	s, d := h.Src.As4(), h.Dst.As4()
	b = append(append(append(b, s[:]...), d[:]...), h.Options...)
	for range options - len(h.Options) {
		b = append(b, 0)
	}
	be.PutUint16(b[at+10:], Checksum(Sum(0, b[at:])))
	return b, nil
}

// AppendIPv4 appends a header without options for a payload of this length in bytes, with the don't-fragment bit and a
// correct checksum.
func AppendIPv4(b []byte, src, dst netip.Addr, protocol, tos, ttl uint8, payload int) ([]byte, error) {
	return DatagramHeader{TOS: tos, Fragment: DontFragment, TTL: ttl, Protocol: protocol, Src: src,
		Dst: dst}.Append(b, payload)
}

// IPv6 is a view over an IPv6 packet (RFC 8200): fixed header, payload.
type IPv6 []byte

// ParseIPv6 checks version and payload length; bytes behind it are cut off.
func ParseIPv6(b []byte) (IPv6, error) {
	if len(b) < IPv6Header {
		return nil, shortError("IPv6 header", IPv6Header, len(b))
	}
	if b[0]>>4 != 6 {
		return nil, fmt.Errorf("IPv6 header: version is %d", b[0]>>4)
	}
	if n := IPv6Header + int(be.Uint16(b[4:])); n <= len(b) {
		return IPv6(b[:n]), nil
	}
	return nil, shortError("IPv6 payload", int(be.Uint16(b[4:])), len(b)-IPv6Header)
}

// TOS returns the traffic class: DSCP and ECN.
func (h IPv6) TOS() uint8 { return h[0]<<4 | h[1]>>4 }

// SetTOS changes the traffic class.
func (h IPv6) SetTOS(tos uint8) { h[0], h[1] = h[0]&0xf0|tos>>4, h[1]&0x0f|tos<<4 }

// FlowLabel returns the 20 bits of the flow label. Weir sends 0; a user's program may hash it.
func (h IPv6) FlowLabel() uint32 { return be.Uint32(h) & 0xfffff }

// SetFlowLabel changes the flow label to the lower 20 bits of l.
func (h IPv6) SetFlowLabel(l uint32) { be.PutUint32(h, be.Uint32(h)&^0xfffff|l&0xfffff) }

// HopLimit returns the hop limit.
func (h IPv6) HopLimit() uint8 { return h[7] }

// SetHopLimit changes the hop limit.
func (h IPv6) SetHopLimit(n uint8) { h[7] = n }

// NextHeader returns the protocol of the header behind the fixed header.
func (h IPv6) NextHeader() uint8 { return h[6] }

// Src returns the source address.
func (h IPv6) Src() netip.Addr { return netip.AddrFrom16([16]byte(h[8:24])) }

// Dst returns the destination address.
func (h IPv6) Dst() netip.Addr { return netip.AddrFrom16([16]byte(h[24:40])) }

// Payload returns the bytes behind the fixed header.
func (h IPv6) Payload() []byte { return h[IPv6Header:] }

// AppendIPv6 appends a fixed header for a payload of this length in bytes.
func AppendIPv6(b []byte, src, dst netip.Addr, next, tos, hopLimit uint8, payload int) ([]byte, error) {
	if !src.Is6() || !dst.Is6() {
		return nil, fmt.Errorf("IPv6 header: addresses %v and %v are not both IPv6", src, dst)
	}
	if payload < 0 || payload > 0xffff {
		return nil, fmt.Errorf("IPv6 header: payload of %d bytes; allowed: 0 to 65535", payload)
	}
	b = append(b, 0x60|tos>>4, tos<<4, 0, 0)
	b = be.AppendUint16(b, uint16(payload))
	b = append(b, next, hopLimit)
	s, d := src.As16(), dst.As16()
	return append(append(b, s[:]...), d[:]...), nil
}

// pseudoSum returns the partial checksum of the pseudo header (RFC 768, RFC 8200 §8.1).
func pseudoSum(src, dst netip.Addr, protocol uint8, length int) uint32 {
	var sum uint32
	if src.Is4() {
		s, d := src.As4(), dst.As4()
		sum = Sum(Sum(0, s[:]), d[:])
	} else {
		s, d := src.As16(), dst.As16()
		sum = Sum(Sum(0, s[:]), d[:])
	}
	return sum + uint32(protocol) + uint32(length>>16) + uint32(length&0xffff)
}

// transportChecksum returns the checksum of a TCP segment or UDP datagram. The sum of one with its checksum in place
// is 0.
func transportChecksum(src, dst netip.Addr, protocol uint8, segment []byte) uint16 {
	return Checksum(Sum(pseudoSum(src, dst, protocol, len(segment)), segment))
}

// UDP is a view over a UDP datagram (RFC 768).
type UDP []byte

// ParseUDP checks header and length. Bytes behind the length are cut off.
func ParseUDP(b []byte) (UDP, error) {
	if len(b) < UDPHeader {
		return nil, shortError("UDP header", UDPHeader, len(b))
	}
	if n := int(be.Uint16(b[4:])); n < UDPHeader || n > len(b) {
		return nil, fmt.Errorf("UDP header: length %d; allowed: 8 to %d", n, len(b))
	}
	return UDP(b[:be.Uint16(b[4:])]), nil
}

// SrcPort returns the source port.
func (u UDP) SrcPort() uint16 { return be.Uint16(u) }

// DstPort returns the destination port.
func (u UDP) DstPort() uint16 { return be.Uint16(u[2:]) }

// Payload returns the data.
func (u UDP) Payload() []byte { return u[UDPHeader:] }

// ChecksumOK verifies the checksum. Over IPv4, 0 means that the datagram has no checksum.
func (u UDP) ChecksumOK(src, dst netip.Addr) bool {
	if be.Uint16(u[6:]) == 0 {
		return src.Is4()
	}
	return transportChecksum(src, dst, ProtoUDP, u) == 0
}

// AppendUDP appends a complete datagram, for a generator or a test that makes frames without a Packet. Emit writes a
// Packet's.
func AppendUDP(b []byte, src, dst netip.Addr, srcPort, dstPort uint16, payload []byte) ([]byte, error) {
	if UDPHeader+len(payload) > 0xffff {
		return nil, fmt.Errorf("UDP header: payload of %d bytes; allowed: at most 65527", len(payload))
	}
	at := len(b)
	b = be.AppendUint16(be.AppendUint16(b, srcPort), dstPort)
	b = append(append(b, 0, 0, 0, 0), payload...)
	SealUDP(b[at:], src, dst)
	return b, nil
}

// SealUDP writes the length and the checksum of a datagram that has its ports and payload. A checksum of 0 is sent as
// all ones (RFC 768).
func SealUDP(u []byte, src, dst netip.Addr) {
	be.PutUint16(u[4:], uint16(len(u)))
	be.PutUint16(u[6:], 0)
	sum := transportChecksum(src, dst, ProtoUDP, u)
	if sum == 0 {
		sum = 0xffff
	}
	be.PutUint16(u[6:], sum)
}

// Flags of the header of ProtoOwn in addition to FIN and ECE, in place of TCP's: of packets that support trimming (NDP,
// SIGCOMM 2017 §3.2).
const (
	Trimmable = SYN // a switch may cut the payload off, and may send the rest back
	Returned  = RST // header that a switch has sent back to its sender
	LastHop   = PSH // header that the last switch before the receiver has made
)

// MayTrim reports whether a switch may cut off the payload of p, because its receiver understands the rest.
func (p *Packet) MayTrim() bool {
	switch p.Proto {
	case ProtoOwn:
		return p.TCP.Flags&Trimmable != 0
	case ProtoRDMA:
		return p.TCP.Flags&Cuttable != 0 && p.Kind == Data
	}
	return false
}

// TCP is a view over a TCP segment (RFC 9293).
type TCP []byte

// TCP flags.
const (
	FIN uint8 = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
	ECE
	CWR
)

// ParseTCP checks that a header is there, and its data offset; b must be the whole segment.
func ParseTCP(b []byte) (TCP, error) {
	if len(b) < TCPHeader {
		return nil, shortError("TCP header", TCPHeader, len(b))
	}
	if n := int(b[12]>>4) * 4; n < TCPHeader || n > len(b) {
		return nil, fmt.Errorf("TCP header: data offset %d; allowed: 20 to %d", n, len(b))
	}
	return TCP(b), nil
}

// SrcPort returns the source port.
func (t TCP) SrcPort() uint16 { return be.Uint16(t) }

// DstPort returns the destination port.
func (t TCP) DstPort() uint16 { return be.Uint16(t[2:]) }

// Seq returns the sequence number.
func (t TCP) Seq() uint32 { return be.Uint32(t[4:]) }

// Ack returns the acknowledgement number.
func (t TCP) Ack() uint32 { return be.Uint32(t[8:]) }

// Flags returns the eight flags.
func (t TCP) Flags() uint8 { return t[13] }

// Window returns the window field, not scaled.
func (t TCP) Window() uint16 { return be.Uint16(t[14:]) }

// Urgent returns the urgent pointer.
func (t TCP) Urgent() uint16 { return be.Uint16(t[18:]) }

// SetSeq changes the sequence number and the checksum with it (RFC 1624).
func (t TCP) SetSeq(n uint32) { t.setLong(4, n) }

// SetAck changes the acknowledgement number and the checksum with it.
func (t TCP) SetAck(n uint32) { t.setLong(8, n) }

// SetFlags changes the eight flags and the checksum with them.
func (t TCP) SetFlags(flags uint8) { t.setWord(12, uint16(t[12])<<8|uint16(flags)) }

// SetWindow changes the window field and the checksum with it.
func (t TCP) SetWindow(n uint16) { t.setWord(14, n) }

// SetMSS sets the MSS option, of a segment that has one, and updates the checksum (RFC 9293 §3.7.1). Without the
// option, or with damaged options before it, the segment stays.
func (t TCP) SetMSS(mss uint16) {
	o := t.Options()
	for i := 0; i < len(o) && o[i] != 0; {
		if o[i] == 1 {
			i++
			continue
		}
		if i+1 >= len(o) || o[i+1] < 2 || i+int(o[i+1]) > len(o) {
			return
		}
		if o[i] == 2 && o[i+1] == 4 {
			at := TCPHeader + i + 2
			t.setByte(at, uint8(mss>>8))
			t.setByte(at+1, uint8(mss))
		}
		i += int(o[i+1])
	}
}

// setByte sets a byte through the word that contains it, and so updates the checksum.
func (t TCP) setByte(offset int, v uint8) {
	if word := be.Uint16(t[offset&^1:]); offset&1 == 0 {
		t.setWord(offset, uint16(v)<<8|word&0xff)
	} else {
		t.setWord(offset&^1, word&^0xff|uint16(v))
	}
}

// setLong sets the 32-bit number at an offset and updates the checksum.
func (t TCP) setLong(offset int, v uint32) {
	t.setWord(offset, uint16(v>>16))
	t.setWord(offset+2, uint16(v))
}

// setWord sets the 16-bit word at an offset and updates the checksum (RFC 1624).
func (t TCP) setWord(offset int, v uint16) {
	old := be.Uint16(t[offset:])
	if old == v {
		return
	}
	be.PutUint16(t[offset:], v)
	be.PutUint16(t[16:], UpdateChecksum(be.Uint16(t[16:]), old, v))
}

// Header returns the header's fields without the four reserved bits; Options is a view.
func (t TCP) Header() SegmentHeader {
	return SegmentHeader{SrcPort: t.SrcPort(), DstPort: t.DstPort(), Seq: t.Seq(), Ack: t.Ack(), Flags: t.Flags(),
		Window: t.Window(), Urgent: t.Urgent(), Options: t.Options()}
}

// Options returns the options in wire form.
func (t TCP) Options() []byte { return t[TCPHeader : int(t[12]>>4)*4] }

// Payload returns the data.
func (t TCP) Payload() []byte { return t[int(t[12]>>4)*4:] }

// ChecksumOK verifies the checksum.
func (t TCP) ChecksumOK(src, dst netip.Addr) bool {
	return transportChecksum(src, dst, ProtoTCP, t) == 0
}

// SegmentHeader is a TCP header without its checksum.
type SegmentHeader struct {
	SrcPort, DstPort uint16
	Seq, Ack         uint32
	Flags            uint8
	Window           uint16
	Urgent           uint16
	Options          []byte // wire form; padded with zeros to four bytes; at most 40
}

// AppendTCP appends a header. SealTCP completes the segment once it has its data. It is an error if the options exceed
// 40 bytes.
func AppendTCP(b []byte, h SegmentHeader) ([]byte, error) {
	n := (len(h.Options) + 3) &^ 3
	if n > 40 {
		return nil, fmt.Errorf("TCP header: %d bytes of options; allowed: at most 40", len(h.Options))
	}
	b = be.AppendUint16(be.AppendUint16(b, h.SrcPort), h.DstPort)
	b = be.AppendUint32(be.AppendUint32(b, h.Seq), h.Ack)
	b = append(b, uint8((TCPHeader+n)/4)<<4, h.Flags)
	b = be.AppendUint16(b, h.Window)
	b = append(b, 0, 0)
	b = be.AppendUint16(b, h.Urgent)
	b = append(b, h.Options...)
	return append(b, make([]byte, n-len(h.Options))...), nil
}

// SealTCP writes the checksum of a segment.
func SealTCP(t []byte, src, dst netip.Addr) {
	be.PutUint16(t[16:], 0)
	be.PutUint16(t[16:], transportChecksum(src, dst, ProtoTCP, t))
}
