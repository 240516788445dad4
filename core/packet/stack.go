package packet

import (
	"fmt"
	"net/netip"
)

// A packet has at most one stack of telemetry: headers of a standard format, to which switches add records. Formats
// differ in its position in a frame. A stack can be longer than all other extensions, so it has its own memory, which
// a packet gets with its first stack and keeps. Among the extensions it is the first, of kind ExtStack, with 3 bytes:
// its position and its length.

// ExtStack is the kind of the extension that stands for a stack to which switches may write. AnswerStack is the kind
// for a stack in an answer, to which they may not write.
const (
	ExtStack    uint8 = 0x3c
	AnswerStack uint8 = 0x1c
)

// StackRoom is the maximum length of a stack in bytes.
const StackRoom = 768

// StackPosition is the position of a telemetry stack in a frame.
type StackPosition uint8

// Places of stacks.
const (
	// BehindTransport is INT's (P4 INT v2.1, "INT over TCP/UDP"): between the transport's header and the payload. The
	// stack begins with the shim header, in which Emit fills in type, NPT and the last two bytes. Over UDP the
	// destination port INTPort marks it, over TCP the DSCP INTDSCP.
	BehindTransport StackPosition = 1 + iota
	// HopByHop is IOAM's (RFC 9486): an option of IPv6's hop-by-hop header, or of the header with the same layout that
	// extensions have over IPv4. The stack is the option's data.
	HopByHop
	// AroundTransport is IFA's (draft-kumar-ippm-ifa): 4 bytes between IP and the transport's header, the rest behind
	// that header. Lengths and checksums of the transport do not include it.
	AroundTransport
)

// Values in a frame that mark a stack and its type.
const (
	// INTPort is the destination port of INT over UDP: INT_TBD, which the specification leaves open.
	INTPort uint16 = 0xd417
	// INTDSCP is the DSCP of INT over TCP (P4 INT v2.1, "Example with INT-MD over TCP").
	INTDSCP uint8 = 0x17
	// ProtoIFA is IFA's protocol number. The draft asks for any unused number; this is one.
	ProtoIFA uint8 = 251

	intShim        = 4
	minINTBytes    = intShim + 12 // including the header of INT-MD
	intMD          = 1            // types of the shim header
	intDestination = 2            // of answers: switches must ignore it
	intBehind      = 0x80         // in the kind of Weir's own header: INT follows

	ioamOption   = 0x31 // may change en route (RFC 9486)
	ioamAnswer   = 0x11 // may not change en route
	minIOAMBytes = 2 + 8

	ifaHeader   = 4
	minIFABytes = ifaHeader + 4
	ifaAnswer   = 0x80 // a reserved bit of IFA's flags that Weir uses for answers
	stackEntry  = 2 + 3
)

// Stack returns the stack, as a view that is valid until the extensions change; nil without a stack.
func (p *Packet) Stack() []byte {
	if !p.hasStack() {
		return nil
	}
	n := p.stackLen()
	return p.stackRoom[:n:n]
}

// StackPlace returns the stack's position; 0 without a stack.
func (p *Packet) StackPlace() StackPosition {
	if !p.hasStack() {
		return 0
	}
	return StackPosition(p.ext[2])
}

// hasStack reports whether p has a stack of telemetry, as a request or as an answer.
func (p *Packet) hasStack() bool { return p.extLen > 0 && p.ext[0]|0x20 == ExtStack }

func (p *Packet) stackLen() int { return int(p.ext[3])<<8 | int(p.ext[4]) }

func (p *Packet) setStackLen(n int) { p.ext[3], p.ext[4] = uint8(n>>8), uint8(n) }

// SetStack sets a stack that switches write to, in place of an existing one. It copies data. It returns false, without
// a change, if there is no room. p.Size stays.
func (p *Packet) SetStack(position StackPosition, data []byte) bool {
	if len(data) > StackRoom || !p.hasStack() && int(p.extLen)+stackEntry > len(p.ext)-2 {
		return false
	}
	if !p.hasStack() {
		copy(p.ext[stackEntry:], p.ext[:p.extLen])
		p.extLen += stackEntry
	}
	if p.stackRoom == nil {
		p.stackRoom = new([StackRoom]byte)
	}
	p.ext[0], p.ext[1], p.ext[2] = ExtStack, stackEntry-2, uint8(position)
	p.changing |= changingBit(ExtStack)
	p.setStackLen(copy(p.stackRoom[:], data))
	return true
}

// GrowStack inserts n bytes at an offset of the stack and returns the whole stack. The new bytes still hold old data.
// It returns nil, without a change, if there is no room or no stack. p.Size stays.
func (p *Packet) GrowStack(offset, n int) []byte {
	if !p.hasStack() {
		return nil
	}
	have := p.stackLen()
	if offset < 0 || n < 0 || offset > have || have+n > StackRoom {
		return nil
	}
	copy(p.stackRoom[offset+n:have+n], p.stackRoom[offset:have])
	p.setStackLen(have + n)
	return p.stackRoom[: have+n : have+n]
}

// CopyFrom makes p a copy of source, with its own copy of the stack. Both share Data, and p has source's Next.
func (p *Packet) CopyFrom(source *Packet) {
	far := p.stackRoom
	*p = *source
	if p.stackRoom = far; p.hasStack() {
		p.copyStack(source)
	}
}

// copyStack copies the bytes of another packet's stack. The extensions must be copied already.
func (p *Packet) copyStack(source *Packet) {
	if p.stackRoom == nil {
		p.stackRoom = new([StackRoom]byte)
	}
	copy(p.stackRoom[:], source.stackRoom[:source.stackLen()])
}

// stackBytes returns the length of the extensions on the wire, for a packet with a stack.
func (p *Packet) stackBytes() int32 {
	stack, options := int32(p.stackLen()), int32(p.extLen)-stackEntry
	switch {
	case StackPosition(p.ext[2]) == HopByHop: // type and length of the option, and padding before it
		return (2 + 2 + 2 + stack + options + 7) &^ 7
	case options > 0:
		return stack + (options+2+7)&^7
	}
	return stack
}

// isAnswerStack reports whether the stack is an answer.
func (p *Packet) isAnswerStack() bool { return p.ext[0] == AnswerStack }

// setParsed sets p's stack from a frame. It is an error if it is longer than StackRoom.
func (p *Packet) setParsed(position StackPosition, data []byte, answer bool) error {
	if !p.SetStack(position, data) {
		return fmt.Errorf("telemetry: %d bytes; allowed: at most %d", len(data), StackRoom)
	}
	if answer {
		p.RenameExtension(ExtStack, AnswerStack)
	}
	return nil
}

// segment is the part of a frame behind the IP header and the extensions: the transport's header, a stack behind it,
// and the payload.
type segment struct {
	ifa                    []byte // IFA's header, before the transport's; empty without IFA
	header, stack, payload []byte
}

// splitSegment parses b, the bytes behind the extensions, into a segment. proto is the protocol in the IP header or in
// the extensions; splitSegment also returns the protocol of the segment itself. stacked means that the extensions have
// a stack already. INT is then payload, since a Packet has one stack.
func splitSegment(proto, tos uint8, stacked bool, b []byte) (x segment, _ uint8, err error) {
	if proto == ProtoIFA && len(b) >= minIFABytes && b[0]>>4 == ifaVersion {
		if stacked {
			return x, 0, fmt.Errorf("two stacks of telemetry in one packet")
		}
		x.ifa, proto, b = b[:ifaHeader], b[1], b[ifaHeader:]
	}
	switch proto {
	case ProtoUDP:
		if len(b) < UDPHeader {
			return x, 0, shortError("UDP header", UDPHeader, len(b))
		}
		x.header, b = b[:UDPHeader], b[UDPHeader:]
	case ProtoTCP:
		t, err := ParseTCP(b)
		if err != nil {
			return x, 0, err
		}
		x.header, b = b[:len(b)-len(t.Payload())], t.Payload()
	case ProtoICMP, ProtoICMPv6:
	default:
		if len(b) < ownHeader {
			return x, 0, shortError("transport header", ownHeader, len(b))
		}
		x.header, b = b[:ownHeader], b[ownHeader:]
	}
	if len(x.ifa) > 0 {
		n := 4
		if len(b) >= n {
			n += 4 * int(b[3])
		}
		if len(b) < n {
			return x, 0, shortError("IFA's metadata", n, len(b))
		}
		x.stack, b = b[:n], b[n:]
	}
	if proto == ProtoUDP {
		n := int(be.Uint16(x.header[4:]))
		if n < UDPHeader || n > UDPHeader+len(b) {
			return x, 0, fmt.Errorf("UDP header: length %d; allowed: 8 to %d", n, UDPHeader+len(b))
		}
		b = b[:n-UDPHeader]
	}
	if n := intBytes(proto, tos, x.header, b); n > 0 && len(x.ifa) == 0 && !stacked {
		x.stack, b = b[:n], b[n:]
	}
	x.payload = b
	return x, proto, nil
}

const ifaVersion = 2

// intBytes returns the length of the INT stack at the start of b; 0 without one. The marks in the transport's or IP's
// header could be chance, so intBytes also verifies the shim header.
func intBytes(proto, tos uint8, header, b []byte) int {
	if len(b) < minINTBytes {
		return 0
	}
	npt := uint8(0)
	switch {
	case proto == ProtoUDP && be.Uint16(header[2:]) == INTPort:
		npt = 1
	case proto == ProtoTCP && tos>>2 == INTDSCP && b[2] == 0 && b[3]&3 == 0:
	case len(header) == ownHeader && header[4]&intBehind != 0 && be.Uint16(b[2:]) == 0:
	default:
		return 0
	}
	n := intShim + 4*int(b[1])
	kind := b[0] >> 4
	if kind != intMD && kind != intDestination || b[0]&15 != npt<<2 || b[4]>>4 != 2 || b[4]&1 != 0 || b[5] != 0 ||
		b[6]>>5 != 0 || n < minINTBytes || n > len(b) || n > StackRoom {
		return 0
	}
	return n
}

// takeStack sets p's stack from a segment behind the headers, and restores the header fields that the stack has saved:
// the DSCP of TCP. p must have its protocol and TOS.
func (p *Packet) takeStack(x *segment) error {
	switch {
	case len(x.ifa) > 0:
		var room [StackRoom]byte
		b := append(append(room[:0], x.ifa...), x.stack...)
		answer := b[2]&ifaAnswer != 0
		b[1], b[2] = 0, b[2]&^ifaAnswer
		return p.setParsed(AroundTransport, b, answer)
	case len(x.stack) > 0:
		kind, last := x.stack[0]>>4, be.Uint16(x.stack[2:])
		if err := p.setParsed(BehindTransport, x.stack, kind == intDestination); err != nil {
			return err
		}
		p.stackRoom[0], p.stackRoom[2], p.stackRoom[3] = intMD<<4, 0, 0
		if p.Proto == ProtoTCP {
			p.TOS = uint8(last) | p.TOS&ECN
		}
	}
	return nil
}

// udpPort returns the segment's UDP destination port before the stack was inserted.
func (x *segment) udpPort() uint16 {
	if len(x.ifa) == 0 && len(x.stack) > 0 {
		return be.Uint16(x.stack[2:])
	}
	return be.Uint16(x.header[2:])
}

// udpPort returns p's UDP destination port without a stack.
func (p *Packet) udpPort() uint16 {
	if p.Proto == ProtoRDMA {
		return PortRoCE
	}
	return p.DstPort
}

// Unstack removes a stack from b, the bytes behind the extensions, for readers of frames without a Packet. It returns
// the original protocol, TOS, bytes and length. b may be truncated; length is the full length. Without a stack it
// returns its arguments.
func Unstack(proto, tos uint8, b []byte, length int) (uint8, uint8, []byte, int) {
	front, n := 0, 0
	if proto == ProtoIFA && len(b) >= minIFABytes && b[0]>>4 == ifaVersion {
		front = ifaHeader
	}
	s, inner := b[front:], proto
	if front > 0 {
		inner = b[1]
	}
	h := ownHeader
	switch {
	case inner == ProtoUDP:
		h = UDPHeader
	case inner == ProtoTCP && len(s) >= TCPHeader:
		h = 4 * int(s[12]>>4)
	}
	if len(s) < h+4 {
		return proto, tos, b, length
	}
	if n = intBytes(inner, tos, s[:h], s[h:]); front > 0 {
		n = 4 + 4*int(s[h+3])
	}
	if n == 0 || len(s) < h+n || length < front+h+n {
		return proto, tos, b, length
	}
	out := append(append(make([]byte, 0, len(s)-n), s[:h]...), s[h+n:]...)
	switch {
	case front > 0:
	case inner == ProtoUDP:
		be.PutUint16(out[2:], be.Uint16(s[h+2:]))
		be.PutUint16(out[4:], be.Uint16(s[4:])-uint16(n))
	case inner == ProtoTCP:
		tos = s[h+3] | tos&ECN
	default:
		out[4] &^= intBehind
	}
	return inner, tos, out, length - front - n
}

// insertStack inserts the part of the stack behind the transport's header into a RoCEv2 datagram, which begins at
// header. The ICRC stays unchanged: switches can change the stack, so it is removed before the check.
func (p *Packet) insertStack(b []byte, header int, src, dst netip.Addr) []byte {
	if where := p.StackPlace(); where != BehindTransport && where != AroundTransport {
		return b
	}
	rest := append([]byte(nil), b[header+UDPHeader:]...)
	b = append(p.appendBack(b[:header+UDPHeader], header), rest...)
	switch {
	case p.StackPlace() == AroundTransport:
	case p.Version == 6:
		SealUDP(b[header:], src, dst)
	default: // without a checksum, as in RoCE's NICs
		be.PutUint16(b[header+4:], uint16(len(b)-header))
	}
	return b
}

// wireTOS returns the TOS that p has in a frame.
func (p *Packet) wireTOS() uint8 {
	if p.Proto == ProtoTCP && p.StackPlace() == BehindTransport {
		return INTDSCP<<2 | p.TOS&ECN
	}
	return p.TOS
}

// wireProto returns the protocol number behind IP's header and the extensions.
func (p *Packet) wireProto(proto uint8) uint8 {
	if p.StackPlace() == AroundTransport {
		return ProtoIFA
	}
	return proto
}

// appendFront appends the part of the stack before the transport's header.
func (p *Packet) appendFront(b []byte, proto uint8) []byte {
	if p.StackPlace() != AroundTransport {
		return b
	}
	b = append(b, p.stackRoom[:ifaHeader]...)
	at := len(b) - ifaHeader
	if b[at+1] = proto; p.isAnswerStack() {
		b[at+2] |= ifaAnswer
	}
	return b
}

// appendBack appends the part of the stack behind the transport's header, which begins at header.
func (p *Packet) appendBack(b []byte, header int) []byte {
	switch p.StackPlace() {
	case AroundTransport:
		return append(b, p.stackRoom[ifaHeader:p.stackLen()]...)
	case BehindTransport:
		at, kind := len(b), uint8(intMD)
		if p.isAnswerStack() {
			kind = intDestination
		}
		b = append(b, p.stackRoom[:p.stackLen()]...)
		b[at] = kind << 4
		switch wireProtocol(p.Proto) {
		case ProtoUDP:
			b[at] |= 1 << 2
			be.PutUint16(b[at+2:], p.udpPort())
			be.PutUint16(b[header+2:], INTPort)
		case ProtoTCP:
			b[at+2], b[at+3] = 0, p.TOS&^ECN
		default:
			b[header+4] |= intBehind
		}
	}
	return b
}

// sealSegment completes a segment that begins at header and ends with b: it writes length and checksum over the bytes
// that p's transport includes. IFA's metadata, between header and payload, are not included.
func (p *Packet) sealSegment(b []byte, header int, src, dst netip.Addr) {
	s := b[header:]
	whole, at := s, 0
	if p.StackPlace() == AroundTransport {
		n := p.stackLen() - ifaHeader
		if at = UDPHeader; p.Proto == ProtoTCP {
			at = 4 * int(s[12]>>4)
		}
		whole = append(append(make([]byte, 0, len(s)-n), s[:at]...), s[at+n:]...)
	}
	switch wireProtocol(p.Proto) {
	case ProtoUDP:
		SealUDP(whole, src, dst)
	case ProtoTCP:
		SealTCP(whole, src, dst)
	}
	copy(s[:at], whole)
}
