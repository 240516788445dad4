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

// portLoad is what the point's traffics do at one port.
type portLoad struct {
	informed bool                    // packets of a controller that wants telemetry pass it
	narrow   bool                    // it is the narrowest of some path through it
	long     float64                 // long flows of controllers that read telemetry
	flows    float64                 // flows without an end that it limits, as one of the narrowest of their path
	paced    float64                 // flows without an end and without a controller through it
	pace     map[int]float64         // bit/s that each host sends of them
	longest  unit.Time               // round trip of the flows with a controller through it
	inflow   float64                 // max bit/s that hosts can send to it together
	by       map[int]map[int]float64 // by the link that leads there, −1 for the host itself: bit/s that each host can send
}

// findLoads finds what the point's traffics do at the ports that they pass, and the largest rate of a path's narrowest
// link.
func (d *pathChecker) findLoads(p *Point) (loads map[topology.PortRef]*portLoad, fastest unit.Rate) {
	loads = map[topology.PortRef]*portLoad{}
	ranges := p.flowRanges()
	for id := range p.entries {
		tr := &p.entries[id]
		each := p.countEndless(tr, ranges[id][0], ranges[id][1])
		perPair, size := p.longFlows(tr, ranges[id][0], ranges[id][1])
		frame := p.seen.Framing.Frame(tr.seen.Headers(), tr.seen.Payload, true)
		app := float64(tr.traits.AppRate) * float64(frame) / float64(max(tr.seen.Payload, 1))
		p.eachPair(tr, ranges[id][0], ranges[id][1], func(src, dst int) {
			near, joined := p.seen.Routes.Near(src, dst)
			if src == dst || !joined {
				return
			}
			w := d.findWalk(p, near, frame)
			fastest = max(fastest, unit.Rate(w.least))
			trip := unit.Time(0)
			if tr.cc != nil {
				trip = p.seen.Path(near.From, near.To, &tr.seen).BaseRTT + tr.traits.AckDelay
			}
			for i, port := range w.ports {
				x := loads[port]
				if x == nil {
					x = &portLoad{by: map[int]map[int]float64{}}
					loads[port] = x
				}
				x.longest = max(x.longest, trip)
				x.informed = x.informed || tr.cc != nil && tr.cc.Telemetry != telemetry.Nothing
				x.narrow = x.narrow || capacity(p.seen.Network.Links[port.Link].Rate, frame) == w.least
				for _, link := range w.before[i] {
					if x.by[link] == nil {
						x.by[link] = map[int]float64{}
					}
					x.by[link][src] = addOffered(x.by[link][src], capacity(p.seen.Network.Links[w.ports[0].Link].Rate, frame), app,
						each)
				}
			}
			link := capacity(p.seen.Network.Links[w.ports[0].Link].Rate, frame)
			for i, port := range w.ports {
				switch x := loads[port]; {
				case app == 0 && w.isNarrowest(i):
					x.flows += each * w.shares[i]
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

// addDatagrams adds flows without a controller of a host with this link, with app bit/s each.
func (x *portLoad) addDatagrams(host int, flows, app, link float64) {
	if x.pace == nil {
		x.pace = map[int]float64{}
	}
	x.paced += flows
	x.pace[host] = min(x.pace[host]+float64(app*flows), link)
}

// sumRates returns what all hosts send of flows without a controller, in bit/s.
func (x *portLoad) sumRates() (sum float64) {
	for _, host := range slices.Sorted(maps.Keys(x.pace)) {
		sum += x.pace[host]
	}
	return sum
}

// addOffered adds a flow, or as many as it stands for, to what a host sends: at most what its link carries, and what
// the application has for each flow; 0: always more. Flows with an end need not be there together.
func addOffered(rate, link, app, flows float64) float64 {
	switch {
	case app == 0:
		return link
	case flows == 0:
		return max(rate, min(app, link))
	}
	return min(rate+app*flows, link)
}

// maxRounds limits how far inflows are followed, in links.
const maxRounds = 8

// findInflows finds the inflow of each port: by each link that leads to its switch at most what that link carries, and
// what flows into it.
func (p *Point) findInflows(loads map[topology.PortRef]*portLoad) {
	n := p.seen.Network
	for port, x := range loads {
		x.inflow = math.Inf(1)
		if !n.Nodes[n.Links[port.Link].Ends[port.End]].Switch {
			x.inflow = capacity(n.Links[port.Link].Rate, ethernetFrame)
		}
	}
	for range maxRounds {
		changed := false
		for port, x := range loads {
			at, sum := n.Links[port.Link].Ends[port.End], 0.0
			for link, sources := range x.by {
				all := 0.0
				for _, rate := range sources {
					all += rate
				}
				if link >= 0 {
					l := &n.Links[link]
					before := topology.PortRef{Link: link}
					if l.Ends[0] == at {
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
// it than it sends.
func (x *portLoad) canQueue(rate unit.LinkRate) bool {
	return x != nil && (x.narrow || x.isCrowded(rate))
}

// isCrowded reports whether hosts can together send more to a port than it sends.
func (x *portLoad) isCrowded(rate unit.LinkRate) bool {
	return x != nil && x.inflow > capacity(rate, ethernetFrame)*1.000001
}

// finding is a warning of a switch, and how far it is beyond its bound there.
type finding struct {
	document.Warning
	excess float64
}

// checkPrograms asks the programs and schedulers of switches what they have to say of where they stand. Of several
// switches that have the same entry of the file the worst is named.
func (d *pathChecker) checkPrograms(p *Point) {
	if !d.OK() || p.seen.NoPackets {
		return
	}
	loads, fastest := d.findLoads(p)
	d.checkTrafficAgain(p, loads)
	d.checkUnits(p, loads)
	s := d.describeSwitches(p)
	s.Fastest = fastest
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
		if !p.seen.Network.Nodes[i].Switch || len(list) == 0 {
			continue
		}
		s.Switch, s.Queues = p.seen.Network.Nodes[i].Name, p.switches[i].Queues
		s.Ports = p.switchPorts(i, loads, senders)
		s.QueueLimit = switchfile.QueueLimit(unit.Length(p.switches[i].QueueLimit), list, len(s.Ports))
		for k := range list {
			list[k].Remarks(d.Reader, s, add)
		}
		if x := p.served[i]; x != nil {
			x.Remarks(d.Reader, s, add)
		}
	}
	for i := range found {
		d.issue(found[i].Warning)
	}
}

// checkTrafficAgain asks transports and controllers again, with the ports at which data can queue: that a switch
// elsewhere on a path marks, trims or answers is no signal of a queue.
func (d *pathChecker) checkTrafficAgain(p *Point, loads map[topology.PortRef]*portLoad) {
	d.loads = loads
	for id := range d.asked {
		x := &d.asked[id]
		d.transport, d.control, d.transportAt = x.transport, x.control, x.transportAt
		d.checkTraffic(p, id, x.first, x.end)
	}
}

// describeSwitches returns what the programs of all switches may depend on.
func (d *pathChecker) describeSwitches(p *Point) *dataplane.SwitchContext {
	s := &dataplane.SwitchContext{Framing: p.seen.Framing, Shortest: d.shortest, Longest: d.longest,
		Book: p.book}
	for i := range p.entries {
		tr := &p.entries[i]
		s.MaxFrame = max(s.MaxFrame, p.seen.Framing.Frame(tr.seen.MostHeaders(), tr.seen.Payload, true))
		if tr.seen.Transport.Kernel != packet.ProtoTCP {
			s.Rigid = max(s.Rigid, tr.seen.MostHeaders()+tr.seen.Payload-packet.EthernetHeader)
		}
	}
	for i := range p.seen.Network.Nodes {
		s.Nodes = append(s.Nodes, p.seen.Network.Nodes[i].Name)
	}
	s.Dual = p.dualNodes()
	return s
}

// dualNodes reports for each node whether flows of both IP versions begin or end there.
func (p *Point) dualNodes() []bool {
	versions := [2][]bool{}
	for v := range versions {
		versions[v] = make([]bool, len(p.seen.Network.Nodes))
	}
	for i := range p.flows.n {
		f, v := p.flows.at(i), 0
		if p.entries[f.Traffic].seen.Version == 6 {
			v = 1
		}
		versions[v][f.Src], versions[v][f.Dst] = true, true
	}
	for i := range versions[0] {
		versions[0][i] = versions[0][i] && versions[1][i]
	}
	return versions[0]
}

// flowRanges returns the first of the flows that each traffic lists, and the one after its last.
func (l *trafficList) flowRanges() [][2]int {
	ranges := make([][2]int, len(l.entries))
	for i := range l.flows.n {
		r := &ranges[l.flows.at(i).Traffic]
		if r[1] == 0 {
			r[0] = i
		}
		r[1] = i + 1
	}
	return ranges
}

// listedSenders counts by node the flows that the file lists one by one. Flows of a file or of sets follow one another,
// and do not count.
func (p *Point) listedSenders() []int {
	senders := make([]int, len(p.seen.Network.Nodes))
	for i := range p.flows.n {
		if f := p.flows.at(i); f.Port == 0 && f.Later == 0 && !f.captured {
			senders[f.Dst]++
		}
	}
	return senders
}

// switchPorts returns a switch's ports. Data can queue at one that is the narrowest of a path, or to which hosts can
// together
// send more than it sends.
func (p *Point) switchPorts(sw int, loads map[topology.PortRef]*portLoad, senders []int) (ports []dataplane.Peer) {
	n := p.seen.Network
	for _, port := range p.seen.Routes.Ports(sw) {
		l := &n.Links[port.Link]
		other := l.Ends[1-port.End]
		f := dataplane.Peer{To: n.Nodes[other].Name, Host: !n.Nodes[other].Switch, Rate: l.Rate, Buffer: l.Buffer,
			Senders: senders[other], Name: n.PortName(port.Link, port.End), Idle: true}
		if x := loads[port]; x != nil {
			f.Idle, f.Longest = !x.canQueue(l.Rate), x.longest
			f.Endless, f.Datagrams, f.DatagramRate = x.flows, x.paced, unit.Rate(x.sumRates())
		}
		if !f.Host {
			f.Drift = p.switches[sw].Clock.Drift - p.switches[other].Clock.Drift
		}
		ports = append(ports, f)
	}
	return ports
}

// ethernetFrame is a full frame, in which packets of links that count them are converted to bit/s.
const ethernetFrame = 1514
