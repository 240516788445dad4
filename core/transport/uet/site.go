package uet

import (
	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
)

// Kinds of warnings.
var (
	warnSleekNeeded = scheme.WarningKind{ID: "uet-sleek-needed",
		Condition: "packets can be lost, no switch trims, and sleek is off"}
	warnSleekTwice = scheme.WarningKind{ID: "uet-sleek-twice",
		Condition: "switches trim and sleek is on, so that reordered packets are sent twice"}
	warnREPS = scheme.WarningKind{ID: "uet-reps",
		Condition: "balance: reps is given, packets can be lost, and no switch trims"}
	warnUnmarked = scheme.WarningKind{ID: "uet-unmarked",
		Condition: "the sender controls congestion, but no switch marks packets"}
	warnBalance = scheme.WarningKind{ID: "uet-balance",
		Condition: "the sender balances over entropy values, but switches also spread packets"}
	warnNetworkRTT = scheme.WarningKind{ID: "uet-network-rtt",
		Condition: "network_rtt is below 95 % of the longest path's round trip"}
	warnRTOBase = scheme.WarningKind{ID: "uet-rto-base",
		Condition: "a fixed timeout is not above the longest path's round trip"}
	warnRTOQueues = scheme.WarningKind{ID: "uet-rto-queues",
		Condition: "a fixed timeout is below a path's round trip with the queues that its switches hold before they trim"}
)

// Check warns of switches that do not trim or mark, of switches that spread packets themselves, and of windows and
// timers that the paths make too short.
func (c *Config) Check(s *cc.FlowContext) (all []scheme.Remark) {
	untrimmed := s.FindPath(func(p *cc.FlowPath) bool { return p.WhyLossless == "" && !p.Trims })
	switch {
	case untrimmed != nil && !c.Sleek:
		all = append(all, warnSleekNeeded.NewRemark("sleek",
			"no switch trims packets (program trimming) of %s where they can "+
				"queue, so only a timeout detects a lost packet; sleek: true detects it by reordering",
			untrimmed.Name).WithPort(untrimmed.NarrowLink.Port, 0))
	case len(s.Paths) > 0 && c.Sleek && s.FindPath(func(p *cc.FlowPath) bool { return !p.Trims }) == nil:
		all = append(all, warnSleekTwice.NewRemark("sleek",
			"switches trim packets and NACKs report losses, so packets that are only reordered are also sent again"))
	}
	if untrimmed != nil && c.Balance == balanceREPS {
		all = append(all, warnREPS.NewRemark("balance", "no switch trims packets (program trimming) of %s where they can "+
			"queue, so reps detects a path that loses packets by timeouts only",
			untrimmed.Name).WithPort(untrimmed.NarrowLink.Port, 0))
	}
	p := s.FindPath(func(p *cc.FlowPath) bool { return p.WhyUnmarked != "" && !p.Idle })
	if c.Control != byReceiver && p != nil {
		all = append(all, warnUnmarked.NewRemark("control",
			"%s, so the window of nscc is reduced by losses only, regardless of the delay",
			p.WhyUnmarked).WithPort(p.NarrowLink.Port, 0))
	}
	if c.Balance != balanceOnePath && (s.Sprayed || s.Flowlets) {
		all = append(all, warnBalance.NewRemark("balance",
			"a program of the switches spreads packets, so entropy values select no path; use balance: one or program ecmp"))
	}
	longest, ok := s.FindLongestPath()
	if !ok {
		return all
	}
	all = append(all, c.warnShortTimeout(s)...)
	if rtt := longest.BaseRTT; c.Network > 0 && c.Network < rtt*95/100 {
		all = append(all, warnNetworkRTT.NewRemark("network_rtt",
			"the round trip of the longest path without queues is %v, so windows hold less than a round trip", rtt))
	}
	network := c.Network
	if network == 0 {
		network = longest.BaseRTT
	}
	if c.RTO == fixedRTO {
		timeout := c.fixedTimeout(network)
		if rtt := longest.BaseRTT + c.AckDelay; timeout <= rtt &&
			(longest.Trims || longest.DataMaxRTT() == unit.Never && longest.Unlimited == "") { // else transport.ShortTimer warns
			all = append(all, warnRTOBase.NewRemark("rto_base",
				"the timeout, %v, expires within the round trip of the longest path, %v", timeout, rtt))
		}
	}
	return all
}

// warnShortTimeout warns of a fixed timeout that expires while packets wait in queues that switches allow before they
// trim. The simulator's timeout has a product of line rate and network_rtt a hop, which is the limit of its queues.
func (c *Config) warnShortTimeout(s *cc.FlowContext) []scheme.Remark {
	if c.RTO != fixedRTO {
		return nil
	}
	var path cc.FlowPath
	var timeout, most unit.Time
	for _, p := range s.Paths {
		if !p.Trims || p.MaxQueueDelay == 0 {
			continue
		}
		network := c.Network
		if network == 0 {
			network = p.BaseRTT
		}
		after, waits := c.fixedTimeout(network), p.BaseRTT+c.AckDelay+unit.Time(p.Hops)*p.MaxQueueDelay
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
	longest, _ := s.FindLongestPath()
	return []scheme.Remark{warnRTOQueues.NewRemark(param, "the timeout is %v on a path with a round trip of %v without "+
		"queues and of up to %v with the queues of its switches, %d times %v before they trim, so packets that wait there "+
		"are sent again; set rtt of trimming to the round trip of the network, %v", timeout,
		path.BaseRTT, most, path.Hops, path.MaxQueueDelay, longest.BaseRTT).WithPort(path.NarrowLink.Port,
		float64(most)/float64(timeout))}
}

// Traits returns the timer.
func (c *Config) Traits() transport.Traits { return transport.Traits{Timer: c.describeTimer} }

// describeTimer returns the timeout of the reference, or the estimated one's minimum.
func (c *Config) describeTimer(p *cc.Path) transport.Timer {
	if c.RTO != fixedRTO {
		return transport.Timer{Param: "rto_min", Timeout: c.RTOMin, ReplyDelay: c.AckDelay}
	}
	network := c.Network
	if network == 0 {
		network = p.BaseRTT
	}
	return transport.Timer{Param: "rto_base", Timeout: c.fixedTimeout(network), ReplyDelay: c.AckDelay, Fixed: true}
}

// fixedTimeout returns the timeout with rto: fixed: rto_base plus rto_queues round trips of the network.
func (c *Config) fixedTimeout(network unit.Time) unit.Time {
	return c.RTOBase + unit.Time(c.RTOQueues*float64(network))
}
