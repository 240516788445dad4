package fabric

import (
	"fmt"
	"iter"

	"weir/core/fabric/timerheap"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// Link is one direction of a cable: it carries the packets of port FromPort of node From to port ToPort of node To.
type Link struct {
	From, To         int
	FromPort, ToPort packet.PortID
	Rate             unit.LinkRate
	Delay            unit.Time // propagation, ≥ 0
	Jitter           unit.Time // added to Delay: uniform in [0, Jitter]; frames are never reordered
	Loss             float64   // probability that a frame is lost after it was sent, in [0, 1)
	Spaced           bool      // a frame leaves at once, and the next one only after the frame's time
	Random           unit.Random
	Down             bool // down from the start: it loses all frames (SetDown)
}

// LinkCounters are the counters of a link since the start.
type LinkCounters struct {
	Sent, Lost uint64 // frames
	LostBytes  uint64
	Down       uint64 // part of Lost: frames that were sent while it was down
}

// Config is a network: its nodes and the directed links between them. Each port of a node has at most one link out and
// one link in.
type Config struct {
	Nodes []Node
	// Hosts marks the nodes where packets end, by node; nil: no hosts. Hosts read more of a packet than switches, so the
	// fabric prefetches more for them (packet.TouchEnd). It changes speed only.
	Hosts []bool
	Links []Link
	Pool  *packet.Pool // receives the packets that links lose; of part 0
	// Window is the length of execution windows; 0 means the shortest delay above 0. Nodes joined by shorter links form
	// one group. It changes speed only.
	Window unit.Time
	// Wire, if given, is called for every packet that is about to arrive. In the simulator's wire mode it serialises and
	// parses the packet.
	Wire func(p *packet.Packet)
	// Observer, if given, receives an event when links transmit, lose and deliver a packet. These events have a link's
	// index as the port and no queue. It is the observer of part 0.
	Observer trace.Observer

	// MoreParts are the parts 1, 2, … of a fabric that several threads run. PartOf has each node's part; nil: part 0 has
	// all nodes. Nodes of one group (GroupNodes) must be in the same part.
	MoreParts []Part
	PartOf    []int32
	// RunParts, if given, calls run for each part, possibly in parallel, and returns when all calls have returned; nil:
	// the parts run one after another. The results are the same.
	RunParts func(run func(part int))
}

// Part has the resources of one part's nodes, which parts do not share.
type Part struct {
	Pool     *packet.Pool
	Observer trace.Observer
}

// kind orders events at the same time: port free < NIC wake < arrival < timer (docs/design.md#bytes-queues-order). As
// "free" comes first, an arrival at the instant at which the port becomes free sees the same queue whether or not the
// free event was armed. The key of an event is its kind with the number of the port, link or node. It is unique among
// the pending events of one time, and does not depend on the order of scheduling.
type kind uint64

const (
	portFree kind = iota << 60
	nicWake
	arrival
	timer
	kindMask kind = 3 << 60
)

// Ports, wires, groups and members are padded to whole cache lines, because neighbours in memory may belong to
// different threads.

// port is the sending half of a link, in one cache line. Rarely used fields are in its extra.
type port struct {
	freeAt  unit.Time // end of the frame that is being sent
	armedAt unit.Time // pending port event, or Never
	last    unit.Time // latest arrival at the other end
	delay   unit.Time
	perByte unit.Time // time of a byte (unit.Serialiser.TimePerByte); 0: see extra.ser
	sent    uint64    // LinkCounters.Sent
	wire    *wire
	link    int32
	out     packet.PortID
	special bool // loss, jitter, down or an observer: see extra
	crosses bool // the two ends of the link are in different parts
}

// extra has the fields that only links with loss, jitter, events or rates without a whole time per byte need.
type extra struct {
	ser    unit.Serialiser
	from   *member
	loss   float64
	jitter unit.Time
	random unit.Random
	down   bool
	spaced bool
	rate   unit.LinkRate
	// lost is the time at which the last lost frame has left.
	lost    unit.Time
	victims victims // since it went down
	_       [24]byte
}

// member is the fabric's state of a node.
type member struct {
	node  Node
	wants *packet.NodeRequests
	ports []*port // by port of the node; nil: no link
	timer unit.Time
	group *group
	n     int32
	_     [56]byte
}

// group is a node, or the nodes that links shorter than the window join.
type group struct {
	nextAt *unit.Time // in part.nextAt: its earliest event
	part   *part
	wires  []*wire // links that end here
	// single is the group's only node; nil: it has several. With one node, port events are in due, and arrivals only on
	// their wires. With several, all events are in heap.
	single *member
	due    schedule
	heap   timerheap.Heap
	_      [40]byte
}

// Fabric is a running network.
type Fabric struct {
	members  []member
	ports    []port // by link
	wires    []wire
	extras   []extra
	counters []LinkCounters
	groups   []group
	parts    []*part
	window   unit.Time
	// stride is the maximum time that groups run between calls of stop: the window, or less. It changes speed only.
	stride               unit.Time
	minStride, maxStride unit.Time
	wireMode             func(p *packet.Packet)
	observed             bool
	delivers             bool // whether there is an observer or a wire mode

	together func(run func(part int))
	run      func(part int) // runs the window of a part, up to end
	end      unit.Time
	turn     int // alternates between 0 and 1: the out-boxes that parts fill in this window
}

// New makes a network and serves every node's requests at time 0, which may send first packets. It returns an error if
// links or parts do not fit the nodes, or if a link's rate, delay, jitter or loss is out of range.
func New(c Config) (*Fabric, error) {
	f := &Fabric{
		wireMode: c.Wire, observed: c.Observer != nil, delivers: c.Observer != nil || c.Wire != nil, together: c.RunParts,
		members: make([]member, len(c.Nodes)), ports: make([]port, len(c.Links)), wires: make([]wire, len(c.Links)),
		extras: make([]extra, len(c.Links)), counters: make([]LinkCounters, len(c.Links)),
	}
	f.window = windowOf(c.Links, c.Window)
	f.run = f.runPart
	for n, node := range c.Nodes {
		f.members[n] = member{node: node, timer: unit.Never, n: int32(n)}
	}
	in := map[[2]int]bool{}
	for i, l := range c.Links {
		switch {
		case l.From < 0 || l.From >= len(c.Nodes) || l.To < 0 || l.To >= len(c.Nodes):
			return nil, fmt.Errorf("fabric: link %d joins nodes %d and %d, there are %d", i, l.From, l.To, len(c.Nodes))
		case (l.Rate.Bits > 0) == (l.Rate.Packets > 0) || l.Rate.Bits < 0 || l.Rate.Packets < 0:
			return nil, fmt.Errorf("fabric: link %d: exactly one of bit/s and packets/s must be above 0", i)
		case l.Delay < 0 || l.Jitter < 0 || l.Delay > unit.Never/4 || l.Jitter > unit.Never/4 || !(l.Loss >= 0 && l.Loss < 1):
			return nil, fmt.Errorf("fabric: link %d: delay %d ps, jitter %d ps or loss %g out of range", i, l.Delay,
				l.Jitter, l.Loss)
		case in[[2]int{l.To, int(l.ToPort)}]:
			return nil, fmt.Errorf("fabric: two links end at port %d of node %d", l.ToPort, l.To)
		}
		in[[2]int{l.To, int(l.ToPort)}] = true
		from, to := &f.members[l.From], &f.members[l.To]
		for len(from.ports) <= int(l.FromPort) {
			from.ports = append(from.ports, nil)
		}
		if from.ports[l.FromPort] != nil {
			return nil, fmt.Errorf("fabric: two links leave port %d of node %d", l.FromPort, l.From)
		}
		from.ports[l.FromPort] = &f.ports[i]
		f.ports[i] = port{armedAt: unit.Never, freeAt: -1, last: -1, delay: l.Delay, wire: &f.wires[i], link: int32(i),
			out: l.FromPort}
		f.wires[i] = wire{to: to, link: int32(i), in: l.ToPort, ends: l.To < len(c.Hosts) && c.Hosts[l.To]}
		f.extras[i] = extra{from: from, loss: l.Loss, jitter: l.Jitter, random: l.Random, lost: -1, spaced: l.Spaced}
		f.setRate(i, l.Rate)
		f.SetDown(i, l.Down)
	}
	f.makeGroups(c.Links)
	if err := f.makeParts(&c); err != nil {
		return nil, err
	}
	f.limitStride()
	for n := range f.members {
		m := &f.members[n]
		m.wants = m.node.Wants()
		m.wants.SetPortClocks(m.portClocks())
		f.serveWants(m, 0)
	}
	f.updateNext()
	return f, nil
}

// portClocks returns the times at which the ports of a node are free, for packet.NodeRequests.SetPortClocks. A port
// without a link has nil.
func (m *member) portClocks() (all []*unit.Time) {
	for _, pt := range m.ports {
		var at *unit.Time
		if pt != nil {
			at = &pt.freeAt
		}
		all = append(all, at)
	}
	return all
}

// makeGroups makes the groups, in the order of their first nodes. A group of one node also gets the event heap if a
// link leads from the node to itself, or if keys of arrivals do not fit.
func (f *Fabric) makeGroups(links []Link) {
	groupOf, groups := groupsOf(len(f.members), links, f.window)
	f.groups = make([]group, groups)
	members := make([]int, groups)
	for _, g := range groupOf {
		members[g]++
	}
	for n := range f.members {
		m, g := &f.members[n], &f.groups[groupOf[n]]
		if m.group = g; members[groupOf[n]] == 1 {
			g.single = m
		}
	}
	for i, l := range links {
		g := f.wires[i].to.group
		g.wires = append(g.wires, &f.wires[i])
		if l.Delay < f.window || l.From == l.To || f.window >= maxWindow || len(g.wires) > maxWires {
			// A frame may arrive in the window in which it was sent, or change its next event, or keys do not fit.
			g.single = nil
		}
	}
	for i := range f.groups {
		f.groups[i].due.next = unit.Never
	}
}

// updateNext updates the earliest event of every group.
func (f *Fabric) updateNext() {
	for i := range f.groups {
		*f.groups[i].nextAt = f.groups[i].nextEvent()
	}
}

// nextEvent returns the time of the group's earliest event. It is unit.Never without events.
func (g *group) nextEvent() unit.Time {
	if g.single == nil {
		return g.heap.FirstTime()
	}
	t := min(g.due.next, g.single.timer)
	for _, w := range g.wires {
		if w.count > 0 {
			t = min(t, w.first().at)
		}
	}
	return t
}

// WakeNode reads and serves the requests of node n after an event outside of the network has changed it at now; idle
// ports may send at once. The network must have run all events before now, and no event after now.
func (f *Fabric) WakeNode(n int, now unit.Time) {
	f.takeIn()
	m := &f.members[n]
	m.wants = m.node.Wants()
	f.serveWants(m, now)
	*m.group.nextAt = m.group.nextEvent()
}

// NextEvent returns the time of the earliest pending event; unit.Never if no event is pending.
func (f *Fabric) NextEvent() unit.Time {
	f.takeIn()
	t := unit.Never
	for _, x := range f.parts {
		t = min(t, x.firstEvent())
	}
	return t
}

// Window returns the length of execution windows. A run that stops because of an observation must continue for this
// long, so that it ends at a defined time and not at a moment of the loop.
func (f *Fabric) Window() unit.Time { return f.window }

// LinkCounters returns the counters of link i.
func (f *Fabric) LinkCounters(i int) LinkCounters {
	c := f.counters[i]
	c.Sent = f.ports[i].sent
	return c
}

// CountEvents returns the number of events that were run, in all parts. Events that have become invalid do not count.
func (f *Fabric) CountEvents() (n uint64) {
	for _, x := range f.parts {
		n += x.events
	}
	return n
}

// CountHops returns the number of packets that arrived at the end of a link.
func (f *Fabric) CountHops() (n uint64) {
	for _, x := range f.parts {
		n += x.hops
	}
	return n
}

// InFlight returns the number of packets on wires. The fabric must not run at the same time.
func (f *Fabric) InFlight() int {
	f.takeIn()
	n := 0
	for i := range f.wires {
		n += int(f.wires[i].count)
	}
	return n
}

// CountArrived returns the number of packets that arrived over link i since the start. The fabric must not run at the
// same time.
func (f *Fabric) CountArrived(i int) uint64 {
	f.takeIn()
	return f.ports[i].sent - f.counters[i].Lost - uint64(f.wires[i].count)
}

// IsLinkEmpty reports whether link i carries no packet. The fabric must not run at the same time.
func (f *Fabric) IsLinkEmpty(i int) bool {
	f.takeIn()
	return f.wires[i].count == 0
}

// OnWire returns the packets on link i, in the order of their arrival. The fabric must not run at the same time. The
// link must not change during the iteration.
func (f *Fabric) OnWire(i int) iter.Seq[*packet.Packet] {
	return func(yield func(*packet.Packet) bool) {
		f.takeIn()
		w := &f.wires[i]
		for k := range w.count {
			if !yield(w.ring[(w.head+k)&uint32(len(w.ring)-1)].p) {
				return
			}
		}
	}
}
