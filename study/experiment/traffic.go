package experiment

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/document"
	"weir/study/measure"
)

// trafficDecoder reads the list of traffic. Jobs, flow files and captures have decoders of their own.
type trafficDecoder struct {
	*reader
	nodes    *nodeNames
	paths    *pathChecker
	jobs     *jobDecoder
	files    *flowFileDecoder
	captures *captureDecoder
	keys     []string // all keys of a traffic, once entryKeys has listed them
}

// readList reads all traffic of a point.
func (d *trafficDecoder) readList(root document.Map, p *Point) {
	d.nodes.readGroups(root, p)
	t := root.Get("traffic")
	if t.Kind != document.List || len(t.Items) == 0 {
		d.Fail(t.Place, "[{name: …, from: …, to: …, transport: …}]", "traffic is a list with at least one entry")
		return
	}
	mtu := d.readMTU(root.Default("mtu"))
	seen := map[string]bool{}
	for _, x := range t.Items {
		if x.Kind != document.Mapping {
			d.Fail(x.Place, "{name: …, from: …, to: …, transport: …}", "a traffic is a map")
			continue
		}
		id, first := len(p.entries), p.flows.n
		d.before = d.Count()
		d.readEntry(d.View(x, traffic, d.entryKeys()...), p, mtu, seen)
		if !d.entryFine() { // others are read all the same
			continue
		}
		if d.OK() && id < len(p.entries) {
			mtu.told(d.reader, p, id, first)
		}
		if !p.seen.NoPackets {
			d.paths.checkTraffic(p, id, first, p.flows.n)
		}
		if d.entryFine() {
			d.checkFlowCount(x.Place, p, 0)
		}
	}
}

// maxFlows is how many flows a run can have at most.
func (d *reader) maxFlows() float64 {
	memory := d.machine
	if memory == 0 {
		memory = someMachine
	}
	return min(memory/ofFlowInRun, workload.MostFlows)
}

// checkFlowCount reports whether the memory of the machine can hold a run with the point's flows and so many more. It
// is an error if not, before they are listed.
func (d *reader) checkFlowCount(at document.Place, p *Point, more float64) bool {
	n, most := p.flowsInAll()+more, d.maxFlows()
	if n > most {
		d.Fail(at, fmt.Sprintf("up to %.0f flows a run, which take %s of memory", most, unit.Bytes(most*ofFlowInRun)),
			"with this the experiment has about %.0f flows", n)
	}
	return n <= most
}

// flowsInAll is how many flows a run has, on average.
func (p *Point) flowsInAll() float64 {
	n := float64(p.flows.n)
	for i := range p.entries {
		if tr := &p.entries[i]; tr.generator != nil {
			n += tr.generator.Expected(p, tr)
		}
	}
	return n
}

// readEntry decodes an entry of the list, and makes its flows or their generator.
func (d *trafficDecoder) readEntry(x document.Map, p *Point, mtu mtu, seen map[string]bool) {
	tr := Traffic{seen: measure.Traffic{Version: 4}, stop: unit.Never, at: x.Place, ccAt: x.Place}
	if !d.readName(x, &tr, seen) || !d.readTransport(x, &tr, p) {
		return
	}
	if x.Get("transport") != nil {
		d.readController(x, &tr, p)
	}
	d.readPackets(x, &tr, mtu)
	d.readNIC(x, &tr, p)
	if v := x.Get("stop"); v != nil {
		tr.stop = d.Positive(v)
	}
	if v := x.Get("hosts"); v != nil && x.Get("collective") == nil && x.Get("job") == nil &&
		(x.Get("file") == nil || !d.captures.isCapture(x)) {
		d.Fail(v.Place, "from and to, or job: {all_reduce: {…}}", "hosts are those of a job, or of a capture")
		return
	}
	switch {
	case x.Get("job") != nil, x.Get("collective") != nil: // refuses a file and what belongs to one
		d.jobs.readJob(x, p, tr)
		return
	case x.Get("file") != nil && d.captures.isCapture(x):
		d.captures.readFile(x, p, tr)
		return
	case x.Get("file") != nil:
		d.files.readFile(x, p, tr)
		return
	default:
		d.checkNoFile(x, traffic)
	}
	d.readStart(x, &tr, p)
	size := unit.Bytes(0)
	if v := x.Get("size"); v != nil {
		ok := false
		if size, ok = document.ReadOK(d.Reader, v, unit.ParseBytes); ok && size < 1 {
			d.Fail(v.Place, "at least 1 B", "%q is not a size", v.Text)
		}
	}
	flows := 1
	if x.Get("load") == nil || x.Get("flows") != nil {
		flows = d.Integer(x.Default("flows"), 1, 100000)
	}
	g := &Generator{Pattern: ToHosts, Size: size, Sets: d.readSets(x, p, &tr)}
	if x.Get("pairs") != nil {
		if pairs := d.readPairs(x, p); d.entryFine() {
			d.addFlows(x, p, tr, g, pairs, flows)
		}
		return
	}
	from, drawnFrom := d.readEndpoints(x, "from", p, g)
	to, drawnTo := d.readEndpoints(x, "to", p, g)
	if !d.entryFine() {
		return
	}
	g.From, g.To = from, to
	if drawnFrom || drawnTo || isDrawn(x) {
		if v := x.Get("ports"); v != nil {
			d.Fail(v.Place, "pairs, or lists of hosts", "ports are of flows that the file lists, and these are drawn")
		}
		d.addGenerator(x, p, tr, g, flows)
		return
	}
	d.addFlows(x, p, tr, g, d.pairAll(x, p, g), flows)
}

// readName reads what the traffic is called; false if it has no name.
func (d *trafficDecoder) readName(x document.Map, tr *Traffic, seen map[string]bool) bool {
	name := x.Get("name")
	if name == nil {
		x.Missing("name", "the traffic has no name")
		return false
	}
	tr.seen.Name = d.Text(name)
	if seen[tr.seen.Name] {
		d.Fail(name.Place, "another name", "the name %q is taken", tr.seen.Name)
	}
	if !identifier(tr.seen.Name) {
		d.Fail(name.Place, "a letter, then letters, digits and _", "%q is not a name; expressions use it", tr.seen.Name)
	}
	seen[tr.seen.Name] = true
	return true
}

// readTransport reads the traffic's transport, whose parameters stand under its name or beside it;
// false if there is none that is known.
func (d *trafficDecoder) readTransport(x document.Map, tr *Traffic, p *Point) bool {
	tt := x.Get("transport")
	var names []string
	for _, s := range d.registry.Transports {
		names = append(names, s.Name)
	}
	sort.Strings(names)
	if tt == nil && p.seen.NoPackets && x.Get("job") != nil { // nothing of it is used
		for i := range d.registry.Transports {
			s := &d.registry.Transports[i]
			if !slices.ContainsFunc(s.Parameters(), func(p *scheme.Param) bool { return p.Required }) {
				tr.seen.Transport = s
				d.paths.transport = &document.Node{Place: x.Place, Kind: document.Mapping}
				tr.setTransport(d.Configuration(&s.Scheme, d.paths.transport, nil))
				return true
			}
		}
	}
	if tt == nil {
		d.Missing(x.Node, "transport", traffic.What, d.entryKeys(), "transport: "+document.Choices(names),
			"the traffic has no transport")
		return false
	}
	where, inline := tt.Place, tt.Kind == document.Scalar
	tname, params := tt.Text, x.Node
	defer func() { d.paths.transport, d.paths.transportAt = params, where }()
	if !inline {
		if tname, params = d.Named(tt, "transport"); params == nil {
			return false
		}
	}
	for i := range d.registry.Transports {
		if d.registry.Transports[i].Name == tname {
			tr.seen.Transport = &d.registry.Transports[i]
		}
	}
	if tr.seen.Transport == nil {
		d.Unknown(where, "transport", tname, names)
		return false
	}
	if as := x.Get("as"); as != nil && as.Text == asPackets {
		if tr.seen.Transport = tr.seen.Transport.Captured; tr.seen.Transport == nil {
			d.Fail(where, "transport: udp, or as: flows", "transport %s has no way to carry a capture's packets", tname)
			return false
		}
	}
	if inline {
		tr.setTransport(d.Configuration(&tr.seen.Transport.Scheme, x.Node, traffic.Names()))
	} else {
		d.Keys(x.Node, traffic.What, traffic.Names())
		tr.setTransport(d.Configuration(&tr.seen.Transport.Scheme, params, nil))
	}
	if c, ok := tr.transportConfig.(transport.Warner); ok && d.OK() {
		d.paths.addRemarks(tr, "transport "+tr.seen.Transport.Name, where, params, c.Warns())
	}
	return true
}

// setTransport sets the configuration of the transport.
func (tr *Traffic) setTransport(c scheme.Config) {
	tr.transportConfig, tr.traits = c, transport.TraitsOf(c)
}

// readPackets reads what decides how packets look: type of service, version of IP, payload.
func (d *trafficDecoder) readPackets(x document.Map, tr *Traffic, mtu mtu) {
	if x.Get("tos") != nil {
		d.readTOS(x, tr)
	}
	if v := x.Default("ip"); d.Word(v, "IP version", traffic.Key("ip").Form.Words) == "6" {
		tr.seen.Version = 6
	}
	if v := x.Get("payload"); v != nil {
		tr.seen.Payload, tr.fixedPayload = d.readPayload(v, d.Text(v)), true
	} else {
		tr.seen.Payload = mtu.of(d.reader, tr.seen.Transport, tr.seen.Version, 0)
	}
}

// readStart reads when the traffic's flows start: a time, or a range that times are drawn from.
func (d *trafficDecoder) readStart(x document.Map, tr *Traffic, p *Point) {
	var start *document.Node
	switch {
	case x.Get("job") != nil, x.Get("collective") != nil:
		start = x.DefaultWhen("start", "job")
	case isDrawn(x):
		start = x.DefaultWhen("start", "drawn")
	default:
		start = d.defaultStart(x, tr, p)
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
	case tr.startHigh >= p.seen.End():
		d.Fail(start.Place, "a time before the end", "the traffic may start (%s) after the run has ended (%v)", start.Text,
			p.seen.End())
	}
	if tr.stop <= tr.startHigh && err == nil {
		d.Fail(x.Get("stop").Place, "a time after the start "+start.Text, "the traffic stops before it starts")
	}
}

// startsSoon is the source of the default start where a second is too long.
const startsSoon = "ours: spreads the phases of senders over a tenth of the time that they have"

// defaultStart is the start of flows that are listed. By default it is spread over a second, or, if run or traffic
// end by then, over a tenth of the time until that.
func (d *trafficDecoder) defaultStart(x document.Map, tr *Traffic, p *Point) *document.Node {
	if end := min(p.seen.End(), tr.stop); end > 0 && end <= unit.Second {
		return x.DefaultAs("start", "0s.."+(end/10).String(), startsSoon)
	}
	return x.Default("start")
}

// entryKeys are all keys that a traffic can have, its transport's parameters included.
func (d *trafficDecoder) entryKeys() []string {
	if d.keys == nil {
		d.keys = slices.Clip(d.listKeys())
	}
	return d.keys
}

// listKeys makes the list for entryKeys.
func (d *trafficDecoder) listKeys() []string {
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

// identifier reports whether expressions can use a name.
func identifier(s string) bool {
	for i, r := range s {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return s != ""
}

// readHosts reads a host, a list of hosts, or a pattern.
func (d *nodeNames) readHosts(x document.Map, key string, p *Point) []int {
	t := x.Get(key)
	if t == nil {
		x.Missing(key, "the traffic has no %q", key)
		return nil
	}
	return d.listHosts(t, p)
}

// listHosts are the hosts that a name, a group, a pattern, or a list of them means, each once.
func (d *nodeNames) listHosts(t *document.Node, p *Point) []int {
	return d.listEachHost(t, p, func(*document.Node, string) {})
}

// listEachHost is listHosts, and reports each item of the list that has no host but those before it.
func (d *nodeNames) listEachHost(t *document.Node, p *Point, again func(item *document.Node, name string)) []int {
	items := []*document.Node{t}
	if t.Kind == document.List {
		items = t.Items
	}
	n := p.seen.Network
	var out []int
	var known []string
	taken := map[int]bool{}
	for _, y := range items {
		before := d.Count()
		pattern := d.Text(y)
		found, grouped := d.groups[pattern]
		if !grouped {
			found = d.matchNodes(y.Place, pattern, false, n)
		}
		if d.Count() > before {
			continue
		}
		had := len(out)
		for _, i := range found {
			if !taken[i] {
				out = append(out, i)
			}
			taken[i] = true
		}
		if len(found) > 0 && len(out) == had {
			again(y, pattern)
		}
		if i, ok := d.directory.of(n).nodes[pattern]; ok && n.Nodes[i].Switch {
			d.Fail(y.Place, document.Near(pattern, d.directory.hosts), "%q is a switch; flows go from host to host", pattern)
		} else if len(found) == 0 && !grouped { // what is wrong with a group is said where it is given
			if known == nil { // once, because a list may have thousands of unknown hosts
				known = slices.Concat(slices.Sorted(maps.Keys(d.groups)), d.directory.hosts)
			}
			d.Unknown(y.Place, "host", pattern, known)
		}
	}
	return out
}

// readController decodes a traffic's congestion controller.
func (d *trafficDecoder) readController(x document.Map, tr *Traffic, p *Point) {
	v := x.Get("cc")
	if !tr.seen.Transport.Controlled {
		if v != nil {
			d.Fail(v.Place, "no cc", "transport %s has no congestion controller", tr.seen.Transport.Name)
		}
		return
	}
	if v != nil {
		tr.ccAt = v.Place
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
			tr.cc = s
		}
	}
	if tr.cc == nil {
		sort.Strings(names)
		at := x.Place
		if v != nil {
			at = v.Place
		}
		d.Unknown(at, "congestion controller", name, names)
		return
	}
	tr.ccConfig = d.Configuration(&tr.cc.Scheme, params, nil)
	d.checkPerPath(x, tr)
	d.paths.control = params
}

// checkPerPath refuses a controller that is not made for a flow of several paths.
func (d *trafficDecoder) checkPerPath(x document.Map, tr *Traffic) {
	if tr.traits.Paths <= 1 {
		return
	}
	at, what, allowed := x.Place, tr.cc.Name, ""
	if v := x.Get("cc"); v != nil {
		at = v.Place
	}
	traits := cc.TraitsOf(tr.ccConfig)
	switch {
	case traits.HasAgentPreset():
		what, allowed = "preset: agent of "+what, "another preset, or "
	case tr.cc.PerPath:
		return
	}
	var names []string
	for i := range d.registry.Controllers {
		if s := &d.registry.Controllers[i]; s.PerPath {
			names = append(names, s.Name)
		}
	}
	sort.Strings(names)
	if allowed == "" {
		allowed = document.Choices(names) + ", or "
	}
	d.Fail(at, allowed+"paths: 1", "paths: %d needs a controller a path, which %s is not made for", tr.traits.Paths,
		what)
}

const (
	// ofFlowInRun is what a run keeps of a flow at the least, in bytes: what it is, its outcome, and what tables have.
	ofFlowInRun = 500
	// someMachine is the memory of a machine of which it is not known.
	someMachine = 16e9
)
