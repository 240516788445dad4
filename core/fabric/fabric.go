package fabric

import (
	"fmt"
	"iter"
	"math"

	"weir/core/fabric/timerheap"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// Link is one direction of a cable: it takes the packets of port FromPort of
// node From to port ToPort of node To.
type Link struct {
	From, To         int
	FromPort, ToPort packet.PortID
	Rate             unit.LinkRate
	Delay            unit.Time // propagation, ≥ 0
	Jitter           unit.Time // added to Delay: uniform in [0, Jitter]; frames are never reordered
	Loss             float64   // probability that a frame is lost after it was sent, in [0, 1)
	Random           unit.Random
}

// LinkCounters is what a link has counted since the start.
type LinkCounters struct {
	Sent, Lost uint64 // frames
	LostBytes  uint64
	Down       uint64 // of Lost, frames that were put on it while it was down
}

// Config is a network: its nodes and the directed links between them. Each port
// of a node has at most one link out and one link in.
type Config struct {
	Nodes []Node
	Links []Link
	Pool  *packet.Pool // takes the packets that links lose
	// Window is the length of execution windows; 0 means the shortest delay above
	// 0. Nodes joined by shorter links form one group. It changes speed only.
	Window unit.Time
	// Wire, if given, is applied to every packet that is about to arrive: the
	// simulator's wire mode serialises and parses there.
	Wire func(p *packet.Packet)
	// Observer, if given, gets an event when links transmit, lose and deliver a packet. These events have
	// a link's index as the port and no queue.
	Observer trace.Observer
}

// kind orders events at the same time: port free < NIC wake < arrival < timer
// (docs/design.md#bytes-queues-order). As "free" comes first, an arrival at the instant at which the port
// becomes free sees the same queue whether or not the free event was armed. A kind together with the
// number of the port, link or node is the key of an event: unique among those pending at one time, and
// independent of who scheduled first.
type kind uint64

const (
	portFree kind = iota << 60
	nicWake
	arrival
	timer
	kindMask kind = 3 << 60
)

// port is the sending half of a link: one cache line of the sender.
type port struct {
	freeAt  unit.Time // when the frame on the wire has left
	armedAt unit.Time // pending port event, or Never
	delay   unit.Time
	ser     unit.Serialiser
	node    int32
	out     packet.PortID
	special bool // loss, jitter, down or an observer: see extra
}

// extra is what only links with loss, jitter or events need.
type extra struct {
	loss   float64
	jitter unit.Time
	random unit.Random
	down   bool
	rate   unit.LinkRate
	// lost is when the last frame that is lost has left.
	lost unit.Time
}

// wire is the receiving half of a link: the frames on their way, in order of
// arrival. Only the first one has an event.
type wire struct {
	ring  []flight // length is a power of two
	head  uint32
	count uint32
	last  unit.Time // latest arrival so far
	sent  uint64    // LinkCounters.Sent: its line is written to at every frame anyway
	node  int32
	group int32
	in    packet.PortID
	ends  bool // the node is an End
}

type flight struct {
	at unit.Time
	p  *packet.Packet
}

type group struct {
	heap  timerheap.Heap
	wires []int32 // links that end here
}

// Fabric is a running network.
type Fabric struct {
	nodes    []Node
	ports    []port // by link
	wires    []wire
	extras   []extra
	counters []LinkCounters
	out      [][]int32 // link by node and port, −1 for none
	timers   []unit.Time
	groupOf  []int32
	groups   []group
	nextAt   []unit.Time // earliest event of each group
	window   unit.Time
	stride   unit.Time // how far groups run at most until stop is asked: the window, or less
	pool     *packet.Pool
	observer trace.Observer
	wireMode func(p *packet.Packet)
	delivers bool // there is an observer or a wire mode

	events uint64
	hops   uint64
	sink   int32 // keeps the touch loop's reads
}

// New makes a network and asks every node what it wants at time 0.
func New(c Config) (*Fabric, error) {
	f := &Fabric{
		nodes: c.Nodes, pool: c.Pool, observer: c.Observer, wireMode: c.Wire, delivers: c.Observer != nil || c.Wire != nil,
		ports: make([]port, len(c.Links)), wires: make([]wire, len(c.Links)),
		extras: make([]extra, len(c.Links)), counters: make([]LinkCounters, len(c.Links)),
		out: make([][]int32, len(c.Nodes)), timers: make([]unit.Time, len(c.Nodes)),
		groupOf: make([]int32, len(c.Nodes)),
	}
	f.window = c.Window
	if f.window <= 0 {
		f.window = unit.Never
		for _, l := range c.Links {
			if l.Delay > 0 {
				f.window = min(f.window, l.Delay)
			}
		}
	}
	if f.window == unit.Never { // no delay anywhere: one group, which only has to stop now and then
		f.window = unit.Millisecond
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
		for len(f.out[l.From]) <= int(l.FromPort) {
			f.out[l.From] = append(f.out[l.From], -1)
		}
		if f.out[l.From][l.FromPort] >= 0 {
			return nil, fmt.Errorf("fabric: two links leave port %d of node %d", l.FromPort, l.From)
		}
		f.out[l.From][l.FromPort] = int32(i)
		f.ports[i] = port{armedAt: unit.Never, freeAt: -1, delay: l.Delay, ser: unit.NewSerialiser(l.Rate),
			node: int32(l.From), out: l.FromPort}
		_, ends := c.Nodes[l.To].(End)
		f.wires[i] = wire{node: int32(l.To), in: l.ToPort, last: -1, ends: ends}
		f.extras[i] = extra{loss: l.Loss, jitter: l.Jitter, random: l.Random, rate: l.Rate, lost: -1}
		f.SetDown(i, false)
	}
	f.makeGroups(c.Links)
	f.pace()
	for n := range f.nodes {
		f.timers[n] = unit.Never
	}
	for n := range f.nodes {
		f.after(int32(n), &f.groups[f.groupOf[n]], 0)
	}
	for g := range f.groups {
		f.nextAt[g] = f.groups[g].heap.First()
	}
	return f, nil
}

// makeGroups joins the nodes of links shorter than the window and numbers the
// groups in the order of their first nodes.
func (f *Fabric) makeGroups(links []Link) {
	root := make([]int, len(f.nodes))
	for n := range root {
		root[n] = n
	}
	find := func(n int) int {
		for root[n] != n {
			root[n] = root[root[n]]
			n = root[n]
		}
		return n
	}
	for _, l := range links {
		if l.Delay < f.window {
			a, b := find(l.From), find(l.To)
			root[max(a, b)] = min(a, b)
		}
	}
	for n := range root {
		if r := find(n); r == n {
			f.groupOf[n] = int32(len(f.groups))
			f.groups = append(f.groups, group{})
		} else {
			f.groupOf[n] = f.groupOf[r]
		}
	}
	f.nextAt = make([]unit.Time, len(f.groups))
	for i := range f.wires {
		w := &f.wires[i]
		w.group = f.groupOf[w.node]
		f.groups[w.group].wires = append(f.groups[w.group].wires, int32(i))
	}
}

// Run carries out every event before until. It returns early, at the end of a window or of a part of it, when stop
// returns true (stop may be nil); the argument of stop is the time before which everything has happened. Another
// call continues.
func (f *Fabric) Run(until unit.Time, stop func(done unit.Time) bool) {
	for {
		start := unit.Never
		for _, t := range f.nextAt {
			start = min(start, t)
		}
		if start >= until {
			return
		}
		end := until
		if f.stride < until-start {
			end = start + f.stride
		}
		for g := range f.nextAt {
			if f.nextAt[g] < end {
				f.runGroup(g, end)
			}
		}
		if stop != nil && stop(end) {
			return
		}
	}
}

// runGroup carries out the events of one group before end.
func (f *Fabric) runGroup(n int, end unit.Time) {
	g := &f.groups[n]
	// Read the headers of all packets that arrive in this window, so that their cache misses overlap;
	// otherwise each is a stall of its own.
	touched := int32(0)
	for _, i := range g.wires {
		w := &f.wires[i]
		mask := uint32(len(w.ring) - 1)
		for k := range w.count {
			fl := &w.ring[(w.head+k)&mask]
			if fl.at >= end {
				break
			}
			if w.ends {
				touched += fl.p.TouchEnd()
			} else {
				touched += fl.p.Touch()
			}
		}
	}
	f.sink = touched
	events, hops := uint64(0), uint64(0)
	for g.heap.First() < end {
		e := g.heap.Take()
		events++
		i := int32(e.Key &^ uint64(kindMask))
		var node int32
		switch kind(e.Key) & kindMask {
		case arrival:
			w := &f.wires[i]
			ring, head := w.ring, w.head
			p := ring[head&uint32(len(ring)-1)].p
			w.head = head + 1
			if w.count--; w.count > 0 {
				g.heap.Push(timerheap.Entry{At: ring[(head+1)&uint32(len(ring)-1)].at, Key: e.Key})
			}
			node = w.node
			hops++
			if f.delivers {
				f.deliver(e.At, i, p)
			}
			f.nodes[node].Receive(e.At, w.in, p)
		case timer:
			node = i
			if f.timers[i] != e.At {
				events-- // an older, later date that was moved forward
				continue
			}
			f.timers[i] = unit.Never
			f.nodes[i].Advance(e.At)
		default:
			pt := &f.ports[i]
			if pt.armedAt != e.At {
				events--
				continue
			}
			pt.armedAt = unit.Never
			if pt.freeAt > e.At { // a wake for which another frame was faster
				f.arm(i, pt, g, pt.freeAt, portFree)
				continue
			}
			node = pt.node
			f.transmit(i, g, e.At)
		}
		f.after(node, g, e.At)
	}
	f.events += events
	f.hops += hops
	f.nextAt[n] = g.heap.First()
}

// after does whatever a call into a node may have made necessary.
func (f *Fabric) after(n int32, g *group, now unit.Time) {
	node := f.nodes[n]
	for {
		out, ok := node.Woken()
		if !ok {
			break
		}
		links := f.out[n]
		if int(out) >= len(links) {
			continue // a port without a link keeps what it has
		}
		i := links[out]
		if i < 0 {
			continue
		}
		if pt := &f.ports[i]; pt.freeAt <= now {
			f.transmit(i, g, now)
		} else {
			f.arm(i, pt, g, pt.freeAt, portFree)
		}
	}
	if t := node.NextTimer(); t < f.timers[n] {
		t = max(t, now)
		f.timers[n] = t
		g.heap.Push(timerheap.Entry{At: t, Key: uint64(timer) | uint64(n)})
	}
}

// arm schedules the port's next event unless an earlier one is pending.
func (f *Fabric) arm(i int32, pt *port, g *group, at unit.Time, k kind) {
	if at < pt.armedAt {
		pt.armedAt = at
		g.heap.Push(timerheap.Entry{At: at, Key: uint64(k) | uint64(i)})
	}
}

// transmit asks the port for its next frame and puts it on the wire.
func (f *Fabric) transmit(i int32, g *group, now unit.Time) {
	pt := &f.ports[i]
	p, again := f.nodes[pt.node].Dequeue(now, pt.out)
	if p == nil {
		if again != unit.Never {
			f.arm(i, pt, g, max(again, now+1), nicWake)
		}
		return
	}
	end := now + pt.ser.Next(p.Size, pt.freeAt == now)
	pt.freeAt = end
	if again <= end {
		f.arm(i, pt, g, end, portFree)
	} else if again != unit.Never {
		f.arm(i, pt, g, again, nicWake)
	}
	at := end + pt.delay
	w := &f.wires[i]
	w.sent++
	if pt.special {
		if at = f.impair(i, p, now, at); at == unit.Never {
			return
		}
	}
	if at <= w.last { // only jitter, or frames shorter than 1 ps, can do this
		at = w.last + 1
	}
	w.last = at
	if w.count == uint32(len(w.ring)) {
		w.grow()
	}
	w.ring[(w.head+w.count)&uint32(len(w.ring)-1)] = flight{at, p}
	w.count++
	if w.count == 1 {
		f.groups[w.group].heap.Push(timerheap.Entry{At: at, Key: uint64(arrival) | uint64(i)})
		if at < f.nextAt[w.group] {
			f.nextAt[w.group] = at
		}
	}
}

// impair applies loss, jitter and outage of a special link to a frame sent now. It returns the arrival
// time, which would be at without them, or unit.Never if the frame is lost.
//
//go:noinline
func (f *Fabric) impair(i int32, p *packet.Packet, now, at unit.Time) unit.Time {
	x, node := &f.extras[i], f.ports[i].node
	f.observe(now, trace.Transmit, node, i, "", p)
	if x.down || x.loss > 0 && x.random.Float64() < x.loss {
		f.counters[i].Lost++
		f.counters[i].LostBytes += uint64(p.Size)
		why := "link_loss"
		if x.down {
			f.counters[i].Down++
			why = "link_down"
		}
		x.lost = f.ports[i].freeAt
		f.observe(now, trace.Lost, node, i, why, p)
		f.pool.Put(p)
		return unit.Never
	}
	if x.jitter > 0 {
		at += unit.Time(x.random.Int64N(int64(x.jitter) + 1))
	}
	return at
}

// deliver calls Config.Wire and the observer for a frame that arrives now.
//
//go:noinline
func (f *Fabric) deliver(now unit.Time, i int32, p *packet.Packet) {
	f.observe(now, trace.Arrive, f.wires[i].node, i, "", p)
	if f.wireMode != nil {
		f.wireMode(p)
	}
}

// observe calls the observer, if there is one. Unobserved runs never get here: links with an observer are
// special.
func (f *Fabric) observe(now unit.Time, k trace.Kind, node, link int32, why string, p *packet.Packet) {
	if f.observer != nil {
		f.observer.Observe(trace.Event{At: now, Kind: k, Node: node, Port: link, Reason: why, QueuePackets: trace.None,
			QueueBytes: trace.None}, p)
	}
}

func (w *wire) grow() {
	ring := make([]flight, max(8, 2*len(w.ring)))
	for k := range w.count {
		ring[k] = w.ring[(w.head+k)&uint32(len(w.ring)-1)]
	}
	w.ring, w.head = ring, 0
}

// Wake asks node n what it wants, after something outside the network has happened to it at now.
// Everything before now must have been carried out, and nothing after now.
func (f *Fabric) Wake(n int, now unit.Time) {
	g := f.groupOf[n]
	f.after(int32(n), &f.groups[g], now)
	f.nextAt[g] = f.groups[g].heap.First()
}

// Next returns the time of the earliest pending event, unit.Never if nothing will
// ever happen again.
func (f *Fabric) Next() unit.Time {
	t := unit.Never
	for _, at := range f.nextAt {
		t = min(t, at)
	}
	return t
}

// Window returns the length of execution windows. A run that stops because of what it has observed must
// continue for this long, so that it ends at a time and not at a moment of the loop.
func (f *Fabric) Window() unit.Time { return f.window }

// Link returns the counters of link i.
func (f *Fabric) Link(i int) LinkCounters {
	c := f.counters[i]
	c.Sent = f.wires[i].sent
	return c
}

// Events returns how many events were carried out.
func (f *Fabric) Events() uint64 { return f.events }

// Hops returns how many packets arrived at the end of a link.
func (f *Fabric) Hops() uint64 { return f.hops }

// InFlight returns how many packets are on wires.
func (f *Fabric) InFlight() int {
	n := 0
	for i := range f.wires {
		n += int(f.wires[i].count)
	}
	return n
}

// Arrived returns how many packets have come out of link i since the start.
func (f *Fabric) Arrived(i int) uint64 {
	return f.wires[i].sent - f.counters[i].Lost - uint64(f.wires[i].count)
}

// OnWire returns the packets on link i, in the order of their arrival. The fabric must not run meanwhile.
func (f *Fabric) OnWire(i int) iter.Seq[*packet.Packet] {
	return func(yield func(*packet.Packet) bool) {
		w := &f.wires[i]
		for k := range w.count {
			if !yield(w.ring[(w.head+k)&uint32(len(w.ring)-1)].p) {
				return
			}
		}
	}
}

// SetDown takes link i down or up: a link that is down loses what is put on it.
func (f *Fabric) SetDown(i int, down bool) {
	f.extras[i].down = down
	f.ports[i].special = down || f.extras[i].loss > 0 || f.extras[i].jitter > 0 || f.observer != nil
}

// SetRate changes the rate of link i at now: also for what is left of the frame that is being sent. Everything
// before now must have been carried out, and nothing after it.
func (f *Fabric) SetRate(i int, rate unit.LinkRate, now unit.Time) {
	pt, x := &f.ports[i], &f.extras[i]
	was := x.rate
	pt.ser, x.rate = unit.NewSerialiser(rate), rate
	f.pace()
	if pt.freeAt <= now {
		return
	}
	left := remaining(pt.freeAt-now, was, rate)
	old, free := pt.freeAt, now+left
	pt.freeAt = free
	if pt.armedAt != unit.Never { // an event that comes too early finds the port busy, and is put off
		f.arm(int32(i), pt, &f.groups[f.groupOf[pt.node]], free, portFree)
	}
	if x.lost == old {
		x.lost = free
	} else {
		f.moveLast(i, free-old)
	}
	for n := range f.groups {
		f.nextAt[n] = f.groups[n].heap.First()
	}
}

// remaining is how long what took left at a rate takes at another one. A rate in bits and one in packets have
// nothing in common: then nothing changes.
func remaining(left unit.Time, was, rate unit.LinkRate) unit.Time {
	from, to := float64(was.Bits), float64(rate.Bits)
	if was.Packets > 0 && rate.Packets > 0 {
		from, to = float64(was.Packets), float64(rate.Packets)
	}
	if from <= 0 || to <= 0 {
		return left
	}
	return unit.Time(min(math.Round(float64(left)*(from/to)), float64(unit.Never/4)))
}

// moveLast has the frame that link i is sending arrive later by shift.
func (f *Fabric) moveLast(i int, shift unit.Time) {
	w := &f.wires[i]
	mask := uint32(len(w.ring) - 1)
	last := &w.ring[(w.head+w.count-1)&mask]
	at := last.at + shift
	if w.count > 1 {
		at = max(at, w.ring[(w.head+w.count-2)&mask].at+1)
	}
	last.at, w.last = at, at
	if w.count == 1 { // the first one has an event
		f.groups[w.group].heap.Move(uint64(arrival)|uint64(i), at)
	}
}
