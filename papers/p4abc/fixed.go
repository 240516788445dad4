package p4abc

import (
	"math"
	"math/bits"
)

// Fixed is a number in units of 2^−16, as a switch without floating point calculates activities.
type Fixed int64

// fraction is the number of binary places of a Fixed.
const fraction = 16

// last is the largest shift of a word. A shift that is bounded by it needs no comparison on a processor.
const last = 63

// FixedOf returns the Fixed nearest to x. It is for configurations and tests, not for packets.
func FixedOf(x float64) Fixed { return Fixed(math.Round(x * (1 << fraction))) }

// Float returns x as a floating-point number.
func (x Fixed) Float() float64 { return float64(x) / (1 << fraction) }

// curve is a table of a function at the middles of 2^places equal parts of the interval from 0 to 1.
const (
	places = 10
	parts  = 1 << places
)

type curve [parts]uint32

func newCurve(f func(float64) float64) (c curve) {
	for i := range c {
		c[i] = uint32(math.Round(f((float64(i)+0.5)/parts) * (1 << fraction)))
	}
	return c
}

// The two curves: log2(1+x) for the digits of a number after its first, and 2^x.
var (
	logs   = newCurve(func(x float64) float64 { return math.Log2(1 + x) })
	powers = newCurve(math.Exp2)
)

// logarithm returns log2(x) of x ≥ 1: the place of the first digit, and the curve's value at the next ten.
// It is off by at most half a part, 1/(2·1024·ln 2) = 0.0007, and half a unit. A P4 target finds the place by
// a longest prefix match. The shift is by 64 − n; for x = 1 that is 64, which makes 0, and n&63 makes 1: both have
// zeros for the ten digits.
func logarithm(x uint64) Fixed {
	n := bits.Len64(x) - 1
	return Fixed(n)<<fraction + Fixed(logs[x<<(-n&last)>>(64-places)])
}

// power returns 2^x, rounded down to an integer; 2^47 for all larger x.
func power(x Fixed) uint64 {
	n := x >> fraction
	switch {
	case n < 0:
		return 0
	case n > 46:
		return 1 << 47
	}
	return uint64(powers[x&(1<<fraction-1)>>(fraction-places)]) << (n & last) >> fraction
}

// quotient returns d/n, d in the same unit, by the difference of two logarithms: off by at most 0.15 % and
// a unit. n has 16 binary places. Nothing over nothing is 0.
func quotient(d Fixed, n uint64) Fixed {
	if d == 0 || n == 0 {
		return 0
	}
	minus := d >> last // −1 or 0; a branch by a sign that changes at random would be mispredicted
	size := power(logarithm(uint64((d^minus)-minus)) - logarithm(n) + fraction<<fraction)
	return (Fixed(size) ^ minus) - minus
}

// digit is one of a constant's in signed binary: 2^place, added or subtracted.
type digit struct {
	place uint8
	minus bool
}

// signed returns x with the digit's sign, without a branch.
func (d digit) signed(x uint64) uint64 {
	minus := uint64(0)
	if d.minus {
		minus = 1
	}
	return (x ^ -minus) + minus
}

// digitsOf writes a constant in the signed binary form without two neighbours that are not 0 (the canonical
// one), the highest digit first: it has the fewest additions.
func digitsOf(x uint64) (all []digit) {
	for place := uint8(0); x != 0; place, x = place+1, x>>1 {
		if x&1 != 0 {
			minus := x&3 == 3
			all = append([]digit{{place, minus}}, all...)
			if minus {
				x++
			}
		}
	}
	return all
}

// product is multiplication by a constant, as additions of shifted numbers. It has 8 binary places.
type product []digit

const productPlaces = 8

func productBy(x float64) product { return digitsOf(uint64(math.Round(x * (1 << productPlaces)))) }

func (p product) of(x Fixed) (sum Fixed) {
	for _, d := range p {
		sum += Fixed(d.signed(uint64(x) << (d.place & last)))
	}
	return sum >> productPlaces
}

// portion is multiplication by a constant up to 1, likewise: x shifted to the right, and parts of that.
type portion struct {
	whole uint8
	parts []digit // place: to the right
}

// portionPlaces are the binary places that the digits of a portion have. What a decay takes in a slot is
// 1/64 at least, and right within 2^−21: within 2^−15 of itself, and so is the memory.
const portionPlaces = 20

// portionOf is that by 2^−x, x ≥ 0.
func portionOf(x float64) (p portion) {
	whole := math.Floor(x)
	p.whole = uint8(min(whole, 63))
	for _, d := range digitsOf(uint64(math.Round(math.Exp2(whole-x) * (1 << portionPlaces)))) {
		p.parts = append(p.parts, digit{portionPlaces - d.place, d.minus})
	}
	return p
}

// of cannot fall below 0: a digit is at least four times the one before, whatever is rounded off.
func (p *portion) of(x uint64) (sum uint64) {
	x >>= p.whole & last
	for _, d := range p.parts {
		sum += d.signed(x >> (d.place & last))
	}
	return sum
}
