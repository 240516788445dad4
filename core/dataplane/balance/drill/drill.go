// Package drill is DRILL(d, m) (Ghorbani et al., SIGCOMM 2017): every packet goes to the
// shortest queue of d that are drawn at random and the m that were shortest the last time,
// among the shortest paths to its destination. It looks at this switch only, packet by
// packet, and leaves what it reorders to the receivers.
package drill

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config are the d and m of DRILL(d, m).
type config struct {
	Draws, Memory int
	Failover      unit.Time
}

// Params binds the configuration.
func (c *config) Params(p *scheme.Params) {
	p.Int(&c.Draws, "d", "2", "queues drawn", "DRILL §3.2: DRILL(2,1)").Min("1").Max("64")
	p.Int(&c.Memory, "m", "1", "queues remembered", "DRILL §3.2").Min("0").Max("64")
	dataplane.BindFailover(p, &c.Failover)
}

// program spreads packets.
type program struct {
	paths  dataplane.PathSet
	draws  int
	memory int
	random unit.Random
	best   [][]packet.PortID // by number of the set of ports: what was best, shortest first
	*dataplane.Failover
}

// Traits returns that it selects a path for each packet.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: dataplane.ChoosesPaths, SelectsPath: true, Spreads: dataplane.EachPacket}
}

// Scheme is what an experiment names: switch: [drill].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "drill", Doc: "each packet to the shortest of some random queues and " +
		"the last best, among equal paths; hop limit", Source: "DRILL (Ghorbani et al., SIGCOMM 2017)"},
		func(site *dataplane.Site, c config) (*program, error) {
			return &program{paths: dataplane.NewPathSet(site), draws: c.Draws, memory: c.Memory,
				random: site.Random("drill"), Failover: dataplane.NewFailover(site, c.Failover)}, nil
		})
}

// Name is "drill".
func (d *program) Name() string { return "drill" }

// Ingress chooses the port of a packet.
func (d *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	ports, set, v := d.paths.To(p)
	if v != dataplane.Accept {
		return v
	}
	if m.Out = ports[0]; len(ports) == 1 || set < 0 {
		return dataplane.Accept
	}
	best := d.remembered(ports, set)
	if d.Failover != nil {
		ports = d.Live(env, ports)
	}
	m.Out = ports[d.draw(len(ports))]
	least := env.Port(m.Out).Bytes()
	for range d.draws - 1 {
		x := ports[d.draw(len(ports))]
		if n := env.Port(x).Bytes(); n < least {
			m.Out, least = x, n
		}
	}
	for _, x := range best {
		if n := env.Port(x).Bytes(); n < least && !d.Leaves(env, x) {
			m.Out, least = x, n
		}
	}
	if len(best) > 0 { // the m best of those looked at: this one goes to the front
		at := len(best) - 1
		for i, x := range best {
			if x == m.Out {
				at = i
				break
			}
		}
		copy(best[1:at+1], best[:at])
		best[0] = m.Out
	}
	return dataplane.Accept
}

func (d *program) draw(n int) int { return int(d.random.Uint64() >> 32 * uint64(n) >> 32) }

// remembered returns the memory of a set of ports, which is made once.
func (d *program) remembered(ports []packet.PortID, set int) []packet.PortID {
	for set >= len(d.best) {
		d.best = append(d.best, nil)
	}
	if d.best[set] == nil {
		d.best[set] = append(make([]packet.PortID, 0, d.memory), ports[:min(d.memory, len(ports))]...)
	}
	return d.best[set]
}
