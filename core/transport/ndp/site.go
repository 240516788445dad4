package ndp

import (
	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/transport"
)

// Suits warns of switches that do not do what the transport is made for.
func (c *Config) Suits(s *cc.Site) (all []scheme.Remark) {
	if s.Lossless == "" && !s.Trims {
		all = append(all, cc.Remark("", "no switch trims packets (program ndp or trimming): nothing but a timeout tells of "+
			"one that is lost"))
	}
	if longest, ok := s.Longest(); ok && c.NIC != (transport.NICDelays{}) {
		if slowest := longest.BaseRTT + max(c.NIC.Ack, c.NIC.Nack); c.RTOMin > 0 && c.RTOMin <= slowest {
			all = append(all, cc.Remark("rto_min", "the timeout may expire before an answer that the receiver's NIC is slow to "+
				"make has come, after %v on the longest path", slowest))
		}
	}
	return all
}
