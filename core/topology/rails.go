package topology

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/unit"
)

// rails are servers of several GPUs, each a host with its own NIC. GPU i is of server i / GPUs and of rail i mod GPUs.
// A server's GPUs are joined by a switch of their own, as by NVLink. Where the network is rail-optimised, a leaf has
// the GPUs of one rail from the servers of a segment; otherwise all GPUs of these servers. A GPU may have a NIC in each
// of several planes, which are networks beside each other. Above are spines, and above those of several pods cores.
type rails struct {
	linkSettings
	Servers, GPUs int
	Segment       int // servers; zero: all of a pod
	Planes        int
	Spines        int // of each pod and plane; zero: leaves are joined by nothing
	Pods          int
	Uplinks       int           // from each spine to cores, of several pods
	Fabric        unit.LinkRate // of the links between switches; zero: that of the hosts' links
	NVLink        unit.LinkRate // zero: a server's GPUs are joined by the network alone
	NVLinkDelay   unit.Time
	Optimised     bool
}

// Params binds the family's parameters.
func (c *rails) Params(p *scheme.Params) {
	c.bind(p, "of each NIC")
	count(p, &c.Servers, "servers", "servers", "100000")
	p.Int(&c.GPUs, "gpus", "8", "GPUs of a server, each a host with its own NICs: h0, …", "SimAI: topology generator").
		Min("1").Max("64")
	p.Int(&c.Segment, "segment", "0", "servers whose GPUs share leaves; 0: all of a pod",
		"SimAI: 64 or 128 ports of a leaf").Min("0").Max("100000")
	p.Int(&c.Planes, "planes", "1", "NICs of a GPU, each in a network of its own beside the others",
		"SimAI: topology generator, HPN dual plane").Min("1").Max("16")
	p.Int(&c.Spines, "spines", "", "spines of each pod and plane, each linked to all leaves there: spine0, …; 0: none, "+
		"so rails are joined by the servers' own switches at most", "ours").Required().Min("0").Max("10000")
	p.Int(&c.Pods, "pods", "1", "pods, in equal parts of the servers; several are joined by cores", "ours").
		Min("1").Max("10000")
	p.Int(&c.Uplinks, "uplinks", "1", "links from each spine to cores, where there are several pods; spine i of every "+
		"pod reaches the same ones: core0, …", "ours").Min("1").Max("10000")
	p.LinkRate(&c.Fabric, "fabric", "0bps", "of the links between switches; 0bps: that of rate", "ours")
	p.LinkRate(&c.NVLink, "nvlink", "2880Gbps", "of each GPU's link to its server's own switch: nv0, …; 0bps: none",
		"SimAI: topology generator")
	p.Time(&c.NVLinkDelay, "nvlink_delay", "25ns", "propagation delay of these links, one way",
		"SimAI: topology generator").Min("0s")
	p.Bool(&c.Optimised, "optimised", "true", "a leaf has GPUs of one rail; false: all GPUs of its servers",
		"SimAI: topology generator, Spectrum-X")
	p.Rule("pods", func() error {
		if c.Pods > 0 && c.Servers%c.Pods != 0 {
			return fmt.Errorf("%d servers are not equal parts of %d pods", c.Servers, c.Pods)
		}
		return nil
	})
	p.Rule("spines", func() error {
		if c.Spines == 0 && c.Pods > 1 {
			return fmt.Errorf("several pods are joined above their spines, and there are none")
		}
		return nil
	})
}

func (c rails) build() (*Network, error) {
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
	if err := b.fits(hosts+servers+leaves+spines+cores, links); err != nil {
		return nil, err
	}
	b.hosts(hosts)
	leaf, spine, core := b.switches("leaf", leaves), b.switches("spine", spines), b.switches("core", cores)
	nv := b.switches("nv", servers)
	for i := range hosts {
		server, rail := i/c.GPUs, i%c.GPUs%rails
		at := server/perPod*segments + server%perPod/segment
		for plane := range c.Planes {
			b.link(i, leaf+(at*rails+rail)*c.Planes+plane, c.Rate)
		}
	}
	for i := range leaves {
		pod, plane := i/(segments*rails*c.Planes), i%c.Planes
		for k := range c.Spines {
			b.link(leaf+i, spine+(pod*c.Planes+plane)*c.Spines+k, c.or(c.Fabric))
		}
	}
	for i := range spines * min(cores, 1) {
		of := i % (c.Planes * c.Spines) // in its pod
		for k := range c.Uplinks {
			b.link(spine+i, core+of*c.Uplinks+k, c.or(c.Fabric))
		}
	}
	b.links = linkSettings{Delay: c.NVLinkDelay, Buffer: c.Buffer}
	for i := range hosts * min(servers, 1) {
		b.link(i, nv+i/c.GPUs, c.NVLink)
	}
	return &b.n, nil
}
