package p4abc_test

import (
	"context"
	"testing"

	"weir/dataplane"
	"weir/dataplane/forward"
	"weir/dataplane/inputloss"
	"weir/experiment"
	"weir/internal/testutil"
	"weir/p4abc"
	"weir/report"
	"weir/transport"
	"weir/transport/udp"
)

func registry() *experiment.Registry {
	return &experiment.Registry{
		Programs:   []dataplane.Scheme{p4abc.Scheme(), forward.Scheme(), inputloss.Scheme()},
		Transports: []transport.Scheme{udp.Scheme()},
		Library:    []experiment.Library{{Name: "p4abc", Files: p4abc.Experiments}},
	}
}

func run(t *testing.T, name string, o experiment.Options) *experiment.Outcome {
	t.Helper()
	src, err := registry().Open(name)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := experiment.Load(registry(), src, o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := experiment.Execute(context.Background(), spec, experiment.ExecOptions{})
	if err != nil || len(out.Failed) > 0 {
		t.Fatal(err, out.Failed)
	}
	return out
}

// §6.2.1, figure 4, every point, with two seeds and 20 s: three claims hold, the
// fourth (without ABC goodput is proportional to rate) does not fail; at R0 = 100 Mb/s
// the interval over the seeds crosses its bound. The table is golden:
// a change of any number shows.
func TestFigure4(t *testing.T) {
	o := run(t, "p4abc/fig4", experiment.Options{Set: []string{"repeat=2", "duration=20s"}})
	testutil.Golden(t, "fig4.txt", report.Results(report.Summarise(o.Runs))+"\n"+report.Claims(o.Claims))
	for _, c := range o.Claims {
		if c.ID != "fig4.without.proportional" && c.Verdict != experiment.Holds || c.Verdict == experiment.Fails {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// The quick variants of all experiments run, and keep every scheme and the ends of
// every sweep.
func TestQuickVariants(t *testing.T) {
	for _, e := range registry().Experiments() {
		o := run(t, e.Name, experiment.Options{Quick: true, Set: []string{"duration=2s", "warmup=1s"}})
		if len(o.Runs) < 4 || o.Missing > 0 {
			t.Errorf("%s: %d runs, %d missing", e.Name, len(o.Runs), o.Missing)
		}
	}
}
