package observe

import (
	"fmt"

	"weir/core/dataplane/tm"
	"weir/core/topology"
	"weir/core/trace"
)

// Selection is what to observe in a run, in either world.
type Selection struct {
	Watches  []Watch // quantities that are sampled periodically in the measured part
	Delays   bool    // keep histograms of the one-way delays, by traffic
	Tally    bool    // count what all frames on all links consist of
	Notices  bool    // follow the notices that switches make
	Ordering bool    // note in which order data packets arrive
	Taken    bool    // ask switches at the end what they take
	Steers   bool    // ask control planes of switches at the end what they have done
}

// Check returns an error for a watch that is impossible in a network with this many flows and jobs.
func (s *Selection) Check(n *topology.Network, flows, jobs int) error {
	for i, w := range s.Watches {
		limit := 2 * len(n.Links)
		switch {
		case w.What.OfFlow():
			limit = flows
		case w.What == MessageBytes:
			limit = jobs
		case w.What.OfSwitch() && (w.Index < 0 || w.Index >= len(n.Nodes) || !n.Nodes[w.Index].Switch):
			limit = 0
		case w.What.OfSwitch():
			limit = len(n.Nodes)
		}
		if w.Every <= 0 || w.What > MessageBytes || w.Index < 0 || w.Index >= limit {
			return fmt.Errorf("watch %d looks at %d of %d every %v", i, w.Index, limit, w.Every)
		}
	}
	return nil
}

// Links makes the observer of the fabric's links, which counts into tally and lost as the selection asks;
// nil if it asks for nothing about links, and there is no trace.
func (s *Selection) Links(o trace.Observer, tally *Tally, lost *uint64, port func(i int) *tm.Port) trace.Observer {
	if !s.Tally && !s.Notices && o == nil {
		return nil
	}
	l := &Links{Trace: o, Port: port}
	if s.Tally {
		l.Tally = tally
	}
	if s.Notices {
		l.Lost = lost
	}
	return l
}
