package uet

import (
	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
)

// Suits warns of switches that do not do what the transport is made for, and of windows and timers that the paths make
// too short.
func (c *Config) Suits(s *cc.Site) (all []scheme.Remark) {
	lossy := s.Lossless == ""
	switch {
	case lossy && !s.Trims && !c.Sleek:
		all = append(all, cc.Remark("sleek", "no switch trims packets (program trimming), and nothing but a timeout tells "+
			"of one that is lost; sleek: true tells by what is out of order"))
	case s.Trims && c.Sleek:
		all = append(all, cc.Remark("sleek", "switches trim packets, and NACKs tell what is lost: what only came out of "+
			"order is sent again, too"))
	}
	if lossy && !s.Trims && c.Balance == REPS {
		all = append(all, cc.Remark("balance", "no switch trims packets (program trimming): reps hears of a path that "+
			"loses packets by timeouts alone"))
	}
	if c.Control != ByReceiver && s.Unmarked != "" {
		all = append(all, cc.Remark("control", "%s: the window of nscc then falls by losses alone, whatever the delay",
			s.Unmarked))
	}
	if c.Balance != OnePath && (s.Sprayed || s.Flowlets) {
		all = append(all, cc.Remark("balance", "a program of the switches spreads packets itself, so that entropy values "+
			"choose no path; balance: one, or program ecmp"))
	}
	longest, ok := s.Longest()
	if !ok {
		return all
	}
	all = append(all, c.impatient(s)...)
	if rtt := longest.BaseRTT; c.Network > 0 && c.Network < rtt*95/100 {
		all = append(all, cc.Remark("network_rtt", "the longest path takes %v without queues: windows hold less than a "+
			"round trip", rtt))
	}
	network := c.Network
	if network == 0 {
		network = longest.BaseRTT
	}
	if c.RTO == FixedRTO {
		timeout := c.fixedTimeout(network)
		if rtt := longest.BaseRTT + c.AckDelay; timeout <= rtt {
			all = append(all, cc.Remark("rto_base", "the timeout, %v, is over before the round trip of the longest path, %v",
				timeout, rtt))
		}
	}
	return all
}

// impatient says that on some path a fixed timeout is over while packets wait in queues that switches let grow before
// they trim. The simulator's timeout has a product of line rate and network_rtt a hop, which is what its queues hold.
func (c *Config) impatient(s *cc.Site) []scheme.Remark {
	if c.RTO != FixedRTO || !s.Trims || s.Holds == 0 {
		return nil
	}
	var path cc.Path
	var timeout, most unit.Time
	for _, p := range s.Paths {
		network := c.Network
		if network == 0 {
			network = p.BaseRTT
		}
		after, waits := c.fixedTimeout(network), p.BaseRTT+c.AckDelay+unit.Time(p.Hops)*s.Holds
		if after > p.BaseRTT+c.AckDelay && waits-after > most-timeout {
			path, timeout, most = p, after, waits
		}
	}
	if most == timeout {
		return nil
	}
	param := "rto_queues"
	if c.Network == 0 {
		param = "network_rtt"
	}
	longest, _ := s.Longest()
	return []scheme.Remark{cc.Remark(param, "the timeout is %v on a path that takes %v without queues, and up to %v with "+
		"those of its switches, %d times %v before they trim: what waits there is sent again; the round trip that the "+
		"program that trims is made for (rtt of trimming) is to be the network's, %v", timeout, path.BaseRTT, most,
		path.Hops, s.Holds, longest.BaseRTT)}
}

// Timer returns the timeout of the reference, or the estimated one's minimum.
func (c *Config) Timer(p *cc.Path) transport.Timer {
	if c.RTO != FixedRTO {
		return transport.Timer{Param: "rto_min", Own: c.RTOMin, Adds: c.AckDelay}
	}
	network := c.Network
	if network == 0 {
		network = p.BaseRTT
	}
	return transport.Timer{Param: "rto_base", Own: c.fixedTimeout(network), Adds: c.AckDelay}
}

// fixedTimeout is it on a network with such a round trip.
func (c *Config) fixedTimeout(network unit.Time) unit.Time {
	return c.RTOBase + unit.Time(c.RTOQueues*float64(network))
}
