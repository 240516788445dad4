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

// Experiments holds the paper's figures as experiments.
//
//go:embed experiments/[a-z]*.yaml
var Experiments embed.FS

// Program is ABC in one switch: one activity meter per aggregate, and one activity AQM per egress port. Meters are its
// only per-user state; a core switch has none.
type Program struct {
	aggregates
	markRange
	config         Config
	costShift      uint8 // log2 of the factor by which bytes of class 0 count
	inBytes        bool
	frame          unit.Bytes      // of full size
	aqms           []activityAQM   // by egress port
	sides          []Side          // by port
	mtus           []int32         // of links, by port; 0: any
	unmarked       []activityMeter // by port, of packets from inside without a mark
	unmarkedLabels []string        // by port, metrics label of unmarked
	markLimits     []maxActivity   // by ingress port, limit of activities in marks
	integers       *integers       // nil: arithmetic is exact
	spread         *spread         // nil: activities follow from rates alone

	activity float64        // of the current packet, between Ingress and Book; NaN: it is outside the domain
	current  *activityMeter // of the current packet, until it is booked or dropped; nil: not metered here
	hand     *packet.Packet // the current packet itself, which follows its copies (Env.ReplicateTo)
}

// Scheme returns the scheme for experiments: switch: [forward, {abc: {…}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{
		Name: "abc", Doc: "activity-based congestion management: activity meters and activity AQM",
		Source:   "P4-ABC (Menth et al., 2019)",
		Warnings: []scheme.WarningKind{warnNoRate, warnBuffer, warnQBase, warnMTURigid, warnMTUIPv6}}, New)
}

// New returns the program for a site. It fails if aggregates name unknown users, lack a user that another parameter
// needs, or if ports have too few queues or sides.
func New(site *dataplane.Site, c Config) (*Program, error) {
	if err := users.CheckKnown(site.Book, users.SetsOf(c.Aggregates)); err != nil {
		return nil, err
	}
	c = c.withFittedMemories().withUsers(site.Book)
	if param, err := c.checkUsers(); err != nil {
		return nil, fmt.Errorf("%s: %w", param, err)
	}
	if err := c.checkQueues(site); err != nil {
		return nil, err
	}
	g, err := newAggregates(site.Book, &c)
	if err != nil {
		return nil, err
	}
	a := &Program{aggregates: g, markRange: markRange{c.Domain == DomainMember && c.Class == ByMark}, config: c,
		costShift: uint8(c.costShift()),
		inBytes:   c.inBytes(), frame: fullFrame(site),
		aqms: newAQMs(&c, site), mtus: make([]int32, site.Ports), unmarked: make([]activityMeter, site.Ports)}
	if a.sides, err = assignSides(site, &c); err != nil {
		return nil, err
	}
	if c.Integer {
		a.integers = newIntegers(&c, a)
	}
	for i := range a.aqms {
		a.markLimits = append(a.markLimits, c.maxMark(a.aqms[i].rate))
	}
	if c.Spread > 0 {
		a.spread = newSpread(c.Spread, site.Random("spread"))
	}
	a.unmarkedLabels = make([]string, site.Ports)
	for i := range a.mtus {
		if a.unmarkedLabels[i] = fmt.Sprint("unmarked at port ", i); i < len(site.Lines) {
			a.unmarkedLabels[i] = "unmarked at " + site.Lines[i].To
		}
		a.unmarked[i] = a.newActivityMeter(c.Reference)
		a.unmarked[i].flows = nil
		if a.mtus[i] = int32(c.MTU); c.MTU == 0 && i < len(site.Lines) {
			a.mtus[i] = site.Lines[i].MTU
		}
	}
	return a, nil
}

// Name returns "abc".
func (a *Program) Name() string { return "abc" }

// Ingress measures a packet's activity or reads its mark (P4-ABC §3.2, §5.2: the first table). It keeps the result for
// Admit and Book, may set Meta.Class, and accepts every packet. Packets made by switches are outside the domain and
// have no activity. A frame counts each time it passes the meter, so programs that recirculate must precede this one.
func (a *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	a.activity, a.current, a.hand = math.NaN(), nil, p
	if p.Meta.Flags&packet.Internal != 0 {
		return dataplane.Accept
	}
	if a.integers != nil {
		a.activity, a.integers.activity = 0, a.measureArrivalInteger(env.Now(), p)
		return dataplane.Accept
	}
	a.activity = a.measureArrival(env.Now(), p)
	return dataplane.Accept
}

// Admit runs the activity AQM (P4-ABC §3.3, §5.2: the second table). It drops a packet of the domain if the queue of
// port Meta.Out is longer than T_drop. Otherwise it writes or removes the mark, which changes p.Size before the packet
// counts in that queue, and drops a packet that the mark makes too long (prepareDeparture). It also updates the port's
// room, and its limits after a change of the port's rate.
func (a *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	port, q := env.Port(m.Out), &a.aqms[m.Out]
	if rate := port.Rate().Bits; rate != q.rate {
		a.setRate(m.Out, rate)
	}
	room := &q.room
	room.recordArrival(env.Now(), port.Bytes() == 0)
	if !a.bypassesAQM(m) && a.exceedsThreshold(a.queueDepth(env, m.Out), m.Out) {
		room.recordDrop(env.Now())
		return dataplane.Drop(dataplane.ActivityExceeded)
	}
	return a.prepareDeparture(p)
}

// Book counts an accepted packet in its user's bytes, in the port's register and in A_avg. The average covers only
// accepted packets of the domain (P4-ABC §3.3); the prototype's register grows by one for any packet (P4-ABC §5.2).
func (a *Program) Book(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	a.aqms[m.Out].register++
	if a.current != nil {
		a.current.counts.bytes += uint64(p.Size)
		a.finishPacket(p)
	}
	if !a.bypassesAQM(m) {
		a.addSample(env.Now(), p.Size, m.Out)
	}
}

// OnDrop counts the packet in hand as its user's loss, whichever program dropped it. A packet evicted from the queue is
// not in hand, and is not counted.
func (a *Program) OnDrop(_ *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	if a.current != nil && why != dataplane.Evicted {
		a.current.counts.dropped++
		a.finishPacket(p)
	}
}

// finishPacket ends the counting of the packet in hand. Its copies to other ports precede it and count with it.
func (a *Program) finishPacket(p *packet.Packet) {
	if p == a.hand {
		a.current = nil
	}
}

// Egress copies the queue's length to the register (P4-ABC §5.3), and counts the departing frame in the port's room.
func (a *Program) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	q := &a.aqms[p.Meta.Out]
	q.register = int64(env.Port(p.Meta.Out).Packets())
	q.room.recordDeparture(env.Now(), p.Size)
	return dataplane.Accept
}

// Config returns the program's configuration, with memories fitted to its round trip.
func (a *Program) Config() Config { return a.config }
