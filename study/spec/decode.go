package spec

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"weir/core/cc"
	"weir/core/dataplane"
	"weir/core/dataplane/tm"
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
	"weir/worlds/sim"
)

// decoder turns trees into values and notes what is wrong.
type decoder struct {
	*document.Reader
	tree     *document.Node // what is decoded; nothing changes it
	registry *Registry
	source   *Source
	warnings []string
	networks []routed          // those of the points so far, all different
	dryBuilt map[string]bool   // what decides whether switches can be built, of the points so far
	files    []string          // the files that the point in hand reads, with their hashes
	inputs   map[string][]byte // the files that any point reads, by the name in the spec
	bufferAt []document.Place  // by link of the point's network, where its buffer is given
	limits   []limit           // of queues, of the point in hand
}

// routed is a network with what is made of it once, for all points that have it.
type routed struct {
	network   *topology.Network
	addresses string // what the file says of them, as text
	book      *packet.Book
	routes    *topology.Routes
	tree      *topology.Tree // nil: addresses are flat
	prefixes  topology.Prefixes
}

// limit is a bound of a queue in bytes, and where it is given.
type limit struct {
	document.Place
	bytes unit.Bytes
}

// word reads one of a key's words.
func (d *decoder) word(t *document.Node, table *document.Table, key string) string {
	return d.Word(t, key, table.Key(key).Form.Words)
}

func (d *decoder) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	if !slices.Contains(d.warnings, w) {
		d.warnings = append(d.warnings, w)
	}
}

// Point is one combination of the sweep, decoded.
type Point struct {
	At        []measure.Coordinate
	Canonical string // all that decides its runs but seed and executable
	defaults  []Parameter

	measure.Point // what measures see of it
	Book          *packet.Book
	tree          *topology.Tree // with hierarchical addresses
	prefixes      topology.Prefixes
	switches      []sim.SwitchConfig
	Telemetry     *telemetry.Format // nil: no switch writes any
	Entries       []Traffic
	Flows         []Flow
	Measures      measure.List
	events        []sim.Event
	stalls        sim.Stalls
	Sampled       float64 // values that the measures of a run keep
}

// Traffic is one entry of the traffic list.
type Traffic struct {
	measure.Traffic
	At, CcAt        document.Place // where it is given, and its congestion controller
	TransportConfig scheme.Config
	Generator       *generator // nil: the flows are listed
	Cc              *cc.Scheme // nil: the transport has none
	CcConfig        scheme.Config
	Tos             uint8
	tosBySize       []sizedTOS // ascending; tos is that of the last
	startLow        unit.Time
	startHigh       unit.Time
	stop            unit.Time
}

// see makes what measures see of the point's traffic, of which all is there if nothing was
// wrong.
func (p *Point) see(ok bool) {
	p.Partial = !ok
	for i := range p.Entries {
		tr := p.Entries[i].Traffic
		tr.Start = p.Entries[i].startLow
		if g := p.Entries[i].Generator; g != nil {
			tr.Sizes = g.sizes
		}
		p.Traffic = append(p.Traffic, tr)
	}
}

// measureList reads what is measured.
func (d *decoder) measureList(root document.Map, p *Point) {
	p.Measures = measure.Decode(d.Reader, d.registry.Measures, root.Default("measure"), &p.Point)
}

// Flow is a flow whose start may still have to be drawn.
type Flow struct {
	Traffic  int
	index    int // within its traffic
	Src, Dst int
	Size     unit.Bytes
	fixed    bool // start is given
	start    unit.Time
	later    unit.Time // added to a start that is drawn: of its set
	Port     int       // destination port of a flow file; 0: none
	after    []int     // flows of the point that arrive at src before it begins; start is the earliest then
}

// variable is what a block of the sweep says a $name stands for.
type variable struct {
	document.Entry
	used bool
}

// substitute replaces every $name: by the value of a sweep key, or by what a block
// defines. A value that stands for one is of this point alone: what is read out of it is
// not written back into the file's tree; what is read out of a block is, into the block.
func (d *decoder) substitute(t *document.Node, at []measure.Coordinate, places []document.Place, variables []variable,
	used map[string]bool) {
	for _, x := range t.Items {
		d.substitute(x, at, places, variables, used)
	}
	for _, k := range t.Keys {
		d.substitute(k.Value, at, places, variables, used)
	}
	if t.Kind != document.Scalar || !strings.HasPrefix(t.Text, "$") {
		return
	}
	name := t.Text[1:]
	var names []string
	for i := range variables {
		if v := &variables[i]; v.Name == name {
			v.used = true
			*t = *document.Copy(v.Value)
			t.Bound = t.Kind == document.Scalar
			return
		}
		names = append(names, "$"+variables[i].Name)
	}
	for i, c := range at {
		if c.Key == name {
			d.Bound[t.Place] = fmt.Sprintf("$%s is %q at %s:%d:%d", name, c.Text, places[i].File, places[i].Line,
				places[i].Column)
			t.Text, t.Bound, t.Orig = c.Text, true, nil
			used[name] = true
			return
		}
		names = append(names, "$"+c.Key)
	}
	d.Unknown(t.Place, "sweep key", t.Text, names)
}

// decodePoint decodes combination i of the sweep.
func (s *Spec) decodePoint(d *decoder, i int, used map[string]bool) *Point {
	p := &Point{}
	d.files, d.bufferAt, d.limits = nil, nil, nil
	d.Bound = map[document.Place]string{}
	tree := document.Copy(d.tree)
	tree.Keys = slices.DeleteFunc(tree.Keys, func(k document.Entry) bool { return top.Has(k.Name, ofFile) })
	index := make([]int, len(s.Sweep))
	for k := len(s.Sweep) - 1; k >= 0; k-- {
		n := len(s.Sweep[k].Values)
		index[k] = i % n
		i /= n
	}
	var places []document.Place
	var variables []variable
	for k, dim := range s.Sweep {
		p.At = append(p.At, dim.Values[index[k]])
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
		d.substitute(v.Value, p.At, places, variables[:i], used)
	}
	d.substitute(tree, p.At, places, variables, used)
	for _, v := range variables {
		if !v.used {
			d.Unknown(v.Place, "key", v.Name, append(top.Names(), "a name that $"+v.Name+" stands for"))
		}
	}
	if !d.OK() {
		return p
	}
	p.Duration = d.Positive(root.Get("duration"))
	p.Warmup = document.Read(d.Reader, root.Default("warmup"), unit.ParseTime)
	if p.Duration+p.Warmup < 0 {
		d.Fail(root.Get("duration").Place, "106 days in all", "duration and warm-up are too long")
	}
	p.Framing, _ = packet.FramingByName(d.word(root.Default("framing"), top, "framing"))
	d.network(root, p)
	if !d.OK() {
		return p
	}
	if d.route(root, p); !d.OK() {
		return p
	}
	d.switchConfigs(root, p)
	d.trafficList(root, p)
	d.eventList(root, p)
	d.stalls(root, p)
	p.see(d.OK())
	d.measureList(root, p)
	d.buffers(p)
	if d.OK() {
		var b strings.Builder
		root.Write(&b, 0)
		fmt.Fprintf(&b, "point %q\nfiles %q\n", measure.PointName(p.At), d.files)
		p.Canonical = b.String()
		for _, x := range parameters(tree) {
			if strings.HasPrefix(x.Source, "default: ") {
				p.defaults = append(p.defaults, x)
			}
		}
		d.dryRun(root, p)
	}
	return p
}

// overlay puts a block of the sweep into the root. The maps topology, switches and
// switches.<name> are merged; what lies deeper (a scheduler and its parameters) is
// replaced.
func overlay(root, block *document.Node, depth int) {
	for _, k := range block.Keys {
		if old := root.Get(k.Name); depth < 2 && old != nil && old.Kind == document.Mapping &&
			k.Value.Kind == document.Mapping {
			overlay(old, k.Value, depth+1)
			continue
		}
		root.Set(k.Name, k.Value)
	}
}

// dryRun builds the run's simulation once, so that what only constructors can
// know is an error of the file and not of a run. Endpoints are built for every point;
// switches, which are many in large networks, for each network, configuration and list
// of measures.
func (d *decoder) dryRun(root document.Map, p *Point) {
	c, err := p.Config(1)
	if err == nil {
		p.Sampled = measure.Samples(&p.Point, c)
		var b strings.Builder
		for _, key := range top.Names(ofBuild) {
			if t := root.Get(key); t != nil {
				t.Write(&b, 0)
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%q", d.files)
		if what := b.String(); !d.dryBuilt[what] {
			d.dryBuilt[what] = true
			_, err = sim.New(c)
		}
	}
	var much *measure.TooMuch
	var refused *refusal
	switch {
	case errors.As(err, &much):
		d.Fail(root.Get("measure").Place, "", "%v", err)
	case errors.As(err, &refused):
		d.Fail(refused.Place, "", "this cannot be built: %v", err)
	case err != nil:
		d.Fail(root.Get("topology").Place, "", "this cannot be built: %v", err)
	}
}

func (d *decoder) network(root document.Map, p *Point) {
	t := root.Get("topology")
	if t.Kind == document.Mapping && t.Get("file") != nil {
		d.networkFile(t, p)
		return
	}
	var families []string
	for i := range d.registry.Topologies {
		s := &d.registry.Topologies[i]
		if t.Kind == document.Mapping && t.Get(s.Name) != nil {
			d.generated(t, s, p)
			return
		}
		families = append(families, s.Name)
	}
	x, ok := d.Map(t, network, families...)
	if !ok || !d.OK() { // a slip in a key makes other errors out of nothing
		return
	}
	n := &topology.Network{}
	index := map[string]int{}
	var names []string
	for _, kind := range []string{"hosts", "switches"} {
		l := x.Get(kind)
		if l == nil {
			if kind == "hosts" {
				d.Fail(t.Place, "hosts: [a, b]", "the topology has no hosts")
			}
			continue
		}
		if l.Kind != document.List {
			d.Fail(l.Place, "a list of names", "%s is %v", kind, l.Kind)
			continue
		}
		for _, x := range l.Items {
			name := d.Text(x)
			if _, twice := index[name]; twice {
				d.Fail(x.Place, "another name", "the name %q is taken", name)
				continue
			}
			if name == "" || strings.ContainsAny(name, " >*$,") || name == "random" {
				d.Fail(x.Place, "letters, digits, - and _", "%q is not a name", name)
				continue
			}
			index[name] = len(n.Nodes)
			names = append(names, name)
			n.Nodes = append(n.Nodes, topology.Node{Name: name, Switch: kind == "switches"})
		}
	}
	links := x.Get("links")
	if links == nil || links.Kind != document.List || len(links.Items) == 0 {
		d.Fail(t.Place, "links: [{ends: [a, b], rate: 100Mbps, delay: 5ms}]", "the topology has no list of links")
		return
	}
	seen := map[[2]int]bool{}
	degree := make([]int, len(n.Nodes))
	for _, item := range links.Items {
		x, ok := d.Map(item, link)
		if !ok {
			continue
		}
		var l topology.Link
		ends := x.Get("ends")
		if ends == nil || ends.Kind != document.List || len(ends.Items) != 2 {
			if at := x.Place; ends != nil {
				d.Fail(ends.Place, "ends: [a, b]", "a link has two ends")
			} else {
				x.Missing("ends", "the link at %d:%d has no ends", at.Line, at.Column)
			}
			continue
		}
		for e, y := range ends.Items {
			node, found := index[d.Text(y)]
			if !found {
				d.Unknown(y.Place, "node", y.Text, names)
				ok = false
			}
			l.Ends[e] = node
		}
		if !ok {
			continue
		}
		if l.Ends[0] == l.Ends[1] {
			d.Fail(ends.Items[1].Place, "two different nodes", "the link joins %q to itself", ends.Items[1].Text)
			continue
		}
		pair := [2]int{min(l.Ends[0], l.Ends[1]), max(l.Ends[0], l.Ends[1])}
		if seen[pair] {
			d.Fail(ends.Place, "one link between two nodes", "%s and %s have a link already", ends.Items[0].Text,
				ends.Items[1].Text)
			continue
		}
		seen[pair] = true
		for e, node := range l.Ends {
			if degree[node]++; degree[node] > 1 && !n.Nodes[node].Switch {
				d.Fail(ends.Items[e].Place, "one link a host", "host %s has a link already; a host has one NIC", n.Nodes[node].Name)
			}
		}
		if r := x.Get("rate"); r == nil {
			x.Missing("rate", "the link has no rate")
		} else {
			l.Rate = document.Read(d.Reader, r, unit.ParseLinkRate)
		}
		if r := x.Get("delay"); r == nil {
			x.Missing("delay", "the link has no delay")
		} else {
			l.Delay = document.Read(d.Reader, r, unit.ParseTime)
		}
		var bufferAt document.Place
		if b := x.Get("buffer"); b != nil {
			l.Buffer, bufferAt = switchfile.Buffer(d.Reader, b), b.Place
		}
		d.bufferAt = append(d.bufferAt, bufferAt)
		l.Loss = d.loss(x.Default("loss"))
		l.Jitter = document.Read(d.Reader, x.Default("jitter"), unit.ParseTime)
		n.Links = append(n.Links, l)
	}
	p.Network = n
}

// generated decodes a network that is given by its family and parameters.
func (d *decoder) generated(t *document.Node, s *topology.Scheme, p *Point) {
	for _, k := range t.Keys {
		if k.Name != s.Name {
			d.Fail(k.Place, s.Name+" alone", "%q stands beside %s, which makes the network", k.Name, s.Name)
		}
	}
	params := t.Get(s.Name)
	if params.Kind != document.Mapping {
		d.Fail(params.Place, s.Name+": {parameter: value}", "the parameters of %s are %v", s.Name, params.Kind)
		return
	}
	v := d.SchemeValues(&s.Scheme, params, nil)
	if !d.OK() {
		return
	}
	n, err := s.Build(v)
	if err == nil {
		err = n.Validate()
	}
	if err != nil {
		d.Fail(params.Place, "", "%s: %v", s.Name, err)
		return
	}
	var at document.Place
	if b := params.Get("buffer"); b != nil && v.Length("buffer").Bytes > 0 {
		at = b.Place
	}
	d.bufferAt = make([]document.Place, len(n.Links))
	for i := range d.bufferAt {
		d.bufferAt[i] = at
	}
	p.Network = n
}

// buffers checks that buffers and queues bounded in bytes hold the largest frame of
// every traffic: a smaller one would drop all of it.
func (d *decoder) buffers(p *Point) {
	if !d.OK() {
		return
	}
	largest, name := unit.Bytes(0), ""
	for i := range p.Entries {
		tr := &p.Entries[i]
		if frame := unit.Bytes(p.Framing.Frame(tr.Headers(), tr.Payload, true)); frame > largest {
			largest, name = frame, tr.Name
		}
	}
	check := func(at document.Place, b unit.Bytes) {
		if b > 0 && b < largest && at.Line > 0 {
			d.Fail(at, fmt.Sprintf("at least %v, or a number of packets", largest),
				"a buffer of %v is below a packet of traffic %s", b, name)
		}
	}
	for i, l := range p.Network.Links {
		if i < len(d.bufferAt) {
			check(d.bufferAt[i], l.Buffer.Bytes)
		}
	}
	for _, l := range d.limits {
		check(l.Place, l.bytes)
	}
}

// largestFrame is that of any traffic, with as many extensions as a packet can have.
func (p *Point) largestFrame() (n int32) {
	for i := range p.Entries {
		tr := &p.Entries[i]
		n = max(n, p.Framing.Frame(tr.Headers(), tr.Payload, true)+packet.MostExtensions, p.Framing.Frame(tr.Headers(), 0,
			false)+packet.MostExtensions)
	}
	return n
}

func (d *decoder) loss(t *document.Node) float64 {
	v := document.Read(d.Reader, t, unit.ParseShare)
	if !(v >= 0 && v < 1) {
		d.Fail(t.Place, "0% … below 100%", "%q is not a loss", t.Text)
		return 0
	}
	return v
}

// openFile reads a file that the spec names, relative to the spec, and returns it with
// the name that errors give it.
func (d *decoder) openFile(t *document.Node) (data []byte, name string) {
	name = d.Text(t)
	data, err := d.source.Open(filepath.ToSlash(name))
	switch {
	case err != nil:
		d.Fail(t.Place, "a file beside the experiment", "%q cannot be read: %v", t.Text, document.Reason(err))
	case len(data) >= int(document.LargestInput):
		d.Fail(t.Place, "up to "+document.LargestInput.String(), "%q is too large", t.Text)
		return nil, name
	}
	d.files = append(d.files, fmt.Sprintf("%s %x", t.Text, sha256.Sum256(data)))
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(d.source.File), name)
	}
	if err == nil {
		d.inputs[t.Text] = data
	}
	d.Remember(name, data)
	d.IsText(name, data, false)
	return data, name
}

func (d *decoder) networkFile(t *document.Node, p *Point) {
	x, _ := d.Map(t, network.Only("file", "format", "rest"))
	file, format := x.Get("file"), x.Get("format")
	if format == nil {
		x.Missing("format", "the topology file's format is missing")
		return
	}
	reader := topology.ReadHPCC
	if d.word(format, network, "format") == "htsim" {
		reader = topology.ReadHTSim
	}
	data, name := d.openFile(file)
	if !d.OK() {
		return
	}
	n, err := reader(bytes.NewReader(data), name)
	if d.ignored(x, network, format.Text, err) {
		err = nil
	}
	if err == nil {
		err = n.Validate()
	}
	if err != nil {
		Foreign(d.Reader, file, err)
		return
	}
	d.bufferAt = make([]document.Place, len(n.Links))
	p.Network = n
}

// ignored tells whether an error is about what stands behind the last entry that a file
// of the HPCC simulator announces, and the spec says that it shall not be looked at.
func (d *decoder) ignored(x document.Map, table *document.Table, format string, err error) bool {
	rest := x.Get("rest")
	if rest == nil {
		return false
	}
	if format != "hpcc" {
		d.Fail(rest.Place, "no rest", "files of the format %s do not announce their entries", format)
	}
	d.word(rest, table, "rest")
	return Excess(err)
}

// Excess tells whether all that a file announces was read, and more stands behind it.
func Excess(err error) bool {
	switch e := err.(type) {
	case *topology.FormatError:
		return e.Excess
	case *workload.FormatError:
		return e.Excess
	}
	return false
}

// Foreign notes an error in a file that the spec names.
func Foreign(d *document.Reader, t *document.Node, err error) {
	switch e := err.(type) {
	case *topology.FormatError:
		d.Fail(d.InFile(e.File, e.Line, e.Column), "", "%s", e.Msg)
	case *workload.FormatError:
		d.Fail(d.InFile(e.File, e.Line, e.Column), "", "%s", e.Msg)
	default:
		d.Fail(t.Place, "", "%s: %v", t.Text, err)
	}
}

// refusal is why a program cannot be built, with its place in the file.
type refusal struct {
	document.Place
	error
}

func (r *refusal) Unwrap() error { return r.error }

func (d *decoder) switchConfigs(root document.Map, p *Point) {
	n := p.Network
	p.switches = make([]sim.SwitchConfig, len(n.Nodes))
	programs := make([][]switchfile.Program, len(n.Nodes))
	placeOf := root.Place
	if t := root.Get("switch"); t != nil {
		placeOf = t.Place
		list := switchfile.Programs(d.Reader, d.registry.Programs, t)
		for i := range n.Nodes {
			programs[i] = list
		}
	}
	patterns := root.Get("switches")
	if patterns != nil && d.keysAny(patterns) {
		if slices.ContainsFunc(patterns.Keys, func(k document.Entry) bool { return k.Value.Get("buffer") != nil }) {
			own := *n // other points may share it
			own.Links = slices.Clone(n.Links)
			n, p.Network = &own, &own
		}
		for _, k := range patterns.Keys {
			d.switchPattern(k, p, programs)
		}
	}
	d.telemetry(root, p, programs)
	for i, node := range n.Nodes {
		if !node.Switch {
			continue
		}
		if len(programs[i]) == 0 && d.OK() {
			d.Fail(placeOf, "switch: [forward]", "switch %s has no programs, so it forwards nothing", node.Name)
		}
		list := programs[i]
		sc := &p.switches[i]
		sc.Routes = dataplane.HostRoutes(p.Book, p.Routes.Paths(i))
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

// telemetry finds the format of telemetry in which the programs write; all must agree,
// since hosts cannot tell who has written.
func (d *decoder) telemetry(root document.Map, p *Point, programs [][]switchfile.Program) {
	rates := p.Network.Rates()
	for i, list := range programs {
		for _, x := range list {
			writer, writes := x.Config.(dataplane.Telemeter)
			if !p.Network.Nodes[i].Switch || !writes || !d.OK() {
				continue
			}
			f, err := writer.Telemetry(rates)
			f.Counted = p.Framing.Fixed()
			at := root.Place
			if t := root.Get("switches"); t != nil {
				at = t.Place
			} else if t := root.Get("switch"); t != nil {
				at = t.Place
			}
			switch {
			case err != nil:
				d.Fail(at, "", "%v", err)
			case p.Telemetry == nil:
				p.Telemetry = &f
			case *p.Telemetry != f:
				d.Fail(at, "one format, one set of parameters", "switch %s writes other telemetry than the switches before it",
					p.Network.Nodes[i].Name)
			}
		}
	}
}

// clock reads a switch's clock.
func (d *decoder) clock(t *document.Node) (c telemetry.Clock) {
	m, ok := d.Map(t, clock)
	if !ok {
		return
	}
	x := m.Default("resolution")
	if c.Resolution = d.Positive(x); c.Resolution > unit.Second {
		d.Fail(x.Place, "1ps … 1s", "a resolution of %q is too coarse", x.Text)
	}
	x = m.Default("offset")
	text, behind := strings.CutPrefix(d.Text(x), "-")
	offset, err := unit.ParseTime(text)
	if err != nil || offset > 3600*unit.Second {
		d.Fail(x.Place, "5us, or -5us; an hour at most", "%q is not an offset of a clock", x.Text)
	}
	if c.Offset = offset; behind {
		c.Offset = -offset
	}
	x = m.Default("drift")
	number, parts := strings.CutSuffix(d.Text(x), "ppm")
	if c.Drift, err = strconv.ParseFloat(strings.TrimSpace(number), 64); err != nil || !parts || !(c.Drift >= -100_000 &&
		c.Drift <= 100_000) {
		d.Fail(x.Place, "20ppm, or -20ppm; 100000ppm at most", "%q is not a drift of a clock", x.Text)
		c.Drift = 0
	}
	return
}

// route gives a point its network's addresses and routes. The points of a sweep often
// have the same network, and then share them.
func (d *decoder) route(root document.Map, p *Point) {
	var r routed
	t := root.Default("addresses")
	var b strings.Builder
	t.Write(&b, 0)
	for _, old := range d.networks {
		if old.addresses != b.String() || !slices.Equal(old.network.Nodes, p.Network.Nodes) ||
			!slices.EqualFunc(old.network.Links, p.Network.Links, sameEnds) {
			continue
		}
		// which rates and delays do not change
		r.book, r.routes, r.tree, r.prefixes = old.book, old.routes, old.tree, old.prefixes
		if slices.Equal(old.network.Links, p.Network.Links) {
			r = old
			break
		}
	}
	if r.routes == nil {
		switches := 0
		for _, n := range p.Network.Nodes {
			if n.Switch {
				switches++
			}
		}
		if classes := p.Network.Classes(); classes*switches > mostRoutes {
			d.Fail(root.Get("topology").Place, fmt.Sprintf("switches with hosts × switches up to %d", mostRoutes),
				"%d switches, %d of them with hosts, have more routes than fit into memory", switches, classes)
			return
		}
		r.book, r.routes = p.Network.Addresses(), p.Network.Routes()
		if t.Kind != document.Scalar || d.Word(t, "way to give addresses", addressWays) == addressWays[1] {
			d.hierarchy(t, p.Network, &r)
		}
	}
	if r.network == nil {
		r.network, r.addresses = p.Network, b.String()
		d.networks = append(d.networks, r)
	}
	p.Network, p.Book, p.Routes, p.tree, p.prefixes = r.network, r.book, r.routes, r.tree, r.prefixes
}

// addressWays are the ways to give addresses that have a name.
var addressWays = []string{"flat", "hierarchical"}

// hierarchy gives the hosts of a fat tree addresses from their leaves' prefixes: those of
// P4TE's figure 1, or those that the file gives by leaf.
func (d *decoder) hierarchy(t *document.Node, n *topology.Network, r *routed) {
	x, err := n.Tree()
	if err != nil {
		d.Fail(t.Place, "addresses: flat, or a fat tree of two or three tiers", "hierarchical addresses need a fat tree: %v",
			err)
		return
	}
	plan := x.Plan()
	if t.Kind != document.Scalar {
		if t.Kind != document.Mapping {
			d.Fail(t.Place, "flat, hierarchical, or a map of prefixes by leaf", "this is %v", t.Kind)
			return
		}
		plan = topology.Prefixes{Leaf: make([]netip.Prefix, len(x.Leaves()))}
		var names []string
		for _, leaf := range x.Leaves() {
			names = append(names, n.Nodes[leaf].Name)
		}
		for _, k := range t.Keys {
			i := slices.Index(names, k.Name)
			if i < 0 {
				d.Unknown(k.Place, "leaf", k.Name, names)
				continue
			}
			prefix, err := netip.ParsePrefix(d.Text(k.Value))
			if err != nil {
				d.Fail(k.Value.Place, "2001:db8:0:1::/112", "%q is not an IPv6 prefix", k.Value.Text)
				continue
			}
			plan.Leaf[i] = prefix
			if d.OK() && x.CheckLeaf(plan, i) != nil {
				d.Fail(k.Value.Place, "prefixes that do not overlap, each large enough for its leaf's hosts", "%v",
					x.CheckLeaf(plan, i))
			}
		}
		for i, p := range plan.Leaf {
			if !p.IsValid() && d.OK() {
				d.Fail(t.Place, "a prefix for every leaf", "%s has no prefix", names[i])
			}
		}
	}
	if !d.OK() {
		return
	}
	r.book, r.tree, r.prefixes = x.Addresses(plan), x, plan
}

func sameEnds(a, b topology.Link) bool { return a.Ends == b.Ends }

func (d *decoder) keysAny(t *document.Node) bool {
	if t.Kind != document.Mapping {
		d.Fail(t.Place, `{"*": {…}}`, "this is %v, not a map", t.Kind)
		return false
	}
	return true
}

func (d *decoder) switchPattern(k document.Entry, p *Point, programs [][]switchfile.Program) {
	t, ok := d.Map(k.Value, perSwitch)
	if !ok {
		return
	}
	var list []switchfile.Program
	if x := t.Get("programs"); x != nil {
		list = switchfile.Programs(d.Reader, d.registry.Programs, x)
	}
	matched := false
	var names []string
	for i, node := range p.Network.Nodes {
		if !node.Switch {
			continue
		}
		names = append(names, node.Name)
		if ok, err := path.Match(k.Name, node.Name); err != nil || !ok {
			continue
		}
		matched = true
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
			d.limits = append(d.limits, limit{x.Place, l.Bytes})
		}
		if x := t.Get("buffer"); x != nil {
			l := switchfile.Buffer(d.Reader, x)
			for li := range p.Network.Links {
				if e := p.Network.Links[li].Ends; e[0] == i || e[1] == i {
					p.Network.Links[li].Buffer = l
					d.bufferAt[li] = x.Place
				}
			}
		}
		if x := t.Get("scheduler"); x != nil {
			sc.Scheduler = switchfile.Scheduler(d.Reader, d.registry.Schedulers, x, max(sc.Queues, 1))
		}
		if x := t.Get("clock"); x != nil {
			sc.Clock = d.clock(x)
		}
		if x := t.Get("recirculation"); x != nil {
			d.recirculation(x, sc)
		}
	}
	if !matched {
		d.Unknown(k.Place, "switch", k.Name, append(names[:min(len(names), 10):min(len(names), 10)], "*"))
	}
}

// recirculation reads a switch's port to itself.
func (d *decoder) recirculation(t *document.Node, sc *sim.SwitchConfig) {
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

func (d *decoder) trafficList(root document.Map, p *Point) {
	t := root.Get("traffic")
	if t.Kind != document.List || len(t.Items) == 0 {
		d.Fail(t.Place, "[{name: …, from: …, to: …, transport: …}]", "traffic is a list with at least one entry")
		return
	}
	mtu := d.mtu(root.Default("mtu"))
	seen := map[string]bool{}
	for _, x := range t.Items {
		if x.Kind != document.Mapping {
			d.Fail(x.Place, "{name: …, from: …, to: …, transport: …}", "a traffic is a map")
			continue
		}
		d.oneTraffic(d.View(x, traffic, d.trafficWords()...), p, mtu, seen)
	}
}

// mtu is the largest packet: in bytes of IP, or in payload.
type mtu struct {
	document.Place
	text    string
	bytes   int32
	payload bool
}

func (d *decoder) mtu(t *document.Node) mtu {
	m := mtu{Place: t.Place, text: t.Text}
	size, payload := strings.CutSuffix(d.Text(t), " payload")
	m.payload = payload
	if payload {
		m.bytes = d.payload(t, size)
		return m
	}
	b, err := unit.ParseBytes(size)
	if err != nil || b < 68 || b > 65535 {
		if t.Kind == document.Scalar {
			d.Fail(t.Place, "68 B … 65535 B, or a payload such as 1448 B payload", "%q is not an MTU", t.Text)
		}
		b = 1500
	}
	m.bytes = int32(b)
	return m
}

// of is what an MTU leaves to a transport for payload.
func (m mtu) of(d *decoder, s *transport.Scheme, version uint8) int32 {
	if m.payload {
		return m.bytes
	}
	headers := packet.IPv4Header + s.Headers
	if version == 6 {
		headers += packet.IPv6Header - packet.IPv4Header
	}
	if m.bytes <= headers {
		d.Fail(m.Place, fmt.Sprintf("at least %d B", headers+1),
			"an MTU of %s leaves no room behind the headers of %s over IPv%d", m.text, s.Name, version)
		return 1
	}
	return m.bytes - headers
}

func (d *decoder) payload(t *document.Node, text string) int32 {
	b, err := unit.ParseBytes(text)
	if err != nil || b < 1 || b > 65507 {
		d.Fail(t.Place, "1 B … 65507 B", "%q is not a payload", t.Text)
		return 1
	}
	return int32(b)
}

func (d *decoder) oneTraffic(x document.Map, p *Point, mtu mtu, seen map[string]bool) {
	tr := Traffic{Traffic: measure.Traffic{Version: 4}, stop: unit.Never, At: x.Place, CcAt: x.Place}
	name := x.Get("name")
	if name == nil {
		x.Missing("name", "the traffic has no name")
		return
	}
	tr.Name = d.Text(name)
	if seen[tr.Name] {
		d.Fail(name.Place, "another name", "the name %q is taken", tr.Name)
	}
	if !identifier(tr.Name) {
		d.Fail(name.Place, "a letter, then letters, digits and _", "%q is not a name; expressions use it", tr.Name)
	}
	seen[tr.Name] = true
	tt := x.Get("transport")
	var names []string
	for _, s := range d.registry.Transports {
		names = append(names, s.Name)
	}
	sort.Strings(names)
	if tt == nil {
		d.Missing(x.Node, "transport", traffic.What, d.trafficWords(), "transport: "+strings.Join(names, ", "),
			"the traffic has no transport")
		return
	}
	where, inline := tt.Place, tt.Kind == document.Scalar
	tname, params := tt.Text, x.Node
	if !inline {
		if tname, params = d.Named(tt, "transport"); params == nil {
			return
		}
	}
	for i := range d.registry.Transports {
		if d.registry.Transports[i].Name == tname {
			tr.Transport = &d.registry.Transports[i]
		}
	}
	if tr.Transport == nil {
		d.Unknown(where, "transport", tname, names)
		return
	}
	if inline {
		if tt.Bound {
			x.Orig = nil // its parameters are those of this point's transport
		}
		tr.TransportConfig = d.Configuration(&tr.Transport.Scheme, x.Node, traffic.Names())
	} else {
		d.Keys(x.Node, traffic.What, traffic.Names())
		tr.TransportConfig = d.Configuration(&tr.Transport.Scheme, params, nil)
	}
	if c, ok := tr.TransportConfig.(transport.Warner); ok && d.OK() {
		if w := c.Warn(); w != "" {
			d.warn("%s:%d: traffic %s: %s", x.File, x.Line, tr.Name, w)
		}
	}
	d.controller(x, &tr, p)
	if v := x.Get("tos"); v != nil {
		d.typesOfService(v, &tr)
	}
	if v := x.Default("ip"); d.Word(v, "IP version", traffic.Key("ip").Form.Words) == "6" {
		tr.Version = 6
	}
	if v := x.Get("payload"); v != nil {
		tr.Payload = d.payload(v, d.Text(v))
	} else {
		tr.Payload = mtu.of(d, tr.Transport, tr.Version)
	}
	if v := x.Get("stop"); v != nil {
		tr.stop = d.Positive(v)
	}
	if v := x.Get("hosts"); v != nil && x.Get("collective") == nil {
		d.Fail(v.Place, "from and to, or collective: ring", "hosts are those of a collective")
		return
	}
	if x.Get("file") != nil && x.Get("collective") == nil {
		d.flowFile(x, p, tr)
		return
	}
	var start *document.Node
	switch {
	case x.Get("collective") != nil:
		start = x.DefaultWhen("start", "collective")
	case isDrawn(x):
		start = x.DefaultWhen("start", "drawn")
	default:
		start = x.Default("start")
	}
	low, high, ranged := strings.Cut(d.Text(start), "..")
	var err error
	if tr.startLow, err = unit.ParseTime(low); err == nil && ranged {
		tr.startHigh, err = unit.ParseTime(high)
	}
	if !ranged {
		tr.startHigh = tr.startLow
	}
	switch {
	case err != nil:
		d.Fail(start.Place, "0.5s, or 0s..1s", "%v", err)
	case tr.startHigh < tr.startLow:
		d.Fail(start.Place, "0.5s, or 0s..1s", "the range %q ends before it begins", start.Text)
	case tr.startHigh >= p.Duration+p.Warmup:
		d.Fail(start.Place, "a time before the end", "the traffic may start (%s) after the run has ended (%v)", start.Text,
			p.Duration+p.Warmup)
	}
	if tr.stop <= tr.startHigh && err == nil {
		d.Fail(x.Get("stop").Place, "a time after the start "+start.Text, "the traffic stops before it starts")
	}
	size := unit.Bytes(0)
	if v := x.Get("size"); v != nil {
		ok := false
		if size, ok = document.ReadOK(d.Reader, v, unit.ParseBytes); ok && size < 1 {
			d.Fail(v.Place, "at least 1 B", "%q is not a size", v.Text)
		}
	}
	if x.Get("collective") != nil {
		d.collective(x, p, tr, size)
		return
	}
	flows := 1
	if x.Get("load") == nil || x.Get("flows") != nil {
		flows = d.Integer(x.Default("flows"), 1, 100000)
	}
	sets := d.sets(x, p, &tr)
	g := &generator{pattern: toHosts, size: size, sets: sets}
	from, drawnFrom := d.endpoints(x, "from", p, g)
	to, drawnTo := d.endpoints(x, "to", p, g)
	if !d.OK() {
		return
	}
	if drawnFrom || drawnTo || isDrawn(x) {
		g.From, g.To = from, to
		d.generatedFlows(x, p, tr, g, flows)
		return
	}
	id := len(p.Entries)
	p.Entries = append(p.Entries, tr)
	index := 0
	for _, a := range from {
		for _, b := range to {
			if a == b {
				if len(from) == 1 && len(to) == 1 {
					d.Fail(x.Get("to").Place, "another host", "the traffic goes from %q to itself", p.Network.Nodes[a].Name)
				}
				continue
			}
			if p.Routes.Hops(a, b) < 0 {
				d.Fail(x.Get("to").Place, "hosts that links and switches join", "there is no path from %s to %s",
					p.Network.Nodes[a].Name, p.Network.Nodes[b].Name)
				return
			}
			if len(p.Flows)+flows*len(sets) > mostFlows {
				d.Fail(x.Place, strconv.Itoa(mostFlows), "the experiment has too many flows")
				return
			}
			for _, later := range sets {
				for range flows {
					p.Flows = append(p.Flows, Flow{Traffic: id, index: index, Src: a, Dst: b, Size: size, later: later})
					index++
				}
			}
		}
	}
}

// trafficWords are all keys that a traffic can have, its transport's parameters included.
func (d *decoder) trafficWords() []string {
	words := traffic.Names()
	for i := range d.registry.Transports {
		for _, p := range d.registry.Transports[i].Parameters() {
			if !slices.Contains(words, p.Name) {
				words = append(words, p.Name)
			}
		}
	}
	return words
}

// identifier tells whether expressions can use a name.
func identifier(s string) bool {
	for i, r := range s {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return s != ""
}

// hosts reads a host, a list of hosts, or a pattern.
func (d *decoder) hosts(x document.Map, key string, p *Point) []int {
	t := x.Get(key)
	if t == nil {
		x.Missing(key, "the traffic has no %q", key)
		return nil
	}
	items := []*document.Node{t}
	if t.Kind == document.List {
		items = t.Items
	}
	var names []string
	for _, n := range p.Network.Nodes {
		if !n.Switch {
			names = append(names, n.Name)
		}
	}
	var out []int
	taken := map[int]bool{}
	for _, y := range items {
		pattern, found, isSwitch := d.Text(y), false, false
		for i, n := range p.Network.Nodes {
			isSwitch = isSwitch || n.Switch && n.Name == pattern
			if ok, err := path.Match(pattern, n.Name); err == nil && ok && !n.Switch {
				found = true
				if !taken[i] {
					out = append(out, i)
				}
				taken[i] = true
			}
		}
		if !found {
			if len(names) > 20 {
				names = append(names[:20], "…")
			}
			if isSwitch {
				d.Fail(y.Place, strings.Join(names, ", "), "%q is a switch; flows go from host to host", pattern)
				continue
			}
			d.Unknown(y.Place, "host", pattern, names)
		}
	}
	return out
}

// controller decodes a traffic's congestion controller.
func (d *decoder) controller(x document.Map, tr *Traffic, p *Point) {
	v := x.Get("cc")
	if !tr.Transport.Controlled {
		if v != nil {
			d.Fail(v.Place, "no cc", "transport %s has no congestion controller", tr.Transport.Name)
		}
		return
	}
	if v != nil {
		tr.CcAt = v.Place
	}
	name, params := d.Named(x.Default("cc"), "congestion controller")
	if params == nil {
		return
	}
	var names []string
	for i := range d.registry.Controllers {
		s := &d.registry.Controllers[i]
		names = append(names, s.Name)
		if s.Name == name {
			tr.Cc = s
		}
	}
	if tr.Cc == nil {
		sort.Strings(names)
		at := x.Place
		if v != nil {
			at = v.Place
		}
		d.Unknown(at, "congestion controller", name, names)
		return
	}
	tr.CcConfig = d.Configuration(&tr.Cc.Scheme, params, nil)
	if tr.Cc.Telemetry != telemetry.Nothing && p.Telemetry == nil && d.OK() {
		d.warn("%s:%d: traffic %s: %s needs telemetry, and no switch writes any (program telemetry): it keeps its "+
			"first window", x.File, x.Line, tr.Name, name)
	}
}

func (d *decoder) flowFile(x document.Map, p *Point, tr Traffic) {
	for _, k := range traffic.Names(notListed) {
		if v := x.Get(k); v != nil {
			d.Fail(v.Place, "file, format, offset", "%q stands beside a flow file, which decides it", k)
		}
	}
	format := x.Get("format")
	if format == nil {
		x.Missing("format", "the flow file's format is missing")
		return
	}
	word := d.word(format, traffic, "format")
	if !slices.Contains(traffic.Key("format").Form.Words, word) {
		return
	}
	htsim := word == "htsim"
	each := unit.Second
	switch v := x.Get("time_unit"); {
	case htsim && v == nil:
		d.Fail(x.Place, "time_unit: 1us, or 1ps", "htsim's programs do not agree on what a .cm file's start counts; "+
			"time_unit says it")
	case htsim:
		each = d.Positive(v)
	case v != nil:
		d.Fail(v.Place, "no time_unit", "the times of the HPCC simulator's files are in seconds")
	}
	port := -1
	switch v := x.Get("port"); {
	case v != nil && htsim:
		d.Fail(v.Place, "no port", "htsim's files have no ports")
	case v != nil:
		port = d.Integer(v, 0, 65535)
	}
	offset := document.Read(d.Reader, x.Default("offset"), unit.ParseTime)
	data, name := d.openFile(x.Get("file"))
	if !d.OK() {
		return
	}
	var flows []workload.Flow
	var err error
	if htsim {
		flows, err = workload.ReadHTSimFlows(bytes.NewReader(data), name, each)
	} else {
		flows, err = workload.ReadHPCCFlows(bytes.NewReader(data), name)
	}
	if d.ignored(x, traffic, word, err) {
		err = nil
	}
	if err != nil {
		Foreign(d.Reader, x.Get("file"), err)
		return
	}
	id := len(p.Entries)
	p.Entries = append(p.Entries, tr)
	nodes := p.Network.Nodes
	for i, f := range flows {
		if port >= 0 && f.Port != port {
			continue
		}
		for e, node := range [2]int{f.Src, f.Dst} {
			at := d.InFile(name, f.At.Line, [2]int{f.At.Src, f.At.Dst}[e])
			switch {
			case node >= len(nodes):
				d.Fail(at, fmt.Sprintf("0 … %d, but for switches", len(nodes)-1), "there is no node %d in the topology", node)
				return
			case nodes[node].Switch:
				d.Fail(at, "a host", "node %d is the switch %s", node, nodes[node].Name)
				return
			}
		}
		if p.Routes.Hops(f.Src, f.Dst) < 0 {
			d.Fail(d.InFile(name, f.At.Line, f.At.Dst), "hosts that links and switches join", "there is no path from %s to %s",
				nodes[f.Src].Name, nodes[f.Dst].Name)
			return
		}
		if f.Start < offset {
			d.Fail(d.InFile(name, f.At.Line, f.At.Start), fmt.Sprintf("%v or later", offset),
				"the flow starts at %v, before the offset", f.Start)
			return
		}
		p.Flows = append(p.Flows, Flow{Traffic: id, index: i, Src: f.Src, Dst: f.Dst, Size: f.Size, fixed: true,
			start: f.Start - offset, Port: f.Port})
	}
	if port >= 0 && (len(p.Flows) == 0 || p.Flows[len(p.Flows)-1].Traffic != id) {
		d.Fail(x.Get("port").Place, "a port that flows of the file go to", "no flow of the file goes to port %d", port)
	}
}

// mostRoutes bounds the entries of all switches' tables, for the same reason: a
// gigabyte, at four bytes each.
const mostRoutes = 1 << 28

// mostFlows bounds what an experiment asks for, so that a slip is an error and not
// a request for all memory.
const mostFlows = 1 << 20

// firstPort is the lowest source port of generated flows (HPCC simulator), serverPort that of
// destinations: one on which no dissector of tshark expects a protocol.
const (
	firstPort  = 10000
	serverPort = 40000
)

// Config makes the run of this point with a seed.
func (p *Point) Config(seed uint64) (*sim.Config, error) {
	c := &sim.Config{
		Wiring: sim.Wiring{
			Seed: seed, Network: p.Network, Switches: p.switches, Hosts: p.Book, Tree: p.tree, Prefixes: p.prefixes,
			Events: p.events, Framing: p.Framing, MaxFrame: p.largestFrame(), Telemetry: p.Telemetry,
		},
		Duration: p.Warmup + p.Duration, Warmup: p.Warmup, UntilDone: true, Stalls: p.stalls,
	}
	flows := p.Flows
	for id := range p.Entries {
		if g := p.Entries[id].Generator; g != nil {
			flows = append(flows[:len(flows):len(flows)], g.expand(p, id, seed)...)
		}
	}
	hosts := make([]cc.Host, len(p.Network.Nodes))
	listed := map[[3]int]int{} // flows of a list, by hosts and port
	for i, f := range flows {
		tr := &p.Entries[f.Traffic]
		random := unit.NewRandom(seed, fmt.Sprintf("flow %s %d", tr.Name, f.index))
		start := f.start
		if !f.fixed {
			if start = tr.startLow; tr.startHigh > tr.startLow {
				start += unit.Time(random.Int64N(int64(tr.startHigh-tr.startLow) + 1))
			}
			start += f.later
		}
		tf := transport.Flow{
			ID: packet.FlowID(i), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1),
			SrcPort: uint16(firstPort + i%50000), DstPort: uint16(serverPort + i/50000), Version: tr.Version,
			TOS:   tr.TosOf(f.Size),
			Start: start, Stop: tr.stop, Size: f.Size, Payload: tr.Payload, Framing: p.Framing, Random: random, Seed: seed,
			Path: p.Path(f.Src, f.Dst, &tr.Traffic), CC: tr.Cc, CCConfig: tr.CcConfig,
			Telemetry: p.Telemetry, Host: &hosts[f.Dst],
		}
		// HPCC simulator: ports count for each pair of hosts
		if pair := [3]int{f.Src, f.Dst, f.Port}; f.Port > 0 && listed[pair] < 50000 {
			tf.SrcPort, tf.DstPort = uint16(firstPort+listed[pair]), uint16(f.Port)
			listed[pair]++
		}
		if g := tr.Generator; g != nil && g.Offered > 0 {
			tf.Stop = unit.Never // it ends arrivals, not what has begun
		}
		sender, receiver, err := tr.Transport.Build(tf, tr.TransportConfig)
		if err != nil {
			return nil, fmt.Errorf("traffic %s: %w", tr.Name, err)
		}
		stop := unit.Time(0)
		if f.Size == 0 {
			if c.UntilDone = false; tf.Stop != unit.Never {
				stop = tf.Stop
			}
		}
		flow := sim.Flow{Group: f.Traffic, Src: f.Src, Dst: f.Dst, Start: start, Size: f.Size, Stop: stop,
			Sender: sender, Receiver: receiver, SrcPort: tf.SrcPort, DstPort: tf.DstPort, Class: tf.TOS >> 5}
		if f.after != nil {
			flow.Sender, flow.After = nil, f.after
			flow.Begin = func(start unit.Time) transport.Endpoint {
				tf.Start, tf.Random = start, unit.NewRandom(seed, fmt.Sprintf("flow %s %d", tr.Name, f.index))
				sender, _, err := tr.Transport.Build(tf, tr.TransportConfig)
				if err != nil { // it is as above but for the start
					return nil
				}
				return sender
			}
		}
		c.Flows = append(c.Flows, flow)
	}
	return c, p.Measures.Observe(&p.Point, c)
}
