package p4te

import (
	"weir/core/packet"
	"weir/core/unit"
)

// driftShift bounds the drift between two clocks that LinkDelay follows: 2^−driftShift, or 244 ppm. An oscillator of
// Ethernet is at most 100 ppm off (IEEE 802.3).
const driftShift = 12

// LinkDelay turns differences between two switches' clocks into hop-to-hop delays (§6.1.2), by ingress port. A
// difference contains the offset between the clocks, which is unknown. LinkDelay subtracts the port's minimum, the
// difference of a packet that did not queue. What remains is queueing delay: 0 at least, and the same for all offsets.
//
// The clocks may drift, so the minimum grows with its age by 244 ppm until a packet confirms or lowers it. A delay that
// does not return to its minimum is therefore underestimated by 244 ppm of the time since then, and by what the clocks
// drift in that time: 0.3 us in a millisecond. A queue that stands for d/244 ppm, where d is its delay, becomes the new
// minimum, and is measured as 0 from then on. Ports whose links differ in length have the same delay without queues.
type LinkDelay struct {
	ports []minDelay
}

// minDelay is the minimum of a port.
type minDelay struct {
	difference uint64    // ns modulo 2⁴⁸
	at         unit.Time // when it was measured
	known      bool
}

// NewLinkDelay returns the registers for this number of ports.
func NewLinkDelay(ports int) *LinkDelay { return &LinkDelay{make([]minDelay, ports)} }

// Measure returns the queueing delay of a packet that arrives by a port, in whole ns. The packet left the last
// switch's ingress when that switch's clock showed source, and arrives when this switch's clock shows arrival.
func (l *LinkDelay) Measure(now unit.Time, port packet.PortID, source, arrival uint64) unit.Time {
	m, difference := &l.ports[port], arrival-source
	if m.known {
		grown := (now - m.at) >> driftShift
		if delay := between(m.difference, difference) - grown; delay > 0 {
			return delay / unit.Nanosecond * unit.Nanosecond
		}
	}
	*m = minDelay{difference, now, true}
	return 0
}
