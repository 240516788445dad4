package ndp

import (
	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/transport"
)

// Kinds of warnings.
var (
	warnUntrimmed = scheme.WarningKind{ID: "ndp-untrimmed",
		Condition: "packets can be lost and no switch trims"}
	warnRTONIC = scheme.WarningKind{ID: "ndp-rto-nic",
		Condition: "rto_min is not above the longest round trip with the delay of the receiver's NIC"}
)

// Check warns of a lossy path with switches that do not trim, and of an rto_min that is not above the longest round
// trip with the NIC's delays.
func (c *Config) Check(s *cc.FlowContext) (all []scheme.Remark) {
	if p := s.FindPath(func(p *cc.FlowPath) bool { return p.WhyLossless == "" && !p.Trims }); p != nil {
		all = append(all, warnUntrimmed.NewRemark("",
			"no switch trims packets (program ndp or trimming) of %s where they can "+
				"queue, so only a timeout detects a lost packet", p.Name).WithPort(p.NarrowLink.Port, 0))
	}
	if longest, ok := s.FindLongestPath(); ok && c.NIC != (transport.NICDelays{}) {
		if slowest := longest.BaseRTT + max(c.NIC.Ack, c.NIC.Nack); c.RTOMin > 0 && c.RTOMin <= slowest {
			all = append(all, warnRTONIC.NewRemark("rto_min",
				"the timeout may expire before the answer of a slow receiver NIC arrives, after %v on the longest path", slowest))
		}
	}
	return all
}
