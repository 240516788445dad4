// Package csfq is Core-Stateless Fair Queueing (Stoica, Shenker, Zhang, ToN 2003): edges label packets with the
// rate of their user, and each port estimates the rate that is fair and drops what exceeds it by chance. The
// port has no state for users. Here a switch is edge and core in one, so labels need not travel.
//
// Users are those of P4-ABC, and not flows; the label of a user is its rate divided by its weight (CSFQ: weights).
// Frame lengths are those that queues count.
package csfq

import (
	"fmt"
	"math"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config has the parameters of the paper's simulations.
type config struct {
	users.Config
	K         unit.Time // averaging constant of users' rates
	KAlpha    unit.Time // that of A and F at a port
	KC        unit.Time // window in which alpha stays
	Threshold float64   // share of the buffer below which a link stays uncongested
	Overflow  float64   // by how much alpha falls when the buffer overflows
	Most      float64   // and by how much between two updates
}

// Traits returns that it drops packets where queues grow.
func (*config) Traits() dataplane.Traits { return dataplane.Traits{DropsEarly: true} }

// Params binds the configuration.
func (c *config) Params(p *scheme.Params) {
	c.Config.Params(p)
	p.Time(&c.K, "k", "100ms", "K: averaging constant of a user's rate", "CSFQ: simulations").Min("1us")
	p.Time(&c.KAlpha, "k_alpha", "200ms", "K_alpha: averaging constant of the rates A and F at a port",
		"CSFQ: simulations").Min("1us")
	p.Time(&c.KC, "k_c", "200ms", "K_c: window of the fair rate, which changes once in it; as long as k_alpha, as in "+
		"the authors' code",
		"CSFQ figure 3").Min("1us")
	p.Share(&c.Threshold, "threshold", "50%", "share of the port's buffer below which an uncongested link stays so",
		"CSFQ: half of the buffer, a quarter in its authors' code").Min("0%").Max("100%")
	p.Share(&c.Overflow, "overflow", "1%", "by which the fair rate falls when the buffer overflows", "CSFQ: 1 %").
		Min("0%").Below("100%")
	p.Share(&c.Most, "overflow_most", "25%", "by which it falls at most between two updates", "CSFQ: 25 %").
		Min("0%").Below("100%")
}

// Scheme is what an experiment names: switch: [forward, csfq].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "csfq", Doc: "core-stateless fair queueing: rates of users as labels, " +
		"and drops of what exceeds the fair rate of a port", Source: "CSFQ"}, newProgram)
}

// program is CSFQ in one switch.
type program struct {
	config config
	rates  users.Rates // by user: the only state for users, which a core would not have
	ports  []PortState
	random unit.Random

	label   float64 // of the packet in hand
	pending bool    // it has not been booked or dropped yet
}

// newProgram returns the program for a site.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	for i, l := range site.Lines {
		if l.Rate.Bits == 0 {
			return nil, fmt.Errorf("csfq: port %d has %v: the fair rate needs ports whose rates are in bit/s", i, l.Rate)
		}
	}
	return &program{config: c, rates: users.NewRates(site.Book, &c.Config), ports: make([]PortState, site.Ports),
		random: site.Random("csfq")}, nil
}

// Name is "csfq".
func (x *program) Name() string { return "csfq" }

// Ingress is the edge: it labels the packet (figure 3: label = estimate_rate). Packets that switches make have no
// label and pass.
func (x *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Flags&packet.Internal == 0 {
		u, rate := x.rates.Update(env.Now(), p, x.config.K)
		x.label = rate / x.rates.Weight(u)
	}
	return dataplane.Accept
}

// Admit drops by chance what exceeds the fair rate (figure 3).
func (x *program) Admit(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Flags&packet.Internal != 0 {
		return dataplane.Accept
	}
	x.pending = true
	if prob := x.ports[p.Meta.Out].Probability(x.label); prob > 0 && prob > x.random.Float64() {
		return dataplane.Drop(dataplane.EarlyDrop)
	}
	return dataplane.Accept
}

// Book counts a packet that was accepted.
func (x *program) Book(env *dataplane.Env, p *packet.Packet) {
	if x.pending {
		x.estimate(env, p, true)
	}
}

// OnDrop counts a packet that was not, and reacts to a buffer that overflows.
func (x *program) OnDrop(env *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	if !x.pending || int(p.Meta.Out) >= len(x.ports) {
		return
	}
	x.estimate(env, p, false)
	switch why {
	case dataplane.QueuePacketLimit, dataplane.QueueByteLimit, dataplane.PortPacketLimit, dataplane.PortByteLimit,
		dataplane.BufferFull, dataplane.EgressThreshold:
		x.ports[p.Meta.Out].Overflow(x.config.Overflow, x.config.Most)
	}
}

func (x *program) estimate(env *dataplane.Env, p *packet.Packet, accepted bool) {
	x.pending = false
	port := env.Port(p.Meta.Out)
	filled := true // a buffer without an end has no threshold
	if l := port.Limit(); l.Packets > 0 {
		filled = float64(port.Packets()) >= x.config.Threshold*float64(l.Packets)
	} else if l.Bytes > 0 {
		filled = float64(port.Bytes()) >= x.config.Threshold*float64(l.Bytes)
	}
	x.ports[p.Meta.Out].Estimate(env.Now(), x.label, float64(p.Size)*8, float64(port.Rate().Bits), accepted, filled,
		&x.config)
}

// EvictAddress starts the rate of a source that is another's now afresh.
func (x *program) EvictAddress(a packet.Addr) {
	x.rates.EvictAddress(a)
}

// PortState is CSFQ's state of a port (figure 3).
type PortState struct {
	a, f      users.Rate // of all that arrives, and of what is accepted
	alpha     float64    // the fair rate; 0: not known, everything passes
	largest   float64    // largest label of a window without congestion, tmp_alpha
	updated   float64    // alpha at its last update
	start     unit.Time  // of the window
	congested bool
}

// Probability is max(0, 1 − alpha/label), that of a packet to be dropped.
func (p *PortState) Probability(label float64) float64 {
	if p.alpha <= 0 || label <= p.alpha {
		return 0
	}
	return 1 - p.alpha/label
}

// Alpha is the fair rate in bit/s; 0: not known.
func (p *PortState) Alpha() float64 { return p.alpha }

// Estimate is figure 3's estimate_alpha: it counts a packet of so many bits at a port of a capacity in bit/s.
//
// What the figure leaves open is as follows. F is the rate of what enters the queue, without packets for which the
// buffer has no room. A link without congestion stays so while the buffer is not filled to the threshold, and then
// its fair rate is not known: 0, and nothing is dropped, not even of a user who is faster than all before. When it
// becomes congested the fair rate starts with the largest label seen since.
func (p *PortState) Estimate(now unit.Time, label, bits, capacity float64, accepted, filled bool, c *config) {
	a := p.a.Update(now, bits, c.KAlpha)
	if accepted {
		p.f.Update(now, bits, c.KAlpha)
	}
	if a >= capacity && (p.congested || filled) {
		if !p.congested {
			p.congested, p.start = true, now
			if p.alpha == 0 {
				p.set(max(p.largest, label))
			}
		} else if now > p.start+c.KC {
			p.set(p.alpha * capacity / math.Max(p.f.At(now, c.KAlpha), 1))
			p.start = now
		}
		return
	}
	switch {
	case p.congested:
		p.congested, p.start, p.largest = false, now, 0
	case now < p.start+c.KC:
		p.largest = max(p.largest, label)
	case filled:
		p.set(p.largest)
		p.start, p.largest = now, 0
	default:
		p.set(0)
		p.start = now
	}
}

func (p *PortState) set(alpha float64) { p.alpha, p.updated = alpha, alpha }

// Overflow lowers the fair rate by a share, since the buffer had no room, to (1 − most) of its last update at least.
func (p *PortState) Overflow(share, most float64) {
	p.alpha = max(p.alpha*(1-share), p.updated*(1-most))
}

// Port returns what is kept of a port, for tests.
func (x *program) Port(out packet.PortID) *PortState { return &x.ports[out] }
