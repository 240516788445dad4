package tcp

import "weir/core/unit"

// rack is the state of RACK (RFC 8985 §5.3, §6; Linux' tcp_recovery.c): a packet is lost if one that was sent
// sufficiently later has been delivered.
type rack struct {
	sent     unit.Time // RACK.xmit_ts: when the most recently sent packet of those delivered was sent
	end      int64     // RACK.end_seq: and its end
	rtt      unit.Time // RACK.rtt: of the packet delivered last
	advanced bool      // packets were delivered since the latest detection of losses

	reordering  int // DupThresh, in packets: raised when reordering was observed (tp->reordering)
	reorderSeen int // RACK.reordering_seen: number of observations
	steps       int // RACK.reo_wnd_mult
	persist     int // RACK.reo_wnd_persist: recoveries that steps hold for
	dsack       bool
	round       int64 // RACK.dsack_round, in packets delivered: a DSACK counts once a round trip
}

// newRACK returns the state before the first delivery.
func newRACK() rack { return rack{reordering: reordering, steps: 1, end: -1 << 62} }

// deliver records a packet's delivery (RFC 8985 §6.2 steps 1 and 2, tcp_rack_advance). A retransmission that is faster
// than minRTT most likely has the ACK of an earlier transmission, and does not count.
func (r *rack) deliver(now, sent unit.Time, end int64, retransmitted bool, minRTT unit.Time) {
	rtt := now - sent
	if rtt < minRTT && retransmitted {
		return
	}
	r.advanced = true
	r.rtt = rtt
	if sent > r.sent || sent == r.sent && end > r.end {
		r.sent, r.end = sent, end
	}
}

// sawReordering records reordering (step 3, tcp_check_sack_reordering): data that begins at low was delivered, and
// never resent, after data that ends at high.
func (r *rack) sawReordering(low, high, mss int64) {
	if low >= high {
		return
	}
	if metric := high - low; metric > int64(r.reordering)*mss {
		r.reordering = int(min((metric+mss-1)/mss, maxReordering))
	}
	r.reorderSeen++
}

// window returns how long a packet may be late (step 4, tcp_rack_reo_wnd). sacked is the number of packets that SACK
// has delivered. recovering: a fast recovery or a timeout is in progress.
func (r *rack) window(minRTT, srtt unit.Time, sacked int, recovering bool) unit.Time {
	if r.reorderSeen == 0 && (recovering || sacked >= r.reordering) {
		return 0
	}
	return min(minRTT/reorderingSteps*unit.Time(r.steps), srtt)
}

// updateSteps is the other part of step 4 (tcp_rack_update_reo_wnd): a DSACK widens the window, once a round trip.
// sampled is the number of packets that were delivered when the packet delivered now was sent.
func (r *rack) updateSteps(sampled, delivered int64) {
	if sampled < r.round {
		r.dsack = false // from before the round
	}
	if r.dsack {
		r.steps = min(255, r.steps+1)
		r.dsack = false
		r.round = delivered
		r.persist = persistRounds
	} else if r.persist == 0 {
		r.steps = 1
	}
}

// undone makes the window stay wide for longer: a reduction was wrong.
func (r *rack) undone() { r.persist = min(persistRounds, r.persist+1) }

// recovered counts a recovery that has ended without an undo. After persistRounds of them a widened window returns to
// its first width.
func (r *rack) recovered() {
	if r.persist > 0 {
		r.persist--
	}
}

// sentAfter reports whether RACK's reference packet was sent after this one. Only then it is evidence of a loss (step
// 5, RACK_sent_after).
func (r *rack) sentAfter(sent unit.Time, end int64) bool {
	return r.sent > sent || r.sent == sent && r.end > end
}

// left returns how much longer RACK waits for a packet that was sent at the time sent, with this reordering window; 0
// or less: the packet is lost (step 5).
func (r *rack) left(now, sent, window unit.Time) unit.Time { return r.rtt + window - (now - sent) }
