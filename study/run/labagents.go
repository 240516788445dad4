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

// Limits of agents on Linux hosts (worlds/agent).
const (
	agentHosts   = 48  // each agent has a program at the machine's root cgroup, which takes 64
	agentHops    = 5   // records that fit into a segment
	agentPayload = 148 // the kernel does not lower an MSS below 320 bytes
)

// agentDelay is the delay of hosts and data plane in a round trip (weir bench switch: idle echoes).
const agentDelay = 200 * unit.Microsecond

// AgentConfig is the configuration of a host's agent.
type AgentConfig struct {
	Eta      float64   // target utilization
	Flows    int       // expected flows on a link
	MaxStage int       // additive increases before a multiplicative one
	RTT      unit.Time // of the empty path; 0: the minimum measured by each connection
	Rate     unit.Rate // of the host's link if it sends; 0: no limit
}

// AgentDriver runs agents in the hosts of a lab. Package hostagents implements it.
type AgentDriver interface {
	// Check returns an error if this machine cannot run agents.
	Check() error
	// Start starts an agent in the network namespace of each host. The function within executes f in the namespace of a
	// node.
	Start(hosts []AgentHost, within func(node int, f func() error) error) (AgentGroup, error)
}

// AgentHost is a host with an agent.
type AgentHost struct {
	Node      int
	Name      string
	Interface string // of its connections
	Config    AgentConfig
}

// AgentGroup is the agents of one run.
type AgentGroup interface {
	// Close stops the agents. Open connections continue as CUBIC.
	Close() error
	// Counts returns the agents' counters. Call it after Close.
	Counts() *results.Agents
}

// Agents links to the AgentDriver of an imported package.
var Agents = linked.New[AgentDriver]("the agent for HPCC++ on Linux TCP", "weir/app/agent")

// QueryKernel returns the features of this machine's kernel, with a check for agents that runs on demand.
func QueryKernel() (*kernel.Kernel, error) {
	k, err := kernel.Probe()
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

// agentOf returns cc.Traits.Agent of a traffic's law if agents apply it to Linux TCP, else nil.
func agentOf(tr *experiment.Traffic) func() (cc.AgentParams, []scheme.Remark) {
	transport, _ := tr.Transport()
	_, config := tr.CC()
	if transport.Kernel != packet.ProtoTCP || tr.UsesWeirStack() {
		return nil
	}
	return cc.TraitsOf(config).Agent
}

// agentRoom returns the bytes that agents add to each segment of a traffic. It is 0 without agents or telemetry.
func agentRoom(p *experiment.Point, tr *experiment.Traffic) int32 {
	if f := p.Telemetry(); f != nil && agentOf(tr) != nil {
		return f.MaxBytes()
	}
	return 0
}

// eachEnds calls visit with the source and destination of each possible flow of the traffic with the given index. It
// may visit a pair several times.
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

// checkAgents notes an error for each property of a point's traffic that agents do not support, and one if this machine
// cannot run agents. Without traffic that uses agents it has no effect.
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
			c.Fail(tr.At(), "ip: 6, or "+own, "traffic %s: Linux TCP supports %s over IPv6 only, because only IPv6 has space "+
				"for records of switches", tr.Name(), cc.Name)
		}
		if tr.Payload() < agentPayload {
			c.Fail(tr.At(), fmt.Sprintf("a payload of %d B or more, or %s", agentPayload, own), "traffic %s: Linux segments "+
				"with a payload of %d B have no space for records", tr.Name(), tr.Payload())
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
			c.Fail(first.At(), "separate hosts for such flows, or "+own, "%v", err)
		}
	}
}

// checkTrace notes errors in c for telemetry that agents cannot read, on the paths of the traffic with index id.
func checkTrace(p *experiment.Point, c *document.Reader, s *experiment.Spec, id int) {
	tr := p.Entry(id)
	at := s.KeyPlace("switch", "switches", "sweep")
	f := p.Telemetry()
	switch {
	case f == nil:
		c.Fail(at, "the program {telemetry: {format: ioam}} in a switch", "traffic %s: no switch writes records, so its "+
			"Linux hosts would fall back to CUBIC", tr.Name())
		return
	case f.Profile.Name != "ioam" || f.Microseconds || f.Sojourn || f.Hops != agentHops:
		c.Fail(at, fmt.Sprintf("format: ioam with fraction: ns, hops: %d and without sojourn, or stack: weir of tcp",
			agentHops), "traffic %s: Linux hosts support only IOAM traces with up to %d hops, times in ns, bytes and queues",
			tr.Name(), agentHops)
	}
	seen, hops := p.Measured(), 0
	eachEnds(p, id, func(src, dst int) { hops = max(hops, seen.Path(src, dst, &seen.Traffic[id]).Hops) })
	if hops > agentHops {
		c.Fail(s.KeyPlace("topology"), fmt.Sprintf("paths of up to %d switches, or stack: weir of tcp", agentHops),
			"traffic %s: a path has %d switches, but Linux segments have space for records of %d", tr.Name(), hops, agentHops)
	}
}

// agentPlan collects the flows of a host's agent.
type agentPlan struct {
	law               cc.AgentParams
	shortest, longest unit.Time // base round trips of its flows
	rate              unit.Rate // of its link, if it sends
}

// labAgents returns the configurations of the agents of a point's hosts, by node. It sets RTT if a host's paths are
// alike; else each connection measures its own. It returns an error that names the host if a host's flows need
// different laws or its agent would take other traffic. More than agentHosts hosts are an error, too.
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
					fail(node, "its flows need the parameters %s and %s, but an agent has one set for all flows",
						lawText(h.law), lawText(law))
				}
				h.shortest, h.longest = min(h.shortest, path.BaseRTT), max(h.longest, path.BaseRTT)
			}
			hosts[src].rate = path.NICRate
		})
	}
	if n := len(hosts); n > agentHosts {
		return nil, fmt.Errorf("%d Linux hosts need agents, but only %d are possible", n, agentHosts)
	}
	if len(hosts) > 0 {
		findUnwanted(p, hosts, fail)
	}
	configs := map[int]AgentConfig{}
	for node, h := range hosts {
		configs[node] = h.newConfig()
	}
	return configs, err
}

// lawText describes the parameters of an agent's law in an error.
func lawText(a cc.AgentParams) string {
	return fmt.Sprintf("eta %v, n %d, max_stage %d, t %v", a.Eta, a.Flows, a.MaxStage, a.T)
}

// findUnwanted calls fail for each host with connections that its agent would take although their traffic follows
// another law.
func findUnwanted(p *experiment.Point, hosts map[int]*agentPlan, fail func(node int, format string, args ...any)) {
	for id := range p.Entries() {
		tr := p.Entry(id)
		transport, _ := tr.Transport()
		if transport.Kernel != packet.ProtoTCP || tr.UsesWeirStack() || tr.Version() != 6 || agentOf(tr) != nil {
			continue
		}
		eachEnds(p, id, func(src, dst int) {
			for _, node := range [2]int{src, dst} {
				if hosts[node] != nil {
					fail(node, "its agent would also control traffic %s, like all TCP over IPv6; ip: 4 excludes that traffic",
						tr.Name())
				}
			}
		})
	}
}

// newConfig returns the configuration of the host's agent. RTT is the law's t, or the longest base round trip plus
// agentDelay if its round trips differ by at most 1%. Else it is 0.
func (h *agentPlan) newConfig() AgentConfig {
	c := AgentConfig{Eta: h.law.Eta, Flows: h.law.Flows, MaxStage: h.law.MaxStage, Rate: h.rate}
	switch {
	case h.law.T > 0:
		c.RTT = h.law.T
	case h.longest-h.shortest <= h.longest/100:
		c.RTT = h.longest + agentDelay
	}
	return c
}
