package experiment

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

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
	"weir/study/interop/simfiles"
	"weir/worlds/sim"
)

// decoder turns trees into values and notes what is wrong.
type decoder struct {
	*collector
	registry *Registry
	source   *Source
	warnings []string
	networks []routed          // those of the points so far, all different
	dryBuilt map[string]bool   // what decides whether switches can be built, of the points so far
	files    []string          // the files that the point in hand reads, with their hashes
	inputs   map[string][]byte // the files that any point reads, by the name in the spec
	bufferAt []place           // by link of the point's network, where its buffer is given
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
	place
	bytes unit.Bytes
}

func (d *decoder) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	if !contains(d.warnings, w) {
		d.warnings = append(d.warnings, w)
	}
}

// keys checks that t is a map with only these keys.
func (d *decoder) keys(t *tree, what string, allowed []string) bool {
	if t.kind != mapping {
		d.fail(t.place, "a map with "+strings.Join(allowed, ", "), "this is %v", t.kind)
		return false
	}
	for _, k := range t.keys {
		if !contains(allowed, k.name) {
			d.unknown(k.place, what, k.name, allowed)
		}
	}
	return true
}

// missing notes that a map lacks a key, or that an unknown one is probably meant to be it.
func (c *collector) missing(t *tree, key, what string, known []string, allowed, format string, args ...any) {
	for _, k := range t.keys {
		if contains(known, k.name) || nearest(k.name, known) != key {
			continue
		}
		for _, e := range c.errors {
			if e.File == k.file && e.Line == k.line && e.Column == k.column {
				return // it has been said
			}
		}
		c.unknown(k.place, what, k.name, known)
		return
	}
	c.fail(t.place, allowed, format, args...)
}

// value returns a key's value; if it is missing, the default, which it writes
// into the tree.
func (d *decoder) value(t *tree, key, standard, from string) *tree {
	if v := t.get(key); v != nil {
		return v
	}
	return t.fill(key, standard, from)
}

// text returns a scalar's text.
func (d *decoder) text(t *tree) string {
	if t.kind != scalar {
		d.fail(t.place, "a plain value", "this is %v", t.kind)
		return ""
	}
	return t.text
}

func (d *decoder) integer(t *tree, low, high int) int {
	n, err := strconv.Atoi(d.text(t))
	if t.kind == scalar && (err != nil || n < low || n > high) {
		d.fail(t.place, fmt.Sprintf("%d … %d", low, high), "%q is not a number in the range", t.text)
		return low
	}
	return max(n, low)
}

// read applies a unit's reader.
func read[T any](d *decoder, t *tree, parse func(string) (T, error)) T {
	v, _ := readOK(d, t, parse)
	return v
}

// readOK is read that tells whether there is a value.
func readOK[T any](d *decoder, t *tree, parse func(string) (T, error)) (T, bool) {
	v, err := parse(d.text(t))
	if err != nil && t.kind == scalar {
		d.fail(t.place, "", "%v", err)
	}
	return v, err == nil && t.kind == scalar
}

func (d *decoder) positive(t *tree) unit.Time {
	v, ok := readOK(d, t, unit.ParseTime)
	if ok && v <= 0 {
		d.fail(t.place, "a time above 0", "%q is not above 0", t.text)
	}
	return max(v, 1)
}

func (d *decoder) word(t *tree, what string, words []string) string {
	w := d.text(t)
	if t.kind == scalar && !contains(words, w) {
		d.unknown(t.place, what, w, words)
	}
	return w
}

// schemeValues decodes the parameters of a scheme out of a map, but for the keys
// in skip, which are others' business.
func (d *decoder) schemeValues(s *scheme.Scheme, t *tree, skip []string) scheme.Values {
	values := map[string]any{}
	var names []string
	for _, p := range s.Params {
		names = append(names, p.Name)
	}
	for _, k := range t.keys {
		if !contains(names, k.name) && !contains(skip, k.name) {
			d.unknown(k.place, "parameter of "+s.Name, k.name, append(append([]string{}, names...), skip...))
		}
	}
	for i := range s.Params {
		p := &s.Params[i]
		v := t.get(p.Name)
		if v == nil {
			if p.Required {
				d.missing(t, p.Name, "parameter of "+s.Name, append(append([]string{}, names...), skip...), p.Name+": "+
					kinds[p.Kind]+", "+p.Doc, "%s needs the parameter %q", s.Name, p.Name)
				values[p.Name] = zero(p)
				continue
			}
			if p.Kind == scheme.Map && p.Default == "" {
				values[p.Name] = []scheme.Entry(nil)
				continue
			}
			v = t.fill(p.Name, p.Default, p.Source)
		}
		values[p.Name] = d.param(s, p, v)
	}
	return scheme.NewValues(s.Name, values)
}

// zero is a parameter's value where the file has none, or a wrong one: the run is
// not carried out then.
func zero(p *scheme.Param) any {
	switch p.Kind {
	case scheme.Int, scheme.Packets:
		return 0
	case scheme.Float, scheme.Share:
		return 0.0
	case scheme.Bool:
		return false
	case scheme.Duration:
		return unit.Time(0)
	case scheme.Rate:
		return unit.Rate(0)
	case scheme.LinkRate:
		return unit.LinkRate{}
	case scheme.Size:
		return unit.Bytes(0)
	case scheme.Length:
		return unit.Length{}
	case scheme.Map:
		return []scheme.Entry(nil)
	}
	return ""
}

// kinds says what a file may write for each kind.
var kinds = map[scheme.Kind]string{
	scheme.Int: "a whole number", scheme.Float: "a number", scheme.Bool: "true, false",
	scheme.Duration: "a time such as 5ms",
	scheme.Rate:     "a rate such as 10kbps", scheme.Share: "a share such as 85%", scheme.Size: "a size such as 32MB",
	scheme.Packets: "a number of packets such as 24 packets", scheme.Length: "a length such as 24 packets or 36kB",
	scheme.LinkRate: "a rate such as 100Mbps or 4170pps", scheme.Map: "a map", scheme.Text: "a word",
}

// param decodes one parameter and checks its bounds.
func (d *decoder) param(s *scheme.Scheme, p *scheme.Param, t *tree) any {
	if p.Kind == scheme.Map {
		if t.kind != mapping {
			d.fail(t.place, kinds[p.Kind], "%s of %s is %v", p.Name, s.Name, t.kind)
			return zero(p)
		}
		one := *p
		one.Kind = p.Of
		var entries []scheme.Entry
		for _, k := range t.keys {
			entries = append(entries, scheme.Entry{Key: k.name, Value: d.param(s, &one, k.value)})
		}
		return entries
	}
	if t.kind != scalar {
		d.fail(t.place, kinds[p.Kind], "%s of %s is %v", p.Name, s.Name, t.kind)
		return zero(p)
	}
	v, err := scheme.Parse(p.Kind, t.text)
	if err != nil {
		d.fail(t.place, kinds[p.Kind], "%s of %s: %v", p.Name, s.Name, err)
		return zero(p)
	}
	if p.Kind == scheme.Text && len(p.Words) > 0 && !contains(p.Words, t.text) {
		d.unknown(t.place, p.Name+" of "+s.Name, t.text, p.Words)
	}
	for _, bound := range []struct {
		text string
		sign float64
		word string
	}{{p.Min, 1, "at least"}, {p.Max, -1, "at most"}} {
		if bound.text == "" {
			continue
		}
		b, err := scheme.Parse(p.Kind, bound.text)
		if err == nil && (scale(v)-scale(b))*bound.sign < 0 {
			d.fail(t.place, bound.word+" "+bound.text, "%s of %s is %s", p.Name, s.Name, t.text)
			return zero(p)
		}
	}
	return v
}

// scale orders values of one kind.
func scale(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	case unit.Time:
		return float64(v)
	case unit.Rate:
		return float64(v)
	case unit.LinkRate:
		return float64(v.Bits) + float64(v.Packets)
	case unit.Bytes:
		return float64(v)
	case unit.Length:
		return float64(v.Packets) + float64(v.Bytes)
	}
	return 0
}

// point is one combination of the sweep, decoded.
type point struct {
	at        []Coordinate
	canonical string // all that decides its runs but seed and executable
	defaults  []Parameter

	duration, warmup unit.Time // duration is the measured part
	framing          packet.Framing
	network          *topology.Network
	book             *packet.Book
	routes           *topology.Routes
	tree             *topology.Tree // with hierarchical addresses
	prefixes         topology.Prefixes
	switches         []sim.SwitchConfig
	telemetry        *telemetry.Format // nil: no switch writes any
	traffic          []traffic
	flows            []plannedFlow
	measures         []*measure
	partial          bool // what its measures are of is not all there, for there are errors
	events           []sim.Event
	stalls           sim.Stalls
	buffered         bool    // a traffic of some point has a send buffer
	hops             float64 // estimate of packet-hops
	sampled          float64 // values that the measures of a run keep
}

// traffic is one entry of the traffic list.
type traffic struct {
	name       string
	at, ccAt   place // where it is given, and its congestion controller
	transport  *transport.Scheme
	values     scheme.Values
	generator  *generator // nil: the flows are listed
	collective bool       // whose flows wait for each other
	cc         *cc.Scheme // nil: the transport has none
	ccValues   scheme.Values
	payload    int32
	version    uint8
	tos        uint8
	tosBySize  []sizedTOS // ascending; tos is that of the last
	sized      bool       // its flows have an end, in some point of the sweep
	startLow   unit.Time
	startHigh  unit.Time
	stop       unit.Time
}

// plannedFlow is a flow whose start may still have to be drawn.
type plannedFlow struct {
	traffic  int
	index    int // within its traffic
	src, dst int
	size     unit.Bytes
	fixed    bool // start is given
	start    unit.Time
	later    unit.Time // added to a start that is drawn: of its set
	port     int       // destination port of a flow file; 0: none
	after    []int     // flows of the point that arrive at src before it begins; start is the earliest then
}

// variable is what a block of the sweep says a $name stands for.
type variable struct {
	entry
	used bool
}

// substitute replaces every $name: by the value of a sweep key, or by what a block
// defines. A value that stands for one is of this point alone: what is read out of it is
// not written back into the file's tree; what is read out of a block is, into the block.
func (d *decoder) substitute(t *tree, at []Coordinate, places []place, variables []variable, used map[string]bool) {
	for _, x := range t.items {
		d.substitute(x, at, places, variables, used)
	}
	for _, k := range t.keys {
		d.substitute(k.value, at, places, variables, used)
	}
	if t.kind != scalar || !strings.HasPrefix(t.text, "$") {
		return
	}
	name := t.text[1:]
	var names []string
	for i := range variables {
		if v := &variables[i]; v.name == name {
			v.used = true
			*t = *copyTree(v.value)
			t.bound = t.kind == scalar
			return
		}
		names = append(names, "$"+variables[i].name)
	}
	for i, c := range at {
		if c.Key == name {
			d.bound[t.place] = fmt.Sprintf("$%s is %q at %s:%d:%d", name, c.Text, places[i].file, places[i].line,
				places[i].column)
			t.text, t.bound, t.orig = c.Text, true, nil
			used[name] = true
			return
		}
		names = append(names, "$"+c.Key)
	}
	d.unknown(t.place, "sweep key", t.text, names)
}

// decodePoint decodes combination i of the sweep.
func (s *Spec) decodePoint(d *decoder, i int, used map[string]bool) *point {
	p := &point{}
	d.files, d.bufferAt, d.limits, d.bound = nil, nil, nil, map[place]string{}
	root := copyTree(s.root)
	var rest []entry
	for _, k := range root.keys {
		switch k.name {
		case "title", "paper", "sweep", "quick", "repeat", "lab_repeat", "seed", "plot", "expect":
		default:
			rest = append(rest, k)
		}
	}
	root.keys = rest
	index := make([]int, len(s.Sweep))
	for k := len(s.Sweep) - 1; k >= 0; k-- {
		n := len(s.Sweep[k].Values)
		index[k] = i % n
		i /= n
	}
	var places []place
	var variables []variable
	for k, dim := range s.Sweep {
		p.at = append(p.at, dim.Values[index[k]])
		places = append(places, dim.places[index[k]])
		if block := dim.blocks[index[k]]; block != nil {
			block = copyTree(block)
			var over []entry
			for _, x := range block.keys {
				if contains(topKeys, x.name) {
					over = append(over, x)
				} else {
					variables = append(variables, variable{entry: x})
				}
			}
			block.keys = over
			overlay(root, block, 0)
		}
	}
	for _, k := range root.keys {
		if !contains(topKeys, k.name) {
			d.unknown(k.place, "key", k.name, topKeys)
		}
	}
	for i, v := range variables { // a block may use the names of those before it
		d.substitute(v.value, p.at, places, variables[:i], used)
	}
	d.substitute(root, p.at, places, variables, used)
	for _, v := range variables {
		if !v.used {
			d.unknown(v.place, "key", v.name, append(append([]string{}, topKeys...), "a name that $"+v.name+" stands for"))
		}
	}
	if len(d.errors) > 0 {
		return p
	}
	p.duration = d.positive(root.get("duration"))
	p.warmup = read(d, d.value(root, "warmup", "0s", "ours: no warm-up"), unit.ParseTime)
	if p.duration+p.warmup < 0 {
		d.fail(root.get("duration").place, "106 days in all", "duration and warm-up are too long")
	}
	framing := d.value(root, "framing", "l2", "ours: frames without FCS, what Linux counts")
	var names []string
	for _, f := range packet.Framings {
		names = append(names, f.Name)
	}
	p.framing, _ = packet.FramingByName(d.word(framing, "framing", names))
	d.network(root, p)
	if len(d.errors) > 0 {
		return p
	}
	if d.route(root, p); len(d.errors) > 0 {
		return p
	}
	d.switchConfigs(root, p)
	d.trafficList(root, p)
	d.eventList(root, p)
	d.stalls(root, p)
	p.partial = len(d.errors) > 0
	d.measureList(root, p)
	d.buffers(p)
	if len(d.errors) == 0 {
		p.estimate()
		var b strings.Builder
		root.write(&b, 0)
		fmt.Fprintf(&b, "point %q\nfiles %q\n", PointName(p.at), d.files)
		p.canonical = b.String()
		for _, x := range parameters(root) {
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
func overlay(root, block *tree, depth int) {
	for _, k := range block.keys {
		if old := root.get(k.name); depth < 2 && old != nil && old.kind == mapping && k.value.kind == mapping {
			overlay(old, k.value, depth+1)
			continue
		}
		root.set(k.name, k.value)
	}
}

// dryRun builds the run's simulation once, so that what only constructors can
// know is an error of the file and not of a run. Endpoints are built for every point;
// switches, which are many in large networks, for each network, configuration and list
// of measures.
func (d *decoder) dryRun(root *tree, p *point) {
	c, err := p.config(1)
	if err == nil {
		p.sampled = p.samples(c)
		var b strings.Builder
		for _, key := range []string{"topology", "addresses", "switch", "switches", "framing", "measure"} {
			if t := root.get(key); t != nil {
				t.write(&b, 0)
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%q", d.files)
		if what := b.String(); !d.dryBuilt[what] {
			d.dryBuilt[what] = true
			_, err = sim.New(c)
		}
	}
	var much *tooMuch
	var refused *refusal
	switch {
	case errors.As(err, &much):
		d.fail(root.get("measure").place, "", "%v", err)
	case errors.As(err, &refused):
		d.fail(refused.place, "", "this cannot be built: %v", err)
	case err != nil:
		d.fail(root.get("topology").place, "", "this cannot be built: %v", err)
	}
}

var linkKeys = []string{"ends", "rate", "delay", "buffer", "loss", "jitter"}

func (d *decoder) network(root *tree, p *point) {
	t := root.get("topology")
	if t.kind == mapping && t.get("file") != nil {
		d.networkFile(t, p)
		return
	}
	allowed := []string{"hosts", "switches", "links", "file", "format", "rest"}
	for i := range d.registry.Topologies {
		s := &d.registry.Topologies[i]
		if t.kind == mapping && t.get(s.Name) != nil {
			d.generated(t, s, p)
			return
		}
		allowed = append(allowed, s.Name)
	}
	if !d.keys(t, "topology's key", allowed) || len(d.errors) > 0 { // a slip in a key makes other errors out of nothing
		return
	}
	n := &topology.Network{}
	index := map[string]int{}
	var names []string
	for _, kind := range []string{"hosts", "switches"} {
		l := t.get(kind)
		if l == nil {
			if kind == "hosts" {
				d.fail(t.place, "hosts: [a, b]", "the topology has no hosts")
			}
			continue
		}
		if l.kind != list {
			d.fail(l.place, "a list of names", "%s is %v", kind, l.kind)
			continue
		}
		for _, x := range l.items {
			name := d.text(x)
			if _, twice := index[name]; twice {
				d.fail(x.place, "another name", "the name %q is taken", name)
				continue
			}
			if name == "" || strings.ContainsAny(name, " >*$,") || name == "random" {
				d.fail(x.place, "letters, digits, - and _", "%q is not a name", name)
				continue
			}
			index[name] = len(n.Nodes)
			names = append(names, name)
			n.Nodes = append(n.Nodes, topology.Node{Name: name, Switch: kind == "switches"})
		}
	}
	links := t.get("links")
	if links == nil || links.kind != list || len(links.items) == 0 {
		d.fail(t.place, "links: [{ends: [a, b], rate: 100Mbps, delay: 5ms}]", "the topology has no list of links")
		return
	}
	seen := map[[2]int]bool{}
	degree := make([]int, len(n.Nodes))
	for _, x := range links.items {
		if !d.keys(x, "a link's key", linkKeys) {
			continue
		}
		var l topology.Link
		ends := x.get("ends")
		if ends == nil || ends.kind != list || len(ends.items) != 2 {
			if at := x.place; ends != nil {
				d.fail(ends.place, "ends: [a, b]", "a link has two ends")
			} else {
				d.missing(x, "ends", "a link's key", linkKeys, "ends: [a, b]", "the link at %d:%d has no ends", at.line, at.column)
			}
			continue
		}
		ok := true
		for e, y := range ends.items {
			node, found := index[d.text(y)]
			if !found {
				d.unknown(y.place, "node", y.text, names)
				ok = false
			}
			l.Ends[e] = node
		}
		if !ok {
			continue
		}
		if l.Ends[0] == l.Ends[1] {
			d.fail(ends.items[1].place, "two different nodes", "the link joins %q to itself", ends.items[1].text)
			continue
		}
		pair := [2]int{min(l.Ends[0], l.Ends[1]), max(l.Ends[0], l.Ends[1])}
		if seen[pair] {
			d.fail(ends.place, "one link between two nodes", "%s and %s have a link already", ends.items[0].text,
				ends.items[1].text)
			continue
		}
		seen[pair] = true
		for e, node := range l.Ends {
			if degree[node]++; degree[node] > 1 && !n.Nodes[node].Switch {
				d.fail(ends.items[e].place, "one link a host", "host %s has a link already; a host has one NIC", n.Nodes[node].Name)
			}
		}
		if r := x.get("rate"); r == nil {
			d.missing(x, "rate", "a link's key", linkKeys, "rate: 100Mbps", "the link has no rate")
		} else {
			l.Rate = read(d, r, unit.ParseLinkRate)
		}
		if r := x.get("delay"); r == nil {
			d.missing(x, "delay", "a link's key", linkKeys, "delay: 5ms", "the link has no delay")
		} else {
			l.Delay = read(d, r, unit.ParseTime)
		}
		var bufferAt place
		if b := x.get("buffer"); b != nil {
			l.Buffer, bufferAt = d.buffer(b), b.place
		}
		d.bufferAt = append(d.bufferAt, bufferAt)
		l.Loss = d.loss(d.value(x, "loss", "0%", "ours: no loss"))
		l.Jitter = read(d, d.value(x, "jitter", "0s", "ours: no jitter"), unit.ParseTime)
		n.Links = append(n.Links, l)
	}
	p.network = n
}

// generated decodes a network that is given by its family and parameters.
func (d *decoder) generated(t *tree, s *topology.Scheme, p *point) {
	for _, k := range t.keys {
		if k.name != s.Name {
			d.fail(k.place, s.Name+" alone", "%q stands beside %s, which makes the network", k.name, s.Name)
		}
	}
	params := t.get(s.Name)
	if params.kind != mapping {
		d.fail(params.place, s.Name+": {parameter: value}", "the parameters of %s are %v", s.Name, params.kind)
		return
	}
	v := d.schemeValues(&s.Scheme, params, nil)
	if len(d.errors) > 0 {
		return
	}
	n, err := s.Build(v)
	if err == nil {
		err = n.Validate()
	}
	if err != nil {
		d.fail(params.place, "", "%s: %v", s.Name, err)
		return
	}
	var at place
	if b := params.get("buffer"); b != nil && v.Length("buffer").Bytes > 0 {
		at = b.place
	}
	d.bufferAt = make([]place, len(n.Links))
	for i := range d.bufferAt {
		d.bufferAt[i] = at
	}
	p.network = n
}

// buffer reads the limit of a port.
func (d *decoder) buffer(t *tree) unit.Length {
	l, err := unit.ParseLength(d.text(t))
	switch {
	case t.kind != scalar:
	case err != nil:
		d.fail(t.place, "24 packets, or 36kB", "%v", err)
	case l.Packets < 1 && l.Bytes < 1:
		d.fail(t.place, "at least 1 packet", "a buffer of %q holds no packet", t.text)
	}
	return l
}

// buffers checks that buffers and queues bounded in bytes hold the largest frame of
// every traffic: a smaller one would drop all of it.
func (d *decoder) buffers(p *point) {
	if len(d.errors) > 0 {
		return
	}
	largest, name := unit.Bytes(0), ""
	for i := range p.traffic {
		tr := &p.traffic[i]
		if frame := unit.Bytes(p.framing.Frame(tr.headers(), tr.payload, true)); frame > largest {
			largest, name = frame, tr.name
		}
	}
	check := func(at place, b unit.Bytes) {
		if b > 0 && b < largest && at.line > 0 {
			d.fail(at, fmt.Sprintf("at least %v, or a number of packets", largest),
				"a buffer of %v is below a packet of traffic %s", b, name)
		}
	}
	for i, l := range p.network.Links {
		if i < len(d.bufferAt) {
			check(d.bufferAt[i], l.Buffer.Bytes)
		}
	}
	for _, l := range d.limits {
		check(l.place, l.bytes)
	}
}

// largestFrame is that of any traffic, with as many extensions as a packet can have.
func (p *point) largestFrame() (n int32) {
	for i := range p.traffic {
		tr := &p.traffic[i]
		n = max(n, p.framing.Frame(tr.headers(), tr.payload, true)+packet.MostExtensions, p.framing.Frame(tr.headers(), 0,
			false)+packet.MostExtensions)
	}
	return n
}

func (d *decoder) loss(t *tree) float64 {
	v := read(d, t, unit.ParseShare)
	if !(v >= 0 && v < 1) {
		d.fail(t.place, "0% … below 100%", "%q is not a loss", t.text)
		return 0
	}
	return v
}

// openFile reads a file that the spec names, relative to the spec, and returns it with
// the name that errors give it.
func (d *decoder) openFile(t *tree) (data []byte, name string) {
	name = d.text(t)
	data, err := d.source.open(filepath.ToSlash(name))
	switch {
	case err != nil:
		d.fail(t.place, "a file beside the experiment", "%q cannot be read: %v", t.text, reason(err))
	case len(data) >= int(largestInput):
		d.fail(t.place, "up to "+largestInput.String(), "%q is too large", t.text)
		return nil, name
	}
	d.files = append(d.files, fmt.Sprintf("%s %x", t.text, sha256.Sum256(data)))
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(d.source.File), name)
	}
	if err == nil {
		d.inputs[t.text] = data
	}
	d.remember(name, data)
	d.collector.text(name, data, false)
	return data, name
}

func (d *decoder) networkFile(t *tree, p *point) {
	d.keys(t, "topology's key", []string{"file", "format", "rest"})
	file, format := t.get("file"), t.get("format")
	if format == nil {
		d.missing(t, "format", "topology's key", []string{"file", "format", "rest"}, "format: hpcc, or htsim",
			"the topology file's format is missing")
		return
	}
	reader := topology.ReadHPCC
	if d.word(format, "format", []string{"hpcc", "htsim"}) == "htsim" {
		reader = topology.ReadHTSim
	}
	data, name := d.openFile(file)
	if len(d.errors) > 0 {
		return
	}
	n, err := reader(bytes.NewReader(data), name)
	if d.ignored(t, format.text, err) {
		err = nil
	}
	if err == nil {
		err = n.Validate()
	}
	if err != nil {
		d.foreign(file, err)
		return
	}
	d.bufferAt = make([]place, len(n.Links))
	p.network = n
}

// ignored tells whether an error is about what stands behind the last entry that a file
// of the HPCC simulator announces, and the spec says that it shall not be looked at.
func (d *decoder) ignored(t *tree, format string, err error) bool {
	rest := t.get("rest")
	if rest == nil {
		return false
	}
	if format != "hpcc" {
		d.fail(rest.place, "no rest", "files of the format %s do not announce their entries", format)
	}
	d.word(rest, "rest", []string{"ignored"})
	return excess(err)
}

// excess tells whether all that a file announces was read, and more stands behind it.
func excess(err error) bool {
	switch e := err.(type) {
	case *topology.FormatError:
		return e.Excess
	case *workload.FormatError:
		return e.Excess
	case *simfiles.FormatError:
		return e.Excess
	}
	return false
}

// foreign notes an error in a file that the spec names.
func (d *decoder) foreign(t *tree, err error) {
	switch e := err.(type) {
	case *topology.FormatError:
		d.fail(d.inFile(e.File, e.Line, e.Column), "", "%s", e.Msg)
	case *workload.FormatError:
		d.fail(d.inFile(e.File, e.Line, e.Column), "", "%s", e.Msg)
	default:
		d.fail(t.place, "", "%s: %v", t.text, err)
	}
}

// inFile is a place in a file that the spec names. Readers count columns in bytes, and
// errors in characters.
func (d *decoder) inFile(name string, line, column int) place {
	text := lineOf(d.collector.files[name], line)
	return place{name, line, utf8.RuneCountInString(text[:min(max(column-1, 0), len(text))]) + 1}
}

// program is one entry of a list of programs.
type program struct {
	scheme *dataplane.Scheme
	values scheme.Values
	place  place // of its name
}

// refusal is why a program cannot be built, with its place in the file.
type refusal struct {
	place
	error
}

func (r *refusal) Unwrap() error { return r.error }

// named splits an entry that is a name or {name: {parameters}}.
func (d *decoder) named(t *tree, what string) (string, *tree) {
	if t.kind == scalar {
		// give its parameters a place in the resolved file
		params := &tree{place: t.place, kind: mapping}
		name := t.text
		*t = tree{place: t.place, kind: mapping, keys: []entry{{t.place, name, params}}, orig: t.orig, from: t.from}
		if t.orig != nil && t.orig.kind == scalar {
			kept := &tree{place: t.place, kind: mapping}
			from := t.orig.from
			*t.orig = tree{place: t.place, kind: mapping, keys: []entry{{t.place, name, kept}}, from: from}
			params.orig = kept
		}
		return name, params
	}
	if t.kind != mapping || len(t.keys) != 1 || t.keys[0].value.kind != mapping {
		d.fail(t.place, "name, or {name: {parameter: value}}", "this does not name a %s", what)
		return "", nil
	}
	return t.keys[0].name, t.keys[0].value
}

func (d *decoder) programs(t *tree) []program {
	if t.kind != list {
		d.fail(t.place, "[forward, …]", "a list of programs is expected, this is %v", t.kind)
		return nil
	}
	var names []string
	for _, s := range d.registry.Programs {
		names = append(names, s.Name)
	}
	sort.Strings(names)
	var out []program
	for _, x := range t.items {
		where := x.place
		if x.kind == scalar && x.text == "none" {
			continue
		}
		name, params := d.named(x, "program")
		if params == nil {
			continue
		}
		found := false
		for i := range d.registry.Programs {
			if s := &d.registry.Programs[i]; s.Name == name {
				out = append(out, program{s, d.schemeValues(&s.Scheme, params, nil), where})
				found = true
			}
		}
		if !found {
			d.unknown(where, "program", name, names)
		}
	}
	return out
}

func (d *decoder) switchConfigs(root *tree, p *point) {
	n := p.network
	p.switches = make([]sim.SwitchConfig, len(n.Nodes))
	programs := make([][]program, len(n.Nodes))
	placeOf := root.place
	if t := root.get("switch"); t != nil {
		placeOf = t.place
		list := d.programs(t)
		for i := range n.Nodes {
			programs[i] = list
		}
	}
	patterns := root.get("switches")
	if patterns != nil && d.keysAny(patterns) {
		if slices.ContainsFunc(patterns.keys, func(k entry) bool { return k.value.get("buffer") != nil }) {
			own := *n // other points may share it
			own.Links = slices.Clone(n.Links)
			n, p.network = &own, &own
		}
		for _, k := range patterns.keys {
			d.switchPattern(k, p, programs)
		}
	}
	d.telemetry(root, p, programs)
	for i, node := range n.Nodes {
		if !node.Switch {
			continue
		}
		if len(programs[i]) == 0 && len(d.errors) == 0 {
			d.fail(placeOf, "switch: [forward]", "switch %s has no programs, so it forwards nothing", node.Name)
		}
		list := programs[i]
		sc := &p.switches[i]
		sc.Routes = dataplane.HostRoutes(p.book, p.routes.Paths(i))
		sc.Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			var out []dataplane.Program
			for _, x := range list {
				program, err := x.scheme.Build(site, x.values)
				if err != nil {
					return nil, &refusal{x.place, err}
				}
				out = append(out, program)
			}
			return out, nil
		}
	}
}

// telemetry finds the format of telemetry in which the programs write; all must agree,
// since hosts cannot tell who has written.
func (d *decoder) telemetry(root *tree, p *point, programs [][]program) {
	rates := p.network.Rates()
	for i, list := range programs {
		for _, x := range list {
			if !p.network.Nodes[i].Switch || x.scheme.Telemetry == nil || len(d.errors) > 0 {
				continue
			}
			f, err := x.scheme.Telemetry(x.values, rates)
			f.Counted = p.framing.Fixed()
			at := root.place
			if t := root.get("switches"); t != nil {
				at = t.place
			} else if t := root.get("switch"); t != nil {
				at = t.place
			}
			switch {
			case err != nil:
				d.fail(at, "", "%v", err)
			case p.telemetry == nil:
				p.telemetry = &f
			case *p.telemetry != f:
				d.fail(at, "one format, one set of parameters", "switch %s writes other telemetry than the switches before it",
					p.network.Nodes[i].Name)
			}
		}
	}
}

// clock reads a switch's clock.
func (d *decoder) clock(t *tree) (c telemetry.Clock) {
	if !d.keys(t, "a clock's key", []string{"resolution", "offset", "drift"}) {
		return
	}
	if x := d.value(t, "resolution", "1ps", "ours: exact"); x != nil {
		if c.Resolution = d.positive(x); c.Resolution > unit.Second {
			d.fail(x.place, "1ps … 1s", "a resolution of %q is too coarse", x.text)
		}
	}
	x := d.value(t, "offset", "0s", "ours: exact")
	text, behind := strings.CutPrefix(d.text(x), "-")
	offset, err := unit.ParseTime(text)
	if err != nil || offset > 3600*unit.Second {
		d.fail(x.place, "5us, or -5us; an hour at most", "%q is not an offset of a clock", x.text)
	}
	if c.Offset = offset; behind {
		c.Offset = -offset
	}
	x = d.value(t, "drift", "0ppm", "ours: exact")
	number, parts := strings.CutSuffix(d.text(x), "ppm")
	if c.Drift, err = strconv.ParseFloat(strings.TrimSpace(number), 64); err != nil || !parts || !(c.Drift >= -100_000 &&
		c.Drift <= 100_000) {
		d.fail(x.place, "20ppm, or -20ppm; 100000ppm at most", "%q is not a drift of a clock", x.text)
		c.Drift = 0
	}
	return
}

// route gives a point its network's addresses and routes. The points of a sweep often
// have the same network, and then share them.
func (d *decoder) route(root *tree, p *point) {
	var r routed
	t := d.value(root, "addresses", "flat", "ours: one after another")
	var b strings.Builder
	t.write(&b, 0)
	for _, old := range d.networks {
		if old.addresses != b.String() || !slices.Equal(old.network.Nodes, p.network.Nodes) ||
			!slices.EqualFunc(old.network.Links, p.network.Links, sameEnds) {
			continue
		}
		// which rates and delays do not change
		r.book, r.routes, r.tree, r.prefixes = old.book, old.routes, old.tree, old.prefixes
		if slices.Equal(old.network.Links, p.network.Links) {
			r = old
			break
		}
	}
	if r.routes == nil {
		switches := 0
		for _, n := range p.network.Nodes {
			if n.Switch {
				switches++
			}
		}
		if classes := p.network.Classes(); classes*switches > mostRoutes {
			d.fail(root.get("topology").place, fmt.Sprintf("switches with hosts × switches up to %d", mostRoutes),
				"%d switches, %d of them with hosts, have more routes than fit into memory", switches, classes)
			return
		}
		r.book, r.routes = p.network.Addresses(), p.network.Routes()
		if t.kind != scalar || d.word(t, "way to give addresses", addressWays) == addressWays[1] {
			d.hierarchy(t, p.network, &r)
		}
	}
	if r.network == nil {
		r.network, r.addresses = p.network, b.String()
		d.networks = append(d.networks, r)
	}
	p.network, p.book, p.routes, p.tree, p.prefixes = r.network, r.book, r.routes, r.tree, r.prefixes
}

// addressWays are the ways to give addresses that have a name.
var addressWays = []string{"flat", "hierarchical"}

// hierarchy gives the hosts of a fat tree addresses from their leaves' prefixes: those of
// P4TE's figure 1, or those that the file gives by leaf.
func (d *decoder) hierarchy(t *tree, n *topology.Network, r *routed) {
	x, err := n.Tree()
	if err != nil {
		d.fail(t.place, "addresses: flat, or a fat tree of two or three tiers", "hierarchical addresses need a fat tree: %v",
			err)
		return
	}
	plan := x.Plan()
	if t.kind != scalar {
		if t.kind != mapping {
			d.fail(t.place, "flat, hierarchical, or a map of prefixes by leaf", "this is %v", t.kind)
			return
		}
		plan = topology.Prefixes{Leaf: make([]netip.Prefix, len(x.Leaves()))}
		var names []string
		for _, leaf := range x.Leaves() {
			names = append(names, n.Nodes[leaf].Name)
		}
		for _, k := range t.keys {
			i := slices.Index(names, k.name)
			if i < 0 {
				d.unknown(k.place, "leaf", k.name, names)
				continue
			}
			prefix, err := netip.ParsePrefix(d.text(k.value))
			if err != nil {
				d.fail(k.value.place, "2001:db8:0:1::/112", "%q is not an IPv6 prefix", k.value.text)
				continue
			}
			plan.Leaf[i] = prefix
			if len(d.errors) == 0 && x.CheckLeaf(plan, i) != nil {
				d.fail(k.value.place, "prefixes that do not overlap, each large enough for its leaf's hosts", "%v", x.CheckLeaf(plan, i))
			}
		}
		for i, p := range plan.Leaf {
			if !p.IsValid() && len(d.errors) == 0 {
				d.fail(t.place, "a prefix for every leaf", "%s has no prefix", names[i])
			}
		}
	}
	if len(d.errors) > 0 {
		return
	}
	r.book, r.tree, r.prefixes = x.Addresses(plan), x, plan
}

func sameEnds(a, b topology.Link) bool { return a.Ends == b.Ends }

func (d *decoder) keysAny(t *tree) bool {
	if t.kind != mapping {
		d.fail(t.place, `{"*": {…}}`, "this is %v, not a map", t.kind)
		return false
	}
	return true
}

func (d *decoder) switchPattern(k entry, p *point, programs [][]program) {
	t := k.value
	if !d.keys(t, "a switch's key", []string{"programs", "buffer", "queues", "queue_limit", "scheduler", "recirculation",
		"clock"}) {
		return
	}
	var list []program
	if x := t.get("programs"); x != nil {
		list = d.programs(x)
	}
	matched := false
	var names []string
	for i, node := range p.network.Nodes {
		if !node.Switch {
			continue
		}
		names = append(names, node.Name)
		if ok, err := path.Match(k.name, node.Name); err != nil || !ok {
			continue
		}
		matched = true
		if list != nil {
			programs[i] = list
		}
		sc := &p.switches[i]
		if x := t.get("queues"); x != nil {
			sc.Queues = d.integer(x, 1, tm.MaxQueues)
		}
		if x := t.get("queue_limit"); x != nil {
			l := d.buffer(x)
			sc.QueueLimit = tm.Limit{Packets: l.Packets, Bytes: l.Bytes}
			d.limits = append(d.limits, limit{x.place, l.Bytes})
		}
		if x := t.get("buffer"); x != nil {
			l := d.buffer(x)
			for li := range p.network.Links {
				if e := p.network.Links[li].Ends; e[0] == i || e[1] == i {
					p.network.Links[li].Buffer = l
					d.bufferAt[li] = x.place
				}
			}
		}
		if x := t.get("scheduler"); x != nil {
			sc.Scheduler = d.scheduler(x, max(sc.Queues, 1))
		}
		if x := t.get("clock"); x != nil {
			sc.Clock = d.clock(x)
		}
		if x := t.get("recirculation"); x != nil && d.keys(x, "recirculation's key", []string{"rate", "queue"}) {
			if r := x.get("rate"); r != nil {
				sc.Recirculation.Rate = read(d, r, unit.ParseLinkRate)
			} else {
				d.fail(x.place, "rate: 10Gbps", "the recirculation port has no rate")
			}
			queue := d.value(x, "queue", "64 packets", "ours")
			if l := d.buffer(queue); l.Bytes > 0 {
				d.fail(queue.place, "a number of packets such as 64 packets", "%q is not a number of packets", queue.text)
			} else {
				sc.Recirculation.Queue = int(l.Packets)
			}
		}
	}
	if !matched {
		d.unknown(k.place, "switch", k.name, append(names[:min(len(names), 10):min(len(names), 10)], "*"))
	}
}

func (d *decoder) scheduler(t *tree, queues int) func(int, unit.LinkRate) (tm.Scheduler, error) {
	where := t.place
	name, params := d.named(t, "scheduler")
	if params == nil {
		return nil
	}
	var names []string
	for i := range d.registry.Schedulers {
		s := &d.registry.Schedulers[i]
		names = append(names, s.Name)
		if s.Name == name {
			v := d.schemeValues(&s.Scheme, params, nil)
			if _, err := s.Build(queues, unit.LinkRate{Bits: unit.Gbps}, v); err != nil && len(d.errors) == 0 {
				d.fail(where, "", "%v", err)
			}
			return func(queues int, r unit.LinkRate) (tm.Scheduler, error) { return s.Build(queues, r, v) }
		}
	}
	d.unknown(where, "scheduler", name, names)
	return nil
}

// Keys of a traffic entry besides the transport's parameters.
var trafficKeys = []string{"name", "from", "to", "collective", "hosts", "transport", "cc", "flows", "size", "sizes",
	"load", "arrivals", "payload", "start", "sets", "stop", "tos", "ip", "file", "format", "offset", "time_unit",
	"port", "rest"}

func (d *decoder) trafficList(root *tree, p *point) {
	t := root.get("traffic")
	if t.kind != list || len(t.items) == 0 {
		d.fail(t.place, "[{name: …, from: …, to: …, transport: …}]", "traffic is a list with at least one entry")
		return
	}
	mtu := d.mtu(d.value(root, "mtu", "1500 B", "IEEE 802.3"))
	seen := map[string]bool{}
	for _, x := range t.items {
		if x.kind != mapping {
			d.fail(x.place, "{name: …, from: …, to: …, transport: …}", "a traffic is a map")
			continue
		}
		d.oneTraffic(x, p, mtu, seen)
	}
}

// mtu is the largest packet: in bytes of IP, or in payload.
type mtu struct {
	place
	text    string
	bytes   int32
	payload bool
}

func (d *decoder) mtu(t *tree) mtu {
	m := mtu{place: t.place, text: t.text}
	size, payload := strings.CutSuffix(d.text(t), " payload")
	m.payload = payload
	if payload {
		m.bytes = d.payload(t, size)
		return m
	}
	b, err := unit.ParseBytes(size)
	if err != nil || b < 68 || b > 65535 {
		if t.kind == scalar {
			d.fail(t.place, "68 B … 65535 B, or a payload such as 1448 B payload", "%q is not an MTU", t.text)
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
		d.fail(m.place, fmt.Sprintf("at least %d B", headers+1),
			"an MTU of %s leaves no room behind the headers of %s over IPv%d", m.text, s.Name, version)
		return 1
	}
	return m.bytes - headers
}

func (d *decoder) payload(t *tree, text string) int32 {
	b, err := unit.ParseBytes(text)
	if err != nil || b < 1 || b > 65507 {
		d.fail(t.place, "1 B … 65507 B", "%q is not a payload", t.text)
		return 1
	}
	return int32(b)
}

func (d *decoder) oneTraffic(x *tree, p *point, mtu mtu, seen map[string]bool) {
	tr := traffic{version: 4, stop: unit.Never, at: x.place, ccAt: x.place}
	name := x.get("name")
	if name == nil {
		d.missing(x, "name", "traffic's key", d.trafficWords(), "name: …", "the traffic has no name")
		return
	}
	tr.name = d.text(name)
	if seen[tr.name] {
		d.fail(name.place, "another name", "the name %q is taken", tr.name)
	}
	if !identifier(tr.name) {
		d.fail(name.place, "a letter, then letters, digits and _", "%q is not a name; expressions use it", tr.name)
	}
	seen[tr.name] = true
	tt := x.get("transport")
	var names []string
	for _, s := range d.registry.Transports {
		names = append(names, s.Name)
	}
	sort.Strings(names)
	if tt == nil {
		d.missing(x, "transport", "traffic's key", d.trafficWords(), "transport: "+strings.Join(names, ", "),
			"the traffic has no transport")
		return
	}
	where, inline := tt.place, tt.kind == scalar
	tname, params := tt.text, x
	if !inline {
		if tname, params = d.named(tt, "transport"); params == nil {
			return
		}
	}
	for i := range d.registry.Transports {
		if d.registry.Transports[i].Name == tname {
			tr.transport = &d.registry.Transports[i]
		}
	}
	if tr.transport == nil {
		d.unknown(where, "transport", tname, names)
		return
	}
	if inline {
		if tt.bound {
			x.orig = nil // its parameters are those of this point's transport
		}
		tr.values = d.schemeValues(&tr.transport.Scheme, x, trafficKeys)
	} else {
		d.keys(x, "traffic's key", trafficKeys)
		tr.values = d.schemeValues(&tr.transport.Scheme, params, nil)
	}
	if tr.transport.Warn != nil && len(d.errors) == 0 {
		if w := tr.transport.Warn(tr.values); w != "" {
			d.warn("%s:%d: traffic %s: %s", x.file, x.line, tr.name, w)
		}
	}
	d.controller(x, &tr, p)
	if v := x.get("tos"); v != nil {
		d.typesOfService(v, &tr)
	}
	if v := d.value(x, "ip", "4", "ours"); d.word(v, "IP version", []string{"4", "6"}) == "6" {
		tr.version = 6
	}
	if v := x.get("payload"); v != nil {
		tr.payload = d.payload(v, d.text(v))
	} else {
		tr.payload = mtu.of(d, tr.transport, tr.version)
	}
	if v := x.get("stop"); v != nil {
		tr.stop = d.positive(v)
	}
	if v := x.get("hosts"); v != nil && x.get("collective") == nil {
		d.fail(v.place, "from and to, or collective: ring", "hosts are those of a collective")
		return
	}
	if x.get("file") != nil && x.get("collective") == nil {
		d.flowFile(x, p, tr)
		return
	}
	spread, why := "0s..1s", "P4-ABC is silent; spreads the phases of senders"
	switch {
	case x.get("collective") != nil:
		spread, why = "0s", "ours: a collective begins with the run"
	case isDrawn(x):
		spread, why = "0s", "ours: drawn flows begin with the run"
	}
	start := d.value(x, "start", spread, why)
	low, high, ranged := strings.Cut(d.text(start), "..")
	var err error
	if tr.startLow, err = unit.ParseTime(low); err == nil && ranged {
		tr.startHigh, err = unit.ParseTime(high)
	}
	if !ranged {
		tr.startHigh = tr.startLow
	}
	switch {
	case err != nil:
		d.fail(start.place, "0.5s, or 0s..1s", "%v", err)
	case tr.startHigh < tr.startLow:
		d.fail(start.place, "0.5s, or 0s..1s", "the range %q ends before it begins", start.text)
	case tr.startHigh >= p.duration+p.warmup:
		d.fail(start.place, "a time before the end", "the traffic may start (%s) after the run has ended (%v)", start.text,
			p.duration+p.warmup)
	}
	if tr.stop <= tr.startHigh && err == nil {
		d.fail(x.get("stop").place, "a time after the start "+start.text, "the traffic stops before it starts")
	}
	size := unit.Bytes(0)
	if v := x.get("size"); v != nil {
		ok := false
		if size, ok = readOK(d, v, unit.ParseBytes); ok && size < 1 {
			d.fail(v.place, "at least 1 B", "%q is not a size", v.text)
		}
	}
	if x.get("collective") != nil {
		d.collective(x, p, tr, size)
		return
	}
	flows := 1
	if x.get("load") == nil || x.get("flows") != nil {
		flows = d.integer(d.value(x, "flows", "1", "ours"), 1, 100000)
	}
	sets := d.sets(x, p, &tr)
	g := &generator{pattern: toHosts, size: size, sets: sets}
	from, drawnFrom := d.endpoints(x, "from", p, g)
	to, drawnTo := d.endpoints(x, "to", p, g)
	if len(d.errors) > 0 {
		return
	}
	if drawnFrom || drawnTo || isDrawn(x) {
		g.from, g.to = from, to
		d.generatedFlows(x, p, tr, g, flows)
		return
	}
	id := len(p.traffic)
	p.traffic = append(p.traffic, tr)
	index := 0
	for _, a := range from {
		for _, b := range to {
			if a == b {
				if len(from) == 1 && len(to) == 1 {
					d.fail(x.get("to").place, "another host", "the traffic goes from %q to itself", p.network.Nodes[a].Name)
				}
				continue
			}
			if p.routes.Hops(a, b) < 0 {
				d.fail(x.get("to").place, "hosts that links and switches join", "there is no path from %s to %s",
					p.network.Nodes[a].Name, p.network.Nodes[b].Name)
				return
			}
			if len(p.flows)+flows*len(sets) > mostFlows {
				d.fail(x.place, strconv.Itoa(mostFlows), "the experiment has too many flows")
				return
			}
			for _, later := range sets {
				for range flows {
					p.flows = append(p.flows, plannedFlow{traffic: id, index: index, src: a, dst: b, size: size, later: later})
					index++
				}
			}
		}
	}
}

// trafficWords are all keys that a traffic can have, its transport's parameters included.
func (d *decoder) trafficWords() []string {
	words := append([]string{}, trafficKeys...)
	for i := range d.registry.Transports {
		for _, p := range d.registry.Transports[i].Params {
			if !contains(words, p.Name) {
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
func (d *decoder) hosts(x *tree, key string, p *point) []int {
	t := x.get(key)
	if t == nil {
		d.missing(x, key, "traffic's key", d.trafficWords(), key+": host", "the traffic has no %q", key)
		return nil
	}
	items := []*tree{t}
	if t.kind == list {
		items = t.items
	}
	var names []string
	for _, n := range p.network.Nodes {
		if !n.Switch {
			names = append(names, n.Name)
		}
	}
	var out []int
	taken := map[int]bool{}
	for _, y := range items {
		pattern, found, isSwitch := d.text(y), false, false
		for i, n := range p.network.Nodes {
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
				d.fail(y.place, strings.Join(names, ", "), "%q is a switch; flows go from host to host", pattern)
				continue
			}
			d.unknown(y.place, "host", pattern, names)
		}
	}
	return out
}

// controller decodes a traffic's congestion controller.
func (d *decoder) controller(x *tree, tr *traffic, p *point) {
	v := x.get("cc")
	if !tr.transport.Controlled {
		if v != nil {
			d.fail(v.place, "no cc", "transport %s has no congestion controller", tr.transport.Name)
		}
		return
	}
	if v != nil {
		tr.ccAt = v.place
	}
	name, params := d.named(d.value(x, "cc", "cubic", "Linux 6.18: tcp_congestion_control"), "congestion controller")
	if params == nil {
		return
	}
	var names []string
	for i := range d.registry.Controllers {
		s := &d.registry.Controllers[i]
		names = append(names, s.Name)
		if s.Name == name {
			tr.cc = s
		}
	}
	if tr.cc == nil {
		sort.Strings(names)
		at := x.place
		if v != nil {
			at = v.place
		}
		d.unknown(at, "congestion controller", name, names)
		return
	}
	tr.ccValues = d.schemeValues(&tr.cc.Scheme, params, nil)
	if tr.cc.Telemetry != telemetry.Nothing && p.telemetry == nil && len(d.errors) == 0 {
		d.warn("%s:%d: traffic %s: %s needs telemetry, and no switch writes any (program telemetry): it keeps its "+
			"first window", x.file, x.line, tr.name, name)
	}
}

func (d *decoder) flowFile(x *tree, p *point, tr traffic) {
	for _, k := range []string{"from", "to", "flows", "size", "sizes", "load", "arrivals", "start", "sets", "stop"} {
		if v := x.get(k); v != nil {
			d.fail(v.place, "file, format, offset", "%q stands beside a flow file, which decides it", k)
		}
	}
	format := x.get("format")
	if format == nil {
		d.missing(x, "format", "traffic's key", d.trafficWords(), "format: hpcc, or htsim",
			"the flow file's format is missing")
		return
	}
	word := d.word(format, "format", []string{"hpcc", "htsim"})
	if word != "hpcc" && word != "htsim" {
		return
	}
	htsim := word == "htsim"
	each := unit.Second
	switch v := x.get("time_unit"); {
	case htsim && v == nil:
		d.fail(x.place, "time_unit: 1us, or 1ps", "htsim's programs do not agree on what a .cm file's start counts; "+
			"time_unit says it")
	case htsim:
		each = d.positive(v)
	case v != nil:
		d.fail(v.place, "no time_unit", "the times of the HPCC simulator's files are in seconds")
	}
	port := -1
	switch v := x.get("port"); {
	case v != nil && htsim:
		d.fail(v.place, "no port", "htsim's files have no ports")
	case v != nil:
		port = d.integer(v, 0, 65535)
	}
	offset := read(d, d.value(x, "offset", "0s", "ours: times as in the file"), unit.ParseTime)
	data, name := d.openFile(x.get("file"))
	if len(d.errors) > 0 {
		return
	}
	var flows []workload.Flow
	var err error
	if htsim {
		flows, err = workload.ReadHTSimFlows(bytes.NewReader(data), name, each)
	} else {
		flows, err = workload.ReadHPCCFlows(bytes.NewReader(data), name)
	}
	if d.ignored(x, word, err) {
		err = nil
	}
	if err != nil {
		d.foreign(x.get("file"), err)
		return
	}
	id := len(p.traffic)
	p.traffic = append(p.traffic, tr)
	nodes := p.network.Nodes
	for i, f := range flows {
		if port >= 0 && f.Port != port {
			continue
		}
		for e, node := range [2]int{f.Src, f.Dst} {
			at := d.inFile(name, f.At.Line, [2]int{f.At.Src, f.At.Dst}[e])
			switch {
			case node >= len(nodes):
				d.fail(at, fmt.Sprintf("0 … %d, but for switches", len(nodes)-1), "there is no node %d in the topology", node)
				return
			case nodes[node].Switch:
				d.fail(at, "a host", "node %d is the switch %s", node, nodes[node].Name)
				return
			}
		}
		if p.routes.Hops(f.Src, f.Dst) < 0 {
			d.fail(d.inFile(name, f.At.Line, f.At.Dst), "hosts that links and switches join", "there is no path from %s to %s",
				nodes[f.Src].Name, nodes[f.Dst].Name)
			return
		}
		if f.Start < offset {
			d.fail(d.inFile(name, f.At.Line, f.At.Start), fmt.Sprintf("%v or later", offset),
				"the flow starts at %v, before the offset", f.Start)
			return
		}
		p.flows = append(p.flows, plannedFlow{traffic: id, index: i, src: f.Src, dst: f.Dst, size: f.Size, fixed: true,
			start: f.Start - offset, port: f.Port})
	}
	if port >= 0 && (len(p.flows) == 0 || p.flows[len(p.flows)-1].traffic != id) {
		d.fail(x.get("port").place, "a port that flows of the file go to", "no flow of the file goes to port %d", port)
	}
}

// mostRoutes bounds the entries of all switches' tables, for the same reason: a
// gigabyte, at four bytes each.
const mostRoutes = 1 << 28

// mostFlows bounds what an experiment asks for, so that a slip is an error and not
// a request for all memory.
const mostFlows = 1 << 20

// firstPort is the lowest source port of generated flows (facts A4), serverPort that of
// destinations: one on which no dissector of tshark expects a protocol.
const (
	firstPort  = 10000
	serverPort = 40000
)

// config makes the run of this point with a seed.
func (p *point) config(seed uint64) (*sim.Config, error) {
	c := &sim.Config{
		Wiring: sim.Wiring{
			Seed: seed, Network: p.network, Switches: p.switches, Hosts: p.book, Tree: p.tree, Prefixes: p.prefixes,
			Events: p.events, Framing: p.framing, MaxFrame: p.largestFrame(), Telemetry: p.telemetry,
		},
		Duration: p.warmup + p.duration, Warmup: p.warmup, UntilDone: true, Stalls: p.stalls,
	}
	flows := p.flows
	for id := range p.traffic {
		if g := p.traffic[id].generator; g != nil {
			flows = append(flows[:len(flows):len(flows)], g.expand(p, id, seed)...)
		}
	}
	hosts := make([]cc.Host, len(p.network.Nodes))
	listed := map[[3]int]int{} // flows of a list, by hosts and port
	for i, f := range flows {
		tr := &p.traffic[f.traffic]
		random := unit.NewRandom(seed, fmt.Sprintf("flow %s %d", tr.name, f.index))
		start := f.start
		if !f.fixed {
			if start = tr.startLow; tr.startHigh > tr.startLow {
				start += unit.Time(random.Int64N(int64(tr.startHigh-tr.startLow) + 1))
			}
			start += f.later
		}
		tf := transport.Flow{
			ID: packet.FlowID(i), Src: packet.Addr(f.src + 1), Dst: packet.Addr(f.dst + 1),
			SrcPort: uint16(firstPort + i%50000), DstPort: uint16(serverPort + i/50000), Version: tr.version,
			TOS:   tr.tosOf(f.size),
			Start: start, Stop: tr.stop, Size: f.size, Payload: tr.payload, Framing: p.framing, Random: random, Seed: seed,
			Path: p.pathOf(f.src, f.dst, tr), CC: tr.cc, CCValues: tr.ccValues,
			Telemetry: p.telemetry, Host: &hosts[f.dst],
		}
		// facts A4: ports count for each pair of hosts
		if pair := [3]int{f.src, f.dst, f.port}; f.port > 0 && listed[pair] < 50000 {
			tf.SrcPort, tf.DstPort = uint16(firstPort+listed[pair]), uint16(f.port)
			listed[pair]++
		}
		if g := tr.generator; g != nil && g.load > 0 {
			tf.Stop = unit.Never // it ends arrivals, not what has begun
		}
		sender, receiver, err := tr.transport.Build(tf, tr.values)
		if err != nil {
			return nil, fmt.Errorf("traffic %s: %w", tr.name, err)
		}
		stop := unit.Time(0)
		if f.size == 0 {
			if c.UntilDone = false; tf.Stop != unit.Never {
				stop = tf.Stop
			}
		}
		flow := sim.Flow{Group: f.traffic, Src: f.src, Dst: f.dst, Start: start, Size: f.size, Stop: stop,
			Sender: sender, Receiver: receiver, SrcPort: tf.SrcPort, DstPort: tf.DstPort, Class: tf.TOS >> 5}
		if f.after != nil {
			flow.Sender, flow.After = nil, f.after
			flow.Begin = func(start unit.Time) transport.Endpoint {
				tf.Start, tf.Random = start, unit.NewRandom(seed, fmt.Sprintf("flow %s %d", tr.name, f.index))
				sender, _, err := tr.transport.Build(tf, tr.values)
				if err != nil { // it is as above but for the start
					return nil
				}
				return sender
			}
		}
		c.Flows = append(c.Flows, flow)
	}
	return c, p.observe(c)
}

// Config makes the simulator's configuration of the run, for those who run it
// themselves.
func (r *RunSpec) Config() (*sim.Config, error) { return r.point.config(r.Seed) }

// estimate guesses the packet-hops of a run, for `weir check`: flows with a size
// send all of it and are acknowledged, flows without one send as fast as their
// rate parameter or the slowest link of the network lets them.
func (p *point) estimate() {
	slowest := 1e18
	for _, l := range p.network.Links {
		r := float64(l.Rate.Bits)
		if r == 0 {
			r = float64(l.Rate.Packets) * 12000
		}
		slowest = min(slowest, r)
	}
	seconds := (p.warmup + p.duration).Seconds()
	for id := range p.traffic {
		tr := &p.traffic[id]
		g := tr.generator
		switch {
		case g == nil:
		case g.mean() > 0:
			p.hops += g.expected(p, tr) * 2 * g.hops(p) * math.Ceil(g.mean()/float64(tr.payload))
		default:
			p.hops += g.expected(p, tr) * g.hops(p) * slowest / 8 / float64(tr.payload) * seconds
		}
	}
	for _, f := range p.flows {
		tr := &p.traffic[f.traffic]
		hops := float64(p.routes.Hops(f.src, f.dst))
		if f.size > 0 {
			p.hops += 2 * hops * float64((f.size+unit.Bytes(tr.payload)-1)/unit.Bytes(tr.payload))
			continue
		}
		rate := slowest
		for _, param := range tr.transport.Params {
			if param.Name == "rate" && param.Kind == scheme.Rate && tr.values.Rate("rate") > 0 {
				rate = float64(tr.values.Rate("rate"))
			}
		}
		p.hops += hops * rate / 8 / float64(tr.payload) * seconds
	}
}

// Estimate guesses how many packet-hops a run takes.
func Estimate(r *RunSpec) float64 { return r.point.hops }

// EstimateMemory guesses the bytes that a run takes: flows, tables, samples, and packets
// on links and in queues, those without a limit taken for a hundred packets.
func EstimateMemory(r *RunSpec) float64 {
	p := r.point
	const (
		program       = 35e6 // what there is without flows
		ofNode        = 4e3
		ofFlow        = 2e3
		ofControlled  = 12e3 // with its queues of segments
		ofSample      = 24   // in the run, sorted, and on its way into a file
		ofPacket      = 256
		ofRoute       = 4
		unlimited     = 100
		typicalPacket = 1000
	)
	bytes, leaves := program+ofNode*float64(len(p.network.Nodes)), map[int]bool{}
	switches := 0.0
	for _, n := range p.network.Nodes {
		if n.Switch {
			switches++
		}
	}
	for _, l := range p.network.Links {
		packets := 2 * float64(l.Rate.Bits) * l.Delay.Seconds() / 8 / typicalPacket
		if l.Rate.Bits == 0 {
			packets = 2 * float64(l.Rate.Packets) * l.Delay.Seconds()
		}
		for e, end := range l.Ends {
			if !p.network.Nodes[end].Switch {
				leaves[l.Ends[1-e]] = true
				continue
			}
			switch {
			case l.Buffer.Packets > 0:
				packets += float64(l.Buffer.Packets)
			case l.Buffer.Bytes > 0:
				packets += float64(l.Buffer.Bytes) / typicalPacket
			default:
				packets += unlimited
			}
		}
		bytes += ofPacket * packets
	}
	bytes += ofRoute * switches * float64(len(leaves))
	flows := make([]float64, len(p.traffic))
	for _, f := range p.flows {
		flows[f.traffic]++
	}
	for t := range p.traffic {
		if g := p.traffic[t].generator; g != nil {
			flows[t] += g.expected(p, &p.traffic[t])
		}
		if p.traffic[t].transport.Controlled {
			bytes += ofControlled * flows[t]
		} else {
			bytes += ofFlow * flows[t]
		}
	}
	return bytes + ofSample*p.sampled
}
