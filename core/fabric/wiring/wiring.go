package wiring

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/fabric"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/trace"
	"weir/core/unit"
)

// Config is what decides what the links and switches of a run are.
type Config struct {
	Seed     uint64
	Network  *topology.Network
	Switches []SwitchConfig // one a node of Network; ignored for hosts
	Hosts    *packet.Book   // Addr of node i is i+1
	// Tree is the network as a fat tree whose hosts have addresses from Prefixes, as Hosts
	// says; nil: it is none, or they have not.
	Tree     *topology.Tree
	Prefixes topology.Prefixes
	MinFrame int32          // least bytes that a frame counts, by the run's framing; 0: none
	MaxFrame int32          // most bytes that a frame counts; 0: not known
	Framing  packet.Framing // by which switches size the frames that they make
	Counted  bool           // the framing has telemetry in each frame (dataplane.Site)
	Pool     *packet.Pool
	Observer trace.Observer // is told what switches queue and drop; nil: nobody is
}

// SwitchConfig is what runs in one switch.
type SwitchConfig struct {
	Programs func(site *dataplane.Site) ([]dataplane.Program, error)
	Routes   *dataplane.Routes
	Queues   int // a port; 0 means 1
	// of each queue, besides the link's buffer for the port as a whole
	QueueLimit tm.Limit
	// nil: FIFO (one queue), strict priority (several)
	Scheduler     func(queues int, r unit.LinkRate) (tm.Scheduler, error)
	Recirculation dataplane.Recirculation
	Clock         telemetry.Clock
}

// Direction is one direction of a topology link: link 2·Link + End of the fabric, and the
// port where it begins.
type Direction struct {
	Link, End int // leaves Network.Links[Link] at Ends[End]
	Node      int
	Port      packet.PortID
	OfSwitch  bool
}

// Wiring is a topology as links and nodes of a fabric.
type Wiring struct {
	Directions []Direction         // by the fabric's links
	Links      []fabric.Link       // in the fabric's order
	Switches   []*dataplane.Switch // by node, nil for hosts; made by NewSwitch

	config  Config
	leaving [][]int32  // by node and port, index into Links
	ports   []*tm.Port // by Directions
	rates   []unit.Rate
	tree    *topology.Tree // of networks with flat addresses, if a program asks
	leafOf  []int32        // Tree.LeafOf, likewise
}

// New numbers the ports of a topology, at each node in the order of its links, and makes
// the links with their random streams.
func New(c Config) *Wiring {
	n := c.Network
	w := &Wiring{
		config: c, rates: n.Rates(), Switches: make([]*dataplane.Switch, len(n.Nodes)),
		Directions: make([]Direction, 0, 2*len(n.Links)), Links: make([]fabric.Link, 0, 2*len(n.Links)),
		ports: make([]*tm.Port, 2*len(n.Links)), leaving: make([][]int32, len(n.Nodes)),
	}
	for i := range n.Links {
		l := &n.Links[i]
		var at [2]packet.PortID
		for e, node := range l.Ends {
			at[e] = packet.PortID(len(w.leaving[node]))
			w.leaving[node] = append(w.leaving[node], int32(2*i+e))
		}
		for e := range 2 {
			from, to := l.Ends[e], l.Ends[1-e]
			w.Links = append(w.Links, fabric.Link{
				From: from, To: to, FromPort: at[e], ToPort: at[1-e],
				Rate: l.Rate, Delay: l.Delay, Jitter: l.Jitter, Loss: l.Loss,
				Random: unit.NewRandom(c.Seed, "link "+n.PortName(i, e)),
			})
			w.Directions = append(w.Directions, Direction{i, e, from, at[e], n.Nodes[from].Switch})
		}
	}
	return w
}

// Leaving returns the links that leave a node, by port, as indices into Links.
func (w *Wiring) Leaving(node int) []int32 { return w.leaving[node] }

// Attach says that p is port 0 of a host: its NIC.
func (w *Wiring) Attach(host int, p *tm.Port) {
	for _, i := range w.leaving[host] {
		w.ports[i] = p
	}
}

// Port returns the port at which direction i begins; nil before its node was made.
func (w *Wiring) Port(i int) *tm.Port { return w.ports[i] }

// NewSwitch makes the switch of a node. What more gives stands behind the programs of its
// configuration; onPFC is dataplane.Config's, and may be nil.
func (w *Wiring) NewSwitch(node int, more []dataplane.Program, onPFC func(now unit.Time, in dataplane.PortID,
	class uint8, kind packet.Kind)) (*dataplane.Switch, error) {
	c, n := &w.config, w.config.Network
	sc, name := &c.Switches[node], n.Nodes[node].Name
	queues := max(sc.Queues, 1)
	site := &dataplane.Site{
		Switch: name, ID: node, Ports: len(w.leaving[node]), Book: c.Hosts, Routes: sc.Routes,
		Clock: sc.Clock, Rates: w.rates, Counted: c.Counted, Queues: queues, MaxFrame: c.MaxFrame, Framing: c.Framing,
		Random: func(entity string) unit.Random { return unit.NewRandom(c.Seed, "switch "+name+" "+entity) },
		Place:  func() (*dataplane.Place, error) { return w.place(node) },
	}
	var numbers []dataplane.Number
	var hashes unit.Random // of schedulers that place flows by a hash
	for _, i := range w.leaving[node] {
		l := &w.Links[i]
		var s tm.Scheduler
		switch {
		case sc.Scheduler != nil:
			var err error
			if s, err = sc.Scheduler(queues, l.Rate); err != nil {
				return nil, fmt.Errorf("switch %s: %w", name, err)
			}
		case queues == 1:
			s = tm.NewFIFO()
		default:
			s = tm.NewStrict()
		}
		if x, ok := s.(tm.Seeded); ok {
			if hashes.Rand == nil {
				hashes = unit.NewRandom(c.Seed, "switch "+name+" flow queues")
			}
			x.Seed(uint32(hashes.Uint64()))
		}
		buffer := n.Links[w.Directions[i].Link].Buffer
		total := tm.Limit{Packets: buffer.Packets, Bytes: buffer.Bytes}
		w.ports[i] = tm.NewPort(tm.NewBuffer(queues, sc.QueueLimit, total), s, l.Rate)
		site.At = append(site.At, w.ports[i])
		site.Lines = append(site.Lines, dataplane.Line{Rate: l.Rate, Delay: l.Delay + l.Jitter, To: n.Nodes[l.To].Name})
		numbers = append(numbers, dataplane.Number{Out: i, In: i ^ 1})
	}
	var programs []dataplane.Program
	if sc.Programs != nil {
		var err error
		if programs, err = sc.Programs(site); err != nil {
			return nil, fmt.Errorf("switch %s: %w", name, err)
		}
	}
	sw, err := dataplane.New(dataplane.Config{
		Name: name, ID: node, Ports: site.At, Programs: append(programs, more...), Pool: c.Pool, Book: c.Hosts,
		Random: unit.NewRandom(c.Seed, "switch "+name), Recirculation: sc.Recirculation, MinFrame: c.MinFrame,
		Observer: c.Observer, Numbers: numbers, OnPFC: onPFC,
	})
	w.Switches[node] = sw
	return sw, err
}

// place finds where a switch is in the fat tree, if the network is one.
func (w *Wiring) place(node int) (*dataplane.Place, error) {
	c, tree := &w.config, w.config.Tree
	if tree == nil {
		if tree = w.tree; tree == nil {
			var err error
			if tree, err = c.Network.Tree(); err != nil {
				return nil, err
			}
			w.tree = tree
		}
	}
	if w.leafOf == nil {
		w.leafOf = tree.LeafOf()
	}
	p := &dataplane.Place{Tiers: tree.Tiers, Tier: int(tree.Tier[node]), Up: tree.Up[node], Down: tree.Down[node],
		Above: tree.Above(node), Leaf: w.leafOf, Leaves: len(tree.Leaves())}
	if c.Tree != nil {
		p.All = c.Prefixes.All
		for _, d := range tree.DownRoutes(node, c.Prefixes, c.Hosts) {
			p.Routes = append(p.Routes, dataplane.Route{Prefix: d.Prefix, Ports: []packet.PortID{d.Port}})
		}
	}
	return p, nil
}

// Event is what happens to a link, in both directions, before anything else at its
// time. What is on the wire arrives; what is put onto a link that is down is lost.
type Event struct {
	At   unit.Time     // in the experiment's time
	Link int           // index into Network.Links
	Rate unit.LinkRate // the new rate, if it has one
	Down bool          // else: the link goes down, or comes up
}

// Happen carries an event out. All that is before it must have been carried out, and
// nothing after it.
func (w *Wiring) Happen(f *fabric.Fabric, e *Event) {
	for i := 2 * e.Link; i < 2*e.Link+2; i++ {
		if e.Rate == (unit.LinkRate{}) {
			f.SetDown(i, e.Down)
			w.ports[i].SetDown(e.Down)
			continue
		}
		f.SetRate(i, e.Rate)
		w.ports[i].SetRate(e.Rate)
	}
}
