package p4te_test

import (
	"math"
	"testing"

	"weir/internal/testkit/runtest"
	"weir/study/experiment"
	"weir/study/results"
)

// mean returns the mean of a measure's group over the runs at points with these coordinates. A group "" is all of them.
func mean(o *results.Outcome, name, group string, at map[string]string) float64 {
	sum, n := 0.0, 0
runs:
	for i := range o.Runs {
		for _, c := range o.Runs[i].Point {
			if want, ok := at[c.Key]; ok && want != c.Text {
				continue runs
			}
		}
		for _, m := range o.Runs[i].AllMeasures() {
			if m.Name != name {
				continue
			}
			for _, g := range m.Groups {
				if g.Group == group && !math.IsNaN(g.Value) {
					sum += g.Value
					n++
				}
			}
		}
	}
	return sum / float64(n)
}

// TestTable1_FittedRateMatchesLogs checks that at the fitted rate RTTs under ECMP are the logs', within 1 s on average
// over the eight cells. At the stated rate they are not, and a flow takes its size over its rate, because no packet
// waits.
func TestTable1_FittedRateMatchesLogs(t *testing.T) {
	o := runtest.ExecuteAll(t, library(), "p4te/table1-fit", experiment.Options{Quick: true,
		Set: []string{"rate=[3pps, 20pps]"}})
	logs := map[string][2]float64{"stride_low": {2.79, 2.6}, "stride_high": {3.79, 3.03}, "congestion": {4.44, 2.49},
		"incast": {4.09, 2.12}}
	apart := map[string]float64{}
	for _, rate := range []string{"3pps", "20pps"} {
		for scenario, rtt := range logs {
			for k, group := range []string{"short", "large"} {
				apart[rate] += math.Abs(mean(o, "rtt", group, map[string]string{"rate": rate, "scenario": scenario})-rtt[k]) / 8
			}
		}
	}
	if apart["3pps"] > 1 || apart["20pps"] < 2 {
		t.Errorf("RTTs are %.2f s from the logs' at 3 packets/s, %.2f s at 20", apart["3pps"], apart["20pps"])
	}
}

// TestPolarisedPorts checks that in the released run's figure 11 ECMP's CRC-16 leaves half of the upward ports to
// acknowledgements. A hash that mixes is more even at both leaves, and so is P4TE.
func TestPolarisedPorts(t *testing.T) {
	o := runtest.ExecuteAll(t, library(), "p4te/figure11-released", experiment.Options{Quick: true,
		Set: []string{"scheme=[ecmp, mixed, p4te]"}})
	for _, leaf := range []string{"leaf0", "leaf1"} {
		index := map[string]float64{}
		for _, scheme := range []string{"ecmp", "mixed", "p4te"} {
			index[scheme] = mean(o, "balance", leaf, map[string]string{"scheme": scheme})
		}
		if index["ecmp"] > 0.95 || index["mixed"] < index["ecmp"] || index["p4te"] < index["ecmp"] {
			t.Errorf("Jain's index of %s: %v", leaf, index)
		}
	}
}

// TestTable1_P4TEBeatsECMPInStride checks that in the released network's stride P4TE's large flows take less time than
// ECMP's by at least a tenth, and more than their rate allows.
func TestTable1_P4TEBeatsECMPInStride(t *testing.T) {
	o := runtest.ExecuteAll(t, library(), "p4te/table1-released", experiment.Options{Quick: true,
		Set: []string{"scenario=stride_high", "scheme=[ecmp, p4te]"}})
	ecmp := mean(o, "fct_written", "large", map[string]string{"scheme": "ecmp"})
	p4te := mean(o, "fct_written", "large", map[string]string{"scheme": "p4te"})
	if p4te < 130.9 || p4te > 0.9*ecmp {
		t.Errorf("P4TE %.1f s, ECMP %.1f s", p4te, ecmp)
	}
}
