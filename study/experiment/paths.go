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

// pathChecker finds what the flows of a point pass on their paths, and asks its schemes what they report of where they
// stand.
type pathChecker struct {
	*reader
	switches []switchRole           // by node
	any      switchRole             // what some switch does
	programs [][]switchfile.Program // by node
	walks    map[walkKey]*walk      // in network, which points may share
	network  *topology.Network
	shortest unit.Time // round trip of a traffic with a controller; 0: there is no such traffic
	longest  unit.Time
	asked    []currentTraffic               // by traffic
	loads    map[topology.PortRef]*portLoad // nil: not all traffics are known
	currentTraffic
}

// currentTraffic is the traffic in hand, and which of the point's flows are its.
type currentTraffic struct {
	transport, control *document.Node // parameters
	transportAt        document.Position
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
	at     document.Position // of the program that spreads
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

// beginPoint looks at the programs of a point's switches.
func (d *pathChecker) beginPoint(p *Point, programs [][]switchfile.Program) {
	walks := d.walks
	if n := p.seen.Network; d.network != n {
		walks = map[walkKey]*walk{}
	}
	*d = pathChecker{reader: d.reader, programs: programs, switches: make([]switchRole, len(programs)), walks: walks,
		network: p.seen.Network}
	for i, list := range programs {
		if !p.seen.Network.Nodes[i].Switch {
			continue
		}
		x := &d.switches[i]
		x.drops = p.switches[i].QueueLimit.Bytes > 0 || p.switches[i].QueueLimit.Packets > 0
		if s := p.served[i]; s != nil {
			x.addTraits(&s.Traits)
		}
		for k := range list {
			x.addProgram(&list[k])
		}
		d.any.marks = d.any.marks || x.marks
		d.any.answers = d.any.answers || x.answers
		d.any.records = d.any.records || x.records
	}
}

// addProgram notes what a program of the switch does.
func (x *switchRole) addProgram(program *switchfile.Program) {
	t := &program.Traits
	x.addTraits(t)
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

// addTraits notes whether a program or scheduler marks or drops.
func (x *switchRole) addTraits(t *dataplane.Traits) {
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

// walkKey is what decides a walk: two NICs, and the size of frames for links that count packets.
type walkKey struct {
	topology.Pair
	frame int32
}

// capacity returns the capacity of a link in bit/s, of frames of a size where the link counts packets.
func capacity(r unit.LinkRate, frame int32) float64 {
	if r.Bits > 0 {
		return float64(r.Bits)
	}
	return float64(r.Packets) * 8 * float64(frame)
}

// findWalk finds what a traffic's data passes between two NICs that a path joins.
func (d *pathChecker) findWalk(p *Point, pair topology.Pair, frame int32) *walk {
	key := walkKey{pair, frame}
	if w, known := d.walks[key]; known {
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
	w.findNarrowest(n, frame)
	w.shareEvenly(n)
	d.walks[key] = w
	return w
}

// findNarrowest finds the narrowest of the ports.
func (w *walk) findNarrowest(n *topology.Network, frame int32) {
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

// collectPaths adds to a site the paths of the traffic's flows, each kind once. The traffic's are the point's flows
// from first on and before end. It returns what switches do to flows with a choice of ports.
func (d *pathChecker) collectPaths(p *Point, site *cc.FlowContext, tr *Traffic, first, end int) (spread spreading) {
	seen := map[cc.FlowPath]int{} // number in site.Paths, counted from 1
	frame := p.seen.Framing.Frame(tr.seen.Headers(), tr.seen.Payload, true)
	counted := p.countEndless(tr, first, end) > 0 && site.Sending == 0 // by loads
	reads := tr.cc != nil && tr.cc.Telemetry != telemetry.Nothing
	p.eachPair(tr, first, end, func(src, dst int) {
		near, joined := p.seen.Routes.Near(src, dst)
		if src == dst || !joined {
			return
		}
		w := d.findWalk(p, near, frame)
		for _, at := range w.chosen {
			spread.add(&d.switches[at].spreading)
		}
		x := cc.FlowPath{Path: p.seen.Path(near.From, near.To, &tr.seen)}
		x.BaseRTT += tr.traits.AckDelay
		x.Narrow.Rate = unit.Rate(w.least)
		x.Narrow.Payload = unit.Rate(w.least * float64(tr.seen.Payload) / float64(frame))
		if p.seen.Waits != nil && !d.isUnqueued(p, w, src, dst, frame) {
			x.DataQueueing = p.seen.Queueing(near.From, near.To, func(port topology.PortRef) bool {
				return d.canQueue(p.seen.Network, port)
			})
		}
		x.Unlimited = d.findUnlimited(p, w)
		spreadSlow, wholeSlow := d.findSlow(p, w, frame)
		site.Slow.Keep(spreadSlow)
		site.SlowWhole.Keep(wholeSlow)
		d.addSignals(p, &x, w, tr)
		d.addLosses(p, &x, w)
		if x.Idle = d.isIdle(p, w); x.Idle {
			x.Lossless = "no port of a switch receives more than it can send"
		}
		busiest := w.narrow
		if d.loads != nil {
			busiest, x.Flows = d.findBusiest(w)
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
		x.Crossed = reads && d.isCrossed(p, src, dst, frame)
		if reads { // others have no use for it, and the way back costs as much as the way there
			opposing = d.findOpposing(p, tr, w, src, dst, frame)
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

// canQueue reports whether data can queue at a port. As long as not all traffics are known, it can at any.
func (d *pathChecker) canQueue(n *topology.Network, port topology.PortRef) bool {
	return d.loads == nil || d.loads[port].canQueue(n.Links[port.Link].Rate)
}

// largestFlow returns the size of a traffic's largest flow; 0: not known, or flows have no end. The traffic's are the
// point's flows from first on and before end.
func (l *trafficList) largestFlow(tr *Traffic, first, end int) (largest unit.Bytes) {
	if g := tr.generator; g != nil {
		if g.Sizes != nil {
			return unit.Bytes(g.Sizes.Size(1))
		}
		return g.Size
	}
	for i := first; i < end; i += max(1, (end-first)/maxPairs) {
		f := l.flows.at(i)
		if f.Size == 0 {
			return 0
		}
		largest = max(largest, f.Size)
	}
	return largest
}

// addSignals notes which signals a path gives a traffic: those of the switches at whose ports its data can queue.
func (d *pathChecker) addSignals(p *Point, x *cc.FlowPath, w *walk, tr *Traffic) {
	var here switchRole
	for _, port := range w.ports[1:] {
		if !slices.Contains(w.queues, port) && !d.canQueue(p.seen.Network, port) {
			continue
		}
		l := &p.seen.Network.Links[port.Link]
		s := &d.switches[l.Ends[port.End]]
		here.marks, here.answers, here.trims = here.marks || s.marks, here.answers || s.answers, here.trims || s.trims
		here.records = here.records || s.records
		here.supplies = append(here.supplies, s.supplies...)
	}
	x.Trims = here.trims
	x.Supplied = tr.traits.TakesSupply && slices.ContainsFunc(here.supplies,
		func(supplies func(proto uint8) bool) bool { return supplies(tr.seen.Transport.Proto) })
	switch {
	case !here.marks && d.any.marks:
		x.Unmarked = "no switch at which its packets can queue marks them (program ecn)"
	case !here.marks:
		x.Unmarked = "no switch marks packets (program ecn)"
	case tr.cc != nil:
		x.Unmarked = tr.traits.Unmarked(tr.cc.ECN)
	}
	switch {
	case here.records:
		x.Unrecorded = tr.traits.Unrecorded()
	case d.any.records:
		x.Unrecorded = "no switch at which its packets can queue writes telemetry (program telemetry)"
	default:
		x.Unrecorded = "no switch writes telemetry (program telemetry)"
	}
	switch x.Unanswered = tr.traits.Unanswered(); {
	case x.Unanswered != "" || here.answers:
	case d.any.answers:
		x.Unanswered = "no switch at which its packets can queue answers requests (program bolt)"
	default:
		x.Unanswered = "no switch answers requests (program bolt)"
	}
}

// isIdle reports whether data queues at no switch of a path: no port gets more than it can send. Where a link is as
// slow as the sender's this is false as long as not all traffics are known, with events that change rates, and where
// switches pause, since a port far away may do it.
func (d *pathChecker) isIdle(p *Point, w *walk) bool {
	x := p.seen.Waits
	changes := d.loads == nil || x == nil || x.Memory != nil || len(x.Rates) > 0
	if sender := p.seen.Network.Links[w.ports[0].Link].Rate; w.narrow != w.ports[0] &&
		(changes || capacity(sender, ethernetFrame) > capacity(p.seen.Network.Links[w.narrow.Link].Rate, ethernetFrame)) {
		return false
	}
	for _, port := range w.ports[1:] {
		if x := d.loads[port]; x.isCrowded(p.seen.Network.Links[port.Link].Rate) {
			return false
		}
	}
	return true
}

// isUnqueued reports whether neither data nor acknowledgements of a path wait at any switch: no port gets more than it
// can send. It is false as long as not all traffics are known, with events that change rates, and where switches pause,
// since a port far away may do it.
func (d *pathChecker) isUnqueued(p *Point, there *walk, src, dst int, frame int32) bool {
	near, joined := p.seen.Routes.Near(dst, src)
	if x := p.seen.Waits; d.loads == nil || !joined || x.Memory != nil || len(x.Rates) > 0 {
		return false
	}
	for _, w := range []*walk{there, d.findWalk(p, near, frame)} {
		for _, port := range w.ports[1:] {
			if d.loads[port].isCrowded(p.seen.Network.Links[port.Link].Rate) {
				return false
			}
		}
	}
	return true
}

// findUnlimited returns the name of a path's first port that gets more than it can send and has no limit; "" if there
// is no such port, where switches pause, and as long as not all traffics are known.
func (d *pathChecker) findUnlimited(p *Point, w *walk) string {
	if p.seen.Waits == nil || p.seen.Waits.Memory != nil || d.loads == nil {
		return ""
	}
	n := p.seen.Network
	for _, port := range w.ports[1:] {
		l := &n.Links[port.Link]
		limit := p.switches[l.Ends[port.End]].QueueLimit
		limited := l.Buffer != (unit.Length{}) || limit.Bytes > 0 || limit.Packets > 0 ||
			p.seen.Waits.Ports[port.Link][port.End] != (dataplane.Backlog{})
		if !limited && d.loads[port].isCrowded(l.Rate) {
			return n.PortName(port.Link, port.End)
		}
	}
	return ""
}

// addLosses notes whether a path loses packets at the ports at which data can queue, and how long its queues can be.
func (d *pathChecker) addLosses(p *Point, x *cc.FlowPath, w *walk) {
	lossy, paused, endless := false, true, false
	for _, port := range w.ports[1:] {
		if !slices.Contains(w.queues, port) && !d.canQueue(p.seen.Network, port) {
			continue
		}
		l := &p.seen.Network.Links[port.Link]
		s := &d.switches[l.Ends[port.End]]
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

// longProducts is how many products of rate and round trip a flow's size has at least, so that it counts as long. At
// 100 Gb/s and 6 us, eight flows each way with 100 kB, 1.3 products, do not swing in that time, and with 300 kB, 3.8,
// they take 10 % longer.
const longProducts = 3.8

// longFlows returns how many flows each pair of hosts that eachPair visits stands for on average, if the traffic's
// flows last and begin together, and the size of the smallest; 0: they have no end. Flows that arrive at a load, of a
// job, of a collective operation and of a file follow one another and do not count.
func (p *Point) longFlows(tr *Traffic, first, end int) (perPair float64, size unit.Bytes) {
	if g := tr.generator; g != nil {
		if g.Offered > 0 || g.Sizes != nil {
			return 0, 0
		}
		return g.perPair(p, tr), g.Size
	}
	if first == end {
		return 0, 0
	}
	step := max(1, (end-first)/maxPairs)
	for i := first; i < end; i += step {
		f := p.flows.at(i)
		if f.reduce != nil || f.captured || f.Port != 0 || f.Later != 0 {
			return 0, 0
		}
		if i == first || f.Size < size {
			size = f.Size
		}
	}
	return float64(step), size
}

// perPair returns how many of the flows that are there together each pair of hosts that eachPair visits stands for.
func (g *Generator) perPair(p *Point, tr *Traffic) float64 {
	pairs := 0
	g.eachPair(func(int, int) { pairs++ })
	return g.Expected(p, tr) / float64(max(pairs, 1)*max(len(g.Sets), 1))
}

// countEndless returns how many flows without an end each pair of hosts that eachPair visits stands for; 0: the
// traffic's flows end, and need not be there together.
func (p *Point) countEndless(tr *Traffic, first, end int) float64 {
	if g := tr.generator; g != nil {
		if g.Offered > 0 || g.Mean() > 0 {
			return 0
		}
		return g.perPair(p, tr)
	}
	if first == end || p.flows.at(first).Size > 0 {
		return 0
	}
	return float64(max(1, (end-first)/maxPairs))
}

// isNarrowest reports whether port number i is as slow as the walk's narrowest.
func (w *walk) isNarrowest(i int) bool {
	return w.ports[i] == w.narrow || w.narrow != w.ports[0] && slices.Contains(w.queues, w.ports[i])
}

// findBusiest returns the port with the most flows without an end among a walk's narrowest, and how many they are.
func (d *pathChecker) findBusiest(w *walk) (busiest topology.PortRef, flows int) {
	busiest = w.narrow
	for i, port := range w.ports {
		if x := d.loads[port]; w.isNarrowest(i) && x != nil && int(x.flows+.5) > flows {
			busiest, flows = port, int(x.flows+.5)
		}
	}
	return busiest, flows
}

// countLong adds a pair's flows of a controller that reads telemetry to the ports that they pass, if they are long.
// Each of several equal ports has an equal share of them.
func (d *pathChecker) countLong(p *Point, loads map[topology.PortRef]*portLoad, tr *Traffic, w *walk, trip unit.Time,
	perPair float64, size unit.Bytes) {
	if tr.cc == nil || tr.cc.Telemetry == telemetry.Nothing || tr.traits.AppRate > 0 {
		return
	}
	if size > 0 && float64(size) < longProducts*w.least/8*trip.Seconds() {
		return
	}
	for i, share := range w.shares {
		loads[w.ports[i]].long += perPair * share
	}
}

// shareEvenly finds which share of the packets each port sends, if switches spread them evenly.
func (w *walk) shareEvenly(n *topology.Network) {
	w.shares = make([]float64, len(w.ports))
	into, out := map[int]float64{}, map[int]int{} // by switch: share of packets, and ports
	for _, port := range w.ports[1:] {
		out[n.Links[port.Link].Ends[port.End]]++
	}
	for i, port := range w.ports { // level by level
		w.shares[i] = 1
		if node := n.Links[port.Link].Ends[port.End]; i > 0 {
			w.shares[i] = into[node] / float64(out[node])
		}
		into[n.Links[port.Link].Ends[1-port.End]] += w.shares[i]
	}
}

// findOpposing counts the long flows that share a port with the data of a path, and with its acknowledgements. It is
// zero as long as not all traffics are known.
func (d *pathChecker) findOpposing(p *Point, tr *Traffic, w *walk, src, dst int, frame int32) (o cc.Opposing) {
	near, joined := p.seen.Routes.Near(dst, src)
	if d.loads == nil || !joined {
		return o
	}
	there, aligned := d.findMostLong(p, w, func(int) bool { return false })
	_, opposed := d.findMostLong(p, d.findWalk(p, near, frame), func(node int) bool {
		return p.switches[node].Queues > 1 && tr.traits.SeparatesAcks != nil && tr.traits.SeparatesAcks(tr.TOSOf(0))
	})
	if aligned == 0 || opposed == 0 {
		return o
	}
	port := w.ports[there]
	return cc.Opposing{Port: p.seen.Network.PortName(port.Link, port.End), Aligned: aligned, Opposed: opposed,
		Paths: int(1/w.shares[there] + .5)}
}

// isCrossed reports whether data of long flows passes a port on the way back from dst to src.
func (d *pathChecker) isCrossed(p *Point, src, dst int, frame int32) bool {
	near, joined := p.seen.Routes.Near(dst, src)
	return joined && slices.ContainsFunc(d.findWalk(p, near, frame).ports, func(port topology.PortRef) bool {
		x := d.loads[port]
		return x != nil && x.long > 0
	})
}

// findMostLong returns the number of the port in a walk at which most long flows queue, and how many they are. Ports of
// switches that skip reports do not count.
func (d *pathChecker) findMostLong(p *Point, w *walk, skip func(node int) bool) (most, flows int) {
	n := p.seen.Network
	for i, k := range w.ports[1:] {
		l, x := &n.Links[k.Link], d.loads[k]
		if !x.isCrowded(l.Rate) || skip(l.Ends[k.End]) {
			continue
		}
		if f := int(x.long + .5); f > flows {
			most, flows = i+1, f
		}
	}
	return most, flows
}

// findSlow returns two ports of a walk with the smallest part of the rate of another port after as many switches, at
// the lowest rate that events give to their links: of those that get more than they have if each gets an equal share of
// what hosts can send, and of those that a flow finds slower if all its packets go there. As long as not all traffics
// are known there is no such port.
func (d *pathChecker) findSlow(p *Point, w *walk, frame int32) (spread, whole cc.SlowPath) {
	if d.loads == nil || len(w.chosen) == 0 {
		return spread, whole
	}
	n := p.seen.Network
	fastest, ports := map[int]float64{}, map[int]int{} // by level
	for i, port := range w.ports {
		fastest[w.levels[i]] = max(fastest[w.levels[i]], capacity(n.Links[port.Link].Rate, frame))
		ports[w.levels[i]]++
	}
	best := math.Inf(1)
	for _, rate := range fastest {
		best = min(best, rate)
	}
	for i, port := range w.ports {
		rate := capacity(p.lowestRate(port), frame)
		part := rate / fastest[w.levels[i]]
		if part >= 1 || d.loads[port] == nil {
			continue
		}
		x, load := cc.SlowPath{Port: n.PortName(port.Link, port.End), Rate: unit.Rate(rate), Part: part,
			Flows: int(d.loads[port].long/w.shares[i] + .5), Share: w.shares[i]}, d.loads[port].sumSources()
		if rate < best && load > rate {
			whole.Keep(x)
		}
		if load/float64(ports[w.levels[i]]) > rate {
			spread.Keep(x)
		}
	}
	return spread, whole
}

// lowestRate returns the lowest rate of a port's link during the run.
func (p *Point) lowestRate(port topology.PortRef) unit.LinkRate {
	if w := p.seen.Waits; w != nil {
		if r, changed := w.Rates[port.Link]; changed {
			return r
		}
	}
	return p.seen.Network.Links[port.Link].Rate
}

// sumSources returns what the hosts of all flows that may pass a port can send together, in bit/s.
func (x *portLoad) sumSources() (sum float64) {
	if x == nil {
		return 0
	}
	most := map[int]float64{}
	for _, sources := range x.by {
		for src, rate := range sources {
			most[src] = max(most[src], rate)
		}
	}
	for _, rate := range most {
		sum += rate
	}
	return sum
}
