package cc

import (
	"slices"

	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Traits describe what a controller does with its parameters, as far as it follows from the parameters. Scheme has
// what holds for all parameters. Transports and experiments read the traits when they create a flow, never per
// packet. The zero value of a field means no, so that a configuration sets only what holds for it.
type Traits struct {
	// Reads are the fields that the law needs in the records of every hop; 0: it reads loads only, which all formats
	// have.
	Reads telemetry.Field
	// CountsFlows: the receiving host counts its flows, and acknowledgements with telemetry carry the count
	// (Feedback.Flows). A scheme with a part at the receiver counts there, and does not set it.
	CountsFlows bool
	// CountTime is the time for which a flow counts after each of its packets; 0: the round trip of its path without
	// queues.
	CountTime unit.Time
	// Patient: feedback of its Receiver may wait for ordinary acknowledgements, so that packets with telemetry are
	// acknowledged like others.
	Patient bool
	// Agent returns how agents at both hosts let Linux' own TCP follow the law (worlds/agent), and remarks on what of the
	// configuration they cannot do: a remark that refuses a parameter excludes Linux' TCP. nil: there are no agents.
	Agent func() (AgentParams, []scheme.Remark)
}

// TraitsOf returns the traits of a controller's configuration. They are zero if it has no method Traits.
func TraitsOf(c scheme.Config) (t Traits) {
	if x, ok := c.(interface{ Traits() Traits }); ok {
		t = x.Traits()
	}
	return t
}

// FlowCountTime returns the time for which the receiving host counts a flow on a path after each packet; 0: it does not
// count flows.
func (t *Traits) FlowCountTime(p *Path) unit.Time {
	switch {
	case !t.CountsFlows:
		return 0
	case t.CountTime > 0:
		return t.CountTime
	}
	return p.BaseRTT
}

// HasAgentPreset reports whether the configuration has the preset of the agents, even if it also has parameters that
// the agents lack.
func (t *Traits) HasAgentPreset() bool {
	if t.Agent == nil {
		return false
	}
	_, remarks := t.Agent()
	return !slices.ContainsFunc(remarks, func(r scheme.Remark) bool { return r.Param == "preset" })
}

// FollowsLinux reports whether Linux' own TCP can follow the configuration, by CUBIC without feedback.
func (t *Traits) FollowsLinux() bool {
	if t.Agent == nil {
		return false
	}
	_, remarks := t.Agent()
	return len(remarks) == 0
}
