package sim

import (
	"fmt"
	"math"

	"weir/core/fabric"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/unit"
)

// Edge is the hosts of a run without the network between them: what they send leaves at their NICs, and what comes in
// there comes from outside. A driver with a clock of its own has them take part in a network of real packets, as the
// lab does; hosts, endpoints and the order of events are those of any run.
//
// What a packet is known by outside are its bytes: addresses and ports say of which flow it is.
type Edge struct {
	*drive
	ports []*edgePort // by node; nil: none of the flows ends there
	flows map[tuple]packet.FlowID
	send  func(node int, now unit.Time, p *packet.Packet)
	over  bool
}

// NewEdge makes the hosts of a configuration's flows, but for those that others carry: carried says by flow whether
// these hosts have it; nil: they have all. send is given what a NIC begins to send, which is no longer the host's: it
// must come back by Return. An onset at a port is the world's to see: Result.Changes and JudgeOnset give its result.
// Links, switches and events are the world's: of Wiring only the rates of hosts' links count. Watches may be of flows
// only.
func NewEdge(c *Config, carried []bool, send func(node int, now unit.Time, p *packet.Packet)) (*Edge, error) {
	if c.Duration <= 0 || c.Warmup < 0 || c.Warmup >= c.Duration {
		return nil, fmt.Errorf("sim: a warm-up of %v and a duration of %v: the warm-up must end before the run does",
			c.Warmup, c.Duration)
	}
	for i, w := range c.Watches {
		if !w.What.OfFlow() || w.Index < 0 || w.Index >= len(c.Flows) {
			return nil, fmt.Errorf("sim: watch %d is not of a flow of these hosts", i)
		}
	}
	if len(c.Jobs) > 0 {
		return nil, fmt.Errorf("sim: jobs are carried out by the simulator alone")
	}
	if c.Trace != nil || c.OnPFC != nil || c.Stalls.Length > 0 || len(c.Wiring.Events) > 0 {
		return nil, fmt.Errorf("sim: traces, pauses, stalls and events are of a network, and these hosts have none")
	}
	n := len(c.Wiring.Network.Nodes)
	r := &Simulation{config: c, nics: c.Wiring.Network.NICs(), hosts: make([]*host, n), threadOf: make([]int32, n),
		carried: carried, threads: []*thread{{log: make([][]outcome.Change, len(c.Onsets))}}}
	e := &Edge{drive: &drive{Simulation: r}, ports: make([]*edgePort, n), send: send, flows: r.tuples()}
	nodes, links, err := e.network()
	if err != nil {
		return nil, err
	}
	if err := r.addFlows(); err != nil {
		return nil, err
	}
	r.nextSweep = math.MaxInt // a packet that is outside may still come
	r.addWatches()
	r.observe()
	if r.observation != nil {
		r.observation.apart = true
	}
	r.fabric, err = fabric.New(fabric.Config{Nodes: nodes, Hosts: hostNodes(nodes), Links: links, Pool: &r.threads[0].pool,
		Window: c.shortest()})
	if err != nil {
		return nil, err
	}
	r.gather()
	e.drive = r.newDrive()
	e.nextLook = unit.Never // for what only a network can tell: the hosts wait for it
	return e, nil
}

// network makes the hosts at which flows end, each with a link to a door and one back. A frame comes to the door when
// its first bit leaves: how long it takes is the matter of the link outside.
func (e *Edge) network() (nodes []fabric.Node, links []fabric.Link, err error) {
	c := e.config
	ends := make([]bool, len(e.hosts))
	for i := range c.Flows {
		f := &c.Flows[i]
		for _, node := range [2]int{f.Src, f.Dst} {
			if node < 0 || node >= len(ends) || c.Wiring.Network.Nodes[node].Switch {
				return nil, nil, fmt.Errorf("sim: flow %d goes from node %d to node %d; both must be hosts", i, f.Src, f.Dst)
			}
			ends[node] = ends[node] || e.carries(i)
		}
	}
	for node, is := range ends {
		if !is {
			continue
		}
		rate, n := unit.LinkRate{}, 0
		for _, l := range c.Wiring.Network.Links {
			if l.Ends[0] == node || l.Ends[1] == node {
				rate, n = l.Rate, n+1
			}
		}
		if n != 1 {
			return nil, nil, fmt.Errorf("sim: host %s has %d links; a host has one NIC", c.Wiring.Network.Nodes[node].Name, n)
		}
		h := newHost(e.Simulation, node, rate)
		d := &edgePort{edge: e, node: node, number: len(nodes) + 1}
		d.wants.Timer = unit.Never
		e.hosts[node], e.ports[node] = h, d
		links = append(links, fabric.Link{From: len(nodes), To: len(nodes) + 1, Rate: rate, Spaced: true},
			fabric.Link{From: len(nodes) + 1, To: len(nodes), Rate: unit.LinkRate{Packets: oneAPicosecond}})
		nodes = append(nodes, h, d)
	}
	return nodes, links, nil
}

// outside is how long hosts without a network wait for what nobody answers, once all senders have ended.
const outside = unit.Second

// shortest is the shortest delay of a link that has one, as which a run is cut when all is done; 0: there is none.
func (c *Config) shortest() (least unit.Time) {
	for i := range c.Wiring.Network.Links {
		if d := c.Wiring.Network.Links[i].Delay; d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// A frame takes exactly so long from a door to its host, at this rate.
const (
	atOnce         unit.Time       = 1
	oneAPicosecond unit.PacketRate = 1e12
)

// Enter carries out all that happens before now, and gives a frame that has come in then to the host of a node. Frames
// come in the order of their times; one that comes behind what has happened already comes now. Enter reports whether
// the frame is of one of the flows; a pause is of all of them.
func (e *Edge) Enter(now unit.Time, node int, frame []byte) bool {
	now -= atOnce
	d := e.ports[node]
	if !e.Advance(now) || d == nil {
		return false
	}
	now = max(now, e.now)
	p := e.threads[0].pool.Get()
	if err := p.Parse(e.config.Wiring.Hosts, frame); err != nil {
		e.threads[0].pool.Put(p)
		return false
	}
	p.Data = nil // what p has of the frame are copies
	p.Size, p.Sent = e.config.Wiring.Framing.Frame(int32(len(frame)), 0, false), now+atOnce
	if p.Kind != packet.Pause && p.Kind != packet.Resume {
		flow, ours := e.flows[tuple{p.Src, p.Dst, p.SrcPort, p.DstPort}]
		if !ours {
			e.threads[0].pool.Put(p)
			return false
		}
		p.Flow = flow
	}
	d.arrived = append(d.arrived, p)
	d.wants.Wake(0)
	e.fabric.Wake(d.number, now)
	return true
}

// Return takes back a packet that send was given.
func (e *Edge) Return(p *packet.Packet) { e.threads[0].pool.Put(p) }

// Advance carries out all that happens before until, and reports whether the run goes on.
func (e *Edge) Advance(until unit.Time) bool {
	for e.limit = until; !e.over && e.now < min(until, e.end); {
		e.over = !e.step()
	}
	e.over = e.over || e.now >= e.end
	return !e.over
}

// Next is when there is something to do if nothing comes in.
func (e *Edge) Next() unit.Time {
	if e.over {
		return unit.Never
	}
	next := min(e.fabric.Next(), e.nextSample, e.end)
	if !e.warm {
		next = min(next, e.config.Warmup)
	}
	return next
}

// Now is the time before which everything has happened.
func (e *Edge) Now() unit.Time { return e.now }

// Err says which endpoint could not be made.
func (e *Edge) Err() error { return e.failure() }

// Result ends the run, where it has not ended, at the time up to which it has come.
func (e *Edge) Result() *outcome.Result {
	if !e.over {
		e.reason = outcome.Interrupted
	}
	if !e.warm {
		e.measure()
	}
	out := &outcome.Result{End: e.reason, Time: e.now, Measured: max(e.now-e.config.Warmup, 0), Events: e.fabric.Events(),
		Watched: e.watched}
	e.flowResults(out)
	if e.observation != nil {
		e.observation.result(out, outcome.Notices{}, &wiring.CounterSnapshot{}, &wiring.CounterSnapshot{})
	}
	return out
}

// strays counts the packets that no endpoint has taken.
func (e *Edge) strays() (n uint64) {
	for _, h := range e.hosts {
		if h != nil {
			n += h.unexpected
		}
	}
	return n
}

// edgePort is the other end of a host's link: it passes packets between the host and the driver of an Edge. It
// implements fabric.Node.
type edgePort struct {
	edge    *Edge
	node    int
	number  int // its number in the fabric
	arrived []*packet.Packet
	next    int // in arrived
	wants   packet.Wants
}

func (d *edgePort) Receive(now unit.Time, _ packet.PortID, p *packet.Packet) {
	d.edge.send(d.node, now, p)
}

func (d *edgePort) Dequeue(now unit.Time, _ packet.PortID) (*packet.Packet, unit.Time) {
	if d.next == len(d.arrived) {
		return nil, unit.Never
	}
	p := d.arrived[d.next]
	if d.next++; d.next < len(d.arrived) {
		return p, now
	}
	d.arrived, d.next = d.arrived[:0], 0
	return p, unit.Never
}

func (d *edgePort) Advance(unit.Time) {}

func (d *edgePort) Wants() *packet.Wants { return &d.wants }

// carries reports whether the hosts of this run have a flow.
func (r *Simulation) carries(flow int) bool { return r.carried == nil || r.carried[flow] }
