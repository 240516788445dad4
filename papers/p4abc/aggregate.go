package p4abc

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Aggregate is a user, or a group of users metered together, its Key, and its reference rate R_r, its Value.
type Aggregate = scheme.Pair[users.Set, unit.Rate]

// Belongs says whose a packet is that no world has assigned to a user.
type Belongs string

// Ways to assign packets to users.
const (
	ToAuto     Belongs = "auto"     // named if the file declares users, otherwise sender
	ToSender   Belongs = "sender"   // as in the prototype (§5.2)
	ToReceiver Belongs = "receiver" // where servers enter the domain: downloads are those of the users who asked for them
	ToNamed    Belongs = "named"    // to that end which an aggregate has; the sender's if both or neither are
)

// Directions of a user's traffic. Each has a meter of its own: acknowledgements of a download must not have
// its activity.
const (
	sends = iota
	receives
	directions
)

// unknown and none are what a cache says of an address: it was not looked up, and no aggregate has it.
const (
	unknown int32 = -1
	none    int32 = -2
)

// aggregates are the activity meters, and what finds that of a packet.
type aggregates struct {
	book      *packet.Book
	of        [2][]int32 // by family (IPv4, IPv6) and address: its aggregate, unknown or none
	own       []int32    // by address: the aggregate of an address that is in no other; −1: not yet given
	addresses *users.Finder
	narrow    []rule // that ask for more than the user's address, the narrowest first
	flows     []flow // cache of narrow, by hash; nil: it is empty
	common    int32  // that of all addresses without one of their own, −1: each gets its own
	belongs   Belongs
	meters    []activityMeter // by aggregate and direction
	reference unit.Rate       // of addresses without an aggregate
	places    int             // for the flows of each
	slots     *slots          // of integer meters; nil: they are exact
}

// activityMeter is the state of one aggregate in one direction, and what it is measured by.
type activityMeter struct {
	Meter
	reference unit.Rate
	flows     *flowShares // nil: all flows are one
	counts    counts
	class     uint8 // delay class of its packets, counted from 1; 0: that which they have
	base      Fixed // log2 of the reference, as the integer meter has it
	whole     IntegerMeter
}

// counts are what metrics show of a user. They never fall while the meter is that user's.
type counts struct {
	bytes   uint64 // of packets that a queue took
	dropped uint64 // packets, by whatever reason
}

// newActivityMeter makes one that begins with the switch.
func (g *aggregates) newActivityMeter(reference unit.Rate) activityMeter {
	m := activityMeter{Meter: NewMeter(0), reference: reference, flows: newFlowShares(g.places)}
	if g.slots != nil {
		m.base = g.slots.referenceOf(reference)
	}
	return m
}

// rule is a match of an aggregate.
type rule struct {
	users.Match
	aggregate int32
}

// flow is an entry of the cache: what matches can see of a packet, and what they say.
type flow struct {
	src, dst         packet.Addr
	srcPort, dstPort uint16
	proto, dscp      uint8
	version          uint8
	turned           bool  // matches see its receiver as the user
	known            bool  // there is an entry
	aggregate        int32 // none: no match has it
}

// flowCache is how many flows it has room for.
const flowCache = 1 << 12

// newAggregates makes the meters of a configuration.
func newAggregates(book *packet.Book, c *Config) (aggregates, error) {
	g := aggregates{book: book, common: -1, own: make([]int32, book.Len()), reference: c.Reference, belongs: c.Belongs,
		places: c.Flows}
	if c.Integer {
		g.slots = newSlots(c.Memory)
	}
	for i := range g.own {
		g.own[i] = unknown
	}
	g.of = [2][]int32{slices.Clone(g.own), slices.Clone(g.own)}
	for _, x := range c.Aggregates {
		matches, err := x.Key.Matches()
		if err != nil {
			return g, err
		}
		k := g.add(x.Value)
		for _, m := range matches {
			if !m.Plain() {
				g.narrow = append(g.narrow, rule{m, k})
			}
		}
	}
	g.addDelays(c)
	g.addresses = users.NewFinder(book, users.Keys(c.Aggregates))
	slices.SortStableFunc(g.narrow, func(a, b rule) int { return b.Width() - a.Width() })
	if len(g.narrow) > 0 {
		g.flows = make([]flow, flowCache)
	}
	if c.Shared {
		g.common = g.add(c.Reference)
	}
	return g, nil
}

// add makes an aggregate, whose meters begin when those of all others did, with the switch: a user who was
// silent until now, however its meters come to be.
func (g *aggregates) add(reference unit.Rate) int32 {
	for range directions {
		g.meters = append(g.meters, g.newActivityMeter(reference))
	}
	return int32(len(g.meters)/directions - 1)
}

// meter is that of an aggregate in a direction.
func (g *aggregates) meter(aggregate int32, direction int) *activityMeter {
	return &g.meters[int(aggregate)*directions+direction]
}

// find returns the meter of a packet.
func (g *aggregates) find(p *packet.Packet) *activityMeter {
	if p.Meta.Flags&packet.ToUser != 0 { // the world knows whose it is, and has put that into Src
		return g.meter(g.whose(p, p.Src, true), receives)
	}
	switch g.belongs {
	case ToReceiver:
		return g.meter(g.whose(p, p.Dst, true), receives)
	case ToNamed:
		if k := g.lookup(p, p.Src, false); k >= 0 {
			return g.meter(k, sends)
		} else if k := g.lookup(p, p.Dst, true); k >= 0 {
			return g.meter(k, receives)
		}
		return g.meter(g.rest(p.Src), sends)
	}
	return g.meter(g.whose(p, p.Src, false), sends)
}

// whose is the aggregate of the user with an address, which is at the packet's other end if turned.
func (g *aggregates) whose(p *packet.Packet, user packet.Addr, turned bool) int32 {
	if k := g.lookup(p, user, turned); k >= 0 {
		return k
	}
	return g.rest(user)
}

// rest is the aggregate of a user who has none: the common one or, over both families, one of its own (§5.2:
// exact match on the source address), which it makes.
func (g *aggregates) rest(user packet.Addr) int32 {
	if g.common >= 0 {
		return g.common
	}
	if k := g.own[user]; k >= 0 {
		return k
	}
	return g.begin(user)
}

// begin makes the aggregate of a user.
func (g *aggregates) begin(user packet.Addr) int32 {
	g.own[user] = g.add(g.reference)
	return g.own[user]
}

// lookup is the aggregate that the configuration names for a user: by a narrow match, otherwise by the longest
// prefix with its address; none if there is neither.
func (g *aggregates) lookup(p *packet.Packet, user packet.Addr, turned bool) int32 {
	if g.flows != nil {
		if k := g.cached(p, user, turned); k >= 0 {
			return k
		}
	}
	family := 0
	if p.Version == 6 {
		family = 1
	}
	if k := g.of[family][user]; k != unknown {
		return k
	}
	k, ok := g.addresses.Find(user, p.Version)
	if !ok {
		k = none
	}
	g.of[family][user] = k
	return k
}

// address is the one of a number that a packet has.
func (g *aggregates) address(p *packet.Packet, a packet.Addr) netip.Addr {
	if p.Version == 6 {
		return g.book.V6(a)
	}
	return g.book.V4(a)
}

// cached is what the narrow matches say of a packet, from the cache if it is there.
func (g *aggregates) cached(p *packet.Packet, user packet.Addr, turned bool) int32 {
	is := flow{p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto, p.TOS >> 2, p.Version, turned, true, 0}
	x := &g.flows[(p.Hash^uint32(is.dscp)<<5)&(flowCache-1)]
	if is.aggregate = x.aggregate; *x == is {
		return x.aggregate
	}
	is.aggregate = none
	peer, userPort, peerPort := p.Dst, p.SrcPort, p.DstPort
	if turned {
		userPort, peerPort = peerPort, userPort
		if p.Meta.Flags&packet.ToUser == 0 {
			peer = p.Src
		}
	}
	from, to := g.address(p, user), g.address(p, peer)
	for i := range g.narrow {
		m := &g.narrow[i]
		if (!m.User.IsValid() || m.User.Contains(from)) && (!m.Peer.IsValid() || m.Peer.Contains(to)) &&
			(m.DSCP < 0 || m.DSCP == int16(is.dscp)) && (m.Proto < 0 || m.Proto == int16(p.Proto)) &&
			(m.UserPort < 0 || m.UserPort == int32(userPort)) && (m.PeerPort < 0 || m.PeerPort == int32(peerPort)) {
			is.aggregate = m.aggregate
			break
		}
	}
	*x = is
	return is.aggregate
}

// forget drops what is known of an address, whose number goes to another one.
func (g *aggregates) forget(a packet.Addr) {
	for i := range g.of {
		g.of[i][a] = unknown
	}
	clear(g.flows)
	if k := g.own[a]; k >= 0 {
		for d := range directions {
			m := g.meter(k, d)
			m.Meter, m.whole, m.counts = NewMeter(0), IntegerMeter{}, counts{}
			m.flows.forget()
		}
	}
}

// Sets returns the aggregates' users. New completes them.
func (c *Config) Sets() (param string, all []users.Set, completes bool) {
	return "aggregates", users.Keys(c.Aggregates), !c.Shared
}

// FindsUsers reports whether a port is outside: at all others the marks of frames count.
func (c *Config) FindsUsers(ports []string) bool {
	if c.Domain == WholeDomain {
		return true
	}
	inside := map[string]bool{}
	for _, p := range c.Ports {
		inside[p.Key] = p.Value == Inside
	}
	return slices.ContainsFunc(ports, func(name string) bool { return !inside[name] })
}

// withUsers returns the configuration with an aggregate for each user of the book, unless users without one share one,
// and with a rule for packets in place of ToAuto.
func (c Config) withUsers(book *packet.Book) Config {
	declared := book != nil && len(book.Users()) > 0
	if declared && !c.Shared {
		c.Aggregates = users.Complete(book, c.Aggregates, c.Reference)
	}
	if c.Belongs == ToAuto {
		c.Belongs = ToSender
		if declared && len(c.Aggregates) > 0 {
			c.Belongs = ToNamed
		}
	}
	return c
}

// checkUsers returns the first parameter that needs an aggregate which a configuration with users lacks, and the error.
func (c *Config) checkUsers() (param string, err error) {
	if c.Belongs == ToNamed && len(c.Aggregates) == 0 {
		return "user", errors.New("named, and neither aggregates nor users of the file name a user")
	}
	places := users.Places(c.Aggregates)
	for _, d := range c.Delays {
		if _, there := places[d.Key]; !there {
			return "delays", fmt.Errorf("%q is neither one of the aggregates nor a user of the file that is one", d.Key)
		}
	}
	return "", nil
}

// refuseUnknownUsers refuses parameters that need an aggregate which neither they nor the file's users name.
func (c *Config) refuseUnknownUsers(s *dataplane.SwitchContext) []scheme.Remark {
	complete := c.withUsers(s.Book)
	if param, err := complete.checkUsers(); err != nil {
		return []scheme.Remark{scheme.Refuse(param, "%v", err)}
	}
	return nil
}
