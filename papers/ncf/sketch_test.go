package ncf

import (
	"fmt"
	"math"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

const milli = unit.Millisecond

// TestDimensions_MatchCountMinBounds checks Cormode, Muthukrishnan 2005, §3: w = ⌈e/ε⌉, d = ⌈ln(1/δ)⌉.
func TestDimensions_MatchCountMinBounds(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		width, depth   int
	}{{0.01, 0.01, 272, 5}, {0.001, 0.001, 2719, 7}, {0.1, 0.1, 28, 3}, {0.5, 0.5, 6, 1}, {0.0001, 1e-6, 27183, 14}} {
		t.Run(fmt.Sprintf("epsilon %g, delta %g", c.epsilon, c.delta), func(t *testing.T) {
			if w, d := Dimensions(c.epsilon, c.delta); w != c.width || d != c.depth {
				t.Errorf("%d, %d; want %d, %d", w, d, c.width, c.depth)
			}
		})
	}
}

// TestSketch_CountsByWindow checks BS'19 §4.1: c^j counts the arrivals in [(⌊t/d⌋ − j)·d, (⌊t/d⌋ − j + 1)·d), and T_j
// is the sum over all flows.
func TestSketch_CountsByWindow(t *testing.T) {
	for _, packets := range []bool{false, true} {
		s := NewSketch(SketchConfig{Windows: 3, Duration: 10 * milli, Width: 1 << 12, Depth: 4, Bits: 32, Packets: packets})
		size := uint64(1500)
		if packets {
			size = 1
		}
		count := func(now unit.Time, key uint64) { s.Count(now, key, 1500) }
		expect := func(now unit.Time, key uint64, flow, total [3]uint64, elapsed unit.Time) {
			t.Helper()
			c := s.Estimate(now, key)
			for j := range 3 {
				if uint64(c.Flow[j]) != flow[j]*size || c.Total[j] != total[j]*size {
					t.Errorf("packets %v, at %v: window %d: %d of %d, want %d of %d packets", packets, now, j, c.Flow[j], c.Total[j],
						flow[j], total[j])
				}
			}
			if c.Windows != 3 || c.Duration != 10*milli || c.Elapsed != elapsed {
				t.Errorf("at %v: %d windows of %v, elapsed %v, want %v", now, c.Windows, c.Duration, c.Elapsed, elapsed)
			}
			if f, all := c.Sum(); f != (flow[0]+flow[1]+flow[2])*size || all != (total[0]+total[1]+total[2])*size {
				t.Errorf("at %v: sums %d of %d", now, f, all)
			}
		}
		count(0, 1)
		count(10*milli-1, 1)
		count(10*milli-1, 2)
		expect(10*milli-1, 1, [3]uint64{2}, [3]uint64{3}, 10*milli-1)
		expect(10*milli, 1, [3]uint64{0, 2}, [3]uint64{0, 3}, 0) // the boundary is the new window's
		count(10*milli, 1)
		count(19*milli, 2)
		expect(20*milli, 1, [3]uint64{0, 1, 2}, [3]uint64{0, 2, 3}, 0)
		count(25*milli, 1)
		expect(29*milli, 1, [3]uint64{1, 1, 2}, [3]uint64{1, 2, 3}, 9*milli)
		expect(30*milli, 1, [3]uint64{0, 1, 1}, [3]uint64{0, 1, 2}, 0) // the oldest has gone
		expect(30*milli, 2, [3]uint64{0, 0, 1}, [3]uint64{0, 1, 2}, 0)
		count(28*milli, 1) // a clock that goes back: the current window
		expect(31*milli, 1, [3]uint64{1, 1, 1}, [3]uint64{1, 1, 2}, 1*milli)
		expect(28*milli, 1, [3]uint64{1, 1, 1}, [3]uint64{1, 1, 2}, 0)
		expect(49*milli, 1, [3]uint64{0, 1, 1}, [3]uint64{0, 1, 1}, 9*milli)
		expect(60*milli, 1, [3]uint64{}, [3]uint64{}, 0)    // n windows without a packet
		expect(1e6*milli+3, 1, [3]uint64{}, [3]uint64{}, 3) // and 100 000
		expect(unit.Never-1, 1, [3]uint64{}, [3]uint64{}, (unit.Never-1)%(10*milli))
	}
	s := NewSketch(SketchConfig{Windows: 1, Duration: milli, Width: 8, Depth: 1, Bits: 32})
	if c := s.Count(0, 1, -5); c.Flow[0] != 0 || c.Total[0] != 0 {
		t.Errorf("a packet of -5 bytes counts %d", c.Flow[0])
	}
}

// TestSketch_CountersSaturate checks that counters stay at 2^Bits − 1: only then is a count too small, and a share with
// it. Totals do not saturate.
func TestSketch_CountersSaturate(t *testing.T) {
	for _, bits := range []int{8, 12, 16, 31, 32} {
		s := NewSketch(SketchConfig{Windows: 2, Duration: milli, Width: 64, Depth: 3, Bits: bits})
		most := uint64(1)<<bits - 1
		var sum uint64
		var c *FlowEstimate
		for sum < most+most/2 {
			n := min(most/3+1, 1<<31-1)
			c = s.Count(0, 5, int32(n))
			if sum += n; uint64(c.Flow[0]) != min(sum, most) || c.Total[0] != sum {
				t.Fatalf("%d bits: %d of %d, want %d of %d", bits, c.Flow[0], c.Total[0], min(sum, most), sum)
			}
		}
		c = s.Count(milli, 5, 1) // the next window begins from 0
		if c.Flow[0] != 1 || uint64(c.Flow[1]) != most {
			t.Errorf("%d bits: next window %d, %d", bits, c.Flow[0], c.Flow[1])
		}
	}
	// The cost of saturation: 16 bits hold 65 kB of a window of 1 MB, 6.6 %. An elephant with 50 % is still one by 5 %,
	// and no more by 10 %.
	s := NewSketch(SketchConfig{Windows: 2, Duration: 10 * milli, Width: 1 << 10, Depth: 4, Bits: 16})
	for i := range 1000 {
		s.Count(0, uint64(i%2)*uint64(i)+1, 1000)
	}
	c := s.Estimate(0, 1)
	for threshold, want := range map[float64]bool{0.05: true, 0.1: false} {
		if d := (Detector{Form: Average, Threshold: threshold}); d.IsElephant(c) != want {
			t.Errorf("%d of %d: an elephant by %g: %v", c.Flow[0], c.Total[0], threshold, !want)
		}
	}
}

// TestHash_IsStronglyUniversal checks that the row's hash is strongly universal (Thorup 2015, §3.5). Over seeds,
// different keys, however similar, collide in a row with probability 1/w, and a key is in each column equally often.
func TestHash_IsStronglyUniversal(t *testing.T) {
	const width, seeds = 10, 20000
	pairs := [][2]uint64{{0, 1}, {1, 2}, {0, 1 << 63}, {0, 1 << 32}, {1, 1 << 32}, {5, 5 << 32}, {1<<64 - 1, 0},
		{1<<32 - 1, 1 << 32}, {0x1_0000_0001, 0x2_0000_0002}, {1 << 31, 1 << 31 << 32}}
	met := make([]int, len(pairs))
	var columns [width]int
	for seed := range uint64(seeds) {
		s := NewSketch(SketchConfig{Windows: 1, Duration: 1, Width: width, Depth: 1, Bits: 32, Seed: seed})
		h := &s.rows[0]
		at := func(key uint64) int { return h.column(key&(1<<32-1), key>>32, width) }
		for i, p := range pairs {
			if at(p[0]) == at(p[1]) {
				met[i]++
			}
		}
		columns[at(12345)]++
	}
	deviation := math.Sqrt(seeds * (1.0 / width) * (1 - 1.0/width))
	for i, n := range met {
		if math.Abs(float64(n)-seeds/width) > 4.5*deviation {
			t.Errorf("keys %#x meet in %d of %d rows of %d columns", pairs[i], n, seeds, width)
		}
	}
	for i, n := range columns {
		if math.Abs(float64(n)-seeds/width) > 4.5*deviation {
			t.Errorf("column %d has %d of %d", i, n, seeds)
		}
	}
}

// TestSketch_KeyCoversFiveTupleAndSeed checks that a key covers a 5-tuple: both directions and every field count, and a
// key for one seed does not reveal it for another.
func TestSketch_KeyCoversFiveTupleAndSeed(t *testing.T) {
	a := NewSketch(SketchConfig{Windows: 1, Duration: 1, Width: 8, Depth: 1, Bits: 32, Seed: 1})
	same := NewSketch(SketchConfig{Windows: 2, Duration: 7, Width: 9, Depth: 1, Bits: 8, Seed: 1})
	other := NewSketch(SketchConfig{Windows: 1, Duration: 1, Width: 8, Depth: 1, Bits: 32, Seed: 2})
	p := packet.Packet{Src: 3, Dst: 9, SrcPort: 1024, DstPort: 80, Proto: packet.ProtoTCP}
	if a.Key(&p) != same.Key(&p) || a.Key(&p) == other.Key(&p) {
		t.Error("the key is not the seed's")
	}
	seen := map[uint64]packet.Packet{}
	note := func(q packet.Packet) {
		k := a.Key(&q)
		if was, ok := seen[k]; ok {
			t.Errorf("%v:%d %v:%d %d and %v:%d %v:%d %d have one key", was.Src, was.SrcPort, was.Dst, was.DstPort, was.Proto,
				q.Src, q.SrcPort, q.Dst, q.DstPort, q.Proto)
		}
		seen[k] = q
	}
	note(packet.Packet{Src: p.Dst, Dst: p.Src, SrcPort: p.DstPort, DstPort: p.SrcPort, Proto: p.Proto})
	note(packet.Packet{Src: p.Src, Dst: p.Dst, SrcPort: p.SrcPort, DstPort: p.DstPort, Proto: packet.ProtoUDP})
	for i := range packet.Addr(40) {
		for j := range packet.Addr(40) {
			for k := range uint16(40) {
				q := p
				q.Src, q.Dst, q.SrcPort = i, j, 1000+k
				note(q)
			}
		}
	}
	p.Seq, p.Size, p.TOS, p.Flow, p.Hash = 5, 6, 7, 8, 9
	if a.Key(&p) != same.Key(&packet.Packet{Src: 3, Dst: 9, SrcPort: 1024, DstPort: 80, Proto: packet.ProtoTCP}) {
		t.Error("the key is not of the 5-tuple alone")
	}
}

// TestSketch_UsesFixedMemory checks BS'19 §4.1: a small and fixed memory budget, regardless of the number of flows.
func TestSketch_UsesFixedMemory(t *testing.T) {
	width, depth := Dimensions(0.001, 0.01)
	s := NewSketch(SketchConfig{Windows: 4, Duration: 100 * milli, Width: width, Depth: depth, Bits: 32, Seed: 1})
	before := s.Bytes()
	// A cell is four counts and the stamp, up to the next power of two; all is there for arrived and for lost packets.
	if want := 2 * (2719*5*8*4 + 4*8); before != want {
		t.Errorf("%d bytes, want %d", before, want)
	}
	top := NewTop(20, 4)
	const flows = 1_000_000
	now := unit.Time(0)
	if n := testing.AllocsPerRun(1, func() {
		for key := range uint64(flows) { // all within one window
			now += 40 * unit.Nanosecond
			c := s.Count(now, key*0x9e3779b97f4a7c15, 1500)
			top.OfferCounts(s.Window(), key, c)
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d flows", n, flows)
	}
	if s.Bytes() != before {
		t.Errorf("%d bytes with a million flows, %d without", s.Bytes(), before)
	}
	c := s.Estimate(now, 1*0x9e3779b97f4a7c15)
	if _, total := c.Sum(); total != 2*flows*1500 { // AllocsPerRun runs it twice
		t.Errorf("total %d", total)
	}
	if over := float64(c.Flow[0]-1500) / float64(c.Total[0]); over > 0.001 {
		t.Errorf("one of a million flows is %.5f of the total too large", over)
	}
}

func TestCountNoAllocation(t *testing.T) {
	s := NewSketch(SketchConfig{Windows: 15, Duration: unit.Microsecond, Width: 100, Depth: 16, Bits: 32})
	d, p := Detector{Form: MeanOfShares, Threshold: 0.05}, packet.Packet{Src: 1, Dst: 2, Size: 1500}
	top := NewTop(20, 15)
	now, key := unit.Time(0), uint64(0)
	if n := testing.AllocsPerRun(10000, func() {
		now += 300 * unit.Nanosecond
		key = key*6364136223846793005 + 1442695040888963407
		c := s.Count(now, s.Key(&p)+key>>59, 1500)
		d.IsElephant(c)
		if o := top.OfferCounts(s.Window(), key>>59, c); o != nil {
			o.StoreHeaders(&p, 1)
		}
		s.Estimate(now, key)
	}); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}

// TestSketch_EstimateFlowsWithinTolerance checks linear counting (Whang, Vander-Zanden, Taylor 1990): with w counters
// the estimate of m flows has a standard error of √(w(e^t − t − 1))/m for t = m/w; four of them are allowed. Each
// window counts separately, and the busiest of the last n is returned.
func TestSketch_EstimateFlowsWithinTolerance(t *testing.T) {
	const w = 272
	for _, m := range []int{1, 8, 64, 256, 600} {
		s := NewSketch(SketchConfig{Windows: 4, Duration: unit.Millisecond, Width: w, Depth: 5, Bits: 32, Seed: 11})
		for round := range 3 {
			for i := range m {
				s.Count(unit.Time(round)*100*unit.Microsecond, uint64(i)*0x9e3779b97f4a7c15, 1500)
				s.Estimate(0, uint64(i)*0x9e3779b97f4a7c15)
			}
		}
		load := float64(m) / w
		tolerance := 4*math.Sqrt(w*(math.Exp(load)-load-1)) + 1
		if got := s.EstimateFlows(); math.Abs(got-float64(m)) > tolerance {
			t.Errorf("%d flows: the estimate is %.1f, tolerance %.1f", m, got, tolerance)
		}
		for j := 1; j <= 4; j++ { // silence: they are told as long as their window counts
			s.Count(unit.Time(j)*unit.Millisecond, 1, 1500)
			got := s.EstimateFlows()
			if kept := math.Abs(got-float64(m)) <= tolerance; j < 4 && !kept || j == 4 && m > 8 && kept {
				t.Errorf("%d flows, %d windows later: the estimate is %.1f", m, j, got)
			}
		}
	}
}
