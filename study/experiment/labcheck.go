package experiment

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/document"
	"weir/study/measure"
	"weir/worlds/lab/kernel"
)

// What the lab's data plane carries in good time. Frames from all hosts together in a
// second are half of what `weir bench switch` shows it forwards at most; of hosts, each has
// a ring.
const (
	LabFrames = 100e3
	LabHosts  = 128
)

// CheckLab tells what of the experiment cannot be had in a lab whose hosts have this
// kernel: all of it together, as InputErrors. With force, an experiment that is too large
// is none.
func (s *Spec) CheckLab(k *kernel.Kernel, force bool) error {
	c := document.NewReader(experimentFile)
	c.Remember(s.source.File, s.source.Data)
	at := func(keys ...string) document.Place {
		for _, key := range keys {
			if t := s.root.Get(key); t != nil {
				return t.Place
			}
		}
		return s.root.Place
	}
	for _, p := range s.points {
		for i := range p.traffic {
			p.traffic[i].checkLab(c, p, k)
		}
		if p.telemetry != nil {
			c.Fail(at("switch", "switches", "sweep"), "",
				"the lab's hosts are Linux, which does not know packets with telemetry (program telemetry)")
		}
		if p.Framing.Fixed() {
			c.Fail(at("framing"), "l2, wire", "framing %s counts headers that no real frame has", p.Framing.Name)
		}
		for _, m := range p.measures {
			if why := m.Lab(); why != "" {
				c.Fail(m.At, "", "%s", why)
			}
		}
		links := make([]int, len(p.Network.Nodes))
		hosts := 0
		for _, l := range p.Network.Links {
			links[l.Ends[0]]++
			links[l.Ends[1]]++
		}
		for n, node := range p.Network.Nodes {
			if node.Switch {
				continue
			}
			if hosts++; links[n] != 1 {
				c.Fail(at("topology"), "hosts with one link", "host %s has %d links; a host of the lab has one interface",
					node.Name, links[n])
			}
		}
		if c.OK() { // it takes all of the above
			if _, err := p.labHosts(k); err != nil {
				c.Fail(at("traffic"), "hosts of their own for such flows", "%v", err)
			}
		}
		if force {
			continue
		}
		if hosts > LabHosts {
			c.Fail(at("topology"), fmt.Sprintf("up to %d hosts", LabHosts),
				"the network has %d hosts, and each is a namespace with rings of its own", hosts)
		}
		most := float64(LabFrames)
		if k.CPUs == 1 { // hosts and data plane share it
			most /= 2
		}
		if f := p.framesPerSecond(); f > most {
			c.Fail(at("topology"), fmt.Sprintf("rates divided by %.0f, or as many fewer senders; --force runs it all the same",
				roundUpTo(f/most)),
				"too large for this machine at %s: hosts would send about %s frames/s, and the lab carries %s in good time",
				orPoint(p.at), measure.SI(f), measure.SI(most))
		}
	}
	return c.Err()
}

func orPoint(at []measure.Coordinate) string {
	if len(at) == 0 {
		return "its only point"
	}
	return measure.PointName(at)
}

// roundUpTo is the next whole number, as a part of something.
func roundUpTo(x float64) float64 { return float64(int(x) + 1) }

// checkLab tells what of a traffic the kernel cannot carry.
func (tr *traffic) checkLab(c *document.Reader, p *point, k *kernel.Kernel) {
	if over := tr.ipPacket() - mostMTU; over > 0 {
		c.Fail(tr.at, fmt.Sprintf("a payload of %d B", tr.Payload-over),
			"traffic %s: IP packets of %d bytes are longer than interfaces of the lab can have (%d)", tr.Name,
			tr.ipPacket(), mostMTU)
	}
	switch tr.Transport.Name {
	case "udp":
		return
	case "tcp":
	default:
		c.Fail(tr.at, "tcp, udp", "traffic %s: the lab's hosts are Linux, which has no transport %s", tr.Name,
			tr.Transport.Name)
		return
	}
	if err := k.CongestionControl(tr.cc.Name); err != nil {
		c.Fail(tr.ccAt, strings.Join(k.CongestionControls, ", "), "traffic %s: %v", tr.Name, err)
		return
	}
	for _, param := range scheme.Bind(tr.ccConfig).List() {
		if !param.IsDefault() {
			c.Fail(tr.ccAt, "its default: "+param.Default, "traffic %s: the kernel's %s has no parameter %s", tr.Name,
				tr.cc.Name, param.Name)
		}
	}
	if _, err := k.TCP(tr.values); err != nil {
		c.Fail(tr.at, "", "traffic %s: %v", tr.Name, err)
	}
}

// labHosts are the hosts' settings, by node, that the traffic's TCP parameters need. The
// error names a host whose flows want different things.
func (p *point) labHosts(k *kernel.Kernel) (map[int]*kernel.Host, error) {
	hosts := map[int]*kernel.Host{}
	add := func(node int, h kernel.Host) error {
		if hosts[node] == nil {
			hosts[node] = &kernel.Host{}
		}
		if err := hosts[node].Add(h); err != nil {
			return fmt.Errorf("host %s: %w", p.Network.Nodes[node].Name, err)
		}
		return nil
	}
	for id := range p.traffic {
		tr := &p.traffic[id]
		if tr.Transport.Name != "tcp" {
			continue
		}
		s, err := k.TCP(tr.values)
		if err != nil {
			return nil, fmt.Errorf("traffic %s: %w", tr.Name, err)
		}
		ends := map[[2]int]bool{} // node and 0 or 1: it sends, or receives
		var order [][2]int
		end := func(node, which int) {
			if e := [2]int{node, which}; !ends[e] {
				ends[e] = true
				order = append(order, e)
			}
		}
		if g := tr.generator; g != nil {
			for _, h := range g.from {
				end(h, 0)
			}
			for _, h := range g.to {
				end(h, 1)
			}
		}
		for _, f := range p.flows {
			if f.traffic == id {
				end(f.src, 0)
				end(f.dst, 1)
			}
		}
		for _, e := range order {
			h := s.Sender
			if e[1] == 1 {
				h = s.Receiver
			}
			if err := add(e[0], h); err != nil {
				return nil, err
			}
		}
	}
	return hosts, nil
}

// mostMTU is the largest MTU of the lab's interfaces.
const mostMTU = 9216

// ipPacket is the length of a traffic's largest IP packets.
func (tr *traffic) ipPacket() int32 { return tr.Headers() - packet.EthernetHeader + tr.Payload }

// framesPerSecond is about how many frames hosts send together at most: datagrams at their
// rate, TCP as fast as links of senders and receivers let it, and an acknowledgement for
// two segments.
func (p *point) framesPerSecond() float64 {
	n := len(p.Network.Nodes)
	rate := make([]float64, n) // of hosts' links
	for _, l := range p.Network.Links {
		for _, e := range l.Ends {
			if !p.Network.Nodes[e].Switch {
				if rate[e] = float64(l.Rate.Bits); l.Rate.Bits == 0 {
					rate[e] = float64(l.Rate.Packets) * 12000
				}
			}
		}
	}
	out, in := make([]float64, n), make([]float64, n)                 // bit/s by host: TCP sent and received at most
	datagrams, datagramBits := make([]float64, n), make([]float64, n) // a second, by host
	segment := 1e18                                                   // bits of a full frame of TCP, the least
	add := func(tr *traffic, src, dst int, offered float64) {
		bits := 8 * float64(tr.Headers()+tr.Payload)
		if tr.Transport.Name == "udp" {
			packets := offered / 8 / float64(tr.Payload)
			datagrams[src] += packets
			datagramBits[src] += packets * bits
			return
		}
		segment = min(segment, bits)
		out[src] += offered
		in[dst] += offered
	}
	for id := range p.traffic {
		tr := &p.traffic[id]
		offered := 1e18
		if r := appRate(tr); r > 0 {
			offered = float64(r)
		}
		if g := tr.generator; g != nil {
			for _, src := range g.from {
				if g.load > 0 {
					offered = g.load * rate[src]
				}
				for _, dst := range g.to[:min(len(g.to), 1)] {
					add(tr, src, dst, offered)
				}
			}
			for _, dst := range g.to {
				in[dst] = 1e18 // whoever it is
			}
		}
		for _, f := range p.flows {
			if f.traffic == id {
				add(tr, f.src, f.dst, offered)
			}
		}
	}
	frames, sent, received := 0.0, 0.0, 0.0
	for h := range rate {
		if datagrams[h] > 0 {
			frames += datagrams[h] * min(1, rate[h]/datagramBits[h])
		}
		sent += min(out[h], rate[h])
		received += min(in[h], rate[h])
	}
	return frames + 1.5*min(sent, received)/segment
}

// EstimateLab guesses how many frames a second the hosts of a run send together at most,
// and how long the run takes in the lab, in seconds.
func EstimateLab(r *RunSpec) (frames, seconds float64) {
	const around = 1 // namespaces, data plane, lead, end
	p := r.point
	return p.framesPerSecond(), (p.Warmup + p.Duration).Seconds() + around
}

// appRate is at what rate a traffic's flows send by themselves; 0: as fast as it goes.
func appRate(tr *traffic) unit.Rate {
	for _, param := range tr.Transport.Params {
		if param.Name == "rate" && param.Kind == scheme.Rate {
			return tr.values.Rate("rate")
		}
	}
	return 0
}

// Switches are those of the experiment's networks whose names some pattern matches
// (path.Match), in the order of the first network that has them. The error is about a
// pattern that matches none at some point.
func (s *Spec) Switches(patterns []string) (names []string, err error) {
	for _, pattern := range patterns {
		for _, p := range s.points {
			var all []string
			found := false
			for _, n := range p.Network.Nodes {
				if !n.Switch {
					continue
				}
				all = append(all, n.Name)
				if ok, err := path.Match(pattern, n.Name); ok && err == nil || n.Name == pattern {
					if found = true; !slices.Contains(names, n.Name) {
						names = append(names, n.Name)
					}
				}
			}
			if !found {
				if len(all) > 20 {
					all = append(all[:20], "…")
				}
				return nil, fmt.Errorf("no switch is %q; allowed: %s, or a pattern with *", pattern, strings.Join(all, ", "))
			}
		}
	}
	return names, nil
}
