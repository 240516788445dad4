package transport

import (
	"weir/core/packet"
	"weir/core/unit"
)

// NACKPacer limits how fast a sender sends to a switch that sends a NACK for every packet that finds no room. In
// BS'19 §4.3 senders "quickly reduce". Weir defines what a sender does that cannot reduce any more, or that has a
// controller without a response to losses. NACKs return sooner than ACKs, so a sender that replaces each trimmed packet
// at once sends many packets in a round trip, at any window. NACKPacer has two rules, for every controller:
//
//   - After a NACK, for a round trip or as long as packets are in flight, the sender sends one packet for each that is
//     delivered: packet conservation, as in RFC 9937. So ACKs set the pace.
//   - After that round trip packets have a gap. If no packet was delivered, the gap is the round trip, or twice the old
//     gap. Its limit is the round trip, or the time of three packets at the rate that the switch offers (of one with
//     Bursts) where that is longer: longer gaps leave the link idle when other flows have finished. After eight such
//     rounds in a row the offer was too high, and the limit doubles. If packets were delivered, but a resent packet was
//     lost again or there was a gap already, the gap spreads the delivered packets over the round trip. Each delivery
//     in a row closes the gap by one part more, up to a half. A gap below a round trip closes by no more than itself
//     per round trip.
//
// The round trip is the shortest that was measured, where a transport knows it. A round trip with a full queue, or one
// from time stamps of a millisecond, gives gaps that outlast the congestion many times.
//
// A rare loss among delivered packets does not slow a sender. A NACK of a packet that does arrive takes its gap back
// (HandleRefutation).
type NACKPacer struct {
	// Bursts reports that the sender sends windows in bursts, like TCP. Then deliveries close gaps more slowly than NACKs
	// double them, and gaps have a tighter limit, since short flows end soon. Without it packets are sent one by one, as
	// by RDMA and UDP.
	Bursts bool

	gap             unit.Time // between packets; 0: no gap
	minGap          unit.Time // a smaller gap becomes 0: a quarter of the first gap
	nextSend        unit.Time // no packet is sent earlier
	roundStart      unit.Time // when a NACK began this round trip
	roundEnd        unit.Time // when the round trip ends; 0: no round trip
	offeredGap      unit.Time // of a packet at the rate offered
	deliveredCount  int       // packets delivered in the round trip
	credit          int       // delivered packets for which no packet was sent yet
	streak          int       // packets delivered in a row
	emptyRounds     int       // round trips in a row without a delivered packet
	drawCount       uint32
	deliveredBefore bool // packets were delivered in the last round trip of NACKs
	resentLost      bool // in the round trip a resent packet was lost again
}

// maxEmptyRounds is the number of round trips without a delivery after which the gap may be twice what is offered.
const maxEmptyRounds = 8

// gapParts returns the number of parts of a gap. A delivery closes one part.
func (h *NACKPacer) gapParts() int {
	if h.Bursts {
		return 24
	}
	return 8
}

// initialCredit is the number of packets that may be sent in a NACK's round trip before a packet is delivered, so that
// rare losses are repaired without delay.
const initialCredit = 2

// HandleNack handles a NACK that reports a lost packet. again: the packet had been resent for another NACK. supply is
// the rate that the switch offers (0: no offer) for packets of size bytes. The first NACK begins a round trip of rtt;
// later ones do not extend it.
func (h *NACKPacer) HandleNack(now, rtt unit.Time, again bool, supply unit.Rate, size int64) {
	if h.roundEnd == 0 {
		h.roundStart, h.roundEnd, h.deliveredCount, h.credit, h.resentLost = now, now+max(rtt, 1), 0, initialCredit, false
	}
	h.resentLost = h.resentLost || again
	if h.streak, h.offeredGap = 0, unit.Never>>24; supply > 0 {
		h.offeredGap = min(h.offeredGap, unit.TransmitTime(unit.Bytes(size), supply))
	}
}

// HandleDelivery handles the delivery of a number of packets: it adds credit in a NACK's round trip, and closes the gap
// after it. rtt must be above 0.
func (h *NACKPacer) HandleDelivery(packets int, rtt unit.Time) {
	h.emptyRounds, h.deliveredBefore = 0, true
	if h.roundEnd > 0 {
		h.deliveredCount += packets
		h.credit += packets
		return
	}
	for ; packets > 0 && h.gap > 0; packets-- {
		h.streak = min(h.streak+1, h.gapParts()/2)
		closes := h.gap / unit.Time(h.gapParts()) * unit.Time(h.streak)
		if h.gap < rtt {
			closes = unit.Time(float64(closes) * float64(h.gap) / float64(rtt))
		}
		if h.gap -= closes + 1; h.gap < h.minGap {
			h.gap, h.nextSend = 0, 0
		}
	}
}

// HandleRefutation handles the delivery of a packet for which a NACK has reported that its latest transmission was
// lost. A switch sends no NACK of a packet that it forwards, so three quarters of the gap are taken back. Otherwise an
// attacker on the path who sends a NACK for every packet could hold a sender at the longest gap.
func (h *NACKPacer) HandleRefutation() {
	if h.gap /= 4; h.gap < h.minGap {
		h.gap = 0
	}
	h.nextSend = 0
}

// InNackRound reports whether a NACK has begun a round trip that Update has not ended.
func (h *NACKPacer) InNackRound() bool { return h.roundEnd > 0 }

// Update ends a NACK's round trip when it is over or no packet is in flight, and sets the gap, at most limit. Otherwise
// it has no effect. inFlight is in packets. seed draws the time of the next packet.
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
		if h.emptyRounds = min(h.emptyRounds+1, 20*maxEmptyRounds); !h.Bursts {
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
	h.RecordSend(now, seed)
}

// maxGap returns the longest gap that the offer allows, at least rtt.
func (h *NACKPacer) maxGap(rtt unit.Time) unit.Time {
	packets := unit.Time(3)
	if h.Bursts {
		packets = 1
	}
	return max(packets*h.offeredGap<<(h.emptyRounds/maxEmptyRounds), rtt)
}

// RecordSend records a packet that is sent now: it takes a credit, and with a gap draws when the next one may be sent.
// That is after half a gap to one and a half, so that senders that were notified at one time do not return at one time.
func (h *NACKPacer) RecordSend(now unit.Time, seed uint32) {
	if h.credit > 0 {
		h.credit--
	}
	if h.gap > 0 {
		h.drawCount++
		draw := packet.FlowHash(packet.Addr(seed), packet.Addr(h.drawCount), 0, 0, 0) >> 22
		h.nextSend = now + h.gap/2 + h.gap/1024*unit.Time(draw)
	}
}

// NextSend returns the earliest time of the next packet. In a NACK's round trip without credit that is the end of the
// round trip at the earliest. Without a gap it is 0.
func (h *NACKPacer) NextSend() unit.Time {
	if h.roundEnd > 0 && h.credit == 0 {
		return max(h.roundEnd, h.nextSend)
	}
	return h.nextSend
}
