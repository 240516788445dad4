package spec

import (
	"fmt"
	"slices"

	"weir/core/cc"
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/switchfile"
)

// surroundings are what schemes of a point's traffic may want to know of its switches.
type surroundings struct {
	spreads     dataplane.Spreading // the most that a switch does to flows that have a choice of ports
	spreadAt    document.Place
	spreadBy    string
	hashes      bool // a switch chooses a flow's port for good, by its addresses and ports, where it has a choice
	marks       bool
	drops       bool
	wait        unit.Time // behind the longest queue that a port's buffer holds; 0: some does not end
	pauses      bool
	trims       bool                   // some program trims packets
	holds       unit.Time              // what its queues hold at most
	answers     bool                   // some program answers requests of packets
	suppliers   []dataplane.Supplier   // programs that tell senders by NACKs what they have for them
	programs    [][]switchfile.Program // by node
	shortest    unit.Time              // round trip of a traffic with a controller; 0: there is none
	longest     unit.Time
	transport   *document.Node // parameters of the traffic in hand
	control     *document.Node
	transportAt document.Place
}

// surround looks at the programs of a point's switches.
func (d *decoder) surround(p *Point, programs [][]switchfile.Program) {
	d.around = surroundings{programs: programs}
	a := &d.around
	endless := false
	for i := range p.seen.Network.Links {
		l := &p.seen.Network.Links[i]
		a.drops = a.drops || l.Buffer.Bytes > 0 || l.Buffer.Packets > 0
		if l.Buffer.Bytes == 0 || l.Rate.Bits == 0 {
			endless = true // or counted in packets, whose lengths differ
			continue
		}
		a.wait = max(a.wait, unit.Time(float64(l.Buffer.Bytes)*8e12/float64(l.Rate.Bits)))
	}
	if endless {
		a.wait = 0
	}
	for i, list := range programs {
		if !p.seen.Network.Nodes[i].Switch {
			continue
		}
		a.drops = a.drops || p.switches[i].QueueLimit.Bytes > 0 || p.switches[i].QueueLimit.Packets > 0
		choice := hasChoice(p.seen.Routes, i)
		if s := p.served[i]; s != nil {
			d.decides(p, i, s.At, "scheduler "+s.Scheme.Name, s.Config)
		}
		for _, x := range list {
			d.decides(p, i, x.At, "program "+x.Scheme.Name, x.Config)
			_, answers := x.Config.(dataplane.Answering)
			if supplier, ok := x.Config.(dataplane.Supplier); ok {
				a.suppliers = append(a.suppliers, supplier)
			}
			_, pauses := x.Config.(dataplane.Pauser)
			a.pauses, a.answers = a.pauses || pauses, a.answers || answers
			trimmer, trims := x.Config.(dataplane.Trimmer)
			if trims && trimmer.Trims() {
				a.trims = true
				if h, ok := x.Config.(dataplane.Holding); ok {
					a.holds = max(a.holds, h.Holds())
				}
			}
			s := dataplane.Spreads(x.Config)
			if choice && s > a.spreads {
				a.spreads, a.spreadAt, a.spreadBy = s, x.At, x.Scheme.Name
			}
			a.hashes = a.hashes || choice && s == dataplane.OnePath && dataplane.ChoosesPath(x.Config)
		}
	}
}

// decides notes whether a program or scheduler marks or drops.
func (d *decoder) decides(p *Point, sw int, at document.Place, what string, c scheme.Config) {
	marker, marks := c.(dataplane.Marker)
	if marks = marks && marker.MarksFrom(unit.Gbps) >= 0; marks {
		d.marksLate(p, sw, at, what, marker)
	}
	_, loses := c.(dataplane.Loser)
	d.around.marks, d.around.drops = d.around.marks || marks, d.around.drops || loses
}

// marksLate warns of what marks by queues longer than the buffer of one of its switch's ports.
func (d *decoder) marksLate(p *Point, sw int, at document.Place, what string, marker dataplane.Marker) {
	n := p.seen.Network
	for _, port := range p.seen.Routes.Ports(sw) {
		l := &n.Links[port.Link]
		if from := marker.MarksFrom(l.Rate.Bits); l.Buffer.Bytes > 0 && from >= l.Buffer.Bytes {
			d.warn("%v: %s: at ports of %v it marks from %v on, and their buffers end at %v: packets are lost first",
				at, what, l.Rate, from, l.Buffer.Bytes)
			return
		}
	}
}

// programsSuit asks the programs and schedulers of switches what they have to say of where they stand. One that
// several switches have says the same of one parameter once: of the first of them.
func (d *decoder) programsSuit(p *Point) {
	if !d.OK() {
		return
	}
	n, said := p.seen.Network, map[document.Place]bool{}
	frame, rigid := int32(0), int32(0)
	for i := range p.entries {
		tr := &p.entries[i]
		frame = max(frame, p.seen.Framing.Frame(tr.seen.MostHeaders(), tr.seen.Payload, true))
		if tr.seen.Transport.Kernel != packet.ProtoTCP {
			rigid = max(rigid, tr.seen.MostHeaders()+tr.seen.Payload-packet.EthernetHeader)
		}
	}
	names := make([]string, len(n.Nodes))
	for i := range n.Nodes {
		names[i] = n.Nodes[i].Name
	}
	senders := make([]int, len(n.Nodes))
	for i := range p.flows.n {
		// those of a file or of sets are one after the other
		if f := p.flows.at(i); f.Port == 0 && f.Later == 0 && !f.captured {
			senders[f.Dst]++
		}
	}
	for i, list := range d.around.programs {
		if !n.Nodes[i].Switch || len(list) == 0 {
			continue
		}
		s := &dataplane.Setting{Switch: n.Nodes[i].Name, Queues: p.switches[i].Queues, Framing: p.seen.Framing,
			MaxFrame: frame,
			Shortest: d.around.shortest, Longest: d.around.longest, Nodes: names, Rigid: rigid}
		for _, port := range p.seen.Routes.Ports(i) {
			l := &n.Links[port.Link]
			other := l.Ends[1-port.End]
			s.Ports = append(s.Ports, dataplane.Facing{To: n.Nodes[other].Name, Host: !n.Nodes[other].Switch, Rate: l.Rate,
				Buffer: l.Buffer, Senders: senders[other]})
		}
		warned := map[document.Place]bool{}
		warn := func(at document.Place, text string) {
			if !said[at] {
				d.warn("%v: %s", at, text)
			}
			warned[at] = true
		}
		for k := range list {
			list[k].Remarks(d.Reader, s, warn)
		}
		if x := p.served[i]; x != nil {
			x.Remarks(d.Reader, s, warn)
		}
		for at := range warned { // what one switch says of one place may be several things
			said[at] = true
		}
	}
}

// hasChoice reports whether a switch has several ports to some host.
func hasChoice(r *topology.Routes, sw int) bool {
	for _, set := range r.Paths(sw).Sets {
		if len(set) > 1 {
			return true
		}
	}
	return false
}

// mostPairs is how many pairs of hosts of a traffic are looked at for what schemes may want to know of paths.
const mostPairs = 1000

// suits asks the traffic's transport and controller what they have to say of where they stand.
func (d *decoder) suits(p *Point, id, first int) {
	if !d.OK() || id >= len(p.entries) {
		return
	}
	tr, a := &p.entries[id], &d.around
	site := &cc.Site{MSS: tr.seen.Payload, Sending: transport.AppRate(tr.transportConfig), Telemetry: p.telemetry,
		Flowlets: a.spreads == dataplane.EachFlowlet, Sprayed: a.spreads == dataplane.EachPacket, Controller: tr.cc,
		Wait: a.wait, Trims: a.trims, Holds: a.holds,
		Config: tr.ccConfig}
	site.Supplied = transport.Supplied(tr.transportConfig) && slices.ContainsFunc(a.suppliers,
		func(s dataplane.Supplier) bool { return s.Supplies(tr.seen.Transport.Proto) })
	switch {
	case !a.drops:
		site.Lossless = "no switch has a buffer that ends"
	case a.pauses:
		site.Lossless = "switches pause their neighbours before buffers end (program pfc)"
	}
	if site.Unrecorded = transport.Unrecorded(tr.transportConfig); p.telemetry == nil {
		site.Unrecorded = "it needs telemetry, and no switch writes any (program telemetry): it keeps its first window"
	}
	switch {
	case !a.marks:
		site.Unmarked = "no switch marks packets (program ecn)"
	case tr.cc != nil:
		site.Unmarked = transport.Unmarked(tr.transportConfig, tr.cc.ECN)
	}
	site.Unmeasured = transport.Unmeasured(tr.transportConfig)
	if site.Unanswered = transport.Unanswered(tr.transportConfig); site.Unanswered == "" && !a.answers {
		site.Unanswered = "no switch answers requests (program bolt)"
	}
	p.sitePaths(site, tr, id, first)
	if site.Sprayed {
		if why := transport.NeedsOrder(tr.transportConfig); why != "" {
			d.warn("%v: traffic %s: transport %s: packets overtake each other, since program %s (%v) sprays them: %s",
				a.transportAt, tr.seen.Name, tr.seen.Transport.Name, a.spreadBy, a.spreadAt, why)
		}
	}
	d.chooses(tr)
	ofTransport, ofControl := transport.Asked(tr.transportConfig, site)
	d.remarks(tr, "transport "+tr.seen.Transport.Name, a.transportAt, a.transport,
		slices.Concat(cc.Suits(tr.transportConfig, site), ofTransport, transport.ShortTimer(tr.transportConfig, site)))
	tr.timer = transport.TimerText(tr.transportConfig, site.Paths)
	if tr.cc == nil {
		return
	}
	for _, x := range site.Paths {
		if a.longest = max(a.longest, x.BaseRTT); a.shortest == 0 || x.BaseRTT < a.shortest {
			a.shortest = x.BaseRTT
		}
	}
	d.remarks(tr, "cc "+tr.cc.Name, tr.ccAt, a.control, append(cc.SuitsScheme(tr.cc, tr.ccConfig, site),
		ofControl...))
}

// chooses warns of senders that choose among paths where their choice decides nothing, or not for long.
func (d *decoder) chooses(tr *Traffic) {
	a := &d.around
	chooser, ok := tr.transportConfig.(transport.Chooser)
	if !ok || chooser.Chooses() <= 1 {
		return
	}
	why := ""
	switch {
	case a.spreads == dataplane.EachPacket:
		why = fmt.Sprintf("program %s (%v) sends each packet by another path", a.spreadBy, a.spreadAt)
	case a.spreads == dataplane.EachFlowlet:
		why = fmt.Sprintf("program %s (%v) sends each flowlet by another path", a.spreadBy, a.spreadAt)
	case !a.hashes:
		why = "no switch chooses among several by a hash (program ecmp)"
	default:
		return
	}
	d.remarks(tr, "transport "+tr.seen.Transport.Name, a.transportAt, a.transport, []scheme.Remark{cc.Remark("paths",
		"%d source ports are not paths here, for %s; paths: 1 has one window for them", chooser.Chooses(), why)})
}

// sitePaths are those of the traffic's flows, each kind once; first is the first of the point's flows that is its.
func (p *Point) sitePaths(site *cc.Site, tr *Traffic, id, first int) {
	seen := map[cc.Path]bool{}
	add := func(src, dst int) {
		near, joined := p.seen.Routes.Near(src, dst)
		if src == dst || !joined {
			return
		}
		x := p.seen.Path(near.From, near.To, &tr.seen)
		x.BaseRTT += transport.AnswersAfter(tr.transportConfig)
		if !seen[x] {
			seen[x] = true
			site.Paths = append(site.Paths, x)
		}
	}
	p.eachPair(tr, id, first, add)
}

// eachPair visits the hosts of a traffic's flows, of many of them some; first is the first of the point's flows that is
// its.
func (p *Point) eachPair(tr *Traffic, id, first int, add func(src, dst int)) {
	step := max(1, (p.flows.n-first)/mostPairs)
	for i := first; i < p.flows.n; i += step {
		if f := p.flows.at(i); f.Traffic == id {
			add(f.Src, f.Dst)
		}
	}
	if j := tr.job; j != nil {
		n := len(j.Hosts)
		for i := range min(mostPairs, n*n) { // neighbours, and others
			add(j.Hosts[i%n], j.Hosts[(i+1+i/n)%n])
		}
	}
	if g := tr.generator; g != nil && len(g.From) > 0 && len(g.To) > 0 {
		n := max(len(g.From), len(g.To), min(mostPairs, len(g.From)*len(g.To)))
		for i := range min(n, mostPairs) {
			add(g.From[i%len(g.From)], g.To[(i+i/len(g.From))%len(g.To)])
		}
	}
}

// remarks makes warnings and errors of what a scheme says, at the place of the parameter that it is about.
func (d *decoder) remarks(tr *Traffic, who string, at document.Place, params *document.Node, all []scheme.Remark) {
	for _, r := range all {
		where, text := at, r.Text
		if r.Param != "" {
			text = r.Param + ": " + text
			if v := params.Find(r.Param); v != nil && v.Place.Line > 0 {
				where = v.Place
			}
		}
		if r.Refused {
			d.Fail(where, "", "traffic %s: %s: %s", tr.seen.Name, who, text)
		} else {
			d.warn("%v: traffic %s: %s: %s", where, tr.seen.Name, who, text)
		}
	}
}
