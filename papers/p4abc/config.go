package p4abc

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/unit"
)

// Config has the parameters of the paper's §6.1.3.
type Config struct {
	Role       Role
	Memory     unit.Time  // M_AM, of the activity meter
	Reference  unit.Rate  // R_r of sources without an aggregate
	Average    unit.Time  // M_AA, of the average of accepted packets' activity
	QMin       unit.Depth // Q_min; all three are in packets, or none
	QBase      unit.Depth // Q_base
	Gamma      unit.Depth // γ
	RoundTrip  unit.Time  // of the users' flows, to which the thresholds are fitted; 0: they are as given
	Register   bool       // the prototype's queue length (§5.1)
	Shared     bool       // sources without an aggregate share one, instead of one each
	Aggregates []Aggregate
	Flows      int // places for the flows of an aggregate, which share its part fairly; 0: they do not
}

// Loses packets where queues grow.
func (*Config) Loses() {}

// Params binds the configuration.
func (c *Config) Params(p *scheme.Params) {
	scheme.Word(p, &c.Role, "role", string(Alone), "place in the ABC domain", "P4-ABC §3.1, §5.1", Alone, Edge, Core, Exit)
	p.Time(&c.Memory, "memory", "3s", "M_AM of the activity meter", "P4-ABC §6.1.3").Min("1us")
	p.Rate(&c.Reference, "reference", "10kbps", "R_r of sources that no aggregate has", "P4-ABC §6.1.3").Min("1bps")
	p.Time(&c.Average, "average_memory", "300ms", "M_AA of the average activity", "P4-ABC §6.1.3").Min("1us")
	p.Depth(&c.QMin, "q_min", "6 packets", "Q_min: no drop at queues up to this", "P4-ABC §6.1.3")
	p.Depth(&c.QBase, "q_base", "20 packets", "Q_base: threshold for average activity", "P4-ABC §6.1.3")
	p.Depth(&c.Gamma, "gamma", "16 packets", "γ: threshold per unit of activity", "P4-ABC §6.1.3").Min("1 packet")
	p.Time(&c.RoundTrip, "round_trip", "0s",
		"the longest of the users, without queues: q_min, q_base and gamma become at "+
			"least 7.3%, 24.2% and 19.4% of what a port sends in it, memory at least 150 of it, average_memory 15; "+
			"0s: they are "+
			"as given", "ours; P4-ABC §6.1.3: the same shares of its 20 ms").Max("10s")
	p.Either(&c.Register, [2]string{"exact", "register"}, "queue", "exact",
		"queue length: the queue's, or the prototype's register", "register: P4-ABC §5.1, §5.3")
	scheme.MapOf(p, &c.Aggregates, prefixOf, scheme.Rates, "aggregates",
		"reference rate by source prefix, metered as one; longest prefix wins", "P4-ABC §3.1, §3.4").Min("1bps")
	p.Either(&c.Shared, [2]string{"each", "shared"}, "others", "each",
		"sources without an aggregate: one each, or one for all", "each: P4-ABC §5.2")
	p.Int(&c.Flows, "flows", "0", "places, by hash, for the flows of an aggregate, which then share its part fairly; "+
		"0: they do not", "ours").Min("0").Max("1024")

	p.Rule("gamma", func() error {
		for _, l := range []unit.Depth{c.QMin, c.QBase, c.Gamma} {
			if packets := l.Packets > 0; l != (unit.Depth{}) && packets == c.inBytes() {
				return fmt.Errorf("q_min %v, q_base %v, gamma %v: all in packets or none in packets is needed", c.QMin, c.QBase,
					c.Gamma)
			}
		}
		return nil
	})
	p.Rule("queue", func() error {
		if c.inBytes() && c.Register {
			return fmt.Errorf("the prototype's register counts packets; q_min, q_base and gamma are in bytes, or times")
		}
		return nil
	})
	p.Rule("aggregates", func() error {
		for i, g := range c.Aggregates {
			if !g.Key.IsValid() {
				return fmt.Errorf("%v is no prefix", g.Key)
			}
			for _, h := range c.Aggregates[:i] {
				if h.Key.Masked() == g.Key.Masked() {
					return fmt.Errorf("%v and %v are the same prefix", h.Key, g.Key)
				}
			}
		}
		return nil
	})
}

// NeedsNetwork says that the roles of a domain write activities into packets.
func (c *Config) NeedsNetwork() (why string) {
	if c.Role == Alone {
		return ""
	}
	return fmt.Sprintf("role %s puts activities into packets, or expects them there, and an access link "+
		"has no room for them; role %s does without", c.Role, Alone)
}
