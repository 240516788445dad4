package p4abc

import (
	"math"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// hashes returns the hashes of n flows that are in different places.
func hashes(n, places int) (all []uint32) {
	used := map[int]bool{}
	for h := uint32(1); len(all) < n; h += 0x9e3779b9 {
		if i := flowPlace(h, places); !used[i] {
			used[i] = true
			all = append(all, h)
		}
	}
	return all
}

// relative sends flows of these rates (packets a second) for the given time. It returns the activity of each, less the
// aggregate's, at the end.
func relative(f *flowShares, hash []uint32, rates []float64, seconds float64, memory unit.Time) []float64 {
	out := make([]float64, len(rates))
	next := make([]float64, len(rates))
	for i := range next {
		next[i] = 1 / rates[i]
	}
	for {
		first := 0
		for i := range next {
			if next[i] < next[first] {
				first = i
			}
		}
		if next[first] > seconds {
			return out
		}
		now := unit.Time(next[first] * 1e12)
		out[first] = f.countPacket(now, &packet.Packet{Hash: hash[first]}, 8000, memory)
		next[first] += 1 / rates[first]
	}
}

// TestFlowsFormula checks that A_f − A is log2(Σ_g min(R_g, R_f) / Σ_g R_g).
func TestFlowsFormula(t *testing.T) {
	for _, x := range []struct {
		name        string
		rates, want []float64
	}{
		{"a single flow", []float64{900}, []float64{0}},
		{"equal flows", []float64{300, 300, 300}, []float64{0, 0, 0}},
		{"1 to 3", []float64{100, 300}, []float64{math.Log2(2. / 4), 0}},
		{"1, 2, 5", []float64{100, 200, 500}, []float64{math.Log2(3. / 8), math.Log2(5. / 8), 0}},
		{"two beside a blast", []float64{50, 50, 4900}, []float64{math.Log2(150. / 5000), math.Log2(150. / 5000), 0}},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := newFlowShares(64)
			got := relative(f, hashes(len(x.rates), 64), x.rates, 60, 3*unit.Second)
			for i := range got {
				if !testkit.IsNear(got[i], x.want[i], testkit.Tolerance{Absolute: 0.05}) {
					t.Errorf("flow %d: %.3f, want %.3f", i, got[i], x.want[i])
				}
			}
		})
	}
}

// TestFlowsMatchMeters checks that the table's ratios equal one TDRM-UTEMA meter per flow at every packet, from the
// first one on. They do so also across the time at which its origin moves, and after a pause that clears all.
func TestFlowsMatchMeters(t *testing.T) {
	const places, memory = 16, 30 * unit.Millisecond
	random := unit.NewRandom(3, "flows")
	f := newFlowShares(places)
	meters := make([]Meter, places)
	now, moved := unit.Time(0), 0
	for range 60000 {
		gap := unit.Time(random.ExpFloat64() * 300e6)
		if random.IntN(10000) == 0 {
			gap = 2 * unit.Second
		}
		now += gap
		a, b := uint32(random.Uint64()), uint32(random.Uint64())
		p := &packet.Packet{Hash: a & b & 0xff} // some often
		bits := float64(random.IntN(12000) + 500)
		since := f.since
		got := f.countPacket(now, p, bits, memory)
		if f.since != since {
			moved++
		}
		own := flowPlace(p.Hash, places)
		meters[own].Update(now, bits, memory)
		all, capped := 0.0, 0.0
		for i := range meters {
			r := meters[i].RateAt(now, memory)
			all += r
			capped += min(r, meters[own].RateAt(now, memory))
		}
		if want := math.Log2(capped / all); !testkit.IsNear(got, want, testkit.Tolerance{Absolute: 1e-6}) || got > 0 {
			t.Fatalf("at %v: %.9f, meters say %.9f", now, got, want)
		}
	}
	if moved < 2 {
		t.Errorf("the origin moved %d times", moved)
	}
}

// TestFlows_SplittingDoesNotLowerActivity checks that no distribution over flows gives a sender an activity below its
// fair part's. The sum over the flows that lose no packet, each up to its threshold, is never above the activity's
// rate.
func TestFlows_SplittingDoesNotLowerActivity(t *testing.T) {
	const places = 64
	random := unit.NewRandom(5, "flows")
	for trial := range 40 {
		n := 1 + random.IntN(12)
		rates := make([]float64, n)
		sum := 0.0
		for i := range rates {
			rates[i] = math.Exp2(random.Float64()*7) * 4
			sum += rates[i]
		}
		f := newFlowShares(places)
		got := relative(f, hashes(n, places), rates, 60, 10*unit.Second)
		for i := range got {
			passes := 0.0 // of a dropper that lets through what has no higher activity than flow i
			for k := range got {
				if got[k] <= got[i]+1e-9 {
					passes += rates[k]
				}
			}
			if most := sum * math.Exp2(got[i]); passes > most*1.1+1 {
				t.Errorf("trial %d: %.0f of %.0f pass at an activity for %.0f", trial, passes, sum, most)
			}
		}
	}
	t.Run("new ports for each packet", func(t *testing.T) {
		f := newFlowShares(places)
		sum, n := 0.0, 0.0
		for i := range 200000 {
			d := f.countPacket(unit.Time(i)*unit.Millisecond, &packet.Packet{Hash: uint32(i) * 2654435761}, 12000, 3*unit.Second)
			if i > 20000 {
				sum, n = sum+d, n+1
			}
		}
		if sum/n < -0.15 { // 47 packets a place: some have fewer by chance
			t.Errorf("on average %.2f below the aggregate's activity", sum/n)
		}
	})
}

// TestFlowsAdopt checks that a reload continues the counts of flows, also with another memory. A table of another size
// restarts, without values for its first packets.
func TestFlowsAdopt(t *testing.T) {
	hash := hashes(2, 16)
	old := newFlowShares(16)
	relative(old, hash, []float64{100, 300}, 30, 3*unit.Second)
	now := 30*unit.Second + unit.Millisecond
	light := &packet.Packet{Hash: hash[0]}
	same, other := newFlowShares(16), newFlowShares(32)
	same.adoptFrom(now, old, 3*unit.Second)
	other.adoptFrom(now, old, 3*unit.Second)
	if d := same.countPacket(now, light, 8000, 100*unit.Millisecond); !testkit.IsNear(d, -1,
		testkit.Tolerance{Absolute: 0.1}) {
		t.Errorf("the light flow is %.2f below its aggregate, before the reload 1", -d)
	}
	if d := other.countPacket(now, light, 8000, 3*unit.Second); d != 0 {
		t.Errorf("the first packet of a new table is at %.2f", d)
	}
	if same.reset(); same.countPacket(now, light, 8000, 3*unit.Second) != 0 {
		t.Error("a table that was reset remembers")
	}
}

// TestFlowsNoAllocation checks that the option costs no memory where it is off, and no memory per packet where it is
// on.
func TestFlowsNoAllocation(t *testing.T) {
	f, p := newFlowShares(256), &packet.Packet{}
	now := unit.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		p.Hash += 77
		now += unit.Second
		f.countPacket(now, p, 8000, unit.Second)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
	if newFlowShares(0) != nil || newFlowShares(1) != nil {
		t.Error("all flows are one, and there is state")
	}
}

func BenchmarkFlows(b *testing.B) {
	for _, places := range []int{16, 64} {
		b.Run(map[int]string{16: "16", 64: "64"}[places], func(b *testing.B) {
			f, p := newFlowShares(places), &packet.Packet{}
			for i := range b.N {
				p.Hash = uint32(i) * 2654435761
				f.countPacket(unit.Time(i)*unit.Microsecond, p, 12000, 3*unit.Second)
			}
		})
	}
}
