package transport

import "weir/core/unit"

// Pacer spaces packets: after a packet there is a gap, which is the packet's payload at the pacing rate. A new rate
// changes the gap after the latest packet, too. There are two ways to compute a gap: RecordSend and SetRate, in whole
// picoseconds, or ExtendGap, by a sender that computes its gaps itself.
type Pacer struct {
	LastSend unit.Time  // when the latest packet was sent
	bytes    unit.Bytes // payload that makes the gap after it; 0: there is no gap
	next     unit.Time
}

// RecordSend records a packet that is sent now, with a gap of bytes after it. NextSend changes only with the SetRate
// that must follow.
func (p *Pacer) RecordSend(now unit.Time, bytes unit.Bytes) { p.LastSend, p.bytes = now, bytes }

// SetRate computes the gap after the latest packet at a rate of payload; 0: there is no gap.
func (p *Pacer) SetRate(rate unit.Rate) {
	p.next = p.LastSend
	if rate <= 0 {
		return
	}
	if gap := unit.TransmitTime(p.bytes, rate); gap < unit.Never-p.LastSend {
		p.next = p.LastSend + gap
	} else {
		p.next = unit.Never - 1
	}
}

// ExtendGap adds a gap after a packet that is sent now. If the packet is sent before NextSend, the gap begins at
// NextSend.
func (p *Pacer) ExtendGap(now, gap unit.Time) {
	p.LastSend = now
	p.next = max(now, p.next) + gap
}

// StretchGap changes the gap after the latest packet in proportion when the rate changes from old, for senders that
// call ExtendGap. It computes in float64. If one of the rates is 0, the gap stays.
func (p *Pacer) StretchGap(old, rate unit.Rate) {
	if old > 0 && rate > 0 && p.next > p.LastSend {
		p.next = p.LastSend + unit.Time(float64(p.next-p.LastSend)*float64(old)/float64(rate))
	}
}

// NextSend returns the earliest time of the next packet.
func (p *Pacer) NextSend() unit.Time { return p.next }
