package sim

import (
	"fmt"

	"weir/core/packet"
	"weir/core/unit"
	"weir/core/workload"
)

// triggers are the triggers of a run.
type triggers struct {
	all           []workload.Trigger
	count         []int     // activations so far
	sent, arrived [][]int32 // by flow, the triggers that it activates when it has ended there
	waits         []bool    // by flow: a trigger begins it
}

// newTriggers returns the triggers of a configuration; nil without triggers. If they join hosts, it returns a copy of
// the configuration in which all nodes are one group; else c itself. It returns an error for impossible triggers.
func newTriggers(c *Config) (*Config, *triggers, error) {
	if len(c.Triggers) == 0 {
		return c, nil, nil
	}
	n := len(c.Flows)
	t := &triggers{all: c.Triggers, count: make([]int, len(c.Triggers)), sent: make([][]int32, n),
		arrived: make([][]int32, n), waits: make([]bool, n)}
	for k := range t.all {
		x := &t.all[k]
		for _, list := range []struct {
			flows []int
			note  func(flow int)
		}{{x.Sent, func(f int) { t.sent[f] = append(t.sent[f], int32(k)) }},
			{x.Arrived, func(f int) { t.arrived[f] = append(t.arrived[f], int32(k)) }},
			{x.Begins, func(f int) { t.waits[f] = true }}} {
			for _, f := range list.flows {
				if f < 0 || f >= n {
					return nil, nil, fmt.Errorf("sim: trigger %d refers to flow %d; there are %d flows", k, f, n)
				}
				list.note(f)
			}
		}
		for _, f := range append(append([]int(nil), x.Sent...), x.Arrived...) {
			if c.Flows[f].Size == 0 {
				return nil, nil, fmt.Errorf("sim: trigger %d waits for flow %d, which has no end", k, f)
			}
		}
		for _, f := range x.Begins {
			if len(c.Flows[f].After) > 0 {
				return nil, nil, fmt.Errorf("sim: flow %d starts after other flows and also has a trigger; only one is "+
					"allowed", f)
			}
		}
	}
	if t.crossesHosts(c) {
		c = inOneGroup(c)
	}
	return c, t, nil
}

// crossesHosts reports whether a trigger begins a flow at another host than the one where it is activated.
func (t *triggers) crossesHosts(c *Config) bool {
	for k := range t.all {
		x := &t.all[k]
		for _, f := range x.Begins {
			for _, s := range x.Sent {
				if c.Flows[s].Src != c.Flows[f].Src {
					return true
				}
			}
			for _, a := range x.Arrived {
				if c.Flows[a].Dst != c.Flows[f].Src {
					return true
				}
			}
		}
	}
	return false
}

// inOneGroup returns a copy of the configuration with one thread and all nodes in one group, so that all events
// happen in the order of time.
func inOneGroup(c *Config) *Config {
	one := *c
	one.Threads, one.Window = 1, 0
	for i := range c.Wiring.Network.Links {
		l := &c.Wiring.Network.Links[i]
		one.Window = max(one.Window, l.Delay+1)
	}
	return &one
}

// activates reports whether a flow activates a trigger when it has ended at its receiver, if arrived, or else at its
// sender. t may be nil.
func (t *triggers) activates(flow packet.FlowID, arrived bool) bool {
	if t == nil || int(flow) >= len(t.sent) { // no triggers, or a message of a job
		return false
	}
	return arrived && len(t.arrived[flow]) > 0 || !arrived && len(t.sent[flow]) > 0
}

// wakeHost makes the fabric call a host that has got work at now from another host. Before the fabric is complete it
// records the call for later.
func (r *Simulation) wakeHost(h *host, now unit.Time) {
	if r.fabric == nil {
		r.early = append(r.early, int(h.node))
		return
	}
	r.fabric.WakeNode(int(h.node), now)
}

// activateTriggers begins the flows that wait for the end of a flow, which this host has found: at the receiver if
// arrived, else at the sender. They may be at other hosts, which it wakes. Flows that have begun remain unchanged.
func (h *host) activateTriggers(now unit.Time, flow packet.FlowID, arrived bool) {
	r := h.run
	t := r.triggers
	list := t.sent[flow]
	if arrived {
		list = t.arrived[flow]
	}
	for _, k := range list {
		t.count[k]++
		for _, f := range t.all[k].BegunBy(t.count[k]) {
			if r.sender[f] != notStarted {
				continue
			}
			at := r.sourceNIC(packet.FlowID(f))
			if i := at.beginFlow(packet.FlowID(f), max(now, r.config.Flows[f].Start)); i >= 0 {
				at.updateSlot(i, now)
			}
			if at != h {
				at.reschedule(now)
				r.wakeHost(at, now)
			}
		}
	}
}
