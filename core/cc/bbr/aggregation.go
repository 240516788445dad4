package bbr

import "weir/core/unit"

// aggregation measures how many more packets are acknowledged than the bandwidth predicts
// (bbr_update_ack_aggregation). Acknowledgements that arrive in bursts need a larger window.
type aggregation struct {
	maxExtra   [2]int // extra_acked: of the current and the last five rounds
	index      int
	roundCount int
	stamp      unit.Time // ack_epoch_mstamp
	acked      int       // ack_epoch_acked
}

// startEpoch starts a measurement at now.
func (g *aggregation) startEpoch(now unit.Time) { g.stamp, g.acked = now, 0 }

// addAck processes an ACK that gave a sample: packets acknowledged, bandwidth in packets/s. window limits the surplus
// that is stored.
func (g *aggregation) addAck(now unit.Time, packets int, bandwidth float64, roundStart bool, window int) {
	if roundStart {
		if g.roundCount++; g.roundCount >= extraRounds {
			g.roundCount = 0
			g.index ^= 1
			g.maxExtra[g.index] = 0
		}
	}
	expected := int(bandwidth * (now - g.stamp).Seconds())
	if g.acked <= expected || g.acked+packets >= extraResetPackets {
		g.startEpoch(now)
		expected = 0
	}
	g.acked = min(g.acked+packets, 0xfffff)
	g.maxExtra[g.index] = max(g.maxExtra[g.index], min(g.acked-expected, window))
}

// extraPackets returns the largest surplus of acknowledged packets in the last rounds.
func (g *aggregation) extraPackets() int { return max(g.maxExtra[0], g.maxExtra[1]) }
