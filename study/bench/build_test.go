package bench_test

import (
	"fmt"
	"runtime"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/forward"
	"weir/core/topology"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// tree is an experiment in a fat tree with one flow across it.
func tree(k int, program string) *experiment.Source {
	return &experiment.Source{Name: "tree", File: "tree.yaml", Data: fmt.Appendf(nil, `title: one flow in a fat tree
duration: 1ms
topology: {fat_tree: {k: %d, rate: 100Gbps, delay: 1us}}
switch: [%s]
traffic: [{name: one, from: h0, to: h%d, transport: tcp, size: 10kB, start: 0s}]
`, k, program, k*k*k/4-1)}
}

// each runs a benchmark for fat trees of 128, 1024 and 8192 hosts, with either
// program that routes. What is in use at its end, kept alive by what it returns, is
// reported as live memory.
func each(b *testing.B, once func(b *testing.B, src *experiment.Source, r *experiment.Registry) any) {
	r := registry()
	r.Topologies = topology.Schemes()
	r.Programs = []dataplane.Scheme{ecmp.Scheme(), forward.Scheme()}
	for _, program := range []string{"ecmp", "forward"} {
		for _, k := range []int{8, 16, 32} {
			b.Run(fmt.Sprintf("%s/k=%d", program, k), func(b *testing.B) {
				b.ReportAllocs()
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				before := m.HeapAlloc
				var kept any
				for b.Loop() {
					kept = once(b, tree(k, program), r)
				}
				runtime.GC()
				runtime.ReadMemStats(&m)
				b.ReportMetric((float64(m.HeapAlloc)-float64(before))/1e6, "live-MB")
				runtime.KeepAlive(kept)
			})
		}
	}
}

// BenchmarkLoad measures the decoding and checking of an experiment, which builds its simulation once: what `weir
// check` does.
func BenchmarkLoad(b *testing.B) {
	each(b, func(b *testing.B, src *experiment.Source, r *experiment.Registry) any {
		return plantest.LoadSource(b, r, src, experiment.Options{})
	})
}

// BenchmarkBuild measures the same and the building of the simulation of its run: what `weir run` does before the run
// begins.
func BenchmarkBuild(b *testing.B) {
	each(b, func(b *testing.B, src *experiment.Source, r *experiment.Registry) any {
		exp := plantest.LoadSource(b, r, src, experiment.Options{})
		c, err := plan.ListRuns(exp)[0].Config()
		if err != nil {
			b.Fatal(err)
		}
		s, err := sim.New(c)
		if err != nil {
			b.Fatal(err)
		}
		return s
	})
}
