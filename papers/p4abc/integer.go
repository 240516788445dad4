package p4abc

import (
	"math"
	"math/bits"

	"weir/core/unit"
)

// The integer variant measures what P4-ABC §3.2 and §3.3 define, by additions, shifts, comparisons and look-ups in
// small tables. The paper's prototype uses externs in floating point, "but [they] may not be available on hardware
// switches" (§7).
//
// Time is counted in slots of 2^k ps, the largest such that the memory M has at least 32 of them. Traffic within a slot
// is added up; between slots all sums decay by a factor from a table. (TDRM-DTWMA-UEMA, ICPE'17, has the same
// structure: windows, and an exponential average over them.) So a packet's age is off by less than a slot, M/32 at
// most, and its weight by a factor of e^(1/32) at most: 1/(32·ln 2) = 0.0451 in log2. The number of packets in a slot
// does not matter. IntegerBound adds the other roundings.

// IntegerBound is the maximum difference between an integer activity and the exact one: 0.0451 for ages; 0.0029 for S's
// decay, 2^−15 of 64 memories; 1/128 for half a part of T's table; 0.0007 each for the logarithms of S and of the
// measurement's length; 0.0001 for rounding.
const IntegerBound = 0.0574

// slots is the time scale of a memory, with its tables.
type slots struct {
	shift  uint8                  // time>>shift is the slot
	decays [decayPlaces]portion   // by binary place of a number of slots: decay over 2^place slots
	spans  [spanOctaves]spanTable // log2 of T over a slot, by log2 of the measurement's length over a slot
}

const (
	decayPlaces = 12 // after 2^12 slots, at least 64 memories, sums are 0: e^−64 < 2^−92

	// T's table has 64 parts an octave, from 2^−3 to 2^9 slots. Below, T is the length itself, within 2^−3/(2·32) of it;
	// above, after at least 8 memories, T is M within e^−8 of it.
	spanPlaces  = 6
	spanFirst   = -3
	spanOctaves = 12
)

// spanTable is one octave of the table of T.
type spanTable [1 << spanPlaces]int32

// newSlots returns the slots of a memory, with a slot of 1/32 to 1/64 of it, and their tables.
func newSlots(memory unit.Time) *slots {
	s := &slots{shift: uint8(bits.Len64(uint64(max(memory>>5, 1))) - 1)}
	slot := math.Exp2(float64(s.shift))
	m := float64(memory) / slot // M in slots
	for i := range s.decays {
		s.decays[i] = newPortion(math.Exp2(float64(i)) / m * math.Log2E)
	}
	for i := range s.spans {
		for j := range s.spans[i] {
			length := math.Exp2(float64(spanFirst+i) + (float64(j)+0.5)/(1<<spanPlaces))
			s.spans[i][j] = int32(NewFixed(math.Log2(-m * math.Expm1(-length/m))))
		}
	}
	return s
}

// slotAt returns the slot of a time.
func (s *slots) slotAt(now unit.Time) int64 { return int64(now) >> (s.shift & maxShift) }

// decay returns x decayed over n ≥ 0 slots, 0 from 2^12 slots on.
func (s *slots) decay(x uint64, n int64) uint64 {
	if n >= 1<<decayPlaces {
		return 0
	}
	for i := 0; n > 0 && x > 0; i, n = i+1, n>>1 {
		if n&1 != 0 {
			x = s.decays[i].multiply(x)
		}
	}
	return x
}

// logSpan returns log2 of T, in slots, at a time (length) after the measurement began. length is above 0.
func (s *slots) logSpan(length unit.Time) Fixed {
	l := log2Fixed(uint64(length)) - Fixed(s.shift)<<fractionBits
	if l < spanFirst<<fractionBits {
		return l
	}
	i := min((l-spanFirst<<fractionBits)>>(fractionBits-spanPlaces), spanOctaves<<spanPlaces-1)
	return Fixed(s.spans[i>>spanPlaces][i&(1<<spanPlaces-1)])
}

// IntegerMeter is Meter in integers, with the same three variables.
type IntegerMeter struct {
	sum   uint64    // S, in units of 2^−8 bit; saturates
	last  int64     // the slot of t_last
	start unit.Time // t_start
}

// sumPlaces is the number of binary places of S. A frame's bytes are shifted by it, plus 3 for bits.
const sumPlaces = 8

// NewIntegerMeter returns a meter with a measurement from start.
func NewIntegerMeter(start unit.Time, s *slots) IntegerMeter {
	return IntegerMeter{last: s.slotAt(start), start: start}
}

// advance decays the meter to a later slot.
func (m *IntegerMeter) advance(slot int64, s *slots) {
	m.sum = s.decay(m.sum, slot-m.last)
	m.last = slot
}

// Update counts a packet of size bytes that arrives at now. A time before the meter's slot counts in that slot.
func (m *IntegerMeter) Update(now unit.Time, size int, s *slots) {
	if slot := s.slotAt(now); slot > m.last {
		m.advance(slot, s)
	}
	sum, carry := bits.Add64(m.sum, uint64(size)<<(3+sumPlaces), 0)
	m.sum = sum | -carry
}

// Activity returns equation (1) at the time of an update, 0 if T or S is 0: log2 of S less log2 of T and of the
// reference rate, as logReference returns it.
func (m *IntegerMeter) Activity(now unit.Time, reference Fixed, s *slots) Fixed {
	if now <= m.start || m.sum == 0 {
		return 0
	}
	return log2Fixed(m.sum) - s.logSpan(now-m.start) - reference
}

// logReference returns log2 of the bits that R_r sends in a slot, in S's unit.
func (s *slots) logReference(r unit.Rate) Fixed {
	return NewFixed(math.Log2(float64(r)) + float64(s.shift) - math.Log2(1e12) + sumPlaces)
}

// IntegerAverage is Average in integers. Within a slot it adds up the differences of samples from the average before
// the slot, which has the weight of all earlier samples. So only that weight decays, and a value takes one quotient of
// small numbers: rounding errors do not accumulate.
type IntegerAverage struct {
	base  Fixed  // the average when the slot began
	above Fixed  // sum of the slot's samples over base
	count uint64 // N: sum of weights, the slot's included, with 16 binary places
	last  int64  // slot of the last sample
}

// Value returns A_avg, 0 before the first sample.
func (a *IntegerAverage) Value() Fixed { return a.base + divideFixed(a.above, a.count) }

// Update adds a sample of weight 1. A time before the slot of the last sample counts in that slot.
func (a *IntegerAverage) Update(now unit.Time, x Fixed, s *slots) {
	if slot := s.slotAt(now); slot > a.last {
		a.base, a.above = a.Value(), 0
		a.count = s.decay(a.count, slot-a.last)
		a.last = slot
	}
	a.above += x - a.base
	a.count += 1 << fractionBits
}

// IntegerRates is the average over bytes in integers: log2 of the mean of 2^A. All samples are positive, and sum and
// bytes decay alike, so ages that are off by less than a slot change the value by less than 0.0451 (IntegerRatesBound).
// The sum loses packets with a decayed size·2^A 2^40 times below the largest one's.
type IntegerRates struct {
	sum   uint64 // Σ size·2^A, in units of 2^unit
	unit  Fixed  // a whole number: sum has sumDigits binary digits, or is 0
	bytes uint64 // Σ size, in units of 2^−8 byte; saturates
	last  int64  // slot of the last sample
}

// IntegerRatesBound limits the error of IntegerRates' value: 0.0451 for ages; 0.0029 for the decay, as in IntegerBound;
// 0.0007 each for the logarithms of a size, of the sum and of the bytes; 0.0005 for a sample's power of two; 0.0001 for
// rounding.
const IntegerRatesBound = 0.0507

// sumDigits is the number of binary digits of IntegerRates.sum. A sample has up to one less.
const sumDigits = 48

// newIntegerRates returns an average with a value, a weight (bytes, in units of 2^−8 byte) and the last sample's slot.
func newIntegerRates(value Fixed, bytes uint64, last int64) (a IntegerRates) {
	a.bytes, a.last = bytes, last
	if bytes > 0 {
		a.addLevel(value + log2Fixed(bytes) - sumPlaces<<fractionBits)
	}
	return a
}

// Value returns A_avg, 0 before the first sample.
func (a *IntegerRates) Value() Fixed {
	if a.sum == 0 || a.bytes == 0 {
		return 0
	}
	return log2Fixed(a.sum) + a.unit - log2Fixed(a.bytes) + sumPlaces<<fractionBits
}

// Update adds a packet's activity x, with its size in bytes, above 0, as its weight. A time before the slot of the last
// sample counts in that slot.
func (a *IntegerRates) Update(now unit.Time, x Fixed, size int, s *slots) {
	if slot := s.slotAt(now); slot > a.last {
		a.sum, a.bytes = s.decay(a.sum, slot-a.last), s.decay(a.bytes, slot-a.last)
		a.rescale(Fixed(bits.Len64(a.sum) - sumDigits)) // otherwise later packets would be below the unit
		a.last = slot
	}
	total, carry := bits.Add64(a.bytes, uint64(size)<<sumPlaces, 0)
	a.bytes = total | -carry
	a.addLevel(x + log2Fixed(uint64(size)))
}

// addLevel adds 2^level to the sum. It shifts the sum to sumDigits digits and changes the unit accordingly.
func (a *IntegerRates) addLevel(level Fixed) {
	if a.sum == 0 {
		a.unit = level>>fractionBits<<fractionBits - (sumDigits-2)<<fractionBits
	}
	if above := (level-a.unit)>>fractionBits - (sumDigits - 2); above > 0 {
		a.rescale(above)
	}
	a.sum += exp2Fixed(level - a.unit)
	a.rescale(Fixed(bits.Len64(a.sum) - sumDigits))
}

// rescale multiplies the sum's unit by 2^n and shifts the sum by as many digits, so that its value stays. n may be
// negative. For n > 0 the sum is rounded down.
func (a *IntegerRates) rescale(n Fixed) {
	a.unit += n << fractionBits
	if n < 0 {
		a.sum <<= -n & maxShift
		return
	}
	a.sum >>= min(n, maxShift)
}
