package wiring

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/fused"
	"weir/core/dataplane/tm"
	"weir/core/fabric"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/unit"
)

// SwitchConfig configures one switch.
type SwitchConfig struct {
	Programs func(site *dataplane.Site) ([]dataplane.Program, error)
	Routes   *dataplane.Routes
	Queues   int // a port; 0 means 1
	// of each queue, besides the link's buffer for the port as a whole
	QueueLimit tm.Limit
	// QueueLimits are those of each port's queues, by port, in place of QueueLimit; nil: ports are alike
	QueueLimits []tm.Limit
	MTUs        []int32 // of links, by port; nil: they have none
	// nil: FIFO (one queue), strict priority (several)
	Scheduler     func(queues int, r unit.LinkRate) (tm.Scheduler, error)
	Recirculation dataplane.Recirculation
	Clock         telemetry.Clock
	Codec         dataplane.Codec // nil: that of frames with the addresses of Config.Hosts
}

// NewSwitch makes the switch of a node, with its ports. It takes packets for its own use from the pool of the part of
// the fabric that it is in, whose observer, if there is one, sees what it queues and drops. The programs in more
// follow those of its configuration; onPFC is dataplane.Config's, and may be nil.
func (w *Wiring) NewSwitch(node int, part fabric.Part, more []dataplane.Program, onPFC func(now unit.Time,
	in packet.PortID, class uint8, kind packet.Kind)) (*dataplane.Switch, error) {
	c := w.config
	sc, name := &c.Switches[node], c.Network.Nodes[node].Name
	var ports []*tm.Port
	var numbers []dataplane.Number
	var hashes unit.Random // of schedulers that place flows by a hash
	for port, i := range w.leaving[node] {
		s, err := sc.scheduler(w.Links[i].Rate)
		if err != nil {
			return nil, fmt.Errorf("switch %s: %w", name, err)
		}
		if x, ok := s.(tm.Seeded); ok {
			if hashes.Rand == nil {
				hashes = w.random(name, " flow queues")
			}
			x.Seed(uint32(hashes.Uint64()))
		}
		if x, ok := s.(tm.Addressed); ok {
			x.Addresses(c.Hosts)
		}
		each := sc.QueueLimit
		if sc.QueueLimits != nil {
			each = sc.QueueLimits[port]
		}
		w.ports[i] = tm.NewPort(tm.NewBuffer(sc.queues(), each, w.buffer(i)), s, w.Links[i].Rate)
		ports = append(ports, w.ports[i])
		numbers = append(numbers, dataplane.Number{Out: i, In: i ^ 1})
	}
	site := w.Site(node, ports)
	var programs []dataplane.Program
	if sc.Programs != nil {
		var err error
		if programs, err = sc.Programs(site); err != nil {
			return nil, fmt.Errorf("switch %s: %w", name, err)
		}
	}
	sw, err := dataplane.New(dataplane.Config{
		Name: name, ID: node, Ports: ports, Programs: append(programs, more...), Fuse: fused.Of,
		Pool: part.Pool, Book: c.Hosts,
		Codec: sc.Codec, Random: w.random(name, ""), Recirculation: sc.Recirculation,
		MinFrame: c.Framing.Least(), Observer: part.Observer, Numbers: numbers, OnPFC: onPFC,
	})
	w.Switches[node] = sw
	return sw, err
}

func (c *SwitchConfig) queues() int { return max(c.Queues, 1) }

// scheduler makes that of a port.
func (c *SwitchConfig) scheduler(rate unit.LinkRate) (tm.Scheduler, error) {
	switch queues := c.queues(); {
	case c.Scheduler != nil:
		return c.Scheduler(queues, rate)
	case queues == 1:
		return tm.NewFIFO(), nil
	default:
		return tm.NewStrict(), nil
	}
}

// buffer is the limit of the port of a direction, for all of its queues.
func (w *Wiring) buffer(direction int32) tm.Limit {
	b := w.config.Network.Links[w.Directions[direction].Link].Buffer
	return tm.Limit{Packets: b.Packets, Bytes: b.Bytes}
}

// random is a stream of the switch of that name.
func (w *Wiring) random(name, entity string) unit.Random {
	return w.stream("switch " + name + entity)
}

// Site is the site for programs of a node's switch, which has these ports.
func (w *Wiring) Site(node int, ports []*tm.Port) *dataplane.Site {
	c, n := w.config, w.config.Network
	sc, name := &c.Switches[node], n.Nodes[node].Name
	site := &dataplane.Site{
		Switch: name, ID: node, Ports: len(ports), At: ports, Book: c.Hosts, Routes: sc.Routes,
		Clock: sc.Clock, Rates: w.rates, Counted: c.Telemetry != nil && c.Telemetry.Counted, Queues: sc.queues(),
		MaxFrame: c.MaxFrame, Framing: c.Framing,
		Random: func(entity string) unit.Random { return w.random(name, " "+entity) },
		Place:  func() (*dataplane.TreePosition, error) { return w.place(node) },
	}
	site.Frames, _ = sc.Codec.(dataplane.Frames)
	for port, i := range w.leaving[node] {
		l, to := &w.Links[i], &n.Nodes[w.Links[i].To]
		line := dataplane.Line{Rate: l.Rate, Delay: l.Delay + l.Jitter, To: to.Name, Switch: to.Switch}
		if sc.MTUs != nil {
			line.MTU = sc.MTUs[port]
		}
		site.Lines, site.Limits = append(site.Lines, line), append(site.Limits, w.buffer(i))
	}
	return site
}

// tripOf is the longest round trip through a fat tree without queues: up and down, there and back, by the links of
// each pair of tiers that take longest.
func (w *Wiring) tripOf(tree *topology.Tree) (trip unit.Time) {
	var most [4]unit.Time // by the lower tier
	frame := unit.Bytes(w.config.MaxFrame)
	if frame == 0 {
		frame = unit.Bytes(w.config.Framing.Frame(1514, 0, true))
	}
	small := unit.Bytes(w.config.Framing.Frame(packet.EthernetHeader+packet.IPv6Header+packet.TCPHeader, 0, true))
	for i := range w.Links {
		l := &w.Links[i]
		lower := min(tree.Tier[l.From], tree.Tier[l.To])
		most[lower] = max(most[lower], 2*(l.Delay+l.Jitter)+takes(l.Rate, frame)+takes(l.Rate, small))
	}
	for _, t := range most {
		trip += 2 * t
	}
	return trip
}

// takes is how long a frame is on its way onto a link.
func takes(r unit.LinkRate, frame unit.Bytes) unit.Time {
	if r.Packets > 0 {
		return unit.Second / unit.Time(r.Packets)
	}
	return unit.TransmitTime(frame, r.Bits)
}

// place finds where a switch is in the fat tree, if the network is one.
func (w *Wiring) place(node int) (*dataplane.TreePosition, error) {
	c, tree := w.config, w.config.Tree
	if tree == nil {
		if w.tree == nil && w.noTree == nil {
			w.tree, w.noTree = c.Network.Tree()
		}
		if w.noTree != nil {
			return nil, w.noTree
		}
		tree = w.tree
	}
	if w.leafOf == nil {
		w.leafOf, w.trip = tree.LeafOf(), w.tripOf(tree)
	}
	p := &dataplane.TreePosition{Tiers: tree.Tiers, Tier: int(tree.Tier[node]), Up: tree.Up[node], Down: tree.Down[node],
		Above: tree.Above(node), Leaf: w.leafOf, Leaves: len(tree.Leaves()),
		Trip: w.trip}
	if c.Tree != nil {
		p.All = c.Prefixes.All
		for _, d := range tree.DownRoutes(node, c.Prefixes, c.Hosts) {
			p.Routes = append(p.Routes, dataplane.Route{Prefix: d.Prefix, Ports: []packet.PortID{d.Port}})
		}
	}
	return p, nil
}
