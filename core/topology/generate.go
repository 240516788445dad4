package topology

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/unit"
)

// Scheme is a family of networks that an experiment can name, with its parameters.
type Scheme struct {
	scheme.Scheme
	Build func(v scheme.Values) (*Network, error)
}

// common are the parameters that all families have, for all of their links.
func common(access string) []scheme.Param {
	return []scheme.Param{
		{Name: "rate", Kind: scheme.LinkRate, Required: true, Min: "1bps", Doc: access, Source: "ours"},
		{Name: "delay", Kind: scheme.Duration, Required: true, Min: "0s", Doc: "propagation delay of every link, one way",
			Source: "ours"},
		{Name: "buffer", Kind: scheme.Length, Default: "0 packets", Doc: "limit of every switch port; 0 packets: none",
			Source: "ours"},
		{Name: "loss", Kind: scheme.Share, Default: "0%", Min: "0%", Max: "99.9%", Doc: "share of frames lost on every link",
			Source: "ours"},
		{Name: "jitter", Kind: scheme.Duration, Default: "0s", Min: "0s", Doc: "largest delay added at random on every link",
			Source: "ours"},
	}
}

func count(name, doc, least, most string) scheme.Param {
	return scheme.Param{Name: name, Kind: scheme.Int, Required: true, Min: least, Max: most, Doc: doc, Source: "ours"}
}

// optionalRate is a rate that defaults to `rate`.
func optionalRate(name, doc string) scheme.Param {
	return scheme.Param{Name: name, Kind: scheme.LinkRate, Default: "0bps", Doc: doc + "; 0bps: that of rate",
		Source: "ours"}
}

// Schemes are the families of networks, sorted by name.
func Schemes() []Scheme {
	return []Scheme{
		{
			Scheme: scheme.Scheme{Name: "dumbbell", Doc: "hosts on both sides of one bottleneck", Source: "ours",
				Params: append(common("of the hosts' links"),
					count("hosts", "hosts on each side: left0, … and right0, …", "1", "100000"),
					scheme.Param{Name: "bottleneck", Kind: scheme.LinkRate, Required: true, Min: "1bps",
						Doc: "rate of the link between left and right", Source: "ours"},
				)},
			Build: func(v scheme.Values) (*Network, error) {
				b := newBuilder(v)
				hosts := v.Int("hosts")
				if err := b.fits(2*hosts+2, 2*hosts+1); err != nil {
					return nil, err
				}
				for _, side := range []string{"left", "right"} { // hosts first, as everywhere
					for i := range hosts {
						b.node(fmt.Sprint(side, i), false)
					}
				}
				left, right := b.node("left", true), b.node("right", true)
				for i := range hosts {
					b.link(i, left, v.LinkRate("rate"))
					b.link(hosts+i, right, v.LinkRate("rate"))
				}
				b.link(left, right, v.LinkRate("bottleneck"))
				return &b.n, nil
			},
		},
		{
			Scheme: scheme.Scheme{Name: "fat_tree", Doc: "k-ary fat tree of two or three tiers",
				Source: "Fat trees (Al-Fares et al., SIGCOMM 2008)", Params: append(common("of every link"),
					count("k", "ports of a switch, even", "2", "128"),
					scheme.Param{Name: "tiers", Kind: scheme.Int, Default: "3", Min: "2", Max: "3",
						Doc: "3: edge, agg, core and k³/4 hosts; 2: edge, core and k²/2 hosts", Source: "Fat trees §3"},
					scheme.Param{Name: "oversubscription", Kind: scheme.Int, Default: "1", Min: "1", Max: "1000",
						Doc: "so many times k/2 hosts at an edge switch", Source: "ours: none"},
				)},
			Build: fatTree,
		},
		{
			Scheme: scheme.Scheme{Name: "leaf_spine", Doc: "leaves with hosts, each linked to every spine", Source: "ours",
				Params: append(common("of the hosts' links"),
					count("leaves", "leaf switches: leaf0, …", "1", "10000"), count("spines", "spine switches: spine0, …",
						"1", "10000"),
					count("hosts", "hosts a leaf: h0, …", "1", "10000"), optionalRate("uplink",
						"of the links between leaves and spines"),
					scheme.Param{Name: "uplink_buffer", Kind: scheme.Length, Default: "0 packets",
						Doc:    "limit of switch ports between leaves and spines; 0 packets: that of buffer",
						Source: "ours; P4TE §7: 2 × rate for each"},
				)},
			Build: func(v scheme.Values) (*Network, error) {
				b := newBuilder(v)
				leaves, spines, hosts := v.Int("leaves"), v.Int("spines"), v.Int("hosts")
				if err := b.fits(leaves*hosts+leaves+spines, leaves*(hosts+spines)); err != nil {
					return nil, err
				}
				b.hosts(leaves * hosts)
				leaf, spine := b.switches("leaf", leaves), b.switches("spine", spines)
				for i := range leaves * hosts {
					b.link(i, leaf+i/hosts, v.LinkRate("rate"))
				}
				for i := range leaves {
					for k := range spines {
						b.link(leaf+i, spine+k, b.or(v.LinkRate("uplink")))
						if up := v.Length("uplink_buffer"); up != (unit.Length{}) {
							b.n.Links[len(b.n.Links)-1].Buffer = up
						}
					}
				}
				return &b.n, nil
			},
		},
		{
			Scheme: scheme.Scheme{Name: "parking_lot", Doc: "a chain of bottlenecks; each switch has hosts", Source: "ours",
				Params: append(common("of the hosts' links"),
					count("hops", "bottlenecks in the chain, between so many switches and one: s0, …", "1", "10000"),
					scheme.Param{Name: "hosts", Kind: scheme.Int, Default: "1", Min: "1", Max: "10000",
						Doc: "hosts a switch: h0, … along the chain", Source: "ours"},
					scheme.Param{Name: "bottleneck", Kind: scheme.LinkRate, Required: true, Min: "1bps",
						Doc: "rate of the links between switches", Source: "ours"},
				)},
			Build: func(v scheme.Values) (*Network, error) {
				b := newBuilder(v)
				switches, hosts := v.Int("hops")+1, v.Int("hosts")
				if err := b.fits(switches*(hosts+1), switches*(hosts+1)-1); err != nil {
					return nil, err
				}
				b.hosts(switches * hosts)
				first := b.switches("s", switches)
				for i := range switches * hosts {
					b.link(i, first+i/hosts, v.LinkRate("rate"))
				}
				for i := range switches - 1 {
					b.link(first+i, first+i+1, v.LinkRate("bottleneck"))
				}
				return &b.n, nil
			},
		},
		{
			Scheme: scheme.Scheme{Name: "pods", Doc: "three tiers of free sizes: pods of tor and agg switches below a layer " +
				"of cores, as HPCC's 320 hosts have it", Source: "HPCC §5.1", Params: append(common("of the hosts' links"),
				count("pods", "pods", "1", "10000"), count("tors", "tor switches a pod: tor0, …", "1", "10000"),
				count("aggs", "agg switches a pod, each linked to all of its tors: agg0, …", "1", "10000"),
				count("hosts", "hosts a tor: h0, …", "1", "10000"),
				count("uplinks", "links from each agg to cores; agg i of every pod reaches the cores from i × uplinks on: core0, …",
					"1", "10000"),
				optionalRate("fabric", "of the links between switches"),
			)},
			Build: pods,
		},
		{
			Scheme: scheme.Scheme{Name: "star", Doc: "hosts around one switch", Source: "ours",
				Params: append(common("of every link"),
					count("hosts", "hosts h0, … of the switch s", "1", "10000"),
				)},
			Build: func(v scheme.Values) (*Network, error) {
				b := newBuilder(v)
				hosts := v.Int("hosts")
				if err := b.fits(hosts+1, hosts); err != nil {
					return nil, err
				}
				b.hosts(hosts)
				s := b.node("s", true)
				for i := range hosts {
					b.link(i, s, b.rate)
				}
				return &b.n, nil
			},
		},
	}
}

// builder makes a network whose links differ in their rates only.
type builder struct {
	n      Network
	rate   unit.LinkRate
	delay  unit.Time
	jitter unit.Time
	loss   float64
	buffer unit.Length
}

func newBuilder(v scheme.Values) *builder {
	return &builder{rate: v.LinkRate("rate"), delay: v.Time("delay"), jitter: v.Time("jitter"), loss: v.Float("loss"),
		buffer: v.Length("buffer")}
}

// fits bounds the numbers of nodes and links, and makes room for them.
func (b *builder) fits(nodes, links int) error {
	if nodes > largestNetwork || links > largestNetwork {
		return fmt.Errorf("%d nodes and %d links; at most %d of each are possible", nodes, links, largestNetwork)
	}
	b.n.Nodes, b.n.Links = make([]Node, 0, nodes), make([]Link, 0, links)
	return nil
}

// or returns r or, if it is 0, the rate of the hosts' links.
func (b *builder) or(r unit.LinkRate) unit.LinkRate {
	if r == (unit.LinkRate{}) {
		return b.rate
	}
	return r
}

func (b *builder) node(name string, isSwitch bool) int {
	b.n.Nodes = append(b.n.Nodes, Node{Name: name, Switch: isSwitch})
	return len(b.n.Nodes) - 1
}

// hosts adds h0 to h(n−1), which must be the first nodes.
func (b *builder) hosts(n int) {
	for i := range n {
		b.node(fmt.Sprint("h", i), false)
	}
}

// switches adds n switches and returns the first.
func (b *builder) switches(name string, n int) int {
	first := len(b.n.Nodes)
	for i := range n {
		b.node(fmt.Sprint(name, i), true)
	}
	return first
}

func (b *builder) link(x, y int, rate unit.LinkRate) {
	b.n.Links = append(b.n.Links, Link{Ends: [2]int{x, y}, Rate: rate,
		Delay: b.delay, Jitter: b.jitter, Loss: b.loss, Buffer: b.buffer})
}

// pods is HPCC's simulated network for 5 pods of 4 tors, 4 aggs and 4 uplinks an agg, and
// 16 hosts a tor.
func pods(v scheme.Values) (*Network, error) {
	b := newBuilder(v)
	count, tors, aggs, hosts, up := v.Int("pods"), v.Int("tors"), v.Int("aggs"), v.Int("hosts"), v.Int("uplinks")
	fabric := b.or(v.LinkRate("fabric"))
	if err := b.fits(count*(tors*(hosts+1)+aggs)+aggs*up, count*(tors*(hosts+aggs)+aggs*up)); err != nil {
		return nil, err
	}
	b.hosts(count * tors * hosts)
	tor, agg, core := b.switches("tor", count*tors), b.switches("agg", count*aggs), b.switches("core", aggs*up)
	for i := range count * tors * hosts {
		b.link(i, tor+i/hosts, b.rate)
	}
	for i := range count * tors {
		for j := range aggs {
			b.link(tor+i, agg+i/tors*aggs+j, fabric)
		}
	}
	for i := range count * aggs {
		for c := range up {
			b.link(agg+i, core+i%aggs*up+c, fabric)
		}
	}
	return &b.n, nil
}

// fatTree is Al-Fares et al. §3: k pods of k/2 edge and k/2 aggregation switches, and
// (k/2)² cores, of which aggregation switch j of each pod reaches k/2: those from
// j·k/2 on. With two tiers, k edge switches and k/2 cores.
func fatTree(v scheme.Values) (*Network, error) {
	b := newBuilder(v)
	k := v.Int("k")
	if k%2 != 0 {
		return nil, fmt.Errorf("a fat tree with k = %d; k must be even", k)
	}
	half := k / 2
	perEdge := half * v.Int("oversubscription")
	edges, aggs, cores := k*half, k*half, half*half
	uplinks := (edges + aggs) * half
	if v.Int("tiers") == 2 {
		edges, aggs, cores = k, 0, half
		uplinks = edges * half
	}
	if err := b.fits(edges*(perEdge+1)+aggs+cores, edges*perEdge+uplinks); err != nil {
		return nil, err
	}
	b.hosts(edges * perEdge)
	edge, agg, core := b.switches("edge", edges), b.switches("agg", aggs), b.switches("core", cores)
	for i := range edges * perEdge {
		b.link(i, edge+i/perEdge, b.rate)
	}
	if aggs == 0 {
		for i := range edges {
			for c := range cores {
				b.link(edge+i, core+c, b.rate)
			}
		}
		return &b.n, nil
	}
	for i := range edges {
		for j := range half {
			b.link(edge+i, agg+i/half*half+j, b.rate)
		}
	}
	for i := range aggs {
		for c := range half {
			b.link(agg+i, core+i%half*half+c, b.rate)
		}
	}
	return &b.n, nil
}
