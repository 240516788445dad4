package p4abc

import (
	"embed"
	"fmt"
	"math"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Experiments are the paper's figures.
//
//go:embed experiments/[a-z]*.yaml
var Experiments embed.FS

// Program is ABC in one switch: one activity meter per aggregate, and one activity AQM per egress port.
// The meters are its only per-user state, and in the core it has none.
type Program struct {
	aggregates
	honest
	config   Config
	cost     uint8 // of class 0: log2 of as how many bytes one counts
	inBytes  bool
	frame    unit.Bytes      // of full size
	aqms     []activityAQM   // by egress port
	sides    []Side          // by port
	mtus     []int32         // of links, by port; 0: any
	unmarked []activityMeter // by port, of what comes in from inside without a mark
	nameless []string        // by port, what metrics call that
	entering []maxActivity   // by port, of packets that come in there, for their marks
	whole    *integers       // nil: arithmetic is exact
	spread   *spread         // nil: activities are those of the rates

	activity float64        // of the current packet, between Ingress and Book; NaN: it is outside the domain
	current  *activityMeter // of the current packet, until it is booked or dropped; nil: it was not metered here
	hand     *packet.Packet // the current packet itself, which comes after its copies (Env.Replicate)
}

// Scheme is what an experiment names: switch: [forward, {abc: {…}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{
		Name: "abc", Doc: "activity-based congestion management: activity meters and activity AQM",
		Source:   "P4-ABC (Menth et al., 2019)",
		Warnings: []scheme.WarningKind{warnNoRate, warnBuffer, warnQBase, warnMTURigid, warnMTUIPv6}}, New)
}

// New returns the program for a site.
func New(site *dataplane.Site, c Config) (*Program, error) {
	if err := users.Unknown(site.Book, users.Keys(c.Aggregates)); err != nil {
		return nil, err
	}
	c = c.fitted().withUsers(site.Book)
	if param, err := c.checkUsers(); err != nil {
		return nil, fmt.Errorf("%s: %w", param, err)
	}
	if err := c.queued(site); err != nil {
		return nil, err
	}
	g, err := newAggregates(site.Book, &c)
	if err != nil {
		return nil, err
	}
	a := &Program{aggregates: g, honest: honest{c.Domain == DomainMember && c.Class == ByMark}, config: c,
		cost:    uint8(c.shift()),
		inBytes: c.inBytes(), frame: fullFrame(site),
		aqms: newAQMs(&c, site), mtus: make([]int32, site.Ports), unmarked: make([]activityMeter, site.Ports)}
	if a.sides, err = sidesOf(site, &c); err != nil {
		return nil, err
	}
	if c.Integer {
		a.whole = newIntegers(&c, a)
	}
	for i := range a.aqms {
		a.entering = append(a.entering, c.maxMark(a.aqms[i].rate))
	}
	if c.Spread > 0 {
		a.spread = newSpread(c.Spread, site.Random("spread"))
	}
	a.nameless = make([]string, site.Ports)
	for i := range a.mtus {
		if a.nameless[i] = fmt.Sprint("unmarked at port ", i); i < len(site.Lines) {
			a.nameless[i] = "unmarked at " + site.Lines[i].To
		}
		a.unmarked[i] = a.newActivityMeter(c.Reference)
		a.unmarked[i].flows = nil
		if a.mtus[i] = int32(c.MTU); c.MTU == 0 && i < len(site.Lines) {
			a.mtus[i] = site.Lines[i].MTU
		}
	}
	return a, nil
}

// Name is "abc".
func (a *Program) Name() string { return "abc" }

// Ingress is the activity meter (§3.2, §5.2: the first table), and reads marks. Packets made by switches are
// outside the domain: they have no activity. A frame counts each time it passes the meter, so programs that
// recirculate must precede this one.
func (a *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	a.activity, a.current, a.hand = math.NaN(), nil, p
	if p.Meta.Flags&packet.Internal != 0 {
		return dataplane.Accept
	}
	if a.whole != nil {
		a.activity, a.whole.activity = 0, a.enterInteger(env.Now(), p)
		return dataplane.Accept
	}
	a.activity = a.enter(env.Now(), p)
	return dataplane.Accept
}

// Admit is the activity AQM (§3.3, §5.2: the second table). Here the port is known, so that a packet gets its
// mark, or loses it, before it counts in that port's queue.
func (a *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	port, q := env.Port(m.Out), &a.aqms[m.Out]
	if rate := port.Rate().Bits; rate != q.rate {
		a.setRate(m.Out, rate)
	}
	room := &q.room
	room.arrive(env.Now(), port.Bytes() == 0)
	if !a.outside(m) && a.exceeded(a.depth(env, m.Out), m.Out) {
		room.drop(env.Now())
		return dataplane.Drop(dataplane.ActivityExceeded)
	}
	return a.leave(p)
}

// Book counts an accepted packet. The average covers accepted packets of the domain only (§3.3); the
// prototype's register grows by one for any packet (§5.2).
func (a *Program) Book(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	a.aqms[m.Out].register++
	if a.current != nil {
		a.current.counts.bytes += uint64(p.Size)
		a.done(p)
	}
	if !a.outside(m) {
		a.accept(env.Now(), p.Size, m.Out)
	}
}

// OnDrop counts the packet in hand as its user's loss, whoever has dropped it. A packet that is removed from the queue
// to make room for it is not in hand.
func (a *Program) OnDrop(_ *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	if a.current != nil && why != dataplane.Evicted {
		a.current.counts.dropped++
		a.done(p)
	}
}

// done ends the counting for the packet in hand. Its copies to other ports come before it, and count as it does.
func (a *Program) done(p *packet.Packet) {
	if p == a.hand {
		a.current = nil
	}
}

// Egress copies the queue's length to the register (§5.3), and counts what the port sends.
func (a *Program) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	q := &a.aqms[p.Meta.Out]
	q.register = int64(env.Port(p.Meta.Out).Packets())
	q.room.depart(env.Now(), p.Size)
	return dataplane.Accept
}

// Config returns what the program was made with, fitted to its round trip.
func (a *Program) Config() Config { return a.config }
