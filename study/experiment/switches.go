package experiment

import (
	"slices"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/fabric/wiring"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/switchfile"
)

// refusal is why a program cannot be built, with its place in the file.
type refusal struct {
	document.Place
	error
}

func (r *refusal) Unwrap() error { return r.error }

// switchDecoder reads what switches run, and in which format they write telemetry.
type switchDecoder struct {
	*reader
	nodes     *nodeNames
	network   *networkDecoder
	paths     *pathChecker
	placement switchfile.Placement // of the programs
}

// readSwitches reads what switches run. Telemetry has room for the rates that events give to links.
func (d *switchDecoder) readSwitches(root document.Map, p *Point, events []wiring.Event) {
	n := p.seen.Network
	p.switches, p.served = make([]wiring.SwitchConfig, len(n.Nodes)), make([]*switchfile.Served, len(n.Nodes))
	programs := make([][]switchfile.Program, len(n.Nodes))
	placeOf := root.Place
	if t := root.Get("switch"); t != nil {
		placeOf = t.Place
		list := switchfile.Programs(d.Reader, d.registry.Programs, t, d.placement)
		for i := range n.Nodes {
			programs[i] = list
		}
	}
	patterns := root.Get("switches")
	if patterns != nil && d.checkMap(patterns) {
		entries := root.Entries("switches")
		if slices.ContainsFunc(entries, func(k document.Entry) bool { return perSwitch.Of(k.Value).Get("buffer") != nil }) {
			own := *n // other points may share it
			own.Links = slices.Clone(n.Links)
			n, p.seen.Network = &own, &own
			p.memory += ofLink * int64(len(n.Links))
		}
		for _, k := range entries {
			d.readPattern(k, p, programs)
		}
	}
	d.findTelemetry(root, p, programs, wiring.Rates(p.seen.Network, events))
	d.paths.surround(p, programs)
	for i, node := range n.Nodes {
		if !node.Switch {
			continue
		}
		if len(programs[i]) == 0 && !p.seen.NoPackets && d.OK() {
			d.Fail(placeOf, "switch: [forward]", "switch %s has no programs, so it forwards nothing", node.Name)
		}
		list := programs[i]
		sc := &p.switches[i]
		sc.Routes = dataplane.HostRoutes(p.book, p.seen.Routes.Paths(i))
		sc.Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			var out []dataplane.Program
			for _, x := range list {
				program, err := x.Scheme.Build(site, x.Config)
				if err != nil {
					return nil, &refusal{x.At, err}
				}
				out = append(out, program)
			}
			return out, nil
		}
	}
}

// checkMap reports whether the patterns of switches are a map. It is an error if not.
func (d *switchDecoder) checkMap(t *document.Node) bool {
	if t.Kind != document.Mapping {
		d.Fail(t.Place, `{"*": {…}}`, "this is %v, not a map", t.Kind)
		return false
	}
	return true
}

// readPattern reads what differs at the switches that a name or a pattern means.
func (d *switchDecoder) readPattern(k document.Entry, p *Point, programs [][]switchfile.Program) {
	t, ok := d.Map(k.Value, perSwitch)
	if !ok {
		return
	}
	var list []switchfile.Program
	if x := t.Get("programs"); x != nil {
		list = switchfile.Programs(d.Reader, d.registry.Programs, x, d.placement)
	}
	n := p.seen.Network
	before := d.Count()
	found := d.nodes.matchNodes(k.Place, k.Name, true, n)
	if d.Count() > before {
		return
	}
	for _, i := range found {
		if list != nil {
			programs[i] = list
		}
		sc := &p.switches[i]
		if x := t.Get("queues"); x != nil {
			sc.Queues = switchfile.Queues(d.Reader, x)
		}
		if x := t.Get("queue_limit"); x != nil {
			l := switchfile.Buffer(d.Reader, x)
			sc.QueueLimit = tm.Limit{Packets: l.Packets, Bytes: l.Bytes}
			d.network.limits = append(d.network.limits, limit{x.Place, l.Bytes})
		}
		if x := t.Get("scheduler"); x != nil {
			if s := switchfile.Scheduler(d.Reader, d.registry.Schedulers, x, max(sc.Queues, 1)); s != nil {
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
	if x := t.Get("buffer"); x != nil && d.nodes.countComparisons(x.Place, len(n.Links)) {
		l, own := switchfile.Buffer(d.Reader, x), map[int]bool{}
		for _, i := range found {
			own[i] = true
		}
		for li := range n.Links {
			if e := n.Links[li].Ends; own[e[0]] || own[e[1]] {
				n.Links[li].Buffer, d.network.bufferAt[li] = l, x.Place
			}
		}
	}
	if len(found) == 0 {
		names := d.nodes.directory.switches
		d.Unknown(k.Place, "switch", k.Name, append(names[:min(len(names), 10):min(len(names), 10)], "*"))
	}
}

// readRecirculation reads a switch's port to itself.
func (d *switchDecoder) readRecirculation(t *document.Node, sc *wiring.SwitchConfig) {
	x, ok := d.Map(t, recirculation)
	if !ok {
		return
	}
	if r := x.Get("rate"); r != nil {
		sc.Recirculation.Rate = document.Read(d.Reader, r, unit.ParseLinkRate)
	} else {
		d.Fail(x.Place, recirculation.Key("rate").Example, "the recirculation port has no rate")
	}
	queue := x.Default("queue")
	if l := switchfile.Buffer(d.Reader, queue); l.Bytes > 0 {
		d.Fail(queue.Place, "a number of packets such as 64 packets", "%q is not a number of packets", queue.Text)
	} else {
		sc.Recirculation.Queue = int(l.Packets)
	}
}
