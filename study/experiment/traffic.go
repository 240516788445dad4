package experiment

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/document"
	"weir/study/measure"
)

// trafficDecoder reads the traffic list. Jobs, flow files and captures have their own decoders.
type trafficDecoder struct {
	*reader
	nodes    *nodeNames
	paths    *pathChecker
	jobs     *jobDecoder
	files    *flowFileDecoder
	captures *captureDecoder
	keys     []string // all keys of a traffic; nil before the first call of entryKeys
}

// readList reads all traffic of a point. It also reads the groups of hosts. Errors in one traffic do not keep it from
// reading the others.
func (d *trafficDecoder) readList(root document.Map, p *Point) {
	d.nodes.readGroups(root, p)
	t := root.Get("traffic")
	if t.Kind != document.List || len(t.Items) == 0 {
		d.Fail(t.Position, "[{name: …, from: …, to: …, transport: …}]", "traffic is not a list with at least one entry")
		return
	}
	mtu := d.readMTU(root.GetDefault("mtu"))
	names := map[string]document.Position{}
	for _, x := range t.Items {
		if x.Kind != document.Mapping {
			d.Fail(x.Position, "{name: …, from: …, to: …, transport: …}", "the traffic is not a map")
			continue
		}
		id, first := len(p.entries), p.flows.count
		d.before = d.CountErrors()
		d.readEntry(d.ViewMap(x, traffic, d.entryKeys()...), p, mtu, names)
		if !d.entryOK() { // other traffics are read nevertheless
			continue
		}
		if d.OK() && id < len(p.entries) {
			mtu.reserveTelemetry(d.reader, p, id, first)
		}
		if !p.measured.NoPackets {
			d.paths.checkTraffic(p, id, first, p.flows.count)
		}
		if d.entryOK() {
			d.checkFlowCount(x.Position, p, 0)
		}
	}
}

// readEntry reads an entry of the list, and adds its flows or their generator to the point. names has the names of
// earlier traffics; it adds this one's. After an error the point may lack the traffic.
func (d *trafficDecoder) readEntry(x document.Map, p *Point, mtu mtu, names map[string]document.Position) {
	tr := Traffic{measured: measure.Traffic{Version: 4}, stop: unit.Never, place: x.Position, ccPlace: x.Position}
	if !d.readName(x, &tr, names) || !d.readTransport(x, &tr, p) {
		return
	}
	if x.Get("transport") != nil {
		d.readController(x, &tr, p)
	}
	d.readPackets(x, &tr, mtu)
	d.readNIC(x, &tr, p)
	if v := x.Get("stop"); v != nil {
		tr.stop = d.ReadPositiveTime(v)
	}
	if v := x.Get("hosts"); v != nil && x.Get("collective") == nil && x.Get("job") == nil &&
		(x.Get("file") == nil || !d.captures.isCapture(x)) {
		d.Fail(v.Position, "from and to, or job: {all_reduce: {…}}", "hosts is given without a job or a capture")
		return
	}
	switch {
	case x.Get("job") != nil, x.Get("collective") != nil: // reports errors for a file and its keys
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
		if size, ok = document.ReadValid(d.Reader, v, unit.ParseBytes); ok && size < 1 {
			d.Fail(v.Position, "at least 1 B", "%q is not a valid size", v.Text)
		}
	}
	flows := 1
	if x.Get("load") == nil || x.Get("flows") != nil {
		flows = d.ReadInteger(x.GetDefault("flows"), 1, 100000)
	}
	g := &Generator{Pattern: ToHosts, Size: size, Sets: d.readSets(x, p, &tr)}
	if x.Get("pairs") != nil {
		if pairs := d.readPairs(x, p); d.entryOK() {
			d.addFlows(x, p, tr, g, pairs, flows)
		}
		return
	}
	from, drawnFrom := d.readEndpoints(x, "from", p, g)
	to, drawnTo := d.readEndpoints(x, "to", p, g)
	if !d.entryOK() {
		return
	}
	g.From, g.To = from, to
	if drawnFrom || drawnTo || isDrawn(x) {
		if v := x.Get("ports"); v != nil {
			d.Fail(v.Position, "pairs or lists of hosts",
				"ports is given, but the flows are drawn at random; ports needs listed flows")
		}
		d.addGenerator(x, p, tr, g, flows)
		return
	}
	d.addFlows(x, p, tr, g, d.pairHosts(x, p, g), flows)
}

// readName reads the name of the traffic and adds its place to names. It reports an error for a name that is already in
// names or is not an identifier, and returns false only without a name.
func (d *trafficDecoder) readName(x document.Map, tr *Traffic, names map[string]document.Position) bool {
	name := x.Get("name")
	if name == nil {
		x.FailMissing("name", "the traffic needs the key name")
		return false
	}
	tr.measured.Name = d.ReadText(name)
	if first, twice := names[tr.measured.Name]; twice {
		d.Fail(name.Position, "a name of its own for each traffic", "the traffic %q is given twice, first in line %d",
			tr.measured.Name, first.Line)
	}
	if !isIdentifier(tr.measured.Name) {
		d.Fail(name.Position, "a letter, then letters, digits and _", "%q is not a valid name",
			tr.measured.Name)
	}
	names[tr.measured.Name] = name.Position
	return true
}

// readTransport reads the traffic's transport. Its parameters are under its name or next to it. It also adds the
// transport's own remarks, and stores the parameters in d.paths for later remarks. It returns false if the transport is
// missing or unknown, or cannot carry packets of a capture. A job on an ideal network may have no transport; it gets
// any without required parameters.
func (d *trafficDecoder) readTransport(x document.Map, tr *Traffic, p *Point) bool {
	tt := x.Get("transport")
	var names []string
	for _, s := range d.registry.Transports {
		names = append(names, s.Name)
	}
	sort.Strings(names)
	if tt == nil && p.measured.NoPackets && x.Get("job") != nil { // any transport will do, since it is not used
		for i := range d.registry.Transports {
			s := &d.registry.Transports[i]
			if !slices.ContainsFunc(s.Parameters(), func(p *scheme.Param) bool { return p.Required }) {
				tr.measured.Transport = s
				d.paths.transport = &document.Node{Position: x.Position, Kind: document.Mapping}
				tr.setTransport(d.DecodeConfig(&s.Scheme, d.paths.transport, nil))
				return true
			}
		}
	}
	if tt == nil {
		d.FailMissing(x.Node, "transport", traffic.KeyNoun, d.entryKeys(), "transport, one of "+document.JoinChoices(names),
			"the traffic needs the key transport")
		return false
	}
	where, inline := tt.Position, tt.Kind == document.Scalar
	tname, params := tt.Text, x.Node
	defer func() { d.paths.transport, d.paths.transportAt = params, where }()
	if !inline {
		if tname, params = d.SplitNamed(tt, "transport"); params == nil {
			return false
		}
	}
	for i := range d.registry.Transports {
		if d.registry.Transports[i].Name == tname {
			tr.measured.Transport = &d.registry.Transports[i]
		}
	}
	if tr.measured.Transport == nil {
		d.FailUnknown(where, "transport", tname, names)
		return false
	}
	if as := x.Get("as"); as != nil && as.Text == asPackets {
		if tr.measured.Transport = tr.measured.Transport.Captured; tr.measured.Transport == nil {
			d.Fail(where, "transport: udp or as: flows", "transport %s cannot carry packets of a capture", tname)
			return false
		}
	}
	if inline {
		tr.setTransport(d.DecodeConfig(&tr.measured.Transport.Scheme, x.Node, traffic.KeyNames()))
	} else {
		d.CheckKeys(x.Node, traffic.KeyNoun, traffic.KeyNames())
		tr.setTransport(d.DecodeConfig(&tr.measured.Transport.Scheme, params, nil))
	}
	if c, ok := tr.transportConfig.(transport.WarningSource); ok && d.OK() {
		d.paths.addRemarks(tr, "transport "+tr.measured.Transport.Name, where, params, c.Warns())
	}
	return true
}

// setTransport sets the configuration of the transport. It also sets the traits, which depend on it.
func (tr *Traffic) setTransport(c scheme.Config) {
	tr.transportConfig, tr.traits = c, transport.TraitsOf(c)
}

// readPackets reads the keys about packets: type of service, version of IP, payload. Without the key payload the MTU
// determines the payload.
func (d *trafficDecoder) readPackets(x document.Map, tr *Traffic, mtu mtu) {
	if x.Get("tos") != nil {
		d.readTOS(x, tr)
	}
	if v := x.GetDefault("ip"); d.ReadWord(v, "IP version", traffic.FindKey("ip").Form.Words) == "6" {
		tr.measured.Version = 6
	}
	if v := x.Get("payload"); v != nil {
		tr.measured.Payload, tr.fixedPayload = d.readPayload(v, d.ReadText(v)), true
	} else {
		tr.measured.Payload = mtu.payloadFor(d.reader, tr.measured.Transport, tr.measured.Version, 0)
	}
}

// readStart reads the start of the traffic's flows: a time, or a range from which times are drawn. The start must be
// before the end of the run and before tr.stop, which must be set; otherwise it reports an error.
func (d *trafficDecoder) readStart(x document.Map, tr *Traffic, p *Point) {
	var start *document.Node
	switch {
	case x.Get("job") != nil, x.Get("collective") != nil:
		start = x.GetDefaultWhen("start", "job")
	case isDrawn(x):
		start = x.GetDefaultWhen("start", "drawn")
	default:
		start = d.defaultStart(x, tr, p)
	}
	low, high, ranged := strings.Cut(d.ReadText(start), "..")
	var err error
	if tr.startLow, err = unit.ParseTime(low); err == nil && ranged {
		tr.startHigh, err = unit.ParseTime(high)
	}
	if !ranged {
		tr.startHigh = tr.startLow
	}
	switch {
	case err != nil:
		d.Fail(start.Position, "a time such as 0.5s or a range such as 0s..1s", "%v", err)
	case tr.startHigh < tr.startLow:
		d.Fail(start.Position, "a time such as 0.5s or a range such as 0s..1s", "the range %q ends before it begins",
			start.Text)
	case tr.startHigh >= p.measured.End():
		d.Fail(start.Position, "a time before the end of the run",
			"the traffic may start (%s) after the end of the run (%v)", start.Text,
			p.measured.End())
	}
	if tr.stop <= tr.startHigh && err == nil {
		d.Fail(x.Get("stop").Position, "a time after the start "+start.Text, "the traffic stops before it starts")
	}
}

// startsSoon is the source of the default start of short runs.
const startsSoon = "Weir: spreads the phases of senders over a tenth of the time that they have"

// defaultStart returns the start of listed flows. By default it is spread over a second. If the run or the traffic
// ends by then, it is spread over a tenth of the time until that.
func (d *trafficDecoder) defaultStart(x document.Map, tr *Traffic, p *Point) *document.Node {
	if end := min(p.measured.End(), tr.stop); end > 0 && end <= unit.Second {
		return x.GetDefaultAs("start", "0s.."+(end/10).String(), startsSoon)
	}
	return x.GetDefault("start")
}

// entryKeys returns all keys that a traffic can have, including transports' parameters.
func (d *trafficDecoder) entryKeys() []string {
	if d.keys == nil {
		d.keys = slices.Clip(d.listKeys())
	}
	return d.keys
}

// listKeys computes the result of entryKeys. Callers use entryKeys, which keeps the result.
func (d *trafficDecoder) listKeys() []string {
	words := traffic.KeyNames()
	for i := range d.registry.Transports {
		for _, p := range d.registry.Transports[i].Parameters() {
			if !slices.Contains(words, p.Name) {
				words = append(words, p.Name)
			}
		}
	}
	return words
}

// isIdentifier reports whether expressions can use a name: a letter or _, then letters, digits and _.
func isIdentifier(s string) bool {
	for i, r := range s {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return s != ""
}

// readController reads a traffic's congestion controller, checks that it supports several paths, and stores its
// parameters in d.paths for later remarks. It sets no controller for transports without one, and reports an error if
// the file names one there.
func (d *trafficDecoder) readController(x document.Map, tr *Traffic, p *Point) {
	v := x.Get("cc")
	if !tr.measured.Transport.Controlled {
		if v != nil {
			var controlled []string
			for i := range d.registry.Transports {
				if d.registry.Transports[i].Controlled {
					controlled = append(controlled, d.registry.Transports[i].Name)
				}
			}
			slices.Sort(controlled)
			d.Fail(v.Position, "remove cc, or use a transport that has one: "+document.JoinChoices(controlled),
				"transport %s has no congestion controller", tr.measured.Transport.Name)
		}
		return
	}
	if v != nil {
		tr.ccPlace = v.Position
	}
	name, params := d.SplitNamed(x.GetDefault("cc"), "congestion controller")
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
		place := x.Position
		if v != nil {
			place = v.Position
		}
		d.FailUnknown(place, "congestion controller", name, names)
		return
	}
	tr.ccConfig = d.DecodeConfig(&tr.cc.Scheme, params, nil)
	d.checkPerPath(x, tr)
	d.paths.control = params
}

// checkPerPath reports an error if a flow has several paths and the controller does not support that. It does not with
// a single path. The controller must be set.
func (d *trafficDecoder) checkPerPath(x document.Map, tr *Traffic) {
	if tr.traits.Paths <= 1 {
		return
	}
	place, what, allowed := x.Position, tr.cc.Name, ""
	if v := x.Get("cc"); v != nil {
		place = v.Position
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
		allowed = document.JoinChoices(names) + ", or "
	}
	d.Fail(place, allowed+"paths: 1", "paths: %d needs one controller for each path, which %s does not support",
		tr.traits.Paths,
		what)
}

// nicChoices returns the words for a host's choice among its NICs.
func nicChoices() (words []string) {
	for _, c := range topology.Choices() {
		words = append(words, string(c))
	}
	return words
}

// nicChoice is how a host chooses the NIC for the flows of a traffic.
type nicChoice struct {
	choice topology.NICChoice
	port   int               // −1: no NIC is named
	place  document.Position // place in the file
}

// NoNIC is the error of a traffic that cannot have the NICs that it, or its job, requests.
type NoNIC struct {
	Traffic int    // index for Point.Entry
	Param   string // parameter of its job that requests them; "": the key nic does
	Allowed string
	Why     error
}

// Error returns the reason as text.
func (e *NoNIC) Error() string { return e.Why.Error() }

// Unwrap returns the reason.
func (e *NoNIC) Unwrap() error { return e.Why }

// errorPlace returns the place in the file that requests the NICs: the job's parameter, or else the key nic or the
// traffic.
func (e *NoNIC) errorPlace(p *Point) document.Position {
	tr := &p.entries[e.Traffic]
	if v := tr.jobNode.Find(e.Param); v != nil {
		return v.Position
	}
	return tr.nic.place
}

// readNIC reads how a host chooses the NIC for the traffic's flows. The default is a hash. It reports an error if no
// host of the network has several NICs.
func (d *trafficDecoder) readNIC(x document.Map, tr *Traffic, p *Point) {
	tr.nic = nicChoice{topology.Hashed, -1, x.Position}
	v := x.Get("nic")
	if v == nil {
		return
	}
	tr.nic.place = v.Position
	if _, err := strconv.Atoi(v.Text); err == nil && v.Kind == document.Scalar {
		tr.nic.port = d.ReadInteger(v, 0, 255)
	} else {
		tr.nic.choice = topology.NICChoice(d.ReadWord(v, "value of nic", nicChoices()))
	}
	if n := p.measured.Network; n != nil && !n.NICs().HasSeveral() {
		d.Fail(v.Position, "no nic or hosts with several links", "no host of this network has more than one NIC")
	}
	if tr.nic.choice != "" && !slices.Contains(nicChoices(), string(tr.nic.choice)) {
		tr.nic.choice = topology.Hashed // an error was reported
	}
}

// mtu is the largest packet: in bytes of IP, or in payload.
type mtu struct {
	document.Position
	text    string
	bytes   int32
	payload bool
	path    bool // the payload is a path MTU of InfiniBand, for RDMA's packets
}

// pathMTUs lists the path MTUs of InfiniBand and RoCE: payloads of a full packet of a queue pair (rdma-core: enum
// ibv_mtu). An RNIC takes the largest that the interface's MTU holds with headers: 1024 for 1500, 4096 for 4200.
var pathMTUs = []int32{256, 512, 1024, 2048, 4096}

// readMTU reads the largest packet. It is at least 68 B of IP, or 1 B of payload. After an error it returns a usual
// one.
func (d *trafficDecoder) readMTU(t *document.Node) mtu {
	m := mtu{Position: t.Position, text: t.Text}
	size, payload := strings.CutSuffix(d.ReadText(t), " payload")
	m.payload = payload
	if payload {
		m.bytes = d.readPayload(t, size)
		return m
	}
	size, m.path = strings.CutSuffix(size, " pmtu")
	b, err := unit.ParseBytes(size)
	if m.path {
		if m.payload, m.bytes = true, int32(b); err != nil || b > 65535 || !slices.Contains(pathMTUs, m.bytes) {
			d.Fail(t.Position, "256, 512, 1024, 2048 or 4096 B pmtu", "%q is not a valid RDMA path MTU", t.Text)
			m.bytes = 1024
		}
		return m
	}
	if err != nil || b < 68 || b > 65535 {
		if t.Kind == document.Scalar {
			d.Fail(t.Position, "68 B … 65535 B, a payload such as 1448 B payload or an RDMA path MTU such as 1024 B pmtu",
				"%q is not a valid MTU", t.Text)
		}
		b = 1500
	}
	m.bytes = int32(b)
	return m
}

// payloadFor returns the largest payload of a transport's packets in bytes. inBand is the size of their telemetry in
// bytes. If the MTU is a payload, this is the result. It reports an error if the MTU is too small, and then returns 1,
// or if a path MTU is given for another transport than RDMA.
func (m mtu) payloadFor(d *reader, s *transport.Scheme, version uint8, inBand int32) int32 {
	if m.path && s.Proto != packet.ProtoRDMA {
		d.Fail(m.Position, "bytes of IP such as 1500 B, a payload such as 1448 B payload, or the key payload of this traffic",
			"%s is an RDMA path MTU, which transport %s does not support", m.text, s.Name)
	}
	if m.payload {
		return m.bytes
	}
	headers := packet.IPv4Header + s.Headers + s.First + inBand
	if version == 6 {
		headers += packet.IPv6Header - packet.IPv4Header
	}
	multiple := max(s.Multiple, 1)
	with := ""
	if inBand > 0 {
		with = fmt.Sprintf(", and %d B of telemetry", inBand)
	}
	if m.bytes < headers+multiple {
		d.Fail(m.Position, fmt.Sprintf("at least %d B", headers+multiple),
			"an MTU of %s has no room for payload after the headers of %s over IPv%d%s", m.text, s.Name, version, with)
		return 1
	}
	return (m.bytes - headers) / multiple * multiple
}

// reserveTelemetry reduces the payload of a traffic by the telemetry that its path adds, if an MTU in bytes determines
// it. first is the first of the traffic's flows in the point. It has no effect if the file sets the payload. id is the
// index of the traffic, which must be the point's last.
func (m mtu) reserveTelemetry(d *reader, p *Point, id, first int) {
	tr := &p.entries[id]
	if m.payload || tr.fixedPayload {
		return
	}
	if n := p.telemetryBytes(tr, first); n > 0 {
		tr.measured.Payload = m.payloadFor(d, tr.measured.Transport, tr.measured.Version, n)
	}
}

// telemetryBytes returns the largest size of telemetry, or of requests to switches, in a data packet of a traffic, over
// the longest of its flows' shortest paths. first is the first of the traffic's flows in the point. It returns 0 if
// packets with payload carry no telemetry, or if the framing fixes the size of packets.
func (p *Point) telemetryBytes(tr *Traffic, first int) int32 {
	if tr.traits.Telemetry == nil || tr.cc == nil || p.measured.Framing.IsFixed() {
		return 0
	}
	if tr.traits.CarriesRequests && tr.cc.Requests {
		return packet.BoltBytes
	}
	if p.telemetry == nil {
		return 0
	}
	hops := 0
	p.eachPair(tr, first, p.flows.count, func(src, dst int) {
		near, _ := p.measured.Routes.NearestPair(src, dst)
		hops = max(hops, p.measured.Routes.CountHops(near.From, near.To)-1)
	})
	var others int32
	if tr.cc.Receiver != nil {
		others = transport.AdoptedBytes
	}
	switch when := tr.traits.Telemetry.When; {
	case when == transport.AskNever, when == transport.AskProbe: // probes have no payload
		return 0
	case tr.cc.Telemetry == telemetry.PathLoad:
		return telemetry.LoadBytes(others)
	case tr.cc.Telemetry == telemetry.NoRequest:
		return 0
	case when == transport.AskCongestion && p.telemetry.Profile.Name != "relative":
		return p.telemetry.BytesWith(hops, telemetry.AskBytes+others)
	}
	return p.telemetry.BytesWith(hops, others)
}

// pairHosts returns all pairs of a source and another destination of the generator. A host is not paired with itself;
// if only this pair is possible, it reports an error.
func (d *trafficDecoder) pairHosts(x document.Map, p *Point, g *Generator) (pairs [][2]int) {
	for _, a := range g.From {
		for _, b := range g.To {
			if a == b {
				if len(g.From) == 1 && len(g.To) == 1 {
					d.Fail(x.Get("to").Position, "another host", "the traffic goes from %q to itself",
						p.measured.Network.Nodes[a].Name)
				}
				continue
			}
			pairs = append(pairs, [2]int{a, b})
		}
	}
	return pairs
}

// readPairs reads pairs of senders and receivers: [[h0, h5], [h1, h4]]. Other keys that define senders and receivers
// are errors. After an error some pairs may be missing or wrong.
func (d *trafficDecoder) readPairs(x document.Map, p *Point) (pairs [][2]int) {
	t := x.Get("pairs")
	for _, key := range []string{"from", "to", "load", "sizes"} {
		if v := x.Get(key); v != nil {
			d.Fail(v.Position, "remove "+key+", or remove pairs",
				"%s is given together with pairs, which already determine senders and receivers", key)
		}
	}
	if t.Kind != document.List || len(t.Items) == 0 {
		d.Fail(t.Position, "[[h0, h5], [h1, h4]]", "pairs is not a list of pairs of hosts")
		return nil
	}
	n := p.measured.Network
	for _, item := range t.Items {
		if item.Kind != document.List || len(item.Items) != 2 {
			d.Fail(item.Position, "[h0, h5]", "the pair is not a list of a sender and a receiver")
			continue
		}
		var pair [2]int
		for e, y := range item.Items {
			i, ok := d.nodes.directory.indexNetwork(n).nodes[d.ReadText(y)]
			switch {
			case !ok:
				d.FailUnknown(y.Position, "host", y.Text, d.nodes.directory.hosts)
			case n.Nodes[i].Switch:
				d.Fail(y.Position, document.JoinNear(y.Text, d.nodes.directory.hosts), "%q is a switch; flows go from host to host",
					y.Text)
			}
			pair[e] = i
		}
		if pair[0] == pair[1] && d.entryOK() {
			d.Fail(item.Position, "another host", "the traffic goes from %q to itself", n.Nodes[pair[0]].Name)
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

// addFlows adds a traffic and the flows of pairs of hosts to the point: the given number of flows for each pair and
// set. It stops after an error: a pair without a path, too many flows for the memory, or a port above 65535.
func (d *trafficDecoder) addFlows(x document.Map, p *Point, tr Traffic, g *Generator, pairs [][2]int, flows int) {
	id := len(p.entries)
	p.entries = append(p.entries, tr)
	number := d.readPorts(x, p)
	pairsNode := x.Get("to")
	if pairsNode == nil {
		pairsNode = x.Get("pairs")
	}
	index := 0
	for _, pair := range pairs {
		a, b := pair[0], pair[1]
		if !d.nodes.checkPath(pairsNode.Position, p, a, b) || !d.checkFlowCount(x.Position, p,
			float64(flows)*float64(len(g.Sets))) {
			return
		}
		p.flows.reserveFlows(flows * len(g.Sets))
		for _, later := range g.Sets {
			for range flows {
				f := Flow{Traffic: id, Index: index, Src: a, Dst: b, Size: g.Size, SetStart: later}
				if number != nil && !number.assignPorts(&f) {
					d.Fail(x.Get("ports").Position, "1 … 65535", "flow %d of the traffic would have a port above 65535", index)
					return
				}
				p.flows.addFlow(f)
				index++
			}
		}
	}
}

// portNumbering assigns ports to flows.
type portNumbering struct {
	first [2]int   // first port of a sender, and of a receiver
	flows [2][]int // by host: number of flows so far that it sends, and receives
}

// readPorts reads a traffic's ports; nil without ports, and after an error. The numbers of flows by host are shared by
// all traffics of the point.
func (d *trafficDecoder) readPorts(x document.Map, p *Point) *portNumbering {
	t := x.Get("ports")
	if t == nil {
		return nil
	}
	m, ok := d.ReadMap(t, ports)
	if !ok {
		return nil
	}
	if p.numbered[0] == nil {
		for e := range p.numbered {
			p.numbered[e] = make([]int, len(p.measured.Network.Nodes))
		}
	}
	n := &portNumbering{flows: p.numbered}
	for e, key := range []string{"from", "to"} {
		if v := m.Get(key); v != nil {
			n.first[e] = d.ReadInteger(v, 1, 65535)
		} else {
			m.FailMissing(key, "ports lacks the first port of the %s", map[string]string{"from": "senders",
				"to": "receivers"}[key])
			return nil
		}
	}
	return n
}

// assignPorts gives a flow the next ports of its hosts; false if they exceed 65535. It counts the flow, also in the
// second case.
func (n *portNumbering) assignPorts(f *Flow) bool {
	for e, host := range [2]int{f.Src, f.Dst} {
		f.ports[e] = n.first[e] + n.flows[e][host]
		n.flows[e][host]++
	}
	return slices.Max(f.ports[:]) <= 65535
}

// Ports returns the ports of a flow; false if the file does not number them.
func (f *Flow) Ports() (src, dst int, ok bool) { return f.ports[0], f.ports[1], f.ports[0] > 0 }
