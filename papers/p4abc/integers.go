package p4abc

import (
	"math"
	"math/bits"

	"weir/core/packet"
	"weir/core/unit"
)

// integers are what a program has in place of its AQMs' floating-point numbers.
type integers struct {
	average   *slots // of A_avg
	perPacket bool   // A_avg counts packets
	ports     []integerAQM

	activity Fixed // of the current packet
}

// integerAQM is that of an egress port.
type integerAQM struct {
	qMin, qBase Fixed
	gamma       product
	frame       product        // thresholds.frame; empty: Q and the thresholds have one unit
	maxRate     Fixed          // activityAQM.maxRate
	average     IntegerAverage // of packets
	rates       IntegerRates   // of bytes
}

func newIntegers(c *Config, a *Program) *integers {
	w := &integers{average: newSlots(c.Average), perPacket: c.PerPacket, ports: make([]integerAQM, len(a.aqms))}
	for i := range w.ports {
		t := &a.aqms[i].thresholds
		w.ports[i] = integerAQM{qMin: FixedOf(t.qMin), qBase: FixedOf(t.qBase), gamma: productBy(t.gamma),
			frame: productBy(float64(t.frame)), maxRate: maxRateInteger(a.aqms[i].maxRate)}
	}
	return w
}

// maxRateInteger returns a largest activity in integers.
func maxRateInteger(activity float64) Fixed { return FixedOf(min(activity, math.MaxInt32)) }

// exceeded is equation (2): whether a queue is longer than T_drop of the current packet.
func (w *integers) exceeded(queue int64, out packet.PortID) bool {
	q := &w.ports[out]
	return q.exceeds(queue, q.qMin) && q.exceeds(queue, q.qBase-q.gamma.of(min(w.activity, q.maxRate)-w.value(out)))
}

// exceeds is exceeds of thresholds in integers.
func (q *integerAQM) exceeds(queue int64, threshold Fixed) bool {
	if len(q.frame) > 0 {
		return Fixed(queue) > q.frame.of(threshold>>fraction)
	}
	return Fixed(queue)<<fraction > threshold
}

// accept counts the current packet.
func (w *integers) accept(now unit.Time, size int32, out packet.PortID) {
	q := &w.ports[out]
	if w.perPacket {
		q.average.Update(now, w.activity, w.average)
		return
	}
	q.rates.Update(now, min(w.activity, q.maxRate), int(size), w.average)
}

// value returns A_avg at a port.
func (w *integers) value(out packet.PortID) Fixed {
	if q := &w.ports[out]; !w.perPacket {
		return q.rates.Value()
	}
	return w.ports[out].average.Value()
}

// level counts a packet and returns its activity: measure in integers.
func (m *activityMeter) level(now unit.Time, size int, s *slots) Fixed {
	m.whole.Update(now, size, s)
	return m.whole.Activity(now, m.base, s)
}

// enterInteger is enter in integers. A mark is the same in both, so that switches of both kinds may be in a
// domain: what a Fixed has in digits fits into a float32, where 2^−16 is the least step up to 2^8.
func (a *Program) enterInteger(now unit.Time, p *packet.Packet) (activity Fixed) {
	if in := int(p.Meta.In); in < len(a.sides) && a.sides[in] == Inside {
		if x, ok := a.read(p); ok {
			return fixedOf32(x)
		}
		m := &a.unmarked[in]
		a.current = m
		return min(m.level(now, a.counts(p, m), a.slots), a.maxMarkFrom(p.Meta.In).whole).clamp()
	}
	m := a.find(p)
	a.current = m
	activity = m.level(now, a.counts(p, m), a.slots)
	if a.spread != nil {
		activity += a.spread.drawInteger()
	}
	if a.config.Domain == DomainMember {
		activity = min(activity, a.maxMarkFrom(p.Meta.In).whole).clamp()
	}
	return activity
}

// clamp is clamp in integers.
func (x Fixed) clamp() Fixed { return min(max(x, leastHonest<<fraction), mostHonest<<fraction) }

// A float32 has a sign, 8 bits of the exponent, which is 127 for numbers from 1 to 2, and 23 of the digits after
// the first.
const (
	floatDigits = 23
	floatOne    = 127
)

// float32 returns the bits of x as a float32, without the digits that it has no room for.
func (x Fixed) float32() (to uint32) {
	if x == 0 {
		return 0
	}
	size := uint64(x)
	if x < 0 {
		to, size = 1<<31, uint64(-x)
	}
	n := bits.Len64(size) - 1
	digits := size << (64 - n) >> (64 - floatDigits)
	return to | uint32(n-fraction+floatOne)<<floatDigits | uint32(digits)
}

// fixedOf32 returns the number with the bits of a finite float32, rounded toward 0, or the end of the range next
// to it.
func fixedOf32(x uint32) (to Fixed) {
	digits := Fixed(x&(1<<floatDigits-1) | 1<<floatDigits)
	switch n := int(x>>floatDigits&0xff) - floatOne - floatDigits + fraction; {
	case n > 30:
		to = math.MaxInt64
	case n >= 0:
		to = digits << n
	case n > -64:
		to = digits >> -n
	}
	if x>>31 != 0 {
		return -to
	}
	return to
}

// rate is what a meter says at a time, in bit/s, for metrics and reloads.
func (a *Program) rate(now unit.Time, m *activityMeter) float64 {
	if a.whole == nil {
		return m.Rate(now, a.config.Memory)
	}
	exact := Meter{bits: float64(m.whole.sum) / (1 << sumPlaces), last: unit.Time(m.whole.last << a.slots.shift),
		start: m.whole.start}
	exact.last = min(max(exact.last, exact.start), now)
	return exact.Rate(now, a.config.Memory)
}

// meterOf are meters that continue at a rate, in either arithmetic.
func (a *Program) meterOf(now unit.Time, rate float64, start unit.Time) (m Meter, whole IntegerMeter) {
	m = Meter{last: now, start: start}
	sum := rate * m.weight(now, a.config.Memory)
	if a.whole == nil {
		m.bits = sum
		return m, whole
	}
	return Meter{}, IntegerMeter{sum: uint64(min(sum*(1<<sumPlaces), 1<<63)), last: a.slots.at(now), start: start}
}

// past is A_avg of a port of an old program, in floating point: its value, the weight of its samples and the time of
// the last one.
type past struct {
	value  float64
	weight float64 // packets, or bytes
	last   unit.Time
}

// past returns A_avg of a port with its weight.
func (a *Program) past(port packet.PortID) past {
	w := a.whole
	if w == nil {
		x := &a.aqms[port].average
		return past{a.Average(port), x.count, x.last}
	}
	x := &w.ports[port]
	p := past{value: a.Average(port), weight: float64(x.average.count) / (1 << fraction), last: unit.Time(x.average.last)}
	if !w.perPacket {
		p.weight, p.last = float64(x.rates.bytes)/(1<<sumPlaces), unit.Time(x.rates.last)
	}
	p.last <<= w.average.shift
	return p
}

// adoptAverage continues A_avg of a port of an old program, with the weight of its past. Where one of the two counts
// packets and the other bytes, a packet is a full frame.
func (a *Program) adoptAverage(port packet.PortID, old *Program) {
	p := old.past(port)
	switch {
	case a.config.PerPacket && !old.config.PerPacket:
		p.weight /= float64(a.frame)
	case old.config.PerPacket && !a.config.PerPacket:
		p.weight *= float64(a.frame)
	}
	w := a.whole
	switch {
	case w == nil && a.config.PerPacket:
		a.aqms[port].average = Average{p.value * p.weight, p.weight, p.last}
	case w == nil:
		a.aqms[port].average = Average{math.Exp2(p.value) * p.weight, p.weight, p.last}
	case a.config.PerPacket:
		w.ports[port].average = IntegerAverage{base: FixedOf(p.value), last: w.average.at(p.last),
			count: uint64(p.weight * (1 << fraction))}
	default:
		w.ports[port].rates = newIntegerRates(FixedOf(p.value), uint64(p.weight*(1<<sumPlaces)), w.average.at(p.last))
	}
}
