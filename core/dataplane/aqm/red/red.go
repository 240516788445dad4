// Package red is RED (Floyd, Jacobson 1993) on the queues of a switch's ports, each by itself: packets that come are
// dropped, or marked, with a probability that grows with the queue's moving average. Thresholds and the average's
// memory follow from a target for the delay and the port's rate (Adaptive RED), or are given.
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

// config is what all ports have in common.
type config struct {
	Target     unit.Time
	Min, Max   unit.Length // none: of Target
	Pmax       float64
	Weight     float64 // 0: of the port's rate
	MeanPacket unit.Bytes
	Gentle     bool
	ECN        bool
	ByBytes    bool
}

// Params binds the configuration.
func (c *config) Params(p *scheme.Params) {
	p.Time(&c.Target, "target", "5ms", "delay around which the average is to be: min is half of it, or 5 packets if "+
		"these are more", "Adaptive RED: delay_target").Above("0s").Max("10s")
	p.Length(&c.Min, "min", "0 packets", "average up to which nothing is dropped; 0 packets: of the target",
		"RED: min_th")
	p.Length(&c.Max, "max", "0 packets", "average from which on max_p is exceeded; 0 packets: three times min",
		"RED: max_th; Adaptive RED: 3·min_th")
	p.Share(&c.Pmax, "max_p", "10%", "probability just below max", "RED: max_p; Adaptive RED: 10 %").Above("0%").
		Max("100%")
	p.Float(&c.Weight, "weight", "0", "of the queue in its average; 0: 1 − e^(−1/C) where C packets are sent in a second",
		"RED: w_q; Adaptive RED").Min("0").Max("1")
	p.Size(&c.MeanPacket, "mean_packet", "1514 B", "a usual packet: what is sent meanwhile while the queue is empty",
		"RED: s").Min("1 B").Max("1MB")
	p.Bool(&c.Gentle, "gentle", "true", "from max to twice that the probability grows to 1; else it is 1 from max on",
		"Adaptive RED: gentle")
	p.Bool(&c.ECN, "ecn", "true", "packets of senders that know ECN are marked below max, in place of being dropped",
		"RFC 3168 §7")
	p.Bool(&c.ByBytes, "by_bytes", "false", "the probability is in proportion to a packet's length", "RED §4")
	p.Rule("max", func() error {
		if low, high := c.bytes(c.Min), c.bytes(c.Max); high > 0 && low >= high {
			return fmt.Errorf("%v is not above min, %v", c.Max, c.Min)
		}
		return nil
	})
}

// bytes is a length in bytes.
func (c *config) bytes(l unit.Length) float64 {
	return float64(l.Bytes) + float64(float64(l.Packets)*float64(c.MeanPacket))
}

// Traits returns that it marks and drops from the lower threshold on.
func (c *config) Traits() dataplane.Traits {
	return dataplane.Traits{DropsEarly: true, MarksFrom: func(rate unit.Rate) unit.Bytes {
		x := c.at(unit.LinkRate{Bits: rate})
		return unit.Bytes(x.min)
	}}
}

// Check warns of a target that whatever waits is above, and of a lower threshold that the buffer does not hold.
func (c *config) Check(s *dataplane.SwitchContext) (all []scheme.Remark) {
	param := "min"
	if c.Min == (unit.Length{}) {
		param, all = "target", s.BelowFrame("target", c.Target)
	}
	return append(all, s.BeyondBuffer(param, func(rate unit.Rate) unit.Time {
		return unit.Time(c.at(unit.LinkRate{Bits: rate}).min * 8e12 / float64(rate))
	})...)
}

// curve is what follows for a port.
type curve struct {
	min, max, weight float64
	service          float64 // of a usual packet, in seconds; 0: not known
}

func (c *config) at(rate unit.LinkRate) (x curve) {
	mean := float64(c.MeanPacket)
	second := dataplane.Carries(rate, unit.Second) // bytes, or packets where the rate is in packets/s
	if rate.Packets > 0 {
		second *= mean
	}
	if second > 0 {
		x.service = mean / second
	}
	if x.min = c.bytes(c.Min); x.min == 0 {
		x.min = max(5*mean, c.Target.Seconds()*second/2)
	}
	if x.max = c.bytes(c.Max); x.max == 0 {
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

// probability is p_b of figure 2, gentle beyond max; from 1 on every packet goes.
func (c *config) probability(x *curve, average float64) float64 {
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

// queueState has the state of one queue.
type queueState struct {
	average float64
	count   int64     // packets since the last one that went; −1: the average is below min
	idle    unit.Time // when the last packet that waited has been sent
}

// Program watches queues.
type Program struct {
	config config
	curves []curve      // by port
	states []queueState // by port and queue
	queues int          // a port
	random unit.Random
}

// Scheme is what an experiment names: switch: [forward, {red: {target: 5ms}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "red", Doc: "drops or marks packets that come with a probability that " +
		"grows with the queue's moving average", Source: "RED; Adaptive RED"}, newProgram)
}

// newProgram returns the program.
func newProgram(site *dataplane.Site, c config) (*Program, error) {
	r := &Program{config: c, queues: max(site.Queues, 1), random: site.Random("red")}
	for i := range site.Ports {
		var rate unit.LinkRate
		if i < len(site.Lines) {
			rate = site.Lines[i].Rate
		}
		x := c.at(rate)
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

// Name is "red".
func (r *Program) Name() string { return "red" }

// Admit averages, and drops or marks (figure 2).
func (r *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m, c := &p.Meta, &r.config
	x, s := &r.curves[m.Out], &r.states[int(m.Out)*r.queues+int(m.Queue)]
	q := env.Port(m.Out).Queue(m.Queue)
	if now := env.Now(); q.Packets() > 0 || now < s.idle {
		s.average = float64((1-x.weight)*s.average) + float64(x.weight*float64(q.Bytes()))
	} else if x.service > 0 {
		s.average *= math.Pow(1-x.weight, (now-s.idle).Seconds()/x.service)
	} else {
		s.average = 0
	}
	if s.average < x.min {
		s.count = -1
		return dataplane.Accept
	}
	s.count++
	if !r.hits(c.probability(x, s.average), s.count, p.Size) {
		return dataplane.Accept
	}
	s.count = 0
	if c.ECN && s.average < x.max && ecn.Capable(p) {
		p.TOS |= packet.CE
		return dataplane.Accept
	}
	return dataplane.Drop(dataplane.EarlyDrop)
}

// hits draws with p_a = p_b / (1 − count·p_b), which spreads drops evenly (§4 of the paper: method 2).
func (r *Program) hits(pb float64, count int64, size int32) bool {
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

// Release notes when the queue runs empty: when what leaves now has been sent.
func (r *Program) Release(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	port := env.Port(m.Out)
	if port.Queue(m.Queue).Packets() > 0 {
		return dataplane.Accept
	}
	s, rate := &r.states[int(m.Out)*r.queues+int(m.Queue)], port.Rate()
	switch s.idle = env.Now(); {
	case rate.Bits > 0:
		s.idle += unit.TransmitTime(unit.Bytes(p.Size), rate.Bits)
	case rate.Packets > 0:
		s.idle += unit.Second / unit.Time(rate.Packets)
	}
	return dataplane.Accept
}

// Footprint is the average and the draw, before the queue.
func (r *Program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{{Name: "average, draw", Gress: dataplane.InIngress,
		Tables: []dataplane.TableUse{{Name: "thresholds by port", Entries: len(r.curves), Key: dataplane.PortBits,
			Action: dataplane.Bits(curve{})}},
		Registers: []dataplane.RegisterUse{{Name: "average, count, idle since", Cells: len(r.states),
			Bits: dataplane.Bits(queueState{}), Reads: 1, Writes: 1}},
		Operations: []dataplane.Operation{{Kind: dataplane.ReadingEgress, What: "bytes of the queue", Times: 1},
			{Kind: dataplane.FloatingPoint, What: "average, probability", Times: 2},
			{Kind: dataplane.Dividing, What: "place between the thresholds, count", Times: 2},
			{Kind: dataplane.Transcendental, What: "average behind an empty queue", Times: 1}}}}}
}
