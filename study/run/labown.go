package run

import (
	"fmt"

	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
	"weir/study/plan"
	"weir/worlds/lab"
	"weir/worlds/sim"
)

// extraPorts returns the additional source ports of a flow's packets, or nil if its transport uses one port. It returns
// an error if the flow's receiver cannot be created.
func extraPorts(c *sim.Config, flow int) ([]uint16, error) {
	receiver, err := c.EndpointFactory.Receiver(flow)
	if err != nil {
		return nil, fmt.Errorf("flow %d: %w", flow, err)
	}
	if x, ok := receiver.(transport.Ported); ok {
		return x.Ports(), nil
	}
	return nil, nil
}

// HostsConfig returns the configuration of a run's Weir hosts in the lab. It has the watches of their flows only; the
// data plane has the watches of ports. Its Make creates the hosts and a function that returns their *outcome.Result.
func HostsConfig(r *plan.Run) (*lab.HostsConfig, error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	carried := make([]bool, len(c.Flows))
	for i := range c.Flows {
		carried[i] = r.SpecPoint.Entry(c.Flows[i].Group).UsesWeirStack()
	}
	var watches []outcome.Watch
	for _, w := range c.Watches {
		if w.What.OfFlow() && carried[w.Index] {
			watches = append(watches, w)
		}
	}
	plan.ForgetWaits(c) // the threads of the simulator add to the buffers of switches
	// The data plane observes the network, and the hosts of a machine have stalls of their own.
	c.Selection = outcome.Selection{Watches: watches, Onsets: c.Onsets, Peaks: c.Peaks}
	c.Wiring.Events, c.Stalls, c.OnPFC, c.Trace, c.Progress, c.Threads = nil, sim.Stalls{}, nil, nil, nil, 0
	return &lab.HostsConfig{Network: c.Wiring.Network, Hosts: c.Wiring.Hosts, MTU: hostMTU(r.SpecPoint),
		Make: func(send func(node int, now unit.Time, p *packet.Packet)) (lab.Edge, func() any, error) {
			e, err := sim.NewEdge(c, carried, send)
			if err != nil {
				return nil, nil, err
			}
			return e, func() any { return e.Result() }, nil
		}}, nil
}
