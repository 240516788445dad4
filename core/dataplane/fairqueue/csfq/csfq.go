// Package csfq is Core-Stateless Fair Queueing (Stoica, Shenker, Zhang, ToN 2003). Edges label packets with the rate
// of their user. Each port estimates the fair rate and drops the excess at random, without state for users. Here a
// switch is edge and core in one, so labels need not travel.
//
// Users are defined as in P4-ABC, not as flows; the label of a user is its rate divided by its weight (CSFQ:
// weights). Frame lengths are counted as queues count them.
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

// config holds the parameters of the paper's simulations.
type config struct {
	users.Config
	K           unit.Time // averaging constant of users' rates
	KAlpha      unit.Time // averaging constant of A and F at a port
	KC          unit.Time // window in which alpha is constant
	Threshold   float64   // share of the buffer below which a link stays uncongested
	Overflow    float64   // share by which alpha falls when the buffer overflows
	MaxOverflow float64   // max share by which it falls between two updates
}

// Traits returns that it drops packets where queues grow.
func (*config) Traits() dataplane.Traits { return dataplane.Traits{DropsEarly: true} }

// Params binds the options of csfq to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	c.Config.Params(p)
	p.Time(&c.K, "k", "100ms", "K: averaging constant of a user's rate; longer than the bursts and round-trip times "+
		"of users, shorter than the time in which the fair share changes", "CSFQ: simulations").Min("1us")
	p.Time(&c.KAlpha, "k_alpha", "200ms", "K_alpha: averaging constant of the rates A and F at a port; longer: the "+
		"fair rate is steadier, but follows changes later",
		"CSFQ: simulations").Min("1us")
	p.Time(&c.KC, "k_c", "200ms", "K_c: time between changes of the fair rate; equal to k_alpha in the authors' code; "+
		"not below a round-trip time, in which senders respond",
		"CSFQ figure 3").Min("1us")
	p.Share(&c.Threshold, "threshold", "50%", "share of the port's buffer below which an uncongested link remains "+
		"uncongested", "CSFQ: half of the buffer, a quarter in its authors' code").Min("0%").Max("100%")
	p.Share(&c.Overflow, "overflow", "1%", "decrease of the fair rate when the buffer overflows", "CSFQ: 1 %").
		Min("0%").Below("100%")
	p.Share(&c.MaxOverflow, "overflow_most", "25%", "maximum total decrease of the fair rate by overflows between two "+
		"updates", "CSFQ: 25 %").
		Min("0%").Below("100%")
}

// Scheme returns the scheme of the program csfq. A program before it chooses the port:
// switch: [forward, csfq].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "csfq", Doc: "core-stateless fair queueing: labels packets with their " +
		"user's rate and drops the excess over a port's fair rate", Source: "CSFQ"}, newProgram)
}

// program is CSFQ in one switch.
type program struct {
	config config
	rates  users.Rates // by user: the only state for users; a core has no such state
	ports  []PortState
	random unit.Random

	label   float64 // of the packet in hand
	pending bool    // it has neither been booked nor dropped yet
}

// newProgram returns the program. It fails if a port's rate is not in bit/s.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	for i, l := range site.Lines {
		if l.Rate.Bits == 0 {
			return nil, fmt.Errorf("csfq: port %d has %v: the fair rate needs ports whose rates are in bit/s", i, l.Rate)
		}
	}
	return &program{config: c, rates: users.NewRates(site.Book, &c.Config), ports: make([]PortState, site.Ports),
		random: site.Random("csfq")}, nil
}

// Name returns "csfq".
func (x *program) Name() string { return "csfq" }

// Ingress is the edge. It counts p in its user's rate, and stores the label of p, the rate in bit/s per unit of weight,
// for Admit (CSFQ figure 3: label = estimate_rate). Packets made by switches are not counted and get no label. It
// accepts every packet.
func (x *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Flags&packet.Internal == 0 {
		u, rate := x.rates.AddPacket(env.Now(), p, x.config.K)
		x.label = rate / x.rates.Weight(u)
	}
	return dataplane.Accept
}

// Admit drops the excess over the port's fair rate at random (CSFQ figure 3). Book or OnDrop then counts the packet.
// Packets made by switches pass without being counted.
func (x *program) Admit(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Flags&packet.Internal != 0 {
		return dataplane.Accept
	}
	x.pending = true
	if prob := x.ports[p.Meta.Out].DropProbability(x.label); prob > 0 && prob > x.random.Float64() {
		return dataplane.Drop(dataplane.EarlyDrop)
	}
	return dataplane.Accept
}

// Book counts the packet that Admit has accepted in its port's estimate. Packets made by switches do not count.
func (x *program) Book(env *dataplane.Env, p *packet.Packet) {
	if x.pending {
		x.countPacket(env, p, true)
	}
}

// OnDrop counts a dropped packet in its port's estimate, and lowers the port's fair rate if the buffer overflowed.
// Packets that were counted before, or have no label, do not count.
func (x *program) OnDrop(env *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	if !x.pending || int(p.Meta.Out) >= len(x.ports) {
		return
	}
	x.countPacket(env, p, false)
	switch why {
	case dataplane.QueuePacketLimit, dataplane.QueueByteLimit, dataplane.PortPacketLimit, dataplane.PortByteLimit,
		dataplane.BufferFull, dataplane.EgressThreshold:
		x.ports[p.Meta.Out].lowerAlpha(x.config.Overflow, x.config.MaxOverflow)
	}
}

// countPacket updates the estimate of p's port with p, the packet in hand, which is then no longer pending. accepted is
// false for a dropped packet.
func (x *program) countPacket(env *dataplane.Env, p *packet.Packet, accepted bool) {
	x.pending = false
	port := env.Port(p.Meta.Out)
	filled := true // an unlimited buffer has no threshold
	if l := port.Limit(); l.Packets > 0 {
		filled = float64(port.Packets()) >= x.config.Threshold*float64(l.Packets)
	} else if l.Bytes > 0 {
		filled = float64(port.Bytes()) >= x.config.Threshold*float64(l.Bytes)
	}
	x.ports[p.Meta.Out].updateEstimate(env.Now(), x.label, float64(p.Size)*8, float64(port.Rate().Bits), accepted, filled,
		&x.config)
}

// EvictAddress resets the rate of a source when its address is reassigned.
func (x *program) EvictAddress(a packet.Addr) {
	x.rates.EvictAddress(a)
}

// PortState is CSFQ's state of a port (CSFQ figure 3). Labels and alpha are in bit/s per unit of weight.
type PortState struct {
	a, f      users.Rate // rates of all arriving, and of accepted packets
	alpha     float64    // the fair rate in bit/s; 0: not known, all packets pass
	largest   float64    // largest label of a window without congestion, tmp_alpha
	updated   float64    // alpha at its last update
	start     unit.Time  // of the window
	congested bool
}

// DropProbability returns the drop probability of a packet, max(0, 1 − alpha/label). label is the rate of its user in
// bit/s per unit of weight. It is 0 while the fair rate is not known.
func (p *PortState) DropProbability(label float64) float64 {
	if p.alpha <= 0 || label <= p.alpha {
		return 0
	}
	return 1 - p.alpha/label
}

// updateEstimate counts a packet of so many bits at a port with a capacity in bit/s (CSFQ figure 3: estimate_alpha).
//
// Where the figure is open, the rules are as follows. F is the rate of packets that enter the queue, without packets
// for which the buffer has no room. A link without congestion stays uncongested while the buffer is below the
// threshold. Then its fair rate is not known: 0, and no packet is dropped, not even of a user that is faster than all
// before. When the link becomes congested, the fair rate starts with the largest label since.
func (p *PortState) updateEstimate(now unit.Time, label, bits, capacity float64, accepted, filled bool, c *config) {
	a := p.a.AddPacket(now, bits, c.KAlpha)
	if accepted {
		p.f.AddPacket(now, bits, c.KAlpha)
	}
	if a >= capacity && (p.congested || filled) {
		if !p.congested {
			p.congested, p.start = true, now
			if p.alpha == 0 {
				p.setAlpha(max(p.largest, label))
			}
		} else if now > p.start+c.KC {
			p.setAlpha(p.alpha * capacity / math.Max(p.f.DecayedValue(now, c.KAlpha), 1))
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
		p.setAlpha(p.largest)
		p.start, p.largest = now, 0
	default:
		p.setAlpha(0)
		p.start = now
	}
}

// setAlpha sets the fair rate and starts the next update's range.
func (p *PortState) setAlpha(alpha float64) { p.alpha, p.updated = alpha, alpha }

// lowerAlpha lowers the fair rate by a share because the buffer had no room, but not below (1 − maxShare) of its last
// update.
func (p *PortState) lowerAlpha(share, maxShare float64) {
	p.alpha = max(p.alpha*(1-share), p.updated*(1-maxShare))
}

// Port returns the state of a port, for tests.
func (x *program) Port(port packet.PortID) *PortState { return &x.ports[port] }
