// Package red is RED (Floyd, Jacobson 1993) on each queue of a switch's ports. Arriving packets are dropped, or
// marked, with a probability that grows with the queue's moving average. Thresholds and the average's memory are
// given, or follow from a target delay and the port's rate (Adaptive RED).
package red

import (
	"fmt"
	"math"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config holds the parameters that all ports share.
type config struct {
	Target     unit.Time
	Min, Max   unit.Length // zero: follow from Target
	Pmax       float64
	Weight     float64 // 0: follows from the port's rate
	MeanPacket unit.Bytes
	Gentle     bool
	ECN        bool
	ByBytes    bool
}

// Params binds the options of red to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	p.Time(&c.Target, "target", "5ms", "target delay of the average queue, from which min follows: half of the "+
		"target, but at least 5 packets; lower it for shorter queues", "Adaptive RED: delay_target").Above("0s").Max("10s")
	p.Length(&c.Min, "min", "0 packets", "average queue up to which no packet is dropped; 0 packets: follows from "+
		"target", "RED: min_th")
	p.Length(&c.Max, "max", "0 packets", "average queue at which the probability reaches max_p; 0 packets: three "+
		"times min", "RED: max_th; Adaptive RED: 3·min_th")
	p.Share(&c.Pmax, "max_p", "10%", "drop or mark probability just below max; raise it for many flows, which need "+
		"more drops for the same rate",
		"RED: max_p; Adaptive RED: 10 %").Above("0%").
		Max("100%")
	p.Float(&c.Weight, "weight", "0", "weight of the current queue in the average; 0: 1 − e^(−1/C), where C is the "+
		"number of packets that the port sends per second; raise it to respond to shorter bursts",
		"RED: w_q; Adaptive RED").Min("0").Max("1")
	p.Size(&c.MeanPacket, "mean_packet", "1514 B", "usual packet size, which determines how the average decays while "+
		"the queue is empty", "RED: s").Min("1 B").Max("1MB")
	p.Bool(&c.Gentle, "gentle", "true", "true: the probability grows to 1 between max and 2·max; false: it is 1 from "+
		"max on", "Adaptive RED: gentle")
	p.Bool(&c.ECN, "ecn", "true", "below max, mark packets of senders that support ECN instead of dropping them",
		"RFC 3168 §7")
	p.Bool(&c.ByBytes, "by_bytes", "false", "true: make the probability proportional to the packet's length, so that "+
		"small packets are rarely dropped; false: equal for all packets", "RED §4")
	p.AddRule("max", func() error {
		if low, high := c.lengthBytes(c.Min), c.lengthBytes(c.Max); high > 0 && low >= high {
			return fmt.Errorf("%v is not above min, %v", c.Max, c.Min)
		}
		return nil
	})
}

// lengthBytes returns a length in bytes, where a packet counts as MeanPacket.
func (c *config) lengthBytes(l unit.Length) float64 {
	return float64(l.Bytes) + float64(float64(l.Packets)*float64(c.MeanPacket))
}

// Traits returns that the program marks and drops from the lower threshold on.
func (c *config) Traits() dataplane.Traits {
	return dataplane.Traits{DropsEarly: true, MarksFrom: func(rate unit.Rate) unit.Bytes {
		x := c.curveAt(unit.LinkRate{Bits: rate})
		return unit.Bytes(x.min)
	}}
}

// Check warns of a target below the time of a frame, and of a lower threshold that the buffer does not hold.
func (c *config) Check(s *dataplane.SwitchContext) (all []scheme.Remark) {
	param := "min"
	if c.Min == (unit.Length{}) {
		param, all = "target", s.BelowFrame("target", c.Target)
	}
	return append(all, s.BeyondBuffer(param, func(rate unit.Rate) unit.Time {
		return unit.Time(c.curveAt(unit.LinkRate{Bits: rate}).min * 8e12 / float64(rate))
	})...)
}

// curve holds the thresholds in bytes and the average's weight of a port.
type curve struct {
	min, max, weight float64
	service          float64 // time of a usual packet, in seconds; 0: not known
}

// curveAt returns the curve of a port of a rate. Without a known rate, min is 5 packets unless it is stated, and the
// weight is 1 unless it is stated.
func (c *config) curveAt(rate unit.LinkRate) (x curve) {
	mean := float64(c.MeanPacket)
	second := dataplane.LinkLoad(rate, unit.Second) // bytes, or packets where the rate is in packets/s
	if rate.Packets > 0 {
		second *= mean
	}
	if second > 0 {
		x.service = mean / second
	}
	if x.min = c.lengthBytes(c.Min); x.min == 0 {
		x.min = max(5*mean, c.Target.Seconds()*second/2)
	}
	if x.max = c.lengthBytes(c.Max); x.max == 0 {
		x.max = 3 * x.min
	}
	if x.weight = c.Weight; x.weight == 0 {
		x.weight = 1
		if second > 0 {
			x.weight = -math.Expm1(-x.service)
		}
	}
	return x
}

// dropProbability returns p_b of the paper's figure 2 for an average in bytes, gentle beyond max if so configured. At 1
// every packet is dropped or marked.
func (c *config) dropProbability(x *curve, average float64) float64 {
	switch {
	case average < x.min:
		return 0
	case average < x.max:
		return c.Pmax * (average - x.min) / (x.max - x.min)
	case c.Gentle && average < 2*x.max:
		return c.Pmax + (1-c.Pmax)*(average-x.max)/x.max
	}
	return 1
}

// queueState is the state of one queue.
type queueState struct {
	average   float64
	count     int64     // packets since the last drop or mark; −1: the average is below min
	idleSince unit.Time // when the last waiting packet has been sent
}

// Program controls queues.
type Program struct {
	config config
	curves []curve      // by port
	states []queueState // by port and queue
	queues int          // per port
	random unit.Random
}

// Scheme returns the scheme of the program red. A program before it chooses the port:
// switch: [forward, {red: {target: 5ms}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "red", Doc: "drops or marks arriving packets with a probability that " +
		"grows with the queue's moving average", Source: "RED; Adaptive RED"}, newProgram)
}

// newProgram returns the program. It fails if min is not below max at a port. Averages start at 0.
func newProgram(site *dataplane.Site, c config) (*Program, error) {
	r := &Program{config: c, queues: max(site.Queues, 1), random: site.Random("red")}
	for i := range site.Ports {
		var rate unit.LinkRate
		if i < len(site.Lines) {
			rate = site.Lines[i].Rate
		}
		x := c.curveAt(rate)
		if x.min >= x.max {
			return nil, fmt.Errorf("red: at a port of %v min is %.0f B, and max, %.0f B, is not above it", rate, x.min, x.max)
		}
		r.curves = append(r.curves, x)
	}
	r.states = make([]queueState, site.Ports*r.queues)
	for i := range r.states {
		r.states[i].count = -1
	}
	return r, nil
}

// Name returns "red".
func (r *Program) Name() string { return "red" }

// Admit updates the queue's average and count, and drops packets by a draw (figure 2 of the paper). It marks instead of
// dropping with ECN while the average is below max.
func (r *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m, c := &p.Meta, &r.config
	x, s := &r.curves[m.Out], &r.states[int(m.Out)*r.queues+int(m.Queue)]
	q := env.Port(m.Out).Queue(m.Queue)
	if now := env.Now(); q.Packets() > 0 || now < s.idleSince {
		s.average = float64((1-x.weight)*s.average) + float64(x.weight*float64(q.Bytes()))
	} else if x.service > 0 {
		s.average *= math.Pow(1-x.weight, (now-s.idleSince).Seconds()/x.service)
	} else {
		s.average = 0
	}
	if s.average < x.min {
		s.count = -1
		return dataplane.Accept
	}
	s.count++
	if !r.drawDrop(c.dropProbability(x, s.average), s.count, p.Size) {
		return dataplane.Accept
	}
	s.count = 0
	if c.ECN && s.average < x.max && ecn.IsCapable(p) {
		p.TOS |= packet.CE
		return dataplane.Accept
	}
	return dataplane.Drop(dataplane.EarlyDrop)
}

// drawDrop draws with p_a = p_b / (1 − count·p_b), which spreads drops evenly (the paper's §4: method 2). count is the
// number of packets since the last drop or mark. size is the packet's in bytes, and counts with ByBytes. From pb or
// count·pb = 1 on the result is true.
func (r *Program) drawDrop(pb float64, count int64, size int32) bool {
	if r.config.ByBytes && pb < 1 {
		pb *= min(float64(size)/float64(r.config.MeanPacket), 1)
	}
	n := float64(float64(count) * pb)
	if pb >= 1 || n >= 1 {
		return true
	}
	pa := pb / (1 - n)
	return pa >= 1 || pa > 0 && r.random.Float64() < pa
}

// Release records when the queue becomes empty: when the departing packet has been sent. It accepts every packet.
func (r *Program) Release(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	port := env.Port(m.Out)
	if port.Queue(m.Queue).Packets() > 0 {
		return dataplane.Accept
	}
	s, rate := &r.states[int(m.Out)*r.queues+int(m.Queue)], port.Rate()
	switch s.idleSince = env.Now(); {
	case rate.Bits > 0:
		s.idleSince += unit.TransmitTime(unit.Bytes(p.Size), rate.Bits)
	case rate.Packets > 0:
		s.idleSince += unit.Second / unit.Time(rate.Packets)
	}
	return dataplane.Accept
}

// Footprint returns the use by the average and the draw, before the queue.
func (r *Program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{{Name: "average, draw", Gress: dataplane.InIngress,
		Tables: []dataplane.TableUse{{Name: "thresholds by port", Entries: len(r.curves), Key: dataplane.PortBits,
			Action: dataplane.WidthOf(curve{})}},
		Registers: []dataplane.RegisterUse{{Name: "average, count, idle since", Cells: len(r.states),
			Bits: dataplane.WidthOf(queueState{}), Reads: 1, Writes: 1}},
		Operations: []dataplane.Operation{{Kind: dataplane.ReadingEgress, What: "bytes of the queue", Times: 1},
			{Kind: dataplane.FloatingPoint, What: "average, probability", Times: 2},
			{Kind: dataplane.Dividing, What: "place between the thresholds, count", Times: 2},
			{Kind: dataplane.Transcendental, What: "average behind an empty queue", Times: 1}}}}}
}
