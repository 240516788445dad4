// Package pie is PIE (RFC 8033) on each queue of a switch's ports. Arriving packets are dropped, or marked, with a
// probability that a controller updates so that the queue's delay approaches a target. Of the RFC's options it has
// marks (RFC 8033 §5.1), the departure rate (§5.2), active and inactive (§5.3), de-randomisation (§5.4) and the cap
// (§5.5).
package pie

import (
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config holds the parameters of the controller.
type config struct {
	Target, Update, MaxBurst unit.Time
	Alpha, Beta              float64 // per second
	ECN                      bool
	MarkUpTo                 float64 // probability above which packets are dropped even if they could be marked
	Rate                     bool    // the delay is the queue's bytes at the recent departure rate
	Spread                   bool    // de-randomisation
	Cap                      bool
	ActiveFrom               float64 // share of the room; 0: always
	MeanPacket               unit.Bytes
}

// Params binds the options of pie to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	p.Time(&c.Target, "target", "15ms", "target delay of the queue; lower it on short paths, raise it if links are "+
		"not filled", "RFC 8033 §4.2: QDELAY_REF").Above("0s").
		Max("10s")
	p.Time(&c.Update, "update", "15ms", "period between updates of the probability; on paths far below 15 ms set it "+
		"to about a round-trip time, with gains in proportion",
		"RFC 8033 §4.2: T_UPDATE").Min("1us").
		Max("10s")
	p.Time(&c.MaxBurst, "max_burst", "150ms", "time for which a queue that was short drops no packets; 0s: none; "+
		"raise it for traffic that begins with long bursts",
		"RFC 8033 §4.4: MAX_BURST").Min("0s").Max("10s")
	p.Float(&c.Alpha, "alpha", "0.125", "gain per second of the delay's distance from the target; raise it to reach "+
		"the target sooner, lower it if the delay oscillates", "RFC 8033 §4.2").
		Above("0").Max("1000000")
	p.Float(&c.Beta, "beta", "1.25", "gain per second of the delay's change since the last update; raise it to damp "+
		"oscillations, lower it if the probability follows bursts", "RFC 8033 §4.2").
		Above("0").Max("1000000")
	p.Bool(&c.ECN, "ecn", "true", "mark packets of senders that support ECN, instead of dropping them",
		"RFC 8033 §5.1")
	p.Share(&c.MarkUpTo, "mark_up_to", "10%", "probability above which packets are dropped even if the sender "+
		"supports ECN, since it may not respond",
		"RFC 8033 §5.1: mark_ecnth").Min("0%").Max("100%").When("ecn: true", func() bool { return c.ECN })
	p.BoolWords(&c.Rate, [2]string{"time", "rate"}, "delay", "time",
		"how the delay is measured; time: the time that the last departing packet waited; rate: the queue's bytes "+
			"divided by the departure rate", "RFC 8033 §4.3, §5.2")
	p.Bool(&c.Spread, "spread", "true", "derandomisation: avoid drops that are close together or far apart",
		"RFC 8033 §5.4")
	p.Bool(&c.Cap, "cap", "true", "limit the growth of a probability of at least 10% to 2% per update", "RFC 8033 §5.5")
	p.Share(&c.ActiveFrom, "active_from", "0%", "share of the buffer that a queue must fill before it is controlled, "+
		"until it has been empty; 0%: always controlled, since a third of a long buffer is far above the target",
		"RFC 8033 §5.3: a third; Weir: always").
		Min("0%").Max("100%")
	p.Size(&c.MeanPacket, "mean_packet", "1514 B", "usual packet size; a queue of up to two such packets has no drops",
		"RFC 8033 §4.1: MEAN_PKTSIZE; Weir: a full frame").Min("1 B").Max("1MB")
}

// Traits returns that the program marks and drops by delay. Check compares the target with the ports.
func (*config) Traits() dataplane.Traits {
	return dataplane.Traits{MarksFrom: dataplane.AtAnyLength, DropsEarly: true}
}

// Check warns of a target that does not fit the ports, and of an update for which the gain is not meant.
func (c *config) Check(s *dataplane.SwitchContext) []scheme.Remark {
	all := append(s.BelowFrame("target", c.Target), s.BeyondBuffer("target", dataplane.ConstantDelay(c.Target))...)
	return append(all, dataplane.CheckUpdateInterval(c.Update, usualUpdate, c.Alpha, usualAlpha)...)
}

// The default gain, and its update interval (RFC 8033 §4.2).
const (
	usualUpdate = 15 * unit.Millisecond
	usualAlpha  = 0.125
)

// Scheme returns the scheme of the program pie. A program before it chooses the port:
// switch: [forward, {pie: {target: 15ms}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "pie", Doc: "drops or marks arriving packets with a probability that " +
		"keeps the queue's delay at a target", Source: "RFC 8033"}, newProgram)
}

// measureBytes is the number of bytes in a measurement of the departure rate (RFC 8033 §5.2: DQ_THRESHOLD), and
// measureWeight the weight of a new one.
const (
	measureBytes  = 1 << 14
	measureWeight = 0.25
)

// queueState is the state of one queue. Times are in seconds.
type queueState struct {
	probability         float64
	oldDelay            float64 // delay at the last update
	burstLeft           float64 // remaining burst allowance
	gatheredProbability float64 // probabilities since the last drop (§5.4: accu_prob)
	lastDelay           float64 // delay of the packet that departed last

	measureStart  unit.Time // start of the measurement
	measuredBytes int64     // bytes since then
	period        float64   // time in which so many bytes depart; 0: not known
	measuring     bool

	active      bool
	activeSince unit.Time // when it became active
}

// program controls queues.
type program struct {
	config config
	states []queueState // by port and queue
	queues int          // per port
	random unit.Random
}

// newProgram returns the program. Each queue starts with a full burst allowance, active only if ActiveFrom is 0. The
// error is always nil.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	queues := max(site.Queues, 1)
	p := &program{c, make([]queueState, site.Ports*queues), queues, site.Random("pie")}
	for i := range p.states {
		p.states[i].burstLeft, p.states[i].active = c.MaxBurst.Seconds(), c.ActiveFrom == 0
	}
	return p, nil
}

// Name returns "pie".
func (e *program) Name() string { return "pie" }

// Idle returns true: ticks change only the program.
func (e *program) Idle() bool { return true }

// Tick updates the probability and burst allowance of each queue that is active, for at least Update if it was inactive
// before. It returns the time of the next update.
func (e *program) Tick(env *dataplane.Env) unit.Time {
	for i := range e.states {
		s, port, q := &e.states[i], env.Port(packet.PortID(i/e.queues)), i%e.queues
		if q >= port.Queues() { // another port has more
			continue
		}
		if s.active && (s.activeSince == 0 || env.Now()-s.activeSince >= e.config.Update) {
			s.updateProbability(&e.config, s.currentDelay(&e.config, port.Queue(tm.QueueID(q))))
		}
	}
	return env.Now() + e.config.Update
}

// currentDelay returns the queue's delay in seconds (RFC 8033 §4.3). With Rate it is the queue's bytes at the departure
// rate, or 0 while that is not known; otherwise the delay of the packet that departed last, or 0 for an empty queue.
func (s *queueState) currentDelay(c *config, q *tm.Queue) float64 {
	if c.Rate {
		return float64(q.Bytes()) * s.period / measureBytes
	}
	if q.Packets() == 0 {
		return 0
	}
	return s.lastDelay
}

// scales are divisors of the gains for probabilities below a bound (RFC 8033 §4.2).
var scales = [...]struct{ below, by float64 }{{0.000001, 2048}, {0.00001, 512}, {0.0001, 128}, {0.001, 32}, {0.01, 8},
	{0.1, 2}}

// Law is the update of a probability by a delay (RFC 8033 §4.2), for this and other schemes with a target delay.
type Law struct {
	Target      unit.Time
	Alpha, Beta float64 // per second
	Cap         bool    // RFC 8033 §5.5
}

// NextProbability returns the probability after an update with the given delay. oldDelay is the delay at the update
// before. Both are in seconds. The result is between 0 and 1.
func (l Law) NextProbability(probability, oldDelay, delay float64) float64 {
	d := float64(l.Alpha*(delay-l.Target.Seconds())) + float64(l.Beta*(delay-oldDelay))
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
	if delay == 0 && oldDelay == 0 {
		probability *= 0.98
	}
	return min(max(probability, 0), 1)
}

// updateProbability updates the probability for a delay in seconds, stores that delay, and reduces the burst allowance
// by Update (RFC 8033 §4.2, §4.4).
func (s *queueState) updateProbability(c *config, delay float64) {
	s.probability = Law{c.Target, c.Alpha, c.Beta, c.Cap}.NextProbability(s.probability, s.oldDelay, delay)
	s.oldDelay = delay
	s.burstLeft = max(0, s.burstLeft-c.Update.Seconds())
}

// Admit drops or marks packets by a draw. It accepts all packets while the queue is inactive, short or has burst
// allowance left, and leaves packets without room to the queue's limit. It also makes an idle queue inactive, and
// renews the burst allowance after congestion.
func (e *program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m, c := &p.Meta, &e.config
	s, q := &e.states[int(m.Out)*e.queues+int(m.Queue)], env.Port(m.Out).Queue(m.Queue)
	if c.ActiveFrom > 0 && s.probability == 0 && s.oldDelay == 0 && q.Packets() == 0 { // idle for a while: §5.3
		s.active, s.measuring = false, false
	}
	if !s.active || env.Port(m.Out).Fits(m.Queue, p.Size) != tm.Fits { // packets without room are not drawn for
		return dataplane.Accept
	}
	half := c.Target.Seconds() / 2
	if s.probability == 0 && s.oldDelay < half && s.currentDelay(c, q) < half {
		s.burstLeft = c.MaxBurst.Seconds()
	}
	if s.burstLeft > 0 || s.oldDelay < half && s.probability < 0.2 || q.Bytes() <= 2*c.MeanPacket || !s.drawDrop(c,
		e.random) {
		return dataplane.Accept
	}
	if c.ECN && s.probability <= c.MarkUpTo && ecn.IsCapable(p) {
		p.TOS |= packet.CE
		return dataplane.Accept
	}
	return dataplane.Drop(dataplane.EarlyDrop)
}

// Book starts to control p's queue if that is inactive and has become long (isFilled) (RFC 8033 §5.3). Its state starts
// from zero with a full burst allowance.
func (e *program) Book(env *dataplane.Env, p *packet.Packet) {
	m := &p.Meta
	s := &e.states[int(m.Out)*e.queues+int(m.Queue)]
	if s.active || !isFilled(env.Port(m.Out), m.Queue, e.config.ActiveFrom) {
		return
	}
	*s = queueState{lastDelay: s.lastDelay, burstLeft: e.config.MaxBurst.Seconds(), measureStart: env.Now(),
		measuring: true, active: true,
		activeSince: env.Now()}
}

// isFilled reports whether the data that waits in the queue or port p is at least a part, 0 to 1, of one of their
// limits. Without limits any packet suffices.
func isFilled(p *tm.Port, queue tm.QueueID, part float64) bool {
	q, total := p.Queue(queue), p.Limit()
	if q.Limit() == (tm.Limit{}) && total == (tm.Limit{}) {
		return true
	}
	over := func(n, limit int64) bool { return limit > 0 && float64(n) >= part*float64(limit) }
	return over(int64(q.Packets()), int64(q.Limit().Packets)) || over(int64(q.Bytes()), int64(q.Limit().Bytes)) ||
		over(int64(p.Packets()), int64(total.Packets)) || over(int64(p.Bytes()), int64(total.Bytes))
}

// OnDrop restarts the sum of draws without a drop when a packet finds no room (RFC 8033 §5.4).
func (e *program) OnDrop(_ *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	switch m := &p.Meta; why {
	case dataplane.QueuePacketLimit, dataplane.QueueByteLimit, dataplane.PortPacketLimit, dataplane.PortByteLimit:
		if i := int(m.Out)*e.queues + int(m.Queue); i < len(e.states) {
			e.states[i].gatheredProbability = 0
		}
	}
}

// drawDrop draws whether to drop. Probabilities of packets that are not dropped add up (RFC 8033 §5.4): below 0.85 no
// packet is dropped, from 8.5 on one is. The sum of probabilities is used only with Spread; otherwise each packet is
// drawn on its own.
func (s *queueState) drawDrop(c *config, random unit.Random) bool {
	if c.Spread {
		if s.probability == 0 {
			s.gatheredProbability = 0
		}
		if s.gatheredProbability += s.probability; s.gatheredProbability < 0.85 {
			return false
		}
		if s.gatheredProbability >= 8.5 {
			s.gatheredProbability = 0
			return true
		}
	}
	if random.Float64() >= s.probability {
		return false
	}
	s.gatheredProbability = 0
	return true
}

// Release measures the packet's delay or, with Rate, the rate of departures (RFC 8033 §5.2). It accepts every packet.
func (e *program) Release(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m, now := &p.Meta, env.Now()
	s := &e.states[int(m.Out)*e.queues+int(m.Queue)]
	if !e.config.Rate {
		s.lastDelay = (now - p.Enqueued).Seconds()
		return dataplane.Accept
	}
	if s.measuring {
		if s.measuredBytes += int64(p.Size); s.measuredBytes >= measureBytes {
			took := (now - s.measureStart).Seconds()
			if s.period == 0 {
				s.period = took
			} else {
				s.period = float64(took*measureWeight) + float64(s.period*(1-measureWeight))
			}
			s.measuring = false
		}
	}
	if !s.measuring && env.Port(m.Out).Queue(m.Queue).Bytes() >= measureBytes {
		s.measuring, s.measureStart, s.measuredBytes = true, now, 0
	}
	return dataplane.Accept
}

// Footprint returns the use by the draw at ingress, the measurement behind the queue, and the controller.
func (e *program) Footprint() dataplane.Footprint {
	n, f := len(e.states), dataplane.WidthOf(float64(0))
	return dataplane.Footprint{Stages: []dataplane.Stage{
		{Name: "draw", Gress: dataplane.InIngress, Registers: []dataplane.RegisterUse{{Name: "probability, burst, gathered",
			Cells: n, Bits: 4 * f, Reads: 1, Writes: 1}}, Operations: []dataplane.Operation{
			{Kind: dataplane.ReadingEgress, What: "bytes and delay of the queue", Times: 2},
			{Kind: dataplane.FloatingPoint, What: "probability", Times: 1}}},
		{Name: "delay", Gress: dataplane.InEgress, Registers: []dataplane.RegisterUse{{Name: "delay, measurement", Cells: n,
			Bits: dataplane.WidthOf(queueState{}) - 4*f, Reads: 1, Writes: 1}}},
		{Name: "controller", Gress: dataplane.InControl, Registers: []dataplane.RegisterUse{{Name: "probabilities", Cells: n,
			Bits: f, Reads: 1, Writes: 1}}, Operations: []dataplane.Operation{{Kind: dataplane.Timing, What: "an update",
			Times: 1}, {Kind: dataplane.Looping, What: "queues", Times: n}}},
	}}
}
