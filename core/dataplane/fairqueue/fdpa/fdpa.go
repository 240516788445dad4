// Package fdpa is Fair Dynamic Priority Assignment (Cascone, Bonelli, Bianchi, Capone, Sansò, LANMAN 2017). A switch
// measures the rate of each user. The rate's distance from the fair share selects a queue of a strict priority
// scheduler. Senders that respond to loss and delay come down to the fair share. Others keep the last queue full, and
// then only the remaining capacity is shared fairly (P4-ABC §2).
//
// Only the paper's abstract is available. Rates by exponential averaging, the fair share as the link's rate by weight
// over the users that have sent recently, and the steps between priorities are Weir's. If the priority of a user
// rises, later packets may overtake its earlier ones.
package fdpa

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config holds the parameters of rates and priorities.
type config struct {
	users.Config
	K      unit.Time // averaging constant of users' rates
	Active unit.Time // users that have sent within this time share the link
	First  float64   // rate, in fair shares, up to which a user has the first priority
	Step   float64   // ratio of such rates of two priorities
}

// Traits returns no trait. fdpa only selects queues: a full buffer, or a full queue, drops packets of users above their
// fair share, which wait in later queues. Without a limit the port drops no packet.
func (*config) Traits() dataplane.Traits { return dataplane.Traits{} }

// Params binds the options of fdpa to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	c.Config.Params(p)
	p.Time(&c.K, "k", "100ms", "averaging constant of a user's rate; longer than the bursts and round-trip times of "+
		"users, shorter than the time in which the fair share changes", "Weir").Min("1us")
	p.Time(&c.Active, "active", "1s", "time since its last packet for which a user counts as active; active users "+
		"share the link", "Weir").Min("1us")
	p.Float(&c.First, "first", "1", "rate up to which a user has the first priority, in fair shares; above 1: users "+
		"slightly above their share keep it", "Weir").Above("0")
	p.Float(&c.Step, "step", "1.25", "ratio of the rate limits of two consecutive priorities; smaller: users near the "+
		"fair share are told apart, larger: users far above it", "Weir").Above("1")
}

// Scheme returns the scheme of the program fdpa. A program before it chooses the port:
// {queues: 8, programs: [forward, fdpa]}.
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "fdpa", Doc: "fair dynamic priority assignment: users above their " +
		"fair share use queues of lower priority", Source: "FDPA"}, newProgram)
}

// program is FDPA in one switch.
type program struct {
	config config
	rates  users.Rates // by user
	ports  []port
	queues int
}

// port is the state of a port. Users count at each port that they send to.
type port struct {
	weight    float64     // of active users
	nextCount unit.Time   // time of the next count
	lastSent  []unit.Time // time of each user's last packet, plus 1 ps; 0: not active
}

// newProgram returns the program. It fails unless ports have at least two queues and a rate in bit/s.
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
		x.ports[i].lastSent = make([]unit.Time, x.rates.MaxUsers())
	}
	return x, nil
}

// Name returns "fdpa".
func (x *program) Name() string { return "fdpa" }

// Ingress counts p in its user's rate. Packets made by switches are not counted. It accepts every packet.
func (x *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Flags&packet.Internal == 0 {
		x.rates.AddPacket(env.Now(), p, x.config.K)
	}
	return dataplane.Accept
}

// Admit counts the user as active at the port, and sets Meta.Queue by its rate in fair shares there. It accepts every
// packet. Packets made by switches join the first.
func (x *program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if m.Flags&packet.Internal != 0 {
		m.Queue = 0
		return dataplane.Accept
	}
	u := x.rates.UserOf(p)
	k := &x.ports[m.Out]
	k.countActive(env.Now(), u, x.rates.Table, x.config.Active)
	w := x.rates.Weight(u)
	fair := float64(env.Port(m.Out).Rate().Bits) * w / k.weight
	m.Queue = x.config.choosePriority(x.rates.Value(u)/fair, x.queues)
	return dataplane.Accept
}

// countActive maintains the weight of active users at a port. It adds a new user u at once. Every quarter of activeTime
// it removes users without a packet for activeTime and sums the weights again, as a control plane would.
func (k *port) countActive(now unit.Time, u int32, t *users.Table, activeTime unit.Time) {
	if k.lastSent[u] == 0 {
		k.weight += t.Weight(u)
	}
	k.lastSent[u] = now + 1
	if now < k.nextCount {
		return
	}
	k.nextCount, k.weight = now+activeTime/4, 0
	for i, last := range k.lastSent {
		switch {
		case last == 0:
		case now+1-last > activeTime:
			k.lastSent[i] = 0
		default:
			k.weight += t.WeightOf(i)
		}
	}
}

// choosePriority returns the queue of a rate in fair shares: 0 up to First, then one more for each factor of Step, up
// to the last queue.
func (c *config) choosePriority(shares float64, queues int) uint8 {
	q, bound := uint8(0), c.First
	for shares > bound && int(q) < queues-1 {
		q++
		bound *= c.Step
	}
	return q
}

// EvictAddress resets the rate of a source, and its activity at all ports, when its address is reassigned.
func (x *program) EvictAddress(a packet.Addr) {
	if u := x.rates.EvictAddress(a); u >= 0 {
		for i := range x.ports {
			if k := &x.ports[i]; k.lastSent[u] != 0 {
				k.weight -= x.rates.Weight(u)
				k.lastSent[u] = 0
			}
		}
	}
}

// Footprint returns the use by a rate for each user and, at each port, the time of its last packet.
func (x *program) Footprint() dataplane.Footprint {
	const in = dataplane.InIngress
	n, ports := x.rates.StateCount(), len(x.ports)
	var k port
	return dataplane.Footprint{Stages: []dataplane.Stage{dataplane.UserStage(x.rates.Table),
		{Name: "rate of the user", Gress: in, Registers: []dataplane.RegisterUse{{Name: "rates of users", Cells: n,
			Bits: dataplane.WidthOf(users.Rate{}), Reads: 1, Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.Transcendental, What: "decay exp(-T/K)", Times: 1},
				{Kind: dataplane.Dividing, What: "l/T, T/K", Times: 2},
				{Kind: dataplane.FloatingPoint, What: "rate", Times: 3}}},
		{Name: "active users", Gress: in, Registers: []dataplane.RegisterUse{
			{Name: "last packet of users at ports", Cells: n * ports, Bits: 64, Reads: 1, Writes: 1},
			{Name: "weight of active users", Cells: ports, Bits: dataplane.WidthOf(k.weight), Reads: 1, Writes: 1}}},
		{Name: "priority", Gress: in, Operations: []dataplane.Operation{
			{Kind: dataplane.Dividing, What: "rate by the fair share", Times: 2},
			{Kind: dataplane.Looping, What: "over priorities", Times: x.queues - 1}}},
		{Name: "users that have stopped", Gress: dataplane.InControl, Operations: []dataplane.Operation{
			{Kind: dataplane.Timing, What: "a count a period", Times: 1},
			{Kind: dataplane.Looping, What: "over users", Times: n}}}}}
}
