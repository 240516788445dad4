package ncf

import (
	"testing"

	"weir/core/unit"
)

// BenchmarkCount measures update, query and F of a packet among a million flows, for sketches with ε = δ = 1 % and 4
// windows, and larger ones.
func BenchmarkCount(b *testing.B) {
	for _, c := range []struct {
		name           string
		windows        int
		epsilon, delta float64
	}{{"n=4,epsilon=1%", 4, 0.01, 0.01}, {"n=4,epsilon=0.1%", 4, 0.001, 0.01}, {"n=8,epsilon=1%", 8, 0.01, 0.01},
		{"n=15,epsilon=0.01%", 15, 0.0001, 0.001}} {
		b.Run(c.name, func(b *testing.B) {
			width, depth := Dimensions(c.epsilon, c.delta)
			s := NewSketch(SketchConfig{Windows: c.windows, Duration: 10 * unit.Millisecond, Width: width, Depth: depth,
				Bits: 32, Seed: 1})
			d := Detector{Form: Average, Threshold: 0.05, MinTraffic: 30_000}
			elephants := 0
			b.ReportAllocs()
			for i := range b.N {
				if d.IsElephant(s.Count(unit.Time(i)*100*unit.Nanosecond, uint64(uint32(i)*2654435761)%1_000_000, 1500)) {
					elephants++
				}
			}
			b.ReportMetric(float64(s.Bytes()), "bytes")
		})
	}
}
