// Package drill is DRILL(d, m) (Ghorbani et al., SIGCOMM 2017). Every packet goes to the shortest of d random queues
// and the m queues that were shortest last time, among the shortest paths to its destination. It considers only this
// switch, packet by packet, and leaves reordering to the receivers.
package drill

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config holds d and m of DRILL(d, m).
type config struct {
	Draws, Memory int
	Failover      unit.Time
}

// Params binds the options of drill to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	p.Int(&c.Draws, "d", "2", "number of queues drawn at random for each packet; more find shorter queues, but many "+
		"switches then choose the same port at once",
		"DRILL §3.2: DRILL(2,1)").Min("1").Max("64")
	p.Int(&c.Memory, "m", "1", "number of best queues remembered from the last packet; 0: none",
		"DRILL §3.2").Min("0").Max("64")
	dataplane.BindFailover(p, &c.Failover)
}

// program spreads packets.
type program struct {
	paths  dataplane.PathSet
	draws  int
	memory int
	random unit.Random
	best   [][]packet.PortID // by number of the set of ports: the best ports, shortest first
	*dataplane.Failover
}

// Traits returns that the program selects a path for each packet. It cannot run standalone, because a bridge has one
// path.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: dataplane.ChoosesPaths, SelectsPath: true, Spreads: dataplane.EachPacket}
}

// Scheme returns the scheme of switch: [drill].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "drill", Doc: "sends each packet to the shortest of some random " +
		"queues and the last best queue among equal-cost ports; decrements the hop limit",
		Source: "DRILL (Ghorbani et al., SIGCOMM 2017)"},
		func(site *dataplane.Site, c config) (*program, error) {
			return &program{paths: dataplane.NewPathSet(site), draws: c.Draws, memory: c.Memory,
				random: site.Random("drill"), Failover: dataplane.NewFailover(site, c.Failover)}, nil
		})
}

// Name returns "drill".
func (d *program) Name() string { return "drill" }

// Ingress decrements the hop limit, drops packets without route or hops, and chooses the port: the shortest of d drawn
// and m remembered queues in bytes, without excluded ports. It moves that port to the front of the remembered ones.
func (d *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	ports, set, v := d.paths.TakeHop(p)
	if v != dataplane.Accept {
		return v
	}
	if m.Out = ports[0]; len(ports) == 1 || set < 0 {
		return dataplane.Accept
	}
	best := d.rememberedPorts(ports, set)
	if d.Failover != nil {
		ports = d.LivePorts(env, ports)
	}
	m.Out = ports[d.drawIndex(len(ports))]
	least := env.Port(m.Out).Bytes()
	for range d.draws - 1 {
		x := ports[d.drawIndex(len(ports))]
		if n := env.Port(x).Bytes(); n < least {
			m.Out, least = x, n
		}
	}
	for _, x := range best {
		if n := env.Port(x).Bytes(); n < least && !d.IsExcluded(env, x) {
			m.Out, least = x, n
		}
	}
	if len(best) > 0 { // the m best of these: this one moves to the front
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

// drawIndex draws a number from 0 to n − 1.
func (d *program) drawIndex(n int) int { return int(d.random.Uint64() >> 32 * uint64(n) >> 32) }

// rememberedPorts returns the best ports of a set of ports. The first call initializes them with the first ports. The
// slice belongs to d; Ingress changes it. set is the number of the set (PathSet.TakeHop).
func (d *program) rememberedPorts(ports []packet.PortID, set int) []packet.PortID {
	for set >= len(d.best) {
		d.best = append(d.best, nil)
	}
	if d.best[set] == nil {
		d.best[set] = append(make([]packet.PortID, 0, d.memory), ports[:min(d.memory, len(ports))]...)
	}
	return d.best[set]
}
