package wiring

import (
	"fmt"
	"slices"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/fabric"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/unit"
)

// Config configures the links and switches of a run, in either world.
type Config struct {
	Seed     uint64
	Network  *topology.Network
	Switches []SwitchConfig // by node of Network; ignored for hosts
	Hosts    *packet.Book   // Addr of node i is i+1
	// Tree is the network as a fat tree with hosts that have addresses from Prefixes, according to Hosts; nil otherwise.
	Tree     *topology.Tree
	Prefixes topology.Prefixes
	Events   []Event        // ascending by time
	Framing  packet.Framing // by which switches size the frames that they make
	// MaxFrame is the length of the largest frame in bytes; 0: unknown. In the lab it follows from the hosts' MTU.
	MaxFrame  int32
	Telemetry *telemetry.Format // format in which switches write telemetry; nil: no switch writes any
	// Restarts means that random streams can restart (Wiring.Restart).
	Restarts bool
}

// Check returns an error if the configuration is impossible: another number of switch configurations than of nodes, or
// events that are out of order or of no link.
func (c *Config) Check() error {
	n := c.Network
	if len(c.Switches) != len(n.Nodes) {
		return fmt.Errorf("%d switch configurations for %d nodes", len(c.Switches), len(n.Nodes))
	}
	last := unit.Time(0)
	for _, e := range c.Events {
		if e.At < last || e.Link < 0 || e.Link >= len(n.Links) {
			return fmt.Errorf("an event at %v, after one at %v, of link %d of %d", e.At, last, e.Link, len(n.Links))
		}
		last = e.At
	}
	return nil
}

// Direction is one direction of a topology link: link 2·Link + End of the fabric, and the port where it begins.
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

	config  *Config
	leaving [][]int32  // by node and port, index into Links
	ports   []*tm.Port // by Directions
	rates   []unit.Rate
	tree    *topology.Tree // of networks with flat addresses, computed on demand
	noTree  error          // why the network is not a tree, computed with tree
	leafOf  []int32        // Tree.LeafByAddress, computed on demand
	trip    unit.Time      // through the tree, computed on demand
	streams unit.Streams   // with Config.Restarts, all streams in use
}

// New numbers the ports of a topology, at each node in the order of its links, and makes the links with their random
// streams. c must pass Check, and must not change afterwards.
func New(c *Config) *Wiring {
	n := c.Network
	w := &Wiring{
		config: c, rates: Rates(n, c.Events), Switches: make([]*dataplane.Switch, len(n.Nodes)),
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
			rate := l.Rate
			if w.isUnlimited(i, e) {
				rate = unspacedRate
			}
			w.Links = append(w.Links, fabric.Link{
				From: from, To: to, FromPort: at[e], ToPort: at[1-e],
				Rate: rate, Delay: l.Delay, Jitter: l.Jitter, Loss: l.Loss, Spaced: l.Spaced,
				Random: w.newStream("link " + n.PortName(i, e)),
			})
			w.Directions = append(w.Directions, Direction{i, e, from, at[e], n.Nodes[from].Switch})
		}
	}
	return w
}

// newStream returns the random stream of an entity, by the run's seed. With Config.Restarts it can restart.
func (w *Wiring) newStream(entity string) unit.Random {
	if w.config.Restarts {
		return w.streams.NewStream(w.config.Seed, entity)
	}
	return unit.NewRandom(w.config.Seed, entity)
}

// Restart restarts the random streams of links and switches. Config.Restarts must be set.
func (w *Wiring) Restart() {
	w.streams.RestartAll()
	for _, sw := range w.Switches {
		if sw != nil {
			sw.Redraw()
		}
	}
}

// unspacedRate is the rate at which hosts send onto spaced links: BMv2's rates are rates of switch ports.
var unspacedRate = unit.LinkRate{Bits: 100 * unit.Gbps}

// isUnlimited reports whether end e of a link is a host's end, which sends at full rate onto a spaced link.
func (w *Wiring) isUnlimited(link, e int) bool {
	l := &w.config.Network.Links[link]
	return l.Spaced && !w.config.Network.Nodes[l.Ends[e]].Switch
}

// LinksFrom returns the links that leave a node, as indices into Links. Element p is the link of port p. The caller
// must not change the slice.
func (w *Wiring) LinksFrom(node int) []int32 { return w.leaving[node] }

// AttachNIC sets the port of a host: a NIC. It has no effect for a port without a link.
func (w *Wiring) AttachNIC(host, port int, p *tm.Port) {
	if port < len(w.leaving[host]) { // a host without a link still has a NIC
		w.ports[w.leaving[host][port]] = p
	}
}

// Port returns the port at which direction i begins; nil before its node was made.
func (w *Wiring) Port(i int) *tm.Port { return w.ports[i] }

// Event is a change to a link, in both directions or in one. It comes before anything else at its time. Frames on the
// wire arrive; frames sent on a link that is down are lost.
type Event struct {
	At      unit.Time     // in the experiment's time
	Link    int           // index into Network.Links
	Rate    unit.LinkRate // new rate; zero: the event is about Down
	Down    bool          // without a rate: the link goes down, or comes up
	OnlyEnd uint8         // 1 + the end at which the only affected direction begins; 0: both directions
}

// affects reports whether the event affects the direction that begins at an end.
func (e *Event) affects(end int) bool { return e.OnlyEnd == 0 || int(e.OnlyEnd) == 1+end }

// ChangesRate reports whether the event changes the link's rate.
func (e *Event) ChangesRate() bool { return e.Rate != unit.LinkRate{} }

// Rates returns the bit rates of a network's links, ascending, followed by the additional rates of events, in the
// order of the events.
func Rates(n *topology.Network, events []Event) []unit.Rate {
	rates := n.Rates()
	for i := range events {
		if r := events[i].Rate.Bits; r > 0 && !slices.Contains(rates, r) {
			rates = append(rates, r)
		}
	}
	return rates
}

// ApplyFirstEvents applies the events at time 0 to Links, switches and ports. Call it when these exist and before the
// fabric is made from Links, so that no packet and no choice of a NIC precedes them. It returns the later events. The
// rate of a host's end of a spaced link does not change.
func (w *Wiring) ApplyFirstEvents() []Event {
	events := w.config.Events
	for len(events) > 0 && events[0].At <= 0 {
		e := &events[0]
		for i := 2 * e.Link; i < 2*e.Link+2; i++ {
			switch l := &w.Links[i]; {
			case !e.affects(i & 1):
			case !e.ChangesRate():
				l.Down = e.Down
				w.setDown(i, e.Down, 0)
			case !w.isUnlimited(e.Link, i&1):
				l.Rate = e.Rate
				w.ports[i].SetRate(e.Rate)
			}
		}
		events = events[1:]
	}
	return events
}

// setDown notifies the node at which direction i begins of the direction's state.
func (w *Wiring) setDown(i int, down bool, now unit.Time) {
	if d := &w.Directions[i]; d.OfSwitch {
		w.Switches[d.Node].SetDown(now, d.Port, down)
	} else {
		w.ports[i].SetDown(down)
	}
}

// ApplyEvent applies an event at now. The network must have run all events before it, and no event after it. The rate
// of a host's end of a spaced link does not change.
func (w *Wiring) ApplyEvent(f *fabric.Fabric, e *Event, now unit.Time) {
	for i := 2 * e.Link; i < 2*e.Link+2; i++ {
		if !e.affects(i & 1) {
			continue
		}
		if !e.ChangesRate() {
			f.SetDown(i, e.Down)
			w.setDown(i, e.Down, now)
			continue
		}
		if w.isUnlimited(e.Link, i&1) {
			continue
		}
		f.SetRate(i, e.Rate, now)
		w.ports[i].SetRate(e.Rate)
	}
}
