package experiment

import (
	"weir/lab"
	"weir/packet"
	"weir/unit"
)

// LabLead is the time between the start of a run's data plane in the lab and time 0 of
// the experiment: what is to happen then can get ready.
const LabLead = 500 * unit.Millisecond

// Lab makes the configuration of the run's data plane in the lab. Hosts there are real:
// of traffic it says nothing.
func (r *RunSpec) Lab() (*lab.Config, error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	out := &lab.Config{
		Seed: c.Seed, Network: c.Network, Hosts: c.Hosts, Framing: c.Framing, Lead: LabLead, Warmup: c.Warmup, Duration: c.Duration,
		Counted: c.Telemetry != nil && c.Telemetry.Counted,
	}
	if mtu := int(c.MaxFrame-c.Framing.Extra) - packet.EthernetHeader; mtu > lab.DefaultMTU {
		out.MTU = mtu
	}
	for _, s := range c.Switches {
		out.Switches = append(out.Switches, lab.SwitchConfig(s))
	}
	for _, e := range c.Events {
		out.Events = append(out.Events, lab.Event(e))
	}
	return out, nil
}
