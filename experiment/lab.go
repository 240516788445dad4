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
		Seed: c.Seed, Network: c.Network, Switches: c.Switches, Hosts: c.Hosts, Tree: c.Tree, Prefixes: c.Prefixes, Events: c.Events,
		Framing: c.Framing, Telemetry: c.Telemetry, Lead: LabLead, Warmup: c.Warmup, Duration: c.Duration,
		Watches: c.Watches, Delays: c.Delays, Tally: c.Tally, Notices: c.Notices, Ordering: c.Ordering,
	}
	if mtu := int(c.MaxFrame-c.Framing.Extra) - packet.EthernetHeader; mtu > lab.DefaultMTU {
		out.MTU = mtu
	}
	for _, f := range c.Flows {
		tr := &r.point.traffic[f.Group]
		out.Flows = append(out.Flows, lab.Flow{Group: f.Group, Src: f.Src, Dst: f.Dst, SrcPort: f.SrcPort, DstPort: f.DstPort,
			Version: tr.version, Proto: kernelProtocols[tr.transport.Name]})
	}
	return out, nil
}

// kernelProtocols are the transports that Linux has, by name.
var kernelProtocols = map[string]uint8{"tcp": packet.ProtoTCP, "udp": packet.ProtoUDP}
