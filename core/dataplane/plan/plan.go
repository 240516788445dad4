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
	"slices"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config has the plans.
type Config struct {
	Rates  []users.Aggregate // of users, by prefix
	Others unit.Rate         // of each source that is in no prefix; 0: no limit
	Burst  unit.Time         // how long a full bucket lasts at its rate
}

// Loses packets, whatever the queues are.
func (*Config) Loses() {}

// Params binds the configuration.
func (c *Config) Params(p *scheme.Params) {
	scheme.MapOf(p, &c.Rates, users.Prefix, scheme.Rates, "rates",
		"rate of a plan, by prefix, which is one user; longest prefix wins", "ours").Min("1kbps")
	p.Rate(&c.Others, "others", "0bps", "plan of each source that is in no prefix; 0bps: none", "ours").Min("0bps")
	p.Time(&c.Burst, "burst", "100ms", "CBS as a time at the plan's rate, with room for two frames at least",
		"RFC 2697 §3; ours: 100 ms, a long round trip").Min("1ms").Max("10s")
	p.Rule("rates", func() error {
		named := users.Config{Aggregates: c.Rates}
		return named.Distinct()
	})
}

var warnTwoPlans = scheme.WarningKind{ID: "plan-two-prefixes",
	Condition: "`rates` has the IPv4 address of a host in one plan and its IPv6 address in another"}

// Suits refuses a list without plans, and warns of a host that has two of them.
func (c *Config) Suits(s *dataplane.Setting) []scheme.Remark {
	if len(c.Rates) == 0 && c.Others == 0 {
		return []scheme.Remark{scheme.Refuse("", "no plan is given: rates by prefix, or others")}
	}
	first, count := "", 0
	for i, name := range s.Nodes {
		if s.Book == nil || i+1 >= s.Book.Len() {
			break
		}
		v4, v6 := c.planOf(s.Book.V4(packet.Addr(i+1))), c.planOf(s.Book.V6(packet.Addr(i+1)))
		if v4 == nil || v6 == nil {
			continue
		}
		if count++; count == 1 {
			first = fmt.Sprintf("%s is in the plans of %v, %v, and of %v, %v", name, v4.Key, v4.Value, v6.Key, v6.Value)
		}
	}
	if count > 1 {
		first = fmt.Sprintf("%s, and %d other nodes are in two", first, count-1)
	}
	if count == 0 {
		return nil
	}
	return []scheme.Remark{warnTwoPlans.Remark("rates", "%s: a host has the rates of both together; a plan is one prefix",
		first)}
}

// planOf returns the plan of an address, by the longest prefix; nil if no prefix has it.
func (c *Config) planOf(a netip.Addr) (longest *users.Aggregate) {
	for i := range c.Rates {
		if x := &c.Rates[i]; x.Key.Contains(a) && (longest == nil || x.Key.Bits() > longest.Key.Bits()) {
			longest = x
		}
	}
	return longest
}

// Names returns the prefixes that are users.
func (c *Config) Names() (all []netip.Prefix) {
	for _, r := range c.Rates {
		all = append(all, r.Key)
	}
	return all
}

// Peers is nil: a plan is for all that a user sends, whoever gets it.
func (*Config) Peers() []netip.Prefix { return nil }

// Scheme is what an experiment names: switch: [{plan: {rates: {192.0.2.0/29: 10Mbps}}}, forward, abc].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "plan",
		Doc: "holds each user to the rate of its plan by a token bucket", Source: "RFC 2697",
		Warnings: []scheme.WarningKind{warnTwoPlans}}, New)
}

// directions are what a user sends and what it receives: each has the plan's rate.
const directions = 2

// Program has the buckets of one switch.
type Program struct {
	config  Config `state:"-"`
	table   *users.Table
	buckets []dataplane.SrTCM // by user and direction
	frame   int64             // Size of the largest frame
}

// New returns the program for a site.
func New(site *dataplane.Site, c Config) (*Program, error) {
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
	if user < len(x.config.Rates) { // the table has prefixes first
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

// meter reports whether a packet is within its user's plan.
func (x *Program) meter(now unit.Time, p *packet.Packet) bool {
	if p.Meta.Flags&packet.Internal != 0 {
		return true
	}
	u := int(x.table.Of(p))
	if x.rate(u) == 0 {
		return true
	}
	u *= directions
	if p.Meta.Flags&packet.ToUser != 0 {
		u++
	}
	return x.buckets[u].Colour(now, p.Size, dataplane.Green) == dataplane.Green
}

// Forget gives a source that is another's now a full bucket.
func (x *Program) Forget(a packet.Addr) {
	u := x.table.Forget(a)
	if u < 0 {
		return
	}
	for d := range directions {
		x.buckets[int(u)*directions+d] = x.bucket(x.config.Others)
	}
}

// Adopt keeps the buckets of prefixes whose rate and burst stay as they are. Others begin full.
func (x *Program) Adopt(_ unit.Time, other dataplane.Program) (kept string, lost []string) {
	was, ok := other.(*Program)
	if !ok || was.config.Burst != x.config.Burst || was.frame != x.frame {
		return "", nil
	}
	n := 0
	for i, r := range was.config.Rates {
		j := slices.IndexFunc(x.config.Rates, func(q users.Aggregate) bool { return q.Key.Masked() == r.Key.Masked() })
		if j < 0 || x.config.Rates[j].Value != r.Value {
			lost = append(lost, "the bucket of "+r.Key.String())
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
