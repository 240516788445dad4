package experiment

import (
	"maps"
	"math"
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/switchfile"
)

// portLoad is the load of the point's traffics at one port.
type portLoad struct {
	informed     bool                    // packets of a controller that uses telemetry pass the port
	narrow       bool                    // the port is the narrowest of some path
	longCount    float64                 // number of long flows of controllers that read telemetry
	endlessCount float64                 // endless flows that it limits, as a narrowest port of their path
	paced        float64                 // number of endless flows without a controller through it
	pace         map[int]float64         // bit/s of these flows by sending host
	longest      unit.Time               // longest round trip of flows with a controller through it
	inflow       float64                 // max bit/s that hosts can send to it together
	ratesByLink  map[int]map[int]float64 // bit/s of each host, by the link before the port; −1: the host itself
}

// findLoads returns the loads at all ports that the point's traffics pass, and the highest rate of a path's narrowest
// link. Of traffics with many pairs of hosts it counts a sample.
func (d *pathChecker) findLoads(p *Point) (loads map[topology.PortRef]*portLoad, fastest unit.Rate) {
	loads = map[topology.PortRef]*portLoad{}
	ranges := p.flowRanges()
	for id := range p.entries {
		tr := &p.entries[id]
		each := p.countEndless(tr, ranges[id][0], ranges[id][1])
		perPair, size := p.longFlows(tr, ranges[id][0], ranges[id][1])
		frame := p.measured.Framing.FrameBytes(tr.measured.Headers(), tr.measured.Payload, true)
		app := float64(tr.traits.AppRate) * float64(frame) / float64(max(tr.measured.Payload, 1))
		p.eachPair(tr, ranges[id][0], ranges[id][1], func(src, dst int) {
			near, joined := p.measured.Routes.NearestPair(src, dst)
			if src == dst || !joined {
				return
			}
			w := d.findWalk(p, near, frame)
			fastest = max(fastest, unit.Rate(w.minCapacity))
			trip := unit.Time(0)
			if tr.cc != nil {
				trip = p.measured.Path(near.From, near.To, &tr.measured).BaseRTT + tr.traits.AckDelay
			}
			for i, port := range w.ports {
				x := loads[port]
				if x == nil {
					x = &portLoad{ratesByLink: map[int]map[int]float64{}}
					loads[port] = x
				}
				x.longest = max(x.longest, trip)
				x.informed = x.informed || tr.cc != nil && tr.cc.Telemetry != telemetry.NoRequest
				x.narrow = x.narrow || capacity(p.measured.Network.Links[port.Link].Rate, frame) == w.minCapacity
				for _, link := range w.before[i] {
					if x.ratesByLink[link] == nil {
						x.ratesByLink[link] = map[int]float64{}
					}
					x.ratesByLink[link][src] = addOffered(x.ratesByLink[link][src],
						capacity(p.measured.Network.Links[w.ports[0].Link].Rate, frame), app,
						each)
				}
			}
			link := capacity(p.measured.Network.Links[w.ports[0].Link].Rate, frame)
			for i, port := range w.ports {
				switch x := loads[port]; {
				case app == 0 && w.isNarrowest(i):
					x.endlessCount += each * w.shares[i]
				case app > 0 && tr.cc == nil:
					x.addDatagrams(src, each*w.shares[i], app, link)
				}
			}
			d.countLong(p, loads, tr, w, trip, perPair, size)
		})
	}
	p.findInflows(loads)
	return loads, fastest
}

// addDatagrams adds flows without a controller, each with app bit/s, of a host. The host's total is at most link, the
// rate of its link in bit/s.
func (x *portLoad) addDatagrams(host int, flows, app, link float64) {
	if x.pace == nil {
		x.pace = map[int]float64{}
	}
	x.paced += flows
	x.pace[host] = min(x.pace[host]+float64(app*flows), link)
}

// sumRates returns the total rate of flows without a controller in bit/s. Hosts are added in order, for equal rounding.
func (x *portLoad) sumRates() (sum float64) {
	for _, host := range slices.Sorted(maps.Keys(x.pace)) {
		sum += x.pace[host]
	}
	return sum
}

// addOffered adds flows to the rate that a host sends, in bit/s. link limits the sum. app is the application's rate
// for each flow; 0: unlimited. If flows is 0 they have an end and need not overlap, so one flow counts.
func addOffered(rate, link, app, flows float64) float64 {
	switch {
	case app == 0:
		return link
	case flows == 0:
		return max(rate, min(app, link))
	}
	return min(rate+app*flows, link)
}

// maxRounds limits how many links inflows are followed.
const maxRounds = 8

// findInflows sets the inflow of each port. Each link to the port's switch contributes the smallest of its hosts'
// rates, its own rate, and the inflow of the port before it. The ratesByLink must be known. After maxRounds it stops,
// and inflows may be too high.
func (p *Point) findInflows(loads map[topology.PortRef]*portLoad) {
	n := p.measured.Network
	for port, x := range loads {
		x.inflow = math.Inf(1)
		if !n.Nodes[n.Links[port.Link].Ends[port.End]].Switch {
			x.inflow = capacity(n.Links[port.Link].Rate, ethernetFrame)
		}
	}
	for range maxRounds {
		changed := false
		for port, x := range loads {
			node, sum := n.Links[port.Link].Ends[port.End], 0.0
			for link, sources := range x.ratesByLink {
				all := 0.0
				for _, rate := range sources {
					all += rate
				}
				if link >= 0 {
					l := &n.Links[link]
					before := topology.PortRef{Link: link}
					if l.Ends[0] == node {
						before.End = 1
					}
					all = min(all, capacity(l.Rate, ethernetFrame))
					if y := loads[before]; y != nil {
						all = min(all, y.inflow)
					}
				}
				sum += all
			}
			if sum < x.inflow {
				x.inflow, changed = sum, true
			}
		}
		if !changed {
			return
		}
	}
}

// canQueue reports whether data can queue at a port: it is the narrowest of a path, or hosts can together send more to
// it than it sends. rate is the port's; a nil load cannot queue.
func (x *portLoad) canQueue(rate unit.LinkRate) bool {
	return x != nil && (x.narrow || x.isCrowded(rate))
}

// isCrowded reports whether hosts can together send more to a port than it sends. It is false for a nil load.
func (x *portLoad) isCrowded(rate unit.LinkRate) bool {
	return x != nil && x.inflow > capacity(rate, ethernetFrame)*1.000001
}

// finding is a warning about a switch, and how much it exceeds its bound there.
type finding struct {
	document.Warning
	excess float64
}

// checkPrograms collects the remarks of programs and schedulers of switches about their context, and reports them. Of
// several switches with the same entry in the file it reports the worst. It has no effect after errors, and on an ideal
// network. Afterwards the checker knows all traffics.
func (d *pathChecker) checkPrograms(p *Point) {
	if !d.OK() || p.measured.NoPackets {
		return
	}
	loads, fastest := d.findLoads(p)
	d.checkTrafficAgain(p, loads)
	d.checkUnits(p, loads)
	s := d.describeSwitches(p)
	s.MaxNarrowRate = fastest
	if text := s.DividedUsers(nil, true); text != "" {
		d.warn(dataplane.WarnDivided, p.usersAt, "%s", text)
	}
	var found []finding
	add := func(w document.Warning, excess float64) {
		k := slices.IndexFunc(found, func(x finding) bool { return x.Kind == w.Kind && x.At == w.At })
		switch {
		case k < 0:
			found = append(found, finding{w, excess})
		case excess > found[k].excess:
			found[k] = finding{w, excess}
		}
	}
	senders := p.listedSenders()
	for i, list := range d.programs {
		if !p.measured.Network.Nodes[i].Switch || len(list) == 0 {
			continue
		}
		s.Switch, s.Queues = p.measured.Network.Nodes[i].Name, p.switches[i].Queues
		s.Ports = p.switchPorts(i, loads, senders)
		s.QueueLimit = switchfile.QueueLimit(unit.Length(p.switches[i].QueueLimit), list, len(s.Ports))
		for k := range list {
			list[k].ReportRemarks(d.Reader, s, add)
		}
		if x := p.served[i]; x != nil {
			x.ReportRemarks(d.Reader, s, add)
		}
	}
	for i := range found {
		d.issue(found[i].Warning)
	}
}

// checkTrafficAgain repeats checkTraffic with the loads, which show the ports at which data can queue. A switch that
// marks, trims or answers elsewhere on a path gives no signal of a queue.
func (d *pathChecker) checkTrafficAgain(p *Point, loads map[topology.PortRef]*portLoad) {
	d.loads = loads
	for id := range d.checked {
		x := &d.checked[id]
		d.transport, d.control, d.transportAt = x.transport, x.control, x.transportAt
		d.checkTraffic(p, id, x.first, x.end)
	}
}

// describeSwitches returns the context of programs that is the same for all switches. checkTraffic must have measured
// the round trips.
func (d *pathChecker) describeSwitches(p *Point) *dataplane.SwitchContext {
	s := &dataplane.SwitchContext{Framing: p.measured.Framing, MinRTT: d.shortest, MaxRTT: d.longest,
		Book: p.book}
	for i := range p.entries {
		tr := &p.entries[i]
		s.MaxFrame = max(s.MaxFrame, p.measured.Framing.FrameBytes(tr.measured.MaxHeaders(), tr.measured.Payload, true))
		if tr.measured.Transport.Kernel != packet.ProtoTCP {
			s.MaxRigidPacket = max(s.MaxRigidPacket, tr.measured.MaxHeaders()+tr.measured.Payload-packet.EthernetHeader)
		}
	}
	for i := range p.measured.Network.Nodes {
		s.Nodes = append(s.Nodes, p.measured.Network.Nodes[i].Name)
	}
	s.Dual = p.dualNodes()
	return s
}

// dualNodes reports for each node whether flows of both IP versions begin or end there. It regards listed flows only.
func (p *Point) dualNodes() []bool {
	versions := [2][]bool{}
	for v := range versions {
		versions[v] = make([]bool, len(p.measured.Network.Nodes))
	}
	for i := range p.flows.count {
		f, v := p.flows.flowAt(i), 0
		if p.entries[f.Traffic].measured.Version == 6 {
			v = 1
		}
		versions[v][f.Src], versions[v][f.Dst] = true, true
	}
	for i := range versions[0] {
		versions[0][i] = versions[0][i] && versions[1][i]
	}
	return versions[0]
}

// flowRanges returns, by traffic, the index of its first listed flow and the index after its last one; both are 0
// without listed flows.
func (l *trafficList) flowRanges() [][2]int {
	ranges := make([][2]int, len(l.entries))
	for i := range l.flows.count {
		r := &ranges[l.flows.flowAt(i).Traffic]
		if r[1] == 0 {
			r[0] = i
		}
		r[1] = i + 1
	}
	return ranges
}

// listedSenders returns, by receiving node, the number of flows that the file lists individually. Flows of a file or
// of sets follow one another, so they do not count.
func (p *Point) listedSenders() []int {
	senders := make([]int, len(p.measured.Network.Nodes))
	for i := range p.flows.count {
		if f := p.flows.flowAt(i); f.Port == 0 && f.SetStart == 0 && !f.captured {
			senders[f.Dst]++
		}
	}
	return senders
}

// switchPorts returns the ports of switch sw as programs see them. senders is by node (listedSenders).
func (p *Point) switchPorts(sw int, loads map[topology.PortRef]*portLoad, senders []int) (ports []dataplane.Peer) {
	n := p.measured.Network
	for _, port := range p.measured.Routes.Ports(sw) {
		l := &n.Links[port.Link]
		other := l.Ends[1-port.End]
		f := dataplane.Peer{To: n.Nodes[other].Name, Host: !n.Nodes[other].Switch, Rate: l.Rate, Buffer: l.Buffer,
			Senders: senders[other], Name: n.PortName(port.Link, port.End), Idle: true}
		if x := loads[port]; x != nil {
			f.Idle, f.MaxRTT = !x.canQueue(l.Rate), x.longest
			f.EndlessFlows, f.Datagrams, f.DatagramRate = x.endlessCount, x.paced, unit.Rate(x.sumRates())
		}
		if !f.Host {
			f.Drift = p.switches[sw].Clock.Drift - p.switches[other].Clock.Drift
		}
		ports = append(ports, f)
	}
	return ports
}

// ethernetFrame is the size in bytes of a full frame, used to convert packets to bit/s.
const ethernetFrame = 1514
