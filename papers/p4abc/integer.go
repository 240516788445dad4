package p4abc

import (
	"math"
	"math/bits"

	"weir/core/unit"
)

// The integer variant: what §3.2 and §3.3 measure, by additions, shifts, comparisons and look-ups in small
// tables alone. The paper's prototype has externs in floating point for it, "but [they] may not be available
// on hardware switches" (§7).
//
// Time is counted in slots of 2^k ps, the largest such that the memory M is at least 32 of them. What came
// in one slot is added up; between slots all decays by a factor that is a table's. (TDRM-DTWMA-UEMA, ICPE'17,
// is built like this: windows, and an exponential average over them.) So a packet's age is off by less than
// a slot, M/32 at most, and its weight by a factor of e^(1/32) at most: 1/(32·ln 2) = 0.0451 in log2. How many
// packets a slot has does not matter. IntegerBound adds up what else is rounded.

// IntegerBound is the most by which an integer activity differs from the exact one: 0.0451 for ages; 0.0029
// for S's decay, 2^−15 of 64 memories; 1/128 for half a part of T's table; 0.0007 each for the logarithms of S
// and of the measurement's length; 0.0001 for rounding.
const IntegerBound = 0.0574

// slots are the time scale of a memory.
type slots struct {
	shift uint8                // of a time: its slot
	fades [fadePlaces]portion  // by a binary place of a number of slots: what is left after 2^place
	spans [spanOctaves]ofWidth // log2 of T over a slot, by log2 of the measurement's length over a slot
}

const (
	fadePlaces = 12 // after 2^12 slots, 64 memories at least, nothing is left: e^−64 < 2^−92

	// T's table has 64 parts an octave, from 2^−3 slots, below which T is the length itself within
	// 2^−3/(2·32) of it, to 2^9, 8 memories at least, where T is M within e^−8 of it.
	spanPlaces  = 6
	spanFirst   = -3
	spanOctaves = 12
)

type ofWidth [1 << spanPlaces]int32

// newSlots lays out the tables of a memory.
func newSlots(memory unit.Time) *slots {
	s := &slots{shift: uint8(bits.Len64(uint64(max(memory>>5, 1))) - 1)}
	slot := math.Exp2(float64(s.shift))
	m := float64(memory) / slot // M in slots
	for i := range s.fades {
		s.fades[i] = portionOf(math.Exp2(float64(i)) / m * math.Log2E)
	}
	for i := range s.spans {
		for j := range s.spans[i] {
			length := math.Exp2(float64(spanFirst+i) + (float64(j)+0.5)/(1<<spanPlaces))
			s.spans[i][j] = int32(FixedOf(math.Log2(-m * math.Expm1(-length/m))))
		}
	}
	return s
}

// at is the slot of a time.
func (s *slots) at(now unit.Time) int64 { return int64(now) >> (s.shift & last) }

// fade returns what is left of x after n slots.
func (s *slots) fade(x uint64, n int64) uint64 {
	if n >= 1<<fadePlaces {
		return 0
	}
	for i := 0; n > 0 && x > 0; i, n = i+1, n>>1 {
		if n&1 != 0 {
			x = s.fades[i].of(x)
		}
	}
	return x
}

// span returns log2 of T, in slots, a time after the measurement began.
func (s *slots) span(length unit.Time) Fixed {
	l := logarithm(uint64(length)) - Fixed(s.shift)<<fraction
	if l < spanFirst<<fraction {
		return l
	}
	i := min((l-spanFirst<<fraction)>>(fraction-spanPlaces), spanOctaves<<spanPlaces-1)
	return Fixed(s.spans[i>>spanPlaces][i&(1<<spanPlaces-1)])
}

// IntegerMeter is Meter in integers. Like that it has three variables.
type IntegerMeter struct {
	sum   uint64    // S, in units of 2^−8 bit; stays at its largest value when that is reached
	last  int64     // the slot of t_last
	start unit.Time // t_start
}

// sumPlaces are the binary places of S. A frame's bits are shifted by them, and by 3 for being bytes.
const sumPlaces = 8

// NewIntegerMeter returns a meter whose measurement begins at start.
func NewIntegerMeter(start unit.Time, s *slots) IntegerMeter {
	return IntegerMeter{last: s.at(start), start: start}
}

// age takes the meter to a later slot.
func (m *IntegerMeter) age(slot int64, s *slots) {
	m.sum = s.fade(m.sum, slot-m.last)
	m.last = slot
}

// Update counts a packet of so many bytes that arrives at now.
func (m *IntegerMeter) Update(now unit.Time, size int, s *slots) {
	if slot := s.at(now); slot > m.last {
		m.age(slot, s)
	}
	sum, carry := bits.Add64(m.sum, uint64(size)<<(3+sumPlaces), 0)
	m.sum = sum | -carry
}

// Activity is equation (1) at the time of an update, 0 where T is 0: the level of S less that of T and of the
// reference.
func (m *IntegerMeter) Activity(now unit.Time, reference Fixed, s *slots) Fixed {
	if now <= m.start || m.sum == 0 {
		return 0
	}
	return logarithm(m.sum) - s.span(now-m.start) - reference
}

// referenceOf is log2 of what R_r gives in a slot, in S's unit.
func (s *slots) referenceOf(r unit.Rate) Fixed {
	return FixedOf(math.Log2(float64(r)) + float64(s.shift) - math.Log2(1e12) + sumPlaces)
}

// IntegerAverage is Average in integers. Within a slot it adds up by how much the samples differ from the
// average of before,
// which has the weight of all samples of before. So only that weight decays, and the one quotient that a
// value takes is of small numbers: rounding does not add up.
type IntegerAverage struct {
	base  Fixed  // the average when the slot began
	above Fixed  // sum of the slot's samples over base
	count uint64 // N: weighted number of samples, the slot's included, with 16 binary places
	last  int64  // slot of the last sample
}

// Value returns A_avg, 0 where there were no samples.
func (a *IntegerAverage) Value() Fixed { return a.base + quotient(a.above, a.count) }

// Update adds a sample.
func (a *IntegerAverage) Update(now unit.Time, x Fixed, s *slots) {
	if slot := s.at(now); slot > a.last {
		a.base, a.above = a.Value(), 0
		a.count = s.fade(a.count, slot-a.last)
		a.last = slot
	}
	a.above += x - a.base
	a.count += 1 << fraction
}

// IntegerRates is the average over bytes in integers: log2 of the mean of 2^A. All samples are positive, and sum and
// bytes decay alike, so ages that are off by less than a slot change the value by less than 0.0451 (IntegerRatesBound).
// The sum forgets packets whose decayed size·2^A is 2^40 times below the largest one's.
type IntegerRates struct {
	sum   uint64 // Σ size·2^A, in units of 2^unit
	unit  Fixed  // a whole number: sum has sumDigits binary digits, or is 0
	bytes uint64 // Σ size, in units of 2^−8 byte; stays at its largest value when that is reached
	last  int64  // slot of the last sample
}

// IntegerRatesBound limits the error of IntegerRates' value: 0.0451 for ages; 0.0029 for the decay, as in IntegerBound;
// 0.0007 each for the logarithms of a size, of the sum and of the bytes; 0.0005 for a sample's power of two; 0.0001 for
// rounding.
const IntegerRatesBound = 0.0507

// sumDigits is the number of binary digits of IntegerRates.sum. A sample has up to one less.
const sumDigits = 48

// newIntegerRates returns an average of a value and a weight.
func newIntegerRates(value Fixed, bytes uint64, last int64) (a IntegerRates) {
	a.bytes, a.last = bytes, last
	if bytes > 0 {
		a.add(value + logarithm(bytes) - sumPlaces<<fraction)
	}
	return a
}

// Value returns A_avg, 0 where there were no samples.
func (a *IntegerRates) Value() Fixed {
	if a.sum == 0 || a.bytes == 0 {
		return 0
	}
	return logarithm(a.sum) + a.unit - logarithm(a.bytes) + sumPlaces<<fraction
}

// Update adds a packet's activity, with its size in bytes as its weight.
func (a *IntegerRates) Update(now unit.Time, x Fixed, size int, s *slots) {
	if slot := s.at(now); slot > a.last {
		a.sum, a.bytes = s.fade(a.sum, slot-a.last), s.fade(a.bytes, slot-a.last)
		a.scale(Fixed(bits.Len64(a.sum) - sumDigits)) // or a later packet would be below the unit
		a.last = slot
	}
	total, carry := bits.Add64(a.bytes, uint64(size)<<sumPlaces, 0)
	a.bytes = total | -carry
	a.add(x + logarithm(uint64(size)))
}

// add adds 2^level to the sum, and shifts the sum to sumDigits digits.
func (a *IntegerRates) add(level Fixed) {
	if a.sum == 0 {
		a.unit = level>>fraction<<fraction - (sumDigits-2)<<fraction
	}
	if above := (level-a.unit)>>fraction - (sumDigits - 2); above > 0 {
		a.scale(above)
	}
	a.sum += power(level - a.unit)
	a.scale(Fixed(bits.Len64(a.sum) - sumDigits))
}

// scale makes the sum's unit 2^n times larger, or smaller where n is negative.
func (a *IntegerRates) scale(n Fixed) {
	a.unit += n << fraction
	if n < 0 {
		a.sum <<= -n & last
		return
	}
	a.sum >>= min(n, last)
}
