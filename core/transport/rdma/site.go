package rdma

import (
	"slices"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Kinds of warnings.
var (
	warnBaseRTT = scheme.WarningKind{ID: "rdma-base-rtt",
		Condition: "base_rtt is below 95 % of the longest path's round trip and decides the first window or bound: bdp"}
	warnBoundBytes = scheme.WarningKind{ID: "rdma-bound-bytes",
		Condition: "bound_bytes is below 95 % of a round trip of a path at its slowest link"}
	warnRecoveryDelay = scheme.WarningKind{ID: "rdma-recovery-delay",
		Condition: "packets can be lost, recovery is go_back_n, and the controller reacts to delay only"}
	warnAckEvery = scheme.WarningKind{ID: "rdma-ack-every",
		Condition: "ack_every is above 1 and the controller needs the answer to each packet's request"}
	warnTrimmable = scheme.WarningKind{ID: "rdma-trimmable",
		Condition: "trimmable is set, packets can be lost, and no switch trims"}
	warnRTOFixed = scheme.WarningKind{ID: "rdma-rto-fixed",
		Condition: "a fixed timeout is not above the longest path's round trip"}
	warnAckPriority = scheme.WarningKind{ID: "rdma-ack-priority",
		Condition: "ack_priority is set, but the data already has class 0"}
	warnReorderWindow = scheme.WarningKind{ID: "rdma-reorder-window",
		Condition: "reorder_window is given with reordering: none"}
	warnNacksKeyed = scheme.WarningKind{ID: "rdma-nacks-keyed",
		Condition: "nacks: supply or resend is given with integrity: keyed, which refuses NACKs of switches"}
)

// Check warns of a base_rtt, bound or fixed timeout that the paths make too small, and of go-back-N on lossy paths with
// a controller that uses delays only. It also warns of coalesced ACKs with a controller that needs each answer, and of
// trimmable packets without a switch that trims. A line_rate above the NIC's is an error.
func (c *Config) Check(s *cc.FlowContext) (all []scheme.Remark) {
	longest, ok := s.FindLongestPath()
	if !ok {
		return nil
	}
	rtt := longest.BaseRTT
	if c.BaseRTT > 0 {
		if c.BaseRTT < rtt*95/100 && (c.Start == startAtLineRate || c.Bound == boundBDP) {
			all = append(all, warnBaseRTT.NewRemark("base_rtt",
				"the round trip of the longest path without queues is %v, so the first window and bound: bdp hold less than a "+
					"round trip", rtt))
		}
	}
	if c.Bound == boundBytes {
		all = append(all, c.limitPaths(s).WarnSmallWindow(warnBoundBytes, "bound_bytes", c.BoundBytes.String()+" are",
			float64(c.BoundBytes),
			0.95)...)
	}
	lossy := func(p *cc.FlowPath) bool { return p.WhyLossless == "" }
	if x := s.Controller; c.Recovery == GoBackN && s.FindPath(lossy) != nil && x != nil && x.Signals == cc.ByDelay {
		all = append(all, warnRecoveryDelay.NewRemark("recovery", "packets can be lost, and go_back_n measures no round "+
			"trip of retransmitted packets, so cc %s, which uses delays only, receives no signal; use selective_repeat or "+
			"program pfc", x.Name))
	}
	if x := s.Controller; x != nil && x.Requests && c.AckEvery > 1 {
		all = append(all, warnAckEvery.NewRemark("ack_every",
			"cc %s receives the answer to each packet's request in its acknowledgement, but one for %d packets has the answer "+
				"to the last packet only", x.Name, c.AckEvery))
	}
	if p := s.FindPath(func(p *cc.FlowPath) bool { return lossy(p) && !p.Trims }); c.Trimmable && p != nil {
		all = append(all, warnTrimmable.NewRemark("trimmable",
			"no switch trims packets (program trimming or ndp) of %s where "+
				"they can queue", p.Name).WithPort(p.NarrowLink.Port, 0))
	}
	if c.RTO == fixedRTO && c.shortestRTO() <= longest.BaseRTT && longest.DataMaxRTT() == unit.Never &&
		longest.Unlimited == "" { // else transport.ShortTimer warns
		all = append(all, warnRTOFixed.NewRemark("rto_min",
			"rto: fixed expires within the round trip of the longest path, %v",
			longest.BaseRTT))
	}
	return append(all, s.RefuseRateAboveNIC("line_rate", c.LineRate)...)
}

// limitPaths returns s, or with a line_rate a copy with paths that carry no more payload than that.
func (c *Config) limitPaths(s *cc.FlowContext) *cc.FlowContext {
	if c.LineRate == 0 {
		return s
	}
	narrowed := *s
	narrowed.Paths = slices.Clone(s.Paths)
	for i := range narrowed.Paths {
		link := &narrowed.Paths[i].NarrowLink
		link.Payload = min(link.Payload, c.LineRate)
	}
	return &narrowed
}
