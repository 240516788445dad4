package packet

import (
	"fmt"
	"net/netip"
)

// A packet has at most one stack of telemetry: headers of a format of their own, into which switches
// push records. Formats differ in where it stands in a frame. A stack can be longer than all other
// extensions, so it has room of its own, which a packet gets with its first stack and keeps. Among the
// extensions it is the first, of kind ExtStack, with 3 bytes that say where it stands and how long it is.

// ExtStack is the kind of an extension that stands for a stack, which the switches may write to; as an
// answer, which they may not, it is AnswerStack.
const (
	ExtStack    uint8 = 0x3c
	AnswerStack uint8 = 0x1c
)

// StackRoom is the most bytes of a stack.
const StackRoom = 768

// StackPosition is the position of a telemetry stack in a frame.
type StackPosition uint8

// Places of stacks.
const (
	// BehindTransport is INT's (P4 INT v2.1, "INT over TCP/UDP"): between the transport's header and the
	// payload. The stack begins with the shim header, of which Emit fills in type, NPT and the last two
	// bytes. Over UDP the destination port INTPort says that it is there, over TCP the DSCP is INTDSCP.
	BehindTransport StackPosition = 1 + iota
	// HopByHop is IOAM's (RFC 9486): an option of IPv6's hop-by-hop header, or of the header with the same
	// layout that extensions have over IPv4. The stack is the option's data.
	HopByHop
	// AroundTransport is IFA's (draft-kumar-ippm-ifa): 4 bytes between IP and the transport's header, the
	// rest behind that. Neither lengths nor checksums of the transport count it.
	AroundTransport
)

// What says in a frame that there is a stack, and of what kind.
const (
	// INTPort is the destination port of INT over UDP: INT_TBD, which the specification leaves open.
	INTPort uint16 = 0xd417
	// INTDSCP is the DSCP of INT over TCP (P4 INT v2.1, "Example with INT-MD over TCP").
	INTDSCP uint8 = 0x17
	// ProtoIFA is IFA's protocol number: one of those without a use, of which the draft asks for any.
	ProtoIFA uint8 = 251

	intShim        = 4
	intLeast       = intShim + 12 // with the header of INT-MD
	intMD          = 1            // types of the shim header
	intDestination = 2            // of answers: switches must ignore it
	intBehind      = 0x80         // in the kind of headers of our own: INT follows

	ioamOption = 0x31 // may change en route (RFC 9486)
	ioamAnswer = 0x11 // does not
	ioamLeast  = 2 + 8

	ifaHeader  = 4
	ifaLeast   = ifaHeader + 4
	ifaAnswer  = 0x80 // of IFA's flags, a reserved one: an answer; ours
	stackEntry = 2 + 3
)

// Stack returns the stack, as a view that is good until the extensions change; nil if there is none.
func (p *Packet) Stack() []byte {
	if !p.stacked() {
		return nil
	}
	n := p.stackLen()
	return p.far[:n:n]
}

// StackPlace is where the stack stands; 0 if there is none.
func (p *Packet) StackPlace() StackPosition {
	if !p.stacked() {
		return 0
	}
	return StackPosition(p.ext[2])
}

func (p *Packet) stacked() bool { return p.extLen > 0 && p.ext[0]|0x20 == ExtStack }

func (p *Packet) stackLen() int { return int(p.ext[3])<<8 | int(p.ext[4]) }

func (p *Packet) setStackLen(n int) { p.ext[3], p.ext[4] = uint8(n>>8), uint8(n) }

// SetStack gives p a stack that switches write to, in place of the one that it has. It returns false, and
// changes nothing, if there is no room.
func (p *Packet) SetStack(where StackPosition, data []byte) bool {
	if len(data) > StackRoom || !p.stacked() && int(p.extLen)+stackEntry > len(p.ext)-2 {
		return false
	}
	if !p.stacked() {
		copy(p.ext[stackEntry:], p.ext[:p.extLen])
		p.extLen += stackEntry
	}
	if p.far == nil {
		p.far = new([StackRoom]byte)
	}
	p.ext[0], p.ext[1], p.ext[2] = ExtStack, stackEntry-2, uint8(where)
	p.changing |= changing(ExtStack)
	p.setStackLen(copy(p.far[:], data))
	return true
}

// GrowStack opens a gap of n bytes in the stack, with the old bytes in it, and returns the whole; nil if
// there is no room, or no stack.
func (p *Packet) GrowStack(at, n int) []byte {
	if !p.stacked() {
		return nil
	}
	have := p.stackLen()
	if at < 0 || n < 0 || at > have || have+n > StackRoom {
		return nil
	}
	copy(p.far[at+n:have+n], p.far[at:have])
	p.setStackLen(have + n)
	return p.far[: have+n : have+n]
}

// Copy makes p a copy of from, with a stack of its own.
func (p *Packet) Copy(from *Packet) {
	far := p.far
	*p = *from
	if p.far = far; p.stacked() {
		p.copyStack(from)
	}
}

func (p *Packet) copyStack(from *Packet) {
	if p.far == nil {
		p.far = new([StackRoom]byte)
	}
	copy(p.far[:], from.far[:from.stackLen()])
}

// stackBytes is what the extensions take on the wire of a packet with a stack.
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

// answered reports whether the stack is an answer.
func (p *Packet) answered() bool { return p.ext[0] == AnswerStack }

// setParsed gives p the stack of a frame.
func (p *Packet) setParsed(where StackPosition, data []byte, answer bool) error {
	if !p.SetStack(where, data) {
		return fmt.Errorf("telemetry: %d bytes; at most %d are possible", len(data), StackRoom)
	}
	if answer {
		p.RenameExtension(ExtStack, AnswerStack)
	}
	return nil
}

// segment is what stands behind the IP header and the extensions: the transport's header, a stack behind
// it, and the payload.
type segment struct {
	ifa                    []byte // IFA's header, which stands before the transport's; empty if there is none
	header, stack, payload []byte
}

// split takes b, all that stands behind the extensions, apart. proto is what IP's header, or the
// extensions', says is there; the protocol of the segment is returned. stacked says that the extensions
// have a stack already: then INT is payload, since a Packet has one stack.
func split(proto, tos uint8, stacked bool, b []byte) (x segment, _ uint8, err error) {
	if proto == ProtoIFA && len(b) >= ifaLeast && b[0]>>4 == ifaVersion {
		if stacked {
			return x, 0, fmt.Errorf("two stacks of telemetry in one packet")
		}
		x.ifa, proto, b = b[:ifaHeader], b[1], b[ifaHeader:]
	}
	switch proto {
	case ProtoUDP:
		if len(b) < UDPHeader {
			return x, 0, short("UDP header", UDPHeader, len(b))
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
			return x, 0, short("transport header", ownHeader, len(b))
		}
		x.header, b = b[:ownHeader], b[ownHeader:]
	}
	if len(x.ifa) > 0 {
		n := 4
		if len(b) >= n {
			n += 4 * int(b[3])
		}
		if len(b) < n {
			return x, 0, short("IFA's metadata", n, len(b))
		}
		x.stack, b = b[:n], b[n:]
	}
	if proto == ProtoUDP {
		n := int(be.Uint16(x.header[4:]))
		if n < UDPHeader || n > UDPHeader+len(b) {
			return x, 0, fmt.Errorf("UDP header: length %d, at least 8 and at most %d is possible", n, UDPHeader+len(b))
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

// intBytes is how long the INT stack is with which b begins; 0 if there is none. What says so in the
// transport's or in IP's header could be chance, so the shim header must be one, too.
func intBytes(proto, tos uint8, header, b []byte) int {
	if len(b) < intLeast {
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
		b[6]>>5 != 0 || n < intLeast || n > len(b) || n > StackRoom {
		return 0
	}
	return n
}

// takeStack gives p the stack of a segment behind the headers, and what that has kept of them.
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
		p.far[0], p.far[2], p.far[3] = intMD<<4, 0, 0
		if p.Proto == ProtoTCP {
			p.TOS = uint8(last) | p.TOS&ECN
		}
	}
	return nil
}

// udpPort is UDP's destination port of a segment as if it had no stack.
func (x *segment) udpPort() uint16 {
	if len(x.ifa) == 0 && len(x.stack) > 0 {
		return be.Uint16(x.stack[2:])
	}
	return be.Uint16(x.header[2:])
}

// udpPort is UDP's destination port of p as if it had no stack.
func (p *Packet) udpPort() uint16 {
	if p.Proto == ProtoRDMA {
		return PortRoCE
	}
	return p.DstPort
}

// Unstack returns what stands behind the extensions as if it had no stack, for who reads frames without a Packet:
// its protocol, TOS, bytes and length. b may be cut short, so its length in all is given. Without a stack nothing
// changes.
func Unstack(proto, tos uint8, b []byte, length int) (uint8, uint8, []byte, int) {
	front, n := 0, 0
	if proto == ProtoIFA && len(b) >= ifaLeast && b[0]>>4 == ifaVersion {
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

// insertStack puts what of the stack stands behind the transport's header into a datagram of RoCEv2, which
// begins at header. The ICRC stays: switches can change the stack, which is taken out before it is checked.
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
	default: // without a checksum, as RoCE's NICs have none
		be.PutUint16(b[header+4:], uint16(len(b)-header))
	}
	return b
}

// wireTOS is p's TOS in a frame.
func (p *Packet) wireTOS() uint8 {
	if p.Proto == ProtoTCP && p.StackPlace() == BehindTransport {
		return INTDSCP<<2 | p.TOS&ECN
	}
	return p.TOS
}

// wireProto is the protocol behind IP's header and the extensions.
func (p *Packet) wireProto(proto uint8) uint8 {
	if p.StackPlace() == AroundTransport {
		return ProtoIFA
	}
	return proto
}

// appendFront appends what of the stack stands before the transport's header.
func (p *Packet) appendFront(b []byte, proto uint8) []byte {
	if p.StackPlace() != AroundTransport {
		return b
	}
	b = append(b, p.far[:ifaHeader]...)
	at := len(b) - ifaHeader
	if b[at+1] = proto; p.answered() {
		b[at+2] |= ifaAnswer
	}
	return b
}

// appendBack appends what of the stack stands behind the transport's header, which begins at header.
func (p *Packet) appendBack(b []byte, header int) []byte {
	switch p.StackPlace() {
	case AroundTransport:
		return append(b, p.far[ifaHeader:p.stackLen()]...)
	case BehindTransport:
		at, kind := len(b), uint8(intMD)
		if p.answered() {
			kind = intDestination
		}
		b = append(b, p.far[:p.stackLen()]...)
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

// seal completes a segment that begins at header: length and checksum of what p's transport counts as
// its own. IFA's metadata are not, and stand between header and payload.
func (p *Packet) seal(b []byte, header int, src, dst netip.Addr) {
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
