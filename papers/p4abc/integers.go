package p4abc

import (
	"math"
	"math/bits"

	"weir/core/packet"
	"weir/core/unit"
)

// integers holds the AQM state of a program with integer arithmetic.
type integers struct {
	average   *slots // of A_avg
	perPacket bool   // A_avg counts packets
	ports     []integerAQM

	activity Fixed // of the current packet
}

// integerAQM is the state of an egress port.
type integerAQM struct {
	qMin, qBase Fixed
	gamma       product
	frame       product        // thresholds.frame; empty: Q and the thresholds have one unit
	maxRate     Fixed          // activityAQM.maxRate
	average     IntegerAverage // of packets
	rates       IntegerRates   // of bytes
}

// newIntegers returns the integer state for the AQMs of a, which must have their thresholds and limits. Averages are
// empty.
func newIntegers(c *Config, a *Program) *integers {
	w := &integers{average: newSlots(c.Average), perPacket: c.PerPacket, ports: make([]integerAQM, len(a.aqms))}
	for i := range w.ports {
		t := &a.aqms[i].thresholds
		w.ports[i] = integerAQM{qMin: NewFixed(t.qMin), qBase: NewFixed(t.qBase), gamma: productBy(t.gamma),
			frame: productBy(float64(t.frame)), maxRate: maxRateInteger(a.aqms[i].maxRate)}
	}
	return w
}

// maxRateInteger converts an upper limit of activities, which may be infinite.
func maxRateInteger(activity float64) Fixed { return NewFixed(min(activity, math.MaxInt32)) }

// exceedsThreshold reports whether a queue is longer than T_drop of the current packet (equation (2)).
func (w *integers) exceedsThreshold(queue int64, out packet.PortID) bool {
	q := &w.ports[out]
	return q.isAbove(queue, q.qMin) &&
		q.isAbove(queue, q.qBase-q.gamma.multiply(min(w.activity, q.maxRate)-w.averageAt(out)))
}

// isAbove reports whether a queue is longer than a threshold. With a frame the threshold counts full frames, rounded
// down to whole ones; otherwise it is in the unit of Q.
func (q *integerAQM) isAbove(queue int64, threshold Fixed) bool {
	if len(q.frame) > 0 {
		return Fixed(queue) > q.frame.multiply(threshold>>fractionBits)
	}
	return Fixed(queue)<<fractionBits > threshold
}

// addSample counts the current packet of size bytes in A_avg of a port.
func (w *integers) addSample(now unit.Time, size int32, out packet.PortID) {
	q := &w.ports[out]
	if w.perPacket {
		q.average.Update(now, w.activity, w.average)
		return
	}
	q.rates.Update(now, min(w.activity, q.maxRate), int(size), w.average)
}

// averageAt returns A_avg at a port.
func (w *integers) averageAt(out packet.PortID) Fixed {
	if q := &w.ports[out]; !w.perPacket {
		return q.rates.Value()
	}
	return w.ports[out].average.Value()
}

// measureInteger counts a packet of size bytes and returns its activity.
func (m *activityMeter) measureInteger(now unit.Time, size int, s *slots) Fixed {
	m.integer.Update(now, size, s)
	return m.integer.Activity(now, m.logReference, s)
}

// measureArrivalInteger is measureArrival in integers, with the same effects: it may add an aggregate, and sets
// Meta.Class and a.current. Marks are the same in both arithmetics, so both kinds of switches may be in a domain. The
// digits of a Fixed fit into a float32, with a step of 2^−16 at most up to 2^8.
func (a *Program) measureArrivalInteger(now unit.Time, p *packet.Packet) (activity Fixed) {
	if in := int(p.Meta.In); in < len(a.sides) && a.sides[in] == Inside {
		if x, ok := a.readMark(p); ok {
			return fixedFromFloatBits(x)
		}
		m := &a.unmarked[in]
		a.current = m
		return min(m.measureInteger(now, a.assignClass(p, m), a.slots), a.maxMarkFrom(p.Meta.In).integer).clampActivity()
	}
	m := a.findMeter(p)
	a.current = m
	activity = m.measureInteger(now, a.assignClass(p, m), a.slots)
	if a.spread != nil {
		activity += a.spread.drawInteger()
	}
	if a.config.Domain == DomainMember {
		activity = min(activity, a.maxMarkFrom(p.Meta.In).integer).clampActivity()
	}
	return activity
}

// clampActivity returns x limited to the range of marks.
func (x Fixed) clampActivity() Fixed {
	return min(max(x, minHonest<<fractionBits), maxHonest<<fractionBits)
}

// A float32 has a sign, 8 bits of the exponent, which is 127 for numbers from 1 to 2, and 23 digits after the first.
const (
	floatDigits = 23
	floatOne    = 127
)

// floatBits returns the bits of x as a float32, truncating the digits that do not fit.
func (x Fixed) floatBits() (word uint32) {
	if x == 0 {
		return 0
	}
	size := uint64(x)
	if x < 0 {
		word, size = 1<<31, uint64(-x)
	}
	n := bits.Len64(size) - 1
	digits := size << (64 - n) >> (64 - floatDigits)
	return word | uint32(n-fractionBits+floatOne)<<floatDigits | uint32(digits)
}

// fixedFromFloatBits returns the number with the bits of a finite float32, rounded toward 0 and limited to the range of
// a Fixed.
func fixedFromFloatBits(x uint32) (value Fixed) {
	digits := Fixed(x&(1<<floatDigits-1) | 1<<floatDigits)
	switch n := int(x>>floatDigits&0xff) - floatOne - floatDigits + fractionBits; {
	case n > 30:
		value = math.MaxInt64
	case n >= 0:
		value = digits << n
	case n > -64:
		value = digits >> -n
	}
	if x>>31 != 0 {
		return -value
	}
	return value
}

// rateAt returns the rate of a meter at now, in bit/s, for metrics and reloads.
func (a *Program) rateAt(now unit.Time, m *activityMeter) float64 {
	if a.integers == nil {
		return m.RateAt(now, a.config.Memory)
	}
	exact := Meter{bits: float64(m.integer.sum) / (1 << sumPlaces), last: unit.Time(m.integer.last << a.slots.shift),
		start: m.integer.start}
	exact.last = min(max(exact.last, exact.start), now)
	return exact.RateAt(now, a.config.Memory)
}

// continueMeter returns a meter that continues at a rate in bit/s, in the program's arithmetic; the other is zero. Its
// measurement began at start.
func (a *Program) continueMeter(now unit.Time, rate float64, start unit.Time) (m Meter, integer IntegerMeter) {
	m = Meter{last: now, start: start}
	sum := rate * m.weight(now, a.config.Memory)
	if a.integers == nil {
		m.bits = sum
		return m, integer
	}
	return Meter{}, IntegerMeter{sum: uint64(min(sum*(1<<sumPlaces), 1<<63)), last: a.slots.slotAt(now), start: start}
}

// pastAverage is A_avg of a port of an old program in floating point, with its weight and the time of the last sample.
type pastAverage struct {
	value  float64
	weight float64 // packets, or bytes
	last   unit.Time
}

// exportAverage returns A_avg of a port in floating point, from either arithmetic. It changes no state.
func (a *Program) exportAverage(port packet.PortID) pastAverage {
	w := a.integers
	if w == nil {
		x := &a.aqms[port].average
		return pastAverage{a.AverageActivity(port), x.count, x.last}
	}
	x := &w.ports[port]
	p := pastAverage{value: a.AverageActivity(port), weight: float64(x.average.count) / (1 << fractionBits),
		last: unit.Time(x.average.last)}
	if !w.perPacket {
		p.weight, p.last = float64(x.rates.bytes)/(1<<sumPlaces), unit.Time(x.rates.last)
	}
	p.last <<= w.average.shift
	return p
}

// adoptAverage continues A_avg of a port of an old program, with its weight. If one of the two programs counts packets
// and the other bytes, a packet counts as a full frame.
func (a *Program) adoptAverage(port packet.PortID, old *Program) {
	p := old.exportAverage(port)
	switch {
	case a.config.PerPacket && !old.config.PerPacket:
		p.weight /= float64(a.frame)
	case old.config.PerPacket && !a.config.PerPacket:
		p.weight *= float64(a.frame)
	}
	w := a.integers
	switch {
	case w == nil && a.config.PerPacket:
		a.aqms[port].average = Average{p.value * p.weight, p.weight, p.last}
	case w == nil:
		a.aqms[port].average = Average{math.Exp2(p.value) * p.weight, p.weight, p.last}
	case a.config.PerPacket:
		w.ports[port].average = IntegerAverage{base: NewFixed(p.value), last: w.average.slotAt(p.last),
			count: uint64(p.weight * (1 << fractionBits))}
	default:
		w.ports[port].rates = newIntegerRates(NewFixed(p.value), uint64(p.weight*(1<<sumPlaces)), w.average.slotAt(p.last))
	}
}
