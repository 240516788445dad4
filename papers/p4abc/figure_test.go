package p4abc_test

import (
	"context"
	"slices"
	"testing"

	"weir/core/cc"
	"weir/core/cc/bbr"
	"weir/core/cc/cubic"
	"weir/core/cc/dctcp"
	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/codel"
	"weir/core/dataplane/aqm/dualpi2"
	"weir/core/dataplane/aqm/pie"
	"weir/core/dataplane/aqm/red"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/buffer/inputloss"
	"weir/core/dataplane/buffer/inputring"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/fairqueue/afq"
	"weir/core/dataplane/fairqueue/csfq"
	"weir/core/dataplane/fairqueue/fdpa"
	"weir/core/dataplane/fairqueue/ppv"
	"weir/core/dataplane/fairqueue/rainbow"
	"weir/core/dataplane/forward"
	plans "weir/core/dataplane/plan"
	"weir/core/dataplane/tm"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/internal/testkit/runtest"
	"weir/papers/p4abc"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
	"weir/study/run"
)

func registry() *experiment.Registry {
	return &experiment.Registry{
		Measures: measure.Definitions(),
		Programs: []dataplane.Scheme{p4abc.Scheme(), p4abc.ForgerScheme(), classify.Scheme(), forward.Scheme(),
			inputloss.Scheme(),
			inputring.Scheme(), afq.Scheme(), codel.Scheme(), csfq.Scheme(), dualpi2.Scheme(), ecmp.Scheme(), fdpa.Scheme(),
			pie.Scheme(), ppv.Scheme(), rainbow.Scheme(), red.Scheme(), plans.Scheme()},
		Transports:  []transport.Scheme{tcp.Scheme(), udp.Scheme()},
		Controllers: []cc.Scheme{bbr.Scheme(), cubic.Scheme(), dctcp.Scheme(), reno.Scheme()},
		Schedulers:  tm.Schemes(),
		Topologies:  topology.Schemes(),
		Library:     []experiment.Library{{Name: "p4abc", Files: p4abc.Experiments}},
	}
}

func carryOut(t *testing.T, name string, o experiment.Options) *results.Outcome {
	t.Helper()
	src, err := registry().OpenExperiment(name)
	if err != nil {
		t.Fatal(err)
	}
	s := plantest.LoadSource(t, registry(), src, o)
	return execute(t, s)
}

// execute runs all of an experiment on one thread a run: threads that wait for each other take more of the processor.
func execute(t *testing.T, s *experiment.Spec) *results.Outcome {
	t.Helper()
	out, err := run.Execute(context.Background(), s, run.Options{Threads: 1})
	if err != nil || len(out.Failed) > 0 {
		t.Fatal(err, out.Failed)
	}
	return out
}

// TestFigure4_ClaimsHoldExceptBaseline checks P4-ABC §6.2.1, figure 4, every point, with one seed and 6 s: the three
// claims about ABC hold. Without ABC goodput is not proportional to rate, which TestFigure4_JitterRestoresProportion
// explains. The table is golden, so any changed number fails.
func TestFigure4_ClaimsHoldExceptBaseline(t *testing.T) {
	o := carryOut(t, "p4abc/fig4", experiment.Options{Set: []string{"repeat=1", "duration=6s", "warmup=4s"}})
	testkit.Golden(t, "fig4.txt", report.FormatResults(o.Spec,
		report.SummarizePoints(o.Runs))+"\n"+report.FormatClaims(o.Claims))
	holdExcept(t, o, "fig4.without.proportional")
}

// TestFigure4_JitterRestoresProportion checks that phase makes the claim fail: with jitter of one service time on the
// access links (Floyd, Jacobson 1992) it holds.
func TestFigure4_JitterRestoresProportion(t *testing.T) {
	o := carryOut(t, "p4abc/fig4-phase", experiment.Options{Set: []string{"repeat=1", "duration=20s", "r0=80Mbps",
		"jitter=[0us, 240us]"}})
	if c := o.Claims[0]; c.Verdict != claim.Fails {
		t.Errorf("without jitter: %s %s", c.Verdict, c.Measured)
	}
	if c := o.Claims[1]; c.Verdict != claim.Holds {
		t.Errorf("with jitter: %s %s", c.Verdict, c.Measured)
	}
}

// TestFigure5_ClaimsHold checks P4-ABC §6.2.2, figure 5, three points with one seed and 10 s: the claims hold. The
// table is golden.
func TestFigure5_ClaimsHold(t *testing.T) {
	o := carryOut(t, "p4abc/fig5", experiment.Options{Set: []string{"repeat=1", "duration=10s", "warmup=4s",
		"n=[1, 4, 16]"}})
	testkit.Golden(t, "fig5.txt", report.FormatResults(o.Spec,
		report.SummarizePoints(o.Runs))+"\n"+report.FormatClaims(o.Claims))
	holdExcept(t, o)
}

// TestFigure6_ClaimsHoldExceptLargestRate checks P4-ABC §6.2.3, figure 6, half of the points, with one seed and 8 s:
// TCP starves without ABC and is bounded with it. The paper's 32 Mb/s for client 0 at the largest R0 is not reproduced:
// the mechanism gives 3.4 (TestPrototypeClaims has possible causes). The table is golden.
func TestFigure6_ClaimsHoldExceptLargestRate(t *testing.T) {
	o := carryOut(t, "p4abc/fig6", experiment.Options{Set: []string{"repeat=1", "duration=8s", "warmup=4s",
		"r0=[10Mbps, 30Mbps, 60Mbps, 80Mbps, 100Mbps]"}})
	testkit.Golden(t, "fig6.txt", report.FormatResults(o.Spec,
		report.SummarizePoints(o.Runs))+"\n"+report.FormatClaims(o.Claims))
	holdExcept(t, o, "fig6.abc.32", "fig6.abc.32.loss")
}

// TestFigure6Stalls checks the effect of the lab's machine on figure 6 (docs/lab-results.md): it stalls for some
// milliseconds at times.
func TestFigure6Stalls(t *testing.T) {
	hold(t, carryOut(t, "p4abc/fig6-stalls", experiment.Options{Set: []string{"repeat=1", "r0=60Mbps", "duration=10s",
		"warmup=5s", "stall=[0ms, 1ms, 3ms]"}}))
}

// TestSingle_LoneFlowKeepsGoodput checks that ABC does not harm a single TCP flow.
func TestSingle_LoneFlowKeepsGoodput(t *testing.T) {
	hold(t, carryOut(t, "p4abc/single", experiment.Options{Set: []string{"repeat=1", "cc=cubic", "duration=10s"}}))
}

// holdExcept fails for every claim of an outcome that does not hold, except for those named.
func holdExcept(t *testing.T, o *results.Outcome, except ...string) {
	t.Helper()
	for _, c := range o.Claims {
		if slices.Contains(except, c.ID) {
			t.Logf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		} else if c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// TestFirstPoints runs the first point of every experiment for half a second: the measures find their objects.
// TestQuickVariants runs all points of the quick variants.
func TestFirstPoints(t *testing.T) {
	for _, e := range registry().Experiments() {
		t.Run(e.Name, func(t *testing.T) {
			o := experiment.Options{Quick: true, Set: []string{"repeat=1", "duration=300ms", "warmup=200ms"}}
			sweep, quick := runtest.ReadVariants(t, registry(), e.Name)
			for key, values := range sweep {
				if x, changed := quick[key]; changed {
					values = x
				}
				o.Set = append(o.Set, key+"="+values[0])
			}
			src, err := registry().OpenExperiment(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			s, err := plan.Load(registry(), src, o)
			if err != nil {
				return // its events come later
			}
			if o := execute(t, s); len(o.Runs) == 0 || o.Missing > 0 {
				t.Errorf("%d runs, %d missing", len(o.Runs), o.Missing)
			}
		})
	}
}
