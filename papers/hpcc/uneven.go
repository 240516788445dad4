package hpcc

import (
	"fmt"
	"math"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Shares of another path's rate below which a slow path is too slow: for loads without records, and for registers of
// hops and PowerTCP.
const (
	nearlyPath = 0.9
	halfPath   = 0.5
)

// checkUnevenLoads warns of loads without a path's identity (byLoad: the law gets those) if the transport does not wait
// for packets on a slow path.
func checkUnevenLoads(s *cc.FlowContext, byLoad bool) []scheme.Remark {
	if !byLoad || s.AwaitsSlowPath || !s.SpraysUnevenly(nearlyPath) {
		return nil
	}
	return []scheme.Remark{s.WarnSlowPath(warnUnevenLoads, "",
		"loads do not name their path, and what waits there is taken "+
			"for lost, so that windows follow the others and it fills its buffer; records of hops or transport: rdma with "+
			"reordering: adaptive suit it")}
}

// checkUnevenHops warns of registers of hops that limit windows too much.
func (c *Config) checkUnevenHops(s *cc.FlowContext) []scheme.Remark {
	if c.Mode != PerHop || !s.SpraysUnevenly(halfPath) {
		return nil
	}
	return []scheme.Remark{s.WarnSlowPath(warnUnevenHops, "mode",
		"the registers of its hops hold the window below what the "+
			"others carry; mode: hpcc++ has one window")}
}

// Windows follow the fullest path of the last T. The later records of a slow path with a queue arrive, the more windows
// grow in the meantime, by 1/part after each max_stage + 1 commits. If that is more than a record reduces, the queue of
// the slow path grows until the buffer ends: with a part of e^-(.45+.27·max_stage) or less.
const (
	growingPart  = 0.45
	growingStage = 0.27
)

// checkUnevenStages warns if records of a slow path arrive so rarely that windows grow too much in between.
func (c *Config) checkUnevenStages(s *cc.FlowContext) []scheme.Remark {
	stages := c.resolved().MaxStage
	least := math.Exp(-(growingPart + float64(growingStage*float64(stages))))
	if !c.followsFullest(s) || !s.SpraysUnevenly(least) {
		return nil
	}
	clause := ""
	if stages > 0 {
		clause = fmt.Sprintf(", after each %d additive increases,", stages)
	}
	return []scheme.Remark{s.WarnSlowPath(warnUnevenStages, "max_stage", fmt.Sprintf("windows can grow more between its "+
		"records%s than these cut, so that a queue of many round trips stands there or its buffer is full; a larger "+
		"max_stage or ecmp suits it", clause))}
}

// followsFullest reports whether windows follow the fullest path by records of its hops.
func (c *Config) followsFullest(s *cc.FlowContext) bool {
	return s.Sprayed && s.SlowestPath.Part > 0 && s.Telemetry != nil && !s.Telemetry.IsRelative() && c.Mode != PerHop &&
		c.Preset != Agent
}

// checkUnevenIncreases warns of many flows that each send a packet by the slow path less than once in a round trip.
// Between two records of the slow path windows grow by all increases. If checkUnevenStages warns, it returns those
// warnings instead.
func (c *Config) checkUnevenIncreases(s *cc.FlowContext) []scheme.Remark {
	if all := c.checkUnevenStages(s); len(all) > 0 {
		return all
	}
	p, ok := s.FindLongestPath()
	if !ok || !c.followsFullest(s) || s.SlowestPath.Flows < 2 {
		return nil
	}
	r := c.resolved()
	a := r.additive()
	queue, added := a.standingSlow(&p, &s.SlowestPath, float64(s.MSS))
	if queue <= a.maxStanding*float64(s.MSS) {
		return nil
	}
	fits := math.Ceil(float64(s.SlowestPath.Flows) * float64(p.NICRate) / float64(s.SlowestPath.Rate))
	return []scheme.Remark{s.WarnSlowPath(warnUnevenIncreases, a.param,
		fmt.Sprintf("of %d flows with %s: %s each gets records "+
			"of it so seldom that all add %v until then, and a queue of about %v stands there on average, or fills its buffer; "+
			"n: %.0f suits them", s.SlowestPath.Flows, a.param, a.value, unit.Bytes(added), unit.Bytes(queue), fits))}
}

// standingSlow returns the standing queue of a slow path, in bytes, by the fixed point of standingQueue. added is what
// all flows add to their windows, in bytes, between two of their records of that path, which has a share of each flow's
// packets. Of a round trip of m packets, at least one takes the slow path with probability 1−(1−share)^m. A window
// below a packet commits with each packet, and m is 1. Both are 0 if T, the path's rate or its share is unknown.
func (a *additive) standingSlow(p *cc.FlowPath, slow *cc.SlowPath, mss float64) (queue, added float64) {
	product := float64(slow.Rate) * float64(a.trip(p)) / 8e12
	flows, share := float64(slow.Flows), slow.Share
	packets := float64(flows * mss)
	if product == 0 || share == 0 {
		return 0, 0
	}
	m := max(product/share/packets, 1)
	added = float64(flows*a.increase(p)) * share / (1 - math.Pow(1-share, m))
	switch {
	case m > 1:
		return added - float64(product*(1-a.eta)), added
	case added >= product:
		return packets - product, added
	default:
		return min(float64(product*(a.eta/(1-added/product)-1)), packets-product), added
	}
}
