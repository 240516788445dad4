package p4abc

import (
	"math"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
)

// Forger is a switch program that writes forged marks, like a user outside a domain or a faulty switch inside. It
// shows their effect (P4-ABC §3.4).
type Forger struct {
	config    ForgerConfig
	remaining int // packets until the next forged mark
}

// ForgerConfig sets the forged activity, and that one packet in Every gets it.
type ForgerConfig struct {
	Activity float64
	Every    int
}

// Params binds the options of forge to the fields of c, which keep their values.
func (c *ForgerConfig) Params(p *scheme.Params) {
	p.Float(&c.Activity, "activity", "-30", "activity that the program writes", "Weir")
	p.Int(&c.Every, "every", "1", "number of packets, one of which the program changes", "Weir").Min("1")
}

// Traits keeps Forger out of switches between real interfaces: there it would only help an attacker.
func (*ForgerConfig) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: "it forges marks, for tests of simulated networks"}
}

// ForgerScheme returns the scheme for experiments: switch: [forward, {forge: {activity: -30}}].
func ForgerScheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "forge", Doc: "writes forged activities of ABC into packets",
		Source: "P4-ABC §3.4"}, NewForger)
}

// NewForger returns the program with a configuration; the site is not used.
func NewForger(_ *dataplane.Site, c ForgerConfig) (*Forger, error) { return &Forger{config: c}, nil }

// Name returns "forge".
func (*Forger) Name() string { return "forge" }

// Ingress writes the forged mark into the first packet and then into one in Every, which changes the packet's size. A
// packet without room for it stays unmarked. Every packet is accepted.
func (f *Forger) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if f.remaining--; f.remaining < 0 {
		f.remaining = f.config.Every - 1
		writeMark(p, math.Float32bits(float32(f.config.Activity)))
	}
	return dataplane.Accept
}

// Footprint returns a counter of packets; the mark is a constant in a header.
func (f *Forger) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{{Name: "forged mark", Gress: dataplane.InIngress,
		Registers: []dataplane.RegisterUse{{Name: "packets", Cells: 1, Bits: dataplane.WidthOf(f.remaining), Reads: 1,
			Writes: 1}}}}}
}
