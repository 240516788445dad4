package p4abc

import (
	"fmt"
	"net/netip"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/scheme"
	"weir/core/unit"
)

// PortSide assigns the port to the node named Key to a side of the domain (Value).
type PortSide = scheme.Pair[string, Side]

// Config has the parameters of the paper's §6.1.3.
type Config struct {
	Domain        Domain
	Ports         []PortSide // sides that differ from the default by peer
	MTU           unit.Bytes // of links inside; 0: as they have it
	Memory        unit.Time  // M_AM, of the activity meter
	Reference     unit.Rate  // R_r of users without an aggregate
	Average       unit.Time  // M_AA, of the average activity
	PerPacket     bool       // A_avg and Q of the paper, which count packets; false: both count bytes, thresholds grow
	QMin          unit.Depth // Q_min; all three in packets, or all three in bytes or times
	QBase         unit.Depth // Q_base
	Gamma         unit.Depth // γ
	RoundTrip     unit.Time  // of the users' flows, for fitting thresholds; 0: thresholds as given
	Users         int        // minimum number sharing a port, for RoundTrip
	Register      bool       // the prototype's queue length (§5.1)
	Integer       bool       // arithmetic of a switch without floating point
	Spread        float64    // of the fair activity meter (§2); 0: the meter of §3.2
	UserRule      UserRule   // how packets are assigned to users
	SharesDefault bool       // users without an aggregate share one, instead of one each
	Aggregates    []Aggregate
	Delays        []Delay     // classes of aggregates
	FastCost      int         // factor by which a byte of class 0 counts
	Class         ClassMethod // how switches inside learn a packet's class
	Flows         int         // places for an aggregate's flows, which share its part fairly; 0: no flow fairness
}

// Traits returns that ABC drops early, the users that its aggregates name, and why it cannot run standalone, if so.
func (c *Config) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: c.whyNotStandalone(), DropsEarly: true,
		NamedUsers: func() (names, peers []netip.Prefix) {
			keys := users.SetsOf(c.Aggregates)
			return users.UserPrefixes(keys), users.PeerPrefixes(keys)
		}}
}

// Params binds the options of abc to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	part := func() bool { return c.Domain == DomainMember }
	scheme.TextOf(p, &c.Domain, "domain", string(WholeDomain),
		"where the switch gets the activity of a packet; alone: from its own meters, as the only switch with abc on the "+
			"path; part: from the packet, into which the first switch of the domain writes it; set part in all switches of "+
			"a domain", "P4-ABC §3.1; alone: §5.1", WholeDomain, DomainMember)
	scheme.MapOf(p, &c.Ports, func(s string) (string, error) { return s, nil }, scheme.Enum[Side](sideNames...), "ports",
		"side of ports, outside or inside, by the name of the other end (in weir switch: of the port): {client0: "+
			"outside, s2: inside}; without it, hosts are outside and switches inside",
		"P4-ABC §3.1").When("domain: part", part)
	p.Size(&c.MTU, "mtu", "0B", "maximum IP packet with its mark on inside links; 0B: the MTU of the interface, or no "+
		"limit in networks, whose links are virtual", "Weir").When("domain: part", part)
	p.Time(&c.Memory, "memory", "3s", "M_AM: memory of the activity meter; longer: users with bursts are judged by a "+
		"longer past", "P4-ABC §6.1.3").Min("1us")
	p.Rate(&c.Reference, "reference", "10kbps", "R_r: reference rate of users without an aggregate; users share in "+
		"proportion to their reference rates",
		"P4-ABC §6.1.3").Min("1bps")
	p.Time(&c.Average, "average_memory", "300ms", "M_AA: memory of the average activity; shorter: thresholds follow a "+
		"change of the users' number sooner", "P4-ABC §6.1.3").Min("1us")
	p.BoolWords(&c.PerPacket, [2]string{"rate", "packets"}, "average", "rate",
		"computation of A_avg; rate: the activity of the mean rate of accepted bytes, with queues in bytes and "+
			"thresholds that grow, up to half of the buffer, at a port that is empty after drops; packets: the mean "+
			"activity of accepted packets, with queues in packets", "rate: Weir; packets: P4-ABC §3.3")
	p.Depth(&c.QMin, "q_min", "6 packets", "Q_min: queue up to which no packet is dropped, whatever the activity; "+
		"raise it if short bursts lose packets", "P4-ABC §6.1.3")
	p.Depth(&c.QBase, "q_base", "20 packets", "Q_base: threshold at average activity; lower: a shorter queue, but "+
		"users with long round-trip times leave capacity unused (see round_trip)", "P4-ABC §6.1.3")
	p.Depth(&c.Gamma, "gamma", "16 packets", "γ: increase of the threshold per unit of activity; larger: users with a "+
		"different activity are treated more differently, and the queue becomes longer",
		"P4-ABC §6.1.3").Min("1 packet")
	p.Time(&c.RoundTrip, "round_trip", "0s",
		"maximum round-trip time of the users without queues: q_min, q_base and gamma become at least 7.3%, 24.2% and "+
			"19.4% of the bytes that a port sends in it, memory at least 30 times and average_memory at least 3 times this "+
			"time; 0s: the given values apply", "Weir; P4-ABC §6.1.3: the same shares of its 20 ms").Max("10s")
	p.Int(&c.Users, "users", "2", "minimum number of users that share a busy port; with more users, windows "+
		"synchronise less, and the thresholds of round_trip fall with the square root of their number",
		"Weir; P4-ABC §6.1.1: two; Appenzeller et al. (SIGCOMM 2004) §3").Min("1").Max("1000000").
		When("round_trip", func() bool { return c.RoundTrip > 0 })
	p.BoolWords(&c.Register, [2]string{"exact", "register"}, "queue", "exact",
		"queue length; exact: the queue's length; register: the length from the prototype's register",
		"register: P4-ABC §5.1, §5.3")
	scheme.MapOf(p, &c.Aggregates, users.ParseSet, scheme.Rates, "aggregates",
		"reference rate by descriptor, with one meter each: {home: 20kbps, dscp 46: 10kbps}; a descriptor is a name of "+
			"`users`, 10.0.1.0/24, dscp 46, tcp from 10.0.0.1 to 10.0.0.2 dport 443, or several separated by |; the most "+
			"specific descriptor wins",
		"P4-ABC §3.1, §3.4").Min("1bps")
	scheme.TextOf(p, &c.UserRule, "user", string(ToAuto),
		"user of a packet; sender or receiver: that end; named: the end with an aggregate or in the file's `users`; "+
			"auto: named if the file declares users, otherwise sender",
		"sender: P4-ABC §5.2; auto: Weir", ToAuto, ToSender, ToReceiver, ToNamed)
	p.BoolWords(&c.SharesDefault, [2]string{"each", "shared"}, "others", "each",
		"users without an aggregate; each: every one is a user of its own; shared: all are one user", "each: P4-ABC §5.2")
	p.Int(&c.Flows, "flows", "0", "number of hash buckets for the flows of an aggregate, which then share its part "+
		"fairly; 0: no fairness among them", "Weir").Min("0").Max("1024")
	c.bindClasses(p)

	p.BoolWords(&c.Integer, [2]string{"exact", "integer"}, "arithmetic", "exact",
		"arithmetic; exact: floating point; integer: additions, shifts, comparisons and small tables instead of "+
			"exponentials, logarithms and divisions", "exact: P4-ABC §5.1; integer: Weir")
	p.Share(&c.Spread, "spread", "0%", "fair activity meter: packets get the activity of a random rate between R_m "+
		"and this share less, instead of the activity of R_m", "P4-ABC §2; Rainbow FQ: 100 %").Max("100%")

	c.bindRules(p)
}

// bindRules binds the constraints between parameters.
func (c *Config) bindRules(p *scheme.Params) {
	p.AddRule("flows", func() error {
		if c.Integer && c.Flows > 1 {
			return fmt.Errorf("%d, which arithmetic: integer has no meters for", c.Flows)
		}
		return nil
	})
	p.AddRule("gamma", func() error {
		for _, l := range []unit.Depth{c.QMin, c.QBase, c.Gamma} {
			if packets := l.Packets > 0; l != (unit.Depth{}) && packets == c.inBytes() {
				return fmt.Errorf("q_min %v, q_base %v, gamma %v: all in packets or none in packets is needed", c.QMin, c.QBase,
					c.Gamma)
			}
		}
		return nil
	})
	p.AddRule("queue", func() error {
		if c.Register && (c.inBytes() || !c.PerPacket) {
			return fmt.Errorf("the prototype's register counts packets; it needs average: packets, and q_min, q_base and " +
				"gamma in packets")
		}
		return nil
	})
	p.AddRule("aggregates", func() error { return users.CheckDistinct(users.SetsOf(c.Aggregates)) })
	p.AddRule("mtu", func() error {
		if c.MTU != 0 && (c.MTU < minMTU || c.MTU > maxMTU) {
			return fmt.Errorf("%d B; allowed: %d to %d, or 0B", int64(c.MTU), minMTU, maxMTU)
		}
		return nil
	})
}

// Limits of mtu, as in switches and the lab: from IPv6's minimum (RFC 8200 §5) to jumbo frames of Ethernet cards.
const (
	minMTU = 1280
	maxMTU = 9216
)

// whyNotStandalone returns why a standalone switch cannot assign frames to users as configured; "" if it can.
func (c *Config) whyNotStandalone() string {
	if c.UserRule == ToSender || c.UserRule == ToAuto {
		return ""
	}
	return fmt.Sprintf("user: %s refers to the hosts of a network; in a standalone switch, the key users "+
		"determines the user of a frame",
		c.UserRule)
}
