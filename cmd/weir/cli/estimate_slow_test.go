//go:build slow

package cli

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"weir/study/plan"
	"weir/study/spec"
	"weir/worlds/sim"
)

// Estimates of the catalogue, and of many small flows, are within a factor of two in packet-hops, and of four in
// memory and time, which depend on the machine.
func TestEstimates(t *testing.T) {
	many := `duration: 2s
topology: {leaf_spine: {leaves: 4, spines: 4, hosts: 16, rate: 100Gbps, delay: 1us}}
switch: [ecmp]
traffic: [{name: x, from: "*", to: random, transport: tcp, size: 1kB, flows: 3000, start: 0s..1.9s}]
measure: [goodput, fct]
`
	r := Registry()
	for _, name := range []string{"bench/tcp", "hpcc/joins", "hpcc/incast16", "p4abc/fig5", "ncf/reaction",
		"ncf/incast-fabric",
		"p4te/table1", "many small flows"} {
		t.Run(name, func(t *testing.T) {
			src := &spec.Source{Name: name, File: name, Data: []byte(many)}
			if strings.Contains(name, "/") {
				var err error
				if src, err = r.Open(name); err != nil {
					t.Fatal(err)
				}
			}
			s, err := plan.Load(r, src, spec.Options{Quick: true})
			if err != nil {
				t.Fatal(err)
			}
			x := plan.Runs(s)[0]
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			began := time.Now()
			c, err := x.Config()
			if err != nil {
				t.Fatal(err)
			}
			res, err := sim.Run(c)
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(began).Seconds()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(c)
			within := func(what string, real, said, factor float64) {
				if said < real/factor || said > real*factor {
					t.Errorf("%s: %.3g, estimated %.3g", what, real, said)
				}
			}
			within("packet-hops", float64(res.PacketHops), plan.Estimate(x), 2)
			within("memory", 35e6+float64(after.HeapAlloc-before.HeapAlloc), plan.EstimateMemory(x), 4)
			if took > 1 { // below, what is around a run counts more
				within("seconds", took, plan.EstimateTime(x), 4)
			}
		})
	}
}
