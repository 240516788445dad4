package packet

import (
	"encoding/binary"

	"weir/core/unit"
)

// ExtNotification is the packet extension of a notice that the network sends straight to a sender (NCF's NACK, BS'19
// §4.3; a switch's CNP); it marks the packet as a notice. It is one of RFC 4727's experimental option types. Its upper
// bits, 010, mean that it does not change en route and that a host which does not know it silently discards the packet
// (RFC 8200 §4.2). It is no ICMP message, because hosts must ignore source quenches (RFC 6633).
const ExtNotification uint8 = 0x5e

// Cause is the reason of a notice.
type Cause uint8

// Causes of notices.
const (
	CauseTrimmed   Cause = iota // the packet found no room, and its payload is lost
	CauseReclaimed              // the payload is lost from a queue, because another class needed its memory
	CauseElephant               // no loss: the flow is among the heaviest of a congested switch
	CauseMarked                 // no loss: the packet would have been marked (fast CNP)
	Causes                      // number of causes
)

// String returns the name of the cause; "unknown" for a value that is not one of the causes.
func (c Cause) String() string {
	if c < Causes {
		return [...]string{"trimmed", "reclaimed", "elephant", "marked"}[c]
	}
	return "unknown"
}

// A Notification is a switch's notice to a sender about one packet of its flow. The packet that carries it has the
// endpoints of that packet, swapped, and no payload. As an extension it also has the other headers, sequence number
// and TCP time stamps included; as a TCP option it is an old ACK (SetNotice).
type Notification struct {
	Cause Cause
	// Lost is the lost payload of the packet, 0 … 65535 bytes; 0: no loss.
	Lost int32
	// Supply is the rate that the switch has for the flow, and Demand the rate at which the flow recently sent through
	// it. Both are in bit/s of frames, on the wire in whole kbit/s up to 4.29 Tb/s; 0: unknown.
	Supply, Demand unit.Rate
	// Switch is the notifying switch, if Signed is set. It is optional because it discloses where there is congestion
	// (BS'19 §5).
	Switch uint32
	Signed bool
	// More are further lost packets of the flow, from a switch that combines several notices; Spans is their number.
	More  [MaxSpans]Span
	Spans uint8
}

// Span is a lost packet: the distance of its first byte from the sequence number of the packet that the notice is
// about (RDMA: in packets), −2³¹ … 2³¹−1, and its payload, 1 … 65535 bytes.
type Span struct {
	Offset int32
	Lost   int32
}

// MaxSpans is the maximum number of packets that a notice can name after the first.
const MaxSpans = 8

const (
	notificationVersion = 1
	notificationBytes   = 12 // version and flags, cause, lost, supply, demand
	notificationSigned  = 1
)

// SetNotification adds a notice to p as an extension. It returns false, without a change, if there is no room. Kind,
// Payload and Size of p stay.
func (p *Packet) SetNotification(n *Notification) bool {
	var room [notificationBytes + 4 + 6*MaxSpans]byte
	b := append(room[:0], notificationVersion<<4, byte(n.Cause))
	b = binary.BigEndian.AppendUint16(b, uint16(n.Lost))
	b = binary.BigEndian.AppendUint32(b, encodeKilobits(n.Supply))
	b = binary.BigEndian.AppendUint32(b, encodeKilobits(n.Demand))
	if n.Signed {
		b[0] |= notificationSigned
		b = binary.BigEndian.AppendUint32(b, n.Switch)
	}
	for _, s := range n.More[:min(n.Spans, MaxSpans)] {
		b = binary.BigEndian.AppendUint32(b, uint32(s.Offset))
		b = binary.BigEndian.AppendUint16(b, uint16(s.Lost))
	}
	return p.SetExtension(ExtNotification, b)
}

// Notification reads the notice that p carries. It returns false if the notice is missing or damaged; n is then
// undefined.
func (p *Packet) Notification(n *Notification) bool {
	if p.TCP.Present&HasNotice != 0 {
		return p.TCP.readNotice(n)
	}
	if p.extLen == 0 {
		return false
	}
	b, ok := p.Extension(ExtNotification)
	if !ok || len(b) < notificationBytes || b[0]>>4 != notificationVersion || b[0]&15&^notificationSigned != 0 ||
		Cause(b[1]) >= Causes {
		return false
	}
	*n = Notification{Cause: Cause(b[1]), Lost: int32(binary.BigEndian.Uint16(b[2:])),
		Supply: unit.Rate(binary.BigEndian.Uint32(b[4:])) * unit.Kbps,
		Demand: unit.Rate(binary.BigEndian.Uint32(b[8:])) * unit.Kbps}
	signed := b[0]&notificationSigned != 0
	if b = b[notificationBytes:]; signed {
		if len(b) < 4 {
			return false
		}
		n.Signed, n.Switch, b = true, binary.BigEndian.Uint32(b), b[4:]
	}
	return n.readSpans(b)
}

// readSpans decodes the further lost packets into n, which has no spans yet. It returns false if b is damaged.
func (n *Notification) readSpans(b []byte) bool {
	if len(b)%6 != 0 || len(b) > 6*MaxSpans {
		return false
	}
	for ; len(b) > 0; b = b[6:] {
		s := Span{int32(binary.BigEndian.Uint32(b)), int32(binary.BigEndian.Uint16(b[4:]))}
		if s.Lost == 0 {
			return false
		}
		n.More[n.Spans] = s
		n.Spans++
	}
	return true
}

// IsNotification reports whether p is a notice of the network.
func (p *Packet) IsNotification() bool {
	if p.TCP.Present&HasNotice != 0 {
		return true
	}
	if p.extLen == 0 {
		return false
	}
	_, n := p.findExtension(ExtNotification)
	return n > 0
}

// encodeKilobits returns a rate in kbit/s, at most the largest value of 32 bits. A rate above 0 gives at least 1.
func encodeKilobits(r unit.Rate) uint32 {
	switch k := r / unit.Kbps; {
	case r <= 0:
		return 0
	case k < 1:
		return 1
	case k > 1<<32-1:
		return 1<<32 - 1
	default:
		return uint32(k)
	}
}

// SwapEnds swaps the endpoints of p and sets a new hop limit, 64, so that p returns to its sender. Its hash becomes the
// hash of the reverse path. Sequence numbers stay.
func (p *Packet) SwapEnds() {
	p.Src, p.Dst = p.Dst, p.Src
	p.SrcPort, p.DstPort = p.DstPort, p.SrcPort
	p.HopLimit = 64
	p.Hash = FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
}
