package run

import (
	"fmt"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/linked"
	"weir/study/experiment"
	"weir/study/results"
	"weir/worlds/lab/kernel"
)

// What agents of Linux hosts (worlds/agent) can have.
const (
	agentHosts   = 48  // each has a program at the machine's root of cgroups, which takes 64
	agentHops    = 5   // records that a segment has room for
	agentPayload = 148 // an MSS below 320 bytes is not lowered
)

// agentDelay is what hosts and data plane add to a round trip (weir bench switch: idle echoes).
const agentDelay = 200 * unit.Microsecond

// AgentConfig is what the agent of a host is given.
type AgentConfig struct {
	Eta      float64   // target utilisation
	Flows    int       // expected on a link
	MaxStage int       // additive increases before a multiplicative one
	RTT      unit.Time // of the empty path; 0: the minimum that each connection measures
	Rate     unit.Rate // of the host's link, if it sends; 0: not bounded
}

// AgentDriver runs agents in the hosts of a lab. Package hostagents has one.
type AgentDriver interface {
	// Check returns why this machine can run no agent.
	Check() error
	// Start starts an agent in the network namespace of each host of the list, in which within runs a function.
	Start(hosts []AgentHost, within func(node int, f func() error) error) (AgentGroup, error)
}

// AgentHost is a host with an agent.
type AgentHost struct {
	Node      int
	Name      string
	Interface string // that its connections go through
	Config    AgentConfig
}

// AgentGroup is the agents of a run.
type AgentGroup interface {
	// Close ends them. Connections that are open go on as CUBIC.
	Close() error
	// Counts returns what they counted, after Close.
	Counts() *results.Agents
}

// Agents is the place of the AgentDriver, which an import links in.
var Agents = linked.New[AgentDriver]("the agent, by which Linux' own TCP follows HPCC++", "weir/app/agent")

// AskKernel asks this machine's kernel what it offers, also to agents, if an experiment has any.
func AskKernel() (*kernel.Kernel, error) {
	k, err := kernel.Ask()
	if err == nil {
		k.Agent = func() error {
			driver, err := Agents.Get()
			if err != nil {
				return err
			}
			return driver.Check()
		}
	}
	return k, err
}

// agentOf returns cc.Traits.Agent of a traffic's law if Linux' own TCP is to follow it, by agents of its hosts; else
// nil.
func agentOf(tr *experiment.Traffic) func() (cc.Agent, []scheme.Remark) {
	transport, _ := tr.Transport()
	_, config := tr.CC()
	if transport.Kernel != packet.ProtoTCP || tr.Own() {
		return nil
	}
	return cc.TraitsOf(config).Agent
}

// agentRoom is what agents put into each segment of a traffic.
func agentRoom(p *experiment.Point, tr *experiment.Traffic) int32 {
	if f := p.Telemetry(); f != nil && agentOf(tr) != nil {
		return f.Most()
	}
	return 0
}

// eachEnds visits the hosts of a traffic's flows, from source to destination, all that there can be.
func eachEnds(p *experiment.Point, id int, visit func(src, dst int)) {
	if g, ok := p.Entry(id).Generator(); ok {
		for _, src := range g.From {
			for _, dst := range g.To {
				if src != dst {
					visit(src, dst)
				}
			}
		}
	}
	for i := range p.Flows() {
		if f := p.Flow(i); f.Traffic == id {
			visit(f.Src, f.Dst)
		}
	}
}

// checkAgents tells what agents cannot do of a point's traffic, and reports whether some is theirs.
func checkAgents(p *experiment.Point, c *document.Reader, s *experiment.Spec, k *kernel.Kernel) {
	var first *experiment.Traffic
	const own = "stack: weir of tcp"
	for id := range p.Entries() {
		tr := p.Entry(id)
		follow := agentOf(tr)
		if follow == nil {
			continue
		}
		if first == nil {
			first = tr
		}
		cc, _ := tr.CC()
		if _, remarks := follow(); len(remarks) > 0 {
			for _, r := range remarks {
				c.Fail(tr.CCAt(), "", "traffic %s: cc %s: %s: %s", tr.Name(), cc.Name, r.Param, r.Text)
			}
		}
		if tr.Version() != 6 {
			c.Fail(tr.At(), "ip: 6, or "+own, "traffic %s: Linux' own TCP follows %s over IPv6 only, which has room for "+
				"records of switches", tr.Name(), cc.Name)
		}
		if tr.Payload() < agentPayload {
			c.Fail(tr.At(), fmt.Sprintf("a payload of %d B or more, or %s", agentPayload, own), "traffic %s: segments of "+
				"Linux with a payload of %d B have no room for records", tr.Name(), tr.Payload())
		}
		checkTrace(p, c, s, id)
	}
	if first == nil {
		return
	}
	if k.Agent != nil {
		if err := k.Agent(); err != nil {
			c.Fail(first.CCAt(), own, "traffic %s: %v", first.Name(), err)
		}
	}
	if c.OK() {
		if _, err := labAgents(p); err != nil {
			c.Fail(first.At(), "hosts of their own for such flows, or "+own, "%v", err)
		}
	}
}

// checkTrace tells what agents cannot read of the telemetry that a traffic's path writes.
func checkTrace(p *experiment.Point, c *document.Reader, s *experiment.Spec, id int) {
	tr := p.Entry(id)
	at := s.At("switch", "switches", "sweep")
	f := p.Telemetry()
	switch {
	case f == nil:
		c.Fail(at, "{telemetry: {format: ioam}} among a switch's programs", "traffic %s: no switch writes records, and its "+
			"hosts of Linux would be CUBIC's", tr.Name())
		return
	case f.Profile.Name != "ioam" || f.Micro || f.Sojourn || f.Hops != agentHops:
		c.Fail(at, fmt.Sprintf("format: ioam with fraction: ns, hops: %d and without sojourn, or stack: weir of tcp",
			agentHops), "traffic %s: hosts of Linux have traces of IOAM with room for %d hops, times in ns, bytes and queues, "+
			"and no other telemetry", tr.Name(), agentHops)
	}
	seen, hops := p.Measured(), 0
	eachEnds(p, id, func(src, dst int) { hops = max(hops, seen.Path(src, dst, &seen.Traffic[id]).Hops) })
	if hops > agentHops {
		c.Fail(s.At("topology"), fmt.Sprintf("paths of up to %d switches, or stack: weir of tcp", agentHops), "traffic %s: "+
			"a path has %d switches, and segments of Linux have room for records of %d", tr.Name(), hops, agentHops)
	}
}

// agentPlan is what is known of a host's agent.
type agentPlan struct {
	law               cc.Agent
	shortest, longest unit.Time // base round trips of its flows
	rate              unit.Rate // of its link, if it sends
}

// labAgents are what the agents of a point's hosts are told, by node. T is that of a host's paths, if those are alike;
// else each connection measures its own. The error names a host whose flows want different things.
func labAgents(p *experiment.Point) (map[int]AgentConfig, error) {
	name := func(node int) string { return p.Network().Nodes[node].Name }
	seen, hosts := p.Measured(), map[int]*agentPlan{}
	var err error
	fail := func(node int, format string, args ...any) {
		if err == nil {
			err = fmt.Errorf("host %s: %s", name(node), fmt.Sprintf(format, args...))
		}
	}
	for id := range p.Entries() {
		follow := agentOf(p.Entry(id))
		if follow == nil {
			continue
		}
		law, _ := follow()
		eachEnds(p, id, func(src, dst int) {
			path := seen.Path(src, dst, &seen.Traffic[id])
			for _, node := range [2]int{src, dst} {
				h := hosts[node]
				if h == nil {
					h = &agentPlan{law: law, shortest: path.BaseRTT}
					hosts[node] = h
				}
				if h.law != law {
					fail(node, "its flows want laws of %s, and of %s; an agent has one for all", lawText(h.law), lawText(law))
				}
				h.shortest, h.longest = min(h.shortest, path.BaseRTT), max(h.longest, path.BaseRTT)
			}
			hosts[src].rate = path.NICRate
		})
	}
	if n := len(hosts); n > agentHosts {
		return nil, fmt.Errorf("%d hosts of Linux would have agents; %d can", n, agentHosts)
	}
	if len(hosts) > 0 {
		othersTaken(p, hosts, fail)
	}
	configs := map[int]AgentConfig{}
	for node, h := range hosts {
		configs[node] = h.config()
	}
	return configs, err
}

func lawText(a cc.Agent) string {
	return fmt.Sprintf("eta %v, n %d, max_stage %d, t %v", a.Eta, a.Flows, a.MaxStage, a.T)
}

// othersTaken finds connections that an agent would take that are not meant.
func othersTaken(p *experiment.Point, hosts map[int]*agentPlan, fail func(node int, format string, args ...any)) {
	for id := range p.Entries() {
		tr := p.Entry(id)
		transport, _ := tr.Transport()
		if transport.Kernel != packet.ProtoTCP || tr.Own() || tr.Version() != 6 || agentOf(tr) != nil {
			continue
		}
		eachEnds(p, id, func(src, dst int) {
			for _, node := range [2]int{src, dst} {
				if hosts[node] != nil {
					fail(node, "its agent would take traffic %s as well, as all of TCP over IPv6; ip: 4 keeps it out", tr.Name())
				}
			}
		})
	}
}

// config is that of the host's agent.
func (h *agentPlan) config() AgentConfig {
	c := AgentConfig{Eta: h.law.Eta, Flows: h.law.Flows, MaxStage: h.law.MaxStage, Rate: h.rate}
	switch {
	case h.law.T > 0:
		c.RTT = h.law.T
	case h.longest-h.shortest <= h.longest/100:
		c.RTT = h.longest + agentDelay
	}
	return c
}
