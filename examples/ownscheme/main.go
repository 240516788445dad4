// Ownscheme is a weir with a scheme of its own: the program "early" marks or drops
// arriving packets with a probability that grows with the queue.
package main

import (
	"fmt"
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

// config has the program's parameters.
type config struct {
	Least, Most int
}

// Params binds each field to the parameter that sets it. What files, weir show, the schema
// and errors say of a parameter is said here, once.
func (c *config) Params(p *scheme.Params) {
	p.Packets(&c.Least, "least", "5 packets", "queue below which nothing happens", "ours")
	p.Packets(&c.Most, "most", "50 packets", "queue at which everything does", "ours").Max("1000000 packets")
	p.Rule("least", func() error {
		if c.Least >= c.Most {
			return fmt.Errorf("%d packets are not below most, which is %d packets", c.Least, c.Most)
		}
		return nil
	})
}

// earlyScheme is what experiment files name: switch: [forward, {early: {least: 5 packets}}]
var earlyScheme = dataplane.Define(scheme.Scheme{
	Name: "early", Doc: "drops or marks early, linearly with the queue", Source: "ours",
}, func(site *dataplane.Site, c config) (*early, error) {
	return &early{c.Least, c.Most, site.Random("early")}, nil
})

func main() {
	registry := cli.Registry()
	registry.Programs = append(registry.Programs, earlyScheme)
	os.Exit(cli.Main(registry))
}
