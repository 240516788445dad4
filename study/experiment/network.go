package experiment

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/switchfile"
)

// networkDecoder reads the topology and the addresses of its hosts.
type networkDecoder struct {
	*reader
	routed   routedNetworks
	bufferAt []document.Position // by link of the point's network: the place of its buffer in the file
	limits   []queueLimit        // limits of the current point's queues
}

// queueLimit is the limit of a queue in bytes, with its place in the file.
type queueLimit struct {
	document.Position
	bytes unit.Bytes
}

// readTopology reads the topology: a file, a family with parameters, or lists of nodes and links. After an error the
// point may have no network.
func (d *networkDecoder) readTopology(root document.Map, p *Point) {
	t := root.Get("topology")
	if network.ViewMap(t).Get("file") != nil {
		d.readFile(t, p)
		return
	}
	var families []string
	for i := range d.registry.Topologies {
		s := &d.registry.Topologies[i]
		if t.Find(s.Name) != nil {
			d.readFamily(t, s, p)
			return
		}
		families = append(families, s.Name)
	}
	before := d.CountErrors()
	x, ok := d.ReadMap(t, network, families...)
	if ok {
		d.checkNoFile(x, network)
	}
	if !ok || d.CountErrors() > before { // a mistake in a key causes other errors
		return
	}
	if x.Get("hosts") == nil {
		d.Fail(t.Position, "hosts: [a, b]", "the topology needs the key hosts")
	}
	n := listingOf(&topology.Network{})
	d.readNodes(x, n)
	d.readLinks(t, x, n)
	p.measured.Network = n.Network
}

// readLinks reads a topology's list of links. It appends them to the network. A missing or empty list is an error.
func (d *networkDecoder) readLinks(t *document.Node, x document.Map, n *listedNetwork) {
	links := x.Get("links")
	if links == nil || links.Kind != document.List || len(links.Items) == 0 {
		d.Fail(t.Position, "links: [{ends: [a, b], rate: 100Mbps, delay: 5ms}]",
			"the topology needs the key links with a list of links")
		return
	}
	for _, item := range links.Items {
		if x, ok := d.ReadMap(item, link); ok {
			d.readLink(x, n)
		}
	}
}

// listedNetwork is a network while its nodes and links are read from a file.
type listedNetwork struct {
	*topology.Network
	index  map[string]int // node by name
	names  []string
	joined map[[2]int]bool // pairs of nodes with a link, the lower node first
}

// listingOf returns a listed network that starts with an existing one. Nodes and links that are added to it are added
// to this one.
func listingOf(network *topology.Network) *listedNetwork {
	n := &listedNetwork{Network: network, index: map[string]int{}, joined: map[[2]int]bool{}}
	for i, x := range network.Nodes {
		n.index[x.Name] = i
		n.names = append(n.names, x.Name)
	}
	for _, l := range network.Links {
		n.joined[[2]int{min(l.Ends[0], l.Ends[1]), max(l.Ends[0], l.Ends[1])}] = true
	}
	return n
}

// readNodes reads the lists of hosts and switches of a topology. It appends them to the network, and reports an error
// for names that are in use or not valid.
func (d *networkDecoder) readNodes(x document.Map, n *listedNetwork) {
	places := map[string]document.Position{}
	for _, kind := range []string{"hosts", "switches"} {
		l := x.Get(kind)
		if l == nil {
			continue
		}
		if l.Kind != document.List {
			d.Fail(l.Position, "a list of names", "%s is %v", kind, l.Kind)
			continue
		}
		for _, x := range l.Items {
			name := d.ReadText(x)
			if _, twice := n.index[name]; twice {
				d.failSecondName(x.Position, name, places)
				continue
			}
			if name == "" || strings.ContainsAny(name, " >*$,") || name == ToRandom {
				d.Fail(x.Position, "letters, digits, - and _", "%q is not a valid name", name)
				continue
			}
			places[name] = x.Position
			n.index[name] = len(n.Nodes)
			n.names = append(n.names, name)
			n.Nodes = append(n.Nodes, topology.Node{Name: name, Switch: kind == "switches"})
		}
	}
}

// failSecondName reports that a node has the name of another one: of one in the file, with its place in places, or of
// one of the topology.
func (d *networkDecoder) failSecondName(place document.Position, name string, places map[string]document.Position) {
	if first, ok := places[name]; ok {
		d.Fail(place, "each host and switch once", "the node %q is given twice, first in line %d", name, first.Line)
		return
	}
	d.Fail(place, "a name that the topology does not have", "the topology has a node with the name %q", name)
}

// readNodePair reads the two nodes that a link joins, and marks them as linked; false after an error. It reports an
// error for unknown or equal nodes, and for a pair that is already linked.
func (d *networkDecoder) readNodePair(x document.Map, n *listedNetwork) (l topology.Link, ok bool) {
	ok = true
	ends := x.Get("ends")
	if ends == nil || ends.Kind != document.List || len(ends.Items) != 2 {
		if place := x.Position; ends != nil {
			d.Fail(ends.Position, "ends: [a, b]", "ends does not list two nodes")
		} else {
			x.FailMissing("ends", "the link in line %d, column %d needs the key ends", place.Line, place.Column)
		}
		return l, false
	}
	for e, y := range ends.Items {
		node, found := n.index[d.ReadText(y)]
		if !found {
			d.FailUnknown(y.Position, "node", y.Text, n.names)
			ok = false
		}
		l.Ends[e] = node
	}
	if !ok {
		return l, false
	}
	if l.Ends[0] == l.Ends[1] {
		d.Fail(ends.Items[1].Position, "the names of two different nodes", "the link joins %q to itself", ends.Items[1].Text)
		return l, false
	}
	pair := [2]int{min(l.Ends[0], l.Ends[1]), max(l.Ends[0], l.Ends[1])}
	if n.joined[pair] {
		d.Fail(ends.Position, "bundle: 2 in the first link", "%s and %s are already linked", ends.Items[0].Text,
			ends.Items[1].Text)
		return l, false
	}
	n.joined[pair] = true
	return l, true
}

// readLink reads a link and adds it to the network, with its place to d.bufferAt, as often as its bundle has links.
// After an error in its ends it adds no link.
func (d *networkDecoder) readLink(x document.Map, n *listedNetwork) {
	l, ok := d.readNodePair(x, n)
	if !ok {
		return
	}
	if r := x.Get("rate"); r == nil {
		x.FailMissing("rate", "the link needs the key rate")
	} else if d.checkPlain(r, "one rate for both directions; for one direction use an event such as {at: 0s, link: [a, "+
		"b], from: a, rate: 10Mbps}") {
		l.Rate = document.ReadValue(d.Reader, r, unit.ParseLinkRate)
	}
	if r := x.Get("delay"); r == nil {
		x.FailMissing("delay", "the link needs the key delay")
	} else if d.checkPlain(r, "one delay for both directions, such as 1ms") {
		l.Delay = document.ReadValue(d.Reader, r, unit.ParseTime)
	}
	var bufferAt document.Position
	if b := x.Get("buffer"); b != nil {
		l.Buffer, bufferAt = switchfile.ReadBuffer(d.Reader, b), b.Position
	}
	l.Loss = d.readLoss(x.GetDefault("loss"))
	l.Jitter = document.ReadValue(d.Reader, x.GetDefault("jitter"), unit.ParseTime)
	l.Spaced = d.ReadWord(x.GetDefault("spaced"), "value of spaced", link.FindKey("spaced").Form.Words) == "true"
	bundle := 1
	if b := x.Get("bundle"); b != nil {
		bundle = d.ReadInteger(b, 1, 1024)
	}
	for i := range bundle {
		l.Nth = uint16(i)
		n.Links, d.bufferAt = append(n.Links, l), append(d.bufferAt, bufferAt)
	}
}

// extras returns the keys next to a family: hosts, switches and links that are added to its network.
func extras() *document.Table { return network.SelectKeys("hosts", "switches", "links") }

// readFamily reads a network that is defined by its family and parameters, and by additions next to it. It sets
// d.bufferAt. After an error in the family the point has no network, and after one in the additions an incomplete one.
func (d *networkDecoder) readFamily(t *document.Node, s *topology.Scheme, p *Point) {
	added := false
	for _, k := range t.Keys {
		if slices.Contains(extras().KeyNames(), k.Name) {
			added = true
		} else if k.Name != s.Name {
			d.Fail(k.Position, s.Name+" on its own, or with hosts, switches and links to add to it",
				"%q is given together with %s, which generates the network", k.Name, s.Name)
		}
	}
	params := t.Find(s.Name)
	if params.Kind != document.Mapping {
		d.Fail(params.Position, s.Name+": {parameter: value}", "%s is not a map of parameters but %v", s.Name, params.Kind)
		return
	}
	c := d.DecodeConfig(&s.Scheme, params, nil)
	if !d.OK() {
		return
	}
	n, err := s.Build(c)
	if err == nil {
		err = n.Validate()
	}
	if err != nil {
		d.Fail(params.Position, "", "%s: %v", s.Name, err)
		return
	}
	var place document.Position
	for _, x := range s.Parameters() { // the links of hosts are first, among links and among parameters
		if b := params.Find(x.Name); x.Kind == scheme.Length && b != nil && n.Links[0].Buffer.Bytes > 0 {
			place = b.Position
			break
		}
	}
	d.bufferAt = make([]document.Position, len(n.Links))
	for i := range d.bufferAt {
		d.bufferAt[i] = place
	}
	if added {
		d.addToFamily(t, s, n)
	}
	p.measured.Network = n
}

// addToFamily adds the hosts, switches and links next to a family to its network n. The key links is required. After an
// error n may have only some of them.
func (d *networkDecoder) addToFamily(t *document.Node, s *topology.Scheme, n *topology.Network) {
	x, ok := d.ReadMap(t, extras(), s.Name)
	if !ok {
		return
	}
	l := listingOf(n)
	d.readNodes(x, l)
	d.readLinks(t, x, l)
	if !d.OK() {
		return
	}
	if err := n.Validate(); err != nil {
		d.Fail(x.Get("links").Position, "", "%v", err)
	}
}

// checkBuffers reports an error for buffers and queues, limited in bytes, that do not hold the largest frame of every
// traffic: they would drop all such frames. It has no effect after other errors.
func (d *networkDecoder) checkBuffers(p *Point) {
	if !d.OK() {
		return
	}
	largest, name := unit.Bytes(0), ""
	for i := range p.entries {
		tr := &p.entries[i]
		if frame := unit.Bytes(p.measured.Framing.FrameBytes(tr.measured.MaxHeaders(), tr.measured.Payload,
			true)); frame > largest {
			largest, name = frame, tr.measured.Name
		}
	}
	check := func(place document.Position, b unit.Bytes) {
		if b > 0 && b < largest && place.Line > 0 {
			d.Fail(place, fmt.Sprintf("at least %v or a number of packets", largest),
				"a buffer of %v is smaller than a packet of traffic %s", b, name)
		}
	}
	for i, l := range p.measured.Network.Links {
		if i < len(d.bufferAt) {
			check(d.bufferAt[i], l.Buffer.Bytes)
		}
	}
	for _, l := range d.limits {
		check(l.Position, l.bytes)
	}
}

// readLoss reads the share of packets that a link loses, at least 0 and below 1; 0 after an error.
func (d *networkDecoder) readLoss(t *document.Node) float64 {
	if !d.checkPlain(t, "one share of independent losses for both directions, such as 0.1%") {
		return 0
	}
	v := document.ReadValue(d.Reader, t, unit.ParseShare)
	if !(v >= 0 && v < 1) {
		const allowed = "at least 0% and below 100%"
		if percent, example := scheme.ExplainShare(t.Text, v); percent != "" {
			d.Fail(t.Position, allowed+", such as "+example, "a loss of %s is %s", t.Text, percent)
		} else {
			d.Fail(t.Position, allowed, "%q is not a valid loss", t.Text)
		}
		return 0
	}
	return v
}

// readFile reads a topology from a file of its own. After an error the point has no network.
func (d *networkDecoder) readFile(t *document.Node, p *Point) {
	table := network.SelectKeys(append(network.KeyNames(readsFile), "file")...)
	x, _ := d.ReadMap(t, table)
	file := x.Get("file")
	i := d.readFormat(x, table, table.KeyNames(), d.registry.networkFormats(), "topology")
	if x.Get("format") == nil {
		return
	}
	data, name := d.openText(file)
	if i < 0 || !d.OK() {
		return
	}
	format := &d.registry.Networks[i]
	n, err := format.Read(bytes.NewReader(data), name)
	if d.ignoresRest(x, network, format.Name, format.Announces, err) {
		err = nil
	}
	if err == nil {
		err = n.Validate()
	}
	if err != nil {
		ReportForeignError(d.Reader, file, err)
		return
	}
	d.bufferAt = make([]document.Position, len(n.Links))
	p.measured.Network = n
}

// routedNetwork is a network with what is computed once for all points that have it.
type routedNetwork struct {
	network   *topology.Network
	addresses string // the file's key addresses, as text
	book      *packet.Book
	routes    *topology.Routes
	tree      *topology.Tree // nil: flat addresses
	prefixes  topology.Prefixes
}

// routedNetworks has the different networks of the points so far. They are found by hashes, since comparing all pairs
// would take time in the square of the sweep's length.
type routedNetworks struct {
	seed        maphash.Seed
	same, alike map[uint64][]*routedNetwork // by hash of the whole network, and by hash of its nodes and ends of links
}

// newRoutedNetworks returns an empty set with a random seed.
func newRoutedNetworks() routedNetworks {
	return routedNetworks{seed: maphash.MakeSeed(), same: map[uint64][]*routedNetwork{},
		alike: map[uint64][]*routedNetwork{}}
}

// hash returns two hashes of a network with its addresses: whole includes everything, shape only nodes and ends of
// links.
func (r *routedNetworks) hash(n *topology.Network, addresses string) (whole, shape uint64) {
	var all, form maphash.Hash
	all.SetSeed(r.seed)
	form.SetSeed(r.seed)
	form.WriteString(addresses)
	for i := range n.Nodes {
		maphash.WriteComparable(&form, n.Nodes[i])
	}
	for i := range n.Links {
		maphash.WriteComparable(&form, n.Links[i].Ends)
		maphash.WriteComparable(&all, n.Links[i])
	}
	maphash.WriteComparable(&all, form.Sum64())
	return all.Sum64(), form.Sum64()
}

// assignRoutes sets the addresses and routes of a point's network. Points with the same network share them, and the
// network itself; points with the same nodes and ends of links share addresses and routes. It adds the memory of new
// ones to the point. A network with too many routes is an error, after which the point has no routes.
func (d *networkDecoder) assignRoutes(root document.Map, p *Point) {
	var r routedNetwork
	t := root.GetDefault("addresses")
	var b strings.Builder
	t.WriteYAML(&b, 0)
	whole, shape := d.routed.hash(p.measured.Network, b.String())
	for _, old := range d.routed.alike[shape] {
		if old.addresses == b.String() && slices.Equal(old.network.Nodes, p.measured.Network.Nodes) &&
			slices.EqualFunc(old.network.Links, p.measured.Network.Links, sameEnds) {
			// addresses and routes do not depend on rates and delays
			p.measured.Network.Nodes = old.network.Nodes
			r.book, r.routes, r.tree, r.prefixes = old.book, old.routes, old.tree, old.prefixes
			break
		}
	}
	for _, old := range d.routed.same[whole] {
		if old.addresses == b.String() && slices.Equal(old.network.Nodes, p.measured.Network.Nodes) &&
			slices.Equal(old.network.Links, p.measured.Network.Links) {
			r = *old
			break
		}
	}
	fresh := r.routes == nil
	if fresh {
		routes, switches, classes := tableSize(p.measured.Network)
		if routes > maxRoutes {
			d.Fail(root.Get("topology").Position,
				fmt.Sprintf("up to %d for the number of switches with hosts × the number of switches", maxRoutes),
				"%d switches, %d of them with hosts, have more routes than fit into memory", switches, classes)
			return
		}
		p.memory += perNode*int64(len(p.measured.Network.Nodes)) + perRoute*int64(routes)
		r.book, r.routes = p.measured.Network.Addresses(), p.measured.Network.Routes()
		if t.Kind != document.Scalar || d.readAddressWord(t) == hierarchical {
			d.assignPrefixes(root, t, p.measured.Network, &r)
		}
	}
	if r.network == nil {
		r.network, r.addresses = p.measured.Network, b.String()
		p.memory += perLink * int64(len(p.measured.Network.Links))
		d.routed.same[whole] = append(d.routed.same[whole], &r)
		if fresh {
			d.routed.alike[shape] = append(d.routed.alike[shape], &r)
		}
	}
	p.measured.Network, p.book, p.measured.Routes, p.tree, p.prefixes = r.network, r.book, r.routes, r.tree, r.prefixes
}

// readAddressWord returns the value of addresses if it is a word, and notes an error for unknown words.
func (d *networkDecoder) readAddressWord(t *document.Node) string {
	words := top.FindKey("addresses").Form.ListWords()
	word := d.ReadText(t)
	if !slices.Contains(words, word) {
		d.FailUnknown(t.Position, "value of addresses", word, append(words, "or a map from leaves to prefixes"))
	}
	return word
}

// hierarchical is the word for addresses from prefixes of leaves, in the network's order.
const hierarchical = "hierarchical"

// failUnknownLeaf reports an entry of addresses that names no leaf. It suggests the leaves that have no entry yet.
func (d *networkDecoder) failUnknownLeaf(k document.Entry, leaves []string, entries []document.Entry) {
	var missing []string
	for _, leaf := range leaves {
		if !slices.ContainsFunc(entries, func(e document.Entry) bool { return e.Name == leaf }) {
			missing = append(missing, leaf)
		}
	}
	if len(missing) == 0 {
		d.Fail(k.Position, "no further entry, since all leaves have one", "unknown leaf %q", k.Name)
		return
	}
	d.FailUnknown(k.Position, "leaf", k.Name, missing)
}

// assignPrefixes sets r's addresses (book, tree and prefixes) of a fat tree's hosts from their leaves' prefixes: the
// prefixes of P4TE's figure 1, or those in the file by leaf. Every leaf needs a prefix. After an error r keeps its flat
// addresses.
func (d *networkDecoder) assignPrefixes(root document.Map, t *document.Node, n *topology.Network, r *routedNetwork) {
	x, err := n.FindTree()
	if err != nil {
		d.Fail(t.Position, "addresses: flat or a fat tree of two or three tiers",
			"addresses: hierarchical needs a fat tree: %v",
			err)
		return
	}
	plan := x.NewPlan()
	if t.Kind != document.Scalar {
		if t.Kind != document.Mapping {
			d.Fail(t.Position, "flat, hierarchical or a map from leaves to prefixes", "the value is %v", t.Kind)
			return
		}
		plan = topology.Prefixes{Leaf: make([]netip.Prefix, len(x.Leaves()))}
		var names []string
		for _, leaf := range x.Leaves() {
			names = append(names, n.Nodes[leaf].Name)
		}
		entries := root.GetEntries("addresses")
		for _, k := range entries {
			i := slices.Index(names, k.Name)
			if i < 0 {
				d.failUnknownLeaf(k, names, entries)
				continue
			}
			prefix, err := netip.ParsePrefix(d.ReadText(k.Value))
			if err != nil {
				d.Fail(k.Value.Position, "2001:db8:0:1::/112", "%q is not a valid IPv6 prefix", k.Value.Text)
				continue
			}
			plan.Leaf[i] = prefix
			if d.OK() && x.CheckLeaf(plan, i) != nil {
				d.Fail(k.Value.Position, "prefixes that do not overlap, each large enough for its leaf's hosts", "%v",
					x.CheckLeaf(plan, i))
			}
		}
		for i, p := range plan.Leaf {
			if !p.IsValid() && d.OK() {
				d.Fail(t.Position, "a prefix for every leaf", "%s has no prefix", names[i])
			}
		}
	}
	if !d.OK() {
		return
	}
	r.book, r.tree, r.prefixes = x.Addresses(plan), x, plan
}

// sameEnds reports whether two links join the same nodes in the same order.
func sameEnds(a, b topology.Link) bool { return a.Ends == b.Ends }

// maxRoutes limits the entries of all switches' tables to a gigabyte of memory, at four bytes each.
const maxRoutes = 1 << 28
