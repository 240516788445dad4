// Ownscheme is a weir with a scheme of its own: the program "early" marks or drops
// arriving packets with a probability that grows with the queue.
package main

import (
	"os"

	"weir/cmd/weir/cli"
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// early is the program's state in one switch.
type early struct {
	least, most int // queue lengths: below least nothing happens, at most everything
	random      unit.Random
}

func (e *early) Name() string { return "early" }

// Admit is asked before a packet enters the queue p.Meta.Queue of port p.Meta.Out.
func (e *early) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	length := int(env.Port(p.Meta.Out).Packets())
	share := float64(length-e.least) / float64(e.most-e.least)
	if share <= 0 || e.random.Float64() >= share {
		return dataplane.Accept
	}
	if p.TOS&packet.ECN == packet.ECT0 { // the sender knows marks (RFC 3168)
		p.TOS |= packet.CE
		return dataplane.Accept
	}
	return dataplane.Drop(dataplane.EarlyDrop)
}

// earlyScheme is what experiment files name: switch: [forward, {early: {least: 5 packets}}]
var earlyScheme = dataplane.Scheme{
	Scheme: scheme.Scheme{
		Name: "early", Doc: "drops or marks early, linearly with the queue", Source: "ours",
		Params: []scheme.Param{
			{Name: "least", Kind: scheme.Packets, Default: "5 packets", Doc: "queue below which nothing happens",
				Source: "ours"},
			{Name: "most", Kind: scheme.Packets, Default: "50 packets", Doc: "queue at which everything does", Source: "ours"},
		},
	},
	Build: func(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) {
		return &early{v.Int("least"), v.Int("most"), site.Random("early")}, nil
	},
}

func main() {
	registry := cli.Registry()
	registry.Programs = append(registry.Programs, earlyScheme)
	os.Exit(cli.Main(registry))
}
