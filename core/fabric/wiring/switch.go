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
	Queues   int // number per port; 0 means 1
	// limit of each queue, in addition to the link's buffer for the port as a whole
	QueueLimit tm.Limit
	// QueueLimits are the limits of each port's queues, by port, in place of QueueLimit; nil: all ports are alike
	QueueLimits []tm.Limit
	MTUs        []int32 // of links, by port; nil: no MTUs
	// nil: FIFO (one queue), strict priority (several)
	Scheduler     func(queues int, r unit.LinkRate) (tm.Scheduler, error)
	Recirculation dataplane.Recirculation
	Clock         telemetry.Clock
	Codec         dataplane.Codec // nil: the codec for frames with the addresses of Config.Hosts
}

// NewSwitch makes the switch of a node, with its ports, and stores them in w. It allocates its own packets from the
// pool of its part of the fabric. The part's observer, if there is one, sees the packets that it queues and drops. The
// morePrograms follow the programs of its configuration; onPFC is dataplane.Config's, and may be nil. It fails if a
// scheduler or a program cannot be made.
func (w *Wiring) NewSwitch(node int, part fabric.Part, morePrograms []dataplane.Program, onPFC func(now unit.Time,
	in packet.PortID, class uint8, kind packet.Kind)) (*dataplane.Switch, error) {
	c := w.config
	sc, name := &c.Switches[node], c.Network.Nodes[node].Name
	var ports []*tm.Port
	var numbers []dataplane.Number
	var hashes unit.Random // for schedulers that place flows by a hash
	for port, i := range w.leaving[node] {
		s, err := sc.newScheduler(w.Links[i].Rate)
		if err != nil {
			return nil, fmt.Errorf("switch %s: %w", name, err)
		}
		if x, ok := s.(tm.Seeded); ok {
			if hashes.Rand == nil {
				hashes = w.switchStream(name, " flow queues")
			}
			x.SetSeed(uint32(hashes.Uint64()))
		}
		if x, ok := s.(tm.Addressed); ok {
			x.SetAddresses(c.Hosts)
		}
		each := sc.QueueLimit
		if sc.QueueLimits != nil {
			each = sc.QueueLimits[port]
		}
		w.ports[i] = tm.NewPort(tm.NewBuffer(sc.queueCount(), each, w.portLimit(i)), s, w.Links[i].Rate)
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
		Name: name, ID: node, Ports: ports, Programs: append(programs, morePrograms...), FusePrograms: fused.FusePrograms,
		Pool: part.Pool, Book: c.Hosts,
		Codec: sc.Codec, Random: w.switchStream(name, ""), Recirculation: sc.Recirculation,
		MinFrame: c.Framing.MinFrame(), Observer: part.Observer, Numbers: numbers, OnPFC: onPFC,
	})
	w.Switches[node] = sw
	return sw, err
}

func (c *SwitchConfig) queueCount() int { return max(c.Queues, 1) }

// newScheduler returns the scheduler of a port with this rate: by default FIFO for one queue and strict priority for
// several.
func (c *SwitchConfig) newScheduler(rate unit.LinkRate) (tm.Scheduler, error) {
	switch queues := c.queueCount(); {
	case c.Scheduler != nil:
		return c.Scheduler(queues, rate)
	case queues == 1:
		return tm.NewFIFO(), nil
	default:
		return tm.NewStrict(), nil
	}
}

// portLimit returns the limit of a direction's port, for all of its queues.
func (w *Wiring) portLimit(direction int32) tm.Limit {
	b := w.config.Network.Links[w.Directions[direction].Link].Buffer
	return tm.Limit{Packets: b.Packets, Bytes: b.Bytes}
}

// switchStream returns a random stream of the switch with a name. entity begins with a space, or is "" for the switch's
// own.
func (w *Wiring) switchStream(name, entity string) unit.Random {
	return w.newStream("switch " + name + entity)
}

// Site returns the site for the programs of a node's switch; ports are the switch's ports.
func (w *Wiring) Site(node int, ports []*tm.Port) *dataplane.Site {
	c, n := w.config, w.config.Network
	sc, name := &c.Switches[node], n.Nodes[node].Name
	site := &dataplane.Site{
		Switch: name, ID: node, Ports: len(ports), At: ports, Book: c.Hosts, Routes: sc.Routes,
		Clock: sc.Clock, Rates: w.rates, CountsTelemetry: c.Telemetry != nil && c.Telemetry.InFraming,
		Queues:   sc.queueCount(),
		MaxFrame: c.MaxFrame, Framing: c.Framing,
		Random: func(entity string) unit.Random { return w.switchStream(name, " "+entity) },
		Place:  func() (*dataplane.TreePosition, error) { return w.treePosition(node) },
	}
	site.Frames, _ = sc.Codec.(dataplane.Frames)
	for port, i := range w.leaving[node] {
		l, to := &w.Links[i], &n.Nodes[w.Links[i].To]
		line := dataplane.Line{Rate: l.Rate, Delay: l.Delay + l.Jitter, To: to.Name, Switch: to.Switch}
		if sc.MTUs != nil {
			line.MTU = sc.MTUs[port]
		}
		site.Lines, site.Limits = append(site.Lines, line), append(site.Limits, w.portLimit(i))
	}
	return site
}

// treeRoundTrip returns the longest round trip through a fat tree without queues: up and down, there and back, over the
// slowest links between each two tiers. It is of a full frame and of a small one back, with the largest jitter.
func (w *Wiring) treeRoundTrip(tree *topology.Tree) (trip unit.Time) {
	var most [4]unit.Time // by the lower tier
	frame := unit.Bytes(w.config.MaxFrame)
	if frame == 0 {
		frame = unit.Bytes(w.config.Framing.FrameBytes(1514, 0, true))
	}
	small := unit.Bytes(w.config.Framing.FrameBytes(packet.EthernetHeader+packet.IPv6Header+packet.TCPHeader, 0, true))
	for i := range w.Links {
		l := &w.Links[i]
		lower := min(tree.Tier[l.From], tree.Tier[l.To])
		most[lower] = max(most[lower], 2*(l.Delay+l.Jitter)+transmitTime(l.Rate, frame)+transmitTime(l.Rate, small))
	}
	for _, t := range most {
		trip += 2 * t
	}
	return trip
}

// transmitTime returns the time that a frame takes to be sent at a rate. At a rate in packets/s the length does not
// count.
func transmitTime(r unit.LinkRate, frame unit.Bytes) unit.Time {
	if r.Packets > 0 {
		return unit.Second / unit.Time(r.Packets)
	}
	return unit.TransmitTime(frame, r.Bits)
}

// treePosition returns the position of a switch in the fat tree. It returns an error if the network is not a fat tree.
// The tree, the leaves by address and the round trip are computed at the first call.
func (w *Wiring) treePosition(node int) (*dataplane.TreePosition, error) {
	c, tree := w.config, w.config.Tree
	if tree == nil {
		if w.tree == nil && w.noTree == nil {
			w.tree, w.noTree = c.Network.FindTree()
		}
		if w.noTree != nil {
			return nil, w.noTree
		}
		tree = w.tree
	}
	if w.leafOf == nil {
		w.leafOf, w.trip = tree.LeafByAddress(), w.treeRoundTrip(tree)
	}
	p := &dataplane.TreePosition{Tiers: tree.Tiers, Tier: int(tree.Tier[node]), Up: tree.Up[node], Down: tree.Down[node],
		Above: tree.NodesAbove(node), Leaf: w.leafOf, Leaves: len(tree.Leaves()),
		Trip: w.trip}
	if c.Tree != nil {
		p.All = c.Prefixes.All
		for _, d := range tree.DownRoutes(node, c.Prefixes, c.Hosts) {
			p.Routes = append(p.Routes, dataplane.Route{Prefix: d.Prefix, Ports: []packet.PortID{d.Port}})
		}
	}
	return p, nil
}
