package ncf

import (
	"testing"

	"weir/unit"
)

// BenchmarkCount is update and query of a packet among a million flows.
func BenchmarkCount(b *testing.B) {
	s, err := NewSketch(SketchConfig{Windows: 4, Duration: 10 * unit.Millisecond, Width: 272, Depth: 5, Bits: 32, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := range b.N {
		s.Count(unit.Time(i)*100*unit.Nanosecond, uint64(uint32(i)*2654435761)%1_000_000, 1500)
	}
}
