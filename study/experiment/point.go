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

// Point is one combination of the sweep, decoded. It is not changed after it is decoded.
type Point struct {
	coordinates []measure.Coordinate
	canonical   string
	defaults    []Parameter

	measured measure.Point // the view of measures, with network, routes and events
	addressing
	switching
	trafficList
	measures      measure.List
	stalls        Stalls
	repeats       bool      // iterations of jobs that recur exactly are copied, not simulated
	restartsDraws bool      // random draws restart at each iteration
	ideal         job.Ideal // carries messages in place of packets; nil: packets do
	pointCost
}

// addressing has the addresses of a point's nodes.
type addressing struct {
	book     *packet.Book
	usersAt  document.Position // where the file declares users
	tree     *topology.Tree    // nil: flat addresses
	prefixes topology.Prefixes
}

// Book returns the addresses of the nodes.
func (a *addressing) Book() *packet.Book { return a.book }

// Tree returns the network as a fat tree, with the prefixes from which its hosts' addresses are; nil if addresses are
// flat.
func (a *addressing) Tree() (*topology.Tree, topology.Prefixes) { return a.tree, a.prefixes }

// switching is the configuration of a point's switches.
type switching struct {
	switches    []wiring.SwitchConfig
	served      []*switchfile.SchedulerChoice // by node; nil: the default scheduler
	telemetry   *telemetry.Format             // nil: no switch writes telemetry
	telemetryAt document.Position             // of the program that writes it
}

// Switches returns the configuration of each node; hosts have an empty one.
func (s *switching) Switches() []wiring.SwitchConfig { return slices.Clone(s.switches) }

// Telemetry returns the format of telemetry that switches write; nil if no switch writes it.
func (s *switching) Telemetry() *telemetry.Format {
	if s.telemetry == nil {
		return nil
	}
	f := *s.telemetry
	return &f
}

// hasScheduler reports whether a switch has another scheduler than the defaults, first in, first out and strict
// priority. A host has no such class, so it returns false.
func (s *switching) hasScheduler(node int) bool {
	x := s.served[node]
	return x != nil && x.Scheme.Name != "fifo" && x.Scheme.Name != "strict"
}

// trafficList has the traffics of a point, and the flows that its file lists.
type trafficList struct {
	entries  []Traffic
	flows    flowList
	triggers []workload.Trigger // start flows of the list
	numbered [2][]int           // by host: flows with ports that it sends, receives; nil: no ports
}

// Entries returns the length of the traffic list.
func (l *trafficList) Entries() int { return len(l.entries) }

// Entry returns entry i of the traffic list, from 0. It is shared, so the caller must not change it.
func (l *trafficList) Entry(i int) *Traffic { return &l.entries[i] }

// Flows returns the number of flows that the file lists. Flows that are drawn for each seed are not included.
func (l *trafficList) Flows() int { return l.flows.count }

// Flow returns flow i that the file lists, from 0.
func (l *trafficList) Flow(i int) Flow { return l.flows.flowAt(i) }

// Triggers returns the triggers that start listed flows when others have ended.
func (l *trafficList) Triggers() []workload.Trigger { return slices.Clone(l.triggers) }

// pointCost is the cost of a point's runs and of the point itself.
type pointCost struct {
	samples float64 // values that the measures of a run observe
	kept    float64 // values of series that are kept beyond the run
	memory  int64   // bytes that it does not share with earlier points
}

// Samples returns the number of values that the measures of a run observe.
func (c *pointCost) Samples() float64 { return c.samples }

// Kept returns the number of values that are kept beyond the run.
func (c *pointCost) Kept() float64 { return c.kept }

// Coordinates returns the point's values of the sweep's keys.
func (p *Point) Coordinates() []measure.Coordinate { return slices.Clone(p.coordinates) }

// Canonical returns the text of everything that determines the point's runs, except seed and executable.
func (p *Point) Canonical() string { return p.canonical }

// Measured returns a copy of the view of measures on the point. The copy shares networks, routes and events with the
// point.
func (p *Point) Measured() *measure.Point {
	view := p.measured
	view.Traffic = slices.Clone(view.Traffic)
	return &view
}

// Measures returns the measures of the point's runs.
func (p *Point) Measures() measure.List { return slices.Clone(p.measures) }

// Network returns the network, which other points may share.
func (p *Point) Network() *topology.Network { return p.measured.Network }

// Routes returns the routes of its network.
func (p *Point) Routes() *topology.Routes { return p.measured.Routes }

// Framing returns how many bytes a frame counts.
func (p *Point) Framing() packet.Framing { return p.measured.Framing }

// Warmup returns the length of a run's part before the measured one.
func (p *Point) Warmup() unit.Time { return p.measured.Warmup }

// Duration returns the length of a run's measured part.
func (p *Point) Duration() unit.Time { return p.measured.Duration }

// Events returns the changes of links, in order of time.
func (p *Point) Events() []wiring.Event { return slices.Clone(p.measured.Events) }

// Stalls returns when the simulator's hosts stall.
func (p *Point) Stalls() Stalls { return p.stalls }

// Traffic is one entry of the traffic list. It is not changed after it is decoded.
type Traffic struct {
	measured        measure.Traffic
	place, ccPlace  document.Position
	transportConfig scheme.Config
	traits          transport.Traits // of its transport with this configuration
	generator       *Generator       // nil: flows are listed
	job             *Job             // nil: the traffic has flows
	cc              *cc.Scheme
	ccConfig        scheme.Config
	tos             typeOfService
	fixedPayload    bool // the file sets the payload of packets
	nic             nicChoice
	jobNode         *document.Node // parameters of its job; nil: it has no job
	startLow        unit.Time
	startHigh       unit.Time
	stop            unit.Time
	timer           transport.TimerReport // the behaviour of its transport without acknowledgements
	timed           bool                  // timer is set
}

// Name returns the name of the traffic.
func (tr *Traffic) Name() string { return tr.measured.Name }

// Measured returns a copy of the view of measures on the traffic.
func (tr *Traffic) Measured() *measure.Traffic {
	view := tr.measured
	return &view
}

// At returns the place of the traffic in the file.
func (tr *Traffic) At() document.Position { return tr.place }

// Transport returns the transport with its configuration.
func (tr *Traffic) Transport() (*transport.Scheme, scheme.Config) {
	return tr.measured.Transport, tr.transportConfig
}

// Traits returns the traits of its transport.
func (tr *Traffic) Traits() *transport.Traits { return &tr.traits }

// UsesWeirStack reports whether the traffic's hosts run Weir's own stack in the lab.
func (tr *Traffic) UsesWeirStack() bool {
	return transport.UsesOwnStack(tr.measured.Transport, tr.transportConfig)
}

// CC returns the congestion controller with its configuration; nil if the transport does not use one.
func (tr *Traffic) CC() (*cc.Scheme, scheme.Config) { return tr.cc, tr.ccConfig }

// CCAt returns the place of the controller in the file, or else of the traffic if the file does not name one.
func (tr *Traffic) CCAt() document.Position { return tr.ccPlace }

// Payload returns the payload of a full packet in bytes.
func (tr *Traffic) Payload() int32 { return tr.measured.Payload }

// Version returns the version of IP.
func (tr *Traffic) Version() uint8 { return tr.measured.Version }

// Headers returns the number of bytes of a full packet's headers, from Ethernet's on.
func (tr *Traffic) Headers() int32 { return tr.measured.Headers() }

// NIC returns how a host with several NICs chooses one for the traffic's flows, and the number of the NIC that is
// named; −1 if no NIC is named.
func (tr *Traffic) NIC() (how topology.NICChoice, port int) { return tr.nic.choice, tr.nic.port }

// Start returns the range from which the starts of flows are drawn.
func (tr *Traffic) Start() (low, high unit.Time) { return tr.startLow, tr.startHigh }

// Stop returns the time at which senders stop; unit.Never if they do not.
func (tr *Traffic) Stop() unit.Time { return tr.stop }

// Generator returns how flows are drawn for each seed; false if they are listed.
func (tr *Traffic) Generator() (g Generator, ok bool) {
	if tr.generator == nil {
		return g, false
	}
	g = *tr.generator
	g.From, g.To, g.Sets = slices.Clone(g.From), slices.Clone(g.To), slices.Clone(g.Sets)
	return g, true
}

// setTraffic appends the view of measures on the point's traffic; call it once. ok reports that the traffic had no
// errors, so that the view is complete.
func (p *Point) setTraffic(ok bool) {
	p.measured.Partial = !ok
	for i := range p.entries {
		tr := p.entries[i].measured
		tr.Start = p.entries[i].startLow
		if g := p.entries[i].generator; g != nil {
			tr.Sizes = g.Sizes
		}
		tr.WeirStack = p.entries[i].UsesWeirStack()
		p.measured.Traffic = append(p.measured.Traffic, tr)
	}
}

// HasLoad reports whether the traffic's flows arrive at a load. False for listed flows.
func (tr *Traffic) HasLoad() bool { return tr.generator != nil && tr.generator.OfferedLoad > 0 }

// Flow is a listed flow. Its start may have to be drawn.
type Flow struct {
	Traffic   int
	Index     int // within its traffic
	Src, Dst  int
	Size      unit.Bytes
	Fixed     bool // Start is set; false: it is drawn from the traffic's range
	Start     unit.Time
	SetStart  unit.Time  // start of its set, added to a start that is drawn
	Port      int        // destination port in a flow file; 0: no port
	ports     [2]int     // ports if the traffic numbers its flows; 0: it does not
	reduction *reduction // nil: the flow does not belong to a job
	captured  bool       // it is from a capture
	script    []transport.Datagram
}

// After returns the flows of the point that must arrive at the source before this one begins, as indices in the point's
// list of flows; Start is then the earliest start. It returns nil if it waits for no flow.
func (f *Flow) After() []int {
	if f.reduction == nil {
		return nil
	}
	after := f.reduction.After(f.Index)
	for k := range after {
		after[k] += f.reduction.first
	}
	return after
}

// LargestFrame returns the largest frame of any traffic in bytes, with the largest extensions of a packet; 0 without
// traffic.
func (p *Point) LargestFrame() (n int32) {
	for i := range p.entries {
		tr := &p.entries[i]
		headers := tr.measured.MaxHeaders()
		n = max(n, p.measured.Framing.FrameBytes(headers, tr.Payload(), true)+packet.MaxExtensionBytes,
			p.measured.Framing.FrameBytes(headers, 0, false)+packet.MaxExtensionBytes)
	}
	return n
}

// Approximate bytes of memory of parts of points.
const (
	perPoint        = 2000 // without the parts below
	perParameter    = 200
	perSwitchConfig = 136 // each node has memory for a switch's configuration
	perFlow         = 128
	perDatagram     = 16
	perNode         = 200 // with its addresses and ports
	perLink         = 72
	perRoute        = 4
)

// pointLimits limits the points of a sweep together.
type pointLimits struct {
	parts  int   // nodes, links and listed flows
	memory int64 // bytes; what points share counts once
}

// usualLimits are the limits of sweeps; tests set smaller ones.
var usualLimits = pointLimits{parts: 1 << 23, memory: 300e6}

// sizeOfFirst returns the limit of parts of the first point times the number of points. Other points may be smaller, so
// it is above the limit; a first point beyond it is rejected before others are made. Callers divide it by the number of
// points.
func (l pointLimits) sizeOfFirst() int { return 4 * l.parts }

// tally compares the size of a sweep's points with the limits.
type tally struct {
	total int // number of points of the sweep
	kept  int // nodes, links and listed flows so far
}

// addPoint counts point i, adds its memory to s.memory, and reports an error if the sweep exceeds a limit. The last
// point is counted but causes no error.
func (r *tally) addPoint(s *Spec, d *reader, i int, p *Point) {
	size := len(p.measured.Network.Nodes) + len(p.measured.Network.Links) + p.flows.count
	r.kept += size
	s.memory += p.memory
	sweep := func() document.Position { return top.ViewMap(s.root).Get("sweep").Position }
	limits := s.options.pointLimits()
	allowed := fmt.Sprintf("up to %d nodes, links and listed flows over all points", limits.parts)
	switch {
	case i+1 == r.total:
	case i == 0 && size > limits.sizeOfFirst()/r.total:
		d.Fail(sweep(), allowed, "the first of the sweep's %d points has %d nodes, links and listed flows; all points "+
			"would have about %d", r.total, size, r.total*size)
	case r.kept > limits.parts:
		d.Fail(sweep(), allowed, "the first %d of the sweep's %d points have %d nodes, links and listed flows", i+1, r.total,
			r.kept)
	case s.memory > limits.memory:
		d.Fail(sweep(), fmt.Sprintf("up to %v for all points; points with the same network and flows share memory",
			unit.Bytes(limits.memory)), "the first %d of the sweep's %d points take %d MB of memory", i+1, r.total,
			s.memory/1e6)
	}
}

// isSame reports whether two listed flows are equal. It does not compare their ports and jobs.
func (f Flow) isSame(o Flow) bool {
	return f.Traffic == o.Traffic && f.Index == o.Index && f.Src == o.Src && f.Dst == o.Dst && f.Size == o.Size &&
		f.Fixed == o.Fixed && f.Start == o.Start && f.SetStart == o.SetStart && f.Port == o.Port &&
		f.captured == o.captured && slices.Equal(f.script, o.script)
}

// tableSize returns the number of routes of a network's switches, the number of switches, and the number of switches
// with hosts (topology.Network.CountClasses).
func tableSize(n *topology.Network) (routes, switches, classes int) {
	for _, node := range n.Nodes {
		if node.Switch {
			switches++
		}
	}
	classes = n.CountClasses()
	return classes * switches, switches, classes
}

// Memory estimates the memory of the points in bytes. What points share counts once.
func (s *Spec) Memory() int64 { return s.memory }
