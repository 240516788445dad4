package lab

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/fabric"
	"weir/core/packet"
	"weir/core/unit"
)

// BridgePort is a port of a Bridge: what leaves by an interface of this machine.
type BridgePort struct {
	Name   string
	Rate   unit.LinkRate
	Buffer tm.Limit // of the port as a whole
	Queue  tm.Limit // of each of its queues
}

// BridgeConfig is what a Bridge is made of.
type BridgeConfig struct {
	Name      string
	Seed      uint64
	Ports     []BridgePort
	MaxFrame  int // bytes of the largest frame at any port, with its tags
	Queues    int // a port; 0 means 1
	Scheduler func(queues int, r unit.LinkRate) (tm.Scheduler, error)
	Programs  func(site *dataplane.Site) ([]dataplane.Program, error)
	Framing   packet.Framing
	Book      *packet.Book
	Codec     dataplane.Codec
}

// Bridge is the data plane of one switch whose ports are interfaces of this machine: the
// switch, one link to each gate at the port's rate, and one back that takes no time. It
// takes frames of all types; what they are is for its codec to say. It is not safe for
// concurrent use.
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
	b := &Bridge{config: c, plane: plane{clock: clock, book: c.Book, framing: c.Framing, room: c.MaxFrame, any: true}}
	nodes := make([]fabric.Node, 1)
	b.hosts = make([]*host, 1)
	var links []fabric.Link
	var ports []*tm.Port
	var hashes unit.Random
	queues := max(c.Queues, 1)
	for i, p := range c.Ports {
		s := tm.NewFIFO()
		if queues > 1 {
			s = tm.NewStrict()
		}
		if c.Scheduler != nil {
			var err error
			if s, err = c.Scheduler(queues, p.Rate); err != nil {
				return nil, fmt.Errorf("bridge %s: %w", c.Name, err)
			}
		}
		if x, ok := s.(tm.Seeded); ok {
			if hashes.Rand == nil {
				hashes = unit.NewRandom(c.Seed, "switch "+c.Name+" flow queues")
			}
			x.Seed(uint32(hashes.Uint64()))
		}
		ports = append(ports, tm.NewPort(tm.NewBuffer(queues, p.Queue, p.Buffer), s, p.Rate))
		id := packet.PortID(i)
		links = append(links,
			fabric.Link{From: 0, FromPort: id, To: i + 1, Rate: p.Rate},
			fabric.Link{From: i + 1, To: 0, ToPort: id, Rate: immediate})
		d := &door{Gate: gates[i]}
		b.doors = append(b.doors, d)
		h := b.newHost(i+1, p.Name, immediate, d)
		b.hosts = append(b.hosts, h)
		nodes = append(nodes, h)
	}
	site := b.site(c.Ports, ports)
	programs, err := c.Programs(site)
	if err != nil {
		return nil, fmt.Errorf("bridge %s: %w", c.Name, err)
	}
	b.sw, err = dataplane.New(dataplane.Config{
		Name: c.Name, Ports: ports, Programs: programs, Pool: &b.pool, Book: c.Book, Codec: c.Codec,
		Random: unit.NewRandom(c.Seed, "switch "+c.Name), MinFrame: c.Framing.Min + c.Framing.Extra,
	})
	if err != nil {
		return nil, err
	}
	nodes[0] = b.sw
	return b, b.start(nodes, links, nil)
}

// site is where the programs of a bridge run.
func (b *Bridge) site(ports []BridgePort, at []*tm.Port) *dataplane.Site {
	c := &b.config
	s := &dataplane.Site{
		Switch: c.Name, Ports: len(ports), At: at, Book: c.Book, Queues: max(c.Queues, 1),
		MaxFrame: c.Framing.Frame(int32(c.MaxFrame), 0, true), Framing: c.Framing,
		Random: func(entity string) unit.Random { return unit.NewRandom(c.Seed, "switch "+c.Name+" "+entity) },
	}
	for _, p := range ports {
		s.Lines = append(s.Lines, dataplane.Line{Rate: p.Rate})
	}
	return s
}

// Site is where new programs for the running bridge are made, when SetPorts is to follow.
func (b *Bridge) Site(ports []BridgePort) *dataplane.Site {
	var at []*tm.Port
	for i := range ports {
		at = append(at, b.Port(i))
	}
	return b.site(ports, at)
}

// SetPorts changes rates and limits of the ports, whose names stay. What waits stays, also
// above a new limit, and the frame that is being sent leaves when it would have.
func (b *Bridge) SetPorts(ports []BridgePort) {
	for i, p := range ports {
		port := b.Port(i)
		if p.Rate != b.config.Ports[i].Rate {
			b.fabric.SetRate(2*i, p.Rate)
			port.SetRate(p.Rate)
		}
		port.SetLimit(p.Buffer)
		for q := range port.Queues() {
			port.Queue(tm.QueueID(q)).Limit = p.Queue
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

// Shut leaves what comes in from now on where it is: only what is there already goes on.
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
