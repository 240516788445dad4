package packet

import "weir/core/unit"

// Wire form of a notice in a TCP option. The option is one for experiments, of kind 253, with an identifier of Weir's
// that IANA does not list. Behind the identifier are version, cause and flags (3, 3 and 2 bits), the lost payload (2
// bytes), supply and demand (2 bytes each, shortRate), with noticeSwitch the switch (4), and spans (6 each) as in the
// extension.
const (
	optionExperiment = 253 // RFC 4727 §7.2
	optionExID       = 0x4e4b

	noticeVersion = 1
	noticeSwitch  = 1 // flag: the switch is named
	noticeBytes   = 7
	noticeRoom    = 40 - 12 - 4 // without time stamps and the option's head
	noticeLength  = 3           // index in SACK of the block with the length of the notice as right edge
)

// The segment that carries such a notice must have no effect on a host that does not know the option. So it is a pure
// ACK that is older than everything the host has received. Its time stamp is old, so PAWS refuses it (RFC 7323 §5.3).
// Its sequence number is old too, because PAWS would answer a newer one with an ACK. Linux 6.18 discards it as an old
// ACK (PAWSOldAck) and changes no other counter.
//
// Its acknowledgement is older than any window, which is below 2³⁰ (RFC 7323 §2.3), so it acknowledges no data in
// flight. The segment that the notice is about begins 2³⁰ behind it. The notice has the flag ACK because NATs refuse
// segments without it.
const (
	noticeAckBack = 1 << 30 // of the acknowledgement
	noticeStale   = 1 << 10 // of the time stamp: a second on most hosts
)

// OptionSpans returns the number of spans for which an option has room. signed: the notice names the switch.
func OptionSpans(signed bool) uint8 {
	if signed {
		return (noticeRoom - noticeBytes - 4) / 6
	}
	return (noticeRoom - noticeBytes) / 6
}

// CanCarryOption reports whether a notice about p can be a TCP option. That requires a segment with time stamps that
// its sender does not take for a part of a handshake.
func (p *Packet) CanCarryOption() bool {
	return p.Proto == ProtoTCP && p.TCP.Present&HasTimestamps != 0 && p.TCP.Flags&(ACK|SYN|RST) == ACK
}

// SetNotice turns p, a segment that passes CanCarryOption and was turned round (SwapEnds), into one that carries n as a
// TCP option: an ACK with old sequence numbers and an old time stamp. It returns false, without a change, if there is
// no room for its spans. Kind, Payload and Size of p stay: the caller sets them.
func (p *Packet) SetNotice(n *Notification) bool {
	if n.Spans > OptionSpans(n.Signed) {
		return false
	}
	var room [noticeRoom]byte
	b := append(room[:0], noticeVersion<<5|byte(n.Cause)<<2)
	b = be.AppendUint16(b, uint16(n.Lost))
	b = be.AppendUint16(b, encodeShortRate(n.Supply))
	b = be.AppendUint16(b, encodeShortRate(n.Demand))
	if n.Signed {
		b[0] |= noticeSwitch
		b = be.AppendUint32(b, n.Switch)
	}
	for _, s := range n.More[:n.Spans] {
		b = be.AppendUint16(be.AppendUint32(b, uint32(s.Offset)), uint16(s.Lost))
	}
	t := &p.TCP
	p.Seq, p.Ack = p.Ack-1, p.Seq-noticeAckBack
	t.TSVal, t.TSEcho = t.TSEcho-noticeStale, t.TSVal
	t.Flags, t.Window, t.Present, t.MSS, t.Scale, t.Blocks = ACK, 0, HasTimestamps, 0, 0, 0
	t.setNotice(b)
	return true
}

// NoticeSubject returns the sequence number of the packet that the notice in p is about, and the time stamp of its
// transmission. p must carry a notice.
func (p *Packet) NoticeSubject() (seq int64, stamp uint32) {
	if p.TCP.Present&HasNotice != 0 {
		return p.Ack + noticeAckBack, p.TCP.TSEcho
	}
	return p.Seq, p.TCP.TSVal
}

// setNotice stores the bytes behind the option's identifier in place of SACK blocks, which a segment with a notice
// does not have.
func (s *Segment) setNotice(b []byte) {
	s.Present |= HasNotice
	for i := range s.SACK {
		s.SACK[i] = SACKBlock{}
	}
	for i, v := range b {
		e := &s.SACK[i/8].Left
		if i%8 > 3 {
			e = &s.SACK[i/8].Right
		}
		*e |= uint32(v) << (24 - 8*(i%4))
	}
	s.SACK[noticeLength].Right = uint32(len(b))
}

// noticeData writes the bytes that setNotice has stored to room, and returns them. s must have HasNotice.
func (s *Segment) noticeData(room *[noticeRoom + 4]byte) []byte {
	b := room[:0]
	for _, e := range s.SACK[:noticeLength] {
		b = be.AppendUint32(be.AppendUint32(b, e.Left), e.Right)
	}
	return b[:min(int(s.SACK[noticeLength].Right), noticeRoom)]
}

// noticeLen returns the length of a notice's option in bytes, with padding.
func (s *Segment) noticeLen() int32 { return (4 + int32(s.SACK[noticeLength].Right) + 3) &^ 3 }

// takeNotice looks for a notice among options of unknown kinds, and stores it. Only a pure ACK carries one.
func (s *Segment) takeNotice(unknown []byte) {
	for b := unknown; len(b) > 0; b = b[b[1]:] {
		if b[0] == optionExperiment && b[1] >= 4+noticeBytes && b[1] <= 4+noticeRoom && be.Uint16(b[2:]) == optionExID {
			s.setNotice(b[4:b[1]])
			return
		}
	}
}

// readNotice decodes the stored notice. It returns false if it is damaged or of another version.
func (s *Segment) readNotice(n *Notification) bool {
	var room [noticeRoom + 4]byte
	b := s.noticeData(&room)
	if len(b) < noticeBytes || b[0]>>5 != noticeVersion || b[0]&3&^noticeSwitch != 0 || Cause(b[0]>>2&7) >= Causes {
		return false
	}
	supply, known := decodeShortRate(be.Uint16(b[3:]))
	demand, sound := decodeShortRate(be.Uint16(b[5:]))
	*n = Notification{Cause: Cause(b[0] >> 2 & 7), Lost: int32(be.Uint16(b[1:])), Supply: supply, Demand: demand,
		Signed: b[0]&noticeSwitch != 0}
	if b = b[noticeBytes:]; n.Signed {
		if len(b) < 4 {
			return false
		}
		n.Switch, b = be.Uint32(b), b[4:]
	}
	return known && sound && n.readSpans(b)
}

// encodeShortRate returns a rate as two bytes: exponent (5 bits) and mantissa (11), mantissa·2^exponent kbit/s, with
// the smallest exponent. The error is at most 1/2048. A rate above 0 gives at least 1, and the largest result fits
// unit.Rate.
func encodeShortRate(r unit.Rate) uint16 {
	m, e := uint64(r/unit.Kbps), uint16(0)
	if r <= 0 {
		return 0
	}
	for m >= 1<<11 {
		m >>= 1
		e++
	}
	if e > 0 { // to the nearest
		full := uint64(r / unit.Kbps)
		if m = (full + 1<<(e-1)) >> e; m == 1<<11 {
			m, e = 1<<10, e+1
		}
	}
	if e > 31 {
		m, e = 1<<11-1, 31
	}
	return e<<11 | uint16(max(m, 1))
}

// decodeShortRate returns the rate of two bytes; false if encodeShortRate never writes them.
func decodeShortRate(v uint16) (unit.Rate, bool) {
	m, e := int64(v&(1<<11-1)), v>>11
	return unit.Rate(m<<e) * unit.Kbps, e == 0 || m >= 1<<10
}
