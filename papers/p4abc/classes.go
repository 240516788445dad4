package p4abc

import (
	"fmt"
	"math/bits"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
)

// Delay classes. The paper states that ABC "has been extended to support different delay classes, i.e.,
// aggregate-specific throughput and forwarding delay can be controlled independently of each other" (P4-ABC §3.4), but
// gives no method; this one is Weir's. A port has a queue for each class, served by deadlines (tm.NewDeadline): a
// packet is due at its arrival plus its class's offset. Drops depend on activities and on the length of all queues
// together, so a class brings no throughput. A class waits for others no longer than its offset, so no class starves.
// Neither needs state of users.
//
// Earlier programs set a packet's class (classify: by DSCP), or its aggregate does (delays). A DSCP crosses a domain
// unchanged; with class: mark the edge writes the class into the mark.

// ClassMethod is the way in which switches inside a domain learn the class of a packet.
type ClassMethod string

// Ways to learn it.
const (
	ByPacket ClassMethod = "packet" // as at the edge: the class that earlier programs set
	ByMark   ClassMethod = "mark"   // the edge writes it into the lowest bits of the mark
)

// Delay is the class, its Value, of the packets of an aggregate, its Key.
type Delay = scheme.Pair[users.Set, int]

// classCount is the number of classes that a mark can hold.
const classCount = 8

// bindClasses binds the parameters of delay classes.
func (c *Config) bindClasses(p *scheme.Params) {
	scheme.MapOf(p, &c.Delays, users.ParseSet, scheme.Ints, "delays",
		"delay class by descriptor of an aggregate: {dscp 46: 0}; 0 is the first class; other packets keep the class "+
			"from previous programs", "Weir; P4-ABC §3.4: delay classes").Min("0").Max("7")
	p.Int(&c.FastCost, "fast_cost", "1", "factor by which bytes of delay class 0 count in their user's activity, so "+
		"that bulk traffic does not choose that class: 1, 2, 4, … 1024", "Weir").Min("1").Max("1024")
	scheme.TextOf(p, &c.Class, "class", string(ByPacket), "how inner switches determine a packet's delay class; "+
		"packet: by their own rules, as at the edge; mark: from the lowest three bits of the mark, which the edge "+
		"writes; must be equal in all switches of a domain", "Weir", ByPacket,
		ByMark).When("domain: part", func() bool { return c.Domain == DomainMember })

	p.AddRule("fast_cost", func() error {
		if c.FastCost&(c.FastCost-1) != 0 {
			return fmt.Errorf("%d is no power of 2; allowed: 1, 2, 4 to 1024", c.FastCost)
		}
		return nil
	})
	p.AddRule("delays", func() error {
		if len(c.Delays) > 0 && c.Domain == DomainMember && c.Class != ByMark {
			return fmt.Errorf("switches inside do not know aggregates; use class: mark")
		}
		return nil
	})
}

// checkQueues returns an error if ports have fewer queues than delay classes need. Without a class, one queue is
// enough.
func (c *Config) checkQueues(site *dataplane.Site) error {
	least, what := 1, ""
	if c.costShift() > 0 {
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

// costShift returns log2 of the cost of class 0: a switch shifts instead of multiplying.
func (c *Config) costShift() int { return bits.TrailingZeros32(uint32(max(c.FastCost, 1))) }

// assignClass sets a packet's class to its aggregate's, if that has one, and returns the bytes that the packet counts
// for: in class 0 its size times FastCost.
func (a *Program) assignClass(p *packet.Packet, m *activityMeter) int {
	if m.delayClass > 0 {
		p.Meta.Class = m.delayClass - 1
	}
	if p.Meta.Class == 0 {
		return int(p.Size) << (a.costShift & maxShift)
	}
	return int(p.Size)
}

// addDelays sets the delay classes of the configured aggregates in both directions. The aggregates of c must be the
// first ones of g, and every key of c.Delays one of them.
func (g *aggregates) addDelays(c *Config) {
	at := users.IndexSets(c.Aggregates)
	for _, d := range c.Delays {
		for way := range directions {
			g.meterAt(at[d.Key], way).delayClass = uint8(d.Value) + 1
		}
	}
}

// readMark returns the activity in a packet's mark, as the bits of a float32; ok is false without a valid mark. If
// marks have a class (class: mark), it also sets the packet's Meta.Class from it.
func (a *Program) readMark(p *packet.Packet) (activity uint32, ok bool) {
	activity, ok = parseMark(p)
	if ok && a.classed {
		activity, p.Meta.Class = splitClass(activity)
	}
	return activity, ok
}

// withClass returns a mark with a class in its last three bits, which are less than a millionth of the activity.
func withClass(mark uint32, class uint8) uint32 {
	return mark&^(classCount-1) | uint32(min(class, classCount-1))
}

// splitClass splits a mark into activity and class.
func splitClass(mark uint32) (activity uint32, class uint8) {
	return mark &^ (classCount - 1), uint8(mark & (classCount - 1))
}
