package p4abc

import (
	"math"
	"math/bits"
)

// Fixed is a number in units of 2^−16, the form in which a switch without floating point calculates activities.
type Fixed int64

// fractionBits is the number of binary places of a Fixed.
const fractionBits = 16

// maxShift is the largest shift of a 64-bit word. Masking a shift with it saves a comparison on the processor.
const maxShift = 63

// NewFixed returns the Fixed nearest to x. It is for configurations and tests, not for packets.
func NewFixed(x float64) Fixed { return Fixed(math.Round(x * (1 << fractionBits))) }

// Float returns x as a float64.
func (x Fixed) Float() float64 { return float64(x) / (1 << fractionBits) }

// Size of a curve: 2^places parts.
const (
	curveBits  = 10
	curveParts = 1 << curveBits
)

// curve is a table of a function at the middles of equal parts of the interval from 0 to 1, in units of 2^−16.
type curve [curveParts]uint32

// newCurve tabulates f.
func newCurve(f func(float64) float64) (c curve) {
	for i := range c {
		c[i] = uint32(math.Round(f((float64(i)+0.5)/curveParts) * (1 << fractionBits)))
	}
	return c
}

// The two curves: log2(1+x) for the digits of a number after its first, and 2^x.
var (
	logCurve   = newCurve(func(x float64) float64 { return math.Log2(1 + x) })
	powerCurve = newCurve(math.Exp2)
)

// log2Fixed returns log2(x) of x ≥ 1: the position of the first digit, and the curve's value at the next ten digits.
// The error is at most half a part, 1/(2·1024·ln 2) = 0.0007, plus half a unit. A P4 target finds the position by
// longest prefix match. The shift is 64 − n; for x = 1 it would be 64, giving 0, and masked it is 0, giving 1: the ten
// digits are zeros either way.
func log2Fixed(x uint64) Fixed {
	n := bits.Len64(x) - 1
	return Fixed(n)<<fractionBits + Fixed(logCurve[x<<(-n&maxShift)>>(64-curveBits)])
}

// exp2Fixed returns 2^x, rounded down to an integer; 0 for x < 0, 2^47 from x = 47 on.
func exp2Fixed(x Fixed) uint64 {
	n := x >> fractionBits
	switch {
	case n < 0:
		return 0
	case n > 46:
		return 1 << 47
	}
	return uint64(powerCurve[x&(1<<fractionBits-1)>>(fractionBits-curveBits)]) << (n & maxShift) >> fractionBits
}

// divideFixed returns d/n in the unit of d, by the difference of two logarithms; the error is at most 0.15 % and one
// unit. n has 16 binary places. If d or n is 0, it returns 0.
func divideFixed(d Fixed, n uint64) Fixed {
	if d == 0 || n == 0 {
		return 0
	}
	minus := d >> maxShift // −1 or 0; a branch by a sign that changes at random would be mispredicted
	size := exp2Fixed(log2Fixed(uint64((d^minus)-minus)) - log2Fixed(n) + fractionBits<<fractionBits)
	return (Fixed(size) ^ minus) - minus
}

// digit is one digit of a constant in signed binary: 2^place, added or subtracted.
type digit struct {
	place    uint8
	negative bool
}

// applySign returns x with the digit's sign, without a branch.
func (d digit) applySign(x uint64) uint64 {
	minus := uint64(0)
	if d.negative {
		minus = 1
	}
	return (x ^ -minus) + minus
}

// signedDigits returns a constant in the signed binary form without two adjacent non-zero digits (the canonical form,
// with the fewest additions), the highest digit first.
func signedDigits(x uint64) (all []digit) {
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

// product multiplies by a constant, as a sum of shifted numbers. The constant has 8 binary places.
type product []digit

const productPlaces = 8

// productBy returns the product that multiplies by x ≥ 0.
func productBy(x float64) product { return signedDigits(uint64(math.Round(x * (1 << productPlaces)))) }

// multiply returns x times the constant, rounded down.
func (p product) multiply(x Fixed) (sum Fixed) {
	for _, d := range p {
		sum += Fixed(d.applySign(uint64(x) << (d.place & maxShift)))
	}
	return sum >> productPlaces
}

// portion multiplies by a constant up to 1: x shifted to the right by whole, and sums of its parts.
type portion struct {
	whole uint8
	parts []digit // place: shift to the right
}

// portionPlaces is the number of binary places of a portion's digits. A decay removes 1/64 per slot at least, and is
// exact within 2^−21: that is 2^−15 of the decay, and of the memory.
const portionPlaces = 20

// newPortion returns the portion that multiplies by 2^−x, x ≥ 0.
func newPortion(x float64) (p portion) {
	whole := math.Floor(x)
	p.whole = uint8(min(whole, 63))
	for _, d := range signedDigits(uint64(math.Round(math.Exp2(whole-x) * (1 << portionPlaces)))) {
		p.parts = append(p.parts, digit{portionPlaces - d.place, d.negative})
	}
	return p
}

// multiply returns x times the constant. It cannot fall below 0: a digit is at least four times the next one.
func (p *portion) multiply(x uint64) (sum uint64) {
	x >>= p.whole & maxShift
	for _, d := range p.parts {
		sum += d.applySign(x >> (d.place & maxShift))
	}
	return sum
}
