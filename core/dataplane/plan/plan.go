// Package plan limits each user to the rate that it has bought, for any rate of the link. At the edge it has a token
// bucket for each user and direction (RFC 2697 with one bucket), next to a scheme that shares the link. The excess
// over a plan is dropped before that scheme meters it, so that a user's activity is at most its plan's.
//
// It is a policer, not a shaper, because a shaper needs a queue for each user, which P4-ABC avoids. So a sender learns
// of its plan by losses. The burst, as a time at the plan's rate, determines the part of the plan that TCP reaches.
package plan

import (
	"fmt"
	"net/netip"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config holds the plans.
type Config struct {
	Rates  []users.Aggregate // of users
	Others unit.Rate         // of each source without a rate of its own; 0: no limit
	Burst  unit.Time         // time in which a full bucket empties at its rate
}

// Traits returns that it polices users and drops their packets regardless of the queues. It names users, but not the
// other ends of their traffic: a plan covers all traffic of a user, to any receiver.
func (c *Config) Traits() dataplane.Traits {
	return dataplane.Traits{DropsEarly: true, PolicesUsers: true, NamedUsers: func() (names, peers []netip.Prefix) {
		return users.UserPrefixes(users.SetsOf(c.Rates)), nil
	}}
}

// Params binds the options of plan to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	scheme.MapOf(p, &c.Rates, users.ParseAddresses, scheme.Rates, "rates",
		"rate of a plan, by user: {home: 10Mbps, 10.0.1.0/24: 20Mbps}; a user is a name of `users`, an address or "+
			"prefix, or several separated by |; the longest prefix wins", "Weir").Min("1kbps")
	p.Rate(&c.Others, "others", "0bps", "plan of each source without a prefix; 0bps: no plan", "Weir").Min("0bps")
	p.Time(&c.Burst, "burst", "100ms", "committed burst size (CBS) as a time at the plan's rate, but at least two "+
		"frames", "RFC 2697 §3; Weir: 100 ms, a long round trip").Min("1ms").Max("10s")
	p.AddRule("rates", func() error { return users.CheckDistinct(users.SetsOf(c.Rates)) })
}

// Check refuses a configuration without plans: no rates of users, and others is 0.
func (c *Config) Check(*dataplane.SwitchContext) []scheme.Remark {
	if len(c.Rates) == 0 && c.Others == 0 {
		return []scheme.Remark{scheme.NewRefusal("", "no plan is given; give rates by user, or others")}
	}
	return nil
}

// Sets returns the users with a rate of their own. With others, each other user has one, too.
func (c *Config) Sets() (param string, all []users.Set, completes bool) {
	return "rates", users.SetsOf(c.Rates), c.Others > 0
}

// Scheme returns the scheme of the program plan. It is before the program that chooses the port:
// switch: [{plan: {rates: {192.0.2.0/29: 10Mbps}}}, forward, abc].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "plan",
		Doc: "limits each user to the rate of its plan with a token bucket", Source: "RFC 2697"},
		New)
}

// Directions of a user's traffic. Each has the plan's rate.
const (
	sends = iota
	receives
	directions
)

// Program holds the buckets of one switch.
type Program struct {
	config  Config
	table   *users.Table
	buckets []dataplane.SrTCM // by user and direction
	frame   int64             // Size of the largest frame
}

// New returns the program for a site. It fails if a name is no user of the book. With Others, each user of the book
// without a rate gets that rate.
func New(site *dataplane.Site, c Config) (*Program, error) {
	if err := users.CheckKnown(site.Book, users.SetsOf(c.Rates)); err != nil {
		return nil, err
	}
	if c.Others > 0 {
		c.Rates = users.AddMissingUsers(site.Book, c.Rates, c.Others)
	}
	x := &Program{config: c, frame: int64(site.MaxFrame),
		table: users.NewTable(site.Book, &users.Config{Reference: max(c.Others, 1), Shared: c.Others == 0,
			Aggregates: c.Rates})}
	if x.frame == 0 {
		x.frame = 1538
	}
	x.buckets = make([]dataplane.SrTCM, x.table.MaxUsers()*directions)
	for i := range x.buckets {
		if r := x.planRate(i / directions); r > 0 {
			x.buckets[i] = x.newBucket(r)
		}
	}
	return x, nil
}

// planRate returns the rate of the plan of a user, an index in the table; 0: no plan.
func (x *Program) planRate(user int) unit.Rate {
	if user < len(x.config.Rates) { // the table has these users first
		return x.config.Rates[user].Value
	}
	return x.config.Others
}

// newBucket returns a full bucket of a rate, for Burst at that rate but at least two frames.
func (x *Program) newBucket(r unit.Rate) dataplane.SrTCM {
	burst := int64(float64(r) / 8 * x.config.Burst.Seconds())
	return *dataplane.NewSrTCM(unit.LinkRate{Bits: r}, max(burst, 2*x.frame), 0)
}

// Name returns "plan".
func (x *Program) Name() string { return "plan" }

// Ingress takes tokens for a packet from the buckets of its users (meterPacket), and drops it as Policed if a bucket
// lacks tokens.
func (x *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if x.meterPacket(env.Now(), p) {
		return dataplane.Accept
	}
	return dataplane.Drop(dataplane.Policed)
}

// meterPacket reports whether a packet is within the plan of its sender and, if the receiver has a rate of its own,
// within the receiver's. A packet beyond the sender's plan takes no tokens of the receiver's. Packets made by switches
// are always within. With packet.ToUser, Src is the receiver and only its plan counts.
func (x *Program) meterPacket(now unit.Time, p *packet.Packet) bool {
	switch {
	case p.Meta.Flags&packet.Internal != 0:
		return true
	case p.Meta.Flags&packet.ToUser != 0: // the switch knows that Src is the receiver
		return x.takeTokens(now, p, x.table.UserAt(p.Src, p.Version), receives)
	case !x.takeTokens(now, p, x.table.UserAt(p.Src, p.Version), sends):
		return false
	case p.Dst == 0:
		return true
	}
	to, ok := x.table.FindSet(p.Dst, p.Version)
	return !ok || x.takeTokens(now, p, to, receives)
}

// takeTokens takes a packet's tokens from a user's bucket. It returns false if there are too few. Without a plan it
// takes no tokens and returns true.
func (x *Program) takeTokens(now unit.Time, p *packet.Packet, user int32, direction int) bool {
	return x.planRate(int(user)) == 0 ||
		x.buckets[int(user)*directions+direction].MeterPacket(now, p.Size, dataplane.Green) == dataplane.Green
}

// EvictAddress fills the bucket of a source when its address is reassigned.
func (x *Program) EvictAddress(a packet.Addr) {
	u := x.table.EvictAddress(a)
	if u < 0 {
		return
	}
	for d := range directions {
		x.buckets[int(u)*directions+d] = x.newBucket(x.config.Others)
	}
}

// Adopt keeps the buckets of users with unchanged rate and burst; a name may have other addresses. Other buckets start
// full, and lost names the old ones. It keeps no state if the burst or the largest frame differs.
func (x *Program) Adopt(_ unit.Time, other dataplane.Program) (kept string, lost []string) {
	was, ok := other.(*Program)
	if !ok || was.config.Burst != x.config.Burst || was.frame != x.frame {
		return "", nil
	}
	n, places := 0, users.IndexSets(x.config.Rates)
	for i, r := range was.config.Rates {
		j, there := places[r.Key]
		if !there || x.config.Rates[j].Value != r.Value {
			lost = append(lost, "the bucket of "+string(r.Key))
			continue
		}
		copy(x.buckets[j*directions:(j+1)*directions], was.buckets[i*directions:])
		n++
	}
	if n == 0 {
		return "", nil
	}
	return fmt.Sprintf("the buckets of %d plans", n), lost
}

// Footprint returns the use by one bucket for each user and direction.
func (x *Program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{
		dataplane.UserStage(x.table),
		{Name: "plan of the user", Gress: dataplane.InIngress,
			Meters: []dataplane.MeterUse{{Name: "buckets", Count: len(x.buckets), Rates: 1}}},
	}}
}
