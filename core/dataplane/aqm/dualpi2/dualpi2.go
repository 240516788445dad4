// Package dualpi2 is the DualQ Coupled AQM with PI2 (RFC 9332, appendix A). A port has two queues. Packets of
// scalable senders, by their ECN field, wait in the first one and are marked from a shallow threshold on. Others wait
// in the second. They are dropped or marked with a probability that is the square of the first queue's, divided by a
// factor before, so that both get the same rate. The port's scheduler chooses the next queue: deadline, with an
// offset for the second queue, is the RFC's time-shifted FIFO, and dwrr its weighted round robin.
package dualpi2

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Queues of a port.
const (
	lowLatency = 0
	classic    = 1
)

// config holds the parameters that all ports share.
type config struct {
	Target, RTT, Update unit.Time
	Alpha, Beta         float64 // per second; 0: follows from the times
	Coupling            float64
	Threshold, Range    unit.Time
	Length              int  // packets that may wait without a mark by the threshold
	AnyECT              bool // all packets with ECN are scalable, not only ECT(1) and CE
}

// Params binds the options of dualpi2 to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	p.Time(&c.Target, "target", "15ms", "target delay of the classic queue", "RFC 9332 Appendix A").Above("0s").
		Max("10s")
	p.Time(&c.RTT, "max_rtt", "100ms", "maximum round-trip time that is usual in the network; raise it for longer "+
		"paths, so that the probability does not oscillate",
		"RFC 9332 Appendix A: RTT_max").
		Above("0s").Max("10s")
	p.Time(&c.Update, "update", "0s", "period between updates of the base probability, from which marks and drops "+
		"follow; 0s: the smaller of target and max_rtt/3; a shorter period follows load faster",
		"RFC 9332 Appendix A: Tupdate").Min("0s").Max("10s")
	p.Float(&c.Alpha, "alpha", "0", "gain per second of the delay's distance from the target; 0: 0.1·update / "+
		"max_rtt²; raise it to reach the target sooner, lower it if the delay oscillates",
		"RFC 9332 Appendix A").Min("0").Max("1000000")
	p.Float(&c.Beta, "beta", "0", "gain per second of the delay's change since the last update; 0: 0.3 / max_rtt; "+
		"raise it to damp oscillations, lower it if the probability follows bursts",
		"RFC 9332 Appendix A").Min("0").Max("1000000")
	p.Float(&c.Coupling, "k", "2", "coupling factor k: the mark probability of the scalable queue is k times the "+
		"square root of the classic queue's drop probability; raise it if scalable flows get more than classic ones",
		"RFC 9332 Appendix A").Min("1").Max("100")
	p.Time(&c.Threshold, "min_th", "800us", "delay of the scalable queue above which its packets are marked; raise it "+
		"for senders that send in bursts",
		"RFC 9332 Appendix A: minTh").Min("0s").Max("10s")
	p.Time(&c.Range, "range", "400us", "range of delay over which the mark probability grows from 0 to 1; 0s: a step "+
		"at min_th", "RFC 9332 Appendix A").
		Min("0s").Max("10s")
	p.Packets(&c.Length, "th_len", "1 packet", "length of the scalable queue up to which the delay causes no marks; "+
		"raise it at slow ports, where a few frames already exceed min_th",
		"RFC 9332 Appendix A: Th_len").Min("0 packets").Max("1000 packets")
	p.BoolWords(&c.AnyECT, [2]string{"ect1", "any"}, "scalable", "ect1",
		"which packets enter the scalable queue; ect1: those with ECT(1) or CE; any: all with ECN, for senders such as "+
			"DCTCP that use ECT(0)", "RFC 9332 Appendix A: ECT(1), CE; Weir")
}

// Traits returns a target delay, by which the program marks and drops.
func (c *config) Traits() dataplane.Traits {
	return dataplane.Traits{MarksFrom: dataplane.AtAnyLength, DropsEarly: true, TargetParam: "target", Target: c.Target}
}

// withDerived returns c with Update, Alpha and Beta derived from Target and RTT where they are 0.
func (c config) withDerived() config {
	if c.Update == 0 {
		c.Update = min(c.Target, c.RTT/3)
	}
	rtt := c.RTT.Seconds()
	if c.Alpha == 0 {
		c.Alpha = 0.1 * c.Update.Seconds() / (rtt * rtt)
	}
	if c.Beta == 0 {
		c.Beta = 0.3 / rtt
	}
	return c
}

// rampProbability returns the low-latency queue's own marking probability at a delay (laqm): 0 up to Threshold, 1 from
// Threshold+Range on, and linear between them.
func (c *config) rampProbability(delay unit.Time) float64 {
	switch {
	case delay >= c.Threshold+c.Range:
		return 1
	case delay > c.Threshold:
		return float64(delay-c.Threshold) / float64(c.Range)
	}
	return 0
}

// portState is the state of one port.
type portState struct {
	probability float64    // p'
	oldDelay    float64    // delay at the last update, in seconds
	dueCounts   [2]float64 // by queue, sum of probabilities less the events done (isDue)
}

// updateBase updates the base probability, which stays between 0 and 1, by a delay in seconds. It stores delay for the
// next update.
func (s *portState) updateBase(c *config, delay float64) {
	s.probability += float64(c.Alpha*(delay-c.Target.Seconds())) + float64(c.Beta*(delay-s.oldDelay))
	s.probability = min(max(s.probability, 0), 1)
	s.oldDelay = delay
}

// isDue adds probability to the sum of queue q, and reports whether the sum exceeds 1, which reduces it by 1. So it
// returns true with a frequency equal to probability, evenly spaced. probability is between 0 and 1.
func (s *portState) isDue(q int, probability float64) bool {
	s.dueCounts[q] += probability
	if s.dueCounts[q] > 1 {
		s.dueCounts[q]--
		return true
	}
	return false
}

// program couples the queues of ports.
type program struct {
	config             config
	maxMarkProbability float64 // p_Cmax: probability from which on classic packets are dropped even with ECN
	states             []portState
}

// Scheme returns the scheme of the program dualpi2. A program before it chooses the port:
// queues: 2, scheduler: {deadline: {step: 50ms}}, programs: [forward, dualpi2].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "dualpi2", Doc: "two queues, for scalable and for classic senders, " +
		"with coupled marks and drops", Source: "RFC 9332 Appendix A"}, newProgram)
}

// newProgram returns the program, with derived values for parameters that are 0. It fails unless ports have two queues.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	if site.Queues != 2 {
		return nil, fmt.Errorf("dualpi2: it needs two queues a port, the first one for scalable senders, and a scheduler "+
			"such as {deadline: {step: 50ms}}; there are %d (queues: 2)", max(site.Queues, 1))
	}
	return &program{c.withDerived(), min(1/(c.Coupling*c.Coupling), 1), make([]portState, site.Ports)}, nil
}

// Name returns "dualpi2".
func (d *program) Name() string { return "dualpi2" }

// Idle returns true: ticks change only the program.
func (d *program) Idle() bool { return true }

// Tick updates the base probability of each port for the longest wait among the heads of its two queues, and returns
// the time of the next update. An empty queue has wait 0.
func (d *program) Tick(env *dataplane.Env) unit.Time {
	for i := range d.states {
		delay := unit.Time(0)
		for q := range tm.QueueID(2) {
			if head := env.Port(packet.PortID(i)).Queue(q).Head(); head != nil {
				delay = max(delay, env.Now()-head.Enqueued)
			}
		}
		d.states[i].updateBase(&d.config, delay.Seconds())
	}
	return env.Now() + d.config.Update
}

// Ingress sets the packet's class, and so its queue, by the ECN field. Packets with ECT(1) or CE, or with AnyECT all
// packets with ECN, enter the low-latency queue. It accepts every packet.
func (d *program) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if bits := p.TOS & packet.ECN; bits&1 == 1 || d.config.AnyECT && bits != packet.NotECT {
		p.Meta.Class = lowLatency
	} else {
		p.Meta.Class = classic
	}
	return dataplane.Accept
}

// Release drops a departing packet, or sets CE, with its queue's probability (isDue). In the classic queue it drops
// selected packets without ECN, and from maxMarkProbability on all selected ones; it marks others. In the low-latency
// queue it marks and, if the coupled probability is 1 or more, also drops.
func (d *program) Release(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m, c := &p.Meta, &d.config
	s := &d.states[m.Out]
	// rounded, since isDue adds them
	coupled, square := float64(c.Coupling*s.probability), float64(s.probability*s.probability)
	switch {
	case m.Queue != lowLatency:
		if s.isDue(classic, square) {
			if !ecn.IsCapable(p) || square >= d.maxMarkProbability {
				return dataplane.Drop(dataplane.EarlyDrop)
			}
			p.TOS |= packet.CE
		}
	case coupled < 1:
		own := 0.0
		if int(env.Port(m.Out).Queue(lowLatency).Packets()) > c.Length {
			own = c.rampProbability(env.Now() - p.Enqueued)
		}
		if s.isDue(lowLatency, max(own, coupled)) {
			p.TOS |= packet.CE
		}
	case s.isDue(lowLatency, square): // overload: A.2
		return dataplane.Drop(dataplane.EarlyDrop)
	case s.isDue(lowLatency, coupled):
		p.TOS |= packet.CE
	}
	return dataplane.Accept
}

// Footprint returns the use by the choice of the queue, the decision behind it, and the controller.
func (d *program) Footprint() dataplane.Footprint {
	n, f := len(d.states), dataplane.WidthOf(float64(0))
	return dataplane.Footprint{Stages: []dataplane.Stage{
		{Name: "queue by ECN field", Gress: dataplane.InIngress, Tables: []dataplane.TableUse{{Name: "queue",
			Match: dataplane.MatchExact, Entries: 4, Key: 2, Action: 1}}},
		{Name: "marks and drops", Gress: dataplane.InEgress, Registers: []dataplane.RegisterUse{
			{Name: "probability", Cells: n, Bits: f, Reads: 1}, {Name: "counts", Cells: 2 * n, Bits: f, Reads: 1, Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.FloatingPoint, What: "square, ramp", Times: 2}}},
		{Name: "controller", Gress: dataplane.InControl, Registers: []dataplane.RegisterUse{{Name: "probability, old delay",
			Cells: n, Bits: 2 * f, Reads: 1, Writes: 1}}, Operations: []dataplane.Operation{{Kind: dataplane.Timing,
			What: "an update", Times: 1}, {Kind: dataplane.Looping, What: "ports", Times: n}}},
	}}
}
