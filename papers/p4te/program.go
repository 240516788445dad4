package p4te

import (
	"fmt"
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Config configures P4TE in one switch. It follows from Options.
type Config struct {
	// Monitoring (§6.1)
	Monitor    bool
	DepthDelta []int64   // Δ of the queue depth, packets, by port
	DelayDelta unit.Time // Δ of the hop-to-hop delay
	Committed  float64   // CIR of a link's meter, share of its rate
	Peak       float64   // PIR
	Burst      unit.Time // of all meters: their rate's traffic in this time
	Class      [64]Class // by DSCP
	Safe       [ClassCount]float64
	// PIR of the classes' meters, which then have three colours, as in the P4TE code; 0: two colours, as
	// in the paper
	SafePeak float64

	// Path control (§6.2, §6.3)
	Paths             bool
	Control           ControlConfig
	FlowletGap        unit.Time // idle time that ends a flowlet
	FlowletCells      int       // of the flowlet table
	Spread            bool      // a new flowlet takes another port of its group; otherwise a flow keeps its port
	CodePaths         bool      // the P4TE code's port selection instead of algorithm 3
	ReportsFailures   bool      // notify neighbours of leaves beyond a failed link
	IdleAge           unit.Time // after which a port without packets counts as idle; 0: never
	LinkCheckInterval unit.Time // time after which the operator takes out a failed link; 0: never

	Rate RateConfig
}

// PacketCounters counts P4TE's packets at a switch: feedback to its own control plane, to neighbours and through the
// recirculation port, and fake ACKs.
type PacketCounters struct {
	ToControl, ToNeighbour, Recirculated uint64
	Lost                                 uint64 // events that found the control plane's queue full
	Lower, Raise                         uint64
	// Repeated counts fake ACKs for a packet within B bytes of the last change, at the sender's leaf.
	Repeated       uint64
	LoweredWindows uint64 // passing acknowledgements with a lowered window (Enforced)
}

// Program is P4TE at a leaf, a spine or a super spine.
type Program struct {
	config    Config
	place     *dataplane.TreePosition
	clock     telemetry.Clock
	framing   packet.Framing
	downPorts []int32 // by address: the port that leads down to it; −1: upward
	upward    [MetricCount]*UpwardTable
	flowlets  *dataplane.Flowlets
	seed      uint32

	depth        *Gradient
	delay        *Gradient
	links        *LinkDelay
	colours      *Colours
	safe         *SafeRates
	utilisation  []dataplane.Colour // port_utilizations, at ingress
	leadsUp      []bool             // by port
	hosts        []bool             // by port: leads to a host
	departures   []unit.Time        // by port: departure time of the last packet
	nextAge      unit.Time
	reachability *reachability // nil: failures are not reported
	isDown       []bool        // by port: the link is down in the control plane's view
	control      *ControlPlane
	writes       []Write // scheduled, by time; those before index written are applied
	written      int
	nextLinkPoll unit.Time
	counts       PacketCounters
	rate         *rater // nil: no rate adaptation
}

// New returns the program for a switch in a fat tree with hierarchical addresses. The options have passed
// scheme.Validate. It fails without such a network.
func New(site *dataplane.Site, o Options) (*Program, error) {
	if site.Place == nil {
		return nil, fmt.Errorf("p4te: the network is not known")
	}
	place, err := site.Place()
	switch {
	case err != nil:
		return nil, fmt.Errorf("p4te needs a fat tree of two or three tiers: %w", err)
	case len(place.Routes) == 0:
		return nil, fmt.Errorf("p4te needs prefixes to route by; addresses: hierarchical gives them")
	}
	c := o.configAt(site, place)
	t := &Program{config: c, place: place, clock: site.Clock, framing: site.Framing,
		seed: uint32(site.Random("p4te").Uint64()), downPorts: make([]int32, site.Book.Len()),
		utilisation: make([]dataplane.Colour, site.Ports), leadsUp: make([]bool, site.Ports), hosts: make([]bool, site.Ports),
		isDown: make([]bool, site.Ports), departures: make([]unit.Time, site.Ports)}
	if !c.Paths { // the choices of ecmp
		t.seed = uint32(site.Random("ecmp").Uint64())
	}
	table := dataplane.NewLPM[packet.PortID](len(place.Routes))
	for _, r := range place.Routes {
		if err := table.Insert(r.Prefix, r.Ports[0]); err != nil {
			return nil, fmt.Errorf("p4te: downward table: %w", err)
		}
	}
	for a := range t.downPorts { // computed once per address: MAT_Down never changes (§6.2.1.1)
		t.downPorts[a] = -1
		if port, ok := table.Lookup(site.Book.V6(packet.Addr(a))); ok {
			t.downPorts[a] = int32(port)
		}
	}
	for _, p := range place.Up {
		t.leadsUp[p] = true
	}
	if place.Tier == 1 {
		for _, p := range place.Down {
			t.hosts[p] = true
		}
	}
	t.flowlets = dataplane.NewFlowlets(c.FlowletCells, c.FlowletGap)
	t.control = NewControlPlane(site.Ports, place.Up, c.Control)
	for m := range MetricCount {
		t.upward[m] = NewUpward(c.Control.Groups[m], place.Up)
	}
	t.depth = NewGradient(c.DepthDelta)
	t.delay = NewGradient(slices.Repeat([]int64{int64(c.DelayDelta)}, site.Ports))
	t.links = NewLinkDelay(site.Ports)
	t.colours = NewColours(site.Lines, c.Committed, c.Peak, c.Burst, site.MaxFrame)
	t.safe = NewSafeRates(site.Lines, c.Safe, c.SafePeak, c.Burst, site.MaxFrame)
	t.rate = newRater(t, c.Rate)
	if c.ReportsFailures && c.LinkCheckInterval > 0 {
		t.reachability = newReachability(t, site)
	}
	if !c.Monitor { // without colours no rate changes, so no header is needed
		t.rate = nil
	}
	return t, nil
}

// Name returns "p4te".
func (t *Program) Name() string { return "p4te" }

// Counts returns the counters.
func (t *Program) Counts() PacketCounters {
	c := t.counts
	c.Lost = t.control.LostEvents()
	return c
}

// Ingress monitors the link by which a packet arrived (algorithm 2), and selects its port, Meta.Out (algorithm 3). It
// consumes feedback, decrements the hop limit, stores the class's colour in Meta.Mark, and replaces T^Source in the
// header. At a leaf it replaces a host's own header, updates the register of flows, may lower windows towards hosts,
// and may consume fake ACKs. It drops packets without hops or without a route.
func (t *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if p.Kind == packet.Probe && t.receiveFeedback(env, p) {
		return dataplane.Consume
	}
	if !p.DecrementHopLimit() {
		return dataplane.Drop(dataplane.HopLimitExceeded)
	}
	now, class := env.Now(), t.config.Class[p.TOS>>2]
	fromHost := int(m.In) < len(t.hosts) && t.hosts[m.In]
	if fromHost && p.HasHotExtension(HeaderKind) { // hosts send no such header
		before := p.ExtensionBytes()
		p.RemoveExtension(HeaderKind)
		p.Size += p.ExtensionBytes() - before
	}
	reading := stampOf(t.clock.Read(now))
	before, carries := restamp(p, reading)
	if t.config.Monitor && m.In != packet.NoPort {
		m.Mark = uint8(t.safe.Observe(now, m.In, class, p.Size))
		if carries && !fromHost && !t.leadsUp[m.In] { // from below: the neighbour's upward port
			d := t.links.Measure(now, m.In, before, reading)
			if change := t.delay.Observe(m.In, int64(d)); change != Unchanged {
				t.notifyNeighbour(env, p, m.In, Event{Delay, change, 0, int64(d)})
			}
		}
	}
	if int(p.Dst) < len(t.downPorts) && t.downPorts[p.Dst] >= 0 {
		m.Out = packet.PortID(t.downPorts[p.Dst])
	} else if port, ok := t.selectPath(now, p, class); ok {
		if m.Out = port; t.reachability != nil {
			m.Out = t.avoidLostLeaf(now, p, port)
		}
	} else {
		return dataplane.Drop(dataplane.NoRoute)
	}
	toHost := t.hosts[m.Out]
	if fromHost {
		if toHost && !t.config.Rate.WithinLeaf {
			return dataplane.Accept
		}
		t.addHeader(now, p, toHost)
	}
	if t.rate != nil && toHost {
		var h Header
		if carries && h.ReadFrom(p) {
			return t.rate.recordToHost(env, p, &h)
		}
		return t.rate.recordToHost(env, p, nil)
	}
	return dataplane.Accept
}

// addHeader adds the header to a packet from a host, if links are monitored, and records the packet in the register of
// flows. p.Size grows by the header. A packet that stays at the leaf needs the header only for its rate; then it is
// inside the switch only, and p.Size stays.
func (t *Program) addHeader(now unit.Time, p *packet.Packet, stays bool) {
	if !t.config.Monitor {
		return
	}
	h := Header{Source: stampOf(t.clock.Read(now)), Scale: unknownScale}
	if t.rate != nil {
		t.rate.recordFromHost(p, &h)
	}
	if stays {
		if h.Rated {
			h.WriteTo(p)
		}
		return
	}
	before := p.ExtensionBytes()
	h.WriteTo(p)
	p.Size += p.ExtensionBytes() - before
}

// removeHeader removes the header from a packet to a host. p.Size shrinks by it, unless the packet came from a host of
// this leaf: then the header was never on a link.
func (t *Program) removeHeader(p *packet.Packet) {
	before := p.ExtensionBytes()
	p.RemoveExtension(HeaderKind)
	if in := p.Meta.In; int(in) >= len(t.hosts) || !t.hosts[in] { // otherwise it was never on a link
		p.Size += p.ExtensionBytes() - before
	}
}

// receiveFeedback processes a feedback packet. A neighbour's goes to the control plane or, about a lost leaf, to the
// reachability state. A copy of this switch's own, from the recirculation port, updates the ports' colours at ingress.
// It returns false, without an effect, if p has no valid feedback.
func (t *Program) receiveFeedback(env *dataplane.Env, p *packet.Packet) bool {
	in := p.Meta.In
	var events [2]Event
	n, ok := parseFeedback(p, &events)
	if !ok {
		return false
	}
	for _, e := range events[:n] {
		switch {
		case in == packet.NoPort:
			if int(e.Port) < len(t.utilisation) && e.Metric == Utilisation {
				t.utilisation[e.Port] = dataplane.Colour(e.Value)
			}
		case e.Metric == unreachable:
			t.recordLostLeaf(env.Now(), in, e)
		case e.Metric == Delay:
			e.Port = in
			t.reportEvent(env, e)
		}
	}
	return true
}

// notifyNeighbour sends an event back over the link by which a packet arrived, in a separate packet made of the data
// packet's headers (P4TE §4.6). Without room for the event it sends no packet.
func (t *Program) notifyNeighbour(env *dataplane.Env, p *packet.Packet, in packet.PortID, e Event) {
	f := t.cloneHeaders(env, p)
	if !putFeedback(f, []Event{e}) {
		env.FreePacket(f)
		return
	}
	t.setSize(f, shimHeader)
	t.counts.ToNeighbour++
	env.SendPacket(f, in, 0)
}

// shimHeader is the header of ProtoOwn (packet.Emit).
const shimHeader = 16

// setSize sets the size of a packet made by this switch, with a transport header of the given bytes.
func (t *Program) setSize(f *packet.Packet, transport int32) {
	headers := packet.EthernetHeader + packet.IPv4Header + transport
	if f.Version == 6 {
		headers += packet.IPv6Header - packet.IPv4Header
	}
	f.Size = t.framing.FrameBytes(headers, 0, false) + f.ExtensionBytes() // as the framing counts it
}

// cloneHeaders returns a new message (packet.Probe) made of a copy of a packet's headers, without extensions. The
// caller sends it or frees it.
func (t *Program) cloneHeaders(env *dataplane.Env, p *packet.Packet) *packet.Packet {
	f := env.ClonePacket(p, true)
	f.Meta.Flags &^= packet.Trimmed
	f.ClearExtensions()
	f.Kind = packet.Probe
	f.Proto = packet.ProtoOwn // this header has a field for the kind
	f.TCP = packet.Segment{}
	f.TOS &^= packet.ECN
	return f
}

// reportEvent counts an event as a report to the control plane and, with path control, schedules the writes that
// follow.
func (t *Program) reportEvent(env *dataplane.Env, e Event) {
	t.counts.ToControl++
	if !t.config.Paths {
		return
	}
	t.scheduleWrites(env, t.control.Reconfigure(env.Now(), e))
}

// scheduleWrites appends writes, ascending by time and not before those already scheduled, and requests a tick for the
// first one that is due.
func (t *Program) scheduleWrites(env *dataplane.Env, writes []Write) {
	if len(writes) == 0 {
		return
	}
	t.writes = append(t.writes, writes...)
	env.TickAt(t, t.writes[t.written].At)
}

// Tick applies due writes. When its time has come, it also checks the links, notifies neighbours of lost leaves, and
// ages ports. It returns the time of the next tick, or unit.Never.
func (t *Program) Tick(env *dataplane.Env) unit.Time {
	now := env.Now()
	for t.written < len(t.writes) && t.writes[t.written].At <= now {
		t.upward[t.writes[t.written].Metric].Apply(t.writes[t.written])
		t.written++
	}
	if 2*t.written >= len(t.writes) { // if events outpace writes, this moves the queue rarely
		t.writes, t.written = t.writes[:copy(t.writes, t.writes[t.written:])], 0
	}
	next := unit.Never
	if t.config.LinkCheckInterval > 0 {
		if now >= t.nextLinkPoll {
			t.nextLinkPoll = now + t.config.LinkCheckInterval
			if t.reachability != nil {
				t.reportLostLeaves(env)
			}
			for _, p := range t.place.Up {
				if down := env.Port(p).IsDown(); down != t.isDown[p] {
					t.isDown[p] = down
					t.writes = append(t.writes, t.control.SetLinkDown(now, p, down)...)
				}
			}
		}
		next = t.nextLinkPoll
	}
	if t.config.IdleAge > 0 && t.config.Paths {
		if now >= t.nextAge {
			t.nextAge = now + t.config.IdleAge
			t.ageIdlePorts(now)
		}
		next = min(next, t.nextAge)
	}
	if t.written < len(t.writes) {
		next = min(next, t.writes[t.written].At)
	}
	return next
}

// Idle returns true: ticks change the paths of packets, and cause no packets.
func (t *Program) Idle() bool { return true }

// selectPath returns the upward port of a packet (algorithm 3); false without upward ports. With path control it begins
// a flowlet for a packet of a class that continues no flowlet.
func (t *Program) selectPath(now unit.Time, p *packet.Packet, class Class) (packet.PortID, bool) {
	if len(t.place.Up) == 0 {
		return 0, false
	}
	hash := dataplane.MixHash(p.Hash ^ t.seed)
	if !t.config.Paths {
		return t.place.Up[uint64(hash)*uint64(len(t.place.Up))>>32], true
	}
	if class == Other && !t.config.CodePaths { // lines 32, 33
		return t.selectPort(QueueDepth, hash), true
	}
	// line 19, except that flowlets leave a failed link
	if port, active := t.flowlets.ContinueFlowlet(now, hash); active && !t.isDown[port] {
		return port, true
	}
	group := hash
	if t.config.Spread {
		group = dataplane.MixHash(hash + uint32(now/unit.Nanosecond))
	}
	first, second, last := Delay, QueueDepth, Utilisation // lines 8 to 16
	switch {
	case t.config.CodePaths && class == HighThroughput: // P4TE code: no delay, no third branch
		first, second, last = Utilisation, QueueDepth, QueueDepth
	case t.config.CodePaths:
		first, second, last = QueueDepth, Utilisation, Utilisation
	case class == HighThroughput: // lines 20 to 28
		first, last = Utilisation, Delay
	}
	port := t.selectPort(first, group)
	switch t.utilisation[port] {
	case dataplane.Yellow:
		port = t.selectPort(second, group)
	case dataplane.Red:
		port = t.selectPort(last, group)
	}
	t.flowlets.BeginFlowlet(now, hash, port)
	return port, true
}

// selectPort returns a port from a metric's table. Between two writes a table may be empty; then it returns any upward
// port, by hash.
func (t *Program) selectPort(m Metric, hash uint32) packet.PortID {
	if port, ok := t.upward[m].Select(hash); ok {
		return port
	}
	return t.place.Up[uint64(hash)*uint64(len(t.place.Up))>>32]
}

// Egress monitors the link by which a packet departs (algorithm 1) and adapts the flow's rate (P4TE §6.4), which may
// mark the packet. It removes the header from packets to hosts.
func (t *Program) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	now, out := env.Now(), p.Meta.Out
	if t.config.Monitor && p.Kind != packet.Probe {
		colour, changed := t.colours.Observe(now, out, p.Size)
		if t.leadsUp[out] {
			t.departures[out] = now
			t.monitorPort(env, p, out, colour, changed)
		}
		if t.rate != nil {
			t.rate.adaptRate(env, p, colour)
		}
	}
	if t.hosts[out] && p.HasHotExtension(HeaderKind) {
		t.removeHeader(p)
	}
	return dataplane.Accept
}

// monitorPort reports the events of an upward port: its depth's, which it observes, and changed, the utilisation's. One
// feedback packet for both metrics goes to the control plane; with path control that schedules table writes. If the
// utilisation has changed, a copy goes to the ingress registers by recirculation. It counts both packets.
func (t *Program) monitorPort(env *dataplane.Env, p *packet.Packet, out packet.PortID, colour dataplane.Colour,
	changed Change) {
	var events [2]Event
	n := 0
	depth := int64(env.Port(out).Packets())
	if change := t.depth.Observe(out, depth); change != Unchanged {
		events[n] = Event{QueueDepth, change, out, depth}
		n++
	}
	if changed != Unchanged {
		events[n] = Event{Utilisation, changed, out, int64(colour)}
		n++
	}
	if n == 0 {
		return
	}
	if changed != Unchanged {
		f := t.cloneHeaders(env, p)
		if putFeedback(f, events[:n]) {
			t.setSize(f, shimHeader)
			t.counts.Recirculated++
			env.RecirculatePacket(f)
		} else {
			env.FreePacket(f)
		}
	}
	t.counts.ToControl++
	if t.config.Paths {
		for _, e := range events[:n] {
			t.scheduleWrites(env, t.control.Reconfigure(env.Now(), e))
		}
	}
}
