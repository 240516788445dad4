package live

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

// BridgePort configures a port of a Bridge, which sends through an interface of this machine.
type BridgePort struct {
	Name   string
	Rate   unit.LinkRate
	Buffer tm.Limit // limit of the whole port
	Queue  tm.Limit // limit of each queue
	MTU    int      // bytes of the largest IP packet; 0: unlimited
}

// BridgeConfig configures a Bridge.
type BridgeConfig struct {
	wiring.SwitchConfig // programs, queues and scheduler; its codec reads incoming frames
	Name                string
	Seed                uint64
	Ports               []BridgePort
	MaxFrame            int // bytes of the largest frame at any port, with tags
	Framing             packet.Framing
	Book                *packet.Book
}

// Bridge is the data plane of one switch with interfaces of this machine as ports. Each gate has one link to the
// switch without delay and one back at the port's rate. The bridge accepts frames of all types and leaves parsing
// to its codec. It is not safe for concurrent use.
type Bridge struct {
	plane  *Plane
	config BridgeConfig
	gates  []*shutGate
	sw     *dataplane.Switch
}

// shutGate is a gate that can be shut; incoming frames then stay in its ring.
type shutGate struct {
	Gate
	shut bool
}

// Stamp returns the arrival time of the first waiting frame; unit.Never without one, or if the gate is shut.
func (g *shutGate) Stamp() unit.Time {
	if g.shut {
		return unit.Never
	}
	return g.Gate.Stamp()
}

// immediateRate is the rate of links from gates to the switch: a frame has arrived completely at its stamp.
var immediateRate = unit.LinkRate{Bits: 1 << 62}

// NewBridge creates a bridge with the gates as ports, at least two and one for each of c.Ports. clock returns the event
// time by the wall clock, by which the lateness of departures is measured.
func NewBridge(c BridgeConfig, gates []Gate, clock func() unit.Time) (*Bridge, error) {
	if len(gates) != len(c.Ports) || len(gates) < 2 {
		return nil, fmt.Errorf("bridge %s: %d ports at %d gates; at least two are required",
			c.Name, len(c.Ports), len(gates))
	}
	b := &Bridge{config: c}
	byNode := []Gate{nil}
	for _, g := range gates {
		x := &shutGate{Gate: g}
		b.gates, byNode = append(b.gates, x), append(byNode, x)
	}
	star := c.buildStar()
	w := wiring.New(star)
	for i := range c.Ports {
		w.Links[2*i+1].Rate = immediateRate
	}
	var err error
	if b.plane, err = NewPlane(PlaneConfig{Network: star.Network, Wiring: w, Book: c.Book, Framing: c.Framing,
		MaxFrame: c.MaxFrame, Gates: byNode, Clock: clock, AnyFrame: true}); err != nil {
		return nil, fmt.Errorf("bridge %s: %w", c.Name, err)
	}
	b.sw = w.Switches[0]
	return b, nil
}

// Switch creates the bridge's switch without ports, to check the configuration.
func (c *BridgeConfig) Switch() (*dataplane.Switch, error) {
	return wiring.New(c.buildStar()).NewSwitch(0, fabric.Part{Pool: &packet.Pool{}}, nil, nil)
}

// buildStar returns the wiring of a network with the switch, node 0, and a host at each port: node and link of port i
// are i+1 and i. c stays as it is.
func (c *BridgeConfig) buildStar() *wiring.Config {
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
	switches := make([]wiring.SwitchConfig, len(n.Nodes))
	switches[0] = sw
	return &wiring.Config{Seed: c.Seed, Network: n, Switches: switches, Hosts: c.Book, Framing: c.Framing,
		MaxFrame: c.Framing.FrameBytes(int32(c.MaxFrame), 0, true)}
}

// Site returns the build site of new programs for the running bridge with the new configuration ports, before
// SetPorts changes them.
func (b *Bridge) Site(ports []BridgePort) *dataplane.Site {
	c := b.config
	c.Ports = ports
	var current []*tm.Port
	for i := range ports {
		current = append(current, b.Port(i))
	}
	return wiring.New(c.buildStar()).Site(0, current)
}

// SetPorts changes rates and limits of the ports, between two steps; number, names and MTUs must stay. Queued packets
// stay, even beyond a new limit. The rest of a frame in transmission departs at the new rate. It keeps ports.
func (b *Bridge) SetPorts(ports []BridgePort) {
	for i := range ports {
		p := &ports[i]
		if p.Rate != b.config.Ports[i].Rate {
			b.plane.fabric.SetRate(2*i, p.Rate, b.plane.done)
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

// SetPrograms replaces the bridge's programs at now (dataplane.Switch.SetPrograms). It must not be called during a
// step.
func (b *Bridge) SetPrograms(now unit.Time, programs []dataplane.Program) error {
	return b.sw.SetPrograms(now, programs)
}

// Step performs all events due at now, a time by the clock of the gates' stamps. The caller must read now before the
// call. The error is the first one of a gate.
func (b *Bridge) Step(now unit.Time) error { return b.plane.Step(now) }

// StopReceiving stops receiving: only frames already inside are forwarded.
func (b *Bridge) StopReceiving() {
	for _, g := range b.gates {
		g.shut = true
	}
}

// WaitingPackets returns the number of packets in the bridge, except for those in gates.
func (b *Bridge) WaitingPackets() (n int) {
	for i := range b.config.Ports {
		n += int(b.Port(i).Packets()) + int(b.plane.hosts[i+1].port.Packets())
	}
	return n + b.plane.fabric.InFlight()
}

// Port returns the egress of port i, read-only.
func (b *Bridge) Port(i int) *tm.Port { return b.sw.Port(packet.PortID(i)) }

// Received returns the number of frames received at port i and their bytes.
func (b *Bridge) Received(i int) (frames, bytes uint64) {
	p := b.plane.hosts[i+1].port
	return p.TxPackets(), p.TxBytes()
}

// GateCounts returns the counters of port i's gate. It may make a system call.
func (b *Bridge) GateCounts(i int) GateCounts { return b.gates[i].Counts() }

// PortDrops returns the drops of frames on their way to port i, by reason.
func (b *Bridge) PortDrops(i int) [dataplane.Reasons]uint64 { return b.sw.PortDrops(packet.PortID(i)) }

// Drops returns the drops of all frames, by reason.
func (b *Bridge) Drops() [dataplane.Reasons]uint64 { return b.sw.DropCounts() }

// Counts returns the counters of frames at the gates.
func (b *Bridge) Counts() FrameCounters { return b.plane.Counts }

// LatenessHistogram returns the distribution of the lateness of departures.
func (b *Bridge) LatenessHistogram() *unit.Histogram { return &b.plane.late }

// Stall returns the longest time by which a due event was delayed.
func (b *Bridge) Stall() unit.Time { return b.plane.Stall }
