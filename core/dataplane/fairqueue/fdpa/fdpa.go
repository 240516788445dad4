// Package fdpa is Fair Dynamic Priority Assignment (Cascone, Bonelli, Bianchi, Capone, Sansò, LANMAN 2017): a switch
// measures the rate of each user, and gives its packets a queue of a strict priority scheduler by how far the rate is
// above the fair share. Senders that react to loss and delay go down to it; those that do not keep the last queue
// full, and then only what they leave to others is fair (P4-ABC §2).
//
// Of the paper only the abstract could be had: rates by exponential averaging, the fair share as the link's rate by
// weight over the users that have sent of late, and the steps between priorities are ours. A user whose priority
// rises may have its packets overtaken by later ones.
package fdpa

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config is how rates are measured and told apart.
type config struct {
	users.Config
	K      unit.Time // averaging constant of users' rates
	Active unit.Time // a user who has sent within this counts for the fair share
	First  float64   // rate, by the fair share, up to which a user has the first priority
	Step   float64   // by which that of each further one is larger
}

// Traits returns that it drops packets of users above their fair share first, where the port has a buffer.
func (*config) Traits() dataplane.Traits { return dataplane.Traits{DropsEarly: true} }

// Params binds the configuration.
func (c *config) Params(p *scheme.Params) {
	c.Config.Params(p)
	p.Time(&c.K, "k", "100ms", "averaging constant of a user's rate", "ours").Min("1us")
	p.Time(&c.Active, "active", "1s", "users that have sent within this share the link", "ours").Min("1us")
	p.Float(&c.First, "first", "1", "rate up to which a user has the first priority, in fair shares", "ours").Above("0")
	p.Float(&c.Step, "step", "1.25", "ratio of such rates of two priorities", "ours").Above("1")
}

// Scheme is what an experiment names: {queues: 8, programs: [forward, fdpa]}.
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "fdpa", Doc: "fair dynamic priority assignment: users above their fair " +
		"share wait in later queues", Source: "FDPA"}, newProgram)
}

// program is FDPA in one switch.
type program struct {
	config config
	rates  users.Rates // by user
	ports  []port
	queues int
}

// port is what is kept of a port. Users count at each port that they send to.
type port struct {
	weight float64     // of users that are active
	counts unit.Time   // when they are counted again
	sent   []unit.Time // when each user sent last, plus 1 ps; 0: it is not active
}

// newProgram returns the program for a site.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	if site.Queues < 2 {
		return nil, fmt.Errorf("fdpa: its priorities need two queues at least, the ports have %d", max(site.Queues, 1))
	}
	for i, l := range site.Lines {
		if l.Rate.Bits == 0 {
			return nil, fmt.Errorf("fdpa: port %d has %v: a fair share needs ports whose rates are in bit/s", i, l.Rate)
		}
	}
	x := &program{config: c, rates: users.NewRates(site.Book, &c.Config), ports: make([]port, site.Ports),
		queues: site.Queues}
	for i := range x.ports {
		x.ports[i].sent = make([]unit.Time, x.rates.Most())
	}
	return x, nil
}

// Name is "fdpa".
func (x *program) Name() string { return "fdpa" }

// Ingress measures the rate of the user.
func (x *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Flags&packet.Internal == 0 {
		x.rates.Update(env.Now(), p, x.config.K)
	}
	return dataplane.Accept
}

// Admit chooses the queue. Packets that switches make go into the first.
func (x *program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if m.Flags&packet.Internal != 0 {
		m.Queue = 0
		return dataplane.Accept
	}
	u := x.rates.Of(p)
	k := &x.ports[m.Out]
	k.counted(env.Now(), u, x.rates.Table, x.config.Active)
	w := x.rates.Weight(u)
	fair := float64(env.Port(m.Out).Rate().Bits) * w / k.weight
	m.Queue = x.config.priority(x.rates.Value(u)/fair, x.queues)
	return dataplane.Accept
}

// counted keeps the weight of users that are active: those that come are added at once, those that have stopped are
// taken out once in a quarter of the time, which a control plane would do.
func (k *port) counted(now unit.Time, u int32, t *users.Table, active unit.Time) {
	if k.sent[u] == 0 {
		k.weight += t.Weight(u)
	}
	k.sent[u] = now + 1
	if now < k.counts {
		return
	}
	k.counts, k.weight = now+active/4, 0
	for i, last := range k.sent {
		switch {
		case last == 0:
		case now+1-last > active:
			k.sent[i] = 0
		default:
			k.weight += t.Weighed(i)
		}
	}
}

// priority is the queue of a rate in fair shares.
func (c *config) priority(shares float64, queues int) uint8 {
	q, bound := uint8(0), c.First
	for shares > bound && int(q) < queues-1 {
		q++
		bound *= c.Step
	}
	return q
}

// EvictAddress starts a source that is another's now afresh.
func (x *program) EvictAddress(a packet.Addr) {
	if u := x.rates.EvictAddress(a); u >= 0 {
		for i := range x.ports {
			if k := &x.ports[i]; k.sent[u] != 0 {
				k.weight -= x.rates.Weight(u)
				k.sent[u] = 0
			}
		}
	}
}

// Footprint is a rate for each user and, at each port, when a user has last sent.
func (x *program) Footprint() dataplane.Footprint {
	const in = dataplane.InIngress
	n, ports := x.rates.Users(), len(x.ports)
	var k port
	return dataplane.Footprint{Stages: []dataplane.Stage{dataplane.UserStage(x.rates.Table),
		{Name: "rate of the user", Gress: in, Registers: []dataplane.RegisterUse{{Name: "rates of users", Cells: n,
			Bits: dataplane.Bits(users.Rate{}), Reads: 1, Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.Transcendental, What: "decay exp(-T/K)", Times: 1},
				{Kind: dataplane.Dividing, What: "l/T, T/K", Times: 2},
				{Kind: dataplane.FloatingPoint, What: "rate", Times: 3}}},
		{Name: "active users", Gress: in, Registers: []dataplane.RegisterUse{
			{Name: "last packet of users at ports", Cells: n * ports, Bits: 64, Reads: 1, Writes: 1},
			{Name: "weight of active users", Cells: ports, Bits: dataplane.Bits(k.weight), Reads: 1, Writes: 1}}},
		{Name: "priority", Gress: in, Operations: []dataplane.Operation{
			{Kind: dataplane.Dividing, What: "rate by the fair share", Times: 2},
			{Kind: dataplane.Looping, What: "over priorities", Times: x.queues - 1}}},
		{Name: "users that have stopped", Gress: dataplane.InControl, Operations: []dataplane.Operation{
			{Kind: dataplane.Timing, What: "a count a period", Times: 1},
			{Kind: dataplane.Looping, What: "over users", Times: n}}}}}
}
