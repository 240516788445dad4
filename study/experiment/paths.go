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

// pathChecker examines the paths of a point's flows, and collects the remarks of schemes about their context there.
type pathChecker struct {
	*reader
	switches  []switchRole           // by node
	anySwitch switchRole             // union over all switches, of marks, answers and records
	programs  [][]switchfile.Program // by node
	walks     map[walkKey]*walk      // of network; points may share them
	network   *topology.Network
	shortest  unit.Time // shortest round trip of a traffic with a controller; 0: there is no such traffic
	longest   unit.Time
	checked   []currentTraffic               // traffics that were checked
	loads     map[topology.PortRef]*portLoad // nil: not all traffics are known yet
	currentTraffic
}

// currentTraffic is the traffic that is being checked, with the range of its flows in the point.
type currentTraffic struct {
	transport, control *document.Node // parameters
	transportAt        document.Position
	first, end         int
}

// switchRole is what the programs and the scheduler of one switch do to packets.
type switchRole struct {
	marks, drops, pauses, trims, answers, records bool
	holds                                         unit.Time                // max delay of a queue before the switch trims
	supplies                                      []func(proto uint8) bool // dataplane.Traits.Supplies of its programs
	spreading
}

// spreading is how a switch distributes flows over ports if it has a choice.
type spreading struct {
	mode    dataplane.Spreading
	place   document.Position // of the program that spreads
	program string
	hashes  bool // a switch chooses a fixed port for each flow, by its addresses and ports
}

// addSpreading merges the spreading of another switch: the mode that spreads packets most has priority.
func (s *spreading) addSpreading(x *spreading) {
	if x.mode > s.mode {
		s.mode, s.place, s.program = x.mode, x.place, x.program
	}
	s.hashes = s.hashes || x.hashes
}

// beginPoint resets the checker for a point, and collects the roles of its switches. programs is by node. It keeps the
// cached walks if the point has the previous point's network.
func (d *pathChecker) beginPoint(p *Point, programs [][]switchfile.Program) {
	walks := d.walks
	if n := p.measured.Network; d.network != n {
		walks = map[walkKey]*walk{}
	}
	*d = pathChecker{reader: d.reader, programs: programs, switches: make([]switchRole, len(programs)), walks: walks,
		network: p.measured.Network}
	for i, list := range programs {
		if !p.measured.Network.Nodes[i].Switch {
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
		d.anySwitch.marks = d.anySwitch.marks || x.marks
		d.anySwitch.answers = d.anySwitch.answers || x.answers
		d.anySwitch.records = d.anySwitch.records || x.records
	}
}

// addProgram adds what a program of the switch does.
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
	x.addSpreading(&spreading{t.Spreads, program.Position, program.Scheme.Name, t.Spreads == dataplane.OnePath &&
		t.SelectsPath})
}

// addTraits adds whether a program or scheduler marks or drops early.
func (x *switchRole) addTraits(t *dataplane.Traits) {
	x.marks, x.drops = x.marks || t.MarksFrom != nil, x.drops || t.DropsEarly
}

// walk has the ports that data passes on all shortest paths between two NICs.
type walk struct {
	ports       []topology.PortRef // sending ports, the sender's first
	levels      []int              // number of switches before each port
	shares      []float64          // share of the packets that each port sends
	before      [][]int            // links that lead to each port; −1: it is the sender's
	narrowest   topology.PortRef   // slowest port; of equal ones a switch's is preferred to the sender's
	minCapacity float64            // its capacity in bit/s
	queues      []topology.PortRef // slowest ports of switches
	choosing    []int              // switches with several ports to choose from
}

// walkKey identifies a walk: two NICs, and the frame size for links with rates in packets.
type walkKey struct {
	topology.NICPair
	frame int32
}

// capacity returns the rate of a link in bit/s. A rate in packets counts frames of the given size in bytes.
func capacity(r unit.LinkRate, frame int32) float64 {
	if r.Bits > 0 {
		return float64(r.Bits)
	}
	return float64(r.Packets) * 8 * float64(frame)
}

// findWalk returns the walk between two NICs, which must have a path, for frames of the given size in bytes. It caches
// walks.
func (d *pathChecker) findWalk(p *Point, pair topology.NICPair, frame int32) *walk {
	key := walkKey{pair, frame}
	if w, known := d.walks[key]; known {
		return w
	}
	n, r := p.measured.Network, p.measured.Routes
	w := &walk{}
	into := map[int][]int{} // by switch: links that lead there
	visit := func(port topology.PortRef, level int) {
		w.ports, w.levels = append(w.ports, port), append(w.levels, level)
		next := n.Links[port.Link].Ends[1-port.End]
		into[next] = append(into[next], port.Link)
	}
	visit(r.Ports(r.NICs().HostOf(pair.From))[r.NICs().PortOf(pair.From)], 0)
	entered := map[int]bool{}
	for i := 0; i < len(w.ports); i++ { // level by level, since paths are shortest
		node := n.Links[w.ports[i].Link].Ends[1-w.ports[i].End]
		if !n.Nodes[node].Switch || entered[node] {
			continue
		}
		entered[node] = true
		ports := r.PathsFrom(node).PortsTo(packet.Addr(pair.To + 1))
		if len(ports) > 1 {
			w.choosing = append(w.choosing, node)
		}
		for _, k := range ports {
			visit(r.Ports(node)[k], w.levels[i]+1)
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

// findNarrowest sets the narrowest port and the slowest ports of switches. The ports must be set. frame is in bytes,
// for rates in packets.
func (w *walk) findNarrowest(n *topology.Network, frame int32) {
	w.narrowest, w.minCapacity = w.ports[0], capacity(n.Links[w.ports[0].Link].Rate, frame)
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
	if slowest <= w.minCapacity {
		w.narrowest, w.minCapacity = w.queues[0], slowest
	}
}

// collectPaths adds to site the paths of the traffic's flows, each kind once. The traffic's flows are the point's flows
// from first on and before end. It returns how switches distribute the flows. It also sets the site's slowest paths,
// the size of the largest flow and how packets are sprayed.
func (d *pathChecker) collectPaths(p *Point, site *cc.FlowContext, tr *Traffic, first, end int) (spread spreading) {
	index := map[cc.FlowPath]int{} // index in site.Paths + 1
	frame := p.measured.Framing.FrameBytes(tr.measured.Headers(), tr.measured.Payload, true)
	counted := p.countEndless(tr, first, end) > 0 && site.AppRate == 0 // the flow is counted in loads
	reads := tr.cc != nil && tr.cc.Telemetry != telemetry.NoRequest
	p.eachPair(tr, first, end, func(src, dst int) {
		near, joined := p.measured.Routes.NearestPair(src, dst)
		if src == dst || !joined {
			return
		}
		w := d.findWalk(p, near, frame)
		for _, node := range w.choosing {
			spread.addSpreading(&d.switches[node].spreading)
		}
		x := cc.FlowPath{Path: p.measured.Path(near.From, near.To, &tr.measured)}
		x.BaseRTT += tr.traits.AckDelay
		x.NarrowLink.Rate = unit.Rate(w.minCapacity)
		x.NarrowLink.Payload = unit.Rate(w.minCapacity * float64(tr.measured.Payload) / float64(frame))
		if p.measured.Waits != nil && !d.isUnqueued(p, w, src, dst, frame) {
			x.DataQueueing = p.measured.MaxQueueing(near.From, near.To, func(port topology.PortRef) bool {
				return d.canQueue(p.measured.Network, port)
			})
		}
		x.Unlimited = d.findUnlimited(p, w)
		spreadSlow, wholeSlow := d.findSlow(p, w, frame)
		site.SlowestPath.KeepSlower(spreadSlow)
		site.SlowestFlowPath.KeepSlower(wholeSlow)
		d.addSignals(p, &x, w, tr)
		d.addLosses(p, &x, w)
		if x.Idle = d.isIdle(p, w); x.Idle {
			x.WhyLossless = "no port of a switch receives more than it can send"
		}
		busiest := w.narrowest
		if d.loads != nil {
			busiest, x.Flows = d.findBusiest(w)
			if !counted {
				x.Flows++
			}
			x.Flows = max(x.Flows, 1)
		}
		n := p.measured.Network
		ends := n.Links[busiest.Link].Ends
		if x.NarrowLink.Last = !n.Nodes[ends[1-busiest.End]].Switch; n.Nodes[ends[busiest.End]].Switch {
			x.NarrowLink.Buffer = n.Links[busiest.Link].Buffer.Bytes
		}
		var opposing cc.Opposing
		x.Crossed = reads && d.isCrossed(p, src, dst, frame)
		if reads { // only these use it, and it costs as much as the way there
			opposing = d.findOpposing(p, tr, w, src, dst, frame)
		}
		if k := index[x]; k > 0 { // among paths of one kind, the one with the most flows in both directions counts
			if y := &site.Paths[k-1].Opposing; min(opposing.Aligned, opposing.Opposed) > min(y.Aligned, y.Opposed) {
				*y = opposing
			}
			return
		}
		index[x] = len(site.Paths) + 1
		x.Opposing = opposing
		x.Name = p.measured.Network.Nodes[src].Name + "->" + p.measured.Network.Nodes[dst].Name
		x.NarrowLink.Port = p.measured.Network.PortName(busiest.Link, busiest.End)
		site.Paths = append(site.Paths, x)
	})
	site.MaxFlowSize = p.largestFlow(tr, first, end)
	site.Sprayed, site.Flowlets = spread.mode == dataplane.EachPacket, spread.mode == dataplane.EachFlowlet
	return spread
}

// canQueue reports whether data can queue at a port. As long as not all traffics are known, it is true; a port without
// traffic then cannot.
func (d *pathChecker) canQueue(n *topology.Network, port topology.PortRef) bool {
	return d.loads == nil || d.loads[port].canQueue(n.Links[port.Link].Rate)
}

// largestFlow returns the size of a traffic's largest flow; 0 if it is unknown, or flows have no end. Of many listed
// flows it examines a sample. The traffic's flows are the point's flows from first on and before end.
func (l *trafficList) largestFlow(tr *Traffic, first, end int) (largest unit.Bytes) {
	if g := tr.generator; g != nil {
		if g.Sizes != nil {
			return unit.Bytes(g.Sizes.SizeAt(1))
		}
		return g.Size
	}
	for i := first; i < end; i += max(1, (end-first)/maxPairs) {
		f := l.flows.flowAt(i)
		if f.Size == 0 {
			return 0
		}
		largest = max(largest, f.Size)
	}
	return largest
}

// addSignals sets the signals that a path gives a traffic, from the switches at ports where its data can queue. A field
// of reasons, such as WhyUnmarked, stays empty if the signal exists.
func (d *pathChecker) addSignals(p *Point, x *cc.FlowPath, w *walk, tr *Traffic) {
	var role switchRole
	for _, port := range w.ports[1:] {
		if !slices.Contains(w.queues, port) && !d.canQueue(p.measured.Network, port) {
			continue
		}
		l := &p.measured.Network.Links[port.Link]
		s := &d.switches[l.Ends[port.End]]
		role.marks, role.answers, role.trims = role.marks || s.marks, role.answers || s.answers, role.trims || s.trims
		role.records = role.records || s.records
		role.supplies = append(role.supplies, s.supplies...)
	}
	x.Trims = role.trims
	x.Supplied = tr.traits.TakesSupply && slices.ContainsFunc(role.supplies,
		func(supplies func(proto uint8) bool) bool { return supplies(tr.measured.Transport.Proto) })
	switch {
	case !role.marks && d.anySwitch.marks:
		x.WhyUnmarked = "no switch at which its packets can queue marks them (program ecn)"
	case !role.marks:
		x.WhyUnmarked = "no switch marks packets (program ecn)"
	case tr.cc != nil:
		x.WhyUnmarked = tr.traits.ReasonUnmarked(tr.cc.ECN)
	}
	switch {
	case role.records:
		x.WhyUnrecorded = tr.traits.ReasonUnrecorded()
	case d.anySwitch.records:
		x.WhyUnrecorded = "no switch at which its packets can queue writes telemetry (program telemetry)"
	default:
		x.WhyUnrecorded = "no switch writes telemetry (program telemetry)"
	}
	switch x.WhyUnanswered = tr.traits.ReasonUnanswered(); {
	case x.WhyUnanswered != "" || role.answers:
	case d.anySwitch.answers:
		x.WhyUnanswered = "no switch at which its packets can queue answers requests (program bolt)"
	default:
		x.WhyUnanswered = "no switch answers requests (program bolt)"
	}
}

// isIdle reports whether data cannot queue at any switch of a path: no port receives more than it can send. If a link
// is as slow as the sender's, this is false as long as not all traffics are known, and with events that change rates.
// It is then also false if switches pause, since any port may cause a pause.
func (d *pathChecker) isIdle(p *Point, w *walk) bool {
	x := p.measured.Waits
	changes := d.loads == nil || x == nil || x.Memory != nil || len(x.Rates) > 0
	if sender := p.measured.Network.Links[w.ports[0].Link].Rate; w.narrowest != w.ports[0] &&
		(changes || capacity(sender, ethernetFrame) > capacity(p.measured.Network.Links[w.narrowest.Link].Rate,
			ethernetFrame)) {
		return false
	}
	for _, port := range w.ports[1:] {
		if x := d.loads[port]; x.isCrowded(p.measured.Network.Links[port.Link].Rate) {
			return false
		}
	}
	return true
}

// isUnqueued reports whether neither data nor acknowledgements of a path can wait at a switch: no port receives more
// than it can send. It is false as long as not all traffics are known, with events that change rates, and if switches
// pause, since any port may cause a pause. The point's limits of waiting must be set (limitWaits).
func (d *pathChecker) isUnqueued(p *Point, there *walk, src, dst int, frame int32) bool {
	near, joined := p.measured.Routes.NearestPair(dst, src)
	if x := p.measured.Waits; d.loads == nil || !joined || x.Memory != nil || len(x.Rates) > 0 {
		return false
	}
	for _, w := range []*walk{there, d.findWalk(p, near, frame)} {
		for _, port := range w.ports[1:] {
			if d.loads[port].isCrowded(p.measured.Network.Links[port.Link].Rate) {
				return false
			}
		}
	}
	return true
}

// findUnlimited returns the name of a path's first port that receives more than it can send and has no limit. It is ""
// if there is no such port, if switches pause, and as long as not all traffics are known.
func (d *pathChecker) findUnlimited(p *Point, w *walk) string {
	if p.measured.Waits == nil || p.measured.Waits.Memory != nil || d.loads == nil {
		return ""
	}
	n := p.measured.Network
	for _, port := range w.ports[1:] {
		l := &n.Links[port.Link]
		limit := p.switches[l.Ends[port.End]].QueueLimit
		limited := l.Buffer != (unit.Length{}) || limit.Bytes > 0 || limit.Packets > 0 ||
			p.measured.Waits.Ports[port.Link][port.End] != (dataplane.Backlog{})
		if !limited && d.loads[port].isCrowded(l.Rate) {
			return n.PortName(port.Link, port.End)
		}
	}
	return ""
}

// addLosses sets whether a path loses packets at ports where data can queue, and how long its queues can be. Wait is 0
// if a queue has no limit in bytes.
func (d *pathChecker) addLosses(p *Point, x *cc.FlowPath, w *walk) {
	lossy, paused, endless := false, true, false
	for _, port := range w.ports[1:] {
		if !slices.Contains(w.queues, port) && !d.canQueue(p.measured.Network, port) {
			continue
		}
		l := &p.measured.Network.Links[port.Link]
		s := &d.switches[l.Ends[port.End]]
		if s.drops || l.Buffer.Bytes > 0 || l.Buffer.Packets > 0 {
			lossy, paused = true, paused && s.pauses
		}
		if s.trims {
			x.MaxQueueDelay = max(x.MaxQueueDelay, s.holds)
		}
		if l.Buffer.Bytes == 0 || l.Rate.Bits == 0 {
			endless = true // or counted in packets of different lengths
			continue
		}
		x.Wait = max(x.Wait, unit.Time(float64(l.Buffer.Bytes)*8e12/float64(l.Rate.Bits)))
	}
	if endless {
		x.Wait = 0
	}
	switch {
	case !lossy:
		x.WhyLossless = "no switch has a buffer that ends"
	case paused:
		x.WhyLossless = "switches pause their neighbours before buffers end (program pfc)"
	}
}

// longProducts is the minimum size of a long flow, in products of rate and round trip. Shorter flows end before they
// oscillate.
const longProducts = 3.8

// longFlows returns the mean number of flows for each pair of hosts that eachPair visits, if the traffic's flows are
// long-lived and begin together, and the size of the smallest; 0: they have no end. Flows that arrive at a load, of a
// job, of a collective operation and of a file follow one another, so they do not count.
func (p *Point) longFlows(tr *Traffic, first, end int) (perPair float64, size unit.Bytes) {
	if g := tr.generator; g != nil {
		if g.OfferedLoad > 0 || g.Sizes != nil {
			return 0, 0
		}
		return g.perPair(p, tr), g.Size
	}
	if first == end {
		return 0, 0
	}
	step := max(1, (end-first)/maxPairs)
	for i := first; i < end; i += step {
		f := p.flows.flowAt(i)
		if f.reduction != nil || f.captured || f.Port != 0 || f.SetStart != 0 {
			return 0, 0
		}
		if i == first || f.Size < size {
			size = f.Size
		}
	}
	return float64(step), size
}

// perPair returns the mean number of simultaneous flows for each pair of hosts that eachPair visits.
func (g *Generator) perPair(p *Point, tr *Traffic) float64 {
	pairs := 0
	g.eachPair(func(int, int) { pairs++ })
	return g.ExpectedFlows(p, tr) / float64(max(pairs, 1)*max(len(g.Sets), 1))
}

// countEndless returns the mean number of flows without an end for each pair of hosts that eachPair visits; 0: the
// traffic's flows end, and may not overlap.
func (p *Point) countEndless(tr *Traffic, first, end int) float64 {
	if g := tr.generator; g != nil {
		if g.OfferedLoad > 0 || g.MeanSize() > 0 {
			return 0
		}
		return g.perPair(p, tr)
	}
	if first == end || p.flows.flowAt(first).Size > 0 {
		return 0
	}
	return float64(max(1, (end-first)/maxPairs))
}

// isNarrowest reports whether port i of the walk is as slow as its narrowest. If the sender's port is the narrowest,
// only that port is.
func (w *walk) isNarrowest(i int) bool {
	return w.ports[i] == w.narrowest || w.narrowest != w.ports[0] && slices.Contains(w.queues, w.ports[i])
}

// findBusiest returns, among a walk's narrowest ports, the one with the most endless flows, and their number, rounded.
// Before all traffics are known it is the narrowest port and 0.
func (d *pathChecker) findBusiest(w *walk) (busiest topology.PortRef, flows int) {
	busiest = w.narrowest
	for i, port := range w.ports {
		if x := d.loads[port]; w.isNarrowest(i) && x != nil && int(x.endlessCount+.5) > flows {
			busiest, flows = port, int(x.endlessCount+.5)
		}
	}
	return busiest, flows
}

// countLong adds a pair's flows to the ports of the walk, if their controller reads telemetry and they are long. trip
// is their round trip, and perPair their number. size is the smallest size in bytes; 0: they have no end. Ports that
// are alternatives have equal shares. Every port of w must have a load.
func (d *pathChecker) countLong(p *Point, loads map[topology.PortRef]*portLoad, tr *Traffic, w *walk, trip unit.Time,
	perPair float64, size unit.Bytes) {
	if tr.cc == nil || tr.cc.Telemetry == telemetry.NoRequest || tr.traits.AppRate > 0 {
		return
	}
	if size > 0 && float64(size) < longProducts*w.minCapacity/8*trip.Seconds() {
		return
	}
	for i, share := range w.shares {
		loads[w.ports[i]].longCount += perPair * share
	}
}

// shareEvenly sets w.shares: the share of the packets that each port sends if switches spread them evenly. The ports
// must be in order of their levels.
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

// findOpposing counts the long flows that share a port with the data of a path, and with its acknowledgements. It
// returns zero as long as not all traffics are known.
func (d *pathChecker) findOpposing(p *Point, tr *Traffic, w *walk, src, dst int, frame int32) (o cc.Opposing) {
	near, joined := p.measured.Routes.NearestPair(dst, src)
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
	return cc.Opposing{Port: p.measured.Network.PortName(port.Link, port.End), Aligned: aligned, Opposed: opposed,
		Paths: int(1/w.shares[there] + .5)}
}

// isCrossed reports whether data of long flows passes a port on the way back from dst to src.
func (d *pathChecker) isCrossed(p *Point, src, dst int, frame int32) bool {
	near, joined := p.measured.Routes.NearestPair(dst, src)
	return joined && slices.ContainsFunc(d.findWalk(p, near, frame).ports, func(port topology.PortRef) bool {
		x := d.loads[port]
		return x != nil && x.longCount > 0
	})
}

// findMostLong returns the index of the walk's port at which the most long flows queue, and their number. Only ports at
// which hosts can queue data count, and skip excludes switches. Without such a port it returns 0, 0.
func (d *pathChecker) findMostLong(p *Point, w *walk, skip func(node int) bool) (busiest, flows int) {
	n := p.measured.Network
	for i, k := range w.ports[1:] {
		l, x := &n.Links[k.Link], d.loads[k]
		if !x.isCrowded(l.Rate) || skip(l.Ends[k.End]) {
			continue
		}
		if f := int(x.longCount + .5); f > flows {
			busiest, flows = i+1, f
		}
	}
	return busiest, flows
}

// findSlow returns two ports of a walk with the smallest share of the rate of another port after as many switches, at
// the lowest rate that events give to their links. spread is among ports that get more than their rate if each gets an
// equal share of what hosts can send. whole is among ports that are slower for a flow that sends all its packets
// there. As long as not all traffics are known, and without a choice of ports, both are empty.
func (d *pathChecker) findSlow(p *Point, w *walk, frame int32) (spread, whole cc.SlowPath) {
	if d.loads == nil || len(w.choosing) == 0 {
		return spread, whole
	}
	n := p.measured.Network
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
			Flows: int(d.loads[port].longCount/w.shares[i] + .5), Share: w.shares[i]}, d.loads[port].sumSources()
		if rate < best && load > rate {
			whole.KeepSlower(x)
		}
		if load/float64(ports[w.levels[i]]) > rate {
			spread.KeepSlower(x)
		}
	}
	return spread, whole
}

// lowestRate returns the lowest rate of a port's link during the run, including events that the limits of waiting
// include.
func (p *Point) lowestRate(port topology.PortRef) unit.LinkRate {
	if w := p.measured.Waits; w != nil {
		if r, changed := w.Rates[port.Link]; changed {
			return r
		}
	}
	return p.measured.Network.Links[port.Link].Rate
}

// sumSources returns the total rate of the hosts of all flows that may pass a port, in bit/s. Each host counts once; a
// nil load is 0.
func (x *portLoad) sumSources() (sum float64) {
	if x == nil {
		return 0
	}
	maxRates := map[int]float64{}
	for _, sources := range x.ratesByLink {
		for src, rate := range sources {
			maxRates[src] = max(maxRates[src], rate)
		}
	}
	for _, rate := range maxRates {
		sum += rate
	}
	return sum
}
