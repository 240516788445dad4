package p4abc

import (
	"math"

	"weir/core/unit"
)

// Meter is TDRM-UTEMA, the time-dependent rate meter of P4-ABC §3.2 (Menth, Hauser, ICPE'17, equations (28)–(30),
// (40)–(42)): past traffic weighted by exp(−age/M), over the same weight's integral since the measurement began. Its
// state is the paper's three variables (P4-ABC §5.2): S, t_last, t_start. Methods take M as memory.
type Meter struct {
	bits  float64   // S: weighted bits at time last
	last  unit.Time // t_last
	start unit.Time // t_start: start of the measurement, not the first packet's arrival
}

// NewMeter returns a meter with a measurement from start.
func NewMeter(start unit.Time) Meter { return Meter{last: start, start: start} }

// Update counts a packet of the given bits that arrives at now, not before the last packet.
func (m *Meter) Update(now unit.Time, bits float64, memory unit.Time) {
	m.bits = float64(m.bits*decay(now-m.last, memory)) + bits
	m.last = now
}

// RateAt returns R_m in bit/s at a time not before the last packet: S/T with T = M·(1 − exp(−(now − t_start)/M)). It
// returns 0 at the very start, while T is 0.
func (m *Meter) RateAt(now unit.Time, memory unit.Time) float64 {
	t := m.weight(now, memory)
	if t <= 0 {
		return 0
	}
	return float64(m.bits*decay(now-m.last, memory)) / t
}

// weight returns T at now, in seconds.
func (m *Meter) weight(now, memory unit.Time) float64 {
	return memory.Seconds() * -math.Expm1(-(now-m.start).Seconds()/memory.Seconds())
}

// decay returns exp(−age/memory); memory is above 0. An age of 0, as at each packet just counted, skips the
// exponential.
func decay(age, memory unit.Time) float64 {
	if age == 0 {
		return 1
	}
	return math.Exp(-(age.Seconds() / memory.Seconds()))
}

// Activity returns A = log2(R_m/R_r) (equation (1)). R_m is 0 only for a packet at the very start of the measurement;
// the logarithm then has no value, and the paper defines no result. Activity returns 0 then, the activity of a user at
// its reference rate. Minus infinity would let that packet pass, and would keep A_avg down for ever.
func Activity(rate float64, reference unit.Rate) float64 {
	if rate <= 0 {
		return 0
	}
	return math.Log2(rate / float64(reference))
}

// measureExact counts a packet of the given bits and returns its activity. The packet counts in its own rate.
func (m *activityMeter) measureExact(now unit.Time, bits float64, memory unit.Time) float64 {
	m.Update(now, bits, memory)
	return Activity(m.RateAt(now, memory), m.reference)
}
