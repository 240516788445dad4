package packet

import (
	"encoding/binary"

	"weir/core/unit"
)

// ExtNotification is the packet extension of a notice that the network sends straight to a sender
// (NCF's NACK, BS'19 §4.3; a switch's CNP): the flag that marks it. It is one of RFC 4727's
// experimental option types; its upper bits, 010, say that it does not change en route and that a
// host that does not know it silently discards the packet (RFC 8200 §4.2). It is no ICMP message:
// hosts must ignore source quenches (RFC 6633).
const ExtNotification uint8 = 0x5e

// Cause is why the network tells a sender.
type Cause uint8

// Causes of notices.
const (
	CauseTrimmed   Cause = iota // the packet found no room, and its payload is gone
	CauseReclaimed              // the same, and it had been in a queue, whose memory another class needed
	CauseElephant               // nothing is lost: the flow is among the heaviest of a congested switch
	CauseMarked                 // nothing is lost: the packet would have been marked (fast CNP)
	Causes                      // how many there are
)

func (c Cause) String() string {
	if c < Causes {
		return [...]string{"trimmed", "reclaimed", "elephant", "marked"}[c]
	}
	return "unknown"
}

// A Notification is what a switch tells a sender about one packet of its flow. The packet that carries it
// has the endpoints of that packet, swapped, and no payload. As an extension it also has the other headers,
// sequence number and TCP time stamps included; as a TCP option it is an old ACK (SetNotice).
type Notification struct {
	Cause Cause
	// Lost is the payload of the packet that is gone, 0 … 65535 bytes; 0: none is.
	Lost int32
	// Supply is what the switch has for the flow, Demand what the flow has sent through it
	// lately, in bit/s of frames, whole kbit/s on the wire up to 4.29 Tb/s; 0: not said.
	Supply, Demand unit.Rate
	// Switch is who says it, with Signed; an option, for it tells where there is
	// congestion (BS'19 §5).
	Switch uint32
	Signed bool
	// More are further packets of the flow that are gone, of a switch that puts several
	// notices into one; Spans of them.
	More  [MostSpans]Span
	Spans uint8
}

// Span is a packet that is gone: its first byte as a distance from the sequence number
// of the packet that the notice is about (RDMA: in packets), −2³¹ … 2³¹−1, and its payload, 1 … 65535 bytes.
type Span struct {
	Offset int32
	Lost   int32
}

// MostSpans is how many packets a notice can name besides the first.
const MostSpans = 8

const (
	notificationVersion = 1
	notificationBytes   = 12 // version and flags, cause, lost, supply, demand
	notificationSigned  = 1
)

// SetNotification puts a notice into p. It returns false, and changes nothing, if there is no
// room for it.
func (p *Packet) SetNotification(n *Notification) bool {
	var room [notificationBytes + 4 + 6*MostSpans]byte
	b := append(room[:0], notificationVersion<<4, byte(n.Cause))
	b = binary.BigEndian.AppendUint16(b, uint16(n.Lost))
	b = binary.BigEndian.AppendUint32(b, kilobits(n.Supply))
	b = binary.BigEndian.AppendUint32(b, kilobits(n.Demand))
	if n.Signed {
		b[0] |= notificationSigned
		b = binary.BigEndian.AppendUint32(b, n.Switch)
	}
	for _, s := range n.More[:min(n.Spans, MostSpans)] {
		b = binary.BigEndian.AppendUint32(b, uint32(s.Offset))
		b = binary.BigEndian.AppendUint16(b, uint16(s.Lost))
	}
	return p.SetExtension(ExtNotification, b)
}

// Notification reads the notice that p carries. It returns false if there is none, or it is
// damaged; n is then undefined.
func (p *Packet) Notification(n *Notification) bool {
	if p.TCP.Has&HasNotice != 0 {
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

// readSpans reads what more is gone.
func (n *Notification) readSpans(b []byte) bool {
	if len(b)%6 != 0 || len(b) > 6*MostSpans {
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

// Notifies reports whether p is a notice of the network.
func (p *Packet) Notifies() bool {
	if p.TCP.Has&HasNotice != 0 {
		return true
	}
	if p.extLen == 0 {
		return false
	}
	_, n := p.findExtension(ExtNotification)
	return n > 0
}

// kilobits is a rate in kbit/s: at least 1 of a rate that is not 0, at most what 32 bits hold.
func kilobits(r unit.Rate) uint32 {
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

// TurnRound swaps the endpoints of p, so that it goes back to where it came from, with a new hop
// limit. Its hash becomes that of the reverse path.
func (p *Packet) TurnRound() {
	p.Src, p.Dst = p.Dst, p.Src
	p.SrcPort, p.DstPort = p.DstPort, p.SrcPort
	p.HopLimit = 64
	p.Hash = FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
}
