package experiment

import (
	"math"
	"slices"

	"weir/core/cc"
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/switchfile"
)

// surroundings are what schemes of a point's traffic may need to know of its switches.
type surroundings struct {
	switches []switchRole           // by node
	any      switchRole             // what some switch does
	programs [][]switchfile.Program // by node
	walks    map[walked]*walk       // in network, which points may share
	network  *topology.Network
	shortest unit.Time // round trip of a traffic with a controller; 0: there is no such traffic
	longest  unit.Time
	asked    []inHand                       // by traffic
	loads    map[topology.PortRef]*portLoad // nil: not all traffics are known
	inHand
}

// inHand is the traffic in hand, and which of the point's flows are its.
type inHand struct {
	transport, control *document.Node // parameters
	transportAt        document.Place
	first, end         int
}

// switchRole is what the programs and the scheduler of one switch do.
type switchRole struct {
	marks, drops, pauses, trims, answers, records bool
	holds                                         unit.Time                // max of a queue before the switch trims
	supplies                                      []func(proto uint8) bool // dataplane.Traits.Supplies of its programs
	spreading
}

// spreading is what a switch does to flows for which it has a choice of ports.
type spreading struct {
	how    dataplane.Spreading
	at     document.Place // of the program that spreads
	by     string
	hashes bool // a switch chooses a flow's port for good, by its addresses and ports
}

// add adds what another switch does.
func (s *spreading) add(x *spreading) {
	if x.how > s.how {
		s.how, s.at, s.by = x.how, x.at, x.by
	}
	s.hashes = s.hashes || x.hashes
}

// surround looks at the programs of a point's switches.
func (d *decoder) surround(p *Point, programs [][]switchfile.Program) {
	walks := d.around.walks
	if n := p.seen.Network; d.around.network != n {
		walks = map[walked]*walk{}
	}
	d.around = surroundings{programs: programs, switches: make([]switchRole, len(programs)), walks: walks,
		network: p.seen.Network}
	for i, list := range programs {
		if !p.seen.Network.Nodes[i].Switch {
			continue
		}
		x := &d.around.switches[i]
		x.drops = p.switches[i].QueueLimit.Bytes > 0 || p.switches[i].QueueLimit.Packets > 0
		if s := p.served[i]; s != nil {
			x.decides(&s.Traits)
		}
		for k := range list {
			x.runs(&list[k])
		}
		d.around.any.marks = d.around.any.marks || x.marks
		d.around.any.answers = d.around.any.answers || x.answers
		d.around.any.records = d.around.any.records || x.records
	}
}

// runs notes what a program of the switch does.
func (x *switchRole) runs(program *switchfile.Program) {
	t := &program.Traits
	x.decides(t)
	x.answers, x.pauses, x.records = x.answers || t.AnswersRequests, x.pauses || t.Pauses,
		x.records || t.Telemetry != nil
	if t.Supplies != nil {
		x.supplies = append(x.supplies, t.Supplies)
	}
	if t.Trims {
		x.trims, x.holds = true, max(x.holds, t.MaxQueueDelay)
	}
	x.add(&spreading{t.Spreads, program.At, program.Scheme.Name, t.Spreads == dataplane.OnePath && t.SelectsPath})
}

// decides notes whether a program or scheduler marks or drops.
func (x *switchRole) decides(t *dataplane.Traits) {
	x.marks, x.drops = x.marks || t.MarksFrom != nil, x.drops || t.DropsEarly
}

// walk is what data passes on all shortest paths between two NICs.
type walk struct {
	ports  []topology.PortRef // that send it, the sender's first
	levels []int              // switches before each of them
	shares []float64          // of the packets that each of them sends
	before [][]int            // links that lead to each of them; −1: the sender itself
	narrow topology.PortRef   // the slowest, a switch's before the sender's
	least  float64            // capacity of it
	queues []topology.PortRef // the slowest of the switches' ports
	chosen []int              // switches that have several ports to choose from
}

// walked is what decides a walk: two NICs, and the size of frames for links that count packets.
type walked struct {
	topology.Pair
	frame int32
}

// capacity is a link's in bit/s, of frames of a size where the link counts packets.
func capacity(r unit.LinkRate, frame int32) float64 {
	if r.Bits > 0 {
		return float64(r.Bits)
	}
	return float64(r.Packets) * 8 * float64(frame)
}

// walk finds what a traffic's data passes between two NICs that a path joins.
func (d *decoder) walk(p *Point, pair topology.Pair, frame int32) *walk {
	key := walked{pair, frame}
	if w, known := d.around.walks[key]; known {
		return w
	}
	n, r := p.seen.Network, p.seen.Routes
	w := &walk{}
	into := map[int][]int{} // by switch: links that lead there
	visit := func(port topology.PortRef, level int) {
		w.ports, w.levels = append(w.ports, port), append(w.levels, level)
		next := n.Links[port.Link].Ends[1-port.End]
		into[next] = append(into[next], port.Link)
	}
	visit(r.Ports(r.NICs().Node(pair.From))[r.NICs().Port(pair.From)], 0)
	entered := map[int]bool{}
	for i := 0; i < len(w.ports); i++ { // level by level, since paths are shortest
		at := n.Links[w.ports[i].Link].Ends[1-w.ports[i].End]
		if !n.Nodes[at].Switch || entered[at] {
			continue
		}
		entered[at] = true
		ports := r.Paths(at).To(packet.Addr(pair.To + 1))
		if len(ports) > 1 {
			w.chosen = append(w.chosen, at)
		}
		for _, k := range ports {
			visit(r.Ports(at)[k], w.levels[i]+1)
		}
	}
	w.before = append(w.before, []int{-1})
	for _, port := range w.ports[1:] {
		w.before = append(w.before, into[n.Links[port.Link].Ends[port.End]])
	}
	w.find(n, frame)
	w.share(n)
	d.around.walks[key] = w
	return w
}

// find finds the narrowest of the ports.
func (w *walk) find(n *topology.Network, frame int32) {
	w.narrow, w.least = w.ports[0], capacity(n.Links[w.ports[0].Link].Rate, frame)
	slowest := math.Inf(1)
	for _, port := range w.ports[1:] {
		c := capacity(n.Links[port.Link].Rate, frame)
		if c < slowest {
			w.queues, slowest = w.queues[:0], c
		}
		if c == slowest {
			w.queues = append(w.queues, port)
		}
	}
	if slowest <= w.least {
		w.narrow, w.least = w.queues[0], slowest
	}
}

// collectPaths gives a site the paths of the traffic's flows, each kind once. The traffic's are the point's flows from
// first on and before end. It returns what switches do to flows with a choice of ports.
func (d *decoder) collectPaths(p *Point, site *cc.FlowContext, tr *Traffic, first, end int) (spread spreading) {
	seen := map[cc.FlowPath]int{} // number in site.Paths, counted from 1
	frame := p.seen.Framing.Frame(tr.seen.Headers(), tr.seen.Payload, true)
	counted := p.endless(tr, first, end) > 0 && site.Sending == 0 // by loads
	reads := tr.cc != nil && tr.cc.Telemetry != telemetry.Nothing
	p.eachPair(tr, first, end, func(src, dst int) {
		near, joined := p.seen.Routes.Near(src, dst)
		if src == dst || !joined {
			return
		}
		w := d.walk(p, near, frame)
		for _, at := range w.chosen {
			spread.add(&d.around.switches[at].spreading)
		}
		x := cc.FlowPath{Path: p.seen.Path(near.From, near.To, &tr.seen)}
		x.BaseRTT += tr.traits.AckDelay
		x.Narrow.Rate = unit.Rate(w.least)
		x.Narrow.Payload = unit.Rate(w.least * float64(tr.seen.Payload) / float64(frame))
		if p.seen.Waits != nil && !d.unqueued(p, w, src, dst, frame) {
			x.DataQueueing = p.seen.Queueing(near.From, near.To, func(port topology.PortRef) bool {
				return d.around.queues(p.seen.Network, port)
			})
		}
		x.Unlimited = d.unlimited(p, w)
		spreadSlow, wholeSlow := d.slow(p, w, frame)
		site.Slow.Keep(spreadSlow)
		site.SlowWhole.Keep(wholeSlow)
		d.signals(p, &x, w, tr)
		d.losses(p, &x, w)
		if x.Idle = d.idle(p, w); x.Idle {
			x.Lossless = "no port of a switch receives more than it can send"
		}
		busiest := w.narrow
		if d.around.loads != nil {
			busiest, x.Flows = d.sharing(w)
			if !counted {
				x.Flows++
			}
			x.Flows = max(x.Flows, 1)
		}
		n := p.seen.Network
		ends := n.Links[busiest.Link].Ends
		if x.Narrow.Last = !n.Nodes[ends[1-busiest.End]].Switch; n.Nodes[ends[busiest.End]].Switch {
			x.Narrow.Buffer = n.Links[busiest.Link].Buffer.Bytes
		}
		var opposing cc.Opposing
		x.Crossed = reads && d.crossed(p, src, dst, frame)
		if reads { // others have no use for it, and the way back costs as much as the way there
			opposing = d.opposing(p, tr, w, src, dst, frame)
		}
		if k := seen[x]; k > 0 { // of one kind, the path with the most flows on both ways counts
			if y := &site.Paths[k-1].Opposing; min(opposing.Aligned, opposing.Opposed) > min(y.Aligned, y.Opposed) {
				*y = opposing
			}
			return
		}
		seen[x] = len(site.Paths) + 1
		x.Opposing = opposing
		x.Name = p.seen.Network.Nodes[src].Name + "->" + p.seen.Network.Nodes[dst].Name
		x.Narrow.Port = p.seen.Network.PortName(busiest.Link, busiest.End)
		site.Paths = append(site.Paths, x)
	})
	site.Largest = p.largestFlow(tr, first, end)
	site.Sprayed, site.Flowlets = spread.how == dataplane.EachPacket, spread.how == dataplane.EachFlowlet
	return spread
}

// queues reports whether data can queue at a port. As long as not all traffics are known, it can at any.
func (a *surroundings) queues(n *topology.Network, port topology.PortRef) bool {
	return a.loads == nil || a.loads[port].queues(n.Links[port.Link].Rate)
}

// largestFlow returns the size of a traffic's largest flow; 0: not known, or flows have no end. The traffic's are the
// point's flows from first on and before end.
func (p *Point) largestFlow(tr *Traffic, first, end int) (largest unit.Bytes) {
	if g := tr.generator; g != nil {
		if g.Sizes != nil {
			return unit.Bytes(g.Sizes.Size(1))
		}
		return g.Size
	}
	for i := first; i < end; i += max(1, (end-first)/mostPairs) {
		f := p.flows.at(i)
		if f.Size == 0 {
			return 0
		}
		largest = max(largest, f.Size)
	}
	return largest
}

// signals notes which signals a path gives a traffic: those of the switches at whose ports its data can queue.
func (d *decoder) signals(p *Point, x *cc.FlowPath, w *walk, tr *Traffic) {
	var here switchRole
	for _, port := range w.ports[1:] {
		if !slices.Contains(w.queues, port) && !d.around.queues(p.seen.Network, port) {
			continue
		}
		l := &p.seen.Network.Links[port.Link]
		s := &d.around.switches[l.Ends[port.End]]
		here.marks, here.answers, here.trims = here.marks || s.marks, here.answers || s.answers, here.trims || s.trims
		here.records = here.records || s.records
		here.supplies = append(here.supplies, s.supplies...)
	}
	x.Trims = here.trims
	x.Supplied = tr.traits.TakesSupply && slices.ContainsFunc(here.supplies,
		func(supplies func(proto uint8) bool) bool { return supplies(tr.seen.Transport.Proto) })
	switch {
	case !here.marks && d.around.any.marks:
		x.Unmarked = "no switch at which its packets can queue marks them (program ecn)"
	case !here.marks:
		x.Unmarked = "no switch marks packets (program ecn)"
	case tr.cc != nil:
		x.Unmarked = tr.traits.Unmarked(tr.cc.ECN)
	}
	switch {
	case here.records:
		x.Unrecorded = tr.traits.Unrecorded()
	case d.around.any.records:
		x.Unrecorded = "no switch at which its packets can queue writes telemetry (program telemetry)"
	default:
		x.Unrecorded = "no switch writes telemetry (program telemetry)"
	}
	switch x.Unanswered = tr.traits.Unanswered(); {
	case x.Unanswered != "" || here.answers:
	case d.around.any.answers:
		x.Unanswered = "no switch at which its packets can queue answers requests (program bolt)"
	default:
		x.Unanswered = "no switch answers requests (program bolt)"
	}
}

// idle reports whether data queues at no switch of a path: no port gets more than it can send. Where a link is as slow
// as the sender's this is false as long as not all traffics are known, with events that change rates, and where
// switches pause, since a port far away may do it.
func (d *decoder) idle(p *Point, w *walk) bool {
	x := p.seen.Waits
	changes := d.around.loads == nil || x == nil || x.Memory != nil || len(x.Rates) > 0
	if sender := p.seen.Network.Links[w.ports[0].Link].Rate; w.narrow != w.ports[0] &&
		(changes || capacity(sender, ethernetFrame) > capacity(p.seen.Network.Links[w.narrow.Link].Rate, ethernetFrame)) {
		return false
	}
	for _, port := range w.ports[1:] {
		if x := d.around.loads[port]; x.crowded(p.seen.Network.Links[port.Link].Rate) {
			return false
		}
	}
	return true
}

// unqueued reports whether neither data nor acknowledgements of a path wait at any switch: no port gets more than it
// can send. It is false as long as not all traffics are known, with events that change rates, and where switches pause,
// since a port far away may do it.
func (d *decoder) unqueued(p *Point, there *walk, src, dst int, frame int32) bool {
	near, joined := p.seen.Routes.Near(dst, src)
	if x := p.seen.Waits; d.around.loads == nil || !joined || x.Memory != nil || len(x.Rates) > 0 {
		return false
	}
	for _, w := range []*walk{there, d.walk(p, near, frame)} {
		for _, port := range w.ports[1:] {
			if d.around.loads[port].crowded(p.seen.Network.Links[port.Link].Rate) {
				return false
			}
		}
	}
	return true
}

// unlimited returns the name of a path's first port that gets more than it can send and has no limit; "" if there is no
// such port, where switches pause, and as long as not all traffics are known.
func (d *decoder) unlimited(p *Point, w *walk) string {
	if p.seen.Waits == nil || p.seen.Waits.Memory != nil || d.around.loads == nil {
		return ""
	}
	n := p.seen.Network
	for _, port := range w.ports[1:] {
		l := &n.Links[port.Link]
		limit := p.switches[l.Ends[port.End]].QueueLimit
		limited := l.Buffer != (unit.Length{}) || limit.Bytes > 0 || limit.Packets > 0 ||
			p.seen.Waits.Ports[port.Link][port.End] != (dataplane.Backlog{})
		if !limited && d.around.loads[port].crowded(l.Rate) {
			return n.PortName(port.Link, port.End)
		}
	}
	return ""
}

// losses notes whether a path loses packets at the ports at which data can queue, and how long its queues can be.
func (d *decoder) losses(p *Point, x *cc.FlowPath, w *walk) {
	lossy, paused, endless := false, true, false
	for _, port := range w.ports[1:] {
		if !slices.Contains(w.queues, port) && !d.around.queues(p.seen.Network, port) {
			continue
		}
		l := &p.seen.Network.Links[port.Link]
		s := &d.around.switches[l.Ends[port.End]]
		if s.drops || l.Buffer.Bytes > 0 || l.Buffer.Packets > 0 {
			lossy, paused = true, paused && s.pauses
		}
		if s.trims {
			x.Holds = max(x.Holds, s.holds)
		}
		if l.Buffer.Bytes == 0 || l.Rate.Bits == 0 {
			endless = true // or counted in packets, whose lengths differ
			continue
		}
		x.Wait = max(x.Wait, unit.Time(float64(l.Buffer.Bytes)*8e12/float64(l.Rate.Bits)))
	}
	if endless {
		x.Wait = 0
	}
	switch {
	case !lossy:
		x.Lossless = "no switch has a buffer that ends"
	case paused:
		x.Lossless = "switches pause their neighbours before buffers end (program pfc)"
	}
}
