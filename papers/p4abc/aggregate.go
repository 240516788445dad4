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

// Aggregate pairs a user, or a group of users metered together (Key), with its reference rate R_r (Value).
type Aggregate = scheme.Pair[users.Set, unit.Rate]

// UserRule is the rule by which a packet without a declared user is assigned to one.
type UserRule string

// Ways to assign packets to users.
const (
	ToAuto     UserRule = "auto"     // named if the file declares users, otherwise sender
	ToSender   UserRule = "sender"   // as in the prototype (§5.2)
	ToReceiver UserRule = "receiver" // where servers enter the domain: downloads count for the user who requested them
	ToNamed    UserRule = "named"    // to the end that has an aggregate; the sender's if both or neither are
)

// Directions of a user's traffic. Each has its own meter: acknowledgements of a download must not get the download's
// activity.
const (
	sends = iota
	receives
	directions
)

// Values of aggregateByAddress for addresses without an aggregate number.
const (
	unknown int32 = -1 // not yet looked up
	none    int32 = -2 // the configuration has no aggregate for it
)

// aggregates holds the activity meters of all users and finds the meter of a packet.
type aggregates struct {
	book               *packet.Book
	aggregateByAddress [2][]int32 // by family (IPv4, IPv6) and address: aggregate number, unknown or none
	ownAggregate       []int32    // by address: aggregate made for an otherwise unassigned address; −1: not made
	addresses          *users.Finder
	narrowRules        []rule       // rules with more than the user's address, the narrowest first
	flows              []cachedFlow // cache of the narrow rules' results, by hash; nil: no narrow rules
	commonAggregate    int32        // shared by all unassigned addresses; −1: each address gets its own
	belongs            UserRule
	meters             []activityMeter // by aggregate and direction
	reference          unit.Rate       // of addresses without an aggregate
	flowPlaces         int             // places for flows in each aggregate's table
	slots              *slots          // slots of integer meters; nil: meters are exact
}

// activityMeter is the state of one aggregate in one direction, with its reference rate.
type activityMeter struct {
	Meter
	reference    unit.Rate
	flows        *flowShares // nil: flows are not separated
	counts       counts
	delayClass   uint8 // delay class of its packets plus 1; 0: packets keep their class
	logReference Fixed // log2 of the reference, as the integer meter has it
	integer      IntegerMeter
}

// counts holds the totals that metrics show for a user. They never fall while the meter belongs to the same user.
type counts struct {
	bytes   uint64 // bytes of enqueued packets
	dropped uint64 // packets dropped for any reason
}

// newActivityMeter returns a meter with the given reference rate in bit/s, above 0. Its measurement begins at time 0.
// It has a flow table if the configuration separates flows.
func (g *aggregates) newActivityMeter(reference unit.Rate) activityMeter {
	m := activityMeter{Meter: NewMeter(0), reference: reference, flows: newFlowShares(g.flowPlaces)}
	if g.slots != nil {
		m.logReference = g.slots.logReference(reference)
	}
	return m
}

// rule assigns packets that match to an aggregate.
type rule struct {
	users.Match
	aggregate int32
}

// cachedFlow is an entry of the cache: the header fields that matches read, and the aggregate that they yield.
type cachedFlow struct {
	src, dst         packet.Addr
	srcPort, dstPort uint16
	proto, dscp      uint8
	version          uint8
	userIsReceiver   bool  // the user is the packet's receiver
	inUse            bool  // the entry is in use
	aggregate        int32 // none: no rule matches
}

// flowCacheSize is the number of entries of the flow cache, a power of 2.
const flowCacheSize = 1 << 12

// newAggregates returns the meters of a configuration that withUsers has completed. Every key of c.Delays must be an
// aggregate. It fails if an aggregate's descriptor is invalid.
func newAggregates(book *packet.Book, c *Config) (aggregates, error) {
	g := aggregates{book: book, commonAggregate: -1, ownAggregate: make([]int32, book.Len()),
		reference: c.Reference, belongs: c.UserRule, flowPlaces: c.Flows}
	if c.Integer {
		g.slots = newSlots(c.Memory)
	}
	for i := range g.ownAggregate {
		g.ownAggregate[i] = unknown
	}
	g.aggregateByAddress = [2][]int32{slices.Clone(g.ownAggregate), slices.Clone(g.ownAggregate)}
	for _, x := range c.Aggregates {
		matches, err := x.Key.ParseMatches()
		if err != nil {
			return g, err
		}
		k := g.addAggregate(x.Value)
		for _, m := range matches {
			if !m.IsPlain() {
				g.narrowRules = append(g.narrowRules, rule{m, k})
			}
		}
	}
	g.addDelays(c)
	g.addresses = users.NewFinder(book, users.SetsOf(c.Aggregates))
	slices.SortStableFunc(g.narrowRules, func(a, b rule) int { return b.BitCount() - a.BitCount() })
	if len(g.narrowRules) > 0 {
		g.flows = make([]cachedFlow, flowCacheSize)
	}
	if c.SharesDefault {
		g.commonAggregate = g.addAggregate(c.Reference)
	}
	return g, nil
}

// addAggregate appends an aggregate with meters for both directions and returns its number. Meters start with the
// switch, whenever they are made: the user counts as silent until now.
func (g *aggregates) addAggregate(reference unit.Rate) int32 {
	for range directions {
		g.meters = append(g.meters, g.newActivityMeter(reference))
	}
	return int32(len(g.meters)/directions - 1)
}

// meterAt returns the meter of an aggregate, numbered from 0, in a direction (sends or receives). The pointer is to the
// meter of the switch until addAggregate makes another one.
func (g *aggregates) meterAt(aggregate int32, direction int) *activityMeter {
	return &g.meters[int(aggregate)*directions+direction]
}

// findMeter returns the meter that counts a packet, by the rule g.belongs, which must not be ToAuto. A packet with the
// flag ToUser counts as received by the user in Src. It fills the caches, and may add an aggregate for a new user.
func (g *aggregates) findMeter(p *packet.Packet) *activityMeter {
	if p.Meta.Flags&packet.ToUser != 0 { // the world knows the user, and has put it into Src
		return g.meterAt(g.findAggregate(p, p.Src, true), receives)
	}
	switch g.belongs {
	case ToReceiver:
		return g.meterAt(g.findAggregate(p, p.Dst, true), receives)
	case ToNamed:
		if k := g.findConfigured(p, p.Src, false); k >= 0 {
			return g.meterAt(k, sends)
		} else if k := g.findConfigured(p, p.Dst, true); k >= 0 {
			return g.meterAt(k, receives)
		}
		return g.meterAt(g.defaultAggregate(p.Src), sends)
	}
	return g.meterAt(g.findAggregate(p, p.Src, false), sends)
}

// findAggregate returns the aggregate of a user's address. It makes one for a new user, unless unnamed users share one.
// userIsReceiver: the user is the packet's receiver.
func (g *aggregates) findAggregate(p *packet.Packet, user packet.Addr, userIsReceiver bool) int32 {
	if k := g.findConfigured(p, user, userIsReceiver); k >= 0 {
		return k
	}
	return g.defaultAggregate(user)
}

// defaultAggregate returns the aggregate of a user whom the configuration does not name: the common one or, over both
// address families, one of its own, which it makes on first use (P4-ABC §5.2: exact match on the source address).
func (g *aggregates) defaultAggregate(user packet.Addr) int32 {
	if g.commonAggregate >= 0 {
		return g.commonAggregate
	}
	if k := g.ownAggregate[user]; k >= 0 {
		return k
	}
	return g.addUser(user)
}

// addUser makes an aggregate for a user's address and returns it.
func (g *aggregates) addUser(user packet.Addr) int32 {
	g.ownAggregate[user] = g.addAggregate(g.reference)
	return g.ownAggregate[user]
}

// findConfigured returns the aggregate that the configuration names for a user: by a narrow rule, otherwise by the
// longest prefix with its address; a number below 0 if neither matches. It caches both results.
func (g *aggregates) findConfigured(p *packet.Packet, user packet.Addr, userIsReceiver bool) int32 {
	if g.flows != nil {
		if k := g.matchNarrow(p, user, userIsReceiver); k >= 0 {
			return k
		}
	}
	family := 0
	if p.Version == 6 {
		family = 1
	}
	if k := g.aggregateByAddress[family][user]; k != unknown {
		return k
	}
	k, ok := g.addresses.FindSet(user, p.Version)
	if !ok {
		k = none
	}
	g.aggregateByAddress[family][user] = k
	return k
}

// resolveAddress returns the IP address that a packet's address number stands for, in the packet's family.
func (g *aggregates) resolveAddress(p *packet.Packet, a packet.Addr) netip.Addr {
	if p.Version == 6 {
		return g.book.V6(a)
	}
	return g.book.V4(a)
}

// matchNarrow returns the aggregate of the first narrow rule that matches a packet, or a number below 0. user is the
// user's address, Src or Dst of p. It reads and fills the cache, which must not be nil.
func (g *aggregates) matchNarrow(p *packet.Packet, user packet.Addr, userIsReceiver bool) int32 {
	is := cachedFlow{p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto, p.TOS >> 2, p.Version, userIsReceiver, true, 0}
	x := &g.flows[(p.Hash^uint32(is.dscp)<<5)&(flowCacheSize-1)]
	if is.aggregate = x.aggregate; *x == is {
		return x.aggregate
	}
	is.aggregate = none
	peer, userPort, peerPort := p.Dst, p.SrcPort, p.DstPort
	if userIsReceiver {
		userPort, peerPort = peerPort, userPort
		if p.Meta.Flags&packet.ToUser == 0 {
			peer = p.Src
		}
	}
	from, to := g.resolveAddress(p, user), g.resolveAddress(p, peer)
	for i := range g.narrowRules {
		m := &g.narrowRules[i]
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

// forgetAddress makes address number a ready for another address. It clears the cache of all flows and the results for
// a. If a has an aggregate of its own, that keeps its number, and its meters and counters restart at time 0.
func (g *aggregates) forgetAddress(a packet.Addr) {
	for i := range g.aggregateByAddress {
		g.aggregateByAddress[i][a] = unknown
	}
	clear(g.flows)
	if k := g.ownAggregate[a]; k >= 0 {
		for d := range directions {
			m := g.meterAt(k, d)
			m.Meter, m.integer, m.counts = NewMeter(0), IntegerMeter{}, counts{}
			m.flows.reset()
		}
	}
}

// Sets returns the parameter that lists aggregates, their users, and whether New completes the list.
func (c *Config) Sets() (param string, all []users.Set, completes bool) {
	return "aggregates", users.SetsOf(c.Aggregates), !c.SharesDefault
}

// FindsUsers reports whether one of the named ports is outside, as all are if the switch is the whole domain. At inside
// ports the marks of frames replace users.
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

// withUsers returns the configuration with an aggregate for each user of the book, unless unnamed users share one, and
// with ToAuto replaced by the rule that follows from declared users.
func (c Config) withUsers(book *packet.Book) Config {
	declared := book != nil && len(book.Users()) > 0
	if declared && !c.SharesDefault {
		c.Aggregates = users.AddMissingUsers(book, c.Aggregates, c.Reference)
	}
	if c.UserRule == ToAuto {
		c.UserRule = ToSender
		if declared && len(c.Aggregates) > 0 {
			c.UserRule = ToNamed
		}
	}
	return c
}

// checkUsers returns the first parameter that needs a missing aggregate, and an error that names what is missing; ""
// and nil if all are present. c must come from withUsers.
func (c *Config) checkUsers() (param string, err error) {
	if c.UserRule == ToNamed && len(c.Aggregates) == 0 {
		return "user", errors.New("named, and neither aggregates nor users of the file name a user")
	}
	places := users.IndexSets(c.Aggregates)
	for _, d := range c.Delays {
		if _, there := places[d.Key]; !there {
			return "delays", fmt.Errorf("%q is neither one of the aggregates nor a user of the file that is one", d.Key)
		}
	}
	return "", nil
}

// refuseUnknownUsers refuses parameters that need an aggregate missing from both the parameters and the file's users.
func (c *Config) refuseUnknownUsers(s *dataplane.SwitchContext) []scheme.Remark {
	complete := c.withUsers(s.Book)
	if param, err := complete.checkUsers(); err != nil {
		return []scheme.Remark{scheme.NewRefusal(param, "%v", err)}
	}
	return nil
}
