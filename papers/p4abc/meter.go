package p4abc

import (
	"math"

	"weir/core/unit"
)

// Meter is TDRM-UTEMA, the time-dependent rate meter of §3.2 (Menth, Hauser,
// ICPE'17, equations (28)–(30), (40)–(42)): the traffic of the past, weighted by
// exp(−age/M), over the same weight's integral since the measurement began. Its
// state is the paper's three variables (§5.2): S, t_last, t_start.
type Meter struct {
	bits  float64   // S: weighted bits, as of last
	last  unit.Time // t_last
	start unit.Time // t_start: when the measurement began, not when the first packet came
}

// NewMeter returns a meter whose measurement begins at start.
func NewMeter(start unit.Time) Meter { return Meter{last: start, start: start} }

// Update counts a packet of so many bits that arrives at now.
func (m *Meter) Update(now unit.Time, bits float64, memory unit.Time) {
	m.bits = float64(m.bits*decay(now-m.last, memory)) + bits
	m.last = now
}

// Rate returns R_m in bit/s at a time not before the last packet: S/T, where
// T = M·(1 − exp(−(now − t_start)/M)); 0 where T is 0, at the very start.
func (m *Meter) Rate(now unit.Time, memory unit.Time) float64 {
	t := m.weight(now, memory)
	if t <= 0 {
		return 0
	}
	return float64(m.bits*decay(now-m.last, memory)) / t
}

// weight is T, in seconds.
func (m *Meter) weight(now, memory unit.Time) float64 {
	return memory.Seconds() * -math.Expm1(-(now-m.start).Seconds()/memory.Seconds())
}

// decay is exp(−age/memory). Of what has just been updated, as at each packet, nothing has decayed.
func decay(age, memory unit.Time) float64 {
	if age == 0 {
		return 1
	}
	return math.Exp(-(age.Seconds() / memory.Seconds()))
}

// Activity is equation (1): A = log2(R_m/R_r). Where R_m is 0, which it is only
// for a packet at the very start of the measurement, the logarithm has no value
// and the paper says nothing; we take 0, the activity of a user at its reference
// rate. Minus infinity would let that packet pass, and then hold A_avg down for
// ever.
func Activity(rate float64, reference unit.Rate) float64 {
	if rate <= 0 {
		return 0
	}
	return math.Log2(rate / float64(reference))
}

// measure counts a packet of so many bits and returns its activity: a packet counts in the rate that
// determines its own.
func (m *activityMeter) measure(now unit.Time, bits float64, memory unit.Time) float64 {
	m.Update(now, bits, memory)
	return Activity(m.Rate(now, memory), m.reference)
}
