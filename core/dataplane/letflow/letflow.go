// Package letflow is LetFlow (Vanini et al., NSDI 2017): every flowlet takes one of the
// shortest paths at random. Flowlets on slow paths are cut short, for their packets come
// with gaps, so that load balances itself without anybody measuring it.
package letflow

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Program spreads flowlets.
type Program struct {
	paths    dataplane.PathSet
	flowlets *dataplane.Flowlets
	seed     uint32
	random   unit.Random
}

// Scheme is what an experiment names: switch: [letflow].
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "letflow", Doc: "flowlets at random over equal paths; hop limit",
			Source: "Vanini et al., NSDI 2017", Params: []scheme.Param{
				{Name: "gap", Kind: scheme.Duration, Default: "500us", Min: "0s", Max: "10s", Doc: "that ends a flowlet",
					Source: "LetFlow §5: 500us"},
				{Name: "cells", Kind: scheme.Int, Default: "65536", Min: "1", Max: "16777216",
					Doc: "of the flowlet table, rounded up to a power of two", Source: "CONGA §3.4: 64 K entries"},
			}},
		NeedsNetwork: dataplane.Always(dataplane.ChoosesPaths),
		Build: func(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) {
			f, err := dataplane.NewFlowlets(v.Int("cells"), v.Time("gap"))
			if err != nil {
				return nil, err
			}
			r := site.Random("letflow")
			return &Program{dataplane.NewPathSet(site), f, uint32(r.Uint64()), r}, nil
		},
	}
}

// Name is "letflow".
func (l *Program) Name() string { return "letflow" }

// Ingress chooses the port of a flowlet when it begins. A port that does not lead to the
// destination, of another flow in the same cell, ends it.
func (l *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	ports, _, v := l.paths.To(p)
	if v != dataplane.Accept {
		return v
	}
	if m.Out = ports[0]; len(ports) == 1 {
		return dataplane.Accept
	}
	now, hash := env.Now(), dataplane.MixHash(p.Hash^l.seed)
	if port, active := l.flowlets.Port(now, hash); active && leads(ports, port) {
		m.Out = port
		return dataplane.Accept
	}
	m.Out = ports[l.random.Uint64()>>32*uint64(len(ports))>>32]
	l.flowlets.Begin(now, hash, m.Out)
	return dataplane.Accept
}

func leads(ports []dataplane.PortID, port dataplane.PortID) bool {
	for _, x := range ports {
		if x == port {
			return true
		}
	}
	return false
}
