// Package letflow is LetFlow (Vanini et al., NSDI 2017): every flowlet takes a random one of the shortest paths.
// Packets have larger gaps on slow paths, so that flowlets there are shorter. So load balances without any
// measurement.
//
// The gap of 500 us (§5) is 5 T, where T is the longest round trip of the fat tree without queues, and scales with T
// unless a file states it (dataplane.DerivedTime). In networks that are no fat tree it is 500 us.
package letflow

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// program spreads flowlets.
type program struct {
	paths    dataplane.PathSet
	flowlets *dataplane.Flowlets
	seed     uint32
	random   unit.Random
	*dataplane.Failover
}

// config holds LetFlow's parameters.
type config struct {
	Gap   unit.Time // min gap between flowlets; 0: derived
	Cells int       // of the flowlet table

	Failover unit.Time
}

// derivedGap is the default gap.
var derivedGap = dataplane.DerivedTime{Published: 500 * unit.Microsecond}

// Params binds the options of letflow to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	derivedGap.BindParam(p, &c.Gap, "gap", "idle time that ends a flowlet", "LetFlow §5").Max("10s")
	p.Int(&c.Cells, "cells", "65536", "entries of the flowlet table, rounded up to a power of two; flows of one entry "+
		"share a path, so it should be far above the number of flows at a time",
		"CONGA §3.4: 64 K entries").Min("1").Max("16777216")
	dataplane.BindFailover(p, &c.Failover)
}

// Traits returns that the program selects a path for each flowlet. It cannot run standalone, because a bridge has one
// path.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: dataplane.ChoosesPaths, SelectsPath: true, Spreads: dataplane.EachFlowlet}
}

// Scheme returns the scheme of switch: [letflow].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "letflow", Doc: "sends each flowlet to a random equal-cost port; " +
		"decrements the hop limit",
		Source: "LetFlow (Vanini et al., NSDI 2017)"},
		func(site *dataplane.Site, c config) (*program, error) { return newProgram(site, c), nil })
}

// newProgram returns the program of a switch. A gap of 0 becomes the derived one.
func newProgram(site *dataplane.Site, c config) *program {
	derivedGap.SetDefault(&c.Gap, site)
	r := site.Random("letflow")
	return &program{dataplane.NewPathSet(site), dataplane.NewFlowlets(c.Cells, c.Gap), uint32(r.Uint64()), r,
		dataplane.NewFailover(site, c.Failover)}
}

// Name returns "letflow".
func (l *program) Name() string { return "letflow" }

// Ingress decrements the hop limit, drops packets without route or hops, and gives others their flowlet's port, which
// it draws when the flowlet begins. A flowlet also ends if its port does not lead to the destination, because another
// flow shares the cell, or if the port is excluded.
func (l *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	ports, _, v := l.paths.TakeHop(p)
	if v != dataplane.Accept {
		return v
	}
	if m.Out = ports[0]; len(ports) == 1 {
		return dataplane.Accept
	}
	now, hash := env.Now(), dataplane.MixHash(p.Hash^l.seed)
	if port, active := l.flowlets.ContinueFlowlet(now, hash); active && containsPort(ports, port) &&
		!l.IsExcluded(env, port) {
		m.Out = port
		return dataplane.Accept
	}
	ports = l.LivePorts(env, ports)
	m.Out = ports[l.random.Uint64()>>32*uint64(len(ports))>>32]
	l.flowlets.BeginFlowlet(now, hash, m.Out)
	return dataplane.Accept
}

// Normalize clears flowlets that have ended (dataplane.Normalizer).
func (l *program) Normalize(now unit.Time) { l.flowlets.Normalize(now) }

// containsPort reports whether ports contain port.
func containsPort(ports []packet.PortID, port packet.PortID) bool {
	for _, x := range ports {
		if x == port {
			return true
		}
	}
	return false
}
