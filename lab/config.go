package lab

import (
	"fmt"

	"weir/dataplane"
	"weir/dataplane/tm"
	"weir/fabric"
	"weir/packet"
	"weir/telemetry"
	"weir/topology"
	"weir/trace"
	"weir/unit"
)

// Config is the network of one run as its data plane needs it, and when what is measured
// begins and ends.
type Config struct {
	Seed     uint64
	Network  *topology.Network
	Switches []SwitchConfig // one a node of Network; ignored for hosts
	Hosts    *packet.Book   // Addr of node i is i+1
	Events   []Event        // ascending by time
	Framing  packet.Framing // one that counts the headers that frames have
	MTU      int            // of hosts' interfaces, in bytes; 0: 1500
	Lead     unit.Time      // from the data plane's start to time 0 of the experiment
	Warmup   unit.Time      // measures begin then, in the experiment's time
	Duration unit.Time      // and end then; above Warmup
	// Counted says that the framing has telemetry in each frame (dataplane.Site).
	Counted bool
	// Observer, if given, is told what links transmit, lose and deliver, and what
	// switches queue and drop.
	Observer trace.Observer
}

// SwitchConfig is what runs in one switch. It has the fields of the simulator's.
type SwitchConfig struct {
	Programs      func(site *dataplane.Site) ([]dataplane.Program, error)
	Routes        *dataplane.Routes
	Queues        int                                                     // a port; 0 means 1
	QueueLimit    tm.Limit                                                // of each queue, besides the link's buffer for the port as a whole
	Scheduler     func(queues int, r unit.LinkRate) (tm.Scheduler, error) // nil: FIFO (one queue), strict priority (several)
	Recirculation dataplane.Recirculation
	Clock         telemetry.Clock
}

// Event is what happens to a link, in both directions, before anything else at its time.
type Event struct {
	At   unit.Time     // in the experiment's time
	Link int           // index into Network.Links
	Rate unit.LinkRate // the new rate, if it has one
	Down bool          // else: the link goes down, or comes up
}

// DefaultMTU is that of Ethernet (IEEE 802.3).
const DefaultMTU = 1500

func (c *Config) mtu() int {
	if c.MTU == 0 {
		return DefaultMTU
	}
	return c.MTU
}

// check tells what of a configuration cannot be.
func (c *Config) check() error {
	n := c.Network
	switch {
	case c.Lead < 0 || c.Warmup < 0 || c.Duration <= c.Warmup || c.Duration > unit.Never/4 || c.Lead > unit.Never/4:
		return fmt.Errorf("lab: a lead of %v, a warm-up of %v, a duration of %v: the warm-up must end before the run does", c.Lead, c.Warmup, c.Duration)
	case len(c.Switches) != len(n.Nodes):
		return fmt.Errorf("lab: %d switch configurations for %d nodes", len(c.Switches), len(n.Nodes))
	case c.Hosts.Len() <= len(n.Nodes):
		return fmt.Errorf("lab: addresses of %d nodes for %d", c.Hosts.Len()-1, len(n.Nodes))
	case c.Framing.Fixed():
		return fmt.Errorf("lab: framing %s counts headers that no real frame has; l2 and wire are possible", c.Framing.Name)
	case c.mtu() < 1280 || c.mtu() > 9216: // RFC 8200 §5; what Ethernet cards call jumbo frames
		return fmt.Errorf("lab: an MTU of %d bytes; 1280 to 9216 are possible", c.MTU)
	}
	last := unit.Time(0)
	for _, e := range c.Events {
		if e.At < last || e.Link < 0 || e.Link >= len(n.Links) {
			return fmt.Errorf("lab: an event at %v, after one at %v, of link %d of %d", e.At, last, e.Link, len(n.Links))
		}
		last = e.At
	}
	return nil
}

// direction is one direction of a topology link, and a link of the fabric.
type direction struct {
	link, end int // leaves Network.Links[link] at Ends[end]
	node      int
	port      packet.PortID
}

// build makes the data plane of a configuration; gates are those of the hosts, by node.
func (c *Config) build(gates []Gate, clock func() unit.Time) (*plane, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	n := c.Network
	leaving := make([][]int32, len(n.Nodes)) // by node and port, index into links
	links := make([]fabric.Link, 0, 2*len(n.Links))
	ways := make([]direction, 0, 2*len(n.Links))
	for i := range n.Links {
		l := &n.Links[i]
		var at [2]packet.PortID
		for e, node := range l.Ends {
			at[e] = packet.PortID(len(leaving[node]))
			leaving[node] = append(leaving[node], int32(2*i+e))
		}
		for e := range 2 {
			links = append(links, fabric.Link{
				From: l.Ends[e], To: l.Ends[1-e], FromPort: at[e], ToPort: at[1-e],
				Rate: l.Rate, Delay: l.Delay, Jitter: l.Jitter, Loss: l.Loss,
				Random: unit.NewRandom(c.Seed, "link "+n.PortName(i, e)),
			})
			ways = append(ways, direction{i, e, l.Ends[e], at[e]})
		}
	}
	d := &plane{clock: clock, book: c.Hosts, framing: c.Framing, room: c.mtu() + packet.EthernetHeader, ways: ways, config: c}
	nodes := make([]fabric.Node, len(n.Nodes))
	d.switches = make([]*dataplane.Switch, len(n.Nodes))
	d.hosts = make([]*host, len(n.Nodes))
	for i, node := range n.Nodes {
		if node.Switch {
			sw, err := c.newSwitch(d, i, links, leaving[i])
			if err != nil {
				return nil, err
			}
			d.switches[i], nodes[i] = sw, sw
			continue
		}
		if len(leaving[i]) != 1 || gates[i] == nil {
			return nil, fmt.Errorf("lab: host %s has %d links; a host has one NIC", node.Name, len(leaving[i]))
		}
		d.hosts[i] = d.newHost(i, node.Name, links[leaving[i][0]].Rate, gates[i])
		nodes[i] = d.hosts[i]
	}
	return d, d.start(nodes, links, c.Observer)
}

// newSwitch makes the switch of a node, whose ports' links are leaving.
func (c *Config) newSwitch(d *plane, node int, links []fabric.Link, leaving []int32) (*dataplane.Switch, error) {
	n, sc := c.Network, &c.Switches[node]
	name, queues := n.Nodes[node].Name, max(sc.Queues, 1)
	var hashes unit.Random // of schedulers that place flows by a hash
	site := &dataplane.Site{
		Switch: name, ID: node, Ports: len(leaving), Book: c.Hosts, Routes: sc.Routes, Clock: sc.Clock, Rates: n.Rates(),
		Counted: c.Counted, Queues: queues, MaxFrame: c.Framing.Frame(int32(d.room), 0, true), Framing: c.Framing,
		Random: func(entity string) unit.Random { return unit.NewRandom(c.Seed, "switch "+name+" "+entity) },
	}
	var numbers []dataplane.Number
	for _, i := range leaving {
		l := &links[i]
		s := tm.NewFIFO()
		if queues > 1 {
			s = tm.NewStrict()
		}
		if sc.Scheduler != nil {
			var err error
			if s, err = sc.Scheduler(queues, l.Rate); err != nil {
				return nil, fmt.Errorf("switch %s: %w", name, err)
			}
		}
		if x, ok := s.(tm.Seeded); ok {
			if hashes.Rand == nil {
				hashes = unit.NewRandom(c.Seed, "switch "+name+" flow queues")
			}
			x.Seed(uint32(hashes.Uint64()))
		}
		buffer := n.Links[i/2].Buffer
		total := tm.Limit{Packets: buffer.Packets, Bytes: buffer.Bytes}
		site.At = append(site.At, tm.NewPort(tm.NewBuffer(queues, sc.QueueLimit, total), s, l.Rate))
		site.Lines = append(site.Lines, dataplane.Line{Rate: l.Rate, Delay: l.Delay + l.Jitter})
		numbers = append(numbers, dataplane.Number{Out: i, In: i ^ 1})
	}
	var programs []dataplane.Program
	if sc.Programs != nil {
		var err error
		if programs, err = sc.Programs(site); err != nil {
			return nil, fmt.Errorf("switch %s: %w", name, err)
		}
	}
	return dataplane.New(dataplane.Config{
		Name: name, ID: node, Ports: site.At, Programs: programs, Pool: &d.pool, Book: c.Hosts,
		Random: unit.NewRandom(c.Seed, "switch "+name), Recirculation: sc.Recirculation, MinFrame: c.Framing.Min + c.Framing.Extra,
		Observer: c.Observer, Numbers: numbers,
	})
}
