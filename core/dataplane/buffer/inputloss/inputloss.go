// Package inputloss loses packets at a switch's input with a fixed probability, as in P4-ABC's testbed when BMv2
// could not read fast enough (P4-ABC §6.1.3).
package inputloss

import (
	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Program loses packets.
type Program struct {
	probability float64
	random      unit.Random
}

// Config holds the probability of a packet's loss.
type Config struct{ Probability float64 }

// Traits returns that it drops packets regardless of the queues.
func (*Config) Traits() dataplane.Traits { return dataplane.Traits{DropsEarly: true} }

// Params binds the options of loss to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Share(&c.Probability, "probability", "", "probability that an arriving packet is lost, independent of other "+
		"packets; packets made by the switch pass",
		"Weir").Required().Min("0%").Max("100%")
}

// Scheme returns the scheme of the program loss, as in switch: [{loss: {probability: 0.2%}}, …].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "loss", Doc: "drops random packets at the switch's input",
		Source: "P4-ABC §6.1.3"}, New)
}

// New returns the program, with its own random stream of the switch. It does not check c. The error is always nil.
func New(site *dataplane.Site, c Config) (*Program, error) {
	return &Program{c.Probability, site.Random("loss")}, nil
}

// Name returns "loss".
func (l *Program) Name() string { return "loss" }

// Ingress drops a packet with the given probability. Packets made by the switch pass.
func (l *Program) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if l.probability > 0 && p.Meta.In != packet.NoPort && l.random.Float64() < l.probability {
		return dataplane.Drop(dataplane.InputLoss)
	}
	return dataplane.Accept
}
