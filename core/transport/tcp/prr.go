package tcp

// prr is proportional rate reduction (RFC 9937 §6, Linux' tcp_cwnd_reduction): during a
// reduction it says how many packets may be in flight, so that the window reaches its target
// within a round trip, and never by a burst or a pause. Counts are packets.
type prr struct {
	window    int // how many may be in flight now
	prior     int // RecoverFS: what the window was when the reduction began; 0: none goes on
	delivered int // prr_delivered, since then
	out       int // prr_out: sent since then
}

// start begins a reduction of a window of so many packets.
func (p *prr) start(window int) { *p = prr{window: window, prior: window} }

// end ends the reduction: the window is the controller's from here on.
func (p *prr) end() { p.prior = 0 }

// sent counts a transmission.
func (p *prr) sent() { p.out++ }

// acked is called for an ACK, with what it delivered, what is in flight after it, and the window
// that the controller wants (ssthresh). safe: it advanced and found no further loss (SafeACK). While
// more is in flight than wanted, sending is proportional; below it is bounded by what is
// delivered (PRR-SSRB); and the fast retransmission always goes.
func (p *prr) acked(delivered, inFlight, target int, safe bool) {
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
