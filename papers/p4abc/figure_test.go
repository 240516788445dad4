package p4abc_test

import (
	"context"
	"testing"
	"weir/study/run"

	"weir/core/cc"
	"weir/core/cc/bbr"
	"weir/core/cc/cubic"
	"weir/core/cc/dctcp"
	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/dataplane/afq"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/codel"
	"weir/core/dataplane/csfq"
	"weir/core/dataplane/dualpi2"
	"weir/core/dataplane/ecmp"
	"weir/core/dataplane/fdpa"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/inputloss"
	"weir/core/dataplane/inputring"
	"weir/core/dataplane/pie"
	plans "weir/core/dataplane/plan"
	"weir/core/dataplane/ppv"
	"weir/core/dataplane/rainbow"
	"weir/core/dataplane/red"
	"weir/core/dataplane/tm"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/internal/testutil"
	"weir/papers/p4abc"
	"weir/study/claim"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
	"weir/study/spec"
)

func registry() *spec.Registry {
	return &spec.Registry{
		Measures: measure.Kinds(),
		Programs: []dataplane.Scheme{p4abc.Scheme(), p4abc.ForgerScheme(), classify.Scheme(), forward.Scheme(),
			inputloss.Scheme(),
			inputring.Scheme(), afq.Scheme(), codel.Scheme(), csfq.Scheme(), dualpi2.Scheme(), ecmp.Scheme(), fdpa.Scheme(),
			pie.Scheme(), ppv.Scheme(), rainbow.Scheme(), red.Scheme(), plans.Scheme()},
		Transports:  []transport.Scheme{tcp.Scheme(), udp.Scheme()},
		Controllers: []cc.Scheme{bbr.Scheme(), cubic.Scheme(), dctcp.Scheme(), reno.Scheme()},
		Schedulers:  tm.Schemes(),
		Topologies:  topology.Schemes(),
		Library:     []spec.Library{{Name: "p4abc", Files: p4abc.Experiments}},
	}
}

func carryOut(t *testing.T, name string, o spec.Options) *results.Outcome {
	t.Helper()
	src, err := registry().Open(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := plan.Load(registry(), src, o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.Execute(context.Background(), s, run.Options{})
	if err != nil || len(out.Failed) > 0 {
		t.Fatal(err, out.Failed)
	}
	return out
}

// §6.2.1, figure 4, every point, with two seeds and 20 s: the three claims about ABC
// hold; without ABC goodput is not proportional to rate, which TestPhase explains.
// The table is golden: a change of any number shows.
func TestFigure4(t *testing.T) {
	o := carryOut(t, "p4abc/fig4", spec.Options{Set: []string{"repeat=2", "duration=20s"}})
	testutil.Golden(t, "fig4.txt", report.Results(o.Spec, report.Summarise(o.Runs))+"\n"+report.Claims(o.Claims))
	for _, c := range o.Claims {
		if c.ID == "fig4.without.proportional" { // TestPhase
			t.Logf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		} else if c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// What makes the claim fail is phase: with jitter of one service time on the access
// links (Floyd, Jacobson 1992) it holds, up to R0 = 80 Mb/s with room; at 100 Mb/s,
// where client 0's own link carries 97.2 Mb/s at most, it does not fail.
func TestPhase(t *testing.T) {
	for _, r0 := range []string{"80Mbps", "100Mbps"} {
		t.Run(r0, func(t *testing.T) {
			o := carryOut(t, "p4abc/fig4-phase", spec.Options{Set: []string{"repeat=3", "duration=60s", "r0=" + r0}})
			t.Logf("without jitter: %s %s", o.Claims[0].Verdict, o.Claims[0].Measured)
			if c := o.Claims[1]; c.Verdict == claim.Fails || r0 == "80Mbps" && c.Verdict != claim.Holds {
				t.Errorf("with jitter: %s %s", c.Verdict, c.Measured)
			}
		})
	}
}

// §6.2.2, figure 5, every point, with three seeds and 30 s: the claims hold. The table
// is golden.
func TestFigure5(t *testing.T) {
	o := carryOut(t, "p4abc/fig5", spec.Options{Set: []string{"repeat=3", "duration=30s"}})
	testutil.Golden(t, "fig5.txt", report.Results(o.Spec, report.Summarise(o.Runs))+"\n"+report.Claims(o.Claims))
	for _, c := range o.Claims {
		if c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// §6.2.3, figure 6, every point, with two seeds and 20 s: TCP starves without ABC and
// is bounded with it. The paper's 32 Mb/s for client 0 at the largest R0 is not there:
// the mechanism gives 3.4 (TestPrototypeClaims has what may bring it there).
func TestFigure6(t *testing.T) {
	o := carryOut(t, "p4abc/fig6", spec.Options{Set: []string{"repeat=2", "duration=20s"}})
	testutil.Golden(t, "fig6.txt", report.Results(o.Spec, report.Summarise(o.Runs))+"\n"+report.Claims(o.Claims))
	for _, c := range o.Claims {
		switch c.ID {
		case "fig6.abc.32", "fig6.abc.32.loss": // what brings client 0 there is in prototype-fig6
			t.Logf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		default:
			if c.Verdict != claim.Holds {
				t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
			}
		}
	}
}

// What the lab's machine does to figure 6 (docs/lab.md): it stands still for some milliseconds
// now and then.
func TestFigure6Stalls(t *testing.T) {
	o := carryOut(t, "p4abc/fig6-stalls", spec.Options{Set: []string{"r0=60Mbps", "duration=30s"}})
	for _, c := range o.Claims {
		if c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// One TCP flow alone is not hurt by ABC.
func TestSingle(t *testing.T) {
	o := carryOut(t, "p4abc/single", spec.Options{Set: []string{"repeat=2", "cc=cubic"}})
	if c := o.Claims[0]; c.Verdict != claim.Holds {
		t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
	}
}

// The quick variants of all experiments can run, and all that can be shortened do.
func TestQuickVariants(t *testing.T) {
	for _, e := range registry().Experiments() {
		t.Run(e.Name, func(t *testing.T) {
			src, err := registry().Open(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			quick, err := plan.Load(registry(), src, spec.Options{Quick: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(quick.Points()) < 2 {
				t.Errorf("%d points", len(quick.Points()))
			}
			short := spec.Options{Quick: true, Set: []string{"duration=2s", "warmup=1s"}}
			if _, err := plan.Load(registry(), src, short); err != nil {
				return // what it is about comes later
			}
			if o := carryOut(t, e.Name, short); len(o.Runs) < 2 || o.Missing > 0 {
				t.Errorf("%d runs, %d missing", len(o.Runs), o.Missing)
			}
		})
	}
}
