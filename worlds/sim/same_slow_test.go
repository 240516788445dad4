//go:build slow

package sim

import "testing"

// Balancers with more seeds.
func TestBalanceSeeds(t *testing.T) { balance(t, 3) }

// Every form of the same run, with more seeds.
func TestSameResultSeeds(t *testing.T) {
	for seed := uint64(1); seed < 4; seed++ {
		sameResultTCP(t, seed)
		sameResultRDMA(t, seed)
		traceSame(t, seed)
	}
}
