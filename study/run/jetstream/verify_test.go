package jetstream

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/results"
)

// points returns an experiment of many points with one run each.
func points(t *testing.T) *experiment.Spec {
	t.Helper()
	return plantest.Load(t, registry(), "title: points\nduration: 20ms\ntopology: {hosts: [a, b], switches: [s], links: "+
		"[{ends: [a, s], rate: 10Mbps, delay: 1ms}, {ends: [s, b], rate: 10Mbps, delay: 1ms}]}\nswitch: [forward]\n"+
		"traffic: [{name: x, from: a, to: b, transport: udp, rate: $r}]\nmeasure: [goodput]\nrepeat: 2\nsweep: {r: [1Mbps, "+
		"2Mbps, 3Mbps, 4Mbps, 5Mbps, 6Mbps, 7Mbps, 8Mbps]}\n", experiment.Options{})
}

// TestVerifyAll checks that a lie in a worker's first result of a point is found, whenever the worker begins to lie,
// also where another one agrees with it, and although no other result is drawn.
func TestVerifyAll(t *testing.T) {
	s := points(t)
	want := here(t, s)
	for _, x := range []struct {
		from    int // results that are right
		two     bool
		isFound bool
	}{{from: 1, isFound: true}, {from: 2, isFound: true}, {from: 6, isFound: true}, {from: 2, two: true, isFound: true},
		{from: 1000}} {
		runBubble(t, fmt.Sprintf("from %d, two names %v", x.from, x.two), func(t *testing.T) {
			p := newParty(t)
			p.config.VerifyMode, p.config.draw = VerifyAll, func() bool { return false }
			liar := func() func([]byte) []byte {
				made, change := 0, altered(t)
				return func(data []byte) []byte {
					if made++; made <= x.from {
						return data
					}
					return change(data)
				}
			}
			p.guests(func(j *Join) {
				p.worker(Worker{Name: "one", change: liar()}, j)
				if x.two {
					p.worker(Worker{Name: "two", change: liar()}, j)
				}
				if x.isFound {
					until(t, "it is found", func() bool { return p.notices.has("one is excluded") })
				}
				p.worker(Worker{Name: "honest"}, j)
			})
			o, c, err := p.execute(t.Context(), s)
			if err != nil || o.Missing+len(o.Failed) > 0 {
				t.Fatalf("%v, %+v", err, o)
			}
			p.same(want)
			if status := c.Status(); (status.Quarantined > 0) != x.isFound || status.Checked == 0 {
				t.Errorf("%+v, %q", status, p.notices.texts())
			}
		})
	}
}

// TestVerifyAllOnePoint checks that a worker that lies about one point only is found, although no other result is
// drawn. The point is the first, the second or the last one that it makes runs of.
func TestVerifyAllOnePoint(t *testing.T) {
	s := points(t)
	want := here(t, s)
	for _, point := range []int{1, 2, 8} {
		runBubble(t, fmt.Sprint(point), func(t *testing.T) {
			p := newParty(t)
			p.config.VerifyMode, p.config.draw = VerifyAll, func() bool { return false }
			change := altered(t)
			var made []string // points
			liar := func(data []byte) []byte {
				r, err := results.ReadRun(data)
				if err != nil {
					t.Error(err)
					return data
				}
				name := measure.PointName(r.Point)
				if !slices.Contains(made, name) {
					made = append(made, name)
				}
				if slices.Index(made, name)+1 == point {
					return change(data)
				}
				return data
			}
			p.guests(func(j *Join) {
				p.worker(Worker{Name: "one", change: liar}, j)
				until(t, "it is found", func() bool { return p.notices.has("one is excluded") })
				p.worker(Worker{Name: "honest"}, j)
			})
			o, _, err := p.execute(t.Context(), s)
			if err != nil || o.Missing+len(o.Failed) > 0 {
				t.Fatalf("%v, %+v", err, o)
			}
			p.same(want)
		})
	}
}

// TestFoundWithProbability checks the probabilities of docs/sweeps.md: one in fifty results is compared.
func TestFoundWithProbability(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const trials = 10_000
	for lies, want := range map[int]float64{1: 0.02, 10: 0.18, 35: 0.51, 100: 0.87, 150: 0.95, 228: 0.99} {
		found := 0
		for range trials {
			for range lies {
				if drawCheck(random.IntN) {
					found++
					break
				}
			}
		}
		p := 1 - math.Pow(0.98, float64(lies))
		if got := float64(found) / trials; math.Abs(got-p) > 3*math.Sqrt(p*(1-p)/trials) || math.Abs(p-want) > 0.005 {
			t.Errorf("%d lies are found with %.3f, want %.3f, in docs/sweeps.md %.2f", lies, got, p, want)
		}
	}
}
