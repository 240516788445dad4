package bbr

import "weir/core/unit"

// aggregation measures how many more packets come acknowledged than the bandwidth lets expect
// (bbr_update_ack_aggregation): ACKs that come in bursts need a larger window.
type aggregation struct {
	most  [2]int // extra_acked: of the present and the last five rounds
	index int
	age   int
	stamp unit.Time // ack_epoch_mstamp
	acked int       // ack_epoch_acked
}

// restart begins a measurement.
func (g *aggregation) restart(now unit.Time) { g.stamp, g.acked = now, 0 }

// update is called for an ACK that gave a sample. window bounds what is believed.
func (g *aggregation) update(now unit.Time, packets int, bandwidth float64, roundStart bool, window int) {
	if roundStart {
		if g.age++; g.age >= extraRounds {
			g.age = 0
			g.index ^= 1
			g.most[g.index] = 0
		}
	}
	expected := int(bandwidth * (now - g.stamp).Seconds())
	if g.acked <= expected || g.acked+packets >= extraReset {
		g.restart(now)
		expected = 0
	}
	g.acked = min(g.acked+packets, 0xfffff)
	g.most[g.index] = max(g.most[g.index], min(g.acked-expected, window))
}

// extra is how many packets more than expected have come at once.
func (g *aggregation) extra() int { return max(g.most[0], g.most[1]) }
