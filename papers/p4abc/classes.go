package p4abc

import (
	"fmt"
	"math/bits"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
)

// Classes of delay. The paper says that ABC "has been extended to support different delay classes, i.e.,
// aggregate-specific throughput and forwarding delay can be controlled independently of each other" (§3.4), and
// not how; this is ours. A port has a queue for each class, served by deadlines (tm.NewDeadline): a packet is due
// at its arrival and its class's offset. Who is dropped depends on activities and on what waits in all queues
// together, so that a class gives no throughput. A class waits for others no longer than its offset, so that none
// starves. Both need no state of users.
//
// The class of a packet is that which the programs before gave it (classify: by DSCP), or that of its aggregate
// (delays). A DSCP goes through a domain by itself; with class: mark the edge writes the class into the mark.

// Class says how switches inside a domain know the class of a packet.
type Class string

// Ways to know it.
const (
	ByPacket Class = "packet" // as at the edge: by what the programs before gave it
	ByMark   Class = "mark"   // the edge writes it into the lowest bits of the mark
)

// Delay is the class, its Value, of the packets of an aggregate, its Key.
type Delay = scheme.Pair[users.Set, int]

// classes is how many there can be in a mark.
const classes = 8

// bindClasses binds what concerns classes of delay.
func (c *Config) bindClasses(p *scheme.Params) {
	scheme.MapOf(p, &c.Delays, users.ParseSet, scheme.Ints, "delays",
		"delay class, 0 is the first, by descriptor of an aggregate; others have that which programs before give them",
		"ours; P4-ABC §3.4: delay classes").Min("0").Max("7")
	p.Int(&c.FastCost, "fast_cost", "1", "how many times a byte of delay class 0 counts in its user's activity, so "+
		"that bulk traffic does not choose it: 1, 2, 4, … 1024", "ours").Min("1").Max("1024")
	scheme.Word(p, &c.Class, "class", string(ByPacket), "how switches inside know a packet's delay class: as outside, "+
		"or the edge writes it into the lowest three bits of the mark; alike in all switches of a domain", "ours", ByPacket,
		ByMark).When("domain: part", func() bool { return c.Domain == DomainMember })

	p.Rule("fast_cost", func() error {
		if c.FastCost&(c.FastCost-1) != 0 {
			return fmt.Errorf("%d is no power of 2: 1, 2, 4 to 1024 are possible", c.FastCost)
		}
		return nil
	})
	p.Rule("delays", func() error {
		if len(c.Delays) > 0 && c.Domain == DomainMember && c.Class != ByMark {
			return fmt.Errorf("switches inside do not know aggregates; class: mark tells them")
		}
		return nil
	})
}

// queued checks that ports have the queues that a configuration needs.
func (c *Config) queued(site *dataplane.Site) error {
	least, what := 1, ""
	if c.shift() > 0 {
		least, what = 2, "fast_cost"
	}
	if c.Domain == DomainMember && c.Class == ByMark {
		least, what = 2, "class: mark"
	}
	for _, d := range c.Delays {
		if d.Value+1 >= least || least == 1 {
			least, what = max(d.Value+1, 2), fmt.Sprintf("delays: {%s: %d}", d.Key, d.Value)
		}
	}
	if has := max(site.Queues, 1); has < least {
		return fmt.Errorf("%s needs ports with %d queues, there is %d; queues: %d, scheduler: deadline", what, least,
			has, least)
	}
	return nil
}

// shift is log2 of the cost of class 0: a switch shifts, and need not multiply.
func (c *Config) shift() int { return bits.TrailingZeros32(uint32(max(c.FastCost, 1))) }

// counts gives a packet the class of its aggregate, and returns as how many bytes it counts.
func (a *Program) counts(p *packet.Packet, m *activityMeter) int {
	if m.class > 0 {
		p.Meta.Class = m.class - 1
	}
	if p.Meta.Class == 0 {
		return int(p.Size) << (a.cost & last)
	}
	return int(p.Size)
}

// addDelays gives aggregates their classes.
func (g *aggregates) addDelays(c *Config) {
	at := users.Places(c.Aggregates)
	for _, d := range c.Delays {
		for way := range directions {
			g.meter(at[d.Key], way).class = uint8(d.Value) + 1
		}
	}
}

// read returns the activity in a packet's mark, and gives the packet the class that is there.
func (a *Program) read(p *packet.Packet) (activity uint32, ok bool) {
	activity, ok = marked(p)
	if ok && a.classed {
		activity, p.Meta.Class = classOf(activity)
	}
	return activity, ok
}

// withClass puts a class into a mark: in place of the last three bits, which are less than a millionth of the
// activity.
func withClass(mark uint32, class uint8) uint32 {
	return mark&^(classes-1) | uint32(min(class, classes-1))
}

// classOf takes them apart.
func classOf(mark uint32) (activity uint32, class uint8) {
	return mark &^ (classes - 1), uint8(mark & (classes - 1))
}
