package run

import (
	"fmt"
	"path"
	"slices"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/worlds/lab"
	"weir/worlds/lab/kernel"
)

// Limits of the lab's data plane for punctual frames. MaxLabFrames is the rate of frames from all hosts, half of the
// maximum that `weir bench switch` reports. Each host has a ring.
const (
	MaxLabFrames = 100e3
	MaxLabHosts  = 128
)

// CheckLab returns an InputErrors with all features of the experiment that the lab with this kernel does not support.
// With force, it accepts an experiment that is too large for the machine: it does not check MaxLabHosts and
// MaxLabFrames.
func CheckLab(s *experiment.Spec, k *kernel.Kernel, force bool) error {
	c := document.NewReader(experiment.FileKind)
	c.Remember(s.Text())
	for _, p := range s.Points() {
		for i := range p.Entries() {
			checkLab(p, p.Entry(i), c, s, k)
		}
		checkStacks(p, c)
		checkAgents(p, c, s, k)
		if framing := p.Framing(); framing.IsFixed() {
			c.Fail(s.KeyPlace("framing"), "l2, wire", "framing %s counts headers that real frames do not have", framing.Name)
		}
		for _, m := range p.Measures() {
			if why := m.WhyNotInLab(p.Measured()); why != "" {
				c.Fail(m.At, "", "the lab does not support %s: %s", m.Name, why)
			}
		}
		links := make([]int, len(p.Network().Nodes))
		hosts := 0
		for _, l := range p.Network().Links {
			links[l.Ends[0]]++
			links[l.Ends[1]]++
		}
		for n, node := range p.Network().Nodes {
			if node.Switch {
				continue
			}
			if hosts++; links[n] != 1 {
				c.Fail(s.KeyPlace("topology"), "hosts with one link", "host %s has %s, but a host in the lab has one interface",
					node.Name, map[bool]string{true: "no link", false: fmt.Sprint(links[n], " links")}[links[n] == 0])
				break
			}
		}
		if c.OK() { // labHosts needs a point without errors
			if hosts, err := labHosts(p, k); err != nil {
				c.Fail(s.KeyPlace("traffic"), "separate hosts for such flows", "%v", err)
			} else {
				checkBuffers(p, c, k, hosts)
			}
		}
		if force {
			continue
		}
		if hosts > MaxLabHosts {
			c.Fail(s.KeyPlace("topology"), fmt.Sprintf("up to %d hosts", MaxLabHosts),
				"the network has %d hosts, and the lab needs a namespace with its own rings for each", hosts)
		}
		most := float64(MaxLabFrames)
		if k.CPUs == 1 { // hosts and data plane share the CPU
			most /= 2
		}
		if f := plan.FramesPerSecond(p); f > most {
			c.Fail(s.KeyPlace("topology"), fmt.Sprintf("rates divided by %.0f (--set rates=/%[1]v), or as many times fewer "+
				"senders; --force runs it anyway", roundUpTo(f/most)),
				"too large for this machine at %s: hosts would send about %s frames/s, but the lab can forward only %s on time",
				orPoint(p.Coordinates()), measure.FormatSI(f), measure.FormatSI(most))
		}
	}
	return c.Err()
}

// orPoint returns the name of a sweep's point, or "its only point".
func orPoint(coordinates []measure.Coordinate) string {
	if len(coordinates) == 0 {
		return "its only point"
	}
	return measure.PointName(coordinates)
}

// roundUpTo returns the next whole number above x.
func roundUpTo(x float64) float64 { return float64(int(x) + 1) }

// checkStacks notes errors for triggers, and for flows on Linux hosts that follow flows on Weir hosts or the reverse.
func checkStacks(p *experiment.Point, c *document.Reader) {
	said := map[int]bool{}
	if all := p.Triggers(); len(all) > 0 {
		tr := p.Entry(0)
		for _, t := range all {
			for _, f := range t.Begins {
				tr = p.Entry(p.Flow(f).Traffic)
			}
		}
		c.Fail(tr.At(), "flows with starts", "traffic %s has triggers, which act at the instant when flows end at other "+
			"hosts; hosts in the lab cannot observe this", tr.Name())
	}
	for i := range p.Flows() {
		f := p.Flow(i)
		for _, j := range f.After() {
			if tr, other := p.Entry(f.Traffic), p.Entry(p.Flow(j).Traffic); tr.UsesWeirStack() != other.UsesWeirStack() &&
				!said[f.Traffic] {
				said[f.Traffic] = true
				c.Fail(tr.At(), "the same stack for both", "traffic %s starts after %s, but in the lab one uses Linux hosts and "+
					"the other Weir's own hosts", tr.Name(), other.Name())
			}
		}
	}
}

// checkLab notes errors for a traffic that the lab's hosts cannot send: jobs, packets above the largest MTU, and
// features that the kernel's TCP lacks.
func checkLab(p *experiment.Point, tr *experiment.Traffic, c *document.Reader, s *experiment.Spec, k *kernel.Kernel) {
	if tr.Job() != nil {
		c.Fail(tr.At(), "weir run", "traffic %s is a job, and only the simulator can run jobs", tr.Name())
		return
	}
	if over := ipPacket(p, tr) - maxMTU; over > 0 {
		c.Fail(tr.At(), fmt.Sprintf("a payload of %d B", tr.Payload()-over),
			"traffic %s: IP packets of %d bytes exceed the limit of interfaces in the lab (%d bytes)", tr.Name(),
			ipPacket(p, tr), maxMTU)
	}
	transport, parameters := tr.Transport()
	if tr.UsesWeirStack() || transport.Kernel == packet.ProtoUDP {
		return
	}
	if agentOf(tr) == nil && !checkController(tr, c, s, k) {
		return
	}
	if _, err := k.TCPSettings(parameters); err != nil {
		c.Fail(tr.At(), "a feature of this kernel, or stack: weir of "+transport.Name, "traffic %s: %v", tr.Name(), err)
	}
}

// checkController notes errors for a traffic's congestion control that the kernel lacks. It reports whether the
// kernel has the algorithm.
func checkController(tr *experiment.Traffic, c *document.Reader, s *experiment.Spec, k *kernel.Kernel) bool {
	transport, _ := tr.Transport()
	controller, config := tr.CC()
	if err := checkAlgorithm(k, controller); err != nil {
		has := append(s.KernelControllers(k.CongestionControls), s.FollowedControllers()...)
		c.Fail(tr.CCAt(), document.JoinChoices(has)+", or any with stack: weir of "+transport.Name, "traffic %s: %v",
			tr.Name(),
			err)
		return false
	}
	for _, param := range scheme.Bind(config).List() {
		if !param.IsDefault() {
			c.Fail(tr.CCAt(), "its default: "+param.Default, "traffic %s: the kernel's %s has no parameter %s", tr.Name(),
				controller.Kernel, param.Name)
		}
	}
	return true
}

// checkAlgorithm returns an error if the kernel lacks a controller's algorithm.
func checkAlgorithm(k *kernel.Kernel, s *cc.Scheme) error {
	if s.Kernel == "" {
		return fmt.Errorf("the lab's hosts run Linux, which has no congestion control equivalent to %s", s.Name)
	}
	return k.CheckCongestionControl(s.Kernel)
}

// labHosts returns the kernel settings of hosts, by node, that the traffic's TCP parameters need. It returns an error
// that names the host if a host's flows need different settings.
func labHosts(p *experiment.Point, k *kernel.Kernel) (map[int]*kernel.Host, error) {
	hosts := map[int]*kernel.Host{}
	add := func(node int, h kernel.Host) error {
		if hosts[node] == nil {
			hosts[node] = &kernel.Host{}
		}
		if err := hosts[node].Merge(h); err != nil {
			return fmt.Errorf("host %s: %w", p.Network().Nodes[node].Name, err)
		}
		return nil
	}
	for id := range p.Entries() {
		tr := p.Entry(id)
		transport, parameters := tr.Transport()
		if transport.Kernel != packet.ProtoTCP || tr.UsesWeirStack() {
			continue
		}
		s, err := k.TCPSettings(parameters)
		if err != nil {
			return nil, fmt.Errorf("traffic %s: %w", tr.Name(), err)
		}
		ends := map[[2]int]bool{} // node, and 0 for a sender or 1 for a receiver
		var order [][2]int
		end := func(node, which int) {
			if e := [2]int{node, which}; !ends[e] {
				ends[e] = true
				order = append(order, e)
			}
		}
		if g, ok := tr.Generator(); ok {
			for _, h := range g.From {
				end(h, 0)
			}
			for _, h := range g.To {
				end(h, 1)
			}
		}
		for i := range p.Flows() {
			if f := p.Flow(i); f.Traffic == id {
				end(f.Src, 0)
				end(f.Dst, 1)
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

// checkBuffers notes an error for a traffic with buffers other than another traffic's at the same host. The argument
// hosts is the result of labHosts.
func checkBuffers(p *experiment.Point, c *document.Reader, k *kernel.Kernel, hosts map[int]*kernel.Host) {
	said := map[int]bool{}
	check := func(id, src, dst int) {
		tr := p.Entry(id)
		transport, parameters := tr.Transport()
		if transport.Kernel != packet.ProtoTCP || tr.UsesWeirStack() || said[id] {
			return
		}
		s, _ := k.TCPSettings(parameters) // labHosts has checked the parameters
		if err := s.SetBuffers(hosts[src], hosts[dst]); err != nil {
			said[id] = true
			c.Fail(tr.At(), "", "traffic %s: %v", tr.Name(), err)
		}
	}
	for id := range p.Entries() {
		if g, ok := p.Entry(id).Generator(); ok {
			for _, src := range g.From {
				for _, dst := range g.To {
					check(id, src, dst)
				}
			}
		}
	}
	for i := range p.Flows() {
		f := p.Flow(i)
		check(f.Traffic, f.Src, f.Dst)
	}
}

// maxMTU is the largest MTU of the lab's interfaces.
const maxMTU = 9216

// ipPacket returns the length of a traffic's largest IP packets in bytes.
func ipPacket(p *experiment.Point, tr *experiment.Traffic) int32 {
	n := tr.Headers() - packet.EthernetHeader + tr.Payload() + agentRoom(p, tr)
	if t, _ := tr.Transport(); tr.UsesWeirStack() {
		n += t.First + packet.MaxExtensionBytes // notices, shares of a path, activity
		if f := p.Telemetry(); f != nil {
			n += f.MaxBytes()
		}
	}
	return n
}

// ownHosts reports whether a point has Weir hosts.
func ownHosts(p *experiment.Point) bool {
	for i := range p.Entries() {
		if p.Entry(i).UsesWeirStack() {
			return true
		}
	}
	return false
}

// MatchSwitches returns the names of the experiment's switches that match one of the patterns (path.Match), in the
// order of the first network that has them. It includes lab.CaptureHosts if that is among the patterns. It returns an
// error if a pattern matches no switch at some point, or if hosts are requested and no host is a Weir host.
func MatchSwitches(s *experiment.Spec, patterns []string) (names []string, err error) {
	for _, pattern := range patterns {
		if pattern == lab.CaptureHosts {
			if !slices.ContainsFunc(s.Points(), ownHosts) {
				return nil, fmt.Errorf("the experiment has no Weir hosts; allowed: names of switches, or transports with such " +
					"hosts (stack: weir)")
			}
			if !slices.Contains(names, pattern) {
				names = append(names, pattern)
			}
			continue
		}
		for _, p := range s.Points() {
			var all []string
			found := false
			for _, n := range p.Network().Nodes {
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
				return nil, fmt.Errorf("no switch has the name %q; allowed: %s, or a pattern with *",
					pattern, document.JoinChoices(all))
			}
		}
	}
	return names, nil
}
