package p4abc

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// numbers64 are edges, and numbers of all lengths.
func numbers64(n int) (all []uint64) {
	r := rand.New(rand.NewPCG(1, 64))
	for i := range 64 {
		all = append(all, 1<<i, 1<<i+1, 1<<i|(1<<i-1), 1<<i|1<<i>>1)
	}
	for range n {
		all = append(all, r.Uint64()>>r.IntN(64)|1)
	}
	return all
}

// TestLog2Fixed_KeepsStatedError checks the error that the comment of log2Fixed states.
func TestLog2Fixed_KeepsStatedError(t *testing.T) {
	worst := 0.0
	for _, x := range numbers64(100_000) {
		e := math.Abs(log2Fixed(x).Float() - math.Log2(float64(x)))
		if worst = max(worst, e); e > 0.5/curveParts/math.Ln2+1.0/(1<<fractionBits) {
			t.Fatalf("log2(%d) = %g, want %g", x, log2Fixed(x).Float(), math.Log2(float64(x)))
		}
	}
	if worst < 0.0006 {
		t.Errorf("the largest error is %g; the comment says 0.0007", worst)
	}
}

func TestExp2Fixed_KeepsStatedError(t *testing.T) {
	for x := Fixed(-2 << fractionBits); x < 50<<fractionBits; x += 997 {
		want := math.Exp2(x.Float())
		if x < 0 {
			want = 0
		}
		want = min(want, 1<<47)
		if got := float64(exp2Fixed(x)); math.Abs(got-want) > want*0.0006+1 {
			t.Fatalf("2^%g = %g, want %g", x.Float(), got, want)
		}
	}
}

// TestDivideFixed_KeepsStatedError checks the error that the comment of divideFixed states.
func TestDivideFixed_KeepsStatedError(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range 100_000 {
		d, n := Fixed(r.Uint64()>>(12+r.IntN(50))), uint64(1<<(fractionBits+r.IntN(40))+r.IntN(1<<fractionBits))
		if r.IntN(2) == 0 {
			d = -d
		}
		want := float64(d) / float64(n) * (1 << fractionBits)
		if math.Abs(want) > 1<<46 {
			continue
		}
		if got := float64(divideFixed(d, n)); math.Abs(got-want) > math.Abs(want)*0.0015+1 {
			t.Fatalf("%d / %d = %g, want %g", d, n, got, want)
		}
	}
	if divideFixed(0, 0) != 0 || divideFixed(5, 0) != 0 || divideFixed(0, 5) != 0 {
		t.Error("a quotient without numbers")
	}
}

// TestSignedDigits_AddUpWithoutNeighbours checks that signed binary adds up to the constant, with no two neighbours.
func TestSignedDigits_AddUpWithoutNeighbours(t *testing.T) {
	for x := range uint64(1 << 14) {
		sum, below := int64(0), 64
		for _, d := range signedDigits(x) {
			if below-int(d.place) < 2 {
				t.Fatalf("%d: neighbours in %v", x, signedDigits(x))
			}
			below = int(d.place)
			if sum += 1 << d.place; d.negative {
				sum -= 2 << d.place
			}
		}
		if sum != int64(x) {
			t.Fatalf("%d: digits of %d", x, sum)
		}
	}
	if n := len(signedDigits(16)); n != 1 {
		t.Errorf("16 has %d digits", n)
	}
}

func TestProduct_MultipliesWithinOneUnit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 100_000 {
		c, x := float64(1+r.IntN(1<<20))/16, Fixed(r.IntN(1<<23)-1<<22)
		if got, want := float64(productBy(c).multiply(x)), c*float64(x); math.Abs(got-want) > 1 {
			t.Fatalf("%g · %d = %g, want %g", c, x, got, want)
		}
	}
}

// TestPortion_NeverExceedsWhole checks that a portion is right within its constant's places and within a unit a digit,
// is never negative, and never more than the whole.
func TestPortion_NeverExceedsWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for range 2000 {
		x := 20 * r.Float64() * r.Float64()
		p := newPortion(x)
		for _, n := range numbers64(20) {
			got, want := float64(p.multiply(n)), float64(n)*math.Exp2(-x)
			if math.Abs(got-want) > want/(1<<portionPlaces)+float64(len(p.parts)+1) || p.multiply(n) > n {
				t.Fatalf("2^-%g of %d = %g, want %g (%v)", x, n, got, want, p)
			}
		}
	}
}

// TestPortion_BranchlessMatchesBranches compares the form without branches for signs and comparisons for shifts with
// the form that has them, number by number.
func TestPortion_BranchlessMatchesBranches(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	digits := func(all []digit, of func(digit) uint64) (sum uint64) {
		for _, d := range all {
			if d.negative {
				sum -= of(d)
			} else {
				sum += of(d)
			}
		}
		return sum
	}
	for range 20_000 {
		x, n := r.Uint64()>>r.IntN(64)|1, r.Uint64()>>r.IntN(64)
		p := newPortion(r.Float64() * 30)
		if got, want := p.multiply(x), digits(p.parts, func(d digit) uint64 { return x >> p.whole >> d.place }); got != want {
			t.Fatalf("a portion of %d is %d, want %d", x, got, want)
		}
		s, by := Fixed(x>>24)-1<<39, productBy(r.Float64()*4096)
		want := Fixed(digits(by, func(d digit) uint64 { return uint64(s) << d.place })) >> productPlaces
		if got := by.multiply(s); got != want {
			t.Fatalf("a product of %d is %d, want %d", s, got, want)
		}
		first := bits.Len64(x) - 1
		log := Fixed(first)<<fractionBits + Fixed(logCurve[x<<(64-first)>>(64-curveBits)])
		if got := log2Fixed(x); got != log {
			t.Fatalf("the logarithm of %d is %d, want %d", x, got, log)
		}
		if got, back := divideFixed(s, n), -divideFixed(-s, n); got != back || got < 0 != (s < 0) && got != 0 {
			t.Fatalf("%d over %d is %d, and −%d with the other sign", s, n, got, back)
		}
	}
	if log2Fixed(1) != Fixed(logCurve[0]) {
		t.Errorf("the logarithm of 1 is %d", log2Fixed(1))
	}
}
