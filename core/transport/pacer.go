package transport

import "weir/core/unit"

// Pacer spaces packets: after a packet there is a gap, which is the packet's payload at the pacing rate. A new rate
// changes the gap after the latest packet, too.
type Pacer struct {
	Last  unit.Time  // when the latest packet was sent
	bytes unit.Bytes // payload that makes the gap after it; 0: there is no gap
	next  unit.Time
}

// Record notes a packet that is sent now, with a gap of bytes after it. SetRate computes the gap.
func (p *Pacer) Record(now unit.Time, bytes unit.Bytes) { p.Last, p.bytes = now, bytes }

// SetRate computes the gap after the latest packet at a rate of payload; 0: there is no gap.
func (p *Pacer) SetRate(rate unit.Rate) {
	p.next = p.Last
	if rate <= 0 {
		return
	}
	if gap := unit.TransmitTime(p.bytes, rate); gap < unit.Never-p.Last {
		p.next = p.Last + gap
	} else {
		p.next = unit.Never - 1
	}
}

// Next returns the earliest time of the next packet.
func (p *Pacer) Next() unit.Time { return p.next }
