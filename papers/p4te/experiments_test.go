package p4te_test

import (
	"slices"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cubic"
	"weir/core/cc/dcqcn"
	"weir/core/cc/dctcp"
	"weir/core/dataplane"
	"weir/core/dataplane/conga"
	"weir/core/dataplane/drill"
	"weir/core/dataplane/ecmp"
	"weir/core/dataplane/ecn"
	"weir/core/dataplane/hula"
	"weir/core/dataplane/inband"
	"weir/core/dataplane/letflow"
	"weir/core/dataplane/spray"
	"weir/core/dataplane/wecmp"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/rdma"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/core/workload"
	"weir/papers/hpcc"
	"weir/papers/p4te"
	"weir/study/claim"
	"weir/study/measure"
	"weir/study/run/runtest"
	"weir/study/spec"
)

// library is the registry of the experiments in experiments/.
func library() *spec.Registry {
	return &spec.Registry{
		Measures:  measure.Kinds(),
		Workloads: workload.Distributions(),
		Programs: []dataplane.Scheme{conga.Scheme(), drill.Scheme(), ecmp.Scheme(), ecn.Scheme(), hula.Scheme(),
			inband.Scheme(), letflow.Scheme(),
			p4te.Scheme(), spray.Scheme(), wecmp.Scheme()},
		Transports:  []transport.Scheme{rdma.Scheme(), tcp.Scheme(), udp.Scheme()},
		Topologies:  topology.Schemes(),
		Controllers: []cc.Scheme{cubic.Scheme(), dcqcn.Scheme(), dctcp.Scheme(), hpcc.Scheme()},
		Library:     []spec.Library{{Name: "p4te", Files: p4te.Experiments}},
	}
}

// What table 1 turns on, by the options that show it: ECMP as slow as the released runs has one upward port, and
// P4TE's flows are reordered (gap) and take turns with feedback (delay_delta).
func TestOptions(t *testing.T) {
	want := []string{"options.one-port.stride_high", "options.gap", "options.delta", "options.against-one-port",
		"options.against-ecmp"}
	for _, c := range runtest.CarryOut(t, library(), "p4te/table1-options", spec.Options{
		Set: []string{"scheme=[ecmp, one_port, p4te, gap, delta, gap_delta]"}}).Claims {
		if slices.Contains(want, c.ID) && c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// Without its parts P4TE is ECMP, flow by flow: it has ecmp's paths, and its frames no headers. Another hash was up to
// 20 % better or worse.
func TestNothingIsECMP(t *testing.T) {
	seen := 0
	for _, c := range runtest.CarryOut(t, library(), "p4te/ablation", spec.Options{Quick: true,
		Set: []string{"arrivals=[1ms]", "scheme=[ecmp, nothing]"}}).Claims {
		if c.ID == "ablation.nothing" {
			if seen++; c.Verdict != claim.Holds {
				t.Errorf("%s: %s", c.ID, c.Measured)
			}
		}
	}
	if seen != 1 {
		t.Error("the claim is not there")
	}
}

// All flows of each part of the ablation, of the composition and of what P4TE brings end, with what
// P4TE does at work in each.
func TestVariants(t *testing.T) {
	for name, set := range map[string][]string{
		"ablation": {"arrivals=[1ms]", "load=[50%]",
			"scheme=[full, no_monitoring, path_only, rate_only, enforced, nothing]"},
		"compose":       {"arrivals=[300us]", "load=[50%]", "scheme=[ecmp, p4te]"},
		"gains":         {"repeat=1", "arrivals=[1ms]"},
		"gains-sweep":   {"repeat=1", "arrivals=[1ms]", "scheme=[ecmp, letflow, paths_1us, all_100us]"},
		"gains-factors": {"repeat=1", "scheme=[ecmp, quick_marks]", "cell=[slow, rate_100g, fat_tree, incast]"},
		"failure":       {"scheme=[ecmp, p4te]", "cc=dctcp", "traffic.leaving.stop=12ms", "traffic.coming.stop=12ms"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range runtest.CarryOut(t, library(), "p4te/"+name, spec.Options{Quick: true,
				Set: set}).Runs {
				if r.End.Reason != "all flows done" {
					t.Errorf("%s %s ends: %s", name, measure.PointName(r.Point), r.End.Reason)
				}
			}
		})
	}
}

// Appendix A's quick variant comes to its end. A flow that is not finished has lost its SYNs, and no other. P4TE's
// flowlets of 40 ms reorder what a host sends every 50 ms, so its flows take longer than with flowlets of 4 s.
func TestAppendix(t *testing.T) {
	o := runtest.CarryOut(t, library(), "p4te/appendix", spec.Options{Quick: true})
	for _, r := range o.Runs {
		if r.End.Reason != "all flows done" && len(r.Unfinished) == 0 {
			t.Errorf("%s ends: %s", measure.PointName(r.Point), r.End.Reason)
		}
		for _, u := range r.Unfinished {
			if u.DoneBytes > 0 {
				t.Errorf("%s: flow %d is given up after %d of %d bytes", measure.PointName(r.Point), u.Flow, u.DoneBytes,
					u.SizeBytes)
			}
		}
	}
	if len(o.Runs) != 48 || len(o.Failed) > 0 || o.Missing > 0 {
		t.Errorf("%d runs, %d failed, %d are missing", len(o.Runs), len(o.Failed), o.Missing)
	}
	large := map[string][]float64{} // completion times in A.2, by scheme
	for _, r := range o.Runs {
		if m := r.Named("fct_written"); r.Point[0].Text == "a2" {
			large[r.Point[1].Text] = append(large[r.Point[1].Text], m.Groups[1].Value)
		}
	}
	patient, _ := claim.MeanInterval(large["patient"])
	if literal, _ := claim.MeanInterval(large["p4te"]); !(patient < 0.8*literal) {
		t.Errorf("large flows of A.2 take %.0f s with flowlets of 4 s, %.0f s with those of 40 ms", patient, literal)
	}
}

// What P4TE gains at 10 Gb/s is its marks: with the same flows they make slowdowns smaller, and fake ACKs without
// marks do not.
func TestMarksGain(t *testing.T) {
	o := runtest.CarryOut(t, library(), "p4te/gains", spec.Options{Quick: true, Set: []string{"repeat=5",
		"scheme=[ecmp, marks, fake_acks]"}})
	ratios := map[string][]float64{}
	for _, r := range o.Runs {
		for _, m := range r.Ratios {
			if m.Name == "slowdown_ratio" {
				scheme := r.Point[len(r.Point)-1].Text
				ratios[scheme] = append(ratios[scheme], m.Groups[0].Value)
			}
		}
	}
	for scheme, within := range map[string][2]float64{"ecmp": {1, 1}, "marks": {0.7, 0.97}, "fake_acks": {0.95, 1.3}} {
		t.Run(scheme, func(t *testing.T) {
			mean, half := claim.MeanInterval(ratios[scheme])
			if len(ratios[scheme]) != 5 || !(mean >= within[0] && mean <= within[1]) {
				t.Errorf("slowdown over ECMP's %.3f ± %.3f (%d seeds), want %v", mean, half, len(ratios[scheme]), within)
			}
		})
	}
}

// Every experiment is valid, also its quick variant, which keeps every scheme.
func TestExperimentsLoad(t *testing.T) {
	for _, e := range library().Experiments() {
		t.Run(strings.TrimPrefix(e.Name, "p4te/"), func(t *testing.T) {
			schemes := func(quick bool) int {
				for _, d := range runtest.Load(t, library(), e.Name, spec.Options{Quick: quick}).Sweep() {
					if d.Key == "scheme" {
						return len(d.Values)
					}
				}
				return 0
			}
			if whole, quick := schemes(false), schemes(true); whole != quick {
				t.Errorf("%d schemes, and %d in the quick variant", whole, quick)
			}
		})
	}
}
