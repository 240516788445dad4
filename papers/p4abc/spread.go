package p4abc

import (
	"math"

	"weir/core/unit"
)

// spread is the fair activity meter of §2: "packets of a flow are colored with random values from a range instead of
// with one specific value". The paper does not give the range. Rainbow Fair Queueing, to which it refers, colours a
// flow's packets evenly with all rates up to its own: then what exceeds a rate α is dropped of every flow alike, and
// each gets min(R_m, α), whatever it sends. Here a packet has the activity of a rate drawn evenly from the upper
// share of R_m.
type spread struct {
	share  float64
	part   portion // the same
	random unit.Random
}

func newSpread(share float64, r unit.Random) *spread {
	return &spread{share: share, part: portionOf(-math.Log2(share)), random: r}
}

// draw is what a packet's activity is above that of R_m, 0 or less.
func (s *spread) draw() float64 {
	return math.Log2(1 - float64(s.share*float64(s.random.Uint32())/(1<<32)))
}

// drawInteger is draw in integers.
func (s *spread) drawInteger() Fixed {
	return logarithm(1<<32-s.part.of(uint64(s.random.Uint32()))) - 32<<fraction
}
