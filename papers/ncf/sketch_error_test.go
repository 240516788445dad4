package ncf

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/testkit"
)

// traffic is a window's packets: flow and bytes.
type traffic func(r *rand.Rand, give func(key uint64, bytes int32))

// zipf returns packets with flows drawn from Zipf's law over 100 000.
func zipf(exponent float64) traffic {
	return func(r *rand.Rand, give func(uint64, int32)) {
		z := rand.NewZipf(r, exponent, 1, 99_999)
		for range 20_000 {
			give(z.Uint64(), 1500)
		}
	}
}

// websearch returns flows with sizes of the web search workload (HPCC's CDF). 15 send at a time with the same rate, and
// a new one replaces each that ends.
func websearch() traffic {
	type flow struct{ key, left uint64 }
	var active []flow
	var next uint64
	all := workload.Distributions()
	sizes := &all[slices.IndexFunc(all, func(c workload.CDF) bool { return c.Name == "websearch" })]
	return func(r *rand.Rand, give func(uint64, int32)) {
		for range 20_000 {
			if len(active) < 15 {
				next++
				active = append(active, flow{next, uint64(sizes.SizeAt(r.Float64()))})
			}
			f := &active[r.IntN(len(active))]
			n := min(f.left, 1460)
			give(f.key, int32(n)+54)
			if f.left -= n; f.left == 0 {
				*f = active[len(active)-1]
				active = active[:len(active)-1]
			}
		}
	}
}

// TestErrorBound checks Cormode, Muthukrishnan 2005, theorem 1: an answer is never too small, and too large by more
// than ε·T with probability at most δ. F with more than θ + ε of the total is then never missed and with less than θ −
// ε rarely a false alarm. The table has the frequencies over newly drawn hashes, n = 4, θ = 5 %, average; false alarms
// are of flows that sent in the last window. TestErrorBoundSeeds has more seeds.
func TestErrorBound(t *testing.T) { testkit.Golden(t, "sketch_errors.txt", errorBound(t, 3)) }

// errorBound checks the answers of the given number of seeds and returns the table.
func errorBound(t *testing.T, seeds int) string {
	t.Helper()
	const windows, threshold = 4, 0.05
	var table strings.Builder
	fmt.Fprintf(&table, "%-10s %6s %6s %6s %5s %9s | %9s %9s %9s | %9s %9s %6s %6s\n", "traffic", "eps", "delta", "width",
		"depth", "bytes", "over eps", "mean/T", "most/T", "flows", "elephants", "false", "missed")
	for _, load := range []struct {
		name string
		make func() traffic
	}{{"zipf 1.1", func() traffic { return zipf(1.1) }}, {"zipf 1.5", func() traffic { return zipf(1.5) }},
		{"websearch", websearch}} {
		for _, c := range []struct{ epsilon, delta float64 }{{0.1, 0.1}, {0.05, 0.1}, {0.05, 0.01}, {0.01, 0.1},
			{0.01, 0.01},
			{0.001, 0.01}} {
			width, depth := Dimensions(c.epsilon, c.delta)
			d := Detector{Form: Average, Threshold: threshold}
			var answers, over, flows, elephants, alarms, missed, memory int
			var mean, most float64
			for seed := range uint64(seeds) {
				s := NewSketch(SketchConfig{Windows: windows, Duration: 10 * milli, Width: width, Depth: depth, Bits: 32,
					Seed: seed})
				memory = s.Bytes()
				r, give := rand.New(rand.NewPCG(seed, 1)), load.make()
				var counts [windows]map[uint64]uint64
				var totals [windows]uint64
				for w := range windows { // the last is window 0
					counts[windows-1-w] = map[uint64]uint64{}
					give(r, func(key uint64, bytes int32) {
						counts[windows-1-w][key] += uint64(bytes)
						totals[windows-1-w] += uint64(bytes)
						s.Count(unit.Time(w)*10*milli, key, bytes)
					})
				}
				now, sum := windows*10*milli-1, totals[0]+totals[1]+totals[2]+totals[3]
				for key := range counts[0] {
					got := s.Estimate(now, key)
					flow := uint64(0)
					for j := range windows {
						excess := int64(got.Flow[j]) - int64(counts[j][key])
						if excess < 0 || got.Total[j] != totals[j] {
							t.Fatalf("%s: flow %d has %d of %d in window %d, exact %d of %d", load.name, key, got.Flow[j], got.Total[j], j,
								counts[j][key], totals[j])
						}
						share := float64(excess) / float64(totals[j])
						if answers++; share > c.epsilon {
							over++
						}
						mean += share
						most = max(most, share)
						flow += counts[j][key]
					}
					is, judged := float64(flow) > threshold*float64(sum), d.IsElephant(got)
					switch flows++; {
					case is && !judged:
						missed++
					case !is && judged:
						alarms++
					}
					if is {
						elephants++
					}
				}
			}
			if share := float64(over) / float64(answers); share > c.delta {
				t.Errorf("%s: %.4f of the answers are more than %g too large; %g may be", load.name, share, c.epsilon, c.delta)
			}
			if missed > 0 {
				t.Errorf("%s: %d elephants missed", load.name, missed)
			}
			fmt.Fprintf(&table, "%-10s %5.1f%% %5.0f%% %6d %5d %9d | %8.3f%% %8.4f%% %8.3f%% | %9d %9d %6d %6d\n", load.name,
				100*c.epsilon, 100*c.delta, width, depth, memory,
				100*float64(over)/float64(answers), 100*mean/float64(answers), 100*most, flows, elephants, alarms, missed)
		}
	}
	return table.String()
}

// TestSketch_SecretSeedDefeatsAdversary checks that an attacker with the hashes makes a mouse an elephant with flows
// that are mice themselves: for each row two keys that collide with the victim's, with 4 % of the traffic each. With a
// secret seed they are ordinary keys, and the bound holds.
func TestSketch_SecretSeedDefeatsAdversary(t *testing.T) {
	const windows, victim, known, seeds = 4, uint64(0xfeed), uint64(0), 2000
	width, depth := Dimensions(0.01, 0.01)
	config := SketchConfig{Windows: windows, Duration: 10 * milli, Width: width, Depth: depth, Bits: 32, Seed: known}
	open := NewSketch(config)
	var attackers []uint64
	tries, next := 0, uint64(1)
	for r := range open.rows {
		h := &open.rows[r]
		at := func(key uint64) int { return h.column(key&(1<<32-1), key>>32, uint64(width)) }
		for found := 0; found < 2; next++ {
			if tries++; at(next) == at(victim) {
				attackers = append(attackers, next)
				found++
			}
		}
	}
	attack := func(seed uint64, keys []uint64) (alarm bool, share float64, others int) {
		config.Seed = seed
		s := NewSketch(config)
		d := Detector{Form: Average, Threshold: 0.05}
		for w := range windows {
			now := unit.Time(w) * 10 * milli
			s.Count(now, victim, 100)
			for i := range 100 { // 1 % of the traffic a step
				key := uint64(1)<<40 + uint64(w*100+i) // others, each once
				if i < 4*len(keys) {
					key = keys[i%len(keys)]
				}
				s.Count(now, key, 1000)
			}
		}
		now := windows*10*milli - 1
		for _, k := range keys {
			if d.IsElephant(s.Estimate(now, k)) {
				others++
			}
		}
		c := s.Estimate(now, victim)
		flow, total := c.Sum()
		return d.IsElephant(c), float64(flow) / float64(total), others
	}
	alarm, share, _ := attack(known, attackers)
	if !alarm || share < 0.08 {
		t.Errorf("with hashes that it knows an attacker gives the victim %.3f of the traffic", share)
	}
	alarms, over, caught := 0, 0, 0
	for seed := known + 1; seed <= seeds; seed++ {
		alarm, share, n := attack(seed, attackers)
		caught += n
		if alarm {
			alarms++
		}
		if share > 0.01+0.001 {
			over++
		}
	}
	if float64(over)/seeds > 0.01 || float64(alarms)/seeds > 0.01 {
		t.Errorf("with an unknown seed %d of %d victims are elephants, %d more than epsilon above what they sent", alarms,
			seeds, over)
	}
	testkit.Golden(t, "sketch_adversary.txt",
		fmt.Sprintf("epsilon 1%%, delta 1%%, %d rows of %d; %d keys with 4%% of the traffic each, found with %d hashes\n"+
			"known seed: a victim that sends 0.1%% has %.1f%%; elephant: %v\n%d unknown seeds: %d victims elephants, %d over "+
			"epsilon, %d of the attacker's flows elephants\n",
			depth, width, len(attackers), tries, 100*share, alarm, seeds, alarms, over, caught))
}
