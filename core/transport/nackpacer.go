package transport

import (
	"weir/core/packet"
	"weir/core/unit"
)

// NACKPacer keeps a sender from storming a switch that tells it of every packet that finds no room. BS'19 §4.3 has
// senders that "quickly reduce"; what one does that cannot reduce any more, or whose controller does not heed losses,
// is ours. NACKs come back sooner than ACKs, so who fills the place of a trimmed packet at once sends many in a round
// trip, whatever its window. NACKPacer has two rules, for every controller:
//
//   - From a NACK on, for a round trip or as long as anything is in flight, a packet goes for each that is
//     delivered: packet conservation, as RFC 9937 has it. So the pace is that of ACKs.
//   - After it packets have a gap. If nothing was delivered, the gap is the round trip, or twice what it was, but no
//     more than the time of three packets at the rate that the switch offers (of one with Bursts), or than the round
//     trip where that is longer: longer gaps leave the link idle, once others have finished. When that does not help
//     eight times in a row, the offer was too high, and twice that is allowed. If something was delivered, but what had
//     been sent again is gone again, or there was a gap already, it is what spreads this over the round trip. Each
//     delivery in a row closes the gap by a part more, up to a half; a gap below a round trip closes by no more than
//     that a round trip.
//
// The round trip is the shortest that was measured, where a transport knows it: one of a full queue, or one taken from
// time stamps of a millisecond, makes gaps that outlast the congestion many times over.
//
// A loss now and then, among packets that arrive, costs a sender nothing, and a NACK of what does arrive takes its gap
// back (Refuted).
type NACKPacer struct {
	// Bursts says that windows are sent in bursts, as TCP's are. Then deliveries close gaps more slowly than NACKs double
	// them, or all who are in the game would send more than the link carries: with eighths instead of parts of 24, 256
	// senders of TCP sent 1.7 times what arrives, not 1.46; and gaps are bounded more tightly in turn, for flows of 20 KB
	// are over soon. RDMA's and UDP's packets go one by one: so held, 256 of them took half as long again.
	Bursts bool

	gap             unit.Time // between packets; 0: none
	minGap          unit.Time // below it there is none: a quarter of the first one
	nextSend        unit.Time // nothing goes before
	roundStart      unit.Time // when a NACK began this round trip
	roundEnd        unit.Time // when it is over; 0: there is none
	offeredGap      unit.Time // of a packet at the rate offered
	deliveredCount  int       // packets delivered in the round trip
	credit          int       // of these, those that no packet has followed yet
	streak          int       // packets delivered in a row
	emptyRounds     int       // round trips in a row without a delivered packet
	drawCount       uint32
	deliveredBefore bool // the last round trip of NACKs something was delivered
	resentLost      bool // in the round trip, what had been sent again was gone again
}

// patience is how many vain round trips there are before the gap may be twice what is offered.
const patience = 8

// parts is how many of them a gap has, of which a delivery closes one.
func (h *NACKPacer) parts() int {
	if h.Bursts {
		return 24
	}
	return 8
}

// atOnce is how many packets go in a NACK's round trip before anything is delivered: what is lost now and then is
// repaired without delay.
const atOnce = 2

// Nacked is told of a NACK that says that a packet is gone. again says that it had been sent again for another;
// supply is the rate that the switch offers (0: it does not say) for packets of so many bytes.
func (h *NACKPacer) Nacked(now, rtt unit.Time, again bool, supply unit.Rate, size int64) {
	if h.roundEnd == 0 {
		h.roundStart, h.roundEnd, h.deliveredCount, h.credit, h.resentLost = now, now+max(rtt, 1), 0, atOnce, false
	}
	h.resentLost = h.resentLost || again
	if h.streak, h.offeredGap = 0, unit.Never>>24; supply > 0 {
		h.offeredGap = min(h.offeredGap, unit.TransmitTime(unit.Bytes(size), supply))
	}
}

// Delivered is told of packets that have arrived.
func (h *NACKPacer) Delivered(packets int, rtt unit.Time) {
	h.emptyRounds, h.deliveredBefore = 0, true
	if h.roundEnd > 0 {
		h.deliveredCount += packets
		h.credit += packets
		return
	}
	for ; packets > 0 && h.gap > 0; packets-- {
		h.streak = min(h.streak+1, h.parts()/2)
		closes := h.gap / unit.Time(h.parts()) * unit.Time(h.streak)
		if h.gap < rtt {
			closes = unit.Time(float64(closes) * float64(h.gap) / float64(rtt))
		}
		if h.gap -= closes + 1; h.gap < h.minGap {
			h.gap, h.nextSend = 0, 0
		}
	}
}

// Refuted is told that a packet has arrived though a NACK has said that it was gone when it was
// sent last. A switch does not say so of what it passes on; so the gap that such NACKs have made is
// mostly taken back. Without that an attacker on the path, who NACKs everything, has a sender wait
// as long as it ever does.
func (h *NACKPacer) Refuted() {
	if h.gap /= 4; h.gap < h.minGap {
		h.gap = 0
	}
	h.nextSend = 0
}

// Waits reports whether a NACK has begun a round trip that Update has not ended yet.
func (h *NACKPacer) Waits() bool { return h.roundEnd > 0 }

// Update ends it when it is over or nothing is in flight. limit is the longest gap.
func (h *NACKPacer) Update(now, rtt, limit unit.Time, inFlight int64, seed uint32) {
	if h.roundEnd == 0 || now < h.roundEnd && inFlight > 0 {
		return
	}
	h.roundEnd = 0
	since := h.deliveredBefore || h.deliveredCount > 0
	h.deliveredBefore = false
	first, most := h.gap == 0, limit
	if h.Bursts {
		most = min(h.maxGap(rtt), limit)
	}
	switch {
	case h.deliveredCount == 0 && (!since || !first):
		if h.emptyRounds = min(h.emptyRounds+1, 20*patience); !h.Bursts {
			most = min(max(h.maxGap(rtt), h.gap), limit)
		}
		h.gap = max(2*h.gap, rtt)
	case h.deliveredCount > 0 && (h.resentLost || !first):
		h.gap = max(h.gap, max(rtt, now-h.roundStart)/unit.Time(h.deliveredCount))
	default:
		return
	}
	if h.gap = min(h.gap, most); first {
		h.minGap = h.gap / 4
	}
	h.Sent(now, seed)
}

// maxGap is the longest gap that the offer allows.
func (h *NACKPacer) maxGap(rtt unit.Time) unit.Time {
	packets := unit.Time(3)
	if h.Bursts {
		packets = 1
	}
	return max(packets*h.offeredGap<<(h.emptyRounds/patience), rtt)
}

// Sent is told of a packet that has gone. The next one waits for about the gap, at random, lest senders that were told
// at one time come back at one time.
func (h *NACKPacer) Sent(now unit.Time, seed uint32) {
	if h.credit > 0 {
		h.credit--
	}
	if h.gap > 0 {
		h.drawCount++
		draw := packet.FlowHash(packet.Addr(seed), packet.Addr(h.drawCount), 0, 0, 0) >> 22
		h.nextSend = now + h.gap/2 + h.gap/1024*unit.Time(draw)
	}
}

// Ready is when the next packet may go.
func (h *NACKPacer) Ready() unit.Time {
	if h.roundEnd > 0 && h.credit == 0 {
		return max(h.roundEnd, h.nextSend)
	}
	return h.nextSend
}
