// Package pie is PIE (RFC 8033) on the queues of a switch's ports, each by itself: packets that come are dropped, or
// marked, with a probability that a controller moves every update so that the queue's delay goes to a target. Of what
// the RFC leaves open there are marks (§5.1), the departure rate (§5.2), active and inactive (§5.3), de-randomisation
// (§5.4) and the cap (§5.5).
package pie

import (
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config is the controller.
type config struct {
	Target, Update, MaxBurst unit.Time
	Alpha, Beta              float64 // per second
	ECN                      bool
	MarkUpTo                 float64 // probability above which packets are dropped that could be marked
	Rate                     bool    // the delay is that of the queue's bytes at the rate at which they left lately
	Spread                   bool    // de-randomisation
	Cap                      bool
	ActiveFrom               float64 // of the room; 0: always
	MeanPacket               unit.Bytes
}

// Params binds the configuration.
func (c *config) Params(p *scheme.Params) {
	p.Time(&c.Target, "target", "15ms", "delay that the queue is led to", "RFC 8033 §4.2: QDELAY_REF").Above("0s").
		Max("10s")
	p.Time(&c.Update, "update", "15ms", "how often the probability is moved", "RFC 8033 §4.2: T_UPDATE").Min("1us").
		Max("10s")
	p.Time(&c.MaxBurst, "max_burst", "150ms", "for how long a queue that was short loses nothing",
		"RFC 8033 §4.4: MAX_BURST").Min("0s").Max("10s")
	p.Float(&c.Alpha, "alpha", "0.125", "gain of the delay's distance from the target, per second", "RFC 8033 §4.2").
		Above("0").Max("1000000")
	p.Float(&c.Beta, "beta", "1.25", "gain of the delay's change since the last update, per second", "RFC 8033 §4.2").
		Above("0").Max("1000000")
	p.Bool(&c.ECN, "ecn", "true", "packets of senders that know ECN are marked in place of being dropped",
		"RFC 8033 §5.1")
	p.Share(&c.MarkUpTo, "mark_up_to", "10%", "probability above which they are dropped all the same",
		"RFC 8033 §5.1: mark_ecnth").Min("0%").Max("100%").When("ecn: true", func() bool { return c.ECN })
	p.Either(&c.Rate, [2]string{"time", "rate"}, "delay", "time",
		"the delay is what the last packet had, or the queue's bytes by the rate of departures", "RFC 8033 §4.3, §5.2")
	p.Bool(&c.Spread, "spread", "true", "drops come neither close together nor far apart", "RFC 8033 §5.4")
	p.Bool(&c.Cap, "cap", "true", "from 10% on, the probability grows by 2% an update at most", "RFC 8033 §5.5")
	p.Share(&c.ActiveFrom, "active_from", "0%", "from which part of its room on a queue is controlled, until it has been "+
		"empty; 0%: always, since a third of a long buffer is far above the target", "RFC 8033 §5.3: a third; ours: always").
		Min("0%").Max("100%")
	p.Size(&c.MeanPacket, "mean_packet", "1514 B", "half of what may wait without drops",
		"RFC 8033 §4.1: MEAN_PKTSIZE; ours: a full frame").Min("1 B").Max("1MB")
}

// Traits returns that it marks and drops by delay. Suits checks the target.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{MarksFrom: dataplane.AtAnyLength, DropsEarly: true}
}

// Check warns of a target that does not fit ports, and of an update that the gain is not for.
func (c *config) Check(s *dataplane.SwitchContext) []scheme.Remark {
	all := append(s.BelowFrame("target", c.Target), s.BeyondBuffer("target", dataplane.Always(c.Target))...)
	return append(all, dataplane.CheckUpdateInterval(c.Update, usualUpdate, c.Alpha, usualAlpha)...)
}

// What the gain is by default, and the update that it is for (RFC 8033 §4.2).
const (
	usualUpdate = 15 * unit.Millisecond
	usualAlpha  = 0.125
)

// Scheme is what an experiment names: switch: [forward, {pie: {target: 15ms}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "pie", Doc: "drops or marks packets that come with a probability that " +
		"leads the queue's delay to a target", Source: "RFC 8033"}, newProgram)
}

// measured is how many bytes a measurement of the departure rate takes (RFC 8033 §5.2: DQ_THRESHOLD), and how much a
// new one counts.
const (
	measured = 1 << 14
	weight   = 0.25
)

// queueState has the state of one queue. Times are in seconds.
type queueState struct {
	probability float64
	old         float64 // delay at the last update
	burst       float64 // what is left of the allowance
	gathered    float64 // probabilities since the last drop (§5.4: accu_prob)
	waited      float64 // by the packet that left last

	start     unit.Time // of the measurement
	left      int64     // bytes since then
	period    float64   // that so many bytes take to leave; 0: not known
	measuring bool

	active bool
	since  unit.Time // when it became so
}

// program controls queues.
type program struct {
	config config
	states []queueState // by port and queue
	queues int          // a port
	random unit.Random
}

// newProgram returns the program.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	queues := max(site.Queues, 1)
	p := &program{c, make([]queueState, site.Ports*queues), queues, site.Random("pie")}
	for i := range p.states {
		p.states[i].burst, p.states[i].active = c.MaxBurst.Seconds(), c.ActiveFrom == 0
	}
	return p, nil
}

// Name is "pie".
func (e *program) Name() string { return "pie" }

// Idle is true: ticks change only the program.
func (e *program) Idle() bool { return true }

// Tick moves all probabilities.
func (e *program) Tick(env *dataplane.Env) unit.Time {
	for i := range e.states {
		s, port, q := &e.states[i], env.Port(packet.PortID(i/e.queues)), i%e.queues
		if q >= port.Queues() { // another port has more
			continue
		}
		if s.active && (s.since == 0 || env.Now()-s.since >= e.config.Update) {
			s.update(&e.config, s.delay(&e.config, port.Queue(tm.QueueID(q))))
		}
	}
	return env.Now() + e.config.Update
}

// delay is the queue's now (RFC 8033 §4.3).
func (s *queueState) delay(c *config, q *tm.Queue) float64 {
	if c.Rate {
		return float64(q.Bytes()) * s.period / measured
	}
	if q.Packets() == 0 {
		return 0
	}
	return s.waited
}

// scales tune the gains to the probability (RFC 8033 §4.2): below, divisor.
var scales = [...]struct{ below, by float64 }{{0.000001, 2048}, {0.00001, 512}, {0.0001, 128}, {0.001, 32}, {0.01, 8},
	{0.1, 2}}

// Law is how probabilities follow delays (RFC 8033 §4.2), here and in other schemes that lead a delay to a target.
type Law struct {
	Target      unit.Time
	Alpha, Beta float64 // per second
	Cap         bool    // RFC 8033 §5.5
}

// Next is the probability after an update that finds a delay, of one in seconds at the update before.
func (l Law) Next(probability, old, delay float64) float64 {
	d := float64(l.Alpha*(delay-l.Target.Seconds())) + float64(l.Beta*(delay-old))
	for _, x := range scales {
		if probability < x.below {
			d /= x.by
			break
		}
	}
	if l.Cap && probability >= 0.1 {
		d = min(d, 0.02)
	}
	probability += d
	if delay == 0 && old == 0 {
		probability *= 0.98
	}
	return min(max(probability, 0), 1)
}

// update moves the probability, and lets the burst allowance run out (RFC 8033 §4.2, §4.4).
func (s *queueState) update(c *config, delay float64) {
	s.probability = Law{c.Target, c.Alpha, c.Beta, c.Cap}.Next(s.probability, s.old, delay)
	s.old = delay
	s.burst = max(0, s.burst-c.Update.Seconds())
}

// Admit drops or marks.
func (e *program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m, c := &p.Meta, &e.config
	s, q := &e.states[int(m.Out)*e.queues+int(m.Queue)], env.Port(m.Out).Queue(m.Queue)
	if c.ActiveFrom > 0 && s.probability == 0 && s.old == 0 && q.Packets() == 0 { // idle for a while: §5.3
		s.active, s.measuring = false, false
	}
	if !s.active || env.Port(m.Out).Fits(m.Queue, p.Size) != tm.Fits { // what has no room is not drawn for
		return dataplane.Accept
	}
	half := c.Target.Seconds() / 2
	if s.probability == 0 && s.old < half && s.delay(c, q) < half {
		s.burst = c.MaxBurst.Seconds()
	}
	if s.burst > 0 || s.old < half && s.probability < 0.2 || q.Bytes() <= 2*c.MeanPacket || !s.hits(c, e.random) {
		return dataplane.Accept
	}
	if c.ECN && s.probability <= c.MarkUpTo && ecn.Capable(p) {
		p.TOS |= packet.CE
		return dataplane.Accept
	}
	return dataplane.Drop(dataplane.EarlyDrop)
}

// Book begins to control a queue that has become long (RFC 8033 §5.3).
func (e *program) Book(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	s := &e.states[int(m.Out)*e.queues+int(m.Queue)]
	if s.active || !filled(env.Port(m.Out), m.Queue, e.config.ActiveFrom) {
		return
	}
	*s = queueState{waited: s.waited, burst: e.config.MaxBurst.Seconds(), start: env.Now(), measuring: true, active: true,
		since: env.Now()}
}

// filled reports whether what waits is a part of the room; without limits any packet is.
func filled(p *tm.Port, queue tm.QueueID, part float64) bool {
	q, total := p.Queue(queue), p.Limit()
	if q.Limit() == (tm.Limit{}) && total == (tm.Limit{}) {
		return true
	}
	over := func(n, limit int64) bool { return limit > 0 && float64(n) >= part*float64(limit) }
	return over(int64(q.Packets()), int64(q.Limit().Packets)) || over(int64(q.Bytes()), int64(q.Limit().Bytes)) ||
		over(int64(p.Packets()), int64(total.Packets)) || over(int64(p.Bytes()), int64(total.Bytes))
}

// OnDrop begins anew with what has been drawn in vain, when there is no room for a packet (RFC 8033 §5.4).
func (e *program) OnDrop(_ *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	switch m := &p.Meta; why {
	case dataplane.QueuePacketLimit, dataplane.QueueByteLimit, dataplane.PortPacketLimit, dataplane.PortByteLimit:
		if i := int(m.Out)*e.queues + int(m.Queue); i < len(e.states) {
			e.states[i].gathered = 0
		}
	}
}

// hits draws. What has been drawn in vain adds up (RFC 8033 §5.4): below 0.85 no packet goes, from 8.5 on one does.
func (s *queueState) hits(c *config, random unit.Random) bool {
	if c.Spread {
		if s.probability == 0 {
			s.gathered = 0
		}
		if s.gathered += s.probability; s.gathered < 0.85 {
			return false
		}
		if s.gathered >= 8.5 {
			s.gathered = 0
			return true
		}
	}
	if random.Float64() >= s.probability {
		return false
	}
	s.gathered = 0
	return true
}

// Release measures the delay, or the rate of departures (RFC 8033 §5.2).
func (e *program) Release(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m, now := &p.Meta, env.Now()
	s := &e.states[int(m.Out)*e.queues+int(m.Queue)]
	if !e.config.Rate {
		s.waited = (now - p.Enqueued).Seconds()
		return dataplane.Accept
	}
	if s.measuring {
		if s.left += int64(p.Size); s.left >= measured {
			took := (now - s.start).Seconds()
			if s.period == 0 {
				s.period = took
			} else {
				s.period = float64(took*weight) + float64(s.period*(1-weight))
			}
			s.measuring = false
		}
	}
	if !s.measuring && env.Port(m.Out).Queue(m.Queue).Bytes() >= measured {
		s.measuring, s.start, s.left = true, now, 0
	}
	return dataplane.Accept
}

// Footprint is the draw at ingress, the measurement behind the queue, and the controller.
func (e *program) Footprint() dataplane.Footprint {
	n, f := len(e.states), dataplane.Bits(float64(0))
	return dataplane.Footprint{Stages: []dataplane.Stage{
		{Name: "draw", Gress: dataplane.InIngress, Registers: []dataplane.RegisterUse{{Name: "probability, burst, gathered",
			Cells: n, Bits: 4 * f, Reads: 1, Writes: 1}}, Operations: []dataplane.Operation{
			{Kind: dataplane.ReadingEgress, What: "bytes and delay of the queue", Times: 2},
			{Kind: dataplane.FloatingPoint, What: "probability", Times: 1}}},
		{Name: "delay", Gress: dataplane.InEgress, Registers: []dataplane.RegisterUse{{Name: "delay, measurement", Cells: n,
			Bits: dataplane.Bits(queueState{}) - 4*f, Reads: 1, Writes: 1}}},
		{Name: "controller", Gress: dataplane.InControl, Registers: []dataplane.RegisterUse{{Name: "probabilities", Cells: n,
			Bits: f, Reads: 1, Writes: 1}}, Operations: []dataplane.Operation{{Kind: dataplane.Timing, What: "an update",
			Times: 1}, {Kind: dataplane.Looping, What: "queues", Times: n}}},
	}}
}
