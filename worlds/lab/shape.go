package lab

import (
	"weir/core/packet"
	"weir/core/unit"
)

// timerSlack is a delay of kernel timers that does not idle a host's link: the burst covers what the link sends
// meanwhile.
const timerSlack = 250 * unit.Microsecond

// pacingShift is the binary logarithm of the kernel's fraction of a second (sk_pacing_shift). The data that a TCP flow
// paces in this time may wait for its host's link, and at least two bursts may (tcp_small_queue_check in Linux'
// tcp_output.c).
const pacingShift = 10

// rateLimit limits a host's kernel to the rate of its link, so that the link's queue in the data plane stays
// empty.
type rateLimit struct {
	bytes              uint64 // per second
	overhead, minFrame uint16 // of a frame, in bytes
	atm                bool
	burst              uint32
	single             bool // TCP must send each segment separately
}

// newRateLimit returns the limit of a link with the given rate, for frames of at most maxFrame bytes. The burst has
// space for one frame and less than two, or for what the link sends during timerSlack. Segments are sent separately if
// the link adds overhead to each, or if two exceed what pacingShift allows: TCP lets two bursts wait, and a burst has
// at least two segments. A rate in packets/s counts each frame as maxFrame bytes.
func newRateLimit(rate unit.LinkRate, framing *packet.Framing, maxFrame int) rateLimit {
	x := rateLimit{bytes: uint64(rate.Bits) / 8, overhead: uint16(max(framing.Extra, 0)),
		minFrame: uint16(max(framing.Min+framing.Extra, 0)), atm: framing.Cells == packet.ATM,
		single: framing.Extra != 0 || framing.Min != 0 || framing.Cells != packet.Whole}
	if framing.Cells == packet.PTM {
		x.bytes = x.bytes * 64 / 65
	}
	if rate.Bits == 0 { // each frame takes the same time
		x = rateLimit{bytes: uint64(rate.Packets) * uint64(maxFrame), minFrame: uint16(maxFrame), single: true}
	}
	x.single = x.single || uint64(2*maxFrame)<<pacingShift > x.bytes
	x.burst = uint32(max(uint64(2*maxFrame-1), x.bytes*uint64(timerSlack)/uint64(unit.Second)))
	return x
}
