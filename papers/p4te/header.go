package p4te

import (
	"encoding/binary"

	"weir/core/packet"
	"weir/core/unit"
)

// HeaderKind is the packet extension for P4TE's in-band header, which the sender's leaf adds and the receiver's removes
// (mdn_int in the code; the form is Weir's). It changes en route. FeedbackKind is the extension of a message between
// neighbours, or of a copy that a switch recirculates to itself.
const (
	HeaderKind   uint8 = 0x3a
	FeedbackKind uint8 = 0x15
)

// Header is the in-band header. It takes 8 bytes on the wire, or 28 with Rated: flags and version, the window's scale
// and T^Source; then the acknowledgement.
type Header struct {
	// Source is T^Source (P4TE §6.1.2): the time at which the last switch's ingress received the packet, by that switch's
	// clock, in ns modulo 2⁴⁸.
	Source uint64
	// Allowed is set if the flow has sent B bytes since the last change of its rate (P4TE §6.4.1). Applied is set once a
	// switch has changed the rate on this packet, so that no other switch does.
	Allowed, Applied bool
	// Fake marks a fake ACK on its way to the sender's leaf.
	Fake bool
	// Rated is set if the leaf knows the flow's last acknowledgement. The fields that follow hold it, since a spine does
	// not have it (P4TE §6.4.2).
	Rated         bool
	Ack, Seq      uint32
	TSVal, TSEcho uint32
	Stamped       bool // the acknowledgement had time stamps
	Window        uint16
	Scale         uint8 // of the window; 0xff: unknown
}

const (
	headerShort = 8
	headerLong  = 28
	headerForm  = 1 << 5 // version 1 in the upper three bits
)

// Flags in the first byte.
const (
	flagAllowed = 1 << iota
	flagApplied
	flagFake
	flagRated
	flagStamped
)

// encode writes the header into b and returns its length.
func (h *Header) encode(b *[headerLong]byte) int {
	b[0], b[1] = headerForm, h.Scale
	for i, on := range [...]bool{h.Allowed, h.Applied, h.Fake, h.Rated, h.Stamped} {
		if on {
			b[0] |= 1 << i
		}
	}
	be := binary.BigEndian
	be.PutUint16(b[2:], uint16(h.Source>>32))
	be.PutUint32(b[4:], uint32(h.Source))
	if !h.Rated {
		return headerShort
	}
	be.PutUint32(b[8:], h.Ack)
	be.PutUint32(b[12:], h.Seq)
	be.PutUint32(b[16:], h.TSVal)
	be.PutUint32(b[20:], h.TSEcho)
	be.PutUint16(b[24:], h.Window)
	b[26], b[27] = 0, 0
	return headerLong
}

// WriteTo writes the header into p without changing p's Size. It returns false without room.
func (h *Header) WriteTo(p *packet.Packet) bool {
	var b [headerLong]byte
	return p.SetExtension(HeaderKind, b[:h.encode(&b)])
}

// ReadFrom reads the header of p. It returns false if the header is missing or damaged. Then h may be changed in part.
func (h *Header) ReadFrom(p *packet.Packet) bool {
	if !p.HasHotExtension(HeaderKind) {
		return false
	}
	b, ok := p.Extension(HeaderKind)
	if !ok || len(b) < headerShort || b[0]>>5 != headerForm>>5 {
		return false
	}
	be := binary.BigEndian
	*h = Header{Source: uint64(be.Uint16(b[2:]))<<32 | uint64(be.Uint32(b[4:])), Scale: b[1],
		Allowed: b[0]&flagAllowed != 0, Applied: b[0]&flagApplied != 0, Fake: b[0]&flagFake != 0, Rated: b[0]&flagRated != 0,
		Stamped: b[0]&flagStamped != 0}
	if !h.Rated {
		return len(b) == headerShort && !h.Stamped
	}
	if len(b) != headerLong || b[26] != 0 || b[27] != 0 {
		return false
	}
	h.Ack, h.Seq, h.TSVal, h.TSEcho, h.Window = be.Uint32(b[8:]), be.Uint32(b[12:]), be.Uint32(b[16:]), be.Uint32(b[20:]),
		be.Uint16(b[24:])
	return true
}

// restamp replaces T^Source in the header of p by source, and returns the old one. ok is false if the header is missing
// or damaged; then p stays as it is.
func restamp(p *packet.Packet, source uint64) (old uint64, ok bool) {
	if !p.HasHotExtension(HeaderKind) {
		return 0, false
	}
	b, ok := p.Extension(HeaderKind)
	if rated := ok && len(b) > 0 && b[0]&flagRated != 0; !ok || len(b) != headerShort && !rated || len(b) != headerLong &&
		rated || b[0]>>5 != headerForm>>5 {
		return 0, false
	}
	be := binary.BigEndian
	old = uint64(be.Uint16(b[2:]))<<32 | uint64(be.Uint32(b[4:]))
	be.PutUint16(b[2:], uint16(source>>32))
	be.PutUint32(b[4:], uint32(source))
	return old, true
}

// stampOf converts a clock's reading to the form of Source, rounded down also below zero: an offset of whole ns changes
// no difference.
func stampOf(reading unit.Time) uint64 {
	ns := reading / unit.Nanosecond
	if reading%unit.Nanosecond < 0 {
		ns--
	}
	return uint64(ns) & (1<<48 - 1)
}

// stampDifference returns the time from stamp a to stamp b, in whole ns; negative if b is earlier. The stamps are less
// than 39 hours apart.
func stampDifference(a, b uint64) unit.Time { return unit.Time(int64(b-a)<<16>>16) * unit.Nanosecond }

// putFeedback writes at most two events into p without changing p's Size: one byte each for metric and change, two for
// the port, eight for the value. It returns false without room.
func putFeedback(p *packet.Packet, events []Event) bool {
	var room [2 * 12]byte
	b := room[:0]
	for _, e := range events {
		b = append(b, byte(e.Metric), byte(e.Change))
		b = binary.BigEndian.AppendUint16(b, uint16(e.Port))
		b = binary.BigEndian.AppendUint64(b, uint64(e.Value))
	}
	return p.SetExtension(FeedbackKind, b)
}

// parseFeedback reads the n events of a feedback packet. ok is false if they are missing or damaged.
func parseFeedback(p *packet.Packet, events *[2]Event) (n int, ok bool) {
	b, there := p.Extension(FeedbackKind)
	if !there || len(b) == 0 || len(b)%12 != 0 || len(b) > 24 {
		return 0, false
	}
	for ; len(b) > 0; b = b[12:] {
		e := Event{Metric: Metric(b[0]), Change: Change(b[1]), Port: packet.PortID(binary.BigEndian.Uint16(b[2:])),
			Value: int64(binary.BigEndian.Uint64(b[4:]))}
		if e.Metric > unreachable || e.Change > Decrease {
			return 0, false
		}
		events[n] = e
		n++
	}
	return n, true
}
