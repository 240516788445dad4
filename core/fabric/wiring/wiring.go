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
	Switches []SwitchConfig // one a node of Network; ignored for hosts
	Hosts    *packet.Book   // Addr of node i is i+1
	// Tree is the network as a fat tree whose hosts have addresses from Prefixes, according to Hosts; nil:
	// it is not one, or they do not.
	Tree     *topology.Tree
	Prefixes topology.Prefixes
	Events   []Event        // ascending by time
	Framing  packet.Framing // by which switches size the frames that they make
	// MaxFrame is the length of the largest frame in bytes; 0: unknown. In the lab it follows from the
	// hosts' MTU.
	MaxFrame  int32
	Telemetry *telemetry.Format // in which switches write it; nil: no switch writes any
	// Restarts says that random draws can begin anew (Wiring.Restart).
	Restarts bool
}

// Check returns an error if the configuration is impossible.
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

	config  *Config
	leaving [][]int32  // by node and port, index into Links
	ports   []*tm.Port // by Directions
	rates   []unit.Rate
	tree    *topology.Tree // of networks with flat addresses, if a program asks
	noTree  error          // why the network is not a tree, likewise
	leafOf  []int32        // Tree.LeafOf, likewise
	trip    unit.Time      // through the tree, likewise
	streams unit.Streams   // with Config.Restarts, all that were given out
}

// New numbers the ports of a topology, at each node in the order of its links, and makes the links with
// their random streams.
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
			if w.free(i, e) {
				rate = unspaced
			}
			w.Links = append(w.Links, fabric.Link{
				From: from, To: to, FromPort: at[e], ToPort: at[1-e],
				Rate: rate, Delay: l.Delay, Jitter: l.Jitter, Loss: l.Loss, Spaced: l.Spaced,
				Random: w.stream("link " + n.PortName(i, e)),
			})
			w.Directions = append(w.Directions, Direction{i, e, from, at[e], n.Nodes[from].Switch})
		}
	}
	return w
}

// stream is that of random numbers of an entity.
func (w *Wiring) stream(entity string) unit.Random {
	if w.config.Restarts {
		return w.streams.New(w.config.Seed, entity)
	}
	return unit.NewRandom(w.config.Seed, entity)
}

// Restart has the random draws of links and switches begin anew.
func (w *Wiring) Restart() {
	w.streams.Restart()
	for _, sw := range w.Switches {
		if sw != nil {
			sw.Redraw()
		}
	}
}

// unspaced is at what rate hosts send onto links that are spaced: BMv2's rates are those of switch ports.
var unspaced = unit.LinkRate{Bits: 100 * unit.Gbps}

// free reports whether end e of a link is that of a host which is not held back.
func (w *Wiring) free(link, e int) bool {
	l := &w.config.Network.Links[link]
	return l.Spaced && !w.config.Network.Nodes[l.Ends[e]].Switch
}

// Leaving returns the links that leave a node, by port, as indices into Links.
func (w *Wiring) Leaving(node int) []int32 { return w.leaving[node] }

// Attach says that p is a port of a host: a NIC of it.
func (w *Wiring) Attach(host, port int, p *tm.Port) {
	if port < len(w.leaving[host]) { // a host without a link has a NIC all the same
		w.ports[w.leaving[host][port]] = p
	}
}

// Port returns the port at which direction i begins; nil before its node was made.
func (w *Wiring) Port(i int) *tm.Port { return w.ports[i] }

// Event is a change to a link, in both directions or in one, before anything else at its time. Frames on the wire
// arrive; frames put onto a link that is down are lost.
type Event struct {
	At   unit.Time     // in the experiment's time
	Link int           // index into Network.Links
	Rate unit.LinkRate // the new rate, if it has one
	Down bool          // else: the link goes down, or comes up
	One  uint8         // 1 + the end that the only direction which it is about leaves; 0: both
}

// about reports whether the event is about the direction that leaves an end.
func (e *Event) about(end int) bool { return e.One == 0 || int(e.One) == 1+end }

// Rated reports whether the event is about the link's rate.
func (e *Event) Rated() bool { return e.Rate != unit.LinkRate{} }

// Rates returns the bit rates of a network's links, ascending, and then those that events give to links and that no
// link has at first, in the order of the events.
func Rates(n *topology.Network, events []Event) []unit.Rate {
	rates := n.Rates()
	for i := range events {
		if r := events[i].Rate.Bits; r > 0 && !slices.Contains(rates, r) {
			rates = append(rates, r)
		}
	}
	return rates
}

// HappenFirst applies the events at time 0 to Links, switches and ports. Call it when these exist and before the fabric
// is made from Links, so that no packet and no choice of a NIC precedes them. It returns the events that follow.
func (w *Wiring) HappenFirst() []Event {
	events := w.config.Events
	for len(events) > 0 && events[0].At <= 0 {
		e := &events[0]
		for i := 2 * e.Link; i < 2*e.Link+2; i++ {
			switch l := &w.Links[i]; {
			case !e.about(i & 1):
			case !e.Rated():
				l.Down = e.Down
				w.setDown(i, e.Down, 0)
			case !w.free(e.Link, i&1):
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

// Happen applies an event. Everything before it must have been carried out, and nothing after it.
func (w *Wiring) Happen(f *fabric.Fabric, e *Event, now unit.Time) {
	for i := 2 * e.Link; i < 2*e.Link+2; i++ {
		if !e.about(i & 1) {
			continue
		}
		if !e.Rated() {
			f.SetDown(i, e.Down)
			w.setDown(i, e.Down, now)
			continue
		}
		if w.free(e.Link, i&1) {
			continue
		}
		f.SetRate(i, e.Rate, now)
		w.ports[i].SetRate(e.Rate)
	}
}
