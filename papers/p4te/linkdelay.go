package p4te

import (
	"weir/core/packet"
	"weir/core/unit"
)

// driftShift bounds the drift between two clocks that LinkDelay follows: 2^−driftShift, or 244 ppm. An oscillator of
// Ethernet is at most 100 ppm off (IEEE 802.3).
const driftShift = 12

// LinkDelay turns differences between two switches' clocks into hop-to-hop delays (P4TE §6.1.2), by ingress port. A
// difference contains the unknown offset between the clocks. LinkDelay subtracts the port's minimum, the difference of
// a packet that did not queue. The rest is queueing delay: at least 0, and the same for all offsets.
//
// The clocks may drift, so the minimum grows with its age by 244 ppm until a packet confirms or lowers it. A delay that
// does not return to its minimum is thus underestimated by 244 ppm of the time since then, plus the clocks' drift in
// that time: 0.3 us in a millisecond. A queue that persists for d/244 ppm, d being its delay, becomes the new minimum,
// and is measured as 0 from then on. Ports with links of different lengths have the same delay without queues.
type LinkDelay struct {
	ports []minDelay
}

// minDelay is the minimum difference of a port.
type minDelay struct {
	difference uint64    // ns modulo 2⁴⁸
	measuredAt unit.Time // time of the measurement
	isSet      bool
}

// NewLinkDelay returns the registers for this number of ports.
func NewLinkDelay(ports int) *LinkDelay { return &LinkDelay{make([]minDelay, ports)} }

// Measure returns the queueing delay of a packet that arrives at a port, in whole ns, and updates the port's minimum.
// The packet was at the last switch's ingress when that switch's clock showed source, and arrives when this switch's
// clock shows arrival (stampOf). A port's first packet has a delay of 0.
func (l *LinkDelay) Measure(now unit.Time, port packet.PortID, source, arrival uint64) unit.Time {
	m, difference := &l.ports[port], arrival-source
	if m.isSet {
		grown := (now - m.measuredAt) >> driftShift
		if delay := stampDifference(m.difference, difference) - grown; delay > 0 {
			return delay / unit.Nanosecond * unit.Nanosecond
		}
	}
	*m = minDelay{difference, now, true}
	return 0
}
