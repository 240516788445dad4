package packet

import "weir/core/unit"

// What a notice in a TCP option is on the wire. The option is one for experiments, of kind 253, and its
// experiment's identifier is ours, which IANA does not list. Behind that stand version, cause and flags
// (3, 3 and 2 bits), the lost payload (2 bytes), supply and demand (2 bytes each, shortRate), with
// noticeSwitch the switch (4), and spans (6 each) as in the extension.
const (
	optionExperiment = 253 // RFC 4727 §7.2
	optionExID       = 0x4e4b

	noticeVersion = 1
	noticeSwitch  = 1 // flag: the switch is named
	noticeBytes   = 7
	noticeRoom    = 40 - 12 - 4 // beside time stamps and the option's head
	noticeLength  = 3           // of SACK: the block whose right edge is the length of the notice
)

// The segment that carries such a notice must do nothing to a host that does not know it. So it is a pure ACK
// that is older than all that the host has: by its time stamp, which PAWS refuses (RFC 7323 §5.3), and by
// its sequence number, for what is not old PAWS would answer with an ACK. Linux 6.18 discards it as an old ACK
// (PAWSOldAck) and moves no other counter, measured in namespaces; other versions were not tried. Its
// acknowledgement is older than any window, which is below 2³⁰ (RFC 7323 §2.3), and so says of nothing that is
// out that it has come; the segment that the notice is about begins 2³⁰ behind it. There is no segment without
// ACK, since NATs refuse it.
const (
	noticeBack  = 1 << 30 // of the acknowledgement
	noticeStale = 1 << 10 // of the time stamp: a second of most hosts
)

// OptionSpans is how many spans there is room for in an option, with the switch's name or without.
func OptionSpans(signed bool) uint8 {
	if signed {
		return (noticeRoom - noticeBytes - 4) / 6
	}
	return (noticeRoom - noticeBytes) / 6
}

// Optional reports whether a notice about p can be a TCP option: that takes a segment with time stamps, and one
// that its sender takes for no part of a handshake.
func (p *Packet) Optional() bool {
	return p.Proto == ProtoTCP && p.TCP.Has&HasTimestamps != 0 && p.TCP.Flags&(ACK|SYN|RST) == ACK
}

// SetNotice makes of p, a segment that is Optional and was turned round, one that carries n as a TCP option.
// It returns false, and changes nothing, if there is no room for its spans.
func (p *Packet) SetNotice(n *Notification) bool {
	if n.Spans > OptionSpans(n.Signed) {
		return false
	}
	var room [noticeRoom]byte
	b := append(room[:0], noticeVersion<<5|byte(n.Cause)<<2)
	b = be.AppendUint16(b, uint16(n.Lost))
	b = be.AppendUint16(b, shorten(n.Supply))
	b = be.AppendUint16(b, shorten(n.Demand))
	if n.Signed {
		b[0] |= noticeSwitch
		b = be.AppendUint32(b, n.Switch)
	}
	for _, s := range n.More[:n.Spans] {
		b = be.AppendUint16(be.AppendUint32(b, uint32(s.Offset)), uint16(s.Lost))
	}
	t := &p.TCP
	p.Seq, p.Ack = p.Ack-1, p.Seq-noticeBack
	t.TSVal, t.TSEcho = t.TSEcho-noticeStale, t.TSVal
	t.Flags, t.Window, t.Has, t.MSS, t.Scale, t.Blocks = ACK, 0, HasTimestamps, 0, 0, 0
	t.setNotice(b)
	return true
}

// NotifiedAbout is where the packet begins that the notice in p is about, and the time stamp of its
// transmission.
func (p *Packet) NotifiedAbout() (seq int64, stamp uint32) {
	if p.TCP.Has&HasNotice != 0 {
		return p.Ack + noticeBack, p.TCP.TSEcho
	}
	return p.Seq, p.TCP.TSVal
}

// setNotice keeps what is behind the option's identifier in the room of SACK blocks, of which a notice has none.
func (s *Segment) setNotice(b []byte) {
	s.Has |= HasNotice
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

// notice writes what setNotice has kept to room, and returns it; there is none without HasNotice.
func (s *Segment) notice(room *[noticeRoom + 4]byte) []byte {
	b := room[:0]
	for _, e := range s.SACK[:noticeLength] {
		b = be.AppendUint32(be.AppendUint32(b, e.Left), e.Right)
	}
	return b[:min(int(s.SACK[noticeLength].Right), noticeRoom)]
}

// noticeLen is the length of the option of a notice, with padding.
func (s *Segment) noticeLen() int32 { return (4 + int32(s.SACK[noticeLength].Right) + 3) &^ 3 }

// takeNotice looks among options of other kinds for a notice. Only a pure ACK carries one.
func (s *Segment) takeNotice(unknown []byte) {
	for b := unknown; len(b) > 0; b = b[b[1]:] {
		if b[0] == optionExperiment && b[1] >= 4+noticeBytes && b[1] <= 4+noticeRoom && be.Uint16(b[2:]) == optionExID {
			s.setNotice(b[4:b[1]])
			return
		}
	}
}

// readNotice reads a notice out of an option.
func (s *Segment) readNotice(n *Notification) bool {
	var room [noticeRoom + 4]byte
	b := s.notice(&room)
	if len(b) < noticeBytes || b[0]>>5 != noticeVersion || b[0]&3&^noticeSwitch != 0 || Cause(b[0]>>2&7) >= Causes {
		return false
	}
	supply, known := lengthen(be.Uint16(b[3:]))
	demand, sound := lengthen(be.Uint16(b[5:]))
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

// shorten is a rate as two bytes: exponent (5 bits) and mantissa (11), mantissa·2^exponent kbit/s, with the
// smallest exponent. It is at most 1/2048 off, at least 1 of a rate that is not 0, and at most what unit.Rate holds.
func shorten(r unit.Rate) uint16 {
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

// lengthen is the rate of two bytes; false: no rate is written so.
func lengthen(v uint16) (unit.Rate, bool) {
	m, e := int64(v&(1<<11-1)), v>>11
	return unit.Rate(m<<e) * unit.Kbps, e == 0 || m >= 1<<10
}
