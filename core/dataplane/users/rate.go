package users

import (
	"math"

	"weir/core/packet"
	"weir/core/unit"
)

// Rate is a rate by exponential averaging with a weight that depends on the time since the last packet (CSFQ equation
// 3): r = (1 − e^(−T/K)) · l/T + e^(−T/K) · r. Unlike an average with a fixed weight, it does not depend on the
// division of traffic into packets. It starts with 0 at time 0.
type Rate struct {
	last  unit.Time
	value float64 // bit/s
}

// AddPacket counts a packet of so many bits and returns the rate in bit/s, with averaging constant k. For packets at
// one time it applies the limit of T towards 0, which adds l/K. Times must not run back.
func (r *Rate) AddPacket(now unit.Time, bits float64, k unit.Time) float64 {
	t := (now - r.last).Seconds()
	r.last = now
	if t <= 0 {
		r.value += bits / k.Seconds()
		return r.value
	}
	e := math.Exp(-(t / k.Seconds()))
	r.value = float64((1-e)*(bits/t)) + float64(e*r.value)
	return r.value
}

// DecayedValue returns the rate in bit/s at a time without a packet since the last one: the decayed value.
func (r *Rate) DecayedValue(now, k unit.Time) float64 {
	return r.value * math.Exp(-((now - r.last).Seconds() / k.Seconds()))
}

// Rates are the users of a switch's table with a rate each.
type Rates struct {
	*Table
	rates []Rate // by user
}

// NewRates returns the table of a switch, with rates of 0.
func NewRates(book *packet.Book, c *Config) Rates {
	t := NewTable(book, c)
	return Rates{t, make([]Rate, t.MaxUsers())}
}

// AddPacket counts a packet, and returns its user and the user's rate in bit/s, with averaging constant k.
func (r *Rates) AddPacket(now unit.Time, p *packet.Packet, k unit.Time) (user int32, rate float64) {
	user = r.UserOf(p)
	return user, r.rates[user].AddPacket(now, float64(p.Size)*8, k)
}

// Value returns a user's rate at its last packet, in bit/s.
func (r *Rates) Value(user int32) float64 { return r.rates[user].value }

// EvictAddress is Table.EvictAddress. It also resets the rate of the user that was this source alone.
func (r *Rates) EvictAddress(a packet.Addr) (user int32) {
	if user = r.Table.EvictAddress(a); user >= 0 {
		r.rates[user] = Rate{}
	}
	return user
}
