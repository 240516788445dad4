//go:build slow

package bench_test

import (
	"slices"
	"testing"

	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/bench"
)

// TestPermutationTCP runs the permutation with TCP: every flow completes, no packet is lost, and wire form gives the
// same result.
func TestPermutationTCP(t *testing.T) {
	var hash string
	for _, wire := range []bool{false, true} {
		c := permutation(t, "tcp")
		c.Wire = wire
		r := plantest.Simulate(t, c)
		h := bench.FCTHash(r)
		if hash == "" {
			hash = h
		}
		if r.End != outcome.AllDone || r.Drops != [dataplane.Reasons]uint64{} || h != hash {
			t.Errorf("wire mode %v: %s, drops %v, FCTs %s, want %s", wire, r.End, r.Drops, h[:16], hash[:16])
		}
	}
}

// TestPermutationHPCC runs the permutation with HPCC++: no packet is lost, each packet crosses each link once, and wire
// form gives the same result.
func TestPermutationHPCC(t *testing.T) {
	var hash string
	for _, wire := range []bool{false, true} {
		c := permutation(t, "sim")
		c.Wire = wire
		r := plantest.Simulate(t, c)
		h := bench.FCTHash(r)
		if hash == "" {
			hash = h
		}
		if r.PacketHops != 2_904_000 || r.End != outcome.AllDone || r.Drops != [dataplane.Reasons]uint64{} || h != hash {
			t.Errorf("wire mode %v: %d packet-hops, %s, drops %v, FCTs %s, want %s", wire, r.PacketHops, r.End, r.Drops,
				h[:16], hash[:16])
		}
	}
}

// TestPermutationHPCCLast checks that the last flow ends after 827 µs within 5 % (notes of the HPCC simulator and
// Weir's prototype). This depends on how many flows ECMP puts on the fullest link, so the median over seeds counts.
func TestPermutationHPCCLast(t *testing.T) {
	var lasts []unit.Time
	for seed := range uint64(5) {
		r := plantest.Simulate(t, seeded(t, "sim", seed+1))
		last := unit.Time(0)
		for _, f := range r.Flows {
			last = max(last, f.FCT)
		}
		lasts = append(lasts, last)
	}
	slices.Sort(lasts)
	if m := lasts[len(lasts)/2]; m < 827*unit.Microsecond*95/100 || m > 827*unit.Microsecond*105/100 {
		t.Errorf("the last flow takes %v", lasts)
	}
}
