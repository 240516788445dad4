package plan_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// drawnFlows are traffics with drawn flows, whose number depends on RATE.
var drawnFlows = []string{
	`{name: x, from: "*", to: random, transport: tcp, size: 1500 B, load: 0.1%}`,
	`{name: x, from: "*", to: permutation, transport: tcp, size: 1500 B, load: 0.1%}`,
	`{name: x, from: "*", to: {stride: 1}, transport: tcp, size: 1500 B, load: 0.1%}`,
	`{name: x, from: "*", to: {random: 1}, transport: tcp, size: 1500 B, load: 0.1%}`,
	`{name: x, from: {random: 2}, to: {random: 1}, transport: tcp, size: 1500 B, load: 0.1%}`,
	`{name: x, from: "*", to: random, transport: tcp, size: 1500 B, load: 0.1%, arrivals: periodic}`,
	`{name: x, from: "*", to: random, transport: tcp, sizes: hadoop, load: 10%}`,
	`{name: x, from: h0, to: h1, transport: tcp, size: 1500 B, load: 0.1%}`,
}

// drawnSpec is an experiment with drawn flows between hosts with links of a rate.
func drawnSpec(traffic, rate, measure string, hosts int) string {
	return fmt.Sprintf("duration: 3ms\ntopology: {star: {hosts: %d, rate: %s, delay: 1us}}\nswitch: [forward]\n"+
		"traffic:\n  "+
		"- %s\nmeasure: [%s]\n", hosts, rate, traffic, measure)
}

// TestReadingIsBounded checks that reading an experiment takes no more memory where its runs have millions of flows.
func TestReadingIsBounded(t *testing.T) {
	registry := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
	allocated := func(text string) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		plantest.Load(t, registry, text, experiment.Options{})
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	const few = "1000Gbps"                                                          // 250 flows a host
	for hosts, many := range map[int]string{3: "10000000Gbps", 200: "100000Gbps"} { // 7.5 and 5 million flows
		for _, traffic := range drawnFlows {
			t.Run(fmt.Sprintf("%d hosts, %s", hosts, traffic), func(t *testing.T) {
				a, b := allocated(drawnSpec(traffic, few, "goodput", hosts)), allocated(drawnSpec(traffic, many, "goodput", hosts))
				if b > 1.5*a+16e6 {
					t.Errorf("%.0f MB with few flows, %.0f MB with many", a/1e6, b/1e6)
				}
			})
		}
	}
}

// TestTrialDrawsABeginning checks that a trial has the first flows of a run, and some of each source.
func TestTrialDrawsABeginning(t *testing.T) {
	const hosts, limit = 20, 100
	registry := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
	list := append([]string{`{name: x, from: "*", to: random, transport: tcp, size: 1500 B, start: 0s, flows: 50, ` +
		`sets: {count: 3, interval: 1us}}`}, drawnFlows...)
	for _, traffic := range list {
		t.Run(traffic, func(t *testing.T) {
			s := plantest.Load(t, registry, drawnSpec(traffic, "10000Gbps", "goodput", hosts), experiment.Options{})
			r := plan.ListRuns(s)[0]
			whole, err := r.Config()
			if err != nil {
				t.Fatal(err)
			}
			part, err := plan.Trial(r.SpecPoint, r.Seed, limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(whole.Flows) < 10*limit || len(part.Flows) < limit || len(part.Flows) > 2*limit+hosts {
				t.Fatalf("a run has %d flows and a trial %d", len(whole.Flows), len(part.Flows))
			}
			for i := range limit {
				if a, b := fmt.Sprint(whole.Flows[i]), fmt.Sprint(part.Flows[i]); a != b {
					t.Errorf("flow %d of a run is %s, of a trial %s", i, a, b)
				}
			}
			if a, b := sources(whole), sources(part); a != b && !strings.Contains(traffic, "from: {random") {
				t.Errorf("the sources of a run are %s, of a trial %s", a, b)
			}
		})
	}
}

// sources are the NICs that send.
func sources(c *sim.Config) string {
	all := map[int]bool{}
	for i := range c.Flows {
		all[c.Flows[i].Src] = true
	}
	return fmt.Sprint(all)
}

// TestFlowsAreCounted checks that the number of watched values counts all flows of a run, also flows that a trial does
// not draw, and that too many are refused.
func TestFlowsAreCounted(t *testing.T) {
	registry := plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc")
	text := drawnSpec(drawnFlows[0], "100000Gbps", "{goodput: {every: 1ms}}", 3)
	s := plantest.Load(t, registry, text, experiment.Options{})
	r := plan.ListRuns(s)[0]
	c, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i := range c.Watches {
		want += float64(c.Watches[i].Samples(0, c.Duration))
	}
	if got := r.SpecPoint.Samples(); len(c.Flows) < 50_000 || got < 0.98*want || got > 1.02*want {
		t.Errorf("%g values of %d flows, want about %g", got, len(c.Flows), want)
	}
	e := plantest.LoadInvalid(t, registry, strings.Replace(text, "every: 1ms", "every: 1us", 1), experiment.Options{})
	if !strings.Contains(e.Error(), "samples in a run; at most") {
		t.Error(e)
	}
}

// TestDraw_KeepsLoadForSeveralReceivers checks that a sender's load is its share of the link whatever the number of
// receivers of an arrival: mean size × arrivals is the load (docs/spec.md, random traffic). The sum of 1,500 sizes is
// within 10 % of its mean, which is four standard deviations of a Poisson process. The seed is fixed.
func TestDraw_KeepsLoadForSeveralReceivers(t *testing.T) {
	for _, to := range []string{"random", "{random: 1}", "{random: 3}"} {
		s := plantest.Load(t, plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc"), fmt.Sprintf(`duration: 150ms
topology: {star: {hosts: 8, rate: 10Gbps, delay: 1us}}
switch: [forward]
traffic:
  - {name: x, from: "h[0-3]", to: %s, transport: udp, rate: 1Gbps, size: 100kB, load: 20%%}
`, to), experiment.Options{})
		c, err := plan.ListRuns(s)[0].Config()
		if err != nil {
			t.Fatal(err)
		}
		bytes := 0.0
		for i := range c.Flows {
			bytes += float64(c.Flows[i].Size)
		}
		if load := bytes * 8 / (4 * 10e9 * 0.150); load < 0.18 || load > 0.22 {
			t.Errorf("to: %s has a load of %.3f, want 0.2", to, load)
		}
	}
}
