package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/fabric/wiring"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/switchfile"
	"weir/study/measure"
)

// refusal is the error of a program that cannot be built, with its place in the file.
type refusal struct {
	document.Position
	error
}

// Unwrap returns the reason.
func (r *refusal) Unwrap() error { return r.error }

// switchDecoder reads the configuration of switches, and the format of their telemetry.
type switchDecoder struct {
	*reader
	nodes     *nodeNames
	network   *networkDecoder
	paths     *pathChecker
	placement switchfile.Placement // of the programs
	block     programBlock         // of the point
}

// readSwitches reads the configuration of switches. events are the changes of links: the format of telemetry must fit
// all rates. It sets the configuration of each node, and resets the path checker for the point. If the file sets
// buffers by switch, the point gets its own copy of the network.
func (d *switchDecoder) readSwitches(root document.Map, p *Point, events []wiring.Event) {
	n := p.measured.Network
	p.switches, p.served = make([]wiring.SwitchConfig, len(n.Nodes)), make([]*switchfile.SchedulerChoice, len(n.Nodes))
	programs := make([][]switchfile.Program, len(n.Nodes))
	placeOf := root.Position
	if t := root.Get("switch"); t != nil {
		placeOf = t.Position
		list := switchfile.ReadPrograms(d.Reader, d.registry.Programs, t, d.placement)
		for i := range n.Nodes {
			programs[i] = list
		}
	}
	patterns := root.Get("switches")
	if patterns != nil && d.checkMap(patterns) {
		entries := root.GetEntries("switches")
		if slices.ContainsFunc(entries,
			func(k document.Entry) bool { return perSwitch.ViewMap(k.Value).Get("buffer") != nil }) {
			private := *n // other points may share the network
			private.Links = slices.Clone(n.Links)
			n, p.measured.Network = &private, &private
			p.memory += perLink * int64(len(n.Links))
		}
		for _, k := range entries {
			d.readPattern(k, p, programs)
		}
	}
	d.findTelemetry(root, p, programs, wiring.Rates(p.measured.Network, events))
	d.paths.beginPoint(p, programs)
	for i, node := range n.Nodes {
		if !node.Switch {
			continue
		}
		list := programs[i]
		if !p.measured.NoPackets {
			d.checkForwarding(placeOf, node.Name, list)
		}
		sc := &p.switches[i]
		sc.Routes = dataplane.HostRoutes(p.book, p.measured.Routes.PathsFrom(i))
		sc.Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			var out []dataplane.Program
			for _, x := range list {
				program, err := x.Scheme.Build(site, x.Config)
				if err != nil {
					return nil, &refusal{x.Position, err}
				}
				out = append(out, program)
			}
			return out, nil
		}
	}
}

// checkForwarding reports an error if no program of a switch chooses the port of packets. placeOf is the place of the
// error for an empty list. A program that declares no traits may choose the port, so the error becomes a warning. It
// does not report about a sample of one program, and after other errors.
func (d *switchDecoder) checkForwarding(placeOf document.Position, name string, list []switchfile.Program) {
	if !d.OK() || d.placement == switchfile.Sample {
		return
	}
	if len(list) == 0 {
		if d.block.value != "" {
			placeOf, name = d.block.place, name+" with "+d.block.value
		}
		d.Fail(placeOf, "switch: [forward]", "switch %s has no programs, so it forwards no packets", name)
		return
	}
	var names []string
	unknown := ""
	for i := range list {
		x := &list[i]
		if x.Traits.ChoosesPort(false) {
			return
		}
		if !dataplane.DeclaresTraits(x.Config) {
			unknown = x.Scheme.Name
		}
		names = append(names, x.Scheme.Name)
	}
	words := strings.Join(names, ", ")
	if unknown != "" {
		d.warn(warnNoForwarding, list[0].Position, "no program of [%s] declares that it chooses the port of packets; unless "+
			"%s does, every packet is dropped (no_route): put forward, or a program such as ecmp, first", words, unknown)
		return
	}
	d.Fail(list[0].Position, fmt.Sprintf("forward, or a program such as ecmp, first: [forward, %s]", words),
		"no program of [%s] chooses the port of packets, so switch %s drops every packet (no_route)", words, name)
}

// checkMap reports whether the value of switches is a map, and reports an error if it is not.
func (d *switchDecoder) checkMap(t *document.Node) bool {
	if t.Kind != document.Mapping {
		d.Fail(t.Position, `{"*": {…}}`, "the value is not a map but %v", t.Kind)
		return false
	}
	return true
}

// readPattern reads the configuration of the switches that match a name or a pattern, and stores their programs by node
// in programs. A buffer changes the links of these switches in the point's network. A later entry replaces values of an
// earlier one. It reports an error if no switch matches.
func (d *switchDecoder) readPattern(k document.Entry, p *Point, programs [][]switchfile.Program) {
	t, ok := d.ReadMap(k.Value, perSwitch)
	if !ok {
		return
	}
	var list []switchfile.Program
	if x := t.Get("programs"); x != nil {
		list = switchfile.ReadPrograms(d.Reader, d.registry.Programs, x, d.placement)
	}
	n := p.measured.Network
	before := d.CountErrors()
	found := d.nodes.matchNodes(k.Position, k.Name, true, n)
	if d.CountErrors() > before {
		return
	}
	for _, i := range found {
		if list != nil {
			programs[i] = list
		}
		sc := &p.switches[i]
		if x := t.Get("queues"); x != nil {
			sc.Queues = switchfile.ReadQueueCount(d.Reader, x)
		}
		if x := t.Get("queue_limit"); x != nil {
			l := switchfile.ReadBuffer(d.Reader, x)
			sc.QueueLimit = tm.Limit{Packets: l.Packets, Bytes: l.Bytes}
			d.network.limits = append(d.network.limits, queueLimit{x.Position, l.Bytes})
		}
		if x := t.Get("scheduler"); x != nil {
			if s := switchfile.ReadScheduler(d.Reader, d.registry.Schedulers, x, max(sc.Queues, 1)); s != nil {
				sc.Scheduler, p.served[i] = s.Make, s
			}
		}
		if x := t.Get("clock"); x != nil {
			sc.Clock = d.readClock(x)
		}
		if x := t.Get("recirculation"); x != nil {
			d.readRecirculation(x, sc)
		}
	}
	if x := t.Get("buffer"); x != nil && d.nodes.countComparisons(x.Position, len(n.Links)) {
		l, matched := switchfile.ReadBuffer(d.Reader, x), map[int]bool{}
		for _, i := range found {
			matched[i] = true
		}
		for li := range n.Links {
			if e := n.Links[li].Ends; matched[e[0]] || matched[e[1]] {
				n.Links[li].Buffer, d.network.bufferAt[li] = l, x.Position
			}
		}
	}
	if len(found) == 0 {
		names := d.nodes.directory.switches
		d.FailUnknown(k.Position, "switch", k.Name, append(names[:min(len(names), 10):min(len(names), 10)], "*"))
	}
}

// readRecirculation reads into sc a switch's port to itself: its rate, which is required, and its queue in packets.
func (d *switchDecoder) readRecirculation(t *document.Node, sc *wiring.SwitchConfig) {
	x, ok := d.ReadMap(t, recirculation)
	if !ok {
		return
	}
	if r := x.Get("rate"); r != nil {
		sc.Recirculation.Rate = document.ReadValue(d.Reader, r, unit.ParseLinkRate)
	} else {
		d.Fail(x.Position, recirculation.FindKey("rate").Example, "the recirculation port needs the key rate")
	}
	queue := x.GetDefault("queue")
	if l := switchfile.ReadBuffer(d.Reader, queue); l.Bytes > 0 {
		d.Fail(queue.Position, "a number of packets such as 64 packets", "%q is not a number of packets", queue.Text)
	} else {
		sc.Recirculation.Queue = int(l.Packets)
	}
}

// findTelemetry finds the format of telemetry that the programs write. All must agree, since hosts cannot recognize the
// writer. rates has all rates that links ever have. It stores the format and the place of the first writer in the
// point.
func (d *switchDecoder) findTelemetry(root document.Map, p *Point, programs [][]switchfile.Program, rates []unit.Rate) {
	for i, list := range programs {
		for _, x := range list {
			if !p.measured.Network.Nodes[i].Switch || x.Traits.Telemetry == nil || !d.OK() {
				continue
			}
			f, err := x.Traits.Telemetry(rates)
			f.InFraming = p.measured.Framing.IsFixed()
			place := root.Position
			if t := root.Get("switches"); t != nil {
				place = t.Position
			} else if t := root.Get("switch"); t != nil {
				place = t.Position
			}
			switch {
			case err != nil:
				d.Fail(place, "", "%v", err)
			case p.telemetry == nil:
				p.telemetry, p.telemetryAt = &f, x.Position
			case *p.telemetry != f:
				d.Fail(place, "the same format and parameters on all switches",
					"switch %s writes telemetry in another format or with other parameters than the preceding switches",
					p.measured.Network.Nodes[i].Name)
			}
		}
	}
}

// checkUnits warns if the units of HPCC's format are too coarse for the slowest port of a switch that packets with
// telemetry pass.
func (d *pathChecker) checkUnits(p *Point, loads map[topology.PortRef]*portLoad) {
	f := p.telemetry
	if f == nil || f.Profile.Name != "hpcc" {
		return
	}
	slowest, name := unit.Rate(0), ""
	for port, x := range loads {
		l := &p.measured.Network.Links[port.Link]
		if !x.informed || l.Rate.Bits == 0 || !p.measured.Network.Nodes[l.Ends[port.End]].Switch {
			continue
		}
		n := p.measured.Network.PortName(port.Link, port.End)
		if slowest == 0 || l.Rate.Bits < slowest || l.Rate.Bits == slowest && n < name {
			slowest, name = l.Rate.Bits, n
		}
	}
	if maxMulti := telemetry.MaxMulti(max(slowest, 1)); slowest > 0 && f.HPCC.Multi > maxMulti {
		w := document.Warn(warnMulti, p.telemetryAt, "program telemetry: multi: %d makes the units of HPCC's format too "+
			"coarse for %s, of %v, so its load is overestimated; use at most %d", f.HPCC.Multi, name, slowest,
			maxMulti)
		w.Port = name
		d.issue(w)
	}
}

// readClock reads a switch's clock. The offset is at most an hour in both directions, and the drift at most 100000 ppm.
// A value with an error counts as exact or is out of range.
func (d *switchDecoder) readClock(t *document.Node) (c telemetry.Clock) {
	m, ok := d.ReadMap(t, clock)
	if !ok {
		return
	}
	x := m.GetDefault("resolution")
	if c.Resolution = d.ReadPositiveTime(x); c.Resolution > unit.Second {
		d.Fail(x.Position, "1ps … 1s", "a resolution of %q is out of range", x.Text)
	}
	x = m.GetDefault("offset")
	text, behind := strings.CutPrefix(d.ReadText(x), "-")
	offset, err := unit.ParseTime(text)
	if err != nil || offset > 3600*unit.Second {
		d.Fail(x.Position, "a time such as 5us or -5us, at most one hour", "%q is not a valid clock offset", x.Text)
	}
	if c.Offset = offset; behind {
		c.Offset = -offset
	}
	x = m.GetDefault("drift")
	number, parts := strings.CutSuffix(d.ReadText(x), "ppm")
	if c.Drift, err = strconv.ParseFloat(strings.TrimSpace(number), 64); err != nil || !parts || !(c.Drift >= -100_000 &&
		c.Drift <= 100_000) {
		d.Fail(x.Position, "a drift such as 20ppm or -20ppm, at most 100000ppm", "%q is not a valid clock drift", x.Text)
		c.Drift = 0
	}
	return
}

// limitWaits sets the limits of waiting at ports of switches with these programs. They determine the longest round
// trips of paths. It replaces earlier limits, so it can be repeated when events and traffic are known. programs is by
// node.
func (p *Point) limitWaits(programs [][]switchfile.Program) {
	n, frame := p.measured.Network, max(unit.Bytes(p.LargestFrame()), ethernetFrame)
	w := &measure.Waits{Ports: make([][2]dataplane.Backlog, len(n.Links))}
	for i := range n.Links {
		l := &n.Links[i]
		for end, node := range l.Ends {
			if n.Nodes[node].Switch {
				w.Ports[i][end] = p.backlogOf(node, l.Buffer, programs[node], frame)
			}
		}
	}
	for node, list := range programs {
		if !n.Nodes[node].Switch {
			continue
		}
		for i := range list {
			t := &list[i].Traits
			if t.Pauses && w.Memory == nil {
				w.Memory = make([]unit.Bytes, len(n.Nodes))
			}
			w.Spreads = w.Spreads || t.Spreads != dataplane.OnePath
			w.Reorders = w.Reorders || t.Reorders || t.Trims || w.Spreads
		}
	}
	for node := range w.Memory {
		if p.switches[node].Queues > 1 || p.hasScheduler(node) { // a class may starve
			continue
		}
		for i := range programs[node] {
			if t := &programs[node][i].Traits; t.MaxBacklog != nil {
				w.Memory[node] = t.MaxBacklog(frame, nil).Bytes
			}
		}
	}
	p.measured.Waits = w
	p.limitChanges()
}

// backlogOf returns the largest backlog at a port of a switch with the given buffer; frame is the largest frame in
// bytes. It returns zero if there is no limit. A scheduler may starve a queue, so that its packets wait without a
// limit. Only programs that can trim define an order and limits of several queues, in strict priority or in turns of
// packets, even if they drop instead.
func (p *Point) backlogOf(node int, buffer unit.Length, programs []switchfile.Program,
	frame unit.Bytes) (b dataplane.Backlog) {
	sc, ordered := &p.switches[node], false
	lower := func(x dataplane.Backlog) {
		if x.Bytes > 0 && (b.Bytes == 0 || x.Bytes < b.Bytes) {
			b.Bytes = x.Bytes
		}
		if x.Packets > 0 && (b.Packets == 0 || x.Packets < b.Packets) {
			b.Packets = x.Packets
		}
		if x.Wait > 0 {
			b.Wait = x.Wait
		}
	}
	turns, served := []int64(nil), p.hasScheduler(node)
	if served {
		if t := &p.served[node].Traits; t.Turns != nil {
			turns = t.Turns(max(sc.Queues, 1))
		}
	}
	for i := range programs {
		t := &programs[i].Traits
		if t.MaxBacklog != nil {
			lower(t.MaxBacklog(frame, turns))
		}
		ordered = ordered || t.LimitsQueues
	}
	if served && (turns == nil || !ordered) || sc.Queues > 1 && !ordered || sc.Recirculation.Queue > 0 {
		return dataplane.Backlog{}
	}
	lower(dataplane.Backlog{Bytes: buffer.Bytes, Packets: int64(buffer.Packets)})
	queues := int64(max(sc.Queues, 1))
	lower(dataplane.Backlog{Bytes: sc.QueueLimit.Bytes * unit.Bytes(queues),
		Packets: int64(sc.QueueLimit.Packets) * queues})
	return b
}

// limitChanges adds lower rates from events and stalls of hosts to the limits of waiting, which must be set, and
// prepares them (PrepareWaits).
func (p *Point) limitChanges() {
	w := p.measured.Waits
	for i := range p.measured.Events {
		e := &p.measured.Events[i]
		if e.Link < 0 || e.Rate == (unit.LinkRate{}) { // the event has an error
			continue
		}
		lowest, changed := w.Rates[e.Link]
		if !changed {
			lowest = p.measured.Network.Links[e.Link].Rate
		}
		if e.Rate.Bits < lowest.Bits || e.Rate.Packets < lowest.Packets {
			if w.Rates == nil {
				w.Rates = map[int]unit.LinkRate{}
			}
			w.Rates[e.Link] = e.Rate
		}
	}
	w.Endless = p.stalls.Every > 0
	p.measured.PrepareWaits()
}

// Timer describes how the transport of a traffic reacts if acknowledgements are missing.
type Timer struct {
	Traffic, Transport string
	transport.TimerReport
	Points []string // names of the sweep's points
}

// String returns the description as text.
func (t *Timer) String() string {
	return fmt.Sprintf("timer of traffic %s (%s): %s", t.Traffic, t.Transport, t.Text)
}

// Timers returns the reactions of all traffics' transports to missing acknowledgements. Points of a sweep with the same
// reaction of a traffic share an entry. Traffics without a known reaction are not listed.
func (s *Spec) Timers() (timers []Timer) {
	for _, p := range s.points {
		for i := range p.entries {
			tr := &p.entries[i]
			if !tr.timed {
				continue
			}
			t := Timer{Traffic: tr.measured.Name, Transport: tr.measured.Transport.Name, TimerReport: tr.timer}
			k := slices.IndexFunc(timers, func(x Timer) bool {
				return x.Traffic == t.Traffic && x.Transport == t.Transport && x.TimerReport == t.TimerReport
			})
			if k < 0 {
				k = len(timers)
				timers = append(timers, t)
			}
			timers[k].Points = append(timers[k].Points, measure.PointName(p.coordinates))
		}
	}
	return timers
}
