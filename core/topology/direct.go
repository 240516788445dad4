package topology

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/unit"
)

// dragonfly is groups of switches. Each switch is linked to all others of its group, and groups to each other by links
// that are spread over their switches. Paths are the shortest ones, which Kim et al. call minimal: from a switch to
// the switch of its group with a link to the other group, over that link, and to the destination.
type dragonfly struct {
	linkSettings
	Groups      int           // g
	Switches    int           // a, of each group
	Hosts       int           // p, at each switch
	Globals     int           // h, links from each switch to other groups
	Local       unit.LinkRate // rate of the links in a group; zero: the rate of the hosts' links
	Global      unit.LinkRate // rate of the links between groups; zero: the rate of the hosts' links
	GlobalDelay unit.Time     // zero: Delay
}

// Params binds the options of dragonfly to the fields of c, which keep their values.
func (c *dragonfly) Params(p *scheme.Params) {
	c.bindLinks(p, "rate of the hosts' links")
	bindCount(p, &c.Groups, "groups", "number of groups (g)", "10000")
	bindCount(p, &c.Switches, "switches", "switches per group (a): s0, … through all groups", "1000")
	bindCount(p, &c.Hosts, "hosts", "hosts per switch (p): h0, …; a/2 in a balanced network", "10000")
	p.Int(&c.Globals, "globals", "", "links from each switch to other groups (h); a/2 in a balanced network",
		"Dragonfly (Kim et al., ISCA 2008) §3.1").Required().Min("0").Max("1000")
	p.LinkRate(&c.Local, "local", "0bps", "rate of the links within a group; 0bps: equal to rate", "Weir")
	p.LinkRate(&c.Global, "global", "0bps", "rate of the links between groups; 0bps: equal to rate", "Weir")
	p.Time(&c.GlobalDelay, "global_delay", "0s", "propagation delay of the links between groups, one way; 0s: equal "+
		"to delay", "Weir").Min("0s")
	p.AddRule("globals", func() error {
		if c.Switches*c.Globals < c.Groups-1 {
			return fmt.Errorf("%d links leave a group (switches × globals), and there are %d other groups; as many are "+
				"needed at least", c.Switches*c.Globals, c.Groups-1)
		}
		return nil
	})
}

// buildNetwork makes the network. It is an error if it has too many nodes or links. Each pair of groups has the same
// number of links, the largest possible one. Link j of a group leads to group j + 1 behind it, and has there the number
// of the link back. So every switch has its share of them.
func (c dragonfly) buildNetwork() (*Network, error) {
	b := &builder{links: c.linkSettings}
	switches, others := c.Groups*c.Switches, c.Groups-1
	sets := 0 // links between each pair of groups
	if others > 0 {
		sets = c.Switches * c.Globals / others
	}
	links := switches*c.Hosts + switches*(c.Switches-1)/2 + c.Groups*others/2*sets
	if err := b.reserve(switches*(c.Hosts+1), links); err != nil {
		return nil, err
	}
	b.addHosts(switches * c.Hosts)
	first := b.addSwitches("s", switches)
	for i := range switches * c.Hosts {
		b.addLink(i, first+i/c.Hosts, c.Rate)
	}
	for g := range c.Groups {
		for i := range c.Switches {
			for k := i + 1; k < c.Switches; k++ {
				b.addLink(first+g*c.Switches+i, first+g*c.Switches+k, c.rateOr(c.Local))
			}
		}
	}
	if c.GlobalDelay > 0 {
		b.links.Delay = c.GlobalDelay
	}
	for g := range c.Groups {
		for set := range sets {
			for j := range others {
				to := (g + j + 1) % c.Groups
				if to < g {
					continue // made from the other side
				}
				out, back := set*others+j, set*others+others-1-j
				b.addLink(first+g*c.Switches+out/c.Globals, first+to*c.Switches+back/c.Globals, c.rateOr(c.Global))
			}
		}
	}
	b.n.numberBundles()
	return &b.n, nil
}

// torus is switches in a grid of up to three dimensions. Each switch is linked to its neighbours, and the last one of
// a line to its first. Paths are all shortest ones.
type torus struct {
	linkSettings
	X, Y, Z int
	Hosts   int           // at each switch
	Grid    unit.LinkRate // rate of the links between switches; zero: the rate of the hosts' links
	Wrap    bool
}

// Params binds the options of torus to the fields of c, which keep their values.
func (c *torus) Params(p *scheme.Params) {
	c.bindLinks(p, "rate of the hosts' links")
	bindCount(p, &c.X, "x", "number of switches along the first dimension: s0, …", "10000")
	p.Int(&c.Y, "y", "1", "number of switches along the second dimension", "Weir").Min("1").Max("10000")
	p.Int(&c.Z, "z", "1", "number of switches along the third dimension", "Weir").Min("1").Max("10000")
	p.Int(&c.Hosts, "hosts", "1", "hosts per switch: h0, …", "Weir").Min("1").Max("10000")
	p.LinkRate(&c.Grid, "grid", "0bps", "rate of the links between switches; 0bps: equal to rate", "Weir")
	p.Bool(&c.Wrap, "wrap", "true", "link the last switch of a line to its first (a torus); false: a mesh", "Weir")
}

// buildNetwork makes the network. It is an error if it has too many nodes or links. The nodes are the hosts by switch,
// and the switches, with the first dimension fastest.
func (c torus) buildNetwork() (*Network, error) {
	b := &builder{links: c.linkSettings}
	if c.X*c.Y > largestNetwork {
		return nil, b.reserve(c.X*c.Y, 0)
	}
	switches := c.X * c.Y * c.Z
	if err := b.reserve(switches*(c.Hosts+1), switches*(c.Hosts+3)); err != nil {
		return nil, err
	}
	b.addHosts(switches * c.Hosts)
	first := b.addSwitches("s", switches)
	for i := range switches * c.Hosts {
		b.addLink(i, first+i/c.Hosts, c.Rate)
	}
	for i := range switches {
		at := [3]int{i % c.X, i / c.X % c.Y, i / c.X / c.Y}
		for d, step := range [3]int{1, c.X, c.X * c.Y} {
			size := [3]int{c.X, c.Y, c.Z}[d]
			switch {
			case at[d] < size-1:
				b.addLink(first+i, first+i+step, c.rateOr(c.Grid))
			case c.Wrap && size > 2: // with two, they are neighbours already
				b.addLink(first+i, first+i-step*(size-1), c.rateOr(c.Grid))
			}
		}
	}
	return &b.n, nil
}
