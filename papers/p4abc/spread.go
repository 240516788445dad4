package p4abc

import (
	"math"

	"weir/core/unit"
)

// spread is the fair activity meter of P4-ABC §2: "packets of a flow are colored with random values from a range
// instead of with one specific value". The paper does not give the range. Rainbow Fair Queueing, to which it refers,
// colours a flow's packets evenly with all rates up to the flow's rate. Drops above a rate α then take the same layers
// from every flow, and each gets min(R_m, α), at any rate of its own. Here a packet has the activity of a rate drawn
// evenly from the upper share of R_m.
type spread struct {
	share  float64
	part   portion // share, for integers
	random unit.Random
}

// newSpread returns a spread over the upper share of rates; share is above 0 and at most 1.
func newSpread(share float64, r unit.Random) *spread {
	return &spread{share: share, part: newPortion(-math.Log2(share)), random: r}
}

// draw returns a random packet's activity less the activity of R_m, 0 or less.
func (s *spread) draw() float64 {
	return math.Log2(1 - float64(s.share*float64(s.random.Uint32())/(1<<32)))
}

// drawInteger returns draw in integers.
func (s *spread) drawInteger() Fixed {
	return log2Fixed(1<<32-s.part.multiply(uint64(s.random.Uint32()))) - 32<<fractionBits
}
