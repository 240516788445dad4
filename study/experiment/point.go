package experiment

import (
	"fmt"
	"slices"

	"weir/core/cc"
	"weir/core/fabric/wiring"
	"weir/core/jobs/job"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/document"
	"weir/internal/switchfile"
	"weir/study/measure"
)

// Point is one combination of the sweep, decoded. Nothing changes it.
type Point struct {
	at        []measure.Coordinate
	canonical string
	defaults  []Parameter

	seen measure.Point // what measures see of it, with its network, routes and events
	addressing
	switching
	trafficList
	measures measure.List
	stalls   Stalls
	repeats  bool      // iterations of jobs that recur are not carried out again
	anew     bool      // random draws begin anew between iterations
	ideal    job.Ideal // in place of packets; nil: there is none
	pointCost
}

// addressing has the addresses of a point's nodes.
type addressing struct {
	book     *packet.Book
	usersAt  document.Position // where the file declares users
	tree     *topology.Tree    // with hierarchical addresses
	prefixes topology.Prefixes
}

// Book returns the addresses of the nodes.
func (a *addressing) Book() *packet.Book { return a.book }

// Tree returns the network as a fat tree whose hosts have addresses from prefixes; nil: addresses are
// flat.
func (a *addressing) Tree() (*topology.Tree, topology.Prefixes) { return a.tree, a.prefixes }

// switching is what the switches of a point run.
type switching struct {
	switches    []wiring.SwitchConfig
	served      []*switchfile.Served // by node; nil: by default
	telemetry   *telemetry.Format    // nil: no switch writes any
	telemetryAt document.Position    // of the program that writes it
}

// Switches configures those of the network's nodes that are switches.
func (s *switching) Switches() []wiring.SwitchConfig { return slices.Clone(s.switches) }

// Telemetry returns the format in which switches write it; nil: none does.
func (s *switching) Telemetry() *telemetry.Format {
	if s.telemetry == nil {
		return nil
	}
	f := *s.telemetry
	return &f
}

// hasScheduler reports whether a switch serves its queues otherwise than by default: first in, first out, or in strict
// priority.
func (s *switching) hasScheduler(node int) bool {
	x := s.served[node]
	return x != nil && x.Scheme.Name != "fifo" && x.Scheme.Name != "strict"
}

// trafficList has the traffic of a point, and the flows that its file lists.
type trafficList struct {
	entries  []Traffic
	flows    flowList
	triggers []workload.Trigger // of flows in it
	numbered [2][]int           // by host, flows with ports that it sends and receives; nil: there are none
}

// Entries returns the length of the traffic list.
func (l *trafficList) Entries() int { return len(l.entries) }

// Entry returns entry i of the traffic list.
func (l *trafficList) Entry(i int) *Traffic { return &l.entries[i] }

// Flows returns the number of flows that the file lists. Flows that are drawn for each seed do not count.
func (l *trafficList) Flows() int { return l.flows.n }

// Flow returns flow i of the file.
func (l *trafficList) Flow(i int) Flow { return l.flows.at(i) }

// Triggers begin flows of the file when others have ended.
func (l *trafficList) Triggers() []workload.Trigger { return slices.Clone(l.triggers) }

// pointCost is what a point takes.
type pointCost struct {
	samples float64 // values that the measures of a run look at
	kept    float64 // of these, those that are kept beyond it
	memory  int64   // bytes that it does not share with points before it
}

// Samples returns the number of values that the measures of a run look at.
func (c *pointCost) Samples() float64 { return c.samples }

// Kept returns the number of samples that are kept beyond the run.
func (c *pointCost) Kept() float64 { return c.kept }

// At returns the values of the sweep.
func (p *Point) At() []measure.Coordinate { return slices.Clone(p.at) }

// Canonical returns the text of all that decides the point's runs, but seed and executable.
func (p *Point) Canonical() string { return p.canonical }

// Measured returns what measures see of the point.
func (p *Point) Measured() *measure.Point {
	seen := p.seen
	seen.Traffic = slices.Clone(seen.Traffic)
	return &seen
}

// Measures returns the measures of its runs.
func (p *Point) Measures() measure.List { return slices.Clone(p.measures) }

// Network returns the network, which other points may share.
func (p *Point) Network() *topology.Network { return p.seen.Network }

// Routes returns the routes of its network.
func (p *Point) Routes() *topology.Routes { return p.seen.Routes }

// Framing returns how the bytes of a frame are counted.
func (p *Point) Framing() packet.Framing { return p.seen.Framing }

// Warmup returns the part of a run before what is measured.
func (p *Point) Warmup() unit.Time { return p.seen.Warmup }

// Duration returns the part of a run that is measured.
func (p *Point) Duration() unit.Time { return p.seen.Duration }

// Events returns what happens to links, in order of time.
func (p *Point) Events() []wiring.Event { return slices.Clone(p.seen.Events) }

// Stalls returns the times at which the simulator's hosts pause.
func (p *Point) Stalls() Stalls { return p.stalls }

// Traffic is one entry of the traffic list. Nothing changes it.
type Traffic struct {
	seen            measure.Traffic
	at, ccAt        document.Position
	transportConfig scheme.Config
	traits          transport.Traits // of its transport with this configuration
	generator       *Generator       // nil: the flows are listed
	job             *Job             // in place of flows
	cc              *cc.Scheme
	ccConfig        scheme.Config
	tos             typeOfService
	fixedPayload    bool // the file says how long payload is
	nic             nicChoice
	jobNode         *document.Node // parameters of its job; nil: it has none
	startLow        unit.Time
	startHigh       unit.Time
	stop            unit.Time
	timer           transport.TimerReport // what its transport does when no answer arrives
	timed           bool                  // it has such a timer
}

// Name returns the name of the traffic.
func (tr *Traffic) Name() string { return tr.seen.Name }

// Measured returns what measures see of the traffic.
func (tr *Traffic) Measured() *measure.Traffic {
	seen := tr.seen
	return &seen
}

// At returns the place of the traffic in the file.
func (tr *Traffic) At() document.Position { return tr.at }

// Transport carries it, with this configuration.
func (tr *Traffic) Transport() (*transport.Scheme, scheme.Config) {
	return tr.seen.Transport, tr.transportConfig
}

// Traits returns the traits of its transport.
func (tr *Traffic) Traits() *transport.Traits { return &tr.traits }

// Own reports whether it is between hosts of Weir's own in the lab.
func (tr *Traffic) Own() bool { return transport.Own(tr.seen.Transport, tr.transportConfig) }

// CC returns the congestion controller with its configuration; nil if the transport has none.
func (tr *Traffic) CC() (*cc.Scheme, scheme.Config) { return tr.cc, tr.ccConfig }

// CCAt returns the place of the controller in the file, or else of the traffic.
func (tr *Traffic) CCAt() document.Position { return tr.ccAt }

// Payload returns the payload of a full packet.
func (tr *Traffic) Payload() int32 { return tr.seen.Payload }

// Version returns the version of IP.
func (tr *Traffic) Version() uint8 { return tr.seen.Version }

// Headers returns the number of bytes of a full packet's headers, from Ethernet's on.
func (tr *Traffic) Headers() int32 { return tr.seen.Headers() }

// NIC returns by which of its NICs a host with several sends the traffic's flows, and the port of the one that is
// named; −1: none is.
func (tr *Traffic) NIC() (how topology.Choice, port int) { return tr.nic.how, tr.nic.port }

// Start returns the range from which the starts of flows are drawn.
func (tr *Traffic) Start() (low, high unit.Time) { return tr.startLow, tr.startHigh }

// Stop returns the time at which senders stop; unit.Never if they do not.
func (tr *Traffic) Stop() unit.Time { return tr.stop }

// Generator says how flows are drawn for each seed; false if they are listed.
func (tr *Traffic) Generator() (g Generator, ok bool) {
	if tr.generator == nil {
		return g, false
	}
	g = *tr.generator
	g.From, g.To, g.Sets = slices.Clone(g.From), slices.Clone(g.To), slices.Clone(g.Sets)
	return g, true
}

// setTraffic makes what measures see of the point's traffic, of which all is there if nothing was
// wrong.
func (p *Point) setTraffic(ok bool) {
	p.seen.Partial = !ok
	for i := range p.entries {
		tr := p.entries[i].seen
		tr.Start = p.entries[i].startLow
		if g := p.entries[i].generator; g != nil {
			tr.Sizes = g.Sizes
		}
		tr.Own = p.entries[i].Own()
		p.seen.Traffic = append(p.seen.Traffic, tr)
	}
}

// Loaded reports whether its flows arrive so that they offer a load.
func (tr *Traffic) Loaded() bool { return tr.generator != nil && tr.generator.Offered > 0 }

// Flow is a flow whose start may still have to be drawn.
type Flow struct {
	Traffic  int
	Index    int // within its traffic
	Src, Dst int
	Size     unit.Bytes
	Fixed    bool // start is given
	Start    unit.Time
	Later    unit.Time  // added to a start that is drawn: of its set
	Port     int        // destination port of a flow file; 0: none
	own      [2]int     // ports of a traffic that numbers its flows; 0: none
	reduce   *reduction // nil: it is of no job
	captured bool       // a capture has it
	script   []transport.Datagram
}

// After returns the flows of the point that arrive at the source before this one begins: Start is the
// earliest then. Without any it is nil.
func (f *Flow) After() []int {
	if f.reduce == nil {
		return nil
	}
	after := f.reduce.After(f.Index)
	for k := range after {
		after[k] += f.reduce.first
	}
	return after
}

// LargestFrame returns the largest frame of any traffic, with as many extensions as a packet can have.
func (p *Point) LargestFrame() (n int32) {
	for i := range p.entries {
		tr := &p.entries[i]
		headers := tr.seen.MostHeaders()
		n = max(n, p.seen.Framing.Frame(headers, tr.Payload(), true)+packet.MostExtensions,
			p.seen.Framing.Frame(headers, 0, false)+packet.MostExtensions)
	}
	return n
}

// Bytes that parts of points take, about.
const (
	ofPoint     = 2000 // without what follows
	ofParameter = 200
	ofSwitch    = 136 // each node has the place for a switch's configuration
	ofFlow      = 128
	ofDatagram  = 16
	ofNode      = 200 // with its addresses and ports
	ofLink      = 72
	ofRoute     = 4
)

// pointLimits bound the points of a sweep, all together.
type pointLimits struct {
	parts  int   // nodes, links and listed flows that are made
	memory int64 // bytes, of which what points share counts once
}

// usualLimits are the limits of sweeps; tests set smaller ones.
var usualLimits = pointLimits{parts: 1 << 23, memory: 300e6}

// sizeOfFirst returns the limit of parts for a sweep of which only the first point is known. Other points may be
// smaller, but a first one that is so much too large is refused before many are made.
func (l pointLimits) sizeOfFirst() int { return 4 * l.parts }

// tally counts what the points of a sweep take, against its limits.
type tally struct {
	of   int // points of the sweep
	kept int // nodes, links and listed flows
}

// add counts point i. It fails if those so far, and others that are to come, are too many.
func (r *tally) add(s *Spec, d *reader, i int, p *Point) {
	size := len(p.seen.Network.Nodes) + len(p.seen.Network.Links) + p.flows.n
	r.kept += size
	s.memory += p.memory
	sweep := func() document.Position { return top.Of(s.root).Get("sweep").Position }
	limits := s.options.pointLimits()
	allowed := fmt.Sprintf("points × nodes, links and listed flows up to %d", limits.parts)
	switch {
	case i+1 == r.of:
	case i == 0 && size > limits.sizeOfFirst()/r.of:
		d.Fail(sweep(), allowed, "the first of the sweep's %d points has %d nodes, links and listed flows: %d with others "+
			"like it", r.of, size, r.of*size)
	case r.kept > limits.parts:
		d.Fail(sweep(), allowed, "%d of the sweep's %d points have %d nodes, links and listed flows already", i+1, r.of,
			r.kept)
	case s.memory > limits.memory:
		d.Fail(sweep(), fmt.Sprintf("points that take up to %v together; those with the same network and flows share them",
			unit.Bytes(limits.memory)), "%d of the sweep's %d points take %d MB of memory already", i+1, r.of,
			s.memory/1e6)
	}
}

// same reports whether a flow is as another.
func (f Flow) same(o Flow) bool {
	return f.Traffic == o.Traffic && f.Index == o.Index && f.Src == o.Src && f.Dst == o.Dst && f.Size == o.Size &&
		f.Fixed == o.Fixed && f.Start == o.Start && f.Later == o.Later && f.Port == o.Port &&
		f.captured == o.captured && slices.Equal(f.script, o.script)
}

// tableSize returns the number of routes that the switches of a network have, with the numbers of its switches and of
// those with hosts.
func tableSize(n *topology.Network) (routes, switches, classes int) {
	for _, node := range n.Nodes {
		if node.Switch {
			switches++
		}
	}
	classes = n.Classes()
	return classes * switches, switches, classes
}

// Memory returns about how many bytes the points take. What points share counts once.
func (s *Spec) Memory() int64 { return s.memory }
