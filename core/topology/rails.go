package topology

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/unit"
)

// rails is servers of several GPUs, each a host with its own NIC. GPU i is in server i / GPUs and on rail i mod GPUs.
// A server's GPUs are joined by a switch of their own, as by NVLink. In a rail-optimised network, a leaf has the GPUs
// of one rail from the servers of a segment; otherwise it has all GPUs of these servers. A GPU may have a NIC in each
// of several planes, which are parallel networks. Spines are above the leaves, and cores above the spines of several
// pods.
type rails struct {
	linkSettings
	Servers, GPUs int
	Segment       int // servers; zero: all servers of a pod
	Planes        int
	Spines        int // of each pod and plane; zero: leaves are not joined
	Pods          int
	Uplinks       int           // from each spine to cores, with several pods
	Fabric        unit.LinkRate // rate of the links between switches; zero: the rate of the hosts' links
	NVLink        unit.LinkRate // zero: a server's GPUs are joined only by the network
	NVLinkDelay   unit.Time
	Optimised     bool
}

// Params binds the options of rails to the fields of c, which keep their values.
func (c *rails) Params(p *scheme.Params) {
	c.bindLinks(p, "rate of each NIC")
	bindCount(p, &c.Servers, "servers", "number of servers", "100000")
	p.Int(&c.GPUs, "gpus", "8", "GPUs per server, each a host with its own NICs: h0, …", "SimAI: topology generator").
		Min("1").Max("64")
	p.Int(&c.Segment, "segment", "0", "number of servers with GPUs at the same leaves; 0: all servers of a pod",
		"SimAI: 64 or 128 ports of a leaf").Min("0").Max("100000")
	p.Int(&c.Planes, "planes", "1", "NICs per GPU, each in a separate network (plane)",
		"SimAI: topology generator, HPN dual plane").Min("1").Max("16")
	p.Int(&c.Spines, "spines", "", "spines of each pod and plane, each linked to all leaves there: spine0, …; 0: no "+
		"spines, so that only the servers' own switches connect rails", "Weir").Required().Min("0").Max("10000")
	p.Int(&c.Pods, "pods", "1", "number of pods, with equal numbers of servers; cores connect several pods", "Weir").
		Min("1").Max("10000")
	p.Int(&c.Uplinks, "uplinks", "1", "links from each spine to cores, with several pods; spine i of every pod is "+
		"linked to the same cores: core0, …", "Weir").Min("1").Max("10000")
	p.LinkRate(&c.Fabric, "fabric", "0bps", "rate of the links between switches; 0bps: equal to rate", "Weir")
	p.LinkRate(&c.NVLink, "nvlink", "2880Gbps", "rate of each GPU's link to its server's own switch: nv0, …; 0bps: no "+
		"such switch", "SimAI: topology generator")
	p.Time(&c.NVLinkDelay, "nvlink_delay", "25ns", "propagation delay of the links to the server's own switch, one way",
		"SimAI: topology generator").Min("0s")
	p.Bool(&c.Optimised, "optimised", "true", "a leaf has GPUs of one rail; false: a leaf has all GPUs of its servers",
		"SimAI: topology generator, Spectrum-X")
	p.AddRule("pods", func() error {
		if c.Pods > 0 && c.Servers%c.Pods != 0 {
			return fmt.Errorf("%d servers are not equal parts of %d pods", c.Servers, c.Pods)
		}
		return nil
	})
	p.AddRule("spines", func() error {
		if c.Spines == 0 && c.Pods > 1 {
			return fmt.Errorf("several pods are joined above their spines, and there are none")
		}
		return nil
	})
}

// buildNetwork makes the network. It is an error if it has too many nodes or links. The nodes are the hosts by server,
// the leaves, spines and cores, and the servers' own switches. A Segment of 0, or above the servers of a pod, is the
// whole pod.
func (c rails) buildNetwork() (*Network, error) {
	perPod := c.Servers / c.Pods
	segment := c.Segment
	if segment == 0 || segment > perPod {
		segment = perPod
	}
	segments := (perPod + segment - 1) / segment // of a pod
	rails := 1
	if c.Optimised {
		rails = c.GPUs
	}
	leaves := c.Pods * segments * rails * c.Planes
	spines, cores := c.Pods*c.Planes*c.Spines, 0
	if c.Pods > 1 {
		cores = c.Planes * c.Spines * c.Uplinks
	}
	hosts, servers := c.Servers*c.GPUs, 0
	links := hosts*c.Planes + leaves*c.Spines
	if c.NVLink != (unit.LinkRate{}) {
		servers = c.Servers
		links += hosts
	}
	if cores > 0 {
		links += spines * c.Uplinks
	}
	b := &builder{links: c.linkSettings}
	if err := b.reserve(hosts+servers+leaves+spines+cores, links); err != nil {
		return nil, err
	}
	b.addHosts(hosts)
	leaf, spine, core := b.addSwitches("leaf", leaves), b.addSwitches("spine", spines), b.addSwitches("core", cores)
	nv := b.addSwitches("nv", servers)
	for i := range hosts {
		server, rail := i/c.GPUs, i%c.GPUs%rails
		at := server/perPod*segments + server%perPod/segment
		for plane := range c.Planes {
			b.addLink(i, leaf+(at*rails+rail)*c.Planes+plane, c.Rate)
		}
	}
	for i := range leaves {
		pod, plane := i/(segments*rails*c.Planes), i%c.Planes
		for k := range c.Spines {
			b.addLink(leaf+i, spine+(pod*c.Planes+plane)*c.Spines+k, c.rateOr(c.Fabric))
		}
	}
	for i := range spines * min(cores, 1) {
		of := i % (c.Planes * c.Spines) // index in its pod
		for k := range c.Uplinks {
			b.addLink(spine+i, core+of*c.Uplinks+k, c.rateOr(c.Fabric))
		}
	}
	b.links = linkSettings{Delay: c.NVLinkDelay, Buffer: c.Buffer}
	for i := range hosts * min(servers, 1) {
		b.addLink(i, nv+i/c.GPUs, c.NVLink)
	}
	return &b.n, nil
}
