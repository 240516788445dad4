package lab

import (
	"weir/core/packet"
	"weir/core/unit"
)

// timerSlack is the delay of a timer of the kernel that costs a host's link no time: what the link carries meanwhile
// may depart at once.
const timerSlack = 250 * unit.Microsecond

// pacingShift is the binary logarithm of the share of a second: what a TCP flow paces in it may wait for its host's
// link, if that is more than two bursts (tcp_small_queue_check of Linux' tcp_output.c, sk_pacing_shift).
const pacingShift = 10

// limit is what a host's kernel may send at the rate of its link, so that its link's queue in the data plane stays
// empty.
type limit struct {
	bytes              uint64 // a second
	overhead, minFrame uint16 // of a frame, in bytes
	atm                bool
	burst              uint32
	single             bool // TCP must send each segment on its own
}

// limitOf returns the limit of a link with a rate for frames of at most room bytes. The burst has room for a frame and
// less than two, or for what the link carries while a timer is late. Segments are sent on their own where each counts
// more than its bytes, and where two take more than what pacingShift allows: TCP has two bursts wait, and a burst has
// two segments or more.
func limitOf(rate unit.LinkRate, framing *packet.Framing, room int) limit {
	x := limit{bytes: uint64(rate.Bits) / 8, overhead: uint16(max(framing.Extra, 0)),
		minFrame: uint16(max(framing.Min+framing.Extra, 0)), atm: framing.Cells == packet.ATM,
		single: framing.Extra != 0 || framing.Min != 0 || framing.Cells != packet.Whole}
	if framing.Cells == packet.PTM {
		x.bytes = x.bytes * 64 / 65
	}
	if rate.Bits == 0 { // each frame takes the same time
		x = limit{bytes: uint64(rate.Packets) * uint64(room), minFrame: uint16(room), single: true}
	}
	x.single = x.single || uint64(2*room)<<pacingShift > x.bytes
	x.burst = uint32(max(uint64(2*room-1), x.bytes*uint64(timerSlack)/uint64(unit.Second)))
	return x
}
