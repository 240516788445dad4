//go:build slow

package ncf_test

import (
	"testing"

	"weir/study/experiment"
	"weir/study/plan"
)

// TestExperiments_QuickMechanismsHold checks the claims that the quick variants must fulfil. docs/papers/ncf.md has the
// other results, and the failures.
func TestExperiments_QuickMechanismsHold(t *testing.T) {
	for name, claims := range map[string][]string{
		"incast": {"incast.drop-times-out", "incast.no-timeouts", "incast.no-timeouts-rdma", "incast.completes",
			"incast.direct", "incast.overhead", "incast.storm", "incast.storm-mice", "incast.completes-rdma",
			"incast.overhead-rdma", "incast.nacks-arrive", "incast.throughput-quickack", "incast.fair", "incast.top"},
		"incast-supply": {"incast-supply.throughput", "incast-supply.fair", "incast-supply.throughput-delayed",
			"incast-supply.fair-delayed", "incast-supply.timeouts"},
		"incast-fabric": {"fabric.drop-times-out", "fabric.no-timeouts", "fabric.completes", "fabric.completes-dctcp",
			"fabric.nacks-arrive", "fabric.overhead"},
		"mixed": {"mixed.mice", "mixed.mice-dctcp", "mixed.mice-fq", "mixed.mice-timeouts", "mixed.elephants",
			"mixed.no-starvation", "mixed.fair", "mixed.short-queues", "mixed.order", "mixed.top"},
		"queues": {"queues.three-suffice-elephants", "queues.no-starvation"},
		"knobs": {"knobs.coalesce", "knobs.coalesce-incast", "knobs.mice-told", "knobs.told", "knobs.short-windows",
			"knobs.epsilon", "knobs.early", "knobs.early-supply"},
	} {
		t.Run(name, func(t *testing.T) { mechanisms(t, name, experiment.Options{Quick: true}, claims...) })
	}
}

// TestExperimentsLoad checks that every experiment is valid, also its quick variant, which keeps every scheme and both
// ends of every other sweep, with one seed.
func TestExperimentsLoad(t *testing.T) {
	for _, e := range library().Experiments() {
		src, err := library().OpenExperiment(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		var whole *experiment.Spec
		for _, quick := range []bool{false, true} {
			s, err := plan.Load(library(), src, experiment.Options{Quick: quick})
			if err != nil {
				t.Errorf("%s: %v", e.Name, err)
				break
			}
			if !quick {
				whole = s
				continue
			}
			if s.Repeat() != 1 {
				t.Errorf("%s: quick has %d seeds", e.Name, s.Repeat())
			}
			for i, d := range s.Sweep() {
				all := whole.Sweep()[i].Values
				switch {
				case d.Key == "length": // of the run: shorter is what makes it quick
				case d.Key == "scheme" && len(d.Values) != len(all):
					t.Errorf("%s: quick has %d of %d schemes", e.Name, len(d.Values), len(all))
				case d.Values[0] != all[0] || d.Values[len(d.Values)-1] != all[len(all)-1]:
					t.Errorf("%s: quick has %v of %v", e.Name, d.Values, all)
				}
			}
		}
	}
}
