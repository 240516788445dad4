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

// Edge is the hosts of a run without the network between them. Packets that they send leave at their NICs, and packets
// that arrive there come from outside. A driver with its own clock connects them to a network of real packets, as the
// lab does. Hosts, endpoints and the order of events are the same as in any run.
//
// Outside, a packet is identified by its bytes: addresses and ports determine its flow.
type Edge struct {
	*drive
	ports []*edgePort // by node; nil: no flow ends there
	flows map[tuple]packet.FlowID
	send  func(node int, now unit.Time, p *packet.Packet)
	over  bool
}

// NewEdge makes the hosts of a configuration's flows. carried reports by flow whether these hosts have it; nil: they
// have all. send gets each packet that a NIC of a node begins to send; the driver must give it back by ReturnPacket.
// The driver detects onsets at ports: Result.Changes and JudgeOnset give their results. Links, switches and events are
// outside: of Wiring only the rates of hosts' links are used. It fails for watches that are not of flows, and for jobs,
// traces, pauses, stalls and events.
func NewEdge(c *Config, carried []bool, send func(node int, now unit.Time, p *packet.Packet)) (*Edge, error) {
	if c.Duration <= 0 || c.Warmup < 0 || c.Warmup >= c.Duration {
		return nil, fmt.Errorf("sim: a warm-up of %v and a duration of %v; the warm-up must end before the run",
			c.Warmup, c.Duration)
	}
	for i, w := range c.Watches {
		if !w.What.OfFlow() || w.Index < 0 || w.Index >= len(c.Flows) {
			return nil, fmt.Errorf("sim: watch %d is not of a flow of these hosts", i)
		}
	}
	if len(c.Jobs) > 0 {
		return nil, fmt.Errorf("sim: jobs run only in the simulator")
	}
	if c.Trace != nil || c.OnPFC != nil || c.Stalls.Length > 0 || len(c.Wiring.Events) > 0 {
		return nil, fmt.Errorf("sim: traces, pauses, stalls and events require a network, which these hosts do not have")
	}
	n := len(c.Wiring.Network.Nodes)
	r := &Simulation{config: c, nics: c.Wiring.Network.NICs(), hosts: make([]*host, n), threadOf: make([]int32, n),
		carried: carried, threads: []*thread{{log: make([][]outcome.Change, len(c.Onsets))}}}
	e := &Edge{drive: &drive{Simulation: r}, ports: make([]*edgePort, n), send: send, flows: r.flowTuples()}
	nodes, links, err := e.makeNetwork()
	if err != nil {
		return nil, err
	}
	if err := r.addFlows(); err != nil {
		return nil, err
	}
	r.nextSweep = math.MaxInt // a packet that is outside may still arrive
	r.addWatches()
	r.startObservation()
	if r.observation != nil {
		r.observation.apart = true
	}
	r.fabric, err = fabric.New(fabric.Config{Nodes: nodes, Hosts: hostNodes(nodes), Links: links, Pool: &r.threads[0].pool,
		Window: c.shortestLinkDelay()})
	if err != nil {
		return nil, err
	}
	r.gatherThreads()
	e.drive = r.newDrive()
	e.nextLook = unit.Never // only a network can detect deadlocks: the hosts wait for it
	return e, nil
}

// makeNetwork makes the hosts at which flows end, each with a link to an edgePort and one back, and adds them to e. A
// frame arrives at the edgePort when its first bit leaves: the link outside has the time of the frame. It fails for
// flows that do not join two hosts, and for hosts without exactly one link.
func (e *Edge) makeNetwork() (nodes []fabric.Node, links []fabric.Link, err error) {
	c := e.config
	ends := make([]bool, len(e.hosts))
	for i := range c.Flows {
		f := &c.Flows[i]
		for _, node := range [2]int{f.Src, f.Dst} {
			if node < 0 || node >= len(ends) || c.Wiring.Network.Nodes[node].Switch {
				return nil, nil, fmt.Errorf("sim: flow %d goes from node %d to node %d; both must be hosts", i, f.Src, f.Dst)
			}
			ends[node] = ends[node] || e.hasFlow(i)
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

// outside is the time for which hosts without a network wait for packets without answers after all senders have ended.
const outside = unit.Second

// shortestLinkDelay returns the shortest delay of a link that has one, after which a run is cut when all is done; 0: no
// delay.
func (c *Config) shortestLinkDelay() (shortest unit.Time) {
	for i := range c.Wiring.Network.Links {
		if d := c.Wiring.Network.Links[i].Delay; d > 0 && (shortest == 0 || d < shortest) {
			shortest = d
		}
	}
	return shortest
}

// atOnce is the time that a frame takes from an edgePort to its host, at the rate oneAPicosecond.
const (
	atOnce         unit.Time       = 1
	oneAPicosecond unit.PacketRate = 1e12
)

// DeliverFrame executes all events before now, and gives a frame that has arrived at that time to the host of a node.
// Frames must arrive in the order of their times; a late one arrives at the current time. DeliverFrame reports whether
// the frame is of one of the flows; a pause is of all of them. It also returns false for frames that it cannot parse,
// for nodes without flows, and after the end. It does not keep the frame.
func (e *Edge) DeliverFrame(now unit.Time, node int, frame []byte) bool {
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
	p.Data = nil // p has copies of the frame's fields
	p.Size, p.Sent = e.config.Wiring.Framing.FrameBytes(int32(len(frame)), 0, false), now+atOnce
	if p.Kind != packet.Pause && p.Kind != packet.Resume {
		flow, ours := e.flows[tuple{p.Src, p.Dst, p.SrcPort, p.DstPort}]
		if !ours {
			e.threads[0].pool.Put(p)
			return false
		}
		p.Flow = flow
	}
	d.arrived = append(d.arrived, p)
	d.wants.WakePort(0)
	e.fabric.WakeNode(d.number, now)
	return true
}

// ReturnPacket takes back a packet that send got. The driver must not use it afterwards.
func (e *Edge) ReturnPacket(p *packet.Packet) { e.threads[0].pool.Put(p) }

// Advance executes all events before until, but not beyond the run's duration, and reports whether the run continues.
// An earlier until than the last one has no effect.
func (e *Edge) Advance(until unit.Time) bool {
	for e.limit = until; !e.over && e.now < min(until, e.end); {
		e.over = !e.runStep()
	}
	e.over = e.over || e.now >= e.end
	return !e.over
}

// Next returns the time of the next event or sample, or of the end, if no packet arrives; unit.Never if the run is
// over.
func (e *Edge) Next() unit.Time {
	if e.over {
		return unit.Never
	}
	next := min(e.fabric.NextEvent(), e.nextSample, e.end)
	if !e.warm {
		next = min(next, e.config.Warmup)
	}
	return next
}

// Now returns the time before which all events have happened.
func (e *Edge) Now() unit.Time { return e.now }

// Err returns the error of an endpoint that could not be made; nil: there is no error.
func (e *Edge) Err() error { return e.firstFailure() }

// Result ends the run, if it has not ended, at its current time, and returns its result: of flows, watches and
// observations. It must be called once.
func (e *Edge) Result() *outcome.Result {
	if !e.over {
		e.reason = outcome.Interrupted
	}
	if !e.warm {
		e.beginMeasured()
	}
	out := &outcome.Result{End: e.reason, Time: e.now, Measured: max(e.now-e.config.Warmup, 0),
		Events:  e.fabric.CountEvents(),
		Watched: e.watched}
	e.flowResults(out)
	if e.observation != nil {
		e.observation.addResult(out, outcome.Notices{}, &wiring.CounterSnapshot{}, &wiring.CounterSnapshot{})
	}
	return out
}

// countStrays returns the number of packets that arrived at a host and for which it had no endpoint.
func (e *Edge) countStrays() (n uint64) {
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
	wants   packet.NodeRequests
}

// Receive passes a packet of the host to the driver.
func (d *edgePort) Receive(now unit.Time, _ packet.PortID, p *packet.Packet) {
	d.edge.send(d.node, now, p)
}

// Dequeue returns the next packet that has arrived from outside, nil without one, and when to call again.
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

// Advance has no effect: an edgePort has no timer.
func (d *edgePort) Advance(unit.Time) {}

// Wants returns the wakes that the port asks for.
func (d *edgePort) Wants() *packet.NodeRequests { return &d.wants }

// hasFlow reports whether the hosts of this run have a flow.
func (r *Simulation) hasFlow(flow int) bool { return r.carried == nil || r.carried[flow] }
