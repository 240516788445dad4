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

// ports are the source ports that the packets of a flow have beside its own.
func ports(c *sim.Config, flow int) ([]uint16, error) {
	receiver, err := c.EndpointFactory.Receiver(flow)
	if err != nil {
		return nil, fmt.Errorf("flow %d: %w", flow, err)
	}
	if x, ok := receiver.(transport.Ported); ok {
		return x.Ports(), nil
	}
	return nil, nil
}

// HostsConfig makes the configuration of the run's hosts that are Weir's own.
func HostsConfig(r *plan.Run) (*lab.HostsConfig, error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	carried := make([]bool, len(c.Flows))
	for i := range c.Flows {
		carried[i] = r.Of.Entry(c.Flows[i].Group).Own()
	}
	var watches []outcome.Watch
	for _, w := range c.Watches {
		if w.What.OfFlow() && carried[w.Index] {
			watches = append(watches, w)
		}
	}
	plan.ForgetWaits(c) // threads add to what switches hold
	// What is of the network is the data plane's to see, and hosts of a machine have stalls enough.
	c.Selection = outcome.Selection{Watches: watches, Onsets: c.Onsets, Peaks: c.Peaks}
	c.Wiring.Events, c.Stalls, c.OnPFC, c.Trace, c.Progress, c.Threads = nil, sim.Stalls{}, nil, nil, nil, 0
	return &lab.HostsConfig{Network: c.Wiring.Network, Hosts: c.Wiring.Hosts, MTU: hostMTU(r.Of),
		Make: func(send func(node int, now unit.Time, p *packet.Packet)) (lab.Edge, func() any, error) {
			e, err := sim.NewEdge(c, carried, send)
			if err != nil {
				return nil, nil, err
			}
			return e, func() any { return e.Result() }, nil
		}}, nil
}
