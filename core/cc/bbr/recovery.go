package bbr

import "weir/core/cc"

// recovery is BBR's loss recovery (bbr_set_cwnd_to_recover_or_restore): packet conservation in its first round, and
// then the window from before.
type recovery struct {
	prior        int // prior_cwnd
	state        cc.RecoveryState
	conservation bool // packet_conservation
}

// saveWindow is bbr_save_cwnd. It stores the window from before a recovery or PROBE_RTT, or the larger one if one
// follows the other.
func (r *recovery) saveWindow(window int, probingRTT bool) {
	if r.state < cc.Recovery && !probingRTT {
		r.prior = window
	} else {
		r.prior = max(r.prior, window)
	}
}

// restoredWindow returns the larger one of window and the stored window.
func (r *recovery) restoredWindow(window int) int { return max(window, r.prior) }

// endConservation ends packet conservation at the end of its round.
func (r *recovery) endConservation() { r.conservation = false }

// noteTimeout records a retransmission timeout.
func (r *recovery) noteTimeout() { r.state = cc.Timeout }

// handleAck stores the transport's state of recovery, and returns the window in packets after an ACK. entered reports
// that recovery begins, and with it a round.
func (r *recovery) handleAck(window int, a *cc.Ack) (next int, entered bool) {
	if a.Losses.New > 0 {
		window = max(window-a.Losses.New, 1)
	}
	state := a.Losses.State
	if entered = state == cc.Recovery && r.state != cc.Recovery; entered {
		r.conservation = true
		window = a.Flight.After + a.Packets
	} else if r.state >= cc.Recovery && state < cc.Recovery {
		window = r.restoredWindow(window)
		r.conservation = false
	}
	r.state = state
	if r.conservation {
		window = max(window, a.Flight.After+a.Packets)
	}
	return window, entered
}
