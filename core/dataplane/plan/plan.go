// Package plan holds each user to the rate that it has bought, whatever the link would give it: a token bucket for
// each user and direction at the edge (RFC 2697 with one bucket), beside a scheme that shares the link. What exceeds
// a plan is dropped before that scheme meters it, so that a user's activity is that of its plan at most.
//
// It is a policer, not a shaper: a shaper needs a queue for each user, which P4-ABC is made to do without. The price is
// that a sender learns of its plan by losses; the burst, as a time at the plan's rate, decides how much of the plan
// TCP reaches.
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

// Config has the plans.
type Config struct {
	Rates  []users.Aggregate // of users
	Others unit.Rate         // of each source that has no rate of its own; 0: no limit
	Burst  unit.Time         // how long a full bucket lasts at its rate
}

// Traits returns that it polices users and drops their packets, whatever the queues are. It names users, and not the
// other ends of their traffic: a plan is for all that a user sends, to any receiver.
func (c *Config) Traits() dataplane.Traits {
	return dataplane.Traits{DropsEarly: true, PolicesUsers: true, NamedUsers: func() (names, peers []netip.Prefix) {
		return users.Names(users.Keys(c.Rates)), nil
	}}
}

// Params binds the configuration.
func (c *Config) Params(p *scheme.Params) {
	scheme.MapOf(p, &c.Rates, users.ParseAddresses, scheme.Rates, "rates",
		"rate of a plan, by user: a name of `users`, an address or prefix, or several with | between them; the longest "+
			"prefix wins", "ours").Min("1kbps")
	p.Rate(&c.Others, "others", "0bps", "plan of each source that is in no prefix; 0bps: none", "ours").Min("0bps")
	p.Time(&c.Burst, "burst", "100ms", "CBS as a time at the plan's rate, with room for two frames at least",
		"RFC 2697 §3; ours: 100 ms, a long round trip").Min("1ms").Max("10s")
	p.Rule("rates", func() error { return users.Distinct(users.Keys(c.Rates)) })
}

// Check refuses a list without plans.
func (c *Config) Check(*dataplane.SwitchContext) []scheme.Remark {
	if len(c.Rates) == 0 && c.Others == 0 {
		return []scheme.Remark{scheme.Refuse("", "no plan is given: rates by user, or others")}
	}
	return nil
}

// Sets returns the users that have a rate of their own. With others, each other user has one, too.
func (c *Config) Sets() (param string, all []users.Set, completes bool) {
	return "rates", users.Keys(c.Rates), c.Others > 0
}

// Scheme is what an experiment names: switch: [{plan: {rates: {192.0.2.0/29: 10Mbps}}}, forward, abc].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "plan",
		Doc: "holds each user to the rate of its plan by a token bucket", Source: "RFC 2697"},
		New)
}

// Directions of a user's traffic. Each has the plan's rate.
const (
	sends = iota
	receives
	directions
)

// Program has the buckets of one switch.
type Program struct {
	config  Config
	table   *users.Table
	buckets []dataplane.SrTCM // by user and direction
	frame   int64             // Size of the largest frame
}

// New returns the program for a site.
func New(site *dataplane.Site, c Config) (*Program, error) {
	if err := users.Unknown(site.Book, users.Keys(c.Rates)); err != nil {
		return nil, err
	}
	if c.Others > 0 {
		c.Rates = users.Complete(site.Book, c.Rates, c.Others)
	}
	x := &Program{config: c, frame: int64(site.MaxFrame),
		table: users.NewTable(site.Book, &users.Config{Reference: max(c.Others, 1), Shared: c.Others == 0,
			Aggregates: c.Rates})}
	if x.frame == 0 {
		x.frame = 1538
	}
	x.buckets = make([]dataplane.SrTCM, x.table.Most()*directions)
	for i := range x.buckets {
		if r := x.rate(i / directions); r > 0 {
			x.buckets[i] = x.bucket(r)
		}
	}
	return x, nil
}

// rate is a user's plan; 0: none.
func (x *Program) rate(user int) unit.Rate {
	if user < len(x.config.Rates) { // the table has these users first
		return x.config.Rates[user].Value
	}
	return x.config.Others
}

// bucket is a full one.
func (x *Program) bucket(r unit.Rate) dataplane.SrTCM {
	burst := int64(float64(r) / 8 * x.config.Burst.Seconds())
	return *dataplane.NewSrTCM(unit.LinkRate{Bits: r}, max(burst, 2*x.frame), 0)
}

// Name is "plan".
func (x *Program) Name() string { return "plan" }

// Ingress drops what a user's bucket has no tokens for. What switches make, neighbour discovery too, has no plan.
func (x *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if x.meter(env.Now(), p) {
		return dataplane.Accept
	}
	return dataplane.Drop(dataplane.Policed)
}

// meter reports whether a packet is within the plan of its sender and, if the receiver has a rate of its own, within
// the receiver's. What a sender's plan has no tokens for takes no tokens of the receiver's.
func (x *Program) meter(now unit.Time, p *packet.Packet) bool {
	switch {
	case p.Meta.Flags&packet.Internal != 0:
		return true
	case p.Meta.Flags&packet.ToUser != 0: // the switch knows that Src is the receiver
		return x.take(now, p, x.table.At(p.Src, p.Version), receives)
	case !x.take(now, p, x.table.At(p.Src, p.Version), sends):
		return false
	case p.Dst == 0:
		return true
	}
	to, ok := x.table.Set(p.Dst, p.Version)
	return !ok || x.take(now, p, to, receives)
}

// take reports whether a user's bucket has tokens for a packet, and takes them.
func (x *Program) take(now unit.Time, p *packet.Packet, user int32, direction int) bool {
	return x.rate(int(user)) == 0 ||
		x.buckets[int(user)*directions+direction].Colour(now, p.Size, dataplane.Green) == dataplane.Green
}

// EvictAddress gives a source that is another's now a full bucket.
func (x *Program) EvictAddress(a packet.Addr) {
	u := x.table.EvictAddress(a)
	if u < 0 {
		return
	}
	for d := range directions {
		x.buckets[int(u)*directions+d] = x.bucket(x.config.Others)
	}
}

// Adopt keeps the buckets of users whose rate and burst stay as they are, under a name also when its addresses change.
// Others begin full.
func (x *Program) Adopt(_ unit.Time, other dataplane.Program) (kept string, lost []string) {
	was, ok := other.(*Program)
	if !ok || was.config.Burst != x.config.Burst || was.frame != x.frame {
		return "", nil
	}
	n, places := 0, users.Places(x.config.Rates)
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

// Footprint is one bucket for each user and direction.
func (x *Program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{
		dataplane.UserStage(x.table),
		{Name: "plan of the user", Gress: dataplane.InIngress,
			Meters: []dataplane.MeterUse{{Name: "buckets", Count: len(x.buckets), Rates: 1}}},
	}}
}
