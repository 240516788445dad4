package experiment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/switchfile"
	"weir/study/experiment/plots"
	"weir/study/measure"
)

// decoder decodes the points of a file, one after another. Each section of the file has its own decoder, which stores
// what it reads in the point. Decoders keep only what points share.
type decoder struct {
	*reader
	tree       *document.Node    // the tree to decode; it is not changed
	defaults   document.Defaults // defaults of the points so far
	mentions   map[string]bool   // names that the file uses, also in blocks of other points
	incomplete bool              // the file lacks a network, traffic or duration
	trial      Trial
	built      map[string]bool // keys of the networks and configurations that were built successfully
	flows      flowList        // flows of the previous point

	nodes    *nodeNames
	network  *networkDecoder
	users    *userDecoder
	switches *switchDecoder
	paths    *pathChecker
	traffic  *trafficDecoder
	events   *eventDecoder
}

// newDecoder returns a decoder of a file's points. It checks programs for a placement.
func newDecoder(c *document.Reader, r *Registry, src *Source, placement switchfile.Placement) *decoder {
	d := &decoder{reader: &reader{Reader: c, registry: r, source: src, inputs: map[string][]byte{}},
		built: map[string]bool{}}
	d.nodes = &nodeNames{reader: d.reader}
	d.network = &networkDecoder{reader: d.reader, routed: newRoutedNetworks()}
	d.users = &userDecoder{d.reader, d.nodes}
	d.paths = &pathChecker{reader: d.reader}
	d.switches = &switchDecoder{reader: d.reader, nodes: d.nodes, network: d.network, paths: d.paths,
		placement: placement}
	d.traffic = &trafficDecoder{reader: d.reader, nodes: d.nodes, paths: d.paths}
	d.traffic.jobs = &jobDecoder{reader: d.reader, nodes: d.nodes, traffic: d.traffic}
	d.traffic.files = &flowFileDecoder{d.reader, d.nodes, d.traffic}
	d.traffic.captures = &captureDecoder{reader: d.reader, nodes: d.nodes}
	d.events = &eventDecoder{d.reader, d.nodes}
	return d
}

// decodePoint decodes combination i of the sweep. It adds the names of used bindings to used, and replaces what d keeps
// of the previous point. Errors go to the reader. After an error the point is incomplete.
func (s *Spec) decodePoint(d *decoder, i int, used map[string]bool) *Point {
	p := &Point{}
	d.files, d.network.bufferAt, d.network.limits, d.nodes.matches = nil, nil, nil, 0
	d.Bound = map[document.Position]string{}
	tree := document.Copy(d.tree)
	tree.Keys = slices.DeleteFunc(tree.Keys, func(k document.Entry) bool { return top.HasTrait(k.Name, wholeFile) })
	before := d.CountErrors()
	p.coordinates = s.coordinates(i)
	bound := s.bindNames(d.reader, tree, i, used)
	d.switches.block = s.findProgramBlock(i)
	root, _ := d.ReadMap(tree, top)
	bound.replaceNames(tree)
	for _, v := range bound.variables {
		if !v.used && !d.mentions[v.Name] && !s.options.Resolved {
			d.FailUnknown(v.Position, "key", v.Name, append(top.KeyNames(), "a name that $"+v.Name+" stands for"))
		}
	}
	if d.CountErrors() > before {
		return p
	}
	p.measured.Duration = d.ReadPositiveTime(root.Get("duration"))
	p.measured.Warmup = document.ReadValue(d.Reader, root.GetDefault("warmup"), unit.ParseTime)
	if p.measured.End() < 0 {
		d.Fail(root.Get("duration").Position, "106 days in total", "duration plus warmup is too long")
	}
	timeless := d.CountErrors() > before
	if timeless { // avoid errors that depend on the duration
		p.measured.Duration, p.measured.Warmup = 1000*3600*unit.Second, 0
	}
	p.measured.Framing = switchfile.ReadFraming(d.Reader, root.GetDefault("framing"), framings())
	before = d.CountErrors()
	if !d.incomplete {
		d.network.readTopology(root, p)
	}
	if !d.incomplete && d.CountErrors() == before && p.measured.Network != nil {
		d.network.assignRoutes(root, p)
	}
	// after an error, read what does not depend on the network
	if d.incomplete || timeless || d.CountErrors() > before || p.measured.Network == nil {
		d.decodePartial(root, p)
		return p
	}
	d.readComplete(root, tree, p)
	return p
}

// readComplete decodes what depends on a point's network: its switches, traffic, events and measures. It reads them in
// an order in which each finds what it needs. If the file has no error, it also tries to build the run.
func (d *decoder) readComplete(root document.Map, tree *document.Node, p *Point) {
	d.traffic.jobs.readIdeal(root, p)
	d.users.readUsers(root, p)
	// The format of telemetry depends on the rates of events. Waits and traffic are read without events.
	events := d.events.readEvents(root, p)
	d.switches.readSwitches(root, p, events)
	p.limitWaits(d.paths.programs)
	d.traffic.readList(root, p)
	p.measured.Events = events
	d.events.readStalls(root, p)
	if d.traffic.jobs.readIterations(root, p); p.measured.NoPackets {
		d.traffic.jobs.checkIdeal(root.Get("network"), p)
	}
	p.limitWaits(d.paths.programs) // with the frames of all traffic, and with events
	p.setTraffic(d.OK())
	d.readMeasures(root, p)
	d.network.checkBuffers(p)
	d.paths.checkPrograms(p)
	if d.OK() {
		d.storeIdentity(tree, p)
		d.shareFlows(p)
		d.tryBuild(root, p)
	}
}

// readMeasures reads the measure list into p.measures. The point's network and traffic must be set.
func (d *decoder) readMeasures(root document.Map, p *Point) {
	p.measured.ResolveHosts = func(t *document.Node) []int { return d.nodes.listHosts(t, p) }
	p.measures = measure.DecodeList(d.Reader, d.registry.Measures, root.GetDefault("measure"), &p.measured)
	p.measured.ResolveHosts = nil
}

// storeIdentity stores the canonical text that determines a point's runs, and the defaults in it. It sorts the keys of
// tree.
func (d *decoder) storeIdentity(tree *document.Node, p *Point) {
	d.defaults.NoteDefaults(tree)
	for _, x := range listParameters(tree) {
		if strings.HasPrefix(x.Source, "default: ") {
			p.defaults = append(p.defaults, x)
		}
	}
	var b strings.Builder
	tree.SortKeys()
	tree.WriteYAML(&b, 0)
	fmt.Fprintf(&b, "point %q\nfiles %q\n", measure.PointName(p.coordinates), d.files)
	p.canonical = b.String()
}

// shareFlows lets a point use the previous point's flows if they are the same. It adds the point's own memory, without
// networks and routes, which were counted when they were made. The next call compares with the flows of this point.
func (d *decoder) shareFlows(p *Point) {
	p.memory += int64(perPoint + perParameter*len(p.defaults) + len(p.canonical) + perSwitchConfig*len(p.switches))
	if p.flows.hasSameFlows(&d.flows) {
		p.flows = d.flows
		return
	}
	d.flows = p.flows
	p.memory += p.flows.memoryBytes()
}

// tryBuild builds the run once, so that errors which only constructors find are errors of the file and not of a run. It
// also stores the number of values that runs observe and keep. It builds endpoints for every point. Switches, which are
// many in large networks, are built once for each network, configuration and list of measures.
func (d *decoder) tryBuild(root document.Map, p *Point) {
	var b strings.Builder
	for _, key := range top.KeyNames(affectsBuild) {
		if t := root.Get(key); t != nil {
			t.WriteYAML(&b, 0)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%q", d.files)
	what, err := b.String(), error(nil)
	if p.samples, p.kept, err = d.trial.TryRun(p, !d.built[what]); err == nil {
		d.built[what] = true
	}
	var much *measure.TooManySamplesError
	var refused *refusal
	var without *NoNIC
	switch {
	case errors.As(err, &much):
		d.Fail(root.Get("measure").Position, "", "%v", err)
	case errors.As(err, &refused):
		d.Fail(refused.Position, "", "the experiment cannot be built: %v", err)
	case errors.As(err, &without):
		d.Fail(without.errorPlace(p), without.Allowed, "%v", without)
	case err != nil:
		d.Fail(root.Get("topology").Position, "", "the experiment cannot be built: %v", err)
	}
}

// All errors of a file are reported together. After an error that others depend on, the functions below read the rest
// as far as possible, and report no error that may only follow from the first.

// decodePartial reads the parts of a point that do not depend on its network, to report errors in them. p gets only
// NoPackets and what decodePartialTraffic adds.
func (d *decoder) decodePartial(root document.Map, p *Point) {
	if t := root.Get("switch"); t != nil {
		switchfile.ReadPrograms(d.Reader, d.registry.Programs, t, d.switches.placement)
	}
	for _, k := range root.GetEntries("switches") {
		x, ok := d.ReadMap(k.Value, perSwitch)
		if !ok {
			continue
		}
		if t := x.Get("programs"); t != nil {
			switchfile.ReadPrograms(d.Reader, d.registry.Programs, t, d.switches.placement)
		}
		if t := x.Get("buffer"); t != nil {
			switchfile.ReadBuffer(d.Reader, t)
		}
	}
	if t := root.Get("network"); t != nil {
		p.measured.NoPackets = t.Kind != document.Scalar || t.Text != packets // jobs on an ideal network have no transport
	}
	if t := root.Get("traffic"); t != nil && t.Kind == document.List {
		names := map[string]document.Position{}
		for _, x := range t.Items {
			if x.Kind != document.Mapping {
				d.Fail(x.Position, "{name: …, from: …, to: …, transport: …}", "the traffic is not a map")
				continue
			}
			d.decodePartialTraffic(d.ViewMap(x, traffic, d.traffic.entryKeys()...), p, names)
		}
	}
	d.checkMeasureNames(root.Get("measure"))
	if t := root.Get("events"); t != nil && t.Kind == document.List {
		for _, x := range t.Items {
			d.ReadMap(x, event)
		}
	}
}

// decodePartialTraffic reads the parts of a traffic that do not depend on hosts. names has the names of earlier
// traffics; it adds this one's.
func (d *decoder) decodePartialTraffic(x document.Map, p *Point, names map[string]document.Position) {
	tr := Traffic{measured: measure.Traffic{Version: 4}, stop: unit.Never, place: x.Position, ccPlace: x.Position}
	if !d.traffic.readName(x, &tr, names) || !d.traffic.readTransport(x, &tr, p) {
		return
	}
	d.traffic.readController(x, &tr, p)
	if v := x.Get("stop"); v != nil {
		tr.stop = d.ReadPositiveTime(v)
	}
	if x.Get("file") == nil && x.Get("collective") == nil && x.Get("job") == nil {
		d.traffic.readStart(x, &tr, p)
		for _, key := range []string{"from", "to"} {
			if x.Get("pairs") == nil && x.Get(key) == nil {
				x.FailMissing(key, "the traffic needs the key %q", key)
			}
		}
	}
	if v := x.Get("size"); v != nil {
		if size, ok := document.ReadValid(d.Reader, v, unit.ParseBytes); ok && size < 1 {
			d.Fail(v.Position, "at least 1 B", "%q is not a valid size", v.Text)
		}
	}
}

// checkMeasureNames reports unknown names of measures and of their keys in the measure list t; nil: no list.
func (d *decoder) checkMeasureNames(t *document.Node) {
	if t == nil {
		return
	}
	if t.Kind != document.List {
		d.Fail(t.Position, "[goodput, {queue: {port: s1->server}}]", "measure is not a list")
		return
	}
	for _, x := range t.Items {
		name, options := d.SplitNamed(x, "measure")
		if options == nil {
			continue
		}
		i := slices.IndexFunc(d.registry.Measures, func(k measure.Definition) bool { return k.Name == name })
		switch {
		case i < 0:
			d.FailUnknown(x.Position, "measure", name, measure.KindNames(d.registry.Measures))
		case len(d.registry.Measures[i].Keys) == 0 && len(options.Keys) > 0:
			d.Fail(options.Keys[0].Position, name+" without options", "%s has no options", name)
		default:
			d.ReadMap(options, d.registry.Measures[i].Table())
		}
	}
}

// decodeRest continues after an error in the sweep, or if a required key is missing. sweep reports whether the sweep's
// values are known, so that $key can be resolved. Then it decodes the first point and appends it to s.points; a missing
// duration counts as 2400 h. Otherwise it checks only the names of measures.
func (s *Spec) decodeRest(d *decoder, sweep bool) {
	tree := document.Copy(d.tree)
	root, _ := d.ReadMap(tree, top)
	switch combinations, ok := 0, false; {
	case !sweep:
		d.checkMeasureNames(root.Get("measure"))
	default:
		if combinations, ok = s.countCombinations(d.Reader, d.tree, &s.headSection); ok && combinations > 0 {
			if root.Get("duration") == nil {
				d.tree.Set("duration", &document.Node{Position: tree.Position, Text: "2400h", From: "nothing"})
			}
			d.incomplete = root.Get("topology") == nil || root.Get("traffic") == nil || root.Get("duration") == nil
			s.points = append(s.points, s.decodePoint(d, s.firstCombination(combinations), map[string]bool{}))
		}
	}
	if sweep {
		s.checkResultNames(d)
	}
}

// decodeOtherBlocks decodes, after a point with errors, the points that differ from it in one block of the sweep, since
// an error in that block is another one. It drops the points. wrong is the combination with errors.
func (s *Spec) decodeOtherBlocks(d *decoder, wrong int, used map[string]bool) {
	d.AllowRepeats()
	step := 1
	for k := len(s.sweep) - 1; k >= 0; k-- {
		n := len(s.sweep[k].Values)
		wrongValue := wrong / step % n
		for v := range n {
			other := wrong + (v-wrongValue)*step
			if v != wrongValue && s.valueOrigins[k].blocks[v] != nil && s.findAbsence(other) < 0 {
				s.decodePoint(d, other, used)
			}
		}
		step *= n
	}
}

// checkResultNames checks plots and claims while the measures of runs are unknown. It sets s.view. Without points it
// has no effect.
func (s *Spec) checkResultNames(d *decoder) {
	root := top.ViewMap(s.root)
	s.setView()
	if len(s.view.Points) == 0 {
		return
	}
	known := s.mayBeMeasured(root)
	s.view.MayBeMeasure = func(name string) bool {
		return known == nil || slices.ContainsFunc(known, func(k string) bool {
			return name == k || strings.HasPrefix(name, k+"_")
		})
	}
	if t := root.Get("expect"); t != nil {
		s.view.ReadClaims(d.Reader, t)
	}
	plots.CheckNames(d.Reader, &s.view, root.Get("plot"), known)
}

// mayBeMeasured returns prefixes of the names that runs can have, each up to an underscore: the measures in the file,
// valid or not, and other names that they record. It returns nil if any name is possible.
func (s *Spec) mayBeMeasured(root document.Map) (names []string) {
	t := root.Get("measure")
	if t == nil {
		return nil
	}
	for _, x := range t.Items {
		switch {
		case x.Kind == document.Scalar:
			names = append(names, x.Text)
		case x.Kind == document.Mapping && len(x.Keys) == 1:
			names = append(names, x.Keys[0].Name)
		default:
			return nil
		}
	}
	if root.Get("ratio") != nil {
		return nil
	}
	kinds := measure.KindNames(s.registry.Measures)
	for _, name := range names {
		if near := document.FindNearest(name, kinds); near != "" && !slices.Contains(kinds, name) { // probably meant
			names = append(names, near)
		}
	}
	for _, k := range s.registry.Measures {
		if slices.Contains(names, k.Name) {
			names = append(names, slices.Sorted(maps.Keys(k.Also))...)
		}
	}
	return names
}
