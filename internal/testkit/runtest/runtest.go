// Package runtest carries out a room's experiments in its tests.
package runtest

import (
	"context"
	"testing"

	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
	"weir/study/run"
)

// Load validates an experiment of a registry's library.
func Load(t testing.TB, r *experiment.Registry, name string, o experiment.Options) *experiment.Spec {
	t.Helper()
	src, err := r.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := plan.Load(r, src, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// CarryOut runs all of an experiment, without leaving results. A run that fails or is
// missing ends the test. A run has one thread: threads that wait for each other take more of the processor.
func CarryOut(t testing.TB, r *experiment.Registry, name string, o experiment.Options) *results.Outcome {
	t.Helper()
	out, err := run.Execute(context.Background(), Load(t, r, name, o), run.Options{Threads: 1})
	if err != nil || len(out.Failed) > 0 || out.Missing > 0 {
		t.Fatal(err, out.Failed, out.Missing)
	}
	return out
}
