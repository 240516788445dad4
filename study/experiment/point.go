package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
	usersAt  document.Place // where the file declares users
	tree     *topology.Tree // with hierarchical addresses
	prefixes topology.Prefixes
}

// Book has the addresses of its nodes.
func (a *addressing) Book() *packet.Book { return a.book }

// Tree is the network as a fat tree whose hosts have addresses from prefixes; nil: addresses are
// flat.
func (a *addressing) Tree() (*topology.Tree, topology.Prefixes) { return a.tree, a.prefixes }

// switching is what the switches of a point run.
type switching struct {
	switches    []wiring.SwitchConfig
	served      []*switchfile.Served // by node; nil: by default
	telemetry   *telemetry.Format    // nil: no switch writes any
	telemetryAt document.Place       // of the program that writes it
}

// Switches configures those of the network's nodes that are switches.
func (s *switching) Switches() []wiring.SwitchConfig { return slices.Clone(s.switches) }

// Telemetry is the format in which switches write it; nil: none does.
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

// Entries is how long the traffic list is.
func (l *trafficList) Entries() int { return len(l.entries) }

// Entry is one of the traffic list.
func (l *trafficList) Entry(i int) *Traffic { return &l.entries[i] }

// Flows is how many flows the file lists: those that are not drawn for each seed.
func (l *trafficList) Flows() int { return l.flows.n }

// Flow is one of these.
func (l *trafficList) Flow(i int) Flow { return l.flows.at(i) }

// Triggers begin flows of the file when others have ended.
func (l *trafficList) Triggers() []workload.Trigger { return slices.Clone(l.triggers) }

// pointCost is what a point takes.
type pointCost struct {
	samples float64 // values that the measures of a run look at
	kept    float64 // of these, those that are kept beyond it
	memory  int64   // bytes that it does not share with points before it
}

// Samples are the values that the measures of a run look at.
func (c *pointCost) Samples() float64 { return c.samples }

// Kept are those of them that are kept beyond the run.
func (c *pointCost) Kept() float64 { return c.kept }

// At are the values of the sweep.
func (p *Point) At() []measure.Coordinate { return slices.Clone(p.at) }

// Canonical is all that decides the point's runs but seed and executable.
func (p *Point) Canonical() string { return p.canonical }

// Measured is what measures see of the point.
func (p *Point) Measured() *measure.Point {
	seen := p.seen
	seen.Traffic = slices.Clone(seen.Traffic)
	return &seen
}

// Measures are those of its runs.
func (p *Point) Measures() measure.List { return slices.Clone(p.measures) }

// Network is the point's; other points may share it.
func (p *Point) Network() *topology.Network { return p.seen.Network }

// Routes are those of its network.
func (p *Point) Routes() *topology.Routes { return p.seen.Routes }

// Framing is what a frame counts as.
func (p *Point) Framing() packet.Framing { return p.seen.Framing }

// Warmup is the part of a run before what is measured.
func (p *Point) Warmup() unit.Time { return p.seen.Warmup }

// Duration is the part that is measured.
func (p *Point) Duration() unit.Time { return p.seen.Duration }

// Events are what happens to links, in order of time.
func (p *Point) Events() []wiring.Event { return slices.Clone(p.seen.Events) }

// Stalls are when the simulator's hosts stand still.
func (p *Point) Stalls() Stalls { return p.stalls }

// Traffic is one entry of the traffic list. Nothing changes it.
type Traffic struct {
	seen            measure.Traffic
	at, ccAt        document.Place
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

// Name is the traffic's.
func (tr *Traffic) Name() string { return tr.seen.Name }

// Measured is what measures see of the traffic.
func (tr *Traffic) Measured() *measure.Traffic {
	seen := tr.seen
	return &seen
}

// At is where it is given.
func (tr *Traffic) At() document.Place { return tr.at }

// Transport carries it, with this configuration.
func (tr *Traffic) Transport() (*transport.Scheme, scheme.Config) {
	return tr.seen.Transport, tr.transportConfig
}

// Traits returns the traits of its transport.
func (tr *Traffic) Traits() *transport.Traits { return &tr.traits }

// Own reports whether it is between hosts of Weir's own in the lab.
func (tr *Traffic) Own() bool { return transport.Own(tr.seen.Transport, tr.transportConfig) }

// CC is its congestion controller with its configuration; nil if the transport has none.
func (tr *Traffic) CC() (*cc.Scheme, scheme.Config) { return tr.cc, tr.ccConfig }

// CCAt is where the controller is given, or else the traffic.
func (tr *Traffic) CCAt() document.Place { return tr.ccAt }

// Payload is that of a full packet.
func (tr *Traffic) Payload() int32 { return tr.seen.Payload }

// Version is that of IP.
func (tr *Traffic) Version() uint8 { return tr.seen.Version }

// Headers are the bytes of a full packet's headers, from Ethernet's on.
func (tr *Traffic) Headers() int32 { return tr.seen.Headers() }

// NIC is by which of its NICs a host with several sends the traffic's flows, and the port of the one that is named; −1:
// none is.
func (tr *Traffic) NIC() (how topology.Choice, port int) { return tr.nic.how, tr.nic.port }

// Start is when its flows start, drawn between the two.
func (tr *Traffic) Start() (low, high unit.Time) { return tr.startLow, tr.startHigh }

// Stop is when senders stop; unit.Never if they do not.
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

// see makes what measures see of the point's traffic, of which all is there if nothing was
// wrong.
func (p *Point) see(ok bool) {
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

// readMeasures reads what is measured.
func (d *decoder) readMeasures(root document.Map, p *Point) {
	p.seen.HostsOf = func(t *document.Node) []int { return d.nodes.listHosts(t, p) }
	p.measures = measure.Decode(d.Reader, d.registry.Measures, root.Default("measure"), &p.seen)
	p.seen.HostsOf = nil
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

// After are the flows of the point that arrive at the source before this one begins: Start is the
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

// decodePoint decodes combination i of the sweep.
func (s *Spec) decodePoint(d *decoder, i int, used map[string]bool) *Point {
	p := &Point{}
	d.files, d.network.bufferAt, d.network.limits, d.nodes.matches = nil, nil, nil, 0
	d.Bound = map[document.Place]string{}
	tree := document.Copy(d.tree)
	tree.Keys = slices.DeleteFunc(tree.Keys, func(k document.Entry) bool { return top.Has(k.Name, ofFile) })
	index, before := s.indexOf(i), d.Count()
	var places []document.Place
	var variables []variable
	for k, dim := range s.sweep {
		p.at = append(p.at, dim.Values[index[k]])
		places = append(places, s.given[k].places[index[k]])
		if block := s.given[k].blocks[index[k]]; block != nil {
			block = document.Copy(block)
			var over []document.Entry
			for _, x := range block.Keys {
				if slices.Contains(top.Names(), x.Name) {
					over = append(over, x)
				} else {
					variables = append(variables, variable{Entry: x})
				}
			}
			block.Keys = over
			overlay(tree, block, 0)
		}
	}
	root, _ := d.Map(tree, top)
	for i, v := range variables { // a block may use the names of those before it
		d.substitute(v.Value, p.at, places, variables[:i], used)
	}
	d.substitute(tree, p.at, places, variables, used)
	for _, v := range variables {
		if !v.used && !d.mentions[v.Name] && !s.options.Resolved {
			d.Unknown(v.Place, "key", v.Name, append(top.Names(), "a name that $"+v.Name+" stands for"))
		}
	}
	if d.Count() > before {
		return p
	}
	p.seen.Duration = d.Positive(root.Get("duration"))
	p.seen.Warmup = document.Read(d.Reader, root.Default("warmup"), unit.ParseTime)
	if p.seen.End() < 0 {
		d.Fail(root.Get("duration").Place, "106 days in all", "duration and warm-up are too long")
	}
	timeless := d.Count() > before
	if timeless { // nothing is said against a duration that is not meant
		p.seen.Duration, p.seen.Warmup = 1000*3600*unit.Second, 0
	}
	p.seen.Framing = switchfile.Framing(d.Reader, root.Default("framing"), framings())
	before = d.Count()
	if !d.incomplete {
		d.network.readTopology(root, p)
	}
	if !d.incomplete && d.Count() == before && p.seen.Network != nil {
		d.network.assignRoutes(root, p)
	}
	// the rest is read as far as it goes without
	if d.incomplete || timeless || d.Count() > before || p.seen.Network == nil {
		d.sketch(root, p)
		return p
	}
	d.readComplete(root, tree, p)
	return p
}

// readComplete decodes what depends on a point's network: its switches, traffic, events and measures.
func (d *decoder) readComplete(root document.Map, tree *document.Node, p *Point) {
	d.traffic.jobs.readIdeal(root, p)
	d.users.readUsers(root, p)
	events := d.events.readEvents(root,
		p) // whose rates the format of telemetry needs; waits and traffic are read without them
	d.switches.readSwitches(root, p, events)
	p.limitWaits(d.paths.programs)
	d.traffic.readList(root, p)
	p.seen.Events = events
	d.events.readStalls(root, p)
	if d.traffic.jobs.readIterations(root, p); p.seen.NoPackets {
		d.traffic.jobs.checkIdeal(root.Get("network"), p)
	}
	p.limitWaits(d.paths.programs) // with the frames of all traffic, and with events
	p.see(d.OK())
	d.readMeasures(root, p)
	d.network.checkBuffers(p)
	d.paths.checkPrograms(p)
	if d.OK() {
		d.identify(tree, p)
		d.shareFlows(p)
		d.tryBuild(root, p)
	}
}

// identify takes what decides a point's runs out of its tree, and which defaults are among it.
func (d *decoder) identify(tree *document.Node, p *Point) {
	d.defaults.Note(tree)
	for _, x := range parameters(tree) {
		if strings.HasPrefix(x.Source, "default: ") {
			p.defaults = append(p.defaults, x)
		}
	}
	var b strings.Builder
	tree.Arrange()
	tree.Write(&b, 0)
	fmt.Fprintf(&b, "point %q\nfiles %q\n", measure.PointName(p.at), d.files)
	p.canonical = b.String()
}

// tryBuild has the run built once, so that what only constructors can know is an error of the file and
// not of a run. Endpoints are built for every point; switches, which are many in large networks,
// for each network, configuration and list of measures.
func (d *decoder) tryBuild(root document.Map, p *Point) {
	var b strings.Builder
	for _, key := range top.Names(ofBuild) {
		if t := root.Get(key); t != nil {
			t.Write(&b, 0)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%q", d.files)
	what, err := b.String(), error(nil)
	if p.samples, p.kept, err = d.trial.Build(p, !d.built[what]); err == nil {
		d.built[what] = true
	}
	var much *measure.TooMuch
	var refused *refusal
	var without *NoNIC
	switch {
	case errors.As(err, &much):
		d.Fail(root.Get("measure").Place, "", "%v", err)
	case errors.As(err, &refused):
		d.Fail(refused.Place, "", "this cannot be built: %v", err)
	case errors.As(err, &without):
		d.Fail(without.place(p), without.Allowed, "%v", without)
	case err != nil:
		d.Fail(root.Get("topology").Place, "", "this cannot be built: %v", err)
	}
}

// LargestFrame is that of any traffic, with as many extensions as a packet can have.
func (p *Point) LargestFrame() (n int32) {
	for i := range p.entries {
		tr := &p.entries[i]
		headers := tr.seen.MostHeaders()
		n = max(n, p.seen.Framing.Frame(headers, tr.Payload(), true)+packet.MostExtensions,
			p.seen.Framing.Frame(headers, 0, false)+packet.MostExtensions)
	}
	return n
}
