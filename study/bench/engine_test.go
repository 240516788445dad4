package bench_test

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cubic"
	"weir/core/cc/dctcp"
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/feedback/inband"
	"weir/core/outcome"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/rdma"
	"weir/core/transport/tcp"
	"weir/core/transport/window"
	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/testkit/plantest"
	"weir/papers/hpcc"
	"weir/study/bench"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/worlds/sim"
)

func registry() *experiment.Registry {
	return &experiment.Registry{
		Measures:    measure.Definitions(),
		Programs:    []dataplane.Scheme{ecmp.Scheme(), ecn.Scheme(), inband.Scheme(), pfc.Scheme(), sharedbuffer.Scheme()},
		Transports:  []transport.Scheme{window.Scheme(), tcp.Scheme(), rdma.Scheme()},
		Controllers: []cc.Scheme{cubic.Scheme(), dctcp.Scheme(), hpcc.Scheme()},
		Topologies:  topology.Schemes(),
		Networks:    topology.Formats(), Flows: workload.Formats(),
		Library: []experiment.Library{{Name: "bench", Files: bench.Experiments}},
	}
}

func permutation(t testing.TB, name string, set ...string) *sim.Config {
	return seeded(t, name, 1, set...)
}

// seeded returns the configuration of a benchmark with the given seed.
func seeded(t testing.TB, name string, seed uint64, set ...string) *sim.Config {
	t.Helper()
	src, err := registry().OpenExperiment("bench/" + name)
	if err != nil {
		t.Fatal(err)
	}
	s := plantest.LoadSource(t, registry(), src, experiment.Options{Seed: &seed, Set: set})
	c, err := plan.ListRuns(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPermutation_MatchesRecordedHash checks the benchmark's work: 2,904,000 packet-hops, every flow complete, no drop.
// Its outcome does not depend on the execution windows. The hash changes only when the model does.
func TestPermutation_MatchesRecordedHash(t *testing.T) {
	const hash = "564d411543656061"
	for _, w := range []unit.Time{0, 10 * unit.Microsecond} {
		t.Run(fmt.Sprint("window ", w), func(t *testing.T) {
			c := permutation(t, "engine")
			c.Window = w
			r := plantest.Simulate(t, c)
			if r.PacketHops != 2_904_000 || r.End != outcome.AllDone || r.Drops != [dataplane.Reasons]uint64{} {
				t.Errorf("window %v: %d packet-hops, %s, drops %v", w, r.PacketHops, r.End, r.Drops)
			}
			if h := bench.FCTHash(r); h[:16] != hash {
				t.Errorf("window %v: FCTs hash to %s, want %s", w, h[:16], hash)
			}
			if per := float64(r.Events) / float64(r.PacketHops); per > 1.5 {
				t.Errorf("%.2f events a hop", per)
			}
		})
	}
}

// TestPermutation_IsSameInWireForm checks that the beginning of the permutation with TCP and HPCC++ loses no packet and
// is the same in wire form.
func TestPermutation_IsSameInWireForm(t *testing.T) {
	for _, name := range []string{"tcp", "sim"} {
		t.Run(name, func(t *testing.T) {
			var hops, events [2]uint64
			for i, wire := range []bool{false, true} {
				c := permutation(t, name, "duration=100us")
				c.Wire = wire
				r := plantest.Simulate(t, c)
				if hops[i], events[i] = r.PacketHops, r.Events; r.End != outcome.TimeUp ||
					r.Drops != [dataplane.Reasons]uint64{} {
					t.Errorf("wire form %v: %s, drops %v", wire, r.End, r.Drops)
				}
			}
			if hops[0] != hops[1] || events[0] != events[1] || hops[0] == 0 {
				t.Errorf("%d packet-hops in %d events, in wire form %d in %d", hops[0], events[0], hops[1], events[1])
			}
		})
	}
}

func BenchmarkSim(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s, err := sim.New(permutation(b, "sim"))
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		s.Run()
	}
	b.ReportMetric(2.904*float64(b.N)/b.Elapsed().Seconds(), "Mhops/s")
}

func BenchmarkTCP(b *testing.B) {
	hops := 0.0
	for b.Loop() {
		b.StopTimer()
		s, err := sim.New(permutation(b, "tcp"))
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		hops += float64(s.Run().PacketHops)
	}
	b.ReportMetric(hops/1e6/b.Elapsed().Seconds(), "Mhops/s")
}

func BenchmarkEngine(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s, err := sim.New(permutation(b, "engine"))
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		s.Run()
	}
	b.ReportMetric(2.904*float64(b.N)/b.Elapsed().Seconds(), "Mhops/s")
}
