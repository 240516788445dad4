package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/command"
	"weir/internal/testkit/plantest"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
)

// TestLabExitCode checks the exit codes of lab runs. A run with an error is no measurement (exit code 1). With
// --check, a mismatch of simulator and lab is like a claim that fails (3). A disturbance of a run is no failure.
func TestLabExitCode(t *testing.T) {
	of := plantest.LoadSource(t, registry(), plantest.NewSource("small.yaml", small), experiment.Options{})
	run := func(goodput float64, attempts ...results.Attempt) []*results.Run {
		goodputs := []measure.GroupValue{{Group: "x", Value: goodput}}
		return []*results.Run{{Attempts: attempts,
			Values: measure.Values{Measures: []measure.Measured{{Name: "goodput", Unit: "bps", Groups: goodputs}}}}}
	}
	var good, disturbed, bad results.Attempt
	disturbed.Disturbed = []string{"a stall"}
	bad.Errors = []string{"12 frames did not fit into a ring"}
	for _, x := range []struct {
		name               string
		runs               []*results.Run
		interrupted, check bool
		want               int
	}{
		{"all is well", run(40e6, good), false, true, command.Done},
		{"disturbed", run(40e6, disturbed), false, true, command.Done},
		{"an error", run(40e6, bad), false, false, command.RunFailed},
		{"an error and a check", run(40e6, bad), false, true, command.RunFailed},
		{"an error of an attempt that does not count", run(40e6, bad, good), false, true, command.Done},
		{"no agreement", run(30e6, good), false, false, command.Done},
		{"no agreement and a check", run(30e6, good), false, true, command.ClaimFailed},
		{"no agreement of a disturbed run", run(5e6, disturbed), false, true, command.Unjudged},
		{"that without a check", run(5e6, disturbed), false, false, command.Done},
		{"no agreement of the repeated attempt", run(30e6, disturbed, good), false, true, command.ClaimFailed},
		{"agreement undecided for a wide interval", append(run(20e6, good), run(60e6, good)...), false, false, command.Done},
		{"that and a check", append(run(20e6, good), run(60e6, good)...), false, true, command.Unjudged},
		{"packets misdelivered", []*results.Run{{End: results.End{Reason: "packets misdelivered"}}}, false, false,
			command.RunFailed},
		{"interrupted", run(30e6, bad), true, true, command.Interrupted},
	} {
		t.Run(x.name, func(t *testing.T) {
			o := &results.Outcome{World: experiment.Lab, Spec: of, Runs: x.runs,
				Counterpart: &results.Outcome{World: experiment.Sim,
					Spec: of, Runs: run(40e6)}}
			if got := exitCode(o, x.interrupted, x.check); got != x.want {
				t.Errorf("%s: exit code %d, want %d", x.name, got, x.want)
			}
		})
	}
	// A claim that fails in the simulator's part only is no failure of the lab's run.
	o := &results.Outcome{World: experiment.Lab, Spec: of, Runs: run(40e6, good),
		Counterpart: &results.Outcome{World: experiment.Sim, Spec: of, Runs: run(40e6),
			Claims: []claim.Claim{{Verdict: claim.Fails}}}}
	if got := exitCode(o, false, true); got != command.Done {
		t.Errorf("a claim that fails in the simulator: exit code %d", got)
	}
	// A claim that the machine disturbed is undecided: 4, unless another claim fails or the worlds differ.
	o.Claims = []claim.Claim{{Verdict: claim.Holds}, {Verdict: claim.Undecided}}
	if got := exitCode(o, false, true); got != command.Unjudged {
		t.Errorf("a claim is undecided: exit code %d", got)
	}
	if got := exitCode(o, false, false); got != command.Done {
		t.Errorf("without a check: exit code %d", got)
	}
	o.Runs = run(30e6, good)
	if got := exitCode(o, false, true); got != command.ClaimFailed {
		t.Errorf("a claim is undecided and the worlds differ: exit code %d", got)
	}
	o.Runs, o.Claims = run(40e6, good), append(o.Claims, claim.Claim{Verdict: claim.Fails})
	if got := exitCode(o, false, true); got != command.ClaimFailed {
		t.Errorf("one claim is undecided and one fails: exit code %d", got)
	}
}

// TestLabArguments checks that a data plane gets the arguments that select the experiment, and no others. Options
// of the lab are refused in the simulator.
func TestLabArguments(t *testing.T) {
	seed := uint64(7)
	s := selection{"p4abc/fig5", changes{Set: []string{"duration=2s", "warmup=1s"}, Seed: &seed, Quick: true}}
	want := []string{"lab-dataplane", "p4abc/fig5", "--set=duration=2s", "--set=warmup=1s", "--seed=7", "--quick"}
	got := s.args("lab-dataplane")
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got, want)
		}
	}
	usual := labFlags{Attempts: 3, Generator: "weir", Scheduling: "deadline"}
	if err := usual.checkUnused(); err != nil {
		t.Error(err)
	}
	for _, other := range []func(f *labFlags){
		func(f *labFlags) { f.Attempts = 2 }, func(f *labFlags) { f.Generator = "iperf3" },
		func(f *labFlags) { f.Scheduling = "core" }, func(f *labFlags) { f.Force = true },
		func(f *labFlags) { f.Capture = []string{"s1"} },
	} {
		f := usual
		other(&f)
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			if f.checkUnused() == nil {
				t.Errorf("%+v means nothing in the simulator", f)
			}
		})
	}
}

// TestLabChangedFile checks that a data plane, which reads the experiment's file again, does not start if the file
// has changed.
func TestLabChangedFile(t *testing.T) {
	const text = `duration: 2s
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 10Mbps, delay: 1ms}
    - {ends: [s, b], rate: 10Mbps, delay: 1ms, buffer: 100 packets}
switch: [forward]
traffic: [{name: x, from: a, to: b, transport: tcp}]
measure: [goodput]
`
	file := filepath.Join(t.TempDir(), "changing.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	d := labDataplaneCmd{labRun: labRun{selection: selection{Name: file}}}
	a := &app{registry: Registry()}
	s, err := d.loadSpec(a)
	if err != nil {
		t.Fatal(err)
	}
	d.ID = plan.ListRuns(s)[0].ID("")
	write(strings.Replace(text, "100 packets", "99 packets", 1))
	if err := d.Run(a); err == nil || !strings.Contains(err.Error(), "changed after the lab started") {
		t.Errorf("a smaller buffer: %v", err)
	}
	if d.Index = 1; d.Run(a) == nil {
		t.Error("there is one run only")
	}
}
