package rdma

import (
	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Suits warns of windows and timers that the paths make too short.
func (c *Config) Suits(s *cc.Site) (all []scheme.Remark) {
	longest, ok := s.Longest()
	if !ok {
		return nil
	}
	rate, rtt := longest.NICRate, longest.BaseRTT
	if c.LineRate > 0 {
		rate = c.LineRate
	}
	bdp := float64(rate) / 8 * rtt.Seconds()
	if c.BaseRTT > 0 {
		if c.BaseRTT < rtt*95/100 && (c.Start == LineRate || c.Bound == BoundBDP) {
			all = append(all, cc.Remark("base_rtt",
				"the longest path takes %v without queues: the first window, and bound: bdp, "+
					"hold less than a round trip", rtt))
		}
	}
	if c.Bound == BoundBytes && float64(c.BoundBytes) < bdp*0.95 {
		all = append(all, cc.Remark("bound_bytes", "%v are less than a round trip of the longest path, %v", c.BoundBytes,
			unit.Bytes(bdp)))
	}
	if x := s.Controller; c.Recovery == GoBackN && s.Lossless == "" && x != nil && x.Signals == cc.ByDelay {
		all = append(all, cc.Remark("recovery", "packets can be lost, and go_back_n measures no round trip of those that it "+
			"sends again: cc %s, which goes by delays alone, then hears nothing; selective_repeat, or program pfc", x.Name))
	}
	if x := s.Controller; x != nil && x.Requests && c.AckEvery > 1 {
		all = append(all, cc.Remark("ack_every",
			"cc %s hears of its packets' requests by their acknowledgements, and one for "+
				"%d packets says what became of the last one only", x.Name, c.AckEvery))
	}
	if c.Trimmable && s.Lossless == "" && !s.Trims {
		all = append(all, cc.Remark("trimmable", "no switch trims packets (program trimming or ndp)"))
	}
	if c.RTO == FixedRTO && c.shortestRTO() <= longest.BaseRTT && longest.MaxRTT() == unit.Never {
		all = append(all, cc.Remark("rto_min", "rto: fixed expires before the round trip of the longest path, %v, is over",
			longest.BaseRTT))
	}
	return append(all, s.TooFast("line_rate", c.LineRate)...)
}
