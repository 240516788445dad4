package e2e

import (
	"fmt"
	"runtime"
	"testing"

	"weir/app"
	"weir/core/outcome"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// large returns a run on a fat tree with complete HPCC.
func large(t testing.TB, k int, traffic string) *sim.Config {
	t.Helper()
	text := fmt.Sprintf(`duration: 1s
framing: hpcc
mtu: 1000 B payload
topology: {fat_tree: {k: %d, rate: 100Gbps, delay: 1us}}
switch: [ecmp, {shared_buffer: {size: 32MB}}, pfc, {ecn: {kmin: 400KB, kmax: 1600KB, pmax: 20%%}},
         {telemetry: {multi: 4}}]
traffic: [{name: x, %s, transport: rdma, cc: {hpcc: {t: 13us}}, start: 0s}]
measure: [fct]
`, k, traffic)
	src := plantest.NewSource("large.yaml", text)
	s := plantest.LoadSource(t, app.Registry(), src, experiment.Options{})
	c, err := plan.ListRuns(s)[0].Config()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// inUse returns the bytes of live heap objects.
func inUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// TestFlowsTakeLittle checks that a flow takes at most 450 bytes before, during and after a run: its description,
// its outcome, and its location. A ring all-reduce of 128 hosts has 32,512 flows of a kilobyte, and each host sends
// and receives a few at a time. With its endpoints a flow took 9 kB.
func TestFlowsTakeLittle(t *testing.T) {
	const flows, most = 2 * 128 * 127, 450
	before := inUse()
	little, err := sim.New(large(t, 8, `job: {all_reduce_flows: {algorithm: ring, size: 128kB}}, hosts: [h0, h1]`))
	if err != nil {
		t.Fatal(err)
	}
	little.Run()
	network := inUse() - before
	runtime.KeepAlive(little)
	before = inUse()
	c := large(t, 8, `job: {all_reduce_flows: {algorithm: ring, size: 128kB}}, hosts: "h*"`)
	s, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	peak, windows := inUse(), 0
	c.Progress = func(sim.Progress) {
		if windows++; windows%50 == 0 {
			peak = max(peak, inUse())
		}
	}
	r := s.Run()
	peak = max(peak, inUse())
	if len(r.Flows) != flows || r.End != outcome.AllDone || windows < 500 {
		t.Fatalf("%d flows, %s after %d windows", len(r.Flows), r.End, windows)
	}
	each := (peak - before - network) / flows
	t.Logf("%.0f bytes a flow at most", each)
	if each > most {
		t.Errorf("%.0f bytes a flow at most; %d are expected", each, most)
	}
	runtime.KeepAlive(c)
}
