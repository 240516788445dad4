package topology

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/unit"
)

// Scheme is a family of networks that an experiment can name, with its parameters.
type Scheme struct {
	scheme.Scheme
	// Build makes the network from a configuration of the scheme; nil means the defaults. Define sets it.
	Build func(c scheme.Config) (*Network, error)
}

// Define completes a family with the function that makes its network from a configuration of type C; nil means the
// defaults. The configuration's values are within their ranges and fit together.
func Define[C any, P scheme.Bound[C]](s scheme.Scheme, build func(c C) (*Network, error)) Scheme {
	s.Config = scheme.NewDefault[C, P]
	return Scheme{Scheme: s, Build: func(c scheme.Config) (*Network, error) {
		own, err := scheme.ConfigAs[C, P](c)
		if err != nil {
			return nil, fmt.Errorf("topology %s: %w", s.Name, err)
		}
		return build(own)
	}}
}

// Schemes returns the families of networks, sorted by name.
func Schemes() []Scheme {
	return []Scheme{
		Define(scheme.Scheme{Name: "dragonfly", Doc: "groups of switches with all links within a group and links " +
			"between all groups; shortest paths", Source: "Dragonfly (Kim et al., ISCA 2008)"}, dragonfly.buildNetwork),
		Define(scheme.Scheme{Name: "dumbbell", Doc: "hosts on both sides of one bottleneck link", Source: "Weir"},
			dumbbell.buildNetwork),
		Define(scheme.Scheme{Name: "fat_tree", Doc: "k-ary fat tree of two or three tiers",
			Source: "Fat trees (Al-Fares et al., SIGCOMM 2008)"}, fatTree.buildNetwork),
		Define(scheme.Scheme{Name: "leaf_spine", Doc: "leaf switches with hosts, each linked to every spine switch",
			Source: "Weir"},
			leafSpine.buildNetwork),
		Define(scheme.Scheme{Name: "parking_lot", Doc: "a chain of bottleneck links; each switch has hosts",
			Source: "Weir"},
			parkingLot.buildNetwork),
		Define(scheme.Scheme{Name: "pods", Doc: "three tiers of any size: pods of tor and agg switches " +
			"below core switches, as in HPCC's network of 320 hosts", Source: "HPCC §5.1"}, pods.buildNetwork),
		Define(scheme.Scheme{Name: "rails", Doc: "servers of several GPUs, each a host; one leaf switch per rail or per " +
			"server",
			Source: "SimAI: topology generator"}, rails.buildNetwork),
		Define(scheme.Scheme{Name: "star", Doc: "hosts around one switch", Source: "Weir"}, star.buildNetwork),
		Define(scheme.Scheme{Name: "torus", Doc: "switches in a grid of up to three dimensions whose lines are closed " +
			"to rings; shortest paths", Source: "Weir"}, torus.buildNetwork),
	}
}

// linkSettings has the settings that all links of a network share.
type linkSettings struct {
	Rate   unit.LinkRate // of the hosts' links
	Delay  unit.Time     // one way
	Buffer unit.Length   // of every switch port; zero: no limit
	Loss   float64
	Jitter unit.Time
	Spaced bool
}

// bindLinks binds the parameters; access describes the links that have the rate.
func (l *linkSettings) bindLinks(p *scheme.Params, access string) {
	p.LinkRate(&l.Rate, "rate", "", access, "Weir").Required().Min("1bps")
	p.Time(&l.Delay, "delay", "", "propagation delay of every link, one way", "Weir").Required().Min("0s")
	p.Length(&l.Buffer, "buffer", "0 packets", "limit of every switch port; 0 packets: no limit", "Weir")
	p.Share(&l.Loss, "loss", "0%", "share of frames lost on every link", "Weir").Min("0%").Max("99.9%")
	p.Time(&l.Jitter, "jitter", "0s", "maximum random delay that every link adds", "Weir").Min("0s")
	p.Bool(&l.Spaced, "spaced", "false", "switch ports send a frame immediately and delay the next one by the frame's "+
		"transmission time; hosts have no such delay", "BMv2: queueing.h, set_queue_rate")
}

// rateOr returns r, or the rate of the hosts' links if r is zero.
func (l *linkSettings) rateOr(r unit.LinkRate) unit.LinkRate {
	if r == (unit.LinkRate{}) {
		return l.Rate
	}
	return r
}

// bindCount binds a required number of nodes or links, from 1 to maxCount.
func bindCount(p *scheme.Params, count *int, name, doc, maxCount string) {
	p.Int(count, name, "", doc, "Weir").Required().Min("1").Max(maxCount)
}

// dumbbell is hosts on both sides of one bottleneck.
type dumbbell struct {
	linkSettings
	Hosts      int // on each side
	Bottleneck unit.LinkRate
}

// Params binds the options of dumbbell to the fields of c, which keep their values.
func (c *dumbbell) Params(p *scheme.Params) {
	c.bindLinks(p, "rate of the hosts' links")
	bindCount(p, &c.Hosts, "hosts", "number of hosts on each side: left0, … and right0, …", "100000")
	p.LinkRate(&c.Bottleneck, "bottleneck", "", "rate of the bottleneck link between left and right",
		"Weir").Required().Min("1bps")
}

// buildNetwork makes the network. It is an error if it has too many nodes or links. The nodes are the left hosts, the
// right hosts, and the two switches.
func (c dumbbell) buildNetwork() (*Network, error) {
	b := &builder{links: c.linkSettings}
	if err := b.reserve(2*c.Hosts+2, 2*c.Hosts+1); err != nil {
		return nil, err
	}
	for _, side := range []string{"left", "right"} { // hosts are always the first nodes
		for i := range c.Hosts {
			b.addNode(fmt.Sprint(side, i), false)
		}
	}
	left, right := b.addNode("left", true), b.addNode("right", true)
	for i := range c.Hosts {
		b.addLink(i, left, c.Rate)
		b.addLink(c.Hosts+i, right, c.Rate)
	}
	b.addLink(left, right, c.Bottleneck)
	return &b.n, nil
}

// leafSpine is leaves with hosts, each linked to every spine.
type leafSpine struct {
	linkSettings
	Leaves, Spines int
	Hosts          int           // at each leaf
	Uplink         unit.LinkRate // zero: the rate of the hosts' links
	UplinkBuffer   unit.Length   // zero: Buffer
	Slow           unit.LinkRate // rate of the link between the first leaf and the first spine; zero: like the others
}

// Params binds the options of leaf_spine to the fields of c, which keep their values.
func (c *leafSpine) Params(p *scheme.Params) {
	c.bindLinks(p, "rate of the hosts' links")
	bindCount(p, &c.Leaves, "leaves", "number of leaf switches: leaf0, …", "10000")
	bindCount(p, &c.Spines, "spines", "number of spine switches: spine0, …", "10000")
	bindCount(p, &c.Hosts, "hosts", "hosts per leaf: h0, …", "10000")
	p.LinkRate(&c.Uplink, "uplink", "0bps", "rate of the links between leaves and spines; 0bps: equal to rate", "Weir")
	p.Length(&c.UplinkBuffer, "uplink_buffer", "0 packets",
		"limit of switch ports between leaves and spines; 0 packets: equal to buffer", "Weir; P4TE §7: 2 × rate for each")
	p.LinkRate(&c.Slow, "slow", "0bps", "rate of the link between leaf0 and spine0; 0bps: equal to the other links",
		"Weir")
}

// buildNetwork makes the network. It is an error if it has too many nodes or links. The nodes are the hosts by leaf,
// the leaves and the spines.
func (c leafSpine) buildNetwork() (*Network, error) {
	b := &builder{links: c.linkSettings}
	if err := b.reserve(c.Leaves*c.Hosts+c.Leaves+c.Spines, c.Leaves*(c.Hosts+c.Spines)); err != nil {
		return nil, err
	}
	b.addHosts(c.Leaves * c.Hosts)
	leaf, spine := b.addSwitches("leaf", c.Leaves), b.addSwitches("spine", c.Spines)
	for i := range c.Leaves * c.Hosts {
		b.addLink(i, leaf+i/c.Hosts, c.Rate)
	}
	for i := range c.Leaves {
		for k := range c.Spines {
			b.addLink(leaf+i, spine+k, c.rateOr(c.Uplink))
			if c.UplinkBuffer != (unit.Length{}) {
				b.n.Links[len(b.n.Links)-1].Buffer = c.UplinkBuffer
			}
			if i == 0 && k == 0 && c.Slow != (unit.LinkRate{}) {
				b.n.Links[len(b.n.Links)-1].Rate = c.Slow
			}
		}
	}
	return &b.n, nil
}

// parkingLot is a chain of bottlenecks between switches with hosts.
type parkingLot struct {
	linkSettings
	Hops       int // bottlenecks; there is one more switch
	Hosts      int // at each switch
	Bottleneck unit.LinkRate
}

// Params binds the options of parking_lot to the fields of c, which keep their values.
func (c *parkingLot) Params(p *scheme.Params) {
	c.bindLinks(p, "rate of the hosts' links")
	bindCount(p, &c.Hops, "hops", "number of bottleneck links in the chain; the chain has one switch more: s0, …",
		"10000")
	p.Int(&c.Hosts, "hosts", "1", "hosts per switch: h0, … along the chain", "Weir").Min("1").Max("10000")
	p.LinkRate(&c.Bottleneck, "bottleneck", "", "rate of the links between switches", "Weir").Required().Min("1bps")
}

// buildNetwork makes the network. It is an error if it has too many nodes or links. The nodes are the hosts along the
// chain, and its switches.
func (c parkingLot) buildNetwork() (*Network, error) {
	b := &builder{links: c.linkSettings}
	switches := c.Hops + 1
	if err := b.reserve(switches*(c.Hosts+1), switches*(c.Hosts+1)-1); err != nil {
		return nil, err
	}
	b.addHosts(switches * c.Hosts)
	first := b.addSwitches("s", switches)
	for i := range switches * c.Hosts {
		b.addLink(i, first+i/c.Hosts, c.Rate)
	}
	for i := range switches - 1 {
		b.addLink(first+i, first+i+1, c.Bottleneck)
	}
	return &b.n, nil
}

// star is hosts around one switch.
type star struct {
	linkSettings
	Hosts int
}

// Params binds the options of star to the fields of c, which keep their values.
func (c *star) Params(p *scheme.Params) {
	c.bindLinks(p, "rate of every link")
	bindCount(p, &c.Hosts, "hosts", "number of hosts, h0, …, at the switch s", "10000")
}

// buildNetwork makes the network. It is an error if it has too many nodes or links. The nodes are the hosts and the
// switch.
func (c star) buildNetwork() (*Network, error) {
	b := &builder{links: c.linkSettings}
	if err := b.reserve(c.Hosts+1, c.Hosts); err != nil {
		return nil, err
	}
	b.addHosts(c.Hosts)
	s := b.addNode("s", true)
	for i := range c.Hosts {
		b.addLink(i, s, c.Rate)
	}
	return &b.n, nil
}

// builder builds a network of links that differ only in their rates.
type builder struct {
	n     Network
	links linkSettings
}

// reserve returns an error if there are too many nodes or links; otherwise it allocates memory for them. It removes
// nodes and links that b has.
func (b *builder) reserve(nodes, links int) error {
	if nodes > largestNetwork || links > largestNetwork {
		return fmt.Errorf("%d nodes and %d links; allowed: at most %d of each", nodes, links, largestNetwork)
	}
	b.n.Nodes, b.n.Links = make([]Node, 0, nodes), make([]Link, 0, links)
	return nil
}

// addNode adds a node and returns its index.
func (b *builder) addNode(name string, isSwitch bool) int {
	b.n.Nodes = append(b.n.Nodes, Node{Name: name, Switch: isSwitch})
	return len(b.n.Nodes) - 1
}

// addHosts adds h0 to h(n−1), which must be the first nodes. n is their number.
func (b *builder) addHosts(n int) {
	for i := range n {
		b.addNode(fmt.Sprint("h", i), false)
	}
}

// addSwitches adds n switches and returns the index of the first.
func (b *builder) addSwitches(name string, n int) int {
	first := len(b.n.Nodes)
	for i := range n {
		b.addNode(fmt.Sprint(name, i), true)
	}
	return first
}

// addLink adds a link between nodes x and y with this rate and the other settings of b.links.
func (b *builder) addLink(x, y int, rate unit.LinkRate) {
	b.n.Links = append(b.n.Links, Link{Ends: [2]int{x, y}, Rate: rate,
		Delay: b.links.Delay, Jitter: b.links.Jitter, Loss: b.links.Loss, Buffer: b.links.Buffer,
		Spaced: b.links.Spaced})
}

// pods is a network of three tiers of free sizes.
type pods struct {
	linkSettings
	Pods    int
	Tors    int           // in each pod
	Aggs    int           // in each pod
	Hosts   int           // at each tor
	Uplinks int           // of each agg
	Fabric  unit.LinkRate // rate of the links between switches; zero: the rate of the hosts' links
}

// Params binds the options of pods to the fields of c, which keep their values.
func (c *pods) Params(p *scheme.Params) {
	c.bindLinks(p, "rate of the hosts' links")
	bindCount(p, &c.Pods, "pods", "number of pods", "10000")
	bindCount(p, &c.Tors, "tors", "tor switches per pod: tor0, …", "10000")
	bindCount(p, &c.Aggs, "aggs", "agg switches per pod, each linked to all of its tors: agg0, …", "10000")
	bindCount(p, &c.Hosts, "hosts", "hosts per tor: h0, …", "10000")
	bindCount(p, &c.Uplinks, "uplinks",
		"links from each agg to cores; agg i of every pod is linked to the cores from number i × uplinks on: core0, …",
		"10000")
	p.LinkRate(&c.Fabric, "fabric", "0bps", "rate of the links between switches; 0bps: equal to rate", "Weir")
}

// buildNetwork makes the network. 5 pods of 4 tors and 4 aggs, with 4 uplinks per agg and 16 hosts per tor, give HPCC's
// simulated network. The nodes are the hosts by tor, the tors, the aggs and the cores. It is an error if there are too
// many nodes or links.
func (c pods) buildNetwork() (*Network, error) {
	b := &builder{links: c.linkSettings}
	count, tors, aggs, hosts, up := c.Pods, c.Tors, c.Aggs, c.Hosts, c.Uplinks
	fabric := c.rateOr(c.Fabric)
	if err := b.reserve(count*(tors*(hosts+1)+aggs)+aggs*up, count*(tors*(hosts+aggs)+aggs*up)); err != nil {
		return nil, err
	}
	b.addHosts(count * tors * hosts)
	tor, agg, core := b.addSwitches("tor", count*tors), b.addSwitches("agg", count*aggs), b.addSwitches("core", aggs*up)
	for i := range count * tors * hosts {
		b.addLink(i, tor+i/hosts, c.Rate)
	}
	for i := range count * tors {
		for j := range aggs {
			b.addLink(tor+i, agg+i/tors*aggs+j, fabric)
		}
	}
	for i := range count * aggs {
		for j := range up {
			b.addLink(agg+i, core+i%aggs*up+j, fabric)
		}
	}
	return &b.n, nil
}

// fatTree is a k-ary fat tree of two or three tiers.
type fatTree struct {
	linkSettings
	K                int // ports of a switch
	Tiers            int
	Oversubscription int // an edge switch has this multiple of K/2 hosts
}

// Params binds the options of fat_tree to the fields of c, which keep their values.
func (c *fatTree) Params(p *scheme.Params) {
	c.bindLinks(p, "rate of every link")
	p.Int(&c.K, "k", "", "number of ports of a switch; an even number", "Weir").Required().Min("2").Max("128")
	p.Int(&c.Tiers, "tiers", "3", "number of tiers; 3: edge, agg, core and k³/4 hosts; 2: edge, core and k²/2 hosts",
		"Fat trees §3").
		Min("2").Max("3")
	p.Int(&c.Oversubscription, "oversubscription", "1", "hosts per edge switch in multiples of k/2; 1: no "+
		"oversubscription", "Weir: no oversubscription").
		Min("1").Max("1000")
	p.AddRule("k", func() error {
		if c.K%2 != 0 {
			return fmt.Errorf("%d is not even", c.K)
		}
		return nil
	})
}

// buildNetwork follows Al-Fares et al. §3: k pods of k/2 edge and k/2 aggregation switches, and (k/2)² cores.
// Aggregation switch j of each pod reaches k/2 cores, from number j·k/2 on. With two tiers there are k edge switches
// and k/2 cores. The nodes are the hosts, then the switches by tier. It is an error if there are too many nodes or
// links.
func (c fatTree) buildNetwork() (*Network, error) {
	b := &builder{links: c.linkSettings}
	k, half := c.K, c.K/2
	perEdge := half * c.Oversubscription
	edges, aggs, cores := k*half, k*half, half*half
	uplinks := (edges + aggs) * half
	if c.Tiers == 2 {
		edges, aggs, cores = k, 0, half
		uplinks = edges * half
	}
	if err := b.reserve(edges*(perEdge+1)+aggs+cores, edges*perEdge+uplinks); err != nil {
		return nil, err
	}
	b.addHosts(edges * perEdge)
	edge, agg, core := b.addSwitches("edge", edges), b.addSwitches("agg", aggs), b.addSwitches("core", cores)
	for i := range edges * perEdge {
		b.addLink(i, edge+i/perEdge, c.Rate)
	}
	if aggs == 0 {
		for i := range edges {
			for j := range cores {
				b.addLink(edge+i, core+j, c.Rate)
			}
		}
		return &b.n, nil
	}
	for i := range edges {
		for j := range half {
			b.addLink(edge+i, agg+i/half*half+j, c.Rate)
		}
	}
	for i := range aggs {
		for j := range half {
			b.addLink(agg+i, core+i%half*half+j, c.Rate)
		}
	}
	return &b.n, nil
}
