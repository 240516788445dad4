package experiment

import (
	"fmt"
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"

	"weir/core/packet"
	"weir/core/topology"
	"weir/internal/document"
)

// routed is a network with what is made of it once, for all points that have it.
type routed struct {
	network   *topology.Network
	addresses string // what the file says of them, as text
	book      *packet.Book
	routes    *topology.Routes
	tree      *topology.Tree // nil: addresses are flat
	prefixes  topology.Prefixes
}

// routedNetworks are those of the points so far, all different, by hashes: to compare each with each would take the
// square of the sweep's length.
type routedNetworks struct {
	seed        maphash.Seed
	same, alike map[uint64][]*routed // by all that they are, and by nodes and ends of links
}

func newRoutedNetworks() routedNetworks {
	return routedNetworks{seed: maphash.MakeSeed(), same: map[uint64][]*routed{}, alike: map[uint64][]*routed{}}
}

// hash gives the two hashes of a network and what the file says of its addresses.
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

// assignRoutes gives a point its network's addresses and routes. The points of a sweep often
// have the same network, and then share them.
func (d *networkDecoder) assignRoutes(root document.Map, p *Point) {
	var r routed
	t := root.Default("addresses")
	var b strings.Builder
	t.Write(&b, 0)
	whole, shape := d.routed.hash(p.seen.Network, b.String())
	for _, old := range d.routed.alike[shape] {
		if old.addresses == b.String() && slices.Equal(old.network.Nodes, p.seen.Network.Nodes) &&
			slices.EqualFunc(old.network.Links, p.seen.Network.Links, sameEnds) {
			// which rates and delays do not change
			p.seen.Network.Nodes = old.network.Nodes
			r.book, r.routes, r.tree, r.prefixes = old.book, old.routes, old.tree, old.prefixes
			break
		}
	}
	for _, old := range d.routed.same[whole] {
		if old.addresses == b.String() && slices.Equal(old.network.Nodes, p.seen.Network.Nodes) &&
			slices.Equal(old.network.Links, p.seen.Network.Links) {
			r = *old
			break
		}
	}
	fresh := r.routes == nil
	if fresh {
		routes, switches, classes := tableSize(p.seen.Network)
		if routes > mostRoutes {
			d.Fail(root.Get("topology").Place, fmt.Sprintf("switches with hosts × switches up to %d", mostRoutes),
				"%d switches, %d of them with hosts, have more routes than fit into memory", switches, classes)
			return
		}
		p.memory += ofNode*int64(len(p.seen.Network.Nodes)) + ofRoute*int64(routes)
		r.book, r.routes = p.seen.Network.Addresses(), p.seen.Network.Routes()
		if t.Kind != document.Scalar || d.Word(t, "way to give addresses",
			top.Key("addresses").Form.Spellings()) == hierarchical {
			d.assignPrefixes(root, t, p.seen.Network, &r)
		}
	}
	if r.network == nil {
		r.network, r.addresses = p.seen.Network, b.String()
		p.memory += ofLink * int64(len(p.seen.Network.Links))
		d.routed.same[whole] = append(d.routed.same[whole], &r)
		if fresh {
			d.routed.alike[shape] = append(d.routed.alike[shape], &r)
		}
	}
	p.seen.Network, p.book, p.seen.Routes, p.tree, p.prefixes = r.network, r.book, r.routes, r.tree, r.prefixes
}

// hierarchical are addresses from prefixes of leaves, in the network's order.
const hierarchical = "hierarchical"

// assignPrefixes gives the hosts of a fat tree addresses from their leaves' prefixes: those of
// P4TE's figure 1, or those that the file gives by leaf.
func (d *networkDecoder) assignPrefixes(root document.Map, t *document.Node, n *topology.Network, r *routed) {
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
		for _, k := range root.Entries("addresses") {
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

// mostRoutes bounds the entries of all switches' tables, for the same reason: a
// gigabyte, at four bytes each.
const mostRoutes = 1 << 28
