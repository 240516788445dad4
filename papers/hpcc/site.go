package hpcc

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Kinds of warnings.
var (
	warnCensusIdle = scheme.WarningKind{ID: "hpcc-census-idle",
		Condition: "census is on with telemetry in format: relative, which has no records"}
	warnCensusN = scheme.WarningKind{ID: "hpcc-census-n",
		Condition: "n or w_ai is given, and census takes its place"}
	warnWAI = scheme.WarningKind{ID: "hpcc-w-ai",
		Condition: "w_ai is above the headroom, (1 − eta) of a round trip of a path at its slowest link"}
	warnTShort = scheme.WarningKind{ID: "hpcc-t-short",
		Condition: "t is below 95 % of the longest path's round trip"}
	warnTLong = scheme.WarningKind{ID: "hpcc-t-long",
		Condition: "t is above three round trips of the longest path"}
	warnOpposed = scheme.WarningKind{ID: "hpcc-two-way", Condition: "without additive increases (max_stage: 0, with " +
		"preset: agent below 5) at least eight flows without an end, two or more in each direction, share a link and " +
		"acknowledgements queue with data; four flows where a round trip is short or acknowledgements are delayed"}
	warnAgentSilent = scheme.WarningKind{ID: "hpcc-agent-silent",
		Condition: "preset: agent gets no telemetry and follows CUBIC"}
)

// windowWarnings are the kinds that all schemes on HPCC's windows issue.
var windowWarnings = []scheme.WarningKind{warnCensusIdle, warnCensusN, warnWAI, warnTShort, warnTLong,
	warnOpposed}

// Suits warns of what windows are computed with, where it does not go together with the paths, and of w_ai and n
// where the census takes their place.
func (c *Config) Suits(s *cc.Site) []scheme.Remark {
	all := append(c.windows(s), c.opposed(s, 1)...)
	if c.Census && s.Telemetry.Relative() {
		all = append(all, warnCensusIdle.Remark("census", "it changes nothing with format: relative: without records nobody "+
			"knows whether "+
			"the last hop is the bottleneck"))
	}
	return all
}

// Suits is as Config's.
func (c *PINTConfig) Suits(s *cc.Site) []scheme.Remark {
	return append(c.windows(s), c.opposed(s, 1)...)
}

// Flows on both ways from which the loop swings with multiplicative commits only: where a round trip is many packets,
// and where it is a few or acknowledgements are delayed. One flow in one direction does not swing.
const (
	opposedFlows     = 8
	opposedFewFlows  = 4
	opposedFewFrames = 20
)

// opposed warns of fewer additive increases than minStage between multiplicative ones where feedback queues behind the
// data of other flows (doc.go, The loop with traffic both ways).
func (c *Config) opposed(s *cc.Site, minStage int) []scheme.Remark {
	r := c.resolved()
	if r.MaxStage >= minStage {
		return nil
	}
	p := s.Find(func(p *cc.SitePath) bool {
		flows := opposedFlows
		if c.Preset == Agent || p.Product() < float64(opposedFewFrames*s.MSS) {
			flows = opposedFewFlows
		}
		return min(p.Aligned, p.Opposed) >= 2 && p.Aligned+p.Opposed >= flows
	})
	if p == nil {
		return nil
	}
	return []scheme.Remark{warnOpposed.Remark("max_stage", "%d additive increases do not damp a loop with feedback "+
		"behind the data of %d flows of the other direction (%s): windows can swing and queues grow to several round trips; "+
		"max_stage: 5 damps it, and so does a class of its own for acknowledgements that switches send first",
		r.MaxStage, p.Opposed, p.Name).At(p.Narrow.Port, 0)}
}

// windows warns of t, min_rate, w_ai and n.
func (c *Config) windows(s *cc.Site) (all []scheme.Remark) {
	r := c.resolved()
	all = pathSuits(s, r.T, c.MinRate)
	if r.Census && !s.Telemetry.Relative() {
		for _, p := range []struct {
			name  string
			given bool
		}{{"n", c.N > 0}, {"w_ai", c.N == 0 && c.WAI != Defaults().WAI}} {
			if p.given {
				all = append(all, warnCensusN.Remark(p.name, "with census: on it acts only while the last hop is not the "+
					"bottleneck; "+
					"census: off makes it act always"))
			}
		}
		return all
	}
	if r.N == 0 {
		all = append(all, c.increases(s, r.T)...)
	}
	return all
}

// increases warns of an additive increase above the headroom of the path where it is least. The base round trip is t;
// 0:
// the path's.
func (c *Config) increases(s *cc.Site, t unit.Time) []scheme.Remark {
	var tight *cc.SitePath
	least := 0.0
	for i := range s.Paths {
		p, trip := &s.Paths[i], t
		if trip == 0 {
			trip = p.BaseRTT
		}
		headroom := float64(p.Narrow.Rate) * float64(trip) / 8e12 * (1 - c.Eta)
		if headroom > 0 && (tight == nil || headroom < least) {
			tight, least = p, headroom
		}
	}
	if tight == nil || float64(c.WAI) <= least {
		return nil
	}
	return []scheme.Remark{warnWAI.Remark("w_ai", "%v are more than the headroom, W·(1−eta) of %v at %s, of %v: a flow "+
		"alone builds a queue", c.WAI, unit.Bytes(least), tight.Narrow.Port, tight.Narrow.Rate).
		At(tight.Narrow.Port, float64(c.WAI)/least)}
}

// mostTrips is how many round trips of the longest path T may be without a warning: with two, queues are the same; with
// twelve they are a window of several hundred kB.
const mostTrips = 3

// pathSuits warns of a T below a path's round trip, which no window then fills, of one that is so many that windows are
// queues, and of a least rate that no link has.
func pathSuits(s *cc.Site, t unit.Time, least unit.Rate) (all []scheme.Remark) {
	if p, ok := s.Longest(); ok && t > 0 && t < p.BaseRTT*95/100 {
		all = append(all, warnTShort.Remark("t", "the longest path takes %v without queues (%s): windows are at most %s "+
			"of what "+
			"fills it", p.BaseRTT, p.Name, fmt.Sprintf("%.0f %%", 100*float64(t)/float64(p.BaseRTT))))
	}
	if p, ok := s.Longest(); ok && t > mostTrips*p.BaseRTT {
		all = append(all, warnTLong.Remark("t", "the longest path takes %v without queues (%s): windows are up to %.0f "+
			"times of "+
			"what fills it, and stand in queues until a T has passed", p.BaseRTT, p.Name, float64(t)/float64(p.BaseRTT)))
	}
	all = append(all, s.Unstoppable("min_rate", func(unit.Rate) unit.Rate { return least })...)
	return append(all, s.TooFast("min_rate", least)...)
}

// Suits is as Config's.
func (c *PowerConfig) Suits(s *cc.Site) []scheme.Remark { return pathSuits(s, c.T, c.MinRate) }
