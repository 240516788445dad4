package lab

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/fabric"
	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
)

// BridgePort is a port of a Bridge: what leaves by an interface of this machine.
type BridgePort struct {
	Name   string
	Rate   unit.LinkRate
	Buffer tm.Limit // of the port as a whole
	Queue  tm.Limit // of each of its queues
	MTU    int      // bytes of the largest IP packet; 0: any
}

// BridgeConfig is what a Bridge is made of.
type BridgeConfig struct {
	SwitchConfig // what runs in it; its codec reads what frames come in
	Name         string
	Seed         uint64
	Ports        []BridgePort
	MaxFrame     int // bytes of the largest frame at any port, with its tags
	Framing      packet.Framing
	Book         *packet.Book
}

// Bridge is the data plane of one switch whose ports are interfaces of this machine: the switch, and per
// gate one link to it at the port's rate and one back without delay. It accepts frames of all types and
// leaves parsing to its codec. It is not safe for concurrent use.
type Bridge struct {
	plane
	config BridgeConfig
	doors  []*door
	sw     *dataplane.Switch
}

// door is a gate that can be shut from outside: what comes then stays there.
type door struct {
	Gate
	shut bool
}

func (g *door) Stamp() unit.Time {
	if g.shut {
		return unit.Never
	}
	return g.Gate.Stamp()
}

// immediate is the rate of links from gates to the switch: a frame has come in whole when
// it has its stamp.
var immediate = unit.LinkRate{Bits: 1 << 62}

// NewBridge makes a bridge whose ports are those gates; clock is asked when frames have
// left.
func NewBridge(c BridgeConfig, gates []Gate, clock func() unit.Time) (*Bridge, error) {
	if len(gates) != len(c.Ports) || len(gates) < 2 {
		return nil, fmt.Errorf("bridge %s: %d ports at %d gates; two at least are needed", c.Name, len(c.Ports), len(gates))
	}
	b := &Bridge{config: c, plane: plane{departures: departures{clock: clock, book: c.Book}, framing: c.Framing,
		room: c.MaxFrame, any: true}}
	for _, g := range gates {
		b.doors = append(b.doors, &door{Gate: g})
	}
	b.wiring = wiring.New(c.star())
	for i := range c.Ports {
		b.wiring.Links[2*i+1].Rate = immediate
	}
	nodes, err := b.nodes(c.star().Network, nil, func(node int) Gate { return b.doors[node-1] })
	if err != nil {
		return nil, fmt.Errorf("bridge %s: %w", c.Name, err)
	}
	b.sw = b.switches[0]
	return b, b.start(nodes, b.wiring.Links, nil)
}

// Switch makes the bridge's switch alone, to see whether it can be.
func (c *BridgeConfig) Switch() (*dataplane.Switch, error) {
	return wiring.New(c.star()).NewSwitch(0, fabric.Part{Pool: &packet.Pool{}}, nil, nil)
}

// star is the network of the switch, node 0, with a host at each of its ports.
func (c *BridgeConfig) star() *wiring.Config {
	n := &topology.Network{Nodes: []topology.Node{{Name: c.Name, Switch: true}}}
	sw := c.SwitchConfig
	sw.QueueLimits, sw.MTUs = nil, nil
	for i := range c.Ports {
		p := &c.Ports[i]
		n.Nodes = append(n.Nodes, topology.Node{Name: p.Name})
		n.Links = append(n.Links, topology.Link{Ends: [2]int{0, i + 1}, Rate: p.Rate,
			Buffer: unit.Length{Packets: p.Buffer.Packets, Bytes: p.Buffer.Bytes}})
		sw.QueueLimits, sw.MTUs = append(sw.QueueLimits, p.Queue), append(sw.MTUs, int32(p.MTU))
	}
	switches := make([]SwitchConfig, len(n.Nodes))
	switches[0] = sw
	return &wiring.Config{Seed: c.Seed, Network: n, Switches: switches, Hosts: c.Book, Framing: c.Framing,
		MaxFrame: c.Framing.Frame(int32(c.MaxFrame), 0, true)}
}

// Site is where new programs for the running bridge are made, when SetPorts is to follow.
func (b *Bridge) Site(ports []BridgePort) *dataplane.Site {
	c := b.config
	c.Ports = ports
	var at []*tm.Port
	for i := range ports {
		at = append(at, b.Port(i))
	}
	return wiring.New(c.star()).Site(0, at)
}

// SetPorts changes rates and limits of the ports, whose names stay. What waits stays, also
// above a new limit; what is left of a frame that is being sent leaves at the new rate.
func (b *Bridge) SetPorts(ports []BridgePort) {
	for i := range ports {
		p := &ports[i]
		if p.Rate != b.config.Ports[i].Rate {
			b.fabric.SetRate(2*i, p.Rate, b.done)
			b.Port(i).SetRate(p.Rate)
		}
		port := b.Port(i)
		port.SetLimit(p.Buffer)
		for q := range port.Queues() {
			port.SetQueueLimit(tm.QueueID(q), p.Queue)
		}
	}
	b.config.Ports = ports
}

// SetPrograms puts other programs in place of the bridge's (dataplane.Switch.SetPrograms).
func (b *Bridge) SetPrograms(now unit.Time, programs []dataplane.Program) error {
	return b.sw.SetPrograms(now, programs)
}

// Step does all that is due at now, by the clock of the gates' stamps. now must be read
// before.
func (b *Bridge) Step(now unit.Time) error { return b.step(now) }

// Shut stops receiving: only frames that are already inside are still forwarded.
func (b *Bridge) Shut() {
	for _, d := range b.doors {
		d.shut = true
	}
}

// Waiting is how many packets are in the bridge.
func (b *Bridge) Waiting() (n int) {
	for i := range b.config.Ports {
		n += int(b.Port(i).Packets()) + int(b.hosts[i+1].port.Packets())
	}
	return n + b.fabric.InFlight()
}

// Port is the egress of port i, to be read.
func (b *Bridge) Port(i int) *tm.Port { return b.sw.Port(packet.PortID(i)) }

// Came is how many frames came in at port i, and how many bytes that was.
func (b *Bridge) Came(i int) (frames, bytes uint64) {
	p := b.hosts[i+1].port
	return p.TxPackets(), p.TxBytes()
}

// Gate is what the gate of port i has counted. It may be a system call.
func (b *Bridge) Gate(i int) GateCounts { return b.doors[i].Counts() }

// PortDrops are the drops of frames on their way to port i, Drops those of all frames.
func (b *Bridge) PortDrops(i int) [dataplane.Reasons]uint64 { return b.sw.PortDrops(packet.PortID(i)) }

// Drops are the drops of all frames, by reason.
func (b *Bridge) Drops() [dataplane.Reasons]uint64 { return b.sw.Drops() }

// Counts are those of the plane.
func (b *Bridge) Counts() Counts { return b.counts }

// Late is how late frames have left.
func (b *Bridge) Late() *unit.Histogram { return &b.late }

// Stall is the longest time for which something was to be done and nothing happened.
func (b *Bridge) Stall() unit.Time { return b.stall }
