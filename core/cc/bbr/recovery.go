package bbr

import "weir/core/cc"

// recovery is what BBR does in loss recovery (bbr_set_cwnd_to_recover_or_restore): packet
// conservation in its first round, and afterwards the window that was before.
type recovery struct {
	prior        int // prior_cwnd
	state        cc.RecoveryState
	conservation bool // packet_conservation
}

// save is bbr_save_cwnd: the window before a recovery or PROBE_RTT, the largest if one follows
// another.
func (r *recovery) save(window int, probingRTT bool) {
	if r.state < cc.Recovery && !probingRTT {
		r.prior = window
	} else {
		r.prior = max(r.prior, window)
	}
}

// restore is the window as it was saved, or a larger one.
func (r *recovery) restore(window int) int { return max(window, r.prior) }

// round ends packet conservation.
func (r *recovery) round() { r.conservation = false }

// timedOut notes a retransmission timeout.
func (r *recovery) timedOut() { r.state = cc.Timeout }

// acked gives the window after an ACK. entered: recovery begins, and with it a round.
func (r *recovery) acked(window int, a *cc.Ack) (next int, entered bool) {
	if a.Losses.New > 0 {
		window = max(window-a.Losses.New, 1)
	}
	state := a.Losses.State
	if entered = state == cc.Recovery && r.state != cc.Recovery; entered {
		r.conservation = true
		window = a.Flight.After + a.Packets
	} else if r.state >= cc.Recovery && state < cc.Recovery {
		window = r.restore(window)
		r.conservation = false
	}
	r.state = state
	if r.conservation {
		window = max(window, a.Flight.After+a.Packets)
	}
	return window, entered
}
