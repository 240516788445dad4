package plan_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// TestEstimateHops_IsWithinFactorOfTwo checks that weir check's estimate of packet-hops is within a factor of two of a
// run's, also for many small flows and for an incast with one destination.
func TestEstimateHops_IsWithinFactorOfTwo(t *testing.T) {
	star := "duration: 1s\nswitch: [forward]\ntopology: {star: {hosts: 8, rate: 10Gbps, delay: 1us, buffer: " +
		"100 packets}}\n"
	for name, traffic := range map[string]string{
		"small flows":     `{name: x, from: "*", to: random, TCP, size: 1kB, flows: 200, start: 0s..0.9s}`,
		"larger flows":    `{name: x, from: "*", to: random, TCP, size: 1MB, flows: 4, start: 0s..0.5s}`,
		"incast":          `{name: x, from: {random: 4}, to: h0, TCP, size: 100kB, start: 0s}`,
		"datagrams":       `{name: x, from: h0, to: h1, transport: udp, rate: 100Mbps, start: 0s}`,
		"a shared link":   `{name: x, from: "*", to: h0, TCP, start: 0s}`,
		"listed, small":   `{name: x, from: h0, to: [h1, h2], TCP, size: 1kB, flows: 500, start: 0s..0.9s}`,
		"one fast sender": `{name: x, from: h0, to: h1, TCP, start: 0s}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.Load(t, plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc"), star+"traffic: ["+
				strings.Replace(traffic, "TCP", "transport: tcp, cc: cubic", 1)+"]\n",
				experiment.Options{})
			r := plan.ListRuns(s)[0]
			c, err := r.Config()
			if err != nil {
				t.Fatal(err)
			}
			res, err := sim.Run(c)
			if err != nil {
				t.Fatal(err)
			}
			if real, said := float64(res.PacketHops), plan.EstimateHops(r); said < real/2 || said > 2*real {
				t.Errorf("%.0f packet-hops, estimated %.0f", real, said)
			}
		})
	}
}

// TestEstimateOfLists checks that the packets of all flows count in a list of more flows than the estimate reads. One
// in ten here has nearly all bytes, which a sample of every second one would miss, or take twice.
func TestEstimateOfLists(t *testing.T) {
	for _, at := range []int{0, 1} { // of each ten
		t.Run(fmt.Sprint("large flows at ", at), func(t *testing.T) {
			var list strings.Builder
			fmt.Fprintln(&list, 2048)
			packets := 0
			for i := range 2048 {
				size := 1
				if i%10 == at {
					size = 20
				}
				packets += size
				fmt.Fprintf(&list, "%d %d 3 100 %d %.6f\n", i%8, (i+1)%8, size*1000, float64(i)*1e-4)
			}
			r := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
			src := &experiment.Source{Name: "lists", File: "lists.yaml", Data: []byte("duration: 1s\nmtu: 1000 B payload\n" +
				"switch: [forward]\ntopology: {star: {hosts: 8, rate: 10Gbps, delay: 1us}}\ntraffic: [{name: x, file: f.txt, " +
				"format: hpcc, transport: rdma, cc: none}]\n"),
				Open: func(string) ([]byte, error) { return []byte(list.String()), nil }}
			s, err := plan.Load(r, src, experiment.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if said, want := plan.EstimateHops(plan.ListRuns(s)[0]), float64(packets*2*2); math.Abs(said/want-1) > 0.001 {
				t.Errorf("%.0f packet-hops, want %.0f", said, want)
			}
		})
	}
}

// TestMemoryOfFlowsAtOnce checks that a run's memory follows from the flows that exist at the same time. They are a few
// of a collective operation, the arrivals during other flows of a load, and all flows that begin together.
func TestMemoryOfFlowsAtOnce(t *testing.T) {
	memory := func(traffic string) float64 {
		s := plantest.Load(t, plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc"), "duration: 1s\nswitch: [forward]\n"+
			"topology: {star: {hosts: 64, rate: 10Gbps, delay: 1us}}\ntraffic: [{name: x, transport: rdma, cc: none, "+
			traffic+"}]\n", experiment.Options{})
		return plan.EstimateMemory(plan.ListRuns(s)[0]) - plan.SharedMemory(s)
	}
	const flows = 2 * 64 * 63
	together := memory(`from: "h*", to: random, size: 1kB, flows: 126, start: 0s`)
	for _, x := range []struct{ name, traffic string }{
		{"a collective", `job: {all_reduce_flows: {algorithm: ring, size: 64kB}}, hosts: "h*", start: 0s`},
		{"spread over the run", `from: "h*", to: random, size: 1kB, flows: 126, start: 0s..0.9s`},
		{"listed, in sets", `from: h0, to: h1, size: 1kB, flows: 8, sets: {count: 1008, interval: 900us}, start: 0s`},
	} {
		t.Run(x.name, func(t *testing.T) {
			if m := memory(x.traffic); m > together/4 || m < 500*flows {
				t.Errorf("%.3g bytes for %d flows, of which few are there at once; %.3g if all are", m, flows, together)
			}
		})
	}
	if together < 5000*flows {
		t.Errorf("%.3g bytes for %d flows that begin together", together, flows)
	}
}

// TestMemoryInFlight checks that any number of TCP flows that share a bottleneck have no more in flight than its rate
// times the delay of their path. Flows of RDMA, which begin at the rate of their host, have that much each.
func TestMemoryInFlight(t *testing.T) {
	inFlight := func(transport string, hosts int) float64 {
		memory := func(delay string) float64 {
			s := plantest.Load(t, plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc"), fmt.Sprintf("duration: 1s\n"+
				"switch: [forward]\ntopology: {dumbbell: {hosts: %d, rate: 100Gbps, delay: %s, bottleneck: 400Mbps, buffer: "+
				"420KB}}\ntraffic: [{name: x, from: \"left*\", to: right0, transport: %s, cc: none}]\n", hosts, delay, transport),
				experiment.Options{})
			return plan.EstimateMemory(plan.ListRuns(s)[0])
		}
		return memory("10ms") - memory("1ns")
	}
	one := inFlight("tcp", 1)
	if one < 256*400e6*10e-3/8/1500 {
		t.Errorf("%.3g bytes in flight for one flow", one)
	}
	for _, hosts := range []int{10, 100, 1000} {
		if n := inFlight("tcp", hosts); math.Abs(n-one) > 0.01*one {
			t.Errorf("%.4g bytes in flight for %d flows of TCP, and %.4g for one", n, hosts, one)
		}
	}
	if n := inFlight("rdma", 100); n < 50*one {
		t.Errorf("%.4g bytes in flight for 100 flows of RDMA, and %.4g for one of TCP", n, one)
	}
}
