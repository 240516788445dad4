package hpcc

import (
	"fmt"
	"math"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Parts of another path's rate below which a slow path is too slow. At .9 loads without records had no queue of more
// than two products, at .8 the buffer was full. With registers of hops half of the rate used .7 of the fast paths and a
// quarter .58; PowerTCP had no drops at half of it, and 10 % at a quarter.
const (
	nearlyPath = 0.9
	halfPath   = 0.5
)

// unevenLoads warns of loads that do not name their path where what waits in a slow one is not waited for.
func unevenLoads(s *cc.FlowContext, byLoad bool) []scheme.Remark {
	if !byLoad || s.Keeps || !s.Uneven(nearlyPath) {
		return nil
	}
	return []scheme.Remark{s.OnSlow(warnUnevenLoads, "", "loads do not name their path, and what waits there is taken "+
		"for lost, so that windows follow the others and it fills its buffer; records of hops or transport: rdma with "+
		"reordering: adaptive suit it")}
}

// unevenHops warns of registers of hops that hold windows down.
func (c *Config) unevenHops(s *cc.FlowContext) []scheme.Remark {
	if c.Mode != PerHop || !s.Uneven(halfPath) {
		return nil
	}
	return []scheme.Remark{s.OnSlow(warnUnevenHops, "mode", "the registers of its hops hold the window below what the "+
		"others carry; mode: hpcc++ has one window")}
}

// Windows follow the fullest path of the last T, and the later records of a slow path with a queue come, the more
// windows grow in the meantime, by 1/part after each max_stage + 1 commits. Where that is more than a record cuts, the
// queue of the slow path grows until the buffer ends: with a part of e^-(.45+.27·max_stage) or less. At 100 Gb/s and
// 9 us, with 64 flows: with max_stage: 0 at .6 (825 kB; .75: 16 kB), with 1 at .4 (910 kB; .5: 27 kB), with 5 at .15
// (570 kB; .2: 19 kB). With 8 flows and max_stage: 0 a part of .5 has 33 kB and .3 has 297 kB.
const (
	growingPart  = 0.45
	growingStage = 0.27
)

// unevenStages warns of slow paths with records so far apart that windows grow too much in the meantime.
func (c *Config) unevenStages(s *cc.FlowContext) []scheme.Remark {
	stages := c.resolved().MaxStage
	least := math.Exp(-(growingPart + float64(growingStage*float64(stages))))
	if !c.followsFullest(s) || !s.Uneven(least) {
		return nil
	}
	clause := ""
	if stages > 0 {
		clause = fmt.Sprintf(", after each %d additive increases,", stages)
	}
	return []scheme.Remark{s.OnSlow(warnUnevenStages, "max_stage", fmt.Sprintf("windows can grow more between its "+
		"records%s than these cut, so that a queue of many round trips stands there or its buffer is full; a larger "+
		"max_stage or ecmp suits it", clause))}
}

// followsFullest reports whether windows follow the fullest path by records of its hops.
func (c *Config) followsFullest(s *cc.FlowContext) bool {
	return s.Sprayed && s.Slow.Part > 0 && s.Telemetry != nil && !s.Telemetry.Relative() && c.Mode != PerHop &&
		c.Preset != Agent
}

// unevenIncreases warns of many flows that each send a packet by the slow path less than once in a round trip.
// Between two records of the slow path windows grow by all increases.
func (c *Config) unevenIncreases(s *cc.FlowContext) []scheme.Remark {
	if all := c.unevenStages(s); len(all) > 0 {
		return all
	}
	p, ok := s.Longest()
	if !ok || !c.followsFullest(s) || s.Slow.Flows < 2 {
		return nil
	}
	r := c.resolved()
	a := r.additive()
	queue, added := a.standingSlow(&p, &s.Slow, float64(s.MSS))
	if queue <= a.maxStanding*float64(s.MSS) {
		return nil
	}
	fits := math.Ceil(float64(s.Slow.Flows) * float64(p.NICRate) / float64(s.Slow.Rate))
	return []scheme.Remark{s.OnSlow(warnUnevenIncreases, a.param, fmt.Sprintf("of %d flows with %s: %s each gets records "+
		"of it so seldom that all add %v until then, and a queue of about %v stands there on average, or fills its buffer; "+
		"n: %.0f suits them", s.Slow.Flows, a.param, a.value, unit.Bytes(added), unit.Bytes(queue), fits))}
}

// standingSlow returns the bytes that stand in the queue of a slow path over which a share of each flow's packets
// go, by the fixed point of standing, and what all flows add to their windows between two of their records of it. In a
// round trip of a window of m packets one of them goes there with the probability 1−(1−share)^m. A window below a
// packet commits with each packet, and m is 1.
//
// At 100 Gb/s and 9 us, with a path of 25 Gb/s of four, 128 flows (14 kB) have 37 kB on average and 256 (70 kB) fill
// 1.2 MB; at 10 Gb/s and 175 us, with 2.5 Gb/s, 128 (6 kB) have 26 kB and 256 (28 kB) have 80 kB; at 31 us 128 flows
// (186 kB) have 198 kB.
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
