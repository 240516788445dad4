//go:build slow

package sim

import (
	"testing"

	"weir/core/unit"
)

// TestSameResultSeeds checks every form of the same run, with more seeds.
func TestSameResultSeeds(t *testing.T) {
	for seed := range uint64(4) {
		sameResultTCP(t, seed, 3*unit.Millisecond, everyForm)
		sameResultRDMA(t, seed, 3*unit.Millisecond, everyForm)
		traceSame(t, seed, everyForm)
	}
}

// TestSameResultNCFLonger checks NCF for longer, with each transport.
func TestSameResultNCFLonger(t *testing.T) {
	const duration = 500 * unit.Microsecond
	sameWithNCF(t, duration, map[string]func(t testing.TB, c *Config){"udp": func(testing.TB, *Config) {},
		"rdma": queuePairs})
	sameWithNCF(t, duration, map[string]func(t testing.TB, c *Config){"tcp": connections})
	sameResultEchoes(t, duration)
}

// TestEndsAreGivenBackFull checks thousands of flows of each transport.
func TestEndsAreGivenBackFull(t *testing.T) { endsAreGivenBack(t, 3000) }
