// Package early is a switch program: it marks or drops arriving packets with a probability that grows with the queue.
package early

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config has the two ends of the line, in packets.
type Config struct{ Least, Most int }

// Params binds the options of early to the fields of c, which keep their values. It also adds the constraint between
// them.
func (c *Config) Params(p *scheme.Params) {
	p.Packets(&c.Least, "least", "5 packets", "length up to which no packet is dropped", "Weir").Min("0 packets")
	p.Packets(&c.Most, "most", "50 packets", "length from which all are dropped", "Weir").Max("1000000 packets")
	p.AddRule("least", func() error {
		if c.Least >= c.Most {
			return fmt.Errorf("%d packets are not below most, which is %d packets", c.Least, c.Most)
		}
		return nil
	})
}

// Traits returns that the program drops packets before a buffer is full, and the queue from which it marks. weir check
// reads them.
func (c *Config) Traits() dataplane.Traits {
	return dataplane.Traits{DropsEarly: true,
		MarksFrom: func(unit.Rate) unit.Bytes { return unit.Bytes(c.Least) * 1514 }}
}

// Scheme returns the scheme for experiments: switch: [forward, {early: {least: 8 packets}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "early", Doc: "drops or marks early, linearly with the queue",
		Source: "Weir"}, func(site *dataplane.Site, c Config) (*Early, error) {
		return &Early{c: c, random: site.Random("early")}, nil
	})
}

// Early is the program's state in one switch.
type Early struct {
	c      Config
	random unit.Random // a separate stream, so that other programs' draws do not shift
}

// Name returns "early".
func (e *Early) Name() string { return "early" }

// Admit is called before a packet enters the queue p.Meta.Queue of port p.Meta.Out. It marks, drops or accepts the
// packet.
func (e *Early) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	above := int(env.Port(p.Meta.Out).Packets()) - e.c.Least
	if above <= 0 || e.random.Float64() >= float64(above)/float64(e.c.Most-e.c.Least) {
		return dataplane.Accept
	}
	if p.TOS&packet.ECN == packet.ECT0 { // the sender knows marks (RFC 3168)
		p.TOS |= packet.CE
		return dataplane.Accept
	}
	return dataplane.Drop(dataplane.EarlyDrop)
}
