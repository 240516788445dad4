// Package runtest runs a package's experiments in its tests.
package runtest

import (
	"context"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/results"
	"weir/study/run"
)

// Load loads the experiment with this name from a registry's library and ends the test if it is invalid.
func Load(t testing.TB, r *experiment.Registry, name string, o experiment.Options) *experiment.Spec {
	t.Helper()
	src, err := r.OpenExperiment(name)
	if err != nil {
		t.Fatal(err)
	}
	return plantest.LoadSource(t, r, src, o)
}

// ExecuteAll executes all runs of an experiment without keeping results. A run that fails or is missing ends the test.
// Each run has one thread, since threads that wait for each other use more processor time.
func ExecuteAll(t testing.TB, r *experiment.Registry, name string, o experiment.Options) *results.Outcome {
	t.Helper()
	out, err := run.Execute(context.Background(), Load(t, r, name, o), run.Options{Threads: 1})
	if err != nil || len(out.Failed) > 0 || out.Missing > 0 {
		t.Fatal(err, out.Failed, out.Missing)
	}
	return out
}
