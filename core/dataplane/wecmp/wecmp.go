// Package wecmp is weighted equal-cost multipath: of all shortest paths a flow takes one
// with a probability in proportion to a weight, that of its hash. Weights are the rates of
// the ports (as in WCMP, Zhou et al., EuroSys 2014, for asymmetric networks), or are given.
package wecmp

import (
	"fmt"
	"strconv"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
)

// Program spreads flows by weights.
type Program struct {
	paths  dataplane.PathSet
	seed   uint32
	weight []uint64 // by port
}

// Scheme is what an experiment names: switch: [wecmp].
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "wecmp", Doc: "equal-cost multipath by the flow's hash, weighted; hop limit",
			Source: "WCMP, Zhou et al., EuroSys 2014", Params: []scheme.Param{
				{Name: "weights", Kind: scheme.Map, Of: scheme.Int,
					Doc:    "weight, 0 to 1000, by number of the port; 1 where others are given; without any, the ports' rates",
					Source: "WCMP §3.1: capacities"},
			}},
		NeedsNetwork: dataplane.Always(dataplane.ChoosesPaths),
		Build: func(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) {
			w := &Program{paths: dataplane.NewPathSet(site), seed: uint32(site.Random("wecmp").Uint64()), weight: make([]uint64,
				site.Ports)}
			for i := range w.weight {
				w.weight[i] = 1
				if len(v.Map("weights")) == 0 && i < len(site.Lines) {
					if w.weight[i] = uint64(site.Lines[i].Rate.Bits); w.weight[i] == 0 {
						w.weight[i] = uint64(site.Lines[i].Rate.Packets)
					}
				}
			}
			for _, e := range v.Map("weights") {
				i, err := strconv.Atoi(e.Key)
				if err != nil || i < 0 || i >= site.Ports {
					return nil, fmt.Errorf("wecmp: %q is not a port; 0 … %d are possible", e.Key, site.Ports-1)
				}
				if x := e.Value.(int); x < 0 || x > 1000 {
					return nil, fmt.Errorf("wecmp: port %d has weight %d; 0 … 1000 is possible", i, x)
				}
				w.weight[i] = uint64(e.Value.(int))
			}
			return w, nil
		},
	}
}

// Name is "wecmp".
func (w *Program) Name() string { return "wecmp" }

// Ingress chooses among the destination's paths; with all weights 0 the first.
func (w *Program) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	ports, _, v := w.paths.To(p)
	if v != dataplane.Accept {
		return v
	}
	if p.Meta.Out = ports[0]; len(ports) == 1 {
		return dataplane.Accept
	}
	sum := uint64(0)
	for _, x := range ports {
		sum += w.weight[x]
	}
	// sum is below 2⁵³ for thousands of ports of Tb/s: 32 bits of hash are a fine enough part.
	at := uint64(float64(dataplane.MixHash(p.Hash^w.seed)) / (1 << 32) * float64(sum))
	for _, x := range ports {
		if at < w.weight[x] {
			p.Meta.Out = x
			break
		}
		at -= w.weight[x]
	}
	return dataplane.Accept
}
