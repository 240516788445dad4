package bench_test

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cubic"
	"weir/core/cc/dctcp"
	"weir/core/dataplane"
	"weir/core/dataplane/ecmp"
	"weir/core/dataplane/ecn"
	"weir/core/dataplane/inband"
	"weir/core/dataplane/pfc"
	"weir/core/dataplane/sharedbuffer"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/rdma"
	"weir/core/transport/tcp"
	"weir/core/transport/window"
	"weir/core/unit"
	"weir/core/workload"
	"weir/papers/hpcc"
	"weir/study/bench"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/spec"
	"weir/worlds/sim"
)

func registry() *spec.Registry {
	return &spec.Registry{
		Measures:    measure.Kinds(),
		Programs:    []dataplane.Scheme{ecmp.Scheme(), ecn.Scheme(), inband.Scheme(), pfc.Scheme(), sharedbuffer.Scheme()},
		Transports:  []transport.Scheme{window.Scheme(), tcp.Scheme(), rdma.Scheme()},
		Controllers: []cc.Scheme{cubic.Scheme(), dctcp.Scheme(), hpcc.Scheme()},
		Topologies:  topology.Schemes(),
		Networks:    topology.Formats(), Flows: workload.Formats(),
		Library: []spec.Library{{Name: "bench", Files: bench.Experiments}},
	}
}

func permutation(t testing.TB, name string) *sim.Config { return seeded(t, name, 1) }

// seeded is the same with another seed.
func seeded(t testing.TB, name string, seed uint64) *sim.Config {
	t.Helper()
	src, err := registry().Open("bench/" + name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := plan.Load(registry(), src, spec.Options{Seed: &seed})
	if err != nil {
		t.Fatal(err)
	}
	c, err := plan.Runs(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The benchmark's work is what it says: 2,904,000 packet-hops, every flow complete,
// no drop; and its outcome does not depend on the execution windows. The hash
// changes only when the model does.
func TestPermutation(t *testing.T) {
	const hash = "564d411543656061"
	for _, w := range []unit.Time{0, 10 * unit.Microsecond} {
		t.Run(fmt.Sprint("window ", w), func(t *testing.T) {
			c := permutation(t, "engine")
			c.Window = w
			r, err := sim.Run(c)
			if err != nil {
				t.Fatal(err)
			}
			if r.PacketHops != 2_904_000 || r.End != sim.AllDone || r.Drops != [dataplane.Reasons]uint64{} {
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

// The permutation with TCP: every flow complete, nothing lost, the same in wire form.
func TestPermutationTCP(t *testing.T) {
	var hash string
	for _, wire := range []bool{false, true} {
		c := permutation(t, "tcp")
		if c.Wire = wire; wire && testing.Short() {
			return
		}
		r, err := sim.Run(c)
		if err != nil {
			t.Fatal(err)
		}
		h := bench.FCTHash(r)
		if hash == "" {
			hash = h
		}
		if r.End != sim.AllDone || r.Drops != [dataplane.Reasons]uint64{} || h != hash {
			t.Errorf("wire mode %v: %s, drops %v, FCTs %s, want %s", wire, r.End, r.Drops, h[:16], hash[:16])
		}
	}
}

// The permutation with HPCC++: nothing is lost, each packet crosses each link once, the
// last flow ends within 5 % of the 827 µs of the HPCC simulator, nothing is allocated per
// packet, and wire form is no matter.
func TestPermutationHPCC(t *testing.T) {
	var hash string
	for _, wire := range []bool{false, true} {
		c := permutation(t, "sim")
		if c.Wire = wire; wire && testing.Short() {
			return
		}
		r, err := sim.Run(c)
		if err != nil {
			t.Fatal(err)
		}
		h := bench.FCTHash(r)
		if hash == "" {
			hash = h
		}
		if r.PacketHops != 2_904_000 || r.End != sim.AllDone || r.Drops != [dataplane.Reasons]uint64{} || h != hash {
			t.Errorf("wire mode %v: %d packet-hops, %s, drops %v, FCTs %s, want %s", wire, r.PacketHops, r.End, r.Drops,
				h[:16], hash[:16])
		}
	}
}

// The last flow is done after 827 µs within 5 % (notes of the HPCC simulator and our
// prototype), which hangs on how many flows ECMP puts on the fullest link: it is the
// median over seeds that must be there.
func TestPermutationHPCCLast(t *testing.T) {
	var lasts []unit.Time
	for seed := range uint64(5) {
		r, err := sim.Run(seeded(t, "sim", seed+1))
		if err != nil {
			t.Fatal(err)
		}
		last := unit.Time(0)
		for _, f := range r.Flows {
			last = max(last, f.FCT)
		}
		lasts = append(lasts, last)
	}
	slices.Sort(lasts)
	if m := lasts[len(lasts)/2]; m < 827*unit.Microsecond*95/100 || m > 827*unit.Microsecond*105/100 {
		t.Errorf("the last flow takes %v", lasts)
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
