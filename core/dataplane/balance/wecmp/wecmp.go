// Package wecmp is weighted equal-cost multipath: the hash of a flow selects one of all shortest paths
// with a probability in proportion to the path's weight. Weights are configured, or the rates of the ports
// (as in WCMP, Zhou et al., EuroSys 2014, for asymmetric networks).
package wecmp

import (
	"fmt"
	"strconv"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// program spreads flows by weights.
type program struct {
	paths  dataplane.PathSet
	seed   uint32
	weight []uint64 // by port
	*dataplane.Failover
}

// config holds the weights of ports.
type config struct {
	// Weights are by number of the port. Ports without one have weight 1, or their rates if the list is empty.
	Weights []scheme.Pair[int, int]

	Failover unit.Time
}

// Params binds the options of wecmp to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	scheme.MapOf(p, &c.Weights, parsePort, scheme.Ints, "weights",
		"weight of ports by their number, counted from 0 in the order of the switch's links: {0: 3, 1: 1}; a port "+
			"without an entry has weight 1, a port with weight 0 gets no flow; without the map, weights are the ports' "+
			"rates; set it if paths behind ports of one rate have different capacities",
		"WCMP §3.1: capacities").Min("0").Max("1000")
	dataplane.BindFailover(p, &c.Failover)
}

// parsePort parses the number of a port, a decimal integer of 0 or above.
func parsePort(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not the number of a port", s)
	}
	return n, nil
}

// Traits returns that the program selects a path for each flow. It cannot run standalone, because a bridge has one
// path.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: dataplane.ChoosesPaths, SelectsPath: true}
}

// Scheme returns the scheme of switch: [wecmp].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "wecmp",
		Doc:    "equal-cost multipath by a hash of the flow, with weights; decrements the hop limit",
		Source: "WCMP (Zhou et al., EuroSys 2014)"}, newProgram)
}

// newProgram returns the program of a switch. It fails if a port with a weight does not exist. Without weights they are
// the ports' rates.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	w := &program{paths: dataplane.NewPathSet(site), seed: uint32(site.Random("wecmp").Uint64()),
		weight: make([]uint64, site.Ports), Failover: dataplane.NewFailover(site, c.Failover)}
	for i := range w.weight {
		w.weight[i] = 1
		if len(c.Weights) == 0 && i < len(site.Lines) {
			if w.weight[i] = uint64(site.Lines[i].Rate.Bits); w.weight[i] == 0 {
				w.weight[i] = uint64(site.Lines[i].Rate.Packets)
			}
		}
	}
	for _, x := range c.Weights {
		if x.Key >= site.Ports {
			return nil, fmt.Errorf("wecmp: \"%d\" is not a port; allowed: 0 … %d", x.Key, site.Ports-1)
		}
		w.weight[x.Key] = uint64(x.Value)
	}
	return w, nil
}

// Name returns "wecmp".
func (w *program) Name() string { return "wecmp" }

// Ingress decrements the hop limit, drops packets without route or hops, and chooses among the destination's paths by
// the hash and the weights. A flow of an excluded port moves to one of the remaining ports.
func (w *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	ports, _, v := w.paths.TakeHop(p)
	if v != dataplane.Accept {
		return v
	}
	if p.Meta.Out = ports[0]; len(ports) == 1 {
		return dataplane.Accept
	}
	hash := dataplane.MixHash(p.Hash ^ w.seed)
	p.Meta.Out = w.drawPort(ports, hash)
	if w.Failover != nil && w.IsExcluded(env, p.Meta.Out) {
		p.Meta.Out = w.drawPort(w.LivePorts(env, ports), dataplane.MixHash(hash+1))
	}
	return dataplane.Accept
}

// drawPort returns the port of a hash: each port gets a share of the 2³² hashes in proportion to its weight. If all
// weights are 0, it is the first port.
func (w *program) drawPort(ports []packet.PortID, hash uint32) packet.PortID {
	sum := uint64(0)
	for _, x := range ports {
		sum += w.weight[x]
	}
	// sum is below 2⁵³ for thousands of ports of Tb/s: 32 bits of hash are fine enough.
	at := uint64(float64(hash) / (1 << 32) * float64(sum))
	for _, x := range ports {
		if at < w.weight[x] {
			return x
		}
		at -= w.weight[x]
	}
	return ports[0]
}
