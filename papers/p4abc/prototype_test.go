package p4abc_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/unit"
	"weir/study/claim"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
	"weir/study/spec"
)

// goodputs are means over seeds, in Mb/s, by point (the values of the sweep, with a space between) and client.
type goodputs map[string]map[string]float64

func goodputsOf(o *results.Outcome) goodputs {
	sums, runs := goodputs{}, map[string]float64{}
	for _, r := range o.Runs {
		var at []string
		for _, c := range r.Point {
			at = append(at, c.Text)
		}
		point := strings.Join(at, " ")
		if sums[point] == nil {
			sums[point] = map[string]float64{}
		}
		runs[point]++
		for _, m := range r.Measures {
			if m.Name == "goodput" {
				for _, g := range m.Groups {
					sums[point][g.Group] += g.Value / float64(unit.Mbps)
				}
			}
		}
	}
	for point, by := range sums {
		for client := range by {
			by[client] /= runs[point]
		}
	}
	return sums
}

// prototypeRun carries a prototype experiment out with other words in place of some.
func prototypeRun(t *testing.T, name string, instead *strings.Replacer, set ...string) *results.Outcome {
	t.Helper()
	src, err := registry().Open("p4abc/prototype-" + name)
	if err != nil {
		t.Fatal(err)
	}
	src.Data = []byte(instead.Replace(string(src.Data)))
	s, err := plan.Load(registry(), src, spec.Options{Set: append(set, "duration=20s", "repeat=2")})
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.Execute(context.Background(), s, run.Options{})
	if err != nil || len(out.Failed) > 0 {
		t.Fatal(err, out.Failed)
	}
	return out
}

// A residual is how far measured is from one sentence of the paper, in units of what the claims of the experiments
// allow: at most 1 if it holds.
type residual struct {
	sentence string
	size     float64
}

// prototypeResiduals are those of the four prototype experiments.
func prototypeResiduals(t *testing.T, instead *strings.Replacer, capacity string) []residual {
	const most = 47.8 // Mb/s of payload on the link, TCP's
	rates := []float64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}
	all := []residual{{"4: without ABC, goodput is proportional to rate", 0}, {"4: with ABC the heavy one loses", 0},
		{"5: with ABC both get half", 0}, {"5: without ABC one starves", 0}, {"6: up to 32 Mb/s", 0},
		{"6: and not more at any rate", 0}, {"6: the rest is used", 0}, {"6: without ABC TCP starves", 0},
		{"one TCP flow fills the link", 0}}
	worst := func(i int, size float64) { all[i].size = max(all[i].size, size) }

	g := goodputsOf(prototypeRun(t, "fig4", instead, "pattern=cbr"))
	for _, r0 := range rates {
		p := g[fmt.Sprintf("without cbr %gMbps", r0)]
		worst(0, math.Abs(p["client0"]/p["client1"]/(r0/40)-1)/0.1)
		if p = g[fmt.Sprintf("abc cbr %gMbps", r0)]; r0 >= 50 {
			worst(1, p["client0"]/(0.5*p["client1"]))
		}
	}
	g = goodputsOf(prototypeRun(t, "fig5", instead))
	for _, n := range []int{1, 2, 4, 8, 16} {
		p := g[fmt.Sprintf("abc %d", n)]
		worst(2, max(math.Abs(p["client0"]-most/2), math.Abs(p["client1"]-most/2))/4)
	}
	worst(3, g["without 16"]["client1"]/(0.5*g["without 1"]["client1"]))
	g = goodputsOf(prototypeRun(t, "fig6", instead, "capacity="+capacity))
	for _, r0 := range rates {
		p := g[fmt.Sprintf("abc %s %gMbps", capacity, r0)]
		if r0 == 100 {
			worst(4, math.Abs(p["client0"]-32)/3)
		}
		worst(5, (p["client0"]-32)/3)
		worst(6, (most-p["client0"]-p["client1"])/(0.05*most))
		if r0 >= 60 {
			worst(7, g[fmt.Sprintf("without %s %gMbps", capacity, r0)]["client1"])
		}
	}
	worst(8, (most-goodputsOf(prototypeRun(t, "single", instead))["abc"]["client0"])/(0.05*most))
	return all
}

// distance of a configuration is the largest of its residuals.
func distance(all []residual) (largest float64) {
	for _, r := range all {
		largest = max(largest, r.size)
	}
	return largest
}

// The one configuration of the prototype experiments is within the claims of figures 4, 5, 6 and of one flow alone: its
// distance is at most 1. Each residual is of something measured.
func TestPrototype(t *testing.T) {
	if !thorough {
		t.Log("its residuals are looked at with the tag slow; TestPrototypeClaims holds its claims")
		return
	}
	all := prototypeResiduals(t, strings.NewReplacer(), "10.8kpps")
	t.Logf("distance %.2f", distance(all))
	for _, r := range all {
		t.Logf("%.2f %s", r.size, r.sentence)
		if !(r.size <= 1) {
			t.Errorf("%s: %.2f", r.sentence, r.size)
		}
		if r.size == 0 && r.sentence != "6: and not more at any rate" && r.sentence != "6: without ABC TCP starves" {
			t.Errorf("%s: nothing was measured", r.sentence)
		}
	}
}

// It is one configuration: links, switch and what TCP is are the same in all four files.
func TestPrototypeIsOne(t *testing.T) {
	for _, same := range []string{
		"    - {ends: [client0, s1], rate: 100Mbps, delay: 5ms, jitter: 240us}\n",
		"    - {ends: [s1, server], rate: 4170pps, delay: 5ms, buffer: 24 packets}\n",
		"ring: 64 packets", "capacity: 10.8kpps",
		"        - abc: {memory: 3s, reference: 10kbps, average_memory: 300ms, queue: register,\n" +
			"                q_min: 6 packets, q_base: 20 packets, gamma: 16 packets}\n",
		"{cubic: {hystart: linux-4.4}}", "transport: {tcp: {compressed_ack: 0s, receive_buffer: 6MiB, bursts: false}}",
	} {
		for _, name := range []string{"fig4", "fig5", "fig6", "single"} {
			t.Run(name+" "+same, func(t *testing.T) {
				src, err := registry().Open("p4abc/prototype-" + name)
				if err != nil {
					t.Fatal(err)
				}
				tcp := strings.Contains(same, "cubic") || strings.Contains(same, "tcp")
				if strings.Contains(string(src.Data), same) == (name == "fig4" && tcp) {
					t.Errorf("%s differs in %q", name, same)
				}
			})
		}
	}
}

// What is left open is said to be: client 0 of figure 6 gets less at R0 = 50 than at 30 Mb/s, and bursts keep figure 4
// from being proportional. All other claims hold.
func TestPrototypeClaims(t *testing.T) {
	// Sentences of the paper that no configuration was found for; doc.go says so.
	open := map[string]bool{"prototype-fig6.abc.monotone": true, "prototype-fig4.without.bursts": true}
	for _, name := range []string{"fig4", "fig5", "fig6", "single", "causes"} {
		t.Run(name, func(t *testing.T) {
			o := carryOut(t, "p4abc/prototype-"+name, spec.Options{Quick: true})
			for _, c := range o.Claims {
				if open[c.ID] {
					t.Logf("%s %s: %s", c.ID, c.Verdict, c.Measured)
				} else if c.Verdict != claim.Holds {
					t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
				}
			}
		})
	}
}

// Users of constant rate at unequal reference rates: who starves, and when not, is what doc.go derives.
func TestUnresponsive(t *testing.T) {
	o := carryOut(t, "p4abc/cbr-references", spec.Options{Set: []string{"repeat=1"}})
	for _, c := range o.Claims {
		if c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}
