package p4te_test

import (
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
	"weir/core/workload"
	"weir/papers/hpcc"
	"weir/papers/p4te"
	"weir/study/claim"
	"weir/study/measure"
	"weir/study/plan"
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
		Transports:  []transport.Scheme{rdma.Scheme(), tcp.Scheme()},
		Topologies:  topology.Schemes(),
		Controllers: []cc.Scheme{cubic.Scheme(), dcqcn.Scheme(), dctcp.Scheme(), hpcc.Scheme()},
		Library:     []spec.Library{{Name: "p4te", Files: p4te.Experiments}},
	}
}

// Table 1, figure 11 and what they turn on. Retransmissions are as the paper says; FCTs are
// not: flows of 16 kb/s find room enough on ECMP's paths, and P4TE's are reordered (gap)
// and take turns with feedback (delay_delta). ECMP as slow as the released runs has one
// upward port.
func TestExperiments(t *testing.T) {
	for name, want := range map[string]map[string]claim.Verdict{
		"table1": {
			"table1.stride_low.retransmissions.short":  claim.Holds,
			"table1.stride_low.retransmissions.large":  claim.Holds,
			"table1.stride_high.retransmissions.short": claim.Holds,
			"table1.stride_high.retransmissions.large": claim.Holds,
			"table1.congestion.retransmissions.short":  claim.Holds,
			"table1.congestion.retransmissions.large":  claim.Holds,
			"table1.incast.retransmissions.short":      claim.Holds,
			"table1.incast.retransmissions.large":      claim.Holds,
			"table1.stride_low.fct.short":              claim.Fails, "table1.stride_low.fct.large": claim.Fails,
			"table1.stride_high.fct.short": claim.Fails, "table1.stride_high.fct.large": claim.Fails,
			"table1.stride_low.p4te": claim.Holds,
		},
		"table1-options": {
			"options.one-port.stride_high": claim.Holds, "options.gap": claim.Holds, "options.delta": claim.Holds,
			"options.against-one-port": claim.Holds, "options.against-ecmp": claim.Holds,
		},
		"figure11": {"figure11.ecmp": claim.Fails, "figure11.p4te": claim.Fails},
	} {
		t.Run(name, func(t *testing.T) {
			var set []string
			switch name {
			case "table1":
				set = []string{"cc=dctcp"}
			case "table1-options":
				set = []string{"scheme=[ecmp, one_port, p4te, gap, delta, gap_delta]"}
			}
			seen := 0
			for _, c := range runtest.CarryOut(t, library(), "p4te/"+name, spec.Options{Set: set}).Claims {
				v, ok := want[c.ID]
				if !ok {
					continue
				}
				if seen++; c.Verdict != v {
					t.Errorf("%s %s, want %s: %s", c.ID, c.Verdict, v, c.Measured)
				}
			}
			if seen != len(want) {
				t.Errorf("%s: %d of %d claims are there", name, seen, len(want))
			}
		})
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

// All flows of the three cases of appendix A end, and so do those of each part of the ablation
// and of the composition, with what P4TE does at work in each.
func TestVariants(t *testing.T) {
	for name, set := range map[string][]string{
		"ablation": {"arrivals=[1ms]", "load=[50%]", "scheme=[full, no_monitoring, path_only, rate_only, enforced, nothing]"},
		"compose":  {"arrivals=[300us]", "load=[50%]", "scheme=[ecmp, p4te]"},
		"failure":  {"scheme=[ecmp, p4te]", "cc=dctcp", "traffic.leaving.stop=12ms", "traffic.coming.stop=12ms"},
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

// Every experiment is valid, also its quick variant, which keeps every scheme; those at
// 10 to 100 Gb/s have the ends of each sweep.
func TestExperimentsLoad(t *testing.T) {
	schemes := map[string]int{"leaf-spine": 8, "fat-tree": 7}
	for _, e := range library().Experiments() {
		base := strings.TrimPrefix(e.Name, "p4te/")
		for family, n := range schemes {
			if !strings.HasPrefix(base, family) {
				continue
			}
			s := runtest.Load(t, library(), e.Name, spec.Options{Quick: true})
			if points := len(plan.Runs(s)) / s.Repeat(); points != 4*2*2*2*n {
				t.Errorf("%s: %d points in the quick variant", e.Name, points)
			}
			base = ""
		}
		if base == "" {
			runtest.Load(t, library(), e.Name, spec.Options{Set: []string{"arrivals=[100us]"}})
			continue
		}
		for _, quick := range []bool{false, true} {
			runtest.Load(t, library(), e.Name, spec.Options{Quick: quick})
		}
	}
}
