package tcp

// prr is proportional rate reduction (RFC 9937 §6, Linux' tcp_cwnd_reduction). During a reduction it limits the packets
// in flight, so that the window reaches its target within a round trip, without a burst or a pause. Counts are packets.
type prr struct {
	window    int // packets that may be in flight now
	prior     int // RecoverFS: the window at the start of the reduction; 0: no reduction
	delivered int // prr_delivered: delivered since then
	out       int // prr_out: sent since then
}

// start begins a reduction of a window in packets.
func (p *prr) start(window int) { *p = prr{window: window, prior: window} }

// end ends the reduction: then the window is the controller's.
func (p *prr) end() { p.prior = 0 }

// sent counts a transmission.
func (p *prr) sent() { p.out++ }

// updateOnAck updates the window for an ACK: the packets that it delivered, the packets in flight after it, and the
// window that the controller wants (ssthresh). safe: it advanced and found no further loss (SafeACK). While more
// packets are in flight than wanted, sending is proportional. Below, the delivered packets limit it (PRR-SSRB). The
// fast retransmission is always allowed. Without a reduction, or without a delivery, the window stays.
func (p *prr) updateOnAck(delivered, inFlight, target int, safe bool) {
	if delivered <= 0 || p.prior == 0 {
		return
	}
	p.delivered += delivered
	var send int
	if inFlight > target {
		send = (target*p.delivered+p.prior-1)/p.prior - p.out
	} else {
		send = max(p.delivered-p.out, delivered)
		if safe {
			send++
		}
		send = min(target-inFlight, send)
	}
	least := 0
	if p.out == 0 { // the first retransmission
		least = 1
	}
	p.window = inFlight + max(send, least)
}
