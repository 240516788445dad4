package fabric

import (
	"slices"
	"testing"

	"weir/core/unit"
)

// TestKeySorter_SortsAnyDistribution checks that any number of keys is sorted, for any distribution: even, at one
// moment, in clumps, one far from the others.
func TestKeySorter_SortsAnyDistribution(t *testing.T) {
	random := unit.NewRandom(1, "order")
	for _, c := range []struct {
		name string
		at   func(i int) uint64
	}{
		{"evenly", func(int) uint64 { return random.Uint64() % 1_000_000 }},
		{"at one moment", func(int) uint64 { return 12345 }},
		{"at the first moment", func(int) uint64 { return 0 }},
		{"in clumps", func(i int) uint64 { return uint64(i%3)*400_000 + random.Uint64()%20 }},
		{"one far away", func(i int) uint64 { return uint64(i) + uint64(i/50)*uint64(maxWindow/8) }},
		{"backwards", func(i int) uint64 { return 1_000_000 - 7*uint64(i) }},
		{"the longest window", func(int) uint64 { return random.Uint64() % uint64(maxWindow) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o keySorter
			for n := 1; n < 200; n++ {
				keys, last := o.reserveKeys(n)[:n], uint64(0)
				for i := range keys {
					keys[i] = c.at(i)<<wireBits | uint64(i)
					last = max(last, keys[i])
				}
				want := slices.Clone(keys)
				slices.Sort(want)
				if got := o.sortKeys(keys, last); !slices.Equal(got, want) {
					t.Fatalf("%d keys: got %x, want %x", n, got, want)
				}
			}
		})
	}
}

// TestOrderOfMany checks that arrivals at one moment take no longer than a sort: their square would take ten seconds.
func TestOrderOfMany(t *testing.T) {
	var o keySorter
	const n = 200_000
	keys := o.reserveKeys(n)[:n]
	for i := range keys {
		keys[i] = 1<<wireBits | uint64((n-i)%maxWires)
	}
	if got := o.sortKeys(keys, 1<<wireBits|(maxWires-1)); !slices.IsSorted(got) {
		t.Error("not in order")
	}
}
