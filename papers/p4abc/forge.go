package p4abc

import (
	"math"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
)

// Forger is a switch that writes marks of its own: a user's, outside a domain, or a broken one inside. It shows
// what these can do (§3.4).
type Forger struct {
	config ForgerConfig
	left   int // packets until the next one
}

// ForgerConfig is what it writes into which packets.
type ForgerConfig struct {
	Activity float64
	Every    int
}

// Params binds the configuration.
func (c *ForgerConfig) Params(p *scheme.Params) {
	p.Float(&c.Activity, "activity", "-30", "what it writes", "ours")
	p.Int(&c.Every, "every", "1", "into one packet of so many", "ours").Min("1")
}

// Traits keep it out of switches between real interfaces: there it would help an attacker only.
func (*ForgerConfig) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: "it forges marks, to try simulated networks"}
}

// ForgerScheme is what an experiment names: switch: [forward, {forge: {activity: -30}}].
func ForgerScheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "forge", Doc: "writes forged activities of ABC into packets",
		Source: "P4-ABC §3.4"}, NewForger)
}

// NewForger returns the program for a site.
func NewForger(_ *dataplane.Site, c ForgerConfig) (*Forger, error) { return &Forger{config: c}, nil }

// Name is "forge".
func (*Forger) Name() string { return "forge" }

// Ingress writes.
func (f *Forger) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if f.left--; f.left < 0 {
		f.left = f.config.Every - 1
		mark(p, math.Float32bits(float32(f.config.Activity)))
	}
	return dataplane.Accept
}

// Footprint is a constant in a header, and a count of packets.
func (f *Forger) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{{Name: "forged mark", Gress: dataplane.InIngress,
		Registers: []dataplane.RegisterUse{{Name: "packets", Cells: 1, Bits: dataplane.Bits(f.left), Reads: 1, Writes: 1}}}}}
}
