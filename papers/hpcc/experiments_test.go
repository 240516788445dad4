package hpcc_test

import (
	"strings"
	"testing"

	"weir/core/cc/cubic"
	"weir/core/cc/dcqcn"
	"weir/core/cc/dctcp"
	"weir/core/cc/none"
	"weir/core/cc/swift"
	"weir/core/cc/timely"
	"weir/core/dataplane"
	"weir/core/dataplane/drill"
	"weir/core/dataplane/ecmp"
	"weir/core/dataplane/ecn"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/inband"
	"weir/core/dataplane/letflow"
	"weir/core/dataplane/pfc"
	"weir/core/dataplane/sharedbuffer"
	"weir/core/dataplane/spray"
	"weir/papers/hpcc"
	"weir/study/claim"
	"weir/study/plan"
	"weir/study/run/runtest"
	"weir/study/spec"
)

// library is the registry of the experiments in experiments/.
func library() *spec.Registry {
	r := registry()
	r.Programs = []dataplane.Scheme{ecmp.Scheme(), ecn.Scheme(), forward.Scheme(), inband.Scheme(),
		drill.Scheme(), letflow.Scheme(), pfc.Scheme(), sharedbuffer.Scheme(), spray.Scheme()}
	r.Controllers = append(r.Controllers, cubic.Scheme(), dcqcn.Scheme(), dctcp.Scheme(), none.Scheme(), swift.Scheme(),
		timely.Scheme())
	r.Library = []spec.Library{{Name: "hpcc", Files: hpcc.Experiments}}
	return r
}

// The paper's testbed and single-switch cases, in full: every claim but those named here
// holds.
func TestExperiments(t *testing.T) {
	otherwise := map[string]claim.Verdict{
		// 3.9 ± 1.2 kB with 5 B and 3.5 ± 1.5 kB with 25 B, which add so little that single packets show
		"incast16.short-queue": claim.Undecided,
		// it depends on the seed: the vendor's target rate is not clamped, so that fast recovery may
		// bring the long flow back at once; long-short.clamped-slow holds
		"long-short.dcqcn-slow": claim.Undecided,
		// 25 us: our DCQCN's queue is 70 kB on average, the testbed's must have been above 100 kB, as it
		// is here with the increase timer of DCQCN's paper: mice.dcqcn-timer holds
		"mice.dcqcn": claim.Fails,
	}
	for _, name := range []string{"incast16", "incast16-reaction", "rates", "joins", "long-short", "incast-long",
		"elephant-mice"} {
		t.Run(name, func(t *testing.T) {
			for _, c := range runtest.CarryOut(t, library(), "hpcc/"+name, spec.Options{}).Claims {
				want, ok := otherwise[c.ID]
				if !ok {
					want = claim.Holds
				}
				if c.Verdict != want {
					t.Errorf("%s %s, want %s: %s", c.ID, c.Verdict, want, c.Measured)
				}
			}
		})
	}
}

// What is ours beside the paper: every claim holds with one seed.
func TestOwnExperiments(t *testing.T) {
	for _, name := range []string{"thinning", "parameters", "collectives", "collectives-chosen", "paths-incast",
		"paths-half", "paths-failure", "lab-kernel"} {
		t.Run(name, func(t *testing.T) {
			for _, c := range runtest.CarryOut(t, library(), "hpcc/"+name, spec.Options{Quick: true}).Claims {
				if c.Verdict != claim.Holds {
					t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
				}
			}
		})
	}
}

// Every experiment is valid, also its quick variant, which keeps every scheme.
func TestExperimentsLoad(t *testing.T) {
	for _, e := range library().Experiments() {
		src, err := library().Open(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		points := map[bool]int{}
		for _, quick := range []bool{false, true} {
			s, err := plan.Load(library(), src, spec.Options{Quick: quick})
			if err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			points[quick] = len(plan.Runs(s)) / s.Repeat()
			if strings.HasPrefix(e.Name, "hpcc/websearch") || strings.HasPrefix(e.Name, "hpcc/hadoop") {
				want := 6
				if strings.HasSuffix(e.Name, "-incast") {
					want = 7 // HPCC also with PFC's trigger as the paper's text has it
				}
				if points[quick] != want {
					t.Errorf("%s: %d schemes", e.Name, points[quick])
				}
			}
		}
	}
}
